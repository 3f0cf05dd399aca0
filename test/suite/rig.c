#include "rig.h"

#include "store/definition.h"
#include "store/lane.h"
#include "store/node.h"
#include "store/run.h"
#include "store/schedule.h"

enum { TURN_MAX = 200 };

static void start(void *with, const Transfer *transfer, TransferDone *done, void *done_with)
{
    Rig *rig = with;
    MUST(&rig->store, rig->sent_count < RIG_SENT_MAX ? ERR_OK : ERR_INTERNAL);
    rig->sent[rig->sent_count++] = (Sending){ .body = str_dup(&rig->store.arena, transfer->body),
                                              .url = str_dup(&rig->store.arena, transfer->url),
                                              .done = done,
                                              .with = done_with };
}

// spawn runs a real program: what it does is not invented.
static void spawn(void *with, const Process *process, ProcessDone *done, void *done_with)
{
    Rig *rig = with;
    if (!rig->carriers.loop)
        carriers_open(&rig->carriers, &rig->real, NULL);
    processes_start(rig->carriers.processes, process, done, done_with);
}

void wait_for_programs(Rig *rig)
{
    while (processes_running(rig->carriers.processes) > 0)
        loop_wait(rig->carriers.loop, SPAN_SECOND);
}

static void end_programs(Rig *rig)
{
    if (rig->carriers.loop)
        carriers_close(&rig->carriers);
    rig->carriers = (Carriers){ 0 };
}

static void answer_usually(Rig *rig)
{
    bool is_told = rig->status || rig->is_dead;
    for (int i = 0; is_told && i < rig->sent_count; i++)
        if (rig->sent[i].done)
            answer(rig, i, rig->is_dead ? 0 : rig->status);
}

// wait_for is where the engine's own loops wait: the writer works and time goes by.
static void wait_for(void *with, Span timeout)
{
    Rig *rig = with;
    while (writer_step(rig->store.writer))
        ;
    answer_usually(rig);
    clock_pass(&rig->store.clock, timeout);
}

static void wake(void *with)
{
    ((Rig *) with)->woken++;
}

// loses says whether the connection is lost at a call: once, where a test wants it.
static bool loses(Rig *rig, const char *call)
{
    bool begins = strncmp(call, "BEGIN", 5) == 0;
    if (!rig->lost)
        return false;
    rig->is_behind = !begins && (rig->is_behind || strcmp(call, rig->lost_behind) == 0);
    bool is_reply = rig->has_committed && strcmp(call, "sync") == 0;
    rig->has_committed = rig->is_behind && strcmp(call, "COMMIT") == 0;
    bool is_lost =
        strcmp(rig->lost, "reply") == 0 ? is_reply : rig->is_behind && strcmp(call, rig->lost) == 0;
    rig->lost = is_lost ? NULL : rig->lost;
    return is_lost;
}

static int fault(void *with, const char *call)
{
    Rig *rig = with;
    bool begins = strncmp(call, "BEGIN", 5) == 0;
    if (loses(rig, call))
        return DB_FAULT_LOST;
    rig->transactions += begins;
    rig->looks += strcmp(call, "lane_next") == 0;
    buf_add(&rig->said, str_from(call));
    buf_add_char(&rig->said, ' ');
    if (strcmp(call, "node_server_time") == 0)
        clock_set_offset(&rig->real, rig->real.offset + rig->clock_delay);
    if (rig->is_away && begins)
        return 13;                                        // SQLITE_FULL: the store's own fault
    return rig->broken && strcmp(call, rig->broken) == 0; // SQLITE_ERROR
}

static void hung(void *with)
{
    ((Rig *) with)->hung++;
}

static void start_engine(Rig *rig)
{
    rig->transport =
        (Transport){ .with = rig, .start = start, .spawn = spawn, .wait = wait_for, .wake = wake };
    clock_init_system(&rig->real);
    EngineOptions options = {
        .writer = rig->store.writer,
        .clock = &rig->store.clock,
        .real = &rig->real,
        .random = &rig->store.random,
        .transport = &rig->transport,
        .node = ++rig->node,
        .is_only_node = !suite_is_postgres(),
        .flights_max = rig->flights_max,
        .host_max = rig->host_max,
        .types = rig->types,
        .providers = rig->providers,
        .readers = rig->readers,
        .hung = hung,
        .hung_with = rig,
    };
    rig->engine = engine_new(&options);
    writer_follow(rig->store.writer, engine_moved, rig->engine);
}

void rig_open(Rig *rig)
{
    rig->said = buf_new(NULL, RIG_SAID_MAX);
    store_open_with(&rig->store, (WriterOptions){ .pen_count = suite_is_postgres() ? 2 : 1,
                                                  .is_stepped = true,
                                                  .fault = fault,
                                                  .fault_with = rig });
    clock_init_simulated(&rig->store.clock, BEGINNING);
    rig->node = NODE;
    start_engine(rig);
}

void rig_close(Rig *rig)
{
    rig->is_away = false;
    rig->broken = NULL;
    while (writer_step(rig->store.writer))
        ;
    writer_follow(rig->store.writer, NULL, NULL);
    end_programs(rig);
    engine_free(rig->engine);
    store_close(&rig->store);
    buf_done(&rig->said);
}

void restart(Rig *rig)
{
    while (writer_step(rig->store.writer))
        ;
    end_programs(rig);
    engine_free(rig->engine);
    for (int i = 0; i < rig->sent_count; i++)
        rig->sent[i].done = NULL; // nobody waits for it any more
    start_engine(rig);
}

void turn(Rig *rig)
{
    clock_pass(&rig->store.clock, SPAN_MILLISECOND);
    rig->rounds = 0;
    for (int quiet = 0; quiet < 2 && rig->rounds < TURN_MAX;) {
        bool worked = false;
        engine_round(rig->engine);
        // The beat sets the clock by the server's, which is off by half of what it took to ask: on
        // a busy machine enough to make what is due not due. A rig's time is nobody else's.
        clock_set_offset(&rig->store.clock, 0);
        while (writer_step(rig->store.writer))
            worked = true;
        answer_usually(rig);
        rig->rounds += worked;
        quiet = worked ? 0 : quiet + 1;
    }
    CHECK_AT("the engine comes to rest", rig->rounds < TURN_MAX);
}

void lapse(Rig *rig, Span span)
{
    const Span step = 250 * SPAN_MILLISECOND;
    for (; span > 0; span -= step) {
        clock_pass(&rig->store.clock, span < step ? span : step);
        turn(rig);
    }
}

void jump(Rig *rig, Span span)
{
    clock_set(&rig->store.clock, now(&rig->store) + span);
}

static void end(Rig *rig, int number, const TransferResult *result)
{
    Sending *sending = &rig->sent[number];
    TransferDone *done = sending->done;
    MUST(&rig->store, number < rig->sent_count && done ? ERR_OK : ERR_INTERNAL);
    sending->done = NULL;
    done(sending->with, result);
}

void answer(Rig *rig, int number, int status)
{
    TransferResult result = { .problem = status ? TRANSFER_ANSWERED : TRANSFER_NO_ANSWER,
                              .problem_text = status ? STR_NONE : S("no answer"),
                              .status = status,
                              .retry_after = str_from(rig->retry_after),
                              .body = rig->body ? str_from(rig->body) : S("as told") };
    end(rig, number, &result);
}

void lack(Rig *rig, int number)
{
    TransferResult result = { .problem = TRANSFER_NOT_TRIED,
                              .problem_text = S("no descriptor is left") };
    end(rig, number, &result);
}

void http_of(Rig *rig, int64_t tenant, const char *name, const char *members,
             const char *trigger_members)
{
    Store *store = &rig->store;
    channel_of(store, tenant,
               str_format(&store->arena,
                          "{'key':'http:%s','type':'http','config':{'url':'http://%s.test/%s'}%s}",
                          name, name, name, members)
                   .at);
    publish(store, tenant,
            str_format(&store->arena, "{'id':'%s','eventKind':'%s','channel':'http:%s'%s}", name,
                       name, name, trigger_members)
                .at);
}

void http(Rig *rig, const char *name, const char *members, const char *trigger_members)
{
    http_of(rig, TENANT, name, members, trigger_members);
}

void visits_of(Rig *rig, int64_t tenant, const char *kind, int count)
{
    Store *store = &rig->store;
    Buf list = buf_new(&store->arena, 16u << 20);
    for (int i = 0; i < count; i++)
        buf_add_format(&list, "%s{'kind':'%s','recipient':{'address':'x'}}", i ? "," : "[", kind);
    buf_add(&list, S("]"));
    take(store, tenant, str_z(&store->arena, buf_str(&list)));
    while (writer_step(store->writer))
        ;
}

void visits(Rig *rig, const char *kind, int count)
{
    visits_of(rig, TENANT, kind, count);
}

static Err apply_birth(Tx *tx, void *with, Error *error)
{
    Life *life = with;
    TRY(tx_sync(tx, error));
    return node_join(tx, S("node"), S("1"), false, clock_now(life->options.real),
                     &life->options.node, error);
}

static Err apply_drain(Tx *tx, void *with, Error *error)
{
    Life *life = with;
    DrainTrial trial = life->report.trial;
    TRY(tx_sync(tx, error));
    life->report = (DutyReport){ .trial = trial };
    return drain_run(tx, &life->options, &life->report, error);
}

void live(Rig *rig, Life *life)
{
    Store *store = &rig->store;
    MUST(store, writer_run(store->writer, apply_birth, life, &store->error));
    do {
        if (writer_run(store->writer, apply_drain, life, &store->error) == ERR_OK)
            continue;
        life->report = (DutyReport){ .has_more = true };
        life->deaths++;
        MUST(store, writer_run(store->writer, apply_birth, life, &store->error));
    } while (life->report.has_more && life->deaths < 20);
}

int in_state(Rig *rig, DeliveryState state)
{
    Value args[] = { value_i64(state) };
    Rows rows = ask(&rig->store,
                    "SELECT COUNT(*) FROM (SELECT state FROM queue UNION ALL"
                    " SELECT state FROM ended) AS s WHERE state = $1",
                    "i", args);
    return (int) value_to_i64(&rows.values[0]);
}

int attempts(Rig *rig)
{
    return (int) ask_i64(&rig->store, "SELECT COUNT(*) FROM (SELECT number FROM attempt UNION ALL"
                                      " SELECT attempt FROM ended WHERE verdict IS NOT NULL) AS a");
}

// Saving is a job on its way into the store, as the API saves one.
typedef struct Saving {
    int64_t tenant;
    Str body;
} Saving;

static Err apply_save(Tx *tx, void *with, Error *error)
{
    const Saving *saving = with;
    Trigger job;
    Definition made;
    Error missing = { 0 };
    TRY(job_parse(&tx->arena, saving->body, &job, error));
    TRY(lane_ensure(tx, saving->tenant, job.channel, error));
    Err err = definition_replace(tx, saving->tenant, DEFINITION_JOB, job.rule.id,
                                 DEFINITION_ANY_VERSION, saving->body, &made, &missing);
    if (err == ERR_NOT_FOUND)
        err = definition_create(tx, saving->tenant, DEFINITION_JOB, job.rule.id, saving->body,
                                &made, error);
    return err == ERR_OK ? schedule_follow(tx, saving->tenant, &job, error) : err;
}

void job_of(Store *store, int64_t tenant, const char *name, const char *members)
{
    Str body = str_format(&store->arena, "{'name':'%s','handler':'http:do'%s}", name, members);
    Saving saving = { tenant, json_compact(store, body.at) };
    MUST(store, writer_run(store->writer, apply_save, &saving, &store->error));
}

void handler(Rig *rig, int status)
{
    rig->status = status;
    channel_of(&rig->store, TENANT,
               "{'key':'http:do','type':'http','config':{'url':'http://do.test/'}}");
}

static Err apply_statement(Tx *tx, void *with, Error *error)
{
    const Statement *const *statement = with;
    Rows rows;
    return tx_query(tx, *statement, NULL, &rows, error);
}

void do_statement(Store *store, const Statement *statement)
{
    MUST(store, writer_run(store->writer, apply_statement, &statement, &store->error));
}

typedef struct Putting {
    const InboxRow *rows;
    size_t count;
} Putting;

static Err apply_put(Tx *tx, void *with, Error *error)
{
    const Putting *putting = with;
    inbox_put(tx, putting->rows, putting->count);
    return tx_sync(tx, error);
}

void put_rows(Store *store, const InboxRow *rows, size_t count)
{
    Putting putting = { rows, count };
    MUST(store, writer_run(store->writer, apply_put, &putting, &store->error));
}

// On PostgreSQL stores are emptied and used again, constraints and all.
static const Statement poison_on = {
    .name = "suite_poison_on",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "CREATE TRIGGER poison BEFORE INSERT ON event WHEN NEW.occurred_at = 7"
           " BEGIN SELECT RAISE(ABORT, 'it cannot be written'); END",
    .postgres = "ALTER TABLE event DROP CONSTRAINT IF EXISTS poison,"
                " ADD CONSTRAINT poison CHECK (occurred_at <> 7)",
};
static const Statement poison_off = {
    .name = "suite_poison_off",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "DROP TRIGGER poison",
    .postgres = "ALTER TABLE event DROP CONSTRAINT poison",
};

void poison_events(Store *store)
{
    do_statement(store, &poison_on);
}

void cure_events(Store *store)
{
    do_statement(store, &poison_off);
}
