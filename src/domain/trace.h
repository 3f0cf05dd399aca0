// trace.h - W3C Trace Context: a request, the event it brought and what goes out for it are one
// trace.
//
// The form is "00-<trace id>-<parent span>-<flags>" in lower-case hex. What comes in and is not of
// that form is dropped, as the standard asks: a trace never makes a request fail. tracestate is
// not kept.
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"

enum { TRACE_LEN = 55 };

// trace_read returns a traceparent as it is kept: version 00, no flag but "sampled". None where
// text is not one.
Str trace_read(Arena *arena, Str text);

// trace_next is the traceparent of an attempt: a span of its own, in the trace of the event, which
// is what came with it, or else made from its id.
Str trace_next(Arena *arena, Str kept, Uuid event, Uuid delivery, int attempt);
