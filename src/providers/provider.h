// provider.h - a service whose webhooks come in, or that is polled: one struct each, pure.
//
// A Provider verifies what came, says who sent it, answers its handshakes, and reads from it what
// happened, in one form for all (ProviderEvent). It does no I/O, keeps nothing, allocates in the
// arena that it is given and never sees the store: the framework receives (api/hooks_api.c), keeps
// (store/inbox.h), drains (engine/drain.c) and polls (engine/poll.c). What a trigger may ask of its
// events is a row of domain/provided.h.
//
// Whatever comes here was written by a stranger. On the way in only verify, identify and answer
// look at it, in time linear to its size; into the body looks answer alone, and verify where the
// time of signing stands in what was signed. What is absent,
// of another type, or null where a text should be, is none, never a failure: parse refuses
// (ERR_INVALID, with a sentence that holds nothing of the payload) only what is not the provider's
// form at all. sign.h has the one HMAC, when.h the forms of time that providers write.
//
// To add a provider: a row in domain/provided.h, its file here with its struct, its tests on
// published payloads, and a line in docs/providers.md.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "domain/integration.h"
#include "domain/provided.h"

typedef struct HookHeader {
    Str name, value; // the name in lower case
} HookHeader;

// Hook is one webhook as it came; a stored one has no credentials among its headers.
typedef struct Hook {
    Str method;
    Str query; // as it came, without the mark; none
    const HookHeader *headers;
    size_t header_count;
    Str body;   // the very bytes; in parse: unzipped, where it was gzip
    Instant at; // when it came
} Hook;

// hook_header is a header's value; none when it is absent. hook_header_twice: it was given more
// than once, which no provider does with what it signs.
Str hook_header(const Hook *hook, Str name);
bool hook_header_twice(const Hook *hook, Str name);

// hook_header_text is one that can be stored and shown: UTF-8 without control characters, up to
// HOOK_TEXT_MAX bytes; none otherwise.
enum { HOOK_TEXT_MAX = 2000 };
Str hook_header_text(const Hook *hook, Str name);

// HookTrust is what a source knows of its sender. No secret means that nothing verifies, unless the
// source says so itself (generic, kind none).
enum { HOOK_SECRETS_MAX = 2 };
typedef struct HookTrust {
    Str secrets[HOOK_SECRETS_MAX]; // the newest first; the one before while they overlap
    size_t secret_count;
    const Json *config; // the source's; NULL
} HookTrust;

// clang-format off
#define HOOK_VERDICT_TABLE(X)                                                  \
    /* name        code                 in words                            */ \
    X(VERIFIED,    "verified",          "it is signed as it should be")        \
    X(UNCHECKED,   "unchecked",         "its source takes whatever comes")     \
    X(UNSIGNED,    "signature-missing", "it has no signature")                 \
    X(MISSIGNED,   "signature-wrong",   "its signature is not right")          \
    X(MALFORMED,   "signature-bad",     "its signature cannot be read")        \
    X(TWICE,       "signature-twice",   "it has several signatures")           \
    X(OLD,         "timestamp-old",     "it was signed too long ago")          \
    X(AHEAD,       "timestamp-ahead",   "it was signed in the future")         \
    X(UNDATED,     "timestamp-missing", "it does not say when it was signed")  \
    X(NO_SECRET,   "secret-missing",    "the source has no secret")            \
    X(UNREADABLE,  "body-unreadable",   "its body is no JSON that can be read, and has the time at which it was signed")
// clang-format on

typedef enum HookVerdict {
#define HOOK_VERDICT_ENUM(name, code, words) HOOK_##name,
    HOOK_VERDICT_TABLE(HOOK_VERDICT_ENUM)
#undef HOOK_VERDICT_ENUM
} HookVerdict;
const char *hook_verdict_code(HookVerdict verdict);
const char *hook_verdict_words(HookVerdict verdict);

// hook_verdict_admits: it is let in, verified or not, as its source says.
bool hook_verdict_admits(HookVerdict verdict);

// HookAnswer is what a handshake is answered with.
typedef struct HookAnswer {
    int status;
    Str type; // of its content
    Str body;
    HookHeader headers[4];
    size_t header_count;
} HookAnswer;

// ProviderPlace is whose event it is, where the provider says so: by a connection of a broker
// (nango, composio), or by an installation of an app (github). None: the source's own integration.
typedef struct ProviderPlace {
    Str connection_id, installation_id;
} ProviderPlace;

// ProviderEvent is something that happened, in the one form (W4). It becomes an event of the kind
// <provider>.<type>.
typedef struct ProviderEvent {
    ProviderName provider;
    Str type;            // of domain/provided.h; another becomes nothing: "no trigger type"
    Str provider_type;   // issues:opened
    Instant occurred_at; // INSTANT_NONE: when it came
    Str dedup_key;       // github:123:opened
    Str title, url, external_id;
    Str context; // a JSON object
    Str raw;     // JSON, as it came; none
    ProviderPlace place;
    Str hydrates; // what provider->hydrate_ask needs to complete it; none: it is whole
} ProviderEvent;

// ProviderChange is what happened to a connection itself: it was made, refused, suspended, removed.
typedef enum ProviderState {
    PROVIDER_ACTIVE,
    PROVIDER_FAILED,
    PROVIDER_SUSPENDED,
    PROVIDER_REVOKED,
} ProviderState;

typedef struct ProviderChange {
    ProviderName provider; // whose account it is
    ProviderPlace place;
    ProviderState state;
    bool is_new; // it was made: bind it to the integration that integration names, if any
    Str tenant, integration; // as a signed envelope's tags name them; none
    Str reason;              // in words; none
} ProviderChange;

// ProviderRead is what parse found.
typedef struct ProviderRead {
    ProviderEvent *events;
    size_t count;
    ProviderChange *changes;
    size_t change_count;
    Str external_id; // of the whole, where only its body tells; none
    Str note;        // why there is no event: "ping", "sync", "action removed"; none
    // It says only that there is something: poll the account of this service now, the source's own
    // or the one that an envelope names.
    bool polls;
    ProviderName polled;
    ProviderPlace place;
} ProviderRead;

// ProviderRequest is a request to be made, its token among its headers; the framework checks the
// address.
enum { PROVIDER_HEADERS_MAX = 8 };
typedef struct ProviderRequest {
    const char *method;
    Str url; // whole
    HookHeader headers[PROVIDER_HEADERS_MAX];
    size_t header_count;
    Str body; // none
} ProviderRequest;

typedef struct ProviderReply {
    int status;                // of HTTP; 0: there was no answer
    const HookHeader *headers; // names in lower case
    size_t header_count;
    Str body;
} ProviderReply;

// POLL_EXISTING is how far back the first poll looks where it is to tell of what is there: as if
// it had been polled for so long.
#define POLL_EXISTING ((Span) 30 * SPAN_DAY)

// PollTurn is where a poll stands. A poll is a conversation: poll_ask says what to ask next,
// poll_read reads the answer and says what to keep and how to go on. Cursor and events of one
// answer are committed together, so a poll may end anywhere.
typedef struct PollTurn {
    Str cursor;        // JSON, as a PollPage left it; none: nothing was polled yet
    Str step;          // JSON, of the conversation under way; none: it begins
    Str token;         // opened; none
    Str base_url;      // the integration's; none: the provider's own
    const Json *scope; // a list of what its triggers ask for, to ask for no more (poll_scope); NULL
    bool emits_first;  // the first poll emits what is there, instead of a baseline
    Instant now;
} PollTurn;

typedef enum PollVerdict {
    POLL_GOOD,
    POLL_UNAUTHORIZED, // refresh the token once, then the integration has failed
    POLL_LIMITED,      // not before page.backoff
    POLL_AGAIN,        // it did not work now: as it was, later
    POLL_BROKEN,       // it will not work: tell a person
} PollVerdict;

typedef struct PollPage {
    PollVerdict verdict;
    ProviderEvent *events;
    size_t count;
    Str cursor;   // to be kept with the events; none: as it was
    Str step;     // the conversation goes on with it; none: it is over
    Span backoff; // as the provider asks; 0: none
    Str note; // what a person should know: why it failed, that an expired cursor was set anew; none
} PollPage;

// ProviderExample is a webhook as the provider would send it, for `peal hooks send`. In its body
// %time% stands for a moment, %now% for its milliseconds and %id% for twelve digits of them: each
// is fresh, and no duplicate of the one before. provider_example fills them in.
typedef struct ProviderExample {
    const char *event;  // issues.opened
    const char *header; // of its type, "X-GitHub-Event: issues"; NULL: the body tells
    const char *body;
} ProviderExample;
Str provider_example(Arena *arena, const ProviderExample *example, Instant now);

enum { PROVIDER_WEBHOOK = 1, PROVIDER_POLLING = 2 };

typedef struct Provider {
    ProviderName name;
    unsigned ways;
    const Shape *config; // of a source's config; NULL: it takes none

    // verify compares in constant time, over the raw bytes.
    HookVerdict (*verify)(Arena *arena, const Hook *hook, const HookTrust *trust);
    // answer says whether it is a handshake, and with what to answer; it makes no row. What is not
    // a POST is asked here alone, unverified: answer verifies it. NULL: there is none.
    bool (*answer)(Arena *arena, const Hook *hook, const HookTrust *trust, HookAnswer *ret);
    // identify is its own id, from the headers; none.
    Str (*identify)(Arena *arena, const Hook *hook);
    Err (*parse)(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error);
    // sign writes the headers that verify wants, as the provider does.
    size_t (*sign)(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX]);

    Span poll_every;        // unless a trigger says
    const char *poll_scope; // a member of their configs, a list, that it can be asked for; NULL
    Err (*poll_ask)(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error);
    void (*poll_read)(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                      PollPage *ret);
    // hydrate_read completes an event; false: it is gone, and no event. A failure is the page's
    // verdict: then nothing of the page counts.
    Err (*hydrate_ask)(Arena *arena, const PollTurn *turn, const ProviderEvent *event,
                       ProviderRequest *ret, Error *error);
    bool (*hydrate_read)(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                         ProviderEvent *event, PollPage *page);

    // watch_ask asks the provider to tell by itself what an integration names; with a watch that
    // names nothing, to stop it. watch_read says until when it will; a failure is the page's
    // verdict, with its note. NULL: the provider is not asked for such.
    void (*watch_ask)(Arena *arena, const PollTurn *turn, const IntegrationWatch *watch,
                      ProviderRequest *ret);
    Instant (*watch_read)(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                          PollPage *ret);

    const ProviderExample *examples;
    size_t example_count;
} Provider;

// provider_of is NULL for what is no service (table).
const Provider *provider_of(ProviderName name);

// provider_payload writes the payload that an event has (W4), without raw where it is longer than
// max with it.
Str provider_payload(Arena *arena, const ProviderEvent *event, Instant came, size_t max);
