#include "sim.h"

#include "domain/run.h"
#include "store/definition.h"
#include "store/lane.h"
#include "store/run.h"
#include "store/schedule.h"

// Jobs, and what their schedules promise, whatever nodes, stores and clocks do.
//
// I51: an occurrence becomes one run at most, of a moment that the schedule names, and never before
//      it; a sound node leaves none lying.
// I52: of occurrences nothing is lost: since a schedule was saved, each has its run, waits in the
//      queue, or is counted as missed or skipped. What policy wants made is made.
// I53: unless overlap is allowed, one run of a schedule goes on at a time.
// I54: the end of a run is told once, and of no run that has not ended.
// I56: an occurrence is tried again before the next one, and not after it; what makes up for one
//      that was missed, whenever that may be.

enum { TRIGGERS_PERCENT = 70 };
#define ON_TIME ((Span) 5 * SPAN_SECOND) // what nobody was late for, in the words of the law

static Table *table_of(Sim *sim, const Pattern *pattern)
{
    return &sim->tables[pattern - patterns];
}

// last_before is the last occurrence up to an instant.
static Instant last_before(const Pattern *pattern, Instant at)
{
    return at - at % pattern->period;
}

static int64_t count_between(const Pattern *pattern, Instant after, Instant until)
{
    return (last_before(pattern, until) - last_before(pattern, after)) / pattern->period;
}

static bool is_scheduled(const Track *track)
{
    return track->pattern->period && track->source == RUN_SCHEDULED;
}

// Moves.

static Str body_of(Sim *sim, const Pattern *pattern, bool is_enabled)
{
    return str_format(&sim->arena, "{'name':'%s','enabled':%s,%s}", pattern->id,
                      is_enabled ? "true" : "false", pattern->json);
}

Err job_publish(Tx *tx, Sim *sim, const Pattern *pattern, bool is_enabled, Error *error)
{
    Trigger job;
    Str body = moves_quoted(sim, body_of(sim, pattern, is_enabled).at);
    TRY(moves_put(tx, DEFINITION_JOB, str_from(pattern->id),
                  str_from(sim->lanes[pattern->lane].key), body, error));
    TRY(job_parse(&tx->arena, body, &job, error));
    return schedule_follow(tx, OUR_TENANT, &job, error);
}

static Err apply_save(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        TRY(job_publish(tx, call->sim, call->job, call->is_on, error));
    }
    return ERR_OK;
}

static void save(Sim *sim, Node *node, const Pattern *pattern, bool is_on)
{
    static const OpKind kind = { .name = "sim job", .apply = apply_save };
    Call *call = call_new(sim, node, CALL_JOB);
    call->job = pattern;
    call->is_on = is_on;
    trace(sim, "client: n%d saves %s, %s", node->index, pattern->id, is_on ? "on" : "off");
    call_submit(call, &kind, call_done);
}

static Err apply_trigger(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Call *call = (Call *) ops[i];
        const Trigger *rule;
        Accept *accept = &call->accept;
        *accept = (Accept){ .arena = &call->sim->arena,
                            .tenant = OUR_TENANT,
                            .now = tx->now,
                            .count = 1,
                            .items = ARENA_NEW(&call->sim->arena, AcceptItem) };
        accept->items[0] = (AcceptItem){ 0 };
        Run run = { .source = RUN_MANUAL, .due_at = tx->now };
        TRY(run_rule(tx, &tx->arena, OUR_TENANT, RULE_JOB, str_from(call->job->id), &rule, error));
        TRY(run_item(&tx->arena, rule, &run, &accept->items[0], error));
        TRY(accept_decide(accept, tx->registry, tx->random, error));
        TRY(accept_write(tx, &accept, 1, error));
        schedule_ran(tx, OUR_TENANT, rule->rule.number, accept->items[0].pairs[0].delivery);
    }
    return ERR_OK;
}

static void trigger(Sim *sim, Node *node, const Pattern *pattern)
{
    static const OpKind kind = { .name = "sim trigger", .apply = apply_trigger };
    Call *call = call_new(sim, node, CALL_JOB);
    call->job = pattern;
    trace(sim, "client: n%d runs %s", node->index, pattern->id);
    call_submit(call, &kind, call_done);
}

static const Pattern *draw_job(Sim *sim)
{
    const Pattern *pattern;
    do
        pattern = &patterns[draw(sim, (int) pattern_count)];
    while (!pattern->is_job);
    return pattern;
}

void job_ask(Sim *sim, Node *node)
{
    const Pattern *pattern = draw_job(sim);
    if (chance(sim, TRIGGERS_PERCENT))
        trigger(sim, node, pattern);
    else
        save(sim, node, pattern, !chance(sim, 30));
}

// job_retire switches all off: what is under way may end.
void job_retire(Sim *sim, Node *node)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (patterns[i].is_job)
            save(sim, node, &patterns[i], false);
}

// Laws.

// policy_allows says whether an occurrence may be made at such a time.
static bool policy_allows(const Track *track)
{
    const Pattern *pattern = track->pattern;
    Span late = track->made_at - track->scheduled_for;
    switch (pattern->missed) {
    case JOB_MISSED_SKIP:
        return late <= ON_TIME || pattern->overlap == JOB_OVERLAP_QUEUE; // it may have waited
    case JOB_MISSED_ONCE:
        return track->scheduled_for == last_before(pattern, track->made_at);
    case JOB_MISSED_ALL:
        return late <= pattern->missed_window;
    }
    return false;
}

// latest is what any clock shows, or has shown.
static Instant latest(const Sim *sim)
{
    Instant at = sim->latest;
    for (int i = 0; i < sim->node_count; i++)
        at = later(at, clock_now(&sim->nodes[i].clock));
    return at;
}

// I51
void job_on_made(Sim *sim, const Track *track)
{
    if (!is_scheduled(track))
        return;
    const Pattern *pattern = track->pattern;
    sim->fired_at[pattern - patterns] = track->made_at;
    trace(sim, "track %d is %s for %.3f", name_of(sim, track), pattern->id,
          (double) (track->scheduled_for - BEGINNING) / SPAN_SECOND);
    if (track->scheduled_for % pattern->period != 0)
        broken(sim, "I51", "track %d is for a moment that nobody named", name_of(sim, track));
    if (latest(sim) < track->scheduled_for) // one may have waited since a clock ahead of this
        broken(sim, "I51", "track %d is made %lld ms early", name_of(sim, track),
               (long long) ((track->scheduled_for - latest(sim)) / SPAN_MILLISECOND));
    for (size_t i = 0; i < sim->track_count; i++) {
        const Track *other = &sim->tracks[i];
        if (other != track && other->pattern == pattern && is_scheduled(other) &&
            other->scheduled_for == track->scheduled_for)
            broken(sim, "I51", "tracks %d and %d are of one occurrence", name_of(sim, other),
                   name_of(sim, track));
    }
    if (!policy_allows(track))
        broken(sim, "I52", "track %d is made %lld ms late", name_of(sim, track),
               (long long) ((track->made_at - track->scheduled_for) / SPAN_MILLISECOND));
}

// runs_between counts those that were made for moments after one and up to another.
static int64_t runs_between(const Sim *sim, const Pattern *pattern, Instant after, Instant until)
{
    int64_t count = 0;
    for (size_t i = 0; i < sim->track_count; i++) {
        const Track *track = &sim->tracks[i];
        count += track->pattern == pattern && is_scheduled(track) && track->scheduled_for > after &&
                 track->scheduled_for <= until;
    }
    return count;
}

// i52_ledger: what was queued when it was saved is one more that must be somewhere.
static void i52_ledger(Sim *sim, const Pattern *pattern, const Table *table)
{
    int64_t fell = count_between(pattern, table->base, table->last_for);
    int64_t made = runs_between(sim, pattern, table->base, table->last_for);
    if (table->queued_before != INSTANT_NONE) {
        fell++;
        made += runs_between(sim, pattern, table->queued_before - 1, table->queued_before);
    }
    int64_t counted = table->missed - table->missed_before + table->skipped - table->skipped_before;
    int64_t waits = table->queued_for != INSTANT_NONE;
    if (fell != made + counted + waits)
        broken(sim, "I52", "%s: %lld fell due, but %lld runs, %lld counted, %lld waiting",
               pattern->id, (long long) fell, (long long) made, (long long) counted,
               (long long) waits);
}

// is_going: the run was under way before this commit, and it may still be.
static bool is_going(const Sim *sim, const Track *track, const Pattern *pattern)
{
    return track->pattern == pattern && track->is_there && !track->is_gone &&
           track->seen_first != sim->commits &&
           (delivery_is_live(track->row.state) || track->moved == sim->commits);
}

static bool has_going(const Sim *sim, const Pattern *pattern)
{
    for (size_t i = 0; i < sim->track_count; i++)
        if (is_going(sim, &sim->tracks[i], pattern))
            return true;
    return false;
}

// i52_wanted: what fell due in one look, and nothing held it back, is made as the policy says.
static void i52_wanted(Sim *sim, const Pattern *pattern, const Table *was, const Table *is)
{
    Instant newest = last_before(pattern, is->last_for);
    int64_t fell = count_between(pattern, was->last_for, is->last_for);
    int64_t made = runs_between(sim, pattern, was->last_for, is->last_for);
    Instant now = sim->fired_at[pattern - patterns];
    bool is_held_back = pattern->overlap != JOB_OVERLAP_ALLOW && has_going(sim, pattern);
    if (fell == 0 || is_held_back)
        return;
    if (is->skipped > was->skipped)
        broken(sim, "I52", "%s skips a run, but none goes on", pattern->id);
    if (pattern->missed == JOB_MISSED_ONCE && made != 1)
        broken(sim, "I52", "%s: %lld made of %lld, and once was wanted", pattern->id,
               (long long) made, (long long) fell);
    bool is_on_time = clock_now(&sim->nodes[sim->last_writer].clock) - newest < ON_TIME;
    if (is_on_time && made == 0 && was->queued_for == INSTANT_NONE) // that goes first
        broken(sim, "I52", "%s makes nothing, and is on time", pattern->id);
    if (pattern->missed == JOB_MISSED_ALL && made > 0 && made < fell &&
        newest - made * pattern->period > now - pattern->missed_window)
        broken(sim, "I52", "%s: %lld made of %lld, and all were wanted", pattern->id,
               (long long) made, (long long) fell);
}

// I53
static void i53_overlap(Sim *sim, const Pattern *pattern)
{
    const Track *going = NULL;
    for (size_t i = 0; i < sim->track_count && pattern->overlap != JOB_OVERLAP_ALLOW; i++) {
        const Track *track = &sim->tracks[i];
        if (track->pattern != pattern || !is_scheduled(track) || track->by_hand > 0 ||
            !delivery_is_live(track->row.state))
            continue;
        if (going)
            broken(sim, "I53", "tracks %d and %d go on at once", name_of(sim, going),
                   name_of(sim, track));
        going = track;
    }
}

// next_of is the occurrence that takes the place of a retry.
static Instant next_of(const Track *track, Instant now)
{
    const Pattern *pattern = track->pattern;
    Instant next = track->scheduled_for + pattern->period;
    bool is_skipped = next <= now && pattern->overlap == JOB_OVERLAP_SKIP;
    return is_skipped ? last_before(pattern, now) + pattern->period : next;
}

static bool makes_up(const Track *track)
{
    return track->scheduled_for + track->pattern->period <= track->made_at;
}

bool job_may_be_overtaken(const Track *track)
{
    return is_scheduled(track) && !makes_up(track);
}

// I56: other nodes may not know yet that the job was switched on.
static void i56_overtaken(Sim *sim, const Pattern *pattern)
{
    Instant now = clock_now(&sim->nodes[0].clock);
    for (size_t i = 0; i < sim->track_count && sim->node_count == 1; i++) {
        const Track *track = &sim->tracks[i];
        if (track->pattern == pattern && track->moved == sim->commits && track->by_hand == 0 &&
            job_may_be_overtaken(track) && track->row.state == DELIVERY_RETRYING &&
            track->row.due_at >= next_of(track, now))
            broken(sim, "I56", "track %d is retried after its next occurrence",
                   name_of(sim, track));
    }
}

static void begin_ledger(Table *table)
{
    table->base = table->last_for;
    table->missed_before = table->missed;
    table->skipped_before = table->skipped;
    table->queued_before = table->queued_for;
}

static void look_at(Sim *sim, const Pattern *pattern)
{
    Table *table = table_of(sim, pattern), was = *table;
    if (!look_schedule(sim, pattern->id, table)) {
        broken(sim, "I52", "%s has no schedule", pattern->id);
        return;
    }
    if (table->has_fault)
        broken(sim, "I52", "%s is set aside", pattern->id);
    if (table->last_for < was.last_for && was.version == table->version)
        broken(sim, "I51", "%s goes back", pattern->id);
    bool was_off = was.next_at == INSTANT_NONE; // saved as it was, it counts from now all the same
    if (table->version != was.version || was_off)
        begin_ledger(table);
    else {
        i52_wanted(sim, pattern, &was, table);
        i56_overtaken(sim, pattern);
    }
    i52_ledger(sim, pattern, table);
    i53_overlap(sim, pattern);
}

void job_look(Sim *sim)
{
    for (size_t i = 0; i < pattern_count && !sim->has_failed; i++)
        if (patterns[i].period)
            look_at(sim, &patterns[i]);
}

// is_free: no run of the job has gone on since then.
static bool is_free(const Sim *sim, const Pattern *pattern, Instant since)
{
    for (size_t i = 0; i < sim->track_count; i++) {
        const Row *row = &sim->tracks[i].row;
        if (sim->tracks[i].pattern == pattern &&
            (delivery_is_live(row->state) || row->ended_at >= since))
            return false;
    }
    return true;
}

// I51: a sound node leaves no occurrence lying, nor one that waited for a run that has ended.
void job_on_time(Sim *sim, Instant since)
{
    for (size_t i = 0; i < pattern_count && !sim->has_failed; i++) {
        const Table *table = &sim->tables[i];
        if (!patterns[i].period || table->version == 0)
            continue;
        if (table->queued_for != INSTANT_NONE && is_free(sim, &patterns[i], since))
            broken(sim, "I51", "%s waits for a run that has ended", patterns[i].id);
        if (table->next_at < since)
            broken(sim, "I51", "%s is due since %lld ms, and nobody fires it", patterns[i].id,
                   (long long) ((sim->now - table->next_at) / SPAN_MILLISECOND));
    }
}

// job_on_end learns of an event that tells of a run's end; is_chained: a trigger listens to it.
void job_on_end(Sim *sim, Uuid event, Uuid run, bool is_chained)
{
    Track *track = track_of(sim, run, false);
    bool is_again = track && !uuid_is_none(track->end) && uuid_cmp(track->end, event) != 0;
    if (!track)
        broken(sim, "I54", "the end of a run is told that never was");
    else if (is_again && track->by_hand == 0)
        broken(sim, "I54", "the end of track %d is told twice", name_of(sim, track));
    else if (uuid_is_none(track->end) && look_deliveries(sim, event) != is_chained)
        broken(sim, "I54", "of the end of track %d too much or nothing is made",
               name_of(sim, track));
    else
        track->end = event;
}

// I54: what ended a while ago may have been told of by an event that is purged by now.
void job_often(Sim *sim)
{
    look_ends(sim);
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++) {
        const Track *track = &sim->tracks[i];
        DeliveryState state = track->row.state;
        if (!track->pattern->is_job || track->is_gone || track->by_hand > 0)
            continue;
        bool has_ended =
            state == DELIVERY_DELIVERED || state == DELIVERY_PARKED || state == DELIVERY_EXPIRED;
        bool is_told = !uuid_is_none(track->end);
        if (is_told != has_ended && (is_told || track->row.ended_at > sim->latest - KEPT))
            broken(sim, "I54", "track %d is %s, and its end is %stold", name_of(sim, track),
                   delivery_state_text(state), is_told ? "" : "not ");
    }
}
