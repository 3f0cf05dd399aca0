#include "domain/members.h"

#include "base/time.h"

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
    if (!arena)
        return S("");

    Buf pointer = buf_new(arena, members->pointer.len + 1 + 2 * name.len);
    buf_add(&pointer, members->pointer);
    buf_add_char(&pointer, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '~')
            buf_add(&pointer, S("~0"));
        else if (name.at[i] == '/')
            buf_add(&pointer, S("~1"));
        else
            buf_add_char(&pointer, name.at[i]);
    }
    return buf_str(&pointer);
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

void members_need(const Members *members, const char *name)
{
    if (!members_get(members, name))
        members_missing(members, name);
}

// note_type notes that a member is of the wrong type; wanted is such as "a string".
static void note_type(const Members *members, const char *name, const char *wanted,
                      const Json *value)
{
    members_note(members, str_from(name), "bad-type", "must be %s, not %s", wanted,
                 json_type_name(json_type(value)));
}

static bool text_is_good(const Members *members, const char *name, size_t max, Str text)
{
    if (text.len == 0)
        members_note(members, str_from(name), "bad-value", "must not be empty");
    else if (text.len > max)
        members_note(members, str_from(name), "too-large", "may have %zu bytes, not %zu", max,
                     text.len);
    else if (!str_is_printable(text))
        members_note(members, str_from(name), "bad-value", "must not contain control characters");
    else
        return true;
    return false;
}

void members_text(const Members *members, const char *name, size_t max, Str *ret)
{
    const Json *value = members_get(members, name);
    if (!value)
        return;
    if (json_type(value) != JSON_STRING)
        note_type(members, name, "a string", value);
    else if (text_is_good(members, name, max, json_str(value)))
        *ret = json_str(value);
}

void members_text_or_number(const Members *members, const char *name, size_t max, Str *ret)
{
    const Json *value = members_get(members, name);
    if (!value)
        return;
    JsonType type = json_type(value);
    Str text = type == JSON_NUMBER ? json_number_text(value) : json_str(value);
    if (type != JSON_NUMBER && type != JSON_STRING)
        note_type(members, name, "a string", value);
    else if (text_is_good(members, name, max, text))
        *ret = text;
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
}

void members_key(const Members *members, const char *name, size_t max, Str *ret)
{
    Str key = STR_NONE;
    members_text(members, name, max, &key);
    for (size_t i = 0; i < key.len; i++) {
        if (is_key_char(key.at[i]))
            continue;
        members_note(members, str_from(name), "bad-value",
                     "may have letters, digits and . _ : - only");
        return;
    }
    if (key.at)
        *ret = key;
}

void members_bool(const Members *members, const char *name, bool *ret)
{
    const Json *value = members_get(members, name);
    if (!value)
        return;
    if (json_type(value) != JSON_BOOL)
        note_type(members, name, "true or false", value);
    else
        *ret = json_bool(value);
}

void members_int(const Members *members, const char *name, int min, int max, int *ret)
{
    const Json *value = members_get(members, name);
    int64_t number = 0;
    if (!value)
        return;
    if (json_type(value) != JSON_NUMBER)
        note_type(members, name, "a number", value);
    else if (!json_i64(value, &number) || number < min || number > max)
        members_note(members, str_from(name), "bad-value",
                     "must be a whole number from %d to %d, not %.*s", min, max,
                     STR_ARG(members_shown(json_number_text(value))));
    else
        *ret = (int) number;
}

static void read_span(const Members *members, const char *name, const Json *value, Span min,
                      Span max, Span *ret)
{
    Span span = 0;
    if (json_type(value) != JSON_STRING) {
        note_type(members, name, "a duration such as \"15m\"", value);
    } else if (!duration_parse(json_str(value), &span)) {
        members_note(members, str_from(name), "bad-duration",
                     "\"%.*s\" is not a duration; write 30s, 15m, 4h, 2d, 1w or 1d12h",
                     STR_ARG(members_shown(json_str(value))));
    } else if (span < min || span > max) {
        DEFER(arena_done) Arena scratch = { 0 };
        members_note(members, str_from(name), "bad-duration", "must be from %.*s to %.*s",
                     STR_ARG(duration_text(&scratch, min)), STR_ARG(duration_text(&scratch, max)));
    } else {
        *ret = span;
    }
}

void members_span(const Members *members, const char *name, Span min, Span max, Span *ret)
{
    const Json *value = members_get(members, name);
    if (value)
        read_span(members, name, value, min, max, ret);
}

void members_time(const Members *members, const char *name, Instant *ret)
{
    const Json *value = members_get(members, name);
    Instant at = 0;
    if (!value)
        return;
    if (json_type(value) != JSON_STRING)
        note_type(members, name, "a time such as \"2026-05-14T05:12:34Z\"", value);
    else if (!time_parse(json_str(value), &at))
        members_note(members, str_from(name), "bad-time",
                     "\"%.*s\" is not a time; write it as 2026-05-14T05:12:34Z",
                     STR_ARG(members_shown(json_str(value))));
    else
        *ret = at;
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

static void read_path(const Members *members, const char *name, const Json *value, Str *ret)
{
    const char *problem = members_path_problem(json_str(value));
    if (json_type(value) != JSON_STRING)
        note_type(members, name, "a path", value);
    else if (problem)
        members_note(members, str_from(name), "bad-path", "%s", problem);
    else
        *ret = json_str(value);
}

void members_path(const Members *members, const char *name, Str *ret)
{
    const Json *value = members_get(members, name);
    if (value)
        read_path(members, name, value, ret);
}

// open_array prepares to read the elements of a member that must be an array of min to max
// elements; false when it is absent or is not one.
static bool open_array(const Members *members, const char *name, size_t min, size_t max,
                       Members *ret)
{
    const Json *value = members_get(members, name);
    if (!value)
        return false;
    if (json_type(value) != JSON_ARRAY) {
        note_type(members, name, "an array", value);
        return false;
    }
    if (json_count(value) < min || json_count(value) > max) {
        members_note(members, str_from(name), "bad-value", "must have %zu to %zu elements, not %zu",
                     min, max, json_count(value));
        return false;
    }
    *ret = members_open(value, members_pointer(members, str_from(name)), members->error);
    return true;
}

// ELEMENT_NAME_MAX holds an index as text: elements are read as members named 0, 1, 2.
enum { ELEMENT_NAME_MAX = 24 };

size_t members_paths(const Members *members, const char *name, size_t min, size_t max, Str *ret)
{
    Members array;
    if (!open_array(members, name, min, max, &array))
        return 0;
    size_t count = 0;
    for (JsonIter it = json_each(array.object); json_next(&it); count++) {
        char index[ELEMENT_NAME_MAX];
        snprintf(index, sizeof(index), "%zu", count);
        read_path(&array, index, it.value, &ret[count]);
    }
    return count;
}

size_t members_spans(const Members *members, const char *name, size_t max, Span *ret)
{
    Members array;
    if (!open_array(members, name, 0, max, &array))
        return 0;
    size_t count = 0;
    for (JsonIter it = json_each(array.object); json_next(&it); count++) {
        char index[ELEMENT_NAME_MAX];
        snprintf(index, sizeof(index), "%zu", count);
        read_span(&array, index, it.value, 0, DURATION_MAX, &ret[count]);
    }
    return count;
}
