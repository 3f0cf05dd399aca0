#include "cli/reference.h"

#include "channels/channel.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "domain/integration.h"
#include "domain/source.h"
#include "providers/provider.h"

#include <errno.h>

// Referring is a part on its way out.
typedef struct Referring {
    Arena *arena;
    const ProjectPart *part;
    JsonOut *out;
    int status;
} Referring;

static void put_object(Referring *referring, const Shape *shape, const Json *object, Str pointer);

// is_reference: an object with one member, env or file.
static bool is_reference(const Json *value)
{
    return json_type(value) == JSON_OBJECT && json_count(value) == 1 &&
           (json_str(json_get(value, S("env"))).at || json_str(json_get(value, S("file"))).at);
}

static void complain(Referring *referring, Str pointer, Str why)
{
    Arena *arena = referring->arena;
    referring->status = output_failure(&(Failure){
        .exit = EXIT_INVALID,
        .error = S("A reference leads nowhere"),
        .why =
            str_format(arena, "%.*s: %.*s",
                       STR_ARG(project_part_place(arena, referring->part, pointer)), STR_ARG(why)),
    });
}

// put_kept leaves a secret as it is stored; the server refuses that where there is none.
static void put_kept(const Referring *referring, Str pointer, Str name)
{
    Str place = project_part_place(referring->arena, referring->part, pointer);
    fprintf(stderr, "Warning: %.*s: %.*s is not set; what is stored stays\n",
            STR_ARG(output_clean(referring->arena, place)),
            STR_ARG(output_clean(referring->arena, name)));
    json_open(referring->out, '{');
    json_put_bool(referring->out, S("set"), true);
    json_close(referring->out, '}');
}

static void put_variable(Referring *referring, Str name, bool is_secret, Str pointer)
{
    const char *value = getenv(str_z(referring->arena, name));
    if (value && str_is_utf8(str_from(value)))
        json_add_str(referring->out, str_from(value));
    else if (value)
        complain(referring, pointer, S("the variable is not UTF-8"));
    else if (is_secret)
        put_kept(referring, pointer, name);
    else
        complain(referring, pointer,
                 str_format(referring->arena, "%.*s is not set", STR_ARG(name)));
}

// beside is a path from the folder of the file that names it.
static Str beside(Arena *arena, const ProjectFile *file, Str path)
{
    size_t end = file->path.len;
    while (end > 0 && file->path.at[end - 1] != '/')
        end--;
    if (str_starts(path, S("/")))
        return path;
    return STR_JOIN(arena, (Str){ file->path.at, end }, path);
}

static void put_file(Referring *referring, Str path, Str pointer)
{
    Arena *arena = referring->arena;
    Str at = beside(arena, referring->part->file, path), text;
    if (!input_file(arena, str_z(arena, at), &text)) {
        complain(referring, pointer, str_format(arena, "%.*s: %s", STR_ARG(at), strerror(errno)));
        return;
    }
    if (str_ends(text, S("\n")))
        text.len--;
    if (str_ends(text, S("\r")))
        text.len--;
    if (text.len > PROJECT_SECRET_MAX || !str_is_utf8(text))
        complain(referring, pointer,
                 str_format(arena, "%.*s is no text of at most 64 KiB", STR_ARG(at)));
    else
        json_add_str(referring->out, text);
}

static void put_reference(Referring *referring, const Json *value, bool is_secret, Str pointer)
{
    Str name = json_str(json_get(value, S("env")));
    if (name.at)
        put_variable(referring, name, is_secret, pointer);
    else
        put_file(referring, json_str(json_get(value, S("file"))), pointer);
}

// inner_shape is that of a member whose rows depend on the rest of the definition.
static const Shape *inner_shape(const DefinitionKind *kind, const Json *body, Str member)
{
    ProviderName name;
    Str provider = json_str(json_get(body, S("provider")));
    if (kind == &definition_channel && str_eq(member, S("config"))) {
        const ChannelType *type = channel_type_find(json_str(json_get(body, S("type"))));
        return type ? type->config : NULL;
    }
    if (kind == &definition_integration && str_eq(member, S("token")))
        return token_shape(token_source(json_get(body, member)));
    if (kind != &definition_source || !str_eq(member, S("config")))
        return NULL;
    if (str_eq(provider, S("table")))
        return &source_table_shape;
    const Provider *of = provider_name_parse(provider, &name) ? provider_of(name) : NULL;
    return of ? of->config : NULL;
}

static Str below(Arena *arena, Str pointer, Str name)
{
    return str_format(arena, "%.*s/%.*s", STR_ARG(pointer), STR_ARG(name));
}

static void put_value(Referring *referring, const Field *field, bool is_secret, const Json *value,
                      Str pointer)
{
    const Field *alone = field && field->flags & FIELD_ALONE ? field->of : field;
    if (alone && field_may_refer(alone) && is_reference(value))
        put_reference(referring, value, is_secret, pointer);
    else if (field && field->inside && json_type(value) == JSON_OBJECT)
        put_object(referring, field->inside, value, pointer);
    else
        json_add_raw(referring->out, json_text(referring->arena, value));
}

// put_all writes a list or a map, each of whose values may be a reference, or have one.
static void put_all(Referring *referring, const Field *field, const Json *value, Str pointer)
{
    bool is_map = json_type(value) == JSON_OBJECT, is_secret = field->flags & FIELD_SECRET;
    json_open(referring->out, is_map ? '{' : '[');
    for (JsonIter it = json_each(value); json_next(&it);) {
        Str name = is_map ? it.key : str_i64(referring->arena, (int64_t) it.index - 1);
        if (is_map)
            json_key(referring->out, it.key);
        put_value(referring, field->of, is_secret, it.value,
                  below(referring->arena, pointer, name));
    }
    json_close(referring->out, is_map ? '}' : ']');
}

static void put_member(Referring *referring, const Shape *shape, Str name, const Json *value,
                       Str pointer)
{
    const Field *field = shape ? fields_find(shape, name) : NULL;
    JsonType type = json_type(value);
    bool has_many = field && field->of &&
                    ((field->kind == FIELD_MAP && type == JSON_OBJECT) ||
                     (field->kind == FIELD_LIST && type == JSON_ARRAY));
    if (has_many)
        put_all(referring, field, value, pointer);
    else
        put_value(referring, field, field && field->flags & FIELD_SECRET, value, pointer);
}

static void put_object(Referring *referring, const Shape *shape, const Json *object, Str pointer)
{
    json_open(referring->out, '{');
    for (JsonIter it = json_each(object); json_next(&it);) {
        json_key(referring->out, it.key);
        put_member(referring, shape, it.key, it.value, below(referring->arena, pointer, it.key));
    }
    json_close(referring->out, '}');
}

int reference_write(Arena *arena, const ProjectPart *part, JsonOut *out)
{
    Referring referring = { arena, part, out, EXIT_DONE };
    const DefinitionKind *kind = part->kind;
    if (json_type(part->json) != JSON_OBJECT || !kind) { // which the server complains of
        json_add_raw(out, json_text(arena, part->json));
        return EXIT_DONE;
    }
    json_open(out, '{');
    json_put_str(out, S("origin"), part->file->name);
    for (JsonIter it = json_each(part->json); json_next(&it);) {
        const Shape *inner = inner_shape(kind, part->json, it.key);
        Str pointer = below(arena, S(""), it.key);
        if (str_eq(it.key, S("origin")))
            continue;
        json_key(out, it.key);
        if (inner && json_type(it.value) == JSON_OBJECT)
            put_object(&referring, inner, it.value, pointer);
        else
            put_member(&referring, kind->shape, it.key, it.value, pointer);
    }
    json_close(out, '}');
    return referring.status;
}
