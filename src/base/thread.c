#include "base/thread.h"

static _Thread_local ThreadKind own_kind;

void thread_become(ThreadKind kind)
{
    own_kind = kind;
}

ThreadKind thread_kind(void)
{
    return own_kind;
}
