#include "lib/peal.h"

#include "lib/local.h"
#include "lib/spool.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ROW_MAX is what a site takes in one row, unless it was told otherwise. */
enum { ROW_MAX = 1 << 20, ID_LEN = PEAL_ID_SIZE - 1 };

struct Peal {
    char *socket, *spool;
};

Peal *peal_open(const char *store)
{
    const char *given = getenv("PEAL_SITE");
    if (!store)
        store = given && *given ? given : "peal-site.db";
    Peal *peal = calloc(1, sizeof *peal);
    if (peal && asprintf(&peal->socket, "%s.sock", store) < 0)
        peal->socket = NULL;
    if (peal && asprintf(&peal->spool, "%s.spool", store) < 0)
        peal->spool = NULL;
    if (peal && peal->socket && peal->spool)
        return peal;
    peal_close(peal);
    return NULL;
}

void peal_close(Peal *peal)
{
    if (!peal)
        return;
    free(peal->socket);
    free(peal->spool);
    free(peal);
}

/* is_id: 8-4-4-4-12 hex digits. */
static bool is_id(const char *id)
{
    for (int i = 0; i < ID_LEN; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? id[i] != '-' : !isxdigit((unsigned char) id[i]))
            return false;
    }
    return id[ID_LEN] == '\0';
}

/* make_id writes a UUIDv7: the time in milliseconds, and chance. */
static PealResult make_id(const struct timespec *now, char id[PEAL_ID_SIZE])
{
    uint8_t b[16];
    uint64_t ms = (uint64_t) now->tv_sec * 1000 + (uint64_t) now->tv_nsec / 1000000;
    if (getrandom(b, sizeof b, 0) != (ssize_t) sizeof b)
        return PEAL_FAILED;
    for (int i = 0; i < 6; i++)
        b[i] = (uint8_t) (ms >> (40 - 8 * i));
    b[6] = 0x70 | (b[6] & 0x0f);
    b[8] = 0x80 | (b[8] & 0x3f);
    char *at = id;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at += sprintf(at, "%02x", b[i]);
    }
    return PEAL_OK;
}

/* Row is what is handed over: its body goes through the socket to its path, or lies in a record.
 * What has no path goes as a record both ways. */
typedef struct Row {
    const char *kind, *path;
    char id[PEAL_ID_SIZE], at[40];
    Text body;
} Row;

/* row_begin gives the row its id, the caller's or a new one, and its time. */
static PealResult row_begin(Row *row, const char *kind, const char *path, const char *id)
{
    struct timespec now;
    struct tm utc;
    *row = (Row){ .kind = kind, .path = path };
    if (*id && !is_id(id))
        return PEAL_INVALID;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || !gmtime_r(&now.tv_sec, &utc))
        return PEAL_FAILED;
    size_t len = strftime(row->at, sizeof row->at, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(row->at + len, sizeof row->at - len, ".%03ldZ", now.tv_nsec / 1000000);
    if (*id) {
        memcpy(row->id, id, sizeof row->id);
        return PEAL_OK;
    }
    return make_id(&now, row->id);
}

static PealResult result_of(int problem)
{
    switch (problem) {
    case EILSEQ:
    case E2BIG:
    case EMSGSIZE:
        return PEAL_INVALID;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return PEAL_FULL;
    case EPROTONOSUPPORT:
        return PEAL_OUTDATED;
    default:
        return PEAL_FAILED;
    }
}

/* record_of writes the row as a record. */
static Text record_of(const Row *row)
{
    Text record = { 0 };
    peal_text_put(&record, "{");
    peal_text_member(&record, "id", row->id);
    peal_text_member(&record, "kind", row->kind);
    peal_text_member(&record, "enqueuedAt", row->at);
    peal_text_member_json(&record, "body", row->body.at);
    peal_text_put(&record, "}");
    return record;
}

static PealResult spool_record(const Peal *peal, const Text *record)
{
    bool is_done =
        !record->is_broken && peal_spool_append(peal->spool, record->at, record->len) == 0;
    return is_done ? PEAL_OK : result_of(errno);
}

/* ask_site hands the row to the site, if it runs; 0: it does not, or has not answered. */
static int ask_site(const Peal *peal, const Row *row, const Text *record)
{
    Text answer = { 0 };
    int status = peal_local_ask(peal->socket, row->path ? row->path : "/v1/site/rows",
                                row->path ? &row->body : record, &answer);
    peal_text_free(&answer);
    return status;
}

/* hand_over gives the row to the site where it runs, and to the spool where it does not, or does
 * not answer: it knows the row by its id. While anything waits in the spool, what follows goes
 * there too, lest it overtake. */
static PealResult hand_over(const Peal *peal, const Row *row)
{
    Text record = record_of(row);
    PealResult result = PEAL_OK;
    int status =
        record.is_broken || peal_spool_waits(peal->spool) ? 0 : ask_site(peal, row, &record);
    if (status == 400 || status == 413 || status == 422)
        result = PEAL_INVALID;
    else if (status != 202)
        result = spool_record(peal, &record);
    peal_text_free(&record);
    return result;
}

/* row_end closes the body, hands the row over and tells its id: also of what failed, for it may
 * have been handed over all the same, and is to be repeated under that id. */
static PealResult row_end(const Peal *peal, Row *row, char id[PEAL_ID_SIZE])
{
    PealResult result;
    peal_text_put(&row->body, "}");
    if (row->body.is_broken)
        result = result_of(errno);
    else if (row->body.len > ROW_MAX - 200)
        result = PEAL_INVALID;
    else
        result = hand_over(peal, row);
    if (result != PEAL_INVALID)
        memcpy(id, row->id, PEAL_ID_SIZE);
    peal_text_free(&row->body);
    return result;
}

static void add_source(Text *body, const PealNotification *notification)
{
    Text source = { 0 };
    if (!notification->instance && !notification->script)
        return;
    peal_text_put(&source, "{");
    peal_text_member(&source, "instance", notification->instance);
    peal_text_member(&source, "script", notification->script);
    peal_text_put(&source, "}");
    body->is_broken |= source.is_broken;
    if (!source.is_broken)
        peal_text_member_json(body, "source", source.at);
    peal_text_free(&source);
}

PealResult peal_notify(Peal *peal, const PealNotification *notification, char id[PEAL_ID_SIZE])
{
    Row row;
    if (!notification->list || !*notification->list || !notification->body || !*notification->body)
        return PEAL_INVALID;
    PealResult result = row_begin(&row, "notification", "/v1/notifications", id);
    if (result != PEAL_OK)
        return result;
    peal_text_put(&row.body, "{");
    peal_text_member(&row.body, "id", row.id);
    peal_text_member(&row.body, "list", notification->list);
    peal_text_member(&row.body, "subject", notification->subject);
    peal_text_member(&row.body, "body", notification->body);
    peal_text_member(&row.body, "type", notification->type);
    peal_text_member_json(&row.body, "typeData", notification->type_data);
    add_source(&row.body, notification);
    return row_end(peal, &row, id);
}

PealResult peal_event(Peal *peal, const PealEvent *event, char id[PEAL_ID_SIZE])
{
    Row row;
    if (!event->kind || !*event->kind)
        return PEAL_INVALID;
    PealResult result = row_begin(&row, "event", "/v1/events", id);
    if (result != PEAL_OK)
        return result;
    peal_text_put(&row.body, "{");
    peal_text_member(&row.body, "kind", event->kind);
    peal_text_member(&row.body, "id", row.id);
    peal_text_member(&row.body, "source", "libpeal");
    peal_text_member(&row.body, "entity", event->entity);
    peal_text_member(&row.body, "correlationId", event->correlation_id);
    peal_text_member(&row.body, "occurredAt", row.at);
    peal_text_member_json(&row.body, "payload", event->payload);
    peal_text_member_json(&row.body, "recipient", event->recipient);
    return row_end(peal, &row, id);
}

static bool has_text(const char *text)
{
    return text && *text;
}

/* deferral_begin begins a row about the runs of an entity. */
static PealResult deferral_begin(Row *row, const char *kind, const char *job, const char *entity,
                                 const char *id)
{
    if (!has_text(job) || !has_text(entity))
        return PEAL_INVALID;
    PealResult result = row_begin(row, kind, NULL, id);
    if (result != PEAL_OK)
        return result;
    peal_text_put(&row->body, "{");
    peal_text_member(&row->body, "job", job);
    peal_text_member(&row->body, "entity", entity);
    return PEAL_OK;
}

PealResult peal_defer(Peal *peal, const PealDeferral *deferral, char id[PEAL_ID_SIZE])
{
    Row row;
    if (has_text(deferral->run_at) == has_text(deferral->delay))
        return PEAL_INVALID;
    PealResult result = deferral_begin(&row, "defer", deferral->job, deferral->entity, id);
    if (result != PEAL_OK)
        return result;
    peal_text_member(&row.body, "runAt", deferral->run_at);
    peal_text_member(&row.body, "delay", deferral->delay);
    peal_text_member_json(&row.body, "payload", deferral->payload);
    if (deferral->replaces)
        peal_text_put(&row.body, ",\"replace\":true");
    return row_end(peal, &row, id);
}

PealResult peal_cancel_deferred(Peal *peal, const char *job, const char *entity,
                                char id[PEAL_ID_SIZE])
{
    Row row;
    PealResult result = deferral_begin(&row, "defer-cancel", job, entity, id);
    return result == PEAL_OK ? row_end(peal, &row, id) : result;
}

/* is_spooled looks for a row in the spool. */
static bool is_spooled(const Peal *peal, const char *id, PealStatus *ret)
{
    SpoolReader reader;
    const char *record;
    size_t len, value_len;
    bool is_found = false;
    char found[PEAL_ID_SIZE];
    if (!peal_spool_waits(peal->spool) || peal_spool_open(&reader, peal->spool) != 0)
        return false;
    while (!is_found && peal_spool_next(&reader, false, &record, &len) == 1) {
        const char *value = peal_json_member(record, len, "id", &value_len);
        peal_json_text(value, value ? value_len : 0, found, sizeof found);
        is_found = strcasecmp(found, id) == 0;
        if (!is_found)
            continue;
        value = peal_json_member(record, len, "enqueuedAt", &value_len);
        peal_json_text(value, value ? value_len : 0, ret->enqueued_at, sizeof ret->enqueued_at);
        snprintf(ret->status, sizeof ret->status, "Forwarding");
    }
    peal_spool_close(&reader);
    return is_found;
}

static void copy_member(const Text *answer, const char *name, char *ret, size_t size)
{
    size_t len = 0;
    const char *value = peal_json_member(answer->at, answer->len, name, &len);
    peal_json_text(value, len, ret, size);
}

static void read_status(const Text *answer, PealStatus *ret)
{
    size_t len;
    const char *count = peal_json_member(answer->at, answer->len, "retryCount", &len);
    const char *stale = peal_json_member(answer->at, answer->len, "stale", &len);
    copy_member(answer, "status", ret->status, sizeof ret->status);
    copy_member(answer, "lastError", ret->last_error, sizeof ret->last_error);
    copy_member(answer, "siteEnqueuedAt", ret->enqueued_at, sizeof ret->enqueued_at);
    copy_member(answer, "deliveredAt", ret->delivered_at, sizeof ret->delivered_at);
    ret->retry_count = count ? (int) strtol(count, NULL, 10) : 0;
    ret->is_stale = stale && *stale == 't';
}

PealResult peal_status(Peal *peal, const char *id, PealStatus *ret)
{
    char path[80];
    Text answer = { 0 };
    *ret = (PealStatus){ 0 };
    if (!is_id(id))
        return PEAL_INVALID;
    if (is_spooled(peal, id, ret))
        return PEAL_OK;
    snprintf(path, sizeof path, "/v1/notifications/%s", id);
    int status = peal_local_ask(peal->socket, path, NULL, &answer);
    if (status == 200)
        read_status(&answer, ret);
    peal_text_free(&answer);
    if (status == 200)
        return PEAL_OK;
    return status == 404 ? PEAL_NOT_FOUND : PEAL_UNREACHABLE;
}

const char *peal_result_text(PealResult result)
{
    static const char *const texts[] = {
        [PEAL_OK] = "done",
        [PEAL_INVALID] = "it can never be handed over: a text is missing, too long or no UTF-8",
        [PEAL_FULL] = "the disk, or what this program may write, is full",
        [PEAL_FAILED] = "this machine could not keep it",
        [PEAL_UNREACHABLE] = "the site does not run",
        [PEAL_NOT_FOUND] = "the site knows of no such id",
        [PEAL_OUTDATED] = "the site's spool is of a newer Peal than this program",
    };
    return (size_t) result < sizeof texts / sizeof *texts ? texts[result] : "unknown";
}
