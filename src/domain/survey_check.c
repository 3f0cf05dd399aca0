#include "domain/survey.h"

// What a draft may lack and a version may not. What is wrong whoever looks at it was refused when
// the draft was saved (survey.c).

// Checking is where in a survey something is looked at.
typedef struct Checking {
    Arena *arena;
    const Survey *survey;
    Error *error;
    Str pointer; // of what is looked at
} Checking;

static Checking inside(const Checking *at, const char *list, size_t index)
{
    Checking in = *at;
    in.pointer = str_format(at->arena, "%.*s/%s/%zu", STR_ARG(at->pointer), list, index);
    return in;
}

static Str place(const Checking *at, const char *member)
{
    return str_format(at->arena, "%.*s/%s", STR_ARG(at->pointer), member);
}

static void need(const Checking *at, bool is_there, const char *member)
{
    if (!is_there)
        error_add(at->error, place(at, member), "missing-member", "\"%s\" is needed", member);
}

// need_text asks for a text in the first language: everybody falls back on it.
static void need_text(const Checking *at, const SurveyText *text, const char *member)
{
    if (text->texts[0].len == 0)
        error_add(at->error, place(at, member), "missing-text",
                  "is needed in %.*s, the survey's first language", STR_ARG(text->languages[0]));
}

// is_begun: it is there in another language.
static bool is_begun(const SurveyText *text)
{
    for (size_t i = 0; i < text->count; i++)
        if (text->texts[i].len > 0)
            return true;
    return false;
}

// Naming says which questions a filter may name: those that stand before end.
typedef struct Naming {
    size_t end;
    bool answers_alone; // nothing but questions
} Naming;

static void check_name(const Checking *at, Str name, bool is_question, const Naming *naming)
{
    static const char *const roots[] = { "candidate", "payload",    "recipient",
                                         "event",     "templateId", "context" };
    Str rest = name, root = str_cut(&rest, '.');
    size_t stands = survey_question(at->survey, root);
    if (stands < naming->end)
        return;
    for (size_t i = 0; i < ARRAY_LEN(roots) && !naming->answers_alone; i++)
        if (str_eq(root, str_from(roots[i])))
            return;
    if (stands < at->survey->question_count)
        error_add(at->error, at->pointer, "bad-question", "%.*s stands behind this question",
                  STR_ARG(root));
    else if (is_question || naming->answers_alone)
        error_add(at->error, at->pointer, "unknown-question", "there is no question %.*s",
                  STR_ARG(members_shown(name)));
}

// check_names looks at every name in a filter, which was compiled: it has its form.
static void check_names(const Checking *at, const Json *filter, const Naming *naming)
{
    static const char *const several[] = { "all", "any" };
    for (size_t i = 0; i < ARRAY_LEN(several); i++) {
        const Json *parts = json_get(filter, str_from(several[i]));
        for (JsonIter it = json_each(parts); json_next(&it);) {
            Checking in = inside(at, several[i], it.index - 1);
            check_names(&in, it.value, naming);
        }
    }
    if (json_get(filter, S("not"))) {
        Checking in = *at;
        in.pointer = place(at, "not");
        check_names(&in, json_get(filter, S("not")), naming);
    }
    Str question = json_str(json_get(filter, S("questionId")));
    Str path = json_str(json_get(filter, S("path")));
    if (question.at || path.at)
        check_name(at, question.at ? question : path, question.at, naming);
}

static void check_filter(const Checking *at, const Json *of, const char *member,
                         const Naming *naming)
{
    Checking in = *at;
    in.pointer = place(at, member);
    if (json_get(of, str_from(member)))
        check_names(&in, json_get(of, str_from(member)), naming);
}

static void check_go_to(const Checking *at, size_t from, const Question *question)
{
    const Json *given = json_get(question->source, S("goTo"));
    for (JsonIter it = json_each(given); json_next(&it);) {
        const QuestionGoTo *way = &question->go_to[it.index - 1];
        Checking in = inside(at, "goTo", it.index - 1);
        bool is_end = str_eq(way->to, S("end"));
        if (!is_end && way->at == at->survey->question_count)
            error_add(at->error, place(&in, "to"), "unknown-question", "there is no question %.*s",
                      STR_ARG(way->to));
        else if (!is_end && way->at <= from)
            error_add(at->error, place(&in, "to"), "bad-question",
                      "must stand behind this question: a survey only goes forward");
        check_filter(&in, it.value, "when", &(Naming){ from + 1, true });
    }
}

static void check_question(const Checking *at, size_t index)
{
    const Question *question = &at->survey->questions[index];
    bool chooses = question->type == QUESTION_SINGLE || question->type == QUESTION_MULTIPLE;
    Checking in = inside(at, "questions", index);
    need_text(&in, &question->text, "text");
    if (chooses)
        need(&in, question->choice_count > 0, "choices");
    check_filter(&in, question->source, "show", &(Naming){ index, true });
    check_go_to(&in, index, question);
}

static void check_subscribers(const Checking *at, const Subscriber *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Checking in = inside(at, "subscribers", i);
        check_filter(&in, all[i].source, "filter", &(Naming){ at->survey->question_count, false });
    }
}

static void check_trigger(const Checking *at, size_t index)
{
    const SurveyTrigger *trigger = &at->survey->triggers[index];
    Checking in = inside(at, "triggers", index);
    need(&in, trigger->trigger.event_kind.at, "eventKind");
    need(&in, trigger->trigger.channel.at, "channel");
    check_subscribers(&in, trigger->subscribers, trigger->subscriber_count);
}

Err survey_check(Arena *arena, const Survey *survey, Error *error)
{
    Error own = { .arena = arena };
    Checking all = { arena, survey, error ? error : &own, S("") };
    if (is_begun(&survey->thanks))
        need_text(&all, &survey->thanks, "thanks");
    need(&all, survey->question_count > 0, "questions");
    for (size_t i = 0; i < survey->question_count; i++)
        check_question(&all, i);
    for (size_t i = 0; i < survey->trigger_count; i++)
        check_trigger(&all, i);
    check_subscribers(&all, survey->subscribers, survey->subscriber_count);
    return error_close(all.error, ERR_SURVEY_INVALID);
}
