// tenant.h - tenants as rows. A number stands for the tenant inside, an id outside; neither is ever
// used again: one that is deleted stays as a hidden row, and so does its history.
//
// Every tenant is born with the channel memory:default and its lane.
#pragma once

#include "store/tx.h"
#include "store/walk.h"

enum { TENANT_FIRST = 1, TENANT_ID_MAX = 100, TENANT_NAME_MAX = 200 };

#define CHANNEL_ALWAYS S("memory:default")

typedef struct Tenant {
    int64_t tenant;
    Str id, name;
    Instant created_at;
} Tenant;

// tenant_add fails with ERR_EXISTS where the id is, or was, taken.
Err tenant_add(Tx *tx, Str id, Str name, Tenant *ret, Error *error) MUST_USE;

// tenant_find fails with ERR_NOT_FOUND.
Err tenant_find(Db *db, Arena *arena, Str id, Tenant *ret, Error *error) MUST_USE;

// tenant_page lists by id.
Err tenant_page(Db *db, Arena *arena, const Walk *walk, Tenant **ret, Seen *ret_seen,
                Error *error) MUST_USE;

// tenant_rename and tenant_remove are for a tenant that was found under definition_lock().
// tenant_remove fails with ERR_CONFLICT, and says what is left, while it has definitions of its
// own, keys or live deliveries; the first one stays in any case.
Err tenant_rename(Tx *tx, Tenant *tenant, Str name, Error *error) MUST_USE;
Err tenant_remove(Tx *tx, const Tenant *tenant, Error *error) MUST_USE;

// tenant_equip gives a tenant what it lacks of what every tenant has.
Err tenant_equip(Tx *tx, int64_t tenant, Error *error) MUST_USE;

extern const Statement *const tenant_statements[]; // ends with NULL
