#include "api/handlers.h"

#include "base/time.h"
#include "providers/provider.h"

// What there is to listen to, and the schemas of what is asked of it: printed from the rows by
// which a save is checked.

// clang-format off
static const char *const way_words[] = { "webhook", "polling", NULL };
static const Field way_row = { NULL, FIELD_WORD, .words = way_words };

static const Field type_rows[] = {
    { "id",           FIELD_TEXT,   FIELD_ALWAYS },
    { "description",  FIELD_TEXT,   FIELD_ALWAYS },
    { "configSchema", FIELD_OBJECT, FIELD_ALWAYS, .help = "JSON Schema of a trigger's config" },
};
static const Shape type_shape = { "TriggerType", SHAPE_ROWS(type_rows) };
static const Field type_row = { NULL, FIELD_OBJECT, .inside = &type_shape };

static const Field provider_rows[] = {
    { "id",           FIELD_WORD,   FIELD_ALWAYS, .words = provider_ids },
    { "name",         FIELD_TEXT,   FIELD_ALWAYS },
    { "ways",         FIELD_LIST,   FIELD_ALWAYS, .of = &way_row },
    { "interval",     FIELD_TEXT,   FIELD_ALWAYS | FIELD_NULLABLE, .help = "How often it is polled unless a trigger says" },
    { "configSchema", FIELD_OBJECT, FIELD_ALWAYS | FIELD_NULLABLE, .help = "JSON Schema of a source's config" },
    { "triggerTypes", FIELD_LIST,   FIELD_ALWAYS, .of = &type_row },
};
static const Shape provider_shape = { "Provider", SHAPE_ROWS(provider_rows) };
static const Field provider_row = { NULL, FIELD_OBJECT, .inside = &provider_shape };

static const Field rows[] = {
    { "items", FIELD_LIST, FIELD_ALWAYS, .of = &provider_row },
};
const Shape providers_shape = { "Providers", SHAPE_ROWS(rows) };
// clang-format on

static void put_schema(JsonOut *json, const Shape *shape)
{
    json_key(json, S("configSchema"));
    if (shape)
        fields_schema(json, shape, FIELDS_TAKEN);
    else
        json_add_null(json);
}

static void put_ways(JsonOut *json, unsigned ways)
{
    json_key(json, S("ways"));
    json_open(json, '[');
    if (ways & PROVIDER_WEBHOOK)
        json_add_str(json, S("webhook"));
    if (ways & PROVIDER_POLLING)
        json_add_str(json, S("polling"));
    json_close(json, ']');
}

static void put_types(JsonOut *json, ProviderName provider)
{
    size_t count;
    const ProvidedType *types = provided_types(provider, &count);
    json_key(json, S("triggerTypes"));
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, '{');
        json_put_str(json, S("id"), str_from(types[i].id));
        json_put_str(json, S("description"), str_from(types[i].description));
        put_schema(json, types[i].config);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_provider(JsonOut *json, Arena *arena, const Provider *provider)
{
    json_open(json, '{');
    json_put_str(json, S("id"), str_from(provider_id_text(provider->name)));
    json_put_str(json, S("name"), str_from(provider_title(provider->name)));
    put_ways(json, provider->ways);
    json_put_str(json, S("interval"),
                 provider->poll_every ? duration_text(arena, provider->poll_every) : STR_NONE);
    put_schema(json, provider->config);
    put_types(json, provider->name);
    json_close(json, '}');
}

void providers_get(Call *call)
{
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < PROVIDERS; i++) {
        const Provider *provider = provider_of((ProviderName) i);
        if (provider)
            put_provider(json, call->arena, provider);
    }
    json_close(json, ']');
    json_close(json, '}');
    call_reply(call);
}
