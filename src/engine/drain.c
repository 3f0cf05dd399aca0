#include "engine/state.h"

#include "engine/unpacking.h"
#include "store/accept.h"
#include "store/defer.h"
#include "store/inbox.h"
#include "store/integration.h"
#include "store/message.h"
#include "store/notification.h"
#include "store/poll_group.h"

// The drain makes of the inbox's rows what they are to become (domain/inbox.h), many in one
// transaction, in the order of each source. It runs when it is told of something, which a commit of
// this node, or a NOTIFY of an application's, does; and once a second besides. While rows come it
// looks every few milliseconds instead and says so (inbox_awake), so that applications need not
// ring: NOTIFY makes the commits of those that ring wait for each other.
//
// A row that cannot become an event fails at once, with the reason. A transaction that fails by its
// own fault has done nothing, and nobody knows which of its rows is to blame: so they are all
// counted one attempt, and taken one by one from then on, until each is done or has failed three
// times. So it is where a process died: what it had taken is then the first that is there to take.
// Of a row that is taken alone the try is counted first, in a transaction of its own, for it may
// be one that ends the process too.
//
// A hook becomes as many events as its provider reads from it (unpack.h), or none, and says why.
// Whose they are is found out for all hooks of a transaction at once, in pieces: what a hook says
// of an account holds for what came behind it, and for nothing before.
//
// A transaction is short: it ends with the row that fills it. A hook that is long to read, or fills
// several, is left to be read by a thread, and is written part by part (unpacking.h); so is each
// that was part of a failure, for it may be its parser's.

#define AWAKE ((Span) SPAN_SECOND)             // after the last row that came
#define AWAKE_LONGER ((Span) SPAN_SECOND / 10) // for those that commit at its end
#define CANCELLED_BY S("peal.cancel")
#define DIED "Peal ended, perhaps while it handled this row"
#define NO_END "its parser came to no end in 10 s"

#define DECIDE_MAX ((Span) SPAN_SECOND / 10) // that deciding takes in one transaction

// Opened is a row as it is looked at: of a hook, what is in it and where each event goes.
typedef struct Opened {
    InboxRow *row;
    Unpacked unpacked;
    size_t from, to;          // of the events, those that are written now
    bool is_part;             // which need not be all …
    bool is_again;            // … and may be stored
    IntegrationRoute *routes; // of them
    Str unheard;  // why what it says of accounts is of none that it may speak of; none: it is
    bool is_done; // it has ended, or a part of it has
} Opened;

// Draining is rows of one transaction that become events together.
typedef struct Draining {
    Tx *tx;
    const EngineOptions *options;
    Opened *opened; // of the rows that were taken
    Accept **accepts;
    InboxRow **rows; // of the accepts: several in a row may be of one
    size_t count, room;
    size_t pairs, bytes;   // that these make
    Instant began_at;      // monotonic
    bool is_full;          // whatever is left is left for the next transaction
    Unpacking *unpacking;  // where a hook is left that is long; NULL: none is
    const InboxRow *asked; // that was; NULL
} Draining;

static Err take_rows(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error);
static Err write_part(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error);
static void blame(Tx *tx, const InboxTaken *taken, Uuid tried, const char *fault);
static void count_try(const Tx *tx, InboxRow *row);
static Err work(Draining *draining, InboxTaken *taken, Error *error);
static void leave(Draining *draining, InboxRow *row);
static void measure(const Tx *tx, const InboxTaken *taken);

// Of a hook that was read every second run writes a part; one behind a failure is for what failed.
// A run may be applied several times, for the same each time.
Err drain_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Unpacking *unpacking = ret->unpacking;
    if (!unpacking)
        return take_rows(tx, options, ret, error);
    unpacking_begin(unpacking);
    bool is_read = unpacking_stage(unpacking) == UNPACKING_READ;
    unpacking->runs = is_read && (ret->fault ? unpacking->runs : !unpacking->has_run);
    if (unpacking->runs)
        return write_part(tx, options, ret, error);
    TRY(take_rows(tx, options, ret, error));
    ret->has_more |= is_read;
    return ERR_OK;
}

static Draining draining_of(Tx *tx, const EngineOptions *options, size_t count)
{
    return (Draining){ .tx = tx,
                       .options = options,
                       .opened = ARENA_ARRAY(&tx->arena, Opened, count),
                       .accepts = ARENA_ARRAY(&tx->arena, Accept *, count),
                       .rows = ARENA_ARRAY(&tx->arena, InboxRow *, count),
                       .room = count,
                       .began_at = clock_monotonic(options->clock) };
}

static InboxAsk ask_of(const EngineOptions *options, const DutyReport *report)
{
    InboxAsk ask = { .tried = report->trial.tried,
                     .breaks_hold = options->is_only_node && !report->trial.has_begun };
    if (report->unpacking) {
        ask.read = report->unpacking->row.id;
        ask.is_leaving = report->unpacking->engine->is_stopping; // what it began would be a try
    }
    return ask;
}

static Err take_rows(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    InboxTaken taken;
    int64_t deaths = 0;
    InboxAsk ask = ask_of(options, ret);
    Uuid tried = ask.tried;
    TRY(inbox_take(tx, &ask, &taken, error));
    if (!ret->trial.has_begun)
        TRY(node_deaths(tx, options->node, clock_now(options->real), &deaths, error));
    ret->trial = (DrainTrial){ .has_begun = true };
    ret->drained = (int64_t) taken.count;
    ret->has_more = taken.has_more || deaths > 0;
    ret->is_pending = taken.is_pending;
    if (taken.count == 0)
        return ERR_OK;
    TRY(tx_guard(tx, error)); // rows may be younger than what this transaction knows of rules
    Draining draining = draining_of(tx, options, taken.count);
    draining.unpacking = ret->unpacking;
    if (ret->fault) {
        blame(tx, &taken, tried, ret->fault);
    } else if (taken.is_alone && taken.rows[0].kind == INBOX_HOOK && ret->unpacking) {
        leave(&draining, &taken.rows[0]);
    } else if (taken.is_alone && uuid_cmp(taken.rows[0].id, tried) != 0) {
        count_try(tx, &taken.rows[0]);
        ret->trial.tried = taken.rows[0].id;
    } else if (deaths > 0) {
        blame(tx, &taken, tried, DIED);
    } else {
        taken.rows[0].attempts -= taken.is_alone; // that was this try, which has not failed
        TRY(work(&draining, &taken, error));
        ret->has_more |= taken.has_more;
    }
    inbox_settle(tx, taken.rows, taken.count);
    inbox_awake(tx, clock_now(options->real) + AWAKE);
    TRY(tx_sync(tx, error));
    measure(tx, &taken);
    return ERR_OK;
}

void drain_take(Engine *engine, const DutyReport *report)
{
    Instant monotonic = engine_monotonic(engine);
    engine->trial = report->trial;
    unpacking_go_on(engine);
    if (engine->options.is_only_node) { // its own commits are all that there is to hear of
        if (report->is_pending)         // but of rows that are to be tried again nobody tells
            duty_falls_due(engine, DUTY_DRAIN, clock_now(engine->options.clock) + SPAN_SECOND);
        return;
    }
    if (report->drained > 0)
        engine->drains_until = monotonic + AWAKE + AWAKE_LONGER;
    engine->duties[DUTY_DRAIN].has_news = monotonic < engine->drains_until;
}

static void end(const Tx *tx, InboxRow *row, InboxStatus status, InboxReason reason, Str error)
{
    row->status = (int) status;
    row->reason = (int) reason;
    row->error = error;
    row->next_at = INSTANT_NONE;
    row->processed_at = tx->now;
}

// cut is what is kept of an error; what is no text is none.
static Str cut(Tx *tx, Str detail)
{
    Str text = str_dup(&tx->arena, str_head(detail, INBOX_ERROR_MAX));
    return text.at && str_is_utf8(text) ? text : STR_NONE;
}

static InboxReason refused(const InboxRow *row)
{
    return row->kind == INBOX_HOOK ? INBOX_REASON_REFUSED : INBOX_REASON_UNWRITTEN;
}

// fail_try: the try of a row failed that counts already.
static void fail_try(const Tx *tx, InboxRow *row, InboxReason reason, bool is_alone)
{
    if (is_alone)
        row->next_at = tx->now + ((Span) SPAN_SECOND << row->attempts);
    if (row->attempts >= INBOX_TRIES)
        end(tx, row, INBOX_FAILED, reason, row->error);
}

// blame counts an attempt of each row that was part of a failure; that of one which was tried
// counts already.
static void blame(Tx *tx, const InboxTaken *taken, Uuid tried, const char *fault)
{
    for (size_t i = 0; i < taken->count; i++) {
        InboxRow *row = &taken->rows[i];
        row->attempts += uuid_cmp(row->id, tried) != 0;
        row->error = cut(tx, str_from(fault));
        fail_try(tx, row, refused(row), taken->is_alone);
    }
}

// count_try counts the try that comes next. Where so many were counted and nobody lived to tell, it
// is not tried again.
static void count_try(const Tx *tx, InboxRow *row)
{
    if (row->attempts >= INBOX_TRIES)
        end(tx, row, INBOX_FAILED, INBOX_REASON_FATAL, S(DIED));
    else
        row->attempts++;
}

// hold leases a hook that is being read.
static void hold(const Tx *tx, InboxRow *row)
{
    row->reason = INBOX_REASON_BEING_READ;
    row->next_at = tx->now + INBOX_LEASE;
}

// leave has a hook read for later transactions, if no other is. Its try is counted before.
static void leave(Draining *draining, InboxRow *row)
{
    Unpacking *unpacking = draining->unpacking;
    if (!unpacking || unpacking_stage(unpacking) != UNPACKING_FREE)
        return;
    draining->asked = row;
    count_try(draining->tx, row);
    if (row->status == INBOX_FAILED)
        return;
    hold(draining->tx, row);
    unpacking_ask(unpacking, row);
}

static Err build_event(Arena *arena, const InboxRow *row, Event *ret, Error *error)
{
    *ret = (Event){
        .kind = row->event_kind,
        .source = row->source,
        .identity = row->external_id,
        .entity = row->entity,
        .correlation_id = row->correlation_id,
        .topic = row->topic,
        .schema_version = row->schema_version,
        .occurred_at = INSTANT_NONE,
    };
    return event_build_row(arena, row->body, ret, error);
}

// build_notification reads a row as a posted body is read; one that names no id goes by the row's.
static Err build_notification(Arena *arena, const InboxRow *row, Event *ret, Error *error)
{
    const Json *body;
    Notification notification;
    TRY(json_parse(arena, row->body, &body, error));
    TRY(notification_read(arena, body, S(""), &notification, error));
    if (uuid_is_none(notification.id))
        notification.id = row->id;
    return notification_event(arena, &notification, row->received_at, ret, error);
}

// build_deferral reads a row as a posted body is read; its delay counts from when it was written.
static Err build_deferral(Arena *arena, const InboxRow *row, Deferral *deferral, Event *ret,
                          Error *error)
{
    const Json *body;
    bool is_cancel = row->kind == INBOX_DEFER_CANCEL;
    TRY(json_parse(arena, row->body, &body, error));
    TRY(deferral_read(arena, body, S(""), is_cancel ? &deferral_cancel_shape : &deferral_row_shape,
                      row->received_at, deferral, error));
    return deferral_event(arena, deferral, ret, error);
}

static bool is_deferral(const InboxRow *row)
{
    return row->kind == INBOX_DEFER || row->kind == INBOX_DEFER_CANCEL;
}

static Err build(const Draining *draining, const InboxRow *row, AcceptItem *item, Error *error)
{
    Arena *arena = &draining->tx->arena;
    Event *event = &item->event;
    if (is_deferral(row)) {
        Deferral *deferral = ARENA_NEW(arena, Deferral);
        item->deferral = deferral;
        TRY(build_deferral(arena, row, deferral, event, error));
    } else {
        bool is_event = row->kind == INBOX_EVENT;
        TRY((is_event ? build_event : build_notification)(arena, row, event, error));
    }
    event->id = row->id;
    // Whatever its server's clock says:
    event->received_at = earlier(row->received_at, draining->tx->now);
    return event_check_size(event, draining->options->payload_max, error);
}

// name finds the list of a notification. Who posts one to a list that is not there may not hear of
// it, so that is kept and parked; here there is a row to say so, which can be replayed.
static Err name(Tx *tx, InboxRow *row, Accept *accept, Error *error)
{
    Notification of = { 0 };
    notification_of(accept->items[0].event.payload_json, &of);
    if (registry_rule(tx->registry, row->tenant, RULE_NOTIFY, of.list))
        return notifications_name_now(tx, accept, error);
    end(tx, row, INBOX_FAILED, INBOX_REASON_UNLISTED,
        str_format(&tx->arena, "there is no list \"%.*s\"", STR_ARG(of.list)));
    return ERR_OK;
}

// accept_of is for one event.
static Accept *accept_of(Tx *tx, int64_t tenant)
{
    Accept *accept = ARENA_NEW(&tx->arena, Accept);
    *accept = (Accept){ .arena = &tx->arena,
                        .tenant = tenant,
                        .items = ARENA_NEW(&tx->arena, AcceptItem),
                        .count = 1,
                        .now = tx->now };
    return accept;
}

// keep puts what was decided among what is to be written.
static void keep(Draining *draining, Accept *accept, InboxRow *row)
{
    Arena *arena = &draining->tx->arena;
    size_t count = draining->count, room = draining->room * 2, word = sizeof(void *);
    if (count == draining->room) {
        draining->accepts = arena_grow(arena, draining->accepts, count * word, room * word);
        draining->rows = arena_grow(arena, draining->rows, count * word, room * word);
        draining->room = room;
    }
    draining->accepts[draining->count] = accept;
    draining->rows[draining->count++] = row;
    draining->pairs += accept->items[0].pair_count;
    draining->bytes += accept->items[0].event.payload.len;
}

// has_enough: what was decided is enough for one transaction.
static bool has_enough(const Draining *draining)
{
    Span took = clock_monotonic(draining->options->clock) - draining->began_at;
    return draining->count > 0 && (draining->pairs > DRAIN_PAIRS_MAX ||
                                   draining->bytes > DRAIN_BYTES_MAX || took > DECIDE_MAX);
}

// add decides the event that a row becomes; one that cannot become any fails. Of one that was set
// back the event may be stored: it is decided anew.
static Err add(Draining *draining, InboxRow *row, Error *error)
{
    Tx *tx = draining->tx;
    Error why = { .arena = &tx->arena };
    Accept *accept = accept_of(tx, row->tenant);
    AcceptItem *item = accept->items;
    if (row->processed_at != INSTANT_NONE)
        TRY(again_load(tx->db, &tx->arena, row->tenant, row->id, &item->again, error));
    Err err = build(draining, row, item, &why);
    if (err == ERR_OK && row->kind == INBOX_NOTIFY)
        TRY(name(tx, row, accept, error));
    if (err == ERR_OK && is_deferral(row))
        TRY(deferrals_name_now(tx, accept, error));
    if (row->status == INBOX_FAILED)
        return ERR_OK;
    if (err == ERR_OK)
        err = accept_decide(accept, tx->registry, tx->random, &why);
    if (err != ERR_OK) {
        end(tx, row, INBOX_FAILED, INBOX_REASON_UNUSABLE, cut(tx, str_from(why.detail)));
        return ERR_OK;
    }
    keep(draining, accept, row);
    return ERR_OK;
}

// add_event decides an event of a hook; one that cannot be any fails the hook.
static Err add_event(Draining *draining, const Opened *opened, size_t n, Error *error)
{
    Tx *tx = draining->tx;
    InboxRow *row = opened->row;
    Error why = { .arena = &tx->arena };
    const IntegrationRoute *route = &opened->routes[n - opened->from];
    Accept *accept = accept_of(tx, route->to_tenant);
    AcceptItem *item = accept->items;
    Err err = unpack_event(&tx->arena, row, &opened->unpacked, n, route->to,
                           draining->options->payload_max, &item->event, &why);
    item->event.received_at = earlier(row->received_at, tx->now);
    if (err == ERR_OK && opened->is_again)
        TRY(again_load(tx->db, &tx->arena, accept->tenant, item->event.id, &item->again, error));
    if (err == ERR_OK)
        err = accept_decide(accept, tx->registry, tx->random, &why);
    if (err == ERR_OK)
        keep(draining, accept, row);
    else
        end(tx, row, INBOX_FAILED, unpack_reason(err), cut(tx, str_from(why.detail)));
    return ERR_OK;
}

// end_empty ends a hook without an event, by why there is none.
static void end_empty(Tx *tx, const Opened *opened)
{
    const ProviderRead *read = &opened->unpacked.read;
    Str note = read->count > 0 ? S("no trigger type is for it") : cut(tx, read->note);
    for (const IntegrationRoute *route = opened->routes;
         route < opened->routes + (opened->to - opened->from); route++) {
        if (route->is_found)
            continue;
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION, cut(tx, route->why));
        return;
    }
    if (opened->unheard.at)
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION, cut(tx, opened->unheard));
    else
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_EVENT, note);
}

// add_events decides the events of a hook that are somebody's, as far as there is room.
static Err add_events(Draining *draining, Opened *opened, Error *error)
{
    size_t n = opened->from;
    for (; n < opened->to && opened->row->status != INBOX_FAILED && !has_enough(draining); n++)
        if (opened->routes[n - opened->from].is_found && unpack_has_type(&opened->unpacked, n))
            TRY(add_event(draining, opened, n, error));
    opened->is_done = opened->is_part || n == opened->to;
    opened->to = n;
    return ERR_OK;
}

// add_hook decides all events of a hook, or none, unless it is written in parts. One that has none
// is done with that; one that there is no room for waits, or is too long by itself.
static Err add_hook(Draining *draining, Opened *opened, Error *error)
{
    Tx *tx = draining->tx;
    InboxRow *row = opened->row;
    size_t before = draining->count;
    const ProviderRead *read = &opened->unpacked.read;
    if (opened->unpacked.reason != INBOX_REASON_NONE)
        end(tx, row, INBOX_FAILED, opened->unpacked.reason, cut(tx, opened->unpacked.error));
    if (!row->external_id.at)
        row->external_id = read->external_id;
    TRY(add_events(draining, opened, error));
    if (row->status == INBOX_FAILED || !opened->is_done)
        draining->count = before;
    opened->is_done |= row->status == INBOX_FAILED;
    if (!opened->is_done && before == 0)
        leave(draining, row);
    draining->is_full = !opened->is_done;
    if (opened->is_done && row->status == INBOX_PENDING && draining->count == before &&
        opened->to == read->count)
        end_empty(tx, opened);
    return ERR_OK;
}

// is_taken: some rule makes a delivery of it, or has made one before, or calls off what it names.
static bool is_taken(const Tx *tx, const Accept *accept)
{
    const AcceptItem *item = &accept->items[0];
    size_t recallers;
    registry_recallers(tx->registry, accept->tenant, item->event.kind, &recallers);
    bool has_fired = item->again && item->again->fired_count > 0;
    return item->is_duplicate || has_fired || item->created_count > 0 || recallers > 0 ||
           item->deferral;
}

static void end_emitted(const Tx *tx, InboxRow *row, bool is_good)
{
    end(tx, row, is_good ? INBOX_PUBLISHED : INBOX_FAILED,
        is_good ? INBOX_REASON_NONE : INBOX_REASON_UNTAKEN,
        is_good ? STR_NONE : str_from(inbox_reason_code(INBOX_REASON_UNTAKEN)));
}

// end_hook ends a hook by the next of its events: it is enough that one of them was taken. Nobody
// need listen to what a provider sends, so that none was is no failure. What a shared source's hook
// became may be another tenant's, and is not to be seen where the row is.
static void end_hook(Tx *tx, InboxRow *row, const Event *event, bool is_good)
{
    size_t listeners;
    bool is_first = row->status != INBOX_PUBLISHED;
    registry_triggers(tx->registry, event->tenant, event->kind, &listeners);
    if (is_good)
        end(tx, row, INBOX_PUBLISHED, INBOX_REASON_NONE,
            event->tenant == row->tenant ? STR_NONE : INBOX_ELSEWHERE);
    else if (is_first)
        end(tx, row, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER,
            str_format(&tx->arena, "no trigger %s %.*s", listeners > 0 ? "took" : "listens to",
                       STR_ARG(event->kind)));
}

// flush writes the events that were decided.
static Err flush(Draining *draining, Error *error)
{
    Tx *tx = draining->tx;
    if (draining->count > 0)
        TRY(accept_write(draining->tx, draining->accepts, draining->count, error));
    for (size_t i = 0; i < draining->count; i++) {
        InboxRow *row = draining->rows[i];
        bool is_good = is_taken(tx, draining->accepts[i]);
        if (row->kind == INBOX_HOOK)
            end_hook(tx, row, &draining->accepts[i]->items[0].event, is_good);
        else
            end_emitted(tx, row, is_good);
    }
    draining->count = 0;
    return ERR_OK;
}

// cancel calls off what lives of an entity, slice by slice; an entity that nobody knows has
// nothing.
static Err cancel(Tx *tx, const InboxRow *row, Error *error)
{
    EntityCancel slice = { .tenant = row->tenant, .entity = row->entity, .note = CANCELLED_BY };
    do {
        Err err = entity_cancel(tx, &slice, error);
        if (err != ERR_OK)
            return err == ERR_NOT_FOUND ? ERR_OK : err;
    } while (slice.is_cut && slice.cancelled > 0);
    return ERR_OK;
}

static Err do_row(Draining *draining, Opened *opened, Error *error)
{
    InboxRow *row = opened->row;
    opened->is_done = row->kind != INBOX_HOOK;
    switch ((InboxKind) row->kind) {
    case INBOX_EVENT:
    case INBOX_NOTIFY:
    case INBOX_DEFER:
    case INBOX_DEFER_CANCEL:
        return add(draining, row, error);
    case INBOX_HOOK:
        if (!opened->unpacked.is_long)
            return add_hook(draining, opened, error);
        leave(draining, row);
        return ERR_OK;
    case INBOX_CANCEL:
        TRY(flush(draining, error)); // it calls off what was emitted before it
        TRY(cancel(draining->tx, row, error));
        end(draining->tx, row, INBOX_PUBLISHED, INBOX_REASON_NONE, STR_NONE);
        return ERR_OK;
    case INBOX_KINDS:
        break;
    }
    end(draining->tx, row, INBOX_FAILED, INBOX_REASON_UNUSABLE, S("its kind is not known here"));
    return ERR_OK;
}

// route_of leads from where a hook came to whose its events are, as far as that is known yet.
static IntegrationRoute route_of(const Tx *tx, const InboxRow *row, const ProviderPlace *place)
{
    const RegistryHook *source = registry_source(tx->registry, row->tenant, row->source);
    Str own = source ? source->integration : STR_NONE;
    return (IntegrationRoute){
        .tenant = row->tenant,
        .own = own,
        .is_shared = source && source->is_shared,
        .connection_id = place->connection_id,
        .installation_id = place->installation_id,
        .is_found = true,
        .to_tenant = row->tenant,
        .to = own,
    };
}

// is_asked: it takes a look at integrations to know.
static bool is_asked(const IntegrationRoute *route)
{
    return route->connection_id.len > 0 || route->installation_id.len > 0 || route->own.len > 0;
}

// route finds out whose the events of some rows are, and whether that one takes any.
static Err route(const Draining *draining, size_t from, size_t to, Error *error)
{
    Tx *tx = draining->tx;
    size_t count = 0;
    bool asks = false;
    for (size_t i = from; i < to; i++)
        count += draining->opened[i].to - draining->opened[i].from;
    IntegrationRoute *routes = ARENA_ARRAY(&tx->arena, IntegrationRoute, count + 1), *at = routes;
    for (size_t i = from; i < to; i++) {
        Opened *opened = &draining->opened[i];
        const ProviderRead *read = &opened->unpacked.read;
        opened->routes = at;
        for (size_t n = opened->from; n < opened->to; n++, at++) {
            *at = route_of(tx, opened->row, &read->events[n].place);
            asks |= is_asked(at);
        }
    }
    return asks ? integrations_route(tx, routes, count, error) : ERR_OK;
}

static IntegrationStatus status_of(ProviderState state)
{
    switch (state) {
    case PROVIDER_ACTIVE:
        return INTEGRATION_ACTIVE;
    case PROVIDER_FAILED:
        return INTEGRATION_FAILED;
    case PROVIDER_SUSPENDED:
        return INTEGRATION_SUSPENDED;
    case PROVIDER_REVOKED:
        break;
    }
    return INTEGRATION_REVOKED;
}

// change lets count what a hook says of accounts themselves.
static Err change(Tx *tx, Opened *opened, Error *error)
{
    const ProviderRead *read = &opened->unpacked.read;
    bool is_heard = read->change_count == 0;
    for (size_t i = 0; i < read->change_count; i++) {
        const ProviderChange *said = &read->changes[i];
        bool is_found;
        IntegrationChange made = { .of = route_of(tx, opened->row, &said->place),
                                   .provider = said->provider,
                                   .status = status_of(said->state),
                                   .reason = said->reason,
                                   .is_new = said->is_new,
                                   .tenant = said->tenant,
                                   .integration = said->integration };
        TRY(integration_change(tx, &made, &is_found, error));
        is_heard |= is_found;
    }
    opened->unheard = is_heard ? STR_NONE : S("no integration has this place");
    return ERR_OK;
}

// poll has the account polled now that a hook tells of: it says only that there is something. It
// is the source's own, or that of the connection which an envelope names.
static Err poll(Tx *tx, Opened *opened, Error *error)
{
    const ProviderRead *read = &opened->unpacked.read;
    if (!read->polls)
        return ERR_OK;
    IntegrationRoute to = route_of(tx, opened->row, &read->place);
    if (read->place.connection_id.len > 0)
        TRY(integrations_route(tx, &to, 1, error));
    if (to.is_found)
        poll_group_due_now(tx, to.to_tenant, read->polled, to.to);
    else
        opened->unheard = to.why;
    return ERR_OK;
}

// piece_end is the next row behind the given one that says something of accounts.
static size_t piece_end(const Draining *draining, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && draining->opened[end].unpacked.read.change_count == 0)
        end++;
    return end;
}

// open_row looks into a hook, unless that takes long.
static void open_row(Draining *draining, Opened *opened)
{
    Unpacking *unpacking = draining->unpacking;
    const EngineOptions *options = draining->options;
    Unpack with = { .providers = options->providers,
                    .clock = options->clock,
                    .time = unpacking ? UNPACK_TIME_HERE : UNPACK_TIME,
                    .opened_max = unpacking ? INBOX_LONG : UNPACK_OPENED_MAX };
    if (unpacking && opened->row->body.len > INBOX_LONG) {
        opened->unpacked.is_long = true;
        return;
    }
    if (unpacking)
        atomic_store(&unpacking->here_since, clock_monotonic(options->clock));
    opened->unpacked = unpack(&draining->tx->arena, opened->row, &with);
    if (unpacking)
        atomic_store(&unpacking->here_since, 0);
    opened->to = opened->unpacked.read.count;
    opened->is_again = opened->row->processed_at != INSTANT_NONE;
}

// open_all looks into the hooks until they are enough for one transaction: a few bytes of gzip may
// hold megabytes, and many rows came together by how few they are. The others stay for the next.
static void open_all(Draining *draining, InboxTaken *taken)
{
    size_t bytes = 0, events = 0;
    for (size_t i = 0; i < taken->count; i++) {
        Opened *opened = &draining->opened[i];
        opened->row = &taken->rows[i];
        if (opened->row->kind != INBOX_HOOK)
            continue;
        open_row(draining, opened);
        bytes += opened->unpacked.size;
        events += opened->unpacked.read.count;
        if (i + 1 < taken->count && (bytes > UNPACK_BYTES_MAX || events > UNPACK_EVENTS_MAX)) {
            taken->count = i + 1;
            taken->has_more = true;
        }
    }
}

// is_behind: what its source brought before it was left, so it is too.
static bool is_behind(const Draining *draining, size_t i)
{
    const Opened *opened = &draining->opened[i], *before = opened - 1;
    return i > 0 && !before->is_done && before->row->tenant == opened->row->tenant &&
           str_eq(before->row->source, opened->row->source);
}

static Err do_rows(Draining *draining, size_t from, size_t to, Error *error)
{
    for (size_t i = from; i < to && !draining->is_full; i++) {
        Opened *opened = &draining->opened[i];
        if (is_behind(draining, i))
            continue;
        draining->is_full = has_enough(draining);
        if (draining->is_full)
            break;
        TRY(poll(draining->tx, opened, error));
        TRY(do_row(draining, opened, error));
    }
    return ERR_OK;
}

// keep_done keeps of what was taken the rows that something was done with.
static void keep_done(const Draining *draining, InboxTaken *taken)
{
    size_t kept = 0;
    for (size_t i = 0; i < taken->count; i++)
        if (draining->opened[i].is_done || draining->asked == &taken->rows[i])
            taken->rows[kept++] = taken->rows[i];
    taken->has_more |= draining->is_full;
    taken->count = kept;
}

static Err work(Draining *draining, InboxTaken *taken, Error *error)
{
    open_all(draining, taken);
    for (size_t from = 0, to; from < taken->count && !draining->is_full; from = to) {
        to = piece_end(draining, from, taken->count);
        if (!is_behind(draining, from))
            TRY(change(draining->tx, &draining->opened[from], error));
        TRY(route(draining, from, to, error));
        TRY(do_rows(draining, from, to, error));
    }
    TRY(flush(draining, error));
    keep_done(draining, taken);
    return ERR_OK;
}

// add_part writes the next events of a hook that was read.
static Err add_part(Tx *tx, const EngineOptions *options, Unpacking *unpacking, InboxRow *row,
                    Error *error)
{
    const UnpackingPlace *place = &unpacking->place;
    size_t count = unpacking->unpacked.read.count, end = place->next + DRAIN_PART_EVENTS;
    Draining draining = draining_of(tx, options, 1);
    Opened *opened = &draining.opened[0];
    *opened = (Opened){ .row = row,
                        .unpacked = unpacking->unpacked,
                        .from = place->next,
                        .to = end < count ? end : count,
                        .is_part = true,
                        .is_again = unpacking->is_again };
    row->status = place->status;
    row->reason = place->reason;
    row->error = place->error;
    if (place->next == 0) {
        TRY(change(tx, opened, error));
        TRY(poll(tx, opened, error));
    }
    TRY(route(&draining, 0, 1, error));
    TRY(add_hook(&draining, opened, error));
    TRY(flush(&draining, error));
    unpacking->is_over = row->status == INBOX_FAILED || opened->to == count;
    unpacking_came(unpacking, opened->to, row);
    return ERR_OK;
}

// settle_part: a hook of which something is left is pending, and known to have begun. It says so
// anew only where its lease grows short: SQLite writes the whole body with each change of its row.
// Returns whether there is anything to write.
static bool settle_part(const Tx *tx, Unpacking *unpacking, InboxRow *row)
{
    Instant held_until = unpacking->place.held_until;
    if (unpacking->is_over) {
        row->attempts--; // that was this try, which has not failed
        return true;
    }
    row->status = INBOX_PENDING;
    row->error = STR_NONE;
    row->processed_at = tx->now;
    hold(tx, row);
    bool is_short = held_until - tx->now < INBOX_LEASE / 2;
    unpacking->after.held_until = is_short ? row->next_at : held_until;
    return is_short;
}

static Err write_part(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Unpacking *unpacking = ret->unpacking;
    InboxRow *row = arena_copy(&tx->arena, &unpacking->row, sizeof *row);
    InboxTaken taken = { .rows = row, .count = 1, .is_alone = true };
    bool is_ours;
    TRY(inbox_hold(tx, row, &is_ours, error));
    ret->has_more = ret->is_pending = true;
    ret->drained = 1;
    unpacking->is_over = true;
    if (!is_ours)
        return ERR_OK;
    TRY(tx_guard(tx, error));
    bool has_news = true;
    row->reason = INBOX_REASON_NONE;
    if (ret->fault) {
        blame(tx, &taken, row->id, ret->fault);
    } else if (unpacking->unpacked.is_long) {
        row->error = S(NO_END);
        fail_try(tx, row, INBOX_REASON_TIMEOUT, true);
    } else {
        TRY(add_part(tx, options, unpacking, row, error));
        has_news = settle_part(tx, unpacking, row);
    }
    if (has_news)
        inbox_settle(tx, row, 1);
    TRY(tx_sync(tx, error));
    measure(tx, &taken);
    return ERR_OK;
}

// measure counts what is about to be committed: figures for a graph, which a rare failure of that
// may count twice.
static void measure(const Tx *tx, const InboxTaken *taken)
{
    int64_t failures = 0;
    for (size_t i = 0; i < taken->count; i++) {
        const InboxRow *row = &taken->rows[i];
        if (row->kind != INBOX_HOOK || row->status == INBOX_PENDING)
            continue;
        metric_observe(METRIC_INBOX_DRAIN, METRIC_ALONE, later(tx->now - row->received_at, 0));
        failures += row->reason == INBOX_REASON_UNPARSABLE;
    }
    metric_count(METRIC_PARSE_FAILURES, METRIC_ALONE, failures);
}
