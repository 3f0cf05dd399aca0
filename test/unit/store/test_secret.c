#include "store/secret.h"

#include "test.h"

// What store/secret.h promises, for a shape of its own: secrets in the open, in a list, in a map.

static const Field line = { NULL, FIELD_TEXT, .max = 20 };
static const Field fields[] = {
    { "url", FIELD_URL, FIELD_NEEDED, .max = 100 },
    { "word", FIELD_TEXT, FIELD_SECRET | FIELD_OVERLAPS, .max = 20 },
    { "headers", FIELD_MAP, FIELD_SECRET, .max = 5, .of = &line },
};
static const Shape shape = { "Config", SHAPE_ROWS(fields), .invalid = ERR_CHANNEL_INVALID };

#define URL "\"url\":\"http://x/?token=1\""

typedef struct Bench {
    Arena arena;
    KeyRing ring;
    Random random;
    Sealer sealer;
    Error error;
} Bench;

static void bench_open(Bench *bench)
{
    static const char key[MASTER_KEY_LEN] = "a key";
    *bench = (Bench){ .random = random_system() };
    CHECK(key_ring_add(&bench->ring, (Str){ key, sizeof key }, NULL) == ERR_OK);
    bench->sealer = (Sealer){ .arena = &bench->arena,
                              .ring = &bench->ring,
                              .random = &bench->random,
                              .now = 1000 * SPAN_DAY,
                              .owner = { S("channel"), 7, S("http:x") } };
}

static void bench_close(Bench *bench)
{
    arena_wipe(&bench->arena);
}

static const Json *parse(Bench *bench, Str text)
{
    const Json *json = NULL;
    CHECK(json_parse(&bench->arena, text, &json, NULL) == ERR_OK);
    return json;
}

// seal returns what is stored of given, and takes it for what there was before.
static Err seal(Bench *bench, const char *given)
{
    Str stored;
    bench->error = (Error){ .arena = &bench->arena };
    Err err = secret_seal(&bench->sealer, &shape, parse(bench, str_from(given)), S("/config"),
                          &stored, &bench->error);
    if (err == ERR_OK)
        bench->sealer.old = parse(bench, stored);
    return err;
}

static bool opens_to(Bench *bench, const char *expected)
{
    const Json *opened = NULL;
    Err err = secret_open(&bench->arena, &bench->ring, &bench->sealer.owner, bench->sealer.old,
                          &opened, &bench->error);
    return err == ERR_OK && str_eq(json_text(&bench->arena, opened), str_from(expected));
}

static bool shows(Bench *bench, const Shape *as, bool may_edit, const char *expected)
{
    Buf text = buf_new(&bench->arena, 1000);
    JsonOut out = json_out(&text);
    secret_show(&out, &bench->arena, as, bench->sealer.old, may_edit);
    return str_eq(buf_str(&text), str_from(expected));
}

static bool is_refused(const Bench *bench, const char *path, const char *code)
{
    return bench->error.count == 1 && str_eq(bench->error.problems[0].path, str_from(path)) &&
           strcmp(bench->error.problems[0].code, code) == 0;
}

#define BENCH(name)                                                                                \
    DEFER(bench_close) Bench name;                                                                 \
    bench_open(&name)

static void what_is_sealed_is_opened_by_its_owner_alone(void)
{
    BENCH(bench);
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\",\"headers\":{\"X\":\"1\"}}") == ERR_OK);
    CHECK(!str_contains(json_text(&bench.arena, bench.sealer.old), S("sesame")));
    CHECK(opens_to(&bench, "{" URL ",\"word\":\"sesame\",\"headers\":{\"X\":\"1\"}}"));
    bench.sealer.owner.tenant = 8;
    CHECK(!opens_to(&bench, "{" URL ",\"word\":\"sesame\",\"headers\":{\"X\":\"1\"}}"));
}

static void a_mark_is_shown_instead(void)
{
    BENCH(bench);
#define MARK "{\"set\":true,\"rotatedAt\":\"1972-09-27T00:00:00.000Z\"}"
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\",\"headers\":{\"X\":\"1\"}}") == ERR_OK);
    CHECK(shows(&bench, &shape, true, "{" URL ",\"word\":" MARK ",\"headers\":{\"X\":" MARK "}}"));
    CHECK(shows(&bench, &shape, false,
                "{\"url\":\"http://x/?…\",\"word\":" MARK ",\"headers\":{\"X\":" MARK "}}"));
    CHECK(shows(&bench, NULL, true, "{}"));
#undef MARK
}

static void a_secret_stays_until_it_is_named(void)
{
    BENCH(bench);
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\",\"headers\":{\"X\":\"1\"}}") == ERR_OK);
    const Json *before = json_get(bench.sealer.old, S("word"));
    bench.sealer.now += SPAN_DAY;
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\"}") == ERR_OK); // the same again is no change
    CHECK(str_eq(json_text(&bench.arena, json_get(bench.sealer.old, S("word"))),
                 json_text(&bench.arena, before)));
    CHECK(seal(&bench, "{" URL ",\"headers\":{\"Y\":\"2\"}}") == ERR_OK);
    CHECK(opens_to(&bench, "{" URL ",\"headers\":{\"Y\":\"2\"},\"word\":\"sesame\"}"));
    CHECK(seal(&bench, "{\"word\":{\"set\":true}," URL ",\"headers\":{\"Y\":{\"set\":true}}}") ==
          ERR_OK);
    CHECK(opens_to(&bench, "{\"word\":\"sesame\"," URL ",\"headers\":{\"Y\":\"2\"}}"));
    CHECK(seal(&bench, "{" URL ",\"word\":null}") == ERR_OK && opens_to(&bench, "{" URL "}"));
    CHECK(seal(&bench, "{" URL ",\"word\":\"again\"}") == ERR_OK);
    bench.sealer.drops_unnamed = true; // as a patch does, which has merged what stays
    CHECK(seal(&bench, "{" URL "}") == ERR_OK && opens_to(&bench, "{" URL "}"));
}

static void what_moved_takes_no_secret_with_it(void)
{
    BENCH(bench);
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\"}") == ERR_OK);
    bench.sealer.has_moved = true;
    CHECK(seal(&bench, "{" URL "}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/word", "secret-moved"));
    CHECK(seal(&bench, "{" URL ",\"word\":{\"set\":true}}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/word", "secret-moved"));
    CHECK(seal(&bench, "{" URL ",\"word\":null}") == ERR_OK);

    bench.sealer.has_moved = false;
    CHECK(seal(&bench, "{" URL ",\"headers\":{\"X\":\"1\"}}") == ERR_OK);
    bench.sealer.has_moved = true;
    CHECK(seal(&bench, "{" URL ",\"headers\":{\"X\":{\"set\":true}}}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/headers/X", "secret-moved"));
}

static void what_cannot_be_kept_or_sealed_is_refused(void)
{
    BENCH(bench);
    CHECK(seal(&bench, "{" URL ",\"word\":{\"set\":true}}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/word", "no-secret"));
    CHECK(seal(&bench, "{" URL ",\"word\":{\"$sealed\":\"x\"}}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/word", "bad-value"));
    CHECK(seal(&bench, "{" URL ",\"word\":7}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/word", "bad-type"));
    CHECK(seal(&bench, "{" URL ",\"wrod\":\"x\"}") == ERR_CHANNEL_INVALID);
    CHECK(is_refused(&bench, "/config/wrod", "unknown-member"));
    bench.sealer.is_foreign = true;
    CHECK(seal(&bench, "{" URL ",\"word\":\"sesame\"}") == ERR_CONFLICT);
    CHECK(seal(&bench, "{" URL "}") == ERR_OK);
}

static void what_is_rotated_keeps_its_last_value_for_a_while(void)
{
    BENCH(bench);
    CHECK(seal(&bench, "{" URL ",\"word\":\"one\"}") == ERR_OK);
    bench.sealer.overlap = SPAN_HOUR;
    CHECK(seal(&bench, "{" URL ",\"word\":\"two\"}") == ERR_OK);
    static const char both[] = "{" URL ",\"word\":\"two\",\"word/previous\":{\"value\":\"one\","
                               "\"until\":\"1972-09-27T01:00:00.000Z\"}}";
    CHECK(opens_to(&bench, both));
    CHECK(shows(&bench, &shape, true,
                "{" URL ",\"word\":{\"set\":true,\"rotatedAt\":\"1972-09-27T00:00:00.000Z\"}}"));
    bench.sealer.overlap = 0;
    CHECK(seal(&bench, "{" URL "}") == ERR_OK); // a change of something else leaves both
    CHECK(opens_to(&bench, both));
    CHECK(seal(&bench, "{" URL ",\"word\":{\"previous\":{\"$sealed\":\"x\"}}}") != ERR_OK);
    bench.sealer.now += SPAN_HOUR;
    CHECK(seal(&bench, "{" URL "}") == ERR_OK); // and after the overlap, only the one
    CHECK(opens_to(&bench, "{" URL ",\"word\":\"two\"}"));
}

static const Test tests[] = {
    TEST(what_is_sealed_is_opened_by_its_owner_alone),
    TEST(a_mark_is_shown_instead),
    TEST(a_secret_stays_until_it_is_named),
    TEST(what_moved_takes_no_secret_with_it),
    TEST(what_cannot_be_kept_or_sealed_is_refused),
    TEST(what_is_rotated_keeps_its_last_value_for_a_while),
};
TEST_MAIN(tests)
