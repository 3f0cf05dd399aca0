// param.h - query parameters, a row each: read, refused and documented from the same rows.
//
// A route names its rows (Route.params); a page has limit and cursor besides, and what the role
// operations may call has tenant. Whatever else a request asks for is refused, on every route, for
// a typo must not silently widen a list; so are a parameter that stands twice and a value that is
// none of its kind. An empty text counts as not given. Handlers ask for a value by its row's place
// in the table, which an enum beside it names; they find it read and within its bounds.
#pragma once

#include "base/err.h"
#include "base/id.h"

typedef struct Call Call;
typedef struct Route Route;

// A kind of parameter is what its text must be; it need not be a kind of field (domain/field.h),
// for a query has no lists and no objects.
typedef enum ParamKind {
    PARAM_TEXT, // of up to max bytes, UTF-8
    PARAM_WORD, // one of words
    PARAM_BOOL, // true or false
    PARAM_INT,  // from min to max
    PARAM_TIME, // RFC 3339
    PARAM_ID,   // a UUID
} ParamKind;

typedef struct Param {
    const char *name; // NULL ends a table
    ParamKind kind;
    int64_t min, max;
    const char *const *words; // ends with NULL
    const char *help;
} Param;

// Given is what a request says for a row.
typedef struct Given {
    bool is_given;
    union {
        Str text;
        size_t word; // its place among words
        bool flag;
        int64_t number;
        Instant at;
        Uuid id;
    };
} Given;

enum { PARAMS_MAX = 24 }; // of one route, in all its tables
enum { PARAM_TABLES = 3 };

// param_count is how many rows a table has; NULL has none.
size_t param_count(const Param *params);

// param_tables are the tables of a route, in the order of its rows: its own, a page's, across's.
// NULL: it has none of these.
void param_tables(const Route *route, const Param *ret[PARAM_TABLES]);

// params_read reads the request's query by the rows of its route, all mistakes at once.
Err params_read(Call *call, Error *error) MUST_USE;

// param_text and the others return whether the row's value was given, and leave *ret as it was
// where it was not: defaults are set before.
bool param_text(const Call *call, size_t row, Str *ret);
bool param_word(const Call *call, size_t row, size_t *ret);
bool param_bool(const Call *call, size_t row, bool *ret);
bool param_int(const Call *call, size_t row, int64_t *ret);
bool param_time(const Call *call, size_t row, Instant *ret);
bool param_id(const Call *call, size_t row, Uuid *ret);
