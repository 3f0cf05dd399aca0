#include "store/integration.h"

#include "base/log.h"
#include "store/columns.h"
#include "store/definition.h"
#include "store/poll_group.h"
#include "store/secret.h"
#include "store/tenant.h"

#define KIND S("integration")

// Row is an integration as it is stored.
typedef struct Row {
    int64_t tenant;
    Str id, provider;
    bool is_enabled;
    Str connection_id, installation_id;
    int status;
    Str reason;
    Instant since;
    int64_t fence;
    Str access, refresh; // sealed; none
    Instant expires_at;
} Row;

// clang-format off
#define NAMES                                                                                      \
    "tenant, id, provider, is_enabled, connection_id, installation_id, status, reason, since,"     \
    " fence, access, refresh, expires_at"
#define SELECT                                                                                     \
    "SELECT i.tenant, i.id, i.provider, i.is_enabled, i.connection_id, i.installation_id,"         \
    " i.status, i.reason, i.since, i.fence, i.access, i.refresh, i.expires_at FROM "
// clang-format on

static const Columns columns =
    COLUMNS(Row, COLUMN(Row, tenant), COLUMN(Row, id), COLUMN(Row, provider),
            COLUMN(Row, is_enabled), COLUMN(Row, connection_id), COLUMN(Row, installation_id),
            COLUMN(Row, status), COLUMN(Row, reason), COLUMN_TIME(Row, since), COLUMN(Row, fence),
            COLUMN(Row, access), COLUMN(Row, refresh), COLUMN_TIME(Row, expires_at));

static const Statement look = {
    .name = "integration_look",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .many = true,
    .sql = SELECT "integration i WHERE i.tenant = $1 AND i.id = $2",
    .postgres = SELECT "unnest($1, $2) AS u (tenant, id) JOIN integration i"
                       " ON i.tenant = u.tenant AND i.id = u.id",
};
// Whoever changes a row has it to himself.
static const Statement lock = {
    .name = "integration_lock",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = SELECT "integration i WHERE i.tenant = $1 AND i.id = $2",
    .postgres = SELECT "integration i WHERE i.tenant = $1 AND i.id = $2 FOR UPDATE",
};
#define PUT_OVER                                                                                   \
    " ON CONFLICT (tenant, id) DO UPDATE SET provider = excluded.provider,"                        \
    " is_enabled = excluded.is_enabled, connection_id = excluded.connection_id,"                   \
    " installation_id = excluded.installation_id, status = excluded.status,"                       \
    " reason = excluded.reason, since = excluded.since, fence = excluded.fence,"                   \
    " access = excluded.access, refresh = excluded.refresh, expires_at = excluded.expires_at"
static const Statement put = {
    .name = "integration_put",
    .scope = STATEMENT_TENANT,
    .params = "ittittitiitti",
    .many = true,
    .sql = "INSERT INTO integration (" NAMES ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)" PUT_OVER,
    .postgres = "INSERT INTO integration (" NAMES ") SELECT * FROM"
                " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)" PUT_OVER,
};
static const Statement delete = {
    .name = "integration_delete",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "DELETE FROM integration WHERE tenant = $1 AND id = $2",
};
// A place is looked for among all tenants: who may hear of it is the caller's to see to.
static const Statement at_connection = {
    .name = "integration_at_connection",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .many = true,
    .sql = SELECT "integration i WHERE i.connection_id = $1",
    .postgres = SELECT "unnest($1) AS u (connection_id) JOIN integration i"
                       " ON i.connection_id = u.connection_id",
};
static const Statement at_installation = {
    .name = "integration_at_installation",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .many = true,
    .sql = SELECT "integration i WHERE i.installation_id = $1",
    .postgres = SELECT "unnest($1) AS u (installation_id) JOIN integration i"
                       " ON i.installation_id = u.installation_id",
};

const Statement *const integration_statements[] = {
    &look, &lock, &put, &delete, &at_connection, &at_installation, NULL,
};

static Row read_row(const Rows *rows, size_t at)
{
    Row row = { 0 };
    columns_read(&columns, rows_at(rows, at), &row);
    if (row.status < 0 || row.status >= (int) TABLE_ROWS(INTEGRATION_STATUS_TABLE))
        row.status = INTEGRATION_FAILED; // somebody damaged the row
    return row;
}

static void write_row(Tx *tx, const Row *row)
{
    db_send_rows(tx->db, &tx->arena, &put, &columns, row, 1, NULL);
}

// find_locked returns whether there is one.
static Err find_locked(Tx *tx, int64_t tenant, Str id, Row *ret, bool *ret_found, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(id) };
    TRY(tx_query(tx, &lock, args, &rows, error));
    *ret_found = rows.count > 0;
    if (rows.count > 0)
        *ret = read_row(&rows, 0);
    return ERR_OK;
}

Err integrations_look(Db *db, Arena *arena, int64_t tenant, IntegrationState *states, size_t count,
                      Error *error)
{
    Rows rows = { 0 };
    Value *args = ARENA_ARRAY(arena, Value, 2 * count + 1);
    for (size_t i = 0; i < count; i++) {
        args[2 * i] = value_i64(tenant);
        args[2 * i + 1] = value_text(states[i].id);
    }
    db_send_many(db, arena, &look, args, count, &rows);
    TRY(db_sync(db, error));
    for (size_t r = 0; r < rows.count; r++) {
        Row row = read_row(&rows, r);
        for (size_t i = 0; i < count; i++)
            if (str_eq(states[i].id, row.id))
                states[i] = (IntegrationState){ .id = states[i].id,
                                                .is_known = true,
                                                .connection_id = row.connection_id,
                                                .installation_id = row.installation_id,
                                                .status = (IntegrationStatus) row.status,
                                                .reason = row.reason,
                                                .since = row.since };
    }
    return ERR_OK;
}

// look_at_polls has its group looked at, if there is one, which polls an active one alone.
static void look_at_polls(Tx *tx, const Row *row)
{
    ProviderName provider;
    if (provider_name_parse(row->provider, &provider))
        poll_group_changed(tx, row->tenant, provider, row->id);
}

// write_turned writes a row that may have another status or place now.
static void write_turned(Tx *tx, const Row *row)
{
    write_row(tx, row);
    look_at_polls(tx, row);
}

// turn gives a row another status, with its reason; a change of status is on record.
static void turn(Tx *tx, Row *row, IntegrationStatus status, Str reason)
{
    row->reason =
        status == INTEGRATION_ACTIVE ? STR_NONE : str_head(reason, INTEGRATION_REASON_MAX);
    if (row->status == (int) status)
        return;
    const char *text = integration_status_text(status);
    row->status = (int) status;
    row->since = tx->now;
    tx_fact(tx, FACT_INTEGRATION_TURNED, row->tenant,
            str_format(&tx->arena, "%.*s/%s", STR_ARG(row->id), text));
    log_info("integration.turned", "tenant=%lld integration=%s status=%s reason=%s",
             (long long) row->tenant, log_quote(row->id), text, log_quote(row->reason));
}

static bool is_other(Str from, Str to)
{
    return from.at && to.at && !str_eq(from, to);
}

// place gives a row its place. With another one than it had it is another account.
static void place(Tx *tx, Row *row, Str connection, Str installation)
{
    ProviderName provider;
    bool is_moved =
        is_other(row->connection_id, connection) || is_other(row->installation_id, installation);
    row->connection_id = connection;
    row->installation_id = installation;
    if (is_moved && provider_name_parse(row->provider, &provider))
        poll_group_rebound(tx, row->tenant, provider, row->id);
}

// renew has nothing count that was found out before.
static void renew(Row *row)
{
    row->fence++;
    row->access = row->refresh = STR_NONE;
    row->expires_at = INSTANT_NONE;
}

static Err check_place(Tx *tx, const IntegrationSave *save, const Statement *at, Str place,
                       const char *member, Error *error)
{
    Rows rows = { 0 };
    Value args[] = { value_text(place) };
    if (!place.at)
        return ERR_OK;
    db_send_many(tx->db, &tx->arena, at, args, 1, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Row other = read_row(&rows, i);
        if (other.tenant != save->tenant || !str_eq(other.id, save->id))
            return fail(error, ERR_CONFLICT, "another integration has this %s", member);
    }
    return ERR_OK;
}

Err integration_may_save(Tx *tx, const IntegrationSave *save, Error *error)
{
    if (!save->has_place)
        return ERR_OK;
    TRY(definition_lock(tx, error));
    TRY(check_place(tx, save, &at_connection, save->connection_id, "connectionId", error));
    return check_place(tx, save, &at_installation, save->installation_id, "installationId", error);
}

Err integration_save(Tx *tx, const IntegrationSave *save, Error *error)
{
    Row row = {
        .tenant = save->tenant, .id = save->id, .since = tx->now, .expires_at = INSTANT_NONE
    };
    bool was_there;
    TRY(find_locked(tx, save->tenant, save->id, &row, &was_there, error));
    row.provider = str_from(provider_id_text(save->provider));
    row.is_enabled = save->is_enabled;
    if (save->has_place)
        place(tx, &row, save->connection_id, save->installation_id);
    if (save->has_place || save->has_token)
        renew(&row);
    turn(tx, &row,
         save->has_place ? INTEGRATION_ACTIVE
                         : integration_turned((IntegrationStatus) row.status, INTEGRATION_ACTIVE),
         row.reason);
    write_turned(tx, &row);
    return ERR_OK;
}

Err integration_remove(Tx *tx, int64_t tenant, Str id, Error *error)
{
    Row row;
    bool is_found;
    Value args[] = { value_i64(tenant), value_text(id) };
    TRY(find_locked(tx, tenant, id, &row, &is_found, error));
    if (is_found)
        look_at_polls(tx, &row);
    db_send(tx->db, &tx->arena, &delete, args, NULL);
    return ERR_OK;
}

// binding is what a fresh token is sealed for.
static Str binding(Arena *arena, const Row *row, const char *which)
{
    return str_format(arena, "integration/%lld/%.*s/fresh/%s", (long long) row->tenant,
                      STR_ARG(row->id), which);
}

static Err open_fresh(Arena *arena, const KeyRing *ring, const Row *row, const char *which,
                      Str sealed, Str *ret, Error *error)
{
    *ret = STR_NONE;
    return sealed.at ? crypto_open(arena, ring, binding(arena, row, which), sealed, ret, error)
                     : ERR_OK;
}

// open_access opens the definition's secrets, and what was got since.
static Err open_access(Arena *arena, const KeyRing *ring, const Row *row,
                       const IntegrationDefinition *definition, IntegrationAccess *ret,
                       Error *error)
{
    static const KeyRing no_keys = { 0 };
    SecretOwner owner = { KIND, row->tenant, row->id };
    IntegrationAccess access = { .provider = (ProviderName) definition->provider,
                                 .connection_id = row->connection_id,
                                 .base_url = definition->base_url,
                                 .expires_at = row->expires_at };
    ring = ring ? ring : &no_keys;
    TRY(secret_open(arena, ring, &owner, definition->token, &access.token, error));
    TRY(open_fresh(arena, ring, row, "access", row->access, &access.access, error));
    TRY(open_fresh(arena, ring, row, "refresh", row->refresh, &access.refresh, error));
    *ret = access;
    return ERR_OK;
}

Err integration_open(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant, Str id,
                     IntegrationOpened *ret, Error *error)
{
    Definition stored;
    IntegrationDefinition definition;
    IntegrationAccess access;
    const Json *body;
    Rows rows = { 0 };
    Error why = { 0 };
    Value args[] = { value_i64(tenant), value_text(id) };
    TRY(definition_get(db, arena, tenant, KIND, id, &stored, error));
    db_send_many(db, arena, &look, args, 1, &rows);
    TRY(db_sync(db, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no integration %.*s", STR_ARG(id));
    Row row = read_row(&rows, 0);
    TRY(json_parse(arena, stored.body, &body, error));
    TRY(integration_compile(arena, body, &definition, error));
    if (open_access(arena, ring, &row, &definition, &access, &why) != ERR_OK)
        return fail(error, ERR_CORRUPT,
                    "the token of integration %.*s cannot be opened with this master key",
                    STR_ARG(id));
    *ret = (IntegrationOpened){ .name = { tenant, row.id, row.fence },
                                .access = access,
                                .status = (IntegrationStatus) row.status,
                                .watch = definition.watch,
                                .is_enabled = row.is_enabled };
    return ERR_OK;
}

// find_opened finds one as it was opened; what has changed since is not the same.
static Err find_opened(Tx *tx, const IntegrationName *name, Row *ret, bool *ret_found, Error *error)
{
    TRY(find_locked(tx, name->tenant, name->id, ret, ret_found, error));
    *ret_found = *ret_found && ret->fence == name->fence;
    return ERR_OK;
}

Err integration_refreshed(Tx *tx, const KeyRing *ring, const IntegrationName *name, Str access,
                          Str refresh, Instant expires_at, Error *error)
{
    Row row;
    bool is_found;
    TRY(find_opened(tx, name, &row, &is_found, error));
    if (!is_found)
        return ERR_OK;
    row.access =
        crypto_seal(&tx->arena, ring, tx->random, binding(&tx->arena, &row, "access"), access);
    if (refresh.at)
        row.refresh = crypto_seal(&tx->arena, ring, tx->random,
                                  binding(&tx->arena, &row, "refresh"), refresh);
    row.expires_at = expires_at;
    write_row(tx, &row);
    return ERR_OK;
}

Err integration_mark(Tx *tx, const IntegrationName *name, IntegrationStatus status, Str reason,
                     Error *error)
{
    Row row;
    bool is_found;
    TRY(find_opened(tx, name, &row, &is_found, error));
    IntegrationStatus from = (IntegrationStatus) row.status;
    if (!is_found || integration_turned(from, status) != status)
        return ERR_OK;
    turn(tx, &row, status, reason);
    write_turned(tx, &row);
    return ERR_OK;
}

// is_place: somebody could have it. What comes from outside may hold anything.
static bool is_place(Str text)
{
    return text.len > 0 && text.len <= INTEGRATION_PLACE_MAX && str_is_printable(text) &&
           str_is_utf8(text);
}

// Places are those that several routes ask for, each once.
typedef struct Places {
    const Statement *at;
    Value *values;
    size_t count, width; // so many parameters each
    Rows rows;
} Places;

static Places places_new(Arena *arena, const Statement *at, size_t width, size_t max)
{
    return (Places){ .at = at, .width = width, .values = ARENA_ARRAY(arena, Value, width * max) };
}

static bool is_same(const Value *a, const Value *b)
{
    return a->type == VALUE_I64 ? a->i64 == b->i64 : str_eq(a->str, b->str);
}

static void places_add(Places *places, const Value *wanted)
{
    for (size_t i = 0; i < places->count; i++) {
        const Value *known = places->values + i * places->width;
        if (is_same(&known[0], &wanted[0]) &&
            is_same(&known[places->width - 1], &wanted[places->width - 1]))
            return;
    }
    memcpy(places->values + places->count++ * places->width, wanted,
           places->width * sizeof *wanted);
}

// RouteLook is what is found for several routes.
typedef struct RouteLook {
    Places connections, installations, owns;
} RouteLook;

static void look_for(RouteLook *looks, const IntegrationRoute *route)
{
    Value own[] = { value_i64(route->tenant), value_text(route->own) };
    Value connection = value_text(route->connection_id);
    Value installation = value_text(route->installation_id);
    if (is_place(route->connection_id))
        places_add(&looks->connections, &connection);
    else if (is_place(route->installation_id))
        places_add(&looks->installations, &installation);
    if (route->own.len)
        places_add(&looks->owns, own);
}

static Err look_all(Tx *tx, const IntegrationRoute *routes, size_t count, RouteLook *ret,
                    Error *error)
{
    *ret = (RouteLook){ places_new(&tx->arena, &at_connection, 1, count),
                        places_new(&tx->arena, &at_installation, 1, count),
                        places_new(&tx->arena, &look, 2, count) };
    for (size_t i = 0; i < count; i++)
        look_for(ret, &routes[i]);
    Places *all[] = { &ret->connections, &ret->installations, &ret->owns };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        db_send_many(tx->db, &tx->arena, all[i]->at, all[i]->values, all[i]->count, &all[i]->rows);
    return tx_sync(tx, error);
}

// find_place returns the integration that has the route's place, where the source may reach it.
static bool find_place(const RouteLook *looks, const IntegrationRoute *route, Row *ret)
{
    bool is_connected = route->connection_id.at != NULL;
    const Rows *rows = is_connected ? &looks->connections.rows : &looks->installations.rows;
    Str wanted = is_connected ? route->connection_id : route->installation_id;
    for (size_t i = 0; i < rows->count; i++) {
        Row row = read_row(rows, i);
        Str place = is_connected ? row.connection_id : row.installation_id;
        if (str_eq(place, wanted) && (route->is_shared || row.tenant == route->tenant)) {
            *ret = row;
            return true;
        }
    }
    return false;
}

static bool find_own(const RouteLook *looks, const IntegrationRoute *route, Row *ret)
{
    for (size_t i = 0; route->own.len && i < looks->owns.rows.count; i++) {
        Row row = read_row(&looks->owns.rows, i);
        if (row.tenant == route->tenant && str_eq(row.id, route->own)) {
            *ret = row;
            return true;
        }
    }
    return false;
}

// lead says where a route leads; row: to this one.
static void lead(Tx *tx, IntegrationRoute *route, const Row *row)
{
    route->to_tenant = row->tenant;
    route->to = row->id;
    route->is_found = row->is_enabled && integration_takes((IntegrationStatus) row->status);
    if (!route->is_found)
        route->why =
            str_format(&tx->arena, "integration %.*s is %s", STR_ARG(row->id),
                       row->is_enabled ? integration_status_text((IntegrationStatus) row->status)
                                       : "disabled");
}

static void find_route(Tx *tx, const RouteLook *looks, IntegrationRoute *route)
{
    Row row;
    bool is_placed = route->connection_id.at || route->installation_id.at;
    route->is_found = false;
    route->why = STR_NONE;
    if (is_placed && find_place(looks, route, &row)) {
        lead(tx, route, &row);
        return;
    }
    bool has_own = find_own(looks, route, &row);
    bool is_elsewhere = has_own && row.installation_id.at;
    if (is_placed && (route->is_shared || route->connection_id.at || is_elsewhere)) {
        route->why = route->connection_id.at ? S("no integration has this connection")
                                             : S("no integration has this installation");
    } else if (has_own) {
        lead(tx, route, &row);
    } else {
        route->is_found = true;
        route->to_tenant = route->tenant;
        route->to = route->own;
    }
}

Err integrations_route(Tx *tx, IntegrationRoute *routes, size_t count, Error *error)
{
    RouteLook looks;
    if (count == 0)
        return ERR_OK;
    TRY(look_all(tx, routes, count, &looks, error));
    for (size_t i = 0; i < count; i++)
        find_route(tx, &looks, &routes[i]);
    return ERR_OK;
}

// is_of: a provider's place may be bound to it. A broker may not know the provider by Peal's name.
static bool is_of(const Row *row, ProviderName provider)
{
    return provider == PROVIDER_NANGO || provider == PROVIDER_COMPOSIO ||
           str_eq(row->provider, str_from(provider_id_text(provider)));
}

// bind gives a place that was made to the integration that a shared source's envelope names.
static Err bind(Tx *tx, const IntegrationChange *change, bool *ret_found, Error *error)
{
    Row row;
    Tenant tenant;
    Error unknown = { 0 };
    const IntegrationRoute *of = &change->of;
    bool may_bind = of->is_shared && change->is_new && change->status == INTEGRATION_ACTIVE;
    *ret_found = false;
    if (!may_bind || !is_place(change->tenant) || !is_place(change->integration) ||
        tenant_find(tx->db, &tx->arena, change->tenant, &tenant, &unknown) != ERR_OK)
        return ERR_OK;
    TRY(find_locked(tx, tenant.tenant, change->integration, &row, ret_found, error));
    *ret_found = *ret_found && is_of(&row, change->provider);
    if (!*ret_found)
        return ERR_OK;
    if (is_place(of->connection_id))
        place(tx, &row, of->connection_id, row.installation_id);
    else
        place(tx, &row, row.connection_id, of->installation_id);
    renew(&row);
    turn(tx, &row, INTEGRATION_ACTIVE, STR_NONE);
    tx_fact(tx, FACT_INTEGRATION_TURNED, row.tenant,
            str_format(&tx->arena, "%.*s/bound", STR_ARG(row.id)));
    write_turned(tx, &row);
    return ERR_OK;
}

Err integration_change(Tx *tx, const IntegrationChange *change, bool *ret_found, Error *error)
{
    RouteLook looks;
    Row found, row;
    *ret_found = false;
    if (!is_place(change->of.connection_id) && !is_place(change->of.installation_id))
        return ERR_OK;
    TRY(look_all(tx, &change->of, 1, &looks, error));
    if (!find_place(&looks, &change->of, &found))
        return bind(tx, change, ret_found, error);
    TRY(find_locked(tx, found.tenant, found.id, &row, ret_found, error));
    if (!*ret_found)
        return ERR_OK;
    IntegrationStatus from = (IntegrationStatus) row.status;
    if (change->status == INTEGRATION_FAILED && integration_turned(from, change->status) == from)
        return ERR_OK; // it is worse already
    turn(tx, &row, change->status, change->reason);
    write_turned(tx, &row);
    return ERR_OK;
}
