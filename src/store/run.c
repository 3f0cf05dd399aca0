#include "store/run.h"

#include "store/columns.h"
#include "store/lane.h"
#include "store/rule.h"

// Kinds 4 and 8 are RULE_JOB and RULE_AUTOMATION.
_Static_assert(RULE_JOB == 4 && RULE_AUTOMATION == 8, "the SQL names kinds by number");
#define RUN_FOUND                                                                                  \
    ", r.kind, r.id, d.entity, e.source, COALESCE(e.occurred_at, d.triggered_at), d.triggered_at," \
    " e.depth, e.trace, e.correlation_id FROM "
#define RUN_OF                                                                                     \
    " JOIN rule r ON r.tenant = d.tenant AND r.rule = d.rule AND r.kind IN (4, 8)"                 \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"

static const Statement look = {
    .name = "run_look",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3" RUN_FOUND "delivery d" RUN_OF " WHERE d.tenant = $1 AND d.id = $2",
    .postgres = "SELECT s.i" RUN_FOUND "unnest($1, $2, $3) AS s (tenant, id, i)"
                " JOIN delivery d ON d.tenant = s.tenant AND d.id = s.id" RUN_OF,
};

const Statement *const run_statements[] = { &look, NULL };

const Trigger *run_of(Arena *arena, const RegistryTrigger *known)
{
    const Trigger *compiled = registry_compiled(known, arena);
    Trigger *rule = arena_copy(arena, compiled, sizeof *compiled);
    rule->enabled = true;
    rule->rule.number = known->rule;
    rule->rule.version = known->version;
    rule->rule.tenant = known->tenant;
    rule->rule.lane = known->lane;
    return rule;
}

// nobody is a job of which nothing is known but its name.
static Trigger *nobody(Arena *arena, int64_t tenant, RuleKind kind, Str name)
{
    Trigger *rule = ARENA_NEW(arena, Trigger);
    rule->rule = rule_default(kind, name);
    rule->rule.tenant = tenant;
    rule->enabled = true;
    rule->channel = LANE_NOWHERE;
    return rule;
}

Err run_rule(Tx *tx, Arena *arena, int64_t tenant, RuleKind kind, Str name, const Trigger **ret,
             Error *error)
{
    const RegistryTrigger *known = registry_rule(tx->registry, tenant, kind, name);
    const Trigger *rule = known ? run_of(arena, known) : nobody(arena, tenant, kind, name);
    if (!rule->rule.number || !rule->rule.lane)
        TRY(rule_place(tx, (Rule *) (uintptr_t) &rule->rule, rule->channel, error));
    *ret = rule;
    return ERR_OK;
}

static Str identity_of(Arena *arena, const Trigger *rule, const Run *run)
{
    return str_format(arena, "%lld:%lld%s%.*s", (long long) rule->rule.number,
                      (long long) run->due_at, run->schedule.len ? ":" : "",
                      STR_ARG(run->schedule));
}

// payload_of is the run's own, else the job's, else {}.
static Str payload_of(const Trigger *rule, const Run *run)
{
    if (run->payload.at)
        return run->payload;
    return rule->job && rule->job->payload.at ? rule->job->payload : S("{}");
}

Err run_item(Arena *arena, const Trigger *rule, const Run *run, AcceptItem *ret, Error *error)
{
    bool is_occurrence = run->source == RUN_SCHEDULED;
    const Trigger **named = ARENA_ARRAY(arena, const Trigger *, 1);
    named[0] = rule;
    AcceptItem item = {
        .event = { .kind = RUN_EVENT_KIND,
                   .source = str_from(run_source_word(run->source)),
                   .identity = is_occurrence ? identity_of(arena, rule, run) : STR_NONE,
                   .entity = run->entity,
                   .topic = run->is_backfill ? RUN_TOPIC_BACKFILL : STR_NONE,
                   .occurred_at = run->due_at,
                   .payload = payload_of(rule, run) },
        .named = named,
        .named_count = 1,
    };
    TRY(event_parse(arena, &item.event, error));
    *ret = item;
    return ERR_OK;
}

Err runs_make(Tx *tx, Arena *arena, int64_t tenant, AcceptItem *items, size_t count, Error *error)
{
    Accept accept = {
        .arena = arena, .tenant = tenant, .items = items, .count = count, .now = tx->now
    };
    Accept *accepts[] = { &accept };
    TRY(accept_decide(&accept, tx->registry, tx->random, error));
    return accept_write(tx, accepts, 1, error);
}

// RunFound is a row as it is read.
typedef struct RunFound {
    int64_t place; // in what was asked
    RunRow row;
    Str source;
} RunFound;

static const Columns found_columns = COLUMNS(
    RunFound, COLUMN(RunFound, place), COLUMN(RunFound, row.kind), COLUMN(RunFound, row.name),
    COLUMN(RunFound, row.entity), COLUMN(RunFound, source), COLUMN(RunFound, row.scheduled_for),
    COLUMN(RunFound, row.made_at), COLUMN(RunFound, row.depth), COLUMN(RunFound, row.trace),
    COLUMN(RunFound, row.correlation_id));

Err runs_look(Tx *tx, RunRow *rows, size_t count, Error *error)
{
    Rows found;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        rows[i].is_found = false;
        values[i * 3] = value_i64(rows[i].tenant);
        values[i * 3 + 1] = value_uuid(&rows[i].id);
        values[i * 3 + 2] = value_i64((int64_t) i);
    }
    db_send_many(tx->db, &tx->arena, &look, values, count, &found);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < found.count; i++) {
        RunFound at = { 0 };
        columns_read(&found_columns, rows_at(&found, i), &at);
        RunRow *row = &rows[at.place];
        at.row.tenant = row->tenant;
        at.row.id = row->id;
        at.row.source = run_source(at.source);
        at.row.is_found = true;
        *row = at.row;
    }
    return ERR_OK;
}
