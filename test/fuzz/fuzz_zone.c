#include "base/zone.h"

#include "base/time.h"
#include "fuzz.h"

enum { STEPS = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Zone *zone;
    if (zone_read(&arena, S("Fuzzed/Zone"), (Str){ (const char *) data, size }, &zone, NULL) !=
        ERR_OK)
        return 0;
    // Periods follow each other, and every instant of one lies in it.
    ZonePeriod period = zone_period(zone, 0);
    for (int i = 0; i < STEPS && period.until < TIME_LAST; i++) {
        assert(period.from < period.until);
        assert(zone_period(zone, period.until - 1).offset == period.offset);
        ZonePeriod next = zone_period(zone, period.until);
        assert(next.until > period.until);
        period = next;
    }
    return 0;
}
