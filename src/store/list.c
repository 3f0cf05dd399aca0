#include "store/list.h"

#include "store/columns.h"
#include "store/definition.h"
#include "store/rule.h"

#define UNFINISHED_FOR SPAN_HOUR // what is not published by then never will be

#define HEAD "tenant = $1 AND list = $2"
static const Statement head_insert = {
    .name = "list_head_insert",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "INSERT INTO list_head (tenant, list, edition, members, next_n)"
           " VALUES ($1, $2, 0, 0, 1) ON CONFLICT (tenant, list) DO NOTHING",
};
static const Statement head_get = {
    .name = "list_head_get",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT edition, members, next_n FROM list_head WHERE " HEAD,
};
// Whoever takes numbers has the head until he commits.
static const Statement head_take = {
    .name = "list_head_take",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "UPDATE list_head SET next_n = next_n + $3 WHERE " HEAD
           " RETURNING edition, members, next_n - $3",
};
static const Statement head_publish = {
    .name = "list_head_publish",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "UPDATE list_head SET edition = $3, members = $4 WHERE " HEAD,
};
static const Statement head_grow = {
    .name = "list_head_grow",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "UPDATE list_head SET members = members + $3 WHERE " HEAD,
};
static const Statement waste_insert = {
    .name = "list_waste_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "INSERT INTO list_waste (tenant, list, edition, due_at) VALUES ($1, $2, $3, $4)"
           " ON CONFLICT (tenant, list, edition) DO UPDATE SET due_at = excluded.due_at",
};
static const Statement waste_delete = {
    .name = "list_waste_delete",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "DELETE FROM list_waste WHERE " HEAD " AND edition = $3",
};
#define OLDEST                                                                                     \
    "SELECT tenant, list, edition FROM list_waste WHERE due_at <= $1 ORDER BY due_at LIMIT 1"
static const Statement waste_next = {
    .name = "list_waste_next",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = OLDEST,
    .postgres = OLDEST " FOR UPDATE SKIP LOCKED",
};
static const Statement waste_members = {
    .name = "list_waste_members",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "DELETE FROM list_member WHERE " HEAD " AND edition = $3 AND n IN (SELECT m.n"
           " FROM list_member m WHERE m.tenant = $1 AND m.list = $2 AND m.edition = $3"
           " ORDER BY m.n LIMIT $4)",
};
#define MEMBER "tenant, list, edition, n, address, name, locale"
static const Statement member_insert = {
    .name = "list_member_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiiittt",
    .many = true,
    .sql = "INSERT INTO list_member (" MEMBER ") VALUES ($1, $2, $3, $4, $5, $6, $7)",
    .postgres = "INSERT INTO list_member (" MEMBER ")"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)",
};
static const Statement member_add = {
    .name = "list_member_add",
    .scope = STATEMENT_TENANT,
    .params = "iiiittt",
    .many = true,
    .sql = "INSERT INTO list_member (" MEMBER ") VALUES ($1, $2, $3, $4, $5, $6, $7)"
           " ON CONFLICT (tenant, list, edition, address) DO NOTHING",
    .postgres = "INSERT INTO list_member (" MEMBER ")"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)"
                " ON CONFLICT (tenant, list, edition, address) DO NOTHING",
};
static const Statement member_rename = {
    .name = "list_member_rename",
    .scope = STATEMENT_TENANT,
    .params = "iiiittt",
    .many = true,
    .sql = "UPDATE list_member SET name = $6, locale = $7"
           " WHERE " HEAD " AND edition = $3 AND $4 > 0 AND address = $5",
    .postgres = "UPDATE list_member m SET name = s.name, locale = s.locale"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7) AS s (" MEMBER ")"
                " WHERE m.tenant = s.tenant AND m.list = s.list AND m.edition = s.edition"
                " AND m.address = s.address",
};
static const Statement member_remove = {
    .name = "list_member_remove",
    .scope = STATEMENT_TENANT,
    .params = "iiit",
    .sql = "DELETE FROM list_member WHERE " HEAD " AND edition = $3 AND address = $4",
};
static const Statement member_count = {
    .name = "list_member_count",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT COUNT(*) FROM list_member WHERE " HEAD " AND edition = $3",
};
static const Statement member_page = {
    .name = "list_member_page",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT m.address, m.name, m.locale, m.n FROM list_member m"
           " WHERE m.tenant = $1 AND m.list = $2 AND m.edition = (SELECT h.edition"
           " FROM list_head h WHERE h.tenant = $1 AND h.list = $2) AND m.n > $3"
           " ORDER BY m.n LIMIT $4",
};

const Statement *const list_statements[] = {
    &head_insert,   &head_get,     &head_take,     &head_publish,  &head_grow,  &waste_insert,
    &waste_delete,  &waste_next,   &waste_members, &member_insert, &member_add, &member_rename,
    &member_remove, &member_count, &member_page,   NULL,
};

// MemberRow is a member on its way into an edition.
typedef struct MemberRow {
    int64_t tenant, list, edition, n;
    ListMember member;
} MemberRow;

static const Columns member_columns =
    COLUMNS(MemberRow, COLUMN(MemberRow, tenant), COLUMN(MemberRow, list),
            COLUMN(MemberRow, edition), COLUMN(MemberRow, n), COLUMN(MemberRow, member.address),
            COLUMN(MemberRow, member.name), COLUMN(MemberRow, member.locale));
static const Columns shown_columns = COLUMNS(ListMember, COLUMN(ListMember, address),
                                             COLUMN(ListMember, name), COLUMN(ListMember, locale));

// Head is what counts of a list.
typedef struct Head {
    int64_t edition, members, next_n;
} Head;

static const Columns head_columns =
    COLUMNS(Head, COLUMN(Head, edition), COLUMN(Head, members), COLUMN(Head, next_n));

// take_numbers makes so many numbers the caller's, and the head his until he commits.
static Err take_numbers(Tx *tx, int64_t tenant, int64_t list, size_t count, Head *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(list), value_i64((int64_t) count) };
    db_send(tx->db, &tx->arena, &head_insert, args, NULL);
    TRY(tx_query(tx, &head_take, args, &rows, error));
    columns_read(&head_columns, rows.values, ret);
    return ERR_OK;
}

static void waste(Tx *tx, int64_t tenant, int64_t list, int64_t edition, Instant due_at)
{
    Value args[] = { value_i64(tenant), value_i64(list), value_i64(edition), value_i64(due_at) };
    db_send(tx->db, &tx->arena, &waste_insert, args, NULL);
}

Err list_begin(Tx *tx, int64_t tenant, Str id, size_t count, ListEdition *ret, Error *error)
{
    int64_t list;
    Head head;
    TRY(definition_lock(tx, error));
    TRY(rule_ensure(tx, tenant, RULE_NOTIFY, id, error));
    TRY(rule_number(tx->db, &tx->arena, tenant, RULE_NOTIFY, id, &list, error));
    TRY(take_numbers(tx, tenant, list, count ? count : 1, &head, error));
    waste(tx, tenant, list, head.next_n, tx->now + UNFINISHED_FOR);
    *ret = (ListEdition){ tenant, list, head.next_n, count };
    return tx_sync(tx, error);
}

static MemberRow *rows_of(Tx *tx, const ListEdition *edition, int64_t first,
                          const ListMember *members, size_t count)
{
    MemberRow *rows = ARENA_ARRAY(&tx->arena, MemberRow, count + 1);
    for (size_t i = 0; i < count; i++)
        rows[i] = (MemberRow){ edition->tenant, edition->list, edition->edition,
                               first + (int64_t) i, members[i] };
    return rows;
}

void list_write(Tx *tx, const ListEdition *edition, size_t before, const ListMember *members,
                size_t count)
{
    assert(before + count <= edition->count);
    MemberRow *rows = rows_of(tx, edition, edition->edition + (int64_t) before, members, count);
    db_send_rows(tx->db, &tx->arena, &member_insert, &member_columns, rows, count, NULL);
}

Err list_check(Tx *tx, const ListEdition *edition, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(edition->tenant), value_i64(edition->list),
                     value_i64(edition->edition) };
    TRY(tx_query(tx, &member_count, args, &rows, error));
    if (value_to_i64(rows.values) != (int64_t) edition->count)
        return fail(error, ERR_CONFLICT, "the list was saved by somebody else meanwhile");
    return ERR_OK;
}

static Err replace(Tx *tx, int64_t tenant, int64_t list, int64_t edition, int64_t count,
                   Error *error)
{
    Head head;
    Value published[] = { value_i64(tenant), value_i64(list), value_i64(edition),
                          value_i64(count) };
    TRY(take_numbers(tx, tenant, list, 0, &head, error));
    db_send(tx->db, &tx->arena, &head_publish, published, NULL);
    db_send(tx->db, &tx->arena, &waste_delete, published, NULL);
    if (head.edition > 0)
        waste(tx, tenant, list, head.edition, tx->now);
    return tx_sync(tx, error);
}

Err list_publish(Tx *tx, const ListEdition *edition, Error *error)
{
    return replace(tx, edition->tenant, edition->list, edition->edition, (int64_t) edition->count,
                   error);
}

Err list_retire(Tx *tx, int64_t tenant, Str id, Error *error)
{
    int64_t list;
    TRY(rule_number(tx->db, &tx->arena, tenant, RULE_NOTIFY, id, &list, error));
    return list ? replace(tx, tenant, list, 0, 0, error) : ERR_OK;
}

Err list_add(Tx *tx, int64_t tenant, int64_t list, const ListMember *members, size_t count,
             Error *error)
{
    Rows added;
    Head head;
    assert(count <= LIST_SLICE_MAX);
    TRY(take_numbers(tx, tenant, list, count, &head, error));
    if (head.members + (int64_t) count > LIST_MEMBERS_MAX)
        return fail(error, ERR_INVALID, "a list has at most %d targets; this one has %lld",
                    LIST_MEMBERS_MAX, (long long) head.members);
    ListEdition edition = { tenant, list, head.edition, count };
    MemberRow *rows = rows_of(tx, &edition, head.next_n, members, count);
    db_send_rows(tx->db, &tx->arena, &member_rename, &member_columns, rows, count, NULL);
    db_send_rows(tx->db, &tx->arena, &member_add, &member_columns, rows, count, &added);
    TRY(tx_sync(tx, error));
    Value grown[] = { value_i64(tenant), value_i64(list), value_i64(added.changed) };
    db_send(tx->db, &tx->arena, &head_grow, grown, NULL);
    return tx_sync(tx, error);
}

Err list_remove(Tx *tx, int64_t tenant, int64_t list, Str address, Error *error)
{
    Rows removed;
    Head head;
    TRY(take_numbers(tx, tenant, list, 0, &head, error));
    Value args[] = { value_i64(tenant), value_i64(list), value_i64(head.edition),
                     value_text(address) };
    TRY(tx_query(tx, &member_remove, args, &removed, error));
    if (removed.changed == 0)
        return fail(error, ERR_NOT_FOUND, "the list has no such target");
    Value grown[] = { value_i64(tenant), value_i64(list), value_i64(-1) };
    db_send(tx->db, &tx->arena, &head_grow, grown, NULL);
    return tx_sync(tx, error);
}

Err list_count(Db *db, Arena *arena, int64_t tenant, int64_t list, int64_t *ret, Error *error)
{
    Rows rows;
    Head head = { 0 };
    Value args[] = { value_i64(tenant), value_i64(list) };
    TRY(db_query(db, arena, &head_get, args, &rows, error));
    if (rows.count > 0)
        columns_read(&head_columns, rows.values, &head);
    *ret = head.members;
    return ERR_OK;
}

Err list_page(Db *db, Arena *arena, int64_t tenant, int64_t list, const Walk *walk,
              ListMember **ret, Seen *ret_seen, Error *error)
{
    enum { N = 3 }; // its column
    Rows rows;
    int64_t after;
    TRY(walk_after_number(walk, &after, error));
    Value args[] = { value_i64(tenant), value_i64(list), value_i64(after),
                     value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &member_page, args, &rows, error));
    *ret = ARENA_ARRAY(arena, ListMember, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&shown_columns, rows_at(&rows, i), &(*ret)[i]);
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next =
            walk_place_number(arena, value_to_i64(&rows_at(&rows, ret_seen->count - 1)[N]));
    return ERR_OK;
}

Err list_find(Db *db, Arena *arena, int64_t tenant, Str id, int64_t *ret, Error *error)
{
    Definition there;
    TRY(definition_get(db, arena, tenant, DEFINITION_LIST, id, &there, error));
    return rule_number(db, arena, tenant, RULE_NOTIFY, id, ret, error);
}

Err list_sweep(Tx *tx, int limit, int64_t *ret_count, Error *error)
{
    Rows found, removed;
    Value due[] = { value_i64(tx->now) };
    *ret_count = 0;
    TRY(tx_query(tx, &waste_next, due, &found, error));
    if (found.count == 0)
        return ERR_OK;
    Value args[] = { found.values[0], found.values[1], found.values[2], value_i64(limit) };
    TRY(tx_query(tx, &waste_members, args, &removed, error));
    *ret_count = removed.changed;
    if (removed.changed < limit)
        db_send(tx->db, &tx->arena, &waste_delete, args, NULL);
    return tx_sync(tx, error);
}
