#include "base/gzip.h"

#include "fuzz.h"

enum { OPENED_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str opened = STR_NONE;
    Err err = gzip_open(&arena, (Str){ (const char *) data, size }, OPENED_MAX, &opened, &error);
    if (err == ERR_OK)
        assert(opened.len <= OPENED_MAX);
    else
        assert((err == ERR_TOO_LARGE || err == ERR_MALFORMED) && error.detail[0]);
    return 0;
}
