#include "domain/decision.h"

static const char *const decisions[] = {
#define DECISION_ROW(name, text) [DECISION_##name] = text,
    DECISION_TABLE(DECISION_ROW)
#undef DECISION_ROW
};

static const struct {
    const char *code, *meaning;
} reasons[] = {
#define REASON_ROW(name, code, meaning) [DECISION_REASON_##name] = { code, meaning },
    DECISION_REASON_TABLE(REASON_ROW)
#undef REASON_ROW
};

const char *decision_text(DecisionKind kind)
{
    assert(kind < ARRAY_LEN(decisions));
    return decisions[kind];
}

const char *decision_reason_code(DecisionReason reason)
{
    assert(reason < ARRAY_LEN(reasons));
    return reasons[reason].code;
}

const char *decision_reason_meaning(DecisionReason reason)
{
    assert(reason < ARRAY_LEN(reasons));
    return reasons[reason].meaning;
}

enum { FORMAT = 1, KIND_BITS = 0x0f, HAS_LEAF = 0x10, HAS_HOLDER = 0x20 };

// SMALLEST is the least that one miss takes: rule, version, head and reason.
enum { SMALLEST = 4 };

_Static_assert(ARRAY_LEN(decisions) <= KIND_BITS + 1, "a kind fits into its bits");

static void put_number(Buf *buf, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_add_char(buf, (char) (n | 0x80));
    buf_add_char(buf, (char) n);
}

static void put_miss(Buf *buf, const Miss *miss)
{
    bool has_leaf = miss->leaf >= 0, has_holder = !uuid_is_none(miss->holder);
    assert(miss->rule > 0 && miss->version > 0);
    put_number(buf, (uint64_t) miss->rule);
    put_number(buf, (uint64_t) miss->version);
    buf_add_char(buf,
                 (char) (miss->kind | (has_leaf ? HAS_LEAF : 0) | (has_holder ? HAS_HOLDER : 0)));
    put_number(buf, miss->reason);
    if (has_leaf)
        put_number(buf, (uint64_t) miss->leaf);
    if (has_holder)
        buf_add_bytes(buf, miss->holder.b, sizeof miss->holder.b);
}

Str decision_pack(Arena *arena, const Miss *misses, size_t count)
{
    assert(count <= DECISION_MISSES_MAX);
    Buf buf = buf_new(arena, DECISION_BYTES_MAX);
    buf_add_char(&buf, FORMAT);
    for (size_t i = 0; i < count; i++)
        put_miss(&buf, &misses[i]);
    assert(!buf.overflowed);
    return buf_str(&buf);
}

// take_number reads a number from low to high off the front of facts; false where there is none.
static bool take_number(Str *facts, int64_t low, int64_t high, int64_t *ret)
{
    uint64_t n = 0;
    for (int shift = 0; shift < 63 && facts->len > 0; shift += 7) {
        uint8_t byte = (uint8_t) facts->at[0];
        *facts = str_skip(*facts, 1);
        n |= (uint64_t) (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        *ret = (int64_t) n;
        return *ret >= low && *ret <= high && (byte != 0 || shift == 0);
    }
    return false;
}

static bool take_holder(Str *facts, Uuid *ret)
{
    if (facts->len < sizeof ret->b)
        return false;
    memcpy(ret->b, facts->at, sizeof ret->b);
    *facts = str_skip(*facts, sizeof ret->b);
    return !uuid_is_none(*ret);
}

static bool take_miss(Str *facts, Miss *ret)
{
    int64_t head, reason, leaf = -1;
    *ret = (Miss){ 0 };
    if (!take_number(facts, 1, INT64_MAX, &ret->rule) ||
        !take_number(facts, 1, INT64_MAX, &ret->version) ||
        !take_number(facts, 0, KIND_BITS | HAS_LEAF | HAS_HOLDER, &head) ||
        !take_number(facts, 0, ARRAY_LEN(reasons) - 1, &reason))
        return false;
    if ((head & HAS_LEAF) && !take_number(facts, 0, INT32_MAX, &leaf))
        return false;
    if ((head & HAS_HOLDER) && !take_holder(facts, &ret->holder))
        return false;
    ret->kind = (DecisionKind) (head & KIND_BITS);
    ret->reason = (DecisionReason) reason;
    ret->leaf = (int) leaf;
    return (size_t) ret->kind < ARRAY_LEN(decisions);
}

Err decision_unpack(Arena *arena, Str facts, Miss **ret, size_t *ret_count, Error *error)
{
    int64_t format;
    if (!take_number(&facts, FORMAT, FORMAT, &format))
        return fail(error, ERR_CORRUPT, "the decisions have no format that is known");
    size_t room = facts.len / SMALLEST, count = 0;
    Miss *misses = ARENA_ARRAY(arena, Miss, room + 1);
    while (facts.len > 0)
        if (count == room || !take_miss(&facts, &misses[count++]))
            return fail(error, ERR_CORRUPT, "decision %zu cannot be read", count);
    *ret = misses;
    *ret_count = count;
    return ERR_OK;
}
