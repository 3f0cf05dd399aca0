// metric.h - what can be measured of Peal, a row each, and the figures that are counted as it runs.
//
// docs/metrics.md is printed from the table. Rows with series are counted here, process-wide, by
// whoever does the work: metric_count(), metric_observe(). They never lock and never allocate. The
// others are asked for when somebody wants to see them (api/metrics.c), which writes every row in
// Prometheus' text format with the functions below.
//
// A row with labels has a series for each key, a number whose labels the writer of the text knows.
// There are as many series as the row says; whatever comes when they are taken is summed under
// METRIC_OTHERS, so that a hundred thousand channels cost no more than the first hundreds.
//
// To add a metric: a row here, and a call where it happens; or, with no series, in api/metrics.c.
// Names are as Prometheus wants them: base units, _total for what only grows.
#pragma once

#include "base/histogram.h"
#include "base/str.h"

enum {
    METRIC_ROUTE_SERIES = 1024,  // method and route × class of status
    METRIC_HOOK_SERIES = 256,    // provider × status
    METRIC_TYPE_SERIES = 128,    // type of channel × verdict
    METRIC_CHANNEL_SERIES = 512, // of all tenants; four times as many with the verdict
    METRIC_LANES_SHOWN = 500,    // by name where the store is asked, those with the most to do
};

// clang-format off
#define METRIC_TABLE(X)                                                                                                                       \
    /* name              type       series                 text                                labels                  help                */ \
    X(BUILD_INFO,        GAUGE,     0,                     "peal_build_info",                  "version",              "1; what runs")        \
    X(STORE_UP,          GAUGE,     0,                     "peal_store_up",                    "",                     "1 while the database can be reached") \
    X(HELD,              GAUGE,     0,                     "peal_held",                        "",                     "1 while nothing is sent") \
    X(DELIVERIES,        GAUGE,     0,                     "peal_deliveries",                  "tenant,channel,state", "Deliveries by state, of all nodes") \
    X(QUEUE_OLDEST,      GAUGE,     0,                     "peal_queue_oldest_seconds",        "tenant,channel",       "How long the oldest send that is due has been so, of all nodes") \
    X(CHANNEL_CIRCUIT,   GAUGE,     0,                     "peal_channel_circuit_open",        "tenant,channel",       "1 for each channel whose circuit is not closed, by what a node told last") \
    X(CHANNEL_PAUSED,    GAUGE,     0,                     "peal_channel_paused",              "tenant,channel",       "1 for each channel that pauses because its far side asked for it, on all nodes") \
    X(SITE_BACKLOG,      GAUGE,     0,                     "peal_site_backlog",                "",                     "At a site: rows that central has not acknowledged yet") \
    X(AUDIT_BACKLOG,     GAUGE,     0,                     "peal_audit_backlog",               "",                     "Facts that are not sealed into the audit yet, of all tenants and nodes") \
    X(AUDIT_FAILURES,    COUNTER,   1,                     "peal_audit_failures_total",        "",                     "Failed tries to seal the audit; no delivery is changed by one, and it is tried again") \
    X(EVENTS,            COUNTER,   1,                     "peal_events_total",                "",                     "Events taken in") \
    X(CREATED,           COUNTER,   1,                     "peal_deliveries_created_total",    "",                     "Deliveries made of events") \
    X(INGEST,            HISTOGRAM, 1,                     "peal_ingest_seconds",              "",                     "From the whole request that brings events to its answer") \
    X(REQUESTS,          COUNTER,   METRIC_ROUTE_SERIES,   "peal_requests_total",              "method,route,status",  "Requests by route and class of status") \
    X(WEBHOOKS,          COUNTER,   METRIC_HOOK_SERIES,    "peal_webhook_requests_total",      "provider,status",      "Webhooks by provider and status of their answer") \
    X(COMMIT,            HISTOGRAM, 1,                     "peal_commit_seconds",              "",                     "Transactions of the writer, from their begin to the end of their commit") \
    X(COMMIT_OPERATIONS, HISTOGRAM, 1,                     "peal_commit_operations",           "",                     "Operations that were committed together") \
    X(WRITER_WAITING,    GAUGE,     0,                     "peal_writer_waiting",              "",                     "Operations waiting for the writer") \
    X(COMMIT_TO_ATTEMPT, HISTOGRAM, 1,                     "peal_commit_to_attempt_seconds",   "",                     "From the transaction that made a delivery to the start of its first attempt, where no delay was planned") \
    X(QUEUE_AGE,         HISTOGRAM, 1,                     "peal_queue_age_seconds",           "",                     "How long what was claimed had been due") \
    X(ATTEMPT,           HISTOGRAM, METRIC_TYPE_SERIES,    "peal_attempt_seconds",             "type",                 "Attempts, from their start to their outcome, by type of channel") \
    X(ATTEMPTS,          COUNTER,   METRIC_TYPE_SERIES,    "peal_attempts_total",              "type,verdict",         "Attempts by type of channel and outcome") \
    X(CHANNEL_ATTEMPT,   HISTOGRAM, METRIC_CHANNEL_SERIES, "peal_channel_attempt_seconds",     "tenant,channel",       "Attempts, from their start to their outcome, by channel") \
    X(CHANNEL_ATTEMPTS,  COUNTER,   4 * METRIC_CHANNEL_SERIES, "peal_channel_attempts_total",      "tenant,channel,verdict", "Attempts by channel and outcome") \
    X(MISSING,           COUNTER,   1,                     "peal_placeholders_missing_total",  "",                     "Placeholders of messages that the event had no value for") \
    X(IN_FLIGHT,         GAUGE,     0,                     "peal_in_flight",                   "",                     "Attempts under way") \
    X(CLAIMED,           COUNTER,   0,                     "peal_claimed_total",               "",                     "Deliveries claimed") \
    X(RELEASED,          COUNTER,   0,                     "peal_released_total",              "",                     "Claims given back, of which nothing was sent") \
    X(DELIVERED,         COUNTER,   0,                     "peal_delivered_total",             "",                     "Attempts that were delivered") \
    X(RETRIED,           COUNTER,   0,                     "peal_retried_total",               "",                     "Attempts that will be retried") \
    X(PARKED,            COUNTER,   0,                     "peal_parked_total",                "",                     "Deliveries that an attempt parked") \
    X(EXPIRED,           COUNTER,   0,                     "peal_expired_total",               "",                     "Deliveries that expired") \
    X(LAPSED,            COUNTER,   0,                     "peal_lapsed_total",                "",                     "Leases that lapsed") \
    X(STALE_SETTLES,     COUNTER,   0,                     "peal_stale_settles_total",         "",                     "Settles that came too late") \
    X(SCHEDULE_FIRED,    COUNTER,   1,                     "peal_schedule_fired_total",        "",                     "Occurrences of schedules that became runs") \
    X(SCHEDULE_MISSED,   COUNTER,   1,                     "peal_schedule_missed_total",       "",                     "Occurrences of schedules that nobody was there for, and that their policy does not make up") \
    X(SCHEDULE_LAG,      HISTOGRAM, 1,                     "peal_schedule_lag_seconds",        "",                     "How late occurrences were made runs, committed; of those that fell due together the oldest") \
    X(HANDOFF_FAILURES,  COUNTER,   1,                     "peal_handoff_failures_total",      "",                     "Runs of automations that could not be made: there was no such automation") \
    X(PURGED,            COUNTER,   0,                     "peal_purged_rows_total",           "",                     "Rows deleted because their time was over") \
    X(CIRCUITS_OPEN,     GAUGE,     0,                     "peal_circuits_open",               "",                     "Circuits of hosts, logins and ordered channels that are not closed, on this node") \
    X(CIRCUITS_OPENED,   COUNTER,   0,                     "peal_circuits_opened_total",       "",                     "Circuits that opened") \
    X(PAUSES,            COUNTER,   0,                     "peal_pauses_total",                "",                     "Pauses that a far side asked for (Retry-After)") \
    X(ROUNDS_FAILED,     COUNTER,   0,                     "peal_rounds_failed_total",         "",                     "Rounds of the engine that failed") \
    X(LAST_GOOD_ROUND,   GAUGE,     0,                     "peal_last_good_round_age_seconds", "",                     "How long ago a round went well") \
    X(STREAMS,           GAUGE,     0,                     "peal_streams",                     "",                     "Streams of what happens (/v1/stream) that are open, at this node") \
    X(POLL,              HISTOGRAM, 1,                     "peal_poll_seconds",                "",                     "Polls of providers, from the first request to the last commit") \
    X(POLL_BACKOFFS,     COUNTER,   1,                     "peal_poll_backoffs_total",         "",                     "Polls after which a provider is left alone for a while: it failed, or asked for it") \
    X(WORKERS_WAITING,   GAUGE,     0,                     "peal_workers_waiting",             "",                     "Workers that wait for work, at this node") \
    X(WORKER_CLAIMS,     COUNTER,   1,                     "peal_worker_claims_total",         "",                     "Looks of workers for work, with or without success") \
    X(WORKER_CLAIMED,    COUNTER,   1,                     "peal_worker_claimed_total",        "",                     "Deliveries that workers claimed") \
    X(INBOX_DEPTH,       GAUGE,     0,                     "peal_inbox_depth",                 "",                     "Rows of the inbox that wait to become events, of all tenants and nodes; counted up to a million") \
    X(INBOX_DRAIN,       HISTOGRAM, 1,                     "peal_inbox_drain_seconds",         "",                     "From a webhook's receipt to the end of its handling") \
    X(PARSE_FAILURES,    COUNTER,   1,                     "peal_parse_failures_total",        "",                     "Webhooks that could not be read as their provider's") \
    X(CAMPAIGN_ROWS,     COUNTER,   3,                     "peal_campaign_rows_total",         "result",               "Rows of campaigns that were carried out, by what became of them") \
    X(DEDUP_HITS,        COUNTER,   1,                     "peal_dedup_hits_total",            "",                     "Deliveries that were not made because another holds their dedup key") \
    X(PROCESS_START,     GAUGE,     0,                     "process_start_time_seconds",       "",                     "When the process started, since 1970") \
    X(PROCESS_CPU,       COUNTER,   0,                     "process_cpu_seconds_total",        "",                     "Time that the process has computed, user and system") \
    X(PROCESS_RESIDENT,  GAUGE,     0,                     "process_resident_memory_bytes",    "",                     "Memory that the process has in use") \
    X(PROCESS_VIRTUAL,   GAUGE,     0,                     "process_virtual_memory_bytes",     "",                     "Addresses that the process has mapped") \
    X(PROCESS_FDS,       GAUGE,     0,                     "process_open_fds",                 "",                     "Descriptors that are open") \
    X(PROCESS_FDS_MAX,   GAUGE,     0,                     "process_max_fds",                  "",                     "Descriptors that may be open")
// clang-format on

typedef enum Metric {
#define METRIC_ENUM(name, ...) METRIC_##name,
    METRIC_TABLE(METRIC_ENUM)
#undef METRIC_ENUM
} Metric;

#define METRIC_COUNT TABLE_ROWS(METRIC_TABLE)

typedef enum MetricType {
    METRIC_TYPE_COUNTER,
    METRIC_TYPE_GAUGE,
    METRIC_TYPE_HISTOGRAM
} MetricType;

typedef struct MetricRow {
    MetricType type;
    size_t series; // 0: not counted here
    const char *text, *labels, *help;
} MetricRow;

const MetricRow *metric_row(Metric metric);
const char *metric_type_text(MetricType type);

// A row without labels has the key METRIC_ALONE; every other key is one or more.
enum { METRIC_ALONE = 0, METRIC_OTHERS = -1 };

void metric_count(Metric metric, int64_t key, int64_t n);
void metric_observe(Metric metric, int64_t key, int64_t value);

// metric_head begins a metric in the text; its samples follow. Labels are as they stand between the
// braces, made with metric_label(); none where there are none.
void metric_head(Buf *out, Metric metric);
void metric_put(Buf *out, Metric metric, Str labels, double value);
void metric_label(Buf *out, const char *name, Str value);

// metric_put_series puts the head and every series that was counted. labels() writes the labels of
// a key; false: it is not to be seen. NULL for a row without labels.
typedef bool MetricLabels(void *with, int64_t key, Buf *out);
void metric_put_series(Buf *out, Metric metric, MetricLabels *labels, void *with);
