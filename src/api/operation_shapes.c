#include "api/shapes.h"

#include "domain/cause.h"
#include "domain/channel.h"
#include "domain/event.h"
#include "domain/trigger.h"
#include "store/inbox.h"
#include "store/operation.h"
#include "store/site.h"

// What an operation is asked for.

#define WORD(name, text, ...) (text),
static const char *const state_words[] = { DELIVERY_STATE_TABLE(WORD) NULL };
#undef WORD
const char *const operation_words[] = { "retry", "discard", "cancel", "replay", NULL };

// clang-format off
// What any action may be told: its own rows (store/delivery.h, store/inbox.h) then say what it takes.
static const char *const failed_words[] = { "Failed", NULL };
static const Field id_row = { NULL, FIELD_ID };
static const Field operation_filter_rows[] = {
    { "state",   FIELD_WORD, 0, .words = state_words, .noun = "a state" },
    { "trigger", FIELD_TEXT, 0, .max = TRIGGER_ID_MAX },
    { "list",    FIELD_TEXT, 0, .max = TRIGGER_ID_MAX },
    { "job",     FIELD_TEXT, 0, .max = TRIGGER_ID_MAX },
    { "channel", FIELD_TEXT, 0, .max = CHANNEL_KEY_MAX },
    { "event",   FIELD_ID,   0 },
    { "entity",  FIELD_TEXT, 0, .max = EVENT_ENTITY_MAX },
    { "cause",   FIELD_TEXT, 0, .max = CAUSE_TEXT_LEN, .help = "As /v1/causes told it" },
    { "site",    FIELD_TEXT, 0, .max = SITE_NAME_MAX },
    { "status",  FIELD_WORD, 0, .words = failed_words, .noun = "a status that can be replayed", .help = "Of replay, whether or not it is said" },
    { "side",    FIELD_WORD, 0, .words = inbox_side_words, .noun = "a side", .help = "Of replay: outbox, inbox (webhooks), or any, unless said" },
    { "source",  FIELD_TEXT, 0, .max = EVENT_SOURCE_MAX, .help = "Of replay: sql, or the id of a source" },
    { "provider", FIELD_TEXT, 0, .max = TRIGGER_ID_MAX, .help = "Of replay: webhooks of this provider" },
    { "from",    FIELD_TIME, 0 },
    { "to",      FIELD_TIME, 0 },
    { "q",       FIELD_TEXT, 0, .max = DELIVERY_QUERY_MAX, .help = "As in the list of deliveries" },
    { "stuck",   FIELD_BOOL, 0, .help = "Of cancel: due ten minutes before the operation was made or longer, and not sent" },
    { "ids",     FIELD_LIST, 0, .min = 1, .max = DELIVERY_IDS_MAX, .of = &id_row, .help = "These deliveries alone" },
};
const Shape operation_filter_shape = { .name = "OperationFilter", SHAPE_ROWS(operation_filter_rows) };
static const Field operation_body_rows[] = {
    { "action", FIELD_WORD, FIELD_NEEDED, offsetof(OperationBody, action), .words = operation_words, .noun = "an action" },
    { "filter", FIELD_OBJECT, FIELD_NEEDED | FIELD_RAW, offsetof(OperationBody, filter), .inside = &operation_filter_shape,
      .help = "Which deliveries, as their list is filtered; for replay status, side, from and to. {} means all that the action is for" },
    { "reason", FIELD_TEXT, 0, offsetof(OperationBody, reason), .max = OPERATION_REASON_MAX },
    { "dryRun", FIELD_BOOL, 0, offsetof(OperationBody, is_dry), .help = "Only count" },
};
const Shape operation_body_shape = { .name = "Operation", SHAPE_ROWS(operation_body_rows), .size = sizeof(OperationBody) };
// clang-format on
