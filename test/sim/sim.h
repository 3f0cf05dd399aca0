// sim.h - a whole Peal in one thread, in invented time, from one number.
//
// Real: the engine, the writer, the door, the acts of people, every SQL statement, SQLite itself.
// Invented, all of it drawn from one seed: time, chance, the far side of every channel, the disk
// (test/survive/powerloss_vfs.c), and when things go wrong. The same seed gives the same run, call
// for call; its trace has a hash that tells.
//
//   sim.c      the program: seeds, jobs, reports
//   world.c    time passes: whatever is due next happens; then all is well, and all must end well
//   moves.c    what clients and people ask for, and what goes wrong: two tables
//   node.c     one process: engine and writer over a store, its start, its stop, its death
//   far.c      the far side: a scripted Transport and its record of what reached it
//   audit.c    that what happened is on record, once, in a chain that holds
//   elsewhere.c  what a far side takes on and tells of later
//   job.c      jobs, and what their schedules promise
//   defer.c    runs that are put off, replaced and called off
//   survey.c   answers to a survey, and that each is one response, told whole
//   worker.c   those who pull their work, and tell of it or not
//   inbox.c    what applications emit, and that each row becomes its event
//   poll.c     a mailbox that is polled, and that each mail becomes its event
//   purge.c    what may go when its time is over, and nothing else
//   look.c     the store as rows, the only SQL of the simulation
//   care.c     what far sides are spared: circuits
//   order.c    what an ordered lane promises
//   mail.c     a far side that answers for each recipient
//   list.c     whom notifications go to, and what each of them is promised
//   laws.c     what each invariant says; checked after every commit, at every send and at the end
//
// Nodes. SQLite lets one process write. A run with several nodes gives each its own connection to
// one file, and lets one transaction follow the other whole, as PostgreSQL's isolation would for
// the rows that claims lock. So what is tried of several nodes is leases, fences, sweeps, outages
// and clocks of their own; the statements written for PostgreSQL alone are not, nor is a COMMIT
// whose reply is lost there: test/suite and test/survive do that. Limits are counted per node.
//
// A writer's wait for a store that is away, and an engine's for its last transfers, run the rest of
// the world meanwhile. A process dies by being cut off: from then on its store fails, nobody hears
// what it says, and it is taken down as soon as its own calls have returned.
#pragma once

#include "domain/job.h"
#include "domain/run.h"
#include "engine/engine.h"
#include "store/accept.h"
#include "store/delivery.h"
#include "store/poll_group.h"
#include "store/queue.h"

enum {
    OUR_TENANT = 1,
    NODES_MAX = 4,
    LANES_MAX = 7,
    ORDERED_LANE = 3,
    MAIL_LANE = 4,
    HANDED_LANE = 5,
    PULLED_LANE = 6,
    HOSTS_MAX = 6,
    MEMBERS_MAX = 130, // of a list: more than an attempt carries
    WINDOWS_MAX = 8,   // of a rate: nodes' clocks are apart by less
    KEYS = 6,
    ENTITIES = 4, // that runs are put off for
    PATTERNS_MAX = 24,
    TRACKS_MAX = 2048,
    SENDS_MAX = 8192,
    CALLS_MAX = 4096,
    EMITS_MAX = 1024,
    LENT_MAX = 2048,
    ATTEMPTS_MAX = 64,
};

// A round number of microseconds in 2026, where every run begins.
#define BEGINNING ((Instant) 1767225600 * SPAN_SECOND)

// What the engine promises of its leases (engine/state.h), said again: a law has its own opinion.
#define LEASE ((Span) 15 * SPAN_SECOND)
#define RENEW ((Span) 5 * SPAN_SECOND)
#define OBEYED ((Span) 5 * SPAN_SECOND)   // how far a clock may jump and be believed at once
#define DOUBTED ((Span) 20 * SPAN_SECOND) // how long, at least, it is not believed otherwise
#define GRACE ((Span) 10 * SPAN_SECOND)

// How long what has ended is kept here.
#define KEPT ((Span) 60 * SPAN_SECOND)
#define KEPT_DELIVERED ((Span) 45 * SPAN_SECOND)

typedef struct Sim Sim;

// Pattern is one trigger as the simulation understands it; json is the same for Peal.
typedef struct Pattern {
    const char *id, *kind, *json;
    int lane; // index
    int reminder_count;
    Span reminders[2];
    bool awaits;
    Span expires_after;
    Span wait; // before the first retry
    bool is_doubling;
    int max;
    Span give_up_after; // 0: never
    bool is_keyed, is_recalled;
    int members;    // of a list; 0: it is a trigger
    bool is_survey; // it is made by the publish of one
    bool is_job;
    Span period; // of its schedule: it is due at every multiple; 0: it has none
    JobMissed missed;
    JobOverlap overlap;
    Span missed_window;
} Pattern;

extern const Pattern patterns[];
extern const size_t pattern_count;
const Pattern *pattern_named(Str id);

// Row is what the store says of one delivery. It has no holes: two are compared as bytes.
typedef struct Row {
    DeliveryState state;
    Step step;
    Instant due_at;      // of the step; of a parked one: when it expires
    Instant lease_until; // while sending
    int attempt, fence, failures, send, reminders_left, reason;
    Instant first_due_at, last_sent_at, started_at, ended_at;
    int64_t holder, lane;
} Row;
_Static_assert(sizeof(Row) == 2 * 4 + 6 * 4 + 8 * 8, "a Row has no holes");

typedef enum Answer {
    ANSWER_TAKEN,         // 2xx
    ANSWER_REFUSED,       // 4xx for good
    ANSWER_UNWELL,        // 5xx
    ANSWER_LATER,         // 503 with Retry-After
    ANSWER_GONE,          // 410
    ANSWER_NO_CONNECTION, // refused, nothing arrived
    ANSWER_LOST,          // it was taken, and the reply never came
    ANSWER_NEVER,         // it hangs: nothing was taken, nothing comes
} Answer;

// Post is what reached the members of a list, by their numbers.
typedef struct Post {
    const struct Send *taken_in[MEMBERS_MAX + 1];   // the last mail that the far side took for him
    const struct Send *carried_in[MEMBERS_MAX + 1]; // the last mail that named him
} Post;

// Track is one delivery, as it is followed from outside.
typedef struct Track {
    Uuid id, event;
    const Pattern *pattern;
    RunSource source; // of a run …
    Instant scheduled_for, made_at;
    int entity; // that it was put off for
    Uuid end;   // … and the event that told of its end; none
    int key;
    Row row;
    bool is_there, is_gone; // it was seen; it was purged
    int seen_first;         // when it was
    int seen;               // when it was last looked at …
    int moved;              // … and found to have changed
    int by_hand;            // acts of people that were asked for and may have moved it
    Instant closed_at;      // when it was seen cancelled, completed or the like; INSTANT_NONE
    int closed_in_flight;   // the attempt that was under way then; 0: none
    int64_t closed_by;      // the node that closed it
    int permanent;          // the attempt that was refused for good; 0: none
    Row before;             // its last claim
    bool is_claimed[ATTEMPTS_MAX];
    int64_t claimed_by[ATTEMPTS_MAX];
    Instant claimed_at[ATTEMPTS_MAX];
    int claimed_in[ATTEMPTS_MAX]; // the commit
    struct Send *sends[ATTEMPTS_MAX];
    Post *post;         // of a list's
    int enqueued;       // rows of the audit that say so
    uint64_t audited;   // attempts that it tells of: a bit each
    int64_t audited_by; // the fact that the last of them was told by
    int ended_as;       // AuditStatus, by its last word; -1: none
    Uuid response;      // that it was answered with; none
    bool is_answered;   // somebody was told so
    int reported;       // the attempt that somebody outside told of, last …
    Verdict told;       // … and what he said
} Track;

// Send is one transfer that began: a byte left.
typedef struct Send {
    Track *track;
    int node, life, lane;
    int send, attempt;
    Instant started_at, ends_at;
    Answer answer;
    Span retry_after;
    int status;
    struct Letter *letters; // of a mail: one for each recipient
    size_t letter_count;
    bool is_told;    // the engine was told …
    Instant told_at; // … when its own clock said so
    bool is_cut;     // its process died or stopped before
    TransferDone *done;
    void *with;
} Send;

// Letter is a mail's matter with one of its recipients.
typedef struct Letter {
    int member;
    int code; // what he was answered; 0: nothing
    bool is_taken;
} Letter;

// Mood is how a lane's far side behaves at the moment: weights over answers, and how long it takes.
typedef struct Mood {
    const char *name;
    int weights[ANSWER_NEVER + 1];
    Span least, most;
} Mood;

// Shadow is a host's circuit as a node should see it, by what it was told (care.c).
typedef struct Shadow {
    bool is_open;
    int failures; // in a row
    Span wait;
    Instant probe_at;         // by the node's clock
    bool is_set_back;         // the clock was, since then, to before the circuit opened
    Instant closed_at;        // true time
    Instant freed_at;         // true time: a change of a channel let it be probed at once
    const struct Send *probe; // under way; NULL
} Shadow;

typedef enum Trouble { TROUBLE_NONE, TROUBLE_BUSY, TROUBLE_FULL, TROUBLE_LOST } Trouble;

typedef struct Node {
    Sim *sim;
    int index, life;
    int64_t number; // in the store
    bool is_up;
    bool is_dead;             // cut off: the store fails, nobody hears it
    bool is_mute;             // it died in its COMMIT: that is durable, and nobody heard
    bool stops;               // its orderly end has begun
    int in_writer, in_engine; // calls of its own that wait while the world goes on
    Clock clock;
    Span skew; // of the machine's wall clock: it outlives the process
    Random random;
    Writer *writer;
    Engine *engine;
    Transport transport;
    Instant wakes_at, writes_at, starts_at, stops_at;
    Instant frozen_at, frozen_until; // when it stood still last
    Span writer_delay;
    Trouble trouble;
    Instant trouble_until;
    int dies_in; // calls of the store; 0: not armed
    bool dies_at_commit, freezes_at_commit;
    Instant born_at;
    Instant shaken_until; // the last time it stood still, or had no store, for long; INSTANT_NONE
    Instant jumped_at;    // INSTANT_NONE
    Instant lost_time_at; // jumped by more than a node obeys; INSTANT_NONE
    bool is_dazed;        // it stood still while its clock jumped: what it trusts is not known
    Span trusted;         // the skew before that
    Shadow shadows[HOSTS_MAX];       // of this life
    Instant paused_until[LANES_MAX]; // by its clock: what it was asked for itself, in this life
    int spins;                       // turns of the engine that wanted another at once
} Node;

typedef enum CallKind {
    CALL_INGEST,
    CALL_EMIT,
    CALL_ACT,
    CALL_HOLD,
    CALL_RELEASE,
    CALL_CHANNEL,
    CALL_PURGE,
    CALL_REPORT,
    CALL_PULL,
    CALL_TOLD,
    CALL_JOB,
    CALL_DEFER,
    CALL_ANSWER
} CallKind;

// Emit is a row of the inbox, as it is followed from outside.
typedef struct Emit {
    Uuid id;
    int source;
    bool is_bad;  // no event can become of it
    bool is_sent; // it was committed
    bool is_seen; // … and seen to be there
    int deaths;   // that there had been then
    bool is_done; // as it is stored: it is published or failed …
    bool is_good; // … published
    bool is_new;  // that is just found
    int attempts;
} Emit;

// Lent is a delivery that a worker pulled.
typedef struct Lent {
    Track *track;
    int fence, attempt;
    bool is_forgotten; // he never tells of it
    bool is_told;      // he did, and was believed
} Lent;

// Table is a schedule as it is stored, and its ledger since it was saved.
typedef struct Table {
    int64_t version; // 0: it was never seen
    Instant next_at, last_for, queued_for;
    int64_t missed, skipped;
    bool has_fault;
    Instant base, queued_before;
    int64_t missed_before, skipped_before;
} Table;

// Call is what a client asked of a node, and what it was told.
typedef struct Call {
    Op op;
    Sim *sim;
    Node *node;
    int life;
    CallKind kind;
    Instant asked_at, answered_at; // INSTANT_NONE: never
    bool is_done;                  // committed or refused, whether or not anybody heard
    Err err;
    Accept accept;
    Registry *registry;           // that its decisions refer to
    struct InboxRow *rows;        // that it emits …
    size_t row_count, first_emit; // … which are followed from there on
    Uuid delivery;
    DeliveryAction action;
    struct Report *report;
    Claim claim; // what a worker pulls
    Lent *lent;  // that he tells of
    const Pattern *job;
    bool is_on; // that it is saved
    int entity; // that it is put off for
    struct Answering *answering;
    int lane;
    Str body;
} Call;

typedef struct Lane {
    const char *key;
    int host;       // that it goes to, maybe with others
    int64_t number; // in the store
    int concurrency, rate_max;
    Span rate_per, timeout;
    bool is_ordered;
    bool is_enabled;
    bool was_off;                // ever, by a person or a 410
    Instant gone_at, changed_at; // 410 was answered; the channel was published
    int loosest; // concurrency: the most that was ever published, and may be still in force
    const Mood *mood;
    Instant windows[WINDOWS_MAX]; // of its rate …
    int spent[WINDOWS_MAX];       // … and what all nodes have sent in each
    Instant paused_until;         // true time: by any node
} Lane;

struct Sim {
    uint64_t seed;
    Random chance;
    Instant now; // true time: what passes for everybody alike
    long step;
    bool is_calm, has_failed, is_tracing;
    unsigned appetite; // which troubles this seed has: a bit per row of the table
    Arena arena, scratch;
    Node nodes[NODES_MAX];
    int node_count;
    Lane lanes[LANES_MAX];
    int lane_count;
    Instant client_at, trouble_at, worker_at;
    int calls_left;
    Db *eye;             // reads the rows …
    int64_t version;     // … as they were then; 0: never
    struct Store *suite; // the same for test/suite's fixture
    Track *tracks;
    size_t track_count;
    int places[TRACKS_MAX * 2]; // of tracks, by id
    Send *sends;
    size_t send_count, first_open;
    Call **calls;
    size_t call_count;
    Lent *lent;
    size_t lent_count;
    unsigned called_off;            // entities, in this commit: a bit each
    Table tables[PATTERNS_MAX];     // by pattern
    Instant fired_at[PATTERNS_MAX]; // when the last of its occurrences was made
    Emit *emits;
    size_t emit_count, emits_done; // those that went before are all done
    struct Box *box;               // that is polled
    bool is_held;                  // as committed
    Instant held_at;               // since when
    int64_t held_by;
    Instant quiet_at; // when that node answered; INSTANT_NONE: it has not yet
    int commits, deaths;
    int last_writer; // the node whose batch was the last
    uint64_t hash;
    struct Trace *trace;
    int reached[DELIVERY_STATE_COUNT];
    int purged;     // deliveries
    int responses;  // that were ever seen
    Instant latest; // that any node's clock has shown: it may have been put back since
    int64_t audit_seq, audit_number; // the last row of the audit that was read, and its fact
    int audit_part;
    bool has_unread; // the purge was quicker
};

// world.c
void world_run(Sim *sim, Instant until); // whatever falls due until then, in its order
bool sim_run(Sim *sim);                  // a whole run; false: an invariant did not hold
int draw(Sim *sim, int count);
Span draw_span(Sim *sim, Span least, Span most);
bool chance(Sim *sim, int percent);
void trace(Sim *sim, const char *format, ...) PRINTF(2, 3);

// broken tells that an invariant does not hold, with the last moves; the run has failed.
void broken(Sim *sim, const char *invariant, const char *format, ...) PRINTF(3, 4);

// moves.c
void move_client(Sim *sim);
void move_trouble(Sim *sim);
void moves_end_all(Sim *sim);  // every trouble is over …
void moves_open_all(Sim *sim); // … nothing is held, every channel is on
Err moves_publish_all(Tx *tx, void *sim, Error *error);
Err moves_put(Tx *tx, Str kind, Str id, Str channel, Str body, Error *error); // a definition
Str moves_quoted(Sim *sim, const char *text); // with quotes as JSON has them
size_t trouble_count(void);

Call *call_new(Sim *sim, Node *node, CallKind kind);
void call_submit(Call *call, const OpKind *kind, void (*done)(Op *op, Err err, const Error *error));
void call_done(Op *op, Err err, const Error *error); // hands the answer to its client

// node.c
void node_start(Node *node);
void node_turn(Node *node);  // of the engine
void node_write(Node *node); // a batch of the writer
void node_stop(Node *node);
void node_die(Node *node, const char *how);
void node_reap(Node *node);       // takes it down when it is dead and none of its calls waits
void node_plan_write(Node *node); // something was submitted
void node_freeze(Node *node);     // it stands still for a while
void node_trouble(Node *node, Trouble trouble, Span length); // its store fails for a while
void node_shake(Node *node, Span length); // remembers what may have cost it its leases
bool node_hears(const Node *node);
Instant node_wakes_at(const Node *node);
Instant node_writes_at(const Node *node);
void power_loss(Sim *sim);

// far.c
Transport far_transport(Node *node);
void far_forget(Node *node); // its process is gone
Instant far_next(const Node *node);
extern const Mood moods[];
extern const size_t mood_count;
Answer far_draw_answer(Sim *sim, const Mood *mood);
const char *answer_text(Answer answer);
bool is_mail(const Send *send);

// mail.c
void mail_read(Sim *sim, const Transfer *transfer, Send *ret);
void mail_script(Sim *sim, Send *send);
void mail_tell(Send *send, TransferResult *result); // fills in the replies
bool mail_was_answered(const Send *send);           // somebody was

// list.c
Err list_publish_all(Tx *tx, Error *error);
Str list_draw_event(Sim *sim); // a notification
int member_named(Str address); // his number; 0: nobody's
void list_on_send(Sim *sim, const Send *send);
void list_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is);
void list_often(Sim *sim);

// care.c
void care_on_send(Sim *sim, const Send *send);
void care_on_told(Sim *sim, const Send *send);
void care_on_jump(Node *node, Span jump); // its clock has jumped
void care_on_channel(Sim *sim, int lane); // it was published
// care_holds: its circuit keeps the lane of this node from sending, or did since then.
bool care_holds(const Sim *sim, const Node *node, int lane, Instant since);
bool care_holds_all(const Sim *sim, int lane, Instant since); // of every node

// order.c
void order_on_send(Sim *sim, const Send *send);
void order_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is);
// order_gives_back: what was sent in an ordered lane and may pass goes back, unspent.
bool order_gives_back(Sim *sim, Track *track, const Row *was);
bool is_ordered(const Sim *sim, const Track *track);
bool order_is_busy(const Sim *sim, int lane); // one is being sent, and the others wait for it

// purge.c
void purge_ask(Sim *sim, Node *node); // its next run is due
void purge_on_vanish(Sim *sim, Track *track);
size_t purge_gone_of(const Sim *sim, Uuid event); // deliveries of it that are gone
bool purge_may_take(const Sim *sim, Uuid event);  // one without deliveries
void purge_look(Sim *sim);

// audit.c
void audit_often(Sim *sim);
void audit_at_end(Sim *sim);

// elsewhere.c
extern const ChannelType *const channel_types_here[]; // with one whose far side takes things on
void elsewhere_ask(Sim *sim, Node *node);             // somebody outside reports
Outcome elsewhere_draw_outcome(Sim *sim);             // that he tells of
void elsewhere_on_answer(Sim *sim, const Call *call);
void elsewhere_on_left(Sim *sim, const Track *track, const Row *was, const Row *is);
void elsewhere_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is);

// job.c
Err job_publish(Tx *tx, Sim *sim, const Pattern *pattern, bool is_enabled, Error *error);
void job_ask(Sim *sim, Node *node);            // one is run by hand, or saved
void job_retire(Sim *sim, Node *node);         // all are switched off
bool job_may_be_overtaken(const Track *track); // by the next occurrence, before its retry
void job_on_made(Sim *sim, const Track *track);
void job_on_end(Sim *sim, Uuid event, Uuid run, bool is_chained); // an event tells so
void job_look(Sim *sim);
void job_on_time(Sim *sim, Instant since);
void job_often(Sim *sim);

// defer.c
void defer_ask(Sim *sim, Node *node); // a run is put off, or called off
void defer_on_answer(Sim *sim, const Call *call);
void defer_look(Sim *sim);

// survey.c
Err survey_publish_all(Tx *tx, Sim *sim, Error *error);
void survey_ask(Sim *sim, Node *node); // somebody answers
void survey_on_answer(Sim *sim, const Call *call);
// survey_on_response: one is there, with so many deliveries of the event that tells of it.
void survey_on_response(Sim *sim, Uuid id, Uuid delivery, Str answers, bool has_event, int told);
void survey_look(Sim *sim);
void survey_often(Sim *sim);

// worker.c
void move_worker(Sim *sim);
void worker_on_pull(Sim *sim, Call *call);
void worker_on_told(Sim *sim, const Call *call);

// inbox.c
void inbox_ask(Sim *sim, Node *node); // a client emits
void inbox_on_answer(Sim *sim, const Call *call);
void inbox_look(Sim *sim);
void inbox_at_end(Sim *sim);

// poll.c
void poll_open(Sim *sim);
void poll_close(Sim *sim);
Err poll_publish(Tx *tx, Error *error);
void poll_play(Sim *sim, Node *node); // mails come
void poll_end_troubles(Sim *sim);
bool poll_is_asked(const Transfer *transfer);
void poll_start(Node *node, const Transfer *transfer, TransferDone *done, void *with);
Instant poll_next(const Node *node);
void poll_tell_all(Node *node);
void poll_forget(Node *node); // its process is gone
void poll_on_event(Sim *sim, int number);
void poll_look(Sim *sim);
bool poll_waits(const Sim *sim); // something should become an event, and has not yet
void poll_at_end(Sim *sim);

// look.c
void look_open(Sim *sim);
void look_close(Sim *sim);
void look(Sim *sim); // brings the tracks up to date; every change goes through laws.c
Track *track_of(Sim *sim, Uuid id, bool make);

typedef struct Tried {
    Uuid delivery;
    int number, send;
    Verdict verdict;
    int64_t node;
} Tried;

// Told is a target as the store has it.
typedef struct Told {
    int member, send;
    Verdict verdict;
} Told;
Told *look_targets(Sim *sim, Uuid delivery, size_t *ret_count);
Tried *look_attempts(Sim *sim, size_t *ret_count); // by delivery and number
bool look_emit(Sim *sim, Emit *emit);              // as it is stored; false: it is not there
void look_polled(Sim *sim);                        // goes through the events of mails
// look_poll_group reads the one that there is, with its place; false: there is none.
bool look_poll_group(Sim *sim, PollGroup *ret, int *ret_cursor, bool *ret_recovers);
bool look_schedule(Sim *sim, const char *id, Table *ret); // false: there is none
void look_ends(Sim *sim);                                 // goes through the ends that are told of
void look_responses(Sim *sim);                            // goes through those that there are
int look_tally(Sim *sim);                                 // responses that are counted
bool look_event(Sim *sim, Uuid id);
size_t look_deliveries(Sim *sim, Uuid event);
size_t look_shared_identities(Sim *sim);
int64_t look_lane(Sim *sim, const char *key);
bool look_agrees(Sim *sim); // what test/suite wants of every store: counters, places, columns

// laws.c
int name_of(const Sim *sim, const Track *track);
// could_lapse: whether others could rightly take this node's lease for over, since then.
bool could_lapse(const Sim *sim, const Node *node, Instant since);
// is_explained: nobody could know what became of it, and so it may come twice.
bool is_explained(const Sim *sim, const Send *send);
void laws_on_change(Sim *sim, Track *track, const Row *was, const Row *is);
void laws_on_send(Sim *sim, Send *send);
void laws_on_answer(Sim *sim, const Call *call);
void laws_on_stop(Sim *sim, const Node *node, Span took);
void laws_on_time(Sim *sim);  // between steps
void laws_often(Sim *sim);    // over all rows
void laws_at_peace(Sim *sim); // once troubles have been over for a while
void laws_at_end(Sim *sim);   // when all that could fall due has
