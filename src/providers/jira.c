// jira.c - Jira, Cloud and Data Center: issues, comments, sprints, versions and the rest.
//
// A signature names its method before it, as WebSub has it: sha256, which Jira uses, or sha512; the
// older ones are not taken. The same change comes once for each webhook that is registered, so a
// key is made of what changed and when.
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

static const SignForm signatures[] = {
    { HMAC_SHA256, SIGN_HEX, S("x-hub-signature"), S("sha256=") },
    { HMAC_SHA512, SIGN_HEX, S("x-hub-signature"), S("sha512=") },
};

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str given = str_trim(hook_header(hook, signatures[0].header));
    bool is_long = str_starts(given, signatures[1].prefix);
    return sign_check(arena, hook, trust, &signatures[is_long]);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return sign_body(arena, &signatures[0], hook, secret, ret);
}

// identify is the same for every attempt.
static Str identify(Arena *arena, const Hook *hook)
{
    return read_id(arena, hook_header_text(hook, S("x-atlassian-webhook-identifier")));
}

static const ReadRow rows[] = {
    { "event", "webhookEvent", NULL },
    { "issueEvent", "issue_event_type_name", NULL },
    { "key", "issue.key", NULL },
    { "id", "issue.id", NULL },
    { "summary", "issue.fields.summary", NULL },
    { "issueType", "issue.fields.issuetype.name", NULL },
    { "status", "issue.fields.status.name", NULL },
    { "priority", "issue.fields.priority.name", NULL },
    { "resolution", "issue.fields.resolution.name", NULL },
    { "labels", "issue.fields.labels", "" },
    { "components", "issue.fields.components", "name" },
    { "projectName", "issue.fields.project.name", NULL },
    { "assignee", "issue.fields.assignee.displayName", NULL },
    { "assigneeId", "issue.fields.assignee.accountId", NULL },
    { "reporter", "issue.fields.reporter.displayName", NULL },
    { "user", "user.displayName", NULL },
    { "userId", "user.accountId", NULL },
    { "changed", "changelog.items", "field" },
    { "changedTo", "changelog.items", "toString" },
    { "comment", "comment.body", NULL },
    { "commentAuthor", "comment.author.displayName", NULL },
};

static Str context_of(Arena *arena, const Json *body)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put(&out, body, rows, ARRAY_LEN(rows));
    read_put_text(
        &out, "project",
        READ_FIRST(read_text(body, "issue.fields.project.key"), read_text(body, "project.key")));
    json_close(&out, '}');
    return buf_str(&text);
}

// origin_of is the scheme and host of a URL; none where it has no path.
static Str origin_of(Str url)
{
    size_t at = str_starts(url, S("https://")) ? S("https://").len : S("http://").len;
    while (at < url.len && url.at[at] != '/')
        at++;
    return at < url.len ? (Str){ url.at, at } : STR_NONE;
}

// page_of is where people see the issue; what an issue calls itself is for programs.
static Str page_of(Arena *arena, const Json *body)
{
    Str origin = origin_of(read_url(read_text(body, "issue.self")));
    Str key = read_text(body, "issue.key");
    return origin.at && field_is_key(key) ? STR_JOIN(arena, origin, S("/browse/"), key) : STR_NONE;
}

// thing_id is what it happened to.
static Str thing_id(const Json *body)
{
    static const char *const paths[] = { "comment.id", "worklog.id", "issueLink.id", "issue.id",
                                         "sprint.id",  "version.id", "project.id",   "board.id" };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        Str id = read_word(body, paths[i]);
        if (id.at)
            return id;
    }
    return STR_NONE;
}

// key_of is jira:10002:jira:issue_updated:1485797534716. What does not say what it is about or when
// it was is known by the sending.
static Str key_of(Arena *arena, const Hook *hook, const Json *body, Str type)
{
    Str thing = thing_id(body), time = read_word(body, "timestamp");
    if (!thing.at || !time.at)
        return generic_key(arena, hook, PROVIDER_JIRA, identify(arena, hook));
    return STR_JOIN(arena, S("jira:"), read_id(arena, thing), S(":"), read_id(arena, type), S(":"),
                    read_id(arena, time));
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    Str type = read_text(body, "webhookEvent");
    if (!type.at)
        return fail(error, ERR_INVALID, "what Jira sends has a webhookEvent");
    Instant at = when_read(json_get(body, S("timestamp")));
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    *event = (ProviderEvent){
        .provider = PROVIDER_JIRA,
        .type = S("event"),
        .provider_type = str_head(type, READ_ID_MAX),
        .occurred_at = at != INSTANT_NONE ? at : when_read(read_at(body, "issue.fields.updated")),
        .dedup_key = key_of(arena, hook, body, type),
        .title = read_title(
            READ_FIRST(read_text(body, "issue.fields.summary"), read_text(body, "comment.body"),
                       read_text(body, "sprint.name"), read_text(body, "version.name"),
                       read_text(body, "project.name"), type)),
        .url = page_of(arena, body),
        .external_id = read_id(arena, READ_FIRST(read_text(body, "issue.key"), thing_id(body))),
        .context = context_of(arena, body),
        .raw = str_trim(hook->body),
    };
    *ret = (ProviderRead){ .events = event, .count = 1 };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "jira:issue_created", NULL,
      "{\"timestamp\":%now%,\"webhookEvent\":\"jira:issue_created\","
      "\"issue_event_type_name\":\"issue_created\",\"user\":{\"accountId\":\"99:27935d01\","
      "\"displayName\":\"Mia Krystof\"},\"issue\":{\"id\":\"10002\",\"self\":"
      "\"https://example.atlassian.net/rest/api/2/issue/10002\",\"key\":\"WEB-7\",\"fields\":{"
      "\"summary\":\"The page is "
      "blank\",\"created\":\"%time%\",\"issuetype\":{"
      "\"name\":\"Bug\"},\"status\":{\"name\":\"To "
      "Do\"},\"priority\":{\"name\":\"High\"},\"labels\":["
      "\"ui\"],\"project\":{\"key\":\"WEB\",\"name\":\"Web\"}}}}" },
    { "comment_created", NULL,
      "{\"timestamp\":%now%,\"webhookEvent\":\"comment_created\",\"comment\":{\"id\":"
      "\"10100\",\"body\":\"I see it too\",\"author\":{\"displayName\":\"Mia "
      "Krystof\"}},\"issue\":{"
      "\"id\":\"10002\",\"self\":\"https://example.atlassian.net/rest/api/2/issue/10002\",\"key\":"
      "\"WEB-7\",\"fields\":{\"summary\":\"The page is blank\"}}}" },
};

const Provider provider_jira = {
    .name = PROVIDER_JIRA,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
