// signing.h - a webhook as its provider would send it: its headers, and its signature.
#pragma once

#include "net/transfer.h"
#include "providers/provider.h"

enum { SIGNED_HEADERS_MAX = 16 };

typedef struct SignedHook {
    const Provider *provider;
    Str url, secret;           // no secret: it is not signed
    const Json *config;        // of the source; NULL
    const HookHeader *headers; // that it has beside its content type and its signature …
    size_t header_count;       // … up to SIGNED_HEADERS_MAX
    Str body;
    Instant at; // when it is sent, by the clock of who takes it
    Str ca;
    Span timeout;
} SignedHook;

TransferResult signed_post(Arena *arena, const SignedHook *hook);

// signed_kind reads a header as examples have it, "X-GitHub-Event: issues".
HookHeader signed_kind(const char *text);
