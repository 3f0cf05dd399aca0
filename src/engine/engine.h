// engine.h - makes due things happen: settle, sweep, claim, dispatch.
//
// engine_round() does everything that is due at one instant and returns when it wants to be called
// again. It never sleeps. The engine's thread calls it around the transfers; a simulation calls it
// by hand, with a clock, a transport and a writer of its own: nothing else tells the engine what
// time it is or what the world answered. All state of the engine belongs to whoever calls
// engine_round(); other threads only leave notes (engine_moved) and commands, under the
// engine's lock.
//
//   note or time ─▶ round: renew, settle, sweep, claim  (one transaction)
//                    └─▶ flights: one attempt each, over the channel ─▶ finished ─▶ next round
//
// A claim takes no more than its lane has free, and no more than its fair share of the window; two
// rounds may be at the writer at once, so that one commits while the other is filled. What takes
// long, as the drain of the inbox does, has a round beside them on PostgreSQL, and a pen: no claim
// and no settle waits for its end.
#pragma once

#include "base/clock.h"
#include "base/pool.h"
#include "channels/channel.h"
#include "domain/move.h"
#include "net/transport.h"
#include "providers/provider.h"
#include "store/sequence.h"
#include "store/writer.h"

typedef struct Engine Engine;

// A host takes so many parcels at once from all channels of a tenant that go there, or as many as
// one of them may have by itself; where the operator says how many, that is the most.
#define HOST_CONCURRENCY 100

typedef struct EngineOptions {
    Writer *writer;
    Clock *clock;
    Clock *real; // the system's, whatever clock runs deliveries
    Random *random;
    const Transport *transport;       // outlives the engine
    const ChannelType *const *types;  // of channels; ends with NULL. NULL: those that Peal knows
    const Provider *const *providers; // by ProviderName; NULL: those that Peal knows
    Pool *readers; // two that read what was polled, and long hooks; NULL: the engine's own thread
    int64_t node;
    bool is_only_node;  // the store is open in this process alone
    bool is_dev;        // every channel captures, and no provider is polled
    bool is_private;    // and nobody is outside who would pull: that is captured, too
    size_t flights_max; // deliveries claimed and not yet settled; 0: WINDOW_ROWS, which is the most
    int host_max;       // parcels under way to one host of a tenant; 0: as above
    size_t payload_max; // bytes of the largest event; 0: EVENT_PAYLOAD_MAX
    Str url_template;   // {publicId}; none
    Str exec_folder;    // of the commands that may be run here; none: others may run them
    // numbered is told, on the engine's thread, that facts of tenants got their numbers here
    // (store/sequence.h). NULL: nobody is.
    void (*numbered)(void *with, const Sequenced *sequenced);
    void *numbered_with;
    void (*hung)(void *with); // instead of ending the program (unpacking.h); NULL: it is ended
    void *hung_with;
    Span kept;           // what has ended; 0: PURGE_KEPT (store/purge.h)
    Span kept_delivered; // what was delivered, where that is less; 0: as long
} EngineOptions;

Engine *engine_new(const EngineOptions *options);
void engine_free(Engine *engine);

// engine_start runs rounds on a thread of its own until engine_stop, which refuses every command
// that is outstanding, lets what is in flight finish for at most grace, and settles it. It returns
// false where the writer has not given every round back in time: the engine cannot be freed then.
void engine_start(Engine *engine);
bool engine_stop(Engine *engine, Span grace);

// engine_round and engine_wait, for those who run the engine by hand.
Instant engine_round(Engine *engine);
void engine_wait(Engine *engine, Instant until);
bool engine_is_idle(Engine *engine); // nothing in flight, at the writer, finished, or to be told

// engine_moved tells of moves that were committed here: lanes fall due, and what waits for its
// start and was called off is not started; without moves, that anything else may have changed. It
// is the writer's to call (writer_follow); with is the engine. Nothing wakes the engine that is not
// due before it wakes by itself.
void engine_moved(void *with, const Move *moves, size_t count);

// engine_took tells that events came in which made nothing due (writer_follow_events).
void engine_took(void *with);

// engine_hurry has what happened get its numbers as soon as may be, because somebody waits for
// them, or no longer so.
void engine_hurry(Engine *engine, bool hurries);

// engine_heard tells the same of what another node committed (store/bell.h); that there is one may
// be news too. engine_has_company is whether another node lives, as the last beat saw it.
void engine_heard(void *with, const Move *moves, size_t count);
bool engine_has_company(Engine *engine);

// Puller is somebody outside who waits for work of a lane (pull.c). It is its owner's memory; from
// engine_pull() until it is called it is the engine's.
typedef struct Puller Puller;
struct Puller {
    int64_t lane;
    int max;             // that it takes at once
    Instant until;       // monotonic: it waits no longer …
    Instant until_clock; // … and not past this, where the clock is moved by hand; INSTANT_NONE
    // is_gone says whether whoever waited has left; NULL: nobody does. On the engine's thread.
    bool (*is_gone)(const Puller *puller);
    // call runs once, on the engine's thread; where the engine is stopping at once, on the
    // caller's. There may be something due: it looks, and tells by engine_pulled(). Or its time is
    // over.
    void (*call)(Puller *puller, bool is_over);
    Puller *previous, *next; // the engine's own
};
void engine_pull(Engine *engine, Puller *puller);
int64_t engine_pullers(Engine *engine); // who wait; a gauge

// engine_pulled tells of a claim from outside, once it is committed: until when what it took is
// out, and, of who was called, when the lane falls due next and what that is worth.
typedef struct Pulled {
    int64_t lane;
    Instant lease_until; // INSTANT_NONE: nothing was taken
    Instant due_at;      // INSTANT_NONE: nothing is known
    int64_t count;       // deliveries that may be due then
} Pulled;
void engine_pulled(Engine *engine, const Pulled *pulled);

// Tally counts what was done.
typedef struct Tally {
    int64_t claimed, delivered, retried, parked, expired, lapsed, stale;
    int64_t released; // claims that were given back, never sent
    int64_t purged;   // rows whose time was over
    int64_t fired;    // runs that schedules made
} Tally;
Tally engine_tally(Engine *engine); // since the start

typedef struct EngineReport {
    Tally tally;       // of this command
    int64_t in_flight; // attempts under way
    Instant next_at;   // the next due moment; INSTANT_NONE
    Instant now;
    Err err;             // ERR_OK when it was done
    const char *refused; // a sentence; NULL when it was done
} EngineReport;

// engine_tick does all that is due now. engine_advance moves the manual clock to the given time
// through every due moment on the way, or straight to it when it lies behind. done() runs once, on
// the engine's thread, or at once on the caller's where the engine is stopping.
typedef void EngineDone(void *with, const EngineReport *report);
void engine_tick(Engine *engine, EngineDone *done, void *with);
void engine_advance(Engine *engine, Instant to, EngineDone *done, void *with);

// engine_quiet answers once the engine has seen the newest definitions and the hold, and starts
// nothing that they forbid; what is under way then is told by in_flight. It waits for no command.
void engine_quiet(Engine *engine, EngineDone *done, void *with);

// engine_in_flight counts attempts under way; a gauge.
int64_t engine_in_flight(Engine *engine);

// EngineHealth is whether rounds go well, for whoever watches. A round goes at least every 5 s.
typedef struct EngineHealth {
    bool is_failing;                        // the last round failed …
    int64_t failed;                         // … as did so many since the start
    Span since_good;                        // how long ago one went well
    int64_t circuits_open, circuits_opened; // now; since the start
    int64_t pauses;                         // that far sides asked for, since the start
    bool is_clock_off; // the clock has jumped, and nothing is sent until it can be believed
    char detail[ERROR_DETAIL_MAX]; // what the last round that failed said
} EngineHealth;
EngineHealth engine_health(Engine *engine);
