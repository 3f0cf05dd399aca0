// Listen: webhooks as they come in, verified or why not, and what became of them.

#include "base/time.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/hooks.h"
#include "providers/provider.h"

typedef struct Listening {
    const char *source; // NULL: all of them
    bool json;
} Listening;

// check_source fails where nothing can come: who waits for a name that nobody has waits for ever.
static int check_source(const CommandArgs *args, const char *source)
{
    Answer answer;
    Client client = client_open(args);
    client.lists_with = "sources";
    int status =
        client_get(&client, client_path(client.arena, "/v1/sources", source, NULL), &answer);
    if (status != EXIT_DONE)
        return status;
    if (str_eq(json_str(json_get(answer.json, S("provider"))), S("table")))
        return args_usage(args, "the source %s reads a table: no webhooks come to it", source);
    const Json *enabled = json_get(answer.json, S("enabled"));
    if (enabled && !json_bool(enabled))
        fprintf(stderr, "The source %s is disabled: what comes to it is answered 404.\n", source);
    return EXIT_DONE;
}

// words_of is a verdict as a person reads it, or its code where it is a newer one.
static Str words_of(Str code)
{
    for (int i = 0; i < TABLE_ROWS(HOOK_VERDICT_TABLE); i++)
        if (str_eq(code, str_from(hook_verdict_code((HookVerdict) i))))
            return str_from(hook_verdict_words((HookVerdict) i));
    return code;
}

static void print_hook(const Client *client, const Json *hook)
{
    Arena *arena = client->arena;
    Str verdict = json_str(json_get(hook, S("verdict"))), id = json_str(json_get(hook, S("id")));
    printf("%.*s  %.*s  %.*s  %.*s bytes  ",
           STR_ARG(output_value(arena, json_get(hook, S("time")))),
           STR_ARG(output_value(arena, json_get(hook, S("source")))),
           STR_ARG(output_value(arena, json_get(hook, S("provider")))),
           STR_ARG(output_value(arena, json_get(hook, S("size")))));
    if (id.len == 0) {
        printf("REFUSED (%.*s): %.*s\n", STR_ARG(output_clean(arena, verdict)),
               STR_ARG(output_clean(arena, words_of(verdict))));
        return;
    }
    bool is_verified = str_eq(verdict, str_from(hook_verdict_code(HOOK_VERIFIED)));
    printf("%s  %.*s\n", is_verified ? "verified" : "taken, nothing was verified",
           STR_ARG(output_clean(arena, id)));
    fflush(stdout);
    hook_print_result(client, id);
}

static bool told(void *with, Client *client, const Followed *frame)
{
    const Listening *listening = with;
    const char *source = listening->source;
    if (!frame->data || !str_eq(frame->event, S("hook")))
        return true;
    if (source && !str_eq(json_str(json_get(frame->data, S("source"))), str_from(source)))
        return true;
    if (listening->json)
        output_json(frame->text);
    else
        print_hook(client, frame->data);
    fflush(stdout);
    return true;
}

static int listen_to(CommandArgs *args)
{
    Listening listening = { .source = args_word(args, 0), .json = args_flag(args, "json") };
    int status = args_expect(args, "a SOURCE", 0, 1);
    if (status != EXIT_DONE)
        return status;
    if (listening.source)
        status = check_source(args, listening.source);
    if (status != EXIT_DONE)
        return status;
    return follow_run(args, S("/v1/stream?kinds=hook"), told, &listening);
}

static const CommandOption listen_options[] = { CLIENT_OPTIONS };

const Command command_listen = {
    .name = "listen",
    .usage = "listen [SOURCE]",
    .summary = "Watch webhooks come in: verified or why not, and what they started",
    .details = "Those that come to the node that is asked, from now on, until Ctrl-C. What was "
               "refused is\n"
               "kept nowhere, so only who listens sees it.\n\n"
               "Examples:\n"
               "  peal listen\n"
               "  peal listen gh-acme --json",
    .options = listen_options,
    .run = listen_to,
};
