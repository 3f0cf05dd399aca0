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
#define TAKES(reader, media) { .work = WORK_WRITE, .think = reader, .set = &event_set, .body = BODY_LARGE | (media) }

// To add a route, add a row; the OpenAPI document, the rights test and the 405 answers follow from
// it. Every row names its roles; admin may always, system rows need the system right.
const Route routes[] = {
    { "GET",    "/livez",                       ANYONE,    STARTS(livez_get),           "Whether the process is alive", NULL, "200 ok" },
    { "GET",    "/readyz",                      ANYONE,    STARTS(readyz_get),          "Whether it can take and send, and why not", NULL, "200 or 503 with the reasons" },
    { "GET",    "/metrics",                     ANYONE,    READS(metrics_get),          "Metrics in Prometheus' text format", NULL, "200 text" },
    { "GET",    "/openapi.json",                ANYONE,    STARTS(openapi_get),         "This document", NULL, "200 OpenAPI 3.1" },

    { "POST",   "/v1/ingest",                   SENDERS,   TAKES(ingest_read, 0),       "Post many items of one event kind", "{\"eventKind\":\"…\",\"items\":[{\"payload\":{},\"recipient\":{\"address\":\"…\"}}]}", "200 with counts and, item by item, the outcome" },
    { "POST",   "/v1/events",                   SENDERS,   TAKES(event_read, BODY_ANY), "Post an event, as JSON or as a CloudEvent", "{\"kind\":\"order.paid\",\"payload\":{}}", "202 with the event's id and its deliveries" },
    { "GET",    "/v1/events",                   READERS,   READS(event_list),           "List events, newest first", NULL, "200 a page" },
    { "GET",    "/v1/events/{id}",              READERS,   READS(event_get),            "Show an event", NULL, "200 the event" },
    { "GET",    "/v1/events/{id}/explain",      READERS,   READS(event_explain),        "Why it did or did not fire, trigger by trigger", NULL, "200 the decisions" },
    { "GET",    "/v1/events/{id}/timeline",     READERS,   READS(event_timeline),       "All that happened to it, in order", NULL, "200 the timeline" },

    { "GET",    "/v1/deliveries",               READERS,   READS(delivery_list),        "List deliveries, newest first", NULL, "200 a page" },
    { "GET",    "/v1/deliveries/{id}",          READERS,   READS(delivery_get),         "Show a delivery", NULL, "200 the delivery" },
    { "GET",    "/v1/deliveries/{id}/attempts", READERS,   READS(delivery_attempts),    "Show its attempts", NULL, "200 a page" },
    { "POST",   "/v1/deliveries/{id}/retry",    OPERATORS, WRITES(delivery_retry),      "Try a parked delivery again", NULL, "200 the delivery" },
    { "POST",   "/v1/deliveries/{id}/discard",  OPERATORS, WRITES(delivery_discard),    "Give a parked delivery up", "{\"reason\":\"…\"}", "200 the delivery" },
    { "POST",   "/v1/deliveries/{id}/cancel",   OPERATORS, WRITES(delivery_cancel),     "Call off what is still to be sent", "{\"reason\":\"…\"}", "200 the delivery" },
    { "POST",   "/v1/deliveries/{id}/complete", OPERATORS, WRITES(delivery_complete),   "Note that it was answered", NULL, "200 the delivery" },
    { "GET",    "/v1/captured",                 READERS,   READS(captured_list),        "What memory channels took", NULL, "200 a page" },
    { "POST",   "/v1/operations",               OPERATORS, WRITES(operation_create),    "Act on all deliveries that a filter names", "{\"action\":\"retry\",\"filter\":{\"state\":\"parked\"}}", "202 with the id and how many matched" },
    { "GET",    "/v1/operations/{id}",          READERS,   READS(operation_get),        "How far an operation has come", NULL, "200 the operation" },

    { "GET",    "/v1/triggers",                 READERS,   READS(trigger_list),         "List triggers", NULL, "200 a page" },
    { "POST",   "/v1/triggers",                 AUTHORS,   WRITES(trigger_create),      "Create a trigger", "{\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}", "201 the trigger" },
    { "GET",    "/v1/triggers/{id}",            READERS,   READS(trigger_get),          "Show a trigger", NULL, "200 the trigger" },
    { "PUT",    "/v1/triggers/{id}",            AUTHORS,   WRITES(trigger_replace),     "Publish a new version of a trigger", "{\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}", "200 the trigger" },
    { "DELETE", "/v1/triggers/{id}",            AUTHORS,   WRITES(trigger_delete),      "Delete a trigger; its history stays", NULL, "204" },
    { "GET",    "/v1/channels",                 READERS,   READS(channel_list),         "List channels", NULL, "200 a page" },
    { "POST",   "/v1/channels",                 AUTHORS,   WRITES(channel_create),      "Create a channel", "{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://…\"}}", "201 the channel" },
    { "GET",    "/v1/channels/{id}",            READERS,   READS(channel_get),          "Show a channel; secrets are never shown", NULL, "200 the channel" },
    { "PUT",    "/v1/channels/{id}",            AUTHORS,   WRITES(channel_replace),     "Replace a channel", "{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://…\"}}", "200 the channel" },
    { "DELETE", "/v1/channels/{id}",            AUTHORS,   WRITES(channel_delete),      "Delete a channel", NULL, "204" },

    { "GET",    "/v1/keys",                     ADMINS,    READS(key_list),             "List keys; the keys themselves are never shown", NULL, "200 a page" },
    { "POST",   "/v1/keys",                     ADMINS,    WRITES(key_create),          "Create a key; it is shown this once", "{\"role\":\"ingest\",\"name\":\"shop\"}", "201 the key" },
    { "DELETE", "/v1/keys/{id}",                ADMINS,    WRITES(key_delete),          "Revoke a key", NULL, "204" },
    { "GET",    "/v1/tenants",                  SYSTEM,    READS(tenant_list),          "List tenants", NULL, "200 a page" },
    { "POST",   "/v1/tenants",                  SYSTEM,    WRITES(tenant_create),       "Create a tenant", "{\"id\":\"acme\",\"name\":\"Acme\"}", "201 the tenant" },
    { "GET",    "/v1/tenants/{id}",             SYSTEM,    READS(tenant_get),           "Show a tenant", NULL, "200 the tenant" },

    { "GET",    "/v1/clock",                    READERS,   STARTS(clock_get),           "What time Peal takes it to be", NULL, "200 now and mode" },
    { "POST",   "/v1/clock",                    SYSTEM,    STARTS_THEN(clock_post, clock_keep), "Move the manual clock; answers when all that was due is done", "{\"advance\":\"24h\"}", "200 now and mode" },
    { "POST",   "/v1/tick",                     SYSTEM,    STARTS_THEN(tick_post, tick_keep), "Do all that is due now, and say what it was", NULL, "200 the counts" },
    { "POST",   "/v1/hold",                     SYSTEM,    FIRST_THEN(hold_post, hold_after), "Take events in but send nothing", "{\"reason\":\"…\"}", "200 held; inFlight is what is still under way" },
    { "POST",   "/v1/release",                  SYSTEM,    FIRST(release_post),         "Send again", NULL, "200 released" },
};
// clang-format on
const size_t route_count = ARRAY_LEN(routes);
