#include "store/walk.h"

#include "base/json.h"
#include "store/columns.h"

// find_edge narrows the bounds to what the walk may meet; false where it meets all there is.
static Err find_edge(Db *db, Arena *arena, const IdSource *source, int64_t met_max,
                     IdBounds *bounds, bool *ret, Error *error)
{
    Rows rows;
    bounds->limit = met_max - 1;
    db_send_row(db, arena, source->edge, source->edge_columns, bounds, &rows);
    TRY(db_sync(db, error));
    *ret = rows.count > 0;
    if (*ret)
        bounds->to = value_to_uuid(&rows.values[0]);
    return ERR_OK;
}

int64_t walk_met_max(const Walk *walk, WalkCost cost)
{
    if (walk->met_max)
        return walk->met_max;
    return cost == WALK_FAR ? WALK_FAR_MAX : WALK_MAX;
}

Err walk_ids(Db *db, Arena *arena, const IdSource *source, WalkCost cost, const Walk *walk,
             IdBounds *bounds, IdsSeen *ret, Error *error)
{
    Rows rows;
    bool has_edge = false;
    size_t limit = (size_t) walk->limit;
    assert(walk->limit > 0);
    if (cost != WALK_DENSE)
        TRY(find_edge(db, arena, source, walk_met_max(walk, cost), bounds, &has_edge, error));
    bounds->limit = walk->limit + 1;
    db_send_row(db, arena, source->find, source->find_columns, bounds, &rows);
    TRY(db_sync(db, error));
    IdsSeen seen = { .ids = ARENA_ARRAY(arena, Uuid, rows.count + 1), .next = bounds->to };
    for (size_t i = 0; i < rows.count; i++)
        seen.ids[i] = value_to_uuid(rows_at(&rows, i));
    seen.count = rows.count < limit ? rows.count : limit;
    seen.has_more = has_edge || rows.count > limit;
    if (rows.count > limit)
        seen.next = seen.ids[limit - 1];
    *ret = seen;
    return ERR_OK;
}

Err walk_unknown(Error *error)
{
    return fail(error, ERR_MALFORMED, "the cursor is none that was given");
}

Err walk_after(const Walk *walk, bool is_down, Uuid *from, Error *error)
{
    Uuid after;
    if (!walk->after.at)
        return ERR_OK;
    if (walk->after.len != sizeof after.b)
        return walk_unknown(error);
    memcpy(after.b, walk->after.at, sizeof after.b);
    int order = uuid_cmp(after, *from);
    if (is_down ? order < 0 : order > 0)
        *from = after;
    return ERR_OK;
}

Err walk_after_text(const Walk *walk, Str *ret, Error *error)
{
    if (walk->after.at && !str_is_utf8(walk->after))
        return walk_unknown(error);
    *ret = walk->after.at ? walk->after : S("");
    return ERR_OK;
}

Str walk_place(Arena *arena, Uuid id)
{
    return str_dup(arena, (Str){ (const char *) id.b, sizeof id.b });
}

Str walk_place_number(Arena *arena, int64_t n)
{
    return str_format(arena, "%lld", (long long) n);
}

Err walk_after_number(const Walk *walk, int64_t *ret, Error *error)
{
    *ret = 0;
    if (walk->after.at && !str_to_i64(walk->after, 1, INT64_MAX, ret))
        return walk_unknown(error);
    return ERR_OK;
}

// add_pattern adds one that finds a word anywhere.
static void add_pattern(JsonOut *json, Arena *arena, Str word)
{
    Buf pattern = buf_new(arena, word.len * 2 + 2);
    buf_add_char(&pattern, '%');
    for (size_t i = 0; i < word.len; i++) {
        if (word.at[i] == '%' || word.at[i] == '_' || word.at[i] == '!')
            buf_add_char(&pattern, '!');
        buf_add_char(&pattern, str_lower_char(word.at[i]));
    }
    buf_add_char(&pattern, '%');
    json_add_str(json, buf_str(&pattern));
}

Str walk_words(Arena *arena, Str q)
{
    size_t count = 0;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut json = json_out(&text);
    json_open(&json, '[');
    while (q.len > 0) {
        Str word = str_cut(&q, ' ');
        if (word.len == 0)
            continue;
        add_pattern(&json, arena, word);
        count++;
    }
    json_close(&json, ']');
    return count ? buf_str(&text) : STR_NONE;
}

Seen walk_counted(const Walk *walk, size_t found, bool is_full, bool has_edge)
{
    size_t limit = (size_t) walk->limit;
    Seen seen = { .count = found < limit ? found : limit,
                  .has_more = found > limit || is_full || has_edge,
                  .next = STR_NONE };
    seen.is_cut = seen.has_more && seen.count < limit;
    return seen;
}

Seen walk_seen(Arena *arena, const IdsSeen *found, size_t taken, size_t shown, const Walk *walk)
{
    assert(taken <= found->count && shown <= taken);
    bool is_full = taken < found->count;
    Seen seen = walk_counted(walk, shown, is_full, found->has_more);
    Uuid next = is_full ? found->ids[taken - 1] : found->next;
    if (seen.has_more)
        seen.next = walk_place(arena, next);
    return seen;
}

Err walk_rows(Db *db, Arena *arena, const Statement *statement, int64_t tenant,
              const IdsSeen *found, Rows *ret, Error *error)
{
    Value *values = ARENA_ARRAY(arena, Value, found->count * 2 + 1);
    for (size_t i = 0; i < found->count; i++) {
        values[i * 2] = value_i64(tenant);
        values[i * 2 + 1] = value_uuid(&found->ids[i]);
    }
    db_page(db);
    db_send_many(db, arena, statement, values, found->count, ret);
    return db_sync(db, error);
}

size_t walk_taken(const IdsSeen *found, const Rows *rows, size_t column)
{
    size_t taken = found->count;
    if (!rows->is_cut)
        return taken;
    assert(rows->count > 0);
    Uuid last = value_to_uuid(&rows_at(rows, rows->count - 1)[column]);
    while (taken > 0 && uuid_cmp(found->ids[taken - 1], last) != 0)
        taken--;
    return taken;
}
