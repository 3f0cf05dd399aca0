// surveys.h - the versions of surveys that people are asked, compiled once and kept.
//
// An invitation is answered under the version that it was sent with, however old, so versions are
// never purged. As with versions.h, one that is missing or no longer compiles is an answer (NULL,
// and a line in the log), not an error: only the store's own failures are.
//
// Any thread may ask. What surveys_load() returns is held, and stays as it is until
// surveys_drop(). What nobody holds may leave: there is a ceiling of SURVEYS_MAX, and one of bytes,
// for a survey may have 500 questions in 20 languages.
#pragma once

#include "domain/survey.h"
#include "store/db.h"

enum { SURVEYS_MAX = 256, SURVEYS_BYTES_MAX = 64 << 20 }; // kept while nobody holds them

typedef struct Surveys Surveys;

// SurveySubscriber is who is told of a response: a version of a rule (versions.h).
typedef struct SurveySubscriber {
    int64_t rule, version;
    Str trigger; // whose responses alone, as the survey calls it; none: all
} SurveySubscriber;

typedef struct SurveyVersion {
    Survey survey;
    int64_t tenant, version;
    Instant published_at;
    const SurveySubscriber *subscribers;
    size_t subscriber_count;
} SurveyVersion;

Surveys *surveys_new(void);
void surveys_free(Surveys *surveys);

// surveys_load holds the version for the caller; *ret is NULL where there is none that can be read.
Err surveys_load(Surveys *surveys, Db *db, int64_t tenant, Str survey, int64_t version,
                 const SurveyVersion **ret, Error *error) MUST_USE;
void surveys_drop(const SurveyVersion *version); // NULL is fine

// surveys_name is what a survey calls one of its triggers: gr of the rule csi:gr.
Str surveys_name(Str survey, Str rule);

extern const Statement *const surveys_statements[]; // ends with NULL
