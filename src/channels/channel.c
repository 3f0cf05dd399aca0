#include "channels/channel.h"

#include "base/time.h"
#include "channels/hidden.h"
#include "channels/vendor.h"
#include "domain/run.h"

enum { PROVIDER_ID_MAX = 200 };

// clang-format off
const ChannelType *const channel_types[] = {
    &channel_memory,
    &channel_http,
    &channel_email,
    &channel_forward,
    &channel_exec,
    &channel_worker,
    &vendor_teams.type,
    &vendor_slack.type,
    &vendor_twilio.type,
    &vendor_msg91.type,
    &vendor_infobip.type,
    &vendor_interakt.type,
    &vendor_whatsapp.type,
    &vendor_360dialog.type,
    &vendor_sendgrid.type,
    &vendor_servicebus.type,
    NULL,
};
// clang-format on

const ChannelType *channel_type_at(size_t index)
{
    return index < ARRAY_LEN(channel_types) ? channel_types[index] : NULL;
}

const ChannelType *channel_type_in(const ChannelType *const *types, Str type)
{
    for (; *types; types++)
        if (str_eq(type, str_from((*types)->type)))
            return *types;
    return NULL;
}

const ChannelType *channel_type_find(Str type)
{
    return channel_type_in(channel_types, type);
}

void message_judge(const Message *message, const Outcome *outcome)
{
    for (size_t i = 0; i < message->target_count; i++)
        if (!target_is_judged(&message->targets[i]))
            message->targets[i].outcome = *outcome;
}

void parcel_judge(const Parcel *parcel, const Outcome *outcome)
{
    for (size_t i = 0; i < parcel->count; i++)
        message_judge(&parcel->messages[i], outcome);
}

bool parcel_is_judged(const Parcel *parcel)
{
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t n = 0; n < parcel->messages[i].target_count; n++)
            if (!target_is_judged(&parcel->messages[i].targets[n]))
                return false;
    return true;
}

void parcel_hide(Parcel *parcel, const Transfer *transfer)
{
    if (parcel->type->config)
        parcel->hidden = hidden_of(parcel->arena, parcel->type->config, parcel->config, transfer);
}

void parcel_redact(const Parcel *parcel)
{
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t n = 0; n < parcel->messages[i].target_count; n++) {
            Outcome *outcome = &parcel->messages[i].targets[n].outcome;
            outcome->detail = hidden_redact(parcel->arena, &parcel->hidden, outcome->detail);
            outcome->provider_id =
                hidden_redact(parcel->arena, &parcel->hidden, outcome->provider_id);
        }
}

bool message_is_run(const Message *message)
{
    return message->automation.at || run_of_rule(message->rule_kind);
}

Str message_runs(const Message *message)
{
    return message->automation.at ? message->automation : message->rule_id;
}

// put_run writes what is told of a run alone.
static void put_run(JsonOut *out, const Message *message)
{
    DEFER(arena_done) Arena arena = { 0 };
    char id[UUID_TEXT_LEN + 1];
    bool is_triggered = message->automation.at;
    RunSource source = is_triggered ? RUN_TRIGGERED : run_source(message->source);
    if (is_triggered || message->rule_kind == RULE_AUTOMATION) {
        json_put_str(out, S("automation"), message_runs(message));
        json_put_str(out, S("runId"), uuid_text(message->promise.id, id));
    } else {
        json_put_str(out, S("job"), message->rule_id);
    }
    if (is_triggered)
        json_put_str(out, S("triggerEventId"),
                     run_event_id(&arena, message->promise.event, message->promise.rule));
    json_put_str(out, S("entity"), message->promise.entity);
    json_put_str(out, S("executionId"),
                 run_execution_id(&arena, message->promise.id, message->attempt));
    json_put_str(out, S("source"), str_from(run_source_text(source)));
    json_put_time(out, S("scheduledFor"), message->occurred_at);
}

Str message_link(Arena *arena, Str template, Str public_id)
{
    Str mark = S("{publicId}");
    if (!template.len)
        return STR_NONE;
    Buf url = buf_new(arena, template.len * (public_id.len + 1));
    while (template.len > 0) {
        bool is_mark = str_starts(template, mark);
        buf_add(&url, is_mark ? public_id : (Str){ template.at, 1 });
        template = str_skip(template, is_mark ? mark.len : 1);
    }
    return buf_str(&url);
}

// put_content writes what the message says; nothing where it says nothing.
static void put_content(JsonOut *out, const Content *content)
{
    if (content->subject.at)
        json_put_str(out, S("subject"), content->subject);
    if (content->text.at)
        json_put_str(out, S("body"), content->text);
    if (content->html.at)
        json_put_str(out, S("html"), content->html);
    if (content->template.at || content->param_count > 0)
        content_put_provider(out, content);
}

Str message_json(Arena *arena, const Message *message)
{
    char id[UUID_TEXT_LEN + 1];
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("type"), message->event_kind);
    json_put_time(&out, S("timestamp"), message->occurred_at);
    json_put_str(&out, S("deliveryId"), uuid_text(message->promise.id, id));
    json_put_str(&out, S("publicId"), message->promise.public_id);
    json_put_str(&out, S("eventId"), uuid_text(message->promise.event, id));
    json_put_str(&out, S("eventKind"), message->event_kind);
    json_put_str(&out, S("triggerId"),
                 message->rule_kind == RULE_TRIGGER ? message->rule_id : STR_NONE);
    rule_put(&out, message->rule_kind, message->rule_id, message->promise.version);
    json_put_i64(&out, S("send"), message->send);
    json_put_i64(&out, S("attempt"), message->attempt);
    json_put_str(&out, S("address"), message->promise.address);
    json_put_str(&out, S("locale"), message->promise.locale);
    json_put_str(&out, S("customerRef"), message->promise.customer_ref);
    json_put_str(&out, S("url"), message->url);
    json_put_time(&out, S("occurredAt"), message->occurred_at);
    if (message_is_run(message))
        put_run(&out, message);
    json_put_raw(&out, S("payload"), message->payload);
    put_content(&out, &message->content);
    json_close(&out, '}');
    return buf_str(&buf);
}

static bool is_control(Str text, size_t len)
{
    unsigned char c = (unsigned char) text.at[0];
    return c < 0x20 || c == 0x7f || (len == 2 && c == 0xc2 && (unsigned char) text.at[1] < 0xa0);
}

// clean_text is what somebody else wrote, as UTF-8 without control characters but those in spared,
// cut between two characters; none when nothing is left.
static Str clean_text(Arena *arena, Str text, size_t max, Str spared)
{
    static const Str stand_in = S("\xef\xbf\xbd"); // U+FFFD
    Buf clean = buf_new(arena, max);
    while (text.len > 0 && !clean.overflowed) {
        size_t len = str_utf8_len(text);
        if (is_control(text, len) && !str_contains(spared, (Str){ text.at, 1 }))
            buf_add_char(&clean, ' ');
        else
            buf_add(&clean, len > 0 ? (Str){ text.at, len } : stand_in);
        text = str_skip(text, len > 0 ? len : 1);
    }
    Str trimmed = str_trim(buf_str(&clean));
    return trimmed.len > 0 ? trimmed : STR_NONE;
}

Str judge_text(Arena *arena, Str text, size_t max)
{
    return clean_text(arena, text, max, STR_NONE);
}

Str judge_id(Arena *arena, Str id)
{
    return judge_text(arena, id, PROVIDER_ID_MAX);
}

// find_provider_id looks where the far side may have put its own id.
static Str find_provider_id(Arena *arena, const TransferResult *result)
{
    Str id = judge_id(arena, result->webhook_delivery_id);
    const Json *body;
    if (id.at || result->body.len == 0 || result->body.at[0] != '{' ||
        json_parse(arena, result->body, &body, NULL) != ERR_OK)
        return id;
    const Json *member = json_get(body, S("id"));
    id = json_type(member) == JSON_NUMBER ? json_number_text(member) : json_str(member);
    return judge_id(arena, id);
}

static bool is_digits(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return text.len > 0;
}

Span judge_retry_after(const TransferResult *result, Instant now)
{
    int64_t seconds;
    Instant at;
    Str value = str_trim(result->retry_after);
    if (str_to_i64(value, 0, INT64_MAX, &seconds))
        return earlier(seconds, RETRY_AFTER_MAX / SPAN_SECOND) * SPAN_SECOND;
    if (is_digits(value))
        return RETRY_AFTER_MAX;
    if (time_http_date(value, &at))
        return later(earlier(at - now, RETRY_AFTER_MAX), 0);
    return 0;
}

static Outcome judge_status(int status)
{
    Outcome outcome = { .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED, .code = status };
    bool is_failure = status >= 500 && status <= 599 && status != 501 && status != 505;
    if (status >= 200 && status <= 299) {
        outcome.verdict = VERDICT_DELIVERED;
        outcome.reason = REASON_ACCEPTED;
    } else if (is_failure || status == 408 || status == 425 || status == 429) {
        outcome.verdict = VERDICT_TRANSIENT;
        outcome.reason = REASON_UNWELL;
    } else if (status == 410) {
        outcome.reason = REASON_GONE;
    }
    return outcome;
}

static Outcome judge_problem(TransferProblem problem)
{
    switch (problem) {
    case TRANSFER_REFUSED:
        return (Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_BAD_REQUEST };
    case TRANSFER_FORBIDDEN:
        return (Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_ADDRESS_FORBIDDEN };
    case TRANSFER_NO_CONNECTION:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_NO_CONNECTION };
    case TRANSFER_NO_ANSWER:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_NO_ANSWER };
    case TRANSFER_LOGIN_REFUSED:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_LOGIN_REFUSED };
    case TRANSFER_NOT_TRIED: // is given back
    case TRANSFER_ANSWERED:  // is judged by its status
        break;
    }
    assert(!"this is no outcome of an attempt");
}

Str judge_detail(Arena *arena, Str text)
{
    return judge_text(arena, text, RESPONSE_KEPT_MAX);
}

Str judge_lines(Arena *arena, Str text, size_t max)
{
    return clean_text(arena, text, max, S("\n\t"));
}

// detail_of is what was answered, or where somebody is sent on to: nobody goes there.
static Str detail_of(Arena *arena, const TransferResult *result)
{
    bool is_elsewhere = result->status >= 300 && result->status <= 399 && result->location.len > 0;
    Str text = result->body;
    if (is_elsewhere)
        text = str_format(arena, "redirects are not followed: %.*s", STR_ARG(result->location));
    return judge_detail(arena, text);
}

Outcome judge_http(Arena *arena, const TransferResult *result, Instant now)
{
    if (result->problem != TRANSFER_ANSWERED) {
        Outcome outcome = judge_problem(result->problem);
        outcome.code = result->status;
        outcome.detail = judge_detail(arena, result->problem_text);
        return outcome;
    }
    Outcome outcome = judge_status(result->status);
    outcome.detail = detail_of(arena, result);
    if (outcome.verdict == VERDICT_DELIVERED)
        outcome.provider_id = find_provider_id(arena, result);
    if (outcome.verdict == VERDICT_TRANSIENT)
        outcome.retry_after = judge_retry_after(result, now);
    return outcome;
}
