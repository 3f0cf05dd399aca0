#include "api/handlers.h"

#include "channels/channel.h"
#include "domain/members.h"
#include "store/definition.h"
#include "store/tenant.h"

// Triggers and channels. They share their verbs; a Noun tells them apart. A body is kept as it was
// given, but for a channel's secrets: those are sealed on the way in and never shown again.

typedef struct Noun {
    Str kind;
    Str id_member; // that names a row
    Str path;
    Err invalid;
} Noun;

static const Noun trigger_noun = {
    .kind = { "trigger", 7 },
    .id_member = { "id", 2 },
    .path = { "/v1/triggers", 12 },
    .invalid = ERR_TRIGGER_INVALID,
};
static const Noun channel_noun = {
    .kind = { "channel", 7 },
    .id_member = { "key", 3 },
    .path = { "/v1/channels", 12 },
    .invalid = ERR_CHANNEL_INVALID,
};

// What a sealed member of a channel's config is stored as.
#define SEALED S("$sealed")
#define ROTATED_AT S("rotatedAt")

// put_config shows a channel's settings, with a mark in the place of each secret.
static void put_config(JsonOut *out, Arena *arena, const Json *config)
{
    json_key(out, S("config"));
    json_open(out, '{');
    for (JsonIter it = json_each(config); json_next(&it);) {
        if (!json_get(it.value, SEALED)) {
            json_put_raw(out, it.key, json_text(arena, it.value));
            continue;
        }
        json_key(out, it.key);
        json_open(out, '{');
        json_put_bool(out, S("set"), true);
        json_put_str(out, ROTATED_AT, json_str(json_get(it.value, ROTATED_AT)));
        json_close(out, '}');
    }
    json_close(out, '}');
}

// put_row shows a definition: what was given, what was not but matters, and what Peal adds.
static Err put_row(Call *call, const Noun *noun, const Definition *row, Str warning, Error *error)
{
    JsonOut *out = &call->json;
    const Json *body;
    Error unreadable = { 0 };
    if (json_parse(call->arena, row->body, &body, &unreadable) != ERR_OK)
        return fail(error, ERR_CORRUPT, "%.*s %.*s: %s", STR_ARG(noun->kind), STR_ARG(row->id),
                    unreadable.detail);
    json_open(out, '{');
    for (JsonIter it = json_each(body); json_next(&it);) {
        if (str_eq(it.key, S("enabled")))
            continue;
        if (noun == &channel_noun && str_eq(it.key, S("config")))
            put_config(out, call->arena, it.value);
        else
            json_put_raw(out, it.key, json_text(call->arena, it.value));
    }
    const Json *enabled = json_get(body, S("enabled"));
    json_put_bool(out, S("enabled"), json_type(enabled) != JSON_BOOL || json_bool(enabled));
    json_put_i64(out, S("version"), row->version);
    json_put_time(out, S("createdAt"), row->created_at);
    json_put_time(out, S("updatedAt"), row->updated_at);
    if (warning.at) {
        json_key(out, S("warnings"));
        json_open(out, '[');
        json_add_str(out, warning);
        json_close(out, ']');
    }
    json_close(out, '}');
    return ERR_OK;
}

static Err answer_row(Call *call, const Noun *noun, int status, const Definition *row, Str warning,
                      Error *error)
{
    call_json(call, status);
    call_header(call, S("ETag"), str_format(call->arena, "\"%lld\"", (long long) row->version));
    if (status == 201)
        call_header(call, S("Location"),
                    str_format(call->arena, "%.*s/%.*s", STR_ARG(noun->path), STR_ARG(row->id)));
    return put_row(call, noun, row, warning, error);
}

// warn_of_wait tells why a channel's deliveries wait; none for what does not.
static Str warn_of_wait(Call *call, const Noun *noun, Str id)
{
    const RegistryChannel *channel =
        noun == &channel_noun ? registry_channel(call->registry, call->tenant, id) : NULL;
    return channel && channel->is_sealed ? registry_wait(call->arena, channel) : STR_NONE;
}

static Err list(Call *call, Db *db, const Noun *noun, Error *error)
{
    Page page;
    Str after;
    Definition *rows;
    size_t count;
    TRY(call_page(call, &page, error));
    TRY(page_text(&page, &after, error));
    TRY(definition_page(db, call->arena, call->tenant, noun->kind, after, page.limit, &rows, &count,
                        error));
    size_t shown = count > (size_t) page.limit ? (size_t) page.limit : count;
    JsonOut *out = call_json(call, 200);
    json_open(out, '{');
    json_key(out, S("items"));
    json_open(out, '[');
    for (size_t i = 0; i < shown; i++)
        TRY(put_row(call, noun, &rows[i], warn_of_wait(call, noun, rows[i].id), error));
    page_close(call, count > shown ? page_cursor(call->arena, rows[shown - 1].id) : STR_NONE);
    return ERR_OK;
}

static Err get(Call *call, Db *db, const Noun *noun, Error *error)
{
    Definition row;
    TRY(definition_get(db, call->arena, call->tenant, noun->kind, call->params[0], &row, error));
    return answer_row(call, noun, 200, &row, warn_of_wait(call, noun, row.id), error);
}

// expected_version reads If-Match: "7" or 7. What names no version at all never matches.
static int64_t expected_version(const Call *call)
{
    Str given = exchange_header(call->exchange, S("If-Match"));
    int64_t version;
    if (!given.at || str_eq(given, S("*")))
        return DEFINITION_ANY_VERSION;
    if (given.len > 2 && given.at[0] == '"' && given.at[given.len - 1] == '"')
        given = (Str){ given.at + 1, given.len - 2 };
    return str_to_i64(given, 1, INT64_MAX, &version) ? version : 0;
}

static Err hide(Call *call, Tx *tx, const Noun *noun, Error *error)
{
    TRY(definition_hide(tx, call->tenant, noun->kind, call->params[0], expected_version(call),
                        error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}

// named_body returns the body of a PUT with its id, which may be left out but not differ.
static Err named_body(Call *call, const Noun *noun, const Json **ret, Error *error)
{
    TRY(call_body(call, error));
    const Json *given = json_get(call->body, noun->id_member);
    if (given && json_type(given) != JSON_NULL) {
        if (json_type(given) == JSON_STRING && !str_eq(json_str(given), call->params[0])) {
            Members members = members_open(call->body, S(""), error);
            members_note(&members, noun->id_member, "bad-value",
                         "must be as in the path; a %.*s cannot be renamed", STR_ARG(noun->kind));
            return members_close(&members, noun->invalid);
        }
        *ret = call->body;
        return ERR_OK;
    }
    Buf text = buf_new(call->arena, call->exchange->body.len * 2 + call->params[0].len * 6 + 100);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, noun->id_member, call->params[0]);
    for (JsonIter it = json_each(call->body); json_next(&it);)
        if (!str_eq(it.key, noun->id_member))
            json_put_raw(&out, it.key, json_text(call->arena, it.value));
    json_close(&out, '}');
    return json_parse(call->arena, buf_str(&text), ret, error);
}

// save makes the definition or its next version.
static Err save(Call *call, Tx *tx, const Noun *noun, Str id, Str body, bool is_new,
                Definition *ret, Error *error)
{
    if (is_new)
        return definition_create(tx, call->tenant, noun->kind, id, body, ret, error);
    return definition_replace(tx, call->tenant, noun->kind, id, expected_version(call), body, ret,
                              error);
}

// warn_of_channel tells that a trigger names a channel that is not there: its deliveries would be
// parked. It may well be made next, so this is no mistake.
static Err warn_of_channel(Call *call, Tx *tx, Str key, Str *ret, Error *error)
{
    Definition channel;
    Error missing = { 0 };
    Err err = definition_get(tx->db, &tx->arena, call->tenant, DEFINITION_CHANNEL, key, &channel,
                             &missing);
    if (err == ERR_NOT_FOUND)
        *ret = str_format(call->arena, "channel %.*s does not exist yet", STR_ARG(key));
    else if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    return ERR_OK;
}

static Err save_trigger(Call *call, Tx *tx, const Json *source, bool is_new, Error *error)
{
    Trigger trigger;
    Definition row;
    Str warning = STR_NONE;
    TRY(trigger_compile(call->arena, source, &trigger, error));
    TRY(save(call, tx, &trigger_noun, trigger.id, json_text(call->arena, source), is_new, &row,
             error));
    TRY(lane_ensure(tx, call->tenant, trigger.channel, error));
    TRY(warn_of_channel(call, tx, trigger.channel, &warning, error));
    return answer_row(call, &trigger_noun, is_new ? 201 : 200, &row, warning, error);
}

Err trigger_list(Call *call, Db *db, Error *error)
{
    return list(call, db, &trigger_noun, error);
}

Err trigger_get(Call *call, Db *db, Error *error)
{
    return get(call, db, &trigger_noun, error);
}

Err trigger_create(Call *call, Tx *tx, Error *error)
{
    TRY(call_body(call, error));
    return save_trigger(call, tx, call->body, true, error);
}

Err trigger_replace(Call *call, Tx *tx, Error *error)
{
    const Json *source;
    TRY(named_body(call, &trigger_noun, &source, error));
    return save_trigger(call, tx, source, false, error);
}

Err trigger_delete(Call *call, Tx *tx, Error *error)
{
    return hide(call, tx, &trigger_noun, error);
}

// Config is a channel's settings on their way in, twice: open for the type to check, and with its
// secrets sealed to be stored.
typedef struct Config {
    Call *call;
    Tx *tx;
    const ChannelType *type;
    Str key;         // of the channel
    const Json *old; // the settings so far, sealed; NULL for a new channel
    Members given;
    Buf open_text, sealed_text;
    JsonOut open, sealed;
    bool seals; // something that was given is secret
} Config;

static bool is_secret(const ChannelType *type, Str name)
{
    for (size_t i = 0; type->secrets && type->secrets[i]; i++)
        if (str_eq(name, str_from(type->secrets[i])))
            return true;
    return false;
}

// binding is the row's identity; store/registry.c opens with the same.
static Str binding(const Config *config, Str name)
{
    return str_format(config->call->arena, "channel/%lld/%.*s/%.*s",
                      (long long) config->call->tenant, STR_ARG(config->key), STR_ARG(name));
}

static void add_plain(Config *config, Str name, const Json *value)
{
    Str text = json_text(config->call->arena, value);
    json_put_raw(&config->open, name, text);
    json_put_raw(&config->sealed, name, text);
}

// open_old returns the JSON of a secret as it is stored; none where there is none to be opened.
static Str open_old(const Config *config, Str name)
{
    Call *call = config->call;
    Str opened = STR_NONE;
    Error unfit = { 0 };
    Str sealed = json_str(json_get(json_get(config->old, name), SEALED));
    if (!sealed.at || crypto_open(call->arena, call->api->ring, binding(config, name), sealed,
                                  &opened, &unfit) != ERR_OK)
        return STR_NONE;
    return opened;
}

// keep_secret leaves a secret as it is.
static void keep_secret(Config *config, Str name)
{
    Str opened = open_old(config, name);
    if (!opened.at) {
        members_note(&config->given, name, "no-secret",
                     "there is none to keep, or it cannot be opened any more; give it anew");
        return;
    }
    json_put_raw(&config->open, name, opened);
    json_put_raw(&config->sealed, name,
                 json_text(config->call->arena, json_get(config->old, name)));
}

static void add_secret(Config *config, Str name, const Json *value)
{
    Call *call = config->call;
    Str text = json_text(call->arena, value);
    // The same secret again is no change: applying a file twice makes one version.
    if (json_bool(json_get(value, S("set"))) || crypto_equal(open_old(config, name), text)) {
        keep_secret(config, name);
        return;
    }
    json_put_raw(&config->open, name, text);
    config->seals = true;
    if (call->api->is_key_foreign)
        return; // nothing of it will be stored
    json_key(&config->sealed, name);
    json_open(&config->sealed, '{');
    json_put_str(
        &config->sealed, SEALED,
        crypto_seal(call->arena, call->api->ring, config->tx->random, binding(config, name), text));
    json_put_time(&config->sealed, ROTATED_AT, config->tx->now);
    json_close(&config->sealed, '}');
}

// read_config goes through what was given, and adds the secrets that were left out and so stay.
static void read_config(Config *config)
{
    const Json *given = config->given.object;
    json_open(&config->open, '{');
    json_open(&config->sealed, '{');
    for (JsonIter it = json_each(given); json_next(&it);) {
        if (json_get(it.value, SEALED))
            members_note(&config->given, it.key, "bad-value", "\"$sealed\" is Peal's own");
        else if (!is_secret(config->type, it.key))
            add_plain(config, it.key, it.value);
        else if (json_type(it.value) != JSON_NULL)
            add_secret(config, it.key, it.value);
    }
    for (size_t i = 0; config->type->secrets && config->type->secrets[i]; i++) {
        Str name = str_from(config->type->secrets[i]);
        if (!json_get(given, name) && json_get(json_get(config->old, name), SEALED))
            keep_secret(config, name);
    }
    json_close(&config->open, '}');
    json_close(&config->sealed, '}');
}

static Err check_config(Config *config, Error *error)
{
    const Json *open;
    if (config->open_text.overflowed || config->sealed_text.overflowed)
        return fail(error, ERR_TOO_LARGE, "the settings are too large");
    TRY(json_parse(config->call->arena, buf_str(&config->open_text), &open, error));
    if (config->type->check)
        config->type->check(open, S("/config"), error);
    return error_close(error, ERR_CHANNEL_INVALID);
}

// with_config returns the definition as it is stored: as given, with the sealed settings.
static Str with_config(Call *call, const Json *source, Str sealed)
{
    bool is_put = false;
    Buf text = buf_new(call->arena, call->exchange->body.len * 2 + sealed.len + 1000);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(source); json_next(&it);) {
        bool is_config = str_eq(it.key, S("config"));
        json_put_raw(&out, it.key, is_config ? sealed : json_text(call->arena, it.value));
        is_put |= is_config;
    }
    if (!is_put && !str_eq(sealed, S("{}")))
        json_put_raw(&out, S("config"), sealed);
    json_close(&out, '}');
    assert(!text.overflowed);
    return buf_str(&text);
}

static Err find_type(Call *call, Str name, const ChannelType **ret, Error *error)
{
    *ret = channel_type_find(name);
    if (*ret)
        return ERR_OK;
    Buf known = buf_new(call->arena, 300);
    for (size_t i = 0; channel_type_at(i); i++)
        buf_add_format(&known, "%s%s", i ? ", " : "", channel_type_at(i)->type);
    error_add(error, S("/type"), "unknown-type",
              "\"%.*s\" is not a type of channel; use one of %.*s", STR_ARG(name),
              STR_ARG(buf_str(&known)));
    return error_close(error, ERR_CHANNEL_INVALID);
}

// find_old returns the settings that a channel has now, to keep what a PUT leaves out.
static Err find_old(Call *call, Tx *tx, Str key, const Json **ret, Error *error)
{
    Definition old;
    const Json *body;
    TRY(definition_lock(tx, error));
    TRY(definition_get(tx->db, &tx->arena, call->tenant, DEFINITION_CHANNEL, key, &old, error));
    Error unreadable = { 0 };
    if (json_parse(call->arena, old.body, &body, &unreadable) != ERR_OK)
        return fail(error, ERR_CORRUPT, "channel %.*s: %s", STR_ARG(key), unreadable.detail);
    *ret = json_get(body, S("config"));
    return ERR_OK;
}

static Err save_channel(Call *call, Tx *tx, const Json *source, bool is_new, Error *error)
{
    enum { SEALED_ROOM = 1 << 20 }; // what sealing adds, beside the text itself
    ChannelDefinition channel;
    Definition row;
    Config config = { .call = call, .tx = tx };
    TRY(channel_compile(source, &channel, error));
    TRY(find_type(call, channel.type, &config.type, error));
    if (!is_new)
        TRY(find_old(call, tx, channel.key, &config.old, error));
    config.key = channel.key;
    config.given = members_open(channel.config, S("/config"), error);
    config.open_text = buf_new(call->arena, call->exchange->body.len * 2 + SEALED_ROOM);
    config.sealed_text = buf_new(call->arena, call->exchange->body.len * 2 + SEALED_ROOM);
    config.open = json_out(&config.open_text);
    config.sealed = json_out(&config.sealed_text);
    read_config(&config);
    TRY(check_config(&config, error));
    // What this node sealed, no other could open.
    if (config.seals && call->api->is_key_foreign)
        return fail(error, ERR_CONFLICT,
                    "this node's master key is not the one that the database's"
                    " secrets are sealed with; it cannot seal this one");

    Str body = with_config(call, source, buf_str(&config.sealed_text));
    TRY(save(call, tx, &channel_noun, channel.key, body, is_new, &row, error));
    TRY(lane_ensure(tx, call->tenant, channel.key, error));
    return answer_row(call, &channel_noun, is_new ? 201 : 200, &row, STR_NONE, error);
}

Err channel_list(Call *call, Db *db, Error *error)
{
    return list(call, db, &channel_noun, error);
}

Err channel_get(Call *call, Db *db, Error *error)
{
    return get(call, db, &channel_noun, error);
}

Err channel_create(Call *call, Tx *tx, Error *error)
{
    TRY(call_body(call, error));
    return save_channel(call, tx, call->body, true, error);
}

Err channel_replace(Call *call, Tx *tx, Error *error)
{
    const Json *source;
    TRY(named_body(call, &channel_noun, &source, error));
    return save_channel(call, tx, source, false, error);
}

Err channel_delete(Call *call, Tx *tx, Error *error)
{
    if (str_eq(call->params[0], CHANNEL_ALWAYS))
        return fail(error, ERR_CONFLICT, "memory:default always exists");
    return hide(call, tx, &channel_noun, error);
}
