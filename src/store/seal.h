// seal.h - which master key this database's secrets are sealed with.
//
// The database keeps a mark: a known text, sealed with the master key of the installation. A node
// whose keys cannot open it would seal what no other node can read, and cannot read what they
// sealed. Such a node is foreign: it takes events in and sends through the channels it can, but it
// seals nothing, and a key is never made for it. Only a database without any secret gets its mark
// for the asking.
#pragma once

#include "store/tx.h"

typedef enum SealFit {
    SEAL_UNMARKED, // nothing was ever sealed here
    SEAL_FITS,
    SEAL_OUTDATED, // it fits, but not with the newest of the keys
    SEAL_FOREIGN,
} SealFit;

// seal_fit compares the keys with the mark, and where there is none with the secrets that registry
// (read with the same keys) could not open. ring may be empty.
Err seal_fit(Db *db, Arena *arena, const KeyRing *ring, const Registry *registry, SealFit *ret,
             Error *error) MUST_USE;

// seal_mark makes the newest key of the ring the database's.
void seal_mark(Tx *tx, const KeyRing *ring);
