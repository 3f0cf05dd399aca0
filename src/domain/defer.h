// defer.h - a deferral: a run of a job that is asked for now and falls due later, for an entity.
//
// It comes in as the event of a run (run.h) whose occurred_at is the moment that was asked for, and
// is for one rule: the job that it names, whether or not anybody has defined it.
// Two deferrals of an entity are two runs, unless the second replaces: then it takes the place of
// all that is pending or retrying of the entity under that job. A call that only cancels makes no
// run. What runs already is left alone by both: it has begun.
//
// Replacing is how a burst is debounced: each call puts the run off anew, and the last one stays.
#pragma once

#include "domain/backoff.h"
#include "domain/event.h"

#define DEFERRAL_CANCEL_SOURCE S("deferred-cancel") // of an event that makes no run

// DEFERRAL_AHEAD_MAX is how far ahead a run may be put off, as a duration or as a moment.
#define DEFERRAL_AHEAD_MAX (3660 * SPAN_DAY)

typedef struct Deferral {
    Str job, entity;
    Instant run_at; // INSTANT_NONE: delay says it
    Span delay;
    bool has_delay;
    const Json *payload; // for the handler; NULL: the job's own
    bool replaces;       // what is pending of the entity is called off
    bool cancels;        // that is all: no run is made
} Deferral;

// deferral_body_shape is a body that says {entity, runAt or delay, payload?, replace?} of a job
// that is named elsewhere; deferral_row_shape says the job as well, deferral_cancel_shape job and
// entity alone.
extern const Shape deferral_body_shape, deferral_row_shape, deferral_cancel_shape;

// deferral_read reads a body by one of these shapes, which stands at a place of what came in. A job
// that the body does not name is kept as ret has it. Afterwards run_at is the moment, counted from
// created_at, and no further ahead of it than DEFERRAL_AHEAD_MAX.
Err deferral_read(Arena *arena, const Json *body, Str place, const Shape *shape, Instant created_at,
                  Deferral *ret, Error *error) MUST_USE;

// deferral_check refuses a job or an entity that no body could name: for those of a path.
Err deferral_check(const Deferral *deferral, Error *error) MUST_USE;

// deferral_event is the event that it comes in as, with the payload, else an empty one. Texts are
// kept by reference.
Err deferral_event(Arena *arena, const Deferral *deferral, Event *ret, Error *error) MUST_USE;

// deferral_key is what the runs of an entity are filed under (store/recall.h), of a rule's number.
Uuid deferral_key(Arena *scratch, int64_t rule, Str entity);

// Origin is where the event of a delivery came from, when it came, and for when it said it was.
typedef struct Origin {
    Str source;
    Instant received_at, occurred_at; // the latter the former where it did not say
} Origin;

// deferral_retry is the policy of a run that was put off: a tenth of what lay between its creation
// and its moment, times the retry, and as many retries as the job's policy has. What has another
// origin keeps the policy that it has.
RetryPolicy deferral_retry(RetryPolicy policy, const Origin *origin);
