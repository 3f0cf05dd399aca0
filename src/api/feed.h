// feed.h - what happens, told live to whoever listens (GET /v1/stream).
//
// A listener is a stream and a place in its tenant's order (store/sequence.h). Nothing is kept for
// it but that place: what it is told next is read from the journal, so that it loses nothing by
// being slow, by coming back, or by coming back to another node. Those who stand at the same place
// share what is read.
//
// One thread, the crier, goes round when somebody says that there may be news (feed_wake), and else
// only to say to a quiet stream that it lives. Each round is one read of the streamer's. A client
// that takes nothing for FEED_SLOW is told so and dropped; one whose key is gone as well.
//
// Hooks that came to this node are told beside that order, to those who may see how sources are
// configured: the last FEED_HOOKS are remembered, and who is slower misses some.
//
// While anybody listens the sequencer hurries (engine_hurry). Where other nodes write to the store
// too, the crier also looks once a second: their rings are hints.
#pragma once

#include "api/api.h"
#include "api/frame.h"
#include "providers/provider.h"

typedef struct Feed Feed;

enum { FEED_LISTENERS_MAX = 500, FEED_HOOKS = 256 };

#define FEED_QUIET ((Span) 15 * SPAN_SECOND) // a comment after so long
#define FEED_SLOW ((Span) 10 * SPAN_SECOND)
#define FEED_LOOK SPAN_SECOND // by itself, where the store is shared
#define FEED_NOW (-1)         // begin behind what has a number now

Feed *feed_open(Api *api);

// feed_stop ends all streams, with a word, and turns new ones away; feed_free comes when the server
// is closed.
void feed_stop(Feed *feed);
void feed_free(Feed *feed);

// feed_wake says that there may be news. From any thread; NULL is harmless.
void feed_wake(Feed *feed);

// feed_count is how many streams are open; a gauge.
size_t feed_count(Feed *feed);

// HookSeen is a webhook that came here (hooks_api.c). What was refused is stored nowhere: of it
// this is all that there is, for a while, in the memory of this node; nothing that it said is in
// it.
typedef struct HookSeen {
    int64_t tenant;
    Str source; // copied
    ProviderName provider;
    HookVerdict verdict;
    size_t size; // bytes of its body
    Uuid id;     // in the inbox; none: it was refused
    Instant at;
} HookSeen;

// feed_hook tells those who listen for hooks. From any thread; it costs nothing while nobody does.
void feed_hook(Feed *feed, const HookSeen *seen);

// feed_join makes a stream of a START call, or answers it. after is the number that its client was
// told last, or FEED_NOW.
void feed_join(Feed *feed, Call *call, unsigned kinds, int64_t after);
