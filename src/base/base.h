// base.h - the small vocabulary every Peal file shares.
//
// It adds no symbols to the program: only types and attributes. Instants and spans are
// microseconds everywhere in C and SQL; seconds exist only inside parsers and formatters.
#pragma once

#include "base/banned.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define MUST_USE __attribute__((warn_unused_result))
#define DEFER(fn) __attribute__((cleanup(fn)))

// TABLE_ROWS counts the rows of an X-macro table, so that no enum carries a count value.
#define TABLE_ROW_(...) +1
#define TABLE_ROWS(TABLE) (0 TABLE(TABLE_ROW_))

// MACRO_TEXT(MACRO) is the number that a macro stands for, as part of a string.
#define MACRO_TEXT_(value) #value
#define MACRO_TEXT(macro) MACRO_TEXT_(macro)

// Instant is microseconds since 1970-01-01T00:00:00Z; Span is a length of time in microseconds.
typedef int64_t Instant;
typedef int64_t Span;

// Units of a Span. They are 64 bits wide, so that a plain int times a unit cannot overflow.
#define SPAN_MILLISECOND ((Span) 1000)
#define SPAN_SECOND (1000 * SPAN_MILLISECOND)
#define SPAN_MINUTE (60 * SPAN_SECOND)
#define SPAN_HOUR (60 * SPAN_MINUTE)
#define SPAN_DAY (24 * SPAN_HOUR)

// INSTANT_NONE stands for "no such moment"; it is stored as NULL and printed as null.
#define INSTANT_NONE ((Instant) INT64_MAX)

static inline Instant earlier(Instant a, Instant b)
{
    return a < b ? a : b;
}

static inline Instant later(Instant a, Instant b)
{
    return a > b ? a : b;
}
