#include "base/zone.h"

#include "base/file.h"
#include "base/time.h"

#include <pthread.h>
#include <stdlib.h>

// Turn is a moment at which the clocks are set, and to what.
typedef struct Turn {
    Instant at;
    Span offset;
} Turn;

// DayRule names a day of every year: M3.5.0, the fifth (or last) Sunday of March; J60, the 60th day
// where February has always 28; 59, the same counted from 0 with the leap day.
typedef struct DayRule {
    char kind; // 'M', 'J' or 'N'
    int month, week, day;
    Span time; // behind midnight
} DayRule;

// Rule is what holds past the table: one offset, or two in turns.
typedef struct Rule {
    bool is_there, has_summer;
    Span standard, summer;
    DayRule begins, ends; // of summer
} Rule;

struct Zone {
    Str name;
    Span first; // the offset ahead of all turns
    const Turn *turns;
    size_t count;
    Rule rule;
    const Zone *next; // of those kept
};

static const Zone utc = { .name = { "UTC", 3 } };
const Zone *const zone_utc = &utc;

enum {
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    RULE_YEARS = 5, // around the one asked for: a rule's time may lead a week out of its year
    RULE_TURNS = 2 * RULE_YEARS,
};

// Turns that are farther from 1970 than this many seconds are of no calendar that Peal has.
#define TURN_FAR (INT64_C(1) << 40)

typedef struct Reader {
    Str rest;
    bool is_short;
} Reader;

static Str take(Reader *reader, size_t len)
{
    if (reader->is_short || len > reader->rest.len) {
        reader->is_short = true;
        return STR_NONE;
    }
    Str taken = { reader->rest.at, len };
    reader->rest = str_skip(reader->rest, len);
    return taken;
}

static int64_t big_endian(const char *at, size_t len)
{
    uint64_t n = (at[0] & 0x80) ? UINT64_MAX : 0;
    for (size_t i = 0; i < len; i++)
        n = n << 8 | (uint8_t) at[i];
    return (int64_t) n;
}

// Counts are those of a header, in its order.
typedef struct Counts {
    size_t uts, stds, leaps, times, types, chars;
} Counts;

static bool take_header(Reader *reader, Counts *ret)
{
    Str header = take(reader, HEADER_BYTES);
    if (!header.at || !str_starts(header, S("TZif")) || header.at[4] < '2')
        return false;
    size_t counts[6];
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        int64_t n = big_endian(header.at + 20 + 4 * i, 4);
        if (n < 0 || n > ZONE_FILE_MAX)
            return false;
        counts[i] = (size_t) n;
    }
    *ret = (Counts){ counts[0], counts[1], counts[2], counts[3], counts[4], counts[5] };
    return true;
}

// Data is the block of a file that has times of 64 bits, still as bytes.
typedef struct Data {
    Counts counts;
    Str times, kinds, types;
} Data;

static bool take_data(Reader *reader, Data *ret)
{
    Counts old, *counts = &ret->counts;
    if (!take_header(reader, &old))
        return false;
    (void) take(reader, old.times * 5 + old.types * TYPE_BYTES + old.chars + old.leaps * 8 +
                            old.stds + old.uts);
    if (!take_header(reader, counts))
        return false;
    ret->times = take(reader, counts->times * 8);
    ret->kinds = take(reader, counts->times);
    ret->types = take(reader, counts->types * TYPE_BYTES);
    (void) take(reader, counts->chars + counts->leaps * 12 + counts->stds + counts->uts);
    return !reader->is_short && counts->types > 0 && counts->leaps == 0;
}

static bool is_offset(int64_t seconds)
{
    return seconds * SPAN_SECOND > -ZONE_OFFSET_MAX && seconds * SPAN_SECOND < ZONE_OFFSET_MAX;
}

static bool offset_of(const Data *data, size_t type, Span *ret)
{
    if (type >= data->counts.types)
        return false;
    int64_t seconds = big_endian(data->types.at + type * TYPE_BYTES, 4);
    if (!is_offset(seconds))
        return false;
    *ret = seconds * SPAN_SECOND;
    return true;
}

// read_turns keeps the turns at which the offset changes: a new name for the same time is none.
static bool read_turns(const Data *data, Zone *zone, Turn *turns)
{
    int64_t last = INT64_MIN;
    if (!offset_of(data, 0, &zone->first))
        return false;
    Span offset, now = zone->first;
    for (size_t i = 0; i < data->counts.times; i++) {
        int64_t seconds = big_endian(data->times.at + 8 * i, 8);
        if (seconds <= last && i > 0)
            return false;
        last = seconds;
        if (!offset_of(data, (uint8_t) data->kinds.at[i], &offset))
            return false;
        if (seconds < -TURN_FAR)
            now = zone->first = offset;
        if (offset == now || seconds > TURN_FAR)
            continue;
        turns[zone->count++] = (Turn){ seconds * SPAN_SECOND, offset };
        now = offset;
    }
    return true;
}

static bool eat(Str *text, char c)
{
    if (text->len == 0 || text->at[0] != c)
        return false;
    *text = str_skip(*text, 1);
    return true;
}

static bool eat_number(Str *text, int max, int *ret)
{
    size_t len = 0;
    while (len < text->len && text->at[len] >= '0' && text->at[len] <= '9')
        len++;
    int64_t n;
    if (!str_to_i64((Str){ text->at, len }, 0, max, &n))
        return false;
    *text = str_skip(*text, len);
    *ret = (int) n;
    return true;
}

// eat_time reads [+-]hh[:mm[:ss]].
static bool eat_time(Str *text, int hours_max, Span *ret)
{
    bool is_negative = eat(text, '-');
    int hours, minutes = 0, seconds = 0;
    if (!is_negative)
        (void) eat(text, '+');
    if (!eat_number(text, hours_max, &hours))
        return false;
    if (eat(text, ':') &&
        (!eat_number(text, 59, &minutes) || (eat(text, ':') && !eat_number(text, 59, &seconds))))
        return false;
    Span time = hours * SPAN_HOUR + minutes * SPAN_MINUTE + seconds * SPAN_SECOND;
    *ret = is_negative ? -time : time;
    return true;
}

// eat_abbreviation reads such as CET or <+0330>; nobody needs it.
static bool eat_abbreviation(Str *text)
{
    bool is_quoted = eat(text, '<');
    size_t len = 0;
    for (; len < text->len; len++) {
        char c = str_lower_char(text->at[len]);
        bool is_sign = is_quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-');
        if ((c < 'a' || c > 'z') && !is_sign)
            break;
    }
    *text = str_skip(*text, len);
    return len >= 3 && (!is_quoted || eat(text, '>'));
}

static bool eat_day(Str *text, DayRule *ret)
{
    *ret = (DayRule){ .kind = 'N', .time = 2 * SPAN_HOUR };
    if (eat(text, 'M')) {
        ret->kind = 'M';
        if (!eat_number(text, 12, &ret->month) || ret->month == 0 || !eat(text, '.') ||
            !eat_number(text, 5, &ret->week) || ret->week == 0 || !eat(text, '.') ||
            !eat_number(text, 6, &ret->day))
            return false;
    } else {
        ret->kind = eat(text, 'J') ? 'J' : 'N';
        if (!eat_number(text, 365, &ret->day) || (ret->kind == 'J' && ret->day == 0))
            return false;
    }
    return !eat(text, '/') || eat_time(text, 167, &ret->time);
}

// read_rule reads what closes the file, such as CET-1CEST,M3.5.0,M10.5.0/3. Its offsets are counted
// westward.
static bool read_rule(Str text, Rule *ret)
{
    *ret = (Rule){ .is_there = text.len > 0 };
    if (text.len == 0)
        return true;
    if (!eat_abbreviation(&text) || !eat_time(&text, 24, &ret->standard))
        return false;
    ret->standard = -ret->standard;
    if (text.len == 0)
        return true;
    ret->has_summer = true;
    ret->summer = ret->standard + SPAN_HOUR;
    if (!eat_abbreviation(&text))
        return false;
    if (text.len > 0 && text.at[0] != ',') {
        if (!eat_time(&text, 24, &ret->summer))
            return false;
        ret->summer = -ret->summer;
    }
    return eat(&text, ',') && eat_day(&text, &ret->begins) && eat(&text, ',') &&
           eat_day(&text, &ret->ends) && text.len == 0;
}

static bool take_rule(Reader *reader, Rule *ret)
{
    Str rest = reader->rest;
    if (!eat(&rest, '\n'))
        return false;
    Str text = str_cut(&rest, '\n');
    return rest.at && rest.len == 0 && read_rule(text, ret);
}

Err zone_read(Arena *arena, Str name, Str file, const Zone **ret, Error *error)
{
    Reader reader = { .rest = file };
    Data data = { 0 };
    if (!take_data(&reader, &data))
        return fail(error, ERR_INVALID, "the file of time zone %.*s cannot be used", STR_ARG(name));
    Zone *zone = ARENA_NEW(arena, Zone);
    Turn *turns = ARENA_ARRAY(arena, Turn, data.counts.times);
    if (!read_turns(&data, zone, turns) || !take_rule(&reader, &zone->rule))
        return fail(error, ERR_INVALID, "the file of time zone %.*s is damaged", STR_ARG(name));
    zone->name = str_dup(arena, name);
    zone->turns = turns;
    *ret = zone;
    return ERR_OK;
}

Str zone_name(const Zone *zone)
{
    return zone->name;
}

static int64_t day_of(const DayRule *rule, int year)
{
    int64_t new_year = time_days((Date){ year, 1, 1 });
    bool is_leap = time_days_in_month(year, 2) == 29;
    if (rule->kind == 'N')
        return new_year + rule->day;
    if (rule->kind == 'J')
        return new_year + rule->day - 1 + (is_leap && rule->day >= 60);
    int64_t first = time_days((Date){ year, rule->month, 1 });
    int day = (rule->day - time_weekday(first) + 7) % 7 + 7 * (rule->week - 1);
    return first + day - (day >= time_days_in_month(year, rule->month) ? 7 : 0);
}

static Instant turn_at(const DayRule *rule, int year, Span offset)
{
    return day_of(rule, year) * SPAN_DAY + rule->time - offset;
}

// rule_turns gives the turns of the years around an instant, in their order.
static void rule_turns(const Rule *rule, Instant at, Turn ret[RULE_TURNS])
{
    int year = time_date(earlier(later(at, 0), TIME_LAST) / SPAN_DAY).year;
    for (int i = 0; i < RULE_YEARS; i++) {
        int of = year - RULE_YEARS / 2 + i;
        ret[2 * i] = (Turn){ turn_at(&rule->ends, of, rule->summer), rule->standard };
        ret[2 * i + 1] = (Turn){ turn_at(&rule->begins, of, rule->standard), rule->summer };
    }
    for (int i = 1; i < RULE_TURNS; i++)
        for (int k = i; k > 0 && ret[k].at < ret[k - 1].at; k--) {
            Turn turn = ret[k];
            ret[k] = ret[k - 1];
            ret[k - 1] = turn;
        }
}

// rule_period finds the period of an instant that lies behind the table.
static ZonePeriod rule_period(const Rule *rule, Instant at)
{
    if (!rule->has_summer)
        return (ZonePeriod){ ZONE_PAST, ZONE_FUTURE, rule->standard, rule->standard };
    Turn turns[RULE_TURNS];
    rule_turns(rule, at, turns);
    int i = 0;
    while (i < RULE_TURNS && turns[i].at <= at)
        i++;
    Span other = rule->standard + rule->summer - turns[0].offset;
    return (ZonePeriod){
        .from = i > 0 ? turns[i - 1].at : ZONE_PAST,
        .until = i < RULE_TURNS ? turns[i].at : ZONE_FUTURE,
        .offset = i > 0 ? turns[i - 1].offset : other,
        .before = i > 1 ? turns[i - 2].offset : other,
    };
}

// turns_until counts the turns up to an instant.
static size_t turns_until(const Zone *zone, Instant at)
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (zone->turns[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ZonePeriod zone_period(const Zone *zone, Instant at)
{
    size_t i = turns_until(zone, at);
    const Turn *turns = zone->turns;
    ZonePeriod table = {
        .from = i > 0 ? turns[i - 1].at : ZONE_PAST,
        .until = i < zone->count ? turns[i].at : ZONE_FUTURE,
        .offset = i > 0 ? turns[i - 1].offset : zone->first,
        .before = i > 1 ? turns[i - 2].offset : zone->first,
    };
    if (i < zone->count || !zone->rule.is_there)
        return table;
    ZonePeriod period = rule_period(&zone->rule, at);
    if (period.from > table.from)
        return period;
    period.from = table.from;
    period.before = table.before;
    return period;
}

bool zone_change(const Zone *zone, Instant at, ZonePeriod *ret)
{
    ZonePeriod period = zone_period(zone, at);
    while (period.until < TIME_LAST) {
        Span before = period.offset;
        period = zone_period(zone, period.until);
        if (period.offset != before) {
            *ret = period;
            return true;
        }
    }
    return false;
}

// is_name keeps out whatever could lead out of the folder: only names as tzdata has them.
static bool is_name(Str name)
{
    char before = '/';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i], lower = str_lower_char(c);
        bool is_word = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!is_word && (before == '/' || !(c == '/' || c == '_' || c == '+' || c == '-')))
            return false;
        before = c;
    }
    return name.len <= ZONE_NAME_MAX && before != '/';
}

// Those read so far, for good; newest first.
static struct {
    pthread_mutex_t lock;
    Arena arena;
    const Zone *first;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const Zone *kept_find(Str name)
{
    const Zone *zone = kept.first;
    while (zone && !str_eq(zone->name, name))
        zone = zone->next;
    return zone;
}

static Err read_file(Arena *scratch, Str name, Str *ret, Error *error)
{
    const char *folder = getenv("TZDIR");
    Str path =
        str_format(scratch, "%s/%.*s", folder ? folder : "/usr/share/zoneinfo", STR_ARG(name));
    Err err = file_get_regular(scratch, path, ZONE_FILE_MAX, ret, error);
    if (err == ERR_UNAVAILABLE)
        return err;
    if (err != ERR_OK || !ret->at)
        return fail(error, ERR_INVALID,
                    "\"%.*s\" is no time zone that this system knows (its package tzdata has them)",
                    STR_ARG(name));
    return ERR_OK;
}

// kept_read keeps a copy of what was read: the memory of what turns out to be no good goes again.
static Err kept_read(Str name, const Zone **ret, Error *error)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Str file;
    const Zone *tried = zone_utc;
    TRY(read_file(&scratch, name, &file, error));
    TRY(zone_read(&scratch, name, file, &tried, error));
    Zone *zone = ARENA_NEW(&kept.arena, Zone);
    *zone = *tried;
    zone->name = str_dup(&kept.arena, name);
    zone->turns = arena_copy(&kept.arena, tried->turns, tried->count * sizeof(Turn));
    zone->next = kept.first;
    *ret = kept.first = zone;
    return ERR_OK;
}

Err zone_find(Str name, const Zone **ret, Error *error)
{
    if (str_eq(name, utc.name)) {
        *ret = &utc;
        return ERR_OK;
    }
    if (!is_name(name))
        return fail(error, ERR_INVALID, "a time zone is named such as Europe/Warsaw or UTC");
    (void) pthread_mutex_lock(&kept.lock);
    const Zone *zone = kept_find(name);
    Err err = zone ? ERR_OK : kept_read(name, &zone, error);
    (void) pthread_mutex_unlock(&kept.lock);
    if (err == ERR_OK)
        *ret = zone;
    return err;
}
