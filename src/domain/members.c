#include "domain/members.h"

#include <stdarg.h>

enum { SHOWN_MAX = 60, MESSAGE_MAX = 400 };

Members members_open(const Json *object, Str pointer, Error *error)
{
    assert(error);
    return (
        Members){ .object = object, .pointer = pointer, .error = error, .before = error->count };
}

Err members_close(const Members *members, Err err)
{
    if (members->error->count == members->before)
        return ERR_OK;
    return error_close(members->error, err);
}

Str members_shown(Str text)
{
    if (text.len <= SHOWN_MAX)
        return text;
    size_t len = SHOWN_MAX;
    while (len > 0 && ((unsigned char) text.at[len] & 0xC0) == 0x80)
        len--;
    return (Str){ text.at, len };
}

Str members_pointer(const Members *members, Str name)
{
    Arena *arena = members->error->arena;
    return arena ? json_below(arena, members->pointer, name) : S("");
}

void members_note(const Members *members, Str name, const char *code, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    error_add(members->error, members_pointer(members, name), code, "%s", message);
}

bool members_is_object(const Members *members)
{
    if (json_type(members->object) == JSON_OBJECT)
        return true;
    error_add(members->error, members->pointer, "bad-type", "must be an object, not %s",
              json_type_name(json_type(members->object)));
    return false;
}

void members_unknown(const Members *members, Str name, const char *const *known, size_t known_count)
{
    const char *hint = str_nearest(name, known, known_count);
    Str shown = members_shown(name);
    if (hint)
        members_note(members, name, "unknown-member",
                     "\"%.*s\" is not known here; did you mean \"%s\"?", STR_ARG(shown), hint);
    else
        members_note(members, name, "unknown-member", "\"%.*s\" is not known here", STR_ARG(shown));
}

bool members_check(const Members *members, const char *const *known, size_t known_count)
{
    if (!members_is_object(members))
        return false;
    for (JsonIter it = json_each(members->object); json_next(&it);) {
        size_t i = 0;
        while (i < known_count && !str_eq(it.key, str_from(known[i])))
            i++;
        if (i == known_count)
            members_unknown(members, it.key, known, known_count);
    }
    return true;
}

const Json *members_get(const Members *members, const char *name)
{
    const Json *value = json_get(members->object, str_from(name));
    return json_type(value) == JSON_NULL ? NULL : value;
}

void members_missing(const Members *members, const char *name)
{
    members_note(members, str_from(name), "missing-member", "\"%s\" is needed", name);
}

const char *members_path_problem(Str path)
{
    if (path.len == 0)
        return "a path must not be empty";
    if (path.len > MEMBERS_PATH_MAX)
        return "a path may have 200 bytes";
    if (!str_is_printable(path))
        return "a path must not contain control characters";
    if (path.at[0] == '.' || path.at[path.len - 1] == '.' || str_contains(path, S("..")))
        return "a path has names between its dots";
    return NULL;
}
