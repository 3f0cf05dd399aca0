#include "domain/event.h"

#include "base/time.h"

// A recipient may have any members; the three that Peal itself reads must be texts.
static const Field recipient_rows[] = {
    { "address", FIELD_TEXT_OR_NUMBER, .max = EVENT_ADDRESS_MAX },
    { "customerRef", FIELD_TEXT_OR_NUMBER, .max = EVENT_ADDRESS_MAX },
    { "locale", FIELD_TEXT, .max = EVENT_ADDRESS_MAX },
};
static const Shape recipient_shape = {
    .name = "Recipient",
    SHAPE_ROWS(recipient_rows),
    .is_open = true,
};

// clang-format off
#define AT(member) 0, offsetof(Event, member)
#define COMMON_ROWS \
    { "id",            FIELD_TEXT,   AT(identity),       .max = EVENT_IDENTITY_MAX, .help = "The caller's own id for it, unique with its source" }, \
    { "entity",        FIELD_TEXT,   AT(entity),         .max = EVENT_ENTITY_MAX, .help = "What it is about, such as booking:12345" }, \
    { "correlationId", FIELD_TEXT,   AT(correlation_id), .max = EVENT_CORRELATION_MAX }, \
    { "occurredAt",    FIELD_TIME,   AT(occurred_at) }, \
    { "payload",       FIELD_OBJECT, AT(payload_json),   .help = "Any JSON object" }, \
    { "recipient",     FIELD_OBJECT, FIELD_RAW, offsetof(Event, recipient_json), .inside = &recipient_shape }

static const Field item_rows[] = { COMMON_ROWS };
static const Field event_rows[] = {
    { "kind",   FIELD_TEXT, FIELD_NEEDED, offsetof(Event, kind), .max = EVENT_KIND_MAX },
    { "source", FIELD_TEXT, AT(source), .max = EVENT_SOURCE_MAX, .help = "Who sent it; api unless said" },
    COMMON_ROWS,
};
// clang-format on
#undef AT
#undef COMMON_ROWS

const Shape event_item_shape = {
    .name = "Item",
    SHAPE_ROWS(item_rows),
    .size = sizeof(Event),
    .invalid = ERR_EVENT_INVALID,
};
const Shape event_shape = {
    .name = "Event",
    SHAPE_ROWS(event_rows),
    .size = sizeof(Event),
    .invalid = ERR_EVENT_INVALID,
};

// write_texts makes the texts that are stored.
static Err write_texts(Arena *arena, Event *event, Error *error)
{
    if (!event->payload_json)
        TRY(json_parse(arena, S("{}"), &event->payload_json, error));
    event->payload = json_text(arena, event->payload_json);
    if (event->recipient_json)
        event->recipient = json_text(arena, event->recipient_json);
    return ERR_OK;
}

Err event_build(Arena *arena, const Json *body, Event *ret, Error *error)
{
    Event event = { .source = S("api"), .occurred_at = INSTANT_NONE };
    TRY(fields_read(arena, body, S(""), &event_shape, &event, error));
    TRY(write_texts(arena, &event, error));
    *ret = event;
    return ERR_OK;
}

Err event_build_item(Arena *arena, Str kind, const Json *item, Event *ret, Error *error)
{
    Event event = { .kind = kind, .source = S("ingest"), .occurred_at = INSTANT_NONE };
    Error own = { 0 }, *noted = error ? error : &own;
    if (kind.len == 0 || kind.len > EVENT_KIND_MAX || !str_is_printable(kind)) {
        error_add(noted, S("/eventKind"), "bad-value",
                  "must have 1 to %d bytes and no control characters", EVENT_KIND_MAX);
        return error_close(noted, ERR_EVENT_INVALID);
    }
    TRY(fields_read(arena, item, S(""), &event_item_shape, &event, error));
    TRY(write_texts(arena, &event, error));
    *ret = event;
    return ERR_OK;
}

// check_text refuses a column that the same member of a body could not be.
static void check_text(Str text, const char *pointer, size_t max, Error *error)
{
    if (text.len > max || !str_is_utf8(text) || !str_is_printable(text))
        error_add(error, str_from(pointer), "bad-value",
                  "must have at most %zu bytes of UTF-8 and no control characters", max);
}

Err event_build_row(Arena *arena, Str payload, Event *ret, Error *error)
{
    Error own = { 0 }, *noted = error ? error : &own;
    check_text(ret->kind, "/eventType", EVENT_KIND_MAX, noted);
    check_text(ret->identity, "/id", EVENT_IDENTITY_MAX, noted);
    check_text(ret->entity, "/entity", EVENT_ENTITY_MAX, noted);
    check_text(ret->topic, "/topic", EVENT_TOPIC_MAX, noted);
    check_text(ret->correlation_id, "/correlationId", EVENT_CORRELATION_MAX, noted);
    if (ret->kind.len == 0)
        error_add(noted, S("/eventType"), "missing", "is needed");
    TRY(error_close(noted, ERR_EVENT_INVALID));
    TRY(json_parse(arena, payload, &ret->payload_json, noted));
    if (json_type(ret->payload_json) != JSON_OBJECT) {
        error_add(noted, S("/payload"), "bad-value", "must be a JSON object");
        return error_close(noted, ERR_EVENT_INVALID);
    }
    return write_texts(arena, ret, noted);
}

Err event_check_size(const Event *event, size_t payload_max, Error *error)
{
    if (event->payload.len > payload_max)
        error_add(error, S("/payload"), "too-large", "may have %zu bytes, not %zu", payload_max,
                  event->payload.len);
    if (event->recipient.len > EVENT_RECIPIENT_MAX)
        error_add(error, S("/recipient"), "too-large", "may have %d bytes, not %zu",
                  EVENT_RECIPIENT_MAX, event->recipient.len);
    return error_close(error, ERR_TOO_LARGE);
}

// to_index reads a segment of a path as an index: digits without leading zeros.
static bool to_index(Str segment, size_t *ret)
{
    int64_t index;
    if (segment.len == 0 || segment.at[0] < '0' || segment.at[0] > '9')
        return false;
    if (segment.at[0] == '0' && segment.len > 1)
        return false;
    if (!str_to_i64(segment, 0, INT32_MAX, &index))
        return false;
    *ret = (size_t) index;
    return true;
}

static const Json *look_up(const Json *value, Str path);

// look_up_dotted tries the members whose own names contain dots and that path begins with. A value
// lies at exactly one path, so that no value is visited twice however the names overlap.
static const Json *look_up_dotted(const Json *object, Str path)
{
    for (JsonIter it = json_each(object); json_next(&it);) {
        if (!str_contains(it.key, S(".")) || !str_starts(path, it.key))
            continue;
        Str rest = str_skip(path, it.key.len);
        if (rest.len == 0)
            return it.value;
        if (rest.at[0] != '.' || rest.len == 1)
            continue;
        const Json *found = look_up(it.value, str_skip(rest, 1));
        if (found)
            return found;
    }
    return NULL;
}

// look_up follows path below value. It calls itself for each name of the path, so no deeper than
// a document may be (JSON_DEPTH_MAX).
static const Json *look_up(const Json *value, Str path)
{
    if (path.len == 0)
        return value;
    Str rest = path;
    Str name = str_cut(&rest, '.');

    if (json_type(value) == JSON_ARRAY) {
        size_t index;
        return to_index(name, &index) ? look_up(json_at(value, index), rest) : NULL;
    }
    if (json_type(value) != JSON_OBJECT)
        return NULL;

    const Json *found = look_up(json_get(value, name), rest);
    if (!found && rest.len > 0)
        found = look_up_dotted(value, path);
    return found;
}

static Found found_json(const Json *value)
{
    return (Found){ .type = json_type(value), .json = value };
}

static Found found_text(Str text)
{
    return (Found){ .type = text.at ? JSON_STRING : JSON_ABSENT, .text = text };
}

static Found found_time(Instant at)
{
    Found found = { .type = JSON_ABSENT };
    if (at == INSTANT_NONE)
        return found;
    _Static_assert(sizeof(found.made) >= TIME_TEXT_MAX, "a time fits");
    found.type = JSON_STRING;
    found.text.len = time_text(at, found.made).len;
    return found;
}

static Found found_id(Uuid id)
{
    Found found = { .type = JSON_ABSENT };
    if (uuid_is_none(id))
        return found;
    _Static_assert(sizeof(found.made) > UUID_TEXT_LEN, "an id fits");
    found.type = JSON_STRING;
    found.text.len = uuid_text(id, found.made).len;
    return found;
}

// find_fact finds what the path "event." + name says about the event itself.
static Found find_fact(const Event *event, Str name)
{
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        { "kind", offsetof(Event, kind) },     { "source", offsetof(Event, source) },
        { "entity", offsetof(Event, entity) }, { "correlationId", offsetof(Event, correlation_id) },
        { "topic", offsetof(Event, topic) },
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_eq(name, str_from(texts[i].name)))
            return found_text(*(const Str *) ((const char *) event + texts[i].offset));
    }
    if (str_eq(name, S("id")))
        return found_id(event->id);
    if (str_eq(name, S("occurredAt")))
        return found_time(event->occurred_at);
    if (str_eq(name, S("receivedAt")))
        return found_time(event->received_at);
    return found_text(STR_NONE);
}

Err event_parse(Arena *arena, Event *event, Error *error)
{
    TRY(json_parse(arena, event->payload, &event->payload_json, error));
    if (event->recipient.at)
        TRY(json_parse(arena, event->recipient, &event->recipient_json, error));
    return ERR_OK;
}

// find_answer looks up a path that begins with a question's id.
static const Json *find_answer(const Event *event, Str path)
{
    Str rest = path, question = str_cut(&rest, '.');
    for (size_t i = 0; i < event->answer_count; i++)
        if (str_eq(event->answers[i].question, question))
            return look_up(event->answers[i].value, rest);
    return NULL;
}

// find_member looks up a path in the payload; of a response, then in that of the event which it
// stems from.
static const Json *find_member(const Event *event, Str path)
{
    const Json *found = look_up(event->payload_json, path);
    if (!found && str_eq(event->kind, EVENT_KIND_RESPONSE))
        found = look_up(json_get(event->payload_json, S("payload")), path);
    return found;
}

// find_bare looks up a path that has none of the roots.
static const Json *find_bare(const Event *event, Str path)
{
    const Json *found = NULL;
    if (event->is_answering)
        return find_answer(event, path);
    if (str_eq(event->kind, EVENT_KIND_RESPONSE))
        found = look_up(json_get(event->payload_json, S("answers")), path);
    return found ? found : find_member(event, path);
}

Found event_find(const Event *event, Str template_id, Str path)
{
    Str rest = path;
    Str root = str_cut(&rest, '.');
    if (str_eq(root, S("candidate")) || str_eq(root, S("payload")))
        return found_json(find_member(event, rest));
    if (str_eq(root, S("recipient")))
        return found_json(look_up(event->recipient_json, rest));
    if (str_eq(root, S("event")))
        return find_fact(event, rest);
    if (str_eq(root, S("templateId")))
        return found_text(rest.len == 0 ? template_id : STR_NONE);
    return found_json(find_bare(event, path));
}

Str found_str(const Found *found)
{
    if (found->type != JSON_STRING)
        return STR_NONE;
    if (found->json)
        return json_str(found->json);
    if (found->text.at)
        return found->text;
    return (Str){ found->made, found->text.len };
}

Str event_text_at(Arena *arena, const Event *event, Str template_id, Str path)
{
    Found found = event_find(event, template_id, path);
    if (found.type == JSON_NUMBER)
        return json_number_text(found.json);
    if (found.type != JSON_STRING)
        return STR_NONE;
    bool is_borrowed = found.json || found.text.at;
    return is_borrowed ? found_str(&found) : str_dup(arena, found_str(&found));
}
