#include "store/tx.h"

#include "store/generation.h"

static const Statement ticket_take = {
    .name = "ticket",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "INSERT INTO ticket (writer, n) VALUES ($1, $2)"
           " ON CONFLICT (writer) DO UPDATE SET n = excluded.n",
};
// A transaction that is still under way holds the row, even one that has just made it: the write
// waits for it, where a read would miss it.
static const Statement ticket_status = {
    .name = "ticket_status",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "INSERT INTO ticket (writer, n) VALUES ($1, 0)"
           " ON CONFLICT (writer) DO UPDATE SET n = ticket.n RETURNING n",
};
static const Statement ticket_patience = {
    .name = "ticket_patience",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 0",
    .postgres = "SELECT 0 FROM set_config('lock_timeout', '500ms', true)",
};

const Statement *const tx_statements[] = { NULL };

void tx_begin(Tx *tx)
{
    arena_reset(&tx->arena);
    tx->was_too_trusting = tx->is_outdated = tx->changes_definitions = tx->is_guarded = false;
    tx->counters = (Counters){ 0 };
    tx->moves = NULL;
    tx->move_count = tx->move_room = 0;
    db_begin(tx->db);
    if (db_is_postgres(tx->db)) {
        Value args[] = { value_i64(tx->writer), value_i64(tx->ticket) };
        db_send(tx->db, &tx->arena, &ticket_take, args, NULL);
    }
    db_send(tx->db, &tx->arena, &generation_get, NULL, &tx->generation);
}

Err tx_was_committed(Db *db, int64_t writer, int64_t ticket, bool *ret, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    Value args[] = { value_i64(writer) };
    db_begin(db);
    db_send(db, &arena, &ticket_patience, NULL, &rows);
    db_send(db, &arena, &ticket_status, args, &rows);
    Err err = db_sync(db, error);
    if (err == ERR_OK)
        *ret = rows.count == 1 && value_to_i64(&rows.values[0]) == ticket;
    db_rollback(db);
    return err;
}

Err tx_sync(Tx *tx, Error *error)
{
    TRY(db_sync(tx->db, error));
    if (tx->is_guarded)
        return ERR_OK;
    tx->is_guarded = true;
    if (tx->generation.count != 1)
        return fail(error, ERR_CORRUPT, "the generation is missing");
    if (value_to_i64(&tx->generation.values[0]) == tx->registry->generation)
        return ERR_OK;
    tx->is_outdated = true;
    return fail(error, ERR_BUSY, "definitions changed meanwhile");
}

Err tx_query(Tx *tx, const Statement *statement, const Value *values, Rows *ret, Error *error)
{
    db_send(tx->db, &tx->arena, statement, values, ret);
    return tx_sync(tx, error);
}

void tx_move(Tx *tx, const Move *move)
{
    counter_fold(&tx->counters, &tx->arena, move);
    if (move->is_quiet)
        return;
    if (tx->move_count == tx->move_room) {
        tx->move_room = tx->move_room ? tx->move_room * 2 : 16;
        Move *moves = ARENA_ARRAY(&tx->arena, Move, tx->move_room);
        if (tx->move_count)
            memcpy(moves, tx->moves, tx->move_count * sizeof *moves);
        tx->moves = moves;
    }
    tx->moves[tx->move_count++] = *move;
}

Err tx_finish(Tx *tx, Error *error)
{
    counter_send(&tx->counters, tx->db, &tx->arena, tx->writer);
    if (tx->changes_definitions)
        db_send(tx->db, &tx->arena, &generation_raise, NULL, NULL);
    // Nothing commits before the generation was seen, nor (on PostgreSQL) before the server holds
    // the ticket, by which a lost COMMIT is resolved.
    if (!tx->is_guarded)
        TRY(tx_sync(tx, error));
    return db_commit(tx->db, error);
}
