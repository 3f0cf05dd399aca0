// Dead letters: runs of jobs that used up their retries, or that nobody handles.

#include "cli/dead.h"

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"

static const Column dead_columns[] = {
    { "ID", "id" },
    { "JOB", "job" },
    { "ENTITY", "entity" },
    { "SOURCE", "source" },
    { "FAILED", "failedAt" },
    { "TRIES", "attempts" },
    { "LAST ERROR", "lastError" },
};

int dead_print(CommandArgs *args, const char *job)
{
    Client client = client_open(args);
    Str path = S("/v1/dead");
    if (job)
        path = client_with(&client, path, S("job"), str_from(job));
    ClientList wanted = {
        .path = path,
        .options = "",
        .columns = dead_columns,
        .column_count = ARRAY_LEN(dead_columns),
        .noun = "dead letters",
    };
    return client_list(args, &wanted);
}

static int list(CommandArgs *args)
{
    return dead_print(args, args_option(args, "job"));
}

static int retry(CommandArgs *args)
{
    Client client = client_open(args);
    client.lists_with = "dead";
    return client_act(&client, "/v1/dead", "retry");
}

static int discard(CommandArgs *args)
{
    Client client = client_open(args);
    client.lists_with = "dead";
    return client_act(&client, "/v1/dead", "discard");
}

static const CommandVerb dead_verbs[] = {
    { "list", NULL, 0, 0, "job limit cursor", list },
    { "retry", "IDs", 1, SIZE_MAX, "reason", retry },
    { "discard", "IDs", 1, SIZE_MAX, "reason", discard },
    { 0 },
};

static const CommandOption dead_options[] = {
    { "job", "NAME", "only of this job" },
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    { "reason", "TEXT", "kept with what was done" },
    CLIENT_OPTIONS,
};

const Command command_dead = {
    .name = "dead",
    .usage = "dead [list] [--job NAME]\n"
             "dead retry|discard ID... [--reason TEXT]",
    .summary = "Look at runs that used up their retries; retry or discard them",
    .details = "Examples:\n"
               "  peal dead --job CurrencyRateSync\n"
               "  peal dead retry 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = dead_options,
    .verbs = dead_verbs,
};
