#include "api/served.h"

#include "api/shapes.h"
#include "store/session.h"

// A browser's session: opened with a key, which from then on stays out of the browser; named by a
// cookie that no script can read (rights.c says what it opens).

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)

// clang-format off
static const Field role_row = { NULL, FIELD_TEXT };
static const Field route_rows[] = {
    { "may",   FIELD_BOOL, ALWAYS },
    { "roles", FIELD_LIST, ALWAYS, .of = &role_row, .help = "Whose it is; system: the system right" },
};
static const Shape route_shape = { .name = "SessionRoute", SHAPE_ROWS(route_rows) };
static const Field route_row = { NULL, FIELD_OBJECT, .inside = &route_shape };
static const Field session_rows[] = {
    { "id",        FIELD_ID,   OR_NULL, .help = "The session's; null where a key asks" },
    { "keyId",     FIELD_ID,   ALWAYS },
    { "tenant",    FIELD_TEXT, ALWAYS },
    { "role",      FIELD_TEXT, ALWAYS },
    { "system",    FIELD_BOOL, ALWAYS, .help = "It has the system right" },
    { "name",      FIELD_TEXT, OR_NULL, .help = "The key's" },
    { "createdAt", FIELD_TIME, ALWAYS },
    { "expiresAt", FIELD_TIME, OR_NULL },
    { "version",   FIELD_TEXT, ALWAYS, .help = "Peal's" },
    { "held",      FIELD_BOOL, ALWAYS, .help = "Nothing is sent (POST /v1/hold)" },
    { "dev",       FIELD_BOOL, ALWAYS, .help = "Every channel captures (peal dev)" },
    { "routes",    FIELD_MAP,  ALWAYS, .of = &route_row, .help = "What may be called, by method and path" },
};
// clang-format on
const Shape session_shape = { .name = "Session", SHAPE_ROWS(session_rows) };

// put_routes says of each route whether the key may call it, and who may.
static void put_routes(Call *call)
{
    JsonOut *out = &call->json;
    json_key(out, S("routes"));
    json_open(out, '{');
    for (size_t i = 0; i < route_count; i++) {
        const Route *route = &routes[i];
        if (route->is_site || route->roles == ANYONE)
            continue;
        json_key(out, str_format(call->arena, "%s %s", route->method, route->path));
        json_open(out, '{');
        json_put_bool(out, S("may"), rights_may(route, call->key));
        json_key(out, S("roles"));
        json_open(out, '[');
        for (Role role = ROLE_NONE + 1; role <= ROLE_ADMIN && route->roles != SYSTEM; role++)
            if (role == ROLE_ADMIN || (route->roles & 1u << role) != 0)
                json_add_str(out, str_from(role_text(role)));
        if (route->roles == SYSTEM)
            json_add_str(out, S("system"));
        json_close(out, ']');
        json_close(out, '}');
    }
    json_close(out, '}');
}

// put_session tells of a session, or of the key where that is what asks.
static void put_session(Call *call, int status, const Key *key)
{
    JsonOut *out = call_json(call, status);
    json_open(out, '{');
    json_put_id(out, S("id"), key->is_session ? key->id : (Uuid){ { 0 } });
    json_put_id(out, S("keyId"), key->is_session ? key->session_of : key->id);
    json_put_str(out, S("tenant"), call_tenant_id(call));
    json_put_str(out, S("role"), str_from(role_text(key->role)));
    json_put_bool(out, S("system"), key->is_system);
    json_put_str(out, S("name"), key->name.len ? key->name : STR_NONE);
    json_put_time(out, S("createdAt"), key->created_at);
    json_put_time(out, S("expiresAt"), key->expires_at);
    json_put_str(out, S("version"), str_from(call->api->version));
    json_put_bool(out, S("held"), call->registry->is_held);
    json_put_bool(out, S("dev"), call->api->is_dev);
    put_routes(call);
    json_close(out, '}');
}

// put_cookie has the browser keep the text, or forget it where that is empty.
static void put_cookie(Call *call, Str text)
{
    call_header(call, S("Set-Cookie"),
                str_format(call->arena, "%.*s=%.*s; HttpOnly; SameSite=Strict; Path=/%s%s",
                           STR_ARG(SESSION_COOKIE), STR_ARG(text), text.len ? "" : "; Max-Age=0",
                           call->exchange->is_secure ? "; Secure" : ""));
}

// Opened is a session that is to be told of, this once with its secret.
typedef struct Opened {
    Key session;
    Str text;
} Opened;

static Err tell_opened(Call *call, Error *error)
{
    const Opened *opened = call->with;
    (void) error;
    put_session(call, 201, &opened->session);
    put_cookie(call, opened->text);
    return ERR_OK;
}

static Err find_own(const Call *call, Db *db, Arena *arena, Key *ret, Error *error)
{
    return key_find(db, arena, call->tenant, &call->key->id, clock_now(call->api->clock), ret,
                    error);
}

Err session_post(Call *call, Tx *tx, Error *error)
{
    const Served *served = (const Served *) call;
    Key key;
    if (served->has_session)
        return fail(error, ERR_FORBIDDEN, "a session opens no other; sign in with a key");
    if (!served->has_key)
        return fail(error, ERR_FORBIDDEN, "a session is opened with a key");
    TRY(definition_lock(tx, error));
    TRY(find_own(call, tx->db, &tx->arena, &key, error));
    Opened *opened = ARENA_NEW(call->arena, Opened);
    opened->text = key_text_new(call->arena, tx->random, SESSION_PREFIX);
    TRY(session_open(tx, &key, opened->text, &opened->session, error));
    opened->session.name = str_dup(call->arena, key.name);
    call->with = opened;
    call_later(call, tell_opened);
    return ERR_OK;
}

Err session_get(Call *call, Db *db, Error *error)
{
    Key key;
    TRY(find_own(call, db, call->arena, &key, error));
    put_session(call, 200, &key);
    return ERR_OK;
}

static Err tell_closed(Call *call, Error *error)
{
    (void) error;
    call->reply = (Reply){ .status = 204 };
    put_cookie(call, S(""));
    return ERR_OK;
}

Err session_delete(Call *call, Tx *tx, Error *error)
{
    if (!((const Served *) call)->has_session)
        return fail(error, ERR_NOT_FOUND, "there is no session: a key asks");
    TRY(key_remove(tx, call->tenant, &call->key->id, error));
    call_later(call, tell_closed);
    return ERR_OK;
}
