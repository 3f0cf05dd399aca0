#include "store/execution.h"

#include "domain/run.h"
#include "store/columns.h"

// A walk along the rule's index; SQLite takes the primary key for as good, so the index is named.
#define RUNS(hint)                                                                                 \
    "SELECT d.id FROM delivery d" hint                                                             \
    " WHERE d.rule = (SELECT z.rule FROM rule z WHERE z.tenant = $1 AND z.rule = $5)"              \
    " AND d.id <= $2 AND d.id >= $3"
#define BY_RULE " INDEXED BY delivery_rule"
#define WAS_TRIED                                                                                  \
    " AND (EXISTS (SELECT 1 FROM ended n WHERE n.tenant = $1 AND n.id = d.id AND n.attempt > 0)"   \
    " OR EXISTS (SELECT 1 FROM queue q WHERE q.tenant = $1 AND q.id = d.id AND q.attempt > 0))"
#define AT_EDGE " ORDER BY d.id DESC LIMIT 1 OFFSET $4"
#define AT_LIMIT " ORDER BY d.id DESC LIMIT $4"

static const Statement edge = {
    .name = "execution_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = RUNS(BY_RULE) AT_EDGE,
    .postgres = RUNS("") AT_EDGE,
};
static const Statement find = {
    .name = "execution_find",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = RUNS(BY_RULE) WAS_TRIED AT_LIMIT,
    .postgres = RUNS("") WAS_TRIED AT_LIMIT,
};

// The tries of a run below a number: in two tables (queue.h), and the one that goes on in the queue
// (state 1 is sending).
_Static_assert(DELIVERY_SENDING == 1, "the SQL names the state by number");
#define TRIES(tenant, id, below, most)                                                             \
    "(SELECT number, started_at, finished_at, verdict, reason, code, detail FROM attempt"          \
    " WHERE tenant = " tenant " AND delivery = " id " AND number < " below                         \
    " UNION ALL SELECT attempt, started_at, finished_at, verdict, tried_reason, code, detail"      \
    " FROM ended WHERE tenant = " tenant " AND ended.id = " id                                     \
    " AND verdict IS NOT NULL AND attempt < " below                                                \
    " UNION ALL SELECT attempt, started_at, NULL, NULL, NULL, NULL, NULL FROM queue"               \
    " WHERE tenant = " tenant " AND queue.id = " id " AND state = 1 AND attempt < " below          \
    " ORDER BY 1 DESC LIMIT " most ") AS t"
#define TRIED                                                                                      \
    "SELECT d.id, t.number, d.entity, e.source, e.topic,"                                          \
    " COALESCE(e.occurred_at, d.triggered_at), t.started_at, t.finished_at, t.verdict, t.reason,"  \
    " t.code, t.detail FROM "
#define OF_EVENT " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"

static const Statement tries = {
    .name = "execution_tries",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = TRIED "delivery d CROSS JOIN " TRIES("$1", "$2", "$3", "$4") OF_EVENT
    " WHERE d.tenant = $1 AND d.id = $2 ORDER BY t.number DESC",
    .postgres = TRIED "unnest($1, $2, $3, $4) AS u (tenant, id, below, most)"
                      " JOIN delivery d ON d.tenant = u.tenant AND d.id = u.id"
                      " CROSS JOIN LATERAL " TRIES("u.tenant", "u.id", "u.below", "u.most") OF_EVENT
    " ORDER BY d.id DESC, t.number DESC",
};

const Statement *const execution_statements[] = { &edge, &find, &tries, NULL };

// Args are the parameters of the walk along runs; Ask, of the tries of one.
typedef struct Args {
    IdBounds bounds; // first: a walk narrows them
    int64_t rule;
} Args;

typedef struct Ask {
    int64_t tenant;
    Uuid id;
    int64_t below, most;
} Ask;

// Tried is an execution as it is read.
typedef struct Tried {
    Execution execution;
    Str topic;
} Tried;

_Static_assert(offsetof(Args, bounds) == 0, "a walk finds its bounds there");
static const Columns args_columns =
    COLUMNS(Args, ID_BOUNDS_COLUMNS(Args, bounds), COLUMN(Args, rule));
static const IdSource runs_source = { &edge, &find, &args_columns, &args_columns };
static const Columns ask_columns =
    COLUMNS(Ask, COLUMN(Ask, tenant), COLUMN(Ask, id), COLUMN(Ask, below), COLUMN(Ask, most));
static const Columns tried_columns =
    COLUMNS(Tried, COLUMN(Tried, execution.delivery), COLUMN(Tried, execution.number),
            COLUMN(Tried, execution.entity), COLUMN(Tried, execution.source), COLUMN(Tried, topic),
            COLUMN(Tried, execution.scheduled_for), COLUMN(Tried, execution.started_at),
            COLUMN_TIME(Tried, execution.finished_at), COLUMN(Tried, execution.outcome.verdict),
            COLUMN(Tried, execution.outcome.reason), COLUMN(Tried, execution.outcome.code),
            COLUMN(Tried, execution.outcome.detail));

// Place is how far a page came: behind a try of a run; with no number, behind the run.
typedef struct Place {
    Uuid delivery;
    int64_t number;
} Place;

static Str place_text(Arena *arena, Place place)
{
    char text[UUID_TEXT_LEN + 1];
    return str_format(arena, "%.*s.%lld", STR_ARG(uuid_text(place.delivery, text)),
                      (long long) place.number);
}

static Err place_read(const Walk *walk, Place *ret, Error *error)
{
    Str text = walk->after;
    *ret = (Place){ .number = INT32_MAX };
    memset(&ret->delivery, 0xff, sizeof ret->delivery);
    if (!text.at)
        return ERR_OK;
    if (!uuid_parse(str_cut(&text, '.'), &ret->delivery) ||
        !str_to_i64(text, 0, INT32_MAX, &ret->number))
        return walk_unknown(error);
    return ERR_OK;
}

// from_of is the first run that a page may meet: that of the place, or the one behind it.
static Uuid from_of(Place after)
{
    Uuid from = after.delivery;
    for (size_t i = sizeof from.b; after.number == 0 && i-- > 0;)
        if (from.b[i]-- != 0)
            break;
    return from;
}

// read_tries reads the tries of the runs that were found, those of the first below the place.
static Err read_tries(Db *db, Arena *arena, int64_t tenant, const IdsSeen *found, Place after,
                      int64_t most, Rows *ret, Error *error)
{
    Ask *asks = ARENA_ARRAY(arena, Ask, found->count + 1);
    for (size_t i = 0; i < found->count; i++) {
        bool is_begun = uuid_cmp(found->ids[i], after.delivery) == 0;
        asks[i] = (Ask){ tenant, found->ids[i], is_begun ? after.number : INT32_MAX, most };
    }
    db_page(db);
    db_send_rows(db, arena, &tries, &ask_columns, asks, found->count, ret);
    return db_sync(db, error);
}

static Execution read_execution(const Value *at)
{
    Tried tried = { 0 };
    columns_read(&tried_columns, at, &tried);
    Execution execution = tried.execution;
    execution.is_backfill = str_eq(tried.topic, RUN_TOPIC_BACKFILL);
    execution.outcome = outcome_mended(execution.outcome);
    return execution;
}

// add_progress gives each its lines. Those of a run are of all its tries. ret is how many have all
// of theirs: the newest ones.
static Err add_progress(Db *db, Arena *arena, int64_t tenant, Execution *rows, size_t count,
                        size_t *ret, Error *error)
{
    bool is_cut;
    Uuid *ids = ARENA_ARRAY(arena, Uuid, count + 1);
    size_t runs = 0, line_count;
    Progress *lines;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || uuid_cmp(rows[i - 1].delivery, rows[i].delivery) != 0)
            ids[runs++] = rows[i].delivery;
    TRY(progress_load(db, arena, tenant, ids, runs, &lines, &line_count, &is_cut, error));
    for (size_t from = 0, to; from < line_count; from = to) {
        const Progress *first = &lines[from];
        for (to = from; to < line_count && lines[to].attempt == first->attempt &&
                        uuid_cmp(lines[to].delivery, first->delivery) == 0;)
            to++;
        for (size_t i = 0; i < count; i++) {
            if (rows[i].number != first->attempt ||
                uuid_cmp(rows[i].delivery, first->delivery) != 0)
                continue;
            rows[i].progress = first;
            rows[i].progress_count = to - from;
        }
    }
    *ret = count;
    for (size_t i = count; is_cut && i-- > 0;)
        if (uuid_cmp(rows[i].delivery, lines[line_count - 1].delivery) <= 0)
            *ret = i > 0 ? i : 1;
    return ERR_OK;
}

// seen_of tells of a page: of the tries that were read so many are given, and others may lie in the
// runs behind those that were found.
static Seen seen_of(Arena *arena, const Walk *walk, const Rows *rows, const IdsSeen *found,
                    const Execution *shown)
{
    Seen seen = walk_counted(walk, rows->count, rows->is_cut, found->has_more);
    Place next = { .delivery = found->next };
    if (rows->is_cut || rows->count > seen.count)
        next = (Place){ shown[seen.count - 1].delivery, shown[seen.count - 1].number };
    if (seen.has_more)
        seen.next = place_text(arena, next);
    return seen;
}

// end_after has a page end after so many.
static void end_after(Arena *arena, const Execution *shown, size_t count, Seen *seen)
{
    if (count == seen->count)
        return;
    const Execution *last = &shown[count - 1];
    *seen = (Seen){ .count = count,
                    .has_more = true,
                    .is_cut = true,
                    .next = place_text(arena, (Place){ last->delivery, last->number }) };
}

Err execution_page(Db *db, Arena *arena, int64_t tenant, int64_t rule, const Walk *walk,
                   Execution **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    IdsSeen found;
    Place after;
    TRY(place_read(walk, &after, error));
    Args args = { .bounds = { .tenant = tenant, .from = from_of(after) }, .rule = rule };
    TRY(walk_ids(db, arena, &runs_source, WALK_FAR, walk, &args.bounds, &found, error));
    TRY(read_tries(db, arena, tenant, &found, after, walk->limit + 1, &rows, error));
    Execution *shown = ARENA_ARRAY(arena, Execution, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        shown[i] = read_execution(rows_at(&rows, i));
    *ret_seen = seen_of(arena, walk, &rows, &found, shown);
    *ret = shown;
    size_t whole;
    TRY(add_progress(db, arena, tenant, shown, ret_seen->count, &whole, error));
    end_after(arena, shown, whole, ret_seen);
    return ERR_OK;
}
