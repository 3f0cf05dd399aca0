#include "base/time.h"
#include "base/version.h"
#include "channels/channel.h"
#include "test.h"

#define SECRET_A "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SECRET_B "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

static const Json *parse(Arena *arena, const char *text)
{
    const Json *value = NULL;
    Err err = json_parse(arena, str_from(text), &value, NULL);
    CHECK_AT(text, err == ERR_OK);
    return value;
}

static const Outcome untold = { .verdict = VERDICT_UNKNOWN };

static Message sample(void)
{
    Message message = {
        .promise = { .tenant = 7,
                     .public_id = S("q7AbC"),
                     .address = S("+964 770 \"1\""),
                     .locale = S("ar") },
        .event_kind = S("order.paid"),
        .rule_id = S("csi"),
        .send = 1,
        .attempt = 2,
        .url = S("https://peal.example/s/q7AbC"),
        .payload = S("{\"wip\":\"40956\",\"n\":9007199254740993}"),
    };
    bool is_good = uuid_parse(S("01970000-0000-7000-8000-000000000001"), &message.promise.id) &&
                   uuid_parse(S("01970000-0000-7000-8000-0000000000ee"), &message.promise.event) &&
                   time_parse(S("2026-05-14T05:12:34Z"), &message.occurred_at);
    assert(is_good);
    return message;
}

// parcel_of carries one message.
static Parcel parcel_of(Arena *arena, Message *message, const Json *config)
{
    Parcel parcel = { .config = config, .messages = message, .count = 1, .arena = arena };
    bool is_good = time_parse(S("2026-05-14T05:13:00.900Z"), &parcel.now);
    assert(is_good);
    return parcel;
}

static Err request_http(Arena *arena, Message *message, const Json *config, Transfer *ret,
                        Error *error)
{
    Parcel parcel = parcel_of(arena, message, config);
    return channel_http.request(&parcel, ret, error);
}

static Str header_of(const Transfer *transfer, const char *name)
{
    Str found = STR_NONE;
    for (size_t i = 0; i < transfer->header_count; i++) {
        if (!str_eq_nocase(transfer->headers[i].name, str_from(name)))
            continue;
        CHECK_AT(name, !found.at); // never twice
        found = transfer->headers[i].value;
    }
    return found;
}

static void the_body_has_the_members_of_the_contract(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Message message = sample();
    CHECK(str_eq(message_json(&arena, &message),
                 S("{\"type\":\"order.paid\",\"timestamp\":\"2026-05-14T05:12:34.000Z\","
                   "\"deliveryId\":\"01970000-0000-7000-8000-000000000001\",\"publicId\":\"q7AbC\","
                   "\"eventId\":\"01970000-0000-7000-8000-0000000000ee\","
                   "\"eventKind\":\"order.paid\",\"triggerId\":\"csi\",\"rule\":{\"kind\":"
                   "\"trigger\",\"id\":\"csi\",\"version\":0},\"send\":1,\"attempt\":2,"
                   "\"address\":\"+964 770 \\\"1\\\"\",\"locale\":\"ar\",\"customerRef\":null,"
                   "\"url\":\"https://peal.example/s/q7AbC\","
                   "\"occurredAt\":\"2026-05-14T05:12:34.000Z\","
                   "\"payload\":{\"wip\":\"40956\",\"n\":9007199254740993}}")));
}

static void a_run_tells_its_handler_what_it_is(void)
{
    static const struct {
        RuleKind kind;
        const char *source, *told;
    } rows[] = {
        { RULE_JOB, "schedule",
          "\"job\":\"csi\",\"entity\":\"order-7\",\"executionId\":"
          "\"01970000-0000-7000-8000-000000000001-2\",\"source\":\"Scheduled\","
          "\"scheduledFor\":\"2026-05-14T05:12:34.000Z\",\"payload\"" },
        { RULE_AUTOMATION, "deferred",
          "\"automation\":\"csi\",\"runId\":\"01970000-0000-7000-8000-000000000001\","
          "\"entity\":\"order-7\",\"executionId\":"
          "\"01970000-0000-7000-8000-000000000001-2\",\"source\":\"Deferred\","
          "\"scheduledFor\":\"2026-05-14T05:12:34.000Z\",\"payload\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Message message = sample();
        message.rule_kind = rows[i].kind;
        message.source = str_from(rows[i].source);
        message.promise.entity = S("order-7");
        CHECK_AT(rows[i].source,
                 str_contains(message_json(&arena, &message), str_from(rows[i].told)));
    }
}

// A handler's answer may say more than another receiver's.
static void the_answer_of_a_handler_is_read(void)
{
    static const struct {
        int status;
        const char *body;
        Verdict run, other;
        const char *detail; // of the run
    } rows[] = {
        { 200, "", VERDICT_DELIVERED, VERDICT_DELIVERED, NULL },
        { 200, "{\"ok\":false,\"error\":\"no\"}", VERDICT_TRANSIENT, VERDICT_DELIVERED, "no" },
        { 200, "{\"ok\":false,\"permanent\":true,\"message\":\"no\"}", VERDICT_PERMANENT,
          VERDICT_DELIVERED, "no" },
        { 200, "{\"ok\":0}", VERDICT_DELIVERED, VERDICT_DELIVERED, "{\"ok\":0}" },
        { 200, "{\"message\":\"well\"}", VERDICT_DELIVERED, VERDICT_DELIVERED, "well" },
        { 202, "", VERDICT_ELSEWHERE, VERDICT_DELIVERED, NULL },
        { 202, "{\"ok\":false,\"error\":\"no\"}", VERDICT_TRANSIENT, VERDICT_DELIVERED, "no" },
        { 503, "{\"ok\":true}", VERDICT_TRANSIENT, VERDICT_TRANSIENT, "{\"ok\":true}" },
        { 404, "{\"ok\":true}", VERDICT_PERMANENT, VERDICT_PERMANENT, "{\"ok\":true}" },
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        size_t at = i / 2;
        bool is_run = i % 2;
        Target target = { .outcome = { .verdict = VERDICT_UNKNOWN } };
        Message message = { .rule_kind = is_run ? RULE_JOB : RULE_TRIGGER,
                            .targets = &target,
                            .target_count = 1 };
        Parcel parcel = { .type = &channel_http,
                          .messages = &message,
                          .count = 1,
                          .arena = &arena,
                          .lease = SPAN_HOUR };
        TransferResult result = { .problem = TRANSFER_ANSWERED,
                                  .status = rows[at].status,
                                  .body = str_from(rows[at].body) };
        channel_http.judge(&parcel, &result);
        Outcome outcome = target.outcome;
        CHECK_AT(rows[at].body, outcome.verdict == (is_run ? rows[at].run : rows[at].other));
        CHECK_AT(rows[at].body,
                 (outcome.lease == SPAN_HOUR) == (outcome.verdict == VERDICT_ELSEWHERE));
        Str detail = rows[at].detail ? str_from(rows[at].detail) : STR_NONE;
        CHECK_AT(rows[at].body, !is_run || str_eq(outcome.detail, detail));
    }
}

static void a_request_carries_id_time_and_trace(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Message message = sample();
    Transfer transfer;
    const Json *config =
        parse(&arena, "{\"url\":\"https://bi.example/in\",\"headers\":{\"X-Team\":\"csi\"}}");
    CHECK(request_http(&arena, &message, config, &transfer, NULL) == ERR_OK);
    CHECK(str_eq(transfer.method, S("POST")));
    CHECK(str_eq(transfer.url, S("https://bi.example/in")));
    CHECK(str_eq(transfer.body, message_json(&arena, &message)));
    CHECK(transfer.pool == 7 && transfer.response_max == 4096);
    static const struct {
        const char *name, *value;
    } cases[] = {
        { "content-type", "application/json" },
        { "user-agent", "Peal/" PEAL_VERSION },
        { "webhook-id", "01970000-0000-7000-8000-000000000001.1" },
        { "idempotency-key", "01970000-0000-7000-8000-000000000001.1" },
        { "webhook-timestamp", "1778735580" },
        { "peal-attempt", "2" },
        { "traceparent", "00-019700000000700080000000000000ee-8000000000000003-01" },
        { "x-team", "csi" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].name,
                 str_eq(header_of(&transfer, cases[i].name), str_from(cases[i].value)));
    CHECK(!header_of(&transfer, "webhook-signature").at);
    CHECK(!header_of(&transfer, "authorization").at);
    CHECK(transfer.header_count == ARRAY_LEN(cases));

    // A retry keeps the id; the next send has another.
    message.attempt = 3;
    CHECK(request_http(&arena, &message, config, &transfer, NULL) == ERR_OK);
    CHECK(str_eq(header_of(&transfer, "webhook-id"), S("01970000-0000-7000-8000-000000000001.1")));
    CHECK(str_ends(header_of(&transfer, "traceparent"), S("-8000000000000002-01")));
    message.send = 2;
    CHECK(request_http(&arena, &message, config, &transfer, NULL) == ERR_OK);
    CHECK(str_eq(header_of(&transfer, "webhook-id"), S("01970000-0000-7000-8000-000000000001.2")));
}

static void the_config_may_set_method_agent_and_authorization(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Message message = sample();
    Transfer transfer;
    const Json *config = parse(&arena, "{\"url\":\"http://x/\",\"method\":\"PUT\","
                                       "\"authorization\":\"Bearer t\","
                                       "\"headers\":{\"User-Agent\":\"mine\"}}");
    CHECK(request_http(&arena, &message, config, &transfer, NULL) == ERR_OK);
    CHECK(str_eq(transfer.method, S("PUT")));
    CHECK(str_eq(header_of(&transfer, "user-agent"), S("mine")));
    CHECK(str_eq(header_of(&transfer, "authorization"), S("Bearer t")));
}

// expected_signature signs as a receiver would check it.
static Str expected_signature(Arena *arena, Str secret, const Transfer *transfer)
{
    Str key;
    bool is_good = base64_parse(arena, str_skip(secret, 6), &key);
    assert(is_good);
    Str text =
        str_format(arena, "%.*s.%.*s.%.*s", STR_ARG(header_of(transfer, "webhook-id")),
                   STR_ARG(header_of(transfer, "webhook-timestamp")), STR_ARG(transfer->body));
    Sha256 mac = hmac_sha256(key, text);
    Str encoded = base64_text(arena, (Str){ (const char *) mac.b, SHA256_LEN });
    return str_format(arena, "v1,%.*s", STR_ARG(encoded));
}

static void a_request_is_signed_with_each_secret(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Message message = sample();
    Transfer transfer;
    const Json *one = parse(&arena, "{\"url\":\"http://x/\",\"signingSecret\":\"" SECRET_A "\"}");
    CHECK(request_http(&arena, &message, one, &transfer, NULL) == ERR_OK);
    Str a = expected_signature(&arena, S(SECRET_A), &transfer);
    CHECK(str_eq(header_of(&transfer, "webhook-signature"), a));

    const Json *two = parse(&arena, "{\"url\":\"http://x/\",\"signingSecret\":[\"" SECRET_A
                                    "\",\"" SECRET_B "\"]}");
    CHECK(request_http(&arena, &message, two, &transfer, NULL) == ERR_OK);
    Str both = str_format(&arena, "%.*s %.*s", STR_ARG(a),
                          STR_ARG(expected_signature(&arena, S(SECRET_B), &transfer)));
    CHECK(str_eq(header_of(&transfer, "webhook-signature"), both));

    // The example of the Standard Webhooks libraries.
    Str key;
    CHECK(base64_parse(&arena, str_skip(S(SECRET_A), 6), &key));
    Sha256 mac =
        hmac_sha256(key, S("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}"));
    CHECK(str_eq(base64_text(&arena, (Str){ (const char *) mac.b, SHA256_LEN }),
                 S("g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")));

    Error error = { 0 };
    const Json *broken = parse(&arena, "{\"url\":\"http://x/\",\"signingSecret\":\"whsec_x\"}");
    CHECK(request_http(&arena, &message, broken, &transfer, &error) == ERR_CHANNEL_INVALID);
    CHECK(request_http(&arena, &message, parse(&arena, "{}"), &transfer, &error) ==
          ERR_CHANNEL_INVALID);
}

typedef struct Case {
    const char *config;
    const char *path, *code; // NULL: the config is good
} Case;

static void check_cases(const ChannelType *type, const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        fields_note(&arena, parse(&arena, cases[i].config), S("/config"), type->config, NULL,
                    &error);
        CHECK_AT(cases[i].config, error.count == (cases[i].code ? 1 : 0));
        if (!cases[i].code || error.count == 0)
            continue;
        CHECK_AT(cases[i].config, str_eq(error.problems[0].path, str_from(cases[i].path)));
        CHECK_AT(cases[i].config, strcmp(error.problems[0].code, cases[i].code) == 0);
    }
}

#define URL "\"url\":\"http://x/\""
static const Case http_configs[] = {
    { "{" URL "}", NULL, NULL },
    { "{\"url\":\"https://bi.example:8443/in?x=1\"}", NULL, NULL },
    { "{" URL ",\"signingSecret\":\"" SECRET_A "\"}", NULL, NULL },
    { "{" URL ",\"signingSecret\":[\"" SECRET_A "\",\"" SECRET_B "\"]}", NULL, NULL },
    { "{" URL ",\"signingSecret\":null,\"headers\":{},\"method\":\"PUT\"}", NULL, NULL },
    { "{" URL ",\"headers\":{\"X-A\":\"b c\",\"User-Agent\":\"x\",\"x-b\":\"\"}}", NULL, NULL },
    { "{" URL ",\"authorization\":\"Bearer x\"}", NULL, NULL },
    { "[]", "/config", "bad-type" },
    { "{}", "/config/url", "missing-member" },
    { "{\"url\":7}", "/config/url", "bad-type" },
    { "{\"url\":\"ftp://x/\"}", "/config/url", "bad-url" },
    { "{\"url\":\"x\"}", "/config/url", "bad-url" },
    { "{\"url\":\"http://u:p@x/\"}", "/config/url", "bad-url" },
    { "{\"url\":\"http://x/a b\"}", "/config/url", "bad-url" },
    { "{\"url\":\"http://x/\\n\"}", "/config/url", "bad-value" },
    { "{" URL ",\"uri\":\"x\"}", "/config/uri", "unknown-member" },
    { "{" URL ",\"a/b~\":\"x\"}", "/config/a~1b~0", "unknown-member" },
    { "{" URL ",\"method\":\"GET\"}", "/config/method", "bad-value" },
    { "{" URL ",\"method\":1}", "/config/method", "bad-type" },
    { "{" URL ",\"signingSecret\":1}", "/config/signingSecret", "bad-type" },
    { "{" URL ",\"signingSecret\":\"secret\"}", "/config/signingSecret", "bad-secret" },
    { "{" URL ",\"signingSecret\":\"whsec_\"}", "/config/signingSecret", "bad-secret" },
    { "{" URL ",\"signingSecret\":\"whsec_YWJj\"}", "/config/signingSecret", "bad-secret" },
    { "{" URL ",\"signingSecret\":\"whsec_!!!!\"}", "/config/signingSecret", "bad-secret" },
    { "{" URL ",\"signingSecret\":[]}", "/config/signingSecret", "bad-value" },
    { "{" URL ",\"signingSecret\":[\"" SECRET_A "\",\"x\"]}", "/config/signingSecret/1",
      "bad-secret" },
    { "{" URL ",\"signingSecret\":[\"" SECRET_A "\",\"" SECRET_A "\",\"" SECRET_A "\",\"" SECRET_A
      "\",\"" SECRET_A "\"]}",
      "/config/signingSecret", "bad-value" },
    { "{" URL ",\"authorization\":\"a\\r\\nb\"}", "/config/authorization", "bad-value" },
    { "{" URL ",\"headers\":[]}", "/config/headers", "bad-type" },
    { "{" URL ",\"headers\":{\"X\":1}}", "/config/headers/X", "bad-type" },
    { "{" URL ",\"headers\":{\"X Y\":\"a\"}}", "/config/headers/X Y", "bad-header" },
    { "{" URL ",\"headers\":{\"\":\"a\"}}", "/config/headers/", "bad-header" },
    { "{" URL ",\"headers\":{\"X\":\"a\\nb\"}}", "/config/headers/X", "bad-value" },
    { "{" URL ",\"headers\":{\"HOST\":\"a\"}}", "/config/headers/HOST", "reserved-header" },
    { "{" URL ",\"headers\":{\"Content-Length\":\"1\"}}", "/config/headers/Content-Length",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"transfer-encoding\":\"a\"}}", "/config/headers/transfer-encoding",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"Connection\":\"a\"}}", "/config/headers/Connection",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"content-type\":\"a\"}}", "/config/headers/content-type",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"Webhook-Id\":\"a\"}}", "/config/headers/Webhook-Id",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"PEAL-x\":\"a\"}}", "/config/headers/PEAL-x", "reserved-header" },
    { "{" URL ",\"headers\":{\"Authorization\":\"a\"}}", "/config/headers/Authorization",
      "reserved-header" },
    { "{" URL ",\"headers\":{\"a1\":\"\",\"a2\":\"\",\"a3\":\"\",\"a4\":\"\",\"a5\":\"\","
      "\"a6\":\"\",\"a7\":\"\",\"a8\":\"\",\"a9\":\"\",\"b1\":\"\",\"b2\":\"\",\"b3\":\"\","
      "\"b4\":\"\",\"b5\":\"\",\"b6\":\"\",\"b7\":\"\",\"b8\":\"\",\"b9\":\"\",\"c1\":\"\","
      "\"c2\":\"\",\"c3\":\"\"}}",
      "/config/headers", "too-large" },
};

static void a_bad_http_config_is_told_with_its_place(void)
{
    check_cases(&channel_http, http_configs, ARRAY_LEN(http_configs));

    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    fields_note(&arena, NULL, S("/config"), channel_http.config, NULL, &error);
    CHECK(error.count == 1);
    Buf url = buf_new(&arena, 4000);
    buf_add(&url, S("{\"url\":\"http://x/"));
    for (int i = 0; i < 2000; i++)
        buf_add_char(&url, 'a');
    buf_add(&url, S("\"}"));
    Error longer = { .arena = &arena };
    const Json *config = NULL;
    CHECK(json_parse(&arena, buf_str(&url), &config, NULL) == ERR_OK);
    fields_note(&arena, config, S(""), channel_http.config, NULL, &longer);
    CHECK(longer.count == 1 && strcmp(longer.problems[0].code, "too-large") == 0);
}

static void every_answer_means_something(void)
{
    static const struct {
        int status;
        Verdict verdict;
        DeliveryReason reason;
    } cases[] = {
        { 200, VERDICT_DELIVERED, REASON_ACCEPTED }, { 201, VERDICT_DELIVERED, REASON_ACCEPTED },
        { 202, VERDICT_DELIVERED, REASON_ACCEPTED }, { 204, VERDICT_DELIVERED, REASON_ACCEPTED },
        { 299, VERDICT_DELIVERED, REASON_ACCEPTED }, { 101, VERDICT_PERMANENT, REASON_REFUSED },
        { 301, VERDICT_PERMANENT, REASON_REFUSED },  { 302, VERDICT_PERMANENT, REASON_REFUSED },
        { 304, VERDICT_PERMANENT, REASON_REFUSED },  { 307, VERDICT_PERMANENT, REASON_REFUSED },
        { 400, VERDICT_PERMANENT, REASON_REFUSED },  { 401, VERDICT_PERMANENT, REASON_REFUSED },
        { 404, VERDICT_PERMANENT, REASON_REFUSED },  { 409, VERDICT_PERMANENT, REASON_REFUSED },
        { 422, VERDICT_PERMANENT, REASON_REFUSED },  { 408, VERDICT_TRANSIENT, REASON_UNWELL },
        { 425, VERDICT_TRANSIENT, REASON_UNWELL },   { 429, VERDICT_TRANSIENT, REASON_UNWELL },
        { 410, VERDICT_PERMANENT, REASON_GONE },     { 500, VERDICT_TRANSIENT, REASON_UNWELL },
        { 501, VERDICT_PERMANENT, REASON_REFUSED },  { 502, VERDICT_TRANSIENT, REASON_UNWELL },
        { 503, VERDICT_TRANSIENT, REASON_UNWELL },   { 504, VERDICT_TRANSIENT, REASON_UNWELL },
        { 505, VERDICT_PERMANENT, REASON_REFUSED },  { 507, VERDICT_TRANSIENT, REASON_UNWELL },
        { 599, VERDICT_TRANSIENT, REASON_UNWELL },   { 600, VERDICT_PERMANENT, REASON_REFUSED },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        char row[16];
        snprintf(row, sizeof row, "%d", cases[i].status);
        TransferResult result = { .status = cases[i].status, .body = S("said") };
        Message message = sample();
        Target target = { .outcome = untold };
        message.targets = &target;
        message.target_count = 1;
        Parcel parcel = parcel_of(&arena, &message, NULL);
        channel_http.judge(&parcel, &result);
        Outcome outcome = target.outcome;
        CHECK_AT(row, outcome.verdict == cases[i].verdict && outcome.reason == cases[i].reason);
        CHECK_AT(row, outcome.code == cases[i].status && str_eq(outcome.detail, S("said")));
        CHECK_AT(row, outcome.retry_after == 0);
    }
    static const struct {
        TransferProblem problem;
        Verdict verdict;
        DeliveryReason reason;
    } problems[] = {
        { TRANSFER_REFUSED, VERDICT_PERMANENT, REASON_BAD_REQUEST },
        { TRANSFER_FORBIDDEN, VERDICT_PERMANENT, REASON_ADDRESS_FORBIDDEN },
        { TRANSFER_NO_CONNECTION, VERDICT_TRANSIENT, REASON_NO_CONNECTION },
        { TRANSFER_NO_ANSWER, VERDICT_TRANSIENT, REASON_NO_ANSWER },
    };
    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TransferResult result = { .problem = problems[i].problem, .problem_text = S("why") };
        Outcome outcome = judge_http(&arena, &result, 0);
        result.status = 200; // of an answer that broke off
        CHECK(judge_http(&arena, &result, 0).verdict == problems[i].verdict);
        CHECK(judge_http(&arena, &result, 0).code == 200);
        CHECK(outcome.verdict == problems[i].verdict && outcome.reason == problems[i].reason);
        CHECK(outcome.code == 0 && str_eq(outcome.detail, S("why")) && !outcome.provider_id.at);
    }
}

static void retry_after_is_a_floor_with_a_ceiling(void)
{
    static const struct {
        const char *value;
        int status;
        Span wait;
    } cases[] = {
        { "30", 503, 30 * SPAN_SECOND },
        { " 30 ", 429, 30 * SPAN_SECOND },
        { "0", 503, 0 },
        { "86400", 503, SPAN_DAY },
        { "86401", 503, SPAN_DAY },
        { "9223372036854775807", 503, SPAN_DAY },
        { "99999999999999999999", 503, SPAN_DAY },
        { "", 503, 0 },
        { "-5", 503, 0 },
        { "1.5", 503, 0 },
        { "soon", 503, 0 },
        { "Sun, 06 Nov 1994 08:50:37 GMT", 503, 60 * SPAN_SECOND },
        { "Sun, 06 Nov 1994 08:48:37 GMT", 503, 0 },
        { "Sun, 06 Nov 2044 08:49:37 GMT", 503, SPAN_DAY },
        { "30", 200, 0 },
        { "30", 404, 0 },
    };
    Instant now;
    CHECK(time_parse(S("1994-11-06T08:49:37Z"), &now));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TransferResult result = { .status = cases[i].status,
                                  .retry_after = str_from(cases[i].value) };
        CHECK_AT(cases[i].value, judge_http(&arena, &result, now).retry_after == cases[i].wait);
    }
}

static void the_far_sides_id_is_found(void)
{
    static const struct {
        const char *header, *body, *id;
        int status;
    } cases[] = {
        { "abc", "", "abc", 200 },
        { " a\x01"
          "b ",
          "", "a b", 200 },
        { "abc", "{\"id\":\"other\"}", "abc", 200 },
        { NULL, "{\"id\":\"x-1\"}", "x-1", 200 },
        { NULL, "{\"ok\":true,\"id\":9007199254740993}", "9007199254740993", 202 },
        { "", "{\"id\":\"x\"}", "x", 200 },
        { NULL, "{\"id\":null}", NULL, 200 },
        { NULL, "{\"id\":{}}", NULL, 200 },
        { NULL, "{\"id\":\"\"}", NULL, 200 },
        { NULL, "[{\"id\":1}]", NULL, 200 },
        { NULL, "{\"id\":\"x\"", NULL, 200 },
        { NULL, "ok", NULL, 200 },
        { NULL, "", NULL, 200 },
        { "abc", "{\"id\":\"x\"}", NULL, 500 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TransferResult result = { .status = cases[i].status,
                                  .webhook_delivery_id = str_from(cases[i].header),
                                  .body = str_from(cases[i].body) };
        Str id = judge_http(&arena, &result, 0).provider_id;
        CHECK_AT(cases[i].body, str_eq(id, str_from(cases[i].id)) && !id.at == !cases[i].id);
    }
}

static void a_redirect_says_where_it_points(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    TransferResult result = { .status = 302,
                              .body = S("<html>moved</html>"),
                              .location = S("http://169.254.169.254/\x1b[2J") };
    Outcome outcome = judge_http(&arena, &result, 0);
    CHECK(outcome.verdict == VERDICT_PERMANENT && outcome.reason == REASON_REFUSED);
    CHECK(str_eq(outcome.detail, S("redirects are not followed: http://169.254.169.254/ [2J")));
    result.location = STR_NONE;
    CHECK(str_eq(judge_http(&arena, &result, 0).detail, S("<html>moved</html>")));
}

static void the_detail_is_clean_text(void)
{
    static const struct {
        Str body;
        const char *detail;
    } cases[] = {
        { S("plain"), "plain" },
        { S("  a\r\n\tb\0c\x7f "), "a   b c" },
        { S("\xc3\xa4\xf0\x9f\x98\x80"), "\xc3\xa4\xf0\x9f\x98\x80" },
        { S("a\xff\xc3"
            "b"),
          "a\xef\xbf\xbd\xef\xbf\xbd"
          "b" },
        { S("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { S("\xc2\x85x"), "x" },
        { S(""), NULL },
        { S(" \r\n "), NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        TransferResult result = { .status = 500, .body = cases[i].body };
        Str detail = judge_http(&arena, &result, 0).detail;
        CHECK_AT(cases[i].body.at, str_eq(detail, str_from(cases[i].detail)));
        CHECK_AT(cases[i].body.at, !detail.at == !cases[i].detail);
    }
    // Cut between two characters: 2000 emoji are 8000 bytes.
    DEFER(arena_done) Arena arena = { 0 };
    Buf body = buf_new(&arena, 10000);
    buf_add_char(&body, 'a');
    for (int i = 0; i < 2000; i++)
        buf_add(&body, S("\xf0\x9f\x98\x80"));
    TransferResult result = { .status = 500, .body = buf_str(&body) };
    Str detail = judge_http(&arena, &result, 0).detail;
    CHECK(detail.len == 4093 && str_is_utf8(detail));
}

static void the_memory_channel_captures_or_rehearses(void)
{
    static const struct {
        const char *config; // NULL: none
        int attempt;
        Verdict verdict;
        DeliveryReason reason;
        Span retry_after;
    } cases[] = {
        { NULL, 1, VERDICT_DELIVERED, REASON_ACCEPTED, 0 },
        { "{}", 3, VERDICT_DELIVERED, REASON_ACCEPTED, 0 },
        { "{\"answer\":\"delivered\"}", 1, VERDICT_DELIVERED, REASON_ACCEPTED, 0 },
        { "{\"answer\":\"transient\"}", 9, VERDICT_TRANSIENT, REASON_UNWELL, 0 },
        { "{\"answer\":\"transient\",\"retryAfter\":\"30s\"}", 1, VERDICT_TRANSIENT, REASON_UNWELL,
          30 * SPAN_SECOND },
        { "{\"answer\":\"permanent\"}", 1, VERDICT_PERMANENT, REASON_REFUSED, 0 },
        { "{\"failFirst\":2}", 1, VERDICT_TRANSIENT, REASON_UNWELL, 0 },
        { "{\"failFirst\":2}", 2, VERDICT_TRANSIENT, REASON_UNWELL, 0 },
        { "{\"failFirst\":2}", 3, VERDICT_DELIVERED, REASON_ACCEPTED, 0 },
        { "{\"failFirst\":1,\"answer\":\"permanent\"}", 2, VERDICT_PERMANENT, REASON_REFUSED, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Message message = sample();
        Target targets[] = { { .outcome = untold }, { .outcome = untold } };
        message.attempt = cases[i].attempt;
        message.targets = targets;
        message.target_count = ARRAY_LEN(targets);
        const char *row = cases[i].config ? cases[i].config : "none";
        const Json *config = cases[i].config ? parse(&arena, cases[i].config) : NULL;
        Parcel parcel = parcel_of(&arena, &message, config);
        channel_memory.capture(&parcel);
        Outcome outcome = targets[0].outcome;
        CHECK_AT(row, targets[1].outcome.verdict == outcome.verdict);
        CHECK_AT(row, outcome.verdict == cases[i].verdict && outcome.reason == cases[i].reason);
        CHECK_AT(row, outcome.retry_after == cases[i].retry_after);
        Str id = str_format(&arena, "mem-01970000-0000-7000-8000-000000000001.%d", message.attempt);
        if (outcome.verdict == VERDICT_DELIVERED)
            CHECK_AT(row, str_eq(outcome.provider_id, id));
    }
    static const Case configs[] = {
        { "{}", NULL, NULL },
        { "{\"answer\":\"permanent\",\"failFirst\":0,\"retryAfter\":\"1d\"}", NULL, NULL },
        { "{\"answer\":\"no\"}", "/config/answer", "bad-value" },
        { "{\"answer\":1}", "/config/answer", "bad-type" },
        { "{\"failFirst\":-1}", "/config/failFirst", "bad-value" },
        { "{\"failFirst\":1.5}", "/config/failFirst", "bad-value" },
        { "{\"retryAfter\":\"soon\"}", "/config/retryAfter", "bad-duration" },
        { "{\"retryAfter\":\"25h\"}", "/config/retryAfter", "bad-duration" },
        { "{\"fail\":\"transient\"}", "/config/fail", "unknown-member" },
    };
    check_cases(&channel_memory, configs, ARRAY_LEN(configs));
}

static void types_are_found_by_name(void)
{
    CHECK(channel_type_find(S("http")) == &channel_http);
    CHECK(channel_type_find(S("memory")) == &channel_memory);
    CHECK(!channel_type_find(S("HTTP")) && !channel_type_find(S("")));
    size_t count = 0;
    for (const ChannelType *type; (type = channel_type_at(count)); count++) {
        CHECK_AT(type->type, channel_type_find(str_from(type->type)) == type && type->config);
        // The carrier says which functions there are.
        CHECK_AT(type->type, !type->request == !type->judge && type->parcel_max > 0);
        CHECK_AT(type->type, !!type->capture == (type->carrier == CARRIER_CAPTURE));
        CHECK_AT(type->type, !!type->request == (type->carrier == CARRIER_TRANSFER));
        CHECK_AT(type->type, !!type->command == (type->carrier == CARRIER_PROCESS));
        CHECK_AT(type->type, !type->command == !type->judge_end);
    }
    CHECK(count > 2);
    CHECK(fields_find(channel_http.config, S("signingSecret"))->flags & FIELD_SECRET);
}

static const Test tests[] = {
    TEST(the_body_has_the_members_of_the_contract),
    TEST(a_run_tells_its_handler_what_it_is),
    TEST(the_answer_of_a_handler_is_read),
    TEST(a_request_carries_id_time_and_trace),
    TEST(the_config_may_set_method_agent_and_authorization),
    TEST(a_request_is_signed_with_each_secret),
    TEST(a_bad_http_config_is_told_with_its_place),
    TEST(every_answer_means_something),
    TEST(retry_after_is_a_floor_with_a_ceiling),
    TEST(the_far_sides_id_is_found),
    TEST(a_redirect_says_where_it_points),
    TEST(the_detail_is_clean_text),
    TEST(the_memory_channel_captures_or_rehearses),
    TEST(types_are_found_by_name),
};

TEST_MAIN(tests)
