#include "net/guard.h"
#include "test.h"

static void targets_are_decoded_or_refused(void)
{
    static const struct {
        const char *target, *path, *name, *value; // path NULL: refused
    } cases[] = {
        { "/", "/", NULL, NULL },
        { "/v1/events", "/v1/events", NULL, NULL },
        { "/a%20b%2Fc", "/a b/c", NULL, NULL },
        { "/a+b", "/a+b", NULL, NULL },
        { "/%C3%A4", "/\xc3\xa4", NULL, NULL },
        { "/x?", "/x", NULL, NULL },
        { "/x?a=1", "/x", "a", "1" },
        { "/x?&&a=1", "/x", "a", "1" },
        { "/x?a", "/x", "a", "" },
        { "/x?a=b=c", "/x", "a", "b=c" },
        { "/x?a+b=c%2Bd+e", "/x", "a b", "c+d e" },
        { "/x?a=%0A", "/x", "a", "\n" },
        { "/x?q=a?b", "/x", "q", "a?b" },
        { "*", "*", NULL, NULL },
        { "http://host/p?a=1", "/p", "a", "1" },
        { "HTTPS://host:1/p", "/p", NULL, NULL },
        { "http://host", "/", NULL, NULL },
        { "", NULL, NULL, NULL },
        { "x", NULL, NULL, NULL },
        { "?a=1", NULL, NULL, NULL },
        { "ftp://host/x", NULL, NULL, NULL },
        { "host:443", NULL, NULL, NULL },
        { "/%", NULL, NULL, NULL },
        { "/%4", NULL, NULL, NULL },
        { "/%zz", NULL, NULL, NULL },
        { "/%00", NULL, NULL, NULL },
        { "/%0a", NULL, NULL, NULL },
        { "/%7f", NULL, NULL, NULL },
        { "/%ff", NULL, NULL, NULL },
        { "/%c0%af", NULL, NULL, NULL },
        { "/x?a=%00", NULL, NULL, NULL },
        { "/x?a=%ff", NULL, NULL, NULL },
        { "/x?%=1", NULL, NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        RequestTarget target = { 0 };
        const char *problem = guard_target(&arena, str_from(cases[i].target), &target);
        CHECK_AT(cases[i].target, !problem == !!cases[i].path);
        if (problem)
            continue;
        CHECK_AT(cases[i].target, str_eq(target.path, str_from(cases[i].path)));
        CHECK_AT(cases[i].target, target.query_count == (cases[i].name ? 1 : 0));
        if (target.query_count == 1) {
            CHECK_AT(cases[i].target, str_eq(target.query[0].name, str_from(cases[i].name)));
            CHECK_AT(cases[i].target, str_eq(target.query[0].value, str_from(cases[i].value)));
        }
    }
}

static void a_query_has_a_limit(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    RequestTarget target = { 0 };
    Buf buf = buf_new(&arena, 4096);
    buf_add(&buf, S("/x?a0=0"));
    for (int i = 1; i < GUARD_QUERY_MAX; i++)
        buf_add_format(&buf, "&a%d=%d", i, i);
    CHECK(!guard_target(&arena, buf_str(&buf), &target) && target.query_count == GUARD_QUERY_MAX);
    buf_add(&buf, S("&b=1"));
    CHECK(guard_target(&arena, buf_str(&buf), &target));
}

static void framing_is_read_once(void)
{
    static const struct {
        const char *row;
        Header headers[3];
        bool is_good, is_chunked;
        int64_t length;
    } cases[] = {
        { "none", { { { 0 } } }, true, false, 0 },
        { "length", { { S("Content-Length"), S("12") } }, true, false, 12 },
        { "zeros", { { S("content-length"), S("007") } }, true, false, 7 },
        { "huge", { { S("content-length"), S("99999999999999999999") } }, true, false, INT64_MAX },
        { "plus", { { S("content-length"), S("+3") } }, false, false, 0 },
        { "minus", { { S("content-length"), S("-3") } }, false, false, 0 },
        { "empty", { { S("content-length"), S("") } }, false, false, 0 },
        { "hex", { { S("content-length"), S("0x3") } }, false, false, 0 },
        { "list", { { S("content-length"), S("3, 3") } }, false, false, 0 },
        { "twice",
          { { S("content-length"), S("3") }, { S("Content-Length"), S("3") } },
          false,
          false,
          0 },
        { "chunked", { { S("Transfer-Encoding"), S("Chunked") } }, true, true, 0 },
        { "gzip", { { S("transfer-encoding"), S("gzip, chunked") } }, false, false, 0 },
        { "blank", { { S("transfer-encoding"), S("chunked ") } }, false, false, 0 },
        { "identity", { { S("transfer-encoding"), S("identity") } }, false, false, 0 },
        { "both",
          { { S("content-length"), S("3") }, { S("transfer-encoding"), S("chunked") } },
          false,
          false,
          0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Header headers[3] = { { S("host"), S("x") } };
        size_t count = 1;
        while (count < 3 && cases[i].headers[count - 1].name.at) {
            headers[count] = cases[i].headers[count - 1];
            count++;
        }
        BodyFraming framing = { 0 };
        RequestHead head = { .method = S("POST"),
                             .target = S("/"),
                             .version = S("HTTP/1.1"),
                             .headers = headers,
                             .header_count = count };
        CHECK_AT(cases[i].row, !guard_head(&head, &framing) == cases[i].is_good);
        CHECK_AT(cases[i].row, framing.is_chunked == cases[i].is_chunked);
        CHECK_AT(cases[i].row, framing.length == cases[i].length);
    }
}

static const Test tests[] = {
    TEST(targets_are_decoded_or_refused),
    TEST(a_query_has_a_limit),
    TEST(framing_is_read_once),
};

TEST_MAIN(tests)
