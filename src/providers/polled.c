#include "providers/polled.h"

#include "base/time.h"

enum { MESSAGE_MAX = 200, SECONDS_MAX = 366 * 24 * 3600 };

Str polled_header(const ProviderReply *reply, Str name)
{
    for (size_t i = 0; i < reply->header_count; i++)
        if (str_eq(reply->headers[i].name, name))
            return reply->headers[i].value;
    return STR_NONE;
}

Span polled_retry_after(const ProviderReply *reply, Instant now)
{
    int64_t seconds;
    Instant at;
    Str text = str_trim(polled_header(reply, S("retry-after")));
    if (str_to_i64(text, 0, SECONDS_MAX, &seconds))
        return seconds * SPAN_SECOND;
    return time_http_date(text, &at) && at > now ? at - now : 0;
}

static PollVerdict verdict_of(int status)
{
    if (status == 401)
        return POLL_UNAUTHORIZED;
    if (status == 429)
        return POLL_LIMITED;
    return status >= 500 || status == 408 || status == 0 ? POLL_AGAIN : POLL_BROKEN;
}

Str polled_note(Arena *arena, int status, Str code, Str message)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    buf_add_format(&text, "it answered %d", status);
    if (code.len > 0 && str_is_printable(code))
        buf_add_format(&text, " (%.*s)", STR_ARG(str_head(code, MESSAGE_MAX)));
    if (message.len > 0 && str_is_printable(message))
        buf_add_format(&text, ": %.*s", STR_ARG(str_head(message, MESSAGE_MAX)));
    return buf_str(&text);
}

PollPage polled_status(Arena *arena, const ProviderReply *reply, Instant now)
{
    return (PollPage){ .verdict = verdict_of(reply->status),
                       .backoff = polled_retry_after(reply, now),
                       .note = polled_note(arena, reply->status, STR_NONE, STR_NONE) };
}

// is_escaped: the backslash at i is itself escaped by those before it.
static bool is_escaped(Str text, size_t i)
{
    size_t count = 0;
    while (i > count && text.at[i - count - 1] == '\\')
        count++;
    return count % 2 == 1;
}

const Json *polled_json(Arena *arena, Str body)
{
    const Json *ret = NULL;
    const Str nul = S("\\u0000");
    if (str_contains(body, nul)) {
        char *text = arena_copy(arena, body.at, body.len);
        for (size_t i = 0; i + nul.len <= body.len; i++)
            if (memcmp(body.at + i, nul.at, nul.len) == 0 && !is_escaped(body, i))
                memcpy(text + i, "\\uFFFD", nul.len);
        body.at = text;
    }
    return json_parse(arena, body, &ret, NULL) == ERR_OK ? ret : NULL;
}

Str polled_url(Arena *arena, Str base_url, const char *usual, Str path)
{
    Str base = base_url.len > 0 ? base_url : str_from(usual);
    while (str_ends(base, S("/")))
        base.len--;
    return STR_JOIN(arena, base, path);
}
