#include "parsed.h"

// LEGACY is the SHA-256 of "key{}".
#define LEGACY "93b867377527644eb6c4262976b0f8a032db9db581af1c7497af5fdc5ca0f2d7"

#define ISSUE                                                                                      \
    "{'action':'opened','issue':{'id':1,'number':7,'title':'It breaks','html_url':"                \
    "'https://github.com/octo/hello/issues/7'},'repository':{'full_name':'octo/hello'},"           \
    "'installation':{'id':99}}"

static ProviderRead read_by(Arena *arena, ProviderName name, const char *headers, const char *body)
{
    ProviderRead read = { 0 };
    Error error = { .arena = arena };
    Hook hook = hook_lines(arena, headers, quoted(arena, body));
    CHECK_AT(body, provider_of(name)->parse(arena, &hook, &read, &error) == ERR_OK);
    return read;
}

static void what_nango_forwards_is_the_services_own(void)
{
    static const ParsedRow rows[] = {
        { "x-github-event: issues\nx-github-delivery: d1",
          "{'from':'github-app','providerConfigKey':'gh','type':'forward','connectionId':'c-1',"
          "'payload':" ISSUE "}",
          NULL, "github.issues", "issues:opened", "github:1:opened", "It breaks",
          "https://github.com/octo/hello/issues/7", "octo/hello#7", NULL, NULL },
        // What the integration is called there may tell, too.
        { "x-github-event: issues",
          "{'from':'my-thing','providerConfigKey':'github','type':'forward','connectionId':'c-1',"
          "'payload':" ISSUE "}",
          NULL, "github.issues", "issues:opened", "github:1:opened", "It breaks",
          "https://github.com/octo/hello/issues/7", "octo/hello#7", NULL, NULL },
        // A service that Peal does not know is an event of Nango's.
        { "x-delivery-id: 5",
          "{'from':'hubspot','providerConfigKey':'hs','type':'forward','connectionId':'c-1',"
          "'payload':{'type':'deal','title':'T'}}",
          NULL, "nango.event", "hubspot:deal", "nango:5", "T", NULL, NULL, NULL,
          "{'type':'deal','title':'T'}" },
        { NULL, "{'from':'nango','type':'sync','connectionId':'c-1','success':true}", "sync" },
        { NULL, "{'from':'nango','type':'async_action','connectionId':'c-1'}", "async_action" },
        { NULL, "{'from':'nango','type':'something-new'}", "something-new" },
        // Without an envelope nobody knows whose it is.
        { "x-github-event: issues", ISSUE, "forwarded without a connection" },
        { NULL, "[]", "forwarded without a connection" },
    };
    check_parsed(PROVIDER_NANGO, rows, ARRAY_LEN(rows));
}

static void what_is_forwarded_is_the_connections(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        read_by(&arena, PROVIDER_NANGO, "x-github-event: issues\nx-github-delivery: d1",
                "{'from':'github','type':'forward','connectionId':'c-1','payload':" ISSUE "}");
    CHECK(read.count == 1 && is_text(read.events[0].place.connection_id, "c-1"));
    CHECK(!read.events[0].place.installation_id.at);
    CHECK(is_text(read.external_id, "d1"));
    read = read_by(&arena, PROVIDER_NANGO, "x-github-event: installation",
                   "{'from':'github','type':'forward','connectionId':'c-1','payload':{'action':"
                   "'deleted','installation':{'id':99}}}");
    CHECK(read.change_count == 1 && is_text(read.changes[0].place.connection_id, "c-1"));
    CHECK(read.changes[0].state == PROVIDER_REVOKED);
}

static void a_push_that_is_forwarded_polls(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = read_by(
        &arena, PROVIDER_NANGO, NULL,
        "{'from':'Google-Mail','type':'forward','connectionId':'c-1','payload':{'message':{'data':"
        "'eyJlbWFpbEFkZHJlc3MiOiJ1c2VyQGV4YW1wbGUuY29tIiwiaGlzdG9yeUlkIjo5ODc2NTQzMjEwfQ==',"
        "'messageId':'2070'}}}");
    CHECK(read.polls && read.count == 0 && is_text(read.external_id, "2070"));
    CHECK(read.polled == PROVIDER_GMAIL && is_text(read.place.connection_id, "c-1"));
}

static void auth_says_what_became_of_a_connection(void)
{
    static const struct {
        const char *body;
        ProviderName provider;
        ProviderState state;
        bool is_new;
        const char *tenant, *integration, *reason;
    } rows[] = {
        { "{'from':'nango','type':'auth','operation':'creation','connectionId':'c-1','provider':"
          "'github','providerConfigKey':'gh','success':true,'tags':{'tenant':'acme','integration':"
          "'acme-gh'}}",
          PROVIDER_GITHUB, PROVIDER_ACTIVE, true, "acme", "acme-gh", NULL },
        { "{'from':'nango','type':'auth','operation':'creation','connectionId':'c-1','provider':"
          "'linear-x','providerConfigKey':'x','success':true,'endUser':{'endUserId':'u',"
          "'organizationId':'acme','tags':{'integration':'i'}}}",
          PROVIDER_NANGO, PROVIDER_ACTIVE, true, "acme", "i", NULL },
        { "{'from':'nango','type':'auth','operation':'override','connectionId':'c-1','provider':"
          "'github','success':true}",
          PROVIDER_GITHUB, PROVIDER_ACTIVE, false, NULL, NULL, NULL },
        { "{'from':'nango','type':'auth','operation':'refresh','connectionId':'c-1','provider':"
          "'github','success':false,'error':{'type':'refresh_token_external_error','description':"
          "'The token was revoked'}}",
          PROVIDER_GITHUB, PROVIDER_FAILED, false, NULL, NULL, "The token was revoked" },
        { "{'from':'nango','type':'auth','operation':'creation','connectionId':'c-1','provider':"
          "'github','success':false,'error':null}",
          PROVIDER_GITHUB, PROVIDER_FAILED, false, NULL, NULL, "Nango could not log in" },
        { "{'from':'nango','type':'auth','operation':'creation','connectionId':'c-1','provider':"
          "'github','success':'true'}",
          PROVIDER_GITHUB, PROVIDER_FAILED, false, NULL, NULL, "Nango could not log in" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = read_by(&arena, PROVIDER_NANGO, NULL, rows[i].body);
        CHECK_AT(rows[i].body, read.count == 0 && read.change_count == 1 && read.note.len > 0);
        const ProviderChange *change = read.changes;
        CHECK_AT(rows[i].body, is_text(change->place.connection_id, "c-1"));
        CHECK_AT(rows[i].body, change->provider == rows[i].provider);
        CHECK_AT(rows[i].body, change->state == rows[i].state && change->is_new == rows[i].is_new);
        CHECK_AT(rows[i].body, is_same(change->tenant, rows[i].tenant));
        CHECK_AT(rows[i].body, is_same(change->integration, rows[i].integration));
        CHECK_AT(rows[i].body, is_same(change->reason, rows[i].reason));
    }
}

static void envelopes_that_lack_something_are_refused(void)
{
    static const char *const bodies[] = {
        "",
        "{",
        "{'from':'github','type':'forward','payload':{'HOSTILE':1}}",
        "{'from':'github','type':'forward','connectionId':'c-1'}",
        "{'from':'github','type':'forward','connectionId':7,'payload':{}}",
        "{'from':'github','type':'forward','connectionId':'c-1','payload':'HOSTILE'}",
        "{'from':'google-mail','type':'forward','connectionId':'c-1','payload':{}}",
        "{'from':'nango','type':'auth','success':true}",
    };
    check_refused(PROVIDER_NANGO, bodies, ARRAY_LEN(bodies));
}

static void the_old_signature_needs_a_word_in_the_config(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookTrust trust = trust_in("key");
    Hook hook = hook_lines(&arena, "x-nango-signature: " LEGACY, S("{ }"));
    const Provider *nango = provider_of(PROVIDER_NANGO);
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_UNSIGNED);
    trust.config = document(&arena, "{'legacy':false}");
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_UNSIGNED);
    trust.config = document(&arena, "{'legacy':true}");
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_MISSIGNED);
    hook = hook_lines(&arena, "x-nango-signature: " LEGACY, S("{}"));
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    // It does not stand in for a signature that came and is wrong.
    hook =
        hook_lines(&arena, "x-nango-signature: " LEGACY "\nx-nango-hmac-sha256: " LEGACY, S("{}"));
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_MISSIGNED);
    hook = hook_lines(&arena, "x-nango-signature: " LEGACY "\nx-nango-signature: " LEGACY, S("{}"));
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_TWICE);
    trust = trust_in("");
    trust.config = document(&arena, "{'legacy':true}");
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_NO_SECRET);
    // An empty secret beside a good one is none: anybody could hash the body alone.
    trust = (HookTrust){ .secrets = { S("s3cret"), S("") }, .secret_count = 2 };
    trust.config = document(&arena, "{'legacy':true}");
    hook = hook_lines(
        &arena,
        "x-nango-signature: 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        S("{}"));
    CHECK(nango->verify(&arena, &hook, &trust) == HOOK_MISSIGNED);
}

static void composio_is_read_in_all_its_versions(void)
{
    static const ParsedRow rows[] = {
        { "webhook-id: msg_abc123",
          "{'id':'msg_abc123','type':'composio.trigger.message','metadata':{'log_id':'l',"
          "'trigger_slug':'GITHUB_COMMIT_EVENT','trigger_id':'ti_1','connected_account_id':'ca_1',"
          "'auth_config_id':'ac_1','user_id':'u'},'data':{'commit_sha':'a1b2c3d','message':"
          "'fix: it'},'timestamp':'2026-01-15T10:30:00Z'}",
          NULL, "composio.event", "github_commit_event", "composio:msg_abc123", "fix: it", NULL,
          "a1b2c3d", "2026-01-15T10:30:00.000Z",
          "{'slug':'github_commit_event','toolkit':'github','trigger':'ti_1','user':'u','data':{"
          "'commit_sha':'a1b2c3d','message':'fix: it'}}" },
        { NULL,
          "{'type':'github_commit_event','data':{'message':'fix: it','connection_id':'ca_1',"
          "'trigger_id':'ti_1','user_id':'u'},'timestamp':'2026-01-15T10:30:00Z','log_id':'l','id':"
          "'m'}",
          NULL, "composio.event", "github_commit_event", "composio:m", "fix: it", NULL, NULL,
          "2026-01-15T10:30:00.000Z", NULL },
        { "webhook-id: m",
          "{'trigger_name':'github_commit_event','trigger_id':'ti_1','connection_id':'ca_1',"
          "'payload':{'message':'fix: it'},'log_id':'l'}",
          NULL, "composio.event", "github_commit_event", "composio:m", "fix: it", NULL, NULL, NULL,
          NULL },
        // What the service itself sent is its own event.
        { "webhook-id: m",
          "{'type':'composio.trigger.message','metadata':{'trigger_slug':'GITHUB_ISSUE_ADDED',"
          "'connected_account_id':'ca_1'},'data':" ISSUE "}",
          NULL, "github.issues", "issues:opened", "github:1:opened", "It breaks",
          "https://github.com/octo/hello/issues/7", "octo/hello#7", NULL, NULL },
        { NULL, "{'type':'composio.trigger.disabled','data':{'id':'ti_1'}}",
          "composio.trigger.disabled" },
    };
    check_parsed(PROVIDER_COMPOSIO, rows, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows) - 1; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = read_by(&arena, PROVIDER_COMPOSIO, rows[i].headers, rows[i].body);
        CHECK_AT(rows[i].body, is_text(read.events[0].place.connection_id, "ca_1"));
    }
}

static void an_account_that_expired_has_failed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read =
        read_by(&arena, PROVIDER_COMPOSIO, NULL,
                "{'id':'evt_1','type':'composio.connected_account.expired','metadata':{"
                "'project_id':'pr_1','org_id':'ok_1'},'data':{'id':'ca_1','toolkit':{'slug':'gmail'"
                "},'status':'EXPIRED','status_reason':'OAuth refresh token expired'}}");
    CHECK(read.count == 0 && read.change_count == 1 && read.note.len > 0);
    CHECK(is_text(read.changes[0].place.connection_id, "ca_1"));
    CHECK(read.changes[0].provider == PROVIDER_GMAIL);
    CHECK(read.changes[0].state == PROVIDER_FAILED);
    CHECK(is_text(read.changes[0].reason, "OAuth refresh token expired"));
}

static void what_is_not_composios_is_refused(void)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{}",
        "{'type':'x'}",
        "{'type':'x','data':'HOSTILE'}",
        "{'data':{}}",
        "{'type':7,'data':{}}",
    };
    check_refused(PROVIDER_COMPOSIO, bodies, ARRAY_LEN(bodies));
}

static void gmail_says_that_there_is_something(void)
{
    static const ParsedRow rows[] = {
        { NULL,
          "{'message':{'data':'eyJlbWFpbEFkZHJlc3MiOiJ1c2VyQGV4YW1wbGUuY29tIiwiaGlzdG9yeUlkIjo5ODc2"
          "NTQzMjEwfQ','messageId':'2070443601311540'},'subscription':'projects/p/subscriptions/"
          "s'}",
          "the mailbox changed: whoever polls it does so now" },
    };
    static const char *const bodies[] = {
        "",
        "{",
        "{'message':{}}",
        "{'message':{'data':'!'}}",
        "{'message':{'data':'e30='}}",
        "{'message':{'data':'SE9TVElMRQ=='}}",
        "{'message':'HOSTILE'}",
    };
    check_parsed(PROVIDER_GMAIL, rows, ARRAY_LEN(rows));
    check_refused(PROVIDER_GMAIL, bodies, ARRAY_LEN(bodies));
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = read_by(&arena, PROVIDER_GMAIL, NULL, rows[0].body);
    CHECK(read.polls && read.polled == PROVIDER_GMAIL && !read.place.connection_id.at);
    CHECK(is_text(read.external_id, "2070443601311540"));
}

static void gmail_is_known_by_the_secret_in_its_address(void)
{
    static const struct {
        const char *headers, *query;
        HookVerdict verdict;
    } rows[] = {
        { NULL, "token=s3cret", HOOK_VERIFIED },
        { NULL, "a=b&token=s3cret", HOOK_VERIFIED },
        { "x-goog-channel-token: s3cret", NULL, HOOK_VERIFIED },
        { NULL, "token=", HOOK_MISSIGNED },
        { NULL, "token=other&token=s3cret", HOOK_MISSIGNED },
        { "x-goog-channel-token: s3cret", "token=other", HOOK_MISSIGNED },
        { "x-goog-channel-token: s3cret\nx-goog-channel-token: s3cret", NULL, HOOK_TWICE },
        // A token of Google's is not taken on trust.
        { "authorization: Bearer eyJhbGciOiJub25lIn0.e30.", NULL, HOOK_UNSIGNED },
        { "authorization: Bearer s3cret", NULL, HOOK_UNSIGNED },
        { NULL, NULL, HOOK_UNSIGNED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookTrust trust = trust_in("s3cret");
        Hook hook = hook_lines(&arena, rows[i].headers, S("{}"));
        hook.query = str_from(rows[i].query);
        Str row = str_format(&arena, "row %zu", i);
        CHECK_AT(row.at,
                 provider_of(PROVIDER_GMAIL)->verify(&arena, &hook, &trust) == rows[i].verdict);
    }
}

static const Test tests[] = {
    TEST(what_nango_forwards_is_the_services_own),
    TEST(what_is_forwarded_is_the_connections),
    TEST(a_push_that_is_forwarded_polls),
    TEST(auth_says_what_became_of_a_connection),
    TEST(envelopes_that_lack_something_are_refused),
    TEST(the_old_signature_needs_a_word_in_the_config),
    TEST(composio_is_read_in_all_its_versions),
    TEST(an_account_that_expired_has_failed),
    TEST(what_is_not_composios_is_refused),
    TEST(gmail_says_that_there_is_something),
    TEST(gmail_is_known_by_the_secret_in_its_address),
};
TEST_MAIN(tests)
