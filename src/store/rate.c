#include "store/rate.h"

#include "store/columns.h"

// What is inserted asks for as much as is wanted; where the window runs already, it is cut to what
// is left of it. A node whose clock is behind a window that has begun gets nothing.
#define LEFT                                                                                       \
    "(CASE WHEN rate.window_at = excluded.window_at THEN excluded.max - rate.spent"                \
    " ELSE excluded.max END)"
#define GRANTED                                                                                    \
    "(CASE WHEN " LEFT " <= 0 THEN 0 WHEN " LEFT " < excluded.granted THEN " LEFT                  \
    " ELSE excluded.granted END)"
#define TAKE_OVER                                                                                  \
    " ON CONFLICT (lane) DO UPDATE SET window_at = excluded.window_at, max = excluded.max,"        \
    " spent = excluded.max - " LEFT " + " GRANTED ", granted = " GRANTED ", future ="              \
    " excluded.future WHERE rate.window_at <= excluded.window_at"                                  \
    " OR rate.window_at > excluded.future RETURNING lane, granted"

static const Statement take = {
    .name = "rate_take",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiii",
    .many = true,
    .sql = "INSERT INTO rate (lane, window_at, max, spent, granted, future)"
           " VALUES ($1, $2, $3, $4, $4, $5)" TAKE_OVER,
    .postgres = "INSERT INTO rate (lane, window_at, max, spent, granted, future)"
                " SELECT u.lane, u.window_at, u.max, u.wanted, u.wanted, u.future"
                " FROM unnest($1, $2, $3, $4, $5) AS u (lane, window_at, max, wanted, future)"
                " ORDER BY u.lane" TAKE_OVER,
};

static const Statement give_back = {
    .name = "rate_return",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .sql = "UPDATE rate SET spent = spent - $3 WHERE lane = $1 AND window_at = $2",
};

const Statement *const rate_statements[] = { &take, &give_back, NULL };

static const Columns columns =
    COLUMNS(RateShare, COLUMN(RateShare, lane), COLUMN(RateShare, window_at),
            COLUMN(RateShare, max), COLUMN(RateShare, wanted), COLUMN(RateShare, future));

void rate_take(Tx *tx, Arena *arena, const RateShare *shares, size_t count, Rows *ret)
{
    for (size_t i = 0; i < count; i++)
        assert(shares[i].wanted > 0 && shares[i].wanted <= shares[i].max);
    db_send_rows(tx->db, arena, &take, &columns, shares, count, ret);
}

void rate_granted(const Rows *rows, RateShare *shares, size_t count)
{
    for (size_t i = 0; i < count; i++)
        shares[i].granted = 0;
    for (size_t r = 0; r < rows->count; r++) {
        const Value *row = rows_at(rows, r);
        for (size_t i = 0; i < count; i++)
            if (shares[i].lane == value_to_i64(&row[0]))
                shares[i].granted = value_to_i64(&row[1]);
    }
}

void rate_return(Tx *tx, const RateShare *share, int64_t unused)
{
    Value args[] = { value_i64(share->lane), value_i64(share->window_at), value_i64(unused) };
    assert(unused <= share->granted);
    if (unused > 0)
        db_send(tx->db, &tx->arena, &give_back, args, NULL);
}
