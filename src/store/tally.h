// tally.h - how often each answer was given, by survey, version, trigger and day: counted in the
// transaction of the response, so that results cost what there is to tell and not what was
// answered.
//
// A row stands for a day (of UTC), a question and a value: a choice, or a whole number of a rating
// or an nps. The value "" is of every answer to the question, and has the sum of those that are
// numbers, in thousandths, of which one beyond TALLY_NUMBER_MAX counts as that much; the question
// "" is of the responses themselves. On PostgreSQL each writer has rows of its own: a shared row
// would hold its lock through the fsync. Those of days that are over, and of writers that are gone,
// are gathered in one, TALLY_OF_NOBODY's, so that neither nodes that come and go nor days make
// results dear. What is purged stays counted.
#pragma once

#include "domain/survey.h"
#include "store/tx.h"

#define TALLY_NUMBER_MAX 1000000000.0

// TallyResponse is what is counted of one response.
typedef struct TallyResponse {
    int64_t tenant, version, rule;
    const Survey *survey;
    Instant at;
    const Json *answers; // clean, by question
} TallyResponse;

// tally_count counts responses; survey and answers live until the sync.
void tally_count(Tx *tx, const TallyResponse *tallies, size_t count);

// tally_gather gathers up to limit rows, and says how many; a writer is gone when its node was not
// seen lately by the real clock. Who writes to a day that is over makes himself a new row.
enum { TALLY_OF_NOBODY = 0 };
Err tally_gather(Tx *tx, Instant real_now, int limit, int64_t *ret_taken, Error *error) MUST_USE;

// TallyFilter says which responses; 0 does not restrict.
typedef struct TallyFilter {
    Str survey;
    int64_t from_day, to_day; // both are in it
    int64_t rule, version;
} TallyFilter;

typedef struct TallyValue {
    Str question, value;
    int64_t n, total;
} TallyValue;

typedef struct TallyDay {
    int64_t day, n;
} TallyDay;

typedef struct TallyRule {
    Str id;
    int64_t n;
} TallyRule;

// TallySums is what they come to: values by question and value, days newest first.
enum { TALLY_DAYS_MAX = 400, TALLY_VALUES_MAX = 50000 };
typedef struct TallySums {
    TallyValue *values;
    size_t value_count;
    TallyDay *days;
    size_t day_count;
    TallyRule *rules;
    size_t rule_count;
} TallySums;

Err tally_sum(Db *db, Arena *arena, int64_t tenant, const TallyFilter *filter, TallySums *ret,
              Error *error) MUST_USE;

// tally_questions lists the questions that were ever answered.
Err tally_questions(Db *db, Arena *arena, int64_t tenant, Str survey, Str **ret, size_t *ret_count,
                    Error *error) MUST_USE;

extern const Statement *const tally_statements[]; // ends with NULL
