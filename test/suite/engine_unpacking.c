#include "rig.h"

#include "engine/state.h"
#include "store/inbox.h"

#include <semaphore.h>

// What the drain promises of hooks that are long to read, or whose parser comes to no end: they are
// read beside everything else, written in parts, given up after three tries, and stop nobody.

// The provider of these tests reads {"events":n}: so many of them, the last of which happened long
// ago where the body is "old". One that "spins" is read for ever, but for what json.h says; one
// that "hangs", until the test lets it go; one that "stays" where it is read, until who watches has
// had enough. A parser that was mended does none of it.
typedef struct Far {
    Rig *rig;
    Clock *clock;
    bool is_mended;
    sem_t has_begun, may_end;
} Far;

static Far far_side;

static void spin(const Json *body)
{
    for (JsonIter it = json_each(body); json_next(&it); it = json_each(body))
        clock_pass(far_side.clock, SPAN_MILLISECOND);
}

static void hang(void)
{
    sem_post(&far_side.has_begun);
    sem_wait(&far_side.may_end);
}

static void stay(void)
{
    for (Span span = 0; span < UNPACK_TIME + UNPACK_TIME_GRACE; span += SPAN_SECOND) {
        CHECK(far_side.rig->hung == 0);
        clock_pass(far_side.clock, SPAN_SECOND);
        unpacking_watch(far_side.rig->engine);
    }
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body;
    int64_t count = 0;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON");
    if (json_get(body, S("spins")) && !far_side.is_mended)
        spin(body);
    if (json_get(body, S("hangs")) && !far_side.is_mended)
        hang();
    if (json_get(body, S("stays")) && !far_side.is_mended)
        stay();
    (void) json_i64(json_get(body, S("events")), &count);
    *ret = (ProviderRead){ .events = ARENA_ARRAY(arena, ProviderEvent, (size_t) count + 1),
                           .count = (size_t) count };
    for (size_t i = 0; i < ret->count; i++)
        ret->events[i] = (ProviderEvent){ .provider = PROVIDER_GENERIC,
                                          .type = S("event"),
                                          .provider_type = S("event"),
                                          .occurred_at = INSTANT_NONE,
                                          .dedup_key = str_format(arena, "%zu", i) };
    if (json_get(body, S("old")))
        ret->events[ret->count - 1].occurred_at = 7;
    return ERR_OK;
}

static const Provider tested = { .name = PROVIDER_GENERIC, .parse = parse };
static const Provider *const providers[PROVIDERS] = { [PROVIDER_GENERIC] = &tested };

static void open_hooks(Rig *rig)
{
    far_side = (Far){ .rig = rig, .clock = &rig->store.clock };
    sem_init(&far_side.has_begun, 0, 0);
    sem_init(&far_side.may_end, 0, 0);
    rig->providers = providers;
    rig->status = 200;
    restart(rig);
}

static void put_row(Rig *rig, const InboxRow *row)
{
    Store *store = &rig->store;
    put_rows(store, row, 1);
    engine_moved(rig->engine, NULL, 0);
}

static InboxRow hook(Store *store, const char *source, const char *body)
{
    pass(store, SPAN_MILLISECOND);
    return (InboxRow){ .tenant = TENANT,
                       .id = uuid_new(now(store), &store->random),
                       .source = str_from(source),
                       .kind = INBOX_HOOK,
                       .provider = S("generic"),
                       .headers = S("[]"),
                       .body = json_compact(store, body),
                       .next_at = INSTANT_NONE,
                       .received_at = now(store),
                       .processed_at = INSTANT_NONE };
}

static Uuid put(Rig *rig, const char *source, const char *body)
{
    InboxRow made = hook(&rig->store, source, body);
    put_row(rig, &made);
    return made.id;
}

// put_long puts one that is too long for a transaction.
static Uuid put_long(Rig *rig, const char *source, const char *members)
{
    const char *body =
        str_format(&rig->store.arena, "{%s,'pad':'%0*d'}", members, INBOX_LONG, 0).at;
    return put(rig, source, body);
}

static InboxRow found(Store *store, Uuid id)
{
    InboxRow ret;
    MUST(store, inbox_row(store->db, &store->arena, INBOX_HOOKS, TENANT, id, &ret, &store->error));
    return ret;
}

static bool stands(Store *store, Uuid id, InboxStatus status, InboxReason reason, int attempts)
{
    InboxRow row = found(store, id);
    bool is_good =
        row.status == (int) status && row.reason == (int) reason && row.attempts == attempts;
    if (!is_good)
        printf("# status %d, reason %s, attempts %d: %.*s\n", row.status,
               inbox_reason_code((InboxReason) row.reason), row.attempts, STR_ARG(row.error));
    return is_good;
}

static bool is_read_well(Store *store, Uuid id)
{
    return stands(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER, 0);
}

static int64_t count_of(Store *store, const char *table)
{
    return ask_i64(store, str_format(&store->arena, "SELECT COUNT(*) FROM %s", table).at);
}

// With a thread

typedef struct Fence {
    Task task;
    sem_t is_reached;
} Fence;

static void reach(Task *task, void *seat)
{
    (void) seat;
    sem_post(&((Fence *) task)->is_reached);
}

// wait_for_thread waits until all that was handed to the thread was read.
static void wait_for_thread(const Rig *rig)
{
    Fence fence = { .task = { .run = reach } };
    sem_init(&fence.is_reached, 0, 0);
    CHECK(pool_submit(rig->readers, &fence.task));
    sem_wait(&fence.is_reached);
}

static void let_go(const Rig *rig)
{
    sem_post(&far_side.may_end);
    wait_for_thread(rig);
}

static void rig_close_with_thread(Rig *rig)
{
    pool_close(rig->readers);
    rig_close(rig);
}

#define RIG_WITH_THREAD(name)                                                                      \
    DEFER(rig_close_with_thread)                                                                   \
    Rig name = { .readers = pool_open(&(PoolOptions){ .threads = 1, .waiting_max = 8 }) };         \
    rig_open(&name);                                                                               \
    open_hooks(&name)

static void while_a_long_hook_is_read_others_go_on_and_its_source_waits(void)
{
    RIG_WITH_THREAD(rig);
    Store *store = &rig.store;
    Uuid slow = put_long(&rig, "a", "'events':2,'hangs':true");
    Uuid behind = put(&rig, "a", "{'events':1}");
    Uuid beside = put(&rig, "b", "{'events':1}");
    turn(&rig);
    sem_wait(&far_side.has_begun);
    Uuid later_on = put(&rig, "b", "{'events':1}");
    Uuid also_long = put_long(&rig, "c", "'events':1");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(stands(store, slow, INBOX_PENDING, INBOX_REASON_BEING_READ, 1));
    CHECK(stands(store, behind, INBOX_PENDING, INBOX_REASON_NONE, 0));
    CHECK(stands(store, also_long, INBOX_PENDING, INBOX_REASON_NONE, 0));
    CHECK(is_read_well(store, beside) && is_read_well(store, later_on));
    CHECK(!engine_is_idle(rig.engine) && rig.hung == 0);
    let_go(&rig);
    turn(&rig);
    CHECK(is_read_well(store, slow) && is_read_well(store, behind) && rig.hung == 0);
    wait_for_thread(&rig);
    turn(&rig);
    CHECK(is_read_well(store, also_long) && count_of(store, "event") == 6);
}

static void a_parser_that_hangs_for_good_ends_the_process(void)
{
    RIG_WITH_THREAD(rig);
    put_long(&rig, "a", "'events':1,'hangs':true");
    turn(&rig);
    sem_wait(&far_side.has_begun);
    lapse(&rig, UNPACK_TIME + UNPACK_TIME_GRACE - SPAN_SECOND);
    CHECK(rig.hung == 0);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.hung > 0);
    let_go(&rig);
}

// Whoever was stopped with everything else is no parser that hangs.
static void a_process_that_stood_still_does_not_end_itself(void)
{
    RIG_WITH_THREAD(rig);
    put_long(&rig, "a", "'events':1,'hangs':true");
    turn(&rig);
    sem_wait(&far_side.has_begun);
    clock_pass(&rig.store.clock, SPAN_HOUR);
    lapse(&rig, UNPACK_TIME + UNPACK_TIME_GRACE - SPAN_SECOND);
    CHECK(rig.hung == 0);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.hung > 0);
    let_go(&rig);
}

static const Statement take_over = {
    .name = "test_take_over",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE inbox SET attempts = attempts + 1 WHERE status = 0",
};

// A lease that lapsed may be another node's by now: what was read here is not written then.
static void what_another_node_took_over_is_let_go(void)
{
    RIG_WITH_THREAD(rig);
    Store *store = &rig.store;
    Uuid slow = put_long(&rig, "a", "'events':2,'hangs':true");
    turn(&rig);
    sem_wait(&far_side.has_begun);
    do_statement(store, &take_over);
    let_go(&rig);
    turn(&rig);
    CHECK(stands(store, slow, INBOX_PENDING, INBOX_REASON_BEING_READ, 2));
    CHECK(count_of(store, "event") == 0 && engine_is_idle(rig.engine));
}

// What is short is read by who writes, who is watched as well.
static void a_parser_that_hangs_in_a_transaction_ends_the_process(void)
{
    RIG(rig);
    open_hooks(&rig);
    put(&rig, "a", "{'events':1,'stays':true}");
    engine_round(rig.engine);
    writer_step(rig.store.writer);
    CHECK(rig.hung > 0);
    far_side.is_mended = true;
}

// Tries

static void a_parser_without_end_is_given_up_after_three_tries(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid bad = put(&rig, "a", "{'events':1,'spins':true}");
    Uuid behind = put(&rig, "a", "{'events':1}");
    Uuid beside = put(&rig, "b", "{'events':1}");
    turn(&rig);
    CHECK(stands(store, bad, INBOX_PENDING, INBOX_REASON_NONE, 1));
    CHECK(is_read_well(store, behind) && is_read_well(store, beside));
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(stands(store, bad, INBOX_FAILED, INBOX_REASON_TIMEOUT, INBOX_TRIES));
    CHECK(is_text(found(store, bad).error, "its parser came to no end in 10 s"));
    CHECK(rig.hung == 0 && count_of(store, "event") == 2 && engine_is_idle(rig.engine));
}

// A process that dies while it reads has counted the try before.
static void a_hook_that_nobody_lives_to_read_fails(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid deadly = put_long(&rig, "a", "'events':1");
    Uuid behind = put(&rig, "a", "{'events':1}");
    for (int i = 1; i <= INBOX_TRIES; i++) {
        for (int rounds = 0; found(store, deadly).attempts < i && rounds < 100; rounds++) {
            engine_round(rig.engine);
            writer_step(store->writer);
        }
        CHECK(stands(store, deadly, INBOX_PENDING, INBOX_REASON_BEING_READ, i));
        restart(&rig);
        pass(store, INBOX_LEASE);
    }
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(stands(store, deadly, INBOX_FAILED, INBOX_REASON_FATAL, INBOX_TRIES));
    CHECK(is_read_well(store, behind));
}

static void what_another_node_reads_is_its_until_its_lease_ends(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    turn(&rig);
    InboxRow theirs = hook(store, "a", "{'events':1}");
    theirs.attempts = 1;
    theirs.reason = INBOX_REASON_BEING_READ;
    theirs.next_at = now(store) + INBOX_LEASE;
    put_row(&rig, &theirs);
    Uuid behind = put(&rig, "a", "{'events':1}");
    Uuid beside = put(&rig, "b", "{'events':1}");
    lapse(&rig, INBOX_LEASE - SPAN_SECOND);
    CHECK(stands(store, theirs.id, INBOX_PENDING, INBOX_REASON_BEING_READ, 1));
    CHECK(stands(store, behind, INBOX_PENDING, INBOX_REASON_NONE, 0));
    CHECK(is_read_well(store, beside));
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(stands(store, theirs.id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER, 1));
    CHECK(is_read_well(store, behind));
}

// A process that is about to end begins no hook that it may not live to write.
static void who_stops_begins_no_long_hook(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    turn(&rig);
    rig.engine->is_stopping = true;
    Uuid slow = put_long(&rig, "a", "'events':1");
    Uuid behind = put(&rig, "a", "{'events':1}");
    Uuid beside = put(&rig, "b", "{'events':1}");
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(stands(store, slow, INBOX_PENDING, INBOX_REASON_NONE, 0));
    CHECK(stands(store, behind, INBOX_PENDING, INBOX_REASON_NONE, 0));
    CHECK(is_read_well(store, beside) && engine_is_idle(rig.engine));
    rig.engine->is_stopping = false;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(is_read_well(store, slow) && is_read_well(store, behind));
}

static void what_its_parser_was_mended_for_is_read(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid id = put(&rig, "a", "{'events':1,'spins':true}");
    turn(&rig);
    CHECK(stands(store, id, INBOX_PENDING, INBOX_REASON_NONE, 1));
    far_side.is_mended = true;
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(stands(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER, 1));
}

// Parts

enum { EVENTS = 300, TRIGGERS = 20 };

static void listen_often(Rig *rig)
{
    Store *store = &rig->store;
    http(rig, "generic.event", "", "");
    for (int i = 1; i < TRIGGERS; i++)
        publish(store, TENANT,
                str_format(&store->arena,
                           "{'id':'also-%d','eventKind':'generic.event','channel':"
                           "'http:generic.event'}",
                           i)
                    .at);
}

static void a_hook_of_many_events_is_written_in_parts(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    listen_often(&rig);
    Uuid many = put(&rig, "a", "{'events':300}");
    Uuid behind = put(&rig, "a", "{'events':1}");
    int64_t written = 0, most = 0;
    for (int rounds = 0; written < EVENTS + 1 && rounds < 1000; rounds++) {
        int64_t before = written;
        pass(store, SPAN_SECOND);
        engine_round(rig.engine);
        writer_step(store->writer);
        written = count_of(store, "event");
        most = written - before > most ? written - before : most;
        if (written > 0 && written < EVENTS)
            CHECK(stands(store, many, INBOX_PENDING, INBOX_REASON_BEING_READ, 1));
        if (before < written && written < EVENTS) // each part has the lease begin anew
            CHECK(found(store, many).next_at == now(store) + INBOX_LEASE);
    }
    CHECK(most < EVENTS && most * TRIGGERS <= 5000 + TRIGGERS);
    lapse(&rig, SPAN_SECOND);
    CHECK(stands(store, many, INBOX_PUBLISHED, INBOX_REASON_NONE, 0));
    CHECK(stands(store, behind, INBOX_PUBLISHED, INBOX_REASON_NONE, 0));
    CHECK(count_of(store, "delivery") == (EVENTS + 1) * TRIGGERS);
}

// Where the process dies between two parts, the next finds what there is: nothing is made twice.
static void a_death_between_two_parts_makes_each_delivery_once(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    listen_often(&rig);
    Uuid many = put(&rig, "a", "{'events':300}");
    for (int rounds = 0; count_of(store, "event") == 0 && rounds < 100; rounds++) {
        engine_round(rig.engine);
        writer_step(store->writer);
    }
    int64_t before = count_of(store, "event");
    CHECK(before > 0 && before < EVENTS);
    restart(&rig);
    pass(store, INBOX_LEASE);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(stands(store, many, INBOX_PUBLISHED, INBOX_REASON_NONE, 1));
    CHECK(count_of(store, "event") == EVENTS);
    CHECK(count_of(store, "delivery") == EVENTS * TRIGGERS);
    CHECK(rig.sent_count == EVENTS * TRIGGERS);
}

// A part that fails by its own fault is a try. What was written before it is known to the next.
static void behind_a_part_that_failed_the_next_try_goes_on(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    poison_events(store);
    Uuid many = put_long(&rig, "a", "'events':1500,'old':true");
    lapse(&rig, SPAN_SECOND);
    CHECK(count_of(store, "event") > 0 && count_of(store, "event") < 1500);
    CHECK(stands(store, many, INBOX_PENDING, INBOX_REASON_NONE, 1));
    cure_events(store);
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(stands(store, many, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER, 1));
    CHECK(count_of(store, "event") == 1500);
}

// Between two parts of a hook other rows are written, and what they fail by is not its fault.
static void what_fails_between_two_parts_is_not_blamed_on_them(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    poison_events(store);
    Uuid many = put_long(&rig, "a", "'events':9500");
    for (int rounds = 0; count_of(store, "event") == 0 && rounds < 100; rounds++) {
        engine_round(rig.engine);
        writer_step(store->writer);
    }
    Uuid bad = put(&rig, "b", "{'events':1,'old':true}");
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(is_read_well(store, many) && count_of(store, "event") == 9500);
    CHECK(stands(store, bad, INBOX_FAILED, INBOX_REASON_REFUSED, INBOX_TRIES));
    cure_events(store);
}

// It is enough that a trigger takes one event, in whichever part that is.
static void an_event_of_any_part_counts(void)
{
    static const char *const keys[] = { "0", "1999" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        RIG(rig);
        open_hooks(&rig);
        http(&rig, "generic.event", "",
             str_format(&rig.store.arena,
                        ",'filter':{'path':'candidate.dedupKey','op':'==','value':'%s'}", keys[i])
                 .at);
        Uuid id = put_long(&rig, "a", "'events':2000");
        lapse(&rig, SPAN_SECOND);
        CHECK_AT(keys[i], stands(&rig.store, id, INBOX_PUBLISHED, INBOX_REASON_NONE, 0));
        CHECK(rig.sent_count == 1 && count_of(&rig.store, "event") == 2000);
    }
}

static const Test tests[] = {
    TEST(while_a_long_hook_is_read_others_go_on_and_its_source_waits),
    TEST(a_parser_that_hangs_for_good_ends_the_process),
    TEST(a_parser_that_hangs_in_a_transaction_ends_the_process),
    TEST(a_process_that_stood_still_does_not_end_itself),
    TEST(what_another_node_took_over_is_let_go),
    TEST(a_parser_without_end_is_given_up_after_three_tries),
    TEST(a_hook_that_nobody_lives_to_read_fails),
    TEST(what_another_node_reads_is_its_until_its_lease_ends),
    TEST(who_stops_begins_no_long_hook),
    TEST(what_its_parser_was_mended_for_is_read),
    TEST(a_hook_of_many_events_is_written_in_parts),
    TEST(a_death_between_two_parts_makes_each_delivery_once),
    TEST(behind_a_part_that_failed_the_next_try_goes_on),
    TEST(what_fails_between_two_parts_is_not_blamed_on_them),
    TEST(an_event_of_any_part_counts),
};

PART(unpacking_part, tests);
