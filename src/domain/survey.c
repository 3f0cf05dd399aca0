#include "domain/survey.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "domain/definition.h"

static const char *const types[] = {
#define QUESTION_WORD(name, text) text,
    QUESTION_TYPE_TABLE(QUESTION_WORD)
#undef QUESTION_WORD
        NULL,
};

static const char *const pagings[] = { "all", "one", NULL };

// GivenChoice, GivenQuestion, GivenTrigger and Given are what the rows read. What a draft has many
// of is read one by one, so that each tells its own problems.
typedef struct GivenChoice {
    Str value;
    const Json *text;
} GivenChoice;

typedef struct GivenQuestion {
    Question question;
    int type; // -1: none that there is
    const Json *text;
    const GivenChoice *choices;
    size_t choice_count;
    QuestionGoTo *go_to;
} GivenQuestion;

typedef struct GivenTrigger {
    Trigger trigger; // first: cancelOn is read into it
    const Json *subscribers;
} GivenTrigger;

typedef struct Given {
    Survey survey;
    int paging;
    const Json *title, *thanks, *questions, *triggers, *subscribers;
} Given;

#define NUMBER_BOUND 1000000000000

static void check_question(const Members *members, void *value);
static void check_trigger(const Members *members, void *value);

// clang-format off
static const Field language = { NULL, FIELD_TEXT, .max = SURVEY_LANGUAGE_MAX };
static const Field in_language = { NULL, FIELD_TEXT, FIELD_EMPTY | FIELD_LINES, .max = SURVEY_TEXT_MAX };
#define TEXTS FIELD_MAP, .max = SURVEY_LANGUAGES_MAX, .of = &in_language

#define AT(member) .offset = offsetof(GivenChoice, member)
static const Field choice_fields[] = {
    { "value", FIELD_TEXT_OR_NUMBER, FIELD_NEEDED, AT(value), .max = CHOICE_VALUE_MAX, .help = "what an answer has" },
    { "text", TEXTS, AT(text), .help = "by language; its value unless said" },
};
#undef AT
static const Shape choice_shape = { "Choice", SHAPE_ROWS(choice_fields), .size = sizeof(GivenChoice) };
static const Field choice = { NULL, FIELD_OBJECT, .inside = &choice_shape };

#define AT(member) .offset = offsetof(QuestionGoTo, member)
static const Field go_to_fields[] = {
    { "when", FIELD_FILTER, AT(when), .help = "over the answers so far; always unless said" },
    { "to", FIELD_KEY, FIELD_NEEDED, AT(to), .max = QUESTION_ID_MAX, .help = "a question behind this one, or end" },
};
#undef AT
static const Shape go_to_shape = { "GoTo", SHAPE_ROWS(go_to_fields), .size = sizeof(QuestionGoTo) };
static const Field go_to = { NULL, FIELD_OBJECT, .inside = &go_to_shape };

#define AT(member) .offset = offsetof(GivenQuestion, member)
static const Field question_fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(question.id), .max = QUESTION_ID_MAX, .help = "without dots: rules and filters name it" },
    { "type", FIELD_WORD, FIELD_NEEDED, AT(type), .words = types, .noun = "a type of question" },
    { "text", TEXTS, AT(text), .help = "by language" },
    { "required", FIELD_BOOL, AT(question.required), .help = "false unless said" },
    { "choices", FIELD_LIST, AT(choices), .count = offsetof(GivenQuestion, choice_count), .max = QUESTION_CHOICES_MAX, .of = &choice,
      .help = "of single and multiple" },
    { "min", FIELD_NUMBER, AT(question.min), .given = offsetof(GivenQuestion, question.has_min), .min = -NUMBER_BOUND, .max = NUMBER_BOUND,
      .help = "of rating (1 unless said) and number" },
    { "max", FIELD_NUMBER, AT(question.max), .given = offsetof(GivenQuestion, question.has_max), .min = -NUMBER_BOUND, .max = NUMBER_BOUND,
      .help = "of rating (5 unless said) and number; of text its characters, 2000 unless said" },
    { "show", FIELD_FILTER, AT(question.show), .help = "over the answers to the questions before it; always unless said" },
    { "goTo", FIELD_LIST, AT(go_to), .count = offsetof(GivenQuestion, question.go_to_count), .max = QUESTION_GO_TO_MAX, .of = &go_to,
      .help = "where it leads: the first that holds, else the question behind it" },
};
#undef AT
static const Shape question_shape = { "Question", SHAPE_ROWS(question_fields), .size = sizeof(GivenQuestion), .check = check_question };
static const Field question = { NULL, FIELD_OBJECT, .inside = &question_shape };

#define AT(member) .offset = offsetof(Subscriber, member)
static const Field subscriber_fields[] = {
    { "key", FIELD_KEY, FIELD_NEEDED, AT(key), .max = CHANNEL_KEY_MAX, .help = "of the channel that responses go to" },
    { "filter", FIELD_FILTER, AT(filter), .help = "over the answers, by the ids of questions" },
    { "retry", FIELD_OBJECT, AT(retry), .given = offsetof(Subscriber, has_retry), .inside = &retry_shape, .help = "the channel's unless said" },
};
#undef AT
static const Shape subscriber_shape = { "Subscriber", SHAPE_ROWS(subscriber_fields), .size = sizeof(Subscriber) };
static const Field subscriber = { NULL, FIELD_OBJECT, .inside = &subscriber_shape };
#define SUBSCRIBERS FIELD_LIST, FIELD_RAW, .max = SURVEY_SUBSCRIBERS_MAX, .of = &subscriber

#define AT(member) .offset = offsetof(GivenTrigger, member)
#define KIND FIELD_TEXT, .max = EVENT_KIND_MAX
static const Field trigger_fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(trigger.rule.id), .max = TRIGGER_ID_MAX, .help = "behind the survey's and a colon it is the trigger's own" },
    { "eventKind", KIND, AT(trigger.event_kind), .help = "the events that it listens to" },
    { "kind", KIND, .flags = FIELD_ALSO },
    { "channel", FIELD_KEY, AT(trigger.channel), .max = CHANNEL_KEY_MAX, .help = "the key of the channel that it sends through" },
    TRIGGER_ROWS(GivenTrigger, 0),
    { "subscribers", SUBSCRIBERS, AT(subscribers), .help = "beside those of the survey" },
};
#undef AT
static const Shape survey_trigger_shape = { "SurveyTrigger", SHAPE_ROWS(trigger_fields), .size = sizeof(GivenTrigger), .check = check_trigger };
static const Field trigger = { NULL, FIELD_OBJECT, .inside = &survey_trigger_shape };

#define AT(member) .offset = offsetof(Given, member)
static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(survey.id), .max = SURVEY_ID_MAX, .help = "without colons: the ids of its triggers begin with it" },
    { "integrationId", FIELD_TEXT_OR_NUMBER, AT(survey.integration_id), .max = TEMPLATE_ID_MAX, .help = "what others know it by" },
    { "languages", FIELD_LIST, AT(survey.languages), .count = offsetof(Given, survey.language_count), .min = 1, .max = SURVEY_LANGUAGES_MAX,
      .of = &language, .help = "such as en and ar-SA; the first is the one to fall back on; en unless said" },
    { "title", TEXTS, AT(title), .help = "by language; its id unless said" },
    { "thanks", TEXTS, AT(thanks), .help = "by language; what is said once it is answered" },
    { "paging", FIELD_WORD, AT(paging), .words = pagings, .noun = "a paging", .help = "one question a page, or all on one; all unless said" },
    { "questions", FIELD_LIST, FIELD_RAW, AT(questions), .max = SURVEY_QUESTIONS_MAX, .of = &question, .help = "in their order" },
    { "triggers", FIELD_LIST, FIELD_RAW, AT(triggers), .max = SURVEY_TRIGGERS_MAX, .of = &trigger, .help = "who is asked, and when; they count once it is published" },
    { "subscribers", SUBSCRIBERS, AT(subscribers), .help = "who is told of responses" },
    { "publishedVersion", FIELD_COUNT, FIELD_SHOWN | FIELD_ALWAYS | FIELD_NULLABLE, .help = "the version that events are matched with; null: none" },
    { "publishedAt", FIELD_TIME, FIELD_SHOWN | FIELD_ALWAYS | FIELD_NULLABLE, .help = "when that was made" },
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape survey_shape = {
    "Survey",
    SHAPE_ROWS(fields),
    .size = sizeof(Given),
    .invalid = ERR_SURVEY_INVALID,
};

const char *question_type_text(QuestionType type)
{
    return types[type];
}

// note_whole notes a bound that is no whole number.
static void note_whole(const Members *members, const char *name, double value)
{
    if (value != (double) (int64_t) value)
        members_note(members, str_from(name), "bad-value", "must be a whole number");
}

static void note_out_of_place(const Members *members, const char *name, bool is_given,
                              const char *where)
{
    if (is_given)
        members_note(members, str_from(name), "bad-value", "stands beside %s alone", where);
}

static void check_rating(const Members *members, Question *of)
{
    of->min = of->has_min ? of->min : 1;
    of->max = of->has_max ? of->max : 5;
    note_whole(members, "min", of->min);
    note_whole(members, "max", of->max);
    if (of->max <= of->min || of->max - of->min > QUESTION_STEPS_MAX)
        members_note(members, S("max"), "bad-value", "must be 1 to %d more than min",
                     QUESTION_STEPS_MAX);
    of->has_min = of->has_max = true;
}

static void check_nps(const Members *members, Question *of)
{
    if ((of->has_min && of->min != 0) || (of->has_max && of->max != 10))
        members_note(members, S("type"), "bad-value", "an nps goes from 0 to 10");
    of->max = 10;
    of->has_min = of->has_max = true;
}

static void check_words(const Members *members, Question *of)
{
    note_out_of_place(members, "min", of->has_min, "rating and number");
    if (!of->has_max)
        of->max = QUESTION_TEXT_USUAL;
    note_whole(members, "max", of->max);
    if (of->max < 1 || of->max > QUESTION_TEXT_MAX)
        members_note(members, S("max"), "bad-value", "must be from 1 to %d", QUESTION_TEXT_MAX);
    of->has_max = true;
}

// check_range says what min and max mean for a type, and where they have no place.
static void check_range(const Members *members, Question *of)
{
    switch (of->type) {
    case QUESTION_RATING:
        check_rating(members, of);
        return;
    case QUESTION_NPS:
        check_nps(members, of);
        return;
    case QUESTION_TEXT:
        check_words(members, of);
        return;
    case QUESTION_NUMBER:
        if (of->has_min && of->has_max && of->max < of->min)
            members_note(members, S("max"), "bad-value", "must not be less than min");
        return;
    case QUESTION_SINGLE:
    case QUESTION_MULTIPLE:
    case QUESTION_DATE:
        note_out_of_place(members, "min", of->has_min, "rating and number");
        note_out_of_place(members, "max", of->has_max, "rating, number and text");
        return;
    }
    assert(!"there is no other type");
}

// is_reserved: a filter would take the id for something else.
static bool is_reserved(Str id)
{
    static const char *const roots[] = { "candidate",  "payload", "recipient", "event",
                                         "templateId", "context", "end" };
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (str_eq(id, str_from(roots[i])))
            return true;
    return false;
}

static void check_question(const Members *members, void *value)
{
    GivenQuestion *given = value;
    Str id = given ? given->question.id : STR_NONE;
    if (id.at && (str_contains(id, S(".")) || is_reserved(id)))
        members_note(members, S("id"), "bad-value",
                     "must have no dot, and not be a word that filters know");
    if (!given || given->type < 0)
        return;
    given->question.type = (QuestionType) given->type;
    check_range(members, &given->question);
    if (given->type != QUESTION_SINGLE && given->type != QUESTION_MULTIPLE)
        note_out_of_place(members, "choices", given->choice_count > 0, "single and multiple");
}

static void check_trigger(const Members *members, void *value)
{
    GivenTrigger *given = value;
    if (!given)
        return;
    if (members_get(members, "awaitAnswer") && !given->trigger.rule.plan.await_answer)
        members_note(members, S("awaitAnswer"), "bad-value", "a survey's trigger awaits an answer");
    given->trigger.rule.plan.await_answer = true;
}

// Reading is a draft on its way into a Survey.
typedef struct Reading {
    Arena *arena;
    Survey *survey;
    Error *error;
    bool knows_languages; // they could be read
} Reading;

static size_t find_language(const Survey *survey, Str tag)
{
    size_t i = 0;
    while (i < survey->language_count && !str_eq_nocase(survey->languages[i], tag))
        i++;
    return i;
}

// read_text takes a text that lies at pointer; NULL: it was not given.
static SurveyText read_text(const Reading *reading, const Json *given, Str pointer)
{
    const Survey *survey = reading->survey;
    Str *texts = ARENA_ARRAY(reading->arena, Str, survey->language_count);
    Members members = members_open(given, pointer, reading->error);
    for (JsonIter it = json_each(given); json_next(&it);) {
        size_t at = find_language(survey, it.key);
        if (at < survey->language_count)
            texts[at] = json_str(it.value);
        else if (reading->knows_languages)
            members_note(&members, it.key, "unknown-language",
                         "is not among the survey's languages");
    }
    return (SurveyText){ survey->languages, texts, survey->language_count };
}

// or_word gives a text that has nothing in the first language a word to say there.
static SurveyText or_word(SurveyText text, Str word)
{
    Str *first = (Str *) (uintptr_t) text.texts;
    if (text.count > 0 && first->len == 0)
        *first = word;
    return text;
}

static Str place_of(const Reading *reading, Str within, const char *list, size_t at)
{
    return str_format(reading->arena, "%.*s/%s/%zu", STR_ARG(within), list, at);
}

static void note_twin(const Reading *reading, Str pointer, const char *member, const char *what)
{
    error_add(reading->error, str_format(reading->arena, "%.*s/%s", STR_ARG(pointer), member),
              "bad-value", "another %s has this %s", what, member);
}

static const Choice *read_choices(const Reading *reading, const GivenQuestion *given, Str pointer)
{
    Choice *choices = ARENA_ARRAY(reading->arena, Choice, given->choice_count + 1);
    for (size_t i = 0; i < given->choice_count; i++) {
        const GivenChoice *from = &given->choices[i];
        Str place = place_of(reading, pointer, "choices", i);
        SurveyText text =
            read_text(reading, from->text, STR_JOIN(reading->arena, place, S("/text")));
        choices[i] = (Choice){ from->value, or_word(text, from->value) };
        size_t twin = 0;
        while (!str_eq(choices[twin].value, from->value))
            twin++;
        if (twin < i)
            note_twin(reading, place, "value", "choice");
    }
    return choices;
}

static void read_question(const Reading *reading, const Json *source, Question *questions,
                          size_t at)
{
    GivenQuestion given = { .type = -1 };
    Str pointer = place_of(reading, S(""), "questions", at);
    fields_note(reading->arena, source, pointer, &question_shape, &given, reading->error);
    Question *of = &questions[at];
    *of = given.question;
    of->source = source;
    of->text = read_text(reading, given.text, STR_JOIN(reading->arena, pointer, S("/text")));
    of->choices = read_choices(reading, &given, pointer);
    of->choice_count = given.choice_count;
    of->go_to = given.go_to;
    for (size_t i = 0; i < at && of->id.at; i++)
        if (str_eq(questions[i].id, of->id)) {
            note_twin(reading, pointer, "id", "question");
            break;
        }
}

static void read_questions(const Reading *reading, const Json *given)
{
    Survey *survey = reading->survey;
    Question *questions = ARENA_ARRAY(reading->arena, Question, json_count(given) + 1);
    for (JsonIter it = json_each(given); json_next(&it);)
        read_question(reading, it.value, questions, it.index - 1);
    survey->questions = questions;
    survey->question_count = json_count(given);
    // What a rule leads to is known once all are there; what it does not find, survey_check()
    // tells.
    for (size_t i = 0; i < survey->question_count; i++) {
        QuestionGoTo *ways = (QuestionGoTo *) (uintptr_t) questions[i].go_to;
        for (size_t k = 0; k < questions[i].go_to_count; k++)
            ways[k].at = survey_question(survey, ways[k].to);
    }
}

// read_subscribers reads a list of them, which lies in what is at pointer.
static const Subscriber *read_subscribers(const Reading *reading, const Json *given, Str pointer)
{
    Subscriber *all = ARENA_ARRAY(reading->arena, Subscriber, json_count(given) + 1);
    for (JsonIter it = json_each(given); json_next(&it);) {
        Subscriber *one = &all[it.index - 1];
        Str place = place_of(reading, pointer, "subscribers", it.index - 1);
        one->retry = rule_default(RULE_SUBSCRIBER, STR_NONE).retry;
        fields_note(reading->arena, it.value, place, &subscriber_shape, one, reading->error);
        one->source = it.value;
        for (const Subscriber *twin = all; twin < one && one->key.at; twin++)
            if (str_eq(twin->key, one->key))
                note_twin(reading, place, "key", "subscriber");
    }
    return all;
}

// check_trigger_id: the ids of a survey's rules are made of it.
static void check_trigger_id(const Reading *reading, const SurveyTrigger *all, size_t at,
                             Str pointer)
{
    const Survey *survey = reading->survey;
    Str id = all[at].trigger.rule.id;
    if (survey->id.len + 1 + id.len > TRIGGER_ID_MAX)
        error_add(reading->error, STR_JOIN(reading->arena, pointer, S("/id")), "too-large",
                  "may have %zu bytes behind this survey's id",
                  TRIGGER_ID_MAX - 1 - survey->id.len);
    for (size_t i = 0; i < at && id.at; i++)
        if (str_eq(all[i].trigger.rule.id, id))
            note_twin(reading, pointer, "id", "trigger");
    // The survey's own subscribers must not be mistaken for this trigger's.
    for (size_t i = 0; i < survey->subscriber_count; i++) {
        Str key = survey->subscribers[i].key, rest = str_skip(key, id.len + 1);
        if (!id.at || !str_starts(key, id) || key.len <= id.len || key.at[id.len] != ':')
            continue;
        for (size_t k = 0; k < all[at].subscriber_count; k++)
            if (str_eq(all[at].subscribers[k].key, rest))
                error_add(reading->error, place_of(reading, pointer, "subscribers", k), "bad-value",
                          "would be taken for %.*s of the survey", STR_ARG(key));
    }
}

static void read_triggers(const Reading *reading, const Json *given)
{
    Survey *survey = reading->survey;
    SurveyTrigger *triggers = ARENA_ARRAY(reading->arena, SurveyTrigger, json_count(given) + 1);
    for (JsonIter it = json_each(given); json_next(&it);) {
        GivenTrigger one = { .trigger = trigger_usual(RULE_TRIGGER) };
        Str pointer = place_of(reading, S(""), "triggers", it.index - 1);
        fields_note(reading->arena, it.value, pointer, &survey_trigger_shape, &one, reading->error);
        triggers[it.index - 1] = (SurveyTrigger){
            .trigger = one.trigger,
            .source = it.value,
            .subscribers = read_subscribers(reading, one.subscribers, pointer),
            .subscriber_count = json_count(one.subscribers),
        };
        check_trigger_id(reading, triggers, it.index - 1, pointer);
    }
    survey->triggers = triggers;
    survey->trigger_count = json_count(given);
}

static bool is_tag(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = str_lower_char(text.at[i]);
        bool is_letter = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
        if (!is_letter && (i == 0 || (!is_digit && c != '-') || (c == '-' && i + 1 == text.len)))
            return false;
    }
    return text.len > 1;
}

static void read_languages(Reading *reading, const Json *json)
{
    static const Str usual[] = { S("en") };
    Survey *survey = reading->survey;
    reading->knows_languages = survey->language_count > 0 || !json_get(json, S("languages"));
    for (size_t i = 0; i < survey->language_count; i++) {
        Str tag = survey->languages[i], place = str_format(reading->arena, "/languages/%zu", i);
        if (!is_tag(tag))
            error_add(reading->error, place, "bad-value",
                      "must be a language tag such as en or ar-SA");
        else if (find_language(survey, tag) < i)
            error_add(reading->error, place, "bad-value", "stands there already");
    }
    if (survey->language_count > 0)
        return;
    survey->languages = usual;
    survey->language_count = ARRAY_LEN(usual);
}

Err survey_compile(Arena *arena, const Json *json, Survey *ret, Error *error)
{
    Error own = { .arena = arena };
    Given given = { .survey = { .id = STR_NONE } };
    Survey *survey = &given.survey;
    Reading reading = { .arena = arena, .survey = survey, .error = error ? error : &own };
    if (!fields_note(arena, json, S(""), &survey_shape, &given, reading.error))
        return error_close(reading.error, ERR_SURVEY_INVALID);
    if (str_contains(survey->id, S(":")))
        error_add(reading.error, S("/id"), "bad-value", "must have no colon");
    read_languages(&reading, json);
    survey->paging = (SurveyPaging) given.paging;
    survey->title = or_word(read_text(&reading, given.title, S("/title")), survey->id);
    survey->thanks = read_text(&reading, given.thanks, S("/thanks"));
    survey->subscribers = read_subscribers(&reading, given.subscribers, S(""));
    survey->subscriber_count = json_count(given.subscribers);
    read_questions(&reading, given.questions);
    read_triggers(&reading, given.triggers);
    TRY(error_close(reading.error, ERR_SURVEY_INVALID));
    *ret = *survey;
    return ERR_OK;
}

Err survey_parse(Arena *arena, Str body, Survey *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return survey_compile(arena, json, ret, error);
}

size_t survey_question(const Survey *survey, Str id)
{
    size_t i = 0;
    while (i < survey->question_count && !str_eq(survey->questions[i].id, id))
        i++;
    return i;
}

Str survey_template_id(const Survey *survey)
{
    return survey->integration_id.at ? survey->integration_id : survey->id;
}

// base_of is a language without its region: ar for ar-SA.
static Str base_of(Str tag)
{
    size_t len = 0;
    while (len < tag.len && tag.at[len] != '-' && tag.at[len] != '_')
        len++;
    return (Str){ tag.at, len };
}

// pick is the place of the language for a locale, among those that text has something in; text may
// be NULL: all.
static size_t pick(const Str *languages, const Str *texts, size_t count, Str locale)
{
    Str wanted[] = { locale, base_of(locale) };
    for (size_t w = 0; w < ARRAY_LEN(wanted); w++)
        for (size_t i = 0; i < count; i++)
            if (wanted[w].len > 0 && str_eq_tag(languages[i], wanted[w]) &&
                (!texts || texts[i].len > 0))
                return i;
    return 0;
}

Str survey_text(const SurveyText *text, Str locale)
{
    if (text->count == 0)
        return S("");
    Str found = text->texts[pick(text->languages, text->texts, text->count, locale)];
    return found.at ? found : S("");
}

Str survey_text_language(const SurveyText *text, Str locale)
{
    return text->count ? text->languages[pick(text->languages, text->texts, text->count, locale)]
                       : STR_NONE;
}

bool survey_speaks(const Survey *survey, Str locale)
{
    return str_eq_tag(base_of(survey_language(survey, locale)), base_of(locale));
}

Str survey_language(const Survey *survey, Str locale)
{
    return survey->languages[pick(survey->languages, NULL, survey->language_count, locale)];
}
