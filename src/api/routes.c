#include "api/handlers.h"

#define READERS (MAY_ROLE(READ) | MAY_ROLE(OPERATOR) | MAY_ROLE(AUTHOR))
#define OPERATORS MAY_ROLE(OPERATOR)
#define AUTHORS MAY_ROLE(AUTHOR)
#define SENDERS MAY_ROLE(INGEST)
#define ADMINS 0u

// clang-format off
#define READS(handler)  { .work = WORK_READ, .read = handler }
#define WRITES(handler) { .work = WORK_WRITE, .write = handler }
#define FIRST(handler)  { .work = WORK_WRITE, .write = handler, .is_first = true }
#define FIRST_THEN(handler, then) { .work = WORK_WRITE, .write = handler, .is_first = true, .after = then }
#define STARTS(handler) { .work = WORK_START, .start = handler }
// STARTS_THEN ends with call_write().
#define STARTS_THEN(handler, then) { .work = WORK_START, .start = handler, .write = then }
// TAKES is for events: read and decided ahead of the transaction, written in sets.
#define TAKES(reader) { .work = WORK_WRITE, .think = reader, .set = &event_set }

// What comes with a POST, with a PUT, and with a POST of events.
#define POSTED          .body_max = BODY_USUAL, .media = MEDIA_JSON, .keeps_answer = true
#define PUT_THERE       .body_max = BODY_USUAL, .media = MEDIA_JSON
#define EVENTS_IN(what) .body_max = BODY_LARGE, .media = what, .keeps_answer = true

#define GIVES(code, words) .status = code, .answers = words
#define PAGE(words)        .status = 200, .is_page = true, .answers = words

// To add a route, add a row; the OpenAPI document, the rights test and the 405 answers follow from
// it. Every row names its roles; admin may always, system rows need the system right.
const Route routes[] = {
    { "GET",    "/livez",                       ANYONE,    STARTS(livez_get),
      "Whether the process is alive", GIVES(200, "ok") },
    { "GET",    "/readyz",                      ANYONE,    STARTS(readyz_get),
      "Whether it can take and send, and why not", GIVES(200, "ready; 503 with the reasons where it is not") },
    { "GET",    "/metrics",                     ANYONE,    STARTS(metrics_get),
      "Metrics in Prometheus' text format", GIVES(200, "samples"), .type = "text/plain" },
    { "GET",    "/openapi.json",                ANYONE,    STARTS(openapi_get),
      "This document", GIVES(200, "OpenAPI 3.1") },

    { "POST",   "/v1/ingest",                   SENDERS,   TAKES(ingest_read),
      "Post many items of one event kind", EVENTS_IN(MEDIA_JSON), GIVES(200, "with counts and, item by item, the outcome"),
      .example = "{\"eventKind\":\"…\",\"items\":[{\"payload\":{},\"recipient\":{\"address\":\"…\"}}]}" },
    { "POST",   "/v1/events",                   SENDERS,   TAKES(event_read),
      "Post an event, as JSON or as a CloudEvent", EVENTS_IN(MEDIA_ANY), GIVES(202, "with the event's id and its deliveries"),
      .example = "{\"kind\":\"order.paid\",\"payload\":{}}" },
    { "GET",    "/v1/events",                   READERS,   READS(event_list),
      "List events, newest first", .params = event_params, PAGE("a page of events") },
    { "GET",    "/v1/events/{id}",              READERS,   READS(event_get),
      "Show an event", GIVES(200, "the event") },
    { "GET",    "/v1/events/{id}/explain",      READERS,   READS(event_explain),
      "Why it did or did not fire, trigger by trigger", GIVES(200, "the decisions") },
    { "GET",    "/v1/events/{id}/timeline",     READERS,   READS(event_timeline),
      "All that happened to it, in order", GIVES(200, "the timeline") },

    { "GET",    "/v1/deliveries",               READERS,   READS(delivery_list),
      "List deliveries, newest first", .params = delivery_params, PAGE("a page of deliveries") },
    { "GET",    "/v1/deliveries/{id}",          READERS,   READS(delivery_get),
      "Show a delivery", GIVES(200, "the delivery") },
    { "GET",    "/v1/deliveries/{id}/attempts", READERS,   READS(delivery_attempts),
      "Show its attempts", PAGE("a page of attempts") },
    { "POST",   "/v1/deliveries/{id}/retry",    OPERATORS, WRITES(delivery_retry),
      "Try a parked delivery again", POSTED, GIVES(200, "the delivery") },
    { "POST",   "/v1/deliveries/{id}/discard",  OPERATORS, WRITES(delivery_discard),
      "Give a parked delivery up", POSTED, GIVES(200, "the delivery"),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/deliveries/{id}/cancel",   OPERATORS, WRITES(delivery_cancel),
      "Call off what is still to be sent", POSTED, GIVES(200, "the delivery"),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/deliveries/{id}/complete", OPERATORS, WRITES(delivery_complete),
      "Note that it was answered", POSTED, GIVES(200, "the delivery") },
    { "GET",    "/v1/captured",                 READERS,   READS(captured_list),
      "What memory channels took", .params = captured_params, PAGE("a page of what was taken") },
    { "POST",   "/v1/operations",               OPERATORS, WRITES(operation_create),
      "Act on all deliveries that a filter names", POSTED, GIVES(202, "with the id and how many matched"),
      .example = "{\"action\":\"retry\",\"filter\":{\"state\":\"parked\"}}" },
    { "GET",    "/v1/operations/{id}",          READERS,   READS(operation_get),
      "How far an operation has come", GIVES(200, "the operation") },

    { "GET",    "/v1/triggers",                 READERS,   READS(trigger_list),
      "List triggers", PAGE("a page of triggers") },
    { "POST",   "/v1/triggers",                 AUTHORS,   WRITES(trigger_create),
      "Create a trigger", POSTED, GIVES(201, "the trigger"),
      .example = "{\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}" },
    { "GET",    "/v1/triggers/{id}",            READERS,   READS(trigger_get),
      "Show a trigger", GIVES(200, "the trigger") },
    { "PUT",    "/v1/triggers/{id}",            AUTHORS,   WRITES(trigger_replace),
      "Publish a new version of a trigger", PUT_THERE, GIVES(200, "the trigger"),
      .example = "{\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}" },
    { "DELETE", "/v1/triggers/{id}",            AUTHORS,   WRITES(trigger_delete),
      "Delete a trigger; its history stays", GIVES(204, "nothing") },
    { "GET",    "/v1/channels",                 READERS,   READS(channel_list),
      "List channels", PAGE("a page of channels") },
    { "POST",   "/v1/channels",                 AUTHORS,   WRITES(channel_create),
      "Create a channel", POSTED, GIVES(201, "the channel"),
      .example = "{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://…\"}}" },
    { "GET",    "/v1/channels/{id}",            READERS,   READS(channel_get),
      "Show a channel; secrets are never shown", GIVES(200, "the channel") },
    { "PUT",    "/v1/channels/{id}",            AUTHORS,   WRITES(channel_replace),
      "Replace a channel", PUT_THERE, GIVES(200, "the channel"),
      .example = "{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://…\"}}" },
    { "DELETE", "/v1/channels/{id}",            AUTHORS,   WRITES(channel_delete),
      "Delete a channel", GIVES(204, "nothing") },

    { "GET",    "/v1/keys",                     ADMINS,    READS(key_list),
      "List keys; the keys themselves are never shown", .params = key_params, PAGE("a page of keys") },
    { "POST",   "/v1/keys",                     ADMINS,    WRITES(key_create),
      "Create a key; it is shown this once", POSTED, GIVES(201, "the key"),
      .example = "{\"role\":\"ingest\",\"name\":\"shop\"}" },
    { "DELETE", "/v1/keys/{id}",                ADMINS,    WRITES(key_delete),
      "Revoke a key", GIVES(204, "nothing") },
    { "GET",    "/v1/tenants",                  SYSTEM,    READS(tenant_list),
      "List tenants", PAGE("a page of tenants") },
    { "POST",   "/v1/tenants",                  SYSTEM,    WRITES(tenant_create),
      "Create a tenant", POSTED, GIVES(201, "the tenant"),
      .example = "{\"id\":\"acme\",\"name\":\"Acme\"}" },
    { "GET",    "/v1/tenants/{id}",             SYSTEM,    READS(tenant_get),
      "Show a tenant", GIVES(200, "the tenant") },

    { "GET",    "/v1/clock",                    READERS,   STARTS(clock_get),
      "What time Peal takes it to be", GIVES(200, "now and mode") },
    { "POST",   "/v1/clock",                    SYSTEM,    STARTS_THEN(clock_post, clock_keep),
      "Move the manual clock; answers when all that was due is done", POSTED, GIVES(200, "now and mode"),
      .example = "{\"advance\":\"24h\"}" },
    { "POST",   "/v1/tick",                     SYSTEM,    STARTS_THEN(tick_post, tick_keep),
      "Do all that is due now, and say what it was", POSTED, GIVES(200, "the counts") },
    { "POST",   "/v1/hold",                     SYSTEM,    FIRST_THEN(hold_post, hold_after),
      "Take events in but send nothing", POSTED, GIVES(200, "held; inFlight is what is still under way"),
      .example = "{\"reason\":\"…\"}" },
    { "POST",   "/v1/release",                  SYSTEM,    FIRST(release_post),
      "Send again", POSTED, GIVES(200, "released") },
};
// clang-format on
const size_t route_count = ARRAY_LEN(routes);
