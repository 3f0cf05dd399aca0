// keeper.h - the thread that raises the store's epoch every EPOCH_EVERY (store/epoch.h).
//
// What stands outside of the audit's chains is renewed with it (store/audit_outside.h).
//
// It has a thread of its own because writing outside takes two syncs of a disk, for which neither
// the engine nor a lane of the writer should wait.
#pragma once

#include "store/writer.h"

typedef struct Keeper Keeper;

Keeper *keeper_start(Writer *writer, const EpochGuard *guard);
void keeper_stop(Keeper *keeper); // harmless for NULL

// keeper_raise raises the epoch once, inside and outside, and waits for it. work, which may be
// NULL, is done in the same transaction.
Err keeper_raise(Writer *writer, const EpochGuard *guard,
                 Err (*work)(Tx *tx, void *with, Error *error), void *with, Error *error) MUST_USE;
