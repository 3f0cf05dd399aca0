// channel.h - how a message leaves Peal.
//
// A channel type turns one Message into one Outcome. It knows nothing of queues, retries, leases
// or the database, and it cannot make Peal fail. A type is two pure functions around a transfer:
// request() says what to send, judge() says what the answer means. A type without request() has
// capture() instead: nothing leaves the machine, the attempt itself is the record.
//
// To add one: write channels/<type>.c with a single exported ChannelType, and add a line to
// channel_types[] in channel.c.
#pragma once

#include "base/arena.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/id.h"
#include "base/json.h"
#include "domain/delivery.h"
#include "net/transfer.h"

// Message is what one attempt sends.
typedef struct Message {
    Promise promise;
    Str event_kind, trigger_id, channel;
    int send, attempt;
    Str url; // the link, made from the installation's template; none
    Instant occurred_at;
    Str payload; // JSON
    Instant now;
} Message;

// message_json is the body every HTTP receiver gets, and what /v1/captured shows.
Str message_json(Arena *arena, const Message *message);

// message_link fills the installation's template of links; none where there is no template.
Str message_link(Arena *arena, Str template, Str public_id);

typedef struct ChannelType {
    const char *type;

    // secrets names the members of config that are sealed at rest and never shown; a name that
    // ends in "/*" is an object each of whose members is.
    const char *const *secrets; // NULL-terminated; NULL for none

    // url names the member that says where messages go: secrets do not follow it elsewhere.
    const char *url; // NULL for none

    // check says whether config (at pointer in its document) is usable; problems go into error.
    // It runs when a channel is saved, so that a typo is told to the person who made it.
    void (*check)(const Json *config, Str pointer, Error *error);

    // request describes what to send. config has its secrets opened. An error here parks the
    // delivery with bad-request and the sentence.
    Err (*request)(Arena *arena, const Message *message, const Json *config, Transfer *ret,
                   Error *error);

    // judge never fails: every answer means something.
    Outcome (*judge)(Arena *arena, const TransferResult *result, Instant now);

    // capture stands in for both where there is no request: it says at once what became of the
    // attempt. config may be NULL.
    Outcome (*capture)(Arena *arena, const Message *message, const Json *config);
} ChannelType;

const ChannelType *channel_type_find(Str type);   // NULL when unknown
const ChannelType *channel_type_at(size_t index); // NULL past the end: for lists in messages

// channel_secrecy says what of a member of config is secret.
typedef enum Secrecy { SECRECY_NONE, SECRECY_WHOLE, SECRECY_EACH } Secrecy;
Secrecy channel_secrecy(const ChannelType *type, Str member);

extern const ChannelType channel_memory;
extern const ChannelType channel_http;

// judge_http is the reading of HTTP answers that most types share: 2xx delivered; 408 425 429 and
// 5xx but 501 and 505 transient; 410 permanent with reason gone; the rest permanent. Retry-After in
// seconds or as a date is a floor of at most 24 h. An answer that broke off is none, whatever its
// status says, but the status is noted. The detail is what was answered, as clean text
// of at most RESPONSE_KEPT_MAX bytes.
enum { RESPONSE_KEPT_MAX = 4096 };
Outcome judge_http(Arena *arena, const TransferResult *result, Instant now);
