#include "base/yaml.h"

#include <yaml.h>

// Anchor is a value with a name: its place in the text that was made so far.
typedef struct Anchor Anchor;
struct Anchor {
    Str name;
    size_t from, to; // from == SIZE_MAX: it is still being read
    size_t lines;    // values in it
    Anchor *next;
};

typedef struct Reader {
    yaml_parser_t parser;
    Str given;
    YamlWords words;
    Arena *arena;
    Error *error;
    Buf text; // of the document, as JSON
    JsonOut out;
    uint32_t *lines;
    size_t line_count, line_room;
    Anchor *anchors;
    int depth;
} Reader;

static Err read_value(Reader *reader, const yaml_event_t *event);

static size_t line_of(const yaml_event_t *event)
{
    return event->start_mark.line + 1;
}

static Err refuse(const Reader *reader, const yaml_event_t *event, const char *why)
{
    return fail(reader->error, ERR_MALFORMED, "line %zu: %s", line_of(event), why);
}

static void delete_event(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static void delete_parser(Reader *reader)
{
    yaml_parser_delete(&reader->parser);
}

// problem_line is where the library stopped. Of bytes that are no characters it tells the offset.
static size_t problem_line(const Reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    size_t line = 1;
    if (parser->error != YAML_READER_ERROR)
        return parser->problem_mark.line + 1;
    for (size_t i = 0; i < parser->problem_offset && i < reader->given.len; i++)
        line += reader->given.at[i] == '\n';
    return line;
}

static Err next_event(Reader *reader, yaml_event_t *ret)
{
    if (yaml_parser_parse(&reader->parser, ret))
        return ERR_OK;
    const yaml_parser_t *parser = &reader->parser;
    *ret = (yaml_event_t){ 0 };
    return fail(reader->error, ERR_MALFORMED, "line %zu: %s", problem_line(reader),
                parser->problem ? parser->problem : "cannot be read");
}

// add_line notes on which line a value stands.
static Err add_line(Reader *reader, const yaml_event_t *event)
{
    if (reader->line_count == YAML_VALUES_MAX)
        return refuse(reader, event, "the document has too many values");
    if (reader->line_count == reader->line_room) {
        size_t room = reader->line_room ? reader->line_room * 2 : 64, size = sizeof(uint32_t);
        reader->lines =
            arena_grow(reader->arena, reader->lines, reader->line_count * size, room * size);
        reader->line_room = room;
    }
    reader->lines[reader->line_count++] = (uint32_t) line_of(event);
    return ERR_OK;
}

// What the core schema calls a number, and JSON as well.
static bool is_digits(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return text.len > 0;
}

static Str unsigned_of(Str text)
{
    bool has_sign = text.len > 0 && (text.at[0] == '-' || text.at[0] == '+');
    return has_sign ? str_skip(text, 1) : text;
}

// cut_exponent takes e-12 off the end; false where what looks like one is none.
static bool cut_exponent(Str *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->at[i] == 'e' || text->at[i] == 'E') {
            bool is_good = is_digits(unsigned_of(str_skip(*text, i + 1)));
            text->len = i;
            return is_good;
        }
    return true;
}

typedef struct Number {
    bool is_negative;
    Str whole, fraction, exponent; // none: not there
} Number;

// read_number takes a number of the core schema apart; false where the word is none.
static bool read_number(Str word, Number *ret)
{
    Str body = unsigned_of(word), mantissa = body;
    *ret = (Number){ .is_negative = word.len > 0 && word.at[0] == '-' };
    if (!cut_exponent(&mantissa))
        return false;
    if (mantissa.len < body.len)
        ret->exponent = str_skip(body, mantissa.len);
    Str fraction = mantissa, whole = str_cut(&fraction, '.');
    if ((whole.len > 0 && !is_digits(whole)) || (fraction.len > 0 && !is_digits(fraction)) ||
        whole.len + fraction.len == 0)
        return false;
    ret->whole = whole;
    ret->fraction = fraction;
    return true;
}

static bool is_one_of(Str word, const char *const *words)
{
    for (; *words; words++)
        if (str_eq(word, str_from(*words)))
            return true;
    return false;
}

static bool is_null(Str word)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    return is_one_of(word, nulls);
}

static bool is_true(Str word)
{
    static const char *const words[] = { "true", "True", "TRUE", NULL };
    return is_one_of(word, words);
}

static bool is_false(Str word)
{
    static const char *const words[] = { "false", "False", "FALSE", NULL };
    return is_one_of(word, words);
}

// no_number is why a word that is a number is taken for none; NULL: it is no such word.
static const char *no_number(Str word)
{
    static const char *const infinite[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL };
    Str body = unsigned_of(word);
    bool is_based = body.len > 2 && body.at[0] == '0' && (body.at[1] == 'x' || body.at[1] == 'o');
    if (is_one_of(body, infinite))
        return "JSON has no such number; put a text in quotes";
    if (is_based && str_hex_value(body.at[2]) >= 0)
        return "write the number in decimal, or a text in quotes";
    return NULL;
}

// is_zero_led: 0123 would lose its zero.
static bool is_zero_led(const Number *number)
{
    return number->whole.len > 1 && number->whole.at[0] == '0';
}

static void add_number(Reader *reader, const Number *number)
{
    Str text = str_format(reader->arena, "%s%.*s%s%.*s%.*s", number->is_negative ? "-" : "",
                          STR_ARG(number->whole.len > 0 ? number->whole : S("0")),
                          number->fraction.len > 0 ? "." : "", STR_ARG(number->fraction),
                          STR_ARG(number->exponent));
    json_add_raw(&reader->out, text);
}

// add_word writes an unquoted word as what the core schema says that it is.
static Err add_word(Reader *reader, const yaml_event_t *event, Str word)
{
    Number number;
    if (no_number(word))
        return refuse(reader, event, no_number(word));
    if (is_null(word)) {
        json_add_null(&reader->out);
    } else if (is_true(word) || is_false(word)) {
        json_add_bool(&reader->out, is_true(word));
    } else if (read_number(word, &number)) {
        if (is_zero_led(&number))
            return refuse(reader, event, "a number has no leading zero; put a text in quotes");
        if (word.len > JSON_NUMBER_MAX)
            return refuse(reader, event, "the number is too long; put a text in quotes");
        add_number(reader, &number);
    } else {
        json_add_str(&reader->out, word);
    }
    return ERR_OK;
}

static Str scalar_text(const yaml_event_t *event)
{
    return (Str){ (const char *) event->data.scalar.value, event->data.scalar.length };
}

static bool is_plain(const yaml_event_t *event)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;
}

// check_tag: what a value is follows from how it is written.
static Err check_tag(const Reader *reader, const yaml_event_t *event, const yaml_char_t *tag)
{
    Str name = str_from((const char *) tag);
    if (!name.at || (event->type == YAML_SCALAR_EVENT && str_eq(name, S("tag:yaml.org,2002:str"))))
        return ERR_OK;
    return refuse(reader, event, "tags are not read, but for !!str");
}

static Err check_text(const Reader *reader, const yaml_event_t *event, Str text)
{
    if (str_is_utf8(text))
        return ERR_OK;
    return refuse(reader, event, "the text has a NUL character");
}

static Err read_scalar(Reader *reader, const yaml_event_t *event)
{
    Str text = scalar_text(event);
    TRY(check_tag(reader, event, event->data.scalar.tag));
    TRY(check_text(reader, event, text));
    if (is_plain(event) && reader->words == YAML_CORE)
        return add_word(reader, event, text);
    json_add_str(&reader->out, text);
    return ERR_OK;
}

static Err read_list(Reader *reader, const yaml_event_t *event)
{
    TRY(check_tag(reader, event, event->data.sequence_start.tag));
    json_open(&reader->out, '[');
    for (;;) {
        DEFER(delete_event) yaml_event_t next = { 0 };
        TRY(next_event(reader, &next));
        if (next.type == YAML_SEQUENCE_END_EVENT)
            break;
        TRY(read_value(reader, &next));
    }
    json_close(&reader->out, ']');
    return ERR_OK;
}

// Key is a member's name and where it stands.
typedef struct Key {
    Str name;
    size_t line;
} Key;

typedef struct Keys {
    Key *at;
    size_t count, room;
} Keys;

static void add_key(Arena *arena, Keys *keys, Key key)
{
    if (keys->count == keys->room) {
        size_t room = keys->room ? keys->room * 2 : 8;
        keys->at = arena_grow(arena, keys->at, keys->count * sizeof key, room * sizeof key);
        keys->room = room;
    }
    keys->at[keys->count++] = key;
}

static int by_name(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    int order = str_cmp(x->name, y->name);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static Err check_twice(const Reader *reader, Keys *keys)
{
    if (keys->count > 1)
        qsort(keys->at, keys->count, sizeof *keys->at, by_name);
    for (size_t i = 1; i < keys->count; i++)
        if (str_eq(keys->at[i].name, keys->at[i - 1].name))
            return fail(reader->error, ERR_MALFORMED,
                        "line %zu: \"%.*s\" stands on line %zu already", keys->at[i].line,
                        STR_ARG(str_head(keys->at[i].name, 100)), keys->at[i - 1].line);
    return ERR_OK;
}

static Err read_key(Reader *reader, const yaml_event_t *event, Keys *keys)
{
    if (event->type != YAML_SCALAR_EVENT)
        return refuse(reader, event, "a key is a word or a text");
    Str name = scalar_text(event);
    TRY(check_tag(reader, event, event->data.scalar.tag));
    TRY(check_text(reader, event, name));
    if (is_plain(event) && str_eq(name, S("<<")))
        return refuse(reader, event, "YAML 1.2 has no merge key; say what is meant");
    name = str_dup(reader->arena, name);
    add_key(reader->arena, keys, (Key){ name, line_of(event) });
    json_key(&reader->out, name);
    return ERR_OK;
}

static Err read_map(Reader *reader, const yaml_event_t *event)
{
    Keys keys = { 0 };
    TRY(check_tag(reader, event, event->data.mapping_start.tag));
    json_open(&reader->out, '{');
    for (;;) {
        DEFER(delete_event) yaml_event_t key = { 0 };
        TRY(next_event(reader, &key));
        if (key.type == YAML_MAPPING_END_EVENT)
            break;
        TRY(read_key(reader, &key, &keys));
        DEFER(delete_event) yaml_event_t value = { 0 };
        TRY(next_event(reader, &value));
        TRY(read_value(reader, &value));
    }
    json_close(&reader->out, '}');
    return check_twice(reader, &keys);
}

static Anchor *find_anchor(const Reader *reader, Str name)
{
    Anchor *anchor = reader->anchors;
    while (anchor && !str_eq(anchor->name, name))
        anchor = anchor->next;
    return anchor;
}

// read_alias writes once more what its anchor names. All values in it stand where the alias does.
static Err read_alias(Reader *reader, const yaml_event_t *event)
{
    const Anchor *anchor = find_anchor(reader, str_from((const char *) event->data.alias.anchor));
    if (!anchor)
        return refuse(reader, event, "there is no such anchor above");
    if (anchor->from == SIZE_MAX)
        return refuse(reader, event, "an anchor cannot be used inside itself");
    json_add_raw(&reader->out, (Str){ reader->text.at + anchor->from, anchor->to - anchor->from });
    if (reader->text.overflowed)
        return refuse(reader, event, "anchors make the document too large");
    for (size_t i = 0; i < anchor->lines; i++)
        TRY(add_line(reader, event));
    return ERR_OK;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return event->data.scalar.anchor;
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return event->data.sequence_start.anchor;
    return event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor : NULL;
}

static Anchor *open_anchor(Reader *reader, const yaml_event_t *event)
{
    const yaml_char_t *name = anchor_of(event);
    if (!name)
        return NULL;
    Anchor *anchor = ARENA_NEW(reader->arena, Anchor);
    *anchor = (Anchor){ .name = str_dup(reader->arena, str_from((const char *) name)),
                        .from = SIZE_MAX,
                        .next = reader->anchors };
    reader->anchors = anchor;
    return anchor;
}

static Err read_bare(Reader *reader, const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(reader, event);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return read_list(reader, event);
    if (event->type == YAML_MAPPING_START_EVENT)
        return read_map(reader, event);
    return refuse(reader, event, "cannot be read");
}

static Err read_value(Reader *reader, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(reader, event);
    if (reader->depth == JSON_DEPTH_MAX)
        return refuse(reader, event, "values are nested too deep");
    Anchor *anchor = open_anchor(reader, event);
    size_t from = reader->text.len + (reader->out.more ? 1 : 0), lines = reader->line_count;
    TRY(add_line(reader, event));
    reader->depth++;
    TRY(read_bare(reader, event));
    reader->depth--;
    if (reader->text.overflowed)
        return refuse(reader, event, "the document is too large");
    if (anchor) {
        anchor->from = from;
        anchor->to = reader->text.len;
        anchor->lines = reader->line_count - lines;
    }
    return ERR_OK;
}

static void begin_document(Reader *reader)
{
    reader->text = buf_new(reader->arena, YAML_BYTES_MAX);
    reader->out = json_out(&reader->text);
    reader->lines = NULL;
    reader->line_count = reader->line_room = 0;
    reader->anchors = NULL;
    reader->depth = 0;
}

static Err read_document(Reader *reader, YamlDocument *ret)
{
    begin_document(reader);
    DEFER(delete_event) yaml_event_t value = { 0 };
    TRY(next_event(reader, &value));
    TRY(read_value(reader, &value));
    DEFER(delete_event) yaml_event_t end = { 0 };
    TRY(next_event(reader, &end));
    *ret = (YamlDocument){ .lines = reader->lines, .count = reader->line_count };
    return json_parse(reader->arena, buf_str(&reader->text), &ret->json, reader->error);
}

// read_next reads the next document, if there is one.
static Err read_next(Reader *reader, YamlDocument *ret, bool *ret_over)
{
    for (;;) {
        DEFER(delete_event) yaml_event_t event = { 0 };
        TRY(next_event(reader, &event));
        *ret_over = event.type == YAML_STREAM_END_EVENT;
        if (*ret_over)
            return ERR_OK;
        if (event.type != YAML_DOCUMENT_START_EVENT)
            continue;
        TRY(read_document(reader, ret));
        if (json_type(ret->json) != JSON_NULL)
            return ERR_OK;
    }
}

Err yaml_read(Arena *arena, Str text, YamlWords words, YamlDocument **ret, size_t *ret_count,
              Error *error)
{
    DEFER(delete_parser)
    Reader reader = { .given = text, .words = words, .arena = arena, .error = error };
    YamlDocument *documents = NULL;
    size_t count = 0, size = sizeof *documents;
    bool is_over = false;
    if (!yaml_parser_initialize(&reader.parser))
        abort();
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *) text.at, text.len);
    while (!is_over) {
        YamlDocument document;
        TRY(read_next(&reader, &document, &is_over));
        if (is_over)
            break;
        if ((count & (count - 1)) == 0) // room is doubled
            documents = arena_grow(arena, documents, count * size, (count ? count * 2 : 1) * size);
        documents[count++] = document;
    }
    *ret = documents;
    *ret_count = count;
    return ERR_OK;
}

static size_t value_count(const Json *value)
{
    size_t count = 1;
    for (JsonIter it = json_each(value); json_next(&it);)
        count += value_count(it.value);
    return count;
}

// names says whether a part of a pointer is this member's, which may have ~ and / in it.
static bool names(Str part, const JsonIter *it, bool is_list)
{
    int64_t index;
    if (is_list)
        return str_to_i64(part, 0, INT64_MAX, &index) && (size_t) index == it->index - 1;
    size_t at = 0;
    for (size_t i = 0; i < part.len; i++, at++) {
        char c = part.at[i];
        if (c == '~' && i + 1 < part.len)
            c = part.at[++i] == '1' ? '/' : '~';
        if (at >= it->key.len || it->key.at[at] != c)
            return false;
    }
    return at == it->key.len;
}

// step moves to the part's member, and place to its place among all values; false: it has none.
static bool step(const Json **value, Str part, size_t *place)
{
    bool is_list = json_type(*value) == JSON_ARRAY;
    size_t at = *place + 1;
    for (JsonIter it = json_each(*value); json_next(&it);) {
        if (names(part, &it, is_list)) {
            *value = it.value;
            *place = at;
            return true;
        }
        at += value_count(it.value);
    }
    return false;
}

size_t yaml_line(const YamlDocument *document, Str pointer)
{
    const Json *value = document->json;
    size_t place = 0;
    Str rest = pointer;
    (void) str_cut(&rest, '/');
    while (rest.at && step(&value, str_cut(&rest, '/'), &place))
        continue;
    return place < document->count ? document->lines[place] : 0;
}

static int add_bytes(void *with, unsigned char *bytes, size_t size)
{
    buf_add_bytes(with, bytes, size);
    return 1;
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event, int is_made)
{
    if (!is_made || !yaml_emitter_emit(emitter, event))
        abort(); // only memory can be missing: what is written was read
}

// is_taken_otherwise: readers of YAML 1.1 take these words for something else than texts.
static bool is_taken_otherwise(Str word)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "=", "<<", NULL };
    for (const char *const *known = words; *known; known++)
        if (str_eq_nocase(word, str_from(*known)))
            return true;
    return false;
}

// looks_like_text: unquoted, it is read as a text. What begins with a digit may be a time, a date
// or a number by 60 to others.
static bool looks_like_text(Str text)
{
    Str body = unsigned_of(text);
    bool is_number = body.len > 0 && (is_digits((Str){ body.at, 1 }) || body.at[0] == '.');
    return !is_number && !is_null(text) && !is_true(text) && !is_false(text) &&
           !is_taken_otherwise(text) && !no_number(text);
}

static void emit_text(yaml_emitter_t *emitter, Str text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    int is_made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *) text.at,
                                               (int) text.len, 1, 1, style);
    emit(emitter, &event, is_made);
}

static void emit_string(yaml_emitter_t *emitter, Str text)
{
    yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (memchr(text.at, '\n', text.len))
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (looks_like_text(text))
        style = YAML_PLAIN_SCALAR_STYLE;
    emit_text(emitter, text, style);
}

static void emit_value(yaml_emitter_t *emitter, const Json *value);

static void emit_list(yaml_emitter_t *emitter, const Json *list)
{
    yaml_event_t event;
    emit(emitter, &event,
         yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
    for (JsonIter it = json_each(list); json_next(&it);)
        emit_value(emitter, it.value);
    emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static void emit_map(yaml_emitter_t *emitter, const Json *object)
{
    yaml_event_t event;
    emit(emitter, &event,
         yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    for (JsonIter it = json_each(object); json_next(&it);) {
        emit_string(emitter, it.key);
        emit_value(emitter, it.value);
    }
    emit(emitter, &event, yaml_mapping_end_event_initialize(&event));
}

static void emit_value(yaml_emitter_t *emitter, const Json *value)
{
    switch (json_type(value)) {
    case JSON_OBJECT:
        emit_map(emitter, value);
        return;
    case JSON_ARRAY:
        emit_list(emitter, value);
        return;
    case JSON_STRING:
        emit_string(emitter, json_str(value));
        return;
    case JSON_NUMBER:
        emit_text(emitter, json_number_text(value), YAML_PLAIN_SCALAR_STYLE);
        return;
    case JSON_BOOL:
        emit_text(emitter, json_bool(value) ? S("true") : S("false"), YAML_PLAIN_SCALAR_STYLE);
        return;
    case JSON_NULL:
    case JSON_ABSENT:
        emit_text(emitter, S("null"), YAML_PLAIN_SCALAR_STYLE);
        return;
    }
}

void yaml_write(Buf *out, const Json *value)
{
    yaml_emitter_t emitter;
    yaml_event_t event;
    if (!yaml_emitter_initialize(&emitter))
        abort();
    yaml_emitter_set_output(&emitter, add_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    emit(&emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(&emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 0));
    emit_value(&emitter, value);
    emit(&emitter, &event, yaml_document_end_event_initialize(&event, 1));
    emit(&emitter, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_delete(&emitter);
}
