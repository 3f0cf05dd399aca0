// noun.h - what a kind of definition does beside being stored: a row per kind.
//
// The handlers in definitions_api.c are the same for all kinds. A Noun says which member of a
// kind's body holds secrets and by which shape, what else is written when one is saved, and what a
// reader is warned of. Every hook may be NULL: then there is nothing to do.
#pragma once

#include "api/api.h"
#include "domain/definition.h"
#include "store/definition.h"

// EditWarning is what whoever saves a definition should know.
typedef struct EditWarning {
    Str placeholder; // of a template; none
    Str message;
} EditWarning;

// Edit is a definition on its way into the store.
typedef struct Edit {
    Call *call;
    Tx *tx;
    const DefinitionKind *kind;
    Str id;                   // of one that is stored; none for a new one
    int64_t expected;         // the version that may be replaced
    const Json *body;         // valid, and under the names of its shape's rows
    Str text;                 // the same as it is to be stored, once it is ready
    const Json *old;          // as it is stored; NULL for a new one
    bool is_known;            // whether one is stored, and what, was looked at: old says it
    Definition stored;        // that row, where it was looked for
    struct ListSave *members; // of a list, where its call did not bring them by itself; NULL
    const EditWarning *warnings;
    size_t warning_count;
    bool is_changed;   // once it is saved: there is a new version of it
    bool is_patched;   // what is not in its body was taken out of it
    Span overlap;      // so long a secret that is rotated stays good; 0 for none
    Str secret;        // of Noun.secret, where it is to be shown this once; none
    bool drops_secret; // one that is stored and left out does not stay
} Edit;

// edit_warn adds a warning; placeholder is none where it is of none.
void edit_warn(Edit *edit, Str placeholder, Str message);

// edit_put gives the body a member, or another value for it, as JSON.
Err edit_put(Edit *edit, Str member, Str json, Error *error) MUST_USE;

// edit_warn_of_missing warns of a definition that another one names and that is not there: a
// channel, which would have its deliveries parked. It may well be made next, so this is no mistake.
Err edit_warn_of_missing(Edit *edit, const DefinitionKind *kind, Str id, Error *error) MUST_USE;

// NounUsual is a member that need not be said and is shown all the same: what holds then, as JSON.
typedef struct NounUsual {
    const char *name, *json;
} NounUsual;

typedef struct Noun {
    const DefinitionKind *kind;

    const NounUsual *usual; // ends with a NULL name; NULL: it has none

    // secrets is the member whose secrets are sealed; find_shape says by which shape it is to be
    // read, and has_moved whether body goes elsewhere than old, so that no secret follows.
    const char *secrets;
    Err (*find_shape)(Arena *arena, const Json *body, const Shape **ret, Error *error);
    bool (*has_moved)(const Json *body, const Json *old);

    // secret is the shape of an object that has one member: a secret that stands in the body
    // itself.
    const Shape *secret;

    // complete adds to a body that was read what Peal makes where it was not given.
    Err (*complete)(Edit *edit, Error *error);

    // may_save fails where one must not be saved as it is, for reasons that its body does not tell.
    Err (*may_save)(const Edit *edit, Error *error);

    // touch writes what follows from the definition, in the same transaction, and may warn.
    Err (*touch)(Edit *edit, Error *error);

    // warn tells what a reader of a stored one should know; none.
    Str (*warn)(Call *call, Str id);

    // told are members that tell puts instead of the body's: what came of them is shown, not what
    // was asked for. It ends with NULL.
    const char *const *told;

    // look reads what is shown beside stored ones, once for all of a page; tell puts it for one.
    Err (*look)(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                Error *error);
    void (*tell)(Call *call, const void *known, Str id);

    // show puts what follows from a body itself.
    void (*show)(const Call *call, JsonOut *out, const Json *body);

    // off_reason is the member that says why one is off: it goes when one is on.
    const char *off_reason;

    // has_placeholders: its warnings are objects that name one.
    bool has_placeholders;

    // fits says whether a list shows one, by the route's parameters.
    bool (*fits)(const Call *call, const Json *body);

    // may_delete fails where one must stay; hide writes what follows from a deletion.
    Err (*may_delete)(const Call *call, Tx *tx, Str id, Error *error);
    Err (*hide)(Tx *tx, int64_t tenant, Str id, Error *error);

    // look_at reads what a definition shows beside its body where it is shown alone; put shows it.
    Err (*look_at)(Call *call, Db *db, Str id, const void **ret, Error *error);
    void (*put)(const Call *call, JsonOut *out, const void *looked);
} Noun;

// touch_template and template_fits are templates_api.c's.
Err touch_template(Edit *edit, Error *error);
bool template_fits(const Call *call, const Json *body);

// The others are sources_api.c's.
Err find_source_config(Arena *arena, const Json *body, const Shape **ret, Error *error);
bool has_source_moved(const Json *body, const Json *old);
Err complete_source(Edit *edit, Error *error);
Err may_save_source(const Edit *edit, Error *error);
Err touch_source(Edit *edit, Error *error);
void show_source(const Call *call, JsonOut *out, const Json *body);
Err may_delete_source(const Call *call, Tx *tx, Str id, Error *error);
Err hide_source(Tx *tx, int64_t tenant, Str id, Error *error);

// lists_api.c's. list_save is a list's part in a save. list_take takes a list's members out of a
// body that is applied with others; list_compare says how those that are stored would change.
typedef struct ListSave ListSave;
typedef struct ListDifference {
    size_t added, removed, changed;
} ListDifference;
Err list_save(Edit *edit, Error *error);
Err list_take(Arena *arena, const Json **body, ListSave **ret, Error *error) MUST_USE;
Err list_compare(const Edit *edit, ListDifference *ret, Error *error) MUST_USE;

// integrations_api.c's.
extern const char *const integration_told[];
Err integration_find_shape(Arena *arena, const Json *body, const Shape **ret, Error *error);
bool has_integration_moved(const Json *body, const Json *old);
Err may_save_integration(const Edit *edit, Error *error);
Err touch_integration(Edit *edit, Error *error);
Err integration_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                     Error *error);
void integration_tell(Call *call, const void *known, Str id);
Str integration_warn(Call *call, Str id);
Err integration_look_at(Call *call, Db *db, Str id, const void **ret, Error *error);
void integration_put(const Call *call, JsonOut *out, const void *looked);

const Noun *noun_of(const DefinitionKind *kind);

// edit_of is of the definition that the call's path names. edit_find reads it as it is stored,
// under the lock: a patch changes what was read, and a secret that is left out is kept. edit_patch
// returns what a merge patch makes of it as it is shown, marks and all. edit_save checks what is
// given, seals its secrets (edit_ready) and makes it, or its next version (edit_write); where it
// is_patched, what is not in it was taken out.
Edit edit_of(Call *call, Tx *tx);
Err edit_find(Edit *edit, Error *error) MUST_USE;
Err edit_patch(Edit *edit, const Json *changes, const Json **ret, Error *error) MUST_USE;
Err edit_save(Edit *edit, const Json *given, bool is_new, bool is_patched, Definition *ret,
              Error *error) MUST_USE;
Err edit_ready(Edit *edit, const Json *given, bool is_patched, Error *error) MUST_USE;
Err edit_write(Edit *edit, bool is_new, Definition *ret, Error *error) MUST_USE;

// edit_keep_switch returns what is given with "enabled" (or "active") as it is stored, where it
// does not say so itself.
Err edit_keep_switch(const Edit *edit, const Json *given, const Json **ret, Error *error) MUST_USE;

// definition_change does all of that for a merge patch, and answers with the row.
Err definition_change(Call *call, Tx *tx, const Json *changes, Error *error) MUST_USE;
