#include "app/settings.h"

#include <yaml.h>

// take reads one scalar: a name and a value come in turns.
static Err take(Arena *arena, Settings *settings, const yaml_event_t *event, bool *is_name,
                Error *error)
{
    Str text =
        str_dup(arena, (Str){ (const char *) event->data.scalar.value, event->data.scalar.length });
    if (!*is_name) {
        settings->rows[settings->count - 1].value = text;
    } else {
        if (settings->count == SETTINGS_MAX)
            return fail(error, ERR_SETUP, "more than %d settings", SETTINGS_MAX);
        settings->rows[settings->count++] =
            (Setting){ .name = text, .line = event->start_mark.line + 1 };
    }
    *is_name = !*is_name;
    return ERR_OK;
}

static Err read_events(Arena *arena, yaml_parser_t *parser, Settings *settings, Error *error)
{
    bool is_name = true, is_over = false;
    int depth = 0;
    while (!is_over) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return fail(error, ERR_SETUP, "line %zu: %s", parser->problem_mark.line + 1,
                        parser->problem);
        Err err = ERR_OK;
        bool nests = event.type == YAML_MAPPING_START_EVENT;
        depth += nests;
        if (event.type == YAML_SCALAR_EVENT && depth == 1)
            err = take(arena, settings, &event, &is_name, error);
        else if ((nests && depth > 1) || event.type == YAML_SEQUENCE_START_EVENT ||
                 event.type == YAML_ALIAS_EVENT || event.type == YAML_SCALAR_EVENT)
            err = fail(error, ERR_SETUP, "line %zu: settings are lines of name: value",
                       event.start_mark.line + 1);
        depth -= event.type == YAML_MAPPING_END_EVENT;
        is_over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        TRY(err);
    }
    return ERR_OK;
}

Err settings_read(Arena *arena, Str path, Settings *ret, Error *error)
{
    FILE *file = fopen(str_z(arena, path), "re");
    if (!file)
        return fail(error, ERR_SETUP, "cannot read %.*s: %m", STR_ARG(path));
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_file(&parser, file);
    Settings settings = { .count = 0 };
    Err err = read_events(arena, &parser, &settings, error);
    yaml_parser_delete(&parser);
    fclose(file);
    if (err == ERR_OK)
        *ret = settings;
    return err;
}

Str settings_find(const Settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++)
        if (str_eq(settings->rows[i].name, str_from(name)))
            return settings->rows[i].value;
    return STR_NONE;
}
