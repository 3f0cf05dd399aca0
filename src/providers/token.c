#include "providers/token.h"

#include "base/time.h"

#define NANGO_URL S("https://api.nango.dev")
#define COMPOSIO_URL S("https://backend.composio.dev")
#define EARLY SPAN_MINUTE // what expires so soon may be refused under way
#define LIFE_MAX (3650 * SPAN_DAY)

enum { CODE_MAX = 60 };

// Source is what differs between the sources of tokens.
typedef struct Source {
    const char *value; // the member that is the token itself; NULL: it has none
    Err (*ask)(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret, Error *error);
    TokenAnswer (*read)(Arena *arena, const Json *body, Instant now);
} Source;
static const Source *source_of(const IntegrationAccess *access);

static Str member(const IntegrationAccess *access, const char *name)
{
    return json_str(json_get(access->token, str_from(name)));
}

Str token_value(const IntegrationAccess *access)
{
    const char *value = source_of(access)->value;
    if (access->access.at)
        return access->access;
    return value ? member(access, value) : STR_NONE;
}

// expiry_of is that of the token that counts.
static Instant expiry_of(const IntegrationAccess *access)
{
    Instant at;
    if (access->access.at)
        return access->expires_at;
    return time_parse(member(access, "expiresAt"), &at) ? at : INSTANT_NONE;
}

bool token_is_stale(const IntegrationAccess *access, Instant now)
{
    Instant expires_at = expiry_of(access);
    if (!source_of(access)->ask)
        return false;
    return !token_value(access).at || (expires_at != INSTANT_NONE && expires_at - EARLY <= now);
}

static void add_header(ProviderRequest *request, Str name, Str value)
{
    request->headers[request->header_count++] = (HookHeader){ name, value };
}

// add_field adds to a form what is given.
static void add_field(Buf *form, const char *name, Str value)
{
    if (!value.len)
        return;
    buf_add_format(form, "%s%s=", form->len ? "&" : "", name);
    buf_add_percent(form, value);
}

static Err ask_oauth(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret,
                     Error *error)
{
    Buf form = buf_new(arena, BUF_WHOLE);
    Str refresh = access->refresh.at ? access->refresh : member(access, "refreshToken");
    if (!refresh.at)
        return fail(error, ERR_INVALID, "there is no refresh token");
    add_field(&form, "grant_type", S("refresh_token"));
    add_field(&form, "refresh_token", refresh);
    add_field(&form, "client_id", member(access, "clientId"));
    add_field(&form, "client_secret", member(access, "clientSecret"));
    *ret = (ProviderRequest){ .method = "POST",
                              .url = member(access, "tokenUrl"),
                              .body = buf_str(&form) };
    add_header(ret, S("content-type"), S("application/x-www-form-urlencoded"));
    return ERR_OK;
}

// broker_url begins a URL of the broker's.
static Buf broker_url(Arena *arena, const IntegrationAccess *access, Str usual)
{
    Buf url = buf_new(arena, BUF_WHOLE);
    Str own = member(access, "baseUrl");
    Str base = own.at ? own : access->base_url.at ? access->base_url : usual;
    while (str_ends(base, S("/")))
        base.len--;
    buf_add(&url, base);
    return url;
}

static Err need_connection(const IntegrationAccess *access, Error *error)
{
    return access->connection_id.len
               ? ERR_OK
               : fail(error, ERR_INVALID, "it has no connectionId to ask the broker for");
}

static Err ask_nango(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret,
                     Error *error)
{
    Buf url = broker_url(arena, access, NANGO_URL);
    Str key = member(access, "providerConfigKey");
    TRY(need_connection(access, error));
    buf_add(&url, S("/connections/"));
    buf_add_percent(&url, access->connection_id);
    buf_add(&url, S("?provider_config_key="));
    buf_add_percent(&url, key.at ? key : str_from(provider_id_text(access->provider)));
    // It is asked again only for one that is not good any more, whatever Nango believes.
    if (access->access.at)
        buf_add(&url, S("&force_refresh=true"));
    *ret = (ProviderRequest){ .method = "GET", .url = buf_str(&url) };
    add_header(ret, S("authorization"),
               str_format(arena, "Bearer %.*s", STR_ARG(member(access, "secretKey"))));
    return ERR_OK;
}

static Err ask_composio(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret,
                        Error *error)
{
    Buf url = broker_url(arena, access, COMPOSIO_URL);
    TRY(need_connection(access, error));
    buf_add(&url, S("/api/v3/connected_accounts/"));
    buf_add_percent(&url, access->connection_id);
    *ret = (ProviderRequest){ .method = "GET", .url = buf_str(&url) };
    add_header(ret, S("x-api-key"), member(access, "apiKey"));
    return ERR_OK;
}

Err token_ask(Arena *arena, const IntegrationAccess *access, ProviderRequest *ret, Error *error)
{
    const Source *source = source_of(access);
    if (!source->ask)
        return fail(error, ERR_NOT_FOUND, "there is no other token to be had");
    TRY(source->ask(arena, access, ret, error));
    add_header(ret, S("accept"), S("application/json"));
    return ERR_OK;
}

static TokenAnswer refused(Str why)
{
    return (TokenAnswer){ .verdict = TOKEN_REFUSED, .expires_at = INSTANT_NONE, .why = why };
}

// code_of finds the word for what went wrong: "error" of OAuth, and of those who wrap it. What is
// no such word is not shown.
static Str code_of(const Json *body)
{
    const Json *error = json_get(body, S("error"));
    Str code =
        json_type(error) == JSON_OBJECT ? json_str(json_get(error, S("code"))) : json_str(error);
    if (!code.len || code.len > CODE_MAX)
        return STR_NONE;
    for (size_t i = 0; i < code.len; i++) {
        char c = str_lower_char(code.at[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !strchr("_-.", c))
            return STR_NONE;
    }
    return code;
}

// is_passing: such an answer may be another the next time, whatever it says.
static bool is_passing(int status, Str code)
{
    static const char *const codes[] = { "temporarily_unavailable", "server_error", "slow_down",
                                         "rate_limited", "ratelimited" };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (str_eq(code, str_from(codes[i])))
            return true;
    return status == 0 || status == 408 || status == 425 || status == 429 || status >= 500;
}

// read_failure says what an answer means that brought no token.
static TokenAnswer read_failure(Arena *arena, const ProviderReply *reply, const Json *body)
{
    Str code = code_of(body);
    bool is_taken = reply->status >= 200 && reply->status < 300;
    bool is_refused = !is_passing(reply->status, code) && (!is_taken || code.at);
    Buf why = buf_new(arena, BUF_WHOLE);
    buf_add(&why, S("no fresh token could be had: "));
    if (reply->status == 0)
        buf_add(&why, S("there was no answer"));
    else if (is_taken && !code.at)
        buf_add(&why, S("the answer has none"));
    else
        buf_add_format(&why, "the answer was %d", reply->status);
    if (code.at)
        buf_add_format(&why, " (%.*s)", STR_ARG(code));
    return (TokenAnswer){ .verdict = is_refused ? TOKEN_REFUSED : TOKEN_AGAIN,
                          .expires_at = INSTANT_NONE,
                          .why = buf_str(&why) };
}

// is_token: it can stand in a header.
static bool is_token(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.len > 0 && text.len <= INTEGRATION_SECRET_MAX;
}

// good_or checks what was brought.
static TokenAnswer good_or(Arena *arena, const ProviderReply *reply, const Json *body,
                           const TokenAnswer *brought)
{
    if (!brought->access.at || code_of(body).at)
        return read_failure(arena, reply, body);
    if (!is_token(brought->access) || (brought->refresh.at && !is_token(brought->refresh)))
        return refused(S("no fresh token could be had: what came cannot be one"));
    return *brought;
}

// end_of is when a token ends: it says how long it is good, in seconds, as a number or as a text.
static Instant end_of(const Json *body, Instant now)
{
    const Json *value = json_get(body, S("expires_in"));
    int64_t seconds;
    bool is_said = json_i64(value, &seconds) || str_to_i64(json_str(value), 0, INT64_MAX, &seconds);
    if (!is_said || seconds <= 0)
        return INSTANT_NONE;
    return now + (seconds < LIFE_MAX / SPAN_SECOND ? seconds * SPAN_SECOND : LIFE_MAX);
}

static TokenAnswer read_oauth(Arena *arena, const Json *body, Instant now)
{
    (void) arena;
    return (TokenAnswer){ .access = json_str(json_get(body, S("access_token"))),
                          .refresh = json_str(json_get(body, S("refresh_token"))),
                          .expires_at = end_of(body, now) };
}

// first_of is the first of several members that is a text.
static Str first_of(const Json *object, const char *const *names)
{
    for (; *names; names++)
        if (json_str(json_get(object, str_from(*names))).at)
            return json_str(json_get(object, str_from(*names)));
    return STR_NONE;
}

static TokenAnswer read_nango(Arena *arena, const Json *body, Instant now)
{
    (void) arena;
    (void) now;
    static const char *const names[] = { "access_token", "apiKey", "api_key", "token", NULL };
    const Json *credentials = json_get(body, S("credentials"));
    Instant at;
    bool is_dated = time_parse(json_str(json_get(credentials, S("expires_at"))), &at);
    return (TokenAnswer){ .access = first_of(credentials, names),
                          .expires_at = is_dated ? at : INSTANT_NONE };
}

static TokenAnswer read_composio(Arena *arena, const Json *body, Instant now)
{
    (void) now;
    static const char *const names[] = { "access_token", "bearer_token", "api_key",
                                         "generic_api_key", NULL };
    Str status = json_str(json_get(body, S("status")));
    const Json *state = json_get(json_get(body, S("state")), S("val"));
    Str found = first_of(state, names);
    if (status.at && !str_eq(status, S("ACTIVE")))
        return refused(str_format(arena, "the account is not active at Composio%s",
                                  str_eq(status, S("EXPIRED")) ? ": it has expired" : ""));
    if (str_contains(found, S("REDACTED")) || str_contains(found, S("...")))
        return refused(S("Composio masks its tokens: its project must be set to show them"));
    return (TokenAnswer){ .access = found, .expires_at = INSTANT_NONE };
}

static const Source sources[] = {
    [TOKEN_STATIC] = { .value = "value" },
    [TOKEN_OAUTH] = { "accessToken", ask_oauth, read_oauth },
    [TOKEN_NANGO] = { NULL, ask_nango, read_nango },
    [TOKEN_COMPOSIO] = { NULL, ask_composio, read_composio },
    [TOKEN_SOURCES] = { 0 },
};

static const Source *source_of(const IntegrationAccess *access)
{
    return &sources[token_source(access->token)];
}

TokenAnswer token_read(Arena *arena, const IntegrationAccess *access, const ProviderReply *reply,
                       Instant now)
{
    const Json *body = NULL;
    Error unreadable = { 0 };
    const Source *source = source_of(access);
    assert(source->read); // token_ask refused the others
    bool is_read = json_parse(arena, reply->body, &body, &unreadable) == ERR_OK;
    if (!is_read || reply->status < 200 || reply->status > 299)
        return read_failure(arena, reply, body);
    TokenAnswer brought = source->read(arena, body, now);
    return brought.verdict == TOKEN_GOOD ? good_or(arena, reply, body, &brought) : brought;
}
