// dry.h - bodies and answers of what is tried out and not done (dry_api.c), as rows (shapes.h).
#pragma once

#include "api/api.h"

// DryBody is what a definition is tried with: an event that is given, or one that is stored.
typedef struct DryBody {
    const Json *event; // NULL: none
    Uuid stored;
    bool has_stored;
    const Filter *filter; // of a filter that is tried
    Str template_id;      // likewise: what templateId is; none
} DryBody;

extern const Shape trigger_test_body_shape;
extern const Shape trigger_test_shape;
extern const Shape filter_test_body_shape;
extern const Shape filter_test_shape;

Err trigger_test(Call *call, Db *db, Error *error);
Err filter_test(Call *call, Db *db, Error *error);
