#include "store/sequence.h"

#include "base/log.h"
#include "store/columns.h"
#include "store/duty.h"

static const Statement writers = {
    .name = "journal_writers",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql =
        "WITH RECURSIVE w (writer) AS (SELECT MIN(writer) FROM journal UNION ALL"
        "  SELECT (SELECT MIN(j.writer) FROM journal j WHERE j.writer > w.writer) FROM w"
        "  WHERE w.writer IS NOT NULL)"
        " SELECT w.writer, COALESCE(s.n, 0) FROM w LEFT JOIN journal_seen s ON s.writer = w.writer"
        " WHERE w.writer IS NOT NULL",
};
static const Statement unseen = {
    .name = "journal_unseen",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .many = true,
    .sql = "SELECT writer, n, at, facts FROM journal WHERE writer = $1 AND n > $2"
           " ORDER BY n LIMIT $3",
    .postgres =
        "SELECT j.writer, j.n, j.at, j.facts FROM unnest($1, $2, $3) AS u (writer, n, most),"
        " LATERAL (SELECT * FROM journal WHERE writer = u.writer AND n > u.n"
        " ORDER BY n LIMIT u.most) AS j",
};
static const Statement last = {
    .name = "sequence_last",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .many = true,
    .sql = "SELECT tenant, first + count FROM sequence WHERE tenant = $1"
           " ORDER BY first DESC LIMIT 1",
    .postgres = "SELECT s.tenant, s.first + s.count FROM unnest($1) AS u (tenant),"
                " LATERAL (SELECT * FROM sequence WHERE tenant = u.tenant"
                " ORDER BY first DESC LIMIT 1) AS s",
};
static const Statement insert = {
    .name = "sequence_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiiii",
    .many = true,
    .sql = "INSERT INTO sequence (tenant, first, count, writer, n) VALUES ($1, $2, $3, $4, $5)",
    .postgres = "INSERT INTO sequence (tenant, first, count, writer, n)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5)",
};
// The audit's chains learn how far there is something to seal (audit.h).
static const Statement tell = {
    .name = "sequence_tell",
    .scope = STATEMENT_TENANT,
    .params = "iibi",
    .many = true,
    .sql = "INSERT INTO chain (tenant, told, number, seq, link, anchor_seq, anchor_link, sealed_at)"
           " VALUES ($1, $2, 0, 0, $3, 0, $3, $4)"
           " ON CONFLICT (tenant) DO UPDATE SET told = excluded.told",
    .postgres = "INSERT INTO chain (tenant, told, number, seq, link, anchor_seq, anchor_link,"
                " sealed_at) SELECT tenant, told, 0, 0, link, 0, link, at"
                " FROM unnest($1, $2, $3, $4) AS u (tenant, told, link, at)"
                " ON CONFLICT (tenant) DO UPDATE SET told = excluded.told",
};
static const Statement see = {
    .name = "journal_see",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .many = true,
    .sql = "INSERT INTO journal_seen (writer, n) VALUES ($1, $2)"
           " ON CONFLICT (writer) DO UPDATE SET n = excluded.n",
    .postgres = "INSERT INTO journal_seen (writer, n) SELECT * FROM unnest($1, $2)"
                " ON CONFLICT (writer) DO UPDATE SET n = excluded.n",
};
// A row goes when it and all before it are old: one that was given up has no moment of its own. So
// what goes ends at a number, which is looked for once.
#define LAST_OLD(writer, seen, before, most)                                                       \
    "SELECT COALESCE(MIN(CASE WHEN o.at >= " before " THEN o.n END) - 1, MAX(o.n)) AS n"           \
    " FROM (SELECT n, at FROM journal WHERE writer = " writer " AND n <= " seen                    \
    " ORDER BY n LIMIT " most ") AS o"
static const Statement purge = {
    .name = "journal_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "iiii",
    .many = true,
    .sql = "DELETE FROM journal WHERE writer = $1 AND n <= (" LAST_OLD("$1", "$2", "$3", "$4") ")",
    .postgres = "DELETE FROM journal USING unnest($1, $2, $3, $4) AS u (w, seen, before, most),"
                " LATERAL (" LAST_OLD("u.w", "u.seen", "u.before",
                                      "u.most") ") AS e"
                                                " WHERE journal.writer = u.w AND journal.n <= e.n",
};
static const Statement forget = {
    .name = "journal_forget",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "DELETE FROM journal_seen WHERE NOT EXISTS"
           " (SELECT 1 FROM journal j WHERE j.writer = journal_seen.writer)",
};
// Each tenant's numbers go up to the first whose row is still there, and its last one stays: the
// next number follows from it.
static const Statement purge_numbers = {
    .name = "sequence_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "DELETE FROM sequence WHERE (tenant, first) IN (SELECT s.tenant, s.first FROM chain t"
           " JOIN sequence s ON s.tenant = t.tenant AND s.first < COALESCE("
           "(SELECT k.first FROM sequence k JOIN journal j ON j.writer = k.writer AND j.n = k.n"
           " WHERE k.tenant = t.tenant ORDER BY k.first LIMIT 1),"
           " (SELECT MAX(m.first) FROM sequence m WHERE m.tenant = t.tenant)) LIMIT $1)",
};
// The audit is sealed from the journal: the oldest row that it still needs.
static const Statement unsealed = {
    .name = "journal_unsealed",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(j.at) FROM chain c JOIN sequence s ON s.tenant = c.tenant AND s.first ="
           " (SELECT MAX(b.first) FROM sequence b WHERE b.tenant = c.tenant"
           " AND b.first <= c.number + 1) JOIN journal j ON j.writer = s.writer AND j.n = s.n"
           " WHERE c.number < c.told",
};
static const Statement reach = {
    .name = "sequence_reach",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT first + count - 1 FROM sequence WHERE tenant = $1 ORDER BY first DESC LIMIT 1",
};
static const Statement next_kept = {
    .name = "sequence_next_kept",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT s.first FROM sequence s JOIN journal j ON j.writer = s.writer AND j.n = s.n"
           " WHERE s.tenant = $1 AND s.first > $2 ORDER BY s.first LIMIT 1",
};
static const Statement page = {
    .name = "journal_page",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT s.first, j.at, j.facts FROM sequence s JOIN journal j"
           " ON j.writer = s.writer AND j.n = s.n WHERE s.tenant = $1 AND s.first >= COALESCE("
           "(SELECT MAX(b.first) FROM sequence b WHERE b.tenant = $1 AND b.first <= $2 + 1), 0)"
           " AND s.first <= $2 + $3 ORDER BY s.first",
};

const Statement *const sequence_statements[] = {
    &writers, &unseen,        &last,     &insert, &tell,      &see,  &purge,
    &forget,  &purge_numbers, &unsealed, &reach,  &next_kept, &page, NULL,
};

// Line is what one writer has to show: its rows from at to end, in the order of their numbers.
typedef struct Line {
    int64_t writer, seen;
    size_t at, end;
    bool is_cut; // there may be more rows than were read
} Line;

typedef struct JournalRow {
    int64_t writer, n;
    Instant at;
    Str facts;
    Instant stands_at; // as at, but not before what it follows
} JournalRow;

// Mention is a move of a delivery that a row tells, and how far its life had come with that: what
// is at a later stage came later, whatever the clocks say.
typedef struct Mention {
    Uuid delivery;
    int64_t stage;
    size_t row;
} Mention;

// Place is a tenant's share of one transaction, and the numbers that it gets.
typedef struct Place {
    int64_t tenant, first, count, writer, n;
} Place;

typedef struct Slice {
    Line *lines;
    size_t line_count;
    JournalRow *rows;
    size_t row_count;
    Mention *mentions;
    size_t mention_count, mention_room;
    Place *places;
    size_t place_count, place_room;
} Slice;

static const Columns line_columns = COLUMNS(Line, COLUMN(Line, writer), COLUMN(Line, seen));
static const Columns row_columns =
    COLUMNS(JournalRow, COLUMN(JournalRow, writer), COLUMN(JournalRow, n),
            COLUMN_TIME(JournalRow, at), COLUMN(JournalRow, facts));
static const Columns place_columns =
    COLUMNS(Place, COLUMN(Place, tenant), COLUMN(Place, first), COLUMN(Place, count),
            COLUMN(Place, writer), COLUMN(Place, n));

static Err read_lines(Tx *tx, Slice *slice, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &writers, NULL, &rows, error));
    slice->line_count = rows.count;
    slice->lines = ARENA_ARRAY(&tx->arena, Line, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&line_columns, rows_at(&rows, i), &slice->lines[i]);
    return ERR_OK;
}

static int by_number(const void *a, const void *b)
{
    const JournalRow *x = a, *y = b;
    if (x->writer != y->writer)
        return x->writer < y->writer ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

// read_rows reads what is new of all writers, in one statement: one snapshot.
static Err read_rows(Tx *tx, Slice *slice, int limit, Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(&tx->arena, Value, slice->line_count * 3 + 1);
    for (size_t i = 0; i < slice->line_count; i++) {
        values[i * 3] = value_i64(slice->lines[i].writer);
        values[i * 3 + 1] = value_i64(slice->lines[i].seen);
        values[i * 3 + 2] = value_i64(limit);
    }
    db_send_many(tx->db, &tx->arena, &unseen, values, slice->line_count, &rows);
    TRY(tx_sync(tx, error));
    slice->row_count = rows.count;
    slice->rows = ARENA_ARRAY(&tx->arena, JournalRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&row_columns, rows_at(&rows, i), &slice->rows[i]);
    qsort(slice->rows, slice->row_count, sizeof *slice->rows, by_number);
    return ERR_OK;
}

// stand gives each writer its part of the rows.
static void stand(Slice *slice, int limit)
{
    for (size_t i = 0, at = 0; i < slice->line_count; i++) {
        Line *line = &slice->lines[i];
        while (at < slice->row_count && slice->rows[at].writer < line->writer)
            at++;
        line->at = line->end = at;
        while (line->end < slice->row_count && slice->rows[line->end].writer == line->writer)
            line->end++;
        line->is_cut = line->end - line->at >= (size_t) limit;
        at = line->end;
    }
}

static int64_t stage_of(const Move *move)
{
    if (move->from == MOVE_NOWHERE)
        return INT64_MIN;
    bool is_over = move->to != MOVE_NOWHERE && delivery_is_final((DeliveryState) move->to);
    return is_over ? INT64_MAX : move->attempt;
}

static void mention(Slice *slice, Arena *arena, const Move *move, size_t row)
{
    size_t size = sizeof *slice->mentions, room = slice->mention_room;
    if (slice->mention_count == room) {
        slice->mention_room = room ? room * 2 : 256;
        slice->mentions =
            arena_grow(arena, slice->mentions, room * size, slice->mention_room * size);
    }
    slice->mentions[slice->mention_count++] =
        (Mention){ .delivery = move->delivery, .stage = stage_of(move), .row = row };
}

static int by_stage(const void *a, const void *b)
{
    const Mention *x = a, *y = b;
    int order = uuid_cmp(x->delivery, y->delivery);
    if (order == 0)
        order = x->stage < y->stage ? -1 : x->stage > y->stage;
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static void mention_all(Slice *slice, Arena *arena)
{
    for (size_t i = 0; i < slice->row_count; i++) {
        FactRead read = fact_read(slice->rows[i].facts, slice->rows[i].at);
        Fact fact;
        while (fact_next(&read, &fact))
            if (fact_is_move(fact.kind))
                mention(slice, arena, &fact.move, i);
    }
    if (slice->mention_count > 0)
        qsort(slice->mentions, slice->mention_count, sizeof *slice->mentions, by_stage);
}

// follow_writers: no row stands before the one that its writer wrote before it. One that was given
// up has no moment of its own, and stands with that.
static void follow_writers(Slice *slice)
{
    for (size_t i = 0; i < slice->line_count; i++) {
        Instant before = INT64_MIN;
        for (size_t at = slice->lines[i].at; at < slice->lines[i].end; at++) {
            JournalRow *row = &slice->rows[at];
            bool is_lost = row->stands_at == INSTANT_NONE;
            row->stands_at = before = is_lost ? before : later(before, row->stands_at);
        }
    }
}

// follow_deliveries: no row stands before one that tells of an earlier stage of the same delivery.
// It says whether any had to be moved.
static bool follow_deliveries(Slice *slice)
{
    bool has_moved = false;
    const JournalRow *before = NULL, *latest = NULL; // of earlier stages; of this one too
    for (size_t i = 0; i < slice->mention_count; i++) {
        const Mention *now = &slice->mentions[i], *then = i > 0 ? now - 1 : NULL;
        JournalRow *row = &slice->rows[now->row];
        if (!then || uuid_cmp(then->delivery, now->delivery) != 0)
            before = latest = NULL;
        else if (then->stage != now->stage)
            before = latest;
        if (before && before != row && row->stands_at <= before->stands_at) {
            row->stands_at = before->stands_at + 1;
            has_moved = true;
        }
        if (!latest || row->stands_at >= latest->stands_at)
            latest = row;
    }
    return has_moved;
}

// line_up says where each row stands among those of the other writers. What moved one may move
// another; but a journal that contradicts itself is not looked at for ever.
static void line_up(Slice *slice, Arena *arena)
{
    enum { LOOKS_MAX = 100 };
    for (size_t i = 0; i < slice->row_count; i++)
        slice->rows[i].stands_at = slice->rows[i].at;
    mention_all(slice, arena);
    follow_writers(slice);
    for (int i = 0; i < LOOKS_MAX && follow_deliveries(slice); i++)
        follow_writers(slice);
}

static int by_writer(const void *a, const void *b)
{
    const Line *x = a, *y = b;
    return x->writer < y->writer ? -1 : x->writer > y->writer;
}

// earliest picks the writer whose next row is the oldest. NULL: all are through, or one was cut
// off, whose next row is not known and may be older than everybody else's.
static Line *earliest(Slice *slice)
{
    Line *found = NULL;
    for (size_t i = 0; i < slice->line_count; i++) {
        Line *line = &slice->lines[i];
        if (line->at == line->end && line->is_cut)
            return NULL;
        if (line->at == line->end)
            continue;
        if (!found || slice->rows[line->at].stands_at < slice->rows[found->at].stands_at)
            found = line;
    }
    return found;
}

static Place *place_of(Slice *slice, Arena *arena, const JournalRow *row, int64_t tenant)
{
    for (size_t i = slice->place_count; i-- > 0;) {
        Place *place = &slice->places[i];
        if (place->writer != row->writer || place->n != row->n)
            break;
        if (place->tenant == tenant)
            return place;
    }
    if (slice->place_count == slice->place_room) {
        slice->place_room = slice->place_room ? slice->place_room * 2 : 64;
        Place *places = ARENA_ARRAY(arena, Place, slice->place_room);
        if (slice->place_count)
            memcpy(places, slice->places, slice->place_count * sizeof *places);
        slice->places = places;
    }
    Place *place = &slice->places[slice->place_count++];
    *place = (Place){ .tenant = tenant, .writer = row->writer, .n = row->n };
    return place;
}

// count_facts adds the places of one transaction. What cannot be read any more is left out: it must
// not stand in the way of all that follows.
static void count_facts(Slice *slice, Arena *arena, const JournalRow *row)
{
    FactRead read = fact_read(row->facts, row->at);
    Fact fact;
    while (fact_next(&read, &fact))
        place_of(slice, arena, row, fact.tenant)->count++;
    if (read.is_bad)
        log_error("journal.unreadable", "writer=%lld n=%lld", (long long) row->writer,
                  (long long) row->n);
}

typedef struct Next {
    int64_t tenant, number;
} Next;

static int by_tenant(const void *a, const void *b)
{
    const Next *x = a, *y = b;
    return x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
}

// read_next finds out where the order of each tenant goes on.
static Err read_next(Tx *tx, const Slice *slice, Next **ret, size_t *ret_count, Error *error)
{
    Next *next = ARENA_ARRAY(&tx->arena, Next, slice->place_count + 1);
    Value *values = ARENA_ARRAY(&tx->arena, Value, slice->place_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < slice->place_count; i++)
        next[i] = (Next){ slice->places[i].tenant, 1 };
    qsort(next, slice->place_count, sizeof *next, by_tenant);
    for (size_t i = 0; i < slice->place_count; i++)
        if (count == 0 || next[count - 1].tenant != next[i].tenant)
            next[count++] = next[i];
    for (size_t i = 0; i < count; i++)
        values[i] = value_i64(next[i].tenant);
    Rows rows;
    db_send_many(tx->db, &tx->arena, &last, values, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Next key = { .tenant = value_to_i64(&rows_at(&rows, i)[0]) };
        Next *found = bsearch(&key, next, count, sizeof *next, by_tenant);
        assert(found);
        found->number = value_to_i64(&rows_at(&rows, i)[1]);
    }
    *ret = next;
    *ret_count = count;
    return ERR_OK;
}

// tell_chains tells how far each tenant's numbers go now; next is behind the last of them.
static void tell_chains(Tx *tx, const Next *next, size_t count)
{
    static const Sha256 none;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 4 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 4] = value_i64(next[i].tenant);
        values[i * 4 + 1] = value_i64(next[i].number - 1);
        values[i * 4 + 2] = value_bytes((Str){ (const char *) none.b, sizeof none.b });
        values[i * 4 + 3] = value_i64(tx->now);
    }
    db_send_many(tx->db, &tx->arena, &tell, values, count, NULL);
}

static void name_some(const Next *next, size_t count, Sequenced *ret)
{
    ret->count = count;
    for (size_t i = 0; i < count && i < SEQUENCE_TOLD; i++)
        ret->numbered[i] = (Numbered){ next[i].tenant, next[i].number - 1 };
}

static Err give_numbers(Tx *tx, Slice *slice, Sequenced *ret, Error *error)
{
    Next *next;
    size_t count;
    TRY(read_next(tx, slice, &next, &count, error));
    for (size_t i = 0; i < slice->place_count; i++) {
        Place *place = &slice->places[i];
        Next key = { .tenant = place->tenant };
        Next *found = bsearch(&key, next, count, sizeof *next, by_tenant);
        place->first = found->number;
        found->number += place->count;
    }
    db_send_rows(tx->db, &tx->arena, &insert, &place_columns, slice->places, slice->place_count,
                 NULL);
    tell_chains(tx, next, count);
    if (ret)
        name_some(next, count, ret);
    return ERR_OK;
}

// look reads what is new, and says whether any of it wants a number.
static Err look(Tx *tx, int limit, Slice *ret, bool *ret_wanted, Error *error)
{
    *ret = (Slice){ 0 };
    TRY(read_lines(tx, ret, error));
    TRY(read_rows(tx, ret, limit, error));
    qsort(ret->lines, ret->line_count, sizeof *ret->lines, by_writer);
    stand(ret, limit);
    *ret_wanted = false;
    for (size_t i = 0; i < ret->row_count; i++)
        *ret_wanted |= ret->rows[i].facts.len > 0;
    for (size_t i = 0; i < ret->line_count; i++)
        *ret_wanted |= ret->lines[i].is_cut;
    return ERR_OK;
}

Err sequence_run(Tx *tx, int limit, bool *ret_more, Sequenced *ret, Error *error)
{
    Slice slice;
    bool is_wanted, is_ours = false;
    *ret_more = false;
    if (ret)
        ret->count = 0;
    TRY(look(tx, limit, &slice, &is_wanted, error));
    if (!is_wanted) // the rows of those who only look would feed each other
        return ERR_OK;
    // Held for this transaction alone: whoever has something new may do it next. What another has
    // done meanwhile is seen by looking again.
    TRY(duty_lease(tx, SEQUENCE_LEASE, tx->writer, 0, &is_ours, error));
    if (!is_ours)
        return ERR_OK;
    TRY(look(tx, limit, &slice, &is_wanted, error));
    line_up(&slice, &tx->arena);
    for (Line *line; (line = earliest(&slice)) != NULL;) {
        const JournalRow *row = &slice.rows[line->at++];
        line->seen = row->n;
        count_facts(&slice, &tx->arena, row);
    }
    for (size_t i = 0; i < slice.line_count; i++)
        *ret_more |= slice.lines[i].is_cut || slice.lines[i].at < slice.lines[i].end;
    if (slice.place_count > 0)
        TRY(give_numbers(tx, &slice, ret, error));
    db_send_rows(tx->db, &tx->arena, &see, &line_columns, slice.lines, slice.line_count, NULL);
    return tx_sync(tx, error);
}

// purged_before is the moment before which rows may go: nothing goes that the audit still needs,
// nor what was written about the same time by others.
static Err purged_before(Tx *tx, Instant *ret, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &unsealed, NULL, &rows, error));
    Instant oldest = rows.count ? value_to_time(&rows.values[0]) : INSTANT_NONE;
    *ret = tx->now - JOURNAL_KEPT;
    if (oldest != INSTANT_NONE)
        *ret = earlier(*ret, oldest - SPAN_HOUR);
    return ERR_OK;
}

Err sequence_purge(Tx *tx, int limit, bool *ret_more, Error *error)
{
    Slice slice = { 0 };
    Rows rows = { 0 }, numbers;
    Value most = value_i64(limit);
    Instant before;
    TRY(purged_before(tx, &before, error));
    TRY(read_lines(tx, &slice, error));
    Value *values = ARENA_ARRAY(&tx->arena, Value, slice.line_count * 4 + 1);
    for (size_t i = 0; i < slice.line_count; i++) {
        values[i * 4] = value_i64(slice.lines[i].writer);
        values[i * 4 + 1] = value_i64(slice.lines[i].seen);
        values[i * 4 + 2] = value_i64(before);
        values[i * 4 + 3] = value_i64(limit);
    }
    db_send_many(tx->db, &tx->arena, &purge, values, slice.line_count, &rows);
    db_send(tx->db, &tx->arena, &forget, NULL, NULL);
    db_send(tx->db, &tx->arena, &purge_numbers, &most, &numbers);
    TRY(tx_sync(tx, error));
    *ret_more = rows.changed >= limit || numbers.changed >= limit;
    return ERR_OK;
}

// number_at is the number that a statement finds; 0 where it finds none.
static Err number_at(Db *db, Arena *arena, const Statement *statement, const Value *args,
                     int64_t *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, statement, args, &rows, error));
    *ret = rows.count ? value_to_i64(&rows.values[0]) : 0;
    return ERR_OK;
}

Err sequence_last(Db *db, Arena *arena, int64_t tenant, int64_t *ret, Error *error)
{
    Value args[] = { value_i64(tenant) };
    return number_at(db, arena, &reach, args, ret, error);
}

Err sequence_next_kept(Db *db, Arena *arena, int64_t tenant, int64_t after, int64_t *ret,
                       Error *error)
{
    Value args[] = { value_i64(tenant), value_i64(after) };
    return number_at(db, arena, &next_kept, args, ret, error);
}

Err journal_read(Db *db, Arena *arena, int64_t tenant, int64_t after, size_t limit,
                 JournalEntry **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(after), value_i64((int64_t) limit) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    JournalEntry *entries = ARENA_ARRAY(arena, JournalEntry, limit + 1);
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        JournalEntry entry = { .number = value_to_i64(&row[0]) - 1, .at = value_to_i64(&row[1]) };
        FactRead read = fact_read(value_to_str(&row[2]), entry.at);
        while (count < limit && fact_next(&read, &entry.fact))
            if (entry.fact.tenant == tenant && ++entry.number > after)
                entries[count++] = entry;
    }
    *ret = entries;
    *ret_count = count;
    return ERR_OK;
}
