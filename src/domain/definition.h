// definition.h - what all definitions have in common.
#pragma once

#include "domain/field.h"

// DEFINITION_SHOWN are the rows that every definition's answer has beside what was given.
#define DEFINITION_SHOWN                                                                           \
    { "version", FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED, .help = "counts from 1" },               \
        { "createdAt", FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },                                   \
        { "updatedAt", FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },                                   \
    {                                                                                              \
        "warnings", FIELD_LIST, FIELD_SHOWN, .of = &definition_warning                             \
    }
extern const Field definition_warning;
