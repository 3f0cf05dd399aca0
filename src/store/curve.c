#include "store/curve.h"

#include "base/log.h"
#include "store/columns.h"

#include <pthread.h>

static const Statement put = {
    .name = "curve_put",
    .scope = STATEMENT_TENANT,
    .params = "iiiib",
    .many = true,
    .sql = "INSERT INTO curve (tenant, step, at, part, figures) VALUES ($1, $2, $3, $4, $5)"
           " ON CONFLICT (tenant, step, at, part) DO UPDATE SET figures = excluded.figures",
    .postgres = "INSERT INTO curve (tenant, step, at, part, figures)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5)"
                " ON CONFLICT (tenant, step, at, part) DO UPDATE SET figures = excluded.figures",
};
static const Statement find = {
    .name = "curve_find",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT at, part, figures FROM curve"
           " WHERE tenant = $1 AND step = $2 AND at >= $3 AND at < $4 ORDER BY at",
};
// What stood at the beginning is what the last row before it says.
static const Statement depths = {
    .name = "curve_depths",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT at, pending + sending + retrying FROM sample WHERE tenant = $1 AND at < $3"
           " AND at >= COALESCE((SELECT MAX(s.at) FROM sample s WHERE s.tenant = $1"
           " AND s.at <= $2), $2) ORDER BY at",
};
// Nodes purge at the same time.
#define OLDEST "SELECT tenant, step, at, part FROM curve WHERE at <= $1 ORDER BY at LIMIT $2"
static const Statement purge = {
    .name = "curve_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "DELETE FROM curve WHERE (tenant, step, at, part) IN (" OLDEST ")",
    .postgres =
        "DELETE FROM curve WHERE (tenant, step, at, part) IN (" OLDEST " FOR UPDATE SKIP LOCKED)",
};

const Statement *const curve_statements[] = { &put, &find, &depths, &purge, NULL };

static const Span steps[] = { SPAN_MINUTE, SPAN_HOUR };

// Cell is what a channel did in a minute or an hour, as this process knows. The one of
// CURVE_NO_LANE is there where any other of its row is, and stands for the row.
typedef struct Cell Cell;
struct Cell {
    Cell *next; // of the same hash
    Cell *row;  // of CURVE_NO_LANE; itself
    int64_t tenant, lane;
    Span step;
    Instant at;
    CurveFigures figures;

    // Of the row:
    int64_t part;    // 0: never written
    int lanes;       // that have a cell
    int64_t changes; // so many so far …
    int64_t sent;    // … of which these were sent last, by …
    int64_t sent_by; // … this write …
    int64_t stored;  // … and these are stored
};

enum { BUCKETS = 16 * 1024 };

struct Curves {
    pthread_mutex_t lock;
    Cell *cells[BUCKETS];
    size_t count;
    int64_t parts, writes;
    bool is_full; // and it was said
};

Curves *curves_new(void)
{
    Curves *curves = memory_new(sizeof *curves);
    pthread_mutex_init(&curves->lock, NULL);
    return curves;
}

void curves_free(Curves *curves)
{
    if (!curves)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (Cell *cell = curves->cells[i], *next; cell; cell = next) {
            next = cell->next;
            free(cell);
        }
    pthread_mutex_destroy(&curves->lock);
    free(curves);
}

static Cell **place_of(Curves *curves, int64_t tenant, int64_t lane, Span step, Instant at)
{
    uint64_t hash = (uint64_t) tenant * 0x9e3779b97f4a7c15u ^ (uint64_t) lane * 0xc2b2ae3d27d4eb4fu;
    hash = (hash ^ (uint64_t) (at / SPAN_MINUTE) ^ (uint64_t) step << 7) * 0x9e3779b97f4a7c15u;
    return &curves->cells[hash >> 32 & (BUCKETS - 1)];
}

static Cell *cell_find(Curves *curves, int64_t tenant, int64_t lane, Span step, Instant at)
{
    Cell *cell = *place_of(curves, tenant, lane, step, at);
    while (cell &&
           (cell->tenant != tenant || cell->lane != lane || cell->at != at || cell->step != step))
        cell = cell->next;
    return cell;
}

static Cell *cell_new(Curves *curves, int64_t tenant, int64_t lane, Span step, Instant at)
{
    if (curves->count == CURVE_CELLS_MAX) {
        if (!curves->is_full)
            log_warn("curves.full", "detail=\"not all is gathered for the curves\"");
        curves->is_full = true;
        return NULL;
    }
    Cell **place = place_of(curves, tenant, lane, step, at), *cell = memory_new(sizeof *cell);
    *cell = (Cell){ .next = *place, .tenant = tenant, .lane = lane, .step = step, .at = at };
    *place = cell;
    curves->count++;
    return cell;
}

// cell_of finds where something counts; NULL: there is no room. Beyond so many lanes they share
// one.
static Cell *cell_of(Curves *curves, int64_t tenant, int64_t lane, Span step, Instant now)
{
    Instant at = now - now % step;
    Cell *cell = cell_find(curves, tenant, lane, step, at);
    if (cell)
        return cell;
    Cell *row = cell_find(curves, tenant, CURVE_NO_LANE, step, at);
    if (!row && !(row = cell_new(curves, tenant, CURVE_NO_LANE, step, at)))
        return NULL;
    row->row = row;
    if (lane == CURVE_NO_LANE)
        return row;
    if (lane != CURVE_REST && row->lanes == CURVE_LANES_MAX)
        return cell_of(curves, tenant, CURVE_REST, step, now);
    cell = cell_new(curves, tenant, lane, step, at);
    if (!cell)
        return NULL;
    cell->row = row;
    row->lanes += lane != CURVE_REST;
    return cell;
}

// Both are where the last move counted: the next one mostly counts there too.
typedef struct Spot {
    int64_t tenant, lane;
    Cell *cells[ARRAY_LEN(steps)];
} Spot;

static void spot_at(Curves *curves, Spot *spot, int64_t tenant, int64_t lane, Instant now)
{
    if (spot->cells[0] && spot->tenant == tenant && spot->lane == lane)
        return;
    spot->tenant = tenant;
    spot->lane = lane;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        spot->cells[i] = cell_of(curves, tenant, lane, steps[i], now);
}

static void gather_move(Curves *curves, Spot *spot, const Move *move, Instant now)
{
    bool is_made = move->from == MOVE_NOWHERE;
    bool is_parked = move->to == DELIVERY_PARKED && move->from != DELIVERY_PARKED;
    if (!is_made && !is_parked && !move->is_delivered && !move->is_failed)
        return;
    spot_at(curves, spot, move->tenant, move->from_lane ? move->from_lane : move->lane, now);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        Cell *cell = spot->cells[i];
        if (!cell)
            continue;
        cell->figures.received += is_made;
        cell->figures.parked += is_parked;
        cell->figures.failed += move->is_failed;
        cell->figures.delivered += move->is_delivered;
        if (move->is_delivered)
            cell->figures.took[curve_bucket(move->took)]++;
        cell->row->changes++;
    }
}

void curves_gather(Curves *curves, const Tx *tx)
{
    Spot spot = { 0 };
    if (tx->move_count == 0 && tx->taken_count == 0)
        return;
    pthread_mutex_lock(&curves->lock);
    for (size_t i = 0; i < tx->taken_count; i++) {
        spot_at(curves, &spot, tx->taken[i].tenant, CURVE_NO_LANE, tx->now);
        for (size_t j = 0; j < ARRAY_LEN(steps); j++) {
            if (!spot.cells[j])
                continue;
            spot.cells[j]->figures.received += tx->taken[i].events;
            spot.cells[j]->changes++;
        }
    }
    for (size_t i = 0; i < tx->move_count; i++)
        gather_move(curves, &spot, &tx->moves[i], tx->now);
    pthread_mutex_unlock(&curves->lock);
}

// CurveRow is a row as it is written, or read.
typedef struct CurveRow {
    int64_t tenant, step;
    Instant at;
    int64_t part;
    Str figures;
    Cell *row;
} CurveRow;

static const Columns columns =
    COLUMNS(CurveRow, COLUMN(CurveRow, tenant), COLUMN(CurveRow, step), COLUMN(CurveRow, at),
            COLUMN(CurveRow, part), COLUMN_BYTES(CurveRow, figures));

static int by_row(const void *a, const void *b)
{
    const Cell *x = *(Cell *const *) a, *y = *(Cell *const *) b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

// pack makes rows of cells, which it sorts. Needs the lock.
static size_t pack(Arena *arena, Cell **cells, size_t count, CurveRow *rows)
{
    size_t row_count = 0;
    if (count > 0)
        qsort(cells, count, sizeof(Cell *), by_row);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && cells[end]->row == cells[i]->row;)
            end++;
        Buf packed = buf_new(arena, SIZE_MAX);
        for (size_t j = i; j < end; j++)
            curve_pack(&packed, cells[j]->lane, &cells[j]->figures);
        Cell *row = cells[i]->row;
        rows[row_count++] = (CurveRow){ .tenant = row->tenant,
                                        .step = row->step / SPAN_SECOND,
                                        .at = row->at,
                                        .part = row->part,
                                        .figures = buf_str(&packed),
                                        .row = row };
    }
    return row_count;
}

// pick lists the cells of rows that are of a tenant and step, or have changed since they were
// written. Needs the lock.
static Cell **pick(Curves *curves, Arena *arena, const CurveAsked *asked, size_t *ret)
{
    Cell **cells = ARENA_ARRAY(arena, Cell *, curves->count + 1);
    *ret = 0;
    for (size_t i = 0; i < BUCKETS && curves->count > 0; i++)
        for (Cell *cell = curves->cells[i]; cell; cell = cell->next) {
            bool is_wanted =
                asked ? cell->tenant == asked->tenant &&
                            cell->step == (asked->step < SPAN_HOUR ? SPAN_MINUTE : SPAN_HOUR) &&
                            cell->at >= asked->from && cell->at < asked->to
                      : cell->row->stored < cell->row->changes;
            if (is_wanted)
                cells[(*ret)++] = cell;
        }
    return cells;
}

Err curves_write(Tx *tx, Curves *curves, int64_t *ret, Error *error)
{
    size_t cell_count;
    pthread_mutex_lock(&curves->lock);
    Cell **cells = pick(curves, &tx->arena, NULL, &cell_count);
    CurveRow *rows = ARENA_ARRAY(&tx->arena, CurveRow, cell_count + 1);
    int64_t write = ++curves->writes;
    for (size_t i = 0; i < cell_count; i++) {
        Cell *row = cells[i]->row;
        if (row->part == 0)
            row->part = (int64_t) (((uint64_t) tx->writer >> 4 << 32) + (uint64_t) ++curves->parts);
        row->sent = row->changes;
        row->sent_by = write;
    }
    size_t count = pack(&tx->arena, cells, cell_count, rows);
    pthread_mutex_unlock(&curves->lock);
    db_send_rows(tx->db, &tx->arena, &put, &columns, rows, count, NULL);
    *ret = write;
    return tx_sync(tx, error);
}

// is_over: whatever its row did is stored, and its time is not now. Needs the lock.
static bool is_over(const Cell *cell, Instant now)
{
    return cell->row->stored == cell->row->changes && cell->at != now - now % cell->step;
}

// drop lets go of cells that are over, of rows before the rows. Needs the lock.
static void drop(Curves *curves, Instant now, bool is_row)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (Cell **at = &curves->cells[i], *cell; (cell = *at);) {
            if ((cell == cell->row) != is_row || !is_over(cell, now)) {
                at = &cell->next;
                continue;
            }
            *at = cell->next;
            free(cell);
            curves->count--;
        }
}

void curves_written(Curves *curves, int64_t written, Instant now)
{
    pthread_mutex_lock(&curves->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (Cell *cell = curves->cells[i]; cell; cell = cell->next)
            if (cell == cell->row && cell->sent_by == written)
                cell->stored = cell->sent;
    drop(curves, now, false);
    drop(curves, now, true);
    curves->is_full = curves->count == CURVE_CELLS_MAX;
    pthread_mutex_unlock(&curves->lock);
}

// Reading is the report as it is filled.
typedef struct Reading {
    Arena *arena;
    const CurveAsked *asked;
    CurveReport report;
    size_t room; // for failures
} Reading;

static CurveFailures *failures_of(Reading *reading, int64_t lane)
{
    CurveReport *report = &reading->report;
    for (size_t i = 0; i < report->failure_count; i++)
        if (report->failures[i].lane == lane)
            return &report->failures[i];
    if (report->failure_count == reading->room) {
        size_t room = reading->room ? reading->room * 2 : 16;
        CurveFailures *grown = ARENA_ARRAY(reading->arena, CurveFailures, room);
        if (report->failure_count)
            memcpy(grown, report->failures, report->failure_count * sizeof *grown);
        report->failures = grown;
        reading->room = room;
    }
    CurveFailures *failures = &report->failures[report->failure_count++];
    *failures = (CurveFailures){ .lane = lane,
                                 .counts = ARENA_ARRAY(reading->arena, int64_t, report->count) };
    memset(failures->counts, 0, report->count * sizeof(int64_t));
    return failures;
}

// add_row adds a packed row to its point. What a tenant received are its events, what a channel
// did the deliveries that were made for it.
static void add_row(Reading *reading, Instant at, Str figures)
{
    const CurveAsked *asked = reading->asked;
    int64_t lane;
    CurveFigures of;
    size_t n = (size_t) ((at - asked->from) / asked->step);
    if (at < asked->from || n >= reading->report.count)
        return;
    while (curve_take(&figures, &lane, &of)) {
        reading->report.is_partial |= asked->lane != 0 && lane == CURVE_REST;
        if (asked->lane != 0 && lane != asked->lane)
            continue;
        if (asked->lane == 0 && lane != CURVE_NO_LANE)
            of.received = 0;
        curve_add(&reading->report.points[n].figures, &of);
        if (of.failed == 0)
            continue;
        CurveFailures *failures = failures_of(reading, lane);
        failures->counts[n] += of.failed;
        failures->total += of.failed;
    }
}

static bool is_ours(const CurveRow *rows, size_t count, int64_t part)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].part == part)
            return true;
    return false;
}

// read_rows looks at what is in memory first: what is written meanwhile is then found twice, and
// taken once.
static Err read_rows(Db *db, Curves *curves, Reading *reading, Error *error)
{
    const CurveAsked *asked = reading->asked;
    size_t cell_count;
    Rows rows;
    pthread_mutex_lock(&curves->lock);
    Cell **cells = pick(curves, reading->arena, asked, &cell_count);
    CurveRow *ours = ARENA_ARRAY(reading->arena, CurveRow, cell_count + 1);
    size_t count = pack(reading->arena, cells, cell_count, ours);
    pthread_mutex_unlock(&curves->lock);
    Value args[] = { value_i64(asked->tenant), value_i64(asked->step < SPAN_HOUR ? 60 : 3600),
                     value_i64(asked->from), value_i64(asked->to) };
    TRY(db_query(db, reading->arena, &find, args, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        if (!is_ours(ours, count, value_to_i64(&row[1])))
            add_row(reading, value_to_i64(&row[0]), value_to_str(&row[2]));
    }
    for (size_t i = 0; i < count; i++)
        add_row(reading, ours[i].at, ours[i].figures);
    return ERR_OK;
}

// read_depths says what stood at the end of each point: between two samples the first holds.
static Err read_depths(Db *db, Reading *reading, Error *error)
{
    const CurveAsked *asked = reading->asked;
    CurveReport *report = &reading->report;
    Rows rows;
    size_t next = 0;
    int64_t depth = -1;
    Value args[] = { value_i64(asked->tenant), value_i64(asked->from), value_i64(asked->to) };
    TRY(db_query(db, reading->arena, &depths, args, &rows, error));
    for (size_t i = 0; i < report->count; i++) {
        Instant end = asked->from + (Span) (i + 1) * asked->step;
        while (next < rows.count && value_to_i64(&rows_at(&rows, next)[0]) < end)
            depth = value_to_i64(&rows_at(&rows, next++)[1]);
        report->points[i].depth = depth;
    }
    return ERR_OK;
}

static int by_total(const void *a, const void *b)
{
    const CurveFailures *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

// rank puts the channels that failed most first; those beyond the limit, and what has no name, are
// one, which comes last.
static void rank(Reading *reading)
{
    CurveReport *report = &reading->report;
    size_t kept = 0;
    CurveFailures rest = { .lane = CURVE_REST };
    if (report->failure_count == 0)
        return;
    qsort(report->failures, report->failure_count, sizeof *report->failures, by_total);
    for (size_t i = 0; i < report->failure_count; i++) {
        CurveFailures *failures = &report->failures[i];
        if (failures->lane != CURVE_REST && kept < CURVE_FAILURES_MAX) {
            report->failures[kept++] = *failures;
            continue;
        }
        if (!rest.counts) {
            rest.counts = failures->counts;
            rest.total = failures->total;
            continue;
        }
        rest.total += failures->total;
        for (size_t j = 0; j < report->count; j++)
            rest.counts[j] += failures->counts[j];
    }
    if (rest.counts)
        report->failures[kept++] = rest;
    report->failure_count = kept;
}

Err curve_read(Db *db, Arena *arena, Curves *curves, const CurveAsked *asked, CurveReport *ret,
               Error *error)
{
    Reading reading = { .arena = arena, .asked = asked };
    CurveReport *report = &reading.report;
    report->count = (size_t) ((asked->to - asked->from) / asked->step);
    report->points = ARENA_ARRAY(arena, CurvePoint, report->count + 1);
    for (size_t i = 0; i < report->count; i++)
        report->points[i] = (CurvePoint){ .depth = -1 };
    TRY(read_rows(db, curves, &reading, error));
    if (asked->lane == 0)
        TRY(read_depths(db, &reading, error));
    rank(&reading);
    *ret = *report;
    return ERR_OK;
}

Err curve_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error)
{
    Rows gone;
    Value args[] = { value_i64(tx->now - CURVE_KEPT), value_i64(limit) };
    TRY(tx_query(tx, &purge, args, &gone, error));
    *ret = gone.changed;
    return ERR_OK;
}
