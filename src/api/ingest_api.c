#include "api/handlers.h"

#include "api/posting.h"
#include "api/shapes.h"
#include "domain/cloudevent.h"
#include "engine/engine.h"

// Events come in here as a batch of one kind (/v1/ingest), as one event, or as CloudEvents in their
// three modes (/v1/events). Reading differs; all are decided and written as store/accept.h says.

typedef enum Posted { POSTED_BATCH, POSTED_EVENT, POSTED_CLOUD_BATCH } Posted;

typedef struct Posting {
    Accept accept; // first: posting.h
    Posted as;
} Posting;

static Err read_one(Call *call, Str type, Error *error);
static Err read_event(Call *call, Str type, Event *event, Error *error);
static Err read_cloud_batch(Call *call, Error *error);
static void write_event(JsonOut *json, const AcceptItem *item);
static void write_deliveries(JsonOut *json, const AcceptItem *item);
static void write_batch(Call *call, const Accept *accept);
static void write_cloud_batch(Call *call, const Accept *accept);

// media_is says whether the content type is the given one, whatever its parameters.
static bool media_is(Str type, Str wanted)
{
    return str_eq_nocase(str_trim(str_cut(&type, ';')), wanted);
}

Err event_read(Call *call, Error *error)
{
    Str type = exchange_header(call->exchange, S("content-type"));
    if (media_is(type, S("application/cloudevents-batch+json")))
        return read_cloud_batch(call, error);
    return read_one(call, type, error);
}

static Posting *posting_new(Call *call, Posted as, size_t count)
{
    Posting *posting = ARENA_NEW(call->arena, Posting);
    posting->as = as;
    posting->accept = posting_accept(call, count);
    call->with = posting;
    return posting;
}

static Err read_one(Call *call, Str type, Error *error)
{
    Event *event = &posting_new(call, POSTED_EVENT, 1)->accept.items[0].event;
    TRY(read_event(call, type, event, error));
    if (!event->trace.at)
        event->trace = posting_trace(call);
    return event_check_size(event, call->api->payload_max, error);
}

static Err read_binary(Call *call, Str type, Event *ret, Error *error)
{
    Header *headers;
    size_t count = exchange_headers(call->exchange, &headers);
    CloudHeader *cloud = ARENA_ARRAY(call->arena, CloudHeader, count + 1);
    for (size_t i = 0; i < count; i++)
        cloud[i] = (CloudHeader){ headers[i].name, headers[i].value };
    return cloudevent_binary(call->arena, cloud, count, type, call->exchange->body, ret, error);
}

static Err read_event(Call *call, Str type, Event *event, Error *error)
{
    bool is_structured = media_is(type, S("application/cloudevents+json"));
    if (!is_structured && exchange_header(call->exchange, S("ce-specversion")).at)
        return read_binary(call, type, event, error);
    if (!is_structured && type.len && !media_is(type, S("application/json")))
        return fail(error, ERR_MEDIA_TYPE,
                    "an event is application/json or a CloudEvent, not \"%.*s\"", STR_ARG(type));
    const Json *body;
    TRY(call_parse(call, &body, error));
    return is_structured ? cloudevent_structured(call->arena, body, event, error)
                         : event_build(call->arena, body, event, error);
}

static Err read_cloud_batch(Call *call, Error *error)
{
    const Json *body;
    TRY(call_parse(call, &body, error));
    if (json_type(body) != JSON_ARRAY)
        return fail(error, ERR_INVALID, "a batch of CloudEvents is an array");
    if (json_count(body) > EVENT_ITEMS_MAX)
        return fail(error, ERR_INVALID, "a batch has at most %d events", EVENT_ITEMS_MAX);
    Posting *posting = posting_new(call, POSTED_CLOUD_BATCH, json_count(body));
    Str trace = posting_trace(call);
    for (JsonIter it = json_each(body); json_next(&it);) {
        AcceptItem *item = &posting->accept.items[it.index - 1];
        Error item_error = { .arena = call->arena };
        Err err = cloudevent_structured(call->arena, it.value, &item->event, &item_error);
        if (!item->event.trace.at)
            item->event.trace = trace;
        posting_take(call, item, err, &item_error);
    }
    return ERR_OK;
}

Err ingest_read(Call *call, Error *error)
{
    BatchBody body = { 0 };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &batch_body_shape, &body, error));
    Posting *posting = posting_new(call, POSTED_BATCH, json_count(body.items));
    Str trace = posting_trace(call);
    for (JsonIter it = json_each(body.items); json_next(&it);) {
        AcceptItem *item = &posting->accept.items[it.index - 1];
        Error item_error = { .arena = call->arena };
        Err err = event_build_item(call->arena, body.kind, it.value, &item->event, &item_error);
        item->event.trace = trace;
        posting_take(call, item, err, &item_error);
    }
    return ERR_OK;
}

static Err write_answer(Call *call, Error *error)
{
    const Posting *posting = call->with;
    (void) error;
    switch (posting->as) {
    case POSTED_BATCH:
        write_batch(call, &posting->accept);
        break;
    case POSTED_EVENT:
        write_event(call_json(call, 202), &posting->accept.items[0]);
        break;
    case POSTED_CLOUD_BATCH:
        write_cloud_batch(call, &posting->accept);
        break;
    }
    return ERR_OK;
}

static void write_event(JsonOut *json, const AcceptItem *item)
{
    char text[UUID_TEXT_LEN + 1];
    json_open(json, '{');
    json_put_str(json, S("eventId"),
                 uuid_text(item->is_duplicate ? item->identity.holder : item->event.id, text));
    json_put_bool(json, S("duplicate"), item->is_duplicate);
    write_deliveries(json, item);
    json_close(json, '}');
}

static void put_rule(JsonOut *json, const Rule *rule)
{
    json_put_str(json, S("triggerId"), rule->kind == RULE_TRIGGER ? rule->id : STR_NONE);
    rule_put(json, rule->kind, rule->id, rule->version);
}

static void write_deliveries(JsonOut *json, const AcceptItem *item)
{
    char text[UUID_TEXT_LEN + 1];
    json_key(json, S("deliveries"));
    json_open(json, '[');
    for (size_t i = 0; i < item->pair_count && !item->is_duplicate; i++) {
        const AcceptPair *pair = &item->pairs[i];
        if (pair->decision.kind != DECISION_CREATED)
            continue;
        bool is_skip = accept_skipped(pair);
        json_open(json, '{');
        json_put_str(json, S("outcome"), is_skip ? S("skipped") : S("created"));
        json_put_str(json, S("deliveryId"),
                     uuid_text(is_skip ? pair->key.holder : pair->delivery, text));
        json_put_str(json, S("publicId"), is_skip ? pair->key.public_id : pair->public_id);
        put_rule(json, &pair->decision.trigger->rule);
        json_put_str(json, S("surveyId"), pair->decision.trigger->survey);
        json_close(json, '}');
    }
    json_close(json, ']');
}

typedef struct Counts {
    int64_t created, skipped, failed, unmatched;
} Counts;

// Outcome words of an item: failed, else created, else skipped, else unmatched.
static const char *item_outcome(const AcceptItem *item, Counts *counts)
{
    bool created = false, skipped = false, failed = item->err != ERR_OK;
    counts->failed += failed;
    for (size_t i = 0; i < item->pair_count && item->err == ERR_OK; i++) {
        const AcceptPair *pair = &item->pairs[i];
        bool is_new = accept_made(item, pair), is_skip = accept_skipped(pair);
        created |= is_new;
        skipped |= is_skip;
        failed |= pair->decision.kind == DECISION_FAILED;
        counts->created += is_new;
        counts->skipped += is_skip && !item->is_duplicate;
        counts->failed += pair->decision.kind == DECISION_FAILED;
    }
    if (failed)
        return "failed";
    if (item->is_duplicate)
        return "skipped";
    if (created)
        return "created";
    if (skipped)
        return "skipped";
    counts->unmatched++;
    return "unmatched";
}

static void write_item(JsonOut *json, const AcceptItem *item, const char *outcome)
{
    char text[UUID_TEXT_LEN + 1];
    json_open(json, '{');
    if (item->err != ERR_OK)
        json_put_null(json, S("eventId"));
    else
        json_put_str(json, S("eventId"),
                     uuid_text(item->is_duplicate ? item->identity.holder : item->event.id, text));
    json_put_str(json, S("outcome"), str_from(outcome));
    write_deliveries(json, item);
    if (item->err != ERR_OK)
        posting_put_error(json, item);
    json_close(json, '}');
}

static void write_batch(Call *call, const Accept *accept)
{
    Counts counts = { 0 };
    const char **outcomes = ARENA_ARRAY(call->arena, const char *, accept->count + 1);
    for (size_t i = 0; i < accept->count; i++)
        outcomes[i] = item_outcome(&accept->items[i], &counts);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("created"), counts.created);
    json_put_i64(json, S("skipped"), counts.skipped);
    json_put_i64(json, S("failed"), counts.failed);
    json_put_i64(json, S("unmatched"), counts.unmatched);
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < accept->count; i++)
        write_item(json, &accept->items[i], outcomes[i]);
    json_close(json, ']');
    json_close(json, '}');
}

static void write_cloud_batch(Call *call, const Accept *accept)
{
    Counts counts = { 0 };
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < accept->count; i++)
        write_item(json, &accept->items[i], item_outcome(&accept->items[i], &counts));
    json_close(json, ']');
    json_close(json, '}');
}

const RouteSet event_set = {
    .weigh = posting_weigh,
    .decide = posting_decide,
    .write = posting_write,
    .answer = write_answer,
};
