#include "api/handlers.h"

#include "domain/cloudevent.h"
#include "engine/engine.h"
#include "intake/ingest.h"
#include "store/idempotency.h"

// Events come in here as a batch of one kind (/v1/ingest), as one event, or as CloudEvents in their
// three modes (/v1/events). All end in ingest_accept(); this file reads and answers.

typedef enum Shape { SHAPE_BATCH, SHAPE_EVENT, SHAPE_CLOUD_BATCH } Shape;

typedef struct Posting {
    Ingest ingest;
    Call *call;
    Shape shape;
    Sha256 request; // of the idempotency key
} Posting;

static void done(Ingest *ingest, Err err, const Error *error);
static Err before_all(Ingest *ingest, Tx *tx, bool *ret_settled, Error *error);
static Err before_commit(Ingest *ingest, Tx *tx, Error *error);

static Posting *posting_new(Call *call, Shape shape, size_t count)
{
    Posting *posting = ARENA_NEW(call->arena, Posting);
    posting->call = call;
    posting->shape = shape;
    posting->ingest = (Ingest){
        .arena = call->arena,
        .tenant = call->tenant,
        .items = ARENA_ARRAY(call->arena, IngestItem, count + 1),
        .count = count,
        .now = clock_now(call->api->clock),
        .done = done,
    };
    return posting;
}

static void accept(Posting *posting)
{
    assert(posting); // a reader that succeeds has made it
    Call *call = posting->call;
    if (call_idempotency(call, &call->idempotency_key, &posting->request)) {
        posting->ingest.before_all = before_all;
        posting->ingest.before_commit = before_commit;
    }
    ingest_accept(call->api->writer, call->api->random, &posting->ingest);
}

// take_item notes an item's error with the item: one bad item fails alone.
static void take_item(IngestItem *item, Err err, const Error *error, Arena *arena)
{
    item->err = err;
    if (err != ERR_OK)
        item->error = arena_copy(arena, error, sizeof *error);
}

static Err read_batch(Call *call, Str *ret_kind, const Json **ret_items, Error *error)
{
    TRY(call_body(call, error));
    for (JsonIter it = json_each(call->body); json_next(&it);)
        if (!str_eq(it.key, S("eventKind")) && !str_eq(it.key, S("items")))
            error_add(error, str_format(call->arena, "/%.*s", STR_ARG(it.key)), "unknown-member",
                      "\"%.*s\" is not a member of a batch; use eventKind and items",
                      STR_ARG(it.key));
    *ret_kind = json_str(json_get(call->body, S("eventKind")));
    *ret_items = json_get(call->body, S("items"));
    if (ret_kind->len == 0 || ret_kind->len > EVENT_KIND_MAX)
        error_add(error, S("/eventKind"), "bad-value", "eventKind must be a text of 1 to %d bytes",
                  EVENT_KIND_MAX);
    if (json_type(*ret_items) != JSON_ARRAY)
        error_add(error, S("/items"), "bad-type", "items must be an array");
    else if (json_count(*ret_items) > EVENT_ITEMS_MAX)
        error_add(error, S("/items"), "too-many", "a batch has at most %d items, not %zu",
                  EVENT_ITEMS_MAX, json_count(*ret_items));
    return error_close(error, ERR_INVALID);
}

void ingest_post(Call *call)
{
    Error error = { .arena = call->arena };
    Str kind;
    const Json *items;
    Err err = read_batch(call, &kind, &items, &error);
    if (err != ERR_OK) {
        call_fail(call, err, &error);
        return;
    }
    Posting *posting = posting_new(call, SHAPE_BATCH, json_count(items));
    for (JsonIter it = json_each(items); json_next(&it);) {
        IngestItem *item = &posting->ingest.items[it.index - 1];
        Error item_error = { .arena = call->arena };
        err = event_build_item(call->arena, kind, it.value, &item->event, &item_error);
        take_item(item, err, &item_error, call->arena);
    }
    accept(posting);
}

// media_is says whether the content type is the given one, whatever its parameters.
static bool media_is(Str type, Str wanted)
{
    return str_eq_nocase(str_trim(str_cut(&type, ';')), wanted);
}

static Err read_cloud_batch(Call *call, Posting **ret, Error *error)
{
    const Json *body;
    TRY(json_parse(call->arena, call->exchange->body, &body, error));
    if (json_type(body) != JSON_ARRAY)
        return fail(error, ERR_INVALID, "a batch of CloudEvents is an array");
    if (json_count(body) > EVENT_ITEMS_MAX)
        return fail(error, ERR_INVALID, "a batch has at most %d events", EVENT_ITEMS_MAX);
    *ret = posting_new(call, SHAPE_CLOUD_BATCH, json_count(body));
    for (JsonIter it = json_each(body); json_next(&it);) {
        IngestItem *item = &(*ret)->ingest.items[it.index - 1];
        Error item_error = { .arena = call->arena };
        Err err = cloudevent_structured(call->arena, it.value, &item->event, &item_error);
        take_item(item, err, &item_error, call->arena);
    }
    return ERR_OK;
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

static Err read_event(Call *call, Posting **ret, Error *error)
{
    Str type = exchange_header(call->exchange, S("content-type"));
    if (media_is(type, S("application/cloudevents-batch+json")))
        return read_cloud_batch(call, ret, error);
    *ret = posting_new(call, SHAPE_EVENT, 1);
    Event *event = &(*ret)->ingest.items[0].event;
    bool is_structured = media_is(type, S("application/cloudevents+json"));
    if (!is_structured && exchange_header(call->exchange, S("ce-specversion")).at)
        return read_binary(call, type, event, error);
    if (!is_structured && type.len && !media_is(type, S("application/json")))
        return fail(error, ERR_MEDIA_TYPE,
                    "an event is application/json or a CloudEvent, not \"%.*s\"", STR_ARG(type));
    const Json *body;
    TRY(json_parse(call->arena, call->exchange->body, &body, error));
    return is_structured ? cloudevent_structured(call->arena, body, event, error)
                         : event_build(call->arena, body, event, error);
}

void event_post(Call *call)
{
    Error error = { .arena = call->arena };
    Posting *posting = NULL;
    Err err = read_event(call, &posting, &error);
    if (err != ERR_OK)
        call_fail(call, err, &error);
    else
        accept(posting);
}

typedef struct Counts {
    int64_t created, skipped, failed, unmatched;
} Counts;

// Outcome words of an item: failed, else created, else skipped, else unmatched.
static const char *item_outcome(const IngestItem *item, Counts *counts)
{
    bool created = false, skipped = false, failed = item->err != ERR_OK;
    counts->failed += failed;
    for (size_t i = 0; i < item->pair_count && item->err == ERR_OK; i++) {
        const IngestPair *pair = &item->pairs[i];
        bool is_skip =
            pair->decision.kind == DECISION_CREATED && pair->decision.has_key && !pair->key.is_won;
        bool is_new = pair->decision.kind == DECISION_CREATED && !is_skip;
        created |= is_new && !item->is_duplicate;
        skipped |= is_skip;
        failed |= pair->decision.kind == DECISION_FAILED;
        counts->created += is_new && !item->is_duplicate;
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

static void write_deliveries(JsonOut *json, const IngestItem *item)
{
    char text[UUID_TEXT_LEN + 1];
    json_key(json, S("deliveries"));
    json_open(json, '[');
    for (size_t i = 0; i < item->pair_count && !item->is_duplicate; i++) {
        const IngestPair *pair = &item->pairs[i];
        if (pair->decision.kind != DECISION_CREATED)
            continue;
        bool is_skip = pair->decision.has_key && !pair->key.is_won;
        json_open(json, '{');
        json_put_str(json, S("outcome"), is_skip ? S("skipped") : S("created"));
        json_put_str(json, S("deliveryId"),
                     uuid_text(is_skip ? pair->key.holder : pair->delivery, text));
        json_put_str(json, S("publicId"), is_skip ? pair->key.public_id : pair->public_id);
        json_put_str(json, S("triggerId"), pair->decision.trigger->id);
        json_put_null(json, S("surveyId"));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_item(JsonOut *json, const IngestItem *item, const char *outcome)
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
    if (item->err != ERR_OK) {
        const Error *error = item->error;
        Str message = error->count ? error->problems[0].message : str_from(error->detail);
        json_key(json, S("error"));
        json_open(json, '{');
        json_put_str(json, S("code"), str_from(err_code(item->err)));
        json_put_str(json, S("message"), message);
        if (error->count)
            json_put_str(json, S("path"), error->problems[0].path);
        json_close(json, '}');
    }
    json_close(json, '}');
}

static void write_batch(Posting *posting)
{
    Ingest *ingest = &posting->ingest;
    Counts counts = { 0 };
    const char **outcomes = ARENA_ARRAY(ingest->arena, const char *, ingest->count + 1);
    for (size_t i = 0; i < ingest->count; i++)
        outcomes[i] = item_outcome(&ingest->items[i], &counts);
    JsonOut *json = call_json(posting->call, 200);
    json_open(json, '{');
    json_put_i64(json, S("created"), counts.created);
    json_put_i64(json, S("skipped"), counts.skipped);
    json_put_i64(json, S("failed"), counts.failed);
    json_put_i64(json, S("unmatched"), counts.unmatched);
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < ingest->count; i++)
        write_item(json, &ingest->items[i], outcomes[i]);
    json_close(json, ']');
    json_close(json, '}');
}

static void write_event(JsonOut *json, const IngestItem *item)
{
    char text[UUID_TEXT_LEN + 1];
    json_open(json, '{');
    json_put_str(json, S("eventId"),
                 uuid_text(item->is_duplicate ? item->identity.holder : item->event.id, text));
    json_put_bool(json, S("duplicate"), item->is_duplicate);
    write_deliveries(json, item);
    json_close(json, '}');
}

static void write_answer(Posting *posting)
{
    Ingest *ingest = &posting->ingest;
    if (posting->shape == SHAPE_BATCH) {
        write_batch(posting);
        return;
    }
    JsonOut *json = call_json(posting->call, 202);
    if (posting->shape == SHAPE_EVENT) {
        write_event(json, &ingest->items[0]);
        return;
    }
    Counts counts = { 0 };
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < ingest->count; i++)
        write_item(json, &ingest->items[i], item_outcome(&ingest->items[i], &counts));
    json_close(json, ']');
    json_close(json, '}');
}

static Err before_all(Ingest *ingest, Tx *tx, bool *ret_settled, Error *error)
{
    Posting *posting = (Posting *) ingest;
    Call *call = posting->call;
    Idempotency found;
    TRY(idempotency_begin(tx, call->tenant, call->idempotency_key, &posting->request, &found,
                          error));
    *ret_settled = found.is_repeat;
    if (found.is_repeat) {
        JsonOut *json = call_json(call, found.status);
        json_add_raw(json, str_dup(call->arena, found.body));
    }
    return ERR_OK;
}

static Err before_commit(Ingest *ingest, Tx *tx, Error *error)
{
    Posting *posting = (Posting *) ingest;
    Call *call = posting->call;
    (void) error;
    write_answer(posting);
    idempotency_finish(tx, call->tenant, call->idempotency_key, call->reply.status,
                       buf_str(&call->out));
    return ERR_OK;
}

// wake_engine tells the engine which lanes have something new; neighbours share a lane mostly.
static void wake_engine(const Posting *posting)
{
    const Ingest *ingest = &posting->ingest;
    Engine *engine = posting->call->api->engine;
    int64_t lane = 0;
    Instant due_at = INSTANT_NONE;
    for (size_t i = 0; i < ingest->count; i++) {
        const IngestItem *item = &ingest->items[i];
        for (size_t p = 0; p < item->pair_count && item->err == ERR_OK; p++) {
            const Decision *decision = &item->pairs[p].decision;
            if (decision->kind != DECISION_CREATED)
                continue;
            if (lane != 0 && lane != decision->trigger->lane) {
                engine_note(engine, lane, due_at);
                due_at = INSTANT_NONE;
            }
            lane = decision->trigger->lane;
            due_at = earlier(due_at, decision->due_at);
        }
    }
    if (lane != 0)
        engine_note(engine, lane, due_at);
}

static void done(Ingest *ingest, Err err, const Error *error)
{
    Posting *posting = (Posting *) ingest;
    Call *call = posting->call;
    if (err != ERR_OK) {
        call_fail(call, err, error);
        return;
    }
    if (!ingest->is_settled) {
        if (!ingest->before_commit)
            write_answer(posting);
        wake_engine(posting);
    }
    call_reply(call);
}
