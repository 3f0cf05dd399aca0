#include "domain/cron.h"

#include "base/time.h"
#include "fuzz.h"

enum { STEPS = 20 };

// check_walk: each time is behind the one before, at a wall that matches or at the end of a gap.
static void check_walk(const Cron *cron, const Zone *zone, Instant from)
{
    for (int i = 0; i < STEPS && from != INSTANT_NONE; i++) {
        Instant at = cron_next(cron, zone, from, false);
        assert(at > from);
        if (at == INSTANT_NONE)
            return;
        ZonePeriod period = zone_period(zone, at);
        Instant wall = at + period.offset;
        assert(cron_next_wall(cron, wall) == wall ||
               (at == period.from && period.before < period.offset));
        assert(cron_next(cron, zone, at - SPAN_SECOND, false) == at);
        from = at;
    }
}

// check_text: what is printed matches the same walls, though it may be no interval any more.
static void check_text(Arena *arena, const Cron *cron)
{
    Cron again;
    CronFault fault;
    Str text = cron_text(arena, cron);
    bool is_read =
        cron_parse(text, cron->has_seconds ? CRON_SIX_FIELDS : CRON_FIVE_FIELDS, &again, &fault);
    assert(is_read);
    again.is_interval = cron->is_interval;
    assert(cron_is_same(cron, &again) && str_eq(text, cron_text(arena, &again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "UTC", "Europe/Berlin", "America/New_York",
                                         "Australia/Lord_Howe", "Pacific/Apia" };
    DEFER(arena_done) Arena arena = { 0 };
    Cron cron;
    CronFault fault = { 0 };
    Str input = { (const char *) data, size };
    if (!cron_parse(input, CRON_ANY_FORM, &cron, &fault)) {
        assert(fault.message && fault.place <= size + 1);
        return 0;
    }
    check_text(&arena, &cron);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const Zone *zone;
        Instant from = (Instant) (str_hash(input) % (uint64_t) (TIME_LAST / 20));
        if (zone_find(str_from(names[i]), &zone, NULL) != ERR_OK)
            continue;
        check_walk(&cron, zone, from);
        assert(cron_explain(&arena, &cron, zone, from).len > 0);
    }
    return 0;
}
