#include "domain/provided.h"

#include "documents.h"

static const ProvidedType *type_of(const char *provider, const char *id)
{
    ProviderName name;
    CHECK_AT(provider, provider_name_parse(str_from(provider), &name));
    const ProvidedType *type = provided_type(name, str_from(id));
    CHECK_AT(id, type);
    return type;
}

// explained is what a config makes of an event with this context: none where it matches.
static FilterReason explained(Arena *arena, const ProvidedType *type, const char *config,
                              const char *context)
{
    FilterPart parts[PROVIDED_PARTS_MAX];
    size_t count = provided_parts(arena, type, document(arena, config), parts);
    const Filter *filter = NULL;
    Error error = { .arena = arena };
    CHECK_AT(config, filter_compile_all(arena, parts, count, &filter, &error) == ERR_OK);
    print_problems(&error);
    Str source = str_format(arena, "{'payload':{'context':%s}}", context);
    Event event = event_of(arena, document(arena, source.at));
    FilterMiss miss;
    if (filter_matches(filter, &event, STR_NONE, &miss))
        return (FilterReason){ 0 };
    return filter_explain(arena, filter, miss.leaf, &event, STR_NONE);
}

// A NULL path says that the event matches.
static void a_config_asks_what_its_rows_say(void)
{
    static const struct {
        const char *provider, *type, *config, *context, *path, *told;
    } cases[] = {
        { "github", "issues", "{}", "{}", NULL, NULL },
        { "github", "issues", "{'labels':[]}", "{}", NULL, NULL },
        { "github", "issues", "{'labels':null}", "{}", NULL, NULL },
        { "github", "issues", "{'labels':['bug']}", "{'labels':['ui','bug']}", NULL, NULL },
        { "github", "issues", "{'labels':['bug']}", "{'labels':['ui']}", "/config/labels",
          "labels contained \"ui\"; \"bug\" was asked for" },
        { "github", "issues", "{'labels':['bug','crash']}", "{'labels':['ui','doc']}",
          "/config/labels",
          "labels contained \"ui\", \"doc\"; \"bug\" or \"crash\" was asked for" },
        { "github", "issues", "{'labels':['bug']}", "{'labels':[]}", "/config/labels",
          "labels contained nothing; \"bug\" was asked for" },
        { "github", "issues", "{'labels':['bug']}", "{}", "/config/labels",
          "labels contained nothing; \"bug\" was asked for" },
        { "github", "issues", "{'labels':['bug']}", "{'labels':'bug'}", "/config/labels",
          "labels contained nothing; \"bug\" was asked for" },
        { "github", "issues", "{'actions':['opened'],'labels':['bug']}",
          "{'action':'closed','labels':['bug']}", "/config/actions",
          "action was \"closed\"; \"opened\" was asked for" },
        { "github", "push", "{'branches':['main'],'repositories':['octo/hello']}",
          "{'branch':'main','repository':'octo/hello'}", NULL, NULL },
        { "github", "push", "{'branches':['main']}", "{'tag':'v1'}", "/config/branches",
          "branch was missing; \"main\" was asked for" },
        { "github", "workflow_run", "{'conclusions':['failure']}", "{'conclusion':'success'}",
          "/config/conclusions", "conclusion was \"success\"; \"failure\" was asked for" },
        { "linear", "issue", "{'teams':['WEB']}", "{'team':{'id':'t','key':'WEB','name':'Web'}}",
          NULL, NULL },
        { "linear", "issue", "{'teams':['t']}", "{'team':{'id':'t','key':'WEB','name':'Web'}}",
          NULL, NULL },
        { "linear", "issue", "{'teams':['APP']}", "{'team':{'id':'t','key':'WEB','name':'Web'}}",
          "/config/teams", "team.name was \"Web\"; \"APP\" was asked for" },
        { "linear", "issue", "{'priorities':[1,'High']}", "{'priority':2,'priorityLabel':'High'}",
          NULL, NULL },
        { "linear", "issue", "{'priorities':['1']}", "{'priority':1}", NULL, NULL },
        { "linear", "issue", "{'labels':['Bug']}", "{'labels':['Bug'],'labelIds':['l']}", NULL,
          NULL },
        { "sentry", "issue", "{'minLevel':'error'}", "{'level':'fatal'}", NULL, NULL },
        { "sentry", "issue", "{'minLevel':'error'}", "{'level':'error'}", NULL, NULL },
        { "sentry", "issue", "{'minLevel':'error'}", "{'level':'info'}", "/config/minLevel",
          "level was \"info\"; \"error\" or \"fatal\" was asked for" },
        { "sentry", "issue", "{'minLevel':'debug'}", "{}", "/config/minLevel",
          "level was missing; \"debug\" or \"info\" or \"warning\" or \"error\" or \"fatal\" was "
          "asked for" },
        { "posthog", "event", "{'events':['signup'],'properties':{'plan':'pro','seats':5}}",
          "{'event':'signup','properties':{'plan':'pro','seats':5}}", NULL, NULL },
        { "posthog", "event", "{'properties':{'plan':'pro'}}", "{'properties':{'plan':'free'}}",
          "/config/properties/plan", "properties.plan was \"free\"; \"pro\" was asked for" },
        { "posthog", "event", "{'properties':{'a/b':['x','y']}}", "{'properties':{'a/b':'z'}}",
          "/config/properties/a~1b", "properties.a/b was \"z\"; \"x\" or \"y\" was asked for" },
        { "posthog", "event", "{'properties':{'$geo.city':'Oslo'}}",
          "{'properties':{'$geo.city':'Oslo'}}", NULL, NULL },
        { "gmail", "message", "{'labels':['INBOX']}", "{'labels':['INBOX']}", NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        FilterReason reason = explained(&arena, type_of(cases[i].provider, cases[i].type),
                                        cases[i].config, cases[i].context);
        CHECK_AT(cases[i].config,
                 cases[i].path ? is_text(reason.path, cases[i].path) : !reason.path.at);
        CHECK_AT(cases[i].config, !cases[i].told || is_text(reason.predicate, cases[i].told));
    }
}

static void a_long_list_is_told_by_its_first(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    FilterReason reason = explained(&arena, type_of("github", "issues"), "{'labels':['x']}",
                                    "{'labels':[1,2,3,4,5,6,7,8,9,10,11,12]}");
    CHECK(is_text(reason.predicate,
                  "labels contained 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2 others; \"x\" was asked for"));
}

#define TEN "xxxxxxxxxx"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN // as a property's name may be

static void a_bad_config_is_refused_with_its_place(void)
{
    static const struct {
        const char *provider, *type, *config, *path, *code;
    } cases[] = {
        { "github", "issues", "[]", "/config", "bad-type" },
        { "github", "issues", "{'label':['bug']}", "/config/label", "unknown-member" },
        { "github", "issues", "{'branches':['main']}", "/config/branches", "unknown-member" },
        { "github", "push", "{'actions':['x']}", "/config/actions", "unknown-member" },
        { "github", "issues", "{'labels':'bug'}", "/config/labels", "bad-type" },
        { "github", "issues", "{'labels':[7]}", "/config/labels/0", "bad-type" },
        { "github", "issues", "{'labels':['']}", "/config/labels/0", "bad-value" },
        { "linear", "issue", "{'actions':['remove']}", "/config/actions/0", "bad-value" },
        { "linear", "issue", "{'priorities':[true]}", "/config/priorities/0", "bad-type" },
        { "sentry", "issue", "{'minLevel':'critical'}", "/config/minLevel", "bad-value" },
        { "posthog", "event", "{'properties':['a']}", "/config/properties", "bad-type" },
        { "posthog", "event", "{'properties':{'a':{}}}", "/config/properties/a", "bad-type" },
        { "posthog", "event", "{'properties':{'a':null}}", "/config/properties/a", "bad-type" },
        { "posthog", "event", "{'properties':{'':1}}", "/config/properties/", "bad-path" },
        { "posthog", "event", "{'properties':{'a..b':1}}", "/config/properties/a..b", "bad-path" },
        { "posthog", "event", "{'properties':{'a':[[]]}}", "/config/properties/a", "bad-value" },
        { "posthog", "event", "{'properties':{'a':[1,null]}}", "/config/properties/a",
          "bad-value" },
        { "posthog", "event", "{'properties':{'" LONG "x':1}}", "/config/properties/" LONG "x",
          "bad-path" },
        { "generic", "event", "{'a':1}", "/config/a", "unknown-member" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        const Json *config = document(&arena, cases[i].config);
        provided_check(&arena, type_of(cases[i].provider, cases[i].type), config, S("/config"),
                       &error);
        CHECK_AT(cases[i].config, has_problem(&error, cases[i].path, cases[i].code));
    }
}

// Whatever a good config asks for compiles, and a type asks for nothing that its config cannot
// hold.
static void rows_fit_each_other(void)
{
    for (size_t provider = 0; provider < PROVIDERS; provider++) {
        size_t count;
        const ProvidedType *types = provided_types((ProviderName) provider, &count);
        CHECK_AT(provider_ids[provider], count > 0 || provider == PROVIDER_TABLE);
        for (size_t i = 0; i < count; i++) {
            CHECK_AT(types[i].id, types[i].provider == provider && *types[i].description);
            CHECK_AT(types[i].id, types[i].ask_count <= PROVIDED_ASKS_MAX);
            for (size_t n = 0; n < types[i].config->count; n++) {
                size_t asks = 0;
                for (size_t k = 0; k < types[i].ask_count; k++)
                    asks += str_eq(str_from(types[i].asks[k].member),
                                   str_from(types[i].config->fields[n].name));
                CHECK_AT(types[i].config->fields[n].name, asks == 1);
            }
        }
    }
}

static void what_is_made_is_no_word_of_the_language(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Filter *filter;
    const Json *source = document(&arena, "{'path':'labels','op':'shares','value':['a']}");
    CHECK(filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_INVALID);
    CHECK(has_problem(&error, "/filter/op", "unknown-op"));
}

static const Test tests[] = {
    TEST(a_config_asks_what_its_rows_say),         TEST(a_long_list_is_told_by_its_first),
    TEST(a_bad_config_is_refused_with_its_place),  TEST(rows_fit_each_other),
    TEST(what_is_made_is_no_word_of_the_language),
};
TEST_MAIN(tests)
