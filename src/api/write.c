#include "api/served.h"

#include "base/log.h"

// A call on its way through a transaction, from top to bottom: handed to the writer, let in again,
// its Idempotency-Key taken, done alone or in a set with others, its answer kept, and answered. All
// up to the answer may be replayed. What is refused is an answer; only what is Peal's own fault
// leaves here as an error and undoes the batch.

enum { LATE_MAX = 3 }; // after that the writer's thread decides: somebody publishes without end

static Err apply_set(Tx *tx, Op **ops, size_t count, Error *error);
static Err write_set(Tx *tx, Call **calls, size_t *count, Error *error);
static Err enter(Served *served, Tx *tx, Entry *ret, Error *error);
static Err leave(Served *served, Tx *tx, Error *error);
static void set_done(Op *op, Err err, const Error *error);
static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void write_done(Op *op, Err err, const Error *error);

static Call *call_of_op(Op *op)
{
    return (Call *) ((char *) op - offsetof(Call, op));
}

void call_write(Call *call)
{
    static const OpKind one = { .name = "call", .apply = apply };
    static const OpKind first = { .name = "first call", .apply = apply };
    static const OpKind many = { .name = "set", .apply = apply_set };
    const RouteRun *run = &call->route->run;
    call->op = (Op){ .kind = run->set        ? &many
                             : run->is_first ? &first
                                             : &one,
                     .done = run->set ? set_done : write_done,
                     .is_urgent = run->is_first,
                     .is_alone = run->is_whole,
                     .weight = call->weight,
                     .bytes = call->exchange->body.len };
    writer_submit(api_writer(call->api), &call->op);
}

// apply_set writes calls of one set's routes together. Calls with the same Idempotency-Key cannot
// be in one set: the later ones follow in the next and find the answer of the first.
static Err apply_set(Tx *tx, Op **ops, size_t count, Error *error)
{
    Call **calls = ARENA_ARRAY(&tx->arena, Call *, count);
    for (size_t from = 0, to; from < count; from = to) {
        const RouteSet *set = call_of_op(ops[from])->route->run.set;
        for (to = from; to < count && call_of_op(ops[to])->route->run.set == set; to++)
            calls[to - from] = call_of_op(ops[to]);
        for (size_t left = to - from; left > 0;)
            TRY(write_set(tx, calls, &left, error));
    }
    return ERR_OK;
}

// write_set does the calls that may go now and leaves those that have to wait in calls.
static Err write_set(Tx *tx, Call **calls, size_t *count, Error *error)
{
    Call **going = ARENA_ARRAY(&tx->arena, Call *, *count);
    size_t going_count = 0, waiting = 0;
    for (size_t i = 0; i < *count; i++) {
        Entry entry;
        TRY(enter((Served *) calls[i], tx, &entry, error));
        if (entry == ENTRY_GO)
            going[going_count++] = calls[i];
        else if (entry == ENTRY_WAITS)
            calls[waiting++] = calls[i];
    }
    assert(waiting == 0 || going_count > 0); // whoever waits, waits for one that goes
    *count = waiting;
    if (going_count == 0)
        return ERR_OK;
    const RouteSet *set = going[0]->route->run.set;
    TRY(set->write(tx, going, going_count, error));
    for (size_t i = 0; i < going_count; i++) {
        call_later(going[i], set->answer);
        TRY(leave((Served *) going[i], tx, error));
    }
    return ERR_OK;
}

// is_late says that the writer's thread would have much to decide anew. How much is written tells
// nothing: what a thousand triggers do not want is one row.
static bool is_late(const Served *served, const Tx *tx)
{
    const Call *call = &served->call;
    const RouteSet *set = call->route->run.set;
    return set && !served->refusal && served->decided_on != tx->registry->stamp &&
           served->late_count < LATE_MAX && set->weigh(call) > QUICK_PAIRS_MAX;
}

// enter lets the call into the transaction: its key is looked at again, its Idempotency-Key taken.
static Err enter(Served *served, Tx *tx, Entry *ret, Error *error)
{
    reply_anew(served);
    *ret = ENTRY_GO;
    Err err = rights_readmit(served, tx->registry, tx->now, &served->error);
    if (err == ERR_OK && is_late(served, tx)) {
        served->is_late = true;
        *ret = ENTRY_LATE;
        return ERR_OK;
    }
    if (err == ERR_OK)
        err = once_take(served, tx, ret, &served->error);
    if (err != ERR_OK)
        *ret = ENTRY_ANSWERED;
    return reply_conclude(served, err, error);
}

// leave ends the work of a call that came in. The answer that is kept for an Idempotency-Key is
// part of the transaction; one that is not kept frees the key.
static Err leave(Served *served, Tx *tx, Error *error)
{
    if (!once_has_key(served))
        return ERR_OK;
    TRY(reply_write(served, error));
    if (once_is_kept(served->call.reply.status))
        return once_keep(served, tx, error);
    once_cancel(served, tx);
    return ERR_OK;
}

static void set_done(Op *op, Err err, const Error *error)
{
    Served *served = (Served *) call_of_op(op);
    Error crowded = { 0 };
    if (err == ERR_OK && served->is_late) {
        served->late_count++;
        if (call_rethink(served, DESK_SLOW))
            return;
        err = call_crowded(&crowded);
        error = &crowded;
    }
    const RouteSet *set = served->call.route->run.set;
    if (err == ERR_OK && served->refused == ERR_OK && set->stays && set->stays(&served->call))
        return;
    reply_later(served, err, error);
}

static void answer(Served *served)
{
    reply_finish(&served->call, served->failed, &served->error);
}

static void answer_as_task(Task *task, void *seat)
{
    (void) seat;
    answer((Served *) call_of_task(task));
}

static void answer_at_server(Exchange *exchange)
{
    answer(exchange->with);
}

// reply_later has the answer written elsewhere than on the pen's thread, for which another batch
// waits. A set's answers cost little, unless the call is heavy: the server's thread writes
// them when it sends them. All others cost too much there and go to the thinkers; where too many
// wait for those, the server's thread does it all the same. No answer is turned away.
void reply_later(Served *served, Err err, const Error *error)
{
    Call *call = &served->call;
    served->failed = err;
    if (err != ERR_OK)
        served->error = *error;
    bool is_long = call->weight > QUICK_PAIRS_MAX;
    bool is_short_set = !is_long && call->route->run.set;
    if (is_short_set || !call_aside(served, is_long ? DESK_SLOW : DESK_QUICK, answer_as_task))
        exchange_wake(call->exchange, answer_at_server);
}

// work does what the call asks for; of one that was turned down, or tried and undone, only the
// answer is left to keep.
static Err work(Served *served, Tx *tx)
{
    Call *call = &served->call;
    if (served->tried) {
        call_later(call, served->tried);
        return ERR_OK;
    }
    if (!served->refusal)
        return call->route->run.write(call, tx, &served->error);
    served->error = *served->refusal;
    return served->refusal->err;
}

// UNDONE is what the writer is told of a call that was only tried. Nobody else hears it.
#define UNDONE ERR_CONFLICT

// undo has the writer roll back what a call did that is whole and was refused, or only tried. What
// was said of it stays in the call.
static Err undo(const Served *served, Error *error)
{
    if (!served->call.route->run.is_whole || served->refusal || served->tried)
        return ERR_OK;
    if (served->refused != ERR_OK)
        return fail(error, served->refused, "%s", served->error.detail);
    return served->is_undone ? fail(error, UNDONE, "it was only tried") : ERR_OK;
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Call *call = call_of_op(ops[i]);
        Served *served = (Served *) call;
        Entry entry;
        TRY(enter(served, tx, &entry, error));
        assert(entry == ENTRY_GO || entry == ENTRY_ANSWERED); // one at a time, never a set
        if (entry != ENTRY_GO && call->route->run.take_back)
            TRY(call->route->run.take_back(call, tx, error));
        if (entry != ENTRY_GO)
            continue;
        tx->actor = call->key ? call->key->id : (Uuid){ { 0 } };
        TRY(reply_conclude(served, work(served, tx), error));
        TRY(undo(served, error));
        TRY(leave(served, tx, error));
    }
    tx->actor = (Uuid){ { 0 } };
    return ERR_OK;
}

static void refusal_done(Op *op, Err err, const Error *error)
{
    reply_later((Served *) call_of_op(op), err, error);
}

// keep_undone answers a call whose work was undone on purpose: what an Idempotency-Key keeps of it
// takes another transaction.
static void keep_undone(Served *served)
{
    static const OpKind kept = { .name = "undone", .apply = apply };
    Call *call = &served->call;
    Error *told = arena_copy(call->arena, &served->error, sizeof served->error);
    told->err = served->refused;
    served->tried = served->is_undone ? call->tell : NULL;
    served->refusal = served->is_undone ? NULL : told;
    call->op = (Op){ .kind = &kept, .done = refusal_done };
    writer_submit(api_writer(call->api), &call->op);
}

static bool was_undone(const Served *served, Err err)
{
    Err undone_with = served->is_undone ? UNDONE : served->refused;
    return served->call.route->run.is_whole && err != ERR_OK && err == undone_with;
}

static void write_done(Op *op, Err err, const Error *error)
{
    Call *call = call_of_op(op);
    Served *served = (Served *) call;
    if (was_undone(served, err)) {
        if (call->idempotency_key.at)
            keep_undone(served);
        else
            reply_later(served, ERR_OK, NULL);
        return;
    }
    bool is_good = err == ERR_OK && served->refused == ERR_OK && call->reply.status < 300;
    if (is_good && call->route->run.after)
        call->route->run.after(call);
    else
        reply_later(served, err, error);
}

void call_turn_down(Call *call, Err err, const Error *error)
{
    static const OpKind refusal = { .name = "refusal", .apply = apply };
    Served *served = (Served *) call;
    if (!once_has_key(served) || !once_is_kept(err_http(err))) {
        call_fail(call, err, error);
        return;
    }
    Error *told = arena_copy(call->arena, error, sizeof *error);
    told->err = err;
    served->refusal = told;
    call->op = (Op){ .kind = &refusal, .done = refusal_done };
    writer_submit(api_writer(call->api), &call->op);
}

static Err apply_keep(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(once_keep((Served *) call_of_op(ops[i]), tx, error));
    return ERR_OK;
}

// keep_done answers in any case: what the call asked for is done, and committed.
static void keep_done(Op *op, Err err, const Error *error)
{
    if (err != ERR_OK)
        log_warn("answer.unkept", "detail=%s", log_quote(str_from(error->detail)));
    call_reply(call_of_op(op));
}

void call_keep(Call *call, Err (*tell)(Call *call, Error *error))
{
    static const OpKind keep = { .name = "keep", .apply = apply_keep };
    Error failure = { .arena = call->arena };
    Err err = tell(call, &failure);
    if (err != ERR_OK || !call->idempotency_key.at) {
        reply_finish(call, err, &failure);
        return;
    }
    call->op = (Op){ .kind = &keep, .done = keep_done, .is_urgent = call->route->run.is_first };
    writer_submit(api_writer(call->api), &call->op);
}
