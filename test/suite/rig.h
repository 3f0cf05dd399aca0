// rig.h - the real engine on a real store, with everything else invented: time passes when a test
// says so, the far side answers what and when it is told, the store fails on command.
//
// A rig's engine has no thread. turn() lets it do all that is due, with the writer;
// lapse() lets time pass in small steps and does the same after each. What the engine sends is
// listed in the order in which it was started.
#pragma once

#include "engine/duty.h"
#include "engine/engine.h"
#include "fixture.h"
#include "store/inbox.h"

enum { RIG_SENT_MAX = 10000, RIG_SAID_MAX = 100000 };

// Sending is one request on its way to the far side.
typedef struct Sending {
    Str body;
    Str url;
    TransferDone *done; // NULL: answered
    void *with;
} Sending;

typedef struct Rig {
    Store store;
    Clock real;
    Transport transport;
    Engine *engine;
    Sending sent[RIG_SENT_MAX];
    int sent_count;
    int woken;               // how often somebody woke the engine
    const char *body;        // of every answer; NULL: any
    int status;              // what every request is answered at once; 0: nothing, until answer()
    bool is_dead;            // no request is answered, which is known at once
    const char *retry_after; // of every answer; NULL: none
    int64_t node;
    size_t flights_max;               // from the next restart() on; 0: the engine's own
    int host_max;                     // likewise
    const ChannelType *const *types;  // likewise; NULL: Peal's own
    const Provider *const *providers; // likewise
    Pool *readers;                    // likewise; NULL: there are none
    int hung;                         // how often the engine would have ended the program
    Carriers carriers;                // of programs, once there is one
    const char *broken;               // a statement that fails whenever it is sent; NULL
    const char *lost;        // where the connection is lost, once; "reply": of the COMMIT; NULL
    const char *lost_behind; // only in a transaction that sent this
    bool is_behind;          // the one under way did …
    bool has_committed;      // … and its COMMIT was sent
    bool is_away;            // no transaction begins
    Span clock_delay;        // how long the server's clock is under way to us
    int rounds;              // that the engine was asked for, in the last turn
    int transactions;        // begun since the rig was set up
    int looks;               // at all lanes of the store
    Buf said;                // what the store was sent, by name, since this was emptied
} Rig;

void rig_open(Rig *rig);
void rig_close(Rig *rig);

// At the end of its scope a rig's store is checked, and all is closed.
#define RIG(name)                                                                                  \
    DEFER(rig_close) Rig name = { 0 };                                                             \
    rig_open(&name)

// restart lets the process die as it stands, and starts another on the same store.
void restart(Rig *rig);

void turn(Rig *rig);
void lapse(Rig *rig, Span span); // in steps of 250 ms
void jump(Rig *rig, Span span);  // wall time alone: the machine's clock is set

// answer ends a request with a status; 0: no answer came.
void answer(Rig *rig, int number, int status);

// lack ends a request that this machine could not try: it had no descriptor, or no port.
void lack(Rig *rig, int number);

// wait_for_programs waits until those that run have ended, in real time.
void wait_for_programs(Rig *rig);

// http makes a channel "http:NAME" of the first tenant, further members as JSON, and a trigger that
// listens to NAME. visits hands in count events of a kind, and tells the engine as the API does.
void http(Rig *rig, const char *name, const char *members, const char *trigger_members);
void visits(Rig *rig, const char *kind, int count);
void http_of(Rig *rig, int64_t tenant, const char *name, const char *members,
             const char *trigger_members);
void visits_of(Rig *rig, int64_t tenant, const char *kind, int count);

// job_of saves a job as the API does, run by http:do; handler makes that, which answers with a
// status at once; 0: when a test says so.
void job_of(Store *store, int64_t tenant, const char *name, const char *members);
void handler(Rig *rig, int status);

// Life is a process that drains by hand, and dies of whatever makes a transaction fail: nothing
// that it knew is known to the next. live drains until nothing is left, however often it dies.
typedef struct Life {
    EngineOptions options;
    DutyReport report;
    int deaths;
} Life;

void live(Rig *rig, Life *life);

// do_statement does one that has no parameters, in a transaction of its own; put_rows has rows come
// into the inbox together.
void do_statement(Store *store, const Statement *statement);
void put_rows(Store *store, const InboxRow *rows, size_t count);

// poison_events has the store refuse every event that occurred at moment 7, until cure_events, or
// on SQLite the next store.
void poison_events(Store *store);
void cure_events(Store *store);

// state_is counts the deliveries in a state, wherever they stand.
int in_state(Rig *rig, DeliveryState state);
int attempts(Rig *rig); // that are on record
