// What a provider reads from a webhook must be fit to be stored, whatever came.
#include "hook_input.h"

#include "base/json.h"

enum { PAYLOAD_MAX = 1 << 16 };

// is_text tells whether a text can be stored: UTF-8, no NUL.
static bool is_text(Str text)
{
    return text.len == 0 || str_is_utf8(text);
}

static bool is_object(Arena *arena, Str text)
{
    const Json *json = NULL;
    Error error = { .arena = arena };
    // What was as deep as can be may be too deep one level further down.
    if (json_parse(arena, text, &json, &error) != ERR_OK)
        return strstr(error.detail, "deep") != NULL;
    return json_type(json) == JSON_OBJECT;
}

static void check_event(Arena *arena, const ProviderEvent *event, Instant came)
{
    assert(event->provider < PROVIDERS && provider_of(event->provider));
    assert(provided_type(event->provider, event->type));
    assert(event->dedup_key.len > 0 && is_text(event->dedup_key));
    assert(is_text(event->provider_type) && is_text(event->external_id));
    assert(is_text(event->title) && !str_contains(event->title, S("\n")));
    assert(is_text(event->url) && str_is_printable(event->url));
    assert(event->url.len == 0 || str_starts(event->url, S("http")));
    assert(is_text(event->place.connection_id) && is_text(event->place.installation_id));
    assert(is_object(arena, event->context));
    assert(is_object(arena, provider_payload(arena, event, came, PAYLOAD_MAX)));
}

static void check_change(const ProviderChange *change)
{
    assert(change->provider < PROVIDERS && change->state <= PROVIDER_REVOKED);
    assert(change->place.connection_id.len > 0 || change->place.installation_id.len > 0);
    assert(is_text(change->place.connection_id) && is_text(change->place.installation_id));
    assert(is_text(change->tenant) && is_text(change->integration) && is_text(change->reason));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    HookInput input = { 0 };
    ProviderRead read = { 0 };
    if (!hook_input_read(&arena, (Str){ (const char *) data, size }, &input))
        return 0;
    Str id = input.provider->identify(&arena, &input.hook);
    assert(is_text(id) && str_is_printable(id));
    if (input.provider->parse(&arena, &input.hook, &read, &error) != ERR_OK) {
        assert(error.err == ERR_INVALID && error.detail[0]);
        return 0;
    }
    assert(is_text(read.note) && is_text(read.external_id));
    assert(read.count > 0 || read.note.len > 0 || read.change_count > 0);
    for (size_t i = 0; i < read.count; i++)
        check_event(&arena, &read.events[i], input.hook.at);
    for (size_t i = 0; i < read.change_count; i++)
        check_change(&read.changes[i]);
    return 0;
}
