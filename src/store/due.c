#include "store/due.h"

_Static_assert(STEP_SEND == 1, "the SQL names it by number");

static const Statement lanes = {
    .name = "due_lanes",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT lane FROM lane WHERE tenant = $1 AND ($2 IS NULL OR channel = $2)",
};
// $2 lane, $3 and $4 the place behind which to go on, $5 before when, $6 limit.
#define WALK(tenant, lane, at, id, to, limit)                                                      \
    "SELECT q.id, q.due_at FROM queue q WHERE q.lane ="                                            \
    " (SELECT l.lane FROM lane l WHERE l.tenant = " tenant " AND l.lane = " lane ")"               \
    " AND q.step = 1 AND (q.due_at, q.id) > (" at ", " id ") AND q.due_at < " to                   \
    " ORDER BY q.due_at, q.id LIMIT " limit
static const Statement find = {
    .name = "due_find",
    .scope = STATEMENT_TENANT,
    .params = "iiiuii",
    .many = true,
    .sql = WALK("$1", "$2", "$3", "$4", "$5", "$6"),
    .postgres = "SELECT f.id, f.due_at FROM unnest($1, $2, $3, $4, $5, $6)"
                " AS u (tenant, lane, at, id, til, most) CROSS JOIN LATERAL (" WALK(
                    "u.tenant", "u.lane", "u.at", "u.id", "u.til", "u.most") ") AS f",
};

const Statement *const due_statements[] = { &lanes, &find, NULL };

// Due is a send that was found, and its place in the order.
typedef struct Due {
    Instant at;
    Uuid id;
} Due;

static int by_due(const void *a, const void *b)
{
    const Due *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return uuid_cmp(x->id, y->id);
}

static int by_id(const void *a, const void *b)
{
    const Due *x = a, *y = b;
    return uuid_cmp(y->id, x->id);
}

static int by_time(const void *a, const void *b)
{
    const DeliveryView *x = a, *y = b;
    if (x->due_at != y->due_at)
        return x->due_at < y->due_at ? -1 : 1;
    return uuid_cmp(x->promise.id, y->promise.id);
}

// A place is a moment and an id, which are its bytes.
static Str place_of(Arena *arena, const Due *due)
{
    char *bytes = arena_alloc(arena, sizeof due->at + sizeof due->id.b);
    memcpy(bytes, &due->at, sizeof due->at);
    memcpy(bytes + sizeof due->at, due->id.b, sizeof due->id.b);
    return (Str){ bytes, sizeof due->at + sizeof due->id.b };
}

static Err read_place(const Walk *walk, Instant from, Due *ret, Error *error)
{
    *ret = (Due){ .at = from - 1 };
    memset(ret->id.b, 0xff, sizeof ret->id.b); // behind whatever was due before
    if (!walk->after.at)
        return ERR_OK;
    if (walk->after.len != sizeof ret->at + sizeof ret->id.b)
        return walk_unknown(error);
    memcpy(&ret->at, walk->after.at, sizeof ret->at);
    memcpy(ret->id.b, walk->after.at + sizeof ret->at, sizeof ret->id.b);
    return ERR_OK;
}

// look finds the first sends behind the place, one more than are wanted.
static Err look(Db *db, Arena *arena, int64_t tenant, const DueTimes *times, Str channel,
                const Walk *walk, Due **ret, size_t *ret_count, Error *error)
{
    enum { PARAMS = 6 };
    Rows ways, rows = { 0 };
    Due *after = ARENA_NEW(arena, Due);
    Value args[] = { value_i64(tenant), value_text(channel) };
    TRY(read_place(walk, times->from, after, error));
    TRY(db_query(db, arena, &lanes, args, &ways, error));
    Value *values = ARENA_ARRAY(arena, Value, ways.count * PARAMS + 1);
    for (size_t i = 0; i < ways.count; i++) {
        Value row[PARAMS] = { value_i64(tenant),    *rows_at(&ways, i),
                              value_i64(after->at), value_uuid(&after->id),
                              value_i64(times->to), value_i64(walk->limit + 1) };
        memcpy(&values[i * PARAMS], row, sizeof row);
    }
    db_send_many(db, arena, &find, values, ways.count, &rows);
    TRY(db_sync(db, error));
    Due *found = ARENA_ARRAY(arena, Due, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        found[i] = (Due){ .at = value_to_i64(&row[1]), .id = value_to_uuid(&row[0]) };
    }
    if (rows.count > 0)
        qsort(found, rows.count, sizeof *found, by_due);
    *ret = found;
    *ret_count = rows.count;
    return ERR_OK;
}

static bool fits(const DeliveryFilter *filter, const DueTimes *times, const DeliveryView *view)
{
    Instant made = view->promise.triggered_at;
    return view->due_at >= times->from && view->due_at < times->to &&
           (!filter->has_state || view->state == filter->state) &&
           (!filter->trigger.at ||
            (view->rule_kind == RULE_TRIGGER && str_eq(view->rule_id, filter->trigger))) &&
           (!filter->list.at ||
            (view->rule_kind == RULE_NOTIFY && str_eq(view->rule_id, filter->list))) &&
           (!filter->entity.at || str_eq(view->promise.entity, filter->entity)) &&
           (!filter->site.at || str_eq(view->site, filter->site)) &&
           (!filter->has_event || uuid_cmp(view->promise.event, filter->event) == 0) &&
           made >= filter->from && made < filter->to;
}

Err due_page(Db *db, Arena *arena, int64_t tenant, const DueTimes *times,
             const DeliveryFilter *filter, const Walk *walk, DeliveryView **ret, Seen *ret_seen,
             Error *error)
{
    Due *found;
    size_t count, shown = 0, viewed;
    DeliveryView *views;
    TRY(look(db, arena, tenant, times, filter->channel, walk, &found, &count, error));
    bool has_more = count > (size_t) walk->limit;
    if (has_more)
        count = (size_t) walk->limit;
    // As many as a page holds: fewer of them are asked for until they fit.
    for (;; has_more = true, count /= 2) {
        Due *sorted = ARENA_ARRAY(arena, Due, count + 1);
        Uuid *ids = ARENA_ARRAY(arena, Uuid, count + 1);
        bool is_cut;
        if (count > 0)
            memcpy(sorted, found, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_id);
        for (size_t i = 0; i < count; i++)
            ids[i] = sorted[i].id;
        TRY(delivery_views(db, arena, tenant, ids, count, &views, &viewed, &is_cut, error));
        if (!is_cut)
            break;
    }
    for (size_t i = 0; i < viewed; i++)
        if (fits(filter, times, &views[i]))
            views[shown++] = views[i];
    if (shown > 0)
        qsort(views, shown, sizeof *views, by_time);
    *ret = views;
    *ret_seen = walk_counted(walk, shown, false, has_more);
    if (has_more && count > 0)
        ret_seen->next = place_of(arena, &found[count - 1]);
    return ERR_OK;
}
