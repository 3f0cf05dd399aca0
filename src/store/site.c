#include "store/site.h"

#include "domain/delivery.h"
#include "store/columns.h"
#include "store/definition.h"
#include "store/delivery.h"
#include "store/lane.h"
#include "store/meta.h"
#include "store/rule.h"

static const Statement find = {
    .name = "site_find",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT site FROM site WHERE tenant = $1 AND name = $2",
};
// The select has a condition because SQLite would read its ON as a join's.
static const Statement insert = {
    .name = "site_insert",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "INSERT INTO site (site, tenant, name, received)"
           " SELECT COALESCE(MAX(site), 0) + 1, $1, $2, 0 FROM site WHERE 1 = 1"
           " ON CONFLICT (tenant, name) DO NOTHING",
};

static const Statement came = {
    .name = "site_came",
    .scope = STATEMENT_TENANT,
    .params = "iiiiu",
    .sql = "UPDATE site SET seen_at = $3, received = received + $4, key_id = $5"
           " WHERE tenant = $1 AND site = $2",
};
static const Statement told = {
    .name = "site_told",
    .scope = STATEMENT_TENANT,
    .params = "iiiiutiii",
    .sql = "UPDATE site SET seen_at = $3, received = received + $4, key_id = $5, version = $6,"
           " backlog = $7, clock_skew = $8, told_at = $9 WHERE tenant = $1 AND site = $2",
};
static const Statement page = {
    .name = "site_page",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT tenant, site, seen_at, received, key_id, version, backlog, clock_skew, told_at,"
           " name FROM site WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3",
};

static const Statement find_rule = {
    .name = "site_rule",
    .scope = STATEMENT_TENANT,
    .params = "iitt",
    .sql = "SELECT r.rule, l.lane FROM rule r JOIN lane l ON l.tenant = r.tenant"
           " WHERE r.tenant = $1 AND r.kind = $2 AND r.id = $3 AND l.channel = $4",
};
// State 5 is delivered. Of those that one event has, the last counts: its deliveries stand next to
// one another.
_Static_assert(DELIVERY_DELIVERED == 5, "the SQL names it by number");
static const Statement acknowledged = {
    .name = "site_acknowledged",
    .scope = STATEMENT_TENANT,
    .params = "iiiui",
    .sql = "SELECT n.bytes, " PROMISE_OF_D " FROM ended n"
           " JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id"
           " WHERE n.tenant = $1 AND n.rule = $2 AND n.state = 5 AND n.ended_at >= $3"
           " AND n.id > $4 AND COALESCE((SELECT x.event FROM delivery x"
           " WHERE x.tenant = n.tenant AND x.id > n.id ORDER BY x.id LIMIT 1), n.id) <> d.event"
           " ORDER BY n.id LIMIT $5",
};

_Static_assert(STEP_SEND == 1, "the SQL names it by number");
static const Statement find_last = {
    .name = "site_last",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT COALESCE(MAX(due_at), 0) FROM queue"
           " WHERE tenant = $1 AND lane = $2 AND step = 1",
};

// Live are pending, sending, retrying and waiting.
_Static_assert(DELIVERY_PENDING == 0 && DELIVERY_WAITING == 3, "the SQL names them by number");
static const Statement live = {
    .name = "site_backlog",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT COALESCE(CAST(SUM(n) AS BIGINT), 0) FROM counter"
           " WHERE tenant = $1 AND rule = $2 AND state <= 3",
};

const Statement *const site_statements[] = {
    &find, &insert, &came, &told, &page, &live, &find_rule, &find_last, &acknowledged, NULL,
};

Err site_number(Tx *tx, int64_t tenant, Str name, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(name) };
    TRY(tx_query(tx, &find, args, &rows, error));
    if (rows.count == 0) {
        TRY(definition_lock(tx, error));
        TRY(tx_query(tx, &insert, args, &rows, error));
        TRY(tx_query(tx, &find, args, &rows, error));
        if (rows.count == 0)
            return fail(error, ERR_CORRUPT, "the site %.*s has no number", STR_ARG(name));
    }
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

#define SEEN_COLUMNS                                                                               \
    COLUMN(SiteSeen, tenant), COLUMN(SiteSeen, site), COLUMN_TIME(SiteSeen, seen_at),              \
        COLUMN(SiteSeen, received), COLUMN(SiteSeen, key), COLUMN(SiteSeen, version),              \
        COLUMN(SiteSeen, backlog), COLUMN(SiteSeen, skew), COLUMN_TIME(SiteSeen, told_at)
static const Columns told_columns = COLUMNS(SiteSeen, SEEN_COLUMNS);
static const Columns page_columns = COLUMNS(SiteSeen, SEEN_COLUMNS, COLUMN(SiteSeen, name));

void site_came(Tx *tx, const SiteSeen *seen)
{
    SiteSeen *kept = arena_copy(&tx->arena, seen, sizeof *seen); // its id is read at the sync
    db_send_row(tx->db, &tx->arena, &came, &told_columns, kept, NULL);
}

void site_tells(Tx *tx, const SiteSeen *seen)
{
    SiteSeen *kept = arena_copy(&tx->arena, seen, sizeof *seen);
    db_send_row(tx->db, &tx->arena, &told, &told_columns, kept, NULL);
}

Err site_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, SiteSeen **ret,
              Seen *ret_seen, Error *error)
{
    Rows rows;
    Str after;
    TRY(walk_after_text(walk, &after, error));
    Value args[] = { value_i64(tenant), value_text(after), value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    SiteSeen *found = ARENA_ARRAY(arena, SiteSeen, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&page_columns, rows_at(&rows, i), &found[i]);
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = found[ret_seen->count - 1].name;
    return ERR_OK;
}

Err site_rule(Tx *tx, int64_t tenant, Str id, Str channel, int64_t *ret_rule, int64_t *ret_lane,
              Error *error)
{
    Rows rows;
    TRY(definition_lock(tx, error));
    TRY(lane_ensure(tx, tenant, channel, error));
    TRY(rule_ensure(tx, tenant, RULE_FORWARD, id, error));
    Value args[] = { value_i64(tenant), value_i64(RULE_FORWARD), value_text(id),
                     value_text(channel) };
    TRY(tx_query(tx, &find_rule, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_CORRUPT, "the rule %.*s has no number", STR_ARG(id));
    *ret_rule = value_to_i64(&rows.values[0]);
    *ret_lane = value_to_i64(&rows.values[1]);
    return ERR_OK;
}

Err site_last(Tx *tx, int64_t tenant, int64_t lane, Instant *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(lane) };
    TRY(tx_query(tx, &find_last, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

Err site_backlog(Tx *tx, int64_t tenant, int64_t rule, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(rule) };
    TRY(tx_query(tx, &live, args, &rows, error));
    *ret = later(value_to_i64(&rows.values[0]), 0);
    return ERR_OK;
}

#define META_CENTRAL S("central") // "id number"

Err site_heard(Tx *tx, SiteEpoch *epoch, Error *error)
{
    Str before, id;
    int64_t number;
    TRY(meta_get(tx->db, &tx->arena, META_CENTRAL, &before, error));
    id = before.at ? str_cut(&before, ' ') : STR_NONE;
    epoch->is_older =
        id.at && (!str_eq(id, epoch->id) || !str_to_i64(before, 0, INT64_MAX, &number) ||
                  epoch->number < number);
    return ERR_OK;
}

void site_keep(Tx *tx, const SiteEpoch *epoch)
{
    meta_put(tx, META_CENTRAL,
             str_format(&tx->arena, "%.*s %lld", STR_ARG(epoch->id), (long long) epoch->number));
}

typedef struct Acknowledged {
    int bytes;
    Promise promise;
} Acknowledged;

static const Columns acknowledged_columns =
    COLUMNS(Acknowledged, COLUMN(Acknowledged, bytes), PROMISE_COLUMNS(Acknowledged, promise.));

// promise_again makes the next delivery of the same event, due when the first was: so it goes ahead
// of what came in later.
static Promise promise_again(Tx *tx, const Promise *from)
{
    Promise promise = *from;
    unsigned n = (unsigned) from->id.b[14] << 8 | from->id.b[15];
    promise.id = delivery_id_of(from->event, n + 1);
    promise.public_id = public_id_new(&tx->arena, tx->random, STR_NONE);
    return promise;
}

static QueueRow queue_row(const Promise *promise, int bytes)
{
    Plan plan = plan_default();
    return (QueueRow){ .tenant = promise->tenant,
                       .id = promise->id,
                       .lane = promise->lane,
                       .rule = promise->rule,
                       .site = promise->site,
                       .bytes = bytes,
                       .live =
                           delivery_first(&plan, promise->triggered_at, promise->triggered_at) };
}

Err site_again(Tx *tx, int64_t tenant, int64_t rule, SiteAgain *slice, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(rule), value_i64(slice->since),
                     value_uuid(&slice->after), value_i64(slice->limit) };
    TRY(tx_query(tx, &acknowledged, args, &rows, error));
    Promise *promises = ARENA_ARRAY(&tx->arena, Promise, rows.count + 1);
    QueueRow *queue = ARENA_ARRAY(&tx->arena, QueueRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        Acknowledged found;
        columns_read(&acknowledged_columns, rows_at(&rows, i), &found);
        promises[i] = promise_again(tx, &found.promise);
        queue[i] = queue_row(&promises[i], found.bytes);
        slice->last = found.promise.id;
    }
    delivery_insert(tx, promises, rows.count);
    queue_insert(tx, queue, rows.count);
    slice->count = (int64_t) rows.count;
    return ERR_OK;
}
