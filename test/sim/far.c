#include "sim.h"

#include "base/time.h"

// How far sides behave. A hanging one is cut by the channel's time-out; one that loses replies took
// the message, which is what makes duplicates.
const Mood moods[] = {
    // name      taken refused unwell later gone no-conn lost never
    { "well", { 100, 0, 0, 0, 0, 0, 0, 0 }, SPAN_MILLISECOND, 30 * SPAN_MILLISECOND },
    { "flaky", { 50, 5, 15, 10, 0, 10, 5, 5 }, SPAN_MILLISECOND, 400 * SPAN_MILLISECOND },
    { "slow", { 90, 0, 5, 0, 0, 0, 5, 0 }, 2 * SPAN_SECOND, 19 * SPAN_SECOND },
    { "hanging", { 10, 0, 0, 0, 0, 0, 20, 70 }, SPAN_SECOND, 30 * SPAN_SECOND },
    { "down", { 0, 0, 20, 0, 0, 80, 0, 0 }, SPAN_MILLISECOND, 3 * SPAN_SECOND },
    { "busy", { 30, 0, 0, 70, 0, 0, 0, 0 }, 5 * SPAN_MILLISECOND, SPAN_SECOND },
    { "strict", { 40, 60, 0, 0, 0, 0, 0, 0 }, 5 * SPAN_MILLISECOND, SPAN_SECOND },
    { "going", { 70, 0, 0, 0, 30, 0, 0, 0 }, 5 * SPAN_MILLISECOND, SPAN_SECOND },
};
const size_t mood_count = ARRAY_LEN(moods);

const char *answer_text(Answer answer)
{
    static const char *const texts[] = { "taken", "refused",       "unwell", "later",
                                         "gone",  "no-connection", "lost",   "never" };
    return texts[answer];
}

Answer far_draw_answer(Sim *sim, const Mood *mood)
{
    int total = 0, at = 0;
    for (int i = 0; i <= ANSWER_NEVER; i++)
        total += mood->weights[i];
    int roll = draw(sim, total);
    while (roll >= mood->weights[at])
        roll -= mood->weights[at++];
    return (Answer) at;
}

static int draw_status(Sim *sim, Answer answer)
{
    static const int refusals[] = { 400, 401, 404, 422, 501 }, failures[] = { 500, 502, 408, 429 };
    switch (answer) {
    case ANSWER_TAKEN:
        return chance(sim, 50) ? 200 : 204;
    case ANSWER_REFUSED:
        return refusals[draw(sim, ARRAY_LEN(refusals))];
    case ANSWER_UNWELL:
        return failures[draw(sim, ARRAY_LEN(failures))];
    case ANSWER_LATER:
        return 503;
    case ANSWER_GONE:
        return 410;
    case ANSWER_NO_CONNECTION:
    case ANSWER_LOST:
    case ANSWER_NEVER:
        break;
    }
    return 0;
}

static Str header(const Transfer *transfer, Str name)
{
    for (size_t i = 0; i < transfer->header_count; i++)
        if (str_eq_nocase(transfer->headers[i].name, name))
            return transfer->headers[i].value;
    return STR_NONE;
}

// read_request learns from the request alone what it is about, as a receiver would.
static void read_request(Sim *sim, const Transfer *transfer, Send *ret)
{
    int64_t send = 0, attempt = 0;
    Uuid id;
    Str rest = header(transfer, S("webhook-id"));
    Str text = str_cut(&rest, '.');
    bool is_good = uuid_parse(text, &id) && str_to_i64(rest, 1, 1000, &send) &&
                   str_to_i64(header(transfer, S("peal-attempt")), 1, 1000, &attempt);
    ret->send = (int) send;
    ret->attempt = (int) attempt;
    ret->track = is_good ? track_of(sim, id, false) : NULL;
}

bool is_mail(const Send *send)
{
    return send->lane == MAIL_LANE;
}

static int lane_of_url(const Sim *sim, Str url)
{
    for (int i = 0; i < sim->lane_count; i++)
        if (str_ends(url, str_from(sim->lanes[i].key)))
            return i;
    assert(!"a request that nobody configured");
    return 0;
}

static void script(Sim *sim, const Transfer *transfer, Send *send)
{
    const Mood *mood = sim->lanes[send->lane].mood;
    send->answer = far_draw_answer(sim, mood);
    send->status = draw_status(sim, send->answer);
    if (send->lane == HANDED_LANE && send->answer == ANSWER_TAKEN && !sim->is_calm)
        send->status = 202;
    Span takes = draw_span(sim, mood->least, mood->most);
    if (send->answer == ANSWER_LATER)
        send->retry_after = draw_span(sim, 1, 40) * SPAN_SECOND;
    if (takes > transfer->timeout && send->answer == ANSWER_TAKEN)
        send->answer = ANSWER_LOST;
    else if (takes > transfer->timeout)
        send->answer = ANSWER_NEVER;
    if (send->answer == ANSWER_NEVER || takes > transfer->timeout)
        takes = transfer->timeout;
    send->ends_at = sim->now + takes;
}

static void start(void *with, const Transfer *transfer, TransferDone *done, void *done_with)
{
    Node *node = with;
    Sim *sim = node->sim;
    if (!node_hears(node))
        return; // it is dead: nothing leaves it
    if (poll_is_asked(transfer)) {
        poll_start(node, transfer, done, done_with);
        return;
    }
    assert(sim->send_count < SENDS_MAX);
    Send *send = &sim->sends[sim->send_count++];
    *send = (Send){ .node = node->index,
                    .life = node->life,
                    .lane = lane_of_url(sim, transfer->url),
                    .started_at = sim->now,
                    .done = done,
                    .with = done_with };
    if (is_mail(send))
        mail_read(sim, transfer, send);
    else
        read_request(sim, transfer, send);
    script(sim, transfer, send);
    if (is_mail(send))
        mail_script(sim, send);
    laws_on_send(sim, send);
}

// spawn: no lane of the simulation runs programs.
static void spawn(void *with, const Process *process, ProcessDone *done, void *done_with)
{
    (void) with, (void) process, (void) done, (void) done_with;
    assert(!"a program that nobody configured");
}

static bool is_open(const Node *node, const Send *send)
{
    return send->node == node->index && send->life == node->life && !send->is_told && !send->is_cut;
}

Instant far_next(const Node *node)
{
    const Sim *sim = node->sim;
    Instant next = poll_next(node);
    for (size_t i = sim->first_open; i < sim->send_count; i++)
        if (is_open(node, &sim->sends[i]))
            next = earlier(next, sim->sends[i].ends_at);
    return next;
}

static void tell(const Node *node, Send *send)
{
    char retry[24];
    snprintf(retry, sizeof retry, "%lld", (long long) (send->retry_after / SPAN_SECOND));
    TransferResult result = { .status = send->status };
    send->is_told = true;
    send->told_at = clock_now(&node->clock);
    care_on_told(node->sim, send);
    if (send->answer == ANSWER_NO_CONNECTION)
        result.problem = TRANSFER_NO_CONNECTION;
    else if (send->answer >= ANSWER_LOST)
        result.problem = TRANSFER_NO_ANSWER;
    if (send->retry_after)
        result.retry_after = str_from(retry);
    if (is_mail(send))
        mail_tell(send, &result);
    send->done(send->with, &result);
}

static void tell_all(Node *node)
{
    Sim *sim = node->sim;
    size_t count = sim->send_count; // what a callback starts ends later
    for (size_t i = sim->first_open; i < count && node_hears(node); i++) {
        Send *send = &sim->sends[i];
        if (!is_open(node, send) || send->ends_at > sim->now)
            continue;
        trace(sim, "n%d told send %zu %s %d", node->index, i, answer_text(send->answer),
              send->status);
        tell(node, send);
    }
    while (sim->first_open < sim->send_count &&
           (sim->sends[sim->first_open].is_told || sim->sends[sim->first_open].is_cut))
        sim->first_open++;
}

// wait_for with a time-out is the engine's own, at its orderly end: the world goes on meanwhile.
static void wait_for(void *with, Span timeout)
{
    Node *node = with;
    Sim *sim = node->sim;
    if (timeout > 0 && !node->is_dead) {
        node_plan_write(node);
        world_run(sim, sim->now + timeout);
        node->is_dead |= sim->has_failed;
    }
    while (node->is_dead && node->in_writer == 0 && writer_step(node->writer))
        ;
    tell_all(node);
    poll_tell_all(node);
}

static void wake(void *with)
{
    Node *node = with;
    node->wakes_at = node->sim->now;
}

void far_forget(Node *node)
{
    Sim *sim = node->sim;
    for (size_t i = sim->first_open; i < sim->send_count; i++)
        if (is_open(node, &sim->sends[i]))
            sim->sends[i].is_cut = true;
    poll_forget(node);
}

Transport far_transport(Node *node)
{
    return (
        Transport){ .with = node, .start = start, .spawn = spawn, .wait = wait_for, .wake = wake };
}
