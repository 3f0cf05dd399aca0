#include "base/json.h"
#include "test.h"

static const Json *parse(Arena *arena, Str text)
{
    const Json *value = NULL;
    Error error = { 0 };
    Err err = json_parse(arena, text, &value, &error);
    CHECK_AT(error.detail, err == ERR_OK);
    return value;
}

static void good_documents_are_read_and_written_compactly(void)
{
    static const struct {
        const char *text, *compact, *sorted; // NULL: as before
    } rows[] = {
        { "null", NULL, NULL },
        { "true", NULL, NULL },
        { " false\n", "false", NULL },
        { "\"a\"", NULL, NULL },
        { "-0", NULL, NULL },
        { "{}", NULL, NULL },
        { "[]", NULL, NULL },
        { "[ [ ] , { } ]", "[[],{}]", NULL },
        { "{\"b\":1,\"a\":[{\"d\":2,\"c\":3}]}", NULL, "{\"a\":[{\"c\":3,\"d\":2}],\"b\":1}" },
        { "{\"a\":1,\"\":2,\"B\":3,\"aa\":4}", NULL, "{\"\":2,\"B\":3,\"a\":1,\"aa\":4}" },
        { "{\"\xc3\xa9\":1,\"z\":2}", NULL, "{\"z\":2,\"\xc3\xa9\":1}" },
        { "[1,1.0,1.50,1E5,1e-400,-0.0,9007199254740993]", NULL, NULL },
        { "[123456789012345678901234567890.123456789]", NULL, NULL },
        { "\"\\u00e9\\ud83d\\udd14\\/\\u0041\"", "\"\xc3\xa9\xf0\x9f\x94\x94/A\"", NULL },
        { "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\x7f\"", NULL, NULL },
        { "{\"a\\u0022b\":\"<&>\"}", "{\"a\\\"b\":\"<&>\"}", NULL },
        { "{\"a\":{\"a\":{\"a\":1}}}", NULL, NULL },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *compact = rows[i].compact ? rows[i].compact : rows[i].text;
        const char *sorted = rows[i].sorted ? rows[i].sorted : compact;
        const Json *value = parse(&arena, str_from(rows[i].text));
        CHECK_AT(rows[i].text, str_eq(json_text(&arena, value), str_from(compact)));
        Buf buf = buf_new(&arena, 1000);
        json_write(&buf, value, true);
        CHECK_AT(rows[i].text, str_eq(buf_str(&buf), str_from(sorted)));
        arena_reset(&arena);
    }
}

static void bad_documents_are_refused(void)
{
    static const struct {
        const char *text;
        const char *detail; // a part of it
    } rows[] = {
        { "", "empty" },
        { "  ", "not JSON" },
        { "nul", "not JSON" },
        { "[1,]", "at byte 2" },
        { "{\"a\":1,}", "not JSON" },
        { "{a:1}", "at byte 1" },
        { "{'a':1}", "not JSON" },
        { "[1 2]", "at byte 3" },
        { "[1] x", "at byte 4" },
        { "{}{}", "at byte 2" },
        { "[1", "not JSON" },
        { "\"abc", "not JSON" },
        { "// c\n1", "not JSON" },
        { "NaN", "not JSON" },
        { "Infinity", "not JSON" },
        { "[01]", "not JSON" },
        { "[+1]", "not JSON" },
        { "[1.]", "not JSON" },
        { "[.5]", "not JSON" },
        { "[1e]", "not JSON" },
        { "[-]", "not JSON" },
        { "[0x10]", "not JSON" },
        { "\xef\xbb\xbf{}", "not JSON" },
        { "\"\t\"", "not JSON" },
        { "\"\\x\"", "not JSON" },
        { "\"\\ud800\"", "not JSON" },
        { "\"\\udc00\"", "not JSON" },
        { "\"\xff\"", "at byte 1" },
        { "\"\xc0\x80\"", "not JSON" },
        { "\"\xed\xa0\x80\"", "not JSON" },
        { "{\"\xc3\":1}", "not JSON" },
        { "[\"a\\u0000b\"]", "the string at byte 2 contains \\u0000" },
        { "{\"\\u0000\":1}", "the string at byte 2 contains \\u0000" },
        { "\"\\u0000\"", "\\u0000" },
        { "[1e400]", "the number at byte 1 is too large" },
        { "-1E400", "too large" },
        { "[1, 1e309]", "at byte 4" },
        { "12345678901234567890123456789012345678901234567890123456789012345", "64 characters" },
        { "[0.1234567890123456789012345678901234567890123456789012345678901234]", "byte 1" },
        { "{\"a\":1,\"a\":2}", "the key at byte 8 stands twice" },
        { "{\"a\":1,\"b\":[],\"\\u0061\":2}", "twice" },
        { "[{\"b\":{\"a\":1,\"c\":{},\"a\":2}}]", "twice" },
        { "{\"\":1,\"\":1}", "twice" },
        { "{\n\"a\":\n}", "at byte 7 (line 3)" },
        { "[\n\n1e400]", "the number at byte 3 is too large (line 3)" },
        { "{\"a\":\"\\n\",\n\"a\":2}", "stands twice in its object (line 2)" },
        { "[\"\\n\\n\",\n\"\\u0000\"]", "which cannot be stored (line 2)" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    static const Json *const untouched;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const Json *value = untouched;
        Error error = { 0 };
        CHECK_AT(rows[i].text,
                 json_parse(&arena, str_from(rows[i].text), &value, &error) == ERR_MALFORMED);
        CHECK_AT(error.detail, str_contains(str_from(error.detail), str_from(rows[i].detail)));
        CHECK_AT(rows[i].text, error.err == ERR_MALFORMED && value == untouched);
        CHECK_AT(rows[i].text,
                 json_parse(&arena, str_from(rows[i].text), &value, NULL) == ERR_MALFORMED);
    }
    const Json *value;
    CHECK(json_parse(&arena, S("{}\0"), &value, NULL) == ERR_MALFORMED);
    CHECK(json_parse(&arena, S("[\0]"), &value, NULL) == ERR_MALFORMED);
    CHECK(json_parse(&arena, S("\"\0\""), &value, NULL) == ERR_MALFORMED);
    CHECK(json_parse(&arena, STR_NONE, &value, NULL) == ERR_MALFORMED);
}

static void a_number_may_have_64_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str number = S("1234567890123456789012345678901234567890123456789012345678901234");
    const Json *value = parse(&arena, number);
    CHECK(str_eq(json_number_text(value), number));
    CHECK(json_double(value) > 1.2345e63 && json_double(value) < 1.2346e63);
}

// nest builds depth levels of objects and arrays by turns, with brackets in strings beside.
static Str nest(Arena *arena, int depth)
{
    Buf buf = buf_new(arena, 100000);
    for (int i = 0; i < depth; i++)
        buf_add(&buf, i % 2 == 0 ? S("[\"{{\\\"\",[],") : S("{\"a\":"));
    buf_add_char(&buf, '1');
    for (int i = depth - 1; i >= 0; i--)
        buf_add_char(&buf, i % 2 == 0 ? ']' : '}');
    return buf_str(&buf);
}

static void depth_has_a_limit(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *value = NULL;
    Str deepest = nest(&arena, JSON_DEPTH_MAX - 1);
    CHECK(json_parse(&arena, deepest, &value, NULL) == ERR_OK);
    CHECK(str_eq(json_text(&arena, value), deepest));
    CHECK(json_parse(&arena, nest(&arena, JSON_DEPTH_MAX), &value, NULL) == ERR_OK);
    Error error = { 0 };
    Str deeper = nest(&arena, JSON_DEPTH_MAX + 1);
    CHECK(json_parse(&arena, deeper, &value, &error) == ERR_MALFORMED);
    // Sixteen arrays and sixteen objects are open before the bracket that is one too many.
    Str expected = str_format(&arena, "deeper than 32 levels at byte %d", 16 * (11 + 5));
    CHECK_AT(error.detail, str_ends(str_from(error.detail), expected));
    char *brackets = arena_alloc(&arena, 1000000);
    memset(brackets, '[', 1000000);
    CHECK(json_parse(&arena, (Str){ brackets, 1000000 }, &value, NULL) == ERR_MALFORMED);
    memset(brackets + 500000, ']', 500000);
    CHECK(json_parse(&arena, (Str){ brackets, 1000000 }, &value, NULL) == ERR_MALFORMED);
}

static Str wide_object(Arena *arena, int count, int repeated)
{
    Buf buf = buf_new(arena, 10000000);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    for (int i = 0; i < count; i++)
        json_put_i64(&out, str_format(arena, "key%d", (i * 7919) % count), i);
    if (repeated >= 0)
        json_put_null(&out, str_format(arena, "key%d", repeated));
    json_close(&out, '}');
    return buf_str(&buf);
}

static void duplicates_are_found_in_objects_of_any_size(void)
{
    static const int counts[] = { 1, 2, 15, 16, 17, 18, 100, 5000 };
    DEFER(arena_done) Arena arena = { 0 };
    const Json *value = NULL;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        Str good = wide_object(&arena, counts[i], -1);
        CHECK(json_parse(&arena, good, &value, NULL) == ERR_OK);
        CHECK(json_count(value) == (size_t) counts[i]);
        for (int repeated = 0; repeated < counts[i]; repeated += 1 + counts[i] / 20) {
            Str bad = wide_object(&arena, counts[i], repeated);
            Error error = { 0 };
            CHECK(json_parse(&arena, bad, &value, &error) == ERR_MALFORMED);
            // The later of the two is named: the last member, whose value is null.
            Str name = str_format(&arena, "key%d\":null}", repeated);
            Str where = str_format(&arena, "at byte %zu ", bad.len - name.len);
            CHECK_AT(error.detail, str_contains(str_from(error.detail), where));
        }
        arena_reset(&arena);
    }
}

static void a_large_object_is_not_compared_all_with_all(void)
{
    // All with all would be twenty thousand million comparisons: this test would not end.
    DEFER(arena_done) Arena arena = { 0 };
    const Json *value = NULL;
    CHECK(json_parse(&arena, wide_object(&arena, 200000, -1), &value, NULL) == ERR_OK);
    CHECK(json_count(value) == 200000);
}

static void large_objects_are_sorted_too(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *value = parse(&arena, wide_object(&arena, 100, -1));
    Buf buf = buf_new(&arena, 100000);
    json_write(&buf, value, true);
    Str last = S("");
    const Json *sorted = parse(&arena, buf_str(&buf));
    for (JsonIter it = json_each(sorted); json_next(&it);) {
        CHECK(str_cmp(last, it.key) < 0);
        CHECK(str_eq(json_number_text(it.value), json_number_text(json_get(value, it.key))));
        last = it.key;
    }
    CHECK(json_count(sorted) == 100);
}

static void the_text_is_neither_changed_nor_kept(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    char text[] = "{\"a\":\"b\\n\",\"n\":12}";
    char before[sizeof text];
    memcpy(before, text, sizeof text);
    const Json *value = parse(&arena, str_from(text));
    CHECK(memcmp(text, before, sizeof text) == 0);
    memset(text, 'x', sizeof text);
    CHECK(str_eq(json_text(&arena, value), str_from(before)));
}

static void types_are_told_apart(void)
{
    static const struct {
        const char *text;
        JsonType type;
        const char *name;
        size_t count;
    } rows[] = {
        { "null", JSON_NULL, "null", 0 },
        { "true", JSON_BOOL, "a boolean", 0 },
        { "false", JSON_BOOL, "a boolean", 0 },
        { "1", JSON_NUMBER, "a number", 0 },
        { "\"abc\"", JSON_STRING, "a string", 0 },
        { "[1,[2,3],4]", JSON_ARRAY, "an array", 3 },
        { "{\"a\":{\"b\":1},\"c\":2}", JSON_OBJECT, "an object", 2 },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const Json *value = parse(&arena, str_from(rows[i].text));
        CHECK_AT(rows[i].text, json_type(value) == rows[i].type);
        CHECK_AT(rows[i].text, strcmp(json_type_name(rows[i].type), rows[i].name) == 0);
        CHECK_AT(rows[i].text, json_count(value) == rows[i].count);
        CHECK_AT(rows[i].text, (json_str(value).at != NULL) == (rows[i].type == JSON_STRING));
        CHECK_AT(rows[i].text,
                 (json_number_text(value).at != NULL) == (rows[i].type == JSON_NUMBER));
        CHECK_AT(rows[i].text, json_bool(value) == (i == 1));
        CHECK_AT(rows[i].text, rows[i].type == JSON_OBJECT || !json_get(value, S("a")));
        CHECK_AT(rows[i].text, rows[i].type == JSON_ARRAY || !json_at(value, 0));
    }
}

static void nothing_is_accepted_everywhere(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    int64_t n = 7;
    CHECK(json_type(NULL) == JSON_ABSENT && strcmp(json_type_name(JSON_ABSENT), "nothing") == 0);
    CHECK(!json_get(NULL, S("a")) && !json_at(NULL, 0) && json_count(NULL) == 0);
    CHECK(!json_str(NULL).at && !json_bool(NULL) && json_double(NULL) == 0);
    CHECK(!json_i64(NULL, &n) && n == 7 && !json_number_text(NULL).at);
    JsonIter it = json_each(NULL);
    CHECK(!json_next(&it));
    CHECK(str_eq(json_text(&arena, NULL), S("null")));
}

static void members_and_elements_are_found(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *value = parse(&arena, S("{\"a\":[10,[20],30],\"ab\":{\"x\":\"y\"},\"\":null}"));
    const Json *array = json_get(value, S("a"));
    CHECK(str_eq(json_number_text(json_at(array, 0)), S("10")));
    CHECK(str_eq(json_number_text(json_at(array, 2)), S("30")));
    CHECK(!json_at(array, 3));
    CHECK(str_eq(json_str(json_get(json_get(value, S("ab")), S("x"))), S("y")));
    CHECK(json_type(json_get(value, S(""))) == JSON_NULL);
    CHECK(!json_get(value, S("b")) && !json_get(value, S("abc")) && !json_get(value, STR_NONE));
    // A key is a slice: what stands behind it does not count.
    CHECK(json_get(value, (Str){ "abc", 2 }) != NULL);
}

static void iteration_visits_everything_in_order(void)
{
    static const struct {
        const char *text, *visited;
    } rows[] = {
        { "{}", "" },
        { "[]", "" },
        { "7", "" },
        { "[1,[2,3],{\"a\":4}]", "=1 =[2,3] ={\"a\":4} " },
        { "{\"b\":1,\"a\":{\"c\":2},\"d\":[]}", "b=1 a={\"c\":2} d=[] " },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Buf buf = buf_new(&arena, 1000);
        JsonIter it = json_each(parse(&arena, str_from(rows[i].text)));
        while (json_next(&it)) {
            buf_add(&buf, it.key);
            buf_add_char(&buf, '=');
            json_write(&buf, it.value, false);
            buf_add_char(&buf, ' ');
        }
        CHECK_AT(rows[i].text, str_eq(buf_str(&buf), str_from(rows[i].visited)));
        CHECK_AT(rows[i].text, !json_next(&it) && !it.value && !it.key.at);
    }
}

static void numbers_are_converted(void)
{
    static const struct {
        const char *text;
        double d;
        bool whole;
        int64_t n;
    } rows[] = {
        { "0", 0, true, 0 },
        { "-0", 0, true, 0 },
        { "3", 3, true, 3 },
        { "-17", -17, true, -17 },
        { "3.0", 3, false, 0 },
        { "3e0", 3, false, 0 },
        { "0.1", 0.1, false, 0 },
        { "-1.5E3", -1500, false, 0 },
        { "1e308", 1e308, false, 0 },
        { "1e-400", 0, false, 0 },
        { "9007199254740993", 9007199254740992, true, 9007199254740993 },
        { "9223372036854775807", 9223372036854775808.0, true, INT64_MAX },
        { "9223372036854775808", 9223372036854775808.0, false, 0 },
        { "-9223372036854775808", -9223372036854775808.0, true, INT64_MIN },
        { "-9223372036854775809", -9223372036854775808.0, false, 0 },
        { "18446744073709551615", 18446744073709551616.0, false, 0 },
        { "100000000000000000000", 1e20, false, 0 },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const Json *value = json_at(parse(&arena, str_format(&arena, "[%s,1]", rows[i].text)), 0);
        int64_t n = 77;
        CHECK_AT(rows[i].text, json_double(value) == rows[i].d);
        CHECK_AT(rows[i].text, json_i64(value, &n) == rows[i].whole);
        CHECK_AT(rows[i].text, n == (rows[i].whole ? rows[i].n : 77));
        CHECK_AT(rows[i].text, str_eq(json_number_text(value), str_from(rows[i].text)));
    }
}

static void writing_puts_the_commas(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf buf = buf_new(&arena, 1000);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("s"), S("x"));
    json_put_str(&out, S("none"), STR_NONE);
    json_put_str(&out, S("empty"), S(""));
    json_put_i64(&out, S("n"), INT64_MIN);
    json_put_bool(&out, S("t"), true);
    json_put_bool(&out, S("f"), false);
    json_put_null(&out, S("z"));
    json_put_raw(&out, S("r"), S("[1.50]"));
    json_put_raw(&out, S("r0"), STR_NONE);
    json_put_stored(&out, S("k"), S("{\"a\":1}"));
    json_put_stored(&out, S("k0"), S("{\"half"));
    json_put_time(&out, S("at"), 1778735554000000);
    json_put_time(&out, S("never"), INSTANT_NONE);
    json_put_id(&out, S("id"), (Uuid){ { 1 } });
    json_put_id(&out, S("nobody"), (Uuid){ 0 });
    json_key(&out, S("a"));
    json_open(&out, '[');
    json_add_i64(&out, 1);
    json_open(&out, '[');
    json_close(&out, ']');
    json_open(&out, '{');
    json_close(&out, '}');
    json_add_str(&out, S("y"));
    json_add_bool(&out, true);
    json_add_null(&out);
    json_add_raw(&out, S("{}"));
    json_add_time(&out, 0);
    json_close(&out, ']');
    json_put_i64(&out, S("last"), 0);
    json_close(&out, '}');
    CHECK_AT(
        str_z(&arena, buf_str(&buf)),
        str_eq(buf_str(&buf),
               S("{\"s\":\"x\",\"none\":null,\"empty\":\"\",\"n\":-9223372036854775808,\"t\":true,"
                 "\"f\":false,\"z\":null,\"r\":[1.50],\"r0\":null,"
                 "\"k\":{\"a\":1},\"k0\":null,"
                 "\"at\":\"2026-05-14T05:12:34.000Z\",\"never\":null,"
                 "\"id\":\"01000000-0000-0000-0000-000000000000\",\"nobody\":null,"
                 "\"a\":[1,[],{},\"y\",true,null,{},\"1970-01-01T00:00:00.000Z\"],\"last\":0}")));
    parse(&arena, buf_str(&buf));
}

static void strings_are_escaped(void)
{
    static const struct {
        Str s;
        const char *text;
    } rows[] = {
        { { "a\"b\\c/d", 7 }, "\"a\\\"b\\\\c/d\"" },
        { { "\b\f\n\r\t", 5 }, "\"\\b\\f\\n\\r\\t\"" },
        { { "\x01\x1f\x7f", 3 }, "\"\\u0001\\u001f\x7f\"" },
        { { "a\0b", 3 }, "\"a\\u0000b\"" },
        { { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94", 9 },
          "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94\"" },
        { { "a\xff\xc3", 3 }, "\"a\xef\xbf\xbd\xef\xbf\xbd\"" },
        { { "\xc3\xa9 \"", 4 }, "\"\xc3\xa9 \\\"\"" },
        { { "\x80", 1 }, "\"\xef\xbf\xbd\"" },
        { { "\xc3(", 2 }, "\"\xef\xbf\xbd(\"" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Buf buf = buf_new(&arena, 1000);
        JsonOut out = json_out(&buf);
        json_open(&out, '{');
        json_put_str(&out, rows[i].s, rows[i].s);
        json_close(&out, '}');
        Str expected = str_format(&arena, "{%s:%s}", rows[i].text, rows[i].text);
        CHECK_AT(rows[i].text, str_eq(buf_str(&buf), expected));
    }
}

static void writing_stops_at_the_ceiling(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str text = S("{\"a\":[1,2,3],\"b\":\"c\\nd\"}");
    const Json *value = parse(&arena, text);
    for (size_t max = 0; max <= text.len; max++) {
        DEFER(buf_done) Buf buf = buf_new(NULL, max);
        json_write(&buf, value, false);
        CHECK(buf.overflowed == (max < text.len) && str_starts(text, buf_str(&buf)));
    }
}

// The cases are those of RFC 7396, appendix A, and what a definition adds to them.
static void a_merge_patch_changes_what_it_names(void)
{
    static const struct {
        const char *target, *patch, *merged;
    } cases[] = {
        { "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
        { "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
        { "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
        { "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
        { "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
        { "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
        { "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
        { "{\"a\":\"foo\"}", "null", "null" },
        { "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"" },
        { "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
        { "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
        { "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
        { "{\"n\":9007199254740993,\"m\":1.0}", "{\"m\":1.50}",
          "{\"n\":9007199254740993,\"m\":1.50}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Buf buf = buf_new(&arena, 1000);
        JsonOut out = json_out(&buf);
        json_merge(&out, parse(&arena, str_from(cases[i].target)),
                   parse(&arena, str_from(cases[i].patch)));
        CHECK_AT(cases[i].patch, str_eq(buf_str(&buf), str_from(cases[i].merged)));
    }
}

static void strings_that_cannot_be_kept_are_mended(void)
{
#define MARK "\xef\xbf\xbd"
    static const struct {
        const char *text, *mended; // NULL: there is nothing to mend
    } cases[] = {
        { "", NULL },
        { "{\"a\":\"\\u00e9 \\ud83d\\udd14 \xc3\xa9\"}", NULL },
        { "\"a\\u0000b\"", "\"a" MARK "b\"" },
        { "\"\\ud83d\"", "\"" MARK "\"" },
        { "\"\\uDD14\"", "\"" MARK "\"" },
        { "\"\\ud83d\\ud83d\\udd14\"", "\"" MARK "\\ud83d\\udd14\"" },
        { "\"\\udd14\\ud83d\"", "\"" MARK MARK "\"" },
        { "\"\\\\u0000 \\\\ud83d\"", NULL }, // a backslash and five letters
        { "\"\\\\\\u0000\"", "\"\\\\" MARK "\"" },
        { "\"\xff\xc3\xa9\xed\xa0\x80\"", "\"" MARK "\xc3\xa9" MARK MARK MARK "\"" },
        { "\"\\u00\"", NULL },
        { "\"\\", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const char *expected = cases[i].mended ? cases[i].mended : cases[i].text;
        const Json *json;
        Str mended;
        CHECK_AT(cases[i].text,
                 json_mend(&arena, str_from(cases[i].text), &mended) == (cases[i].mended != NULL));
        CHECK_AT(cases[i].text, str_eq(mended, str_from(expected)));
        if (cases[i].mended)
            CHECK_AT(cases[i].text, json_parse(&arena, mended, &json, NULL) == ERR_OK);
    }
}

static void each_value_has_its_line(void)
{
    static const char text[] = "{\"a\" :\r\n 1, \"b\":[true,\n-2.5e3 ,\"x\\\":,\\\\\"],\n"
                               "\"c\":{\"d\"\n:null}}";
    static const uint32_t expected[] = { 1, 2, 2, 2, 3, 3, 4, 5 };
    DEFER(arena_done) Arena arena = { 0 };
    size_t count;
    (void) parse(&arena, str_from(text));
    const uint32_t *lines = json_lines(&arena, str_from(text), &count);
    CHECK(count == ARRAY_LEN(expected) && memcmp(lines, expected, sizeof expected) == 0);
    lines = json_lines(&arena, S(" \n7"), &count);
    CHECK(count == 1 && lines[0] == 2);
}

static void a_pointer_goes_below_another(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(json_below(&arena, S(""), S("a")), S("/a")));
    CHECK(str_eq(json_below(&arena, S("/a"), S("~/")), S("/a/~0~1")));
    CHECK(str_eq(json_below(&arena, S("/a"), S("")), S("/a/")));
}

static const Test tests[] = {
    TEST(good_documents_are_read_and_written_compactly),
    TEST(bad_documents_are_refused),
    TEST(a_number_may_have_64_characters),
    TEST(depth_has_a_limit),
    TEST(duplicates_are_found_in_objects_of_any_size),
    TEST(a_large_object_is_not_compared_all_with_all),
    TEST(large_objects_are_sorted_too),
    TEST(the_text_is_neither_changed_nor_kept),
    TEST(types_are_told_apart),
    TEST(nothing_is_accepted_everywhere),
    TEST(members_and_elements_are_found),
    TEST(iteration_visits_everything_in_order),
    TEST(numbers_are_converted),
    TEST(writing_puts_the_commas),
    TEST(strings_are_escaped),
    TEST(writing_stops_at_the_ceiling),
    TEST(a_merge_patch_changes_what_it_names),
    TEST(strings_that_cannot_be_kept_are_mended),
    TEST(each_value_has_its_line),
    TEST(a_pointer_goes_below_another),
};
TEST_MAIN(tests)
