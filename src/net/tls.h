// tls.h - how the server is known over TLS: its certificate and key; tls.c is the only file that
// knows GnuTLS.
//
// A Certificate is read whole and checked when it is loaded: both files are there, the key fits and
// is not for everybody to read. It does not change afterwards; a renewed one is loaded beside it,
// and takes its place for the handshakes that follow (server_present() in net/server.h).
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <stdatomic.h>

enum { CERTIFICATE_CHAIN_MAX = 16, CERTIFICATE_BYTES_MAX = 256 * 1024 }; // of each file

// CERTIFICATE_NEAR is how long before its end a certificate is warned of.
#define CERTIFICATE_NEAR (14 * SPAN_DAY)

typedef struct Certificate Certificate;

Err certificate_load(Str certificate_file, Str key_file, Certificate **ret, Error *error) MUST_USE;

// certificate_free also frees those that it follows: certificate_follow() keeps the one before it,
// because a handshake may be using it. Renewals are rare, and small.
void certificate_free(Certificate *certificate); // harmless for NULL
void certificate_follow(Certificate *certificate, Certificate *before);

Instant certificate_expires_at(const Certificate *certificate); // of the whole chain: the earliest
Str certificate_name(const Certificate *certificate);           // the name it is made out to

// The server's side. TLS_PRIORITIES are what is spoken: TLS 1.2 and 1.3, with forward secrecy and
// authenticated encryption only. TlsRetriever is the library's own type of a function, which
// presents the certificate that the thread it runs on was told of last.
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-AES-128-CBC:-AES-256-CBC"           \
    ":%SERVER_PRECEDENCE"
typedef void (*TlsRetriever)(void);
TlsRetriever tls_retriever(void);
void tls_serve(_Atomic(Certificate *) *current);

// tls_send writes to a session past the server's library, without waiting. On its own thread only.
void tls_send(void *session, Str text);
