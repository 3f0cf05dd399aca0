#include "engine/state.h"

#include "base/log.h"
#include "base/time.h"
#include "store/delivery.h"
#include "store/run.h"
#include "store/schedule.h"

// Firing makes runs of the occurrences that fell due: which, domain/schedule.h decides; each is an
// event for the job's rule alone, with an identity of its own, so that no occurrence becomes two
// runs, whatever nodes or clocks do. Runs and how far each schedule has come are one transaction.
//
// A schedule never goes back, or a clock that is set back would fire again what has been passed
// over; but one that a clock far ahead has carried along would wait until that time comes. So at
// the start, and when wall time is believed anew, such schedules are carried back to now.
//
// The engine sleeps until the first schedule is due, which a run tells, and the probe of all lanes
// does for what other nodes have saved. A schedule whose definition cannot be read any more, or
// whose run the store does not take, is set aside with the reason and tried again later; all others
// fire. Which one the store does not take is found by taking fewer, as settles do.

enum {
    FIRE_RUNS_MAX = 2000,   // runs, past which no other schedule is looked at
    MISSED_LOGGED_MAX = 20, // schedules that missed something, by name in the log
};

#define ASIDE SPAN_MINUTE
#define CONTESTED ((Span) 20 * SPAN_MILLISECOND) // all that is due is another node's

// Firing is the schedules of one tenant, on their way.
typedef struct Firing {
    Tx *tx;
    DutyReport *report;
    int64_t tenant;
    ScheduleRow *rows;
    size_t count;
    const Trigger **rules; // of the rows, held; NULL where one cannot be read
    AcceptItem *items;
    ScheduleRow **made_by; // of the items
    size_t item_count;
} Firing;

static Err fire(Tx *tx, const SchedulesTaken *taken, DutyReport *ret, Error *error);
static Err fire_tenant(Firing *firing, Error *error);
static void set_aside(const Tx *tx, ScheduleRow *row, Str fault);

Err fire_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    Rows due;
    SchedulesTaken taken;
    size_t max = ret->firing.max ? ret->firing.max : FIRE_MAX;
    if (ret->firing.carries_back)
        schedules_carry_back(tx);
    TRY(schedules_take(tx, max, &taken, error));
    ret->has_more = taken.is_cut;
    if (taken.count > 0)
        TRY(tx_guard(tx, error)); // a row may be younger than what is known of its rule
    if (max == 1 && taken.count == 1 && ret->fault)
        set_aside(tx, taken.rows, str_dup(&tx->arena, str_from(ret->fault)));
    else
        TRY(fire(tx, &taken, ret, error));
    schedules_settle(tx, taken.rows, taken.count);
    schedules_due(tx->db, &tx->arena, &due);
    TRY(tx_sync(tx, error));
    ret->firing.due_at = schedules_due_take(&due);
    ret->firing.is_contested = taken.count == 0 && ret->firing.due_at <= tx->now;
    return ERR_OK;
}

void fire_take(Engine *engine, const DutyReport *report)
{
    Instant now = clock_now(engine->options.clock), due_at = report->firing.due_at;
    if (report->firing.is_contested && !engine->options.clock->is_manual)
        due_at = later(due_at, now + CONTESTED);
    duty_falls_due(engine, DUTY_FIRE, due_at);
    engine->is_carried_back |= report->firing.carries_back;
    metric_count(METRIC_SCHEDULE_FIRED, METRIC_ALONE, report->tally.fired);
    metric_count(METRIC_SCHEDULE_MISSED, METRIC_ALONE, report->firing.missed);
    if (report->firing.oldest != INSTANT_NONE)
        metric_observe(METRIC_SCHEDULE_LAG, METRIC_ALONE, now - report->firing.oldest);
    engine->fire_max = engine->fire_max * 2 < FIRE_MAX ? engine->fire_max * 2 : 0;
}

void fire_anew(Engine *engine)
{
    engine->is_carried_back = false;
    engine->duties[DUTY_FIRE].is_wanted = true;
}

void fire_failed(Engine *engine)
{
    size_t max = engine->fire_max ? engine->fire_max : FIRE_MAX;
    engine->fire_max = max > 1 ? max / 2 : 1;
}

static size_t same_tenant(const ScheduleRow *rows, size_t count)
{
    size_t same = 1;
    while (same < count && rows[same].tenant == rows[0].tenant)
        same++;
    return same;
}

static Err fire(Tx *tx, const SchedulesTaken *taken, DutyReport *ret, Error *error)
{
    for (size_t first = 0, count; first < taken->count; first += count) {
        count = same_tenant(taken->rows + first, taken->count - first);
        Firing firing = { .tx = tx,
                          .report = ret,
                          .tenant = taken->rows[first].tenant,
                          .rows = taken->rows + first,
                          .count = count,
                          .rules = ARENA_ARRAY(&tx->arena, const Trigger *, count) };
        TRY(fire_tenant(&firing, error));
    }
    return ERR_OK;
}

static const JobSchedule *schedule_of(const Trigger *rule, Str name)
{
    for (size_t i = 0; rule->job && i < rule->job->schedule_count; i++)
        if (str_eq(rule->job->schedules[i].name, name))
            return &rule->job->schedules[i];
    return NULL;
}

// set_aside leaves one alone for a while, and says why.
static void set_aside(const Tx *tx, ScheduleRow *row, Str fault)
{
    if (!row->fault.at)
        log_error("schedule.aside", "tenant=%lld rule=%lld name=%s detail=%s",
                  (long long) row->tenant, (long long) row->rule, log_quote(row->name),
                  log_quote(fault));
    row->fault = fault;
    row->next_at = tx->now + ASIDE;
}

// say_missed logs what nobody was there for: of the first few schedules by name, for after an
// outage there may be a hundred thousand.
static void say_missed(const Firing *firing, const Trigger *rule, const SchedulePlan *plan)
{
    char text[TIME_TEXT_MAX];
    FireReport *report = &firing->report->firing;
    report->missed += plan->missed;
    if (plan->missed > 0 && report->missed_by++ < MISSED_LOGGED_MAX)
        log_warn("schedule.missed", "tenant=%lld job=%s occurrences=%lld%s last=%.*s",
                 (long long) firing->tenant, log_quote(rule->rule.id), (long long) plan->missed,
                 plan->missed == SCHEDULE_COUNT_MAX ? "+" : "",
                 STR_ARG(time_text(plan->passed_for, text)));
}

// ready is a rule that makes runs, in the arena; NULL where its handler has no lane.
static const Trigger *ready(Tx *tx, const Trigger *rule)
{
    Trigger *named = arena_copy(&tx->arena, rule, sizeof *rule);
    named->enabled = true;
    named->rule.lane = registry_lane_of(tx->registry, rule->rule.tenant, rule->channel);
    return named->rule.lane ? named : NULL;
}

// look decides what becomes of one schedule, and how far it has come then.
static const Trigger *look(const Firing *firing, ScheduleRow *row, const Trigger *rule,
                           SchedulePlan *ret)
{
    Tx *tx = firing->tx;
    const JobSchedule *schedule = rule ? schedule_of(rule, row->name) : NULL;
    const Trigger *named = schedule ? ready(tx, rule) : NULL;
    if (!named) {
        set_aside(tx, row,
                  rule ? S("its definition has no such schedule or no handler")
                       : S("its definition cannot be read"));
        return NULL;
    }
    ScheduleState state = { row->last_for, row->queued_for, row->is_running };
    *ret = schedule_plan(&tx->arena, schedule, &state, tx->now);
    row->fault = STR_NONE;
    row->next_at = ret->next_at;
    row->last_for = ret->last_for;
    row->queued_for = ret->queued_for;
    row->missed = ret->missed;
    row->skipped = ret->skipped;
    row->passed_for = ret->passed_for;
    say_missed(firing, rule, ret);
    return named;
}

// add makes items of what becomes runs of a schedule.
static Err add(Firing *firing, ScheduleRow *row, const Trigger *named, const SchedulePlan *plan,
               Error *error)
{
    Arena *arena = &firing->tx->arena;
    size_t old = firing->item_count, count = old + plan->made_count;
    firing->items = arena_grow(arena, firing->items, old * sizeof *firing->items,
                               count * sizeof *firing->items);
    firing->made_by = arena_grow(arena, firing->made_by, old * sizeof(ScheduleRow *),
                                 count * sizeof(ScheduleRow *));
    for (size_t i = 0; i < plan->made_count; i++) {
        firing->made_by[old + i] = row;
        Run run = { .source = RUN_SCHEDULED, .due_at = plan->made[i], .schedule = row->name };
        TRY(run_item(arena, named, &run, &firing->items[old + i], error));
    }
    firing->item_count = count;
    return ERR_OK;
}

// decide looks at the schedules one by one, until there are runs enough.
static Err decide(Firing *firing, Error *error)
{
    for (size_t i = 0; i < firing->count; i++) {
        SchedulePlan plan;
        if (firing->report->tally.fired + (int64_t) firing->item_count >= FIRE_RUNS_MAX) {
            firing->report->has_more = true;
            break;
        }
        const Trigger *named = look(firing, &firing->rows[i], firing->rules[i], &plan);
        if (named && plan.made_count > 0)
            TRY(add(firing, &firing->rows[i], named, &plan, error));
    }
    return ERR_OK;
}

// remember notes the run of an item with its schedule; of several that were made together, the
// first: the others are found from there on.
static void remember(Firing *firing, const AcceptItem *item, bool is_first, ScheduleRow *row)
{
    DutyReport *report = firing->report;
    if (is_first)
        row->run =
            item->is_duplicate ? delivery_id_of(item->identity.holder, 1) : item->pairs[0].delivery;
    row->has_run = true;
    report->tally.fired += !item->is_duplicate;
    report->firing.oldest = earlier(report->firing.oldest, item->event.occurred_at);
}

static Err make(Firing *firing, Error *error)
{
    Tx *tx = firing->tx;
    if (firing->item_count == 0)
        return ERR_OK;
    TRY(runs_make(tx, &tx->arena, firing->tenant, firing->items, firing->item_count, error));
    for (size_t i = 0; i < firing->item_count; i++)
        remember(firing, &firing->items[i], i == 0 || firing->made_by[i] != firing->made_by[i - 1],
                 firing->made_by[i]);
    return tx_sync(tx, error); // what was sent refers to the rules
}

static Err fire_tenant(Firing *firing, Error *error)
{
    Tx *tx = firing->tx;
    VersionKey *keys = ARENA_ARRAY(&tx->arena, VersionKey, firing->count);
    for (size_t i = 0; i < firing->count; i++)
        keys[i] = (VersionKey){ firing->rows[i].rule, firing->rows[i].version };
    TRY(versions_load_all(tx->versions, tx->db, firing->tenant, keys, firing->count, firing->rules,
                          error));
    Err err = decide(firing, error);
    if (err == ERR_OK)
        err = make(firing, error);
    for (size_t i = 0; i < firing->count; i++)
        versions_drop(firing->rules[i]);
    return err;
}
