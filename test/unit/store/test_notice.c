#include "store/notice.h"

#include "test.h"

static void the_newest_number_of_a_tenant_counts(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Notices notices = { 0 };
    CHECK(notices_due(&notices) == INSTANT_NONE);
    notices_add(&notices, S("acme"), 7);
    notices_add(&notices, S("other \"inc\""), 1);
    notices_add(&notices, S("acme"), 9);
    notices_add(&notices, S("acme"), 8);
    CHECK(notices_due(&notices) == 0);
    CHECK(str_eq(notices_take(&notices, &arena, SPAN_SECOND),
                 S("[{\"tenant\":\"acme\",\"number\":9},"
                   "{\"tenant\":\"other \\\"inc\\\"\",\"number\":1}]")));
    CHECK(notices_due(&notices) == INSTANT_NONE);
    notices_add(&notices, S("acme"), 10);
    CHECK(notices_due(&notices) == SPAN_SECOND + 50 * SPAN_MILLISECOND); // 20 a second
}

static void many_tenants_are_bounded(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Notices notices = { 0 };
    char id[NOTICE_ID_MAX + 2];
    for (int i = 0; i < 1000; i++) {
        memset(id, '"', sizeof id);
        id[NOTICE_ID_MAX - 4 + snprintf(id + NOTICE_ID_MAX - 4, 5, "%d", i)] = '\0';
        notices_add(&notices, str_from(id), i);
    }
    Str text = notices_take(&notices, &arena, 0);
    CHECK(text.len < NOTICE_TEXT_MAX && str_ends(text, S("{\"tenant\":null,\"number\":null}]")));
    memset(id, 'x', sizeof id);
    notices_add(&notices, (Str){ id, sizeof id }, 1); // longer than any that is
    CHECK(str_eq(notices_take(&notices, &arena, 0), S("[{\"tenant\":null,\"number\":null}]")));
}

static void a_notice_is_no_ring(void)
{
    CHECK(notice_is(S("{\"tenant\":\"a\",\"number\":1}")));
    CHECK(!notice_is(S("inbox")) && !notice_is(S("12,13")) && !notice_is(S("")));
}

static const Test tests[] = {
    TEST(the_newest_number_of_a_tenant_counts),
    TEST(many_tenants_are_bounded),
    TEST(a_notice_is_no_ring),
};
TEST_MAIN(tests)
