// yaml.h - YAML as it is written by people, turned into JSON, and JSON into YAML; yaml.c is the
// only file that knows libyaml.
//
// What is read is a part of YAML 1.2 that says what it seems to say. Words are those of its core
// schema: true and false are, yes, no, on and off are texts, and so is a date. Refused, with the
// line, are a key that stands twice, a key that is no word, tags other than !!str, the merge key
// <<, numbers that JSON has not (.inf, .nan) and numbers with a leading zero, which is a telephone
// number or an account and loses it. An anchor may be used again and again, but not inside itself,
// and all of a document may grow to YAML_BYTES_MAX by it: ten anchors of ten aliases of each other
// are no way to fill the memory.
//
// A text may hold several documents, with --- between them. One that holds nothing is left out.
#pragma once

#include "base/json.h"

enum { YAML_BYTES_MAX = 32 << 20, YAML_VALUES_MAX = 4 << 20 };

typedef struct YamlDocument {
    const Json *json;
    const uint32_t *lines; // of each of its values, in the order in which they stand
    size_t count;          // of these
} YamlDocument;

// YamlWords says what an unquoted word may stand for.
typedef enum YamlWords {
    YAML_CORE, // as the core schema says: a number, true, null
    YAML_TEXT, // a text, whatever it looks like
} YamlWords;

// yaml_read reads all documents of text; ERR_MALFORMED, with the line.
Err yaml_read(Arena *arena, Str text, YamlWords words, YamlDocument **ret, size_t *ret_count,
              Error *error) MUST_USE;

// yaml_line is the line, from 1, of what lies at a JSON Pointer, or of the innermost value on the
// way to it that is there.
size_t yaml_line(const YamlDocument *document, Str pointer);

// yaml_write writes a value as a document of its own, beginning with ---. It is read as the same
// value, here and by readers of YAML 1.1.
void yaml_write(Buf *out, const Json *value);
