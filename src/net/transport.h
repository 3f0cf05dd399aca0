// transport.h - what the engine needs of whatever carries its attempts: a seam.
//
// The real one is Carriers: requests (transfer.h) and programs (process.h) on one loop. A
// simulation scripts its own. start() and spawn() call done exactly once, later, from within
// wait(), and a process's lines are told from there too; wait() returns early when something
// finished or when wake() was called, which any thread may do.
#pragma once

#include "net/process.h"
#include "net/transfer.h"

typedef struct Transport {
    void *with;
    void (*start)(void *with, const Transfer *transfer, TransferDone *done, void *done_with);
    void (*spawn)(void *with, const Process *process, ProcessDone *done, void *done_with);
    void (*wait)(void *with, Span timeout);
    void (*wake)(void *with);
    void (*stop)(void *with); // asks programs to end; NULL: it runs none
} Transport;

typedef struct Carriers {
    Loop *loop;
    Transfers *transfers;
    Processes *processes;
} Carriers;

// The clock and the policy outlive the carriers. What is under way when they are closed is dropped,
// uncalled, and programs are killed.
void carriers_open(Carriers *carriers, const Clock *clock, const AddressPolicy *policy);
void carriers_close(Carriers *carriers);
Transport carriers_transport(Carriers *carriers);

static inline void transport_start(const Transport *transport, const Transfer *transfer,
                                   TransferDone *done, void *done_with)
{
    transport->start(transport->with, transfer, done, done_with);
}

static inline void transport_spawn(const Transport *transport, const Process *process,
                                   ProcessDone *done, void *done_with)
{
    transport->spawn(transport->with, process, done, done_with);
}

static inline void transport_wait(const Transport *transport, Span timeout)
{
    transport->wait(transport->with, timeout);
}

static inline void transport_stop(const Transport *transport)
{
    if (transport->stop)
        transport->stop(transport->with);
}

static inline void transport_wake(const Transport *transport)
{
    transport->wake(transport->with);
}
