#include "hooks.h"
#include "providers/linear.h"

#define ISSUE                                                                                      \
    "{'id':'i-1','identifier':'WEB-44','number':44,'title':'It breaks','priority':2,"              \
    "'priorityLabel':'High','createdAt':'2023-04-11T10:16:53.022Z','updatedAt':'2023-04-12T08:00:" \
    "00.5Z','url':'https://linear.app/a/issue/WEB-44','state':{'id':'s-1','name':'Todo','type':"   \
    "'unstarted'},'team':{'id':'t-1','key':'WEB','name':'Web'},'labels':[{'id':'l-1','name':"      \
    "'Bug'}],'labelIds':['l-1'],'assigneeId':'u-1'}"

static const Provider *linear(void)
{
    return provider_of(PROVIDER_LINEAR);
}

static ProviderRead parsed(Arena *arena, const char *body)
{
    ProviderRead read = { 0 };
    Error error = { .arena = arena };
    Hook hook = HOOK(arena, body, "linear-delivery: d-1");
    CHECK_AT(body, linear()->parse(arena, &hook, &read, &error) == ERR_OK);
    return read;
}

static void an_issue_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "{'action':'create','type':'Issue','data':" ISSUE ",'actor':null}");
    CHECK(read.count == 1 && !read.note.at);
    const ProviderEvent *event = read.events;
    CHECK(is_text(event->type, "issue") && is_text(event->provider_type, "Issue:create"));
    CHECK(is_text(event->dedup_key, "linear:i-1:create"));
    CHECK(is_text(event->title, "It breaks") && is_text(event->external_id, "WEB-44"));
    CHECK(is_text(event->url, "https://linear.app/a/issue/WEB-44"));
    CHECK(event->occurred_at == at_time("2023-04-11T10:16:53.022Z"));
    CHECK(is_text(member(&arena, event->context, "team"),
                  "{\"id\":\"t-1\",\"key\":\"WEB\",\"name\":\"Web\"}"));
    CHECK(is_text(member(&arena, event->context, "assignee"), "{\"id\":\"u-1\"}"));
    CHECK(is_text(member(&arena, event->context, "labels"), "[\"Bug\"]"));
    CHECK(is_text(member(&arena, event->context, "labelIds"), "[\"l-1\"]"));
    CHECK(is_text(member(&arena, event->context, "priority"), "2"));
    CHECK(!member(&arena, event->context, "project").at);
}

static void an_update_tells_what_changed_and_when(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = parsed(&arena, "{'action':'update','type':'Issue','data':" ISSUE
                                       ",'updatedFrom':{'stateId':'s-0','updatedAt':'x'}}");
    CHECK(is_text(read.events->dedup_key, "linear:i-1:update:2023-04-12T08:00:00.500Z"));
    CHECK(read.events->occurred_at == at_time("2023-04-12T08:00:00.5Z"));
    CHECK(is_text(member(&arena, read.events->context, "changed"), "[\"stateId\"]"));
}

// What a poll finds has the key that the webhook had.
static void both_ways_give_one_key(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderEvent polled;
    ProviderRead read = parsed(&arena, "{'action':'update','type':'Issue','data':" ISSUE "}");
    CHECK(linear_issue(&arena, document(&arena, ISSUE), S("update"), &polled));
    CHECK(str_eq(polled.dedup_key, read.events->dedup_key));
    CHECK(str_eq(polled.context, read.events->context));
    CHECK(!linear_issue(&arena, document(&arena, "{'title':'x'}"), S("update"), &polled));
}

static void what_is_missing_is_made_or_none(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "{'action':'create','type':'Issue','url':'https://l/1','data':"
                       "{'id':'i-2','number':3,'team':{'key':'APP'},'labels':null,"
                       "'state':7,'title':false}}");
    CHECK(is_text(read.events->external_id, "APP-3") && is_text(read.events->url, "https://l/1"));
    CHECK(!read.events->title.at && read.events->occurred_at == INSTANT_NONE);
}

static void what_is_no_event_says_why(void)
{
    static const struct {
        const char *body, *note;
    } cases[] = {
        { "{'action':'remove','type':'Issue','data':" ISSUE "}", "action remove" },
        { "{'action':'create','type':'Comment','data':{'id':'c'}}",
          "Comment is of no trigger type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, cases[i].body);
        CHECK_AT(cases[i].note, read.count == 0 && is_text(read.note, cases[i].note));
    }
}

static void what_is_not_linears_is_refused(void)
{
    static const char *const cases[] = {
        "",
        "[]",
        "{}",
        "{'type':'Issue'}",
        "{'action':'create','data':" ISSUE "}",
        "{'action':'create','type':'Issue'}",
        "{'action':'create','type':'Issue','data':[]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read;
        Hook hook = HOOK(&arena, cases[i], "x: 1");
        CHECK_AT(cases[i], linear()->parse(&arena, &hook, &read, NULL) == ERR_INVALID);
    }
}

// A signature is good for a minute: the time stands in what was signed.
static void what_was_signed_long_ago_is_a_replay(void)
{
    static const struct {
        const char *body;
        HookVerdict verdict;
    } cases[] = {
        // it comes at 2026-05-14T05:12:34Z
        { "{'webhookTimestamp':1778735554000}", HOOK_VERIFIED },
        { "{'webhookTimestamp':1778735554000.0}", HOOK_VERIFIED },
        { "{'webhookTimestamp':1778735494000}", HOOK_VERIFIED },
        { "{'webhookTimestamp':1778735493999}", HOOK_OLD },
        { "{'webhookTimestamp':1778735614000}", HOOK_VERIFIED },
        { "{'webhookTimestamp':1778735614001}", HOOK_AHEAD },
        // Whoever cuts a text may cut a character: it is signed and dated all the same.
        { "{'data':{'title':'half \\ud83d'},'webhookTimestamp':1778735554000}", HOOK_VERIFIED },
        { "{'data':{'title':'half \\ud83d'},'webhookTimestamp':1778735493999}", HOOK_OLD },
        { "{'data':{'webhookTimestamp':1778735554000}}", HOOK_UNDATED },
        { "{'webhookTimestamp':null}", HOOK_UNDATED },
        { "{}", HOOK_UNDATED },
        { "{", HOOK_UNREADABLE },
        { "{'webhookTimestamp':1778735554000,'a':1,'a':2}", HOOK_UNREADABLE },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookHeader headers[PROVIDER_HEADERS_MAX];
        HookTrust trust = trust_in("s3cret"), other = trust_in("other");
        Hook hook = HOOK(&arena, cases[i].body, "linear-timestamp: 1778735554000");
        hook.header_count = linear()->sign(&arena, &hook, S("s3cret"), NULL, headers);
        hook.headers = headers;
        CHECK_AT(cases[i].body, linear()->verify(&arena, &hook, &trust) == cases[i].verdict);
        CHECK_AT(cases[i].body, linear()->verify(&arena, &hook, &other) == HOOK_MISSIGNED);
    }
}

static const Test tests[] = {
    TEST(an_issue_is_read_whole),
    TEST(an_update_tells_what_changed_and_when),
    TEST(both_ways_give_one_key),
    TEST(what_is_missing_is_made_or_none),
    TEST(what_is_no_event_says_why),
    TEST(what_is_not_linears_is_refused),
    TEST(what_was_signed_long_ago_is_a_replay),
};
TEST_MAIN(tests)
