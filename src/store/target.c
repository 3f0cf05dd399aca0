#include "store/target.h"

#include "store/columns.h"

// Verdicts in the SQL below are domain/delivery.h's.
_Static_assert(VERDICT_DELIVERED == 0 && VERDICT_PERMANENT == 2 && VERDICT_UNKNOWN == 3,
               "the SQL names verdicts by number");
_Static_assert(REASON_OPTED_OUT == 24, "the SQL names it by number");
_Static_assert(TARGETS_MAX == 100, "the SQL reads one more");

#define INSERTED "tenant, delivery, n, address, name, locale, send, round, verdict"
static const Statement insert = {
    .name = "target_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuittt",
    .many = true,
    .sql = "INSERT INTO target (" INSERTED ") VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 3)",
    .postgres = "INSERT INTO target (" INSERTED ")"
                " SELECT tenant, delivery, n, address, name, locale, 0, 0, 3"
                " FROM unnest($1, $2, $3, $4, $5, $6) AS u"
                " (tenant, delivery, n, address, name, locale)",
};
#define LOADED "t.n, t.address, t.name, t.locale, t.send, t.verdict, t.reason, t.code"
static const Statement load = {
    .name = "target_load",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql =
        "SELECT $3, " LOADED " FROM target t WHERE t.tenant = $1 AND t.delivery = $2 ORDER BY t.n",
    .postgres = "SELECT s.i, " LOADED " FROM unnest($1, $2, $3) AS s (tenant, delivery, i)"
                " JOIN target t ON t.tenant = s.tenant AND t.delivery = s.delivery"
                " ORDER BY s.i, t.n",
};

// What is open of a list's: nothing was told in this send, or what may pass was told a failure ago.
// Each is a range of the index target_open; one more is read than an attempt carries.
// clang-format off
#define OPEN(what, of_tenant, of_delivery, of_send, of_failures) \
    "SELECT " what " FROM (SELECT * FROM (SELECT * FROM target a WHERE a.tenant = " of_tenant \
    " AND a.delivery = " of_delivery " AND a.send < " of_send " AND a.verdict <> 0" \
    " ORDER BY a.send, a.round, a.n LIMIT 101) AS untold" \
    " UNION ALL SELECT * FROM (SELECT * FROM target b WHERE b.tenant = " of_tenant \
    " AND b.delivery = " of_delivery " AND b.send = " of_send " AND b.round < " of_failures \
    " AND b.verdict <> 0 AND b.verdict <> 2 ORDER BY b.send, b.round, b.n LIMIT 101) AS failed" \
    " LIMIT 101) AS t"

// The next members of a list: those behind the last that was resolved, but for who has a row from
// an earlier edition. As many as make 101 open ones. PostgreSQL takes a delivery to have a row or
// two and any index that begins with it to be as good as another, and so would read all of them for
// each member: the look for an address is no join, and leaves it one index to choose.
#define MEMBERS(of_tenant, of_delivery, of_list, of_send, of_failures) \
    "SELECT m.n, m.address, m.name, m.locale FROM list_member m WHERE m.tenant = " of_tenant \
    " AND m.list = " of_list " AND m.edition = (SELECT h.edition FROM list_head h" \
    " WHERE h.tenant = " of_tenant " AND h.list = " of_list ")" \
    " AND m.n > COALESCE((SELECT MAX(x.n) FROM target x WHERE x.tenant = " of_tenant \
    " AND x.delivery = " of_delivery "), 0)" \
    " AND 0 = (SELECT COUNT(*) FROM target y WHERE y.address = m.address" \
    " AND y.delivery = " of_delivery " AND y.tenant + 0 = " of_tenant ") ORDER BY m.n" \
    " LIMIT 101 - (" OPEN("COUNT(*)", of_tenant, of_delivery, of_send, of_failures) ")"
// clang-format on

#define CLAIM_NAMES "AS s (tenant, delivery, i, list, send, failures)"
static const Statement resolve = {
    .name = "target_resolve",
    .scope = STATEMENT_TENANT,
    .params = "iuiiii",
    .many = true,
    .sql = "INSERT INTO target (" INSERTED ") SELECT $1, $2, v.n, v.address, v.name, v.locale,"
           " 0, 0, 3 FROM (" MEMBERS("$1", "$2", "$4", "$5", "$6") ") AS v WHERE $3 >= 0",
    .postgres =
        "INSERT INTO target (" INSERTED ")"
        " SELECT s.tenant, s.delivery, v.n, v.address, v.name, v.locale, 0, 0, 3"
        " FROM unnest($1, $2, $3, $4, $5, $6) " CLAIM_NAMES
        ", LATERAL (" MEMBERS("s.tenant", "s.delivery", "s.list", "s.send", "s.failures") ") AS v",
};
static const Statement open_of_list = {
    .name = "target_open_of_list",
    .scope = STATEMENT_TENANT,
    .params = "iuiiii",
    .many = true,
    .sql = "SELECT $3, v.* FROM (" OPEN(LOADED, "$1", "$2", "$5",
                                        "$6") ") AS v WHERE $4 > 0 ORDER BY v.n",
    .postgres = "SELECT s.i, v.* FROM unnest($1, $2, $3, $4, $5, $6) " CLAIM_NAMES
                ", LATERAL (" OPEN(LOADED, "s.tenant", "s.delivery", "s.send",
                                   "s.failures") ") AS v ORDER BY s.i, v.n",
};
// What is not carried, of lists whose last targets are: a look at every row.
#define TOLD_OF(row) " WHERE t.tenant = " row "tenant AND t.delivery = " row "delivery"
#define IF_REFUSED "CASE WHEN t.verdict = 2 AND t.send > 0 AND COALESCE(t.reason, 0) <> 24 THEN "
#define COUNTED                                                                                    \
    "COUNT(*), COALESCE(SUM(CASE WHEN t.verdict = 0 THEN 1 ELSE 0 END), 0),"                       \
    " COALESCE(SUM(" IF_REFUSED "1 ELSE 0 END), 0),"                                               \
    " COALESCE(SUM(CASE WHEN t.reason = 24 AND t.send > 0 THEN 1 ELSE 0 END), 0),"                 \
    " COALESCE(MIN(" IF_REFUSED "t.reason END), 0), COALESCE(MAX(" IF_REFUSED "t.reason END), 0)"
static const Statement tally = {
    .name = "target_tally",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, " COUNTED " FROM target t WHERE t.tenant = $1 AND t.delivery = $2",
    .postgres = "SELECT s.i, v.* FROM unnest($1, $2, $3) AS s (tenant, delivery, i), LATERAL"
                " (SELECT " COUNTED " FROM target t" TOLD_OF("s.") ") AS v",
};
static const Statement tell = {
    .name = "target_tell",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiittii",
    .many = true,
    .sql = "UPDATE target SET send = $4, verdict = $5, reason = $6, code = $7, provider_id = $8,"
           " detail = $9, told_at = $10, round = $11"
           " WHERE tenant = $1 AND delivery = $2 AND n = $3",
    .postgres = "UPDATE target t SET send = s.send, verdict = s.verdict, reason = s.reason,"
                " code = s.code, provider_id = s.provider_id, detail = s.detail,"
                " told_at = s.told_at, round = s.round"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS s (tenant, delivery,"
                " n, send, verdict, reason, code, provider_id, detail, told_at, round)"
                " WHERE t.tenant = s.tenant AND t.delivery = s.delivery AND t.n = s.n",
};
static const Statement reopen = {
    .name = "target_reopen",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "UPDATE target SET send = 0 WHERE tenant = $1 AND delivery = $2 AND send > 0"
           " AND verdict <> 0",
    .postgres = "UPDATE target t SET send = 0 FROM unnest($1, $2) AS s (tenant, delivery)"
                " WHERE t.tenant = s.tenant AND t.delivery = s.delivery AND t.send > 0"
                " AND t.verdict <> 0",
};
#define LISTED                                                                                     \
    "SELECT t.tenant, t.delivery, t.n, t.send, t.verdict, t.reason, t.code, t.provider_id,"        \
    " t.detail, t.told_at, t.round, t.address, t.name, t.locale FROM target t"                     \
    " WHERE t.tenant = $1 AND t.delivery = $2"
static const Statement list = {
    .name = "target_list",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = LISTED " AND t.n > $3 ORDER BY t.n LIMIT $4",
};
static const Statement count_all = {
    .name = "target_count",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "SELECT " COUNTED " FROM target t WHERE t.tenant = $1 AND t.delivery = $2",
};

const Statement *const target_statements[] = {
    &insert, &load, &resolve, &open_of_list, &tally, &tell, &reopen, &list, &count_all, NULL,
};

static const Columns insert_columns =
    COLUMNS(TargetRow, COLUMN(TargetRow, tenant), COLUMN(TargetRow, delivery),
            COLUMN(TargetRow, target.n), COLUMN(TargetRow, target.address),
            COLUMN(TargetRow, target.name), COLUMN(TargetRow, target.locale));
static const Columns asked_columns = COLUMNS(TargetsOf, COLUMN(TargetsOf, tenant),
                                             COLUMN(TargetsOf, delivery), COLUMN(TargetsOf, index));
static const Columns claimed_columns =
    COLUMNS(TargetsOpen, COLUMN(TargetsOpen, tenant), COLUMN(TargetsOpen, delivery),
            COLUMN(TargetsOpen, index), COLUMN(TargetsOpen, list), COLUMN(TargetsOpen, send),
            COLUMN(TargetsOpen, failures));
static const Columns tallied_columns =
    COLUMNS(TargetsOpen, COLUMN(TargetsOpen, tenant), COLUMN(TargetsOpen, delivery),
            COLUMN(TargetsOpen, index));
static const Columns loaded_columns =
    COLUMNS(Target, COLUMN(Target, n), COLUMN(Target, address), COLUMN(Target, name),
            COLUMN(Target, locale), COLUMN(Target, send), COLUMN(Target, outcome.verdict),
            COLUMN(Target, outcome.reason), COLUMN_SOME(Target, outcome.code));
static const Columns counted_columns =
    COLUMNS(TargetsElse, COLUMN(TargetsElse, count), COLUMN(TargetsElse, delivered),
            COLUMN(TargetsElse, refused), COLUMN(TargetsElse, opted_out),
            COLUMN(TargetsElse, least_reason), COLUMN(TargetsElse, reason));

#define TOLD_COLUMNS                                                                               \
    COLUMN(TargetRow, tenant), COLUMN(TargetRow, delivery), COLUMN(TargetRow, target.n),           \
        COLUMN(TargetRow, target.send), COLUMN(TargetRow, target.outcome.verdict),                 \
        COLUMN(TargetRow, target.outcome.reason), COLUMN_SOME(TargetRow, target.outcome.code),     \
        COLUMN(TargetRow, target.outcome.provider_id), COLUMN(TargetRow, target.outcome.detail),   \
        COLUMN_TIME(TargetRow, told_at), COLUMN(TargetRow, round)
static const Columns told_columns = COLUMNS(TargetRow, TOLD_COLUMNS);
static const Columns listed_columns =
    COLUMNS(TargetRow, TOLD_COLUMNS, COLUMN(TargetRow, target.address),
            COLUMN(TargetRow, target.name), COLUMN(TargetRow, target.locale));

void target_insert(Tx *tx, const TargetRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert(rows[i].target.n >= 1 && rows[i].target.n <= TARGETS_MAX && !rows[i].target.send);
    db_send_rows(tx->db, &tx->arena, &insert, &insert_columns, rows, count, NULL);
}

// mend makes a target sound that was read. What nothing was told of, or is damaged, is unknown.
static void mend(Target *target)
{
    if (target->send > 0)
        target->outcome = outcome_mended(target->outcome);
    else
        target->outcome = (Outcome){ .verdict = VERDICT_UNKNOWN };
}

static void read_target(const Value *row, Target *ret)
{
    *ret = (Target){ 0 };
    columns_read(&loaded_columns, row, ret);
    mend(ret);
}

Err targets_load(Tx *tx, Arena *arena, TargetsOf *of, size_t count, Error *error)
{
    Rows rows;
    for (size_t i = 0; i < count; i++) {
        of[i].index = (int64_t) i;
        of[i].count = 0;
    }
    db_send_rows(tx->db, arena, &load, &asked_columns, of, count, &rows);
    TRY(tx_sync(tx, error));
    Target *targets = ARENA_ARRAY(arena, Target, rows.count);
    for (size_t i = 0; i < rows.count; i++) { // those of one delivery lie together
        const Value *row = rows_at(&rows, i);
        TargetsOf *owner = &of[value_to_i64(&row[0])];
        if (owner->count++ == 0)
            owner->targets = &targets[i];
        read_target(&row[1], &targets[i]);
    }
    return ERR_OK;
}

static void note_else(TargetsElse *others, const Target *target)
{
    const Outcome *outcome = &target->outcome;
    bool is_opted_out = outcome->reason == REASON_OPTED_OUT;
    bool is_refused = outcome->verdict == VERDICT_PERMANENT && !is_opted_out;
    others->count++;
    others->opted_out += is_opted_out;
    others->delivered += outcome->verdict == VERDICT_DELIVERED;
    if (!is_refused)
        return;
    if (others->refused++ == 0)
        others->least_reason = others->reason = outcome->reason;
    if (outcome->reason != others->reason)
        others->least_reason = REASON_NONE; // they share none
}

// part puts those that are open in front; all behind them that have it not are told of.
static void part(const TargetsOf *of, TargetsOpen *ret)
{
    Target *told = of->targets + of->count;
    ret->targets = of->targets;
    for (size_t i = 0; i < of->count; i++) {
        Target target = of->targets[i];
        if (target_is_done(&target, ret->send)) {
            note_else(&ret->others, &target);
            continue;
        }
        memmove(&ret->targets[ret->count + 1], &ret->targets[ret->count],
                (i - ret->count) * sizeof target);
        ret->targets[ret->count++] = target;
    }
    ret->others.told = ret->targets + ret->count;
    ret->others.told_count = (size_t) (told - ret->others.told);
}

// claim_plain reads those that have no list: a hundred rows at most, whatever was told of them.
static Err claim_plain(Tx *tx, Arena *arena, TargetsOpen **of, size_t count, Error *error)
{
    TargetsOf *all = ARENA_ARRAY(&tx->arena, TargetsOf, count + 1);
    for (size_t i = 0; i < count; i++)
        all[i] = (TargetsOf){ .tenant = of[i]->tenant, .delivery = of[i]->delivery };
    if (count == 0)
        return ERR_OK;
    TRY(targets_load(tx, arena, all, count, error));
    for (size_t i = 0; i < count; i++)
        part(&all[i], of[i]);
    return ERR_OK;
}

// take_open hands out the rows of what is open to those that they belong to.
static void take_open(Arena *arena, const Rows *rows, TargetsOpen **of)
{
    Target *targets = ARENA_ARRAY(arena, Target, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++) { // those of one delivery lie together
        const Value *row = rows_at(rows, i);
        TargetsOpen *owner = of[value_to_i64(&row[0])];
        read_target(&row[1], &targets[i]);
        if (owner->count == 0)
            owner->targets = &targets[i];
        if (owner->count < TARGETS_MAX)
            owner->count++;
        else
            owner->has_more = true;
    }
}

// count_others counts those that are not carried, where a list's last targets are.
static Err count_others(Tx *tx, Arena *arena, TargetsOpen **of, size_t count, Error *error)
{
    Rows rows;
    const void **last = ARENA_ARRAY(&tx->arena, const void *, count + 1);
    size_t asked = 0;
    for (size_t i = 0; i < count; i++)
        if (!of[i]->has_more)
            last[asked++] = of[i];
    if (asked == 0)
        return ERR_OK;
    db_send_picked(tx->db, arena, &tally, &tallied_columns, last, asked, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        TargetsOpen *owner = of[value_to_i64(&row[0])];
        columns_read(&counted_columns, &row[1], &owner->others);
        owner->others.count -= (int64_t) owner->count;
    }
    return ERR_OK;
}

static Err claim_lists(Tx *tx, Arena *arena, TargetsOpen **of, size_t count, Error *error)
{
    Rows rows;
    if (count == 0)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        of[i]->index = (int64_t) i;
    const void *const *asked = (const void *const *) of;
    db_send_picked(tx->db, &tx->arena, &resolve, &claimed_columns, asked, count, NULL);
    db_send_picked(tx->db, arena, &open_of_list, &claimed_columns, asked, count, &rows);
    TRY(tx_sync(tx, error));
    take_open(arena, &rows, of);
    return count_others(tx, arena, of, count, error);
}

Err targets_claim(Tx *tx, Arena *arena, TargetsOpen *of, size_t count, Error *error)
{
    TargetsOpen **plain = ARENA_ARRAY(&tx->arena, TargetsOpen *, count + 1);
    TargetsOpen **lists = ARENA_ARRAY(&tx->arena, TargetsOpen *, count + 1);
    size_t plain_count = 0, list_count = 0;
    for (size_t i = 0; i < count; i++) {
        of[i].count = 0;
        of[i].has_more = false;
        of[i].others = (TargetsElse){ 0 };
        if (of[i].list)
            lists[list_count++] = &of[i];
        else
            plain[plain_count++] = &of[i];
    }
    TRY(claim_plain(tx, arena, plain, plain_count, error));
    return claim_lists(tx, arena, lists, list_count, error);
}

void target_tell(Tx *tx, const TargetRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &tell, &told_columns, rows, count, NULL);
}

void target_reopen(Tx *tx, int64_t tenant, const Uuid *deliveries, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 2 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 2] = value_i64(tenant);
        values[i * 2 + 1] = value_uuid(&deliveries[i]);
    }
    db_send_many(tx->db, &tx->arena, &reopen, values, count, NULL);
}

Err target_page(Db *db, Arena *arena, int64_t tenant, Uuid delivery, const Walk *walk,
                TargetRow **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    int64_t after;
    TRY(walk_after_number(walk, &after, error));
    Value args[] = { value_i64(tenant), value_uuid(&delivery), value_i64(after),
                     value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &list, args, &rows, error));
    *ret = ARENA_ARRAY(arena, TargetRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        columns_read(&listed_columns, rows_at(&rows, i), &(*ret)[i]);
        mend(&(*ret)[i].target);
    }
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place_number(arena, (*ret)[ret_seen->count - 1].target.n);
    return ERR_OK;
}

Err targets_count(Db *db, Arena *arena, int64_t tenant, Uuid delivery, TargetCounts *ret,
                  Error *error)
{
    Rows rows;
    TargetsElse all = { 0 };
    Value args[] = { value_i64(tenant), value_uuid(&delivery) };
    TRY(db_query(db, arena, &count_all, args, &rows, error));
    columns_read(&counted_columns, rows_at(&rows, 0), &all);
    *ret = (TargetCounts){ all.count, all.delivered, all.refused, all.opted_out };
    return ERR_OK;
}
