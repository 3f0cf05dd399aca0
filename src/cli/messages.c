// Messages: what templates made, by entity, and what became of it.

#include "cli/client.h"
#include "cli/commands.h"

#define FILTERS "entity channel status tenant"

static const Column columns[] = {
    { "ID", "id" },
    { "ENTITY", "entity" },
    { "EVENT", "eventType" },
    { "CHANNEL", "channel" },
    { "TEMPLATE", "template" },
    { "ADDRESS", "address" },
    { "STATUS", "status" },
    { "SENT", "sentAt" },
    { "TRIES", "attemptCount" },
    { "LAST ERROR", "lastError" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S("/v1/messages"),
        .options = FILTERS,
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "messages",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    Str path = client_path(args_arena(args), "/v1/messages", args_word(args, 0), NULL);
    return client_show(args, path, "messages");
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, FILTERS " limit cursor", list },
    { "show", "an ID", 1, 1, "tenant", show },
    { 0 },
};

static const CommandOption options[] = {
    { "entity", "E", "only about this entity" },
    { "channel", "KEY", "only through this channel" },
    { "status", "STATUS", "only those that are Pending, Sent, Failed or Cancelled" },
    TENANT_OPTION,
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_messages = {
    .name = "messages",
    .usage = "messages [list] [--entity E] [--channel KEY] [--status STATUS] [--tenant ID]\n"
             "messages show ID",
    .summary = "Look at what templates sent, and what became of it",
    .details =
        "A message is a delivery, by the same id: peal deliveries attempts ID tells its tries,\n"
        "and retry, discard and cancel are for both.\n\n"
        "Examples:\n"
        "  peal messages --entity booking:12345\n"
        "  peal messages --status Failed --channel sms:msg91",
    .options = options,
    .verbs = verbs,
};
