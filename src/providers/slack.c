// slack.c - Slack: events of an app, slash commands, and what people click.
//
// Signed are "v0", the time and the body, each with a colon behind it. Events are JSON; commands
// and interactions are forms, the latter with JSON in their field "payload". A url_verification is
// answered once it is known to be Slack's. The verification token that Slack still sends in bodies
// is old, stands for nothing here and is kept out of the context.
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

#define WINDOW (5 * SPAN_MINUTE)

enum { CHALLENGE_MAX = 4096 }; // of the whole body that asks for it

static const SignForm signature = { HMAC_SHA256, SIGN_HEX, S("x-slack-signature"), S("v0=") };
static const Str timestamp_header = S("x-slack-request-timestamp");

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str timestamp;
    if (!sign_trusts(trust))
        return HOOK_NO_SECRET;
    HookVerdict verdict = sign_dated(hook, timestamp_header, WINDOW, &timestamp);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    const Str parts[] = { S("v0:"), timestamp, S(":"), hook->body };
    return sign_check_parts(arena, hook, trust, &signature, parts, ARRAY_LEN(parts));
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    Str timestamp = str_i64(arena, hook->at / SPAN_SECOND);
    const Str parts[] = { S("v0:"), timestamp, S(":"), hook->body };
    ret[0] = (HookHeader){ timestamp_header, timestamp };
    ret[1] = (HookHeader){ signature.header,
                           sign_text(arena, &signature, secret, parts, ARRAY_LEN(parts)) };
    return 2;
}

// answer verifies by itself: it is asked before anybody else has. Bodies that cannot be meant cost
// nothing.
static bool answer(Arena *arena, const Hook *hook, const HookTrust *trust, HookAnswer *ret)
{
    const Json *body = NULL;
    if (!str_eq(hook->method, S("POST")) || hook->body.len > CHALLENGE_MAX ||
        !str_contains(hook->body, S("url_verification")) ||
        verify(arena, hook, trust) != HOOK_VERIFIED ||
        json_parse(arena, hook->body, &body, NULL) != ERR_OK ||
        !str_eq(read_text(body, "type"), S("url_verification")))
        return false;
    *ret = (HookAnswer){ .status = 200,
                         .type = S("text/plain; charset=utf-8"),
                         .body = read_text(body, "challenge") };
    return true;
}

// Slack's ids stand in its bodies.
static Str identify(Arena *arena, const Hook *hook)
{
    (void) arena, (void) hook;
    return STR_NONE;
}

static const ReadRow event_rows[] = {
    { "type", "event.type", NULL },        { "subtype", "event.subtype", NULL },
    { "team", "team_id", NULL },           { "app", "api_app_id", NULL },
    { "user", "event.user", NULL },        { "bot", "event.bot_id", NULL },
    { "channel", "event.channel", NULL },  { "channelType", "event.channel_type", NULL },
    { "text", "event.text", NULL },        { "ts", "event.ts", NULL },
    { "thread", "event.thread_ts", NULL }, { "reaction", "event.reaction", NULL },
    { "item", "event.item.ts", NULL },     { "itemChannel", "event.item.channel", NULL },
};
static const ReadRow interaction_rows[] = {
    { "type", "type", NULL },
    { "team", "team.id", NULL },
    { "app", "api_app_id", NULL },
    { "user", "user.id", NULL },
    { "userName", "user.username", NULL },
    { "channel", "channel.id", NULL },
    { "channelName", "channel.name", NULL },
    { "callback", "callback_id", NULL },
    { "view", "view.callback_id", NULL },
    { "message", "message.ts", NULL },
    { "text", "message.text", NULL },
    { "actions", "actions", "action_id" },
    { "values", "actions", "value" },
};
static const ReadRow command_rows[] = {
    { "command", "command", NULL },    { "text", "text", NULL },
    { "team", "team_id", NULL },       { "app", "api_app_id", NULL },
    { "user", "user_id", NULL },       { "userName", "user_name", NULL },
    { "channel", "channel_id", NULL }, { "channelName", "channel_name", NULL },
};

static Str context_of(Arena *arena, const Json *body, const ReadRow *rows, size_t count)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put(&out, body, rows, count);
    json_close(&out, '}');
    return buf_str(&text);
}

// with_subtype is message, or message:bot_message.
static Str with_subtype(Arena *arena, const Json *body)
{
    Str type = read_text(body, "event.type"), subtype = read_text(body, "event.subtype");
    type = str_head(type, READ_ID_MAX);
    return subtype.at ? STR_JOIN(arena, type, S(":"), str_head(subtype, READ_ID_MAX)) : type;
}

// thing_id is what an event is about: the message, by its channel and its time, or a file.
static Str thing_id(Arena *arena, const Json *body)
{
    Str channel =
        READ_FIRST(read_text(body, "event.channel"), read_text(body, "event.item.channel"));
    Str ts = READ_FIRST(read_text(body, "event.ts"), read_text(body, "event.item.ts"));
    if (channel.at && ts.at)
        return read_id(arena, STR_JOIN(arena, channel, S(":"), ts));
    return read_id(arena, READ_FIRST(read_text(body, "event.file_id"), channel,
                                     read_text(body, "event.user")));
}

static Err read_callback(Arena *arena, const Hook *hook, const Json *body, ProviderRead *ret,
                         Error *error)
{
    Str id = read_id(arena, read_text(body, "event_id")), type = with_subtype(arena, body);
    if (!type.at)
        return fail(error, ERR_INVALID, "a Slack event needs event.type");
    Instant at = when_read(read_at(body, "event.event_ts"));
    *ret->events = (ProviderEvent){
        .provider_type = type,
        .occurred_at = at != INSTANT_NONE ? at : when_read(json_get(body, S("event_time"))),
        .dedup_key = generic_key(arena, hook, PROVIDER_SLACK, id),
        .title = read_title(READ_FIRST(read_text(body, "event.text"), type)),
        .external_id = thing_id(arena, body),
        .context = context_of(arena, body, event_rows, ARRAY_LEN(event_rows)),
    };
    ret->external_id = id;
    ret->count = 1;
    return ERR_OK;
}

// read_interaction reads what somebody clicked or entered: block_actions, view_submission …
static void read_interaction(Arena *arena, const Hook *hook, const Json *body, Str type,
                             ProviderRead *ret)
{
    Str id =
        read_id(arena, READ_FIRST(read_text(body, "trigger_id"), read_text(body, "action_ts")));
    *ret->events = (ProviderEvent){
        .provider_type = str_head(type, READ_ID_MAX),
        .occurred_at = when_read(json_get(body, S("action_ts"))),
        .dedup_key = generic_key(arena, hook, PROVIDER_SLACK, id),
        .title = read_title(
            READ_FIRST(read_text(body, "callback_id"), read_text(body, "view.callback_id"), type)),
        .external_id = id,
        .context = context_of(arena, body, interaction_rows, ARRAY_LEN(interaction_rows)),
    };
    ret->external_id = id;
    ret->count = 1;
}

static Err read_json(Arena *arena, const Hook *hook, Str text, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, text, &body, NULL) != ERR_OK || json_type(body) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "the body is not a JSON object");
    Str type = read_text(body, "type");
    if (!type.at)
        return fail(error, ERR_INVALID, "what Slack sends has a type");
    if (str_eq(type, S("event_callback"))) {
        TRY(read_callback(arena, hook, body, ret, error));
    } else if (str_eq(type, S("url_verification")) || str_eq(type, S("app_rate_limited"))) {
        ret->note = type;
    } else {
        read_interaction(arena, hook, body, type, ret);
    }
    ret->events->raw = text;
    return ERR_OK;
}

// read_command reads a slash command, whose form becomes the JSON that it could have been.
static Err read_command(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    const Json *body = NULL;
    json_open(&out, '{');
    read_put_form(arena, &out, hook->body);
    json_close(&out, '}');
    Str command = json_parse(arena, buf_str(&text), &body, NULL) == ERR_OK
                      ? read_text(body, "command")
                      : STR_NONE;
    if (!command.at)
        return fail(error, ERR_INVALID,
                    "the form is neither a command nor an interaction of Slack");
    Str id = read_id(arena, read_text(body, "trigger_id")), words = read_text(body, "text");
    *ret->events = (ProviderEvent){
        .provider_type = S("slash_command"),
        .occurred_at = INSTANT_NONE,
        .dedup_key = generic_key(arena, hook, PROVIDER_SLACK, id),
        .title = read_title(STR_JOIN(arena, command, S(" "), words)),
        .external_id = id,
        .context = context_of(arena, body, command_rows, ARRAY_LEN(command_rows)),
    };
    ret->external_id = id;
    ret->count = 1;
    return ERR_OK;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    Str text = str_trim(hook->body);
    ProviderRead read = { .events = ARENA_NEW(arena, ProviderEvent) };
    if (str_starts(text, S("{")) || read_form(arena, text, S("payload"), &text))
        TRY(read_json(arena, hook, text, &read, error));
    else
        TRY(read_command(arena, hook, &read, error));
    read.events->provider = PROVIDER_SLACK;
    read.events->type = S("event");
    *ret = read;
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "message", NULL,
      "{\"token\":\"XXYYZZ\",\"team_id\":\"T123ABC456\",\"api_app_id\":\"A123ABC456\",\"event\":{"
      "\"type\":\"message\",\"channel\":\"C123ABC456\",\"user\":\"U123ABC456\",\"text\":\"Live "
      "long "
      "and prospect.\",\"ts\":\"%now%\",\"event_ts\":\"%now%\","
      "\"channel_type\":\"channel\"},\"type\":\"event_callback\",\"event_id\":\"Ev%id%\","
      "\"event_time\":%now%}" },
    { "slash_command", "Content-Type: application/x-www-form-urlencoded",
      "token=XXYYZZ&team_id=T0001&team_domain=example&channel_id=C2147483705&channel_name=test&"
      "user_id=U2147483697&user_name=Steve&command=%2Fweather&text=94070&api_app_id=A123456&"
      "trigger_id=13345224609.738474920.%id%" },
};

const Provider provider_slack = {
    .name = PROVIDER_SLACK,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .answer = answer,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
