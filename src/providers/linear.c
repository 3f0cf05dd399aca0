// linear.c - Linear: webhooks of issues. What is polled is linear_poll.c's.
//
// The signature is over the body, and the time of sending stands in it: what was signed more than a
// minute ago is a replay. (A header has the time as well, but it is not signed.)
#include "providers/linear.h"

#include "base/time.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"
#include "providers/when.h"

#define REPLAY_WINDOW SPAN_MINUTE

static const SignForm signature = { HMAC_SHA256, SIGN_HEX, S("linear-signature"), STR_NONE };

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    const Json *body;
    Str mended;
    HookVerdict verdict = sign_check(arena, hook, trust, &signature);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    // Only what its sender signed is read here.
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK &&
        (!json_mend(arena, hook->body, &mended) ||
         json_parse(arena, mended, &body, NULL) != ERR_OK))
        return HOOK_UNREADABLE;
    return sign_age(when_read(read_at(body, "webhookTimestamp")), hook->at, REPLAY_WINDOW,
                    REPLAY_WINDOW);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return sign_body(arena, &signature, hook, secret, ret);
}

static Str identify(Arena *arena, const Hook *hook)
{
    return read_id(arena, hook_header_text(hook, S("linear-delivery")));
}

static const ReadRow issue_rows[] = {
    { "id", "id", NULL },
    { "number", "number", NULL },
    { "description", "description", NULL },
    { "priority", "priority", NULL },
    { "priorityLabel", "priorityLabel", NULL },
    { "estimate", "estimate", NULL },
    { "dueDate", "dueDate", NULL },
    { "labels", "labels", "name" },
    { "parentId", "parentId", NULL },
    { "creatorId", "creatorId", NULL },
};

// What an issue names is told by all that may be asked for; where only its id is there, by that.
static const struct {
    const char *name, *id;
} named[] = {
    { "team", "teamId" },       { "state", "stateId" }, { "assignee", "assigneeId" },
    { "project", "projectId" }, { "cycle", "cycleId" },
};

static void put_named(JsonOut *out, const Json *issue, const char *name, const char *id)
{
    static const ReadRow rows[] = {
        { "key", "key", NULL },
        { "name", "name", NULL },
        { "type", "type", NULL },
        { "email", "email", NULL },
    };
    const Json *value = read_at(issue, name);
    Str own = READ_FIRST(read_word(value, "id"), read_word(issue, id));
    if (!own.at && json_type(value) != JSON_OBJECT)
        return;
    json_key(out, str_from(name));
    json_open(out, '{');
    read_put_text(out, "id", own);
    read_put(out, value, rows, ARRAY_LEN(rows));
    json_close(out, '}');
}

static Str identifier_of(Arena *arena, const Json *issue)
{
    Str identifier = read_text(issue, "identifier");
    Str key = read_text(issue, "team.key"), number = read_word(issue, "number");
    if (!identifier.at && key.at && number.at)
        return STR_JOIN(arena, key, S("-"), number);
    return READ_FIRST(identifier, read_word(issue, "id"));
}

static Str context_of(Arena *arena, const Json *issue, Str action)
{
    static const ReadRow given_ids[] = { { "labelIds", "labelIds", "" } };
    static const ReadRow ids_of_labels[] = { { "labelIds", "labels", "id" } };
    bool has_ids = json_type(json_get(issue, S("labelIds"))) == JSON_ARRAY;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    read_put_text(&out, "action", action);
    read_put_text(&out, "identifier", identifier_of(arena, issue));
    read_put(&out, issue, issue_rows, ARRAY_LEN(issue_rows));
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        put_named(&out, issue, named[i].name, named[i].id);
    read_put(&out, issue, has_ids ? given_ids : ids_of_labels, 1);
    json_close(&out, '}');
    return buf_str(&text);
}

static Str key_of(Arena *arena, Str id, Str action, Instant updated)
{
    char time[TIME_TEXT_MAX];
    Str key = STR_JOIN(arena, S("linear:"), id, S(":"), action);
    if (str_eq(action, S("create")) || updated == INSTANT_NONE)
        return key;
    return STR_JOIN(arena, key, S(":"), time_text(updated, time));
}

bool linear_issue(Arena *arena, const Json *issue, Str action, ProviderEvent *ret)
{
    Str id = read_id(arena, read_word(issue, "id"));
    if (!id.at)
        return false;
    bool is_new = str_eq(action, S("create"));
    Instant updated = when_read(read_at(issue, "updatedAt"));
    Instant created = when_read(read_at(issue, "createdAt"));
    *ret = (ProviderEvent){
        .provider = PROVIDER_LINEAR,
        .type = S("issue"),
        .provider_type = STR_JOIN(arena, S("Issue:"), action),
        .occurred_at =
            (is_new && created != INSTANT_NONE) || updated == INSTANT_NONE ? created : updated,
        .dedup_key = key_of(arena, id, action, updated),
        .title = read_title(read_text(issue, "title")),
        .url = read_url(read_text(issue, "url")),
        .external_id = read_id(arena, identifier_of(arena, issue)),
        .context = context_of(arena, issue, action),
    };
    return true;
}

// changed_in adds to a context which members an update changed, as its webhook tells.
static Str changed_in(Arena *arena, Str context, const Json *before)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    if (json_type(before) != JSON_OBJECT)
        return context;
    buf_add(&text, (Str){ context.at, context.len - 1 });
    JsonOut out = { .buf = &text, .more = true };
    json_key(&out, S("changed"));
    json_open(&out, '[');
    // The update time always changes.
    for (JsonIter it = json_each(before); it.index < READ_LIST_MAX && json_next(&it);)
        if (!str_eq(it.key, S("updatedAt")))
            json_add_str(&out, str_head(it.key, READ_ID_MAX));
    json_close(&out, ']');
    json_close(&out, '}');
    return buf_str(&text);
}

static Err read_issue(Arena *arena, const Json *body, Str action, ProviderRead *ret, Error *error)
{
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    if (!linear_issue(arena, json_get(body, S("data")), action, event))
        return fail(error, ERR_INVALID, "Linear's issue has no id");
    if (!event->url.at)
        event->url = read_url(read_text(body, "url"));
    event->context = changed_in(arena, event->context, json_get(body, S("updatedFrom")));
    ret->events = event;
    ret->count = 1;
    return ERR_OK;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK || json_type(body) != JSON_OBJECT)
        return fail(error, ERR_INVALID, "the body is not a JSON object");
    Str type = READ_FIRST(read_text(body, "type"), hook_header_text(hook, S("linear-event")));
    Str action = read_text(body, "action");
    *ret = (ProviderRead){ 0 };
    if (!type.at || !action.at)
        return fail(error, ERR_INVALID,
                    "the body is none of Linear's: it has no type or no action");
    if (!str_eq(type, S("Issue"))) {
        ret->note = str_format(arena, "%.*s is of no trigger type", STR_ARG(str_head(type, 60)));
        return ERR_OK;
    }
    if (!str_eq(action, S("create")) && !str_eq(action, S("update"))) {
        ret->note = STR_JOIN(arena, S("action "), str_head(action, 60));
        return ERR_OK;
    }
    TRY(read_issue(arena, body, action, ret, error));
    ret->events->raw = hook->body;
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "Issue.create", "Linear-Event: Issue",
      "{\"action\":\"create\",\"type\":\"Issue\",\"createdAt\":\"%time%\",\"data\":{"
      "\"id\":\"2174add1-f7c8-44e3-bbf3-%id%\",\"identifier\":\"WEB-44\",\"number\":44,"
      "\"title\":\"The page is blank\",\"priority\":2,\"priorityLabel\":\"High\",\"createdAt\":"
      "\"%time%\",\"updatedAt\":\"%time%\",\"state\":{\"id\":"
      "\"s-1\",\"name\":\"Todo\",\"type\":\"unstarted\"},\"team\":{\"id\":\"t-1\",\"key\":\"WEB\","
      "\"name\":\"Web\"},\"labels\":[{\"id\":\"l-1\",\"name\":\"Bug\"}],\"labelIds\":[\"l-1\"]},"
      "\"url\":\"https://linear.app/acme/issue/WEB-44\",\"webhookTimestamp\":%now%}" },
};

const Provider provider_linear = {
    .name = PROVIDER_LINEAR,
    .ways = PROVIDER_WEBHOOK | PROVIDER_POLLING,
    .verify = verify,
    .identify = identify,
    .parse = parse,
    .sign = sign,
    .poll_every = SPAN_MINUTE,
    .poll_scope = "teams",
    .poll_ask = linear_poll_ask,
    .poll_read = linear_poll_read,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
