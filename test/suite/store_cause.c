#include "fixture.h"

#include "store/cause.h"

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"

// fail_with makes a delivery that fails with these words.
static Uuid fail_with(Store *store, Verdict verdict, const char *detail)
{
    Uuid id = take(store, TENANT, "{'kind':'visit'}")->items[0].pairs[0].delivery;
    Claimed claimed = claim_one(store, 1);
    DeliveryReason reason = verdict == VERDICT_TRANSIENT ? REASON_UNWELL : REASON_REFUSED;
    Settle row = settle_of(store, &claimed, verdict, reason);
    row.attempt.outcome.detail = str_from(detail);
    settle(store, &row, 1);
    return id;
}

// sum_all reads all pages, each counting no more than so many, and returns how many causes there
// are; the counts of one that stands on several are added up.
static size_t sum_all(Store *store, DeliveryState state, int64_t met_max, int64_t limit, Cause *ret)
{
    size_t total = 0;
    Walk walk = { .limit = limit, .met_max = met_max };
    Seen seen;
    do {
        Cause *page;
        MUST(store, cause_page(store->db, &store->arena, TENANT, state, &walk, &page, &seen,
                               &store->error));
        CHECK(seen.has_more == (seen.next.at != NULL));
        for (size_t i = 0; i < seen.count; i++) {
            size_t at = 0;
            while (at < total && ret[at].cause != page[i].cause)
                at++;
            if (at == total)
                ret[total++] = page[i];
            else
                ret[at].count += page[i].count;
        }
        walk.after = seen.next;
    } while (seen.has_more);
    return total;
}

static const Cause *with_sample(const Cause *causes, size_t count, const char *sample)
{
    for (size_t i = 0; i < count; i++)
        if (is_text(causes[i].sample, sample))
            return &causes[i];
    return NULL;
}

static void counts_are_the_same_however_short_the_pages(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Instant first = now(&store);
    for (int i = 0; i < 5; i++) {
        fail_with(&store, VERDICT_PERMANENT, i % 2 ? "no user 17" : "no user 4");
        fail_with(&store, VERDICT_PERMANENT, i < 3 ? "no funds" : "no user 99");
        pass(&store, SPAN_SECOND);
    }
    Cause causes[9];
    for (int64_t met_max = 0; met_max < 5; met_max++) {
        for (int64_t limit = 1; limit < 4; limit++) {
            size_t count = sum_all(&store, DELIVERY_PARKED, met_max, limit, causes);
            const Cause *user = with_sample(causes, count, "no user #");
            const Cause *funds = with_sample(causes, count, "no funds");
            CHECK(count == 2 && user && user->count == 7 && funds && funds->count == 3);
            CHECK(user && user->oldest == first && user->newest == first + 4 * SPAN_SECOND);
            CHECK(funds && funds->newest == first + 2 * SPAN_SECOND);
            CHECK(user && user->reason == REASON_REFUSED && user->lane == 1);
        }
    }
    CHECK(sum_all(&store, DELIVERY_RETRYING, 0, 9, causes) == 0);
}

static void a_claim_that_is_given_back_keeps_its_cause(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    fail_with(&store, VERDICT_TRANSIENT, "busy");
    Cause causes[9];
    CHECK(sum_all(&store, DELIVERY_RETRYING, 0, 9, causes) == 1 && causes[0].count == 1);
    pass(&store, SPAN_HOUR);
    Claimed claimed = claim_one(&store, 1);
    CHECK(sum_all(&store, DELIVERY_RETRYING, 0, 9, causes) == 0); // it is being tried again
    QueueRow row = claimed_row(&claimed);
    Settle back = settle_from(&row, delivery_release(&claimed.live, claimed.was));
    settle(&store, &back, 1);
    CHECK(sum_all(&store, DELIVERY_RETRYING, 0, 9, causes) == 1);
    claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    CHECK(sum_all(&store, DELIVERY_RETRYING, 0, 9, causes) == 0);
}

static void what_leaves_leaves_its_cause(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid retried = fail_with(&store, VERDICT_PERMANENT, "no funds");
    Uuid discarded = fail_with(&store, VERDICT_PERMANENT, "no funds");
    Cause causes[9];
    CHECK(sum_all(&store, DELIVERY_PARKED, 0, 9, causes) == 1 && causes[0].count == 2);
    MUST(&store, act(&store, TENANT, retried, DELIVERY_ACTION_RETRY, NULL));
    CHECK(sum_all(&store, DELIVERY_PARKED, 0, 9, causes) == 1 && causes[0].count == 1);
    MUST(&store, act(&store, TENANT, discarded, DELIVERY_ACTION_DISCARD, NULL));
    CHECK(sum_all(&store, DELIVERY_PARKED, 0, 9, causes) == 0);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
}

static void another_lists_place_is_refused(void)
{
    STORE(store);
    Cause *page;
    Seen seen;
    const Str places[] = { S("x"), S("0123456789abcdef01234567"),
                           S("\xff\xff\xff\xff\xff\xff\xff"
                             "\xff"
                             "0123456789abcdef") };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        Walk walk = { .after = places[i], .limit = 3 };
        Err err = cause_page(store.db, &store.arena, TENANT, DELIVERY_PARKED, &walk, &page, &seen,
                             &store.error);
        CHECK(err == ERR_MALFORMED || (err == ERR_OK && seen.count == 0));
    }
}

static const Test tests[] = {
    TEST(counts_are_the_same_however_short_the_pages),
    TEST(a_claim_that_is_given_back_keeps_its_cause),
    TEST(what_leaves_leaves_its_cause),
    TEST(another_lists_place_is_refused),
};
PART(cause_part, tests);
