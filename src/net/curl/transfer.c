#include "net/curl/job.h"

#include "base/clock.h"
#include "net/curl/session.h"

#include <pthread.h>

// libcurl keeps connections per multi handle, so each pool has one; all of them are on one loop.
// Connections rest there between requests, because two system calls a request for taking them out
// and putting them back were a tenth of its cost.

enum { CONNECTIONS_KEPT_MAX = 256 }; // per pool

#define POOL_IDLE_SPAN SPAN_MINUTE

typedef struct Pool {
    Transfers *transfers;
    int64_t key;
    CURLM *multi;
    Job *running, *spare;
    Sessions sessions;
    Timer timer; // when libcurl wants to be called
    Instant idle_since;
} Pool;

// A Refusal is a request that never became a job, waiting to be told.
typedef struct Refusal {
    struct Refusal *next;
    TransferDone *done;
    void *with;
    TransferProblem problem;
    const char *text;
} Refusal;

struct Transfers {
    Loop *loop;
    Connections connections;
    Pool **pools;
    size_t pool_count, pool_room;
    Refusal *refusals, **refusals_end;
    Timer refusal_timer, purge_timer;
    size_t running;
    size_t kept_max; // connections; 0: no limit but the pool's own
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_library(void)
{
    curl_must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

static bool is_crowded(const Transfers *transfers)
{
    return transfers->kept_max && transfers->pool_count > transfers->kept_max;
}

static bool is_idle(const Pool *pool)
{
    return !pool->running && !pool->sessions.busy;
}

static void pool_free(Pool *pool)
{
    sessions_free(&pool->sessions);
    for (Job *job = pool->running, *next; job; job = next) {
        next = job->next;
        curl_multi_remove_handle(pool->multi, job->easy);
        job_free(job);
    }
    for (Job *job = pool->spare, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    curl_multi_cleanup(pool->multi);
    loop_cancel(pool->transfers->loop, &pool->timer);
    free(pool);
}

// purge frees pools that were idle for a while, with their connections; at once where there are
// many, for each has descriptors of its own.
static void purge(void *with)
{
    Transfers *transfers = with;
    Instant now = loop_now(transfers->loop), next = INSTANT_NONE;
    Instant idle_until = is_crowded(transfers) ? INSTANT_NONE : now - POOL_IDLE_SPAN;
    size_t kept = 0;
    for (size_t i = 0; i < transfers->pool_count; i++) {
        Pool *pool = transfers->pools[i];
        if (is_idle(pool) && pool->idle_since <= idle_until) {
            pool_free(pool);
            continue;
        }
        if (is_idle(pool))
            next = earlier(next, pool->idle_since + POOL_IDLE_SPAN);
        transfers->pools[kept++] = pool;
    }
    transfers->pool_count = kept;
    if (next != INSTANT_NONE)
        loop_at(transfers->loop, &transfers->purge_timer, next, purge, transfers);
}

static void note_idle(Pool *pool)
{
    Transfers *transfers = pool->transfers;
    Instant now = loop_now(transfers->loop);
    pool->idle_since = now;
    if (is_crowded(transfers))
        loop_at(transfers->loop, &transfers->purge_timer, now, purge, transfers);
    else if (!timer_is_set(&transfers->purge_timer))
        loop_at(transfers->loop, &transfers->purge_timer, now + POOL_IDLE_SPAN, purge, transfers);
}

static Job *take_job(Pool *pool)
{
    Job *job = pool->spare;
    if (job)
        pool->spare = job->next;
    else
        job = job_new(&pool->transfers->connections);
    job->pool = pool;
    job->prev = NULL;
    job->next = pool->running;
    if (job->next)
        job->next->prev = job;
    pool->running = job;
    return job;
}

static void give_back(Job *job)
{
    Pool *pool = job->pool;
    if (job->prev)
        job->prev->next = job->next;
    else
        pool->running = job->next;
    if (job->next)
        job->next->prev = job->prev;
    job_end(job);
    job->next = pool->spare;
    pool->spare = job;
    if (is_idle(pool))
        note_idle(pool);
}

// session_over follows what a session's message was told.
static void session_over(Pool *pool)
{
    pool->transfers->running--;
    if (is_idle(pool))
        note_idle(pool);
    loop_return(pool->transfers->loop);
}

static void finish(Job *job, CURLcode code)
{
    Transfers *transfers = job->pool->transfers;
    TransferResult result = job_result(job, code);
    curl_multi_remove_handle(job->pool->multi, job->easy);
    transfers->running--;
    job->done(job->with, &result);
    give_back(job);
    loop_return(transfers->loop);
}

static void end(Job *job, CURLcode code)
{
    if (job->session)
        session_opened(job->session, code);
    else
        finish(job, code);
}

// act lets libcurl do what there is to do, and tells what finished by it.
static void act(Pool *pool, curl_socket_t fd, int mask)
{
    CURLMsg *message;
    int left;
    curl_multi_socket_action(pool->multi, fd, mask, &left);
    while ((message = curl_multi_info_read(pool->multi, &left))) {
        char *job = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &job);
        end((Job *) (void *) job, message->data.result);
    }
}

static void pool_due(void *with)
{
    act(with, CURL_SOCKET_TIMEOUT, 0);
}

static void socket_ready(void *with, int fd, unsigned events)
{
    act(with, fd,
        (events & LOOP_IN ? CURL_CSELECT_IN : 0) | (events & LOOP_OUT ? CURL_CSELECT_OUT : 0) |
            (events & LOOP_ERROR ? CURL_CSELECT_ERR : 0));
}

static int on_timer(CURLM *multi, long timeout_ms, void *with)
{
    Pool *pool = with;
    Loop *loop = pool->transfers->loop;
    (void) multi;
    if (timeout_ms < 0)
        loop_cancel(loop, &pool->timer);
    else
        loop_at(loop, &pool->timer, loop_now(loop) + timeout_ms * SPAN_MILLISECOND, pool_due, pool);
    return 0;
}

// on_socket never tells libcurl of an error: it would end the whole pool.
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *with, void *of_socket)
{
    Pool *pool = with;
    Transfers *transfers = pool->transfers;
    (void) easy, (void) of_socket;
    if (what != CURL_POLL_REMOVE)
        loop_watch(transfers->loop, fd,
                   (what & CURL_POLL_IN ? LOOP_IN : 0U) | (what & CURL_POLL_OUT ? LOOP_OUT : 0U),
                   socket_ready, pool);
    else if (connections_has(&transfers->connections, fd))
        loop_rest(transfers->loop, fd);
    else
        loop_unwatch(transfers->loop, fd);
    return 0;
}

static Pool *pool_new(Transfers *transfers, int64_t key)
{
    Pool *pool = memory_new(sizeof *pool);
    pool->transfers = transfers;
    pool->key = key;
    pool->multi = curl_multi_init();
    if (!pool->multi) {
        free(pool); // newer versions of libcurl want descriptors for it
        return NULL;
    }
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long) CONNECTIONS_KEPT_MAX);
    pool->sessions = (Sessions){ .connections = &transfers->connections,
                                 .multi = pool->multi,
                                 .pool = pool,
                                 .over = session_over };
    return pool;
}

// pool_of returns NULL where a new one cannot be had.
static Pool *pool_of(Transfers *transfers, int64_t key)
{
    for (size_t i = 0; i < transfers->pool_count; i++)
        if (transfers->pools[i]->key == key)
            return transfers->pools[i];
    if (transfers->pool_count == transfers->pool_room) {
        transfers->pool_room = transfers->pool_room ? transfers->pool_room * 2 : 8;
        transfers->pools =
            memory_grow(transfers->pools, transfers->pool_room * sizeof *transfers->pools);
    }
    Pool *pool = pool_new(transfers, key);
    if (!pool)
        return NULL;
    transfers->pools[transfers->pool_count++] = pool;
    return pool;
}

static void tell_refusals(void *with)
{
    Transfers *transfers = with;
    // Those that a callback adds are for another turn.
    Refusal *first = transfers->refusals;
    transfers->refusals = NULL;
    transfers->refusals_end = &transfers->refusals;
    for (Refusal *refusal = first, *next; refusal; refusal = next) {
        TransferResult result = { .problem = refusal->problem,
                                  .problem_text = str_from(refusal->text) };
        next = refusal->next;
        transfers->running--;
        refusal->done(refusal->with, &result);
        free(refusal);
    }
    loop_return(transfers->loop);
}

static void refuse(Transfers *transfers, const Refusal *refusal)
{
    Refusal *kept = memory_new(sizeof *kept);
    *kept = *refusal;
    *transfers->refusals_end = kept;
    transfers->refusals_end = &kept->next;
    loop_at(transfers->loop, &transfers->refusal_timer, loop_now(transfers->loop), tell_refusals,
            transfers);
}

// may_keep: every connection that may be kept is open, or its job is running; so there are never
// more of them than kept_max.
static bool may_keep(const Transfers *transfers)
{
    return !transfers->kept_max ||
           transfers->connections.count + transfers->running <= transfers->kept_max;
}

static const char *problem_of(const Transfer *transfer)
{
    return transfer->mail ? session_problem(transfer) : job_problem(transfer);
}

void transfers_start(Transfers *transfers, const Transfer *transfer, TransferDone *done, void *with)
{
    Refusal refusal = { .done = done, .with = with, .text = problem_of(transfer) };
    transfers->running++;
    if (refusal.text) {
        refusal.problem = TRANSFER_REFUSED;
        refuse(transfers, &refusal);
        return;
    }
    Pool *pool = pool_of(transfers, transfer->pool);
    if (!pool) {
        refusal.problem = TRANSFER_NOT_TRIED;
        refusal.text = "no descriptor is left for its connections";
        refuse(transfers, &refusal);
        return;
    }
    if (transfer->mail) {
        sessions_send(&pool->sessions, transfer, may_keep(transfers), done, with);
        return;
    }
    Job *job = take_job(pool);
    job->done = done;
    job->with = with;
    job_begin(job, transfer, may_keep(transfers));
    curl_must(curl_multi_add_handle(pool->multi, job->easy) == CURLM_OK);
}

size_t transfers_running(const Transfers *transfers)
{
    return transfers->running;
}

Transfers *transfers_new(Loop *loop, const AddressPolicy *policy)
{
    pthread_once(&once, start_library);
    Transfers *transfers = memory_new(sizeof *transfers);
    transfers->loop = loop;
    transfers->connections = (Connections){ .loop = loop, .policy = policy };
    transfers->refusals_end = &transfers->refusals;
    return transfers;
}

void transfers_limit(Transfers *transfers, size_t kept_max)
{
    transfers->kept_max = kept_max;
}

void transfers_trust(Transfers *transfers, Str ca_file)
{
    transfers->connections.ca_file = ca_file.at;
}

void transfers_free(Transfers *transfers)
{
    if (!transfers)
        return;
    for (size_t i = 0; i < transfers->pool_count; i++)
        pool_free(transfers->pools[i]);
    for (Refusal *refusal = transfers->refusals, *next; refusal; refusal = next) {
        next = refusal->next;
        free(refusal);
    }
    loop_cancel(transfers->loop, &transfers->refusal_timer);
    loop_cancel(transfers->loop, &transfers->purge_timer);
    assert(transfers->connections.count == 0);
    free(transfers->connections.is_ours);
    free(transfers->pools);
    free(transfers);
}

typedef struct Once {
    Arena *arena;
    TransferResult result;
} Once;

static void keep_result(void *with, const TransferResult *result)
{
    Once *kept = with;
    Arena *arena = kept->arena;
    kept->result = *result;
    Str *const texts[] = { &kept->result.problem_text, &kept->result.body,
                           &kept->result.retry_after,  &kept->result.webhook_delivery_id,
                           &kept->result.message_id,   &kept->result.location };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i]->at)
            *texts[i] = str_dup(arena, *texts[i]);
}

TransferResult transfer_once(Arena *arena, const Transfer *transfer)
{
    Once kept = { .arena = arena };
    Clock clock;
    clock_init_system(&clock);
    Loop *loop = loop_new(&clock);
    Transfers *transfers = transfers_new(loop, NULL);
    transfers_start(transfers, transfer, keep_result, &kept);
    while (transfers_running(transfers) > 0)
        loop_wait(loop, SPAN_MINUTE);
    transfers_free(transfers);
    loop_free(loop);
    return kept.result;
}
