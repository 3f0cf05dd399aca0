#include "store/ring.h"

static void add_lane(Ring *ring, int64_t lane)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->lanes[i] == lane)
            return;
    if (ring->count < RING_LANES_MAX)
        ring->lanes[ring->count++] = lane;
    else
        ring->is_of_all = true;
}

void ring_add(Ring *ring, const Move *moves, size_t count, Instant now)
{
    ring->is_of_all |= count == 0;
    for (size_t i = 0; i < count && !ring->is_of_all; i++)
        if (moves[i].due_at <= now + RING_AHEAD)
            add_lane(ring, moves[i].lane);
}

Instant ring_due(const Ring *ring)
{
    return ring->count > 0 || ring->is_of_all ? ring->next_at : INSTANT_NONE;
}

void ring_take(Ring *ring, Instant monotonic, char text[RING_TEXT_MAX])
{
    size_t len = 0;
    assert(ring_due(ring) <= monotonic);
    text[0] = '\0';
    for (size_t i = 0; i < ring->count && !ring->is_of_all; i++)
        len += (size_t) snprintf(text + len, RING_TEXT_MAX - len, "%s%lld", i ? "," : "",
                                 (long long) ring->lanes[i]);
    *ring = (Ring){ .next_at = monotonic + SPAN_SECOND / RINGS_A_SECOND };
}

Ring ring_read(Str text)
{
    Ring ring = { 0 };
    while (text.len > 0) {
        size_t len = 0;
        int64_t lane;
        while (len < text.len && text.at[len] != ',')
            len++;
        if (!str_to_i64((Str){ text.at, len }, 1, INT64_MAX, &lane))
            return (Ring){ .is_of_all = true };
        add_lane(&ring, lane);
        text = str_skip(text, len < text.len ? len + 1 : len);
    }
    ring.is_of_all |= ring.count == 0;
    return ring;
}
