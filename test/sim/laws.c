#include "sim.h"

// The invariants of Peal, by their numbers. Each function says what one of them means here.

static bool is_several(const Sim *sim)
{
    return sim->node_count > 1;
}

static const Node *node_numbered(const Sim *sim, int64_t number)
{
    for (int i = 0; i < sim->node_count; i++)
        if (sim->nodes[i].is_up && sim->nodes[i].number == number)
            return &sim->nodes[i];
    return NULL;
}

int name_of(const Sim *sim, const Track *track)
{
    return (int) (track - sim->tracks);
}

// could_lapse: whether others could rightly take this node's lease for over, since then. Alone, a
// node that lives never loses what is its own, however long it stood still or the store was away.
bool could_lapse(const Sim *sim, const Node *node, Instant since)
{
    if (!is_several(sim))
        return false;
    for (int i = 0; i < sim->node_count; i++) {
        const Node *one = &sim->nodes[i];
        if (one->jumped_at != INSTANT_NONE && one->jumped_at + LEASE >= since)
            return true;
    }
    return node->shaken_until != INSTANT_NONE && node->shaken_until + LEASE >= since;
}

// is_orphan: the process that began it is gone, and whatever it was told with it.
static bool is_orphan(const Sim *sim, const Send *send)
{
    const Node *node = &sim->nodes[send->node];
    return send->is_cut || !node_hears(node) || node->life != send->life;
}

// I19: a message comes twice only where nobody could know what became of the first.
bool is_explained(const Sim *sim, const Send *send)
{
    return send->answer == ANSWER_LOST || is_orphan(sim, send) ||
           could_lapse(sim, &sim->nodes[send->node], send->started_at);
}

static void i19_twice(Sim *sim, const Send *send)
{
    if (is_mail(send))
        return; // each of its recipients has his own (list.c)
    for (int a = 1; a < send->attempt && a < ATTEMPTS_MAX; a++) {
        const Send *before = send->track->sends[a];
        if (!before || before->send != send->send)
            continue;
        bool was_taken = before->answer == ANSWER_TAKEN || before->answer == ANSWER_LOST;
        was_taken = was_taken && before->status != 202; // that is what he said later (elsewhere.c)
        if (was_taken && !is_explained(sim, before))
            broken(sim, "I19", "track %d, send %d comes twice: attempts %d and %d",
                   name_of(sim, send->track), send->send, a, send->attempt);
    }
}

// I12: a byte leaves only after a durable claim, of this node, and once for each attempt.
static void i12_claimed(Sim *sim, const Send *send)
{
    const Track *track = send->track;
    int64_t number = sim->nodes[send->node].number;
    if (!track->is_claimed[send->attempt] || track->claimed_by[send->attempt] != number)
        broken(sim, "I12", "track %d: attempt %d is sent without a durable claim of node %lld",
               name_of(sim, track), send->attempt, (long long) number);
    if (track->sends[send->attempt])
        broken(sim, "I12", "track %d: attempt %d is sent twice", name_of(sim, track),
               send->attempt);
}

// I9: whoever sends holds the lease, and it is not over.
static void i9_leased(Sim *sim, const Send *send)
{
    const Track *track = send->track;
    const Node *node = &sim->nodes[send->node];
    const Row *row = &track->row;
    if (track->closed_at != INSTANT_NONE)
        return; // I13 has an opinion on that
    if (row->state != DELIVERY_SENDING || row->attempt != send->attempt ||
        row->holder != node->number)
        broken(sim, "I9", "track %d: attempt %d is sent, but is no longer node %lld's",
               name_of(sim, track), send->attempt, (long long) node->number);
    else if (row->lease_until < clock_now(&node->clock) && node->jumped_at == INSTANT_NONE)
        broken(sim, "I9", "track %d: attempt %d is sent under a lease that is over",
               name_of(sim, track), send->attempt);
}

// patience_of is how long a node may take to learn what another, or it itself, has committed.
static Span patience_of(const Node *node, int64_t by)
{
    return node->number == by ? 50 * SPAN_MILLISECOND : RENEW + 2 * SPAN_SECOND;
}

// I13: nothing is sent after a cancel, a completion or a hold, but for what was in flight then: an
// attempt that was claimed, for as long as its node may not yet know.
static void i13_called_off(Sim *sim, const Send *send)
{
    const Track *track = send->track;
    const Node *node = &sim->nodes[send->node];
    if (track->closed_at != INSTANT_NONE) {
        bool was_in_flight = track->closed_in_flight == send->attempt;
        bool is_known = sim->now > track->closed_at + patience_of(node, track->closed_by);
        if (!was_in_flight || is_known)
            broken(sim, "I13", "track %d: attempt %d is sent %lld ms after it was %s",
                   name_of(sim, track), send->attempt,
                   (long long) ((sim->now - track->closed_at) / SPAN_MILLISECOND),
                   delivery_state_text(track->row.state));
    }
    bool is_own = node->number == sim->held_by;
    bool is_quiet = is_own ? sim->quiet_at != INSTANT_NONE && sim->now > sim->quiet_at
                           : sim->now > sim->held_at + RENEW + 2 * SPAN_SECOND;
    if (sim->is_held && is_quiet)
        broken(sim, "I13 held", "track %d: attempt %d is sent %lld ms after the hold",
               name_of(sim, track), send->attempt,
               (long long) ((sim->now - sim->held_at) / SPAN_MILLISECOND));
}

// I16: what was refused for good is sent again only when a person says so.
static void i16_refused(Sim *sim, const Send *send)
{
    const Track *track = send->track;
    Instant gone_at = sim->lanes[send->lane].gone_at;
    if (gone_at != INSTANT_NONE && sim->now > gone_at + RENEW + 2 * SPAN_SECOND)
        broken(sim, "I16", "track %d is sent, but %s is gone", name_of(sim, track),
               sim->lanes[send->lane].key);
    if (track->permanent && track->by_hand == 0)
        broken(sim, "I16", "track %d: attempt %d follows a refusal", name_of(sim, track),
               send->attempt);
}

// I18: as many at once as the channel allows, on each node.
static void i18_concurrency(Sim *sim, const Send *send)
{
    int open = 0;
    for (size_t i = sim->first_open; i < sim->send_count; i++) {
        const Send *other = &sim->sends[i];
        open += other->node == send->node && other->lane == send->lane && !other->is_told &&
                !other->is_cut && other->life == send->life;
    }
    if (open > sim->lanes[send->lane].loosest)
        broken(sim, "I18", "%d at once on %s", open, sim->lanes[send->lane].key);
}

void laws_on_send(Sim *sim, Send *send)
{
    Track *track = send->track;
    if (!track || send->attempt >= ATTEMPTS_MAX) {
        broken(sim, "I12", "a send of nothing that was promised");
        return;
    }
    trace(sim, "n%d sends track %d, send %d, attempt %d: %s", send->node, name_of(sim, track),
          send->send, send->attempt, answer_text(send->answer));
    i12_claimed(sim, send);
    i9_leased(sim, send);
    i13_called_off(sim, send);
    i16_refused(sim, send);
    i18_concurrency(sim, send);
    i19_twice(sim, send);
    care_on_send(sim, send);
    order_on_send(sim, send);
    list_on_send(sim, send);
    track->sends[send->attempt] = send;
}

static void i25_doubted(Sim *sim, const Track *track, const char *what);

// I9, I11: a claim makes the fence grow; I21, I15: none is made before it is due.
static void on_claim(Sim *sim, Track *track, const Row *was, const Row *is)
{
    if (was && is->fence <= was->fence)
        broken(sim, "I9", "track %d: the fence stays %d", name_of(sim, track), is->fence);
    if (is->attempt < 1 || is->attempt >= ATTEMPTS_MAX)
        broken(sim, "I11", "track %d: attempt %d", name_of(sim, track), is->attempt);
    bool was_due = !was || was->state == DELIVERY_SENDING || was->state == DELIVERY_PARKED ||
                   is->started_at >= was->due_at;
    if (!was_due)
        broken(sim, "I21", "track %d is claimed %lld ms early", name_of(sim, track),
               (long long) ((was->due_at - is->started_at) / SPAN_MILLISECOND));
    bool is_again = was && was->state == DELIVERY_SENDING && is->attempt == was->attempt;
    if (!is_again) // else given back and claimed again at once
        track->before = was ? *was : *is;
    else
        order_gives_back(sim, track, was);
    track->is_claimed[is->attempt] = true;
    track->claimed_by[is->attempt] = is->holder ? is->holder : sim->nodes[sim->last_writer].number;
    track->claimed_at[is->attempt] = sim->now;
    track->claimed_in[is->attempt] = sim->commits;
    if (is->state == DELIVERY_SENDING && track->pattern->lane != PULLED_LANE)
        i25_doubted(sim, track, "claimed"); // whoever pulls goes by the clock as it is
}

// I9, I25: the lease of a claim that goes on never shortens.
static void i9_renewed(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    if (is->lease_until < was->lease_until)
        broken(sim, "I25", "track %d: its lease shortens by %lld ms", name_of(sim, track),
               (long long) ((was->lease_until - is->lease_until) / SPAN_MILLISECOND));
    if (is->holder != was->holder)
        broken(sim, "I9", "track %d: its lease goes from node %lld to %lld", name_of(sim, track),
               (long long) was->holder, (long long) is->holder);
}

static Span wait_of(const Track *track, int failures)
{
    const Pattern *pattern = track->pattern;
    if (pattern->is_job && track->source == RUN_DEFERRED) // a tenth of its delay each time (J6)
        return later((track->scheduled_for - track->made_at) / 10 * failures, 10 * SPAN_SECOND);
    return pattern->is_doubling ? pattern->wait << (failures - 1) : pattern->wait;
}

// I15: a retry falls due when its schedule says, not before Retry-After, never past the deadline.
static void i15_retry(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    const Pattern *pattern = track->pattern;
    const Send *send = track->sends[was->attempt];
    if (is->failures != was->failures + 1 || is->failures > pattern->max)
        broken(sim, "I15", "track %d: %d failures of %d", name_of(sim, track), is->failures,
               pattern->max);
    if (!send || !send->is_told || is_orphan(sim, send) ||
        could_lapse(sim, &sim->nodes[send->node], send->started_at))
        return; // a lapse: nobody outside knows when it was noticed
    Span wait = later(wait_of(track, is->failures), send->retry_after);
    Span most = later(wait_of(track, is->failures) * 11 / 10, send->retry_after);
    Instant last =
        pattern->give_up_after ? was->first_due_at + pattern->give_up_after : INSTANT_NONE;
    Instant failed_at = later(send->told_at, was->started_at); // a clock may be set back
    if (is->due_at < earlier(failed_at + wait, last) ||
        is->due_at > earlier(failed_at + most, last))
        broken(sim, "I15", "track %d: retry %d is due %lld ms after the failure",
               name_of(sim, track), is->failures,
               (long long) ((is->due_at - failed_at) / SPAN_MILLISECOND));
}

// I21: reminders, and after them the expiry, fall due as the plan says.
static void i21_plan(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    const Pattern *pattern = track->pattern;
    Span after = pattern->expires_after;
    if (is->step == STEP_SEND) {
        int sent = pattern->reminder_count - was->reminders_left;
        if (sent < 0 || sent >= pattern->reminder_count ||
            is->reminders_left != was->reminders_left - 1)
            broken(sim, "I21", "track %d has more reminders than its plan", name_of(sim, track));
        else
            after = pattern->reminders[sent];
    }
    if (is->due_at != is->last_sent_at + after || is->last_sent_at != was->started_at)
        broken(sim, "I21", "track %d: what follows is due at another time", name_of(sim, track));
}

// was_refused_on_record: that is what was settled. Who was told may have died before it could.
static bool was_refused_on_record(Sim *sim, const Track *track, int attempt)
{
    size_t count;
    const Tried *tried = look_attempts(sim, &count);
    for (size_t i = 0; i < count; i++)
        if (uuid_cmp(tried[i].delivery, track->id) == 0 && tried[i].number == attempt)
            return tried[i].verdict == VERDICT_PERMANENT;
    return false;
}

// I10, I16: what an attempt came to is what the far side said.
static void i16_outcome(Sim *sim, Track *track, const Row *was, const Row *is)
{
    const Send *send = track->sends[was->attempt];
    // After a long outage an answer is settled, and what waited for the next expires, at once.
    bool is_over = is->state == DELIVERY_EXPIRED && is->last_sent_at == was->started_at;
    bool is_good = is->state == DELIVERY_DELIVERED || is->state == DELIVERY_WAITING || is_over;
    if (!send || !send->is_told) {
        if (is_good)
            broken(sim, "I10", "track %d is %s, but nobody said so", name_of(sim, track),
                   delivery_state_text(is->state));
        return;
    }
    bool was_taken = send->answer == ANSWER_TAKEN;
    bool was_refused = send->answer == ANSWER_REFUSED || send->answer == ANSWER_GONE;
    if (is_good && !was_taken)
        broken(sim, "I10", "track %d is %s, but the answer was %s", name_of(sim, track),
               delivery_state_text(is->state), answer_text(send->answer));
    if (!is_good && was_taken && !is_explained(sim, send))
        broken(sim, "I10", "track %d is %s, but it was taken", name_of(sim, track),
               delivery_state_text(is->state));
    if (was_refused && is->state == DELIVERY_RETRYING && !is_explained(sim, send))
        broken(sim, "I16", "track %d is tried again after %d", name_of(sim, track), send->status);
    if (was_refused && is->state == DELIVERY_PARKED)
        track->permanent = was->attempt;
    Lane *lane = &sim->lanes[send->lane];
    bool is_gone = is->state == DELIVERY_PARKED && is->reason == REASON_GONE;
    bool is_gone_and_over = is->state == DELIVERY_EXPIRED && send->answer == ANSWER_GONE &&
                            was_refused_on_record(sim, track, was->attempt);
    if (is_gone || is_gone_and_over) { // parked, and expired at once
        lane->was_off = true;
        lane->gone_at = lane->changed_at != sim->now ? sim->now : INSTANT_NONE;
    }
}

// I11: a claim that is given back leaves no trace but its fence.
static bool i11_released(Sim *sim, Track *track, const Row *was, const Row *is)
{
    const Row *before = &track->before;
    if (is->attempt != was->attempt - 1)
        return false;
    if (!order_gives_back(sim, track, was) && track->sends[was->attempt])
        broken(sim, "I11", "track %d is given back, but was sent", name_of(sim, track));
    bool is_called_off = is->state == DELIVERY_CANCELLED || is->state == DELIVERY_COMPLETED;
    bool is_refused = is->state == DELIVERY_PARKED || is->state == DELIVERY_EXPIRED;
    if (is_called_off || is_refused)
        return true; // in the same batch, or there was no way out, or time for one
    if (track->by_hand > 0 && is->due_at > was->started_at)
        return true; // there was no way out, and a person had it tried again at once
    if (before->state == DELIVERY_SENDING)
        return true; // it was settled and claimed again at once: nobody saw it between the two
    if (is->state != before->state || is->due_at != before->due_at || is->send != before->send ||
        is->failures != before->failures || is->reminders_left != before->reminders_left)
        broken(sim, "I11", "track %d is given back changed", name_of(sim, track));
    return true;
}

// I16: a channel is off when a person or a 410 switched it off, and only then.
static void i16_off(Sim *sim, const Track *track, const Row *is)
{
    bool says_off = is->state == DELIVERY_PARKED && is->reason == REASON_CHANNEL_DISABLED;
    if (says_off && !sim->lanes[track->pattern->lane].was_off)
        broken(sim, "I16", "track %d is parked, but nobody switched its channel off",
               name_of(sim, track));
}

// I19: whoever makes an attempt never takes itself for dead.
static void i19_own(Sim *sim, const Track *track, const Row *was)
{
    const Node *node = &sim->nodes[sim->last_writer];
    const Send *send = track->sends[was->attempt];
    if (send && !send->is_told && was->holder == node->number && node_hears(node))
        broken(sim, "I19", "n%d gives track %d up while it sends it", node->index,
               name_of(sim, track));
}

static void on_settle(Sim *sim, Track *track, const Row *was, const Row *is)
{
    i16_off(sim, track, is);
    if (is->fence != was->fence || i11_released(sim, track, was, is))
        return; // or settled and claimed again at once
    bool is_called_off = is->state == DELIVERY_CANCELLED || is->state == DELIVERY_COMPLETED;
    if (was->step == STEP_LEASE) {
        elsewhere_on_settle(sim, track, was, is);
        return;
    }
    const Send *send = track->sends[was->attempt];
    if (send && send->is_told && send->answer == ANSWER_TAKEN && send->status == 202)
        return; // taken on, and over with his lease before anybody could look
    if (!is_called_off) {
        i19_own(sim, track, was);
        if (!track->post)
            i16_outcome(sim, track, was, is);
    }
    if (track->post)
        list_on_settle(sim, track, was, is);
    else if (is_ordered(sim, track))
        order_on_settle(sim, track, was, is);
    else if (is->state == DELIVERY_RETRYING)
        i15_retry(sim, track, was, is);
    if (is->state == DELIVERY_WAITING)
        i21_plan(sim, track, was, is);
}

// I25: a clock that jumped far is not obeyed until it has held for a while. What was at the writer
// when it jumped may still be done.
static void i25_doubted(Sim *sim, const Track *track, const char *what)
{
    const Node *node = &sim->nodes[sim->last_writer];
    Span since = sim->now - node->lost_time_at;
    if (node->is_dazed || sim->now - node->frozen_until < 8 * SPAN_SECOND)
        return; // it could not look
    if (node->lost_time_at != INSTANT_NONE && since > 8 * SPAN_SECOND && since < DOUBTED)
        broken(sim, "I25", "track %d is %s %lld ms after the clock jumped", name_of(sim, track),
               what, (long long) (since / SPAN_MILLISECOND));
}

// I22: nothing expires before its deadline.
static void i22_expired(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    if (job_may_be_overtaken(track))
        return; // that is how it failed, and no deadline
    i25_doubted(sim, track, "expired");
    bool had_deadline = was->step == STEP_EXPIRE || was->state == DELIVERY_PARKED;
    if (had_deadline && (was->due_at == INSTANT_NONE || is->ended_at < was->due_at))
        broken(sim, "I22", "track %d expires too early", name_of(sim, track));
    if (!track->pattern->awaits)
        broken(sim, "I22", "track %d expires, but awaits no answer", name_of(sim, track));
}

// I14: final states stay; I16: parked ones are moved by people and by their expiry alone.
static void i14_moved(Sim *sim, Track *track, const Row *was, const Row *is)
{
    if (delivery_is_final(was->state) && is->state != was->state)
        broken(sim, "I14", "track %d goes from %s to %s", name_of(sim, track),
               delivery_state_text(was->state), delivery_state_text(is->state));
    // One that was called off before it was sent loses the attempt that was never made; in an
    // ordered lane also one that failed.
    bool is_untried = track->closed_in_flight == was->attempt &&
                      (!track->sends[was->attempt] || is_ordered(sim, track));
    bool may_lose = was->state == DELIVERY_SENDING || is_untried;
    if (is->attempt < was->attempt - may_lose || is->fence < was->fence)
        broken(sim, "I11", "track %d: attempt %d after %d, fence %d after %d", name_of(sim, track),
               is->attempt, was->attempt, is->fence, was->fence);
    if (was->state == DELIVERY_PARKED && is->state != DELIVERY_PARKED &&
        is->state != DELIVERY_EXPIRED && track->by_hand == 0)
        broken(sim, "I16", "track %d is no longer parked, and nobody asked", name_of(sim, track));
}

static void note_closed(Sim *sim, Track *track, const Row *was, const Row *is)
{
    bool is_live = delivery_is_live(is->state);
    if (is_live || is->state == DELIVERY_PARKED) {
        track->closed_at = INSTANT_NONE;
        return;
    }
    if (track->closed_at != INSTANT_NONE)
        return;
    bool was_sending = was && (was->state == DELIVERY_SENDING || is->attempt > was->attempt);
    track->closed_at = sim->now;
    track->closed_in_flight = was_sending ? is->attempt : 0;
    track->closed_by = sim->nodes[sim->last_writer].number;
}

// I7: one delivery for each key of a trigger.
static void i7_key(Sim *sim, const Track *track)
{
    for (size_t i = 0; i < sim->track_count && track->pattern->is_keyed; i++) {
        const Track *other = &sim->tracks[i];
        if (other != track && other->pattern == track->pattern && other->key == track->key)
            broken(sim, "I7", "tracks %d and %d have one key", name_of(sim, other),
                   name_of(sim, track));
    }
}

void laws_on_change(Sim *sim, Track *track, const Row *was, const Row *is)
{
    trace(sim, "track %d (%s): %s -> %s, attempt %d, fence %d, due %.3f", name_of(sim, track),
          track->pattern->id, was ? delivery_state_text(was->state) : "nothing",
          delivery_state_text(is->state), is->attempt, is->fence,
          is->due_at == INSTANT_NONE ? 0 : (double) (is->due_at - BEGINNING) / SPAN_SECOND);
    if (!was) {
        i7_key(sim, track);
        job_on_made(sim, track);
    } else
        i14_moved(sim, track, was, is);
    bool is_claim = is->attempt > (was ? was->attempt : 0) ||
                    (is->state == DELIVERY_SENDING && was && is->fence != was->fence);
    if (is_claim)
        on_claim(sim, track, was, is);
    if (was && was->state == DELIVERY_SENDING && is->state == DELIVERY_SENDING && !is_claim) {
        if (was->step != is->step)
            elsewhere_on_left(sim, track, was, is);
        else
            i9_renewed(sim, track, was, is);
    }
    if (was && was->state == DELIVERY_SENDING && is->state != DELIVERY_SENDING)
        on_settle(sim, track, was, is);
    if (was && is->state == DELIVERY_EXPIRED && was->state != DELIVERY_EXPIRED)
        i22_expired(sim, track, was, is);
    note_closed(sim, track, was, is);
}

void laws_on_answer(Sim *sim, const Call *call)
{
    const Node *node = call->node;
    bool is_full = node->trouble == TROUBLE_FULL && sim->now < node->trouble_until;
    if (is_full && call->err == ERR_OK && call->kind == CALL_INGEST)
        broken(sim, "I36", "n%d says yes with a full disk", node->index);
}

// is_held_up: a writer waits for its store, and a stop that it interrupted waits for that (sim.h).
static bool is_held_up(const Sim *sim)
{
    for (int i = 0; i < sim->node_count; i++)
        if (sim->nodes[i].in_writer > 0)
            return true;
    return false;
}

// I37: an orderly stop ends in time, and leaves no claim behind but those of sends it had to cut,
// or that were told of when its time was over.
void laws_on_stop(Sim *sim, const Node *node, Span took)
{
    bool had_store = node->shaken_until == INSTANT_NONE && node->trouble_until + took < sim->now &&
                     node->writer_delay < SPAN_SECOND && !is_held_up(sim);
    if (took > GRACE + 8 * SPAN_SECOND && had_store)
        broken(sim, "I37", "n%d takes %lld ms to stop", node->index,
               (long long) (took / SPAN_MILLISECOND));
    Instant over_at = clock_now(&node->clock) - took + GRACE;
    for (size_t i = 0; i < sim->track_count && had_store; i++) {
        const Track *track = &sim->tracks[i];
        const Send *send = track->sends[track->row.attempt];
        bool is_held = track->row.state == DELIVERY_SENDING && track->row.holder == node->number;
        if (is_held && (!send || (send->is_told && send->told_at < over_at)))
            broken(sim, "I37", "n%d stops and keeps track %d", node->index, (int) i);
    }
}

// I1, I2, I3, I6: what was acknowledged is there with all that was decided; what was not is whole
// or not there at all.
static void i1_events(Sim *sim)
{
    for (size_t c = 0; c < sim->call_count; c++) {
        const Call *call = sim->calls[c];
        if (call->kind != CALL_INGEST)
            continue;
        for (size_t i = 0; i < call->accept.count; i++) {
            const AcceptItem *item = &call->accept.items[i];
            bool is_there = look_event(sim, item->event.id);
            size_t made = 0, found = look_deliveries(sim, item->event.id);
            found += purge_gone_of(sim, item->event.id);
            for (size_t p = 0; p < item->pair_count; p++)
                made += accept_made(item, &item->pairs[p]);
            if (!call->is_done || call->err != ERR_OK) {
                if (is_there || found > 0)
                    broken(sim, "I2", "call %zu: an event that was not taken is there", c);
            } else if (item->is_duplicate) {
                bool has_first = look_event(sim, item->identity.holder) ||
                                 purge_may_take(sim, item->identity.holder);
                if (is_there || !has_first)
                    broken(sim, "I3", "call %zu: a repeated event is there, or its first is not",
                           c);
            } else if ((!is_there && !purge_may_take(sim, item->event.id)) || found != made) {
                broken(sim, is_there ? "I6" : "I1", "call %zu: the event is %s, with %zu of %zu", c,
                       is_there ? "there" : "gone", found, made);
            }
        }
    }
    if (look_shared_identities(sim) > 0)
        broken(sim, "I3", "two events have one identity");
}

// I11: attempts are numbered without a gap, up to the one that is under way.
static void i11_dense(Sim *sim, const Tried *tried, size_t count)
{
    size_t at = 0;
    for (; at < count;) {
        const Track *track = track_of(sim, tried[at].delivery, false);
        int number = 0;
        if (track->is_gone)
            broken(sim, "I43", "track %d is gone, but its attempts are not", name_of(sim, track));
        for (; at < count && track_of(sim, tried[at].delivery, false) == track; at++) {
            if (tried[at].number != ++number && !track->is_gone)
                broken(sim, "I11", "track %d has no attempt %d", name_of(sim, track), number);
        }
        bool is_whole = number == track->row.attempt - (track->row.state == DELIVERY_SENDING);
        if (!is_whole && !track->is_gone)
            broken(sim, "I11", "track %d is at attempt %d, but %d are on record",
                   name_of(sim, track), track->row.attempt, number);
    }
}

// I11, I19: an attempt is a try. One of which nobody knows the end was begun, or its node is gone;
// what a living node was told is not forgotten.
static void i11_unknown(Sim *sim, const Tried *tried)
{
    const Track *track = track_of(sim, tried->delivery, false);
    const Send *send = track->sends[tried->number];
    const Node *node = node_numbered(sim, tried->node);
    if (tried->verdict != VERDICT_UNKNOWN || !node || !track->is_claimed[tried->number])
        return;
    if (could_lapse(sim, node, track->claimed_at[tried->number]) ||
        track->closed_in_flight == tried->number)
        return;
    if (!send)
        broken(sim, "I11 one try", "track %d: attempt %d was never made, and counts",
               name_of(sim, track), tried->number);
    else
        broken(sim, "I19", "track %d: attempt %d is unknown, but its node lives",
               name_of(sim, track), tried->number);
}

void laws_often(Sim *sim)
{
    size_t count;
    if (sim->has_failed)
        return;
    const Tried *tried = look_attempts(sim, &count);
    i11_dense(sim, tried, count);
    for (size_t i = 0; i < count; i++)
        i11_unknown(sim, &tried[i]);
    i1_events(sim);
    list_often(sim);
    job_often(sim);
    survey_often(sim);
    audit_often(sim);
    if (!look_agrees(sim))
        broken(sim, "I30", "the rows do not agree with each other: see above");
}

enum { PROMPT_SECONDS = 3 };

// is_sound: nothing has hindered the node for a while, so that whatever is due has no excuse.
static bool is_sound(const Sim *sim, const Node *node)
{
    Instant since = sim->now - PROMPT_SECONDS * SPAN_SECOND;
    Instant changed_at = later(later(node->frozen_until, node->trouble_until), node->born_at);
    return node_hears(node) && !node->stops && changed_at < since && !sim->is_held &&
           sim->held_at < since && node->jumped_at == INSTANT_NONE && node->skew == 0 &&
           node->writer_delay <= 2 * SPAN_MILLISECOND;
}

// is_idle: nothing of the lane was under way since then.
static bool is_idle(const Sim *sim, int lane, Instant since)
{
    for (size_t i = 0; i < sim->send_count; i++)
        if (sim->sends[i].lane == lane && sim->sends[i].ends_at >= since)
            return false;
    return true;
}

// I20: a sound node that is alone leaves nothing due lying in a lane where nothing happens.
static void i20_prompt(Sim *sim, const Node *node, size_t at)
{
    const Row *row = &sim->tracks[at].row;
    const Lane *lane = &sim->lanes[sim->tracks[at].pattern->lane];
    Instant since = sim->now - PROMPT_SECONDS * SPAN_SECOND;
    bool is_waiting = delivery_is_live(row->state) && row->state != DELIVERY_SENDING;
    if (!is_waiting || row->step != STEP_SEND || row->due_at >= since || lane->rate_max ||
        (lane->changed_at != INSTANT_NONE && lane->changed_at >= since) ||
        lane == &sim->lanes[PULLED_LANE] || // that is up to the workers
        !is_idle(sim, (int) (lane - sim->lanes), since) ||
        order_is_busy(sim, (int) (lane - sim->lanes)) ||
        care_holds(sim, node, (int) (lane - sim->lanes), since))
        return;
    broken(sim, "I20", "track %zu is due since %lld ms, and n%d does nothing", at,
           (long long) ((sim->now - row->due_at) / SPAN_MILLISECOND), node->index);
}

void laws_on_time(Sim *sim)
{
    const Node *node = &sim->nodes[0];
    if (is_several(sim) || !is_sound(sim, node))
        return;
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++)
        i20_prompt(sim, node, i);
    job_on_time(sim, sim->now - PROMPT_SECONDS * SPAN_SECOND);
}

// backlog_of is how long a lane's rate takes for all that it may have to send.
static Span backlog_of(const Sim *sim, int64_t number)
{
    for (int i = 0; i < sim->lane_count; i++)
        if (sim->lanes[i].number == number && sim->lanes[i].rate_max)
            return (Span) sim->track_count * sim->lanes[i].rate_per / sim->lanes[i].rate_max;
    return 0;
}

// is_at_its_rate: the lane sends as fast as it may, however far the clock jumped over its backlog.
static bool is_at_its_rate(const Sim *sim, int64_t number)
{
    for (int i = 0; i < sim->lane_count; i++) {
        const Lane *lane = &sim->lanes[i];
        if (lane->number == number && lane->rate_max)
            return !is_idle(sim, i, sim->now - lane->rate_per - PROMPT_SECONDS * SPAN_SECOND);
    }
    return false;
}

// I20: once troubles are over, what is due is sent, and lapsed leases are found.
void laws_at_peace(Sim *sim)
{
    Instant now = clock_now(&sim->nodes[0].clock);
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++) {
        const Row *row = &sim->tracks[i].row;
        if (!delivery_is_live(row->state))
            continue;
        bool is_sending = row->state == DELIVERY_SENDING;
        if (!is_sending && (is_at_its_rate(sim, row->lane) ||
                            care_holds_all(sim, sim->tracks[i].pattern->lane, sim->now - LEASE)))
            continue;
        Instant due = is_sending ? row->lease_until : row->due_at;
        if (due < now - 2 * LEASE - backlog_of(sim, row->lane))
            broken(sim, "I20", "track %zu is %s, and due since %lld s", i,
                   delivery_state_text(row->state), (long long) ((now - due) / SPAN_SECOND));
    }
}

// I20, I22: in the end everything has ended, or waits for a person.
void laws_at_end(Sim *sim)
{
    inbox_at_end(sim);
    poll_at_end(sim);
    audit_at_end(sim);
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++)
        if (delivery_is_live(sim->tracks[i].row.state))
            broken(sim, "I20", "track %zu never ends: it is %s", i,
                   delivery_state_text(sim->tracks[i].row.state));
}
