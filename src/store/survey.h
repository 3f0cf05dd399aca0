// survey.h - publishing: what makes a version of a survey's draft (domain/survey.h), and what
// follows from it.
//
// A version is a row that never changes, counted from 1 by publishes; a draft that says what the
// last version said makes none. With a version come its rules, in the same transaction: a
// definition of kind trigger for each of its triggers, one of kind subscriber for each of its
// subscribers, which say whose they are. So events, dedup keys, plans and deliveries know nothing
// of surveys. What a version lacks that the one before had is hidden; what was sent goes on under
// the version that it was made under.
//
// The definitions of a survey's rules are written here alone (survey_owns).
#pragma once

#include "store/surveys.h"
#include "store/tx.h"
#include "store/walk.h"

typedef struct SurveyPublished {
    int64_t version;
    Instant at;
    bool is_new;             // false: the draft is what the last version said
    const SurveyRule *rules; // in the transaction's arena
    size_t rule_count;
} SurveyPublished;

// survey_publish publishes the draft as it is stored, where expected is its version or
// DEFINITION_ANY_VERSION (ERR_STALE). It fails with ERR_SURVEY_INVALID where that lacks something,
// and with ERR_CONFLICT where somebody else's trigger has an id that one of its own would have.
Err survey_publish(Tx *tx, int64_t tenant, Str id, int64_t expected, SurveyPublished *ret,
                   Error *error) MUST_USE;

// survey_retire hides the rules of a survey that is deleted.
Err survey_retire(Tx *tx, int64_t tenant, Str id, Error *error) MUST_USE;

// survey_owns is the survey whose rule a definition is, by its body; none: it is nobody's.
Str survey_owns(const Json *body);

// survey_owner is that of a trigger that is stored, under the lock of definitions: the snapshot may
// not know yet what the same transaction published. One that cannot be read is nobody's, so that
// it can be replaced or deleted.
Err survey_owner(Tx *tx, int64_t tenant, Str trigger, Str *ret, Error *error) MUST_USE;

// SurveyHead is what is known of a survey's newest version; version 0: it has none.
typedef struct SurveyHead {
    Str survey;
    int64_t version;
    Instant published_at;
} SurveyHead;

// surveys_look fills in the heads of surveys that are named.
Err surveys_look(Db *db, Arena *arena, int64_t tenant, SurveyHead *ret, size_t count,
                 Error *error) MUST_USE;

// SurveyRow is a version as it is stored.
typedef struct SurveyRow {
    int64_t version, draft;
    Instant published_at;
    Str body; // of one that was asked for alone; none
} SurveyRow;

// survey_page lists versions, the newest first, those of a deleted survey too; survey_row reads
// one: ERR_NOT_FOUND.
Err survey_page(Db *db, Arena *arena, int64_t tenant, Str id, const Walk *walk, SurveyRow **ret,
                Seen *ret_seen, Error *error) MUST_USE;
Err survey_row(Db *db, Arena *arena, int64_t tenant, Str id, int64_t version, SurveyRow *ret,
               Error *error) MUST_USE;

extern const Statement *const survey_statements[]; // ends with NULL
