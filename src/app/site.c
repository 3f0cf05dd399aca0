#include "app/site.h"

#include "channels/channel.h"
#include "store/definition.h"
#include "store/secret.h"
#include "store/site.h"
#include "store/tenant.h"

#define SITE_RULE S("central")

typedef struct Opening {
    const Config *config;
    const KeyRing *ring;
    bool is_key_foreign;
    int64_t rule, lane; // result
    Instant last;       // result: of the lane's places
} Opening;

static Str config_text(Arena *arena, const Config *config)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("url"), config->central);
    json_put_str(&out, S("key"), config->central_key);
    json_close(&out, '}');
    return buf_str(&text);
}

// old_config is the channel's settings as they are stored; NULL where there is no such channel.
static Err old_config(Tx *tx, const Json **ret, Error *error)
{
    Definition old;
    const Json *body;
    Error missing = { 0 };
    *ret = NULL;
    Err err = definition_get(tx->db, &tx->arena, TENANT_FIRST, DEFINITION_CHANNEL, SITE_CHANNEL,
                             &old, &missing);
    if (err == ERR_NOT_FOUND)
        return ERR_OK;
    if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    TRY(json_parse(&tx->arena, old.body, &body, error));
    *ret = json_get(body, S("config"));
    return ERR_OK;
}

// channel_text is the channel as it is stored, its key sealed. The same key again is no change.
static Err channel_text(Tx *tx, const Opening *opening, const Json *old, Str *ret, Error *error)
{
    const Json *given;
    Str sealed;
    TRY(json_parse(&tx->arena, config_text(&tx->arena, opening->config), &given, error));
    Sealer sealer = { .arena = &tx->arena,
                      .ring = opening->ring,
                      .random = tx->random,
                      .now = tx->now,
                      .owner = { DEFINITION_CHANNEL, TENANT_FIRST, SITE_CHANNEL },
                      .is_foreign = opening->is_key_foreign,
                      .old = old };
    TRY(secret_seal(&sealer, channel_forward.config, given, S("/config"), &sealed, error));
    *ret = str_format(&tx->arena,
                      "{\"key\":\"forward:central\",\"type\":\"forward\",\"timeout\":\"60s\","
                      "\"config\":%.*s}",
                      STR_ARG(sealed));
    return ERR_OK;
}

static Err define(Tx *tx, void *with, Error *error)
{
    Opening *opening = with;
    const Json *old;
    Str text;
    Definition definition;
    TRY(definition_lock(tx, error));
    TRY(old_config(tx, &old, error));
    TRY(channel_text(tx, opening, old, &text, error));
    if (old)
        TRY(definition_replace(tx, TENANT_FIRST, DEFINITION_CHANNEL, SITE_CHANNEL,
                               DEFINITION_ANY_VERSION, text, &definition, error));
    else
        TRY(definition_create(tx, TENANT_FIRST, DEFINITION_CHANNEL, SITE_CHANNEL, text, &definition,
                              error));
    TRY(site_rule(tx, TENANT_FIRST, SITE_RULE, SITE_CHANNEL, &opening->rule, &opening->lane,
                  error));
    return site_last(tx, TENANT_FIRST, opening->lane, &opening->last, error);
}

// spool_path is beside the store, where libpeal looks for it.
static Str spool_path(Arena *arena, const Config *config)
{
    Str rest = str_skip(config->store, strlen("sqlite:"));
    Str path = str_cut(&rest, '?');
    return str_format(arena, "%.*s.spool", STR_ARG(path));
}

Err site_open(Arena *arena, const Config *config, const KeyRing *ring, const StoreUp *store,
              Clock *clock, SiteUp **ret, Error *error)
{
    Opening opening = { .config = config, .ring = ring, .is_key_foreign = store->is_key_foreign };
    SiteUp *up = ARENA_NEW(arena, SiteUp);
    TRY(writer_run(store->writer, define, &opening, error));
    site_init(&up->site, TENANT_FIRST, opening.rule, opening.lane);
    up->places.last = opening.last;
    up->site.places = &up->places;
    CollectorOptions collects = { .path = spool_path(arena, config),
                                  .site = &up->site,
                                  .writer = store->writer,
                                  .clock = clock };
    TRY(collector_open(&collects, &up->collector, error));
    up->site.link = link_open(&(LinkOptions){ .writer = store->writer,
                                              .tenant = TENANT_FIRST,
                                              .rule = opening.rule,
                                              .url = config->central,
                                              .key = config->central_key,
                                              .ca = config->ca_file });
    *ret = up;
    return ERR_OK;
}

void site_close(SiteUp *up)
{
    if (!up)
        return;
    collector_close(up->collector);
    link_close(up->site.link);
}

void site_moved(const SiteUp *up, const Move *moves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (moves[i].to == DELIVERY_DELIVERED) {
            link_poke(up->site.link);
            return;
        }
}
