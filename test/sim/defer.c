#include "sim.h"

#include "domain/defer.h"
#include "store/defer.h"

// Runs that are put off, replaced and called off by their entity; and I55: whoever replaces or
// cancels leaves nothing of the entity that waits, or waits for its next try; what has begun is
// left alone. That what was called off is not sent is I13.

enum { REPLACES_PERCENT = 40, CANCELS_PERCENT = 25 };
#define DELAY_MAX ((Span) 40 * SPAN_SECOND)

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count);
    for (size_t i = 0; i < count; i++) {
        Call *call = (Call *) ops[i];
        accepts[i] = &call->accept;
        TRY(deferrals_name_now(tx, accepts[i], error));
        TRY(accept_decide(accepts[i], tx->registry, tx->random, error));
        registry_drop(call->registry);
        call->registry = registry_hold(tx->registry);
    }
    return accept_write(tx, accepts, count, error);
}

static Deferral *draw_deferral(Sim *sim, const Node *node, int entity)
{
    Deferral *deferral = ARENA_NEW(&sim->arena, Deferral);
    *deferral = (Deferral){ .job = S("later"),
                            .entity = str_format(&sim->arena, "e%d", entity),
                            .run_at = clock_now(&node->clock) + draw_span(sim, 0, DELAY_MAX),
                            .replaces = chance(sim, REPLACES_PERCENT) };
    if (chance(sim, CANCELS_PERCENT)) {
        deferral->cancels = true;
        deferral->replaces = false;
        deferral->run_at = INSTANT_NONE;
    }
    return deferral;
}

void defer_ask(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim defer", .apply = apply };
    Error error = { 0 };
    Call *call = call_new(sim, node, CALL_DEFER);
    call->entity = draw(sim, ENTITIES);
    Deferral *deferral = draw_deferral(sim, node, call->entity);
    call->accept = (Accept){ .arena = &sim->arena,
                             .tenant = OUR_TENANT,
                             .now = clock_now(&node->clock),
                             .count = 1,
                             .items = ARENA_NEW(&sim->arena, AcceptItem) };
    call->accept.items[0] = (AcceptItem){ .deferral = deferral };
    Err err = deferral_event(&sim->arena, deferral, &call->accept.items[0].event, &error);
    assert(err == ERR_OK);
    trace(sim, "client: n%d %s e%d", node->index,
          deferral->cancels    ? "cancels"
          : deferral->replaces ? "replaces"
                               : "defers",
          call->entity);
    call_submit(call, &kind, call_done);
}

void defer_on_answer(Sim *sim, const Call *call)
{
    const Deferral *deferral = call->accept.items[0].deferral;
    if (call->err == ERR_OK && (deferral->replaces || deferral->cancels))
        sim->called_off |= 1u << call->entity;
}

// I55: what moved in this commit may have come back from a try after that.
void defer_look(Sim *sim)
{
    for (size_t i = 0; i < sim->track_count && sim->called_off && !sim->has_failed; i++) {
        const Track *track = &sim->tracks[i];
        bool is_waiting =
            track->row.state == DELIVERY_PENDING || track->row.state == DELIVERY_RETRYING;
        if (track->source == RUN_DEFERRED && track->pattern->is_job && is_waiting &&
            (sim->called_off >> track->entity & 1) && track->moved != sim->commits)
            broken(sim, "I55", "track %d is called off, and waits", name_of(sim, track));
    }
    sim->called_off = 0;
}
