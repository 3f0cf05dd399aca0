// providers.h - the structs of all providers, for the one table that lists them (provider.c).
#pragma once

#include "providers/provider.h"

extern const Provider provider_composio;
extern const Provider provider_generic;
extern const Provider provider_github;
extern const Provider provider_gmail;
extern const Provider provider_jira;
extern const Provider provider_linear;
extern const Provider provider_nango;
extern const Provider provider_posthog;
extern const Provider provider_sentry;
extern const Provider provider_slack;
extern const Provider provider_standard_webhooks;
extern const Provider provider_stripe;
