// bell.h - nodes that share a store wake each other: what one has committed, another may do.
//
// On PostgreSQL a bell is a thread with a connection of its own, which sends NOTIFY and hears the
// others' by LISTEN. It rings after the commit, never inside the transaction, where NOTIFY would
// make all commits of the database wait for each other; and as often as ring.h allows. Who is heard
// by nobody loses nothing but time: every node looks for itself once a second. A connection that is
// lost is made again, and whatever was missed meanwhile is taken to be anything.
//
// The same thread tells subscribers in SQL, on the channel `peal`, whose numbers went on
// (notice.h); nodes ring on one of their own. What applications notify on `peal` (sql/002_emit) is
// heard as a ring that may mean anything.
//
// A SQLite file belongs to one process: there is no bell, and NULL is harmless to all of these.
#pragma once

#include "base/clock.h"
#include "domain/move.h"

typedef struct Bell Bell;

// BellHeard is told what another node did, on the bell's thread: of each lane where something is
// due, as a move that says no more than that; or, without moves, that anything may have changed.
typedef void BellHeard(void *with, const Move *moves, size_t count);

typedef struct BellOptions {
    Str url;      // outlives the bell
    Clock *clock; // that deliveries run by
    BellHeard *heard;
    void *with;
    void (*numbered)(void *with); // another node's numbers went on, on the bell's thread; NULL
    void *numbered_with;
} BellOptions;

Bell *bell_open(const BellOptions *options);
void bell_close(Bell *bell);

// bell_tell tells subscribers that a tenant's numbers went on; none: of some that are not named.
void bell_tell(Bell *bell, Str tenant, int64_t number);

// bell_ring tells the others, soon, of what was committed here (as WriterFollower is told).
void bell_ring(Bell *bell, const Move *moves, size_t count);
