// phrase.h - a text with placeholders: compiled once, filled for each message.
//
//     Hello {{guestName}}, see you on {{checkinDate | date:"dd-MMM-yyyy"}}
//
// A placeholder names a value of the event: of its payload first, then recipient.*, event.* (kind,
// id, entity, occurredAt, receivedAt) and url, the message's link. Names are
// read without regard to case, and a path answers to its flattened name too: guest.phone,
// guestPhone and GUEST.PHONE are one. Elements of arrays go by index. The exact path wins; of
// several others the first in the payload does. Texts and numbers are put as they are, objects and
// arrays as compact JSON; null counts as missing, which is no failure.
//
// date wants RFC 3339, a date, or a number of seconds or milliseconds, and writes the moment as it
// was given, in its own offset: y M d H h m s S a E as in Unicode's patterns, months and days in
// English, '' around what is meant as it stands.
//
// There is nothing else: no loops, no conditions, no way to leave the escaping out. So a text
// cannot run for long; what it takes and gives is bounded all the same.
#pragma once

#include "domain/event.h"

enum {
    PHRASE_BYTES_MAX = 256 << 10, // of the text
    PHRASE_HOLES_MAX = 500,       // placeholders in it
    PHRASE_NAME_MAX = 200,        // bytes of a name
    PHRASE_FORMAT_MAX = 100,      // bytes of a date's format
    PHRASE_FILLED_MAX = 1 << 20,  // bytes of what is made of it
    PHRASE_STEPS_MAX = 1 << 21,   // members looked at for one message
    PHRASE_MISSING_MAX = 20,      // missing placeholders that are noted
};

typedef struct Phrase Phrase;

// phrase_compile notes every problem of a text, which lies at pointer in its document, and returns
// NULL where there is one. It keeps references into text.
const Phrase *phrase_compile(Arena *arena, Str text, Str pointer, Error *error);

// phrase_names lists the names of its placeholders, as they were written.
size_t phrase_names(const Phrase *phrase, Arena *arena, Str **ret);

// Filling is what the phrases of one message are filled from, and how.
typedef struct Filling {
    const Event *event; // parsed
    Str url;            // the link; none
    bool keeps_missing; // what is missing stays as it was written; else it is left empty
    size_t steps;       // members that were looked at so far
    Str missing[PHRASE_MISSING_MAX];
    size_t missing_count; // of those that are noted, each once
} Filling;

// phrase_fill fails where a value is no date, or where there is too much of it: the sentence names
// the placeholder. Values are escaped where the phrase is_html.
Err phrase_fill(const Phrase *phrase, Arena *arena, Filling *filling, bool is_html, Str *ret,
                Error *error) MUST_USE;

// phrase_knows says whether an event has what a placeholder of this name asks for.
bool phrase_knows(Str name, const Event *event);
