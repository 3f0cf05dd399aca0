#include "api/handlers.h"

#include "store/facts.h"
#include "store/node.h"
#include "store/site.h"

// The installation as it stands: the processes that share the store, the sites that hand on to it,
// and how the node that answers is set up.

static void put_node(const Call *call, JsonOut *json, const NodeRow *row)
{
    json_open(json, '{');
    json_put_i64(json, S("number"), row->node);
    json_put_str(json, S("name"), row->name);
    json_put_str(json, S("state"), str_from(node_state_text(row->state)));
    json_put_bool(json, S("isThis"), row->node == call->api->node);
    json_put_time(json, S("startedAt"), row->started_at);
    json_put_time(json, S("beatAt"), row->beat_at);
    json_put_str(json, S("version"), row->version);
    json_put_i64(json, S("clockOffsetMs"), row->clock_offset / SPAN_MILLISECOND);
    json_put_i64(json, S("leases"), row->leases);
    json_close(json, '}');
}

Err node_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    NodeRow *rows;
    TRY(call_walk(call, &walk, error));
    TRY(node_page(db, call->arena, call->api->node, clock_now(call->api->real), &walk, &rows, &seen,
                  error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_node(call, json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

// put_if puts a number where it is known.
static void put_if(JsonOut *json, Str name, bool is_known, int64_t n)
{
    if (is_known)
        json_put_i64(json, name, n);
    else
        json_put_null(json, name);
}

static void put_site(JsonOut *json, const SiteSeen *site, Instant now)
{
    bool has_come = site->seen_at != INSTANT_NONE, has_told = site->told_at != INSTANT_NONE;
    json_open(json, '{');
    json_put_str(json, S("site"), site->name);
    json_put_time(json, S("lastSeenAt"), site->seen_at);
    put_if(json, S("silentSeconds"), has_come, later(now - site->seen_at, 0) / SPAN_SECOND);
    json_put_i64(json, S("received"), site->received);
    if (uuid_is_none(site->key))
        json_put_null(json, S("keyId"));
    else
        json_put_id(json, S("keyId"), site->key);
    json_put_str(json, S("version"), site->version);
    put_if(json, S("backlog"), has_told, site->backlog);
    put_if(json, S("clockSkewMs"), has_told, site->skew / SPAN_MILLISECOND);
    json_put_time(json, S("toldAt"), site->told_at);
    json_close(json, '}');
}

Err site_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    SiteSeen *rows;
    TRY(call_walk(call, &walk, error));
    TRY(site_page(db, call->arena, call->tenant, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_site(json, &rows[i], clock_now(call->api->clock));
    page_close(call, &seen);
    return ERR_OK;
}

// The size of a large PostgreSQL takes a while to tell: it is looked at once a minute.
#define SIZE_KEPT SPAN_MINUTE

static struct {
    pthread_mutex_t lock;
    Arena arena;
    StoreFacts facts;
    Instant read_at; // monotonic; 0: never
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

// keep reads the facts anew where they are old; the caller holds the lock.
static Err keep(Call *call, Db *db, Error *error)
{
    StoreFacts facts;
    Instant now = clock_monotonic(call->api->real);
    if (kept.read_at && now - kept.read_at < SIZE_KEPT)
        return ERR_OK;
    TRY(store_facts(db, call->arena, &facts, error));
    arena_done(&kept.arena);
    kept.arena = (Arena){ 0 };
    facts.place = str_dup(&kept.arena, facts.place);
    facts.version = str_dup(&kept.arena, facts.version);
    kept.facts = facts;
    kept.read_at = now;
    return ERR_OK;
}

static Err facts_of(Call *call, Db *db, StoreFacts *ret, Error *error)
{
    pthread_mutex_lock(&kept.lock);
    Err err = keep(call, db, error);
    if (err == ERR_OK) {
        *ret = kept.facts;
        ret->place = str_dup(call->arena, ret->place);
        ret->version = str_dup(call->arena, ret->version);
    }
    pthread_mutex_unlock(&kept.lock);
    return err;
}

static void put_facts(JsonOut *json, const StoreFacts *facts)
{
    json_key(json, S("store"));
    json_open(json, '{');
    json_put_str(json, S("kind"), facts->is_postgres ? S("postgres") : S("sqlite"));
    json_put_str(json, S("place"), facts->place);
    json_put_str(json, S("version"), facts->version);
    json_put_i64(json, S("schema"), facts->schema);
    json_put_i64(json, S("bytes"), facts->bytes);
    put_if(json, S("walBytes"), !facts->is_postgres, facts->wal_bytes);
    json_close(json, '}');
}

Err settings_get(Call *call, Db *db, Error *error)
{
    StoreFacts facts;
    const Api *api = call->api;
    TRY(facts_of(call, db, &facts, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("version"), str_from(api->version));
    json_put_str(json, S("build"), S("C17, " __VERSION__));
    json_put_i64(json, S("node"), api->node);
    put_facts(json, &facts);
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < api->setting_count; i++) {
        const SettingTold *setting = &api->settings[i];
        // The store's URL may hold a password: where it leads is told instead.
        bool is_store = str_eq(setting->name, S("store"));
        Str value = is_store ? facts.place : setting->is_secret ? STR_NONE : setting->value;
        json_open(json, '{');
        json_put_str(json, S("name"), setting->name);
        json_put_str(json, S("value"), value);
        json_put_str(json, S("origin"), setting->origin);
        json_put_bool(json, S("isSecret"), setting->is_secret);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}
