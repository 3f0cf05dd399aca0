#include "domain/notification.h"

#include "base/time.h"

// clang-format off
static const Field source_fields[] = {
    { "site",     FIELD_TEXT, .max = NOTIFICATION_SOURCE_MAX },
    { "instance", FIELD_TEXT, .max = NOTIFICATION_SOURCE_MAX },
    { "script",   FIELD_TEXT, .max = NOTIFICATION_SOURCE_MAX },
};
static const Shape source_shape = { "NotificationSource", SHAPE_ROWS(source_fields) };

#define AT(member) .offset = offsetof(Notification, member)
static const Field fields[] = {
    { "id", FIELD_ID, AT(id), .help = "one is made unless said; the same id again is a duplicate" },
    { "list", FIELD_KEY, FIELD_NEEDED, AT(list), .max = TRIGGER_ID_MAX, .help = "whom it goes to" },
    { "body", FIELD_TEXT, FIELD_NEEDED | FIELD_CONTROL, AT(body), .max = INT32_MAX },
    { "subject", FIELD_TEXT, FIELD_CONTROL | FIELD_EMPTY, AT(subject), .max = NOTIFICATION_SUBJECT_MAX },
    { "type", FIELD_KEY, AT(type), .max = NOTIFICATION_TYPE_MAX,
      .help = "of the channel: the list's first of that type, and its first unless said" },
    { "typeData", FIELD_OBJECT, AT(type_data), .help = "for the channel: html, template, params" },
    { "source", FIELD_OBJECT, FIELD_RAW, AT(source), .inside = &source_shape },
    { "enqueuedAt", FIELD_TIME, AT(enqueued_at), .help = "when it was handed to a site" },
};
// clang-format on

const Shape notification_body_shape = {
    "NotificationBody",
    SHAPE_ROWS(fields),
    .size = sizeof(Notification),
};

Err notification_read(Arena *arena, const Json *body, Str place, Notification *ret, Error *error)
{
    Notification notification = { .enqueued_at = INSTANT_NONE };
    TRY(fields_read(arena, body, place, &notification_body_shape, &notification, error));
    *ret = notification;
    return ERR_OK;
}

static void put_some(JsonOut *out, Str name, Str text)
{
    if (text.at)
        json_put_str(out, name, text);
}

static void put_json(JsonOut *out, Arena *arena, Str name, const Json *value)
{
    if (value)
        json_put_raw(out, name, json_text(arena, value));
}

static Str payload_of(Arena *arena, const Notification *notification)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("list"), notification->list);
    put_some(&out, S("subject"), notification->subject);
    json_put_str(&out, S("body"), notification->body);
    put_some(&out, S("type"), notification->type);
    put_json(&out, arena, S("typeData"), notification->type_data);
    put_json(&out, arena, S("source"), notification->source);
    if (notification->enqueued_at != INSTANT_NONE)
        json_put_time(&out, S("siteEnqueuedAt"), notification->enqueued_at);
    json_close(&out, '}');
    return buf_str(&text);
}

Err notification_event(Arena *arena, const Notification *notification, Instant now, Event *ret,
                       Error *error)
{
    char id[UUID_TEXT_LEN + 1];
    assert(!uuid_is_none(notification->id));
    *ret = (Event){ .kind = NOTIFICATION_KIND,
                    .source = NOTIFICATION_KIND,
                    .identity = str_dup(arena, uuid_text(notification->id, id)),
                    .occurred_at = earlier(notification->enqueued_at, now),
                    .payload = payload_of(arena, notification) };
    return json_parse(arena, ret->payload, &ret->payload_json, error);
}

void notification_of(const Json *payload, Notification *ret)
{
    ret->list = json_str(json_get(payload, S("list")));
    ret->subject = json_str(json_get(payload, S("subject")));
    ret->body = json_str(json_get(payload, S("body")));
    ret->type = json_str(json_get(payload, S("type")));
    ret->type_data = json_get(payload, S("typeData"));
    ret->source = json_get(payload, S("source"));
    ret->enqueued_at = INSTANT_NONE;
    Str at = json_str(json_get(payload, S("siteEnqueuedAt")));
    if (!time_parse(at, &ret->enqueued_at))
        ret->enqueued_at = INSTANT_NONE;
}

Str notification_site(const Notification *notification)
{
    return json_str(json_get(notification->source, S("site")));
}
