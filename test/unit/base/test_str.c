#include "base/str.h"
#include "test.h"

static void texts_are_compared_as_bytes(void)
{
    static const struct {
        const char *a, *b;
        int order; // of a to b
        bool same_nocase;
    } rows[] = {
        { "", "", 0, true },
        { NULL, "", 0, true },
        { NULL, NULL, 0, true },
        { "a", "a", 0, true },
        { "a", "b", -1, false },
        { "a", "A", 1, true },
        { "ab", "a", 1, false },
        { "", "a", -1, false },
        { "\xc3\xa9", "z", 1, false },
        { "[", "{", -1, false },
        { "@", "`", -1, false },
        { "Content-TYPE", "content-type", -1, true },
        { "\xc3\x89", "\xc3\xa9", -1, false },
        { "AZ", "az", -1, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str a = str_from(rows[i].a), b = str_from(rows[i].b);
        int order = str_cmp(a, b), back = str_cmp(b, a);
        CHECK_AT(rows[i].b, (order > 0) - (order < 0) == rows[i].order);
        CHECK_AT(rows[i].b, (back > 0) - (back < 0) == -rows[i].order);
        CHECK_AT(rows[i].b, str_eq(a, b) == (rows[i].order == 0));
        CHECK_AT(rows[i].b, str_eq_nocase(a, b) == rows[i].same_nocase);
    }
    CHECK(!str_eq(S("a\0b"), S("a\0c")));
}

static void parts_are_found(void)
{
    static const struct {
        const char *s, *part;
        bool starts, ends, contains;
    } rows[] = {
        { "webhook", "web", true, false, true },
        { "webhook", "hook", false, true, true },
        { "webhook", "bho", false, false, true },
        { "webhook", "webhook", true, true, true },
        { "webhook", "webhooks", false, false, false },
        { "webhook", "", true, true, true },
        { NULL, NULL, true, true, true },
        { NULL, "a", false, false, false },
        { "webhook", "Web", false, false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str s = str_from(rows[i].s), part = str_from(rows[i].part);
        CHECK_AT(rows[i].part ? rows[i].part : "none", str_starts(s, part) == rows[i].starts);
        CHECK_AT(rows[i].part ? rows[i].part : "none", str_ends(s, part) == rows[i].ends);
        CHECK_AT(rows[i].part ? rows[i].part : "none", str_contains(s, part) == rows[i].contains);
    }
}

static void trim_takes_blanks_and_tabs_only(void)
{
    CHECK(str_eq(str_trim(S(" \t a b\t ")), S("a b")));
    CHECK(str_eq(str_trim(S("\na\r")), S("\na\r")));
    CHECK(str_trim(S(" \t ")).len == 0);
    CHECK(str_trim(STR_NONE).at == NULL);
}

static void skip_stops_at_the_end(void)
{
    CHECK(str_eq(str_skip(S("abc"), 1), S("bc")));
    CHECK(str_eq(str_skip(S("abc"), 3), S("")));
    CHECK(str_eq(str_skip(S("abc"), 4), S("")));
    CHECK(str_skip(STR_NONE, 4).at == NULL);
}

static void cut_visits_every_part(void)
{
    Str rest = S("a,,bc,");
    CHECK(str_eq(str_cut(&rest, ','), S("a")) && str_eq(rest, S(",bc,")));
    CHECK(str_eq(str_cut(&rest, ','), S("")));
    CHECK(str_eq(str_cut(&rest, ','), S("bc")) && rest.at && rest.len == 0);
    CHECK(str_eq(str_cut(&rest, ','), S("")) && !rest.at);
    CHECK(str_cut(&rest, ',').at == NULL);
}

static void numbers_are_read_whole_or_refused(void)
{
    static const struct {
        const char *text;
        int64_t min, max;
        bool ok;
        int64_t n;
    } rows[] = {
        { "0", 0, 10, true, 0 },
        { "10", 0, 10, true, 10 },
        { "11", 0, 10, false, 0 },
        { "-1", 0, 10, false, 0 },
        { "-5", -5, 10, true, -5 },
        { "-6", -5, 10, false, 0 },
        { "-0", 0, 10, true, 0 },
        { "007", 0, 10, true, 7 },
        { "", INT64_MIN, INT64_MAX, false, 0 },
        { NULL, 0, 10, false, 0 },
        { "-", INT64_MIN, INT64_MAX, false, 0 },
        { "+1", INT64_MIN, INT64_MAX, false, 0 },
        { "--1", INT64_MIN, INT64_MAX, false, 0 },
        { " 1", INT64_MIN, INT64_MAX, false, 0 },
        { "1 ", INT64_MIN, INT64_MAX, false, 0 },
        { "1.0", INT64_MIN, INT64_MAX, false, 0 },
        { "1e0", INT64_MIN, INT64_MAX, false, 0 },
        { "0x1", INT64_MIN, INT64_MAX, false, 0 },
        { "9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX },
        { "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
        { "-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN },
        { "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
        { "92233720368547758070", INT64_MIN, INT64_MAX, false, 0 },
        { "18446744073709551617", INT64_MIN, INT64_MAX, false, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t n = 77;
        bool ok = str_to_i64(str_from(rows[i].text), rows[i].min, rows[i].max, &n);
        CHECK_AT(rows[i].text ? rows[i].text : "none", ok == rows[i].ok);
        CHECK_AT(rows[i].text ? rows[i].text : "none", n == (rows[i].ok ? rows[i].n : 77));
    }
}

static void utf8_is_checked(void)
{
    static const struct {
        const char *text;
        size_t len;   // of text, up to its NUL when 0
        size_t first; // bytes of the first character
        bool ok;
    } rows[] = {
        { "", 0, 0, true },
        { "plain text of more than eight bytes", 0, 1, true },
        { "\xc3\xa9", 0, 2, true },
        { "\xe2\x82\xac", 0, 3, true },
        { "\xf0\x9f\x94\x94", 0, 4, true },
        { "eight by\xc3\xa9 and then eight", 0, 1, true },
        { "\xc2\x80", 0, 2, true },
        { "\xed\x9f\xbf", 0, 3, true },
        { "\xee\x80\x80", 0, 3, true },
        { "\xdf\xbf", 0, 2, true },
        { "\xe0\xa0\x80", 0, 3, true },
        { "\xef\xbf\xbf", 0, 3, true },
        { "\xf0\x90\x80\x80", 0, 4, true },
        { "\xf4\x8f\xbf\xbf", 0, 4, true },
        { "\xc0\x80", 0, 0, false },         // overlong NUL
        { "\xc1\xbf", 0, 0, false },         // overlong
        { "\xe0\x9f\xbf", 0, 0, false },     // overlong
        { "\xf0\x8f\xbf\xbf", 0, 0, false }, // overlong
        { "\xed\xa0\x80", 0, 0, false },     // surrogate
        { "\xf4\x90\x80\x80", 0, 0, false }, // above U+10FFFF
        { "\xf5\x80\x80\x80", 0, 0, false },
        { "\x80", 0, 0, false },
        { "\xc3", 0, 0, false },
        { "\xe2\x82", 0, 0, false },
        { "\xe2\x82\x41", 0, 0, false },
        { "\xf0\x9f\x94", 0, 0, false },
        { "\xff", 0, 0, false },
        { "good until the very last\xc3", 0, 1, false },
        { "a\0b", 3, 1, false },
        { "1234567\0", 8, 1, false },
        { "\0", 1, 1, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str s = { rows[i].text, rows[i].len ? rows[i].len : strlen(rows[i].text) };
        CHECK_AT(rows[i].text, str_is_utf8(s) == rows[i].ok);
        CHECK_AT(rows[i].text, str_utf8_len(s) == rows[i].first);
    }
    CHECK(str_is_utf8(STR_NONE));
}

static void control_characters_are_not_printable(void)
{
    for (int c = 0; c < 256; c++) {
        char text[] = { 'a', (char) c, 'b' };
        CHECK(str_is_printable((Str){ text, 3 }) == (c >= 0x20 && c != 0x7f));
    }
    CHECK(str_is_printable(STR_NONE));
}

static void hex_digits_have_values(void)
{
    CHECK(str_hex_value('0') == 0 && str_hex_value('9') == 9);
    CHECK(str_hex_value('a') == 10 && str_hex_value('f') == 15);
    CHECK(str_hex_value('A') == 10 && str_hex_value('F') == 15);
    for (const char *other = "/:@G`g \xff"; *other; other++)
        CHECK(str_hex_value(*other) == -1);
}

static void copies_end_with_a_nul(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    // Memory that was used before does not happen to hold a NUL.
    memset(arena_alloc(&arena, 1000), 'x', 1000);
    arena_reset(&arena);
    Str copy = str_dup(&arena, (Str){ "abcdef", 3 });
    CHECK(str_eq(copy, S("abc")) && copy.at[3] == '\0');
    Str empty = str_dup(&arena, STR_NONE);
    CHECK(empty.at && empty.len == 0 && empty.at[0] == '\0');
    CHECK(strcmp(str_z(&arena, (Str){ "abcdef", 2 }), "ab") == 0);
    CHECK(str_from(NULL).at == NULL && str_from("").at != NULL);
}

static void format_makes_texts_of_any_length(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(str_format(&arena, "%d-%s", 4, "x"), S("4-x")));
    CHECK(str_eq(str_format(&arena, "%.*s|", STR_ARG(STR_NONE)), S("|")));
    for (int len = 250; len < 262; len++) {
        Str s = str_format(&arena, "%*d", len, 7);
        CHECK(s.len == (size_t) len && s.at[len - 1] == '7' && s.at[len] == '\0');
        Buf buf = buf_new(&arena, 1000);
        buf_add_format(&buf, "%*d", len, 7);
        CHECK(str_eq(buf_str(&buf), s));
    }
}

static void texts_are_joined(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str joined = STR_JOIN(&arena, S("a: "), STR_NONE, S("b"), str_i64(&arena, INT64_MIN));
    CHECK(str_eq(joined, S("a: b-9223372036854775808")) && joined.at[joined.len] == '\0');
    Str none = STR_JOIN(&arena, S(""), STR_NONE);
    CHECK(none.at && none.len == 0 && none.at[0] == '\0');
}

static void hashes_differ(void)
{
    CHECK(str_hash(S("a")) == str_hash(S("a")));
    CHECK(str_hash(S("a")) != str_hash(S("b")));
    CHECK(str_hash(S("ab")) != str_hash(S("ba")));
    CHECK(str_hash(STR_NONE) == str_hash(S("")));
    // Near keys spread over the low bits that index a table.
    DEFER(arena_done) Arena arena = { 0 };
    int used[64] = { 0 }, worst = 0;
    for (int i = 0; i < 640; i++) {
        int slot = (int) (str_hash(str_format(&arena, "key%d", i)) % 64);
        worst = ++used[slot] > worst ? used[slot] : worst;
    }
    CHECK(worst < 30);
}

// fill_buf appends in all the ways there are; the text is 24 bytes long.
static void fill_buf(Buf *buf)
{
    buf_add(buf, S("ab"));
    buf_add(buf, STR_NONE);
    buf_add_char(buf, '-');
    buf_add_bytes(buf, "c\0d", 3);
    buf_add_i64(buf, -120);
    buf_add_format(buf, "<%s:%d>", "format", 12345);
}

static void a_buffer_holds_what_was_added(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Arena *arenas[] = { NULL, &arena };
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++) {
        DEFER(buf_done) Buf buf = buf_new(arenas[i], 24);
        fill_buf(&buf);
        CHECK(!buf.overflowed);
        CHECK(str_eq(buf_str(&buf), S("ab-c\0d-120<format:12345>")));
        buf_add_char(&buf, '!');
        CHECK(buf.overflowed && buf.len == 24);
    }
}

static void a_full_buffer_keeps_the_beginning(void)
{
    for (size_t max = 0; max < 24; max++) {
        DEFER(buf_done) Buf buf = buf_new(NULL, max);
        fill_buf(&buf);
        buf_add_char(&buf, '!');
        CHECK(buf.overflowed && buf.len <= max);
        CHECK(str_starts(S("ab-c\0d-120<format:12345>"), buf_str(&buf)));
        // It stays overflowed, even for what would fit.
        size_t len = buf.len;
        buf_add(&buf, S(""));
        buf_add_format(&buf, "%*d", 300, 1);
        CHECK(buf.overflowed && buf.len == len);
    }
}

static void a_buffer_grows(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Arena *arenas[] = { NULL, &arena };
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++) {
        DEFER(buf_done) Buf buf = buf_new(arenas[i], 1000000);
        for (int n = 0; n < 100000; n++) {
            buf_add_char(&buf, (char) ('a' + n % 26));
            if (n % 1000 == 0)
                arena_alloc(&arena, 8); // so that it cannot always grow in place
        }
        buf_add_format(&buf, "%*d", 5000, 7);
        CHECK(buf.len == 105000 && buf.at[104999] == '7' && !buf.overflowed);
        bool is_right = true;
        for (int n = 0; n < 100000; n++)
            is_right = is_right && buf.at[n] == (char) ('a' + n % 26);
        CHECK(is_right);
    }
}

static void a_buffer_may_be_filled_to_the_last_byte(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Arena *arenas[] = { NULL, &arena };
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++) {
        DEFER(buf_done) Buf buf = buf_new(arenas[i], 700);
        for (int n = 0; n < 400; n++)
            buf_add_char(&buf, 'a');
        buf_add_format(&buf, "%*d", 300, 7);
        CHECK(!buf.overflowed && buf.len == 700 && buf.at[699] == '7');
    }
}

static void an_empty_buffer_is_empty_text_and_not_none(void)
{
    Buf buf = buf_new(NULL, 10);
    CHECK(buf_str(&buf).at != NULL && buf_str(&buf).len == 0);
    buf_add_char(&buf, 'a');
    buf_done(&buf);
    CHECK(buf_str(&buf).at != NULL && buf_str(&buf).len == 0);
    buf_add_char(&buf, 'b');
    CHECK(str_eq(buf_str(&buf), S("b")));
    buf_done(&buf);
}

static void numbers_are_printed(void)
{
    static const struct {
        int64_t n;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 7, "7" },
        { -1, "-1" },
        { 1234567890, "1234567890" },
        { INT64_MAX, "9223372036854775807" },
        { INT64_MIN, "-9223372036854775808" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(buf_done) Buf buf = buf_new(NULL, 100);
        buf_add_i64(&buf, rows[i].n);
        CHECK_AT(rows[i].text, str_eq(buf_str(&buf), str_from(rows[i].text)));
    }
}

static void words_are_as_far_apart_as_their_edits(void)
{
    static const struct {
        Str a, b;
        size_t edits;
    } cases[] = {
        { S(""), S(""), 0 },
        { S("abc"), S("abc"), 0 },
        { S("abc"), S("ab"), 1 },
        { S("abc"), S("axc"), 1 },
        { S("abc"), S("acb"), 1 },
        { S("filter"), S("fitler"), 1 },
        { S("kind"), S("channel"), 6 },
        { S(""), S("abc"), 3 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_AT(cases[i].b.at, str_distance(cases[i].a, cases[i].b) == cases[i].edits);
        CHECK_AT(cases[i].b.at, str_distance(cases[i].b, cases[i].a) == cases[i].edits);
    }
    char longest[STR_DISTANCE_MAX + 1] = { 0 };
    CHECK(str_distance((Str){ longest, STR_DISTANCE_MAX + 1 }, S("a")) == SIZE_MAX);
    CHECK(str_distance((Str){ longest, STR_DISTANCE_MAX }, S("")) == STR_DISTANCE_MAX);
}

static void the_nearest_word_is_near(void)
{
    static const char *const known[] = { "state", "stage", "q", "channel" };
    CHECK(strcmp(str_nearest(S("stat"), known, ARRAY_LEN(known)), "state") == 0);
    CHECK(strcmp(str_nearest(S("chanell"), known, ARRAY_LEN(known)), "channel") == 0);
    CHECK(!str_nearest(S("x"), known, ARRAY_LEN(known))); // as far from q as it is long
    CHECK(!str_nearest(S("colour"), known, ARRAY_LEN(known)));
    CHECK(!str_nearest(S("state"), known, 0));
}

static const Test tests[] = {
    TEST(texts_are_compared_as_bytes),
    TEST(parts_are_found),
    TEST(trim_takes_blanks_and_tabs_only),
    TEST(skip_stops_at_the_end),
    TEST(cut_visits_every_part),
    TEST(numbers_are_read_whole_or_refused),
    TEST(utf8_is_checked),
    TEST(control_characters_are_not_printable),
    TEST(hex_digits_have_values),
    TEST(copies_end_with_a_nul),
    TEST(format_makes_texts_of_any_length),
    TEST(texts_are_joined),
    TEST(hashes_differ),
    TEST(a_buffer_holds_what_was_added),
    TEST(a_full_buffer_keeps_the_beginning),
    TEST(a_buffer_grows),
    TEST(a_buffer_may_be_filled_to_the_last_byte),
    TEST(an_empty_buffer_is_empty_text_and_not_none),
    TEST(numbers_are_printed),
    TEST(words_are_as_far_apart_as_their_edits),
    TEST(the_nearest_word_is_near),
};
TEST_MAIN(tests)
