#include "base/id.h"
#include "test.h"

#include <pthread.h>

static const Instant base_now = 1778735554123456;

static uint64_t milliseconds_of(Uuid id)
{
    uint64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id.b[i];
    return ms;
}

static void new_ids_are_version_7(void)
{
    Random randoms[] = { random_system(), random_seeded(3) };
    for (size_t i = 0; i < ARRAY_LEN(randoms); i++) {
        Uuid id = uuid_new(base_now, &randoms[i]);
        CHECK(milliseconds_of(id) == (uint64_t) (base_now / 1000));
        CHECK(id.b[6] >> 4 == 7 && id.b[8] >> 6 == 2);
        CHECK(!uuid_is_none(id));
        Uuid other = uuid_new(base_now, &randoms[i]);
        CHECK(memcmp(id.b + 9, other.b + 9, 7) != 0);
    }
}

static void ids_grow_within_a_process(void)
{
    Random random = random_system();
    Uuid last = uuid_new(base_now, &random);
    // More than the counter holds, in one millisecond, with the clock slipping back meanwhile.
    for (int i = 0; i < 10000; i++) {
        Uuid next = uuid_new(i % 3 == 0 ? base_now - 990 * SPAN_MILLISECOND : base_now, &random);
        CHECK(uuid_cmp(last, next) < 0);
        last = next;
    }
    Uuid ahead = uuid_new(base_now + SPAN_HOUR, &random);
    CHECK(milliseconds_of(ahead) == (uint64_t) ((base_now + SPAN_HOUR) / 1000));
}

static void ids_follow_a_clock_that_was_set_back(void)
{
    Random random = random_system();
    uuid_new(base_now + 10 * SPAN_DAY, &random);
    Uuid id = uuid_new(base_now + 9 * SPAN_DAY, &random);
    CHECK(milliseconds_of(id) == (uint64_t) ((base_now + 9 * SPAN_DAY) / 1000));
}

// A clock that slips back, and more ids than a millisecond has numbers, push ids ahead of their
// time; the bounds of that time enclose them still.
static void the_ids_of_a_time_are_enclosed(void)
{
    Random random = random_system();
    Uuid highest = uuid_new(base_now, &random);
    for (int i = 0; i < 10000; i++)
        highest = uuid_new(base_now - 990 * SPAN_MILLISECOND, &random);
    CHECK(milliseconds_of(highest) > (uint64_t) (base_now / 1000));
    CHECK(uuid_cmp(highest, uuid_ceiling(base_now - 990 * SPAN_MILLISECOND)) < 0);
    Random fresh = random_system();
    Uuid id = uuid_new(base_now, &fresh);
    CHECK(uuid_cmp(uuid_floor(base_now), id) < 0 && uuid_cmp(id, uuid_ceiling(base_now)) < 0);
    CHECK(uuid_cmp(id, uuid_floor(base_now + SPAN_MILLISECOND)) < 0);
    CHECK(uuid_cmp(id, uuid_ceiling(base_now - 2 * SPAN_SECOND)) > 0);
    CHECK(uuid_cmp(uuid_ceiling(INSTANT_NONE), uuid_ceiling(base_now)) > 0);
    CHECK(uuid_is_none(uuid_floor(0)) && uuid_is_none(uuid_floor(-SPAN_DAY)));
}

static void seeded_ids_depend_on_the_seed_alone(void)
{
    Random system = random_system();
    Random a = random_seeded(5), b = random_seeded(5);
    for (int i = 0; i < 10; i++) {
        Uuid first = uuid_new(base_now, &a);
        uuid_new(base_now, &system);
        Uuid second = uuid_new(base_now, &b);
        CHECK(uuid_cmp(first, second) == 0);
    }
    CHECK(uuid_cmp(uuid_new(base_now, &a), uuid_new(base_now, &a)) != 0);
}

enum { THREADS = 4, IDS_EACH = 5000 };
static Uuid made[THREADS][IDS_EACH];

static Random shared_random; // one Random, many threads: that is what must not share a stamp

static void *make_ids(void *at)
{
    Uuid *ids = at;
    for (int i = 0; i < IDS_EACH; i++)
        ids[i] = uuid_new(base_now + 20 * SPAN_DAY, &shared_random);
    return NULL;
}

static int cmp_stamps(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}

static void threads_never_share_a_stamp(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, make_ids, made[i]) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    Uuid *all = made[0];
    qsort(all, THREADS * IDS_EACH, sizeof *all, cmp_stamps);
    for (size_t i = 1; i < THREADS * IDS_EACH; i++)
        CHECK(memcmp(all[i - 1].b, all[i].b, 8) != 0);
}

static void ids_of_another_random_do_not_disturb_the_order(void)
{
    // Request ids are made from the system's time while events may live in a manual clock's.
    Random events = random_system(), requests = random_system();
    Uuid last = uuid_new(base_now, &events);
    for (int i = 0; i < 100; i++) {
        uuid_new(base_now + 200 * SPAN_DAY, &requests);
        Uuid next = uuid_new(base_now, &events);
        CHECK(uuid_cmp(last, next) < 0);
        last = next;
    }
}

static void texts_read_back(void)
{
    Uuid id = { 0 };
    for (size_t i = 0; i < sizeof id.b; i++)
        id.b[i] = (uint8_t) (i * 17);
    char buffer[UUID_TEXT_LEN + 1];
    Str text = uuid_text(id, buffer);
    CHECK(str_eq(text, S("00112233-4455-6677-8899-aabbccddeeff")) && buffer[36] == '\0');
    Uuid back = { 0 };
    CHECK(uuid_parse(text, &back) && uuid_cmp(id, back) == 0);
    back = (Uuid){ 0 };
    CHECK(uuid_parse(S("00112233-4455-6677-8899-AABBCCDDEEFF"), &back) && uuid_cmp(id, back) == 0);
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(uuid_dup(&arena, id), text));
}

static void other_texts_are_refused(void)
{
    static const char *const rows[] = {
        "",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeefff",
        "00112233445566778899aabbccddeeff",
        "{0112233-4455-6677-8899-aabbccddeef}",
        "00112233_4455-6677-8899-aabbccddeeff",
        "0011223-34455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeefg",
        "00112233-4455-6677-8899-aabbccddeg0f",
        "00112233-4455-6677-8899-aabbccddee f",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Uuid id = { .b = { 9 } };
        CHECK_AT(rows[i], !uuid_parse(str_from(rows[i]), &id) && id.b[0] == 9);
    }
}

static void ids_are_ordered_as_bytes(void)
{
    Uuid small = { .b = { 0, 1 } }, large = { .b = { 0, 0x80 } };
    CHECK(uuid_cmp(small, large) < 0 && uuid_cmp(large, small) > 0);
    CHECK(uuid_is_none((Uuid){ 0 }) && !uuid_is_none((Uuid){ .b = { [15] = 1 } }));
}

static void public_ids_use_all_characters_evenly(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random randoms[] = { random_system(), random_seeded(11) };
    enum { IDS = 20000, EXPECTED = IDS * PUBLIC_ID_LEN / 62 };
    for (size_t r = 0; r < ARRAY_LEN(randoms); r++) {
        int seen[256] = { 0 };
        for (int i = 0; i < IDS; i++) {
            Str id = public_id_new(&arena, &randoms[r], STR_NONE);
            CHECK(id.len == PUBLIC_ID_LEN && id.at[PUBLIC_ID_LEN] == '\0');
            for (size_t c = 0; c < id.len; c++)
                seen[(unsigned char) id.at[c]]++;
        }
        // A plain byte % 62 would favour eight characters by a quarter; chance stays within 8%.
        int distinct = 0;
        for (int c = 0; c < 256; c++) {
            if (seen[c] == 0)
                continue;
            distinct++;
            CHECK(seen[c] > EXPECTED * 92 / 100 && seen[c] < EXPECTED * 108 / 100);
            CHECK((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
        }
        CHECK(distinct == 62);
        arena_reset(&arena);
    }
    Random a = random_seeded(1), b = random_seeded(1);
    CHECK(str_eq(public_id_new(&arena, &a, STR_NONE), public_id_new(&arena, &b, STR_NONE)));
}

static void public_ids_that_are_made_together_begin_alike(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_seeded(7);
    Str alike = public_id_alike(&arena, &random), other = public_id_alike(&arena, &random);
    Str a = public_id_new(&arena, &random, alike), b = public_id_new(&arena, &random, alike);
    CHECK(alike.len == PUBLIC_ID_ALIKE && !str_eq(alike, other));
    CHECK(a.len == PUBLIC_ID_LEN && str_starts(a, alike) && str_starts(b, alike));
    for (size_t i = PUBLIC_ID_ALIKE, same = 0; i < PUBLIC_ID_LEN; i++) {
        same += a.at[i] == b.at[i];
        CHECK(same < 4); // by chance; the rest is each one's own
    }
}

static const Test tests[] = {
    TEST(new_ids_are_version_7),
    TEST(ids_grow_within_a_process),
    TEST(ids_follow_a_clock_that_was_set_back),
    TEST(the_ids_of_a_time_are_enclosed),
    TEST(seeded_ids_depend_on_the_seed_alone),
    TEST(threads_never_share_a_stamp),
    TEST(ids_of_another_random_do_not_disturb_the_order),
    TEST(texts_read_back),
    TEST(other_texts_are_refused),
    TEST(ids_are_ordered_as_bytes),
    TEST(public_ids_use_all_characters_evenly),
    TEST(public_ids_that_are_made_together_begin_alike),
};
TEST_MAIN(tests)
