// polled.h - what the answers of all polled providers have in common: their status, how long they
// ask to be left alone, and their errors in words.
#pragma once

#include "providers/provider.h"

// polled_header is a header's value; none when it is absent.
Str polled_header(const ProviderReply *reply, Str name);

// polled_retry_after is what Retry-After asks for, in seconds or as a date; 0: nothing.
Span polled_retry_after(const ProviderReply *reply, Instant now);

// polled_status is the page of a status that tells nothing but itself: it fails as HTTP says, with
// the status as its note.
PollPage polled_status(Arena *arena, const ProviderReply *reply, Instant now);

// polled_note makes a note of a failure; what the provider says of it is cut, and left out where it
// cannot be shown.
Str polled_note(Arena *arena, int status, Str code, Str message);

// polled_json reads an answer. A NUL in a text, which no store takes, is read as U+FFFD: one bad
// title is no reason to hear of nothing else. NULL: it is not JSON.
const Json *polled_json(Arena *arena, Str body);

// polled_url is a path of the provider's API, or of what stands in for it.
Str polled_url(Arena *arena, Str base_url, const char *usual, Str path);
