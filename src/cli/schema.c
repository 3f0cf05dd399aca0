// schema: what files may say, for editors; printed from the rows that the server reads by.

#include "base/json.h"
#include "channels/channel.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario.h"
#include "cli/schema.h"
#include "domain/definition.h"
#include "domain/integration.h"
#include "domain/source.h"
#include "providers/provider.h"

#define COMPONENT "#/components/schemas/"
#define SCENARIO "scenario" // which is no definition, but stands beside them

static void open_member(JsonOut *out, Str key, char bracket)
{
    json_key(out, key);
    json_open(out, bracket);
}

// put_case says what the rows of a member are where another says a word.
static void put_case(JsonOut *out, Str condition, Str member, const Shape *shape)
{
    json_open(out, '{');
    json_put_raw(out, S("if"), condition);
    open_member(out, S("then"), '{');
    open_member(out, S("properties"), '{');
    json_key(out, member);
    fields_schema(out, shape, FIELDS_FILED);
    json_close(out, '}');
    json_close(out, '}');
    json_close(out, '}');
}

static Str says(Arena *arena, const char *member, const char *word)
{
    return str_format(arena, "{\"properties\":{\"%s\":{\"const\":\"%s\"}},\"required\":[\"%s\"]}",
                      member, word, member);
}

static void put_channels(JsonOut *out, Arena *arena)
{
    for (size_t i = 0; channel_type_at(i); i++)
        if (channel_type_at(i)->config)
            put_case(out, says(arena, "type", channel_type_at(i)->type), S("config"),
                     channel_type_at(i)->config);
}

static void put_tokens(JsonOut *out, Arena *arena)
{
    static const char *const sources[] = {
#define SOURCE_TEXT(name, text) [TOKEN_##name] = text,
        TOKEN_SOURCE_TABLE(SOURCE_TEXT)
#undef SOURCE_TEXT
    };
    for (TokenSource source = 0; source < TOKEN_SOURCES; source++) {
        Str token = says(arena, "source", sources[source]);
        Str condition = str_format(
            arena, "{\"properties\":{\"token\":%.*s},\"required\":[\"token\"]}", STR_ARG(token));
        put_case(out, condition, S("token"), token_shape(source));
    }
}

static void put_sources(JsonOut *out, Arena *arena)
{
    put_case(out, says(arena, "provider", "table"), S("config"), &source_table_shape);
    for (int name = 0; name < TABLE_ROWS(PROVIDER_TABLE); name++) {
        const Provider *provider = provider_of((ProviderName) name);
        if (provider && provider->config)
            put_case(out, says(arena, "provider", provider_id_text((ProviderName) name)),
                     S("config"), provider->config);
    }
}

// What depends on a member, by kind.
static const struct {
    const DefinitionKind *kind;
    void (*put)(JsonOut *out, Arena *arena);
} cases[] = {
    { &definition_channel, put_channels },
    { &definition_integration, put_tokens },
    { &definition_source, put_sources },
};

// put_kind writes a kind's schema: its rows and the kind itself, which no other may be called.
static void put_kind(JsonOut *out, Arena *arena, const DefinitionKind *kind)
{
    const Shape *rows = kind->shape;
    const char *words[] = { kind->kind, NULL };
    Field *fields = ARENA_ARRAY(arena, Field, rows->count + 2);
    size_t count = 0;
    fields[count++] = (Field){ "kind", FIELD_WORD, FIELD_NEEDED, .words = words };
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->fields[i].name, "kind") != 0)
            fields[count++] = rows->fields[i];
    if (kind == &definition_survey)
        fields[count++] = (Field){ "published", FIELD_BOOL, .help = "publish its draft" };
    json_open(out, '{');
    open_member(out, S("allOf"), '[');
    fields_schema(out, &(Shape){ rows->name, .fields = fields, .count = count }, FIELDS_FILED);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cases[i].kind == kind)
            cases[i].put(out, arena);
    json_close(out, ']');
    json_close(out, '}');
}

// kind_at is the name of each kind of document there is, definitions first; NULL past the end.
static const char *kind_at(size_t index)
{
    size_t count = 0;
    while (definition_kinds[count])
        count++;
    if (index < count)
        return definition_kinds[index]->kind;
    return index == count ? SCENARIO : NULL;
}

// put_any writes the schema of a document of any kind.
static void put_any(JsonOut *out, Arena *arena)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("object"));
    json_put_raw(out, S("required"), S("[\"kind\"]"));
    open_member(out, S("properties"), '{');
    open_member(out, S("kind"), '{');
    open_member(out, S("enum"), '[');
    for (size_t i = 0; kind_at(i); i++)
        json_add_str(out, str_from(kind_at(i)));
    json_close(out, ']');
    json_close(out, '}');
    json_close(out, '}');
    open_member(out, S("allOf"), '[');
    for (size_t i = 0; kind_at(i); i++) {
        const char *kind = kind_at(i);
        json_open(out, '{');
        json_put_raw(out, S("if"), says(arena, "kind", kind));
        json_put_raw(out, S("then"), str_format(arena, "{\"$ref\":\"" COMPONENT "%s\"}", kind));
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
}

static void put_components(JsonOut *out, Arena *arena)
{
    open_member(out, S("components"), '{');
    open_member(out, S("schemas"), '{');
    fields_components(out);
    json_put_raw(out, S("Reference"),
                 S("{\"description\":\"stands for a text: a variable of the environment, or a "
                   "file\",\"type\":\"object\",\"properties\":{\"env\":{\"type\":\"string\"},"
                   "\"file\":{\"type\":\"string\"}},\"minProperties\":1,\"maxProperties\":1,"
                   "\"additionalProperties\":false}"));
    json_put_raw(out, S("ChannelConfigFile"), S("{\"type\":\"object\"}"));
    for (size_t i = 0; definition_kinds[i]; i++) {
        json_key(out, str_from(definition_kinds[i]->kind));
        put_kind(out, arena, definition_kinds[i]);
    }
    json_key(out, S(SCENARIO));
    fields_schema(out, &scenario_shape, FIELDS_TAKEN);
    json_key(out, S("definition"));
    put_any(out, arena);
    json_close(out, '}');
    json_close(out, '}');
}

Str schema_text(Arena *arena, const char *kind)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    Str one = str_format(arena, "{\"$ref\":\"" COMPONENT "%s\"}", kind);
    json_open(&out, '{');
    json_put_str(&out, S("$schema"), S("https://json-schema.org/draft/2020-12/schema"));
    json_put_str(&out, S("title"), S("Definitions of Peal"));
    open_member(&out, S("anyOf"), '[');
    json_add_raw(&out, one);
    json_open(&out, '{');
    json_put_str(&out, S("type"), S("array"));
    json_put_raw(&out, S("items"), one);
    json_close(&out, '}');
    json_close(&out, ']');
    put_components(&out, arena);
    json_close(&out, '}');
    return buf_str(&text);
}

static int schema(CommandArgs *args)
{
    const char *kind = args_word(args, 0), *known[32];
    size_t count = 0;
    int status = args_expect(args, "a KIND", 0, 1);
    if (status != EXIT_DONE)
        return status;
    for (; kind_at(count); count++) {
        assert(count < ARRAY_LEN(known));
        known[count] = kind_at(count);
        if (kind && strcmp(kind, known[count]) == 0) {
            output_json(schema_text(args_arena(args), kind));
            return EXIT_DONE;
        }
    }
    if (kind) {
        const char *near = command_nearest(kind, known, count);
        return args_usage(args, "There is no kind %s%s%s", kind, near ? "; did you mean " : "",
                          near ? near : "");
    }
    output_json(schema_text(args_arena(args), "definition"));
    return EXIT_DONE;
}

const Command command_schema = {
    .name = "schema",
    .usage = "schema [KIND]",
    .summary = "Print the JSON Schema of definitions as files have them",
    .details =
        "For editors. With the YAML extension of many of them, this line at the top of a file\n"
        "has it checked and completed while it is written:\n"
        "\n"
        "  # yaml-language-server: $schema=peal.schema.json\n"
        "\n"
        "  peal schema > peal.schema.json",
    .run = schema,
};
