// parsed.h - what parse makes of a webhook, as rows.
#pragma once

#include "hooks.h"

// ParsedRow is one webhook and the event that it becomes, or the note where it becomes none. In a
// body and a context apostrophes stand for quotes; what is NULL must be none, but a context of NULL
// is not looked at.
typedef struct ParsedRow {
    const char *headers, *body;
    const char *note;
    const char *kind, *type; // slack.event, message
    const char *key, *title, *url, *external_id, *at, *context;
} ParsedRow;

static inline bool is_same(Str text, const char *wanted)
{
    return wanted ? is_text(text, wanted) : text.len == 0;
}

static inline void check_event(Arena *arena, const ParsedRow *row, const ProviderEvent *event)
{
    char time[TIME_TEXT_MAX];
    Str kind =
        str_format(arena, "%s.%.*s", provider_id_text(event->provider), STR_ARG(event->type));
    CHECK_AT(row->body, is_same(kind, row->kind));
    CHECK_AT(row->body, is_same(event->provider_type, row->type));
    CHECK_AT(row->body, is_same(event->dedup_key, row->key));
    CHECK_AT(row->body, is_same(event->title, row->title));
    CHECK_AT(row->body, is_same(event->url, row->url));
    CHECK_AT(row->body, is_same(event->external_id, row->external_id));
    CHECK_AT(row->body, is_same(time_text(event->occurred_at, time), row->at));
    if (row->context && !str_eq(event->context, quoted(arena, row->context))) {
        printf("# context: %.*s\n", STR_ARG(event->context));
        CHECK_AT(row->body, !"the context is another");
    }
}

static inline void check_parsed(ProviderName name, const ParsedRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = { 0 };
        Error error = { .arena = &arena };
        Hook hook = hook_lines(&arena, rows[i].headers, quoted(&arena, rows[i].body));
        Err err = provider_of(name)->parse(&arena, &hook, &read, &error);
        CHECK_AT(rows[i].body, err == ERR_OK);
        CHECK_AT(rows[i].body, is_same(read.note, rows[i].note));
        CHECK_AT(rows[i].body, read.count == (rows[i].note == NULL));
        if (read.count == 1)
            check_event(&arena, &rows[i], &read.events[0]);
    }
}

// check_refused wants each body refused, with a sentence that holds nothing of it.
static inline void check_refused(ProviderName name, const char *const *bodies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = { 0 };
        Error error = { .arena = &arena };
        Hook hook = hook_lines(&arena, NULL, quoted(&arena, bodies[i]));
        CHECK_AT(bodies[i], provider_of(name)->parse(&arena, &hook, &read, &error) == ERR_INVALID);
        CHECK_AT(bodies[i], error.detail[0] != '\0' && !strstr(error.detail, "HOSTILE"));
    }
}
