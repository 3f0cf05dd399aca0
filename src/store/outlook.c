#include "store/outlook.h"

#include "domain/delivery.h"
#include "store/columns.h"
#include "store/rule.h"

_Static_assert(STEP_SEND == 1 && SPAN_MINUTE == 60000000, "the SQL names them by number");

enum { FIRST_SHARE = 4, SHARE_MIN = 5 }; // a quarter goes to all alike
enum { RANKS = 256, RANK_OF = 4096 };    // a rank has one of so many: queue_sample of the schema

static const Statement lanes = {
    .name = "outlook_lanes",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT lane FROM lane WHERE tenant = $1 AND ($2 IS NULL OR channel = $2)"
           " ORDER BY channel LIMIT $3",
};

// What is met first is bounded, then counted: $5 rows of the lane, of which those of a rule count,
// where there is one ($6). Without one the index tells it all.
#define WALK(tenant, lane, from, to, limit, columns)                                               \
    "SELECT q.lane, q.due_at" columns " FROM queue q WHERE q.lane ="                               \
    " (SELECT l.lane FROM lane l WHERE l.tenant = " tenant " AND l.lane = " lane ")"               \
    " AND q.step = 1 AND q.due_at >= " from " AND q.due_at < " to                                  \
    " ORDER BY q.due_at LIMIT " limit
#define COUNT(counted)                                                                             \
    "SELECT f.lane, f.due_at / 60000000, COUNT(*), " counted ", MAX(f.due_at) FROM "
#define GROUPED " AS f GROUP BY f.lane, f.due_at / 60000000 ORDER BY 1, 2"
#define OF_RULE(rule) "CAST(SUM(CASE WHEN f.rule = " rule " THEN 1 ELSE 0 END) AS BIGINT)"
static const Statement bare = {
    .name = "outlook_bare",
    .scope = STATEMENT_TENANT,
    .params = "iiiii",
    .many = true,
    .sql = COUNT("COUNT(*)") "(" WALK("$1", "$2", "$3", "$4", "$5", "") ")" GROUPED,
    .postgres = COUNT("COUNT(*)") "unnest($1, $2, $3, $4, $5) AS u (tenant, lane, since, til, most)"
                                  " CROSS JOIN LATERAL (" WALK("u.tenant", "u.lane", "u.since",
                                                               "u.til", "u.most", "") ")" GROUPED,
};
static const Statement of_rule = {
    .name = "outlook_of_rule",
    .scope = STATEMENT_TENANT,
    .params = "iiiiii",
    .many = true,
    .sql = COUNT(OF_RULE("$6")) "(" WALK("$1", "$2", "$3", "$4", "$5", ", q.rule") ")" GROUPED,
    .postgres = COUNT(OF_RULE("f.wanted")) "unnest($1, $2, $3, $4, $5, $6)"
                                           " AS u (tenant, lane, since, til, most, wanted)"
                                           " CROSS JOIN LATERAL (" WALK(
                                               "u.tenant", "u.lane", "u.since", "u.til", "u.most",
                                               ", q.rule, u.wanted") ")" GROUPED,
};
// What is about an entity is little: the newest of it are looked at, one by one.
static const Statement of_entity = {
    .name = "outlook_of_entity",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT d.id FROM delivery d WHERE d.tenant = $1 AND d.entity = $2"
           " ORDER BY d.id DESC LIMIT $3",
};
#define SEND                                                                                       \
    "SELECT q.lane, q.due_at / 60000000, 1, 1, q.due_at FROM queue q"                              \
    " WHERE q.tenant = $1 AND q.id = $2 AND q.step = 1 AND q.due_at >= $3 AND q.due_at < $4"       \
    " AND ($5 IS NULL OR q.rule = $5) AND ($6 IS NULL OR q.lane ="                                 \
    " (SELECT l.lane FROM lane l WHERE l.tenant = $1 AND l.channel = $6))"
static const Statement send = {
    .name = "outlook_send",
    .scope = STATEMENT_TENANT,
    .params = "iuiiit",
    .many = true,
    .sql = SEND,
    .postgres =
        "SELECT q.lane, q.due_at / 60000000, CAST(1 AS BIGINT), CAST(1 AS BIGINT), q.due_at"
        " FROM unnest($1, $2, $3, $4, $5, $6) AS u (tenant, id, since, til, wanted, channel)"
        " JOIN queue q ON q.tenant = u.tenant AND q.id = u.id"
        " WHERE q.step = 1 AND q.due_at >= u.since AND q.due_at < u.til"
        " AND (u.wanted IS NULL OR q.rule = u.wanted) AND (u.channel IS NULL OR q.lane ="
        " (SELECT l.lane FROM lane l WHERE l.tenant = u.tenant AND l.channel = u.channel))",
};

// A rank is a random byte of the event's id. The fence keeps PostgreSQL at one probe for each.
static const Statement sampled = {
    .name = "outlook_sampled",
    .scope = STATEMENT_TENANT,
    .params = "ibii",
    .many = true,
    .sql = "SELECT q.lane, q.due_at, q.rule FROM queue q WHERE q.tenant = $1"
           " AND substr(q.id, 13, 1) = $2 AND q.due_at >= $3 AND q.due_at < $4"
           " AND q.step = 1 AND substr(q.id, 14, 1) < x'10'",
    .postgres = "SELECT f.* FROM unnest($1, $2, $3, $4) AS u (tenant, rank, since, til)"
                " CROSS JOIN LATERAL (SELECT q.lane, q.due_at, q.rule FROM queue q"
                " WHERE q.tenant = u.tenant AND substring(uuid_send(q.id), 13, 1) = u.rank"
                " AND q.due_at >= u.since AND q.due_at < u.til AND q.step = 1"
                " AND substring(uuid_send(q.id), 14, 1) < CAST('\\x10' AS bytea) OFFSET 0) AS f",
};

const Statement *const outlook_statements[] = { &lanes, &bare,    &of_rule, &of_entity,
                                                &send,  &sampled, NULL };

// Look is a lane that is looked at, as the statements take it.
typedef struct Look {
    int64_t tenant, lane;
    Instant from, to;
    int64_t most, rule;
    int64_t looked; // rows of it
    Instant last;   // of them
    OutlookSlot *slots;
    size_t count;
} Look;

static const Columns look_columns =
    COLUMNS(Look, COLUMN(Look, tenant), COLUMN(Look, lane), COLUMN(Look, from), COLUMN(Look, to),
            COLUMN(Look, most), COLUMN(Look, rule));
static const Columns bare_columns =
    COLUMNS(Look, COLUMN(Look, tenant), COLUMN(Look, lane), COLUMN(Look, from), COLUMN(Look, to),
            COLUMN(Look, most));

static bool is_full(const Look *look)
{
    return look->looked >= look->most;
}

static OutlookSlot slot_of(const Value *row)
{
    return (OutlookSlot){ .lane = value_to_i64(&row[0]),
                          .minute = value_to_i64(&row[1]) * SPAN_MINUTE,
                          .n = value_to_i64(&row[3]) };
}

static Look *look_of(Look **picked, size_t count, int64_t lane)
{
    for (size_t i = 0; i < count; i++)
        if (picked[i]->lane == lane)
            return picked[i];
    assert(!"a lane that was not asked for");
    return NULL;
}

// read_looks looks along each lane anew. The rows of a lane come one behind the other.
static Err read_looks(Db *db, Arena *arena, Look **picked, size_t count, Error *error)
{
    Rows rows;
    Look *look = NULL;
    bool has_rule = count > 0 && picked[0]->rule != 0;
    db_send_picked(db, arena, has_rule ? &of_rule : &bare, has_rule ? &look_columns : &bare_columns,
                   (const void *const *) picked, count, &rows);
    TRY(db_sync(db, error));
    OutlookSlot *slots = ARENA_ARRAY(arena, OutlookSlot, rows.count + 1);
    for (size_t i = 0; i < count; i++) {
        picked[i]->looked = 0;
        picked[i]->count = 0;
    }
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        slots[i] = slot_of(row);
        if (!look || look->lane != slots[i].lane) {
            look = look_of(picked, count, slots[i].lane);
            look->slots = &slots[i];
        }
        look->count++;
        look->looked += value_to_i64(&row[2]);
        look->last = value_to_i64(&row[4]);
    }
    return ERR_OK;
}

// look_again gives lanes that have more what the others left.
static Err look_again(Db *db, Arena *arena, Look *looks, size_t count, Error *error)
{
    Look **full = ARENA_ARRAY(arena, Look *, count + 1);
    size_t full_count = 0;
    int64_t left = OUTLOOK_LOOK_MAX;
    for (size_t i = 0; i < count; i++) {
        left -= looks[i].looked;
        if (is_full(&looks[i]))
            full[full_count++] = &looks[i];
    }
    if (full_count == 0 || left / (int64_t) full_count <= full[0]->most)
        return ERR_OK;
    for (size_t i = 0; i < full_count; i++)
        full[i]->most = left / (int64_t) full_count;
    return read_looks(db, arena, full, full_count, error);
}

static int by_slot(const void *a, const void *b)
{
    const OutlookSlot *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->minute < y->minute ? -1 : x->minute > y->minute;
}

// gather takes what was counted: where a lane had more, only what is before the minute in which the
// first of them was left.
static void gather(Arena *arena, const Look *looks, size_t count, Outlook *ret)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        room += looks[i].count;
        if (!is_full(&looks[i]))
            continue;
        ret->is_partial = true;
        ret->until = earlier(ret->until, looks[i].last - looks[i].last % SPAN_MINUTE);
    }
    ret->slots = ARENA_ARRAY(arena, OutlookSlot, room + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < looks[i].count; j++)
            if (looks[i].slots[j].n > 0 && looks[i].slots[j].minute < ret->until)
                ret->slots[ret->count++] = looks[i].slots[j];
}

static Err read_ranks(Db *db, Arena *arena, const OutlookAsked *asked, Instant from, size_t first,
                      size_t end, Rows *ret, Error *error)
{
    enum { PARAMS = 4 };
    Value *values = ARENA_ARRAY(arena, Value, (end - first) * PARAMS + 1);
    char *ranks = arena_alloc(arena, RANKS);
    for (size_t i = first; i < end; i++) {
        ranks[i] = (char) i;
        Value row[PARAMS] = { value_i64(asked->tenant), value_bytes((Str){ &ranks[i], 1 }),
                              value_i64(from), value_i64(asked->to) };
        memcpy(&values[(i - first) * PARAMS], row, sizeof row);
    }
    *ret = (Rows){ 0 };
    db_send_many(db, arena, &sampled, values, end - first, ret);
    return db_sync(db, error);
}

// take_sample adds the rows that are asked for, each of which stands for itself so far.
static void take_sample(const Rows *rows, int64_t rule, int64_t lane, Outlook *ret)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Instant due = value_to_i64(&row[1]);
        OutlookSlot slot = { .lane = value_to_i64(&row[0]),
                             .minute = due - due % SPAN_MINUTE,
                             .sampled = 1 };
        if ((lane == 0 || slot.lane == lane) && (rule == 0 || value_to_i64(&row[2]) == rule))
            ret->slots[ret->count++] = slot;
    }
}

// weigh puts the rows of a minute together, each of which stands for RANK_OF / ranks.
static void weigh(Outlook *outlook, size_t ranks)
{
    size_t count = 0;
    if (outlook->count == 0)
        return;
    qsort(outlook->slots, outlook->count, sizeof *outlook->slots, by_slot);
    for (size_t i = 0; i < outlook->count; i++) {
        OutlookSlot *slot = &outlook->slots[i];
        if (count > 0 && slot->sampled && outlook->slots[count - 1].sampled &&
            by_slot(&outlook->slots[count - 1], slot) == 0)
            outlook->slots[count - 1].sampled++;
        else
            outlook->slots[count++] = *slot;
    }
    outlook->count = count;
    for (size_t i = 0; i < count; i++)
        if (outlook->slots[i].sampled)
            outlook->slots[i].n =
                (outlook->slots[i].sampled * RANK_OF + (int64_t) ranks / 2) / (int64_t) ranks;
}

// estimate goes on from until with a sample: the first rank tells how many of them may be read.
static Err estimate(Db *db, Arena *arena, const OutlookAsked *asked, int64_t rule, int64_t lane,
                    Outlook *ret, Error *error)
{
    Rows first, rest = { 0 };
    size_t ranks = RANKS;
    TRY(read_ranks(db, arena, asked, ret->until, 0, 1, &first, error));
    if (first.count > 0 && OUTLOOK_SAMPLE_MAX / first.count < RANKS)
        ranks = OUTLOOK_SAMPLE_MAX / first.count;
    if (ranks > 1)
        TRY(read_ranks(db, arena, asked, ret->until, 1, ranks, &rest, error));
    else
        ranks = 1;
    OutlookSlot *counted = ret->slots;
    ret->slots = ARENA_ARRAY(arena, OutlookSlot, ret->count + first.count + rest.count + 1);
    if (ret->count > 0)
        memcpy(ret->slots, counted, ret->count * sizeof *counted);
    take_sample(&first, rule, lane, ret);
    take_sample(&rest, rule, lane, ret);
    weigh(ret, ranks);
    ret->is_estimate = true;
    return ERR_OK;
}

static Err read_lanes(Db *db, Arena *arena, const OutlookAsked *asked, int64_t rule, Outlook *ret,
                      Error *error)
{
    Rows rows;
    Value args[] = { value_i64(asked->tenant), value_text(asked->channel),
                     value_i64(OUTLOOK_LANES_MAX + 1) };
    TRY(db_query(db, arena, &lanes, args, &rows, error));
    size_t count = rows.count;
    if (count == 0)
        return ERR_OK;
    if (count > OUTLOOK_LANES_MAX) {
        ret->is_partial = true;
        ret->until = asked->from;
        return estimate(db, arena, asked, rule, 0, ret, error);
    }
    int64_t share = OUTLOOK_LOOK_MAX / FIRST_SHARE / (int64_t) count;
    Look *looks = ARENA_ARRAY(arena, Look, count);
    Look **picked = ARENA_ARRAY(arena, Look *, count);
    for (size_t i = 0; i < count; i++) {
        looks[i] = (Look){ .tenant = asked->tenant,
                           .lane = value_to_i64(rows_at(&rows, i)),
                           .from = asked->from,
                           .to = asked->to,
                           .most = share > SHARE_MIN ? share : SHARE_MIN,
                           .rule = rule };
        picked[i] = &looks[i];
    }
    TRY(read_looks(db, arena, picked, count, error));
    TRY(look_again(db, arena, looks, count, error));
    gather(arena, looks, count, ret);
    if (!ret->is_partial)
        return ERR_OK;
    ret->until = later(ret->until, asked->from);
    return estimate(db, arena, asked, rule, asked->channel.at ? looks[0].lane : 0, ret, error);
}

static Err read_entity(Db *db, Arena *arena, const OutlookAsked *asked, int64_t rule, Outlook *ret,
                       Error *error)
{
    enum { PARAMS = 6 };
    Rows ids, rows;
    Value args[] = { value_i64(asked->tenant), value_text(asked->entity),
                     value_i64(OUTLOOK_ENTITY_MAX + 1) };
    TRY(db_query(db, arena, &of_entity, args, &ids, error));
    Value *values = ARENA_ARRAY(arena, Value, ids.count * PARAMS + 1);
    for (size_t i = 0; i < ids.count; i++) {
        Value row[PARAMS] = { value_i64(asked->tenant), *rows_at(&ids, i),
                              value_i64(asked->from),   value_i64(asked->to),
                              value_i64(rule),          value_text(asked->channel) };
        if (rule == 0)
            row[4] = value_null();
        memcpy(&values[i * PARAMS], row, sizeof row);
    }
    rows = (Rows){ 0 };
    db_send_many(db, arena, &send, values, ids.count, &rows);
    TRY(db_sync(db, error));
    ret->slots = ARENA_ARRAY(arena, OutlookSlot, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        ret->slots[ret->count++] = slot_of(rows_at(&rows, i));
    if (ret->count > 0)
        qsort(ret->slots, ret->count, sizeof *ret->slots, by_slot);
    ret->is_partial = ids.count > OUTLOOK_ENTITY_MAX;
    ret->until = ret->is_partial ? asked->from : INSTANT_NONE;
    return ERR_OK;
}

Err outlook_read(Db *db, Arena *arena, const OutlookAsked *asked, Outlook *ret, Error *error)
{
    int64_t rule = 0;
    *ret = (Outlook){ .until = INSTANT_NONE };
    if (asked->trigger.at) {
        TRY(rule_number(db, arena, asked->tenant, RULE_TRIGGER, asked->trigger, &rule, error));
        if (rule == 0)
            return ERR_OK; // nothing was ever made by it
    }
    if (asked->entity.at)
        return read_entity(db, arena, asked, rule, ret, error);
    return read_lanes(db, arena, asked, rule, ret, error);
}
