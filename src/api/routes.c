#include "api/apply.h"
#include "api/campaigns.h"
#include "api/dry.h"
#include "api/handlers.h"
#include "api/pages.h"
#include "api/responses.h"
#include "api/shapes.h"
#include "api/surveys.h"
#include "api/trigger_events.h"
#include "api/work.h"
#include "domain/automation.h"
#include "domain/channel.h"
#include "domain/defer.h"
#include "domain/forward.h"
#include "domain/integration.h"
#include "domain/job.h"
#include "domain/list.h"
#include "domain/notification.h"
#include "domain/preference.h"
#include "domain/source.h"
#include "domain/survey.h"
#include "domain/template.h"

#define READERS (MAY_ROLE(READ) | MAY_ROLE(OPERATOR) | MAY_ROLE(AUTHOR))
#define LOOKERS (READERS | MAY_ROLE(OPERATIONS)) // its rows take ?tenant= (across.c)
#define OPERATORS MAY_ROLE(OPERATOR)
#define EXPORTERS MAY_ROLE(AUDIT_EXPORT)
#define AUDITORS (READERS | EXPORTERS)
#define AUTHORS MAY_ROLE(AUTHOR)
#define SENDERS MAY_ROLE(INGEST)
#define SITES MAY_ROLE(SITE)
#define WORKERS MAY_ROLE(WORKER)
#define ADMINS 0u

// clang-format off
#define READS(handler)  { .work = WORK_READ, .read = handler }
#define READS_THEN(handler, then) { .work = WORK_READ, .read = handler, .write = then }
#define WRITES(handler) { .work = WORK_WRITE, .write = handler }
#define FIRST(handler)  { .work = WORK_WRITE, .write = handler, .is_first = true }
#define FIRST_THEN(handler, then) { .work = WORK_WRITE, .write = handler, .is_first = true, .after = then }
#define POURS(handler)  { .work = WORK_POUR, .pour = handler }
#define STARTS(handler) { .work = WORK_START, .start = handler }
// STARTS_THEN ends with call_write().
#define STARTS_THEN(handler, then) { .work = WORK_START, .start = handler, .write = then }
// TAKES is for events: read and decided ahead of the transaction, written in sets.
#define TAKES(reader) { .work = WORK_WRITE, .think = reader, .set = &event_set }
#define REPORTS(reader) { .work = WORK_WRITE, .think = reader, .set = &report_set }
#define DEFERS(reader) { .work = WORK_WRITE, .think = reader, .set = &deferral_set }
#define ANSWERS { .work = WORK_READ, .think = response_read, .read = response_look, .set = &response_set }
#define OPENS { .work = WORK_READ, .think = opened_read, .read = opened_look, .set = &response_set }
#define UPLOADS(reader, handler, undoer) { .work = WORK_WRITE, .think = reader, .write = handler, .take_back = undoer }
#define HOOKS { .work = WORK_WRITE, .think = hook_read, .set = &hook_set }
#define FORWARDS(reader) { .work = WORK_WRITE, .think = reader, .set = &forward_set }

// What comes with a POST, with a PUT, with a PATCH, with a POST of events, and with a POST that needs no body.
#define POSTED_OF(size, shape) .body_max = size, .media = MEDIA_JSON, .takes = &(shape), .keeps_answer = true
#define POSTED(shape)          POSTED_OF(BODY_USUAL, shape)
#define PUT_OF(size, shape)    .body_max = size, .media = MEDIA_JSON, .takes = &(shape)
#define PUT_THERE(shape)       PUT_OF(BODY_USUAL, shape)
#define PATCHED_OF(size, shape) .body_max = size, .media = MEDIA_PATCH, .takes = &(shape)
#define PATCHED(shape)         PATCHED_OF(BODY_USUAL, shape)
#define EVENTS_IN(what, shape) .body_max = BODY_LARGE, .media = what, .takes = &(shape), .keeps_answer = true
#define HOOK_IN                .body_max = BODY_HOOK, .media = MEDIA_ANY, .takes = &hook_shape, .is_hook = true
#define FILE_IN(shape)         .body_max = BODY_FILE, .media = MEDIA_FILE, .takes = &(shape), .keeps_answer = true
#define HOOK_SHAKE             .status = 200, .type = "text/plain", .is_hook = true
#define BARE                   .keeps_answer = true

#define GIVES(code, shape)     .status = code, .gives = &(shape)
#define GIVES_NOTHING          .status = 204
#define PAGE(shape)            .status = 200, .is_paged = true, .is_page = true, .gives = &(shape)
#define PAGED(shape)           .status = 200, .is_paged = true, .gives = &(shape)

// The console's pages are one page (console_api.c); web/src/pages.ts has the same list.
#define VIEW_OF(path, handler) \
    { "GET", path, ANYONE, STARTS(handler), "A page of the console", .status = 200, .type = "text/html", .takes_query = true, .is_view = true }
#define VIEW(path) VIEW_OF(path, console_view)

// What the lists of a kind may be asked for, and what a patch of one may be.
#define automation_params NULL
#define automation_patch "{\"enabled\":false}"
#define channel_params NULL
#define channel_patch "{\"enabled\":false}"
#define integration_params NULL
#define integration_patch "{\"enabled\":false}"
#define job_params NULL
#define job_patch "{\"cron\":\"*/5 * * * *\"}"
#define list_params NULL
#define list_patch "{\"name\":\"…\"}"
#define source_params NULL
#define source_patch "{\"enabled\":false}"
#define survey_params NULL
#define survey_patch "{\"paging\":\"one\"}"
#define template_patch "{\"active\":false}"
#define trigger_params NULL
#define trigger_patch "{\"enabled\":false}"

// How one is saved: at once, or in parts (domain/definition.h), and how large its body may be.
#define SAVES_(verb)      WRITES(definition_##verb)
#define SAVES_PARTS(verb) { .work = WORK_START, .think = list_read, .start = list_start, .write = list_saved_##verb }
#define SIZE_      BODY_USUAL
#define SIZE_PARTS BODY_LARGE
// A survey's own versions are those that were published: the others are its drafts.
#define KEPT_      "versions"
#define KEPT_PARTS "versions"
#define KEPT_WHOLE "drafts"
#define SAVES_WHOLE(verb) SAVES_(verb)
#define SIZE_WHOLE BODY_SURVEY

// The routes that each kind of definition has.
#define DEFINITION_ROUTES(...) DEFINITION_ROUTES_FOR(READERS, AUTHORS, __VA_ARGS__)
#define OPERATOR_ROUTES(...)   DEFINITION_ROUTES_FOR(OPERATORS, OPERATORS, __VA_ARGS__)
#define DEFINITION_ROUTES_FOR(readers, writers, name, kind, plural, id, sample, ...)                                             \
    { "GET",    "/v1/" plural,         readers, READS(definitions_list),                                                 \
      "List " plural, .params = name##_params, PAGE(name##_shape), .definition = &definition_##name },                                           \
    { "POST",   "/v1/" plural,         writers, SAVES_##__VA_ARGS__(post),                                                \
      "Create a " kind, POSTED_OF(SIZE_##__VA_ARGS__, name##_shape), GIVES(201, name##_shape), .example = sample, .definition = &definition_##name }, \
    { "GET",    "/v1/" plural "/{id}", readers, READS(definition_show),                                                 \
      "Show a " kind "; secrets are never shown", GIVES(200, name##_shape), .definition = &definition_##name },         \
    { "PUT",    "/v1/" plural "/{id}", writers, SAVES_##__VA_ARGS__(put),                                                 \
      "Publish a new version of a " kind, PUT_OF(SIZE_##__VA_ARGS__, name##_shape), GIVES(200, name##_shape),                            \
      .example = sample, .definition = &definition_##name },                                                            \
    { "PATCH",  "/v1/" plural "/{id}", writers, SAVES_##__VA_ARGS__(patch),                                               \
      "Change members of a " kind " by a merge patch (RFC 7396)", PATCHED_OF(SIZE_##__VA_ARGS__, name##_shape), GIVES(200, name##_shape),      \
      .example = name##_patch, .definition = &definition_##name },                                             \
    { "DELETE", "/v1/" plural "/{id}", writers, WRITES(definition_delete),                                              \
      "Delete a " kind "; its history stays", GIVES_NOTHING, .definition = &definition_##name },                        \
    { "GET",    "/v1/" plural "/{id}/" KEPT_##__VA_ARGS__, readers, READS(definition_version_list),                     \
      "List all that a " kind " ever said, newest first; also one that was deleted", PAGE(definition_version_shape), .definition = &definition_##name }, \
    { "GET",    "/v1/" plural "/{id}/" KEPT_##__VA_ARGS__ "/{version}", readers, READS(definition_version_show),        \
      "Show a " kind " as it was; secrets are never shown", GIVES(200, definition_version_whole_shape), .definition = &definition_##name },

// To add a route, add a row; the OpenAPI document, the rights test and the 405 answers follow from
// it. Every row names its roles; admin may always, system rows need the system right.
const Route routes[] = {
    { "GET",    "/livez",                       ANYONE,    STARTS(livez_get),
      "Whether the process is alive", GIVES(200, livez_shape) },
    { "GET",    "/readyz",                      ANYONE,    STARTS(readyz_get),
      "Whether it can take and send, and why not", GIVES(200, readyz_shape), .other_status = 503 },
    { "GET",    "/metrics",                     ANYONE,    STARTS(metrics_get),
      "Metrics in Prometheus' text format", .status = 200, .type = "text/plain" },
    { "GET",    "/openapi.json",                ANYONE,    STARTS(openapi_get),
      "This document", GIVES(200, openapi_shape) },

    { "POST",   "/hooks/{path}",                ANYONE,    HOOKS,
      "Take a webhook of the source that listens here; its signature is its key", HOOK_IN, GIVES(200, hook_taken_shape) },
    { "POST",   "/hooks/{tenant}/{path}",       ANYONE,    HOOKS,
      "The same, at a path that was chosen", HOOK_IN, GIVES(200, hook_taken_shape) },
    { "GET",    "/hooks/{path}",                ANYONE,    HOOKS,
      "Answer a provider's handshake; 405 where it has none", HOOK_SHAKE },
    { "GET",    "/hooks/{tenant}/{path}",       ANYONE,    HOOKS,
      "The same, at a path that was chosen", HOOK_SHAKE },
    { "OPTIONS", "/hooks/{path}",               ANYONE,    HOOKS,
      "Answer a provider's handshake; 405 where it has none", HOOK_SHAKE },
    { "OPTIONS", "/hooks/{tenant}/{path}",      ANYONE,    HOOKS,
      "The same, at a path that was chosen", HOOK_SHAKE },

    { "GET",    "/s/page.css",                  ANYONE,    STARTS(page_css_get),
      "How the pages of surveys look", .status = 200, .type = "text/css", .is_visit = true },
    { "GET",    "/s/page.js",                   ANYONE,    STARTS(page_js_get),
      "What the pages of surveys do by themselves", .status = 200, .type = "text/javascript", .is_visit = true },
    { "GET",    "/s/{publicId}",                ANYONE,    READS(page_get),
      "The page that asks a survey; to look at it changes nothing", .params = page_get_params, .status = 200, .type = "text/html",
      .is_visit = true, .takes_query = true },
    { "GET",    "/s/{publicId}/responses",      ANYONE,    READS(page_get),
      "The same, for a browser that asks again where a form was answered", .params = page_get_params, .status = 200, .type = "text/html",
      .is_visit = true, .takes_query = true },
    { "POST",   "/s/{publicId}/opened",         ANYONE,    OPENS,
      "Tell that somebody looks at the page", GIVES_NOTHING, .is_visit = true },
    { "POST",   "/s/{publicId}/shown",          ANYONE,    { .work = WORK_READ, .think = response_read, .read = shown_look },
      "Which questions the answers so far lead to; nothing is kept", .is_visit = true, .body_max = BODY_USUAL, .media = MEDIA_FORM,
      .takes = &response_body_shape, GIVES(200, shown_shape), .example = "{\"answers\":{\"rate\":9}}" },
    { "POST",   "/s/{publicId}/responses",      ANYONE,    ANSWERS,
      "Answer a survey, once; the public id is the key. The page's form is answered with a page", .params = page_get_params, .is_visit = true, .body_max = BODY_USUAL, .media = MEDIA_FORM, .takes = &response_body_shape,
      GIVES(200, response_taken_shape), .else_type = "text/html", .example = "{\"answers\":{\"rate\":9},\"meta\":{\"agentId\":\"a7\"}}" },

    { "POST",   "/v1/ingest",                   SENDERS,   TAKES(ingest_read),
      "Post many items of one event kind", EVENTS_IN(MEDIA_JSON, batch_body_shape), GIVES(200, batch_shape),
      .example = "{\"eventKind\":\"…\",\"items\":[{\"payload\":{},\"recipient\":{\"address\":\"…\"}}]}" },
    { "POST",   "/v1/events",                   SENDERS,   TAKES(event_read),
      "Post an event, as JSON or as a CloudEvent", EVENTS_IN(MEDIA_ANY, event_shape), GIVES(202, event_taken_shape), .else_gives = &events_taken_shape,
      .example = "{\"kind\":\"order.paid\",\"payload\":{}}" },
    { "GET",    "/v1/events",                   LOOKERS,   READS(event_list),
      "List events, newest first", .params = event_params, PAGE(event_shown_shape) },
    { "GET",    "/v1/events/{id}",              LOOKERS,   READS(event_get),
      "Show an event", GIVES(200, event_shown_shape) },
    { "GET",    "/v1/events/{id}/explain",      LOOKERS,   READS(event_explain),
      "Why it did or did not fire, trigger by trigger: what it made comes first", PAGED(explain_shape) },
    { "GET",    "/v1/events/{id}/timeline",     LOOKERS,   READS(event_timeline),
      "All that happened to it, in order", PAGE(moment_shape) },

    { "POST",   "/v1/apply",                    AUTHORS | OPERATORS, { .work = WORK_WRITE, .think = apply_read, .write = apply_write, .is_whole = true },
      "Make definitions say what files say: all of them, or nothing; each takes the right that its own routes take",
      POSTED_OF(BODY_LARGE, apply_body_shape), GIVES(200, apply_shape),
      .example = "{\"definitions\":[{\"kind\":\"trigger\",\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}],\"dryRun\":true}" },
    { "GET",    "/v1/definitions",              AUTHORS | OPERATORS, READS(export_list),
      "List definitions of a kind as apply takes them, with references for their secrets", .params = export_params, PAGE(exported_shape) },

    { "GET",    "/v1/site",                     SITES,     WRITES(site_get),
      "Which site the key is for, and central's epoch; what it tells of itself is kept", .params = site_params, GIVES(200, site_shape) },
    { "POST",   "/v1/site/forward",             SITES,     FORWARDS(forward_rows_read),
      "Hand on what a site took in; a row that came before is a duplicate", EVENTS_IN(MEDIA_JSON, forward_body_shape), GIVES(200, forwarded_shape),
      .example = "{\"rows\":[{\"id\":\"01975e3c-7a4b-7000-8000-2c9d3f5b1a60\",\"kind\":\"event\",\"body\":{\"kind\":\"order.paid\"}}]}" },

    { "GET",    "/v1/deliveries",               LOOKERS | SITES, READS(delivery_list),
      "List deliveries, newest first", .params = delivery_params, PAGE(delivery_shape) },
    { "GET",    "/v1/deliveries/{id}",          LOOKERS | SITES, READS(delivery_get),
      "Show a delivery", GIVES(200, delivery_shape) },
    { "GET",    "/v1/deliveries/{id}/attempts", LOOKERS | SITES, READS(delivery_attempts),
      "Show its attempts", PAGE(attempt_shape) },
    { "POST",   "/v1/deliveries/{id}/retry",    OPERATORS, WRITES(delivery_retry),
      "Try a parked delivery again", POSTED(reason_shape), GIVES(200, delivery_shape) },
    { "POST",   "/v1/deliveries/{id}/discard",  OPERATORS, WRITES(delivery_discard),
      "Give a parked delivery up", POSTED(reason_shape), GIVES(200, delivery_shape),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/deliveries/{id}/cancel",   OPERATORS, WRITES(delivery_cancel),
      "Call off what is still to be sent", POSTED(reason_shape), GIVES(200, delivery_shape),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/deliveries/{id}/complete", OPERATORS, WRITES(delivery_complete),
      "Note that it was answered", POSTED(reason_shape), GIVES(200, delivery_shape) },
    { "POST",   "/v1/work/claim",               WORKERS,   { .work = WORK_START, .think = claim_read, .start = claim_start, .set = &claim_set },
      "Claim what is due for a handler that is a worker, or wait for it", POSTED(claim_body_shape), GIVES(200, claim_shape),
      .example = "{\"handler\":\"worker:rates\",\"max\":50,\"wait\":\"20s\"}" },
    { "POST",   "/v1/work/done",                WORKERS,   REPORTS(work_done_many_read),
      "Tell of many deliveries that they are done; each has its own answer", POSTED(work_done_many_shape), GIVES(200, work_told_many_shape),
      .example = "{\"items\":[{\"id\":\"01975e3c-7a4b-7000-8000-2c9d3f5b1a60\",\"fence\":1}]}" },
    { "POST",   "/v1/work/{id}/heartbeat",      WORKERS,   REPORTS(work_heartbeat_read),
      "Tell that the worker lives: its lease runs on", POSTED(work_heartbeat_shape), GIVES(200, work_renewed_shape),
      .example = "{\"fence\":1}" },
    { "POST",   "/v1/work/{id}/progress",       WORKERS,   REPORTS(work_progress_read),
      "Tell how far it is, which is a sign of life too", POSTED(work_progress_shape), GIVES(200, work_renewed_shape),
      .example = "{\"fence\":1,\"message\":\"…\"}" },
    { "POST",   "/v1/work/{id}/done",           WORKERS,   REPORTS(work_done_read),
      "Tell that it is done", POSTED(work_done_shape), GIVES(200, work_told_shape),
      .example = "{\"fence\":1,\"message\":\"…\"}" },
    { "POST",   "/v1/work/{id}/fail",           WORKERS,   REPORTS(work_fail_read),
      "Tell that it failed: it is tried again, or parked", POSTED(work_fail_shape), GIVES(200, work_told_shape),
      .example = "{\"fence\":1,\"error\":\"…\"}" },
    { "GET",    "/v1/captured",                 READERS,   READS(captured_list),
      "What memory channels took", .params = captured_params, PAGE(captured_shape) },
    { "GET",    "/v1/captured/{id}",            READERS,   READS(captured_get),
      "Show what a memory channel took of a delivery, with its parts", .params = captured_one_params, GIVES(200, captured_whole_shape) },
    { "GET",    "/v1/captured/{id}/html",       READERS,   READS(captured_html_get),
      "The same as a mail program shows it; nothing in it runs or loads", .params = captured_one_params, .status = 200, .type = "text/html" },
    { "GET",    "/v1/captured/{id}/text",       READERS,   READS(captured_text_get),
      "Its plain text", .params = captured_one_params, .status = 200, .type = "text/plain" },
    { "GET",    "/v1/causes",                   READERS,   READS(cause_list),
      "What deliveries are parked for, or retried, told apart", .params = cause_params, PAGE(cause_shape) },
    { "GET",    "/v1/jobs/{name}/executions",   OPERATORS, READS(execution_list),
      "List the tries of a job's runs, newest first; also of one that was deleted, or never defined", PAGE(execution_shape) },
    { "GET",    "/v1/dead",                     OPERATORS, READS(dead_list),
      "List runs that used up their retries or that nobody handles, newest first", .params = dead_params, PAGE(dead_shape) },
    { "POST",   "/v1/dead/{id}/retry",          OPERATORS, WRITES(dead_retry),
      "Try a dead letter again", POSTED(reason_shape), GIVES(200, dead_shape) },
    { "POST",   "/v1/dead/{id}/discard",        OPERATORS, WRITES(dead_discard),
      "Give a dead letter up", POSTED(reason_shape), GIVES(200, dead_shape),
      .example = "{\"reason\":\"…\"}" },
    { "GET",    "/v1/outbox",                   LOOKERS,   READS(outbox_list),
      "What applications emitted in SQL or wrote into their own tables, newest first", .params = outbox_params, PAGE(outbox_shape) },
    { "GET",    "/v1/outbox/{id}",              LOOKERS,   READS(outbox_get),
      "Show a row of the outbox", GIVES(200, outbox_shape) },
    { "POST",   "/v1/outbox/{id}/replay",       OPERATORS, WRITES(outbox_replay),
      "Decide it anew: what fired does not fire again", BARE, GIVES(200, outbox_shape) },
    { "GET",    "/v1/stream",                   READERS,   STARTS(stream_start),
      "What happens, live, as server-sent events (docs/stream.md)", .params = stream_params, .status = 200, .type = "text/event-stream" },
    { "GET",    "/v1/inbox",                    LOOKERS,   READS(inbox_list),
      "What webhooks brought, newest first", .params = inbox_params, PAGE(inbox_shape) },
    { "GET",    "/v1/inbox/{id}",               LOOKERS,   READS(inbox_get),
      "Show what a webhook brought, with its headers but for credentials, and the very bytes", GIVES(200, inbox_whole_shape) },
    { "POST",   "/v1/inbox/{id}/reprocess",     OPERATORS, WRITES(inbox_reprocess),
      "Read and decide it anew: what fired does not fire again", BARE, GIVES(200, inbox_shape) },
    { "GET",    "/v1/poll-groups",              READERS,   READS(poll_group_list),
      "List the accounts that are polled, and how it goes", PAGE(poll_group_shape) },
    { "GET",    "/v1/kpis",                     LOOKERS,   READS(kpi_get),
      "How the queue does, in all and by site", .params = kpi_params, GIVES(200, kpi_shape) },
    { "GET",    "/v1/curves",                   LOOKERS,   READS(curves_get),
      "What came in, arrived, failed and was parked, step by step, and how long it took (docs/curves.md)", .params = curves_params, GIVES(200, curves_shape) },
    { "GET",    "/v1/plan",                     LOOKERS,   READS(plan_get),
      "What will be sent, by day, hour and channel (docs/plan.md)", .params = plan_params, GIVES(200, outlook_shape) },
    { "GET",    "/v1/audit",                    READERS,   READS(audit_list),
      "What happened, newest first", .params = audit_params, PAGE(audit_shape) },
    { "GET",    "/v1/audit/export",             EXPORTERS, POURS(audit_pour),
      "The audit in its order, a JSON object a line, to its end", .params = audit_export_params, .status = 200, .type = "application/x-ndjson" },
    { "GET",    "/v1/audit/head",               AUDITORS,  READS(audit_head_get),
      "Where the audit chain ends, inside the database and outside", .params = audit_chain_params, GIVES(200, audit_head_shape) },
    { "GET",    "/v1/audit/verify",             AUDITORS,  READS_THEN(audit_check, audit_check_later),
      "Whether the audit chain is whole, and else which row is the first bad one; of more than 100,000 rows by an operation (202)",
      .params = audit_chain_params, GIVES(200, audit_verdict_shape), .other_status = 202, .else_gives = &operation_begun_shape },
    { "POST",   "/v1/operations",               OPERATORS, WRITES(operation_create),
      "Act on all deliveries that a filter names, or replay rows of the outbox", POSTED(operation_body_shape), GIVES(202, operation_begun_shape),
      .example = "{\"action\":\"retry\",\"filter\":{\"state\":\"parked\"}}" },
    { "GET",    "/v1/operations/{id}",          AUDITORS,  READS(operation_get),
      "How far an operation has come; audit-export sees those that verify", GIVES(200, operation_shape) },
    { "GET",    "/v1/operations",               READERS,   READS(operation_list),
      "List operations, newest first", .params = operation_params, PAGE(operation_shape) },
    { "POST",   "/v1/operations/{id}/pause",    OPERATORS, FIRST(operation_pause),
      "Let an operation rest where it is; what it did stays", BARE, GIVES(200, operation_shape) },
    { "POST",   "/v1/operations/{id}/resume",   OPERATORS, FIRST(operation_resume),
      "Let an operation go on that was paused", BARE, GIVES(200, operation_shape) },
    { "POST",   "/v1/operations/{id}/cancel",   OPERATORS, FIRST(operation_cancel),
      "End an operation where it is; what it did stays", BARE, GIVES(200, operation_shape) },

    DEFINITION_TABLE(DEFINITION_ROUTES)
    { "POST",   "/v1/channels/{id}/rotate",     AUTHORS,   WRITES(channel_rotate),
      "Give a secret of a channel another value; a signing secret may overlap with its last", POSTED(rotate_body_shape), GIVES(200, rotated_shape),
      .example = "{\"secret\":\"signingSecret\",\"overlap\":\"24h\"}", .definition = &definition_channel },
    { "POST",   "/v1/channels/{id}/test",       AUTHORS | OPERATORS, WRITES(channel_test_post),
      "Send a test by a channel: a delivery as any other, on the record; 10 a minute", POSTED(channel_test_body_shape), GIVES(202, channel_test_shape),
      .example = "{\"target\":\"…\"}" },
    { "POST",   "/v1/sources/{id}/rotate",      AUTHORS,   WRITES(source_rotate),
      "Give a source another secret; webhooks that are signed with the last one are taken until the overlap is over", POSTED(source_rotate_body_shape),
      GIVES(200, source_rotated_shape), .example = "{\"overlap\":\"24h\"}", .definition = &definition_source },
    { "POST",   "/v1/templates/{id}/preview",   READERS,   READS(template_preview),
      "Render a template with data, or with a stored event", PUT_THERE(preview_body_shape), GIVES(200, preview_shape),
      .example = "{\"data\":{\"name\":\"Ada\"}}" },
    { "POST",   "/v1/templates/preview",        READERS,   READS(template_preview_draft),
      "Render a template that is not saved; nothing is written", PUT_THERE(preview_draft_shape), GIVES(200, preview_shape),
      .example = "{\"template\":{\"eventType\":\"…\",\"channel\":\"memory:default\",\"body\":\"Hello {{name}}\"},\"data\":{\"name\":\"Ada\"}}" },
    { "GET",    "/v1/surveys/{id}/page",        READERS,   READS(survey_page_preview),
      "The page that a survey's draft would have, or one of its versions; nobody can answer it", .params = survey_page_params, .status = 200, .type = "text/html" },
    { "POST",   "/v1/surveys/{id}/publish",     AUTHORS,   WRITES(survey_publish_post),
      "Publish a survey's draft: events are matched with it from now on, and what was sent stays as it is", BARE, GIVES(200, survey_published_shape),
      .definition = &definition_survey },
    { "GET",    "/v1/surveys/{id}/versions",    READERS,   READS(survey_version_list),
      "List a survey's versions, newest first; also of one that was deleted", PAGE(survey_version_shape) },
    { "GET",    "/v1/surveys/{id}/versions/{version}", READERS, READS(survey_version_show),
      "Show a survey as it was published", GIVES(200, survey_version_whole_shape) },
    { "GET",    "/v1/surveys/{id}/responses",   READERS,   READS(response_list),
      "List what a survey was answered with, newest first; also one that was deleted", PAGE(response_shape) },
    { "GET",    "/v1/surveys/{id}/results",     READERS,   READS(results_get),
      "What a survey was answered with, all together: counts, averages, NPS, by day and trigger", .params = results_params, GIVES(200, results_shape) },
    { "GET",    "/v1/surveys/{id}/export",      READERS,   POURS(results_pour),
      "All responses of a survey as a table, newest first", .params = results_export_params, .status = 200, .type = "text/csv" },
    { "GET",    "/v1/responses/{id}",           READERS,   READS(response_show),
      "Show a response", GIVES(200, response_shape) },
    { "POST",   "/v1/campaigns",                OPERATORS, UPLOADS(campaign_read, campaign_write, campaign_take_back),
      "Make an event for one trigger of each row of a file, or of each member of a list (docs/campaigns.md)", .params = campaign_params,
      FILE_IN(campaign_body_shape), GIVES(202, campaign_begun_shape), .example = "{\"list\":\"…\"}" },
    { "GET",    "/v1/campaigns",                READERS,   READS(campaign_list),
      "List campaigns, newest first", PAGE(campaign_shape) },
    { "GET",    "/v1/campaigns/{id}",           READERS,   READS(campaign_show),
      "How far a campaign has come, and which rows failed", GIVES(200, campaign_whole_shape) },
    { "GET",    "/v1/campaigns/{id}/failures",  READERS,   READS(campaign_failure_list),
      "List the rows of a campaign that failed, by their lines", PAGE(campaign_failure_shape) },
    { "POST",   "/v1/campaigns/{id}/stop",      OPERATORS, FIRST(campaign_halt),
      "Stop a campaign; what it made stays", BARE, GIVES(200, campaign_shape) },
    { "POST",   "/v1/triggers/{id}/test",       READERS,   READS(trigger_test),
      "Say what a trigger would make of an event, when it would send and what; nothing is written", PUT_THERE(trigger_test_body_shape), GIVES(200, trigger_test_shape),
      .example = "{\"event\":{\"kind\":\"order.paid\",\"payload\":{}}}" },
    { "POST",   "/v1/filters/test",             READERS,   READS(filter_test),
      "Say whether a filter matches an event, and if not which condition decided; nothing is written", PUT_THERE(filter_test_body_shape), GIVES(200, filter_test_shape),
      .example = "{\"filter\":{\"path\":\"candidate.total\",\"op\":\">\",\"value\":10},\"event\":{\"payload\":{\"total\":12}}}" },
    { "GET",    "/v1/triggers/{id}/events",     LOOKERS,   READS(trigger_event_list),
      "List what a trigger made of events, newest first", PAGE(trigger_event_shape) },
    { "GET",    "/v1/trigger-events/{id}",      LOOKERS | WORKERS, READS(trigger_event_show),
      "Show what a trigger made of an event, with all that its run wrote back", GIVES(200, trigger_event_shape) },
    { "POST",   "/v1/trigger-events/{id}/skip", OPERATORS, WRITES(trigger_event_skip),
      "Skip what is queued", BARE, GIVES(200, trigger_event_shape) },
    { "PATCH",  "/v1/trigger-events/{id}",      WORKERS | OPERATORS, WRITES(trigger_event_patch),
      "Write back what a run found; what is absent stays, what is null goes", PATCHED(trigger_result_shape), GIVES(200, trigger_event_shape),
      .example = "{\"sessionId\":\"…\",\"analysisResult\":{}}" },
    { "POST",   "/v1/trigger-events/{id}/actions", WORKERS | OPERATORS, WRITES(trigger_event_act),
      "Tell of something that a run did", POSTED(trigger_action_body_shape), GIVES(201, trigger_action_shape),
      .example = "{\"tool\":\"search\",\"status\":\"completed\"}" },
    { "POST",   "/v1/automations/{id}/run",     OPERATORS, WRITES(run_now),
      "Run an automation now, enabled or not", POSTED(run_body_shape), GIVES(202, run_shape),
      .example = "{\"payload\":{}}", .definition = &definition_automation },
    { "GET",    "/v1/automations/{id}/runs",    READERS,   READS(automation_run_list),
      "List the runs of an automation, by hand, by schedules and by triggers, newest first", PAGE(automation_run_shape) },
    { "PUT",    "/v1/automations/{id}/schedules/{schedule}", AUTHORS, WRITES(automation_schedule_put),
      "Give an automation a schedule, or another", PUT_THERE(automation_schedule_shape), GIVES(200, automation_shape),
      .example = "{\"cron\":\"0 3 * * *\",\"zone\":\"Europe/Warsaw\"}", .definition = &definition_automation },
    { "DELETE", "/v1/automations/{id}/schedules/{schedule}", AUTHORS, WRITES(automation_schedule_delete),
      "Take a schedule of an automation away", GIVES_NOTHING, .definition = &definition_automation },
    DEFINITION_OPERATOR_TABLE(OPERATOR_ROUTES)
    { "POST",   "/v1/jobs/{name}/trigger",      OPERATORS, WRITES(run_now),
      "Run a job now, enabled or not; its next run stays where it is", POSTED(run_body_shape), GIVES(202, run_shape),
      .example = "{\"payload\":{}}", .definition = &definition_job },
    { "POST",   "/v1/jobs/{name}/enable",       OPERATORS, WRITES(job_enable),
      "Let a job fire again; what fell meanwhile is not made up", BARE, GIVES(200, job_shape), .definition = &definition_job },
    { "POST",   "/v1/jobs/{name}/disable",      OPERATORS, WRITES(job_disable),
      "Let a job fire no more; the reason is shown as long", POSTED(reason_shape), GIVES(200, job_shape),
      .example = "{\"reason\":\"…\"}", .definition = &definition_job },
    { "POST",   "/v1/jobs/{name}/backfill",     OPERATORS, WRITES(job_backfill),
      "Run what a job's schedule names from one moment to another and has no run yet", POSTED(backfill_body_shape), GIVES(202, backfill_shape),
      .example = "{\"from\":\"2026-05-01T00:00:00Z\",\"to\":\"2026-05-02T00:00:00Z\"}" },
    { "GET",    "/v1/jobs/{name}/next",         OPERATORS, READS(job_times),
      "Say when a job is due next", .params = job_next_params, GIVES(200, cron_preview_shape) },
    { "GET",    "/v1/providers",                READERS,   STARTS(providers_get),
      "List providers, the types of their events, and the schemas of what triggers ask of these", GIVES(200, providers_shape) },
    { "POST",   "/v1/cron/preview",             READERS,   READS(cron_preview),
      "Say when a cron expression is due, and what it means", PUT_THERE(cron_body_shape), GIVES(200, cron_preview_shape),
      .example = "{\"cron\":\"15 12 * * *\",\"zone\":\"Europe/Warsaw\"}" },
    { "POST",   "/v1/jobs/{name}/defer",        SENDERS | OPERATORS, DEFERS(deferral_post_read),
      "Put a run of a job off, for an entity", EVENTS_IN(MEDIA_JSON, deferral_body_shape), GIVES(202, deferral_taken_shape),
      .example = "{\"entity\":\"12345\",\"delay\":\"15m\"}" },
    { "GET",    "/v1/jobs/{name}/deferred",     OPERATORS, READS(deferred_list),
      "List what is still to run of a job, newest first", PAGE(deferred_shape) },
    { "DELETE", "/v1/jobs/{name}/deferred/{entity}", SENDERS | OPERATORS, DEFERS(deferred_cancel_read),
      "Call off the runs of an entity that have not begun", GIVES(200, deferrals_cancelled_shape) },
    { "DELETE", "/v1/jobs/{name}/deferred",     SENDERS | OPERATORS, DEFERS(deferred_cancel_read),
      "The same for an entity that no path can hold, such as one with a slash", .params = deferred_params, GIVES(200, deferrals_cancelled_shape) },
    { "GET",    "/v1/messages",                 LOOKERS,   READS(message_list),
      "List messages, or those of an entity, newest first; addresses are masked", .params = message_params, PAGE(message_shape) },
    { "GET",    "/v1/messages/{id}",            LOOKERS,   READS(message_get),
      "Show a message; its address is masked", GIVES(200, message_shape) },
    { "POST",   "/v1/messages/resend",          OPERATORS, WRITES(message_resend),
      "Send an entity's messages again, or for the first time", POSTED(resend_body_shape), GIVES(202, resent_shape),
      .example = "{\"entity\":\"12345\",\"channel\":\"memory:default\"}" },
    { "POST",   "/v1/entities/{id}/cancel",     OPERATORS | SENDERS, WRITES(entity_cancel_post),
      "Call off what is still unsent of an entity", POSTED(entity_cancel_shape), GIVES(200, entity_cancelled_shape),
      .example = "{\"eventKind\":\"…\"}" },
    { "PUT",    "/v1/preferences",              OPERATORS | AUTHORS | SENDERS, WRITES(preference_keep),
      "Keep what the recipient at an address wants", PUT_THERE(preference_shape), GIVES(200, preference_shape),
      .example = "{\"address\":\"…\",\"optOut\":[\"sms\"],\"channel\":{\"whatsapp:a\":\"sms:b\"}}" },
    { "GET",    "/v1/preferences",              READERS,   READS(preference_show),
      "What recipients want, newest first; or what the one at an address wants", .params = preference_show_params, PAGE(preference_shape), .else_gives = &preference_shape },
    { "DELETE", "/v1/preferences",              OPERATORS | AUTHORS | SENDERS, WRITES(preference_drop),
      "Forget what the recipient at an address wanted", .params = preference_params, GIVES_NOTHING },

    { "GET",    "/v1/lists/{id}/targets",       READERS,   READS(list_targets),
      "List whom a list goes to", PAGE(list_member_shape) },
    { "POST",   "/v1/lists/{id}/targets",       AUTHORS,   WRITES(list_targets_add),
      "Add targets to a list; who is there already gets the new name and locale", POSTED(list_targets_shape), GIVES(200, list_count_shape),
      .example = "{\"targets\":[{\"address\":\"…\"}]}" },
    { "DELETE", "/v1/lists/{id}/targets",       AUTHORS,   WRITES(list_targets_remove),
      "Take a target out of a list", .params = list_target_params, GIVES_NOTHING },

    { "POST",   "/v1/notifications",            SENDERS,   { .work = WORK_WRITE, .think = notification_post_read, .set = &notification_set },
      "Send a notification to a list", EVENTS_IN(MEDIA_JSON, notification_body_shape), GIVES(202, notification_taken_shape),
      .example = "{\"list\":\"ops\",\"subject\":\"…\",\"body\":\"…\"}" },
    { "GET",    "/v1/notifications",            READERS | SITES,   READS(notification_list),
      "List notifications, newest first", .params = notification_params, PAGE(notification_shape) },
    { "GET",    "/v1/notifications/{id}",       READERS | SITES,   READS(notification_get),
      "Show a notification, and the first 100 of those it goes to", GIVES(200, notification_shape) },
    { "GET",    "/v1/notifications/{id}/targets", READERS | SITES, READS(notification_targets),
      "List whom it goes to, and what became of it there", PAGE(target_shape) },
    { "POST",   "/v1/notifications/{id}/retry", OPERATORS, WRITES(notification_retry),
      "Try a parked notification again, for those that have it not", POSTED(reason_shape), GIVES(200, notification_shape) },
    { "POST",   "/v1/notifications/{id}/discard", OPERATORS, WRITES(notification_discard),
      "Give a parked notification up", POSTED(reason_shape), GIVES(200, notification_shape),
      .example = "{\"reason\":\"…\"}" },

    { "GET",    "/v1/keys",                     ADMINS,    READS(key_list),
      "List keys; the keys themselves are never shown", .params = key_params, PAGE(key_shape) },
    { "POST",   "/v1/keys",                     ADMINS,    WRITES(key_create),
      "Create a key; it is shown this once", POSTED(key_shape), GIVES(201, key_shape),
      .example = "{\"role\":\"ingest\",\"name\":\"shop\"}" },
    { "GET",    "/v1/keys/{id}",                ADMINS,    READS(key_get),
      "Show a key; the key itself is never shown", GIVES(200, key_shape) },
    { "PUT",    "/v1/keys/{id}",                ADMINS,    WRITES(key_put),
      "Change a key's role, name and expiry", PUT_THERE(key_shape), GIVES(200, key_shape),
      .example = "{\"role\":\"ingest\",\"name\":\"shop\"}" },
    { "PATCH",  "/v1/keys/{id}",                ADMINS,    WRITES(key_patch),
      "Change a key by a merge patch (RFC 7396)", PATCHED(key_shape), GIVES(200, key_shape),
      .example = "{\"name\":\"shop\"}" },
    { "DELETE", "/v1/keys/{id}",                ADMINS,    WRITES(key_delete),
      "Revoke a key", GIVES_NOTHING },
    { "POST",   "/v1/session",                  ANY_ROLE,  WRITES(session_post),
      "Sign in: open a session of the key, kept as a cookie (docs/keys.md)", GIVES(201, session_shape) },
    { "GET",    "/v1/session",                  ANY_ROLE,  READS(session_get),
      "Who asks, and what may be done", GIVES(200, session_shape) },
    { "DELETE", "/v1/session",                  ANY_ROLE,  WRITES(session_delete),
      "Sign out: close the session", GIVES_NOTHING },
    { "GET",    "/v1/tenants",                  SYSTEM,    READS(tenant_list),
      "List tenants", PAGE(tenant_shape) },
    { "POST",   "/v1/tenants",                  SYSTEM,    WRITES(tenant_create),
      "Create a tenant", POSTED(tenant_shape), GIVES(201, tenant_shape),
      .example = "{\"id\":\"acme\",\"name\":\"Acme\"}" },
    { "GET",    "/v1/tenants/{id}",             SYSTEM,    READS(tenant_get),
      "Show a tenant", GIVES(200, tenant_shape) },
    { "PUT",    "/v1/tenants/{id}",             SYSTEM,    WRITES(tenant_put),
      "Rename a tenant; its id stays", PUT_THERE(tenant_change_shape), GIVES(200, tenant_shape),
      .example = "{\"name\":\"Acme\"}" },
    { "PATCH",  "/v1/tenants/{id}",             SYSTEM,    WRITES(tenant_patch),
      "Rename a tenant by a merge patch (RFC 7396)", PATCHED(tenant_change_shape), GIVES(200, tenant_shape),
      .example = "{\"name\":\"Acme\"}" },
    { "DELETE", "/v1/tenants/{id}",             SYSTEM,    WRITES(tenant_delete),
      "Delete a tenant that has nothing left; its history stays", GIVES_NOTHING },

    { "GET",    "/v1/nodes",                    READERS,   READS(node_list),
      "List the processes that share the store, newest first", PAGE(node_shape) },
    { "GET",    "/v1/sites",                    READERS,   READS(site_list),
      "List the sites that have handed something on or have a key, by name", PAGE(site_row_shape) },
    { "GET",    "/v1/settings",                 SYSTEM,    READS(settings_get),
      "How this node is set up, where each setting comes from, and facts about the store; secrets are never shown", GIVES(200, settings_shape) },

    { "GET",    "/v1/clock",                    READERS,   STARTS(clock_get),
      "What time Peal takes it to be", GIVES(200, clock_shape) },
    { "POST",   "/v1/clock",                    SYSTEM,    STARTS_THEN(clock_post, clock_keep),
      "Move the manual clock; answers when all that was due is done", POSTED(clock_body_shape), GIVES(200, clock_shape),
      .example = "{\"advance\":\"24h\"}" },
    { "POST",   "/v1/tick",                     SYSTEM,    STARTS_THEN(tick_post, tick_keep),
      "Do all that is due now, and say what it was", BARE, GIVES(200, tick_shape) },
    { "POST",   "/v1/hold",                     SYSTEM,    FIRST_THEN(hold_post, hold_after),
      "Take events in but send nothing", POSTED(reason_shape), GIVES(200, hold_shape),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/release",                  SYSTEM,    FIRST(release_post),
      "Send again", BARE, GIVES(200, hold_shape) },

    // The console.
    VIEW("/"),
    VIEW("/signin"),
    VIEW("/deliveries"), VIEW("/deliveries/{id}"),
    VIEW("/events"), VIEW("/events/{id}"),
    VIEW("/plan"),
    VIEW("/operations"), VIEW("/operations/{id}"),
    VIEW("/jobs"), VIEW("/jobs/{id}"),
    VIEW("/dead"),
    VIEW("/triggers"), VIEW("/triggers/{id}"),
    VIEW("/templates"), VIEW("/templates/{id}"),
    VIEW("/automations"), VIEW("/automations/{id}"),
    VIEW("/surveys"), VIEW("/surveys/{id}"),
    VIEW("/campaigns"), VIEW("/campaigns/{id}"),
    VIEW("/channels"), VIEW("/channels/{id}"),
    VIEW("/lists"), VIEW("/lists/{id}"),
    VIEW("/preferences"),
    VIEW("/inbox"), VIEW("/inbox/{id}"),
    VIEW("/sources"), VIEW("/sources/{id}"),
    VIEW("/integrations"), VIEW("/integrations/{id}"),
    VIEW("/polls"),
    VIEW("/outbox"), VIEW("/outbox/{id}"),
    VIEW("/captured"), VIEW("/captured/{id}"),
    VIEW("/notifications"), VIEW("/notifications/{id}"),
    VIEW("/audit"),
    VIEW("/keys"),
    VIEW("/tenants"),
    VIEW("/nodes"),
    VIEW("/settings"),
    VIEW("/sites"),
    VIEW_OF("/console/{name}", console_asset),
    VIEW_OF("/docs", console_docs), VIEW_OF("/docs/{name}", console_doc),

    // What a site serves in the place of central's.
    { "POST",   "/v1/notifications",            SENDERS,   { .work = WORK_WRITE, .think = site_notify_read, .set = &site_notify_set },
      "Notify a list: answers when it is synced, and hands it on to central", EVENTS_IN(MEDIA_JSON, notification_body_shape), GIVES(202, notification_taken_shape), .is_site = true },
    { "GET",    "/v1/notifications/{id}",       READERS | SENDERS, READS(site_status_get),
      "What became of a notification, here or at central", GIVES(200, notification_shape), .is_site = true },
    { "POST",   "/v1/events",                   SENDERS,   TAKES(site_event_read),
      "Hand an event on to central", EVENTS_IN(MEDIA_ANY, event_shape), GIVES(202, event_taken_shape), .else_gives = &events_taken_shape, .is_site = true },
    { "POST",   "/v1/ingest",                   SENDERS,   TAKES(site_ingest_read),
      "Hand many events on to central", EVENTS_IN(MEDIA_JSON, batch_body_shape), GIVES(200, batch_shape), .is_site = true },
    { "POST",   "/v1/site/rows",                SENDERS,   { .work = WORK_WRITE, .think = site_row_read, .set = &site_notify_set },
      "Hand on to central a row as the spool has it: answers when it is synced", EVENTS_IN(MEDIA_JSON, forward_row_shape), GIVES(202, notification_taken_shape), .is_site = true },
};
// clang-format on
const size_t route_count = ARRAY_LEN(routes);
