// Top: what a server does right now, looked at once a second. Everything comes from /metrics and
// /v1/causes; rates are the difference of two looks.

#include "base/clock.h"
#include "cli/causes.h"
#include "cli/commands.h"

#include <unistd.h>

enum { LANES_SHOWN = 10, CAUSES_SHOWN = 5, CAUSES_LOOKED_AT = 500, JSON_BYTES_MAX = 1 << 20 };

#define EVERY SPAN_SECOND

// Sample is one line of the metrics: peal_deliveries{channel="x",state="parked"} 3
typedef struct Sample {
    Str name, labels;
    double value;
} Sample;

// Lane is a channel as the metrics tell it.
typedef struct Lane {
    Str tenant, channel;
    double live, parked, oldest;
} Lane;

// Look is one look at the server.
typedef struct Look {
    Instant at; // monotonic
    Str metrics;
} Look;

// Rate is what grew from one look to the next, by the second.
typedef struct Rate {
    const char *name;   // for a person and in JSON
    const char *metric; // a counter, all series of it summed
} Rate;

static const Rate rates[] = {
    { "events", "peal_events_total" },       { "deliveries", "peal_deliveries_created_total" },
    { "delivered", "peal_delivered_total" }, { "retried", "peal_retried_total" },
    { "parked", "peal_parked_total" },
};

static const Rate gauges[] = {
    { "inFlight", "peal_in_flight" },
    { "writerWaiting", "peal_writer_waiting" },
};

// States that something still comes of, or that a person has to look at.
static const char *const live_states[] = { "pending", "sending", "retrying", "waiting" };

// number reads what Peal prints: digits, perhaps with a fraction.
static double number(Str text)
{
    Str fraction = text, whole = str_cut(&fraction, '.');
    int64_t n = 0, part = 0;
    if (!str_to_i64(whole, 0, INT64_MAX, &n))
        return 0;
    double value = (double) n, scale = 1;
    for (size_t i = 0; i < fraction.len; i++)
        scale *= 10;
    if (fraction.len > 0 && str_to_i64(fraction, 0, INT64_MAX, &part))
        value += (double) part / scale;
    return value;
}

// next_sample reads the next line that is one; false: there is none.
static bool next_sample(Str *rest, Sample *ret)
{
    while (rest->len > 0) {
        Str line = str_cut(rest, '\n');
        size_t end = line.len;
        if (str_starts(line, S("#")))
            continue;
        while (end > 0 && line.at[end - 1] != ' ')
            end--;
        if (end == 0)
            continue;
        ret->value = number(str_skip(line, end));
        ret->labels = (Str){ line.at, end - 1 };
        ret->name = str_cut(&ret->labels, '{');
        return true;
    }
    return false;
}

// label is the value of a label; none where there is none. Peal escapes only what no name has.
static Str label(Str labels, Str name)
{
    while (labels.len > 0) {
        Str key = str_cut(&labels, '=');
        Str value = str_skip(labels, 1);
        size_t len = 0;
        while (len < value.len && value.at[len] != '"')
            len++;
        if (str_eq(key, name))
            return (Str){ value.at, len };
        labels = str_skip(value, len + 2 < value.len ? len + 2 : value.len);
    }
    return STR_NONE;
}

// sum adds up all series of a metric, of one state where it is given.
static double sum(Str metrics, const char *name, const char *state)
{
    double total = 0;
    Sample sample;
    while (next_sample(&metrics, &sample))
        if (str_eq(sample.name, str_from(name)) &&
            (!state || str_eq(label(sample.labels, S("state")), str_from(state))))
            total += sample.value;
    return total;
}

static bool is_live(Str state)
{
    for (size_t i = 0; i < ARRAY_LEN(live_states); i++)
        if (str_eq(state, str_from(live_states[i])))
            return true;
    return false;
}

static int by_need(const void *a, const void *b)
{
    const Lane *x = a, *y = b;
    double left = x->live + x->parked, right = y->live + y->parked;
    if (x->oldest != y->oldest)
        return x->oldest > y->oldest ? -1 : 1;
    return left > right ? -1 : left < right;
}

static Lane *lane_of(Lane *lanes, size_t *count, Str labels)
{
    Str tenant = label(labels, S("tenant")), channel = label(labels, S("channel"));
    for (size_t i = *count; i-- > 0;)
        if (str_eq(lanes[i].channel, channel) && str_eq(lanes[i].tenant, tenant))
            return &lanes[i];
    lanes[*count] = (Lane){ .tenant = tenant, .channel = channel };
    return &lanes[(*count)++];
}

// read_lanes finds the channels that have something to do, those that wait longest first.
static size_t read_lanes(Arena *arena, Str metrics, Lane **ret)
{
    size_t room = 1, count = 0, kept = 0;
    Sample sample;
    for (Str rest = metrics; next_sample(&rest, &sample);)
        room++;
    Lane *lanes = ARENA_ARRAY(arena, Lane, room);
    while (next_sample(&metrics, &sample)) {
        Str state = label(sample.labels, S("state"));
        if (!label(sample.labels, S("channel")).at)
            continue;
        if (str_eq(sample.name, S("peal_queue_oldest_seconds")))
            lane_of(lanes, &count, sample.labels)->oldest = sample.value;
        else if (str_eq(sample.name, S("peal_deliveries")) && is_live(state))
            lane_of(lanes, &count, sample.labels)->live += sample.value;
        else if (str_eq(sample.name, S("peal_deliveries")) && str_eq(state, S("parked")))
            lane_of(lanes, &count, sample.labels)->parked += sample.value;
    }
    for (size_t i = 0; i < count; i++)
        if (lanes[i].live + lanes[i].parked > 0)
            lanes[kept++] = lanes[i];
    qsort(lanes, kept, sizeof *lanes, by_need);
    *ret = lanes;
    return kept < LANES_SHOWN ? kept : LANES_SHOWN;
}

static double rate(const Look *before, const Look *now, const char *metric)
{
    double span = (double) (now->at - before->at) / (double) SPAN_SECOND;
    double grown = sum(now->metrics, metric, NULL) - sum(before->metrics, metric, NULL);
    return grown > 0 && span > 0 ? grown / span : 0; // it was started anew in between
}

// read_causes looks at the first page alone: more would wear the server down, once a second.
static size_t read_causes(const Client *client, CauseSum **ret)
{
    Answer answer = { 0 };
    Pages pages = { 0 };
    Str path = str_format(client->arena, "/v1/causes?limit=%d", CAUSES_LOOKED_AT);
    if (!client_look(client, path, &answer))
        return 0; // the key may not, or there is none
    const Json *items = json_get(answer.json, S("items"));
    pages.items = ARENA_ARRAY(client->arena, const Json *, json_count(items) + 1);
    for (JsonIter it = json_each(items); json_next(&it);)
        pages.items[pages.count++] = it.value;
    size_t count = causes_sum(client->arena, &pages, ret);
    return count < CAUSES_SHOWN ? count : CAUSES_SHOWN;
}

static void show_lanes(Arena *arena, Str metrics)
{
    Lane *lanes;
    size_t count = read_lanes(arena, metrics, &lanes);
    Grid grid = grid_new(arena, 5);
    static const char *const titles[] = { "CHANNEL", "TENANT", "LIVE", "PARKED", "OLDEST DUE" };
    for (size_t i = 0; i < ARRAY_LEN(titles); i++)
        grid_add(&grid, str_from(titles[i]));
    for (size_t i = 0; i < count; i++) {
        grid_add(&grid, output_clean(arena, lanes[i].channel));
        grid_add(&grid, output_clean(arena, lanes[i].tenant));
        grid_add(&grid, str_format(arena, "%.0f", lanes[i].live));
        grid_add(&grid, str_format(arena, "%.0f", lanes[i].parked));
        grid_add(&grid, str_format(arena, "%.1f s", lanes[i].oldest));
    }
    if (count > 0)
        printf("\n");
    if (count > 0)
        grid_print(&grid, (GridStyle){ .has_titles = true });
}

static void show_causes(const Client *client)
{
    CauseSum *causes;
    size_t count = read_causes(client, &causes);
    if (count > 0)
        printf("\nParked for (peal causes tells how to act):\n");
    for (size_t i = 0; i < count; i++) {
        const Json *item = causes[i].item;
        printf("  %lld  %.*s  %.*s  %.*s\n", (long long) causes[i].count,
               STR_ARG(output_value(client->arena, json_get(item, S("channel")))),
               STR_ARG(output_value(client->arena, json_get(item, S("reason")))),
               STR_ARG(output_value(client->arena, json_get(item, S("sample")))));
    }
}

static void show(const Client *client, const Look *before, const Look *now)
{
    Str metrics = now->metrics;
    printf("Peal at %.*s%s\n\nby the second ", STR_ARG(client->url),
           sum(metrics, "peal_store_up", NULL) == 0 ? ": THE STORE IS AWAY"
           : sum(metrics, "peal_held", NULL) > 0    ? ": HELD, nothing is sent"
                                                    : "");
    for (size_t i = 0; i < ARRAY_LEN(rates); i++)
        printf("  %s %.1f", rates[i].name, rate(before, now, rates[i].metric));
    printf("\nright now     ");
    for (size_t i = 0; i < ARRAY_LEN(live_states); i++)
        printf("  %s %.0f", live_states[i], sum(metrics, "peal_deliveries", live_states[i]));
    printf("  parked %.0f\nunder way     ", sum(metrics, "peal_deliveries", "parked"));
    printf("  attempts %.0f  waiting for the writer %.0f\n", sum(metrics, "peal_in_flight", NULL),
           sum(metrics, "peal_writer_waiting", NULL));
    show_lanes(client->arena, metrics);
    show_causes(client);
}

static void put_number(JsonOut *out, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", value);
    json_put_raw(out, str_from(name), str_from(text));
}

static void json_lanes(JsonOut *out, Arena *arena, Str metrics)
{
    Lane *lanes;
    size_t count = read_lanes(arena, metrics, &lanes);
    json_key(out, S("channels"));
    json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(out, '{');
        json_put_str(out, S("tenant"), lanes[i].tenant);
        json_put_str(out, S("channel"), lanes[i].channel);
        json_put_i64(out, S("live"), (int64_t) lanes[i].live);
        json_put_i64(out, S("parked"), (int64_t) lanes[i].parked);
        put_number(out, "oldestSeconds", lanes[i].oldest);
        json_close(out, '}');
    }
    json_close(out, ']');
}

static void json_causes(JsonOut *out, const Client *client)
{
    CauseSum *causes;
    size_t count = read_causes(client, &causes);
    json_key(out, S("causes"));
    json_open(out, '[');
    for (size_t i = 0; i < count; i++)
        json_add_raw(out, json_text(client->arena, causes[i].item));
    json_close(out, ']');
}

static void show_json(const Client *client, const Look *before, const Look *now)
{
    Buf text = buf_new(client->arena, JSON_BYTES_MAX);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_bool(&out, S("held"), sum(now->metrics, "peal_held", NULL) > 0);
    json_put_bool(&out, S("storeUp"), sum(now->metrics, "peal_store_up", NULL) > 0);
    json_key(&out, S("perSecond"));
    json_open(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(rates); i++)
        put_number(&out, rates[i].name, rate(before, now, rates[i].metric));
    json_close(&out, '}');
    json_key(&out, S("states"));
    json_open(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(live_states); i++)
        json_put_i64(&out, str_from(live_states[i]),
                     (int64_t) sum(now->metrics, "peal_deliveries", live_states[i]));
    json_put_i64(&out, S("parked"), (int64_t) sum(now->metrics, "peal_deliveries", "parked"));
    json_close(&out, '}');
    for (size_t i = 0; i < ARRAY_LEN(gauges); i++)
        json_put_i64(&out, str_from(gauges[i].name),
                     (int64_t) sum(now->metrics, gauges[i].metric, NULL));
    json_lanes(&out, client->arena, now->metrics);
    json_causes(&out, client);
    json_close(&out, '}');
    output_json(buf_str(&text));
}

static int look(Client *client, Look *ret)
{
    Answer answer = { 0 };
    client->takes_text = true;
    int status = client_get(client, S("/metrics"), &answer);
    client->takes_text = false;
    *ret = (Look){ .at = clock_machine_monotonic(), .metrics = answer.text };
    return status;
}

// pause_until waits for the next look.
static void pause_until(Instant at)
{
    Span left = at - clock_machine_monotonic();
    struct timespec pause = { .tv_sec = left / SPAN_SECOND, .tv_nsec = left % SPAN_SECOND * 1000 };
    if (left > 0)
        nanosleep(&pause, NULL);
}

static int top(CommandArgs *args)
{
    Client client = client_open(args);
    bool is_live_view = !args_flag(args, "once") && !client.json && isatty(STDOUT_FILENO);
    Look before;
    Arena arenas[2] = { 0 }; // of the last look, and of this one
    int status = args_expect(args, NULL, 0, 0);
    client.arena = &arenas[0];
    if (status == EXIT_DONE)
        status = look(&client, &before);
    for (size_t i = 1; status == EXIT_DONE; i++) {
        Look now;
        client.arena = &arenas[i % 2];
        arena_reset(client.arena);
        pause_until(before.at + EVERY);
        status = look(&client, &now);
        if (status != EXIT_DONE)
            break;
        printf("%s", is_live_view ? "\033[H\033[2J" : "");
        (client.json ? show_json : show)(&client, &before, &now);
        fflush(stdout);
        before = now;
        if (!is_live_view)
            break;
    }
    arena_done(&arenas[0]);
    arena_done(&arenas[1]);
    return status;
}

static const CommandOption top_options[] = {
    { "once", NULL, "look for one second, print and end; so it is without a terminal" },
    CLIENT_OPTIONS,
};

const Command command_top = {
    .name = "top",
    .usage = "top [--once]",
    .summary = "Watch what comes in, goes out, waits and fails, second by second",
    .details =
        "Rates are of the node that is asked; how many stand where is of all nodes. Without a\n"
        "key no channels are named. Ctrl-C ends it.\n\n"
        "Examples:\n"
        "  peal top\n"
        "  peal top --once --json",
    .options = top_options,
    .run = top,
};
