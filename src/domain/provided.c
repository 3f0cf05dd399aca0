#include "domain/provided.h"

const char *const provider_ids[] = {
#define PROVIDER_ID(name, id, text) id,
    PROVIDER_TABLE(PROVIDER_ID)
#undef PROVIDER_ID
        NULL
};

static const char *const titles[] = {
#define PROVIDER_TITLE(name, id, text) text,
    PROVIDER_TABLE(PROVIDER_TITLE)
#undef PROVIDER_TITLE
};

bool provider_name_parse(Str id, ProviderName *ret)
{
    for (size_t i = 0; i < PROVIDERS; i++)
        if (str_eq(id, str_from(provider_ids[i]))) {
            *ret = (ProviderName) i;
            return true;
        }
    return false;
}

const char *provider_id_text(ProviderName name)
{
    return provider_ids[name];
}

const char *provider_title(ProviderName name)
{
    return titles[name];
}

// Of what a generic webhook brings nothing is known that a config could name: triggers filter it.
static const Shape nothing_shape = { "NoConfig" };

// By provider, in the order of their names.
static const ProvidedType types[] = {
    { PROVIDER_GENERIC, "event", "Whatever is posted to the source", &nothing_shape, NULL, 0 },
};

const ProvidedType *provided_types(ProviderName provider, size_t *ret_count)
{
    const ProvidedType *first = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].provider == provider) {
            first = first ? first : &types[i];
            ++*ret_count;
        }
    return first;
}

const ProvidedType *provided_type(ProviderName provider, Str id)
{
    size_t count;
    const ProvidedType *first = provided_types(provider, &count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(id, str_from(first[i].id)))
            return &first[i];
    return NULL;
}
