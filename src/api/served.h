// served.h - what the files that serve a call share: call.c leads it through, route.c finds its
// row, rights.c lets it in, once.c sees to its Idempotency-Key. Private to them; handlers see the
// Call.
#pragma once

#include "api/handlers.h"
#include "store/idempotency.h"

// Served is a call and what handlers need not know of it.
typedef struct Served Served;
struct Served {
    Call call;            // first: a Call * is a Served *
    Error error;          // what the handler said
    Str allow;            // the path's methods, when the method is none of them
    bool has_key;         // the request named one
    Sha256 hash;          // of the key it named
    Sha256 request;       // what the idempotency key stands for
    const Error *refusal; // of call_turn_down(); else NULL
    bool is_secret;
    bool is_refused; // by call_refuse(), in this try
    bool is_written; // by its route's set, in this try
    bool is_aside;   // with the thinkers
    bool is_read;
    int64_t decided_on; // generation
    bool is_late;       // to be decided anew, in this try: see ENTRY_LATE
    int late_count;     // how often that was so
    bool is_started;    // a START call that others with its Idempotency-Key must not overtake
    Served *next;       // of those that are started; guarded by Api.started_lock
    Err doubt;          // what became of the second look at its key
    Instant whole_at;   // monotonic: when all of the request was there
};

// route_find takes the fit with the fewest {names}, so that a fixed word goes before them. Where
// the path has other methods only, served->allow has them.
Err route_find(Served *served, Error *error) MUST_USE;

// metrics_request counts a request by its route, as far as there is one, and its status.
void metrics_request(const Route *route, int status);
// metrics_answered measures how long its answer took, where it brought events.
void metrics_answered(const Served *served);

// rights_read notes the key that the request names.
void rights_read(Served *served);
// rights_admit lets the call in with what the snapshot says of its key.
Err rights_admit(Served *served, const Registry *registry, Instant now, Error *error) MUST_USE;
// rights_readmit lets it in again where definitions have changed since; its key may be gone.
Err rights_readmit(Served *served, Registry *newest, Instant now, Error *error) MUST_USE;

// Entry is how a call comes into a transaction.
typedef enum Entry {
    ENTRY_GO,       // to be done
    ENTRY_ANSWERED, // a refusal, or what was answered before
    ENTRY_WAITS,    // for one before it in the set, which has the same Idempotency-Key
    ENTRY_LATE,     // definitions have changed, and there is much to decide anew: not in here
} Entry;

// once_read checks the request's Idempotency-Key; once_hash notes what the key stands for, when the
// body is in. The others do nothing for a call without one.
Err once_read(Served *served, Error *error) MUST_USE;
void once_hash(Served *served);
// once_take takes the key in the transaction, or gives the answer of before.
Err once_take(Served *served, Tx *tx, Entry *ret, Error *error) MUST_USE;
// once_is_kept says whether an answer stands for its key: what was done and what was refused, but
// not what the caller should mend or wait for and send again (unreadable, no right, too many), nor
// what is Peal's fault. once_keep keeps it with the work; once_cancel frees the key.
bool once_is_kept(int status);
Err once_keep(Served *served, Tx *tx, Error *error) MUST_USE;
void once_cancel(Served *served, Tx *tx);
// once_claim makes a START call the only one under way with its key; once_look finds the answer of
// one before it (the reply has a status then). once_release ends the claim.
bool once_claim(Served *served) MUST_USE;
Err once_look(Served *served, Db *db, Error *error) MUST_USE;
void once_release(Served *served);

// api_writer returns the writer once the store is there. The application sets it last.
static inline Writer *api_writer(Api *api)
{
    return atomic_load(&api->writer);
}

// What the server's thread (and the writer's) does by itself; more of it is for the thinkers.
enum { QUICK_BYTES_MAX = 64 * 1024, QUICK_PAIRS_MAX = 2000 };

static inline Call *call_of_task(Task *task)
{
    return (Call *) ((char *) task - offsetof(Call, task));
}

// call_aside goes on with a call on a thinker's thread; false when too many wait for one.
// call_rethink decides there, or refuses the call, and then goes on with its route's work.
bool call_aside(Served *served, void (*run)(Task *task, void *seat)) MUST_USE;
void call_rethink(Served *served);

// reply_anew forgets what an earlier try left behind; reply_body is what was written so far.
void reply_anew(Served *served);
Str reply_body(const Call *call);
// reply_refuse makes the error the answer. reply_conclude does so with what is the caller's fault
// and hands up what is ours; reply_finish sends what came of it.
void reply_refuse(Call *call, const Error *error);
Err reply_conclude(Served *served, Err err, Error *error) MUST_USE;
void reply_finish(Call *call, Err err, const Error *error);
