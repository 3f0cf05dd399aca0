#include "cli/output.h"

#include <unistd.h>

enum { CELL_MAX = 80, LINE_BYTES_MAX = 16 * 1024 * 1024 };

// Words that deserve a colour wherever a cell is exactly that word.
static const struct {
    const char *word, *code;
} paints[] = {
    { "parked", "31" },    { "failed", "31" },    { "permanent", "31" }, { "unknown", "31" },
    { "retrying", "33" },  { "transient", "33" }, { "filtered", "33" },  { "duplicate", "33" },
    { "delivered", "32" }, { "completed", "32" }, { "created", "32" },
};

bool output_has_color(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && no_color[0])
        return false;
    return term && strcmp(term, "dumb") != 0 && isatty(fileno(stream)) == 1;
}

Str output_clean(Arena *arena, Str text)
{
    Buf clean = buf_new(arena, LINE_BYTES_MAX);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        unsigned char next = i + 1 < text.len ? (unsigned char) text.at[i + 1] : 0;
        if (c == '\n' || c == '\r' || c == '\t') {
            buf_add_char(&clean, ' ');
        } else if (c < 0x20 || c == 0x7f) {
            buf_add_char(&clean, '?');
        } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            // U+0080 to U+009F are controls too: some terminals obey them.
            buf_add_char(&clean, '?');
            i++;
        } else {
            buf_add_char(&clean, (char) c);
        }
    }
    return buf_str(&clean);
}

static void label(const char *name, const char *color)
{
    if (output_has_color(stderr))
        fprintf(stderr, "\033[%sm%s\033[0m ", color, name);
    else
        fprintf(stderr, "%s ", name);
}

int output_failure(const Failure *failure)
{
    DEFER(arena_done) Arena arena = { 0 };
    fflush(stdout); // what was printed before the failure stands before it

    label("Error:", "1;31");
    fprintf(stderr, "%.*s\n", STR_ARG(output_clean(&arena, failure->error)));
    if (failure->why.len > 0 || failure->problem_count > 0) {
        Str why = failure->why;
        bool repeats = failure->problem_count == 1 && str_eq(why, failure->problems[0].message);
        if (why.len == 0 || repeats) // the one problem follows, with its place
            why = str_format(&arena, "%zu problem%s", failure->problem_count,
                             failure->problem_count == 1 ? "" : "s");
        label("Why:", "1");
        fprintf(stderr, "%.*s\n", STR_ARG(output_clean(&arena, why)));
    }
    for (size_t i = 0; i < failure->problem_count; i++) {
        Str path = failure->problems[i].path;
        fprintf(stderr, "  %.*s: %.*s\n", STR_ARG(output_clean(&arena, path.len ? path : S("/"))),
                STR_ARG(output_clean(&arena, failure->problems[i].message)));
    }
    if (failure->hint.len > 0) {
        label("Try:", "1");
        fprintf(stderr, "%.*s\n", STR_ARG(output_clean(&arena, failure->hint)));
    }
    return failure->exit;
}

int output_error(const Error *error, Str hint)
{
    size_t kept = error->count < ERROR_PROBLEMS_MAX ? error->count : ERROR_PROBLEMS_MAX;
    return output_failure(&(Failure){
        .exit = err_exit(error->err),
        .error = str_from(err_title(error->err)),
        .why = str_from(error->detail),
        .hint = hint,
        .problems = error->problems,
        .problem_count = error->arena ? kept : 0,
    });
}

Grid grid_new(Arena *arena, size_t columns)
{
    assert(columns > 0);
    return (Grid){ .arena = arena, .columns = columns };
}

void grid_add(Grid *grid, Str cell)
{
    if (grid->count == grid->room) {
        size_t room = grid->room ? grid->room * 2 : 64;
        Str *cells = ARENA_ARRAY(grid->arena, Str, room);
        if (grid->count > 0)
            memcpy(cells, grid->cells, grid->count * sizeof *cells);
        grid->cells = cells;
        grid->room = room;
    }
    grid->cells[grid->count++] = output_clean(grid->arena, cell);
}

// width counts characters, not bytes; it does not know that some are two columns wide.
static size_t width(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char) text.at[i] & 0xc0) != 0x80;
    return count;
}

static void print_cell(Str cell, bool is_title, bool colored)
{
    const char *code = is_title ? "1" : NULL;
    for (size_t i = 0; !code && i < ARRAY_LEN(paints); i++)
        if (str_eq(cell, str_from(paints[i].word)))
            code = paints[i].code;
    if (code && colored)
        printf("\033[%sm%.*s\033[0m", code, STR_ARG(cell));
    else
        printf("%.*s", STR_ARG(cell));
}

void grid_print(const Grid *grid, GridStyle style)
{
    assert(grid->count % grid->columns == 0); // rows are filled to their end
    bool colored = output_has_color(stdout);
    size_t *widths = ARENA_ARRAY(grid->arena, size_t, grid->columns);
    for (size_t i = 0; i < grid->count; i++) {
        size_t wide = width(grid->cells[i]);
        if (wide > widths[i % grid->columns])
            widths[i % grid->columns] = wide;
    }
    for (size_t i = 0; i < grid->count; i++) {
        size_t column = i % grid->columns;
        if (column == 0 && style.indent)
            printf("%s", style.indent);
        print_cell(grid->cells[i], style.has_titles && i < grid->columns, colored);
        if (column + 1 < grid->columns)
            printf("%*s", (int) (widths[column] - width(grid->cells[i]) + 2), "");
        else
            printf("\n");
    }
}

Str output_value(Arena *arena, const Json *value)
{
    switch (json_type(value)) {
    case JSON_ABSENT:
    case JSON_NULL:
        return S("-");
    case JSON_STRING:
        return output_clean(arena, json_str(value));
    case JSON_BOOL:
    case JSON_NUMBER:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return output_clean(arena, json_text(arena, value));
}

Str output_members(Arena *arena, const Json *object)
{
    Buf text = buf_new(arena, LINE_BYTES_MAX);
    for (JsonIter it = json_each(object); json_next(&it);) {
        if (json_type(it.value) == JSON_NULL)
            continue;
        if (text.len > 0)
            buf_add_char(&text, ' ');
        buf_add(&text, it.key);
        buf_add_char(&text, '=');
        buf_add(&text, output_value(arena, it.value));
    }
    return buf_str(&text);
}

// cut keeps the first CELL_MAX characters and says that there were more.
static Str cut(Arena *arena, Str text)
{
    size_t seen = 0;
    for (size_t i = 0; i < text.len; i++) {
        seen += ((unsigned char) text.at[i] & 0xc0) != 0x80;
        if (seen == CELL_MAX && width(text) > CELL_MAX)
            return str_format(arena, "%.*s…", (int) i, text.at);
    }
    return text;
}

static const Json *member_at(const Json *item, Str path)
{
    while (path.len > 0)
        item = json_get(item, str_cut(&path, '.'));
    return item;
}

void output_list(Arena *arena, const Json *const *items, size_t item_count, const Column *columns,
                 size_t count)
{
    if (item_count == 0)
        return;
    Grid grid = grid_new(arena, count);
    for (size_t i = 0; i < count; i++)
        grid_add(&grid, str_from(columns[i].title));
    for (size_t item = 0; item < item_count; item++) {
        for (size_t i = 0; i < count; i++) {
            const Json *value = member_at(items[item], str_from(columns[i].member));
            grid_add(&grid, cut(arena, output_value(arena, value)));
        }
    }
    grid_print(&grid, (GridStyle){ .has_titles = true });
}

void output_fields(Arena *arena, const Json *object)
{
    Grid grid = grid_new(arena, 2);
    for (JsonIter it = json_each(object); json_next(&it);) {
        grid_add(&grid, it.key);
        grid_add(&grid, output_value(arena, it.value));
    }
    grid_print(&grid, (GridStyle){ 0 });
}

void output_json(Str text)
{
    fwrite(text.at, 1, text.len, stdout);
    if (text.len == 0 || text.at[text.len - 1] != '\n')
        putchar('\n');
}
