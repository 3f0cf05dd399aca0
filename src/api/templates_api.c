#include "api/handlers.h"

#include "api/noun.h"
#include "api/shapes.h"
#include "api/shown.h"
#include "channels/channel.h"
#include "domain/template.h"
#include "store/definition.h"
#include "store/event.h"
#include "store/lane.h"
#include "store/versions.h"

// What templates have beside the verbs of all definitions: whoever saves one is warned of
// placeholders that nobody knows, a list may be narrowed, and a preview renders one.

enum { LOOK_EVENTS = 10, LOOK_MET = 1000 }; // of the newest, for placeholders that they have

// is_declared looks at what templates of the type declare; there may be thousands, a few will do.
static bool is_declared(const Template *template, Str name)
{
    for (size_t i = 0; i < template->declared_count; i++)
        if (str_eq_nocase(template->declared[i], name))
            return true;
    return false;
}

static bool is_declared_elsewhere(const Edit *edit, Str kind, Str name)
{
    DEFER(arena_done) Arena scratch = { 0 };
    size_t count, looked = 0;
    const RegistryTrigger *const *rules =
        registry_triggers(edit->call->registry, edit->call->tenant, kind, &count);
    for (size_t i = count; i-- > 0 && looked < LOOK_MET; looked++) {
        if (rules[i]->rule_kind != RULE_TEMPLATE)
            return false; // they stand behind the others
        arena_reset(&scratch);
        if (is_declared(registry_compiled(rules[i], &scratch)->template, name))
            return true;
    }
    return false;
}

// is_given: every event has it, or its message.
static bool is_given(Str kind, Str name)
{
    Event bare = { .id = { { 1 } }, .kind = kind };
    return phrase_knows(name, &bare);
}

static bool is_seen(const Event *events, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].payload_json && phrase_knows(name, &events[i]))
            return true;
    return false;
}

// recent_events reads the newest of a kind, as far as a short look finds them.
static Err recent_events(const Edit *edit, Str kind, Event **ret, size_t *ret_count, Error *error)
{
    Tx *tx = edit->tx;
    Seen seen;
    Walk walk = { .limit = LOOK_EVENTS, .met_max = LOOK_MET };
    EventFilter filter = { .kind = kind, .to = INSTANT_NONE };
    TRY(event_page(tx->db, &tx->arena, edit->call->tenant, &filter, &walk, ret, &seen, error));
    *ret_count = seen.count;
    for (size_t i = 0; i < seen.count; i++)
        if (event_parse(&tx->arena, &(*ret)[i], NULL) != ERR_OK)
            (*ret)[i].payload_json = NULL;
    return ERR_OK;
}

static Err warn_of_placeholders(Edit *edit, const Trigger *trigger, Error *error)
{
    Str *names;
    Event *events = NULL;
    size_t event_count = 0, count = template_names(trigger->template, edit->call->arena, &names);
    if (count > 0)
        TRY(recent_events(edit, trigger->event_kind, &events, &event_count, error));
    for (size_t i = 0; i < count; i++) {
        if (is_declared(trigger->template, names[i]) || is_given(trigger->event_kind, names[i]) ||
            is_seen(events, event_count, names[i]) ||
            is_declared_elsewhere(edit, trigger->event_kind, names[i]))
            continue;
        edit_warn(edit, names[i],
                  str_format(edit->call->arena, "not declared for %.*s, nor seen in its events",
                             STR_ARG(trigger->event_kind)));
    }
    return ERR_OK;
}

Err touch_template(Edit *edit, Error *error)
{
    Trigger trigger;
    TRY(template_compile(edit->call->arena, edit->body, &trigger, error));
    TRY(lane_ensure(edit->tx, edit->call->tenant, trigger.channel, error));
    TRY(edit_warn_of_missing(edit, &definition_channel, trigger.channel, error));
    return warn_of_placeholders(edit, &trigger, error);
}

enum { TEMPLATES_TYPE, TEMPLATES_CHANNEL, TEMPLATES_ACTIVE };

// clang-format off
const Param template_params[] = {
    [TEMPLATES_TYPE]    = { "eventType", PARAM_TEXT, .max = EVENT_KIND_MAX, .help = "For events of this type" },
    [TEMPLATES_CHANNEL] = { "channel",   PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "Through this channel" },
    [TEMPLATES_ACTIVE]  = { "active",    PARAM_BOOL, .help = "Active ones, or those that are not" },
    { 0 },
};
// clang-format on

static bool fits_text(const Call *call, size_t row, const Json *member)
{
    Str wanted;
    return !param_text(call, row, &wanted) || str_eq(json_str(member), wanted);
}

bool template_fits(const Call *call, const Json *body)
{
    bool wanted;
    const Json *active = json_get(body, S("active"));
    bool is_active = json_type(active) != JSON_BOOL || json_bool(active);
    return fits_text(call, TEMPLATES_TYPE, json_get(body, S("eventType"))) &&
           fits_text(call, TEMPLATES_CHANNEL, json_get(body, S("channel"))) &&
           (!param_bool(call, TEMPLATES_ACTIVE, &wanted) || wanted == is_active);
}

// find_sample makes the event that a preview is filled from: a stored one, or the data given.
static Err find_sample(Call *call, Db *db, const PreviewBody *body, Event *ret, Error *error)
{
    *ret = (Event){ .occurred_at = INSTANT_NONE, .received_at = clock_now(call->api->clock) };
    if (!body->has_event) {
        ret->payload_json = body->data;
        return ERR_OK;
    }
    TRY(event_row(db, call->arena, call->tenant, body->event, ret, error));
    if (!ret->payload_json)
        return fail(error, ERR_CORRUPT, "the event's payload cannot be read");
    if (ret->occurred_at == INSTANT_NONE)
        ret->occurred_at = ret->received_at;
    ret->recipient = call_recipient(call, ret->recipient);
    return event_parse(call->arena, ret, error);
}

void put_missing(JsonOut *json, const Filling *filling)
{
    json_key(json, S("warnings"));
    json_open(json, '[');
    for (size_t i = 0; i < filling->missing_count; i++) {
        json_open(json, '{');
        json_put_str(json, S("placeholder"), filling->missing[i]);
        json_put_str(json, S("message"), S("has no value"));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_preview(JsonOut *json, const Content *content, const Filling *filling)
{
    json_open(json, '{');
    json_put_str(json, S("subject"), content->subject);
    json_put_str(json, S("body"), content->html.at ? content->html : content->text);
    if (content->template.at || content->param_count > 0)
        content_put_provider(json, content);
    put_missing(json, filling);
    json_close(json, '}');
}

// preview renders a compiled template as the body says.
static Err preview(Call *call, Db *db, const PreviewBody *body, const Trigger *trigger,
                   Error *error)
{
    Event sample;
    Content content;
    if (body->has_event == (body->data != NULL))
        return fail(error, ERR_INVALID, "give \"data\" or \"eventId\", one of them");
    TRY(find_sample(call, db, body, &sample, error));
    Filling filling = { .event = &sample,
                        .url = message_link(call->arena, call->api->url_template, S("preview")) };
    TRY(template_say(trigger->template, call->arena, &filling, &content, error));
    put_preview(call_json(call, 200), &content, &filling);
    return ERR_OK;
}

Err template_preview(Call *call, Db *db, Error *error)
{
    PreviewBody body = { 0 };
    Definition row;
    Trigger trigger;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &preview_body_shape, &body, error));
    TRY(definition_get(db, call->arena, call->tenant, S("template"), call->params[0], &row, error));
    TRY(template_parse(call->arena, row.body, &trigger, error));
    return preview(call, db, &body, &trigger, error);
}

// DraftBody is a template that nobody saved yet, with what it is filled from.
typedef struct DraftBody {
    PreviewBody with;
    const Json *template;
} DraftBody;

// clang-format off
#define AT(member) offsetof(DraftBody, member)
static const Field draft_rows[] = {
    { "template", FIELD_OBJECT, FIELD_NEEDED, AT(template), .help = "As it would be saved; its id may be left out" },
    { "data",     FIELD_OBJECT, 0, AT(with.data), .help = "As an event's payload" },
    { "eventId",  FIELD_ID,     0, AT(with.event), .given = AT(with.has_event), .help = "A stored event, in place of data" },
};
#undef AT
// clang-format on
const Shape preview_draft_shape = { .name = "PreviewDraft",
                                    SHAPE_ROWS(draft_rows),
                                    .size = sizeof(DraftBody) };

// with_id gives a draft the id that its rows ask for.
static Err with_id(Arena *arena, const Json *draft, const Json **ret, Error *error)
{
    *ret = draft;
    if (json_get(draft, S("id")))
        return ERR_OK;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("id"), S("draft"));
    for (JsonIter it = json_each(draft); json_next(&it);)
        json_put_raw(&out, it.key, json_text(arena, it.value));
    json_close(&out, '}');
    return json_parse(arena, buf_str(&text), ret, error);
}

Err template_preview_draft(Call *call, Db *db, Error *error)
{
    DraftBody body = { 0 };
    const Json *draft;
    Trigger trigger;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &preview_draft_shape, &body, error));
    TRY(with_id(call->arena, body.template, &draft, error));
    TRY(definition_template.check(call->arena, draft, error));
    TRY(template_compile(call->arena, draft, &trigger, error));
    return preview(call, db, &body.with, &trigger, error);
}
