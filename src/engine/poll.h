// poll.h - a poll under way: the conversation with a provider about one poll group. Private to
// engine/.
//
//   claim (duty, poll.c) ─▶ watch (poll_watch.c) ─▶ ask ─▶ answer ─▶ read ─▶ hydrate
//   (poll_hydrate.c) ─▶ write (poll_write.c) ─▶ ask …
//
// A Poll belongs to the engine's thread but for two stretches: while its answer is read, which may
// be long, it is a task of the pool of those who read, where there is one; and while what it
// brought is written it is an operation of the writer. From both it comes back by poll_arrive().
#pragma once

#include "base/pool.h"
#include "net/transfer.h"
#include "providers/provider.h"
#include "providers/token.h"
#include "store/integration.h"
#include "store/poll_group.h"
#include "store/writer.h"

enum {
    POLL_PAGES_MAX = 50,       // of a poll: it goes on at once, but others have had their turn
    POLL_EVENTS_MAX = 10000,   // likewise
    POLL_ANSWER_MAX = 8 << 20, // bytes
    POLL_HYDRATIONS_MAX = 10,  // requests at once, of one poll
    POLL_HYDRATION_ANSWER_MAX = 1 << 20,
    POLL_HYDRATION_TRIES = 3,        // polls that cannot fetch an event before it is left out …
    POLL_HYDRATION_TRIES_ALONE = 24, // … where they could fetch nothing else either …
    POLL_HYDRATION_FEW = 3,          // … of so many
    POLL_TOKEN_MAX = 64 << 10,
    POLLS_MAX = 32,                               // under way at a node …
    POLLS_TENANT_MAX = POLLS_MAX / POLL_FULL_MAX, // … and of one tenant
    POLL_PARTING_TRIES = 3,                       // of a token to tell a provider to stop with
    POLL_NOTE_MAX = 500,                          // characters of what is shown of a failure
};

#define POLL_TIMEOUT ((Span) 30 * SPAN_SECOND)
#define HYDRATION_TIMEOUT ((Span) 15 * SPAN_SECOND)
#define POLL_BACKOFF_FIRST ((Span) 30 * SPAN_SECOND)
#define POLL_BACKOFF_MAX ((Span) SPAN_HOUR)
#define POLL_ASKED_MAX ((Span) SPAN_DAY) // of what a provider may ask for
#define POLL_WATCH_AGAIN ((Span) SPAN_HOUR)
#define POLL_WATCH_RENEW_MAX ((Span) 84 * SPAN_HOUR) // half a week, whatever a provider says

typedef struct Engine Engine;
typedef struct Poll Poll;

// PollClaim is a group that was claimed, with all that is needed to ask.
typedef struct PollClaim {
    Arena arena; // of it alone; holds what is secret
    PollGroup group;
    Str note; // what a person should know of it, once it went well; none
    const Provider *provider;
    Span interval;
    bool emits_first;  // as its triggers ask
    const Json *scope; // likewise
    bool is_parting;   // nobody asks any more: the provider is told to stop telling, and no more
    bool has_integration;
    IntegrationOpened integration;
} PollClaim;

// PollClaims is what the duty is given and brings. It is the writer's while the duty is out.
typedef struct PollClaims {
    bool has_begun;             // given: this process has claimed before
    size_t max;                 // given: how many may be claimed; 0: none
    PollFull full;              // given: of whom no more may be
    int64_t tenants[POLLS_MAX]; // given: whose those are that are under way
    size_t tenant_count;
    PollClaim at[POLLS_MAX];
    size_t count;
    Instant due_at; // when the next is to be looked at; INSTANT_NONE
} PollClaims;

void poll_claims_wipe(PollClaims *claims);

typedef enum PollStage {
    POLL_ASKING,  // a request is under way
    POLL_READING, // its answer is being read
    POLL_READ,
    POLL_HYDRATING,
    POLL_KEEPING, // of a fresh token
    POLL_WRITING,
    POLL_WRITTEN,
} PollStage;

// PollFate is what became of an event of the page when it was to be completed.
typedef enum PollFate {
    POLL_WHOLE,     // it is, or needed nothing
    POLL_GONE,      // there is no such any more
    POLL_UNFETCHED, // it could not be had, this time
    POLL_UNASKED,   // nor ever will: there is no asking for it
} PollFate;

struct Poll {
    Op op;                 // first: it is one while it is written
    Task task;             // while it is read
    Poll *next, *previous; // of all
    Poll *behind;          // of those that have arrived
    Engine *engine;
    PollStage stage;
    Arena arena; // of the claim: group and secrets
    Arena texts; // cursor and step as they stand
    Arena page_arena;
    PollGroup group;
    const Provider *provider;
    PollTurn turn;
    Span interval;
    bool is_parting;
    bool has_integration, has_refreshed; // refreshed: its token was asked for anew
    IntegrationOpened integration;
    Instant began_at; // monotonic

    Str problem;         // why there was no answer; none
    ProviderReply reply; // in page_arena, as is
    PollPage page;       // what was read
    size_t hydrating;    // of the page's events: the next to be asked for …
    size_t hydrations;   // … how many are …
    size_t fetched;      // … and of how many there was an answer that counts
    PollFate *fates;     // of each; NULL: all are whole
    PollPage unfetched;  // why the first that was not could not be: verdict and note

    Str note; // what a person should know of a poll that went well; none
    int pages;
    int64_t event_count; // in all
    bool is_last;        // what is written ends the poll …
    bool is_cut;         // … because it had its turn
    size_t alone;     // of a page that the store refuses: the event that is tried by itself, from 1
    size_t skipped;   // events of this poll that were left out …
    size_t unbuilt;   // … those of this page that could not be made, once it is written
    Str left_out;     // which, of those that could not be fetched; none
    Instant next_at;  // of the group, as it was written
    bool is_ours;     // as the write found
    Err err;          // of the write
    Instant retry_at; // monotonic: of a write that the store did not take
};

// poll_token.c: its token is fresh enough; another is asked for, why says what the provider said of
// this one; one that was got is written, again.
bool poll_token_is_stale(const Poll *poll);
void poll_token_refresh(Poll *poll, Str why);
void poll_token_keep(Poll *poll);

// poll_watch.c: what its integration wants to be told of is asked for, where its time has come;
// then the poll goes on with poll_ask. false: there is nothing to ask.
bool poll_watch(Poll *poll);

// poll_hydrate.c: what a page only names is fetched; then it is written, or the poll ends.
void poll_hydrate(Poll *poll);

// poll_write.c: what a page brought and the cursor behind it, in one transaction.
void poll_write(Poll *poll);

// poll.c: it comes back to the engine's thread, from whichever. poll_ask asks what is next.
// poll_fail ends it without an answer that could be used, poll_end_badly with one that says so;
// poll_write_page writes a page that is whole. poll_request has something asked;
// poll_keep_answer keeps what was answered.
void poll_arrive(Poll *poll);
void poll_ask(Poll *poll);
void poll_fail(Poll *poll, PollVerdict verdict, Str note);
void poll_end_badly(Poll *poll);
void poll_write_page(Poll *poll);
void poll_request(Poll *poll, const ProviderRequest *request, Span timeout, size_t max,
                  TransferDone *done, void *with);
void poll_keep_answer(Poll *poll, const TransferResult *result);

// Polls are those under way at this node.
typedef struct Polls {
    Poll *first;
    size_t count;
    PollClaims claims;
    Poll *arrived; // guarded by the engine's lock
} Polls;

PollClaims *polls_prepare(Engine *engine); // for the duty
void polls_go_on(Engine *engine);          // with what has arrived
void polls_free(Engine *engine);
