#include "domain/calendar.h"

#include "base/time.h"

static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };
static const char *const days[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                    "Thursday", "Friday", "Saturday" };

enum { NAME_SHORT = 3, FORMAT_ROOM = 64 };

#define MILLIS_FROM                                                                                \
    ((int64_t) 100000000000) // larger numbers are milliseconds: as seconds, year 5138

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// eat reads a number of width digits, from min to max.
static bool eat(Str *text, size_t width, int min, int max, int *ret)
{
    int64_t n;
    if (text->len < width || !str_to_i64((Str){ text->at, width }, min, max, &n))
        return false;
    *ret = (int) n;
    *text = str_skip(*text, width);
    return true;
}

static bool eat_char(Str *text, char c)
{
    if (text->len == 0 || text->at[0] != c)
        return false;
    *text = str_skip(*text, 1);
    return true;
}

static bool eat_date(Str *text, Moment *moment)
{
    return eat(text, 4, 1, 9999, &moment->year) && eat_char(text, '-') &&
           eat(text, 2, 1, 12, &moment->month) && eat_char(text, '-') &&
           eat(text, 2, 1, time_days_in_month(moment->year, moment->month), &moment->day);
}

// eat_fraction reads the milliseconds of any number of digits.
static bool eat_fraction(Str *text, Moment *moment)
{
    int place = 100;
    if (text->len == 0 || !is_digit(text->at[0]))
        return false;
    for (; text->len > 0 && is_digit(text->at[0]); place /= 10) {
        moment->millis += place * (text->at[0] - '0');
        *text = str_skip(*text, 1);
    }
    return true;
}

static bool eat_clock(Str *text, Moment *moment)
{
    if (!eat(text, 2, 0, 23, &moment->hour) || !eat_char(text, ':') ||
        !eat(text, 2, 0, 59, &moment->minute))
        return false;
    if (!eat_char(text, ':'))
        return true;
    return eat(text, 2, 0, 60, &moment->second) &&
           (!eat_char(text, '.') || eat_fraction(text, moment));
}

// eat_offset reads Z or such as +05:30, or nothing; the moment stays as it was written.
static bool eat_offset(Str *text)
{
    int hours, minutes;
    if (text->len == 0 || eat_char(text, 'Z') || eat_char(text, 'z'))
        return true;
    if (!eat_char(text, '+') && !eat_char(text, '-'))
        return false;
    if (!eat(text, 2, 0, 23, &hours))
        return false;
    (void) eat_char(text, ':');
    return text->len == 0 || eat(text, 2, 0, 59, &minutes);
}

static bool read_text(Str text, Moment *ret)
{
    *ret = (Moment){ 0 };
    if (!eat_date(&text, ret))
        return false;
    if (text.len == 0)
        return true;
    if (!eat_char(&text, 'T') && !eat_char(&text, 't') && !eat_char(&text, ' '))
        return false;
    return eat_clock(&text, ret) && eat_offset(&text) && text.len == 0;
}

static bool read_number(Str text, Moment *ret)
{
    char buffer[TIME_TEXT_MAX];
    int64_t n;
    if (!str_to_i64(text, 0, INT64_C(253402300799999), &n)) // the end of the year 9999
        return false;
    int64_t millis = n < MILLIS_FROM ? n * 1000 : n;
    return read_text(time_text(millis * SPAN_MILLISECOND, buffer), ret);
}

bool calendar_read(Str text, bool is_number, Moment *ret)
{
    return is_number ? read_number(text, ret) : read_text(str_trim(text), ret);
}

static int weekday(const Moment *moment)
{
    return time_weekday(time_days((Date){ moment->year, moment->month, moment->day }));
}

static void add_number(Buf *out, int n, size_t width)
{
    buf_add_format(out, "%0*d", (int) width, n);
}

static void add_name(Buf *out, const char *name, size_t run)
{
    buf_add(out, run > NAME_SHORT ? str_from(name) : (Str){ name, NAME_SHORT });
}

// add_token writes what a run of letters stands for; false where it stands for nothing.
static bool add_token(Buf *out, const Moment *moment, char letter, size_t run)
{
    int hour = moment->hour % 12;
    switch (letter) {
    case 'y':
        add_number(out, run == 2 ? moment->year % 100 : moment->year, run);
        return run == 2 || run == 4;
    case 'M':
        if (run > 2)
            add_name(out, months[moment->month - 1], run);
        else
            add_number(out, moment->month, run);
        return run <= 4;
    case 'E':
        add_name(out, days[weekday(moment)], run);
        return run <= 4;
    case 'd':
        add_number(out, moment->day, run);
        return run <= 2;
    case 'H':
        add_number(out, moment->hour, run);
        return run <= 2;
    case 'h':
        add_number(out, hour ? hour : 12, run);
        return run <= 2;
    case 'm':
        add_number(out, moment->minute, run);
        return run <= 2;
    case 's':
        add_number(out, moment->second, run);
        return run <= 2;
    case 'S':
        add_number(out, moment->millis, run);
        return run == 3;
    case 'a':
        buf_add(out, moment->hour < 12 ? S("AM") : S("PM"));
        return run == 1;
    default:
        return false;
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// add_quoted writes what stands between quotes and returns its length with them; 0: it does not
// end. Two quotes are one, inside and out.
static size_t add_quoted(Buf *out, Str format)
{
    for (size_t i = 1; i < format.len; i++) {
        bool is_quote = format.at[i] == '\'';
        bool is_double = is_quote && i + 1 < format.len && format.at[i + 1] == '\'';
        if (is_quote && i == 1) {
            buf_add_char(out, '\'');
            return 2;
        }
        if (is_quote && !is_double)
            return i + 1;
        buf_add_char(out, format.at[i]);
        i += is_double;
    }
    return 0;
}

static const char *write_format(Buf *out, const Moment *moment, Str format)
{
    while (format.len > 0) {
        char c = format.at[0];
        size_t run = 1;
        if (c == '\'') {
            run = add_quoted(out, format);
            if (run == 0)
                return "a quote in the date's format is not closed";
        } else if (is_letter(c)) {
            while (run < format.len && format.at[run] == c)
                run++;
            if (!add_token(out, moment, c, run))
                return "a date's format is made of yyyy yy MMMM MMM MM M dd d EEEE EEE HH H hh h mm"
                       " m ss s SSS a; letters that are none of these stand between ' and '";
        } else {
            buf_add_char(out, c);
        }
        format = str_skip(format, run);
    }
    return NULL;
}

const char *calendar_format_problem(Str format)
{
    static const Moment any = { .year = 2026, .month = 1, .day = 1 };
    DEFER(arena_done) Arena scratch = { .first = FORMAT_ROOM };
    Buf out = buf_new(&scratch, BUF_WHOLE);
    return write_format(&out, &any, format);
}

Str calendar_write(Arena *arena, const Moment *moment, Str format)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    const char *problem = write_format(&out, moment, format);
    assert(!problem);
    return buf_str(&out);
}
