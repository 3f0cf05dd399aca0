// standard_webhooks.h - the signature of the Standard Webhooks specification, which others sign by
// as well: HMAC-SHA256 of id, time and body, in base64, one or more of them in one header.
//
// What was signed more than five minutes ago, or will be in more than five minutes, is refused: who
// recorded a webhook cannot send it again later.
#pragma once

#include "providers/provider.h"

// standard_check is verify by keys that are the HMAC's own bytes. The three headers are webhook-id,
// webhook-timestamp and webhook-signature, or Svix's, but never some of these and some of those.
HookVerdict standard_check(Arena *arena, const Hook *hook, const HookTrust *keys);

// standard_id is the id that is signed, the same for every attempt; none.
Str standard_id(Arena *arena, const Hook *hook);

// standard_sign writes the three headers, with an id that its body and time make.
size_t standard_sign(Arena *arena, const Hook *hook, Str key, HookHeader ret[PROVIDER_HEADERS_MAX]);
