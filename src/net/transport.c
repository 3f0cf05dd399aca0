#include "net/transport.h"

static void start(void *with, const Transfer *transfer, TransferDone *done, void *done_with)
{
    const Carriers *carriers = with;
    transfers_start(carriers->transfers, transfer, done, done_with);
}

static void spawn(void *with, const Process *process, ProcessDone *done, void *done_with)
{
    const Carriers *carriers = with;
    processes_start(carriers->processes, process, done, done_with);
}

static void wait_for(void *with, Span timeout)
{
    const Carriers *carriers = with;
    loop_wait(carriers->loop, timeout);
}

static void wake(void *with)
{
    const Carriers *carriers = with;
    loop_wake(carriers->loop);
}

static void stop(void *with)
{
    const Carriers *carriers = with;
    processes_stop(carriers->processes);
}

void carriers_open(Carriers *carriers, const Clock *clock, const AddressPolicy *policy)
{
    Loop *loop = loop_new(clock);
    *carriers = (Carriers){ .loop = loop,
                            .transfers = transfers_new(loop, policy),
                            .processes = processes_new(loop) };
}

void carriers_close(Carriers *carriers)
{
    transfers_free(carriers->transfers);
    processes_free(carriers->processes);
    loop_free(carriers->loop);
    *carriers = (Carriers){ 0 };
}

Transport carriers_transport(Carriers *carriers)
{
    return (Transport){
        .with = carriers,
        .start = start,
        .spawn = spawn,
        .wait = wait_for,
        .wake = wake,
        .stop = stop,
    };
}
