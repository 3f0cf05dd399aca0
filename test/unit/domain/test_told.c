#include "domain/told.h"

#include "test.h"

static const Outcome taken = { .verdict = VERDICT_DELIVERED,
                               .reason = REASON_ACCEPTED,
                               .code = 250,
                               .provider_id = { "q-1", 3 } };
static const Outcome refused = { .verdict = VERDICT_PERMANENT,
                                 .reason = REASON_REFUSED,
                                 .code = -550,
                                 .detail = { "no such user", 12 } };

static bool same(const TargetTold *told, const Target *target)
{
    const Outcome *a = &told->outcome, *b = &target->outcome;
    return told->n == target->n && a->verdict == b->verdict && a->reason == b->reason &&
           a->code == b->code && str_eq(a->provider_id, b->provider_id) &&
           (a->detail.at != NULL) == (b->detail.at != NULL) && str_eq(a->detail, b->detail);
}

// sample is a whole attempt, in which a few were refused; of a list, by any numbers.
static void sample(Target ret[TARGETS_MAX])
{
    for (size_t i = 0; i < TARGETS_MAX; i++)
        ret[i] = (Target){ .n = (int64_t) (i < 50 ? 90000 + i : i), .outcome = taken };
    ret[0].outcome = ret[13].outcome = ret[14].outcome = ret[99].outcome = refused;
}

static void what_was_told_comes_back(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[TARGETS_MAX];
    TargetTold told[TARGETS_MAX];
    sample(targets);
    Str bytes = told_pack(&arena, targets, TARGETS_MAX);
    CHECK(told_count(bytes) == TARGETS_MAX && told_read(bytes, told) == TARGETS_MAX);
    for (size_t i = 0; i < TARGETS_MAX; i++)
        CHECK(same(&told[i], &targets[i]));
    CHECK(bytes.len < 2 * TARGETS_MAX + 120); // most were told the same
    CHECK(!told_pack(&arena, targets, 0).at && told_count(STR_NONE) == 0);
    CHECK(told_read(STR_NONE, told) == 0);
}

static void long_words_are_cut(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[TARGETS_MAX];
    TargetTold told[TARGETS_MAX];
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        Buf words = buf_new(&arena, BUF_WHOLE);
        buf_add_format(&words, "%02zu", i);
        while (words.len < 4000)
            buf_add(&words, S("äx"));
        targets[i] = (Target){ .n = (int64_t) i + 1, .outcome = refused };
        targets[i].outcome.detail = targets[i].outcome.provider_id = buf_str(&words);
    }
    CHECK(told_read(told_pack(&arena, targets, TARGETS_MAX), told) == TARGETS_MAX);
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        Str detail = told[i].outcome.detail;
        CHECK(detail.len <= TOLD_TEXT_MAX && detail.len > TOLD_TEXT_MAX - 2);
        CHECK(str_is_utf8(detail) && str_eq(detail, told[i].outcome.provider_id));
    }
}

static void what_is_damaged_is_read_no_further(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[TARGETS_MAX];
    TargetTold told[TARGETS_MAX];
    sample(targets);
    Str whole = told_pack(&arena, targets, TARGETS_MAX);
    for (size_t len = 0; len < whole.len; len++) { // cut anywhere
        size_t count = told_read((Str){ whole.at, len }, told);
        CHECK(count < TARGETS_MAX);
        for (size_t i = 0; i < count; i++)
            CHECK(same(&told[i], &targets[i]));
    }
    char *bytes = arena_alloc(&arena, whole.len);
    for (size_t i = 0; i < whole.len * 256; i++) { // any byte in place of any other: no crash
        memcpy(bytes, whole.at, whole.len);
        bytes[i / 256] = (char) (i % 256);
        size_t count = told_read((Str){ bytes, whole.len }, told);
        CHECK(count <= TARGETS_MAX);
        for (size_t t = 0; t < count; t++)
            CHECK(told[t].outcome.verdict < TABLE_ROWS(VERDICT_TABLE));
    }
}

static const Test tests[] = {
    TEST(what_was_told_comes_back),
    TEST(long_words_are_cut),
    TEST(what_is_damaged_is_read_no_further),
};
TEST_MAIN(tests)
