// query.h - reading a request's query parameters; a wrong one is refused with a sentence.
//
// A parameter that is absent leaves *ret as it was, so defaults are set before reading.
#pragma once

#include "api/api.h"

// query_check refuses parameters that are not among known (words with a blank between them), for a
// typo must not silently widen a list. limit and cursor are always known.
Err query_check(const Call *call, const char *known, Error *error) MUST_USE;

Err query_text(const Call *call, const char *name, size_t max, Str *ret, Error *error) MUST_USE;
Err query_time(const Call *call, const char *name, Instant *ret, Error *error) MUST_USE;
Err query_flag(const Call *call, const char *name, bool *ret, Error *error) MUST_USE;
Err query_state(const Call *call, bool *ret_given, DeliveryState *ret, Error *error) MUST_USE;
Err query_id(const Call *call, const char *name, bool *ret_given, Uuid *ret, Error *error) MUST_USE;

// query_after reads the cursor of a page whose rows are ordered by id; NULL on the first page.
Err query_after(const Page *page, Uuid *room, const Uuid **ret, Error *error) MUST_USE;
