#include "engine/state.h"

// What the engine knows of a lane, and when it looks at it again.
//
// due_at is a promise: nothing of the lane is due before. Whoever makes a delivery due brings it
// forward: a note about a commit, a settle that comes back, a probe. Only a probe puts it off, for
// it alone has looked at the rows. A probe is as old as its transaction, and a note may have come
// since; so every time due_at is brought forward it gets a number (told), and a probe that left
// before that number was given may bring it forward too, but not put it off.
//
// Of a lane that is timeless due_at says only that something stands in it: that is due by any
// clock.
//
// Lanes are looked at by time, not one by one: those that fall due later are in a heap, those that
// are due are in a list, those that are due and have no slot free are in neither until an attempt
// ends. So thirty thousand lanes that have nothing to do cost nothing; the store, too, is asked for
// those alone in which something stands (store/lane.h).

Instant lane_due_at(const LaneState *lane)
{
    bool is_due = lane->due_at != INSTANT_NONE && lane->type && lane->type->is_timeless;
    return is_due ? 0 : lane->due_at;
}

static Instant ready_at(const LaneState *lane)
{
    return lane->may_send ? later(lane_due_at(lane), lane->blocked_until) : INSTANT_NONE;
}

static void heap_put(Lanes *lanes, size_t slot, LaneState *lane)
{
    lanes->heap[slot] = lane;
    lane->slot = slot;
}

static void heap_up(Lanes *lanes, LaneState *lane)
{
    size_t slot = lane->slot;
    for (; slot > 0 && ready_at(lane) < ready_at(lanes->heap[(slot - 1) / 2]);
         slot = (slot - 1) / 2)
        heap_put(lanes, slot, lanes->heap[(slot - 1) / 2]);
    heap_put(lanes, slot, lane);
}

static void heap_down(Lanes *lanes, LaneState *lane)
{
    size_t slot = lane->slot;
    for (;;) {
        size_t child = slot * 2 + 1;
        if (child + 1 < lanes->heap_count &&
            ready_at(lanes->heap[child + 1]) < ready_at(lanes->heap[child]))
            child++;
        if (child >= lanes->heap_count || ready_at(lane) <= ready_at(lanes->heap[child]))
            break;
        heap_put(lanes, slot, lanes->heap[child]);
        slot = child;
    }
    heap_put(lanes, slot, lane);
}

static void leave(Lanes *lanes, LaneState *lane)
{
    LaneState *last;
    switch (lane->place) {
    case LANE_TIMED:
        assert(lanes->heap[lane->slot] == lane);
        last = lanes->heap[--lanes->heap_count];
        if (last != lane) {
            heap_put(lanes, lane->slot, last);
            heap_up(lanes, last);
            heap_down(lanes, last);
        }
        break;
    case LANE_DUE:
        assert(lanes->due[lane->slot] == lane);
        last = lanes->due[--lanes->due_count];
        lanes->due[lane->slot] = last;
        last->slot = lane->slot;
        break;
    case LANE_ASLEEP:
    case LANE_FULL:
        break;
    }
    lane->place = LANE_ASLEEP;
}

// place puts a lane where it belongs, after something about it has changed.
static void place(Engine *engine, LaneState *lane)
{
    Lanes *lanes = &engine->lanes;
    leave(lanes, lane);
    if (ready_at(lane) == INSTANT_NONE)
        return;
    lane->place = LANE_TIMED;
    lane->slot = lanes->heap_count++;
    heap_up(lanes, lane);
}

char *text_keep(Str text)
{
    char *copy = memory_new(text.len + 1);
    memcpy(copy, text.at, text.len);
    return copy;
}

static void make_room(Lanes *lanes, size_t wanted)
{
    if (wanted < lanes->room)
        return;
    size_t room = wanted + 64;
    lanes->at = memory_grow(lanes->at, room * sizeof *lanes->at);
    memset(lanes->at + lanes->room, 0, (room - lanes->room) * sizeof *lanes->at);
    lanes->heap = memory_grow(lanes->heap, room * sizeof *lanes->heap);
    lanes->due = memory_grow(lanes->due, room * sizeof *lanes->due);
    lanes->waiting = memory_grow(lanes->waiting, room * sizeof *lanes->waiting);
    lanes->noted = memory_grow(lanes->noted, room * sizeof *lanes->noted);
    lanes->rated = memory_grow(lanes->rated, room * sizeof *lanes->rated);
    lanes->room = room;
}

LaneState *lane_at(Engine *engine, int64_t number)
{
    Lanes *lanes = &engine->lanes;
    assert(number >= 0);
    make_room(lanes, (size_t) number);
    if (!lanes->at[number]) {
        LaneState *lane = memory_new(sizeof *lane);
        *lane = (LaneState){ .number = number,
                             .due_at = INSTANT_NONE,
                             .circuit.kind = CIRCUIT_OF_LOGIN };
        lanes->at[number] = lane;
    }
    return lanes->at[number];
}

void lane_falls_due(Engine *engine, int64_t number, Instant due_at)
{
    LaneState *lane = lane_at(engine, number);
    lane->told = ++engine->news;
    if (due_at >= lane->due_at)
        return;
    lane->due_at = due_at;
    if (lane->place != LANE_FULL)
        place(engine, lane);
}

void lane_learn(Engine *engine, int64_t number, Instant due_at, uint64_t news)
{
    LaneState *lane = lane_at(engine, number);
    if (lane->told > news)
        due_at = earlier(lane->due_at, due_at);
    lane->due_at = due_at;
    place(engine, lane);
}

// lanes_learn takes in when all lanes fall due in which anything stands, by number; most of those
// in which nothing does were known for that already.
void lanes_learn(Engine *engine, const QueueNext *of_all, uint64_t news)
{
    size_t at = 0;
    for (size_t i = 0; i < of_all->lane_count; i++)
        lane_at(engine, of_all->lanes[i]); // another node's may be new
    for (size_t number = 0; number < engine->lanes.room; number++) {
        const LaneState *lane = engine->lanes.at[number];
        while (at < of_all->lane_count && of_all->lanes[at] < (int64_t) number)
            at++;
        bool is_used = at < of_all->lane_count && of_all->lanes[at] == (int64_t) number;
        if (lane && (is_used || lane->due_at != INSTANT_NONE))
            lane_learn(engine, lane->number, is_used ? of_all->lane_due[at] : INSTANT_NONE, news);
    }
}

void lane_block(Engine *engine, LaneState *lane, Instant until)
{
    lane->blocked_until = until;
    place(engine, lane);
}

void lanes_unblock(Engine *engine)
{
    for (size_t number = 0; number < engine->lanes.room; number++)
        if (engine->lanes.at[number])
            lane_block(engine, engine->lanes.at[number], 0);
}

void lane_fill(Engine *engine, LaneState *lane)
{
    leave(&engine->lanes, lane);
    lane->place = LANE_FULL;
}

void lane_freed(Engine *engine, LaneState *lane)
{
    if (lane->place == LANE_FULL)
        place(engine, lane);
}

void lane_list(Engine *engine, LaneState *lane)
{
    Lanes *lanes = &engine->lanes;
    if (lane->is_listed)
        return;
    lane->is_listed = true;
    lanes->waiting[lanes->waiting_count++] = lane;
}

const ChannelType *lane_type(const Engine *engine, const RegistryLane *lane)
{
    return lane ? engine->lanes.at[lane->lane]->type : NULL;
}

int lane_parcel(const Engine *engine, const RegistryLane *lane)
{
    const ChannelType *type = lane_type(engine, lane);
    return type ? type->parcel_max : 1;
}

static const ChannelType *find_type(const ChannelType *const *types, const RegistryLane *lane)
{
    return lane && lane->channel ? channel_type_in(types, lane->channel->definition.type) : NULL;
}

static bool is_ordered(const ChannelType *type, const RegistryLane *lane)
{
    return lane && lane->channel &&
           (lane->channel->definition.ordered || (type && type->is_ordered));
}

bool lane_is_ordered(const ChannelType *const *types, const RegistryLane *lane)
{
    return is_ordered(find_type(types ? types : channel_types, lane), lane);
}

int lane_concurrency(const Engine *engine, const RegistryLane *lane)
{
    const ChannelType *type = lane_type(engine, lane);
    if (is_ordered(type, lane))
        return 1;
    if (engine->options.is_dev || !type || type->carrier == CARRIER_CAPTURE)
        return CAPTURE_CONCURRENCY;
    return lane->channel->definition.concurrency;
}

int lane_slots(const Engine *engine, const LaneState *lane, const RegistryLane *way)
{
    return host_free_slots(engine, lane, lane_concurrency(engine, way));
}

static Use *tenant_use(Lanes *lanes, int64_t tenant)
{
    if ((size_t) tenant >= lanes->tenant_room) {
        size_t room = (size_t) tenant + 64;
        lanes->tenants = memory_grow(lanes->tenants, room * sizeof *lanes->tenants);
        memset(lanes->tenants + lanes->tenant_room, 0,
               (room - lanes->tenant_room) * sizeof *lanes->tenants);
        lanes->tenant_room = room;
    }
    return &lanes->tenants[tenant];
}

static void hold(Use *held, Use use)
{
    held->rows += use.rows;
    held->bytes += use.bytes;
    assert(held->rows >= 0 && held->bytes >= 0);
}

void lane_hold(Engine *engine, LaneState *lane, Use use)
{
    hold(&engine->use, use);
    hold(&lane->use, use);
    hold(tenant_use(&engine->lanes, lane->tenant), use);
}

Use lane_tenant_use(Engine *engine, const LaneState *lane)
{
    return *tenant_use(&engine->lanes, lane->tenant);
}

// is_pulled: whoever is outside claims from it, and no node. Where its channel is disabled, nobody
// outside is told of it, and its deliveries park as any.
static bool is_pulled(const Engine *engine, const ChannelType *type, const RegistryLane *lane)
{
    return type && type->carrier == CARRIER_PULLED && lane->channel->definition.enabled &&
           !engine->options.is_private;
}

// is_foreign: it runs commands, and this node has none. Another may; until then it waits.
static bool is_foreign(const Engine *engine, const ChannelType *type, const RegistryLane *lane)
{
    bool has_none = !engine->options.exec_folder.at && !engine->options.is_dev;
    return type == &channel_exec && has_none && lane->channel->definition.enabled;
}

// may_send: a lane that is pulled is looked after while somebody waits for it.
static bool may_send(const LaneState *lane)
{
    return lane->is_open && (!lane->is_pulled || lane->pullers.first);
}

void lane_opens(Engine *engine, LaneState *lane)
{
    lane->may_send = may_send(lane);
    place(engine, lane);
}

static int64_t version_of(const TrieItem *lane)
{
    const RegistryChannel *channel = lane ? ((const RegistryLane *) lane)->channel : NULL;
    return channel ? channel->version : 0;
}

// take_change: a lane is new, or its channel has changed. A store that was put back may know fewer
// lanes than before.
static void take_change(void *with, const TrieItem *was, const TrieItem *is)
{
    Engine *engine = with;
    const RegistryLane *known = (const RegistryLane *) (is ? is : was);
    LaneState *lane = lane_at(engine, known->lane);
    lane->tenant = known->tenant;
    lane->type = is ? find_type(engine->options.types, known) : NULL;
    lane->is_open = is && registry_lane_may_send(known) && !is_foreign(engine, lane->type, known);
    lane->is_pulled = is && is_pulled(engine, lane->type, known);
    lane->may_send = may_send(lane);
    if (version_of(was) != version_of(is)) // else it was only read again
        circuit_changed(engine, lane, lane_is_ordered(engine->options.types, known));
    else
        place(engine, lane);
}

void lanes_take_registry(Engine *engine, const Registry *old)
{
    static const Trie none = { 0 };
    trie_compare(old ? &old->lanes : &none, &engine->registry->lanes, take_change, engine);
}

void lanes_wake(Engine *engine, Instant now)
{
    Lanes *lanes = &engine->lanes;
    while (lanes->heap_count > 0 && ready_at(lanes->heap[0]) <= now) {
        LaneState *lane = lanes->heap[0];
        leave(lanes, lane);
        if (lane->is_pulled) {
            pull_call(engine, lane);
            continue;
        }
        lane->place = LANE_DUE;
        lane->slot = lanes->due_count;
        lanes->due[lanes->due_count++] = lane;
    }
}

Instant lanes_later(const Engine *engine)
{
    return engine->lanes.heap_count > 0 ? ready_at(engine->lanes.heap[0]) : INSTANT_NONE;
}

Instant lanes_next(const Engine *engine)
{
    Instant next = lanes_later(engine);
    for (size_t i = 0; i < engine->lanes.due_count; i++)
        next = earlier(next, ready_at(engine->lanes.due[i]));
    return next;
}

void lanes_free(Engine *engine)
{
    Lanes *lanes = &engine->lanes;
    for (size_t i = 0; i < lanes->room; i++) {
        if (!lanes->at[i])
            continue;
        free(lanes->at[i]->origin);
        free(lanes->at[i]->error);
        free(lanes->at[i]);
    }
    free(lanes->at);
    free(lanes->heap);
    free(lanes->due);
    free(lanes->waiting);
    free(lanes->noted);
    free(lanes->rated);
    free(lanes->tenants);
}
