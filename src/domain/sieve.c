#include "domain/sieve.h"

enum { PATHS_MAX = 64 };

// Key is one value that lets events pass at a path, and whose rule it is.
typedef struct Key {
    uint32_t path, rule;
    uint64_t key;
} Key;

// Rest is a rule that need not be asked.
typedef struct Rest {
    int64_t rule, version;
    uint32_t at; // its place in the list
    bool is_enabled;
} Rest;

// Run is rules of the rest that say the same, each as far behind the one before.
typedef struct Run {
    uint32_t from, count;
    int64_t gap;
} Run;

struct Sieve {
    Arena arena;
    size_t count;
    Str *paths;
    size_t path_count;
    Key *keys; // by path, key and rule
    size_t key_count;
    uint32_t *asked; // always
    size_t asked_count;
    Rest *rest; // those that say the same together, by number
    size_t rest_count;
    uint32_t *rest_at; // where in the rest a rule is, from 1, by its place in the list; 0: nowhere
    Run *runs;         // of the rest, in its order: few, where rules were made one after the other
    size_t run_count;
    Str packed; // of all of them
};

static int by_key(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static int by_saying(const void *a, const void *b)
{
    const Rest *x = a, *y = b;
    if (x->is_enabled != y->is_enabled)
        return x->is_enabled ? -1 : 1;
    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

// sort: an empty table may be no table at all, which libc does not allow for.
static void sort(void *table, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1)
        qsort(table, count, size, order);
}

static Miss miss_of(const Rest *rest)
{
    return (Miss){ .rule = rest->rule,
                   .version = rest->version,
                   .kind = rest->is_enabled ? DECISION_FILTERED : DECISION_DISABLED,
                   .reason = rest->is_enabled ? DECISION_REASON_FILTER_FALSE
                                              : DECISION_REASON_TRIGGER_DISABLED,
                   .leaf = rest->is_enabled ? FILTER_GATE_LEAF : -1 };
}

// find_path returns the place of a path, which is path_count where it is new. There are few: rules
// of one kind look at the same members.
static size_t find_path(const Sieve *sieve, Str path)
{
    size_t at = 0;
    while (at < sieve->path_count && !str_eq(sieve->paths[at], path))
        at++;
    return at;
}

// add_gate is false where there are so many paths that looking at each costs as much as asking.
static bool add_gate(Sieve *sieve, const SieveRule *rule, uint32_t at)
{
    size_t path = rule->path.at ? find_path(sieve, rule->path) : PATHS_MAX;
    if (path == PATHS_MAX)
        return false;
    if (path == sieve->path_count)
        sieve->paths[sieve->path_count++] = rule->path;
    for (size_t i = 0; i < rule->key_count; i++)
        sieve->keys[sieve->key_count++] = (Key){ (uint32_t) path, at, rule->keys[i] };
    return true;
}

static void make_room(Sieve *sieve, const SieveRule *rules)
{
    size_t keys = 0;
    for (size_t i = 0; i < sieve->count; i++)
        keys += rules[i].key_count;
    sieve->keys = ARENA_ARRAY(&sieve->arena, Key, keys + 1);
    sieve->paths =
        ARENA_ARRAY(&sieve->arena, Str, sieve->count < PATHS_MAX ? sieve->count : PATHS_MAX);
    sieve->asked = ARENA_ARRAY(&sieve->arena, uint32_t, sieve->count + 1);
    sieve->rest = ARENA_ARRAY(&sieve->arena, Rest, sieve->count + 1);
    sieve->rest_at = ARENA_ARRAY(&sieve->arena, uint32_t, sieve->count + 1);
    sieve->runs = ARENA_ARRAY(&sieve->arena, Run, sieve->count + 1);
}

static void place(Sieve *sieve, const SieveRule *rule, uint32_t at)
{
    if (!rule->is_enabled || add_gate(sieve, rule, at))
        sieve->rest[sieve->rest_count++] =
            (Rest){ rule->rule, rule->version, at, rule->is_enabled };
    else
        sieve->asked[sieve->asked_count++] = at;
}

static bool says_the_same(const Rest *a, const Rest *b)
{
    return a->is_enabled == b->is_enabled && a->version == b->version;
}

// joins: the next of the rest is as far behind the run as those in it are from each other.
static bool joins(const Sieve *sieve, const Run *run, const Rest *next)
{
    const Rest *last = &sieve->rest[run->from + run->count - 1];
    return says_the_same(last, next) && (run->count == 1 || next->rule - last->rule == run->gap);
}

// find_runs parts the rest, which is in its order, into runs.
static void find_runs(Sieve *sieve)
{
    for (uint32_t i = 0; i < sieve->rest_count; i++) {
        Run *next = &sieve->runs[sieve->run_count];
        sieve->rest_at[sieve->rest[i].at] = i + 1;
        if (i > 0 && joins(sieve, next - 1, &sieve->rest[i])) {
            next[-1].gap = sieve->rest[i].rule - sieve->rest[i - 1].rule;
            next[-1].count++;
        } else {
            *next = (Run){ .from = i, .count = 1 };
            sieve->run_count++;
        }
    }
}

static void add_part(const Sieve *sieve, DecisionPack *pack, size_t from, size_t to, int64_t gap)
{
    if (from == to)
        return;
    Miss first = miss_of(&sieve->rest[from]);
    decision_add_run(pack, &first, gap, to - from);
}

// pack packs the rest but for those that are left out, which are given by their place in it,
// ascending.
static Str pack(const Sieve *sieve, Arena *arena, const uint32_t *left_out, size_t count)
{
    size_t next = 0;
    DecisionPack pack = decision_begin(arena, STR_NONE);
    for (size_t i = 0; i < sieve->run_count; i++) {
        const Run *run = &sieve->runs[i];
        size_t from = run->from, end = from + run->count;
        for (; next < count && left_out[next] < end; next++) {
            add_part(sieve, &pack, from, left_out[next], run->gap);
            from = left_out[next] + 1;
        }
        add_part(sieve, &pack, from, end, run->gap);
    }
    return decision_end(&pack);
}

Sieve *sieve_new(const SieveRule *rules, size_t count)
{
    Sieve *sieve = memory_new(sizeof *sieve);
    sieve->count = count;
    sieve->arena.first = 256 + count * 64; // there may be a hundred thousand sieves of one rule
    make_room(sieve, rules);
    for (size_t i = 0; i < count; i++)
        place(sieve, &rules[i], (uint32_t) i);
    sort(sieve->keys, sieve->key_count, sizeof *sieve->keys, by_key);
    sort(sieve->rest, sieve->rest_count, sizeof *sieve->rest, by_saying);
    find_runs(sieve);
    sieve->packed = pack(sieve, &sieve->arena, NULL, 0);
    return sieve;
}

void sieve_free(Sieve *sieve)
{
    if (!sieve)
        return;
    arena_done(&sieve->arena);
    free(sieve);
}

// first_of returns the first of the keys that is not before path and key.
static size_t first_of(const Sieve *sieve, uint32_t path, uint64_t key)
{
    Key wanted = { .path = path, .key = key };
    size_t low = 0, high = sieve->key_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(&sieve->keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sieve_pick(const Sieve *sieve, Arena *arena, const Event *event, uint32_t **ret)
{
    uint32_t *picked = ARENA_ARRAY(arena, uint32_t, sieve->count + 1);
    size_t count = sieve->asked_count;
    memcpy(picked, sieve->asked, count * sizeof *picked);
    for (uint32_t path = 0; path < sieve->path_count; path++) {
        uint64_t key;
        if (!filter_gate_key(event, sieve->paths[path], &key))
            continue;
        for (size_t i = first_of(sieve, path, key); i < sieve->key_count; i++) {
            if (sieve->keys[i].path != path || sieve->keys[i].key != key)
                break;
            if (count == 0 ||
                picked[count - 1] != sieve->keys[i].rule) // "in" may say a value twice
                picked[count++] = sieve->keys[i].rule;
        }
    }
    sort(picked, count, sizeof *picked, by_place);
    assert(count <= sieve->count);
    *ret = picked;
    return count;
}

Str sieve_rest(const Sieve *sieve, Arena *arena, const uint32_t *picked, size_t count)
{
    if (count == sieve->asked_count)
        return sieve->packed;
    uint32_t *left_out = ARENA_ARRAY(arena, uint32_t, count);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (sieve->rest_at[picked[i]] > 0)
            left_out[used++] = sieve->rest_at[picked[i]] - 1;
    sort(left_out, used, sizeof *left_out, by_place);
    return pack(sieve, arena, left_out, used);
}
