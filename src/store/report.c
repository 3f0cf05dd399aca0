#include "store/report.h"

#include "domain/run.h"
#include "store/follow.h"

#define FOUND "SELECT " STANDING_COLUMNS("q.") ", d.version, " ORIGIN_COLUMNS
#define PROMISED                                                                                   \
    " JOIN delivery d ON d.tenant = q.tenant AND d.id = q.id"                                      \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"

static const Statement find = {
    .name = "report_find",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = FOUND " FROM queue q" PROMISED " WHERE q.tenant = $1 AND q.id = $2",
    .postgres = FOUND " FROM unnest($1, $2) AS s (tenant, id)"
                      " JOIN queue q ON q.tenant = s.tenant AND q.id = s.id" PROMISED
                      " ORDER BY q.tenant, q.id FOR UPDATE OF q",
};

const Statement *const report_statements[] = { &find, NULL };

static const Columns asked_columns = COLUMNS(Report, COLUMN(Report, tenant), COLUMN(Report, id));

// Subject is a delivery that a report is about, as it stands.
typedef struct Subject {
    QueueRow row;
    int64_t version;
    Origin origin;
    TargetsOf of;
    Report *report;
} Subject;

static bool is_his(const Subject *subject, const Report *report)
{
    const Live *live = &subject->row.live;
    if (subject->row.is_unsound || live->state != DELIVERY_SENDING || live->step != STEP_LEASE)
        return false;
    return report->fence ? report->fence == live->fence : report->attempt == live->attempt;
}

static Report *find_report(Report *reports, size_t count, const QueueRow *row)
{
    for (size_t i = 0; i < count; i++)
        if (reports[i].tenant == row->tenant && uuid_cmp(reports[i].id, row->id) == 0)
            return &reports[i];
    return NULL;
}

// pick reads the deliveries that reports are about, and says which reports are stale.
static Err pick(Tx *tx, Report *reports, size_t count, Subject **ret, size_t *ret_count,
                Error *error)
{
    Rows rows;
    db_send_rows(tx->db, &tx->arena, &find, &asked_columns, reports, count, &rows);
    TRY(tx_sync(tx, error));
    Subject *subjects = ARENA_ARRAY(&tx->arena, Subject, rows.count);
    for (size_t i = 0; i < count; i++)
        reports[i].is_stale = true;
    *ret = subjects;
    *ret_count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        Subject *subject = &subjects[*ret_count];
        queue_read(rows_at(&rows, i), &subject->row);
        subject->version = value_to_i64(&rows_at(&rows, i)[STANDING_COLUMN_COUNT]);
        origin_read(&rows_at(&rows, i)[STANDING_COLUMN_COUNT + 1], &subject->origin);
        subject->report = find_report(reports, count, &subject->row);
        assert(subject->report);
        if (!is_his(subject, subject->report))
            continue;
        subject->report->is_stale = false;
        ++*ret_count;
    }
    return ERR_OK;
}

static Err load_targets(Tx *tx, Subject *subjects, size_t count, Error *error)
{
    TargetsOf *of = ARENA_ARRAY(&tx->arena, TargetsOf, count);
    for (size_t i = 0; i < count; i++)
        of[i] = (TargetsOf){ .tenant = subjects[i].row.tenant, .delivery = subjects[i].row.id };
    TRY(targets_load(tx, &tx->arena, of, count, error));
    for (size_t i = 0; i < count; i++)
        subjects[i].of = of[i];
    return ERR_OK;
}

static bool is_elsewhere(const Target *target, int send)
{
    return target->send == send && target->outcome.verdict == VERDICT_ELSEWHERE;
}

// told_of lists the targets that a report is about, with its outcome: those that were left with its
// author, and where he pulled the delivery, all that are not done.
static Target *told_of(Tx *tx, Subject *subject, size_t *ret_count)
{
    TargetsOf *of = &subject->of;
    int send = subject->row.live.send;
    bool was_left = false;
    for (size_t i = 0; i < of->count; i++)
        was_left |= is_elsewhere(&of->targets[i], send);
    Target *told = ARENA_ARRAY(&tx->arena, Target, of->count);
    *ret_count = 0;
    for (size_t i = 0; i < of->count; i++) {
        Target *target = &of->targets[i];
        if (was_left ? !is_elsewhere(target, send) : target_is_done(target, send))
            continue;
        target->send = send;
        target->outcome = subject->report->outcome;
        told[(*ret_count)++] = *target;
    }
    return told;
}

static Err settle_tells(Tx *tx, Subject *subject, Settle *ret, Error *error)
{
    QueueRow *row = &subject->row;
    const Trigger *trigger;
    size_t told_count;
    Target *told = told_of(tx, subject, &told_count);
    Outcome outcome = subject->report->outcome;
    if (subject->of.count > 0)
        outcome = outcome_fold(&tx->arena, subject->of.targets, subject->of.count, NULL);
    TRY(versions_load(tx->versions, tx->db, row->tenant, row->rule, subject->version, &trigger,
                      error));
    row->is_run = !trigger || run_of_rule(trigger->rule.kind);
    if (trigger) {
        const RegistryLane *lane = registry_lane(tx->registry, row->lane);
        RetryPolicy policy = registry_retry(lane, trigger, &subject->origin);
        subject->report->to =
            delivery_settle(&row->live, &trigger->rule.plan, &policy, &outcome, tx->now, 0);
    } else {
        subject->report->to = delivery_park(&row->live, REASON_UNREADABLE);
    }
    versions_drop(trigger);
    *ret = settle_tried(row, subject->report->to, &outcome, tx->now);
    ret->targets = told;
    ret->target_count = told_count;
    return ERR_OK;
}

static void settle_renews(Subject *subject, Settle *ret)
{
    subject->report->to = delivery_renew(&subject->row.live, subject->report->lease_until);
    *ret = settle_from(&subject->row, subject->report->to);
}

// tell_stale notes what became of attempts that were called off while they were under way.
static void tell_stale(Tx *tx, const Report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (reports[i].is_stale && !reports[i].is_renewal)
            queue_tell(tx, &(Settle){ .tenant = reports[i].tenant,
                                      .id = reports[i].id,
                                      .fence = reports[i].fence,
                                      .attempt = { .number = reports[i].attempt,
                                                   .finished_at = tx->now,
                                                   .outcome = reports[i].outcome } });
}

Err queue_report(Tx *tx, Report *reports, size_t count, Error *error)
{
    Subject *subjects;
    SettleBatch batch = { 0 };
    for (size_t i = 0; i < count; i++)
        assert(!reports[i].fence != !reports[i].attempt &&
               reports[i].outcome.verdict != VERDICT_ELSEWHERE);
    TRY(pick(tx, reports, count, &subjects, &batch.count, error));
    TRY(load_targets(tx, subjects, batch.count, error));
    batch.rows = ARENA_ARRAY(&tx->arena, Settle, batch.count);
    for (size_t i = 0; i < batch.count; i++)
        if (subjects[i].report->is_renewal)
            settle_renews(&subjects[i], &batch.rows[i]);
        else
            TRY(settle_tells(tx, &subjects[i], &batch.rows[i], error));
    tell_stale(tx, reports, count);
    return follow_settle_now(tx, &batch, error);
}
