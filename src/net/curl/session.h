// session.h - connections to mail servers, and the messages that go over them one after the other.
// Private to this folder.
//
// libcurl opens a session: it looks the name up, connects (job.c checks the address), speaks the
// greeting, EHLO, STARTTLS and the login, and hands the connection over (CURLOPT_CONNECT_ONLY).
// From there on the dialogue is net/smtp.h's. libcurl's own would wait for the reply to the final
// dot, and for that to QUIT, within one call, and with it everything else on the loop.
//
// A session that has delivered its message waits for another to the same server with the same
// login, for a while. One that turns out to be closed before the server said anything about a
// message is opened once more, unseen: nothing was sent.
#pragma once

#include "net/curl/job.h"

typedef struct Session Session;

// Sessions are those of one pool. over is called, with the pool, when a message is done with.
typedef struct Sessions {
    Connections *connections;
    CURLM *multi;
    Session *first;
    size_t busy, idle;
    struct Pool *pool;
    void (*over)(struct Pool *pool);
} Sessions;

// session_problem says why a message cannot be sent at all, as a sentence; NULL for nothing.
const char *session_problem(const Transfer *transfer);

// sessions_send calls done once, later, from within loop_wait().
void sessions_send(Sessions *sessions, const Transfer *transfer, bool keeps_connection,
                   TransferDone *done, void *with);

// session_opened: libcurl is done with the opening of the session that the job is of.
void session_opened(Session *session, CURLcode code);

// sessions_free drops what is under way, uncalled.
void sessions_free(Sessions *sessions);
