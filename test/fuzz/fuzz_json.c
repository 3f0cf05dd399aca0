#include "base/json.h"

#include "fuzz.h"

static Str print_sorted(Arena *arena, const Json *value)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    json_write(&buf, value, true);
    return buf_str(&buf);
}

static size_t value_count(const Json *value)
{
    size_t count = 1;
    for (JsonIter it = json_each(value); json_next(&it);)
        count += value_count(it.value);
    return count;
}

// check_lines: each value has a line, and none stands above the one before it.
static void check_lines(Arena *arena, Str text, const Json *value)
{
    size_t count;
    const uint32_t *lines = json_lines(arena, text, &count);
    assert(count == value_count(value) && lines[0] >= 1);
    for (size_t i = 1; i < count; i++)
        assert(lines[i] >= lines[i - 1]);
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
    check_lines(&arena, (Str){ (const char *) data, size }, value);
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
