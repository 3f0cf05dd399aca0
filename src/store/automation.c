#include "store/automation.h"

#include "store/columns.h"

#define FOUND                                                                                      \
    "d.id, d.rule, d.event, e.source, COALESCE(q.state, n.state, -1),"                             \
    " COALESCE(q.attempt, n.attempt, 0), d.triggered_at, n.ended_at"
#define STANDS                                                                                     \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"                                    \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
#define NEWEST(tenant, rule, before, limit)                                                        \
    "(SELECT * FROM delivery WHERE tenant = " tenant " AND rule = " rule " AND id < " before       \
    " ORDER BY id DESC LIMIT " limit ") AS d"
static const Statement find = {
    .name = "automation_runs",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .many = true,
    .sql = "SELECT " FOUND " FROM " NEWEST("$1", "$2", "$3", "$4") STANDS,
    .postgres =
        "SELECT " FOUND " FROM unnest($1, $2, $3, $4) AS u (tenant, rule, before, most) CROSS JOIN"
        " LATERAL " NEWEST("u.tenant", "u.rule", "u.before", "u.most") STANDS,
};

const Statement *const automation_statements[] = { &find, NULL };

typedef struct Ask {
    int64_t tenant, rule;
    Uuid before;
    int64_t limit;
} Ask;

static const Columns asked =
    COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, rule), COLUMN(Ask, before), COLUMN(Ask, limit));

static int newest_first(const void *a, const void *b)
{
    return uuid_cmp(((const AutomationRun *) b)->id, ((const AutomationRun *) a)->id);
}

// read_runs reads them, but for those of which it got lost where they stand.
static size_t read_runs(const Rows *rows, AutomationRun *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        if (value_to_i64(&row[4]) < 0)
            continue;
        ret[count++] = (AutomationRun){ .id = value_to_uuid(&row[0]),
                                        .rule = value_to_i64(&row[1]),
                                        .event = value_to_uuid(&row[2]),
                                        .source = value_to_str(&row[3]),
                                        .state = (DeliveryState) value_to_i64(&row[4]),
                                        .attempts = (int) value_to_i64(&row[5]),
                                        .made_at = value_to_time(&row[6]),
                                        .ended_at = value_to_time(&row[7]) };
    }
    return count;
}

Err automation_runs(Db *db, Arena *arena, int64_t tenant, const int64_t *rules, size_t rule_count,
                    const Walk *walk, AutomationRun **ret, Seen *ret_seen, Error *error)
{
    Rows rows = { 0 };
    Uuid from = uuid_ceiling(INSTANT_NONE);
    Ask *asks = ARENA_ARRAY(arena, Ask, rule_count + 1);
    TRY(walk_after(walk, true, &from, error));
    for (size_t i = 0; i < rule_count; i++)
        asks[i] = (Ask){ tenant, rules[i], from, walk->limit + 1 };
    db_send_rows(db, arena, &find, &asked, asks, rule_count, &rows);
    TRY(db_sync(db, error));
    AutomationRun *runs = ARENA_ARRAY(arena, AutomationRun, rows.count + 1);
    size_t count = read_runs(&rows, runs);
    if (count > 0)
        qsort(runs, count, sizeof *runs, newest_first);
    *ret = runs;
    *ret_seen = walk_counted(walk, count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, runs[ret_seen->count - 1].id);
    return ERR_OK;
}
