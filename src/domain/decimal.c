#include "domain/decimal.h"

#define EXPONENT_MAX ((int64_t) 1000000000000000)

static bool is_digit(Str text, size_t at)
{
    return at < text.len && text.at[at] >= '0' && text.at[at] <= '9';
}

static size_t skip_digits(Str text, size_t at)
{
    while (is_digit(text, at))
        at++;
    return at;
}

// read_exponent reads what stands behind the mantissa, which must be nothing or an exponent.
static bool read_exponent(Str text, size_t at, int64_t *ret)
{
    *ret = 0;
    if (at == text.len)
        return true;
    if (text.at[at] != 'e' && text.at[at] != 'E')
        return false;
    at++;
    bool is_negative = at < text.len && text.at[at] == '-';
    if (at < text.len && (text.at[at] == '-' || text.at[at] == '+'))
        at++;
    if (!is_digit(text, at))
        return false;
    int64_t exponent = 0;
    for (; is_digit(text, at); at++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (text.at[at] - '0');
    }
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    *ret = is_negative ? -exponent : exponent;
    return at == text.len;
}

bool decimal_parse(Str text, Decimal *ret)
{
    bool is_negative = text.len > 0 && text.at[0] == '-';
    size_t start = is_negative;
    size_t point = skip_digits(text, start);
    if (point == start || (text.at[start] == '0' && point > start + 1))
        return false;

    size_t end = point;
    if (end < text.len && text.at[end] == '.') {
        end = skip_digits(text, point + 1);
        if (end == point + 1)
            return false;
    }
    int64_t exponent;
    if (!read_exponent(text, end, &exponent))
        return false;

    size_t first = start;
    while (first < end && (text.at[first] == '0' || text.at[first] == '.'))
        first++;
    if (first == end) {
        *ret = (Decimal){ 0 };
        return true;
    }
    int64_t places = first < point ? (int64_t) (point - first) : -(int64_t) (first - point - 1);
    *ret = (Decimal){ .digits = { text.at + first, end - first },
                      .magnitude = places + exponent,
                      .sign = is_negative ? -1 : 1 };
    return true;
}

// next_digit steps over the point and gives 0 for ever behind the end.
static char next_digit(Str *digits)
{
    if (digits->len > 0 && digits->at[0] == '.')
        *digits = str_skip(*digits, 1);
    if (digits->len == 0)
        return '0';
    char digit = digits->at[0];
    *digits = str_skip(*digits, 1);
    return digit;
}

int decimal_cmp(const Decimal *a, const Decimal *b)
{
    if (a->sign != b->sign)
        return a->sign < b->sign ? -1 : 1;
    if (a->magnitude != b->magnitude)
        return a->magnitude < b->magnitude ? -a->sign : a->sign;

    Str left = a->digits, right = b->digits;
    while (left.len > 0 || right.len > 0) {
        char l = next_digit(&left), r = next_digit(&right);
        if (l != r)
            return l < r ? -a->sign : a->sign;
    }
    return 0;
}

uint64_t decimal_hash(const Decimal *decimal)
{
    Str rest = decimal->digits;
    while (rest.len > 0 && (rest.at[rest.len - 1] == '0' || rest.at[rest.len - 1] == '.'))
        rest.len--;
    uint64_t hash = (uint64_t) decimal->magnitude * 3 + (uint64_t) (decimal->sign + 1);
    while (rest.len > 0)
        hash = (hash ^ (unsigned char) next_digit(&rest)) * 0x100000001b3;
    return hash ^ (hash >> 32);
}
