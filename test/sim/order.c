#include "sim.h"

// I40: an ordered lane keeps its order, and gives nothing up. One is sent at a time, by whichever
// node; nothing goes out before what stands before it; what may pass stays in its place, unspent,
// however often it fails.

bool is_ordered(const Sim *sim, const Track *track)
{
    return sim->lanes[track->pattern->lane].is_ordered;
}

static bool stands_before(const Track *one, const Track *other)
{
    if (one->row.due_at != other->row.due_at)
        return one->row.due_at < other->row.due_at;
    return uuid_cmp(one->id, other->id) < 0;
}

// is_overtaken: it stood before the other, free to be claimed, when that was.
static bool is_overtaken(const Track *track, const Send *send)
{
    const Track *sent = send->track;
    return track != sent && track->pattern->lane == send->lane &&
           delivery_is_live(track->row.state) && track->row.state != DELIVERY_SENDING &&
           track->row.step == STEP_SEND && track->moved < sent->claimed_in[send->attempt] &&
           stands_before(track, sent);
}

static void one_at_a_time(Sim *sim, const Send *send)
{
    for (size_t i = sim->first_open; i < sim->send_count; i++) {
        const Send *other = &sim->sends[i];
        if (other == send || other->lane != send->lane || other->is_told || other->is_cut)
            continue;
        bool is_called_off = other->track->closed_at != INSTANT_NONE; // it holds nobody up
        if (!is_called_off && !is_explained(sim, other))
            broken(sim, "I40", "track %d is sent while track %d is", name_of(sim, send->track),
                   name_of(sim, other->track));
    }
}

void order_on_send(Sim *sim, const Send *send)
{
    if (!is_ordered(sim, send->track))
        return;
    one_at_a_time(sim, send);
    for (size_t i = 0; i < sim->track_count; i++)
        if (is_overtaken(&sim->tracks[i], send))
            broken(sim, "I40", "track %d is sent before track %zu", name_of(sim, send->track), i);
}

bool order_is_busy(const Sim *sim, int lane)
{
    for (size_t i = 0; i < sim->track_count && sim->lanes[lane].is_ordered; i++)
        if (sim->tracks[i].pattern->lane == lane && sim->tracks[i].row.state == DELIVERY_SENDING)
            return true;
    return false;
}

void order_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    if (is->state == DELIVERY_RETRYING &&
        (is->due_at != was->due_at || is->failures != was->failures))
        broken(sim, "I40", "track %d loses its place", name_of(sim, track));
    if (is->state == DELIVERY_PARKED && is->reason == REASON_GAVE_UP)
        broken(sim, "I40", "track %d is given up", name_of(sim, track));
}

bool order_gives_back(Sim *sim, Track *track, const Row *was)
{
    const Send *send = track->sends[was->attempt];
    if (!is_ordered(sim, track) || !send)
        return false;
    bool is_over = send->answer == ANSWER_TAKEN || send->answer == ANSWER_REFUSED ||
                   send->answer == ANSWER_GONE;
    if (!send->is_told || (is_over && !is_explained(sim, send)))
        broken(sim, "I40", "track %d is given back, but was %s", name_of(sim, track),
               send->is_told ? answer_text(send->answer) : "under way");
    track->sends[was->attempt] = NULL; // the next try has the same number
    return true;
}
