// Campaigns: a file is sent, and how far it has come is shown until it is done.

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/input.h"

#include <errno.h>
#include <unistd.h>

#define CAMPAIGNS "/v1/campaigns"

enum {
    UPLOAD_SECONDS = 3600,
    FAILURES_PRINTED = 10,
};

static const Column columns[] = {
    { "ID", "id" },           { "TRIGGER", "trigger" }, { "STATE", "state" },
    { "DRY RUN", "dryRun" },  { "ROWS", "rows" },       { "CREATED", "created" },
    { "SKIPPED", "skipped" }, { "FAILED", "failed" },   { "CREATED AT", "createdAt" },
};

static int list(CommandArgs *args)
{
    ClientList wanted = {
        .path = S(CAMPAIGNS),
        .options = "",
        .columns = columns,
        .column_count = ARRAY_LEN(columns),
        .noun = "campaigns",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    return client_show(args, client_path(args_arena(args), CAMPAIGNS, args_word(args, 0), NULL),
                       "campaigns");
}

static int64_t number(const Answer *answer, Str name)
{
    int64_t n = 0;
    bool is_number = json_i64(json_get(answer->json, name), &n);
    return is_number ? n : 0;
}

static void print_counts(FILE *to, const Answer *answer)
{
    fprintf(to, "%lld of %lld rows: %lld created, %lld skipped, %lld failed",
            (long long) number(answer, S("done")), (long long) number(answer, S("rows")),
            (long long) number(answer, S("created")), (long long) number(answer, S("skipped")),
            (long long) number(answer, S("failed")));
}

static void print_end(const Client *client, const Answer *answer)
{
    Str state = json_str(json_get(answer->json, S("state")));
    size_t left = FAILURES_PRINTED;
    print_counts(stdout, answer);
    printf(" (%.*s)\n", STR_ARG(state));
    for (JsonIter it = json_each(json_get(answer->json, S("failures"))); json_next(&it) && left > 0;
         left--)
        printf("line %.*s: %.*s\n",
               STR_ARG(output_value(client->arena, json_get(it.value, S("line")))),
               STR_ARG(output_clean(client->arena, json_str(json_get(it.value, S("error"))))));
    if (number(answer, S("failed")) > FAILURES_PRINTED)
        printf("… and others: GET " CAMPAIGNS "/{id}/failures lists them.\n");
}

// follow looks at a campaign until it is over; on a terminal it shows how far that has come.
static int follow(Client *client, Str id, Answer *answer)
{
    DEFER(arena_done) Arena arena = { 0 };
    Arena *own = client->arena;
    struct timespec pause = { .tv_nsec = 200L * 1000 * 1000 };
    Str path = client_path(own, CAMPAIGNS, str_z(own, id), NULL);
    bool is_seen = isatty(STDERR_FILENO) == 1, is_over = false;
    int status = EXIT_DONE;
    while (status == EXIT_DONE && !is_over) {
        client->arena = &arena; // what is looked at in between is not kept
        status = client_get(client, path, answer);
        Str state = json_str(json_get(answer->json, S("state")));
        is_over = str_eq(state, S("done")) || str_eq(state, S("stopped"));
        if (status == EXIT_DONE && is_seen) {
            fprintf(stderr, "\r\033[K");
            print_counts(stderr, answer);
        }
        arena_reset(&arena);
        if (!is_over)
            nanosleep(&pause, NULL);
    }
    if (is_seen)
        fprintf(stderr, "\r\033[K");
    client->arena = own;
    return status == EXIT_DONE ? client_get(client, path, answer) : status;
}

// find_rows is what is sent: a file, which the client has then, or the name of a list.
static int find_rows(const CommandArgs *args, Client *client, InputFile *file, Str *ret)
{
    Buf text = buf_new(client->arena, BUF_WHOLE);
    JsonOut json = json_out(&text);
    const char *name = args_option(args, "list"), *path = args_word(args, 0);
    if (!name == !path)
        return output_failure(&(Failure){ .exit = EXIT_INVALID,
                                          .error = S("there is nothing to send, or too much"),
                                          .why = S("rows are those of a file, or of --list"),
                                          .hint = S("peal campaigns send --help") });
    if (path) {
        client->body_type = S("text/csv");
        client->file = file;
        if (input_open(path, file))
            return EXIT_DONE;
        return output_failure(
            &(Failure){ .exit = EXIT_INVALID,
                        .error = str_format(client->arena, "cannot read %s", path),
                        .why = str_from(strerror(errno)) });
    }
    json_open(&json, '{');
    json_put_str(&json, S("list"), str_from(name));
    json_close(&json, '}');
    *ret = buf_str(&text);
    return EXIT_DONE;
}

static Str path_of(const CommandArgs *args, const Client *client)
{
    static const char *const roles[] = { "address", "locale", "customerRef" };
    Str path = client_query(client, S(CAMPAIGNS), "survey trigger delimiter");
    if (args_flag(args, "dry-run"))
        path = client_with(client, path, S("dryRun"), S("true"));
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        const char *column = args_option(args, roles[i]);
        if (column)
            path = client_with(client, path, str_format(client->arena, "map.%s", roles[i]),
                               str_from(column));
    }
    return path;
}

static int send(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    DEFER(input_close) InputFile file = { .fd = -1 };
    Str list = STR_NONE;
    int status = find_rows(args, &client, &file, &list);
    client.timeout = UPLOAD_SECONDS * SPAN_SECOND;
    if (status == EXIT_DONE)
        status = client_call(&client, "POST", path_of(args, &client), list, &answer);
    client.file = NULL;
    if (status == EXIT_DONE && !args_flag(args, "no-wait"))
        status = follow(&client, json_str(json_get(answer.json, S("id"))), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else if (args_flag(args, "no-wait"))
        printf("%.*s\n", STR_ARG(json_str(json_get(answer.json, S("id")))));
    else
        print_end(&client, &answer);
    return str_eq(json_str(json_get(answer.json, S("state"))), S("stopped")) ? EXIT_FAILED
                                                                             : EXIT_DONE;
}

static int stop(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = "campaigns";
    Str path = client_path(client.arena, CAMPAIGNS, args_word(args, 0), "stop");
    int status = client_call(&client, "POST", path, STR_NONE, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print_end(&client, &answer);
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", list },
    { "send", "a FILE", 0, 1,
      "survey trigger list delimiter dry-run no-wait address locale customerRef", send },
    { "show", "an ID", 1, 1, "", show },
    { "stop", "an ID", 1, 1, "", stop },
    { 0 },
};

static const CommandOption options[] = {
    { "survey", "ID", "the survey whose trigger the rows are for" },
    { "trigger", "ID", "the trigger that each row is an event for" },
    { "list", "ID", "send to the members of this list instead of a file's rows" },
    { "delimiter", "WORD", "comma, semicolon, tab or bar; found in the first line unless said" },
    { "address", "COLUMN", "the column that has the address" },
    { "locale", "COLUMN", "the column that has the locale" },
    { "customerRef", "COLUMN", "the column that has the customer's reference" },
    { "dry-run", NULL, "say what would become of each row, and make nothing" },
    { "no-wait", NULL, "print the campaign's id, and do not wait for its end" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_campaigns = {
    .name = "campaigns",
    .usage = "campaigns [list]\n"
             "campaigns send FILE --trigger ID [--survey ID] [--dry-run] [--no-wait]\n"
             "campaigns send --list ID --trigger ID [--survey ID]\n"
             "campaigns show ID\n"
             "campaigns stop ID",
    .summary = "Send what a trigger sends to each row of a file, or to a list",
    .details =
        "The first line of the file names its columns: address, locale and customerRef say whom\n"
        "it goes to, all others are members of the payload. Sending it again makes nothing\n"
        "again. See docs/campaigns.md.\n"
        "\n"
        "Examples:\n"
        "  peal campaigns send people.csv --survey csi --trigger gr --dry-run\n"
        "  peal campaigns send people.csv --survey csi --trigger gr --address phone\n"
        "  peal campaigns send --list vip --survey csi --trigger gr\n"
        "  peal campaigns stop 019e24e6-9dd0-7001-a2c3-1f429443eea1",
    .options = options,
    .verbs = verbs,
};
