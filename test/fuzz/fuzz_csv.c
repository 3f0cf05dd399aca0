#include "intake/csv.h"

#include "fuzz.h"

// The first byte says how much text is given at once: however it is cut, the rows must be the same.

static void tell(Buf *told, const CsvRow *row)
{
    buf_add_format(told, "%lld %s", (long long) row->line, row->problem ? row->problem : "");
    for (size_t i = 0; i < row->count; i++) {
        buf_add_char(told, ' ');
        csv_add(told, row->fields[i]);
    }
    buf_add_char(told, '\n');
}

// read_file reads as its callers do: more text where a row does not end, from where it began.
static Str read_file(Arena *arena, Str text, size_t step)
{
    CsvRow row;
    Buf told = buf_new(arena, BUF_WHOLE);
    char delimiter = csv_delimiter(text);
    CsvReader *reader = csv_new(arena, delimiter, 1);
    size_t from = 0, len = step;
    for (CsvFound found = CSV_MORE; found != CSV_END;) {
        len = len < text.len - from ? len : text.len - from;
        csv_give(reader, (Str){ text.at + from, len }, from + len == text.len);
        while ((found = csv_next(reader, &row)) == CSV_ROW)
            tell(&told, &row);
        from += csv_taken(reader);
        len = csv_taken(reader) > 0 ? step : len + step;
    }
    assert(from == text.len);
    csv_done(reader);
    return buf_str(&told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    if (size == 0)
        return 0;
    Str text = csv_without_mark((Str){ (const char *) data + 1, size - 1 });
    Str whole = read_file(&arena, text, text.len + 1);
    if (text.len <= CSV_ROW_BYTES_MAX) // beyond it, what is cut depends on where it is
        assert(str_eq(whole, read_file(&arena, text, (size_t) data[0] + 1)));
    return 0;
}
