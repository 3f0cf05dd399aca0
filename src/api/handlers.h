// handlers.h - the handlers that the route table names, by the file that has them.
#pragma once

#include "api/api.h"
#include "store/definition.h"
#include "store/inbox.h"
#include "store/poll_group.h"

// definitions_api.c
Err definitions_list(Call *call, Db *db, Error *error);
Err definition_show(Call *call, Db *db, Error *error);
extern const Shape definition_version_shape, definition_version_whole_shape;
Err definition_version_list(Call *call, Db *db, Error *error);
Err definition_version_show(Call *call, Db *db, Error *error);

// health_api.c: what holds a channel, for its noun.
Err channel_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                 Error *error);
void channel_tell(Call *call, const void *known, Str id);
Err definition_post(Call *call, Tx *tx, Error *error);
Err definition_put(Call *call, Tx *tx, Error *error);
Err definition_patch(Call *call, Tx *tx, Error *error);
Err definition_delete(Call *call, Tx *tx, Error *error);

// deferred_api.c
Err deferral_post_read(Call *call, Error *error);
extern const RouteSet deferral_set;
extern const Param deferred_params[];
Err deferred_cancel_read(Call *call, Error *error);
Err deferred_list(Call *call, Db *db, Error *error);

// messages_api.c
extern const Param message_params[];
Err message_list(Call *call, Db *db, Error *error);
Err message_get(Call *call, Db *db, Error *error);
Err message_resend(Call *call, Tx *tx, Error *error);
Err entity_cancel_post(Call *call, Tx *tx, Error *error);

// channel_test_api.c
extern const Shape channel_test_body_shape, channel_test_shape;
Err channel_test_post(Call *call, Tx *tx, Error *error);

// captured_api.c
extern const Shape captured_whole_shape;
extern const Param captured_one_params[];
Err captured_get(Call *call, Db *db, Error *error);
Err captured_html_get(Call *call, Db *db, Error *error);
Err captured_text_get(Call *call, Db *db, Error *error);

// preferences_api.c
extern const Param preference_params[], preference_show_params[];
Err preference_show(Call *call, Db *db, Error *error);
Err preference_keep(Call *call, Tx *tx, Error *error);
Err preference_drop(Call *call, Tx *tx, Error *error);

// templates_api.c
extern const Param template_params[];
Err template_preview(Call *call, Db *db, Error *error);
extern const Shape preview_draft_shape;
Err template_preview_draft(Call *call, Db *db, Error *error);

// cron_api.c
Err cron_preview(Call *call, Db *db, Error *error);

// providers_api.c
extern const Shape providers_shape;
void providers_get(Call *call);

// automations_api.c
Err automation_schedule_put(Call *call, Tx *tx, Error *error);
Err automation_schedule_delete(Call *call, Tx *tx, Error *error);
Err automation_run_list(Call *call, Db *db, Error *error);

// trigger_events_api.c
Err trigger_event_list(Call *call, Db *db, Error *error);
Err trigger_event_show(Call *call, Db *db, Error *error);
Err trigger_event_skip(Call *call, Tx *tx, Error *error);
Err trigger_event_patch(Call *call, Tx *tx, Error *error);
Err trigger_event_act(Call *call, Tx *tx, Error *error);

// jobs_api.c
Err job_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
             Error *error);
void job_tell(Call *call, const void *known, Str id);
extern const Param job_next_params[];
Err run_now(Call *call, Tx *tx, Error *error);
Err job_enable(Call *call, Tx *tx, Error *error);
Err job_disable(Call *call, Tx *tx, Error *error);
Err job_times(Call *call, Db *db, Error *error);

// backfill_api.c
Err job_backfill(Call *call, Tx *tx, Error *error);

// rotate_api.c
Err channel_rotate(Call *call, Tx *tx, Error *error);

// sources_api.c
Err source_rotate(Call *call, Tx *tx, Error *error);

// hooks_api.c
Err hook_read(Call *call, Error *error);
extern const RouteSet hook_set;

// lists_api.c: a list is a definition whose members are written in slices, ahead of it.
// list_look and list_put_targets are its Noun's part in showing one.
Err list_read(Call *call, Error *error);
void list_start(Call *call);
Err list_saved_post(Call *call, Tx *tx, Error *error);
Err list_saved_put(Call *call, Tx *tx, Error *error);
Err list_saved_patch(Call *call, Tx *tx, Error *error);
Err list_look(Call *call, Db *db, Str id, const void **ret, Error *error);
void list_put_targets(const Call *call, JsonOut *out, const void *of);
extern const Param list_target_params[];
Err list_targets(Call *call, Db *db, Error *error);
Err list_targets_add(Call *call, Tx *tx, Error *error);
Err list_targets_remove(Call *call, Tx *tx, Error *error);

// notifications_api.c
Err notification_post_read(Call *call, Error *error);
extern const RouteSet notification_set;
extern const Param notification_params[];
Err notification_list(Call *call, Db *db, Error *error);
Err notification_get(Call *call, Db *db, Error *error);
Err notification_targets(Call *call, Db *db, Error *error);
Err notification_retry(Call *call, Tx *tx, Error *error);
Err notification_discard(Call *call, Tx *tx, Error *error);

// keys_api.c
Err tenant_list(Call *call, Db *db, Error *error);
Err tenant_get(Call *call, Db *db, Error *error);
Err tenant_create(Call *call, Tx *tx, Error *error);
Err tenant_put(Call *call, Tx *tx, Error *error);
Err tenant_patch(Call *call, Tx *tx, Error *error);
Err tenant_delete(Call *call, Tx *tx, Error *error);
extern const Param key_params[];
Err key_list(Call *call, Db *db, Error *error);
Err key_create(Call *call, Tx *tx, Error *error);
Err key_get(Call *call, Db *db, Error *error);
Err key_put(Call *call, Tx *tx, Error *error);
Err key_patch(Call *call, Tx *tx, Error *error);
Err key_delete(Call *call, Tx *tx, Error *error);

// session_api.c
extern const Shape session_shape;
Err session_post(Call *call, Tx *tx, Error *error);
Err session_get(Call *call, Db *db, Error *error);
Err session_delete(Call *call, Tx *tx, Error *error);

// ingest_api.c
Err ingest_read(Call *call, Error *error);
Err event_read(Call *call, Error *error);
extern const RouteSet event_set;

// events_api.c
extern const Param event_params[];
Err event_list(Call *call, Db *db, Error *error);
Err event_get(Call *call, Db *db, Error *error);
Err event_explain(Call *call, Db *db, Error *error);
Err event_timeline(Call *call, Db *db, Error *error);

// deliveries_api.c
extern const Param delivery_params[];
Err delivery_list(Call *call, Db *db, Error *error);
Err delivery_get(Call *call, Db *db, Error *error);
Err delivery_attempts(Call *call, Db *db, Error *error);
Err delivery_retry(Call *call, Tx *tx, Error *error);
Err delivery_discard(Call *call, Tx *tx, Error *error);
Err delivery_cancel(Call *call, Tx *tx, Error *error);
Err delivery_complete(Call *call, Tx *tx, Error *error);
extern const Param captured_params[];
Err captured_list(Call *call, Db *db, Error *error);

// causes_api.c
extern const Param cause_params[];
Err cause_list(Call *call, Db *db, Error *error);

// executions_api.c
Err execution_list(Call *call, Db *db, Error *error);

// dead_api.c
extern const Param dead_params[];
Err dead_list(Call *call, Db *db, Error *error);
Err dead_retry(Call *call, Tx *tx, Error *error);
Err dead_discard(Call *call, Tx *tx, Error *error);

// curves_api.c, plan_api.c
extern const Param curves_params[], plan_params[];
Err curves_get(Call *call, Db *db, Error *error);
Err plan_get(Call *call, Db *db, Error *error);

// kpi_api.c
extern const Param kpi_params[];
Err kpi_get(Call *call, Db *db, Error *error);

// audit_api.c
extern const Param audit_params[];
extern const Param audit_chain_params[];
Err audit_list(Call *call, Db *db, Error *error);
Err audit_check(Call *call, Db *db, Error *error);
Err audit_check_later(Call *call, Tx *tx, Error *error);
extern const Param audit_export_params[];
void stream_start(Call *call);
extern const Param stream_params[];
Err audit_pour(Call *call, Db *db, Buf *text, bool *ret_last, Error *error);
Err audit_head_get(Call *call, Db *db, Error *error);

// operations_api.c
Err operation_create(Call *call, Tx *tx, Error *error);
// operation_begun tells of the operation that was begun, which is call->with.
Err operation_begun(Call *call, Error *error);
Err operation_get(Call *call, Db *db, Error *error);
extern const Param operation_params[];
Err operation_list(Call *call, Db *db, Error *error);
Err operation_pause(Call *call, Tx *tx, Error *error);
Err operation_resume(Call *call, Tx *tx, Error *error);
Err operation_cancel(Call *call, Tx *tx, Error *error);

// installation_api.c: the processes that share the store, those that hand on to it, and how this
// one is set up.
Err node_list(Call *call, Db *db, Error *error);
Err site_list(Call *call, Db *db, Error *error);
Err settings_get(Call *call, Db *db, Error *error);

// forward_api.c
Err forward_rows_read(Call *call, Error *error);
extern const RouteSet forward_set;
extern const Param site_params[];
Err site_get(Call *call, Tx *tx, Error *error);

// claim_api.c
Err claim_read(Call *call, Error *error);
void claim_start(Call *call);
extern const RouteSet claim_set;

// work_api.c
Err work_heartbeat_read(Call *call, Error *error);
Err work_progress_read(Call *call, Error *error);
Err work_done_read(Call *call, Error *error);
Err work_fail_read(Call *call, Error *error);
Err work_done_many_read(Call *call, Error *error);
extern const RouteSet report_set;

// inbox_api.c; inbox_put_row writes a hook without headers and body; inbox_name_owner names the
// tenant that a hook's events went to, to those who may see all tenants
extern const Param inbox_params[];
Err inbox_list(Call *call, Db *db, Error *error);
Err inbox_get(Call *call, Db *db, Error *error);
Err inbox_reprocess(Call *call, Tx *tx, Error *error);
void inbox_put_row(Call *call, JsonOut *json, const InboxRow *row);
Err inbox_name_owner(const Call *call, Db *db, InboxRow *row, Error *error) MUST_USE;

// poll_groups_api.c; poll_group_put shows a group that a trigger asks for. One that nobody does is
// about to go: false, and nothing was written.
Err poll_group_list(Call *call, Db *db, Error *error);
bool poll_group_put(const Call *call, JsonOut *json, const PollGroup *group);

// outbox_api.c
extern const Param outbox_params[];
Err outbox_list(Call *call, Db *db, Error *error);
Err outbox_get(Call *call, Db *db, Error *error);
Err outbox_replay(Call *call, Tx *tx, Error *error);

// site_api.c
Err site_event_read(Call *call, Error *error);
Err site_ingest_read(Call *call, Error *error);
Err site_notify_read(Call *call, Error *error);
Err site_row_read(Call *call, Error *error);
extern const RouteSet site_notify_set;
Err site_status_get(Call *call, Db *db, Error *error);

// console_api.c
void console_view(Call *call);
void console_asset(Call *call);
void console_docs(Call *call);
void console_doc(Call *call);

// system_api.c
void livez_get(Call *call);
void readyz_get(Call *call);
void metrics_get(Call *call);
void openapi_get(Call *call);
void clock_get(Call *call);
void clock_post(Call *call);
Err clock_keep(Call *call, Tx *tx, Error *error);
void tick_post(Call *call);
Err tick_keep(Call *call, Tx *tx, Error *error);
Err hold_post(Call *call, Tx *tx, Error *error);
void hold_after(Call *call);
Err release_post(Call *call, Tx *tx, Error *error);
