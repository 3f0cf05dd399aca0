#include "providers/token.h"

#include "../domain/documents.h"

// How fresh tokens are asked for, and what answers mean: by RFC 6749, by Nango's and Composio's
// own documents, and by what strangers may answer instead.

#define NOW ((Instant) 1767225600 * SPAN_SECOND)
#define OAUTH                                                                                      \
    "{'source':'oauth','accessToken':'at-0','refreshToken':'rt 0&x=1','clientId':'peal',"          \
    "'clientSecret':'s/c','tokenUrl':'https://id.example/token',"                                  \
    "'expiresAt':'2026-01-01T00:10:00Z'}"
#define NANGO "{'source':'nango','secretKey':'nk-1'}"
#define COMPOSIO "{'source':'composio','apiKey':'ck-1'}"

static IntegrationAccess access_of(Arena *arena, const char *token)
{
    return (IntegrationAccess){ .provider = PROVIDER_LINEAR,
                                .connection_id = S("c/1 ü"),
                                .token = document(arena, token),
                                .expires_at = INSTANT_NONE };
}

static const char *header(Arena *arena, const ProviderRequest *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (str_eq(request->headers[i].name, str_from(name)))
            return str_z(arena, request->headers[i].value);
    return "";
}

static void a_static_token_is_all_there_is(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    IntegrationAccess access = access_of(&arena, "{'source':'static','value':'key-1'}");
    ProviderRequest request;
    Error error = { 0 };
    CHECK(is_text(token_value(&access), "key-1") && !token_is_stale(&access, NOW));
    CHECK(token_ask(&arena, &access, &request, &error) == ERR_NOT_FOUND);
    access.token = NULL;
    CHECK(!token_value(&access).at && !token_is_stale(&access, NOW));
    CHECK(token_ask(&arena, &access, &request, &error) == ERR_NOT_FOUND);
}

static void a_token_is_stale_a_minute_before_its_end(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    IntegrationAccess access = access_of(&arena, OAUTH);
    CHECK(is_text(token_value(&access), "at-0"));
    CHECK(!token_is_stale(&access, NOW) && token_is_stale(&access, NOW + 9 * SPAN_MINUTE));
    access.access = S("at-1"); // the definition's moment is not this one's
    CHECK(is_text(token_value(&access), "at-1") && !token_is_stale(&access, NOW + SPAN_DAY));
    access.expires_at = NOW + SPAN_HOUR;
    CHECK(!token_is_stale(&access, NOW) && token_is_stale(&access, NOW + SPAN_HOUR - SPAN_SECOND));
    IntegrationAccess none = access_of(&arena, NANGO);
    CHECK(!token_value(&none).at && token_is_stale(&none, NOW)); // it is asked for first
}

static void oauth_is_refreshed_by_a_form(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    IntegrationAccess access = access_of(&arena, OAUTH);
    ProviderRequest request;
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(strcmp(request.method, "POST") == 0 && is_text(request.url, "https://id.example/token"));
    CHECK(is_text(request.body, "grant_type=refresh_token&refresh_token=rt%200%26x%3D1"
                                "&client_id=peal&client_secret=s%2Fc"));
    CHECK(strcmp(header(&arena, &request, "content-type"), "application/x-www-form-urlencoded") ==
          0);
    access.refresh = S("rt-1");
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(str_starts(request.body, S("grant_type=refresh_token&refresh_token=rt-1&")));
}

static void a_broker_is_asked_for_the_connection(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    IntegrationAccess access = access_of(&arena, NANGO);
    ProviderRequest request;
    Error error = { 0 };
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(is_text(request.url, "https://api.nango.dev/connections/c%2F1%20%C3%BC"
                               "?provider_config_key=linear"));
    CHECK(strcmp(header(&arena, &request, "authorization"), "Bearer nk-1") == 0);
    access.access = S("refused");
    access.base_url = S("http://own.example/");
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(is_text(request.url, "http://own.example/connections/c%2F1%20%C3%BC"
                               "?provider_config_key=linear&force_refresh=true"));
    access = access_of(&arena, "{'source':'nango','secretKey':'k','providerConfigKey':'lin-prod',"
                               "'baseUrl':'https://nango.own.example'}");
    access.base_url = S("https://linear.own.example");
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(str_starts(request.url, S("https://nango.own.example/connections/")));
    CHECK(str_ends(request.url, S("?provider_config_key=lin-prod")));
    access = access_of(&arena, COMPOSIO);
    CHECK(token_ask(&arena, &access, &request, NULL) == ERR_OK);
    CHECK(is_text(request.url,
                  "https://backend.composio.dev/api/v3/connected_accounts/c%2F1%20%C3%BC"));
    CHECK(strcmp(header(&arena, &request, "x-api-key"), "ck-1") == 0);
    access.connection_id = STR_NONE;
    CHECK(token_ask(&arena, &access, &request, &error) == ERR_INVALID);
}

static TokenAnswer answer(Arena *arena, const char *token, int status, const char *body)
{
    IntegrationAccess access = access_of(arena, token);
    const Json *json = *body == '{' ? document(arena, body) : NULL;
    ProviderReply reply = { .status = status,
                            .body = json ? json_text(arena, json) : str_from(body) };
    return token_read(arena, &access, &reply, NOW);
}

static void good_answers_are_read(void)
{
    static const struct {
        const char *token, *body, *access, *refresh;
        Instant expires_at;
    } rows[] = {
        { OAUTH, "{'access_token':'at-1','token_type':'bearer'}", "at-1", NULL, INSTANT_NONE },
        { OAUTH, "{'access_token':'at-1','refresh_token':'rt-1','expires_in':3600}", "at-1", "rt-1",
          NOW + SPAN_HOUR },
        { OAUTH, "{'access_token':'at-1','expires_in':'60'}", "at-1", NULL, NOW + SPAN_MINUTE },
        { OAUTH, "{'access_token':'at-1','expires_in':9e300}", "at-1", NULL, INSTANT_NONE },
        { OAUTH, "{'access_token':'at-1','expires_in':9223372036854775807}", "at-1", NULL,
          NOW + 3650 * SPAN_DAY },
        { OAUTH, "{'access_token':'at-1','expires_in':-5}", "at-1", NULL, INSTANT_NONE },
        { NANGO,
          "{'connection_id':'c','credentials':{'type':'OAUTH2','access_token':'na-1',"
          "'refresh_token':'not ours','expires_at':'2026-01-01T01:00:00.000Z'}}",
          "na-1", NULL, NOW + SPAN_HOUR },
        { NANGO, "{'credentials':{'type':'API_KEY','apiKey':'na-2'}}", "na-2", NULL, INSTANT_NONE },
        { COMPOSIO,
          "{'id':'ca_1','status':'ACTIVE','state':{'authScheme':'OAUTH2',"
          "'val':{'status':'ACTIVE','access_token':'ca-1'}}}",
          "ca-1", NULL, INSTANT_NONE },
        { COMPOSIO, "{'status':'ACTIVE','state':{'val':{'api_key':'ca-2'}}}", "ca-2", NULL,
          INSTANT_NONE },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TokenAnswer read = answer(&arena, rows[i].token, 200, rows[i].body);
        CHECK_AT(rows[i].body, read.verdict == TOKEN_GOOD && is_text(read.access, rows[i].access));
        CHECK_AT(rows[i].body, str_eq(read.refresh, str_from(rows[i].refresh)));
        CHECK_AT(rows[i].body, read.expires_at == rows[i].expires_at && !read.why.at);
    }
}

static void a_refusal_is_told_from_what_may_work_later(void)
{
    static const struct {
        const char *token;
        int status;
        const char *body, *code;
        TokenVerdict verdict;
    } rows[] = {
        { OAUTH, 400, "{'error':'invalid_grant','error_description':'rt 0&x=1 was used'}",
          "(invalid_grant)", TOKEN_REFUSED },
        { OAUTH, 401, "{'error':'invalid_client'}", "(invalid_client)", TOKEN_REFUSED },
        { OAUTH, 200, "{'error':'bad_refresh_token'}", "(bad_refresh_token)", TOKEN_REFUSED },
        { OAUTH, 200, "{'ok':false,'error':'x','access_token':'y'}", "(x)", TOKEN_REFUSED },
        { OAUTH, 404, "<html>", "404", TOKEN_REFUSED },
        { OAUTH, 302, "", "302", TOKEN_REFUSED },
        { OAUTH, 400, "{'error':'temporarily_unavailable'}", "(temporarily_unavailable)",
          TOKEN_AGAIN },
        { OAUTH, 429, "{'error':'invalid_grant'}", "429", TOKEN_AGAIN },
        { OAUTH, 503, "", "503", TOKEN_AGAIN },
        { OAUTH, 0, "", "no answer", TOKEN_AGAIN },
        { OAUTH, 200, "<html>", "the answer has none", TOKEN_AGAIN },
        { OAUTH, 200, "[1]", "the answer has none", TOKEN_AGAIN },
        { OAUTH, 200, "{'access_token':7}", "the answer has none", TOKEN_AGAIN },
        { OAUTH, 200, "{'access_token':'a\\r\\nX: y'}", "cannot be one", TOKEN_REFUSED },
        { OAUTH, 200, "{'access_token':'a','refresh_token':'b c'}", "cannot be one",
          TOKEN_REFUSED },
        { OAUTH, 400, "{'error':'<script> at-0'}", "the answer was 400", TOKEN_REFUSED },
        { NANGO, 404, "{'error':{'code':'unknown_connection','message':'nk-1'}}",
          "(unknown_connection)", TOKEN_REFUSED },
        { NANGO, 424, "{'error':{'code':'refresh_token_external_error'}}",
          "(refresh_token_external_error)", TOKEN_REFUSED },
        { NANGO, 200, "{'credentials':{'type':'BASIC','username':'a'}}", "the answer has none",
          TOKEN_AGAIN },
        { COMPOSIO, 200, "{'status':'EXPIRED','state':{'val':{'access_token':'a'}}}", "expired",
          TOKEN_REFUSED },
        { COMPOSIO, 200, "{'status':'ACTIVE','state':{'val':{'access_token':'REDACTED'}}}", "masks",
          TOKEN_REFUSED },
        { COMPOSIO, 401, "{'error':{'message':'ck-1','code':10401}}", "401", TOKEN_REFUSED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TokenAnswer read = answer(&arena, rows[i].token, rows[i].status, rows[i].body);
        CHECK_AT(rows[i].body, read.verdict == rows[i].verdict && !read.access.at);
        CHECK_AT(rows[i].body, str_contains(read.why, str_from(rows[i].code)));
        CHECK_AT(rows[i].body, !str_contains(read.why, S("rt 0")));
        CHECK_AT(rows[i].body, !str_contains(read.why, S("k-1")) && str_is_printable(read.why));
    }
}

static const Test tests[] = {
    TEST(a_static_token_is_all_there_is), TEST(a_token_is_stale_a_minute_before_its_end),
    TEST(oauth_is_refreshed_by_a_form),   TEST(a_broker_is_asked_for_the_connection),
    TEST(good_answers_are_read),          TEST(a_refusal_is_told_from_what_may_work_later),
};
TEST_MAIN(tests)
