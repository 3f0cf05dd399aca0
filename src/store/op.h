// op.h - one operation of the writer: plain data with a kind.
//
// Operations of one kind in a batch are applied together, so that a kind can work in sets. apply()
// may run more than once; done() runs once, on the pen's thread, after the commit or when the
// operation failed, and the writer does not touch the operation afterwards.
#pragma once

#include "store/tx.h"

typedef struct Op Op;

typedef struct OpKind {
    const char *name;
    Err (*apply)(Tx *tx, Op **ops, size_t count, Error *error);
} OpKind;

#define OP_PATIENCE (5 * SPAN_SECOND)

struct Op {
    const OpKind *kind;
    void (*done)(Op *op, Err err, const Error *error);
    Span patience;  // how long it waits for a store that is away or locked; 0: OP_PATIENCE
    bool is_urgent; // goes ahead of those that are not, and is never refused
    bool is_alone;  // may well fail: no other shares its transaction, but the few that are urgent
    bool is_long;   // it goes to the pen for that, where there is one
    size_t weight;  // rows it writes, roughly; 0 counts as 1
    size_t bytes;   // memory it holds while it waits, roughly
    Op *next;       // the writer's own from here on
    Instant waits_until;
};

static inline size_t op_weight(const Op *op)
{
    return op->weight ? op->weight : 1;
}
