#include "channels/hidden.h"

enum { WORDS_MAX = 64, PART_MIN = 16 }; // a part of a URL that is as long is no word of its path

typedef struct Gathering {
    Arena *arena;
    Str *words;
    size_t count;
} Gathering;

static void add_word(Gathering *gathering, Str word, size_t min)
{
    if (word.len >= min && gathering->count < WORDS_MAX)
        gathering->words[gathering->count++] = str_dup(gathering->arena, word);
}

// add_url adds what gives the right to post: a part of the path, or of the query.
static void add_url(Gathering *gathering, Str url)
{
    size_t start = 0;
    add_word(gathering, url, HIDDEN_MIN);
    for (size_t i = 0; i <= url.len; i++) {
        if (i < url.len && !strchr("/?&=", url.at[i]))
            continue;
        add_word(gathering, (Str){ url.at + start, i - start }, PART_MIN);
        start = i + 1;
    }
}

// add_value adds a secret: a text, or each text of a list or a map.
static void add_value(Gathering *gathering, const Json *value, bool is_url)
{
    Str text = json_str(value);
    if (text.at && is_url)
        add_url(gathering, text);
    else if (text.at)
        add_word(gathering, text, HIDDEN_MIN);
    for (JsonIter it = json_each(value); json_next(&it);)
        add_word(gathering, json_str(it.value), HIDDEN_MIN);
}

// add_login adds what stands behind "Basic" or "Bearer": it may be made of a secret.
static void add_login(Gathering *gathering, const Transfer *transfer)
{
    for (size_t i = 0; i < transfer->header_count; i++) {
        if (!str_eq_nocase(transfer->headers[i].name, S("authorization")))
            continue;
        Str rest = transfer->headers[i].value, scheme = str_cut(&rest, ' ');
        add_word(gathering, rest.at ? rest : scheme, HIDDEN_MIN);
    }
}

// add_mail_login adds what a mail server is sent of a login: PLAIN has user and password in one
// word, LOGIN each in its own.
static void add_mail_login(Gathering *gathering, const Mail *mail)
{
    Arena *arena = gathering->arena;
    if (!mail || mail->password.len == 0)
        return;
    Buf both = buf_new(arena, BUF_WHOLE);
    buf_add_char(&both, '\0');
    buf_add(&both, mail->user);
    buf_add_char(&both, '\0');
    buf_add(&both, mail->password);
    add_word(gathering, base64_text(arena, buf_str(&both)), HIDDEN_MIN);
    add_word(gathering, base64_text(arena, mail->password), HIDDEN_MIN);
}

// add_member adds what a member of the settings holds, if its row calls it a secret. One that was
// rotated stands beside it, as "name/previous", while its overlap lasts.
static void add_member(Gathering *gathering, const Shape *shape, Str key, const Json *value)
{
    Str rest = key, name = str_cut(&rest, '/');
    const Field *field = fields_find(shape, name);
    if (!field || !(field->flags & FIELD_SECRET))
        return;
    if (name.len == key.len)
        add_value(gathering, value, field->kind == FIELD_URL);
    else
        add_value(gathering, json_get(value, S("value")), false);
}

Hidden hidden_of(Arena *arena, const Shape *shape, const Json *config, const Transfer *transfer)
{
    Str words[WORDS_MAX];
    Gathering gathering = { arena, words, 0 };
    for (JsonIter it = json_each(config); json_next(&it);)
        add_member(&gathering, shape, it.key, it.value);
    add_login(&gathering, transfer);
    add_mail_login(&gathering, transfer->mail);
    Str *kept = ARENA_ARRAY(arena, Str, gathering.count + 1);
    for (size_t i = 0; i < gathering.count; i++)
        kept[i] = words[i];
    return (Hidden){ kept, gathering.count };
}

// hidden_at is the length of the longest secret that text begins with, or that it is the beginning
// of; 0 for none.
static size_t hidden_at(const Hidden *hidden, Str text)
{
    size_t longest = 0;
    for (size_t i = 0; i < hidden->count; i++) {
        Str word = hidden->words[i];
        bool is_cut = text.len >= HIDDEN_MIN && text.len < word.len && str_starts(word, text);
        size_t len = str_starts(text, word) ? word.len : is_cut ? text.len : 0;
        longest = len > longest ? len : longest;
    }
    return longest;
}

Str hidden_redact(Arena *arena, const Hidden *hidden, Str text)
{
    if (hidden->count == 0 || text.len < HIDDEN_MIN)
        return text;
    Buf shown = buf_new(arena, text.len);
    for (size_t len; text.len > 0; text = str_skip(text, len)) {
        len = hidden_at(hidden, text);
        buf_add(&shown, len > 0 ? S("***") : (Str){ text.at, 1 });
        len = len > 0 ? len : 1;
    }
    return buf_str(&shown);
}

// stand_in is what a request can be made of in the place of a secret: a key to sign with has to be
// one.
static Str stand_in(const Field *field)
{
    if (field->flags & FIELD_OVERLAPS)
        return S("whsec_KioqKioqKioqKioqKioqKioqKioqKioq");
    return field->kind == FIELD_URL ? S("https://***/") : S("***");
}

// is_mark: a secret that is set stands here.
static bool is_mark(const Json *value)
{
    return json_type(value) == JSON_OBJECT && json_bool(json_get(value, S("set")));
}

static void put_map(JsonOut *out, const Field *field, const Json *map)
{
    json_open(out, '{');
    for (JsonIter it = json_each(map); json_next(&it);)
        json_put_str(out, it.key, stand_in(field));
    json_close(out, '}');
}

const Json *hidden_stand_ins(Arena *arena, const Shape *shape, const Json *shown)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    const Json *config = NULL;
    json_open(&out, '{');
    for (JsonIter it = json_each(shown); json_next(&it);) {
        const Field *field = fields_find(shape, it.key);
        bool is_secret = field && field->flags & FIELD_SECRET;
        json_key(&out, it.key);
        if (is_secret && field->kind == FIELD_MAP)
            put_map(&out, field, it.value);
        else if (is_secret && is_mark(it.value))
            json_add_str(&out, stand_in(field));
        else
            json_add_raw(&out, is_secret ? STR_NONE : json_text(arena, it.value));
    }
    json_close(&out, '}');
    if (json_parse(arena, buf_str(&text), &config, NULL) != ERR_OK)
        assert(!"what was written here can be read");
    return config;
}
