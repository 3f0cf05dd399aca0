// providers.h - the structs of all providers, for the one table that lists them (provider.c).
#pragma once

#include "providers/provider.h"

extern const Provider provider_generic;
extern const Provider provider_github;
