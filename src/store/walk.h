// walk.h - how far a list looks: a page meets no more than WALK_MAX rows, however rare what it
// looks for.
//
// A list walks along one index. Where a filter asks what the index does not tell, rows are met that
// do not fit. So a walk first asks for its edge, the place where it will have met as many rows as
// it may, and then looks for what fits up to there: a page may be empty and yet say where to go on.
// Both ask for a range of one index, so that no plan that a database made for other values can make
// them read a table. What comes or goes in between does no harm: the edge is a place, not a count.
//
// A place is a key: bytes that only the list which gave them can read.
#pragma once

#include "store/db.h"

typedef struct Columns Columns;

// What `bench/run lists` found: at a million deliveries the dearest page takes 15 ms of CPU, of the
// 50 that it may take by the clock.
enum { WALK_MAX = 5000, WALK_FAR_MAX = WALK_MAX / 4 };

// WalkCost is what it takes to tell whether a row fits.
typedef enum WalkCost {
    WALK_DENSE, // nothing: whatever is met fits, so the limit ends the walk and no edge is needed
    WALK_NEAR,  // what stands in the rows it walks along
    WALK_FAR,   // a look-up for each row: no more than WALK_FAR_MAX
} WalkCost;

// Walk is what is asked for: up to limit rows behind a place.
typedef struct Walk {
    Str after; // the last Seen's next; none: from the beginning
    int64_t limit;
    int64_t met_max; // rows that it may meet; 0: as its cost says
} Walk;

// Seen is how far a walk came.
typedef struct Seen {
    size_t count;  // rows that it gives
    bool has_more; // something lies behind, or may
    bool is_cut;   // it does, though fewer rows are given than were asked for
    Str next;      // the place to go on from; none where nothing lies behind
} Seen;

// IdBounds are the first parameters of a walk along ids. A statement that finds an edge takes limit
// as its OFFSET, one that finds rows as its LIMIT.
typedef struct IdBounds {
    int64_t tenant;
    Uuid from, to; // in the order of the walk; which of them may be met is the statement's
    int64_t limit;
} IdBounds;

#define ID_BOUNDS_COLUMNS(owner, path)                                                             \
    COLUMN(owner, path.tenant), COLUMN(owner, path.from), COLUMN(owner, path.to),                  \
        COLUMN(owner, path.limit)

// IdSource is an index to walk along: both statements take the bounds, and find what the filter
// asks besides.
typedef struct IdSource {
    const Statement *edge, *find;
    const Columns *edge_columns, *find_columns; // of what begins with the bounds
} IdSource;

// IdsSeen is what a walk along ids found.
typedef struct IdsSeen {
    Uuid *ids;
    size_t count; // up to the limit
    bool has_more;
    Uuid next; // where to go on: the last of them, or the edge
} IdsSeen;

// walk_ids finds up to the walk's limit of ids within the bounds, which are narrowed.
Err walk_ids(Db *db, Arena *arena, const IdSource *source, WalkCost cost, const Walk *walk,
             IdBounds *bounds, IdsSeen *ret, Error *error) MUST_USE;

// walk_met_max is how many rows a walk may meet.
int64_t walk_met_max(const Walk *walk, WalkCost cost);

// walk_after narrows from to the walk's place, which is an id, where it lies behind it; is_down
// says in which order. ERR_MALFORMED for what is none.
Err walk_after(const Walk *walk, bool is_down, Uuid *from, Error *error) MUST_USE;

// walk_place is the place of an id. walk_after_text reads one that is a text; "" for none.
Str walk_place(Arena *arena, Uuid id);
Err walk_after_text(const Walk *walk, Str *ret, Error *error) MUST_USE;

// walk_place_number is the place of a number, from 1; walk_after_number reads it, 0 for none.
Str walk_place_number(Arena *arena, int64_t n);
Err walk_after_number(const Walk *walk, int64_t *ret, Error *error) MUST_USE;

// walk_rows reads the rows of what was found, as many as a page holds (db_page), in its order. The
// statement takes tenant and id. walk_taken says how many of the ids were come to, the rows having
// their id in the given column.
Err walk_rows(Db *db, Arena *arena, const Statement *statement, int64_t tenant,
              const IdsSeen *found, Rows *ret, Error *error) MUST_USE;
size_t walk_taken(const IdsSeen *found, const Rows *rows, size_t column);

// walk_seen tells of a page of ids: taken of them were come to, and shown are given.
Seen walk_seen(Arena *arena, const IdsSeen *found, size_t taken, size_t shown, const Walk *walk);

// walk_counted tells of found rows, one more than the limit having been asked for: whether they
// hold as many bytes as a page may (is_full), and whether there is an edge behind which others may
// lie. The next place is left to the caller.
Seen walk_counted(const Walk *walk, size_t found, bool is_full, bool has_edge);

// walk_words makes of the words of a search, each of which is to be found, what WORDS_SQLITE and
// WORDS_POSTGRES have as rows w (value): LIKE patterns in which ! keeps wildcards plain; none where
// there is no word. Case is that of ASCII: what else has a case, and which, two databases would not
// agree on.
Str walk_words(Arena *arena, Str q);
#define WORDS_SQLITE(param) "json_each(" param ") AS w"
#define WORDS_POSTGRES(param) "json_array_elements_text(CAST(" param " AS json)) AS w (value)"

// walk_unknown is the answer to a place that the list did not give.
Err walk_unknown(Error *error);
