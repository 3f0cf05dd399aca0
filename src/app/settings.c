#include "app/settings.h"

#include "base/file.h"
#include "base/yaml.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static Err take(Settings *settings, const YamlDocument *document, const JsonIter *it, Error *error)
{
    Str value = json_str(it->value);
    size_t line = document->lines[settings->count + 1]; // each is one value, behind the mapping
    if (!value.at)
        return fail(error, ERR_SETUP, "line %zu: settings are lines of name: value", line);
    if (settings->count == SETTINGS_MAX)
        return fail(error, ERR_SETUP, "more than %d settings", SETTINGS_MAX);
    settings->rows[settings->count++] = (Setting){ it->key, value, line };
    return ERR_OK;
}

static Err read_text(Arena *arena, Str path, Str *ret, Error *error)
{
    TRY(file_get(arena, path, FILE_BYTES_MAX, ret, error));
    if (!ret->at)
        return fail(error, ERR_SETUP, "cannot read %.*s", STR_ARG(path));
    return ERR_OK;
}

Err settings_read(Arena *arena, Str path, Settings *ret, Error *error)
{
    Str text;
    YamlDocument *documents;
    size_t count;
    Settings settings = { .count = 0 };
    TRY(read_text(arena, path, &text, error));
    if (yaml_read(arena, text, YAML_TEXT, &documents, &count, error) != ERR_OK)
        return fail(error, ERR_SETUP, "%s", error->detail);
    if (count > 1 || (count == 1 && json_type(documents[0].json) != JSON_OBJECT))
        return fail(error, ERR_SETUP, "settings are lines of name: value");
    for (JsonIter it = json_each(count ? documents[0].json : NULL); json_next(&it);)
        TRY(take(&settings, &documents[0], &it, error));
    *ret = settings;
    return ERR_OK;
}

const Setting *settings_find(const Settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++)
        if (str_eq(settings->rows[i].name, str_from(name)))
            return &settings->rows[i];
    return NULL;
}
