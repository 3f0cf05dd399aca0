// Events: sending one, looking at them, and asking why.

#include "base/json.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/input.h"
#include "cli/pages.h"
#include "cli/why.h"
#include "domain/trigger.h"

#define EVENT_FILTERS "kind source entity q from to"

enum { BODY_BYTES_MAX = 16 * 1024 * 1024, TREE_LINES_MAX = 20, STORY_ROWS = 500 };

static int emit(CommandArgs *args);
static int event_body(const CommandArgs *args, Str *ret);
static void print_stored(const Client *client, const Json *answer);
static void add_deliveries(const Client *client, const Json *deliveries, Grid *grid);
static void add_misses(const Client *client, Str event, Grid *grid);

static int why(CommandArgs *args);
static Str miss_text(Arena *arena, const Json *decision);

static int emit(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    Str body = STR_NONE;
    int status = args_expect(args, "the KIND of the event", 1, 1);
    if (status == EXIT_DONE)
        status = event_body(args, &body);
    client.idempotency_key = str_from(args_option(args, "idempotency-key"));
    if (status == EXIT_DONE)
        status = client_call(&client, "POST", S("/v1/events"), body, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print_stored(&client, answer.json);
    return EXIT_DONE;
}

static void put_option(JsonOut *out, const CommandArgs *args, const char *option,
                       const char *member)
{
    const char *value = args_option(args, option);
    if (value)
        json_put_str(out, str_from(member), str_from(value));
}

static int event_body(const CommandArgs *args, Str *ret)
{
    Buf body = buf_new(args_arena(args), BODY_BYTES_MAX);
    JsonOut out = json_out(&body);
    json_open(&out, '{');
    json_put_str(&out, S("kind"), str_from(args_word(args, 0)));
    put_option(&out, args, "id", "id");
    put_option(&out, args, "source", "source");
    put_option(&out, args, "occurred-at", "occurredAt");
    put_option(&out, args, "entity", "entity");
    put_option(&out, args, "correlation-id", "correlationId");
    if (args_option(args, "data")) {
        Input data = { 0 };
        int status = input_json(args_arena(args), args_option(args, "data"), &data);
        if (status != EXIT_DONE)
            return status;
        json_put_raw(&out, S("payload"), data.text);
    }
    if (args_option(args, "recipient") || args_option(args, "locale") ||
        args_option(args, "customer-ref")) {
        json_key(&out, S("recipient"));
        json_open(&out, '{');
        put_option(&out, args, "recipient", "address");
        put_option(&out, args, "locale", "locale");
        put_option(&out, args, "customer-ref", "customerRef");
        json_close(&out, '}');
    }
    json_close(&out, '}');
    *ret = buf_str(&body);
    return EXIT_DONE;
}

// print_stored shows what became of the event. The deliveries' states and the triggers that did not
// match are asked for; a key that may only send does without them.
static void print_stored(const Client *client, const Json *answer)
{
    Str event = json_str(json_get(answer, S("eventId")));
    const Json *deliveries = json_get(answer, S("deliveries"));
    Grid grid = grid_new(client->arena, 3);

    printf("%.*s\n", STR_ARG(output_clean(client->arena, event)));
    if (json_bool(json_get(answer, S("duplicate")))) {
        printf("  This event came before; nothing new was made.\n");
    } else {
        add_deliveries(client, deliveries, &grid);
        add_misses(client, event, &grid);
        grid_print(&grid, (GridStyle){ .indent = "  " });
        if (json_count(deliveries) == 0)
            printf("  No delivery was made.\n");
    }
    fprintf(stderr, "Why?  peal why %.*s\n", STR_ARG(output_clean(client->arena, event)));
}

static void add_deliveries(const Client *client, const Json *deliveries, Grid *grid)
{
    size_t looks = 0;
    for (JsonIter it = json_each(deliveries); json_next(&it);) {
        Str outcome = json_str(json_get(it.value, S("outcome")));
        Str id = json_str(json_get(it.value, S("deliveryId")));
        Str note = id;
        Answer delivery = { 0 };
        Str path = client_path(client->arena, "/v1/deliveries", str_z(client->arena, id), NULL);
        bool is_new = str_eq(outcome, S("created"));
        if (is_new && looks++ < TREE_LINES_MAX && client_look(client, path, &delivery)) {
            Str channel = output_value(client->arena, json_get(delivery.json, S("channel")));
            outcome = output_value(client->arena, json_get(delivery.json, S("state")));
            note = str_format(client->arena, "%.*s  %.*s", STR_ARG(id), STR_ARG(channel));
        } else if (!is_new) {
            Str message = json_str(json_get(json_get(it.value, S("error")), S("message")));
            note = message.len > 0 ? message
                                   : str_format(client->arena, "%.*s was made before", STR_ARG(id));
        }
        grid_add(grid, output_value(client->arena, json_get(it.value, S("triggerId"))));
        grid_add(grid, outcome);
        grid_add(grid, note);
    }
}

// add_misses shows what did not become a delivery, and is not in the answer for that reason.
static void add_misses(const Client *client, Str event, Grid *grid)
{
    Answer explained = { 0 };
    Str path = client_path(client->arena, "/v1/events", str_z(client->arena, event), "explain");
    path = client_with(client, path, S("limit"), str_format(client->arena, "%d", STORY_ROWS));
    if (!client_look(client, path, &explained))
        return;
    size_t shown = 0, left = 0;
    for (JsonIter it = json_each(json_get(explained.json, S("decisions"))); json_next(&it);) {
        Str outcome = json_str(json_get(it.value, S("outcome")));
        if (!str_eq(outcome, S("filtered")) && !str_eq(outcome, S("disabled")))
            continue;
        if (shown++ >= TREE_LINES_MAX) {
            left++;
            continue;
        }
        grid_add(grid, output_value(client->arena, json_get(it.value, S("triggerId"))));
        grid_add(grid, outcome);
        grid_add(grid, miss_text(client->arena, it.value));
    }
    if (left > 0) {
        grid_add(grid, S("…"));
        grid_add(grid, S(""));
        bool has_more = json_str(json_get(explained.json, S("next"))).len > 0;
        grid_add(grid, str_format(client->arena, "%zu%s more did not match", left,
                                  has_more ? " and" : ""));
    }
}

// reason_text is the meaning of a reason's code, or the code itself where it is a newer one.
static Str reason_text(Str code)
{
    for (int i = 0; i < TABLE_ROWS(DECISION_REASON_TABLE); i++)
        if (str_eq(code, str_from(decision_reason_code((DecisionReason) i))))
            return str_from(decision_reason_meaning((DecisionReason) i));
    return code;
}

// is_told: what was asked outside the filter (config, source) comes as words that say what it saw.
static bool is_told(const Json *decision)
{
    Str path = json_str(json_get(decision, S("path")));
    return path.len > 0 && !str_starts(path, S("/filter"));
}

// miss_text says why a trigger made no delivery of an event, as half a sentence.
static Str miss_text(Arena *arena, const Json *decision)
{
    const Json *seen = json_get(decision, S("seen"));
    Str predicate = json_str(json_get(decision, S("predicate")));
    Str id = json_str(json_get(decision, S("deliveryId")));
    Str reason = reason_text(json_str(json_get(decision, S("reason"))));
    bool saw_nothing = json_type(seen) == JSON_ABSENT || json_type(seen) == JSON_NULL;
    if (predicate.len > 0 && is_told(decision))
        return predicate;
    if (predicate.len > 0)
        return str_format(arena, "%.*s was false: it saw %.*s", STR_ARG(predicate),
                          STR_ARG(saw_nothing ? S("nothing") : json_text(arena, seen)));
    if (id.len > 0)
        return str_format(arena, "%.*s by delivery %.*s", STR_ARG(reason), STR_ARG(id));
    return reason;
}

static void print_decision(Arena *arena, const Json *decision, const char *indent)
{
    Str outcome = json_str(json_get(decision, S("outcome")));
    Str trigger = output_clean(arena, json_str(json_get(decision, S("triggerId"))));
    Str place = output_clean(arena, json_str(json_get(decision, S("path"))));
    Str change = output_clean(arena, json_str(json_get(decision, S("wouldMatchIf"))));
    Str id = output_clean(arena, json_str(json_get(decision, S("deliveryId"))));
    Str version = output_value(arena, json_get(decision, S("triggerVersion")));

    printf("%s%.*s", indent, STR_ARG(trigger));
    if (!str_eq(version, S("-")))
        printf(" (version %.*s)", STR_ARG(version));
    if (str_eq(outcome, S("created"))) {
        printf(" matched and made delivery %.*s.\n", STR_ARG(id));
        return;
    }
    printf(" made no delivery (%.*s): %.*s.\n", STR_ARG(output_clean(arena, outcome)),
           STR_ARG(output_clean(arena, miss_text(arena, decision))));
    if (place.len > 0)
        printf("%s  The place is %.*s.\n", indent, STR_ARG(place));
    if (change.len > 0)
        printf("%s  It would match if %.*s.\n", indent, STR_ARG(change));
}

void why_print(const Client *client, Str event, const char *indent)
{
    Answer explained = { 0 };
    Str path = client_path(client->arena, "/v1/events", str_z(client->arena, event), "explain");
    if (!client_look(client, client_with(client, path, S("limit"), S("20")), &explained))
        return;
    const Json *decisions = json_get(explained.json, S("decisions"));
    for (JsonIter it = json_each(decisions); json_next(&it);)
        print_decision(client->arena, it.value, indent);
    if (json_count(decisions) == 0)
        printf("%sNo trigger listens to events of this kind.\n", indent);
}

static int why(CommandArgs *args)
{
    Client client = client_open(args);
    Pages pages;
    int status = args_expect(args, "an EVENT", 1, 1);
    client.lists_with = "events";
    if (status == EXIT_DONE)
        status = pages_read(&client,
                            client_path(client.arena, "/v1/events", args_word(args, 0), "explain"),
                            "tenant", "decisions", STORY_ROWS, &pages);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        pages_json(&client, &pages, "decisions");
        return EXIT_DONE;
    }
    for (size_t i = 0; i < pages.count; i++)
        print_decision(client.arena, pages.items[i], "");
    Str note = json_str(json_get(pages.first.json, S("note")));
    bool is_hook = json_get(pages.first.json, S("inbox")) != NULL; // whose note says all
    if (pages.count == 0 && !is_hook)
        printf("No trigger listens to events of this kind.\n");
    if (note.len > 0)
        printf("%.*s.\n", STR_ARG(output_clean(client.arena, note)));
    pages_tell(&client, &pages);
    return EXIT_DONE;
}

static const Column event_columns[] = {
    { "ID", "id" },         { "KIND", "kind" },           { "ENTITY", "entity" },
    { "SOURCE", "source" }, { "RECEIVED", "receivedAt" },
};

static const Column followed_columns[] = { { "TIME", "time" }, { "ID", "id" }, { "KIND", "kind" } };

static int list(CommandArgs *args)
{
    if (args_flag(args, "follow"))
        return follow_lines(args, "event", "kind", followed_columns, ARRAY_LEN(followed_columns));
    ClientList wanted = {
        .path = S("/v1/events"),
        .options = EVENT_FILTERS " tenant",
        .columns = event_columns,
        .column_count = ARRAY_LEN(event_columns),
        .noun = "events",
    };
    return client_list(args, &wanted);
}

static int show(CommandArgs *args)
{
    return client_show(args, client_path(args_arena(args), "/v1/events", args_word(args, 0), NULL),
                       "events");
}

static int timeline(CommandArgs *args)
{
    Client client = client_open(args);
    Pages pages;
    client.lists_with = "events";
    int status =
        pages_read(&client, client_path(client.arena, "/v1/events", args_word(args, 0), "timeline"),
                   "tenant", "items", STORY_ROWS, &pages);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        pages_json(&client, &pages, "items");
        return EXIT_DONE;
    }
    Grid grid = grid_new(client.arena, 3);
    for (size_t i = 0; i < pages.count; i++) {
        grid_add(&grid, output_value(client.arena, json_get(pages.items[i], S("at"))));
        grid_add(&grid, output_value(client.arena, json_get(pages.items[i], S("what"))));
        grid_add(&grid, output_members(client.arena, json_get(pages.items[i], S("detail"))));
    }
    grid_print(&grid, (GridStyle){ 0 });
    pages_tell(&client, &pages);
    return EXIT_DONE;
}

static const CommandVerb events_verbs[] = {
    { "list", NULL, 0, 0, EVENT_FILTERS " tenant limit cursor follow", list },
    { "show", "an ID", 1, 1, "tenant", show },
    { "timeline", "an ID", 1, 1, "tenant limit cursor", timeline },
    { 0 },
};

static const CommandOption emit_options[] = {
    { "data", "JSON", "the payload: JSON, @FILE, or - for standard input" },
    { "recipient", "ADDR", "recipient.address" },
    { "locale", "L", "recipient.locale, such as ar" },
    { "customer-ref", "R", "recipient.customerRef" },
    { "entity", "E", "what the event is about, such as booking:12345" },
    { "occurred-at", "T", "when it happened, such as 2026-05-14T05:12:34Z" },
    { "id", "ID", "the event's own id: with --source, the same is stored once" },
    { "source", "S", "who says so" },
    { "correlation-id", "C", "carried along" },
    { "idempotency-key", "K", "the same answer again for the same key" },
    CLIENT_OPTIONS,
};

static const CommandOption events_options[] = {
    { "kind", "KIND", "only events of this kind" },
    { "source", "S", "only from this source" },
    { "entity", "E", "only about this entity" },
    { "q", "WORDS", "only with all of these words, in payload, kind, source or entity" },
    { "from", "T", "only received then or later" },
    { "to", "T", "only received before" },
    { "follow", NULL, "those that come in from now on, one a line, until Ctrl-C" },
    TENANT_OPTION,
    { "limit", "N", "how many; 50 unless said, of a timeline 500" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

static const CommandOption why_options[] = {
    TENANT_OPTION,
    { "limit", "N", "how many triggers; 500 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_emit = {
    .name = "emit",
    .usage = "emit KIND [--data JSON|@FILE|-] [--recipient ADDR] [--OPTIONS]",
    .summary = "Send an event and see what it started",
    .details = "Examples:\n"
               "  peal emit order.paid --data '{\"total\":249}' --recipient ada@example.com\n"
               "  peal emit order.paid --data @order.json --source shop --id 8812\n"
               "  jq .order all.json | peal emit order.paid --data -",
    .options = emit_options,
    .run = emit,
};

const Command command_events = {
    .name = "events",
    .usage = "events [list] [--kind KIND] [--entity E] [--q WORDS] [--OPTIONS]\n"
             "events --follow [--kind KIND]\n"
             "events show ID\n"
             "events timeline ID",
    .summary = "Look at events and at what followed from them",
    .details = "Examples:\n"
               "  peal events --kind order.paid --limit 10\n"
               "  peal events --follow --json\n"
               "  peal events timeline 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = events_options,
    .verbs = events_verbs,
};

const Command command_why = {
    .name = "why",
    .usage = "why EVENT [--limit N] [--cursor C]",
    .summary = "Say what each trigger made of an event, and why",
    .details = "Examples:\n"
               "  peal why 01975e3c-7a4b-7000-8000-2c9d3f5b1a60",
    .options = why_options,
    .run = why,
};
