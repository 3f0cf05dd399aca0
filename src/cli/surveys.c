// Surveys: what is kept of them as of other definitions (definitions.h), and their versions.

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/definitions.h"

static Str path_of(CommandArgs *args, const char *tail)
{
    return client_path(args_arena(args), "/v1/surveys", args_word(args, 0), tail);
}

static void print_warnings(const Client *client, const Json *warnings)
{
    for (JsonIter it = json_each(warnings); json_next(&it);)
        fprintf(stderr, "Warning: %.*s\n",
                STR_ARG(output_clean(client->arena, json_str(it.value))));
}

static int publish(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = "surveys";
    client.if_match = str_from(args_option(args, "if-version"));
    int status = client_call(&client, "POST", path_of(args, "publish"), STR_NONE, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    Str id = output_clean(client.arena, str_from(args_word(args, 0)));
    Str version = output_value(client.arena, json_get(answer.json, S("version")));
    bool is_new = json_bool(json_get(answer.json, S("isNew")));
    printf(is_new ? "Published %.*s: version %.*s.\n" : "%.*s is unchanged: version %.*s.\n",
           STR_ARG(id), STR_ARG(version));
    print_warnings(&client, json_get(answer.json, S("warnings")));
    return EXIT_DONE;
}

static const Column version_columns[] = {
    { "VERSION", "version" },
    { "DRAFT", "draft" },
    { "PUBLISHED AT", "publishedAt" },
};

static int versions(CommandArgs *args)
{
    ClientList wanted = {
        .path = path_of(args, "versions"),
        .options = "",
        .columns = version_columns,
        .column_count = ARRAY_LEN(version_columns),
        .noun = "versions",
    };
    return client_list(args, &wanted);
}

static const CommandVerb verbs[] = {
    NOUN_VERBS("an ID"),
    { "publish", "an ID", 1, 1, "if-version", publish },
    { "versions", "an ID", 1, 1, "limit cursor", versions },
    { 0 },
};

static const CommandOption options[] = {
    { "file", "FILE", "the survey as JSON; - for standard input" },
    { "if-version", "N", "change or publish it only if its draft is still at this version" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_surveys = {
    .name = "surveys",
    .usage = "surveys [list]\n"
             "surveys show ID\n"
             "surveys create -f FILE\n"
             "surveys update ID -f FILE [--if-version N]\n"
             "surveys set ID NAME=VALUE... [--if-version N]\n"
             "surveys publish ID [--if-version N]\n"
             "surveys versions ID\n"
             "surveys delete ID",
    .summary = "Ask people, and publish what they are asked",
    .details =
        "What is saved is a draft: events are matched with what was published last, and what\n"
        "was sent keeps its version. See docs/surveys.md.\n"
        "\n"
        "Examples:\n"
        "  peal surveys create -f csi.json\n"
        "  peal surveys publish csi\n"
        "  peal surveys set csi paging=one",
    .options = options,
    .verbs = verbs,
};
