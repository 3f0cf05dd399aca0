#include "store/secret.h"

#include "base/time.h"

#define SEALED FIELD_SEALED
#define ROTATED_AT S("rotatedAt")
#define PREVIOUS S("previous")
#define UNTIL S("until")

static bool is_secret(const Shape *shape, Str name)
{
    const Field *field = fields_find(shape, name);
    return field && field->flags & FIELD_SECRET;
}

// is_map_of_secrets: each of its members is one.
static bool is_map_of_secrets(const Shape *shape, Str name)
{
    return is_secret(shape, name) && fields_find(shape, name)->kind == FIELD_MAP;
}

void secret_mark(JsonOut *out, const Json *stored)
{
    json_open(out, '{');
    json_put_bool(out, S("set"), true);
    json_put_str(out, ROTATED_AT, json_str(json_get(stored, ROTATED_AT)));
    json_close(out, '}');
}

// put_mark stands in for a secret, sealed or from the time before it was.
static void put_mark(JsonOut *out, Str name, const Json *value)
{
    json_key(out, name);
    secret_mark(out, value);
}

static void put_marks(JsonOut *out, Str name, const Json *map)
{
    json_key(out, name);
    json_open(out, '{');
    for (JsonIter it = json_each(map); json_next(&it);)
        put_mark(out, it.key, it.value);
    json_close(out, '}');
}

static void put_url(JsonOut *out, Arena *arena, Str name, Str url)
{
    Str rest = url, shown = str_cut(&rest, '?');
    json_put_str(out, name, rest.at ? str_format(arena, "%.*s?…", STR_ARG(shown)) : url);
}

void secret_show(JsonOut *out, Arena *arena, const Shape *shape, const Json *stored, bool may_edit)
{
    json_open(out, '{');
    for (JsonIter it = json_each(stored); shape && json_next(&it);) {
        const Field *field = fields_find(shape, it.key);
        if (is_map_of_secrets(shape, it.key))
            put_marks(out, it.key, it.value);
        else if (is_secret(shape, it.key))
            put_mark(out, it.key, it.value);
        else if (field && field->kind == FIELD_URL && !may_edit)
            put_url(out, arena, it.key, json_str(it.value));
        else
            json_put_raw(out, it.key, json_text(arena, it.value));
    }
    json_close(out, '}');
}

// add_variable adds a part of a variable's name: its letters in capitals, _ for what none may have.
static void add_variable(Buf *name, Str part)
{
    for (size_t i = 0; i < part.len; i++) {
        char c = part.at[i];
        bool is_small = c >= 'a' && c <= 'z';
        bool fits = is_small || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf_add_char(name, is_small ? (char) (c - 'a' + 'A') : fits ? c : '_');
    }
}

void secret_reference(JsonOut *out, Arena *arena, Str prefix, Str name)
{
    Buf variable = buf_new(arena, BUF_WHOLE);
    add_variable(&variable, prefix);
    buf_add_char(&variable, '_');
    add_variable(&variable, name);
    json_open(out, '{');
    json_put_str(out, S("env"), buf_str(&variable));
    json_close(out, '}');
}

void secret_refer(JsonOut *out, Arena *arena, const Shape *shape, const Json *stored, Str prefix)
{
    json_open(out, '{');
    for (JsonIter it = json_each(stored); shape && json_next(&it);) {
        json_key(out, it.key);
        if (is_map_of_secrets(shape, it.key)) {
            json_open(out, '{');
            for (JsonIter inside = json_each(it.value); json_next(&inside);) {
                json_key(out, inside.key);
                secret_reference(out, arena, prefix, STR_JOIN(arena, it.key, S("_"), inside.key));
            }
            json_close(out, '}');
        } else if (is_secret(shape, it.key)) {
            secret_reference(out, arena, prefix, it.key);
        } else {
            json_add_raw(out, json_text(arena, it.value));
        }
    }
    json_close(out, '}');
}

// binding is what a secret is sealed for. The path leads from the owner on: "signingSecret",
// "headers/X-Team".
static Str binding(Arena *arena, const SecretOwner *owner, Str path)
{
    return str_format(arena, "%.*s/%lld/%.*s/%.*s", STR_ARG(owner->kind), (long long) owner->tenant,
                      STR_ARG(owner->id), STR_ARG(path));
}

// Sealing is members on their way in, twice: open for the shape to check, and with their secrets
// sealed to be stored.
typedef struct Sealing {
    const Sealer *sealer;
    const Shape *shape;
    Members given;
    bool seals; // something that was given is secret
    Buf open_text, sealed_text;
    JsonOut open, sealed;
} Sealing;

// Slot is the place of one secret: a member, or a member of a map.
typedef struct Slot {
    const Members *members; // that it is one of, for complaints
    Str name;
    Str path;
    const Json *old; // as it is stored; NULL
} Slot;

static void read_all(Sealing *sealing);
static void read_member(Sealing *sealing, Str name, const Json *value);
static void read_secret(Sealing *sealing, const Slot *slot, const Json *value);
static void keep_unnamed(Sealing *sealing);
static Err check(const Sealing *sealing, Str pointer, Error *error);

static void add_key(Sealing *sealing, Str name)
{
    json_key(&sealing->open, name);
    json_key(&sealing->sealed, name);
}

static void add_bracket(Sealing *sealing, void (*add)(JsonOut *out, char bracket), char bracket)
{
    add(&sealing->open, bracket);
    add(&sealing->sealed, bracket);
}

// add_both writes a value that is stored as it was given.
static void add_both(Sealing *sealing, const Json *value)
{
    Str text = json_text(sealing->sealer->arena, value);
    json_add_raw(&sealing->open, text);
    json_add_raw(&sealing->sealed, text);
}

Err secret_seal(const Sealer *sealer, const Shape *shape, const Json *given, Str pointer, Str *ret,
                Error *error)
{
    enum { SETTINGS_BYTES_MAX = 4 << 20 }; // a body's usual limit, and what sealing adds to it
    Sealing sealing = {
        .sealer = sealer,
        .shape = shape,
        .given = members_open(given, pointer, error),
        .open_text = buf_new(sealer->arena, SETTINGS_BYTES_MAX),
        .sealed_text = buf_new(sealer->arena, SETTINGS_BYTES_MAX),
    };
    sealing.open = json_out(&sealing.open_text);
    sealing.sealed = json_out(&sealing.sealed_text);
    read_all(&sealing);
    TRY(check(&sealing, pointer, error));
    *ret = buf_str(&sealing.sealed_text);
    return ERR_OK;
}

// holds_seal finds what only Peal may write, wherever it stands.
static bool holds_seal(const Json *value)
{
    if (json_get(value, SEALED))
        return true;
    for (JsonIter it = json_each(value); json_next(&it);)
        if (holds_seal(it.value))
            return true;
    return false;
}

static void read_all(Sealing *sealing)
{
    add_bracket(sealing, json_open, '{');
    for (JsonIter it = json_each(sealing->given.object); json_next(&it);) {
        if (json_type(it.value) == JSON_NULL)
            continue; // it is as good as absent, and a secret is removed by it
        if (holds_seal(it.value))
            members_note(&sealing->given, it.key, "bad-value", "\"$sealed\" is Peal's own");
        else
            read_member(sealing, it.key, it.value);
    }
    if (!sealing->sealer->drops_unnamed)
        keep_unnamed(sealing);
    add_bracket(sealing, json_close, '}');
}

// read_map reads an object each of whose members is a secret.
static void read_map(Sealing *sealing, Str name, const Json *map)
{
    Arena *arena = sealing->sealer->arena;
    Members members =
        members_open(map, members_pointer(&sealing->given, name), sealing->given.error);
    const Json *old = json_get(sealing->sealer->old, name);
    add_key(sealing, name);
    if (json_type(map) != JSON_OBJECT) {
        add_both(sealing, map); // the shape will complain
        return;
    }
    add_bracket(sealing, json_open, '{');
    for (JsonIter it = json_each(map); json_next(&it);) {
        Str path = str_format(arena, "%.*s/%.*s", STR_ARG(name), STR_ARG(it.key));
        Slot slot = { &members, it.key, path, json_get(old, it.key) };
        read_secret(sealing, &slot, it.value);
    }
    add_bracket(sealing, json_close, '}');
}

static void read_member(Sealing *sealing, Str name, const Json *value)
{
    Slot slot = { &sealing->given, name, name, json_get(sealing->sealer->old, name) };
    if (is_map_of_secrets(sealing->shape, name)) {
        read_map(sealing, name, value);
    } else if (is_secret(sealing->shape, name)) {
        read_secret(sealing, &slot, value);
    } else {
        add_key(sealing, name);
        add_both(sealing, value);
    }
}

static Str slot_binding(const Sealing *sealing, const Slot *slot)
{
    return binding(sealing->sealer->arena, &sealing->sealer->owner, slot->path);
}

// open_old returns the JSON of a secret as it is stored; none where there is none to be opened.
static Str open_old(const Sealing *sealing, const Slot *slot)
{
    const Sealer *sealer = sealing->sealer;
    Str opened = STR_NONE;
    Error unfit = { 0 };
    Str sealed = json_str(json_get(slot->old, SEALED));
    if (!sealed.at || crypto_open(sealer->arena, sealer->ring, slot_binding(sealing, slot), sealed,
                                  &opened, &unfit) != ERR_OK)
        return STR_NONE;
    return opened;
}

// has_ended: nobody may use a last value any more.
static bool has_ended(const Json *previous, Instant now)
{
    Instant until;
    return !time_parse(json_str(json_get(previous, UNTIL)), &until) || until <= now;
}

// put_kept leaves a secret as it is stored, but for a last value whose time is over.
static void put_kept(Sealing *sealing, const Slot *slot, Str opened)
{
    const Sealer *sealer = sealing->sealer;
    add_key(sealing, slot->name);
    json_add_raw(&sealing->open, opened);
    json_open(&sealing->sealed, '{');
    for (JsonIter it = json_each(slot->old); json_next(&it);)
        if (!str_eq(it.key, PREVIOUS) || !has_ended(it.value, sealer->now))
            json_put_raw(&sealing->sealed, it.key, json_text(sealer->arena, it.value));
    json_close(&sealing->sealed, '}');
}

// keep_secret leaves a secret as it is, though nobody has shown that they know it.
static void keep_secret(Sealing *sealing, const Slot *slot)
{
    Str opened = open_old(sealing, slot);
    if (!opened.at)
        members_note(slot->members, slot->name, "no-secret",
                     "there is none to keep, or it cannot be opened any more; give it anew");
    else if (sealing->sealer->has_moved)
        members_note(slot->members, slot->name, "secret-moved",
                     "was given for another type, scheme, host or port and does not follow; give it"
                     " anew, or null to remove it");
    else
        put_kept(sealing, slot, opened);
}

// put_previous keeps the last value of what is being rotated. It is bound to the same place, so it
// need not be sealed anew.
static void put_previous(const Sealing *sealing, const Slot *slot, JsonOut *out)
{
    const Sealer *sealer = sealing->sealer;
    const Field *field = fields_find(sealing->shape, slot->path);
    Str last = json_str(json_get(slot->old, SEALED));
    if (sealer->overlap <= 0 || !last.at || !field || !(field->flags & FIELD_OVERLAPS))
        return;
    json_key(out, PREVIOUS);
    json_open(out, '{');
    json_put_str(out, SEALED, last);
    json_put_time(out, UNTIL, sealer->now + sealer->overlap);
    json_close(out, '}');
}

static void put_sealed(Sealing *sealing, const Slot *slot, Str text)
{
    const Sealer *sealer = sealing->sealer;
    JsonOut *out = &sealing->sealed;
    add_key(sealing, slot->name);
    json_add_raw(&sealing->open, text);
    sealing->seals = true;
    if (sealer->is_foreign) {
        json_add_null(out); // nothing of it will be stored
        return;
    }
    json_open(out, '{');
    json_put_str(out, SEALED,
                 crypto_seal(sealer->arena, sealer->ring, sealer->random,
                             slot_binding(sealing, slot), text));
    json_put_time(out, ROTATED_AT, sealer->now);
    put_previous(sealing, slot, out);
    json_close(out, '}');
}

static void read_secret(Sealing *sealing, const Slot *slot, const Json *value)
{
    Str text = json_text(sealing->sealer->arena, value);
    Str opened = open_old(sealing, slot);
    // The same secret again is no change: applying a file twice makes one version.
    if (json_bool(json_get(value, S("set"))))
        keep_secret(sealing, slot);
    else if (crypto_equal(opened, text))
        put_kept(sealing, slot, opened);
    else
        put_sealed(sealing, slot, text);
}

// keep_unnamed keeps the secrets that were left out.
static void keep_unnamed(Sealing *sealing)
{
    for (JsonIter it = json_each(sealing->sealer->old); json_next(&it);) {
        Slot slot = { &sealing->given, it.key, it.key, it.value };
        if (is_secret(sealing->shape, it.key) && json_get(it.value, SEALED) &&
            !json_get(sealing->given.object, it.key))
            keep_secret(sealing, &slot);
    }
}

static Err check(const Sealing *sealing, Str pointer, Error *error)
{
    const Json *open;
    Arena *arena = sealing->sealer->arena;
    const Shape *shape = sealing->shape;
    if (sealing->open_text.overflowed || sealing->sealed_text.overflowed)
        return fail(error, ERR_TOO_LARGE, "the settings are too large");
    TRY(json_parse(arena, buf_str(&sealing->open_text), &open, error));
    fields_note(arena, open, pointer, shape, NULL, error);
    TRY(error_close(error, shape->invalid ? shape->invalid : ERR_INVALID));
    // What this node sealed, no other could open.
    if (sealing->seals && sealing->sealer->is_foreign)
        return fail(error, ERR_CONFLICT,
                    "this node's master key is not the one that the database's secrets are sealed"
                    " with; it cannot seal this one");
    return ERR_OK;
}

// Opening is what is stored, being opened.
typedef struct Opening {
    Arena *arena;
    const KeyRing *ring;
    const SecretOwner *owner;
    JsonOut json;
} Opening;

static Err open_members(Opening *opening, Str path, const Json *object, Error *error);
static Err open_previous(Opening *opening, Str path, const Json *previous, Error *error);
static Err open_value(Opening *opening, Str path, const Json *value, Error *error);

Err secret_open(Arena *arena, const KeyRing *ring, const SecretOwner *owner, const Json *stored,
                const Json **ret, Error *error)
{
    enum { OPENED_BYTES_MAX = 1 << 20 };
    static const KeyRing no_keys = { 0 };
    if (!stored) {
        *ret = NULL;
        return ERR_OK;
    }
    Buf out = buf_new(arena, OPENED_BYTES_MAX);
    Opening opening = { arena, ring ? ring : &no_keys, owner, json_out(&out) };
    TRY(open_members(&opening, S(""), stored, error));
    if (out.overflowed)
        return fail(error, ERR_CORRUPT, "the settings are too large");
    return json_parse(arena, buf_str(&out), ret, error);
}

static Err open_members(Opening *opening, Str path, const Json *object, Error *error)
{
    Arena *arena = opening->arena;
    json_open(&opening->json, '{');
    for (JsonIter it = json_each(object); json_next(&it);) {
        Str inside =
            path.len ? str_format(arena, "%.*s/%.*s", STR_ARG(path), STR_ARG(it.key)) : it.key;
        json_key(&opening->json, it.key);
        TRY(open_value(opening, inside, it.value, error));
        if (json_get(it.value, SEALED) && json_get(it.value, PREVIOUS))
            TRY(open_previous(opening, inside, json_get(it.value, PREVIOUS), error));
    }
    json_close(&opening->json, '}');
    return ERR_OK;
}

// open_previous writes the last value of a secret as a member beside it.
static Err open_previous(Opening *opening, Str path, const Json *previous, Error *error)
{
    JsonOut *out = &opening->json;
    json_key(out, str_format(opening->arena, "%.*s/previous", STR_ARG(path)));
    json_open(out, '{');
    json_key(out, S("value"));
    TRY(open_value(opening, path, previous, error));
    json_put_str(out, UNTIL, json_str(json_get(previous, UNTIL)));
    json_close(out, '}');
    return ERR_OK;
}

// open_value writes a value with what each {"$sealed":…} in it hides.
static Err open_value(Opening *opening, Str path, const Json *value, Error *error)
{
    Arena *arena = opening->arena;
    Str sealed = json_str(json_get(value, SEALED)), opened;
    if (sealed.at) {
        TRY(crypto_open(arena, opening->ring, binding(arena, opening->owner, path), sealed, &opened,
                        error));
        json_add_raw(&opening->json, opened);
        return ERR_OK;
    }
    if (json_type(value) == JSON_OBJECT)
        return open_members(opening, path, value, error);
    json_add_raw(&opening->json, json_text(arena, value));
    return ERR_OK;
}

// Erasing is a walk along a stored definition.
typedef struct Erasing {
    Arena *arena;
    SecretErase what;
    Instant now, next;
    JsonOut out;
} Erasing;

// is_kept says whether a member of a sealed secret stays.
static bool is_kept(Erasing *erasing, const JsonIter *it)
{
    bool is_previous = str_eq(it->key, PREVIOUS);
    if (erasing->what == ERASE_ALL)
        return !is_previous && !str_eq(it->key, SEALED);
    if (!is_previous || has_ended(it->value, erasing->now))
        return !is_previous;
    Instant until;
    if (time_parse(json_str(json_get(it->value, UNTIL)), &until))
        erasing->next = earlier(erasing->next, until);
    return true;
}

static void erase_in(Erasing *erasing, const Json *value)
{
    bool is_sealed = json_get(value, SEALED) != NULL;
    if (json_type(value) != JSON_OBJECT) {
        json_add_raw(&erasing->out, json_text(erasing->arena, value));
        return;
    }
    json_open(&erasing->out, '{');
    for (JsonIter it = json_each(value); json_next(&it);) {
        if (is_sealed && !is_kept(erasing, &it))
            continue;
        json_key(&erasing->out, it.key);
        if (is_sealed)
            json_add_raw(&erasing->out, json_text(erasing->arena, it.value));
        else
            erase_in(erasing, it.value);
    }
    json_close(&erasing->out, '}');
}

Str secret_erase(Arena *arena, Str stored, SecretErase what, Instant now, Instant *ret_next)
{
    Error unreadable = { 0 };
    const Json *body;
    Buf text = buf_new(arena, BUF_WHOLE);
    Erasing erasing = { arena, what, now, INSTANT_NONE, json_out(&text) };
    *ret_next = INSTANT_NONE;
    if (!str_contains(stored, SEALED) || json_parse(arena, stored, &body, &unreadable) != ERR_OK)
        return stored;
    erase_in(&erasing, body);
    *ret_next = erasing.next;
    return buf_str(&text);
}
