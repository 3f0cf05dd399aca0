// The input is a structured event, or headers as "name: value" lines, an empty line and a body.
#include "domain/cloudevent.h"

#include "fuzz.h"

enum { HEADERS_MAX = 32 };

static bool read_binary(Arena *arena, Str input, Event *ret, Error *error)
{
    CloudHeader headers[HEADERS_MAX];
    Str content_type = STR_NONE;
    size_t count = 0;
    while (input.len > 0 && count < HEADERS_MAX) {
        Str value = str_cut(&input, '\n');
        if (value.len == 0)
            break;
        Str name = str_cut(&value, ':');
        headers[count++] = (CloudHeader){ name, str_trim(value) };
        if (str_eq_nocase(name, S("content-type")))
            content_type = str_trim(value);
    }
    return cloudevent_binary(arena, headers, count, content_type, input, ret, error) == ERR_OK;
}

static bool read_structured(Arena *arena, Str input, Event *ret, Error *error)
{
    const Json *body;
    if (json_parse(arena, input, &body, error) != ERR_OK)
        return false;
    return cloudevent_structured(arena, body, ret, error) == ERR_OK;
}

// print writes the event as a structured one, from which the same event must come again.
static Str print(Arena *arena, const Event *event)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("specversion"), S("1.0"));
    json_put_str(&out, S("id"), event->identity);
    json_put_str(&out, S("source"), event->source);
    json_put_str(&out, S("type"), event->kind);
    json_put_str(&out, S("subject"), event->entity);
    json_put_str(&out, S("correlationid"), event->correlation_id);
    json_put_time(&out, S("time"), event->occurred_at);
    json_put_raw(&out, S("data"), event->payload);
    json_close(&out, '}');
    return buf_str(&buf);
}

static void check(Arena *arena, const Event *event)
{
    assert(event->kind.len > 0 && event->kind.len <= EVENT_KIND_MAX);
    assert(event->source.len > 0 && event->source.len <= EVENT_SOURCE_MAX);
    assert(event->identity.len > 0 && event->identity.len <= EVENT_IDENTITY_MAX);
    assert(event->entity.len <= EVENT_ENTITY_MAX);
    assert(event->correlation_id.len <= EVENT_CORRELATION_MAX);
    assert(str_is_printable(event->kind) && str_is_utf8(event->kind));
    assert(json_type(event->payload_json) == JSON_OBJECT);
    assert(str_eq(json_text(arena, event->payload_json), event->payload));

    Event again;
    Error error = { .arena = arena };
    // A payload that was the whole body may be one level too deep for this.
    if (!read_structured(arena, print(arena, event), &again, &error)) {
        assert(error.err == ERR_MALFORMED);
        return;
    }
    assert(str_eq(again.kind, event->kind) && str_eq(again.source, event->source));
    assert(str_eq(again.identity, event->identity) && str_eq(again.entity, event->entity));
    assert(str_eq(again.correlation_id, event->correlation_id));
    assert(str_eq(again.payload, event->payload));
    assert((again.occurred_at == INSTANT_NONE) == (event->occurred_at == INSTANT_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Event event;
    Str input = { (const char *) data, size };
    bool is_structured = size > 0 && data[0] == '{';
    bool is_read = is_structured ? read_structured(&arena, input, &event, &error)
                                 : read_binary(&arena, input, &event, &error);
    if (is_read)
        check(&arena, &event);
    else
        assert(error.err == ERR_MALFORMED || error.err == ERR_EVENT_INVALID);
    return 0;
}
