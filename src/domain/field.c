#include "domain/field.h"

#include "base/id.h"
#include "base/time.h"
#include "domain/filter.h"

#include <limits.h>

// Spot is one value on its way into the struct. Elements of a list are members named 0, 1, 2.
typedef struct Spot {
    Arena *arena;
    const Members *members; // that it is one of
    Str name;
    const Json *value;
    void *place; // NULL: it is only checked
} Spot;

static void read_value(const Spot *spot, const Field *field);

static void keep(const Spot *spot, const void *value, size_t size)
{
    if (spot->place)
        memcpy(spot->place, value, size);
}

// note_type notes a value of the wrong type; wanted is such as "a string".
static void note_type(const Spot *spot, const char *wanted)
{
    members_note(spot->members, spot->name, "bad-type", "must be %s, not %s", wanted,
                 json_type_name(json_type(spot->value)));
}

static void note_value(const Spot *spot, const char *problem)
{
    members_note(spot->members, spot->name, "bad-value", "%s", problem);
}

// is_lines: of the control characters it has only those that part lines, and tabs.
static bool is_lines(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\r' && c != '\t'))
            return false;
    }
    return true;
}

static bool text_is_good(const Spot *spot, const Field *field, Str text)
{
    if (text.len == 0 && !(field->flags & FIELD_EMPTY))
        note_value(spot, "must not be empty");
    else if (text.len > (size_t) field->max)
        members_note(spot->members, spot->name, "too-large", "may have %lld bytes, not %zu",
                     (long long) field->max, text.len);
    else if (!str_is_printable(text) && !(field->flags & FIELD_CONTROL) &&
             !((field->flags & FIELD_LINES) && is_lines(text)))
        note_value(spot, "must not contain control characters");
    else
        return true;
    return false;
}

static void keep_json(const Spot *spot)
{
    keep(spot, &spot->value, sizeof spot->value);
}

static void read_text(const Spot *spot, const Field *field)
{
    Str text = json_str(spot->value);
    bool is_raw = field->flags & FIELD_RAW;
    bool was_given = is_raw && json_type(spot->value) == JSON_OBJECT; // before: a secret's mark
    if (!was_given && json_type(spot->value) != JSON_STRING)
        note_type(spot, "a string");
    else if (!was_given && !text_is_good(spot, field, text))
        return;
    else if (is_raw)
        keep_json(spot);
    else
        keep(spot, &text, sizeof text);
}

static void read_text_or_number(const Spot *spot, const Field *field)
{
    bool is_number = json_type(spot->value) == JSON_NUMBER;
    Str text = is_number ? json_number_text(spot->value) : json_str(spot->value);
    if (!is_number && json_type(spot->value) != JSON_STRING)
        note_type(spot, "a string");
    else if (text_is_good(spot, field, text))
        keep(spot, &text, sizeof text);
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
}

bool field_is_key(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_key_char(text.at[i]))
            return false;
    return text.len > 0;
}

static void read_key(const Spot *spot, const Field *field)
{
    Str key = STR_NONE;
    Spot text = *spot;
    text.place = &key;
    read_text(&text, field);
    if (key.len > 0 && !field_is_key(key))
        note_value(spot, "may have letters, digits and . _ : - only");
    else if (key.at)
        keep(spot, &key, sizeof key);
}

static void read_path(const Spot *spot, const Field *field)
{
    (void) field;
    Str path = json_str(spot->value);
    const char *problem = members_path_problem(path);
    if (json_type(spot->value) != JSON_STRING)
        note_type(spot, "a path");
    else if (problem)
        members_note(spot->members, spot->name, "bad-path", "%s", problem);
    else
        keep(spot, &path, sizeof path);
}

static void note_word(const Spot *spot, const Field *field)
{
    char known[300];
    size_t len = 0;
    for (size_t i = (size_t) field->min; field->words[i] && len < sizeof known; i++)
        len += (size_t) snprintf(known + len, sizeof known - len, " %s", field->words[i]);
    members_note(spot->members, spot->name, field->code ? field->code : "bad-value",
                 "\"%.*s\" is not %s; use one of%s", STR_ARG(members_shown(json_str(spot->value))),
                 field->noun, known);
}

static void read_word(const Spot *spot, const Field *field)
{
    if (json_type(spot->value) != JSON_STRING) {
        note_type(spot, "a string");
        return;
    }
    for (int i = (int) field->min; field->words[i]; i++) {
        if (str_eq(json_str(spot->value), str_from(field->words[i]))) {
            keep(spot, &i, sizeof i);
            return;
        }
    }
    note_word(spot, field);
}

static void read_bool(const Spot *spot, const Field *field)
{
    (void) field;
    bool value = json_bool(spot->value);
    if (json_type(spot->value) != JSON_BOOL)
        note_type(spot, "true or false");
    else
        keep(spot, &value, sizeof value);
}

static void note_range(const Spot *spot, const Field *field, const char *what)
{
    members_note(spot->members, spot->name, "bad-value", "must be %s from %lld to %lld, not %.*s",
                 what, (long long) field->min, (long long) field->max,
                 STR_ARG(members_shown(json_number_text(spot->value))));
}

static void read_count(const Spot *spot, const Field *field)
{
    int64_t number = 0;
    if (json_type(spot->value) != JSON_NUMBER)
        note_type(spot, "a number");
    else if (!json_i64(spot->value, &number) || number < field->min || number > field->max)
        note_range(spot, field, "a whole number");
    else
        keep(spot, &number, sizeof number);
}

static void read_int(const Spot *spot, const Field *field)
{
    assert(field->min >= INT_MIN && field->max <= INT_MAX);
    int64_t number = INT64_MIN;
    Spot wide = *spot;
    wide.place = &number;
    read_count(&wide, field);
    int narrow = (int) number;
    if (number != INT64_MIN)
        keep(spot, &narrow, sizeof narrow);
}

static void read_number(const Spot *spot, const Field *field)
{
    double number = json_double(spot->value);
    if (json_type(spot->value) != JSON_NUMBER)
        note_type(spot, "a number");
    else if (number < (double) field->min || number > (double) field->max)
        note_range(spot, field, "a number");
    else
        keep(spot, &number, sizeof number);
}

static void read_span(const Spot *spot, const Field *field)
{
    Span span = 0;
    Str text = json_str(spot->value);
    if (json_type(spot->value) != JSON_STRING) {
        note_type(spot, "a duration such as \"15m\"");
    } else if (!duration_parse(text, &span)) {
        members_note(spot->members, spot->name, "bad-duration",
                     "\"%.*s\" is not a duration; write 30s, 15m, 4h, 2d, 1w or 1d12h",
                     STR_ARG(members_shown(text)));
    } else if (span < field->min || span > field->max) {
        DEFER(arena_done) Arena scratch = { 0 };
        members_note(spot->members, spot->name, "bad-duration", "must be from %.*s to %.*s",
                     STR_ARG(duration_text(&scratch, field->min)),
                     STR_ARG(duration_text(&scratch, field->max)));
    } else {
        keep(spot, &span, sizeof span);
    }
}

static void read_time(const Spot *spot, const Field *field)
{
    (void) field;
    Instant at = 0;
    Str text = json_str(spot->value);
    if (json_type(spot->value) != JSON_STRING)
        note_type(spot, "a time such as \"2026-05-14T05:12:34Z\"");
    else if (!time_parse(text, &at))
        members_note(spot->members, spot->name, "bad-time",
                     "\"%.*s\" is not a time; write it as 2026-05-14T05:12:34Z",
                     STR_ARG(members_shown(text)));
    else
        keep(spot, &at, sizeof at);
}

static void read_id(const Spot *spot, const Field *field)
{
    (void) field;
    Uuid id;
    Str text = json_str(spot->value);
    if (json_type(spot->value) != JSON_STRING)
        note_type(spot, "an id");
    else if (!uuid_parse(text, &id))
        members_note(spot->members, spot->name, "bad-value", "\"%.*s\" is not an id",
                     STR_ARG(members_shown(text)));
    else
        keep(spot, &id, sizeof id);
}

static void read_filter(const Spot *spot, const Field *field)
{
    (void) field;
    const Filter *filter = NULL;
    Str pointer = members_pointer(spot->members, spot->name);
    if (filter_compile(spot->arena, spot->value, pointer, &filter, spot->members->error) == ERR_OK)
        keep(spot, &filter, sizeof filter);
}

static void read_any(const Spot *spot, const Field *field)
{
    (void) field;
    keep_json(spot);
}

static void read_object(const Spot *spot, const Field *field)
{
    bool is_raw = !field->inside || field->flags & FIELD_RAW;
    bool is_object = json_type(spot->value) == JSON_OBJECT;
    if (!is_object)
        note_type(spot, "an object");
    else if (field->inside)
        fields_note(spot->arena, spot->value, members_pointer(spot->members, spot->name),
                    field->inside, is_raw ? NULL : spot->place, spot->members->error);
    if (is_object && is_raw)
        keep_json(spot);
}

static void read_map(const Spot *spot, const Field *field)
{
    if (json_type(spot->value) != JSON_OBJECT) {
        note_type(spot, "an object");
        return;
    }
    if (json_count(spot->value) > (size_t) field->max)
        members_note(spot->members, spot->name, "too-large", "may have %lld members, not %zu",
                     (long long) field->max, json_count(spot->value));
    Members inside =
        members_open(spot->value, members_pointer(spot->members, spot->name), spot->members->error);
    for (JsonIter it = json_each(spot->value); json_next(&it);)
        read_value(&(Spot){ spot->arena, &inside, it.key, it.value, NULL }, field->of);
    keep_json(spot);
}

// field_size is the room that a value of the row takes in a struct or a list.
static size_t field_size(const Field *field)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_TEXT_OR_NUMBER:
    case FIELD_KEY:
    case FIELD_PATH:
    case FIELD_URL:
        return sizeof(Str);
    case FIELD_WORD:
    case FIELD_INT:
        return sizeof(int);
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_COUNT:
    case FIELD_SPAN:
    case FIELD_TIME:
        return sizeof(int64_t);
    case FIELD_NUMBER:
        return sizeof(double);
    case FIELD_ID:
        return sizeof(Uuid);
    case FIELD_OBJECT:
        if (field->inside && !(field->flags & FIELD_RAW))
            return field->inside->size;
        return sizeof(const Json *);
    case FIELD_FILTER:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_ANY:
        return sizeof(void *);
    }
    assert(!"there is no other kind");
}

// keep_list keeps a list and, beside it, its count.
static void keep_list(const Spot *spot, const Field *field, const void *elements, size_t count)
{
    keep(spot, &elements, sizeof elements);
    if (spot->place)
        memcpy((char *) spot->place - field->offset + field->count, &count, sizeof count);
}

// read_elements reads a list into a new array; one with a mistake in it is not kept.
static void read_elements(const Spot *spot, const Field *field)
{
    size_t size = field_size(field->of), count = json_count(spot->value);
    char *elements = arena_alloc(spot->arena, size * count);
    Members array =
        members_open(spot->value, members_pointer(spot->members, spot->name), spot->members->error);
    for (JsonIter it = json_each(spot->value); json_next(&it);) {
        char index[24];
        snprintf(index, sizeof index, "%zu", it.index - 1);
        void *place = elements + size * (it.index - 1);
        read_value(&(Spot){ spot->arena, &array, str_from(index), it.value, place }, field->of);
    }
    if (array.error->count == array.before)
        keep_list(spot, field, elements, count);
}

static void read_alone(const Spot *spot, const Field *field)
{
    size_t before = spot->members->error->count;
    Spot only = *spot;
    only.place = arena_alloc(spot->arena, field_size(field->of));
    read_value(&only, field->of);
    if (spot->members->error->count == before)
        keep_list(spot, field, only.place, 1);
}

static void read_list(const Spot *spot, const Field *field)
{
    size_t count = json_count(spot->value);
    bool is_array = json_type(spot->value) == JSON_ARRAY;
    if (!is_array && field->flags & FIELD_ALONE)
        read_alone(spot, field);
    else if (!is_array)
        note_type(spot, "an array");
    else if (count < (size_t) field->min || count > (size_t) field->max)
        members_note(spot->members, spot->name, field->code ? field->code : "bad-value",
                     "must have %lld to %lld elements, not %zu", (long long) field->min,
                     (long long) field->max, count);
    else if (field->flags & FIELD_RAW)
        keep_json(spot);
    else
        read_elements(spot, field);
}

static void read_value(const Spot *spot, const Field *field)
{
    static void (*const readers[])(const Spot *, const Field *) = {
        [FIELD_TEXT] = read_text,     [FIELD_TEXT_OR_NUMBER] = read_text_or_number,
        [FIELD_KEY] = read_key,       [FIELD_PATH] = read_path,
        [FIELD_URL] = read_text,      [FIELD_WORD] = read_word,
        [FIELD_BOOL] = read_bool,     [FIELD_INT] = read_int,
        [FIELD_COUNT] = read_count,   [FIELD_NUMBER] = read_number,
        [FIELD_SPAN] = read_span,     [FIELD_TIME] = read_time,
        [FIELD_ID] = read_id,         [FIELD_FILTER] = read_filter,
        [FIELD_OBJECT] = read_object, [FIELD_LIST] = read_list,
        [FIELD_MAP] = read_map,       [FIELD_ANY] = read_any,
    };
    assert(field->kind < ARRAY_LEN(readers) && readers[field->kind]);
    readers[field->kind](spot, field);
}

// find returns the place of a name among the rows that may be given; the count for none.
static size_t find(const Shape *shape, Str name)
{
    size_t i = 0;
    while (i < shape->count &&
           (shape->fields[i].flags & FIELD_SHOWN || !str_eq(name, str_from(shape->fields[i].name))))
        i++;
    return i;
}

static void note_unknown(const Members *members, const Shape *shape, Str name)
{
    const char *known[SHAPE_FIELDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < shape->count; i++)
        if (!(shape->fields[i].flags & (FIELD_SHOWN | FIELD_OURS)))
            known[count++] = shape->fields[i].name;
    members_unknown(members, name, known, count);
}

// sort_members puts the object's members beside the rows that they are of. Another name of a row
// stands for it: the same thing under both names is refused.
static void sort_members(const Members *members, const Shape *shape, const Json **ret)
{
    for (JsonIter it = json_each(members->object); json_next(&it);) {
        size_t i = find(shape, it.key);
        if (i == shape->count && !shape->is_open)
            note_unknown(members, shape, it.key);
        if (i == shape->count || json_type(it.value) == JSON_NULL)
            continue;
        while (shape->fields[i].flags & FIELD_ALSO)
            i--;
        if (ret[i])
            members_note(members, it.key, "bad-value", "is \"%s\" by another name; give one",
                         shape->fields[i].name);
        else
            ret[i] = it.value;
    }
}

static void read_members(Arena *arena, const Members *members, const Shape *shape,
                         const Json *const *values, void *ret)
{
    for (size_t i = 0; i < shape->count; i++) {
        const Field *field = &shape->fields[i];
        if (!values[i])
            continue;
        Spot spot = { arena, members, str_from(field->name), values[i],
                      ret ? (char *) ret + field->offset : NULL };
        read_value(&spot, field);
        if (ret && field->given)
            memcpy((char *) ret + field->given, &(bool){ true }, sizeof(bool));
    }
}

bool fields_note(Arena *arena, const Json *source, Str pointer, const Shape *shape, void *ret,
                 Error *error)
{
    assert(shape->count <= SHAPE_FIELDS_MAX);
    const Json *values[SHAPE_FIELDS_MAX] = { NULL };
    Members members = members_open(source, pointer, error);
    if (!members_is_object(&members))
        return false;
    sort_members(&members, shape, values);
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].flags & FIELD_NEEDED && !(shape->fields[i].flags & FIELD_SHOWN) &&
            !values[i])
            members_missing(&members, shape->fields[i].name);
    read_members(arena, &members, shape, values, shape->size ? ret : NULL);
    if (shape->check)
        shape->check(&members, shape->size ? ret : NULL);
    return true;
}

Err fields_read(Arena *arena, const Json *source, Str pointer, const Shape *shape, void *ret,
                Error *error)
{
    Error own = { 0 };
    Error *noted = error ? error : &own;
    size_t before = noted->count;
    fields_note(arena, source, pointer, shape, ret, noted);
    if (noted->count == before)
        return ERR_OK;
    return error_close(noted, shape->invalid ? shape->invalid : ERR_INVALID);
}

const Field *fields_find(const Shape *shape, Str name)
{
    size_t i = find(shape, name);
    if (i == shape->count)
        return NULL;
    while (shape->fields[i].flags & FIELD_ALSO)
        i--;
    return &shape->fields[i];
}

static void write_value(JsonOut *out, Arena *arena, const Field *field, const Json *value,
                        bool keeps_null)
{
    JsonType type = json_type(value);
    if (field && field->kind == FIELD_OBJECT && field->inside && type == JSON_OBJECT) {
        fields_write(out, arena, field->inside, value, keeps_null);
    } else if (field && field->kind == FIELD_LIST && type == JSON_ARRAY) {
        json_open(out, '[');
        for (JsonIter it = json_each(value); json_next(&it);)
            write_value(out, arena, field->of, it.value, keeps_null);
        json_close(out, ']');
    } else {
        json_add_raw(out, json_text(arena, value));
    }
}

void fields_write(JsonOut *out, Arena *arena, const Shape *shape, const Json *source,
                  bool keeps_null)
{
    json_open(out, '{');
    for (JsonIter it = json_each(source); json_next(&it);) {
        const Field *field = fields_find(shape, it.key);
        if (json_type(it.value) == JSON_NULL && !keeps_null)
            continue;
        json_key(out, field ? str_from(field->name) : it.key);
        write_value(out, arena, field, it.value, keeps_null);
    }
    json_close(out, '}');
}
