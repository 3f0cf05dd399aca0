#include "domain/told.h"

#include "base/varint.h"

static bool same_outcome(const Outcome *a, const Outcome *b)
{
    return a->verdict == b->verdict && a->reason == b->reason && a->code == b->code &&
           str_eq(a->provider_id, b->provider_id) && str_eq(a->detail, b->detail);
}

static void add_outcome(Buf *bytes, const Outcome *outcome)
{
    varint_add(bytes, outcome->verdict);
    varint_add(bytes, outcome->reason);
    varint_add_signed(bytes, outcome->code);
    varint_add_text(bytes, str_head(outcome->provider_id, TOLD_TEXT_MAX));
    varint_add_text(bytes, str_head(outcome->detail, TOLD_TEXT_MAX));
}

Str told_pack(Arena *arena, const Target *targets, size_t count)
{
    Buf bytes = buf_new(arena, TOLD_BYTES_MAX);
    assert(count <= TARGETS_MAX);
    if (count == 0)
        return STR_NONE;
    varint_add(&bytes, count);
    for (size_t i = 0; i < count; i++) {
        int64_t step = targets[i].n - (i ? targets[i - 1].n : 0);
        bool is_same = i > 0 && same_outcome(&targets[i].outcome, &targets[i - 1].outcome);
        varint_add_signed(&bytes, step * 2 + is_same);
        if (!is_same)
            add_outcome(&bytes, &targets[i].outcome);
    }
    assert(!bytes.overflowed);
    return buf_str(&bytes);
}

size_t told_count(Str bytes)
{
    uint64_t count;
    return bytes.at && varint_take(&bytes, &count) && count <= TARGETS_MAX ? (size_t) count : 0;
}

static bool take_text(Str *rest, Str *ret)
{
    Str text;
    if (!varint_take_text(rest, &text))
        return false;
    *ret = text.len ? text : STR_NONE;
    return true;
}

static bool take_outcome(Str *rest, Outcome *ret)
{
    uint64_t verdict, reason;
    int64_t code;
    Outcome outcome = { 0 };
    if (!varint_take(rest, &verdict) || verdict >= TABLE_ROWS(VERDICT_TABLE) ||
        !varint_take(rest, &reason) || reason >= TABLE_ROWS(DELIVERY_REASON_TABLE) ||
        !varint_take_signed(rest, &code) || code < INT32_MIN || code > INT32_MAX ||
        !take_text(rest, &outcome.provider_id) || !take_text(rest, &outcome.detail))
        return false;
    outcome.verdict = (Verdict) verdict;
    outcome.reason = (DeliveryReason) reason;
    outcome.code = (int) code;
    *ret = outcome;
    return true;
}

// take_told reads the next over the one before.
static bool take_told(Str *rest, TargetTold *told)
{
    int64_t head;
    if (!varint_take_signed(rest, &head))
        return false;
    bool is_same = head & 1;
    told->n = (int64_t) ((uint64_t) told->n + (uint64_t) ((head - is_same) / 2));
    return is_same || take_outcome(rest, &told->outcome);
}

size_t told_read(Str bytes, TargetTold ret[TARGETS_MAX])
{
    uint64_t ignored;
    size_t count = told_count(bytes), i = 0;
    TargetTold told = { 0 };
    if (count > 0)
        (void) varint_take(&bytes, &ignored);
    for (; i < count && take_told(&bytes, &told); i++)
        ret[i] = told;
    return i;
}
