#include "domain/forward.h"

#include "domain/members.h"
#include "domain/notification.h"
#include "domain/trace.h"

typedef struct Row {
    Uuid id;
    ForwardKind kind;
    Instant enqueued_at;
    Str trace; // as it was handed on; none
    const Json *body;
    Str site;    // that hands it on; none: it is still there
    Instant now; // at central; INSTANT_NONE
    Deferral deferral;
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
    { "traceparent", FIELD_TEXT,  0, AT(trace), .max = EVENT_CORRELATION_MAX, .help = "The W3C trace that it came with" },
    { "body",       FIELD_OBJECT, FIELD_NEEDED, AT(body), .help = "As it would be posted to /v1/notifications or /v1/events; of a deferral with its job" },
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
static Err read_event(Arena *arena, Row *row, Event *ret, Error *error)
{
    TRY(event_build(arena, row->body, ret, error));
    if (!ret->identity.at)
        ret->identity = uuid_dup(arena, row->id);
    return ERR_OK;
}

// stamped is what a notification says of its source, with the site that its key names.
static Err stamped(Arena *arena, const Row *row, const Json *source, const Json **ret, Error *error)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("site"), row->site);
    for (JsonIter it = json_each(source); json_next(&it);)
        if (!str_eq(it.key, S("site")))
            json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

// read_notification: it comes in as one that is posted does, under the row's id.
static Err read_notification(Arena *arena, Row *row, Event *ret, Error *error)
{
    Notification asked;
    TRY(notification_read(arena, row->body, S("/body"), &asked, error));
    asked.id = row->id;
    asked.enqueued_at = row->enqueued_at;
    if (row->site.at)
        TRY(stamped(arena, row, asked.source, &asked.source, error));
    return notification_event(arena, &asked, row->now, ret, error);
}

// AuditBody is all that a site may tell: that it took a notification in.
typedef struct AuditBody {
    int kind;
    Str list, instance, correlation_id;
} AuditBody;

static const char *const audit_kinds[] = { "Notification.Enqueued", NULL };

// clang-format off
#define AT(member) offsetof(AuditBody, member)
static const Field audit_fields[] = {
    { "kind",          FIELD_WORD, FIELD_NEEDED, AT(kind), .words = audit_kinds, .noun = "what a site may tell" },
    { "list",          FIELD_TEXT, 0, AT(list), .max = AUDIT_BROUGHT_MAX },
    { "instance",      FIELD_TEXT, 0, AT(instance), .max = AUDIT_BROUGHT_MAX },
    { "correlationId", FIELD_TEXT, 0, AT(correlation_id), .max = AUDIT_BROUGHT_MAX },
};
#undef AT
// clang-format on

static const Shape audit_shape = {
    .name = "ForwardedAudit",
    SHAPE_ROWS(audit_fields),
    .size = sizeof(AuditBody),
    .is_open = true,
    .invalid = ERR_EVENT_INVALID,
};

// read_audit checks an audit row. Only a site keeps it as an event.
static Err read_audit(Arena *arena, Row *row, Event *ret, Error *error)
{
    AuditBody body = { 0 };
    TRY(fields_read(arena, row->body, S("/body"), &audit_shape, &body, error));
    *ret = (Event){ .kind = S("audit"),
                    .source = S("audit"),
                    .identity = uuid_dup(arena, row->id),
                    .occurred_at = INSTANT_NONE };
    return ERR_OK;
}

static bool is_deferral(const Row *row)
{
    return row->kind == FORWARD_DEFER || row->kind == FORWARD_DEFER_CANCEL;
}

// read_deferral: its delay counts from when the site took it in; a site that is ahead of its time
// counts as one that is not.
static Err read_deferral(Arena *arena, Row *row, Event *ret, Error *error)
{
    bool is_cancel = row->kind == FORWARD_DEFER_CANCEL;
    Instant created_at = earlier(row->enqueued_at, row->now);
    if (created_at == INSTANT_NONE) {
        error_add(error, S("/enqueuedAt"), "missing-member", "is needed");
        return error_close(error, ERR_EVENT_INVALID);
    }
    TRY(deferral_read(arena, row->body, S("/body"),
                      is_cancel ? &deferral_cancel_shape : &deferral_row_shape, created_at,
                      &row->deferral, error));
    TRY(deferral_event(arena, &row->deferral, ret, error));
    ret->identity = uuid_dup(arena, row->id);
    return ERR_OK;
}

// brought_of is what the chain is told by a row that was checked.
static AuditBrought brought_of(const Row *row, const Event *event)
{
    bool is_audit = row->kind == FORWARD_AUDIT;
    const Json *source = is_audit ? row->body : json_get(row->body, S("source"));
    return (AuditBrought){ .event = is_audit ? row->id : audit_enqueued_id(event->identity),
                           .at = row->enqueued_at,
                           .instance = json_str(json_get(source, S("instance"))),
                           .correlation_id = json_str(json_get(row->body, S("correlationId"))),
                           .text = json_str(json_get(row->body, S("list"))) };
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

// read_row checks a row by its shape and its body by its kind's, and makes its event. The row says
// who hands it on, and when that is.
static Err read_row(Arena *arena, const Json *json, Row *row, Event *ret, Error *error)
{
    static Err (*const readers[])(Arena *, Row *, Event *, Error *) = {
        [FORWARD_NOTIFICATION] = read_notification,
        [FORWARD_EVENT] = read_event,
        [FORWARD_AUDIT] = read_audit,
        [FORWARD_DEFER] = read_deferral,
        [FORWARD_DEFER_CANCEL] = read_deferral,
    };
    TRY(fields_read(arena, json, S(""), &forward_row_shape, row, error));
    TRY(check_site(row->body, row->site, error));
    TRY(readers[row->kind](arena, row, ret, error));
    ret->trace = trace_read(arena, row->trace);
    return ERR_OK;
}

Err forward_read(Arena *arena, const Json *json, Str site, Instant now, Forwarded *ret,
                 Error *error)
{
    Row row = { .enqueued_at = INSTANT_NONE, .site = site, .now = now };
    TRY(read_row(arena, json, &row, &ret->event, error));
    ret->kind = row.kind;
    ret->has_brought = row.kind == FORWARD_NOTIFICATION || row.kind == FORWARD_AUDIT;
    ret->is_deferral = is_deferral(&row);
    ret->deferral = row.deferral;
    if (ret->has_brought)
        ret->brought = brought_of(&row, &ret->event);
    if (ret->event.occurred_at == INSTANT_NONE)
        ret->event.occurred_at = row.enqueued_at;
    return ERR_OK;
}

Err forward_keep(Arena *arena, Str text, Event *ret, Error *error)
{
    Row row = { .enqueued_at = INSTANT_NONE, .now = INSTANT_NONE };
    Event event;
    const Json *json;
    TRY(json_parse(arena, text, &json, error));
    TRY(read_row(arena, json, &row, &event, error));
    *ret = (Event){ .kind = str_format(arena, "forward.%s", kinds[row.kind]),
                    .source = event.source,
                    .identity = event.identity,
                    .entity = uuid_dup(arena, row.id),
                    .trace = event.trace,
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

Str forward_text(Arena *arena, ForwardKind kind, Uuid id, Instant enqueued_at, Str trace, Str body)
{
    char text[UUID_TEXT_LEN + 1];
    Buf buf = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("id"), uuid_text(id, text));
    json_put_str(&out, S("kind"), str_from(kinds[kind]));
    json_put_time(&out, S("enqueuedAt"), enqueued_at);
    put_some(&out, S("traceparent"), trace);
    json_put_raw(&out, S("body"), body);
    json_close(&out, '}');
    return buf_str(&buf);
}
