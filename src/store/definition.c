#include "store/definition.h"

#include "store/generation.h"
#include "store/rule.h"
#include "store/secret.h"

static const Statement get = {
    .name = "definition_get",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .sql = "SELECT d.id, d.version, v.body, d.created_at, d.updated_at, d.is_hidden, d.origin"
           " FROM definition d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version"
           " WHERE d.tenant = $1 AND d.kind = $2 AND d.id = $3",
};

// A page looks at so many heads and no more: those that were deleted are still there, hidden. No
// head ever goes, so an edge that is asked for afterwards is never too far.
#define HEADS "FROM definition WHERE tenant = $1 AND kind = $2 AND id > $3 ORDER BY id"

static const Statement edge = {
    .name = "definition_edge",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "SELECT id " HEADS " LIMIT 1 OFFSET $4",
};
static const Statement page = {
    .name = "definition_page",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "SELECT d.id, d.version, v.body, d.created_at, d.updated_at, d.is_hidden, d.origin"
           " FROM (SELECT * " HEADS " LIMIT $5) AS d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version WHERE d.is_hidden = 0 ORDER BY d.id LIMIT $4",
};
static const Statement body_get = {
    .name = "definition_body",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "SELECT body FROM definition_version"
           " WHERE tenant = $1 AND kind = $2 AND id = $3 AND version = $4",
};
static const Statement head_put = {
    .name = "definition_head_put",
    .scope = STATEMENT_TENANT,
    .params = "ittiiiiit",
    .sql = "INSERT INTO definition (tenant, kind, id, version, is_hidden, created_at, updated_at,"
           " generation, forget_at, origin) VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9)"
           " ON CONFLICT (tenant, kind, id) DO UPDATE SET version = excluded.version,"
           " is_hidden = 0, created_at = excluded.created_at, updated_at = excluded.updated_at,"
           " generation = excluded.generation, forget_at = excluded.forget_at,"
           " origin = excluded.origin",
};
static const Statement version_insert = {
    .name = "definition_version_insert",
    .scope = STATEMENT_TENANT,
    .params = "ittitiu",
    .sql = "INSERT INTO definition_version (tenant, kind, id, version, body, created_at, actor)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7)",
};
static const Statement hide = {
    .name = "definition_hide",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "UPDATE definition SET is_hidden = 1, updated_at = $4, generation = $5, forget_at = NULL"
           " WHERE tenant = $1 AND kind = $2 AND id = $3",
};
static const Statement mark = {
    .name = "definition_mark",
    .scope = STATEMENT_TENANT,
    .params = "ittt",
    .sql = "UPDATE definition SET origin = $4 WHERE tenant = $1 AND kind = $2 AND id = $3",
};
static const Statement version_mark = {
    .name = "definition_version_mark",
    .scope = STATEMENT_TENANT,
    .params = "ittt",
    .sql = "UPDATE definition_version SET origin = $4 WHERE tenant = $1 AND kind = $2 AND id = $3"
           " AND version = (SELECT d.version FROM definition d"
           " WHERE d.tenant = $1 AND d.kind = $2 AND d.id = $3)",
};
#define VERSIONS " FROM definition_version WHERE tenant = $1 AND kind = $2 AND id = $3 AND version "
static const Statement version_page = {
    .name = "definition_version_page",
    .scope = STATEMENT_TENANT,
    .params = "ittii",
    .sql = "SELECT version, created_at, actor, origin" VERSIONS "< $4 ORDER BY version DESC"
           " LIMIT $5",
};
static const Statement version_one = {
    .name = "definition_version_one",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "SELECT version, created_at, actor, origin, body" VERSIONS "= $4",
};
static const Statement heads = {
    .name = "definition_heads",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "SELECT id, version, origin FROM definition"
           " WHERE tenant = $1 AND kind = $2 AND id > $3 AND is_hidden = 0 ORDER BY id LIMIT $4",
};
static const Statement version_erase = {
    .name = "definition_version_erase",
    .scope = STATEMENT_TENANT,
    .params = "ittit",
    .sql = "UPDATE definition_version SET body = $5"
           " WHERE tenant = $1 AND kind = $2 AND id = $3 AND version = $4",
};
static const Statement forgettable = {
    .name = "definition_forgettable",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT d.tenant, d.kind, d.id, d.version, v.body FROM definition d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version WHERE d.forget_at <= $1 ORDER BY d.forget_at LIMIT $2",
};
static const Statement forgotten = {
    .name = "definition_forgotten",
    .scope = STATEMENT_TENANT,
    .params = "itti",
    .sql = "UPDATE definition SET forget_at = $4 WHERE tenant = $1 AND kind = $2 AND id = $3",
};

const Statement *const definition_statements[] = {
    &get,          &edge,         &page,        &body_get,      &head_put,    &version_insert,
    &mark,         &hide,         &heads,       &version_erase, &forgettable, &forgotten,
    &version_mark, &version_page, &version_one, NULL,
};

static Definition read_row(const Value *row)
{
    return (Definition){ .id = value_to_str(&row[0]),
                         .version = value_to_i64(&row[1]),
                         .body = value_to_str(&row[2]),
                         .created_at = value_to_time(&row[3]),
                         .updated_at = value_to_time(&row[4]),
                         .origin = value_to_str(&row[6]) };
}

static bool row_is_hidden(const Value *row)
{
    return value_to_i64(&row[5]) != 0;
}

static Err not_found(Str kind, Str id, Error *error)
{
    return fail(error, ERR_NOT_FOUND, "there is no %.*s %.*s", STR_ARG(kind), STR_ARG(id));
}

Err definition_lock(Tx *tx, Error *error)
{
    Rows rows;
    if (tx->has_lock)
        return ERR_OK;
    TRY(tx_query(tx, &generation_lock, NULL, &rows, error));
    if (rows.count != 1)
        return fail(error, ERR_CORRUPT, "the generation is missing");
    // Another node may have changed something while this one waited for the lock.
    tx->has_lock = value_to_i64(&rows.values[0]) == tx->registry->generation;
    if (tx->has_lock)
        return ERR_OK;
    tx->is_outdated = true;
    return fail(error, ERR_BUSY, "definitions changed meanwhile");
}

int64_t definition_generation(const Tx *tx)
{
    return tx->registry->generation + 1;
}

Err definition_get(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, Definition *ret,
                   Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id) };
    TRY(db_query(db, arena, &get, args, &rows, error));
    if (rows.count == 0 || row_is_hidden(rows.values))
        return not_found(kind, id, error);
    *ret = read_row(rows.values);
    return ERR_OK;
}

// find_edge gives the last head that a page met; none where it met all there are.
static Err find_edge(Db *db, Arena *arena, int64_t tenant, Str kind, Str after, int64_t met_max,
                     Str *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(after),
                     value_i64(met_max - 1) };
    TRY(db_query(db, arena, &edge, args, &rows, error));
    *ret = rows.count > 0 ? value_to_str(&rows.values[0]) : STR_NONE;
    return ERR_OK;
}

Err definition_page(Db *db, Arena *arena, int64_t tenant, Str kind, const Walk *walk,
                    Definition **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    Str after, last = STR_NONE;
    int64_t met_max = walk_met_max(walk, WALK_NEAR);
    TRY(walk_after_text(walk, &after, error));
    Value args[] = { value_i64(tenant), value_text(kind), value_text(after),
                     value_i64(walk->limit + 1), value_i64(met_max) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    Definition *found = ARENA_ARRAY(arena, Definition, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_row(rows_at(&rows, i));
    *ret = found;
    bool is_full = rows.is_cut || rows.count > (size_t) walk->limit;
    if (!is_full)
        TRY(find_edge(db, arena, tenant, kind, after, met_max, &last, error));
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, last.at != NULL);
    if (ret_seen->has_more)
        ret_seen->next = is_full ? found[ret_seen->count - 1].id : last;
    return ERR_OK;
}

Err definition_body(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, int64_t version,
                    Str *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id), value_i64(version) };
    TRY(db_query(db, arena, &body_get, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no version %lld of %.*s %.*s",
                    (long long) version, STR_ARG(kind), STR_ARG(id));
    *ret = value_to_str(&rows.values[0]);
    return ERR_OK;
}

static DefinitionVersion read_version(const Value *row)
{
    return (DefinitionVersion){ .version = value_to_i64(&row[0]),
                                .at = value_to_time(&row[1]),
                                .actor = value_to_uuid(&row[2]),
                                .origin = value_to_str(&row[3]) };
}

Err definition_version_page(Db *db, Arena *arena, int64_t tenant, Str kind, Str id,
                            const Walk *walk, DefinitionVersion **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    int64_t before;
    TRY(walk_after_number(walk, &before, error));
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id),
                     value_i64(before ? before : INT64_MAX), value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &version_page, args, &rows, error));
    DefinitionVersion *found = ARENA_ARRAY(arena, DefinitionVersion, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_version(rows_at(&rows, i));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place_number(arena, found[ret_seen->count - 1].version);
    return ERR_OK;
}

Err definition_version_get(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, int64_t version,
                           DefinitionVersion *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id), value_i64(version) };
    TRY(db_query(db, arena, &version_one, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no version %lld of %.*s %.*s",
                    (long long) version, STR_ARG(kind), STR_ARG(id));
    *ret = read_version(rows.values);
    ret->body = value_to_str(&rows.values[4]);
    return ERR_OK;
}

static void erase_version(Tx *tx, int64_t tenant, Str kind, Str id, int64_t version, Str body)
{
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id), value_i64(version),
                     value_text(body) };
    db_send(tx->db, &tx->arena, &version_erase, args, NULL);
}

// erase_old takes the secrets out of a version that counts no more.
static void erase_old(Tx *tx, int64_t tenant, Str kind, const Definition *old)
{
    Instant unused;
    Str body = secret_erase(&tx->arena, old->body, ERASE_ALL, tx->now, &unused);
    if (!str_eq(body, old->body))
        erase_version(tx, tenant, kind, old->id, old->version, body);
}

// send_version writes the version and points the head at it.
static void send_version(Tx *tx, int64_t tenant, Str kind, const Definition *definition)
{
    Instant forget_at;
    (void) secret_erase(&tx->arena, definition->body, ERASE_ENDED, tx->now, &forget_at);
    Value version[] = { value_i64(tenant),
                        value_text(kind),
                        value_text(definition->id),
                        value_i64(definition->version),
                        value_text(definition->body),
                        value_i64(definition->updated_at),
                        uuid_is_none(tx->actor) ? value_null() : value_uuid(&tx->actor) };
    Value head[] = { value_i64(tenant),
                     value_text(kind),
                     value_text(definition->id),
                     value_i64(definition->version),
                     value_i64(definition->created_at),
                     value_i64(definition->updated_at),
                     value_i64(definition_generation(tx)),
                     value_time(forget_at),
                     value_text(definition->origin) };
    db_send(tx->db, &tx->arena, &version_insert, version, NULL);
    db_send(tx->db, &tx->arena, &head_put, head, NULL);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_DEFINITION_SAVED, tenant,
            str_format(&tx->arena, "%.*s/%.*s/%lld", STR_ARG(kind), STR_ARG(definition->id),
                       (long long) definition->version));
}

// find_locked returns the row as it stands under the lock; none where there never was one.
static Err find_locked(Tx *tx, int64_t tenant, Str kind, Str id, const Value **ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id) };
    TRY(definition_lock(tx, error));
    TRY(tx_query(tx, &get, args, &rows, error));
    *ret = rows.count ? rows.values : NULL;
    return ERR_OK;
}

static Err find_expected(Tx *tx, int64_t tenant, Str kind, Str id, int64_t expected,
                         Definition *ret, Error *error)
{
    const Value *row;
    TRY(find_locked(tx, tenant, kind, id, &row, error));
    if (!row || row_is_hidden(row))
        return not_found(kind, id, error);
    *ret = read_row(row);
    if (expected != DEFINITION_ANY_VERSION && expected != ret->version)
        return fail(error, ERR_STALE, "the current version is %lld", (long long) ret->version);
    return ERR_OK;
}

Err definition_create(Tx *tx, int64_t tenant, Str kind, Str id, Str body, Definition *ret,
                      Error *error)
{
    const Value *row;
    TRY(find_locked(tx, tenant, kind, id, &row, error));
    if (row && !row_is_hidden(row))
        return fail(error, ERR_EXISTS, "there is a %.*s %.*s already", STR_ARG(kind), STR_ARG(id));
    *ret = (Definition){ .id = id,
                         .version = row ? read_row(row).version + 1 : 1,
                         .body = body,
                         .created_at = tx->now,
                         .updated_at = tx->now };
    send_version(tx, tenant, kind, ret);
    RuleKind rule;
    return rule_kind_parse(kind, &rule) ? rule_ensure(tx, tenant, rule, id, error) : ERR_OK;
}

Err definition_replace(Tx *tx, int64_t tenant, Str kind, Str id, int64_t expected, Str body,
                       Definition *ret, Error *error)
{
    TRY(find_expected(tx, tenant, kind, id, expected, ret, error));
    if (str_eq(ret->body, body))
        return ERR_OK;
    erase_old(tx, tenant, kind, ret);
    ret->version++;
    ret->body = body;
    ret->updated_at = tx->now;
    send_version(tx, tenant, kind, ret);
    return ERR_OK;
}

Err definition_hide(Tx *tx, int64_t tenant, Str kind, Str id, int64_t expected, Error *error)
{
    Definition found;
    TRY(find_expected(tx, tenant, kind, id, expected, &found, error));
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id), value_i64(tx->now),
                     value_i64(definition_generation(tx)) };
    db_send(tx->db, &tx->arena, &hide, args, NULL);
    erase_old(tx, tenant, kind, &found);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_DEFINITION_DELETED, tenant,
            str_format(&tx->arena, "%.*s/%.*s", STR_ARG(kind), STR_ARG(id)));
    return ERR_OK;
}

Err definition_disable(Tx *tx, int64_t tenant, Str kind, Str id, Error *error)
{
    Definition current, disabled;
    const Json *body;
    Err err = definition_get(tx->db, &tx->arena, tenant, kind, id, &current, error);
    if (err == ERR_NOT_FOUND)
        return ERR_OK;
    TRY(err);
    TRY(json_parse(&tx->arena, current.body, &body, error));
    const Json *enabled = json_get(body, S("enabled"));
    if (json_type(enabled) == JSON_BOOL && !json_bool(enabled))
        return ERR_OK;
    Buf out = buf_new(&tx->arena, current.body.len + 64);
    JsonOut json = json_out(&out);
    json_open(&json, '{');
    for (JsonIter it = json_each(body); json_next(&it);)
        if (!str_eq(it.key, S("enabled")))
            json_put_raw(&json, it.key, json_text(&tx->arena, it.value));
    json_put_bool(&json, S("enabled"), false);
    json_close(&json, '}');
    return definition_replace(tx, tenant, kind, id, current.version, buf_str(&out), &disabled,
                              error);
}

void definition_mark(Tx *tx, int64_t tenant, Str kind, Str id, Str origin)
{
    Value args[] = { value_i64(tenant), value_text(kind), value_text(id), value_text(origin) };
    db_send(tx->db, &tx->arena, &mark, args, NULL);
    db_send(tx->db, &tx->arena, &version_mark, args, NULL);
}

Err definition_heads(Tx *tx, int64_t tenant, Str kind, Str after, size_t limit, Definition **ret,
                     size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(kind), value_text(after),
                     value_i64((int64_t) limit) };
    TRY(tx_query(tx, &heads, args, &rows, error));
    Definition *found = ARENA_ARRAY(&tx->arena, Definition, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        found[i] = (Definition){ .id = value_to_str(&row[0]),
                                 .version = value_to_i64(&row[1]),
                                 .origin = value_to_str(&row[2]) };
    }
    *ret = found;
    *ret_count = rows.count;
    return ERR_OK;
}

// The snapshot may know for longer what is forgotten here: whoever uses it looks at the time.
Err definition_forget(Tx *tx, int limit, int64_t *ret_gone, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now), value_i64(limit) };
    TRY(tx_query(tx, &forgettable, args, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        Instant next;
        Str body = secret_erase(&tx->arena, value_to_str(&row[4]), ERASE_ENDED, tx->now, &next);
        Value head[] = { row[0], row[1], row[2], value_time(next) };
        erase_version(tx, value_to_i64(&row[0]), value_to_str(&row[1]), value_to_str(&row[2]),
                      value_to_i64(&row[3]), body);
        db_send(tx->db, &tx->arena, &forgotten, head, NULL);
    }
    *ret_gone = (int64_t) rows.count;
    return tx_sync(tx, error);
}
