#include "parsed.h"

static void whole_and_thin_events_are_read(void)
{
    static const ParsedRow rows[] = {
        { NULL,
          "{'id':'evt_1','object':'event','api_version':'2023-10-16','created':1680064028,"
          "'livemode':true,'type':'charge.succeeded','data':{'object':{'id':'ch_1','object':"
          "'charge','amount':2000,'description':'Order 7'},'previous_attributes':{'amount':1}}}",
          NULL, "stripe.event", "charge.succeeded", "stripe:evt_1", "Order 7",
          "https://dashboard.stripe.com/events/evt_1", "ch_1", "2023-03-29T04:27:08.000Z",
          "{'type':'charge.succeeded','livemode':true,'apiVersion':'2023-10-16','objectType':"
          "'charge','objectId':'ch_1','object':{'id':'ch_1','object':'charge','amount':2000,"
          "'description':'Order 7'},'previous':{'amount':1}}" },
        { NULL,
          "{'id':'evt_test_65','object':'v2.core.event','type':'v1.billing.meter.error_report_"
          "triggered','livemode':false,'created':'2024-09-26T17:46:22.134123456Z','related_object':"
          "{'id':'mtr_1','type':'billing.meter','url':'/v1/billing/meters/mtr_1'}}",
          NULL, "stripe.event", "v1.billing.meter.error_report_triggered", "stripe:evt_test_65",
          "v1.billing.meter.error_report_triggered",
          "https://dashboard.stripe.com/test/events/evt_test_65", "mtr_1",
          "2024-09-26T17:46:22.134Z", NULL },
        // An id that cannot stand in a URL makes none.
        { NULL, "{'id':'evt 1/..','type':'x','created':null,'data':null}", NULL, "stripe.event",
          "x", "stripe:evt 1/..", "x", NULL, "evt 1/..", NULL, "{'type':'x'}" },
    };
    check_parsed(PROVIDER_STRIPE, rows, ARRAY_LEN(rows));
}

static void what_is_not_stripes_is_refused(void)
{
    static const char *const bodies[] = { "",
                                          "{",
                                          "[]",
                                          "7",
                                          "{'id':'HOSTILE'}",
                                          "{'type':'HOSTILE'}",
                                          "{'id':7,'type':'x'}",
                                          "{'id':'','type':'x'}" };
    check_refused(PROVIDER_STRIPE, bodies, ARRAY_LEN(bodies));
}

#define BODY "{\n  \"id\": \"evt_test_webhook\",\n  \"object\": \"event\"\n}"
#define SECRET "whsec_test_secret"
#define V1 "4f1cd7feda9826e746b7d482c4badebb657398df1099e1046364f6196a230150"

// The key is the whole secret; of several signatures one must hold, and only v1 counts.
static void the_header_is_a_list(void)
{
    static const struct {
        const char *header;
        HookVerdict verdict;
    } rows[] = {
        { "t=1700000000,v1=" V1, HOOK_VERIFIED },
        { "t=1700000000,v0=6ffb,v1=" V1 ",v2=x", HOOK_VERIFIED },
        { "t=1700000000,v1=001cd7feda9826e746b7d482c4badebb657398df1099e1046364f6196a230150,v1=" V1,
          HOOK_VERIFIED },
        { "v1=" V1 ",t=1700000000", HOOK_VERIFIED },
        { "t=1700000000,v1=" V1
          ",v1=001cd7feda9826e746b7d482c4badebb657398df1099e1046364f6196a230150",
          HOOK_VERIFIED },
        { "t=1700000000,v0=" V1, HOOK_MALFORMED },
        { "t=1700000000,v1=", HOOK_MALFORMED },
        { "t=1700000000", HOOK_MALFORMED },
        { "v1=" V1, HOOK_UNDATED },
        { "t=,v1=" V1, HOOK_UNDATED },
        { "t=1700000000.0,v1=" V1, HOOK_UNDATED },
        { "t=1700000001,v1=" V1, HOOK_MISSIGNED },
        { "t=1600000000,t=1700000000,v1=" V1, HOOK_MALFORMED },
        { "t=1699999000,v1=" V1, HOOK_OLD },
        { "t=1700001000,v1=" V1, HOOK_AHEAD },
        { "t=99999999999999999999,v1=" V1, HOOK_UNDATED },
        { ",,,=", HOOK_MALFORMED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookTrust trust = trust_in(SECRET);
        Str header = str_format(&arena, "stripe-signature: %s", rows[i].header);
        Hook hook = hook_lines(&arena, header.at, S(BODY));
        hook.at = 1700000000 * SPAN_SECOND;
        HookVerdict verdict = provider_of(PROVIDER_STRIPE)->verify(&arena, &hook, &trust);
        CHECK_AT(rows[i].header, verdict == rows[i].verdict);
    }
}

static const Test tests[] = {
    TEST(whole_and_thin_events_are_read),
    TEST(what_is_not_stripes_is_refused),
    TEST(the_header_is_a_list),
};
TEST_MAIN(tests)
