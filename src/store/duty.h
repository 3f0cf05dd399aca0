// duty.h - work that one node at a time does: who has it, and until when.
//
// The lease is a row. Taking it locks the row until the end of the transaction, so that two nodes
// never do the work at the same moment whatever their clocks say; a lease that reaches beyond the
// transaction keeps it with one node until then. A node that died leaves a lease that ends.
#pragma once

#include "store/tx.h"

// duty_lease takes or renews the lease; false where another node has it. duty_lease_at is for work
// that goes by another clock than deliveries do: now is that clock's.
Err duty_lease(Tx *tx, Str name, int64_t node, Instant until, bool *ret, Error *error) MUST_USE;

Err duty_lease_at(Tx *tx, Str name, int64_t node, Instant now, Instant until, bool *ret,
                  Error *error) MUST_USE;

extern const Statement *const duty_statements[]; // ends with NULL
