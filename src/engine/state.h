// state.h - what the files of the engine share: lanes, flights, rounds. Private to engine/.
#pragma once

#include "engine/engine.h"
#include "engine/watch.h"
#include "store/queue.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ROUNDS_MAX = 2,             // at the writer at once
    CLAIM_MAX = 1000,           // deliveries in one round
    WINDOW_MAX = 3000,          // deliveries claimed and not yet settled
    CAPTURE_CONCURRENCY = 3000, // of channels that send nowhere: there is no far side to spare
    SWEEP_MAX = 500,
};

#define SEND_LEASE ((Span) 15 * SPAN_SECOND)
#define AHEAD_WHILE_UNDER ((Span) 50 * SPAN_MILLISECOND)
#define RENEW_EVERY ((Span) 5 * SPAN_SECOND)
#define POLL_EVERY ((Span) 1 * SPAN_SECOND)
#define LAST_ROUNDS ((Span) 3 * SPAN_SECOND) // for the writer, when the engine stops
#define RETRY_STORE_EVERY ((Span) 250 * SPAN_MILLISECOND)

typedef struct Flight Flight;

// LaneState is the engine's view of one lane of the queue.
typedef struct LaneState {
    bool may_send; // the number is in use, and its channel's secrets could be opened
    int running;   // attempts under way: at most the channel's concurrency
    int waiting;   // claimed ahead, to start as soon as one of them ends
    Flight *first_waiting, *last_waiting;
    Span took;             // what an attempt takes of late; 0: not known
    int asked;             // asked for by rounds at the writer
    Instant due_at;        // no send of this lane is due before; INSTANT_NONE: none is known
    uint64_t told;         // when due_at was last brought forward, in engine->news
    Instant window;        // where the channel's rate is counted from
    int spent;             // of the rate, in this window
    Instant blocked_until; // the rate is used up until then
} LaneState;

// lane_ready_at is when something of the lane may be claimed: it is due, and the rate allows it. A
// lane that may not send is never ready: its deliveries wait.
static inline Instant lane_ready_at(const LaneState *lane)
{
    return !lane->may_send ? INSTANT_NONE : later(lane->due_at, lane->blocked_until);
}

typedef struct Round Round;

// Flight is one delivery from its claim to its settle.
struct Flight {
    Flight *next;     // in a free, waiting or finished list
    Flight *previous; // in the list of those in the air
    Flight *after;
    Engine *engine;
    Round *round; // that claimed it, and holds its strings
    const Claimed *claimed;
    const ChannelType *type;
    Arena arena; // request and outcome
    RetryPolicy policy;
    Instant started_monotonic;
    Settle settle;
};

// Round is one trip to the writer: what to settle and what to claim, and what came of it. It lives
// until every flight it claimed is settled.
struct Round {
    Op op;
    Round *next;
    Engine *engine;
    Arena arena;
    int open_flights; // claimed by this round and not yet settled
    Instant claimed_at_monotonic;
    uint64_t news; // engine->news when it was sent: what is newer, its probe may not have seen

    Flight *settling; // the flights whose settles these are
    SettleBatch settles;
    ClaimLane *lanes;
    Claim claim;
    bool sweeps, probes, renews, beats, steps_operations, has_more_operations;
    Sweep sweep;
    QueueNext upcoming;
    Renewal *renewals;
    size_t renewal_count;
    int64_t other_nodes;
    Span clock_offset;
    Err err;
    char detail[ERROR_DETAIL_MAX];
};

typedef struct Note {
    int64_t lane;
    Instant due_at;
} Note;

enum { NOTES_MAX = 256 };

typedef enum CommandKind { COMMAND_NONE, COMMAND_TICK, COMMAND_ADVANCE } CommandKind;

typedef struct EngineCommand {
    struct EngineCommand *next;
    CommandKind kind;
    Instant to;
    EngineDone *done;
    void *with;
    bool has_begun, has_probed;
    Tally before;
} EngineCommand;

struct Engine {
    EngineOptions options;
    pthread_t thread;
    bool has_thread;
    _Atomic bool is_stopping;

    Registry *registry;
    LaneState *lanes; // by number
    size_t lane_room;
    Flight *free_flights, *air; // air: a ring of those under way, for renewal
    Flight *finished, **finished_last;
    size_t finished_count;
    Round *free_rounds;
    int rounds_out;
    _Atomic int64_t in_flight;
    Tally tally;
    Instant sweep_due; // as of the last probe; INSTANT_NONE
    uint64_t sweep_told;
    uint64_t news; // counts what was learnt, so that an older probe does not overwrite it
    bool wants_probe, is_probing, wants_orphans, has_operations;
    Instant polled_at, renewed_at, beaten_at, store_retry_at; // monotonic
    ClockWatch watch;
    int64_t other_nodes;
    EngineCommand *command;

    pthread_mutex_t lock;
    Note notes[NOTES_MAX];   // guarded by lock
    size_t note_count;       // guarded by lock
    bool is_poked;           // guarded by lock
    Round *arrived;          // guarded by lock
    EngineCommand *commands; // guarded by lock
    bool refuses_commands;   // guarded by lock: the engine is stopping
    Tally shown;             // guarded by lock
};

// round.c
Round *round_new(Engine *engine);
void round_submit(Round *round);
void round_release(Round *round); // when its last flight is settled

// lane_concurrency is how many attempts the lane's channel may have under way.
int lane_concurrency(const Engine *engine, const RegistryLane *lane);

// dispatch.c
void dispatch(Engine *engine, Round *round);
void flight_free(Engine *engine, Flight *flight);

// command.c
bool command_run(Engine *engine, Instant now); // true: call the next round at once
void command_refuse_all(Engine *engine);       // those to come too
