// counter.h - how many deliveries stand where: a row for each writer, tenant, rule, lane, site and
// state.
//
// Counters are folded from the moves of a transaction and added to the writer's own rows before its
// commit: a shared row would hold its lock through the fsync. Whoever wants a number sums. The rows
// of writers that are gone are gathered under one, COUNTER_OF_THE_GONE.
#pragma once

#include "domain/move.h"
#include "store/db.h"

typedef struct CounterChange {
    int64_t writer, tenant, rule, lane, site;
    int state;
    int64_t n;
} CounterChange;

// Counters are the changes of one transaction; all zero to begin with.
typedef struct Counters {
    CounterChange *changes; // in the transaction's arena
    size_t count, room;
} Counters;

// COUNTER_WRITERS begins a statement that asks of some rules: w has the writers of a tenant, for
// the index to be walked from writer to writer.
#define COUNTER_WRITERS(tenant_)                                                                   \
    "WITH RECURSIVE w (writer) AS (SELECT MIN(writer) FROM counter WHERE tenant = " tenant_        \
    " UNION ALL SELECT (SELECT MIN(c.writer) FROM counter c WHERE c.tenant = " tenant_             \
    " AND c.writer > w.writer) FROM w WHERE w.writer IS NOT NULL) "

void counter_fold(Counters *counters, Arena *arena, const Move *move);
void counter_send(Counters *counters, Db *db, Arena *arena, int64_t writer);

// counter_gather gathers the rows of writers whose node was not seen lately, by the real clock, so
// that restarts do not add up. Whoever is taken for gone and is not makes himself new rows.
enum { COUNTER_OF_THE_GONE = 0 };
Err counter_gather(Db *db, Arena *arena, Instant real_now, Error *error) MUST_USE;

extern const Statement *const counter_statements[]; // ends with NULL
