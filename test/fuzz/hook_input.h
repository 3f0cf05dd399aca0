// hook_input.h - a webhook from a fuzzer's bytes: the provider's id in the first line, then headers
// as "name: value" lines, an empty line, and the body.
#pragma once

#include "providers/provider.h"

#include "fuzz.h"

enum { INPUT_HEADERS_MAX = 32 };

typedef struct HookInput {
    const Provider *provider;
    HookHeader headers[INPUT_HEADERS_MAX + PROVIDER_HEADERS_MAX];
    Hook hook; // its headers lie here
} HookInput;

// hook_input_lower is a header's name as the server hands it on.
static inline Str hook_input_lower(Arena *arena, Str name)
{
    char *copy = arena_alloc(arena, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        copy[i] = str_lower_char(name.at[i]);
    return (Str){ copy, name.len };
}

// hook_input_read is false where no provider is named.
static inline bool hook_input_read(Arena *arena, Str input, HookInput *ret)
{
    ProviderName name;
    if (!provider_name_parse(str_cut(&input, '\n'), &name) || !provider_of(name))
        return false;
    ret->provider = provider_of(name);
    ret->hook = (Hook){ .method = S("POST"), .headers = ret->headers };
    ret->hook.at = 1778735554 * SPAN_SECOND; // 2026-05-14T05:12:34Z
    while (input.at && ret->hook.header_count < INPUT_HEADERS_MAX) {
        Str value = str_cut(&input, '\n');
        if (value.len == 0)
            break;
        Str header = str_cut(&value, ':');
        if (str_eq(header, S("?"))) // no header has this name: it is the query
            ret->hook.query = str_trim(value);
        else
            ret->headers[ret->hook.header_count++] =
                (HookHeader){ hook_input_lower(arena, header), str_trim(value) };
    }
    ret->hook.body = input;
    return true;
}
