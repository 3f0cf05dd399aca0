#include "store/pace.h"

#include "store/columns.h"

static const Statement add = {
    .name = "pace_add",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiii",
    .many = true,
    .sql = "INSERT INTO pace (minute, writer, tenant, rule, site, n)"
           " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (minute, writer, tenant, rule, site)"
           " DO UPDATE SET n = pace.n + excluded.n",
    .postgres = "INSERT INTO pace (minute, writer, tenant, rule, site, n)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6)"
                " ON CONFLICT (minute, writer, tenant, rule, site)"
                " DO UPDATE SET n = pace.n + excluded.n",
};
// Nodes purge at the same time.
#define OLDEST                                                                                     \
    "SELECT minute, writer, tenant, rule, site FROM pace WHERE minute < $1 ORDER BY minute LIMIT " \
    "$2"
#define GONE "DELETE FROM pace WHERE (minute, writer, tenant, rule, site) IN ("
static const Statement purge = {
    .name = "pace_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = GONE OLDEST ")",
    .postgres = GONE OLDEST " FOR UPDATE SKIP LOCKED)",
};

const Statement *const pace_statements[] = { &add, &purge, NULL };

typedef struct Pace {
    Instant minute;
    int64_t writer, tenant, rule, site, n;
} Pace;

static const Columns columns =
    COLUMNS(Pace, COLUMN(Pace, minute), COLUMN(Pace, writer), COLUMN(Pace, tenant),
            COLUMN(Pace, rule), COLUMN(Pace, site), COLUMN(Pace, n));

// add_to sums what lies in different lanes: the rows have none.
static size_t add_to(Pace *rows, size_t count, const Pace *row)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].tenant == row->tenant && rows[i].rule == row->rule &&
            rows[i].site == row->site) {
            rows[i].n += row->n;
            return count;
        }
    }
    rows[count] = *row;
    return count + 1;
}

void pace_send(const Counters *counters, Db *db, Arena *arena, int64_t writer, Instant now)
{
    Pace *rows = NULL;
    size_t count = 0;
    for (size_t i = 0; i < counters->count; i++) {
        const CounterChange *change = &counters->changes[i];
        if (change->state != DELIVERY_DELIVERED || change->n <= 0)
            continue;
        if (!rows)
            rows = ARENA_ARRAY(arena, Pace, counters->count);
        count = add_to(rows, count,
                       &(Pace){ now - now % SPAN_MINUTE, writer, change->tenant, change->rule,
                                change->site, change->n });
    }
    db_send_rows(db, arena, &add, &columns, rows, count, NULL);
}

Err pace_purge(Db *db, Arena *arena, Instant now, int64_t limit, int64_t *ret, Error *error)
{
    Rows gone;
    Value args[] = { value_i64(now - PACE_KEPT), value_i64(limit) };
    TRY(db_query(db, arena, &purge, args, &gone, error));
    *ret = gone.changed;
    return ERR_OK;
}
