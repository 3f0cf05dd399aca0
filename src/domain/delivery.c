#include "domain/delivery.h"

#define MAY(action) (1u << DELIVERY_ACTION_##action)

static const struct {
    const char *text;
    bool is_final;
    unsigned may;
} states[] = {
#define STATE_ROW(name, text, final, may) [DELIVERY_##name] = { text, final, may },
    DELIVERY_STATE_TABLE(STATE_ROW)
#undef STATE_ROW
};

static const char *const statuses[][STATUS_FAMILY_COUNT] = {
#define STATUS_ROW(name, t, n, j, m, w) [DELIVERY_##name] = { t, n, j, m, w },
    DELIVERY_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};
_Static_assert(ARRAY_LEN(statuses) == DELIVERY_STATE_COUNT, "each state has its words");

static const struct {
    const char *text, *participle;
} actions[] = {
#define ACTION_ROW(name, text, participle) [DELIVERY_ACTION_##name] = { text, participle },
    DELIVERY_ACTION_TABLE(ACTION_ROW)
#undef ACTION_ROW
};

static const char *const verdicts[] = {
#define VERDICT_ROW(name, text, meaning) [VERDICT_##name] = text,
    VERDICT_TABLE(VERDICT_ROW)
#undef VERDICT_ROW
};

static const struct {
    const char *code, *meaning;
} reasons[] = {
#define REASON_ROW(name, code, meaning) [REASON_##name] = { code, meaning },
    DELIVERY_REASON_TABLE(REASON_ROW)
#undef REASON_ROW
};

const char *delivery_state_text(DeliveryState state)
{
    assert(state < ARRAY_LEN(states));
    return states[state].text;
}

bool delivery_state_parse(Str text, DeliveryState *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_eq(text, str_from(states[i].text))) {
            *ret = (DeliveryState) i;
            return true;
        }
    }
    return false;
}

bool delivery_is_final(DeliveryState state)
{
    assert(state < ARRAY_LEN(states));
    return states[state].is_final;
}

bool delivery_is_live(DeliveryState state)
{
    return !delivery_is_final(state) && state != DELIVERY_PARKED;
}

bool delivery_may(DeliveryState state, DeliveryAction action)
{
    assert(state < ARRAY_LEN(states) && action < ARRAY_LEN(actions));
    return (states[state].may & (1u << action)) != 0;
}

const char *delivery_action_text(DeliveryAction action)
{
    assert(action < ARRAY_LEN(actions));
    return actions[action].text;
}

const char *delivery_action_participle(DeliveryAction action)
{
    assert(action < ARRAY_LEN(actions));
    return actions[action].participle;
}

const char *verdict_text(Verdict verdict)
{
    assert(verdict < ARRAY_LEN(verdicts));
    return verdicts[verdict];
}

const char *reason_code(DeliveryReason reason)
{
    assert(reason < ARRAY_LEN(reasons));
    return reasons[reason].code;
}

const char *reason_meaning(DeliveryReason reason)
{
    assert(reason < ARRAY_LEN(reasons));
    return reasons[reason].meaning;
}

// Figures and instants beyond these are nobody's; a sum of two that are within does not overflow.
static bool is_figure(int n)
{
    return n >= 0 && n < INT32_MAX / 2;
}

static bool is_instant(Instant at)
{
    return at >= 0 && at < INSTANT_NONE / 2;
}

static bool is_instant_or_none(Instant at)
{
    return at == INSTANT_NONE || is_instant(at);
}

static bool is_of_the_queue(DeliveryState state)
{
    return state < ARRAY_LEN(states) && delivery_is_live(state);
}

static bool has_its_step(const Live *live)
{
    switch (live->step) {
    case STEP_SEND:
        return true;
    case STEP_LEASE:
        return live->state == DELIVERY_SENDING && live->holder == 0 &&
               is_instant(live->lease_until);
    case STEP_EXPIRE:
        return live->state == DELIVERY_WAITING;
    }
    return false;
}

bool live_is_sound(const Live *live)
{
    return is_of_the_queue(live->state) && has_its_step(live) && is_figure(live->fence) &&
           is_figure(live->attempt) && is_figure(live->failures) && is_figure(live->send) &&
           is_figure(live->reminders_left) && is_instant(live->triggered_at) &&
           is_instant(live->first_due_at) && is_instant_or_none(live->last_sent_at) &&
           (live->state != DELIVERY_SENDING || (is_instant(live->started_at) && live->attempt > 0));
}

// mend_figures leaves those that can be worked with.
static void mend_figures(Live *live)
{
    int *figures[] = { &live->failures, &live->send, &live->reminders_left };
    Instant *instants[] = { &live->triggered_at, &live->first_due_at, &live->started_at };
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (!is_figure(*figures[i]))
            *figures[i] = 0;
    for (size_t i = 0; i < ARRAY_LEN(instants); i++)
        if (!is_instant(*instants[i]))
            *instants[i] = 0;
    if (!is_instant_or_none(live->last_sent_at))
        live->last_sent_at = INSTANT_NONE;
}

bool ended_is_sound(const Live *live)
{
    return live->state < ARRAY_LEN(states) && !delivery_is_live(live->state) &&
           is_figure(live->fence) && is_figure(live->attempt) && is_figure(live->failures) &&
           is_figure(live->send) && is_figure(live->reminders_left) &&
           is_instant(live->triggered_at) && is_instant(live->first_due_at) &&
           is_instant_or_none(live->last_sent_at);
}

Live parked_mended(const Live *live)
{
    Live mended = *live;
    mended.state = DELIVERY_PARKED;
    mended.started_at = INSTANT_NONE;
    if (!is_figure(mended.attempt))
        mended.attempt = 0;
    mend_figures(&mended);
    return mended;
}

Outcome outcome_mended(Outcome outcome)
{
    if (outcome.verdict >= ARRAY_LEN(verdicts))
        outcome.verdict = VERDICT_UNKNOWN;
    outcome.reason = reason_mended(outcome.reason);
    return outcome;
}

DeliveryReason reason_mended(DeliveryReason reason)
{
    return reason < ARRAY_LEN(reasons) ? reason : REASON_UNREADABLE;
}

Live live_mended(const Live *live)
{
    Live mended = *live;
    if (!is_of_the_queue(live->state))
        mended.state = DELIVERY_PENDING;
    mended.step = STEP_SEND;
    // There are no more attempts than claims: by the fence, its number is nobody else's.
    int least = live->state == DELIVERY_SENDING;
    if (!is_figure(live->attempt) || live->attempt < least)
        mended.attempt = is_figure(live->fence) && live->fence > least ? live->fence : least;
    mend_figures(&mended);
    return mended;
}

Instant delivery_expires_at(const Plan *plan, Instant last_sent_at, Instant triggered_at)
{
    Instant from = last_sent_at != INSTANT_NONE ? last_sent_at : triggered_at;
    return from + plan->expire_after;
}

static void end_lease(Live *live)
{
    live->started_at = live->lease_until = INSTANT_NONE;
    live->holder = 0;
}

// end takes a delivery out of the queue, with its figures.
static Settlement end(const Live *live, DeliveryState state, DeliveryReason reason)
{
    Settlement settlement = { .live = *live, .reason = reason, .expires_at = INSTANT_NONE };
    settlement.live.state = state;
    settlement.live.due_at = INSTANT_NONE;
    end_lease(&settlement.live);
    return settlement;
}

// advance is what a delivered attempt makes of the plan: the next reminder, else the wait for an
// answer, else the end. Reminders count from the start of the attempt, as the plan says.
static Settlement advance(const Live *live, const Plan *plan, DeliveryReason reason)
{
    Settlement settlement = { .live = *live, .reason = REASON_NONE, .expires_at = INSTANT_NONE };
    Live *next = &settlement.live;
    next->last_sent_at = live->started_at;
    end_lease(next);
    next->failures = 0;
    next->due_at = plan_next_due(plan, live->reminders_left, next->last_sent_at);

    if (next->due_at != INSTANT_NONE) {
        next->state = DELIVERY_WAITING;
        next->step = STEP_SEND;
        next->reminders_left--;
        next->first_due_at = next->due_at;
    } else if (plan->await_answer) {
        next->state = DELIVERY_WAITING;
        next->step = STEP_EXPIRE;
        next->due_at = delivery_expires_at(plan, next->last_sent_at, live->triggered_at);
    } else {
        next->state = DELIVERY_DELIVERED;
        settlement.reason = reason;
    }
    return settlement;
}

// park hands the delivery to a person; one that awaits an answer still expires when none comes.
static Settlement park(const Live *live, const Plan *plan, DeliveryReason reason, Instant now)
{
    Settlement settlement = end(live, DELIVERY_PARKED, reason);
    if (plan->await_answer)
        settlement.expires_at =
            later(now, delivery_expires_at(plan, live->last_sent_at, live->triggered_at));
    return settlement;
}

// retry spends one failure of the send's budget, which is a count and a length of time. What nobody
// knows how to read has a smaller one: it may pass, but more likely it will not.
static Settlement retry(const Live *live, const Plan *plan, const RetryPolicy *policy,
                        const Outcome *outcome, Instant now, double jitter)
{
    Live failed = *live;
    failed.failures++;
    if (failed.failures > policy->max)
        return park(&failed, plan, REASON_GAVE_UP, now);
    if (outcome->reason == REASON_UNCLASSIFIED && failed.failures > policy->unclassified_max)
        return park(&failed, plan, REASON_UNCLASSIFIED, now);

    Instant last_chance = INSTANT_NONE;
    if (policy->give_up_after > 0)
        last_chance = live->first_due_at + policy->give_up_after;
    if (now >= last_chance || outcome->retry_after > last_chance - now)
        return park(&failed, plan, REASON_TOO_LATE, now);

    Span original_delay = live->first_due_at - live->triggered_at;
    Span wait = backoff_delay(policy, failed.failures, original_delay, jitter);
    wait = later(wait, outcome->retry_after);

    failed.state = DELIVERY_RETRYING;
    failed.step = STEP_SEND;
    end_lease(&failed);
    // The last attempt falls on the deadline itself, never silently before it.
    failed.due_at = earlier(now + wait, last_chance);
    return (Settlement){ .live = failed, .reason = outcome->reason, .expires_at = INSTANT_NONE };
}

// lend leaves the delivery with the far side, which tells what becomes of it, or lets the lease
// end.
static Live lend(const Live *live, Instant lease_until)
{
    Live lent = *live;
    lent.step = STEP_LEASE;
    lent.holder = 0;
    lent.lease_until = lent.due_at = lease_until;
    return lent;
}

static Settlement stay(Live live)
{
    return (Settlement){ .live = live, .reason = REASON_NONE, .expires_at = INSTANT_NONE };
}

// refuse parks what trying again cannot help; what nobody wants is cancelled, for there is nothing
// to decide about it.
static Settlement refuse(const Live *live, const Plan *plan, DeliveryReason reason, Instant now)
{
    if (reason == REASON_OPTED_OUT)
        return end(live, DELIVERY_CANCELLED, reason);
    return park(live, plan, reason, now);
}

Settlement delivery_settle(const Live *live, const Plan *plan, const RetryPolicy *policy,
                           const Outcome *outcome, Instant now, double jitter)
{
    assert(delivery_may(live->state, DELIVERY_ACTION_SETTLE));
    switch (outcome->verdict) {
    case VERDICT_DELIVERED:
        return advance(live, plan, outcome->reason);
    case VERDICT_TRANSIENT:
    case VERDICT_UNKNOWN:
        return retry(live, plan, policy, outcome, now, jitter);
    case VERDICT_PERMANENT:
        return refuse(live, plan, outcome->reason, now);
    case VERDICT_ELSEWHERE:
        assert(outcome->lease > 0);
        return stay(lend(live, now + outcome->lease));
    }
    assert(!"there is no other verdict");
    return (Settlement){ 0 };
}

Settlement delivery_stay(const Live *live, DeliveryReason reason)
{
    assert(live->state == DELIVERY_SENDING && live->step == STEP_SEND);
    Settlement settlement = { .live = *live, .reason = reason, .expires_at = INSTANT_NONE };
    settlement.live.state = DELIVERY_RETRYING;
    end_lease(&settlement.live);
    return settlement;
}

Settlement delivery_refuse(const Live *live, const Plan *plan, DeliveryReason reason, Instant now)
{
    assert(live->state == DELIVERY_SENDING && live->attempt > 0);
    Live untried = *live;
    untried.attempt--;
    return refuse(&untried, plan, reason, now);
}

Settlement delivery_recur(Settlement to, Instant next)
{
    if (to.live.state == DELIVERY_RETRYING && to.live.due_at >= next)
        return end(&to.live, DELIVERY_EXPIRED, REASON_SUPERSEDED);
    if (to.live.state == DELIVERY_PARKED && to.reason == REASON_NO_HANDLER)
        return end(&to.live, DELIVERY_EXPIRED, REASON_NO_HANDLER);
    return to;
}

Settlement delivery_park(const Live *live, DeliveryReason reason)
{
    return park(live, &(Plan){ .await_answer = false }, reason, INSTANT_NONE);
}

Live delivery_first(const Plan *plan, Instant due_at, Instant triggered_at)
{
    return (Live){
        .state = DELIVERY_PENDING,
        .step = STEP_SEND,
        .due_at = due_at,
        .reminders_left = (int) plan->reminder_count,
        .triggered_at = triggered_at,
        .first_due_at = due_at,
        .last_sent_at = INSTANT_NONE,
        .opened_at = INSTANT_NONE,
        .started_at = INSTANT_NONE,
        .lease_until = INSTANT_NONE,
    };
}

Live delivery_claim(const Live *live, Instant now, Instant lease_until, int64_t holder)
{
    assert(delivery_may(live->state, DELIVERY_ACTION_CLAIM) && live->step == STEP_SEND);
    Live claimed = *live;
    claimed.state = DELIVERY_SENDING;
    claimed.fence++;
    claimed.attempt++;
    claimed.send += live->state != DELIVERY_RETRYING;
    claimed.started_at = now;
    claimed.lease_until = lease_until;
    claimed.holder = holder;
    return claimed;
}

Live delivery_pull(const Live *live, Instant now, Instant lease_until)
{
    Live claimed = delivery_claim(live, now, lease_until, 0);
    return lend(&claimed, lease_until);
}

Settlement delivery_renew(const Live *live, Instant lease_until)
{
    assert(live->state == DELIVERY_SENDING && live->step == STEP_LEASE);
    return stay(lend(live, later(live->lease_until, lease_until)));
}

Settlement delivery_release(const Live *live, DeliveryState was)
{
    assert(live->state == DELIVERY_SENDING && live->step != STEP_EXPIRE);
    assert(delivery_may(was, DELIVERY_ACTION_CLAIM));
    Settlement settlement = { .live = *live, .reason = REASON_NONE, .expires_at = INSTANT_NONE };
    Live *released = &settlement.live;
    released->state = was;
    released->attempt--;
    released->send -= was != DELIVERY_RETRYING;
    if (live->step == STEP_LEASE) {
        released->step = STEP_SEND;
        released->due_at = live->started_at;
    }
    end_lease(released);
    return settlement;
}

Settlement delivery_pass_on(const Live *live)
{
    assert(live->step == STEP_SEND && live->state != DELIVERY_SENDING);
    return (Settlement){ .live = *live, .reason = REASON_NONE, .expires_at = INSTANT_NONE };
}

Settlement delivery_go_on(const Live *live, Instant due_at)
{
    assert(delivery_may(live->state, DELIVERY_ACTION_SETTLE));
    Settlement settlement = stay(*live);
    Live *next = &settlement.live;
    next->state = DELIVERY_RETRYING;
    next->step = STEP_SEND;
    next->due_at = due_at;
    end_lease(next);
    return settlement;
}

Settlement delivery_expire(const Live *live)
{
    assert(delivery_may(live->state, DELIVERY_ACTION_EXPIRE));
    return end(live, DELIVERY_EXPIRED, REASON_QUIET);
}

static Settlement revive(const Live *parked, Instant now)
{
    Settlement settlement = end(parked, DELIVERY_PENDING, REASON_NONE);
    Live *live = &settlement.live;
    live->step = STEP_SEND;
    live->due_at = now;
    live->first_due_at = now;
    live->failures = 0;
    // The claim of a pending delivery begins the next send; this one is begun again.
    if (live->send > 0)
        live->send--;
    return settlement;
}

Settlement delivery_act_on(const Live *live, DeliveryAction action, Instant now)
{
    static const struct {
        DeliveryState to;
        DeliveryReason reason;
    } ends[] = {
        [DELIVERY_ACTION_CANCEL] = { DELIVERY_CANCELLED, REASON_BY_OPERATOR },
        [DELIVERY_ACTION_COMPLETE] = { DELIVERY_COMPLETED, REASON_ANSWERED },
        [DELIVERY_ACTION_DISCARD] = { DELIVERY_DISCARDED, REASON_BY_OPERATOR },
        [DELIVERY_ACTION_RECALL] = { DELIVERY_CANCELLED, REASON_CALLED_OFF },
        [DELIVERY_ACTION_SKIP] = { DELIVERY_CANCELLED, REASON_BY_OPERATOR },
    };
    assert(delivery_may(live->state, action));
    if (action == DELIVERY_ACTION_RETRY)
        return revive(live, now);
    assert(action < ARRAY_LEN(ends) && delivery_is_final(ends[action].to));
    return end(live, ends[action].to, ends[action].reason);
}

const char *delivery_status(StatusFamily family, DeliveryState state, const Live *live)
{
    assert((int) family < STATUS_FAMILY_COUNT && state < DELIVERY_STATE_COUNT);
#define STATUS_LATER(of, in, word, once)                                                           \
    if (family == STATUS_##of && state == DELIVERY_##in && (once))                                 \
        return word;
    DELIVERY_STATUS_LATER_TABLE(STATUS_LATER)
#undef STATUS_LATER
    return statuses[state][family];
}
