// transfer.h - the requests that Peal makes, over HTTP and SMTP; net/curl/ is the only folder that
// knows libcurl.
//
// Transfers run many requests at once on a loop: start some, then wait; finished ones call back
// from within loop_wait(), which returns then. Redirects are not followed, proxies from the
// environment are ignored, cookies are off, TLS is verified, the connected address is checked
// against the policy (also on reused connections), header values with control characters are
// refused, and at most response_max bytes of an answer are kept. Connections are pooled per pool
// key (a tenant). A transfer with mail is one message to a mail server (net/smtp.h): its body is
// the message, its answer a reply for each recipient.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/address.h"
#include "net/header.h"
#include "net/loop.h"
#include "net/smtp.h"

typedef struct Transfers Transfers;

enum {
    TRANSFER_READ_MAX = 1 << 20, // read of an answer before it is cut off
    TRANSFER_HEADERS_MAX = 64,
};

typedef enum MailTls { MAIL_TLS_REQUIRED, MAIL_TLS_OPTIONAL, MAIL_TLS_NONE } MailTls;

// Mail is what a message to a mail server has beside its bytes. The URL's path is the name that
// Peal greets with; this machine's without one.
typedef struct Mail {
    SmtpEnvelope envelope;
    MailTls tls; // of smtp: by STARTTLS; smtps has it from the start
    Str user, password;
} Mail;

typedef struct Transfer {
    Str method; // "POST"; none for a mail
    Str url;    // http, https; of a mail smtp, smtps
    const Mail *mail;
    const Header *headers;
    size_t header_count;
    Str body;            // copied by transfers_start; of a mail lines that end in CR and LF
    Span timeout;        // of the whole request; 0: 30 s. To connect: 5 s of it
    size_t response_max; // bytes kept of the answer; the rest is read and dropped
    size_t read_max;     // bytes read of it before it is cut off; 0: TRANSFER_READ_MAX
    bool keeps_headers;  // of the answer, for who has to know more than the usual ones
    int64_t pool;        // connections are shared only among equal numbers
    Str ca;              // for transfer_once(): certificates to trust, not the system's; none
    // source gives the body of a POST as it is sent, instead of body: source_bytes of it, or (-1)
    // until it gives none. It returns how many bytes, -1 where it cannot. NULL: body has it.
    ssize_t (*source)(void *with, char *to, size_t max);
    void *source_with;
    int64_t source_bytes;
    // piece takes the body of an answer of 200 as it comes, instead of the result; false ends it.
    // NULL: the result has it.
    bool (*piece)(void *with, Str bytes);
    void *piece_with;
} Transfer;

typedef enum TransferProblem {
    TRANSFER_ANSWERED,
    TRANSFER_REFUSED,       // could not be built: bad URL, bad header, unknown protocol
    TRANSFER_FORBIDDEN,     // the address is not allowed
    TRANSFER_NO_CONNECTION, // name not resolved, refused, TLS failed
    TRANSFER_NO_ANSWER,     // time-out, or the connection broke
    TRANSFER_LOGIN_REFUSED, // the mail server does not let this user in
    TRANSFER_NOT_TRIED,     // this machine lacked a descriptor, a port or memory: nobody was asked
} TransferProblem;

typedef struct TransferResult {
    TransferProblem problem;
    Str problem_text; // a sentence; none when answered
    int status;       // as soon as the answer's head was in, though the rest may not have come; 0
    Str body;         // up to response_max; lives as long as the callback
    Str retry_after;  // the header as sent; none
    Str webhook_delivery_id;  // the header as sent; none
    Str message_id;           // X-Message-Id, likewise
    Str location;             // likewise: where it would be sent on to
    const Header *headers;    // where they are kept: the first TRANSFER_HEADERS_MAX …
    size_t header_count;      // … by their names in lower case
    const SmtpReply *replies; // of a mail: to each recipient, though there was a problem; or NULL
    Span took;
} TransferResult;

typedef void TransferDone(void *with, const TransferResult *result);

// The loop and the policy outlive the transfers; without a policy (NULL) any address is allowed.
Transfers *transfers_new(Loop *loop, const AddressPolicy *policy);
void transfers_free(Transfers *transfers); // unfinished ones are dropped, uncalled

// transfers_limit sets how many connections are kept open for later requests, over all pools; those
// of requests under way come on top. Without it, a pool's number alone is bounded.
void transfers_limit(Transfers *transfers, size_t kept_max);

// transfers_trust names a file of certificates to trust beside the system's, in PEM. Its name
// ends with NUL and outlives them.
void transfers_trust(Transfers *transfers, Str ca_file);

// transfers_start always calls done exactly once, later, from within loop_wait().
void transfers_start(Transfers *transfers, const Transfer *transfer, TransferDone *done,
                     void *with);
size_t transfers_running(const Transfers *transfers);

// transfer_once runs one request to its end, for the command line. Any address is allowed.
// The body of the result lies in arena.
TransferResult transfer_once(Arena *arena, const Transfer *transfer);
