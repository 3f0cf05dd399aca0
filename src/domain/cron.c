#include "domain/cron.h"

#include "base/time.h"

typedef struct FieldRow {
    const char *name;
    int first, last;
    int cycle;         // after which a range wraps: a week has seven days, though 7 is Sunday too
    const char *names; // three letters each, from names_from on; NULL: none
    int names_from;
} FieldRow;

// clang-format off
static const FieldRow fields[CRON_FIELDS] = {
    [CRON_SECONDS]  = { "Seconds",       0, 59, 60, NULL, 0 },
    [CRON_MINUTES]  = { "Minutes",       0, 59, 60, NULL, 0 },
    [CRON_HOURS]    = { "Hours",         0, 23, 24, NULL, 0 },
    [CRON_DAYS]     = { "Days of month", 1, 31, 31, NULL, 0 },
    [CRON_MONTHS]   = { "Months",        1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1 },
    [CRON_WEEKDAYS] = { "Days of week",  0,  7,  7, "sunmontuewedthufrisat", 0 },
};

static const struct {
    const char *name, *means;
} macros[] = {
    { "@every_second", "* * * * * *" },
    { "@every_minute", "* * * * *" },
    { "@hourly",       "0 * * * *" },
    { "@daily",        "0 0 * * *" },
    { "@midnight",     "0 0 * * *" },
    { "@weekly",       "0 0 * * 0" },
    { "@monthly",      "0 0 1 * *" },
    { "@yearly",       "0 0 1 1 *" },
    { "@annually",     "0 0 1 1 *" },
};
// clang-format on

enum { DAYS_PER_WEEK = 7, MONTHS_PER_CYCLE = 400 * 12 };

// Parser is how far an expression is read.
typedef struct Parser {
    Str text;
    size_t at;
    CronField field;
    Cron *cron;
    CronFault *fault;
} Parser;

static bool refuse(Parser *p, const char *message)
{
    *p->fault = (CronFault){ fields[p->field].name, p->at + 1, message };
    return false;
}

static char peek(const Parser *p)
{
    return p->at < p->text.len ? p->text.at[p->at] : '\0';
}

// accept reads a letter of either case.
static bool accept(Parser *p, char c)
{
    if (p->at == p->text.len || str_lower_char(peek(p)) != c)
        return false;
    p->at++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(Parser *p)
{
    while (is_blank(peek(p)))
        p->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// read_number reads one or two digits.
static bool read_number(Parser *p, int min, int max, const char *message, int *ret)
{
    size_t begin = p->at;
    int n = 0;
    while (is_digit(peek(p)) && p->at < begin + 2)
        n = n * 10 + p->text.at[p->at++] - '0';
    if (p->at > begin && n >= min && n <= max) {
        *ret = n;
        return true;
    }
    p->at = begin;
    return refuse(p, message);
}

static bool read_name(Parser *p, int *ret)
{
    const FieldRow *row = &fields[p->field];
    Str rest = str_skip(p->text, p->at);
    for (size_t i = 0; row->names && rest.len >= 3 && row->names[3 * i]; i++) {
        if (!str_eq_nocase((Str){ rest.at, 3 }, (Str){ row->names + 3 * i, 3 }))
            continue;
        p->at += 3;
        *ret = row->names_from + (int) i;
        return true;
    }
    return false;
}

static bool read_value(Parser *p, int *ret)
{
    static const char *const messages[CRON_FIELDS] = {
        [CRON_SECONDS] = "a number from 0 to 59 is expected",
        [CRON_MINUTES] = "a number from 0 to 59 is expected",
        [CRON_HOURS] = "a number from 0 to 23 is expected",
        [CRON_DAYS] = "a number from 1 to 31, or L, is expected",
        [CRON_MONTHS] = "a number from 1 to 12, or a name from JAN to DEC, is expected",
        [CRON_WEEKDAYS] = "a number from 0 to 7, or a name from SUN to SAT, is expected",
    };
    const FieldRow *row = &fields[p->field];
    return read_name(p, ret) || read_number(p, row->first, row->last, messages[p->field], ret);
}

static uint64_t bit(int n)
{
    return UINT64_C(1) << n;
}

static uint64_t bits_of(int low, int high, int step)
{
    uint64_t bits = 0;
    for (int i = low; i <= high; i += step)
        bits |= bit(i);
    return bits;
}

// range_bits: a range that wraps goes on with its step over the wrap. From Sunday as 7 it begins
// behind it, which leaves that Sunday out where there is a step: so Cronos has it.
static uint64_t range_bits(const FieldRow *row, int low, int high, int step)
{
    int top = row->first + row->cycle - 1;
    if (low <= high)
        return bits_of(low, high, step);
    int again = row->first + step - (top - low) % step - 1;
    return bits_of(low, top, step) | bits_of(again, high, step);
}

static bool read_step(Parser *p, int *ret)
{
    *ret = 1;
    return !accept(p, '/') ||
           read_number(p, 1, fields[p->field].last,
                       "a step from 1 to the field's last value is expected", ret);
}

// note_interval: the day fields decide on days, and a day is never skipped nor repeated by them.
static void note_interval(Parser *p)
{
    if (p->field <= CRON_HOURS)
        p->cron->is_interval = true;
}

static bool read_star(Parser *p)
{
    const FieldRow *row = &fields[p->field];
    int step;
    note_interval(p);
    if (!read_step(p, &step))
        return false;
    p->cron->bits[p->field] = range_bits(row, row->first, row->last, step);
    return true;
}

// read_tail reads what may follow the first value of an item: -value, /step or both.
static bool read_tail(Parser *p, int low)
{
    const FieldRow *row = &fields[p->field];
    int high = low, step = 1;
    bool is_range = accept(p, '-');
    if (is_range && !read_value(p, &high))
        return false;
    bool has_step = peek(p) == '/';
    if (!read_step(p, &step))
        return false;
    if (is_range || has_step)
        note_interval(p);
    if (has_step && !is_range)
        high = row->last;
    p->cron->bits[p->field] |= range_bits(row, low, high, step);
    return true;
}

static bool read_list(Parser *p, int first)
{
    int value = first;
    if (!read_tail(p, value))
        return false;
    while (accept(p, ','))
        if (!read_value(p, &value) || !read_tail(p, value))
            return false;
    return true;
}

// read_last_day reads what follows the L of L, L-3, LW, L-3W.
static bool read_last_day(Parser *p)
{
    Cron *cron = p->cron;
    cron->is_last_day = true;
    if (accept(p, '-') &&
        !read_number(p, 0, 30, "L- is followed by a number from 0 to 30", &cron->days_before_last))
        return false;
    cron->is_near_weekday = accept(p, 'w');
    return true;
}

// read_single reads what stands alone behind the first value: W, L, #n.
static bool read_single(Parser *p, int value, bool *ret_found)
{
    Cron *cron = p->cron;
    *ret_found = true;
    cron->bits[p->field] = bit(value);
    if (p->field == CRON_DAYS && accept(p, 'w')) {
        cron->is_near_weekday = true;
        return true;
    }
    if (p->field == CRON_WEEKDAYS && accept(p, 'l')) {
        cron->is_last_weekday = true;
        return true;
    }
    if (p->field == CRON_WEEKDAYS && accept(p, '#'))
        return read_number(p, 1, 5, "# is followed by a number from 1 to 5", &cron->nth_weekday);
    cron->bits[p->field] = 0;
    *ret_found = false;
    return true;
}

static bool read_values(Parser *p)
{
    int value;
    bool is_single;
    if (p->field == CRON_DAYS && accept(p, 'l'))
        return read_last_day(p);
    if (!read_value(p, &value) || !read_single(p, value, &is_single))
        return false;
    return is_single || read_list(p, value);
}

static bool read_field(Parser *p)
{
    if (p->at == p->text.len)
        return refuse(p, "this field is missing");
    if (accept(p, '*') || accept(p, '?') ? !read_star(p) : !read_values(p))
        return false;
    if (p->at < p->text.len && !is_blank(peek(p)))
        return refuse(p, "this character is not expected here");
    skip_blanks(p);
    return true;
}

static bool read_fields(Parser *p, bool has_seconds)
{
    p->cron->has_seconds = has_seconds;
    p->cron->bits[CRON_SECONDS] = has_seconds ? 0 : bit(0);
    skip_blanks(p);
    for (int i = has_seconds ? CRON_SECONDS : CRON_MINUTES; i < CRON_FIELDS; i++) {
        p->field = (CronField) i;
        if (!read_field(p))
            return false;
    }
    uint64_t *weekdays = &p->cron->bits[CRON_WEEKDAYS];
    *weekdays = (*weekdays & ~bit(DAYS_PER_WEEK)) | (*weekdays >> DAYS_PER_WEEK & 1);
    if (p->at == p->text.len)
        return true;
    *p->fault = (CronFault){ NULL, p->at + 1,
                             has_seconds ? "there are more than six fields"
                                         : "there are more than five fields" };
    return false;
}

static size_t count_parts(Str text)
{
    size_t count = 0;
    bool is_part = false;
    for (size_t i = 0; i < text.len; i++) {
        bool was_part = is_part;
        is_part = !is_blank(text.at[i]);
        count += is_part && !was_part;
    }
    return count;
}

static bool read_macro(Parser *p, Str name)
{
    for (size_t i = 0; i < ARRAY_LEN(macros); i++) {
        if (!str_eq_nocase(name, str_from(macros[i].name)))
            continue;
        p->text = str_from(macros[i].means);
        return read_fields(p, i == 0);
    }
    *p->fault = (CronFault){ NULL, 1,
                             "the macros are @every_second, @every_minute, @hourly, @daily, "
                             "@midnight, @weekly, @monthly, @yearly and @annually" };
    return false;
}

bool cron_parse(Str text, CronForm form, Cron *ret, CronFault *ret_fault)
{
    Cron cron = { 0 };
    Parser parser = { .text = text, .cron = &cron, .fault = ret_fault };
    Str trimmed = str_trim(text);
    bool has_seconds =
        form == CRON_SIX_FIELDS || (form == CRON_ANY_FORM && count_parts(text) > CRON_FIELDS - 1);
    if (text.len > CRON_TEXT_MAX) {
        *ret_fault = (CronFault){ NULL, CRON_TEXT_MAX, "it is too long" };
        return false;
    }
    bool is_read = str_starts(trimmed, S("@")) ? read_macro(&parser, trimmed)
                                               : read_fields(&parser, has_seconds);
    if (is_read)
        *ret = cron;
    return is_read;
}

Str cron_fault_text(Arena *arena, const CronFault *fault)
{
    return str_format(arena, "%s%sat character %zu: %s", fault->field ? fault->field : "",
                      fault->field ? ", " : "", fault->place, fault->message);
}

// day_bits are those of the first to the last day.
static uint64_t day_bits(int first, int last)
{
    return bit(last + 1) - bit(first);
}

// near_weekday is the weekday nearest to a day, within its month.
static int near_weekday(int day, int weekday, int days)
{
    if (weekday == 6)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == 0)
        return day < days ? day + 1 : day - 2;
    return day;
}

// month_days are the days that the field of days lets through; first is the weekday of the 1st.
static uint64_t month_days(const Cron *cron, int first, int days)
{
    uint64_t bits = cron->bits[CRON_DAYS] & day_bits(1, days);
    if (cron->is_last_day)
        bits = cron->days_before_last < days ? bit(days - cron->days_before_last) : 0;
    if (!cron->is_near_weekday || bits == 0)
        return bits;
    int day = __builtin_ctzll(bits);
    return bit(near_weekday(day, (first + day - 1) % DAYS_PER_WEEK, days));
}

// week_days are the days that the field of weekdays lets through.
static uint64_t week_days(const Cron *cron, int first, int days)
{
    // The week of the field, turned so that bit 0 is the weekday of the 1st, and five times over.
    uint64_t week = cron->bits[CRON_WEEKDAYS];
    week = (week >> first | week << (DAYS_PER_WEEK - first)) & 0x7f;
    uint64_t bits = week * UINT64_C(0x10204081) << 1 & day_bits(1, days);
    if (cron->is_last_weekday)
        return bits & day_bits(days - DAYS_PER_WEEK + 1, days);
    if (cron->nth_weekday > 0)
        return bits & (bit(7) - 1) << 1 << DAYS_PER_WEEK * (cron->nth_weekday - 1);
    return bits;
}

// next_day finds the first day from this one on that matches; false where there is none. The
// calendar repeats after 400 years, weekdays and all: what does not match until then never will.
static bool next_day(const Cron *cron, int64_t from, int64_t *ret)
{
    Date date = time_date(from);
    int64_t first = from - date.day + 1; // of the month
    for (int i = 0; i <= MONTHS_PER_CYCLE && date.year <= 9999; i++) {
        int days = time_days_in_month(date.year, date.month);
        if (cron->bits[CRON_MONTHS] & bit(date.month)) {
            int weekday = time_weekday(first);
            uint64_t bits = month_days(cron, weekday, days) & week_days(cron, weekday, days);
            bits &= ~(bit(date.day) - 1);
            if (bits != 0) {
                *ret = first + __builtin_ctzll(bits) - 1;
                return true;
            }
        }
        first += days;
        date = date.month < 12 ? (Date){ date.year, date.month + 1, 1 }
                               : (Date){ date.year + 1, 1, 1 };
    }
    return false;
}

static int lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

// next_time finds the first second of the day from this one on; -1 where there is none left.
static int next_time(const Cron *cron, int from)
{
    uint64_t seconds = cron->bits[CRON_SECONDS], minutes = cron->bits[CRON_MINUTES],
             hours = cron->bits[CRON_HOURS];
    int hour = from / 3600, minute = from / 60 % 60;
    uint64_t later_seconds = seconds & ~(bit(from % 60) - 1);
    uint64_t later_minutes = minutes & ~(bit(minute + 1) - 1);
    uint64_t later_hours = hours & ~(bit(hour + 1) - 1);
    if (hours & bit(hour)) {
        if (minutes & bit(minute) && later_seconds)
            return hour * 3600 + minute * 60 + lowest(later_seconds);
        if (later_minutes)
            return hour * 3600 + lowest(later_minutes) * 60 + lowest(seconds);
    }
    if (!later_hours)
        return -1;
    return lowest(later_hours) * 3600 + lowest(minutes) * 60 + lowest(seconds);
}

Instant cron_next_wall(const Cron *cron, Instant wall)
{
    int64_t from = wall / SPAN_DAY - (wall % SPAN_DAY < 0), day;
    Span behind = wall - from * SPAN_DAY;
    if (!next_day(cron, from, &day))
        return INSTANT_NONE;
    int time = next_time(cron, day == from ? (int) (behind / SPAN_SECOND) : 0);
    if (time < 0) {
        if (!next_day(cron, from + 1, &day))
            return INSTANT_NONE;
        time = next_time(cron, 0);
    }
    return day * SPAN_DAY + time * SPAN_SECOND;
}

// Search is where a search for the next instant stands: in a period, at a wall of its clocks.
typedef struct Search {
    const Zone *zone;
    ZonePeriod period;
    Instant wall;
} Search;

static void search_from(Search *search, Instant at)
{
    search->period = zone_period(search->zone, at);
    search->wall = at + search->period.offset;
}

// search_period looks for the instant in the period and in the gap behind it; where it finds none,
// it goes on to a later period. False: there is none at all.
static bool search_period(Search *search, const Cron *cron, Instant *ret)
{
    ZonePeriod *period = &search->period;
    // Of what the clocks show a second time, plain numbers had their turn.
    if (!cron->is_interval)
        search->wall = later(search->wall, period->from + period->before);
    Instant match = cron_next_wall(cron, search->wall);
    if (match < period->until + period->offset) {
        *ret = match - period->offset;
        return true;
    }
    if (period->until == ZONE_FUTURE)
        return false;
    Instant until = period->until;
    Span after = zone_period(search->zone, until).offset;
    if (match < until + after) { // the clocks never show it
        *ret = until;
        return true;
    }
    bool is_repeated = cron->is_interval && after < period->offset;
    if (match == INSTANT_NONE && !is_repeated)
        return false;
    search_from(search, is_repeated ? until : later(until, match - 2 * ZONE_OFFSET_MAX));
    return true;
}

Instant cron_next(const Cron *cron, const Zone *zone, Instant from, bool is_inclusive)
{
    Search search = { .zone = zone };
    Instant found = INSTANT_NONE, at = later(0, from) / SPAN_SECOND * SPAN_SECOND;
    search_from(&search, at);
    if (!is_inclusive || at < from)
        search.wall += SPAN_SECOND;
    while (found == INSTANT_NONE)
        if (!search_period(&search, cron, &found))
            return INSTANT_NONE;
    return found > TIME_LAST ? INSTANT_NONE : found;
}

bool cron_is_same(const Cron *a, const Cron *b)
{
    return memcmp(a->bits, b->bits, sizeof a->bits) == 0 && a->is_interval == b->is_interval &&
           a->is_last_day == b->is_last_day && a->days_before_last == b->days_before_last &&
           a->is_near_weekday == b->is_near_weekday && a->is_last_weekday == b->is_last_weekday &&
           a->nth_weekday == b->nth_weekday;
}

bool cron_is_full(const Cron *cron, CronField field)
{
    const FieldRow *row = &fields[field];
    return cron->bits[field] == day_bits(row->first, row->first + row->cycle - 1);
}

static void add_field(Buf *out, const Cron *cron, CronField field)
{
    uint64_t bits = cron->bits[field];
    if (cron_is_full(cron, field)) {
        buf_add_char(out, '*');
        return;
    }
    for (const char *comma = ""; bits; bits &= bits - 1, comma = ",")
        buf_add_format(out, "%s%d", comma, lowest(bits));
}

static void add_days(Buf *out, const Cron *cron)
{
    if (cron->is_last_day)
        buf_add_char(out, 'L');
    if (cron->days_before_last > 0)
        buf_add_format(out, "-%d", cron->days_before_last);
    add_field(out, cron, CRON_DAYS);
    if (cron->is_near_weekday)
        buf_add_char(out, 'W');
}

Str cron_text(Arena *arena, const Cron *cron)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    for (int i = cron->has_seconds ? CRON_SECONDS : CRON_MINUTES; i < CRON_FIELDS; i++) {
        if (out.len > 0)
            buf_add_char(&out, ' ');
        if (i == CRON_DAYS)
            add_days(&out, cron);
        else
            add_field(&out, cron, (CronField) i);
    }
    if (cron->is_last_weekday)
        buf_add_char(&out, 'L');
    if (cron->nth_weekday > 0)
        buf_add_format(&out, "#%d", cron->nth_weekday);
    return buf_str(&out);
}

const char *cron_warning(const Cron *cron)
{
    if (cron_is_full(cron, CRON_DAYS) || cron_is_full(cron, CRON_WEEKDAYS))
        return NULL;
    return "days of month and days of week are both restricted: a day must match both";
}

void cron_note(Str text, Str pointer, Cron *ret, Error *error)
{
    CronFault fault;
    if (!cron_parse(text, CRON_ANY_FORM, ret, &fault))
        error_add(error, pointer, "bad-cron", "%.*s",
                  STR_ARG(cron_fault_text(error->arena, &fault)));
}

Err cron_note_zone(Str name, Str pointer, const Zone **ret, Error *error)
{
    Error why = { .arena = error->arena };
    Err err = zone_find(name, ret, &why);
    if (err == ERR_INVALID)
        error_add(error, pointer, "bad-zone", "%s", why.detail);
    else if (err != ERR_OK)
        return fail(error, err, "%s", why.detail);
    return ERR_OK;
}
