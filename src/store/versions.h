// versions.h - the versions of rules that deliveries go on under, compiled once and kept.
//
// A delivery is sent under the version it was made under, however old. Validators grow stricter and
// rows get lost, so a version may be unreadable: that is an answer (NULL), not an error, for one
// bad version must not stop the deliveries of all the others. Only the store's own failures are
// errors. Version 0 is a rule that was never defined (domain/rule.h): it has the defaults of its
// kind.
//
// Any thread may ask. What versions_load() returns is held, and stays as it is until
// versions_drop(). What nobody holds may leave: the cache has a ceiling.
#pragma once

#include "domain/trigger.h"
#include "store/db.h"

enum { VERSIONS_MAX = 4096 }; // kept while nobody holds them

typedef struct Versions Versions;

Versions *versions_new(void);
void versions_free(Versions *versions);

// versions_load holds the version for the caller; *ret is NULL where it is missing or no longer
// compiles, which is logged.
Err versions_load(Versions *versions, Db *db, int64_t tenant, int64_t rule, int64_t version,
                  const Trigger **ret, Error *error) MUST_USE;
void versions_drop(const Trigger *trigger); // NULL is fine

// versions_load_all holds many, reading those that are not kept by one statement; ret[i] is of
// keys[i], as above. Where it fails none is held.
typedef struct VersionKey {
    int64_t rule, version;
} VersionKey;
Err versions_load_all(Versions *versions, Db *db, int64_t tenant, const VersionKey *keys,
                      size_t count, const Trigger **ret, Error *error) MUST_USE;

extern const Statement *const versions_statements[]; // ends with NULL
