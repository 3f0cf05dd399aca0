#include "store/kpi.h"

#include "domain/delivery.h"
#include "domain/rule.h"

_Static_assert(DELIVERY_RETRYING == 2 && RULE_NOTIFY == 5 && STEP_SEND == 1,
               "the SQL names states, kinds and steps by number");

// Sums are of all rules, or of lists alone ($2).
#define WANTED(rule)                                                                               \
    " AND ($2 = 0 OR " rule " IN (SELECT rule FROM rule WHERE tenant = $1 AND kind = 5))"
static const Statement sums = {
    .name = "kpi_sums",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT c.site, c.state, CAST(SUM(c.n) AS BIGINT) FROM counter c"
           " WHERE c.tenant = $1" WANTED("c.rule") " GROUP BY c.site, c.state",
};
static const Statement paces = {
    .name = "kpi_paces",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT p.site, CAST(SUM(p.n) AS BIGINT) FROM pace p"
           " WHERE p.tenant = $1" WANTED("p.rule") " AND p.minute = $3 GROUP BY p.site",
};
static const Statement names = {
    .name = "kpi_sites",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT site, name FROM site WHERE tenant = $1",
};
// What is looked at is bounded whatever is wanted, so here the rule's kind is told, where it is
// asked for ($2), and rows are taken or left afterwards.
#define LOOKED(at)                                                                                 \
    "SELECT q.site, q.state, " at                                                                  \
    ", CASE WHEN $2 = 0 THEN NULL ELSE (SELECT kind FROM rule r WHERE r.rule = q.rule) END"
#define OF_LANES                                                                                   \
    LOOKED("q.due_at")                                                                             \
    " FROM lane l CROSS JOIN queue q WHERE l.tenant = $1 AND q.lane = l.lane AND q.step = 1"
static const Statement due = {
    .name = "kpi_due",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = OF_LANES " AND q.due_at <= $3 LIMIT $4",
};
static const Statement lately = {
    .name = "kpi_lately",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = OF_LANES " AND q.due_at > $3 LIMIT $4",
};
// The order is the index's, lest SQLite walk along the tenant's whole queue.
static const Statement retried = {
    .name = "kpi_retried",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = LOOKED("q.first_due_at") " FROM queue q WHERE q.tenant = $1 AND q.cause IS NOT NULL"
                                    " ORDER BY q.cause, q.id LIMIT $3",
};
static const Statement fronts = {
    .name = "kpi_fronts",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT MIN(f.due_at) FROM (SELECT (SELECT MIN(q.due_at) FROM queue q"
           " WHERE q.lane = l.lane AND q.step = 1) AS due_at FROM lane l WHERE l.tenant = $1) AS f",
};

const Statement *const kpi_statements[] = { &sums,   &paces,   &names,  &due,
                                            &lately, &retried, &fronts, NULL };

// Look is the report as it is filled.
typedef struct Look {
    const KpiFilter *filter;
    Instant now;
    Kpi *kpis; // by number of the site, as they come
    size_t count, room;
    int64_t site;   // that is asked for; -1: any
    Instant oldest; // in any lane, where more is due than was looked at; INSTANT_NONE
} Look;

static Kpi *kpi_of(Look *look, Arena *arena, int64_t number)
{
    for (size_t i = 0; i < look->count; i++)
        if (look->kpis[i].number == number)
            return &look->kpis[i];
    if (look->count == look->room) {
        Kpi *kpis = ARENA_ARRAY(arena, Kpi, look->room ? look->room * 2 : 16);
        if (look->count)
            memcpy(kpis, look->kpis, look->count * sizeof *kpis);
        look->kpis = kpis;
        look->room = look->room ? look->room * 2 : 16;
    }
    look->kpis[look->count] = (Kpi){ .number = number, .oldest = INSTANT_NONE };
    return &look->kpis[look->count++];
}

// wanted is where a row counts; NULL: it was not asked for.
static Kpi *wanted(Look *look, Arena *arena, const Value *row)
{
    int64_t site = value_to_i64(&row[0]);
    return look->site < 0 || look->site == site ? kpi_of(look, arena, site) : NULL;
}

// looked_at is the same of a row of the queue, which tells its rule's kind.
static Kpi *looked_at(Look *look, Arena *arena, const Value *row)
{
    bool is_wanted = !look->filter->is_notification_only || value_to_i64(&row[3]) == RULE_NOTIFY;
    return is_wanted ? wanted(look, arena, row) : NULL;
}

static void add_sum(Kpi *kpi, DeliveryState state, int64_t n)
{
    if (state == DELIVERY_SENDING || state == DELIVERY_RETRYING)
        kpi->queue_depth += n;
    else if (state == DELIVERY_PENDING || state == DELIVERY_WAITING)
        kpi->scheduled += n; // until it is found due
    else if (state == DELIVERY_PARKED)
        kpi->parked += n;
    if (state == DELIVERY_SENDING)
        kpi->sending += n;
    if (state == DELIVERY_WAITING)
        kpi->waiting += n;
}

static void add_age(const Look *look, Kpi *kpi, Instant since)
{
    kpi->oldest = earlier(kpi->oldest, since);
    kpi->stuck += since <= look->now - DELIVERY_STUCK_AFTER;
}

static Err find_site(Db *db, Arena *arena, int64_t tenant, Look *look, Rows *ret, Error *error)
{
    Value args[] = { value_i64(tenant) };
    TRY(db_query(db, arena, &names, args, ret, error));
    look->site = look->filter->site.at ? 0 : -1;
    for (size_t i = 0; i < ret->count && look->filter->site.at; i++)
        if (str_eq(value_to_str(&rows_at(ret, i)[1]), look->filter->site))
            look->site = value_to_i64(&rows_at(ret, i)[0]);
    if (look->filter->site.at && look->site == 0)
        look->site = INT64_MAX; // a name that nobody has: nothing is its
    return ERR_OK;
}

static Err read_sums(Db *db, Arena *arena, int64_t tenant, Look *look, Error *error)
{
    Rows rows, paced;
    Instant minute = look->now - look->now % SPAN_MINUTE - SPAN_MINUTE;
    Value args[] = { value_i64(tenant), value_i64(look->filter->is_notification_only),
                     value_i64(minute) };
    db_send(db, arena, &sums, args, &rows);
    db_send(db, arena, &paces, args, &paced);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        Kpi *kpi = wanted(look, arena, row);
        if (kpi)
            add_sum(kpi, (DeliveryState) value_to_i64(&row[1]), value_to_i64(&row[2]));
    }
    for (size_t i = 0; i < paced.count; i++) {
        Kpi *kpi = wanted(look, arena, rows_at(&paced, i));
        if (kpi)
            kpi->delivered += value_to_i64(&rows_at(&paced, i)[1]);
    }
    return ERR_OK;
}

// is_send is true of what waits for a first try or is at one; what is retried is looked at by
// itself.
static bool is_send(const Value *row)
{
    return value_to_i64(&row[1]) != DELIVERY_RETRYING;
}

static void fall_due(Kpi *kpi)
{
    kpi->queue_depth++;
    kpi->scheduled--;
}

static void add_due(Look *look, Arena *arena, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Kpi *kpi = is_send(row) ? looked_at(look, arena, row) : NULL;
        if (!kpi)
            continue;
        add_age(look, kpi, value_to_i64(&row[2]));
        if (value_to_i64(&row[1]) != DELIVERY_SENDING)
            fall_due(kpi);
    }
}

// take_out takes a row that is due later or since lately out of what was taken for stuck. One that
// waits was not in there.
static void take_out(const Look *look, Kpi *kpi, DeliveryState state, Instant due_at)
{
    bool is_later = due_at > look->now;
    if (state == DELIVERY_WAITING) {
        kpi->waiting--;
        if (!is_later)
            fall_due(kpi);
        return;
    }
    kpi->stuck--;
    if (state == DELIVERY_PENDING && is_later) {
        kpi->scheduled++;
        kpi->queue_depth--;
    }
}

// add_all_but takes all that is pending for stuck, but for rows that are due later or since lately.
static void add_all_but(Look *look, Arena *arena, const Rows *rows)
{
    for (size_t i = 0; i < look->count; i++) {
        Kpi *kpi = &look->kpis[i];
        int64_t pending = kpi->scheduled - kpi->waiting;
        kpi->stuck += pending + kpi->sending;
        kpi->queue_depth += pending;
        kpi->scheduled -= pending;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Kpi *kpi = is_send(row) ? looked_at(look, arena, row) : NULL;
        if (kpi)
            take_out(look, kpi, (DeliveryState) value_to_i64(&row[1]), value_to_i64(&row[2]));
    }
}

// add_front notes how old what is due is, and counts of it only the reminders that are due for
// long: all else is counted.
static void add_front(Look *look, Arena *arena, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Kpi *kpi = is_send(row) ? looked_at(look, arena, row) : NULL;
        Instant due_at = value_to_i64(&row[2]);
        if (!kpi)
            continue;
        kpi->oldest = earlier(kpi->oldest, due_at);
        if (value_to_i64(&row[1]) == DELIVERY_WAITING &&
            due_at <= look->now - DELIVERY_STUCK_AFTER) {
            kpi->waiting--;
            kpi->stuck++;
            fall_due(kpi);
        }
    }
}

// met_all: nothing waits that was not met. Otherwise some of it may be due for long.
static bool met_all(const Look *look)
{
    for (size_t i = 0; i < look->count; i++)
        if (look->kpis[i].waiting > 0)
            return false;
    return true;
}

static void add_retried(Look *look, Arena *arena, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Kpi *kpi = value_to_i64(&row[1]) == DELIVERY_RETRYING ? looked_at(look, arena, row) : NULL;
        if (kpi)
            add_age(look, kpi, value_to_i64(&row[2]));
    }
}

// read_far is read_live where more is due than is looked at.
static Err read_far(Db *db, Arena *arena, int64_t tenant, Look *look, const Rows *front,
                    bool *ret_all, Error *error)
{
    Rows rows, first;
    Value args[] = { value_i64(tenant), value_i64(look->filter->is_notification_only),
                     value_i64(look->now - DELIVERY_STUCK_AFTER), value_i64(KPI_LOOK_MAX) };
    db_send(db, arena, &lately, args, &rows);
    db_send(db, arena, &fronts, args, &first);
    TRY(db_sync(db, error));
    *ret_all = rows.count < KPI_LOOK_MAX;
    if (*ret_all) {
        add_all_but(look, arena, &rows);
        add_front(look, arena, front);
        *ret_all = met_all(look);
    } else {
        add_due(look, arena, front);
    }
    if (look->site < 0 && !look->filter->is_notification_only)
        look->oldest = value_to_i64(&rows_at(&first, 0)[0]);
    return ERR_OK;
}

// read_live looks at what is due and at what is retried, as far as it looks.
static Err read_live(Db *db, Arena *arena, int64_t tenant, Look *look, bool *ret_exact,
                     Error *error)
{
    Rows front, tried;
    bool is_all = true;
    int64_t is_narrow = look->filter->is_notification_only;
    Value args[] = { value_i64(tenant), value_i64(is_narrow), value_i64(look->now),
                     value_i64(KPI_LOOK_MAX) };
    Value tried_args[] = { value_i64(tenant), value_i64(is_narrow), value_i64(KPI_LOOK_MAX) };
    db_send(db, arena, &due, args, &front);
    db_send(db, arena, &retried, tried_args, &tried);
    TRY(db_sync(db, error));
    if (front.count < KPI_LOOK_MAX)
        add_due(look, arena, &front);
    else
        TRY(read_far(db, arena, tenant, look, &front, &is_all, error));
    add_retried(look, arena, &tried);
    *ret_exact = is_all && tried.count < KPI_LOOK_MAX;
    return ERR_OK;
}

static void add_up(Kpi *total, const Kpi *kpi)
{
    total->queue_depth += kpi->queue_depth;
    total->scheduled += kpi->scheduled;
    total->stuck += kpi->stuck;
    total->parked += kpi->parked;
    total->delivered += kpi->delivered;
    total->oldest = earlier(total->oldest, kpi->oldest);
}

static Str name_of(const Rows *sites, int64_t number)
{
    for (size_t i = 0; i < sites->count; i++)
        if (value_to_i64(&rows_at(sites, i)[0]) == number)
            return value_to_str(&rows_at(sites, i)[1]);
    return STR_NONE;
}

static int by_number(const void *a, const void *b)
{
    const Kpi *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

Err kpi_read(Db *db, Arena *arena, int64_t tenant, const KpiFilter *filter, Instant now,
             KpiReport *ret, Error *error)
{
    Look look = { .filter = filter, .now = now, .oldest = INSTANT_NONE };
    Rows sites;
    bool is_exact;
    TRY(find_site(db, arena, tenant, &look, &sites, error));
    TRY(read_sums(db, arena, tenant, &look, error));
    TRY(read_live(db, arena, tenant, &look, &is_exact, error));
    *ret = (KpiReport){ .total.oldest = look.oldest, .is_exact = is_exact };
    ret->sites = ARENA_ARRAY(arena, Kpi, look.count + 1);
    if (look.count > 0)
        qsort(look.kpis, look.count, sizeof *look.kpis, by_number);
    for (size_t i = 0; i < look.count; i++) {
        add_up(&ret->total, &look.kpis[i]);
        if (look.kpis[i].number == 0)
            continue;
        ret->sites[ret->site_count] = look.kpis[i];
        ret->sites[ret->site_count++].site = name_of(&sites, look.kpis[i].number);
    }
    return ERR_OK;
}
