#include "engine/window.h"

#include "base/arena.h"

// Group is one tenant's wishes: count of them from first on, next to be asked.
typedef struct Group {
    Wish *first;
    size_t count, next;
    size_t given; // lanes that were given something
    Use held;
} Group;

typedef struct Sharing {
    const Window *window;
    Use held;
    int64_t rows_left;
} Sharing;

static int by_tenant_and_lane(const void *a, const void *b)
{
    const Wish *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static bool has_rows(const Sharing *sharing, const Group *group, const Wish *wish)
{
    int64_t left = sharing->window->max.rows - sharing->held.rows;
    int64_t lane_held = wish->held.rows + wish->given.rows;
    return left > 0 && (group->held.rows == 0 || group->held.rows < left) &&
           (lane_held == 0 || lane_held < left - group->held.rows);
}

// has_bytes is asked once for a lane: its first row brings a budget that fits the largest.
static bool has_bytes(const Sharing *sharing, const Group *group, const Wish *wish)
{
    int64_t row = sharing->window->bytes_row;
    int64_t left = sharing->window->max.bytes - sharing->held.bytes;
    if (wish->given.rows > 0)
        return true;
    return left >= row && (group->held.bytes == 0 || group->held.bytes + row <= left) &&
           (wish->held.bytes == 0 || wish->held.bytes + row <= left - group->held.bytes);
}

static void give(Sharing *sharing, Group *group, Wish *wish)
{
    if (wish->given.rows == 0) {
        wish->given.bytes = sharing->window->bytes_row;
        group->held.bytes += wish->given.bytes;
        sharing->held.bytes += wish->given.bytes;
        group->given++;
    }
    wish->given.rows++;
    group->held.rows++;
    sharing->held.rows++;
    sharing->rows_left--;
}

// give_one gives one row to the next lane of the group that can take it; false: none can.
static bool give_one(Sharing *sharing, Group *group)
{
    for (size_t tries = 0; tries < group->count; tries++) {
        Wish *wish = &group->first[group->next];
        group->next = (group->next + 1) % group->count;
        if (wish->given.rows < wish->want && has_rows(sharing, group, wish) &&
            has_bytes(sharing, group, wish)) {
            give(sharing, group, wish);
            return true;
        }
    }
    return false;
}

static size_t make_groups(Wish *wishes, size_t count, size_t turn, Group *ret)
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || wishes[i].tenant != wishes[i - 1].tenant)
            ret[groups++] = (Group){ .first = &wishes[i], .held = wishes[i].tenant_held };
        ret[groups - 1].count++;
    }
    for (size_t i = 0; i < groups; i++)
        ret[i].next = turn % ret[i].count;
    return groups;
}

// widen gives the lanes that were chosen half of the bytes that are left, each tenant within what
// it may hold: the more a claim may bring, the fewer it takes.
static void widen(const Sharing *sharing, Group *groups, size_t count)
{
    int64_t left = sharing->window->max.bytes - sharing->held.bytes;
    size_t lanes = 0;
    for (size_t i = 0; i < count; i++)
        lanes += groups[i].given;
    for (size_t i = 0; i < count; i++) {
        Group *group = &groups[i];
        int64_t may = left - group->held.bytes;
        if (may <= 0 || group->given == 0)
            continue;
        int64_t share = left / 2 / (int64_t) lanes;
        int64_t own = may / 2 / (int64_t) group->given;
        for (size_t w = 0; w < group->count; w++)
            if (group->first[w].given.rows > 0)
                group->first[w].given.bytes += share < own ? share : own;
    }
}

void window_share(const Window *window, Wish *wishes, size_t count)
{
    Sharing sharing = { .window = window, .held = window->held, .rows_left = window->rows };
    if (count == 0)
        return;
    qsort(wishes, count, sizeof *wishes, by_tenant_and_lane);
    for (size_t i = 0; i < count; i++)
        wishes[i].given = (Use){ 0 };
    Group *groups = memory_new(count * sizeof *groups);
    size_t all = make_groups(wishes, count, window->turn, groups);
    size_t quiet = 0; // groups in a row that could take nothing
    for (size_t g = window->turn % all; quiet < all && sharing.rows_left > 0; g = (g + 1) % all)
        quiet = give_one(&sharing, &groups[g]) ? 0 : quiet + 1;
    widen(&sharing, groups, all);
    free(groups);
}
