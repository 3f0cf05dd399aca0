#include "domain/trigger.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "documents.h"

#define FEED "'provider':'generic','type':'event'"

static const char *const csi =
    "{'id':'csi-gr-trigger','enabled':true,'eventKind':'service-visit-closed','templateId':'4523',"
    "'filter':{'all':[{'questionId':'candidate.jobType','op':'==','value':'GR'},"
    "{'not':{'path':'recipient.address','op':'startsWith','value':'+1'}}]},"
    "'dedupRecipe':['templateId','recipient.address','candidate.dealerId','candidate.wip'],"
    "'schedule':{'initialDelay':'0d','reminders':['1d']},"
    "'channel':'memory:default','awaitAnswer':true,'expireAfter':'20d',"
    "'retry':{'policy':'fixed','interval':'30s','max':3},"
    "'cancelOn':{'eventKind':'visit-reopened','match':['candidate.wip'],"
    "'filter':{'path':'candidate.vip','op':'exists'}},"
    "'address':'candidate.phone','locale':'candidate.lang'}";

static Trigger compiled(Arena *arena, const char *source)
{
    Trigger trigger = { 0 };
    Error error = { .arena = arena };
    CHECK_AT(source, trigger_compile(arena, document(arena, source), &trigger, &error) == ERR_OK);
    print_problems(&error);
    return trigger;
}

static void a_trigger_is_read_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger = compiled(&arena, csi);
    CHECK(is_text(trigger.rule.id, "csi-gr-trigger") && trigger.enabled);
    CHECK(is_text(trigger.event_kind, "service-visit-closed"));
    CHECK(is_text(trigger.template_id, "4523") && is_text(trigger.channel, "memory:default"));
    CHECK(trigger.filter && trigger.dedup_count == 4);
    CHECK(is_text(trigger.dedup[0], "templateId") && is_text(trigger.dedup[3], "candidate.wip"));
    CHECK(trigger.rule.plan.initial_delay == 0 && trigger.rule.plan.reminder_count == 1);
    CHECK(trigger.rule.plan.reminders[0] == SPAN_DAY && trigger.rule.plan.await_answer);
    CHECK(trigger.rule.plan.expire_after == 20 * SPAN_DAY);
    CHECK(trigger.rule.has_retry && trigger.rule.retry.kind == RETRY_FIXED &&
          trigger.rule.retry.max == 3);
    CHECK(trigger.rule.retry.interval == 30 * SPAN_SECOND);
    CHECK(is_text(trigger.cancel_kind, "visit-reopened") && trigger.cancel_match_count == 1);
    CHECK(is_text(trigger.cancel_match[0], "candidate.wip") && trigger.cancel_filter);
    CHECK(is_text(trigger.address_path, "candidate.phone"));
    CHECK(is_text(trigger.locale_path, "candidate.lang"));
}

static void three_members_are_enough(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger =
        compiled(&arena, "{'id':'t','eventKind':'k','channel':'c','filter':null,'retry':null}");
    CHECK(trigger.enabled && is_text(trigger.template_id, "t"));
    CHECK(!trigger.filter && trigger.dedup_count == 0 && !trigger.rule.has_retry);
    CHECK(trigger.rule.plan.initial_delay == 0 && trigger.rule.plan.reminder_count == 0);
    CHECK(!trigger.rule.plan.await_answer && trigger.rule.plan.expire_after == 30 * SPAN_DAY);
    CHECK(!trigger.cancel_kind.at && trigger.cancel_match_count == 0 && !trigger.cancel_filter);
    CHECK(is_text(trigger.address_path, "recipient.address"));
    CHECK(is_text(trigger.locale_path, "recipient.locale"));
}

#define BASE "'id':'t','eventKind':'k','channel':'c'"

static void a_provider_says_what_is_listened_to(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger =
        compiled(&arena, "{'id':'t','automation':'triage'," FEED ",'integration':'acme','source':"
                         "'gh','way':'polling','interval':'60s','emitExisting':true,'config':{},"
                         "'filter':{'path':'candidate.context.x','op':'==','value':1}}");
    CHECK(is_text(trigger.event_kind, "generic.event") && is_text(trigger.automation, "triage"));
    CHECK(trigger_is_run(&trigger) && !trigger.channel.at);
    CHECK(trigger.dedup_count == 1 && is_text(trigger.dedup[0], "candidate.dedupKey"));
    CHECK(trigger.feed.way == TRIGGER_BY_POLLING && trigger.feed.interval == SPAN_MINUTE);
    CHECK(trigger.feed.emits_existing);
    CHECK(is_text(trigger.feed.integration, "acme") && is_text(trigger.feed.source, "gh"));
    CHECK(is_text(filter_gate(trigger.filter).path, "event.topic"));
    trigger = compiled(&arena, "{" BASE "}");
    CHECK(!trigger_is_run(&trigger) && !trigger.feed.type);
}

// Each part of what is asked is told by where it stands in the definition.
static void a_miss_is_told_by_the_member_that_asked(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger =
        compiled(&arena, "{'id':'t','channel':'c'," FEED ",'integration':'acme','source':'gh',"
                         "'filter':{'any':[{'path':'a','op':'==','value':1},"
                         "{'path':'b','op':'==','value':2}]}}");
    static const struct {
        const char *topic, *source, *payload, *path;
    } cases[] = {
        { "other", "gh", "{'a':1}", "/integration" },
        { "acme", "other", "{'a':1}", "/source" },
        { "acme", "gh", "{'a':2}", "/filter/any/1" },
        { "acme", "gh", "{'a':1}", NULL },
        { "acme", "gh", "{'b':2}", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Event event = { .kind = S("generic.event"),
                        .topic = str_from(cases[i].topic),
                        .source = str_from(cases[i].source),
                        .payload_json = document(&arena, cases[i].payload) };
        Decision decision = trigger_decide(&arena, &trigger, &event, 0);
        if (!cases[i].path) {
            CHECK_AT(cases[i].payload, decision.kind == DECISION_CREATED);
            continue;
        }
        FilterReason reason =
            filter_explain(&arena, trigger.filter, decision.leaf, &event, STR_NONE);
        CHECK_AT(cases[i].path, decision.kind == DECISION_FILTERED);
        CHECK_AT(cases[i].path, is_text(reason.path, cases[i].path));
    }
}

// What came without a key is like nothing else, not like all that came without one.
static void what_has_no_key_is_no_duplicate(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger = compiled(&arena, "{'id':'t','channel':'c'," FEED "}");
    Event keyed = { .payload_json = document(&arena, "{'dedupKey':'k'}") };
    Event bare = { .payload_json = document(&arena, "{'dedupKey':null}") };
    CHECK(trigger_decide(&arena, &trigger, &keyed, 0).has_key);
    CHECK(!trigger_decide(&arena, &trigger, &bare, 0).has_key);
}

static void an_answer_is_awaited_when_there_are_reminders_or_when_said(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const struct {
        const char *source;
        bool expect;
    } cases[] = {
        { "{" BASE "}", false },
        { "{" BASE ",'awaitAnswer':true}", true },
        { "{" BASE ",'schedule':{'reminders':['1d']}}", true },
        { "{" BASE ",'schedule':{'reminders':['1d']},'awaitAnswer':false}", false },
        { "{" BASE ",'schedule':{'reminders':[]}}", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].source,
                 compiled(&arena, cases[i].source).rule.plan.await_answer == cases[i].expect);
    CHECK(is_text(compiled(&arena, "{" BASE ",'templateId':4523}").template_id, "4523"));
}

static void a_bad_trigger_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "7", "", "bad-type" },
        { "{'eventKind':'k','channel':'c'}", "/id", "missing-member" },
        { "{'id':'t','channel':'c'}", "/eventKind", "missing-member" },
        { "{'id':'t','eventKind':'k'}", "/channel", "missing-member" },
        { "{'id':'a b','eventKind':'k','channel':'c'}", "/id", "bad-value" },
        { "{'id':'a/b','eventKind':'k','channel':'c'}", "/id", "bad-value" },
        { "{'id':'t','eventKind':'k','channel':'a b'}", "/channel", "bad-value" },
        { "{" BASE ",'enabled':'yes'}", "/enabled", "bad-type" },
        { "{" BASE ",'dedupReceipe':['a']}", "/dedupReceipe", "unknown-member" },
        { "{" BASE ",'templateId':true}", "/templateId", "bad-type" },
        { "{" BASE ",'filter':{'path':'a','op':'~','value':1}}", "/filter/op", "unknown-op" },
        { "{" BASE ",'filter':[]}", "/filter", "bad-type" },
        { "{" BASE ",'dedupRecipe':[]}", "/dedupRecipe", "bad-value" },
        { "{" BASE ",'dedupRecipe':'a'}", "/dedupRecipe", "bad-type" },
        { "{" BASE ",'dedupRecipe':['a','']}", "/dedupRecipe/1", "bad-path" },
        { "{" BASE ",'schedule':{'initialDelay':'tomorrow'}}", "/schedule/initialDelay",
          "bad-duration" },
        { "{" BASE ",'schedule':{'reminders':['1d','1q']}}", "/schedule/reminders/1",
          "bad-duration" },
        { "{" BASE ",'schedule':{'delay':'1d'}}", "/schedule/delay", "unknown-member" },
        { "{" BASE ",'expireAfter':'0d'}", "/expireAfter", "bad-duration" },
        { "{" BASE ",'expireAfter':30}", "/expireAfter", "bad-type" },
        { "{" BASE ",'awaitAnswer':1}", "/awaitAnswer", "bad-type" },
        { "{" BASE ",'retry':{'policy':'never'}}", "/retry/policy", "bad-value" },
        { "{" BASE ",'cancelOn':'k'}", "/cancelOn", "bad-type" },
        { "{" BASE ",'cancelOn':{'match':['a']}}", "/cancelOn/eventKind", "missing-member" },
        { "{" BASE ",'cancelOn':{'eventKind':'x'}}", "/cancelOn/match", "missing-member" },
        { "{" BASE ",'cancelOn':{'eventKind':'x','match':[]}}", "/cancelOn/match", "bad-value" },
        { "{" BASE ",'cancelOn':{'eventKind':'x','match':['a'],'filter':{'all':1}}}",
          "/cancelOn/filter/all", "bad-type" },
        { "{" BASE ",'address':''}", "/address", "bad-path" },
        { "{" BASE ",'locale':5}", "/locale", "bad-type" },
        { "{" BASE ",'type':'event'}", "/type", "bad-value" },
        { "{" BASE ",'config':{}}", "/config", "bad-value" },
        { "{" BASE ",'automation':'a'}", "/channel", "bad-value" },
        { "{" BASE ",'provider':'generic','type':'event'}", "/eventKind", "bad-value" },
        { "{'id':'t','channel':'c','provider':'gitlab','type':'x'}", "/provider", "bad-value" },
        { "{'id':'t','channel':'c','provider':'table','type':'x'}", "/type", "unknown-type" },
        { "{'id':'t','channel':'c','provider':'generic'}", "/type", "missing-member" },
        { "{'id':'t','channel':'c'," FEED ",'config':{'labels':['a']}}", "/config/labels",
          "unknown-member" },
        { "{'id':'t','channel':'c'," FEED ",'interval':'60s'}", "/interval", "bad-value" },
        { "{'id':'t','channel':'c'," FEED ",'emitExisting':true}", "/emitExisting", "bad-value" },
        { "{'id':'t','channel':'c','eventKind':'k','emitExisting':true}", "/emitExisting",
          "bad-value" },
        { "{'id':'t','channel':'c'," FEED ",'way':'polling','interval':'9s'}", "/interval",
          "bad-duration" },
        { "{'id':'t','channel':'c'," FEED ",'way':'pigeon'}", "/way", "bad-value" },
        { "{'id':'t','automation':'a'," FEED ",'retry':{'policy':'fixed','interval':'1s'}}",
          "/retry", "bad-value" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Trigger trigger = { .rule = { .version = 7 } };
        const Json *source = document(&arena, cases[i].source);
        CHECK_AT(cases[i].source,
                 trigger_compile(&arena, source, &trigger, &error) == ERR_TRIGGER_INVALID);
        CHECK_AT(cases[i].source, error.err == ERR_TRIGGER_INVALID && error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].source, trigger.rule.version == 7);
        CHECK_AT(cases[i].source,
                 trigger_compile(&arena, source, &trigger, NULL) == ERR_TRIGGER_INVALID);
    }
}

static void all_problems_are_found_at_once(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Trigger trigger;
    const Json *source = document(
        &arena, "{'id':'','chanel':'c','filter':{'op':'~'},'schedule':{'initialDelay':'x'},"
                "'retry':{},'dedupRecipe':[1],'cancelOn':{}}");
    CHECK(trigger_compile(&arena, source, &trigger, &error) == ERR_TRIGGER_INVALID);
    CHECK(error.count == 11);
    CHECK(has_problem(&error, "/id", "bad-value") &&
          has_problem(&error, "/chanel", "unknown-member"));
    CHECK(has_problem(&error, "/eventKind", "missing-member"));
    CHECK(has_problem(&error, "/channel", "missing-member"));
    CHECK(has_problem(&error, "/filter/path", "missing-path"));
    CHECK(has_problem(&error, "/filter/op", "unknown-op"));
    CHECK(has_problem(&error, "/schedule/initialDelay", "bad-duration"));
    CHECK(has_problem(&error, "/retry/policy", "missing-member"));
    CHECK(has_problem(&error, "/dedupRecipe/0", "bad-type"));
    CHECK(has_problem(&error, "/cancelOn/eventKind", "missing-member"));
    CHECK(has_problem(&error, "/cancelOn/match", "missing-member"));
}

static Event visit(Arena *arena, const char *source)
{
    Event event = event_of(arena, document(arena, source));
    event.received_at = 1000 * SPAN_DAY;
    return event;
}

static void a_match_describes_the_delivery_to_make(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger = compiled(
        &arena, "{'id':'csi','eventKind':'k','channel':'c','templateId':'4523',"
                "'schedule':{'initialDelay':'60d'},"
                "'filter':{'path':'jobType','op':'==','value':'GR'},'dedupRecipe':"
                "['templateId','recipient.address','candidate.dealerId','candidate.wip']}");
    Event event = visit(&arena, "{'payload':{'wip':'40956','dealerId':'1','jobType':'GR'},"
                                "'recipient':{'address':'+964 770 000 0001','locale':'ar',"
                                "'customerRef':123}}");
    event.occurred_at = 990 * SPAN_DAY;
    Decision decision = trigger_decide(&arena, &trigger, &event, 1000 * SPAN_DAY);
    CHECK(decision.kind == DECISION_CREATED && decision.reason == DECISION_REASON_MATCHED);
    CHECK(decision.trigger == &trigger && decision.due_at == 1050 * SPAN_DAY);
    CHECK(is_text(decision.address, "+964 770 000 0001") && is_text(decision.locale, "ar"));
    CHECK(is_text(decision.customer_ref, "123") && decision.has_key);
    CHECK(is_text(hex_text(&arena, decision.key.b, sizeof(decision.key.b)),
                  "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa"));
    trigger.dedup_count = 1;
    decision = trigger_decide(&arena, &trigger, &event, 1000 * SPAN_DAY);
    Sha256 one_path = sha256(S("templateId=4523"));
    CHECK(decision.has_key && memcmp(decision.key.b, one_path.b, sizeof(one_path.b)) == 0);
    event.occurred_at = INSTANT_NONE;
    CHECK(trigger_decide(&arena, &trigger, &event, 0).due_at == 1060 * SPAN_DAY);
    CHECK(trigger_decide(&arena, &trigger, &event, 1070 * SPAN_DAY).due_at == 1070 * SPAN_DAY);
}

static void address_and_locale_come_from_the_triggers_paths(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger = compiled(&arena, "{" BASE ",'address':'candidate.phone','locale':'lang'}");
    Event event = visit(&arena, "{'payload':{'phone':4711,'lang':'de'},"
                                "'recipient':{'address':'other','locale':'ar'}}");
    Decision decision = trigger_decide(&arena, &trigger, &event, 0);
    CHECK(is_text(decision.address, "4711") && is_text(decision.locale, "de"));
    CHECK(!decision.customer_ref.at && !decision.has_key);
    Event bare = visit(&arena, "{'payload':{'phone':true}}");
    decision = trigger_decide(&arena, &trigger, &bare, 0);
    CHECK(decision.kind == DECISION_CREATED && !decision.address.at && !decision.locale.at);
}

static void what_becomes_no_delivery_says_why(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = visit(&arena, "{'payload':{'jobType':'PM'}}");
    Trigger filtered = compiled(
        &arena, "{" BASE ",'dedupRecipe':['a'],'filter':{'all':[{'path':'jobType','op':'exists'},"
                "{'path':'jobType','op':'==','value':'GR'}]}}");
    Decision decision = trigger_decide(&arena, &filtered, &event, 0);
    CHECK(decision.kind == DECISION_FILTERED && decision.reason == DECISION_REASON_FILTER_FALSE);
    CHECK(decision.leaf == 1 && decision.trigger == &filtered && !decision.has_key);

    // Disabled goes before filtered: its filter is not asked.
    filtered.enabled = false;
    decision = trigger_decide(&arena, &filtered, &event, 0);
    CHECK(decision.kind == DECISION_DISABLED &&
          decision.reason == DECISION_REASON_TRIGGER_DISABLED);
}

static void a_long_address_fails_the_pair(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const char *const members[] = { "address", "locale" };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        for (int over = 0; over <= 1; over++) {
            Str source = str_format(&arena, "{" BASE ",'%s':'x'}", members[i]);
            Trigger trigger = compiled(&arena, source.at);
            Buf payload = buf_new(&arena, 4000);
            buf_add(&payload, S("{'payload':{'x':'"));
            for (int j = 0; j < EVENT_ADDRESS_MAX + over; j++)
                buf_add_char(&payload, 'a');
            buf_add(&payload, S("'}}"));
            Event event = visit(&arena, str_z(&arena, buf_str(&payload)));
            Decision decision = trigger_decide(&arena, &trigger, &event, 0);
            CHECK_AT(members[i], decision.kind == (over ? DECISION_FAILED : DECISION_CREATED));
            CHECK_AT(members[i], !over || decision.reason == DECISION_REASON_TOO_LARGE);
        }
    }
}

static const Test tests[] = {
    TEST(a_trigger_is_read_whole),
    TEST(three_members_are_enough),
    TEST(a_provider_says_what_is_listened_to),
    TEST(a_miss_is_told_by_the_member_that_asked),
    TEST(what_has_no_key_is_no_duplicate),
    TEST(an_answer_is_awaited_when_there_are_reminders_or_when_said),
    TEST(a_bad_trigger_is_refused_with_its_place),
    TEST(all_problems_are_found_at_once),
    TEST(a_match_describes_the_delivery_to_make),
    TEST(address_and_locale_come_from_the_triggers_paths),
    TEST(what_becomes_no_delivery_says_why),
    TEST(a_long_address_fails_the_pair),
};
TEST_MAIN(tests)
