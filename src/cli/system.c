// The installation as a whole: holding and releasing it, its clock, its health.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"

enum { BODY_BYTES_MAX = 64 * 1024 };

// A step of a manual clock answers when all that was due is done.
#define STEP_TIMEOUT (30 * SPAN_MINUTE)

// post sends {"member":"value"}, or nothing without a member, and prints the answer.
static int post(CommandArgs *args, Str path, const char *member, const char *value)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    Str body = STR_NONE;
    if (member) {
        Buf text = buf_new(client.arena, BODY_BYTES_MAX);
        JsonOut out = json_out(&text);
        json_open(&out, '{');
        json_put_str(&out, str_from(member), str_from(value));
        json_close(&out, '}');
        body = buf_str(&text);
    }
    client.timeout = STEP_TIMEOUT;
    int status = client_call(&client, "POST", path, body, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text.len > 0 ? answer.text : S("{}"));
    else if (json_count(answer.json) > 0)
        output_fields(client.arena, answer.json);
    else
        printf("Done.\n");
    return EXIT_DONE;
}

static int hold(CommandArgs *args)
{
    int status = args_expect(args, NULL, 0, 0);
    if (status != EXIT_DONE)
        return status;
    if (!args_option(args, "reason"))
        return args_usage(args, "Say why, for whoever finds it held: --reason TEXT");
    return post(args, S("/v1/hold"), "reason", args_option(args, "reason"));
}

static int release(CommandArgs *args)
{
    int status = args_expect(args, NULL, 0, 0);
    return status == EXIT_DONE ? post(args, S("/v1/release"), NULL, NULL) : status;
}

static int tick(CommandArgs *args)
{
    int status = args_expect(args, NULL, 0, 0);
    return status == EXIT_DONE ? post(args, S("/v1/tick"), NULL, NULL) : status;
}

static int clock_show(CommandArgs *args)
{
    return client_show(args, S("/v1/clock"), NULL);
}

static int clock_to(CommandArgs *args)
{
    return post(args, S("/v1/clock"), "set", args_word(args, 0));
}

static int clock_by(CommandArgs *args)
{
    return post(args, S("/v1/clock"), "advance", args_word(args, 0));
}

static const CommandVerb clock_verbs[] = {
    { "show", NULL, 0, 0, "", clock_show },
    { "set", "a time such as 2026-05-15T05:13:00Z", 1, 1, "", clock_to },
    { "advance", "a duration such as 24h", 1, 1, "", clock_by },
    { 0 },
};

static int health(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    int status = args_expect(args, NULL, 0, 0);
    client.takes_text = true;
    if (status == EXIT_DONE)
        status = client_get(&client, S("/readyz"), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        output_json(answer.text);
        return EXIT_DONE;
    }
    printf("Peal at %.*s is ready.\n", STR_ARG(client.url));
    output_fields(client.arena, answer.json);
    return EXIT_DONE;
}

static const CommandOption hold_options[] = {
    { "reason", "TEXT", "why, for whoever finds it held" },
    CLIENT_OPTIONS,
};

static const CommandOption plain_options[] = { CLIENT_OPTIONS };

const Command command_hold = {
    .name = "hold",
    .usage = "hold --reason TEXT",
    .summary = "Take events in but send nothing, until released",
    .details = "Examples:\n"
               "  peal hold --reason 'the mail relay moves at noon'",
    .options = hold_options,
    .run = hold,
};

const Command command_release = {
    .name = "release",
    .usage = "release",
    .summary = "Send again after a hold",
    .options = plain_options,
    .run = release,
};

const Command command_tick = {
    .name = "tick",
    .usage = "tick",
    .summary = "Do all that is due now, and say how much that was",
    .options = plain_options,
    .run = tick,
};

const Command command_clock = {
    .name = "clock",
    .usage = "clock [show]\n"
             "clock set TIME\n"
             "clock advance DURATION",
    .summary = "Show the server's clock; move it, where it is manual",
    .details = "A clock that was moved answers when all that fell due on the way is done.\n\n"
               "Examples:\n"
               "  peal clock\n"
               "  peal clock advance 24h\n"
               "  peal clock set 2026-05-15T05:13:00Z",
    .options = plain_options,
    .verbs = clock_verbs,
};

const Command command_health = {
    .name = "health",
    .usage = "health",
    .summary = "Say whether the server is ready, and if not, why",
    .options = plain_options,
    .run = health,
};
