#include "domain/dedup.h"

#include "documents.h"

static void the_published_cases_hold(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *file = case_file(&arena, "dedup.json");
    const Json *source = json_get(file, S("event"));
    Event event = event_of(&arena, source);
    Str template_id = json_str(json_get(source, S("templateId")));
    const Json *cases = json_get(file, S("cases"));
    CHECK(json_count(cases) >= 7);
    for (JsonIter it = json_each(cases); json_next(&it);) {
        Str paths[DEDUP_PATHS_MAX];
        size_t count = 0;
        for (JsonIter path = json_each(json_get(it.value, S("recipe"))); json_next(&path);)
            paths[count++] = json_str(path.value);
        Sha256 hash = dedup_hash(&arena, paths, count, &event, template_id);
        CHECK_AT(paths[0].at, str_eq(hex_text(&arena, hash.b, sizeof(hash.b)),
                                     json_str(json_get(it.value, S("expect")))));
    }
}

static Sha256 hash_of(Arena *arena, const char *payload, const char *path)
{
    Event event = event_of(arena, document(arena, payload));
    Str paths[] = { str_from(path) };
    return dedup_hash(arena, paths, 1, &event, S("t"));
}

static void values_are_written_as_the_recipe_says(void)
{
    static const struct {
        const char *payload, *path, *text;
    } cases[] = {
        { "{'payload':{'o':{'b':1,'a':[1, {'z':null,'y':'x'}]}}}", "candidate.o",
          "candidate.o={\"a\":[1,{\"y\":\"x\",\"z\":null}],\"b\":1}" },
        { "{'payload':{'l':[3, 1, 2]}}", "l", "l=[3,1,2]" },
        { "{'payload':{'n':1.50}}", "n", "n=1.50" },
        { "{'payload':{'n':9007199254740993}}", "n", "n=9007199254740993" },
        { "{'payload':{'b':false}}", "b", "b=false" },
        { "{'payload':{'s':'a\\u001fb='}}", "s",
          "s=a\x1f"
          "b=" },
        { "{'payload':{}}", "templateId", "templateId=t" },
        { "{'payload':{}}", "event.kind", "event.kind=visit-closed" },
        { "{'payload':{'n':null}}", "n", "n=" },
        { "{'payload':{}}", "n", "n=" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Sha256 got = hash_of(&arena, cases[i].payload, cases[i].path);
        Sha256 want = sha256(str_from(cases[i].text));
        CHECK_AT(cases[i].path, memcmp(got.b, want.b, sizeof(got.b)) == 0);
    }
}

static void the_order_of_keys_does_not_matter_but_that_of_paths_does(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Sha256 one = hash_of(&arena, "{'payload':{'o':{'a':1,'b':2}}}", "o");
    Sha256 two = hash_of(&arena, "{'payload':{'o':{'b':2,'a':1}}}", "o");
    CHECK(memcmp(one.b, two.b, sizeof(one.b)) == 0);

    Event event = event_of(&arena, document(&arena, "{'payload':{'a':'1','b':'1'}}"));
    Str forth[] = { S("a"), S("b") }, back[] = { S("b"), S("a") };
    one = dedup_hash(&arena, forth, 2, &event, STR_NONE);
    two = dedup_hash(&arena, back, 2, &event, STR_NONE);
    CHECK(memcmp(one.b, two.b, sizeof(one.b)) != 0);
    Sha256 want = sha256(S("a=1\x1f"
                           "b=1"));
    CHECK(memcmp(one.b, want.b, sizeof(one.b)) == 0);
}

static void a_key_is_half_a_hash_of_scope_and_hash(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Sha256 hash = sha256(S("candidate.wip=1"));
    Uuid event = dedup_key(DEDUP_SCOPE_EVENT, &hash), rule = dedup_key(0x0102030405060708, &hash);
    Buf whole = buf_new(&arena, 64);
    buf_add(&whole, S("\1\2\3\4\5\6\7\10"));
    buf_add(&whole, (Str){ (const char *) hash.b, sizeof hash.b });
    Sha256 expected = sha256(buf_str(&whole));
    CHECK(memcmp(rule.b, expected.b, sizeof rule.b) == 0);
    CHECK(uuid_cmp(rule, event) != 0);
}

static const Test tests[] = {
    TEST(the_published_cases_hold),
    TEST(values_are_written_as_the_recipe_says),
    TEST(the_order_of_keys_does_not_matter_but_that_of_paths_does),
    TEST(a_key_is_half_a_hash_of_scope_and_hash),
};
TEST_MAIN(tests)
