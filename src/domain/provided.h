// provided.h - what of a provider's events a trigger may ask for: a row per provider and per type.
//
// A provider (providers/provider.h) is a service whose webhooks come in, or that is polled. What it
// brings is normalized to one form (ProviderEvent), whose context holds what there is to filter by.
// A type of trigger says which members its config may have and, beside each, what the event must
// then show; so that one table checks a config, prints its JSON Schema (GET /v1/providers) and
// compiles it to a filter (domain/filter.h), by which explain says which condition failed.
//
// It lies here, and not with the providers, because triggers are compiled here. To add a type, add
// its fields and its asks, and a row to provided.c.
#pragma once

#include "domain/field.h"
#include "domain/filter.h"

// Stored as their ids. TABLE is no service: its rows are an application's own (intake/table.h).
// clang-format off
#define PROVIDER_TABLE(X)                                 \
    /* name               id                   shown as        */ \
    X(GITHUB,            "github",            "GitHub")            \
    X(LINEAR,            "linear",            "Linear")            \
    X(SENTRY,            "sentry",            "Sentry")            \
    X(POSTHOG,           "posthog",           "PostHog")           \
    X(GMAIL,             "gmail",             "Gmail")             \
    X(NANGO,             "nango",             "Nango")             \
    X(COMPOSIO,          "composio",          "Composio")          \
    X(SLACK,             "slack",             "Slack")             \
    X(STRIPE,            "stripe",            "Stripe")            \
    X(JIRA,              "jira",              "Jira")              \
    X(STANDARD_WEBHOOKS, "standard-webhooks", "Standard Webhooks") \
    X(GENERIC,           "generic",           "Generic webhook")   \
    X(TABLE,             "table",             "Table")
// clang-format on

typedef enum ProviderName {
#define PROVIDER_ENUM(name, id, text) PROVIDER_##name,
    PROVIDER_TABLE(PROVIDER_ENUM)
#undef PROVIDER_ENUM
        PROVIDERS
} ProviderName;

extern const char *const provider_ids[]; // by ProviderName; ends with NULL
bool provider_name_parse(Str id, ProviderName *ret);
const char *provider_id_text(ProviderName name);
const char *provider_title(ProviderName name); // as it is shown

// Asked says how a member of a config is compared with what the event shows.
typedef enum Asked {
    ASKED_ONE_OF,     // a list: the value at a path is one of it
    ASKED_SHARES,     // a list: the array at a path has one of its elements
    ASKED_AT_LEAST,   // a word: the value is that word of words, or one behind it
    ASKED_PROPERTIES, // a map: each member's value stands under its name below the path
} Asked;

// ProvidedAsk is one member of a config: it holds where it does at any of its paths, such as the
// id, the key or the name of a team. A member that is not given, or an empty list, asks nothing.
enum { PROVIDED_PATHS_MAX = 3 };
typedef struct ProvidedAsk {
    const char *member;
    Asked asked;
    const char *paths[PROVIDED_PATHS_MAX]; // below candidate.context: team.id
    const char *const *words;              // of ASKED_AT_LEAST, lowest first; ends with NULL
} ProvidedAsk;

typedef struct ProvidedType {
    ProviderName provider;
    const char *id; // issues: events have the kind <provider>.<id>
    const char *description;
    const Shape *config; // checks it, and prints its schema
    const ProvidedAsk *asks;
    size_t ask_count;
} ProvidedType;

// provided_type finds one; NULL: the provider has no such type. provided_types lists those of a
// provider.
const ProvidedType *provided_type(ProviderName provider, Str id);
const ProvidedType *provided_types(ProviderName provider, size_t *ret_count);

// provided_check notes what is wrong with a config that lies at pointer; false where it is no
// object. provided_parts makes the filters that a good one asks for, up to PROVIDED_PARTS_MAX: each
// told by the member's place, /config/<member>.
enum {
    PROVIDED_LIST_MAX = 100, // values of a member
    PROVIDED_TEXT_MAX = 200, // bytes of each
    PROVIDED_PROPERTIES_MAX = 20,
    PROVIDED_ASKS_MAX = 8,
};
enum { PROVIDED_PARTS_MAX = PROVIDED_ASKS_MAX + PROVIDED_PROPERTIES_MAX };
bool provided_check(Arena *arena, const ProvidedType *type, const Json *config, Str pointer,
                    Error *error);
size_t provided_parts(Arena *arena, const ProvidedType *type, const Json *config,
                      FilterPart ret[PROVIDED_PARTS_MAX]);
