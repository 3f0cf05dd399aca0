// The audit: asking it, and asking whether it is whole.

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/pages.h"

#define NAMED "channel kind status site instance target actor delivery from to"
#define FILTERS NAMED " correlation-id errors-only installation"

static const Column audit_columns[] = {
    { "SEQ", "seq" },         { "AT", "at" },         { "KIND", "kind" },
    { "STATUS", "status" },   { "ACTOR", "actor" },   { "DELIVERY", "deliveryId" },
    { "CHANNEL", "channel" }, { "TARGET", "target" }, { "DETAIL", "detail" },
};

// of_chain is the path to the chain that is meant: the tenant's own, or the installation's.
static Str of_chain(const CommandArgs *args, Str path)
{
    Client client = client_open(args);
    return args_flag(args, "installation")
               ? client_with(&client, path, S("installation"), S("true"))
               : path;
}

// asked is the path with those filters whose options are not called as their parameters are.
static Str asked(const CommandArgs *args, Str path)
{
    Client client = client_open(args);
    path = of_chain(args, path);
    const char *correlation = args_option(args, "correlation-id");
    if (correlation)
        path = client_with(&client, path, S("correlationId"), str_from(correlation));
    if (args_flag(args, "errors-only"))
        path = client_with(&client, path, S("errorsOnly"), S("true"));
    return path;
}

static int query(CommandArgs *args)
{
    ClientList list = {
        .path = asked(args, S("/v1/audit")),
        .options = NAMED,
        .columns = audit_columns,
        .column_count = ARRAY_LEN(audit_columns),
        .noun = "audit rows",
    };
    return client_list(args, &list);
}

enum { EXPORT_ROWS = 10000 }; // that are asked for at a time, and held

// print_rows prints an answer's rows; ret is the last one's number. False: there were no more.
static bool print_rows(Str text, int64_t *ret)
{
    size_t count = 0;
    fwrite(text.at, 1, text.len, stdout);
    while (text.len > 0) {
        Str line = str_cut(&text, '\n'), rest = str_skip(line, sizeof "{\"seq\":" - 1);
        count += str_to_i64(str_cut(&rest, ','), 1, INT64_MAX, ret);
    }
    return count == EXPORT_ROWS;
}

static int print_verdict(const Client *client, const Json *answer)
{
    Arena *arena = client->arena;
    const Json *bad = json_get(answer, S("firstBad"));
    if (json_bool(json_get(answer, S("ok")))) {
        printf("The audit chain is whole: %.*s rows, head %.*s.\n",
               STR_ARG(output_value(arena, json_get(answer, S("rows")))),
               STR_ARG(output_value(arena, json_get(answer, S("head")))));
        return EXIT_DONE;
    }
    return output_failure(
        &(Failure){ .exit = EXIT_FAILED,
                    .error = S("the audit chain is broken"),
                    .why = str_format(arena, "row %.*s is %.*s",
                                      STR_ARG(output_value(arena, json_get(bad, S("seq")))),
                                      STR_ARG(output_value(arena, json_get(bad, S("problem"))))),
                    .hint = S("compare it with an export or a backup: docs/audit.md") });
}

// wait_for looks at the operation that verifies until it is over, however long that takes: the
// verdict is what was asked for. Who asks again meanwhile is given the same operation.
static int wait_for(const Client *client, Answer *answer)
{
    Str id = json_str(json_get(answer->json, S("id")));
    Str path = client_path(client->arena, "/v1/operations", str_z(client->arena, id), NULL);
    struct timespec pause = { .tv_nsec = 200L * 1000 * 1000 };
    fprintf(stderr, "Many rows: operation %.*s verifies them.\n", STR_ARG(id));
    for (;;) {
        int status = client_get(client, path, answer);
        if (status != EXIT_DONE || json_get(answer->json, S("ok")))
            return status;
        nanosleep(&pause, NULL);
    }
}

static int verify(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    int status = client_get(&client, of_chain(args, S("/v1/audit/verify")), &answer);
    if (status == EXIT_DONE && answer.status == 202)
        status = wait_for(&client, &answer);
    if (status != EXIT_DONE)
        return status;
    if (!client.json)
        return print_verdict(&client, answer.json);
    output_json(answer.text);
    return json_bool(json_get(answer.json, S("ok"))) ? EXIT_DONE : EXIT_FAILED;
}

// export_rows asks behind the last row that came, until fewer come than were asked for.
static int export_rows(CommandArgs *args)
{
    DEFER(arena_done) Arena arena = { 0 };
    Client client = client_open(args);
    Answer answer = { 0 };
    int64_t after = 0;
    int status = EXIT_DONE;
    bool has_more = true;
    Str asked_for = client_query(&client, asked(args, S("/v1/audit/export")), NAMED);
    asked_for =
        client_with(&client, asked_for, S("limit"), str_format(client.arena, "%d", EXPORT_ROWS));
    client.takes_text = true;
    client.arena = &arena;
    while (status == EXIT_DONE && has_more) {
        arena_reset(&arena);
        Str place = str_format(&arena, "%lld", (long long) after);
        status = client_get(&client, client_with(&client, asked_for, S("after"), place), &answer);
        has_more = status == EXIT_DONE && print_rows(answer.text, &after);
    }
    return status;
}

static int head(CommandArgs *args)
{
    return client_show(args, of_chain(args, S("/v1/audit/head")), NULL);
}

static const CommandVerb audit_verbs[] = {
    { "query", NULL, 0, 0, FILTERS " limit cursor", query },
    { "export", NULL, 0, 0, FILTERS, export_rows },
    { "verify", NULL, 0, 0, "installation", verify },
    { "head", NULL, 0, 0, "installation", head },
    { 0 },
};

static const CommandOption audit_options[] = {
    { "channel", "KEY", "only through this channel" },
    { "kind", "KIND", "only of this kind, such as Delivery.Attempt" },
    { "status", "STATUS", "only with this status, such as Parked" },
    { "site", "SITE", "only from this site" },
    { "instance", "NAME", "only from this instance of a site" },
    { "target", "ADDRESS", "only to this address" },
    { "actor", "ID", "only what this key did, or engine" },
    { "correlation-id", "ID", "only of events with this correlation id" },
    { "delivery", "ID", "only of this delivery" },
    { "errors-only", NULL, "only what did not go well" },
    { "installation", NULL, "of the installation itself: holds and releases" },
    { "from", "TIME", "at or after" },
    { "to", "TIME", "before" },
    { "limit", "N", "how many; 50 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_audit = {
    .name = "audit",
    .usage = "audit [query] [--kind KIND] [--channel KEY] [--OPTIONS]\n"
             "audit export [--kind KIND] [--channel KEY] [--OPTIONS]\n"
             "audit verify [--installation]\n"
             "audit head [--installation]",
    .summary = "Ask what happened, and whether the record of it is whole",
    .details =
        "Rows are linked by their hashes; verify walks along the chain and names the first\n"
        "row that was changed, is missing, was put elsewhere or was cut off. It exits with 1\n"
        "where there is one. More than 100,000 rows are verified by an operation, which it\n"
        "waits for.\n\n"
        "Examples:\n"
        "  peal audit --delivery 01975e3c-7a4b-7000-8000-2c9d3f5b1a60\n"
        "  peal audit --channel email:ops --errors-only --from 2026-05-14T00:00:00Z\n"
        "  peal audit export --from 2026-05-14T00:00:00Z > audit.ndjson\n"
        "  peal audit verify\n"
        "  peal audit verify --installation the chain of holds and releases\n"
        "  peal audit head                  to be kept elsewhere",
    .options = audit_options,
    .verbs = audit_verbs,
};
