#include "store/source.h"

static const Statement all = {
    .name = "source_rows",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT d.tenant, d.id, d.version, v.body FROM definition d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version"
           " WHERE d.kind = 'source' AND d.is_hidden = 0 AND v.body LIKE '%\"table\"%'"
           " ORDER BY d.tenant, d.id",
};
#define KNOWN "SELECT i.external_id, i.status, i.error FROM "
static const Statement look = {
    .name = "source_look",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .many = true,
    .sql = KNOWN "inbox i WHERE i.tenant = $1 AND i.source = $2 AND i.external_id = $3"
                 " AND i.provider IS NULL",
    .postgres = KNOWN "unnest($1, $2, $3) AS u (tenant, source, external_id) JOIN inbox i"
                      " ON i.tenant = u.tenant AND i.source = u.source"
                      " AND i.external_id = u.external_id AND i.provider IS NULL",
};

static const Statement replayed = {
    .name = "source_replayed",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = KNOWN "inbox_retell r JOIN inbox i ON i.tenant = r.tenant AND i.source = r.source"
                 " AND i.external_id = r.external_id AND i.provider IS NULL WHERE r.tenant = $1 "
                 "AND r.source = $2"
                 " AND i.status <> 0 LIMIT $3",
};
static const Statement told = {
    .name = "source_told",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .many = true,
    .sql = "DELETE FROM inbox_retell WHERE tenant = $1 AND source = $2 AND external_id = $3",
    .postgres = "DELETE FROM inbox_retell r USING unnest($1, $2, $3) AS u (tenant, source,"
                " external_id) WHERE r.tenant = u.tenant AND r.source = u.source"
                " AND r.external_id = u.external_id",
};

const Statement *const source_statements[] = { &all, &look, &replayed, &told, NULL };

// is_table looks closer: the statement finds whatever says the word.
static bool is_table(Arena *arena, Str body)
{
    const Json *json;
    Error unreadable = { 0 };
    return json_parse(arena, body, &json, &unreadable) == ERR_OK &&
           str_eq(json_str(json_get(json, S("provider"))), S("table"));
}

Err source_rows(Tx *tx, SourceRow **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &all, NULL, &rows, error));
    *ret = ARENA_ARRAY(&tx->arena, SourceRow, rows.count + 1);
    *ret_count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        if (is_table(&tx->arena, value_to_str(&row[3])))
            (*ret)[(*ret_count)++] = (SourceRow){ .tenant = value_to_i64(&row[0]),
                                                  .id = value_to_str(&row[1]),
                                                  .version = value_to_i64(&row[2]),
                                                  .body = value_to_str(&row[3]) };
    }
    return ERR_OK;
}

static Value *values_of(Tx *tx, const Brought *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(rows[i].tenant);
        values[i * 3 + 1] = value_text(rows[i].source);
        values[i * 3 + 2] = value_text(rows[i].external_id);
    }
    return values;
}

Err source_look(Tx *tx, Brought *rows, size_t count, Error *error)
{
    Rows found = { 0 };
    for (size_t i = 0; i < count; i++)
        rows[i].is_known = false;
    db_send_many(tx->db, &tx->arena, &look, values_of(tx, rows, count), count, &found);
    TRY(tx_sync(tx, error));
    for (size_t f = 0; f < found.count; f++) {
        const Value *row = rows_at(&found, f);
        for (size_t i = 0; i < count; i++) {
            if (!str_eq(rows[i].external_id, value_to_str(&row[0])))
                continue;
            rows[i].is_known = true;
            rows[i].status = (int) value_to_i64(&row[1]);
            rows[i].error = value_to_str(&row[2]);
        }
    }
    return ERR_OK;
}

Err source_replayed(Tx *tx, int64_t tenant, Str source, size_t limit, Brought **ret,
                    size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(source), value_i64((int64_t) limit) };
    TRY(tx_query(tx, &replayed, args, &rows, error));
    *ret = ARENA_ARRAY(&tx->arena, Brought, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        (*ret)[i] = (Brought){ .tenant = tenant,
                               .source = source,
                               .external_id = value_to_str(&row[0]),
                               .is_known = true,
                               .status = (int) value_to_i64(&row[1]),
                               .error = value_to_str(&row[2]) };
    }
    return ERR_OK;
}

void source_told(Tx *tx, const Brought *rows, size_t count)
{
    db_send_many(tx->db, &tx->arena, &told, values_of(tx, rows, count), count, NULL);
}
