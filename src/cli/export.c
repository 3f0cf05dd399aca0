// export: what the server has, as files that apply takes.

#include "base/file.h"
#include "base/yaml.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "domain/definition.h"
#include "domain/list.h"

#include <unistd.h>

enum { EXPORT_BYTES_MAX = 256 << 20 };

typedef struct Export {
    Client client;
    const char *folder; // NULL: standard output
    size_t count;       // of definitions
    JsonOut json;       // with --json: all of them
    Str *variables;     // that stand for secrets
    size_t variable_count, variable_room;
} Export;

static void add_variable(Export *export, Str name)
{
    if (export->variable_count == export->variable_room) {
        size_t room = export->variable_room ? export->variable_room * 2 : 64, size = sizeof name;
        export->variables = arena_grow(export->client.arena, export->variables,
                                       export->variable_count * size, room * size);
        export->variable_room = room;
    }
    export->variables[export->variable_count++] = name;
}

// note_variables finds the references in what the server wrote.
static void note_variables(Export *export, const Json *value)
{
    Str name = json_str(json_get(value, S("env")));
    if (json_count(value) == 1 && str_starts(name, S("PEAL_")))
        add_variable(export, name);
    for (JsonIter it = json_each(value); json_next(&it);)
        note_variables(export, it.value);
}

static int by_bytes(const void *a, const void *b)
{
    const Str *x = a, *y = b;
    return str_cmp(*x, *y);
}

// warn_of_twins: the names of http:bi and http-bi are the same variable's.
static void warn_of_twins(Export *export)
{
    if (export->variable_count > 1)
        qsort(export->variables, export->variable_count, sizeof(Str), by_bytes);
    for (size_t i = 1; i < export->variable_count; i++)
        if (str_eq(export->variables[i], export->variables[i - 1]))
            fprintf(stderr,
                    "Warning: %.*s stands for more than one secret; rename it in one place\n",
                    STR_ARG(export->variables[i]));
}

// put_targets writes the members of a list, which lie at a route of their own.
static int put_targets(const Export *export, const Json *definition, JsonOut *out)
{
    Pages pages;
    Str id = json_str(json_get(definition, S("id")));
    Str path =
        client_path(export->client.arena, "/v1/lists", str_z(export->client.arena, id), "targets");
    int status = pages_read(&export->client, path, "", "items", LIST_MEMBERS_MAX, &pages);
    if (status != EXIT_DONE)
        return status;
    json_key(out, S("targets"));
    json_open(out, '[');
    for (size_t i = 0; i < pages.count; i++) {
        json_open(out, '{');
        for (JsonIter it = json_each(pages.items[i]); json_next(&it);)
            if (json_type(it.value) != JSON_NULL)
                json_put_raw(out, it.key, json_text(export->client.arena, it.value));
        json_close(out, '}');
    }
    json_close(out, ']');
    return EXIT_DONE;
}

// document_of is a definition as a document of its own.
static int document_of(const Export *export, const DefinitionKind *kind, const Json *item, Str *ret)
{
    Arena *arena = export->client.arena;
    const Json *definition = json_get(item, S("definition"));
    Buf text = buf_new(arena, EXPORT_BYTES_MAX);
    JsonOut out = json_out(&text);
    int status = EXIT_DONE;
    json_open(&out, '{');
    json_put_str(&out, S("kind"), str_from(kind->kind));
    for (JsonIter it = json_each(definition); json_next(&it);)
        json_put_raw(&out, it.key, json_text(arena, it.value));
    if (json_bool(json_get(item, S("published"))))
        json_put_bool(&out, S("published"), true);
    if (kind == &definition_list)
        status = put_targets(export, definition, &out);
    json_close(&out, '}');
    *ret = buf_str(&text);
    return status;
}

static int put_document(Export *export, Buf *yaml, Str document)
{
    const Json *json;
    Error error = { 0 };
    export->count++;
    if (export->client.json) {
        json_add_raw(&export->json, document);
        return EXIT_DONE;
    }
    if (json_parse(export->client.arena, document, &json, &error) != ERR_OK)
        return output_error(&error, STR_NONE);
    yaml_write(yaml, json);
    return EXIT_DONE;
}

// write_out writes a kind's documents where they are to go.
static int write_out(const Export *export, const DefinitionKind *kind, const Buf *yaml)
{
    Arena *arena = export->client.arena;
    Error error = { 0 };
    if (!export->folder) {
        fwrite(yaml->at, 1, yaml->len, stdout);
        return EXIT_DONE;
    }
    Str path = str_format(arena, "%s/%s.yaml", export->folder, kind->plural);
    // What an earlier export wrote of a kind that there is nothing of now says so, too.
    if (yaml->len == 0 && access(str_z(arena, path), F_OK) != 0)
        return EXIT_DONE;
    if (file_put(arena, path, buf_str(yaml), &error) != ERR_OK)
        return output_error(&error, S("a folder that can be written to: -o DIR"));
    return EXIT_DONE;
}

static int export_kind(Export *export, const DefinitionKind *kind)
{
    Arena *arena = export->client.arena;
    Pages pages;
    Str path = str_format(arena, "/v1/definitions?kind=%s", kind->kind);
    int status = pages_read(&export->client, path, "", "items", SIZE_MAX, &pages);
    Buf yaml = buf_new(arena, EXPORT_BYTES_MAX);
    if (status == EXIT_DONE && pages.is_cut)
        status = output_failure(&(Failure){
            .exit = EXIT_FAILED,
            .error = str_format(arena, "There are too many %s to be exported", kind->plural) });
    for (size_t i = 0; i < pages.count && status == EXIT_DONE; i++) {
        Str document;
        status = document_of(export, kind, pages.items[i], &document);
        if (status == EXIT_DONE)
            status = put_document(export, &yaml, document);
        note_variables(export, json_get(pages.items[i], S("definition")));
    }
    return status == EXIT_DONE ? write_out(export, kind, &yaml) : status;
}

// is_allowed: whoever may not write a kind does not see it so.
static bool is_allowed(const Export *export, const DefinitionKind *kind)
{
    Answer answer;
    Str path = str_format(export->client.arena, "/v1/definitions?kind=%s&limit=1", kind->kind);
    return client_look(&export->client, path, &answer);
}

static int export_all(CommandArgs *args)
{
    Export export = { .client = client_open(args), .folder = args_option(args, "output") };
    Buf json = buf_new(args_arena(args), EXPORT_BYTES_MAX);
    int status = args_expect(args, NULL, 0, 0);
    size_t done = 0;
    if (status == EXIT_DONE && export.folder && export.client.json)
        status = args_usage(args, "--json prints, and -o writes YAML: give one of them");
    if (status != EXIT_DONE)
        return status;
    export.json = json_out(&json);
    json_open(&export.json, '[');
    for (size_t i = 0; definition_kinds[i] && status == EXIT_DONE; i++) {
        const DefinitionKind *kind = definition_kinds[i];
        // Where nothing can be had, the last one says what is wrong.
        bool is_asked = is_allowed(&export, kind) || (done == 0 && !definition_kinds[i + 1]);
        if (!is_asked) {
            fprintf(stderr, "Left out: %s, which the key may not write\n", kind->plural);
            continue;
        }
        status = export_kind(&export, kind);
        done++;
    }
    json_close(&export.json, ']');
    if (status == EXIT_DONE && export.client.json)
        output_json(buf_str(&json));
    warn_of_twins(&export);
    if (status == EXIT_DONE && export.folder)
        fprintf(stderr, "Wrote %zu definitions to %s.\n", export.count, export.folder);
    return status;
}

static const CommandOption export_options[] = {
    { "output", "DIR", "a file for each kind in this folder, instead of standard output" },
    CLIENT_OPTIONS,
};

const Command command_export = {
    .name = "export",
    .usage = "export [-o DIR]",
    .summary = "Write definitions as files that apply takes",
    .details = "Writes YAML, a document for each definition. Secrets are never written: in their\n"
               "place stands {\"env\":\"PEAL_KIND_ID_MEMBER\"}, such as "
               "PEAL_CHANNEL_HTTP_BI_SIGNINGSECRET.\n"
               "Where that variable is not set, apply leaves the secret as it is stored.\n"
               "\n"
               "  peal export -o definitions\n"
               "  peal diff -f definitions",
    .options = export_options,
    .run = export_all,
};
