#include "base/time.h"

#include "fuzz.h"

static void check_duration(Arena *arena, Str input)
{
    Span span, again;
    if (!duration_parse(input, &span))
        return;
    assert(span >= 0 && span <= DURATION_MAX);
    Str text = duration_text(arena, span);
    bool is_read = duration_parse(text, &again);
    assert(is_read && again == span);
}

static void check_time(Instant at)
{
    // Printed with milliseconds, so what is finer is cut off once and then stays.
    char buffer[TIME_TEXT_MAX], second[TIME_TEXT_MAX];
    Instant again;
    Str text = time_text(at, buffer);
    bool is_read = time_parse(text, &again);
    assert(is_read && again <= at && at - again < SPAN_MILLISECOND);
    assert(str_eq(text, time_text(again, second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str input = { (const char *) data, size };
    Instant at;
    check_duration(&arena, input);
    if (time_parse(input, &at))
        check_time(at);
    if (time_http_date(input, &at))
        check_time(at);
    return 0;
}
