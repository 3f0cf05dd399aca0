// served.h - what the files that serve a call share: call.c leads it through, route.c finds its
// row, rights.c lets it in, once.c sees to its Idempotency-Key. Private to them; handlers see the
// Call.
#pragma once

#include "api/handlers.h"
#include "store/idempotency.h"

// Desk is where a call is read and decided: the later, the more it may cost.
typedef enum Desk {
    DESK_SERVER, // the server's thread, or whichever the call came by
    DESK_QUICK,  // a thinker
    DESK_SLOW,   // one that others may wait for
} Desk;

// Served is a call and what handlers need not know of it.
typedef struct Served Served;
struct Served {
    Call call;            // first: a Call * is a Served *
    Error error;          // what the handler said
    Err failed;           // with this, and the error, where Peal is to blame; ERR_OK: not
    Err refused;          // with this, and the error, in this try; ERR_OK: not
    Str allow;            // the path's methods, when the method is none of them
    bool has_key;         // the request named one
    bool has_session;     // and did so by a cookie
    RegistryKey session;  // what that may: call.key then
    Sha256 hash;          // of the key it named
    Sha256 body;          // as far as it is there
    Sha256 request;       // what the idempotency key stands for
    const Error *refusal; // of call_turn_down(); else NULL
    Err (*tried)(Call *call, Error *error); // tells of what call_undo() undid; NULL
    bool is_undone;                         // in this try: by call_undo()
    bool is_secret;
    bool is_read;
    bool is_begun; // a part of its body was read
    Desk desk;
    int64_t decided_on; // the stamp of a snapshot
    bool is_late;       // to be decided anew, in this try: see ENTRY_LATE
    int late_count;     // how often that was so
    bool is_started;    // a START call that others with its Idempotency-Key must not overtake
    Served *next;       // of those that are started; guarded by Api.started_lock
    Err doubt;          // what became of the second look at its key
    bool is_doubted;    // there was one
    bool is_across;     // it looks at another tenant than its key's
    Instant whole_at;   // monotonic: when all of the request was there
    struct Pour *pour;  // an answer that is poured (pour.c); NULL
};

// route_find takes the fit with the fewest {names}, so that a fixed word goes before them; at a
// site, of two the site's own. Where
// the path has other methods only, served->allow has them.
Err route_find(Served *served, Error *error) MUST_USE;

// metrics_request counts a request by its route, as far as there is one, and its status.
void metrics_request(const Route *route, int status);
// metrics_answered measures how long its answer took, where it brought events.
void metrics_answered(const Served *served);

// hook_admit lets a webhook in with what the snapshot says of its path. hook_answered tells whoever
// listens for hooks, and counts it by its provider and the status of its answer, whose labels
// label_hook writes.
Err hook_admit(Call *call, const Registry *registry, Error *error) MUST_USE;
void hook_answered(const Call *call, int status);
bool label_hook(void *with, int64_t key, Buf *out);

// rights_read notes the key that the request names.
void rights_read(Served *served);
// rights_may says whether a key may call a route.
bool rights_may(const Route *route, const RegistryKey *key);
// rights_admit lets the call in with what the snapshot says of its key.
Err rights_admit(Served *served, const Registry *registry, Instant now, Error *error) MUST_USE;
// rights_readmit lets it in again where definitions have changed since; its key may be gone.
Err rights_readmit(Served *served, Registry *newest, Instant now, Error *error) MUST_USE;

// across_enter makes the tenant that ?tenant= names the call's, and refuses that to other roles
// than operations. across_note has such a look noted in that tenant's audit, and then answers as
// reply_finish() does, whether or not that went well.
Err across_enter(Served *served, Db *db, Error *error) MUST_USE;
void across_note(Served *served, Err err, const Error *error);

// Entry is how a call comes into a transaction.
typedef enum Entry {
    ENTRY_GO,       // to be done
    ENTRY_ANSWERED, // a refusal, or what was answered before
    ENTRY_WAITS,    // for one before it in the set, which has the same Idempotency-Key
    ENTRY_LATE,     // definitions have changed, and there is much to decide anew: not in here
} Entry;

// once_read checks the request's Idempotency-Key; once_hash notes what the key stands for, as far
// as the body is in. The others do nothing for a call without one, nor for a part of a file: the
// key is the whole file's, and taken with the last.
Err once_read(Served *served, Error *error) MUST_USE;
void once_hash(Served *served);
bool once_has_key(const Served *served);
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

// What is short; more of it is for the slow thinkers.
enum { QUICK_BYTES_MAX = 64 * 1024, QUICK_PAIRS_MAX = 2000 };

static inline Call *call_of_task(Task *task)
{
    return (Call *) ((char *) task - offsetof(Call, task));
}

// call_aside goes on with a call at another desk; false when too many wait for one. call_rethink
// reads and decides there, and then goes on with its route's work.
bool call_aside(Served *served, Desk desk, void (*run)(Task *task, void *seat)) MUST_USE;
bool call_rethink(Served *served, Desk desk) MUST_USE;

// call_crowded says that it could not.
static inline Err call_crowded(Error *error)
{
    return fail(error, ERR_BUSY, "too many requests are waiting");
}

// reply_anew forgets what an earlier try left behind; reply_body is what was written so far.
void reply_anew(Served *served);
Str reply_body(const Call *call);
// reply_refuse makes the error the answer. reply_conclude notes what is the caller's fault, for
// reply_write(), and hands up what is ours. reply_write writes the answer where that is still to be
// done: the refusal, or what call_later() left to tell.
void reply_refuse(Call *call, const Error *error);
Err reply_conclude(Served *served, Err err, Error *error) MUST_USE;
Err reply_write(Served *served, Error *error) MUST_USE;
// reply_finish sends what came of it. reply_later does so from another thread than the pen's.
void reply_finish(Call *call, Err err, const Error *error);
void reply_later(Served *served, Err err, const Error *error);
// reply_let_go gives back what the call holds of others, before it ends; reply_log logs a failure
// that is ours.
void reply_let_go(Call *call);
void reply_log(const Call *call, Err err, const Error *error);

// pour_start begins an answer of a POUR route.
typedef struct Pour Pour;
void pour_start(Served *served);
