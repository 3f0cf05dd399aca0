#include "net/transport.h"

static void start(void *with, const Transfer *transfer, TransferDone *done, void *done_with)
{
    transfers_start(with, transfer, done, done_with);
}

static void wait_for(void *with, Span timeout)
{
    transfers_wait(with, timeout);
}

static void wake(void *with)
{
    transfers_wake(with);
}

Transport transfers_transport(Transfers *transfers)
{
    return (Transport){ .with = transfers, .start = start, .wait = wait_for, .wake = wake };
}
