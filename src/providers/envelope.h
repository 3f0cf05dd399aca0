// envelope.h - what a broker (nango, composio) wraps: whose service it is, and its own webhook.
//
// The broker has verified the service's signature, and has written the body anew: it cannot be
// verified again. What it wraps is read by that service's parse, as if it had come from there, and
// belongs to the connection that the envelope names.
#pragma once

#include "providers/provider.h"

// envelope_provider knows a service by the name that brokers have for it (google-mail, GITHUB);
// false: it is none of ours.
bool envelope_provider(Str name, ProviderName *ret);

// envelope_open reads the body that was wrapped, with the headers that came along. Every event and
// change is then the connection's.
Err envelope_open(Arena *arena, const Hook *hook, ProviderName provider, const Json *body,
                  Str connection_id, ProviderRead *ret, Error *error) MUST_USE;
