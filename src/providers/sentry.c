// sentry.c - Sentry: an integration's webhooks of issues, errors and alerts, a project's old ones.
//
// All tell of an issue, by itself (data.issue), by the event that an alert saw (data.event,
// data.error), or by both; the old plugin writes both at the top. The signature is over the bytes
// that were sent, whatever Sentry's own documents compute. Neither Request-ID nor the time in a
// header is worth anything: both are new with each try, and the time is not signed.
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

enum { FRAMES_MAX = 10, HASH_DIGITS = 16 };

static const SignForm of_integration = { HMAC_SHA256, SIGN_HEX, S("sentry-hook-signature"),
                                         STR_NONE };
static const SignForm of_project = { HMAC_SHA256, SIGN_HEX, S("x-servicehook-signature"),
                                     STR_NONE };

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    bool is_project =
        !hook_header(hook, of_integration.header).at && hook_header(hook, of_project.header).at;
    return sign_check(arena, hook, trust, is_project ? &of_project : &of_integration);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return sign_body(arena, &of_integration, hook, secret, ret);
}

static Str identify(Arena *arena, const Hook *hook)
{
    return read_id(arena, hook_header_text(hook, S("request-id")));
}

// Reading is one webhook while it is read; issue or event may be NULL, not both.
typedef struct Reading {
    Arena *arena;
    const Hook *hook;
    const Json *body, *issue, *event;
    Str resource, action;
} Reading;

// tag_of finds a tag, in pairs ["environment","prod"] or as {"key":…,"value":…}.
static Str tag_of(const Json *tags, Str name)
{
    for (JsonIter it = json_each(tags); json_type(tags) == JSON_ARRAY && json_next(&it);) {
        if (str_eq(json_str(json_at(it.value, 0)), name))
            return json_str(json_at(it.value, 1));
        if (str_eq(read_text(it.value, "key"), name))
            return read_text(it.value, "value");
    }
    return json_str(json_get(tags, name));
}

static Str environment_of(const Reading *reading)
{
    return READ_FIRST(read_text(reading->event, "environment"),
                      tag_of(read_at(reading->event, "tags"), S("environment")),
                      read_text(reading->issue, "environment"),
                      tag_of(read_at(reading->issue, "tags"), S("environment")));
}

// slug_of finds a project's slug in an address of the API: …/projects/<organization>/<slug>/….
static Str slug_of(Str url)
{
    Str mark = S("/projects/");
    const char *found = url.len > 0 ? memmem(url.at, url.len, mark.at, mark.len) : NULL;
    if (!found)
        return STR_NONE;
    Str rest = str_skip(url, (size_t) (found - url.at) + mark.len);
    (void) str_cut(&rest, '/');
    return str_cut(&rest, '/');
}

static void put_project(JsonOut *out, const Reading *reading)
{
    const Json *project = read_at(reading->issue, "project");
    json_key(out, S("project"));
    json_open(out, '{');
    read_put_text(out, "id",
                  READ_FIRST(read_word(project, "id"), read_word(reading->event, "project")));
    read_put_text(out, "slug",
                  READ_FIRST(read_text(project, "slug"), slug_of(read_text(reading->event, "url")),
                             read_text(reading->body, "project_slug")));
    read_put_text(out, "name",
                  READ_FIRST(read_text(project, "name"), read_text(reading->body, "project_name")));
    json_close(out, '}');
}

// frames_of are those of the error itself: the last of a chain that has any.
static const Json *frames_of(const Json *event)
{
    const Json *frames = read_at(event, "stacktrace.frames");
    const Json *chain = read_at(event, "exception.values");
    for (JsonIter it = json_each(chain); json_type(chain) == JSON_ARRAY && json_next(&it);) {
        const Json *own = read_at(it.value, "stacktrace.frames");
        frames = json_count(own) > 0 ? own : frames;
    }
    return json_type(frames) == JSON_ARRAY ? frames : NULL;
}

// last_frames are those nearest to the error, the nearest last.
static size_t last_frames(const Json *frames, const Json *ret[FRAMES_MAX])
{
    size_t count = json_count(frames), first = count > FRAMES_MAX ? count - FRAMES_MAX : 0,
           kept = 0;
    for (JsonIter it = json_each(frames); json_next(&it);)
        if (it.index > first)
            ret[kept++] = it.value;
    return kept;
}

static Str file_of(const Json *frame)
{
    return READ_FIRST(read_text(frame, "filename"), read_text(frame, "abs_path"),
                      read_text(frame, "module"));
}

static bool is_named(const Json *const *frames, size_t count, Str file)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(file_of(frames[i]), file))
            return true;
    return false;
}

// put_frames writes the last frames, and the files that they name.
static void put_frames(JsonOut *out, const Json *all)
{
    static const ReadRow rows[] = {
        { "function", "function", NULL }, { "file", "filename", NULL },
        { "module", "module", NULL },     { "line", "lineno", NULL },
        { "column", "colno", NULL },      { "inApp", "in_app", NULL },
    };
    const Json *frames[FRAMES_MAX];
    size_t count = last_frames(all, frames);
    json_key(out, S("stackTrace"));
    json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(out, '{');
        read_put(out, frames[i], rows, ARRAY_LEN(rows));
        json_close(out, '}');
    }
    json_close(out, ']');
    json_key(out, S("relatedFiles"));
    json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        Str file = file_of(frames[i]);
        if (file.at && !is_named(frames, i, file))
            json_add_str(out, str_head(file, READ_TEXT_MAX));
    }
    json_close(out, ']');
}

static const ReadRow issue_rows[] = {
    { "issueId", "id", NULL },
    { "shortId", "shortId", NULL },
    { "status", "status", NULL },
    { "substatus", "substatus", NULL },
    { "priority", "priority", NULL },
    { "count", "count", NULL },
    { "userCount", "userCount", NULL },
    { "issueType", "issueType", NULL },
    { "category", "issueCategory", NULL },
    { "assignedTo", "assignedTo.name", NULL },
    { "firstSeen", "firstSeen", NULL },
    { "lastSeen", "lastSeen", NULL },
};
static const ReadRow event_rows[] = {
    { "eventId", "event_id", NULL },
    { "release", "release", NULL },
    { "user", "user.id", NULL },
    { "transaction", "transaction", NULL },
};
static const ReadRow body_rows[] = {
    { "rule", "data.triggered_rule", NULL },
    { "installation", "installation.uuid", NULL },
    { "actor", "actor.name", NULL },
};

// one_of is a text that either of the two has, the event's first.
static Str one_of(const Reading *reading, const char *path)
{
    return READ_FIRST(read_word(reading->event, path), read_word(reading->issue, path));
}

static Str context_of(const Reading *reading)
{
    static const char *const shared[] = { "level", "culprit", "platform" };
    Buf text = buf_new(reading->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put_text(&out, "resource", reading->resource);
    read_put_text(&out, "action", reading->action);
    for (size_t i = 0; i < ARRAY_LEN(shared); i++)
        read_put_text(&out, shared[i],
                      READ_FIRST(one_of(reading, shared[i]), read_text(reading->body, shared[i])));
    read_put_text(&out, "environment", environment_of(reading));
    put_project(&out, reading);
    read_put(&out, reading->issue, issue_rows, ARRAY_LEN(issue_rows));
    read_put(&out, reading->event, event_rows, ARRAY_LEN(event_rows));
    read_put(&out, reading->body, body_rows, ARRAY_LEN(body_rows));
    put_frames(&out, frames_of(reading->event));
    json_close(&out, '}');
    return buf_str(&text);
}

static Str issue_id(const Reading *reading)
{
    return READ_FIRST(read_word(reading->issue, "id"), read_word(reading->event, "issue_id"),
                      read_word(reading->event, "groupID"));
}

static Str event_id(const Reading *reading)
{
    return READ_FIRST(read_word(reading->event, "event_id"), read_word(reading->event, "eventID"));
}

// key_of: an event happens once, and so does an issue. What else is done to an issue can be done
// again, and nothing in it says when: the body tells it from the last time.
static Str key_of(const Reading *reading)
{
    Arena *arena = reading->arena;
    Str event = event_id(reading);
    Str key = STR_JOIN(arena, S("sentry:"), read_id(arena, event.at ? event : issue_id(reading)));
    bool is_once = event.at || !reading->action.at || str_eq(reading->action, S("created")) ||
                   str_eq(reading->action, S("triggered"));
    if (is_once)
        return key;
    Sha256 hash = sha256(reading->hook->body);
    return STR_JOIN(arena, key, S(":"), read_id(arena, reading->action), S(":"),
                    hex_text(arena, hash.b, HASH_DIGITS / 2));
}

static Str url_of(const Reading *reading)
{
    Str urls[] = { read_text(reading->issue, "web_url"), read_text(reading->issue, "permalink"),
                   read_text(reading->event, "web_url"), read_text(reading->event, "issue_url"),
                   read_text(reading->body, "url"),      read_text(reading->issue, "url") };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++)
        if (read_url(urls[i]).at)
            return read_url(urls[i]);
    return STR_NONE;
}

static Instant occurred(const Reading *reading)
{
    bool is_new = str_eq(reading->action, S("created"));
    const Json *times[] = {
        read_at(reading->event, "datetime"),
        read_at(reading->event, "timestamp"),
        read_at(reading->event, "dateCreated"),
        read_at(reading->event, "received"),
        read_at(reading->issue, is_new ? "firstSeen" : "lastSeen"),
        read_at(reading->issue, "firstSeen"),
    };
    return when_first(times, ARRAY_LEN(times));
}

static Str title_of(const Reading *reading)
{
    return READ_FIRST(read_text(reading->issue, "title"), read_text(reading->event, "title"),
                      read_text(reading->issue, "metadata.title"),
                      read_text(reading->event, "message"), read_text(reading->body, "message"),
                      one_of(reading, "culprit"));
}

static void read_event(const Reading *reading, ProviderRead *ret)
{
    Arena *arena = reading->arena;
    ret->events = ARENA_NEW(arena, ProviderEvent);
    ret->count = 1;
    *ret->events = (ProviderEvent){
        .provider = PROVIDER_SENTRY,
        .type = S("issue"),
        .provider_type = reading->action.at ? STR_JOIN(arena, reading->resource, S(":"),
                                                       read_id(arena, reading->action))
                                            : reading->resource,
        .occurred_at = occurred(reading),
        .dedup_key = key_of(reading),
        .title = read_title(title_of(reading)),
        .url = url_of(reading),
        .external_id = read_id(arena, issue_id(reading)),
        .context = context_of(reading),
        .raw = reading->hook->body,
    };
}

static const Json *object_at(const Json *value, const char *path)
{
    const Json *at = read_at(value, path);
    return json_type(at) == JSON_OBJECT ? at : NULL;
}

// find_told finds what a webhook tells of. The old plugin's issue is the body itself.
static void find_told(Reading *reading)
{
    const Json *body = reading->body;
    reading->issue = object_at(body, "data.issue");
    reading->event = object_at(body, "data.event");
    if (!reading->event)
        reading->event = object_at(body, "data.error");
    if (!json_get(body, S("data")) && object_at(body, "event") && read_word(body, "id").at) {
        reading->event = object_at(body, "event");
        reading->issue = body;
    }
}

static Str resource_of(const Reading *reading)
{
    Str header = hook_header_text(reading->hook, S("sentry-hook-resource"));
    if (header.len > 0)
        return str_head(header, READ_ID_MAX);
    if (object_at(reading->body, "data.error"))
        return S("error");
    return reading->issue ? S("issue") : S("event_alert");
}

// is_other: it is Sentry's, of what is no issue: a comment, a metric's alert, an installation.
static bool is_other(const Reading *reading)
{
    return hook_header_text(reading->hook, S("sentry-hook-resource")).len > 0 &&
           !str_eq(reading->resource, S("issue")) && object_at(reading->body, "data");
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    Reading reading = { .arena = arena, .hook = hook };
    if (json_parse(arena, hook->body, &reading.body, NULL) != ERR_OK ||
        json_type(reading.body) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "the body is not a JSON object");
    find_told(&reading);
    reading.resource = resource_of(&reading);
    reading.action = read_text(reading.body, "action");
    *ret = (ProviderRead){ 0 };
    if (issue_id(&reading).at || event_id(&reading).at)
        read_event(&reading, ret);
    else if (is_other(&reading))
        ret->note = STR_JOIN(arena, str_head(reading.resource, 60), S(" is of no trigger type"));
    else
        return fail(error, ERR_INVALID,
                    "the body is none of Sentry's: it has neither data.issue nor an event");
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "issue.created", "Sentry-Hook-Resource: issue",
      "{\"action\":\"created\",\"installation\":{\"uuid\":\"a8e5d37a-696c-4c54-adb5-b3f28d64c7de\"}"
      ","
      "\"data\":{\"issue\":{\"id\":\"%id%\",\"shortId\":\"WEB-1\",\"title\":\"TypeError: x is not "
      "a "
      "function\",\"culprit\":\"checkout\",\"level\":\"error\",\"status\":\"unresolved\","
      "\"platform\":"
      "\"javascript\",\"project\":{\"id\":\"1\",\"name\":\"Web\",\"slug\":\"web\"},\"firstSeen\":"
      "\"%time%\",\"lastSeen\":\"%time%\",\"web_url\":\"https://acme.sentry.io/issues/"
      "1\"}},\"actor\":"
      "{\"type\":\"application\",\"id\":\"sentry\",\"name\":\"Sentry\"}}" },
};

const Provider provider_sentry = {
    .name = PROVIDER_SENTRY,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
