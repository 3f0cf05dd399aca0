#include "documents.h"

#include "domain/template.h"

static Arena arena;

static Trigger template_of(const char *body)
{
    Trigger trigger = { 0 };
    Error error = { .arena = &arena };
    Err err = template_parse(&arena, quoted(&arena, body), &trigger, &error);
    if (err != ERR_OK)
        printf("# %s: %s\n", error.detail,
               error.count ? str_z(&arena, error.problems[0].message) : "");
    CHECK(err == ERR_OK);
    return trigger;
}

static Event event_with(const char *payload)
{
    Event event = { .kind = S("booking.confirmed"),
                    .entity = S("12345"),
                    .source = S("api"),
                    .payload = quoted(&arena, payload),
                    .occurred_at = INSTANT_NONE };
    CHECK(event_parse(&arena, &event, NULL) == ERR_OK);
    return event;
}

#define CONFIRMED                                                                                  \
    "{'id':'confirmed-wa','name':'confirmed','eventType':'booking.confirmed',"                     \
    "'channel':'whatsapp:interakt','language':'en','scope':{'path':'candidate.listingId',"         \
    "'value':'10'},'address':'candidate.guestPhone','subject':null,'body':'Hello {{guestName}}',"  \
    "'format':'text','missing':'empty','active':true,"                                             \
    "'provider':{'template':'booking_ok','params':['{{guestName}}','x']}}"

static void a_template_is_compiled(void)
{
    Trigger trigger = template_of(CONFIRMED);
    const Template *template = trigger.template;
    CHECK(trigger.rule.kind == RULE_TEMPLATE && trigger.enabled && trigger.filter);
    CHECK(str_eq(trigger.rule.id, S("confirmed-wa")) && str_eq(template->name, S("confirmed")));
    CHECK(str_eq(trigger.address_path, S("candidate.guestPhone")));
    CHECK(template->has_scope && template->param_count == 2 && !template->subject);

    Event event = event_with("{'guestName':'Ada\\r\\nBcc: x','listingId':10,'guestPhone':'+91'}");
    Decision decision = trigger_decide(&arena, &trigger, &event, 0);
    CHECK(decision.kind == DECISION_CREATED && decision.has_key);
    CHECK(str_eq(decision.address, S("+91")));
    Filling filling = { .event = &event };
    Content content;
    CHECK(template_say(template, &arena, &filling, &content, NULL) == ERR_OK);
    CHECK(str_eq(content.text, S("Hello Ada\r\nBcc: x")) && !content.html.at);
    CHECK(str_eq(content.template, S("booking_ok")) && content.param_count == 2);
    CHECK(str_eq(content.params[1].value, S("x")));

    Event elsewhere = event_with("{'listingId':11}");
    CHECK(trigger_decide(&arena, &trigger, &elsewhere, 0).kind == DECISION_FILTERED);
    Str *names;
    CHECK(template_names(template, &arena, &names) == 1 && str_eq(names[0], S("guestName")));
    arena_done(&arena);
}

static void a_subject_stays_on_its_line(void)
{
    Trigger trigger = template_of("{'id':'t','eventType':'k','channel':'c','subject':'Hi {{n}}',"
                                  "'body':'<p>{{n}}','format':'html','provider':{'params':"
                                  "{'who':'{{n}}'}}}");
    Event event = event_with("{'n':'Ada\\r\\nBcc: <x>'}");
    Filling filling = { .event = &event };
    Content content;
    CHECK(template_say(trigger.template, &arena, &filling, &content, NULL) == ERR_OK);
    CHECK(str_eq(content.subject, S("Hi Ada  Bcc: <x>")));
    CHECK(str_eq(content.html, S("<p>Ada\r\nBcc: &lt;x&gt;")) && !content.text.at);
    CHECK(content.param_count == 1 && str_eq(content.params[0].name, S("who")));
    arena_done(&arena);
}

static void a_bad_template_is_refused_with_its_place(void)
{
    static const struct {
        const char *body, *path;
    } rows[] = {
        { "{'id':'t','eventType':'k','channel':'c'}", "/body" },
        { "{'id':'t','eventType':'k','body':'x'}", "/channel" },
        { "{'id':'t','eventType':'k','channel':'c','body':'{{x'}", "/body" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','subject':'{{'}", "/subject" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','subject':'a\\nb'}", "/subject" },
        { "{'id':'t','eventType':'k','channel':'c','body':'\\u0001'}", "/body" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','format':'pdf'}", "/format" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','missing':'drop'}", "/missing" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','scope':{'path':'a'}}",
          "/scope/value" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','scope':{'path':'a','value':[]}}",
          "/scope" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','provider':{'params':'p'}}",
          "/provider/params" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','provider':{'params':[1]}}",
          "/provider/params/0" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','provider':{'params':['{{']}}",
          "/provider/params/0" },
        { "{'id':'t','eventType':'k','channel':'c','body':'x','bodyy':'y'}", "/bodyy" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Trigger trigger;
        Error error = { .arena = &arena };
        CHECK_AT(rows[i].body, template_parse(&arena, quoted(&arena, rows[i].body), &trigger,
                                              &error) == ERR_TEMPLATE_INVALID);
        CHECK_AT(rows[i].body,
                 error.count >= 1 && str_eq(error.problems[0].path, str_from(rows[i].path)));
    }
    arena_done(&arena);
}

// A column each: what there is of one channel and name, and which is chosen for a locale.
static void the_nearest_words_are_chosen(void)
{
    static const struct {
        const char *locale, *templates, *chosen;
    } rows[] = {
        // A template is its language, and * where it has a scope; - is the default.
        { "ar-IQ", "ar-IQ ar en -", "ar-IQ" },
        { "ar-IQ", "ar en -", "ar" },
        { "ar-IQ", "en -", "-" },
        { "ar-IQ", "en fr", "" },
        { "AR_iq", "ar-IQ ar", "ar-IQ" },
        { "ar", "ar-IQ -", "-" }, // a longer tag is another language
        { "zh-Hant-TW", "zh zh-Hant", "zh-Hant" },
        { "zh-Hant-TW", "zh", "zh" },
        { "", "en -", "-" },
        { "", "en", "" },
        { "ar", "ar *ar -", "*ar" },
        { "ar", "ar *- -", "*-" },  // narrowest scope first, then language
        { "ar", "ar *en -", "ar" }, // a wider scope where the narrower has none of them
        { "ar", "*en en", "" },
        { "arabic", "ar -", "-" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Decision decisions[8];
        Str words[8];
        size_t count = 0;
        for (Str rest = str_from(rows[i].templates); rest.at; count++) {
            words[count] = str_cut(&rest, ' ');
            bool is_scoped = words[count].at[0] == '*';
            Str language = str_skip(words[count], is_scoped);
            Str body = str_format(&arena,
                                  "{'id':'%zu','name':'n','eventType':'k','channel':'c',"
                                  "'body':'x'%s%s%.*s%s}",
                                  count, is_scoped ? ",'scope':{'path':'a','value':1}" : "",
                                  str_eq(language, S("-")) ? "" : ",'language':'",
                                  STR_ARG(str_eq(language, S("-")) ? S("") : language),
                                  str_eq(language, S("-")) ? "" : "'");
            Trigger *trigger = ARENA_NEW(&arena, Trigger);
            *trigger = template_of(str_z(&arena, body));
            decisions[count] = (Decision){ .trigger = trigger,
                                           .kind = DECISION_CREATED,
                                           .locale = str_from(rows[i].locale) };
        }
        template_choose(&arena, decisions, count);
        Str chosen = S("");
        size_t made = 0;
        for (size_t d = 0; d < count; d++) {
            if (decisions[d].kind != DECISION_CREATED)
                continue;
            chosen = words[d];
            made++;
        }
        CHECK_AT(rows[i].templates, made <= 1 && str_eq(chosen, str_from(rows[i].chosen)));
    }
    arena_done(&arena);
}

static Sha256 key_of(const char *template, const char *payload, const char *entity,
                     const char *identity)
{
    Trigger trigger = template_of(template);
    Event event = event_with(payload);
    event.entity = str_from(entity);
    event.identity = str_from(identity);
    event.id.b[0] = (uint8_t) (entity ? entity[0] : 7);
    return template_key(&arena, &trigger, &event);
}

static bool same(Sha256 a, Sha256 b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

static void a_message_has_one_key(void)
{
    static const char en[] = "{'id':'1','name':'n','eventType':'k','channel':'a:b','body':'x'}";
    static const char ar[] = "{'id':'2','name':'n','eventType':'k','channel':'a:b','body':'y',"
                             "'language':'ar'}";
    static const char by[] = "{'id':'3','name':'n','eventType':'k','channel':'a:b','body':'y',"
                             "'dedupRecipe':['candidate.day']}";
    static const char split[] = "{'id':'4','name':'b:n','eventType':'k','channel':'a','body':'x'}";
    Sha256 key = key_of(en, "{}", "12", NULL);
    CHECK(same(key, key_of(ar, "{'x':1}", "12", "later"))); // neither language nor payload counts
    CHECK(!same(key, key_of(en, "{}", "13", NULL)));
    CHECK(!same(key, key_of(split, "{}", "12", NULL))); // parts are framed
    CHECK(!same(key, key_of(by, "{'day':1}", "12", NULL)));
    CHECK(!same(key_of(by, "{'day':2}", "12", NULL), key_of(by, "{'day':1}", "12", NULL)));
    CHECK(same(key_of(en, "{}", NULL, "i"), key_of(ar, "{}", NULL, "i")));
    CHECK(!same(key_of(en, "{}", NULL, "i"), key_of(en, "{}", NULL, NULL)));
    CHECK(!same(key_of(en, "{}", NULL, "12"), key)); // an identity is no entity

    Trigger again = template_of(en);
    Event event = event_with("{}");
    Str text = template_key_text(&arena, &again, S("12"), S("k"));
    CHECK(str_eq(text, S("12:k:a:b:n")));
    again.request = S("r1");
    CHECK(!same(template_key(&arena, &again, &event), key_of(en, "{}", "12345", NULL)));
    text = template_key_text(&arena, &again, S("12"), S("k"));
    CHECK(str_eq(text, S("manual:12:a:b:n:r1")));
    arena_done(&arena);
}

static const Test tests[] = {
    TEST(a_template_is_compiled),
    TEST(a_subject_stays_on_its_line),
    TEST(a_bad_template_is_refused_with_its_place),
    TEST(the_nearest_words_are_chosen),
    TEST(a_message_has_one_key),
};

TEST_MAIN(tests)
