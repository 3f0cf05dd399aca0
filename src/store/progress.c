#include "store/progress.h"

#include "store/columns.h"

_Static_assert(PROGRESS_LINES_MAX == 1000, "the SQL names it by number");

// On SQLite lines come one by one, and each sees the one before it. On PostgreSQL they come at once
// and are counted on from the last one that stands; two transactions that count from the same line
// clash, and the later one is replayed.
#define LAST(tenant, delivery)                                                                     \
    "COALESCE((SELECT p.n FROM progress p WHERE p.tenant = " tenant " AND p.delivery = " delivery  \
    " ORDER BY p.n DESC LIMIT 1), 0)"
#define LAST_ALONE LAST("$1", "$2")
#define LAST_OF_EACH LAST("u.tenant", "u.delivery")
static const Statement insert = {
    .name = "progress_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiti",
    .many = true,
    .sql = "INSERT INTO progress (tenant, delivery, attempt, at, message, n)"
           " SELECT $1, $2, $3, $4, $5, l.n + 1 FROM (SELECT " LAST_ALONE " AS n) AS l"
           " WHERE l.n < 1000 AND $6 >= 0",
    .postgres = "INSERT INTO progress (tenant, delivery, attempt, at, message, n)"
                " SELECT s.tenant, s.delivery, s.attempt, s.at, s.message, s.n FROM"
                " (SELECT u.*, " LAST_OF_EACH " + ROW_NUMBER()"
                " OVER (PARTITION BY u.tenant, u.delivery ORDER BY u.place) AS n"
                " FROM unnest($1, $2, $3, $4, $5, $6)"
                " AS u (tenant, delivery, attempt, at, message, place)) AS s WHERE s.n <= 1000",
};
#define LINES "SELECT p.tenant, p.delivery, p.attempt, p.at, p.message, p.n FROM "
static const Statement find = {
    .name = "progress_find",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = LINES "progress p WHERE p.tenant = $1 AND p.delivery = $2 ORDER BY p.n",
    .postgres = LINES "unnest($1, $2) AS u (tenant, delivery) JOIN progress p"
                      " ON p.tenant = u.tenant AND p.delivery = u.delivery"
                      " ORDER BY p.delivery DESC, p.n",
};

const Statement *const progress_statements[] = { &insert, &find, NULL };

#define LINE_COLUMNS                                                                               \
    COLUMN(Progress, tenant), COLUMN(Progress, delivery), COLUMN(Progress, attempt),               \
        COLUMN(Progress, at), COLUMN(Progress, message)
static const Columns columns = COLUMNS(Progress, LINE_COLUMNS, COLUMN(Progress, n));
static const Columns asked =
    COLUMNS(Progress, COLUMN(Progress, tenant), COLUMN(Progress, delivery));

void progress_add(Tx *tx, const Progress *rows, size_t count)
{
    Progress *lines = ARENA_ARRAY(&tx->arena, Progress, count + 1);
    for (size_t i = 0; i < count; i++) {
        assert(rows[i].message.at && rows[i].message.len <= PROGRESS_MESSAGE_MAX);
        lines[i] = rows[i];
        lines[i].n = (int) i; // its place in the set, by which the statement counts
    }
    db_send_rows(tx->db, &tx->arena, &insert, &columns, lines, count, NULL);
}

static int newest_first(const void *a, const void *b)
{
    return uuid_cmp(((const Progress *) b)->delivery, ((const Progress *) a)->delivery);
}

Err progress_load(Db *db, Arena *arena, int64_t tenant, const Uuid *deliveries, size_t count,
                  Progress **ret, size_t *ret_count, bool *ret_cut, Error *error)
{
    Rows rows = { 0 };
    Progress *of = ARENA_ARRAY(arena, Progress, count + 1);
    for (size_t i = 0; i < count; i++)
        of[i] = (Progress){ .tenant = tenant, .delivery = deliveries[i] };
    qsort(of, count, sizeof *of, newest_first);
    db_page(db);
    db_send_rows(db, arena, &find, &asked, of, count, &rows);
    TRY(db_sync(db, error));
    *ret_count = rows.count;
    *ret_cut = rows.is_cut;
    *ret = ARENA_ARRAY(arena, Progress, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&columns, rows_at(&rows, i), &(*ret)[i]);
    return ERR_OK;
}
