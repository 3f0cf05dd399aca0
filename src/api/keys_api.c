#include "api/handlers.h"

#include "domain/members.h"
#include "store/key.h"
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

Err tenant_create(Call *call, Tx *tx, Error *error)
{
    static const char *const known[] = { "id", "name" };
    Tenant tenant;
    Str id = STR_NONE, name = STR_NONE;
    TRY(call_body(call, error));
    Members members = members_open(call->body, S(""), error);
    members_check(&members, known, ARRAY_LEN(known));
    members_need(&members, "id");
    members_key(&members, "id", TENANT_ID_MAX, &id);
    members_text(&members, "name", TENANT_NAME_MAX, &name);
    TRY(members_close(&members, ERR_INVALID));
    TRY(tenant_add(tx, id, name.at ? name : id, &tenant, error));
    put_tenant(call_json(call, 201), &tenant);
    call_header(call, S("Location"), str_format(call->arena, "/v1/tenants/%.*s", STR_ARG(id)));
    return ERR_OK;
}

// put_key shows a key; its text is known only when it was just made.
static void put_key(Call *call, const Key *key, Str tenant, Str text)
{
    JsonOut *out = &call->json;
    json_open(out, '{');
    json_put_str(out, S("id"), uuid_dup(call->arena, key->id));
    json_put_str(out, S("tenant"), tenant);
    json_put_str(out, S("role"), str_from(role_text(key->role)));
    json_put_bool(out, S("system"), key->is_system);
    json_put_str(out, S("name"), key->name.len ? key->name : STR_NONE);
    json_put_time(out, S("createdAt"), key->created_at);
    json_put_time(out, S("expiresAt"), key->expires_at);
    if (text.at)
        json_put_str(out, S("key"), text);
    json_close(out, '}');
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
    TRY(key_page(db, call->arena, tenant.tenant, &walk, &rows, &seen, error));
    page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_key(call, &rows[i], tenant.id, STR_NONE);
    page_close(call, &seen);
    return ERR_OK;
}

static void read_role(const Call *call, const Members *members, Role *ret)
{
    Str role = STR_NONE;
    members_need(members, "role");
    members_text(members, "role", 50, &role);
    if (!role.at || role_parse(role, ret))
        return;
    Buf known = buf_new(call->arena, 300);
#define ROLE_NAME(name, text)                                                                      \
    if (ROLE_##name != ROLE_NONE)                                                                  \
        buf_add(&known, S(" " text));
    ROLE_TABLE(ROLE_NAME)
#undef ROLE_NAME
    members_note(members, S("role"), "unknown-role", "\"%.*s\" is not a role; use one of%.*s",
                 STR_ARG(members_shown(role)), STR_ARG(buf_str(&known)));
}

// read_tenant finds the tenant that the key is for; one that cannot be seen is as good as none.
static Err read_tenant(const Call *call, Tx *tx, const Members *members, Tenant *ret, Error *error)
{
    Str id = STR_NONE;
    Error missing = { 0 };
    members_text(members, "tenant", TENANT_ID_MAX, &id);
    Err err = whose_keys(call, tx->db, &tx->arena, id, ret, &missing);
    if (err == ERR_NOT_FOUND)
        members_note(members, S("tenant"), "unknown-tenant", "%s", missing.detail);
    else if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    return ERR_OK;
}

Err key_create(Call *call, Tx *tx, Error *error)
{
    static const char *const known[] = { "tenant", "role", "name", "expiresAt" };
    Key key = { .expires_at = INSTANT_NONE };
    Tenant tenant = { 0 };
    TRY(call_body(call, error));
    Members members = members_open(call->body, S(""), error);
    members_check(&members, known, ARRAY_LEN(known));
    read_role(call, &members, &key.role);
    members_text(&members, "name", KEY_NAME_MAX, &key.name);
    members_time(&members, "expiresAt", &key.expires_at);
    if (key.expires_at <= tx->now)
        members_note(&members, S("expiresAt"), "bad-value", "must lie ahead");
    TRY(read_tenant(call, tx, &members, &tenant, error));
    TRY(members_close(&members, ERR_INVALID));

    key.tenant = tenant.tenant;
    Str text = key_text_new(call->arena, tx->random);
    TRY(key_add(tx, &key, text, error));
    call_json(call, 201);
    call_secret(call);
    put_key(call, &key, tenant.id, text);
    return ERR_OK;
}

Err key_delete(Call *call, Tx *tx, Error *error)
{
    Uuid id;
    int64_t tenant = call->tenant;
    TRY(call_id(call, 0, &id, error));
    if (call->key->is_system)
        TRY(key_tenant(tx, &id, &tenant, error));
    TRY(key_remove(tx, tenant, &id, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}
