#include "domain/integration.h"

#include "domain/definition.h"

static const char *const status_texts[] = {
#define INTEGRATION_STATUS_TEXT(name, text, words) text,
    INTEGRATION_STATUS_TABLE(INTEGRATION_STATUS_TEXT)
#undef INTEGRATION_STATUS_TEXT
        NULL
};

static const char *const source_texts[] = {
#define TOKEN_SOURCE_TEXT(name, text) text,
    TOKEN_SOURCE_TABLE(TOKEN_SOURCE_TEXT)
#undef TOKEN_SOURCE_TEXT
        NULL
};

static void check_provider(const Members *members, void *value);
static void check_topic(const Members *members, void *value);

// clang-format off
#define TOKEN_FROM { "source", FIELD_WORD, FIELD_NEEDED, .words = source_texts, .noun = "a source of tokens" }
#define BROKER(where) \
    { "baseUrl", FIELD_URL, .max = INTEGRATION_URL_MAX, .help = "of the broker; else the integration's baseUrl, else " where }

static const Field static_fields[] = {
    TOKEN_FROM,
    { "value", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = INTEGRATION_SECRET_MAX },
};
static const Field oauth_fields[] = {
    TOKEN_FROM,
    { "accessToken", FIELD_TEXT, FIELD_SECRET, .max = INTEGRATION_SECRET_MAX, .help = "used until the first refresh" },
    { "refreshToken", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = INTEGRATION_SECRET_MAX },
    { "clientId", FIELD_TEXT, .max = INTEGRATION_SECRET_MAX },
    { "clientSecret", FIELD_TEXT, FIELD_SECRET, .max = INTEGRATION_SECRET_MAX },
    { "tokenUrl", FIELD_URL, FIELD_NEEDED, .max = INTEGRATION_URL_MAX, .help = "where it is refreshed" },
    { "expiresAt", FIELD_TIME, .help = "of accessToken" },
};
static const Field nango_fields[] = {
    TOKEN_FROM,
    { "secretKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = INTEGRATION_SECRET_MAX, .help = "of the environment at Nango" },
    { "providerConfigKey", FIELD_TEXT, .max = INTEGRATION_PLACE_MAX, .help = "the integration's id at Nango; the provider's unless said" },
    BROKER("https://api.nango.dev"),
};
static const Field composio_fields[] = {
    TOKEN_FROM,
    { "apiKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = INTEGRATION_SECRET_MAX, .help = "of the project at Composio" },
    BROKER("https://backend.composio.dev"),
};
static const Shape static_shape = { "TokenStatic", SHAPE_ROWS(static_fields) };
static const Shape oauth_shape = { "TokenOauth", SHAPE_ROWS(oauth_fields) };
static const Shape nango_shape = { "TokenNango", SHAPE_ROWS(nango_fields) };
static const Shape composio_shape = { "TokenComposio", SHAPE_ROWS(composio_fields) };
static const Shape no_token_shape = { "NoToken" };

#define AT(member) .offset = offsetof(IntegrationWatch, member)
static const Field label = { NULL, FIELD_TEXT, .max = INTEGRATION_LABEL_MAX };
static const Field watch_fields[] = {
    { "topic", FIELD_TEXT, FIELD_NEEDED, AT(topic), .max = INTEGRATION_TOPIC_MAX, .help = "of Cloud Pub/Sub: projects/<project>/topics/<topic>" },
    { "labels", FIELD_LIST, AT(labels), .count = offsetof(IntegrationWatch, label_count), .max = INTEGRATION_LABELS_MAX, .of = &label, .help = "ids of labels, whose changes alone are told; all unless said" },
};
static const Shape watch_shape = {
    "IntegrationWatch", SHAPE_ROWS(watch_fields), .size = sizeof(IntegrationWatch), .check = check_topic,
};
#undef AT

static const char *const registration_texts[] = { "active", "failed", NULL };
static const Field registration_fields[] = {
    { "status", FIELD_WORD, FIELD_SHOWN | FIELD_NEEDED, .words = registration_texts },
    { "expiresAt", FIELD_TIME, FIELD_SHOWN | FIELD_ALWAYS | FIELD_NULLABLE },
    { "error", FIELD_TEXT, FIELD_SHOWN | FIELD_ALWAYS | FIELD_NULLABLE, .help = "of the last time it was asked for" },
};
static const Shape registration_shape = { "Registration", SHAPE_ROWS(registration_fields) };

#define AT(member) .offset = offsetof(IntegrationDefinition, member)
static const Field integration_fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(id), .max = INTEGRATION_ID_MAX, .help = "its name; its events say it as their topic" },
    { "provider", FIELD_WORD, FIELD_NEEDED, AT(provider), .words = provider_ids, .noun = "a provider" },
    { "connectionId", FIELD_TEXT, AT(connection_id), .max = INTEGRATION_PLACE_MAX, .help = "of the broker; takes the system right" },
    { "installationId", FIELD_TEXT_OR_NUMBER, AT(installation_id), .max = INTEGRATION_PLACE_MAX, .help = "of the app; takes the system right" },
    { "baseUrl", FIELD_URL, AT(base_url), .max = INTEGRATION_URL_MAX, .help = "of the provider's API; its own unless said" },
    { "token", FIELD_OBJECT, AT(token), .help = "by its source: static (value), oauth (accessToken, refreshToken, clientId, clientSecret, tokenUrl, expiresAt), nango (secretKey, providerConfigKey, baseUrl), composio (apiKey, baseUrl)" },
    { "watch", FIELD_OBJECT, AT(watch), .inside = &watch_shape, .help = "of gmail: have it push changes to a topic; registered with its polls, and renewed" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(enabled), .help = "of a disabled one nothing is asked and no event taken" },
    { "status", FIELD_WORD, FIELD_SHOWN | FIELD_NEEDED, .words = status_texts },
    { "statusReason", FIELD_TEXT, FIELD_SHOWN | FIELD_NULLABLE, .help = "why it is not active" },
    { "statusSince", FIELD_TIME, FIELD_SHOWN },
    { "pollGroup", FIELD_OBJECT, FIELD_SHOWN | FIELD_NULLABLE, .component = "PollGroup", .help = "how it is polled, where it is shown alone; null: no trigger asks for it" },
    { "registration", FIELD_OBJECT, FIELD_SHOWN | FIELD_NULLABLE, .inside = &registration_shape, .help = "what became of watch, likewise; null: nothing was asked for yet" },
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape integration_shape = {
    "Integration",          SHAPE_ROWS(integration_fields), .size = sizeof(IntegrationDefinition),
    .invalid = ERR_INVALID, .check = check_provider,
};

static void check_provider(const Members *members, void *value)
{
    const IntegrationDefinition *integration = value;
    Str provider = json_str(members_get(members, "provider"));
    if (str_eq(provider, str_from(provider_id_text(PROVIDER_TABLE))))
        members_note(members, S("provider"), "bad-value", "is no service to have an account at");
    if (integration->watch.topic.at &&
        !str_eq(provider, str_from(provider_id_text(PROVIDER_GMAIL))))
        members_note(members, S("watch"), "bad-value", "is for gmail alone");
}

// is_name: of a project or a topic of Google's, which also allows what no header or path minds.
static bool is_name(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_plain && (c == '\0' || !strchr("-_.~+%:", c)))
            return false;
    }
    return text.len > 0;
}

static void check_topic(const Members *members, void *value)
{
    Str rest = ((const IntegrationWatch *) value)->topic;
    if (!rest.at)
        return; // it is said already what is wrong with it
    bool is_topic = str_eq(str_cut(&rest, '/'), S("projects")) && is_name(str_cut(&rest, '/')) &&
                    str_eq(str_cut(&rest, '/'), S("topics")) && is_name(rest);
    if (!is_topic)
        members_note(members, S("topic"), "bad-value", "is projects/<project>/topics/<topic>");
}

const char *integration_status_text(IntegrationStatus status)
{
    return status_texts[status];
}

bool integration_takes(IntegrationStatus status)
{
    return status == INTEGRATION_ACTIVE || status == INTEGRATION_FAILED;
}

IntegrationStatus integration_turned(IntegrationStatus from, IntegrationStatus shown)
{
    return integration_takes(from) ? shown : from;
}

TokenSource token_source(const Json *token)
{
    Str text = json_str(json_get(token, S("source")));
    int source = 0;
    while (source < TOKEN_SOURCES && !str_eq(text, str_from(source_texts[source])))
        source++;
    return (TokenSource) source;
}

const Shape *token_shape(TokenSource source)
{
    static const Shape *const shapes[] = {
        [TOKEN_STATIC] = &static_shape,    [TOKEN_OAUTH] = &oauth_shape,
        [TOKEN_NANGO] = &nango_shape,      [TOKEN_COMPOSIO] = &composio_shape,
        [TOKEN_SOURCES] = &no_token_shape,
    };
    return shapes[source];
}

Err integration_compile(Arena *arena, const Json *body, IntegrationDefinition *ret, Error *error)
{
    IntegrationDefinition integration = { .enabled = true };
    TRY(fields_read(arena, body, S(""), &integration_shape, &integration, error));
    *ret = integration;
    return ERR_OK;
}
