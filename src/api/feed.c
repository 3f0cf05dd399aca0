#include "api/feed.h"

#include "api/served.h"
#include "base/log.h"
#include "domain/source.h"
#include "engine/engine.h"

#include <stdatomic.h>

enum {
    PAGE_FACTS = 250, // told at once: less than a stream has room for
    PAGES = 8,        // that a round remembers
    PAGES_EACH = 4,   // that a listener is told before the others have their turn
};

typedef struct Listener Listener;

typedef struct KeptHook {
    HookSeen seen; // its source is beside it
    char source[SOURCE_ID_MAX + 1];
} KeptHook;

struct Listener {
    Listener *next;
    Feed *feed;
    Call *call;
    Stream *stream; // NULL until it has begun
    unsigned kinds;
    int64_t number;        // told, or passed over; FEED_NOW
    int64_t placed;        // the number that its client knows of
    uint64_t hooks;        // told, of all that came
    Instant wrote_at;      // monotonic
    Instant full_at;       // monotonic: since when it takes nothing; INSTANT_NONE
    atomic_bool is_roused; // the stream has room again, or is gone
};

// Page is what follows a number, and its frames by what is asked for.
typedef struct Page {
    int64_t tenant, after, last;
    Arena *arena;
    JournalEntry *entries;
    size_t count;
    Str texts[1 << FRAME_KINDS]; // none until somebody asks
} Page;

// Round is one look at everything.
typedef struct Round {
    Feed *feed;
    Db *db;
    Arena *arena;
    Registry *newest;
    Instant now, monotonic;
    Page pages[PAGES];
    size_t page_count;
    Numbered *lasts; // of the tenants that were asked for
    size_t last_count;
    bool is_behind; // somebody has more to be told
} Round;

struct Feed {
    Api *api;
    pthread_t thread;
    Listener *listeners; // the round's own
    Arena arena;         // likewise
    Arena shelf[PAGES];  // likewise: of the pages that it remembers
    Read read;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Listener *arrived;          // guarded by lock
    size_t count;               // guarded by lock: of all listeners
    size_t open;                // guarded by lock: of those that have begun
    KeptHook hooks[FEED_HOOKS]; // guarded by lock: the last of …
    uint64_t hook_count;        // … so many that came; guarded by lock
    bool is_wanted;             // guarded by lock
    bool is_reading;            // guarded by lock
    bool is_stopping;           // guarded by lock
};

static void want(Feed *feed)
{
    feed->is_wanted = true;
    pthread_cond_signal(&feed->changed);
}

void feed_wake(Feed *feed)
{
    if (!feed)
        return;
    pthread_mutex_lock(&feed->lock);
    if (feed->count > 0 && !feed->is_wanted)
        want(feed);
    pthread_mutex_unlock(&feed->lock);
}

size_t feed_count(Feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    size_t open = feed->open;
    pthread_mutex_unlock(&feed->lock);
    return open;
}

static void told(void *with)
{
    Listener *listener = with;
    atomic_store(&listener->is_roused, true);
    feed_wake(listener->feed);
}

// take_place counts a listener in, or says why not. With the lock.
static Err take_place(Feed *feed, Error *error)
{
    if (feed->is_stopping)
        return fail(error, ERR_STOPPING, "Peal is stopping");
    if (feed->count >= FEED_LISTENERS_MAX)
        return fail(error, ERR_BUSY, "%d streams are open already", FEED_LISTENERS_MAX);
    if (feed->count++ == 0)
        engine_hurry(feed->api->engine, true);
    return ERR_OK;
}

void feed_hook(Feed *feed, const HookSeen *seen)
{
    pthread_mutex_lock(&feed->lock);
    if (feed->count > 0) {
        KeptHook *kept = &feed->hooks[feed->hook_count++ % FEED_HOOKS];
        kept->seen = *seen;
        snprintf(kept->source, sizeof kept->source, "%.*s", STR_ARG(seen->source));
        want(feed);
    }
    pthread_mutex_unlock(&feed->lock);
}

void feed_join(Feed *feed, Call *call, unsigned kinds, int64_t after)
{
    Error error = { .arena = call->arena };
    Listener *listener = ARENA_NEW(call->arena, Listener);
    *listener = (Listener){
        .feed = feed, .call = call, .kinds = kinds, .number = after, .full_at = INSTANT_NONE
    };
    pthread_mutex_lock(&feed->lock);
    Err err = take_place(feed, &error);
    if (err == ERR_OK) {
        listener->hooks = feed->hook_count;
        listener->next = feed->arrived;
        feed->arrived = listener;
        want(feed);
    }
    pthread_mutex_unlock(&feed->lock);
    if (err != ERR_OK)
        call_fail(call, err, &error);
}

static void give_place_up(Feed *feed, bool had_begun)
{
    pthread_mutex_lock(&feed->lock);
    feed->open -= had_begun;
    if (--feed->count == 0)
        engine_hurry(feed->api->engine, false);
    pthread_mutex_unlock(&feed->lock);
}

// part ends a listener's stream, which is unlisted already, with a last word for its client.
static void part(Listener *listener, Arena *arena, const char *code, const char *why)
{
    Stream *stream = listener->stream;
    Buf text = buf_new(arena, BUF_WHOLE);
    frame_last(&text, code, why);
    give_place_up(listener->feed, true);
    reply_let_go(listener->call);
    stream_end_with(stream, buf_str(&text));
}

static void part_quietly(Listener *listener)
{
    Stream *stream = listener->stream;
    give_place_up(listener->feed, true);
    reply_let_go(listener->call);
    stream_break(stream);
}

// last_of is how far the tenant's numbers go, asked once in a round.
static Err last_of(Round *round, int64_t tenant, int64_t *ret, Error *error)
{
    for (size_t i = 0; i < round->last_count; i++)
        if (round->lasts[i].tenant == tenant) {
            *ret = round->lasts[i].number;
            return ERR_OK;
        }
    TRY(sequence_last(round->db, round->arena, tenant, ret, error));
    round->lasts[round->last_count++] = (Numbered){ tenant, *ret };
    return ERR_OK;
}

// pass_over makes a page of numbers that are gone: up to the next that is kept. What is kept and
// cannot be read is gone too.
static Err pass_over(Round *round, Page *page, int64_t last, Error *error)
{
    int64_t next, end = page->after + PAGE_FACTS;
    TRY(sequence_next_kept(round->db, page->arena, page->tenant, page->after, &next, error));
    if (next > end)
        page->last = next - 1;
    else
        page->last = next == 0 || end > last ? last : end;
    return ERR_OK;
}

static Err read_page(Round *round, Page *page, int64_t last, Error *error)
{
    TRY(journal_read(round->db, page->arena, page->tenant, page->after, PAGE_FACTS, &page->entries,
                     &page->count, error));
    if (page->count == 0)
        return pass_over(round, page, last, error);
    page->last = page->entries[page->count - 1].number;
    return ERR_OK;
}

// page_of is the page behind a number, read at most once in a round while it is remembered. What is
// remembered no more gives its room back: 500 may stand at as many places.
static Err page_of(Round *round, int64_t tenant, int64_t after, int64_t last, Page **ret,
                   Error *error)
{
    size_t kept = round->page_count < PAGES ? round->page_count : PAGES;
    for (size_t i = 0; i < kept; i++)
        if (round->pages[i].tenant == tenant && round->pages[i].after == after) {
            *ret = &round->pages[i];
            return ERR_OK;
        }
    size_t place = round->page_count % PAGES;
    Page page = { .tenant = tenant, .after = after, .arena = &round->feed->shelf[place] };
    round->pages[place] = (Page){ 0 }; // no tenant's
    arena_reset(page.arena);
    TRY(read_page(round, &page, last, error));
    round->page_count++;
    *ret = &round->pages[place];
    **ret = page;
    return ERR_OK;
}

static Str page_text(Page *page, unsigned kinds)
{
    Str *text = &page->texts[kinds];
    if (!text->at) {
        Buf frames = buf_new(page->arena, BUF_WHOLE);
        if (page->count == 0)
            frame_gap(&frames, page->after + 1, page->last);
        frames_write(&frames, page->entries, page->count, page->after, kinds);
        *text = frames.len > 0 ? buf_str(&frames) : S("");
    }
    return *text;
}

// give writes a piece; false where the stream has no room for it, or is gone.
static bool give(Round *round, Listener *listener, Str piece, bool *ret_gone)
{
    StreamFit fit = stream_write(listener->stream, piece);
    *ret_gone = fit == STREAM_GONE;
    if (fit == STREAM_FULL && listener->full_at == INSTANT_NONE)
        listener->full_at = round->monotonic;
    if (fit != STREAM_TAKEN)
        return false;
    listener->full_at = INSTANT_NONE;
    if (piece.len > 0)
        listener->wrote_at = round->monotonic;
    return true;
}

// tell_facts tells what has a number; ret_gone where nobody is there.
static Err tell_facts(Round *round, Listener *listener, bool *ret_gone, Error *error)
{
    int64_t tenant = listener->call->tenant, last;
    TRY(last_of(round, tenant, &last, error));
    for (int i = 0; i < PAGES_EACH && listener->number < last; i++) {
        Page *page;
        TRY(page_of(round, tenant, listener->number, last, &page, error));
        Str text = page_text(page, listener->kinds);
        if (!give(round, listener, text, ret_gone))
            return ERR_OK;
        listener->number = page->last;
        if (text.len > 0)
            listener->placed = page->last;
    }
    round->is_behind |= listener->number < last;
    return ERR_OK;
}

static void add_hook(Buf *to, const KeptHook *kept)
{
    const HookSeen *seen = &kept->seen;
    JsonOut json = json_out(to);
    buf_add(to, S("event: hook\ndata: "));
    json_open(&json, '{');
    json_put_str(&json, S("source"), str_from(kept->source));
    json_put_str(&json, S("provider"), str_from(provider_id_text(seen->provider)));
    json_put_str(&json, S("verdict"), str_from(hook_verdict_code(seen->verdict)));
    json_put_i64(&json, S("size"), (int64_t) seen->size);
    json_put_id(&json, S("id"), seen->id);
    json_put_time(&json, S("time"), seen->at);
    json_close(&json, '}');
    buf_add(to, S("\n\n"));
}

// hooks_since writes those of the tenant that came since, and says how many have come in all.
static void hooks_since(Feed *feed, int64_t tenant, uint64_t since, Buf *to, uint64_t *ret_count)
{
    pthread_mutex_lock(&feed->lock);
    uint64_t count = feed->hook_count;
    if (count - since > FEED_HOOKS)
        since = count - FEED_HOOKS;
    for (; since < count; since++)
        if (feed->hooks[since % FEED_HOOKS].seen.tenant == tenant)
            add_hook(to, &feed->hooks[since % FEED_HOOKS]);
    pthread_mutex_unlock(&feed->lock);
    *ret_count = count;
}

static void tell_hooks(Round *round, Listener *listener, bool *ret_gone)
{
    Buf text = buf_new(round->arena, BUF_WHOLE);
    uint64_t count;
    if (!(listener->kinds & FRAME_SET(FRAME_HOOK)))
        return;
    hooks_since(round->feed, listener->call->tenant, listener->hooks, &text, &count);
    if (text.len == 0 || give(round, listener, buf_str(&text), ret_gone))
        listener->hooks = count;
}

// begin begins a stream: where it begins is told at once, so that nothing is missed by who
// comes back before anything happened.
static void begin(Round *round, Listener *listener)
{
    Call *call = listener->call;
    bool is_gone;
    Buf text = buf_new(round->arena, BUF_WHOLE);
    Reply head = { .status = call->route->status,
                   .type = str_from(call->route->type),
                   .headers = { { S("X-Accel-Buffering"), S("no") } },
                   .header_count = 1 };
    metrics_request(call->route, head.status);
    listener->stream = exchange_stream(call->exchange, &head, (StreamWatch){ told, listener });
    listener->placed = listener->number;
    buf_add(&text, S("retry: 2000\n"));
    frame_place(&text, listener->number);
    (void) give(round, listener, buf_str(&text), &is_gone); // whoever is gone is found in its turn
    pthread_mutex_lock(&round->feed->lock);
    round->feed->open++;
    pthread_mutex_unlock(&round->feed->lock);
}

// find_place says where a listener begins. A number that was never given is another store's, or one
// of a store that was put back: it begins now, and is told.
static Err find_place(Round *round, Listener *listener, int64_t *ret_lost, Error *error)
{
    int64_t last;
    TRY(last_of(round, listener->call->tenant, &last, error));
    *ret_lost = listener->number > last ? listener->number : FEED_NOW;
    if (listener->number == FEED_NOW || listener->number > last)
        listener->number = last;
    return ERR_OK;
}

static void refuse(Listener *listener, Err err, const Error *error)
{
    Call *call = listener->call;
    give_place_up(listener->feed, false);
    call_fail(call, err, error);
}

static void tell_lost(Round *round, Listener *listener, int64_t lost)
{
    bool is_gone;
    Buf text = buf_new(round->arena, BUF_WHOLE);
    buf_add_format(&text, "id: %lld\nevent: gap\ndata: {\"from\":null,\"to\":%lld}\n\n",
                   (long long) listener->number, (long long) lost);
    (void) give(round, listener, buf_str(&text), &is_gone);
}

// take_arrived begins the streams of those who came; where the store fails they are told.
static void take_arrived(Round *round, Listener *arrived)
{
    for (Listener *each = arrived, *next; each; each = next) {
        Error error = { .arena = each->call->arena };
        int64_t lost;
        next = each->next;
        Err err = find_place(round, each, &lost, &error);
        if (err != ERR_OK) {
            refuse(each, err, &error);
            continue;
        }
        begin(round, each);
        if (lost != FEED_NOW)
            tell_lost(round, each, lost);
        each->next = round->feed->listeners;
        round->feed->listeners = each;
    }
}

// may_stay is false where the key is gone, has expired, or may no longer look.
static bool may_stay(const Round *round, Listener *listener)
{
    Served *served = (Served *) listener->call;
    Error ignored = { 0 };
    return rights_readmit(served, round->newest, round->now, &ignored) == ERR_OK &&
           (!served->has_key || served->call.key->expires_at > round->now);
}

// say_alive tells a quiet stream that it lives, and where its client stands.
static void say_alive(Round *round, Listener *listener, bool *ret_gone)
{
    if (round->monotonic - listener->wrote_at < FEED_QUIET)
        return;
    Buf text = buf_new(round->arena, BUF_WHOLE);
    buf_add(&text, S(":\n"));
    if (listener->placed < listener->number)
        buf_add_format(&text, "id: %lld\n", (long long) listener->number);
    buf_add(&text, S("\n"));
    if (give(round, listener, buf_str(&text), ret_gone))
        listener->placed = listener->number;
}

// tell_one tells a listener what there is; false where it has left, or was made to.
static bool tell_one(Round *round, Listener *listener)
{
    Error error = { 0 };
    bool is_gone = false;
    if (atomic_exchange(&listener->is_roused, false))
        (void) give(round, listener, STR_NONE, &is_gone);
    if (!is_gone && !may_stay(round, listener)) {
        part(listener, round->arena, "forbidden", "the key is gone, or may not look any more");
        return false;
    }
    if (!is_gone && listener->full_at == INSTANT_NONE)
        tell_hooks(round, listener, &is_gone);
    if (!is_gone && listener->full_at == INSTANT_NONE && (listener->kinds & FRAME_NUMBERED) &&
        tell_facts(round, listener, &is_gone, &error) != ERR_OK)
        log_warn("stream.failed", "detail=%s", log_quote(str_from(error.detail)));
    if (!is_gone && listener->full_at == INSTANT_NONE)
        say_alive(round, listener, &is_gone);
    if (is_gone) {
        part_quietly(listener);
        return false;
    }
    if (listener->full_at == INSTANT_NONE || round->monotonic - listener->full_at < FEED_SLOW)
        return true;
    part(listener, round->arena, "slow", "the client takes too little; it may come back");
    return false;
}

static void tell_all(Round *round)
{
    for (Listener **at = &round->feed->listeners; *at;) {
        Listener *listener = *at, *next = listener->next;
        if (tell_one(round, listener))
            at = &listener->next;
        else
            *at = next;
    }
}

static Listener *arrived_of(Feed *feed, size_t *ret_count)
{
    pthread_mutex_lock(&feed->lock);
    Listener *arrived = feed->arrived;
    feed->arrived = NULL;
    feed->is_wanted = false;
    *ret_count = feed->count;
    pthread_mutex_unlock(&feed->lock);
    return arrived;
}

static Err go_round(Read *read, Db *db, Error *error)
{
    Feed *feed = (Feed *) ((char *) read - offsetof(Feed, read));
    size_t count;
    (void) error;
    arena_reset(&feed->arena);
    Listener *arrived = arrived_of(feed, &count);
    Round round = { .feed = feed,
                    .db = db,
                    .arena = &feed->arena,
                    .newest = writer_registry(api_writer(feed->api)),
                    .now = clock_now(feed->api->clock),
                    .monotonic = clock_machine_monotonic(),
                    .lasts = ARENA_ARRAY(&feed->arena, Numbered, count + 1) };
    take_arrived(&round, arrived);
    tell_all(&round);
    registry_drop(round.newest);
    if (round.is_behind)
        feed_wake(feed);
    return ERR_OK;
}

// round_done also comes where there was no round, because the store is away: the streams stay, and
// who came just now is turned away.
static void round_done(Read *read, Err err, const Error *error)
{
    Feed *feed = (Feed *) ((char *) read - offsetof(Feed, read));
    size_t count;
    if (err != ERR_OK)
        for (Listener *each = arrived_of(feed, &count), *next; each; each = next) {
            next = each->next;
            refuse(each, err, error);
        }
    pthread_mutex_lock(&feed->lock);
    feed->is_reading = false;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

// next_look is when the crier goes round if nobody says anything; INSTANT_NONE: not at all.
static Instant next_look(const Feed *feed)
{
    Instant next = INSTANT_NONE, now = clock_machine_monotonic();
    if (!feed->listeners)
        return next;
    if (writer_is_shared(api_writer(feed->api)))
        next = now + FEED_LOOK;
    for (const Listener *each = feed->listeners; each; each = each->next) {
        bool is_full = each->full_at != INSTANT_NONE;
        next = earlier(next, is_full ? each->full_at + FEED_SLOW : each->wrote_at + FEED_QUIET);
    }
    return later(next, now + SPAN_MILLISECOND);
}

// rest waits until there may be something to tell; false when it is to stop instead.
static bool rest(Feed *feed, Instant until)
{
    struct timespec at = { .tv_sec = until / SPAN_SECOND,
                           .tv_nsec = (long) (until % SPAN_SECOND * 1000) };
    int waited = 0;
    pthread_mutex_lock(&feed->lock);
    while (!feed->is_stopping && !feed->is_wanted && waited == 0)
        waited = until == INSTANT_NONE ? pthread_cond_wait(&feed->changed, &feed->lock)
                                       : pthread_cond_timedwait(&feed->changed, &feed->lock, &at);
    bool goes_on = !feed->is_stopping;
    feed->is_reading = goes_on;
    pthread_mutex_unlock(&feed->lock);
    return goes_on;
}

static void await_round(Feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    while (feed->is_reading)
        pthread_cond_wait(&feed->changed, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
}

static void end_all(Feed *feed)
{
    size_t count;
    Error error = { 0 };
    (void) fail(&error, ERR_STOPPING, "Peal is stopping");
    for (Listener *each = arrived_of(feed, &count), *next; each; each = next) {
        next = each->next;
        refuse(each, ERR_STOPPING, &error);
    }
    for (Listener *each = feed->listeners, *next; each; each = next) {
        next = each->next;
        part(each, &feed->arena, "stopping", "this node stops; come back");
    }
    feed->listeners = NULL;
}

static void *cry(void *with)
{
    Feed *feed = with;
    while (rest(feed, next_look(feed))) {
        feed->read = (Read){ .pace = READ_SLOW, .run = go_round, .done = round_done };
        reader_submit(feed->api->streamer, &feed->read);
        await_round(feed);
    }
    end_all(feed);
    return NULL;
}

Feed *feed_open(Api *api)
{
    Feed *feed = memory_new(sizeof *feed);
    feed->api = api;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&feed->thread, NULL, cry, feed) != 0)
        abort();
    return feed;
}

void feed_stop(Feed *feed)
{
    if (!feed)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->is_stopping = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    pthread_join(feed->thread, NULL);
}

void feed_free(Feed *feed)
{
    if (!feed)
        return;
    pthread_mutex_destroy(&feed->lock);
    pthread_cond_destroy(&feed->changed);
    arena_done(&feed->arena);
    for (size_t i = 0; i < PAGES; i++)
        arena_done(&feed->shelf[i]);
    free(feed);
}
