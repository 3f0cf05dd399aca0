#include "providers/provider.h"

#include "base/time.h"
#include "providers/providers.h"

const char *hook_verdict_code(HookVerdict verdict)
{
    static const char *const codes[] = {
#define HOOK_VERDICT_CODE(name, code, words) code,
        HOOK_VERDICT_TABLE(HOOK_VERDICT_CODE)
#undef HOOK_VERDICT_CODE
    };
    return codes[verdict];
}

const char *hook_verdict_words(HookVerdict verdict)
{
    static const char *const texts[] = {
#define HOOK_VERDICT_WORDS(name, code, words) words,
        HOOK_VERDICT_TABLE(HOOK_VERDICT_WORDS)
#undef HOOK_VERDICT_WORDS
    };
    return texts[verdict];
}

bool hook_verdict_admits(HookVerdict verdict)
{
    return verdict == HOOK_VERIFIED || verdict == HOOK_UNCHECKED;
}

Str hook_header(const Hook *hook, Str name)
{
    for (size_t i = 0; i < hook->header_count; i++)
        if (str_eq(hook->headers[i].name, name))
            return hook->headers[i].value;
    return STR_NONE;
}

Str hook_header_text(const Hook *hook, Str name)
{
    Str value = str_trim(hook_header(hook, name));
    bool is_text = value.len > 0 && value.len <= HOOK_TEXT_MAX && str_is_utf8(value) &&
                   str_is_printable(value);
    return is_text ? value : STR_NONE;
}

bool hook_header_twice(const Hook *hook, Str name)
{
    size_t count = 0;
    for (size_t i = 0; i < hook->header_count; i++)
        count += str_eq(hook->headers[i].name, name);
    return count > 1;
}

static Str write_payload(Arena *arena, const ProviderEvent *event, Instant came, bool has_raw)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    bool is_dated = event->occurred_at != INSTANT_NONE;
    json_open(&out, '{');
    json_put_str(&out, S("provider"), str_from(provider_id_text(event->provider)));
    json_put_str(&out, S("eventType"), event->type);
    json_put_str(&out, S("providerEventType"), event->provider_type);
    json_put_time(&out, S("occurredAt"), is_dated ? event->occurred_at : came);
    json_put_str(&out, S("dedupKey"), event->dedup_key);
    json_put_str(&out, S("title"), event->title);
    json_put_str(&out, S("url"), event->url);
    json_put_str(&out, S("externalId"), event->external_id);
    json_key(&out, S("context"));
    json_add_raw(&out, event->context.at ? event->context : S("{}"));
    if (has_raw) {
        json_key(&out, S("raw"));
        json_add_raw(&out, event->raw);
    }
    json_close(&out, '}');
    return buf_str(&text);
}

Str provider_payload(Arena *arena, const ProviderEvent *event, Instant came, size_t max)
{
    if (event->raw.at && event->raw.len < max) {
        Str whole = write_payload(arena, event, came, true);
        if (whole.len <= max)
            return whole;
    }
    return write_payload(arena, event, came, false);
}

// put_mark writes what stands for the mark that text begins with, and says how long the mark is; 0:
// it begins with none.
static size_t put_mark(Buf *out, Str text, Instant now)
{
    const int64_t tenth = INT64_C(100000000000); // of the numbers with twelve digits
    static const Str marks[] = { S("%time%"), S("%now%"), S("%id%") };
    char time[TIME_TEXT_MAX];
    int64_t milliseconds = now / SPAN_MILLISECOND;
    if (str_starts(text, marks[0]))
        buf_add(out, time_text(now, time));
    else if (str_starts(text, marks[1]))
        buf_add_i64(out, milliseconds);
    else if (str_starts(text, marks[2]))
        buf_add_i64(out, 9 * tenth + milliseconds % tenth);
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_starts(text, marks[i]))
            return marks[i].len;
    return 0;
}

Str provider_example(Arena *arena, const ProviderExample *example, Instant now)
{
    Buf body = buf_new(arena, BUF_WHOLE);
    for (Str rest = str_from(example->body); rest.len > 0;) {
        size_t len = put_mark(&body, rest, now);
        if (len == 0)
            buf_add_char(&body, rest.at[0]);
        rest = str_skip(rest, len > 0 ? len : 1);
    }
    return buf_str(&body);
}

const Provider *provider_of(ProviderName name)
{
    static const Provider *const providers[PROVIDERS] = {
        [PROVIDER_GITHUB] = &provider_github,
        [PROVIDER_LINEAR] = &provider_linear,
        [PROVIDER_SENTRY] = &provider_sentry,
        [PROVIDER_POSTHOG] = &provider_posthog,
        [PROVIDER_GMAIL] = &provider_gmail,
        [PROVIDER_NANGO] = &provider_nango,
        [PROVIDER_COMPOSIO] = &provider_composio,
        [PROVIDER_SLACK] = &provider_slack,
        [PROVIDER_STRIPE] = &provider_stripe,
        [PROVIDER_JIRA] = &provider_jira,
        [PROVIDER_STANDARD_WEBHOOKS] = &provider_standard_webhooks,
        [PROVIDER_GENERIC] = &provider_generic,
    };
    return providers[name];
}
