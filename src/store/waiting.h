// waiting.h - the operations that wait for a pen of the writer: who goes next, who may not, and
// when no more are taken.
//
// Urgent operations go first: a settle or a renewal must not stand behind ten thousand events until
// its lease has run out. There are few of them, and none is sent before the last has come back, so
// that the others have their turn in between. A batch that holds an urgent one is kept short. One
// that goes alone ends the batch before it, and is one.
//
// Where there are several pens the last is for what takes long, and for nothing else: whatever went
// into one transaction with that, or stood behind it, would wait for its end.
//
// What waits is bounded by number, weight and bytes; beyond that an operation is refused, unless it
// is urgent or nothing else waits.
//
// A kind that a pen is stuck on (somebody holds a lock on its tables) is left to that pen: the
// others take what is of another kind. Whoever uses this holds the writer's lock; the count alone
// may be read without it.
#pragma once

#include "store/op.h"

#include <stdatomic.h>

enum {
    PENS_MAX = 4,
    BATCH_OPS_MAX = 1024,
    BATCH_WEIGHT_MAX = 20000,
    BATCH_WEIGHT_URGENT = 2000,
    WAITING_MAX = 20000,
    WAITING_WEIGHT_MAX = 1000000, // about 5 s of work
    WAITING_BYTES_MAX = 128 << 20,
};

typedef struct OpList {
    Op *first, **last;
} OpList;

typedef struct Waiting {
    OpList urgent, others;
    _Atomic size_t count;
    size_t weight, bytes;
    const OpKind *stuck[PENS_MAX]; // by pen; NULL: it is not
    int slow_pen;                  // that is for what takes long; -1: there is none
} Waiting;

void waiting_init(Waiting *waiting, int pens);

// waiting_is_for says whether an operation is for a pen, be it stuck or not.
bool waiting_is_for(const Waiting *waiting, int pen, const Op *op);

bool waiting_is_full(const Waiting *waiting);
void waiting_add(Waiting *waiting, Op *op);

// waiting_take fills batch with what the pen should put into one transaction; 0: nothing for it.
size_t waiting_take(Waiting *waiting, int pen, Op *batch[BATCH_OPS_MAX]);

// waiting_is_left_alone says whether another pen is stuck on that kind.
bool waiting_is_left_alone(const Waiting *waiting, int pen, const OpKind *kind);

// waiting_return puts operations back to the head of the line, in their order.
void waiting_return(Waiting *waiting, Op **ops, size_t count);

// waiting_take_impatient takes out the operations of a kind that have waited long enough.
Op *waiting_take_impatient(Waiting *waiting, const OpKind *kind, Instant now);
