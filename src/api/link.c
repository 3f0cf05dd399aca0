#include "api/link.h"

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "base/version.h"
#include "net/transfer.h"
#include "store/site.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KNOWN_MAX = 1024, AGAIN_ROWS = 1000 };

#define ASK_EVERY (60 * SPAN_SECOND)
#define ASK_SOON (2 * SPAN_SECOND) // after a poke, and no more often
#define ASK_TIMEOUT (5 * SPAN_SECOND)

// Known is what was last heard of a notification. It stands at the place that its id says, where
// another may follow it: what was asked for lately is what is asked for again.
typedef struct Known {
    Uuid id;
    char *text;
} Known;

struct Link {
    LinkOptions options;
    Arena arena; // of the options' texts
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping, is_poked; // guarded by lock
    Known known[KNOWN_MAX];     // likewise
    _Atomic bool is_down;       // the last who asked got no answer
};

static TransferResult get(Link *link, Arena *arena, Str path)
{
    const LinkOptions *options = &link->options;
    Header header = { S("authorization"), str_format(arena, "Bearer %.*s", STR_ARG(options->key)) };
    Transfer transfer = { .method = S("GET"),
                          .url =
                              str_format(arena, "%.*s%.*s", STR_ARG(options->url), STR_ARG(path)),
                          .headers = &header,
                          .header_count = 1,
                          .timeout = ASK_TIMEOUT,
                          .response_max = (size_t) 4 << 20,
                          .ca = options->ca };
    TransferResult result = transfer_once(arena, &transfer);
    atomic_store(&link->is_down, result.problem != TRANSFER_ANSWERED || result.status >= 500);
    return result;
}

// Handing on again

typedef struct Again {
    const LinkOptions *options;
    SiteEpoch heard;
    SiteAgain slice;
} Again;

// compare does one slice. The epoch is kept with the last: after a crash it begins anew.
static Err compare(Tx *tx, void *with, Error *error)
{
    Again *again = with;
    TRY(site_heard(tx, &again->heard, error));
    again->slice.count = 0;
    again->slice.since = tx->now - SITE_KEEPS;
    if (again->heard.is_older)
        TRY(site_again(tx, again->options->tenant, again->options->rule, &again->slice, error));
    if (again->slice.count < again->slice.limit)
        site_keep(tx, &again->heard);
    return ERR_OK;
}

// hear compares central's epoch with the one that was heard before. There may be a week of rows to
// hand on again, so that is done in slices.
static void hear(Link *link, const SiteEpoch *heard)
{
    Again again = { .options = &link->options, .heard = *heard, .slice.limit = AGAIN_ROWS };
    int64_t count = 0;
    do {
        Error error = { 0 };
        if (writer_run(link->options.writer, compare, &again, &error) != ERR_OK) {
            log_warn("site.unheard", "detail=%s", log_quote(str_from(error.detail)));
            return;
        }
        again.slice.after = again.slice.last;
        count += again.slice.count;
    } while (again.slice.count == again.slice.limit);
    if (again.heard.is_older)
        log_warn("site.again", "rows=%lld detail=%s", (long long) count,
                 log_quote(S("central is older than it was: what is kept is handed on again")));
}

// Telling is what a site tells of itself.
typedef struct Telling {
    const LinkOptions *options;
    int64_t backlog;
    Instant now;
} Telling;

static Err look(Tx *tx, void *with, Error *error)
{
    Telling *telling = with;
    const LinkOptions *options = telling->options;
    telling->now = tx->now;
    return site_backlog(tx, options->tenant, options->rule, &telling->backlog, error);
}

// site_path asks how central stands, and tells how the site does, where that can be told.
static Str site_path(Link *link, Arena *arena)
{
    char now[TIME_TEXT_MAX];
    Error error = { 0 };
    Telling telling = { .options = &link->options };
    if (writer_run(link->options.writer, look, &telling, &error) != ERR_OK)
        return S("/v1/site");
    return str_format(arena, "/v1/site?version=" PEAL_VERSION "&backlog=%lld&now=%.*s",
                      (long long) telling.backlog, STR_ARG(time_text(telling.now, now)));
}

static void ask_epoch(Link *link)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *body;
    TransferResult result = get(link, &arena, site_path(link, &arena));
    if (result.problem != TRANSFER_ANSWERED || result.status != 200 ||
        json_parse(&arena, result.body, &body, NULL) != ERR_OK) {
        log_debug("site.unanswered", "status=%d", result.status);
        return;
    }
    const Json *epoch = json_get(body, S("epoch"));
    SiteEpoch heard = { .id = json_str(json_get(epoch, S("id"))) };
    if (heard.id.len > 0 && json_i64(json_get(epoch, S("number")), &heard.number))
        hear(link, &heard);
}

// The thread

// pauses waits until central is to be asked again; false when it is to stop instead.
static bool pauses(Link *link)
{
    Instant from = clock_machine_monotonic(), due = from + ASK_EVERY;
    pthread_mutex_lock(&link->lock);
    while (!link->is_stopping && clock_machine_monotonic() < due) {
        if (link->is_poked)
            due = earlier(due, from + ASK_SOON);
        struct timespec until = { .tv_sec = due / SPAN_SECOND,
                                  .tv_nsec = (long) (due % SPAN_SECOND * 1000) };
        pthread_cond_timedwait(&link->wake, &link->lock, &until);
    }
    bool goes_on = !link->is_stopping;
    link->is_poked = false;
    pthread_mutex_unlock(&link->lock);
    return goes_on;
}

static void *link_main(void *with)
{
    Link *link = with;
    do
        ask_epoch(link);
    while (pauses(link));
    return NULL;
}

Link *link_open(const LinkOptions *options)
{
    Link *link = memory_new(sizeof *link);
    link->options = *options;
    link->options.url = str_dup(&link->arena, options->url);
    while (str_ends(link->options.url, S("/")))
        link->options.url.len--;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&link->lock, NULL);
    pthread_cond_init(&link->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&link->thread, NULL, link_main, link) != 0)
        abort();
    return link;
}

void link_close(Link *link)
{
    if (!link)
        return;
    pthread_mutex_lock(&link->lock);
    link->is_stopping = true;
    pthread_cond_signal(&link->wake);
    pthread_mutex_unlock(&link->lock);
    pthread_join(link->thread, NULL);
    for (size_t i = 0; i < KNOWN_MAX; i++)
        free(link->known[i].text);
    pthread_mutex_destroy(&link->lock);
    pthread_cond_destroy(&link->wake);
    arena_done(&link->arena);
    free(link);
}

void link_poke(Link *link)
{
    pthread_mutex_lock(&link->lock);
    bool is_first = !link->is_poked;
    link->is_poked = true;
    if (is_first)
        pthread_cond_signal(&link->wake);
    pthread_mutex_unlock(&link->lock);
}

// What is known of notifications

static Known *place_of(Link *link, Uuid id)
{
    return &link->known[(id.b[14] << 8 | id.b[15]) % KNOWN_MAX]; // the random end of an id
}

static void remember(Link *link, Uuid id, Str text)
{
    char *copy = memory_new(text.len + 1);
    memcpy(copy, text.at, text.len);
    pthread_mutex_lock(&link->lock);
    Known *known = place_of(link, id);
    free(known->text);
    *known = (Known){ id, copy };
    pthread_mutex_unlock(&link->lock);
}

static Str recall(Link *link, Arena *arena, Uuid id)
{
    Str text = STR_NONE;
    pthread_mutex_lock(&link->lock);
    const Known *known = place_of(link, id);
    if (known->text && uuid_cmp(known->id, id) == 0)
        text = str_dup(arena, str_from(known->text));
    pthread_mutex_unlock(&link->lock);
    return text;
}

// tells: central has said something of it. A page of somebody in between tells nothing.
static bool tells(Arena *arena, const TransferResult *result)
{
    const Json *told;
    return result->problem == TRANSFER_ANSWERED && result->status == 200 &&
           json_parse(arena, result->body, &told, NULL) == ERR_OK && json_type(told) == JSON_OBJECT;
}

LinkAnswer link_ask(Link *link, Arena *arena, Uuid notification)
{
    if (!atomic_load(&link->is_down)) {
        Str path =
            str_format(arena, "/v1/notifications/%.*s", STR_ARG(uuid_dup(arena, notification)));
        TransferResult result = get(link, arena, path);
        if (tells(arena, &result)) {
            remember(link, notification, result.body);
            return (LinkAnswer){ .text = result.body };
        }
        if (result.problem != TRANSFER_ANSWERED)
            link_poke(link); // to see soon whether it is back
    }
    return (LinkAnswer){ .text = recall(link, arena, notification), .is_stale = true };
}
