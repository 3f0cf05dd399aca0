#include "domain/definition.h"

const Field definition_warning = { NULL, FIELD_TEXT };
