// cloudevent.h - CloudEvents 1.0 over HTTP, in its three modes, turned into an Event.
//
// type becomes kind, source and id the identity, time occurredAt, subject the entity, data the
// payload. data_base64 and data that is not JSON are kept as {"data_base64":…} or a JSON string.
// specversion must be 1.0; id, source and type must be there and not empty. Extension attributes
// are dropped, except traceparent and correlationid, which become the correlation id; traceparent
// is also the event's trace.
#pragma once

#include "domain/event.h"

typedef struct CloudHeader {
    Str name;  // as received
    Str value; // percent-encoding not yet undone
} CloudHeader;

// cloudevent_shape has the rows of one; a structured event is read by it, and so are the headers of
// a binary one.
extern const Shape cloudevent_shape;

// cloudevent_structured reads one application/cloudevents+json document.
Err cloudevent_structured(Arena *arena, const Json *body, Event *ret, Error *error) MUST_USE;

// cloudevent_binary reads ce-* headers and a body of the given content type.
Err cloudevent_binary(Arena *arena, const CloudHeader *headers, size_t count, Str content_type,
                      Str body, Event *ret, Error *error) MUST_USE;
