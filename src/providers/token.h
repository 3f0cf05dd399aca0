// token.h - how a fresh token of an integration is got: the request to be made, and what its answer
// says. Pure; engine/poll.c makes the request, store/integration.h keeps what it brought.
//
//     if (token_is_stale(&access, now))      // or the provider said 401
//         token_ask(arena, &access, &request, &error) … the request is made …
//         answer = token_read(arena, &access, &reply, now);
//
// Sources (domain/integration.h): oauth refreshes at its tokenUrl (RFC 6749, section 6) and may be
// given another refresh token, which then counts. nango and composio are asked for what they keep
// of the connection; they refresh it themselves. static has nothing to ask.
//
// Nothing of an answer but a short code is ever repeated to people: it may hold what is secret.
#pragma once

#include "domain/integration.h"
#include "providers/provider.h"

// token_value is the token to be sent; none: there is none yet, or none at all.
Str token_value(const IntegrationAccess *access);

// token_is_stale: a fresh one should be asked for before the provider is.
bool token_is_stale(const IntegrationAccess *access, Instant now);

// token_ask fails with ERR_NOT_FOUND where there is no other to be had (static, no token), and with
// ERR_INVALID where something is missing to ask for it.
Err token_ask(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret,
              Error *error) MUST_USE;

typedef enum TokenVerdict {
    TOKEN_GOOD,
    TOKEN_REFUSED, // asking again will not help: the integration has failed
    TOKEN_AGAIN,   // it did not work now
} TokenVerdict;

typedef struct TokenAnswer {
    TokenVerdict verdict;
    Str access, refresh; // refresh: none where the last one stays good
    Instant expires_at;  // INSTANT_NONE: nobody said
    Str why;             // where it is not good: in words, without secrets
} TokenAnswer;

TokenAnswer token_read(Arena *arena, const IntegrationAccess *access, const ProviderReply *reply,
                       Instant now);
