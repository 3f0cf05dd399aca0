// statements.h - every statement of the store's nouns, list by list: what test/suite walks to prove
// that each is bound to a tenant or in the closed list of those of the system.
//
// A new file with statements adds its list here; test/suite/statements.c reads the sources and
// finds one that is missing. What is not here belongs to the machinery below the nouns: migrations,
// the writer's look at the generation.
#pragma once

#include "store/db.h"

extern const Statement *const
    *const all_statements[]; // lists, each ending with NULL; ends with NULL

// StatementWalk is a place in all_statements: for (walk = statements_walk();
// …statements_next(&walk).
typedef struct StatementWalk {
    size_t list, at;
} StatementWalk;

StatementWalk statements_walk(void);
const Statement *statements_next(StatementWalk *walk); // NULL at the end
