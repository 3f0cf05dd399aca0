#include "net/url.h"

#include "net/curl/job.h"

enum { URL_BYTES_MAX = 8000 };

// parse_url reads a URL as a transfer will; NULL where it is none. Free it with curl_url_cleanup().
static CURLU *parse_url(Str text)
{
    DEFER(arena_done) Arena arena = { 0 };
    CURLU *url = curl_url();
    curl_must(url);
    if (curl_url_set(url, CURLUPART_URL, str_z(&arena, text), 0) == CURLUE_OK)
        return url;
    curl_url_cleanup(url);
    return NULL;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *of_a = NULL, *of_b = NULL;
    bool is_same = curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   str_eq_nocase(str_from(of_a), str_from(of_b));
    curl_free(of_a);
    curl_free(of_b);
    return is_same;
}

bool url_same_origin(Str a, Str b)
{
    CURLU *url_a = a.at ? parse_url(a) : NULL, *url_b = b.at ? parse_url(b) : NULL;
    bool is_same = url_a && url_b && same_part(url_a, url_b, CURLUPART_SCHEME) &&
                   same_part(url_a, url_b, CURLUPART_HOST) &&
                   same_part(url_a, url_b, CURLUPART_PORT);
    curl_url_cleanup(url_a);
    curl_url_cleanup(url_b);
    return is_same;
}

const char *url_problem(Str url)
{
    bool is_http = url.len >= 7 && str_eq_nocase((Str){ url.at, 7 }, S("http://"));
    bool is_https = url.len >= 8 && str_eq_nocase((Str){ url.at, 8 }, S("https://"));
    if (!is_http && !is_https)
        return "the URL must begin with http:// or https://";
    if (url.len > URL_BYTES_MAX)
        return "the URL is too long";
    if (!str_is_printable(url) || str_contains(url, S(" ")) || str_contains(url, S("\\")))
        return "the URL has characters that may not stand there";
    size_t len = 0;
    Str rest = str_skip(url, is_http ? 7 : 8);
    while (len < rest.len && !strchr("/?#", rest.at[len]))
        len++;
    Str authority = { rest.at, len };
    if (authority.len == 0)
        return "the URL has no host";
    if (str_contains(authority, S("@")))
        return "the URL may not carry a user or a password";
    CURLU *parsed = parse_url(url);
    curl_url_cleanup(parsed);
    return parsed ? NULL : "the URL cannot be read: is its host or its port right?";
}
