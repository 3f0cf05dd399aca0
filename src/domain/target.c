#include "domain/target.h"

enum { FOLDED_DETAIL_MAX = 4096 };

bool target_is_done(const Target *target, int send, bool is_retry)
{
    if (target->send != send)
        return false;
    return target->outcome.verdict == VERDICT_DELIVERED ||
           (target->outcome.verdict == VERDICT_PERMANENT && is_retry);
}

// Weights say which of several outcomes is the attempt's: the heaviest.
static const int weights[] = {
    [VERDICT_DELIVERED] = 0, [VERDICT_PERMANENT] = 1, [VERDICT_UNKNOWN] = 2,
    [VERDICT_TRANSIENT] = 3, [VERDICT_ELSEWHERE] = 4,
};
_Static_assert(ARRAY_LEN(weights) == TABLE_ROWS(VERDICT_TABLE), "each verdict has its weight");

static const Outcome *heaviest(const Target *targets, size_t count)
{
    const Outcome *found = &targets[0].outcome;
    for (size_t i = 1; i < count; i++)
        if (weights[targets[i].outcome.verdict] > weights[found->verdict])
            found = &targets[i].outcome;
    return found;
}

// add_word adds how one target fared; false where there is no room for it.
static bool add_word(Buf *buf, const Target *target)
{
    const Outcome *outcome = &target->outcome;
    Str word = outcome->detail.len ? outcome->detail : str_from(reason_code(outcome->reason));
    if (buf->max - buf->len < word.len + 32)
        return false;
    buf_add_format(buf, "; %d: %.*s", target->n, STR_ARG(word));
    return true;
}

static Str tell(Arena *arena, const Target *targets, size_t count, size_t delivered)
{
    Buf buf = buf_new(arena, FOLDED_DETAIL_MAX);
    buf_add_format(&buf, "%zu of %zu have it", delivered, count);
    for (size_t i = 0; i < count; i++)
        if (targets[i].outcome.verdict != VERDICT_DELIVERED && !add_word(&buf, &targets[i]))
            break;
    return buf_str(&buf);
}

// refused_reason is the reason that all refusals share, and partly-delivered where some took it.
static DeliveryReason refused_reason(const Target *targets, size_t count, size_t delivered)
{
    if (delivered > 0)
        return REASON_PARTLY_DELIVERED;
    for (size_t i = 1; i < count; i++)
        if (targets[i].outcome.reason != targets[0].outcome.reason)
            return REASON_REFUSED;
    return targets[0].outcome.reason;
}

Outcome outcome_fold(Arena *arena, const Target *targets, size_t count)
{
    assert(count > 0);
    if (count == 1)
        return targets[0].outcome;
    size_t delivered = 0;
    Outcome folded = *heaviest(targets, count);
    for (size_t i = 0; i < count; i++) {
        const Outcome *outcome = &targets[i].outcome;
        delivered += outcome->verdict == VERDICT_DELIVERED;
        folded.retry_after = later(folded.retry_after, outcome->retry_after);
        folded.lease = later(folded.lease, outcome->lease);
        folded.is_captured |= outcome->is_captured;
    }
    folded.provider_id = folded.detail = STR_NONE; // each target has its own
    if (folded.verdict == VERDICT_PERMANENT)
        folded.reason = refused_reason(targets, count, delivered);
    if (folded.verdict != VERDICT_DELIVERED)
        folded.detail = tell(arena, targets, count, delivered);
    return folded;
}
