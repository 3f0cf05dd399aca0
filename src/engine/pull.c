#include "engine/state.h"

// Who waits outside for work of a lane. Such a waiter costs nothing until there may be some for it:
// it lies in its lane's list, and the lane in the heap of those that fall due (lane.c) only while
// somebody waits. When it does, as many are called as its news are worth, oldest first: a
// delivery that falls due wakes one of a thousand waiters, not all. Who was called looks for itself
// and tells what it left behind (engine_pulled), which may call the next: where there is more than
// anybody knew, each that found more calls two.
//
// When the waits end is looked at no more often than ENDS_EVERY: a list of all is enough for that.
// Who has left is looked for every LOOK_EVERY: it holds a connection that others need.

#define ENDS_EVERY ((Span) 50 * SPAN_MILLISECOND)
#define LOOK_EVERY SPAN_SECOND

static void enlist(PullerList *list, Puller *puller)
{
    puller->previous = list->last;
    puller->next = NULL;
    *(list->last ? &list->last->next : &list->first) = puller;
    list->last = puller;
}

static void unlist(PullerList *list, Puller *puller)
{
    *(puller->previous ? &puller->previous->next : &list->first) = puller->next;
    *(puller->next ? &puller->next->previous : &list->last) = puller->previous;
}

void engine_pull(Engine *engine, Puller *puller)
{
    pthread_mutex_lock(&engine->lock);
    bool is_refused = engine->refuses_commands;
    if (!is_refused)
        enlist(&engine->came, puller);
    pthread_mutex_unlock(&engine->lock);
    if (is_refused)
        puller->call(puller, true);
    else
        transport_wake(engine->options.transport);
}

void engine_pulled(Engine *engine, const Pulled *pulled)
{
    pthread_mutex_lock(&engine->lock);
    bool wakes = pulled->due_at != INSTANT_NONE &&
                 note_lane(engine, pulled->lane, pulled->due_at, pulled->count) &&
                 pulled->due_at < engine->wakes_at;
    engine->lease_at = earlier(engine->lease_at, pulled->lease_until);
    wakes |= pulled->lease_until < engine->wakes_at;
    pthread_mutex_unlock(&engine->lock);
    if (wakes)
        transport_wake(engine->options.transport);
}

int64_t engine_pullers(Engine *engine)
{
    return engine->puller_count;
}

// leaves takes a waiter out of its lane.
static void leaves(Engine *engine, LaneState *lane, Puller *puller)
{
    unlist(&lane->pullers, puller);
    engine->puller_count--;
    if (!lane->pullers.first)
        lane_opens(engine, lane);
}

// looks_until is when a waiter has to be looked at next.
static Instant looks_until(const Engine *engine, const Puller *puller)
{
    return puller->is_gone ? earlier(puller->until, engine->looked_at + LOOK_EVERY) : puller->until;
}

void pulls_take(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    Puller *came = engine->came.first;
    engine->came = (PullerList){ 0 };
    pthread_mutex_unlock(&engine->lock);
    for (Puller *puller = came, *next; puller; puller = next) {
        LaneState *lane = lane_at(engine, puller->lane);
        next = puller->next;
        enlist(&lane->pullers, puller);
        engine->puller_count++;
        engine->ends_at = earlier(engine->ends_at, looks_until(engine, puller));
        engine->ends_by_clock = earlier(engine->ends_by_clock, puller->until_clock);
        if (lane->pullers.first == puller)
            lane_opens(engine, lane);
    }
}

void pull_call(Engine *engine, LaneState *lane)
{
    if (!engine_sends(engine))
        return; // when it does again, lanes are looked at anew
    int64_t worth = later(lane->news_count, 1);
    lane->news_count = 0;
    lane->due_at = INSTANT_NONE; // who is called tells
    while (worth > 0 && lane->pullers.first) {
        Puller *puller = lane->pullers.first;
        worth -= puller->max;
        leaves(engine, lane, puller);
        puller->call(puller, false);
    }
    lane_opens(engine, lane);
}

static void end_of_lane(Engine *engine, LaneState *lane, Instant monotonic, Instant now)
{
    bool looks = engine->looked_at == monotonic;
    for (Puller *puller = lane->pullers.first, *next; puller; puller = next) {
        next = puller->next;
        bool has_left = looks && puller->is_gone && puller->is_gone(puller);
        if (has_left || puller->until <= monotonic || puller->until_clock <= now) {
            leaves(engine, lane, puller);
            puller->call(puller, true);
            continue;
        }
        engine->ends_at = earlier(engine->ends_at, looks_until(engine, puller));
        engine->ends_by_clock = earlier(engine->ends_by_clock, puller->until_clock);
    }
}

// end_where ends those whose time is over by the one or by the other, or who have left.
static void end_where(Engine *engine, Instant monotonic, Instant now)
{
    if (engine->looked_at + LOOK_EVERY <= monotonic)
        engine->looked_at = monotonic;
    engine->ends_at = engine->ends_by_clock = INSTANT_NONE;
    for (size_t number = 0; number < engine->lanes.room; number++)
        if (engine->lanes.at[number] && engine->lanes.at[number]->pullers.first)
            end_of_lane(engine, engine->lanes.at[number], monotonic, now);
    if (engine->ends_at != INSTANT_NONE)
        engine->ends_at = later(engine->ends_at, monotonic + ENDS_EVERY);
}

void pulls_end(Engine *engine, Instant now)
{
    Instant monotonic = engine_monotonic(engine);
    if (engine->ends_at <= monotonic || engine->ends_by_clock <= now)
        end_where(engine, monotonic, now);
}

void pulls_end_all(Engine *engine)
{
    pulls_take(engine);
    end_where(engine, INSTANT_NONE, INSTANT_NONE);
}
