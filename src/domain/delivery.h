// delivery.h - the states of a delivery, the outcome of an attempt, and what the one makes of the
// other.
//
// One table, and pure functions beside it that say what becomes of a delivery: first, claim, pull,
// renew, release, refuse, settle, recur, park, expire, act_on. The store only picks rows and
// writes what was decided, by one guarded statement per move (store/queue.c). Nothing else writes a
// state; test/suite/statements.c proves it. docs/states.md is printed from these tables. Stored as
// the number in the table: rows are only ever added at the end.
#pragma once

#include "base/base.h"
#include "base/id.h"
#include "base/str.h"
#include "domain/backoff.h"
#include "domain/plan.h"

// clang-format off
#define DELIVERY_STATE_TABLE(X)                                                                                           \
    /* name       text         final  actions that may move it                                           */ \
    X(PENDING,    "pending",   false, MAY(CLAIM) | MAY(CANCEL) | MAY(RECALL) | MAY(COMPLETE) | MAY(EXPIRE) | MAY(SKIP)) \
    X(SENDING,    "sending",   false, MAY(SETTLE) | MAY(CANCEL) | MAY(RECALL) | MAY(COMPLETE))              \
    X(RETRYING,   "retrying",  false, MAY(CLAIM) | MAY(CANCEL) | MAY(RECALL) | MAY(COMPLETE) | MAY(EXPIRE) | MAY(SKIP)) \
    X(WAITING,    "waiting",   false, MAY(CLAIM) | MAY(CANCEL) | MAY(RECALL) | MAY(COMPLETE) | MAY(EXPIRE)) \
    X(PARKED,     "parked",    false, MAY(RETRY) | MAY(DISCARD) | MAY(COMPLETE) | MAY(EXPIRE))              \
    X(DELIVERED,  "delivered", true,  0)                                                                    \
    X(COMPLETED,  "completed", true,  0)                                                                    \
    X(EXPIRED,    "expired",   true,  0)                                                                    \
    X(CANCELLED,  "cancelled", true,  0)                                                                    \
    X(DISCARDED,  "discarded", true,  0)

// Each of the five systems that Peal serves has words of its own for these states: `status` beside
// `state`. T are surveys and triggers, N notifications, J jobs, M messages, W automations. NULL is
// a state that the family does not come to.
#define DELIVERY_STATUS_TABLE(X)                                                        \
    /* state      T            N            J            M            W              */ \
    X(PENDING,    "Pending",   "Pending",   "Pending",   "Pending",   "queued")         \
    X(SENDING,    "Pending",   "Pending",   "Running",   "Pending",   "processing")     \
    X(RETRYING,   "Pending",   "Retrying",  "Retrying",  "Pending",   "queued")         \
    X(WAITING,    "Sent",      NULL,        NULL,        "Sent",      NULL)             \
    X(PARKED,     "Parked",    "Parked",    "Dead",      "Failed",    "failed")         \
    X(DELIVERED,  "Sent",      "Delivered", "Succeeded", "Sent",      "completed")      \
    X(COMPLETED,  "Completed", NULL,        NULL,        "Sent",      "completed")      \
    X(EXPIRED,    "Expired",   NULL,        "Failed",    "Cancelled", "skipped")        \
    X(CANCELLED,  "Cancelled", "Discarded", "Cancelled", "Cancelled", "skipped")        \
    X(DISCARDED,  "Discarded", "Discarded", "Discarded", "Failed",    "skipped")

// Some have another word once something has happened to the delivery. What goes to more targets than
// an attempt carries stands in RETRYING between its parcels; nothing need have failed.
#define DELIVERY_STATUS_LATER_TABLE(X)                                                  \
    /* family state      word        once                                            */ \
    X(T,      SENDING,   "Sent",     live->last_sent_at != INSTANT_NONE)                \
    X(T,      RETRYING,  "Sent",     live->last_sent_at != INSTANT_NONE)                \
    X(T,      WAITING,   "Opened",   live->opened_at != INSTANT_NONE)                   \
    X(N,      SENDING,   "Retrying", live->failures > 0)                                \
    X(N,      RETRYING,  "Pending",  live->failures == 0)

// What moves a delivery: the engine claims, settles and expires; an event recalls (cancelOn); the
// rest is for persons, and has the participle that they are told.
#define DELIVERY_ACTION_TABLE(X)        \
    X(CLAIM,    "claim",    "")          \
    X(SETTLE,   "settle",   "")          \
    X(CANCEL,   "cancel",   "cancelled") \
    X(COMPLETE, "complete", "completed") \
    X(EXPIRE,   "expire",   "")          \
    X(RETRY,    "retry",    "retried")   \
    X(DISCARD,  "discard",  "discarded") \
    X(RECALL,   "recall",   "")          \
    X(SKIP,     "skip",     "skipped")

#define VERDICT_TABLE(X)                                                        \
    /* name       text         what it means                                 */ \
    X(DELIVERED,  "delivered", "the far side took it")                          \
    X(TRANSIENT,  "transient", "it may pass: tried again within the budget")    \
    X(PERMANENT,  "permanent", "trying again cannot help: parked")              \
    X(UNKNOWN,    "unknown",   "the process died or stalled: nobody knows")     \
    X(ELSEWHERE,  "elsewhere", "the far side took it on, and tells under its lease what becomes of it: the attempt is not over")

// Why an attempt went as it did, and why a delivery stands where it stands.
#define DELIVERY_REASON_TABLE(X)                                                                     \
    /* name               code                   what it means                                    */ \
    X(NONE,               "",                    "no reason is needed")                              \
    X(ACCEPTED,           "accepted",            "the far side accepted it")                         \
    X(REFUSED,            "refused",             "the far side refused it for good")                 \
    X(UNWELL,             "unwell",              "the far side answered that it cannot take it now") \
    X(NO_ANSWER,          "no-answer",           "the far side did not answer in time")              \
    X(NO_CONNECTION,      "no-connection",       "no connection could be made")                      \
    X(GONE,               "gone",                "the far side says it is gone (410)")               \
    X(ADDRESS_FORBIDDEN,  "address-forbidden",   "the address is private and not allowed")           \
    X(BAD_REQUEST,        "bad-request",         "the request could not be built")                   \
    X(NO_CHANNEL,         "no-channel",          "there is no such channel")                         \
    X(CHANNEL_DISABLED,   "channel-disabled",    "the channel is disabled")                          \
    X(LEASE_LAPSED,       "lease-lapsed",        "who was sending died or stalled, or never told")   \
    X(GAVE_UP,            "gave-up",             "the retries are used up")                          \
    X(TOO_LATE,           "too-late",            "the time to give up has come")                     \
    X(QUIET,              "quiet",               "no answer came within the grace period")           \
    X(ANSWERED,           "answered",            "an answer came")                                   \
    X(BY_OPERATOR,        "by-operator",         "a person decided")                                 \
    X(CALLED_OFF,         "called-off",          "it was called off: by an event, or while under way")                           \
    X(UNREADABLE,         "unreadable",          "its row, its event or its rule's version cannot be read") \
    X(PARTLY_DELIVERED,   "partly-delivered",    "some of its targets have it, others refused it for good") \
    X(NO_RECIPIENT,       "no-recipient",        "it has no address that its channel can reach")     \
    X(LOGIN_REFUSED,      "login-refused",       "the far side does not take the channel's login")   \
    X(UNCLASSIFIED,       "unclassified",        "the far side answered what Peal does not know")    \
    X(RENDER_FAILED,      "render-failed",       "its template could not be filled")                 \
    X(OPTED_OUT,          "opted-out",           "the recipient does not want it")                    \
    X(NO_LIST,            "no-list",             "there was no such list when it came in, or was last retried") \
    X(NO_TARGETS,         "no-targets",          "the list has no members")           \
    X(NO_HANDLER,         "no-handler",          "the job has no handler, or is not known")          \
    X(SUPERSEDED,         "superseded",          "the schedule's next occurrence came before its retry")
// clang-format on

typedef enum DeliveryState {
#define STATE_ENUM(name, text, final, may) DELIVERY_##name,
    DELIVERY_STATE_TABLE(STATE_ENUM)
#undef STATE_ENUM
} DeliveryState;

#define DELIVERY_STUCK_AFTER ((Span) 10 * SPAN_MINUTE) // due for so long and not sent: it is stuck

typedef enum DeliveryAction {
#define ACTION_ENUM(name, text, participle) DELIVERY_ACTION_##name,
    DELIVERY_ACTION_TABLE(ACTION_ENUM)
#undef ACTION_ENUM
} DeliveryAction;

typedef enum Verdict {
#define VERDICT_ENUM(name, text, meaning) VERDICT_##name,
    VERDICT_TABLE(VERDICT_ENUM)
#undef VERDICT_ENUM
} Verdict;

typedef enum DeliveryReason {
#define REASON_ENUM(name, code, meaning) REASON_##name,
    DELIVERY_REASON_TABLE(REASON_ENUM)
#undef REASON_ENUM
} DeliveryReason;

// StatusFamily is whose words are asked for; a rule's kind has one (domain/rule.h).
typedef enum StatusFamily { STATUS_T, STATUS_N, STATUS_J, STATUS_M, STATUS_W } StatusFamily;
enum { STATUS_FAMILY_COUNT = 5 };

#define DELIVERY_STATE_COUNT TABLE_ROWS(DELIVERY_STATE_TABLE)

const char *delivery_state_text(DeliveryState state);
bool delivery_state_parse(Str text, DeliveryState *ret);
bool delivery_is_final(DeliveryState state);
bool delivery_is_live(DeliveryState state); // has a row in the queue
bool delivery_may(DeliveryState state, DeliveryAction action);
const char *delivery_action_text(DeliveryAction action);
const char *delivery_action_participle(DeliveryAction action); // empty: not for persons
const char *verdict_text(Verdict verdict);
const char *reason_code(DeliveryReason reason);
const char *reason_meaning(DeliveryReason reason);

// Promise is the part of a delivery that never changes: what was promised, to whom, by which
// version of which rule. Whoever claims, shows or sends a delivery has it whole.
typedef struct Promise {
    int64_t tenant;
    Uuid id, event;
    Str public_id;
    int64_t rule, version; // the rule's number, and which of its versions
    int64_t lane, site;
    Instant triggered_at;
    Str address, locale, customer_ref, entity; // none when not given
} Promise;

// Step is what falls due at the queue row's due_at. It follows from the state, but for waiting,
// where it tells a reminder from an expiry, and for sending. A claim leaves both as they are: while
// a node sends it, a delivery keeps its place in its lane. One that somebody outside has, who may
// take hours, does not stand in its lane's way: what falls due is the end of the lease.
typedef enum Step {
    STEP_SEND = 1,   // pending, retrying, sending, waiting for a reminder
    STEP_LEASE = 2,  // sending, outside
    STEP_EXPIRE = 3, // waiting: no answer came
} Step;

// Outcome is what became of one attempt: data, never an error.
typedef struct Outcome {
    Verdict verdict;
    DeliveryReason reason;
    int code;         // the protocol's own, such as an HTTP status; 0 for none
    Str provider_id;  // the far side's id for it; none
    Str detail;       // what the far side said, capped; none
    Span retry_after; // a floor for the next try, already capped; 0 for none
    Span lease;       // elsewhere: how long the far side has to tell; 0 otherwise
    bool is_captured; // it was sent nowhere, and can be read back
} Outcome;

// Live is the changing part of a delivery while it is in the queue.
typedef struct Live {
    DeliveryState state;
    Step step;
    Instant due_at;
    int fence;    // grows with every claim, and is never taken back
    int attempt;  // number of the last attempt that was begun
    int failures; // of the current send
    int send;     // number of the last send begun; 0 before the first
    int reminders_left;
    Instant triggered_at;
    Instant first_due_at; // of the current send: where its budget of time begins
    Instant last_sent_at; // start of the last attempt that was delivered; INSTANT_NONE
    Instant opened_at;    // when the addressee first looked; INSTANT_NONE

    // While sending; INSTANT_NONE and 0 otherwise.
    Instant started_at;  // of the attempt under way
    Instant lease_until; // nobody else may touch it before
    int64_t holder;      // the node whose lease it is; 0: a worker outside
} Live;

// live_is_sound: the row is one that Peal could have written to the queue. Whoever writes to the
// database beside it may leave others; no function below takes such a row as it is.
bool live_is_sound(const Live *live);

// live_mended is an unsound row with figures that can be worked with, so that it can be parked or
// called off. What a settle is guarded by, its fence and its holder, is kept.
Live live_mended(const Live *live);

// parked_mended is the same for a row of those that ended: it is taken for parked.
bool ended_is_sound(const Live *live);
Live parked_mended(const Live *live);

// outcome_mended is an outcome that was read: what is no verdict is unknown, what is no reason is
// unreadable. reason_mended is the latter alone.
Outcome outcome_mended(Outcome outcome);
DeliveryReason reason_mended(DeliveryReason reason);

// Settlement is what becomes of a delivery: the row to write. For a live state, live is the new
// queue row; otherwise live holds the figures to keep and expires_at when a parked delivery that
// awaits an answer expires (INSTANT_NONE otherwise).
typedef struct Settlement {
    Live live;
    DeliveryReason reason;
    Instant expires_at;
} Settlement;

// delivery_first is the row a new delivery starts with.
Live delivery_first(const Plan *plan, Instant due_at, Instant triggered_at);

// delivery_claim is the row while an attempt is under way: the attempt's number is the next one,
// and it begins the next send unless it tries again what has failed. The SQL of a claim says the
// same, so that it takes one trip; the store suite compares the two.
Live delivery_claim(const Live *live, Instant now, Instant lease_until, int64_t holder);

// delivery_pull is the row while somebody outside has it, until the lease ends or it is told what
// became of it: a claim that leaves the lane.
Live delivery_pull(const Live *live, Instant now, Instant lease_until);

// delivery_renew is what a sign of life from outside makes of it. A lease never shortens.
Settlement delivery_renew(const Live *live, Instant lease_until);

// delivery_release gives a claim back of which nothing was sent: the row is as it was before, but
// for the fence, and no attempt is counted. One that was pulled is due since then.
Settlement delivery_release(const Live *live, DeliveryState was);

// delivery_pass_on leaves a delivery that waits to be sent as it is, for another lane.
Settlement delivery_pass_on(const Live *live);

// delivery_settle is what an outcome makes of a delivery. live is the row as claimed (state
// SENDING), or as it stands outside; jitter is from 0 to 1. Elsewhere, it stays SENDING.
Settlement delivery_settle(const Live *live, const Plan *plan, const RetryPolicy *policy,
                           const Outcome *outcome, Instant now, double jitter);

// delivery_stay leaves a delivery whose attempt failed in its place, due as before and with its
// budget untouched: in an ordered lane nothing may overtake it, and it is never given up.
Settlement delivery_stay(const Live *live, DeliveryReason reason);

// delivery_go_on is what a claimed delivery is while it has more targets than one attempt carries:
// due again at a time, under the same send; no failure is counted.
Settlement delivery_go_on(const Live *live, Instant due_at);

// delivery_refuse parks a claimed delivery that was not even tried: there is no way out for it. No
// attempt is counted; its send was begun, and a person's retry begins it again. What the recipient
// does not want is cancelled instead: nobody is to decide about it.
Settlement delivery_refuse(const Live *live, const Plan *plan, DeliveryReason reason, Instant now);

// delivery_recur is what a settlement is for an occurrence of a schedule that comes again, at next
// (INSTANT_NONE where it does not): a retry that does not fall before that is the next occurrence,
// and where nobody handles it, nobody need decide about it. Either way it ends.
Settlement delivery_recur(Settlement to, Instant next);

// delivery_park hands a delivery to a person whatever its plan says: there is none to be read.
Settlement delivery_park(const Live *live, DeliveryReason reason);

// delivery_expire is the end of one that was waited for in vain.
Settlement delivery_expire(const Live *live);

// delivery_act_on is what a person's action, or an event's recall, makes of a delivery. A parked
// one that is retried is due now, its failures back to none, its place in the plan and its attempt
// number kept.
Settlement delivery_act_on(const Live *live, DeliveryAction action, Instant now);

// delivery_status is the family's word for where a delivery stands: of live, only what tells of the
// past counts (last_sent_at, opened_at, failures). NULL where the family has none.
const char *delivery_status(StatusFamily family, DeliveryState state, const Live *live);

// delivery_expires_at: when a delivery with no send due expires.
Instant delivery_expires_at(const Plan *plan, Instant last_sent_at, Instant triggered_at);
