#include "domain/cloudevent.h"

#include "base/crypto.h"
#include "domain/trace.h"

enum { BODY_BYTES_MAX = 1 << 30 }; // how much comes is limited at the door

// CloudEvent is what is read of one; the headers of a binary one are made into the same object.
typedef struct CloudEvent {
    Event event;
    Str version, trace, correlation;
    const Json *data;
    Str bytes; // in base64
} CloudEvent;

static void check(const Members *members, void *value)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const CloudEvent *cloud = value;
    Str decoded;
    if (!cloud)
        return;
    if (cloud->version.at && !str_eq(cloud->version, S("1.0")))
        members_note(members, S("specversion"), "bad-value", "must be 1.0, not %.*s",
                     STR_ARG(cloud->version));
    if (cloud->data && cloud->bytes.at)
        members_note(members, S("data_base64"), "bad-value", "give data or data_base64, not both");
    else if (cloud->bytes.at && !base64_parse(&scratch, cloud->bytes, &decoded))
        members_note(members, S("data_base64"), "bad-value", "must be a string of base64");
}

// The attributes come first. Any other is an extension and is dropped.
// clang-format off
#define AT(member) offsetof(CloudEvent, member)
static const Field rows[] = {
    { "specversion",   FIELD_TEXT, FIELD_NEEDED, AT(version), .max = 20, .help = "1.0" },
    { "id",            FIELD_TEXT, FIELD_NEEDED, AT(event.identity), .max = EVENT_IDENTITY_MAX },
    { "source",        FIELD_TEXT, FIELD_NEEDED, AT(event.source), .max = EVENT_SOURCE_MAX },
    { "type",          FIELD_TEXT, FIELD_NEEDED, AT(event.kind), .max = EVENT_KIND_MAX, .help = "The event's kind" },
    { "subject",       FIELD_TEXT, 0, AT(event.entity), .max = EVENT_ENTITY_MAX, .help = "What it is about" },
    { "time",          FIELD_TIME, 0, AT(event.occurred_at) },
    { "correlationid", FIELD_TEXT, 0, AT(correlation), .max = EVENT_CORRELATION_MAX },
    { "traceparent",   FIELD_TEXT, 0, AT(trace), .max = EVENT_CORRELATION_MAX },
    { "data",          FIELD_ANY,  0, AT(data) },
    { "data_base64",   FIELD_TEXT, FIELD_EMPTY, AT(bytes), .max = BODY_BYTES_MAX, .help = "Bytes in base64, instead of data" },
};
// clang-format on
enum { ATTRIBUTES = ARRAY_LEN(rows) - 2 };

const Shape cloudevent_shape = {
    .name = "CloudEvent",
    SHAPE_ROWS(rows),
    .size = sizeof(CloudEvent),
    .is_open = true,
    .invalid = ERR_EVENT_INVALID,
    .check = check,
};

// read_cloud reads an object; what was noted before it counts as well.
static Err read_cloud(Arena *arena, const Json *object, CloudEvent *ret, Error *error)
{
    CloudEvent cloud = { .event = { .occurred_at = INSTANT_NONE } };
    fields_note(arena, object, S(""), &cloudevent_shape, &cloud, error);
    TRY(error_close(error, ERR_EVENT_INVALID));
    cloud.event.trace = trace_read(arena, cloud.trace);
    // The caller's own word goes before the tracer's.
    cloud.event.correlation_id = cloud.correlation.at ? cloud.correlation : cloud.trace;
    *ret = cloud;
    return ERR_OK;
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
    CloudEvent cloud;
    TRY(read_cloud(arena, body, &cloud, error ? error : &own));
    if (cloud.bytes.at)
        TRY(wrap_payload(arena, S("data_base64"), json_string(arena, cloud.bytes), &cloud.event,
                         error));
    else
        TRY(take_data(arena, cloud.data, &cloud.event, error));
    *ret = cloud.event;
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
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (str_eq_nocase(str_skip(header, 3), str_from(rows[i].name)))
            return i;
    }
    return -1;
}

// headers_object makes the attributes among the headers into the JSON object of a structured event.
static Err headers_object(Arena *arena, const CloudHeader *headers, size_t count, const Json **ret,
                          Error *error)
{
    Members members = members_open(NULL, S(""), error);
    bool is_seen[ATTRIBUTES] = { 0 };
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    for (size_t i = 0; i < count; i++) {
        int attribute = attribute_of(headers[i].name);
        if (attribute < 0)
            continue;
        Str name = str_from(rows[attribute].name);
        Str value = decode(arena, headers[i].value);
        if (is_seen[attribute]) {
            members_note(&members, name, "bad-value", "the header stands twice");
            continue;
        }
        is_seen[attribute] = true;
        if (value.len > 0 && !str_is_utf8(value))
            members_note(&members, name, "bad-value", "the header is not UTF-8");
        else
            json_put_str(&out, name, value);
    }
    json_close(&out, '}');
    return json_parse(arena, buf_str(&buf), ret, error);
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
    Error own = { 0 }, *noted = error ? error : &own;
    const Json *object;
    CloudEvent cloud;
    TRY(headers_object(arena, headers, count, &object, noted));
    TRY(read_cloud(arena, object, &cloud, noted));
    TRY(take_body(arena, content_type, body, &cloud.event, error));
    *ret = cloud.event;
    return ERR_OK;
}
