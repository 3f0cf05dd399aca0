// Every payload that GitHub published (npm: @octokit/webhooks-examples, see tools/setup.sh) is
// read: those of the six types become one event each, whole, and all others say why they are none.
#include "hooks.h"

#define CORPUS NPM_DIR "/@octokit/webhooks-examples/api.github.com/index.json"

enum { CORPUS_MAX = 64 << 20 };

static Str file_text(Arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return STR_NONE;
    Buf text = buf_new(arena, CORPUS_MAX);
    char piece[65536];
    for (size_t len; (len = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add_bytes(&text, piece, len);
    fclose(file);
    return buf_str(&text);
}

static void check_event(Arena *arena, Str name, const ProviderEvent *event)
{
    const char *row = str_z(arena, name);
    const Json *payload;
    CHECK_AT(row, str_eq(event->type, name) && str_starts(event->provider_type, name));
    CHECK_AT(row, str_starts(event->dedup_key, S("github:")));
    CHECK_AT(row, event->title.at && event->url.at && event->external_id.at);
    Str text = provider_payload(arena, event, 0, SIZE_MAX);
    CHECK_AT(row, json_parse(arena, text, &payload, NULL) == ERR_OK);
    CHECK_AT(row, json_get(payload, S("raw")));
}

// check_lacking reads a payload again and again, each time with a null for another of its members:
// whatever that is then, nothing breaks.
static void check_lacking(const Provider *github, Hook hook, const Json *example)
{
    for (JsonIter gone = json_each(example); json_next(&gone);) {
        DEFER(arena_done) Arena arena = { 0 };
        Buf text = buf_new(&arena, BUF_WHOLE);
        JsonOut out = json_out(&text);
        ProviderRead read;
        json_open(&out, '{');
        for (JsonIter it = json_each(example); json_next(&it);)
            json_put_raw(&out, it.key,
                         it.index == gone.index ? STR_NONE : json_text(&arena, it.value));
        json_close(&out, '}');
        hook.body = buf_str(&text);
        (void) !github->parse(&arena, &hook, &read, NULL);
    }
}

// check_payload reads a payload as it is, without its header, with members gone, and cut off.
static void check_payload(Str name, const Json *example)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Provider *github = provider_of(PROVIDER_GITHUB);
    HookHeader headers[] = { { S("x-github-event"), name } };
    Hook hook = { .method = S("POST"), .headers = headers, .header_count = 1 };
    ProviderRead read = { 0 };
    const char *row = str_z(&arena, name);
    hook.body = json_text(&arena, example);
    CHECK_AT(row, github->parse(&arena, &hook, &read, NULL) == ERR_OK);
    CHECK_AT(row, (read.count == 1) == (provided_type(PROVIDER_GITHUB, name) != NULL));
    CHECK_AT(row, read.count == 1 || read.note.at);
    if (read.count == 1)
        check_event(&arena, name, read.events);
    check_lacking(github, hook, example);
    hook.header_count = 0; // what it is without its header is for the body to tell
    (void) !github->parse(&arena, &hook, &read, NULL);
    hook.body.len /= 2;
    CHECK_AT(row, github->parse(&arena, &hook, &read, NULL) == ERR_INVALID);
}

static void every_published_payload_is_read(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    size_t count = 0;
    Str text = file_text(&arena, CORPUS);
    if (!text.at) {
        printf("# skipped: tools/setup.sh test brings " CORPUS "\n");
        return;
    }
    const Json *kinds = NULL;
    CHECK(json_parse(&arena, text, &kinds, NULL) == ERR_OK);
    for (JsonIter kind = json_each(kinds); json_next(&kind);) {
        Str name = json_str(json_get(kind.value, S("name")));
        for (JsonIter it = json_each(json_get(kind.value, S("examples"))); json_next(&it); count++)
            check_payload(name, it.value);
    }
    CHECK(count > 200);
    printf("# %zu payloads\n", count);
}

static const Test tests[] = { TEST(every_published_payload_is_read) };
TEST_MAIN(tests)
