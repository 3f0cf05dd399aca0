#include "base/time.h"
#include "base/version.h"
#include "channels/channel.h"
#include "domain/channel.h"
#include "domain/members.h"
#include "domain/trace.h"
#include "net/url.h"

// One POST per attempt, signed as Standard Webhooks asks: HMAC-SHA256 over "id.timestamp.body" with
// each live secret, so that a receiver may change its secret while messages are under way.

enum {
    URL_MAX = 2000,
    SECRETS_MAX = 4,
    SECRET_BYTES_MIN = 24,
    SECRET_BYTES_MAX = 64,
    SECRET_TEXT_MAX = 100,
    HEADERS_MAX = 20,
    HEADER_VALUE_MAX = 2000,
    OWN_HEADERS_MAX = 9,
};

static void check(const Members *members, void *value);
static Err request(const Parcel *parcel, Transfer *ret, Error *error);
static void judge(const Parcel *parcel, const TransferResult *result);

static const char *const methods[] = { "POST", "PUT", NULL };
static const Field line = { NULL, FIELD_TEXT, FIELD_EMPTY, .max = HEADER_VALUE_MAX };

// clang-format off
static const Field fields[] = {
    { "url", FIELD_URL, FIELD_NEEDED, .max = URL_MAX },
    { "signingSecret", FIELD_LIST, FIELD_SECRET | FIELD_ALONE | FIELD_OVERLAPS, .min = 1, .max = SECRETS_MAX, .of = &line,
      .help = "whsec_ and 24 to 64 bytes in base64; several while a receiver changes over" },
    { "headers", FIELD_MAP, FIELD_SECRET, .max = HEADERS_MAX, .of = &line },
    { "method", FIELD_WORD, .words = methods, .noun = "a method", .help = "POST unless said" },
    { "authorization", FIELD_TEXT, FIELD_SECRET, .max = HEADER_VALUE_MAX, .help = "the header's value" },
    CHANNEL_LEASE_FIELD(0),
};
// clang-format on

static const Shape config_shape = {
    "HttpConfig",
    SHAPE_ROWS(fields),
    .invalid = ERR_CHANNEL_INVALID,
    .check = check,
};

const ChannelType channel_http = {
    .type = "http",
    .carrier = CARRIER_TRANSFER,
    .parcel_max = 1,
    .config = &config_shape,
    .url = "url",
    .request = request,
    .judge = judge,
};

// read_secret turns "whsec_<base64>" into the bytes of the key.
static bool read_secret(Arena *arena, Str text, Str *ret)
{
    Str key;
    if (text.len > SECRET_TEXT_MAX || !str_starts(text, S("whsec_")) ||
        !base64_parse(arena, str_skip(text, 6), &key))
        return false;
    if (key.len < SECRET_BYTES_MIN || key.len > SECRET_BYTES_MAX)
        return false;
    *ret = key;
    return true;
}

// is_reserved is true for headers that frame the request or that Peal itself writes.
static bool is_reserved(Str name)
{
    static const char *const names[] = {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "content-type",
        "expect",
        "te",
        "trailer",
        "upgrade",
        "keep-alive",
        "traceparent",
        "proxy-connection",
        "proxy-authorization",
        "idempotency-key",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq_nocase(name, str_from(names[i])))
            return true;
    static const Str prefixes[] = { S("webhook-"), S("peal-") };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (name.len >= prefixes[i].len &&
            str_eq_nocase((Str){ name.at, prefixes[i].len }, prefixes[i]))
            return true;
    return false;
}

static void check_url(const Members *members)
{
    Str url = json_str(members_get(members, "url"));
    if (url.len == 0 || url.len > URL_MAX || !str_is_printable(url))
        return; // its row has complained
    const char *problem = url_problem(url);
    if (problem)
        members_note(members, S("url"), "bad-url", "%s", problem);
}

static void check_secret(const Members *members, Str name, const Json *value)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str key;
    if (json_type(value) == JSON_STRING && !read_secret(&arena, json_str(value), &key))
        members_note(members, name, "bad-secret", "must be \"whsec_\" and %d to %d bytes in base64",
                     SECRET_BYTES_MIN, SECRET_BYTES_MAX);
}

static void check_secrets(const Members *members)
{
    const Json *value = members_get(members, "signingSecret");
    check_secret(members, S("signingSecret"), value);
    Members list =
        members_open(value, members_pointer(members, S("signingSecret")), members->error);
    for (JsonIter it = json_each(value);
         json_type(value) == JSON_ARRAY && json_next(&it) && it.index <= SECRETS_MAX;) {
        char index[24];
        snprintf(index, sizeof index, "%zu", it.index - 1);
        check_secret(&list, str_from(index), it.value);
    }
}

static void check_header_name(const Members *headers, Str name)
{
    if (!header_is_token(name))
        members_note(headers, name, "bad-header", "is not a header's name");
    else if (str_eq_nocase(name, S("authorization")))
        members_note(headers, name, "reserved-header",
                     "belongs into the member \"authorization\", which is kept secret");
    else if (is_reserved(name))
        members_note(headers, name, "reserved-header", "is written by Peal");
}

// check says of the settings what their rows cannot.
static void check(const Members *members, void *value)
{
    (void) value;
    const Json *map = members_get(members, "headers");
    Members headers = members_open(map, members_pointer(members, S("headers")), members->error);
    check_url(members);
    check_secrets(members);
    for (JsonIter it = json_each(map); json_type(map) == JSON_OBJECT && json_next(&it);)
        check_header_name(&headers, it.key);
}

// add_signatures signs with a secret, or with each of a list.
static Err add_signatures(Arena *arena, const Json *value, Str signed_text, Buf *ret, Error *error)
{
    bool is_list = json_type(value) == JSON_ARRAY;
    size_t count = is_list ? json_count(value) : json_type(value) == JSON_STRING;
    for (size_t i = 0; i < count; i++) {
        Str key;
        if (!read_secret(arena, json_str(is_list ? json_at(value, i) : value), &key))
            return fail(error, ERR_CHANNEL_INVALID, "the signing secret cannot be read");
        Sha256 mac = hmac_sha256(key, signed_text);
        buf_add(ret, ret->len > 0 ? S(" v1,") : S("v1,"));
        buf_add(ret, base64_text(arena, (Str){ (const char *) mac.b, SHA256_LEN }));
    }
    return ERR_OK;
}

// previous_secret is the one that was rotated away, while its overlap lasts; NULL.
static const Json *previous_secret(const Json *config, Instant now)
{
    const Json *previous = json_get(config, S("signingSecret/previous"));
    Instant until;
    bool is_live = time_parse(json_str(json_get(previous, S("until"))), &until) && now < until;
    return is_live ? json_get(previous, S("value")) : NULL;
}

static Err sign(const Parcel *parcel, Str signed_text, Str *ret, Error *error)
{
    Arena *arena = parcel->arena;
    const Json *current = json_get(parcel->config, S("signingSecret"));
    const Json *previous = previous_secret(parcel->config, parcel->now);
    Buf signature = buf_new(arena, 1024);
    TRY(add_signatures(arena, current, signed_text, &signature, error));
    TRY(add_signatures(arena, previous, signed_text, &signature, error));
    *ret = signature.len > 0 ? buf_str(&signature) : STR_NONE;
    return ERR_OK;
}

typedef struct HeaderList {
    Header *headers;
    size_t count;
} HeaderList;

static void add(HeaderList *list, Str name, Str value)
{
    list->headers[list->count++] = (Header){ name, value };
}

static void add_configured(HeaderList *list, const Json *config)
{
    bool has_agent = false;
    for (JsonIter it = json_each(json_get(config, S("headers"))); json_next(&it);) {
        if (list->count == HEADERS_MAX + OWN_HEADERS_MAX - 2)
            break;
        has_agent = has_agent || str_eq_nocase(it.key, S("user-agent"));
        add(list, it.key, json_str(it.value));
    }
    if (!has_agent)
        add(list, S("user-agent"), S("Peal/" PEAL_VERSION));
    Str authorization = json_str(json_get(config, S("authorization")));
    if (authorization.at)
        add(list, S("authorization"), authorization);
}

static Err request(const Parcel *parcel, Transfer *ret, Error *error)
{
    char delivery[UUID_TEXT_LEN + 1];
    const Message *message = parcel->messages;
    const Json *config = parcel->config;
    Arena *arena = parcel->arena;
    Str url = json_str(json_get(config, S("url")));
    if (!url.at)
        return fail(error, ERR_CHANNEL_INVALID, "the channel has no URL");
    Str method = json_str(json_get(config, S("method")));
    Str body = message_json(arena, message);
    Str id = STR_JOIN(arena, uuid_text(message->promise.id, delivery), S("."),
                      str_i64(arena, message->send));
    Str timestamp = str_i64(arena, parcel->now / SPAN_SECOND);
    Str signature = STR_NONE;
    TRY(sign(parcel, STR_JOIN(arena, id, S("."), timestamp, S("."), body), &signature, error));

    HeaderList list = { ARENA_ARRAY(arena, Header, HEADERS_MAX + OWN_HEADERS_MAX), 0 };
    add(&list, S("content-type"), S("application/json"));
    add(&list, S("webhook-id"), id);
    add(&list, S("webhook-timestamp"), timestamp);
    if (signature.at)
        add(&list, S("webhook-signature"), signature);
    add(&list, S("peal-attempt"), str_i64(arena, message->attempt));
    add(&list, S("traceparent"),
        trace_next(arena, message->trace, message->promise.event, message->promise.id,
                   message->attempt));
    add(&list, S("idempotency-key"), id);
    add_configured(&list, config);
    *ret = (Transfer){
        .method = method.at ? method : S("POST"),
        .url = url,
        .headers = list.headers,
        .header_count = list.count,
        .body = body,
        .response_max = message_is_run(message) ? TRANSFER_READ_MAX : RESPONSE_KEPT_MAX,
        .pool = message->promise.tenant,
    };
    return ERR_OK;
}

// first_text is the first of an answer's members that says something; none.
static Str first_text(Arena *arena, const Json *answer, const Str *names, size_t count)
{
    Str text = STR_NONE;
    for (size_t i = 0; i < count && !text.at; i++)
        text = judge_detail(arena, json_str(json_get(answer, names[i])));
    return text;
}

// judge_answer reads what a handler says in the body of a 2xx: whether it went well after all, and
// its words.
static void judge_answer(Arena *arena, const Json *answer, Outcome *outcome)
{
    static const Str well[] = { S("message") }, failed[] = { S("error"), S("message") };
    const Json *ok = json_get(answer, S("ok"));
    bool has_failed = json_type(ok) == JSON_BOOL && !json_bool(ok);
    Str words = has_failed ? first_text(arena, answer, failed, ARRAY_LEN(failed))
                           : first_text(arena, answer, well, ARRAY_LEN(well));
    if (words.at)
        outcome->detail = words;
    if (!has_failed)
        return;
    bool is_permanent = json_bool(json_get(answer, S("permanent")));
    outcome->verdict = is_permanent ? VERDICT_PERMANENT : VERDICT_TRANSIENT;
    outcome->reason = is_permanent ? REASON_REFUSED : REASON_UNWELL;
    outcome->provider_id = STR_NONE;
}

// judge_run: a handler may say more than that it took the request. With a 202 it has taken the run
// on, and tells under its lease what becomes of it.
static void judge_run(const Parcel *parcel, const TransferResult *result, Outcome *outcome)
{
    const Json *answer;
    if (result->body.len > 0 && json_parse(parcel->arena, result->body, &answer, NULL) == ERR_OK)
        judge_answer(parcel->arena, answer, outcome);
    if (outcome->verdict == VERDICT_DELIVERED && result->status == 202) {
        outcome->verdict = VERDICT_ELSEWHERE;
        outcome->lease = parcel->lease;
    }
}

static void judge(const Parcel *parcel, const TransferResult *result)
{
    Outcome outcome = judge_http(parcel->arena, result, parcel->now);
    if (outcome.verdict == VERDICT_DELIVERED && message_is_run(parcel->messages))
        judge_run(parcel, result, &outcome);
    parcel_judge(parcel, &outcome);
}
