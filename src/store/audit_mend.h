// audit_mend.h - the sweep along the audit: what is missing in it, or damaged, is restored from the
// journal while that has the facts.
//
// A slice follows the next blocks of the chains that were looked at longest ago. Where one is bad,
// the facts behind the last sound entry are told again, up to the next block that says what link
// lies before it, or to the chain's head. What comes out is written only where it ends in that very
// link: then it is what was there. Otherwise it stays as it is, for verify to name: what the
// journal does not have any more is never made up for.
#pragma once

#include "store/audit.h"

enum {
    AUDIT_MEND_BLOCKS = 64,  // that a slice looks at
    AUDIT_MEND_ROWS = 20000, // a longer gap is left
};
#define AUDIT_MEND_REST ((Span) 10 * SPAN_MINUTE) // between two walks along a chain

// audit_mend does the next slice; ret is how many rows were restored.
Err audit_mend(Tx *tx, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const audit_mend_statements[]; // ends with NULL
