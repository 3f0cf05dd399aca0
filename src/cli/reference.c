#include "cli/reference.h"

#include "channels/channel.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "domain/integration.h"
#include "domain/source.h"
#include "providers/provider.h"

#include <errno.h>

// What stands in for a secret, and for a URL. It is long enough for every kind of secret.
#define STAND_IN "whsec_c3RhbmQtaW4tc3RhbmQtaW4tc3RhbmQtaW4hISE="
#define STAND_IN_URL "https://stand-in.invalid/"

// Referring is a part on its way out.
typedef struct Referring {
    Arena *arena;
    bool stands_in;
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

// put_text puts what a reference stands for. An empty secret is what a CI leaves of one that it has
// not: nobody means it.
static void put_text(Referring *referring, Str from, Str text, bool is_secret, Str pointer)
{
    const char *why = NULL;
    if (!str_is_utf8(text))
        why = "is no text: it is not UTF-8, or has a NUL";
    else if (text.len > PROJECT_TEXT_MAX)
        why = "has more than 1 MiB";
    else if (is_secret && text.len == 0)
        why = "is empty, which no secret is";
    if (why)
        complain(referring, pointer, str_format(referring->arena, "%.*s %s", STR_ARG(from), why));
    else
        json_add_str(referring->out, text);
}

// put_stand_in puts something in the place of a secret or a URL; false where it may not.
static bool put_stand_in(const Referring *referring, const Field *field, bool is_secret)
{
    bool is_url = field->kind == FIELD_URL;
    if (!referring->stands_in || (!is_secret && !is_url))
        return false;
    json_add_str(referring->out, is_url ? S(STAND_IN_URL) : S(STAND_IN));
    return true;
}

static void put_variable(Referring *referring, Str name, const Field *field, bool is_secret,
                         Str pointer)
{
    const char *value = getenv(str_z(referring->arena, name));
    bool is_missing = !value || (is_secret && !*value);
    if (is_missing && put_stand_in(referring, field, is_secret))
        return;
    if (value)
        put_text(referring, name, str_from(value), is_secret, pointer);
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

static void put_file(Referring *referring, Str path, const Field *field, bool is_secret,
                     Str pointer)
{
    Arena *arena = referring->arena;
    Str at = beside(arena, referring->part->file, path), text;
    if (!input_file(arena, str_z(arena, at), &text)) {
        if (put_stand_in(referring, field, is_secret))
            return;
        complain(referring, pointer,
                 str_format(arena, "%.*s: %.*s", STR_ARG(at), STR_ARG(input_why())));
        return;
    }
    if (str_ends(text, S("\n")))
        text.len -= str_ends(text, S("\r\n")) ? 2 : 1;
    put_text(referring, at, text, is_secret, pointer);
}

static void put_reference(Referring *referring, const Json *value, const Field *field,
                          bool is_secret, Str pointer)
{
    Str name = json_str(json_get(value, S("env")));
    if (name.at)
        put_variable(referring, name, field, is_secret, pointer);
    else
        put_file(referring, json_str(json_get(value, S("file"))), field, is_secret, pointer);
}

// Inner is the member of a definition whose rows depend on the rest of it.
typedef struct Inner {
    Str name; // none: there is no such member
    const Shape *shape;
} Inner;

static const Shape *config_shape(Str provider)
{
    ProviderName name;
    if (str_eq(provider, S("table")))
        return &source_table_shape;
    const Provider *of = provider_name_parse(provider, &name) ? provider_of(name) : NULL;
    return of ? of->config : NULL;
}

static Inner find_inner(const DefinitionKind *kind, const Json *body)
{
    if (kind == &definition_channel) {
        const ChannelType *type = channel_type_find(json_str(json_get(body, S("type"))));
        return (Inner){ S("config"), type ? type->config : NULL };
    }
    if (kind == &definition_integration)
        return (Inner){ S("token"), token_shape(token_source(json_get(body, S("token")))) };
    if (kind == &definition_source)
        return (Inner){ S("config"), config_shape(json_str(json_get(body, S("provider")))) };
    return (Inner){ 0 };
}

static void put_value(Referring *referring, const Field *field, bool is_secret, const Json *value,
                      Str pointer)
{
    const Field *alone = field && field->flags & FIELD_ALONE ? field->of : field;
    if (alone && field_may_refer(alone) && is_reference(value))
        put_reference(referring, value, alone, is_secret, pointer);
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
                  json_below(referring->arena, pointer, name));
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
        put_member(referring, shape, it.key, it.value,
                   json_below(referring->arena, pointer, it.key));
    }
    json_close(referring->out, '}');
}

int reference_write(const Project *project, const ProjectPart *part, JsonOut *out)
{
    Arena *arena = project->arena;
    Referring referring = { arena, project->stands_in, part, out, EXIT_DONE };
    const DefinitionKind *kind = part->kind;
    if (json_type(part->json) != JSON_OBJECT || !kind) { // which the server complains of
        json_add_raw(out, json_text(arena, part->json));
        return EXIT_DONE;
    }
    Inner inner = find_inner(kind, part->json);
    json_open(out, '{');
    json_put_str(out, S("origin"), part->file->name);
    for (JsonIter it = json_each(part->json); json_next(&it);) {
        Str pointer = json_below(arena, S(""), it.key);
        if (str_eq(it.key, S("origin")))
            continue;
        json_key(out, it.key);
        if (inner.shape && str_eq(it.key, inner.name) && json_type(it.value) == JSON_OBJECT)
            put_object(&referring, inner.shape, it.value, pointer);
        else
            put_member(&referring, kind->shape, it.key, it.value, pointer);
    }
    json_close(out, '}');
    return referring.status;
}
