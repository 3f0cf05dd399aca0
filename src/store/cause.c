#include "store/cause.h"

#include "store/columns.h"

// Numbers in the SQL below are domain/delivery.h's.
_Static_assert(DELIVERY_PARKED == 4 && DELIVERY_RETRYING == 2, "the SQL names states by number");

// Of each table the same four questions. $1 is the tenant, $2 a cause, $3 a delivery, $4 a limit.
#define PARKED(hint) " FROM ended n" hint " WHERE n.tenant = $1 AND n.state = 4 AND n.cause"
#define RETRYING(hint) " FROM queue n" hint " WHERE n.tenant = $1 AND n.cause"
#define BY(index) " INDEXED BY " index
#define IS_RETRYING " AND n.state = 2"

#define NEXT(from) "SELECT n.cause" from " > $2"
#define IN_ORDER " ORDER BY n.cause, n.id LIMIT 1"
// $4 is a bound to the second as well: others may have come since the first found no edge.
#define COUNT(from, besides)                                                                       \
    "SELECT COUNT(*) FROM (SELECT 1" from " = $2 AND n.id > $3" besides " LIMIT $4 + 1) AS x"
#define EDGE(from, besides)                                                                        \
    "SELECT n.id" from " = $2 AND n.id > $3" besides " ORDER BY n.id LIMIT 1 OFFSET $4"
// The last of a cause tells what it is, and the first since when it is there.
#define TRIGGERED                                                                                  \
    "(SELECT d.triggered_at FROM delivery d WHERE d.tenant = n.tenant AND d.id = n.id)"
#define OLDEST(from, besides) "SELECT " TRIGGERED from " = $2" besides " ORDER BY n.id LIMIT 1"
#define OF_PARKED "SELECT n.lane, COALESCE(n.tried_reason, n.reason), n.code, n.detail, " TRIGGERED
#define OF_ATTEMPT(column)                                                                         \
    "(SELECT a." column " FROM attempt a WHERE a.tenant = n.tenant AND a.delivery = n.id"          \
    " AND a.number = n.attempt)"
#define OF_RETRYING                                                                                \
    "SELECT n.lane, COALESCE(" OF_ATTEMPT("reason") ", 0), " OF_ATTEMPT("code") ", " OF_ATTEMPT(   \
        "detail") ", " TRIGGERED
#define NEWEST(from, besides) from " = $2" besides " ORDER BY n.id DESC LIMIT 1"

static const Statement parked_next = {
    .name = "cause_parked_next",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = NEXT(PARKED(BY("ended_cause"))) IN_ORDER,
    .postgres = NEXT(PARKED("")) IN_ORDER,
};
static const Statement parked_count = {
    .name = "cause_parked_count",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .sql = COUNT(PARKED(BY("ended_cause")), ""),
    .postgres = COUNT(PARKED(""), ""),
};
static const Statement parked_edge = {
    .name = "cause_parked_edge",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .sql = EDGE(PARKED(BY("ended_cause")), ""),
    .postgres = EDGE(PARKED(""), ""),
};
static const Statement parked_oldest = {
    .name = "cause_parked_oldest",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = OLDEST(PARKED(BY("ended_cause")), ""),
    .postgres = OLDEST(PARKED(""), ""),
};
static const Statement parked_newest = {
    .name = "cause_parked_newest",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = OF_PARKED NEWEST(PARKED(BY("ended_cause")), ""),
    .postgres = OF_PARKED NEWEST(PARKED(""), ""),
};
static const Statement retrying_next = {
    .name = "cause_retrying_next",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = NEXT(RETRYING(BY("queue_cause"))) IN_ORDER,
    .postgres = NEXT(RETRYING("")) IN_ORDER,
};
static const Statement retrying_count = {
    .name = "cause_retrying_count",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .sql = COUNT(RETRYING(BY("queue_cause")), IS_RETRYING),
    .postgres = COUNT(RETRYING(""), IS_RETRYING),
};
static const Statement retrying_edge = {
    .name = "cause_retrying_edge",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .sql = EDGE(RETRYING(BY("queue_cause")), IS_RETRYING),
    .postgres = EDGE(RETRYING(""), IS_RETRYING),
};
static const Statement retrying_oldest = {
    .name = "cause_retrying_oldest",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = OLDEST(RETRYING(BY("queue_cause")), IS_RETRYING),
    .postgres = OLDEST(RETRYING(""), IS_RETRYING),
};
static const Statement retrying_newest = {
    .name = "cause_retrying_newest",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = OF_RETRYING NEWEST(RETRYING(BY("queue_cause")), IS_RETRYING),
    .postgres = OF_RETRYING NEWEST(RETRYING(""), IS_RETRYING),
};

const Statement *const cause_statements[] = {
    &parked_next,   &parked_count,   &parked_edge,   &parked_oldest,   &parked_newest,
    &retrying_next, &retrying_count, &retrying_edge, &retrying_oldest, &retrying_newest,
    NULL,
};

// Look is how the causes of one state are found.
typedef struct Look {
    const Statement *next, *count, *edge, *oldest, *newest;
} Look;

static const Look parked = { &parked_next, &parked_count, &parked_edge, &parked_oldest,
                             &parked_newest };
static const Look retrying = { &retrying_next, &retrying_count, &retrying_edge, &retrying_oldest,
                               &retrying_newest };

static const Columns newest_columns =
    COLUMNS(Cause, COLUMN(Cause, lane), COLUMN(Cause, reason), COLUMN(Cause, code),
            COLUMN(Cause, sample), COLUMN_TIME(Cause, newest));

// Place is how far a walk came: all of a cause, or, with a delivery, up to that one of it.
typedef struct Place {
    int64_t cause;
    Uuid id; // zero: the cause is done
} Place;

enum { PLACE_LEN = sizeof(int64_t) + sizeof(Uuid) };

static Str place_text(Arena *arena, const Place *place)
{
    char *text = arena_alloc(arena, PLACE_LEN);
    memcpy(text, &place->cause, sizeof place->cause);
    memcpy(text + sizeof place->cause, place->id.b, sizeof place->id.b);
    return (Str){ text, PLACE_LEN };
}

static Err place_read(const Walk *walk, Place *ret, Error *error)
{
    *ret = (Place){ 0 };
    if (!walk->after.at)
        return ERR_OK;
    if (walk->after.len != PLACE_LEN)
        return walk_unknown(error);
    memcpy(&ret->cause, walk->after.at, sizeof ret->cause);
    memcpy(ret->id.b, walk->after.at + sizeof ret->cause, sizeof ret->id.b);
    return ret->cause > 0 ? ERR_OK : walk_unknown(error);
}

// Tour is a page being made.
typedef struct Tour {
    Db *db;
    Arena *arena;
    const Look *look;
    int64_t tenant;
    int64_t left; // deliveries that may still be counted
    Place place;
} Tour;

static bool is_whole(const Place *place)
{
    static const Uuid zero;
    return uuid_cmp(place->id, zero) == 0;
}

// next_cause goes to the next one, unless the rest of one is still to be counted; 0: there is none.
static Err next_cause(Tour *tour, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tour->tenant), value_i64(tour->place.cause) };
    *ret = tour->place.cause;
    if (!is_whole(&tour->place))
        return ERR_OK;
    TRY(db_query(tour->db, tour->arena, tour->look->next, args, &rows, error));
    *ret = rows.count > 0 ? value_to_i64(&rows.values[0]) : 0;
    return ERR_OK;
}

// count_cause counts as many of the cause as it may, and goes behind them. Where there is an edge,
// as many as it may lie before it; else all that are left are counted.
static Err count_cause(Tour *tour, int64_t cause, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tour->tenant), value_i64(cause), value_uuid(&tour->place.id),
                     value_i64(tour->left - 1) };
    Place place = { .cause = cause };
    TRY(db_query(tour->db, tour->arena, tour->look->edge, args, &rows, error));
    *ret = tour->left;
    if (rows.count > 0) {
        place.id = value_to_uuid(&rows.values[0]);
    } else {
        TRY(db_query(tour->db, tour->arena, tour->look->count, args, &rows, error));
        *ret = value_to_i64(&rows.values[0]);
    }
    tour->place = place;
    tour->left -= *ret;
    return ERR_OK;
}

// describe says what a cause is; false where nothing of it is left.
static Err describe(const Tour *tour, int64_t cause, Cause *ret, bool *ret_is_there, Error *error)
{
    Rows last, first;
    Value args[] = { value_i64(tour->tenant), value_i64(cause) };
    db_send(tour->db, tour->arena, tour->look->newest, args, &last);
    db_send(tour->db, tour->arena, tour->look->oldest, args, &first);
    TRY(db_sync(tour->db, error));
    *ret_is_there = last.count > 0 && first.count > 0;
    if (!*ret_is_there)
        return ERR_OK;
    columns_read(&newest_columns, last.values, ret);
    ret->reason = reason_mended(ret->reason);
    ret->cause = cause;
    ret->sample = cause_sample(tour->arena, ret->sample);
    ret->oldest = value_to_time(&first.values[0]);
    return ERR_OK;
}

static int by_count(const void *a, const void *b)
{
    const Cause *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->cause < y->cause ? -1 : x->cause > y->cause;
}

Err cause_page(Db *db, Arena *arena, int64_t tenant, DeliveryState state, const Walk *walk,
               Cause **ret, Seen *ret_seen, Error *error)
{
    assert(state == DELIVERY_PARKED || state == DELIVERY_RETRYING);
    Tour tour = { .db = db,
                  .arena = arena,
                  .look = state == DELIVERY_PARKED ? &parked : &retrying,
                  .tenant = tenant,
                  .left = walk->met_max ? walk->met_max : CAUSE_COUNT_MAX };
    Cause *causes = ARENA_ARRAY(arena, Cause, (size_t) walk->limit + 1);
    size_t count = 0;
    int64_t cause;
    TRY(place_read(walk, &tour.place, error));
    TRY(next_cause(&tour, &cause, error));
    while (cause && count < (size_t) walk->limit && tour.left > 0) {
        bool is_there;
        int64_t n;
        TRY(count_cause(&tour, cause, &n, error));
        TRY(describe(&tour, cause, &causes[count], &is_there, error));
        causes[count].count = n;
        count += is_there && n > 0;
        TRY(next_cause(&tour, &cause, error));
    }
    qsort(causes, count, sizeof *causes, by_count);
    *ret = causes;
    *ret_seen = (Seen){ .count = count,
                        .has_more = cause != 0,
                        .is_cut = cause != 0 && count < (size_t) walk->limit,
                        .next = cause ? place_text(arena, &tour.place) : STR_NONE };
    return ERR_OK;
}
