// github.c - GitHub: repositories', organizations' and apps' webhooks.
//
// What happened is told by a header, its action by the body; a hook's owner chooses whether the
// body is JSON or a form with JSON in its field "payload", and the signature is over either as it
// was sent. The same change may come under several delivery ids (a repository's hook, an
// organization's, an app's), so a key is made of what changed and when, not of the delivery.
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

static const SignForm signature = { HMAC_SHA256, SIGN_HEX, S("x-hub-signature-256"), S("sha256=") };

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    return sign_check(arena, hook, trust, &signature);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return sign_body(arena, &signature, hook, secret, ret);
}

static Str identify(Arena *arena, const Hook *hook)
{
    return read_id(arena, hook_header_text(hook, S("x-github-delivery")));
}

// Every event has these in its context.
static const ReadRow common_rows[] = {
    { "action", "action", NULL },
    { "repository", "repository.full_name", NULL },
    { "private", "repository.private", NULL },
    { "organization", "organization.login", NULL },
    { "sender", "sender.login", NULL },
    { "senderType", "sender.type", NULL },
};

// What else stands there is by type, below the member that the event is about. Issues and pull
// requests have the first in common, suites, checks and runs of workflows the second.
// clang-format off
#define TALKED_ROWS                       \
    { "number", "number", NULL },         \
    { "state", "state", NULL },           \
    { "labels", "labels", "name" },       \
    { "author", "user.login", NULL },     \
    { "assignees", "assignees", "login" }, \
    { "milestone", "milestone.title", NULL }
#define CHECKED_ROWS(branch)              \
    { "status", "status", NULL },         \
    { "conclusion", "conclusion", NULL }, \
    { "branch", branch, NULL },           \
    { "headSha", "head_sha", NULL },      \
    { "pullRequests", "pull_requests", "number" }
#define APP_ROWS                 \
    { "app", "app.slug", NULL }, \
    { "appName", "app.name", NULL }
// clang-format on

static const ReadRow issue_rows[] = {
    TALKED_ROWS,
    { "stateReason", "state_reason", NULL },
};
static const ReadRow pull_request_rows[] = {
    TALKED_ROWS,
    { "branch", "base.ref", NULL },
    { "head", "head.ref", NULL },
    { "headRepository", "head.repo.full_name", NULL },
    { "headSha", "head.sha", NULL },
    { "draft", "draft", NULL },
    { "merged", "merged", NULL },
};
static const ReadRow push_rows[] = {
    { "ref", "ref", NULL },
    { "before", "before", NULL },
    { "after", "after", NULL },
    { "created", "created", NULL },
    { "deleted", "deleted", NULL },
    { "forced", "forced", NULL },
    { "pusher", "pusher.name", NULL },
};
static const ReadRow check_suite_rows[] = { CHECKED_ROWS("head_branch"), APP_ROWS };
static const ReadRow check_run_rows[] = {
    { "name", "name", NULL },
    CHECKED_ROWS("check_suite.head_branch"),
    APP_ROWS,
};
static const ReadRow workflow_run_rows[] = {
    { "name", "name", NULL },
    CHECKED_ROWS("head_branch"),
    { "event", "event", NULL },
    { "path", "path", NULL },
    { "actor", "actor.login", NULL },
    { "runNumber", "run_number", NULL },
    { "runAttempt", "run_attempt", NULL },
};

// Reading is one webhook while it is read; item is what it is about: the issue, the check.
typedef struct Reading {
    Arena *arena;
    const Hook *hook;
    const Json *body, *item;
    Str event, action;
} Reading;

static Str repository_of(const Reading *reading)
{
    return read_text(reading->body, "repository.full_name");
}

// numbered is octo/hello#7.
static Str numbered(const Reading *reading)
{
    Str number = read_word(reading->item, "number"), repository = repository_of(reading);
    if (!number.at || !repository.at)
        return read_word(reading->item, "id");
    return STR_JOIN(reading->arena, repository, S("#"), number);
}

static Str own_id(const Reading *reading)
{
    return read_word(reading->item, "id");
}

static Str new_head(const Reading *reading)
{
    return read_text(reading->item, "after");
}

static Str own_title(const Reading *reading)
{
    return read_text(reading->item, "title");
}

static Str push_title(const Reading *reading)
{
    return READ_FIRST(read_title(read_text(reading->item, "head_commit.message")),
                      read_text(reading->item, "ref"));
}

static Str check_suite_title(const Reading *reading)
{
    Str app = READ_FIRST(read_text(reading->item, "app.name"), S("Checks"));
    Str became =
        READ_FIRST(read_text(reading->item, "conclusion"), read_text(reading->item, "status"));
    return became.at ? STR_JOIN(reading->arena, app, S(": "), became) : app;
}

static Str check_run_title(const Reading *reading)
{
    return read_text(reading->item, "name");
}

static Str workflow_run_title(const Reading *reading)
{
    return READ_FIRST(read_text(reading->item, "display_title"), read_text(reading->item, "name"),
                      read_text(reading->body, "workflow.name"));
}

static Str own_url(const Reading *reading)
{
    return read_text(reading->item, "html_url");
}

static Str push_url(const Reading *reading)
{
    return read_text(reading->item, "compare");
}

// A check suite has no page of its own: its commit lists its checks.
static Str check_suite_url(const Reading *reading)
{
    Str page = read_text(reading->body, "repository.html_url");
    Str sha = read_text(reading->item, "head_sha");
    return page.at && sha.at ? STR_JOIN(reading->arena, page, S("/commit/"), sha, S("/checks"))
                             : STR_NONE;
}

// Type is a type of event that triggers may ask for. Of its times the first that is there is when
// it happened; those of closing count only for the action that closes.
typedef struct Type {
    const char *id;   // also the event's name
    const char *item; // the member that it is about; "": the body itself
    Str (*key_item)(const Reading *reading);
    Str (*external_id)(const Reading *reading);
    Str (*title)(const Reading *reading);
    Str (*url)(const Reading *reading);
    const char *closed[2], *times[2];
    const ReadRow *rows;
    size_t row_count;
} Type;

#define ROWS(rows) rows, ARRAY_LEN(rows)
// clang-format off
static const Type types[] = {
    { "issues", "issue", own_id, numbered, own_title, own_url,
      { "closed_at" }, { "updated_at", "created_at" }, ROWS(issue_rows) },
    { "pull_request", "pull_request", own_id, numbered, own_title, own_url,
      { "merged_at", "closed_at" }, { "updated_at", "created_at" }, ROWS(pull_request_rows) },
    { "push", "", new_head, new_head, push_title, push_url,
      { 0 }, { "head_commit.timestamp" }, ROWS(push_rows) },
    { "check_suite", "check_suite", own_id, own_id, check_suite_title, check_suite_url,
      { 0 }, { "updated_at", "created_at" }, ROWS(check_suite_rows) },
    { "check_run", "check_run", own_id, own_id, check_run_title, own_url,
      { 0 }, { "completed_at", "started_at" }, ROWS(check_run_rows) },
    { "workflow_run", "workflow_run", own_id, own_id, workflow_run_title, own_url,
      { 0 }, { "updated_at", "created_at" }, ROWS(workflow_run_rows) },
};
// clang-format on

static const Type *find_type(Str event)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(event, str_from(types[i].id)))
            return &types[i];
    return NULL;
}

// time_at is the first time at paths, as it was written and as a moment.
static Str time_at(const Json *item, const char *const *paths, size_t count, Instant *ret)
{
    for (size_t i = 0; i < count && paths[i]; i++) {
        *ret = when_read(read_at(item, paths[i]));
        if (*ret != INSTANT_NONE)
            return read_word(item, paths[i]);
    }
    *ret = INSTANT_NONE;
    return STR_NONE;
}

static Str occurred(const Reading *reading, const Type *type, Instant *ret)
{
    if (str_eq(reading->action, S("closed"))) {
        Str closed = time_at(reading->item, type->closed, ARRAY_LEN(type->closed), ret);
        if (closed.at)
            return closed;
    }
    return time_at(reading->item, type->times, ARRAY_LEN(type->times), ret);
}

// subject_of is what an action was done with: several labels or reviewers added at once are as many
// events of one moment.
static Str subject_of(const Reading *reading)
{
    return READ_FIRST(read_word(reading->body, "label.id"), read_word(reading->body, "assignee.id"),
                      read_word(reading->body, "requested_reviewer.id"),
                      read_word(reading->body, "requested_team.id"));
}

static bool happens_once(Str action)
{
    return str_eq(action, S("opened")) || str_eq(action, S("created"));
}

// push_key tells pushes of one head apart: it may go to several branches, and come back to one.
static Str push_key(const Reading *reading, Str item)
{
    Str time = READ_FIRST(read_word(reading->body, "repository.pushed_at"),
                          identify(reading->arena, reading->hook));
    return STR_JOIN(reading->arena, S("github:"), item, S(":push:"),
                    read_id(reading->arena, read_text(reading->body, "ref")), S(":"),
                    read_id(reading->arena, time));
}

static Str key_of(const Reading *reading, Str item, Str updated)
{
    Arena *arena = reading->arena;
    if (str_eq(reading->event, S("push")))
        return push_key(reading, item);
    Str key = STR_JOIN(arena, S("github:"), item, S(":"), read_id(arena, reading->action));
    if (happens_once(reading->action))
        return key;
    Str time = READ_FIRST(updated, identify(arena, reading->hook)), subject = subject_of(reading);
    return STR_JOIN(arena, key, S(":"), read_id(arena, time), subject.at ? S(":") : S(""),
                    read_id(arena, subject));
}

static void put_push(JsonOut *out, const Json *body)
{
    static const ReadRow rows[] = { { "commits", "commits", "id" } };
    Str ref = read_text(body, "ref");
    if (str_starts(ref, S("refs/heads/")))
        read_put_text(out, "branch", str_skip(ref, S("refs/heads/").len));
    if (str_starts(ref, S("refs/tags/")))
        read_put_text(out, "tag", str_skip(ref, S("refs/tags/").len));
    read_put(out, body, ROWS(rows));
}

// put_files writes the files that the commits of a push touched, those of each commit in its turn.
static void put_files(JsonOut *out, const Json *body)
{
    static const char *const kinds[] = { "added", "modified", "removed" };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t left = READ_LIST_MAX;
        json_key(out, str_from(kinds[i]));
        json_open(out, '[');
        for (JsonIter commit = json_each(json_get(body, S("commits"))); json_next(&commit);)
            for (JsonIter file = json_each(read_at(commit.value, kinds[i]));
                 left > 0 && json_next(&file);)
                if (json_str(file.value).len > 0) {
                    json_add_str(out, str_head(json_str(file.value), READ_ELEMENT_MAX));
                    left--;
                }
        json_close(out, ']');
    }
}

static Str context_of(const Reading *reading, const Type *type)
{
    static const ReadRow with_rows[] = {
        { "label", "label.name", NULL },
        { "assignee", "assignee.login", NULL },
        { "requestedReviewer", "requested_reviewer.login", NULL },
    };
    Buf text = buf_new(reading->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put(&out, reading->body, ROWS(common_rows));
    read_put(&out, reading->body, ROWS(with_rows));
    read_put(&out, reading->item, type->rows, type->row_count);
    if (reading->item == reading->body) {
        put_push(&out, reading->body);
        put_files(&out, reading->body);
    }
    json_close(&out, '}');
    return buf_str(&text);
}

static Str place_of(const Reading *reading)
{
    return read_id(reading->arena, read_word(reading->body, "installation.id"));
}

static Err read_event(const Reading *reading, const Type *type, ProviderRead *ret, Error *error)
{
    Arena *arena = reading->arena;
    Str item = read_id(arena, type->key_item(reading));
    if (!item.at)
        return fail(error, ERR_INVALID, "a GitHub event of the type %s needs %s", type->id,
                    *type->item ? "the id of what it is about" : "its new head");
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    Str updated = occurred(reading, type, &event->occurred_at);
    event->provider = PROVIDER_GITHUB;
    event->type = str_from(type->id);
    event->provider_type =
        reading->action.at ? STR_JOIN(arena, event->type, S(":"), read_id(arena, reading->action))
                           : event->type;
    event->dedup_key = key_of(reading, item, updated);
    event->title = read_title(type->title(reading));
    event->url = read_url(type->url(reading));
    event->external_id = read_id(arena, type->external_id(reading));
    event->context = context_of(reading, type);
    event->place.installation_id = place_of(reading);
    ret->events = event;
    ret->count = 1;
    return ERR_OK;
}

// What becomes of an app's installation; what else may happen to one (other permissions, other
// repositories) changes nothing here.
static const struct {
    const char *action;
    ProviderState state;
    const char *reason;
} installation_changes[] = {
    { "deleted", PROVIDER_REVOKED, "the GitHub App was uninstalled" },
    { "suspend", PROVIDER_SUSPENDED, "the GitHub App's installation was suspended" },
    { "unsuspend", PROVIDER_ACTIVE, NULL },
};

static void read_installation(const Reading *reading, ProviderRead *ret)
{
    ret->note = STR_JOIN(reading->arena, S("installation "), str_head(reading->action, 40));
    for (size_t i = 0; i < ARRAY_LEN(installation_changes); i++)
        if (str_eq(reading->action, str_from(installation_changes[i].action)) &&
            place_of(reading).at) {
            ret->changes = ARENA_NEW(reading->arena, ProviderChange);
            ret->change_count = 1;
            *ret->changes = (ProviderChange){ .provider = PROVIDER_GITHUB,
                                              .place = { .installation_id = place_of(reading) },
                                              .state = installation_changes[i].state,
                                              .reason = str_from(installation_changes[i].reason) };
        }
}

// guess_event is for what comes without GitHub's headers, by a broker: the member that only one
// type has tells it, unless it is there because something else happened to it.
static Str guess_event(const Json *body)
{
    static const char *const others[] = { "comment", "review", "thread", "deployment" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (json_get(body, str_from(others[i])))
            return STR_NONE;
    if (json_get(body, S("after")) && json_get(body, S("ref")))
        return S("push");
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (*types[i].item && json_type(json_get(body, str_from(types[i].item))) == JSON_OBJECT)
            return str_from(types[i].id);
    return STR_NONE;
}

// open_body finds the JSON: the body, or a form's field.
static Err open_body(Arena *arena, const Hook *hook, Str *ret_text, const Json **ret, Error *error)
{
    Str text = hook->body;
    if (str_starts(text, S("payload=")) && !read_form(arena, hook->body, S("payload"), &text))
        return fail(error, ERR_INVALID, "the form has no field \"payload\"");
    if (json_parse(arena, text, ret, NULL) != ERR_OK || json_type(*ret) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "the body is not a JSON object");
    *ret_text = text;
    return ERR_OK;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    Reading reading = { .arena = arena, .hook = hook };
    Str text;
    TRY(open_body(arena, hook, &text, &reading.body, error));
    reading.event =
        READ_FIRST(hook_header_text(hook, S("x-github-event")), guess_event(reading.body));
    reading.action = read_text(reading.body, "action");
    *ret = (ProviderRead){ 0 };
    const Type *type = find_type(reading.event);
    if (type) {
        reading.item = *type->item ? read_at(reading.body, type->item) : reading.body;
        TRY(read_event(&reading, type, ret, error));
        ret->events->raw = text;
    } else if (str_eq(reading.event, S("installation"))) {
        read_installation(&reading, ret);
    } else if (str_eq(reading.event, S("ping"))) {
        ret->note = S("ping");
    } else if (reading.event.at) {
        ret->note =
            str_format(arena, "%.*s is of no trigger type", STR_ARG(str_head(reading.event, 60)));
    } else {
        return fail(error, ERR_INVALID,
                    "there is no X-GitHub-Event, and the body is none of GitHub's");
    }
    return ERR_OK;
}

// clang-format off
#define SENT ",\"repository\":{\"id\":1296269,\"full_name\":\"octo/hello\",\"html_url\":\"https://github.com/octo/hello\",\"private\":false}," \
             "\"sender\":{\"login\":\"octocat\",\"type\":\"User\"}}"
#define SHA "6dcb09b5b57875f334f61aebed695e2e4193db5e"
static const ProviderExample examples[] = {
    { "issues.opened", "X-GitHub-Event: issues",
      "{\"action\":\"opened\",\"issue\":{\"id\":%id%,\"number\":7,\"title\":\"Found a bug\",\"state\":\"open\","
      "\"html_url\":\"https://github.com/octo/hello/issues/7\",\"user\":{\"login\":\"octocat\"},\"labels\":[{\"name\":\"bug\"}],"
      "\"assignees\":[],\"body\":\"It breaks.\",\"created_at\":\"%time%\",\"updated_at\":\"%time%\"}" SENT },
    { "pull_request.opened", "X-GitHub-Event: pull_request",
      "{\"action\":\"opened\",\"number\":8,\"pull_request\":{\"id\":%id%,\"number\":8,\"title\":\"Mend it\",\"state\":\"open\",\"draft\":false,"
      "\"html_url\":\"https://github.com/octo/hello/pull/8\",\"user\":{\"login\":\"octocat\"},\"labels\":[],\"merged\":false,"
      "\"base\":{\"ref\":\"main\"},\"head\":{\"ref\":\"mend\",\"sha\":\"" SHA "\"},\"created_at\":\"%time%\",\"updated_at\":\"%time%\"}" SENT },
    { "push", "X-GitHub-Event: push",
      "{\"ref\":\"refs/heads/main\",\"before\":\"0000000000000000000000000000000000000000\",\"after\":\"" SHA "\",\"created\":false,"
      "\"deleted\":false,\"forced\":false,\"compare\":\"https://github.com/octo/hello/compare/000000000000...6dcb09b5b578\",\"pusher\":{\"name\":\"octocat\"},"
      "\"head_commit\":{\"id\":\"" SHA "\",\"message\":\"Mend it\",\"timestamp\":\"%time%\"},\"commits\":[{\"id\":\"" SHA "\","
      "\"message\":\"Mend it\",\"added\":[],\"modified\":[\"README.md\"],\"removed\":[]}],"
      "\"repository\":{\"id\":1296269,\"full_name\":\"octo/hello\",\"html_url\":\"https://github.com/octo/hello\",\"pushed_at\":%now%},"
      "\"sender\":{\"login\":\"octocat\",\"type\":\"User\"}}" },
    { "check_run.completed", "X-GitHub-Event: check_run",
      "{\"action\":\"completed\",\"check_run\":{\"id\":%id%,\"name\":\"test\",\"status\":\"completed\",\"conclusion\":\"failure\","
      "\"html_url\":\"https://github.com/octo/hello/runs/1\",\"head_sha\":\"" SHA "\",\"started_at\":\"%time%\",\"completed_at\":\"%time%\","
      "\"check_suite\":{\"id\":5,\"head_branch\":\"main\"},\"app\":{\"slug\":\"github-actions\",\"name\":\"GitHub Actions\"},\"pull_requests\":[]}" SENT },
    { "workflow_run.completed", "X-GitHub-Event: workflow_run",
      "{\"action\":\"completed\",\"workflow_run\":{\"id\":%id%,\"name\":\"CI\",\"display_title\":\"Mend it\",\"status\":\"completed\",\"conclusion\":\"failure\","
      "\"html_url\":\"https://github.com/octo/hello/actions/runs/1\",\"head_branch\":\"main\",\"head_sha\":\"" SHA "\",\"event\":\"push\",\"run_number\":12,"
      "\"run_attempt\":1,\"path\":\".github/workflows/ci.yml\",\"actor\":{\"login\":\"octocat\"},\"created_at\":\"%time%\",\"updated_at\":\"%time%\"},"
      "\"workflow\":{\"name\":\"CI\"}" SENT },
};
// clang-format on

const Provider provider_github = {
    .name = PROVIDER_GITHUB,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
