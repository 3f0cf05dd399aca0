// survey.h - a survey: questions in several languages, whom to ask and when (its triggers), and who
// is told the answers (its subscribers); compiled from its JSON.
//
// What somebody saves is a draft. survey_compile() refuses what is wrong in it, each with its
// place: a member that nobody knows, a bad duration, two questions of one id. What is only missing
// is no mistake yet; survey_check() asks for it when the draft is published: a text for every
// question in the first language, choices where one chooses, rules that lead somewhere. Published,
// a survey never changes.
//
// Its triggers and subscribers are rules like any other (rule.h). survey_rules() writes the
// definitions that a version of it gives them, under ids of which the survey's is the first part;
// who gets an answer is decided by the subscribers of the version that was asked.
//
// Questions stand in their order. One is passed over where its `show` is false, or where a `goTo`
// before it leads behind it; as these only ever look back and lead forward, no survey has a loop.
// Texts are what a person wrote: no HTML, whatever they look like.
#pragma once

#include "domain/trigger.h"

enum {
    SURVEY_ID_MAX = 60,
    SURVEY_LANGUAGES_MAX = 20,
    SURVEY_LANGUAGE_MAX = 35,
    SURVEY_TEXT_MAX = 4000,
    SURVEY_QUESTIONS_MAX = 500,
    SURVEY_TRIGGERS_MAX = 50,
    SURVEY_SUBSCRIBERS_MAX = 20, // of the survey; and of each of its triggers
    QUESTION_ID_MAX = 100,
    QUESTION_CHOICES_MAX = 200,
    QUESTION_GO_TO_MAX = 50,
    QUESTION_STEPS_MAX = 20,    // from the least to the most of a rating
    QUESTION_TEXT_USUAL = 2000, // characters of an answer in words, unless said
    QUESTION_TEXT_MAX = 20000,  // likewise, at most
    CHOICE_VALUE_MAX = 200,
    SUBSCRIBER_ID_MAX = TRIGGER_ID_MAX + 1 + CHANNEL_KEY_MAX,
};

// clang-format off
#define QUESTION_TYPE_TABLE(X) \
    X(SINGLE,   "single")      \
    X(MULTIPLE, "multiple")    \
    X(RATING,   "rating")      \
    X(NPS,      "nps")         \
    X(NUMBER,   "number")      \
    X(TEXT,     "text")        \
    X(DATE,     "date")
// clang-format on

typedef enum QuestionType {
#define QUESTION_ENUM(name, text) QUESTION_##name,
    QUESTION_TYPE_TABLE(QUESTION_ENUM)
#undef QUESTION_ENUM
} QuestionType;

const char *question_type_text(QuestionType type);

// SurveyText is one text in the survey's languages: texts[i] is in languages[i], none where it was
// not given.
typedef struct SurveyText {
    const Str *languages, *texts;
    size_t count;
} SurveyText;

// survey_text is the text for a locale: in that very language, else in its base (ar for ar-SA),
// else in the survey's first; empty where there is none at all. survey_text_language is the
// language that this text is in; survey_language is the one that a person of that locale is spoken
// to in.
Str survey_text(const SurveyText *text, Str locale);
Str survey_text_language(const SurveyText *text, Str locale);

typedef struct Choice {
    Str value;
    SurveyText text; // its value where none was given
} Choice;

// QuestionGoTo leads from a question that is answered to one behind it.
typedef struct QuestionGoTo {
    const Filter *when; // over the answers so far; NULL: always
    Str to;             // a question's id, or "end"
    size_t at;          // where that stands; the count of questions for the end
} QuestionGoTo;

typedef struct Question {
    Str id;
    QuestionType type;
    bool required;
    SurveyText text;
    const Choice *choices; // of single and multiple
    size_t choice_count;
    // of rating, nps and number the range; of text how many characters (max). Where nothing is said
    // of a number, there is no bound.
    bool has_min, has_max;
    double min, max;
    const Filter *show; // over the answers so far; NULL: always
    const QuestionGoTo *go_to;
    size_t go_to_count; // the first that holds counts
    const Json *source;
} Question;

// Subscriber is who is told of answers.
typedef struct Subscriber {
    Str key; // of a channel
    const Filter *filter;
    RetryPolicy retry;
    bool has_retry;
    const Json *source;
} Subscriber;

typedef struct SurveyTrigger {
    Trigger trigger; // first; its id is the one inside the survey
    const Json *source;
    const Subscriber *subscribers; // beside those of the survey
    size_t subscriber_count;
} SurveyTrigger;

typedef enum SurveyPaging { SURVEY_ALL_ON_ONE, SURVEY_ONE_EACH } SurveyPaging;

typedef struct Survey {
    Str id;
    Str integration_id;   // what others know it by; none
    const Str *languages; // the first is the one to fall back on
    size_t language_count;
    SurveyText title, thanks; // the title is its id where none was given
    SurveyPaging paging;
    const Question *questions;
    size_t question_count;
    const SurveyTrigger *triggers;
    size_t trigger_count;
    const Subscriber *subscribers;
    size_t subscriber_count;
} Survey;

extern const Shape survey_shape;

// survey_compile reads a draft; strings are kept by reference, so json must live as long as the
// survey. ERR_SURVEY_INVALID lists every problem. survey_parse is the same for its text.
Err survey_compile(Arena *arena, const Json *json, Survey *ret, Error *error) MUST_USE;
Err survey_parse(Arena *arena, Str body, Survey *ret, Error *error) MUST_USE;

// survey_check says what a draft still lacks.
Err survey_check(Arena *arena, const Survey *survey, Error *error) MUST_USE;

Str survey_language(const Survey *survey, Str locale);

// survey_speaks is false where a person of that locale is spoken to in a language that was not
// asked for.
bool survey_speaks(const Survey *survey, Str locale);

// survey_question finds one by its id; question_count where there is none.
size_t survey_question(const Survey *survey, Str id);

// survey_template_id is what its triggers have for a templateId, unless they say otherwise.
Str survey_template_id(const Survey *survey);

// SurveyRule is the definition that a version of a survey gives one of its rules.
typedef struct SurveyRule {
    RuleKind kind; // RULE_TRIGGER or RULE_SUBSCRIBER
    Str id;        // <survey>:<trigger>, <survey>:<key> or <survey>:<trigger>:<key>
    Str trigger;   // that a subscriber was given to, as the survey calls it; none: all
    Str channel;
    Str body;
} SurveyRule;

// survey_rules writes the rules of a survey, triggers first, as its version will have them.
size_t survey_rules(Arena *arena, const Survey *survey, int64_t version, SurveyRule **ret);

// subscriber_parse compiles the definition of a subscriber (rule_parse): a rule that listens to no
// kind of events.
Err subscriber_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;
