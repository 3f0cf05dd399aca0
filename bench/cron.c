// Asks ten cron expressions for their next thousand times in America/New_York, over and over on one
// core: prints how many a second. bench/cron.mjs asks two libraries of Node the same.
#include "domain/cron.h"

#include "base/time.h"

static const char *const expressions[] = {
    "* * * * *", "*/5 * * * *",     "0 * * * *", "30 2 * * *",   "0 9 * * 1-5",
    "0 0 1 * *", "15 10 * * 1,3,5", "0 0 1 1 *", "0 12 */2 * *", "*/10 8-18 * * 1-5",
};

enum { TIMES = 1000, ROUNDS = 50 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int main(void)
{
    const Zone *zone;
    Cron cron;
    CronFault fault;
    Instant start, sum = 0;
    if (zone_find(S("America/New_York"), &zone, NULL) != ERR_OK ||
        !time_parse(S("2026-01-01T00:00:00Z"), &start))
        return 1;
    double began = seconds();
    for (size_t i = 0; i < ROUNDS * ARRAY_LEN(expressions); i++) {
        Str text = str_from(expressions[i % ARRAY_LEN(expressions)]);
        if (!cron_parse(text, CRON_ANY_FORM, &cron, &fault))
            return 1;
        Instant at = start;
        for (int k = 0; k < TIMES; k++)
            at = cron_next(&cron, zone, at, false);
        sum += at / SPAN_SECOND;
    }
    double spent = seconds() - began, count = (double) (ROUNDS * ARRAY_LEN(expressions) * TIMES);
    printf("rate=%.0f ns=%.0f sum=%lld\n", count / spent, spent / count * 1e9, (long long) sum);
    return 0;
}
