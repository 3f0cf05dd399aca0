#include "base/id.h"

#include <stdatomic.h>

enum {
    COUNTER_BITS = 12,
    CLOCK_SLIP_MS = 1000, // how far the clock may step back before ids follow it
};

// next_stamp is larger than every stamp before it, unless the clock was set back on purpose: then
// the ids follow, rather than count on for hours from the old time.
static uint64_t next_stamp(_Atomic uint64_t *last_stamp, uint64_t now_ms)
{
    uint64_t last = atomic_load(last_stamp), stamp;
    do {
        stamp = now_ms << COUNTER_BITS;
        if (stamp <= last && (last >> COUNTER_BITS) - now_ms <= CLOCK_SLIP_MS)
            stamp = last + 1;
    } while (!atomic_compare_exchange_weak(last_stamp, &last, stamp));
    return stamp;
}

Uuid uuid_new(Instant now, Random *random)
{
    assert(now >= 0 && now / SPAN_MILLISECOND < (int64_t) 1 << 48);
    uint64_t now_ms = (uint64_t) (now / SPAN_MILLISECOND);
    uint64_t stamp = next_stamp(&random->stamp, now_ms);
    Uuid id;
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t) (stamp >> (52 - 8 * i));
    id.b[6] = (uint8_t) (0x70 | ((stamp >> 8) & 0x0f));
    id.b[7] = (uint8_t) stamp;
    random_fill(random, id.b + 8, 8);
    id.b[8] = (uint8_t) (0x80 | (id.b[8] & 0x3f));
    return id;
}

// bound_of is a stamp's milliseconds and nothing but fill behind.
static Uuid bound_of(int64_t ms, int fill)
{
    const int64_t ms_max = ((int64_t) 1 << 48) - 1;
    Uuid id;
    memset(&id, fill, sizeof id);
    ms = ms < 0 ? 0 : ms > ms_max ? ms_max : ms;
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t) (ms >> (40 - 8 * i));
    return id;
}

Uuid uuid_floor(Instant at)
{
    return bound_of(at / SPAN_MILLISECOND, 0);
}

// uuid_ceiling knows how far next_stamp() runs ahead: the slip, and one for a counter that is full.
Uuid uuid_ceiling(Instant at)
{
    return bound_of(at / SPAN_MILLISECOND + CLOCK_SLIP_MS + 1, 0xff);
}

static bool is_dash(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

bool uuid_parse(Str text, Uuid *ret)
{
    if (text.len != UUID_TEXT_LEN)
        return false;
    Uuid id;
    size_t filled = 0;
    for (size_t i = 0; i < UUID_TEXT_LEN;) {
        if (is_dash(i)) {
            if (text.at[i++] != '-')
                return false;
            continue;
        }
        int high = str_hex_value(text.at[i]), low = str_hex_value(text.at[i + 1]);
        if (high < 0 || low < 0)
            return false;
        id.b[filled++] = (uint8_t) (high << 4 | low);
        i += 2;
    }
    *ret = id;
    return true;
}

Str uuid_text(Uuid id, char buffer[UUID_TEXT_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    char *to = buffer;
    for (size_t i = 0; i < sizeof id.b; i++) {
        if (is_dash((size_t) (to - buffer)))
            *to++ = '-';
        *to++ = digits[id.b[i] >> 4];
        *to++ = digits[id.b[i] & 0x0f];
    }
    *to = '\0';
    return (Str){ buffer, UUID_TEXT_LEN };
}

Str uuid_dup(Arena *arena, Uuid id)
{
    char buffer[UUID_TEXT_LEN + 1];
    return str_dup(arena, uuid_text(id, buffer));
}

int uuid_cmp(Uuid a, Uuid b)
{
    return memcmp(a.b, b.b, sizeof a.b);
}

bool uuid_is_none(Uuid id)
{
    return uuid_cmp(id, (Uuid){ 0 }) == 0;
}

// draw fills text with characters, each as likely as any other.
static void draw(Random *random, char *text, size_t count)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    enum { CHARACTERS = sizeof alphabet - 1, FAIR_MAX = 256 / CHARACTERS * CHARACTERS };
    for (size_t len = 0; len < count;) {
        uint8_t draws[PUBLIC_ID_LEN];
        random_fill(random, draws, sizeof draws);
        // Bytes from FAIR_MAX on are thrown away: they would favour the first characters.
        for (size_t i = 0; i < sizeof draws && len < count; i++)
            if (draws[i] < FAIR_MAX)
                text[len++] = alphabet[draws[i] % CHARACTERS];
    }
}

Str public_id_new(Arena *arena, Random *random, Str alike)
{
    char text[PUBLIC_ID_LEN];
    assert(alike.len <= PUBLIC_ID_ALIKE);
    if (alike.len > 0)
        memcpy(text, alike.at, alike.len);
    draw(random, text + alike.len, sizeof text - alike.len);
    return str_dup(arena, (Str){ text, sizeof text });
}

Str public_id_alike(Arena *arena, Random *random)
{
    char text[PUBLIC_ID_ALIKE];
    draw(random, text, sizeof text);
    return str_dup(arena, (Str){ text, sizeof text });
}
