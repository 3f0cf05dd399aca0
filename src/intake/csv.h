// csv.h - rows of a CSV file, with the lines on which they stand; csv.c is the only file that knows
// libcsv.
//
// A reader is given text that begins with a row, and tells its rows one by one. Where the text ends
// in the middle of a row it says so, and the caller comes back with more text from there
// (csv_taken): a file of any length is read in memory of a fixed size, and reading may go on later,
// elsewhere, from a place and a line.
//
// Fields may be quoted ("a ""b"", c"), and hold line ends then. Blanks around a field that is not
// quoted are no part of it. Lines end with LF, CR LF or CR; empty ones are no rows. They are
// counted as an editor does, those inside quotes too.
//
// A row that cannot be read (a quote that is not closed, text behind a closing one, bytes that are
// not UTF-8, too long, too many fields) is told with its problem, and reading goes on: behind it,
// or where its end is not known on the line behind the one where it began. So a quote that is never
// closed costs its own row, and not the file. A line that is longer than all text given at once may
// be told as several such rows, but no part of it is one.
#pragma once

#include "base/str.h"

enum {
    CSV_ROW_BYTES_MAX = 64 * 1024,
    CSV_FIELDS_MAX = 200,
};

typedef struct CsvReader CsvReader;

typedef struct CsvRow {
    const Str *fields; // until the next row is read; none where there is a problem
    size_t count;
    int64_t line;        // of its first character
    const char *problem; // why it cannot be read; NULL: it was
} CsvRow;

typedef enum CsvFound {
    CSV_ROW,
    CSV_MORE, // the text ends within a row, or may
    CSV_END,  // the file ends
} CsvFound;

// csv_new makes a reader whose first text begins on the given line. An Arena holds all of it but
// what libcsv takes: csv_done gives that back.
CsvReader *csv_new(Arena *arena, char delimiter, int64_t line);
void csv_done(CsvReader *reader);

// csv_give gives it the text behind csv_taken(); is_last: the file ends with it. The text must live
// until the last row is read.
void csv_give(CsvReader *reader, Str text, bool is_last);
CsvFound csv_next(CsvReader *reader, CsvRow *ret);

// csv_taken is how much of the text the rows so far took up; csv_line the line that follows them.
size_t csv_taken(const CsvReader *reader);
int64_t csv_line(const CsvReader *reader);

// csv_without_mark is a file's text without the byte order mark that it may begin with.
Str csv_without_mark(Str text);

// csv_delimiter is what parts the fields of a file's first line: the most frequent of comma,
// semicolon, tab and bar outside quotes; a comma where there is none.
char csv_delimiter(Str text);

// csv_add writes a field, quoted where it must be; the caller parts fields by commas and ends rows.
void csv_add(Buf *out, Str field);
