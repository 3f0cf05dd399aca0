#include "domain/survey.h"

#include "documents.h"

static const char *const usual =
    "{'id':'csi','integrationId':4523,'languages':['en','ar'],'title':{'en':'Service','ar':'خدمة'},"
    "'thanks':{'en':'Thanks'},'paging':'one','questions':["
    "{'id':'rate','type':'rating','min':1,'max':10,'required':true,'text':{'en':'Rate','ar':'قيم'}}"
    ","
    "{'id':'bad','type':'single','choices':[{'value':'Yes','text':{'en':'Yes','ar':'نعم'}},"
    "{'value':'No'}],'text':{'en':'Complaint?'},"
    "'goTo':[{'when':{'questionId':'bad','op':'==','value':'No'},'to':'end'}]},"
    "{'id':'what','type':'text','show':{'questionId':'bad','op':'==','value':'Yes'},"
    "'text':{'en':'What?'}}],"
    "'triggers':[{'id':'gr','eventKind':'visit','channel':'memory:default','dedupRecipe':"
    "['templateId'],'schedule':{'initialDelay':'1d','reminders':['5d']},'cancelOn':"
    "{'eventKind':'reopened','match':['candidate.wip']},'subscribers':[{'key':'http:own'}]}],"
    "'subscribers':[{'key':'http:crm','filter':{'questionId':'rate','op':'<=','value':7},"
    "'retry':{'policy':'fixed','interval':'1m'}}]}";

static void a_survey_is_compiled(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Survey survey;
    CHECK(survey_compile(&arena, document(&arena, usual), &survey, &error) == ERR_OK);
    print_problems(&error);
    CHECK(is_text(survey.id, "csi") && is_text(survey.integration_id, "4523"));
    CHECK(survey.paging == SURVEY_ONE_EACH && survey.question_count == 3);
    const Question *rate = &survey.questions[0], *bad = &survey.questions[1];
    CHECK(rate->type == QUESTION_RATING && rate->required && rate->min == 1 && rate->max == 10);
    CHECK(bad->choice_count == 2 && is_text(bad->choices[1].value, "No"));
    CHECK(is_text(survey_text(&bad->choices[0].text, S("ar")), "نعم"));
    CHECK(is_text(survey_text(&bad->choices[1].text, S("ar")), "No"));
    CHECK(bad->go_to_count == 1 && bad->go_to[0].at == survey.question_count && bad->go_to[0].when);
    CHECK(survey.questions[2].show && survey.questions[2].max == QUESTION_TEXT_USUAL);
    CHECK(survey.trigger_count == 1 && survey.triggers[0].trigger.rule.plan.await_answer);
    CHECK(survey.triggers[0].trigger.rule.plan.reminder_count == 1);
    CHECK(survey.triggers[0].subscriber_count == 1 && survey.subscriber_count == 1);
    CHECK(survey.subscribers[0].has_retry && survey.subscribers[0].filter);
    CHECK(survey_check(&arena, &survey, &error) == ERR_OK);
}

static void a_text_falls_back(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey;
    static const struct {
        const char *locale, *title, *language;
    } rows[] = {
        { "ar", "ar", "ar" },          { "ar-SA", "ar-SA", "ar-SA" },
        { "AR_sa", "ar-SA", "ar-SA" }, { "ar-EG", "ar", "ar" },
        { "de", "en", "de" },          { "de-AT", "en", "de" },
        { "fr", "en", "en" },          { "", "en", "en" },
        { "a", "en", "en" },           { "en-GB", "en", "en" },
    };
    CHECK(survey_compile(&arena,
                         document(&arena, "{'id':'s','languages':['en','ar','ar-SA','de'],"
                                          "'title':{'en':'en','ar':'ar','ar-SA':'ar-SA','de':''}}"),
                         &survey, NULL) == ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK(is_text(survey_text(&survey.title, str_from(rows[i].locale)), rows[i].title));
        CHECK(is_text(survey_language(&survey, str_from(rows[i].locale)), rows[i].language));
    }
    CHECK(survey_text(&survey.title, STR_NONE).len == 2);
    CHECK(survey_text(&survey.thanks, S("ar")).len == 0);
    CHECK(survey_compile(&arena, document(&arena, "{'id':'plain'}"), &survey, NULL) == ERR_OK);
    CHECK(is_text(survey_text(&survey.title, S("de")), "plain"));
}

static void a_rating_has_twenty_steps_at_most(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey;
    const char *widest = "{'id':'a','questions':[{'id':'q','type':'rating','max':21}]}";
    CHECK(survey_compile(&arena, document(&arena, widest), &survey, NULL) == ERR_OK);
    CHECK(survey.questions[0].min == 1 && survey.questions[0].max == 21);
}

// What is wrong in a draft, by its place.
static const struct {
    const char *text, *path, *code;
} wrong_drafts[] = {
    { "{}", "/id", "missing-member" },
    { "[]", "", "bad-type" },
    { "{'id':'a:b'}", "/id", "bad-value" },
    { "{'id':'a','colour':1}", "/colour", "unknown-member" },
    { "{'id':'a','languages':[]}", "/languages", "bad-value" },
    { "{'id':'a','languages':['en','EN']}", "/languages/1", "bad-value" },
    { "{'id':'a','languages':['e n']}", "/languages/0", "bad-value" },
    { "{'id':'a','languages':['en-']}", "/languages/0", "bad-value" },
    { "{'id':'a','title':{'fr':'x'}}", "/title/fr", "unknown-language" },
    { "{'id':'a','title':'x'}", "/title", "bad-type" },
    { "{'id':'a','title':{'en':1}}", "/title/en", "bad-type" },
    { "{'id':'a','paging':'two'}", "/paging", "bad-value" },
    { "{'id':'a','questions':[1]}", "/questions/0", "bad-type" },
    { "{'id':'a','questions':[{'type':'text'}]}", "/questions/0/id", "missing-member" },
    { "{'id':'a','questions':[{'id':'q'}]}", "/questions/0/type", "missing-member" },
    { "{'id':'a','questions':[{'id':'q','type':'essay'}]}", "/questions/0/type", "bad-value" },
    { "{'id':'a','questions':[{'id':'q.r','type':'text'}]}", "/questions/0/id", "bad-value" },
    { "{'id':'a','questions':[{'id':'end','type':'text'}]}", "/questions/0/id", "bad-value" },
    { "{'id':'a','questions':[{'id':'payload','type':'text'}]}", "/questions/0/id", "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'text'},{'id':'q','type':'text'}]}",
      "/questions/1/id", "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'text','choices':[{'value':'x'}]}]}",
      "/questions/0/choices", "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'single','choices':[{'value':1},{'value':'1'}]}]"
      "}",
      "/questions/0/choices/1/value", "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'single','choices':[{'value':'x','text':"
      "{'fr':'x'}}]}]}",
      "/questions/0/choices/0/text/fr", "unknown-language" },
    { "{'id':'a','questions':[{'id':'q','type':'single','min':1}]}", "/questions/0/min",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'date','max':1}]}", "/questions/0/max",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'text','min':1}]}", "/questions/0/min",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'text','max':20001}]}", "/questions/0/max",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'rating','min':5,'max':5}]}", "/questions/0/max",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'rating','max':22}]}", "/questions/0/max",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'rating','min':0.5}]}", "/questions/0/min",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'nps','max':5}]}", "/questions/0/type",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'number','min':2,'max':1}]}", "/questions/0/max",
      "bad-value" },
    { "{'id':'a','questions':[{'id':'q','type':'text','show':{'op':'exists'}}]}",
      "/questions/0/show/path", "missing-path" },
    { "{'id':'a','questions':[{'id':'q','type':'text','goTo':[{'when':{'questionId':'q',"
      "'op':'~','value':1},'to':'end'}]}]}",
      "/questions/0/goTo/0/when/op", "unknown-op" },
    { "{'id':'a','questions':[{'id':'q','type':'text','goTo':[{}]}]}", "/questions/0/goTo/0/to",
      "missing-member" },
    { "{'id':'a','triggers':[{}]}", "/triggers/0/id", "missing-member" },
    { "{'id':'a','triggers':[{'id':'t'},{'id':'t'}]}", "/triggers/1/id", "bad-value" },
    { "{'id':'a','triggers':[{'id':'t','survey':'b'}]}", "/triggers/0/survey", "unknown-member" },
    { "{'id':'a','triggers':[{'id':'t','provider':'github'}]}", "/triggers/0/provider",
      "unknown-member" },
    { "{'id':'a','triggers':[{'id':'t','awaitAnswer':false}]}", "/triggers/0/awaitAnswer",
      "bad-value" },
    { "{'id':'a','triggers':[{'id':'t','schedule':{'reminders':['soon']}}]}",
      "/triggers/0/schedule/reminders/0", "bad-duration" },
    { "{'id':'a','triggers':[{'id':'t','filter':{'all':1}}]}", "/triggers/0/filter/all",
      "bad-type" },
    { "{'id':'a','triggers':[{'id':'t','cancelOn':{'eventKind':'x'}}]}",
      "/triggers/0/cancelOn/match", "missing-member" },
    { "{'id':'a','triggers':[{'id':'t','subscribers':[{}]}]}", "/triggers/0/subscribers/0/key",
      "missing-member" },
    { "{'id':'a','triggers':[{'id':'t','subscribers':[{'key':'x'}]}],'subscribers':"
      "[{'key':'t:x'}]}",
      "/triggers/0/subscribers/0", "bad-value" },
    { "{'id':'a','subscribers':[{'key':'x'},{'key':'x'}]}", "/subscribers/1/key", "bad-value" },
    { "{'id':'a','subscribers':[{'key':'x','filter':{'all':1}}]}", "/subscribers/0/filter/all",
      "bad-type" },
};

static void a_wrong_draft_is_refused(void)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong_drafts); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Survey survey;
        CHECK(survey_compile(&arena, document(&arena, wrong_drafts[i].text), &survey, &error) ==
              ERR_SURVEY_INVALID);
        if (!has_problem(&error, wrong_drafts[i].path, wrong_drafts[i].code)) {
            printf("# %s\n", wrong_drafts[i].text);
            print_problems(&error);
        }
        CHECK(has_problem(&error, wrong_drafts[i].path, wrong_drafts[i].code));
        CHECK(error.count == 1);
    }
}

// What a draft may lack, and a version may not.
static void an_unfinished_draft_is_kept_and_not_published(void)
{
    static const struct {
        const char *text, *path, *code;
    } rows[] = {
        { "{'id':'a'}", "/questions", "missing-member" },
        { "{'id':'a','questions':[{'id':'q','type':'text'}]}", "/questions/0/text",
          "missing-text" },
        { "{'id':'a','languages':['en','de'],'questions':[{'id':'q','type':'text','text':"
          "{'de':'x','en':''}}]}",
          "/questions/0/text", "missing-text" },
        { "{'id':'a','languages':['en','de'],'thanks':{'de':'x'},'questions':[{'id':'q','type':"
          "'text','text':{'en':'x'}}]}",
          "/thanks", "missing-text" },
        { "{'id':'a','questions':[{'id':'q','type':'multiple','text':{'en':'x'}}]}",
          "/questions/0/choices", "missing-member" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'goTo':[{'to':'r'}]}]}",
          "/questions/0/goTo/0/to", "unknown-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'goTo':[{'to':'q'}]}]}",
          "/questions/0/goTo/0/to", "bad-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'show':{'questionId':"
          "'q','op':'exists'}}]}",
          "/questions/0/show", "bad-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'show':{'all':[{'not':"
          "{'path':'nope','op':'exists'}}]}}]}",
          "/questions/0/show/all/0/not", "unknown-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'show':{'path':"
          "'candidate.a','op':'exists'}}]}",
          "/questions/0/show", "unknown-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'},'goTo':[{'when':"
          "{'questionId':'r','op':'exists'},'to':'end'}]},{'id':'r','type':'date','text':"
          "{'en':'x'}}]}",
          "/questions/0/goTo/0/when", "bad-question" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'}}],'triggers':"
          "[{'id':'t','channel':'c'}]}",
          "/triggers/0/eventKind", "missing-member" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'}}],'triggers':"
          "[{'id':'t','eventKind':'k'}]}",
          "/triggers/0/channel", "missing-member" },
        { "{'id':'a','questions':[{'id':'q','type':'text','text':{'en':'x'}}],'subscribers':"
          "[{'key':'c','filter':{'any':[{'questionId':'r','op':'exists'}]}}]}",
          "/subscribers/0/filter/any/0", "unknown-question" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Survey survey;
        CHECK(survey_compile(&arena, document(&arena, rows[i].text), &survey, &error) == ERR_OK);
        CHECK(survey_check(&arena, &survey, &error) == ERR_SURVEY_INVALID);
        if (!has_problem(&error, rows[i].path, rows[i].code)) {
            printf("# %s\n", rows[i].text);
            print_problems(&error);
        }
        CHECK(has_problem(&error, rows[i].path, rows[i].code));
        CHECK(error.count == 1);
    }
}

static void a_version_writes_its_rules(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey;
    SurveyRule *rules;
    Trigger trigger;
    CHECK(survey_compile(&arena, document(&arena, usual), &survey, NULL) == ERR_OK);
    CHECK(survey_rules(&arena, &survey, 3, &rules) == 3);
    CHECK(rules[0].kind == RULE_TRIGGER && is_text(rules[0].id, "csi:gr"));
    CHECK(rules[1].kind == RULE_SUBSCRIBER && is_text(rules[1].id, "csi:http:crm"));
    CHECK(!rules[1].trigger.at && is_text(rules[2].trigger, "gr"));
    CHECK(is_text(rules[2].id, "csi:gr:http:own") && is_text(rules[2].channel, "http:own"));
    CHECK(rule_parse(RULE_TRIGGER, &arena, rules[0].body, &trigger, NULL) == ERR_OK);
    CHECK(is_text(trigger.survey, "csi") && trigger.survey_version == 3);
    CHECK(is_text(trigger.template_id, "4523") && trigger.rule.plan.await_answer);
    CHECK(is_text(trigger.rule.id, "csi:gr") && trigger.rule.plan.initial_delay == SPAN_DAY);
    CHECK(is_text(trigger.cancel_kind, "reopened") && trigger.dedup_count == 1);
    CHECK(rule_parse(RULE_SUBSCRIBER, &arena, rules[1].body, &trigger, NULL) == ERR_OK);
    CHECK(is_text(trigger.channel, "http:crm") && trigger.filter && trigger.rule.has_retry);
    CHECK(trigger.rule.kind == RULE_SUBSCRIBER && !trigger.event_kind.at && trigger.enabled);
    CHECK(is_text(trigger.survey, "csi") && trigger.survey_version == 3);
}

static const Test tests[] = {
    TEST(a_rating_has_twenty_steps_at_most),
    TEST(a_survey_is_compiled),
    TEST(a_text_falls_back),
    TEST(a_wrong_draft_is_refused),
    TEST(an_unfinished_draft_is_kept_and_not_published),
    TEST(a_version_writes_its_rules),
};

TEST_MAIN(tests)
