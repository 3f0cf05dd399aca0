// audit_known.h - what the store knows about the deliveries that facts tell of (domain/audit.h).
//
// Facts of one slice mostly tell of deliveries that were made together, whose ids lie together. So
// rows are read along a range of ids first, twice as many as are asked for at most, and only what
// was not met that way is looked up one by one: each is one statement, however many facts.
#pragma once

#include "domain/audit.h"
#include "store/tx.h"

// AuditMoved is a move, with what is known of it. Of what is purged, or was never there, nothing
// is.
typedef struct AuditMoved {
    int64_t tenant;
    const Move *move;
    AuditKnown known; // result
    Uuid event;       // private
} AuditMoved;

// audit_know fills in what is known. key is what targets are hashed with; none: they are not.
Err audit_know(Tx *tx, Str key, AuditMoved *moved, size_t count, Error *error) MUST_USE;

extern const Statement *const audit_known_statements[]; // ends with NULL
