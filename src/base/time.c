#include "base/time.h"

// The calendar is arithmetic on days since 1970-01-01. Years are counted from March, so that the
// leap day is the last one and the months before it follow one straight line.

enum {
    DAYS_PER_ERA = 146097, // 400 years
    DAYS_TO_1970 = 719468, // from 0000-03-01
    YEAR_MIN = 1970,
    YEAR_MAX = 9999,
};

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char day_names[] = "SunMonTueWedThuFriSat";

typedef struct Civil {
    Date date;
    int hour, minute, second;
} Civil;

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int time_days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

int64_t time_days(Date date)
{
    int shifted = date.month > 2 ? date.year : date.year - 1;
    int era = shifted / 400;
    int year_of_era = shifted - era * 400;
    int months = date.month > 2 ? date.month - 3 : date.month + 9;
    int day_of_year = (153 * months + 2) / 5 + date.day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t) era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

Date time_date(int64_t days_since_1970)
{
    int days = (int) (days_since_1970 + DAYS_TO_1970);
    int era = days / DAYS_PER_ERA;
    int day_of_era = days - era * DAYS_PER_ERA;
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int shifted_month = (5 * day_of_year + 2) / 153;
    int month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    return (Date){ era * 400 + year_of_era + (month <= 2), month,
                   day_of_year - (153 * shifted_month + 2) / 5 + 1 };
}

int time_weekday(int64_t days)
{
    // From 0000-03-01, a Wednesday, on nothing is negative.
    return (int) ((days + DAYS_TO_1970 + 3) % 7);
}

// instant_of refuses what the calendar does not have, leap seconds among it.
static bool instant_of(const Civil *c, Instant *ret)
{
    Date date = c->date;
    if (date.year < YEAR_MIN || date.year > YEAR_MAX || date.month < 1 || date.month > 12)
        return false;
    if (date.day < 1 || date.day > time_days_in_month(date.year, date.month))
        return false;
    if (c->hour > 23 || c->minute > 59 || c->second > 59)
        return false;
    *ret = time_days(date) * SPAN_DAY + c->hour * SPAN_HOUR + c->minute * SPAN_MINUTE +
           c->second * SPAN_SECOND;
    return true;
}

static bool eat_char(Str *s, char c)
{
    if (s->len == 0 || s->at[0] != c)
        return false;
    *s = str_skip(*s, 1);
    return true;
}

// eat_number reads exactly width digits.
static bool eat_number(Str *s, size_t width, int *ret)
{
    if (s->len < width)
        return false;
    int n = 0;
    for (size_t i = 0; i < width; i++) {
        int digit = s->at[i] - '0';
        if (digit < 0 || digit > 9)
            return false;
        n = n * 10 + digit;
    }
    *s = str_skip(*s, width);
    *ret = n;
    return true;
}

// eat_name reads one of the three-letter names and gives its place, from 0.
static bool eat_name(Str *s, const char *names, int *ret)
{
    for (int i = 0; s->len >= 3 && names[3 * i] != '\0'; i++) {
        if (memcmp(s->at, names + 3 * (size_t) i, 3) == 0) {
            *s = str_skip(*s, 3);
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool eat_clock(Str *s, Civil *civil)
{
    return eat_number(s, 2, &civil->hour) && eat_char(s, ':') && eat_number(s, 2, &civil->minute) &&
           eat_char(s, ':') && eat_number(s, 2, &civil->second);
}

// eat_fraction reads one to nine digits; those behind the microsecond are dropped.
static bool eat_fraction(Str *s, Span *ret)
{
    Span unit = SPAN_SECOND, fraction = 0;
    size_t count = 0;
    for (int digit; eat_number(s, 1, &digit); count++) {
        unit /= 10;
        fraction += digit * unit;
    }
    *ret = fraction;
    return count >= 1 && count <= 9;
}

// eat_offset reads "Z" or "+hh:mm": how far the written time is ahead of UTC.
static bool eat_offset(Str *s, Span *ret)
{
    if (eat_char(s, 'Z') || eat_char(s, 'z')) {
        *ret = 0;
        return true;
    }
    bool is_behind = eat_char(s, '-');
    int hours, minutes;
    if (!is_behind && !eat_char(s, '+'))
        return false;
    if (!eat_number(s, 2, &hours) || !eat_char(s, ':') || !eat_number(s, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    Span offset = hours * SPAN_HOUR + minutes * SPAN_MINUTE;
    *ret = is_behind ? -offset : offset;
    return true;
}

bool time_parse(Str text, Instant *ret)
{
    Civil civil;
    Instant at;
    Span fraction = 0, offset;
    if (!eat_number(&text, 4, &civil.date.year) || !eat_char(&text, '-') ||
        !eat_number(&text, 2, &civil.date.month) || !eat_char(&text, '-') ||
        !eat_number(&text, 2, &civil.date.day))
        return false;
    if (!eat_char(&text, 'T') && !eat_char(&text, 't'))
        return false;
    if (!eat_clock(&text, &civil) || !instant_of(&civil, &at))
        return false;
    if (eat_char(&text, '.') && !eat_fraction(&text, &fraction))
        return false;
    if (!eat_offset(&text, &offset) || text.len > 0)
        return false;
    at += fraction - offset;
    if (at < 0 || at > TIME_LAST)
        return false;
    *ret = at;
    return true;
}

static char *put_number(char *to, int n, int width)
{
    for (int i = width - 1; i >= 0; i--, n /= 10)
        to[i] = (char) ('0' + n % 10);
    return to + width;
}

// put_clock puts the date and the time to the second, by hand, because several of these stand in
// every answer and every log line.
static char *put_clock(char *to, Instant at)
{
    int64_t days = at / SPAN_DAY - (at % SPAN_DAY < 0);
    int seconds = (int) ((at - days * SPAN_DAY) / SPAN_SECOND);
    Date date = time_date(days);
    to = put_number(to, date.year, 4);
    *to++ = '-';
    to = put_number(to, date.month, 2);
    *to++ = '-';
    to = put_number(to, date.day, 2);
    *to++ = 'T';
    to = put_number(to, seconds / 3600, 2);
    *to++ = ':';
    to = put_number(to, seconds / 60 % 60, 2);
    *to++ = ':';
    return put_number(to, seconds % 60, 2);
}

Str time_text(Instant at, char buffer[TIME_TEXT_MAX])
{
    if (at == INSTANT_NONE)
        return STR_NONE;
    at = later(0, earlier(at, TIME_LAST));
    int milliseconds = (int) (at % SPAN_DAY / SPAN_MILLISECOND);
    char *to = put_clock(buffer, at);
    *to++ = '.';
    to = put_number(to, milliseconds % 1000, 3);
    *to++ = 'Z';
    *to = '\0';
    return (Str){ buffer, (size_t) (to - buffer) };
}

Str time_local_text(Instant at, Span offset, char buffer[TIME_TEXT_MAX])
{
    int minutes = (int) (offset / SPAN_MINUTE);
    Instant wall = at + minutes * SPAN_MINUTE;
    // Before 1970 there is no instant, but a clock may be that far behind.
    assert(wall >= -SPAN_DAY * 2);
    char *to = put_clock(buffer, wall);
    *to++ = minutes < 0 ? '-' : '+';
    minutes = minutes < 0 ? -minutes : minutes;
    to = put_number(to, minutes / 60, 2);
    *to++ = ':';
    to = put_number(to, minutes % 60, 2);
    *to = '\0';
    return (Str){ buffer, (size_t) (to - buffer) };
}

static const struct {
    char letter;
    Span span;
} units[] = {
    { 'w', 7 * SPAN_DAY }, { 'd', SPAN_DAY },    { 'h', SPAN_HOUR },
    { 'm', SPAN_MINUTE },  { 's', SPAN_SECOND },
};

bool duration_parse(Str text, Span *ret)
{
    if (text.len == 0)
        return false;
    Span sum = 0;
    size_t unit = 0; // the largest that may still come
    while (text.len > 0) {
        size_t len = 0;
        while (len < text.len && text.at[len] >= '0' && text.at[len] <= '9')
            len++;
        int64_t count;
        if (len == text.len || !str_to_i64((Str){ text.at, len }, 0, INT64_MAX, &count))
            return false;
        while (unit < ARRAY_LEN(units) && units[unit].letter != text.at[len])
            unit++;
        if (unit == ARRAY_LEN(units))
            return false;
        if (count > (DURATION_MAX - sum) / units[unit].span)
            return false;
        sum += count * units[unit].span;
        unit++;
        text = str_skip(text, len + 1);
    }
    *ret = sum;
    return true;
}

Str duration_text(Arena *arena, Span span)
{
    if (span < SPAN_SECOND)
        return str_dup(arena, S("0s"));
    Buf buf = buf_new(arena, 64);
    // Weeks are read but not printed: nobody sees at once that 2w1d is fifteen days.
    for (size_t i = 1; i < ARRAY_LEN(units); i++) {
        if (span < units[i].span)
            continue;
        buf_add_i64(&buf, span / units[i].span);
        buf_add_char(&buf, units[i].letter);
        span %= units[i].span;
    }
    return buf_str(&buf);
}

Str time_mail_text(Instant at, char buffer[TIME_TEXT_MAX])
{
    at = later(0, earlier(at, TIME_LAST));
    int days = (int) (at / SPAN_DAY), seconds = (int) (at % SPAN_DAY / SPAN_SECOND);
    Date date = time_date(days);
    int len =
        snprintf(buffer, TIME_TEXT_MAX, "%.3s, %02d %.3s %04d %02d:%02d:%02d +0000",
                 day_names + time_weekday(days) * 3, date.day, month_names + (date.month - 1) * 3,
                 date.year, seconds / 3600, seconds / 60 % 60, seconds % 60);
    return (Str){ buffer, (size_t) len };
}

bool time_http_date(Str text, Instant *ret)
{
    Civil civil;
    int day_name, month_index;
    if (!eat_name(&text, day_names, &day_name) || !eat_char(&text, ',') || !eat_char(&text, ' '))
        return false;
    if (!eat_number(&text, 2, &civil.date.day) || !eat_char(&text, ' ') ||
        !eat_name(&text, month_names, &month_index) || !eat_char(&text, ' ') ||
        !eat_number(&text, 4, &civil.date.year) || !eat_char(&text, ' '))
        return false;
    if (!eat_clock(&text, &civil) || !str_eq(text, S(" GMT")))
        return false;
    civil.date.month = month_index + 1;
    return instant_of(&civil, ret);
}
