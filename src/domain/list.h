// list.h - whom a notification goes to: a list's channels, its name, and its members.
//
// A list is a rule (rule.h) that no event finds by its kind: a notification names it. It is a
// definition like others, but for its members, of which there may be LIST_MEMBERS_MAX: they are
// taken out of the body when it comes in, lie in a table of their own (store/list.h) and are in no
// version. Who is a member is asked when a notification is sent, not when it comes in.
#pragma once

#include "domain/target.h"
#include "domain/trigger.h"

enum {
    LIST_MEMBERS_MAX = 100000,
    LIST_CHANNELS_MAX = 10,
    LIST_NAME_MAX = 200,
    LIST_LOCALE_MAX = 35,
};

// ListMember is one of those a list goes to. Its name is of one line.
typedef struct ListMember {
    Str address, name, locale; // name and locale: none where not given
} ListMember;

extern const Shape list_shape;
extern const Shape list_member_shape;

// list_compile reads a definition without its members; list_parse does, from its text. Strings are
// kept by reference, so source must live as long as the rule.
Err list_compile(Arena *arena, const Json *source, Trigger *ret, Error *error) MUST_USE;
Err list_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;

// list_members reads members, which lie at pointer in their document. An address that stands there
// twice counts once: nobody is to be told twice. Every mistake is noted, as far as an error goes.
Err list_members(Arena *arena, const Json *targets, Str pointer, ListMember **ret,
                 size_t *ret_count, Error *error) MUST_USE;
