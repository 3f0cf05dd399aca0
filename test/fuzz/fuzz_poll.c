// What a provider answers to a poll must leave events that can be stored and a cursor that can be
// gone on from. The input is the provider's id, the cursor, the step and the status, a line each,
// headers as "name: value" lines, an empty line, and the body.
#include "base/json.h"
#include "providers/provider.h"

#include "fuzz.h"

enum { INPUT_HEADERS_MAX = 16, PAYLOAD_MAX = 1 << 16 };

static bool is_text(Str text)
{
    return text.len == 0 || str_is_utf8(text);
}

static bool is_json(Arena *arena, Str text)
{
    const Json *json = NULL;
    return json_parse(arena, text, &json, NULL) == ERR_OK;
}

static void check_event(Arena *arena, const ProviderEvent *event, Instant now)
{
    assert(is_text(event->hydrates) && is_text(event->external_id));
    if (event->hydrates.at) // the rest is still to be asked for
        return;
    assert(provided_type(event->provider, event->type));
    assert(event->dedup_key.len > 0 && is_text(event->dedup_key));
    assert(is_text(event->title) && is_text(event->url) && is_text(event->provider_type));
    assert(event->url.len == 0 || str_starts(event->url, S("http")));
    assert(is_json(arena, provider_payload(arena, event, now, PAYLOAD_MAX)));
}

static void check_page(Arena *arena, const Provider *provider, PollTurn turn, const PollPage *page)
{
    ProviderRequest request = { 0 };
    Error error = { .arena = arena };
    assert(page->verdict <= POLL_BROKEN && page->backoff >= 0 && is_text(page->note));
    for (size_t i = 0; i < page->count; i++)
        check_event(arena, &page->events[i], turn.now);
    if (page->verdict != POLL_GOOD)
        return;
    // What was left is what the next one begins with.
    turn.cursor = page->cursor.at ? page->cursor : turn.cursor;
    turn.step = page->step;
    assert(!page->cursor.at || is_json(arena, page->cursor));
    assert(!page->step.at || is_json(arena, page->step));
    Err err = provider->poll_ask(arena, &turn, &request, &error);
    assert(err == ERR_OK && str_is_printable(request.url) && request.url.len > 0);
    assert(request.header_count <= PROVIDER_HEADERS_MAX);
}

// read_reply reads the answer that an input is.
static ProviderReply read_reply(Str input, HookHeader headers[INPUT_HEADERS_MAX])
{
    int64_t status = 200;
    ProviderReply reply = { .headers = headers };
    if (str_to_i64(str_cut(&input, '\n'), 0, 999, &status))
        reply.status = (int) status;
    while (input.at && reply.header_count < INPUT_HEADERS_MAX) {
        Str value = str_cut(&input, '\n');
        if (value.len == 0)
            break;
        Str name = str_cut(&value, ':');
        headers[reply.header_count++] = (HookHeader){ name, str_trim(value) };
    }
    reply.body = input;
    return reply;
}

static Str some(Str text)
{
    return text.len > 0 ? text : STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookHeader headers[INPUT_HEADERS_MAX];
    ProviderName name;
    ProviderRequest request = { 0 };
    PollPage page = { 0 };
    Error error = { .arena = &arena };
    Str input = { (const char *) data, size };
    if (!provider_name_parse(str_cut(&input, '\n'), &name) || !provider_of(name) ||
        !provider_of(name)->poll_read)
        return 0;
    PollTurn turn = { .token = S("t"), .now = 1778735554 * SPAN_SECOND };
    turn.cursor = some(str_cut(&input, '\n'));
    turn.step = some(str_cut(&input, '\n'));
    ProviderReply reply = read_reply(input, headers);
    if (provider_of(name)->poll_ask(&arena, &turn, &request, &error) != ERR_OK)
        return 0;
    provider_of(name)->poll_read(&arena, &turn, &reply, &page);
    check_page(&arena, provider_of(name), turn, &page);
    return 0;
}
