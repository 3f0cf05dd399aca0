#include "store/trigger_event.h"

#include "domain/run.h"
#include "store/columns.h"
#include "store/counter.h"
#include "store/decision.h"
#include "store/delivery.h"

_Static_assert(TRIGGER_ACTIONS_MAX == 100, "the SQL names it by number");

// An event's deliveries are a range of ids; a rule makes one of them at most.
#define STANDS                                                                                     \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"
static const Statement made = {
    .name = "trigger_event_made",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .many = true,
    .sql = "SELECT $5, d.id, d.lane, COALESCE(q.state, n.state, -1) FROM delivery d" STANDS
           " WHERE d.tenant = $1 AND d.id >= $2 AND d.id <= $3 AND d.rule = $4",
    .postgres = "SELECT u.i, d.id, d.lane, COALESCE(q.state, n.state, -1)"
                " FROM unnest($1, $2, $3, $4, $5) AS u (tenant, first, last, rule, i)"
                " JOIN delivery d ON d.tenant = u.tenant AND d.id >= u.first AND d.id <= u.last"
                " AND d.rule = u.rule" STANDS,
};
static const Statement decided = {
    .name = "trigger_event_decided",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, " DECISION_HELD " FROM event e" DECISION_ANEW
           " WHERE e.tenant = $1 AND e.id = $2 AND " DECISION_HELD " IS NOT NULL",
    .postgres = "SELECT u.i, " DECISION_HELD " FROM unnest($1, $2, $3) AS u (tenant, event, i)"
                " JOIN event e ON e.tenant = u.tenant AND e.id = u.event" DECISION_ANEW
                " WHERE " DECISION_HELD " IS NOT NULL",
};
#define SESSION "r.session_id, NULL, NULL, NULL"
#define RESULTS "r.session_id, r.enriched, r.filter_result, r.analysis_result"
#define RESULT_OF(members)                                                                         \
    .params = "iui", .many = true,                                                                 \
    .sql = "SELECT $3, " members " FROM trigger_result r WHERE r.tenant = $1 AND r.delivery = $2", \
    .postgres = "SELECT u.i, " members " FROM unnest($1, $2, $3) AS u (tenant, delivery, i)"       \
                " JOIN trigger_result r ON r.tenant = u.tenant AND r.delivery = u.delivery"
static const Statement session = {
    .name = "trigger_session",
    .scope = STATEMENT_TENANT,
    RESULT_OF(SESSION),
};
static const Statement results = {
    .name = "trigger_results",
    .scope = STATEMENT_TENANT,
    RESULT_OF(RESULTS),
};
#define SHORT "a.n, a.tool, a.status, NULL, NULL, NULL, a.started_at, a.completed_at"
#define WHOLE "a.n, a.tool, a.status, a.input, a.output, a.error, a.started_at, a.completed_at"
#define ACTIONS_OF(members)                                                                        \
    .params = "iui", .many = true,                                                                 \
    .sql = "SELECT $3, " members " FROM trigger_action a WHERE a.tenant = $1 AND a.delivery = $2"  \
           " ORDER BY a.n",                                                                        \
    .postgres = "SELECT u.i, " members " FROM unnest($1, $2, $3) AS u (tenant, delivery, i)"       \
                " JOIN trigger_action a ON a.tenant = u.tenant AND a.delivery = u.delivery"        \
                " ORDER BY u.i, a.n"
static const Statement actions_short = {
    .name = "trigger_actions_short",
    .scope = STATEMENT_TENANT,
    ACTIONS_OF(SHORT),
};
static const Statement actions_whole = {
    .name = "trigger_actions",
    .scope = STATEMENT_TENANT,
    ACTIONS_OF(WHOLE),
};

#define KEPT(member, given)                                                                        \
    member " = CASE WHEN " given " = 1 THEN excluded." member " ELSE trigger_result." member " EN" \
           "D"
static const Statement put_result = {
    .name = "trigger_result_put",
    .scope = STATEMENT_TENANT,
    .params = "iuttttiiii",
    .sql = "INSERT INTO trigger_result (tenant, delivery, session_id, enriched, filter_result,"
           " analysis_result) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, delivery)"
           " DO UPDATE SET " KEPT("session_id", "$7") ", " KEPT("enriched", "$8") ", " KEPT(
               "filter_result", "$9") ", " KEPT("analysis_result", "$10"),
};
// Two transactions that count from the same action clash, and the later one is replayed.
static const Statement add_action = {
    .name = "trigger_action_add",
    .scope = STATEMENT_TENANT,
    .params = "iutttttii",
    .sql = "INSERT INTO trigger_action (tenant, delivery, n, tool, status, input, output, error,"
           " started_at, completed_at) SELECT $1, $2, l.n + 1, $3, $4, $5, $6, $7, $8, $9"
           " FROM (SELECT COALESCE((SELECT a.n FROM trigger_action a WHERE a.tenant = $1"
           " AND a.delivery = $2 ORDER BY a.n DESC LIMIT 1), 0) AS n) AS l WHERE l.n < 100"
           " RETURNING n",
};
// Kind 0 is a trigger.
_Static_assert(RULE_TRIGGER == 0, "the SQL names the kind by number");
static const Statement counted = {
    .name = "trigger_counts",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .many = true,
    .sql = COUNTER_WRITERS("$1") "SELECT $3, c.state, SUM(c.n) FROM w CROSS JOIN counter c"
                                 " WHERE c.tenant = $1 AND c.writer = w.writer AND c.rule ="
                                 " (SELECT r.rule FROM rule r WHERE r.tenant = $1 AND r.kind = 0"
                                 " AND r.id = $2) GROUP BY c.state",
    .postgres = COUNTER_WRITERS(
        "($1)[1]") "SELECT u.i, c.state, CAST(SUM(c.n) AS BIGINT)"
                   " FROM unnest($1, $2, $3) AS u (tenant, id, i)"
                   " JOIN rule r ON r.tenant = u.tenant AND r.kind = 0 AND r.id = u.id CROSS JOIN w"
                   " JOIN counter c ON c.tenant = u.tenant AND c.writer = w.writer"
                   " AND c.rule = r.rule GROUP BY u.i, c.state",
};

const Statement *const trigger_event_statements[] = {
    &made,          &decided,    &session,    &results, &actions_short,
    &actions_whole, &put_result, &add_action, &counted, NULL,
};

// Ask is what is asked of one event, or of the delivery that was made of it.
typedef struct Ask {
    int64_t tenant;
    Uuid first, last; // deliveries that may be
    Uuid id;          // of the event, or the delivery
    int64_t rule, place;
} Ask;

static const Columns made_asked = COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, first),
                                          COLUMN(Ask, last), COLUMN(Ask, rule), COLUMN(Ask, place));
static const Columns id_asked =
    COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, id), COLUMN(Ask, place));

static void take_made(TriggerEvent *all, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        TriggerEvent *of = &all[value_to_i64(&row[0])];
        if (value_to_i64(&row[3]) < 0)
            continue; // where it stands got lost
        of->is_made = true;
        of->delivery = value_to_uuid(&row[1]);
        of->lane = value_to_i64(&row[2]);
        of->state = (DeliveryState) value_to_i64(&row[3]);
        of->status = trigger_status_of(of->state);
        of->skip = of->status == TRIGGER_SKIPPED ? TRIGGER_SKIP_MANUAL : TRIGGER_SKIP_NONE;
    }
}

// take_decided tells of those that no delivery was made of what was decided last.
static Err take_decided(Arena *arena, TriggerEvent *all, const Rows *rows, Error *error)
{
    for (size_t i = 0; i < rows->count; i++) {
        Miss *misses;
        size_t count;
        const Value *row = rows_at(rows, i);
        TriggerEvent *of = &all[value_to_i64(&row[0])];
        if (of->is_made)
            continue;
        TRY(decision_unpack(arena, value_to_str(&row[1]), &misses, &count, error));
        for (size_t m = 0; m < count; m++)
            if (misses[m].rule == of->rule)
                of->skip = trigger_skip_of(misses[m].kind);
        of->status = TRIGGER_SKIPPED;
    }
    return ERR_OK;
}

// is_any: the trigger made something of the event, or decided not to.
static bool is_any(const TriggerEvent *of)
{
    return of->is_made || of->skip != TRIGGER_SKIP_NONE;
}

// look_up asks what became of events; those of which nothing did are left out.
static Err look_up(Db *db, Arena *arena, int64_t tenant, TriggerEvent *all, size_t *count,
                   Error *error)
{
    Rows deliveries = { 0 }, facts = { 0 };
    size_t kept = 0;
    Ask *asks = ARENA_ARRAY(arena, Ask, *count + 1);
    for (size_t i = 0; i < *count; i++)
        asks[i] = (Ask){ .tenant = tenant,
                         .first = delivery_id_of(all[i].event.id, 1),
                         .last = delivery_id_of(all[i].event.id, UINT16_MAX),
                         .id = all[i].event.id,
                         .rule = all[i].rule,
                         .place = (int64_t) i };
    db_send_rows(db, arena, &made, &made_asked, asks, *count, &deliveries);
    db_send_rows(db, arena, &decided, &id_asked, asks, *count, &facts);
    TRY(db_sync(db, error));
    take_made(all, &deliveries);
    TRY(take_decided(arena, all, &facts, error));
    for (size_t i = 0; i < *count; i++)
        if (is_any(&all[i]))
            all[kept++] = all[i];
    *count = kept;
    return ERR_OK;
}

static void take_results(TriggerEvent *all, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        all[value_to_i64(&row[0])].result = (TriggerResult){
            .session_id = value_to_str(&row[1]),
            .enriched = value_to_str(&row[2]),
            .filter_result = value_to_str(&row[3]),
            .analysis_result = value_to_str(&row[4]),
        };
    }
}

// take_actions gives each its actions: they come one event after the other.
static void take_actions(Arena *arena, TriggerEvent *all, const Rows *rows)
{
    TriggerAction *actions = ARENA_ARRAY(arena, TriggerAction, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        TriggerEvent *of = &all[value_to_i64(&row[0])];
        of->actions = of->actions ? of->actions : &actions[i];
        of->action_count++;
        actions[i] = (TriggerAction){ .n = (int) value_to_i64(&row[1]),
                                      .tool = value_to_str(&row[2]),
                                      .status = value_to_str(&row[3]),
                                      .input = value_to_str(&row[4]),
                                      .output = value_to_str(&row[5]),
                                      .error = value_to_str(&row[6]),
                                      .started_at = value_to_time(&row[7]),
                                      .completed_at = value_to_time(&row[8]) };
    }
}

// read_back reads what runs wrote back.
static Err read_back(Db *db, Arena *arena, int64_t tenant, const Statement *result,
                     const Statement *actions, TriggerEvent *all, size_t count, Error *error)
{
    Rows written = { 0 }, done = { 0 };
    size_t asked = 0;
    Ask *asks = ARENA_ARRAY(arena, Ask, count + 1);
    for (size_t i = 0; i < count; i++)
        if (all[i].is_made)
            asks[asked++] = (Ask){ .tenant = tenant, .id = all[i].delivery, .place = (int64_t) i };
    db_send_rows(db, arena, result, &id_asked, asks, asked, &written);
    db_send_rows(db, arena, actions, &id_asked, asks, asked, &done);
    TRY(db_sync(db, error));
    take_results(all, &written);
    take_actions(arena, all, &done);
    return ERR_OK;
}

static bool is_integrations(const TriggerLook *look, const Event *event)
{
    return !look->integration.at || str_eq(look->integration, event->topic);
}

Err trigger_event_page(Db *db, Arena *arena, int64_t tenant, const TriggerLook *look,
                       const Walk *walk, TriggerEvent **ret, Seen *ret_seen, Error *error)
{
    Event *events;
    size_t count = 0;
    EventFilter filter = { .kind = look->kind, .to = INSTANT_NONE };
    TRY(event_page(db, arena, tenant, &filter, walk, &events, ret_seen, error));
    TriggerEvent *all = ARENA_ARRAY(arena, TriggerEvent, ret_seen->count + 1);
    for (size_t i = 0; i < ret_seen->count; i++) {
        if (!is_integrations(look, &events[i]))
            continue;
        if (event_parse(arena, &events[i], NULL) != ERR_OK)
            events[i].payload_json = NULL;
        all[count++] = (TriggerEvent){ .event = events[i], .rule = look->rule };
    }
    TRY(look_up(db, arena, tenant, all, &count, error));
    TRY(read_back(db, arena, tenant, &session, &actions_short, all, count, error));
    ret_seen->is_cut |= ret_seen->has_more && count < ret_seen->count;
    ret_seen->count = count;
    *ret = all;
    return ERR_OK;
}

Err trigger_event_get(Db *db, Arena *arena, int64_t tenant, Uuid event, int64_t rule,
                      TriggerEvent *ret, Error *error)
{
    size_t count = 1;
    TriggerEvent one = { .rule = rule };
    TRY(event_row(db, arena, tenant, event, &one.event, error));
    TRY(look_up(db, arena, tenant, &one, &count, error));
    if (count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no trigger event %.*s",
                    STR_ARG(run_event_id(arena, event, rule)));
    TRY(read_back(db, arena, tenant, &results, &actions_whole, &one, 1, error));
    *ret = one;
    return ERR_OK;
}

static const Columns result_columns =
    COLUMNS(TriggerResult, COLUMN(TriggerResult, tenant), COLUMN(TriggerResult, delivery),
            COLUMN(TriggerResult, session_id), COLUMN(TriggerResult, enriched),
            COLUMN(TriggerResult, filter_result), COLUMN(TriggerResult, analysis_result),
            COLUMN(TriggerResult, has_session_id), COLUMN(TriggerResult, has_enriched),
            COLUMN(TriggerResult, has_filter_result), COLUMN(TriggerResult, has_analysis_result));
static const Columns action_columns = COLUMNS(
    TriggerAction, COLUMN(TriggerAction, tenant), COLUMN(TriggerAction, delivery),
    COLUMN(TriggerAction, tool), COLUMN(TriggerAction, status), COLUMN(TriggerAction, input),
    COLUMN(TriggerAction, output), COLUMN(TriggerAction, error),
    COLUMN_TIME(TriggerAction, started_at), COLUMN_TIME(TriggerAction, completed_at));

void trigger_result_put(Tx *tx, const TriggerResult *result)
{
    Value args[10];
    columns_bind(&result_columns, result, args);
    db_send(tx->db, &tx->arena, &put_result, args, NULL);
}

Err trigger_action_add(Tx *tx, TriggerAction *action, Error *error)
{
    Rows rows;
    Value args[9];
    columns_bind(&action_columns, action, args);
    TRY(tx_query(tx, &add_action, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_CONFLICT, "a run may tell of %d actions", TRIGGER_ACTIONS_MAX);
    action->n = (int) value_to_i64(&rows.values[0]);
    return ERR_OK;
}

// CountAsk is a trigger that is counted.
typedef struct CountAsk {
    int64_t tenant;
    Str id;
    int64_t place;
} CountAsk;

static const Columns count_asked =
    COLUMNS(CountAsk, COLUMN(CountAsk, tenant), COLUMN(CountAsk, id), COLUMN(CountAsk, place));

Err trigger_counts(Db *db, Arena *arena, int64_t tenant, TriggerCounts *rows, size_t count,
                   Error *error)
{
    Rows found = { 0 };
    CountAsk *asks = ARENA_ARRAY(arena, CountAsk, count + 1);
    for (size_t i = 0; i < count; i++) {
        asks[i] = (CountAsk){ tenant, rows[i].id, (int64_t) i };
        memset(rows[i].n, 0, sizeof rows[i].n);
    }
    db_send_rows(db, arena, &counted, &count_asked, asks, count, &found);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < found.count; i++) {
        const Value *row = rows_at(&found, i);
        TriggerStatus status = trigger_status_of((DeliveryState) value_to_i64(&row[1]));
        rows[value_to_i64(&row[0])].n[status] += value_to_i64(&row[2]);
    }
    return ERR_OK;
}
