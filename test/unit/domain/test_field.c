#include "domain/field.h"

#include "base/id.h"
#include "documents.h"
#include "domain/filter.h"

typedef struct Inner {
    Span per;
    int max;
    bool was_checked;
} Inner;

typedef struct Sample {
    Str text, either, key, path, url, remark;
    int word, number;
    bool truth, has_truth;
    int64_t count;
    double ratio;
    Span span;
    Instant at;
    Uuid id;
    const Filter *filter;
    Inner inner;
    const Json *object, *raw, *map, *any;
    const Str *names;
    size_t name_count;
    const Inner *inners;
    size_t inner_count;
    const Str *alone;
    size_t alone_count;
} Sample;

static void check_inner(const Members *members, void *value)
{
    Inner *inner = value;
    if (inner)
        inner->was_checked = true;
    if (json_get(members->object, S("max")) && !json_get(members->object, S("per")))
        members_note(members, S("max"), "bad-value", "needs \"per\"");
}

// clang-format off
static const Field inner_fields[] = {
    { "per", FIELD_SPAN, .offset = offsetof(Inner, per), .min = SPAN_SECOND, .max = SPAN_DAY },
    { "max", FIELD_INT, .offset = offsetof(Inner, max), .min = 1, .max = 10, .flags = FIELD_NEEDED },
};
static const Shape inner_shape = { "Inner", SHAPE_ROWS(inner_fields), .size = sizeof(Inner),
                                   .check = check_inner };
static const char *const words[] = { "none", "red", "green", NULL };
static const Field name_field = { NULL, FIELD_KEY, .max = 5 };
static const Field inner_field = { NULL, FIELD_OBJECT, .inside = &inner_shape };
static const Field value_field = { NULL, FIELD_TEXT, .max = 5, .flags = FIELD_EMPTY };

#define AT(member) .offset = offsetof(Sample, member)
static const Field fields[] = {
    { "id", FIELD_ID, AT(id) },
    { "text", FIELD_TEXT, AT(text), .max = 10, .help = "some text" },
    { "remark", FIELD_TEXT, AT(remark), .max = 10, .flags = FIELD_EMPTY },
    { "either", FIELD_TEXT_OR_NUMBER, AT(either), .max = 10 },
    { "eventKind", FIELD_KEY, AT(key), .max = 10, .flags = FIELD_NEEDED },
    { "kind", FIELD_KEY, .max = 10, .flags = FIELD_ALSO },
    { "path", FIELD_PATH, AT(path) },
    { "url", FIELD_URL, AT(url), .max = 30 },
    { "word", FIELD_WORD, AT(word), .words = words, .min = 1, .noun = "a colour", .code = "unknown-colour" },
    { "bool", FIELD_BOOL, AT(truth), .given = offsetof(Sample, has_truth), .flags = FIELD_ALWAYS },
    { "int", FIELD_INT, AT(number), .min = 0, .max = 10 },
    { "count", FIELD_COUNT, AT(count), .min = 0, .max = 10000000000 },
    { "ratio", FIELD_NUMBER, AT(ratio), .min = 0, .max = 1 },
    { "span", FIELD_SPAN, AT(span), .min = SPAN_SECOND, .max = SPAN_HOUR },
    { "time", FIELD_TIME, AT(at), .flags = FIELD_NULLABLE },
    { "filter", FIELD_FILTER, AT(filter) },
    { "inner", FIELD_OBJECT, AT(inner), .inside = &inner_shape },
    { "object", FIELD_OBJECT, AT(object) },
    { "raw", FIELD_OBJECT, AT(raw), .inside = &inner_shape, .flags = FIELD_RAW },
    { "map", FIELD_MAP, AT(map), .max = 2, .of = &value_field, .flags = FIELD_SECRET },
    { "any", FIELD_ANY, AT(any) },
    { "names", FIELD_LIST, AT(names), .count = offsetof(Sample, name_count), .min = 1, .max = 3, .of = &name_field },
    { "inners", FIELD_LIST, AT(inners), .count = offsetof(Sample, inner_count), .max = 2, .of = &inner_field },
    { "alone", FIELD_LIST, AT(alone), .count = offsetof(Sample, alone_count), .min = 1, .max = 2, .of = &name_field,
      .flags = FIELD_ALONE | FIELD_SECRET },
    { "version", FIELD_COUNT, .flags = FIELD_SHOWN | FIELD_NEEDED },
    { "password", FIELD_TEXT, .max = 10, AT(remark), .flags = FIELD_TAKEN },
};
// clang-format on

static const Shape shape = { "Sample", SHAPE_ROWS(fields), .size = sizeof(Sample),
                             .invalid = ERR_TRIGGER_INVALID };

static void every_kind_is_read_into_its_place(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Sample sample = { 0 };
    const Json *source = document(
        &arena,
        "{'id':'0197f4a0-0000-7000-8000-000000000001','text':'ab','remark':'','either':7,"
        "'eventKind':'a.B_1:-','path':'a.b','url':'https://x.test/','word':'green','bool':false,"
        "'int':3,'count':9999999999,'ratio':0.5,'span':'2m','time':'2026-05-14T05:12:34Z',"
        "'filter':{'path':'a','op':'exists'},'inner':{'per':'1m','max':2},'object':{'x':1},"
        "'raw':{'per':'1m','max':2},'map':{'a':'','b':'b'},'any':[1],'names':['a','b'],"
        "'inners':[{'per':'1s','max':1},{'per':'2s','max':2}],'alone':'one'}");
    CHECK(fields_read(&arena, source, S(""), &shape, &sample, &error) == ERR_OK);
    print_problems(&error);
    CHECK(sample.id.b[0] == 1 && sample.id.b[1] == 0x97 && is_text(sample.text, "ab"));
    CHECK(is_text(sample.remark, "") && is_text(sample.either, "7"));
    CHECK(is_text(sample.key, "a.B_1:-") && is_text(sample.path, "a.b"));
    CHECK(is_text(sample.url, "https://x.test/") && sample.word == 2);
    CHECK(!sample.truth && sample.has_truth && sample.number == 3 && sample.count == 9999999999);
    CHECK(sample.ratio > 0.4 && sample.ratio < 0.6 && sample.span == 2 * SPAN_MINUTE);
    CHECK(sample.at == (Instant) 1778735554 * SPAN_SECOND && sample.filter);
    CHECK(sample.inner.per == SPAN_MINUTE && sample.inner.max == 2 && sample.inner.was_checked);
    CHECK(json_count(sample.object) == 1 && json_count(sample.raw) == 2);
    CHECK(json_count(sample.map) == 2 && json_type(sample.any) == JSON_ARRAY);
    CHECK(sample.name_count == 2 && is_text(sample.names[1], "b"));
    CHECK(sample.inner_count == 2 && sample.inners[1].per == 2 * SPAN_SECOND);
    CHECK(sample.alone_count == 1 && is_text(sample.alone[0], "one"));
}

static void a_mistake_is_noted_at_its_place_and_leaves_the_default(void)
{
    static const struct {
        const char *source, *path, *code, *message;
    } cases[] = {
        { "'text':''", "/text", "bad-value", "must not be empty" },
        { "'text':'abcdefghijk'", "/text", "too-large", "may have 10 bytes, not 11" },
        { "'text':'a\\nb'", "/text", "bad-value", "must not contain control characters" },
        { "'text':5", "/text", "bad-type", "must be a string, not a number" },
        { "'either':true", "/either", "bad-type", NULL },
        { "'path':'a..b'", "/path", "bad-path", "a path has names between its dots" },
        { "'path':['a']", "/path", "bad-type", "must be a path, not an array" },
        { "'url':''", "/url", "bad-value", "must not be empty" },
        { "'word':'blue'", "/word", "unknown-colour",
          "\"blue\" is not a colour; use one of red green" },
        { "'word':'none'", "/word", "unknown-colour",
          "\"none\" is not a colour; use one of red green" },
        { "'word':1", "/word", "bad-type", "must be a string, not a number" },
        { "'bool':1", "/bool", "bad-type", "must be true or false, not a number" },
        { "'int':11", "/int", "bad-value", "must be a whole number from 0 to 10, not 11" },
        { "'int':1.5", "/int", "bad-value", "must be a whole number from 0 to 10, not 1.5" },
        { "'int':99999999999999999999", "/int", "bad-value",
          "must be a whole number from 0 to 10, not 99999999999999999999" },
        { "'int':'3'", "/int", "bad-type", "must be a number, not a string" },
        { "'count':-1", "/count", "bad-value",
          "must be a whole number from 0 to 10000000000, not -1" },
        { "'ratio':1.5", "/ratio", "bad-value", "must be a number from 0 to 1, not 1.5" },
        { "'ratio':-0.1", "/ratio", "bad-value", "must be a number from 0 to 1, not -0.1" },
        { "'ratio':'1'", "/ratio", "bad-type", "must be a number, not a string" },
        { "'span':'soon'", "/span", "bad-duration",
          "\"soon\" is not a duration; write 30s, 15m, 4h, 2d, 1w or 1d12h" },
        { "'span':'2h'", "/span", "bad-duration", "must be from 1s to 1h" },
        { "'span':60", "/span", "bad-type", "must be a duration such as \"15m\", not a number" },
        { "'time':'yesterday'", "/time", "bad-time",
          "\"yesterday\" is not a time; write it as 2026-05-14T05:12:34Z" },
        { "'id':'x'", "/id", "bad-value", "\"x\" is not an id" },
        { "'id':1", "/id", "bad-type", "must be an id, not a number" },
        { "'filter':{'path':'a','op':'~'}", "/filter/op", "unknown-op", NULL },
        { "'inner':{'per':'1m','max':11}", "/inner/max", "bad-value", NULL },
        { "'inner':{'per':'1m'}", "/inner/max", "missing-member", "\"max\" is needed" },
        { "'inner':{'max':1}", "/inner/max", "bad-value", "needs \"per\"" },
        { "'inner':{'max':1,'per':'1s','mix':1}", "/inner/mix", "unknown-member",
          "\"mix\" is not known here; did you mean \"max\"?" },
        { "'inner':5", "/inner", "bad-type", "must be an object, not a number" },
        { "'object':[]", "/object", "bad-type", "must be an object, not an array" },
        { "'raw':{'per':'1m','max':11}", "/raw/max", "bad-value", NULL },
        { "'map':{'a':1}", "/map/a", "bad-type", "must be a string, not a number" },
        { "'map':{'a':'','b':'','c':''}", "/map", "too-large", "may have 2 members, not 3" },
        { "'map':[]", "/map", "bad-type", "must be an object, not an array" },
        { "'names':[]", "/names", "bad-value", "must have 1 to 3 elements, not 0" },
        { "'names':'a'", "/names", "bad-type", "must be an array, not a string" },
        { "'names':['a','b c']", "/names/1", "bad-value",
          "may have letters, digits and . _ : - only" },
        { "'inners':[{'per':'1s','max':1},{'per':'x','max':1}]", "/inners/1/per", "bad-duration",
          NULL },
        { "'alone':5", "/alone", "bad-type", "must be a string, not a number" },
        { "'alone':['a','b','c']", "/alone", "bad-value", "must have 1 to 2 elements, not 3" },
        { "'txet':1", "/txet", "unknown-member",
          "\"txet\" is not known here; did you mean \"text\"?" },
        { "'version':1", "/version", "unknown-member", "\"version\" is not known here" },
        { "'colour/~':1", "/colour~1~0", "unknown-member", "\"colour/~\" is not known here" },
        { "'kind':'b'", "/kind", "bad-value", "is \"eventKind\" by another name; give one" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Sample sample = { .number = 5, .span = SPAN_HOUR, .at = INSTANT_NONE };
        Str text = str_format(&arena, "{'eventKind':'k',%s}", cases[i].source);
        Err err = fields_read(&arena, document(&arena, text.at), S(""), &shape, &sample, &error);
        CHECK_AT(cases[i].source, err == ERR_TRIGGER_INVALID && error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        if (cases[i].message)
            CHECK_AT(cases[i].source, is_text(error.problems[0].message, cases[i].message));
        CHECK_AT(cases[i].source, is_text(sample.key, "k") && !sample.text.at && !sample.word);
        CHECK_AT(cases[i].source, sample.number == 5 && sample.span == SPAN_HOUR);
        CHECK_AT(cases[i].source, sample.at == INSTANT_NONE && !sample.names && !sample.filter);
    }
}

static void null_is_as_good_as_absent(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Sample sample = { .number = 5 };
    const Json *source = document(&arena, "{'int':null,'eventKind':null,'bool':null}");
    CHECK(fields_read(&arena, source, S("/x"), &shape, &sample, &error) == ERR_TRIGGER_INVALID);
    CHECK(error.count == 1 && has_problem(&error, "/x/eventKind", "missing-member"));
    CHECK(sample.number == 5 && !sample.has_truth);
}

static void limits_are_included(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const char *const cases[] = {
        "{'eventKind':'azAZ09._:-','text':'0123456789','int':0,'span':'1s'}",
        "{'eventKind':'k','int':10,'span':'1h','ratio':0,'count':10000000000}",
        "{'eventKind':'k','names':['a','b','c'],'ratio':1,'inners':[]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Error error = { .arena = &arena };
        Sample sample = { 0 };
        const Json *source = document(&arena, cases[i]);
        CHECK_AT(cases[i], fields_read(&arena, source, S(""), &shape, &sample, &error) == ERR_OK);
    }
}

static void another_name_is_as_good(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Sample sample = { 0 };
    const Json *source = document(&arena, "{'kind':'k','eventKind':null}");
    CHECK(fields_read(&arena, source, S(""), &shape, &sample, &error) == ERR_OK);
    CHECK(is_text(sample.key, "k"));
    CHECK(fields_find(&shape, S("kind")) == fields_find(&shape, S("eventKind")));
    CHECK(!fields_find(&shape, S("version")) && !fields_find(&shape, S("nothing")));
}

static void what_is_no_object_is_refused_where_it_lies(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    CHECK(!fields_note(&arena, document(&arena, "[1]"), S("/rate"), &inner_shape, NULL, &error));
    CHECK(error.count == 1 && has_problem(&error, "/rate", "bad-type"));
    CHECK(fields_read(&arena, NULL, S(""), &inner_shape, NULL, NULL) == ERR_INVALID);
}

static void too_many_problems_are_counted_and_the_first_are_kept(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Buf text = buf_new(&arena, 10000);
    buf_add(&text, S("{'eventKind':'k','text':1"));
    for (int i = 0; i < 30; i++)
        buf_add_format(&text, ",'unknown%d':1", i);
    buf_add(&text, S("}"));
    Sample sample = { 0 };
    const Json *source = document(&arena, str_z(&arena, buf_str(&text)));
    CHECK(fields_read(&arena, source, S(""), &shape, &sample, &error) == ERR_TRIGGER_INVALID);
    CHECK(error.count == 31 && strcmp(error.detail, "31 problems") == 0);
    CHECK(has_problem(&error, "/unknown19", "unknown-member"));
    CHECK(!has_problem(&error, "/unknown20", "unknown-member"));
}

static void only_problems_of_its_own_count(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    error_add(&error, S("/other"), "bad-value", "noted by somebody else");
    const Json *source = document(&arena, "{'per':'1s','max':1}");
    CHECK(fields_read(&arena, source, S(""), &inner_shape, &(Inner){ 0 }, &error) == ERR_OK);
}

static void what_is_open_takes_other_members(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Shape open = inner_shape;
    open.is_open = true;
    const Json *source = document(&arena, "{'per':'1s','max':11,'other':1}");
    CHECK(fields_read(&arena, source, S(""), &open, NULL, &error) == ERR_INVALID);
    CHECK(error.count == 1 && has_problem(&error, "/max", "bad-value"));
}

static void what_has_two_names_is_written_under_one(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *source = document(&arena, "{'kind':'k','int':null,'other':{'kind':1},"
                                          "'inner':{'max':1,'per':null}}");
    static const char *const expected[] = {
        "{\"eventKind\":\"k\",\"other\":{\"kind\":1},\"inner\":{\"max\":1}}",
        "{\"eventKind\":\"k\",\"int\":null,\"other\":{\"kind\":1},\"inner\":{\"max\":1,\"per\":"
        "null}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        Buf text = buf_new(&arena, 1000);
        JsonOut out = json_out(&text);
        fields_write(&out, &arena, &shape, source, i == 1);
        CHECK_AT(expected[i], is_text(buf_str(&text), expected[i]));
    }
}

static const Json *schema_of(Arena *arena, const Shape *of, FieldUse use)
{
    Buf text = buf_new(arena, 1 << 20);
    JsonOut out = json_out(&text);
    fields_schema(&out, of, use);
    const Json *schema = NULL;
    CHECK(json_parse(arena, buf_str(&text), &schema, NULL) == ERR_OK);
    return schema;
}

static bool is_json(Arena *arena, const Json *value, const char *text)
{
    Str written = json_text(arena, value);
    bool same = str_eq(written, json_text(arena, document(arena, text)));
    if (!same)
        printf("# %.*s\n", STR_ARG(written));
    return same;
}

static void the_schema_of_a_row_says_what_is_taken(void)
{
    static const struct {
        const char *name, *schema;
    } cases[] = {
        { "id", "{'type':'string','format':'uuid'}" },
        { "text", "{'description':'some text','type':'string','minLength':1,'maxLength':10}" },
        { "remark", "{'type':'string','minLength':0,'maxLength':10}" },
        { "either", "{'type':['string','number']}" },
        { "kind", "{'description':'another name of eventKind','type':'string','minLength':1,"
                  "'maxLength':10,'pattern':'^[A-Za-z0-9._:-]+$'}" },
        { "path", "{'type':'string','minLength':1,'maxLength':200}" },
        { "url", "{'type':'string','minLength':1,'maxLength':30,'format':'uri'}" },
        { "word", "{'type':'string','enum':['red','green']}" },
        { "bool", "{'type':'boolean'}" },
        { "int", "{'type':'integer','minimum':0,'maximum':10}" },
        { "ratio", "{'type':'number','minimum':0,'maximum':1}" },
        { "time", "{'anyOf':[{'type':'string','format':'date-time'},{'type':'null'}]}" },
        { "filter", "{'$ref':'#/components/schemas/Filter'}" },
        { "object", "{'type':'object','additionalProperties':true}" },
        { "any", "{'description':'any JSON'}" },
        { "inner", "{'type':'object','properties':{'per':{'type':'string','pattern':"
                   "'^([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$'},'max':{'type':"
                   "'integer','minimum':1,'maximum':10}},'required':['max'],"
                   "'additionalProperties':false}" },
        { "map", "{'type':'object','maxProperties':2,'additionalProperties':{'anyOf':[{'type':"
                 "'string','minLength':0,'maxLength':5},{'$ref':'#/components/schemas/Secret'},"
                 "{'type':'null'}]}}" },
        { "alone", "{'anyOf':[{'type':'string','minLength':1,'maxLength':5,'pattern':"
                   "'^[A-Za-z0-9._:-]+$'},{'type':'array','minItems':1,'maxItems':2,'items':"
                   "{'type':'string','minLength':1,'maxLength':5,'pattern':"
                   "'^[A-Za-z0-9._:-]+$'}},{'$ref':'#/components/schemas/Secret'},"
                   "{'type':'null'}]}" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    const Json *schema = schema_of(&arena, &shape, FIELDS_TAKEN);
    const Json *properties = json_get(schema, S("properties"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].name,
                 is_json(&arena, json_get(properties, str_from(cases[i].name)), cases[i].schema));
    CHECK(json_get(properties, S("password")) && !json_get(properties, S("version")));
    // What has two names is required by neither.
    CHECK(!json_get(schema, S("required")));
    CHECK(json_type(json_get(schema, S("additionalProperties"))) == JSON_BOOL);
}

static void the_schema_of_an_answer_says_what_is_shown(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *schema = schema_of(&arena, &shape, FIELDS_SHOWN);
    const Json *properties = json_get(schema, S("properties"));
    CHECK(is_json(&arena, json_get(schema, S("required")), "['eventKind','bool','version']"));
    CHECK(!json_get(properties, S("kind")) && !json_get(properties, S("password")));
    CHECK(is_json(&arena, json_get(properties, S("alone")),
                  "{'anyOf':[{'$ref':'#/components/schemas/Secret'}]}"));
    CHECK(is_json(&arena, json_get(json_get(properties, S("map")), S("additionalProperties")),
                  "{'anyOf':[{'$ref':'#/components/schemas/Secret'}]}"));
}

static void the_schema_of_a_patch_needs_nothing_and_may_take_away(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *schema = schema_of(&arena, &shape, FIELDS_PATCHED);
    const Json *properties = json_get(schema, S("properties"));
    CHECK(!json_get(schema, S("required")) && !json_get(properties, S("version")));
    CHECK(is_json(&arena, json_get(properties, S("bool")),
                  "{'anyOf':[{'type':'boolean'},{'type':'null'}]}"));
    CHECK(is_json(&arena, json_get(properties, S("names")),
                  "{'anyOf':[{'type':'array','minItems':1,'maxItems':3,'items':{'type':'string',"
                  "'minLength':1,'maxLength':5,'pattern':'^[A-Za-z0-9._:-]+$'}},"
                  "{'type':'null'}]}"));
    const Json *inner = json_at(json_get(json_get(properties, S("inner")), S("anyOf")), 0);
    CHECK(!json_get(inner, S("required")) && json_get(inner, S("properties")));
}

static void the_components_are_json(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, 1 << 16);
    JsonOut out = json_out(&text);
    const Json *components = NULL;
    json_open(&out, '{');
    fields_components(&out);
    json_close(&out, '}');
    CHECK(json_parse(&arena, buf_str(&text), &components, NULL) == ERR_OK);
    CHECK(json_count(json_get(json_get(components, S("Filter")), S("anyOf"))) == 4);
    CHECK(json_get(components, S("Secret")));
}

static const Test tests[] = {
    TEST(every_kind_is_read_into_its_place),
    TEST(a_mistake_is_noted_at_its_place_and_leaves_the_default),
    TEST(null_is_as_good_as_absent),
    TEST(limits_are_included),
    TEST(another_name_is_as_good),
    TEST(what_is_no_object_is_refused_where_it_lies),
    TEST(too_many_problems_are_counted_and_the_first_are_kept),
    TEST(only_problems_of_its_own_count),
    TEST(what_is_open_takes_other_members),
    TEST(what_has_two_names_is_written_under_one),
    TEST(the_schema_of_a_row_says_what_is_taken),
    TEST(the_schema_of_an_answer_says_what_is_shown),
    TEST(the_schema_of_a_patch_needs_nothing_and_may_take_away),
    TEST(the_components_are_json),
};
TEST_MAIN(tests)
