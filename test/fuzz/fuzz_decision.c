#include "domain/decision.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str input = { (const char *) data, size };
    Miss *misses, *again;
    size_t count, again_count;
    if (decision_unpack(&arena, input, &misses, &count, NULL) != ERR_OK || count == 0)
        return 0;
    // What can be read can be packed, in no more bytes, and is the same when it is read again.
    DecisionPack pack = decision_begin(&arena, STR_NONE);
    for (size_t i = 0; i < count; i++)
        decision_add(&pack, &misses[i]);
    Str packed = decision_end(&pack);
    assert(packed.len <= size);
    Err err = decision_unpack(&arena, packed, &again, &again_count, NULL);
    assert(err == ERR_OK && again_count == count);
    assert(memcmp(misses, again, count * sizeof *misses) == 0);
    return 0;
}
