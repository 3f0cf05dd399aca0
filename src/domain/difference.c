#include "domain/difference.h"

#include "domain/field.h"

static void compare(Difference *found, Str path, const Json *from, const Json *to);

static bool is_sealed(const Json *value)
{
    return json_get(value, FIELD_SEALED) != NULL;
}

static bool is_same(const Json *a, const Json *b);

static bool are_same_members(const Json *a, const Json *b)
{
    for (JsonIter it = json_each(a); json_next(&it);)
        if (!json_get(b, it.key) || !is_same(it.value, json_get(b, it.key)))
            return false;
    return json_count(a) == json_count(b);
}

static bool are_same_elements(const Json *a, const Json *b)
{
    JsonIter x = json_each(a), y = json_each(b);
    while (json_next(&x) && json_next(&y))
        if (!is_same(x.value, y.value))
            return false;
    return json_count(a) == json_count(b);
}

static bool is_same(const Json *a, const Json *b)
{
    if (json_type(a) != json_type(b))
        return false;
    if (is_sealed(a) || is_sealed(b))
        return str_eq(json_str(json_get(a, FIELD_SEALED)), json_str(json_get(b, FIELD_SEALED)));
    switch (json_type(a)) {
    case JSON_OBJECT:
        return are_same_members(a, b);
    case JSON_ARRAY:
        return are_same_elements(a, b);
    case JSON_STRING:
        return str_eq(json_str(a), json_str(b));
    case JSON_NUMBER:
        return str_eq(json_number_text(a), json_number_text(b));
    case JSON_BOOL:
        return json_bool(a) == json_bool(b);
    case JSON_NULL:
    case JSON_ABSENT:
        break;
    }
    return true;
}

// put_told writes a value as it may be told: without secrets, without what follows a URL's ?.
static void put_told(Arena *arena, JsonOut *out, const Json *value)
{
    JsonType type = json_type(value);
    Str rest = json_str(value), head = str_cut(&rest, '?');
    if (is_sealed(value)) {
        json_add_str(out, S("(secret)"));
    } else if (type == JSON_STRING && rest.at && str_contains(head, S("://"))) {
        json_add_str(out, str_format(arena, "%.*s?…", STR_ARG(head)));
    } else if (type == JSON_OBJECT || type == JSON_ARRAY) {
        bool is_object = type == JSON_OBJECT;
        json_open(out, is_object ? '{' : '[');
        for (JsonIter it = json_each(value); json_next(&it);) {
            if (is_object)
                json_key(out, it.key);
            put_told(arena, out, it.value);
        }
        json_close(out, is_object ? '}' : ']');
    } else {
        json_add_raw(out, json_text(arena, value));
    }
}

// told is a value's text, or its beginning as a string where it is long.
static Str told(Arena *arena, const Json *value)
{
    if (!value)
        return STR_NONE;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    put_told(arena, &out, value);
    if (text.len <= DIFFERENCE_VALUE_MAX)
        return buf_str(&text);
    Str whole = json_type(value) == JSON_STRING ? json_str(value) : buf_str(&text);
    Buf cut = buf_new(arena, BUF_WHOLE);
    out = json_out(&cut);
    json_add_str(&out, str_format(arena, "%.*s…", STR_ARG(str_head(whole, DIFFERENCE_VALUE_MAX))));
    return buf_str(&cut);
}

static void add_row(Difference *difference, const DifferenceRow *row)
{
    size_t count = difference->count++, size = sizeof *row;
    if (count >= DIFFERENCE_ROWS_MAX)
        return;
    if ((count & (count - 1)) == 0) // room is doubled
        difference->rows = arena_grow(difference->arena, difference->rows, count * size,
                                      (count ? count * 2 : 1) * size);
    difference->rows[count] = *row;
}

void difference_add(Difference *difference, Str path, Str old, Str now)
{
    add_row(difference, &(DifferenceRow){ .path = path, .old = old, .now = now });
}

static void note(Difference *found, Str path, const Json *from, const Json *to)
{
    Arena *arena = found->arena;
    bool is_secret = is_sealed(from) || is_sealed(to);
    // What lies beyond the rows is only counted.
    bool is_kept = found->count < DIFFERENCE_ROWS_MAX && !is_secret;
    add_row(found, &(DifferenceRow){ .path = path,
                                     .is_secret = is_secret,
                                     .old = is_kept ? told(arena, from) : STR_NONE,
                                     .now = is_kept ? told(arena, to) : STR_NONE });
}

static void compare_members(Difference *found, Str path, const Json *from, const Json *to)
{
    Arena *arena = found->arena;
    for (JsonIter it = json_each(from); json_next(&it);)
        compare(found, json_below(arena, path, it.key), it.value, json_get(to, it.key));
    for (JsonIter it = json_each(to); json_next(&it);)
        if (!json_get(from, it.key))
            note(found, json_below(arena, path, it.key), NULL, it.value);
}

static Str at_index(Arena *arena, Str path, size_t index)
{
    return str_format(arena, "%.*s/%zu", STR_ARG(path), index);
}

static const Json **elements(Arena *arena, const Json *list)
{
    const Json **all = ARENA_ARRAY(arena, const Json *, json_count(list) + 1);
    for (JsonIter it = json_each(list); json_next(&it);)
        all[it.index - 1] = it.value;
    return all;
}

static void compare_elements(Difference *found, Str path, const Json *from, const Json *to)
{
    Arena *arena = found->arena;
    const Json **a = elements(arena, from), **b = elements(arena, to);
    size_t a_end = json_count(from), b_end = json_count(to), first = 0;
    while (first < a_end && first < b_end && is_same(a[first], b[first]))
        first++;
    while (a_end > first && b_end > first && is_same(a[a_end - 1], b[b_end - 1])) {
        a_end--;
        b_end--;
    }
    bool has_pairs = a_end == b_end;
    for (size_t i = first; i < a_end; i++)
        compare(found, at_index(arena, path, i), a[i], has_pairs ? b[i] : NULL);
    for (size_t i = first; i < b_end && !has_pairs; i++)
        note(found, at_index(arena, path, i), NULL, b[i]);
}

static void compare(Difference *found, Str path, const Json *from, const Json *to)
{
    JsonType type = json_type(from);
    if (is_same(from, to))
        return;
    bool is_alike = type == json_type(to) && !is_sealed(from) && !is_sealed(to);
    if (is_alike && type == JSON_OBJECT)
        compare_members(found, path, from, to);
    else if (is_alike && type == JSON_ARRAY)
        compare_elements(found, path, from, to);
    else
        note(found, path, from, to);
}

Difference difference_find(Arena *arena, const Json *from, const Json *to)
{
    Difference found = { .arena = arena };
    compare(&found, S(""), from, to);
    return found;
}

void difference_write(JsonOut *out, const Difference *difference)
{
    json_open(out, '[');
    for (size_t i = 0; i < difference->count && i < DIFFERENCE_ROWS_MAX; i++) {
        const DifferenceRow *row = &difference->rows[i];
        json_open(out, '{');
        json_put_str(out, S("path"), row->path);
        if (row->is_secret)
            json_put_bool(out, S("secret"), true);
        if (row->old.at)
            json_put_raw(out, S("old"), row->old);
        if (row->now.at)
            json_put_raw(out, S("new"), row->now);
        json_close(out, '}');
    }
    json_close(out, ']');
}
