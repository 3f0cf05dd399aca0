#include "domain/target.h"

enum { FOLDED_DETAIL_MAX = 4096 };

bool target_is_done(const Target *target, int send)
{
    Verdict verdict = target->outcome.verdict;
    return target->send == send && (verdict == VERDICT_DELIVERED || verdict == VERDICT_PERMANENT);
}

// Weights say which of several outcomes is the attempt's: the heaviest. Who opted out has none.
static const int weights[] = {
    [VERDICT_DELIVERED] = 0, [VERDICT_PERMANENT] = 1, [VERDICT_UNKNOWN] = 2,
    [VERDICT_TRANSIENT] = 3, [VERDICT_ELSEWHERE] = 4,
};
_Static_assert(ARRAY_LEN(weights) == TABLE_ROWS(VERDICT_TABLE), "each verdict has its weight");

static int weigh(const Outcome *outcome)
{
    return outcome->reason == REASON_OPTED_OUT ? -1 : weights[outcome->verdict];
}

static const Outcome *heaviest(const Target *targets, size_t count)
{
    const Outcome *found = &targets[0].outcome;
    for (size_t i = 1; i < count; i++)
        if (weigh(&targets[i].outcome) > weigh(found))
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
    buf_add_format(buf, "; %lld: %.*s", (long long) target->n, STR_ARG(word));
    return true;
}

static bool add_words(Buf *buf, const Target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (targets[i].outcome.verdict != VERDICT_DELIVERED && !add_word(buf, &targets[i]))
            return false;
    return true;
}

// Fold is what is known of all targets while they are folded.
typedef struct Fold {
    const Target *targets;
    size_t count;
    TargetsElse others;
    int64_t delivered, all;
} Fold;

static Str tell(Arena *arena, const Fold *fold)
{
    Buf buf = buf_new(arena, FOLDED_DETAIL_MAX);
    buf_add_format(&buf, "%lld of %lld have it", (long long) fold->delivered,
                   (long long) fold->all);
    if (add_words(&buf, fold->targets, fold->count))
        add_words(&buf, fold->others.told, fold->others.told_count);
    return buf_str(&buf);
}

// refused_reason is the reason that all refusals share, and partly-delivered where some took it;
// opted-out where there are no other refusals.
static DeliveryReason refused_reason(const Fold *fold)
{
    const TargetsElse *others = &fold->others;
    DeliveryReason shared = others->refused ? others->reason : REASON_OPTED_OUT;
    if (fold->delivered > 0)
        return REASON_PARTLY_DELIVERED;
    if (others->refused && others->least_reason != others->reason)
        return REASON_REFUSED;
    for (size_t i = 0; i < fold->count; i++) {
        DeliveryReason reason = fold->targets[i].outcome.reason;
        if (reason == REASON_OPTED_OUT || reason == shared)
            continue;
        if (shared != REASON_OPTED_OUT)
            return REASON_REFUSED;
        shared = reason;
    }
    return shared;
}

// weigh_others makes the outcome what the others ask for, where that weighs more.
static void weigh_others(const TargetsElse *others, Outcome *folded)
{
    static const Outcome refused = { .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED };
    static const Outcome may_pass = { .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL };
    static const Outcome delivered = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    const Outcome *asked = others->delivered > 0 ? &delivered : NULL;
    if (others->refused > 0)
        asked = &refused;
    if (others->count > others->delivered + others->refused + others->opted_out)
        asked = &may_pass;
    if (!asked || weigh(asked) <= weigh(folded))
        return;
    folded->verdict = asked->verdict;
    folded->reason = asked->reason;
    folded->code = 0;
}

static void gather(Fold *fold, Outcome *folded)
{
    fold->all = (int64_t) fold->count + fold->others.count;
    fold->delivered = fold->others.delivered;
    for (size_t i = 0; i < fold->count; i++) {
        const Outcome *outcome = &fold->targets[i].outcome;
        fold->delivered += outcome->verdict == VERDICT_DELIVERED;
        folded->retry_after = later(folded->retry_after, outcome->retry_after);
        folded->lease = later(folded->lease, outcome->lease);
        folded->is_captured |= outcome->is_captured;
    }
    weigh_others(&fold->others, folded);
}

Outcome outcome_fold(Arena *arena, const Target *targets, size_t count, const TargetsElse *others)
{
    assert(count > 0);
    Fold fold = { .targets = targets, .count = count };
    if (others)
        fold.others = *others;
    if (count == 1 && fold.others.count == 0)
        return targets[0].outcome;
    Outcome folded = *heaviest(targets, count);
    gather(&fold, &folded);
    folded.provider_id = folded.detail = STR_NONE; // each target has its own
    if (folded.verdict == VERDICT_PERMANENT)
        folded.reason = refused_reason(&fold);
    if (folded.verdict != VERDICT_DELIVERED)
        folded.detail = tell(arena, &fold);
    return folded;
}
