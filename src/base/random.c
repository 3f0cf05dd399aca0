#include "base/random.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

enum { STOCK_SIZE = 4096 };

// Bytes fetched ahead of use. What was handed out is wiped, so that it cannot be read back here.
static _Thread_local struct {
    uint8_t bytes[STOCK_SIZE];
    size_t left; // the last ones of bytes
} stock;

static pthread_once_t once = PTHREAD_ONCE_INIT;

// forget_stock runs in the child of a fork, which must not draw the parent's bytes again.
static void forget_stock(void)
{
    explicit_bzero(&stock, sizeof stock);
}

static void watch_forks(void)
{
    int failed = pthread_atfork(NULL, NULL, forget_stock);
    assert(!failed);
}

static void fetch(uint8_t *at, size_t len)
{
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fprintf(stderr, "peal: the system gives no random bytes\n");
            abort();
        }
        at += got;
        len -= (size_t) got;
    }
}

static void fill_from_system(uint8_t *at, size_t len)
{
    if (len > STOCK_SIZE / 2) {
        fetch(at, len);
        return;
    }
    if (len > stock.left) {
        pthread_once(&once, watch_forks);
        fetch(stock.bytes, STOCK_SIZE);
        stock.left = STOCK_SIZE;
    }
    uint8_t *from = stock.bytes + STOCK_SIZE - stock.left;
    memcpy(at, from, len);
    explicit_bzero(from, len);
    stock.left -= len;
}

// next_seeded is splitmix64: one word of state, every seed is good.
static uint64_t next_seeded(Random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Random random_system(void)
{
    return (Random){ 0 };
}

Random random_seeded(uint64_t seed)
{
    return (Random){ .is_seeded = true, .state = seed };
}

void random_fill(Random *random, void *at, size_t len)
{
    uint8_t *to = at;
    if (len == 0)
        return;
    if (!random->is_seeded) {
        fill_from_system(to, len);
        return;
    }
    while (len > 0) {
        uint64_t word = next_seeded(random);
        size_t part = len < sizeof word ? len : sizeof word;
        memcpy(to, &word, part);
        to += part;
        len -= part;
    }
}

uint64_t random_u64(Random *random)
{
    uint64_t word;
    random_fill(random, &word, sizeof word);
    return word;
}
