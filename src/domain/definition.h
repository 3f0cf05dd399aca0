// definition.h - the kinds of definitions, a row each.
//
// A definition is a JSON object that somebody wrote: a trigger, a channel. Every kind has the same
// verbs (list, show, create, replace, patch, delete), the same versions and the same answers; its
// row says what differs. To add a kind, write its Shape and the check that compiles it, and add its
// row: routes (api/routes.c), handlers (api/definitions_api.c), the OpenAPI document and apply
// follow. What a kind does beside being stored is its Noun (api/noun.h). A kind that makes
// deliveries is a row of domain/rule.h too.
#pragma once

#include "domain/field.h"
#include "domain/origin.h"

// The order is that of apply: what others name stands before them. PARTS says that one is written
// in several transactions (api/lists_api.c), WHOLE that its body may be large all the same.
// clang-format off
#define DEFINITION_TABLE(X)                                                                                             \
    /* name     kind       plural      id     example                                                                */ \
    X(channel, "channel", "channels", "key", "{\"key\":\"http:bi\",\"type\":\"http\",\"config\":{\"url\":\"https://…\"}}") \
    X(list,    "list",    "lists",    "id",  "{\"id\":\"ops\",\"channels\":[\"memory:default\"],\"targets\":[{\"address\":\"…\"}]}", PARTS) \
    X(template, "template", "templates", "id", "{\"id\":\"…\",\"eventType\":\"…\",\"channel\":\"memory:default\",\"body\":\"Hello {{name}}\"}") \
    X(integration, "integration", "integrations", "id", "{\"id\":\"acme-linear\",\"provider\":\"linear\",\"token\":{\"source\":\"static\",\"value\":\"…\"}}") \
    X(automation, "automation", "automations", "id", "{\"id\":\"triage\",\"name\":\"Triage\",\"handler\":\"http:triage\"}") \
    X(survey, "survey", "surveys", "id", "{\"id\":\"csi\",\"questions\":[{\"id\":\"rate\",\"type\":\"rating\",\"text\":{\"en\":\"How was it?\"}}]}", WHOLE) \
    X(trigger, "trigger", "triggers", "id",  "{\"id\":\"…\",\"eventKind\":\"…\",\"channel\":\"memory:default\"}") \
    X(source,  "source",  "sources",  "id",  "{\"id\":\"gh-acme\",\"provider\":\"github\"}")
// clang-format on

// Jobs are looked at and written by operators.
// clang-format off
#define DEFINITION_OPERATOR_TABLE(X)                                                                                    \
    X(job, "job", "jobs", "name", "{\"name\":\"CurrencyRateSync\",\"cron\":\"15 12 * * *\",\"zone\":\"Europe/Warsaw\",\"handler\":\"http:rates\"}")
// clang-format on

typedef struct DefinitionKind {
    const char *kind;      // as it is stored and spoken of: trigger
    const char *plural;    // in paths and commands: triggers
    const char *id_member; // that names one
    const Shape *shape;

    // check says whether a body compiles; the problems go into error.
    Err (*check)(Arena *arena, const Json *body, Error *error);
} DefinitionKind;

#define DEFINITION_EXTERN(name, ...) extern const DefinitionKind definition_##name;
DEFINITION_TABLE(DEFINITION_EXTERN)
DEFINITION_OPERATOR_TABLE(DEFINITION_EXTERN)
#undef DEFINITION_EXTERN

extern const DefinitionKind *const definition_kinds[]; // ends with NULL

// definition_rank finds a kind among them by its name; false: there is none such.
bool definition_rank(Str kind, size_t *ret) MUST_USE;

// DEFINITION_SHOWN are the rows that every definition's answer has beside what was given.
// DEFINITION_COUNTED are those without the warnings, for a kind that tells more of these.
#define DEFINITION_COUNTED                                                                         \
    { "version", FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED, .help = "counts from 1" },               \
        { "createdAt", FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },                                   \
        { "updatedAt", FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },                                   \
    {                                                                                              \
        "origin", FIELD_OBJECT, FIELD_SHOWN, .inside = &origin_shape,                              \
                                             .help = "the files that it was applied from"          \
    }
#define DEFINITION_SHOWN                                                                           \
    DEFINITION_COUNTED,                                                                            \
    {                                                                                              \
        "warnings", FIELD_LIST, FIELD_SHOWN, .of = &definition_warning                             \
    }
extern const Field definition_warning;
