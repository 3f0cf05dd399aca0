#include "providers/envelope.h"

#include "providers/read.h"

// Brokers have several names for one service, by the way that one logs in there.
static const struct {
    const char *name;
    ProviderName provider;
} names[] = {
    { "github", PROVIDER_GITHUB },
    { "github-app", PROVIDER_GITHUB },
    { "github-app-oauth", PROVIDER_GITHUB },
    { "github-pat", PROVIDER_GITHUB },
    { "linear", PROVIDER_LINEAR },
    { "sentry", PROVIDER_SENTRY },
    { "sentry-oauth", PROVIDER_SENTRY },
    { "posthog", PROVIDER_POSTHOG },
    { "gmail", PROVIDER_GMAIL },
    { "google-mail", PROVIDER_GMAIL },
    { "slack", PROVIDER_SLACK },
    { "slackbot", PROVIDER_SLACK },
    { "stripe", PROVIDER_STRIPE },
    { "stripe-app", PROVIDER_STRIPE },
    { "stripe-express", PROVIDER_STRIPE },
    { "jira", PROVIDER_JIRA },
    { "jira-basic", PROVIDER_JIRA },
    { "jira-data-center", PROVIDER_JIRA },
};

bool envelope_provider(Str name, ProviderName *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq_nocase(name, str_from(names[i].name)) && provider_of(names[i].provider)) {
            *ret = names[i].provider;
            return true;
        }
    return false;
}

static void set_place(ProviderRead *read, Str connection_id)
{
    ProviderPlace place = { .connection_id = connection_id };
    read->place = place;
    for (size_t i = 0; i < read->count; i++)
        read->events[i].place = place;
    for (size_t i = 0; i < read->change_count; i++)
        read->changes[i].place = place;
}

Err envelope_open(Arena *arena, const Hook *hook, ProviderName provider, const Json *body,
                  Str connection_id, ProviderRead *ret, Error *error)
{
    const Provider *inner = provider_of(provider);
    Hook opened = *hook;
    // A text is a body that is no JSON, such as a form.
    opened.body = json_type(body) == JSON_STRING ? json_str(body) : json_text(arena, body);
    TRY(inner->parse(arena, &opened, ret, error));
    set_place(ret, connection_id);
    if (!ret->external_id.at && inner->identify)
        ret->external_id = inner->identify(arena, &opened);
    return ERR_OK;
}
