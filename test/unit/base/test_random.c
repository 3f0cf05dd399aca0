#include "base/random.h"
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_same_seed_gives_the_same_numbers(void)
{
    Random a = random_seeded(7), b = random_seeded(7), c = random_seeded(8);
    uint8_t bytes_a[37], bytes_b[37];
    CHECK(random_u64(&a) == random_u64(&b));
    random_fill(&a, bytes_a, sizeof bytes_a);
    random_fill(&b, bytes_b, sizeof bytes_b);
    CHECK(memcmp(bytes_a, bytes_b, sizeof bytes_a) == 0);
    Random d = random_seeded(7);
    CHECK(random_u64(&c) != random_u64(&d));
}

static void seeded_numbers_are_splitmix64(void)
{
    // Recorded runs name a seed, so the sequence is a promise.
    Random random = random_seeded(0);
    CHECK(random_u64(&random) == 0xe220a8397b1dcdaf);
    CHECK(random_u64(&random) == 0x6e789e6aa1b965f4);
    CHECK(random_u64(&random) == 0x06c45d188009454f);
}

static int cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return (x > y) - (x < y);
}

static void system_numbers_do_not_repeat(void)
{
    // More than the stock holds, so it is refilled several times.
    enum { COUNT = 5000 };
    static uint64_t drawn[COUNT];
    Random random = random_system();
    for (size_t i = 0; i < COUNT; i++)
        drawn[i] = random_u64(&random);
    qsort(drawn, COUNT, sizeof drawn[0], cmp_u64);
    for (size_t i = 1; i < COUNT; i++)
        CHECK(drawn[i] != drawn[i - 1]);
}

static void every_byte_of_a_fill_is_set(void)
{
    static const size_t lens[] = { 1, 7, 8, 9, 2048, 2049, 4096, 5000, 10000 };
    static uint8_t bytes[10001];
    Random randoms[] = { random_system(), random_seeded(1) };
    for (size_t r = 0; r < ARRAY_LEN(randoms); r++) {
        for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
            uint8_t first = 0, last = 0;
            for (int round = 0; round < 64; round++) {
                memset(bytes, 0, sizeof bytes);
                random_fill(&randoms[r], bytes, lens[i]);
                first |= bytes[0];
                last |= bytes[lens[i] - 1];
                CHECK(bytes[lens[i]] == 0);
            }
            CHECK(first == 0xff && last == 0xff);
        }
        random_fill(&randoms[r], bytes, 0);
    }
}

static void bits_are_balanced(void)
{
    Random random = random_system();
    int ones = 0;
    for (int i = 0; i < 10000; i++)
        ones += __builtin_popcountll(random_u64(&random));
    // Sixteen standard deviations of 400 either side of the middle.
    CHECK(ones > 320000 - 6400 && ones < 320000 + 6400);
}

static void a_fork_does_not_repeat_its_parent(void)
{
    Random random = random_system();
    random_u64(&random);
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        uint64_t drawn = random_u64(&random);
        ssize_t sent = write(ends[1], &drawn, sizeof drawn);
        _exit(sent == sizeof drawn ? 0 : 1);
    }
    uint64_t theirs = 0, ours = random_u64(&random);
    CHECK(read(ends[0], &theirs, sizeof theirs) == sizeof theirs);
    CHECK(theirs != ours);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

static void *draw(void *at)
{
    Random random = random_system();
    *(uint64_t *) at = random_u64(&random);
    return NULL;
}

static void threads_draw_different_numbers(void)
{
    pthread_t threads[2];
    uint64_t drawn[2] = { 0 };
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, draw, &drawn[i]) == 0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(drawn[0] != drawn[1]);
}

static const Test tests[] = {
    TEST(the_same_seed_gives_the_same_numbers),
    TEST(seeded_numbers_are_splitmix64),
    TEST(system_numbers_do_not_repeat),
    TEST(every_byte_of_a_fill_is_set),
    TEST(bits_are_balanced),
    TEST(a_fork_does_not_repeat_its_parent),
    TEST(threads_draw_different_numbers),
};
TEST_MAIN(tests)
