#include "cli/dry.h"

#include "cli/client.h"
#include "cli/input.h"

// What a trigger would make of an event: the server says it, and does nothing of it.

// body_of writes the request; ret_status says what was wrong with what was handed in.
static Str body_of(CommandArgs *args, int *ret_status)
{
    Arena *arena = args_arena(args);
    const char *file = args_option(args, "event"), *id = args_option(args, "event-id");
    Input event = { 0 };
    Buf body = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&body);
    if (!file == !id) {
        *ret_status = args_usage(args, "Name an event: --event FILE, or --event-id ID");
        return STR_NONE;
    }
    *ret_status = file ? input_json_file(arena, file, &event) : EXIT_DONE;
    json_open(&out, '{');
    if (file)
        json_put_raw(&out, S("event"), event.text);
    else
        json_put_str(&out, S("eventId"), str_from(id));
    json_close(&out, '}');
    return buf_str(&body);
}

static void print_member(Arena *arena, const char *title, const Json *object, const char *member)
{
    const Json *value = json_get(object, str_from(member));
    if (value && json_type(value) != JSON_NULL)
        printf("%-10s%.*s\n", title, STR_ARG(output_value(arena, value)));
}

static void print_decision(Arena *arena, const Json *decision)
{
    Str outcome = output_value(arena, json_get(decision, S("outcome")));
    Str reason = output_value(arena, json_get(decision, S("reason")));
    printf("%-10s%.*s (%.*s)\n", "decision", STR_ARG(outcome), STR_ARG(reason));
    print_member(arena, "predicate", decision, "predicate");
    print_member(arena, "seen", decision, "seen");
    print_member(arena, "holder", decision, "deliveryId");
}

static void print_tested(Arena *arena, const Json *told)
{
    const Json *message = json_get(told, S("message"));
    print_decision(arena, json_get(told, S("decision")));
    for (JsonIter it = json_each(json_get(told, S("plan"))); json_next(&it);)
        printf("%-10s%.*s\n", it.index == 1 ? "send" : "reminder",
               STR_ARG(output_value(arena, json_get(it.value, S("at")))));
    print_member(arena, "expires", told, "expiresAt");
    print_member(arena, "channel", message, "channel");
    print_member(arena, "address", message, "address");
    print_member(arena, "url", message, "url");
    print_member(arena, "headers", message, "headers");
    print_member(arena, "body", message, "body");
    print_member(arena, "stops", told, "stops");
    print_member(arena, "note", told, "note");
}

int trigger_try(CommandArgs *args)
{
    Client client = client_open(args);
    Answer answer = { 0 };
    int status;
    Str body = body_of(args, &status);
    client.lists_with = "triggers";
    if (status == EXIT_DONE)
        status = client_call(&client, "POST",
                             client_path(client.arena, "/v1/triggers", args_word(args, 0), "test"),
                             body, &answer);
    if (status != EXIT_DONE)
        return status;
    if (client.json)
        output_json(answer.text);
    else
        print_tested(client.arena, answer.json);
    return EXIT_DONE;
}
