// thread.h - which kind of thread this is, so that what must never be done on it can be asserted.
//
// The server's thread serves everybody: it parses nothing that a stranger wrote. A pen has a
// transaction open, and another batch waits for it: it writes no answer but those that are part of
// the transaction. Any other thread is THREAD_OTHER.
#pragma once

typedef enum ThreadKind { THREAD_OTHER, THREAD_SERVER, THREAD_PEN } ThreadKind;

void thread_become(ThreadKind kind);
ThreadKind thread_kind(void);
