// The input is a filter in the first line and the payload of an event in the rest.
#include "domain/filter.h"

#include "fuzz.h"

static const Filter *compile(Arena *arena, Str text, Error *error)
{
    const Json *source;
    const Filter *filter = NULL;
    if (json_parse(arena, text, &source, error) != ERR_OK)
        return NULL;
    if (filter_compile(arena, source, S("/filter"), &filter, error) != ERR_OK) {
        assert(error->count > 0 && error->err == ERR_INVALID);
        for (size_t i = 0; i < error->count && i < ERROR_PROBLEMS_MAX; i++) {
            assert(str_starts(error->problems[i].path, S("/filter")));
            assert(str_is_utf8(error->problems[i].message));
        }
        return NULL;
    }
    assert(filter);
    return filter;
}

static void check_reason(Arena *arena, const Filter *filter, FilterMiss miss, const Event *event)
{
    FilterReason reason = filter_explain(arena, filter, miss.leaf, event, S("4523"));
    assert(str_starts(reason.path, S("/filter")));
    assert(str_is_utf8(reason.predicate) && str_is_utf8(reason.would_match_if));
    Error error = { 0 };
    const Json *seen;
    bool is_json = !reason.seen.at || json_parse(arena, reason.seen, &seen, &error) == ERR_OK;
    assert(is_json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str rest = { (const char *) data, size };
    Str text = str_cut(&rest, '\n');
    const Filter *filter = compile(&arena, text, &error);
    if (!filter)
        return 0;

    Event event = { .kind = S("k"), .source = S("api"), .occurred_at = INSTANT_NONE };
    Error ignored = { 0 };
    if (json_parse(&arena, rest, &event.payload_json, &ignored) != ERR_OK)
        event.payload_json = NULL;
    event.recipient_json = json_get(event.payload_json, S("recipient"));

    FilterMiss miss;
    bool matches = filter_matches(filter, &event, S("4523"), &miss);
    if (!matches)
        check_reason(&arena, filter, miss, &event);

    // A filter and its opposite never agree; a filter within twice "not" is itself. The wrapping
    // may go too deep, and then there is nothing to compare.
    static const char *const wrappings[] = { "{\"not\":%.*s}", "{\"not\":{\"not\":%.*s}}",
                                             "{\"all\":[%.*s]}", "{\"any\":[{\"any\":[]},%.*s]}" };
    static const bool is_same[] = { false, true, true, true };
    for (size_t i = 0; i < ARRAY_LEN(wrappings); i++) {
        Error deeper = { .arena = &arena };
        Buf wrapped = buf_new(&arena, BUF_WHOLE);
        const char *mark = strstr(wrappings[i], "%.*s");
        buf_add_bytes(&wrapped, wrappings[i], (size_t) (mark - wrappings[i]));
        buf_add(&wrapped, text);
        buf_add(&wrapped, str_from(mark + 4));
        const Filter *other = compile(&arena, buf_str(&wrapped), &deeper);
        if (!other)
            continue;
        bool other_matches = filter_matches(other, &event, S("4523"), &miss);
        assert((other_matches == matches) == is_same[i]);
        if (!other_matches)
            check_reason(&arena, other, miss, &event);
    }
    return 0;
}
