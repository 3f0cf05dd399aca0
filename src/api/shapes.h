// shapes.h - what bodies and answers hold, as rows (domain/field.h), by the file that reads or
// writes them. Definitions have theirs in the table of kinds.
//
// The OpenAPI document prints them, and the end-to-end tests check every answer against the
// document: an answer that grows a member needs its row here. A body that is read by its rows has a
// struct beside its Shape; an answer's rows keep nothing.
#pragma once

#include "base/id.h"
#include "domain/field.h"
#include "domain/role.h"

// Everywhere.
extern const Shape problem_shape;

// deliveries_api.c and system_api.c: why a person does what they do. Read into a Str.
extern const Shape reason_shape;

// ingest_api.c
typedef struct BatchBody {
    Str kind;
    const Json *items;
} BatchBody;
extern const Shape batch_body_shape;
extern const Shape batch_shape;
extern const Shape event_taken_shape;
extern const Shape events_taken_shape;

// templates_api.c
typedef struct PreviewBody {
    const Json *data; // NULL: none
    Uuid event;
    bool has_event;
} PreviewBody;
extern const Shape preview_body_shape;
extern const Shape preview_shape;

// cron_api.c
typedef struct CronBody {
    Str cron;
    Str zone; // none: UTC
    Instant from;
    bool has_from;
    int count;
} CronBody;
extern const Shape cron_body_shape;
extern const Shape cron_preview_shape;

// deferred_api.c
extern const Shape deferral_taken_shape;
extern const Shape deferrals_cancelled_shape;
extern const Shape deferred_shape;

// messages_api.c
typedef struct ResendBody {
    Str entity, channel;
    Str template; // by its name or its id; none: all
    Str request;  // the caller's own id for it; none: one is made
} ResendBody;
extern const Shape message_shape;
extern const Shape resend_body_shape;
extern const Shape resent_shape;
extern const Shape entity_cancel_shape; // into an EntityCancel
extern const Shape entity_cancelled_shape;

// events_api.c
extern const Shape event_shown_shape;
extern const Shape decision_shape;
extern const Shape explain_shape;
extern const Shape moment_shape;

// forward_api.c
extern const Shape forward_body_shape; // kept as its rows: const Json *
extern const Shape forwarded_shape;
extern const Shape site_shape;

// deliveries_api.c
extern const Shape delivery_shape;
extern const Shape attempt_shape;
extern const Shape captured_shape;

// executions_api.c, dead_api.c
extern const Shape execution_shape;
extern const Shape dead_shape;

extern const Shape target_shape;

// lists_api.c. The body is read into a const Json *.
extern const Shape list_targets_shape;
extern const Shape list_count_shape;

// notifications_api.c
extern const Shape notification_taken_shape;
extern const Shape notification_shape;

// causes_api.c
extern const Shape cause_shape;

// inbox_api.c
extern const Shape inbox_shape, inbox_whole_shape;
// poll_groups_api.c
extern const Shape poll_group_shape;

// outbox_api.c
extern const Shape outbox_shape;

// curves_api.c, plan_api.c
extern const Shape curves_shape, outlook_shape;

// kpi_api.c
extern const Shape kpi_shape;

// audit_api.c
extern const Shape audit_shape;
extern const Shape audit_verdict_shape;
extern const Shape audit_head_shape;

// operations_api.c
typedef struct OperationBody {
    int action; // its place in operation_words
    const Json *filter;
    Str reason;
    bool is_dry;
} OperationBody;
extern const char *const operation_words[];
extern const Shape operation_filter_shape;
extern const Shape operation_body_shape;
extern const Shape operation_begun_shape;
extern const Shape operation_shape;

// installation_api.c
extern const Shape node_shape;
extern const Shape site_row_shape;
extern const Shape settings_shape;

// jobs_api.c
typedef struct RunBody {
    Str entity;
    const Json *payload;
} RunBody;
extern const Shape run_body_shape;
extern const Shape run_shape;

// backfill_api.c
typedef struct BackfillBody {
    Instant from, to;
} BackfillBody;
extern const Shape backfill_body_shape;
extern const Shape backfill_shape;

// rotate_api.c
typedef struct RotateBody {
    Str secret, value;
    Span overlap;
    bool has_overlap;
} RotateBody;
extern const Shape rotate_body_shape;
extern const Shape rotated_shape;

// hooks_api.c
extern const Shape hook_shape;
extern const Shape hook_taken_shape;

// sources_api.c
typedef struct SourceRotateBody {
    Str secret;
    Span overlap;
} SourceRotateBody;
extern const Shape source_rotate_body_shape;
extern const Shape source_rotated_shape;

// keys_api.c
typedef struct TenantBody {
    Str id, name;
} TenantBody;
extern const Shape tenant_shape;
extern const Shape tenant_change_shape; // of one that is there

typedef struct KeyBody {
    Str tenant;
    Role role;
    Str site;
    Str name;
    Instant expires_at;
    Str *handlers;
    size_t handler_count;
} KeyBody;
extern const Shape key_shape;

// system_api.c
typedef struct ClockBody {
    Instant set; // INSTANT_NONE: not given
    Span advance;
    bool has_set, has_advance;
} ClockBody;
extern const Shape clock_body_shape;
extern const Shape livez_shape;
extern const Shape readyz_shape;
extern const Shape openapi_shape;
extern const Shape clock_shape;
extern const Shape tick_shape;
extern const Shape hold_shape;
