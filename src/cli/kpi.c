// A few figures of the queue, in all and by site.

#include "cli/client.h"
#include "cli/commands.h"

static void print_kpis(Arena *arena, const Json *answer)
{
    static const Column columns[] = {
        { "SITE", "site" },
        { "QUEUE", "queueDepth" },
        { "SCHEDULED", "scheduled" },
        { "STUCK", "stuck" },
        { "PARKED", "parked" },
        { "DELIVERED", "deliveredLastInterval" },
        { "OLDEST", "oldestPendingAge" },
    };
    const Json *sites = json_get(answer, S("bySite"));
    size_t count = 0;
    const Json **items = ARENA_ARRAY(arena, const Json *, json_count(sites) + 1);
    items[count++] = answer; // in all: it has no site
    for (JsonIter it = json_each(sites); json_next(&it);)
        items[count++] = it.value;
    output_list(arena, items, count, columns, ARRAY_LEN(columns));
}

static int kpi(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    int status = args_expect(args, NULL, 0, 0);
    if (status == EXIT_DONE)
        status =
            client_get(&client, client_query(&client, S("/v1/kpis"), "site kind tenant"), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print_kpis(client.arena, answer.json);
    return EXIT_DONE;
}

static const CommandOption kpi_options[] = {
    { "site", "SITE", "only what came from this site" },
    { "kind", "KIND", "notification: only what lists made" },
    TENANT_OPTION,
    CLIENT_OPTIONS,
};

const Command command_kpi = {
    .name = "kpi",
    .usage = "kpi [--site SITE] [--kind notification]",
    .summary = "Say how the queue does: depth, stuck, parked, delivered in the last minute",
    .details = "The first line is of everything, the others are of the sites.\n\n"
               "Examples:\n"
               "  peal kpi\n"
               "  peal kpi --kind notification --json",
    .options = kpi_options,
    .run = kpi,
};
