// state.h - what the files of the engine share: lanes, flights, rounds. Private to engine/.
//
// Everything here belongs to whoever runs engine_round(), but for what says that the lock guards
// it. A round is the writer's between round_submit() and its return; its apply functions look at
// the round alone, never at the engine's lists.
#pragma once

#include "domain/circuit.h"
#include "engine/duty.h"
#include "engine/engine.h"
#include "engine/poll.h"
#include "engine/unpacking.h"
#include "engine/watch.h"
#include "engine/window.h"
#include "store/health.h"
#include "store/lane.h"
#include "store/progress.h"
#include "store/queue.h"
#include "store/rate.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ROUNDS_MAX = 2,             // at the writer at once, but for one that takes long
    CLAIM_MAX = 1000,           // deliveries in one round
    WINDOW_ROWS = 8192,         // deliveries claimed and not yet settled
    WINDOW_BYTES = 64 << 20,    // of their payloads …
    WINDOW_PAYLOADS = 4,        // … or so many of the largest, where that is more
    CAPTURE_CONCURRENCY = 3000, // of channels that send nowhere: there is no far side to spare
    NOTES_MAX = 256,
    CALLED_OFF_MAX = 64,
    SAID_LINES_MAX = 4096, // lines of commands that are not written yet
    FIRE_MAX = 500,        // schedules in one transaction
    FAILURES_MAX = 3,      // of rounds in a row, before each does one thing only
    HOST_SLOTS = 1024,     // of the table of hosts: more of them share one
};

#define SEND_LEASE ((Span) 15 * SPAN_SECOND)
#define RENEW_EVERY ((Span) 5 * SPAN_SECOND)
#define POLL_EVERY ((Span) 1 * SPAN_SECOND)
#define RETRY_STORE_EVERY ((Span) 250 * SPAN_MILLISECOND)
#define WARY_FOR ((Span) 30 * SPAN_SECOND) // after a round that failed by its own fault
#define SWEEP_FOR ((Span) 60 * SPAN_SECOND)
#define LAST_ROUNDS ((Span) 3 * SPAN_SECOND)        // for the writer, when the engine stops
#define STOP_PROGRAMS (PROCESS_GRACE + SPAN_SECOND) // before the grace of a stop ends
#define AHEAD ((Span) 20 * SPAN_MILLISECOND)        // of work that a quick lane is claimed ahead
#define QUICK ((Span) 50 * SPAN_MILLISECOND)     // an attempt of a lane that may be claimed ahead
#define WAIT_MAX ((Span) 100 * SPAN_MILLISECOND) // what was claimed ahead waits no longer

typedef struct Flight Flight;
typedef struct Round Round;
typedef struct Host Host;

// PullerList is those who wait for work of a lane, oldest first.
typedef struct PullerList {
    Puller *first, *last;
} PullerList;

// FlightList is a list of flights. A flight is in exactly one at any time.
typedef struct FlightList {
    Flight *first, *last;
    size_t count;
} FlightList;

// Flight is one delivery from its claim to its settle (flight.c).
struct Flight {
    Flight *next, *previous;
    FlightList *list;
    Engine *engine;
    Round *round; // that claimed it, until it has started: its strings lie there
    Claimed claimed;
    int64_t bytes;      // of the window
    Instant claimed_at; // monotonic
    Instant started_at; // monotonic
    const ChannelType *type;
    RetryPolicy policy;
    Target *targets; // that its message goes to, until its parcel is done
    size_t target_count;
    TargetsElse others;  // the targets that it has besides
    Parcel parcel;       // what it goes out in, where it is the first of those in it
    Flight *also;        // the next one in the same parcel
    Flight *whole;       // that it is a leg of (leg.c); NULL: it is of a delivery
    size_t legs_from;    // where it goes in legs: the next of its targets that needs one …
    int legs_out;        // … how many are under way …
    bool has_legs;       // … whether it had one yet …
    bool starts_legs;    // … and whether some are being started
    Host *host;          // that its parcel is under way to, where it is the first of it; NULL
    bool is_probe;       // of a circuit that is open
    Instant rate_window; // that it was paid from; 0: there is no rate; INSTANT_NONE: it was not
    Arena arena;         // request and outcome
    int lines;           // that its command has said
    Settle settle;
    bool is_bare; // its settle has lost its words: the store did not take it with them
};

// LanePlace is where a lane stands (lane.c).
typedef enum LanePlace {
    LANE_ASLEEP, // nothing of it is known to fall due, or it may not send
    LANE_TIMED,  // in the heap: it falls due later
    LANE_DUE,    // in the list of those that may claim now
    LANE_FULL,   // due, and its concurrency is used up: the end of an attempt brings it back
} LanePlace;

// LaneState is the engine's view of one lane of the queue.
typedef struct LaneState {
    int64_t number, tenant;
    LanePlace place;
    size_t slot;             // in the heap, or in the list of those that are due
    const ChannelType *type; // of its channel; NULL: there is none, or of no known type
    bool may_send;      // in use, and its channel's secrets could be opened; pulled: somebody waits
    bool is_open;       // the same, whether or not somebody waits
    bool is_pulled;     // from outside: no node claims from it
    PullerList pullers; // who wait for it
    int64_t news_count; // deliveries that fell due since they were last called
    int running;        // parcels under way: at most the channel's concurrency
    FlightList waiting; // claimed ahead, to start as soon as one of them ends
    bool is_listed;     // among those with flights that wait
    Span took;          // what an attempt takes of late; 0: not known
    int64_t asked;      // for, by rounds at the writer
    int64_t got;        // from the last of them
    Span lag;           // how long the oldest of what it last gave had been due
    Use use;            // of the window
    Instant due_at;     // no send of this lane is due before; INSTANT_NONE: none is known
    uint64_t told;      // when due_at was last brought forward, in engine->news
    Instant rate_window;   // of the channel's rate, that its share is for
    int64_t rate_share;    // that this node was granted and has not used
    int64_t rate_wanted;   // with the next round; 0: nothing
    Instant blocked_until; // the rate is used up until then, a circuit is open, or its claims fail
    Circuit circuit;       // of its login, or of its order
    Host *host;            // that its requests go to; NULL: not known yet, or of no concern
    struct LaneState *beside; // another lane that goes there
    Instant paused_until;     // the far side asked for it; 0: it did not
    uint64_t pause_told;      // since when the store knows, in engine->news; UINT64_MAX: not yet
    char *error;              // what it last failed of; NULL
    bool is_noted;            // among those whose health goes to the store
    char *origin;             // of the last request: the URL up to its path
    unsigned probing;         // which of its circuits it probes (circuit.c); 0: none
    bool asks_probe;          // what a round at the writer brings is the probe
} LaneState;

// Host is a far side, host and port, of one tenant (circuit.c).
struct Host {
    Host *next; // in the same slot of the table
    int64_t tenant;
    char *name; // host:port
    Circuit circuit;
    LaneState *lanes; // that go there
    int running;      // parcels under way to it
};

// Lanes are all lanes by number, those that fall due by time, and those that are due.
typedef struct Lanes {
    LaneState **at; // by number; NULL where there is none
    size_t room;
    LaneState **heap, **due, **waiting; // waiting: those with flights that wait
    LaneState **noted, **rated;         // whose health is to be told; that want a share of a rate
    size_t heap_count, due_count, waiting_count, noted_count, rated_count;
    Use *tenants; // by number: what each holds of the window
    size_t tenant_room;
    size_t turn; // moves on with every claim
    size_t max;  // of one claim; fewer while the claims of one of them fail
} Lanes;

// Said is what commands have said and is not written yet, in its order (said.c).
typedef struct Said {
    Progress *rows; // each message is a copy to free
    size_t count, room;
    bool is_out; // a round has the first of them
} Said;

// Round is one trip to the writer: what to renew, settle, do and claim, and what came of it. It
// lives until every flight it claimed has started, for their strings lie in it.
struct Round {
    Op op;
    Round *next;
    Engine *engine;
    Arena arena;
    int unstarted;
    Instant asked_at, claimed_at; // monotonic
    uint64_t news;  // engine->news when it was sent: what is newer, its probe may not have seen
    bool is_narrow; // it does one thing: whatever fails in it is to blame

    Flight **renewed;
    Renewal *renewals;
    size_t renewal_count;
    Flight **settling;
    SettleBatch settles;
    unsigned duties; // a bit for each row of duty.c
    DutyReport reports[DUTY_COUNT];
    Wish *wishes; // those that were given something
    ClaimLane *lanes;
    Claim claim;
    const Progress *said;
    size_t said_count;
    Health *healths;
    size_t health_count;
    Rows pauses;
    RateShare *shares;
    size_t share_count;
    Rows granted;
    bool probes, probes_all; // lanes that are claimed from; all of them
    QueueNext upcoming;
    LaneNext all_lanes;
    Rows schedules; // when the first is due; with all lanes

    Err err;
    char detail[ERROR_DETAIL_MAX];
};

// DutyState is when a duty runs next.
typedef struct DutyState {
    bool is_wanted;               // as soon as may be
    bool is_out;                  // a round at the writer does it
    bool has_news;                // something was done here that makes work for it
    Instant due_at;               // of the clock; INSTANT_NONE
    uint64_t told;                // when due_at was last brought forward, in engine->news
    Instant ran_at;               // monotonic
    Instant retry_at;             // monotonic: it failed, and waits
    bool has_failed;              // the last time, and nothing else was in its round …
    char fault[ERROR_DETAIL_MAX]; // … as this says …
    Uuid tried;                   // … with this (DutyReport.tried)
} DutyState;

typedef struct Note {
    int64_t lane;
    Instant due_at;
    int64_t count; // deliveries that are due already
} Note;

typedef enum CommandKind { COMMAND_TICK, COMMAND_ADVANCE, COMMAND_QUIET } CommandKind;

typedef struct EngineCommand {
    struct EngineCommand *next;
    CommandKind kind;
    Instant to;
    EngineDone *done;
    void *with;
    bool has_begun, has_taken_in, has_probed, has_tidied;
    Tally before;
} EngineCommand;

struct Engine {
    EngineOptions options;
    pthread_t thread;
    bool has_thread;
    _Atomic bool is_stopping;

    Registry *registry;
    Lanes lanes;
    Host *hosts[HOST_SLOTS];
    int64_t circuits_open, circuits_opened, pauses; // now; since the start
    Use use;                                        // of the window
    FlightList running, finished, settling, free_flights;
    size_t settle_max; // in one round; fewer while the store refuses one of them
    Round *free_rounds;
    int rounds_out, long_out; // at the writer; those of them that take long
    DutyState duties[DUTY_COUNT];
    uint64_t news; // counts what was learnt, so that an older probe does not overwrite it
    bool wants_probe, is_probing;
    bool tells_health;                  // a round that is out does
    Instant polled_at, renewed_at;      // monotonic
    Instant store_retry_at, wary_until; // monotonic
    int failures;                       // of rounds, in a row
    size_t part;                        // of a narrow round, in turn
    Uuid off[CALLED_OFF_MAX]; // called off of late: a round that is out may still bring one
    size_t off_count;         // in all; the newest are kept
    int off_rounds;           // that were out then and are not back
    ClockWatch watch;
    _Atomic int64_t other_nodes; // that live
    Instant drains_until;        // monotonic: rows come, so the inbox is looked at often (drain.c)
    DrainTrial trial;            // likewise
    Unpacking unpacking;         // likewise
    bool is_carried_back;        // schedules are, since wall time was last believed anew (fire.c)
    size_t fire_max;      // schedules at a time, after a failure; 0: as many as ever (fire.c)
    Instant sweeps_until; // monotonic: leases are looked for at every beat (sweep.c)
    Instant ends_at, ends_by_clock; // when the first who waits outside has waited enough (pull.c)
    Instant looked_at;              // monotonic: for who has left, likewise
    EngineCommand *command;
    Tally tally;
    Said said;
    Polls polls;
    _Atomic int64_t in_flight, puller_count;

    pthread_mutex_t lock;
    Note notes[NOTES_MAX];           // guarded by lock
    size_t note_count;               // guarded by lock
    PullerList came;                 // guarded by lock: who began to wait
    Instant lease_at;                // guarded by lock: when the first lease of those outside ends
    _Atomic bool is_hurried;         // somebody waits for what happens here to be numbered
    bool is_poked;                   // guarded by lock: any lane may be due
    bool is_asked;                   // guarded by lock: something was done that is no move
    bool has_done;                   // guarded by lock: something, here
    bool has_heard;                  // guarded by lock: from another node
    Uuid called_off[CALLED_OFF_MAX]; // guarded by lock: while they were claimed
    size_t called_off_count;         // guarded by lock; more than the most: all that wait may be
    Instant wakes_at;        // guarded by lock: whoever tells of something later need not wake it
    Round *arrived;          // guarded by lock
    EngineCommand *commands; // guarded by lock
    EngineCommand *quiets;   // guarded by lock
    bool refuses_commands;   // guarded by lock: the engine is stopping
    Tally shown;             // guarded by lock
    EngineHealth health;     // guarded by lock
    Instant good_at;         // guarded by lock: monotonic, the last round that went well
};

// engine_sends: nothing forbids to claim and to start.
static inline bool engine_sends(const Engine *engine)
{
    return !engine->registry->is_held && !engine->watch.is_off && !engine->is_stopping;
}

static inline Instant engine_monotonic(const Engine *engine)
{
    return clock_monotonic(engine->options.clock);
}

void tally_add(Tally *tally, const Tally *more); // engine.c

// note.c
void notes_take(Engine *engine); // what others have told since the last round
bool note_lane(Engine *engine, int64_t lane, Instant due_at, int64_t count); // under the lock

// pull.c
void pulls_take(Engine *engine);                 // those who began to wait
void pull_call(Engine *engine, LaneState *lane); // it is due: some are called
void pulls_end(Engine *engine, Instant now);     // those who have waited enough
void pulls_end_all(Engine *engine);

// lane.c
LaneState *lane_at(Engine *engine, int64_t number); // made when it is new
char *text_keep(Str text);                          // a copy to free
Instant lane_due_at(const LaneState *lane); // 0 where it is timeless and something stands in it
void lane_falls_due(Engine *engine, int64_t number, Instant due_at);
void lane_learn(Engine *engine, int64_t number, Instant due_at, uint64_t news);
void lanes_learn(Engine *engine, const QueueNext *of_all, uint64_t news); // in others there is none
void lane_block(Engine *engine, LaneState *lane, Instant until);
void lanes_unblock(Engine *engine); // the clock was set: until when, was said by what it was
void lane_fill(Engine *engine, LaneState *lane);  // it has no slot free
void lane_freed(Engine *engine, LaneState *lane); // it may have one again
void lane_opens(Engine *engine, LaneState *lane); // who waits for it has come or gone
void lane_list(Engine *engine, LaneState *lane);  // it has flights that wait
const ChannelType *lane_type(const Engine *engine, const RegistryLane *lane); // NULL: none
int lane_parcel(const Engine *engine, const RegistryLane *lane); // deliveries in one parcel
int lane_concurrency(const Engine *engine, const RegistryLane *lane);
int lane_slots(const Engine *engine, const LaneState *lane,
               const RegistryLane *way); // with the host's
bool lane_is_ordered(const ChannelType *const *types, const RegistryLane *lane);
void lanes_take_registry(Engine *engine, const Registry *old); // what changed since; NULL: all
void lanes_wake(Engine *engine, Instant now);                  // those whose time has come are due
Instant lanes_later(const Engine *engine);                     // when the next one falls due
Instant lanes_next(const Engine *engine); // the same, or when the first of those due did
void lanes_free(Engine *engine);
void lane_hold(Engine *engine, LaneState *lane, Use use); // of the window; negative: let go
Use lane_tenant_use(Engine *engine, const LaneState *lane);

// circuit.c
bool lane_is_clear(const LaneState *lane); // no circuit holds it
Instant lane_probe_at(const LaneState *lane, Instant now);
bool lane_probe(LaneState *lane, Instant now);               // true: it may claim and start one
void lane_unprobe(Engine *engine, LaneState *lane);          // it came to nothing
bool circuit_enter(Flight *first, LaneState *lane, Str url); // false: it may not start after all
void circuit_land(Flight *first, LaneState *lane);           // a parcel was judged
void circuit_leave(Flight *first, LaneState *lane);          // it was not tried
void circuit_changed(Engine *engine, LaneState *lane, bool is_ordered); // its channel was
int host_free_slots(const Engine *engine, const LaneState *lane,
                    int own); // of own, with its host's
void hosts_free(Engine *engine);

// health.c
void health_note(Engine *engine, LaneState *lane); // it goes to the store with the next round
void health_remember(LaneState *lane, const Outcome *outcome);
void health_share(LaneState *lane, const LaneState *with); // what the one failed of holds the other
void health_land(const Flight *first, LaneState *lane);    // a parcel was judged
bool health_ask(Engine *engine, Round *round);
void health_apply(Tx *tx, Round *round);
void health_take(Engine *engine, const Round *round);
void health_failed(Engine *engine, const Round *round);

// rate.c
int64_t rate_left(const Engine *engine, LaneState *lane, Instant now); // INT64_MAX: no rate
void rate_want(Engine *engine, LaneState *lane, int64_t wanted);
bool rate_ask(Engine *engine, Round *round, Instant now);
void rate_apply(Tx *tx, Round *round);
void rate_check(Round *round);
void rate_came(Engine *engine, const Round *round, Instant now);
void rate_failed(Engine *engine, const Round *round);
void rate_pay(Flight *flight, LaneState *lane, Instant now);
bool rate_is_paid(const Flight *flight, LaneState *lane, Instant now);
void rate_refund(const Flight *flight, LaneState *lane);

// flight.c
void flight_move(Flight *flight, FlightList *to); // to its end
Flight *flight_new(Round *round, const Claimed *claimed, Instant now);
void flight_started(Flight *flight); // it needs nothing of its round any more
void flight_unclaim(Flight *flight); // nothing was sent: it stands as it did before its claim
void flight_free(Flight *flight);
void flights_free(Engine *engine);
bool renew_ask(Engine *engine, Round *round);
Err renew_apply(Tx *tx, Round *round, Error *error) MUST_USE;
void renew_take(Engine *engine, const Round *round);

// round.c
Round *round_new(Engine *engine);
void round_submit(Round *round);
void round_submit_long(Round *round); // others do not wait for it
void round_release(Round *round);

// claim.c
bool claim_ask(Engine *engine, Round *round, Instant now);
void claim_apply(Tx *tx, Round *round);
Err claim_check(Tx *tx, Round *round, Error *error) MUST_USE;
void claim_take(Engine *engine, Round *round, Instant now);
void claim_failed(Engine *engine, Round *round, Instant now);

// dispatch.c
void dispatch(Engine *engine, Round *round);
void dispatch_waiting(Engine *engine, LaneState *lane);
void dispatch_called_off(Engine *engine, const Uuid *ids, size_t count);
void dispatch_late(Engine *engine); // lets go of what has waited too long
bool flight_may_start(const Flight *flight, LaneState *lane);
bool flight_is_among(const Flight *flight, const Uuid *ids, size_t count);
Settlement park_unreadable(Uuid id, const Live *live); // and says so: a person has to know

// parcel.c
void parcel_send(Flight *first, size_t count, const RegistryLane *way); // with those behind it
void parcel_carry(Flight *first, const RegistryLane *way);              // it takes a slot
void parcel_forget(Flight *first);  // the strings of its request, and its channel
void parcel_unpack(Flight *first);  // the same, and lets go of the rounds that they lie in
void parcel_settle(Flight *flight); // all its targets were told what became of them
void parcel_done(Flight *first);    // lets go of its messages, if it has any

// leg.c
bool legs_wanted(const Flight *first); // it has more targets than go into one request
void legs_begin(Flight *whole);
void legs_go_on(Flight *whole);                 // one is over
void leg_over(Flight *leg);                     // it was judged
void leg_unclaim(Flight *leg, LaneState *lane); // nobody was asked
void legs_call_off(Engine *engine, const Uuid *ids, size_t count);

// said.c
void said_add(Flight *flight, Str message);
bool said_ask(Engine *engine, Round *round);
void said_apply(Tx *tx, const Round *round);
void said_take(Engine *engine, const Round *round);
void said_failed(Engine *engine, const Round *round);
void said_free(Said *said);

// settle.c
bool settle_ask(Engine *engine, Round *round);
Err settle_apply(Tx *tx, Round *round, Error *error) MUST_USE;
Err settle_check(Tx *tx, Round *round, Error *error) MUST_USE;
void settle_take(Engine *engine, Round *round);
void settle_failed(Engine *engine, Round *round);

// duty.c
bool duty_ask(Engine *engine, Round *round, Instant now, bool one);
bool duty_ask_alone(Engine *engine, Round *round, Instant now); // one that has its own
Err duty_apply(Tx *tx, Round *round, Error *error) MUST_USE;
void duty_take(Engine *engine, const Round *round);
void duty_failed(Engine *engine, const Round *round);
void duty_falls_due(Engine *engine, DutyName name, Instant due_at);
void duty_learn(Engine *engine, DutyName name, Instant due_at, uint64_t news); // by a probe
Instant duties_next(const Engine *engine, Instant now);
void duties_have_news(Engine *engine);  // something was done here
void duties_want_any(Engine *engine);   // anything may have changed
Span duties_soon(const Engine *engine); // how long whoever has work from it still waits

// command.c
bool command_run(Engine *engine, Instant now); // true: call the next round at once
void command_refuse_all(Engine *engine);       // those to come too
EngineCommand *command_take_quiets(Engine *engine);
void command_tell_quiet(Engine *engine, EngineCommand *quiets); // now that it is
