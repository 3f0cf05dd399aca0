#include "limits.h"

#include "api/api.h"
#include "api/apply.h"
#include "api/feed.h"
#include "api/responses.h"
#include "api/shapes.h"
#include "api/work.h"
#include "app/config.h"
#include "app/descriptors.h"
#include "app/serve.h"
#include "app/store.h"
#include "base/metric.h"
#include "base/time.h"
#include "base/yaml.h"
#include "channels/channel.h"
#include "channels/exec.h"
#include "cli/scenario.h"
#include "domain/answer.h"
#include "domain/automation.h"
#include "domain/campaign.h"
#include "domain/cause.h"
#include "domain/channel.h"
#include "domain/cron.h"
#include "domain/dedup.h"
#include "domain/defer.h"
#include "domain/event.h"
#include "domain/filter.h"
#include "domain/source.h"
#include "domain/forward.h"
#include "domain/members.h"
#include "domain/plan.h"
#include "domain/provided.h"
#include "domain/schedule.h"
#include "domain/target.h"
#include "domain/trigger.h"
#include "engine/state.h"
#include "engine/unpacking.h"
#include "intake/csv.h"
#include "lib/spool.h"
#include "net/guard.h"
#include "net/process.h"
#include "net/strikes.h"
#include "net/tls.h"
#include "store/accept.h"
#include "store/campaign.h"
#include "store/cause.h"
#include "store/idempotency.h"
#include "store/inbox.h"
#include "store/key.h"
#include "store/node.h"
#include "store/operation.h"
#include "store/progress.h"
#include "store/purge.h"
#include "store/registry.h"
#include "store/ring.h"
#include "store/site.h"
#include "store/surveys.h"
#include "store/tenant.h"
#include "store/versions.h"
#include "store/waiting.h"
#include "store/walk.h"
#include "surveys/form.h"

#include <stdarg.h>
#include <stdio.h>

static Arena figures; // as text, until the program ends

// count writes 16384 as 16,384.
static const char *count(int64_t n)
{
    if (n < 1000)
        return str_format(&figures, "%lld", (long long) n).at;
    return str_format(&figures, "%s,%03lld", count(n / 1000), (long long) (n % 1000)).at;
}

static const char *bytes(size_t n)
{
    static const char *const units[] = { "bytes", "KiB", "MiB" };
    size_t unit = 0;
    for (; unit + 1 < ARRAY_LEN(units) && n >= 1024 && n % 1024 == 0; unit++)
        n /= 1024;
    return str_format(&figures, "%s %s", count((int64_t) n), units[unit]).at;
}

// span writes a length of time in the largest unit that leaves nothing over; a day is 24 h.
static const char *span(Span length)
{
    static const struct {
        const char *name;
        Span least, span;
    } units[] = {
        { "d", 2 * SPAN_DAY, SPAN_DAY },
        { "h", SPAN_HOUR, SPAN_HOUR },
        { "min", SPAN_MINUTE, SPAN_MINUTE },
        { "s", SPAN_SECOND, SPAN_SECOND },
        { "ms", SPAN_MILLISECOND, SPAN_MILLISECOND },
    };
    size_t unit = 0;
    while (unit + 1 < ARRAY_LEN(units) &&
           (length < units[unit].least || length % units[unit].span != 0))
        unit++;
    return str_format(&figures, "%s %s", count(length / units[unit].span), units[unit].name).at;
}

// member is the row of a definition's member, which has its limits.
static const Field *member(const Shape *shape, const char *name)
{
    const Field *field = fields_find(shape, str_from(name));
    assert(field);
    return field;
}

static bool is_large(size_t i)
{
    return routes[i].body_max == BODY_LARGE && !routes[i].is_site;
}

// large_routes are those that take a body as large as the operator allows, by path: the methods of
// one stand together.
static const char *large_routes(void)
{
    Buf text = buf_new(&figures, 1024);
    for (size_t i = 0, last = route_count; i < route_count; i++) {
        if (!is_large(i) || (last < i && strcmp(routes[last].path, routes[i].path) == 0))
            continue;
        buf_add_format(&text, "%s`%s`", text.len ? ", " : "", routes[i].path);
        last = i;
    }
    return str_z(&figures, buf_str(&text));
}

static void table(const char *title)
{
    printf("\n## %s\n\n| what | limit |\n|---|---|\n", title);
}

PRINTF(2, 3)
static void row(const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("| %s | ", what);
    vprintf(format, args);
    printf(" |\n");
    va_end(args);
}

static void print_connections(void)
{
    Descriptors few = descriptors_part(256), some = descriptors_part(1024);
    table("Connections");
    row("connections",
        "%s in all, %s per client. A client is an address, of IPv6 a /%s; behind a proxy "
        "(`--behind-proxy`) it is whom the proxy speaks for, and its requests under way are "
        "counted (429). Loopback is not limited",
        count(SERVER_CONNECTIONS_MAX), count(SERVER_CONNECTIONS_PER_ADDRESS_MAX),
        count(REMOTE_PREFIX_BITS));
    row("claims that wait for work",
        "three quarters of the connections (%s of %s), then 503 `busy` for one that finds nothing. "
        "Of a client that has hung up it is noticed within a second or two",
        count(SERVER_CONNECTIONS_MAX / 4 * 3), count(SERVER_CONNECTIONS_MAX));
    row("connections in reserve",
        "%s more, for one request each that comes within %s: `/livez`, `/readyz`, `/metrics`, and "
        "calls with a key of role admin or operator. Others are told 503 `busy`. Half of it is "
        "kept free: of those that have sent no request yet, the oldest is cut",
        count(SERVER_RESERVE), span(SERVER_RESERVE_DEADLINE));
    row("a connection without a request", "closed after %s", span(SERVER_IDLE_TIMEOUT));
    row("failures for want of a key (401)",
        "%s per client, and one more every %s; beyond it 429 with Retry-After. A key that is known "
        "gets through all the same. Loopback is not limited; %s clients are remembered",
        count(STRIKES_MAX), span(STRIKES_EVERY), count(STRIKES_ROWS));
    row("requests for the pages of surveys",
        "%s per client, and one more every %s; beyond it 429 with Retry-After. Loopback is not "
        "limited",
        count(VISITS_MAX), span(VISITS_EVERY));
    row("descriptors",
        "%s or more (`ulimit -Hn`, systemd's `LimitNOFILE=`) hold no channel back. With fewer, "
        "after %s for the store and the rest, a third is for connections to the API and each "
        "delivery in flight takes %s: %s leave %s and %s, %s leave %s and %s. The log "
        "(`descriptors.few`) and `peal doctor` tell",
        count(DESCRIPTORS_WANTED), count(DESCRIPTORS_RESERVED), count(DESCRIPTORS_PER_FLIGHT),
        count(few.limit), count(few.connections_max), count(few.flights_max), count(some.limit),
        count(some.connections_max), count(some.flights_max));
    row("certificate (`--tls-cert`, `--tls-key`)",
        "%s in each file, %s in the chain. A renewed one is presented within %s, and one that "
        "ends within %s is warned of",
        bytes(CERTIFICATE_BYTES_MAX), count(CERTIFICATE_CHAIN_MAX), span(SERVE_TEND_EVERY),
        span(CERTIFICATE_NEAR));
    row("`--behind-proxy`, `--allow-private`", "%s ranges each", count(ADDRESS_RANGES_MAX));
}

static void print_requests(void)
{
    table("Requests");
    row("request headers", "%s, %s of them", bytes(SERVER_HEADER_BYTES_MAX),
        count(GUARD_HEADERS_MAX));
    row("query parameters", "%s", count(GUARD_QUERY_MAX));
    row("a whole request to arrive", "%s", span(SERVER_REQUEST_DEADLINE));
    row("body",
        "%s; %s (`--body-max`) for %s; all in memory %s (`--bodies-max`), then 503 with "
        "Retry-After",
        bytes(BODY_USUAL), bytes((size_t) BODY_MAX_MIB << 20), large_routes(),
        bytes((size_t) BODIES_MAX_MIB << 20));
    row("an answer to be taken", "%s and a second for each %s", span(SERVER_REQUEST_DEADLINE),
        bytes(SERVER_ANSWER_BYTES_PER_SECOND));
    row("answers that are not taken yet", "%s in memory; beyond it reads are told 503 `busy`",
        bytes(SERVER_ANSWERS_BYTES_MAX));
    row("JSON",
        "depth %s, no duplicate keys, strict UTF-8, no `\\u0000`, numbers up to %s characters",
        count(JSON_DEPTH_MAX), count(JSON_NUMBER_MAX));
    row("problems that a refusal names", "%s", count(ERROR_PROBLEMS_MAX));
    row("Idempotency-Key",
        "one to a request (400), %s characters; its answer is given again for %s, a refusal too "
        "(but not 400, 401, 403, "
        "429 and 5xx: mend or wait, and send it again)",
        count(IDEMPOTENCY_KEY_MAX), span(IDEMPOTENCY_SPAN));
    row("key, tenant", "names %s and %s bytes, a tenant's id %s; `PEAL_ADMIN_KEY` %s or more",
        count(KEY_NAME_MAX), count(TENANT_NAME_MAX), count(TENANT_ID_MAX), count(KEY_GIVEN_MIN));
}

static void print_events(void)
{
    table("Events");
    row("an event",
        "payload %s (`--payload-max`), recipient %s; in a batch the item that is larger fails "
        "alone",
        bytes((size_t) PAYLOAD_MAX_MIB << 20), bytes(EVENT_RECIPIENT_MAX));
    row("texts of an event",
        "kind %s bytes, entity %s, correlation id %s, source %s, id %s, address %s",
        count(EVENT_KIND_MAX), count(EVENT_ENTITY_MAX), count(EVENT_CORRELATION_MAX),
        count(EVENT_SOURCE_MAX), count(EVENT_IDENTITY_MAX), count(EVENT_ADDRESS_MAX));
    row("items in a batch", "%s", count(EVENT_ITEMS_MAX));
    row("definitions that are applied at once",
        "%s, as many deleted, 30 MiB of files, 1 MiB of what a reference stands for; a YAML "
        "document grows to %d MiB by its anchors at "
        "most",
        count(APPLY_MAX), YAML_BYTES_MAX >> 20);
    row("a scenario", "%s steps, %s of its time, %s messages or deliveries that are looked at",
        count(SCENARIO_STEPS_MAX), span(SCENARIO_SPAN_MAX), count(SCENARIO_ROWS_MAX));
    row("items times the triggers that look at them",
        "%s a request, then 413: send smaller batches", count(ACCEPT_PAIRS_MAX));
    row("triggers that one event may meet", "%s, then 413", count(ACCEPT_RULES_MAX));
}

static void print_hooks(void)
{
    table("Webhooks");
    row("a webhook", "%s (413), whatever `--body-max` says; `--bodies-max` holds for it (500)",
        bytes(BODY_HOOK));
    row("a source", "id and path %s characters, secret %s bytes; an overlap %s",
        count(SOURCE_PATH_MAX), count(SOURCE_SECRET_MAX),
        span(member(&source_rotate_body_shape, "overlap")->max));
    row("the id that a provider gives it", "%s bytes; a longer one is not kept",
        count(INBOX_EXTERNAL_MAX));
    row("a webhook, as it is read",
        "gzip opens to %s, %s events, %s of payloads in all; what is more is failed (`too-large`). "
        "Rows are opened together up to %s or %s events, and one beyond. It ends after %s tries "
        "that the store refused, that took its parser too long or that Peal died of",
        bytes(UNPACK_OPENED_MAX), count(UNPACK_EVENTS_MAX), bytes(UNPACK_BYTES_MAX),
        bytes(UNPACK_BYTES_MAX), count(UNPACK_EVENTS_MAX), count(INBOX_TRIES));
    row("a webhook that is long",
        "longer than %s, or %s to read, or events that fill more than one transaction: it is read "
        "beside all others, one at a time on each node, in %s (`timeout`); a parser that is not "
        "back %s later ends Peal, which counts as a try. While it is read what its source brought "
        "behind it waits, %s at most where its node is gone",
        bytes(INBOX_LONG), span(UNPACK_TIME_HERE), span(UNPACK_TIME), span(UNPACK_TIME_GRACE),
        span(INBOX_LEASE));
    row("events in one transaction",
        "they end with the webhook, or the part of a long one, that "
        "brings deliveries to more than %s or payloads to more than %s; a part has %s events",
        count(DRAIN_PAIRS_MAX), bytes(DRAIN_BYTES_MAX), count(DRAIN_PART_EVENTS));
}

static void print_feeds(void)
{
    row("integrations",
        "no number of their own: each is looked at when its time has come, and costs its poll; an "
        "id %s characters, a connection or installation %s, a secret %s bytes",
        count(INTEGRATION_ID_MAX), count(INTEGRATION_PLACE_MAX), count(INTEGRATION_SECRET_MAX));
    row("polls",
        "every %s at most, %s unless the trigger says; an answer %s, of a single message %s; %s "
        "pages or %s events at a time; a message that cannot be fetched is left out after %s "
        "polls, or %s where nothing else of its page can be; "
        "a first poll that tells of what is there looks back %s",
        span(TRIGGER_INTERVAL_MIN), span(provider_of(PROVIDER_LINEAR)->poll_every),
        bytes(POLL_ANSWER_MAX), bytes(POLL_HYDRATION_ANSWER_MAX), count(POLL_PAGES_MAX),
        count(POLL_EVENTS_MAX), count(POLL_HYDRATION_TRIES), count(POLL_HYDRATION_TRIES_ALONE),
        span(POLL_EXISTING));
    row("polls under way",
        "%s a node, %s of one tenant; leased for %s; %s a request; after a failure %s, doubled to "
        "%s, or as the provider asks up to %s",
        count(POLLS_MAX), count(POLLS_TENANT_MAX), span(POLL_LEASE), span(POLL_TIMEOUT),
        span(POLL_BACKOFF_FIRST), span(POLL_BACKOFF_MAX), span(POLL_ASKED_MAX));
    row("a watch of Gmail",
        "renewed when half of its time is over, at least every %s; tried again after %s; %s labels",
        span(POLL_WATCH_RENEW_MAX), span(POLL_WATCH_AGAIN), count(INTEGRATION_LABELS_MAX));
}

static void print_surveys(void)
{
    row("a survey",
        "%s; %s questions with %s choices and %s `goTo` each, %s languages, texts %s bytes; %s "
        "triggers, %s subscribers of its own and of each trigger; an id %s characters; %s versions "
        "are kept compiled, up to %s of them",
        bytes(BODY_SURVEY), count(SURVEY_QUESTIONS_MAX), count(QUESTION_CHOICES_MAX),
        count(QUESTION_GO_TO_MAX), count(SURVEY_LANGUAGES_MAX), count(SURVEY_TEXT_MAX),
        count(SURVEY_TRIGGERS_MAX), count(SURVEY_SUBSCRIBERS_MAX), count(SURVEY_ID_MAX),
        count(SURVEYS_MAX), bytes(SURVEYS_BYTES_MAX));
    row("a campaign",
        "a file of %s, which comes in parts of %s; a row %s and %s columns, a column's name %s "
        "bytes; %s rows a transaction; %s failures are kept, all are counted; an upload that broke "
        "off goes after %s",
        bytes(CAMPAIGN_FILE_MAX), bytes(BODY_PART), bytes(CSV_ROW_BYTES_MAX), count(CSV_FIELDS_MAX),
        count(CAMPAIGN_COLUMN_MAX), count(CAMPAIGN_SLICE), count(CAMPAIGN_FAILURES_MAX),
        span(CAMPAIGN_UPLOAD_PATIENCE));
    row("answers to a survey",
        "%s, of %s questions at most; an `agentId` %s bytes; a form %s fields. An event that tells "
        "of them may be "
        "longer than others, by the answers and the recipient",
        bytes(BODY_USUAL), count(ANSWERS_MAX),
        count(member(member(&response_body_shape, "meta")->inside, "agentId")->max),
        count(FORM_FIELDS_MAX));
    row("an answer that is awaited", "given up after %s unless the trigger says otherwise",
        span(PLAN_EXPIRE_AFTER_DEFAULT));
}

static void print_channels(void)
{
    const Shape *http = channel_http.config;
    const Field *concurrency = member(&channel_shape, "concurrency");
    const Field *timeout = member(&channel_shape, "timeout");
    const Field *rate = member(&channel_shape, "rate");
    const Field *interval = member(&retry_shape, "interval");
    row("retries", "`max` up to %s; interval %s to %s; `giveUpAfter` up to %s",
        count(member(&retry_shape, "max")->max), span(interval->min), span(interval->max),
        span(member(&retry_shape, "giveUpAfter")->max));
    row("channel",
        "concurrency %s to %s (%s by default), time-out %s to %s (%s), rate up to %s per %s to %s",
        count(concurrency->min), count(concurrency->max), count(CHANNEL_CONCURRENCY),
        span(timeout->min), span(timeout->max), span(CHANNEL_TIMEOUT_SECONDS * SPAN_SECOND),
        count(member(rate->inside, "max")->max), span(member(rate->inside, "per")->min),
        span(member(rate->inside, "per")->max));
    row("`http` channel", "URL %s bytes, %s signing secrets at a time, %s headers of %s bytes each",
        count(member(http, "url")->max), count(member(http, "signingSecret")->max),
        count(member(http, "headers")->max), count(member(http, "headers")->of->max));
}

static void print_definitions(void)
{
    table("Definitions");
    row("names", "a trigger's id %s characters, a channel's key %s", count(TRIGGER_ID_MAX),
        count(CHANNEL_KEY_MAX));
    row("filter", "%s nodes, depth %s; a path %s bytes", count(FILTER_NODES_MAX),
        count(FILTER_DEPTH_MAX), count(MEMBERS_PATH_MAX));
    row("a provider's config", "%s values a member, of %s bytes each; %s properties",
        count(PROVIDED_LIST_MAX), count(PROVIDED_TEXT_MAX), count(PROVIDED_PROPERTIES_MAX));
    row("dedup recipe", "%s paths; `cancelOn.match` %s", count(DEDUP_PATHS_MAX),
        count(member(member(&trigger_shape, "cancelOn")->inside, "match")->max));
    row("reminders", "%s", count(PLAN_REMINDERS_MAX));
    row("durations", "%s", span(DURATION_MAX));
    row("cron expressions", "%s bytes; a preview %s times, and none past the year 9999",
        count(CRON_TEXT_MAX), count(CRON_PREVIEW_MAX));
    row("schedules",
        "after an outage `all` makes up %s at most, and what was missed is counted to %s at a "
        "time; a backfill %s occurrences; %s are looked at in one transaction, shared among "
        "tenants",
        count(SCHEDULE_MADE_MAX), count(SCHEDULE_COUNT_MAX), count(SCHEDULE_BACKFILL_MAX),
        count(FIRE_MAX));
    print_feeds();
    row("jobs, automations",
        "a name %s characters, an automation %s schedules; `maxRetries` up to %s, `timeout` up to "
        "%s; a run is deferred up to %s ahead",
        count(JOB_NAME_MAX), count(AUTOMATION_SCHEDULES_MAX), count(JOB_RETRIES_MAX),
        span(JOB_TIMEOUT_MAX), span(DEFERRAL_AHEAD_MAX));
    print_surveys();
    print_channels();
    row("definitions",
        "no number of their own. Those in use are kept compiled, up to %s of them, and %s earlier "
        "versions that deliveries go on under; others are compiled when they are needed",
        bytes(REGISTRY_COMPILED_BYTES), count(VERSIONS_MAX));
}

static void print_sending(void)
{
    table("Sending");
    row("in flight per node",
        "%s deliveries and %s of payload (or %s of the largest); one tenant alone half of it, one "
        "channel alone a third",
        count(WINDOW_ROWS), bytes(WINDOW_BYTES), count(WINDOW_PAYLOADS));
    row("targets of one attempt",
        "%s. Where a request takes fewer, several are made at once, in three of four slots of the "
        "channel, for half a second; then others have their turn",
        count(TARGETS_MAX));
    row("programs at once",
        "%s per node; beyond it a delivery waits and is charged nothing. A line "
        "of output counts up to %s; at its time-out a program is asked to end, and killed %s later",
        count(PROCESSES_MAX), bytes(PROCESS_LINE_MAX), span(PROCESS_GRACE));
    row("`exec` channel",
        "%s words of %s each; time-out %s unless said, up to %s; of its output the last %s are "
        "kept, up to %s",
        count(EXEC_WORDS_MAX), bytes(EXEC_WORD_MAX), span(EXEC_TIMEOUT), span(EXEC_TIMEOUT_MAX),
        bytes(EXEC_OUTPUT), bytes(EXEC_OUTPUT_MAX));
    row("lease of a handler outside",
        "after a 202, and of a pull worker: %s unless its channel says otherwise, up to %s, from "
        "its last sign of life on",
        span(CHANNEL_LEASE), span(CHANNEL_LEASE_MAX));
    row("one claim of a worker", "%s deliveries and %s of payload; it waits up to %s",
        count(WORK_MAX), bytes(WORK_BYTES_MAX), span(WORK_WAIT_MAX));
    row("progress of a run", "%s lines of %s bytes each, over all its tries",
        count(PROGRESS_LINES_MAX), count(PROGRESS_MESSAGE_MAX));
    row("answer of a receiver kept",
        "%s; one that breaks off is no answer (it is retried), but its status is noted with the "
        "attempt",
        bytes(RESPONSE_KEPT_MAX));
    row("answer of a receiver read",
        "%s, and then cut off; a reply of a mail server that is longer than %s is none",
        bytes(TRANSFER_READ_MAX), bytes(SMTP_HEARD_MAX));
    row("Retry-After honoured", "up to %s", span(RETRY_AFTER_MAX));
    row("attempts under way when Peal stops", "have %s to end", span(SERVE_STOP_GRACE));
    row("requests open to one host and port",
        "%d per node from all channels of a tenant, or as many as one of them has as its own "
        "`concurrency`; with `--host-concurrency` no more than that",
        HOST_CONCURRENCY);
    row("circuit of a host",
        "opens after 5 connection-level failures in a row; probes after 5 s, doubling to 5 min. Of "
        "a refused login: after one. Each node's own");
    row("ordered channel",
        "one parcel at a time over all nodes; after a failure probes after 1 s, doubling to 1 min, "
        "for ever");
    row("channel `concurrency`, over nodes",
        "each node's own: N nodes have up to N times as many requests open");
    row("channel `rate`, over nodes",
        "of all nodes together: each takes shares of the window from one row. What a node took and "
        "did not use is lost with the window");
    row("a pause that a far side asks for",
        "holds the channel on the node that was told at once, on others within a second or two; up "
        "to %s, or until the channel is changed",
        span(RETRY_AFTER_MAX));
}

static void print_lists(void)
{
    table("Lists and operations");
    row("page",
        "1 to %s rows, %s by default, and %s of rows: one that is cut there says "
        "`\"complete\":false` and gives `next`",
        count(PAGE_ROWS_MAX), count(PAGE_ROWS), bytes(DB_PAGE_BYTES_MAX));
    row("rows that a list looks at for one page",
        "%s, or %s where each has to be looked up in another table: where what is asked for is "
        "rare, a page may be short or empty, with `\"complete\":false`. `next` goes on where it "
        "ended, and `\"next\":null` alone means that there is no more; `peal … list` goes on by "
        "itself until it has `--limit` rows",
        count(WALK_MAX), count(WALK_FAR_MAX));
    row("explain and timeline",
        "pages like any list. An explanation's pages tell first what became a delivery, then what "
        "did not, each page by trigger; a timeline's tell the beginning and then delivery by "
        "delivery, each page in the order of time");
    row("`q=` of a list",
        "%s bytes; finds the text anywhere in address, customer ref, public id or entity; A to Z "
        "are as a to z, any other letter only as it is written, on both databases. Refused (403) "
        "to "
        "the role read, which sees addresses masked",
        count(DELIVERY_QUERY_MAX));
    row("`/v1/causes`",
        "counts %s deliveries a page, then `\"complete\":false`: the next page may begin with the "
        "rest of a cause. What a far side said is compared in its first %s bytes",
        count(CAUSE_COUNT_MAX), count(CAUSE_SAMPLE_MAX));
    row("operation",
        "any number of deliveries, %s in one transaction, taking turns with other operations; a "
        "reason of %s bytes",
        count(OPERATION_SLICE), count(OPERATION_REASON_MAX));
    row("`GET /v1/audit/verify`",
        "%s rows in a call; more by an operation, %s rows in one transaction",
        count(AUDIT_VERIFY_MAX), count(OPERATION_SLICE * OPERATION_VERIFIES));
    row("metrics by channel",
        "%s named in `peal_deliveries` and `peal_queue_oldest_seconds`, those with the most to do; "
        "%s in what is counted by channel; the rest are summed as `(others)` "
        "([metrics](metrics.md))",
        count(METRIC_LANES_SHOWN), count(METRIC_CHANNEL_SERIES));
}

static void print_store(void)
{
    enum { READERS = STORE_QUICK_READERS + STORE_SLOW_READERS, LISTENERS = 1 };
    table("Store and nodes");
    row("one read of the store",
        "%s, then 503 `busy`; so is what finds %s reads waiting. Lists wait for threads of their "
        "own: what looks one thing up does not wait behind them",
        span(READ_MAX), count(READS_WAITING_MAX));
    row("waiting for the writer", "%s requests, %s rows or %s of payload, then 503 `busy`",
        count(WAITING_MAX), count(WAITING_WEIGHT_MAX), bytes(WAITING_BYTES_MAX));
    row("waiting for a database that is away or a table that is locked",
        "%s, then 503; a lock is waited for in turns of %s", span(OP_PATIENCE),
        span(DB_LOCK_SECONDS * SPAN_SECOND));
    row("what has ended",
        "is kept for %s (`--keep`: %s to %s), dedup keys for %s; then it goes in steps of %s rows "
        "([retention](retention.md))",
        span(PURGE_KEPT), span(PURGE_KEPT_MIN), span(PURGE_KEPT_MAX), span(PURGE_KEYS_KEPT),
        count(PURGE_SLICE));
    row("SQLite WAL", "%s; beyond it reads pause while it is emptied", bytes(DB_WAL_BYTES_MAX));
    row("backup", "as large as the store. While one is written, SQLite's WAL cannot be "
                  "emptied and grows with what is written meanwhile");
    row("nodes on one PostgreSQL",
        "%s connections each: %s write, %s read, %s listens; %s looks for metrics and %s pours "
        "what is exported or streamed, once they are asked for. A node tells the others of new "
        "work at most %s "
        "times a second",
        count(STORE_PENS + READERS + LISTENERS + STORE_WATCHERS + STORE_STREAMERS),
        count(STORE_PENS), count(READERS), count(LISTENERS), count(STORE_WATCHERS),
        count(STORE_STREAMERS), count(RINGS_A_SECOND));
    row("streams of what happens ([stream.md](stream.md))",
        "%s open at a node, 503 beyond; facts are kept for %s; %s wait for a client, and one that "
        "takes nothing for %s is dropped with a word",
        count(FEED_LISTENERS_MAX), span(JOURNAL_KEPT), bytes(STREAM_ROOM_BYTES), span(FEED_SLOW));
    row("master keys in one file", "%s", count(KEY_RING_MAX));
}

static void print_sites(void)
{
    table("Sites");
    row("rows that a site hands on",
        "%s a request, in one transaction; times the triggers that look at them %s, then 413. A "
        "site sends %s rows or %s at once, whichever is less",
        count(FORWARD_ROWS_MAX), count(FORWARD_PAIRS_MAX), count(channel_forward.parcel_max),
        bytes(PARCEL_BYTES_MAX));
    row("a row", "as an event's payload, with the %s or so that the row itself takes", bytes(200));
    row("what central has acknowledged",
        "is kept for %s, to be handed on again to a central that "
        "was put back",
        span(SITE_KEEPS));
    row("a record in the spool", "%s; libpeal hands over rows of %s", bytes(SPOOL_RECORD_MAX),
        bytes(EVENT_PAYLOAD_MAX));
    row("a site's name", "%s characters", count(SITE_NAME_MAX));
}

void limits_print(void)
{
    print_connections();
    print_requests();
    print_events();
    print_hooks();
    print_definitions();
    print_sending();
    print_lists();
    print_store();
    print_sites();
    printf("\n");
    arena_done(&figures);
}
