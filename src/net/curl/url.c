#include "net/url.h"

#include "net/curl/job.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>

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

bool url_host(Arena *arena, Str url, Str *ret)
{
    char *host = NULL, *port = NULL;
    CURLU *parsed = url.at ? parse_url(url) : NULL;
    bool is_good = parsed && curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                   curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    for (char *at = host; is_good && *at; at++)
        *at = str_lower_char(*at);
    if (is_good)
        *ret = str_format(arena, "%s:%s", host, port);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
    return is_good;
}

// has_scheme cuts a scheme, such as "http://", off a URL.
static bool has_scheme(Str *url, Str scheme)
{
    if (url->len < scheme.len || !str_eq_nocase((Str){ url->at, scheme.len }, scheme))
        return false;
    *url = str_skip(*url, scheme.len);
    return true;
}

bool url_is_plain(Str url)
{
    return has_scheme(&url, S("http://")) || has_scheme(&url, S("smtp://"));
}

// problem_behind looks at a URL of which rest stands behind the scheme.
static const char *problem_behind(Str url, Str rest)
{
    size_t len = 0;
    if (url.len > URL_BYTES_MAX)
        return "the URL is too long";
    if (!str_is_printable(url) || str_contains(url, S(" ")) || str_contains(url, S("\\")))
        return "the URL has characters that may not stand there";
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

const char *url_problem(Str url)
{
    Str rest = url;
    if (!has_scheme(&rest, S("http://")) && !has_scheme(&rest, S("https://")))
        return "the URL must begin with http:// or https://";
    return problem_behind(url, rest);
}

const char *url_mail_problem(Str url)
{
    Str rest = url;
    if (!has_scheme(&rest, S("smtp://")) && !has_scheme(&rest, S("smtps://")))
        return "the URL must begin with smtp:// or smtps://";
    const char *problem = problem_behind(url, rest);
    str_cut(&rest, '/');
    for (size_t i = 0; !problem && i < rest.len; i++)
        if (!isalnum((unsigned char) rest.at[i]) && rest.at[i] != '.' && rest.at[i] != '-')
            problem = "what stands behind the host is the name that it is greeted with: letters, "
                      "digits, dots and hyphens";
    return problem;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t utf8; // 0 where the system has none: such hosts are refused then

static void find_utf8(void)
{
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
}

// url_ascii_host: libcurl's library for such names takes them in the encoding of the locale.
Str url_ascii_host(Arena *arena, Str host)
{
    pthread_once(&once, find_utf8);
    locale_t usual = uselocale(utf8);
    char *ascii = NULL;
    Str found = STR_NONE;
    CURLU *url = curl_url();
    curl_must(url);
    if (curl_url_set(url, CURLUPART_SCHEME, "smtp", 0) == CURLUE_OK &&
        curl_url_set(url, CURLUPART_HOST, str_z(arena, host), 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &ascii, CURLU_PUNYCODE) == CURLUE_OK)
        found = str_dup(arena, str_from(ascii));
    curl_free(ascii);
    curl_url_cleanup(url);
    uselocale(usual);
    return found;
}
