#include "base/json.h"

#include "base/patience.h"
#include "base/time.h"

#include <yyjson.h>

enum { FEW_MEMBERS = 16 }; // up to here comparing each key with each other beats sorting

// The library reads through pointers to plain values; it does not change them.
static yyjson_val *val(const Json *value)
{
    return (yyjson_val *) (uintptr_t) value;
}

static Str text_of(const Json *value)
{
    return (Str){ value->uni.str, unsafe_yyjson_get_len(val(value)) };
}

static void *alc_malloc(void *arena, size_t size)
{
    return arena_grow(arena, NULL, 0, size);
}

static void *alc_realloc(void *arena, void *at, size_t old_size, size_t size)
{
    return arena_grow(arena, at, old_size, size);
}

static void alc_free(void *arena, void *at)
{
    (void) arena, (void) at;
}

// read_double reads the text of a number; false when it is too large for a double.
static bool read_double(Str number, double *ret)
{
    char digits[JSON_NUMBER_MAX + 1];
    assert(number.len <= JSON_NUMBER_MAX);
    memcpy(digits, number.at, number.len);
    digits[number.len] = '\0';
    yyjson_val parsed;
    if (!yyjson_read_number(digits, &parsed, YYJSON_READ_NOFLAG, NULL, NULL))
        return false;
    *ret = yyjson_get_num(&parsed);
    return true;
}

static bool is_finite(Str number)
{
    double unused;
    // Without an exponent, JSON_NUMBER_MAX digits are far below the largest double.
    if (!memchr(number.at, 'e', number.len) && !memchr(number.at, 'E', number.len))
        return true;
    return read_double(number, &unused);
}

static int cmp_keys(const void *a, const void *b)
{
    return str_cmp(text_of(*(const Json *const *) a), text_of(*(const Json *const *) b));
}

// list_keys fills keys with the keys of an object in the order read.
static void list_keys(const Json *object, const Json **keys)
{
    const Json *key = object + 1;
    size_t count = unsafe_yyjson_get_len(val(object));
    for (size_t i = 0; i < count; i++) {
        keys[i] = key;
        key = unsafe_yyjson_get_next(val(key + 1));
    }
}

// duplicate_key returns a key that the object has twice, or NULL. It never compares all with all
// in a large object, which an attacker would send.
static const Json *duplicate_key(Arena *arena, const Json *object)
{
    size_t count = unsafe_yyjson_get_len(val(object));
    if (count < 2)
        return NULL;
    const Json *few[FEW_MEMBERS];
    if (count <= FEW_MEMBERS) {
        list_keys(object, few);
        for (size_t i = 1; i < count; i++)
            for (size_t j = 0; j < i; j++)
                if (str_eq(text_of(few[i]), text_of(few[j])))
                    return few[i];
        return NULL;
    }
    const Json **keys = ARENA_ARRAY(arena, const Json *, count);
    list_keys(object, keys);
    qsort(keys, count, sizeof *keys, cmp_keys);
    for (size_t i = 1; i < count; i++)
        if (str_eq(text_of(keys[i - 1]), text_of(keys[i])))
            return keys[i] > keys[i - 1] ? keys[i] : keys[i - 1];
    return NULL;
}

// deep_offset finds the bracket that opens the first level too many.
static size_t deep_offset(Str text)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']'))
            depth--;
        if (depth > JSON_DEPTH_MAX)
            return i;
    }
    return text.len;
}

// placed adds to what was told of a byte the line that it is on, where there are several.
static Err placed(Err err, Error *error, Str text, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < text.len; i++)
        line += text.at[i] == '\n';
    return error && line > 1 ? fail(error, err, "%s (line %zu)", error->detail, line) : err;
}

// check_leaf looks at a string, key or number. Its offset is known, because the library keeps a
// copy of the whole text and values point into it.
static Err check_leaf(const yyjson_doc *doc, Str whole, const Json *value, Error *error)
{
    yyjson_type type = unsafe_yyjson_get_type(val(value));
    if (type != YYJSON_TYPE_STR && type != YYJSON_TYPE_RAW)
        return ERR_OK;
    Str text = text_of(value);
    size_t offset = (size_t) (text.at - doc->str_pool);
    if (type == YYJSON_TYPE_STR) {
        // Only an escape can bring a NUL in.
        bool is_plain = unsafe_yyjson_get_subtype(val(value)) == YYJSON_SUBTYPE_NOESC;
        if (!is_plain && memchr(text.at, '\0', text.len))
            return placed(fail(error, ERR_MALFORMED,
                               "the string at byte %zu contains \\u0000, which cannot be stored",
                               offset),
                          error, whole, offset);
        return ERR_OK;
    }
    if (text.len > JSON_NUMBER_MAX)
        return placed(fail(error, ERR_MALFORMED,
                           "the number at byte %zu has more than %d characters", offset,
                           JSON_NUMBER_MAX),
                      error, whole, offset);
    if (!is_finite(text))
        return placed(fail(error, ERR_MALFORMED, "the number at byte %zu is too large", offset),
                      error, whole, offset);
    return ERR_OK;
}

// check_values walks the flat array of values once, with the ends of the open containers beside.
static Err check_values(Arena *arena, const yyjson_doc *doc, Str text, Error *error)
{
    const Json *ends[JSON_DEPTH_MAX];
    size_t depth = 0;
    const Json *end = unsafe_yyjson_get_next(doc->root);
    for (const Json *value = doc->root; value < end; value++) {
        while (depth > 0 && value == ends[depth - 1])
            depth--;
        if (!unsafe_yyjson_is_ctn(val(value))) {
            TRY(check_leaf(doc, text, value, error));
            continue;
        }
        if (depth == JSON_DEPTH_MAX)
            return placed(fail(error, ERR_MALFORMED, "nested deeper than %d levels at byte %zu",
                               JSON_DEPTH_MAX, deep_offset(text)),
                          error, text, deep_offset(text));
        ends[depth++] = unsafe_yyjson_get_next(val(value));
        if (unsafe_yyjson_get_type(val(value)) != YYJSON_TYPE_OBJ)
            continue;
        const Json *twice = duplicate_key(arena, value);
        size_t offset = twice ? (size_t) (twice->uni.str - doc->str_pool) : 0;
        if (twice)
            return placed(fail(error, ERR_MALFORMED,
                               "the key at byte %zu stands twice in its object", offset),
                          error, text, offset);
    }
    return ERR_OK;
}

enum { ESCAPE_LEN = 6 }; // of \uXXXX

// escaped_code is what the escape stands for that text begins with; -1: it begins with none.
static int escaped_code(Str text)
{
    int code = 0;
    if (text.len < ESCAPE_LEN || !str_starts(text, S("\\u")))
        return -1;
    for (size_t i = 2; i < ESCAPE_LEN && code >= 0; i++) {
        int digit = str_hex_value(text.at[i]);
        code = digit < 0 ? -1 : code << 4 | digit;
    }
    return code;
}

// piece_len is how long the escape or character is that text begins with, and whether it may stay.
static size_t piece_len(Str text, bool *ret_is_good)
{
    int code = escaped_code(text), low = escaped_code(str_skip(text, ESCAPE_LEN));
    *ret_is_good = true;
    if (code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000)
        return (size_t) 2 * ESCAPE_LEN;
    *ret_is_good = code != 0 && (code < 0xd800 || code >= 0xe000);
    if (code >= 0)
        return ESCAPE_LEN;
    if (text.at[0] == '\\' && text.len > 1)
        return 2;
    size_t len = str_utf8_len(text);
    *ret_is_good = len > 0;
    return len > 0 ? len : 1;
}

// plain_len is how many characters text begins with that need no look: plain ASCII, and no escape.
static size_t plain_len(Str text)
{
    size_t len = 0;
    while (len < text.len && text.at[len] != '\\' && (unsigned char) text.at[len] < 0x80)
        len++;
    return len;
}

bool json_mend(Arena *arena, Str text, Str *ret)
{
    Buf mended = buf_new(arena, BUF_WHOLE);
    Str good = { text.at, 0 };
    while (text.len > 0) {
        bool is_good = true;
        size_t plain = plain_len(text);
        size_t len = plain > 0 ? plain : piece_len(text, &is_good);
        text = str_skip(text, len);
        good.len += is_good ? len : 0;
        if (is_good)
            continue;
        buf_add(&mended, good);
        buf_add(&mended, S("\xef\xbf\xbd"));
        good = (Str){ text.at, 0 };
    }
    bool is_mended = buf_str(&mended).len > 0;
    buf_add(&mended, good);
    *ret = buf_str(&mended);
    return is_mended;
}

Err json_parse(Arena *arena, Str text, const Json **ret, Error *error)
{
    if (text.len == 0)
        return fail(error, ERR_MALFORMED, "not JSON: the text is empty");
    if (!patience_lasts(text.len))
        return fail(error, ERR_MALFORMED, "there is no time left to read it");
    yyjson_alc alc = { alc_malloc, alc_realloc, alc_free, arena };
    yyjson_read_err read_err;
    // Without the in-situ flag the library works on a copy and leaves the text alone.
    char *at = (char *) (uintptr_t) text.at;
    const yyjson_doc *doc =
        yyjson_read_opts(at, text.len, YYJSON_READ_NUMBER_AS_RAW, &alc, &read_err);
    if (!doc)
        return placed(
            fail(error, ERR_MALFORMED, "not JSON: %s at byte %zu", read_err.msg, read_err.pos),
            error, text, read_err.pos);
    TRY(check_values(arena, doc, text, error));
    *ret = doc->root;
    return ERR_OK;
}

Str json_below(Arena *arena, Str pointer, Str name)
{
    Buf text = buf_new(arena, pointer.len + 1 + 2 * name.len);
    buf_add(&text, pointer);
    buf_add_char(&text, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '~')
            buf_add(&text, S("~0"));
        else if (name.at[i] == '/')
            buf_add(&text, S("~1"));
        else
            buf_add_char(&text, name.at[i]);
    }
    return buf_str(&text);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// token_len is how long the string, number or word is that text begins with.
static size_t token_len(Str text)
{
    size_t len = 1;
    if (text.at[0] == '"') {
        while (text.at[len] != '"') {
            len += text.at[len] == '\\' ? 2 : 1;
            assert(len < text.len); // it was read
        }
        return len + 1;
    }
    while (len < text.len && !is_space(text.at[len]) && !strchr(",:]}", text.at[len]))
        len++;
    return len;
}

// is_key: a colon follows.
static bool is_key(Str rest)
{
    while (rest.len > 0 && is_space(rest.at[0]))
        rest = str_skip(rest, 1);
    return str_starts(rest, S(":"));
}

uint32_t *json_lines(Arena *arena, Str text, size_t *ret_count)
{
    uint32_t *lines = NULL, line = 1;
    size_t count = 0, room = 0, len;
    for (; text.len > 0; text = str_skip(text, len)) {
        char c = text.at[0];
        len = 1;
        line += c == '\n';
        if (is_space(c) || strchr(",:]}", c))
            continue;
        if (c != '{' && c != '[')
            len = token_len(text);
        if (is_key(str_skip(text, len)))
            continue;
        if (count == room) {
            room = room ? room * 2 : 64;
            lines = arena_grow(arena, lines, count * sizeof *lines, room * sizeof *lines);
        }
        lines[count++] = line;
    }
    *ret_count = count;
    return lines;
}

JsonType json_type(const Json *value)
{
    if (!value)
        return JSON_ABSENT;
    switch (unsafe_yyjson_get_type(val(value))) {
    case YYJSON_TYPE_NULL:
        return JSON_NULL;
    case YYJSON_TYPE_BOOL:
        return JSON_BOOL;
    case YYJSON_TYPE_RAW:
        return JSON_NUMBER;
    case YYJSON_TYPE_STR:
        return JSON_STRING;
    case YYJSON_TYPE_ARR:
        return JSON_ARRAY;
    case YYJSON_TYPE_OBJ:
        return JSON_OBJECT;
    default:
        return JSON_ABSENT;
    }
}

const char *json_type_name(JsonType type)
{
    static const char *const names[] = {
        [JSON_ABSENT] = "nothing",   [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean",
        [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    return names[type];
}

const Json *json_get(const Json *object, Str key)
{
    if (!key.at || !patience_lasts(json_count(object)))
        return NULL;
    return yyjson_obj_getn(val(object), key.at, key.len);
}

const Json *json_at(const Json *array, size_t index)
{
    return patience_lasts(index) ? yyjson_arr_get(val(array), index) : NULL;
}

size_t json_count(const Json *value)
{
    return value && unsafe_yyjson_is_ctn(val(value)) ? unsafe_yyjson_get_len(val(value)) : 0;
}

Str json_str(const Json *value)
{
    return json_type(value) == JSON_STRING ? text_of(value) : STR_NONE;
}

bool json_bool(const Json *value)
{
    return yyjson_is_true(val(value));
}

double json_double(const Json *value)
{
    double number = 0;
    if (json_type(value) == JSON_NUMBER)
        read_double(text_of(value), &number);
    return number;
}

bool json_i64(const Json *value, int64_t *ret)
{
    return str_to_i64(json_number_text(value), INT64_MIN, INT64_MAX, ret);
}

Str json_number_text(const Json *value)
{
    return json_type(value) == JSON_NUMBER ? text_of(value) : STR_NONE;
}

JsonIter json_each(const Json *container)
{
    size_t count = json_count(container);
    return (JsonIter){
        .container = container,
        .next = count > 0 ? container + 1 : NULL,
        .count = count,
    };
}

bool json_next(JsonIter *iter)
{
    const Json *at = iter->next;
    if (iter->index == iter->count || !patience_lasts(1)) {
        iter->key = STR_NONE;
        iter->value = NULL;
        return false;
    }
    iter->index++;
    if (json_type(iter->container) == JSON_OBJECT)
        iter->key = text_of(at++);
    iter->value = at;
    iter->next = unsafe_yyjson_get_next(val(at));
    return true;
}

// add_escaped writes the character of a string that may not stand there as it is.
static void add_escaped(Buf *buf, unsigned char c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i < sizeof short_forms - 1; i += 2) {
        if (c == (unsigned char) short_forms[i]) {
            buf_add_char(buf, '\\');
            buf_add_char(buf, short_forms[i + 1]);
            return;
        }
    }
    buf_add_format(buf, "\\u%04x", (unsigned) c);
}

// is_plain: characters of ASCII that stand for themselves in a string.
static const bool is_plain[256] = {
    [' ' ... '!'] = true,
    ['#' ... '['] = true,
    [']' ... 0x7f] = true,
};

static void add_string(Buf *buf, Str s)
{
    buf_add_char(buf, '"');
    size_t start = 0, i = 0;
    while (i < s.len) {
        unsigned char c = (unsigned char) s.at[i];
        if (is_plain[c]) {
            i++;
            continue;
        }
        size_t len = c < 0x80 ? 0 : str_utf8_len(str_skip(s, i));
        if (len > 0) {
            i += len;
            continue;
        }
        buf_add_bytes(buf, s.at + start, i - start);
        // A byte that is not UTF-8 becomes U+FFFD, so that what is written is always JSON.
        if (c >= 0x80)
            buf_add(buf, S("\xef\xbf\xbd"));
        else
            add_escaped(buf, c);
        start = ++i;
    }
    buf_add_bytes(buf, s.at + start, s.len - start);
    buf_add_char(buf, '"');
}

static void add_leaf(Buf *buf, const Json *value)
{
    switch (json_type(value)) {
    case JSON_ABSENT:
    case JSON_NULL:
        buf_add(buf, S("null"));
        break;
    case JSON_BOOL:
        buf_add(buf, json_bool(value) ? S("true") : S("false"));
        break;
    case JSON_NUMBER:
        buf_add(buf, text_of(value));
        break;
    case JSON_STRING:
        if (unsafe_yyjson_get_subtype(val(value)) == YYJSON_SUBTYPE_NOESC) {
            buf_add_char(buf, '"');
            buf_add(buf, text_of(value));
            buf_add_char(buf, '"');
        } else {
            add_string(buf, text_of(value));
        }
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        assert(!"a container is not a leaf");
    }
}

static void write_value(Buf *buf, const Json *value, bool sorted);

static void write_sorted(Buf *buf, const Json *object)
{
    size_t count = json_count(object);
    const Json *few[FEW_MEMBERS];
    const Json **keys = count <= FEW_MEMBERS ? few : memory_new(count * sizeof *keys);
    list_keys(object, keys);
    qsort(keys, count, sizeof *keys, cmp_keys);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_char(buf, ',');
        add_leaf(buf, keys[i]);
        buf_add_char(buf, ':');
        write_value(buf, keys[i] + 1, true);
    }
    if (keys != few)
        free(keys);
}

// write_value calls itself no deeper than JSON_DEPTH_MAX, because json_parse made the value.
static void write_value(Buf *buf, const Json *value, bool sorted)
{
    JsonType type = json_type(value);
    if (type != JSON_OBJECT && type != JSON_ARRAY) {
        add_leaf(buf, value);
        return;
    }
    buf_add_char(buf, type == JSON_OBJECT ? '{' : '[');
    if (type == JSON_OBJECT && sorted) {
        write_sorted(buf, value);
    } else {
        const Json *at = value + 1;
        size_t count = json_count(value);
        for (size_t i = 0; i < count; i++) {
            if (i > 0)
                buf_add_char(buf, ',');
            if (type == JSON_OBJECT) {
                add_leaf(buf, at++);
                buf_add_char(buf, ':');
            }
            write_value(buf, at, sorted);
            at = unsafe_yyjson_get_next(val(at));
        }
    }
    buf_add_char(buf, type == JSON_OBJECT ? '}' : ']');
}

void json_write(Buf *buf, const Json *value, bool sorted)
{
    write_value(buf, value, sorted);
}

Str json_text(Arena *arena, const Json *value)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    write_value(&buf, value, false);
    return buf_str(&buf);
}

JsonOut json_out(Buf *buf)
{
    return (JsonOut){ .buf = buf };
}

// begin puts the comma that is due before a value; behind the value another one is.
static Buf *begin(JsonOut *out)
{
    if (out->more)
        buf_add_char(out->buf, ',');
    out->more = true;
    return out->buf;
}

void json_open(JsonOut *out, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    buf_add_char(begin(out), bracket);
    out->more = false;
}

void json_close(JsonOut *out, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    buf_add_char(out->buf, bracket);
    out->more = true;
}

void json_key(JsonOut *out, Str key)
{
    add_string(begin(out), key);
    buf_add_char(out->buf, ':');
    out->more = false;
}

void json_add_str(JsonOut *out, Str s)
{
    if (s.at)
        add_string(begin(out), s);
    else
        json_add_null(out);
}

void json_add_i64(JsonOut *out, int64_t n)
{
    buf_add_i64(begin(out), n);
}

void json_add_bool(JsonOut *out, bool b)
{
    buf_add(begin(out), b ? S("true") : S("false"));
}

void json_add_null(JsonOut *out)
{
    buf_add(begin(out), S("null"));
}

void json_add_raw(JsonOut *out, Str json)
{
    buf_add(begin(out), json.at ? json : S("null"));
}

void json_add_time(JsonOut *out, Instant at)
{
    char text[TIME_TEXT_MAX];
    json_add_str(out, time_text(at, text));
}

void json_put_str(JsonOut *out, Str key, Str value)
{
    json_key(out, key);
    json_add_str(out, value);
}

void json_put_i64(JsonOut *out, Str key, int64_t n)
{
    json_key(out, key);
    json_add_i64(out, n);
}

void json_put_bool(JsonOut *out, Str key, bool b)
{
    json_key(out, key);
    json_add_bool(out, b);
}

void json_put_null(JsonOut *out, Str key)
{
    json_key(out, key);
    json_add_null(out);
}

void json_put_raw(JsonOut *out, Str key, Str json)
{
    json_key(out, key);
    json_add_raw(out, json);
}

void json_put_stored(JsonOut *out, Str key, Str json)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const Json *unused;
    bool is_json = json_parse(&scratch, json, &unused, NULL) == ERR_OK;
    json_put_raw(out, key, is_json ? json : STR_NONE);
}

void json_put_id(JsonOut *out, Str key, Uuid id)
{
    char text[UUID_TEXT_LEN + 1];
    json_put_str(out, key, uuid_is_none(id) ? STR_NONE : uuid_text(id, text));
}

void json_put_time(JsonOut *out, Str key, Instant at)
{
    json_key(out, key);
    json_add_time(out, at);
}

static void merge_members(JsonOut *out, const Json *target, const Json *patch)
{
    for (JsonIter it = json_each(target); json_next(&it);) {
        const Json *change = json_get(patch, it.key);
        if (json_type(change) == JSON_NULL)
            continue;
        json_key(out, it.key);
        json_merge(out, it.value, change);
    }
    for (JsonIter it = json_each(patch); json_next(&it);) {
        if (json_get(target, it.key) || json_type(it.value) == JSON_NULL)
            continue;
        json_key(out, it.key);
        json_merge(out, NULL, it.value);
    }
}

// json_merge calls itself for each level, so no deeper than a document may be (JSON_DEPTH_MAX).
void json_merge(JsonOut *out, const Json *target, const Json *patch)
{
    if (json_type(patch) != JSON_OBJECT) {
        write_value(begin(out), patch ? patch : target, false);
        return;
    }
    json_open(out, '{');
    merge_members(out, json_type(target) == JSON_OBJECT ? target : NULL, patch);
    json_close(out, '}');
}
