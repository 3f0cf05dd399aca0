// Poll groups: the accounts that are polled, and how it goes.

#include "cli/client.h"
#include "cli/commands.h"

static const Column columns[] = {
    { "PROVIDER", "provider" }, { "INTEGRATION", "integration" }, { "TRIGGERS", "triggers" },
    { "EVERY", "interval" },    { "LAST", "lastPolledAt" },       { "NEXT", "nextPollAt" },
    { "ERROR", "lastError" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S("/v1/poll-groups"),
        .options = "",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "poll groups",
    };
    return client_list(args, &wanted);
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", list },
    { 0 },
};

static const CommandOption options[] = {
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_poll_groups = {
    .name = "poll-groups",
    .usage = "poll-groups [list] [--limit N] [--cursor C]",
    .summary = "Look at the accounts that are polled, and how it goes",
    .details = "Triggers of the same provider and integration are polled together.\n\n"
               "Examples:\n"
               "  peal poll-groups\n"
               "  peal poll-groups --json",
    .options = options,
    .verbs = verbs,
};
