// api.h - one request being served: who asks, what row of the route table answers, and how.
//
// A route's work says where its handler runs. READ handlers run on a reader's thread with a
// connection; one that ends without an answer goes on with its route's write(), or its set. WRITE
// handlers run inside the writer's transaction, may be replayed, and are answered after the commit;
// they check before they write, so that a refusal leaves nothing behind. Calls of a WRITE route
// with a RouteSet are written together, as many as one transaction holds. START handlers must not
// block and answer later by themselves, or end with call_write(), which does the route's write() as
// for a WRITE route. POUR handlers write an answer that may be of any length, piece by piece, on
// the streamer's thread (pour.c).
//
// What a stranger wrote is read, and events are decided, by the thinkers, never on the server's
// thread; what is large or much has thinkers of its own, so that nobody else waits for it. The
// writer's threads write no answers: what there is to tell of a write is told after it, by a
// thinker or, where that is short, by the server's thread. Only what an Idempotency-Key keeps is
// written inside the transaction, for it is part of it.
//
// What else is to be known of a route stands in its row: what it takes, which query parameters
// (param.h), what it answers. Serving and the OpenAPI document read the same row.
//
// Idempotency-Key is handled for every row that keeps its answer, in the same transaction as the
// work (once.c).
#pragma once

#include "api/param.h"
#include "domain/definition.h"
#include "net/server.h"
#include "store/depth.h"
#include "store/epoch.h"
#include "store/reader.h"
#include "store/writer.h"

#include <pthread.h>

typedef struct Call Call;
typedef struct Engine Engine;
typedef struct Feed Feed;
typedef struct Walk Walk;
typedef struct Seen Seen;
typedef struct Site Site;

// SettingTold is how one of the program's options is set, and by what: "flag", "env NAME",
// "FILE:LINE" or "default". What is secret is not told.
typedef struct SettingTold {
    Str name, value, origin;
    bool is_secret;
} SettingTold;

typedef struct Api {
    _Atomic(Writer *) writer; // NULL until the store is there; set last
    Reader *reader;
    Reader *watcher;     // of one thread, for metrics: they wait behind nobody's query
    Reader *streamer;    // of one thread, for answers of any length (pour.c)
    Depths depths;       // the watcher's
    Pool *thinkers;      // for what is short
    Pool *slow_thinkers; // for what is large, or much
    Task *turn;          // for the thinkers, gathered in this turn of the server's thread: its own
    struct Served *started; // under way with an Idempotency-Key; guarded by started_lock
    pthread_mutex_t started_lock;
    Engine *engine;
    Feed *feed; // who listens to what happens (feed.h)
    Clock *clock;
    Random *random;
    const KeyRing *ring;
    bool is_key_foreign; // the ring is not this database's (store/seal.h): nothing may be sealed
    Str table_folder;    // below which files may be table sources; none
    Str exec_folder;     // of commands that may be run; none
    Str store_url;       // the store's own
    Str url_template;    // of links: https://…/s/{publicId}; none
    bool is_dev;         // every channel captures
    bool is_private;     // and commands and files that definitions name need not be there
    const EpochGuard *guard; // by which a release vouches for the store
    size_t payload_max;      // bytes of one event
    size_t body_max;         // bytes of a request to the routes that take large ones
    size_t waiting_max;      // calls that wait for work
    const Site *site;        // what makes it one (site.h); NULL: it is none
    const char *version;
    int64_t node; // its number
    Clock *real;  // whatever the other says
    const SettingTold *settings;
    size_t setting_count;
    Instant started_at;
    _Atomic Instant
        doubts_until; // monotonic: so far the looks of webhooks at the store are used up
} Api;

typedef enum RouteWork { WORK_READ, WORK_WRITE, WORK_START, WORK_POUR } RouteWork;

// Roles that may call a route, as a set. ROLE_ADMIN may call every route but the system ones.
#define MAY_ROLE(role) (1u << ROLE_##role)
#define ANYONE 0xffffffffu   // without a key
#define SYSTEM 0x80000000u   // a key with the system right
#define ANY_ROLE 0x7ffffffeu // with a key
#define SESSION_COOKIE S("peal_session")

// RouteSet is the work of a WRITE route whose calls are written many at once. Ahead of the
// transaction, without a connection, the route's think() has read the body; weigh() then says how
// many things there are to decide, and decide() decides them, or answers by itself (call->reply),
// which is the end of it. write() does all calls of a set in the transaction; a call that it
// refuses with call_refuse() has left nothing. answer() writes what there is to tell of a call once
// it is written.
typedef struct RouteSet {
    size_t (*weigh)(const Call *call);
    Err (*decide)(Call *call, Error *error);
    Err (*write)(Tx *tx, Call *const *calls, size_t count, Error *error);
    Err (*answer)(Call *call, Error *error); // as call_later() says
    // stays says, on the pen's thread, whether a call that was written waits on instead of being
    // answered: it goes to call_write() again, or ends by itself. NULL: none does.
    bool (*stays)(Call *call);
} RouteSet;

typedef struct RouteRun {
    RouteWork work;
    Err (*read)(Call *call, Db *db, Error *error);
    Err (*write)(Call *call, Tx *tx, Error *error);
    bool is_first; // a write that goes ahead of the others, lest it wait behind what it is to stop
    bool is_whole; // a write that need not check before it writes: a refusal undoes all of it
    // takes back what write() did with the parts of a file before one that it is not asked to take
    Err (*take_back)(Call *call, Tx *tx, Error *error);
    void (*after)(Call *call); // instead of the answer, after a write that went well; it answers
    void (*start)(Call *call);
    // pour writes the next piece to text and keeps its place in call->with, when it has it. Memory
    // of the first piece stays; call->arena of others is emptied before the next.
    Err (*pour)(Call *call, Db *db, Buf *text, bool *ret_last, Error *error);
    Err (*think)(Call *call, Error *error);
    const RouteSet *set; // with think, instead of write
} RouteRun;

// Media is what a body may be.
typedef enum Media {
    MEDIA_NONE,  // no body: one that comes all the same is dropped
    MEDIA_JSON,  // parsed into call->body
    MEDIA_PATCH, // the same, as application/merge-patch+json or application/json
    MEDIA_ANY,   // of any content type; think() reads it
    MEDIA_FORM,  // JSON; or the form of a page (call_is_form), which think() reads
    MEDIA_FILE,  // CSV of any length, which comes in parts: the route's think() and write() run for
                 // each, and answer with the last (Exchange.is_part); or JSON, parsed
} Media;

// Bytes of a body at most. BODY_LARGE is whatever the operator allows (Api.body_max).
#define BODY_USUAL ((size_t) 1 << 20)
#define BODY_LARGE SIZE_MAX
#define BODY_SURVEY ((size_t) 4 << 20) // it has 500 questions, in 20 languages
#define BODY_HOOK ((size_t) 25 << 20)  // GitHub sends no more
#define BODY_FILE ((size_t) 1 << 30)   // of which BODY_PART lies in memory
#define BODY_PART ((size_t) 256 << 10)

struct Route {
    const char *method, *path; // {name} stands for one segment
    uint32_t roles;
    RouteRun run;
    const char *summary; // one line
    size_t body_max;
    Media media;
    bool keeps_answer;       // for an Idempotency-Key
    const Param *params;     // of the query; NULL: none
    bool is_paged;           // takes limit and cursor as well
    bool is_page;            // answers {items, next, complete}, the items being what it gives
    const Shape *takes;      // the body; NULL: there is none
    int status;              // of an answer that is no refusal
    int other_status;        // which the same answer may have as well; 0: none
    const Shape *gives;      // the answer, or a row of the page; NULL: none, or no JSON
    const Shape *else_gives; // what it may be instead; NULL: nothing
    const char *type;        // its content type; NULL: application/json
    const char *else_type;   // of the page that answers a form; NULL: there is none
    const char *example;     // a body, or NULL
    const DefinitionKind *definition; // of the routes that definitions share; NULL
    bool is_hook;     // it takes webhooks, whoever sends them, however they are coded (hooks_api.c)
    bool is_visit;    // whoever has a link comes here: counted by client
    bool takes_query; // whatever it says: a link may have been marked on its way
    bool is_site;     // it is a site's own, and takes the place of another there
    bool is_view;     // a page of the console, or what belongs to one: no part of the API
};

extern const Route routes[];
extern const size_t route_count;

// route_is_across: the role operations may call it, and name another tenant by ?tenant= (across.c).
static inline bool route_is_across(const Route *route)
{
    return route->roles != ANYONE && route->roles != ANY_ROLE &&
           (route->roles & MAY_ROLE(OPERATIONS)) != 0;
}
extern const Param across_params[]; // they stand behind all others

enum { CALL_PARAMS_MAX = 3 };

struct Call {
    Api *api;
    Exchange *exchange;
    const Route *route;
    Registry *registry;     // the snapshot it was let in with
    const RegistryKey *key; // NULL for routes open to anyone
    int64_t tenant;
    Str params[CALL_PARAMS_MAX]; // what stood for {name} in the path, in order
    Given *given;                // what the query says, by row; NULL: nothing (param.h)
    const Json *body;            // parsed; NULL when there was none
    Arena *arena;                // the exchange's; of what is poured, the piece's
    Reply reply;                 // what the handler made
    Buf out;                     // its body, as it grows
    JsonOut json;
    Str idempotency_key;                   // none
    void *with;                            // what its route's handlers share
    const void *known;                     // what a noun shows beside definitions; NULL
    void *thought;                         // what its think() left for its write()
    void (*let_go)(Call *call);            // of what its handlers hold, when it ends; NULL: nothing
    Err (*tell)(Call *call, Error *error); // of a write that went well; see call_later()
    size_t weight;                         // see Op
    union {
        Op op;
        Read read;
        Task task;
    };
};

// api_begin, api_refused, api_handle and api_turn are what the server calls; with is the Api.
Err api_begin(void *with, Exchange *exchange, Admission *ret, Error *error);
void api_refused(void *with, Exchange *exchange, Reply *reply);
void api_handle(void *with, Exchange *exchange);
void api_turn(void *with);

// call_json begins a JSON answer; write to call->json. A replay begins anew. Other answers are set
// in call->reply, with a body in the call's arena.
JsonOut *call_json(Call *call, int status);

// call_later ends a write(): tell() writes the answer from what write() left in call->with, in the
// call's own memory. It runs when the transaction is over, for an Idempotency-Key inside it.
void call_later(Call *call, Err (*tell)(Call *call, Error *error));

// call_undo says, in the write() of a route that is_whole, that what it did is to be undone: it was
// only tried, and its answer tells what came of it.
void call_undo(Call *call);

// call_header adds a header to the answer (ETag, Location), after call_json().
void call_header(Call *call, Str name, Str value);

// call_secret says that the answer holds a secret: kept for an Idempotency-Key, it is sealed.
void call_secret(Call *call);

// call_refuse makes the error the answer of a call that was handed to RouteSet.write().
void call_refuse(Call *call, Err err, const Error *error);

// call_write goes on with the route's write(), at the end of a START call: what it did is kept.
void call_write(Call *call);

// call_keep ends a call with what RouteRun.after has to tell: for an Idempotency-Key it is kept
// instead of the answer that was kept with the write.
void call_keep(Call *call, Err (*tell)(Call *call, Error *error));

// call_park is for a START call that waits for something which may be long in coming: a stop
// answers it (503, with Retry-After). When it has come, call_unpark() makes the call its handler's
// again; false: it was answered, and is gone.
void call_park(Call *call);
bool call_unpark(Call *call) MUST_USE;

// call_tell ends a START call with what there is to tell.
void call_tell(Call *call, Err (*tell)(Call *call, Error *error));

// call_reply and call_fail end a START call; the others end by returning.
void call_reply(Call *call);
void call_fail(Call *call, Err err, const Error *error);
// call_turn_down ends it with its handler's refusal, which is kept with its Idempotency-Key.
void call_turn_down(Call *call, Err err, const Error *error);

// call_identify finds out, on a route that is open to anyone, who asks all the same: call->key
// stays NULL where no known key was named. call->registry must be there.
void call_identify(Call *call);

// call_parse parses the request's body as JSON; a thinker's work.
Err call_parse(Call *call, const Json **ret, Error *error) MUST_USE;

// call_is_form: the body is a page's form.
bool call_is_form(const Call *call);

// call_body requires a JSON body that is an object.
Err call_body(Call *call, Error *error) MUST_USE;

// call_merge returns what a merge patch (RFC 7396) makes of current, which is the text of an
// object.
Err call_merge(const Call *call, Str current, const Json *patch, const Json **ret,
               Error *error) MUST_USE;

// call_id reads a path parameter as an id; anything else cannot exist: ERR_NOT_FOUND.
Err call_id(const Call *call, int param, Uuid *ret, Error *error) MUST_USE;

// A page is a walk (store/walk.h) that ?limit= (PAGE_ROWS unless said) and ?cursor= ask for; a
// cursor is the place where another page ended, as opaque text.
#define PAGE_ROWS 50 // unless said
enum { PAGE_ROWS_MAX = 500 };
extern const Param page_params[]; // they stand behind the route's own rows
Err call_walk(const Call *call, Walk *ret, Error *error) MUST_USE;

// page_open begins {"items":[, page_close ends it: with "next", null where nothing lies behind, and
// "complete", false where the page ended before its limit. page_put puts these two alone.
JsonOut *page_open(Call *call);
void page_close(Call *call, const Seen *seen);
void page_put(Call *call, const Seen *seen);

// Whoever has the role read sees addresses masked (***@example.org, ***01): call_address is one as
// the caller may see it, call_recipient a recipient. call_may_search refuses a search in addresses,
// which would tell them letter by letter; call_sees_recipients is for what quotes a recipient.
Str call_address(const Call *call, Str address);
Str call_recipient(const Call *call, Str recipient);
Err call_may_search(const Call *call, Error *error) MUST_USE;
bool call_sees_recipients(const Call *call);

// call_tenant_id is the tenant's public id, for answers.
Str call_tenant_id(const Call *call);
