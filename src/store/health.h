// health.h - what holds a lane, for all to see: its circuit, and until when it was asked to pause.
//
// A circuit is its node's own (engine/circuit.c); here stands what the node said that found out
// last, so that every node shows the same. A pause is everybody's: a far side that names a time
// (Retry-After) means all of Peal, and each node reads the pauses with its look at all lanes. A
// lane that was never in trouble has no row.
#pragma once

#include "domain/circuit.h"
#include "store/tx.h"

typedef struct Health {
    int64_t tenant, lane;
    CircuitState circuit;
    int failures;            // in a row
    Instant since, probe_at; // INSTANT_NONE while it is closed
    Str error;               // what was told last; none while it is closed and not paused
    Instant paused_until;    // INSTANT_NONE
    Str channel;             // read only
} Health;

// health_put writes rows, of which each lane has one, by lane. A pause is never shortened by it.
void health_put(Tx *tx, const Health *rows, size_t count);

// health_lift ends the pause of a channel's lane: it was changed, and is tried at once.
void health_lift(Tx *tx, int64_t tenant, Str channel);

// health_list reads the lanes of a tenant that are held now, by channel.
Err health_list(Db *db, Arena *arena, int64_t tenant, Instant now, Health **ret, size_t *ret_count,
                Error *error) MUST_USE;

// health_held reads those of all tenants, by number: lane, circuit and pause alone.
Err health_held(Db *db, Arena *arena, Instant now, Health **ret, size_t *ret_count,
                Error *error) MUST_USE;

// health_pauses sends the question which lanes pause, by number; health_pause reads a row of the
// answer.
void health_pauses(Db *db, Arena *arena, Instant now, Rows *ret);
Health health_pause(const Rows *rows, size_t at);

extern const Statement *const health_statements[]; // ends with NULL
