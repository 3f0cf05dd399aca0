// frame.h - what listeners are told, as the frames of server-sent events. Pure.
//
//     id: 1203                       the number of the fact (store/sequence.h)
//     event: delivery
//     data: {"id":"…","state":"delivered","time":"…"}
//
// A number that is missing is told as well: frames go on behind it, and say so (gap). A frame that
// is told to have no number says nothing of the order: hooks, and what ends a stream.
#pragma once

#include "base/json.h"
#include "store/sequence.h"

// clang-format off
#define FRAME_TABLE(X)                                                                             \
    /* name      word         what it tells of                                                  */ \
    X(EVENT,     "event",     "an event that came in")                                             \
    X(DELIVERY,  "delivery",  "a delivery that moved, or was made")                                \
    X(HOOK,      "hook",      "a webhook that came to this node, whether or not it was let in")
// clang-format on

typedef enum FrameKind {
#define FRAME_ENUM(name, word, meaning) FRAME_##name,
    FRAME_TABLE(FRAME_ENUM)
#undef FRAME_ENUM
        FRAME_KINDS
} FrameKind;

// Kinds are asked for as a set.
#define FRAME_SET(kind) (1u << (kind))
#define FRAME_NUMBERED (FRAME_SET(FRAME_EVENT) | FRAME_SET(FRAME_DELIVERY)) // unless said

// frame_kinds reads "event,delivery"; false: something else is named, or nothing.
bool frame_kinds(Str text, unsigned *ret);

// frames_write writes the frames of facts that follow a number, as far as their kinds are asked
// for, and of what is missing among them.
void frames_write(Buf *to, const JournalEntry *entries, size_t count, int64_t after,
                  unsigned kinds);

// frame_gap tells that numbers are not kept any more.
void frame_gap(Buf *to, int64_t from, int64_t until);

// frame_place names a number without telling anything, so that who comes back begins behind it.
void frame_place(Buf *to, int64_t number);

// frame_last is what ends a stream from this side, with a code and a sentence.
void frame_last(Buf *to, const char *code, const char *why);
