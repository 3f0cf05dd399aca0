// unpack.h - what a hook becomes: the events that its provider reads from the bytes that came.
// Pure.
//
// Nothing of a hook was looked into on its way in. Here it is, by whoever drains the inbox: opened
// where it was gzip, up to a ceiling, and read by its provider. One that cannot be read fails by
// itself; what was read is the same however often it is, ids and all, so that a hook may be
// processed again.
#pragma once

#include "domain/event.h"
#include "providers/provider.h"
#include "store/inbox.h"

enum {
    UNPACK_OPENED_MAX = 25 << 20, // bytes of a body that was gzip
    UNPACK_EVENTS_MAX = 10000,    // that one hook may bring
    UNPACK_BYTES_MAX = 32 << 20,  // of the payloads of all its events
};

// Unpacked is what there is in a hook, or why it cannot be known.
typedef struct Unpacked {
    InboxReason reason; // INBOX_REASON_NONE: it was read
    Str error;          // in words; none
    ProviderRead read;
    size_t size; // of its body, as far as it was opened
} Unpacked;

// unpack reads a hook. providers are by ProviderName; NULL: those that Peal knows.
Unpacked unpack(Arena *arena, const InboxRow *row, const Provider *const *providers);

// unpack_event makes the nth event, which is the integration's (none: nobody's). Its payload has
// what came as raw while it is not longer than max with it; ERR_TOO_LARGE where it is even without.
Err unpack_event(Arena *arena, const InboxRow *row, const Unpacked *unpacked, size_t n,
                 Str integration, size_t max, Event *ret, Error *error) MUST_USE;
