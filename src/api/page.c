#include "api/api.h"

#include "base/crypto.h"

enum { CURSOR_MAX = 1024, LIMIT_DEFAULT = 50, LIMIT_MAX = 500 };

enum { PAGE_LIMIT, PAGE_CURSOR };

const Param page_params[] = {
    [PAGE_LIMIT] = { .name = "limit",
                     .kind = PARAM_INT,
                     .min = 1,
                     .max = LIMIT_MAX,
                     .help = "How many rows at most; 50 unless said" },
    [PAGE_CURSOR] = { .name = "cursor",
                      .kind = PARAM_TEXT,
                      .max = CURSOR_MAX,
                      .help = "The next of the page before" },
    { 0 },
};

Err call_page(const Call *call, Page *ret, Error *error)
{
    size_t first = param_count(call->route->params);
    Page page = { .limit = LIMIT_DEFAULT };
    Str cursor;
    param_int(call, first + PAGE_LIMIT, &page.limit);
    if (param_text(call, first + PAGE_CURSOR, &cursor) &&
        !base64_parse(call->arena, cursor, &page.cursor))
        return fail(error, ERR_MALFORMED, "the cursor is none that was given");
    *ret = page;
    return ERR_OK;
}

Err page_text(const Page *page, Str *ret, Error *error)
{
    if (page->cursor.at && !str_is_utf8(page->cursor))
        return fail(error, ERR_MALFORMED, "the cursor is none that was given");
    *ret = page->cursor;
    return ERR_OK;
}

Err page_id(const Page *page, Uuid *room, const Uuid **ret, Error *error)
{
    *ret = NULL;
    if (!page->cursor.at)
        return ERR_OK;
    if (page->cursor.len != sizeof room->b)
        return fail(error, ERR_MALFORMED, "the cursor is none that was given");
    memcpy(room->b, page->cursor.at, sizeof room->b);
    *ret = room;
    return ERR_OK;
}

size_t page_shown(const Page *page, size_t count, bool *ret_has_more)
{
    size_t limit = (size_t) page->limit;
    *ret_has_more = count > limit || page->is_cut;
    return count > limit ? limit : count;
}

void page_close(Call *call, const Page *page, Str next_cursor)
{
    json_close(&call->json, ']');
    json_put_str(&call->json, S("next"), next_cursor);
    json_put_bool(&call->json, S("complete"), !page->is_cut);
    json_close(&call->json, '}');
}

Str page_cursor(Arena *arena, Str key)
{
    Str padded = base64_text(arena, key);
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
