// The inbox: what webhooks brought, and what became of it.

#include "cli/client.h"
#include "cli/commands.h"

static const Column columns[] = {
    { "ID", "id" },         { "SOURCE", "source" },       { "PROVIDER", "provider" },
    { "STATUS", "status" }, { "REASON", "reason" },       { "ERROR", "error" },
    { "SIZE", "size" },     { "RECEIVED", "receivedAt" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S("/v1/inbox"),
        .options = "status source provider from to tenant",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "rows",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    return client_show(args, client_path(args_arena(args), "/v1/inbox", args_word(args, 0), NULL),
                       "inbox");
}

static int reprocess(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = "inbox";
    Str path = client_path(client.arena, "/v1/inbox", args_word(args, 0), "reprocess");
    int status = client_call(&client, "POST", path, STR_NONE, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        printf("%s is read and decided anew; what fired does not fire again.\n",
               args_word(args, 0));
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, "status source provider from to tenant limit cursor", list },
    { "show", "an ID", 1, 1, "tenant", show },
    { "reprocess", "an ID", 1, 1, "", reprocess },
    { 0 },
};

static const CommandOption options[] = {
    { "status", "STATUS", "only rows that are pending, processing, completed or failed" },
    { "source", "ID", "that came to this source" },
    { "provider", "ID", "of this provider" },
    { "from", "T", "received at this time or later" },
    { "to", "T", "received before this time" },
    TENANT_OPTION,
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_inbox = {
    .name = "inbox",
    .usage = "inbox [list] [--status STATUS] [--source ID] [--provider ID] [--limit N] [--cursor "
             "C]\n"
             "inbox show ID\n"
             "inbox reprocess ID",
    .summary = "Look at what webhooks brought, and process it again",
    .details = "A row that made no event says why. What triggers made of its events: peal why ID.\n"
               "\n"
               "Examples:\n"
               "  peal inbox --status failed\n"
               "  peal inbox reprocess 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = options,
    .verbs = verbs,
};
