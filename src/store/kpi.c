#include "store/kpi.h"

#include "domain/delivery.h"
#include "domain/rule.h"

// All statements give the rule's kind and the site first, by which rows are taken or left.
static const Statement sums = {
    .name = "kpi_sums",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT r.kind, c.site, c.state, CAST(SUM(c.n) AS BIGINT) FROM counter c"
           " LEFT JOIN rule r ON r.rule = c.rule WHERE c.tenant = $1"
           " GROUP BY r.kind, c.site, c.state",
};
static const Statement paces = {
    .name = "kpi_paces",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT r.kind, p.site, CAST(SUM(p.n) AS BIGINT) FROM pace p"
           " LEFT JOIN rule r ON r.rule = p.rule WHERE p.tenant = $1 AND p.minute = $2"
           " GROUP BY r.kind, p.site",
};
static const Statement names = {
    .name = "kpi_sites",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT site, name FROM site WHERE tenant = $1",
};
#define OF_LANES                                                                                   \
    "SELECT r.kind, q.site, q.state, q.due_at FROM lane l CROSS JOIN queue q"                      \
    " LEFT JOIN rule r ON r.rule = q.rule WHERE l.tenant = $1 AND q.lane = l.lane AND q.step = 1"
static const Statement due = {
    .name = "kpi_due",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = OF_LANES " AND q.due_at <= $2 LIMIT $3",
};
static const Statement later_on = {
    .name = "kpi_later",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = OF_LANES " AND q.due_at > $2 AND q.state = 0 LIMIT $3",
};
static const Statement retried = {
    .name = "kpi_retried",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT r.kind, q.site, q.state, q.first_due_at FROM queue q"
           " LEFT JOIN rule r ON r.rule = q.rule"
           " WHERE q.tenant = $1 AND q.cause IS NOT NULL AND q.state = 2 LIMIT $2",
};

const Statement *const kpi_statements[] = {
    &sums, &paces, &names, &due, &later_on, &retried, NULL
};

// Look is the report as it is filled.
typedef struct Look {
    const KpiFilter *filter;
    Instant now;
    Kpi *kpis; // by number of the site, as they come
    size_t count, room;
    int64_t site; // that is asked for; -1: any
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
    int64_t kind = value_to_i64(&row[0]), site = value_to_i64(&row[1]);
    if (look->filter->is_notification_only && kind != RULE_NOTIFY)
        return NULL;
    return look->site < 0 || look->site == site ? kpi_of(look, arena, site) : NULL;
}

static void add_sum(Kpi *kpi, DeliveryState state, int64_t n)
{
    if (state == DELIVERY_SENDING || state == DELIVERY_RETRYING)
        kpi->queue_depth += n;
    else if (state == DELIVERY_PENDING)
        kpi->scheduled += n; // until it is found due
    else if (state == DELIVERY_PARKED)
        kpi->parked += n;
}

static void add_age(Look *look, Kpi *kpi, Instant since)
{
    kpi->oldest = earlier(kpi->oldest, since);
    kpi->stuck += since <= look->now - KPI_STUCK_AFTER;
}

static void add_due(Look *look, Kpi *kpi, DeliveryState state, Instant due_at)
{
    if (state == DELIVERY_RETRYING || state == DELIVERY_WAITING)
        return; // the former is looked at by itself, the latter is a reminder
    add_age(look, kpi, due_at);
    if (state != DELIVERY_PENDING)
        return;
    kpi->queue_depth++;
    kpi->scheduled--;
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
    Value args[] = { value_i64(tenant), value_i64(minute) };
    db_send(db, arena, &sums, args, &rows);
    db_send(db, arena, &paces, args, &paced);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        Kpi *kpi = wanted(look, arena, row);
        if (kpi)
            add_sum(kpi, (DeliveryState) value_to_i64(&row[2]), value_to_i64(&row[3]));
    }
    for (size_t i = 0; i < paced.count; i++) {
        Kpi *kpi = wanted(look, arena, rows_at(&paced, i));
        if (kpi)
            kpi->delivered += value_to_i64(&rows_at(&paced, i)[2]);
    }
    return ERR_OK;
}

// read_ages looks at what is due and what is retried, so far as it looks.
static Err read_ages(Db *db, Arena *arena, int64_t tenant, Look *look, bool *ret_all, Error *error)
{
    Rows front, tried;
    Value args[] = { value_i64(tenant), value_i64(look->now), value_i64(KPI_LOOK_MAX) };
    Value tried_args[] = { value_i64(tenant), value_i64(KPI_LOOK_MAX) };
    db_send(db, arena, &due, args, &front);
    db_send(db, arena, &retried, tried_args, &tried);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < front.count; i++) {
        const Value *row = rows_at(&front, i);
        Kpi *kpi = wanted(look, arena, row);
        if (kpi)
            add_due(look, kpi, (DeliveryState) value_to_i64(&row[2]), value_to_i64(&row[3]));
    }
    for (size_t i = 0; i < tried.count; i++) {
        Kpi *kpi = wanted(look, arena, rows_at(&tried, i));
        if (kpi)
            add_age(look, kpi, value_to_i64(&rows_at(&tried, i)[3]));
    }
    *ret_all = front.count < KPI_LOOK_MAX && tried.count < KPI_LOOK_MAX;
    return ERR_OK;
}

// count_later counts what is not yet due instead, where too much is due to be looked at.
static Err count_later(Db *db, Arena *arena, int64_t tenant, Look *look, bool *ret_all,
                       Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(look->now), value_i64(KPI_LOOK_MAX) };
    TRY(db_query(db, arena, &later_on, args, &rows, error));
    for (size_t i = 0; i < look->count; i++) {
        look->kpis[i].queue_depth += look->kpis[i].scheduled;
        look->kpis[i].scheduled = 0;
    }
    for (size_t i = 0; i < rows.count; i++) {
        Kpi *kpi = wanted(look, arena, rows_at(&rows, i));
        if (kpi) {
            kpi->scheduled++;
            kpi->queue_depth--;
        }
    }
    *ret_all = rows.count < KPI_LOOK_MAX;
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
    Look look = { .filter = filter, .now = now };
    Rows sites;
    bool is_exact;
    TRY(find_site(db, arena, tenant, &look, &sites, error));
    TRY(read_sums(db, arena, tenant, &look, error));
    TRY(read_ages(db, arena, tenant, &look, &is_exact, error));
    if (!is_exact)
        TRY(count_later(db, arena, tenant, &look, &is_exact, error));
    *ret = (KpiReport){ .total.oldest = INSTANT_NONE, .is_exact = is_exact };
    ret->sites = ARENA_ARRAY(arena, Kpi, look.count + 1);
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
