#include "cli/pages.h"

enum {
    PAGE_ROWS_MAX = 500, // the server's
    ROWS_MAX = 1000000,
    PAGES_MAX = 1000,
    OUTPUT_BYTES_MAX = 1 << 30,
};

// page_path adds limit and cursor to what was asked for.
static Str page_path(const Client *client, Str path, size_t limit, Str cursor)
{
    if (limit > PAGE_ROWS_MAX)
        limit = PAGE_ROWS_MAX;
    path = client_with(client, path, S("limit"), str_format(client->arena, "%zu", limit));
    return cursor.len > 0 ? client_with(client, path, S("cursor"), cursor) : path;
}

static void add_items(Arena *arena, Pages *pages, const Json *items)
{
    size_t count = pages->count + json_count(items);
    if (count > pages->room) {
        pages->items = arena_grow(arena, pages->items, pages->room * sizeof *pages->items,
                                  count * 2 * sizeof *pages->items);
        pages->room = count * 2;
    }
    for (JsonIter it = json_each(items); json_next(&it);) {
        assert(pages->items && pages->count < pages->room);
        pages->items[pages->count++] = it.value;
    }
}

static int read_limit(const Client *client, size_t *ret)
{
    int64_t wanted;
    const char *limit = args_option(client->args, "limit");
    if (limit && !str_to_i64(str_from(limit), 1, ROWS_MAX, &wanted))
        return args_usage(client->args, "--limit must be a whole number from 1 to %d", ROWS_MAX);
    if (limit)
        *ret = (size_t) wanted;
    return EXIT_DONE;
}

int pages_read(const Client *client, Str path, const char *options, const char *member,
               size_t wanted, Pages *ret)
{
    const char *cursor = args_option(client->args, "cursor");
    Pages pages = { .next = cursor ? str_from(cursor) : STR_NONE };
    bool is_whole = false;
    int status = read_limit(client, &wanted);
    path = client_query(client, path, options);
    while (status == EXIT_DONE && !is_whole && pages.read < PAGES_MAX) {
        Answer answer = { 0 };
        status =
            client_get(client, page_path(client, path, wanted - pages.count, pages.next), &answer);
        if (status != EXIT_DONE)
            break;
        if (pages.read++ == 0)
            pages.first = answer;
        add_items(client->arena, &pages, json_get(answer.json, str_from(member)));
        pages.next = json_str(json_get(answer.json, S("next")));
        is_whole = pages.next.len == 0 || pages.count >= wanted;
    }
    pages.is_cut = !is_whole;
    *ret = pages;
    return status;
}

void pages_json(const Client *client, const Pages *pages, const char *member)
{
    if (pages->read == 1) {
        output_json(pages->first.text);
        return;
    }
    Buf text = buf_new(client->arena, OUTPUT_BYTES_MAX);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (JsonIter it = json_each(pages->first.json); json_next(&it);) {
        if (str_eq(it.key, S("next")) || str_eq(it.key, S("complete")))
            continue;
        json_key(&out, it.key);
        if (!str_eq(it.key, str_from(member))) {
            json_add_raw(&out, json_text(client->arena, it.value));
            continue;
        }
        json_open(&out, '[');
        for (size_t i = 0; i < pages->count; i++)
            json_add_raw(&out, json_text(client->arena, pages->items[i]));
        json_close(&out, ']');
    }
    json_put_str(&out, S("next"), pages->next.len ? pages->next : STR_NONE);
    json_put_bool(&out, S("complete"), !pages->is_cut);
    json_close(&out, '}');
    output_json(buf_str(&text));
}

void pages_tell(const Client *client, const Pages *pages)
{
    Str next = output_clean(client->arena, pages->next);
    if (pages->is_cut)
        fprintf(stderr, "Stopped after %zu pages; there may be more.\n", pages->read);
    if (next.len > 0)
        fprintf(stderr, "More: the same with --cursor %.*s\n", STR_ARG(next));
}
