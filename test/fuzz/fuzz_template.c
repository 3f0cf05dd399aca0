// The input is a phrase in the first line and the payload of an event in the rest.
#include "domain/template.h"

#include "fuzz.h"

static void fill(Arena *arena, const Phrase *phrase, const Event *event, bool keeps, bool is_html)
{
    Error error = { .arena = arena };
    Filling filling = { .event = event, .keeps_missing = keeps };
    Str filled;
    if (phrase_fill(phrase, arena, &filling, is_html, &filled, &error) != ERR_OK) {
        assert(error.err == ERR_INVALID && error.detail[0]);
        return;
    }
    assert(filled.at && filled.len <= PHRASE_FILLED_MAX);
    assert(filling.missing_count <= PHRASE_MISSING_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str rest = { (const char *) data, size };
    Str text = str_cut(&rest, '\n');
    const Phrase *phrase = phrase_compile(&arena, text, S("/body"), &error);
    if (!phrase) {
        assert(error.count > 0);
        return 0;
    }
    assert(error.count == 0);
    Event event = { .kind = S("k"), .source = S("api"), .occurred_at = INSTANT_NONE };
    Error ignored = { 0 };
    if (json_parse(&arena, rest, &event.payload_json, &ignored) != ERR_OK)
        event.payload_json = NULL;
    event.recipient_json = json_get(event.payload_json, S("recipient"));
    for (int way = 0; way < 4; way++)
        fill(&arena, phrase, &event, way & 1, way & 2);
    Str *names;
    size_t count = phrase_names(phrase, &arena, &names);
    for (size_t i = 0; i < count; i++)
        (void) phrase_knows(names[i], &event);
    return 0;
}
