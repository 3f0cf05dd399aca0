#include "net/curl/job.h"

#include "net/url.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT (30 * SPAN_SECOND)
#define CONNECT_TIMEOUT (5 * SPAN_SECOND)

#define SET(easy, option, value) curl_must(curl_easy_setopt((easy), option, (value)) == CURLE_OK)

const char *job_problem(const Transfer *transfer)
{
    const char *problem = url_problem(transfer->url);
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

static long status_of(const Job *job)
{
    long status = 0;
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_write(char *at, size_t size, size_t count, void *with)
{
    Job *job = with;
    size_t len = size * count;
    if (job->piece && status_of(job) == 200)
        return job->piece(job->piece_with, (Str){ at, len }) ? len : 0;
    size_t room = job->answer.max - job->answer.len;
    buf_add_bytes(&job->answer, at, len < room ? len : room);
    job->received += len;
    job->was_cut = job->received > job->read_max;
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

bool connections_has(const Connections *connections, int fd)
{
    return (size_t) fd < connections->room && connections->is_ours[fd];
}

static void add_connection(Connections *connections, int fd)
{
    size_t old = connections->room;
    if ((size_t) fd >= old) {
        size_t room = (size_t) fd + 64;
        connections->is_ours = memory_grow(connections->is_ours, room * sizeof(bool));
        memset(connections->is_ours + old, 0, (room - old) * sizeof(bool));
        connections->room = room;
    }
    connections->is_ours[fd] = true;
    connections->count++;
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
    const AddressPolicy *policy = job->connections->policy;
    (void) purpose;
    if (policy && !address_allowed(policy, &address->addr)) {
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
    add_connection(job->connections, fd);
    return fd;
}

static size_t on_read(char *to, size_t size, size_t count, void *with)
{
    const Job *job = with;
    ssize_t given = job->source(job->source_with, to, size * count);
    return given < 0 ? CURL_READFUNC_ABORT : (size_t) given;
}

// on_close gets the Connections: one may outlive the job that opened it.
static int on_close(void *with, curl_socket_t fd)
{
    Connections *connections = with;
    assert(connections_has(connections, fd) && connections->count > 0);
    loop_unwatch(connections->loop, fd);
    connections->is_ours[fd] = false;
    connections->count--;
    return close(fd);
}

// on_request runs before a request is sent, on a kept connection too, where on_open does not.
static int on_request(void *with, char *remote, char *local, int remote_port, int local_port)
{
    Job *job = with;
    const AddressPolicy *policy = job->connections->policy;
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

Job *job_new(Connections *connections)
{
    Job *job = memory_new(sizeof *job);
    CURL *easy = curl_easy_init();
    curl_must(easy);
    job->easy = easy;
    job->connections = connections;
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
    if (connections->ca_file) // the system's are found by libcurl in their folder
        SET(easy, CURLOPT_CAINFO, connections->ca_file);
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
    SET(easy, CURLOPT_CLOSESOCKETDATA, connections);
    if (connections->policy) {
        SET(easy, CURLOPT_PREREQFUNCTION, on_request);
        SET(easy, CURLOPT_PREREQDATA, job);
    }
    return job;
}

void job_free(Job *job)
{
    curl_easy_cleanup(job->easy);
    arena_done(&job->arena);
    free(job);
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
            add_line(arena, &lines, STR_JOIN(arena, name, S(": "), value));
        else
            add_line(arena, &lines, STR_JOIN(arena, name, S(";")));
        has_type = has_type || str_eq_nocase(name, S("content-type"));
    }
    // What libcurl would add by itself.
    if (has_body && !has_type)
        add_line(arena, &lines, S("Content-Type:"));
    add_line(arena, &lines, S("Expect:"));
    if (transfer->source && transfer->source_bytes < 0)
        add_line(arena, &lines, S("Transfer-Encoding: chunked"));
    return lines;
}

static long milliseconds(Span span)
{
    return (long) ((span + SPAN_MILLISECOND - 1) / SPAN_MILLISECOND);
}

Span transfer_timeout(const Transfer *transfer)
{
    return transfer->timeout > 0 ? transfer->timeout : TIMEOUT_DEFAULT;
}

void job_limit(Job *job, Span timeout, Span to_connect)
{
    SET(job->easy, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
    SET(job->easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(to_connect));
}

static void describe(Job *job, const Transfer *transfer)
{
    CURL *easy = job->easy;
    Arena *arena = &job->arena;
    bool is_get = str_eq(transfer->method, S("GET")), is_post = str_eq(transfer->method, S("POST"));
    bool is_head = str_eq(transfer->method, S("HEAD"));
    bool has_body = is_post || (transfer->body.len > 0 && !is_get && !is_head);
    Span timeout = transfer_timeout(transfer);

    SET(easy, CURLOPT_URL, str_z(arena, transfer->url));
    if (transfer->ca.len > 0)
        SET(easy, CURLOPT_CAINFO, str_z(arena, transfer->ca));
    if (transfer->source) {
        assert(is_post);
        SET(easy, CURLOPT_POST, 1L);
        SET(easy, CURLOPT_POSTFIELDS, NULL);
        SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) transfer->source_bytes);
        SET(easy, CURLOPT_READFUNCTION, on_read);
        SET(easy, CURLOPT_READDATA, job);
    } else if (has_body) {
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
    job_limit(job, timeout, earlier(CONNECT_TIMEOUT, timeout));
}

void job_clear(Job *job)
{
    job->started_at = loop_now(job->connections->loop);
    job->received = 0;
    job->was_cut = job->has_opened_socket = job->has_tried_ipv6 = job->lacks_socket = false;
    job->forbidden[0] = job->text[0] = '\0';
}

void job_begin(Job *job, const Transfer *transfer, bool keeps_connection)
{
    job_clear(job);
    job->answer = buf_new(&job->arena, transfer->response_max);
    job->piece = transfer->piece;
    job->piece_with = transfer->piece_with;
    job->source = transfer->source;
    job->source_with = transfer->source_with;
    job->read_max = transfer->read_max ? transfer->read_max : TRANSFER_READ_MAX;
    job->keeps_headers = transfer->keeps_headers;
    describe(job, transfer);
    SET(job->easy, CURLOPT_FORBID_REUSE, keeps_connection ? 0L : 1L);
}

void job_end(Job *job)
{
    arena_reset(&job->arena);
}

static Str header_value(CURL *easy, const char *name)
{
    struct curl_header *header;
    if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return STR_NONE;
    return str_from(header->value);
}

static Str lower(Arena *arena, const char *name)
{
    Str text = str_dup(arena, str_from(name));
    char *at = (char *) (uintptr_t) text.at;
    for (size_t i = 0; i < text.len; i++)
        at[i] = str_lower_char(at[i]);
    return text;
}

// keep_headers copies what the answer's head says, for as long as the job has its arena.
static void keep_headers(Job *job, TransferResult *result)
{
    Header *headers = ARENA_ARRAY(&job->arena, Header, TRANSFER_HEADERS_MAX);
    struct curl_header *header = NULL;
    while (result->header_count < TRANSFER_HEADERS_MAX &&
           (header = curl_easy_nextheader(job->easy, CURLH_HEADER, -1, header)))
        headers[result->header_count++] = (Header){ lower(&job->arena, header->name),
                                                    str_dup(&job->arena, str_from(header->value)) };
    result->headers = headers;
}

static bool has_descriptor(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
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
        return !has_descriptor();
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

static Str problem_text(Job *job, TransferProblem problem, CURLcode code)
{
    if (problem == TRANSFER_FORBIDDEN)
        return str_format(&job->arena,
                          "%s is a private address; the operator may allow it with --allow-private",
                          job->forbidden);
    if (problem == TRANSFER_NO_ANSWER && code == CURLE_OUT_OF_MEMORY) // of what libcurl gives it
        return S("the head of the answer is longer than anyone reads");
    return str_from(job->text[0] ? job->text : curl_easy_strerror(code));
}

TransferResult job_result(Job *job, CURLcode code)
{
    long status = 0;
    TransferResult result = { .problem = judge(job, code),
                              .took = loop_now(job->connections->loop) - job->started_at };
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &status);
    result.status = status >= 200 ? (int) status : 0; // what comes before is not the answer's
    if (result.problem == TRANSFER_ANSWERED) {
        result.body = buf_str(&job->answer);
        result.retry_after = header_value(job->easy, "Retry-After");
        result.webhook_delivery_id = header_value(job->easy, "Webhook-Delivery-Id");
        result.message_id = header_value(job->easy, "X-Message-Id");
        result.location = header_value(job->easy, "Location");
        if (job->keeps_headers)
            keep_headers(job, &result);
    } else {
        result.problem_text = problem_text(job, result.problem, code);
    }
    return result;
}
