#include "intake/csv.h"

#include <csv.h>

// libcsv tells fields and row ends, but not where they stand, and does not stop at one. So it is
// fed line by line: a row ends with a line, and behind each line it is known whether one did.

enum { TAIL_BYTES = CSV_ROW_BYTES_MAX + 1 };

struct CsvReader {
    struct csv_parser parser;
    char delimiter;
    Str text;
    bool is_last;
    size_t at; // how far the text was read
    int64_t line;
    size_t taken; // behind the last row
    int64_t taken_line;
    bool is_whole;   // of the row at hand: its end was found
    bool is_crowded; // it has too many fields
    Buf bytes;       // its fields, one behind the other
    size_t ends[CSV_FIELDS_MAX];
    Str fields[CSV_FIELDS_MAX];
    size_t count;
};

static int is_blank(unsigned char c)
{
    return c == ' ';
}

static void on_field(void *at, size_t len, void *with)
{
    CsvReader *reader = with;
    reader->is_crowded |= reader->count == CSV_FIELDS_MAX;
    if (reader->is_crowded)
        return;
    buf_add_bytes(&reader->bytes, at, len);
    reader->ends[reader->count++] = reader->bytes.len;
}

static void on_row(int end, void *with)
{
    (void) end;
    ((CsvReader *) with)->is_whole = true;
}

static void begin_parser(CsvReader *reader)
{
    int failed = csv_init(&reader->parser, CSV_STRICT | CSV_STRICT_FINI);
    assert(!failed);
    csv_set_delim(&reader->parser, (unsigned char) reader->delimiter);
    csv_set_space_func(&reader->parser, is_blank);
    csv_set_realloc_func(&reader->parser, memory_grow);
}

CsvReader *csv_new(Arena *arena, char delimiter, int64_t line)
{
    CsvReader *reader = ARENA_NEW(arena, CsvReader);
    reader->delimiter = delimiter;
    reader->line = reader->taken_line = line;
    reader->bytes = buf_new(arena, CSV_ROW_BYTES_MAX);
    begin_parser(reader);
    return reader;
}

void csv_done(CsvReader *reader)
{
    csv_free(&reader->parser);
}

// go_back begins anew behind the last row, whatever the parser has seen of the next.
static void go_back(CsvReader *reader)
{
    csv_free(&reader->parser);
    begin_parser(reader);
    reader->at = reader->taken;
    reader->line = reader->taken_line;
}

void csv_give(CsvReader *reader, Str text, bool is_last)
{
    reader->taken = 0;
    go_back(reader);
    reader->text = text;
    reader->is_last = is_last;
}

size_t csv_taken(const CsvReader *reader)
{
    return reader->taken;
}

int64_t csv_line(const CsvReader *reader)
{
    return reader->taken_line;
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

// line_len is how long the line at a place is with its end; 0: that does not lie in the text.
static size_t line_len(const CsvReader *reader, size_t from)
{
    const char *at = reader->text.at + from;
    size_t left = reader->text.len - from, len = 0;
    while (len < left && !is_line_end(at[len])) // two searches would pass over all that has but one
        len++;
    if (len == left || (at[len] == '\r' && len + 1 == left)) // an LF may follow
        return reader->is_last ? left : 0;
    return len + (at[len] == '\r' && at[len + 1] == '\n' ? 2 : 1);
}

// past_blanks is where the first character stands that is no blank.
static size_t past_blanks(const CsvReader *reader)
{
    size_t at = reader->at;
    while (at < reader->text.len && is_blank((unsigned char) reader->text.at[at]))
        at++;
    return at;
}

// is_endless: the line at hand, whose end does not lie in the text, is too long whatever follows,
// and so would its last bytes be (give_up).
static bool is_endless(const CsvReader *reader)
{
    return reader->text.len - reader->taken > 2 * TAIL_BYTES;
}

// skip_empty skips lines that are no rows; false where no other is known to follow.
static bool skip_empty(CsvReader *reader)
{
    while (reader->at < reader->text.len) {
        size_t at = past_blanks(reader);
        if (at < reader->text.len && !is_line_end(reader->text.at[at]))
            break;
        size_t len = line_len(reader, reader->at);
        if (len == 0)
            return is_endless(reader);
        reader->taken = reader->at += len;
        reader->taken_line = ++reader->line;
    }
    return reader->at < reader->text.len;
}

// feed has the parser read the next line of the row at hand, and returns what is wrong with it.
static const char *feed(CsvReader *reader, size_t len)
{
    const char *at = reader->text.at + reader->at;
    bool has_end = is_line_end(at[len - 1]);
    reader->at += len;
    reader->line += has_end;
    if (csv_parse(&reader->parser, at, len, on_field, on_row, reader) != len)
        return "a quote stands inside a field that is not quoted, or text behind a closing quote";
    if (!reader->is_whole && reader->is_last && reader->at == reader->text.len &&
        csv_fini(&reader->parser, on_field, on_row, reader) != 0)
        return "a quote is not closed";
    return NULL;
}

static const char *check(CsvReader *reader)
{
    if (reader->is_crowded)
        return "it has too many fields";
    if (reader->bytes.overflowed)
        return "it is too long";
    size_t begin = 0;
    for (size_t i = 0; i < reader->count; i++) {
        reader->fields[i] =
            (Str){ reader->bytes.at ? reader->bytes.at + begin : "", reader->ends[i] - begin };
        begin = reader->ends[i];
        if (!str_is_utf8(reader->fields[i]))
            return "it is not UTF-8, or has a NUL byte";
    }
    return NULL;
}

// give_up goes on behind the line where the row began: where it would have ended is not known. Of a
// line whose end lies beyond the text so much is left that it is too long again: its last bytes may
// look like a row, and are none.
static void give_up(CsvReader *reader)
{
    go_back(reader);
    size_t len = line_len(reader, reader->at);
    reader->line += len > 0;
    reader->at = len > 0 ? reader->at + len : reader->text.len - TAIL_BYTES;
}

// read_row reads up to the end of a row; false where the text does not have that. A row that is too
// long is not read to its end.
static bool read_row(CsvReader *reader, const char **ret_problem)
{
    *ret_problem = NULL;
    while (!reader->is_whole && !*ret_problem) {
        size_t len = line_len(reader, reader->at);
        bool is_long =
            len > 0 ? reader->at + len - reader->taken > CSV_ROW_BYTES_MAX : is_endless(reader);
        if (is_long)
            *ret_problem = "it is too long, or a quote in it is not closed";
        else if (len > 0)
            *ret_problem = feed(reader, len);
        else
            return false;
    }
    return true;
}

CsvFound csv_next(CsvReader *reader, CsvRow *ret)
{
    const char *problem;
    if (!skip_empty(reader))
        return reader->is_last ? CSV_END : CSV_MORE;
    reader->is_whole = reader->is_crowded = reader->bytes.overflowed = false;
    reader->count = reader->bytes.len = 0;
    if (!read_row(reader, &problem)) {
        go_back(reader);
        return CSV_MORE;
    }
    if (problem)
        give_up(reader);
    else
        problem = check(reader);
    *ret = (CsvRow){ .fields = problem ? NULL : reader->fields,
                     .count = problem ? 0 : reader->count,
                     .line = reader->taken_line,
                     .problem = problem };
    reader->taken = reader->at;
    reader->taken_line = reader->line;
    return CSV_ROW;
}

Str csv_without_mark(Str text)
{
    return str_starts(text, S("\xef\xbb\xbf")) ? str_skip(text, 3) : text;
}

char csv_delimiter(Str text)
{
    static const char known[] = { ',', ';', '\t', '|' };
    size_t counts[ARRAY_LEN(known)] = { 0 }, best = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < text.len && (is_quoted || !is_line_end(text.at[i])); i++) {
        is_quoted ^= text.at[i] == '"';
        for (size_t k = 0; k < ARRAY_LEN(known) && !is_quoted; k++)
            counts[k] += text.at[i] == known[k];
    }
    for (size_t k = 1; k < ARRAY_LEN(known); k++)
        if (counts[k] > counts[best])
            best = k;
    return known[best];
}

void csv_add(Buf *out, Str field)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < field.len; i++) {
        if (field.at[i] == '"')
            buf_add_char(out, '"');
        buf_add_char(out, field.at[i]);
    }
    buf_add_char(out, '"');
}
