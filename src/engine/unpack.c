#include "engine/unpack.h"

#include "base/gzip.h"
#include "base/patience.h"

static Unpacked failed(Arena *arena, InboxReason reason, const char *why)
{
    return (Unpacked){ .reason = reason, .error = str_dup(arena, str_from(why)) };
}

// read_headers reads them as they are stored: an array of [name, value].
static void read_headers(Arena *arena, Str text, Hook *hook)
{
    const Json *stored;
    if (!text.at || json_parse(arena, text, &stored, NULL) != ERR_OK)
        return; // some provider may need none
    HookHeader *headers = ARENA_ARRAY(arena, HookHeader, json_count(stored) + 1);
    for (JsonIter it = json_each(stored); json_next(&it);)
        headers[hook->header_count++] =
            (HookHeader){ json_str(json_at(it.value, 0)), json_str(json_at(it.value, 1)) };
    hook->headers = headers;
}

// open_body makes of what came what was meant.
static Err open_body(Arena *arena, size_t max, Hook *hook, Error *error)
{
    Str encoding = hook_header(hook, S("content-encoding"));
    if (encoding.len == 0 || str_eq_nocase(encoding, S("identity")))
        return ERR_OK;
    if (str_eq_nocase(encoding, S("gzip")) || str_eq_nocase(encoding, S("x-gzip")))
        return gzip_open(arena, hook->body, max, &hook->body, error);
    return fail(error, ERR_INVALID, "its Content-Encoding is not known here; gzip is");
}

// check_many refuses what no row may bring: each event is a row, with all that triggers make of it.
static Unpacked check_many(Arena *arena, const ProviderRead *read)
{
    if (read->count > UNPACK_EVENTS_MAX)
        return failed(arena, INBOX_REASON_TOO_LARGE, "it brings more than 10000 events");
    return (Unpacked){ .read = *read };
}

static bool is_meant_as_json(Str body)
{
    Str text = str_trim(body);
    return str_starts(text, S("{")) || str_starts(text, S("["));
}

// parse reads a body as it came, or else with its strings mended: senders cut texts in the middle
// of a character, and one such text is no reason to lose the rest.
static Err parse(Arena *arena, const Provider *provider, Hook *hook, ProviderRead *ret,
                 Error *error)
{
    Err err = provider->parse(arena, hook, ret, error);
    if (err != ERR_INVALID || !is_meant_as_json(hook->body) ||
        !json_mend(arena, hook->body, &hook->body))
        return err;
    *ret = (ProviderRead){ 0 };
    return provider->parse(arena, hook, ret, error);
}

// explain says why a body that was meant as JSON is none; else what its provider said.
static const char *explain(Arena *arena, Str body, const char *said)
{
    const Json *json;
    Error *why = ARENA_NEW(arena, Error);
    bool is_none = is_meant_as_json(body) && json_parse(arena, body, &json, why) != ERR_OK;
    return is_none ? why->detail : said;
}

static const Provider *provider_by(const Provider *const *providers, Str id)
{
    ProviderName name;
    if (!provider_name_parse(id, &name))
        return NULL;
    return providers ? providers[name] : provider_of(name);
}

static Unpacked read_row(Arena *arena, const InboxRow *row, const Unpack *with)
{
    ProviderRead read = { 0 };
    Error error = { .arena = arena };
    const Provider *provider = provider_by(with->providers, row->provider);
    if (!provider || !provider->parse)
        return failed(arena, INBOX_REASON_UNPARSABLE, "its provider is not known here");
    Hook hook = { .method = S("POST"), .body = row->body, .at = row->received_at };
    read_headers(arena, row->headers, &hook);
    Err err = open_body(arena, with->opened_max, &hook, &error);
    if (err == ERR_TOO_LARGE && with->opened_max < UNPACK_OPENED_MAX)
        return (Unpacked){ .is_long = true };
    if (err == ERR_OK)
        err = parse(arena, provider, &hook, &read, &error);
    const char *why = err == ERR_INVALID ? explain(arena, hook.body, error.detail) : error.detail;
    Unpacked ret = err == ERR_OK          ? check_many(arena, &read)
                   : err == ERR_TOO_LARGE ? failed(arena, INBOX_REASON_TOO_LARGE, why)
                                          : failed(arena, INBOX_REASON_UNPARSABLE, why);
    ret.size = err == ERR_TOO_LARGE ? UNPACK_OPENED_MAX : hook.body.len;
    return ret;
}

bool unpack_has_type(const Unpacked *unpacked, size_t n)
{
    const ProviderEvent *event = &unpacked->read.events[n];
    return provided_type(event->provider, event->type) != NULL;
}

InboxReason unpack_reason(Err err)
{
    return err == ERR_TOO_LARGE ? INBOX_REASON_TOO_LARGE : INBOX_REASON_UNPARSABLE;
}

// make_events makes all of them, one after the other: no more of it is kept than why one cannot be.
static void make_events(Arena *arena, const InboxRow *row, size_t payload_max, Unpacked *unpacked)
{
    DEFER(arena_done) Arena scratch = { 0 };
    for (size_t n = 0; n < unpacked->read.count && !unpacked->reason; n++) {
        Event event;
        Error why = { .arena = &scratch };
        if (!unpack_has_type(unpacked, n))
            continue;
        Err err = unpack_event(&scratch, row, unpacked, n, STR_NONE, payload_max, &event, &why);
        if (err != ERR_OK)
            *unpacked = failed(arena, unpack_reason(err), why.detail);
        arena_reset(&scratch);
    }
}

static Unpacked unpack_as(Arena *arena, const InboxRow *row, const Unpack *with, bool is_whole)
{
    patience_begin(with->clock, clock_monotonic(with->clock) + with->time);
    Unpacked ret = read_row(arena, row, with);
    if (is_whole)
        make_events(arena, row, with->payload_max, &ret);
    return patience_end() ? ret : (Unpacked){ .is_long = true };
}

Unpacked unpack(Arena *arena, const InboxRow *row, const Unpack *with)
{
    return unpack_as(arena, row, with, false);
}

Unpacked unpack_whole(Arena *arena, const InboxRow *row, const Unpack *with)
{
    return unpack_as(arena, row, with, true);
}

Err unpack_event(Arena *arena, const InboxRow *row, const Unpacked *unpacked, size_t n,
                 Str integration, size_t max, Event *ret, Error *error)
{
    const ProviderEvent *read = &unpacked->read.events[n];
    // Each may be given the whole body as its raw; together they may not be many times as much.
    size_t share = UNPACK_BYTES_MAX / unpacked->read.count;
    Str payload = provider_payload(arena, read, row->received_at, share < max ? share : max);
    *ret = (Event){
        .kind = str_format(arena, "%s.%.*s", provider_id_text(read->provider), STR_ARG(read->type)),
        .source = row->source,
        .topic = integration,
        .occurred_at = read->occurred_at,
    };
    if (payload.len > max)
        return fail(error, ERR_TOO_LARGE, "an event of it has %zu bytes; %zu are allowed",
                    payload.len, max);
    Err err = event_build_row(arena, payload, ret, error);
    if (err == ERR_MALFORMED && read->raw.at) // which stands one level deeper than it came
        err =
            event_build_row(arena, provider_payload(arena, read, row->received_at, 0), ret, error);
    TRY(err);
    ret->id = inbox_event(row->id, n);
    return ERR_OK;
}
