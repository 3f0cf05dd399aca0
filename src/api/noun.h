// noun.h - what a kind of definition does beside being stored: a row per kind.
//
// The handlers in definitions_api.c are the same for all kinds. A Noun says which member of a
// kind's body holds secrets and by which shape, what else is written when one is saved, and what a
// reader is warned of. Every hook may be NULL: then there is nothing to do.
#pragma once

#include "api/api.h"
#include "domain/definition.h"

// Edit is a definition on its way into the store.
typedef struct Edit {
    Call *call;
    Tx *tx;
    const Json *body; // valid, and under the names of its shape's rows
    const Json *old;  // as it is stored; NULL for a new one
    Str warning;      // none
} Edit;

typedef struct Noun {
    const DefinitionKind *kind;

    // secrets is the member whose secrets are sealed; find_shape says by which shape it is to be
    // read, and has_moved whether body goes elsewhere than old, so that no secret follows.
    const char *secrets;
    Err (*find_shape)(Arena *arena, const Json *body, const Shape **ret, Error *error);
    bool (*has_moved)(const Json *body, const Json *old);

    // touch writes what follows from the definition, in the same transaction, and may warn.
    Err (*touch)(Edit *edit, Error *error);

    // warn tells what a reader of a stored one should know; none.
    Str (*warn)(Call *call, Str id);

    // may_delete fails where one must stay.
    Err (*may_delete)(Str id, Error *error);
} Noun;

const Noun *noun_of(const DefinitionKind *kind);
