// forward.h - a row on its way from a site to central: what the site took in, under the id that it
// got there.
//
// At central a row becomes an event like any other, by the same rules as a call of its kind would.
// The id is the event's identity, so that a row may be handed on as often as a lost answer demands:
// the first one counts. The site is the key's; a row that names another is refused.
//
// To add a kind, add a row to FORWARD_TABLE and its reader to forward.c.
#pragma once

#include "domain/audit.h"
#include "domain/defer.h"
#include "domain/event.h"

// clang-format off
#define FORWARD_TABLE(X)              \
    /* name         text           */ \
    X(NOTIFICATION, "notification")   \
    X(EVENT,        "event")          \
    X(AUDIT,        "audit")          \
    X(DEFER,        "defer")          \
    X(DEFER_CANCEL, "defer-cancel")
// clang-format on

typedef enum ForwardKind {
#define FORWARD_ENUM(name, text) FORWARD_##name,
    FORWARD_TABLE(FORWARD_ENUM)
#undef FORWARD_ENUM
} ForwardKind;

enum {
    FORWARD_ROWS_MAX = 10000,
    FORWARD_PAIRS_MAX = 1000000, // rows times the triggers that look at them
};

extern const Shape forward_row_shape;

// Forwarded is what central makes of a row: an event, all but its site's number; and what the audit
// chain is to be told, that a notification was enqueued at the site. An audit row tells that alone;
// a notification's own row tells it as well, under the same id, so that it is told once.
typedef struct Forwarded {
    ForwardKind kind;
    Event event;
    bool has_brought;
    AuditBrought brought;
    bool is_deferral;
    Deferral deferral;
} Forwarded;

// forward_read reads a row that the site of this name handed on.
Err forward_read(Arena *arena, const Json *json, Str site, Instant now, Forwarded *ret,
                 Error *error) MUST_USE;

// forward_keep makes the event that a site keeps of a row, whose text it becomes: of a kind such as
// forward.notification, checked as central will check it, known by the same identity, and found by
// its id as its entity.
Err forward_keep(Arena *arena, Str text, Event *ret, Error *error) MUST_USE;

// forward_event is an event as the body of a row.
Str forward_event(Arena *arena, const Event *event);

// forward_text is the row of what a site has taken in: trace is what it came with, or none; body is
// an object as JSON.
Str forward_text(Arena *arena, ForwardKind kind, Uuid id, Instant enqueued_at, Str trace, Str body);
