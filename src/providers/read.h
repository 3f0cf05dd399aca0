// read.h - taking from a stranger's JSON what is there, and nothing that is not.
//
// A path is dotted ("repository.full_name") and goes by members only. What is absent, null, empty
// or of another type is none, so a parser reads straight down and asks once what it must have. A
// context is written by rows: what filters may name is a table, not code.
#pragma once

#include "base/json.h"

enum {
    READ_TITLE_MAX = 500,
    READ_TEXT_MAX = 2000, // of a value in a context, and of a URL
    READ_ID_MAX = 200,
    READ_LIST_MAX = 100,    // elements of a list in a context
    READ_ELEMENT_MAX = 500, // bytes of each
    READ_FIELDS_MAX = 200,  // fields of a form in a context
};

const Json *read_at(const Json *value, const char *path); // NULL: it is not there
Str read_text(const Json *value, const char *path);       // none unless it is a text with something
Str read_word(const Json *value, const char *path);       // a text, or a number as it was written

// read_title is a text's first line that says something, cut to READ_TITLE_MAX. read_url is a text
// that may stand in a link: an http or https URL without blanks or control characters.
Str read_title(Str text);
Str read_url(Str text);

// read_id makes a text fit to be an id or a part of a key: what is longer than READ_ID_MAX becomes
// its hash, for two that begin alike are not the same.
Str read_id(Arena *arena, Str text);

// read_first is the first of some texts that says something.
#define READ_FIRST(...)                                                                            \
    read_first((const Str[]){ __VA_ARGS__ }, sizeof((const Str[]){ __VA_ARGS__ }) / sizeof(Str))
Str read_first(const Str *texts, size_t count);

// ReadRow is a member of a context: a text, number or boolean at a path, or where each is given a
// list of what each element of the array there has at that path (an empty one: is itself).
typedef struct ReadRow {
    const char *name, *path, *each;
} ReadRow;

// read_put writes the rows of what is there; texts and lists are cut.
void read_put(JsonOut *out, const Json *value, const ReadRow *rows, size_t count);
void read_put_text(JsonOut *out, const char *name, Str text); // unless it is none

Str read_lower(Arena *arena, Str text); // a copy in lower case, of ASCII

// read_form finds a field of an application/x-www-form-urlencoded body, with its encoding undone;
// false where there is none.
bool read_form(Arena *arena, Str form, Str name, Str *ret);

// read_put_form writes the fields of such a body as members, the first READ_FIELDS_MAX
// of them, each once. One without a name is left out, what is not UTF-8 is null.
void read_put_form(Arena *arena, JsonOut *out, Str form);
