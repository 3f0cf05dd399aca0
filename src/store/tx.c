#include "store/tx.h"

#include "store/generation.h"
#include "store/pace.h"

void tx_begin(Tx *tx)
{
    arena_reset(&tx->arena);
    tx->was_too_trusting = tx->is_outdated = tx->changes_definitions = tx->is_guarded = false;
    tx->wakes = tx->has_lock = false;
    tx->counters = (Counters){ 0 };
    tx->moves = NULL;
    tx->move_count = tx->move_room = 0;
    tx->event_count = tx->dedup_hits = 0;
    tx->taken = NULL;
    tx->taken_count = tx->taken_room = 0;
    tx->handoff_failures = 0;
    tx->actor = (Uuid){ { 0 } };
    tx->facts = fact_pack(&tx->arena, tx->now);
    db_begin(tx->db);
    db_send(tx->db, &tx->arena, &generation_get, NULL, &tx->generation);
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

Err tx_guard(Tx *tx, Error *error)
{
    int64_t generation;
    TRY(tx_sync(tx, error));
    TRY(generation_read(tx->db, &generation, error));
    if (generation == tx->registry->generation || tx->changes_definitions)
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
    if (!move->is_handed_over)
        fact_add(&tx->facts, &(Fact){ .kind = fact_of_move(move),
                                      .tenant = move->tenant,
                                      .actor = tx->actor,
                                      .move = *move });
    if (tx->move_count == tx->move_room) {
        tx->move_room = tx->move_room ? tx->move_room * 2 : 16;
        Move *moves = ARENA_ARRAY(&tx->arena, Move, tx->move_room);
        if (tx->move_count)
            memcpy(moves, tx->moves, tx->move_count * sizeof *moves);
        tx->moves = moves;
    }
    tx->moves[tx->move_count++] = *move;
}

void tx_fact(Tx *tx, FactKind kind, int64_t tenant, Str subject)
{
    assert(!fact_is_move(kind));
    fact_add(&tx->facts,
             &(Fact){ .kind = kind, .tenant = tenant, .actor = tx->actor, .subject = subject });
}

static void count_taken(Tx *tx, int64_t tenant)
{
    if (tx->taken_count == 0 || tx->taken[tx->taken_count - 1].tenant != tenant) {
        if (tx->taken_count == tx->taken_room) {
            tx->taken_room = tx->taken_room ? tx->taken_room * 2 : 8;
            TakenIn *taken = ARENA_ARRAY(&tx->arena, TakenIn, tx->taken_room);
            if (tx->taken_count)
                memcpy(taken, tx->taken, tx->taken_count * sizeof *taken);
            tx->taken = taken;
        }
        tx->taken[tx->taken_count++] = (TakenIn){ .tenant = tenant };
    }
    tx->taken[tx->taken_count - 1].events++;
}

void tx_event(Tx *tx, int64_t tenant, Uuid id, Str kind)
{
    tx->event_count++;
    count_taken(tx, tenant);
    fact_add(&tx->facts, &(Fact){ .kind = FACT_EVENT,
                                  .tenant = tenant,
                                  .actor = tx->actor,
                                  .subject = kind,
                                  .event = id });
}

Err tx_finish(Tx *tx, Error *error)
{
    counter_send(&tx->counters, tx->db, &tx->arena, tx->writer);
    pace_send(&tx->counters, tx->db, &tx->arena, tx->writer, tx->now);
    if (tx->changes_definitions)
        db_send(tx->db, &tx->arena, &generation_raise, NULL, NULL);
    journal_note(tx->db, &tx->arena, tx->writer, tx->n, &tx->facts);
    // Nothing commits before the generation was seen.
    if (!tx->is_guarded)
        TRY(tx_sync(tx, error));
    return db_commit(tx->db, error);
}
