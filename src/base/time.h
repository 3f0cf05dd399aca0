// time.h - civil dates, RFC 3339 and durations; pure arithmetic on Instant and Span.
//
// Instants are printed in UTC with milliseconds ("2026-05-14T05:12:34.000Z"). They are read with
// "Z" or an offset and up to nine digits of a second; years 1970 to 9999.
#pragma once

#include "base/base.h"
#include "base/str.h"

enum { TIME_TEXT_MAX = 32 };

// TIME_LAST is the last microsecond of the year 9999.
#define TIME_LAST (2932897 * SPAN_DAY - 1)

// Date is a day of the calendar; time_days counts days from 1970-01-01, from the year 1 on.
typedef struct Date {
    int year, month, day;
} Date;
int64_t time_days(Date date);
Date time_date(int64_t days);
int time_days_in_month(int year, int month);
int time_weekday(int64_t days); // 0 is Sunday

bool time_parse(Str text, Instant *ret);

// time_text gives none for INSTANT_NONE. What time_parse would refuse becomes the nearest instant
// that it reads.
Str time_text(Instant at, char buffer[TIME_TEXT_MAX]);

// time_local_text prints an instant as a clock that is offset ahead of UTC has it, to the second
// ("2026-05-14T07:12:34+02:00"). Offsets are told in minutes: one that is finer is rounded, and the
// clock with it, so that the text reads back as the same instant.
Str time_local_text(Instant at, Span offset, char buffer[TIME_TEXT_MAX]);

// duration_parse reads "15m", "4h", "2d", "30s", "1w" and sums in falling units such as "1d12h".
// Each unit at most once, nothing above DURATION_MAX.
#define DURATION_MAX (3660 * SPAN_DAY)
bool duration_parse(Str text, Span *ret);
// duration_text prints days, hours, minutes and seconds without the zeros, such as "1d12h", which
// reads back as the same span. Fractions of a second are dropped.
Str duration_text(Arena *arena, Span span);

// time_mail_text prints a moment as mails have it ("Sun, 06 Nov 1994 08:49:37 +0000").
Str time_mail_text(Instant at, char buffer[TIME_TEXT_MAX]);

// time_http_date reads an HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT").
bool time_http_date(Str text, Instant *ret);
