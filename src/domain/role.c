#include "domain/role.h"

static const char *const role_texts[] = {
#define ROLE_TEXT(name, text, purpose) text,
    ROLE_TABLE(ROLE_TEXT)
#undef ROLE_TEXT
};
static const char *const role_purposes[] = {
#define ROLE_PURPOSE(name, text, purpose) purpose,
    ROLE_TABLE(ROLE_PURPOSE)
#undef ROLE_PURPOSE
};

const char *role_text(Role role)
{
    assert(role < ARRAY_LEN(role_texts));
    return role_texts[role];
}

const char *role_purpose(Role role)
{
    assert(role < ARRAY_LEN(role_purposes));
    return role_purposes[role];
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
