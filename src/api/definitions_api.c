#include "api/handlers.h"

#include "api/channel_config.h"
#include "domain/members.h"
#include "store/definition.h"
#include "store/tenant.h"

// Triggers and channels. They share their verbs; a Noun tells them apart. A body is kept as it was
// given, but for a channel's secrets (channel_config.h).

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
            channel_config_put(call, channel_type_find(json_str(json_get(body, S("type")))),
                               it.value);
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
    Walk walk;
    Seen seen;
    Definition *rows;
    TRY(call_walk(call, &walk, error));
    TRY(definition_page(db, call->arena, call->tenant, noun->kind, &walk, &rows, &seen, error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        TRY(put_row(call, noun, &rows[i], warn_of_wait(call, noun, rows[i].id), error));
    page_close(call, &seen);
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
    TRY(save(call, tx, &trigger_noun, trigger.rule.id, json_text(call->arena, source), is_new, &row,
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

// find_old returns the channel as it is stored now, to keep the secrets that a PUT leaves out.
static Err find_old(Call *call, Tx *tx, Str key, const Json **ret, Error *error)
{
    Definition old;
    TRY(definition_lock(tx, error));
    TRY(definition_get(tx->db, &tx->arena, call->tenant, DEFINITION_CHANNEL, key, &old, error));
    Error unreadable = { 0 };
    if (json_parse(call->arena, old.body, ret, &unreadable) != ERR_OK)
        return fail(error, ERR_CORRUPT, "channel %.*s: %s", STR_ARG(key), unreadable.detail);
    return ERR_OK;
}

static Err save_channel(Call *call, Tx *tx, const Json *source, bool is_new, Error *error)
{
    ChannelDefinition channel;
    const ChannelType *type;
    const Json *old = NULL;
    Definition row;
    Str sealed;
    TRY(channel_compile(source, &channel, error));
    TRY(find_type(call, channel.type, &type, error));
    if (!is_new)
        TRY(find_old(call, tx, channel.key, &old, error));
    TRY(channel_config_seal(call, tx, &channel, type, old, &sealed, error));
    Str body = with_config(call, source, sealed);
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
