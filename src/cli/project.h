// project.h - definitions as files: a file, or a folder with all that lies in it and below.
//
// Files are YAML (.yaml, .yml; base/yaml.h) or JSON (.json), read in the order of their names. A
// document is a definition with its kind, or a list of such. What begins with a dot is passed by.
// Documents of a kind that is not the server's (scenario) are kept apart: `peal test` alone reads
// them. What could have been meant and is not read is told: with --prune, what is not there is
// deleted. Every complaint says the file, the line and the place in the document.
//
// A text, a secret above all, may be a reference: {"env":"NAME"} is a variable of the environment,
// {"file":"PATH"} the content of a file, from the folder of the file that names it, without the
// line end behind it. Where it may stand is known from the rows of the kind (domain/field.h), so
// what only looks like one (a job's payload) is left alone. A variable that is not set leaves a
// secret as it is stored, and is told; where nothing is sent anyway, something stands in for it.
#pragma once

#include "base/yaml.h"
#include "domain/definition.h"

enum {
    PROJECT_FILES_MAX = 10000,
    PROJECT_DEPTH_MAX = 16,       // of folders
    PROJECT_BYTES_MAX = 30 << 20, // of all files, and of what is sent
    PROJECT_TEXT_MAX = 1 << 20,   // of what a reference stands for
};

// ProjectPart is one definition as it was written.
typedef struct ProjectPart {
    const struct ProjectFile *file;
    const YamlDocument *document;
    size_t number; // of the document in its file, from 1
    Str inside;    // where it lies in the document: empty, or /3 of a list
    const Json *json;
    const DefinitionKind *kind; // NULL: the server will tell that it knows none such
} ProjectPart;

typedef struct ProjectFile {
    Str path; // as it can be opened
    Str name; // as it is told: from the folder on
} ProjectFile;

// ProjectParts are in the order in which they were read.
typedef struct ProjectParts {
    ProjectPart *at;
    size_t count, room;
} ProjectParts;

typedef struct Project {
    Arena *arena;
    Str set; // the name of what was given
    ProjectFile *files;
    size_t file_count;
    bool says_none; // a document is a list of nothing, on purpose
    ProjectParts definitions, scenarios;
    size_t bytes;
    bool stands_in; // something stands in for secrets and URLs whose references lead nowhere
} Project;

// project_read reads a file, a folder, or standard input for "-"; an exit status, and what is wrong
// was told.
int project_read(Arena *arena, const char *path, Project *ret);

// project_place says where a path of the server's, such as /definitions/3/config/url, leads to;
// with is the Project.
Str project_place(void *with, Arena *arena, Str path);

// project_write writes the definitions as the server takes them, a list, with what their references
// stand for.
int project_write(const Project *project, JsonOut *out);

// project_part_place is where something of a part stands: FILE:LINE, document N, /pointer.
Str project_part_place(Arena *arena, const ProjectPart *part, Str pointer);
