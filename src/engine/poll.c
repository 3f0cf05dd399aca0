#include "engine/poll.h"

#include "base/log.h"
#include "engine/state.h"

// Polling asks providers what is new. The duty looks at the groups whose time has come
// (store/poll_group.h): one that nobody asks for any more goes, one that is not due yet waits, all
// others are claimed; each then is a conversation of its own, over the engine's transport, beside
// whatever else goes out.
//
// An answer is read, what it only names is fetched (hydrated), and both go to the store with the
// cursor behind them. Then the next page is asked for, until there is none, or the poll had its
// turn: it goes on at once, from its cursor, once others have had theirs. Wherever a poll ends, by
// a failure, a stop or a crash, the cursor says what was taken.
//
// A provider that fails is asked again later, and later each time; one that says when, then. None
// waits for another.

#define CONTESTED ((Span) 20 * SPAN_MILLISECOND) // all that is due is another node's
#define RETRY_WRITE ((Span) SPAN_SECOND)

static void read_answer(Poll *poll);
static void go_on(Poll *poll);
static void drop(Poll *poll);

void poll_claims_wipe(PollClaims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        arena_wipe(&claims->at[i].arena);
    claims->count = 0;
}

// due_at is when a group is to be polled, by what was told of it, when it last was and how that
// went: after a failure the backoff counts, be it shorter or longer than the interval.
static Instant due_at(const PollGroup *group, Span interval, Instant now)
{
    bool is_lapsed = group->lease_until != INSTANT_NONE;
    bool is_new = group->last_polled_at == INSTANT_NONE;
    bool is_wanted = is_new || is_lapsed || group->told == POLL_TOLD_POLL;
    Instant at = is_wanted ? now : group->last_polled_at + interval;
    if (group->backoff_until == INSTANT_NONE)
        return at;
    return group->failures > 0 ? group->backoff_until : later(at, group->backoff_until);
}

// open_integration reads what there is to ask with; why says what is in the way.
static Str open_integration(Tx *tx, ProviderName provider, const PollGroup *group, PollClaim *ret)
{
    Error error = { .arena = &tx->arena };
    IntegrationOpened *opened = &ret->integration;
    ret->has_integration = group->integration.len > 0;
    if (!ret->has_integration)
        return STR_NONE;
    Err err = integration_open(tx->db, &ret->arena, tx->registry->ring, group->tenant,
                               group->integration, opened, &error);
    if (err == ERR_NOT_FOUND)
        return S("there is no such integration");
    if (err != ERR_OK)
        return str_dup(&tx->arena, str_from(error.detail));
    if (opened->access.provider != provider)
        return S("its integration is another provider's");
    if (!opened->is_enabled)
        return S("its integration is not enabled");
    if (opened->status != INTEGRATION_ACTIVE)
        return str_format(&tx->arena, "its integration is %s",
                          integration_status_text(opened->status));
    return STR_NONE;
}

static Str copy_of(Arena *arena, Str text)
{
    return text.at ? str_dup(arena, text) : STR_NONE;
}

static void claim(Tx *tx, const EngineOptions *options, PollGroup *group, PollClaim *ret)
{
    poll_group_claim(tx, options->node, group);
    ret->group = *group;
    ret->group.integration = str_dup(&ret->arena, group->integration);
    ret->group.provider = str_dup(&ret->arena, group->provider);
    ret->group.cursor = copy_of(&ret->arena, group->cursor);
    ret->group.last_error = STR_NONE;
    bool is_rebound = !group->cursor.at && str_eq(group->last_error, POLL_REBOUND);
    ret->note = is_rebound ? POLL_REBOUND : STR_NONE;
    ret->group.unfetched = copy_of(&ret->arena, group->unfetched);
    ret->group.registered = copy_of(&ret->arena, group->registered);
    ret->group.register_error = copy_of(&ret->arena, group->register_error);
}

static const Json *scope_of(Arena *arena, Str text)
{
    const Json *scope = NULL;
    Err err = text.at ? json_parse(arena, str_dup(arena, text), &scope, NULL) : ERR_OK;
    assert(err == ERR_OK); // it is Peal's own
    return scope;
}

// put_off: a group that nothing can be asked of is not looked at until somebody changes something.
// Why a poll failed says more than that it did.
static void put_off(Tx *tx, PollGroup *group, Instant at, Str why)
{
    group->next_at = at;
    if (why.at && !group->failures)
        group->last_error = why;
    poll_group_put_off(tx, group);
}

static const Provider *provider_by(const EngineOptions *options, Str id, ProviderName *ret)
{
    if (!provider_name_parse(id, ret))
        return NULL;
    return options->providers ? options->providers[*ret] : provider_of(*ret);
}

static size_t under_way(const PollClaims *claims, int64_t tenant)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->tenant_count; i++)
        count += claims->tenants[i] == tenant;
    return count;
}

// has_its_share: no more of this tenant's are to be claimed now. One whose far sides are all slow
// would have every poll of the node otherwise.
static bool has_its_share(const PollClaims *claims, int64_t tenant)
{
    size_t count = under_way(claims, tenant);
    for (size_t i = 0; i < claims->count; i++)
        count += claims->at[i].group.tenant == tenant;
    return count >= POLLS_TENANT_MAX;
}

// parts: nobody is to be asked any more, and the provider still tells by itself what was
// registered. It is told to stop where that can be said: with a token that works, as far as is
// known.
static bool parts(const PollGroup *group, const PollAsked *asked, PollClaim *claim)
{
    const IntegrationOpened *opened = &claim->integration;
    bool is_unasked = asked->triggers == 0 || !opened->is_enabled;
    claim->is_parting = claim->provider && claim->provider->watch_ask && group->registered.at &&
                        opened->name.id.at && opened->status == INTEGRATION_ACTIVE && is_unasked &&
                        group->failures < POLL_PARTING_TRIES;
    if (claim->is_parting)
        claim->integration.watch = (IntegrationWatch){ 0 };
    return claim->is_parting;
}

// look decides what becomes of a group that was taken.
static void look(Tx *tx, const EngineOptions *options, PollClaims *claims, PollGroup *group)
{
    ProviderName name = PROVIDERS;
    const Provider *provider = provider_by(options, group->provider, &name);
    PollAsked asked = { 0 };
    if (provider && provider->poll_ask)
        asked = poll_group_asked(tx->registry, &tx->arena, group->tenant, name, group->integration,
                                 provider->poll_scope ? str_from(provider->poll_scope) : STR_NONE);
    PollClaim *made = &claims->at[claims->count];
    *made = (PollClaim){ .provider = provider, .emits_first = asked.emits_first };
    Str why = open_integration(tx, name, group, made);
    bool is_parting = !options->is_dev && parts(group, &asked, made);
    if (asked.triggers == 0 && !is_parting) {
        arena_wipe(&made->arena);
        poll_group_remove(tx, group);
        return;
    }
    assert(provider); // whoever is asked, or told to stop, is known
    made->interval = asked.interval ? asked.interval : provider->poll_every;
    Instant at = due_at(group, is_parting ? 0 : made->interval, tx->now);
    if (options->is_dev) { // where nothing leaves this machine
        at = tx->now + made->interval;
        why = S("peal dev asks nothing of providers");
    }
    if ((why.at && !is_parting) || at > tx->now) {
        arena_wipe(&made->arena);
        put_off(tx, group, why.at && !is_parting && !options->is_dev ? INSTANT_NONE : at, why);
        return;
    }
    claim(tx, options, group, made);
    made->scope = scope_of(&made->arena, asked.scope);
    claims->count++;
}

Err poll_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    PollClaims *claims = ret->polling;
    PollGroup *groups;
    size_t count, passed = 0;
    Rows due;
    poll_claims_wipe(claims);
    if (!claims->has_begun && options->is_only_node)
        poll_groups_free(tx);
    TRY(poll_groups_take(tx, &claims->full, claims->max, &groups, &count, error));
    if (count > 0)
        TRY(tx_guard(tx, error)); // a group may be younger than what is known of its triggers
    for (size_t i = 0; i < count; i++)
        if (has_its_share(claims, groups[i].tenant))
            passed++;
        else
            look(tx, options, claims, &groups[i]);
    poll_groups_due(tx->db, &tx->arena, &claims->full, &due);
    TRY(tx_sync(tx, error));
    claims->due_at = poll_groups_due_take(&due);
    ret->has_more = passed > 0 || (count > 0 && count == claims->max);
    return ERR_OK;
}

PollClaims *polls_prepare(Engine *engine)
{
    PollClaims *claims = &engine->polls.claims;
    claims->max = POLLS_MAX - engine->polls.count;
    claims->tenant_count = claims->full.count = 0;
    for (const Poll *poll = engine->polls.first; poll; poll = poll->next) {
        claims->tenants[claims->tenant_count++] = poll->group.tenant;
        if (under_way(claims, poll->group.tenant) == POLLS_TENANT_MAX)
            claims->full.tenants[claims->full.count++] = poll->group.tenant;
    }
    return claims;
}

// begin has the conversation begin, or go on with a token that was got.
static void begin(Poll *poll)
{
    if (poll->pages > 0 || !poll_watch(poll))
        poll_ask(poll);
}

static void start(Engine *engine, PollClaim *claim)
{
    Poll *poll = memory_new(sizeof *poll);
    *poll = (Poll){ .engine = engine,
                    .arena = claim->arena,
                    .group = claim->group,
                    .note = claim->note,
                    .provider = claim->provider,
                    .interval = claim->interval,
                    .is_parting = claim->is_parting,
                    .has_integration = claim->has_integration,
                    .integration = claim->integration,
                    .turn = { .cursor = claim->group.cursor,
                              .emits_first = claim->emits_first,
                              .scope = claim->scope },
                    .began_at = engine_monotonic(engine),
                    .next = engine->polls.first };
    claim->arena = (Arena){ 0 };
    if (poll->next)
        poll->next->previous = poll;
    engine->polls.first = poll;
    engine->polls.count++;
    if (poll->has_integration) {
        poll->turn.base_url = poll->integration.access.base_url;
        poll->turn.token = token_value(&poll->integration.access);
    }
    if (poll_token_is_stale(poll))
        poll_token_refresh(poll, S("its token has expired, and there is no other"));
    else
        begin(poll);
}

void poll_take(Engine *engine, const DutyReport *report)
{
    PollClaims *claims = report->polling;
    Instant now = clock_now(engine->options.clock), at = claims->due_at;
    claims->has_begun = true;
    bool is_contested = claims->count == 0 && at <= now;
    for (size_t i = 0; i < claims->count; i++)
        start(engine, &claims->at[i]);
    claims->count = 0;
    if (is_contested && !engine->options.clock->is_manual)
        at = now + CONTESTED;
    if (engine->polls.count < POLLS_MAX) // else the end of one brings it back
        duty_falls_due(engine, DUTY_POLL, at);
}

void poll_arrive(Poll *poll)
{
    Engine *engine = poll->engine;
    pthread_mutex_lock(&engine->lock);
    poll->behind = engine->polls.arrived;
    engine->polls.arrived = poll;
    pthread_mutex_unlock(&engine->lock);
    transport_wake(engine->options.transport);
}

void polls_go_on(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    Poll *arrived = engine->polls.arrived;
    engine->polls.arrived = NULL;
    pthread_mutex_unlock(&engine->lock);
    for (Poll *poll = arrived, *behind; poll; poll = behind) {
        behind = poll->behind;
        go_on(poll);
    }
    Instant monotonic = engine_monotonic(engine);
    for (Poll *poll = engine->polls.first, *next; poll; poll = next) {
        next = poll->next;
        if (poll->retry_at && poll->retry_at <= monotonic) {
            poll->retry_at = 0;
            (poll->stage == POLL_KEEPING ? poll_token_keep : poll_write)(poll);
        }
    }
}

void poll_fail(Poll *poll, PollVerdict verdict, Str note)
{
    poll->page = (PollPage){ .verdict = verdict, .note = note };
    poll->is_last = true;
    poll_write(poll);
}

void poll_keep_answer(Poll *poll, const TransferResult *result)
{
    Arena *arena = &poll->page_arena;
    HookHeader *headers = ARENA_ARRAY(arena, HookHeader, result->header_count + 1);
    for (size_t i = 0; i < result->header_count; i++)
        headers[i] = (HookHeader){ str_dup(arena, result->headers[i].name),
                                   str_dup(arena, result->headers[i].value) };
    poll->reply = (ProviderReply){ .status = result->status,
                                   .headers = headers,
                                   .header_count = result->header_count,
                                   .body = str_dup(arena, result->body) };
}

static void read_task(Task *task, void *seat)
{
    (void) seat;
    Poll *poll = (Poll *) (void *) ((char *) task - offsetof(Poll, task));
    read_answer(poll);
    poll_arrive(poll);
}

static void answered(void *with, const TransferResult *result)
{
    Poll *poll = with;
    if (result->problem != TRANSFER_ANSWERED) {
        poll_fail(poll, POLL_AGAIN, str_dup(&poll->page_arena, result->problem_text));
        return;
    }
    if (result->body.len > POLL_ANSWER_MAX) {
        poll_fail(poll, POLL_BROKEN, S("its answer is longer than 8 MiB"));
        return;
    }
    poll_keep_answer(poll, result);
    poll->stage = POLL_READING;
    poll->task = (Task){ .run = read_task };
    Pool *readers = poll->engine->options.readers;
    if (readers && pool_submit(readers, &poll->task))
        return;
    read_answer(poll);
    go_on(poll);
}

void poll_request(Poll *poll, const ProviderRequest *request, Span timeout, size_t max,
                  TransferDone *done, void *with)
{
    Header headers[PROVIDER_HEADERS_MAX];
    for (size_t i = 0; i < request->header_count; i++)
        headers[i] = (Header){ request->headers[i].name, request->headers[i].value };
    Transfer transfer = { .method = str_from(request->method),
                          .url = request->url,
                          .headers = headers,
                          .header_count = request->header_count,
                          .body = request->body.at ? request->body : S(""),
                          .timeout = timeout,
                          .response_max = max + 1,
                          .read_max = max + 1,
                          .keeps_headers = true,
                          .pool = poll->group.tenant };
    transport_start(poll->engine->options.transport, &transfer, done, with);
}

// part ends a poll that was to ask nothing.
static void part(Poll *poll)
{
    poll->page = (PollPage){ .verdict = POLL_GOOD };
    poll->is_last = true;
    poll_write(poll);
}

void poll_ask(Poll *poll)
{
    ProviderRequest asked = { 0 };
    Error error = { .arena = &poll->page_arena };
    if (poll->is_parting) {
        part(poll);
        return;
    }
    poll->stage = POLL_ASKING;
    poll->turn.now = clock_now(poll->engine->options.clock);
    if (poll->provider->poll_ask(&poll->page_arena, &poll->turn, &asked, &error) == ERR_OK)
        poll_request(poll, &asked, POLL_TIMEOUT, POLL_ANSWER_MAX, answered, poll);
    else
        poll_fail(poll, POLL_BROKEN, str_dup(&poll->page_arena, str_from(error.detail)));
}

// read_answer runs on whichever thread reads.
static void read_answer(Poll *poll)
{
    poll->page = (PollPage){ 0 };
    poll->provider->poll_read(&poll->page_arena, &poll->turn, &poll->reply, &poll->page);
    poll->stage = POLL_READ;
}

// poll_write_page: the poll ends with it where nothing follows, where it had its turn, or at a
// stop.
void poll_write_page(Poll *poll)
{
    poll->group.unfetched = STR_NONE;
    poll->pages++;
    poll->event_count += (int64_t) poll->page.count;
    bool had_turn = poll->pages >= POLL_PAGES_MAX || poll->event_count >= POLL_EVENTS_MAX ||
                    poll->page.backoff > 0 || poll->engine->is_stopping;
    poll->is_cut = poll->page.step.at && had_turn;
    poll->is_last = !poll->page.step.at || had_turn;
    poll_write(poll);
}

// poll_end_badly: a token that is refused is asked for anew, once, and the page with it.
void poll_end_badly(Poll *poll)
{
    if (poll->page.verdict == POLL_UNAUTHORIZED) {
        poll_token_refresh(poll, poll->page.note);
        return;
    }
    poll->is_last = true;
    poll->page.count = 0;
    poll_write(poll);
}

static void was_read(Poll *poll)
{
    if (poll->page.verdict != POLL_GOOD) {
        poll_end_badly(poll);
        return;
    }
    if (poll->page.note.at)
        poll->note = str_dup(&poll->arena, str_head(poll->page.note, POLL_NOTE_MAX));
    poll_hydrate(poll);
}

// keep_place keeps cursor and step for the next page.
static void keep_place(Poll *poll)
{
    Arena texts = { 0 };
    Str cursor = poll->page.cursor.at ? poll->page.cursor : poll->turn.cursor;
    poll->turn.cursor = cursor.at ? str_dup(&texts, cursor) : STR_NONE;
    poll->turn.step = str_dup(&texts, poll->page.step);
    arena_done(&poll->texts);
    poll->texts = texts;
    arena_reset(&poll->page_arena);
}

static bool is_the_stores(Err err)
{
    return err == ERR_UNAVAILABLE || err == ERR_BUSY || err == ERR_DISK_FULL;
}

// not_written: a store that is away is tried again while the lease lasts; one that refuses the page
// gets it event by event.
static void not_written(Poll *poll)
{
    Engine *engine = poll->engine;
    if (is_the_stores(poll->err)) {
        bool lasts = clock_now(engine->options.clock) < poll->group.lease_until;
        poll->retry_at = engine_monotonic(engine) + RETRY_WRITE;
        if (!lasts || engine->is_stopping)
            drop(poll);
        return;
    }
    log_error("poll.refused", "provider=%s tenant=%lld event=%zu detail=%s",
              provider_id_text(poll->provider->name), (long long) poll->group.tenant, poll->alone,
              log_quote(poll->problem));
    if (poll->alone > poll->page.count || poll->page.verdict != POLL_GOOD) {
        drop(poll); // not even its cursor is taken: it is asked for anew when its lease has ended
        return;
    }
    poll->skipped += poll->alone > 0;
    poll->alone++;
    poll_write(poll);
}

static void say_failed(const Poll *poll)
{
    log_warn("poll.failed", "provider=%s tenant=%lld integration=%s failures=%lld detail=%s",
             provider_id_text(poll->provider->name), (long long) poll->group.tenant,
             log_quote(poll->group.integration), (long long) poll->group.failures + 1,
             log_quote(poll->page.note));
    metric_count(METRIC_POLL_BACKOFFS, METRIC_ALONE, 1);
}

static void was_written(Poll *poll)
{
    if (poll->err != ERR_OK) {
        not_written(poll);
        return;
    }
    if (!poll->is_ours) {
        log_warn("poll.lapsed", "provider=%s tenant=%lld", provider_id_text(poll->provider->name),
                 (long long) poll->group.tenant);
        drop(poll);
        return;
    }
    poll->group.lease_until = clock_now(poll->engine->options.clock) + POLL_LEASE;
    poll->skipped += poll->unbuilt;
    poll->unbuilt = 0;
    if (poll->alone && poll->alone <= poll->page.count) {
        poll->alone++;
        poll_write(poll);
        return;
    }
    poll->alone = 0;
    poll->group.failures = poll->page.verdict == POLL_GOOD ? 0 : poll->group.failures;
    if (!poll->is_last) {
        keep_place(poll);
        poll_ask(poll);
        return;
    }
    if (poll->page.verdict != POLL_GOOD)
        say_failed(poll);
    duty_falls_due(poll->engine, DUTY_POLL, poll->next_at);
    drop(poll);
}

// was_kept: a fresh token that the store did not take is tried again, come what may.
static void was_kept(Poll *poll)
{
    if (poll->err != ERR_OK) {
        poll->retry_at = engine_monotonic(poll->engine) + RETRY_WRITE;
        return;
    }
    arena_reset(&poll->page_arena);
    begin(poll);
}

static void go_on(Poll *poll)
{
    if (poll->stage == POLL_READ)
        was_read(poll);
    else if (poll->stage == POLL_KEEPING)
        was_kept(poll);
    else
        was_written(poll);
}

static void poll_free(Poll *poll)
{
    arena_wipe(&poll->arena);
    arena_done(&poll->texts);
    arena_wipe(&poll->page_arena); // a request had its token
    free(poll);
}

// drop ends it. Where the group was not given back, its lease ends by itself. Who waited for its
// place is looked for.
static void drop(Poll *poll)
{
    Polls *polls = &poll->engine->polls;
    size_t own = 0;
    for (const Poll *other = polls->first; other; other = other->next)
        own += other->group.tenant == poll->group.tenant;
    metric_observe(METRIC_POLL, METRIC_ALONE, engine_monotonic(poll->engine) - poll->began_at);
    if (poll->previous)
        poll->previous->next = poll->next;
    else
        polls->first = poll->next;
    if (poll->next)
        poll->next->previous = poll->previous;
    if (polls->count-- == POLLS_MAX || own == POLLS_TENANT_MAX)
        poll->engine->duties[DUTY_POLL].is_wanted = true;
    poll_free(poll);
}

void polls_free(Engine *engine)
{
    for (Poll *poll = engine->polls.first, *next; poll; poll = next) {
        next = poll->next;
        poll_free(poll);
    }
    poll_claims_wipe(&engine->polls.claims);
}
