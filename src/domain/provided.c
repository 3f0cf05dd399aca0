#include "domain/provided.h"

const char *const provider_ids[] = {
#define PROVIDER_ID(name, id, text) id,
    PROVIDER_TABLE(PROVIDER_ID)
#undef PROVIDER_ID
        NULL
};

static const char *const titles[] = {
#define PROVIDER_TITLE(name, id, text) text,
    PROVIDER_TABLE(PROVIDER_TITLE)
#undef PROVIDER_TITLE
};

bool provider_name_parse(Str id, ProviderName *ret)
{
    for (size_t i = 0; i < PROVIDERS; i++)
        if (str_eq(id, str_from(provider_ids[i]))) {
            *ret = (ProviderName) i;
            return true;
        }
    return false;
}

const char *provider_id_text(ProviderName name)
{
    return provider_ids[name];
}

const char *provider_title(ProviderName name)
{
    return titles[name];
}

static const Field word = { NULL, FIELD_TEXT, .max = PROVIDED_TEXT_MAX };
static const Field word_or_number = { NULL, FIELD_TEXT_OR_NUMBER, .max = PROVIDED_TEXT_MAX };
static const Field anything = { NULL, FIELD_ANY };

static const char *const linear_actions[] = { "create", "update", NULL };
static const Field linear_action = { NULL, FIELD_WORD, .words = linear_actions,
                                     .noun = "an action" };
static const char *const sentry_levels[] = { "debug", "info", "warning", "error", "fatal", NULL };

// clang-format off
#define NAMES FIELD_LIST, .max = PROVIDED_LIST_MAX, .of = &word
#define ACTIONS      { "actions", NAMES, .help = "what was done, such as opened" }
#define REPOSITORIES { "repositories", NAMES, .help = "owner/name" }
#define LABELS       { "labels", NAMES, .help = "one of them is there" }
#define CONCLUSIONS  { "conclusions", NAMES, .help = "how it ended, such as failure" }

static const Field issues_fields[] = { ACTIONS, LABELS, REPOSITORIES };
static const Field pull_request_fields[] = {
    ACTIONS, LABELS, REPOSITORIES, { "branches", NAMES, .help = "that it is to be merged into" },
};
static const Field push_fields[] = {
    REPOSITORIES, { "branches", NAMES, .help = "that was pushed to; a tag is none" },
};
static const Field check_fields[] = {
    ACTIONS, REPOSITORIES, { "branches", NAMES, .help = "that it ran for" }, CONCLUSIONS,
};
static const Field linear_fields[] = {
    { "actions", FIELD_LIST, .max = PROVIDED_LIST_MAX, .of = &linear_action },
    { "teams", NAMES, .help = "by id, key or name" },
    { "states", NAMES, .help = "by id, name or type" },
    { "priorities", FIELD_LIST, .max = PROVIDED_LIST_MAX, .of = &word_or_number, .help = "0 (none), 1 (urgent) to 4 (low), or by name" },
    { "labels", NAMES, .help = "one of them is there, by id or name" },
    { "assignees", NAMES, .help = "by id, name or e-mail address" },
    { "projects", NAMES, .help = "by id or name" },
};
static const Field sentry_fields[] = {
    { "projects", NAMES, .help = "by slug, id or name" },
    { "environments", NAMES },
    { "minLevel", FIELD_WORD, .words = sentry_levels, .noun = "a level", .help = "that level or a worse one" },
};
static const Field posthog_fields[] = {
    { "events", NAMES, .help = "by name" },
    { "properties", FIELD_MAP, .max = PROVIDED_PROPERTIES_MAX, .of = &anything,
      .help = "each with its value, or a list of which it has one" },
};
static const Field gmail_fields[] = { { "labels", NAMES, .help = "one of them is there, by id" } };

static const Shape issues_shape = { "GithubIssues", SHAPE_ROWS(issues_fields) };
static const Shape pull_request_shape = { "GithubPullRequest", SHAPE_ROWS(pull_request_fields) };
static const Shape push_shape = { "GithubPush", SHAPE_ROWS(push_fields) };
static const Shape check_shape = { "GithubChecks", SHAPE_ROWS(check_fields) };
static const Shape linear_shape = { "LinearIssue", SHAPE_ROWS(linear_fields) };
static const Shape sentry_shape = { "SentryIssue", SHAPE_ROWS(sentry_fields) };
static const Shape posthog_shape = { "PosthogEvent", SHAPE_ROWS(posthog_fields) };
static const Shape gmail_shape = { "GmailMessage", SHAPE_ROWS(gmail_fields) };
// Of what others bring nothing is known that a config could name: triggers filter it.
static const Shape nothing_shape = { "NoConfig" };

// One list serves all types of GitHub's: what a type's shape does not take is never given. What few
// triggers have in common stands first, as the sieve picks by it; what most ask for stands behind.
static const ProvidedAsk github_asks[] = {
    { "repositories", ASKED_ONE_OF, { "repository" } },
    { "branches",     ASKED_ONE_OF, { "branch" } },
    { "actions",      ASKED_ONE_OF, { "action" } },
    { "conclusions",  ASKED_ONE_OF, { "conclusion" } },
    { "labels",       ASKED_SHARES, { "labels" } },
};
static const ProvidedAsk linear_asks[] = {
    { "actions",    ASKED_ONE_OF, { "action" } },
    { "teams",      ASKED_ONE_OF, { "team.id", "team.key", "team.name" } },
    { "states",     ASKED_ONE_OF, { "state.id", "state.type", "state.name" } },
    { "priorities", ASKED_ONE_OF, { "priority", "priorityLabel" } },
    { "labels",     ASKED_SHARES, { "labelIds", "labels" } },
    { "assignees",  ASKED_ONE_OF, { "assignee.id", "assignee.email", "assignee.name" } },
    { "projects",   ASKED_ONE_OF, { "project.id", "project.name" } },
};
static const ProvidedAsk sentry_asks[] = {
    { "projects",     ASKED_ONE_OF,   { "project.id", "project.name", "project.slug" } },
    { "environments", ASKED_ONE_OF,   { "environment" } },
    { "minLevel",     ASKED_AT_LEAST, { "level" }, sentry_levels },
};
static const ProvidedAsk posthog_asks[] = {
    { "events",     ASKED_ONE_OF,     { "event" } },
    { "properties", ASKED_PROPERTIES, { "properties" } },
};
static const ProvidedAsk gmail_asks[] = { { "labels", ASKED_SHARES, { "labels" } } };

#define ASKS(asks) asks, ARRAY_LEN(asks)
#define PLAIN(provider, text) { PROVIDER_##provider, "event", text, &nothing_shape, NULL, 0 }

// By provider, in the order of their names.
static const ProvidedType types[] = {
    { PROVIDER_GITHUB, "issues", "An issue was opened, changed, labeled, closed", &issues_shape, ASKS(github_asks) },
    { PROVIDER_GITHUB, "pull_request", "A pull request was opened, changed, closed or merged", &pull_request_shape, ASKS(github_asks) },
    { PROVIDER_GITHUB, "push", "Commits or a tag were pushed", &push_shape, ASKS(github_asks) },
    { PROVIDER_GITHUB, "check_suite", "A suite of checks was asked for or ended", &check_shape, ASKS(github_asks) },
    { PROVIDER_GITHUB, "check_run", "A check began or ended", &check_shape, ASKS(github_asks) },
    { PROVIDER_GITHUB, "workflow_run", "A run of a workflow began or ended", &check_shape, ASKS(github_asks) },
    { PROVIDER_LINEAR, "issue", "An issue was made or changed", &linear_shape, ASKS(linear_asks) },
    { PROVIDER_SENTRY, "issue", "An issue was found, changed, or an alert told of one", &sentry_shape, ASKS(sentry_asks) },
    { PROVIDER_POSTHOG, "event", "An event was captured", &posthog_shape, ASKS(posthog_asks) },
    { PROVIDER_GMAIL, "message", "A mail came", &gmail_shape, ASKS(gmail_asks) },
    PLAIN(NANGO, "Something of an integration that Peal has no parser for"),
    PLAIN(COMPOSIO, "Something of an integration that Peal has no parser for"),
    PLAIN(SLACK, "An event, a command or an interaction"),
    PLAIN(STRIPE, "An event of an account"),
    PLAIN(JIRA, "Something happened to an issue, a comment or a project"),
    PLAIN(STANDARD_WEBHOOKS, "A message by the Standard Webhooks specification"),
    PLAIN(GENERIC, "Whatever is posted to the source"),
};
// clang-format on

const ProvidedType *provided_types(ProviderName provider, size_t *ret_count)
{
    const ProvidedType *first = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].provider == provider) {
            first = first ? first : &types[i];
            ++*ret_count;
        }
    return first;
}

const ProvidedType *provided_type(ProviderName provider, Str id)
{
    size_t count;
    const ProvidedType *first = provided_types(provider, &count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(id, str_from(first[i].id)))
            return &first[i];
    return NULL;
}

static void check_property(const Members *map, Str property, const Json *value)
{
    JsonType type = json_type(value);
    if (property.len == 0 || property.len > PROVIDED_TEXT_MAX / 2 || !str_is_printable(property) ||
        members_path_problem(property))
        members_note(map, property, "bad-path", "is no name of a property");
    if (type == JSON_OBJECT || type == JSON_NULL)
        members_note(map, property, "bad-type",
                     "must be a string, a number, true, false or a list of these, not %s",
                     json_type_name(type));
    for (JsonIter it = json_each(value); type == JSON_ARRAY && json_next(&it);)
        if (json_type(it.value) >= JSON_ARRAY || json_type(it.value) == JSON_NULL)
            members_note(map, property, "bad-value", "has %s among its values",
                         json_type_name(json_type(it.value)));
}

bool provided_check(Arena *arena, const ProvidedType *type, const Json *config, Str pointer,
                    Error *error)
{
    if (!fields_note(arena, config, pointer, type->config, NULL, error))
        return false;
    Members members = members_open(config, pointer, error);
    for (size_t i = 0; i < type->ask_count; i++) {
        if (type->asks[i].asked != ASKED_PROPERTIES)
            continue;
        Str name = str_from(type->asks[i].member);
        const Json *map = members_get(&members, type->asks[i].member);
        Members inside = members_open(map, members_pointer(&members, name), error);
        for (JsonIter it = json_each(map); json_type(map) == JSON_OBJECT && json_next(&it);)
            check_property(&inside, it.key, it.value);
    }
    return true;
}

// put_leaf writes a leaf that asks for value, which is JSON, below an event's context.
static void put_leaf(JsonOut *out, Arena *arena, Str path, const char *op, Str value)
{
    json_open(out, '{');
    json_put_str(out, S("path"), STR_JOIN(arena, S("candidate.context."), path));
    json_put_str(out, S("op"), str_from(op));
    json_put_raw(out, S("value"), value);
    json_close(out, '}');
}

static const Json *made(Arena *arena, Str text)
{
    const Json *json = NULL;
    Err err = json_parse(arena, text, &json, NULL);
    assert(err == ERR_OK);
    return json;
}

// any_of asks for value at one of the ask's paths.
static const Json *any_of(Arena *arena, const ProvidedAsk *ask, Str value)
{
    const char *op = ask->asked == ASKED_SHARES ? FILTER_SHARES : "in";
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    if (!ask->paths[1]) {
        put_leaf(&out, arena, str_from(ask->paths[0]), op, value);
        return made(arena, buf_str(&text));
    }
    json_open(&out, '{');
    json_key(&out, S("any"));
    json_open(&out, '[');
    for (size_t i = 0; i < PROVIDED_PATHS_MAX && ask->paths[i]; i++)
        put_leaf(&out, arena, str_from(ask->paths[i]), op, value);
    json_close(&out, ']');
    json_close(&out, '}');
    return made(arena, buf_str(&text));
}

// words_from lists a word and those behind it.
static Str words_from(Arena *arena, const char *const *words, Str from)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    bool is_asked = false;
    json_open(&out, '[');
    for (size_t i = 0; words[i]; i++) {
        is_asked |= str_eq(from, str_from(words[i]));
        if (is_asked)
            json_add_str(&out, str_from(words[i]));
    }
    json_close(&out, ']');
    return buf_str(&text);
}

static FilterPart property_part(Arena *arena, const ProvidedAsk *ask, const Members *map, Str name,
                                const Json *value)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    Str path = STR_JOIN(arena, str_from(ask->paths[0]), S("."), name);
    put_leaf(&out, arena, path,
             json_type(value) == JSON_ARRAY ? "in" : "==", json_text(arena, value));
    return (FilterPart){ made(arena, buf_str(&text)), members_pointer(map, name), true };
}

static size_t property_parts(Arena *arena, const ProvidedAsk *ask, const Json *map, Str pointer,
                             FilterPart *ret)
{
    Error unused = { .arena = arena };
    Members members = members_open(map, pointer, &unused);
    size_t count = 0;
    for (JsonIter it = json_each(map); count < PROVIDED_PROPERTIES_MAX && json_next(&it);)
        ret[count++] = property_part(arena, ask, &members, it.key, it.value);
    return count;
}

// ask_parts makes what one member asks for; an empty list asks nothing.
static size_t ask_parts(Arena *arena, const ProvidedAsk *ask, const Json *value, FilterPart *ret)
{
    Str pointer = STR_JOIN(arena, S("/config/"), str_from(ask->member));
    switch (ask->asked) {
    case ASKED_ONE_OF:
    case ASKED_SHARES:
        if (json_count(value) == 0)
            return 0;
        *ret = (FilterPart){ any_of(arena, ask, json_text(arena, value)), pointer, true };
        return 1;
    case ASKED_AT_LEAST:
        *ret = (FilterPart){ any_of(arena, ask, words_from(arena, ask->words, json_str(value))),
                             pointer, true };
        return 1;
    case ASKED_PROPERTIES:
        return property_parts(arena, ask, value, pointer, ret);
    }
    return 0;
}

size_t provided_parts(Arena *arena, const ProvidedType *type, const Json *config,
                      FilterPart ret[PROVIDED_PARTS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < type->ask_count; i++) {
        const Json *value = json_get(config, str_from(type->asks[i].member));
        if (value && json_type(value) != JSON_NULL)
            count += ask_parts(arena, &type->asks[i], value, ret + count);
    }
    return count;
}
