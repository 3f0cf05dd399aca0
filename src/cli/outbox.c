// The outbox: what applications emitted in SQL or wrote into their own tables, and what became of
// it.

#include "cli/client.h"
#include "cli/commands.h"

static const Column columns[] = {
    { "ID", "id" },
    { "SOURCE", "source" },
    { "EVENT", "eventType" },
    { "ENTITY", "entity" },
    { "STATUS", "status" },
    { "ERROR", "lastError" },
    { "CREATED", "createdAt" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S("/v1/outbox"),
        .options = "status from to tenant",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "rows",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    return client_show(args, client_path(args_arena(args), "/v1/outbox", args_word(args, 0), NULL),
                       "outbox");
}

static int replay(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = "outbox";
    int status = client_call(&client, "POST",
                             client_path(client.arena, "/v1/outbox", args_word(args, 0), "replay"),
                             STR_NONE, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        printf("%s is decided anew; what fired does not fire again.\n", args_word(args, 0));
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, "status from to tenant limit cursor", list },
    { "show", "an ID", 1, 1, "tenant", show },
    { "replay", "an ID", 1, 1, "", replay },
    { 0 },
};

static const CommandOption options[] = {
    { "status", "STATUS", "only rows that are Pending, Published or Failed" },
    { "from", "T", "written at this time or later" },
    { "to", "T", "written before this time" },
    TENANT_OPTION,
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_outbox = {
    .name = "outbox",
    .usage = "outbox [list] [--status STATUS] [--from T] [--to T] [--limit N] [--cursor C]\n"
             "outbox show ID\n"
             "outbox replay ID",
    .summary = "Look at what applications emitted in SQL, and decide it anew",
    .details = "Examples:\n"
               "  peal outbox --status Failed\n"
               "  peal outbox replay 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = options,
    .verbs = verbs,
};
