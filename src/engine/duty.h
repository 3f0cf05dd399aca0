// duty.h - what has to be done now and then, beside sending: a row each.
//
// A duty is a slice of work inside the transaction of a round. It runs when somebody wants it, when
// its time has come, soon after something was done here where that makes work for it, and at least
// every so often; where it says that there is more, it runs again
// in the next round. A duty that fails is tried again later and keeps no other from running.
//
// To add one: write its run() in a file of its own with the story at its head, and add a row here
// and to duty.c. run() is on the writer's thread and sees only what it is given; take() is on the
// engine's, after the commit.
#pragma once

#include "base/metric.h"
#include "engine/engine.h"
#include "store/node.h"

// clang-format off
#define DUTY_TABLE(X) \
    X(BEAT)           \
    X(SWEEP)          \
    X(EXPIRE)         \
    X(OPERATE)        \
    X(SEQUENCE)       \
    X(SEAL)           \
    X(SAMPLE)         \
    X(PURGE)          \
    X(UPKEEP)         \
    X(DRAIN)          \
    X(FIRE)           \
    X(POLL)           \
    X(CAMPAIGN)
// clang-format on

typedef enum DutyName {
#define DUTY_ENUM(name) DUTY_##name,
    DUTY_TABLE(DUTY_ENUM)
#undef DUTY_ENUM
        DUTY_COUNT
} DutyName;

// DrainTrial is what a drain has to know of the runs before it (drain.c).
typedef struct DrainTrial {
    bool has_begun; // this process has drained before
    Uuid tried;     // the row whose try is counted and committed; none
} DrainTrial;

// FireReport is what firing is given and tells beside its runs (fire.c).
typedef struct FireReport {
    size_t max;        // given: schedules at a time; 0: as many as ever
    bool carries_back; // given: a clock that ran ahead may have carried some along
    Instant due_at;    // when the first is to be looked at
    bool is_contested; // it is, and another node does
    int64_t missed;    // occurrences passed over because nobody was there …
    int64_t missed_by; // … of so many schedules
    Instant oldest;    // occurrence that became a run; INSTANT_NONE
} FireReport;

// CampaignTally is what a slice of a campaign made of its rows; nothing, where that is dry.
typedef struct CampaignTally {
    int64_t created, skipped, failed;
} CampaignTally;

typedef struct PollClaims PollClaims;
typedef struct Unpacking Unpacking;

typedef struct DutyReport {
    bool has_more; // it came to its limit: there is more of it
    Tally tally;
    int64_t drained;      // rows of the inbox
    bool is_pending;      // it has, or had, rows
    const char *fault;    // given: why the last run, which was all of its round, failed; NULL
    Uuid tried;           // of campaigns: given, whose slice that was; then whose this one is
    DrainTrial trial;     // of the drain: given as the last run left it
    Unpacking *unpacking; // likewise: the engine's own (unpacking.h); NULL: all is read here
    FireReport firing;
    Sequenced sequenced; // whose numbers went on
    PollClaims *polling; // given: the engine's own (poll.h)
    CampaignTally rows;  // of campaigns
    int64_t curves;      // of the sample: what was written (store/curve.h)
    int64_t other_nodes; // that live, as the beat saw
    int64_t leases;      // of the beat: given, what this node has claimed
    ClockOffset clock;   // the server's, as the beat saw
} DutyReport;

typedef struct Duty {
    const char *name;
    Span every;    // 0: only when it is wanted or due
    Span soon;     // so often at most, for what was done here; 0: that makes no work for it
    bool is_quiet; // not while held, stopping, or while the clock cannot be believed
    Err (*run)(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error);
    void (*take)(Engine *engine, const DutyReport *report); // NULL: nothing follows
    bool is_shared; // others make work for it: every is nothing where the store is ours alone
    bool is_deaf;   // soon is for what take() asks, not for what was done here
    Span retry;     // after a failure that was its own; 0: DUTY_RETRY
    void (*failed_alone)(Engine *engine); // and not by the store's fault; NULL: nothing follows
    bool is_long;  // it has a round, and where it can a pen, of its own: nothing waits for that
    bool is_fresh; // not in a round that waited: what it knows of this node's flights is old
    Metric failed; // counts failures that were its own; 0: none does
    Span hurried;  // instead of soon, while somebody waits for it (engine_hurry); 0: nobody does
} Duty;

// beat.c: this node lives, who else does, and what time the server has.
Err beat_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void beat_take(Engine *engine, const DutyReport *report);

// sweep.c: leases that lapsed, or whose process is gone; answers that never came.
Err sweep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
Err expire_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void sweep_take(Engine *engine, const DutyReport *report);

// history.c: what happened gets its numbers, the counters are noted.
Err sequence_duty_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void sequence_take(Engine *engine, const DutyReport *report);
Err sample_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void sample_ran(Engine *engine, const DutyReport *report);

// drain.c: what waits in the inbox becomes events.
Err drain_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void drain_take(Engine *engine, const DutyReport *report);

// fire.c: what schedules name becomes runs.
Err fire_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void fire_take(Engine *engine, const DutyReport *report);
void fire_failed(Engine *engine);
void fire_anew(Engine *engine); // wall time is believed anew

// poll.c: what providers have to say is asked for.
Err poll_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void poll_take(Engine *engine, const DutyReport *report);

// seal.c: what happened is sealed into the audit chain.
Err seal_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;

// campaign.c: files become events, slice by slice.
Err campaign_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
void campaign_ran(Engine *engine, const DutyReport *report);

// operate.c: bulk operations, slice by slice.
Err operate_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;

// purge.c: what was kept for a time that is over, and what costs as much when there is nothing.
Err purge_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
Err upkeep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error) MUST_USE;
