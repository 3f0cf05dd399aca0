// composio.c - Composio, which holds other services' accounts: what its triggers found, and what
// became of an account.
//
// It signs by the Standard Webhooks, with the text of the secret as the key. Its envelopes come in
// three versions, told apart by what they have. Some triggers pass on what the service itself sent,
// which is then that service's event; most say it in Composio's own words, and those are events of
// Composio's, with the trigger's slug as their type.
#include "providers/envelope.h"
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/standard_webhooks.h"
#include "providers/when.h"

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return standard_sign(arena, hook, secret, ret);
}

// Envelope is a webhook of any version.
typedef struct Envelope {
    const Json *body, *data;
    Str slug; // of the trigger; none
    Str trigger, connection_id, user;
} Envelope;

// read_envelope goes by V3 (metadata), then V2 (all in data), then V1 (payload).
static Envelope read_envelope(Arena *arena, const Json *body)
{
    const Json *data = json_get(body, S("data"));
    Str slug = READ_FIRST(read_text(body, "metadata.trigger_slug"),
                          read_text(body, "metadata.triggerSlug"), read_text(body, "trigger_name"),
                          read_text(body, "triggerName"), read_text(body, "type"));
    return (Envelope){
        .body = body,
        .data = data ? data : json_get(body, S("payload")),
        .slug = read_lower(arena, str_head(slug, READ_ID_MAX)),
        .trigger = READ_FIRST(read_text(body, "metadata.trigger_id"),
                              read_text(body, "data.trigger_id"), read_text(body, "trigger_id")),
        .connection_id = read_id(arena, READ_FIRST(read_text(body, "metadata.connected_account_id"),
                                                   read_text(body, "metadata.connectedAccountId"),
                                                   read_text(body, "data.connection_id"),
                                                   read_text(body, "connection_id"))),
        .user = READ_FIRST(read_text(body, "metadata.user_id"), read_text(body, "data.user_id")),
    };
}

// toolkit_of is the service that a trigger is of: its slug's first word.
static Str toolkit_of(const Envelope *envelope)
{
    Str rest = envelope->slug;
    return str_cut(&rest, '_');
}

// open_service reads what a service itself sent; false where it is in Composio's words. Slack and
// Gmail are not asked: theirs never is their own.
static bool open_service(Arena *arena, const Hook *hook, const Envelope *envelope,
                         ProviderRead *ret)
{
    ProviderName provider;
    Error error = { .arena = arena };
    return envelope_provider(toolkit_of(envelope), &provider) && provider != PROVIDER_SLACK &&
           provider != PROVIDER_GMAIL &&
           envelope_open(arena, hook, provider, envelope->data, envelope->connection_id, ret,
                         &error) == ERR_OK &&
           ret->count > 0;
}

static Str context_of(Arena *arena, const Envelope *envelope)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put_text(&out, "slug", envelope->slug);
    read_put_text(&out, "toolkit", toolkit_of(envelope));
    read_put_text(&out, "trigger", envelope->trigger);
    read_put_text(&out, "user", envelope->user);
    json_put_raw(&out, S("data"), json_text(arena, envelope->data));
    json_close(&out, '}');
    return buf_str(&text);
}

static ProviderEvent *read_own(Arena *arena, const Hook *hook, const Envelope *envelope)
{
    const Json *data = envelope->data;
    Str id = READ_FIRST(standard_id(arena, hook), read_id(arena, read_text(envelope->body, "id")));
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    *event = (ProviderEvent){
        .provider = PROVIDER_COMPOSIO,
        .type = S("event"),
        .provider_type = envelope->slug,
        .occurred_at = when_read(json_get(envelope->body, S("timestamp"))),
        .dedup_key = generic_key(arena, hook, PROVIDER_COMPOSIO, id),
        .title = read_title(READ_FIRST(read_text(data, "title"), read_text(data, "subject"),
                                       read_text(data, "message"), read_text(data, "text"),
                                       envelope->slug)),
        .url = read_url(READ_FIRST(read_text(data, "url"), read_text(data, "html_url"))),
        .external_id =
            read_id(arena, READ_FIRST(read_word(data, "id"), read_word(data, "message_id"),
                                      read_word(data, "issue_id"), read_word(data, "commit_sha"))),
        .context = context_of(arena, envelope),
        .raw = str_trim(hook->body),
        .place = { .connection_id = envelope->connection_id },
    };
    return event;
}

// What becomes of an account.
static const struct {
    const char *type;
    ProviderState state;
    const char *reason;
} account_changes[] = {
    { "composio.connected_account.expired", PROVIDER_FAILED, "the account at Composio expired" },
    { "composio.connected_account.activated", PROVIDER_ACTIVE, NULL },
};

// reason_of is Composio's reason where it gives one, unless there is none to give.
static Str reason_of(const Json *body, const char *usual)
{
    return usual ? READ_FIRST(read_title(read_text(body, "data.status_reason")), str_from(usual))
                 : STR_NONE;
}

// read_change reads what Composio tells of itself; what is not of an account is only noted.
static void read_change(Arena *arena, const Json *body, Str type, ProviderRead *ret)
{
    Str id = read_id(arena, READ_FIRST(read_text(body, "metadata.connected_account_id"),
                                       read_text(body, "data.connected_account_id"),
                                       read_text(body, "data.id"),
                                       read_text(body, "data.connected_account.id")));
    *ret = (ProviderRead){ .note = str_head(type, READ_ID_MAX) };
    for (size_t i = 0; i < ARRAY_LEN(account_changes); i++) {
        if (!id.at || !str_eq(type, str_from(account_changes[i].type)))
            continue;
        ret->changes = ARENA_NEW(arena, ProviderChange);
        ret->change_count = 1;
        *ret->changes = (ProviderChange){ .provider = PROVIDER_COMPOSIO,
                                          .place = { .connection_id = id },
                                          .state = account_changes[i].state,
                                          .reason = reason_of(body, account_changes[i].reason) };
        envelope_provider(read_text(body, "data.toolkit.slug"), &ret->changes->provider);
    }
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    Str type = read_text(body, "type");
    if (str_starts(type, S("composio.")) && !str_eq(type, S("composio.trigger.message"))) {
        read_change(arena, body, type, ret);
        return ERR_OK;
    }
    Envelope envelope = read_envelope(arena, body);
    if (!envelope.slug.len || json_type(envelope.data) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "what Composio sends names its trigger and has data");
    if (!open_service(arena, hook, &envelope, ret))
        *ret = (ProviderRead){ .events = read_own(arena, hook, &envelope), .count = 1 };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "github_commit_event", NULL,
      "{\"id\":\"msg_%id%\",\"type\":\"composio.trigger.message\",\"metadata\":{\"log_id\":"
      "\"log_abc123\",\"trigger_slug\":\"GITHUB_COMMIT_EVENT\",\"trigger_id\":\"ti_xyz789\","
      "\"connected_account_id\":\"ca_def456\",\"auth_config_id\":\"ac_xyz789\",\"user_id\":"
      "\"user-id-123435\"},\"data\":{\"commit_sha\":\"a1b2c3d\",\"message\":\"fix: resolve null "
      "pointer\",\"author\":\"jane\"},\"timestamp\":\"%time%\"}" },
    { "connected_account.expired", NULL,
      "{\"id\":\"msg_%id%\",\"type\":\"composio.connected_account.expired\",\"metadata\":{"
      "\"project_id\":\"pr_1\",\"org_id\":\"ok_1\"},\"data\":{\"id\":\"ca_def456\",\"toolkit\":{"
      "\"slug\":\"github\"},\"status\":\"EXPIRED\",\"status_reason\":\"OAuth refresh token "
      "expired\"},\"timestamp\":\"2026-01-15T10:30:00Z\"}" },
};

const Provider provider_composio = {
    .name = PROVIDER_COMPOSIO,
    .ways = PROVIDER_WEBHOOK,
    .verify = standard_check,
    .identify = standard_id,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
