#include "store/tally.h"

#include "store/columns.h"

#define THOUSANDTHS 1000

static const Statement add = {
    .name = "tally_add",
    .scope = STATEMENT_TENANT,
    .params = "itiiittiii",
    .many = true,
    .sql = "INSERT INTO tally (tenant, survey, day, rule, version, question, value, writer, n,"
           " total) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (tenant, survey,"
           " day, rule, version, question, value, writer)"
           " DO UPDATE SET n = tally.n + excluded.n, total = tally.total + excluded.total",
    .postgres = "INSERT INTO tally (tenant, survey, day, rule, version, question, value, writer, n,"
                " total) SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
                " ON CONFLICT (tenant, survey, day, rule, version, question, value, writer)"
                " DO UPDATE SET n = tally.n + excluded.n, total = tally.total + excluded.total",
};

// Of those that are to be gathered; nodes are numbered as counters have them. One that is found
// twice, by two nodes at once, is deleted once.
#define KEY_OF(row)                                                                                \
    row "tenant, " row "survey, " row "day, " row "rule, " row "version, " row "question, " row    \
        "value, " row "writer"
static const Statement take = {
    .name = "tally_take",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .sql = "DELETE FROM tally WHERE (" KEY_OF("") ") IN (SELECT " KEY_OF(
        "t.") " FROM tally t"
              " WHERE t.writer <> 0 AND (t.day < $1 OR NOT EXISTS (SELECT 1 FROM node n"
              " WHERE n.node = t.writer / 16 AND n.seen_until > $2)) ORDER BY t.day LIMIT $3)"
              " RETURNING " KEY_OF("") ", n, total",
};

#define OF_THEM                                                                                    \
    " WHERE t.tenant = $1 AND t.survey = $2 AND t.day >= $3 AND t.day <= $4"                       \
    " AND (t.rule = $5 OR $5 = 0) AND (t.version = $6 OR $6 = 0)"
static const Statement values_of = {
    .name = "tally_values",
    .scope = STATEMENT_TENANT,
    .params = "itiiiii",
    .sql = "SELECT t.question, t.value, CAST(SUM(t.n) AS BIGINT), CAST(SUM(t.total) AS BIGINT)"
           " FROM tally t" OF_THEM " GROUP BY t.question, t.value"
           " ORDER BY t.question, t.value LIMIT $7",
};
// Of the responses themselves there are few rows among many: SQLite takes the primary key for as
// good, so the index is named there.
#define BY_RESPONSE " INDEXED BY tally_response"
#define DAYS_OF(hint)                                                                              \
    "SELECT t.day, CAST(SUM(t.n) AS BIGINT) FROM tally t" hint OF_THEM                             \
    " AND t.question = '' GROUP BY t.day ORDER BY t.day DESC LIMIT $7"
static const Statement days_of = {
    .name = "tally_days",
    .scope = STATEMENT_TENANT,
    .params = "itiiiii",
    .sql = DAYS_OF(BY_RESPONSE),
    .postgres = DAYS_OF(""),
};
#define RULES_OF(hint)                                                                             \
    "SELECT r.id, CAST(SUM(t.n) AS BIGINT) FROM tally t" hint                                      \
    " JOIN rule r ON r.tenant = t.tenant AND r.rule = t.rule" OF_THEM                              \
    " AND t.question = '' GROUP BY r.id ORDER BY r.id LIMIT $7"
static const Statement rules_of = {
    .name = "tally_rules",
    .scope = STATEMENT_TENANT,
    .params = "itiiiii",
    .sql = RULES_OF(BY_RESPONSE),
    .postgres = RULES_OF(""),
};
static const Statement questions = {
    .name = "tally_questions",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT DISTINCT question FROM tally WHERE tenant = $1 AND survey = $2"
           " AND question <> '' ORDER BY question",
};

const Statement *const tally_statements[] = { &add,      &take,      &values_of, &days_of,
                                              &rules_of, &questions, NULL };

// Row is one to be added to.
typedef struct Row {
    int64_t tenant;
    Str survey;
    int64_t day, rule, version;
    Str question, value;
    int64_t writer, n, total;
} Row;

static const Columns row_columns =
    COLUMNS(Row, COLUMN(Row, tenant), COLUMN(Row, survey), COLUMN(Row, day), COLUMN(Row, rule),
            COLUMN(Row, version), COLUMN(Row, question), COLUMN(Row, value), COLUMN(Row, writer),
            COLUMN(Row, n), COLUMN(Row, total));

// Counting is the rows of one transaction's responses.
typedef struct Counting {
    Arena *arena;
    Row *rows;
    size_t count, room;
} Counting;

static void add_row(Counting *counting, const Row *like, Str question, Str value, int64_t total)
{
    if (counting->count == counting->room) {
        size_t room = counting->room ? counting->room * 2 : 64;
        counting->rows = arena_grow(counting->arena, counting->rows, counting->room * sizeof(Row),
                                    room * sizeof(Row));
        counting->room = room;
    }
    Row *row = &counting->rows[counting->count++];
    *row = *like;
    row->question = question;
    row->value = value;
    row->n = 1;
    row->total = total;
}

// total_of is a number in thousandths; 0 for what is none.
static int64_t total_of(const Json *answer)
{
    double value = json_type(answer) == JSON_NUMBER ? json_double(answer) : 0;
    if (value > TALLY_NUMBER_MAX)
        value = TALLY_NUMBER_MAX;
    if (value < -TALLY_NUMBER_MAX)
        value = -TALLY_NUMBER_MAX;
    return (int64_t) (value * THOUSANDTHS + (value < 0 ? -0.5 : 0.5));
}

static void count_answer(Counting *counting, const Row *like, const Question *of,
                         const Json *answer)
{
    add_row(counting, like, of->id, S(""), total_of(answer));
    if (of->type == QUESTION_SINGLE)
        add_row(counting, like, of->id, json_str(answer), 0);
    if (of->type == QUESTION_RATING || of->type == QUESTION_NPS)
        add_row(counting, like, of->id, json_number_text(answer), 0);
    for (JsonIter it = json_each(of->type == QUESTION_MULTIPLE ? answer : NULL); json_next(&it);)
        add_row(counting, like, of->id, json_str(it.value), 0);
}

static int by_key(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    const int64_t numbers[][2] = { { x->tenant, y->tenant },
                                   { x->day, y->day },
                                   { x->rule, y->rule },
                                   { x->version, y->version } };
    const Str texts[][2] = { { x->survey, y->survey },
                             { x->question, y->question },
                             { x->value, y->value } };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (numbers[i][0] != numbers[i][1])
            return numbers[i][0] < numbers[i][1] ? -1 : 1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        int order = str_cmp(texts[i][0], texts[i][1]);
        if (order != 0)
            return order;
    }
    return 0;
}

// merge makes one row of those with the same key.
static void merge(Counting *counting)
{
    size_t kept = 0;
    qsort(counting->rows, counting->count, sizeof(Row), by_key);
    for (size_t i = 0; i < counting->count; i++) {
        Row *row = &counting->rows[i];
        if (kept > 0 && by_key(&counting->rows[kept - 1], row) == 0) {
            counting->rows[kept - 1].n += row->n;
            counting->rows[kept - 1].total += row->total;
        } else {
            counting->rows[kept++] = *row;
        }
    }
    counting->count = kept;
}

void tally_count(Tx *tx, const TallyResponse *tallies, size_t count)
{
    Counting counting = { .arena = &tx->arena };
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {
        const TallyResponse *of = &tallies[i];
        Row like = { .tenant = of->tenant,
                     .survey = of->survey->id,
                     .day = of->at / SPAN_DAY,
                     .rule = of->rule,
                     .version = of->version,
                     .writer = db_is_postgres(tx->db) ? tx->writer : TALLY_OF_NOBODY };
        add_row(&counting, &like, S(""), S(""), 0);
        for (size_t q = 0; q < of->survey->question_count; q++) {
            const Question *question = &of->survey->questions[q];
            const Json *answer = json_get(of->answers, question->id);
            if (answer)
                count_answer(&counting, &like, question, answer);
        }
    }
    merge(&counting);
    db_send_rows(tx->db, &tx->arena, &add, &row_columns, counting.rows, counting.count, NULL);
}

Err tally_gather(Tx *tx, Instant real_now, int limit, int64_t *ret_taken, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now / SPAN_DAY), value_i64(real_now - SPAN_MINUTE),
                     value_i64(limit) };
    TRY(tx_query(tx, &take, args, &rows, error));
    Counting counting = { .arena = &tx->arena,
                          .rows = ARENA_ARRAY(&tx->arena, Row, rows.count + 1),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++) {
        columns_read(&row_columns, rows_at(&rows, i), &counting.rows[i]);
        counting.rows[i].writer = TALLY_OF_NOBODY;
    }
    merge(&counting);
    db_send_rows(tx->db, &tx->arena, &add, &row_columns, counting.rows, counting.count, NULL);
    *ret_taken = (int64_t) rows.count;
    return tx_sync(tx, error);
}

static void read_sums(Arena *arena, const Rows *values, const Rows *days, const Rows *rules,
                      TallySums *ret)
{
    *ret = (TallySums){ .values = ARENA_ARRAY(arena, TallyValue, values->count + 1),
                        .value_count = values->count,
                        .days = ARENA_ARRAY(arena, TallyDay, days->count + 1),
                        .day_count = days->count,
                        .rules = ARENA_ARRAY(arena, TallyRule, rules->count + 1),
                        .rule_count = rules->count };
    for (size_t i = 0; i < values->count; i++) {
        const Value *row = rows_at(values, i);
        ret->values[i] = (TallyValue){ value_to_str(&row[0]), value_to_str(&row[1]),
                                       value_to_i64(&row[2]), value_to_i64(&row[3]) };
    }
    for (size_t i = 0; i < days->count; i++) {
        const Value *row = rows_at(days, i);
        ret->days[i] = (TallyDay){ value_to_i64(&row[0]), value_to_i64(&row[1]) };
    }
    for (size_t i = 0; i < rules->count; i++) {
        const Value *row = rows_at(rules, i);
        ret->rules[i] = (TallyRule){ value_to_str(&row[0]), value_to_i64(&row[1]) };
    }
}

Err tally_sum(Db *db, Arena *arena, int64_t tenant, const TallyFilter *filter, TallySums *ret,
              Error *error)
{
    Rows values, days, rules;
    Value args[] = { value_i64(tenant),           value_text(filter->survey),
                     value_i64(filter->from_day), value_i64(filter->to_day),
                     value_i64(filter->rule),     value_i64(filter->version),
                     value_i64(TALLY_VALUES_MAX) };
    db_send(db, arena, &values_of, args, &values);
    args[ARRAY_LEN(args) - 1] = value_i64(TALLY_DAYS_MAX);
    db_send(db, arena, &days_of, args, &days);
    db_send(db, arena, &rules_of, args, &rules);
    TRY(db_sync(db, error));
    read_sums(arena, &values, &days, &rules, ret);
    return ERR_OK;
}

Err tally_questions(Db *db, Arena *arena, int64_t tenant, Str survey, Str **ret, size_t *ret_count,
                    Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(survey) };
    TRY(db_query(db, arena, &questions, args, &rows, error));
    Str *found = ARENA_ARRAY(arena, Str, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = value_to_str(rows_at(&rows, i));
    *ret = found;
    *ret_count = rows.count;
    return ERR_OK;
}
