// notification.h - a message that somebody asks to have sent to a list.
//
// It is an event of kind `notification`, whose identity is the notification's own id: the same id
// twice is one notification, whatever the second says. Its payload is what was asked for, which is
// also what its content is made of (content.h). It is for one rule, the list that it names, and its
// `type` says through which of the list's channels it goes.
#pragma once

#include "domain/event.h"
#include "domain/trigger.h"

#define NOTIFICATION_KIND S("notification")

enum { NOTIFICATION_SUBJECT_MAX = 2000, NOTIFICATION_TYPE_MAX = 50, NOTIFICATION_SOURCE_MAX = 200 };

// Notification is what was asked for. All but id, list and body may be none.
typedef struct Notification {
    Uuid id; // zero: it has none yet
    Str list, subject, body, type;
    const Json *type_data, *source;
    Instant enqueued_at; // at a site; INSTANT_NONE
} Notification;

extern const Shape notification_body_shape;

// notification_read reads a body, which stands at a place of what came in. Strings are kept by
// reference.
Err notification_read(Arena *arena, const Json *body, Str place, Notification *ret,
                      Error *error) MUST_USE;

// notification_event is the event that a notification comes in as. A moment that has not come yet,
// by the clock of a site that is fast, counts as now: it is to be sent at once.
Err notification_event(Arena *arena, const Notification *notification, Instant now, Event *ret,
                       Error *error) MUST_USE;

// notification_of reads one back from the payload of its event; what is not there is none. Its id
// is left as it is.
void notification_of(const Json *payload, Notification *ret);

// notification_site is the site that the source names; none.
Str notification_site(const Notification *notification);
