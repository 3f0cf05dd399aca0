// job.h - one request as libcurl has it, and the connections that requests open. Private to this
// folder, which is the only one that knows libcurl.
//
// A Job is an easy handle whose options are set once: for a request only the few that differ are
// set again, so a job is kept and used for one request after the other.
#pragma once

#include "net/loop.h"
#include "net/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>

// Connections opens and closes libcurl's sockets: the place where their addresses are checked.
typedef struct Connections {
    Loop *loop;
    const AddressPolicy *policy; // NULL: any address
    const char *ca_file;         // certificates to trust beside the system's; NULL
    size_t count;                // open ones, in use or kept
    bool *is_ours;               // by descriptor
    size_t room;                 // of is_ours
} Connections;

typedef struct Job {
    CURL *easy;
    Connections *connections;
    struct Pool *pool;       // of HTTP
    struct Session *session; // of SMTP
    struct Job *prev, *next; // among the pool's running jobs, or its spare ones
    Arena arena;             // of one request
    TransferDone *done;
    void *with;
    Instant started_at;
    Buf answer;
    size_t received, read_max;
    bool (*piece)(void *with, Str bytes); // as of the transfer
    void *piece_with;
    ssize_t (*source)(void *with, char *to, size_t max); // likewise
    void *source_with;
    bool keeps_headers;
    bool was_cut;                     // the answer was longer than anyone wants
    bool has_opened_socket;           // to an address that is allowed
    bool has_tried_ipv6;              // at least once
    bool lacks_socket;                // this machine had none left, at least once
    char forbidden[INET6_ADDRSTRLEN]; // the address that is not; empty for none
    char text[CURL_ERROR_SIZE];
} Job;

// curl_must stands where libcurl fails only for want of memory, or if an option of ours were
// unknown to it.
static inline void curl_must(bool is_true)
{
    assert(is_true);
}

// connections_has tells the descriptors that were opened here from libcurl's own.
bool connections_has(const Connections *connections, int fd);

Job *job_new(Connections *connections);
void job_free(Job *job);

// job_problem says why a request cannot be sent at all, as a sentence; NULL for nothing.
const char *job_problem(const Transfer *transfer);

// job_clear makes the job ready for another request, job_limit sets how long libcurl may take.
void job_clear(Job *job);
void job_limit(Job *job, Span timeout, Span to_connect);
Span transfer_timeout(const Transfer *transfer);

// job_begin makes the job this request's. Its connection is kept for a later one, or is not.
void job_begin(Job *job, const Transfer *transfer, bool keeps_connection);

// job_result tells what came of it; the texts live until job_end(), but headers only until the easy
// handle is used again.
TransferResult job_result(Job *job, CURLcode code);
void job_end(Job *job);
