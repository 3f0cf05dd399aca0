#include "domain/role.h"

static const char *const role_texts[] = {
#define ROLE_TEXT(name, text) text,
    ROLE_TABLE(ROLE_TEXT)
#undef ROLE_TEXT
};

const char *role_text(Role role)
{
    assert(role < ARRAY_LEN(role_texts));
    return role_texts[role];
}

bool role_parse(Str text, Role *ret)
{
    for (size_t i = 1; i < ARRAY_LEN(role_texts); i++) {
        if (str_eq(text, str_from(role_texts[i]))) {
            *ret = (Role) i;
            return true;
        }
    }
    return false;
}
