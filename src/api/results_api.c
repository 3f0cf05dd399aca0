#include "api/responses.h"

#include "api/surveys.h"
#include "base/time.h"
#include "store/response.h"
#include "store/rule.h"
#include "store/survey.h"
#include "store/tally.h"

// What a survey was answered with, all together: as sums, which were counted with each response,
// and as a table with a row for each, poured as it is read.

#define ALWAYS FIELD_ALWAYS

// clang-format off
static const Field count_row = { NULL, FIELD_COUNT };
static const Field question_rows[] = {
    { "id",      FIELD_TEXT,   ALWAYS },
    { "type",    FIELD_TEXT,   ALWAYS | FIELD_NULLABLE, .help = "Null where the version that is told of has no such question" },
    { "answers", FIELD_COUNT,  ALWAYS, .help = "How often it was answered" },
    { "counts",  FIELD_MAP,    ALWAYS, .of = &count_row, .help = "By choice, or by number of a rating or an nps" },
    { "average", FIELD_NUMBER, ALWAYS | FIELD_NULLABLE, .help = "Of rating, nps and number" },
    { "nps",     FIELD_NUMBER, ALWAYS | FIELD_NULLABLE, .help = "Of an nps: percent of 9 and 10, less percent of 0 to 6" },
};
static const Shape question_shape = { .name = "QuestionResults", SHAPE_ROWS(question_rows) };
static const Field question_row = { NULL, FIELD_OBJECT, .inside = &question_shape };
static const Field day_rows[] = {
    { "day",       FIELD_TEXT,  ALWAYS, .help = "Of UTC" },
    { "responses", FIELD_COUNT, ALWAYS },
};
static const Shape day_shape = { .name = "DayResults", SHAPE_ROWS(day_rows) };
static const Field day_row = { NULL, FIELD_OBJECT, .inside = &day_shape };
static const Field trigger_rows[] = {
    { "triggerId", FIELD_TEXT,  ALWAYS },
    { "responses", FIELD_COUNT, ALWAYS },
};
static const Shape trigger_row_shape = { .name = "TriggerResults", SHAPE_ROWS(trigger_rows) };
static const Field trigger_row = { NULL, FIELD_OBJECT, .inside = &trigger_row_shape };
static const Field results_rows[] = {
    { "surveyId",  FIELD_TEXT,  ALWAYS },
    { "responses", FIELD_COUNT, ALWAYS, .help = "Also those that were purged since" },
    { "questions", FIELD_LIST,  ALWAYS, .of = &question_row },
    { "days",      FIELD_LIST,  ALWAYS, .of = &day_row, .help = "Newest first, 400 at most; days without a response are left out" },
    { "triggers",  FIELD_LIST,  ALWAYS, .of = &trigger_row },
};
const Shape results_shape = { .name = "SurveyResults", SHAPE_ROWS(results_rows) };

enum { RESULTS_FROM, RESULTS_TO, RESULTS_TRIGGER, RESULTS_VERSION };
const Param results_params[] = {
    [RESULTS_FROM] = { "from", PARAM_TIME, .help = "From the day of this time on, of UTC" },
    [RESULTS_TO] = { "to", PARAM_TIME, .help = "Up to the day that this time ends" },
    [RESULTS_TRIGGER] = { "trigger", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "Of what this trigger asked: gr, or csi:gr" },
    [RESULTS_VERSION] = { "version", PARAM_INT, .min = 1, .max = INT32_MAX, .help = "Of what this version asked" },
    { 0 },
};

enum { EXPORT_AFTER, EXPORT_LIMIT };
const Param results_export_params[] = {
    [EXPORT_AFTER] = { "after", PARAM_ID, .help = "Those behind this response, without the line of names: to go on" },
    [EXPORT_LIMIT] = { "limit", PARAM_INT, .min = 1, .max = 1000000000, .help = "How many; all unless said" },
    { 0 },
};
// clang-format on

// read_rule finds the number of a trigger of the survey; -1 where it has none, which was never
// answered.
static Err read_rule(const Call *call, Db *db, Str survey, int64_t *ret, Error *error)
{
    Str trigger;
    *ret = 0;
    if (!param_text(call, RESULTS_TRIGGER, &trigger))
        return ERR_OK;
    if (!str_contains(trigger, S(":")))
        trigger = STR_JOIN(call->arena, survey, S(":"), trigger);
    TRY(rule_number(db, call->arena, call->tenant, RULE_TRIGGER, trigger, ret, error));
    if (*ret == 0)
        *ret = -1;
    return ERR_OK;
}

static Err read_filter(const Call *call, Db *db, TallyFilter *ret, Error *error)
{
    Instant from = 0, to = TIME_LAST;
    *ret = (TallyFilter){ .survey = call->params[0] };
    param_time(call, RESULTS_FROM, &from);
    param_time(call, RESULTS_TO, &to);
    param_int(call, RESULTS_VERSION, &ret->version);
    ret->from_day = from / SPAN_DAY;
    ret->to_day = (to - 1) / SPAN_DAY;
    return read_rule(call, db, ret->survey, &ret->rule, error);
}

// load_survey holds the version whose questions are told of: the one that was asked for, else the
// newest; *ret is NULL where there is none.
static Err load_survey(const Call *call, Db *db, Str id, int64_t version, const SurveyVersion **ret,
                       Error *error)
{
    SurveyHead head = { .survey = id };
    *ret = NULL;
    if (version == 0) {
        TRY(surveys_look(db, call->arena, call->tenant, &head, 1, error));
        version = head.version;
    }
    if (version == 0)
        return ERR_OK;
    return surveys_load(writer_surveys(call->api->writer), db, call->tenant, id, version, ret,
                        error);
}

// put_decimal puts a number of thousandths.
static void put_decimal(Call *call, Str key, double value)
{
    json_put_raw(&call->json, key, str_format(call->arena, "%.3f", value));
}

// put_nps puts what those who would recommend it are more than those who would not.
static void put_nps(Call *call, const TallyValue *values, size_t count, int64_t answers)
{
    int64_t balance = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number;
        if (!str_to_i64(values[i].value, 0, 10, &number))
            continue;
        balance += number >= 9 ? values[i].n : number <= 6 ? -values[i].n : 0;
    }
    put_decimal(call, S("nps"), 100.0 * (double) balance / (double) answers);
}

// put_question puts the sums of one question, the first of which is that of all its answers.
static void put_question(Call *call, const Question *of, const TallyValue *values, size_t count)
{
    JsonOut *json = &call->json;
    bool is_number = of && (of->type == QUESTION_RATING || of->type == QUESTION_NPS ||
                            of->type == QUESTION_NUMBER);
    int64_t answers = values[0].n;
    json_open(json, '{');
    json_put_str(json, S("id"), values[0].question);
    json_put_str(json, S("type"), of ? str_from(question_type_text(of->type)) : STR_NONE);
    json_put_i64(json, S("answers"), answers);
    json_key(json, S("counts"));
    json_open(json, '{');
    for (size_t i = 1; i < count; i++)
        json_put_i64(json, values[i].value, values[i].n);
    json_close(json, '}');
    if (is_number && answers > 0)
        put_decimal(call, S("average"), (double) values[0].total / 1000 / (double) answers);
    else
        json_put_null(json, S("average"));
    if (is_number && of->type == QUESTION_NPS && answers > 0)
        put_nps(call, values + 1, count - 1, answers);
    else
        json_put_null(json, S("nps"));
    json_close(json, '}');
}

// end_of is where the sums of a question end.
static size_t end_of(const TallySums *sums, size_t from)
{
    size_t to = from;
    while (to < sums->value_count && str_eq(sums->values[to].question, sums->values[from].question))
        to++;
    return to;
}

static const Question *find_question(const Survey *survey, Str id)
{
    size_t at = survey ? survey_question(survey, id) : 0;
    return survey && at < survey->question_count ? &survey->questions[at] : NULL;
}

// put_questions puts those of the survey in its order, then those that it no longer asks. A
// question that nobody answered has no sums, and is none of the second kind.
static void put_questions(Call *call, const Survey *survey, const TallySums *sums)
{
    for (size_t q = 0; survey && q < survey->question_count; q++) {
        const Question *of = &survey->questions[q];
        TallyValue none = { .question = of->id, .value = S("") };
        size_t at = 0;
        while (at < sums->value_count && !str_eq(sums->values[at].question, of->id))
            at++;
        bool is_there = at < sums->value_count;
        put_question(call, of, is_there ? &sums->values[at] : &none,
                     is_there ? end_of(sums, at) - at : 1);
    }
    for (size_t from = 0, to; from < sums->value_count; from = to) {
        Str id = sums->values[from].question;
        to = end_of(sums, from);
        if (id.len > 0 && !find_question(survey, id))
            put_question(call, NULL, &sums->values[from], to - from);
    }
}

static void put_days(Call *call, const TallySums *sums)
{
    JsonOut *json = &call->json;
    json_key(json, S("days"));
    json_open(json, '[');
    for (size_t i = 0; i < sums->day_count; i++) {
        Date date = time_date(sums->days[i].day);
        json_open(json, '{');
        json_put_str(json, S("day"),
                     str_format(call->arena, "%04d-%02d-%02d", date.year, date.month, date.day));
        json_put_i64(json, S("responses"), sums->days[i].n);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_triggers(Call *call, const TallySums *sums)
{
    JsonOut *json = &call->json;
    json_key(json, S("triggers"));
    json_open(json, '[');
    for (size_t i = 0; i < sums->rule_count; i++) {
        json_open(json, '{');
        json_put_str(json, S("triggerId"), sums->rules[i].id);
        json_put_i64(json, S("responses"), sums->rules[i].n);
        json_close(json, '}');
    }
    json_close(json, ']');
}

Err results_get(Call *call, Db *db, Error *error)
{
    TallyFilter filter;
    TallySums sums;
    const SurveyVersion *version;
    TRY(survey_exists(call, db, call->params[0], error));
    TRY(read_filter(call, db, &filter, error));
    TRY(tally_sum(db, call->arena, call->tenant, &filter, &sums, error));
    TRY(load_survey(call, db, filter.survey, filter.version, &version, error));
    // The responses themselves are counted under no question, and stand first.
    bool has_any = sums.value_count > 0 && sums.values[0].question.len == 0;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("surveyId"), filter.survey);
    json_put_i64(json, S("responses"), has_any ? sums.values[0].n : 0);
    json_key(json, S("questions"));
    json_open(json, '[');
    put_questions(call, version ? &version->survey : NULL, &sums);
    json_close(json, ']');
    put_days(call, &sums);
    put_triggers(call, &sums);
    json_close(json, '}');
    surveys_drop(version);
    return ERR_OK;
}

// Export is how far an export has come, and its columns.
typedef struct Export {
    Str *questions;
    size_t question_count;
    Uuid after;
    bool is_begun; // it goes on behind that
    int64_t left;  // rows that are asked for still
} Export;

enum { EXPORT_ROWS = 200 }; // a piece

// begin_export finds the columns: the questions of the newest version in its order, then whatever
// else was ever answered.
static Err begin_export(Call *call, Db *db, Error *error)
{
    Export *export = ARENA_NEW(call->arena, Export);
    const SurveyVersion *version;
    Str *answered;
    size_t count;
    TRY(survey_exists(call, db, call->params[0], error));
    TRY(tally_questions(db, call->arena, call->tenant, call->params[0], &answered, &count, error));
    TRY(load_survey(call, db, call->params[0], 0, &version, error));
    const Survey *survey = version ? &version->survey : NULL;
    size_t own = survey ? survey->question_count : 0;
    export->questions = ARENA_ARRAY(call->arena, Str, own + count + 1);
    for (size_t i = 0; i < own; i++)
        export->questions[export->question_count++] = str_dup(call->arena, survey->questions[i].id);
    for (size_t i = 0; i < count; i++)
        if (!find_question(survey, answered[i]))
            export->questions[export->question_count++] = answered[i];
    surveys_drop(version);
    export->left = INT64_MAX;
    param_int(call, EXPORT_LIMIT, &export->left);
    export->is_begun = param_id(call, EXPORT_AFTER, &export->after);
    call->with = export;
    return ERR_OK;
}

// put_cell writes a cell, quoted. A text that a spreadsheet would take for a formula has a ' before
// it, as spreadsheets advise: it was written by a stranger.
static void put_cell(Buf *text, Str cell, bool is_text)
{
    bool is_formula = is_text && cell.len > 0 && str_contains(S("=+-@\t\r\n"), (Str){ cell.at, 1 });
    buf_add_char(text, '"');
    if (is_formula)
        buf_add_char(text, '\'');
    for (size_t i = 0; i < cell.len; i++) {
        if (cell.at[i] == '"')
            buf_add_char(text, '"');
        buf_add_char(text, cell.at[i]);
    }
    buf_add_char(text, '"');
}

static void put_next(Buf *text, Str cell)
{
    buf_add_char(text, ',');
    put_cell(text, cell, true);
}

// put_answer writes an answer: several choices are one cell.
static void put_answer(Arena *arena, Buf *text, const Json *answer)
{
    Buf cell = buf_new(arena, BUF_WHOLE);
    bool is_number = json_type(answer) == JSON_NUMBER;
    buf_add(&cell, is_number ? json_number_text(answer) : json_str(answer));
    for (JsonIter it = json_each(json_type(answer) == JSON_ARRAY ? answer : NULL);
         json_next(&it);) {
        if (it.index > 1)
            buf_add(&cell, S("; "));
        buf_add(&cell, json_str(it.value));
    }
    buf_add_char(text, ',');
    put_cell(text, buf_str(&cell), !is_number);
}

static void put_head(Buf *text, const Export *export)
{
    buf_add(text, S("\"id\",\"completedAt\",\"version\",\"publicId\",\"locale\",\"agentId\""));
    for (size_t i = 0; i < export->question_count; i++)
        put_next(text, export->questions[i]);
    buf_add(text, S("\r\n"));
}

static void put_row(Call *call, Buf *text, const Export *export, const Response *row)
{
    char id[UUID_TEXT_LEN + 1], at[TIME_TEXT_MAX];
    const Json *answers = NULL;
    Error unreadable = { 0 };
    if (json_parse(call->arena, row->answers, &answers, &unreadable) != ERR_OK)
        answers = NULL; // somebody damaged the row: the others go on
    put_cell(text, uuid_text(row->id, id), true);
    put_next(text, time_text(row->completed_at, at));
    put_next(text, str_i64(call->arena, row->version));
    put_next(text, row->public_id);
    put_next(text, row->locale);
    put_next(text, row->agent_id);
    for (size_t i = 0; i < export->question_count; i++)
        put_answer(call->arena, text, json_get(answers, export->questions[i]));
    buf_add(text, S("\r\n"));
}

Err results_pour(Call *call, Db *db, Buf *text, bool *ret_last, Error *error)
{
    Seen seen;
    Response *rows;
    if (!call->with)
        TRY(begin_export(call, db, error));
    Export *export = call->with;
    Walk walk = { .limit = export->left < EXPORT_ROWS ? export->left : EXPORT_ROWS };
    if (export->is_begun)
        walk.after = (Str){ (const char *) export->after.b, sizeof export->after.b };
    else
        put_head(text, export);
    export->is_begun = true;
    TRY(response_page(db, call->arena, call->tenant, call->params[0], &walk, &rows, &seen, error));
    for (size_t i = 0; i < seen.count; i++)
        put_row(call, text, export, &rows[i]);
    if (seen.count > 0)
        export->after = rows[seen.count - 1].id;
    export->left -= (int64_t) seen.count;
    *ret_last = !seen.has_more || export->left == 0;
    return ERR_OK;
}
