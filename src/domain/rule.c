#include "domain/rule.h"

#include "domain/trigger.h"

static const struct {
    const char *text;
    StatusFamily family;
} kinds[] = {
#define RULE_ROW(name, text, family) [RULE_##name] = { text, STATUS_##family },
    RULE_KIND_TABLE(RULE_ROW)
#undef RULE_ROW
};

const char *rule_kind_text(RuleKind kind)
{
    assert(kind < ARRAY_LEN(kinds));
    return kinds[kind].text;
}

bool rule_kind_parse(Str text, RuleKind *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_eq(text, str_from(kinds[i].text))) {
            *ret = (RuleKind) i;
            return true;
        }
    }
    return false;
}

StatusFamily rule_family(RuleKind kind)
{
    assert(kind < ARRAY_LEN(kinds));
    return kinds[kind].family;
}

Rule rule_default(RuleKind kind, Str id)
{
    return (Rule){ .kind = kind, .id = id, .plan = plan_default(), .retry = retry_default() };
}

typedef Err RuleParse(Arena *arena, Str body, Trigger *ret, Error *error);

static RuleParse *const parsers[] = {
    [RULE_TRIGGER] = trigger_parse,
};

Err rule_parse(RuleKind kind, Arena *arena, Str body, Trigger *ret, Error *error)
{
    RuleParse *parse = kind < ARRAY_LEN(parsers) ? parsers[kind] : NULL;
    if (!parse)
        return fail(error, ERR_INVALID, "a rule of kind %s has no definition",
                    rule_kind_text(kind));
    return parse(arena, body, ret, error);
}
