// surveys.h - what is shown of surveys beside their definitions, and who tells it (surveys_api.c).
#pragma once

#include "api/noun.h"

extern const Shape survey_published_shape, survey_version_shape, survey_version_whole_shape;

Err survey_publish_post(Call *call, Tx *tx, Error *error);
Err survey_version_list(Call *call, Db *db, Error *error);
Err survey_version_show(Call *call, Db *db, Error *error);

// survey_exists answers for whatever was ever a survey: what a deleted one asked is still answered.
Err survey_exists(const Call *call, Db *db, Str id, Error *error) MUST_USE;

// For its noun.
Err survey_touch(Edit *edit, Error *error);
Err survey_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                Error *error);
void survey_tell(Call *call, const void *known, Str id);
