#include "base/trie.h"

#include "base/arena.h"

enum { BITS = 4, BRANCHES = 1 << BITS, LEAF_MAX = 8, DEPTH_MAX = 64 / BITS };

struct TrieNode {
    _Atomic int holders;
    bool is_leaf;
    unsigned count; // slots: the items of a leaf, or BRANCHES nodes, NULL for none
    void *slots[];
};

uint64_t trie_hash(int64_t number)
{
    uint64_t hash = (uint64_t) number * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

static unsigned branch_of(uint64_t hash, int depth)
{
    assert(depth < DEPTH_MAX);
    return (unsigned) (hash >> (depth * BITS)) & (BRANCHES - 1);
}

static TrieNode *node_new(bool is_leaf, unsigned count)
{
    TrieNode *node = memory_new(sizeof *node + count * sizeof(void *));
    node->holders = 1;
    node->is_leaf = is_leaf;
    node->count = count;
    return node;
}

void trie_item_hold(TrieItem *item)
{
    item->holders++;
}

void trie_item_drop(const TrieKind *kind, TrieItem *item)
{
    int before = item->holders--;
    assert(before > 0);
    if (before == 1)
        kind->free(item);
}

static void node_drop(const TrieKind *kind, TrieNode *node)
{
    if (!node || --node->holders > 0)
        return;
    for (unsigned i = 0; i < node->count; i++) {
        if (node->is_leaf)
            trie_item_drop(kind, node->slots[i]);
        else
            node_drop(kind, node->slots[i]);
    }
    free(node);
}

// copy_slots holds what the slots of one node hold, for another.
static void copy_slots(TrieNode *to, const TrieNode *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to->slots[i] = from->slots[i];
        if (from->is_leaf)
            trie_item_hold(from->slots[i]);
        else if (from->slots[i])
            ((TrieNode *) from->slots[i])->holders++;
    }
}

// own returns a branch that only the caller has: itself, or a copy. The caller's hold goes over.
static TrieNode *own(const TrieKind *kind, TrieNode *branch)
{
    if (branch->holders == 1)
        return branch;
    TrieNode *copy = node_new(false, BRANCHES);
    copy_slots(copy, branch, BRANCHES);
    node_drop(kind, branch);
    return copy;
}

// find_slot returns the place of what is the same as wanted in a leaf; its count: nowhere.
static unsigned find_slot(const TrieKind *kind, const TrieNode *leaf, const TrieItem *wanted)
{
    unsigned at = 0;
    for (; at < leaf->count; at++) {
        const TrieItem *item = leaf->slots[at];
        if (item->hash == wanted->hash && kind->same(item, wanted))
            break;
    }
    return at;
}

TrieItem *trie_find(const Trie *trie, const TrieItem *wanted)
{
    const TrieNode *node = trie->root;
    for (int depth = 0; node && !node->is_leaf; depth++)
        node = node->slots[branch_of(wanted->hash, depth)];
    if (!node)
        return NULL;
    unsigned at = find_slot(trie->kind, node, wanted);
    return at < node->count ? node->slots[at] : NULL;
}

static TrieNode *put(const TrieKind *kind, TrieNode *node, int depth, TrieItem *item);

// split makes a branch of a leaf that is full.
static TrieNode *split(const TrieKind *kind, TrieNode *leaf, int depth)
{
    TrieNode *branch = node_new(false, BRANCHES);
    for (unsigned i = 0; i < leaf->count; i++) {
        trie_item_hold(leaf->slots[i]);
        branch = put(kind, branch, depth, leaf->slots[i]);
    }
    node_drop(kind, leaf);
    return branch;
}

static TrieNode *put_leaf(const TrieKind *kind, TrieNode *leaf, TrieItem *item)
{
    unsigned at = find_slot(kind, leaf, item);
    TrieNode *copy = node_new(true, leaf->count + (at == leaf->count));
    copy_slots(copy, leaf, leaf->count);
    if (at < leaf->count)
        trie_item_drop(kind, copy->slots[at]);
    copy->slots[at] = item;
    node_drop(kind, leaf);
    return copy;
}

// put gives item its place below node and returns what is to stand there instead. The holds on both
// go over.
static TrieNode *put(const TrieKind *kind, TrieNode *node, int depth, TrieItem *item)
{
    if (!node) {
        node = node_new(true, 1);
        node->slots[0] = item;
        return node;
    }
    if (node->is_leaf) {
        bool fits = node->count < LEAF_MAX || depth == DEPTH_MAX ||
                    find_slot(kind, node, item) < node->count;
        if (fits)
            return put_leaf(kind, node, item);
        node = split(kind, node, depth);
    }
    node = own(kind, node);
    void **child = &node->slots[branch_of(item->hash, depth)];
    *child = put(kind, *child, depth + 1, item);
    return node;
}

void trie_put(Trie *trie, TrieItem *item)
{
    assert(item->holders > 0);
    trie->count += trie_find(trie, item) == NULL;
    trie->root = put(trie->kind, trie->root, 0, item);
}

// remove_slot returns a leaf without one of its items; NULL where it was the last.
static TrieNode *remove_slot(const TrieKind *kind, TrieNode *leaf, unsigned at)
{
    assert(at < leaf->count);
    TrieNode *copy = NULL;
    if (leaf->count > 1) {
        copy = node_new(true, leaf->count - 1);
        copy_slots(copy, leaf, leaf->count - 1);
        if (at < copy->count) { // the last one takes its place
            trie_item_hold(leaf->slots[copy->count]);
            trie_item_drop(kind, copy->slots[at]);
            copy->slots[at] = leaf->slots[copy->count];
        }
    }
    node_drop(kind, leaf);
    return copy;
}

// cut removes what is there below node, and returns what is to stand there instead.
static TrieNode *cut(const TrieKind *kind, TrieNode *node, int depth, const TrieItem *wanted)
{
    assert(node);
    if (node->is_leaf)
        return remove_slot(kind, node, find_slot(kind, node, wanted));
    node = own(kind, node);
    void **child = &node->slots[branch_of(wanted->hash, depth)];
    *child = cut(kind, *child, depth + 1, wanted);
    for (unsigned i = 0; i < BRANCHES; i++)
        if (node->slots[i])
            return node;
    node_drop(kind, node);
    return NULL;
}

void trie_remove(Trie *trie, const TrieItem *wanted)
{
    if (!trie_find(trie, wanted))
        return;
    trie->root = cut(trie->kind, trie->root, 0, wanted);
    trie->count--;
}

Trie trie_hold(const Trie *trie)
{
    if (trie->root)
        trie->root->holders++;
    return *trie;
}

void trie_drop(Trie *trie)
{
    node_drop(trie->kind, trie->root);
    trie->root = NULL;
    trie->count = 0;
}

static void each(const TrieNode *node, TrieVisit *visit, void *with)
{
    for (unsigned i = 0; node && i < node->count; i++) {
        if (node->is_leaf)
            visit(with, node->slots[i]);
        else
            each(node->slots[i], visit, with);
    }
}

void trie_each(const Trie *trie, TrieVisit *visit, void *with)
{
    each(trie->root, visit, with);
}

// Comparison is two maps being compared, and whom to tell.
typedef struct Comparison {
    const Trie *old, *new;
    TrieChange *change;
    void *with;
} Comparison;

static void tell_gone(void *with, TrieItem *item)
{
    const Comparison *comparison = with;
    if (!trie_find(comparison->new, item))
        comparison->change(comparison->with, item, NULL);
}

static void tell_new(void *with, TrieItem *item)
{
    const Comparison *comparison = with;
    const TrieItem *was = trie_find(comparison->old, item);
    if (was != item)
        comparison->change(comparison->with, was, item);
}

// compare goes down where both have branches; below that there are so few that each is looked up.
static void compare(Comparison *comparison, const TrieNode *old, const TrieNode *new)
{
    if (old == new)
        return;
    if (old && new && !old->is_leaf && !new->is_leaf) {
        for (unsigned i = 0; i < BRANCHES; i++)
            compare(comparison, old->slots[i], new->slots[i]);
        return;
    }
    each(old, tell_gone, comparison);
    each(new, tell_new, comparison);
}

void trie_compare(const Trie *old, const Trie *new, TrieChange *change, void *with)
{
    compare(&(Comparison){ old, new, change, with }, old->root, new->root);
}
