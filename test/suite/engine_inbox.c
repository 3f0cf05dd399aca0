#include "rig.h"

#include "engine/duty.h"
#include "store/decision.h"
#include "store/definition.h"
#include "store/inbox.h"

// What store/inbox.h and the drain promise, on the real engine and store: rows become what they are
// to be in the order of their source, all of a transaction's or none, and one bad row stops nobody.

// Putting is rows that come in together, as an application's transaction brings them.
typedef struct Putting {
    InboxRow *rows;
    size_t count;
} Putting;

static Err apply_put(Tx *tx, void *with, Error *error)
{
    const Putting *putting = with;
    inbox_put(tx, putting->rows, putting->count);
    return tx_sync(tx, error);
}

// row is one of kind "out" as the application says it, later than all that were made before it.
static InboxRow row(Store *store, const char *source, const char *entity)
{
    pass(store, SPAN_MILLISECOND);
    return (InboxRow){ .tenant = TENANT,
                       .id = uuid_new(now(store), &store->random),
                       .source = str_from(source),
                       .kind = INBOX_EVENT,
                       .event_kind = S("out"),
                       .entity = str_from(entity),
                       .body = S("{\"recipient\":{\"address\":\"x\"}}"),
                       .next_at = INSTANT_NONE,
                       .received_at = now(store),
                       .processed_at = INSTANT_NONE };
}

static void put_by(Store *store, Writer *writer, InboxRow *rows, size_t count)
{
    Putting putting = { rows, count };
    MUST(store, writer_run(writer, apply_put, &putting, &store->error));
}

static Uuid put_row(Store *store, InboxRow given)
{
    put_by(store, store->writer, &given, 1);
    return given.id;
}

// put_many puts so many rows of a source, each with its number as its entity.
static void put_many(Store *store, const char *source, int count)
{
    InboxRow *rows = ARENA_ARRAY(&store->arena, InboxRow, count);
    for (int i = 0; i < count; i++)
        rows[i] = row(store, source, str_format(&store->arena, "%d", i).at);
    put_by(store, store->writer, rows, (size_t) count);
}

static InboxRow found(Store *store, Uuid id)
{
    InboxRow ret;
    MUST(store,
         inbox_row(store->db, &store->arena, INBOX_ANY_SIDE, TENANT, id, &ret, &store->error));
    return ret;
}

static int64_t with_status(Store *store, InboxStatus status)
{
    Value args[] = { value_i64(status) };
    Rows rows = ask(store, "SELECT COUNT(*) FROM inbox WHERE status = $1", "i", args);
    return value_to_i64(&rows.values[0]);
}

// Order

static void rows_become_events_in_the_order_of_their_source(void)
{
    RIG(rig);
    Store *store = &rig.store;
    http(&rig, "out", "", ",'schedule':{'initialDelay':'1d'}");
    InboxRow rows[INBOX_ROWS_MAX + 52]; // more than one take's
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i] = row(store, "sql", "a");
    rows[INBOX_ROWS_MAX + 50].kind = INBOX_CANCEL; // of all before it
    put_by(store, store->writer, rows, ARRAY_LEN(rows));
    lapse(&rig, SPAN_SECOND);
    CHECK(with_status(store, INBOX_PUBLISHED) == ARRAY_LEN(rows));
    CHECK(in_state(&rig, DELIVERY_CANCELLED) == INBOX_ROWS_MAX + 50);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 1);
}

static Err apply_take(Tx *tx, void *with, Error *error)
{
    InboxTaken taken;
    Putting *ret = with;
    TRY(inbox_take(tx, &(InboxAsk){ 0 }, &taken, error));
    ret->count = taken.count;
    ret->rows = taken.rows;
    for (size_t i = 1; i < taken.count; i++)
        if (str_eq(taken.rows[i].source, taken.rows[i - 1].source))
            CHECK(uuid_cmp(taken.rows[i - 1].id, taken.rows[i].id) < 0);
    return ERR_OK;
}

static void a_take_has_rows_of_every_source(void)
{
    STORE(store);
    put_many(&store, "greedy", INBOX_ROWS_MAX * 3);
    put_many(&store, "modest", 2);
    Putting taken;
    MUST(&store, writer_run(store.writer, apply_take, &taken, &store.error));
    CHECK(taken.count == INBOX_ROWS_MAX + 2);
}

// Bodies may be large, and sources many: what a take holds in memory is bounded all the same.
static void a_take_has_one_row_that_is_longer_than_its_share(void)
{
    enum { SOURCES = 20, LONG = 2 << 20 };
    STORE(store);
    InboxRow rows[SOURCES * 2];
    Str body = { arena_alloc(&store.arena, LONG), LONG };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i] = row(&store, str_format(&store.arena, "source-%zu", i / 2).at, "a");
        if (i % 4 == 0)
            rows[i].body = body;
    }
    put_by(&store, store.writer, rows, ARRAY_LEN(rows));
    for (int i = 0; i < 5; i++) {
        Putting taken;
        size_t longs = 0;
        MUST(&store, writer_run(store.writer, apply_take, &taken, &store.error));
        for (size_t n = 0; n < taken.count; n++)
            longs += taken.rows[n].body.len == LONG;
        CHECK(taken.count == SOURCES + 1 && longs == 1);
    }
}

static Err apply_tenants(Tx *tx, void *with, Error *error)
{
    InboxTaken taken;
    bool *is_taken = with;
    TRY(inbox_take(tx, &(InboxAsk){ 0 }, &taken, error));
    for (size_t i = 0; i < taken.count; i++)
        is_taken[taken.rows[i].tenant] = true;
    return ERR_OK;
}

// However many tenants have rows that nobody has taken yet, each comes to its turn.
static void no_tenant_is_always_the_last(void)
{
    enum { TENANTS = INBOX_SOURCES_MAX * 3, TAKES = 60 };
    STORE(store);
    InboxRow rows[TENANTS];
    bool is_taken[TENANTS + 1] = { false };
    for (size_t i = 0; i < TENANTS; i++) {
        rows[i] = row(&store, "sql", "a");
        rows[i].tenant = (int64_t) i + 1;
    }
    put_by(&store, store.writer, rows, TENANTS);
    for (int i = 0; i < TAKES; i++) {
        MUST(&store, writer_run(store.writer, apply_tenants, is_taken, &store.error));
    }
    for (size_t i = 1; i <= TENANTS; i++)
        CHECK_AT(str_format(&store.arena, "tenant %zu", i).at, is_taken[i]);
}

static void what_its_source_has_brought_before_is_one_row(void)
{
    STORE(store);
    for (int i = 0; i < 3; i++) {
        InboxRow one = row(&store, i < 2 ? "orders" : "others", "a");
        one.external_id = S("17");
        put_row(&store, one);
    }
    CHECK(with_status(&store, INBOX_PENDING) == 2);
}

// One bad row

static const Statement poison_on = {
    .name = "poison_event_on",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "CREATE TRIGGER poison BEFORE INSERT ON event WHEN NEW.entity = '7'"
           " BEGIN SELECT RAISE(ABORT, 'it cannot be written'); END",
    .postgres = "ALTER TABLE event DROP CONSTRAINT IF EXISTS poison,"
                " ADD CONSTRAINT poison CHECK (entity <> '7')",
};

static void a_row_that_fails_three_times_fails_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    rig.status = 200;
    http(&rig, "out", "", "");
    do_statement(store, &poison_on);
    put_many(store, "sql", 20); // the eighth cannot be written
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(with_status(store, INBOX_PUBLISHED) == 19); // while it still waits for its third try
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(with_status(store, INBOX_FAILED) == 1 && in_state(&rig, DELIVERY_DELIVERED) == 19);
    Rows rows = ask(store, "SELECT id FROM inbox WHERE entity = '7'", "", NULL);
    InboxRow failed = found(store, value_to_uuid(rows.values));
    CHECK(is_text(failed.entity, "7") && failed.attempts == INBOX_TRIES && failed.error.len > 0);
    CHECK(failed.reason == INBOX_REASON_UNWRITTEN && failed.processed_at != INSTANT_NONE);
    put_row(store, row(store, "sql", "next"));
    engine_moved(rig.engine, NULL, 0); // as who puts it in tells
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(with_status(store, INBOX_PUBLISHED) == 20);
}

static void what_cannot_become_an_event_fails_at_once_and_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    const Str bodies[] = { S(""), S("[]"), S("{"), S("{\"a\":\"\xff\"}"), S("{\"a\":\0}") };
    http(&rig, "out", "", "");
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        InboxRow bad = row(store, "sql", "bad");
        bad.body = bodies[i];
        put_row(store, bad);
    }
    InboxRow strange = row(store, "sql", "strange");
    strange.kind = INBOX_KINDS; // a newer node's
    Uuid id = put_row(store, strange);
    put_row(store, row(store, "sql", "good"));
    lapse(&rig, SPAN_SECOND);
    CHECK(with_status(store, INBOX_FAILED) == ARRAY_LEN(bodies) + 1);
    CHECK(with_status(store, INBOX_PUBLISHED) == 1 && rig.sent_count == 1);
    CHECK(found(store, id).reason == INBOX_REASON_UNUSABLE && found(store, id).attempts == 0);
}

static void what_a_clock_ahead_wrote_came_in_now(void)
{
    RIG(rig);
    Store *store = &rig.store;
    http(&rig, "out", "", "");
    InboxRow ahead = row(store, "sql", "ahead");
    ahead.received_at = now(store) + SPAN_HOUR;
    put_row(store, ahead);
    lapse(&rig, SPAN_SECOND);
    CHECK(ask_i64(store, "SELECT received_at FROM event") <= now(store));
}

// Deaths, and other nodes

static Err settle_and_die(Tx *tx, void *with, Error *error)
{
    Putting *taken = with;
    TRY(apply_take(tx, taken, error));
    for (size_t i = 0; i < taken->count; i++)
        taken->rows[i].status = INBOX_PUBLISHED;
    inbox_settle(tx, taken->rows, taken->count);
    TRY(tx_sync(tx, error));
    return fail(error, ERR_INTERNAL, "it dies just here");
}

static void a_death_in_the_middle_frees_what_was_taken(void)
{
    RIG(rig);
    Store *store = &rig.store;
    rig.status = 200;
    http(&rig, "out", "", "");
    put_many(store, "sql", 5);
    Putting taken;
    CHECK(writer_run(store->writer, settle_and_die, &taken, &store->error) == ERR_INTERNAL);
    CHECK(taken.count == 5 && with_status(store, INBOX_PENDING) == 5);
    rig.is_away = true; // another takes its place, while the store cannot be reached
    restart(&rig);
    lapse(&rig, 3 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(with_status(store, INBOX_PUBLISHED) == 5 && in_state(&rig, DELIVERY_DELIVERED) == 5);
    CHECK(ask_i64(store, "SELECT MAX(attempts) FROM inbox") == 0); // no row was to blame
}

static void a_row_that_ends_the_process_three_times_fails_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    http(&rig, "out", "", "");
    do_statement(store, &poison_on);
    put_many(store, "sql", 20); // the eighth is deadly
    put_many(store, "orders", 3);
    Life life = {
        .options = { .clock = &store->clock, .real = &rig.real, .payload_max = EVENT_PAYLOAD_MAX }
    };
    live(&rig, &life);
    CHECK(life.deaths == INBOX_TRIES);
    CHECK(with_status(store, INBOX_PUBLISHED) == 22 && with_status(store, INBOX_FAILED) == 1);
    Rows rows = ask(store, "SELECT id FROM inbox WHERE entity = '7'", "", NULL);
    InboxRow failed = found(store, value_to_uuid(rows.values));
    CHECK(failed.reason == INBOX_REASON_FATAL && failed.attempts == INBOX_TRIES);
    CHECK(ask_i64(store, "SELECT MAX(attempts) FROM inbox WHERE status = 1") == 1);
    put_many(store, "sql", 5);
    live(&rig, &life); // it left nobody to blame: what comes next is taken together
    CHECK(with_status(store, INBOX_PUBLISHED) == 27 && life.deaths == INBOX_TRIES);
}

// Rival is a second node that takes while the first one's transaction is open.
typedef struct Rival {
    Store *store;
    Writer *writer;
    Putting ours, theirs;
} Rival;

static Err take_and_let_the_other(Tx *tx, void *with, Error *error)
{
    Rival *rival = with;
    TRY(apply_take(tx, &rival->ours, error));
    InboxRow late = row(rival->store, "sql", "late");
    InboxRow other = row(rival->store, "orders", "other");
    put_by(rival->store, rival->writer, &late, 1);
    put_by(rival->store, rival->writer, &other, 1);
    return writer_run(rival->writer, apply_take, &rival->theirs, error);
}

static void two_drains_skip_each_other(void)
{
    STORE(store);
    if (!suite_is_postgres())
        return; // one process has the file: there is no second node
    put_many(&store, "sql", 3);
    Random random = random_seeded(43);
    WriterOptions options = { .url = store.url, .clock = &store.clock, .random = &random };
    Rival rival = { .store = &store };
    MUST(&store, writer_open(&options, &rival.writer, &store.error));
    writer_set_node(rival.writer, NODE + 1);
    MUST(&store, writer_run(store.writer, take_and_let_the_other, &rival, &store.error));
    // Not even what came later to a source that is another's: it would overtake.
    CHECK(rival.ours.count == 3 && rival.theirs.count == 1);
    MUST(&store, writer_run(rival.writer, apply_take, &rival.theirs, &store.error));
    CHECK(rival.theirs.count == 5);
    writer_close(rival.writer);
}

// Replay

static Err apply_replay(Tx *tx, void *with, Error *error)
{
    int64_t done;
    TRY(inbox_replay(tx, TENANT, with, 1, &done, error));
    CHECK(done == 1);
    return ERR_OK;
}

static void replay(Rig *rig, Uuid id)
{
    Store *store = &rig->store;
    MUST(store, writer_run(store->writer, apply_replay, &id, &store->error));
    CHECK(found(store, id).status == INBOX_PENDING);
    lapse(rig, 2 * SPAN_SECOND);
}

static void a_replay_decides_anew_and_what_fired_does_not_fire_again(void)
{
    RIG(rig);
    Store *store = &rig.store;
    rig.status = 200;
    Uuid id = put_row(store, row(store, "sql", "a"));
    lapse(&rig, SPAN_SECOND);
    CHECK(found(store, id).status == INBOX_FAILED);
    CHECK(found(store, id).reason == INBOX_REASON_UNTAKEN);
    http(&rig, "out", "", "");
    for (int i = 0; i < 3; i++) {
        replay(&rig, id);
        CHECK(found(store, id).status == INBOX_PUBLISHED && rig.sent_count == 1);
    }
    publish(store, TENANT, "{'id':'also','eventKind':'out','channel':'http:out'}");
    replay(&rig, id);
    replay(&rig, id);
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_DELIVERED) == 2);
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM event") == 1);
}

static size_t missed(Store *store, Uuid event)
{
    Miss *misses;
    size_t count;
    MUST(store, decision_of_event(store->db, &store->arena, TENANT, event, &misses, &count,
                                  &store->error));
    return count;
}

static void publish_missing(Store *store, const char *id)
{
    publish(store, TENANT,
            str_format(&store->arena,
                       "{'id':'%s','eventKind':'out','channel':'memory:default',"
                       "'filter':{'path':'candidate.n','op':'==','value':7}}",
                       id)
                .at);
}

// The event's own row stays as it was written; what holds then stands beside it.
static void what_is_decided_anew_holds_beside_what_was_before(void)
{
    RIG(rig);
    Store *store = &rig.store;
    publish_missing(store, "first");
    Uuid id = put_row(store, row(store, "sql", "a"));
    lapse(&rig, SPAN_SECOND);
    CHECK(missed(store, id) == 1 && ask_i64(store, "SELECT COUNT(*) FROM decision") == 0);
    publish_missing(store, "second");
    replay(&rig, id);
    CHECK(missed(store, id) == 3 && ask_i64(store, "SELECT COUNT(*) FROM decision") == 1);
    replay(&rig, id);
    CHECK(missed(store, id) == 5 && ask_i64(store, "SELECT COUNT(*) FROM decision") == 1);
    CHECK(ask_i64(store, "SELECT COUNT(decided) FROM event") == 1);
}

// Notifications

static InboxRow notification(Store *store, const char *body)
{
    InboxRow ret = row(store, "sql", NULL);
    ret.kind = INBOX_NOTIFY;
    ret.event_kind = S("notification");
    ret.body = json_compact(store, body);
    return ret;
}

static Err apply_list(Tx *tx, void *with, Error *error)
{
    Definition made;
    const Str *body = with;
    return definition_create(tx, TENANT, DEFINITION_LIST, S("ops"), *body, &made, error);
}

static void a_notification_is_read_as_a_posted_one_and_is_one_by_its_id(void)
{
    RIG(rig);
    Store *store = &rig.store;
    rig.status = 200;
    http(&rig, "out", "", "");
    const char *const bodies[] = {
        "{'list':'ops','body':'first'}",
        "{'list':'ops','body':'b','id':'0198a1f0-0000-7000-8000-000000000001'}",
        "{'list':'ops','body':'again','id':'0198a1f0-0000-7000-8000-000000000001'}",
        "{'list':'ops'}",
        "{'list':'ops','body':'b','bdoy':'b'}",
        "[]",
    };
    Uuid ids[ARRAY_LEN(bodies)];
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        ids[i] = put_row(store, notification(store, bodies[i]));
    Uuid neighbour = put_row(store, row(store, "sql", "good"));
    lapse(&rig, SPAN_SECOND);
    CHECK(found(store, neighbour).status == INBOX_PUBLISHED && rig.sent_count == 1);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        InboxRow failed = found(store, ids[i]);
        CHECK(failed.status == INBOX_FAILED && failed.attempts == 0 && failed.error.len > 0);
        CHECK(failed.reason == (i < 3 ? INBOX_REASON_UNLISTED : INBOX_REASON_UNUSABLE));
    }
    Str list = json_compact(store, "{'id':'ops','channels':['http:out']}");
    MUST(store, writer_run(store->writer, apply_list, &list, &store->error));
    for (size_t i = 0; i < 3; i++) {
        replay(&rig, ids[i]);
        CHECK(found(store, ids[i]).status == INBOX_PUBLISHED);
    }
    CHECK(rig.sent_count == 3 && ask_i64(store, "SELECT COUNT(*) FROM event") == 3);
    replay(&rig, ids[0]);
    CHECK(found(store, ids[0]).status == INBOX_PUBLISHED && rig.sent_count == 3);
}

static const Test tests[] = {
    TEST(rows_become_events_in_the_order_of_their_source),
    TEST(a_take_has_rows_of_every_source),
    TEST(a_take_has_one_row_that_is_longer_than_its_share),
    TEST(no_tenant_is_always_the_last),
    TEST(what_its_source_has_brought_before_is_one_row),
    TEST(a_row_that_fails_three_times_fails_alone),
    TEST(what_cannot_become_an_event_fails_at_once_and_alone),
    TEST(what_a_clock_ahead_wrote_came_in_now),
    TEST(a_death_in_the_middle_frees_what_was_taken),
    TEST(a_row_that_ends_the_process_three_times_fails_alone),
    TEST(two_drains_skip_each_other),
    TEST(a_replay_decides_anew_and_what_fired_does_not_fire_again),
    TEST(what_is_decided_anew_holds_beside_what_was_before),
    TEST(a_notification_is_read_as_a_posted_one_and_is_one_by_its_id),
};

PART(inbox_part, tests);
