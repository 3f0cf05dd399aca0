#include "base/json.h"

#include "fuzz.h"

static Str print_sorted(Arena *arena, const Json *value)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    json_write(&buf, value, true);
    return buf_str(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Json *value, *again;
    if (json_parse(&arena, (Str){ (const char *) data, size }, &value, &error) != ERR_OK) {
        assert(error.err == ERR_MALFORMED && error.detail[0]);
        return 0;
    }
    Str text = json_text(&arena, value);
    assert(str_is_utf8(text));
    bool is_read = json_parse(&arena, text, &again, &error) == ERR_OK;
    assert(is_read);
    assert(str_eq(text, json_text(&arena, again)));

    // Sorting changes the order of members and nothing else, so it is its own fixed point.
    Str sorted = print_sorted(&arena, value);
    assert(sorted.len == text.len);
    is_read = json_parse(&arena, sorted, &again, &error) == ERR_OK;
    assert(is_read && str_eq(sorted, json_text(&arena, again)));
    assert(str_eq(sorted, print_sorted(&arena, again)));
    return 0;
}
