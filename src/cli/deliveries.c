// Deliveries: looking at them, and what a person may do with one or with many.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/follow.h"

enum { BODY_BYTES_MAX = 1024 * 1024, FOLLOW_LOOKS_MAX = 300 };

#define FILTERS "state trigger channel event entity site cause list q from to"
#define LOOKS FILTERS " type" // what a list may be asked for besides

static const Column delivery_columns[] = {
    { "ID", "id" },
    { "STATE", "state" },
    { "TRIGGER", "triggerId" },
    { "CHANNEL", "channel" },
    { "ADDRESS", "address" },
    { "DUE", "dueAt" },
    { "TRIES", "attemptCount" },
    { "LAST ERROR", "lastError" },
};

static const Column attempt_columns[] = {
    { "NUMBER", "number" },       { "SEND", "send" },       { "STARTED", "startedAt" },
    { "FINISHED", "finishedAt" }, { "OUTCOME", "outcome" }, { "REASON", "reason" },
    { "CODE", "code" },           { "DETAIL", "detail" },
};

static const Column captured_columns[] = {
    { "AT", "at" },     { "CHANNEL", "channel" }, { "ADDRESS", "address" },
    { "SEND", "send" }, { "TRY", "attempt" },     { "DELIVERY", "deliveryId" },
    { "URL", "url" },   { "BODY", "body" },
};

static const Column followed_columns[] = {
    { "TIME", "time" },   { "ID", "id" },         { "STATE", "state" },
    { "TRY", "attempt" }, { "REASON", "reason" },
};

static int list(CommandArgs *args)
{
    if (args_flag(args, "follow"))
        return follow_lines(args, "delivery", "state", followed_columns,
                            ARRAY_LEN(followed_columns));
    ClientList wanted = {
        .path = args_flag(args, "stuck") ? S("/v1/deliveries?stuck=true") : S("/v1/deliveries"),
        .options = LOOKS " tenant",
        .columns = delivery_columns,
        .column_count = ARRAY_LEN(delivery_columns),
        .noun = "deliveries",
    };
    return client_list(args, &wanted);
}

static int attempts(CommandArgs *args)
{
    ClientList wanted = {
        .path = client_path(args_arena(args), "/v1/deliveries", args_word(args, 0), "attempts"),
        .options = "tenant",
        .columns = attempt_columns,
        .column_count = ARRAY_LEN(attempt_columns),
        .noun = "attempts",
    };
    return client_list(args, &wanted);
}

static int captured_show(CommandArgs *args)
{
    Str path = client_path(args_arena(args), "/v1/captured", args_word(args, 0), NULL);
    return client_show(args, path, "captured");
}

static int captured(CommandArgs *args)
{
    ClientList wanted = {
        .path = args_flag(args, "newest") ? S("/v1/captured?newest=true") : S("/v1/captured"),
        .options = "delivery channel",
        .columns = captured_columns,
        .column_count = ARRAY_LEN(captured_columns),
        .noun = "messages",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    Str path = client_path(args_arena(args), "/v1/deliveries", args_word(args, 0), NULL);
    return client_show(args, path, "deliveries");
}

static bool any_filter(const CommandArgs *args)
{
    Str rest = S(FILTERS);
    while (rest.len > 0)
        if (args_option(args, str_z(args_arena(args), str_cut(&rest, ' '))))
            return true;
    return args_flag(args, "stuck");
}

static Str operation_body(const Client *client, const char *action)
{
    Buf text = buf_new(client->arena, BODY_BYTES_MAX);
    JsonOut out = json_out(&text);
    const char *reason = args_option(client->args, "reason");
    json_open(&out, '{');
    json_put_str(&out, S("action"), str_from(action));
    json_key(&out, S("filter"));
    json_open(&out, '{');
    Str rest = S(FILTERS);
    while (rest.len > 0) {
        Str name = str_cut(&rest, ' ');
        const char *value = args_option(client->args, str_z(client->arena, name));
        if (value)
            json_put_str(&out, name, str_from(value));
    }
    if (args_flag(client->args, "stuck"))
        json_put_bool(&out, S("stuck"), true);
    json_close(&out, '}');
    if (reason)
        json_put_str(&out, S("reason"), str_from(reason));
    json_put_bool(&out, S("dryRun"), args_flag(client->args, "dry-run"));
    json_close(&out, '}');
    return buf_str(&text);
}

// follow looks at an operation until it is over, or for a minute.
static Answer follow(const Client *client, Answer started)
{
    Str id = json_str(json_get(started.json, S("id")));
    Str path = client_path(client->arena, "/v1/operations", str_z(client->arena, id), NULL);
    struct timespec pause = { .tv_nsec = 200L * 1000 * 1000 };
    for (int i = 0; id.len > 0 && i < FOLLOW_LOOKS_MAX; i++) {
        if (!client_look(client, path, &started))
            break;
        Str state = json_str(json_get(started.json, S("state")));
        if (!str_eq(state, S("counting")) && !str_eq(state, S("running")))
            break;
        nanosleep(&pause, NULL);
    }
    return started;
}

static int act_on_many(const Client *client, const char *action)
{
    Answer answer = { 0 };
    bool is_rehearsal = args_flag(client->args, "dry-run");
    int status =
        client_call(client, "POST", S("/v1/operations"), operation_body(client, action), &answer);
    if (status != EXIT_DONE)
        return status;
    answer = follow(client, answer);
    int64_t failed = 0, matched;
    if (!json_i64(json_get(answer.json, S("failed")), &failed))
        failed = 0;
    if (client->json) {
        output_json(answer.text);
    } else if (is_rehearsal && json_i64(json_get(answer.json, S("matched")), &matched)) {
        printf("%lld deliveries match; nothing was changed.\n", (long long) matched);
    } else {
        output_fields(client->arena, answer.json);
    }
    return failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int act(CommandArgs *args, const char *action, bool may_be_many)
{
    Client client = client_open(args);
    client.lists_with = "deliveries";
    bool filtered = any_filter(args), named = args_count(args) > 0;
    if (named && filtered)
        return args_usage(args, "Give either IDs or a filter, not both");
    if (named && args_flag(args, "dry-run"))
        return args_usage(args, "--dry-run goes with a filter, not with IDs");
    if (named)
        return client_act(&client, "/v1/deliveries", action);
    if (!may_be_many)
        return args_usage(args, "peal deliveries %s needs an ID", action);
    if (!filtered)
        return args_usage(args, "peal deliveries %s needs an ID or a filter such as --state parked",
                          action);
    return act_on_many(&client, action);
}

static int retry(CommandArgs *args)
{
    return act(args, "retry", true);
}

static int discard(CommandArgs *args)
{
    return act(args, "discard", true);
}

static int cancel(CommandArgs *args)
{
    return act(args, "cancel", true);
}

static int complete(CommandArgs *args)
{
    return act(args, "complete", false);
}

static const CommandVerb deliveries_verbs[] = {
    { "list", NULL, 0, 0, LOOKS " stuck tenant limit cursor follow", list },
    { "show", "an ID", 1, 1, "tenant", show },
    { "attempts", "an ID", 1, 1, "tenant limit cursor", attempts },
    { "retry", "IDs", 0, SIZE_MAX, FILTERS " reason dry-run", retry },
    { "discard", "IDs", 0, SIZE_MAX, FILTERS " reason dry-run", discard },
    { "cancel", "IDs", 0, SIZE_MAX, FILTERS " stuck reason dry-run", cancel },
    { "complete", "IDs", 0, SIZE_MAX, "reason", complete },
    { 0 },
};

static const CommandOption deliveries_options[] = {
    { "follow", NULL, "those that move from now on, one a line, until Ctrl-C" },
    { "state", "STATE", "only in this state: pending retrying waiting parked …" },
    { "trigger", "ID", "only of this trigger" },
    { "channel", "KEY", "only through this channel" },
    { "event", "ID", "only of this event" },
    { "entity", "E", "only about this entity" },
    { "site", "NAME", "only of events that this site handed on" },
    { "cause", "CAUSE", "only of this cause, as peal causes tells it; in lists with --state" },
    { "type", "TYPE", "only through channels of this type, such as email" },
    { "list", "ID", "only to this list" },
    { "q", "WORDS", "only with all of these words in address, reference, entity or subject" },
    { "from", "T", "only triggered then or later" },
    { "to", "T", "only triggered before" },
    { "stuck", NULL, "only what was due ten minutes ago or longer, and is not sent" },
    TENANT_OPTION,
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    { "reason", "TEXT", "kept with what was done" },
    { "dry-run", NULL, "only count what would change" },
    CLIENT_OPTIONS,
};

static const CommandVerb captured_verbs[] = {
    { "list", NULL, 0, 0, "delivery channel newest limit cursor", captured },
    { "show", "the ID of a delivery", 1, 1, "", captured_show },
    { 0 },
};

static const CommandOption captured_options[] = {
    { "delivery", "ID", "only of this delivery" },
    { "channel", "KEY", "only through this channel" },
    { "newest", NULL, "the newest first; the oldest unless said" },
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_deliveries = {
    .name = "deliveries",
    .usage = "deliveries [list] [--state STATE] [--trigger ID] [--channel KEY] [--OPTIONS]\n"
             "deliveries --follow [--state STATE]\n"
             "deliveries show ID\n"
             "deliveries attempts ID\n"
             "deliveries retry|discard|cancel|complete ID... [--reason TEXT]\n"
             "deliveries retry|discard|cancel --state STATE [--channel KEY] [--dry-run]",
    .summary = "Look at deliveries; retry, discard, cancel or complete them",
    .details =
        "Examples:\n"
        "  peal deliveries --state parked\n"
        "  peal deliveries --follow --state parked\n"
        "  peal deliveries retry --state parked --channel http:crm --dry-run\n"
        "  peal deliveries retry --cause 5f0c61a9be20d1c4        one that peal causes told\n"
        "  peal deliveries discard 01975e3c-7a4b-7000-8000-2c9d3f5b1a60 --reason 'test data'",
    .options = deliveries_options,
    .verbs = deliveries_verbs,
};

const Command command_captured = {
    .name = "captured",
    .usage = "captured [list] [--delivery ID] [--channel KEY] [--newest]\n"
             "captured show ID",
    .summary = "Show what memory channels took",
    .details = "Examples:\n"
               "  peal captured\n"
               "  peal captured --channel memory:default --json\n"
               "  peal captured show 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = captured_options,
    .verbs = captured_verbs,
};
