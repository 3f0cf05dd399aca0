#include "api/handlers.h"

#include "api/shapes.h"
#include "domain/trigger.h"
#include "store/definition.h"
#include "store/key.h"
#include "store/site.h"
#include "store/tenant.h"

// Tenants and keys. A key's rights end at its tenant, but for those with the system right.

static void put_tenant(JsonOut *out, const Tenant *tenant)
{
    json_open(out, '{');
    json_put_str(out, S("id"), tenant->id);
    json_put_str(out, S("name"), tenant->name);
    json_put_time(out, S("createdAt"), tenant->created_at);
    json_close(out, '}');
}

Err tenant_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Tenant *rows;
    TRY(call_walk(call, &walk, error));
    TRY(tenant_page(db, call->arena, &walk, &rows, &seen, error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_tenant(&call->json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err tenant_get(Call *call, Db *db, Error *error)
{
    Tenant tenant;
    TRY(tenant_find(db, call->arena, call->params[0], &tenant, error));
    put_tenant(call_json(call, 200), &tenant);
    return ERR_OK;
}

// ShownTenant is a tenant that is to be told of.
typedef struct ShownTenant {
    int status;
    Tenant tenant;
} ShownTenant;

static Err tell_tenant(Call *call, Error *error)
{
    const ShownTenant *shown = call->with;
    (void) error;
    put_tenant(call_json(call, shown->status), &shown->tenant);
    if (shown->status == 201)
        call_header(call, S("Location"),
                    str_format(call->arena, "/v1/tenants/%.*s", STR_ARG(shown->tenant.id)));
    return ERR_OK;
}

static void answer_tenant(Call *call, int status, const Tenant *tenant)
{
    ShownTenant *shown = ARENA_NEW(call->arena, ShownTenant);
    *shown = (ShownTenant){ .status = status, .tenant = *tenant };
    shown->tenant.id = str_dup(call->arena, tenant->id);
    shown->tenant.name = str_dup(call->arena, tenant->name);
    call->with = shown;
    call_later(call, tell_tenant);
}

Err tenant_create(Call *call, Tx *tx, Error *error)
{
    Tenant tenant;
    TenantBody body = { 0 };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &tenant_shape, &body, error));
    TRY(tenant_add(tx, body.id, body.name.at ? body.name : body.id, &tenant, error));
    answer_tenant(call, 201, &tenant);
    return ERR_OK;
}

static Err find_tenant(const Call *call, Tx *tx, Tenant *ret, Error *error)
{
    TRY(definition_lock(tx, error));
    return tenant_find(tx->db, &tx->arena, call->params[0], ret, error);
}

// change_tenant gives a tenant the name that a body says, or its id where it says none.
static Err change_tenant(Call *call, Tx *tx, Tenant *tenant, const Json *given, Error *error)
{
    TenantBody body = { .id = tenant->id };
    fields_note(call->arena, given, S(""), &tenant_change_shape, &body, error);
    if (!str_eq(body.id, tenant->id))
        error_add(error, S("/id"), "bad-value",
                  "must be as in the path; a tenant's id does not change");
    TRY(error_close(error, ERR_INVALID));
    TRY(tenant_rename(tx, tenant, body.name.at ? body.name : tenant->id, error));
    answer_tenant(call, 200, tenant);
    return ERR_OK;
}

Err tenant_put(Call *call, Tx *tx, Error *error)
{
    Tenant tenant;
    TRY(call_body(call, error));
    TRY(find_tenant(call, tx, &tenant, error));
    return change_tenant(call, tx, &tenant, call->body, error);
}

Err tenant_patch(Call *call, Tx *tx, Error *error)
{
    Tenant tenant;
    const Json *given;
    Buf now = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&now);
    TRY(call_body(call, error));
    TRY(find_tenant(call, tx, &tenant, error));
    json_open(&out, '{');
    json_put_str(&out, S("name"), tenant.name);
    json_close(&out, '}');
    TRY(call_merge(call, buf_str(&now), call->body, &given, error));
    return change_tenant(call, tx, &tenant, given, error);
}

Err tenant_delete(Call *call, Tx *tx, Error *error)
{
    Tenant tenant;
    TRY(find_tenant(call, tx, &tenant, error));
    TRY(tenant_remove(tx, &tenant, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}

// put_handlers shows those that a key is limited to; null: it is not.
static void put_handlers(JsonOut *out, Str handlers)
{
    json_key(out, S("handlers"));
    if (!handlers.at) {
        json_add_null(out);
        return;
    }
    json_open(out, '[');
    while (handlers.len > 0)
        json_add_str(out, str_cut(&handlers, ','));
    json_close(out, ']');
}

// join_handlers is those of a body as they are kept.
static Str join_handlers(Arena *arena, const KeyBody *body)
{
    Buf text = buf_new(arena, KEY_HANDLERS_MAX * (CHANNEL_KEY_MAX + 1));
    for (size_t i = 0; i < body->handler_count; i++) {
        buf_add(&text, i ? S(",") : S(""));
        buf_add(&text, body->handlers[i]);
    }
    return body->handler_count > 0 ? buf_str(&text) : STR_NONE;
}

// put_key shows a key; its text is known only when it was just made.
static void put_key(Call *call, const Key *key, Str tenant, Str text)
{
    JsonOut *out = &call->json;
    json_open(out, '{');
    json_put_str(out, S("id"), uuid_dup(call->arena, key->id));
    json_put_str(out, S("tenant"), tenant);
    json_put_str(out, S("role"), str_from(role_text(key->role)));
    json_put_str(out, S("site"), key->site_name);
    put_handlers(out, key->handlers);
    json_put_bool(out, S("system"), key->is_system);
    json_put_str(out, S("name"), key->name.len ? key->name : STR_NONE);
    json_put_time(out, S("createdAt"), key->created_at);
    json_put_time(out, S("expiresAt"), key->expires_at);
    json_put_id(out, S("sessionOf"), key->session_of);
    if (text.at)
        json_put_str(out, S("key"), text);
    json_close(out, '}');
}

// ShownKey is a key that is to be told of.
typedef struct ShownKey {
    int status;
    Key key;
    Str tenant, text;
} ShownKey;

static Err tell_key(Call *call, Error *error)
{
    const ShownKey *shown = call->with;
    (void) error;
    call_json(call, shown->status);
    if (shown->text.at)
        call_secret(call);
    put_key(call, &shown->key, shown->tenant, shown->text);
    return ERR_OK;
}

static void answer_key(Call *call, int status, const Key *key, Str tenant, Str text)
{
    ShownKey *shown = ARENA_NEW(call->arena, ShownKey);
    *shown = (ShownKey){ .status = status, .key = *key, .text = text };
    shown->key.name = str_dup(call->arena, key->name);
    if (key->site_name.at)
        shown->key.site_name = str_dup(call->arena, key->site_name);
    if (key->handlers.at)
        shown->key.handlers = str_dup(call->arena, key->handlers);
    shown->tenant = str_dup(call->arena, tenant);
    call->with = shown;
    call_later(call, tell_key);
}

// whose_keys finds the tenant that is meant: one's own, or with the system right any. Without it,
// another tenant looks as if there were none.
static Err whose_keys(const Call *call, Db *db, Arena *arena, Str id, Tenant *ret, Error *error)
{
    if (!id.at || str_eq(id, call_tenant_id(call))) {
        *ret = (Tenant){ .tenant = call->tenant, .id = call_tenant_id(call) };
        return ERR_OK;
    }
    if (call->key->is_system)
        return tenant_find(db, arena, id, ret, error);
    return fail(error, ERR_NOT_FOUND, "there is no tenant %.*s", STR_ARG(id));
}

enum { KEYS_TENANT };

const Param key_params[] = {
    [KEYS_TENANT] = { .name = "tenant",
                      .kind = PARAM_TEXT,
                      .max = TENANT_ID_MAX,
                      .help = "Whose keys; one's own unless said. Others need the system right" },
    { 0 },
};

Err key_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Tenant tenant;
    Key *rows;
    Str whose = STR_NONE;
    TRY(call_walk(call, &walk, error));
    param_text(call, KEYS_TENANT, &whose);
    TRY(whose_keys(call, db, call->arena, whose, &tenant, error));
    TRY(key_page(db, call->arena, tenant.tenant, clock_now(call->api->clock), &walk, &rows, &seen,
                 error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_key(call, &rows[i], tenant.id, STR_NONE);
    page_close(call, &seen);
    return ERR_OK;
}

// find_key returns the key that the path names, of one's own tenant or with the system right of
// any, and the tenant's id.
static Err find_key(const Call *call, Db *db, Arena *arena, Key *ret, Str *ret_tenant, Error *error)
{
    Uuid id;
    int64_t owner = call->tenant;
    TRY(call_id(call, 0, &id, error));
    if (call->key->is_system)
        TRY(key_tenant(db, arena, &id, &owner, error));
    TRY(key_find(db, arena, owner, &id, clock_now(call->api->clock), ret, error));
    const RegistryTenant *tenant = registry_tenant(call->registry, owner);
    if (!tenant) // made a moment ago, on another node
        return fail(error, ERR_NOT_FOUND, "there is no such key");
    *ret_tenant = tenant->id;
    return ERR_OK;
}

Err key_get(Call *call, Db *db, Error *error)
{
    Key key;
    Str tenant;
    TRY(find_key(call, db, call->arena, &key, &tenant, error));
    call_json(call, 200);
    put_key(call, &key, tenant, STR_NONE);
    return ERR_OK;
}

// find_named finds the tenant that a new key is for; one that cannot be seen is as good as none.
static Err find_named(const Call *call, Tx *tx, Str id, Tenant *ret, Error *error)
{
    Error missing = { 0 };
    Err err = whose_keys(call, tx->db, &tx->arena, id, ret, &missing);
    if (err == ERR_NOT_FOUND)
        error_add(error, S("/tenant"), "unknown-tenant", "%s", missing.detail);
    else if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    return ERR_OK;
}

// find_site gives the site that a key is for its number.
static Err find_site(Tx *tx, Key *key, Str name, Error *error)
{
    key->site = 0;
    key->site_name = name;
    return name.at ? site_number(tx, key->tenant, name, &key->site, error) : ERR_OK;
}

static void check_expiry(const Tx *tx, Instant expires_at, Error *error)
{
    if (expires_at <= tx->now)
        error_add(error, S("/expiresAt"), "bad-value", "must lie ahead");
}

// check_role: what looks across tenants is not for a tenant's own administrator to give.
static Err check_role(const Call *call, Role role, Error *error)
{
    if (role != ROLE_OPERATIONS || call->key->is_system)
        return ERR_OK;
    return fail(error, ERR_FORBIDDEN, "the role %s is granted with the system right only",
                role_text(role));
}

Err key_create(Call *call, Tx *tx, Error *error)
{
    KeyBody body = { .expires_at = INSTANT_NONE };
    Tenant tenant = { 0 };
    TRY(call_body(call, error));
    fields_note(call->arena, call->body, S(""), &key_shape, &body, error);
    check_expiry(tx, body.expires_at, error);
    TRY(find_named(call, tx, body.tenant, &tenant, error));
    TRY(error_close(error, ERR_INVALID));
    TRY(check_role(call, body.role, error));

    Key key = {
        .tenant = tenant.tenant, .role = body.role, .name = body.name, .expires_at = body.expires_at
    };
    key.handlers = join_handlers(call->arena, &body);
    Str text = key_text_new(call->arena, tx->random, KEY_PREFIX);
    TRY(find_site(tx, &key, body.site, error));
    TRY(key_add(tx, &key, text, error));
    answer_key(call, 201, &key, tenant.id, text);
    return ERR_OK;
}

// check_change refuses what would lock people out. A key with the system right is the operator's:
// it is given at the start, and found again by its name. And whoever took their own role away by
// mistake could not give it back.
static Err check_change(const Call *call, const Key *key, Role role, Error *error)
{
    if (key->is_session)
        return fail(error, ERR_CONFLICT, "a session does not change: it is as its key is");
    if (key->is_system)
        return fail(error, ERR_CONFLICT, "a key with the system right does not change");
    Uuid own = call->key->is_session ? call->key->parent_id : call->key->id;
    if (uuid_cmp(key->id, own) == 0 && role != key->role)
        return fail(error, ERR_CONFLICT, "a key does not change its own role");
    return ERR_OK;
}

static Err change_key(Call *call, Tx *tx, Key *key, Str tenant, const Json *given, Error *error)
{
    KeyBody body = { .tenant = tenant, .expires_at = INSTANT_NONE };
    fields_note(call->arena, given, S(""), &key_shape, &body, error);
    if (!str_eq(body.tenant, tenant))
        error_add(error, S("/tenant"), "bad-value", "a key stays with its tenant");
    if (body.expires_at != key->expires_at)
        check_expiry(tx, body.expires_at, error);
    TRY(error_close(error, ERR_INVALID));
    TRY(check_change(call, key, body.role, error));
    TRY(check_role(call, body.role, error));
    key->role = body.role;
    key->name = body.name;
    key->expires_at = body.expires_at;
    key->handlers = join_handlers(call->arena, &body);
    TRY(find_site(tx, key, body.site, error));
    TRY(key_change(tx, key, error));
    answer_key(call, 200, key, tenant, STR_NONE);
    return ERR_OK;
}

Err key_put(Call *call, Tx *tx, Error *error)
{
    Key key;
    Str tenant;
    TRY(call_body(call, error));
    TRY(definition_lock(tx, error));
    TRY(find_key(call, tx->db, &tx->arena, &key, &tenant, error));
    return change_key(call, tx, &key, tenant, call->body, error);
}

Err key_patch(Call *call, Tx *tx, Error *error)
{
    Key key;
    Str tenant;
    const Json *given;
    Buf now = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&now);
    TRY(call_body(call, error));
    TRY(definition_lock(tx, error));
    TRY(find_key(call, tx->db, &tx->arena, &key, &tenant, error));
    json_open(&out, '{');
    json_put_str(&out, S("role"), str_from(role_text(key.role)));
    json_put_str(&out, S("site"), key.site_name);
    put_handlers(&out, key.handlers);
    json_put_str(&out, S("name"), key.name.len ? key.name : STR_NONE);
    json_put_time(&out, S("expiresAt"), key.expires_at);
    json_close(&out, '}');
    TRY(call_merge(call, buf_str(&now), call->body, &given, error));
    return change_key(call, tx, &key, tenant, given, error);
}

Err key_delete(Call *call, Tx *tx, Error *error)
{
    Key key;
    Str tenant;
    TRY(find_key(call, tx->db, &tx->arena, &key, &tenant, error));
    if (key.is_system && !call->key->is_system)
        return fail(error, ERR_FORBIDDEN,
                    "a key with the system right is the operator's to delete");
    TRY(key_remove(tx, key.tenant, &key.id, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}
