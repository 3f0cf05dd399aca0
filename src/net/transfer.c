#include "net/transfer.h"

#include "base/clock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// libcurl keeps connections per multi handle, so each pool has one; all of them share one epoll
// set. A job is an easy handle with its options set once: for a request only the few that differ
// are set again. Descriptors of connections stay in the epoll set between requests, because two
// system calls a request for taking them out and putting them back were a tenth of its cost.

enum {
    CONNECTIONS_KEPT_MAX = 256, // per pool
    EVENTS_MAX = 256,
    ANSWER_BYTES_MAX = 1024 * 1024, // read of an answer before it is cut off
    URL_BYTES_MAX = 8000,
};

#define TIMEOUT_DEFAULT (30 * SPAN_SECOND)
#define CONNECT_TIMEOUT (5 * SPAN_SECOND)
#define POOL_IDLE_SPAN SPAN_MINUTE

typedef struct Job Job;
typedef struct Pool Pool;

struct Job {
    CURL *easy;
    Pool *pool;
    Job *prev, *next; // among the pool's running jobs, or its spare ones
    Arena arena;      // of one request
    TransferDone *done;
    void *with;
    Instant started_at;
    Buf answer;
    size_t received;
    bool was_cut;                     // the answer was longer than anyone wants
    bool has_opened_socket;           // to an address that is allowed
    bool has_tried_ipv6;              // at least once
    bool lacks_socket;                // this machine had none left, at least once
    char forbidden[INET6_ADDRSTRLEN]; // the address that is not; empty for none
    char text[CURL_ERROR_SIZE];
};

struct Pool {
    Transfers *transfers;
    int64_t key;
    CURLM *multi;
    Job *running, *spare;
    Instant due_at; // when libcurl wants to be called; INSTANT_NONE
    Instant idle_since;
};

// Watch is what the epoll set knows of a descriptor; the array is indexed by it.
typedef struct Watch {
    Pool *pool;          // NULL: nobody waits for it now
    uint32_t registered; // events in the epoll set; 0: it is not there
    bool is_ours;        // opened and closed by the callbacks below, so it may stay registered
} Watch;

// A Refusal is a request that never became a job, waiting to be told.
typedef struct Refusal {
    struct Refusal *next;
    TransferDone *done;
    void *with;
    TransferProblem problem;
    const char *text;
} Refusal;

struct Transfers {
    const AddressPolicy *policy; // NULL: any address
    int epoll_fd, wake_fd;
    Watch *watches;
    size_t watch_count;
    Pool **pools;
    size_t pool_count, pool_room;
    Refusal *refusals, **refusals_end;
    size_t running;
    size_t open;     // connections, in use or kept
    size_t kept_max; // of them; 0: no limit but the pool's own
    Instant purge_at;
};

static void must(bool is_true)
{
    // libcurl fails here only for want of memory, or if an option of ours were unknown to it.
    assert(is_true);
}

#define SET(easy, option, value) must(curl_easy_setopt((easy), option, (value)) == CURLE_OK)

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_library(void)
{
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

// parse_url reads a URL as a transfer will; NULL where it is none. Free it with curl_url_cleanup().
static CURLU *parse_url(Str text)
{
    DEFER(arena_done) Arena arena = { 0 };
    CURLU *url = curl_url();
    must(url);
    if (curl_url_set(url, CURLUPART_URL, str_z(&arena, text), 0) == CURLUE_OK)
        return url;
    curl_url_cleanup(url);
    return NULL;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *of_a = NULL, *of_b = NULL;
    bool is_same = curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   str_eq_nocase(str_from(of_a), str_from(of_b));
    curl_free(of_a);
    curl_free(of_b);
    return is_same;
}

bool transfer_same_origin(Str a, Str b)
{
    CURLU *url_a = a.at ? parse_url(a) : NULL, *url_b = b.at ? parse_url(b) : NULL;
    bool is_same = url_a && url_b && same_part(url_a, url_b, CURLUPART_SCHEME) &&
                   same_part(url_a, url_b, CURLUPART_HOST) &&
                   same_part(url_a, url_b, CURLUPART_PORT);
    curl_url_cleanup(url_a);
    curl_url_cleanup(url_b);
    return is_same;
}

const char *transfer_url_problem(Str url)
{
    bool is_http = url.len >= 7 && str_eq_nocase((Str){ url.at, 7 }, S("http://"));
    bool is_https = url.len >= 8 && str_eq_nocase((Str){ url.at, 8 }, S("https://"));
    if (!is_http && !is_https)
        return "the URL must begin with http:// or https://";
    if (url.len > URL_BYTES_MAX)
        return "the URL is too long";
    if (!str_is_printable(url) || str_contains(url, S(" ")) || str_contains(url, S("\\")))
        return "the URL has characters that may not stand there";
    size_t len = 0;
    Str rest = str_skip(url, is_http ? 7 : 8);
    while (len < rest.len && !strchr("/?#", rest.at[len]))
        len++;
    Str authority = { rest.at, len };
    if (authority.len == 0)
        return "the URL has no host";
    if (str_contains(authority, S("@")))
        return "the URL may not carry a user or a password";
    CURLU *parsed = parse_url(url);
    curl_url_cleanup(parsed);
    return parsed ? NULL : "the URL cannot be read: is its host or its port right?";
}

static const char *find_problem(const Transfer *transfer)
{
    const char *problem = transfer_url_problem(transfer->url);
    if (problem)
        return problem;
    if (!header_is_token(transfer->method))
        return "the method is not a word";
    for (size_t i = 0; i < transfer->header_count; i++) {
        if (!header_is_token(transfer->headers[i].name))
            return "a header's name has characters that may not stand there";
        if (!str_is_printable(transfer->headers[i].value))
            return "a header's value has control characters";
    }
    return NULL;
}

static size_t on_write(char *at, size_t size, size_t count, void *with)
{
    Job *job = with;
    size_t len = size * count;
    size_t room = job->answer.max - job->answer.len;
    buf_add_bytes(&job->answer, at, len < room ? len : room);
    job->received += len;
    job->was_cut = job->received > ANSWER_BYTES_MAX;
    return job->was_cut ? 0 : len;
}

static void note_forbidden(Job *job, const struct sockaddr *address)
{
    const void *at = address->sa_family == AF_INET
                         ? (const void *) &((const struct sockaddr_in *) address)->sin_addr
                         : (const void *) &((const struct sockaddr_in6 *) address)->sin6_addr;
    if (!inet_ntop(address->sa_family, at, job->forbidden, sizeof job->forbidden))
        memcpy(job->forbidden, "?", 2);
}

static Watch *watch_of(Transfers *transfers, int fd)
{
    size_t index = (size_t) fd, old = transfers->watch_count;
    if (index >= old) {
        size_t count = index + 64;
        transfers->watches = memory_grow(transfers->watches, count * sizeof(Watch));
        memset(transfers->watches + old, 0, (count - old) * sizeof(Watch));
        transfers->watch_count = count;
    }
    return &transfers->watches[index];
}

// is_shortage tells what says something about this machine alone, and nothing about the far side.
static bool is_shortage(long number)
{
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

// on_open sees the address that is about to be connected to, after the name was resolved.
static curl_socket_t on_open(void *with, curlsocktype purpose, struct curl_sockaddr *address)
{
    Job *job = with;
    Transfers *transfers = job->pool->transfers;
    (void) purpose;
    if (transfers->policy && !address_allowed(transfers->policy, &address->addr)) {
        note_forbidden(job, &address->addr);
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) {
        job->lacks_socket |= is_shortage(errno);
        return CURL_SOCKET_BAD;
    }
    job->has_opened_socket = true;
    job->has_tried_ipv6 |= address->family == AF_INET6;
    transfers->open++;
    *watch_of(transfers, fd) = (Watch){ .is_ours = true };
    return fd;
}

// on_close gets the Transfers: the connection may outlive the job that opened it.
static int on_close(void *with, curl_socket_t fd)
{
    Transfers *transfers = with;
    *watch_of(transfers, fd) = (Watch){ 0 };
    assert(transfers->open > 0);
    transfers->open--;
    return close(fd);
}

// on_request runs before a request is sent, on a kept connection too, where on_open does not.
static int on_request(void *with, char *remote, char *local, int remote_port, int local_port)
{
    Job *job = with;
    const AddressPolicy *policy = job->pool->transfers->policy;
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    (void) local, (void) remote_port, (void) local_port;
    bool is_allowed = false;
    if (inet_pton(AF_INET, remote, &v4.sin_addr) == 1)
        is_allowed = address_allowed(policy, (const struct sockaddr *) &v4);
    else if (inet_pton(AF_INET6, remote, &v6.sin6_addr) == 1)
        is_allowed = address_allowed(policy, (const struct sockaddr *) &v6);
    if (is_allowed)
        return CURL_PREREQFUNC_OK;
    snprintf(job->forbidden, sizeof job->forbidden, "%s", remote);
    job->has_opened_socket = false;
    return CURL_PREREQFUNC_ABORT;
}

static int on_timer(CURLM *multi, long timeout_ms, void *with)
{
    Pool *pool = with;
    (void) multi;
    pool->due_at =
        timeout_ms < 0 ? INSTANT_NONE : clock_machine_monotonic() + timeout_ms * SPAN_MILLISECOND;
    return 0;
}

static void forget(Transfers *transfers, int fd, Watch *watch)
{
    epoll_ctl(transfers->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    watch->registered = 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *with, void *of_socket)
{
    Pool *pool = with;
    Transfers *transfers = pool->transfers;
    Watch *watch = watch_of(transfers, fd);
    (void) easy, (void) of_socket;
    if (what == CURL_POLL_REMOVE) {
        watch->pool = NULL;
        if (watch->registered && !watch->is_ours)
            forget(transfers, fd, watch);
        return 0;
    }
    uint32_t wanted = (what & CURL_POLL_IN ? (uint32_t) EPOLLIN : 0) |
                      (what & CURL_POLL_OUT ? (uint32_t) EPOLLOUT : 0);
    watch->pool = pool;
    if (watch->registered == wanted)
        return 0;
    struct epoll_event event = { .events = wanted, .data.fd = fd };
    int operation = watch->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    // An error told to libcurl would end the whole pool; one request then rather times out.
    if (epoll_ctl(transfers->epoll_fd, operation, fd, &event) == 0)
        watch->registered = wanted;
    else
        log_error("transfer.epoll", "fd=%d errno=%d", fd, errno);
    return 0;
}

static Job *job_new(Pool *pool)
{
    Job *job = memory_new(sizeof *job);
    CURL *easy = curl_easy_init();
    must(easy);
    job->easy = easy;
    job->pool = pool;
    SET(easy, CURLOPT_PRIVATE, job);
    SET(easy, CURLOPT_ERRORBUFFER, job->text);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_MAXREDIRS, 0L);
    SET(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
    // A proxy from the environment would move the check of the address to the proxy.
    SET(easy, CURLOPT_PROXY, "");
    SET(easy, CURLOPT_NOPROXY, "*");
    SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(easy, CURLOPT_NETRC, (long) CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_UNRESTRICTED_AUTH, 0L);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(easy, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_MAXLIFETIME_CONN, 300L);
#if LIBCURL_VERSION_NUM >= 0x075700
    // Otherwise the end of a request waits for a name server that does not answer.
    SET(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    SET(easy, CURLOPT_WRITEFUNCTION, on_write);
    SET(easy, CURLOPT_WRITEDATA, job);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(easy, CURLOPT_OPENSOCKETDATA, job);
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(easy, CURLOPT_CLOSESOCKETDATA, pool->transfers);
    if (pool->transfers->policy) {
        SET(easy, CURLOPT_PREREQFUNCTION, on_request);
        SET(easy, CURLOPT_PREREQDATA, job);
    }
    return job;
}

static void job_free(Job *job)
{
    curl_easy_cleanup(job->easy);
    arena_done(&job->arena);
    free(job);
}

static Pool *pool_new(Transfers *transfers, int64_t key)
{
    Pool *pool = memory_new(sizeof *pool);
    pool->transfers = transfers;
    pool->key = key;
    pool->due_at = INSTANT_NONE;
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
    return pool;
}

static void pool_free(Pool *pool)
{
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
    free(pool);
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

static Job *take_job(Pool *pool)
{
    Job *job = pool->spare;
    if (job)
        pool->spare = job->next;
    else
        job = job_new(pool);
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
    arena_reset(&job->arena);
    job->next = pool->spare;
    pool->spare = job;
    if (!pool->running)
        pool->idle_since = clock_machine_monotonic();
}

// add_line puts a line in front. libcurl only reads the list, so it may lie in the arena.
static void add_line(Arena *arena, struct curl_slist **lines, Str line)
{
    struct curl_slist *item = ARENA_NEW(arena, struct curl_slist);
    *item = (struct curl_slist){ (char *) (uintptr_t) line.at, *lines };
    *lines = item;
}

static struct curl_slist *header_lines(Arena *arena, const Transfer *transfer, bool has_body)
{
    struct curl_slist *lines = NULL;
    bool has_type = false;
    for (size_t i = transfer->header_count; i-- > 0;) {
        Str name = transfer->headers[i].name, value = transfer->headers[i].value;
        // An empty value is asked for with a semicolon; with a colon libcurl drops the header.
        if (value.len > 0)
            add_line(arena, &lines, str_format(arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)));
        else
            add_line(arena, &lines, str_format(arena, "%.*s;", STR_ARG(name)));
        has_type = has_type || str_eq_nocase(name, S("content-type"));
    }
    // What libcurl would add by itself.
    if (has_body && !has_type)
        add_line(arena, &lines, S("Content-Type:"));
    add_line(arena, &lines, S("Expect:"));
    return lines;
}

static long milliseconds(Span span)
{
    return (long) ((span + SPAN_MILLISECOND - 1) / SPAN_MILLISECOND);
}

static void describe(Job *job, const Transfer *transfer)
{
    CURL *easy = job->easy;
    Arena *arena = &job->arena;
    bool is_get = str_eq(transfer->method, S("GET")), is_post = str_eq(transfer->method, S("POST"));
    bool is_head = str_eq(transfer->method, S("HEAD"));
    bool has_body = is_post || (transfer->body.len > 0 && !is_get && !is_head);
    Span timeout = transfer->timeout > 0 ? transfer->timeout : TIMEOUT_DEFAULT;

    SET(easy, CURLOPT_URL, str_z(arena, transfer->url));
    if (has_body) {
        Str body = str_dup(arena, transfer->body);
        SET(easy, CURLOPT_POST, 1L);
        SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) body.len);
        SET(easy, CURLOPT_POSTFIELDS, body.at);
    } else if (is_head) {
        SET(easy, CURLOPT_NOBODY, 1L);
    } else {
        SET(easy, CURLOPT_HTTPGET, 1L);
    }
    bool is_usual = is_get || is_post || is_head;
    SET(easy, CURLOPT_CUSTOMREQUEST, is_usual ? NULL : str_z(arena, transfer->method));
    SET(easy, CURLOPT_HTTPHEADER, header_lines(arena, transfer, has_body));
    SET(easy, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(earlier(CONNECT_TIMEOUT, timeout)));
}

static void refuse(Transfers *transfers, const Refusal *refusal)
{
    Refusal *kept = memory_new(sizeof *kept);
    *kept = *refusal;
    *transfers->refusals_end = kept;
    transfers->refusals_end = &kept->next;
}

// may_keep: every connection that may be kept is open, or its job is running; so there are never
// more of them than kept_max.
static bool may_keep(const Transfers *transfers)
{
    return !transfers->kept_max || transfers->open + transfers->running <= transfers->kept_max;
}

void transfers_start(Transfers *transfers, const Transfer *transfer, TransferDone *done, void *with)
{
    const char *problem = find_problem(transfer);
    transfers->running++;
    if (problem) {
        refuse(
            transfers,
            &(Refusal){ .done = done, .with = with, .text = problem, .problem = TRANSFER_REFUSED });
        return;
    }
    Pool *pool = pool_of(transfers, transfer->pool);
    if (!pool) {
        refuse(transfers, &(Refusal){ .done = done,
                                      .with = with,
                                      .problem = TRANSFER_NOT_TRIED,
                                      .text = "no descriptor is left for its connections" });
        return;
    }
    Job *job = take_job(pool);
    job->done = done;
    job->with = with;
    job->started_at = clock_machine_monotonic();
    job->answer = buf_new(&job->arena, transfer->response_max);
    job->received = 0;
    job->was_cut = job->has_opened_socket = job->has_tried_ipv6 = job->lacks_socket = false;
    job->forbidden[0] = job->text[0] = '\0';
    describe(job, transfer);
    SET(job->easy, CURLOPT_FORBID_REUSE, may_keep(transfers) ? 0L : 1L);
    must(curl_multi_add_handle(pool->multi, job->easy) == CURLM_OK);
}

static Str header_value(CURL *easy, const char *name)
{
    struct curl_header *header;
    if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return STR_NONE;
    return str_from(header->value);
}

static bool has_descriptor(const Transfers *transfers)
{
    int fd = fcntl(transfers->wake_fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// is_local tells whether a connection failed for want of something on this machine. Names and
// certificates are looked up in files and over sockets too, and no error number is told of those.
static bool is_local(const Job *job, CURLcode code)
{
    long number = 0;
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_SSL_CACERT_BADFILE)
        return !has_descriptor(job->pool->transfers);
    if (code == CURLE_OUT_OF_MEMORY || (job->lacks_socket && !job->has_opened_socket))
        return true;
    if (code != CURLE_COULDNT_CONNECT)
        return false;
    curl_easy_getinfo(job->easy, CURLINFO_OS_ERRNO, &number);
    // No port is left; but a machine without an address for IPv6 says the same, for ever.
    if (number == EADDRNOTAVAIL)
        return !job->has_tried_ipv6;
    return is_shortage(number);
}

static TransferProblem judge(const Job *job, CURLcode code)
{
    if (code == CURLE_OK || job->was_cut)
        return TRANSFER_ANSWERED;
    // Where one of several addresses was allowed, that one failed for a reason of its own.
    if (job->forbidden[0] && !job->has_opened_socket)
        return TRANSFER_FORBIDDEN;
    curl_off_t sent_after = 0;
    curl_easy_getinfo(job->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_after);
    if (sent_after > 0)
        return TRANSFER_NO_ANSWER;
    bool is_refused = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                      code == CURLE_LOGIN_DENIED;
    if (is_refused)
        return TRANSFER_REFUSED;
    return is_local(job, code) ? TRANSFER_NOT_TRIED : TRANSFER_NO_CONNECTION;
}

static void finish(Job *job, CURLcode code)
{
    Pool *pool = job->pool;
    TransferResult result = {
        .problem = judge(job, code),
        .took = clock_machine_monotonic() - job->started_at,
    };
    long status = 0;
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &status);
    result.status = status >= 200 ? (int) status : 0; // what comes before is not the answer's
    if (result.problem == TRANSFER_ANSWERED) {
        result.body = buf_str(&job->answer);
        result.retry_after = header_value(job->easy, "Retry-After");
        result.webhook_delivery_id = header_value(job->easy, "Webhook-Delivery-Id");
    } else if (result.problem == TRANSFER_FORBIDDEN) {
        result.problem_text = str_format(
            &job->arena, "%s is a private address; the operator may allow it with --allow-private",
            job->forbidden);
    } else {
        result.problem_text = str_from(job->text[0] ? job->text : curl_easy_strerror(code));
    }
    curl_multi_remove_handle(pool->multi, job->easy);
    pool->transfers->running--;
    job->done(job->with, &result);
    give_back(job);
}

static size_t collect(Transfers *transfers)
{
    size_t finished = 0;
    // By index: a callback may start a request in a new pool.
    for (size_t i = 0; i < transfers->pool_count; i++) {
        CURLMsg *message;
        int left;
        if (!transfers->pools[i]->running)
            continue;
        while ((message = curl_multi_info_read(transfers->pools[i]->multi, &left))) {
            char *job = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &job);
            finish((Job *) (void *) job, message->data.result);
            finished++;
        }
    }
    return finished;
}

static size_t tell_refusals(Transfers *transfers)
{
    size_t told = 0;
    // Those that a callback adds are for the next call.
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
        told++;
    }
    return told;
}

static void run_timers(Transfers *transfers)
{
    Instant now = clock_machine_monotonic();
    for (size_t i = 0; i < transfers->pool_count; i++) {
        Pool *pool = transfers->pools[i];
        int running;
        if (pool->due_at > now)
            continue;
        // Cleared first: libcurl sets the next one from within.
        pool->due_at = INSTANT_NONE;
        curl_multi_socket_action(pool->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

// run_events moves data; true when transfers_wake() was called.
static bool run_events(Transfers *transfers, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    bool was_woken = false;
    int count = epoll_wait(transfers->epoll_fd, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd, running, mask = 0;
        if (fd == transfers->wake_fd) {
            uint64_t times;
            was_woken = read(fd, &times, sizeof times) > 0;
            continue;
        }
        Watch *watch = watch_of(transfers, fd);
        if (!watch->pool) {
            // A kept connection that nobody uses has news: it was closed. libcurl will see.
            forget(transfers, fd, watch);
            continue;
        }
        mask |= events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0;
        mask |= events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        mask |= events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0;
        curl_multi_socket_action(watch->pool->multi, fd, mask, &running);
    }
    return was_woken;
}

// purge frees pools that were idle for a while, with their connections; at once where there are
// many, for each has descriptors of its own.
static void purge(Transfers *transfers, Instant now)
{
    size_t kept = 0;
    bool is_crowded = transfers->kept_max && transfers->pool_count > transfers->kept_max;
    if (!is_crowded && now < transfers->purge_at)
        return;
    transfers->purge_at = now + SPAN_SECOND;
    for (size_t i = 0; i < transfers->pool_count; i++) {
        Pool *pool = transfers->pools[i];
        if (pool->running || (!is_crowded && now - pool->idle_since < POOL_IDLE_SPAN))
            transfers->pools[kept++] = pool;
        else
            pool_free(pool);
    }
    transfers->pool_count = kept;
}

static int wait_ms(const Transfers *transfers, Instant now, Instant until)
{
    for (size_t i = 0; i < transfers->pool_count; i++)
        until = earlier(until, transfers->pools[i]->due_at);
    Span wait = later(until - now, 0);
    return (int) earlier(milliseconds(wait), 60 * 1000);
}

void transfers_wait(Transfers *transfers, Span timeout)
{
    Instant now = clock_machine_monotonic();
    Instant until = timeout > SPAN_DAY ? now + SPAN_DAY : now + timeout;
    size_t finished = tell_refusals(transfers);
    bool was_woken = false;
    do {
        run_timers(transfers);
        finished += collect(transfers);
        int ms = finished > 0 ? 0 : wait_ms(transfers, clock_machine_monotonic(), until);
        was_woken = run_events(transfers, ms);
        finished += collect(transfers);
        now = clock_machine_monotonic();
    } while (finished == 0 && !was_woken && now < until);
    purge(transfers, now);
}

void transfers_wake(Transfers *transfers)
{
    uint64_t one = 1;
    ssize_t written = write(transfers->wake_fd, &one, sizeof one);
    (void) written; // A full counter wakes as well.
}

size_t transfers_running(const Transfers *transfers)
{
    return transfers->running;
}

Transfers *transfers_new(const AddressPolicy *policy)
{
    pthread_once(&once, start_library);
    Transfers *transfers = memory_new(sizeof *transfers);
    transfers->policy = policy;
    transfers->refusals_end = &transfers->refusals;
    transfers->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    transfers->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = transfers->wake_fd };
    must(transfers->epoll_fd >= 0 && transfers->wake_fd >= 0 &&
         epoll_ctl(transfers->epoll_fd, EPOLL_CTL_ADD, transfers->wake_fd, &event) == 0);
    return transfers;
}

void transfers_limit(Transfers *transfers, size_t kept_max)
{
    transfers->kept_max = kept_max;
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
    close(transfers->epoll_fd);
    close(transfers->wake_fd);
    free(transfers->pools);
    free(transfers->watches);
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
                           &kept->result.retry_after, &kept->result.webhook_delivery_id };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i]->at)
            *texts[i] = str_dup(arena, *texts[i]);
}

TransferResult transfer_once(Arena *arena, const Transfer *transfer)
{
    Once kept = { .arena = arena };
    Transfers *transfers = transfers_new(NULL);
    transfers_start(transfers, transfer, keep_result, &kept);
    while (transfers_running(transfers) > 0)
        transfers_wait(transfers, SPAN_MINUTE);
    transfers_free(transfers);
    return kept.result;
}
