// posting.h - calls that post events: what they share once their bodies are read.
//
// call->with of such a call begins with an Accept. Its set (RouteSet) is these three and an answer
// of its own; a call whose events can no longer be decided is refused alone.
#pragma once

#include "api/api.h"
#include "store/accept.h"

size_t posting_weigh(const Call *call);
Err posting_decide(Call *call, Error *error);
Err posting_write(Tx *tx, Call *const *calls, size_t count, Error *error);

// posting_accept is an empty Accept for so many events.
Accept posting_accept(const Call *call, size_t count);

// posting_trace is the trace that the request is part of (domain/trace.h), and with it each of its
// events that names none of its own; none.
Str posting_trace(Call *call);

// posting_take notes what was wrong with an item, or that it is too large, with the item: one that
// is bad fails alone.
void posting_take(Call *call, AcceptItem *item, Err err, Error *error);

// posting_put_error writes why an item is bad, as the member "error".
void posting_put_error(JsonOut *json, const AcceptItem *item);
