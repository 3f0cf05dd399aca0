// list.h - the members of lists, a row each (domain/list.h).
//
// A list is a definition; its members lie here, by the number of its rule. There may be a hundred
// thousand of them, so they are written in slices, a transaction each, that nobody waits for: as a
// new edition, which counts from the moment that it is published with the definition. Until then
// the edition before counts, whole. What is replaced, or never published, is waste, and taken away
// in slices too.
//
//     list_begin ─▶ list_write … list_write ─▶ list_check, list_publish
//
// A notification asks for members when it is sent (store/target.h: targets_claim).
#pragma once

#include "domain/list.h"
#include "store/tx.h"
#include "store/walk.h"

enum { LIST_SLICE_MAX = 1000 }; // members that one transaction writes

// ListEdition is all members of a list as they were given at once.
typedef struct ListEdition {
    int64_t tenant, list;
    int64_t edition; // its number, which is its first member's n
    size_t count;
} ListEdition;

// list_begin makes room for an edition of so many members. The list need not be saved yet: its name
// gets its number.
Err list_begin(Tx *tx, int64_t tenant, Str id, size_t count, ListEdition *ret,
               Error *error) MUST_USE;

// list_write writes some of its members: the first of them is the one behind so many others.
void list_write(Tx *tx, const ListEdition *edition, size_t before, const ListMember *members,
                size_t count);

// list_check fails with ERR_CONFLICT where not all of it is there: somebody else saved the list
// meanwhile, and it went with the waste.
Err list_check(Tx *tx, const ListEdition *edition, Error *error) MUST_USE;

// list_publish makes it the one that counts; list_retire leaves the list without members.
Err list_publish(Tx *tx, const ListEdition *edition, Error *error) MUST_USE;
Err list_retire(Tx *tx, int64_t tenant, Str id, Error *error) MUST_USE;

// list_add adds members to the edition that counts, at most LIST_SLICE_MAX; who is there already
// gets the name and the locale that are given. list_remove takes one out: ERR_NOT_FOUND.
Err list_add(Tx *tx, int64_t tenant, int64_t list, const ListMember *members, size_t count,
             Error *error) MUST_USE;
Err list_remove(Tx *tx, int64_t tenant, int64_t list, Str address, Error *error) MUST_USE;

// list_count is how many members it has; list_page reads them in the order in which they came.
Err list_count(Db *db, Arena *arena, int64_t tenant, int64_t list, int64_t *ret,
               Error *error) MUST_USE;
Err list_page(Db *db, Arena *arena, int64_t tenant, int64_t list, const Walk *walk,
              ListMember **ret, Seen *ret_seen, Error *error) MUST_USE;

// list_find is the number of a list that is there; ERR_NOT_FOUND.
Err list_find(Db *db, Arena *arena, int64_t tenant, Str id, int64_t *ret, Error *error) MUST_USE;

// list_sweep takes up to limit members of waste away.
Err list_sweep(Tx *tx, int limit, int64_t *ret_count, Error *error) MUST_USE;

extern const Statement *const list_statements[]; // ends with NULL
