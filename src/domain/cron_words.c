// A cron expression in English, for those who read more than they write of them.

#include "base/time.h"
#include "domain/cron.h"

enum { TIMES_MAX = 6 }; // that are told one by one

static int lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

static void add_number(Buf *out, int n)
{
    buf_add_i64(out, n);
}

static void add_ordinal(Buf *out, int n)
{
    static const char *const endings[] = { "th", "st", "nd", "rd" };
    bool is_teen = n / 10 % 10 == 1;
    buf_add_format(out, "%d%s", n, endings[!is_teen && n % 10 < 4 ? n % 10 : 0]);
}

static void add_weekday(Buf *out, int n)
{
    static const char *const names[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday" };
    buf_add(out, str_from(names[n]));
}

static void add_month(Buf *out, int n)
{
    static const char *const names[] = { "January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December" };
    buf_add(out, str_from(names[n - 1]));
}

// add_list writes such as "1, 3 and 5 to 9": three in a row are a range.
static void add_list(Buf *out, uint64_t bits, void (*add)(Buf *out, int n))
{
    for (bool is_first = true; bits; is_first = false) {
        int from = lowest(bits), run = lowest(~(bits >> from));
        int to = run > 2 ? from + run - 1 : from;
        bits &= ~((UINT64_C(2) << to) - 1);
        if (!is_first)
            buf_add(out, bits ? S(", ") : S(" and "));
        add(out, from);
        if (to == from)
            continue;
        buf_add(out, S(" to "));
        add(out, to);
    }
}

static int count_of(uint64_t bits)
{
    return __builtin_popcountll(bits);
}

// add_times writes every time of the day; there are few.
static void add_times(Buf *out, const Cron *cron, int count)
{
    const uint64_t *bits = cron->bits;
    buf_add(out, S("At "));
    for (uint64_t hours = bits[CRON_HOURS]; hours; hours &= hours - 1)
        for (uint64_t minutes = bits[CRON_MINUTES]; minutes; minutes &= minutes - 1)
            for (uint64_t seconds = bits[CRON_SECONDS]; seconds; seconds &= seconds - 1) {
                buf_add_format(out, "%02d:%02d", lowest(hours), lowest(minutes));
                if (bits[CRON_SECONDS] != 1)
                    buf_add_format(out, ":%02d", lowest(seconds));
                count--;
                buf_add(out, count > 1 ? S(", ") : count == 1 ? S(" and ") : S(""));
            }
}

// add_ticks writes seconds or minutes: every so many, or which.
static void add_ticks(Buf *out, uint64_t bits, const char *unit)
{
    int count = count_of(bits), step = count > 1 ? lowest(bits & (bits - 1)) : 0;
    bool is_even = (bits & 1) && step > 0 && count * step == 60;
    for (int i = 0; is_even && i < 60; i += step)
        is_even = bits >> i & 1;
    if (is_even && step == 1)
        buf_add_format(out, "every %s", unit);
    else if (is_even)
        buf_add_format(out, "every %d %ss", step, unit);
    else {
        buf_add_format(out, "at %s%s ", unit, count > 1 ? "s" : "");
        add_list(out, bits, add_number);
    }
}

static void add_clock(Buf *out, const Cron *cron)
{
    const uint64_t *bits = cron->bits;
    int count =
        count_of(bits[CRON_HOURS]) * count_of(bits[CRON_MINUTES]) * count_of(bits[CRON_SECONDS]);
    if (count <= TIMES_MAX) {
        add_times(out, cron, count);
        return;
    }
    size_t begin = out->len;
    bool every_second = cron_is_full(cron, CRON_SECONDS);
    bool every_minute = cron_is_full(cron, CRON_MINUTES);
    if (bits[CRON_SECONDS] != 1)
        add_ticks(out, bits[CRON_SECONDS], "second");
    if (bits[CRON_SECONDS] != 1 && !(every_second && every_minute))
        buf_add(out, S(", "));
    if (!(every_second && every_minute))
        add_ticks(out, bits[CRON_MINUTES], "minute");
    out->at[begin] = (char) (out->at[begin] - 'a' + 'A');
    if (!cron_is_full(cron, CRON_HOURS)) {
        buf_add_format(out, ", in hour%s ", count_of(bits[CRON_HOURS]) > 1 ? "s" : "");
        add_list(out, bits[CRON_HOURS], add_number);
    }
}

static void add_month_days(Buf *out, const Cron *cron)
{
    int before = cron->days_before_last;
    buf_add(out, cron->is_near_weekday ? S("on the weekday nearest to ") : S("on "));
    if (!cron->is_last_day) {
        buf_add(out, S("the "));
        add_list(out, cron->bits[CRON_DAYS], add_ordinal);
        return;
    }
    if (before > 0)
        buf_add_format(out, "the day %d day%s before ", before, before > 1 ? "s" : "");
    buf_add(out, S("the last day of the month"));
}

static void add_weekdays(Buf *out, const Cron *cron)
{
    if (cron->is_last_weekday)
        buf_add(out, S("the last "));
    if (cron->nth_weekday > 0) {
        buf_add(out, S("the "));
        add_ordinal(out, cron->nth_weekday);
        buf_add_char(out, ' ');
    }
    add_list(out, cron->bits[CRON_WEEKDAYS], add_weekday);
    if (cron->is_last_weekday || cron->nth_weekday > 0)
        buf_add(out, S(" of the month"));
}

static void add_days(Buf *out, const Cron *cron)
{
    bool has_days = !cron_is_full(cron, CRON_DAYS),
         has_weekdays = !cron_is_full(cron, CRON_WEEKDAYS);
    buf_add(out, S(", "));
    if (has_days)
        add_month_days(out, cron);
    if (has_weekdays)
        buf_add(out, has_days ? S(" where that is ") : S("on "));
    if (has_weekdays)
        add_weekdays(out, cron);
    if (!has_days && !has_weekdays)
        buf_add(out, S("every day"));
    if (!cron_is_full(cron, CRON_MONTHS)) {
        buf_add(out, S(" in "));
        add_list(out, cron->bits[CRON_MONTHS], add_month);
    }
}

// WALL_TEXT are the parts of a wall that are shown: the day, the time to the minute.
#define DAY_OF(text) 10, (text)
#define TIME_OF(text) 5, (text) + 11

// add_change says what becomes of the expression at the change that period begins with.
static void add_change(Buf *out, const Cron *cron, const Zone *zone, const ZonePeriod *period)
{
    char was[TIME_TEXT_MAX], is[TIME_TEXT_MAX];
    bool is_gap = period->offset > period->before;
    Instant old_wall = period->from + period->before, new_wall = period->from + period->offset;
    bool falls_in = cron_next_wall(cron, earlier(old_wall, new_wall)) < later(old_wall, new_wall);
    (void) time_local_text(old_wall, 0, was);
    (void) time_local_text(new_wall, 0, is);
    buf_add_format(out, " Clocks in %.*s next change on %.*s, from %.*s to %.*s: ",
                   STR_ARG(zone_name(zone)), DAY_OF(was), TIME_OF(was), TIME_OF(is));
    if (!falls_in)
        buf_add(out, S("nothing falls between."));
    else if (is_gap)
        buf_add_format(out, "what falls between comes once, at %.*s.", TIME_OF(is));
    else if (cron->is_interval)
        buf_add(out, S("what falls between comes both times."));
    else
        buf_add(out, S("what falls between comes the first time only."));
}

Str cron_explain(Arena *arena, const Cron *cron, const Zone *zone, Instant from)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    ZonePeriod period;
    add_clock(&out, cron);
    add_days(&out, cron);
    buf_add_char(&out, '.');
    if (cron_next(cron, zone, from, false) == INSTANT_NONE)
        buf_add(&out, S(" There is no such day: it never comes."));
    else if (zone_change(zone, from, &period))
        add_change(&out, cron, zone, &period);
    else
        buf_add_format(&out, " Clocks in %.*s never change.", STR_ARG(zone_name(zone)));
    return buf_str(&out);
}

static void put_times(JsonOut *json, const Cron *cron, const CronPreview *preview)
{
    const Zone *zone = preview->zone;
    char text[TIME_TEXT_MAX];
    Instant at = cron_next(cron, zone, preview->from, preview->is_inclusive);
    for (int i = 0; i < preview->count && at != INSTANT_NONE; i++) {
        json_open(json, '{');
        json_put_time(json, S("at"), at);
        json_put_str(json, S("local"), time_local_text(at, zone_period(zone, at).offset, text));
        json_close(json, '}');
        at = cron_next(cron, zone, at, false);
    }
}

void cron_put_preview(JsonOut *json, Arena *arena, const Cron *cron, const CronPreview *preview)
{
    const char *warning = cron_warning(cron);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    put_times(json, cron, preview);
    json_close(json, ']');
    json_put_str(json, S("explain"), cron_explain(arena, cron, preview->zone, preview->from));
    json_key(json, S("warnings"));
    json_open(json, '[');
    if (warning)
        json_add_str(json, str_from(warning));
    json_close(json, ']');
    json_close(json, '}');
}
