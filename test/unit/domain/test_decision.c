#include "domain/decision.h"

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
    for (size_t count = 0; count <= ARRAY_LEN(misses); count++) {
        DEFER(arena_done) Arena arena = { 0 };
        Miss *read = NULL;
        size_t read_count = 99;
        Str facts = decision_pack(&arena, misses, count);
        CHECK(decision_unpack(&arena, facts, &read, &read_count, NULL) == ERR_OK);
        CHECK(read_count == count);
        for (size_t i = 0; i < read_count && i < count; i++)
            CHECK(same(&read[i], &misses[i]));
    }
}

static void a_filtered_rule_takes_six_bytes(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Miss misses[100];
    for (size_t i = 0; i < ARRAY_LEN(misses); i++)
        misses[i] = (Miss){ .rule = 1000 + (int64_t) i,
                            .version = 3,
                            .kind = DECISION_FILTERED,
                            .reason = DECISION_REASON_FILTER_FALSE,
                            .leaf = 1 };
    CHECK(decision_pack(&arena, misses, ARRAY_LEN(misses)).len == 1 + 6 * ARRAY_LEN(misses));
}

static void a_full_row_stays_below_its_ceiling(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Miss *misses = ARENA_ARRAY(&arena, Miss, DECISION_MISSES_MAX), *read;
    size_t count;
    for (size_t i = 0; i < DECISION_MISSES_MAX; i++)
        misses[i] = (Miss){ INT64_MAX, INT64_MAX, DECISION_FAILED, DECISION_REASON_TOO_LARGE,
                            INT32_MAX, holder(7) };
    Str facts = decision_pack(&arena, misses, DECISION_MISSES_MAX);
    CHECK(facts.len <= DECISION_BYTES_MAX);
    CHECK(decision_unpack(&arena, facts, &read, &count, NULL) == ERR_OK);
    CHECK(count == DECISION_MISSES_MAX && same(&read[count - 1], &misses[0]));
}

static void what_was_not_packed_is_refused(void)
{
    static const struct {
        const char *about, *bytes;
        size_t len;
    } rows[] = {
        { "nothing at all", "", 0 },
        { "another format", "\x02\x01\x01\x03\x02", 5 },
        { "cut in a number", "\x01\x81", 2 },
        { "cut in a miss", "\x01\x01\x01\x03", 4 },
        { "cut in a holder", "\x01\x01\x01\x21\x03zzzzzzzzzzzzzzz", 20 },
        { "rule 0", "\x01\x00\x01\x03\x02", 5 },
        { "version 0", "\x01\x01\x00\x03\x02", 5 },
        { "a kind that there is not", "\x01\x01\x01\x0f\x02", 5 },
        { "a reason that there is not", "\x01\x01\x01\x03\x7f", 5 },
        { "a number written longer than needed", "\x01\x81\x00\x01\x03\x02", 6 },
        { "a number without end", "\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x01\x03\x02",
          15 },
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
    TEST(what_is_packed_is_read_back),        TEST(a_filtered_rule_takes_six_bytes),
    TEST(a_full_row_stays_below_its_ceiling), TEST(what_was_not_packed_is_refused),
    TEST(kinds_and_reasons_have_words),
};
TEST_MAIN(tests)
