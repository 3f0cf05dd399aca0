#include "sim.h"

#include "store/inbox.h"

// What applications emit and webhooks bring, and I44: a row that was committed becomes its event,
// once; no row of a source before one that came earlier; and a row of which no event can be made
// fails alone.

enum { SOURCES = 3, HOOKS_SOURCE = 2, ROWS_MAX = 5, BAD_PERCENT = 8 };

static Str draw_body(Sim *sim, bool is_bad)
{
    int key = draw(sim, KEYS);
    return str_format(&sim->arena, "{\"key\":%d%s", key, is_bad ? "" : "}");
}

// become_hook makes of a row what GitHub sent; nobody need listen to it.
static void become_hook(Sim *sim, InboxRow *row, bool is_bad)
{
    row->kind = INBOX_HOOK;
    row->event_kind = STR_NONE;
    row->provider = S("github");
    row->headers = S("[[\"x-github-event\",\"issues\"]]");
    row->body = str_format(&sim->arena, "{\"action\":\"opened\",\"issue\":{\"id\":%d}%s",
                           draw(sim, KEYS), is_bad ? "" : "}");
}

static InboxRow row_of(Sim *sim, const Node *node, const Emit *emit)
{
    static const Str kinds[] = { S("a"), S("b"), S("c"), S("d"), S("e") };
    static const Str sources[SOURCES] = { S("orders"), S("visits"), S("hooks") };
    Instant now = clock_now(&node->clock);
    InboxRow row = { .tenant = OUR_TENANT,
                     .id = emit->id,
                     .source = sources[emit->source],
                     .kind = INBOX_EVENT,
                     .event_kind = kinds[draw(sim, ARRAY_LEN(kinds))],
                     .body = draw_body(sim, emit->is_bad),
                     .next_at = INSTANT_NONE,
                     .received_at = now,
                     .processed_at = INSTANT_NONE };
    if (emit->source == HOOKS_SOURCE)
        become_hook(sim, &row, emit->is_bad);
    return row;
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        inbox_put(tx, call->rows, call->row_count);
    }
    return tx_sync(tx, error);
}

void inbox_ask(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim emit", .apply = apply };
    Call *call = call_new(sim, node, CALL_EMIT);
    int source = draw(sim, SOURCES);
    call->first_emit = sim->emit_count;
    call->row_count = 1 + (size_t) draw(sim, ROWS_MAX);
    call->rows = ARENA_ARRAY(&sim->arena, InboxRow, call->row_count);
    for (size_t i = 0; i < call->row_count; i++) {
        assert(sim->emit_count < EMITS_MAX);
        Emit *emit = &sim->emits[sim->emit_count++];
        *emit = (Emit){ .id = uuid_new(clock_now(&node->clock), &sim->chance),
                        .source = source,
                        .is_bad = chance(sim, BAD_PERCENT) };
        call->rows[i] = row_of(sim, node, emit);
    }
    trace(sim, "client: n%d emits %zu", node->index, call->row_count);
    call_submit(call, &kind, call_done);
}

// inbox_on_answer tells the engine of it, as intake/ does.
void inbox_on_answer(Sim *sim, const Call *call)
{
    for (size_t i = 0; i < call->row_count && call->err == ERR_OK; i++) {
        Emit *emit = &sim->emits[call->first_emit + i];
        emit->is_sent = true;
        emit->deaths = sim->deaths;
    }
    if (node_hears(call->node) && call->node->life == call->life)
        engine_moved(call->node->engine, NULL, 0);
}

static int number_of(const Sim *sim, const Emit *emit)
{
    return (int) (emit - sim->emits);
}

// overtook: a row of its source that stands before it, and was seen to be there, still waits. One
// that was committed with what did the other, or by the node's other pen, came too late for that.
static const Emit *overtook(const Sim *sim, const Emit *emit)
{
    for (size_t i = sim->emits_done; i < sim->emit_count; i++) {
        const Emit *other = &sim->emits[i];
        if (other->is_sent && !other->is_done && other->attempts == 0 &&
            other->source == emit->source && other->is_seen && uuid_cmp(other->id, emit->id) < 0)
            return other;
    }
    return NULL;
}

static void on_done(Sim *sim, const Emit *emit)
{
    const Emit *before = overtook(sim, emit);
    bool has_event = look_event(sim, emit->id);
    trace(sim, "emit %d is %s", number_of(sim, emit), emit->is_good ? "published" : "failed");
    // What waits through three deaths is taken for their cause (engine/drain.c).
    bool is_blamed = !emit->is_good && sim->deaths - emit->deaths >= INBOX_TRIES;
    if (emit->is_good == emit->is_bad && !is_blamed)
        broken(sim, "I44", "emit %d is %s, and is %s", number_of(sim, emit),
               emit->is_good ? "published" : "failed", emit->is_bad ? "bad" : "good");
    if (has_event != emit->is_good)
        broken(sim, "I44", "emit %d has %s event", number_of(sim, emit), has_event ? "an" : "no");
    if (before)
        broken(sim, "I44", "emit %d is done before emit %d", number_of(sim, emit),
               number_of(sim, before));
}

static void look_at(Sim *sim, Emit *emit)
{
    bool was_done = emit->is_done;
    if (!look_emit(sim, emit))
        broken(sim, "I44", "emit %d is gone", number_of(sim, emit));
    else if (!emit->is_done && look_event(sim, emit->id))
        broken(sim, "I44", "emit %d waits, and has its event", number_of(sim, emit));
    else if (was_done && !emit->is_done)
        broken(sim, "I44", "emit %d waits again", number_of(sim, emit));
}

// inbox_look: first all that wait are seen as they are, then those that are done are judged.
void inbox_look(Sim *sim)
{
    for (size_t i = sim->emits_done; i < sim->emit_count && !sim->has_failed; i++) {
        Emit *emit = &sim->emits[i];
        if (emit->is_sent && !emit->is_done)
            look_at(sim, emit), emit->is_new = emit->is_done;
    }
    for (size_t i = sim->emits_done; i < sim->emit_count && !sim->has_failed; i++) {
        if (sim->emits[i].is_new)
            on_done(sim, &sim->emits[i]);
        sim->emits[i].is_new = false;
    }
    for (size_t i = sim->emits_done; i < sim->emit_count; i++)
        sim->emits[i].is_seen = sim->emits[i].is_sent;
    while (sim->emits_done < sim->emit_count && sim->emits[sim->emits_done].is_done)
        sim->emits_done++;
}

void inbox_at_end(Sim *sim)
{
    for (size_t i = 0; i < sim->emit_count && !sim->has_failed; i++) {
        Emit *emit = &sim->emits[i];
        if (!emit->is_sent && (look_emit(sim, emit) || look_event(sim, emit->id)))
            broken(sim, "I2", "emit %zu was not taken, and is there", i);
        else if (emit->is_sent && !emit->is_done)
            broken(sim, "I44", "emit %zu never becomes an event", i);
    }
}
