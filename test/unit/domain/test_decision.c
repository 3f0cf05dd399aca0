#include "domain/decision.h"

#include "base/random.h"

#include "test.h"

static Uuid holder(uint8_t fill)
{
    Uuid id;
    memset(id.b, fill, sizeof id.b);
    return id;
}

static bool same(const Miss *a, const Miss *b)
{
    return a->rule == b->rule && a->version == b->version && a->kind == b->kind &&
           a->reason == b->reason && a->leaf == b->leaf && uuid_cmp(a->holder, b->holder) == 0;
}

static Str pack(Arena *arena, const Miss *misses, size_t count)
{
    DecisionPack pack = decision_begin(arena, STR_NONE);
    for (size_t i = 0; i < count; i++)
        decision_add(&pack, &misses[i]);
    return decision_end(&pack);
}

static void check_reads(Str facts, const Miss *misses, size_t count)
{
    DEFER(arena_done) Arena arena = { 0 };
    Miss *read = NULL;
    size_t read_count = 99;
    CHECK(decision_unpack(&arena, facts, &read, &read_count, NULL) == ERR_OK);
    CHECK(read_count == count);
    for (size_t i = 0; i < read_count && i < count; i++)
        CHECK(same(&read[i], &misses[i]));
}

static void what_is_packed_is_read_back(void)
{
    const Miss misses[] = {
        { 1, 1, DECISION_FILTERED, DECISION_REASON_FILTER_FALSE, 0, { { 0 } } },
        { 127, 128, DECISION_FILTERED, DECISION_REASON_FILTER_FALSE, 300, { { 0 } } },
        { INT64_MAX,
          INT64_MAX,
          DECISION_DISABLED,
          DECISION_REASON_TRIGGER_DISABLED,
          -1,
          { { 0 } } },
        { 16384, 2, DECISION_DUPLICATE, DECISION_REASON_DUPLICATE_KEY, -1, holder(9) },
        { 5, 1, DECISION_FAILED, DECISION_REASON_TOO_LARGE, INT32_MAX, holder(255) },
    };
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(!pack(&arena, misses, 0).at); // nothing is no row
    for (size_t count = 1; count <= ARRAY_LEN(misses); count++) {
        check_reads(pack(&arena, misses, count), misses, count);
        DecisionPack later = decision_begin(&arena, pack(&arena, misses, count - 1));
        decision_add(&later, &misses[count - 1]);
        check_reads(decision_end(&later), misses, count);
    }
}

static Miss filtered(int64_t rule, int64_t version, int leaf)
{
    return (Miss){ .rule = rule,
                   .version = version,
                   .kind = DECISION_FILTERED,
                   .reason = DECISION_REASON_FILTER_FALSE,
                   .leaf = leaf };
}

static void rules_that_say_the_same_share_their_bytes(void)
{
    static const struct {
        const char *about;
        int64_t first, gap;
        int versions;
        size_t bytes;
    } rows[] = {
        { "made one after the other", 1000, 1, 1, 11 },
        { "every hundredth", 1000, 100, 1, 12 },
        { "of two versions in turn", 1000, 1, 2, 1 + 1000 * 8 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Miss misses[1000];
        for (int64_t m = 0; m < 1000; m++)
            misses[m] = filtered(rows[i].first + m * rows[i].gap, 3 + m % rows[i].versions, 1);
        Str facts = pack(&arena, misses, ARRAY_LEN(misses));
        CHECK_AT(rows[i].about, facts.len <= rows[i].bytes);
        check_reads(facts, misses, ARRAY_LEN(misses));
    }
}

static void rules_at_random_take_two_bytes(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_seeded(7);
    Miss misses[1000];
    int64_t rule = 0;
    for (size_t i = 0; i < ARRAY_LEN(misses); i++)
        misses[i] = filtered(rule += 1 + (int64_t) (random_u64(&random) % 200), 1, 0);
    Str facts = pack(&arena, misses, ARRAY_LEN(misses));
    CHECK(facts.len <= 2 * ARRAY_LEN(misses));
    check_reads(facts, misses, ARRAY_LEN(misses));
}

static void a_full_row_stays_below_its_ceiling(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Miss *misses = ARENA_ARRAY(&arena, Miss, DECISION_MISSES_MAX), *read;
    size_t count;
    for (size_t i = 0; i < DECISION_MISSES_MAX; i++)
        misses[i] = (Miss){ INT64_MAX, INT64_MAX, DECISION_FAILED, DECISION_REASON_TOO_LARGE,
                            INT32_MAX, holder(7) };
    Str facts = pack(&arena, misses, DECISION_MISSES_MAX);
    CHECK(facts.len <= DECISION_BYTES_MAX);
    CHECK(decision_unpack(&arena, facts, &read, &count, NULL) == ERR_OK);
    CHECK(count == DECISION_MISSES_MAX && same(&read[count - 1], &misses[0]));
}

// A run is only a quicker way to say the same, whatever stands before and behind it.
static void a_run_is_what_its_rules_are_one_by_one(void)
{
    for (size_t count = 1; count < 6; count++) {
        for (int64_t gap = 1; gap < 4; gap++) {
            DEFER(arena_done) Arena arena = { 0 };
            DecisionPack run = decision_begin(&arena, STR_NONE), singly = run;
            Miss miss = { 3, 1, DECISION_FILTERED, DECISION_REASON_FILTER_FALSE, 0, { { 0 } } };
            for (int turn = 0; turn < 3; turn++) {
                decision_add_run(&run, &miss, gap, count);
                for (size_t i = 0; i < count; i++, miss.rule += gap)
                    decision_add(&singly, &miss);
            }
            CHECK(str_eq(decision_end(&run), decision_end(&singly)));
        }
    }
}

static void what_was_not_packed_is_refused(void)
{
    static const struct {
        const char *about, *bytes;
        size_t len;
    } rows[] = {
        { "nothing at all", "", 0 },
        { "another format", "\x01\x01\x01\x03\x02", 5 },
        { "cut in a number", "\x02\x81", 2 },
        { "cut in a head", "\x02\x03\x01", 3 },
        { "cut before its end", "\x02\x03\x01\x02\x02", 5 },
        { "cut in a holder", "\x02\x21\x01\x03\x02zzzzzzzzzzzzzzz", 20 },
        { "no holder that is one", "\x02\x21\x01\x03\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22 },
        { "a group of nobody", "\x02\x03\x01\x02\x00", 5 },
        { "a distance of 0", "\x02\x03\x01\x02\x01\x01\x00", 7 },
        { "a distance that is repeated no time", "\x02\x03\x01\x02\x03\x00\x00", 7 },
        { "holders that repeat", "\x02\x21\x01\x03\x03\x01zzzzzzzzzzzzzzzz\x00", 23 },
        { "more than an event can meet", "\x02\x03\x01\x02\x03\xff\xff\x7f\x00", 9 },
        { "a rule past all numbers",
          "\x02\x03\x01\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x00", 16 },
        { "a kind that there is not", "\x02\x0f\x01\x02\x02\x00", 6 },
        { "a reason that there is not", "\x02\x03\x01\x7f\x02\x00", 6 },
        { "a number without end",
          "\x02\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x02\x02\x00", 16 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { 0 };
        Miss *read;
        size_t count;
        Str facts = { rows[i].bytes, rows[i].len };
        CHECK_AT(rows[i].about,
                 decision_unpack(&arena, facts, &read, &count, &error) == ERR_CORRUPT);
        CHECK_AT(rows[i].about, error.detail[0] != 0);
    }
}

static void kinds_and_reasons_have_words(void)
{
    CHECK(strcmp(decision_text(DECISION_CREATED), "created") == 0);
    CHECK(strcmp(decision_text(DECISION_FAILED), "failed") == 0);
    CHECK(strcmp(decision_reason_code(DECISION_REASON_FILTER_FALSE), "filter-false") == 0);
    CHECK(strcmp(decision_reason_meaning(DECISION_REASON_MATCHED), "the trigger matched") == 0);
}

static const Test tests[] = {
    TEST(what_is_packed_is_read_back),
    TEST(rules_that_say_the_same_share_their_bytes),
    TEST(rules_at_random_take_two_bytes),
    TEST(a_full_row_stays_below_its_ceiling),
    TEST(a_run_is_what_its_rules_are_one_by_one),
    TEST(what_was_not_packed_is_refused),
    TEST(kinds_and_reasons_have_words),
};
TEST_MAIN(tests)
