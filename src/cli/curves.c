// What happened, step by step; and what will be sent.

#include "base/time.h"
#include "cli/client.h"
#include "cli/commands.h"

static Str cell(Arena *arena, const Json *column, size_t i)
{
    int64_t n;
    return json_i64(json_at(column, i), &n) ? str_format(arena, "%lld", (long long) n) : S("-");
}

static void print_curves(Arena *arena, const Json *answer)
{
    static const Column columns[] = {
        { "TIME", "time" },     { "RECEIVED", "received" }, { "DELIVERED", "delivered" },
        { "FAILED", "failed" }, { "PARKED", "parked" },     { "DEPTH", "depth" },
        { "P50 MS", "p50" },    { "P95 MS", "p95" },        { "P99 MS", "p99" },
    };
    const Json *times = json_get(answer, S("times")), *latency = json_get(answer, S("latency"));
    size_t count = json_count(times);
    const Json **items = ARENA_ARRAY(arena, const Json *, count + 1);
    for (size_t i = 0; i < count; i++) {
        Error error = { .arena = arena };
        char text[TIME_TEXT_MAX];
        int64_t at = 0;
        Buf buf = buf_new(arena, 4096);
        JsonOut json = json_out(&buf);
        json_i64(json_at(times, i), &at);
        json_open(&json, '{');
        json_put_str(&json, S("time"), time_text(at * SPAN_SECOND, text));
        for (size_t j = 1; j < ARRAY_LEN(columns); j++) {
            const Json *of = j < 6 ? answer : latency;
            Str name = str_from(columns[j].member);
            json_put_str(&json, name, cell(arena, json_get(of, name), i));
        }
        json_close(&json, '}');
        if (json_parse(arena, buf_str(&buf), &items[i], &error) != ERR_OK)
            return;
    }
    output_list(arena, items, count, columns, ARRAY_LEN(columns));
}

static int ask(CommandArgs *args, Str path, const char *names,
               void (*print)(Arena *arena, const Json *answer))
{
    Client client = client_open(args);
    Answer answer = { 0 };
    int status = args_expect(args, NULL, 0, 0);
    if (status == EXIT_DONE)
        status = client_get(&client, client_query(&client, path, names), &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print(client.arena, answer.json);
    return EXIT_DONE;
}

static int curves(CommandArgs *args)
{
    return ask(args, S("/v1/curves"), "from to step channel tenant", print_curves);
}

static const CommandOption curves_options[] = {
    { "from", "TIME", "from the step that this time lies in on" },
    { "to", "TIME", "up to the end of the step that this time lies in" },
    { "step", "STEP", "1m (the default), 5m, 1h or 1d" },
    { "channel", "CHANNEL", "only what this channel did" },
    TENANT_OPTION,
    CLIENT_OPTIONS,
};

const Command command_curves = {
    .name = "curves",
    .usage = "curves [--step 1m|5m|1h|1d] [--from TIME] [--to TIME] [--channel CHANNEL]",
    .summary =
        "Say step by step what came in, arrived, failed and was parked, and how long it took",
    .details = "Without times these are the last 60 steps.\n\n"
               "Examples:\n"
               "  peal curves\n"
               "  peal curves --step 1h --channel email:primary --json",
    .options = curves_options,
    .run = curves,
};

static void print_plan(Arena *arena, const Json *answer)
{
    static const Column columns[] = {
        { "DAY", "day" },          { "COUNT", "count" },
        { "CHANNEL", "channel" },  { "LIMIT/S", "limitPerSecond" },
        { "PEAK", "peak.at" },     { "DUE THEN", "peak.count" },
        { "TAKES", "peak.lasts" },
    };
    const Json *days = json_get(answer, S("days"));
    size_t count = 0, room = json_count(days);
    bool is_estimate = false;
    for (JsonIter it = json_each(days); json_next(&it);)
        room += json_count(json_get(it.value, S("channels")));
    const Json **items = ARENA_ARRAY(arena, const Json *, room + 1);
    for (JsonIter it = json_each(days); json_next(&it);) {
        int64_t n = 0;
        is_estimate |= json_bool(json_get(it.value, S("isEstimate")));
        if (!json_i64(json_get(it.value, S("count")), &n) || n == 0)
            continue;
        items[count++] = it.value;
        for (JsonIter at = json_each(json_get(it.value, S("channels"))); json_next(&at);)
            items[count++] = at.value;
    }
    output_list(arena, items, count, columns, ARRAY_LEN(columns));
    if (!json_bool(json_get(answer, S("isPartial"))))
        return;
    Str until = json_str(json_get(answer, S("countedUntil")));
    if (is_estimate)
        printf("What is due from %.*s on is estimated from a sample.\n", STR_ARG(until));
    else
        printf("There is more than was looked at: from %.*s on at least so many are due.\n",
               STR_ARG(until));
}

static int plan(CommandArgs *args)
{
    return ask(args, S("/v1/plan"), "from to zone channel trigger entity tenant", print_plan);
}

static const CommandOption plan_options[] = {
    { "from", "TIME", "due at this time or later; else from now on" },
    { "to", "TIME", "due before this time; else 14 days later" },
    { "zone", "ZONE", "whose days these are, such as Europe/Berlin; else UTC" },
    { "channel", "CHANNEL", "sent on this channel" },
    { "trigger", "TRIGGER", "made by this trigger" },
    { "entity", "ENTITY", "about this entity" },
    TENANT_OPTION,
    CLIENT_OPTIONS,
};

const Command command_plan = {
    .name = "plan",
    .usage = "plan [--zone ZONE] [--from TIME] [--to TIME] [--channel CHANNEL]",
    .summary = "Say what will be sent, by day and channel",
    .details = "A line for each day on which anything is due, then its channels.\n\n"
               "Examples:\n"
               "  peal plan --zone Europe/Berlin\n"
               "  peal plan --entity inv_8812 --json",
    .options = plan_options,
    .run = plan,
};
