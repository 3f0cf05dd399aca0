// generic.h - an event of whatever body there is, for those who say nothing of what they send.
//
// Of JSON and of forms the context is what came, of other texts and bytes it says so; title, url,
// id, type and time are taken from the members that most have them in. Refused is only what calls
// itself JSON and is not (ERR_INVALID).
#pragma once

#include "providers/provider.h"

// generic_id is the id of one sending, which stays the same when it is sent again, by the headers
// that senders give it in; none.
Str generic_id(Arena *arena, const Hook *hook);

// generic_read makes the event of a provider; id names the sending, without one its body does.
Err generic_read(Arena *arena, const Hook *hook, ProviderName provider, Str id, ProviderEvent *ret,
                 Error *error) MUST_USE;

// generic_key is the dedup key of what has that id, or that body; what has neither is never the
// same.
Str generic_key(Arena *arena, const Hook *hook, ProviderName provider, Str id);
