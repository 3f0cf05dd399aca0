// event.h - events as rows: payload once, insert-only.
#pragma once

#include "domain/event.h"
#include "store/tx.h"
#include "store/walk.h"

// EventRow is an event as it is written: with what did not become a delivery (decision.h); none.
typedef struct EventRow {
    const Event *event;
    Str decided;
} EventRow;

void event_insert(Tx *tx, const EventRow *rows, size_t count);

// event_row reads one event, with payload and recipient parsed: NULL where one of them is damaged,
// for the rest can still be told. ERR_NOT_FOUND for another tenant's.
Err event_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Event *ret, Error *error) MUST_USE;

// EventOwner is whose an event is, in words.
typedef struct EventOwner {
    Str tenant, topic; // ids; topic: none
} EventOwner;

// event_owner looks for an event in all tenants, a key each; ERR_NOT_FOUND. Not for those who may
// see their own tenant alone.
Err event_owner(Db *db, Arena *arena, Uuid id, EventOwner *ret, Error *error) MUST_USE;

// EventFilter says which events a page shows; what is none does not restrict.
typedef struct EventFilter {
    Str kind, source, entity;
    Str q;        // words, each of which its payload, kind, source or entity has
    Instant from; // received at or after; 0 for any
    Instant to;   // received before; INSTANT_NONE for any
} EventFilter;

enum { EVENT_QUERY_MAX = 200 };

// event_page reads events newest first, and meets so many of them and no more (walk.h). Payload and
// recipient stay text.
Err event_page(Db *db, Arena *arena, int64_t tenant, const EventFilter *filter, const Walk *walk,
               Event **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const event_statements[]; // ends with NULL
