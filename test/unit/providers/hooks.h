// hooks.h - webhooks as literals, for tests of providers.
#pragma once

#include "base/time.h"
#include "providers/provider.h"
#include "unit/domain/documents.h"

enum { HOOK_LINES_MAX = 16 };

// at_time is an Instant as a test writes it.
static inline Instant at_time(const char *text)
{
    Instant at = 0;
    CHECK_AT(text, time_parse(str_from(text), &at));
    return at;
}

// hook_of is a POST of body, whose quotes may be written as apostrophes, with headers "name:
// value".
static inline Hook hook_of(Arena *arena, const char *body, const char *const *headers, size_t count)
{
    HookHeader *list = ARENA_ARRAY(arena, HookHeader, count + 1);
    for (size_t i = 0; i < count; i++) {
        Str rest = str_from(headers[i]);
        list[i].name = str_cut(&rest, ':');
        list[i].value = str_trim(rest);
    }
    return (Hook){ .method = S("POST"),
                   .headers = list,
                   .header_count = count,
                   .body = quoted(arena, body),
                   .at = at_time("2026-05-14T05:12:34Z") };
}
#define HOOK(arena, body, ...)                                                                     \
    hook_of((arena), (body), (const char *const[]){ __VA_ARGS__ },                                 \
            sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

// hook_lines is a POST of the very bytes of body, with headers as lines; NULL: it has none.
static inline Hook hook_lines(Arena *arena, const char *lines, Str body)
{
    const char *headers[HOOK_LINES_MAX];
    size_t count = 0;
    for (Str rest = str_from(lines); rest.at && count < HOOK_LINES_MAX;)
        headers[count++] = str_z(arena, str_cut(&rest, '\n'));
    Hook hook = hook_of(arena, "", headers, count);
    hook.body = body;
    return hook;
}

static inline HookTrust trust_in(const char *secret)
{
    return (HookTrust){ .secrets = { str_from(secret) }, .secret_count = 1 };
}

// member is what a context holds at a name, as JSON; none where it is not there.
static inline Str member(Arena *arena, Str context, const char *name)
{
    const Json *json = NULL;
    CHECK(json_parse(arena, context, &json, NULL) == ERR_OK);
    const Json *value = json_get(json, str_from(name));
    return value ? json_text(arena, value) : STR_NONE;
}
