#include "fixture.h"

#include "store/definition.h"
#include "store/response.h"
#include "store/survey.h"
#include "store/tally.h"

// What response.h, invitation.h and tally.h promise: a submit is all of it or nothing, once.

#define SURVEY                                                                                     \
    "{'id':'csi','questions':[{'id':'rate','type':'rating','max':10,'text':{'en':'How?'}},"        \
    "{'id':'which','type':'multiple','choices':[{'value':'a'},{'value':'b'}],"                     \
    "'text':{'en':'?'}},{'id':'spent','type':'number','text':{'en':'?'}}],"                        \
    "'triggers':[{'id':'gr','eventKind':'visit','channel':'memory:default',"                       \
    "'subscribers':[{'key':'memory:own'}]},"                                                       \
    "{'id':'other','eventKind':'other','channel':'memory:default'}],"                              \
    "'subscribers':[{'key':'memory:all'},"                                                         \
    "{'key':'memory:low','filter':{'path':'rate','op':'<','value':3}}]}"
#define SURVEY_AGAIN                                                                               \
    "{'id':'csi','questions':[{'id':'rate','type':'rating','max':9,'text':{'en':'How?'}}],"        \
    "'triggers':[{'id':'gr','eventKind':'visit','channel':'memory:default'}]}"
#define RATED(n) "{'rate':" n "}"

static Err make_survey(Tx *tx, void *with, Error *error)
{
    const int64_t *tenant = with;
    Definition made;
    SurveyPublished published;
    char body[] = SURVEY;
    for (char *at = body; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    TRY(definition_create(tx, *tenant, S("survey"), S("csi"), str_from(body), &made, error));
    return survey_publish(tx, *tenant, S("csi"), DEFINITION_ANY_VERSION, &published, error);
}

static void survey_of(Store *store, int64_t tenant)
{
    MUST(store, writer_run(store->writer, make_survey, &tenant, &store->error));
}

// invite makes an invitation, and gives its public id.
static Str invite(Store *store, int64_t tenant, const char *kind)
{
    const Accept *accept =
        take(store, tenant, str_format(&store->arena, "{'kind':'%s','payload':{'n':7}}", kind).at);
    CHECK(take_err(accept) == ERR_OK && accept->items[0].pair_count == 1);
    return accept->items[0].pairs[0].public_id;
}

static Err find(Store *store, Str public_id, Invitation *ret)
{
    return invitation_find(store->db, &store->arena, writer_versions(store->writer),
                           writer_surveys(store->writer), public_id, ret, &store->error);
}

// Answer is one on its way, as the API holds it.
typedef struct Answer {
    Invitation invitation;
    Submit *submit;
} Answer;

// read_answer takes the steps ahead of the transaction.
static Answer *read_answer(Store *store, Str public_id, const char *answers)
{
    Answer *answer = ARENA_NEW(&store->arena, Answer);
    MUST(store, find(store, public_id, &answer->invitation));
    SubmitGiven given = { .answers = json_compact(store, answers),
                          .agent_id = S("a7"),
                          .at = now(store),
                          .random = &store->random };
    MUST(store, submit_make(store->db, &store->arena, writer_versions(store->writer),
                            &answer->invitation, &given, &answer->submit, &store->error));
    Registry *registry = writer_registry(store->writer);
    MUST(store, submit_decide(answer->submit, registry, &store->error));
    registry_drop(registry);
    return answer;
}

typedef struct AnswerList {
    Answer **list;
    size_t count;
} AnswerList;

static Err write_answers(Tx *tx, void *with, Error *error)
{
    const AnswerList *answers = with;
    Submit **submits = ARENA_ARRAY(&tx->arena, Submit *, answers->count);
    for (size_t i = 0; i < answers->count; i++)
        submits[i] = answers->list[i]->submit;
    return submits_write(tx, submits, answers->count, error);
}

// write_all writes them in one transaction, and gives back what they hold.
static Err write_all(Store *store, Answer **list, size_t count)
{
    AnswerList answers = { list, count };
    Err err = writer_run(store->writer, write_answers, &answers, &store->error);
    for (size_t i = 0; i < count; i++) {
        submit_drop(list[i]->submit);
        invitation_drop(&list[i]->invitation);
    }
    return err;
}

static Err answer_one(Store *store, Str public_id, const char *answers)
{
    Answer *answer = read_answer(store, public_id, answers);
    Err err = write_all(store, &answer, 1);
    return err == ERR_OK ? answer->submit->err : err;
}

#define OF_SUBSCRIBERS " WHERE rule IN (SELECT rule FROM rule WHERE kind = 3)"
_Static_assert(RULE_SUBSCRIBER == 3, "the SQL names kinds by number");

// check_told checks that so many answers are there, each whole: response, completion, event,
// counts, and a delivery for each subscriber that takes all.
static void check_told(Store *store, int64_t answers, int64_t deliveries)
{
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM response") == answers);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM ended WHERE state = 6") == answers);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM response r JOIN ended n ON n.tenant = r.tenant"
                         " AND n.id = r.delivery AND n.state = 6 JOIN event e"
                         " ON e.tenant = r.tenant AND e.id = r.id"
                         " AND e.kind = 'response-completed'") == answers);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM event WHERE kind = 'response-completed'") ==
          answers);
    CHECK(ask_i64(store,
                  "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM tally WHERE question = ''") ==
          answers);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM queue" OF_SUBSCRIBERS) == deliveries);
}
_Static_assert(DELIVERY_COMPLETED == 6, "the SQL names states by number");

static void an_answer_is_kept_counted_and_told_of(void)
{
    STORE(store);
    survey_of(&store, TENANT);
    Str id = invite(&store, TENANT, "visit");
    Answer *answer = read_answer(&store, id, RATED("2"));
    Uuid response = submit_response(answer->submit);
    MUST(&store, write_all(&store, &answer, 1));
    CHECK(answer->submit->err == ERR_OK);
    check_told(&store, 1, 3);
    Response kept;
    MUST(&store, response_get(store.db, &store.arena, TENANT, response, &kept, &store.error));
    CHECK(is_text(kept.answers, "{\"rate\":2}") && is_text(kept.agent_id, "a7"));
    CHECK(str_eq(kept.public_id, id) && kept.version == 1 && is_text(kept.survey, "csi"));
    CHECK(kept.completed_at == now(&store));
    CHECK(answer_one(&store, id, RATED("9")) == ERR_CONFLICT);
    MUST(&store, response_get(store.db, &store.arena, TENANT, response, &kept, &store.error));
    CHECK(is_text(kept.answers, "{\"rate\":2}"));
    check_told(&store, 1, 3);
    CHECK(answer_one(&store, invite(&store, TENANT, "other"), RATED("3")) == ERR_OK);
    check_told(&store, 2, 4); // the trigger's own subscriber is told of its own alone
}

static void what_tells_of_an_answer_is_of_the_same_site(void)
{
    STORE(store);
    survey_of(&store, TENANT);
    Accept *accept = accept_of(&store, TENANT, "{'kind':'visit','payload':{'n':7}}");
    accept->items[0].event.site = 5;
    take_in(&store, accept);
    CHECK(answer_one(&store, accept->items[0].pairs[0].public_id, RATED("9")) == ERR_OK);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery" OF_SUBSCRIBERS " AND site = 5") == 2);
}

static void many_in_one_transaction_are_each_by_itself(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    channel(&store, other, "memory:default");
    survey_of(&store, TENANT);
    survey_of(&store, other);
    Str ids[4] = { invite(&store, TENANT, "visit"), invite(&store, other, "visit"),
                   invite(&store, TENANT, "visit"), invite(&store, other, "visit") };
    CHECK(answer_one(&store, ids[2], RATED("9")) == ERR_OK);
    // Twice the same, one that was answered before, and another tenant's between them.
    Answer *list[] = { read_answer(&store, ids[0], RATED("4")),
                       read_answer(&store, ids[1], RATED("5")),
                       read_answer(&store, ids[0], RATED("6")),
                       read_answer(&store, ids[2], RATED("7")),
                       read_answer(&store, ids[3], RATED("8")) };
    MUST(&store, write_all(&store, list, ARRAY_LEN(list)));
    Err first = list[0]->submit->err, second = list[2]->submit->err;
    CHECK((first == ERR_OK && second == ERR_CONFLICT) ||
          (first == ERR_CONFLICT && second == ERR_OK));
    CHECK(list[1]->submit->err == ERR_OK && list[4]->submit->err == ERR_OK);
    CHECK(list[3]->submit->err == ERR_CONFLICT);
    check_told(&store, 4, 8);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM response WHERE tenant = 1") == 2);
}

// Whatever statement fails, even the COMMIT: all of it is there or nothing is, and who tries again
// is taken.
static void a_failed_submit_leaves_nothing(void)
{
    Fuse fuse = { 0 };
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = fuse_blow, .fault_with = &fuse });
    survey_of(&store, TENANT);
    Str id = invite(&store, TENANT, "visit");
    int failed = 0;
    for (int n = 1;; n++) {
        Answer *answer = read_answer(&store, id, RATED("2"));
        fuse = (Fuse){ .left = n };
        Err err = write_all(&store, &answer, 1);
        if (!fuse.is_blown) {
            CHECK(err == ERR_OK && answer->submit->err == ERR_OK);
            break;
        }
        failed++;
        CHECK(err != ERR_OK);
        check_told(&store, 0, 0);
    }
    CHECK(failed >= 12); // every insert, the looks, the end of the delivery, BEGIN and COMMIT
    check_told(&store, 1, 3);
}

// lose loses the connection at the nth call, once; the replies behind it are never read.
static int lose(void *with, const char *call)
{
    Fuse *fuse = with;
    (void) call;
    if (fuse->left == 0 || --fuse->left > 0)
        return 0;
    fuse->is_blown = true;
    return DB_FAULT_LOST;
}

// A reply that is lost, that of the COMMIT among them: it is done once, whatever the writer says;
// where it cannot tell, a second submit finds out.
static void a_lost_reply_makes_no_second_response(void)
{
    if (!suite_is_postgres())
        return; // a file has no connection to lose
    Fuse fuse = { 0 };
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = lose, .fault_with = &fuse });
    survey_of(&store, TENANT);
    int64_t answers = 0;
    for (int n = 1;; n++) {
        Str id = invite(&store, TENANT, "visit");
        Answer *answer = read_answer(&store, id, RATED("2"));
        fuse = (Fuse){ .left = n };
        Err err = write_all(&store, &answer, 1);
        bool is_over = !fuse.is_blown;
        fuse.left = 0;
        bool is_taken = err == ERR_OK && answer->submit->err == ERR_OK;
        Err again = answer_one(&store, id, RATED("2"));
        CHECK(again == ERR_CONFLICT || (again == ERR_OK && !is_taken));
        answers++;
        check_told(&store, answers, answers * 3);
        if (is_over)
            break;
    }
    CHECK(answers > 12);
}

static void only_what_asks_is_found(void)
{
    STORE(store);
    Invitation invitation;
    survey_of(&store, TENANT);
    publish(&store, TENANT,
            "{'id':'plain','eventKind':'plain','channel':'memory:default','awaitAnswer':true}");
    Str plain = invite(&store, TENANT, "plain"), asked = invite(&store, TENANT, "visit");
    CHECK(find(&store, plain, &invitation) == ERR_NOT_FOUND);
    CHECK(find(&store, S(""), &invitation) == ERR_NOT_FOUND);
    CHECK(find(&store, S("012345678901234567"), &invitation) == ERR_NOT_FOUND);
    CHECK(find(&store, str_skip(asked, 1), &invitation) == ERR_NOT_FOUND);
    MUST(&store, find(&store, asked, &invitation));
    CHECK(str_eq(invitation.view.promise.public_id, asked) && invitation.version->version == 1);
    Uuid id = invitation.view.promise.id;
    invitation_drop(&invitation);
    Answer *late[] = { read_answer(&store, asked, RATED("2")),
                       read_answer(&store, asked, RATED("2")) };
    MUST(&store, act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL));
    MUST(&store, write_all(&store, late, 2)); // it was called off meanwhile
    CHECK(late[0]->submit->err == ERR_GONE && late[1]->submit->err == ERR_GONE);
    CHECK(invitation_may(DELIVERY_COMPLETED, &store.error) == ERR_CONFLICT);
    CHECK(invitation_may(DELIVERY_EXPIRED, &store.error) == ERR_GONE);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM response") == 0);
}

static TallySums sums_of(Store *store, TallyFilter filter)
{
    TallySums sums;
    filter.survey = S("csi");
    if (filter.to_day == 0)
        filter.to_day = INT32_MAX;
    MUST(store, tally_sum(store->db, &store->arena, TENANT, &filter, &sums, &store->error));
    return sums;
}

static int64_t n_of(const TallySums *sums, const char *question, const char *value, int64_t *total)
{
    for (size_t i = 0; i < sums->value_count; i++)
        if (is_text(sums->values[i].question, question) && is_text(sums->values[i].value, value)) {
            if (total)
                *total = sums->values[i].total;
            return sums->values[i].n;
        }
    return 0;
}

static void answers_are_counted_by_day_trigger_and_value(void)
{
    STORE(store);
    int64_t total;
    survey_of(&store, TENANT);
    static const char *const given[] = { "{'rate':3,'which':['a','b'],'spent':1.5}",
                                         "{'rate':3,'which':['b'],'spent':-0.0004}",
                                         "{'rate':10,'spent':1e300}", "{'spent':-1e300}" };
    Answer *list[ARRAY_LEN(given)];
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        list[i] = read_answer(&store, invite(&store, TENANT, i == 2 ? "other" : "visit"), given[i]);
    MUST(&store, write_all(&store, list, ARRAY_LEN(given)));
    pass(&store, SPAN_DAY);
    CHECK(answer_one(&store, invite(&store, TENANT, "visit"), "{'rate':4,'spent':-2.0006}") ==
          ERR_OK);
    TallySums all = sums_of(&store, (TallyFilter){ 0 });
    CHECK(n_of(&all, "", "", NULL) == 5 && n_of(&all, "rate", "3", NULL) == 2);
    CHECK(n_of(&all, "rate", "10", NULL) == 1 && n_of(&all, "rate", "", &total) == 4);
    CHECK(total == 20 * 1000);
    CHECK(n_of(&all, "which", "a", NULL) == 1 && n_of(&all, "which", "b", NULL) == 2);
    CHECK(n_of(&all, "which", "", NULL) == 2 && n_of(&all, "spent", "", &total) == 5);
    CHECK(total == 1500 - 2001); // the two that are beyond all bounds weigh the same
    CHECK(all.day_count == 2 && all.days[0].day == now(&store) / SPAN_DAY && all.days[0].n == 1);
    CHECK(all.days[1].n == 4 && all.rule_count == 2 && all.rules[0].n == 4 && all.rules[1].n == 1);
    CHECK(is_text(all.rules[0].id, "csi:gr"));
    TallySums first = sums_of(&store, (TallyFilter){ .to_day = BEGINNING / SPAN_DAY });
    CHECK(n_of(&first, "", "", NULL) == 4 && n_of(&first, "rate", "4", NULL) == 0);
    TallySums later = sums_of(&store, (TallyFilter){ .from_day = BEGINNING / SPAN_DAY + 1 });
    CHECK(n_of(&later, "", "", NULL) == 1);
    TallySums none = sums_of(&store, (TallyFilter){ .version = 2 });
    CHECK(none.value_count == 0 && none.day_count == 0 && none.rule_count == 0);
}

static Err publish_again(Tx *tx, void *with, Error *error)
{
    Definition made;
    SurveyPublished published;
    TRY(definition_replace(tx, TENANT, S("survey"), S("csi"), DEFINITION_ANY_VERSION,
                           json_compact(with, SURVEY_AGAIN), &made, error));
    return survey_publish(tx, TENANT, S("csi"), DEFINITION_ANY_VERSION, &published, error);
}

// Invitations of two versions, answered in one transaction.
static void versions_are_counted_apart(void)
{
    STORE(store);
    survey_of(&store, TENANT);
    Str old = invite(&store, TENANT, "visit");
    MUST(&store, writer_run(store.writer, publish_again, &store, &store.error));
    Answer *list[] = { read_answer(&store, old, RATED("7")),
                       read_answer(&store, invite(&store, TENANT, "visit"), RATED("7")) };
    MUST(&store, write_all(&store, list, 2));
    for (int64_t version = 1; version <= 2; version++) {
        TallySums sums = sums_of(&store, (TallyFilter){ .version = version });
        CHECK(n_of(&sums, "", "", NULL) == 1 && n_of(&sums, "rate", "7", NULL) == 1);
    }
    TallySums all = sums_of(&store, (TallyFilter){ 0 });
    CHECK(n_of(&all, "rate", "7", NULL) == 2);
}

static Err run_statement(Tx *tx, void *with, Error *error)
{
    Rows rows;
    return tx_query(tx, with, NULL, &rows, error);
}

// change runs a statement of the test's own; it is a literal, as the connection remembers it.
static void change(Store *store, const Statement *statement)
{
    MUST(store,
         writer_run(store->writer, run_statement, (void *) (uintptr_t) statement, &store->error));
}

typedef struct Gathering {
    int limit;
    int64_t taken;
} Gathering;

static Err gather(Tx *tx, void *with, Error *error)
{
    Gathering *gathering = with;
    return tally_gather(tx, tx->now, gathering->limit, &gathering->taken, error);
}

static int64_t gather_some(Store *store, int limit)
{
    Gathering gathering = { .limit = limit };
    MUST(store, writer_run(store->writer, gather, &gathering, &store->error));
    return gathering.taken;
}

// Writers of four nodes, of which one lives, on two days.
static void tallies_of_the_gone_and_of_old_days_become_one(void)
{
    static const Statement live = {
        .name = "own_node",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "INSERT INTO node (node, name, started_at, seen_until, is_manual, is_over, has_left,"
               " version, beat_at, clock_offset, leases)"
               " VALUES (4, 'x', 0, 9000000000000000, 0, 0, 0, '1', 0, 0, 0)",
    };
    static const Statement fill = {
        .name = "own_tallies",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "INSERT INTO tally (tenant, survey, day, rule, version, question, value, writer, n,"
               " total) SELECT 1, 'csi', d.day, 1, 1, 'rate', v.value, w.writer, 10, 3"
               " FROM (SELECT 20453 AS day UNION ALL SELECT 20454) AS d"
               " CROSS JOIN (SELECT '' AS value UNION ALL SELECT '7') AS v"
               " CROSS JOIN (SELECT 16 AS writer UNION ALL SELECT 17 UNION ALL SELECT 32"
               " UNION ALL SELECT 48 UNION ALL SELECT 64 UNION ALL SELECT -5) AS w",
    };
    STORE(store);
    CHECK(now(&store) / SPAN_DAY == 20454);
    change(&store, &live);
    change(&store, &fill);
    TallySums before = sums_of(&store, (TallyFilter){ 0 });
    CHECK(gather_some(&store, 5) == 5); // in slices
    CHECK(gather_some(&store, 500) == 24 - 5 - 2 && gather_some(&store, 500) == 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM tally") == 4 + 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM tally WHERE writer = 64 AND day = 20454") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM tally WHERE writer = 0 AND n = 60 AND total = 18"
                          " AND day = 20453") == 2);
    TallySums after = sums_of(&store, (TallyFilter){ 0 });
    CHECK(before.value_count == 2 && after.value_count == 2);
    for (size_t i = 0; i < 2; i++)
        CHECK(before.values[i].n == 120 && after.values[i].n == 120 &&
              after.values[i].total == before.values[i].total);
    pass(&store, SPAN_DAY);
    CHECK(gather_some(&store, 500) == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM tally") == 4);
}

static const Test tests[] = {
    TEST(an_answer_is_kept_counted_and_told_of),
    TEST(what_tells_of_an_answer_is_of_the_same_site),
    TEST(many_in_one_transaction_are_each_by_itself),
    TEST(a_failed_submit_leaves_nothing),
    TEST(a_lost_reply_makes_no_second_response),
    TEST(only_what_asks_is_found),
    TEST(answers_are_counted_by_day_trigger_and_value),
    TEST(versions_are_counted_apart),
    TEST(tallies_of_the_gone_and_of_old_days_become_one),
};

PART(response_part, tests);
