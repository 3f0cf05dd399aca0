// store_suite.c - one suite for both databases: every promise of the headers in src/store/, and the
// write budget.
//
//   suite_store [URL]      see fixture.h
#include "fixture.h"

// The write budget of a delivery that does nothing but arrive (DESIGN.md): four rows in, one
// update, one row out and one in. Counters are written once a batch and do not count here.
//
// PostgreSQL itself tells how many rows of each table were inserted, updated and deleted. SQLite
// tells how many there are; which statements ran tells the rest, on both.

#define TRIGGER                                                                                    \
    "{'id':'keyed','eventKind':'visit','channel':'memory:default','dedupRecipe':['candidate.wip']" \
    "}"

enum { SENT_MAX = 64 };

// Sent is the list of statements that went to the store.
typedef struct Sent {
    const char *names[SENT_MAX];
    int count;
} Sent;

static int note_sent(void *with, const char *call)
{
    Sent *sent = with;
    if (sent->count < SENT_MAX)
        sent->names[sent->count++] = call;
    return 0;
}

// writes says whether a call changes rows that the budget counts.
static bool writes(const char *call)
{
    static const char *const ignored[] = { "sync",           "BEGIN",           "BEGIN IMMEDIATE",
                                           "COMMIT",         "journal_note",    "pace_add",
                                           "generation_get", "generation_lock", "counter_add",
                                           "suite_flush" };
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (strcmp(call, ignored[i]) == 0)
            return false;
    return true;
}

// check_sent compares the statements since the last call, but for those that count nothing.
static void check_sent(Sent *sent, const char *const *expected, int count)
{
    int at = 0;
    for (int i = 0; i < sent->count; i++) {
        if (!writes(sent->names[i]))
            continue;
        CHECK_AT(sent->names[i], at < count && strcmp(sent->names[i], expected[at]) == 0);
        at++;
    }
    CHECK(at == count);
    sent->count = 0;
}

// open_counting makes new tables: a connection of an earlier test may still be adding its figures
// to the old ones.
static void open_counting(Store *store, Sent *sent)
{
    suite_database();
    store_open_with(store, (WriterOptions){ .fault = note_sent, .fault_with = sent });
}

typedef struct Figures {
    int64_t inserted, updated, deleted;
} Figures;

static const char *const tables[] = { "event",   "delivery", "queue",  "dedup",      "ended",
                                      "attempt", "decision", "recall", "idempotency" };
enum { TABLES = ARRAY_LEN(tables) };

static const Statement flush_figures = {
    .name = "suite_flush",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1",
    .postgres = "SELECT 1 FROM (SELECT pg_stat_force_next_flush()) AS f",
};

static Err flush(Tx *tx, void *with, Error *error)
{
    Rows rows;
    (void) with;
    return tx_query(tx, &flush_figures, NULL, &rows, error);
}

static Figures figures_of(Store *store, const char *table)
{
    if (!suite_is_postgres()) {
        Str sql = str_format(&store->arena, "SELECT COUNT(*) FROM %s", table);
        return (Figures){ .inserted = ask_i64(store, sql.at) };
    }
    Value args[] = { value_text(str_from(table)) };
    Rows rows = ask(store,
                    "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables"
                    " WHERE schemaname = 'peal' AND relname = $1",
                    "t", args);
    MUST(store, rows.count == 1 ? ERR_OK : ERR_CORRUPT);
    return (Figures){ rows.values[0].i64, rows.values[1].i64, rows.values[2].i64 };
}

// measure reads the figures of all tables.
static void measure(Store *store, Figures *ret)
{
    MUST(store, writer_run(store->writer, flush, NULL, &store->error));
    for (size_t i = 0; i < TABLES; i++)
        ret[i] = figures_of(store, tables[i]);
}

typedef struct Budget {
    const char *table;
    Figures figures;
} Budget;

// check_spent compares what was written since before with the budget, then makes now the new
// before. On SQLite only the difference of inserted and deleted rows is known.
static void check_spent(Store *store, Figures *before, const Budget *budget, size_t count)
{
    Figures after[TABLES];
    measure(store, after);
    for (size_t i = 0; i < TABLES; i++) {
        Figures spent = { 0 };
        for (size_t b = 0; b < count; b++)
            if (strcmp(budget[b].table, tables[i]) == 0)
                spent = budget[b].figures;
        int64_t inserted = after[i].inserted - before[i].inserted;
        if (suite_is_postgres()) {
            CHECK_AT(tables[i], inserted == spent.inserted);
            CHECK_AT(tables[i], after[i].updated - before[i].updated == spent.updated);
            CHECK_AT(tables[i], after[i].deleted - before[i].deleted == spent.deleted);
        } else {
            CHECK_AT(tables[i], inserted == spent.inserted - spent.deleted);
        }
        before[i] = after[i];
    }
}

#define SPENT(store, before, ...)                                                                  \
    check_spent((store), (before), (const Budget[]){ __VA_ARGS__ },                                \
                sizeof((const Budget[]){ __VA_ARGS__ }) / sizeof(Budget))
#define SENT(sent, ...)                                                                            \
    check_sent((sent), (const char *const[]){ __VA_ARGS__ },                                       \
               (int) (sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)))

static void a_plain_delivery_keeps_to_its_budget(void)
{
    Sent sent = { 0 };
    Figures before[TABLES];
    DEFER(store_close) Store store = { 0 };
    open_counting(&store, &sent);
    publish(&store, TENANT, TRIGGER);
    // The first claim compiles the trigger's version, once.
    take(&store, TENANT, "{'kind':'visit','payload':{'wip':0}}");
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    measure(&store, before);

    sent.count = 0;
    take(&store, TENANT, "{'kind':'visit','payload':{'wip':1}}");
    SENT(&sent, "dedup_take", "event_insert", "delivery_insert", "queue_insert");
    SPENT(&store, before, { "event", { .inserted = 1 } }, { "delivery", { .inserted = 1 } },
          { "queue", { .inserted = 1 } }, { "dedup", { .inserted = 1 } });

    sent.count = 0;
    claimed = claim_one(&store, 1);
    if (suite_is_postgres())
        SENT(&sent, "queue_claim");
    else
        SENT(&sent, "queue_claim", "queue_claim_mark"); // a look, then the one update
    SPENT(&store, before, { "queue", { .updated = 1 } });

    sent.count = 0;
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    SENT(&sent, "queue_settle_end", "ended_insert");
    SPENT(&store, before, { "queue", { .deleted = 1 } }, { "ended", { .inserted = 1 } });
}

static void a_batch_costs_no_more_statements_than_one(void)
{
    enum { MANY = 50 };
    Sent sent = { 0 };
    Figures before[TABLES];
    DEFER(store_close) Store store = { 0 };
    open_counting(&store, &sent);
    publish(&store, TENANT, TRIGGER);
    Buf events = buf_new(&store.arena, 1 << 16);
    for (int i = 0; i < MANY; i++)
        buf_add_format(&events, "%c{'kind':'visit','payload':{'wip':%d}}", i ? ',' : '[', i);
    buf_add_char(&events, ']');
    measure(&store, before);
    sent.count = 0;
    take(&store, TENANT, str_z(&store.arena, buf_str(&events)));
    SENT(&sent, "dedup_take", "event_insert", "delivery_insert", "queue_insert");
    SPENT(&store, before, { "event", { .inserted = MANY } }, { "delivery", { .inserted = MANY } },
          { "queue", { .inserted = MANY } }, { "dedup", { .inserted = MANY } });

    Claim taken = claim_lane(&store, 1, MANY);
    SPENT(&store, before, { "queue", { .updated = MANY } });
    Settle rows[MANY];
    for (size_t i = 0; i < taken.count; i++)
        rows[i] = settle_of(&store, &taken.claimed[i], VERDICT_DELIVERED, REASON_ACCEPTED);
    sent.count = 0;
    settle(&store, rows, taken.count);
    SENT(&sent, "queue_settle_end", "ended_insert");
    SPENT(&store, before, { "queue", { .deleted = MANY } }, { "ended", { .inserted = MANY } });
    // One counter per state that was touched, whatever the number of deliveries.
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM counter") == 3);
}

static void a_retry_updates_one_narrow_row(void)
{
    Sent sent = { 0 };
    Figures before[TABLES];
    DEFER(store_close) Store store = { 0 };
    open_counting(&store, &sent);
    publish(&store, TENANT, TRIGGER);
    take(&store, TENANT, "{'kind':'visit','payload':{'wip':1}}");
    Claimed claimed = claim_one(&store, 1);
    measure(&store, before);
    sent.count = 0;
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    SENT(&sent, "queue_settle_live", "attempt_insert");
    SPENT(&store, before, { "queue", { .updated = 1 } }, { "attempt", { .inserted = 1 } });
}

static const Test tests[] = {
    TEST(a_plain_delivery_keeps_to_its_budget),
    TEST(a_batch_costs_no_more_statements_than_one),
    TEST(a_retry_updates_one_narrow_row),
};
PART(budget_part, tests);

extern const Part ingest_part, queue_part, delivery_part, definitions_part, writer_part,
    secrets_part, sessions_part, epoch_part, wal_part, journal_part, sample_part, damage_part,
    registry_part, outside_part, reader_part, cause_part, audit_part, purge_part, poll_part,
    progress_part, runs_part, defer_part, integrations_part, survey_part, response_part, curve_part,
    outlook_part;

int main(int argc, char **argv)
{
    static const Part *const parts[] = {
        &ingest_part, &queue_part,   &delivery_part,     &definitions_part, &writer_part,
        &budget_part, &secrets_part, &epoch_part,        &wal_part,         &journal_part,
        &sample_part, &damage_part,  &registry_part,     &outside_part,     &reader_part,
        &cause_part,  &audit_part,   &purge_part,        &poll_part,        &progress_part,
        &runs_part,   &defer_part,   &integrations_part, &survey_part,      &response_part,
        &curve_part,  &outlook_part, &sessions_part,
    };
    return suite_main(argc, argv, parts, ARRAY_LEN(parts));
}
