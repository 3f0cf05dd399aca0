// apply, diff: definitions from files to the server, with a plan that a person sees first.

#include "cli/apply.h"

#include "base/json.h"
#include "cli/commands.h"

#include <unistd.h>

enum { REQUEST_BYTES_MAX = 32 << 20, ANSWER_MAX = 16 };

// Actions, as the server calls them, and the sign that a person sees.
static const struct {
    const char *action, *sign, *color;
} signs[] = {
    { "create", "+", "32" },
    { "update", "~", "33" },
    { "delete", "-", "31" },
};

static void print_sign(Str action)
{
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        if (!str_eq(action, str_from(signs[i].action)))
            continue;
        if (output_has_color(stdout))
            printf("\033[%sm%s\033[0m ", signs[i].color, signs[i].sign);
        else
            printf("%s ", signs[i].sign);
    }
}

static Str shown(Arena *arena, const Json *value)
{
    return output_clean(arena, json_text(arena, value));
}

static void print_difference(Arena *arena, const Json *row)
{
    const Json *old = json_get(row, S("old")), *now = json_get(row, S("new"));
    printf("    %.*s  ", STR_ARG(output_clean(arena, json_str(json_get(row, S("path"))))));
    if (json_bool(json_get(row, S("secret"))))
        printf("(a secret changes)\n");
    else if (!old)
        printf("%.*s\n", STR_ARG(shown(arena, now)));
    else if (!now)
        printf("%.*s → nothing\n", STR_ARG(shown(arena, old)));
    else
        printf("%.*s → %.*s\n", STR_ARG(shown(arena, old)), STR_ARG(shown(arena, now)));
}

static void print_change(Arena *arena, const Json *change)
{
    Str action = json_str(json_get(change, S("action")));
    Str file = json_str(json_get(change, S("file")));
    const Json *more = json_get(change, S("more"));
    if (str_eq(action, S("none")))
        return;
    print_sign(action);
    printf("%.*s %.*s", STR_ARG(output_value(arena, json_get(change, S("kind")))),
           STR_ARG(output_value(arena, json_get(change, S("id")))));
    if (file.at)
        printf("  (%.*s)", STR_ARG(output_clean(arena, file)));
    if (json_bool(json_get(change, S("drifted"))))
        printf("  changed by hand since it was applied");
    printf("\n");
    for (JsonIter it = json_each(json_get(change, S("diff"))); json_next(&it);)
        print_difference(arena, it.value);
    if (more)
        printf("    and %.*s more\n", STR_ARG(output_value(arena, more)));
}

static int64_t count_of(const Json *plan, const char *name)
{
    int64_t count = 0;
    (void) json_i64(json_get(plan, str_from(name)), &count);
    return count;
}

static bool has_changes(const Json *plan)
{
    return count_of(plan, "created") + count_of(plan, "updated") + count_of(plan, "deleted") > 0;
}

// print_warnings tells what to look after, whether it changes or not.
static void print_warnings(Arena *arena, const Json *plan)
{
    for (JsonIter it = json_each(json_get(plan, S("changes"))); json_next(&it);)
        for (JsonIter warning = json_each(json_get(it.value, S("warnings"))); json_next(&warning);)
            fprintf(stderr, "Warning: %.*s %.*s: %.*s\n",
                    STR_ARG(output_value(arena, json_get(it.value, S("kind")))),
                    STR_ARG(output_value(arena, json_get(it.value, S("id")))),
                    STR_ARG(output_value(arena, warning.value)));
}

static void print_plan(Arena *arena, const Json *plan)
{
    for (JsonIter it = json_each(json_get(plan, S("changes"))); json_next(&it);)
        print_change(arena, it.value);
    printf("%lld to create, %lld to update, %lld to delete, %lld unchanged.\n",
           (long long) count_of(plan, "created"), (long long) count_of(plan, "updated"),
           (long long) count_of(plan, "deleted"), (long long) count_of(plan, "unchanged"));
    fflush(stdout);
    print_warnings(arena, plan);
}

// print_done tells what was made that is shown this once.
static void print_done(Arena *arena, const Json *done)
{
    for (JsonIter it = json_each(json_get(done, S("changes"))); json_next(&it);) {
        Str kind = output_value(arena, json_get(it.value, S("kind")));
        Str id = output_value(arena, json_get(it.value, S("id")));
        Str secret = json_str(json_get(it.value, S("secret")));
        if (secret.at)
            printf("%.*s %.*s has the secret %.*s; it is shown this once.\n", STR_ARG(kind),
                   STR_ARG(id), STR_ARG(output_clean(arena, secret)));
    }
    printf("Created %lld, updated %lld, deleted %lld.\n", (long long) count_of(done, "created"),
           (long long) count_of(done, "updated"), (long long) count_of(done, "deleted"));
}

// Request is what is asked of the server, but for whether it is only tried.
typedef struct Request {
    Client client;
    Project project;
    Str definitions;
    bool prunes, prunes_all;
} Request;

// check_prune: what is to go is what the files do not say, so that they have to say something. One
// that is empty on purpose is a list of nothing.
static int check_prune(CommandArgs *args, const Project *project)
{
    if (args_flag(args, "all") && !args_flag(args, "prune"))
        return args_usage(args, "--all goes with --prune");
    if (!args_flag(args, "prune") || project->definitions.count > 0 || project->says_none)
        return EXIT_DONE;
    return output_failure(
        &(Failure){ .exit = EXIT_INVALID,
                    .error = S("There are no definitions at all"),
                    .why = S("with --prune that would delete whatever was applied with this set"),
                    .hint = S("where that is meant, a file that says [] and nothing else") });
}

static int write_definitions(Request *request)
{
    Buf text = buf_new(request->client.arena, REQUEST_BYTES_MAX);
    JsonOut out = json_out(&text);
    int status = project_write(&request->project, &out);
    if (status == EXIT_DONE && text.overflowed)
        status = output_failure(&(Failure){ .exit = EXIT_INVALID,
                                            .error = S("The definitions are too many for one call"),
                                            .why = S("they are more than 32 MiB") });
    request->definitions = status == EXIT_DONE ? buf_str(&text) : STR_NONE;
    return status;
}

static int read_request(CommandArgs *args, Request *ret)
{
    const char *path = args_option(args, "file"), *set = args_option(args, "set");
    Arena *arena = args_arena(args);
    if (!path && !args_count(args))
        return args_usage(args, "The definitions are missing: -f DIR, -f FILE, or -f - for "
                                "standard input");
    int status = args_expect(args, NULL, 0, path ? 0 : 1);
    if (status == EXIT_DONE)
        status = project_read(arena, path ? path : args_word(args, 0), &ret->project);
    if (status == EXIT_DONE)
        status = check_prune(args, &ret->project);
    if (status != EXIT_DONE)
        return status;
    if (set)
        ret->project.set = str_from(set);
    ret->prunes = args_flag(args, "prune");
    ret->prunes_all = ret->prunes && args_flag(args, "all");
    ret->client = client_open(args);
    ret->client.timeout = 10 * (Span) SPAN_MINUTE;
    return write_definitions(ret);
}

// ask sends the definitions; plan is the one that was agreed to, none where nobody saw one.
static int ask(Request *request, bool is_dry, Str plan, Answer *ret)
{
    Buf text = buf_new(request->client.arena, REQUEST_BYTES_MAX + 4096);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("origin"), request->project.set);
    json_put_bool(&out, S("prune"), request->prunes);
    json_put_bool(&out, S("pruneAll"), request->prunes_all);
    json_put_bool(&out, S("dryRun"), is_dry);
    if (plan.at)
        json_put_str(&out, S("plan"), plan);
    json_put_raw(&out, S("definitions"), request->definitions);
    json_close(&out, '}');
    request->client.place = project_place;
    request->client.place_with = &request->project;
    return client_call(&request->client, "POST", S("/v1/apply"), buf_str(&text), ret);
}

int apply_all(const Client *client, const Project *project)
{
    Request request = { .client = *client, .project = *project };
    Answer done = { 0 };
    request.project.arena = client->arena;
    int status = write_definitions(&request);
    return status == EXIT_DONE ? ask(&request, false, STR_NONE, &done) : status;
}

// is_agreed asks a person. Nobody is asked who cannot answer.
static int is_agreed(const CommandArgs *args)
{
    char answer[ANSWER_MAX];
    if (args_flag(args, "yes"))
        return EXIT_DONE;
    if (isatty(0) != 1 || isatty(2) != 1)
        return output_failure(&(Failure){ .exit = EXIT_INVALID,
                                          .error = S("Nothing was applied"),
                                          .why = S("there is nobody to ask whether it should be"),
                                          .hint = S("--yes applies without asking") });
    fflush(stdout);
    fprintf(stderr, "Apply this? [y/N] ");
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return EXIT_DONE;
    fprintf(stderr, "Nothing was applied.\n");
    return EXIT_FAILED;
}

static int tell_none(const Request *request, const Answer *answer)
{
    if (request->client.json) {
        output_json(answer->text);
        return EXIT_DONE;
    }
    printf("No changes.\n");
    fflush(stdout);
    print_warnings(request->client.arena, answer->json);
    return EXIT_DONE;
}

static int apply(CommandArgs *args)
{
    Request request = { 0 };
    Answer plan = { 0 }, done = { 0 };
    int status = read_request(args, &request);
    if (status == EXIT_DONE)
        status = ask(&request, true, STR_NONE, &plan);
    if (status != EXIT_DONE)
        return status;
    bool has_any = has_changes(plan.json);
    if (has_any && !request.client.json)
        print_plan(request.client.arena, plan.json);
    if (has_any)
        status = is_agreed(args);
    // What says the same is still noted to be from these files.
    if (status == EXIT_DONE)
        status = ask(&request, false, json_str(json_get(plan.json, S("plan"))), &done);
    if (status != EXIT_DONE)
        return status;
    if (!has_any)
        return tell_none(&request, &done);
    if (request.client.json)
        output_json(done.text);
    else
        print_done(request.client.arena, done.json);
    return EXIT_DONE;
}

static int diff(CommandArgs *args)
{
    Request request = { 0 };
    Answer plan = { 0 };
    int status = read_request(args, &request);
    if (status == EXIT_DONE)
        status = ask(&request, true, STR_NONE, &plan);
    if (status != EXIT_DONE)
        return status == EXIT_FAILED ? EXIT_INVALID : status; // 1 says that there are differences
    if (!has_changes(plan.json))
        return tell_none(&request, &plan);
    if (request.client.json)
        output_json(plan.text);
    else
        print_plan(request.client.arena, plan.json);
    return EXIT_FAILED;
}

// clang-format off
#define FILE_OPTIONS                                                                               \
    { "file", "DIR", "a folder, a file, or - for standard input", .is_single = true },                      \
    { "set", "NAME", "the name of this set of files; that of the folder unless said" },            \
    { "prune", NULL, "delete what was applied with this set before, and is not in it" },           \
    { "all", NULL, "with --prune: delete all that is not in it, whoever made it" }

static const CommandOption apply_options[] = {
    FILE_OPTIONS,
    { "yes", NULL, "do not ask" },
    CLIENT_OPTIONS,
};
static const CommandOption diff_options[] = {
    FILE_OPTIONS,
    CLIENT_OPTIONS,
};
// clang-format on

const Command command_apply = {
    .name = "apply",
    .usage = "apply -f DIR [--set NAME] [--prune [--all]] [--yes]",
    .summary = "Make definitions say what files say",
    .details =
        "Files are YAML or JSON, each document a definition with its kind. What would change\n"
        "is shown first; all of it is done in one transaction, or nothing. What says the\n"
        "same already is left alone: a second apply says \"No changes.\" Nothing is deleted\n"
        "but with --prune. Secrets are {\"env\":\"NAME\"} or {\"file\":\"PATH\"}.\n"
        "\n"
        "  peal apply -f definitions\n"
        "  peal apply -f definitions --prune --yes        in CI\n"
        "  peal export | peal apply -f - --set copy --url http://other:7325 --yes",
    .options = apply_options,
    .run = apply,
};

const Command command_diff = {
    .name = "diff",
    .usage = "diff -f DIR [--set NAME] [--prune [--all]]",
    .summary = "Show what apply would change",
    .details =
        "Exits with 0 where there is nothing to change, 1 where there is, and 2 or more where\n"
        "that could not be found out.\n"
        "\n"
        "  peal diff -f definitions --prune",
    .options = diff_options,
    .run = diff,
};
