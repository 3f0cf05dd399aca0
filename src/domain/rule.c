#include "domain/rule.h"

#include "domain/automation.h"
#include "domain/list.h"
#include "domain/run.h"
#include "domain/survey.h"
#include "domain/template.h"

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

void rule_put(JsonOut *out, RuleKind kind, Str id, int64_t version)
{
    json_key(out, S("rule"));
    json_open(out, '{');
    json_put_str(out, S("kind"), str_from(rule_kind_text(kind)));
    json_put_str(out, S("id"), id);
    json_put_i64(out, S("version"), version);
    json_close(out, '}');
}

// retry_of is what a kind of rule does unless it or its channel says otherwise.
static RetryPolicy retry_of(RuleKind kind)
{
    RetryPolicy usual = retry_default();
    if (run_of_rule(kind))
        usual.max = JOB_RETRIES;
    if (kind != RULE_NOTIFY)
        return usual;
    usual.kind = RETRY_FIXED;
    usual.interval = SPAN_MINUTE;
    usual.max = 10;
    return usual;
}

Rule rule_default(RuleKind kind, Str id)
{
    return (Rule){ .kind = kind, .id = id, .plan = plan_default(), .retry = retry_of(kind) };
}

typedef Err RuleParse(Arena *arena, Str body, Trigger *ret, Error *error);

static RuleParse *const parsers[] = {
    [RULE_TRIGGER] = trigger_parse,
    [RULE_TEMPLATE] = template_parse,
    [RULE_JOB] = job_parse,
    [RULE_NOTIFY] = list_parse,
    [RULE_AUTOMATION] = automation_parse,
    [RULE_SUBSCRIBER] = subscriber_parse,
};

Err rule_parse(RuleKind kind, Arena *arena, Str body, Trigger *ret, Error *error)
{
    RuleParse *parse = kind < ARRAY_LEN(parsers) ? parsers[kind] : NULL;
    if (!parse)
        return fail(error, ERR_INVALID, "a rule of kind %s has no definition",
                    rule_kind_text(kind));
    return parse(arena, body, ret, error);
}
