#include "store/overdue.h"

#include "domain/run.h"

// Numbers in the SQL below are domain/delivery.h's.
_Static_assert(DELIVERY_SENDING == 1 && DELIVERY_PARKED == 4 && STEP_SEND == 1,
               "the SQL names states and steps by number");

// A node that is alone looks at the front whatever the time: the clock may have been set back since
// a dead one claimed it.
// clang-format off
#define FRONT_UNTIL(now, alone) "CASE WHEN " alone " > 0 THEN 9223372036854775807 ELSE " now " END"
#define OVERDUE_COLUMNS "SELECT " STANDING_COLUMNS("q.") ", d.version, " ORIGIN_COLUMNS
#define OVERDUE_PROMISE \
    " LEFT JOIN delivery d ON d.tenant = q.tenant AND d.id = q.id" \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
#define LAPSED_WHERE(now, gone, alone) \
    " WHERE q.state = 1 AND (q.lease_until <= " now " OR q.holder = " gone \
    " OR (" alone " > 0 AND q.holder NOT IN (0, " alone ")))"

static const Statement lapsed_find = {
    .name = "queue_lapsed",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiii",
    .many = true,
    .sql = OVERDUE_COLUMNS
        " FROM (SELECT tenant, id FROM queue WHERE lane = $1 AND step = 1"
        "  AND due_at <= " FRONT_UNTIL("$2", "$5") " ORDER BY due_at, id LIMIT $6) AS f"
        " CROSS JOIN queue q ON q.tenant = f.tenant AND q.id = f.id"
        OVERDUE_PROMISE LAPSED_WHERE("$2", "$4", "$5") " LIMIT $3",
    .postgres = OVERDUE_COLUMNS
        " FROM unnest($1) AS l (number), LATERAL (SELECT * FROM queue"
        "  WHERE lane = l.number AND step = 1"
        "  AND due_at <= " FRONT_UNTIL("($2)[1]", "($5)[1]")
        "  ORDER BY due_at, id LIMIT ($6)[1]) AS f"
        " JOIN queue q ON q.tenant = f.tenant AND q.id = f.id"
        OVERDUE_PROMISE LAPSED_WHERE("($2)[1]", "($4)[1]", "($5)[1]")
        " LIMIT ($3)[1] FOR UPDATE OF q SKIP LOCKED",
};

#define WAITING_DUE \
    OVERDUE_COLUMNS " FROM queue q" OVERDUE_PROMISE \
    " WHERE q.step > 1 AND q.due_at <= $1 ORDER BY q.due_at LIMIT $2"
#define PARKED_DUE \
    "SELECT " ENDED_COLUMNS " FROM ended n JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id" \
    " WHERE n.expires_at <= $1 AND n.expires_at IS NOT NULL AND n.state = 4 LIMIT $2"
// clang-format on

static const Statement waiting_due = {
    .name = "queue_waiting_due",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = WAITING_DUE,
    .postgres = WAITING_DUE " FOR UPDATE OF q SKIP LOCKED",
};
static const Statement parked_due = {
    .name = "ended_parked_due",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = PARKED_DUE,
    .postgres = PARKED_DUE " FOR UPDATE OF n SKIP LOCKED",
};

const Statement *const overdue_statements[] = { &lapsed_find, &waiting_due, &parked_due, NULL };

bool overdue_is_lapsed(const Overdue *overdue)
{
    return overdue->row.live.state == DELIVERY_SENDING && !overdue->row.is_unsound;
}

// LeaseAsk is one lane of a look.
typedef struct LeaseAsk {
    int64_t lane;
    Instant now;
    int limit;
    int64_t gone, alone;
    int front;
} LeaseAsk;

static const Columns lease_asked =
    COLUMNS(LeaseAsk, COLUMN(LeaseAsk, lane), COLUMN(LeaseAsk, now), COLUMN(LeaseAsk, limit),
            COLUMN(LeaseAsk, gone), COLUMN(LeaseAsk, alone), COLUMN(LeaseAsk, front));

// read_overdue reads a row of the queue and, where a lease lapsed, the version it was made under.
static Err read_overdue(Tx *tx, const Value *at, Overdue *ret, Error *error)
{
    queue_read(at, &ret->row);
    ret->version = value_to_i64(&at[STANDING_COLUMN_COUNT]);
    origin_read(&at[STANDING_COLUMN_COUNT + 1], &ret->origin);
    ret->trigger = NULL;
    if (!overdue_is_lapsed(ret))
        return ERR_OK;
    TRY(versions_load(tx->versions, tx->db, ret->row.tenant, ret->row.rule, ret->version,
                      &ret->trigger, error));
    ret->row.is_run = !ret->trigger || trigger_is_run(ret->trigger);
    return ERR_OK;
}

Err overdue_leases(Tx *tx, const LeaseLook *look, OverdueList *ret, Error *error)
{
    Rows rows;
    LeaseAsk *asks = ARENA_ARRAY(&tx->arena, LeaseAsk, look->lane_count);
    for (size_t i = 0; i < look->lane_count; i++)
        asks[i] = (LeaseAsk){ look->lanes[i], tx->now,     look->limit,
                              look->gone,     look->alone, OVERDUE_FRONT_MAX };
    db_send_rows(tx->db, &tx->arena, &lapsed_find, &lease_asked, asks, look->lane_count, &rows);
    TRY(tx_sync(tx, error));
    *ret = (OverdueList){ .at = ARENA_ARRAY(&tx->arena, Overdue, rows.count) };
    // SQLite has the limit per lane.
    for (; ret->count < rows.count && (int) ret->count < look->limit; ret->count++)
        TRY(read_overdue(tx, rows_at(&rows, ret->count), &ret->at[ret->count], error));
    return ERR_OK;
}

Err overdue_others(Tx *tx, int limit, OverdueList *ret, Error *error)
{
    Rows waiting, parked;
    Value args[] = { value_i64(tx->now), value_i64(limit) };
    db_send(tx->db, &tx->arena, &waiting_due, args, &waiting);
    TRY(tx_query(tx, &parked_due, args, &parked, error));
    *ret = (OverdueList){ .at = ARENA_ARRAY(&tx->arena, Overdue, waiting.count + parked.count) };
    for (; ret->count < waiting.count; ret->count++)
        TRY(read_overdue(tx, rows_at(&waiting, ret->count), &ret->at[ret->count], error));
    for (size_t i = 0; i < parked.count; i++)
        ended_read(rows_at(&parked, i), &ret->at[ret->count++].row);
    return ERR_OK;
}

void overdue_drop(OverdueList *list)
{
    for (size_t i = 0; i < list->count; i++)
        versions_drop(list->at[i].trigger);
    list->count = 0;
}
