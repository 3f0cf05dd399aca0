#include "store/survey.h"

#include "store/columns.h"
#include "store/definition.h"
#include "store/lane.h"
#include "store/rule.h"

#define DEFINITION_SURVEY S("survey")

static const Statement newest = {
    .name = "survey_newest",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT version, body, rules, published_at FROM survey_version"
           " WHERE tenant = $1 AND survey = $2 ORDER BY version DESC LIMIT 1",
};
static const Statement insert = {
    .name = "survey_insert",
    .scope = STATEMENT_TENANT,
    .params = "itiitti",
    .sql = "INSERT INTO survey_version (tenant, survey, version, draft, body, rules, published_at)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7)",
};
static const Statement heads = {
    .name = "survey_heads",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .many = true,
    .sql = "SELECT $3, version, published_at FROM survey_version"
           " WHERE tenant = $1 AND survey = $2 ORDER BY version DESC LIMIT 1",
    .postgres = "SELECT u.n, v.version, v.published_at"
                " FROM unnest($1, $2, $3) AS u (tenant, survey, n) CROSS JOIN LATERAL"
                " (SELECT version, published_at FROM survey_version s WHERE s.tenant = u.tenant"
                " AND s.survey = u.survey ORDER BY version DESC LIMIT 1) AS v",
};
static const Statement page = {
    .name = "survey_page",
    .scope = STATEMENT_TENANT,
    .params = "itii",
    .sql = "SELECT version, draft, published_at FROM survey_version"
           " WHERE tenant = $1 AND survey = $2 AND version < $3 ORDER BY version DESC LIMIT $4",
};
static const Statement one = {
    .name = "survey_one",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT version, draft, published_at, body FROM survey_version"
           " WHERE tenant = $1 AND survey = $2 AND version = $3",
};

const Statement *const survey_statements[] = { &newest, &insert, &heads, &page, &one, NULL };

// Last is a survey's newest version; version 0: it has none.
typedef struct Last {
    int64_t version;
    Str body;
    const Json *rules;
    Instant at;
} Last;

static Err read_last(Tx *tx, int64_t tenant, Str id, Last *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(id) };
    TRY(tx_query(tx, &newest, args, &rows, error));
    *ret = (Last){ 0 };
    if (rows.count == 0)
        return ERR_OK;
    *ret = (Last){ .version = value_to_i64(&rows.values[0]),
                   .body = value_to_str(&rows.values[1]),
                   .at = value_to_time(&rows.values[3]) };
    return json_parse(&tx->arena, value_to_str(&rows.values[2]), &ret->rules, error);
}

Str survey_owns(const Json *body)
{
    return json_str(json_get(body, S("survey")));
}

// find_rule reads the definition of a rule; *ret_is_there is false where it is hidden, or never
// was.
static Err find_rule(Tx *tx, int64_t tenant, Str kind, Str id, Definition *ret, bool *ret_is_there,
                     Error *error)
{
    Error missing = { 0 };
    Err err = definition_get(tx->db, &tx->arena, tenant, kind, id, ret, &missing);
    *ret_is_there = err == ERR_OK;
    if (err == ERR_OK || err == ERR_NOT_FOUND)
        return ERR_OK;
    return fail(error, err, "%s", missing.detail);
}

Err survey_owner(Tx *tx, int64_t tenant, Str trigger, Str *ret, Error *error)
{
    Definition there;
    const Json *body;
    bool is_there;
    TRY(definition_lock(tx, error));
    TRY(find_rule(tx, tenant, DEFINITION_TRIGGER, trigger, &there, &is_there, error));
    bool is_read = is_there && json_parse(&tx->arena, there.body, &body, NULL) == ERR_OK;
    *ret = is_read ? survey_owns(body) : STR_NONE;
    return ERR_OK;
}

// may_write refuses to write over what is not this survey's.
static Err may_write(Tx *tx, Str survey, Str kind, const Definition *there, Error *error)
{
    const Json *body;
    TRY(json_parse(&tx->arena, there->body, &body, error));
    if (str_eq(survey_owns(body), survey))
        return ERR_OK;
    return fail(error, ERR_CONFLICT, "there is a %.*s %.*s already, which is none of survey %.*s",
                STR_ARG(kind), STR_ARG(there->id), STR_ARG(survey));
}

// put_rule writes the definition of a rule and notes it among those of the version.
static Err put_rule(Tx *tx, int64_t tenant, Str survey, const SurveyRule *rule, JsonOut *noted,
                    Error *error)
{
    Definition there;
    bool is_there;
    int64_t number;
    Str kind = str_from(rule_kind_text(rule->kind));
    TRY(find_rule(tx, tenant, kind, rule->id, &there, &is_there, error));
    if (is_there) {
        TRY(may_write(tx, survey, kind, &there, error));
        TRY(definition_replace(tx, tenant, kind, rule->id, DEFINITION_ANY_VERSION, rule->body,
                               &there, error));
    } else {
        TRY(definition_create(tx, tenant, kind, rule->id, rule->body, &there, error));
    }
    TRY(lane_ensure(tx, tenant, rule->channel, error));
    TRY(rule_number(tx->db, &tx->arena, tenant, rule->kind, rule->id, &number, error));
    json_open(noted, '{');
    json_put_str(noted, S("kind"), kind);
    json_put_str(noted, S("id"), rule->id);
    json_put_i64(noted, S("rule"), number);
    json_put_i64(noted, S("version"), there.version);
    if (rule->trigger.at)
        json_put_str(noted, S("trigger"), rule->trigger);
    json_close(noted, '}');
    return ERR_OK;
}

static bool is_among(Str kind, Str id, const SurveyRule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(rules[i].id, id) && str_eq(str_from(rule_kind_text(rules[i].kind)), kind))
            return true;
    return false;
}

// hide_others hides what the version before made and this one does not.
static Err hide_others(Tx *tx, int64_t tenant, const Json *old, const SurveyRule *rules,
                       size_t count, Error *error)
{
    for (JsonIter it = json_each(old); json_next(&it);) {
        Definition there;
        bool is_there;
        Str kind = json_str(json_get(it.value, S("kind")));
        Str id = json_str(json_get(it.value, S("id")));
        if (is_among(kind, id, rules, count))
            continue;
        TRY(find_rule(tx, tenant, kind, id, &there, &is_there, error));
        if (is_there)
            TRY(definition_hide(tx, tenant, kind, id, DEFINITION_ANY_VERSION, error));
    }
    return ERR_OK;
}

// sorted is a body in one form, in whatever order its members were given.
static Err sorted(Tx *tx, Str body, Str *ret, Error *error)
{
    const Json *json;
    Buf text = buf_new(&tx->arena, BUF_WHOLE);
    TRY(json_parse(&tx->arena, body, &json, error));
    json_write(&text, json, true);
    *ret = buf_str(&text);
    return ERR_OK;
}

// differs says whether a draft is another than the last version was.
static Err differs(Tx *tx, const Last *last, Str body, bool *ret, Error *error)
{
    Str before, after;
    *ret = last->version == 0;
    if (*ret || str_eq(last->body, body))
        return ERR_OK;
    TRY(sorted(tx, last->body, &before, error));
    TRY(sorted(tx, body, &after, error));
    *ret = !str_eq(before, after);
    return ERR_OK;
}

// read_draft compiles the draft and sees that nothing is missing.
static Err read_draft(Tx *tx, int64_t tenant, Str id, int64_t expected, Definition *ret,
                      Survey *ret_survey, Error *error)
{
    TRY(definition_lock(tx, error));
    TRY(definition_get(tx->db, &tx->arena, tenant, DEFINITION_SURVEY, id, ret, error));
    if (expected != DEFINITION_ANY_VERSION && expected != ret->version)
        return fail(error, ERR_STALE, "the current version is %lld", (long long) ret->version);
    TRY(survey_parse(&tx->arena, ret->body, ret_survey, error));
    return survey_check(&tx->arena, ret_survey, error);
}

static void send_version(Tx *tx, int64_t tenant, const Definition *draft,
                         const SurveyPublished *published, Str rules)
{
    Value args[] = {
        value_i64(tenant),         value_text(draft->id),   value_i64(published->version),
        value_i64(draft->version), value_text(draft->body), value_text(rules),
        value_i64(published->at)
    };
    db_send(tx->db, &tx->arena, &insert, args, NULL);
    tx_fact(
        tx, FACT_SURVEY_PUBLISHED, tenant,
        str_format(&tx->arena, "%.*s/%lld", STR_ARG(draft->id), (long long) published->version));
}

// The rules are written whether or not the version is new: where a survey was deleted and is there
// again, they come back.
Err survey_publish(Tx *tx, int64_t tenant, Str id, int64_t expected, SurveyPublished *ret,
                   Error *error)
{
    Definition draft;
    Survey survey;
    Last last;
    SurveyRule *rules;
    bool is_new;
    TRY(read_draft(tx, tenant, id, expected, &draft, &survey, error));
    TRY(read_last(tx, tenant, id, &last, error));
    TRY(differs(tx, &last, draft.body, &is_new, error));
    *ret = (SurveyPublished){ .version = last.version + is_new,
                              .at = is_new ? tx->now : last.at,
                              .is_new = is_new };
    ret->rule_count = survey_rules(&tx->arena, &survey, ret->version, &rules);
    ret->rules = rules;
    Buf text = buf_new(&tx->arena, BUF_WHOLE);
    JsonOut noted = json_out(&text);
    json_open(&noted, '[');
    for (size_t i = 0; i < ret->rule_count; i++)
        TRY(put_rule(tx, tenant, id, &rules[i], &noted, error));
    json_close(&noted, ']');
    TRY(hide_others(tx, tenant, last.rules, rules, ret->rule_count, error));
    if (is_new)
        send_version(tx, tenant, &draft, ret, buf_str(&text));
    return tx_sync(tx, error);
}

Err survey_retire(Tx *tx, int64_t tenant, Str id, Error *error)
{
    Last last;
    TRY(read_last(tx, tenant, id, &last, error));
    return hide_others(tx, tenant, last.rules, NULL, 0, error);
}

Err surveys_look(Db *db, Arena *arena, int64_t tenant, SurveyHead *ret, size_t count, Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(tenant);
        values[i * 3 + 1] = value_text(ret[i].survey);
        values[i * 3 + 2] = value_i64((int64_t) i);
        ret[i].published_at = INSTANT_NONE;
    }
    db_send_many(db, arena, &heads, values, count, &rows);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        SurveyHead *head = &ret[value_to_i64(&row[0])];
        head->version = value_to_i64(&row[1]);
        head->published_at = value_to_time(&row[2]);
    }
    return ERR_OK;
}

static SurveyRow read_row(const Value *row)
{
    return (SurveyRow){ .version = value_to_i64(&row[0]),
                        .draft = value_to_i64(&row[1]),
                        .published_at = value_to_time(&row[2]) };
}

Err survey_page(Db *db, Arena *arena, int64_t tenant, Str id, const Walk *walk, SurveyRow **ret,
                Seen *ret_seen, Error *error)
{
    Rows rows;
    int64_t before;
    TRY(walk_after_number(walk, &before, error));
    Value args[] = { value_i64(tenant), value_text(id), value_i64(before ? before : INT64_MAX),
                     value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    SurveyRow *found = ARENA_ARRAY(arena, SurveyRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_row(rows_at(&rows, i));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place_number(arena, found[ret_seen->count - 1].version);
    return ERR_OK;
}

Err survey_row(Db *db, Arena *arena, int64_t tenant, Str id, int64_t version, SurveyRow *ret,
               Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(id), value_i64(version) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no version %lld of survey %.*s",
                    (long long) version, STR_ARG(id));
    *ret = read_row(rows.values);
    ret->body = value_to_str(&rows.values[3]);
    return ERR_OK;
}
