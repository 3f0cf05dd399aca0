#include "providers/when.h"

#include "base/time.h"

enum { WHEN_MAX = 40, CLOCK_LEN = 19 /* 2017-01-30T18:32:14 */ };

// with_colon puts a colon into an offset such as +0100 that ends text; others stay as they are.
static Str with_colon(char buffer[WHEN_MAX + 2], Str text)
{
    size_t sign = text.len - 5;
    if (text.len <= CLOCK_LEN + 4 || (text.at[sign] != '+' && text.at[sign] != '-'))
        return text;
    snprintf(buffer, WHEN_MAX + 2, "%.*s:%.*s", (int) text.len - 2, text.at, 2,
             text.at + text.len - 2);
    return str_from(buffer);
}

// is_zoned tells whether a zone stands behind the clock and its fraction.
static bool is_zoned(Str text)
{
    for (size_t i = CLOCK_LEN; i < text.len; i++)
        if (text.at[i] != '.' && (text.at[i] < '0' || text.at[i] > '9'))
            return true;
    return false;
}

static Instant read_date(Str text)
{
    char buffer[WHEN_MAX + 2], whole[WHEN_MAX + 2] = "";
    Instant at;
    snprintf(whole, sizeof whole, "%.*s%s", STR_ARG(text), is_zoned(text) ? "" : "Z");
    if (whole[10] == ' ')
        whole[10] = 'T';
    return time_parse(with_colon(buffer, str_from(whole)), &at) ? at : INSTANT_NONE;
}

// read_fraction reads digits behind a point, as microseconds of whatever is one.
static bool read_fraction(Str digits, int64_t *ret)
{
    int64_t fraction = 0, unit = 100 * 1000;
    for (size_t i = 0; i < digits.len; i++, unit /= 10) {
        if (digits.at[i] < '0' || digits.at[i] > '9')
            return false;
        fraction += (digits.at[i] - '0') * unit;
    }
    *ret = fraction;
    return true;
}

static Instant read_number(Str text)
{
    static const int64_t seconds_end = 100 * 1000 * INT64_C(1000000); // in the year 5138
    int64_t whole, fraction = 0;
    Str rest = text, digits = str_cut(&rest, '.');
    if (!str_to_i64(digits, 0, INT64_MAX, &whole) || !read_fraction(rest, &fraction))
        return INSTANT_NONE;
    Instant at = whole / 1000;
    if (whole < seconds_end)
        at = whole * SPAN_SECOND + fraction;
    else if (whole < seconds_end * 1000)
        at = whole * SPAN_MILLISECOND + fraction / 1000;
    else if (whole < seconds_end * 1000 * 1000)
        at = whole;
    return at <= TIME_LAST ? at : INSTANT_NONE;
}

Instant when_text(Str text)
{
    if (text.len == 0 || text.len > WHEN_MAX - 1)
        return INSTANT_NONE;
    return text.len >= CLOCK_LEN && text.at[4] == '-' ? read_date(text) : read_number(text);
}

Instant when_read(const Json *value)
{
    return when_text(json_type(value) == JSON_NUMBER ? json_number_text(value) : json_str(value));
}

Instant when_first(const Json *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Instant at = when_read(values[i]);
        if (at != INSTANT_NONE)
            return at;
    }
    return INSTANT_NONE;
}
