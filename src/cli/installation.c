// The installation: its nodes, its sites, and how the one that answers is set up.

#include "cli/client.h"
#include "cli/commands.h"

static const Column node_columns[] = {
    { "NUMBER", "number" },   { "NAME", "name" },
    { "STATE", "state" },     { "THIS", "isThis" },
    { "VERSION", "version" }, { "STARTED", "startedAt" },
    { "BEAT", "beatAt" },     { "CLOCK MS", "clockOffsetMs" },
    { "LEASES", "leases" },
};

static const Column site_columns[] = {
    { "SITE", "site" },
    { "LAST SEEN", "lastSeenAt" },
    { "SILENT S", "silentSeconds" },
    { "BACKLOG", "backlog" },
    { "RECEIVED", "received" },
    { "VERSION", "version" },
    { "CLOCK MS", "clockSkewMs" },
};

static const Column setting_columns[] = {
    { "NAME", "name" },
    { "VALUE", "value" },
    { "ORIGIN", "origin" },
};

static int list_of(CommandArgs *args, Str path, const Column *columns, size_t count,
                   const char *noun)
{
    ClientList wanted = {
        .path = path, .options = "", .columns = columns, .column_count = count, .noun = noun
    };
    int status = args_expect(args, NULL, 0, 0);
    return status == EXIT_DONE ? client_list(args, &wanted) : status;
}

static int nodes(CommandArgs *args)
{
    return list_of(args, S("/v1/nodes"), node_columns, ARRAY_LEN(node_columns), "nodes");
}

static int sites(CommandArgs *args)
{
    return list_of(args, S("/v1/sites"), site_columns, ARRAY_LEN(site_columns), "sites");
}

static int settings(CommandArgs *args)
{
    Answer answer = { 0 };
    Client client = client_open(args);
    int status = args_expect(args, NULL, 0, 0);
    if (status == EXIT_DONE)
        status = client_get(&client, S("/v1/settings"), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    const Json *items = json_get(answer.json, S("items"));
    size_t count = 0;
    const Json **rows = ARENA_ARRAY(client.arena, const Json *, json_count(items) + 1);
    for (JsonIter it = json_each(items); json_next(&it);)
        rows[count++] = it.value;
    printf("Peal %.*s, node %.*s\n\n",
           STR_ARG(output_value(client.arena, json_get(answer.json, S("version")))),
           STR_ARG(output_value(client.arena, json_get(answer.json, S("node")))));
    output_fields(client.arena, json_get(answer.json, S("store")));
    printf("\n");
    output_list(client.arena, rows, count, setting_columns, ARRAY_LEN(setting_columns));
    return EXIT_DONE;
}

static const CommandOption list_options[] = {
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

static const CommandOption settings_options[] = {
    CLIENT_OPTIONS,
};

const Command command_nodes = {
    .name = "nodes",
    .usage = "nodes [--limit N] [--cursor C]",
    .summary = "Look at the processes that share the store",
    .details = "Examples:\n"
               "  peal nodes",
    .options = list_options,
    .run = nodes,
};

const Command command_sites = {
    .name = "sites",
    .usage = "sites [--limit N] [--cursor C]",
    .summary = "Look at the sites that hand on to this Peal",
    .details = "Examples:\n"
               "  peal sites",
    .options = list_options,
    .run = sites,
};

const Command command_settings = {
    .name = "settings",
    .usage = "settings",
    .summary = "Say how the node that answers is set up, and where each setting comes from",
    .details = "Needs a key with the system right. Secrets are never shown.\n\n"
               "Examples:\n"
               "  peal settings\n"
               "  peal settings --json",
    .options = settings_options,
    .run = settings,
};
