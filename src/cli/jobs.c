// Jobs: what is kept of them as of other definitions (definitions.h), and what is done with them.

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/dead.h"
#include "cli/definitions.h"

enum { JOB_BODY_MAX = 1 << 20 };

static Str path_of(CommandArgs *args, const char *tail)
{
    const char *base = str_eq(str_from(args_command(args)->name), S("automations"))
                           ? "/v1/automations"
                           : "/v1/jobs";
    return client_path(args_arena(args), base, args_word(args, 0), tail);
}

// ask posts to something of the job and says so, with the members of the answer that are named, by
// blanks.
static int ask(CommandArgs *args, const char *tail, Str body, const char *done, const char *members)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = args_command(args)->name;
    int status = client_call(&client, "POST", path_of(args, tail), body, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    printf("%s %.*s", done, STR_ARG(output_clean(client.arena, str_from(args_word(args, 0)))));
    const char *mark = ":";
    for (Str rest = str_from(members); rest.len > 0; mark = ",") {
        Str name = str_cut(&rest, ' ');
        Str value = output_value(client.arena, json_get(answer.json, name));
        printf("%s %.*s %.*s", mark, STR_ARG(name), STR_ARG(value));
    }
    printf(".\n");
    return EXIT_DONE;
}

static void put_text(JsonOut *out, const CommandArgs *args, const char *option, const char *member)
{
    const char *value = args_option(args, option);
    if (value)
        json_put_str(out, str_from(member), str_from(value));
}

// put_json writes an option that is JSON; false: it is none.
static bool put_json(JsonOut *out, const CommandArgs *args, const char *option, const char *member)
{
    const Json *json;
    Str value = str_from(args_option(args, option));
    if (!value.at)
        return true;
    if (json_parse(args_arena(args), value, &json, NULL) != ERR_OK)
        return false;
    json_put_raw(out, str_from(member), value);
    return true;
}

// read_job makes a definition of the options.
static int read_job(CommandArgs *args, Str *ret)
{
    Buf body = buf_new(args_arena(args), JOB_BODY_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    json_put_str(&out, S("name"), str_from(args_word(args, 0)));
    put_text(&out, args, "handler", "handler");
    put_text(&out, args, "cron", "cron");
    put_text(&out, args, "zone", "zone");
    put_text(&out, args, "missed", "missed");
    put_text(&out, args, "missed-window", "missedWindow");
    put_text(&out, args, "overlap", "overlap");
    put_text(&out, args, "timeout", "timeout");
    if (!put_json(&out, args, "max-retries", "maxRetries"))
        return args_usage(args, "--max-retries must be a whole number");
    if (!put_json(&out, args, "payload", "payload"))
        return args_usage(args, "--payload must be a JSON object");
    json_close(&out, '}');
    *ret = buf_str(&body);
    return EXIT_DONE;
}

static int create(CommandArgs *args)
{
    Str body;
    if (args_option(args, "file"))
        return noun_create(args);
    if (args_count(args) == 0 || !args_option(args, "handler"))
        return args_usage(args, "Say what the job is: NAME --handler KEY, or -f FILE");
    int status = read_job(args, &body);
    return status == EXIT_DONE ? noun_create_of(args, body) : status;
}

static int trigger(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), JOB_BODY_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    put_text(&out, args, "entity", "entity");
    if (!put_json(&out, args, "payload", "payload"))
        return args_usage(args, "--payload must be a JSON object");
    json_close(&out, '}');
    bool is_job = str_eq(str_from(args_command(args)->name), S("jobs"));
    return ask(args, is_job ? "trigger" : "run", buf_str(&body), "Asked for a run of",
               "executionId");
}

static int enable(CommandArgs *args)
{
    return ask(args, "enable", STR_NONE, "Enabled job", "");
}

static int disable(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), JOB_BODY_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    put_text(&out, args, "reason", "reason");
    json_close(&out, '}');
    return ask(args, "disable", buf_str(&body), "Disabled job", "");
}

static int backfill(CommandArgs *args)
{
    Buf body = buf_new(args_arena(args), JOB_BODY_MAX);
    JsonOut out = json_out(&body);
    if (!args_option(args, "from") || !args_option(args, "to"))
        return args_usage(args, "The range is missing: --from TIME --to TIME");
    json_open(&out, '{');
    put_text(&out, args, "from", "from");
    put_text(&out, args, "to", "to");
    json_close(&out, '}');
    return ask(args, "backfill", buf_str(&body), "Asked for the occurrences of", "made repeated");
}

static int next(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    client.lists_with = args_command(args)->name;
    int status =
        client_get(&client, client_query(&client, path_of(args, "next"), "count"), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    for (JsonIter it = json_each(json_get(answer.json, S("items"))); json_next(&it);)
        printf("%.*s\n", STR_ARG(output_value(client.arena, json_get(it.value, S("local")))));
    return EXIT_DONE;
}

static const Column execution_columns[] = {
    { "EXECUTION", "executionId" }, { "SOURCE", "source" },       { "STARTED", "startedAt" },
    { "COMPLETED", "completedAt" }, { "SUCCEEDED", "succeeded" }, { "MESSAGE", "message" },
};

static int executions(CommandArgs *args)
{
    return client_list(args, &(ClientList){ .path = path_of(args, "executions"),
                                            .options = "",
                                            .columns = execution_columns,
                                            .column_count = ARRAY_LEN(execution_columns),
                                            .noun = "executions" });
}

static int dead(CommandArgs *args)
{
    return dead_print(args, args_word(args, 0));
}

static const CommandVerb jobs_verbs[] = {
    { "list", NULL, 0, 0, "limit cursor", noun_list },
    { "show", "a NAME", 1, 1, "", noun_show },
    NOUN_VERSIONS("a NAME"),
    { "create", "a NAME", 0, 1,
      "file handler cron zone payload max-retries missed missed-window overlap timeout", create },
    { "update", "a NAME", 1, 1, "file if-version", noun_update },
    { "set", "a NAME and NAME=VALUE", 2, DEFINITION_SETTINGS_MAX + 1, "if-version", noun_set },
    { "delete", "a NAME", 1, 1, "", noun_delete },
    { "trigger", "a NAME", 1, 1, "entity payload", trigger },
    { "enable", "a NAME", 1, 1, "", enable },
    { "disable", "a NAME", 1, 1, "reason", disable },
    { "next", "a NAME", 1, 1, "count", next },
    { "executions", "a NAME", 1, 1, "limit cursor", executions },
    { "backfill", "a NAME", 1, 1, "from to", backfill },
    { "dead", "a NAME", 0, 1, "limit cursor", dead },
    { 0 },
};

static const CommandOption jobs_options[] = {
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    { "handler", "KEY", "the channel that runs it" },
    { "cron", "EXPR", "when it is due; without it the job is deferred-only" },
    { "zone", "ZONE", "the time zone of the expression; UTC unless said" },
    { "payload", "JSON", "what the handler is given" },
    { "max-retries", "N", "after the first try; 3 unless said" },
    { "missed", "POLICY", "once skip all: what is made up after downtime" },
    { "missed-window", "SPAN", "what is older is not made up" },
    { "overlap", "POLICY", "skip allow queue: where the last run still goes on" },
    { "timeout", "SPAN", "of one try" },
    { "entity", "ENTITY", "what the run is about" },
    { "reason", "TEXT", "why; shown while it is disabled" },
    { "count", "N", "so many times; 5 unless said" },
    { "from", "TIME", "the first moment of the range" },
    { "to", "TIME", "its end" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_jobs = {
    .name = "jobs",
    .usage = "jobs [list]\n"
             "jobs show NAME\n"
             "jobs versions NAME [VERSION]\n"
             "jobs create NAME --handler KEY [--cron EXPR] [--zone ZONE] [--payload JSON] ...\n"
             "jobs create -f FILE\n"
             "jobs update NAME -f FILE [--if-version N]\n"
             "jobs set NAME MEMBER=VALUE... [--if-version N]\n"
             "jobs trigger NAME [--entity ENTITY] [--payload JSON]\n"
             "jobs enable NAME\n"
             "jobs disable NAME [--reason TEXT]\n"
             "jobs next NAME [--count N]\n"
             "jobs executions NAME\n"
             "jobs backfill NAME --from TIME --to TIME\n"
             "jobs dead [NAME]\n"
             "jobs delete NAME",
    .summary = "Run handlers by the clock, by hand or later",
    .details = "set changes the members that it names, as for triggers. A dead letter is tried\n"
               "again, or given up, by `peal dead retry|discard ID`. See docs/jobs.md.\n"
               "\n"
               "Examples:\n"
               "  peal jobs create rates --cron '15 12 * * *' --zone Europe/Warsaw --handler "
               "http:rates\n"
               "  peal jobs trigger rates\n"
               "  peal jobs disable rates --reason 'the bank is closed'\n"
               "  peal jobs executions rates",
    .options = jobs_options,
    .verbs = jobs_verbs,
};

static const CommandVerb automations_verbs[] = {
    NOUN_VERBS("an ID"),
    NOUN_VERSIONS("an ID"),
    { "run", "an ID", 1, 1, "entity payload", trigger },
    { 0 },
};

static const CommandOption automations_options[] = {
    { "file", "FILE", "the definition as JSON; - for standard input" },
    { "if-version", "N", "change it only if it is still at this version" },
    { "entity", "ENTITY", "what the run is about" },
    { "payload", "JSON", "what the handler is given" },
    PAGE_OPTIONS,
    CLIENT_OPTIONS,
};

const Command command_automations = {
    .name = "automations",
    .usage = "automations [list]\n"
             "automations show ID\n"
             "automations versions ID [VERSION]\n"
             "automations create -f FILE\n"
             "automations update ID -f FILE [--if-version N]\n"
             "automations set ID NAME=VALUE... [--if-version N]\n"
             "automations run ID [--entity ENTITY] [--payload JSON]\n"
             "automations delete ID",
    .summary = "Run handlers by triggers, by several schedules each, or by hand",
    .details =
        "set changes the members that it names, as for triggers. See docs/automations.md.\n"
        "\n"
        "Examples:\n"
        "  echo '{\"id\":\"triage\",\"handler\":\"http:triage\"}' | peal automations create -f -\n"
        "  peal automations run triage --payload '{\"issue\":7}'",
    .options = automations_options,
    .verbs = automations_verbs,
};
