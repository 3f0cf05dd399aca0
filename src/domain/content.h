// content.h - what a message says to a person: subject, text and HTML, or the values that a
// provider's own template is filled with.
//
// A message says what its rule's template makes of the event. Without a template it says what the
// event's payload has under these names, which is how a notification speaks:
//
//     {"subject":"…","body":"…","typeData":{"html":"…","template":"…","params":["…"]}}
//
// and, where that is nothing, the link alone. It is made for each attempt anew, from what is
// stored, and kept nowhere: the event and the rule's version never change.
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

enum { CONTENT_PARAMS_MAX = 100 };

// ContentParam is a value for the provider's template; its name is none where they are a list.
typedef struct ContentParam {
    Str name, value;
} ContentParam;

typedef struct Content {
    Str subject;  // of one line: control characters are spaces; none
    Str text;     // plain; none
    Str html;     // none
    Str template; // the provider's own, by its name there; none: the channel's
    const ContentParam *params;
    size_t param_count;
} Content;

// content_is_empty: there is nothing to say.
bool content_is_empty(const Content *content);

// content_of_payload is what an event says by itself; url is the link, or none. Empty where there
// is nothing. What it returns lies in the arena and in the payload.
Content content_of_payload(Arena *arena, const Json *payload, Str url);

// content_line is text on one line: what a header can hold.
Str content_line(Arena *arena, Str text);

// content_put_provider writes "provider":{template, params}.
void content_put_provider(JsonOut *out, const Content *content);
