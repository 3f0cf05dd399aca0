#include "parsed.h"

#define FORM "content-type: application/x-www-form-urlencoded"
#define SECRET "8f742231b10e8888abcd99yyyzzz85a5"
#define COMMAND                                                                                    \
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id="         \
    "G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-"     \
    "collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F"           \
    "397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."                 \
    "803a0bc887a14d10d2c447fce8b6703c"

// The example of Slack's own page on signatures.
static void the_published_signature_holds(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookTrust trust = trust_in(SECRET);
    Hook hook = hook_lines(&arena,
                           "x-slack-request-timestamp: 1531420618\nx-slack-signature: "
                           "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
                           S(COMMAND));
    hook.at = 1531420618 * SPAN_SECOND;
    CHECK(provider_of(PROVIDER_SLACK)->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
}

static void events_commands_and_clicks_are_read(void)
{
    static const ParsedRow rows[] = {
        { NULL,
          "{'token':'T','team_id':'T1','api_app_id':'A1','event':{'type':'message','channel':'C1',"
          "'user':'U1','text':'Live long\\nand prospect.','ts':'1355517523.000005','event_ts':"
          "'1355517523.000005','channel_type':'im'},'type':'event_callback','event_id':'Ev1',"
          "'event_time':1355517523}",
          NULL, "slack.event", "message", "slack:Ev1", "Live long", NULL, "C1:1355517523.000005",
          "2012-12-14T20:38:43.000Z", NULL },
        { NULL,
          "{'team_id':'T1','event':{'type':'message','subtype':'bot_message','bot_id':'B1','text':"
          "'hi'},'type':'event_callback','event_id':'Ev2','event_time':1355517523}",
          NULL, "slack.event", "message:bot_message", "slack:Ev2", "hi", NULL, NULL,
          "2012-12-14T20:38:43.000Z",
          "{'type':'message','subtype':'bot_message','team':'T1','bot':'B1','text':'hi'}" },
        { NULL,
          "{'type':'event_callback','event_id':'Ev3','event':{'type':'reaction_added','user':'U1',"
          "'reaction':'eyes','item':{'type':'message','channel':'C1','ts':'1.2'}}}",
          NULL, "slack.event", "reaction_added", "slack:Ev3", "reaction_added", NULL, "C1:1.2",
          NULL, NULL },
        { FORM, COMMAND, NULL, "slack.event", "slash_command",
          "slack:398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c", "/webhook-collect",
          NULL, "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c", NULL,
          "{'command':'/webhook-collect','text':'','team':'T1DC2JH3J','user':'U2CERLKJA',"
          "'userName':'roadrunner','channel':'G8PSS9T3V','channelName':'foobar'}" },
        { FORM,
          "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%221.2%22%2C%22user%22"
          "%3A%7B%22id%22%3A%22U1%22%7D%2C%22actions%22%3A%5B%7B%22action_id%22%3A%22ok%22%2C%22"
          "value%22%3A%22yes%22%7D%5D%7D",
          NULL, "slack.event", "block_actions", "slack:1.2", "block_actions", NULL, "1.2", NULL,
          "{'type':'block_actions','user':'U1','actions':['ok'],'values':['yes']}" },
        { NULL, "{'type':'url_verification','challenge':'x'}", "url_verification" },
        { NULL, "{'type':'app_rate_limited','team_id':'T1'}", "app_rate_limited" },
    };
    check_parsed(PROVIDER_SLACK, rows, ARRAY_LEN(rows));
}

static void the_event_has_an_id_for_its_row(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = { 0 };
    Error error = { .arena = &arena };
    Hook hook = hook_lines(
        &arena, NULL,
        quoted(&arena, "{'type':'event_callback','event_id':'Ev9','event':{'type':'x'}}"));
    CHECK(provider_of(PROVIDER_SLACK)->parse(&arena, &hook, &read, &error) == ERR_OK);
    CHECK(is_text(read.external_id, "Ev9"));
}

static void what_is_not_slacks_is_refused(void)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{'token':'HOSTILE'}",
        "{'type':7}",
        "{'type':'event_callback'}",
        "{'type':'event_callback','event':'HOSTILE'}",
        "{'type':'event_callback','event':{'type':null}}",
        "a=HOSTILE&b=2",
        "payload=HOSTILE",
    };
    check_refused(PROVIDER_SLACK, bodies, ARRAY_LEN(bodies));
}

static void the_challenge_is_answered(void)
{
    static const struct {
        const char *method, *body, *answer;
    } rows[] = {
        { "POST", "{'token':'T','challenge':'3eZbrw1a','type':'url_verification'}", "3eZbrw1a" },
        { "POST", "{'challenge':'3eZbrw1a','type':'event_callback'}", NULL },
        { "POST", "{'text':'url_verification','type':'event_callback'}", NULL },
        { "POST", "url_verification", NULL },
        { "GET", "{'challenge':'3eZbrw1a','type':'url_verification'}", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookAnswer answer = { 0 };
        HookTrust trust = trust_in(SECRET);
        Hook hook = hook_lines(&arena, NULL, quoted(&arena, rows[i].body));
        HookHeader headers[PROVIDER_HEADERS_MAX];
        hook.headers = headers;
        hook.header_count =
            provider_of(PROVIDER_SLACK)->sign(&arena, &hook, S(SECRET), NULL, headers);
        hook.method = str_from(rows[i].method);
        bool is_answered = provider_of(PROVIDER_SLACK)->answer(&arena, &hook, &trust, &answer);
        CHECK_AT(rows[i].body, is_answered == (rows[i].answer != NULL));
        CHECK_AT(rows[i].body, is_same(answer.body, rows[i].answer));
        // Nobody else is told that somebody listens.
        hook.header_count = 0;
        CHECK_AT(rows[i].body,
                 !provider_of(PROVIDER_SLACK)->answer(&arena, &hook, &trust, &answer));
    }
}

// A challenge is short: what is longer is read behind its row, as all else.
static void what_is_too_long_for_a_challenge_is_none(void)
{
    for (int len = 4000; len <= 4200; len += 200) {
        DEFER(arena_done) Arena arena = { 0 };
        HookAnswer answer = { 0 };
        HookTrust trust = trust_in(SECRET);
        Str body = str_format(
            &arena, "{\"type\":\"url_verification\",\"challenge\":\"a\",\"pad\":\"%0*d\"}", len, 0);
        Hook hook = hook_lines(&arena, NULL, body);
        HookHeader headers[PROVIDER_HEADERS_MAX];
        hook.headers = headers;
        hook.header_count =
            provider_of(PROVIDER_SLACK)->sign(&arena, &hook, S(SECRET), NULL, headers);
        bool is_answered = provider_of(PROVIDER_SLACK)->answer(&arena, &hook, &trust, &answer);
        CHECK(is_answered == (body.len <= 4096));
    }
}

static const Test tests[] = {
    TEST(the_published_signature_holds),   TEST(events_commands_and_clicks_are_read),
    TEST(the_event_has_an_id_for_its_row), TEST(what_is_not_slacks_is_refused),
    TEST(the_challenge_is_answered),       TEST(what_is_too_long_for_a_challenge_is_none),
};
TEST_MAIN(tests)
