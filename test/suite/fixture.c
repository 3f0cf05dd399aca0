#include "fixture.h"

#include "base/log.h"
#include "store/act.h"
#include "store/definition.h"
#include "store/follow.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/migrate.h"
#include "store/tenant.h"

#include <sys/stat.h>
#include <unistd.h>

static Str postgres_url; // none: SQLite
static char folder[64];
static int files_made;
static bool has_tables; // on PostgreSQL: an earlier test has made them

static void start(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("PEAL_TEST_STORE");
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_level(LOG_OFF);
    if (url && db_driver_for(str_from(url)) == &postgres_driver)
        postgres_url = str_from(url);
    struct stat memory;
    bool has_memory = stat("/dev/shm", &memory) == 0 && access("/dev/shm", W_OK) == 0;
    snprintf(folder, sizeof folder, "%s/peal-suite-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) {
        printf("Bail out! there is no room for temporary files\n");
        exit(1);
    }
}

static void remove_file(int number, const char *tail)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d.db%s", folder, number, tail);
    unlink(path);
}

static void end(void)
{
    for (int i = 1; i <= files_made; i++) {
        remove_file(i, "");
        remove_file(i, "-wal");
        remove_file(i, "-shm");
        remove_file(i, ".epoch");
    }
    rmdir(folder);
}

bool suite_is_postgres(void)
{
    return postgres_url.at != NULL;
}

int suite_failures(void)
{
    int failures = test_failures;
    test_failures = 0;
    return failures;
}

// run_script does something to the whole PostgreSQL database.
static void run_script(Str sql)
{
    Error error = { 0 };
    Db *db = NULL;
    Err err = db_open(&(DbOptions){ .url = postgres_url }, &db, &error);
    if (err == ERR_OK)
        err = db_script(db, sql, &error);
    must(NULL, err, error.detail, 0);
    db_close(db);
}

Str suite_database(void)
{
    static char url[128];
    if (suite_is_postgres()) {
        run_script(S("DROP SCHEMA IF EXISTS peal CASCADE"));
        has_tables = false;
        return postgres_url;
    }
    snprintf(url, sizeof url, "sqlite:%s/%d.db", folder, ++files_made);
    return str_from(url);
}

// make_tables leaves a database as it is after the migrations. Making tables anew costs PostgreSQL
// half a second, so there it only takes the rows away; those of generation and purge are part of
// their migration.
static void make_tables(Store *store)
{
    if (has_tables) {
        run_script(
            S("DO $$ DECLARE t TEXT; BEGIN FOR t IN SELECT tablename FROM pg_tables"
              " WHERE schemaname = 'peal' AND tablename NOT IN ('migration', 'generation',"
              " 'purge')"
              " LOOP EXECUTE format('DELETE FROM %I', t); END LOOP; END $$;"
              " UPDATE generation SET n = 1;"
              " UPDATE purge SET walk = 0, tenant = 0, position = NULL, gone = 0, next_at = 0"));
        store->url = postgres_url;
        return;
    }
    Db *db = NULL;
    int applied = 0;
    store->url = suite_database();
    MUST(store, db_open(&(DbOptions){ .url = store->url }, &db, &store->error));
    MUST(store, migrate_run(db, &applied, &store->error));
    db_close(db);
    has_tables = suite_is_postgres();
}

void must(Store *store, Err err, const char *file, int line)
{
    if (err == ERR_OK)
        return;
    printf("Bail out! %s:%d: %s: %s\n", file, line, err_code(err),
           store ? store->error.detail : "");
    fflush(stdout);
    abort();
}

// Taken is an accept on its way through the writer, and the snapshot that its decisions refer to.
struct Taken {
    Accept accept; // first: an Accept * of the fixture is a Taken *
    Op op;
    Registry *registry;
    TakeAlso *also;
    void *with;
    Err err;
    Taken *next;
};

static Err bootstrap(Tx *tx, void *with, Error *error)
{
    Store *store = with;
    KeyStart made;
    return key_bootstrap(tx, &store->arena, S("the key of the suite"), &made, error);
}

void store_open_with(Store *store, WriterOptions options)
{
    make_tables(store);
    store->random = random_seeded(42);
    clock_init_manual(&store->clock, BEGINNING);
    options.url = store->url;
    options.clock = &store->clock;
    options.random = &store->random;

    MUST(store, writer_open(&options, &store->writer, &store->error));
    MUST(store, writer_run(store->writer, bootstrap, store, &store->error));
    DbOptions reads = { .url = store->url, .is_reader = true };
    MUST(store, db_open(&reads, &store->db, &store->error));
}

void store_open(Store *store)
{
    store_open_with(store, (WriterOptions){ .pen_count = 0 });
}

void store_close(Store *store)
{
    store_check(store);
    for (Taken *taken = store->taken; taken; taken = taken->next)
        registry_drop(taken->registry);
    writer_close(store->writer);
    db_close(store->db);
    arena_done(&store->arena);
}

// check_none wants a query to find nothing; what it finds breaks a rule.
static void check_none(Store *store, const char *rule, const char *sql)
{
    CHECK_AT(rule, ask(store, sql, "", NULL).count == 0);
}

static void check_counters(Store *store)
{
    Rows kept = ask(store,
                    "SELECT tenant, lane, state, rule, site, CAST(SUM(n) AS BIGINT) FROM counter"
                    " GROUP BY tenant, lane, state, rule, site HAVING SUM(n) <> 0"
                    " ORDER BY 1, 2, 3, 4, 5",
                    "", NULL);
    Rows counted = ask(store,
                       "SELECT tenant, lane, state, rule, site, COUNT(*) FROM"
                       " (SELECT tenant, lane, state, rule, site FROM queue UNION ALL"
                       "  SELECT tenant, lane, state, rule, site FROM ended) AS r"
                       " GROUP BY tenant, lane, state, rule, site ORDER BY 1, 2, 3, 4, 5",
                       "", NULL);
    CHECK(kept.count == counted.count);
    for (size_t i = 0; i < kept.count && i < counted.count; i++)
        for (size_t c = 0; c < kept.columns; c++)
            CHECK(rows_at(&kept, i)[c].i64 == rows_at(&counted, i)[c].i64);
}

void store_check(Store *store)
{
    check_counters(store);
    check_none(
        store, "a delivery stands in exactly one place",
        "SELECT d.id FROM delivery d LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"
        " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"
        " WHERE (q.id IS NULL) = (n.id IS NULL)");
    check_none(store, "whatever stands somewhere was promised",
               "SELECT s.id FROM (SELECT tenant, id, lane FROM queue"
               " UNION ALL SELECT tenant, id, lane FROM ended) AS s LEFT JOIN delivery d"
               " ON d.tenant = s.tenant AND d.id = s.id AND d.lane = s.lane WHERE d.id IS NULL");
    check_none(store, "state and step agree",
               "SELECT id FROM queue WHERE NOT ((state IN (0, 1, 2) AND step = 1)"
               " OR (state = 3 AND step IN (1, 3))"
               " OR (state = 1 AND step = 2 AND holder = 0 AND due_at = lease_until))");
    check_none(store, "what a node sends is in its lane, what somebody outside has is not",
               "SELECT id FROM queue WHERE state = 1 AND (holder = 0) <> (step = 2)");
    check_none(store, "what is being sent has a lease, a holder and a start, and nothing else has",
               "SELECT id FROM queue WHERE (state = 1) <> (holder IS NOT NULL)"
               " OR (state = 1) <> (started_at IS NOT NULL)"
               " OR (state = 1) <> (lease_until IS NOT NULL)");
    check_none(store, "no claim without its fence",
               "SELECT id FROM queue WHERE fence < attempt"
               " UNION ALL SELECT id FROM ended WHERE fence < attempt");
    check_none(store, "only a parked delivery may still expire",
               "SELECT id FROM ended WHERE expires_at IS NOT NULL AND state <> 4");
    check_none(store, "no attempt has a number that its delivery has not reached",
               "SELECT a.delivery FROM attempt a LEFT JOIN queue q ON q.tenant = a.tenant"
               " AND q.id = a.delivery LEFT JOIN ended n ON n.tenant = a.tenant"
               " AND n.id = a.delivery WHERE a.number > COALESCE(q.attempt, n.attempt)"
               " OR a.number < 1 OR a.finished_at < a.started_at");
    check_none(store, "the attempt that ended a delivery is whole, and stands nowhere else",
               "SELECT n.id FROM ended n LEFT JOIN attempt a ON a.tenant = n.tenant"
               " AND a.delivery = n.id AND a.number = n.attempt"
               " WHERE (n.verdict IS NULL AND (n.tried_reason IS NOT NULL"
               "  OR n.started_at IS NOT NULL OR n.detail IS NOT NULL))"
               " OR (n.verdict IS NOT NULL AND (a.number IS NOT NULL OR n.attempt < 1"
               "  OR n.is_captured IS NULL OR n.finished_at < n.started_at"
               "  OR n.tried_reason IS NULL))");
}

Instant now(const Store *store)
{
    return clock_now(&store->clock);
}

void pass(Store *store, Span span)
{
    clock_set(&store->clock, now(store) + span);
}

const Json *json(Store *store, const char *text)
{
    Str quoted = str_dup(&store->arena, str_from(text));
    for (char *at = (char *) (uintptr_t) quoted.at; *at; at++)
        if (*at == '\'')
            *at = '"';
    const Json *value = NULL;
    MUST(store, json_parse(&store->arena, quoted, &value, &store->error));
    return value;
}

Str json_compact(Store *store, const char *text)
{
    return json_text(&store->arena, json(store, text));
}

// OwnQuery is a query of a test's own; the drivers know a statement by its address and its name.
struct OwnQuery {
    OwnQuery *next;
    Statement statement;
};

Rows ask(Store *store, const char *sql, const char *params, const Value *values)
{
    OwnQuery *asked = store->asked;
    while (asked && strcmp(asked->statement.sql, sql) != 0)
        asked = asked->next;
    if (!asked) {
        asked = ARENA_NEW(&store->arena, OwnQuery);
        asked->statement =
            (Statement){ .name = str_format(&store->arena, "ask_%d", ++store->asked_count).at,
                         .scope = STATEMENT_SYSTEM,
                         .params = str_z(&store->arena, str_from(params)),
                         .sql = str_z(&store->arena, str_from(sql)) };
        asked->next = store->asked;
        store->asked = asked;
    }
    Rows rows;
    MUST(store,
         db_query(store->db, &store->arena, &asked->statement, values, &rows, &store->error));
    return rows;
}

int64_t ask_i64(Store *store, const char *sql)
{
    Rows rows = ask(store, sql, "", NULL);
    return rows.count ? value_to_i64(&rows.values[0]) : 0;
}

// Publication is what publish() hands to its transaction.
typedef struct Publication {
    int64_t tenant;
    Str kind, id, channel, body;
} Publication;

static Err apply_publication(Tx *tx, void *with, Error *error)
{
    const Publication *publication = with;
    Definition made;
    Error missing = { 0 };
    TRY(lane_ensure(tx, publication->tenant, publication->channel, error));
    Err err = definition_replace(tx, publication->tenant, publication->kind, publication->id,
                                 DEFINITION_ANY_VERSION, publication->body, &made, &missing);
    if (err != ERR_NOT_FOUND)
        return err;
    return definition_create(tx, publication->tenant, publication->kind, publication->id,
                             publication->body, &made, error);
}

void publish(Store *store, int64_t tenant, const char *trigger)
{
    const Json *body = json(store, trigger);
    Publication publication = { .tenant = tenant,
                                .kind = DEFINITION_TRIGGER,
                                .id = json_str(json_get(body, S("id"))),
                                .channel = json_str(json_get(body, S("channel"))),
                                .body = json_text(&store->arena, body) };
    MUST(store, writer_run(store->writer, apply_publication, &publication, &store->error));
}

void channel_of(Store *store, int64_t tenant, const char *definition)
{
    const Json *body = json(store, definition);
    Str key = json_str(json_get(body, S("key")));
    Publication publication = { .tenant = tenant,
                                .kind = DEFINITION_CHANNEL,
                                .id = key,
                                .channel = key,
                                .body = json_text(&store->arena, body) };
    MUST(store, writer_run(store->writer, apply_publication, &publication, &store->error));
}

void channel(Store *store, int64_t tenant, const char *key)
{
    channel_with(store, tenant, key, S("{}"));
}

void channel_with(Store *store, int64_t tenant, const char *key, Str config)
{
    channel_of(store, tenant,
               str_format(&store->arena, "{\"key\":\"%s\",\"type\":\"memory\",\"config\":%.*s}",
                          key, STR_ARG(config))
                   .at);
}

typedef struct NewTenant {
    Str id;
    Tenant made;
} NewTenant;

static Err apply_tenant(Tx *tx, void *with, Error *error)
{
    NewTenant *new = with;
    return tenant_add(tx, new->id, new->id, &new->made, error);
}

int64_t tenant_new(Store *store, const char *id)
{
    NewTenant new = { .id = str_from(id) };
    MUST(store, writer_run(store->writer, apply_tenant, &new, &store->error));
    return new.made.tenant;
}

int64_t lane_of(Store *store, int64_t tenant, const char *channel_key)
{
    Value args[] = { value_i64(tenant), value_text(str_from(channel_key)) };
    Rows rows = ask(store, "SELECT lane FROM lane WHERE tenant = $1 AND channel = $2", "it", args);
    return rows.count ? value_to_i64(&rows.values[0]) : 0;
}

static Taken *taken_of(Op *op)
{
    return (Taken *) ((char *) op - offsetof(Taken, op));
}

static void taken_hold(Taken *taken, Registry *registry)
{
    registry_drop(taken->registry);
    taken->registry = registry_hold(registry);
}

static Err taken_apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count);
    for (size_t i = 0; i < count; i++) {
        Taken *taken = taken_of(ops[i]);
        accepts[i] = &taken->accept;
        TRY(accept_decide(accepts[i], tx->registry, tx->random, error));
        taken_hold(taken, tx->registry);
    }
    TRY(accept_write(tx, accepts, count, error));
    for (size_t i = 0; i < count; i++) {
        Taken *taken = taken_of(ops[i]);
        if (taken->also)
            TRY(taken->also(tx, taken->with, error));
    }
    return ERR_OK;
}

static void taken_done(Op *op, Err err, const Error *error)
{
    taken_of(op)->err = err;
    if (err != ERR_OK)
        printf("# accept: %s: %s\n", err_code(err), error->detail);
}

Accept *accept_of(Store *store, int64_t tenant, const char *events)
{
    const Json *source = json(store, events);
    bool is_list = json_type(source) == JSON_ARRAY;
    size_t count = is_list ? json_count(source) : 1;
    Taken *taken = ARENA_NEW(&store->arena, Taken);
    taken->next = store->taken;
    store->taken = taken;
    taken->accept = (Accept){ .arena = &store->arena,
                              .tenant = tenant,
                              .now = now(store),
                              .items = ARENA_ARRAY(&store->arena, AcceptItem, count + 1),
                              .count = count };
    for (size_t i = 0; i < count; i++)
        MUST(store, event_build(&store->arena, is_list ? json_at(source, i) : source,
                                &taken->accept.items[i].event, &store->error));
    return &taken->accept;
}

void take_in(Store *store, Accept *accept)
{
    take_with(store, accept, NULL, NULL);
}

void take_with(Store *store, Accept *accept, TakeAlso *also, void *with)
{
    static const OpKind kind = { .name = "take", .apply = taken_apply };
    Taken *taken = (Taken *) accept;
    taken->registry = writer_registry(store->writer);
    MUST(store, accept_decide(accept, taken->registry, &store->random, &store->error));
    taken->also = also;
    taken->with = with;
    taken->op = (Op){ .kind = &kind, .done = taken_done, .weight = accept->weight };
    writer_submit(store->writer, &taken->op);
}

Accept *take(Store *store, int64_t tenant, const char *events)
{
    Accept *accept = accept_of(store, tenant, events);
    take_in(store, accept);
    return accept;
}

Err take_err(const Accept *accept)
{
    return ((const Taken *) accept)->err;
}

static Err apply_claim(Tx *tx, void *with, Error *error)
{
    Claim *claim = with;
    claim->lease_until = tx->now + LEASE;
    queue_claim(tx, claim);
    TRY(tx_sync(tx, error));
    return queue_claim_take(tx, claim, error);
}

Claim claim(Store *store, const ClaimLane *lanes, size_t lane_count)
{
    Claim claim = {
        .lanes = lanes, .lane_count = lane_count, .node = NODE, .arena = &store->arena
    };
    MUST(store, writer_run(store->writer, apply_claim, &claim, &store->error));
    return claim;
}

Claim claim_lane(Store *store, int64_t lane, int free)
{
    return claim(store, &(ClaimLane){ lane, free, BYTES }, 1);
}

Claimed claim_one(Store *store, int64_t lane)
{
    Claim taken = claim_lane(store, lane, 2);
    CHECK(taken.count == 1);
    MUST(store, taken.count == 1 ? ERR_OK : ERR_INTERNAL);
    return taken.claimed[0];
}

Settle settle_of(Store *store, const Claimed *claimed, Verdict verdict, DeliveryReason reason)
{
    Outcome outcome = { .verdict = verdict, .reason = reason };
    RetryPolicy policy =
        claimed->trigger->rule.has_retry ? claimed->trigger->rule.retry : retry_default();
    Settlement to = delivery_settle(&claimed->live, &claimed->trigger->rule.plan, &policy, &outcome,
                                    now(store), 0);
    QueueRow row = claimed_row(claimed);
    return settle_tried(&row, to, &outcome, now(store));
}

static Err apply_settle(Tx *tx, void *with, Error *error)
{
    SettleBatch *batch = with;
    return follow_settle_now(tx, batch, error);
}

void settle(Store *store, Settle *rows, size_t count)
{
    SettleBatch batch = { .rows = rows, .count = count };
    MUST(store, writer_run(store->writer, apply_settle, &batch, &store->error));
}

Settle settle_one(Store *store, const Claimed *claimed, Verdict verdict)
{
    DeliveryReason reason = verdict == VERDICT_DELIVERED   ? REASON_ACCEPTED
                            : verdict == VERDICT_TRANSIENT ? REASON_UNWELL
                                                           : REASON_REFUSED;
    Settle row = settle_of(store, claimed, verdict, reason);
    settle(store, &row, 1);
    return row;
}

static Err apply_sweep(Tx *tx, void *with, Error *error)
{
    Sweep *sweep = with;
    int64_t *lanes;
    sweep->lane_count = registry_lanes(tx->registry, &tx->arena, &lanes);
    sweep->lanes = lanes;
    sweep->lapsed = sweep->retried = sweep->parked = sweep->expired = 0; // of an earlier try
    TRY(sweep_leases(tx, sweep, error));
    return sweep_others(tx, sweep, error);
}

Sweep sweep(Store *store, bool is_orphaned)
{
    Sweep sweep = { .limit = 10000, .alone = is_orphaned ? NODE + 1 : 0 };
    MUST(store, writer_run(store->writer, apply_sweep, &sweep, &store->error));
    return sweep;
}

typedef struct Act {
    int64_t tenant;
    Uuid id;
    DeliveryAction action;
    Str note;
} Act;

static Err apply_act(Tx *tx, void *with, Error *error)
{
    const Act *act = with;
    return act_one(tx, act->tenant, act->id, act->action, act->note, error);
}

Err act(Store *store, int64_t tenant, Uuid id, DeliveryAction action, const char *note)
{
    Act act = { tenant, id, action, str_from(note) };
    return writer_run(store->writer, apply_act, &act, &store->error);
}

DeliveryView view(Store *store, int64_t tenant, Uuid id)
{
    DeliveryView found = { 0 };
    MUST(store, delivery_view(store->db, &store->arena, tenant, id, &found, &store->error));
    return found;
}

bool is_text(Str text, const char *expected)
{
    return str_eq(text, str_from(expected)) && (text.at != NULL) == (expected != NULL);
}

bool same_id(Uuid a, Uuid b)
{
    return uuid_cmp(a, b) == 0;
}

Sha256 hash_of(const char *text)
{
    return sha256(str_from(text));
}

int suite_main(int argc, char **argv, const Part *const *parts, size_t count)
{
    int planned = 0, number = 0, bad = 0;
    start(argc, argv);
    for (size_t p = 0; p < count; p++)
        planned += parts[p]->count;
    printf("1..%d\n", planned);
    for (size_t p = 0; p < count; p++) {
        for (int i = 0; i < parts[p]->count; i++) {
            bool failed = parts[p]->run(i) > 0;
            printf("%s %d - %s\n", failed ? "not ok" : "ok", ++number, parts[p]->tests[i].name);
            bad += failed;
        }
    }
    end();
    return bad != 0;
}

int fuse_blow(void *with, const char *call)
{
    Fuse *fuse = with;
    if (strcmp(call, "sync") == 0 || fuse->left == 0 || --fuse->left > 0)
        return 0;
    fuse->is_blown = true;
    return 13; // a full disk to SQLite; anything at all to PostgreSQL
}
