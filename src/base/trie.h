// trie.h - an immutable map of counted things; a change makes another map that shares the rest.
//
// What is put in begins with a TrieItem, which carries its hash; a TrieKind says when two are the
// same and how one is freed. A map that somebody else can see is never changed, so any thread may
// look it up, walk it and compare it with an older one, without a lock, for as long as it is held.
//
// Whoever wants another holds one (trie_hold) and changes that: a node that is shared is copied,
// one that nobody else has is changed where it is. So one change beside a hundred thousand things
// costs a few small nodes, and filling an empty map copies nothing.
//
// The hash is cut into pieces of four bits, a branch for each; what begins alike lies in a leaf of
// at most eight. Things whose whole hash is alike share a leaf of any length.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

typedef struct TrieItem {
    _Atomic int holders;
    uint64_t hash;
} TrieItem;

typedef struct TrieKind {
    bool (*same)(const TrieItem *a, const TrieItem *b); // their hashes are
    void (*free)(TrieItem *item);
} TrieKind;

typedef struct TrieNode TrieNode;

typedef struct Trie {
    const TrieKind *kind;
    TrieNode *root; // NULL: empty
    size_t count;
} Trie;

uint64_t trie_hash(int64_t number); // texts have str_hash()

// trie_find returns what is the same as wanted, of which only hash and key need be set; or NULL.
TrieItem *trie_find(const Trie *trie, const TrieItem *wanted);

// trie_put takes over the caller's hold on item, which replaces what is the same. trie_remove lets
// go of what is the same as wanted, if it is there.
void trie_put(Trie *trie, TrieItem *item);
void trie_remove(Trie *trie, const TrieItem *wanted);

Trie trie_hold(const Trie *trie);
void trie_drop(Trie *trie);
void trie_item_hold(TrieItem *item);
void trie_item_drop(const TrieKind *kind, TrieItem *item);

// trie_each visits every item, in no order that means anything.
typedef void TrieVisit(void *with, TrieItem *item);
void trie_each(const Trie *trie, TrieVisit *visit, void *with);

// trie_compare tells what differs: was is NULL for what is new, is for what is gone. What the two
// share is passed over unseen.
typedef void TrieChange(void *with, const TrieItem *was, const TrieItem *is);
void trie_compare(const Trie *old, const Trie *new, TrieChange *change, void *with);
