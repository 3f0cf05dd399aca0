// cron.h - a cron expression as the Cronos library reads it, and when it is due in a zone.
//
// Five fields (minutes, hours, days of month, months, days of week) or six, with seconds first;
// or one of the macros such as @daily. Names, ranges, steps and lists, * and ? anywhere; L, L-3, W,
// LW for days of month; 5L and 5#2 for days of week. A range may wrap (22-2), and its step goes on
// over the wrap. Where both day fields say something, both must match. docs/cron.md has it all.
//
// Clocks that are set: what falls into the hour that is skipped is due once, when the hour is over.
// In the hour that comes twice, an expression of plain numbers is due the first time only; one with
// a *, a range or a step in seconds, minutes or hours (an interval) is due both times.
//
// A Cron is a plain value: bits of what matches, found by counting zeros. It refuses with a
// CronFault, which names the field and the place.
#pragma once

#include "base/json.h"
#include "base/zone.h"

typedef enum CronField {
    CRON_SECONDS,
    CRON_MINUTES,
    CRON_HOURS,
    CRON_DAYS,
    CRON_MONTHS,
    CRON_WEEKDAYS,
} CronField;

enum { CRON_FIELDS = 6, CRON_TEXT_MAX = 500 };

typedef struct Cron {
    uint64_t bits[CRON_FIELDS]; // bit n: n matches; Sunday is 0
    bool has_seconds;           // it was written with six fields
    bool is_interval;
    bool is_last_day; // days of month: so many days before the last; the bits say nothing
    int days_before_last;
    bool is_near_weekday; // days of month: the weekday nearest to the day
    bool is_last_weekday; // days of week: the last such of the month
    int nth_weekday;      // days of week: the n-th such of the month; 0: every
} Cron;

typedef struct CronFault {
    const char *field; // such as "Days of month"; NULL: no field alone is wrong
    size_t place;      // of the character, from 1
    const char *message;
} CronFault;

// CronForm is which expressions a caller wants; macros are of any form.
typedef enum CronForm { CRON_ANY_FORM, CRON_FIVE_FIELDS, CRON_SIX_FIELDS } CronForm;

bool cron_parse(Str text, CronForm form, Cron *ret, CronFault *ret_fault) MUST_USE;

// cron_fault_text is the fault as a sentence without a stop.
Str cron_fault_text(Arena *arena, const CronFault *fault);

// cron_next is the first instant after from at which the expression is due, or at from where that
// is_inclusive; INSTANT_NONE where there is none up to the year 9999. Whoever fires asks from the
// instant that it fired at: at the end of a skipped hour, an inclusive search does not find it.
Instant cron_next(const Cron *cron, const Zone *zone, Instant from, bool is_inclusive);

// cron_next_wall is the first wall from this one on at which clocks that are never set show a
// match; INSTANT_NONE as above.
Instant cron_next_wall(const Cron *cron, Instant wall);

// cron_is_same: they are due at the same instants, in every zone.
bool cron_is_same(const Cron *a, const Cron *b);

// cron_text is the expression with every match told as a number. It is for reading and comparing:
// read back it may be no interval any more.
Str cron_text(Arena *arena, const Cron *cron);

// cron_is_full: everything matches in this field.
bool cron_is_full(const Cron *cron, CronField field);

// cron_explain says in English what the expression means, and what becomes of it when the clocks of
// the zone are set next after from (cron_words.c).
Str cron_explain(Arena *arena, const Cron *cron, const Zone *zone, Instant from);

// CronPreview asks for the times that come, up to CRON_PREVIEW_MAX of them.
#define CRON_PREVIEW_USUAL 5
enum { CRON_PREVIEW_MAX = 1000 };
typedef struct CronPreview {
    const Zone *zone;
    Instant from;
    bool is_inclusive;
    int count;
} CronPreview;

// cron_put_preview writes {"items":[{"at","local"}],"explain","warnings"}.
void cron_put_preview(JsonOut *json, Arena *arena, const Cron *cron, const CronPreview *preview);

// cron_note and cron_note_zone read an expression (of any form) and the name of a zone that lie at
// pointer in a document, and note what is wrong as bad-cron and bad-zone.
// The latter fails only where this machine cannot read the zone.
void cron_note(Str text, Str pointer, Cron *ret, Error *error);
Err cron_note_zone(Str name, Str pointer, const Zone **ret, Error *error) MUST_USE;

// cron_warning is what somebody who wrote this may not have meant, or NULL.
const char *cron_warning(const Cron *cron);
