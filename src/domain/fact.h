// fact.h - what a transaction did, packed into a few bytes: the journal's one column.
//
// A fact is a delivery's move, an event that came in, or something a person did: saved a
// definition, held all sending, made a key. Each says of which tenant it is and who did it. Facts
// are packed one behind the other, each with only what differs from the one before; a batch of
// settles takes about 15 bytes each, and an event about as many, for its delivery's id is nearly
// its own. Stored by the numbers in the table: rows are only ever added at the end.
//
//     FactPack pack = fact_pack(&arena, now);      FactRead read = fact_read(bytes, now);
//     fact_add(&pack, &fact);                      while (fact_next(&read, &fact)) …
//                                                  if (read.is_bad) …
//
// Both sides are given the moment of the transaction, which is stored beside the facts.
#pragma once

#include "domain/move.h"

// clang-format off
#define FACT_TABLE(X)                                                             \
    /* name                text                   what the subject is          */ \
    X(MOVED,               "delivery.moved",      "none: the move says it")       \
    X(DEFINITION_SAVED,    "definition.saved",    "kind/id/version")              \
    X(DEFINITION_DELETED,  "definition.deleted",  "kind/id")                      \
    X(HELD,                "held",                "the reason")                   \
    X(RELEASED,            "released",            "none")                         \
    X(KEY_MADE,            "key.made",            "the key's id")                 \
    X(KEY_DELETED,         "key.deleted",         "the key's id")                 \
    X(TENANT_MADE,         "tenant.made",         "the tenant's id")              \
    X(OPERATION,           "operation.made",      "the operation's id; id/paused, id/resumed, id/cancelled") \
    X(KEY_CHANGED,         "key.changed",         "the key's id")                 \
    X(TENANT_CHANGED,      "tenant.changed",      "the tenant's id")              \
    X(TENANT_DELETED,      "tenant.deleted",      "the tenant's id")              \
    X(AUDIT_BROUGHT,       "audit.brought",       "packed (audit_brought_pack)")  \
    X(LOOKED,              "tenant.looked",       "what was asked for, by whom the tenant does not have") \
    X(PURGED,              "purged",              "what, and how many rows")      \
    X(OUTBOX_REPLAYED,     "outbox.replayed",     "the row's id")               \
    X(UNTRIED,             "delivery.untried",    "none: it moved from sending, and nothing was sent") \
    X(SENT,                "delivery.sent",       "none: the move has what each of several targets was told") \
    X(INTEGRATION_TURNED,  "integration.turned",  "id/status; id/bound: it was given a place by its broker") \
    X(EVENT,               "event.taken",         "the event's kind")             \
    X(SURVEY_PUBLISHED,    "survey.published",    "survey/version")               \
    X(SESSION_OPENED,      "session.opened",      "the session's id, and the id and name of its key") \
    X(SESSION_CLOSED,      "session.closed",      "the same") \
    X(OPERATION_ENDED,     "operation.ended",     "JSON: what it was, its counts, filter and reason")
// clang-format on

typedef enum FactKind {
#define FACT_ENUM(name, text, subject) FACT_##name,
    FACT_TABLE(FACT_ENUM)
#undef FACT_ENUM
} FactKind;

enum {
    FACT_SUBJECT_MAX = 500,     // what is longer is cut
    FACT_BYTES_MAX = 256 << 20, // of one transaction: far more than a batch can hold
};

typedef struct Fact {
    FactKind kind;
    int64_t tenant; // 0: of the whole installation
    Uuid actor;     // the key of who did it; zero: Peal itself, by a rule or by time
    Str subject;    // of all kinds but moves
    Uuid event;     // of FACT_EVENT
    Move move;      // of a move; its tenant is the fact's
} Fact;

typedef struct FactPack {
    Buf bytes;
    Instant at;
    Fact last;
    Uuid id;        // that was packed last, of a delivery or an event
    Str event_kind; // likewise
    size_t count;
} FactPack;

typedef struct FactRead {
    Str rest;
    Instant at;
    Fact last;
    Uuid id;        // that was read last
    Str event_kind; // likewise
    bool is_bad;    // what is left cannot be read
} FactRead;

const char *fact_text(FactKind kind);

// fact_is_move: the fact is a delivery's move; fact_of_move is which of these kinds a move is.
bool fact_is_move(FactKind kind);
FactKind fact_of_move(const Move *move);

FactPack fact_pack(Arena *arena, Instant at);
void fact_add(FactPack *pack, const Fact *fact);

FactRead fact_read(Str bytes, Instant at);
bool fact_next(FactRead *read, Fact *ret); // false: there are no more, or is_bad
