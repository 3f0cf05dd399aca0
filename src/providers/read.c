#include "providers/read.h"

#include "base/crypto.h"

const Json *read_at(const Json *value, const char *path)
{
    Str rest = str_from(path);
    while (value && rest.at)
        value = json_get(value, str_cut(&rest, '.'));
    return value;
}

static Str some(Str text)
{
    return text.len > 0 ? text : STR_NONE;
}

Str read_text(const Json *value, const char *path)
{
    return some(json_str(read_at(value, path)));
}

Str read_word(const Json *value, const char *path)
{
    const Json *at = read_at(value, path);
    return json_type(at) == JSON_NUMBER ? json_number_text(at) : some(json_str(at));
}

static bool is_control(char c)
{
    return (unsigned char) c < ' ' || c == 0x7f;
}

Str read_title(Str text)
{
    while (text.len > 0 && (is_control(text.at[0]) || text.at[0] == ' '))
        text = str_skip(text, 1);
    size_t len = 0;
    while (len < text.len && (!is_control(text.at[len]) || text.at[len] == '\t'))
        len++;
    return some(str_trim(str_head((Str){ text.at, len }, READ_TITLE_MAX)));
}

Str read_url(Str text)
{
    if (text.len > READ_TEXT_MAX ||
        !(str_starts(text, S("http://")) || str_starts(text, S("https://"))))
        return STR_NONE;
    for (size_t i = 0; i < text.len; i++)
        if (is_control(text.at[i]) || text.at[i] == ' ')
            return STR_NONE;
    return text;
}

Str read_id(Arena *arena, Str text)
{
    if (text.len <= READ_ID_MAX)
        return text;
    Sha256 hash = sha256(text);
    return hex_text(arena, hash.b, sizeof hash.b);
}

Str read_first(const Str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (texts[i].len > 0)
            return texts[i];
    return STR_NONE;
}

Str read_lower(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = str_lower_char(text.at[i]);
    return (Str){ copy, text.len };
}

static bool is_scalar(const Json *value)
{
    JsonType type = json_type(value);
    return type == JSON_STRING || type == JSON_NUMBER || type == JSON_BOOL;
}

static void add_scalar(JsonOut *out, const Json *value, size_t max)
{
    if (json_type(value) == JSON_STRING)
        json_add_str(out, str_head(json_str(value), max));
    else if (json_type(value) == JSON_NUMBER)
        json_add_raw(out, json_number_text(value));
    else
        json_add_bool(out, json_bool(value));
}

static void put_list(JsonOut *out, const ReadRow *row, const Json *list)
{
    size_t count = 0;
    json_key(out, str_from(row->name));
    json_open(out, '[');
    for (JsonIter it = json_each(list); count < READ_LIST_MAX && json_next(&it);) {
        const Json *element = *row->each ? read_at(it.value, row->each) : it.value;
        if (!is_scalar(element))
            continue;
        add_scalar(out, element, READ_ELEMENT_MAX);
        count++;
    }
    json_close(out, ']');
}

void read_put(JsonOut *out, const Json *value, const ReadRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Json *at = read_at(value, rows[i].path);
        if (rows[i].each && json_type(at) == JSON_ARRAY) {
            put_list(out, &rows[i], at);
        } else if (!rows[i].each && is_scalar(at)) {
            json_key(out, str_from(rows[i].name));
            add_scalar(out, at, READ_TEXT_MAX);
        }
    }
}

void read_put_text(JsonOut *out, const char *name, Str text)
{
    if (text.len > 0)
        json_put_str(out, str_from(name), str_head(text, READ_TEXT_MAX));
}

// add_decoded undoes a form's encoding; a percent sign without two digits stands for itself.
static void add_decoded(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        int high = text.at[i] == '%' && i + 2 < text.len ? str_hex_value(text.at[i + 1]) : -1;
        int low = high >= 0 ? str_hex_value(text.at[i + 2]) : -1;
        if (low >= 0) {
            buf_add_char(buf, (char) (high << 4 | low));
            i += 2;
        } else {
            buf_add_char(buf, text.at[i] == '+' ? ' ' : text.at[i]);
        }
    }
}

static Str decoded(Arena *arena, Str text)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    add_decoded(&buf, text);
    return buf_str(&buf);
}

bool read_form(Arena *arena, Str form, Str name, Str *ret)
{
    while (form.at) {
        Str value = str_cut(&form, '&');
        if (!str_eq(str_cut(&value, '='), name))
            continue;
        *ret = decoded(arena, value);
        return true;
    }
    return false;
}

static bool is_among(const Str *names, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(names[i], name))
            return true;
    return false;
}

void read_put_form(Arena *arena, JsonOut *out, Str form)
{
    Str names[READ_FIELDS_MAX];
    size_t count = 0;
    for (size_t i = 0; form.at && i < READ_FIELDS_MAX; i++) {
        Str value = str_cut(&form, '&');
        Str name = decoded(arena, str_cut(&value, '='));
        if (name.len == 0 || !str_is_utf8(name) || is_among(names, count, name))
            continue;
        names[count++] = name;
        value = value.len > 0 ? decoded(arena, value) : S("");
        json_put_str(out, name, str_is_utf8(value) ? value : STR_NONE);
    }
}
