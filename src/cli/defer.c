// Putting runs of a job off, for an entity, and calling them off: at a site, whose file keeps it
// before this returns, or at central.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/site.h"

enum { BODY_BYTES_MAX = 4 << 20 };

static int defer_at_site(const CommandArgs *args, const char *store)
{
    char id[PEAL_ID_SIZE] = "";
    PealDeferral deferral = { .job = args_word(args, 0),
                              .entity = args_word(args, 1),
                              .run_at = args_option(args, "at"),
                              .delay = args_option(args, "in"),
                              .payload = args_option(args, "data"),
                              .replaces = args_flag(args, "replace") };
    Peal *peal = peal_open(store);
    if (!peal)
        abort();
    PealResult result = peal_defer(peal, &deferral, id);
    int status = site_told(args, result);
    peal_close(peal);
    if (result == PEAL_OK)
        site_print_id(args, id);
    return status;
}

static void put_option(JsonOut *out, Str name, const char *value)
{
    if (value)
        json_put_str(out, name, str_from(value));
}

static Str body_of(const CommandArgs *args, Arena *arena)
{
    const char *data = args_option(args, "data");
    Buf body = buf_new(arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    json_put_str(&out, S("entity"), str_from(args_word(args, 1)));
    put_option(&out, S("runAt"), args_option(args, "at"));
    put_option(&out, S("delay"), args_option(args, "in"));
    if (data)
        json_put_raw(&out, S("payload"), str_from(data));
    if (args_flag(args, "replace"))
        json_put_bool(&out, S("replace"), true);
    json_close(&out, '}');
    return buf_str(&body);
}

static int defer_at_central(const CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    Str path = client_path(client.arena, "/v1/jobs", args_word(args, 0), "defer");
    int status = client_call(&client, "POST", path, body_of(args, client.arena), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        printf("%.*s runs at %.*s\n", STR_ARG(json_str(json_get(answer.json, S("id")))),
               STR_ARG(json_str(json_get(answer.json, S("runAt")))));
    return EXIT_DONE;
}

static int defer(CommandArgs *args)
{
    const char *store = site_of(args), *data = args_option(args, "data");
    const Json *payload;
    int status = args_expect(args, "a JOB and an ENTITY", 2, 2);
    if (status != EXIT_DONE)
        return status;
    if (!args_option(args, "in") == !args_option(args, "at"))
        return args_usage(args, "When is missing, or said twice: --in DURATION or --at TIME");
    if (data && json_parse(args_arena(args), str_from(data), &payload, NULL) != ERR_OK)
        return args_usage(args, "--data is a JSON object");
    return store ? defer_at_site(args, store) : defer_at_central(args);
}

static const CommandOption defer_options[] = {
    { "in", "DURATION", "how long from now, such as 15m" },
    { "at", "TIME", "or when, such as 2026-05-14T05:27:34Z" },
    { "data", "JSON", "an object for the handler; the job's own unless said" },
    { "replace", NULL, "take the place of what is pending of the entity" },
    SITE_OPTION,
    CLIENT_OPTIONS,
};

const Command command_defer = {
    .name = "defer",
    .usage = "defer JOB ENTITY --in DURATION | --at TIME [--data JSON] [--replace] [--site STORE]",
    .summary = "Put a run of a job off, for an entity",
    .details = "A time that is past means at once. With --replace again and again, the run\n"
               "begins when there has been no change for that long (docs/deferred.md).\n\n"
               "Examples:\n"
               "  peal defer payment-timeout 12345 --in 15m\n"
               "  peal deferred cancel payment-timeout 12345",
    .options = defer_options,
    .run = defer,
};

static const Column columns[] = {
    { "ID", "id" },      { "ENTITY", "entity" },     { "STATE", "state" },
    { "RUNS", "runAt" }, { "CREATED", "createdAt" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = client_path(args_arena(args), "/v1/jobs", args_word(args, 0), "deferred"),
        .options = "",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "deferred runs",
    };
    return client_list(args, &wanted);
}

static int cancel_at_site(const CommandArgs *args, const char *store)
{
    char id[PEAL_ID_SIZE] = "";
    Peal *peal = peal_open(store);
    if (!peal)
        abort();
    PealResult result = peal_cancel_deferred(peal, args_word(args, 0), args_word(args, 1), id);
    int status = site_told(args, result);
    peal_close(peal);
    if (result == PEAL_OK)
        site_print_id(args, id);
    return status;
}

static int cancel(CommandArgs *args)
{
    const char *store = site_of(args);
    if (store)
        return cancel_at_site(args, store);
    Client client = client_open(args);
    Answer answer = { 0 };
    Str path = client_path(client.arena, "/v1/jobs", args_word(args, 0), "deferred");
    path = client_with(&client, path, S("entity"), str_from(args_word(args, 1)));
    int status = client_call(&client, "DELETE", path, STR_NONE, &answer);
    if (status != EXIT_DONE)
        return status;
    Str cancelled = json_text(client.arena, json_get(answer.json, S("cancelled")));
    if (client.json)
        output_json(answer.text);
    else
        printf("%.*s cancelled\n", STR_ARG(cancelled));
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "list", "a JOB", 1, 1, "limit cursor", list },
    { "cancel", "a JOB and an ENTITY", 2, 2, "site", cancel },
    { 0 },
};

static const CommandOption deferred_options[] = {
    PAGE_OPTIONS,
    SITE_OPTION,
    CLIENT_OPTIONS,
};

const Command command_deferred = {
    .name = "deferred",
    .usage = "deferred list JOB [--limit N] [--cursor C]\n"
             "deferred cancel JOB ENTITY [--site STORE]",
    .summary = "Look at what is still to run of a job, and call it off",
    .details = "What has begun is not called off.\n\n"
               "Examples:\n"
               "  peal deferred list payment-timeout\n"
               "  peal deferred cancel payment-timeout 12345",
    .options = deferred_options,
    .verbs = verbs,
};
