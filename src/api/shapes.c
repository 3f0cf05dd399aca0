#include "api/shapes.h"

#include "domain/audit.h"
#include "domain/cause.h"
#include "domain/cron.h"
#include "domain/decision.h"
#include "domain/delivery.h"
#include "domain/event.h"
#include "domain/forward.h"
#include "domain/inbox.h"
#include "domain/list.h"
#include "domain/role.h"
#include "domain/run.h"
#include "domain/source.h"
#include "domain/template.h"
#include "providers/provider.h"
#include "store/delivery.h"
#include "store/key.h"
#include "store/list.h"
#include "store/message.h"
#include "store/operation.h"
#include "store/site.h"
#include "store/tenant.h"

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)
#define SOMETIMES 0u
#define MAYBE_NULL FIELD_NULLABLE

#define SHAPE(title, rows)                                                                         \
    {                                                                                              \
        .name = (title), SHAPE_ROWS(rows)                                                          \
    }

// Words that a table has, in its order.
#define WORD(name, text, ...) (text),
static const char *const state_words[] = { DELIVERY_STATE_TABLE(WORD) NULL };
static const char *const verdict_words[] = { VERDICT_TABLE(WORD) NULL };
static const char *const reason_words[] = { DELIVERY_REASON_TABLE(WORD) NULL };
static const char *const decision_words[] = { DECISION_TABLE(WORD) NULL };
static const char *const decision_reasons[] = { DECISION_REASON_TABLE(WORD) NULL };
static const char *const audit_kinds[] = { AUDIT_KIND_TABLE(WORD) NULL };
static const char *const audit_statuses[] = { AUDIT_STATUS_TABLE(WORD) NULL };
static const char *const audit_problems[] = { AUDIT_PROBLEM_TABLE(WORD) NULL };
static const char *const role_words[] = { ROLE_TABLE(WORD) NULL };
static const char *const rule_words[] = { RULE_KIND_TABLE(WORD) NULL };
static const char *const inbox_kinds[] = { INBOX_OUTBOX_TABLE(WORD) NULL };
static const char *const inbox_reasons[] = { INBOX_OUTBOX_REASON_TABLE(WORD) NULL };
static const char *const inbox_hook_reasons[] = { INBOX_HOOK_REASON_TABLE(WORD) "fatal", NULL };
#undef WORD
#define CODE(name, http, exit, code, title) (code),
#define VERDICT_CODE(name, code, words) (code),
static const char *const error_codes[] = { ERR_TABLE(CODE) HOOK_VERDICT_TABLE(VERDICT_CODE) NULL };
#undef VERDICT_CODE
#undef CODE

// clang-format off
static const char *const item_words[] = { "created", "skipped", "failed", "unmatched", NULL };
static const char *const moment_words[] = { "received", "verified", "drained", "decided", "planned", "attempt", "ended", NULL };
#define OPERATION_WORDS "retry", "discard", "cancel", "replay"
static const char *const operation_shown_words[] = { OPERATION_WORDS, "verify", "hand-over", NULL };
#undef OPERATION_WORDS

// A reason is null where none is needed: the first of its words is empty.
#define REASON(flags)       { "reason", FIELD_WORD, flags, .min = REASON_NONE + 1, .words = reason_words }
#define WORDS(name, flags, list) { name, FIELD_WORD, flags, .words = list }
#define LIST(name, flags, element) { name, FIELD_LIST, flags, .of = &(element) }

static const Field text_row = { NULL, FIELD_TEXT };

static const Field mistake_rows[] = {
    { "path",    FIELD_TEXT, ALWAYS, .help = "A JSON Pointer into the body, or / and a query parameter" },
    { "code",    FIELD_TEXT, ALWAYS },
    { "message", FIELD_TEXT, ALWAYS },
    { "questionId", FIELD_TEXT, SOMETIMES, .help = "Of an answer to a survey: what it should have answered" },
};
static const Shape mistake_shape = SHAPE("Mistake", mistake_rows);
static const Field mistake_row = { NULL, FIELD_OBJECT, .inside = &mistake_shape };
static const Field problem_rows[] = {
    { "type",      FIELD_TEXT, ALWAYS },
    { "title",     FIELD_TEXT, ALWAYS },
    { "status",    FIELD_INT,  ALWAYS },
    { "code",      FIELD_WORD, ALWAYS, .min = ERR_OK + 1, .words = error_codes },
    { "detail",    FIELD_TEXT, ALWAYS },
    LIST("errors", SOMETIMES, mistake_row),
    { "requestId", FIELD_ID,   ALWAYS },
};
const Shape problem_shape = SHAPE("Problem", problem_rows);

static const Field reason_rows[] = {
    { "reason", FIELD_TEXT, .max = OPERATION_REASON_MAX, .help = "Why, in a person's words" },
};
const Shape reason_shape = { .name = "Reason", SHAPE_ROWS(reason_rows), .size = sizeof(Str) };

static const Field item_row = { NULL, FIELD_OBJECT, .inside = &event_item_shape };
static const Field batch_body_rows[] = {
    { "eventKind", FIELD_TEXT, FIELD_NEEDED, offsetof(BatchBody, kind), .max = EVENT_KIND_MAX, .help = "Of all items" },
    { "kind",      FIELD_TEXT, FIELD_ALSO, .max = EVENT_KIND_MAX },
    { "items",     FIELD_LIST, FIELD_NEEDED | FIELD_RAW, offsetof(BatchBody, items), .max = EVENT_ITEMS_MAX, .code = "too-many", .of = &item_row,
      .help = "One that is wrong fails alone" },
};
const Shape batch_body_shape = { .name = "Batch", SHAPE_ROWS(batch_body_rows), .size = sizeof(BatchBody) };

static const Field rule_rows[] = {
    WORDS("kind", ALWAYS, rule_words),
    { "id",      FIELD_TEXT,  OR_NULL, .help = "Null where its row got lost" },
    { "version", FIELD_COUNT, ALWAYS },
};
static const Shape rule_shape = SHAPE("Rule", rule_rows);

static const Field taken_rows[] = {
    WORDS("outcome", ALWAYS, item_words),
    { "deliveryId", FIELD_ID,   ALWAYS, .help = "Made now, or holding the key already" },
    { "publicId",   FIELD_TEXT, OR_NULL, .help = "Null where the one that holds the key is purged" },
    { "triggerId",  FIELD_TEXT, OR_NULL },
    { "rule",       FIELD_OBJECT, ALWAYS, .inside = &rule_shape },
    { "surveyId",   FIELD_TEXT, OR_NULL },
};
static const Shape taken_shape = SHAPE("TakenDelivery", taken_rows);
static const Field taken_row = { NULL, FIELD_OBJECT, .inside = &taken_shape };

static const Field item_error_rows[] = {
    { "code",    FIELD_TEXT, ALWAYS },
    { "message", FIELD_TEXT, ALWAYS },
    { "path",    FIELD_TEXT, SOMETIMES, .help = "A JSON Pointer into the item" },
};
static const Shape item_error_shape = SHAPE("ItemError", item_error_rows);
static const Field item_shown_rows[] = {
    { "eventId", FIELD_ID, OR_NULL },
    WORDS("outcome", ALWAYS, item_words),
    LIST("deliveries", ALWAYS, taken_row),
    { "error", FIELD_OBJECT, SOMETIMES, .inside = &item_error_shape },
};
static const Shape item_shown_shape = SHAPE("TakenItem", item_shown_rows);
static const Field item_shown_row = { NULL, FIELD_OBJECT, .inside = &item_shown_shape };
static const Field batch_rows[] = {
    { "created",   FIELD_COUNT, ALWAYS },
    { "skipped",   FIELD_COUNT, ALWAYS },
    { "failed",    FIELD_COUNT, ALWAYS },
    { "unmatched", FIELD_COUNT, ALWAYS },
    LIST("items", ALWAYS, item_shown_row),
};
const Shape batch_shape = SHAPE("TakenBatch", batch_rows);

static const Field forward_row = { NULL, FIELD_OBJECT, .inside = &forward_row_shape };
static const Field forward_body_rows[] = {
    { "rows", FIELD_LIST, FIELD_NEEDED | FIELD_RAW, .max = FORWARD_ROWS_MAX, .code = "too-many", .of = &forward_row,
      .help = "In the order in which the site took them in; one that is wrong is rejected alone" },
};
const Shape forward_body_shape = { .name = "Forward", SHAPE_ROWS(forward_body_rows), .size = sizeof(const Json *) };

static const Field epoch_rows[] = {
    { "id",     FIELD_TEXT,  ALWAYS },
    { "number", FIELD_COUNT, ALWAYS, .help = "Grows while the id stays: a smaller one is of an older state" },
};
static const Shape epoch_shape = SHAPE("Epoch", epoch_rows);
static const char *const forwarded_words[] = { "accepted", "duplicate", "rejected", NULL };
static const Field forwarded_row_rows[] = {
    { "id", FIELD_TEXT, OR_NULL },
    WORDS("outcome", ALWAYS, forwarded_words),
    { "error", FIELD_OBJECT, SOMETIMES, .inside = &item_error_shape },
};
static const Shape forwarded_row_shape = SHAPE("ForwardedRow", forwarded_row_rows);
static const Field forwarded_row = { NULL, FIELD_OBJECT, .inside = &forwarded_row_shape };
static const Field forwarded_rows[] = {
    { "epoch", FIELD_OBJECT, ALWAYS, .inside = &epoch_shape },
    LIST("rows", ALWAYS, forwarded_row),
};
const Shape forwarded_shape = SHAPE("Forwarded", forwarded_rows);

static const Field site_rows[] = {
    { "site",  FIELD_TEXT,   OR_NULL, .help = "Null where the key is not a site's" },
    { "epoch", FIELD_OBJECT, ALWAYS, .inside = &epoch_shape },
};
const Shape site_shape = SHAPE("Site", site_rows);

static const Field preview_body_rows[] = {
    { "data",    FIELD_OBJECT, 0, offsetof(PreviewBody, data), .help = "What an event's payload would hold" },
    { "eventId", FIELD_ID,     0, offsetof(PreviewBody, event), .given = offsetof(PreviewBody, has_event), .help = "A stored event instead" },
};
const Shape preview_body_shape = { .name = "Preview", SHAPE_ROWS(preview_body_rows), .size = sizeof(PreviewBody) };

static const Field preview_provider_rows[] = {
    { "template", FIELD_TEXT, OR_NULL },
    { "params",   FIELD_ANY,  ALWAYS, .help = "any JSON that is a list of texts, or an object of them where they have names" },
};
static const Shape preview_provider_shape = SHAPE("PreviewProvider", preview_provider_rows);
static const Field preview_warning_row = { NULL, FIELD_OBJECT, .inside = &template_warning_shape };
static const Field preview_rows[] = {
    { "subject",  FIELD_TEXT,   OR_NULL },
    { "body",     FIELD_TEXT,   OR_NULL },
    { "provider", FIELD_OBJECT, SOMETIMES, .inside = &preview_provider_shape },
    LIST("warnings", ALWAYS, preview_warning_row),
};
const Shape preview_shape = SHAPE("Previewed", preview_rows);

static const Field cron_body_rows[] = {
    { "cron",  FIELD_TEXT, FIELD_NEEDED | FIELD_LINES, offsetof(CronBody, cron), .max = CRON_TEXT_MAX, .help = "Five fields, or six with seconds first" },
    { "zone",  FIELD_TEXT, 0, offsetof(CronBody, zone), .max = ZONE_NAME_MAX, .help = "An IANA time zone; UTC unless said" },
    { "from",  FIELD_TIME, 0, offsetof(CronBody, from), .given = offsetof(CronBody, has_from), .help = "Times after this one; now unless said" },
    { "count", FIELD_INT,  0, offsetof(CronBody, count), .min = 1, .max = CRON_PREVIEW_MAX, .help = "So many times; " MACRO_TEXT(CRON_PREVIEW_USUAL) " unless said" },
};
const Shape cron_body_shape = { .name = "CronQuestion", SHAPE_ROWS(cron_body_rows), .size = sizeof(CronBody) };

static const Field run_body_rows[] = {
    { "entity",  FIELD_TEXT, .offset = offsetof(RunBody, entity), .max = EVENT_ENTITY_MAX, .help = "What the run is about" },
    { "payload", FIELD_OBJECT, .offset = offsetof(RunBody, payload), .help = "What the handler is given; the job's unless said" },
};
const Shape run_body_shape = { .name = "RunBody", SHAPE_ROWS(run_body_rows), .size = sizeof(RunBody) };

static const Field run_rows[] = {
    { "runId",       FIELD_ID,   SOMETIMES, .help = "Of an automation's: the delivery's" },
    { "executionId", FIELD_TEXT, ALWAYS, .help = "Of its first try" },
    { "deliveryId",  FIELD_ID,   ALWAYS },
};
const Shape run_shape = SHAPE("Run", run_rows);

static const Field backfill_body_rows[] = {
    { "from", FIELD_TIME, FIELD_NEEDED, offsetof(BackfillBody, from), .help = "Occurrences from this moment on" },
    { "to",   FIELD_TIME, FIELD_NEEDED, offsetof(BackfillBody, to), .help = "Up to this one, which must not lie ahead; at most 1,000 of them" },
};
const Shape backfill_body_shape = { .name = "BackfillBody", SHAPE_ROWS(backfill_body_rows), .size = sizeof(BackfillBody) };

static const Field backfill_rows[] = {
    { "made",     FIELD_COUNT, ALWAYS, .help = "Runs" },
    { "repeated", FIELD_COUNT, ALWAYS, .help = "Occurrences that have a run already, whatever became of it" },
};
const Shape backfill_shape = SHAPE("Backfill", backfill_rows);

static const Field cron_time_rows[] = {
    { "at",    FIELD_TIME, ALWAYS },
    { "local", FIELD_TEXT, ALWAYS, .help = "As the clocks of the zone show it, with their offset" },
};
static const Shape cron_time_shape = SHAPE("CronTime", cron_time_rows);
static const Field cron_time_row = { NULL, FIELD_OBJECT, .inside = &cron_time_shape };
static const Field cron_warning_row = { NULL, FIELD_TEXT };
static const Field cron_preview_rows[] = {
    LIST("items", ALWAYS, cron_time_row),
    { "explain", FIELD_TEXT, ALWAYS, .help = "What it means, and what becomes of it when the clocks change next" },
    LIST("warnings", ALWAYS, cron_warning_row),
};
const Shape cron_preview_shape = SHAPE("CronPreview", cron_preview_rows);

static const Field event_taken_rows[] = {
    { "eventId",   FIELD_ID,   ALWAYS },
    { "duplicate", FIELD_BOOL, ALWAYS },
    LIST("deliveries", ALWAYS, taken_row),
};
const Shape event_taken_shape = SHAPE("TakenEvent", event_taken_rows);
static const Field events_taken_rows[] = { LIST("items", ALWAYS, item_shown_row) };
const Shape events_taken_shape = SHAPE("TakenEvents", events_taken_rows);

static const Field event_rows[] = {
    { "id",            FIELD_ID,   ALWAYS },
    { "kind",          FIELD_TEXT, ALWAYS },
    { "source",        FIELD_TEXT, OR_NULL },
    { "entity",        FIELD_TEXT, OR_NULL },
    { "correlationId", FIELD_TEXT, OR_NULL },
    { "topic",         FIELD_TEXT, OR_NULL, .help = "Of what came through the outbox, as is the next" },
    { "schemaVersion", FIELD_INT,  OR_NULL },
    { "traceparent",   FIELD_TEXT, OR_NULL },
    { "receivedAt",    FIELD_TIME, OR_NULL },
    { "occurredAt",    FIELD_TIME, OR_NULL },
    { "payload",       FIELD_ANY,  ALWAYS },
    { "recipient",     FIELD_ANY,  ALWAYS },
};
const Shape event_shown_shape = SHAPE("Event", event_rows);

static const Field decision_rows[] = {
    { "triggerId",      FIELD_TEXT,  OR_NULL },
    { "triggerVersion", FIELD_COUNT, ALWAYS },
    { "rule",           FIELD_OBJECT, ALWAYS, .inside = &rule_shape },
    { "surveyId",       FIELD_TEXT,  SOMETIMES, .help = "Of a survey's trigger" },
    WORDS("outcome", ALWAYS, decision_words),
    WORDS("reason", ALWAYS, decision_reasons),
    { "deliveryId",     FIELD_ID,    SOMETIMES },
    { "path",           FIELD_TEXT,  MAYBE_NULL, .help = "What the filter looked at" },
    { "predicate",      FIELD_TEXT,  MAYBE_NULL },
    { "seen",           FIELD_ANY,   SOMETIMES, .help = "What it found there: any JSON" },
    { "wouldMatchIf",   FIELD_TEXT,  MAYBE_NULL },
};
const Shape decision_shape = SHAPE("Decision", decision_rows);
static const Field decision_row = { NULL, FIELD_OBJECT, .inside = &decision_shape };
static const Field explain_rows[] = {
    { "eventId", FIELD_ID, ALWAYS },
    { "inbox",   FIELD_OBJECT, SOMETIMES, .inside = &inbox_shape, .help = "What it came as, where that was a webhook" },
    LIST("decisions", ALWAYS, decision_row),
    { "note",    FIELD_TEXT, OR_NULL, .help = "On the first page" },
    { "next",    FIELD_TEXT, OR_NULL, .help = "The cursor of the next page; null: there is none" },
    { "complete", FIELD_BOOL, ALWAYS, .help = "False where the page ended before its limit" },
};
const Shape explain_shape = SHAPE("Explanation", explain_rows);

// Which members a moment has, depends on what it is.
static const Field moment_detail_rows[] = {
    { "source",         FIELD_TEXT,  MAYBE_NULL },
    { "kind",           FIELD_TEXT,  MAYBE_NULL },
    { "provider",       FIELD_TEXT,  SOMETIMES },
    { "externalId",     FIELD_TEXT,  MAYBE_NULL },
    { "triggerId",      FIELD_TEXT,  MAYBE_NULL },
    { "triggerVersion", FIELD_COUNT, SOMETIMES },
    { "rule",           FIELD_OBJECT, SOMETIMES, .inside = &rule_shape },
    { "outcome",        FIELD_TEXT,  SOMETIMES },
    { "reason",         FIELD_TEXT,  MAYBE_NULL },
    { "deliveryId",     FIELD_ID,    SOMETIMES },
    { "channel",        FIELD_TEXT,  MAYBE_NULL },
    { "address",        FIELD_TEXT,  MAYBE_NULL },
    { "dueAt",          FIELD_TIME,  MAYBE_NULL },
    { "number",         FIELD_INT,   SOMETIMES },
    { "send",           FIELD_INT,   SOMETIMES },
    { "code",           FIELD_INT,   MAYBE_NULL },
    { "detail",         FIELD_TEXT,  MAYBE_NULL },
    { "finishedAt",     FIELD_TIME,  MAYBE_NULL },
    { "state",          FIELD_WORD,  SOMETIMES, .words = state_words },
    { "note",           FIELD_TEXT,  MAYBE_NULL },
};
static const Shape moment_detail_shape = SHAPE("MomentDetail", moment_detail_rows);
static const Field moment_rows[] = {
    { "at", FIELD_TIME, ALWAYS },
    WORDS("what", ALWAYS, moment_words),
    { "detail", FIELD_OBJECT, ALWAYS, .inside = &moment_detail_shape },
};
const Shape moment_shape = SHAPE("Moment", moment_rows);

static const Field target_rows[] = {
    { "address",    FIELD_TEXT, ALWAYS },
    { "name",       FIELD_TEXT, OR_NULL },
    { "locale",     FIELD_TEXT, OR_NULL },
    { "outcome",    FIELD_WORD, OR_NULL, .words = verdict_words, .help = "Null: nothing was told of it yet" },
    REASON(OR_NULL),
    { "code",       FIELD_INT,  OR_NULL },
    { "providerId", FIELD_TEXT, OR_NULL },
    { "detail",     FIELD_TEXT, OR_NULL },
    { "at",         FIELD_TIME, OR_NULL },
};
const Shape target_shape = SHAPE("Target", target_rows);
static const Field target_row = { NULL, FIELD_OBJECT, .inside = &target_shape };

static const Field delivery_rows[] = {
    { "id",                 FIELD_ID,    ALWAYS },
    { "publicId",           FIELD_TEXT,  ALWAYS },
    { "eventId",            FIELD_ID,    ALWAYS },
    { "tenant",             FIELD_TEXT,  OR_NULL },
    { "triggerId",          FIELD_TEXT,  OR_NULL, .help = "Null where the rule is no trigger" },
    { "triggerVersion",     FIELD_COUNT, ALWAYS },
    { "rule",               FIELD_OBJECT, ALWAYS, .inside = &rule_shape, .help = "What made it" },
    { "surveyId",           FIELD_TEXT,  OR_NULL, .help = "Whose rule made it" },
    { "surveyVersion",      FIELD_COUNT, OR_NULL, .help = "That it asks for, or tells of" },
    { "channel",            FIELD_TEXT,  OR_NULL },
    { "address",            FIELD_TEXT,  OR_NULL },
    { "locale",             FIELD_TEXT,  OR_NULL },
    { "customerRef",        FIELD_TEXT,  OR_NULL },
    { "entity",             FIELD_TEXT,  OR_NULL },
    { "site",               FIELD_TEXT,  OR_NULL, .help = "That handed its event on" },
    { "state",              FIELD_WORD,  ALWAYS, .words = state_words },
    { "status",             FIELD_TEXT,  OR_NULL, .help = "The state, in the words of what its rule is for: docs/states.md" },
    REASON(OR_NULL),
    { "triggeredAt",        FIELD_TIME,  OR_NULL },
    { "triggeredBy",        FIELD_TEXT,  OR_NULL, .help = "event: and the event's kind; null where the event got lost" },
    { "dueAt",              FIELD_TIME,  OR_NULL },
    { "expiresAt",          FIELD_TIME,  OR_NULL },
    { "lastSentAt",         FIELD_TIME,  OR_NULL },
    { "openedAt",           FIELD_TIME,  OR_NULL },
    { "endedAt",            FIELD_TIME,  OR_NULL },
    { "send",               FIELD_INT,   ALWAYS },
    { "attemptCount",       FIELD_INT,   ALWAYS },
    { "remindersRemaining", FIELD_INT,   ALWAYS },
    { "inFlight",           FIELD_BOOL,  ALWAYS },
    { "lastError",          FIELD_TEXT,  OR_NULL },
    { "waits",              FIELD_TEXT,  OR_NULL, .help = "What a due delivery waits for" },
    { "dedupHash",          FIELD_TEXT,  OR_NULL },
    { "payload",            FIELD_ANY,   ALWAYS },
    { "test",               FIELD_BOOL,  SOMETIMES, .help = "true where somebody tried its channel out" },
    { "targets",            FIELD_LIST,  SOMETIMES, .of = &target_row, .help = "Where one delivery is shown that has several: what became of each" },
};
const Shape delivery_shape = SHAPE("Delivery", delivery_rows);

static const char *const message_words[] = { "Pending", "Sent", "Failed", "Cancelled", NULL };
static const Field message_rows[] = {
    { "id",                FIELD_ID,    ALWAYS, .help = "Of the delivery" },
    { "eventId",           FIELD_ID,    ALWAYS },
    { "entity",            FIELD_TEXT,  OR_NULL },
    { "eventType",         FIELD_TEXT,  OR_NULL },
    { "channel",           FIELD_TEXT,  OR_NULL },
    { "template",          FIELD_TEXT,  OR_NULL, .help = "Its name" },
    { "templateId",        FIELD_TEXT,  OR_NULL },
    { "templateVersion",   FIELD_COUNT, ALWAYS },
    { "address",           FIELD_TEXT,  OR_NULL, .help = "Masked" },
    WORDS("status", ALWAYS, message_words),
    REASON(OR_NULL),
    { "sentAt",            FIELD_TIME,  OR_NULL },
    { "attemptCount",      FIELD_INT,   ALWAYS },
    { "lastError",         FIELD_TEXT,  OR_NULL },
    { "idempotencyKey",    FIELD_TEXT,  OR_NULL },
    { "provider",          FIELD_TEXT,  OR_NULL, .help = "The channel's type" },
    { "providerMessageId", FIELD_TEXT,  OR_NULL },
    { "correlationId",     FIELD_TEXT,  OR_NULL },
    { "requestedBy",       FIELD_ID,    OR_NULL, .help = "The key of who asked for it to be sent again" },
    { "createdAt",         FIELD_TIME,  OR_NULL },
    LIST("warnings", SOMETIMES, preview_warning_row),
};
const Shape message_shape = SHAPE("Message", message_rows);
static const Field message_row = { NULL, FIELD_OBJECT, .inside = &message_shape };
static const Field resend_body_rows[] = {
    { "entity",    FIELD_TEXT, FIELD_NEEDED, offsetof(ResendBody, entity),  .max = EVENT_ENTITY_MAX },
    { "channel",   FIELD_KEY,  FIELD_NEEDED, offsetof(ResendBody, channel), .max = CHANNEL_KEY_MAX },
    { "template",  FIELD_KEY,  0, offsetof(ResendBody, template), .max = TEMPLATE_NAME_MAX, .help = "By name or id; all active ones unless said" },
    { "requestId", FIELD_KEY,  0, offsetof(ResendBody, request), .max = MESSAGE_REQUEST_MAX, .help = "The same twice sends once; made unless said" },
};
const Shape resend_body_shape = { .name = "Resend", SHAPE_ROWS(resend_body_rows), .size = sizeof(ResendBody) };
static const Field resent_rows[] = {
    { "requestId", FIELD_TEXT, ALWAYS },
    LIST("items", ALWAYS, message_row),
};
const Shape resent_shape = SHAPE("Resent", resent_rows);
static const Field entity_cancel_rows[] = {
    { "eventKind", FIELD_TEXT, 0, offsetof(EntityCancel, event_kind), .max = EVENT_KIND_MAX, .help = "What events of this kind made" },
    { "eventType", FIELD_TEXT, FIELD_ALSO, .max = EVENT_KIND_MAX },
    { "kind",      FIELD_TEXT, FIELD_ALSO, .max = EVENT_KIND_MAX },
    { "channel",   FIELD_KEY,  0, offsetof(EntityCancel, channel), .max = CHANNEL_KEY_MAX },
};
const Shape entity_cancel_shape = { .name = "EntityCancel", SHAPE_ROWS(entity_cancel_rows), .size = sizeof(EntityCancel) };
static const Field entity_cancelled_rows[] = {
    { "cancelled", FIELD_COUNT, ALWAYS },
    { "complete",  FIELD_BOOL,  ALWAYS, .help = "False where more is left than one call takes" },
};
const Shape entity_cancelled_shape = SHAPE("EntityCancelled", entity_cancelled_rows);

static const Field list_target_row = { NULL, FIELD_OBJECT, .inside = &list_member_shape };
static const Field list_targets_rows[] = {
    { "targets", FIELD_LIST, FIELD_NEEDED | FIELD_RAW, .min = 1, .max = LIST_SLICE_MAX, .of = &list_target_row },
};
const Shape list_targets_shape = { "ListTargetsBody", SHAPE_ROWS(list_targets_rows), .size = sizeof(const Json *), .invalid = ERR_LIST_INVALID };

static const Field list_count_rows[] = {
    { "targetCount", FIELD_COUNT, ALWAYS, .help = "How many the list has now" },
};
const Shape list_count_shape = SHAPE("ListCount", list_count_rows);

static const Field notification_taken_rows[] = {
    { "id",        FIELD_ID,   ALWAYS },
    { "status",    FIELD_TEXT, OR_NULL },
    { "duplicate", FIELD_BOOL, ALWAYS, .help = "It came before; what that said counts" },
};
const Shape notification_taken_shape = SHAPE("NotificationTaken", notification_taken_rows);

static const Field deferral_taken_rows[] = {
    { "id",    FIELD_ID,   ALWAYS, .help = "Of the run" },
    { "runAt", FIELD_TIME, ALWAYS },
};
const Shape deferral_taken_shape = SHAPE("DeferralTaken", deferral_taken_rows);

static const Field deferrals_cancelled_rows[] = {
    { "cancelled", FIELD_COUNT, ALWAYS, .help = "Pending and retrying; what runs already goes on" },
};
const Shape deferrals_cancelled_shape = SHAPE("DeferralsCancelled", deferrals_cancelled_rows);

static const Field deferred_rows[] = {
    { "id",        FIELD_ID,   ALWAYS },
    { "entity",    FIELD_TEXT, ALWAYS },
    { "runAt",     FIELD_TIME, ALWAYS, .help = "When it runs, or is tried again" },
    { "createdAt", FIELD_TIME, ALWAYS },
    { "state",     FIELD_TEXT, ALWAYS, .help = "pending, sending while it runs, retrying" },
};
const Shape deferred_shape = SHAPE("DeferredRun", deferred_rows);

static const Field target_counts_rows[] = {
    { "all",       FIELD_COUNT, ALWAYS, .help = "Who was found on the list so far" },
    { "delivered", FIELD_COUNT, ALWAYS },
    { "refused",   FIELD_COUNT, ALWAYS, .help = "For good" },
    { "optedOut",  FIELD_COUNT, ALWAYS, .help = "Who does not want it: they count as neither" },
};
static const Shape target_counts_shape = SHAPE("TargetCounts", target_counts_rows);

static const Field notification_rows[] = {
    { "id",              FIELD_ID,     ALWAYS },
    { "type",            FIELD_TEXT,   OR_NULL, .help = "Of the channel" },
    { "list",            FIELD_TEXT,   OR_NULL },
    { "subject",         FIELD_TEXT,   OR_NULL },
    { "body",            FIELD_TEXT,   OR_NULL },
    { "typeData",        FIELD_OBJECT, ALWAYS },
    { "status",          FIELD_TEXT,   OR_NULL, .help = "Pending, Retrying, Delivered, Parked or Discarded" },
    REASON(OR_NULL),
    { "retryCount",      FIELD_INT,    ALWAYS, .help = "Failed attempts of the send" },
    { "lastError",       FIELD_TEXT,   OR_NULL },
    { "source",          FIELD_OBJECT, OR_NULL, .help = "Site, instance and script" },
    { "siteEnqueuedAt",  FIELD_TIME,   OR_NULL },
    { "createdAt",       FIELD_TIME,   OR_NULL },
    { "lastAttemptAt",   FIELD_TIME,   OR_NULL },
    { "nextAttemptAt",   FIELD_TIME,   OR_NULL },
    { "deliveredAt",     FIELD_TIME,   OR_NULL },
    { "deliveryId",      FIELD_ID,     ALWAYS },
    { "channel",         FIELD_TEXT,   OR_NULL },
    { "resolvedTargets", FIELD_LIST,   SOMETIMES, .of = &target_row, .help = "Where one is shown: the first 100" },
    { "targetCounts",    FIELD_OBJECT, SOMETIMES, .inside = &target_counts_shape },
};
const Shape notification_shape = SHAPE("Notification", notification_rows);

static const Field attempt_rows[] = {
    { "number",     FIELD_INT,  ALWAYS },
    { "send",       FIELD_INT,  ALWAYS },
    { "startedAt",  FIELD_TIME, OR_NULL },
    { "finishedAt", FIELD_TIME, OR_NULL },
    { "outcome",    FIELD_WORD, ALWAYS, .words = verdict_words },
    REASON(OR_NULL),
    { "code",       FIELD_INT,  OR_NULL, .help = "Of the far side's answer" },
    { "providerId", FIELD_TEXT, OR_NULL },
    { "detail",     FIELD_TEXT, OR_NULL },
    { "node",       FIELD_TEXT, OR_NULL },
};
const Shape attempt_shape = SHAPE("Attempt", attempt_rows);

static const Field captured_rows[] = {
    { "at",         FIELD_TIME, ALWAYS },
    { "deliveryId", FIELD_ID,   ALWAYS },
    { "channel",    FIELD_TEXT, OR_NULL },
    { "address",    FIELD_TEXT, OR_NULL },
    { "send",       FIELD_INT,  ALWAYS },
    { "attempt",    FIELD_INT,  ALWAYS },
    { "url",        FIELD_TEXT, OR_NULL },
    { "body",       FIELD_ANY,  ALWAYS, .help = "What an http channel would have sent: any JSON" },
};
const Shape captured_shape = SHAPE("Captured", captured_rows);

#define RUN_SOURCE_SHOWN(name, word, text) (text),
static const char *const run_source_words[] = { RUN_SOURCE_TABLE(RUN_SOURCE_SHOWN) NULL };
static const Field progress_rows[] = {
    { "at",      FIELD_TIME, ALWAYS },
    { "message", FIELD_TEXT, ALWAYS },
};
static const Shape progress_shape = SHAPE("Progress", progress_rows);
static const Field progress_row = { NULL, FIELD_OBJECT, .inside = &progress_shape };
static const Field execution_rows[] = {
    { "executionId",  FIELD_TEXT, ALWAYS,    .help = "<deliveryId>-<attempt>" },
    { "source",       FIELD_WORD, ALWAYS,    .words = run_source_words },
    { "entity",       FIELD_TEXT, OR_NULL },
    { "scheduledFor", FIELD_TIME, OR_NULL },
    { "startedAt",    FIELD_TIME, OR_NULL },
    { "completedAt",  FIELD_TIME, OR_NULL,   .help = "null while it goes on" },
    { "succeeded",    FIELD_BOOL, OR_NULL,   .help = "null while it goes on" },
    { "message",      FIELD_TEXT, OR_NULL,   .help = "What the handler said, or why it failed" },
    { "retry",        FIELD_INT,  ALWAYS,    .help = "0 for the first try" },
    { "progress",     FIELD_LIST, ALWAYS,    .of = &progress_row },
    { "backfill",     FIELD_BOOL, SOMETIMES, .help = "true for an occurrence that somebody had made up" },
};
const Shape execution_shape = SHAPE("Execution", execution_rows);

static const Field dead_rows[] = {
    { "id",        FIELD_ID,   ALWAYS,  .help = "Of the run's delivery" },
    { "job",       FIELD_TEXT, OR_NULL, .help = "Or automation" },
    { "entity",    FIELD_TEXT, OR_NULL },
    { "source",    FIELD_WORD, ALWAYS,  .words = run_source_words },
    { "failedAt",  FIELD_TIME, OR_NULL },
    { "attempts",  FIELD_INT,  ALWAYS },
    { "lastError", FIELD_TEXT, OR_NULL },
    { "state",     FIELD_WORD, ALWAYS,  .words = state_words, .help = "parked, until it is retried or discarded" },
};
const Shape dead_shape = SHAPE("DeadLetter", dead_rows);

static const char *const cause_state_words[] = { "parked", "retrying", NULL };
static const Field cause_filter_rows[] = {
    { "state", FIELD_WORD, ALWAYS, .words = cause_state_words },
    { "cause", FIELD_TEXT, ALWAYS },
};
static const Shape cause_filter_shape = SHAPE("CauseFilter", cause_filter_rows);
static const Field cause_rows[] = {
    { "cause",   FIELD_TEXT,   ALWAYS },
    { "channel", FIELD_TEXT,   OR_NULL },
    REASON(OR_NULL),
    { "code",    FIELD_INT,    OR_NULL, .help = "Of the far side's answer" },
    { "sample",  FIELD_TEXT,   OR_NULL, .help = "What the far side said, without what differs from one delivery to the next" },
    { "count",   FIELD_COUNT,  ALWAYS,  .help = "Of those that this page has counted: where it is not complete, the next may begin with the rest" },
    { "oldest",  FIELD_TIME,   OR_NULL, .help = "When the first of them was triggered" },
    { "newest",  FIELD_TIME,   OR_NULL, .help = "When the last of them was triggered" },
    { "filter",  FIELD_OBJECT, ALWAYS,  .inside = &cause_filter_shape, .help = "For /v1/operations and lists: exactly these deliveries" },
};
const Shape cause_shape = SHAPE("Cause", cause_rows);

#define INBOX_ROWS \
    { "id",          FIELD_ID,    ALWAYS, .help = "Also of the first event that it becomes" }, \
    { "source",      FIELD_TEXT,  ALWAYS }, \
    { "provider",    FIELD_TEXT,  ALWAYS }, \
    { "externalId",  FIELD_TEXT,  OR_NULL, .help = "The provider's own id for it" }, \
    WORDS("status", ALWAYS, inbox_shown_words), \
    { "reason",      FIELD_WORD,  OR_NULL, .words = inbox_hook_reasons, .help = "Why it failed, or made no run" }, \
    { "error",       FIELD_TEXT,  OR_NULL, .help = "The same in words" }, \
    { "attempts",    FIELD_COUNT, ALWAYS, .help = "That failed by no fault of its form" }, \
    { "size",        FIELD_COUNT, ALWAYS, .help = "Bytes of its body" }, \
    { "contentType", FIELD_TEXT,  OR_NULL }, \
    { "receivedAt",  FIELD_TIME,  ALWAYS }, \
    { "processedAt", FIELD_TIME,  OR_NULL }
static const Field inbox_rows[] = { INBOX_ROWS };
const Shape inbox_shape = SHAPE("InboxRow", inbox_rows);
static const Field inbox_whole_rows[] = {
    INBOX_ROWS,
    { "headers",    FIELD_OBJECT, ALWAYS, .help = "By name, in lower case, without credentials" },
    { "body",       FIELD_TEXT,   SOMETIMES, .help = "Where it is UTF-8" },
    { "bodyBase64", FIELD_TEXT,   SOMETIMES, .help = "Else" },
};
const Shape inbox_whole_shape = SHAPE("InboxRowWhole", inbox_whole_rows);
#undef INBOX_ROWS
static const Field poll_group_rows[] = {
    { "provider",     FIELD_TEXT,  ALWAYS },
    { "integration",  FIELD_TEXT,  OR_NULL },
    { "triggers",     FIELD_COUNT, ALWAYS, .help = "Enabled ones that it is polled for" },
    { "interval",     FIELD_TEXT,  ALWAYS, .help = "The shortest that one of them names, else the provider's" },
    { "lastPolledAt", FIELD_TIME,  OR_NULL, .help = "When the last poll ended" },
    { "nextPollAt",   FIELD_TIME,  OR_NULL, .help = "While a poll goes on, when its lease ends; null: polling has stopped" },
    { "cursorSetAt",  FIELD_TIME,  OR_NULL, .help = "Null: there is no baseline yet" },
    { "backoffUntil", FIELD_TIME,  OR_NULL },
    { "lastError",    FIELD_TEXT,  OR_NULL, .help = "Of the last poll; or what else there is to know of it" },
};
const Shape poll_group_shape = SHAPE("PollGroup", poll_group_rows);

static const Field outbox_rows[] = {
    { "id",            FIELD_ID,    ALWAYS, .help = "Of the event that it becomes" },
    { "source",        FIELD_TEXT,  ALWAYS, .help = "sql, or the id of a table source" },
    WORDS("kind", OR_NULL, inbox_kinds),
    { "topic",         FIELD_TEXT,  OR_NULL },
    { "eventType",     FIELD_TEXT,  OR_NULL },
    { "entity",        FIELD_TEXT,  OR_NULL },
    { "correlationId", FIELD_TEXT,  OR_NULL },
    { "schemaVersion", FIELD_INT,   OR_NULL },
    { "payload",       FIELD_ANY,   ALWAYS },
    WORDS("status", ALWAYS, inbox_status_words),
    { "reason",        FIELD_WORD,  OR_NULL, .min = INBOX_REASON_NONE + 1, .words = inbox_reasons, .help = "Of what failed" },
    { "attemptCount",  FIELD_COUNT, ALWAYS, .help = "That the store refused" },
    { "lastError",     FIELD_TEXT,  OR_NULL },
    { "nextAttemptAt", FIELD_TIME,  OR_NULL },
    { "createdAt",     FIELD_TIME,  ALWAYS },
    { "publishedAt",   FIELD_TIME,  OR_NULL },
};
const Shape outbox_shape = SHAPE("OutboxRow", outbox_rows);

#define KPI_ROWS \
    { "queueDepth",            FIELD_COUNT, ALWAYS, .help = "Due, being sent or retried" }, \
    { "scheduled",             FIELD_COUNT, ALWAYS, .help = "Not yet due: first sends, reminders, and what waits for an answer" }, \
    { "stuck",                 FIELD_COUNT, ALWAYS, .help = "Due or retried, and first due 10 minutes ago or longer" }, \
    { "parked",                FIELD_COUNT, ALWAYS }, \
    { "deliveredLastInterval", FIELD_COUNT, ALWAYS, .help = "In the last whole minute" }, \
    { "interval",              FIELD_TEXT,  ALWAYS }, \
    { "oldestPendingAge",      FIELD_TEXT,  ALWAYS, .help = "Since the oldest that is due or retried first was" }, \
    { "oldestPendingSeconds",  FIELD_COUNT, ALWAYS }
static const Field kpi_site_rows[] = {
    { "site", FIELD_TEXT, OR_NULL },
    KPI_ROWS,
};
static const Shape kpi_site_shape = SHAPE("KpisOfSite", kpi_site_rows);
static const Field kpi_site_row = { NULL, FIELD_OBJECT, .inside = &kpi_site_shape };
static const Field kpi_rows[] = {
    KPI_ROWS,
    { "exact", FIELD_BOOL, ALWAYS, .help = "False where too many are due, or retried, to be looked at: then at least so many are" },
    LIST("bySite", ALWAYS, kpi_site_row),
};
const Shape kpi_shape = SHAPE("Kpis", kpi_rows);

static const Field audit_detail_rows[] = {
    { "attempt",    FIELD_COUNT, SOMETIMES, .help = "Its number" },
    REASON(SOMETIMES),
    { "code",       FIELD_INT,   SOMETIMES, .help = "Of the far side's answer" },
    { "providerId", FIELD_TEXT,  SOMETIMES },
    { "text",       FIELD_TEXT,  SOMETIMES, .help = "What was done it to, or what the far side said" },
};
static const Shape audit_detail_shape = SHAPE("AuditDetail", audit_detail_rows);
static const Field audit_rows[] = {
    { "seq",           FIELD_COUNT,  ALWAYS,    .help = "Its place in the chain, from 1 without a gap" },
    { "eventId",       FIELD_ID,     SOMETIMES, .help = "The row's own; this and what follows is missing where the row cannot be read any more" },
    { "at",            FIELD_TIME,   SOMETIMES },
    WORDS("kind", SOMETIMES, audit_kinds),
    WORDS("status", SOMETIMES, audit_statuses),
    { "actor",         FIELD_TEXT,   SOMETIMES, .help = "The id of a key, of a session, or engine" },
    { "actorName",     FIELD_TEXT,   SOMETIMES, .help = "The name of that key; of a session that of its key, until a day after it ended" },
    { "deliveryId",    FIELD_ID,     MAYBE_NULL },
    { "channel",       FIELD_TEXT,   MAYBE_NULL },
    { "site",          FIELD_TEXT,   MAYBE_NULL },
    { "instance",      FIELD_TEXT,   MAYBE_NULL },
    { "correlationId", FIELD_TEXT,   MAYBE_NULL },
    { "target",        FIELD_TEXT,   MAYBE_NULL, .help = "The address; it may have been erased" },
    { "detail",        FIELD_OBJECT, SOMETIMES, .inside = &audit_detail_shape },
    { "hash",          FIELD_TEXT,   ALWAYS,    .help = "Of the row and the one before, in hex digits" },
};
const Shape audit_shape = SHAPE("AuditRow", audit_rows);
static const Field audit_bad_rows[] = {
    { "seq",     FIELD_COUNT, ALWAYS },
    { "problem", FIELD_WORD,  ALWAYS, .min = AUDIT_PROBLEM_NONE + 1, .words = audit_problems },
};
static const Shape audit_bad_shape = SHAPE("AuditProblem", audit_bad_rows);
#define VERDICT_ROWS(flags) \
    { "ok",          FIELD_BOOL,   flags }, \
    { "rows",        FIELD_COUNT,  flags, .help = "That were looked at" }, \
    { "checkpoints", FIELD_COUNT,  flags, .help = "Whole thousands of them" }, \
    { "head",        FIELD_TEXT,   flags, .help = "The hash of the last sound row" }, \
    { "firstBad",    FIELD_OBJECT, SOMETIMES, .inside = &audit_bad_shape }
static const Field audit_verdict_rows[] = { VERDICT_ROWS(ALWAYS) };
const Shape audit_verdict_shape = SHAPE("AuditVerdict", audit_verdict_rows);
static const Field audit_place_rows[] = {
    { "seq",  FIELD_COUNT, ALWAYS },
    { "hash", FIELD_TEXT,  ALWAYS },
};
static const Shape audit_place_shape = SHAPE("AuditPlace", audit_place_rows);
static const Field audit_head_rows[] = {
    { "seq",     FIELD_COUNT,  ALWAYS, .help = "Of the last row" },
    { "count",   FIELD_COUNT,  ALWAYS, .help = "Rows that are there" },
    { "head",    FIELD_TEXT,   ALWAYS, .help = "The hash of the last row" },
    { "anchor",  FIELD_OBJECT, ALWAYS, .inside = &audit_place_shape, .help = "The last row that was purged; 0 for none" },
    { "outside", FIELD_OBJECT, ALWAYS, .inside = &audit_place_shape, .help = "The head as it stands outside the database; 0 for none" },
    { "waiting", FIELD_COUNT,  ALWAYS, .help = "Facts that are not sealed yet" },
};
const Shape audit_head_shape = SHAPE("AuditHead", audit_head_rows);

static const Field id_row = { NULL, FIELD_ID };
static const Field operation_begun_rows[] = {
    { "id",      FIELD_ID,    ALWAYS },
    { "matched", FIELD_COUNT, OR_NULL, .help = "Null: they are counted from now on" },
    { "dryRun",  FIELD_BOOL,  ALWAYS },
};
const Shape operation_begun_shape = SHAPE("OperationBegun", operation_begun_rows);

static const char *const progress_words[] = { "counting", "running", "paused", "done", "cancelled", NULL };
static const Field operation_rows[] = {
    { "id",         FIELD_ID,     ALWAYS },
    { "action",     FIELD_WORD,   ALWAYS, .words = operation_shown_words },
    { "filter",     FIELD_OBJECT, ALWAYS, .inside = &operation_filter_shape },
    { "reason",     FIELD_TEXT,   OR_NULL },
    { "dryRun",     FIELD_BOOL,   ALWAYS },
    { "matched",    FIELD_COUNT,  OR_NULL, .help = "Null while they are counted" },
    { "done",       FIELD_COUNT,  ALWAYS },
    { "skipped",    FIELD_COUNT,  ALWAYS },
    { "failed",     FIELD_COUNT,  ALWAYS },
    { "state",      FIELD_WORD,   ALWAYS, .words = progress_words },
    { "createdAt",  FIELD_TIME,   ALWAYS },
    { "finishedAt", FIELD_TIME,   OR_NULL },
    LIST("sample", SOMETIMES, id_row), // of one that is dry: the first that it matched
    VERDICT_ROWS(SOMETIMES), // of one that verifies, at its end
};
const Shape operation_shape = SHAPE("Operation", operation_rows);
#undef VERDICT_ROWS

#define TENANT_NAME { "name", FIELD_TEXT, ALWAYS, offsetof(TenantBody, name), .max = TENANT_NAME_MAX, .help = "Its id unless said" }
static const Field tenant_rows[] = {
    { "id",        FIELD_KEY,  FIELD_NEEDED, offsetof(TenantBody, id), .max = TENANT_ID_MAX },
    TENANT_NAME,
    { "createdAt", FIELD_TIME, FIELD_SHOWN | ALWAYS },
};
const Shape tenant_shape = { .name = "Tenant", SHAPE_ROWS(tenant_rows), .size = sizeof(TenantBody) };
static const Field tenant_change_rows[] = {
    { "id",        FIELD_KEY,  0, offsetof(TenantBody, id), .max = TENANT_ID_MAX, .help = "As in the path" },
    TENANT_NAME,
};
const Shape tenant_change_shape = { .name = "TenantChange", SHAPE_ROWS(tenant_change_rows), .size = sizeof(TenantBody) };
#undef TENANT_NAME

static const Field handler_row = { NULL, FIELD_KEY, .max = CHANNEL_KEY_MAX };
static const Field key_rows[] = {
    { "id",        FIELD_ID,   FIELD_SHOWN | ALWAYS },
    { "tenant",    FIELD_TEXT, ALWAYS, offsetof(KeyBody, tenant), .max = TENANT_ID_MAX, .help = "One's own unless said" },
    { "role",      FIELD_WORD, FIELD_NEEDED, offsetof(KeyBody, role), .min = ROLE_NONE + 1, .words = role_words, .noun = "a role", .code = "unknown-role" },
    { "site",      FIELD_KEY,  OR_NULL, offsetof(KeyBody, site), .max = SITE_NAME_MAX, .help = "Whose it is, where the role is site" },
    { "handlers",  FIELD_LIST, OR_NULL, offsetof(KeyBody, handlers), .count = offsetof(KeyBody, handler_count), .min = 1, .max = KEY_HANDLERS_MAX,
      .code = "too-many", .of = &handler_row, .help = "Those that a worker may claim from and report on; null: all" },
    { "system",    FIELD_BOOL, FIELD_SHOWN | ALWAYS },
    { "name",      FIELD_TEXT, OR_NULL, offsetof(KeyBody, name), .max = KEY_NAME_MAX },
    { "createdAt", FIELD_TIME, FIELD_SHOWN | ALWAYS },
    { "expiresAt", FIELD_TIME, OR_NULL, offsetof(KeyBody, expires_at) },
    { "sessionOf", FIELD_ID,   FIELD_SHOWN | OR_NULL, .help = "Of a session: the id of its key; null: it is a key" },
    { "key",       FIELD_TEXT, FIELD_SHOWN, .help = "Shown once, when it is made" },
};
static void check_key(const Members *members, void *value)
{
    const KeyBody *body = value;
    if (body->role != ROLE_NONE && (body->role == ROLE_SITE) != (body->site.at != NULL))
        members_note(members, S("site"), "bad-value",
                     body->site.at ? "goes with the role site" : "must be given: the role is site");
    if (body->role != ROLE_NONE && body->role != ROLE_WORKER && body->handler_count > 0)
        members_note(members, S("handlers"), "bad-value", "goes with the role worker");
}
const Shape key_shape = { .name = "Key", SHAPE_ROWS(key_rows), .size = sizeof(KeyBody), .check = check_key };

static const Field rotate_body_rows[] = {
    { "secret",  FIELD_TEXT, FIELD_NEEDED, offsetof(RotateBody, secret), .max = 200, .help = "The member of config that is to have another value" },
    { "value",   FIELD_TEXT, 0, offsetof(RotateBody, value), .max = 2000, .help = "A signing secret is made where none is given" },
    { "overlap", FIELD_SPAN, 0, offsetof(RotateBody, overlap), .given = offsetof(RotateBody, has_overlap), .max = 30 * SPAN_DAY,
      .help = "So long a signing secret stays good beside the new one; 24h unless said" },
};
const Shape rotate_body_shape = { .name = "Rotation", SHAPE_ROWS(rotate_body_rows), .size = sizeof(RotateBody), .invalid = ERR_CHANNEL_INVALID };

static const Field rotated_rows[] = {
    { "key",           FIELD_TEXT, ALWAYS },
    { "secret",        FIELD_TEXT, ALWAYS },
    { "value",         FIELD_TEXT, SOMETIMES, .help = "Where Peal made it: it is shown this once" },
    { "version",       FIELD_COUNT, ALWAYS },
    { "rotatedAt",     FIELD_TIME, ALWAYS },
    { "previousUntil", FIELD_TIME, OR_NULL, .help = "Until then the last one is good too" },
};
const Shape rotated_shape = SHAPE("Rotated", rotated_rows);

const Shape hook_shape = { .name = "Hook", .is_open = true };
static const Field hook_taken_rows[] = {
    { "id", FIELD_ID, ALWAYS, .help = "Of its row in the inbox, which is the event's that it becomes" },
};
const Shape hook_taken_shape = SHAPE("HookTaken", hook_taken_rows);

static const Field source_rotate_body_rows[] = {
    { "secret",  FIELD_TEXT, 0, offsetof(SourceRotateBody, secret), .max = SOURCE_SECRET_MAX, .help = "Made where none is given" },
    { "overlap", FIELD_SPAN, 0, offsetof(SourceRotateBody, overlap), .max = 30 * SPAN_DAY, .help = "So long the last one is good too; 24h unless said" },
};
const Shape source_rotate_body_shape = { .name = "SourceRotation", SHAPE_ROWS(source_rotate_body_rows), .size = sizeof(SourceRotateBody) };

static const Field source_rotated_rows[] = {
    { "id",            FIELD_TEXT, ALWAYS },
    { "secret",        FIELD_TEXT, ALWAYS, .help = "Shown this once" },
    { "version",       FIELD_COUNT, ALWAYS },
    { "rotatedAt",     FIELD_TIME, ALWAYS },
    { "previousUntil", FIELD_TIME, OR_NULL, .help = "Until then the last one is good too" },
};
const Shape source_rotated_shape = SHAPE("SourceRotated", source_rotated_rows);

static const Field clock_body_rows[] = {
    { "set",     FIELD_TIME, 0, offsetof(ClockBody, set), .given = offsetof(ClockBody, has_set) },
    { "advance", FIELD_SPAN, 0, offsetof(ClockBody, advance), .given = offsetof(ClockBody, has_advance), .max = INT64_MAX },
};
static void check_clock(const Members *members, void *value)
{
    const ClockBody *body = value;
    if (body->has_set == body->has_advance)
        members_note(members, S(""), "bad-value", "give either set or advance");
}
const Shape clock_body_shape = { .name = "ClockMove", SHAPE_ROWS(clock_body_rows), .size = sizeof(ClockBody), .check = check_clock };

static const char *const alive_words[] = { "alive", NULL };
static const Field livez_rows[] = { WORDS("status", ALWAYS, alive_words) };
const Shape livez_shape = SHAPE("Alive", livez_rows);

static const char *const ready_words[] = { "ready", "not ready", NULL };
static const Field readyz_rows[] = {
    WORDS("status", ALWAYS, ready_words),
    LIST("reasons", ALWAYS, text_row),
    { "held", FIELD_BOOL, ALWAYS },
};
const Shape readyz_shape = SHAPE("Ready", readyz_rows);

static const Field openapi_rows[] = { { "openapi", FIELD_TEXT, ALWAYS } };
const Shape openapi_shape = { .name = "OpenApi", SHAPE_ROWS(openapi_rows), .is_open = true };

static const char *const clock_words[] = { "manual", "system", NULL };
static const Field clock_rows[] = {
    { "now", FIELD_TIME, ALWAYS },
    WORDS("mode", ALWAYS, clock_words),
};
const Shape clock_shape = SHAPE("Clock", clock_rows);

static const Field tick_rows[] = {
    { "claimed",   FIELD_COUNT, ALWAYS },
    { "delivered", FIELD_COUNT, ALWAYS },
    { "retried",   FIELD_COUNT, ALWAYS },
    { "parked",    FIELD_COUNT, ALWAYS },
    { "expired",   FIELD_COUNT, ALWAYS },
    { "fired",     FIELD_COUNT, ALWAYS },
    { "purged",    FIELD_COUNT, ALWAYS },
    { "nextAt",    FIELD_TIME,  OR_NULL },
};
const Shape tick_shape = SHAPE("Tick", tick_rows);

static const Field hold_rows[] = {
    { "held",     FIELD_BOOL,  ALWAYS },
    { "reason",   FIELD_TEXT,  OR_NULL },
    { "inFlight", FIELD_COUNT, MAYBE_NULL, .help = "What is still under way" },
};
const Shape hold_shape = SHAPE("Hold", hold_rows);
// clang-format on
