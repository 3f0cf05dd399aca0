// unpack.h - what a hook becomes: the events that its provider reads from the bytes that came.
// Pure, but for the time that it takes.
//
// Nothing of a hook was looked into on its way in. Here it is, by whoever drains the inbox: opened
// where it was gzip, up to a ceiling, and read by its provider, in a limited time
// (base/patience.h). One that cannot be read fails by itself; what was read is the same however
// often it is, ids and all, so that a hook may be processed again.
#pragma once

#include "base/clock.h"
#include "domain/event.h"
#include "providers/provider.h"
#include "store/inbox.h"

enum {
    UNPACK_OPENED_MAX = 25 << 20, // bytes of a body that was gzip
    UNPACK_EVENTS_MAX = 10000,    // that one hook may bring
    UNPACK_BYTES_MAX = 32 << 20,  // of the payloads of all its events
};

// Unpack is who reads a hook, and what he may spend on it.
typedef struct Unpack {
    const Provider *const *providers; // by ProviderName; NULL: those that Peal knows
    const Clock *clock;
    Span time;          // that it may take
    size_t opened_max;  // bytes that it may open to
    size_t payload_max; // of an event
} Unpack;

// Unpacked is what there is in a hook, or why it cannot be known.
typedef struct Unpacked {
    bool is_long;       // it takes more than was given: nothing is known of it
    InboxReason reason; // INBOX_REASON_NONE: it was read
    Str error;          // in words; none
    ProviderRead read;
    size_t size; // of its body, as far as it was opened
} Unpacked;

// unpack reads a hook. unpack_whole makes each of its events besides, and forgets it: whether all
// can be made is known then before the first is written.
Unpacked unpack(Arena *arena, const InboxRow *row, const Unpack *with);
Unpacked unpack_whole(Arena *arena, const InboxRow *row, const Unpack *with);

// unpack_event makes the nth event, which is the integration's (none: nobody's). Its payload has
// what came as raw while it is not longer than max with it; ERR_TOO_LARGE where it is even without.
Err unpack_event(Arena *arena, const InboxRow *row, const Unpacked *unpacked, size_t n,
                 Str integration, size_t max, Event *ret, Error *error) MUST_USE;

// unpack_has_type: some trigger may ask for the nth event; unpack_reason is why a hook fails, one
// event of which cannot be made.
bool unpack_has_type(const Unpacked *unpacked, size_t n);
InboxReason unpack_reason(Err err);
