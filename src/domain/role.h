// role.h - what a key may do. A route names the role it asks for (api/routes.c); admin may do all.
#pragma once

#include "base/str.h"

// clang-format off
#define ROLE_TABLE(X)                 \
    /* name          text          */ \
    X(NONE,          "none")          \
    X(READ,          "read")          \
    X(INGEST,        "ingest")        \
    X(WORKER,        "worker")        \
    X(AUTHOR,        "author")        \
    X(OPERATOR,      "operator")      \
    X(AUDIT_EXPORT,  "audit-export")  \
    X(ADMIN,         "admin")
// clang-format on

typedef enum Role {
#define ROLE_ENUM(name, text) ROLE_##name,
    ROLE_TABLE(ROLE_ENUM)
#undef ROLE_ENUM
} Role;

const char *role_text(Role role);
bool role_parse(Str text, Role *ret); // "none" is not a role to give
