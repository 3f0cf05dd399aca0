#include "domain/rule.h"

static const char *const kinds[] = {
#define RULE_ROW(name, text) [RULE_##name] = text,
    RULE_KIND_TABLE(RULE_ROW)
#undef RULE_ROW
};

const char *rule_kind_text(RuleKind kind)
{
    assert(kind < ARRAY_LEN(kinds));
    return kinds[kind];
}

bool rule_kind_parse(Str text, RuleKind *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_eq(text, str_from(kinds[i]))) {
            *ret = (RuleKind) i;
            return true;
        }
    }
    return false;
}
