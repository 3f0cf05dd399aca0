#include "engine/window.h"

#include "test.h"

enum { MIB = 1 << 20, LANES_MAX = 16 };

// Each row is a window of 100 rows and 64 MiB, shared among lanes: what each lane wants and holds,
// and what it is given.
typedef struct Lane {
    int64_t tenant, want, held, given;
} Lane;

typedef struct Row {
    const char *name;
    int64_t rows; // in one claim; 0: as many as there are
    size_t turn;
    Lane lanes[LANES_MAX];
} Row;

static size_t wishes_of(const Row *row, Wish *wishes, Use *held)
{
    size_t count = 0;
    for (; count < LANES_MAX && row->lanes[count].tenant; count++) {
        const Lane *lane = &row->lanes[count];
        wishes[count] = (Wish){ .lane = (int64_t) count,
                                .tenant = lane->tenant,
                                .want = lane->want,
                                .held = { lane->held, 0 } };
        held->rows += lane->held;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (wishes[i].tenant == wishes[k].tenant)
                wishes[i].tenant_held.rows += wishes[k].held.rows;
    return count;
}

static void check_row(const Row *row)
{
    Wish wishes[LANES_MAX];
    Window window = { .max = { 100, 64 * MIB },
                      .rows = row->rows ? row->rows : 100,
                      .bytes_row = MIB,
                      .turn = row->turn };
    size_t count = wishes_of(row, wishes, &window.held);
    window_share(&window, wishes, count);
    for (size_t i = 0; i < count; i++)
        CHECK_AT(row->name, wishes[i].given.rows == row->lanes[wishes[i].lane].given);
}

static void room_is_shared_in_turns(void)
{
    static const Row rows[] = {
        // clang-format off
        { "a lane gets what it wants",             0, 0, { { 1, 10, 0, 10 } } },
        { "nobody wants anything",                 0, 0, { { 0 } } },
        { "one lane alone gets a third",           0, 0, { { 1, 1000, 0, 34 } } },
        { "two lanes of one tenant get a fifth each", 0, 0, { { 1, 1000, 0, 20 }, { 1, 1000, 0, 20 } } },
        { "two tenants share alike",               0, 0, { { 1, 1000, 0, 25 }, { 2, 1000, 0, 25 } } },
        { "a claim is shared in turns",            4, 0, { { 1, 9, 0, 2 }, { 2, 9, 0, 2 } } },
        { "whose turn it is goes first",           3, 1, { { 1, 9, 0, 1 }, { 2, 9, 0, 2 } } },
        { "tenants first, then lanes",             8, 0,
          { { 1, 9, 0, 1 }, { 1, 9, 0, 1 }, { 1, 9, 0, 1 }, { 1, 9, 0, 1 }, { 2, 9, 0, 4 } } },
        { "what one leaves another takes",        10, 0, { { 1, 2, 0, 2 }, { 2, 99, 0, 8 } } },
        { "a turn within a tenant",                1, 2, { { 1, 9, 0, 0 }, { 1, 9, 0, 0 }, { 1, 9, 0, 1 } } },
        { "a tenant at its half waits",            0, 0, { { 1, 9, 50, 0 }, { 2, 9, 0, 9 } } },
        { "a newcomer gets in however full it is", 0, 0, { { 1, 9, 99, 0 }, { 2, 9, 0, 1 } } },
        { "a new lane of a greedy tenant too",     0, 0, { { 1, 9, 40, 0 }, { 1, 9, 0, 7 } } },
        { "a tenant beyond its half waits with all", 0, 0, { { 1, 9, 60, 0 }, { 1, 9, 0, 0 }, { 2, 9, 0, 9 } } },
        { "full is full",                          0, 0, { { 1, 9, 100, 0 }, { 2, 9, 0, 0 } } },
        // clang-format on
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

static Wish wish(int64_t lane, int64_t tenant, int64_t bytes, int64_t tenant_bytes)
{
    return (Wish){ .lane = lane,
                   .tenant = tenant,
                   .want = 10,
                   .held = { bytes > 0, bytes },
                   .tenant_held = { tenant_bytes > 0, tenant_bytes } };
}

static void nobody_is_asked_with_less_than_the_largest_payload(void)
{
    Wish wishes[100];
    int64_t given = 0, lanes = 0;
    for (int64_t i = 0; i < 100; i++)
        wishes[i] = wish(i, 1 + i % 7, 0, 0);
    Window window = { .max = { 8000, 64 * MIB }, .rows = 1000, .bytes_row = MIB };
    window_share(&window, wishes, ARRAY_LEN(wishes));
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        CHECK(wishes[i].given.rows == 0 || wishes[i].given.bytes >= MIB);
        given += wishes[i].given.bytes;
        lanes += wishes[i].given.rows > 0;
    }
    CHECK(given <= 64 * MIB && lanes > 32);
}

static void bytes_are_shared_by_the_same_rules(void)
{
    Window window = { .max = { 8000, 64 * MIB }, .rows = 1000, .bytes_row = MIB };
    window.held = (Use){ 2, 33 * MIB };
    Wish wishes[] = { wish(1, 1, 33 * MIB, 33 * MIB), wish(2, 2, 0, 0) };
    window_share(&window, wishes, 2);
    CHECK(wishes[0].given.rows == 0); // it holds more than what is left
    CHECK(wishes[1].given.rows == 10 && wishes[1].given.bytes >= MIB);
    CHECK(wishes[1].given.bytes <= 31 * MIB);

    window.held = (Use){ 2, 64 * MIB - MIB / 2 };
    Wish late[] = { wish(2, 2, 0, 0) };
    window_share(&window, late, 1);
    CHECK(late[0].given.rows == 0); // less is left than the largest payload
}

static void many_greedy_tenants_leave_room_for_the_next(void)
{
    Window window = { .max = { 8192, 64 * MIB }, .rows = 8192, .bytes_row = 1 };
    for (int64_t tenant = 1; tenant <= 12; tenant++) {
        Wish one = { .lane = tenant, .tenant = tenant, .want = 100000 };
        for (int again = 0; again < 20; again++) {
            window_share(&window, &one, 1);
            window.held.rows += one.given.rows;
            one.held.rows += one.given.rows;
            one.tenant_held = one.held;
        }
        CHECK(one.held.rows > 0 && window.held.rows < window.max.rows);
    }
}

static const Test tests[] = {
    TEST(room_is_shared_in_turns),
    TEST(nobody_is_asked_with_less_than_the_largest_payload),
    TEST(bytes_are_shared_by_the_same_rules),
    TEST(many_greedy_tenants_leave_room_for_the_next),
};

TEST_MAIN(tests)
