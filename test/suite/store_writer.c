#include "fixture.h"

#include "store/decision.h"
#include "store/definition.h"
#include "store/waiting.h"

#include <pthread.h>
#include <sched.h>

// What writer.h, tx.h and db.h promise: one batch, one transaction; decisions on an old snapshot
// are made anew; whoever fails fails alone.

#define KEYED                                                                                      \
    "{'id':'keyed','eventKind':'visit','channel':'memory:default','dedupRecipe':['candidate.wip']" \
    "}"

// Gate is an operation that holds the writer's pen until it is opened, so that what is submitted
// meanwhile waits together.
typedef struct Gate {
    Op op;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_entered, is_open, is_done; // guarded by lock
} Gate;

static void gate_move(Gate *gate, bool *flag)
{
    pthread_mutex_lock(&gate->lock);
    *flag = true;
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_await(Gate *gate, const bool *flag)
{
    pthread_mutex_lock(&gate->lock);
    while (!*flag)
        pthread_cond_wait(&gate->moved, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static Err gate_apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    (void) tx;
    (void) error;
    for (size_t i = 0; i < count; i++) {
        Gate *gate = (Gate *) ops[i];
        gate_move(gate, &gate->is_entered);
        gate_await(gate, &gate->is_open);
    }
    return ERR_OK;
}

static void gate_done(Op *op, Err err, const Error *error)
{
    Gate *gate = (Gate *) op;
    (void) err;
    (void) error;
    gate_move(gate, &gate->is_done);
}

static const OpKind gate_kind = { .name = "gate", .apply = gate_apply };

// gate_close returns once the writer stands at the gate.
static void gate_close(Gate *gate, Writer *writer)
{
    *gate = (Gate){ .op = { .kind = &gate_kind, .done = gate_done } };
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->moved, NULL);
    writer_submit(writer, &gate->op);
    gate_await(gate, &gate->is_entered);
}

static void gate_free(Gate *gate)
{
    gate_await(gate, &gate->is_done);
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->moved);
}

static Err nothing(Tx *tx, void *with, Error *error)
{
    (void) tx;
    (void) with;
    (void) error;
    return ERR_OK;
}

// flush returns when everything that was submitted before is done: there is one pen.
static void flush(Store *store)
{
    MUST(store, writer_run(store->writer, nothing, NULL, &store->error));
}

#define ONE_PEN(name)                                                                              \
    DEFER(store_close) Store name = { 0 };                                                         \
    store_open_with(&name, (WriterOptions){ .pen_count = 1 })

static void calls_of_one_batch_share_their_keys(void)
{
    ONE_PEN(store);
    publish(&store, TENANT, KEYED);
    Gate gate;
    Accept *calls[3];
    for (size_t i = 0; i < 3; i++)
        calls[i] = accept_of(&store, TENANT, "{'kind':'visit','id':'1','payload':{'wip':7}}");
    calls[1]->items[0].event.identity = S("2");
    gate_close(&gate, store.writer);
    for (size_t i = 0; i < 3; i++)
        take_in(&store, calls[i]);
    CHECK(writer_waiting(store.writer) == 3);
    gate_move(&gate, &gate.is_open);
    flush(&store);
    gate_free(&gate);
    const AcceptPair *first = &calls[0]->items[0].pairs[0], *second = &calls[1]->items[0].pairs[0];
    CHECK(take_err(calls[0]) == ERR_OK && first->key.is_won);
    CHECK(take_err(calls[1]) == ERR_OK && !second->key.is_won);
    CHECK(same_id(second->key.holder, first->delivery));
    CHECK(str_eq(second->key.public_id, first->public_id));
    CHECK(take_err(calls[2]) == ERR_OK && calls[2]->items[0].is_duplicate);
    CHECK(same_id(calls[2]->items[0].identity.holder, calls[0]->items[0].event.id));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 1);
}

static Err refuse(Tx *tx, void *with, Error *error)
{
    (void) tx;
    (void) with;
    return fail(error, ERR_INVALID, "this one is bad");
}

static void only_the_guilty_one_fails(void)
{
    ONE_PEN(store);
    publish(&store, TENANT, KEYED);
    Gate gate;
    Accept *calls[3];
    for (size_t i = 0; i < 3; i++)
        calls[i] = accept_of(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    gate_close(&gate, store.writer);
    for (size_t i = 0; i < 3; i++)
        take_with(&store, calls[i], i == 0 ? refuse : NULL, NULL);
    gate_move(&gate, &gate.is_open);
    flush(&store);
    gate_free(&gate);
    CHECK(take_err(calls[0]) == ERR_INVALID);
    // The key goes to the first that stays, although the bad one had won it in the first try.
    CHECK(take_err(calls[1]) == ERR_OK && calls[1]->items[0].pairs[0].key.is_won);
    CHECK(take_err(calls[2]) == ERR_OK && !calls[2]->items[0].pairs[0].key.is_won);
    CHECK(same_id(calls[2]->items[0].pairs[0].key.holder, calls[1]->items[0].pairs[0].delivery));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 2);
}

// Publish is an operation that replaces the trigger and fills a batch of its own.
typedef struct Publish {
    Op op;
    Str body;
} Publish;

static Err publish_apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Publish *publish = (const Publish *) ops[i];
        Definition made;
        TRY(definition_replace(tx, TENANT, DEFINITION_TRIGGER, S("keyed"), DEFINITION_ANY_VERSION,
                               publish->body, &made, error));
    }
    return ERR_OK;
}

static void publish_done(Op *op, Err err, const Error *error)
{
    (void) op;
    (void) error;
    CHECK(err == ERR_OK);
}

static const OpKind publish_kind = { .name = "publish", .apply = publish_apply };

static void a_publish_ahead_in_the_line_decides(void)
{
    ONE_PEN(store);
    publish(&store, TENANT, KEYED);
    Gate gate;
    Publish off = {
        .op = { .kind = &publish_kind, .done = publish_done, .weight = BATCH_WEIGHT_MAX },
        .body = json_compact(&store, "{'id':'keyed','eventKind':'visit',"
                                     "'channel':'memory:default','enabled':false}")
    };
    Accept *accept = accept_of(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    gate_close(&gate, store.writer);
    writer_submit(store.writer, &off.op);
    take_in(&store, accept); // decides while the trigger is enabled
    CHECK(accept->items[0].pair_count == 1);
    gate_move(&gate, &gate.is_open);
    flush(&store);
    gate_free(&gate);
    CHECK(take_err(accept) == ERR_OK);
    CHECK(accept->items[0].pair_count == 0 && accept->items[0].missed.at); // it is disabled
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 0);
    Miss *misses;
    size_t count;
    MUST(&store, decision_of_event(store.db, &store.arena, TENANT, accept->items[0].event.id,
                                   &misses, &count, &store.error));
    CHECK(count == 1 && misses[0].version == 2);
}

static const Statement raise_generation = {
    .name = "suite_raise_generation",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE generation SET n = n + 1",
};

// publish_unseen replaces the trigger as another node would: this writer's snapshot stays behind.
static Err publish_unseen(Tx *tx, void *with, Error *error)
{
    Definition made;
    TRY(definition_replace(tx, TENANT, DEFINITION_TRIGGER, S("keyed"), DEFINITION_ANY_VERSION,
                           *(Str *) with, &made, error));
    tx->changes_definitions = false;
    db_send(tx->db, &tx->arena, &raise_generation, NULL, NULL);
    return tx_sync(tx, error);
}

static void a_publish_of_another_node_decides(void)
{
    STORE(store);
    publish(&store, TENANT, KEYED);
    Registry *old = writer_registry(store.writer);
    Str body = json_compact(&store, "{'id':'keyed','eventKind':'visit',"
                                    "'channel':'memory:default','schedule':{'initialDelay':'1h'}}");
    MUST(&store, writer_run(store.writer, publish_unseen, &body, &store.error));
    Registry *behind = writer_registry(store.writer);
    CHECK(behind == old);
    Accept *accept = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    CHECK(take_err(accept) == ERR_OK);
    const AcceptPair *pair = &accept->items[0].pairs[0];
    CHECK(pair->decision.trigger->rule.version == 2 && !pair->decision.has_key);
    DeliveryView made = view(&store, TENANT, pair->delivery);
    CHECK(made.promise.version == 2 && made.due_at == BEGINNING + SPAN_HOUR);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 0);
    Registry *renewed = writer_registry(store.writer);
    CHECK(renewed->generation == old->generation + 1);
    registry_drop(old);
    registry_drop(behind);
    registry_drop(renewed);
}

// count moves that many deliveries into the first lane, or out of it.
static void count(Tx *tx, int n)
{
    for (int i = 0; i < abs(n); i++)
        tx_move(tx, &(Move){ .tenant = TENANT,
                             .lane = 1,
                             .from = n > 0 ? MOVE_NOWHERE : (int) DELIVERY_PENDING,
                             .to = n > 0 ? (int) DELIVERY_PENDING : MOVE_NOWHERE,
                             .due_at = INSTANT_NONE });
}

static Err fail_after_writing(Tx *tx, void *with, Error *error)
{
    count(tx, 5);
    TRY(publish_unseen(tx, with, error));
    return fail(error, ERR_CONFLICT, "changed its mind");
}

static void a_failed_operation_leaves_nothing(void)
{
    STORE(store);
    publish(&store, TENANT, KEYED);
    int64_t before = ask_i64(&store, "SELECT n FROM generation");
    Str body = S("{}");
    CHECK(writer_run(store.writer, fail_after_writing, &body, &store.error) == ERR_CONFLICT);
    CHECK(strcmp(store.error.detail, "changed its mind") == 0);
    CHECK(ask_i64(&store, "SELECT n FROM generation") == before);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM counter") == 0);
}

// Try counts how often an operation was applied, and asks for a replay the first few times.
typedef struct Try {
    int applied, wanted;
} Try;

static Err try_again(Tx *tx, void *with, Error *error)
{
    Try *attempt = with;
    count(tx, 1);
    count(tx, -1);
    return ++attempt->applied < attempt->wanted ? fail(error, ERR_BUSY, "not yet") : ERR_OK;
}

static void a_busy_operation_is_replayed(void)
{
    STORE(store);
    Try passing = { .wanted = 3 }, hopeless = { .wanted = 1000 };
    CHECK(writer_run(store.writer, try_again, &passing, &store.error) == ERR_OK);
    CHECK(passing.applied == 3);
    CHECK(writer_run(store.writer, try_again, &hopeless, &store.error) == ERR_BUSY);
    CHECK(hopeless.applied > 3 && hopeless.applied < 1000);
}

static Err count_one(Tx *tx, void *with, Error *error)
{
    (void) error;
    count(tx, *(int *) with);
    return ERR_OK;
}

static void each_node_counts_in_rows_of_its_own(void)
{
    STORE(store);
    int up = 1, down = -1;
    MUST(&store, writer_run(store.writer, count_one, &up, &store.error));
    writer_set_node(store.writer, 2);
    MUST(&store, writer_run(store.writer, count_one, &down, &store.error));
    Rows rows = ask(&store, "SELECT writer, n FROM counter ORDER BY writer", "", NULL);
    CHECK(rows.count == 2 && rows.values[0].i64 < 0 && rows.values[2].i64 == 2 * 16);
    CHECK(rows.values[1].i64 == 1 && rows.values[3].i64 == -1);
}

static const Statement forbidden = {
    .name = "suite_forbidden",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "INSERT INTO meta (key, value) VALUES ('x', 'y')",
};

static void a_reader_cannot_write(void)
{
    STORE(store);
    Db *reader = NULL;
    Rows rows;
    DbOptions options = { .url = store.url, .is_reader = true };
    MUST(&store, db_open(&options, &reader, &store.error));
    CHECK(db_query(reader, &store.arena, &forbidden, NULL, &rows, &store.error) != ERR_OK);
    db_close(reader);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM meta") == 0);
}

static void a_file_belongs_to_one_process(void)
{
    STORE(store);
    Db *db = NULL;
    if (suite_is_postgres())
        return;
    CHECK(db_open(&(DbOptions){ .url = store.url }, &db, &store.error) == ERR_CONFLICT && !db);
    CHECK(db_open(&(DbOptions){ .url = S("mysql://x") }, &db, &store.error) == ERR_SETUP);
    CHECK(db_open(&(DbOptions){ .url = S("sqlite:") }, &db, &store.error) == ERR_SETUP);
}

static const Statement round_trip = {
    .name = "suite_round_trip",
    .scope = STATEMENT_SYSTEM,
    .params = "itbuit",
    .sql = "SELECT CAST($1 AS BIGINT), $2, $3, $4, CAST($5 AS BIGINT), $6",
};

static void values_come_back_as_they_went(void)
{
    STORE(store);
    Uuid id = uuid_new(BEGINNING, &store.random);
    Value sent[] = { value_i64(INT64_MIN),       value_text(S("ä\xf0\x9f\x94\x94")),
                     value_bytes(S("\0\1\xff")), value_uuid(&id),
                     value_time(INSTANT_NONE),   value_text(S("")) };
    Rows rows;
    MUST(&store, db_query(store.db, &store.arena, &round_trip, sent, &rows, &store.error));
    CHECK(rows.count == 1 && rows.columns == 6);
    const Value *row = rows_at(&rows, 0);
    CHECK(value_to_i64(&row[0]) == INT64_MIN && value_to_time(&row[4]) == INSTANT_NONE);
    CHECK(str_eq(value_to_str(&row[1]), sent[1].str) && str_eq(value_to_str(&row[2]), sent[2].str));
    CHECK(same_id(value_to_uuid(&row[3]), id));
    CHECK(value_to_str(&row[5]).at && value_to_str(&row[5]).len == 0); // empty is not NULL
}

static const Statement backend_pid = {
    .name = "suite_backend_pid",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 0",
    .postgres = "SELECT pg_backend_pid()",
};
static const Statement terminate = {
    .name = "suite_terminate",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT $1",
    .postgres = "SELECT pg_terminate_backend(CAST($1 AS INTEGER), 10000)",
};

// Killer ends the writer's connection, once, just before a given call.
typedef struct Killer {
    Store *store;
    const char *call; // none: not yet
    int64_t pid;
    int killed;
} Killer;

static int kill_before(void *with, const char *call)
{
    Killer *killer = with;
    if (!killer->call || strcmp(call, killer->call) != 0)
        return 0;
    Store *store = killer->store;
    Value args[] = { value_i64(killer->pid) };
    Rows rows;
    killer->call = NULL;
    killer->killed++;
    MUST(store, db_query(store->db, &store->arena, &terminate, args, &rows, &store->error));
    return 0;
}

static Err learn_pid(Tx *tx, void *with, Error *error)
{
    Killer *killer = with;
    Rows rows;
    TRY(tx_query(tx, &backend_pid, NULL, &rows, error));
    killer->pid = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

// A connection that is lost in the middle is opened again and the work replayed; one that is lost
// while it commits is asked about first. Either way it is done once.
static void work_survives_a_lost_connection(void)
{
    static const char *const calls[] = { "dedup_take", "event_insert", "COMMIT" };
    if (!suite_is_postgres())
        return; // a file has no connection to lose
    DEFER(store_close) Store store = { 0 };
    Killer killer = { .store = &store };
    store_open_with(&store, (WriterOptions){ .fault = kill_before, .fault_with = &killer });
    publish(&store, TENANT, KEYED);
    for (int i = 0; i < (int) ARRAY_LEN(calls); i++) {
        MUST(&store, writer_run(store.writer, learn_pid, &killer, &store.error));
        killer.call = calls[i];
        Accept *accept = take(
            &store, TENANT,
            str_format(&store.arena, "{'kind':'visit','id':'%d','payload':{'wip':%d}}", i, i).at);
        CHECK_AT(calls[i], take_err(accept) == ERR_OK && killer.killed == i + 1);
        CHECK_AT(calls[i], accept->items[0].pairs[0].key.is_won && !accept->items[0].is_duplicate);
        CHECK_AT(calls[i], ask_i64(&store, "SELECT COUNT(*) FROM delivery") == i + 1);
    }
    CHECK(writer_is_up(store.writer));
}

static Err commit_noted(Db *db, Arena *arena, int64_t n, Error *error)
{
    FactPack facts = fact_pack(arena, BEGINNING);
    db_begin(db);
    journal_note(db, arena, 7, n, &facts);
    return db_commit(db, error);
}

// What was lost on the way to the COMMIT is decided for good: it was committed, or it never will.
static void a_number_tells_what_became_of_a_transaction(void)
{
    STORE(store);
    Db *one = NULL, *other = NULL;
    bool is_committed = false;
    if (!suite_is_postgres())
        return; // a local COMMIT never loses its reply
    MUST(&store, db_open(&(DbOptions){ .url = store.url }, &one, &store.error));
    MUST(&store, db_open(&(DbOptions){ .url = store.url }, &other, &store.error));
    FactPack facts = fact_pack(&store.arena, BEGINNING);
    for (int n = 1; n <= 4; n++) {
        bool commits = n % 2 == 1;
        db_begin(one);
        journal_note(one, &store.arena, 7, n, &facts);
        MUST(&store, db_sync(one, &store.error));
        CHECK(journal_resolve(other, 7, n, &is_committed, &store.error) == ERR_BUSY);
        if (commits)
            MUST(&store, db_commit(one, &store.error));
        else
            db_rollback(one);
        for (int again = 0; again < 2; again++) { // the first answer may have been lost, too
            MUST(&store, journal_resolve(other, 7, n, &is_committed, &store.error));
            CHECK(is_committed == commits);
        }
    }
    // A COMMIT that comes after its number was given up fails by itself.
    MUST(&store, journal_resolve(other, 7, 9, &is_committed, &store.error));
    CHECK(!is_committed);
    CHECK(commit_noted(one, &store.arena, 9, &store.error) != ERR_OK);
    CHECK(commit_noted(one, &store.arena, 10, &store.error) == ERR_OK);
    db_close(one);
    db_close(other);
}

// Job is an operation that remembers when it was done, and what was said.
typedef struct Job {
    Op op;
    const Statement *statement; // what it does; NULL: nothing
    int place;                  // among those that are done, from 1; 0: not yet
    Err err;
} Job;

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_moved = PTHREAD_COND_INITIALIZER;
static int jobs_done; // guarded by jobs_lock, as are the jobs' results

static Err job_apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Job *job = (const Job *) ops[i];
        if (job->statement)
            db_send(tx->db, &tx->arena, job->statement, NULL, NULL);
    }
    return tx_sync(tx, error);
}

static void job_done(Op *op, Err err, const Error *error)
{
    Job *job = (Job *) op;
    (void) error;
    pthread_mutex_lock(&jobs_lock);
    job->err = err;
    job->place = ++jobs_done;
    pthread_cond_broadcast(&jobs_moved);
    pthread_mutex_unlock(&jobs_lock);
}

static const OpKind job_kind = { .name = "job", .apply = job_apply };
static const OpKind other_kind = { .name = "other job", .apply = job_apply };

static Job job_of(const OpKind *kind, size_t weight)
{
    return (Job){ .op = { .kind = kind, .done = job_done, .weight = weight } };
}

static Err job_await(const Job *job)
{
    pthread_mutex_lock(&jobs_lock);
    while (!job->place)
        pthread_cond_wait(&jobs_moved, &jobs_lock);
    Err err = job->err;
    pthread_mutex_unlock(&jobs_lock);
    return err;
}

static bool job_is_done(const Job *job)
{
    pthread_mutex_lock(&jobs_lock);
    bool is_done = job->place > 0;
    pthread_mutex_unlock(&jobs_lock);
    return is_done;
}

static void an_urgent_operation_goes_next(void)
{
    ONE_PEN(store);
    Gate gate;
    Job bulk[5], urgent = job_of(&other_kind, 1);
    jobs_done = 0;
    urgent.op.is_urgent = true;
    gate_close(&gate, store.writer);
    for (size_t i = 0; i < ARRAY_LEN(bulk); i++) {
        bulk[i] = job_of(&job_kind, BATCH_WEIGHT_MAX);
        writer_submit(store.writer, &bulk[i].op);
    }
    writer_submit(store.writer, &urgent.op);
    gate_move(&gate, &gate.is_open);
    flush(&store);
    gate_free(&gate);
    // One of the others goes along, for a batch is filled; it is not the whole line.
    CHECK(urgent.err == ERR_OK && urgent.place == 1);
    for (int i = 0; i < (int) ARRAY_LEN(bulk); i++)
        CHECK(bulk[i].err == ERR_OK && bulk[i].place == i + 2);
}

static void what_waits_is_bounded_by_rows_and_by_bytes(void)
{
    ONE_PEN(store);
    Gate gate;
    for (int by_bytes = 0; by_bytes <= 1; by_bytes++) {
        Job large = job_of(&job_kind, by_bytes ? 1 : WAITING_WEIGHT_MAX);
        Job refused = job_of(&job_kind, 1), urgent = job_of(&job_kind, 1);
        large.op.bytes = by_bytes ? WAITING_BYTES_MAX : 0;
        urgent.op.is_urgent = true;
        gate_close(&gate, store.writer);
        writer_submit(store.writer, &large.op); // however large: nothing else waits
        writer_submit(store.writer, &refused.op);
        CHECK(job_is_done(&refused) && refused.err == ERR_BUSY);
        writer_submit(store.writer, &urgent.op);
        CHECK(writer_waiting(store.writer) == 2);
        gate_move(&gate, &gate.is_open);
        CHECK(job_await(&large) == ERR_OK && job_await(&urgent) == ERR_OK);
        gate_free(&gate);
    }
}

static const Statement needs_event = {
    .name = "suite_needs_event",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "DELETE FROM event WHERE tenant = 0",
};
static const Statement needs_meta = {
    .name = "suite_needs_meta",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "DELETE FROM meta WHERE key = 'none'",
};

// lock_event opens a connection that holds the table until it is rolled back.
static Db *lock_event(Store *store)
{
    static const Statement lock = { .name = "suite_lock",
                                    .scope = STATEMENT_SYSTEM,
                                    .params = "",
                                    .sql = "LOCK TABLE event IN ACCESS EXCLUSIVE MODE" };
    Db *db = NULL;
    MUST(store, db_open(&(DbOptions){ .url = store->url }, &db, &store->error));
    db_begin(db);
    db_send(db, &store->arena, &lock, NULL, NULL);
    MUST(store, db_sync(db, &store->error));
    return db;
}

// While somebody holds a table, what needs it waits for as long as it has patience, in one batch
// or in the line, and what does not need it goes on. The rest goes on when the lock goes.
static void a_locked_table_stops_only_who_needs_it(void)
{
    if (!suite_is_postgres())
        return; // nobody else writes to a file
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .pen_count = 3 });
    Db *holder = lock_event(&store);
    Job needy[6], free_of_it[3];
    for (size_t i = 0; i < ARRAY_LEN(needy); i++) {
        needy[i] = job_of(&job_kind, 1);
        needy[i].statement = &needs_event;
        needy[i].op.patience = i < 3 ? SPAN_SECOND : SPAN_HOUR;
        writer_submit(store.writer, &needy[i].op);
    }
    for (size_t i = 0; i < ARRAY_LEN(free_of_it); i++) {
        free_of_it[i] = job_of(&other_kind, 1);
        free_of_it[i].statement = &needs_meta;
        writer_submit(store.writer, &free_of_it[i].op);
    }
    for (size_t i = 0; i < ARRAY_LEN(free_of_it); i++)
        CHECK(job_await(&free_of_it[i]) == ERR_OK);
    for (size_t i = 0; i < 3; i++)
        CHECK(job_await(&needy[i]) == ERR_BUSY);
    for (size_t i = 3; i < ARRAY_LEN(needy); i++)
        CHECK(!job_is_done(&needy[i]));
    db_rollback(holder);
    db_close(holder);
    for (size_t i = 3; i < ARRAY_LEN(needy); i++)
        CHECK(job_await(&needy[i]) == ERR_OK);
}

static Job *submit_needy(Store *store, Job *job)
{
    *job = job_of(&job_kind, 1);
    job->statement = &needs_event;
    job->op.patience = SPAN_HOUR;
    writer_submit(store->writer, &job->op);
    while (writer_waiting(store->writer) > 0) // until a pen has it, and only it
        sched_yield();
    return job;
}

// One pen is enough to wait for a lock: the second one that meets it gives its batch back, and goes
// on with what can be done.
static void a_locked_table_holds_one_pen_only(void)
{
    if (!suite_is_postgres())
        return; // there is one pen
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .pen_count = 3 });
    Db *holder = lock_event(&store);
    Job first, second, free_of_it = job_of(&other_kind, 1);
    submit_needy(&store, &first);
    submit_needy(&store, &second); // the first pen stands at the lock
    free_of_it.statement = &needs_meta;
    free_of_it.op.patience = SPAN_HOUR;
    writer_submit(store.writer, &free_of_it.op);
    CHECK(job_await(&free_of_it) == ERR_OK);
    CHECK(!job_is_done(&first) && !job_is_done(&second));
    db_rollback(holder);
    db_close(holder);
    CHECK(job_await(&first) == ERR_OK && job_await(&second) == ERR_OK);
}

// What takes long has a pen of its own: while that stands still, everybody else's go on, and what
// stands in line behind it waits alone.
static void what_takes_long_holds_nobody_up(void)
{
    if (!suite_is_postgres())
        return; // there is one pen
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .pen_count = 3 });
    Db *holder = lock_event(&store);
    Job slow[2], others[2];
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        slow[i] = job_of(&job_kind, 1);
        slow[i].statement = &needs_event;
        slow[i].op.patience = SPAN_HOUR;
        slow[i].op.is_long = slow[i].op.is_urgent = true;
        writer_submit(store.writer, &slow[i].op);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        others[i] = job_of(&other_kind, 1);
        others[i].statement = &needs_meta;
        writer_submit(store.writer, &others[i].op);
        CHECK(job_await(&others[i]) == ERR_OK);
    }
    CHECK(!job_is_done(&slow[0]) && !job_is_done(&slow[1]));
    db_rollback(holder);
    db_close(holder);
    CHECK(job_await(&slow[0]) == ERR_OK && job_await(&slow[1]) == ERR_OK);
}

static const Test tests[] = {
    TEST(calls_of_one_batch_share_their_keys),    TEST(only_the_guilty_one_fails),
    TEST(a_publish_ahead_in_the_line_decides),    TEST(a_publish_of_another_node_decides),
    TEST(a_failed_operation_leaves_nothing),      TEST(a_busy_operation_is_replayed),
    TEST(each_node_counts_in_rows_of_its_own),    TEST(a_reader_cannot_write),
    TEST(a_file_belongs_to_one_process),          TEST(values_come_back_as_they_went),
    TEST(work_survives_a_lost_connection),        TEST(a_number_tells_what_became_of_a_transaction),
    TEST(an_urgent_operation_goes_next),          TEST(what_waits_is_bounded_by_rows_and_by_bytes),
    TEST(a_locked_table_stops_only_who_needs_it), TEST(a_locked_table_holds_one_pen_only),
    TEST(what_takes_long_holds_nobody_up),
};
PART(writer_part, tests);
