#include "api/trigger_events.h"

#include "domain/trigger_event.h"
#include "store/trigger_event.h"

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)

// clang-format off
#define AT(member) offsetof(ResultBody, member)
static const Field result_rows[] = {
    { "sessionId",      FIELD_TEXT, FIELD_NULLABLE, AT(session_id), .max = TRIGGER_SESSION_MAX, .help = "Of whoever runs it" },
    { "enrichedData",   FIELD_ANY,  0, AT(enriched), .help = "It may be any JSON" },
    { "filterResult",   FIELD_ANY,  0, AT(filter_result), .help = "It may be any JSON" },
    { "analysisResult", FIELD_ANY,  0, AT(analysis_result), .help = "It may be any JSON" },
};
#undef AT
const Shape trigger_result_shape = { .name = "TriggerResult", SHAPE_ROWS(result_rows), .size = sizeof(ResultBody) };

#define AT(member) offsetof(ActionBody, member)
static const Field action_body_rows[] = {
    { "tool",        FIELD_TEXT, FIELD_NEEDED, AT(tool), .max = TRIGGER_TOOL_MAX },
    { "status",      FIELD_TEXT, FIELD_NEEDED, AT(status), .max = TRIGGER_WORD_MAX, .help = "In the run's own words" },
    { "input",       FIELD_ANY,  0, AT(input), .help = "It may be any JSON" },
    { "output",      FIELD_ANY,  0, AT(output), .help = "It may be any JSON" },
    { "error",       FIELD_TEXT, FIELD_EMPTY | FIELD_LINES | FIELD_CONTROL, AT(error), .max = TRIGGER_JSON_MAX, .help = "Cleaned and cut to 4,096 bytes" },
    { "startedAt",   FIELD_TIME, 0, AT(started_at) },
    { "completedAt", FIELD_TIME, 0, AT(completed_at) },
};
#undef AT
const Shape trigger_action_body_shape = { .name = "TriggerActionBody", SHAPE_ROWS(action_body_rows), .size = sizeof(ActionBody) };
_Static_assert(TRIGGER_ERROR_MAX == 4096, "the help says so");

static const Field action_rows[] = {
    { "n",           FIELD_COUNT, ALWAYS, .help = "Counts the run's actions from 1" },
    { "tool",        FIELD_TEXT,  ALWAYS },
    { "status",      FIELD_TEXT,  ALWAYS },
    { "input",       FIELD_ANY,   0, .help = "Where the event is shown alone: any JSON" },
    { "output",      FIELD_ANY,   0, .help = "Where the event is shown alone: any JSON" },
    { "error",       FIELD_TEXT,  FIELD_NULLABLE, .help = "Where the event is shown alone" },
    { "startedAt",   FIELD_TIME,  OR_NULL },
    { "completedAt", FIELD_TIME,  OR_NULL },
    { "duration",    FIELD_TEXT,  OR_NULL, .help = "From its start to its end: 2s, or 1500ms" },
};
const Shape trigger_action_shape = { .name = "TriggerAction", SHAPE_ROWS(action_rows) };
static const Field action_row = { NULL, FIELD_OBJECT, .inside = &trigger_action_shape };

static const Field event_rows[] = {
    { "id",                FIELD_TEXT, ALWAYS, .help = "<event id>.<rule number>" },
    { "triggerId",         FIELD_TEXT, ALWAYS },
    { "eventId",           FIELD_ID,   ALWAYS },
    { "deliveryId",        FIELD_ID,   OR_NULL, .help = "Its run; null where none was made" },
    { "status",            FIELD_WORD, ALWAYS, .words = trigger_status_words },
    { "skipReason",        FIELD_WORD, OR_NULL, .words = trigger_skip_words },
    { "providerEventType", FIELD_TEXT, OR_NULL },
    { "dedupKey",          FIELD_TEXT, OR_NULL },
    { "title",             FIELD_TEXT, OR_NULL },
    { "url",               FIELD_TEXT, OR_NULL },
    { "occurredAt",        FIELD_TIME, ALWAYS },
    { "receivedAt",        FIELD_TIME, ALWAYS },
    { "sessionId",         FIELD_TEXT, OR_NULL },
    { "enrichedData",      FIELD_ANY,  0, .help = "Where it is shown alone: any JSON" },
    { "filterResult",      FIELD_ANY,  0, .help = "Where it is shown alone: any JSON" },
    { "analysisResult",    FIELD_ANY,  0, .help = "Where it is shown alone: any JSON" },
    { "actions",           FIELD_LIST, ALWAYS, .of = &action_row },
};
const Shape trigger_event_shape = { .name = "TriggerEvent", SHAPE_ROWS(event_rows) };

static const char *const source_words[] = { "manual", "schedule", "trigger", NULL };
static const Field run_rows[] = {
    { "runId",          FIELD_ID,    ALWAYS, .help = "Its delivery's id" },
    { "source",         FIELD_WORD,  ALWAYS, .words = source_words },
    { "triggerId",      FIELD_TEXT,  OR_NULL },
    { "triggerEventId", FIELD_TEXT,  OR_NULL },
    { "eventId",        FIELD_ID,    ALWAYS },
    { "status",         FIELD_WORD,  ALWAYS, .words = trigger_status_words },
    { "attempts",       FIELD_COUNT, ALWAYS },
    { "createdAt",      FIELD_TIME,  ALWAYS },
    { "endedAt",        FIELD_TIME,  OR_NULL },
};
const Shape automation_run_shape = { .name = "AutomationRun", SHAPE_ROWS(run_rows) };
// clang-format on
