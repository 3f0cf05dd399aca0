// output.h - what a person sees: failures on standard error, tables and fields on standard output.
//
// Texts from outside are shown without control characters, so that a payload cannot play with the
// terminal. Colour appears only on a terminal, and never with NO_COLOR or TERM=dumb; each stream is
// judged alone.
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdio.h>

// Failure is what went wrong: printed as Error:, Why: with the problems below it, and Try:.
typedef struct Failure {
    int exit;
    Str error;
    Str why;  // none: no such line
    Str hint; // a command or a sentence; none: no such line
    const Problem *problems;
    size_t problem_count;
} Failure;

// output_failure prints it and returns its exit status.
int output_failure(const Failure *failure);

// output_error prints an Error of Peal's own checkers and returns the exit status of its row.
int output_error(const Error *error, Str hint);

// Grid is text in columns, filled cell by cell and row by row, then printed aligned.
typedef struct Grid {
    Arena *arena;
    size_t columns;
    Str *cells;
    size_t count, room;
} Grid;

Grid grid_new(Arena *arena, size_t columns);
void grid_add(Grid *grid, Str cell);

typedef struct GridStyle {
    const char *indent; // NULL: none
    bool has_titles;    // the first row is a heading
} GridStyle;
void grid_print(const Grid *grid, GridStyle style);

// Column is one column of a list: the heading, and the member of each item that stands below it;
// one of an object inside is named by a path, such as health.circuit.
typedef struct Column {
    const char *title;
    const char *member;
} Column;

// output_list prints the items under their columns; a long cell is cut. Nothing for no items.
void output_list(Arena *arena, const Json *const *items, size_t item_count, const Column *columns,
                 size_t count);

// output_fields prints the members of an object, one a line.
void output_fields(Arena *arena, const Json *object);

// output_value is a value in one clean line: texts bare, objects and arrays as JSON, "-" for
// nothing.
Str output_value(Arena *arena, const Json *value);

// output_members is an object as name=value name=value, for a line of a timeline.
Str output_members(Arena *arena, const Json *object);

// output_has_color: a person sees what goes there, and asked for no plain text.
bool output_has_color(FILE *stream);

// output_clean is text without control characters.
Str output_clean(Arena *arena, Str text);

// output_json prints JSON text as it is, with one line end behind it.
void output_json(Str text);
