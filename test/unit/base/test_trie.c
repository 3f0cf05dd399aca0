#include "base/trie.h"

#include "base/arena.h"
#include "base/random.h"
#include "test.h"

// Things are numbers with a value; as many hashes as a test wants are alike.
typedef struct Thing {
    TrieItem item;
    int key, value;
} Thing;

static int alive; // things that were made and not freed
static int hashes;

static bool same(const TrieItem *a, const TrieItem *b)
{
    return ((const Thing *) a)->key == ((const Thing *) b)->key;
}

static void free_thing(TrieItem *item)
{
    alive--;
    free(item);
}

static const TrieKind things = { same, free_thing };

static Thing *thing(int key, int value)
{
    Thing *made = memory_new(sizeof *made);
    *made = (Thing){ { 1, trie_hash(key % hashes) }, key, value };
    alive++;
    return made;
}

static void put(Trie *trie, int key, int value)
{
    trie_put(trie, &thing(key, value)->item);
}

static void cut(Trie *trie, int key)
{
    Thing wanted = { { 0, trie_hash(key % hashes) }, key, 0 };
    trie_remove(trie, &wanted.item);
}

// value_at is -1 where there is none.
static int value_at(const Trie *trie, int key)
{
    Thing wanted = { { 0, trie_hash(key % hashes) }, key, 0 };
    const Thing *found = (const Thing *) trie_find(trie, &wanted.item);
    return found ? found->value : -1;
}

enum { KEYS = 300 };

static void count_key(void *with, TrieItem *item)
{
    int *seen = with;
    seen[((Thing *) item)->key]++;
}

// check_like compares a map with a plain table, value by value and as a whole.
static void check_like(const Trie *trie, const int *table)
{
    int seen[KEYS] = { 0 };
    size_t count = 0;
    trie_each(trie, count_key, seen);
    for (int key = 0; key < KEYS; key++) {
        CHECK(value_at(trie, key) == table[key]);
        CHECK(seen[key] == (table[key] >= 0));
        count += table[key] >= 0;
    }
    CHECK(trie->count == count);
}

typedef struct Difference {
    int was[KEYS], is[KEYS], told[KEYS];
} Difference;

static void note_change(void *with, const TrieItem *was, const TrieItem *is)
{
    Difference *difference = with;
    int key = ((const Thing *) (is ? is : was))->key;
    difference->was[key] = was ? ((const Thing *) was)->value : -1;
    difference->is[key] = is ? ((const Thing *) is)->value : -1;
    difference->told[key]++;
}

static void check_difference(const Trie *old, const int *was, const Trie *new, const int *is)
{
    Difference difference = { 0 };
    trie_compare(old, new, note_change, &difference);
    for (int key = 0; key < KEYS; key++) {
        CHECK(difference.told[key] == (was[key] != is[key]));
        if (difference.told[key])
            CHECK(difference.was[key] == was[key] && difference.is[key] == is[key]);
    }
}

// walk changes a map at random, keeps an older one beside it, and compares both with tables.
static void walk(uint64_t seed, int steps)
{
    Random random = random_seeded(seed);
    Trie trie = { .kind = &things }, old = { .kind = &things };
    int table[KEYS], old_table[KEYS];
    memset(table, -1, sizeof table);
    memset(old_table, -1, sizeof old_table);
    for (int step = 0; step < steps; step++) {
        int key = (int) (random_u64(&random) % KEYS);
        if (random_u64(&random) % 3 == 0) {
            cut(&trie, key);
            table[key] = -1;
        } else {
            put(&trie, key, step);
            table[key] = step;
        }
        if (step % 50 == 0) {
            check_like(&trie, table);
            check_like(&old, old_table);
            check_difference(&old, old_table, &trie, table);
            check_difference(&trie, table, &old, old_table);
        }
        if (step % 150 == 0) {
            trie_drop(&old);
            old = trie_hold(&trie);
            memcpy(old_table, table, sizeof table);
        }
    }
    trie_drop(&trie);
    check_like(&old, old_table);
    trie_drop(&old);
    CHECK(alive == 0);
}

static void a_map_is_what_a_table_would_be(void)
{
    hashes = KEYS;
    for (uint64_t seed = 1; seed <= 10; seed++)
        walk(seed, 1000);
}

static void hashes_may_be_alike(void)
{
    hashes = 3;
    walk(1, 2000);
    hashes = 1;
    walk(2, 1000);
}

// told counts the items that a comparison had to look at, by what it tells.
static void tell(void *with, const TrieItem *was, const TrieItem *is)
{
    (void) was, (void) is;
    ++*(int *) with;
}

static void one_change_beside_many_is_one_difference(void)
{
    hashes = INT32_MAX;
    Trie trie = { .kind = &things };
    for (int i = 0; i < 20000; i++)
        put(&trie, i, i);
    Trie old = trie_hold(&trie);
    put(&trie, 7, -7);
    int told = 0;
    trie_compare(&old, &trie, tell, &told);
    CHECK(told == 1 && value_at(&old, 7) == 7 && value_at(&trie, 7) == -7);
    CHECK(alive == 20001); // nothing was copied but the one
    trie_drop(&old);
    CHECK(alive == 20000);
    trie_drop(&trie);
    CHECK(alive == 0);
}

static void an_empty_map_has_nothing(void)
{
    hashes = KEYS;
    Trie trie = { .kind = &things }, other = trie_hold(&trie);
    cut(&trie, 1);
    CHECK(value_at(&trie, 1) == -1 && trie.count == 0);
    put(&trie, 1, 1);
    cut(&trie, 1);
    CHECK(!trie.root && trie.count == 0 && alive == 0);
    trie_drop(&trie);
    trie_drop(&other);
}

static const Test tests[] = {
    TEST(a_map_is_what_a_table_would_be),
    TEST(hashes_may_be_alike),
    TEST(one_change_beside_many_is_one_difference),
    TEST(an_empty_map_has_nothing),
};
TEST_MAIN(tests)
