#include "engine/poll.h"

#include "base/log.h"
#include "engine/state.h"

// What a page only names is fetched, event by event, so many at once; then the page is written.
//
// A provider that refuses the token, or asks to wait, says so for all: the poll ends, and nothing
// of the page counts. Whatever else fails may be the matter of one event, which must not hold up
// its account for ever. So the others are fetched all the same, and where that works, the polls
// that could not fetch it are counted, with the group: it is left out after POLL_HYDRATION_TRIES of
// them, and said which it was.
//
// Where nothing of the page can be had it is the provider that fails, as far as anybody can tell:
// nothing is lost by waiting. Only where a page has few events may it be all of them for
// themselves; they are left out after POLL_HYDRATION_TRIES_ALONE polls, which by the usual waits is
// most of a day.

// Hydration is one event that is being completed.
typedef struct Hydration {
    Poll *poll;
    size_t event;
} Hydration;

static void hydrate_more(Poll *poll);

// miss notes that one could not be fetched; why the first could not is told.
static void miss(Poll *poll, size_t i, PollVerdict verdict, Str note)
{
    poll->fates[i] = POLL_UNFETCHED;
    if (poll->unfetched.verdict == POLL_GOOD)
        poll->unfetched = (PollPage){ .verdict = verdict, .note = note };
}

static bool is_for_all(const PollPage *page)
{
    return page->verdict == POLL_UNAUTHORIZED || page->verdict == POLL_LIMITED || page->backoff > 0;
}

// take reads what was answered; what the answer makes of the page counts only where it is good, or
// for all.
static void take(Poll *poll, size_t i)
{
    PollPage after = poll->page;
    bool is_there = poll->provider->hydrate_read(&poll->page_arena, &poll->turn, &poll->reply,
                                                 &poll->page.events[i], &after);
    if (after.verdict != POLL_GOOD && !is_for_all(&after)) {
        miss(poll, i, after.verdict, after.note);
        return;
    }
    poll->page = after;
    poll->fates[i] = is_there ? POLL_WHOLE : POLL_GONE;
    poll->fetched += after.verdict == POLL_GOOD;
}

static void hydrated(void *with, const TransferResult *result)
{
    const Hydration *hydration = with;
    Poll *poll = hydration->poll;
    poll->hydrations--;
    poll_keep_answer(poll, result);
    if (result->problem != TRANSFER_ANSWERED)
        miss(poll, hydration->event, POLL_AGAIN, str_dup(&poll->page_arena, result->problem_text));
    else if (result->body.len > POLL_HYDRATION_ANSWER_MAX)
        miss(poll, hydration->event, POLL_AGAIN, S("its answer is longer than 1 MiB"));
    else if (poll->page.verdict == POLL_GOOD)
        take(poll, hydration->event);
    hydrate_more(poll);
}

static void hydrate_one(Poll *poll, size_t i)
{
    ProviderRequest asked = { 0 };
    Error error = { .arena = &poll->page_arena };
    Hydration *hydration = ARENA_NEW(&poll->page_arena, Hydration);
    *hydration = (Hydration){ poll, i };
    if (poll->provider->hydrate_ask(&poll->page_arena, &poll->turn, &poll->page.events[i], &asked,
                                    &error) != ERR_OK) {
        poll->fates[i] = POLL_UNASKED;
        return;
    }
    poll->hydrations++;
    poll_request(poll, &asked, HYDRATION_TIMEOUT, POLL_HYDRATION_ANSWER_MAX, hydrated, hydration);
}

static int64_t tries_of(const Json *known, Str id)
{
    int64_t tries = 0;
    return json_i64(json_get(known, id), &tries) && tries > 0 ? tries : 0;
}

// count_tries writes what this page's events that could not be fetched have cost by now; ret_least
// is how often the newest of them was tried.
static Str count_tries(const Poll *poll, Arena *arena, int64_t *ret_least)
{
    const Json *known = NULL;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    if (poll->group.unfetched.at &&
        json_parse(arena, poll->group.unfetched, &known, NULL) != ERR_OK)
        known = NULL; // somebody damaged it: it is counted anew
    *ret_least = INT64_MAX;
    json_open(&out, '{');
    for (size_t i = 0; i < poll->page.count; i++) {
        if (poll->fates[i] != POLL_UNFETCHED)
            continue;
        int64_t tries = tries_of(known, poll->page.events[i].hydrates) + 1;
        *ret_least = earlier(*ret_least, tries);
        json_put_i64(&out, poll->page.events[i].hydrates, tries);
    }
    json_close(&out, '}');
    return buf_str(&text);
}

// leave_out says which events the page goes on without.
static void leave_out(Poll *poll)
{
    for (size_t i = 0; i < poll->page.count; i++) {
        Str id = poll->page.events[i].hydrates;
        if (poll->fates[i] != POLL_UNFETCHED && poll->fates[i] != POLL_UNASKED)
            continue;
        poll->skipped++;
        log_warn("poll.left_out", "provider=%s tenant=%lld integration=%s item=%s detail=%s",
                 provider_id_text(poll->provider->name), (long long) poll->group.tenant,
                 log_quote(poll->group.integration), log_quote(id),
                 log_quote(poll->unfetched.note));
        if (!poll->left_out.at)
            poll->left_out = str_dup(&poll->arena, id);
        else if (poll->left_out.len < POLL_NOTE_MAX)
            poll->left_out = STR_JOIN(&poll->arena, poll->left_out, S(", "), id);
    }
}

// judge decides what becomes of a page of which something could not be fetched.
static void judge(Poll *poll)
{
    PollPage *page = &poll->page;
    int64_t least, enough = poll->fetched ? POLL_HYDRATION_TRIES : POLL_HYDRATION_TRIES_ALONE;
    Str tries = count_tries(poll, &poll->arena, &least);
    bool counts = poll->fetched > 0 || page->count <= POLL_HYDRATION_FEW;
    if (counts)
        poll->group.unfetched = tries;
    if (counts && least >= enough)
        return;
    page->verdict = poll->fetched ? POLL_AGAIN : poll->unfetched.verdict;
    page->note = str_format(&poll->page_arena, "some of what was found could not be fetched: %.*s",
                            STR_ARG(poll->unfetched.note));
}

// is_hopeless: so many could not be fetched, and none could, that it is not for them.
static bool is_hopeless(const Poll *poll)
{
    size_t asked = poll->hydrating - poll->hydrations;
    return poll->fetched == 0 && poll->unfetched.verdict != POLL_GOOD &&
           asked >= POLL_HYDRATIONS_MAX;
}

static void end(Poll *poll)
{
    if (poll->page.verdict == POLL_GOOD && poll->unfetched.verdict != POLL_GOOD)
        judge(poll);
    if (poll->page.verdict == POLL_GOOD) {
        leave_out(poll);
        poll_write_page(poll);
        return;
    }
    poll->page.cursor = STR_NONE; // none of it counts: it is asked for anew
    poll_end_badly(poll);
}

// hydrate_more has the next events completed, so many at once, until none is left.
static void hydrate_more(Poll *poll)
{
    const PollPage *page = &poll->page;
    while (page->verdict == POLL_GOOD && poll->hydrating < page->count &&
           poll->hydrations < POLL_HYDRATIONS_MAX && !is_hopeless(poll)) {
        size_t i = poll->hydrating++;
        if (page->events[i].hydrates.at)
            hydrate_one(poll, i);
    }
    if (poll->hydrations == 0)
        end(poll);
}

void poll_hydrate(Poll *poll)
{
    poll->fates = ARENA_ARRAY(&poll->page_arena, PollFate, poll->page.count + 1);
    memset(poll->fates, 0, poll->page.count * sizeof *poll->fates);
    poll->hydrating = poll->hydrations = poll->fetched = 0;
    poll->unfetched = (PollPage){ 0 };
    poll->stage = POLL_HYDRATING;
    hydrate_more(poll);
}
