// responses.h - answers to surveys: how they come in, how responses are shown (responses_api.c),
// and what they come to (results_api.c).
#pragma once

#include "api/api.h"

extern const Shape response_body_shape, response_taken_shape, response_shape;

// Somebody answers: read by a thinker, held against the survey with a reader's connection, written
// in sets.
Err response_read(Call *call, Error *error);
Err response_look(Call *call, Db *db, Error *error);
extern const RouteSet response_set;

// Which questions the answers so far lead to; nothing is kept of them.
extern const Shape shown_shape;
Err shown_look(Call *call, Db *db, Error *error);

// Somebody looks: noted in the same sets.
Err opened_read(Call *call, Error *error);
Err opened_look(Call *call, Db *db, Error *error);

Err response_show(Call *call, Db *db, Error *error);
Err response_list(Call *call, Db *db, Error *error);

extern const Shape results_shape;
extern const Param results_params[], results_export_params[];
Err results_get(Call *call, Db *db, Error *error);
Err results_pour(Call *call, Db *db, Buf *text, bool *ret_last, Error *error);
