// guard.h - what a request must look like before anyone reads it.
//
// The guard is against smuggling: where two readers of one byte stream could disagree about where
// a request ends, the request is refused. It is stricter than HTTP asks and pure: server.c hands it
// the parts as they came. A refused connection is closed, because what follows on it cannot be
// trusted either.
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "net/header.h"

enum { GUARD_HEADERS_MAX = 100, GUARD_QUERY_MAX = 100 };

// RequestHead is a request's head as it was sent: nothing trimmed, nothing decoded.
typedef struct RequestHead {
    Str method, target, version;
    const Header *headers;
    size_t header_count;
} RequestHead;

// BodyFraming says how the body is delimited. A length that does not fit is INT64_MAX.
typedef struct BodyFraming {
    bool is_chunked;
    int64_t length;  // when not chunked; 0 for no body
    bool is_awaited; // the client waits for "100 Continue" before it sends the body
} BodyFraming;

// RequestTarget is the target, decoded. Both parts are UTF-8 without NUL.
typedef struct RequestTarget {
    Str path;
    Header *query;
    size_t query_count;
} RequestTarget;

// guard_head returns NULL and the framing, or the sentence that says why the head is refused.
const char *guard_head(const RequestHead *head, BodyFraming *ret);

// guard_target decodes "/path?name=value&…" ("http://host/path" loses its host).
const char *guard_target(Arena *arena, Str target, RequestTarget *ret);
