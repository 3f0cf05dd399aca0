#include "domain/trace.h"

#include "base/crypto.h"

enum { VERSION_AT = 0, ID_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, ID_LEN = 32, SPAN_LEN = 16 };

static Str part(Str text, size_t at, size_t len)
{
    return (Str){ text.at + at, len };
}

static bool is_hex(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.at[i] >= '0' && text.at[i] <= '9') || (text.at[i] >= 'a' && text.at[i] <= 'f')))
            return false;
    return true;
}

static bool is_zero(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] != '0')
            return false;
    return true;
}

// is_whole is true for a version that we know or one that begins like it.
static bool is_whole(Str text)
{
    if (text.len < TRACE_LEN || text.at[2] != '-' || text.at[35] != '-' || text.at[52] != '-')
        return false;
    Str version = part(text, VERSION_AT, 2);
    if (!is_hex(version) || str_eq(version, S("ff")))
        return false;
    return text.len == TRACE_LEN || (!is_zero(version) && text.at[TRACE_LEN] == '-');
}

Str trace_read(Arena *arena, Str text)
{
    if (!is_whole(text))
        return STR_NONE;
    Str id = part(text, ID_AT, ID_LEN), span = part(text, SPAN_AT, SPAN_LEN);
    Str flags = part(text, FLAGS_AT, 2);
    if (!is_hex(id) || is_zero(id) || !is_hex(span) || is_zero(span) || !is_hex(flags))
        return STR_NONE;
    int last = flags.at[1] <= '9' ? flags.at[1] - '0' : flags.at[1] - 'a' + 10;
    return STR_JOIN(arena, S("00-"), id, S("-"), span, last & 1 ? S("-01") : S("-00"));
}

Str trace_next(Arena *arena, Str kept, Uuid event, Uuid delivery, int attempt)
{
    uint8_t span[8];
    memcpy(span, delivery.b + 8, sizeof span);
    for (int i = 0; i < 4; i++)
        span[7 - i] ^= (uint8_t) ((unsigned) attempt >> 8 * i);
    Str own = hex_text(arena, span, sizeof span);
    if (kept.len != TRACE_LEN)
        return STR_JOIN(arena, S("00-"), hex_text(arena, event.b, sizeof event.b), S("-"), own,
                        S("-01"));
    return STR_JOIN(arena, S("00-"), part(kept, ID_AT, ID_LEN), S("-"), own, S("-"),
                    part(kept, FLAGS_AT, 2));
}
