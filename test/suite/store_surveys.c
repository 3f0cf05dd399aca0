#include "fixture.h"

#include "store/definition.h"
#include "store/rule.h"
#include "store/survey.h"
#include "store/surveys.h"

// What survey.h and surveys.h promise.

#define ASKED(max, rest)                                                                           \
    "{'id':'csi','questions':[{'id':'rate','type':'rating','max':" max                             \
    ",'text':{'en':'How?'}}]" rest "}"
#define TRIGGERED                                                                                  \
    ",'triggers':[{'id':'gr','eventKind':'visit','channel':'memory:default','subscribers':"        \
    "[{'key':'memory:own'}]}],'subscribers':[{'key':'memory:all'}]"

typedef struct Draft {
    Str body;
    int64_t tenant, expected;
    bool deletes;
    SurveyPublished published;
} Draft;

// save writes the draft, as it is given, or takes it away with its rules.
static Err save(Tx *tx, void *with, Error *error)
{
    Draft *draft = with;
    Definition made;
    Error missing = { 0 };
    Str kind = S("survey"), id = S("csi");
    if (draft->deletes) {
        TRY(definition_hide(tx, draft->tenant, kind, id, DEFINITION_ANY_VERSION, error));
        return survey_retire(tx, draft->tenant, id, error);
    }
    if (definition_get(tx->db, &tx->arena, draft->tenant, kind, id, &made, &missing) == ERR_OK)
        return definition_replace(tx, draft->tenant, kind, id, DEFINITION_ANY_VERSION, draft->body,
                                  &made, error);
    return definition_create(tx, draft->tenant, kind, id, draft->body, &made, error);
}

static Err publish_draft(Tx *tx, void *with, Error *error)
{
    Draft *draft = with;
    return survey_publish(tx, draft->tenant, S("csi"), draft->expected, &draft->published, error);
}

static void draft_of(Store *store, int64_t tenant, const char *body)
{
    Draft draft = { .body = json_compact(store, body), .tenant = tenant };
    MUST(store, writer_run(store->writer, save, &draft, &store->error));
}

static Err publish_survey(Store *store, int64_t tenant, SurveyPublished *ret)
{
    Draft draft = { .tenant = tenant, .expected = DEFINITION_ANY_VERSION };
    Err err = writer_run(store->writer, publish_draft, &draft, &store->error);
    *ret = draft.published;
    return err;
}

static void delete_survey(Store *store)
{
    Draft draft = { .tenant = TENANT, .deletes = true };
    MUST(store, writer_run(store->writer, save, &draft, &store->error));
}

static const SurveyVersion *load(Store *store, int64_t tenant, int64_t version)
{
    const SurveyVersion *found;
    MUST(store, surveys_load(writer_surveys(store->writer), store->db, tenant, S("csi"), version,
                             &found, &store->error));
    return found;
}

static int64_t live(Store *store, const char *kind)
{
    Value args[] = { value_text(str_from(kind)) };
    Rows rows =
        ask(store, "SELECT COUNT(*) FROM definition WHERE kind = $1 AND is_hidden = 0", "t", args);
    return value_to_i64(rows.values);
}

static void a_publish_makes_a_version_and_its_rules(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    CHECK(live(&store, "trigger") == 0 && !load(&store, TENANT, 1));
    CHECK(publish_survey(&store, TENANT, &published) == ERR_OK);
    CHECK(published.version == 1 && published.is_new && published.rule_count == 3);
    CHECK(live(&store, "trigger") == 1 && live(&store, "subscriber") == 2);
    const SurveyVersion *version = load(&store, TENANT, 1);
    CHECK(version && version->version == 1 && version->survey.question_count == 1);
    CHECK(version->published_at == now(&store) && version->subscriber_count == 2);
    CHECK(!version->subscribers[0].trigger.at);
    CHECK(is_text(version->subscribers[1].trigger, "gr"));
    CHECK(version->subscribers[0].rule > 0 && version->subscribers[0].version == 1);
    const Trigger *told;
    MUST(&store, versions_load(writer_versions(store.writer), store.db, TENANT,
                               version->subscribers[1].rule, version->subscribers[1].version, &told,
                               &store.error));
    CHECK(told && told->rule.kind == RULE_SUBSCRIBER && is_text(told->channel, "memory:own"));
    CHECK(lane_of(&store, TENANT, "memory:own") > 0);
    versions_drop(told);
    surveys_drop(version);
}

static void what_is_unchanged_makes_no_version(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    Instant first = published.at;
    int64_t generation = ask_i64(&store, "SELECT n FROM generation");
    pass(&store, SPAN_HOUR);
    CHECK(publish_survey(&store, TENANT, &published) == ERR_OK);
    CHECK(published.version == 1 && !published.is_new && published.at == first);
    CHECK(ask_i64(&store, "SELECT n FROM generation") == generation);
    draft_of(&store, TENANT, ASKED("5", TRIGGERED));
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    CHECK(publish_survey(&store, TENANT, &published) == ERR_OK && !published.is_new);
    draft_of(&store, TENANT,
             "{'questions':[{'text':{'en':'How?'},'max':10,'type':'rating','id':'rate'}],"
             "'id':'csi'" TRIGGERED "}");
    CHECK(publish_survey(&store, TENANT, &published) == ERR_OK && !published.is_new);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM survey_version") == 1);
    CHECK(ask_i64(&store, "SELECT MAX(version) FROM definition WHERE kind = 'trigger'") == 1);
}

static void an_old_version_stays_as_it_was(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    draft_of(&store, TENANT, ASKED("5", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    CHECK(published.version == 2 && published.is_new);
    const SurveyVersion *old = load(&store, TENANT, 1), *again = load(&store, TENANT, 1);
    const SurveyVersion *young = load(&store, TENANT, 2);
    CHECK(old && old == again && young && old != young);
    CHECK(old->survey.questions[0].max == 10 && young->survey.questions[0].max == 5);
    CHECK(old->subscribers[0].rule == young->subscribers[0].rule);
    CHECK(old->subscribers[0].version == 1 && young->subscribers[0].version == 2);
    surveys_drop(old);
    surveys_drop(again);
    surveys_drop(young);
    Walk walk = { .limit = 1 };
    SurveyRow *rows;
    Seen seen;
    MUST(&store,
         survey_page(store.db, &store.arena, TENANT, S("csi"), &walk, &rows, &seen, &store.error));
    CHECK(seen.count == 1 && seen.has_more && rows[0].version == 2 && rows[0].draft == 2);
    walk.after = seen.next;
    MUST(&store,
         survey_page(store.db, &store.arena, TENANT, S("csi"), &walk, &rows, &seen, &store.error));
    CHECK(seen.count == 1 && !seen.has_more && rows[0].version == 1);
}

static void what_a_version_lacks_is_hidden_and_comes_back(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    draft_of(&store, TENANT, ASKED("10", ",'subscribers':[{'key':'memory:all'}]"));
    MUST(&store, publish_survey(&store, TENANT, &published));
    CHECK(live(&store, "trigger") == 0 && live(&store, "subscriber") == 1);
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    CHECK(published.version == 3 && live(&store, "trigger") == 1);
    delete_survey(&store);
    CHECK(live(&store, "trigger") == 0 && live(&store, "subscriber") == 0);
    CHECK(publish_survey(&store, TENANT, &published) == ERR_NOT_FOUND);
    const SurveyVersion *version = load(&store, TENANT, 3);
    CHECK(version); // what was sent goes on
    surveys_drop(version);
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    MUST(&store, publish_survey(&store, TENANT, &published));
    CHECK(published.version == 3 && !published.is_new);
    CHECK(live(&store, "trigger") == 1 && live(&store, "subscriber") == 2);
}

static void nothing_of_a_publish_that_fails_is_there(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, "{'id':'csi'}");
    CHECK(publish_survey(&store, TENANT, &published) == ERR_SURVEY_INVALID);
    draft_of(&store, TENANT,
             ASKED("10", ",'triggers':[{'id':'a','eventKind':'e','channel':'memory:default'},"
                         "{'id':'gr','eventKind':'e','channel':'memory:default'}]"));
    publish(&store, TENANT, "{'id':'csi:gr','eventKind':'visit','channel':'memory:default'}");
    CHECK(publish_survey(&store, TENANT, &published) == ERR_CONFLICT);
    CHECK(live(&store, "trigger") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM survey_version") == 0);
    Draft stale = { .tenant = TENANT, .expected = 1 };
    CHECK(writer_run(store.writer, publish_draft, &stale, &store.error) == ERR_STALE);
}

static void tenants_have_surveys_of_their_own(void)
{
    STORE(store);
    SurveyPublished published;
    int64_t other = tenant_new(&store, "other");
    draft_of(&store, TENANT, ASKED("10", TRIGGERED));
    draft_of(&store, other, ASKED("5", TRIGGERED));
    MUST(&store, publish_survey(&store, other, &published));
    CHECK(!load(&store, TENANT, 1));
    MUST(&store, publish_survey(&store, TENANT, &published));
    const SurveyVersion *own = load(&store, TENANT, 1), *others = load(&store, other, 1);
    CHECK(own && others && own->survey.questions[0].max == 10);
    CHECK(others->survey.questions[0].max == 5);
    CHECK(own->subscribers[0].rule != others->subscribers[0].rule);
    surveys_drop(own);
    surveys_drop(others);
    SurveyHead heads[] = { { .survey = S("csi") }, { .survey = S("none") } };
    MUST(&store, surveys_look(store.db, &store.arena, other, heads, 2, &store.error));
    CHECK(heads[0].version == 1 && heads[1].version == 0);
    CHECK(heads[1].published_at == INSTANT_NONE);
}

// change runs a statement of the test's own.
static Err run_statement(Tx *tx, void *with, Error *error)
{
    Rows rows;
    return tx_query(tx, with, NULL, &rows, error);
}

static void change(Store *store, const char *name, const char *sql)
{
    Statement statement = { .name = name, .scope = STATEMENT_SYSTEM, .params = "", .sql = sql };
    // The connection remembers it as long as it lives.
    void *kept = arena_copy(&store->arena, &statement, sizeof statement);
    MUST(store, writer_run(store->writer, run_statement, kept, &store->error));
}

static void a_version_that_cannot_be_read_is_an_answer(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", ""));
    MUST(&store, publish_survey(&store, TENANT, &published));
    change(&store, "no_survey", "UPDATE survey_version SET body = '{\"id\":7}'");
    CHECK(!load(&store, TENANT, 1));
    change(&store, "no_json", "UPDATE survey_version SET body = 'no JSON'");
    CHECK(!load(&store, TENANT, 1));
    change(&store, "no_number",
           "UPDATE survey_version SET body = '{\"id\":\"csi\"}',"
           " rules = '[{\"kind\":\"subscriber\"}]'");
    CHECK(!load(&store, TENANT, 1) && !load(&store, TENANT, 2));
}

// More than are kept, one of them held: that stays, and all are found.
static void the_cache_of_surveys_has_a_ceiling(void)
{
    STORE(store);
    SurveyPublished published;
    draft_of(&store, TENANT, ASKED("10", ""));
    MUST(&store, publish_survey(&store, TENANT, &published));
    const SurveyVersion *held = load(&store, TENANT, 1);
    enum { MANY = 300 };
    _Static_assert((int) MANY > (int) SURVEYS_MAX, "they are more than are kept");
    change(&store, "many_versions",
           "WITH RECURSIVE n (v) AS (SELECT 2 UNION ALL SELECT v + 1 FROM n WHERE v < 300)"
           " INSERT INTO survey_version (tenant, survey, version, draft, body, rules, published_at)"
           " SELECT s.tenant, s.survey, n.v, 1, s.body, s.rules, s.published_at"
           " FROM survey_version s CROSS JOIN n");
    for (int64_t version = 2; version <= MANY; version++) {
        const SurveyVersion *found = load(&store, TENANT, version);
        CHECK(found && found->version == version);
        surveys_drop(found);
    }
    const SurveyVersion *again = load(&store, TENANT, 1);
    CHECK(again == held);
    surveys_drop(again);
    surveys_drop(held);
}

static const Test tests[] = {
    TEST(a_publish_makes_a_version_and_its_rules),
    TEST(what_is_unchanged_makes_no_version),
    TEST(an_old_version_stays_as_it_was),
    TEST(what_a_version_lacks_is_hidden_and_comes_back),
    TEST(nothing_of_a_publish_that_fails_is_there),
    TEST(tenants_have_surveys_of_their_own),
    TEST(a_version_that_cannot_be_read_is_an_answer),
    TEST(the_cache_of_surveys_has_a_ceiling),
};

PART(survey_part, tests);
