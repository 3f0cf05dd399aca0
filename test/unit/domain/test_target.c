#include "domain/target.h"

#include "documents.h"

static const Verdict verdicts[] = { VERDICT_DELIVERED, VERDICT_TRANSIENT, VERDICT_PERMANENT,
                                    VERDICT_UNKNOWN, VERDICT_ELSEWHERE };
_Static_assert(ARRAY_LEN(verdicts) == TABLE_ROWS(VERDICT_TABLE), "all of them");

static const DeliveryReason usual[] = {
    [VERDICT_DELIVERED] = REASON_ACCEPTED, [VERDICT_TRANSIENT] = REASON_UNWELL,
    [VERDICT_PERMANENT] = REASON_REFUSED,  [VERDICT_UNKNOWN] = REASON_LEASE_LAPSED,
    [VERDICT_ELSEWHERE] = REASON_NONE,
};

static Target target_of(int n, Verdict verdict)
{
    return (Target){ .n = n,
                     .send = 1,
                     .outcome = { .verdict = verdict,
                                  .reason = usual[verdict],
                                  .code = 100 * n,
                                  .provider_id = S("theirs"),
                                  .lease = verdict == VERDICT_ELSEWHERE ? n * SPAN_HOUR : 0 } };
}

static Target lettered(int n, char letter)
{
    Target target = target_of(n, letter == 'd'   ? VERDICT_DELIVERED
                                 : letter == 't' ? VERDICT_TRANSIENT
                                                 : VERDICT_PERMANENT);
    if (letter == 'o')
        target.outcome.reason = REASON_OPTED_OUT;
    return target;
}

static int count_of(const Target *targets, size_t count, Verdict verdict)
{
    int found = 0;
    for (size_t i = 0; i < count; i++)
        found += targets[i].outcome.verdict == verdict;
    return found;
}

static void check_fold(const Target *targets, size_t count)
{
    DEFER(arena_done) Arena arena = { 0 };
    Outcome folded = outcome_fold(&arena, targets, count, NULL);
    int of[ARRAY_LEN(verdicts)];
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        of[verdicts[i]] = count_of(targets, count, verdicts[i]);
    Verdict expected = of[VERDICT_ELSEWHERE]   ? VERDICT_ELSEWHERE
                       : of[VERDICT_TRANSIENT] ? VERDICT_TRANSIENT
                       : of[VERDICT_UNKNOWN]   ? VERDICT_UNKNOWN
                       : of[VERDICT_PERMANENT] ? VERDICT_PERMANENT
                                               : VERDICT_DELIVERED;
    bool is_partly = expected == VERDICT_PERMANENT && of[VERDICT_DELIVERED];
    CHECK(folded.verdict == expected);
    CHECK(folded.reason == (is_partly ? REASON_PARTLY_DELIVERED : usual[expected]));
    CHECK((folded.lease > 0) == (expected == VERDICT_ELSEWHERE));
    CHECK(!folded.detail.at == (expected == VERDICT_DELIVERED) && !folded.provider_id.at);
}

static void every_combination_folds(void)
{
    size_t kinds = ARRAY_LEN(verdicts);
    for (size_t i = 0; i < kinds * kinds * kinds; i++) {
        Target targets[] = { target_of(1, verdicts[i % kinds]),
                             target_of(2, verdicts[i / kinds % kinds]),
                             target_of(3, verdicts[i / kinds / kinds]) };
        check_fold(targets, 3);
        check_fold(targets, 2);
    }
}

static void one_target_speaks_for_the_attempt(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        Target target = target_of(1, verdicts[i]);
        Outcome folded = outcome_fold(&arena, &target, 1, NULL);
        CHECK(folded.verdict == verdicts[i] && folded.code == 100);
        CHECK(str_eq(folded.provider_id, S("theirs")));
    }
}

static void the_longest_wait_and_the_longest_lease_count(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[] = { target_of(1, VERDICT_TRANSIENT), target_of(2, VERDICT_TRANSIENT),
                         target_of(3, VERDICT_PERMANENT) };
    targets[0].outcome.retry_after = SPAN_SECOND;
    targets[1].outcome.retry_after = SPAN_MINUTE;
    Outcome folded = outcome_fold(&arena, targets, 3, NULL);
    CHECK(folded.retry_after == SPAN_MINUTE && folded.code == 100);
    targets[0] = target_of(1, VERDICT_ELSEWHERE);
    targets[1] = target_of(2, VERDICT_ELSEWHERE);
    CHECK(outcome_fold(&arena, targets, 3, NULL).lease == 2 * SPAN_HOUR);
}

static void the_detail_tells_of_each_that_has_it_not(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[] = { target_of(1, VERDICT_DELIVERED), target_of(2, VERDICT_PERMANENT),
                         target_of(3, VERDICT_PERMANENT) };
    targets[1].outcome.detail = S("no such mailbox");
    targets[1].address = S("ada@example.org");
    CHECK(str_eq(outcome_fold(&arena, targets, 3, NULL).detail,
                 S("1 of 3 have it; 2: no such mailbox; 3: refused")));

    // Refusals with reasons of their own have none in common: one target that is gone does not
    // disable the channel.
    targets[0] = target_of(1, VERDICT_PERMANENT);
    targets[0].outcome.reason = REASON_GONE;
    CHECK(outcome_fold(&arena, targets, 3, NULL).reason == REASON_REFUSED);
    targets[1].outcome.reason = targets[2].outcome.reason = REASON_GONE;
    CHECK(outcome_fold(&arena, targets, 3, NULL).reason == REASON_GONE);
}

// Letters: d delivered, t transient, p permanent, o opted out; carried / besides.
static void who_opted_out_counts_for_nothing(void)
{
    static const struct {
        const char *carried, *others;
        Verdict verdict;
        DeliveryReason reason;
    } cases[] = {
        { "o", "", VERDICT_PERMANENT, REASON_OPTED_OUT },
        { "ooo", "", VERDICT_PERMANENT, REASON_OPTED_OUT },
        { "o", "oo", VERDICT_PERMANENT, REASON_OPTED_OUT },
        { "odo", "", VERDICT_DELIVERED, REASON_ACCEPTED },
        { "d", "oo", VERDICT_DELIVERED, REASON_ACCEPTED },
        { "oo", "d", VERDICT_DELIVERED, REASON_ACCEPTED },
        { "op", "", VERDICT_PERMANENT, REASON_REFUSED },
        { "po", "", VERDICT_PERMANENT, REASON_REFUSED },
        { "o", "p", VERDICT_PERMANENT, REASON_REFUSED },
        { "o", "pd", VERDICT_PERMANENT, REASON_PARTLY_DELIVERED },
        { "opd", "", VERDICT_PERMANENT, REASON_PARTLY_DELIVERED },
        { "ot", "d", VERDICT_TRANSIENT, REASON_UNWELL },
        { "od", "t", VERDICT_TRANSIENT, REASON_UNWELL },
        { "o", "t", VERDICT_TRANSIENT, REASON_UNWELL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Target targets[3];
        TargetsElse others = { .count = (int64_t) strlen(cases[i].others),
                               .least_reason = REASON_REFUSED,
                               .reason = REASON_REFUSED };
        size_t count = strlen(cases[i].carried);
        for (size_t n = 0; n < count; n++)
            targets[n] = lettered((int) n + 1, cases[i].carried[n]);
        for (const char *at = cases[i].others; *at; at++) {
            others.delivered += *at == 'd';
            others.refused += *at == 'p';
            others.opted_out += *at == 'o';
        }
        Outcome folded = outcome_fold(&arena, targets, count, &others);
        CHECK(folded.verdict == cases[i].verdict && folded.reason == cases[i].reason);
    }
}

static void the_detail_has_an_end(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Target targets[TARGETS_MAX];
    Buf word = buf_new(&arena, 1000);
    for (int i = 0; i < 300; i++)
        buf_add(&word, S("\xc3\xa4"));
    for (int i = 0; i < TARGETS_MAX; i++) {
        targets[i] = target_of(i + 1, VERDICT_PERMANENT);
        targets[i].outcome.detail = buf_str(&word);
    }
    Str detail = outcome_fold(&arena, targets, TARGETS_MAX, NULL).detail;
    CHECK(detail.len > 3000 && detail.len <= 4096 && str_is_utf8(detail));
}

static void what_is_done_is_not_sent_again(void)
{
    static const struct {
        Verdict verdict;
        bool is_done;
    } cases[] = {
        { VERDICT_DELIVERED, true }, { VERDICT_PERMANENT, true },  { VERDICT_TRANSIENT, false },
        { VERDICT_UNKNOWN, false },  { VERDICT_ELSEWHERE, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Target target = target_of(1, cases[i].verdict);
        CHECK(target_is_done(&target, 1) == cases[i].is_done);
        CHECK(!target_is_done(&target, 2)); // a reminder goes to all of them
    }
    Target untold = { .n = 1 };
    CHECK(!target_is_done(&untold, 1));
}

static const Test tests[] = {
    TEST(every_combination_folds),
    TEST(one_target_speaks_for_the_attempt),
    TEST(the_longest_wait_and_the_longest_lease_count),
    TEST(the_detail_tells_of_each_that_has_it_not),
    TEST(who_opted_out_counts_for_nothing),
    TEST(the_detail_has_an_end),
    TEST(what_is_done_is_not_sent_again),
};

TEST_MAIN(tests)
