#include "domain/cause.h"

#include "fuzz.h"

enum { STATUS_MAX = 9 }; // "550 5.1.1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str sample = cause_sample(&arena, (Str){ (const char *) data, size });
    char text[CAUSE_TEXT_LEN + 1];
    int64_t cause = cause_of(1, REASON_GAVE_UP, 0, sample), again = 0;
    assert(sample.len <= CAUSE_SAMPLE_MAX && str_is_utf8(sample));
    for (size_t i = STATUS_MAX; i < sample.len; i++)
        assert(sample.at[i] < '0' || sample.at[i] > '9');
    bool is_read = cause_parse(cause_text(cause, text), &again);
    assert(is_read && again == cause);
    return 0;
}
