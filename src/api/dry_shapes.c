#include "api/dry.h"

#include "api/shapes.h"
#include "domain/delivery.h"
#include "domain/trigger.h"

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)

#define WORD(name, text, ...) (text),
static const char *const state_words[] = { DELIVERY_STATE_TABLE(WORD) NULL };
static const char *const reason_words[] = { DELIVERY_REASON_TABLE(WORD) NULL };
#undef WORD

// clang-format off
#define AT(member) offsetof(DryBody, member)
#define DRY_EVENT                                                                                                \
    { "event",   FIELD_OBJECT, 0, AT(event), .help = "An event as it would be posted; its kind may be left out" }, \
    { "eventId", FIELD_ID,     0, AT(stored), .given = AT(has_stored), .help = "A stored event instead" }
static const Field trigger_body_rows[] = { DRY_EVENT };
static const Field filter_body_rows[] = {
    { "filter", FIELD_FILTER, FIELD_NEEDED, AT(filter) },
    DRY_EVENT,
    { "templateId", FIELD_TEXT, 0, AT(template_id), .max = TEMPLATE_ID_MAX, .help = "What the filter finds at templateId" },
};
const Shape trigger_test_body_shape = { .name = "TriggerTest", SHAPE_ROWS(trigger_body_rows), .size = sizeof(DryBody) };
const Shape filter_test_body_shape = { .name = "FilterTest", SHAPE_ROWS(filter_body_rows), .size = sizeof(DryBody) };
#undef DRY_EVENT
#undef AT

static const Field send_rows[] = {
    { "send", FIELD_INT,  ALWAYS, .help = "1, then its reminders" },
    { "at",   FIELD_TIME, ALWAYS, .help = "If each goes out as soon as it is due" },
};
static const Shape send_shape = { .name = "PlannedSend", SHAPE_ROWS(send_rows) };
static const Field send_row = { NULL, FIELD_OBJECT, .inside = &send_shape };

static const Field header = { NULL, FIELD_TEXT };
static const Field message_rows[] = {
    { "channel", FIELD_TEXT, OR_NULL },
    { "address", FIELD_TEXT, OR_NULL },
    { "url",     FIELD_TEXT, OR_NULL, .help = "Where it would go; null where nothing leaves the machine" },
    { "headers", FIELD_MAP,  ALWAYS, .of = &header, .help = "With stand-ins for secrets" },
    { "body",    FIELD_ANY,  ALWAYS, .help = "any JSON, or a text where it is none" },
};
static const Shape message_shown_shape = { .name = "TestMessage", SHAPE_ROWS(message_rows) };

static const Field stop_rows[] = {
    { "state",  FIELD_WORD, ALWAYS, .words = state_words },
    { "reason", FIELD_WORD, ALWAYS, .words = reason_words },
    { "detail", FIELD_TEXT, OR_NULL },
};
static const Shape stop_shape = { .name = "TestStop", SHAPE_ROWS(stop_rows) };

static const Field trigger_rows[] = {
    { "decision",  FIELD_OBJECT, ALWAYS, .inside = &decision_shape, .help = "As explain tells it" },
    { "plan",      FIELD_LIST,   ALWAYS, .of = &send_row, .help = "Empty where nothing would be made" },
    { "expiresAt", FIELD_TIME,   OR_NULL, .help = "If no answer comes; null where none is awaited" },
    { "message",   FIELD_OBJECT, OR_NULL, .inside = &message_shown_shape, .help = "The first send" },
    { "stops",     FIELD_OBJECT, OR_NULL, .inside = &stop_shape, .help = "What ends it before anything is sent" },
    { "callsOff",  FIELD_BOOL,   ALWAYS, .help = "The event would call off what this trigger made for the same match values" },
    { "note",      FIELD_TEXT,   OR_NULL },
};
const Shape trigger_test_shape = { .name = "TriggerTested", SHAPE_ROWS(trigger_rows) };

static const Field miss_rows[] = {
    { "path",         FIELD_TEXT, OR_NULL },
    { "predicate",    FIELD_TEXT, OR_NULL },
    { "seen",         FIELD_ANY,  ALWAYS, .help = "any JSON" },
    { "wouldMatchIf", FIELD_TEXT, OR_NULL },
};
static const Shape miss_shape = { .name = "FilterMiss", SHAPE_ROWS(miss_rows) };
static const Field filter_rows[] = {
    { "matches", FIELD_BOOL,   ALWAYS },
    { "explain", FIELD_OBJECT, OR_NULL, .inside = &miss_shape, .help = "The condition that decided; null where it matches" },
};
const Shape filter_test_shape = { .name = "FilterTested", SHAPE_ROWS(filter_rows) };
// clang-format on
