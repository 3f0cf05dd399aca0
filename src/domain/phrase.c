#include "domain/phrase.h"

#include "base/html.h"
#include "domain/calendar.h"

// Hole is a placeholder.
typedef struct Hole {
    Str written; // with its braces
    Str name;
    Str key;    // the name in small letters, without dots
    Str format; // of a date; none
} Hole;

// Piece is text as it stands, and the hole behind it.
typedef struct Piece {
    Str text;
    const Hole *hole; // NULL behind the last
} Piece;

struct Phrase {
    Piece *pieces;
    size_t count;
};

// Compiler is where a text is being read.
typedef struct Compiler {
    Arena *arena;
    Str text, pointer;
    size_t at;
    Error *error;
    size_t problems;
} Compiler;

static size_t find(Str text, size_t from, Str part)
{
    for (size_t i = from; i + part.len <= text.len; i++)
        if (memcmp(text.at + i, part.at, part.len) == 0)
            return i;
    return SIZE_MAX;
}

static size_t line_of(const Compiler *compiler)
{
    size_t line = 1;
    for (size_t i = 0; i < compiler->at; i++)
        line += compiler->text.at[i] == '\n';
    return line;
}

// note notes a problem at the place that is being read.
static void note(Compiler *compiler, const char *problem)
{
    compiler->problems++;
    error_add(compiler->error, compiler->pointer, "bad-placeholder", "line %zu: %s",
              line_of(compiler), problem);
}

static bool is_name_char(char c)
{
    unsigned char u = (unsigned char) c;
    return u > ' ' && u != 0x7f && u != '{' && u != '}' && u != '|' && u != '"' && u != '\'';
}

// name_problem says what is wrong with a name, or NULL.
static const char *name_problem(Str name)
{
    if (name.len == 0)
        return "a placeholder needs a name: {{name}}";
    if (name.len > PHRASE_NAME_MAX)
        return "a placeholder's name may have 200 bytes";
    if (strchr("#/^>!&=", name.at[0]))
        return "placeholders are {{name}} or {{name | date:\"…\"}}; there are no sections";
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_char(name.at[i]))
            return "a placeholder's name is one word, such as guest.phone";
    return NULL;
}

// read_filter reads what stands behind the bar: date:"…".
static const char *read_filter(Str filter, Str *ret)
{
    Str rest = filter;
    Str word = str_trim(str_cut(&rest, ':'));
    if (!str_eq(word, S("date")))
        return "date:\"…\" is all that may stand behind the bar";
    Str quoted = str_trim(rest);
    if (quoted.len < 2 || quoted.at[0] != '"' || quoted.at[quoted.len - 1] != '"')
        return "date wants a format in quotes, such as date:\"dd-MMM-yyyy\"";
    Str format = { quoted.at + 1, quoted.len - 2 };
    if (format.len == 0 || format.len > PHRASE_FORMAT_MAX)
        return "a date's format has 1 to 100 bytes";
    *ret = format;
    return calendar_format_problem(format);
}

// key_of makes names comparable.
static Str key_of(Arena *arena, Str name)
{
    Buf key = buf_new(arena, name.len);
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] != '.')
            buf_add_char(&key, str_lower_char(name.at[i]));
    return buf_str(&key);
}

// read_hole reads what stands between braces.
static const Hole *read_hole(Compiler *compiler, Str written, Str inside)
{
    Hole *hole = ARENA_NEW(compiler->arena, Hole);
    Str rest = inside;
    *hole = (Hole){ .written = written, .name = str_trim(str_cut(&rest, '|')) };
    hole->key = key_of(compiler->arena, hole->name);
    const char *problem = name_problem(hole->name);
    if (!problem && rest.at)
        problem = read_filter(str_trim(rest), &hole->format);
    if (problem)
        note(compiler, problem);
    return hole;
}

// read_piece reads on to the next hole, or to the end.
static Piece read_piece(Compiler *compiler)
{
    Str text = compiler->text;
    size_t from = compiler->at, open = find(text, from, S("{{"));
    if (open == SIZE_MAX) {
        compiler->at = text.len;
        return (Piece){ .text = str_skip(text, from) };
    }
    Piece piece = { .text = { text.at + from, open - from } };
    size_t close = find(text, open + 2, S("}}"));
    compiler->at = open;
    if (close == SIZE_MAX || (open + 2 < text.len && text.at[open + 2] == '{')) {
        note(compiler, close == SIZE_MAX ? "{{ is not closed"
                                         : "{{{ is not known: values are always escaped");
        compiler->at = text.len;
        return piece;
    }
    piece.hole = read_hole(compiler, (Str){ text.at + open, close + 2 - open },
                           (Str){ text.at + open + 2, close - open - 2 });
    compiler->at = close + 2;
    return piece;
}

static size_t count_holes(Str text)
{
    size_t count = 0;
    for (size_t at = 0; (at = find(text, at, S("{{"))) != SIZE_MAX; at += 2)
        count++;
    return count;
}

const Phrase *phrase_compile(Arena *arena, Str text, Str pointer, Error *error)
{
    Compiler compiler = { .arena = arena, .text = text, .pointer = pointer, .error = error };
    size_t holes = count_holes(text);
    if (text.len > PHRASE_BYTES_MAX || holes > PHRASE_HOLES_MAX) {
        error_add(error, pointer, "too-large", "may have %d bytes and %d placeholders",
                  PHRASE_BYTES_MAX, PHRASE_HOLES_MAX);
        return NULL;
    }
    Phrase *phrase = ARENA_NEW(arena, Phrase);
    phrase->pieces = ARENA_ARRAY(arena, Piece, holes + 1);
    do
        phrase->pieces[phrase->count++] = read_piece(&compiler);
    while (compiler.at < text.len);
    return compiler.problems ? NULL : phrase;
}

size_t phrase_names(const Phrase *phrase, Arena *arena, Str **ret)
{
    size_t count = 0;
    *ret = ARENA_ARRAY(arena, Str, phrase->count + 1);
    for (size_t i = 0; i < phrase->count; i++)
        if (phrase->pieces[i].hole)
            (*ret)[count++] = phrase->pieces[i].hole->name;
    return count;
}

// find_path follows a path as it is written.
static const Json *find_path(const Json *value, Str path)
{
    while (value && path.at) {
        Str name = str_cut(&path, '.');
        int64_t index;
        if (json_type(value) != JSON_ARRAY)
            value = json_get(value, name);
        else
            value = str_to_i64(name, 0, INT32_MAX, &index) ? json_at(value, (size_t) index) : NULL;
    }
    return value;
}

// taken is how many bytes of a key a member's name stands for, without its dots; 0: it does not.
static size_t taken(Str name, Str key)
{
    size_t at = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '.')
            continue;
        if (at == key.len || str_lower_char(name.at[i]) != key.at[at])
            return 0;
        at++;
    }
    return at;
}

static const Json *seek(const Json *value, Str key, size_t *steps);

// seek_index reads the digits that a key begins with as a place in an array.
static const Json *seek_index(const Json *array, Str key, size_t *steps)
{
    size_t digits = 0;
    int64_t index;
    while (digits < key.len && key.at[digits] >= '0' && key.at[digits] <= '9')
        digits++;
    if (!str_to_i64((Str){ key.at, digits }, 0, INT32_MAX, &index))
        return NULL;
    return seek(json_at(array, (size_t) index), str_skip(key, digits), steps);
}

// seek finds what a key leads to, whichever way the names on the way part it. It calls itself no
// deeper than a document may be (JSON_DEPTH_MAX).
static const Json *seek(const Json *value, Str key, size_t *steps)
{
    if (key.len == 0)
        return value;
    if (json_type(value) == JSON_ARRAY)
        return seek_index(value, key, steps);
    for (JsonIter it = json_each(value); *steps < PHRASE_STEPS_MAX && json_next(&it); ++*steps) {
        size_t used = taken(it.key, key);
        const Json *found = used ? seek(it.value, str_skip(key, used), steps) : NULL;
        if (found && json_type(found) != JSON_NULL)
            return found;
    }
    return NULL;
}

static const Json *find_value(const Json *object, Str name, Str key, size_t *steps)
{
    const Json *found = find_path(object, name);
    *steps += json_count(object);
    return found && json_type(found) != JSON_NULL ? found : seek(object, key, steps);
}

static Found found_json(const Json *value)
{
    return (Found){ .type = value ? json_type(value) : JSON_ABSENT, .json = value };
}

// rooted cuts a root off a name and its key; false where the name has another.
static bool rooted(const Hole *hole, Str root, Hole *ret)
{
    if (hole->name.len <= root.len || hole->name.at[root.len] != '.' ||
        !str_eq_nocase((Str){ hole->name.at, root.len }, root))
        return false;
    *ret = *hole;
    ret->name = str_skip(hole->name, root.len + 1);
    ret->key = str_skip(hole->key, root.len);
    return true;
}

// find_fact finds what is said of the event itself.
static Found find_fact(const Event *event, Str name)
{
    static const char *const facts[] = { "kind", "id", "entity", "occurredAt", "receivedAt" };
    char path[sizeof "event." + sizeof "receivedAt"];
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        if (!str_eq_nocase(name, str_from(facts[i])))
            continue;
        int len = snprintf(path, sizeof path, "event.%s", facts[i]);
        return event_find(event, STR_NONE, (Str){ path, (size_t) len });
    }
    return found_json(NULL);
}

static Found find_hole(const Hole *hole, const Event *event, Str url, size_t *steps)
{
    const Json *payload = event->payload_json;
    Hole below;
    const Json *value = find_value(payload, hole->name, hole->key, steps);
    if (!value && (rooted(hole, S("payload"), &below) || rooted(hole, S("candidate"), &below)))
        value = find_value(payload, below.name, below.key, steps);
    if (!value && rooted(hole, S("recipient"), &below))
        value = find_value(event->recipient_json, below.name, below.key, steps);
    if (!value && rooted(hole, S("event"), &below))
        return find_fact(event, below.name);
    if (!value && str_eq(hole->key, S("url")))
        return (Found){ .type = url.at ? JSON_STRING : JSON_ABSENT, .text = url };
    return found_json(value);
}

bool phrase_knows(Str name, const Event *event)
{
    DEFER(arena_done) Arena scratch = { .first = PHRASE_NAME_MAX };
    size_t steps = 0;
    Hole hole = { .name = name, .key = key_of(&scratch, name) };
    return find_hole(&hole, event, S("-"), &steps).type != JSON_ABSENT;
}

static void add(Buf *out, Str text, bool is_html)
{
    if (is_html)
        html_add(out, text);
    else
        buf_add(out, text);
}

static void note_missing(Filling *filling, Str name)
{
    for (size_t i = 0; i < filling->missing_count; i++)
        if (str_eq(filling->missing[i], name))
            return;
    if (filling->missing_count < PHRASE_MISSING_MAX)
        filling->missing[filling->missing_count++] = name;
}

// text_of is a value as it is put.
static Str text_of(Arena *arena, const Found *found)
{
    switch (found->type) {
    case JSON_STRING:
        return found_str(found);
    case JSON_NUMBER:
        return json_number_text(found->json);
    case JSON_BOOL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return json_text(arena, found->json);
    case JSON_ABSENT:
    case JSON_NULL:
        break;
    }
    return STR_NONE;
}

static Err fill_hole(Buf *out, const Hole *hole, Filling *filling, bool is_html, Error *error)
{
    Found found = find_hole(hole, filling->event, filling->url, &filling->steps);
    if (filling->steps >= PHRASE_STEPS_MAX)
        return fail(error, ERR_INVALID, "{{%.*s}} was not found within %d members of the payload",
                    STR_ARG(hole->name), PHRASE_STEPS_MAX);
    if (found.type == JSON_ABSENT || found.type == JSON_NULL) {
        note_missing(filling, hole->name);
        if (filling->keeps_missing)
            add(out, hole->written, is_html);
        return ERR_OK;
    }
    Str text = text_of(out->arena, &found);
    Moment moment;
    if (hole->format.at && !calendar_read(text, found.type == JSON_NUMBER, &moment))
        return fail(error, ERR_INVALID, "{{%.*s}} is no date: \"%.*s\"", STR_ARG(hole->name),
                    STR_ARG(members_shown(text)));
    if (hole->format.at)
        text = calendar_write(out->arena, &moment, hole->format);
    add(out, text, is_html);
    return ERR_OK;
}

Err phrase_fill(const Phrase *phrase, Arena *arena, Filling *filling, bool is_html, Str *ret,
                Error *error)
{
    Buf out = buf_new(arena, PHRASE_FILLED_MAX);
    for (size_t i = 0; i < phrase->count; i++) {
        const Piece *piece = &phrase->pieces[i];
        buf_add(&out, piece->text);
        if (piece->hole)
            TRY(fill_hole(&out, piece->hole, filling, is_html, error));
        if (out.overflowed)
            return fail(error, ERR_INVALID, "%s%.*s%s it would have more than %d bytes",
                        piece->hole ? "{{" : "", STR_ARG(piece->hole ? piece->hole->name : S("")),
                        piece->hole ? "}}: with it" : "", PHRASE_FILLED_MAX);
    }
    *ret = buf_str(&out);
    if (!ret->at)
        *ret = S("");
    return ERR_OK;
}
