#include "net/strikes.h"

enum { WAYS = 4 }; // rows where a client may stand

// first_row mixes the client and the seed.
static size_t first_row(const Strikes *strikes, Remote client)
{
    uint64_t halves[2], mixed = strikes->seed;
    memcpy(halves, client.bytes, sizeof halves);
    for (int i = 0; i < 2; i++) {
        mixed = (mixed ^ halves[i]) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 32;
    }
    return mixed % (STRIKES_ROWS / WAYS) * WAYS;
}

static bool is_at(const Strike *row, Remote client)
{
    return memcmp(&row->client, &client, sizeof client) == 0;
}

void strikes_add(Strikes *strikes, Remote remote, Instant now)
{
    Remote client = remote_client(remote);
    Strike *rows = strikes->rows + first_row(strikes, client), *row = rows;
    for (int i = 0; i < WAYS && !is_at(row, client); i++)
        if (is_at(&rows[i], client) || rows[i].clear_at < row->clear_at)
            row = &rows[i];
    if (!is_at(row, client))
        *row = (Strike){ .client = client, .clear_at = now };
    row->clear_at = later(row->clear_at, now) + strikes->every;
}

bool strikes_out(const Strikes *strikes, Remote remote, Instant now)
{
    Remote client = remote_client(remote);
    const Strike *rows = strikes->rows + first_row(strikes, client);
    for (int i = 0; i < WAYS; i++)
        if (is_at(&rows[i], client))
            return rows[i].clear_at - now > (strikes->max - 1) * strikes->every;
    return false;
}
