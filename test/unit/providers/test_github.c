#include "hooks.h"

#define REPOSITORY                                                                                 \
    "'repository':{'full_name':'octo/hello','html_url':'https://github.com/octo/hello'}"
#define ISSUE                                                                                      \
    "'issue':{'id':123,'number':7,'title':'It breaks','html_url':'https://github.com/octo/hello/"  \
    "issues/7','state':'open','updated_at':'2019-05-15T15:20:18Z','labels':[{'name':'bug'},"       \
    "{'name':'ui'}],'user':{'login':'mona'}}"

static const Provider *github(void)
{
    return provider_of(PROVIDER_GITHUB);
}

// parsed reads a body that must be GitHub's.
static ProviderRead parsed(Arena *arena, const char *event, const char *body)
{
    Error error = { .arena = arena };
    ProviderRead read = { 0 };
    Str header = str_format(arena, "x-github-event: %s", event);
    Hook hook = HOOK(arena, body, header.at, "x-github-delivery: d-1");
    CHECK_AT(body, github()->parse(arena, &hook, &read, &error) == ERR_OK);
    return read;
}

static void an_issue_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "issues",
               "{'action':'opened'," ISSUE "," REPOSITORY
               ",'installation':{'id':42},'sender':{'login':'mona','type':'User'}}");
    CHECK(read.count == 1 && read.change_count == 0 && !read.note.at);
    const ProviderEvent *event = read.events;
    CHECK(event->provider == PROVIDER_GITHUB && is_text(event->type, "issues"));
    CHECK(is_text(event->provider_type, "issues:opened"));
    CHECK(is_text(event->dedup_key, "github:123:opened"));
    CHECK(is_text(event->title, "It breaks") && is_text(event->external_id, "octo/hello#7"));
    CHECK(is_text(event->url, "https://github.com/octo/hello/issues/7"));
    CHECK(event->occurred_at == at_time("2019-05-15T15:20:18Z"));
    CHECK(is_text(event->place.installation_id, "42") && !event->place.connection_id.at);
    CHECK(is_text(member(&arena, event->context, "labels"), "[\"bug\",\"ui\"]"));
    CHECK(is_text(member(&arena, event->context, "repository"), "\"octo/hello\""));
    CHECK(is_text(member(&arena, event->context, "action"), "\"opened\""));
    CHECK(is_text(member(&arena, event->context, "number"), "7"));
}

static void what_can_repeat_has_its_time_in_the_key(void)
{
    static const struct {
        const char *event, *body, *key;
    } cases[] = {
        { "issues", "{'action':'edited'," ISSUE "}", "github:123:edited:2019-05-15T15:20:18Z" },
        { "issues", "{'action':'labeled'," ISSUE ",'label':{'id':9}}",
          "github:123:labeled:2019-05-15T15:20:18Z:9" },
        { "issues", "{'action':'edited','issue':{'id':123}}", "github:123:edited:d-1" },
        { "check_run", "{'action':'created','check_run':{'id':5}}", "github:5:created" },
        { "check_run",
          "{'action':'completed','check_run':{'id':5,'completed_at':'2019-05-15T15:20:18Z'}}",
          "github:5:completed:2019-05-15T15:20:18Z" },
        { "push", "{'ref':'refs/heads/main','after':'abc','repository':{'pushed_at':1557933618}}",
          "github:abc:push:refs/heads/main:1557933618" },
        { "push", "{'ref':'refs/heads/main','after':'abc'}",
          "github:abc:push:refs/heads/main:d-1" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, cases[i].event, cases[i].body);
        CHECK_AT(cases[i].key, read.count == 1 && is_text(read.events->dedup_key, cases[i].key));
    }
}

static void a_form_is_read_as_its_payload(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = parsed(&arena, "issues",
                               "payload=%7B%22action%22%3A%22opened%22%2C%22issue%22%3A%7B%22id%22"
                               "%3A1%2C%22title%22%3A%22a+b%22%7D%7D");
    CHECK(read.count == 1 && is_text(read.events->title, "a b"));
    CHECK(is_text(read.events->raw,
                  "{\"action\":\"opened\",\"issue\":{\"id\":1,\"title\":\"a b\"}}"));
}

static void what_is_no_event_says_why(void)
{
    static const struct {
        const char *event, *body, *note;
    } cases[] = {
        { "ping", "{'zen':'Keep it logically awesome.'}", "ping" },
        { "issue_comment", "{'action':'created'}", "issue_comment is of no trigger type" },
        { "installation", "{'action':'created','installation':{'id':4}}", "installation created" },
        { "installation", "{'action':'deleted'}", "installation deleted" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, cases[i].event, cases[i].body);
        CHECK_AT(cases[i].note, read.count == 0 && read.change_count == 0);
        CHECK_AT(cases[i].note, is_text(read.note, cases[i].note));
    }
}

static void an_installation_changes(void)
{
    static const struct {
        const char *body;
        ProviderState state;
    } cases[] = {
        { "{'action':'deleted','installation':{'id':4}}", PROVIDER_REVOKED },
        { "{'action':'suspend','installation':{'id':4}}", PROVIDER_SUSPENDED },
        { "{'action':'unsuspend','installation':{'id':4}}", PROVIDER_ACTIVE },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, "installation", cases[i].body);
        CHECK_AT(cases[i].body, read.count == 0 && read.change_count == 1);
        CHECK_AT(cases[i].body, read.changes->state == cases[i].state);
        CHECK_AT(cases[i].body, is_text(read.changes->place.installation_id, "4"));
    }
}

static void without_its_header_the_body_tells(void)
{
    static const struct {
        const char *body, *type;
    } cases[] = {
        { "{'action':'opened'," ISSUE "}", "issues" },
        { "{'action':'created'," ISSUE ",'comment':{}}", NULL },
        { "{'ref':'refs/heads/main','after':'abc'}", "push" },
        { "{'workflow_run':{'id':1}}", "workflow_run" },
        { "{'workflow_run':{'id':1},'deployment':{}}", NULL },
        { "{}", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = { 0 };
        Hook hook = HOOK(&arena, cases[i].body, "x-other: 1");
        Err err = github()->parse(&arena, &hook, &read, NULL);
        CHECK_AT(cases[i].body, (err == ERR_OK) == (cases[i].type != NULL));
        CHECK_AT(cases[i].body, err || is_text(read.events->type, cases[i].type));
    }
}

// Whatever stands where something else should is none, and only what an event is about is needed.
static void what_is_of_another_type_is_none(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        parsed(&arena, "pull_request",
               "{'action':{},'number':[],'pull_request':{'id':'x','title':7,'html_url':null,'"
               "labels':{'a':1},"
               "'head':{'repo':null},'base':'main','updated_at':false,'user':[]},'repository':[],"
               "'installation':null,'sender':3}");
    CHECK(read.count == 1 && !read.events->title.at && !read.events->url.at);
    CHECK(is_text(read.events->external_id, "x") && read.events->occurred_at == INSTANT_NONE);
    CHECK(is_text(read.events->context, "{}") && !read.events->place.installation_id.at);
}

static void what_is_not_githubs_is_refused(void)
{
    static const struct {
        const char *event, *body;
    } cases[] = {
        { "issues", "" },
        { "issues", "{" },
        { "issues", "[]" },
        { "issues", "null" },
        { "issues", "{'action':'opened'}" },
        { "issues", "{'action':'opened','issue':7}" },
        { "push", "{'ref':'refs/heads/main'}" },
        { "issues", "payload=%7B" },
        { "issues", "payload=" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        ProviderRead read = { 0 };
        Str header = str_format(&arena, "x-github-event: %s", cases[i].event);
        Hook hook = HOOK(&arena, cases[i].body, header.at);
        CHECK_AT(cases[i].body, github()->parse(&arena, &hook, &read, &error) == ERR_INVALID);
        CHECK_AT(cases[i].body, error.detail[0]);
    }
}

static void texts_are_cut_between_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf body = buf_new(&arena, BUF_WHOLE);
    buf_add(&body, S("{\"action\":\"opened\",\"issue\":{\"id\":1,\"title\":\""));
    for (int i = 0; i < 100000; i++)
        buf_add(&body, S("\xe2\x82\xac"));
    buf_add(&body, S("\"}}"));
    buf_add_char(&body, '\0');
    ProviderRead read = parsed(&arena, "issues", body.at);
    CHECK(read.events->title.len <= 500 && read.events->title.len > 490);
    CHECK(str_is_utf8(read.events->title));
    Str payload = provider_payload(&arena, read.events, 0, 4000);
    CHECK(payload.len < 4000 && !str_contains(payload, S("\"raw\"")));
}

static void what_it_signs_it_verifies(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Hook hook = HOOK(&arena, "{}", "x-github-delivery: d-1");
    HookHeader headers[PROVIDER_HEADERS_MAX];
    HookTrust trust = trust_in("s3cret");
    hook.header_count = github()->sign(&arena, &hook, S("s3cret"), NULL, headers);
    CHECK(is_text(github()->identify(&arena, &hook), "d-1"));
    hook.headers = headers;
    CHECK(github()->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    hook.body = S("{ }");
    CHECK(github()->verify(&arena, &hook, &trust) == HOOK_MISSIGNED);
}

static const Test tests[] = {
    TEST(an_issue_is_read_whole),           TEST(what_can_repeat_has_its_time_in_the_key),
    TEST(a_form_is_read_as_its_payload),    TEST(what_is_no_event_says_why),
    TEST(an_installation_changes),          TEST(without_its_header_the_body_tells),
    TEST(what_is_of_another_type_is_none),  TEST(what_is_not_githubs_is_refused),
    TEST(texts_are_cut_between_characters), TEST(what_it_signs_it_verifies),
};
TEST_MAIN(tests)
