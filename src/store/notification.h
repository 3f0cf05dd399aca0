// notification.h - the lists that notifications are for, as rules that the door can decide by, and
// the way from a notification's id to its delivery.
//
// A notification (domain/notification.h) comes in by any door that takes events. It is for the list
// that it names, through the list's first channel of its type: whoever decides an Accept names the
// rules of its notifications first. A list that nobody has defined is named all the same, with
// version 0, and a type that the list has no channel for goes nowhere (LANE_NOWHERE): a site must
// not lose what it handed on. Both are parked with their reason; tried again, they are named anew.
#pragma once

#include "domain/notification.h"
#include "store/accept.h"
#include "store/queue.h"

// notifications_name names the lists of an accept's notifications as the snapshot has them, before
// accept_decide() is called with it. False where one has no number yet: then they are named inside
// the transaction.
bool notifications_name(Accept *accept, const Registry *registry);

// notifications_name_now does that on tx->registry, unless the accept is decided on it, and gives
// numbers to what has none.
Err notifications_name_now(Tx *tx, Accept *accept, Error *error) MUST_USE;

// notifications_rename names the lists of those deliveries anew that go to one.
Err notifications_rename(Tx *tx, int64_t tenant, SettleBatch *batch, Error *error) MUST_USE;

// notification_find is the delivery of a notification; ERR_NOT_FOUND for another tenant's.
Err notification_find(Db *db, Arena *arena, int64_t tenant, Uuid id, Uuid *ret,
                      Error *error) MUST_USE;

extern const Statement *const notification_statements[]; // ends with NULL
