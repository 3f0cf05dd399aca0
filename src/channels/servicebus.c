#include "channels/servicebus.h"

#include "base/time.h"
#include "base/version.h"

enum { HEADERS_COUNT = 4 };

static bool is_alnum(char c)
{
    c = str_lower_char(c);
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

// is_path: parts between slashes, each of letters, digits and marks, and none that begins or ends
// with a mark: there is no ".." among them, nor an empty one.
static bool is_path(Str text, const char *marks)
{
    char before = '/';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_mark = c && strchr(marks, c);
        bool is_inside = is_alnum(before) || (before != '/' && c != '/');
        if (!is_alnum(c) && !(is_mark && is_inside))
            return false;
        before = c;
    }
    return is_alnum(before);
}

bool servicebus_is_namespace(Str text)
{
    return text.len <= SERVICEBUS_NAMESPACE_MAX && is_path(text, ".-");
}

bool servicebus_is_queue(Str text)
{
    return text.len <= SERVICEBUS_QUEUE_MAX && is_path(text, ".-_/");
}

// encode_resource: what is signed is the URL as it stands in the token, in lower case.
static Str encode_resource(Arena *arena, Str resource)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    buf_add_percent(&text, resource);
    for (size_t i = 0; i < text.len; i++)
        text.at[i] = str_lower_char(text.at[i]);
    return buf_str(&text);
}

Str servicebus_token(Arena *arena, Str resource, Str key_name, Str key, Instant expires)
{
    Str encoded = encode_resource(arena, resource);
    Str until = str_i64(arena, expires / SPAN_SECOND);
    Sha256 mac = hmac_sha256(key, STR_JOIN(arena, encoded, S("\n"), until));
    Buf token = buf_new(arena, BUF_WHOLE);
    buf_add(&token, S("SharedAccessSignature sr="));
    buf_add(&token, encoded);
    buf_add(&token, S("&sig="));
    buf_add_percent(&token, base64_text(arena, (Str){ (const char *) mac.b, SHA256_LEN }));
    buf_add(&token, S("&se="));
    buf_add(&token, until);
    buf_add(&token, S("&skn="));
    buf_add_percent(&token, key_name);
    return buf_str(&token);
}

static Str setting(const Parcel *parcel, Str name)
{
    return json_str(json_get(parcel->config, name));
}

// home_of is where the namespace is: its name alone is one of Azure's public cloud.
static Str home_of(const Parcel *parcel)
{
    Str name = setting(parcel, S("namespace"));
    bool is_host = str_contains(name, S("."));
    return STR_JOIN(parcel->arena, S("https://"), name,
                    is_host ? S("") : S(".servicebus.windows.net"));
}

// url_of: a proxy may stand before the namespace; what is signed stays the namespace's.
static Str url_of(const Parcel *parcel)
{
    Str base = setting(parcel, S("baseUrl"));
    if (!base.at)
        base = home_of(parcel);
    while (str_ends(base, S("/")))
        base.len--;
    return STR_JOIN(parcel->arena, base, S("/"), setting(parcel, S("queue")), S("/messages"));
}

static Str sign(const Parcel *parcel)
{
    Str resource = STR_JOIN(parcel->arena, home_of(parcel), S("/"), setting(parcel, S("queue")));
    return servicebus_token(parcel->arena, resource, setting(parcel, S("keyName")),
                            setting(parcel, S("key")), parcel->now + SERVICEBUS_TOKEN_LIFE);
}

// answered_id is the public id of the delivery that a subscriber is told the answer of; none.
static Str answered_id(Arena *arena, const Message *message)
{
    const Json *payload;
    if (message->rule_kind != RULE_SUBSCRIBER ||
        json_parse(arena, message->payload, &payload, NULL) != ERR_OK)
        return STR_NONE;
    Str id = json_str(json_get(payload, S("publicId")));
    for (size_t i = 0; i < id.len; i++)
        if (!is_alnum(id.at[i]))
            return STR_NONE;
    return id.len == PUBLIC_ID_LEN ? id : STR_NONE;
}

// message_id: a reminder is no duplicate of what was sent before it, and has its number behind it.
static Str message_id(Arena *arena, const Message *message)
{
    Str answered = answered_id(arena, message);
    Str id = answered.at ? answered : message->promise.public_id;
    return message->send > 1 ? STR_JOIN(arena, id, S("."), str_i64(arena, message->send)) : id;
}

// broker_properties has nothing in it that a client wrote: it is a header, of ASCII alone.
static Str broker_properties(const Parcel *parcel)
{
    const Message *message = parcel->messages;
    Span ttl;
    Buf text = buf_new(parcel->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("MessageId"), message_id(parcel->arena, message));
    json_put_id(&out, S("CorrelationId"), message->promise.event);
    if (duration_parse(setting(parcel, S("ttl")), &ttl))
        json_put_i64(&out, S("TimeToLive"), ttl / SPAN_SECOND);
    json_close(&out, '}');
    return buf_str(&text);
}

Err servicebus_request(const Parcel *parcel, Transfer *ret, Error *error)
{
    (void) error; // its settings were checked, and any message will do
    assert(parcel->count == 1);
    Header *headers = ARENA_ARRAY(parcel->arena, Header, HEADERS_COUNT);
    headers[0] = (Header){ S("content-type"), S("application/json") };
    headers[1] = (Header){ S("user-agent"), S("Peal/" PEAL_VERSION) };
    headers[2] = (Header){ S("authorization"), sign(parcel) };
    headers[3] = (Header){ S("brokerproperties"), broker_properties(parcel) };
    *ret = (Transfer){
        .method = S("POST"),
        .url = url_of(parcel),
        .headers = headers,
        .header_count = HEADERS_COUNT,
        .body = message_json(parcel->arena, parcel->messages),
        .response_max = RESPONSE_KEPT_MAX,
    };
    return ERR_OK;
}
