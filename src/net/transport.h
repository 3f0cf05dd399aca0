// transport.h - what the engine needs of whatever carries its requests: a seam.
//
// The real one is net/transfer.c (transfers_transport); a simulation scripts its own. The rules are
// those of transfer.h: start() calls done exactly once, later, from within wait(); wait() returns
// early when something finished or when wake() was called, which any thread may do.
#pragma once

#include "net/transfer.h"

typedef struct Transport {
    void *with;
    void (*start)(void *with, const Transfer *transfer, TransferDone *done, void *done_with);
    void (*wait)(void *with, Span timeout);
    void (*wake)(void *with);
} Transport;

Transport transfers_transport(Transfers *transfers);

static inline void transport_start(const Transport *transport, const Transfer *transfer,
                                   TransferDone *done, void *done_with)
{
    transport->start(transport->with, transfer, done, done_with);
}

static inline void transport_wait(const Transport *transport, Span timeout)
{
    transport->wait(transport->with, timeout);
}

static inline void transport_wake(const Transport *transport)
{
    transport->wake(transport->with);
}
