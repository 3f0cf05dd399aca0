// role.h - what a key may do. A route names the role it asks for (api/routes.c); admin may do all.
#pragma once

#include "base/str.h"

// clang-format off
#define ROLE_TABLE(X)                                                                              \
    /* name          text             what it is for                                             */ \
    X(NONE,          "none",          "")                                                           \
    X(READ,          "read",          "looks at everything; sees addresses masked")                 \
    X(INGEST,        "ingest",        "posts events")                                               \
    X(WORKER,        "worker",        "fetches work and reports what became of it")                 \
    X(AUTHOR,        "author",        "looks, and writes definitions")                              \
    X(OPERATOR,      "operator",      "looks, and acts on deliveries")                              \
    X(SITE,          "site",          "hands on what a site took in, and looks at what became of it; sees addresses masked") \
    X(AUDIT_EXPORT,  "audit-export",  "exports the audit chain")                                    \
    X(OPERATIONS,    "operations",    "looks at any tenant that it names; granted with the system right, audited, sees addresses masked") \
    X(ADMIN,         "admin",         "may do all that is its tenant's")
// clang-format on

typedef enum Role {
#define ROLE_ENUM(name, text, purpose) ROLE_##name,
    ROLE_TABLE(ROLE_ENUM)
#undef ROLE_ENUM
} Role;

const char *role_text(Role role);
const char *role_purpose(Role role);
bool role_parse(Str text, Role *ret); // "none" is not a role to give
