// documents.h - what the tests of domain/ share: JSON from literals and files, problems by place.
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "domain/event.h"

#include "test.h"

// quoted is a literal in which single quotes stand for double ones, for readability.
static inline Str quoted(Arena *arena, const char *text)
{
    Str copy = str_dup(arena, str_from(text));
    for (char *at = (char *) (uintptr_t) copy.at; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

// document parses such a literal; one that is not JSON is a mistake of the test and stops it.
static inline const Json *document(Arena *arena, const char *text)
{
    const Json *value = NULL;
    Error error = { 0 };
    if (json_parse(arena, quoted(arena, text), &value, &error) != ERR_OK) {
        printf("Bail out! %s: %s\n", text, error.detail);
        abort();
    }
    return value;
}

// case_file parses a file of test/cases.
static inline const Json *case_file(Arena *arena, const char *name)
{
    Str path = str_format(arena, "%s/%s", CASES_DIR, name);
    FILE *file = fopen(path.at, "rb");
    if (!file) {
        printf("Bail out! cannot read %s\n", path.at);
        abort();
    }
    Buf text = buf_new(arena, 1 << 20);
    char piece[4096];
    for (size_t len; (len = fread(piece, 1, sizeof(piece), file)) > 0;)
        buf_add_bytes(&text, piece, len);
    fclose(file);
    const Json *value = NULL;
    Error error = { 0 };
    if (json_parse(arena, buf_str(&text), &value, &error) != ERR_OK) {
        printf("Bail out! %s: %s\n", path.at, error.detail);
        abort();
    }
    return value;
}

// has_problem tells whether a problem with this code was noted at this place.
static inline bool has_problem(const Error *error, const char *path, const char *code)
{
    for (size_t i = 0; i < error->count && i < ERROR_PROBLEMS_MAX; i++) {
        if (str_eq(error->problems[i].path, str_from(path)) &&
            strcmp(error->problems[i].code, code) == 0)
            return true;
    }
    return false;
}

static inline void print_problems(const Error *error)
{
    for (size_t i = 0; i < error->count && i < ERROR_PROBLEMS_MAX; i++)
        printf("#   %.*s %s: %.*s\n", STR_ARG(error->problems[i].path), error->problems[i].code,
               STR_ARG(error->problems[i].message));
}

static inline bool is_text(Str s, const char *text)
{
    return s.at && str_eq(s, str_from(text));
}

// event_of makes an event of {"payload","recipient"}, as the published cases hold it.
static inline Event event_of(Arena *arena, const Json *source)
{
    Event event = { .occurred_at = INSTANT_NONE, .kind = S("visit-closed"), .source = S("api") };
    event.payload_json = json_get(source, S("payload"));
    event.recipient_json = json_get(source, S("recipient"));
    event.payload = json_text(arena, event.payload_json);
    if (event.recipient_json)
        event.recipient = json_text(arena, event.recipient_json);
    return event;
}
