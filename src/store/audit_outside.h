// audit_outside.h - the heads of the audit chains as they stand outside the database: a file beside
// the epoch's (epoch.h), a line for each tenant.
//
// Whoever cuts a chain inside the database, or writes it anew from somewhere on, cannot change what
// the file says; verifying compares the two (audit.h). The file is renewed with the epoch, but only
// by a chain that still goes through the head that it has: neither a chain that is behind nor one
// that grew again since takes its place. Where the database was put back to an older state on
// purpose, a person removes the file (docs/audit.md).
#pragma once

#include "store/audit.h"
#include "store/epoch.h"

// AuditKeep is what is to stand outside; without a path nothing is new.
typedef struct AuditKeep {
    Str path, text;
} AuditKeep;

// audit_outside_read makes what is to stand outside of what does and of the chains' heads;
// audit_outside_keep writes it.
Err audit_outside_read(Db *db, Arena *arena, const EpochGuard *guard, AuditKeep *ret,
                       Error *error) MUST_USE;
void audit_outside_keep(const AuditKeep *keep);

// audit_outside is the head of a tenant's chain as it stands outside; zero where none does.
Err audit_outside(Db *db, Arena *arena, const EpochGuard *guard, int64_t tenant, AuditHead *ret,
                  Error *error) MUST_USE;

extern const Statement *const audit_outside_statements[]; // ends with NULL
