#include "domain/cloudevent.h"

#include "documents.h"

#define NEEDED "'specversion':'1.0','id':'A-1','source':'/shop','type':'order.paid'"

static void a_structured_event_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event = { 0 };
    const Json *body = document(
        &arena, "{" NEEDED ",'subject':'booking:12345','time':'2026-05-14T05:12:34Z',"
                "'datacontenttype':'application/json','dataschema':'https://x/y','traceparent':"
                "'00-1-2-01','correlationid':'c-1','myextension':true,'data':{'a': [1, 2.50]}}");
    CHECK(cloudevent_structured(&arena, body, &event, &error) == ERR_OK);
    print_problems(&error);
    CHECK(is_text(event.kind, "order.paid") && is_text(event.source, "/shop"));
    CHECK(is_text(event.identity, "A-1") && is_text(event.entity, "booking:12345"));
    CHECK(event.occurred_at == (Instant) 1778735554 * SPAN_SECOND);
    CHECK(is_text(event.correlation_id, "c-1") && !event.trace.at); // not a trace
    CHECK(is_text(event.payload, "{\"a\":[1,2.50]}"));
    CHECK(json_get(event.payload_json, S("a")) && !event.recipient.at && !event.recipient_json);
}

static void data_becomes_the_payload(void)
{
    static const struct {
        const char *data, *payload;
    } cases[] = {
        { "", "{}" },
        { ",'data':null", "{}" },
        { ",'data':{}", "{}" },
        { ",'data':[1,{'a':2}]", "{\"data\":[1,{\"a\":2}]}" },
        { ",'data':'text'", "{\"data\":\"text\"}" },
        { ",'data':1.50", "{\"data\":1.50}" },
        { ",'data':false", "{\"data\":false}" },
        { ",'data_base64':'AQID'", "{\"data_base64\":\"AQID\"}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Event event = { 0 };
        Str source = str_format(&arena, "{" NEEDED "%s}", cases[i].data);
        CHECK_AT(cases[i].data, cloudevent_structured(&arena, document(&arena, source.at), &event,
                                                      NULL) == ERR_OK);
        CHECK_AT(cases[i].data, is_text(event.payload, cases[i].payload));
        CHECK_AT(cases[i].data, str_eq(json_text(&arena, event.payload_json), event.payload));
        CHECK_AT(cases[i].data, event.occurred_at == INSTANT_NONE && !event.entity.at);
        CHECK_AT(cases[i].data, !event.correlation_id.at);
    }
}

static void a_bad_structured_event_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "[]", "", "bad-type" },
        { "{'id':'1','source':'s','type':'t'}", "/specversion", "missing-member" },
        { "{'specversion':'0.3','id':'1','source':'s','type':'t'}", "/specversion", "bad-value" },
        { "{'specversion':'1.0','source':'s','type':'t'}", "/id", "missing-member" },
        { "{'specversion':'1.0','id':'1','type':'t'}", "/source", "missing-member" },
        { "{'specversion':'1.0','id':'1','source':'s'}", "/type", "missing-member" },
        { "{'specversion':'1.0','id':'','source':'s','type':'t'}", "/id", "bad-value" },
        { "{'specversion':'1.0','id':'1','source':'','type':'t'}", "/source", "bad-value" },
        { "{'specversion':'1.0','id':'1','source':'s','type':''}", "/type", "bad-value" },
        { "{'specversion':'1.0','id':1,'source':'s','type':'t'}", "/id", "bad-type" },
        { "{" NEEDED ",'time':'now'}", "/time", "bad-time" },
        { "{" NEEDED ",'subject':7}", "/subject", "bad-type" },
        { "{" NEEDED ",'data':1,'data_base64':'AQID'}", "/data_base64", "bad-value" },
        { "{" NEEDED ",'data_base64':'?'}", "/data_base64", "bad-value" },
        { "{" NEEDED ",'data_base64':7}", "/data_base64", "bad-type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Event event = { .tenant = 7 };
        const Json *body = document(&arena, cases[i].source);
        CHECK_AT(cases[i].source,
                 cloudevent_structured(&arena, body, &event, &error) == ERR_EVENT_INVALID);
        CHECK_AT(cases[i].source, error.count == 1 && event.tenant == 7);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
    }
}

#define HEADERS                                                                                    \
    { S("Ce-SpecVersion"), S("1.0") }, { S("ce-id"), S("A-1") }, { S("CE-Source"), S("/shop") },   \
    {                                                                                              \
        S("ce-type"), S("order.paid")                                                              \
    }

static void a_binary_event_is_read_from_its_headers(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event = { 0 };
    const CloudHeader headers[] = {
        HEADERS,
        { S("host"), S("peal") },
        { S("ce-time"), S("2026-05-14T05:12:34Z") },
        { S("ce-subject"), S("Euro%20%E2%82%AC%20%F0%9F%98%80") },
        { S("ce-traceparent"), S("00-1-2-01") },
        { S("ce-unknown"), S("\xff") },
        { S("id"), S("another") },
        { S("my-id"), S("another") },
        { S("ce-"), S("none") },
    };
    CHECK(cloudevent_binary(&arena, headers, ARRAY_LEN(headers), S("application/json"),
                            S("{ \"a\": 1 }"), &event, &error) == ERR_OK);
    print_problems(&error);
    CHECK(is_text(event.kind, "order.paid") && is_text(event.source, "/shop"));
    CHECK(is_text(event.identity, "A-1") && is_text(event.payload, "{\"a\":1}"));
    CHECK(event.occurred_at == (Instant) 1778735554 * SPAN_SECOND);
    CHECK(is_text(event.entity, "Euro \xE2\x82\xAC \xF0\x9F\x98\x80"));
    CHECK(is_text(event.correlation_id, "00-1-2-01"));
}

static void header_values_are_decoded_once(void)
{
    static const struct {
        const char *value, *expect;
    } cases[] = {
        { "plain", "plain" },
        { "a%20b", "a b" },
        { "%c3%A4", "\xc3\xa4" },
        { "100%", "100%" },
        { "%2", "%2" },
        { "%zz%20", "%zz " },
        { "%:0%/0%G0%g0%@0", "%:0%/0%G0%g0%@0" },
        { "%4a%4F%5f", "JO_" },
        { "%2541", "%41" },
        { "\"quoted\"", "quoted" },
        { "\"a \\\"b\\\" \\\\c\"", "a \"b\" \\c" },
        { "\"%22\"", "\"" },
        { "\"", "\"" },
        { "a\"b\"", "a\"b\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Event event = { 0 };
        const CloudHeader headers[] = { HEADERS, { S("ce-subject"), str_from(cases[i].value) } };
        CHECK_AT(cases[i].value, cloudevent_binary(&arena, headers, ARRAY_LEN(headers), S(""),
                                                   S(""), &event, NULL) == ERR_OK);
        CHECK_AT(cases[i].value, is_text(event.entity, cases[i].expect));
    }
}

static void the_body_becomes_the_payload_by_its_type(void)
{
    static const struct {
        const char *type, *body, *payload; // payload NULL: refused as malformed
    } cases[] = {
        { "application/json", "", "{}" },
        { "", "", "{}" },
        { "application/json", "{\"a\":1}", "{\"a\":1}" },
        { "Application/JSON; charset=utf-8", "[1]", "{\"data\":[1]}" },
        { "application/vnd.x+json", "\"s\"", "{\"data\":\"s\"}" },
        { "text/json ;x=y", "7", "{\"data\":7}" },
        { "application/json", "{\"a\":", NULL },
        { "application/vnd.x+json", "<a/>", NULL },
        { "text/plain", "{\"a\":1}", "{\"data\":\"{\\\"a\\\":1}\"}" },
        { "application/xml", "<a/>", "{\"data\":\"<a/>\"}" },
        { "", "hello", "{\"data\":\"hello\"}" },
        { "application/octet-stream", "\xff\xfe", "{\"data_base64\":\"//4=\"}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Event event = { 0 };
        const CloudHeader headers[] = { HEADERS };
        Err err = cloudevent_binary(&arena, headers, ARRAY_LEN(headers), str_from(cases[i].type),
                                    str_from(cases[i].body), &event, &error);
        CHECK_AT(cases[i].body, err == (cases[i].payload ? ERR_OK : ERR_MALFORMED));
        CHECK_AT(cases[i].body, !cases[i].payload || is_text(event.payload, cases[i].payload));
    }
}

static void a_bad_header_is_refused_with_its_attribute(void)
{
    static const struct {
        const char *name, *value, *path, *code;
    } cases[] = {
        { "ce-id", "B-2", "/id", "bad-value" }, // it stands twice
        { "ce-time", "yesterday", "/time", "bad-time" },
        { "ce-subject", "%FF", "/subject", "bad-value" },
        { "ce-subject", "a%00b", "/subject", "bad-value" },
        { "ce-subject", "a%0Ab", "/subject", "bad-value" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Event event = { .tenant = 7 };
        const CloudHeader headers[] = { HEADERS,
                                        { str_from(cases[i].name), str_from(cases[i].value) } };
        CHECK_AT(cases[i].value,
                 cloudevent_binary(&arena, headers, ARRAY_LEN(headers), S("application/json"),
                                   S("{}"), &event, &error) == ERR_EVENT_INVALID);
        CHECK_AT(cases[i].value, event.tenant == 7 && error.count == 1);
        CHECK_AT(cases[i].value, has_problem(&error, cases[i].path, cases[i].code));
    }

    // Each of the four needed headers is missed.
    static const char *const paths[] = { "/specversion", "/id", "/source", "/type" };
    const CloudHeader needed[] = { HEADERS };
    for (size_t left_out = 0; left_out < ARRAY_LEN(needed); left_out++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Event event;
        CloudHeader headers[ARRAY_LEN(needed)];
        memcpy(headers, needed, sizeof(needed));
        headers[left_out] = (CloudHeader){ S("ce-other"), S("x") };
        CHECK_AT(paths[left_out], cloudevent_binary(&arena, headers, ARRAY_LEN(headers), S(""),
                                                    S(""), &event, &error) == ERR_EVENT_INVALID);
        CHECK_AT(paths[left_out], has_problem(&error, paths[left_out], "missing-member"));
    }
}

static const Test tests[] = {
    TEST(a_structured_event_is_read_whole),
    TEST(data_becomes_the_payload),
    TEST(a_bad_structured_event_is_refused_with_its_place),
    TEST(a_binary_event_is_read_from_its_headers),
    TEST(header_values_are_decoded_once),
    TEST(the_body_becomes_the_payload_by_its_type),
    TEST(a_bad_header_is_refused_with_its_attribute),
};
TEST_MAIN(tests)
