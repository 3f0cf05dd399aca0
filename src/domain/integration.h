// integration.h - an integration: an account at a provider, as its definition says, what may become
// of it, and how Peal comes by a token for it.
//
// An integration is named by whoever has it (id). What the provider calls it is its place: a
// connection of a broker (Nango, Composio) or an installation of an app (GitHub). Events name
// places, so that a place belongs to one integration, whoever's: to give one a place takes the
// system right, or a broker's signed word (store/integration.h).
//
// Its token is for what Peal asks the provider itself. It has one of four sources: static (a value
// that was given), oauth (refreshed at tokenUrl), nango and composio (asked of the broker). Where
// each is sent is in providers/token.h; its secrets are sealed (store/secret.h).
//
// To add a source of tokens, add its row and its fields here, and its request and answer there.
#pragma once

#include "domain/provided.h"

enum {
    INTEGRATION_ID_MAX = 100,
    INTEGRATION_PLACE_MAX = 200,
    INTEGRATION_URL_MAX = 2000,
    INTEGRATION_SECRET_MAX = 8000, // a signed token (JWT) has thousands of bytes
    INTEGRATION_REASON_MAX = 500,
    INTEGRATION_TOPIC_MAX = 600, // of Pub/Sub: a project of 30 and a topic of 255, and their words
    INTEGRATION_LABEL_MAX = 225,
    INTEGRATION_LABELS_MAX = 100,
};

// Stored by their numbers. Nothing is asked of the provider but for an active one; of a suspended
// or revoked one no event is taken either (integration_takes).
// clang-format off
#define INTEGRATION_STATUS_TABLE(X)                                         \
    /* name      text         what it means                              */ \
    X(ACTIVE,    "active",    "it works, as far as is known")               \
    X(FAILED,    "failed",    "its token is refused, or cannot be had")     \
    X(SUSPENDED, "suspended", "the provider holds it back, for now")        \
    X(REVOKED,   "revoked",   "it was taken away at the provider")

#define TOKEN_SOURCE_TABLE(X)  \
    X(STATIC,   "static")      \
    X(OAUTH,    "oauth")       \
    X(NANGO,    "nango")       \
    X(COMPOSIO, "composio")
// clang-format on

typedef enum IntegrationStatus {
#define INTEGRATION_STATUS_ENUM(name, text, words) INTEGRATION_##name,
    INTEGRATION_STATUS_TABLE(INTEGRATION_STATUS_ENUM)
#undef INTEGRATION_STATUS_ENUM
} IntegrationStatus;

typedef enum TokenSource {
#define TOKEN_SOURCE_ENUM(name, text) TOKEN_##name,
    TOKEN_SOURCE_TABLE(TOKEN_SOURCE_ENUM)
#undef TOKEN_SOURCE_ENUM
        TOKEN_SOURCES // none of them: there is no token
} TokenSource;

// IntegrationWatch is what the provider is asked to tell by itself: of changes of a mailbox, to a
// topic of Cloud Pub/Sub, which pushes them to a source.
typedef struct IntegrationWatch {
    Str topic; // none: nothing is asked for
    const Str *labels;
    size_t label_count;
} IntegrationWatch;

typedef struct IntegrationDefinition {
    Str id;
    int provider; // a ProviderName
    Str connection_id, installation_id, base_url;
    const Json *token;
    IntegrationWatch watch;
    bool enabled;
} IntegrationDefinition;

// IntegrationAccess is what it takes to come by a token, and to use it. All of it may be secret:
// whoever has one wipes the arena that it lies in.
typedef struct IntegrationAccess {
    ProviderName provider;
    Str connection_id;  // none
    Str base_url;       // of the provider's API; none: its own
    const Json *token;  // the definition's, opened; NULL
    Str access;         // what the last refresh brought; none: there was none
    Str refresh;        // a refresh token that came with it; none: the definition's counts
    Instant expires_at; // of access; INSTANT_NONE: nobody said
} IntegrationAccess;

extern const Shape integration_shape;

const char *integration_status_text(IntegrationStatus status);
bool integration_takes(IntegrationStatus status); // events of it are taken

// integration_turned is what becomes of a status where asking the provider has shown another:
// whether a token works says nothing of one that the provider itself holds back, which stays so
// until the provider takes it back, or it gets another place.
IntegrationStatus integration_turned(IntegrationStatus from, IntegrationStatus shown);

// token_source says where a token comes from; TOKEN_SOURCES: there is none, or nobody knows.
// token_shape is by which shape it is read.
TokenSource token_source(const Json *token);
const Shape *token_shape(TokenSource source);

Err integration_compile(Arena *arena, const Json *body, IntegrationDefinition *ret,
                        Error *error) MUST_USE;
