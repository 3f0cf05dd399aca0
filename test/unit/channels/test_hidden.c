#include "channels/hidden.h"

#include "test.h"

static const Field line = { NULL, FIELD_TEXT, .max = 100 };
static const Field fields[] = {
    { "url", FIELD_URL, FIELD_SECRET, .max = 100 },
    { "token", FIELD_TEXT, FIELD_SECRET | FIELD_OVERLAPS, .max = 100 },
    { "headers", FIELD_MAP, FIELD_SECRET, .max = 10, .of = &line },
    { "sender", FIELD_TEXT, .max = 100 },
};
static const Shape shape = { "Hidden", SHAPE_ROWS(fields), .invalid = ERR_INVALID };

// shown is what of an answer is kept where the channel has these settings.
static Str shown(Arena *arena, const char *config, Str authorization, const char *answer)
{
    const Json *settings;
    Header header = { S("Authorization"), authorization };
    Transfer transfer = { .headers = &header, .header_count = authorization.at ? 1 : 0 };
    CHECK(json_parse(arena, str_from(config), &settings, NULL) == ERR_OK);
    Hidden hidden = hidden_of(arena, &shape, settings, &transfer);
    return hidden_redact(arena, &hidden, str_from(answer));
}

static void what_is_secret_is_written_over(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const char config[] = "{\"token\":\"token-one\",\"sender\":\"sender-one\","
                                 "\"headers\":{\"x-key\":\"header-one\"},"
                                 "\"url\":\"https://chat.example/a-part-that-gives-the-right\"}";
    CHECK(str_eq(shown(&arena, config, STR_NONE, "token-one header-one sender-one"),
                 S("*** *** sender-one")));
    CHECK(str_eq(shown(&arena, config, STR_NONE, "no a-part-that-gives-the-right"), S("no ***")));
    CHECK(str_eq(shown(&arena, "{}", S("Basic bG9naW46d29yZA"), "bG9naW46d29yZA?"), S("***?")));
}

static void a_secret_that_was_rotated_is_still_one(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const char config[] = "{\"token\":\"token-two\","
                                 "\"token/previous\":{\"value\":\"token-one\",\"until\":\"later\"},"
                                 "\"sender/previous\":{\"value\":\"sender-one\"}}";
    CHECK(str_eq(shown(&arena, config, STR_NONE, "token-one, token-two, sender-one"),
                 S("***, ***, sender-one")));
}

static void settings_without_secrets_hide_nothing(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(shown(&arena, "{\"sender\":\"sender-one\"}", STR_NONE, "sender-one"),
                 S("sender-one")));
}

// A mark stands where a secret is set; one that somebody stored in the clear is not passed on.
static void what_is_tried_out_has_stand_ins(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const char config[] = "{\"token\":{\"set\":true},\"sender\":\"sender-one\","
                                 "\"headers\":{\"x-key\":{\"set\":true},\"x-bare\":\"bare\"},"
                                 "\"url\":{\"set\":true},\"other\":1}";
    const Json *marked, *bare;
    CHECK(json_parse(&arena, str_from(config), &marked, NULL) == ERR_OK);
    CHECK(json_parse(&arena, S("{\"token\":\"token-one\"}"), &bare, NULL) == ERR_OK);
    CHECK(
        str_eq(json_text(&arena, hidden_stand_ins(&arena, &shape, marked)),
               S("{\"token\":\"whsec_KioqKioqKioqKioqKioqKioqKioqKioq\",\"sender\":\"sender-one\","
                 "\"headers\":{\"x-key\":\"***\",\"x-bare\":\"***\"},"
                 "\"url\":\"https://***/\",\"other\":1}")));
    CHECK(str_eq(json_text(&arena, hidden_stand_ins(&arena, &shape, bare)), S("{\"token\":null}")));
}

static const Test tests[] = {
    TEST(what_is_secret_is_written_over),
    TEST(a_secret_that_was_rotated_is_still_one),
    TEST(settings_without_secrets_hide_nothing),
    TEST(what_is_tried_out_has_stand_ins),
};
TEST_MAIN(tests)
