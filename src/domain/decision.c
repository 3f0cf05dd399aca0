#include "domain/decision.h"

#include "base/varint.h"

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

enum { FORMAT = 2, KIND_BITS = 0x0f, HAS_LEAF = 0x10, HAS_HOLDER = 0x20 };

_Static_assert(ARRAY_LEN(decisions) <= KIND_BITS + 1, "a kind fits into its bits");

static bool has_holder(const Miss *miss)
{
    return !uuid_is_none(miss->holder);
}

DecisionPack decision_begin(Arena *arena, Str packed)
{
    DecisionPack pack = { .bytes = buf_new(arena, DECISION_BYTES_MAX) };
    buf_add(&pack.bytes, packed);
    return pack;
}

// write_gap writes the distance to the last rules of the group.
static void write_gap(DecisionPack *pack)
{
    assert(pack->gap > 0);
    varint_add(&pack->bytes, (uint64_t) pack->gap << 1 | (pack->repeats > 0));
    if (pack->repeats > 0)
        varint_add(&pack->bytes, pack->repeats);
    if (has_holder(&pack->last))
        buf_add_bytes(&pack->bytes, pack->last.holder.b, sizeof pack->last.holder.b);
}

static void close_group(DecisionPack *pack)
{
    if (!pack->is_open)
        return;
    write_gap(pack);
    varint_add(&pack->bytes, 0);
    pack->is_open = false;
}

static void open_group(DecisionPack *pack, const Miss *miss)
{
    bool has_leaf = miss->leaf >= 0;
    int head = (int) miss->kind | (has_leaf ? HAS_LEAF : 0) | (has_holder(miss) ? HAS_HOLDER : 0);
    if (pack->bytes.len == 0)
        varint_add(&pack->bytes, FORMAT);
    buf_add_char(&pack->bytes, (char) head);
    varint_add(&pack->bytes, (uint64_t) miss->version);
    varint_add(&pack->bytes, miss->reason);
    if (has_leaf)
        varint_add(&pack->bytes, (uint64_t) miss->leaf);
    pack->is_open = true;
    pack->gap = miss->rule;
    pack->repeats = 0;
    pack->last = *miss;
}

static bool joins(const DecisionPack *pack, const Miss *miss)
{
    const Miss *last = &pack->last;
    return pack->is_open && miss->rule > last->rule && miss->version == last->version &&
           miss->kind == last->kind && miss->reason == last->reason && miss->leaf == last->leaf &&
           has_holder(miss) == has_holder(last);
}

void decision_add(DecisionPack *pack, const Miss *miss)
{
    assert(miss->rule > 0 && miss->version >= 0);
    if (!joins(pack, miss)) {
        close_group(pack);
        open_group(pack, miss);
        return;
    }
    int64_t gap = miss->rule - pack->last.rule;
    if (gap == pack->gap && !has_holder(miss)) {
        pack->repeats++;
    } else {
        write_gap(pack);
        pack->gap = gap;
        pack->repeats = 0;
    }
    pack->last = *miss;
}

void decision_add_run(DecisionPack *pack, const Miss *first, int64_t gap, size_t count)
{
    assert(count > 0 && !has_holder(first));
    Miss next = *first;
    decision_add(pack, &next);
    if (count == 1)
        return;
    next.rule += gap;
    decision_add(pack, &next);
    pack->repeats += count - 2;
    pack->last.rule += gap * (int64_t) (count - 2);
}

Str decision_end(DecisionPack *pack)
{
    close_group(pack);
    assert(!pack->bytes.overflowed);
    return pack->bytes.len > 0 ? buf_str(&pack->bytes) : STR_NONE;
}

// Reading is misses being read.
typedef struct Reading {
    Arena *arena;
    Str rest;
    Miss *misses;
    size_t count, room;
} Reading;

static bool take_number(Str *rest, int64_t low, int64_t high, int64_t *ret)
{
    uint64_t n;
    if (!varint_take(rest, &n) || n > INT64_MAX)
        return false;
    *ret = (int64_t) n;
    return *ret >= low && *ret <= high;
}

static bool take_holder(Str *rest, Uuid *ret)
{
    if (rest->len < sizeof ret->b)
        return false;
    memcpy(ret->b, rest->at, sizeof ret->b);
    *rest = str_skip(*rest, sizeof ret->b);
    return !uuid_is_none(*ret);
}

static bool take_head(Str *rest, Miss *ret, bool *ret_has_holder)
{
    int64_t head, reason, leaf = -1;
    *ret = (Miss){ 0 };
    if (!take_number(rest, 0, KIND_BITS | HAS_LEAF | HAS_HOLDER, &head) ||
        !take_number(rest, 0, INT64_MAX, &ret->version) ||
        !take_number(rest, 0, ARRAY_LEN(reasons) - 1, &reason))
        return false;
    if ((head & HAS_LEAF) && !take_number(rest, 0, INT32_MAX, &leaf))
        return false;
    ret->kind = (DecisionKind) (head & KIND_BITS);
    ret->reason = (DecisionReason) reason;
    ret->leaf = (int) leaf;
    *ret_has_holder = (head & HAS_HOLDER) != 0;
    return (size_t) ret->kind < ARRAY_LEN(decisions);
}

static void keep(Reading *reading, const Miss *miss)
{
    if (reading->count == reading->room) {
        size_t room = reading->room ? reading->room * 2 : 16, size = sizeof(Miss);
        reading->misses =
            arena_grow(reading->arena, reading->misses, reading->room * size, room * size);
        reading->room = room;
    }
    reading->misses[reading->count++] = *miss;
}

// take_span reads a distance and those that have it; miss is the rule before, and the last after.
static bool take_span(Reading *reading, uint64_t step, bool with_holder, Miss *miss)
{
    int64_t gap = (int64_t) (step >> 1), repeats = 0;
    if (gap == 0 || ((step & 1) && with_holder))
        return false;
    if ((step & 1) && !take_number(&reading->rest, 1, DECISION_MISSES_MAX, &repeats))
        return false;
    for (int64_t i = 0; i <= repeats; i++) {
        if (miss->rule > INT64_MAX - gap || reading->count == DECISION_MISSES_MAX)
            return false;
        miss->rule += gap;
        if (with_holder && !take_holder(&reading->rest, &miss->holder))
            return false;
        keep(reading, miss);
    }
    return true;
}

static bool take_group(Reading *reading)
{
    Miss miss;
    bool with_holder;
    uint64_t step;
    if (!take_head(&reading->rest, &miss, &with_holder))
        return false;
    while (varint_take(&reading->rest, &step)) {
        if (step == 0)
            return miss.rule > 0;
        if (!take_span(reading, step, with_holder, &miss))
            return false;
    }
    return false;
}

Err decision_unpack(Arena *arena, Str facts, Miss **ret, size_t *ret_count, Error *error)
{
    Reading reading = { .arena = arena, .rest = facts };
    int64_t format;
    if (!take_number(&reading.rest, FORMAT, FORMAT, &format))
        return fail(error, ERR_CORRUPT, "the decisions have no format that is known");
    while (reading.rest.len > 0)
        if (!take_group(&reading))
            return fail(error, ERR_CORRUPT, "decision %zu cannot be read", reading.count + 1);
    *ret = reading.misses;
    *ret_count = reading.count;
    return ERR_OK;
}
