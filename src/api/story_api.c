#include "api/decided.h"
#include "api/handlers.h"

#include "store/attempt.h"
#include "store/decision.h"
#include "store/delivery.h"
#include "store/event.h"

// What became of one event: explain tells what each trigger made of it, timeline what happened to
// it. Both are read page by page, each no more than it shows. What came as a webhook begins with
// the hook; one that made no event is a story by itself, which says why.

enum { NOTE_MAX = 2000 };

static Str id_text(Arena *arena, Uuid id)
{
    return uuid_is_none(id) ? STR_NONE : uuid_dup(arena, id);
}

static int by_trigger(const void *a, const void *b)
{
    const Decided *x = a, *y = b;
    return str_cmp(x->rule.id, y->rule.id);
}

// The pages of an explanation tell first what became a delivery, in the order of the deliveries,
// then what did not, in the order in which it was stored. So the nth delivery has the place n, and
// what did not become one has places behind all of them. Each page is told by trigger.
enum { MISSES_FROM = UINT16_MAX + 1 };

// delivery_number is which of its event's deliveries one is (delivery_id_of).
static int64_t delivery_number(Uuid id)
{
    return id.b[14] << 8 | id.b[15];
}

static Decided created(const DeliveryView *delivery)
{
    return (Decided){ .place = delivery_number(delivery->promise.id),
                      .by = { delivery->promise.rule, delivery->promise.version },
                      .rule = { delivery->rule_kind, delivery->rule_id },
                      .kind = DECISION_CREATED,
                      .reason = DECISION_REASON_MATCHED,
                      .leaf = -1,
                      .delivery = delivery->promise.id };
}

// Story is an event with all that did not become a delivery of it: that is one row. Only this is
// stored as a decision; the others are made up from their deliveries.
typedef struct Story {
    Event event; // of a hook that made none only its id and when it was received
    bool is_event;
    Miss *misses;
    size_t miss_count;
    InboxRow hook; // that it came by
    bool is_hook;
} Story;

static Err read_story(Call *call, Db *db, Story *ret, Error *error)
{
    Uuid id;
    TRY(call_id(call, 0, &id, error));
    TRY(inbox_of_event(db, call->arena, call->tenant, id, &ret->hook, &ret->is_hook, error));
    if (ret->is_hook)
        TRY(inbox_name_owner(call, db, &ret->hook, error));
    Err err = event_row(db, call->arena, call->tenant, id, &ret->event, error);
    if (err == ERR_NOT_FOUND && ret->is_hook && uuid_cmp(ret->hook.id, id) == 0) {
        ret->event = (Event){ .id = id, .received_at = ret->hook.received_at };
        return ERR_OK;
    }
    TRY(err);
    ret->is_event = true;
    return decision_of_event(db, call->arena, call->tenant, id, &ret->misses, &ret->miss_count,
                             error);
}

// read_misses gives up to max of what did not become a delivery, from the given one on.
static Err read_misses(Call *call, Db *db, const Story *story, size_t from, size_t max,
                       Decided *ret, size_t *ret_count, Error *error)
{
    size_t count = from < story->miss_count ? story->miss_count - from : 0;
    *ret_count = count = count < max ? count : max;
    if (count == 0)
        return ERR_OK;
    RuleName *names = ARENA_ARRAY(call->arena, RuleName, count + 1);
    TRY(decision_names(db, call->arena, call->tenant, story->misses + from, count, names, error));
    for (size_t i = 0; i < count; i++) {
        const Miss *miss = &story->misses[from + i];
        ret[i] = (Decided){ .place = (int64_t) (MISSES_FROM + from + i + 1),
                            .by = { miss->rule, miss->version },
                            .rule = names[i],
                            .kind = miss->kind,
                            .reason = miss->reason,
                            .leaf = miss->leaf,
                            .delivery = miss->holder };
    }
    return ERR_OK;
}

// read_decisions reads a page of an explanation.
static Err read_decisions(Call *call, Db *db, const Story *story, const Walk *walk, Decided **ret,
                          Seen *ret_seen, Error *error)
{
    int64_t after = 0;
    size_t max = (size_t) walk->limit + 1, count = 0, missed = 0, from = 0;
    if (walk->after.at && !str_to_i64(walk->after, 0, MISSES_FROM + DECISION_MISSES_MAX, &after))
        return walk_unknown(error);
    Decided *all = ARENA_ARRAY(call->arena, Decided, max);
    if (after < MISSES_FROM) {
        DeliveryView *made;
        TRY(delivery_of_event(db, call->arena, call->tenant, story->event.id, (unsigned) after,
                              (int64_t) max, &made, &count, error));
        for (size_t i = 0; i < count; i++)
            all[i] = created(&made[i]);
    } else {
        from = (size_t) (after - MISSES_FROM);
    }
    TRY(read_misses(call, db, story, from, max - count, all + count, &missed, error));
    *ret = all;
    *ret_seen = walk_counted(walk, count + missed, false, false);
    if (ret_seen->has_more)
        ret_seen->next =
            str_format(call->arena, "%lld", (long long) all[ret_seen->count - 1].place);
    qsort(all, ret_seen->count, sizeof *all, by_trigger);
    return ERR_OK;
}

// hold_versions holds the versions that decided; one that cannot be read is NULL.
static Err hold_versions(Call *call, Db *db, const VersionKey *keys, size_t count,
                         const Trigger ***ret, Error *error)
{
    *ret = ARENA_ARRAY(call->arena, const Trigger *, count + 1);
    return versions_load_all(writer_versions(call->api->writer), db, call->tenant, keys, count,
                             *ret, error);
}

static void drop_versions(const Trigger *const *triggers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        versions_drop(triggers[i]);
}

static void put_decision(Call *call, JsonOut *json, const Decided *decision)
{
    bool is_trigger = decision->rule.kind == RULE_TRIGGER;
    json_put_str(json, S("triggerId"), is_trigger ? decision->rule.id : STR_NONE);
    json_put_i64(json, S("triggerVersion"), decision->by.version);
    rule_put(json, decision->rule.kind, decision->rule.id, decision->by.version);
    json_put_str(json, S("outcome"), str_from(decision_text(decision->kind)));
    json_put_str(json, S("reason"), str_from(decision_reason_code(decision->reason)));
    if (!uuid_is_none(decision->delivery))
        json_put_str(json, S("deliveryId"), id_text(call->arena, decision->delivery));
}

void decided_put_reason(const Call *call, JsonOut *json, const FilterReason *reason)
{
    bool is_shown = call_sees_recipients(call) || !str_contains(reason->predicate, S("recipient."));
    json_put_str(json, S("path"), reason->path);
    json_put_str(json, S("predicate"), reason->predicate);
    json_put_raw(json, S("seen"), is_shown ? reason->seen : STR_NONE);
    json_put_str(json, S("wouldMatchIf"), reason->would_match_if);
}

void decided_put(Call *call, JsonOut *json, const Decided *decided, const Trigger *trigger,
                 const Event *event)
{
    bool is_filtered = decided->kind == DECISION_FILTERED && decided->leaf >= 0;
    json_open(json, '{');
    put_decision(call, json, decided);
    if (trigger && trigger->survey.at)
        json_put_str(json, S("surveyId"), trigger->survey);
    if (is_filtered && trigger && trigger->filter) {
        FilterReason reason = filter_explain(call->arena, trigger->filter, decided->leaf, event,
                                             trigger->template_id);
        decided_put_reason(call, json, &reason);
    }
    json_close(json, '}');
}

// put_decisions leaves out what a version that cannot be read would have said: the rest of the
// answer is worth having without it.
static Err put_decisions(Call *call, Db *db, JsonOut *json, const Event *event,
                         const Decided *decisions, size_t count, Error *error)
{
    const Trigger **triggers;
    VersionKey *keys = ARENA_ARRAY(call->arena, VersionKey, count + 1);
    for (size_t i = 0; i < count; i++)
        keys[i] = decisions[i].by;
    TRY(hold_versions(call, db, keys, count, &triggers, error));
    for (size_t i = 0; i < count; i++)
        decided_put(call, json, &decisions[i], triggers[i], event);
    drop_versions(triggers, count);
    return ERR_OK;
}

// is_near tells whether b is at most two letters from a, and not another word altogether.
static bool is_near(Str a, Str b)
{
    size_t letters = str_distance(a, b);
    return letters <= 2 && letters * 2 <= a.len;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

// read_deciders gives the numbers of all rules that decided about the event, in order: what a note
// says of those that did not must be true whatever page it stands on.
static Err read_deciders(Call *call, Db *db, const Story *story, int64_t **ret, size_t *ret_count,
                         Error *error)
{
    int64_t *made, *all;
    size_t count;
    TRY(delivery_rules_of_event(db, call->arena, call->tenant, story->event.id, &made, &count,
                                error));
    all = ARENA_ARRAY(call->arena, int64_t, count + story->miss_count + 1);
    if (count > 0)
        memcpy(all, made, count * sizeof *all);
    for (size_t i = 0; i < story->miss_count; i++)
        all[count++] = story->misses[i].rule;
    qsort(all, count, sizeof *all, by_number);
    *ret = all;
    *ret_count = count;
    return ERR_OK;
}

static void begin_part(Buf *note)
{
    if (note->len > 0)
        buf_add(note, S("; "));
}

// note_silence says that nothing listens to the kind, and which kind was perhaps meant.
static void note_silence(Arena *arena, Buf *note, const Registry *registry, const Event *event)
{
    Str *kinds;
    size_t count = registry_kinds(registry, arena, event->tenant, &kinds);
    buf_add_format(note, "no trigger listens to %.*s", STR_ARG(event->kind));
    for (size_t i = 0; i < count; i++) {
        if (is_near(event->kind, kinds[i])) {
            buf_add_format(note, ", did you mean %.*s?", STR_ARG(kinds[i]));
            return;
        }
    }
}

// note_of tells what the decisions cannot: who came late, who listens elsewhere, who calls off.
static Str note_of(Arena *arena, const Registry *registry, const Event *event,
                   const int64_t *deciders, size_t decider_count)
{
    Buf note = buf_new(arena, NOTE_MAX);
    size_t listeners, callers, late = 0;
    const RegistryTrigger *const *triggers =
        registry_triggers(registry, event->tenant, event->kind, &listeners);
    (void) registry_recallers(registry, event->tenant, event->kind, &callers);
    const RegistryTrigger *latest = NULL;
    for (size_t i = 0; i < listeners; i++) {
        if (!bsearch(&triggers[i]->rule, deciders, decider_count, sizeof *deciders, by_number)) {
            latest = triggers[i];
            late++;
        }
    }
    size_t elsewhere = registry_listeners(registry, event->tenant) - listeners;

    if (decider_count == 0 && listeners == 0)
        note_silence(arena, &note, registry, event);
    if (late > 0) {
        begin_part(&note);
        if (late == 1)
            buf_add_format(&note, "%.*s began to listen after this event came",
                           STR_ARG(latest->id));
        else
            buf_add_format(&note, "%zu triggers began to listen after this event came", late);
    }
    if (callers > 0) {
        begin_part(&note);
        buf_add_format(&note, "%zu %s deliveries off on events of this kind", callers,
                       callers == 1 ? "trigger calls" : "triggers call");
    }
    if (elsewhere > 0) {
        begin_part(&note);
        buf_add_format(&note, "%zu other %s to other kinds", elsewhere,
                       elsewhere == 1 ? "trigger listens" : "triggers listen");
    }
    return note.len > 0 ? buf_str(&note) : STR_NONE;
}

// made_events: by how it ended, triggers were asked about events of it.
static bool made_events(const InboxRow *hook)
{
    return hook->status == INBOX_PUBLISHED &&
           (hook->reason == INBOX_REASON_NONE || hook->reason == INBOX_REASON_NO_TRIGGER);
}

// hook_note tells why a hook made no event here, or that it waits.
static Str hook_note(Arena *arena, const InboxRow *hook)
{
    Str why = hook->error.at ? hook->error : S("nothing more is known");
    if (hook->status == INBOX_PENDING)
        return S("the webhook waits to be read");
    if (hook->error.at && hook->reason == INBOX_REASON_NONE)
        return str_format(arena, "the webhook made no event here: %.*s", STR_ARG(hook->error));
    if (made_events(hook))
        return S("the webhook's events are of another tenant's integration, or no longer kept");
    return str_format(arena, "the webhook made no event (%s): %.*s",
                      inbox_reason_code((InboxReason) hook->reason), STR_ARG(why));
}

static Err read_note(Call *call, Db *db, const Story *story, Str *ret, Error *error)
{
    int64_t *deciders;
    size_t count;
    if (!story->is_event) {
        *ret = hook_note(call->arena, &story->hook);
        return ERR_OK;
    }
    TRY(read_deciders(call, db, story, &deciders, &count, error));
    *ret = note_of(call->arena, call->registry, &story->event, deciders, count);
    return ERR_OK;
}

Err event_explain(Call *call, Db *db, Error *error)
{
    Story story = { 0 };
    Walk walk;
    Seen seen;
    Decided *decisions;
    Str note = STR_NONE;
    TRY(call_walk(call, &walk, error));
    TRY(read_story(call, db, &story, error));
    TRY(read_decisions(call, db, &story, &walk, &decisions, &seen, error));
    if (!walk.after.at)
        TRY(read_note(call, db, &story, &note, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("eventId"), id_text(call->arena, story.event.id));
    if (story.is_hook) {
        json_key(json, S("inbox"));
        inbox_put_row(call, json, &story.hook);
    }
    json_key(json, S("decisions"));
    json_open(json, '[');
    TRY(put_decisions(call, db, json, &story.event, decisions, seen.count, error));
    json_close(json, ']');
    json_put_str(json, S("note"), note);
    page_put(call, &seen);
    json_close(json, '}');
    return ERR_OK;
}

// What stands in a timeline, in the order in which it happens at one and the same moment.
typedef enum MomentKind {
    RECEIVED,
    VERIFIED,
    DRAINED,
    DECIDED,
    PLANNED,
    ATTEMPT,
    ENDED
} MomentKind;

static const char *const moment_texts[] = {
    [RECEIVED] = "received", [VERIFIED] = "verified", [DRAINED] = "drained", [DECIDED] = "decided",
    [PLANNED] = "planned",   [ATTEMPT] = "attempt",   [ENDED] = "ended",
};

// MomentPlace is the place of a moment in the order in which a timeline is read: first the event,
// what happened to the hook that it came by, and what did not become a delivery (delivery 0), then
// delivery by delivery: decided, planned, its attempts by number, ended. A page is told in the
// order of time.
typedef struct MomentPlace {
    int64_t delivery, n;
} MomentPlace;

enum {
    PLACE_RECEIVED = 0,
    PLACE_VERIFIED = 1,
    PLACE_DRAINED = 2,
    PLACE_DECIDED = 0,
    PLACE_PLANNED = 1,
    PLACE_ENDED = INT32_MAX
};

// Moment is one thing that happened; of names the row that tells it.
typedef struct Moment {
    MomentPlace place;
    Instant at;
    MomentKind kind;
    union {
        const Story *story;
        const Decided *decision;
        const DeliveryView *delivery;
        const AttemptView *attempt;
    };
    Instant due_at; // PLANNED: of the first send
} Moment;

static int place_cmp(MomentPlace a, MomentPlace b)
{
    if (a.delivery != b.delivery)
        return a.delivery < b.delivery ? -1 : 1;
    return a.n < b.n ? -1 : a.n > b.n;
}

static int by_time(const void *a, const void *b)
{
    const Moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = x->kind == DECIDED ? by_trigger(x->decision, y->decision) : 0;
    return order ? order : place_cmp(x->place, y->place);
}

static void put_attempt(Call *call, JsonOut *json, const AttemptView *view)
{
    const Outcome *outcome = &view->attempt.outcome;
    Str reason = str_from(reason_code(outcome->reason));
    json_put_str(json, S("deliveryId"), id_text(call->arena, view->delivery));
    json_put_i64(json, S("number"), view->attempt.number);
    json_put_i64(json, S("send"), view->attempt.send);
    json_put_str(json, S("outcome"), str_from(verdict_text(outcome->verdict)));
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    if (outcome->code)
        json_put_i64(json, S("code"), outcome->code);
    else
        json_put_null(json, S("code"));
    json_put_str(json, S("detail"), outcome->detail);
    json_put_time(json, S("finishedAt"), view->attempt.finished_at);
}

static void put_ended(Call *call, JsonOut *json, const DeliveryView *delivery)
{
    Str reason = str_from(reason_code(delivery->reason));
    json_put_str(json, S("deliveryId"), id_text(call->arena, delivery->promise.id));
    json_put_str(json, S("state"), str_from(delivery_state_text(delivery->state)));
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    json_put_str(json, S("note"), delivery->note);
}

static void put_planned_rule(JsonOut *json, const DeliveryView *delivery)
{
    bool is_trigger = delivery->rule_kind == RULE_TRIGGER;
    json_put_str(json, S("triggerId"), is_trigger ? delivery->rule_id : STR_NONE);
    rule_put(json, delivery->rule_kind, delivery->rule_id, delivery->promise.version);
}

// put_beginning tells of the event, or of the hook that it came by. Only what was verified, as its
// source says, is in the inbox.
static void put_beginning(JsonOut *json, MomentKind kind, const Story *story)
{
    const InboxRow *hook = &story->hook;
    InboxShown shown = inbox_shown((InboxStatus) hook->status, hook->attempts);
    if (kind == DRAINED) {
        json_put_str(json, S("outcome"), str_from(inbox_shown_words[shown]));
        json_put_str(json, S("reason"),
                     hook->reason ? str_from(inbox_reason_code((InboxReason) hook->reason))
                                  : STR_NONE);
        json_put_str(json, S("detail"), hook->error);
        return;
    }
    json_put_str(json, S("source"), story->is_event ? story->event.source : hook->source);
    if (kind == RECEIVED)
        json_put_str(json, S("kind"), story->event.kind);
    if (story->is_hook) {
        json_put_str(json, S("provider"), hook->provider);
        json_put_str(json, S("externalId"), hook->external_id);
    }
}

static void put_moment(Call *call, JsonOut *json, const Moment *moment)
{
    json_open(json, '{');
    json_put_time(json, S("at"), moment->at);
    json_put_str(json, S("what"), str_from(moment_texts[moment->kind]));
    json_key(json, S("detail"));
    json_open(json, '{');
    switch (moment->kind) {
    case RECEIVED:
    case VERIFIED:
    case DRAINED:
        put_beginning(json, moment->kind, moment->story);
        break;
    case DECIDED:
        put_decision(call, json, moment->decision);
        break;
    case PLANNED:
        json_put_str(json, S("deliveryId"), id_text(call->arena, moment->delivery->promise.id));
        put_planned_rule(json, moment->delivery);
        json_put_str(json, S("channel"), moment->delivery->channel);
        json_put_str(json, S("address"), call_address(call, moment->delivery->promise.address));
        json_put_time(json, S("dueAt"), moment->due_at);
        break;
    case ATTEMPT:
        put_attempt(call, json, moment->attempt);
        break;
    case ENDED:
        put_ended(call, json, moment->delivery);
        break;
    }
    json_close(json, '}');
    json_close(json, '}');
}

// Timeline is a page of moments as it is filled, in the order of their places.
typedef struct Timeline {
    MomentPlace after;
    Moment *moments;
    size_t count, room; // one more than the page shows
} Timeline;

static bool is_full(const Timeline *timeline)
{
    return timeline->count == timeline->room;
}

// add takes a moment that lies behind the page before, while there is room.
static void add(Timeline *timeline, Moment moment)
{
    if (!is_full(timeline) && place_cmp(moment.place, timeline->after) > 0)
        timeline->moments[timeline->count++] = moment;
}

static void add_first(Timeline *timeline, const Story *story, MomentKind kind, int64_t place,
                      Instant at)
{
    add(timeline, (Moment){ .place = { 0, place }, .at = at, .kind = kind, .story = story });
}

// decided_at is when rules looked at an event: as it came, or as the hook was drained.
static Instant decided_at(const Story *story)
{
    bool is_drained = story->is_hook && story->hook.processed_at != INSTANT_NONE;
    return is_drained ? story->hook.processed_at : story->event.received_at;
}

// add_beginning adds what came in and what did not become a delivery.
static Err add_beginning(Call *call, Db *db, const Story *story, Timeline *timeline, Error *error)
{
    int64_t after = timeline->after.n;
    size_t from = after > PLACE_DRAINED ? (size_t) (after - PLACE_DRAINED) : 0, count;
    Instant at = story->event.received_at;
    if (timeline->after.delivery > 0)
        return ERR_OK;
    Decided *missed = ARENA_ARRAY(call->arena, Decided, timeline->room);
    TRY(read_misses(call, db, story, from, timeline->room, missed, &count, error));
    add_first(timeline, story, RECEIVED, PLACE_RECEIVED, at);
    if (story->is_hook)
        add_first(timeline, story, VERIFIED, PLACE_VERIFIED, at);
    if (story->is_hook && story->hook.processed_at != INSTANT_NONE)
        add_first(timeline, story, DRAINED, PLACE_DRAINED, decided_at(story));
    for (size_t i = 0; i < count; i++)
        add(timeline, (Moment){ .place = { 0, (int64_t) (from + i + 1) + PLACE_DRAINED },
                                .at = decided_at(story),
                                .kind = DECIDED,
                                .decision = &missed[i] });
    return ERR_OK;
}

// planned tells when the first send was due: the queue forgets it, so it is worked out again.
static Moment planned(const DeliveryView *delivery, int64_t number, const Trigger *trigger)
{
    Moment moment = { .place = { number, PLACE_PLANNED },
                      .at = delivery->promise.triggered_at,
                      .kind = PLANNED,
                      .due_at = INSTANT_NONE };
    moment.delivery = delivery;
    if (trigger)
        moment.due_at =
            plan_first_due(&trigger->rule.plan, delivery->origin.occurred_at,
                           delivery->origin.received_at, delivery->promise.triggered_at);
    return moment;
}

// Made is what there is to tell of the deliveries of a page; attempts are taken from the front.
typedef struct Made {
    DeliveryView *deliveries;
    Decided *decisions;
    const Trigger **triggers;
    size_t delivery_count;
    AttemptView *attempts;
    size_t attempt_count;
} Made;

static void add_delivery(Timeline *timeline, const Story *story, Made *made, size_t i)
{
    const DeliveryView *delivery = &made->deliveries[i];
    int64_t number = delivery_number(delivery->promise.id);
    add(timeline,
        (Moment){ .place = { number, PLACE_DECIDED },
                  .at = story->is_hook ? delivery->promise.triggered_at : story->event.received_at,
                  .kind = DECIDED,
                  .decision = &made->decisions[i] });
    add(timeline, planned(delivery, number, made->triggers[i]));
    for (; made->attempt_count > 0 && uuid_cmp(made->attempts->delivery, delivery->promise.id) == 0;
         made->attempts++, made->attempt_count--)
        add(timeline, (Moment){ .place = { number, PLACE_PLANNED + made->attempts->attempt.number },
                                .at = made->attempts->attempt.started_at,
                                .kind = ATTEMPT,
                                .attempt = made->attempts });
    if (delivery->ended_at != INSTANT_NONE)
        add(timeline, (Moment){ .place = { number, PLACE_ENDED },
                                .at = delivery->ended_at,
                                .kind = ENDED,
                                .delivery = delivery });
}

// read_made reads as many deliveries as a page may tell of, from that where the last one ended on:
// each has two moments at least. Of its attempts those that were told are left out.
static Err read_made(Call *call, Db *db, const Story *story, const Timeline *timeline, Made *ret,
                     Error *error)
{
    Uuid event = story->event.id;
    MomentPlace after = timeline->after;
    AttemptKey attempt = { 0 };
    unsigned before = after.delivery > 0 ? (unsigned) after.delivery - 1 : 0;
    if (after.delivery > 0 && after.n > PLACE_PLANNED)
        attempt = (AttemptKey){ delivery_id_of(event, (unsigned) after.delivery),
                                (int) (after.n - PLACE_PLANNED) };
    else if (after.delivery > 0)
        attempt.delivery = delivery_id_of(event, (unsigned) after.delivery);
    TRY(delivery_of_event(db, call->arena, call->tenant, event, before,
                          (int64_t) timeline->room / 2 + 2, &ret->deliveries, &ret->delivery_count,
                          error));
    TRY(attempt_of_event(db, call->arena, call->tenant, event, attempt, (int64_t) timeline->room,
                         &ret->attempts, &ret->attempt_count, error));
    VersionKey *keys = ARENA_ARRAY(call->arena, VersionKey, ret->delivery_count + 1);
    ret->decisions = ARENA_ARRAY(call->arena, Decided, ret->delivery_count + 1);
    for (size_t i = 0; i < ret->delivery_count; i++) {
        ret->decisions[i] = created(&ret->deliveries[i]);
        keys[i] = ret->decisions[i].by;
    }
    return hold_versions(call, db, keys, ret->delivery_count, &ret->triggers, error);
}

static Err add_made(Call *call, Db *db, const Story *story, Timeline *timeline, Error *error)
{
    Made made;
    if (is_full(timeline))
        return ERR_OK;
    TRY(read_made(call, db, story, timeline, &made, error));
    for (size_t i = 0; i < made.delivery_count; i++)
        add_delivery(timeline, story, &made, i);
    drop_versions(made.triggers, made.delivery_count);
    return ERR_OK;
}

static Err read_place(const Walk *walk, MomentPlace *ret, Error *error)
{
    Str text = walk->after;
    *ret = (MomentPlace){ .n = -1 };
    if (!text.at)
        return ERR_OK;
    if (!str_to_i64(str_cut(&text, '.'), 0, UINT16_MAX, &ret->delivery) ||
        !str_to_i64(text, 0, INT32_MAX, &ret->n))
        return walk_unknown(error);
    return ERR_OK;
}

Err event_timeline(Call *call, Db *db, Error *error)
{
    Story story = { 0 };
    Walk walk;
    TRY(call_walk(call, &walk, error));
    Timeline timeline = { .room = (size_t) walk.limit + 1 };
    TRY(read_place(&walk, &timeline.after, error));
    timeline.moments = ARENA_ARRAY(call->arena, Moment, timeline.room);
    TRY(read_story(call, db, &story, error));
    TRY(add_beginning(call, db, &story, &timeline, error));
    TRY(add_made(call, db, &story, &timeline, error));
    Seen seen = walk_counted(&walk, timeline.count, false, false);
    if (seen.has_more) {
        MomentPlace last = timeline.moments[seen.count - 1].place;
        seen.next =
            str_format(call->arena, "%lld.%lld", (long long) last.delivery, (long long) last.n);
    }
    qsort(timeline.moments, seen.count, sizeof *timeline.moments, by_time);
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_moment(call, json, &timeline.moments[i]);
    page_close(call, &seen);
    return ERR_OK;
}
