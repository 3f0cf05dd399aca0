#include "cli/project.h"

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/reference.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

// BYTE_ORDER_MARK is what some editors begin a file with.
#define BYTE_ORDER_MARK S("\xef\xbb\xbf")

static int read_file(Project *project, const ProjectFile *file);

static int refuse(const Project *project, const char *path, Str why)
{
    return output_failure(
        &(Failure){ .exit = EXIT_INVALID,
                    .error = str_format(project->arena, "%s cannot be read", path),
                    .why = why });
}

static bool is_definitions(Str name)
{
    if (str_ends(name, S(".schema.json"))) // which is for editors
        return false;
    return str_ends(name, S(".yaml")) || str_ends(name, S(".yml")) || str_ends(name, S(".json"));
}

static int add_file(Project *project, Str path, Str name)
{
    if (project->file_count == PROJECT_FILES_MAX)
        return refuse(
            project, str_z(project->arena, path),
            str_format(project->arena, "there are more than %d files", PROJECT_FILES_MAX));
    project->files[project->file_count++] = (ProjectFile){ path, name };
    return EXIT_DONE;
}

static int find_files(Project *project, Str path, Str name, int depth);

static int pass_by(const Project *project, Str path, const char *why)
{
    fprintf(stderr, "Left out: %.*s, %s\n", STR_ARG(output_clean(project->arena, path)), why);
    return EXIT_DONE;
}

static int find_entry(Project *project, Str path, Str name, const char *entry, int depth)
{
    struct stat itself, found;
    Arena *arena = project->arena;
    Str at = str_format(arena, "%.*s/%s", STR_ARG(path), entry);
    Str told = name.len ? str_format(arena, "%.*s/%s", STR_ARG(name), entry)
                        : str_dup(arena, str_from(entry));
    if (lstat(str_z(arena, at), &itself) != 0)
        return refuse(project, str_z(arena, at), str_from(strerror(errno)));
    if (S_ISDIR(itself.st_mode))
        return find_files(project, at, told, depth + 1);
    bool is_there = stat(str_z(arena, at), &found) == 0;
    if (!is_there && is_definitions(told))
        return refuse(project, str_z(arena, at), str_from(strerror(errno)));
    if (is_there && S_ISDIR(found.st_mode)) // it may lead back
        return pass_by(project, at, "a link to a folder");
    if (!is_definitions(told))
        return EXIT_DONE;
    return S_ISREG(found.st_mode) ? add_file(project, at, told)
                                  : pass_by(project, at, "which is no file");
}

static void free_entries(struct dirent ***entries)
{
    free((void *) *entries);
}

static int find_files(Project *project, Str path, Str name, int depth)
{
    DEFER(free_entries) struct dirent **entries = NULL;
    int count = scandir(str_z(project->arena, path), &entries, NULL, alphasort);
    int status = EXIT_DONE;
    if (count < 0)
        return refuse(project, str_z(project->arena, path), str_from(strerror(errno)));
    if (depth > PROJECT_DEPTH_MAX)
        status = refuse(project, str_z(project->arena, path), S("folders are nested too deep"));
    for (int i = 0; i < count; i++) {
        if (status == EXIT_DONE && entries[i]->d_name[0] != '.')
            status = find_entry(project, path, name, entries[i]->d_name, depth);
        free(entries[i]);
    }
    return status;
}

// base_name is the last part of where a path really leads.
static Str base_name(Arena *arena, const char *path)
{
    char *real = realpath(path, NULL);
    Str rest = str_dup(arena, str_from(real ? real : path)), last = rest;
    free(real);
    while (rest.len > 0) {
        Str part = str_cut(&rest, '/');
        if (part.len > 0)
            last = part;
    }
    return last;
}

int project_read(Arena *arena, const char *path, Project *ret)
{
    Project project = { .arena = arena,
                        .files = ARENA_ARRAY(arena, ProjectFile, PROJECT_FILES_MAX) };
    struct stat found;
    bool is_input = strcmp(path, "-") == 0;
    project.set = is_input ? S("stdin") : base_name(arena, path);
    int status = EXIT_DONE;
    if (!is_input && stat(path, &found) != 0)
        return refuse(&project, path, str_from(strerror(errno)));
    if (!is_input && S_ISDIR(found.st_mode))
        status = find_files(&project, str_from(path), S(""), 0);
    else
        status = add_file(&project, str_from(path), is_input ? S("standard input") : project.set);
    for (size_t i = 0; i < project.file_count && status == EXIT_DONE; i++)
        status = read_file(&project, &project.files[i]);
    *ret = project;
    return status;
}

static const DefinitionKind *kind_of(const Json *json)
{
    size_t rank;
    Str name = json_str(json_get(json, S("kind")));
    return definition_rank(name, &rank) ? definition_kinds[rank] : NULL;
}

static void add_part(Project *project, const ProjectPart *part)
{
    bool is_scenario = str_eq(json_str(json_get(part->json, S("kind"))), S("scenario"));
    ProjectParts *parts = is_scenario ? &project->scenarios : &project->definitions;
    if (parts->count == parts->room) {
        size_t room = parts->room ? parts->room * 2 : 64, size = sizeof *part;
        parts->at = arena_grow(project->arena, parts->at, parts->count * size, room * size);
        parts->room = room;
    }
    parts->at[parts->count] = *part;
    parts->at[parts->count++].kind = kind_of(part->json);
}

static void add_document(Project *project, const ProjectFile *file, const YamlDocument *document,
                         size_t number)
{
    ProjectPart part = { .file = file,
                         .document = document,
                         .number = number,
                         .inside = S(""),
                         .json = document->json };
    if (json_type(document->json) != JSON_ARRAY) {
        add_part(project, &part);
        return;
    }
    project->says_none |= json_count(document->json) == 0;
    for (JsonIter it = json_each(document->json); json_next(&it);) {
        part.inside = str_format(project->arena, "/%zu", it.index - 1);
        part.json = it.value;
        add_part(project, &part);
    }
}

static bool is_json(Str name, Str text)
{
    Str start = str_starts(text, BYTE_ORDER_MARK) ? str_skip(text, BYTE_ORDER_MARK.len) : text;
    while (start.len > 0 && (start.at[0] <= ' '))
        start = str_skip(start, 1);
    bool begins = start.len > 0 && (start.at[0] == '{' || start.at[0] == '[');
    return str_ends(name, S(".json")) || (str_eq(name, S("standard input")) && begins);
}

static Err parse(Arena *arena, Str name, Str text, YamlDocument **ret, size_t *ret_count,
                 Error *error)
{
    if (!is_json(name, text))
        return yaml_read(arena, text, YAML_CORE, ret, ret_count, error);
    YamlDocument *document = ARENA_NEW(arena, YamlDocument);
    if (str_starts(text, BYTE_ORDER_MARK))
        text = str_skip(text, BYTE_ORDER_MARK.len);
    TRY(json_parse(arena, text, &document->json, error));
    document->lines = json_lines(arena, text, &document->count);
    *ret = document;
    *ret_count = 1;
    return ERR_OK;
}

static int read_file(Project *project, const ProjectFile *file)
{
    Arena *arena = project->arena;
    const char *path = str_z(arena, file->path);
    Error error = { .arena = arena };
    YamlDocument *documents;
    size_t count;
    Str text;
    if (!input_file(arena, path, &text))
        return refuse(project, path, input_why());
    project->bytes += text.len;
    if (project->bytes > PROJECT_BYTES_MAX)
        return refuse(project, path, S("all files together are more than 30 MiB"));
    if (parse(arena, file->name, text, &documents, &count, &error) != ERR_OK)
        return refuse(project, path, str_from(error.detail));
    for (size_t i = 0; i < count; i++)
        add_document(project, file, &documents[i], i + 1);
    return EXIT_DONE;
}

Str project_part_place(Arena *arena, const ProjectPart *part, Str pointer)
{
    Str whole = STR_JOIN(arena, part->inside, pointer);
    Buf place = buf_new(arena, BUF_WHOLE);
    buf_add_format(&place, "%.*s:%zu, document %zu", STR_ARG(part->file->name),
                   yaml_line(part->document, whole), part->number);
    if (whole.len > 0)
        buf_add_format(&place, ", %.*s", STR_ARG(whole));
    return buf_str(&place);
}

Str project_place(void *with, Arena *arena, Str path)
{
    const Project *project = with;
    Str prefix = S("/definitions/");
    int64_t index;
    if (!str_starts(path, prefix))
        return path;
    Str rest = str_skip(path, prefix.len), number = str_cut(&rest, '/');
    if (!str_to_i64(number, 0, (int64_t) project->definitions.count - 1, &index))
        return path;
    Str pointer = rest.at ? str_format(arena, "/%.*s", STR_ARG(rest)) : S("");
    return project_part_place(arena, &project->definitions.at[index], pointer);
}

int project_write(const Project *project, JsonOut *out)
{
    int status = EXIT_DONE;
    json_open(out, '[');
    for (size_t i = 0; i < project->definitions.count; i++) {
        int wrote = reference_write(project, &project->definitions.at[i], out);
        status = status == EXIT_DONE ? wrote : status;
    }
    json_close(out, ']');
    return status;
}
