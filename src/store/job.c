#include "store/job.h"

#include "store/counter.h"

_Static_assert(DELIVERY_PARKED == 4 && DELIVERY_EXPIRED == 7, "the SQL names states by number");

// What was tried has an attempt; what had no handler, or was overtaken, ended without one and
// counts as failed all the same. Both databases walk the index delivery_rule from its end: SQLite
// has no LATERAL, but what it selects from comes in its order. The tables of states are asked row
// by row: a join would have to be planned for as many as are still to come.
#define NEWEST(rule, most)                                                                         \
    "(SELECT d.tenant, d.id FROM delivery d WHERE d.rule = " rule                                  \
    " ORDER BY d.id DESC LIMIT " most ") AS d"
#define RULE_ALONE "(SELECT rule FROM rule WHERE tenant = $1 AND kind = $2 AND id = $3)"
#define NEWEST_ALONE NEWEST(RULE_ALONE, "$5") WAS_TRIED " LIMIT 1"
#define NEWEST_OF_EACH NEWEST("r.rule", "u.most") WAS_TRIED " ORDER BY d.id DESC LIMIT 1"
#define WAS_TRIED                                                                                  \
    " WHERE EXISTS (SELECT 1 FROM queue q WHERE q.tenant = d.tenant AND q.id = d.id"               \
    " AND q.attempt > 0) OR EXISTS (SELECT 1 FROM ended n WHERE n.tenant = d.tenant"               \
    " AND n.id = d.id AND (n.attempt > 0 OR n.state = 7))"
#define TRIED(newest)                                                                              \
    " FROM (SELECT d.tenant, d.id FROM " newest ") AS d"                                           \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"                                    \
    " LEFT JOIN attempt a ON a.tenant = d.tenant AND a.delivery = d.id AND a.number = q.attempt"
#define RESULT                                                                                     \
    "d.id, COALESCE(q.state, n.state), COALESCE(q.started_at, a.started_at, n.started_at, "        \
    "n.ended_at)"

static const Statement last = {
    .name = "job_last",
    .scope = STATEMENT_TENANT,
    .params = "iitii",
    .many = true,
    .sql = "SELECT $4, " RESULT TRIED(NEWEST_ALONE),
    .postgres =
        "SELECT u.n, l.id, l.state, l.at FROM unnest($1, $2, $3, $4, $5)"
        " AS u (tenant, kind, id, n, most)"
        " JOIN rule r ON r.tenant = u.tenant AND r.kind = u.kind AND r.id = u.id"
        " CROSS JOIN LATERAL (SELECT " RESULT TRIED(NEWEST_OF_EACH) ") AS l (id, state, at)",
};

#define WRITERS_ALONE COUNTER_WRITERS("$1")
#define WRITERS_OF_ALL COUNTER_WRITERS("($1)[1]")
#define PARKED " AND c.writer = w.writer AND c.state = 4"

static const Statement dead = {
    .name = "job_dead",
    .scope = STATEMENT_TENANT,
    .params = "iiti",
    .many = true,
    .sql = WRITERS_ALONE "SELECT $4, COALESCE(SUM(c.n), 0) FROM w CROSS JOIN counter c"
                         " WHERE c.tenant = $1 AND c.rule = " RULE_ALONE PARKED,
    .postgres = WRITERS_OF_ALL "SELECT u.n, CAST(SUM(c.n) AS BIGINT)"
                               " FROM unnest($1, $2, $3, $4) AS u (tenant, kind, id, n)"
                               " JOIN rule r ON r.tenant = u.tenant AND r.kind = u.kind"
                               " AND r.id = u.id CROSS JOIN w"
                               " JOIN counter c ON c.tenant = u.tenant AND c.rule = r.rule" PARKED
                               " GROUP BY u.n",
};

const Statement *const job_statements[] = { &last, &dead, NULL };

static JobResult result_of(DeliveryState state)
{
    if (state == DELIVERY_SENDING)
        return JOB_RUNNING;
    bool is_done = state == DELIVERY_DELIVERED || state == DELIVERY_COMPLETED;
    return is_done ? JOB_SUCCEEDED : JOB_FAILED;
}

// note_last notes the last run of one of a row's rules: the newest of all of them counts.
static void note_last(JobState *state, const Value *row)
{
    Uuid run = value_to_uuid(&row[1]);
    if (state->result != JOB_NEVER_RUN && uuid_cmp(run, state->last) < 0)
        return;
    state->last = run;
    state->result = result_of((DeliveryState) value_to_i64(&row[2]));
    state->last_run_at = value_to_time(&row[3]);
}

Err jobs_look(Db *db, Arena *arena, int64_t tenant, const JobRule *rules, size_t rule_count,
              JobState *rows, size_t count, Error *error)
{
    enum { LAST = 5, DEAD = 4 }; // their parameters
    Rows results, numbers;
    Value *lasts = ARENA_ARRAY(arena, Value, rule_count * LAST + 1);
    Value *deads = ARENA_ARRAY(arena, Value, rule_count * DEAD + 1);
    for (size_t i = 0; i < rule_count; i++) {
        Value asked[] = { value_i64(tenant), value_i64(rules[i].kind), value_text(rules[i].id),
                          value_i64((int64_t) rules[i].row), value_i64(JOB_LOOK_MAX) };
        memcpy(&lasts[i * LAST], asked, sizeof asked);
        memcpy(&deads[i * DEAD], asked, DEAD * sizeof *asked);
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = (JobState){ .name = rows[i].name, .last_run_at = INSTANT_NONE };
    db_send_many(db, arena, &last, lasts, rule_count, &results);
    db_send_many(db, arena, &dead, deads, rule_count, &numbers);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < results.count; i++) {
        const Value *row = rows_at(&results, i);
        note_last(&rows[value_to_i64(&row[0])], row);
    }
    for (size_t i = 0; i < numbers.count; i++) {
        const Value *row = rows_at(&numbers, i);
        rows[value_to_i64(&row[0])].dead += value_to_i64(&row[1]);
    }
    return ERR_OK;
}
