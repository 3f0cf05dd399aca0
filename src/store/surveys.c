#include "store/surveys.h"

#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>

static const Statement load = {
    .name = "surveys_load",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT body, rules, published_at FROM survey_version"
           " WHERE tenant = $1 AND survey = $2 AND version = $3",
};

const Statement *const surveys_statements[] = { &load, NULL };

// Kept is a version in the list, the one that was asked for last first.
typedef struct Kept {
    SurveyVersion version; // first: surveys_drop() finds its Kept by it
    struct Kept *next;
    _Atomic int holders; // raised under the lock; whoever drops it touches nothing afterwards
    Arena arena;
} Kept;

_Static_assert(offsetof(Kept, version) == 0, "a Kept is found by its version");

struct Surveys {
    pthread_mutex_t lock;
    Kept *first; // guarded by lock
};

Surveys *surveys_new(void)
{
    Surveys *surveys = memory_new(sizeof *surveys);
    pthread_mutex_init(&surveys->lock, NULL);
    return surveys;
}

static void kept_free(Kept *kept)
{
    arena_done(&kept->arena);
    free(kept);
}

void surveys_free(Surveys *surveys)
{
    for (Kept *next, *kept = surveys->first; kept; kept = next) {
        next = kept->next;
        kept_free(kept);
    }
    pthread_mutex_destroy(&surveys->lock);
    free(surveys);
}

Str surveys_name(Str survey, Str rule)
{
    assert(str_starts(rule, survey));
    return str_skip(rule, survey.len + 1);
}

static void put_first(Surveys *surveys, Kept *kept)
{
    kept->next = surveys->first;
    surveys->first = kept;
}

// find holds the version if it is there, and makes it the first. Needs the lock.
static Kept *find(Surveys *surveys, int64_t tenant, Str survey, int64_t version)
{
    for (Kept **at = &surveys->first; *at; at = &(*at)->next) {
        Kept *kept = *at;
        if (kept->version.version != version || kept->version.tenant != tenant ||
            !str_eq(kept->version.survey.id, survey))
            continue;
        *at = kept->next;
        put_first(surveys, kept);
        kept->holders++;
        return kept;
    }
    return NULL;
}

// make_room lets go of what stands behind the ceilings and nobody holds. Needs the lock.
static void make_room(Surveys *surveys)
{
    size_t count = 0, bytes = 0;
    for (Kept **at = &surveys->first; *at;) {
        Kept *kept = *at;
        count++;
        bytes += kept->arena.bytes;
        if ((count <= SURVEYS_MAX && bytes <= SURVEYS_BYTES_MAX) || kept->holders > 0) {
            at = &kept->next;
            continue;
        }
        *at = kept->next;
        kept_free(kept);
    }
}

// keep adds what was compiled outside the lock. Another thread may have been quicker: then its
// version is the one.
static Kept *keep(Surveys *surveys, Kept *made)
{
    const SurveyVersion *of = &made->version;
    pthread_mutex_lock(&surveys->lock);
    Kept *kept = find(surveys, of->tenant, of->survey.id, of->version);
    if (!kept) {
        make_room(surveys);
        put_first(surveys, made);
        kept = made;
    }
    pthread_mutex_unlock(&surveys->lock);
    if (kept != made)
        kept_free(made);
    return kept;
}

// read_subscribers takes those among the rules that a version made.
static Err read_subscribers(Arena *arena, Str rules, SurveyVersion *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, rules, &json, error));
    SurveySubscriber *all = ARENA_ARRAY(arena, SurveySubscriber, json_count(json) + 1);
    for (JsonIter it = json_each(json); json_next(&it);) {
        SurveySubscriber one = { .trigger = json_str(json_get(it.value, S("trigger"))) };
        if (!str_eq(json_str(json_get(it.value, S("kind"))), S("subscriber")))
            continue;
        if (!json_i64(json_get(it.value, S("rule")), &one.rule) ||
            !json_i64(json_get(it.value, S("version")), &one.version))
            return fail(error, ERR_CORRUPT, "a subscriber has no number");
        all[ret->subscriber_count++] = one;
    }
    ret->subscribers = all;
    return ERR_OK;
}

// read_row fills in a version from what is stored, which it copies.
static Err read_row(Kept *kept, const Value *row, Error *error)
{
    Arena *arena = &kept->arena;
    TRY(survey_parse(arena, str_dup(arena, value_to_str(&row[0])), &kept->version.survey, error));
    kept->version.published_at = value_to_time(&row[2]);
    return read_subscribers(arena, str_dup(arena, value_to_str(&row[1])), &kept->version, error);
}

static Kept *compile(int64_t tenant, Str survey, int64_t version, const Value *row)
{
    Kept *kept = memory_new(sizeof *kept);
    Error error = { .arena = &kept->arena };
    kept->version.tenant = tenant;
    kept->version.version = version;
    kept->holders = 1;
    if (read_row(kept, row, &error) == ERR_OK)
        return kept;
    log_error("survey.unreadable", "survey=%s version=%lld detail=%s", log_quote(survey),
              (long long) version, log_quote(str_from(error.detail)));
    kept_free(kept);
    return NULL;
}

Err surveys_load(Surveys *surveys, Db *db, int64_t tenant, Str survey, int64_t version,
                 const SurveyVersion **ret, Error *error)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(survey), value_i64(version) };
    pthread_mutex_lock(&surveys->lock);
    Kept *kept = find(surveys, tenant, survey, version);
    pthread_mutex_unlock(&surveys->lock);
    if (!kept) {
        TRY(db_query(db, &scratch, &load, args, &rows, error));
        if (rows.count == 0)
            log_error("survey.missing", "survey=%s version=%lld", log_quote(survey),
                      (long long) version);
        else
            kept = compile(tenant, survey, version, rows.values);
        kept = kept ? keep(surveys, kept) : NULL;
    }
    *ret = kept ? &kept->version : NULL;
    return ERR_OK;
}

void surveys_drop(const SurveyVersion *version)
{
    if (!version)
        return;
    Kept *kept = (Kept *) (uintptr_t) version;
    int before = kept->holders--;
    assert(before > 0);
}
