#include "base/yaml.h"

#include "fuzz.h"

// What was read is written as YAML and read again: it must be the same.
static void comes_back(Arena *arena, const Json *value)
{
    YamlDocument *again;
    size_t count;
    Error error = { .arena = arena };
    Buf yaml = buf_new(arena, BUF_WHOLE);
    yaml_write(&yaml, value);
    bool is_read = yaml_read(arena, buf_str(&yaml), YAML_CORE, &again, &count, &error) == ERR_OK;
    assert(is_read && count == 1);
    assert(str_eq(json_text(arena, value), json_text(arena, again[0].json)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    YamlDocument *documents;
    size_t count;
    if (yaml_read(&arena, (Str){ (const char *) data, size }, YAML_CORE, &documents, &count,
                  &error) != ERR_OK) {
        assert(error.err == ERR_MALFORMED && error.detail[0]);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        assert(yaml_line(&documents[i], S("")) > 0);
        assert(yaml_line(&documents[i], S("/a/0/b")) > 0);
        comes_back(&arena, documents[i].json);
    }
    return 0;
}
