#include "store/act.h"

#include "domain/run.h"
#include "store/delivery.h"
#include "store/follow.h"
#include "store/notification.h"

// What an action starts from. The rows are locked, in the order of their ids, so that the state
// that was seen is the state that is left; SQLite has one writer and needs no lock.
#define LIVE "SELECT " STANDING_COLUMNS("q.") ", r.kind FROM "
#define ENDED "SELECT " ENDED_COLUMNS ", r.kind FROM "
#define RULE_OF(row) " LEFT JOIN rule r ON r.tenant = " row ".tenant AND r.rule = " row ".rule"
#define NAMED "unnest($1, $2) AS u (tenant, id) "

static const Statement standing_live = {
    .name = "act_standing_live",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = LIVE "queue q" RULE_OF("q") " WHERE q.tenant = $1 AND q.id = $2",
    .postgres = LIVE NAMED "JOIN queue q ON q.tenant = u.tenant AND q.id = u.id" RULE_OF(
        "q") " ORDER BY q.id FOR UPDATE OF q",
};
static const Statement standing_ended = {
    .name = "act_standing_ended",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = ENDED "ended n JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id" RULE_OF(
        "n") " WHERE n.tenant = $1 AND n.id = $2",
    .postgres = ENDED NAMED "JOIN ended n ON n.tenant = u.tenant AND n.id = u.id"
                            " JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id" RULE_OF(
                                "n") " ORDER BY n.id FOR UPDATE OF n",
};

const Statement *const act_statements[] = { &standing_live, &standing_ended, NULL };

// Standing is where each of the deliveries stands that an action is for.
typedef struct Standing {
    const Uuid *ids; // in their order
    size_t count;
    QueueRow *rows; // one per id …
    bool *is_found; // … where this says so
} Standing;

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(Uuid));
}

static void note_row(Standing *standing, QueueRow *row, const Value *kind)
{
    const Uuid *at = bsearch(&row->id, standing->ids, standing->count, sizeof *at, by_id);
    assert(at);
    row->is_run = run_of_rule((RuleKind) value_to_i64(kind));
    standing->rows[at - standing->ids] = *row;
    standing->is_found[at - standing->ids] = true;
}

// look reads those that were not found yet; *ret_missing says how many still were not.
static Err look(Tx *tx, int64_t tenant, Standing *standing, size_t *ret_missing, Error *error)
{
    Rows live, ended;
    size_t asked = 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, standing->count * 2);
    for (size_t i = 0; i < standing->count; i++) {
        if (standing->is_found[i])
            continue;
        values[asked * 2] = value_i64(tenant);
        values[asked++ * 2 + 1] = value_uuid(&standing->ids[i]);
    }
    db_send_many(tx->db, &tx->arena, &standing_live, values, asked, &live);
    db_send_many(tx->db, &tx->arena, &standing_ended, values, asked, &ended);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < live.count; i++) {
        QueueRow row;
        queue_read(rows_at(&live, i), &row);
        note_row(standing, &row, &rows_at(&live, i)[STANDING_COLUMN_COUNT]);
    }
    for (size_t i = 0; i < ended.count; i++) {
        QueueRow row;
        ended_read(rows_at(&ended, i), &row);
        note_row(standing, &row, &rows_at(&ended, i)[STANDING_COLUMN_COUNT]);
    }
    *ret_missing = asked - live.count - ended.count;
    return ERR_OK;
}

// find_standing reads where they stand. One that another node is just moving is in neither table
// for the statements that waited for it, so it is looked for twice.
static Err find_standing(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, Standing *ret,
                         Error *error)
{
    size_t missing;
    *ret = (Standing){ .ids = ids,
                       .count = count,
                       .rows = ARENA_ARRAY(&tx->arena, QueueRow, count),
                       .is_found = ARENA_ARRAY(&tx->arena, bool, count) };
    memset(ret->is_found, 0, count * sizeof *ret->is_found);
    TRY(look(tx, tenant, ret, &missing, error));
    return missing > 0 ? look(tx, tenant, ret, &missing, error) : ERR_OK;
}

// judge tells of each what the action makes of it where it stands, and adds a move for those that
// it may move.
static void judge(Tx *tx, const Standing *standing, DeliveryAction action, Str note,
                  SettleBatch *batch, Acted *ret)
{
    for (size_t i = 0; i < standing->count; i++) {
        const QueueRow *row = &standing->rows[i];
        ret[i] = (Acted){ .err = ERR_NOT_FOUND };
        if (!standing->is_found[i])
            continue;
        ret[i] = (Acted){ .err = ERR_CONFLICT, .state = row->live.state };
        if (!delivery_may(row->live.state, action))
            continue;
        ret[i].err = ERR_OK;
        Settle *settle = &batch->rows[batch->count++];
        *settle = settle_called_off(row, delivery_act_on(&row->live, action, tx->now), tx->now);
        settle->note = note;
    }
}

// begin_again prepares what is tried again: those of its targets that have it not are open, and
// where it goes to a list, the list is asked for anew.
static Err begin_again(Tx *tx, int64_t tenant, SettleBatch *batch, Error *error)
{
    Uuid *ids = ARENA_ARRAY(&tx->arena, Uuid, batch->count + 1);
    for (size_t i = 0; i < batch->count; i++)
        ids[i] = batch->rows[i].id;
    target_reopen(tx, tenant, ids, batch->count);
    return notifications_rename(tx, tenant, batch, error);
}

Err act_all(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, DeliveryAction action, Str note,
            Acted *ret, Error *error)
{
    Standing standing;
    if (count == 0)
        return ERR_OK;
    TRY(find_standing(tx, tenant, ids, count, &standing, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, count) };
    judge(tx, &standing, action, note, &batch, ret);
    if (action == DELIVERY_ACTION_RETRY)
        TRY(begin_again(tx, tenant, &batch, error));
    if (batch.count > 0)
        TRY(follow_settle_now(tx, &batch, error));
    for (size_t i = 0, moved = 0; i < count; i++) {
        if (ret[i].err != ERR_OK || !batch.rows[moved++].is_stale)
            continue;
        ret[i].err = ERR_CONFLICT;
        ret[i].moved_on = true;
    }
    return ERR_OK;
}

Err act_one(Tx *tx, int64_t tenant, Uuid id, DeliveryAction action, Str note, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    Acted acted;
    TRY(act_all(tx, tenant, &id, 1, action, note, &acted, error));
    if (acted.err == ERR_NOT_FOUND)
        return delivery_missing(id, error);
    if (acted.moved_on)
        return fail(error, ERR_CONFLICT, "delivery %.*s moved on meanwhile",
                    STR_ARG(uuid_text(id, text)));
    if (acted.err != ERR_OK)
        return fail(error, acted.err, "a delivery that is %s cannot be %s",
                    delivery_state_text(acted.state), delivery_action_participle(action));
    return ERR_OK;
}
