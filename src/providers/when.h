// when.h - the forms of time that providers write, read as one.
//
// Texts are RFC 3339, also with an offset without its colon ("+0100", Jira), with a blank for the
// T, or without a zone, which then is UTC (PostHog). Numbers, and texts of digits (Gmail), count
// from 1970, with a fraction or without (Slack, Sentry): in seconds, milliseconds, microseconds or
// nanoseconds, as their size tells, which is never in doubt between 1973 and 5138. Whatever else
// stands there is no time: INSTANT_NONE.
#pragma once

#include "base/json.h"

Instant when_read(const Json *value);
Instant when_text(Str text);

// when_first is the first of some values that is a time.
Instant when_first(const Json *const *values, size_t count);
