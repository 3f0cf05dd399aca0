#include "domain/decision.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str input = { (const char *) data, size };
    Miss *misses;
    size_t count;
    if (decision_unpack(&arena, input, &misses, &count, NULL) != ERR_OK)
        return 0;
    // One list of misses has one form.
    if (count <= DECISION_MISSES_MAX)
        assert(str_eq(decision_pack(&arena, misses, count), input));
    return 0;
}
