/* text.h - JSON in and out, as far as the library needs it: a buffer that grows, and a look at the
 * members of an object. Private to the library.
 *
 * A buffer that ran out of memory, or was given what is no UTF-8, stays broken; who filled it looks
 * once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Text {
    char *at; /* with an end */
    size_t len, room;
    bool is_broken; /* errno says why: ENOMEM, EILSEQ, E2BIG */
} Text;

void peal_text_add(Text *text, const char *more, size_t len);
void peal_text_put(Text *text, const char *more);
void peal_text_free(Text *text);

/* peal_text_quote adds a JSON string. peal_text_member adds "name":"value" behind a comma, where
 * there is a value; peal_text_member_json adds one that is JSON already, an object. */
void peal_text_quote(Text *text, const char *value);
void peal_text_member(Text *text, const char *name, const char *value);
void peal_text_member_json(Text *text, const char *name, const char *object);

/* peal_json_member finds a member of an object and returns its value, as it is written, and its
 * length; NULL: there is none, or the text is no object. */
const char *peal_json_member(const char *json, size_t len, const char *name, size_t *ret_len);

/* peal_json_is_object is true for a text that is one object, with nothing behind it. */
bool peal_json_is_object(const char *json, size_t len);

/* peal_json_text copies a string's value, cut to size; an empty text where it is none. */
void peal_json_text(const char *value, size_t len, char *ret, size_t size);
