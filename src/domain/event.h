// event.h - something that happened, normalized and immutable.
//
// An Event is built from an API body (event_build), from one item of a batch (event_build_item) or
// from a CloudEvent (cloudevent.h), and checked against the limits below. It borrows from the
// arena of the request. Payload and recipient keep both their parsed form, for filters, and their
// compact text, for the store.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/json.h"
#include "base/str.h"
#include "domain/field.h"

enum {
    EVENT_KIND_MAX = 200,
    EVENT_SOURCE_MAX = 500,
    EVENT_IDENTITY_MAX = 500,
    EVENT_ENTITY_MAX = 200,
    EVENT_CORRELATION_MAX = 200,
    EVENT_TOPIC_MAX = 200,
    EVENT_ADDRESS_MAX = 1000,
    EVENT_ITEMS_MAX = 10000,
    EVENT_PAYLOAD_MAX = 1 << 20, // unless the installation says otherwise
    EVENT_RECIPIENT_MAX = 64 * 1024,
};

// EVENT_KIND_RESPONSE is the kind of what says that somebody answered a survey.
#define EVENT_KIND_RESPONSE S("response-completed")

// EventAnswer is an answer to a question of a survey that is being answered (answer.h).
typedef struct EventAnswer {
    Str question;
    const Json *value;
} EventAnswer;

typedef struct Event {
    Uuid id;
    int64_t tenant;
    Str kind;
    Str source;         // who sent it: "ingest", "api", or a CloudEvents source
    Str identity;       // the caller's own id for it, unique with source; none: no identity
    Str entity;         // what it is about, such as booking:12345; none
    Str correlation_id; // none
    Str topic;          // where it was published (inbox rows); none
    int schema_version; // of its payload, as its maker counts; 0: none was said
    Str trace;          // the traceparent it came with (domain/trace.h); none
    Instant received_at;
    Instant occurred_at; // INSTANT_NONE when not said
    Str payload;         // compact JSON
    Str recipient;       // compact JSON; none
    const Json *payload_json;
    const Json *recipient_json;
    int64_t site;      // that it came from (store/site.h); 0: none
    int depth;         // how many events it stems from, one by the other; 0: it came from outside
    bool is_answering; // no event yet: somebody answers a survey, and has answered this much of it
    const EventAnswer *answers;
    size_t answer_count;
} Event;

// event_build reads a body by the rows of event_shape. It fills all but id, tenant,
// received_at and trace.
extern const Shape event_shape;
Err event_build(Arena *arena, const Json *body, Event *ret, Error *error) MUST_USE;

// event_build_item reads an item of a batch whose kind was given once, by event_item_shape. source
// becomes "ingest".
extern const Shape event_item_shape;
Err event_build_item(Arena *arena, Str kind, const Json *item, Event *ret, Error *error) MUST_USE;

// event_build_row is for what came as columns (store/inbox.h): ret holds its texts, payload is
// JSON. Texts that no body could hold are refused as event_build() would.
Err event_build_row(Arena *arena, Str payload, Event *ret, Error *error) MUST_USE;

// event_check_size refuses an event that is too long for its row, with ERR_TOO_LARGE. Every door
// asks it, last: whatever is accepted is read, claimed and sent whole later on.
Err event_check_size(const Event *event, size_t payload_max, Error *error) MUST_USE;

// event_parse fills payload_json and recipient_json from their texts, as they were stored.
Err event_parse(Arena *arena, Event *event, Error *error) MUST_USE;

// event_find looks up a dotted path in the event: "templateId" (given apart, for it is the
// trigger's), "recipient.*", "candidate.*" or "payload.*", "event.kind|id|source|entity|
// correlationId|occurredAt|receivedAt", or a bare payload member. The five roots are reserved: a
// payload member of such a name is reached by "candidate.". Objects go by member, arrays by index;
// a member whose name contains dots is found too, after plain nesting. Of a response, a bare path
// is a question's id first, and what its payload lacks is looked for in that of the event which was
// answered. Returns a view whose type is JSON_ABSENT if none.
enum { FOUND_MADE_MAX = 40 };

typedef struct Found {
    JsonType type;
    const Json *json;          // when it is part of a document
    Str text;                  // otherwise, with type JSON_STRING; at is NULL when the text
    char made[FOUND_MADE_MAX]; // was made here (an id, a time): so ask found_str()
} Found;

Found event_find(const Event *event, Str template_id, Str path);

// found_str is the string value; none when it is not a string. It lives as long as found.
Str found_str(const Found *found);

// event_text_at applies a trigger's path, such as that of the address; none when there is no such
// string (a number is taken as its text).
Str event_text_at(Arena *arena, const Event *event, Str template_id, Str path);
