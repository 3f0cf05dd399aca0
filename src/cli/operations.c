// Operations: what acts on many deliveries, how far it is, and letting it rest, go on or end.

#include "cli/client.h"
#include "cli/commands.h"

static const Column columns[] = {
    { "ID", "id" },           { "ACTION", "action" }, { "STATE", "state" },
    { "MATCHED", "matched" }, { "DONE", "done" },     { "SKIPPED", "skipped" },
    { "FAILED", "failed" },   { "DRY", "dryRun" },    { "CREATED", "createdAt" },
    { "REASON", "reason" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S("/v1/operations"),
        .options = "",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "operations",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    Str path = client_path(args_arena(args), "/v1/operations", args_word(args, 0), NULL);
    return client_show(args, path, "operations");
}

static int act(CommandArgs *args, const char *action)
{
    Client client = client_open(args);
    client.lists_with = "operations";
    return client_act(&client, "/v1/operations", action);
}

static int pause_it(CommandArgs *args)
{
    return act(args, "pause");
}

static int resume(CommandArgs *args)
{
    return act(args, "resume");
}

static int cancel(CommandArgs *args)
{
    return act(args, "cancel");
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", list },  { "show", "an ID", 1, 1, "", show },
    { "pause", "IDs", 1, SIZE_MAX, "", pause_it }, { "resume", "IDs", 1, SIZE_MAX, "", resume },
    { "cancel", "IDs", 1, SIZE_MAX, "", cancel },  { 0 },
};

static const CommandOption options[] = {
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_operations = {
    .name = "operations",
    .usage = "operations [list] [--limit N] [--cursor C]\n"
             "operations show ID\n"
             "operations pause|resume|cancel ID...",
    .summary = "Look at what acts on many deliveries; let it rest, go on or end",
    .details = "What an operation has done stays, whether it is paused or cancelled.\n\n"
               "Examples:\n"
               "  peal operations\n"
               "  peal operations pause 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = options,
    .verbs = verbs,
};
