#include "api/handlers.h"

#include "api/dry.h"
#include "api/shapes.h"
#include "api/shown.h"
#include "engine/compose.h"
#include "store/attempt.h"
#include "store/target.h"

// A message that was captured, with its parts: composed anew by what composes what is sent
// (engine/compose.h), for nothing that was rendered is kept. Its channel's secrets are not opened.

// Shown is a captured message on its way to a reader.
typedef struct Shown {
    Captured captured;
    const RegistryLane *way; // NULL: its channel is gone
    const ChannelType *type; // likewise
    TargetRow *targets;
    size_t target_count; // 0: the one of the promise
    Message message;
    Sent sent;
    bool has_request;    // there is one, and it can be told
    const Trigger *rule; // that it was made under: held
} Shown;

// clang-format off
static const Field text_row = { NULL, FIELD_TEXT };
static const Field request_rows[] = {
    { "url",     FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE },
    { "headers", FIELD_ANY,  FIELD_ALWAYS, .help = "any JSON object of texts; a secret is a stand-in" },
    { "body",    FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE, .help = "Of a mail: headers and body as they would go out" },
};
static const Shape request_shape = { .name = "CapturedRequest", SHAPE_ROWS(request_rows) };
static const Field whole_rows[] = {
    { "at",         FIELD_TIME, FIELD_ALWAYS },
    { "deliveryId", FIELD_ID,   FIELD_ALWAYS },
    { "channel",    FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE },
    { "type",       FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE, .help = "Of the channel; null where that is gone" },
    { "send",       FIELD_INT,  FIELD_ALWAYS },
    { "attempt",    FIELD_INT,  FIELD_ALWAYS },
    { "url",        FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE, .help = "The link in it" },
    { "from",       FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE },
    { "to",         FIELD_LIST, FIELD_ALWAYS, .of = &text_row, .help = "Up to 100" },
    { "subject",    FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE },
    { "text",       FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE },
    { "html",       FIELD_TEXT, FIELD_ALWAYS | FIELD_NULLABLE, .help = "As it is; …/html shows it" },
    { "request",    FIELD_OBJECT, FIELD_ALWAYS | FIELD_NULLABLE, .inside = &request_shape,
      .help = "What its channel would have sent; null where it sends nothing itself" },
    { "body",       FIELD_ANY,  FIELD_ALWAYS, .help = "As in the list: any JSON" },
};
const Shape captured_whole_shape = { .name = "CapturedWhole", SHAPE_ROWS(whole_rows) };

enum { CAPTURED_ATTEMPT };
const Param captured_one_params[] = {
    [CAPTURED_ATTEMPT] = { "attempt", PARAM_INT, .min = 1, .max = INT32_MAX, .help = "Of this attempt; the last that was captured unless said" },
    { 0 },
};
// clang-format on

// find reads the captured attempt that the call names.
static Err find(const Call *call, Db *db, Captured *ret, Error *error)
{
    Seen seen;
    Captured *all;
    int64_t attempt = 0;
    CapturedFilter filter = { .has_delivery = true };
    Walk walk = { .limit = PAGE_ROWS_MAX };
    TRY(call_id(call, 0, &filter.delivery, error));
    param_int(call, CAPTURED_ATTEMPT, &attempt);
    TRY(captured_page(db, call->arena, call->tenant, &filter, &walk, &all, &seen, error));
    for (size_t i = seen.count; i-- > 0;) {
        if (attempt && all[i].number != attempt)
            continue;
        *ret = all[i];
        return ERR_OK;
    }
    return fail(error, ERR_NOT_FOUND, "nothing was captured of %.*s", STR_ARG(call->params[0]));
}

// claimed_of is the delivery as it was claimed for that attempt, as the caller may see it.
static Claimed claimed_of(const Call *call, const Captured *captured, const Trigger *rule)
{
    Claimed claimed = {
        .promise = captured->promise,
        .live = { .send = captured->send,
                  .attempt = captured->number,
                  .started_at = captured->started_at },
        .event_kind = captured->event_kind,
        .payload = captured->payload,
        .recipient = call_recipient(call, captured->recipient),
        .origin = { .occurred_at = captured->occurred_at },
        .trigger = rule,
    };
    claimed.promise.address = call_address(call, captured->promise.address);
    return claimed;
}

static Target *targets_of(const Call *call, const Shown *shown, size_t *ret_count)
{
    size_t count = shown->target_count ? shown->target_count : 1;
    Target *targets = ARENA_ARRAY(call->arena, Target, count);
    for (size_t i = 0; i < shown->target_count; i++)
        targets[i] = (Target){ .address = call_address(call, shown->targets[i].target.address),
                               .name = shown->targets[i].target.name,
                               .locale = shown->targets[i].target.locale };
    if (!shown->target_count)
        targets[0].address = call_address(call, shown->captured.promise.address);
    for (size_t i = 0; i < count; i++)
        targets[i].outcome = (Outcome){ .verdict = VERDICT_UNKNOWN };
    *ret_count = count;
    return targets;
}

// say_plainly has a memory channel, which says nothing by itself, say what a mail would.
static void say_plainly(Call *call, const ChannelType *type, Message *message)
{
    const Json *payload;
    if (type->carrier == CARRIER_CAPTURE && content_is_empty(&message->content) &&
        json_parse(call->arena, message->payload, &payload, NULL) == ERR_OK)
        message->content = content_of_payload(call->arena, payload, message->url);
}

// make composes the message, and the request where its channel has one. What is made for a caller
// who sees addresses masked may not be what a channel takes: then only the rest is shown.
static void make(Call *call, Shown *shown)
{
    size_t count;
    Error refused = { .arena = call->arena };
    Claimed claimed = claimed_of(call, &shown->captured, shown->rule);
    Target *targets = targets_of(call, shown, &count);
    const ChannelType *type = shown->type ? shown->type : &channel_memory;
    compose(&claimed, type, call->api->url_template, targets, count, call->arena, &shown->message);
    say_plainly(call, type, &shown->message);
    Parcel parcel = { .type = type,
                      .config = shown->way ? sent_config(call, shown->way->channel, type) : NULL,
                      .messages = &shown->message,
                      .count = 1,
                      .arena = call->arena,
                      .now = shown->captured.started_at,
                      .exec_folder = call->api->exec_folder };
    shown->has_request = type->carrier == CARRIER_TRANSFER && parcel.config &&
                         !parcel_is_judged(&parcel) &&
                         sent_describe(&parcel, &shown->sent, &refused) == ERR_OK;
}

// look_at holds what look_away() lets go of: what a message says may lie there.
static Err look_at(Call *call, Db *db, Shown *ret, Error *error)
{
    const Captured *captured = &ret->captured;
    *ret = (Shown){ 0 };
    TRY(find(call, db, &ret->captured, error));
    TRY(first_targets(call, db, captured->promise.id, &ret->targets, &ret->target_count, error));
    ret->way = registry_lane(call->registry, captured->promise.lane);
    if (ret->way && !ret->way->channel)
        ret->way = NULL;
    if (ret->way)
        ret->type = channel_type_find(ret->way->channel->definition.type);
    TRY(versions_load(writer_versions(call->api->writer), db, call->tenant, captured->promise.rule,
                      captured->promise.version, &ret->rule, error));
    if (!ret->rule)
        return fail(error, ERR_CORRUPT, "what it was made under cannot be read any more");
    make(call, ret);
    return ERR_OK;
}

static void look_away(const Shown *shown)
{
    versions_drop(shown->rule);
}

static void put_request(JsonOut *json, const Shown *shown)
{
    const Sent *sent = &shown->sent;
    json_key(json, S("request"));
    if (!shown->has_request) {
        json_add_null(json);
        return;
    }
    json_open(json, '{');
    json_put_str(json, S("url"), sent->url);
    json_key(json, S("headers"));
    json_open(json, '{');
    for (size_t i = 0; i < sent->header_count; i++)
        json_put_str(json, sent->headers[i].name, sent->headers[i].value);
    json_close(json, '}');
    json_put_str(json, S("body"), sent->body);
    json_close(json, '}');
}

static void put_whole(Call *call, JsonOut *json, const Shown *shown)
{
    const Captured *captured = &shown->captured;
    const Message *message = &shown->message;
    const Json *config =
        shown->way && shown->type ? sent_config(call, shown->way->channel, shown->type) : NULL;
    json_open(json, '{');
    json_put_time(json, S("at"), captured->started_at);
    json_put_id(json, S("deliveryId"), captured->promise.id);
    json_put_str(json, S("channel"), captured->channel);
    json_put_str(json, S("type"), shown->type ? str_from(shown->type->type) : STR_NONE);
    json_put_i64(json, S("send"), captured->send);
    json_put_i64(json, S("attempt"), captured->number);
    json_put_str(json, S("url"), message->url);
    json_put_str(json, S("from"), json_str(json_get(config, S("from"))));
    json_key(json, S("to"));
    json_open(json, '[');
    for (size_t i = 0; i < message->target_count; i++)
        if (message->targets[i].address.at)
            json_add_str(json, message->targets[i].address);
    json_close(json, ']');
    json_put_str(json, S("subject"), message->content.subject);
    json_put_str(json, S("text"), message->content.text);
    json_put_str(json, S("html"), message->content.html);
    put_request(json, shown);
    json_put_stored(json, S("body"), message_json(call->arena, message));
    json_close(json, '}');
}

Err captured_get(Call *call, Db *db, Error *error)
{
    Shown shown;
    TRY(look_at(call, db, &shown, error));
    put_whole(call, call_json(call, 200), &shown);
    look_away(&shown);
    return ERR_OK;
}

// A stranger may have written what is shown: it runs nothing, loads nothing and leads nowhere.
#define CAPTURED_POLICY                                                                            \
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "  \
    "base-uri 'none'; frame-ancestors 'self'"

// tell_part makes a part of the message the answer, which outlives the rule.
static Err tell_part(Call *call, const Shown *shown, Str part, Str type, const char *what,
                     Error *error)
{
    Str body = part.at ? str_dup(call->arena, part) : STR_NONE;
    look_away(shown);
    if (!body.at)
        return fail(error, ERR_NOT_FOUND, "the message has no %s", what);
    call->reply = (Reply){ .status = 200, .type = type, .body = body };
    call_header(call, S("Content-Security-Policy"), S(CAPTURED_POLICY));
    call_header(call, S("Referrer-Policy"), S("no-referrer"));
    return ERR_OK;
}

Err captured_html_get(Call *call, Db *db, Error *error)
{
    Shown shown;
    TRY(look_at(call, db, &shown, error));
    return tell_part(call, &shown, shown.message.content.html, S("text/html; charset=utf-8"),
                     "HTML", error);
}

Err captured_text_get(Call *call, Db *db, Error *error)
{
    Shown shown;
    TRY(look_at(call, db, &shown, error));
    return tell_part(call, &shown, shown.message.content.text, S("text/plain; charset=utf-8"),
                     "text", error);
}
