#include "net/guard.h"

#include "base/percent.h"

// is_field_text is true without control characters; a tab is a blank here.
static bool is_field_text(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char) s.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_digits(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return s.len > 0;
}

static bool is_method(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < 'A' || s.at[i] > 'Z')
            return false;
    return s.len > 0 && s.len <= 20;
}

static bool is_host(Str s)
{
    static const char foreign[] = " \t/\\@?#,;\"<>";
    for (size_t i = 0; i < s.len; i++)
        if (memchr(foreign, s.at[i], sizeof foreign - 1))
            return false;
    return s.len > 0;
}

const char *guard_head(const RequestHead *head, BodyFraming *ret)
{
    bool is_old = str_eq(head->version, S("HTTP/1.0"));
    size_t hosts = 0, lengths = 0, codings = 0;
    BodyFraming framing = { 0 };

    if (!is_method(head->method))
        return "the method is not a word of capital letters";
    if (!str_is_printable(head->target) || str_contains(head->target, S(" ")))
        return "the target has blanks or control characters";
    for (size_t i = 0; i < head->header_count; i++) {
        Str name = head->headers[i].name, value = head->headers[i].value;
        if (!header_is_token(name))
            return "a header's name has characters that may not stand there";
        if (!is_field_text(value))
            return "a header's value has control characters";
        if (str_eq_nocase(name, S("host"))) {
            hosts++;
            if (!is_host(str_trim(value)))
                return "the Host header is not a host";
        } else if (str_eq_nocase(name, S("content-length"))) {
            lengths++;
            if (!is_digits(value))
                return "the Content-Length is not a number";
            if (!str_to_i64(value, 0, INT64_MAX, &framing.length))
                framing.length = INT64_MAX;
        } else if (str_eq_nocase(name, S("transfer-encoding"))) {
            codings++;
            // Compared untrimmed: with a blank behind it the library no longer sees the chunks.
            if (!str_eq_nocase(value, S("chunked")))
                return "the only Transfer-Encoding is chunked";
            framing.is_chunked = true;
        } else if (str_eq_nocase(name, S("expect"))) {
            framing.is_awaited = str_eq_nocase(str_trim(value), S("100-continue"));
        }
    }
    if (hosts > 1 || (hosts == 0 && !is_old))
        return "there must be exactly one Host header";
    if (lengths > 1)
        return "there may be only one Content-Length";
    if (codings > 1)
        return "there may be only one Transfer-Encoding";
    if (codings > 0 && lengths > 0)
        return "Content-Length and Transfer-Encoding may not come together";
    if (codings > 0 && is_old)
        return "HTTP/1.0 has no Transfer-Encoding";
    *ret = framing;
    return NULL;
}

static const char *read_query(Arena *arena, Str query, RequestTarget *ret)
{
    size_t room = 1;
    for (size_t i = 0; i < query.len; i++)
        room += query.at[i] == '&';
    if (room > GUARD_QUERY_MAX)
        return "the query has too many members";
    ret->query = ARENA_ARRAY(arena, Header, room);
    while (query.len > 0) {
        Str value = str_cut(&query, '&');
        Str name = str_cut(&value, '=');
        Header *member = &ret->query[ret->query_count];
        if (name.len == 0 && value.len == 0)
            continue;
        if (!percent_decode(arena, name, true, &member->name) ||
            !percent_decode(arena, value, true, &member->value))
            return "the query is not well encoded";
        ret->query_count++;
    }
    return NULL;
}

const char *guard_target(Arena *arena, Str target, RequestTarget *ret)
{
    RequestTarget read = { 0 };
    size_t scheme = 0;
    if (target.len >= 7 && str_eq_nocase((Str){ target.at, 7 }, S("http://")))
        scheme = 7;
    else if (target.len >= 8 && str_eq_nocase((Str){ target.at, 8 }, S("https://")))
        scheme = 8;
    if (scheme > 0) {
        target = str_skip(target, scheme);
        while (target.len > 0 && target.at[0] != '/' && target.at[0] != '?')
            target = str_skip(target, 1);
        if (!str_starts(target, S("/"))) // a slash in the query begins no path
            target = str_format(arena, "/%.*s", STR_ARG(target));
    }
    Str query = target;
    Str path = str_cut(&query, '?');
    bool is_asterisk = str_eq(target, S("*"));
    if (!is_asterisk && (path.len == 0 || path.at[0] != '/'))
        return "the target does not begin with a slash";
    if (!percent_decode(arena, path, false, &read.path) || !str_is_printable(read.path))
        return "the path is not well encoded";
    if (query.len > 0) {
        const char *problem = read_query(arena, query, &read);
        if (problem)
            return problem;
    }
    *ret = read;
    return NULL;
}
