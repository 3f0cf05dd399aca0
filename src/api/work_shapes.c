#include "api/work.h"

#include "domain/channel.h"
#include "domain/delivery.h"
#include "domain/trigger.h"

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)

// What somebody says may be long and hold anything: it is cleaned and cut when it is kept.
enum { SAID_MAX = 1 << 20 };
#define SAID (FIELD_EMPTY | FIELD_LINES | FIELD_CONTROL)

// clang-format off
static const Field claim_body_rows[] = {
    { "handler", FIELD_KEY,  FIELD_NEEDED, offsetof(ClaimBody, handler), .max = CHANNEL_KEY_MAX, .help = "A channel of type worker" },
    { "max",     FIELD_INT,  0, offsetof(ClaimBody, max), .min = 1, .max = WORK_MAX, .help = "At most so many; 1 unless said" },
    { "wait",    FIELD_SPAN, 0, offsetof(ClaimBody, wait), .min = 0, .max = WORK_WAIT_MAX, .help = "So long for the first one; 0s unless said" },
    { "lease",   FIELD_SPAN, 0, offsetof(ClaimBody, lease), .min = SPAN_SECOND, .max = CHANNEL_LEASE_MAX, .help = "The channel's unless said" },
    { "worker",  FIELD_TEXT, 0, offsetof(ClaimBody, worker), .max = WORK_WORKER_MAX, .help = "Who asks, in its own words" },
};
const Shape claim_body_shape = { .name = "Claim", SHAPE_ROWS(claim_body_rows), .size = sizeof(ClaimBody) };

static const Field work_rows[] = {
    { "id",          FIELD_ID,    ALWAYS, .help = "The delivery's" },
    { "fence",       FIELD_COUNT, ALWAYS, .help = "By which this claim is known" },
    { "executionId", FIELD_TEXT,  ALWAYS },
    { "job",         FIELD_TEXT,  OR_NULL, .help = "Null where another rule made it" },
    { "automation",  FIELD_TEXT,  0, .help = "Whose run it is" },
    { "runId",       FIELD_ID,    0, .help = "Of an automation's run: its id" },
    { "triggerEventId", FIELD_TEXT, 0, .help = "What its trigger made of the event" },
    { "entity",      FIELD_TEXT,  OR_NULL },
    { "eventKind",   FIELD_TEXT,  ALWAYS },
    { "payload",     FIELD_ANY,   ALWAYS, .help = "What the event brought: any JSON" },
    { "attempt",     FIELD_COUNT, ALWAYS },
    { "startedAt",   FIELD_TIME,  ALWAYS },
    { "leaseUntil",  FIELD_TIME,  ALWAYS },
};
static const Shape work_shape = { .name = "Work", SHAPE_ROWS(work_rows) };
static const Field work_row = { NULL, FIELD_OBJECT, .inside = &work_shape };
static const Field claim_rows[] = {
    { "items", FIELD_LIST, ALWAYS, .of = &work_row },
};
const Shape claim_shape = { .name = "Claimed", SHAPE_ROWS(claim_rows) };

#define FENCE { "fence", FIELD_INT, FIELD_NEEDED, offsetof(WorkBody, fence), .min = 1, .max = INT32_MAX, \
                .help = "As the claim said; after a 202 the attempt" }
static const Field heartbeat_rows[] = {
    FENCE,
    { "lease", FIELD_SPAN, 0, offsetof(WorkBody, lease), .min = SPAN_SECOND, .max = CHANNEL_LEASE_MAX, .help = "From now on; the channel's unless said. It never shortens" },
};
const Shape work_heartbeat_shape = { .name = "Heartbeat", SHAPE_ROWS(heartbeat_rows), .size = sizeof(WorkBody) };
static const Field progress_rows[] = {
    FENCE,
    { "message", FIELD_TEXT, FIELD_NEEDED | SAID, offsetof(WorkBody, message), .max = SAID_MAX },
};
const Shape work_progress_shape = { .name = "Progress", SHAPE_ROWS(progress_rows), .size = sizeof(WorkBody) };
#define DONE \
    FENCE, \
    { "message", FIELD_TEXT, SAID, offsetof(WorkBody, message), .max = SAID_MAX }, \
    { "result",  FIELD_ANY,  0, offsetof(WorkBody, result), .help = "any JSON; kept as the message where there is none" }
static const Field done_rows[] = { DONE };
const Shape work_done_shape = { .name = "Done", SHAPE_ROWS(done_rows), .size = sizeof(WorkBody) };
static const Field fail_rows[] = {
    FENCE,
    { "error",     FIELD_TEXT, FIELD_NEEDED | SAID, offsetof(WorkBody, message), .max = SAID_MAX },
    { "permanent", FIELD_BOOL, 0, offsetof(WorkBody, is_permanent), .help = "Trying again cannot help: it is parked" },
};
const Shape work_fail_shape = { .name = "Fail", SHAPE_ROWS(fail_rows), .size = sizeof(WorkBody) };

static const Field one_done_rows[] = {
    { "id", FIELD_ID, FIELD_NEEDED, offsetof(WorkBody, id) },
    DONE,
};
static const Shape one_done_shape = { .name = "DoneItem", SHAPE_ROWS(one_done_rows), .size = sizeof(WorkBody) };
static const Field one_done_row = { NULL, FIELD_OBJECT, .inside = &one_done_shape };
static const Field done_many_rows[] = {
    { "items", FIELD_LIST, FIELD_NEEDED, offsetof(WorkBodies, items), .count = offsetof(WorkBodies, count), .min = 1, .max = WORK_MAX,
      .code = "too-many", .of = &one_done_row },
};
const Shape work_done_many_shape = { .name = "DoneMany", SHAPE_ROWS(done_many_rows), .size = sizeof(WorkBodies) };

static const char *const states[] = {
#define WORD(name, text, ...) (text),
    DELIVERY_STATE_TABLE(WORD)
#undef WORD
    NULL
};
#define ID { "id", FIELD_ID, ALWAYS }
#define STATE(flags) { "state", FIELD_WORD, flags, .words = states, .help = "Where the delivery stands now" }
static const Field renewed_rows[] = {
    ID,
    STATE(ALWAYS),
    { "leaseUntil", FIELD_TIME, ALWAYS },
};
const Shape work_renewed_shape = { .name = "Renewed", SHAPE_ROWS(renewed_rows) };
#define ENDED(flags) \
    ID, \
    STATE(flags), \
    { "repeated", FIELD_BOOL, flags, .help = "It was told before" }, \
    { "dueAt",    FIELD_TIME, 0, .help = "When it is tried again" }
static const Field told_rows[] = { ENDED(ALWAYS) };
const Shape work_told_shape = { .name = "Told", SHAPE_ROWS(told_rows) };

static const Field error_rows[] = {
    { "code",    FIELD_TEXT, ALWAYS },
    { "message", FIELD_TEXT, ALWAYS },
};
static const Shape error_shape = { .name = "WorkError", SHAPE_ROWS(error_rows) };
static const Field told_one_rows[] = {
    ENDED(0),
    { "error",  FIELD_OBJECT, 0, .inside = &error_shape },
    { "status", FIELD_COUNT,  ALWAYS, .help = "What it would have been answered with alone" },
};
static const Shape told_one_shape = { .name = "ToldItem", SHAPE_ROWS(told_one_rows) };
static const Field told_one_row = { NULL, FIELD_OBJECT, .inside = &told_one_shape };
static const Field told_many_rows[] = {
    { "items", FIELD_LIST, ALWAYS, .of = &told_one_row },
};
const Shape work_told_many_shape = { .name = "ToldMany", SHAPE_ROWS(told_many_rows) };
// clang-format on
