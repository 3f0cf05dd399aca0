#include "api/channel_config.h"

#include "domain/members.h"
#include "net/url.h"

// What a sealed member is stored as; store/registry.c opens it.
#define SEALED S("$sealed")
#define ROTATED_AT S("rotatedAt")

// put_mark stands in for a secret, sealed or from the time before it was.
static void put_mark(JsonOut *out, Str name, const Json *value)
{
    json_key(out, name);
    json_open(out, '{');
    json_put_bool(out, S("set"), true);
    json_put_str(out, ROTATED_AT, json_str(json_get(value, ROTATED_AT)));
    json_close(out, '}');
}

static bool may_edit(const Call *call)
{
    return call->key && (call->key->role == ROLE_AUTHOR || call->key->role == ROLE_ADMIN);
}

// put_url shows a URL without its query, unless the reader could change it anyway.
static void put_url(Call *call, Str name, Str url)
{
    Str rest = url, shown = str_cut(&rest, '?');
    if (rest.at && !may_edit(call))
        url = str_format(call->arena, "%.*s?…", STR_ARG(shown));
    json_put_str(&call->json, name, url);
}

static void put_member(Call *call, const ChannelType *type, Str name, const Json *value)
{
    JsonOut *out = &call->json;
    switch (channel_secrecy(type, name)) {
    case SECRECY_NONE:
        if (type->url && str_eq(name, str_from(type->url)))
            put_url(call, name, json_str(value));
        else
            json_put_raw(out, name, json_text(call->arena, value));
        return;
    case SECRECY_WHOLE:
        put_mark(out, name, value);
        return;
    case SECRECY_EACH:
        json_key(out, name);
        json_open(out, '{');
        for (JsonIter it = json_each(value); json_next(&it);)
            put_mark(out, it.key, it.value);
        json_close(out, '}');
        return;
    }
}

void channel_config_put(Call *call, const ChannelType *type, const Json *config)
{
    json_key(&call->json, S("config"));
    json_open(&call->json, '{');
    // What a type that is not known any more keeps secret, nobody can tell: nothing is shown.
    for (JsonIter it = json_each(config); type && json_next(&it);)
        put_member(call, type, it.key, it.value);
    json_close(&call->json, '}');
}

// Sealing is settings on their way in, twice: open for the type to check, and with their secrets
// sealed to be stored.
typedef struct Sealing {
    Call *call;
    Tx *tx;
    const ChannelType *type;
    Str key;         // of the channel
    const Json *old; // the settings so far, sealed; NULL for a new channel
    bool has_moved;  // the old secrets were given for another place
    bool seals;      // something that was given is secret
    Members given;
    Buf open_text, sealed_text;
    JsonOut open, sealed;
} Sealing;

// Slot is the place of one secret: a member of the settings, or of an object among them.
typedef struct Slot {
    const Members *members; // that it is one of, for complaints
    Str name;
    Str path;        // from the settings on: "signingSecret", "headers/X-Team"
    const Json *old; // as it is stored; NULL
} Slot;

static void add_key(Sealing *sealing, Str name)
{
    json_key(&sealing->open, name);
    json_key(&sealing->sealed, name);
}

// add_both writes a value that is stored as it was given.
static void add_both(Sealing *sealing, Str text)
{
    json_add_raw(&sealing->open, text);
    json_add_raw(&sealing->sealed, text);
}

// binding is the row's identity; store/registry.c opens with the same.
static Str binding(const Sealing *sealing, const Slot *slot)
{
    return str_format(sealing->call->arena, "channel/%lld/%.*s/%.*s",
                      (long long) sealing->call->tenant, STR_ARG(sealing->key),
                      STR_ARG(slot->path));
}

// open_old returns the JSON of a secret as it is stored; none where there is none to be opened.
static Str open_old(const Sealing *sealing, const Slot *slot)
{
    Call *call = sealing->call;
    Str opened = STR_NONE;
    Error unfit = { 0 };
    Str sealed = json_str(json_get(slot->old, SEALED));
    if (!sealed.at || crypto_open(call->arena, call->api->ring, binding(sealing, slot), sealed,
                                  &opened, &unfit) != ERR_OK)
        return STR_NONE;
    return opened;
}

static void put_kept(Sealing *sealing, const Slot *slot, Str opened)
{
    add_key(sealing, slot->name);
    json_add_raw(&sealing->open, opened);
    json_add_raw(&sealing->sealed, json_text(sealing->call->arena, slot->old));
}

// keep_secret leaves a secret as it is, though nobody has shown that they know it.
static void keep_secret(Sealing *sealing, const Slot *slot)
{
    Str opened = open_old(sealing, slot);
    if (!opened.at)
        members_note(slot->members, slot->name, "no-secret",
                     "there is none to keep, or it cannot be opened any more; give it anew");
    else if (sealing->has_moved)
        members_note(slot->members, slot->name, "secret-moved",
                     "was given for another type, scheme, host or port and does not follow; give it"
                     " anew, or null to remove it");
    else
        put_kept(sealing, slot, opened);
}

static void put_sealed(Sealing *sealing, const Slot *slot, Str text)
{
    Call *call = sealing->call;
    JsonOut *out = &sealing->sealed;
    add_key(sealing, slot->name);
    json_add_raw(&sealing->open, text);
    sealing->seals = true;
    if (call->api->is_key_foreign) {
        json_add_null(out); // nothing of it will be stored
        return;
    }
    json_open(out, '{');
    json_put_str(out, SEALED,
                 crypto_seal(call->arena, call->api->ring, sealing->tx->random,
                             binding(sealing, slot), text));
    json_put_time(out, ROTATED_AT, sealing->tx->now);
    json_close(out, '}');
}

static void read_secret(Sealing *sealing, const Slot *slot, const Json *value)
{
    Str text = json_text(sealing->call->arena, value);
    Str opened = open_old(sealing, slot);
    // The same secret again is no change: applying a file twice makes one version.
    if (json_bool(json_get(value, S("set"))))
        keep_secret(sealing, slot);
    else if (crypto_equal(opened, text))
        put_kept(sealing, slot, opened);
    else
        put_sealed(sealing, slot, text);
}

// read_each reads an object each of whose members is a secret.
static void read_each(Sealing *sealing, Str name, const Json *object)
{
    Arena *arena = sealing->call->arena;
    Members members =
        members_open(object, members_pointer(&sealing->given, name), sealing->given.error);
    const Json *old = json_get(sealing->old, name);
    add_key(sealing, name);
    if (json_type(object) != JSON_OBJECT) {
        add_both(sealing, json_text(arena, object)); // the type will complain
        return;
    }
    json_open(&sealing->open, '{');
    json_open(&sealing->sealed, '{');
    for (JsonIter it = json_each(object); json_next(&it);) {
        Str path = str_format(arena, "%.*s/%.*s", STR_ARG(name), STR_ARG(it.key));
        Slot slot = { &members, it.key, path, json_get(old, it.key) };
        read_secret(sealing, &slot, it.value);
    }
    json_close(&sealing->open, '}');
    json_close(&sealing->sealed, '}');
}

static void read_member(Sealing *sealing, Str name, const Json *value)
{
    Slot slot = { &sealing->given, name, name, json_get(sealing->old, name) };
    switch (channel_secrecy(sealing->type, name)) {
    case SECRECY_NONE:
        add_key(sealing, name);
        add_both(sealing, json_text(sealing->call->arena, value));
        return;
    case SECRECY_WHOLE:
        if (json_type(value) != JSON_NULL)
            read_secret(sealing, &slot, value);
        return;
    case SECRECY_EACH:
        read_each(sealing, name, value);
        return;
    }
}

// keep_unnamed keeps the secrets that were left out.
static void keep_unnamed(Sealing *sealing)
{
    for (JsonIter it = json_each(sealing->old); json_next(&it);) {
        Slot slot = { &sealing->given, it.key, it.key, it.value };
        if (channel_secrecy(sealing->type, it.key) == SECRECY_WHOLE && json_get(it.value, SEALED) &&
            !json_get(sealing->given.object, it.key))
            keep_secret(sealing, &slot);
    }
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
    json_open(&sealing->open, '{');
    json_open(&sealing->sealed, '{');
    for (JsonIter it = json_each(sealing->given.object); json_next(&it);) {
        if (holds_seal(it.value))
            members_note(&sealing->given, it.key, "bad-value", "\"$sealed\" is Peal's own");
        else
            read_member(sealing, it.key, it.value);
    }
    keep_unnamed(sealing);
    json_close(&sealing->open, '}');
    json_close(&sealing->sealed, '}');
}

// find_move tells whether the channel goes elsewhere than what it replaces.
static bool find_move(const ChannelType *type, const Json *config, const Json *old)
{
    if (!str_eq(json_str(json_get(old, S("type"))), str_from(type->type)))
        return true;
    Str url = type->url ? str_from(type->url) : STR_NONE;
    return url.at && !url_same_origin(json_str(json_get(config, url)),
                                      json_str(json_get(json_get(old, S("config")), url)));
}

static Err check(const Sealing *sealing, Error *error)
{
    const Json *open;
    if (sealing->open_text.overflowed || sealing->sealed_text.overflowed)
        return fail(error, ERR_TOO_LARGE, "the settings are too large");
    TRY(json_parse(sealing->call->arena, buf_str(&sealing->open_text), &open, error));
    if (sealing->type->check)
        sealing->type->check(open, S("/config"), error);
    TRY(error_close(error, ERR_CHANNEL_INVALID));
    // What this node sealed, no other could open.
    if (sealing->seals && sealing->call->api->is_key_foreign)
        return fail(error, ERR_CONFLICT,
                    "this node's master key is not the one that the database's secrets are sealed"
                    " with; it cannot seal this one");
    return ERR_OK;
}

Err channel_config_seal(Call *call, Tx *tx, const ChannelDefinition *channel,
                        const ChannelType *type, const Json *old, Str *ret, Error *error)
{
    enum { SEALED_ROOM = 1 << 20 }; // what sealing adds, beside the text itself
    size_t room = call->exchange->body.len * 2 + SEALED_ROOM;
    Sealing sealing = {
        .call = call,
        .tx = tx,
        .type = type,
        .key = channel->key,
        .old = json_get(old, S("config")),
        .has_moved = old && find_move(type, channel->config, old),
        .given = members_open(channel->config, S("/config"), error),
        .open_text = buf_new(call->arena, room),
        .sealed_text = buf_new(call->arena, room),
    };
    sealing.open = json_out(&sealing.open_text);
    sealing.sealed = json_out(&sealing.sealed_text);
    read_all(&sealing);
    TRY(check(&sealing, error));
    *ret = buf_str(&sealing.sealed_text);
    return ERR_OK;
}
