// Rendering a template without a server, by the code that renders there.

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "domain/template.h"

// What a file may leave out, for nothing is sent.
static const struct {
    const char *name, *value;
} defaults[] = { { "id", "template" }, { "eventType", "event" }, { "channel", "memory:default" } };

// whole_of is a template as it would be posted: a file is one, with or without what only sending
// needs, or a bare text.
static Str whole_of(Arena *arena, Str text, const Json *given)
{
    Buf whole = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&whole);
    json_open(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        if (!json_get(given, str_from(defaults[i].name)))
            json_put_str(&out, str_from(defaults[i].name), str_from(defaults[i].value));
    for (JsonIter it = json_each(given); json_next(&it);)
        json_put_raw(&out, it.key, json_text(arena, it.value));
    if (!given) // without the end of its last line, which is the file's
        json_put_str(&out, S("body"), (Str){ text.at, text.len - str_ends(text, S("\n")) });
    json_close(&out, '}');
    return buf_str(&whole);
}

static int read_template(Arena *arena, const char *path, Trigger *ret)
{
    Error error = { .arena = arena };
    const Json *given;
    Str text;
    if (!input_file(arena, path, &text)) {
        fail(&error, ERR_NOT_FOUND, "%s cannot be read", path);
        error.err = ERR_NOT_FOUND;
        return output_error(&error, STR_NONE);
    }
    bool is_object =
        json_parse(arena, text, &given, NULL) == ERR_OK && json_type(given) == JSON_OBJECT;
    if (template_parse(arena, whole_of(arena, text, is_object ? given : NULL), ret, &error) !=
        ERR_OK)
        return output_error(&error, STR_NONE);
    return EXIT_DONE;
}

static void print_json(Arena *arena, const Content *content, const Filling *filling)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("subject"), content->subject);
    json_put_str(&out, S("body"), content->html.at ? content->html : content->text);
    if (content->template.at || content->param_count > 0)
        content_put_provider(&out, content);
    json_key(&out, S("missing"));
    json_open(&out, '[');
    for (size_t i = 0; i < filling->missing_count; i++)
        json_add_str(&out, filling->missing[i]);
    json_close(&out, ']');
    json_close(&out, '}');
    output_json(buf_str(&text));
}

static void print_text(Arena *arena, const Content *content, const Filling *filling)
{
    Str body = content->html.at ? content->html : content->text;
    if (content->subject.at)
        fprintf(stderr, "Subject: %.*s\n", STR_ARG(output_clean(arena, content->subject)));
    for (size_t i = 0; i < filling->missing_count; i++)
        fprintf(stderr, "Note: {{%.*s}} has no value.\n",
                STR_ARG(output_clean(arena, filling->missing[i])));
    printf("%.*s\n", STR_ARG(body));
}

static int render(CommandArgs *args)
{
    Arena *arena = args_arena(args);
    Error error = { .arena = arena };
    Trigger trigger;
    Input data = { 0 };
    Content content;
    if (strcmp(args_word(args, 0), "-") == 0 && strcmp(args_word(args, 1), "-") == 0)
        return args_usage(args, "Only one of the two can be standard input");
    int status = read_template(arena, args_word(args, 0), &trigger);
    if (status == EXIT_DONE)
        status = input_json_file(arena, args_word(args, 1), &data);
    if (status != EXIT_DONE)
        return status;
    Event event = { .payload_json = data.json,
                    .occurred_at = INSTANT_NONE,
                    .received_at = INSTANT_NONE };
    Filling filling = { .event = &event };
    if (template_say(trigger.template, arena, &filling, &content, &error) != ERR_OK)
        return output_error(&error, STR_NONE);
    if (args_flag(args, "json"))
        print_json(arena, &content, &filling);
    else
        print_text(arena, &content, &filling);
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "render", "TEMPLATE and DATA.json", 2, 2, "", render },
    { 0 },
};

static const CommandOption options[] = {
    { "json", NULL, "print the answer as JSON" },
    { 0 },
};

const Command command_template = {
    .name = "template",
    .usage = "template render TEMPLATE DATA.json",
    .summary = "Render a template with data",
    .details =
        "TEMPLATE is a template's JSON, or a bare text with placeholders; DATA.json is what an\n"
        "event's payload would hold; - is standard input. The body goes to standard output, the\n"
        "subject and what has no value to standard error.\n\n"
        "Examples:\n"
        "  peal template render confirmed.json booking.json\n"
        "  echo 'Hello {{name}}' | peal template render - booking.json",
    .options = options,
    .verbs = verbs,
};
