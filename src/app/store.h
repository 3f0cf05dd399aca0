// store.h - brings a store up: tables, identity, keys, node; and what serve needs of it.
#pragma once

#include "app/config.h"
#include "app/keeper.h"
#include "base/clock.h"
#include "store/key.h"
#include "store/reader.h"
#include "store/writer.h"

// Connections of a node: those that write, and that look one thing up (SQLite has one of each: it
// is no way off); that read lists, that look for metrics, that pour.
enum {
    STORE_PENS = 3, // one of them is for what takes long
    STORE_QUICK_READERS = 2,
    STORE_SLOW_READERS = 2,
    STORE_WATCHERS = 1,
    STORE_STREAMERS = 1
};

typedef struct StoreUp {
    Writer *writer;
    Reader *reader, *watcher, *streamer;
    Keeper *keeper;
    const EpochGuard *guard;
    int64_t node;
    KeyStart keys;       // the first key, when one was made; those that PEAL_ADMIN_KEY replaced
    bool was_held;       // it starts held because it is a copy
    bool is_key_foreign; // the master key is not this database's: this node seals nothing
} StoreUp;

// store_up opens everything, or nothing. ERR_UNAVAILABLE, ERR_BUSY: try again later; anything else
// will not pass by itself. The manual clock is set to where it stood.
// Where ring is empty and the database holds no secrets, a master key is made.
Err store_up(Arena *arena, const Config *config, KeyRing *ring, Clock *clock, Clock *real,
             Random *random, StoreUp *ret, Error *error) MUST_USE;
void store_down(StoreUp *store, Clock *real);
