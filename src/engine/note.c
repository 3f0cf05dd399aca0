#include "engine/state.h"

// What others tell the engine, and how it takes that in. Whoever commits something leaves notes,
// from any thread, under the engine's lock: which lanes fall due, who was called off, or only that
// something was done. They are few and merge: a thousand commits between two rounds cost the engine
// as much as one. The engine reads them at the start of a round, and is woken only by what is due
// before it would wake by itself.

static void learn(Engine *engine, bool *has, const Move *moves, size_t count);
static void note_called_off(Engine *engine, const Move *move);
static void keep_called_off(Engine *engine, const Uuid *ids, size_t count);

void engine_moved(void *with, const Move *moves, size_t count)
{
    Engine *engine = with;
    if (count > 0) {
        learn(engine, &engine->has_done, moves, count);
        return;
    }
    // What else was done here makes nothing due: no lane is looked at because a trigger was saved.
    pthread_mutex_lock(&engine->lock);
    engine->has_done = engine->is_asked = true;
    pthread_mutex_unlock(&engine->lock);
    transport_wake(engine->options.transport);
}

void engine_took(void *with)
{
    Engine *engine = with;
    pthread_mutex_lock(&engine->lock);
    bool wakes = atomic_load(&engine->is_hurried) && !engine->has_done;
    engine->has_done = true;
    pthread_mutex_unlock(&engine->lock);
    if (wakes)
        transport_wake(engine->options.transport);
}

void engine_hurry(Engine *engine, bool hurries)
{
    atomic_store(&engine->is_hurried, hurries);
}

// knows_lanes: a lane that we have not heard of is another's news, and so may be anything.
static bool knows_lanes(const Engine *engine, const Move *moves, size_t count)
{
    Registry *registry = writer_registry(engine->options.writer);
    bool knows = true;
    for (size_t i = 0; i < count; i++)
        knows &= registry_lane(registry, moves[i].lane) != NULL;
    registry_drop(registry);
    return knows;
}

void engine_heard(void *with, const Move *moves, size_t count)
{
    Engine *engine = with;
    learn(engine, &engine->has_heard, moves, knows_lanes(engine, moves, count) ? count : 0);
}

// learn takes moves in; has is set for whoever made them.
static void learn(Engine *engine, bool *has, const Move *moves, size_t count)
{
    bool wakes = count == 0;
    Instant now = clock_now(engine->options.clock);
    pthread_mutex_lock(&engine->lock);
    wakes |= atomic_load(&engine->is_hurried) && !*has;
    *has = true;
    engine->is_poked |= count == 0;
    for (size_t i = 0; i < count; i++) {
        const Move *move = &moves[i];
        bool is_called_off = move->to == DELIVERY_CANCELLED || move->to == DELIVERY_COMPLETED;
        if (move->from == DELIVERY_SENDING && is_called_off) {
            note_called_off(engine, move);
            wakes = true;
        } else if (move->due_at != INSTANT_NONE &&
                   note_lane(engine, move->lane, move->due_at, move->due_at <= now)) {
            wakes |= move->due_at < engine->wakes_at;
        }
    }
    pthread_mutex_unlock(&engine->lock);
    if (wakes)
        transport_wake(engine->options.transport);
}

// note_lane keeps the earliest time for each lane; true where it says more than what was there:
// unread notes that say as much have woken the engine already.
bool note_lane(Engine *engine, int64_t lane, Instant due_at, int64_t count)
{
    for (size_t i = 0; i < engine->note_count; i++) {
        Note *note = &engine->notes[i];
        if (note->lane != lane)
            continue;
        bool is_news = due_at < note->due_at;
        note->count += count;
        note->due_at = earlier(note->due_at, due_at);
        return is_news;
    }
    if (engine->note_count < NOTES_MAX)
        engine->notes[engine->note_count++] = (Note){ lane, due_at, count };
    else
        engine->is_poked = true;
    return true;
}

// note_called_off keeps who was called off while it was claimed; past the most, only that some
// were.
static void note_called_off(Engine *engine, const Move *move)
{
    if (engine->called_off_count < CALLED_OFF_MAX)
        engine->called_off[engine->called_off_count] = move->delivery;
    if (engine->called_off_count <= CALLED_OFF_MAX)
        engine->called_off_count++;
}

void notes_take(Engine *engine)
{
    Uuid called_off[CALLED_OFF_MAX];
    pthread_mutex_lock(&engine->lock);
    size_t called_off_count = engine->called_off_count;
    memcpy(called_off, engine->called_off, sizeof called_off);
    engine->called_off_count = 0;
    for (size_t i = 0; i < engine->note_count; i++) {
        const Note *note = &engine->notes[i];
        lane_falls_due(engine, note->lane, note->due_at);
        if (lane_at(engine, note->lane)->pullers.first)
            lane_at(engine, note->lane)->news_count += note->count;
    }
    engine->note_count = 0;
    if (engine->lease_at != INSTANT_NONE)
        duty_falls_due(engine, DUTY_EXPIRE, engine->lease_at);
    engine->lease_at = INSTANT_NONE;
    if (engine->is_poked)
        engine->wants_probe = true;
    if (engine->is_poked || engine->is_asked)
        duties_want_any(engine);
    if (engine->has_heard && engine->other_nodes == 0)
        engine->duties[DUTY_BEAT].is_wanted = true;
    if (engine->has_done || (engine->has_heard && atomic_load(&engine->is_hurried)))
        duties_have_news(engine);
    engine->is_poked = engine->is_asked = engine->has_heard = engine->has_done = false;
    pthread_mutex_unlock(&engine->lock);
    dispatch_called_off(engine, called_off, called_off_count);
    keep_called_off(engine, called_off, called_off_count);
}

// keep_called_off remembers them for the rounds that are out: one that was claimed and called off
// in one transaction comes back after the word of it.
static void keep_called_off(Engine *engine, const Uuid *ids, size_t count)
{
    for (size_t i = 0; i < count && i < CALLED_OFF_MAX; i++)
        engine->off[engine->off_count++ % CALLED_OFF_MAX] = ids[i];
    if (count > 0)
        engine->off_rounds = engine->rounds_out;
    if (engine->off_rounds == 0)
        engine->off_count = 0;
}
