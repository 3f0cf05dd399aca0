#include "domain/filter.h"

#include "documents.h"

static void the_published_cases_hold(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *file = case_file(&arena, "filter.json");
    const Json *source = json_get(file, S("event"));
    Event event = event_of(&arena, source);
    Str template_id = json_str(json_get(source, S("templateId")));
    const Json *cases = json_get(file, S("cases"));
    CHECK(json_count(cases) >= 36);
    for (JsonIter it = json_each(cases); json_next(&it);) {
        const Json *written = json_get(it.value, S("filter"));
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        CHECK(filter_compile(&arena, written, S("/filter"), &filter, &error) == ERR_OK);
        print_problems(&error);
        CHECK_AT(str_z(&arena, json_text(&arena, written)),
                 filter_matches(filter, &event, template_id, NULL) ==
                     json_bool(json_get(it.value, S("expect"))));
    }
}

static void the_published_refusals_hold(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *refused = json_get(case_file(&arena, "filter.json"), S("refused"));
    CHECK(json_count(refused) >= 10);
    for (JsonIter it = json_each(refused); json_next(&it);) {
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        CHECK_AT(str_z(&arena, json_text(&arena, it.value)),
                 filter_compile(&arena, it.value, S("/filter"), &filter, &error) == ERR_INVALID);
        CHECK(!filter && error.count > 0);
    }
}

static const char *const payload =
    "{'recipient':{'address':'+964 770'},'payload':{'s':'7','w':'abc','n':7,'f':7.50,'t':true,"
    "'no':false,'nil':null,'l':['a',7,'8',true,null,[1]],'o':{'x':1},'e':'','el':[],"
    "'big':9007199254740993,'neg':-5,'z':'10','long':'0123456789012345678901234567890'}}";

static const struct {
    const char *filter;
    bool expect;
} comparisons[] = {
    // A number and a numeric text compare as numbers, two texts as bytes.
    { "{'path':'n','op':'==','value':'7'}", true },
    { "{'path':'n','op':'==','value':7.0}", true },
    { "{'path':'s','op':'==','value':7.0}", true },
    { "{'path':'s','op':'==','value':'7.0'}", false },
    { "{'path':'n','op':'==','value':'7.0'}", true },
    { "{'path':'n','op':'==','value':'07'}", false },
    { "{'path':'n','op':'==','value':'seven'}", false },
    { "{'path':'f','op':'==','value':7.5}", true },
    { "{'path':'big','op':'==','value':9007199254740992}", false },
    { "{'path':'big','op':'>','value':9007199254740992}", true },
    { "{'path':'big','op':'<','value':'9007199254740994'}", true },
    // true and false equal only themselves.
    { "{'path':'t','op':'==','value':true}", true },
    { "{'path':'t','op':'==','value':1}", false },
    { "{'path':'t','op':'==','value':'true'}", false },
    { "{'path':'no','op':'==','value':false}", true },
    { "{'path':'n','op':'==','value':true}", false },
    { "{'path':'t','op':'!=','value':false}", true },
    // Neither an object nor an array equals anything.
    { "{'path':'o','op':'==','value':'{}'}", false },
    { "{'path':'o','op':'!=','value':'x'}", true },
    { "{'path':'l','op':'==','value':'a'}", false },
    // A missing path, and null.
    { "{'path':'absent','op':'==','value':''}", false },
    { "{'path':'absent','op':'!=','value':'x'}", true },
    { "{'path':'nil','op':'!=','value':'x'}", true },
    { "{'path':'nil','op':'==','value':''}", false },
    { "{'path':'absent','op':'<','value':5}", false },
    { "{'path':'absent','op':'>=','value':5}", false },
    { "{'path':'absent','op':'in','value':['']}", false },
    { "{'path':'absent','op':'contains','value':''}", false },
    { "{'path':'absent','op':'startsWith','value':''}", false },
    { "{'path':'absent','op':'endsWith','value':''}", false },
    { "{'path':'absent','op':'exists'}", false },
    { "{'path':'absent','op':'exists','value':false}", true },
    { "{'path':'nil','op':'exists','value':false}", true },
    { "{'path':'no','op':'exists','value':true}", true },
    { "{'path':'no','op':'exists','value':false}", false },
    { "{'path':'el','op':'exists'}", true },
    // Order.
    { "{'path':'n','op':'<','value':7}", false },
    { "{'path':'n','op':'<=','value':7}", true },
    { "{'path':'n','op':'>','value':7}", false },
    { "{'path':'n','op':'>=','value':7}", true },
    { "{'path':'n','op':'<','value':'10'}", true },
    { "{'path':'s','op':'<','value':'10'}", true },
    { "{'path':'z','op':'>','value':'9'}", true },
    { "{'path':'neg','op':'<','value':-4.5}", true },
    { "{'path':'w','op':'<','value':'abd'}", true },
    { "{'path':'w','op':'<=','value':'abc'}", true },
    { "{'path':'w','op':'>','value':'ab'}", true },
    { "{'path':'w','op':'<','value':5}", false },
    { "{'path':'w','op':'>','value':5}", false },
    { "{'path':'w','op':'<=','value':5}", false },
    { "{'path':'w','op':'>=','value':5}", false },
    { "{'path':'absent','op':'<=','value':5}", false },
    { "{'path':'o','op':'<=','value':'x'}", false },
    { "{'path':'t','op':'>','value':0}", false },
    { "{'path':'n','op':'>','value':'abc'}", false },
    // Lists and texts.
    { "{'path':'w','op':'in','value':['x','abc']}", true },
    { "{'path':'n','op':'in','value':['7']}", true },
    { "{'path':'t','op':'in','value':[1,'true']}", false },
    { "{'path':'t','op':'in','value':[true]}", true },
    { "{'path':'w','op':'in','value':[]}", false },
    { "{'path':'l','op':'in','value':['a']}", false },
    { "{'path':'l','op':'contains','value':'a'}", true },
    { "{'path':'l','op':'contains','value':'7'}", true },
    { "{'path':'l','op':'contains','value':8}", true },
    { "{'path':'l','op':'contains','value':true}", true },
    { "{'path':'l','op':'contains','value':false}", false },
    { "{'path':'l','op':'contains','value':1}", false },
    { "{'path':'el','op':'contains','value':''}", false },
    { "{'path':'o','op':'contains','value':'x'}", false },
    { "{'path':'w','op':'contains','value':'bc'}", true },
    { "{'path':'w','op':'contains','value':'cb'}", false },
    { "{'path':'long','op':'contains','value':678}", true },
    { "{'path':'w','op':'contains','value':true}", false },
    { "{'path':'w','op':'startsWith','value':'ab'}", true },
    { "{'path':'w','op':'startsWith','value':'abcd'}", false },
    { "{'path':'w','op':'endsWith','value':'bc'}", true },
    { "{'path':'w','op':'endsWith','value':'ab'}", false },
    { "{'path':'n','op':'startsWith','value':'7'}", false },
    // The roots.
    { "{'path':'event.kind','op':'==','value':'visit-closed'}", true },
    { "{'path':'templateId','op':'in','value':[4523]}", true },
    { "{'questionId':'recipient.address','op':'contains','value':' '}", true },
};

static void operators_compare_by_type(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++) {
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        const Json *source = document(&arena, comparisons[i].filter);
        CHECK_AT(comparisons[i].filter,
                 filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_OK);
        CHECK_AT(comparisons[i].filter,
                 filter_matches(filter, &event, S("4523"), NULL) == comparisons[i].expect);
    }
}

#define T "{'path':'t','op':'exists'}"
#define F "{'path':'absent','op':'exists'}"

static void groups_combine_and_the_deciding_leaf_is_named(void)
{
    static const struct {
        const char *filter;
        const char *decided; // the leaf that made it false; NULL: it is true
    } cases[] = {
        { T, NULL },
        { F, "/filter" },
        { "{'all':[]}", NULL },
        { "{'any':[]}", "/filter/any" },
        { "{'all':[" T "," T "]}", NULL },
        { "{'all':[" T "," F "," F "]}", "/filter/all/1" },
        { "{'any':[" F "," T "," F "]}", NULL },
        { "{'any':[" F "," F "]}", "/filter/any/1" },
        { "{'not':" F "}", NULL },
        { "{'not':" T "}", "/filter/not" },
        { "{'not':{'not':" F "}}", "/filter/not/not" },
        { "{'not':{'all':[]}}", "/filter/not/all" },
        { "{'not':{'any':[]}}", NULL },
        { "{'not':{'any':[" F "," T "]}}", "/filter/not/any/1" },
        { "{'not':{'all':[" T "," F "]}}", NULL },
        { "{'not':{'all':[" T "," T "]}}", "/filter/not/all/1" },
        { "{'all':[{'any':[" F "," T "]},{'not':" T "}]}", "/filter/all/1/not" },
        { "{'all':[{'any':[" F "," T "]},{'not':" F "}]}", NULL },
        { "{'any':[{'all':[" T "," F "]},{'all':[" T "," T "]}]}", NULL },
        { "{'any':[{'all':[" T "," F "]},{'all':[" F "," T "]}]}", "/filter/any/1/all/0" },
        { "{'all':[{'all':[]},{'any':[{'any':[]},{'not':{'not':" T "}}]}]}", NULL },
        { "{'all':[{'not':{'all':[" F "," T "]}}," F "]}", "/filter/all/1" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        const Json *source = document(&arena, cases[i].filter);
        FilterMiss miss = { .leaf = -1 };
        CHECK_AT(cases[i].filter,
                 filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_OK);
        CHECK_AT(cases[i].filter,
                 filter_matches(filter, &event, S("4523"), &miss) == !cases[i].decided);
        CHECK_AT(cases[i].filter, (miss.leaf == -1) == !cases[i].decided);
        FilterReason reason = filter_explain(&arena, filter, miss.leaf, &event, S("4523"));
        if (cases[i].decided)
            CHECK_AT(cases[i].filter, is_text(reason.path, cases[i].decided));
        else
            CHECK_AT(cases[i].filter, !reason.path.at);
    }
}
#undef T
#undef F

static void no_filter_is_always_true(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    Error error = { .arena = &arena };
    const Filter *filter = (const Filter *) &event;
    CHECK(filter_compile(&arena, NULL, S("/filter"), &filter, &error) == ERR_OK && !filter);
    CHECK(filter_matches(NULL, &event, S(""), NULL));
    CHECK(!filter_explain(&arena, NULL, 0, &event, S("")).predicate.at);
    const Json *source = document(&arena, "{'path':'t','op':'exists'}");
    CHECK(filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_OK);
    CHECK(filter_explain(&arena, filter, 0, &event, S("")).predicate.at);
    CHECK(!filter_explain(&arena, filter, 1, &event, S("")).predicate.at);
}

static void a_miss_is_explained_in_words(void)
{
    // clang-format off
    static const struct {
        const char *filter, *predicate, *seen, *would_match_if;
    } cases[] = {
        { "{'path':'candidate.w','op':'==','value':'GR'}", "candidate.w == \"GR\"", "\"abc\"", "candidate.w were \"GR\"" },
        { "{'path':'w','op':'!=','value':'abc'}", "w != \"abc\"", "\"abc\"", "w were not \"abc\"" },
        { "{'path':'f','op':'<','value':5}", "f < 5", "7.50", "f were less than 5" },
        { "{'path':'n','op':'<=','value':5.5}", "n <= 5.5", "7", "n were at most 5.5" },
        { "{'path':'n','op':'>','value':10}", "n > 10", "7", "n were more than 10" },
        { "{'path':'n','op':'>=','value':10}", "n >= 10", "7", "n were at least 10" },
        { "{'path':'w','op':'in','value':['x', 1, true]}", "w in [\"x\",1,true]", "\"abc\"", "w were one of [\"x\",1,true]" },
        { "{'path':'l','op':'contains','value':'z'}", "l contains \"z\"", "[\"a\",7,\"8\",true,null,[1]]", "l contained \"z\"" },
        { "{'path':'w','op':'startsWith','value':'x'}", "w startsWith \"x\"", "\"abc\"", "w started with \"x\"" },
        { "{'path':'w','op':'endsWith','value':'x'}", "w endsWith \"x\"", "\"abc\"", "w ended with \"x\"" },
        { "{'path':'absent','op':'exists'}", "absent exists", NULL, "absent were there" },
        { "{'path':'nil','op':'exists'}", "nil exists", "null", "nil were there" },
        { "{'path':'w','op':'exists','value':false}", "w exists false", "\"abc\"", "w were not there" },
        { "{'path':'templateId','op':'==','value':'x'}", "templateId == \"x\"", "\"4523\"", "templateId were \"x\"" },
        { "{'questionId':'e','op':'==','value':'a\\\"b'}", "e == \"a\\\"b\"", "\"\"", "e were \"a\\\"b\"" },
        { "{'not':{'path':'w','op':'==','value':'abc'}}", "not w == \"abc\"", "\"abc\"", "w were not \"abc\"" },
        { "{'not':{'path':'w','op':'!=','value':'x'}}", "not w != \"x\"", "\"abc\"", "w were \"x\"" },
        { "{'not':{'path':'n','op':'<','value':10}}", "not n < 10", "7", "n were at least 10" },
        { "{'not':{'path':'n','op':'<=','value':7}}", "not n <= 7", "7", "n were more than 7" },
        { "{'not':{'path':'n','op':'>','value':5}}", "not n > 5", "7", "n were at most 5" },
        { "{'not':{'path':'n','op':'>=','value':5}}", "not n >= 5", "7", "n were less than 5" },
        { "{'not':{'path':'n','op':'in','value':[7]}}", "not n in [7]", "7", "n were none of [7]" },
        { "{'not':{'path':'w','op':'contains','value':'b'}}", "not w contains \"b\"", "\"abc\"", "w did not contain \"b\"" },
        { "{'not':{'path':'recipient.address','op':'startsWith','value':'+9'}}", "not recipient.address startsWith \"+9\"", "\"+964 770\"", "recipient.address did not start with \"+9\"" },
        { "{'not':{'path':'w','op':'endsWith','value':'c'}}", "not w endsWith \"c\"", "\"abc\"", "w did not end with \"c\"" },
        { "{'not':{'path':'w','op':'exists'}}", "not w exists", "\"abc\"", "w were not there" },
        { "{'not':{'path':'absent','op':'exists','value':false}}", "not absent exists false", NULL, "absent were there" },
        { "{'any':[]}", "any of nothing", NULL, "the list were not empty" },
        { "{'not':{'all':[]}}", "not all of nothing", NULL, "the list were not empty" },
    };
    // clang-format on
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        FilterMiss miss;
        const Json *source = document(&arena, cases[i].filter);
        CHECK_AT(cases[i].filter,
                 filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_OK);
        CHECK_AT(cases[i].filter, !filter_matches(filter, &event, S("4523"), &miss));
        FilterReason reason = filter_explain(&arena, filter, miss.leaf, &event, S("4523"));
        CHECK_AT(cases[i].filter, is_text(reason.predicate, cases[i].predicate));
        CHECK_AT(cases[i].filter, is_text(reason.would_match_if, cases[i].would_match_if));
        if (cases[i].seen)
            CHECK_AT(cases[i].filter, is_text(reason.seen, cases[i].seen));
        else
            CHECK_AT(cases[i].filter, !reason.seen.at);
    }
}

static void a_bad_filter_is_refused_with_its_place(void)
{
    static const struct {
        const char *filter, *path, *code;
    } cases[] = {
        { "[]", "/filter", "bad-type" },
        { "'x'", "/filter", "bad-type" },
        { "{'op':'==','value':1}", "/filter/path", "missing-path" },
        { "{'path':'','op':'==','value':1}", "/filter/path", "bad-path" },
        { "{'path':'a..b','op':'==','value':1}", "/filter/path", "bad-path" },
        { "{'path':5,'op':'==','value':1}", "/filter/path", "bad-path" },
        { "{'questionId':'','op':'==','value':1}", "/filter/questionId", "bad-path" },
        { "{'questionId':'a','path':'a','op':'==','value':1}", "/filter/questionId", "bad-path" },
        { "{'path':'a','value':1}", "/filter/op", "missing-op" },
        { "{'path':'a','op':'=','value':1}", "/filter/op", "unknown-op" },
        { "{'path':'a','op':1,'value':1}", "/filter/op", "bad-type" },
        { "{'path':'a','op':'=='}", "/filter/value", "missing-value" },
        { "{'path':'a','op':'in'}", "/filter/value", "missing-value" },
        { "{'path':'a','op':'==','value':null}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'!=','value':[]}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'<','value':true}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'in','value':[1,null]}", "/filter/value/1", "bad-value" },
        { "{'path':'a','op':'in','value':[[1]]}", "/filter/value/0", "bad-value" },
        { "{'path':'a','op':'contains','value':['x']}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'endsWith','value':true}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'exists','value':null}", "/filter/value", "bad-value" },
        { "{'path':'a','op':'==','value':1,'note':''}", "/filter/note", "unknown-member" },
        { "{'all':[],'any':[]}", "/filter/any", "unknown-member" },
        { "{'not':{'any':[]},'op':'=='}", "/filter/op", "unknown-member" },
        { "{'all':null}", "/filter/all", "bad-type" },
        { "{'any':{'path':'a'}}", "/filter/any", "bad-type" },
        { "{'not':[]}", "/filter/not", "bad-type" },
        { "{'all':[{'any':[1]}]}", "/filter/all/0/any/0", "bad-type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        const Json *source = document(&arena, cases[i].filter);
        CHECK_AT(cases[i].filter,
                 filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_INVALID);
        CHECK_AT(cases[i].filter, error.count == 1 && !filter);
        CHECK_AT(cases[i].filter, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].filter,
                 filter_compile(&arena, source, S("/filter"), &filter, NULL) == ERR_INVALID);
    }
}

static void an_unknown_operator_is_answered_with_the_list(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Filter *filter;
    const Json *source = document(&arena, "{'path':'a','op':'~','value':1}");
    CHECK(filter_compile(&arena, source, S("/filter"), &filter, &error) == ERR_INVALID);
    CHECK(has_problem(&error, "/filter/op", "unknown-op"));
    CHECK(is_text(error.problems[0].message,
                  "\"~\" is not an operator; use one of == != < <= > >= in contains startsWith "
                  "endsWith exists"));
}

static void all_problems_are_found_at_once(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Filter *filter;
    const Json *source = document(&arena, "{'all':[{'path':'a','op':'~'},{'not':{'op':'=='}},7]}");
    CHECK(filter_compile(&arena, source, S("/f"), &filter, &error) == ERR_INVALID);
    CHECK(error.count == 4);
    CHECK(has_problem(&error, "/f/all/0/op", "unknown-op"));
    CHECK(has_problem(&error, "/f/all/1/not/path", "missing-path"));
    CHECK(has_problem(&error, "/f/all/1/not/value", "missing-value"));
    CHECK(has_problem(&error, "/f/all/2", "bad-type"));
}

static void a_filter_has_at_most_1000_parts(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    for (int leaves = FILTER_NODES_MAX - 1; leaves <= FILTER_NODES_MAX; leaves++) {
        Buf source = buf_new(&arena, 1 << 20);
        buf_add(&source, S("{'any':["));
        for (int i = 0; i < leaves; i++)
            buf_add(&source, i ? S(",{'path':'no','op':'==','value':true}")
                               : S("{'path':'no','op':'==','value':true}"));
        buf_add(&source, S("]}"));
        Error error = { .arena = &arena };
        const Filter *filter = NULL;
        const Json *json = document(&arena, str_z(&arena, buf_str(&source)));
        Err err = filter_compile(&arena, json, S("/filter"), &filter, &error);
        CHECK((err == ERR_OK) == (leaves < FILTER_NODES_MAX));
        CHECK(err == ERR_OK || has_problem(&error, "/filter", "too-large"));
        FilterMiss miss = { 0 };
        if (err == ERR_OK) {
            CHECK(!filter_matches(filter, &event, S(""), &miss));
            CHECK(miss.leaf == leaves - 1);
        }
    }
}

static void a_filter_may_be_as_deep_as_a_document(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event = event_of(&arena, document(&arena, payload));
    Buf source = buf_new(&arena, 4096);
    for (int i = 1; i < FILTER_DEPTH_MAX; i++)
        buf_add(&source, S("{'not':"));
    buf_add(&source, S("{'path':'t','op':'exists'}"));
    for (int i = 1; i < FILTER_DEPTH_MAX; i++)
        buf_add(&source, S("}"));
    Error error = { .arena = &arena };
    const Filter *filter = NULL;
    const Json *json = document(&arena, str_z(&arena, buf_str(&source)));
    CHECK(filter_compile(&arena, json, S(""), &filter, &error) == ERR_OK);
    CHECK(filter_matches(filter, &event, S(""), NULL) == (FILTER_DEPTH_MAX % 2 == 1));
}

static const Test tests[] = {
    TEST(the_published_cases_hold),
    TEST(the_published_refusals_hold),
    TEST(operators_compare_by_type),
    TEST(groups_combine_and_the_deciding_leaf_is_named),
    TEST(no_filter_is_always_true),
    TEST(a_miss_is_explained_in_words),
    TEST(a_bad_filter_is_refused_with_its_place),
    TEST(an_unknown_operator_is_answered_with_the_list),
    TEST(all_problems_are_found_at_once),
    TEST(a_filter_has_at_most_1000_parts),
    TEST(a_filter_may_be_as_deep_as_a_document),
};
TEST_MAIN(tests)
