#include "fixture.h"

#include "store/audit.h"
#include "store/purge.h"
#include "store/sequence.h"
#include "store/site.h"

// What store/purge.h promises: what ended long ago goes with all that is of it, in slices, and
// nothing else does.

static const PurgeTimes usual = { PURGE_KEPT, PURGE_KEPT };

typedef struct Purging {
    PurgeTimes times;
    int64_t limit;
    bool dies;
    PurgeReport report;
} Purging;

static Err do_purge(Tx *tx, void *with, Error *error)
{
    Purging *purging = with;
    TRY(purge_walk(tx, &purging->times, purging->limit, &purging->report, error));
    return purging->dies ? fail(error, ERR_CONFLICT, "died before the commit") : ERR_OK;
}

// purge does all slices of a run and returns how many rows went; ret_slices may be NULL.
static int64_t purge_by(Store *store, PurgeTimes times, int64_t limit, int *ret_slices)
{
    int64_t gone = 0;
    int slices = 0;
    for (bool has_more = true; has_more && slices < 500; slices++) {
        Purging purging = { times, limit, false, { 0 } };
        MUST(store, writer_run(store->writer, do_purge, &purging, &store->error));
        CHECK(purging.report.gone < 2 * limit);
        gone += purging.report.gone;
        has_more = purging.report.has_more;
    }
    if (ret_slices)
        *ret_slices = slices;
    return gone;
}

static int64_t purge(Store *store)
{
    return purge_by(store, usual, 100, NULL);
}

static Err do_seal(Tx *tx, void *with, Error *error)
{
    bool has_more;
    TRY(sequence_run(tx, 1000, &has_more, NULL, error));
    return audit_seal(tx, 10000, with, error);
}

static void seal(Store *store)
{
    AuditSealed sealed;
    MUST(store, writer_run(store->writer, do_seal, &sealed, &store->error));
    CHECK(!sealed.has_more);
}

static int64_t rows_of(Store *store, const char *table)
{
    return ask_i64(store, str_format(&store->arena, "SELECT COUNT(*) FROM %s", table).at);
}

static void check_rows(Store *store, const char *const *tables, int64_t count)
{
    for (; *tables; tables++)
        CHECK_AT(*tables, rows_of(store, *tables) == count);
}

// open_purged has a trigger whose deliveries leave a row in every table that they can.
static void open_purged(Store *store)
{
    publish(store, TENANT,
            "{'id':'plain','eventKind':'visit','channel':'memory:default','awaitAnswer':true,"
            "'dedupRecipe':['candidate.n'],'expireAfter':'1h',"
            "'cancelOn':{'eventKind':'never','match':['candidate.n']},"
            "'retry':{'policy':'fixed','interval':'1m','max':1}}");
    publish(store, TENANT,
            "{'id':'other','eventKind':'visit','channel':'memory:default','filter':"
            "{'path':'candidate.n','op':'==','value':'none'}}");
}

static Uuid visit(Store *store, int n)
{
    const char *event = str_format(&store->arena,
                                   "{'kind':'visit','id':'i-%d','payload':{'n':'%d'},"
                                   "'recipient':{'address':'ada@example.org'}}",
                                   n, n)
                            .at;
    Accept *accept = take(store, TENANT, event);
    MUST(store, take_err(accept));
    return accept->items[0].pairs[0].delivery;
}

// park makes a delivery that fails twice, and is parked then.
static Uuid park(Store *store, int n)
{
    Uuid id = visit(store, n);
    for (int i = 0; i < 2; i++, pass(store, 2 * SPAN_MINUTE)) {
        Claimed claimed = claim_one(store, 1);
        settle_one(store, &claimed, VERDICT_TRANSIENT);
    }
    return id;
}

static const char *const of_deliveries[] = { "event",    "delivery", "ended",    "attempt",
                                             "awaiting", "recall",   "decision", NULL };

static Err decide_anew(Tx *tx, void *with, Error *error)
{
    static const Statement renew = {
        .name = "suite_renew",
        .params = "",
        .sql = "INSERT INTO decision (tenant, event, facts) SELECT tenant, id, decided FROM event",
    };
    (void) with;
    db_send(tx->db, &tx->arena, &renew, NULL, NULL);
    return tx_sync(tx, error);
}

static void what_ended_a_year_ago_goes_with_all_that_is_of_it(void)
{
    STORE(store);
    open_purged(&store);
    park(&store, 1);
    MUST(&store, writer_run(store.writer, decide_anew, NULL, &store.error));
    check_rows(&store, of_deliveries, 1);
    pass(&store, PURGE_KEPT - 2 * SPAN_MINUTE);
    CHECK(purge(&store) == 0);
    check_rows(&store, of_deliveries, 1);
    pass(&store, SPAN_DAY);
    CHECK(purge(&store) >= 2);
    check_rows(&store, of_deliveries, 0);
    store_check(&store);
    CHECK(ask_i64(&store, "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counter") == 0);
}

static void what_is_not_over_stays_however_old_it_is(void)
{
    STORE(store);
    open_purged(&store);
    park(&store, 1);
    visit(&store, 2);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    visit(&store, 3);
    int64_t queued = rows_of(&store, "queue");
    CHECK(queued == 2); // retrying, pending
    pass(&store, 3 * PURGE_KEPT);
    purge(&store);
    CHECK(rows_of(&store, "queue") == queued);
    CHECK(rows_of(&store, "delivery") == queued && rows_of(&store, "event") == queued);
    CHECK(rows_of(&store, "recall") == queued && rows_of(&store, "awaiting") == queued);
}

static void dedup_keys_outlive_what_holds_them(void)
{
    STORE(store);
    open_purged(&store);
    park(&store, 1);
    int64_t keys = rows_of(&store, "dedup");
    CHECK(keys == 2); // of the event, and of the delivery
    pass(&store, PURGE_KEPT + SPAN_DAY);
    CHECK(purge(&store) > 0);
    CHECK(rows_of(&store, "delivery") == 0 && rows_of(&store, "dedup") == keys);
    Accept *again = take(&store, TENANT, "{'kind':'visit','id':'i-1','payload':{'n':'1'}}");
    MUST(&store, take_err(again));
    again = take(&store, TENANT, "{'kind':'visit','id':'i-9','payload':{'n':'1'}}");
    MUST(&store, take_err(again));
    CHECK(rows_of(&store, "delivery") == 0); // neither sends again
    pass(&store, PURGE_KEYS_KEPT - PURGE_KEPT);
    purge(&store);
    CHECK(rows_of(&store, "dedup") == 1); // of the last event, which is younger
    visit(&store, 1);
    CHECK(rows_of(&store, "delivery") == 1);
}

static void dedup_keys_outlive_a_longer_keep_too(void)
{
    STORE(store);
    open_purged(&store);
    park(&store, 1);
    PurgeTimes longer = { 2 * PURGE_KEPT, 2 * PURGE_KEPT };
    pass(&store, 2 * PURGE_KEPT + SPAN_DAY);
    CHECK(purge_by(&store, longer, 100, NULL) > 0);
    CHECK(rows_of(&store, "delivery") == 0 && rows_of(&store, "dedup") == 2);
    pass(&store, PURGE_KEYS_LONGER);
    CHECK(purge_by(&store, longer, 100, NULL) > 0 && rows_of(&store, "dedup") == 0);
}

static void an_event_stays_while_a_delivery_of_it_does(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'one','eventKind':'visit','channel':'memory:default'}");
    publish(&store, TENANT,
            "{'id':'two','eventKind':'visit','channel':'memory:default',"
            "'schedule':{'initialDelay':'1000d'}}");
    MUST(&store, take_err(take(&store, TENANT, "{'kind':'visit','payload':{}}")));
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    CHECK(purge(&store) == 1); // the delivery
    CHECK(rows_of(&store, "event") == 1 && rows_of(&store, "delivery") == 1);
}

static void a_run_goes_in_slices_and_goes_on_where_it_died(void)
{
    STORE(store);
    int slices;
    publish(&store, TENANT, "{'id':'one','eventKind':'visit','channel':'memory:default'}");
    for (int i = 0; i < 25; i++) {
        MUST(&store, take_err(take(&store, TENANT, "{'kind':'visit','payload':{}}")));
        Claimed claimed = claim_one(&store, 1);
        settle_one(&store, &claimed, VERDICT_DELIVERED);
    }
    pass(&store, PURGE_KEPT + SPAN_DAY);
    Purging purging = { usual, 10, false, { 0 } };
    MUST(&store, writer_run(store.writer, do_purge, &purging, &store.error));
    CHECK(purging.report.gone == 10 && purging.report.has_more);
    CHECK(rows_of(&store, "ended") == 15);
    purging.dies = true;
    CHECK(writer_run(store.writer, do_purge, &purging, &store.error) != ERR_OK);
    CHECK(rows_of(&store, "ended") == 15);
    store_check(&store);
    CHECK(purge_by(&store, usual, 10, &slices) == 15 + 25); // deliveries, events
    CHECK(slices >= 4);
    seal(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM purge WHERE gone = 0 AND walk = 0") == 1);
    CHECK(purge(&store) == 0); // until tomorrow
}

// facts_of counts the facts that tell of a purge.
static int facts_of(Store *store, const char *subject)
{
    JournalEntry *entries;
    size_t count;
    int found = 0;
    seal(store);
    MUST(store,
         journal_read(store->db, &store->arena, TENANT, 0, 1000, &entries, &count, &store->error));
    for (size_t i = 0; i < count; i++)
        found += entries[i].fact.kind == FACT_PURGED && is_text(entries[i].fact.subject, subject);
    return found;
}

static void each_run_tells_what_is_gone(void)
{
    STORE(store);
    open_purged(&store);
    park(&store, 1);
    park(&store, 2);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    CHECK(purge_by(&store, usual, 1, NULL) > 0); // in many slices
    CHECK(facts_of(&store, "deliveries: 2") == 1 && facts_of(&store, "events: 2") == 1);
}

// problem_from verifies what lies behind a place.
static AuditProblem problem_from(Store *store, AuditHead from)
{
    static const AuditHead none;
    bool has_more = true;
    AuditVerdict verdict = { .head = from };
    while (has_more)
        MUST(store,
             audit_verify(store->db, TENANT, &none, 1000, &verdict, &has_more, &store->error));
    return verdict.problem;
}

static AuditProblem problem_of(Store *store, AuditChain *ret)
{
    MUST(store, audit_chain(store->db, &store->arena, TENANT, ret, &store->error));
    return problem_from(store, ret->anchor);
}

static void the_audit_is_whole_from_its_anchor_on(void)
{
    STORE(store);
    AuditChain before, after;
    open_purged(&store);
    park(&store, 1);
    seal(&store);
    CHECK(problem_of(&store, &before) == AUDIT_PROBLEM_NONE && before.anchor.seq == 0);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    visit(&store, 2);
    seal(&store);
    CHECK(purge(&store) > 0);
    CHECK(problem_of(&store, &after) == AUDIT_PROBLEM_NONE);
    CHECK(problem_from(&store, before.anchor) == AUDIT_PROBLEM_NONE); // begun before the purge
    CHECK(after.anchor.seq == before.head.seq &&
          memcmp(&after.anchor.link, &before.head.link, sizeof after.anchor.link) == 0);
    CHECK(ask_i64(&store, "SELECT MIN(first) FROM audit WHERE tenant = 1") == after.anchor.seq + 1);
}

// Written is what a test writes to the tables itself.
typedef struct Written {
    Statement statement;
    const Value *values;
} Written;

static Err do_write(Tx *tx, void *with, Error *error)
{
    const Written *written = with;
    Rows rows;
    return tx_query(tx, &written->statement, written->values, &rows, error);
}

static void write_row(Store *store, const char *sql, const char *params, const Value *values)
{
    static int number;
    Written *written = ARENA_NEW(&store->arena, Written); // a driver knows it by its place
    const char *name = str_format(&store->arena, "suite_write_%d", number++).at;
    *written = (Written){ { .name = name, .scope = STATEMENT_SYSTEM, .params = params, .sql = sql },
                          values };
    MUST(store, writer_run(store->writer, do_write, written, &store->error));
}

static void a_changed_row_of_the_audit_is_not_purged_away(void)
{
    STORE(store);
    AuditChain chain;
    open_purged(&store);
    seal(&store);
    int64_t before = ask_i64(&store, "SELECT seq FROM chain WHERE tenant = 1");
    park(&store, 1);
    seal(&store);
    Value args = value_i64(before);
    write_row(&store, "UPDATE audit SET body = link WHERE tenant = 1 AND first = $1 + 1", "i",
              &args);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    purge(&store);
    seal(&store);
    CHECK(problem_of(&store, &chain) == AUDIT_PROBLEM_CHANGED && chain.anchor.seq == before);
}

static void a_site_keeps_what_it_handed_on_for_a_week(void)
{
    STORE(store);
    PurgeTimes times = { PURGE_KEPT, SITE_KEEPS };
    open_purged(&store);
    park(&store, 1);
    publish(&store, TENANT, "{'id':'one','eventKind':'call','channel':'memory:default'}");
    MUST(&store, take_err(take(&store, TENANT, "{'kind':'call','payload':{}}")));
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    pass(&store, SITE_KEEPS + SPAN_SECOND);
    CHECK(purge_by(&store, times, 100, NULL) == 2);
    CHECK(ask_i64(&store, "SELECT state FROM ended") == DELIVERY_PARKED);
    CHECK(rows_of(&store, "event") == 1 && rows_of(&store, "delivery") == 1);
}

static void inbox_rows_and_operations_go_when_they_are_done(void)
{
    STORE(store);
    static const char insert[] =
        "INSERT INTO inbox (tenant, id, source, kind, body, status, reason, attempts, received_at,"
        " processed_at) VALUES (1, $1, 'sql', 0, $2, $3, 0, 0, $4, $5)";
    for (int status = 0; status <= 2; status++) {
        Uuid id = uuid_new(now(&store), &store.random);
        Value args[] = { value_uuid(&id), value_bytes(S("{}")), value_i64(status),
                         value_i64(now(&store)), value_i64(now(&store)) };
        write_row(&store, insert, "ubiii", args);
    }
    static const char operate[] =
        "INSERT INTO operation (tenant, id, action, filter, actor, is_dry, matched, done, skipped,"
        " failed, state, is_paused, slices, position, created_at, finished_at)"
        " VALUES (1, $1, 'retry', '{}', $1, 0, 0, 0, 0, 0, $2, 0, 0, $1, $3, $4)";
    static const char *const states[] = { "done", "cancelled", "running" };
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        Uuid id = uuid_new(now(&store), &store.random);
        Value args[] = { value_uuid(&id), value_text(str_from(states[i])), value_i64(now(&store)),
                         i < 2 ? value_i64(now(&store)) : value_null() };
        write_row(&store, operate, "utii", args);
    }
    CHECK(purge(&store) == 0);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    CHECK(purge(&store) >= 4);
    CHECK(ask_i64(&store, "SELECT status FROM inbox") == 0 && rows_of(&store, "inbox") == 1);
    CHECK(rows_of(&store, "operation") == 1);
}

static const Test tests[] = {
    TEST(what_ended_a_year_ago_goes_with_all_that_is_of_it),
    TEST(what_is_not_over_stays_however_old_it_is),
    TEST(dedup_keys_outlive_what_holds_them),
    TEST(dedup_keys_outlive_a_longer_keep_too),
    TEST(an_event_stays_while_a_delivery_of_it_does),
    TEST(a_run_goes_in_slices_and_goes_on_where_it_died),
    TEST(each_run_tells_what_is_gone),
    TEST(the_audit_is_whole_from_its_anchor_on),
    TEST(a_changed_row_of_the_audit_is_not_purged_away),
    TEST(a_site_keeps_what_it_handed_on_for_a_week),
    TEST(inbox_rows_and_operations_go_when_they_are_done),
};
PART(purge_part, tests);
