#include "engine/state.h"

#include "engine/unpack.h"
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

#define AWAKE ((Span) SPAN_SECOND)             // after the last row that came
#define AWAKE_LONGER ((Span) SPAN_SECOND / 10) // for those that commit at its end
#define CANCELLED_BY S("peal.cancel")
#define DIED "Peal ended, perhaps while it handled this row"

// Opened is a row as it is looked at: of a hook, what is in it and where each event goes.
typedef struct Opened {
    InboxRow *row;
    Unpacked unpacked;
    IntegrationRoute *routes; // of the events
    Str unheard; // why what it says of accounts is of none that it may speak of; none: it is
} Opened;

// Draining is rows of one transaction that become events together.
typedef struct Draining {
    Tx *tx;
    const EngineOptions *options;
    Opened *opened; // of the rows that were taken
    Accept **accepts;
    InboxRow **rows; // of the accepts: several in a row may be of one
    size_t count, room;
} Draining;

static void blame(Tx *tx, const InboxTaken *taken, Uuid tried, const char *fault);
static void count_try(const Tx *tx, InboxRow *row);
static Err work(Tx *tx, const EngineOptions *options, InboxTaken *taken, Error *error);
static void measure(const Tx *tx, const InboxTaken *taken);

Err drain_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    InboxTaken taken;
    int64_t deaths = 0;
    Uuid tried = ret->trial.tried;
    TRY(inbox_take(tx, tried, &taken, error));
    if (!ret->trial.has_begun)
        TRY(node_deaths(tx, options->node, clock_now(options->real), &deaths, error));
    ret->trial = (DrainTrial){ .has_begun = true };
    ret->drained = (int64_t) taken.count;
    ret->has_more = taken.has_more || deaths > 0;
    ret->is_pending = taken.is_pending;
    if (taken.count == 0)
        return ERR_OK;
    TRY(tx_guard(tx, error)); // rows may be younger than what this transaction knows of rules
    if (ret->fault) {
        blame(tx, &taken, tried, ret->fault);
    } else if (taken.is_alone && uuid_cmp(taken.rows[0].id, tried) != 0) {
        count_try(tx, &taken.rows[0]);
        ret->trial.tried = taken.rows[0].id;
    } else if (deaths > 0) {
        blame(tx, &taken, tried, DIED);
    } else {
        taken.rows[0].attempts -= taken.is_alone; // that was this try, which has not failed
        TRY(work(tx, options, &taken, error));
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

// blame counts an attempt of each row that was part of a failure; that of one which was tried
// counts already.
static void blame(Tx *tx, const InboxTaken *taken, Uuid tried, const char *fault)
{
    for (size_t i = 0; i < taken->count; i++) {
        InboxRow *row = &taken->rows[i];
        row->attempts += uuid_cmp(row->id, tried) != 0;
        row->error = cut(tx, str_from(fault));
        if (taken->is_alone)
            row->next_at = tx->now + ((Span) SPAN_SECOND << row->attempts);
        if (row->attempts >= INBOX_TRIES)
            end(tx, row, INBOX_FAILED, refused(row), row->error);
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
    Accept *accept = accept_of(tx, opened->routes[n].to_tenant);
    AcceptItem *item = accept->items;
    Err err = unpack_event(&tx->arena, row, &opened->unpacked, n, opened->routes[n].to,
                           draining->options->payload_max, &item->event, &why);
    item->event.received_at = earlier(row->received_at, tx->now);
    if (err == ERR_OK && row->processed_at != INSTANT_NONE)
        TRY(again_load(tx->db, &tx->arena, accept->tenant, item->event.id, &item->again, error));
    if (err == ERR_OK)
        err = accept_decide(accept, tx->registry, tx->random, &why);
    if (err == ERR_OK)
        keep(draining, accept, row);
    else
        end(tx, row, INBOX_FAILED,
            err == ERR_TOO_LARGE ? INBOX_REASON_TOO_LARGE : INBOX_REASON_UNPARSABLE,
            cut(tx, str_from(why.detail)));
    return ERR_OK;
}

// end_empty ends a hook without an event, by why there is none.
static void end_empty(Tx *tx, const Opened *opened)
{
    const ProviderRead *read = &opened->unpacked.read;
    Str note = read->count > 0 ? S("no trigger type is for it") : cut(tx, read->note);
    for (size_t n = 0; n < read->count; n++) {
        if (opened->routes[n].is_found)
            continue;
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION,
            cut(tx, opened->routes[n].why));
        return;
    }
    if (opened->unheard.at)
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION, cut(tx, opened->unheard));
    else
        end(tx, opened->row, INBOX_PUBLISHED, INBOX_REASON_NO_EVENT, note);
}

// add_hook decides all events of a hook that are somebody's, or none. One that has none is done
// with that.
static Err add_hook(Draining *draining, const Opened *opened, Error *error)
{
    Tx *tx = draining->tx;
    InboxRow *row = opened->row;
    size_t before = draining->count;
    const ProviderRead *read = &opened->unpacked.read;
    if (opened->unpacked.reason != INBOX_REASON_NONE)
        end(tx, row, INBOX_FAILED, opened->unpacked.reason, cut(tx, opened->unpacked.error));
    if (!row->external_id.at)
        row->external_id = read->external_id;
    for (size_t n = 0; n < read->count && row->status != INBOX_FAILED; n++)
        if (opened->routes[n].is_found &&
            provided_type(read->events[n].provider, read->events[n].type))
            TRY(add_event(draining, opened, n, error));
    if (row->status == INBOX_FAILED)
        draining->count = before;
    else if (draining->count == before)
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

static Err do_row(Draining *draining, const Opened *opened, Error *error)
{
    InboxRow *row = opened->row;
    switch ((InboxKind) row->kind) {
    case INBOX_EVENT:
    case INBOX_NOTIFY:
    case INBOX_DEFER:
    case INBOX_DEFER_CANCEL:
        return add(draining, row, error);
    case INBOX_HOOK:
        return add_hook(draining, opened, error);
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
        count += draining->opened[i].unpacked.read.count;
    IntegrationRoute *routes = ARENA_ARRAY(&tx->arena, IntegrationRoute, count + 1), *at = routes;
    for (size_t i = from; i < to; i++) {
        Opened *opened = &draining->opened[i];
        const ProviderRead *read = &opened->unpacked.read;
        opened->routes = at;
        for (size_t n = 0; n < read->count; n++, at++) {
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
        opened->unpacked = unpack(&draining->tx->arena, opened->row, draining->options->providers);
        bytes += opened->unpacked.size;
        events += opened->unpacked.read.count;
        if (i + 1 < taken->count && (bytes > UNPACK_BYTES_MAX || events > UNPACK_EVENTS_MAX)) {
            taken->count = i + 1;
            taken->has_more = true;
        }
    }
}

static Err work(Tx *tx, const EngineOptions *options, InboxTaken *taken, Error *error)
{
    Draining draining = { .tx = tx,
                          .options = options,
                          .opened = ARENA_ARRAY(&tx->arena, Opened, taken->count),
                          .accepts = ARENA_ARRAY(&tx->arena, Accept *, taken->count),
                          .rows = ARENA_ARRAY(&tx->arena, InboxRow *, taken->count),
                          .room = taken->count };
    open_all(&draining, taken);
    for (size_t from = 0, to; from < taken->count; from = to) {
        to = piece_end(&draining, from, taken->count);
        TRY(change(tx, &draining.opened[from], error));
        TRY(route(&draining, from, to, error));
        for (size_t i = from; i < to; i++) {
            TRY(poll(tx, &draining.opened[i], error));
            TRY(do_row(&draining, &draining.opened[i], error));
        }
    }
    return flush(&draining, error);
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
