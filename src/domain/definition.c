#include "domain/definition.h"

#include "domain/automation.h"
#include "domain/channel.h"
#include "domain/integration.h"
#include "domain/job.h"
#include "domain/list.h"
#include "domain/source.h"
#include "domain/survey.h"
#include "domain/template.h"

const Field definition_warning = { NULL, FIELD_TEXT };

static Err check_channel(Arena *arena, const Json *body, Error *error)
{
    (void) arena;
    ChannelDefinition channel;
    return channel_compile(body, &channel, error);
}

static Err check_template(Arena *arena, const Json *body, Error *error)
{
    Trigger trigger;
    return template_compile(arena, body, &trigger, error);
}

static Err check_trigger(Arena *arena, const Json *body, Error *error)
{
    Trigger trigger;
    return trigger_compile(arena, body, &trigger, error);
}

static Err check_source(Arena *arena, const Json *body, Error *error)
{
    SourceDefinition source;
    return source_compile(arena, body, &source, error);
}

static Err check_integration(Arena *arena, const Json *body, Error *error)
{
    IntegrationDefinition integration;
    return integration_compile(arena, body, &integration, error);
}

static Err check_automation(Arena *arena, const Json *body, Error *error)
{
    Trigger automation;
    return automation_compile(arena, body, &automation, error);
}

static Err check_survey(Arena *arena, const Json *body, Error *error)
{
    Survey survey;
    return survey_compile(arena, body, &survey, error);
}

static Err check_job(Arena *arena, const Json *body, Error *error)
{
    Trigger job;
    return job_compile(arena, body, &job, error);
}

static Err check_list(Arena *arena, const Json *body, Error *error)
{
    Trigger list;
    return list_compile(arena, body, &list, error);
}

#define DEFINITION_ROW(name, kind_, plural_, id, ...)                                              \
    const DefinitionKind definition_##name = {                                                     \
        .kind = (kind_),                                                                           \
        .plural = (plural_),                                                                       \
        .id_member = (id),                                                                         \
        .shape = &name##_shape,                                                                    \
        .check = check_##name,                                                                     \
    };
DEFINITION_TABLE(DEFINITION_ROW)
DEFINITION_OPERATOR_TABLE(DEFINITION_ROW)
#undef DEFINITION_ROW

const DefinitionKind *const definition_kinds[] = {
#define DEFINITION_ENTRY(name, ...) &definition_##name,
    DEFINITION_TABLE(DEFINITION_ENTRY) DEFINITION_OPERATOR_TABLE(DEFINITION_ENTRY)
#undef DEFINITION_ENTRY
        NULL,
};

bool definition_rank(Str kind, size_t *ret)
{
    for (size_t i = 0; definition_kinds[i]; i++)
        if (str_eq(kind, str_from(definition_kinds[i]->kind))) {
            *ret = i;
            return true;
        }
    return false;
}
