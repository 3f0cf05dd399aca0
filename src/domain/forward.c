#include "domain/forward.h"

#include "domain/members.h"

typedef struct Row {
    Uuid id;
    ForwardKind kind;
    Instant enqueued_at;
    const Json *body;
} Row;

static const char *const kinds[] = {
#define FORWARD_TEXT(name, text) [FORWARD_##name] = (text),
    FORWARD_TABLE(FORWARD_TEXT)
#undef FORWARD_TEXT
        NULL,
};

// clang-format off
#define AT(member) offsetof(Row, member)
static const Field fields[] = {
    { "id",         FIELD_ID,     FIELD_NEEDED, AT(id), .help = "Made at the site; the same one again is a duplicate, whatever its body" },
    { "kind",       FIELD_WORD,   FIELD_NEEDED, AT(kind), .words = kinds, .noun = "a kind of row" },
    { "enqueuedAt", FIELD_TIME,   0, AT(enqueued_at), .help = "When the site took it in" },
    { "body",       FIELD_OBJECT, FIELD_NEEDED, AT(body), .help = "As it would be posted to /v1/notifications or /v1/events" },
};
#undef AT
// clang-format on

const Shape forward_row_shape = {
    .name = "ForwardRow",
    SHAPE_ROWS(fields),
    .size = sizeof(Row),
    .invalid = ERR_EVENT_INVALID,
};

// read_event: an event that has an id of its own is known by that, wherever it comes in.
static Err read_event(Arena *arena, const Row *row, Event *ret, Error *error)
{
    TRY(event_build(arena, row->body, ret, error));
    if (!ret->identity.at)
        ret->identity = uuid_dup(arena, row->id);
    return ERR_OK;
}

static Err read_notification(Arena *arena, const Row *row, Event *ret, Error *error)
{
    static const char *const needed[] = { "list", "body" };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (json_str(json_get(row->body, str_from(needed[i]))).len == 0)
            error_add(error, str_format(arena, "/body/%s", needed[i]), "missing", "must be given");
    TRY(error_close(error, ERR_EVENT_INVALID));
    *ret = (Event){ .kind = S("notification"),
                    .source = S("notification"),
                    .identity = uuid_dup(arena, row->id),
                    .occurred_at = INSTANT_NONE,
                    .payload_json = row->body,
                    .payload = json_text(arena, row->body) };
    return ERR_OK;
}

// check_site refuses a row that names another site than the one that hands it on.
static Err check_site(const Json *body, Str site, Error *error)
{
    Str named = json_str(json_get(json_get(body, S("source")), S("site")));
    if (!named.at || !site.at || str_eq(named, site))
        return ERR_OK;
    error_add(error, S("/body/source/site"), "bad-value", "must be %.*s, whose key this is",
              STR_ARG(site));
    return error_close(error, ERR_EVENT_INVALID);
}

// read_row checks a row by its shape and its body by its kind's, and makes its event.
static Err read_row(Arena *arena, const Json *json, Str site, Row *row, Event *ret, Error *error)
{
    static Err (*const readers[])(Arena *, const Row *, Event *, Error *) = {
        [FORWARD_NOTIFICATION] = read_notification,
        [FORWARD_EVENT] = read_event,
    };
    *row = (Row){ .enqueued_at = INSTANT_NONE };
    TRY(fields_read(arena, json, S(""), &forward_row_shape, row, error));
    TRY(check_site(row->body, site, error));
    return readers[row->kind](arena, row, ret, error);
}

Err forward_read(Arena *arena, const Json *json, Str site, Event *ret, Error *error)
{
    Row row;
    TRY(read_row(arena, json, site, &row, ret, error));
    if (ret->occurred_at == INSTANT_NONE)
        ret->occurred_at = row.enqueued_at;
    return ERR_OK;
}

Err forward_keep(Arena *arena, Str text, Event *ret, Error *error)
{
    Row row;
    Event event;
    const Json *json;
    TRY(json_parse(arena, text, &json, error));
    TRY(read_row(arena, json, STR_NONE, &row, &event, error));
    *ret = (Event){ .kind = event.kind,
                    .source = event.source,
                    .identity = event.identity,
                    .entity = uuid_dup(arena, row.id),
                    .occurred_at = row.enqueued_at,
                    .payload = text };
    if (row.kind == FORWARD_EVENT)
        ret->id = row.id;
    return ERR_OK;
}

static void put_some(JsonOut *out, Str name, Str text)
{
    if (text.at)
        json_put_str(out, name, text);
}

Str forward_event(Arena *arena, const Event *event)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("kind"), event->kind);
    json_put_str(&out, S("source"), event->source);
    put_some(&out, S("id"), event->identity);
    put_some(&out, S("entity"), event->entity);
    put_some(&out, S("correlationId"), event->correlation_id);
    if (event->occurred_at != INSTANT_NONE)
        json_put_time(&out, S("occurredAt"), event->occurred_at);
    json_put_raw(&out, S("payload"), event->payload);
    if (event->recipient.at)
        json_put_raw(&out, S("recipient"), event->recipient);
    json_close(&out, '}');
    return buf_str(&buf);
}

Str forward_text(Arena *arena, ForwardKind kind, Uuid id, Instant enqueued_at, Str body)
{
    char text[UUID_TEXT_LEN + 1];
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("id"), uuid_text(id, text));
    json_put_str(&out, S("kind"), str_from(kinds[kind]));
    json_put_time(&out, S("enqueuedAt"), enqueued_at);
    json_put_raw(&out, S("body"), body);
    json_close(&out, '}');
    return buf_str(&buf);
}
