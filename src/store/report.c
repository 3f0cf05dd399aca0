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

// What is told of a delivery that is not his any more may be what he told before: the reply was
// lost, and he asks again. Verdict 3 is unknown: of an attempt that is not over nothing is told
// yet.
_Static_assert(VERDICT_UNKNOWN == 3, "the SQL names it by number");
#define PAST_LIVE                                                                                  \
    "SELECT q.tenant, q.id, q.lane, q.state, q.fence, q.attempt, COALESCE(a.verdict, 3)"
#define PAST_ENDED                                                                                 \
    "SELECT n.tenant, n.id, n.lane, n.state, n.fence, n.attempt, COALESCE(n.verdict, 3)"
#define PAST_ATTEMPT                                                                               \
    " LEFT JOIN attempt a ON a.tenant = q.tenant AND a.delivery = q.id AND a.number = q.attempt"
static const Statement past = {
    .name = "report_past",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = PAST_LIVE " FROM queue q" PAST_ATTEMPT " WHERE q.tenant = $1 AND q.id = $2"
                     " UNION ALL " PAST_ENDED " FROM ended n WHERE n.tenant = $1 AND n.id = $2",
    .postgres = PAST_LIVE " FROM unnest($1, $2) AS s (tenant, id)"
                          " JOIN queue q ON q.tenant = s.tenant AND q.id = s.id" PAST_ATTEMPT
                          " UNION ALL " PAST_ENDED " FROM unnest($1, $2) AS s (tenant, id)"
                          " JOIN ended n ON n.tenant = s.tenant AND n.id = s.id",
};

const Statement *const report_statements[] = { &find, &past, NULL };

static const Columns asked_columns = COLUMNS(Report, COLUMN(Report, tenant), COLUMN(Report, id));

// Wave is reports of which each is about another delivery, by tenant and id.
typedef struct Wave {
    Report **at;
    size_t count;
} Wave;

// Subject is a delivery that a report is about, as it stands.
typedef struct Subject {
    QueueRow row;
    int64_t version;
    Origin origin;
    TargetsOf of;
    Report *report;
} Subject;

// Past is a delivery as it stands, with what is on record of its last attempt.
typedef struct Past {
    int64_t tenant;
    Uuid id;
    int64_t lane;
    DeliveryState state;
    int fence, attempt;
    Verdict verdict;
} Past;

static const Columns past_columns =
    COLUMNS(Past, COLUMN(Past, tenant), COLUMN(Past, id), COLUMN(Past, lane), COLUMN(Past, state),
            COLUMN(Past, fence), COLUMN(Past, attempt), COLUMN(Past, verdict));

static int by_delivery(const void *a, const void *b)
{
    const Report *x = *(Report *const *) a, *y = *(Report *const *) b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    int order = uuid_cmp(x->id, y->id);
    return order != 0 ? order : (x > y) - (x < y); // in the order in which they came
}

static Report *report_on(const Wave *wave, int64_t tenant, Uuid id)
{
    size_t from = 0, to = wave->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        Report *report = wave->at[middle];
        int order = report->tenant != tenant ? (report->tenant < tenant ? -1 : 1)
                                             : uuid_cmp(report->id, id);
        if (order == 0)
            return report;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    assert(!"what was not asked for was found");
    return NULL;
}

// goes_by_fence: claims of the lane are known by their fences to whoever is outside.
static bool goes_by_fence(const Tx *tx, int64_t lane)
{
    const RegistryLane *way = registry_lane(tx->registry, lane);
    return !way || !way->channel || channel_is_pulled(&way->channel->definition);
}

// names says whether the report means this claim of a delivery.
static bool names(const Tx *tx, const Report *report, int64_t lane, int fence, int attempt)
{
    if (report->fence)
        return report->fence == fence;
    if (report->attempt)
        return report->attempt == attempt;
    return report->number == (goes_by_fence(tx, lane) ? fence : attempt);
}

static bool is_barred(const Report *report, int64_t lane)
{
    for (size_t i = 0; i < report->lane_count; i++)
        if (report->lanes[i] == lane)
            return false;
    return report->lanes != NULL;
}

static bool is_his(const Tx *tx, const Subject *subject)
{
    const QueueRow *row = &subject->row;
    if (row->is_unsound || row->live.state != DELIVERY_SENDING || row->live.step != STEP_LEASE)
        return false;
    return !is_barred(subject->report, row->lane) &&
           names(tx, subject->report, row->lane, row->live.fence, row->live.attempt);
}

// pick reads the deliveries that reports are about; those that are not theirs are left out.
static Err pick(Tx *tx, const Wave *wave, Subject **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    db_send_picked(tx->db, &tx->arena, &find, &asked_columns, (const void *const *) wave->at,
                   wave->count, &rows);
    TRY(tx_sync(tx, error));
    Subject *subjects = ARENA_ARRAY(&tx->arena, Subject, rows.count);
    for (size_t i = 0; i < wave->count; i++) {
        wave->at[i]->is_stale = true;
        wave->at[i]->is_missing = wave->at[i]->is_barred = wave->at[i]->is_repeated = false;
        wave->at[i]->is_early = false;
    }
    *ret = subjects;
    *ret_count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        Subject *subject = &subjects[*ret_count];
        queue_read(rows_at(&rows, i), &subject->row);
        subject->version = value_to_i64(&rows_at(&rows, i)[STANDING_COLUMN_COUNT]);
        origin_read(&rows_at(&rows, i)[STANDING_COLUMN_COUNT + 1], &subject->origin);
        subject->report = report_on(wave, subject->row.tenant, subject->row.id);
        if (!is_his(tx, subject))
            continue;
        subject->report->is_stale = false;
        ++*ret_count;
    }
    return ERR_OK;
}

static void learn_past(const Tx *tx, Report *report, const Past *found)
{
    bool is_off = found->state == DELIVERY_CANCELLED || found->state == DELIVERY_COMPLETED;
    report->is_missing = false;
    report->to = (Settlement){ .live.state = found->state };
    if (is_barred(report, found->lane)) {
        report->is_barred = true;
        return;
    }
    bool is_named = names(tx, report, found->lane, found->fence, found->attempt);
    report->by_attempt = !goes_by_fence(tx, found->lane);
    report->is_early = report->by_attempt && found->state == DELIVERY_SENDING && is_named;
    report->is_repeated = !report->is_renewal && !is_off && found->state != DELIVERY_SENDING &&
                          found->verdict == report->outcome.verdict && is_named;
}

// ask_past finds out what stale reports are about.
static Err ask_past(Tx *tx, const Wave *wave, Error *error)
{
    Rows rows;
    size_t count = 0;
    const void **stale = ARENA_ARRAY(&tx->arena, const void *, wave->count + 1);
    for (size_t i = 0; i < wave->count; i++)
        if (wave->at[i]->is_stale) {
            wave->at[i]->is_missing = true;
            stale[count++] = wave->at[i];
        }
    if (count == 0)
        return ERR_OK;
    db_send_picked(tx->db, &tx->arena, &past, &asked_columns, stale, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Past found;
        columns_read(&past_columns, rows_at(&rows, i), &found);
        learn_past(tx, report_on(wave, found.tenant, found.id), &found);
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
    row->is_run = !trigger || trigger_is_run(trigger);
    if (trigger) {
        const RegistryLane *lane = registry_lane(tx->registry, row->lane);
        RetryPolicy policy = registry_retry(tx->registry, lane, trigger, &subject->origin);
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

// lease_of is until when a sign of life holds.
static Instant lease_of(const Tx *tx, const Subject *subject)
{
    const RegistryLane *lane = registry_lane(tx->registry, subject->row.lane);
    const RegistryChannel *channel = lane ? lane->channel : NULL;
    if (subject->report->lease_until)
        return subject->report->lease_until;
    bool is_known = channel && !channel->is_sealed;
    return tx->now + channel_lease(is_known ? registry_config(tx->registry, channel) : NULL);
}

static void settle_renews(const Tx *tx, Subject *subject, Settle *ret)
{
    subject->report->to = delivery_renew(&subject->row.live, lease_of(tx, subject));
    *ret = settle_from(&subject->row, subject->report->to);
}

// tell_stale notes what became of attempts that were called off while they were under way.
static void tell_stale(Tx *tx, const Wave *wave)
{
    for (size_t i = 0; i < wave->count; i++) {
        const Report *report = wave->at[i];
        if (!report->is_stale || report->is_repeated || report->is_renewal || report->is_missing ||
            report->is_barred || report->is_early)
            continue;
        queue_tell(
            tx,
            &(Settle){ .tenant = report->tenant,
                       .id = report->id,
                       .fence = report->by_attempt ? report->fence : report->fence + report->number,
                       .attempt = { .number = report->by_attempt ? report->attempt + report->number
                                                                 : report->attempt,
                                    .finished_at = tx->now,
                                    .outcome = report->outcome } });
    }
}

static Err report_wave(Tx *tx, const Wave *wave, Error *error)
{
    Subject *subjects;
    SettleBatch batch = { 0 };
    TRY(pick(tx, wave, &subjects, &batch.count, error));
    TRY(ask_past(tx, wave, error));
    TRY(load_targets(tx, subjects, batch.count, error));
    batch.rows = ARENA_ARRAY(&tx->arena, Settle, batch.count);
    for (size_t i = 0; i < batch.count; i++)
        if (subjects[i].report->is_renewal)
            settle_renews(tx, &subjects[i], &batch.rows[i]);
        else
            TRY(settle_tells(tx, &subjects[i], &batch.rows[i], error));
    tell_stale(tx, wave);
    TRY(follow_settle_now(tx, &batch, error));
    for (size_t i = 0; i < batch.count; i++)
        subjects[i].report->to = batch.rows[i].to;
    return ERR_OK;
}

// next_wave takes the first report of each delivery out of those that are left, which are sorted.
static Wave next_wave(Tx *tx, Report **left, size_t *count)
{
    Wave wave = { .at = ARENA_ARRAY(&tx->arena, Report *, *count) };
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const Report *last = wave.count ? wave.at[wave.count - 1] : NULL;
        if (last && last->tenant == left[i]->tenant && uuid_cmp(last->id, left[i]->id) == 0)
            left[kept++] = left[i];
        else
            wave.at[wave.count++] = left[i];
    }
    *count = kept;
    return wave;
}

Err queue_report(Tx *tx, Report *reports, size_t count, Error *error)
{
    Report **left = ARENA_ARRAY(&tx->arena, Report *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Report *report = left[i] = &reports[i];
        assert(!!report->fence + !!report->attempt + !!report->number == 1);
        assert(report->outcome.verdict != VERDICT_ELSEWHERE);
    }
    qsort(left, count, sizeof(Report *), by_delivery);
    while (count > 0) {
        Wave wave = next_wave(tx, left, &count);
        TRY(report_wave(tx, &wave, error));
    }
    return ERR_OK;
}
