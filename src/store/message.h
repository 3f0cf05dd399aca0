// message.h - the messages of an entity: what was asked for again and by whom, which events it had,
// and calling off what is still unsent.
//
// A message is a delivery that a template made. What a person asks to have sent again is an event
// of its own, of kind and content like the one that it repeats, and a row here that says who asked.
#pragma once

#include "domain/event.h"
#include "store/tx.h"

enum { MESSAGE_REQUEST_MAX = 100, ENTITY_KINDS_MAX = 100, ENTITY_CANCEL_MAX = 10000 };

// Resend is a request to send again.
typedef struct Resend {
    int64_t tenant;
    Uuid event; // that was made for it
    Str request;
    Uuid actor;    // the key of who asked
    bool is_found; // result of resend_find()
} Resend;

void resend_add(Tx *tx, const Resend *rows, size_t count);

// resend_find fills in request and actor of those whose event was made for one.
Err resend_find(Db *db, Arena *arena, Resend *rows, size_t count, Error *error) MUST_USE;

// entity_events reads the newest event of each kind that an entity has had, of at most
// ENTITY_KINDS_MAX kinds.
Err entity_events(Db *db, Arena *arena, int64_t tenant, Str entity, Event **ret, size_t *ret_count,
                  Error *error) MUST_USE;

// EntityCancel is what to call off; what is none does not restrict.
typedef struct EntityCancel {
    int64_t tenant;
    Str entity, event_kind, channel;
    Str note;          // why; none
    int64_t cancelled; // result
    bool is_cut;       // result: there is more than ENTITY_CANCEL_MAX
} EntityCancel;

// entity_cancel fails with entity_unknown(), ERR_NOT_FOUND, where the entity had no event.
Err entity_unknown(Str entity, Error *error);
Err entity_cancel(Tx *tx, EntityCancel *cancel, Error *error) MUST_USE;

extern const Statement *const message_statements[]; // ends with NULL
