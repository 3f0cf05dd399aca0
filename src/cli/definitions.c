// Definitions: triggers, templates, lists, channels, jobs, surveys, keys and tenants. They share
// their verbs; a row of nouns[] is what tells them apart.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/definitions.h"
#include "cli/dry.h"
#include "cli/input.h"

enum { BODY_BYTES_MAX = 16 * 1024 * 1024 };

static const Column trigger_columns[] = {
    { "ID", "id" },
    { "ENABLED", "enabled" },
    { "EVENT KIND", "eventKind" },
    { "PROVIDER", "provider" },
    { "TYPE", "type" },
    { "CHANNEL", "channel" },
    { "AUTOMATION", "automation" },
    { "VERSION", "version" },
    { "ORIGIN", "origin.file" },
};

static const Column template_columns[] = {
    { "ID", "id" },
    { "NAME", "name" },
    { "ACTIVE", "active" },
    { "CHANNEL", "channel" },
    { "LANGUAGE", "language" },
    { "EVENT TYPE", "eventType" },
    { "ORIGIN", "origin.file" },
};

static const Column list_columns[] = {
    { "ID", "id" },
    { "NAME", "name" },
    { "VERSION", "version" },
    { "ORIGIN", "origin.file" },
};

static const Column channel_columns[] = {
    { "KEY", "key" },
    { "TYPE", "type" },
    { "ENABLED", "enabled" },
    { "VERSION", "version" },
    { "CIRCUIT", "health.circuit" },
    { "SINCE", "health.since" },
    { "NEXT PROBE", "health.nextProbeAt" },
    { "PAUSED UNTIL", "health.pausedUntil" },
    { "LAST ERROR", "health.lastError" },
    { "ORIGIN", "origin.file" },
};

static const Column key_columns[] = {
    { "ID", "id" },     { "TENANT", "tenant" },     { "ROLE", "role" },
    { "NAME", "name" }, { "EXPIRES", "expiresAt" }, { "SESSION OF", "sessionOf" },
};

static const Column tenant_columns[] = { { "ID", "id" }, { "NAME", "name" } };

typedef struct Noun {
    const char *command; // the command's name, in the plural
    const char *word;    // in the singular
    const char *path;
    const char *id; // the member that names a row
    const Column *columns;
    size_t column_count;
} Noun;

static const Column source_columns[] = {
    { "ID", "id" },
    { "PROVIDER", "provider" },
    { "INTEGRATION", "integration" },
    { "URL", "url" },
    { "ENABLED", "enabled" },
    { "VERSION", "version" },
    { "ORIGIN", "origin.file" },
};
static const Column integration_columns[] = {
    { "ID", "id" },
    { "PROVIDER", "provider" },
    { "ENABLED", "enabled" },
    { "STATUS", "status" },
    { "REASON", "statusReason" },
    { "CONNECTION", "connectionId" },
    { "INSTALLATION", "installationId" },
    { "ORIGIN", "origin.file" },
};
static const Column automation_columns[] = {
    { "ID", "id" },
    { "NAME", "name" },
    { "ENABLED", "enabled" },
    { "HANDLER", "handler" },
    { "LAST RESULT", "lastResult" },
    { "LAST RUN", "lastRunAt" },
    { "NEXT RUN", "nextRunAt" },
    { "DEAD", "dead" },
    { "ORIGIN", "origin.file" },
};

static const Column survey_columns[] = {
    { "ID", "id" },
    { "DRAFT", "version" },
    { "PUBLISHED", "publishedVersion" },
    { "AT", "publishedAt" },
};

static const Column job_columns[] = {
    { "NAME", "name" },          { "ENABLED", "enabled" },    { "CRON", "cron" },
    { "ZONE", "zone" },          { "HANDLER", "handler" },    { "LAST RESULT", "lastResult" },
    { "LAST RUN", "lastRunAt" }, { "NEXT RUN", "nextRunAt" }, { "DEAD", "dead" },
    { "ORIGIN", "origin.file" },
};
// clang-format off
static const Noun nouns[] = {
    { "automations", "automation", "/v1/automations", "id", automation_columns, ARRAY_LEN(automation_columns) },
    { "jobs",     "job",     "/v1/jobs",     "name", job_columns,    ARRAY_LEN(job_columns) },
    { "triggers", "trigger", "/v1/triggers", "id",  trigger_columns, ARRAY_LEN(trigger_columns) },
    { "integrations", "integration", "/v1/integrations", "id", integration_columns, ARRAY_LEN(integration_columns) },
    { "sources",  "source",  "/v1/sources",  "id",  source_columns,  ARRAY_LEN(source_columns) },
    { "templates", "template", "/v1/templates", "id", template_columns, ARRAY_LEN(template_columns) },
    { "surveys",  "survey",  "/v1/surveys",  "id",  survey_columns,  ARRAY_LEN(survey_columns) },
    { "lists",    "list",    "/v1/lists",    "id",  list_columns,    ARRAY_LEN(list_columns) },
    { "channels", "channel", "/v1/channels", "key", channel_columns, ARRAY_LEN(channel_columns) },
    { "keys",     "key",     "/v1/keys",     "id",  key_columns,     ARRAY_LEN(key_columns) },
    { "tenants",  "tenant",  "/v1/tenants",  "id",  tenant_columns,  ARRAY_LEN(tenant_columns) },
};
// clang-format on

static const Noun *noun_of(const CommandArgs *args)
{
    size_t i = 0;
    while (strcmp(nouns[i].command, args_command(args)->name) != 0) {
        i++;
        assert(i < ARRAY_LEN(nouns)); // every command of this file has its row
    }
    return &nouns[i];
}

int noun_list(CommandArgs *args)
{
    const Noun *noun = noun_of(args);
    ClientList wanted = {
        .path = str_from(noun->path),
        .options = "",
        .columns = noun->columns,
        .column_count = noun->column_count,
        .noun = noun->command,
    };
    return client_list(args, &wanted);
}

int noun_show(CommandArgs *args)
{
    const Noun *noun = noun_of(args);
    return client_show(args, client_path(args_arena(args), noun->path, args_word(args, 0), NULL),
                       noun->command);
}

static const Column version_columns[] = {
    { "VERSION", "version" },
    { "AT", "at" },
    { "KEY", "actor" },
    { "ORIGIN", "origin.file" },
};

// kept lists what a definition ever said, or shows one of that.
static int kept(CommandArgs *args, const char *word)
{
    const Noun *noun = noun_of(args);
    Arena *arena = args_arena(args);
    Str path = client_path(arena, noun->path, args_word(args, 0), word);
    if (args_count(args) > 1)
        return client_show(args, client_path(arena, str_z(arena, path), args_word(args, 1), NULL),
                           noun->command);
    ClientList wanted = {
        .path = path,
        .options = "",
        .columns = version_columns,
        .column_count = ARRAY_LEN(version_columns),
        .noun = word,
    };
    return client_list(args, &wanted);
}

int noun_versions(CommandArgs *args)
{
    return kept(args, "versions");
}

int noun_drafts(CommandArgs *args)
{
    return kept(args, "drafts");
}

// show_secret shows what a source has that was just made, which is shown this once.
static void show_secret(Arena *arena, const Json *row)
{
    Str secret = json_str(json_get(row, S("secret")));
    if (!secret.at)
        return;
    printf("url     %.*s\nsecret  %.*s\n", STR_ARG(output_value(arena, json_get(row, S("url")))),
           STR_ARG(output_clean(arena, secret)));
    fprintf(stderr, "The secret is shown this once: keep it now.\n");
}

// change sends a definition and says in one line what became of it.
static int change(const Client *client, const char *method, Str path, Str body, const char *done)
{
    const Noun *noun = noun_of(client->args);
    Answer answer = { 0 };
    int status = client_call(client, method, path, body, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client->json) {
        if (answer.text.len > 0)
            output_json(answer.text);
        return EXIT_DONE;
    }
    const Json *version = json_get(answer.json, S("version"));
    Str id = json_str(json_get(answer.json, str_from(noun->id)));
    if (id.len == 0)
        id = str_from(args_word(client->args, 0));
    printf("%s %s %.*s", done, noun->word, STR_ARG(output_clean(client->arena, id)));
    if (version)
        printf(", version %.*s", STR_ARG(output_value(client->arena, version)));
    printf(".\n");
    show_secret(client->arena, answer.json);
    return EXIT_DONE;
}

static int read_definition(const CommandArgs *args, Input *ret)
{
    const char *file = args_option(args, "file");
    if (!file)
        return args_usage(args, "The definition is missing: -f FILE, or -f - for standard input");
    return input_json_file(args_arena(args), file, ret);
}

int noun_create_of(CommandArgs *args, Str body)
{
    Client client = client_open(args);
    return change(&client, "POST", str_from(noun_of(args)->path), body, "Created");
}

int noun_create(CommandArgs *args)
{
    Input definition = { 0 };
    int status = read_definition(args, &definition);
    return status == EXIT_DONE ? noun_create_of(args, definition.text) : status;
}

int noun_update(CommandArgs *args)
{
    const Noun *noun = noun_of(args);
    Client client = client_open(args);
    Input definition = { 0 };
    int status = read_definition(args, &definition);
    if (status != EXIT_DONE)
        return status;
    client.lists_with = noun->command;
    client.if_match = str_from(args_option(args, "if-version"));
    return change(&client, "PUT", client_path(client.arena, noun->path, args_word(args, 0), NULL),
                  definition.text, "Updated");
}

int noun_delete(CommandArgs *args)
{
    const Noun *noun = noun_of(args);
    Client client = client_open(args);
    client.lists_with = noun->command;
    return change(&client, "DELETE",
                  client_path(client.arena, noun->path, args_word(args, 0), NULL), STR_NONE,
                  "Deleted");
}

// patch changes members of a row: body is a merge patch.
static int patch(CommandArgs *args, Str body, const char *done)
{
    const Noun *noun = noun_of(args);
    Client client = client_open(args);
    client.lists_with = noun->command;
    client.if_match = str_from(args_option(args, "if-version"));
    return change(&client, "PATCH", client_path(client.arena, noun->path, args_word(args, 0), NULL),
                  body, done);
}

// Setting is NAME=VALUE, or what is left of it below a name: a.b=1 is b=1 below a.
typedef struct Setting {
    Str path, value;
    bool is_put;
} Setting;

// put_value writes what is JSON as it is, and anything else as a text.
static void put_value(JsonOut *out, Arena *arena, Str value)
{
    const Json *json;
    if (json_parse(arena, value, &json, NULL) == ERR_OK)
        json_add_raw(out, value);
    else
        json_add_str(out, value);
}

// take_below gathers the settings below a name and marks them as put.
static size_t take_below(Str name, Setting *settings, size_t count, Setting *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        Str rest = settings[i].path, first = str_cut(&rest, '.');
        if (!rest.at || !str_eq(first, name))
            continue;
        ret[found++] = (Setting){ rest, settings[i].value, false };
        settings[i].is_put = true;
    }
    return found;
}

// put_settings writes settings as an object. It calls itself for each name of a path.
static void put_settings(JsonOut *out, Arena *arena, Setting *settings, size_t count)
{
    json_open(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (settings[i].is_put)
            continue;
        Str rest = settings[i].path, name = str_cut(&rest, '.');
        json_key(out, name);
        if (!rest.at) {
            put_value(out, arena, settings[i].value);
            continue;
        }
        Setting *below = ARENA_ARRAY(arena, Setting, count);
        put_settings(out, arena, below, take_below(name, settings, count, below));
    }
    json_close(out, '}');
}

int noun_set(CommandArgs *args)
{
    Arena *arena = args_arena(args);
    size_t count = args_count(args) - 1;
    Setting *settings = ARENA_ARRAY(arena, Setting, count);
    Buf body = buf_new(arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    for (size_t i = 0; i < count; i++) {
        Str value = str_from(args_word(args, i + 1)), path = str_cut(&value, '=');
        if (!value.at || path.len == 0)
            return args_usage(args, "%s is no NAME=VALUE", args_word(args, i + 1));
        settings[i] = (Setting){ path, value, false };
    }
    put_settings(&out, arena, settings, count);
    return patch(args, buf_str(&body), "Changed");
}

static int set_enabled(CommandArgs *args, bool enabled)
{
    return patch(args, enabled ? S("{\"enabled\":true}") : S("{\"enabled\":false}"),
                 enabled ? "Enabled" : "Disabled");
}

static int enable(CommandArgs *args)
{
    return set_enabled(args, true);
}

static int disable(CommandArgs *args)
{
    return set_enabled(args, false);
}

static void put_option(JsonOut *out, const CommandArgs *args, const char *option,
                       const char *member)
{
    const char *value = args_option(args, option);
    if (value)
        json_put_str(out, str_from(member), str_from(value));
}

// put_change writes an option into a merge patch; none is its word for "take it away".
static void put_change(JsonOut *out, const CommandArgs *args, const char *option,
                       const char *member, const char *none)
{
    const char *value = args_option(args, option);
    if (value && strcmp(value, none) == 0)
        json_put_null(out, str_from(member));
    else
        put_option(out, args, option, member);
}

// put_handlers writes the handlers that a key is limited to, by commas; an empty one: to none.
static void put_handlers(JsonOut *out, const CommandArgs *args)
{
    const char *value = args_option(args, "handlers");
    Str rest = str_from(value);
    if (!value)
        return;
    json_key(out, S("handlers"));
    if (rest.len == 0) {
        json_add_null(out);
        return;
    }
    json_open(out, '[');
    while (rest.len > 0)
        json_add_str(out, str_cut(&rest, ','));
    json_close(out, ']');
}

static int set_key(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    put_option(&out, args, "role", "role");
    put_change(&out, args, "site", "site", "");
    put_handlers(&out, args);
    put_change(&out, args, "name", "name", "");
    put_change(&out, args, "expires-at", "expiresAt", "never");
    json_close(&out, '}');
    if (str_eq(buf_str(&body), S("{}")))
        return args_usage(
            args, "Say what is to change: --role, --site, --handlers, --name or --expires-at");
    return patch(args, buf_str(&body), "Changed");
}

static int set_tenant(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    if (!args_option(args, "name"))
        return args_usage(args, "The tenant's new name is missing: --name NAME");
    json_open(&out, '{');
    put_change(&out, args, "name", "name", "");
    json_close(&out, '}');
    return patch(args, buf_str(&body), "Changed");
}

static int create_key(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    if (!args_option(args, "role"))
        return args_usage(args, "The key's role is missing: --role admin, operator, author, "
                                "ingest, worker, site, read, audit-export or operations");
    Buf body = buf_new(client.arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    put_option(&out, args, "tenant", "tenant");
    put_option(&out, args, "role", "role");
    put_option(&out, args, "site", "site");
    put_handlers(&out, args);
    put_option(&out, args, "name", "name");
    put_option(&out, args, "expires-at", "expiresAt");
    json_close(&out, '}');
    int status = client_call(&client, "POST", S("/v1/keys"), buf_str(&body), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    Str id = output_value(client.arena, json_get(answer.json, S("id")));
    Str key = output_value(client.arena, json_get(answer.json, S("key")));
    printf("%.*s\n", STR_ARG(key)); // alone, so that it can be sent to a file
    fprintf(stderr, "Created key %.*s. It is shown this once: keep it now.\n", STR_ARG(id));
    return EXIT_DONE;
}

// send_rotation shows what was made of it; made is the member with a secret that Peal made.
static int send_rotation(CommandArgs *args, const Buf *body, Str made)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = noun_of(args)->command;
    Str path = client_path(client.arena, noun_of(args)->path, args_word(args, 0), "rotate");
    int status = client_call(&client, "POST", path, buf_str(body), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    output_fields(client.arena, answer.json);
    if (json_get(answer.json, made))
        fprintf(stderr, "The secret is shown this once: keep it now.\n");
    return EXIT_DONE;
}

static int rotate(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    json_put_str(&out, S("secret"), str_from(args_word(args, 1)));
    put_option(&out, args, "value", "value");
    put_option(&out, args, "overlap", "overlap");
    json_close(&out, '}');
    return send_rotation(args, &body, S("value"));
}

// try_channel sends a test, and says where to look.
static int try_channel(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    Buf body = buf_new(client.arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    client.lists_with = "channels";
    json_open(&out, '{');
    if (args_count(args) > 1)
        json_put_str(&out, S("target"), str_from(args_word(args, 1)));
    put_option(&out, args, "subject", "subject");
    put_option(&out, args, "body", "body");
    json_close(&out, '}');
    int status = client_call(&client, "POST",
                             client_path(client.arena, "/v1/channels", args_word(args, 0), "test"),
                             buf_str(&body), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    Str id = output_clean(client.arena, json_str(json_get(answer.json, S("deliveryId"))));
    printf("Delivery %.*s; see: peal deliveries attempts %.*s\n", STR_ARG(id), STR_ARG(id));
    return EXIT_DONE;
}

static int rotate_source(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    put_option(&out, args, "secret", "secret");
    put_option(&out, args, "overlap", "overlap");
    json_close(&out, '}');
    return send_rotation(args, &body, S("secret"));
}

static int create_tenant(CommandArgs *args)
{
    Client client = client_open(args);
    Buf body = buf_new(client.arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    json_put_str(&out, S("id"), str_from(args_word(args, 0)));
    put_option(&out, args, "name", "name");
    json_close(&out, '}');
    return change(&client, "POST", S("/v1/tenants"), buf_str(&body), "Created");
}

static const Column trigger_event_columns[] = {
    { "ID", "id" },
    { "STATUS", "status" },
    { "SKIPPED", "skipReason" },
    { "KEY", "dedupKey" },
    { "TYPE", "providerEventType" },
    { "TITLE", "title" },
    { "OCCURRED", "occurredAt" },
    { "SESSION", "sessionId" },
};

// trigger_events lists what a trigger made of events.
static int trigger_events(CommandArgs *args)
{
    ClientList wanted = {
        .path = client_path(args_arena(args), "/v1/triggers", args_word(args, 0), "events"),
        .options = "",
        .columns = trigger_event_columns,
        .column_count = ARRAY_LEN(trigger_event_columns),
        .noun = "trigger events",
    };
    return client_list(args, &wanted);
}

static int trigger_skip(CommandArgs *args)
{
    Client client = client_open(args);
    client.lists_with = "triggers";
    return client_act(&client, "/v1/trigger-events", "skip");
}

static const CommandVerb triggers_verbs[] = {
    NOUN_VERBS("an ID"),
    NOUN_VERSIONS("an ID"),
    { "events", "an ID", 1, 1, "limit cursor", trigger_events },
    { "skip", "IDs of trigger events", 1, SIZE_MAX, "", trigger_skip },
    { "test", "an ID", 1, 1, "event event-id", trigger_try },
    { "enable", "an ID", 1, 1, "", enable },
    { "disable", "an ID", 1, 1, "", disable },
    { 0 },
};

static const CommandVerb templates_verbs[] = {
    NOUN_VERBS("an ID"),
    NOUN_VERSIONS("an ID"),
    { 0 },
};

static const CommandVerb sources_verbs[] = {
    NOUN_VERBS("an ID"),
    NOUN_VERSIONS("an ID"),
    { "rotate", "an ID", 1, 1, "secret overlap", rotate_source },
    { 0 },
};

static const CommandVerb channels_verbs[] = {
    NOUN_VERBS("a KEY"),
    NOUN_VERSIONS("a KEY"),
    { "rotate", "a KEY and a SECRET", 2, 2, "value overlap", rotate },
    { "test", "a KEY and a TARGET", 1, 2, "subject body", try_channel },
    { 0 },
};

static const CommandVerb keys_verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", noun_list },
    { "show", "an ID", 1, 1, "", noun_show },
    { "create", NULL, 0, 0, "role site handlers tenant name expires-at", create_key },
    { "set", "an ID", 1, 1, "role site handlers name expires-at", set_key },
    { "delete", "an ID", 1, 1, "", noun_delete },
    { "revoke", "an ID", 1, 1, "", noun_delete },
    { 0 },
};

static const CommandVerb tenants_verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", noun_list },
    { "show", "an ID", 1, 1, "", noun_show },
    { "create", "an ID", 1, 1, "name", create_tenant },
    { "set", "an ID", 1, 1, "name", set_tenant },
    { "delete", "an ID", 1, 1, "", noun_delete },
    { 0 },
};

static const CommandOption definition_options[] = {
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption trigger_options[] = {
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    { "event", "FILE", "an event as JSON, to test with; - for standard input" },
    { "event-id", "ID", "a stored event, to test with" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption source_options[] = {
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    { "secret", "SECRET", "the new secret; one is made where none is given" },
    { "overlap", "SPAN", "so long the last secret stays good; 24h unless said" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption channel_options[] = {
    { "subject", "TEXT", "of a test" },
    { "body", "TEXT", "what a test says" },
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    { "value", "VALUE", "the new secret; a signing secret is made where none is given" },
    { "overlap", "SPAN", "so long the last signing secret stays good; 24h unless said" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption key_options[] = {
    { "role", "ROLE", "admin operator author ingest worker site read audit-export operations" },
    { "site", "NAME", "whose key it is, with the role site" },
    { "handlers", "KEYS", "by commas: those that a worker's key is limited to; else all" },
    { "tenant", "ID", "the tenant that it opens; else yours" },
    { "name", "NAME", "what it is for" },
    { "expires-at", "T", "when it ends, such as 2027-01-01T00:00:00Z, or never; else never" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption tenant_options[] = {
    { "name", "NAME", "what it is called" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_triggers = {
    .name = "triggers",
    .usage = "triggers [list]\n"
             "triggers show ID\n"
             "triggers versions ID [VERSION]\n"
             "triggers create -f FILE\n"
             "triggers update ID -f FILE [--if-version N]\n"
             "triggers set ID NAME=VALUE... [--if-version N]\n"
             "triggers delete|enable|disable ID\n"
             "triggers events ID\n"
             "triggers skip EVENT...\n"
             "triggers test ID --event FILE|--event-id ID",
    .summary = "Say what follows from which events",
    .details =
        "set changes the members that it names; a.b is member b of a. A VALUE is JSON, or\n"
        "else a text; null takes a member away.\n"
        "\n"
        "events lists what a trigger made of events, newest first; skip skips what is still\n"
        "queued of that. See docs/automations.md.\n"
        "\n"
        "test says what a trigger would make of an event, when it would send and what; nothing\n"
        "is written or sent. See docs/testing.md.\n"
        "\n"
        "Examples:\n"
        "  peal triggers create -f order-receipt.json\n"
        "  peal triggers set order-receipt channel=http:bi retry.max=3\n"
        "  peal triggers disable order-receipt\n"
        "  peal triggers show order-receipt --json",
    .options = trigger_options,
    .verbs = triggers_verbs,
};

const Command command_templates = {
    .name = "templates",
    .usage = "templates [list]\n"
             "templates show ID\n"
             "templates versions ID [VERSION]\n"
             "templates create -f FILE\n"
             "templates update ID -f FILE [--if-version N]\n"
             "templates set ID NAME=VALUE... [--if-version N]\n"
             "templates delete ID",
    .summary = "Say what messages say",
    .details = "delete deactivates; of one that is not active it takes the row from the list.\n"
               "set changes the members that it names, as for triggers. See docs/templates.md.\n"
               "\n"
               "Examples:\n"
               "  peal templates create -f confirmed.json\n"
               "  peal templates set confirmed active=false\n"
               "  peal template render confirmed.json booking.json",
    .options = definition_options,
    .verbs = templates_verbs,
};

const Command command_lists = {
    .name = "lists",
    .usage = "lists [list]\n"
             "lists show ID\n"
             "lists versions ID [VERSION]\n"
             "lists create -f FILE\n"
             "lists update ID -f FILE [--if-version N]\n"
             "lists set ID NAME=VALUE... [--if-version N]\n"
             "lists delete ID",
    .summary = "Say whom notifications go to",
    .details =
        "Targets that are given replace all that there are; those that are not named stay.\n"
        "set changes the members that it names, as for triggers. See docs/notifications.md.\n"
        "\n"
        "Examples:\n"
        "  peal lists create -f ops.json\n"
        "  peal lists set ops showTargets=true\n"
        "  peal notify ops --subject Boiler --body 'It is hot'",
    .options = definition_options,
    .verbs = templates_verbs,
};

const Command command_channels = {
    .name = "channels",
    .usage = "channels [list]\n"
             "channels show KEY\n"
             "channels versions KEY [VERSION]\n"
             "channels create -f FILE\n"
             "channels update KEY -f FILE [--if-version N]\n"
             "channels set KEY NAME=VALUE... [--if-version N]\n"
             "channels rotate KEY SECRET [--value VALUE] [--overlap SPAN]\n"
             "channels test KEY [TARGET] [--subject TEXT] [--body TEXT]\n"
             "channels delete KEY",
    .summary = "Configure the ways out",
    .details =
        "set changes the members that it names; a.b is member b of a. A VALUE is JSON, or\n"
        "else a text; null takes a member away. Secrets that are not named stay.\n"
        "\n"
        "Examples:\n"
        "  peal channels\n"
        "  peal channels set http:bi timeout=5s config.method=PUT\n"
        "  peal channels rotate http:bi signingSecret --overlap 24h\n"
        "  peal channels test email:ops ada@example.org\n"
        "  echo "
        "'{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://bi.example/in\"}}'"
        " |\n"
        "    peal channels create -f -",
    .options = channel_options,
    .verbs = channels_verbs,
};

const Command command_sources = {
    .name = "sources",
    .usage = "sources [list]\n"
             "sources show ID\n"
             "sources versions ID [VERSION]\n"
             "sources create -f FILE\n"
             "sources update ID -f FILE [--if-version N]\n"
             "sources set ID NAME=VALUE... [--if-version N]\n"
             "sources rotate ID [--secret SECRET] [--overlap SPAN]\n"
             "sources delete ID",
    .summary = "Say where webhooks come in, and which tables are drained",
    .details =
        "Of one that webhooks come to, the path and the secret are made unless they are given;\n"
        "the secret is shown once (docs/webhooks.md). A table takes the system right\n"
        "(docs/outbox.md).\n"
        "\n"
        "Examples:\n"
        "  echo '{\"id\":\"gh-acme\",\"provider\":\"github\"}' | peal sources create -f -\n"
        "  peal sources rotate gh-acme --overlap 24h\n"
        "  peal sources set shop-outbox config.pollEvery=5s",
    .options = source_options,
    .verbs = sources_verbs,
};

const Command command_integrations = {
    .name = "integrations",
    .usage = "integrations [list]\n"
             "integrations show ID\n"
             "integrations versions ID [VERSION]\n"
             "integrations create -f FILE\n"
             "integrations update ID -f FILE [--if-version N]\n"
             "integrations set ID NAME=VALUE... [--if-version N]\n"
             "integrations delete ID",
    .summary = "Keep accounts at providers, and see whether they work",
    .details = "A connectionId or installationId takes the system right. docs/integrations.md has\n"
               "where tokens may come from.\n"
               "\n"
               "Examples:\n"
               "  echo '{\"id\":\"acme\",\"provider\":\"linear\",\"token\":{\"source\":\"static\","
               "\"value\":\"lin_api_…\"}}' |\n"
               "    peal integrations create -f -\n"
               "  peal integrations show acme",
    .options = definition_options,
    .verbs = templates_verbs,
};

const Command command_keys = {
    .name = "keys",
    .usage = "keys [list]\n"
             "keys show ID\n"
             "keys create --role ROLE [--site NAME] [--handlers KEYS] [--tenant ID] [--name NAME] "
             "[--expires-at T]\n"
             "keys set ID [--role ROLE] [--site NAME] [--handlers KEYS] [--name NAME] "
             "[--expires-at T|never]\n"
             "keys revoke|delete ID",
    .summary = "Make, change and revoke keys; end sessions",
    .details = "Examples:\n"
               "  peal keys create --role ingest --name shop\n"
               "  peal keys create --role worker --handlers worker:rates,worker:mail\n"
               "  peal keys set 01975e3c-7a4b-7000-8000-2c9d3f5b1a60 --expires-at never\n"
               "  peal keys revoke 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = key_options,
    .verbs = keys_verbs,
};

const Command command_tenants = {
    .name = "tenants",
    .usage = "tenants [list]\n"
             "tenants show ID\n"
             "tenants create ID [--name NAME]\n"
             "tenants set ID --name NAME\n"
             "tenants delete ID",
    .summary = "Make, rename and delete tenants",
    .details = "Examples:\n"
               "  peal tenants create acme --name 'Acme Ltd'",
    .options = tenant_options,
    .verbs = tenants_verbs,
};
