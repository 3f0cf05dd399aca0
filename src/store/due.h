// due.h - deliveries whose next send falls due within a time, in the order in which they do.
//
// They are found along the queue's own index, lane by lane: a page costs what it gives, times the
// tenant's lanes. Whatever else a filter names is asked of what was found, so a page may give fewer
// than were asked for and yet say where to go on. Texts and causes cannot be asked for: they have
// walks of their own (delivery.h).
#pragma once

#include "store/delivery.h"

typedef struct DueTimes {
    Instant from; // due at or after
    Instant to;   // due before
} DueTimes;

Err due_page(Db *db, Arena *arena, int64_t tenant, const DueTimes *times,
             const DeliveryFilter *filter, const Walk *walk, DeliveryView **ret, Seen *ret_seen,
             Error *error) MUST_USE;

extern const Statement *const due_statements[]; // ends with NULL
