#include "domain/answer.h"

#include "documents.h"

// One survey with a question of every type, one that is shown for a reason, and a way past some.
static const char *const asked =
    "{'id':'csi','languages':['en','ar'],'questions':["
    "{'id':'rate','type':'rating','min':1,'max':10,'required':true},"
    "{'id':'bad','type':'single','choices':[{'value':'Yes'},{'value':'No'},{'value':7}],"
    "'goTo':[{'when':{'questionId':'bad','op':'==','value':'No'},'to':'nps'}]},"
    "{'id':'what','type':'text','max':5,'required':true,"
    "'show':{'questionId':'bad','op':'==','value':'Yes'}},"
    "{'id':'which','type':'multiple','choices':[{'value':'a'},{'value':'b'},{'value':'c'}]},"
    "{'id':'nps','type':'nps'},"
    "{'id':'spent','type':'number','min':0,'max':100},"
    "{'id':'least','type':'number','min':-1.5},{'id':'most','type':'number','max':3},"
    "{'id':'any','type':'number'},"
    "{'id':'day','type':'date'},"
    "{'id':'more','type':'text','show':{'any':[{'questionId':'what','op':'exists','value':true},"
    "{'questionId':'which','op':'contains','value':'b'}]}}]}";

static Survey compiled(Arena *arena, const char *text)
{
    Survey survey = { 0 };
    CHECK(survey_compile(arena, document(arena, text), &survey, NULL) == ERR_OK);
    return survey;
}

// told is the problems as "question:code …".
static Str told(Arena *arena, const Answers *answers)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    for (size_t i = 0; i < answers->problem_count; i++)
        buf_add_format(&text, "%s%.*s:%s", i ? " " : "", STR_ARG(answers->problems[i].question),
                       survey_word_code(answers->problems[i].word));
    return buf_str(&text);
}

typedef struct Row {
    const char *given, *clean, *problems;
} Row;

static void check_rows(const Row *rows, size_t count, AnswersFrom from)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Survey survey = compiled(&arena, asked);
        Answers answers = answers_check(&arena, &survey, document(&arena, rows[i].given), from);
        Str problems = told(&arena, &answers), clean = answers_text(&arena, &survey, &answers);
        bool is_right = str_eq(problems, str_from(rows[i].problems)) &&
                        str_eq(clean, quoted(&arena, rows[i].clean));
        if (!is_right)
            printf("# %s: %.*s / %.*s\n", rows[i].given, STR_ARG(clean), STR_ARG(problems));
        CHECK(is_right);
    }
}

static void answers_are_taken_by_their_type(void)
{
    static const Row rows[] = {
        { "{'rate':9}", "{'rate':9}", "" },
        { "{'day':'2024-02-29','rate':1}", "{'rate':1,'day':'2024-02-29'}", "" },
        { "{'rate':10,'bad':null,'which':[],'more':''}", "{'rate':10}", "" },
        { "{'rate':1,'bad':7}", "{'rate':1,'bad':'7'}", "" },
        { "{'rate':1,'which':['c','a']}", "{'rate':1,'which':['a','c']}", "" },
        { "{'rate':1,'nps':0,'spent':99.5,'least':-1.5,'most':3,'any':1e300}",
          "{'rate':1,'nps':0,'spent':99.5,'least':-1.5,'most':3,'any':1e300}", "" },
        { "{'rate':1,'any':9007199254740993}", "{'rate':1,'any':9007199254740993}", "" },
        { "{'rate':1,'bad':'Yes','what':'<b>&amp'}", "{'rate':1,'bad':'Yes'}", "what:too-long" },
        { "{'rate':1,'bad':'Yes','what':'نعمنع'}", "{'rate':1,'bad':'Yes','what':'نعمنع'}", "" },
        { "{}", "{}", "rate:required" },
        { "{'rate':null}", "{}", "rate:required" },
        { "{'rate':0}", "{}", "rate:bad-whole-number" },
        { "{'rate':11}", "{}", "rate:bad-whole-number" },
        { "{'rate':1.5}", "{}", "rate:bad-whole-number" },
        { "{'rate':'9'}", "{}", "rate:bad-whole-number" },
        { "{'rate':true}", "{}", "rate:bad-whole-number" },
        { "{'rate':[9]}", "{}", "rate:bad-whole-number" },
        { "{'rate':1,'bad':'Maybe'}", "{'rate':1}", "bad:bad-choice" },
        { "{'rate':1,'bad':['Yes']}", "{'rate':1}", "bad:bad-choice" },
        { "{'rate':1,'bad':{}}", "{'rate':1}", "bad:bad-choice" },
        { "{'rate':1,'which':'a'}", "{'rate':1}", "which:bad-choices" },
        { "{'rate':1,'which':['a','d']}", "{'rate':1}", "which:bad-choices" },
        { "{'rate':1,'which':['a','a']}", "{'rate':1}", "which:chosen-twice" },
        { "{'rate':1,'which':[['a']]}", "{'rate':1}", "which:bad-choices" },
        { "{'rate':1,'nps':11}", "{'rate':1}", "nps:bad-whole-number" },
        { "{'rate':1,'spent':'5'}", "{'rate':1}", "spent:bad-number" },
        { "{'rate':1,'spent':100.1}", "{'rate':1}", "spent:out-of-range" },
        { "{'rate':1,'least':-2}", "{'rate':1}", "least:too-small" },
        { "{'rate':1,'most':3.01}", "{'rate':1}", "most:too-great" },
        { "{'rate':1,'bad':'Yes','what':5}", "{'rate':1,'bad':'Yes'}", "what:bad-text" },
        { "{'rate':1,'bad':'Yes','what':' \\n'}", "{'rate':1,'bad':'Yes'}", "what:required" },
        { "{'rate':1,'day':'2023-02-29'}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'day':'2023-2-9'}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'day':'2023-13-01'}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'day':'0000-01-01'}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'day':'+123-01-01'}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'day':20230101}", "{'rate':1}", "day:bad-date" },
        { "{'rate':1,'wat':1,'Rate':2}", "{'rate':1}",
          "wat:unknown-question Rate:unknown-question" },
        { "{'rate':0,'nps':'x','wat':null}", "{}",
          "rate:bad-whole-number nps:bad-whole-number wat:unknown-question" },
    };
    check_rows(rows, ARRAY_LEN(rows), ANSWERS_JSON);
}

// What was not asked has no answer, and what stands behind it sees none.
static void only_what_was_asked_is_answered(void)
{
    static const Row rows[] = {
        { "{'rate':1,'bad':'Yes'}", "{'rate':1,'bad':'Yes'}", "what:required" },
        { "{'rate':1,'what':'x'}", "{'rate':1}", "what:not-shown" },
        { "{'rate':1,'bad':'No','which':['a'],'nps':3}", "{'rate':1,'bad':'No','nps':3}",
          "which:not-shown" },
        { "{'rate':1,'bad':'Yes','what':'x','more':'y'}",
          "{'rate':1,'bad':'Yes','what':'x','more':'y'}", "" },
        { "{'rate':1,'which':['b'],'more':'y'}", "{'rate':1,'which':['b'],'more':'y'}", "" },
        { "{'rate':1,'which':['a'],'more':'y'}", "{'rate':1,'which':['a']}", "more:not-shown" },
        { "{'rate':1,'bad':'No','which':['b'],'more':'y'}", "{'rate':1,'bad':'No'}",
          "which:not-shown more:not-shown" },
        { "{'rate':1,'bad':'x','what':'x'}", "{'rate':1}", "bad:bad-choice what:not-shown" },
    };
    check_rows(rows, ARRAY_LEN(rows), ANSWERS_JSON);
}

static void a_form_says_everything_as_text(void)
{
    static const Row rows[] = {
        { "{'rate':' 9 ','spent':'99.5','nps':''}", "{'rate':9,'spent':99.5}", "" },
        { "{'rate':'9','which':'b','more':'x','csrf':'1'}", "{'rate':9,'which':['b'],'more':'x'}",
          "" },
        { "{'rate':'9','which':['b','a']}", "{'rate':9,'which':['a','b']}", "" },
        { "{'rate':'9','what':'left over'}", "{'rate':9}", "" },
        { "{'rate':'9','bad':'7'}", "{'rate':9,'bad':'7'}", "" },
        { "{'rate':'١٠','spent':'۹٩.٥'}", "{'rate':10,'spent':99.5}", "" },
        { "{'rate':'٩٩'}", "{}", "rate:bad-whole-number" },
        { "{'rate':'1','any':'1e999'}", "{'rate':1}", "any:bad-number" },
        { "{'rate':'nine'}", "{}", "rate:bad-whole-number" },
        { "{'rate':'[9]'}", "{}", "rate:bad-whole-number" },
        { "{'rate':'9','spent':'1,5'}", "{'rate':9}", "spent:bad-number" },
        { "{'rate':'9','which':'z'}", "{'rate':9}", "which:bad-choices" },
    };
    check_rows(rows, ARRAY_LEN(rows), ANSWERS_FORM);
}

static void what_is_shown_is_told(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey = compiled(&arena, asked);
    Answers answers =
        answers_check(&arena, &survey, document(&arena, "{'rate':1,'bad':'No'}"), ANSWERS_JSON);
    static const bool shown[] = { 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0 };
    CHECK(survey.question_count == ARRAY_LEN(shown));
    CHECK(memcmp(answers.is_shown, shown, sizeof shown) == 0);
    answers = answers_check(&arena, &survey, NULL, ANSWERS_FORM);
    CHECK(answers.problem_count == 1 && answers.is_shown[3] && !answers.is_shown[2]);
}

static void a_way_to_the_end_leaves_the_rest_out(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey =
        compiled(&arena, "{'id':'s','questions':[{'id':'a','type':'text','goTo':[{'to':'end'}]},"
                         "{'id':'b','type':'text','required':true}]}");
    Answers answers = answers_check(&arena, &survey, document(&arena, "{}"), ANSWERS_JSON);
    CHECK(answers.problem_count == 0 && answers.is_shown[0] && !answers.is_shown[1]);
}

static void problems_are_told_in_the_language(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey = compiled(&arena, asked);
    AnswerProblem rate = { S("rate"), &survey.questions[0], SURVEY_WORD_WHOLE };
    AnswerProblem least = { S("least"), &survey.questions[6], SURVEY_WORD_LEAST };
    AnswerProblem none = { S("x"), NULL, SURVEY_WORD_UNKNOWN };
    CHECK(is_text(answer_problem_text(&arena, &rate, S("en")),
                  "Please give a whole number from 1 to 10."));
    CHECK(is_text(answer_problem_text(&arena, &rate, S("ar_SA")),
                  "يرجى إدخال عدد صحيح من 1 إلى 10."));
    CHECK(is_text(answer_problem_text(&arena, &least, S("tlh")),
                  "Please give a number that is at least -1.5."));
    CHECK(is_text(answer_problem_text(&arena, &none, STR_NONE), "There is no such question."));
}

// A response's answers go before its other members, and nothing else has answers.
static void filters_find_the_answers_of_a_response(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = { .kind = EVENT_KIND_RESPONSE, .occurred_at = INSTANT_NONE };
    event.payload_json =
        document(&arena, "{'surveyId':'csi','answers':{'rate':7,'surveyId':'mine'},'rate':1,"
                         "'payload':{'wip':'5','rate':3}}");
    Found wip = event_find(&event, STR_NONE, S("candidate.wip"));
    CHECK(is_text(found_str(&wip), "5"));
    Found rate = event_find(&event, STR_NONE, S("rate"));
    CHECK(is_text(json_number_text(rate.json), "7"));
    Found own = event_find(&event, STR_NONE, S("surveyId"));
    CHECK(is_text(found_str(&own), "mine"));
    Found path = event_find(&event, STR_NONE, S("candidate.surveyId"));
    CHECK(is_text(found_str(&path), "csi"));
    event.kind = S("other");
    CHECK(event_find(&event, STR_NONE, S("candidate.wip")).type == JSON_ABSENT);
    rate = event_find(&event, STR_NONE, S("rate"));
    CHECK(is_text(json_number_text(rate.json), "1"));
}

static const Test tests[] = {
    TEST(answers_are_taken_by_their_type),        TEST(only_what_was_asked_is_answered),
    TEST(a_form_says_everything_as_text),         TEST(what_is_shown_is_told),
    TEST(a_way_to_the_end_leaves_the_rest_out),   TEST(problems_are_told_in_the_language),
    TEST(filters_find_the_answers_of_a_response),
};

TEST_MAIN(tests)
