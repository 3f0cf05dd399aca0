#include "engine/poll.h"

#include "base/log.h"
#include "engine/state.h"

// A provider may be asked to tell by itself that there is something (Gmail's watch). That is part
// of the conversation of a poll, ahead of its first question: under the same lease, with the same
// token, and what became of it is written with the poll's next page. A node that dies in between
// asks again, which changes nothing.
//
// It is asked for where the integration names something that was not asked for yet, and again when
// half of its time is over: what fails then is tried many times before it ends. It never stops a
// poll, which finds whatever nobody told of. Where the integration names nothing any more, is
// disabled, or has no trigger left that polls it, the provider is told so, once.

// is_due: what is had is not what is wanted, or its time has come.
static bool is_due(const PollGroup *group, Str wanted, Instant now)
{
    bool is_its_time = group->register_at == INSTANT_NONE || group->register_at <= now;
    if (!wanted.at)
        return group->registered.at;
    return !str_eq(group->registered, wanted) || is_its_time;
}

// keep notes what was had; without a time it was not, and is tried again.
static void keep(Poll *poll, Instant until, const PollPage *page)
{
    PollGroup *group = &poll->group;
    Instant now = poll->turn.now;
    Span wait = page->backoff > 0 ? earlier(page->backoff, POLL_ASKED_MAX) : POLL_WATCH_AGAIN;
    if (until != INSTANT_NONE) {
        group->registered_until = until;
        wait = earlier((until - now) / 2, POLL_WATCH_RENEW_MAX);
    }
    group->register_at = now + wait;
    group->register_error = until != INSTANT_NONE
                                ? STR_NONE
                                : str_dup(&poll->arena, str_head(page->note, POLL_NOTE_MAX));
}

// forget: a provider that was told to stop may go on until the time it gave, which hurts nobody.
static void forget(PollGroup *group)
{
    group->registered = group->register_error = STR_NONE;
    group->registered_until = group->register_at = INSTANT_NONE;
}

static void answered(void *with, const TransferResult *result)
{
    Poll *poll = with;
    PollPage page = { .verdict = POLL_AGAIN, .note = S("it did not answer") };
    Instant until = INSTANT_NONE;
    poll_keep_answer(poll, result);
    if (result->problem == TRANSFER_ANSWERED)
        until = poll->provider->watch_read(&poll->page_arena, &poll->turn, &poll->reply, &page);
    if (page.verdict == POLL_UNAUTHORIZED && !poll->has_refreshed) {
        poll_token_refresh(poll, page.note);
        return;
    }
    if (poll->integration.watch.topic.at)
        keep(poll, until, &page);
    else
        forget(&poll->group);
    if (poll->group.register_error.at)
        log_warn("poll.unwatched", "provider=%s tenant=%lld integration=%s detail=%s",
                 provider_id_text(poll->provider->name), (long long) poll->group.tenant,
                 log_quote(poll->group.integration), log_quote(poll->group.register_error));
    arena_reset(&poll->page_arena);
    poll_ask(poll);
}

bool poll_watch(Poll *poll)
{
    ProviderRequest asked = { 0 };
    PollGroup *group = &poll->group;
    if (!poll->provider->watch_ask || !poll->has_integration)
        return false;
    poll->turn.now = clock_now(poll->engine->options.clock);
    poll->provider->watch_ask(&poll->page_arena, &poll->turn, &poll->integration.watch, &asked);
    if (!is_due(group, asked.body, poll->turn.now))
        return false;
    // One that is wanted otherwise is another: nothing of the last one counts.
    if (asked.body.at && !str_eq(asked.body, group->registered)) {
        forget(group);
        group->registered = str_dup(&poll->arena, asked.body);
    }
    poll_request(poll, &asked, POLL_TIMEOUT, POLL_TOKEN_MAX, answered, poll);
    return true;
}
