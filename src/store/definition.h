// definition.h - definitions as rows: a head that says which version counts, and what each version
// said; and the lanes that channel keys stand for.
//
// A version is never changed, but that its secrets are erased when another takes its place (see
// secret.h), and never used twice: a definition that is deleted is hidden, and one
// that is made again under the same id goes on counting. Whatever changes a row here first takes
// the lock on the generation (definition_lock), so that two nodes change definitions one after the
// other, and marks the transaction, so that the generation is raised with it.
//
// Bodies are compact JSON and are not looked into but for secrets that are to go. What is returned
// lies in the arena that was given, or in the transaction's.
#pragma once

#include "store/tx.h"
#include "store/walk.h"

#define DEFINITION_TRIGGER S("trigger")
#define DEFINITION_CHANNEL S("channel")
#define DEFINITION_LIST S("list")
#define DEFINITION_JOB S("job")

enum { DEFINITION_ANY_VERSION = -1 };

typedef struct Definition {
    Str id;
    int64_t version;
    Str body;
    Instant created_at, updated_at;
    Str origin; // where it was applied from, as JSON (domain/origin.h); none
} Definition;

// definition_lock also finds out whether the registry is behind: ERR_BUSY, and the batch is
// replayed on a newer one.
Err definition_lock(Tx *tx, Error *error) MUST_USE;

// definition_generation is the generation from which on what this transaction changes is seen:
// each row that it writes carries it, so that a cache can ask for what is new. Needs the lock.
int64_t definition_generation(const Tx *tx);

// definition_get returns the current version; ERR_NOT_FOUND for a hidden one.
Err definition_get(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, Definition *ret,
                   Error *error) MUST_USE;

// definition_page lists by id.
Err definition_page(Db *db, Arena *arena, int64_t tenant, Str kind, const Walk *walk,
                    Definition **ret, Seen *ret_seen, Error *error) MUST_USE;

// definition_body returns what one version said, hidden or not.
Err definition_body(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, int64_t version,
                    Str *ret, Error *error) MUST_USE;

// DefinitionVersion is one version: nothing of it is ever purged, but for its secrets.
typedef struct DefinitionVersion {
    int64_t version;
    Instant at;
    Uuid actor; // the key of who saved it; zero: Peal itself
    Str origin; // where it was applied from; none
    Str body;   // of one that was asked for alone; none
} DefinitionVersion;

// definition_version_page lists them, the newest first, those of a hidden one too.
// definition_version_get reads one: ERR_NOT_FOUND.
Err definition_version_page(Db *db, Arena *arena, int64_t tenant, Str kind, Str id,
                            const Walk *walk, DefinitionVersion **ret, Seen *ret_seen,
                            Error *error) MUST_USE;
Err definition_version_get(Db *db, Arena *arena, int64_t tenant, Str kind, Str id, int64_t version,
                           DefinitionVersion *ret, Error *error) MUST_USE;

// definition_create also gives a rule (domain/rule.h) its number. It fails with ERR_EXISTS where
// the id is taken.
Err definition_create(Tx *tx, int64_t tenant, Str kind, Str id, Str body, Definition *ret,
                      Error *error) MUST_USE;

// definition_replace and definition_hide fail with ERR_STALE unless expected is the version or
// DEFINITION_ANY_VERSION. A body that says the same, byte for byte, makes no new version.
Err definition_replace(Tx *tx, int64_t tenant, Str kind, Str id, int64_t expected, Str body,
                       Definition *ret, Error *error) MUST_USE;
Err definition_hide(Tx *tx, int64_t tenant, Str kind, Str id, int64_t expected,
                    Error *error) MUST_USE;

// definition_mark says where a definition was applied from, and its newest version with it. That
// makes no version of it: whoever changes it otherwise leaves what was said. One that is made anew
// was applied from nowhere.
void definition_mark(Tx *tx, int64_t tenant, Str kind, Str id, Str origin);

// definition_heads reads those that are not hidden behind an id, without their bodies.
Err definition_heads(Tx *tx, int64_t tenant, Str kind, Str after, size_t limit, Definition **ret,
                     size_t *ret_count, Error *error) MUST_USE;

// definition_disable writes a version that says enabled: false and is otherwise the same. Nothing
// happens where it is hidden or disabled already.
Err definition_disable(Tx *tx, int64_t tenant, Str kind, Str id, Error *error) MUST_USE;

// definition_forget erases secrets whose overlap is over, of at most limit definitions.
Err definition_forget(Tx *tx, int limit, int64_t *ret_gone, Error *error) MUST_USE;

extern const Statement *const definition_statements[]; // ends with NULL
