#include "base/version.h"
#include "channels/channel.h"
#include "domain/members.h"
#include "net/url.h"

// What a site took in goes to central, many rows in one request and in their order. A payload is
// such a row already (domain/forward.h), so a request is the rows behind one another. Central tells
// of each by its place whether it has it; only that word is about a row. Whatever else comes back,
// be it no answer, a refused key or a page of somebody in between, says nothing of the rows: they
// stay, and are tried again.

enum {
    URL_MAX = 2000,
    KEY_MAX = 200,
    PARCEL_MAX = 1000,    // what a round claims: more would only be looked at (queue_claim.c)
    ANSWER_MAX = 8 << 20, // a row takes a hundred bytes, some hundred where it was refused
};

static void check(const Members *members, void *value);
static Err request(const Parcel *parcel, Transfer *ret, Error *error);
static void judge(const Parcel *parcel, const TransferResult *result);

// clang-format off
static const Field fields[] = {
    { "url", FIELD_URL,  FIELD_NEEDED, .max = URL_MAX, .help = "central's, without a path" },
    { "key", FIELD_TEXT, FIELD_SECRET, .max = KEY_MAX, .help = "a key with the role site" },
};
// clang-format on

static const Shape config_shape = {
    "ForwardConfig",
    SHAPE_ROWS(fields),
    .invalid = ERR_CHANNEL_INVALID,
    .check = check,
};

const ChannelType channel_forward = {
    .type = "forward",
    .carrier = CARRIER_TRANSFER,
    .parcel_max = PARCEL_MAX,
    .is_ordered = true,
    .is_timeless = true,
    .config = &config_shape,
    .url = "url",
    .request = request,
    .judge = judge,
};

static void check(const Members *members, void *value)
{
    (void) value;
    Str url = json_str(members_get(members, "url"));
    const char *problem = url.len && str_is_printable(url) ? url_problem(url) : NULL;
    if (problem)
        members_note(members, S("url"), "bad-value", "%s", problem);
}

static Str rows_of(const Parcel *parcel)
{
    Buf body = buf_new(parcel->arena, BUF_WHOLE);
    buf_add(&body, S("{\"rows\":["));
    for (size_t i = 0; i < parcel->count; i++) {
        if (i > 0)
            buf_add_char(&body, ',');
        buf_add(&body, parcel->messages[i].payload);
    }
    buf_add(&body, S("]}"));
    return buf_str(&body);
}

static Err request(const Parcel *parcel, Transfer *ret, Error *error)
{
    (void) error;
    Str url = json_str(json_get(parcel->config, S("url")));
    Str key = json_str(json_get(parcel->config, S("key")));
    Header *headers = ARENA_ARRAY(parcel->arena, Header, 3);
    headers[0] = (Header){ S("content-type"), S("application/json") };
    headers[1] = (Header){ S("user-agent"), S("Peal/" PEAL_VERSION) };
    headers[2] =
        (Header){ S("authorization"), str_format(parcel->arena, "Bearer %.*s", STR_ARG(key)) };
    while (str_ends(url, S("/")))
        url.len--;
    *ret = (Transfer){ .method = S("POST"),
                       .url = str_format(parcel->arena, "%.*s/v1/site/forward", STR_ARG(url)),
                       .headers = headers,
                       .header_count = 3,
                       .body = rows_of(parcel),
                       .response_max = ANSWER_MAX };
    return ERR_OK;
}

// keep_all judges a request that central did not take: whatever the reason, the rows stay.
static void keep_all(const Parcel *parcel, Outcome outcome, Str detail)
{
    outcome.verdict = VERDICT_TRANSIENT;
    if (outcome.code == 401 || outcome.code == 403)
        outcome.reason = REASON_LOGIN_REFUSED;
    else if (outcome.reason == REASON_ACCEPTED)
        outcome.reason = REASON_UNCLASSIFIED;
    if (detail.at)
        outcome.detail = detail;
    outcome.provider_id = STR_NONE;
    parcel_judge(parcel, &outcome);
}

// judge_row reads what central says of one row; false where it says nothing that is known.
static bool judge_row(Arena *arena, const Message *message, const Json *row)
{
    Str word = json_str(json_get(row, S("outcome")));
    Outcome outcome = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED, .code = 200 };
    if (str_eq(word, S("rejected"))) {
        outcome.verdict = VERDICT_PERMANENT;
        outcome.reason = REASON_REFUSED;
        outcome.detail =
            judge_detail(arena, json_str(json_get(json_get(row, S("error")), S("message"))));
    } else if (!str_eq(word, S("accepted")) && !str_eq(word, S("duplicate"))) {
        return false;
    }
    message_judge(message, &outcome);
    return true;
}

static void judge(const Parcel *parcel, const TransferResult *result)
{
    const Json *answer = NULL, *rows;
    Outcome whole = judge_http(parcel->arena, result, parcel->now);
    if (whole.verdict != VERDICT_DELIVERED) {
        keep_all(parcel, whole, STR_NONE);
        return;
    }
    bool is_read = json_parse(parcel->arena, result->body, &answer, NULL) == ERR_OK;
    rows = is_read ? json_get(answer, S("rows")) : NULL;
    if (json_count(rows) != parcel->count) {
        keep_all(parcel, whole, S("central's answer does not tell of each row"));
        return;
    }
    for (JsonIter it = json_each(rows); json_next(&it);)
        if (!judge_row(parcel->arena, &parcel->messages[it.index - 1], it.value)) {
            keep_all(parcel, whole, S("central tells of a row what is not known here"));
            return;
        }
}
