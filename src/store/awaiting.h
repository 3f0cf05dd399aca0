// awaiting.h - who awaits an answer: the way from the public id in a message back to its delivery.
//
// A delivery whose plan awaits an answer is filed when it is made, in the same transaction, and
// stays filed when it has ended: an answer that comes late must still find it. A public id is all
// that whoever answers knows, so it is unique among all tenants.
#pragma once

#include "store/tx.h"

typedef struct Awaiting {
    int64_t tenant;
    Str public_id;
    Uuid delivery;
} Awaiting;

// What is filed is found by delivery_view_awaited().
void awaiting_file(Tx *tx, const Awaiting *rows, size_t count);

extern const Statement *const awaiting_statements[]; // ends with NULL
