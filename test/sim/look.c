#include "sim.h"

#include "../suite/fixture.h"
#include "domain/inbox.h"

// All that the simulation knows of tables stands here. The eye is a connection of its own that only
// reads, between transactions: what it sees is committed, and with synchronous=FULL on the disk.

static const Statement rows_now = {
    .name = "sim_rows",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT id, state, step, due_at, lease_until, attempt, fence, failures, send,"
           " reminders_left, first_due_at, last_sent_at, started_at, NULL, holder, lane, 0"
           " FROM queue"
           " UNION ALL SELECT id, state, 0, expires_at, NULL, attempt, fence, failures, send,"
           " reminders_left, first_due_at, last_sent_at, NULL, ended_at, NULL, lane, reason"
           " FROM ended",
};
static const Statement promise = {
    .name = "sim_promise",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT r.id, e.payload, d.event, e.source, e.occurred_at, e.received_at, e.entity FROM "
           "delivery "
           "d JOIN rule r ON r.rule = d.rule"
           " JOIN event e ON e.id = d.event WHERE d.id = $1",
};
static const Statement attempts_now = {
    .name = "sim_attempts",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT delivery, number, send, verdict, node FROM attempt"
           " UNION ALL SELECT id, attempt, send, verdict, node FROM ended WHERE verdict IS NOT NULL"
           " ORDER BY delivery, number",
};
static const Statement event_there = {
    .name = "sim_event",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT 1 FROM event WHERE id = $1",
};
static const Statement deliveries_of = {
    .name = "sim_deliveries",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT COUNT(*) FROM delivery WHERE event = $1",
};
static const Statement identities = {
    .name = "sim_identities",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1 FROM event WHERE identity IS NOT NULL"
           " GROUP BY tenant, source, identity HAVING COUNT(*) > 1",
};
static const Statement lane_number = {
    .name = "sim_lane",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT lane FROM lane WHERE channel = $1",
};

static const Statement targets_of = {
    .name = "sim_targets",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT address, send, verdict FROM target WHERE delivery = $1 ORDER BY n",
};

static const Statement emit_now = {
    .name = "sim_emit",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT status, attempts FROM inbox WHERE id = $1",
};

static const Statement schedule_now = {
    .name = "sim_schedule",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT s.version, s.next_at, s.last_for, s.queued_for, s.missed, s.skipped,"
           " s.fault IS NOT NULL FROM schedule s JOIN rule r ON r.rule = s.rule WHERE r.id = $1",
};
static const Statement ends_now = {
    .name = "sim_ends",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT id, json_extract(payload, '$.executionId'), kind = 'job-completed'"
           " AND json_extract(payload, '$.job') = 'later' FROM event"
           " WHERE kind IN ('job-completed', 'job-failed')",
};

static const Statement responses_now = {
    .name = "sim_responses",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT r.id, r.delivery, r.answers, (SELECT COUNT(*) FROM event e"
           " WHERE e.tenant = r.tenant AND e.id = r.id AND e.kind = 'response-completed'),"
           " (SELECT COUNT(*) FROM delivery d WHERE d.tenant = r.tenant AND d.event = r.id)"
           " FROM response r ORDER BY r.id",
};
static const Statement tally_now = {
    .name = "sim_tally",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT SUM(n) FROM tally WHERE question = ''",
};
static const Statement polled_now = {
    .name = "sim_polled",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT CAST(json_extract(payload, '$.externalId') AS INTEGER) FROM event"
           " WHERE kind = 'gmail.message'",
};
static const Statement poll_now = {
    .name = "sim_poll_group",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT fence, lease_until, backoff_until, last_error,"
           " CAST(json_extract(cursor, '$.historyId') AS INTEGER),"
           " json_extract(cursor, '$.recover') IS NOT NULL FROM poll_group",
};

static const Statement version_now = {
    .name = "sim_version",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "PRAGMA data_version",
};

static Rows query(Sim *sim, const Statement *statement, const Value *values)
{
    Error error = { 0 };
    Rows rows;
    Err err = db_query(sim->eye, &sim->scratch, statement, values, &rows, &error);
    if (err != ERR_OK)
        printf("# %s: %s\n", statement->name, error.detail);
    assert(err == ERR_OK);
    return rows;
}

void look_open(Sim *sim)
{
    Error error = { 0 };
    Str url = str_format(&sim->arena, "sqlite:%s/sim.db?vfs=powerloss", getenv("SIM_FOLDER"));
    Err err = db_open(&(DbOptions){ .url = url, .is_reader = true }, &sim->eye, &error);
    assert(err == ERR_OK);
    sim->suite = ARENA_NEW(&sim->arena, Store);
    *sim->suite = (Store){ .db = sim->eye };
}

void look_close(Sim *sim)
{
    arena_done(&sim->suite->arena);
    db_close(sim->eye);
    sim->eye = NULL;
    sim->version = 0;
}

bool look_agrees(Sim *sim)
{
    store_check(sim->suite);
    return suite_failures() + test_failures == 0;
}

static int *place_of(Sim *sim, Uuid id)
{
    uint64_t hash;
    memcpy(&hash, id.b + 8, sizeof hash);
    size_t at = (size_t) (hash * 0x9e3779b97f4a7c15u % ARRAY_LEN(sim->places));
    while (sim->places[at] && uuid_cmp(sim->tracks[sim->places[at] - 1].id, id) != 0)
        at = (at + 1) % ARRAY_LEN(sim->places);
    return &sim->places[at];
}

// key_in is the key of a payload that begins with it.
static int key_in(Str payload)
{
    int64_t key = 0;
    Str rest = str_skip(payload, S("{\"key\":").len);
    (void) str_to_i64((Str){ rest.at, 1 }, 0, KEYS, &key);
    return (int) key;
}

// entity_in is the number of one that runs are put off for.
static int entity_in(Str entity)
{
    int64_t number = 0;
    (void) str_to_i64(str_skip(entity, 1), 0, ENTITIES - 1, &number);
    return (int) number;
}

Track *track_of(Sim *sim, Uuid id, bool make)
{
    int *place = place_of(sim, id);
    if (*place)
        return &sim->tracks[*place - 1];
    if (!make)
        return NULL;
    assert(sim->track_count < TRACKS_MAX);
    Track *track = &sim->tracks[sim->track_count++];
    *place = (int) sim->track_count;
    Value args[] = { value_uuid(&id) };
    Rows rows = query(sim, &promise, args);
    assert(rows.count == 1);
    *track = (Track){ .id = id,
                      .pattern = pattern_named(value_to_str(&rows.values[0])),
                      .key = key_in(value_to_str(&rows.values[1])),
                      .event = value_to_uuid(&rows.values[2]),
                      .source = run_source(value_to_str(&rows.values[3])),
                      .scheduled_for = value_to_time(&rows.values[4]),
                      .made_at = value_to_time(&rows.values[5]),
                      .entity = entity_in(value_to_str(&rows.values[6])),
                      .closed_at = INSTANT_NONE,
                      .ended_as = -1 };
    if (track->pattern->members)
        track->post = ARENA_NEW(&sim->arena, Post), *track->post = (Post){ 0 };
    return track;
}

static Row read_row(const Value *row)
{
    return (Row){ .state = (DeliveryState) value_to_i64(&row[1]),
                  .step = (Step) value_to_i64(&row[2]),
                  .due_at = value_to_time(&row[3]),
                  .lease_until = value_to_time(&row[4]),
                  .attempt = (int) value_to_i64(&row[5]),
                  .fence = (int) value_to_i64(&row[6]),
                  .failures = (int) value_to_i64(&row[7]),
                  .send = (int) value_to_i64(&row[8]),
                  .reminders_left = (int) value_to_i64(&row[9]),
                  .first_due_at = value_to_time(&row[10]),
                  .last_sent_at = value_to_time(&row[11]),
                  .started_at = value_to_time(&row[12]),
                  .ended_at = value_to_time(&row[13]),
                  .holder = value_to_i64(&row[14]),
                  .lane = value_to_i64(&row[15]),
                  .reason = (int) value_to_i64(&row[16]) };
}

// look_at compares one row with what was known of it.
static void look_at(Sim *sim, const Value *values)
{
    Row row = read_row(values);
    Track *track = track_of(sim, value_to_uuid(&values[0]), true);
    Row was = track->row;
    bool is_new = !track->is_there;
    track->seen = sim->commits;
    track->is_there = true;
    if (is_new)
        track->seen_first = sim->commits;
    if (!is_new && memcmp(&was, &row, sizeof row) == 0)
        return;
    track->row = row;
    track->moved = sim->commits;
    laws_on_change(sim, track, is_new ? NULL : &was, &track->row);
}

// has_changed: somebody has written since the last look; most rounds do not.
static bool has_changed(Sim *sim)
{
    Rows rows = query(sim, &version_now, NULL);
    int64_t version = value_to_i64(&rows.values[0]), before = sim->version;
    sim->version = version;
    return version != before;
}

void look(Sim *sim)
{
    arena_reset(&sim->scratch);
    sim->commits++;
    if (!has_changed(sim))
        return;
    Rows rows = query(sim, &rows_now, NULL);
    for (size_t i = 0; i < rows.count && !sim->has_failed; i++)
        look_at(sim, rows_at(&rows, i));
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++)
        if (sim->tracks[i].seen != sim->commits && !sim->tracks[i].is_gone)
            purge_on_vanish(sim, &sim->tracks[i]);
    inbox_look(sim);
    poll_look(sim);
    purge_look(sim);
    job_look(sim);
    defer_look(sim);
    survey_look(sim);
}

Tried *look_attempts(Sim *sim, size_t *ret_count)
{
    Rows rows = query(sim, &attempts_now, NULL);
    Tried *tried = ARENA_ARRAY(&sim->scratch, Tried, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        tried[i] = (Tried){ .delivery = value_to_uuid(&row[0]),
                            .number = (int) value_to_i64(&row[1]),
                            .send = (int) value_to_i64(&row[2]),
                            .verdict = (Verdict) value_to_i64(&row[3]),
                            .node = value_to_i64(&row[4]) };
    }
    *ret_count = rows.count;
    return tried;
}

Told *look_targets(Sim *sim, Uuid delivery, size_t *ret_count)
{
    Value args[] = { value_uuid(&delivery) };
    Rows rows = query(sim, &targets_of, args);
    Told *told = ARENA_ARRAY(&sim->scratch, Told, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        told[i] = (Told){ .member = member_named(value_to_str(&row[0])),
                          .send = (int) value_to_i64(&row[1]),
                          .verdict = (Verdict) value_to_i64(&row[2]) };
    }
    *ret_count = rows.count;
    return told;
}

bool look_emit(Sim *sim, Emit *emit)
{
    Value args[] = { value_uuid(&emit->id) };
    Rows rows = query(sim, &emit_now, args);
    if (rows.count == 0)
        return false;
    emit->is_done = value_to_i64(&rows.values[0]) != INBOX_PENDING;
    emit->is_good = value_to_i64(&rows.values[0]) == INBOX_PUBLISHED;
    emit->attempts = (int) value_to_i64(&rows.values[1]);
    return true;
}

void look_polled(Sim *sim)
{
    Rows rows = query(sim, &polled_now, NULL);
    for (size_t i = 0; i < rows.count && !sim->has_failed; i++)
        poll_on_event(sim, (int) value_to_i64(rows_at(&rows, i)));
}

bool look_poll_group(Sim *sim, PollGroup *ret, int *ret_cursor, bool *ret_recovers)
{
    Rows rows = query(sim, &poll_now, NULL);
    if (rows.count == 0)
        return false;
    const Value *row = rows.values;
    *ret = (PollGroup){ .fence = value_to_i64(&row[0]),
                        .lease_until = value_to_time(&row[1]),
                        .backoff_until = value_to_time(&row[2]),
                        .last_error = str_dup(&sim->arena, value_to_str(&row[3])) };
    *ret_cursor = row[4].type == VALUE_NULL ? -1 : (int) value_to_i64(&row[4]);
    *ret_recovers = value_to_i64(&row[5]) != 0;
    return true;
}

bool look_schedule(Sim *sim, const char *id, Table *ret)
{
    Value args[] = { value_text(str_from(id)) };
    Rows rows = query(sim, &schedule_now, args);
    if (rows.count == 0)
        return false;
    ret->version = value_to_i64(&rows.values[0]);
    ret->next_at = value_to_time(&rows.values[1]);
    ret->last_for = value_to_time(&rows.values[2]);
    ret->queued_for = value_to_time(&rows.values[3]);
    ret->missed = value_to_i64(&rows.values[4]);
    ret->skipped = value_to_i64(&rows.values[5]);
    ret->has_fault = value_to_i64(&rows.values[6]) != 0;
    return true;
}

void look_ends(Sim *sim)
{
    Rows rows = query(sim, &ends_now, NULL);
    for (size_t i = 0; i < rows.count && !sim->has_failed; i++) {
        const Value *row = rows_at(&rows, i);
        Uuid run;
        Str id = { value_to_str(&row[1]).at, UUID_TEXT_LEN };
        if (!uuid_parse(id, &run))
            broken(sim, "I54", "the end of nothing is told");
        else
            job_on_end(sim, value_to_uuid(&row[0]), run, value_to_i64(&row[2]) != 0);
    }
}

void look_responses(Sim *sim)
{
    Rows rows = query(sim, &responses_now, NULL);
    for (size_t i = 0; i < rows.count && !sim->has_failed; i++) {
        const Value *row = rows_at(&rows, i);
        survey_on_response(sim, value_to_uuid(&row[0]), value_to_uuid(&row[1]),
                           value_to_str(&row[2]), value_to_i64(&row[3]) == 1,
                           (int) value_to_i64(&row[4]));
    }
}

int look_tally(Sim *sim)
{
    return (int) value_to_i64(query(sim, &tally_now, NULL).values);
}

bool look_event(Sim *sim, Uuid id)
{
    Value args[] = { value_uuid(&id) };
    return query(sim, &event_there, args).count == 1;
}

size_t look_deliveries(Sim *sim, Uuid event)
{
    Value args[] = { value_uuid(&event) };
    Rows rows = query(sim, &deliveries_of, args);
    return (size_t) value_to_i64(&rows.values[0]);
}

size_t look_shared_identities(Sim *sim)
{
    return query(sim, &identities, NULL).count;
}

int64_t look_lane(Sim *sim, const char *key)
{
    Value args[] = { value_text(str_from(key)) };
    Rows rows = query(sim, &lane_number, args);
    return rows.count ? value_to_i64(&rows.values[0]) : 0;
}
