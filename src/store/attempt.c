#include "store/attempt.h"

#include "store/delivery.h"

// Attempts stand in two tables (queue.h): both are asked, each along its key, and make one list.
#define TRIED(where, ended_where)                                                                  \
    "(SELECT tenant, delivery, number, send, started_at, finished_at, verdict, reason, code,"      \
    " provider_id, detail, node, is_captured FROM attempt WHERE tenant = $1" where                 \
    " UNION ALL SELECT tenant, id, attempt, send, started_at, finished_at, verdict, tried_reason," \
    " code, provider_id, detail, node, is_captured FROM ended"                                     \
    " WHERE tenant = $1 AND verdict IS NOT NULL" ended_where
#define TRIED_FOR_ONE TRIED(" AND delivery = $2 AND number > $3", " AND id = $2 AND attempt > $3")
#define TRIED_FOR_EVENT                                                                            \
    TRIED(" AND (delivery, number) > ($3, $4) AND delivery <= $5",                                 \
          " AND id >= $3 AND (id, attempt) > ($3, $4) AND id <= $5")
// What is captured is read in its order or against it: than and to are > and <=, or < and >=.
#define TRIED_AND_CAPTURED(than, to)                                                               \
    TRIED(" AND is_captured = 1 AND (delivery, number) " than " ($2, $3) AND delivery " to         \
          " $4" OF_CHANNEL,                                                                        \
          " AND is_captured = 1 AND id " than "= $2 AND (id, attempt) " than                       \
          " ($2, $3) AND id " to " $4 AND ($6 IS NULL OR lane = " LANE ")")
#define OF_CHANNEL                                                                                 \
    " AND ($6 IS NULL OR (SELECT x.lane FROM delivery x"                                           \
    " WHERE x.tenant = $1 AND x.id = attempt.delivery) = " LANE ")"
#define LANE "(SELECT y.lane FROM lane y WHERE y.tenant = $1 AND y.channel = $6)"

#define ATTEMPT_COLUMNS                                                                            \
    "SELECT a.delivery, a.number, a.send, a.started_at, a.finished_at, a.verdict, a.reason,"       \
    " a.code, a.provider_id, a.detail, a.node, a.is_captured, COALESCE(m.name, CAST(a.node AS "    \
    "TEXT)) FROM "

static const Statement page = {
    .name = "attempt_page",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = ATTEMPT_COLUMNS TRIED_FOR_ONE ") AS a LEFT JOIN node m ON m.node = a.node"
                                         " ORDER BY a.number LIMIT $4",
};
static const Statement of_event = {
    .name = "attempt_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iuuiui",
    .sql = ATTEMPT_COLUMNS TRIED_FOR_EVENT
    ") AS a CROSS JOIN delivery d LEFT JOIN node m ON m.node = a.node"
    " WHERE d.tenant = a.tenant AND d.id = a.delivery AND d.event = $2"
    " ORDER BY a.delivery, a.number LIMIT $6",
};
// A page's rows are picked before anything is joined to them: the walk ends with the page. CROSS
// JOIN keeps SQLite to their order; to sort them again it would hold the payloads of a whole page.
#define CAPTURED(than, to, way)                                                                    \
    "SELECT " PROMISE_OF_D ", a.number, a.send, a.started_at, r.kind, r.id, l.channel, e.kind,"    \
    " e.payload, e.recipient, COALESCE(e.occurred_at, e.received_at) FROM " TRIED_AND_CAPTURED(    \
        than, to) " ORDER BY delivery" way ", number" way " LIMIT $5) AS a"                        \
                  " CROSS JOIN delivery d CROSS JOIN event e CROSS JOIN lane l CROSS JOIN rule r"  \
                  " WHERE d.tenant = a.tenant AND d.id = a.delivery"                               \
                  " AND e.tenant = d.tenant AND e.id = d.event"                                    \
                  " AND r.rule = d.rule AND r.tenant = d.tenant"                                   \
                  " AND l.lane = d.lane AND l.tenant = d.tenant"

static const Statement captured = {
    .name = "captured_page",
    .scope = STATEMENT_TENANT,
    .params = "iuiuit",
    .sql = CAPTURED(">", "<=", ""),
    .postgres = CAPTURED(">", "<=", "") " ORDER BY a.delivery, a.number",
};
static const Statement captured_back = {
    .name = "captured_page_back",
    .scope = STATEMENT_TENANT,
    .params = "iuiuit",
    .sql = CAPTURED("<", ">=", " DESC"),
    .postgres = CAPTURED("<", ">=", " DESC") " ORDER BY a.delivery DESC, a.number DESC",
};

// The edge of a walk along both tables is that of the one which comes to it first. A delivery may
// have more attempts than a walk meets: it is counted from behind the one that was seen last.
#define EDGE(than, to, way)                                                                        \
    "SELECT w.id FROM (SELECT * FROM (SELECT a.delivery AS id FROM attempt a"                      \
    " WHERE a.tenant = $1 AND (a.delivery, a.number) " than " ($2, $3) AND a.delivery " to " $4"   \
    " ORDER BY a.delivery" way ", a.number" way " LIMIT 1 OFFSET $5) AS tried"                     \
    " UNION ALL SELECT * FROM (SELECT n.id FROM ended n"                                           \
    " WHERE n.tenant = $1 AND n.id " than "= $2 AND (n.id, n.attempt) " than " ($2, $3)"           \
    " AND n.id " to " $4"                                                                          \
    " ORDER BY n.id" way " LIMIT 1 OFFSET $5) AS last) AS w ORDER BY w.id" way " LIMIT 1"

static const Statement captured_edge = {
    .name = "captured_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuiui",
    .sql = EDGE(">", "<=", ""),
};
static const Statement captured_edge_back = {
    .name = "captured_edge_back",
    .scope = STATEMENT_TENANT,
    .params = "iuiui",
    .sql = EDGE("<", ">=", " DESC"),
};

const Statement *const attempt_statements[] = {
    &page, &of_event, &captured, &captured_back, &captured_edge, &captured_edge_back, NULL
};

static const Columns attempt_columns =
    COLUMNS(AttemptView, COLUMN(AttemptView, delivery), COLUMN(AttemptView, attempt.number),
            COLUMN(AttemptView, attempt.send), COLUMN(AttemptView, attempt.started_at),
            COLUMN(AttemptView, attempt.finished_at), COLUMN(AttemptView, attempt.outcome.verdict),
            COLUMN(AttemptView, attempt.outcome.reason), COLUMN(AttemptView, attempt.outcome.code),
            COLUMN(AttemptView, attempt.outcome.provider_id),
            COLUMN(AttemptView, attempt.outcome.detail), COLUMN(AttemptView, attempt.node),
            COLUMN(AttemptView, attempt.outcome.is_captured), COLUMN(AttemptView, node));

static void take_attempts(const Rows *rows, Arena *arena, AttemptView **ret, size_t *ret_count)
{
    *ret = ARENA_ARRAY(arena, AttemptView, rows->count);
    *ret_count = rows->count;
    for (size_t i = 0; i < rows->count; i++) {
        Outcome *outcome = &(*ret)[i].attempt.outcome;
        columns_read(&attempt_columns, rows_at(rows, i), &(*ret)[i]);
        *outcome = outcome_mended(*outcome);
    }
}

// number_key is the place behind an attempt in a list of one delivery's.
static Str number_key(Arena *arena, int number)
{
    return str_format(arena, "%d", number);
}

Err attempt_page(Db *db, Arena *arena, int64_t tenant, Uuid delivery, const Walk *walk,
                 AttemptView **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    size_t count;
    int64_t after = 0;
    if (walk->after.at && !str_to_i64(walk->after, 0, INT32_MAX, &after))
        return walk_unknown(error);
    Value args[] = { value_i64(tenant), value_uuid(&delivery), value_i64(after),
                     value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    take_attempts(&rows, arena, ret, &count);
    *ret_seen = walk_counted(walk, count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = number_key(arena, (*ret)[ret_seen->count - 1].attempt.number);
    return ERR_OK;
}

Err attempt_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, AttemptKey after,
                     int64_t limit, AttemptView **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    Uuid first = delivery_id_of(event, 1), last = delivery_id_of(event, UINT16_MAX);
    if (uuid_cmp(after.delivery, first) < 0)
        after = (AttemptKey){ .delivery = first };
    Value args[] = { value_i64(tenant),       value_uuid(&event), value_uuid(&after.delivery),
                     value_i64(after.number), value_uuid(&last),  value_i64(limit) };
    TRY(db_query(db, arena, &of_event, args, &rows, error));
    take_attempts(&rows, arena, ret, ret_count);
    return ERR_OK;
}

static const Columns captured_columns =
    COLUMNS(Captured, PROMISE_COLUMNS(Captured, promise.) COLUMN(Captured, number),
            COLUMN(Captured, send), COLUMN(Captured, started_at), COLUMN(Captured, rule_kind),
            COLUMN(Captured, rule_id), COLUMN(Captured, channel), COLUMN(Captured, event_kind),
            COLUMN(Captured, payload), COLUMN(Captured, recipient), COLUMN(Captured, occurred_at));

static Str captured_key(Arena *arena, AttemptKey key)
{
    char text[UUID_TEXT_LEN + 1];
    return str_format(arena, "%.*s.%d", STR_ARG(uuid_text(key.delivery, text)), key.number);
}

static Err read_captured_key(const Walk *walk, AttemptKey *ret, Error *error)
{
    Str text = walk->after;
    int64_t number;
    if (!text.at)
        return ERR_OK;
    if (!uuid_parse(str_cut(&text, '.'), &ret->delivery) ||
        !str_to_i64(text, 0, INT32_MAX, &number))
        return walk_unknown(error);
    ret->number = (int) number;
    return ERR_OK;
}

// CapturedArgs are the parameters of the page; its edge takes the first.
typedef struct CapturedArgs {
    int64_t tenant;
    AttemptKey after;
    Uuid last;
    int64_t limit;
    Str channel;
} CapturedArgs;

static const Columns captured_asked =
    COLUMNS(CapturedArgs, COLUMN(CapturedArgs, tenant), COLUMN(CapturedArgs, after.delivery),
            COLUMN(CapturedArgs, after.number), COLUMN(CapturedArgs, last),
            COLUMN(CapturedArgs, limit), COLUMN(CapturedArgs, channel));

// find_edge narrows the walk to what it may meet; false where it meets all there is.
static Err find_edge(Db *db, Arena *arena, const Walk *walk, bool is_newest_first,
                     CapturedArgs *args, bool *ret, Error *error)
{
    Rows rows;
    const Statement *edge = is_newest_first ? &captured_edge_back : &captured_edge;
    args->limit = walk_met_max(walk, WALK_NEAR) - 1;
    db_send_row(db, arena, edge, &captured_asked, args, &rows);
    TRY(db_sync(db, error));
    *ret = rows.count > 0;
    if (*ret)
        args->last = value_to_uuid(&rows.values[0]);
    return ERR_OK;
}

// span_captured sets where a walk begins and ends.
static Err span_captured(const CapturedFilter *filter, const Walk *walk, CapturedArgs *args,
                         Error *error)
{
    bool is_back = filter->is_newest_first;
    AttemptKey first = { .number = is_back ? INT32_MAX : 0 };
    memset(is_back ? &first.delivery : &args->last, 0xff, sizeof args->last);
    args->after = first;
    TRY(read_captured_key(walk, &args->after, error));
    if (!filter->has_delivery)
        return ERR_OK;
    int order = uuid_cmp(args->after.delivery, filter->delivery);
    args->last = first.delivery = filter->delivery;
    if (is_back ? order > 0 : order < 0)
        args->after = first;
    return ERR_OK;
}

Err captured_page(Db *db, Arena *arena, int64_t tenant, const CapturedFilter *filter,
                  const Walk *walk, Captured **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    bool has_edge;
    CapturedArgs args = { .tenant = tenant, .channel = filter->channel };
    const Statement *walked = filter->is_newest_first ? &captured_back : &captured;
    TRY(span_captured(filter, walk, &args, error));
    TRY(find_edge(db, arena, walk, filter->is_newest_first, &args, &has_edge, error));
    args.limit = walk->limit + 1;
    db_page(db);
    db_send_row(db, arena, walked, &captured_asked, &args, &rows);
    TRY(db_sync(db, error));
    *ret = ARENA_ARRAY(arena, Captured, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&captured_columns, rows_at(&rows, i), &(*ret)[i]);
    Seen seen = walk_counted(walk, rows.count, rows.is_cut, has_edge);
    AttemptKey next = { args.last, filter->is_newest_first ? 0 : INT32_MAX };
    if (rows.is_cut || rows.count > seen.count)
        next = (AttemptKey){ (*ret)[seen.count - 1].promise.id, (*ret)[seen.count - 1].number };
    if (seen.has_more)
        seen.next = captured_key(arena, next);
    *ret_seen = seen;
    return ERR_OK;
}
