#include "engine/poll.h"

#include "engine/state.h"

// A token is had from the integration (store/integration.h). Where it is about to expire, or the
// provider refuses it, a fresh one is asked for, once in a poll (providers/token.h). That is
// written before it is used: whoever gives one may have taken the refresh token back that it was
// got by, so that to lose it is to lose the account. So it is tried again for as long as the store
// does not take it, whatever has become of the poll meanwhile.
//
// Where there is no other to be had, or it is refused too, the integration has failed, with the
// reason: nothing is asked of it until somebody changes it.

static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void done(Op *op, Err err, const Error *error);

static const OpKind token_kind = { .name = "poll_token", .apply = apply };

bool poll_token_is_stale(const Poll *poll)
{
    Instant now = clock_now(poll->engine->options.clock);
    return poll->has_integration && token_is_stale(&poll->integration.access, now);
}

// refuse ends the poll, and marks the integration.
static void refuse(Poll *poll, Str why)
{
    poll_fail(poll, POLL_UNAUTHORIZED, str_dup(&poll->page_arena, why));
}

void poll_token_keep(Poll *poll)
{
    poll->stage = POLL_KEEPING;
    poll->op =
        (Op){ .kind = &token_kind, .done = done, .patience = SPAN_SECOND, .is_urgent = true };
    writer_submit(poll->engine->options.writer, &poll->op);
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Poll *poll = (const Poll *) ops[i];
        const IntegrationAccess *access = &poll->integration.access;
        TRY(integration_refreshed(tx, tx->registry->ring, &poll->integration.name, access->access,
                                  access->refresh, access->expires_at, error));
    }
    return ERR_OK;
}

static void done(Op *op, Err err, const Error *error)
{
    Poll *poll = (Poll *) op;
    poll->err = err;
    if (err != ERR_OK)
        poll->problem = str_dup(&poll->page_arena, str_from(error->detail));
    poll_arrive(poll);
}

// take has a fresh token count; one without a refresh token leaves that as it was.
static void take(Poll *poll, const TokenAnswer *answer)
{
    IntegrationAccess *access = &poll->integration.access;
    access->access = str_dup(&poll->arena, answer->access);
    if (answer->refresh.at)
        access->refresh = str_dup(&poll->arena, answer->refresh);
    access->expires_at = answer->expires_at;
    poll->turn.token = access->access;
    poll_token_keep(poll);
}

static void answered(void *with, const TransferResult *result)
{
    Poll *poll = with;
    if (result->problem != TRANSFER_ANSWERED) {
        poll_fail(poll, POLL_AGAIN,
                  STR_JOIN(&poll->page_arena, S("no token could be had: "), result->problem_text));
        return;
    }
    poll_keep_answer(poll, result);
    TokenAnswer answer =
        token_read(&poll->page_arena, &poll->integration.access, &poll->reply, poll->turn.now);
    switch (answer.verdict) {
    case TOKEN_GOOD:
        take(poll, &answer);
        break;
    case TOKEN_REFUSED:
        refuse(poll, answer.why);
        break;
    case TOKEN_AGAIN:
        poll_fail(poll, POLL_AGAIN, answer.why);
        break;
    }
}

void poll_token_refresh(Poll *poll, Str why)
{
    ProviderRequest asked = { 0 };
    Error error = { .arena = &poll->page_arena };
    Err err = poll->has_integration && !poll->has_refreshed
                  ? token_ask(&poll->page_arena, &poll->integration.access, &asked, &error)
                  : ERR_NOT_FOUND;
    poll->has_refreshed = true;
    poll->turn.now = clock_now(poll->engine->options.clock);
    if (err == ERR_OK)
        poll_request(poll, &asked, POLL_TIMEOUT, POLL_TOKEN_MAX, answered, poll);
    else
        refuse(poll, err == ERR_NOT_FOUND ? why : str_from(error.detail));
}
