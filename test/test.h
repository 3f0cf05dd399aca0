// test.h - the whole test harness: checks, a table of tests, TAP on standard output.
#pragma once

#include <stdio.h>

static int test_failures;

// CHECK_AT names the row of a table that failed; CHECK is for the rest.
#define CHECK(cond) CHECK_AT("", cond)
#define CHECK_AT(row, cond)                                                                        \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("# %s:%d: %s %s\n", __FILE__, __LINE__, (row), #cond);                          \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)

typedef struct Test {
    const char *name; // a sentence in snake case
    void (*run)(void);
} Test;

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }

// TEST_MAIN(tests) runs the table and speaks TAP.
#define TEST_MAIN(tests)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        int bad = 0, count = (int) (sizeof(tests) / sizeof((tests)[0]));                           \
        printf("1..%d\n", count);                                                                  \
        for (int i = 0; i < count; i++) {                                                          \
            test_failures = 0;                                                                     \
            (tests)[i].run();                                                                      \
            printf("%s %d - %s\n", test_failures ? "not ok" : "ok", i + 1, (tests)[i].name);       \
            fflush(stdout);                                                                        \
            bad += test_failures != 0;                                                             \
        }                                                                                          \
        return bad != 0;                                                                           \
    }
