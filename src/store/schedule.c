#include "store/schedule.h"

#include "domain/job.h"
#include "store/columns.h"
#include "store/rule.h"

#define TAKEN "tenant, rule, name, version, next_at, last_for, queued_for, run, fault"
#define DUE "FROM schedule WHERE next_at <= $1 ORDER BY next_at LIMIT $2"

// How many are due is asked first, up to one more than a look takes: fewer, and all are taken.
static const Statement due_count = {
    .name = "schedule_due_count",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT COUNT(*) FROM (SELECT 1 " DUE ") d",
};
static const Statement take_due = {
    .name = "schedule_take",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT " TAKEN " " DUE,
    .postgres = "SELECT " TAKEN " " DUE " FOR UPDATE SKIP LOCKED",
};
// Each step of the recursion is one look into the index, for the next tenant.
static const Statement due_tenants = {
    .name = "schedule_due_tenants",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "WITH RECURSIVE t (tenant) AS (SELECT (SELECT tenant FROM schedule"
           " WHERE next_at IS NOT NULL ORDER BY tenant LIMIT 1)"
           " UNION ALL SELECT (SELECT s.tenant FROM schedule s WHERE s.next_at IS NOT NULL"
           " AND s.tenant > t.tenant ORDER BY s.tenant LIMIT 1) FROM t WHERE t.tenant IS NOT NULL)"
           " SELECT tenant FROM t WHERE EXISTS (SELECT 1 FROM schedule s"
           " WHERE s.tenant = t.tenant AND s.next_at <= $1)",
};
static const Statement take_share = {
    .name = "schedule_take_share",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .many = true,
    .sql = "SELECT " TAKEN " FROM schedule WHERE tenant = $1 AND next_at <= $2"
           " ORDER BY next_at LIMIT $3",
    .postgres = "SELECT s.* FROM unnest($1, $2, $3) AS u (tenant, until, share), LATERAL"
                " (SELECT " TAKEN " FROM schedule c WHERE c.tenant = u.tenant"
                " AND next_at <= u.until ORDER BY next_at LIMIT u.share FOR UPDATE SKIP LOCKED) s",
};
// Whether a run has ended is asked once its schedule is ours: whoever ends it waits for us, and
// then finds what was queued meanwhile. run is the oldest that was not known to have ended; others
// may have been made since, by hand or together with it, and the oldest of those that go on is the
// one to wait for. The index delivery_rule has them in their order. What was deferred, backfilled
// or made by another schedule is among them and counts as nobody's, so SINCE_MAX are looked at.
// Whose a run is its identity says (run.c: identity_of).
#define SINCE_MAX "1000"
#define SINCE(tenant_, rule_, run_, name_)                                                         \
    "(SELECT tenant, id, event FROM delivery WHERE rule = " rule_ " AND id >= " run_               \
    " AND tenant = " tenant_ " ORDER BY id LIMIT " SINCE_MAX ") AS d"                              \
    " CROSS JOIN queue q CROSS JOIN event e WHERE q.tenant = d.tenant AND q.id = d.id"             \
    " AND e.tenant = d.tenant AND e.id = d.event AND e.topic IS NULL AND (e.source = 'manual' OR"  \
    " e.source = 'schedule' AND (" name_ " = '' OR e.identity = CAST(" rule_ " AS TEXT) || ':' ||" \
    " CAST(e.occurred_at AS TEXT) || ':' || " name_ "))"                                           \
    " ORDER BY d.id LIMIT 1"
#define SINCE_ALONE SINCE("$1", "$2", "$3", "$4")
#define SINCE_OF_EACH SINCE("u.tenant", "u.rule", "u.run", "u.name")
static const Statement running = {
    .name = "schedule_running",
    .scope = STATEMENT_TENANT,
    .params = "iiuti",
    .many = true,
    .sql = "SELECT $5, d.id FROM " SINCE_ALONE,
    .postgres = "SELECT u.n, l.id FROM unnest($1, $2, $3, $4, $5) AS u (tenant, rule, run, name, n)"
                " CROSS JOIN LATERAL (SELECT d.id FROM " SINCE_OF_EACH ") AS l",
};
static const Statement settle = {
    .name = "schedule_settle",
    .scope = STATEMENT_TENANT,
    .params = "iitiiiutiii",
    .many = true,
    .sql = "UPDATE schedule SET next_at = $4, last_for = $5, queued_for = $6, run = $7, fault = $8,"
           " missed = missed + $9, skipped = skipped + $10,"
           " passed_for = COALESCE($11, passed_for) WHERE tenant = $1 AND rule = $2 AND name = $3",
    .postgres = "UPDATE schedule s SET next_at = u.next_at, last_for = u.last_for,"
                " queued_for = u.queued_for, run = u.run, fault = u.fault,"
                " missed = s.missed + u.missed, skipped = s.skipped + u.skipped,"
                " passed_for = COALESCE(u.passed_for, s.passed_for)"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS u (tenant, rule,"
                " name, next_at, last_for, queued_for, run, fault, missed, skipped, passed_for)"
                " WHERE s.tenant = u.tenant AND s.rule = u.rule AND s.name = u.name",
};
static const Statement due = {
    .name = "schedule_due",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(next_at) FROM schedule WHERE next_at IS NOT NULL",
};

// One that is carried back is looked at now, and finds its next occurrence.
static const Statement carry_back = {
    .name = "schedule_carry_back",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE schedule SET last_for = $1, next_at = $1,"
           " queued_for = CASE WHEN queued_for > $2 THEN NULL ELSE queued_for END"
           " WHERE last_for > $2 AND next_at IS NOT NULL",
};

// A definition that was just saved, by the number of its rule.
static const Statement head = {
    .name = "schedule_head",
    .scope = STATEMENT_TENANT,
    .params = "iit",
    .sql = "SELECT r.rule, d.version FROM rule r JOIN definition d ON d.tenant = r.tenant"
           " AND d.kind = " RULE_DEFINITION_SQL " AND d.id = r.id"
           " WHERE r.tenant = $1 AND r.kind = $2 AND r.id = $3",
};
#define KNOWN                                                                                      \
    "SELECT name, cron, zone, next_at, last_for, queued_for, fault FROM schedule"                  \
    " WHERE tenant = $1 AND rule = $2"
static const Statement known = {
    .name = "schedule_known",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = KNOWN,
    .postgres = KNOWN " FOR UPDATE",
};
static const Statement put = {
    .name = "schedule_put",
    .scope = STATEMENT_TENANT,
    .params = "iitittiiii",
    .sql = "INSERT INTO schedule (tenant, rule, name, version, cron, zone, overlap, next_at,"
           " last_for, queued_for, missed, skipped)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)"
           " ON CONFLICT (tenant, rule, name) DO UPDATE SET version = $4, cron = $5, zone = $6,"
           " overlap = $7, next_at = $8, last_for = $9, queued_for = $10, fault = NULL",
};
static const Statement drop_one = {
    .name = "schedule_drop",
    .scope = STATEMENT_TENANT,
    .params = "iit",
    .sql = "DELETE FROM schedule WHERE tenant = $1 AND rule = $2 AND name = $3",
};
static const Statement retire = {
    .name = "schedule_retire",
    .scope = STATEMENT_TENANT,
    .params = "iit",
    .sql = "DELETE FROM schedule WHERE tenant = $1 AND rule IN (SELECT rule FROM rule"
           " WHERE tenant = $1 AND kind = $2 AND id = $3)",
};

// One that is still going on stays the one that is waited for, unless it is younger: others are
// looked for from there on.
static const Statement ran = {
    .name = "schedule_ran",
    .scope = STATEMENT_TENANT,
    .params = "iiu",
    .sql = "UPDATE schedule SET run = $3 WHERE tenant = $1 AND rule = $2 AND (run > $3 OR"
           " NOT EXISTS (SELECT 1 FROM queue q"
           " WHERE q.tenant = schedule.tenant AND q.id = schedule.run))",
};
// Overlap 2 is JOB_OVERLAP_QUEUE. The row is written whether or not something is queued: who looks
// at it right now may be about to queue something, and is waited for. Whose run it was is not
// asked: he may be about to wait for another. They are locked in one order, as several may end.
_Static_assert(JOB_OVERLAP_QUEUE == 2, "the SQL names it by number");
static const Statement ended = {
    .name = "schedule_ended",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .many = true,
    .sql = "UPDATE schedule SET next_at = CASE WHEN queued_for IS NULL THEN next_at ELSE $3 END"
           " WHERE tenant = $1 AND rule = $2 AND overlap = 2 RETURNING queued_for",
    .postgres = "WITH held AS MATERIALIZED (SELECT c.tenant, c.rule, c.name FROM"
                " (SELECT DISTINCT tenant, rule FROM unnest($1, $2) AS v (tenant, rule)) u"
                " JOIN schedule c ON c.tenant = u.tenant AND c.rule = u.rule AND c.overlap = 2"
                " ORDER BY 1, 2, 3 FOR UPDATE OF c)"
                " UPDATE schedule s SET next_at = CASE WHEN s.queued_for IS NULL THEN s.next_at"
                " ELSE ($3)[1] END FROM held h WHERE s.tenant = h.tenant AND s.rule = h.rule"
                " AND s.name = h.name RETURNING s.queued_for",
};

#define SUMS                                                                                       \
    "CAST(SUM(s.missed) AS BIGINT), CAST(SUM(s.skipped) AS BIGINT), MAX(s.passed_for),"            \
    " MIN(s.fault)"
#define SUMMED " ON s.tenant = r.tenant AND s.rule = r.rule"
static const Statement sums = {
    .name = "schedule_sums",
    .scope = STATEMENT_TENANT,
    .params = "iiti",
    .many = true,
    .sql = "SELECT $4, " SUMS " FROM rule r JOIN schedule s" SUMMED
           " WHERE r.tenant = $1 AND r.kind = $2 AND r.id = $3 GROUP BY r.rule",
    .postgres = "SELECT u.n, " SUMS " FROM unnest($1, $2, $3, $4) AS u (tenant, kind, id, n)"
                " JOIN rule r ON r.tenant = u.tenant AND r.kind = u.kind AND r.id = u.id"
                " JOIN schedule s" SUMMED " GROUP BY u.n",
};

const Statement *const schedule_statements[] = {
    &due_count, &take_due, &due_tenants, &take_share, &running, &settle, &due,  &carry_back, &head,
    &known,     &put,      &drop_one,    &retire,     &ran,     &ended,  &sums, NULL
};

#define AT(member) COLUMN(ScheduleRow, member)
#define TIME_AT(member) COLUMN_TIME(ScheduleRow, member)
static const Columns taken_columns =
    COLUMNS(ScheduleRow, AT(tenant), AT(rule), AT(name), AT(version), TIME_AT(next_at),
            AT(last_for), TIME_AT(queued_for), AT(run), AT(fault));
static const Columns settled_columns =
    COLUMNS(ScheduleRow, AT(tenant), AT(rule), AT(name), TIME_AT(next_at), AT(last_for),
            TIME_AT(queued_for), COLUMN_IF(ScheduleRow, has_run, run), AT(fault), AT(missed),
            AT(skipped), TIME_AT(passed_for));

static int by_tenant(const void *a, const void *b)
{
    const ScheduleRow *x = a, *y = b;
    return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

// take_fairly takes a share of each tenant that has something due; where there are more tenants
// than rows to take, of those from a random one on.
static Err take_fairly(Tx *tx, size_t max, Rows *ret, Error *error)
{
    Rows tenants;
    Value args[] = { value_i64(tx->now) };
    TRY(tx_query(tx, &due_tenants, args, &tenants, error));
    size_t count = tenants.count < max ? tenants.count : max;
    size_t first = count > 0 ? random_u64(tx->random) % tenants.count : 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = *rows_at(&tenants, (first + i) % tenants.count);
        values[i * 3 + 1] = value_i64(tx->now);
        values[i * 3 + 2] = value_i64((int64_t) (max / count));
    }
    *ret = (Rows){ 0 };
    db_send_many(tx->db, &tx->arena, &take_share, values, count, ret);
    return tx_sync(tx, error);
}

// find_running says of which rows a run has not ended, and which is the oldest of those.
static Err find_running(Tx *tx, ScheduleRow *rows, size_t count, Error *error)
{
    Rows found = { 0 };
    size_t asked = 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 5 + 1);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].has_run)
            continue;
        values[asked * 5] = value_i64(rows[i].tenant);
        values[asked * 5 + 1] = value_i64(rows[i].rule);
        values[asked * 5 + 2] = value_uuid(&rows[i].run);
        values[asked * 5 + 3] = value_text(rows[i].name);
        values[asked++ * 5 + 4] = value_i64((int64_t) i);
    }
    db_send_many(tx->db, &tx->arena, &running, values, asked, &found);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < found.count; i++) {
        ScheduleRow *row = &rows[value_to_i64(rows_at(&found, i))];
        row->is_running = true;
        row->run = value_to_uuid(&rows_at(&found, i)[1]);
    }
    return ERR_OK;
}

Err schedules_take(Tx *tx, size_t max, SchedulesTaken *ret, Error *error)
{
    Rows counted, rows;
    Value args[] = { value_i64(tx->now), value_i64((int64_t) max + 1) };
    TRY(tx_query(tx, &due_count, args, &counted, error));
    ret->is_cut = value_to_i64(counted.values) > (int64_t) max;
    if (ret->is_cut)
        TRY(take_fairly(tx, max, &rows, error));
    else
        TRY(tx_query(tx, &take_due, args, &rows, error));
    ret->count = rows.count;
    ret->rows = ARENA_ARRAY(&tx->arena, ScheduleRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        ret->rows[i] = (ScheduleRow){ .passed_for = INSTANT_NONE };
        columns_read(&taken_columns, rows_at(&rows, i), &ret->rows[i]);
        ret->rows[i].has_run = !uuid_is_none(ret->rows[i].run);
    }
    qsort(ret->rows, ret->count, sizeof *ret->rows, by_tenant);
    return find_running(tx, ret->rows, ret->count, error);
}

void schedules_carry_back(Tx *tx)
{
    Value args[] = { value_i64(tx->now), value_i64(tx->now + SCHEDULE_AHEAD) };
    db_send(tx->db, &tx->arena, &carry_back, args, NULL);
}

void schedules_settle(Tx *tx, const ScheduleRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &settle, &settled_columns, rows, count, NULL);
}

void schedules_due(Db *db, Arena *arena, Rows *ret)
{
    db_send(db, arena, &due, NULL, ret);
}

Instant schedules_due_take(const Rows *rows)
{
    return value_to_time(rows->values);
}

// Kept is a schedule as it stands, when its definition is saved.
typedef struct Kept {
    Str name, cron, zone;
    Instant next_at, last_for, queued_for;
    Str fault;
    bool is_wanted; // the definition still has it
} Kept;

static const Columns kept_columns = COLUMNS(
    Kept, COLUMN(Kept, name), COLUMN(Kept, cron), COLUMN(Kept, zone), COLUMN_TIME(Kept, next_at),
    COLUMN(Kept, last_for), COLUMN_TIME(Kept, queued_for), COLUMN(Kept, fault));

// Saved is one as the definition has it.
typedef struct Saved {
    int64_t tenant, rule;
    Str name;
    int64_t version;
    Str cron, zone;
    int overlap;
    Instant next_at, last_for, queued_for;
} Saved;

static const Columns saved_columns = COLUMNS(
    Saved, COLUMN(Saved, tenant), COLUMN(Saved, rule), COLUMN(Saved, name), COLUMN(Saved, version),
    COLUMN(Saved, cron), COLUMN(Saved, zone), COLUMN(Saved, overlap), COLUMN_TIME(Saved, next_at),
    COLUMN(Saved, last_for), COLUMN_TIME(Saved, queued_for));

static Kept *kept_of(Kept *kept, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(kept[i].name, name))
            return &kept[i];
    return NULL;
}

// goes_on: it is switched on, was so before, and is due at the same times.
static bool goes_on(const JobSchedule *schedule, const Kept *kept)
{
    return kept && schedule->enabled && kept->next_at != INSTANT_NONE &&
           str_eq(kept->cron, schedule->text) && str_eq(kept->zone, schedule->zone_name);
}

// count_on says from where a schedule counts: one that goes on from where it stands, any other from
// now.
static void count_on(Saved *saved, const JobSchedule *schedule, const Kept *kept, Instant now)
{
    bool is_same = goes_on(schedule, kept);
    saved->last_for = is_same ? kept->last_for : now;
    saved->queued_for = is_same ? kept->queued_for : INSTANT_NONE;
    saved->next_at = INSTANT_NONE;
    if (is_same && !kept->fault.at)
        saved->next_at = kept->next_at;
    else if (schedule->enabled)
        saved->next_at = schedule_next(schedule, saved->last_for);
}

static Err read_kept(Tx *tx, int64_t tenant, int64_t rule, Kept **ret, size_t *ret_count,
                     Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(rule) };
    TRY(tx_query(tx, &known, args, &rows, error));
    *ret = ARENA_ARRAY(&tx->arena, Kept, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        (*ret)[i] = (Kept){ 0 };
        columns_read(&kept_columns, rows_at(&rows, i), &(*ret)[i]);
    }
    return ERR_OK;
}

static void drop_unwanted(Tx *tx, int64_t tenant, int64_t rule, const Kept *kept, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Value args[] = { value_i64(tenant), value_i64(rule), value_text(kept[i].name) };
        if (!kept[i].is_wanted)
            db_send(tx->db, &tx->arena, &drop_one, args, NULL);
    }
}

Err schedule_follow(Tx *tx, int64_t tenant, const Trigger *saved, Error *error)
{
    Rows rows;
    Kept *kept;
    size_t kept_count;
    const Job *job = saved->job;
    Value args[] = { value_i64(tenant), value_i64(saved->rule.kind), value_text(saved->rule.id) };
    TRY(tx_query(tx, &head, args, &rows, error));
    assert(rows.count == 1); // it was just saved
    Saved row = { .tenant = tenant,
                  .rule = value_to_i64(&rows.values[0]),
                  .version = value_to_i64(&rows.values[1]) };
    TRY(read_kept(tx, tenant, row.rule, &kept, &kept_count, error));
    for (size_t i = 0; i < job->schedule_count; i++) {
        const JobSchedule *schedule = &job->schedules[i];
        row.name = schedule->name.at ? schedule->name : S("");
        row.cron = schedule->text;
        row.zone = schedule->zone_name;
        row.overlap = (int) schedule->overlap;
        Kept *before = kept_of(kept, kept_count, row.name);
        count_on(&row, schedule, before, tx->now);
        db_send_row(tx->db, &tx->arena, &put, &saved_columns, &row, NULL);
        if (before)
            before->is_wanted = true;
    }
    drop_unwanted(tx, tenant, row.rule, kept, kept_count);
    return tx_sync(tx, error);
}

Err schedule_retire(Tx *tx, int64_t tenant, RuleKind kind, Str id, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(kind), value_text(id) };
    return tx_query(tx, &retire, args, &rows, error);
}

void schedule_ran(Tx *tx, int64_t tenant, int64_t rule, Uuid run)
{
    Uuid *kept = arena_copy(&tx->arena, &run, sizeof run);
    Value args[] = { value_i64(tenant), value_i64(rule), value_uuid(kept) };
    db_send(tx->db, &tx->arena, &ran, args, NULL);
}

Err schedules_ended(Tx *tx, const ScheduleEnd *ends, size_t count, Error *error)
{
    Rows rows = { 0 };
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(ends[i].tenant);
        values[i * 3 + 1] = value_i64(ends[i].rule);
        values[i * 3 + 2] = value_i64(tx->now);
    }
    db_send_many(tx->db, &tx->arena, &ended, values, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        tx->wakes |= value_to_time(rows_at(&rows, i)) != INSTANT_NONE;
    return ERR_OK;
}

Err schedules_look(Db *db, Arena *arena, int64_t tenant, RuleKind kind, ScheduleSum *rows,
                   size_t count, Error *error)
{
    Rows found = { 0 };
    Value *values = ARENA_ARRAY(arena, Value, count * 4 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 4] = value_i64(tenant);
        values[i * 4 + 1] = value_i64(kind);
        values[i * 4 + 2] = value_text(rows[i].id);
        values[i * 4 + 3] = value_i64((int64_t) i);
        rows[i] = (ScheduleSum){ .id = rows[i].id, .passed_for = INSTANT_NONE };
    }
    db_send_many(db, arena, &sums, values, count, &found);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < found.count; i++) {
        const Value *row = rows_at(&found, i);
        ScheduleSum *sum = &rows[value_to_i64(&row[0])];
        sum->missed = value_to_i64(&row[1]);
        sum->skipped = value_to_i64(&row[2]);
        sum->passed_for = value_to_time(&row[3]);
        sum->fault = value_to_str(&row[4]);
    }
    return ERR_OK;
}
