#include "domain/cloudevent.h"

#include "base/crypto.h"
#include "domain/members.h"
#include "domain/trace.h"

// attributes are the context attributes that Peal reads; any other is an extension and is dropped.
static const char *const attributes[] = { "specversion", "id",   "source",        "type",
                                          "subject",     "time", "correlationid", "traceparent" };

// read_attributes reads them from a JSON object, which is what a structured event is and what the
// headers of a binary one are made into.
static void read_attributes(Arena *arena, const Members *members, Event *event)
{
    static const char *const needed[] = { "specversion", "id", "source", "type" };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        members_need(members, needed[i]);

    Str version = S("1.0");
    members_text(members, "specversion", 20, &version);
    if (!str_eq(version, S("1.0")))
        members_note(members, S("specversion"), "bad-value", "must be 1.0, not %.*s",
                     STR_ARG(version));
    members_text(members, "id", EVENT_IDENTITY_MAX, &event->identity);
    members_text(members, "source", EVENT_SOURCE_MAX, &event->source);
    members_text(members, "type", EVENT_KIND_MAX, &event->kind);
    members_text(members, "subject", EVENT_ENTITY_MAX, &event->entity);
    members_time(members, "time", &event->occurred_at);
    members_text(members, "traceparent", EVENT_CORRELATION_MAX, &event->correlation_id);
    event->trace = trace_read(arena, event->correlation_id);
    // Read last, for the caller's own word goes before the tracer's.
    members_text(members, "correlationid", EVENT_CORRELATION_MAX, &event->correlation_id);
}

static void set_payload(Arena *arena, const Json *object, Event *event)
{
    event->payload_json = object;
    event->payload = json_text(arena, object);
}

// wrap_payload makes the payload an object with one member.
static Err wrap_payload(Arena *arena, Str key, Str json, Event *event, Error *error)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_raw(&out, key, json);
    json_close(&out, '}');
    const Json *object;
    TRY(json_parse(arena, buf_str(&buf), &object, error));
    set_payload(arena, object, event);
    return ERR_OK;
}

// take_data makes any JSON value the payload: an object as it is, nothing as {}.
static Err take_data(Arena *arena, const Json *data, Event *event, Error *error)
{
    if (!data)
        TRY(json_parse(arena, S("{}"), &data, error));
    if (json_type(data) != JSON_OBJECT)
        return wrap_payload(arena, S("data"), json_text(arena, data), event, error);
    set_payload(arena, data, event);
    return ERR_OK;
}

static Str json_string(Arena *arena, Str text)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_add_str(&out, text);
    return buf_str(&buf);
}

Err cloudevent_structured(Arena *arena, const Json *body, Event *ret, Error *error)
{
    Error own = { 0 };
    Members members = members_open(body, S(""), error ? error : &own);
    if (!members_is_object(&members))
        return members_close(&members, ERR_EVENT_INVALID);

    Event event = { .occurred_at = INSTANT_NONE };
    read_attributes(arena, &members, &event);
    const Json *data = members_get(&members, "data");
    const Json *binary = members_get(&members, "data_base64");
    Str bytes;
    if (data && binary)
        members_note(&members, S("data_base64"), "bad-value", "give data or data_base64, not both");
    else if (binary &&
             (json_type(binary) != JSON_STRING || !base64_parse(arena, json_str(binary), &bytes)))
        members_note(&members, S("data_base64"), "bad-value", "must be a string of base64");
    TRY(members_close(&members, ERR_EVENT_INVALID));

    if (binary)
        TRY(wrap_payload(arena, S("data_base64"), json_text(arena, binary), &event, error));
    else
        TRY(take_data(arena, data, &event, error));
    *ret = event;
    return ERR_OK;
}

// decode undoes what the HTTP binding does to a header value: quotes around it, then one round of
// percent-encoding. A percent sign without two hex digits stands for itself.
static Str decode(Arena *arena, Str value)
{
    Buf unquoted = buf_new(arena, value.len + 1);
    bool is_quoted = value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"';
    size_t end = is_quoted ? value.len - 1 : value.len;
    for (size_t i = is_quoted; i < end; i++) {
        if (is_quoted && value.at[i] == '\\' && i + 1 < end)
            i++;
        buf_add_char(&unquoted, value.at[i]);
    }

    Str text = buf_str(&unquoted);
    Buf decoded = buf_new(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len && text.at[i] == '%' ? str_hex_value(text.at[i + 1]) : -1;
        int low = high >= 0 ? str_hex_value(text.at[i + 2]) : -1;
        if (low >= 0) {
            buf_add_char(&decoded, (char) (high * 16 + low));
            i += 2;
        } else {
            buf_add_char(&decoded, text.at[i]);
        }
    }
    return buf_str(&decoded);
}

// attribute_of returns the index of the attribute that a header carries, or -1.
static int attribute_of(Str header)
{
    if (header.len < 3 || !str_eq_nocase((Str){ header.at, 3 }, S("ce-")))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        if (str_eq_nocase(str_skip(header, 3), str_from(attributes[i])))
            return (int) i;
    }
    return -1;
}

// headers_object makes the attributes among the headers into the JSON object of a structured event.
static Err headers_object(Arena *arena, const CloudHeader *headers, size_t count, Members *members)
{
    bool is_seen[ARRAY_LEN(attributes)] = { 0 };
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    for (size_t i = 0; i < count; i++) {
        int attribute = attribute_of(headers[i].name);
        if (attribute < 0)
            continue;
        Str name = str_from(attributes[attribute]);
        Str value = decode(arena, headers[i].value);
        if (is_seen[attribute]) {
            members_note(members, name, "bad-value", "the header stands twice");
            continue;
        }
        is_seen[attribute] = true;
        if (value.len > 0 && !str_is_utf8(value))
            members_note(members, name, "bad-value", "the header is not UTF-8");
        else
            json_put_str(&out, name, value);
    }
    json_close(&out, '}');
    return json_parse(arena, buf_str(&buf), &members->object, members->error);
}

static bool is_json_type(Str content_type)
{
    Str type = str_trim(str_cut(&content_type, ';'));
    if (str_eq_nocase(type, S("application/json")) || str_eq_nocase(type, S("text/json")))
        return true;
    return type.len > 5 && str_eq_nocase(str_skip(type, type.len - 5), S("+json"));
}

// take_body makes the body the payload: JSON as it is, text as {"data"}, other bytes as
// {"data_base64"}.
static Err take_body(Arena *arena, Str content_type, Str body, Event *event, Error *error)
{
    if (body.len == 0)
        return take_data(arena, NULL, event, error);
    if (is_json_type(content_type)) {
        const Json *data;
        TRY(json_parse(arena, body, &data, error));
        return take_data(arena, data, event, error);
    }
    if (str_is_utf8(body))
        return wrap_payload(arena, S("data"), json_string(arena, body), event, error);
    Str encoded = json_string(arena, base64_text(arena, body));
    return wrap_payload(arena, S("data_base64"), encoded, event, error);
}

Err cloudevent_binary(Arena *arena, const CloudHeader *headers, size_t count, Str content_type,
                      Str body, Event *ret, Error *error)
{
    Error own = { 0 };
    Members members = members_open(NULL, S(""), error ? error : &own);
    TRY(headers_object(arena, headers, count, &members));
    Event event = { .occurred_at = INSTANT_NONE };
    read_attributes(arena, &members, &event);
    TRY(members_close(&members, ERR_EVENT_INVALID));

    TRY(take_body(arena, content_type, body, &event, error));
    *ret = event;
    return ERR_OK;
}
