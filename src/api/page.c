#include "api/api.h"

#include "base/crypto.h"

enum { CURSOR_MAX = 1024, LIMIT_DEFAULT = 50, LIMIT_MAX = 500 };

Err call_page(const Call *call, Page *ret, Error *error)
{
    Str limit = exchange_query(call->exchange, S("limit"));
    Str cursor = exchange_query(call->exchange, S("cursor"));
    Page page = { .limit = LIMIT_DEFAULT };
    if (limit.at && !str_to_i64(limit, 1, LIMIT_MAX, &page.limit)) {
        error_add(error, S("/limit"), "bad-value", "must be a whole number from 1 to %d",
                  LIMIT_MAX);
        return error_close(error, ERR_INVALID);
    }
    if (cursor.len > 0 &&
        (cursor.len > CURSOR_MAX || !base64_parse(call->arena, cursor, &page.cursor)))
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
