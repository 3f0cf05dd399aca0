#include "intake/csv.h"

#include "test.h"

// Rows are told as LINE:FIELD|FIELD, or LINE!PROBLEM, a blank behind each.
static void tell(Buf *told, const CsvRow *row)
{
    buf_add_i64(told, row->line);
    if (row->problem)
        buf_add_format(told, "!%s", row->problem);
    for (size_t i = 0; i < row->count; i++) {
        buf_add_char(told, i == 0 ? ':' : '|');
        buf_add(told, row->fields[i]);
    }
    buf_add_char(told, ' ');
}

static Str read_all(Arena *arena, Str text, char delimiter)
{
    CsvRow row;
    CsvFound found;
    Buf told = buf_new(arena, BUF_WHOLE);
    CsvReader *reader = csv_new(arena, delimiter, 1);
    csv_give(reader, text, true);
    while ((found = csv_next(reader, &row)) == CSV_ROW)
        tell(&told, &row);
    CHECK(found == CSV_END && csv_taken(reader) == text.len);
    csv_done(reader);
    return buf_str(&told);
}

#define UNQUOTED                                                                                   \
    "!a quote stands inside a field that is not quoted, or text behind a closing quote "
#define UNCLOSED "!a quote is not closed "

typedef struct Case {
    const char *text, *told;
} Case;

static void check_all(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str told = read_all(&arena, str_from(cases[i].text), ',');
        CHECK_AT(cases[i].text, str_eq(told, str_from(cases[i].told)));
    }
}

static void rows_are_told_with_their_lines(void)
{
    static const Case cases[] = {
        { "", "" },
        { "\n\r\n\r  \n", "" },
        { "   ", "" },
        { "a,b\nc,d", "1:a|b 2:c|d " },
        { "a,b\r\nc,d\r\n", "1:a|b 2:c|d " },
        { "a\rb\rc", "1:a 2:b 3:c " },
        { "\n\n a , b \n\n\nc", "3:a|b 6:c " },
        { "   \n  \na", "3:a " },
        { ",\n", "1:| " },
        { "a,\n,b", "1:a| 2:|b " },
        { "\"\"\n", "1: " },
        { "\" a \",\"b\"\"c\"\n", "1: a |b\"c " },
        { "\"a\nb\r\nc\",d\ne", "1:a\nb\r\nc|d 4:e " },
        { "\xc3\xa4,\xd8\xb9\n", "1:\xc3\xa4|\xd8\xb9 " },
        { "a;b\tc\n", "1:a;b\tc " },
    };
    check_all(cases, ARRAY_LEN(cases));
}

static void a_row_that_cannot_be_read_costs_itself(void)
{
    static const Case cases[] = {
        { "a\nb\"c\nd", "1:a 2" UNQUOTED "3:d " },
        { "a\n\"b\"c\nd", "1:a 2" UNQUOTED "3:d " },
        { "a\n\"b\nc\nd", "1:a 2" UNCLOSED "3:c 4:d " },
        { "a\n\xff\nb", "1:a 2!it is not UTF-8, or has a NUL byte 3:b " },
        { "a\n\xc3\nb", "1:a 2!it is not UTF-8, or has a NUL byte 3:b " },
        { "\"", "1" UNCLOSED },
    };
    check_all(cases, ARRAY_LEN(cases));
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(read_all(&arena, (Str){ "a\0b\nc", 5 }, ','),
                 S("1!it is not UTF-8, or has a NUL byte 2:c ")));
}

// A character may not be made of two fields, though their bytes lie side by side.
static void each_field_is_text_by_itself(void)
{
    static const Case cases[] = { { "\xc3,\xa4\n", "1!it is not UTF-8, or has a NUL byte " } };
    check_all(cases, ARRAY_LEN(cases));
}

static Str repeat(Arena *arena, Str part, size_t count)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    for (size_t i = 0; i < count; i++)
        buf_add(&text, part);
    return buf_str(&text);
}

static void what_is_too_long_or_too_wide_costs_itself(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str wide = repeat(&arena, S(","), CSV_FIELDS_MAX);
    CHECK(str_eq(read_all(&arena, str_format(&arena, "%.*s\na", STR_ARG(wide)), ','),
                 S("1!it has too many fields 2:a ")));
    Str longest = repeat(&arena, S("x"), CSV_ROW_BYTES_MAX - 1);
    CHECK(read_all(&arena, str_format(&arena, "%.*s\na", STR_ARG(longest)), ',').len >
          CSV_ROW_BYTES_MAX);
    CHECK(str_eq(read_all(&arena, str_format(&arena, "xx%.*s\na", STR_ARG(longest)), ','),
                 S("1!it is too long, or a quote in it is not closed 2:a ")));
}

static void a_quote_that_is_never_closed_costs_its_row_alone(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str rest = repeat(&arena, S("row\n"), CSV_ROW_BYTES_MAX);
    Str told = read_all(&arena, str_format(&arena, "a,\"b\n%.*s", STR_ARG(rest)), ',');
    CHECK(str_starts(told, S("1!it is too long, or a quote in it is not closed 2:row 3:row ")));
    CHECK(str_ends(told, S(" 65537:row ")));
}

// cut_anywhere: a file that comes in two parts has the rows that it has in one.
static void a_text_may_be_cut_anywhere(void)
{
    static const char text[] = "a,b\r\n\"c\r\nd\",e\r\n\r\nf\"g\r\n\"h\n\ni\rj";
    DEFER(arena_done) Arena arena = { 0 };
    Str all = str_from(text), whole = read_all(&arena, all, ',');
    for (size_t cut = 0; cut <= all.len; cut++) {
        CsvRow row;
        CsvFound found;
        Buf told = buf_new(&arena, BUF_WHOLE);
        CsvReader *reader = csv_new(&arena, ',', 1);
        csv_give(reader, (Str){ text, cut }, false);
        while ((found = csv_next(reader, &row)) == CSV_ROW)
            tell(&told, &row);
        CHECK(found == CSV_MORE);
        csv_give(reader, str_skip(all, csv_taken(reader)), true);
        while (csv_next(reader, &row) == CSV_ROW)
            tell(&told, &row);
        CHECK_AT(str_z(&arena, buf_str(&told)), str_eq(buf_str(&told), whole));
        csv_done(reader);
    }
}

// read_by reads a text of which no more than so many bytes are given at once.
static Str read_by(Arena *arena, Str text, size_t most)
{
    CsvRow row;
    CsvFound found = CSV_MORE;
    Buf told = buf_new(arena, BUF_WHOLE);
    CsvReader *reader = csv_new(arena, ',', 1);
    for (size_t at = 0; found != CSV_END; at += csv_taken(reader)) {
        bool is_last = text.len - at <= most;
        csv_give(reader, (Str){ text.at + at, is_last ? text.len - at : most }, is_last);
        while ((found = csv_next(reader, &row)) == CSV_ROW)
            tell(&told, &row);
        CHECK(found == CSV_END || csv_taken(reader) > 0);
        if (found == CSV_MORE && csv_taken(reader) == 0)
            break;
    }
    csv_done(reader);
    return buf_str(&told);
}

#define TOO_LONG "2!it is too long, or a quote in it is not closed "

static void no_part_of_a_line_that_is_too_long_is_a_row(void)
{
    enum { MOST = 4 * CSV_ROW_BYTES_MAX };
    static const char *const parts[] = { "x", " ", "x," };
    for (size_t len = MOST - 2; len < 2 * MOST; len += CSV_ROW_BYTES_MAX / 2 + 1)
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
            DEFER(arena_done) Arena arena = { 0 };
            Str line = repeat(&arena, str_from(parts[i]), len);
            Str told =
                read_by(&arena, str_format(&arena, "a\n%.*sfalse\nb\n", STR_ARG(line)), MOST);
            CHECK(str_starts(told, S("1:a " TOO_LONG)) && str_ends(told, S(TOO_LONG "3:b ")));
            CHECK(!str_contains(told, S("false")));
        }
}

static void empty_lines_without_end_are_passed_over(void)
{
    enum { MOST = 4 * CSV_ROW_BYTES_MAX };
    static const char *const ends[] = { "\r", "\n", "\r\n" };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str lines = repeat(&arena, str_from(ends[i]), (size_t) 3 * MOST);
        Str told = read_by(&arena, str_format(&arena, "a\n%.*sb", STR_ARG(lines)), MOST);
        CHECK_AT(ends[i], str_eq(told, str_format(&arena, "1:a %d:b ", 3 * MOST + 2)));
    }
}

static void the_delimiter_is_found_in_the_first_line(void)
{
    static const struct {
        const char *text;
        char delimiter;
    } cases[] = {
        { "", ',' },           { "a", ',' },           { "a,b;c,d", ',' }, { "a;b\nc,d,e,f", ';' },
        { "a\tb\tc,d", '\t' }, { "\"a,b,c\";d", ';' }, { "a|b", '|' },     { "a;b,c", ',' },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].text, csv_delimiter(str_from(cases[i].text)) == cases[i].delimiter);
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(read_all(&arena, S("a\tb c\t\td"), '\t'), S("1:a|b c||d ")));
    CHECK(str_eq(csv_without_mark(S("\xef\xbb\xbf"
                                    "a")),
                 S("a")));
}

static void what_is_written_is_read_again(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, BUF_WHOLE);
    csv_add(&text, S(" a\"b\"\n"));
    buf_add_char(&text, ',');
    csv_add(&text, S(""));
    CHECK(str_eq(read_all(&arena, buf_str(&text), ','), S("1: a\"b\"\n| ")));
}

static const Test tests[] = {
    TEST(rows_are_told_with_their_lines),
    TEST(a_row_that_cannot_be_read_costs_itself),
    TEST(each_field_is_text_by_itself),
    TEST(what_is_too_long_or_too_wide_costs_itself),
    TEST(a_quote_that_is_never_closed_costs_its_row_alone),
    TEST(a_text_may_be_cut_anywhere),
    TEST(no_part_of_a_line_that_is_too_long_is_a_row),
    TEST(empty_lines_without_end_are_passed_over),
    TEST(the_delimiter_is_found_in_the_first_line),
    TEST(what_is_written_is_read_again),
};

TEST_MAIN(tests)
