#include "fixture.h"

#include "store/audit.h"
#include "store/sequence.h"

#include <pthread.h>

// What journal.h and sequence.h promise: every fact gets one number, in one order per tenant,
// without a gap, whoever commits and whoever dies.

enum { SLICE = 100 };

// Deed is what a test does in one transaction: so many moves of each of two tenants.
typedef struct Deed {
    int moves[2]; // of tenants 1 and 2
    int number;   // of the first move, kept as its attempt number
    bool fails;
} Deed;

static Err do_deed(Tx *tx, void *with, Error *error)
{
    const Deed *deed = with;
    for (int tenant = 1; tenant <= 2; tenant++)
        for (int i = 0; i < deed->moves[tenant - 1]; i++)
            tx_move(tx, &(Move){ .tenant = tenant,
                                 .lane = tenant,
                                 .from = MOVE_NOWHERE,
                                 .to = DELIVERY_PENDING,
                                 .attempt = deed->number + i,
                                 .due_at = INSTANT_NONE });
    for (int tenant = 1; tenant <= 2; tenant++) // and back, lest the counters be wrong
        for (int i = 0; i < deed->moves[tenant - 1]; i++)
            tx_move(tx, &(Move){ .tenant = tenant,
                                 .lane = tenant,
                                 .from = DELIVERY_PENDING,
                                 .to = MOVE_NOWHERE,
                                 .due_at = INSTANT_NONE,
                                 .is_quiet = true });
    return deed->fails ? fail(error, ERR_CONFLICT, "changed its mind") : ERR_OK;
}

static void deed(Store *store, int64_t node, Deed deed)
{
    writer_set_node(store->writer, node);
    pass(store, SPAN_MILLISECOND);
    MUST(store, writer_run(store->writer, do_deed, &deed, &store->error));
}

// Round is a run of the sequencer.
typedef struct Run {
    int limit;
    bool dies, has_more;
} Run;

static Err do_run(Tx *tx, void *with, Error *error)
{
    Run *run = with;
    TRY(sequence_run(tx, run->limit, &run->has_more, NULL, error));
    return run->dies ? fail(error, ERR_CONFLICT, "died before the commit") : ERR_OK;
}

static int sequence(Store *store, int limit)
{
    Run run = { .limit = limit, .has_more = true };
    int runs = 0;
    for (; run.has_more && runs < 100; runs++)
        MUST(store, writer_run(store->writer, do_run, &run, &store->error));
    return runs;
}

// check_order reads a tenant's moves in pages and wants each of count once, numbered from 1.
static void check_order(Store *store, int64_t tenant, int64_t from, int count)
{
    int64_t after = from - 1;
    int met = 0;
    for (;;) {
        JournalEntry *entries;
        size_t found;
        MUST(store, journal_read(store->db, &store->arena, tenant, after, 3, &entries, &found,
                                 &store->error));
        for (size_t i = 0; i < found; i++, met++) {
            CHECK(entries[i].number == ++after && entries[i].fact.tenant == tenant);
            CHECK(entries[i].fact.kind != FACT_MOVED || entries[i].fact.move.attempt == met + 1);
        }
        if (found == 0)
            break;
    }
    CHECK(met == count);
}

// clear_start takes what opening the store has left out of the way.
static void clear_start(Store *store)
{
    sequence(store, SLICE);
}

static int64_t last_number(Store *store, int64_t tenant)
{
    Value args[] = { value_i64(tenant) };
    return ask(store, "SELECT COALESCE(MAX(first + count), 1) - 1 FROM sequence WHERE tenant = $1",
               "i", args)
        .values[0]
        .i64;
}

static void moves_of_several_writers_get_one_order(void)
{
    STORE(store);
    clear_start(&store);
    int64_t first = last_number(&store, 1) + 1;
    deed(&store, 3, (Deed){ { 2, 1 }, 1, false });
    deed(&store, 2, (Deed){ { 1, 0 }, 3, false });
    deed(&store, 3, (Deed){ { 3, 0 }, 4, false });
    deed(&store, 5, (Deed){ { 0, 2 }, 2, false });
    deed(&store, 2, (Deed){ { 1, 1 }, 7, false });
    CHECK(last_number(&store, 1) == first - 1);
    sequence(&store, SLICE);
    check_order(&store, 1, first, 7);
    CHECK(last_number(&store, 2) == 4);
    deed(&store, 2, (Deed){ { 1, 0 }, 8, false });
    sequence(&store, SLICE);
    sequence(&store, SLICE);
    check_order(&store, 1, first, 8);
}

// Stage is one move of a delivery, by a node whose clock is off by so much.
typedef struct Stage {
    int64_t node;
    Span off;
    int from, to, attempt;
} Stage;

static Err do_stage(Tx *tx, void *with, Error *error)
{
    const Stage *stage = with;
    (void) error;
    Move move = { .tenant = 1,
                  .lane = 1,
                  .delivery = { { 7 } },
                  .from = stage->from,
                  .to = stage->to,
                  .attempt = stage->attempt,
                  .due_at = INSTANT_NONE };
    tx_move(tx, &move);
    move.from = stage->to; // and back, lest the counters be wrong
    move.to = stage->from;
    move.is_quiet = true;
    if (stage->from != stage->to)
        tx_move(tx, &move);
    return ERR_OK;
}

// What a node did to a delivery stands behind what it found, though its clock is behind the other's
// or its transaction began before.
static void the_life_of_a_delivery_is_in_order_whatever_clocks_say(void)
{
    enum { SENDING = DELIVERY_SENDING, PARKED = DELIVERY_PARKED };
    static const Stage stages[] = {
        { 5, 3 * SPAN_SECOND, MOVE_NOWHERE, DELIVERY_PENDING, 0 },
        { 2, -2 * SPAN_SECOND, SENDING, DELIVERY_RETRYING, 1 },
        { 4, 0, SENDING, PARKED, 2 },
        { 4, 0, PARKED, DELIVERY_PENDING, 2 },
        { 3, -5 * SPAN_SECOND, SENDING, PARKED, 3 },
        { 2, -2 * SPAN_SECOND, PARKED, DELIVERY_COMPLETED, 3 },
    };
    STORE(store);
    clear_start(&store);
    int64_t first = last_number(&store, 1) + 1;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        Stage stage = stages[i];
        writer_set_node(store.writer, stage.node);
        pass(&store, SPAN_MILLISECOND + stage.off);
        MUST(&store, writer_run(store.writer, do_stage, &stage, &store.error));
        pass(&store, -stage.off);
    }
    CHECK(sequence(&store, SLICE) == 1);
    JournalEntry *entries;
    size_t count;
    MUST(&store,
         journal_read(store.db, &store.arena, 1, first - 1, SLICE, &entries, &count, &store.error));
    CHECK(count == ARRAY_LEN(stages));
    for (size_t i = 0; i < count; i++)
        CHECK(entries[i].fact.move.to == stages[i].to &&
              entries[i].fact.move.attempt == stages[i].attempt);
}

static void a_slice_that_is_too_small_loses_no_order(void)
{
    STORE(store);
    clear_start(&store);
    int64_t first = last_number(&store, 1) + 1;
    int number = 1;
    for (int i = 0; i < 7; i++, number += 2) // one writer has much, the others a little
        deed(&store, i % 3 == 2 ? 4 : 3, (Deed){ { 2, 0 }, number, false });
    CHECK(sequence(&store, 2) > 2);
    check_order(&store, 1, first, number - 1);
}

static void who_dies_in_between_leaves_nothing(void)
{
    STORE(store);
    clear_start(&store);
    int64_t first = last_number(&store, 1) + 1;
    deed(&store, 3, (Deed){ { 2, 0 }, 1, false });
    Run dying = { .limit = SLICE, .dies = true };
    CHECK(writer_run(store.writer, do_run, &dying, &store.error) == ERR_CONFLICT);
    CHECK(last_number(&store, 1) == first - 1);
    Deed undone = { { 5, 0 }, 90, true };
    CHECK(writer_run(store.writer, do_deed, &undone, &store.error) == ERR_CONFLICT);
    deed(&store, 2, (Deed){ { 1, 0 }, 3, false });
    sequence(&store, SLICE);
    check_order(&store, 1, first, 3);
}

// Rival is another node that runs the sequencer at the same time.
typedef struct Rival {
    Store *store;
    Writer *writer;
    pthread_t thread;
} Rival;

static void *rival_main(void *with)
{
    Rival *rival = with;
    Error error = { 0 };
    for (int i = 0; i < 20; i++) {
        Run run = { .limit = 2 };
        must(rival->store, writer_run(rival->writer, do_run, &run, &error), error.detail, 0);
    }
    return NULL;
}

static void two_nodes_give_each_number_once(void)
{
    if (!suite_is_postgres())
        return; // a file belongs to one process
    STORE(store);
    clear_start(&store);
    int64_t first = last_number(&store, 1) + 1;
    Random random = random_seeded(7);
    Rival rival = { .store = &store };
    WriterOptions options = { .url = store.url, .clock = &store.clock, .random = &random };
    MUST(&store, writer_open(&options, &rival.writer, &store.error));
    writer_set_node(rival.writer, 9);
    if (pthread_create(&rival.thread, NULL, rival_main, &rival) != 0)
        abort();
    for (int i = 0; i < 20; i++) {
        deed(&store, 3, (Deed){ { 2, 1 }, 1 + 2 * i, false });
        Run run = { .limit = 2 };
        MUST(&store, writer_run(store.writer, do_run, &run, &store.error));
    }
    pthread_join(rival.thread, NULL);
    writer_close(rival.writer);
    sequence(&store, SLICE);
    check_order(&store, 1, first, 40);
}

static Err do_seal(Tx *tx, void *with, Error *error)
{
    return audit_seal(tx, 1000, with, error);
}

static Err do_purge(Tx *tx, void *with, Error *error)
{
    bool has_more;
    return sequence_purge(tx, *(int *) with, &has_more, error);
}

static void what_is_old_goes_in_slices_and_the_numbers_go_on(void)
{
    STORE(store);
    clear_start(&store);
    int slice = 2, number = 1;
    for (; number <= 5; number++)
        deed(&store, 3, (Deed){ { 1, 0 }, number, false });
    sequence(&store, SLICE);
    int64_t last = last_number(&store, 1);
    pass(&store, JOURNAL_KEPT - SPAN_SECOND);
    deed(&store, 4, (Deed){ { 1, 0 }, number++, false }); // not seen yet
    MUST(&store, writer_run(store.writer, do_purge, &slice, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM journal WHERE writer = 48 AND at IS NOT NULL") >=
          5);
    pass(&store, 2 * SPAN_SECOND);
    for (int i = 0; i < 10; i++) // the audit still needs it
        MUST(&store, writer_run(store.writer, do_purge, &slice, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM journal WHERE writer = 48 AND at IS NOT NULL") >=
          5);
    AuditSealed sealed;
    MUST(&store, writer_run(store.writer, do_seal, &sealed, &store.error));
    MUST(&store, writer_run(store.writer, do_purge, &slice, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM journal WHERE writer = 48") > 0);
    for (int i = 0; i < 10; i++)
        MUST(&store, writer_run(store.writer, do_purge, &slice, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM journal WHERE writer = 48 AND facts IS NOT NULL") ==
          0);
    sequence(&store, SLICE);
    CHECK(last_number(&store, 1) == last + 1);
    JournalEntry *entries;
    size_t found;
    MUST(&store, journal_read(store.db, &store.arena, 1, 0, 10, &entries, &found, &store.error));
    CHECK(found == 1 && entries[0].number == last + 1 && entries[0].fact.move.attempt == 6);
}

static Err do_gather(Tx *tx, void *with, Error *error)
{
    return counter_gather(tx->db, &tx->arena, *(Instant *) with, error);
}

// D16: each start has writers of its own, and their rows were summed for ever.
static void counters_of_the_gone_become_one(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    for (int node = 1; node <= 4; node++) {
        writer_set_node(store.writer, node);
        CHECK(take_err(take(&store, TENANT, "{'kind':'visit','payload':{}}")) == ERR_OK);
    }
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM counter") == 4);
    Instant real_now = now(&store);
    MUST(&store, writer_run(store.writer, do_gather, &real_now, &store.error));
    Rows rows = ask(&store, "SELECT writer, n FROM counter", "", NULL);
    CHECK(rows.count == 1 && rows.values[0].i64 == COUNTER_OF_THE_GONE && rows.values[1].i64 == 4);
    CHECK(take_err(take(&store, TENANT, "{'kind':'visit','payload':{}}")) == ERR_OK);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM counter") == 2); // one who was not gone goes on
}

static const Test tests[] = {
    TEST(moves_of_several_writers_get_one_order),
    TEST(the_life_of_a_delivery_is_in_order_whatever_clocks_say),
    TEST(a_slice_that_is_too_small_loses_no_order),
    TEST(who_dies_in_between_leaves_nothing),
    TEST(two_nodes_give_each_number_once),
    TEST(what_is_old_goes_in_slices_and_the_numbers_go_on),
    TEST(counters_of_the_gone_become_one),
};
PART(journal_part, tests);
