// channel.h - how messages leave Peal.
//
// A channel type turns a parcel into outcomes: one or more messages of one channel, each to one or
// more targets, that leave together, by one request and one judgement. It knows nothing of queues,
// retries, leases or the database, and it cannot make Peal fail. How a parcel travels is its type's
// carrier, and the carrier says which functions the type has:
//
//     CARRIER_CAPTURE   capture: nothing leaves the machine, the attempt itself is the record
//     CARRIER_TRANSFER  request says what to send, judge what the answer means
//     CARRIER_PROCESS   command says what to run, judge_end what its end means
//     CARRIER_PULLED    none: whoever is outside fetches it and reports (store/report.h)
//
// A verdict of elsewhere says that the far side has taken it on, and reports likewise.
//
// Whoever judges gives every target of every message an outcome. Whoever describes the request may
// give some of them theirs beforehand, such as those whose address is none; who opted out comes
// with his. Where all have one, nothing is to be sent, and the request stays empty.
//
// To add one: write channels/<type>.c with a single exported ChannelType, and add a line to
// channel_types[] in channel.c.
#pragma once

#include "base/arena.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/id.h"
#include "base/json.h"
#include "domain/content.h"
#include "domain/field.h"
#include "domain/rule.h"
#include "domain/target.h"
#include "net/process.h"
#include "net/transfer.h"

// Message is what an attempt of one delivery sends. Its strings are there until the request is
// made; a judgement has its numbers, its ids and its targets.
typedef struct Message {
    Promise promise;
    Str event_kind;
    RuleKind rule_kind; // what made it, whose version the promise has
    Str rule_id;
    Str automation; // that it is a run of by a trigger; none
    int send, attempt;
    Str url;             // the link, made from the installation's template; none
    Instant occurred_at; // of a run: what it was scheduled for
    Str source;          // of its event: of a run, who asked for it (domain/run.h)
    Str trace;           // that the event came with (domain/trace.h); none
    Str payload;         // JSON
    Content content;     // what it says, by its template or where its channel speaks to persons
    Target *targets;
    size_t target_count;
    Str list_name;      // of the list that it goes to; none: it goes to no list
    bool shows_targets; // the list's members may know of each other
} Message;

// Hidden are words that must not be kept of what a far side says (channels/hidden.h).
typedef struct Hidden {
    const Str *words;
    size_t count;
} Hidden;

// Parcel is what one request carries: of messages that may have several targets at most TARGETS_MAX
// in all, and payloads of at most PARCEL_BYTES_MAX, but for one that is larger by itself.
enum { PARCEL_BYTES_MAX = 8 << 20 };

typedef struct Parcel {
    const struct ChannelType *type; // that it goes by
    const Json *config; // of the channel, its secrets opened; NULL: it captures for another
    Message *messages;
    size_t count;
    Arena *arena; // of the request and the outcomes
    Instant now;
    Span lease;      // of a handler that takes on a run; 0: it is none
    Str exec_folder; // of the operator's commands; none
    Hidden hidden;   // from when its request is made
} Parcel;

// target_is_judged: what became of it is known, so that nothing is to be sent to it.
static inline bool target_is_judged(const Target *target)
{
    return target->outcome.verdict != VERDICT_UNKNOWN;
}

// message_judge gives all targets of a message that have none the same outcome; parcel_judge, all
// of a parcel. parcel_is_judged: all have one.
void message_judge(const Message *message, const Outcome *outcome);
void parcel_judge(const Parcel *parcel, const Outcome *outcome);
bool parcel_is_judged(const Parcel *parcel);

// parcel_hide notes the secrets that its request is made of; parcel_redact writes over them in what
// was judged.
void parcel_hide(Parcel *parcel, const Transfer *transfer);
void parcel_redact(const Parcel *parcel);

// message_is_run: it is a run of a job or an automation, and tells of it more than others do.
// message_runs is the name of what is run.
bool message_is_run(const Message *message);
Str message_runs(const Message *message);

// message_json is the body every HTTP receiver gets, and what /v1/captured shows.
Str message_json(Arena *arena, const Message *message);

// message_link fills the installation's template of links; none where there is no template.
Str message_link(Arena *arena, Str template, Str public_id);

typedef enum Carrier {
    CARRIER_CAPTURE,
    CARRIER_TRANSFER,
    CARRIER_PROCESS,
    CARRIER_PULLED,
} Carrier;

typedef struct ChannelType {
    const char *type;
    Carrier carrier;
    int parcel_max;  // messages in one parcel
    int targets_max; // that a request takes of a message, each with its outcome, up to TARGETS_MAX:
                     // with more it goes in several; 0: whom it reaches is the channel's matter
    bool has_content; // it speaks to persons: a message that says nothing is not sent
    bool is_ordered;  // its channels are, whether or not they say so (domain/channel.h: ordered)
    Span timeout;     // of an attempt where its channel says none; 0: as all
    bool is_timeless; // what stands in its lanes is due, whatever the clock says: due_at is its
                      // place

    // config is what the settings may hold, and which of them are secret. They are checked when a
    // channel is saved, so that a typo is told to the person who made it.
    const Shape *config;

    // url names the member that says where messages go: secrets do not follow it elsewhere.
    const char *url; // NULL for none

    // request describes what to send, command what to run. An error here parks the deliveries with
    // bad-request and the sentence.
    Err (*request)(const Parcel *parcel, Transfer *ret, Error *error);
    Err (*command)(const Parcel *parcel, Process *ret, Error *error);

    // progress is what a line of a command's output tells of how far it is; none. It may be NULL.
    Str (*progress)(Str line);

    // judge and judge_end never fail: every answer, and every end, means something.
    void (*judge)(const Parcel *parcel, const TransferResult *result);
    void (*judge_end)(const Parcel *parcel, const ProcessResult *result);

    // capture says at once what became of the attempt.
    void (*capture)(const Parcel *parcel);
} ChannelType;

// channel_reaches_members: the members of a list get its message each by itself. Else the list gets
// one, for all.
static inline bool channel_reaches_members(const ChannelType *type)
{
    return type->carrier == CARRIER_CAPTURE || type->targets_max > 0;
}

// channel_types are those that Peal knows; it ends with NULL.
extern const ChannelType *const channel_types[];

// channel_type_in finds a type in a list that ends with NULL; NULL when it is not there.
const ChannelType *channel_type_in(const ChannelType *const *types, Str type);
const ChannelType *channel_type_find(Str type);   // of those that Peal knows; NULL when unknown
const ChannelType *channel_type_at(size_t index); // NULL past the end: for lists in messages

extern const ChannelType channel_memory;
extern const Shape memory_config_shape; // of its settings, by which failures are rehearsed
extern const ChannelType channel_http;
extern const ChannelType channel_email;
extern const ChannelType channel_forward;
extern const ChannelType channel_exec;
extern const ChannelType channel_worker;

// judge_http is the reading of HTTP answers that most types share: 2xx delivered; 408 425 429 and
// 5xx but 501 and 505 transient; 410 permanent with reason gone; the rest permanent. Retry-After in
// seconds or as a date is a floor of at most RETRY_AFTER_MAX. An answer that broke off is none,
// whatever its status says, but the status is noted. The detail is what was answered, as clean text
// of at most RESPONSE_KEPT_MAX bytes.
enum { RESPONSE_KEPT_MAX = 4096 };
#define RETRY_AFTER_MAX SPAN_DAY
Outcome judge_http(Arena *arena, const TransferResult *result, Instant now);

// judge_text is what somebody else wrote, as UTF-8 without control characters, cut between two
// characters; none when nothing is left. judge_detail is that for an outcome's detail; judge_lines
// keeps lines and tabs.
Str judge_text(Arena *arena, Str text, size_t max);
Str judge_detail(Arena *arena, Str text);
Str judge_lines(Arena *arena, Str text, size_t max);

// judge_retry_after is that floor, judge_id a far side's id as it can be kept: for types that find
// them elsewhere, or judge otherwise.
Span judge_retry_after(const TransferResult *result, Instant now);
Str judge_id(Arena *arena, Str id);
