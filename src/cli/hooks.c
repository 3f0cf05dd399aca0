// Hooks: sending an example of a provider's webhook, signed as the provider signs, so that a
// trigger can be seen to fire without a tunnel.

#include "cli/hooks.h"

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/signing.h"
#include "cli/why.h"

enum { LOOKS_MAX = 50 };

// Sending is one example on its way.
typedef struct Sending {
    Client client;
    const Provider *provider;
    const ProviderExample *example;
    Str source; // its id
    Str url;    // where it goes
    Str secret;
    const Json *config; // of the source; NULL
} Sending;

// list_examples lists those of --provider, or of all.
static int list_examples(const CommandArgs *args)
{
    Grid grid = grid_new(args_arena(args), 2);
    Str wanted = str_from(args_option(args, "provider"));
    grid_add(&grid, S("PROVIDER"));
    grid_add(&grid, S("EVENT"));
    for (ProviderName name = 0; name < PROVIDERS; name++) {
        const Provider *provider = provider_of(name);
        Str id = str_from(provider_id_text(name));
        for (size_t i = 0; provider && i < provider->example_count; i++) {
            if (wanted.at && !str_eq(id, wanted))
                continue;
            grid_add(&grid, id);
            grid_add(&grid, str_from(provider->examples[i].event));
        }
    }
    grid_print(&grid, (GridStyle){ .has_titles = true });
    return EXIT_DONE;
}

// find_example finds what is to be sent; the provider's first unless said.
static int find_example(Sending *sending, const CommandArgs *args)
{
    const char *event = args_option(args, "event");
    const Provider *provider = sending->provider;
    for (size_t i = 0; i < provider->example_count && !sending->example; i++)
        if (!event || strcmp(provider->examples[i].event, event) == 0)
            sending->example = &provider->examples[i];
    if (sending->example)
        return EXIT_DONE;
    return args_usage(args, "there is no example \"%s\"; --list tells which there are",
                      event ? event : "");
}

static int find_provider(const CommandArgs *args, const Provider **ret)
{
    const char *id = args_option(args, "provider");
    ProviderName name;
    if (!id)
        return args_usage(args, "--provider is missing; --list tells which there are");
    if (!provider_name_parse(str_from(id), &name) || !provider_of(name) || !provider_of(name)->sign)
        return args_usage(args, "there are no examples of \"%s\"", id);
    *ret = provider_of(name);
    return EXIT_DONE;
}

// take_secret reads the secret from an answer that shows it this once.
static int take_secret(Sending *sending, const Json *json)
{
    sending->secret = str_dup(sending->client.arena, json_str(json_get(json, S("secret"))));
    if (sending->secret.len > 0)
        return EXIT_DONE;
    return output_failure(&(Failure){ .exit = EXIT_FAILED,
                                      .error = S("The server has shown no secret"),
                                      .hint = S("--secret S or PEAL_HOOK_SECRET") });
}

// make_source makes a source to try with; its secret is shown this once.
static int make_source(Sending *sending)
{
    Answer answer;
    Str body = str_format(sending->client.arena, "{\"id\":\"%.*s\",\"provider\":\"%s\"}",
                          STR_ARG(sending->source), provider_id_text(sending->provider->name));
    int status = client_call(&sending->client, "POST", S("/v1/sources"), body, &answer);
    return status == EXIT_DONE ? take_secret(sending, answer.json) : status;
}

static int rotate_secret(Sending *sending)
{
    Answer answer;
    Arena *arena = sending->client.arena;
    Str path = client_path(arena, "/v1/sources", str_z(arena, sending->source), "rotate");
    int status = client_call(&sending->client, "POST", path, S("{\"overlap\":\"24h\"}"), &answer);
    return status == EXIT_DONE ? take_secret(sending, answer.json) : status;
}

// find_secret: what was given; else that of a source of our own, made or rotated. The secret of
// somebody's source is changed only where that was asked for.
static int find_secret(Sending *sending, const CommandArgs *args, bool is_there)
{
    const char *given = args_option(args, "secret");
    given = given ? given : getenv("PEAL_HOOK_SECRET");
    if (given) {
        sending->secret = str_from(given);
        return EXIT_DONE;
    }
    if (!is_there && !args_option(args, "source"))
        return make_source(sending);
    if (!args_option(args, "source") || args_flag(args, "new-secret"))
        return rotate_secret(sending);
    return args_usage(args, "the secret of the source is needed: --secret S or PEAL_HOOK_SECRET; or"
                            " --new-secret gives it another one");
}

// find_source asks the server where the source listens, and how it wants to be signed.
static int find_source(Sending *sending)
{
    Answer answer;
    Arena *arena = sending->client.arena;
    Str path = client_path(arena, "/v1/sources", str_z(arena, sending->source), NULL);
    int status = client_get(&sending->client, path, &answer);
    if (status != EXIT_DONE)
        return status;
    Str url = json_str(json_get(answer.json, S("url")));
    sending->config = json_get(answer.json, S("config"));
    if (json_type(sending->config) != JSON_OBJECT)
        sending->config = NULL;
    sending->url = str_starts(url, S("/"))
                       ? str_format(arena, "%.*s%.*s", STR_ARG(sending->client.url), STR_ARG(url))
                       : url;
    return EXIT_DONE;
}

static int find_way(Sending *sending, const CommandArgs *args)
{
    Answer answer;
    Arena *arena = sending->client.arena;
    const char *source = args_option(args, "source"), *to = args_option(args, "to");
    bool has_secret = args_option(args, "secret") || getenv("PEAL_HOOK_SECRET");
    if (to && !has_secret)
        return args_usage(args, "--to needs the secret of who listens there: --secret S or "
                                "PEAL_HOOK_SECRET");
    sending->source = source
                          ? str_from(source)
                          : str_format(arena, "try-%s", provider_id_text(sending->provider->name));
    if (to) {
        sending->url = str_from(to);
        return find_secret(sending, args, true);
    }
    bool is_there = client_look(
        &sending->client, client_path(arena, "/v1/sources", str_z(arena, sending->source), NULL),
        &answer);
    int status = find_secret(sending, args, is_there);
    return status == EXIT_DONE ? find_source(sending) : status;
}

static Instant now(void)
{
    Clock clock;
    clock_init_system(&clock);
    return clock_now(&clock);
}

static int read_body(const CommandArgs *args, const ProviderExample *example, Str *ret)
{
    Input data = { 0 };
    *ret = provider_example(args_arena(args), example, now());
    if (!args_option(args, "data"))
        return EXIT_DONE;
    int status = input_json(args_arena(args), args_option(args, "data"), &data);
    *ret = data.text;
    return status;
}

static int post(const Sending *sending, Str body, TransferResult *ret)
{
    const ProviderExample *example = sending->example;
    HookHeader kind = { 0 };
    if (example->header)
        kind = signed_kind(example->header);
    *ret =
        signed_post(sending->client.arena, &(SignedHook){ .provider = sending->provider,
                                                          .url = sending->url,
                                                          .secret = sending->secret,
                                                          .config = sending->config,
                                                          .headers = &kind,
                                                          .header_count = example->header != NULL,
                                                          .body = body,
                                                          .at = now(),
                                                          .ca = sending->client.ca,
                                                          .timeout = sending->client.timeout });
    if (ret->problem == TRANSFER_ANSWERED)
        return EXIT_DONE;
    return output_failure(&(Failure){ .exit = EXIT_UNREACHABLE,
                                      .error = S("The webhook could not be sent"),
                                      .why = ret->problem_text });
}

static void print_answer(const Sending *sending, const TransferResult *result)
{
    Arena *arena = sending->client.arena;
    const Json *json = NULL;
    if (json_parse(arena, result->body, &json, NULL) != ERR_OK)
        json = NULL;
    Str id = json_str(json_get(json, S("id"))), why = json_str(json_get(json, S("detail")));
    printf("%s %s to %.*s: %d\n", provider_id_text(sending->provider->name),
           sending->example->event, STR_ARG(output_clean(arena, sending->url)), result->status);
    if (why.len > 0)
        printf("  %.*s (%.*s)\n", STR_ARG(output_clean(arena, why)),
               STR_ARG(output_value(arena, json_get(json, S("code")))));
    fflush(stdout);
    if (result->status == 200 && id.len > 0)
        hook_print_result(&sending->client, id);
}

static int send_one(CommandArgs *args)
{
    Sending sending = { .client = client_open(args) };
    TransferResult result;
    Str body = STR_NONE;
    if (args_flag(args, "list"))
        return list_examples(args);
    int status = find_provider(args, &sending.provider);
    if (status != EXIT_DONE)
        return status;
    assert(sending.provider);
    status = find_example(&sending, args);
    if (status != EXIT_DONE)
        return status;
    assert(sending.example);
    status = read_body(args, sending.example, &body);
    if (status == EXIT_DONE)
        status = find_way(&sending, args);
    if (status == EXIT_DONE)
        status = post(&sending, body, &result);
    if (status != EXIT_DONE)
        return status;
    if (sending.client.json)
        output_json(result.body);
    else
        print_answer(&sending, &result);
    return result.status == 200 ? EXIT_DONE : EXIT_FAILED;
}

// Result is what became of a webhook: the row of the inbox, and its first event, which has its id.
typedef struct Result {
    Answer row, event;
    bool has_event, is_over;
} Result;

// look_at looks at the row first: its event is there before it is said to be completed.
static Result look_at(const Client *client, Str id)
{
    Result result = { 0 };
    const char *text = str_z(client->arena, id);
    if (client_look(client, client_path(client->arena, "/v1/inbox", text, NULL), &result.row)) {
        Str status = json_str(json_get(result.row.json, S("status")));
        result.is_over = str_eq(status, S("completed")) || str_eq(status, S("failed"));
    }
    Str event = client_path(client->arena, "/v1/events", text, NULL);
    result.has_event = client_look(client, event, &result.event);
    result.is_over |= result.has_event;
    return result;
}

void hook_print_result(const Client *client, Str id)
{
    struct timespec pause = { .tv_nsec = 100L * 1000 * 1000 };
    Result result = look_at(client, id);
    for (int i = 0; i < LOOKS_MAX && !result.is_over; i++) {
        nanosleep(&pause, NULL);
        result = look_at(client, id);
    }
    if (result.has_event) {
        printf("  event %.*s\n",
               STR_ARG(output_value(client->arena, json_get(result.event.json, S("kind")))));
        why_print(client, id, "    ");
        return;
    }
    printf("  %s %.*s  %.*s\n", result.is_over ? "no event:" : "not drained yet:",
           STR_ARG(output_value(client->arena, json_get(result.row.json, S("reason")))),
           STR_ARG(output_value(client->arena, json_get(result.row.json, S("error")))));
}

static const CommandVerb hooks_verbs[] = {
    { "send", NULL, 0, 0, "provider event source to secret new-secret data list", send_one },
    { 0 },
};

static const CommandOption hooks_options[] = {
    { "provider", "P", "whose webhook: github, stripe …" },
    { "event", "E", "which of its examples, such as issues.opened; the first unless said" },
    { "list", NULL, "the examples that there are" },
    { "source", "ID", "to this source; try-PROVIDER unless said, which is made" },
    { "to", "URL", "to this URL, with --secret, instead of the source's own" },
    { "secret", "S", "the source's secret (PEAL_HOOK_SECRET)" },
    { "new-secret", NULL,
      "give the source another secret and use it; the last one holds for 24 h" },
    { "data", "JSON", "another body of that event: JSON, @FILE, or - for standard input" },
    CLIENT_OPTIONS,
};

const Command command_hooks = {
    .name = "hooks",
    .usage = "hooks send --provider P [--event E] [--source ID] [--secret S | --new-secret] "
             "[--data JSON]\n"
             "hooks send --list",
    .summary = "Send an example of a webhook, signed, and see what it starts",
    .details = "Without a source it makes one, try-PROVIDER, and signs with its secret. A source "
               "of yours is\n"
               "signed for with --secret.\n\n"
               "Examples:\n"
               "  peal hooks send --list\n"
               "  peal hooks send --provider github --event issues.opened\n"
               "  PEAL_HOOK_SECRET=… peal hooks send --provider github --source gh-acme --data "
               "@issue.json",
    .options = hooks_options,
    .verbs = hooks_verbs,
};
