#include "api/api.h"

#include "base/crypto.h"
#include "store/walk.h"

enum { CURSOR_MAX = 1024 };

enum { PAGE_LIMIT, PAGE_CURSOR };

const Param page_params[] = {
    [PAGE_LIMIT] = { .name = "limit",
                     .kind = PARAM_INT,
                     .min = 1,
                     .max = PAGE_ROWS_MAX,
                     .help = "How many rows at most; " MACRO_TEXT(PAGE_ROWS) " unless said" },
    [PAGE_CURSOR] = { .name = "cursor",
                      .kind = PARAM_TEXT,
                      .max = CURSOR_MAX,
                      .help = "The next of the page before" },
    { 0 },
};

Err call_walk(const Call *call, Walk *ret, Error *error)
{
    size_t first = param_count(call->route->params);
    Walk walk = { .after = STR_NONE, .limit = PAGE_ROWS };
    Str cursor;
    param_int(call, first + PAGE_LIMIT, &walk.limit);
    if (param_text(call, first + PAGE_CURSOR, &cursor) &&
        !base64_parse(call->arena, cursor, &walk.after))
        return walk_unknown(error);
    *ret = walk;
    return ERR_OK;
}

// cursor_of writes a place so that it needs no escape in a URL.
static Str cursor_of(Arena *arena, Str place)
{
    if (!place.at)
        return STR_NONE;
    Str padded = base64_text(arena, place);
    char *text = arena_copy(arena, padded.at, padded.len + 1);
    size_t len = 0;
    for (; len < padded.len && text[len] != '='; len++) {
        if (text[len] == '+')
            text[len] = '-';
        else if (text[len] == '/')
            text[len] = '_';
    }
    return (Str){ text, len };
}

JsonOut *page_open(Call *call)
{
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    return json;
}

void page_put(Call *call, const Seen *seen)
{
    json_put_str(&call->json, S("next"), cursor_of(call->arena, seen->next));
    json_put_bool(&call->json, S("complete"), !seen->is_cut);
}

void page_close(Call *call, const Seen *seen)
{
    json_close(&call->json, ']');
    page_put(call, seen);
    json_close(&call->json, '}');
}
