#include "engine/poll.h"

#include "engine/state.h"
#include "store/accept.h"

// What a page brought goes in by the one door, in the transaction that moves the cursor past it,
// if the poll still is this node's. Each event has its dedup key as its identity, within its
// account: what is read twice, because two have the same time or an expired cursor was set anew, is
// one event.
//
// An event that cannot be built is left out, and said so. A page that the store refuses by its own
// fault is written event by event, so that one bad event keeps no other out, and then its cursor.

#define POLL_SOURCE S("poll")

static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void done(Op *op, Err err, const Error *error);

static const OpKind poll_kind = { .name = "poll", .apply = apply };

void poll_write(Poll *poll)
{
    bool is_good = poll->page.verdict == POLL_GOOD;
    poll->stage = POLL_WRITING;
    poll->op = (Op){ .kind = &poll_kind,
                     .done = done,
                     .patience = SPAN_SECOND,
                     .weight = is_good ? poll->page.count + 1 : 1,
                     .bytes = poll->page_arena.bytes };
    writer_submit(poll->engine->options.writer, &poll->op);
}

// done runs on the writer's thread.
static void done(Op *op, Err err, const Error *error)
{
    Poll *poll = (Poll *) op;
    poll->err = err;
    poll->stage = POLL_WRITTEN;
    if (err != ERR_OK)
        poll->problem = str_dup(&poll->page_arena, str_from(error->detail));
    poll_arrive(poll);
}

static Str identity_of(Arena *arena, const Poll *poll, const ProviderEvent *event)
{
    Str identity = STR_JOIN(arena, poll->group.integration, S("/"), event->dedup_key);
    return event->dedup_key.at && identity.len <= EVENT_IDENTITY_MAX ? identity : STR_NONE;
}

static Err build(Tx *tx, const Poll *poll, const ProviderEvent *event, Event *ret, Error *error)
{
    Arena *arena = &tx->arena;
    size_t max = poll->engine->options.payload_max;
    Str integration = poll->group.integration;
    *ret = (Event){ .kind = STR_JOIN(arena, str_from(provider_id_text(event->provider)), S("."),
                                     event->type),
                    .source = POLL_SOURCE,
                    .identity = identity_of(arena, poll, event),
                    .topic = integration.len > 0 ? integration : STR_NONE,
                    .occurred_at = event->occurred_at };
    TRY(event_build_row(arena, provider_payload(arena, event, tx->now, max), ret, error));
    return event_check_size(ret, max, error);
}

// is_wanted: of a page that is written event by event, it is this one's turn, or that of the cursor
// alone.
static bool is_wanted(const Poll *poll, size_t i)
{
    if (poll->fates && poll->fates[i] != POLL_WHOLE)
        return false;
    return !poll->alone || poll->alone == i + 1;
}

// build_all makes events of what the page has; how many could not be is the page's.
static Accept *build_all(Tx *tx, Poll *poll)
{
    Accept *accept = ARENA_NEW(&tx->arena, Accept);
    *accept = (Accept){ .arena = &tx->arena,
                        .tenant = poll->group.tenant,
                        .items = ARENA_ARRAY(&tx->arena, AcceptItem, poll->page.count + 1),
                        .now = tx->now };
    poll->unbuilt = 0;
    for (size_t i = 0; i < poll->page.count; i++) {
        Error error = { .arena = &tx->arena };
        AcceptItem *item = &accept->items[accept->count];
        if (!is_wanted(poll, i))
            continue;
        *item = (AcceptItem){ 0 };
        if (build(tx, poll, &poll->page.events[i], &item->event, &error) == ERR_OK)
            accept->count++;
        else
            poll->unbuilt++;
    }
    return accept;
}

static Span backoff_of(const PollGroup *group, const PollPage *page)
{
    if (page->backoff > 0)
        return earlier(page->backoff, POLL_ASKED_MAX);
    Span span = POLL_BACKOFF_FIRST;
    for (int64_t i = 1; i < group->failures && span < POLL_BACKOFF_MAX; i++)
        span *= 2;
    return page->verdict == POLL_BROKEN ? POLL_BACKOFF_MAX : earlier(span, POLL_BACKOFF_MAX);
}

// note_of says why a poll failed; of one that went well, what a person should know of it, and what
// was left out.
static Str note_of(Arena *arena, const Poll *poll)
{
    size_t skipped = poll->skipped + poll->unbuilt;
    if (poll->page.verdict != POLL_GOOD)
        return str_head(poll->page.note, POLL_NOTE_MAX);
    if (skipped == 0)
        return poll->note;
    Str note = str_format(arena, "%zu of what came could not be taken and was left out", skipped);
    if (poll->left_out.at)
        note = STR_JOIN(arena, note, S(": "), poll->left_out);
    if (poll->note.at)
        note = STR_JOIN(arena, poll->note, S("; "), note);
    return str_head(note, POLL_NOTE_MAX);
}

// has_failed: the integration has, with this poll.
static bool has_failed(const Poll *poll)
{
    return poll->page.verdict == POLL_UNAUTHORIZED && poll->has_integration;
}

// ended is how the group stands once this page is written.
static PollGroup ended(Tx *tx, const Poll *poll)
{
    PollGroup group = poll->group;
    const PollPage *page = &poll->page;
    group.cursor = poll->alone && poll->alone <= page->count ? STR_NONE : page->cursor;
    group.last_error = note_of(&tx->arena, poll);
    group.backoff_until = INSTANT_NONE;
    group.told = poll->is_cut ? POLL_TOLD_POLL : POLL_TOLD_NOTHING;
    group.next_at = poll->is_cut || poll->is_parting ? tx->now : tx->now + poll->interval;
    if (page->verdict == POLL_GOOD) {
        group.failures = 0;
        if (page->backoff > 0) {
            group.backoff_until = tx->now + earlier(page->backoff, POLL_ASKED_MAX);
            group.next_at = later(group.next_at, group.backoff_until);
        }
        return group;
    }
    group.failures++;
    if (has_failed(poll))
        group.next_at = INSTANT_NONE; // until somebody changes the integration
    else
        group.next_at = group.backoff_until = tx->now + backoff_of(&group, page);
    return group;
}

static Err write(Tx *tx, Poll *poll, Error *error)
{
    bool takes = poll->page.verdict == POLL_GOOD;
    Accept *accept = takes ? build_all(tx, poll) : NULL;
    PollGroup group = ended(tx, poll);
    bool is_end = poll->is_last && (!poll->alone || poll->alone > poll->page.count);
    if (is_end)
        TRY(poll_group_end(tx, &group, &poll->is_ours, error));
    else
        TRY(poll_group_go_on(tx, &group, &poll->is_ours, error));
    poll->next_at = group.next_at;
    if (poll->is_ours && has_failed(poll))
        return integration_mark(tx, &poll->integration.name, INTEGRATION_FAILED, group.last_error,
                                error);
    if (!poll->is_ours || !takes || accept->count == 0)
        return ERR_OK;
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(write(tx, (Poll *) ops[i], error));
    return ERR_OK;
}
