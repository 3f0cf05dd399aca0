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

static const Column response_columns[] = {
    { "ID", "id" },         { "COMPLETED AT", "completedAt" }, { "VERSION", "version" },
    { "AGENT", "agentId" }, { "ANSWERS", "answers" },
};

static int responses(CommandArgs *args)
{
    ClientList wanted = {
        .path = path_of(args, "responses"),
        .options = "",
        .columns = response_columns,
        .column_count = ARRAY_LEN(response_columns),
        .noun = "responses",
    };
    return client_list(args, &wanted);
}

static const Column result_columns[] = {
    { "QUESTION", "id" },     { "TYPE", "type" }, { "ANSWERS", "answers" },
    { "AVERAGE", "average" }, { "NPS", "nps" },   { "COUNTS", "counts" },
};

static void print_results(const Client *client, const Json *told)
{
    const Json *questions = json_get(told, S("questions"));
    const Json **items = ARENA_ARRAY(client->arena, const Json *, json_count(questions) + 1);
    for (JsonIter it = json_each(questions); json_next(&it);)
        items[it.index - 1] = it.value;
    Str count = output_value(client->arena, json_get(told, S("responses")));
    printf("%.*s responses\n", STR_ARG(count));
    output_list(client->arena, items, json_count(questions), result_columns,
                ARRAY_LEN(result_columns));
}

static int results(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = "surveys";
    Str path = client_query(&client, path_of(args, "results"), "from to trigger version");
    int status = client_get(&client, path, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print_results(&client, answer.json);
    return EXIT_DONE;
}

enum { EXPORT_ROWS = 1000 }; // asked for at a time

// last_row is where the last whole row of a table begins; rows is how many there are. A line end
// between quotes is part of a cell, and a quote within one stands twice.
static Str last_row(Str text, size_t *rows)
{
    Str last = STR_NONE, row = text;
    bool is_quoted = false;
    *rows = 0;
    for (size_t i = 0; i < text.len; i++) {
        is_quoted ^= text.at[i] == '"';
        if (text.at[i] != '\n' || is_quoted)
            continue;
        last = row;
        row = str_skip(text, i + 1);
        (*rows)++;
    }
    return last;
}

// export_rows asks behind the last row that came, until fewer come than were asked for.
static int export_rows(CommandArgs *args)
{
    DEFER(arena_done) Arena arena = { 0 };
    char after[UUID_TEXT_LEN] = "";
    Client client = client_open(args);
    Answer answer = { 0 };
    size_t rows = EXPORT_ROWS;
    int status = EXIT_DONE;
    Str whole = client_with(&client, path_of(args, "export"), S("limit"),
                            str_i64(client.arena, EXPORT_ROWS));
    client.takes_text = true;
    client.lists_with = "surveys";
    client.arena = &arena;
    while (status == EXIT_DONE && rows >= EXPORT_ROWS) {
        Str place = { after, sizeof after };
        Str path = after[0] ? client_with(&client, whole, S("after"), place) : whole;
        status = client_get(&client, path, &answer);
        Str last = status == EXIT_DONE ? last_row(answer.text, &rows) : STR_NONE;
        fwrite(answer.text.at, 1, status == EXIT_DONE ? answer.text.len : 0, stdout);
        if (last.len > sizeof after)
            memcpy(after, last.at + 1, sizeof after);
        arena_reset(&arena);
    }
    return status;
}

static const CommandVerb verbs[] = {
    NOUN_VERBS("an ID"),
    { "publish", "an ID", 1, 1, "if-version", publish },
    { "drafts", "an ID", 1, 2, "limit cursor", noun_drafts },
    { "versions", "an ID", 1, 1, "limit cursor", versions },
    { "responses", "an ID", 1, 1, "limit cursor", responses },
    { "results", "an ID", 1, 1, "from to trigger version", results },
    { "export", "an ID", 1, 1, "", export_rows },
    { 0 },
};

static const CommandOption options[] = {
    { "file", "FILE", "the survey as JSON; - for standard input" },
    { "if-version", "N", "change or publish it only if its draft is still at this version" },
    { "from", "TIME", "results from this day on" },
    { "to", "TIME", "results before this day" },
    { "trigger", "ID", "results of what this trigger asked" },
    { "version", "N", "results of what this version asked" },
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
             "surveys drafts ID [VERSION]\n"
             "surveys responses ID\n"
             "surveys results ID [--from TIME] [--to TIME] [--trigger ID] [--version N]\n"
             "surveys export ID\n"
             "surveys delete ID",
    .summary = "Ask people, publish what they are asked, and see what they answered",
    .details =
        "What is saved is a draft: events are matched with what was published last, and what\n"
        "was sent keeps its version. See docs/surveys.md.\n"
        "\n"
        "Examples:\n"
        "  peal surveys create -f csi.json\n"
        "  peal surveys publish csi\n"
        "  peal surveys set csi paging=one\n"
        "  peal surveys results csi --from 2026-05-01T00:00:00Z\n"
        "  peal surveys export csi > csi.csv",
    .options = options,
    .verbs = verbs,
};
