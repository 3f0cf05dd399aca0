#include "hooks.h"

#define ISSUE                                                                                      \
    "{'id':'1170820242','shortId':'WEB-1','title':'TypeError: x','culprit':'checkout','permalink'" \
    ":null,'web_url':'https://acme.sentry.io/issues/1170820242','level':'error','status':"         \
    "'unresolved','platform':'python','project':{'id':'1','name':'Web','slug':'web'},'count':'1'," \
    "'userCount':0,'firstSeen':'2019-08-19T21:06:17.403000Z','lastSeen':'2019-08-20T21:06:17Z'}"
#define EVENT                                                                                      \
    "{'event_id':'e4874d664c3540c1a32eab185f12c5ab','level':'warning','title':'Oops','culprit':"   \
    "'views','project':7,'issue_id':'42','datetime':'2019-08-19T21:06:17.677000Z','timestamp':"    \
    "1566248777.677,'web_url':'https://sentry.io/o/acme/issues/42/events/e4/','url':"              \
    "'https://sentry.io/api/0/projects/acme/front-end/events/e4/','tags':[['browser','Chrome'],"   \
    "['environment','production']]}"

static const Provider *sentry(void)
{
    return provider_of(PROVIDER_SENTRY);
}

static ProviderRead parsed(Arena *arena, const char *resource, const char *body)
{
    ProviderRead read = { 0 };
    Error error = { .arena = arena };
    Str header = str_format(arena, "sentry-hook-resource: %s", resource);
    Hook hook = HOOK(arena, body, header.at);
    CHECK_AT(body, sentry()->parse(arena, &hook, &read, &error) == ERR_OK);
    return read;
}

static void an_issue_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = parsed(&arena, "issue", "{'action':'created','data':{'issue':" ISSUE "}}");
    CHECK(read.count == 1 && !read.note.at);
    const ProviderEvent *event = read.events;
    CHECK(is_text(event->type, "issue") && is_text(event->provider_type, "issue:created"));
    CHECK(is_text(event->dedup_key, "sentry:1170820242"));
    CHECK(is_text(event->external_id, "1170820242") && is_text(event->title, "TypeError: x"));
    CHECK(is_text(event->url, "https://acme.sentry.io/issues/1170820242"));
    CHECK(event->occurred_at == at_time("2019-08-19T21:06:17.403Z"));
    CHECK(is_text(member(&arena, event->context, "level"), "\"error\""));
    CHECK(is_text(member(&arena, event->context, "project"),
                  "{\"id\":\"1\",\"slug\":\"web\",\"name\":\"Web\"}"));
    CHECK(!member(&arena, event->context, "environment").at);
}

static void an_alert_tells_of_its_event(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "event_alert",
               "{'action':'triggered','data':{'event':" EVENT ",'triggered_rule':'Send it'}}");
    const ProviderEvent *event = read.events;
    CHECK(is_text(event->provider_type, "event_alert:triggered"));
    CHECK(is_text(event->dedup_key, "sentry:e4874d664c3540c1a32eab185f12c5ab"));
    CHECK(is_text(event->external_id, "42") && is_text(event->title, "Oops"));
    CHECK(event->occurred_at == at_time("2019-08-19T21:06:17.677Z"));
    CHECK(is_text(member(&arena, event->context, "environment"), "\"production\""));
    CHECK(is_text(member(&arena, event->context, "project"),
                  "{\"id\":\"7\",\"slug\":\"front-end\"}"));
    CHECK(is_text(member(&arena, event->context, "rule"), "\"Send it\""));
}

static void an_issue_with_its_event_has_the_events_key(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = parsed(&arena, "issue",
                               "{'action':'created','data':{'issue':" ISSUE ",'event':" EVENT "}}");
    CHECK(is_text(read.events->dedup_key, "sentry:e4874d664c3540c1a32eab185f12c5ab"));
    CHECK(is_text(read.events->title, "TypeError: x"));
    CHECK(is_text(read.events->external_id, "1170820242"));
    CHECK(is_text(member(&arena, read.events->context, "level"), "\"warning\""));
}

static void the_old_plugin_writes_both_at_the_top(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = { 0 };
    Hook hook = HOOK(&arena,
                     "{'id':'42','project':'web','project_name':'Web','project_slug':'web','level':"
                     "'fatal','culprit':'x','message':'It broke\\nbadly','url':'https://s.io/42',"
                     "'event':{'event_id':'e1','tags':{'environment':'dev'}}}",
                     "x: 1");
    CHECK(sentry()->parse(&arena, &hook, &read, NULL) == ERR_OK && read.count == 1);
    CHECK(is_text(read.events->dedup_key, "sentry:e1") && is_text(read.events->title, "It broke"));
    CHECK(is_text(read.events->url, "https://s.io/42"));
    CHECK(is_text(member(&arena, read.events->context, "level"), "\"fatal\""));
    CHECK(is_text(member(&arena, read.events->context, "environment"), "\"dev\""));
}

// What is done to an issue can be done again; the same body is the same webhook.
static void what_can_repeat_is_told_by_its_body(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const char *first = "{'action':'resolved','data':{'issue':{'id':'1','count':'7'}}}";
    const char *other = "{'action':'resolved','data':{'issue':{'id':'1','count':'8'}}}";
    Str key = parsed(&arena, "issue", first).events->dedup_key;
    CHECK(str_starts(key, S("sentry:1:resolved:")) && key.len == 34);
    CHECK(str_eq(key, parsed(&arena, "issue", first).events->dedup_key));
    CHECK(!str_eq(key, parsed(&arena, "issue", other).events->dedup_key));
}

static void the_last_frames_and_their_files_are_kept(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf body = buf_new(&arena, BUF_WHOLE);
    buf_add(&body, S("{'data':{'error':{'event_id':'e','exception':{'values':[{'stacktrace':null},"
                     "{'stacktrace':{'frames':["));
    for (int i = 0; i < 94; i++)
        buf_add_format(&body, "%s{'filename':'f%d.py','function':'g','lineno':%d,'in_app':true}",
                       i ? "," : "", i / 2, i);
    buf_add(&body, S("]}}]}}}}"));
    buf_add_char(&body, '\0');
    ProviderRead read = parsed(&arena, "error", body.at);
    const Json *context = NULL;
    CHECK(json_parse(&arena, read.events->context, &context, NULL) == ERR_OK);
    const Json *frames = json_get(context, S("stackTrace"));
    CHECK(json_count(frames) == 10);
    CHECK(is_text(json_text(&arena, json_at(frames, 9)),
                  "{\"function\":\"g\",\"file\":\"f46.py\",\"line\":93,\"inApp\":true}"));
    CHECK(is_text(json_text(&arena, json_get(context, S("relatedFiles"))),
                  "[\"f42.py\",\"f43.py\",\"f44.py\",\"f45.py\",\"f46.py\"]"));
}

static void what_is_no_event_says_why(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "metric_alert", "{'action':'critical','data':{'metric_alert':{'id':'7'}}}");
    CHECK(read.count == 0 && is_text(read.note, "metric_alert is of no trigger type"));
    read = parsed(&arena, "installation", "{'action':'created','data':{'installation':{}}}");
    CHECK(read.count == 0 && is_text(read.note, "installation is of no trigger type"));
}

static void what_is_not_sentrys_is_refused(void)
{
    static const char *const cases[] = {
        "",           "[]", "{}", "{'data':7}", "{'data':{'issue':{}}}", "{'data':{'issue':[1]}}",
        "{'id':'7'}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read;
        Hook hook = HOOK(&arena, cases[i], "sentry-hook-resource: issue");
        CHECK_AT(cases[i], sentry()->parse(&arena, &hook, &read, NULL) == ERR_INVALID);
        hook.header_count = 0;
        CHECK_AT(cases[i], sentry()->parse(&arena, &hook, &read, NULL) == ERR_INVALID);
    }
}

static void whatever_stands_elsewhere_is_none(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "event_alert",
               "{'data':{'event':{'event_id':7,'tags':[1,[],['environment'],{'key':"
               "'environment'}],'exception':{'values':{'a':1}},'project':{},'title':"
               "[],'datetime':{},'url':'https://x/projects/','web_url':'javascript:"
               "alert(1)'}}}");
    CHECK(is_text(read.events->dedup_key, "sentry:7") && !read.events->title.at);
    CHECK(!read.events->url.at && read.events->occurred_at == INSTANT_NONE);
    CHECK(is_text(member(&arena, read.events->context, "stackTrace"), "[]"));
}

static void either_header_is_checked(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookHeader headers[PROVIDER_HEADERS_MAX];
    HookTrust trust = trust_in("s3cret");
    Hook hook = HOOK(&arena, "{'a': 1}", "request-id: r-1");
    CHECK(is_text(sentry()->identify(&arena, &hook), "r-1"));
    CHECK(sentry()->verify(&arena, &hook, &trust) == HOOK_UNSIGNED);
    hook.header_count = sentry()->sign(&arena, &hook, S("s3cret"), NULL, headers);
    hook.headers = headers;
    CHECK(sentry()->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    headers[0].name = S("x-servicehook-signature");
    CHECK(sentry()->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    // The one does not stand in for the other that is wrong.
    headers[1] = (HookHeader){ S("sentry-hook-signature"), S("00") };
    hook.header_count = 2;
    CHECK(sentry()->verify(&arena, &hook, &trust) == HOOK_MALFORMED);
}

static const Test tests[] = {
    TEST(an_issue_is_read_whole),
    TEST(an_alert_tells_of_its_event),
    TEST(an_issue_with_its_event_has_the_events_key),
    TEST(the_old_plugin_writes_both_at_the_top),
    TEST(what_can_repeat_is_told_by_its_body),
    TEST(the_last_frames_and_their_files_are_kept),
    TEST(what_is_no_event_says_why),
    TEST(what_is_not_sentrys_is_refused),
    TEST(whatever_stands_elsewhere_is_none),
    TEST(either_header_is_checked),
};
TEST_MAIN(tests)
