#include "store/preference.h"

#include "store/definition.h"
#include "store/lane.h"

static const Statement put = {
    .name = "preference_put",
    .scope = STATEMENT_TENANT,
    .params = "ittttiu",
    .sql = "INSERT INTO preference (tenant, key, address, opt_out, channel, updated_at, id)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, key) DO UPDATE SET"
           " address = excluded.address, opt_out = excluded.opt_out, channel = excluded.channel,"
           " updated_at = excluded.updated_at",
};
static const Statement get = {
    .name = "preference_get",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT address, opt_out, channel, updated_at FROM preference"
           " WHERE tenant = $1 AND key = $2",
};
static const Statement page = {
    .name = "preference_page",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "SELECT address, opt_out, channel, updated_at, id FROM preference"
           " WHERE tenant = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
};
static const Statement drop = {
    .name = "preference_delete",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "DELETE FROM preference WHERE tenant = $1 AND key = $2",
};
static const Statement find = {
    .name = "preference_find",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .many = true,
    .sql = "SELECT $3, address, opt_out, channel FROM preference WHERE tenant = $1 AND key = $2",
    .postgres = "SELECT u.n, p.address, p.opt_out, p.channel"
                " FROM unnest($1, $2, $3) AS u (tenant, key, n)"
                " JOIN preference p ON p.tenant = u.tenant AND p.key = u.key",
};
static const Statement mark = {
    .name = "preference_mark",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "UPDATE tenant SET has_preferences = 1, generation = $2 WHERE tenant = $1",
};

const Statement *const preference_statements[] = { &put, &get, &page, &drop, &find, &mark, NULL };

bool preference_any(const Registry *registry, int64_t tenant)
{
    const RegistryTenant *of = registry_tenant(registry, tenant);
    return of && of->has_preferences;
}

// mark_tenant lets every node know that this tenant's addresses are to be looked up.
static Err mark_tenant(Tx *tx, int64_t tenant, Error *error)
{
    if (preference_any(tx->registry, tenant))
        return ERR_OK;
    TRY(definition_lock(tx, error));
    Value args[] = { value_i64(tenant), value_i64(definition_generation(tx)) };
    db_send(tx->db, &tx->arena, &mark, args, NULL);
    tx->changes_definitions = true;
    return ERR_OK;
}

static Str text_of(Arena *arena, const Json *json, Str none)
{
    return json ? json_text(arena, json) : none;
}

Err preference_put(Tx *tx, int64_t tenant, const Preference *preference, Error *error)
{
    Uuid id = uuid_new(tx->now, tx->random);
    Str key = preference_key(&tx->arena, preference->address);
    if (!key.at)
        return fail(error, ERR_INVALID, "the address is empty");
    TRY(mark_tenant(tx, tenant, error));
    for (JsonIter it = json_each(preference->channel); json_next(&it);) {
        TRY(definition_lock(tx, error));
        TRY(lane_ensure(tx, tenant, json_str(it.value), error));
    }
    Value args[] = { value_i64(tenant),
                     value_text(key),
                     value_text(preference->address),
                     value_text(text_of(&tx->arena, preference->opt_out, S("[]"))),
                     value_text(text_of(&tx->arena, preference->channel, S("{}"))),
                     value_i64(tx->now),
                     value_uuid(&id) };
    db_send(tx->db, &tx->arena, &put, args, NULL);
    return ERR_OK;
}

// read_row reads address, opt_out and channel.
static Err read_row(Arena *arena, const Value *row, Preference *ret, Error *error)
{
    ret->address = value_to_str(&row[0]);
    TRY(json_parse(arena, value_to_str(&row[1]), &ret->opt_out, error));
    return json_parse(arena, value_to_str(&row[2]), &ret->channel, error);
}

static Err none(Error *error)
{
    return fail(error, ERR_NOT_FOUND, "there is no preference of this address");
}

Err preference_get(Db *db, Arena *arena, int64_t tenant, Str address, PreferenceRow *ret,
                   Error *error)
{
    Rows rows;
    Str key = preference_key(arena, address);
    Value args[] = { value_i64(tenant), value_text(key) };
    TRY(db_query(db, arena, &get, args, &rows, error));
    if (rows.count == 0)
        return none(error);
    TRY(read_row(arena, rows.values, &ret->preference, error));
    ret->updated_at = value_to_i64(&rows.values[3]);
    return ERR_OK;
}

Err preference_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, PreferenceRow **ret,
                    Seen *ret_seen, Error *error)
{
    Rows rows;
    Uuid before = uuid_ceiling(INSTANT_NONE);
    TRY(walk_after(walk, true, &before, error));
    Value args[] = { value_i64(tenant), value_uuid(&before), value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    PreferenceRow *found = ARENA_ARRAY(arena, PreferenceRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        TRY(read_row(arena, rows_at(&rows, i), &found[i].preference, error));
        found[i].updated_at = value_to_i64(&rows_at(&rows, i)[3]);
    }
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, value_to_uuid(&rows_at(&rows, ret_seen->count - 1)[4]));
    return ERR_OK;
}

Err preference_delete(Tx *tx, int64_t tenant, Str address, Error *error)
{
    Rows rows;
    Str key = preference_key(&tx->arena, address);
    Value args[] = { value_i64(tenant), value_text(key) };
    TRY(tx_query(tx, &drop, args, &rows, error));
    return rows.changed > 0 ? ERR_OK : none(error);
}

Err preference_find_all(Tx *tx, PreferenceAsk *asks, size_t count, Error *error)
{
    Rows rows;
    size_t used = 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        Str key = preference_any(tx->registry, asks[i].tenant)
                      ? preference_key(&tx->arena, asks[i].address)
                      : STR_NONE;
        if (!key.at)
            continue;
        Value *row = values + 3 * used++;
        row[0] = value_i64(asks[i].tenant);
        row[1] = value_text(key);
        row[2] = value_i64((int64_t) i);
    }
    if (used == 0)
        return ERR_OK;
    db_send_many(tx->db, &tx->arena, &find, values, used, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        Preference *found = &asks[value_to_i64(&row[0])].found;
        // One that somebody damaged is passed over: it must not stop the others.
        if (read_row(&tx->arena, row + 1, found, NULL) != ERR_OK)
            *found = (Preference){ 0 };
    }
    return ERR_OK;
}

int64_t preference_lane(const Registry *registry, const Trigger *trigger,
                        const Preference *preference)
{
    Str instead = preference_instead(preference->channel, trigger->channel);
    // What has no channel has a lane too, by no name: that one stands in for nothing.
    int64_t lane = instead.len ? registry_lane_of(registry, trigger->rule.tenant, instead) : 0;
    return lane ? lane : trigger->rule.lane;
}

// ask_for lists the addresses of a delivery: its promise's, and those of its targets.
static size_t ask_for(const Claimed *claimed, PreferenceAsk *ret)
{
    const Promise *promise = &claimed->promise;
    ret[0] = (PreferenceAsk){ .tenant = promise->tenant, .address = promise->address };
    for (size_t i = 0; i < claimed->target_count; i++)
        ret[i + 1] =
            (PreferenceAsk){ .tenant = promise->tenant, .address = claimed->targets[i].address };
    return claimed->target_count + 1;
}

// note_wishes is ask_for once that is answered.
static size_t note_wishes(Claimed *claimed, Str channel, const PreferenceAsk *asked)
{
    claimed->is_opted_out = preference_opts_out(asked[0].found.opt_out, channel);
    for (size_t i = 0; i < claimed->target_count; i++)
        claimed->targets[i].opts_out = preference_opts_out(asked[i + 1].found.opt_out, channel);
    return claimed->target_count + 1;
}

Err preference_screen(Tx *tx, Claim *claim, Error *error)
{
    size_t count = 0, noted = 0;
    bool is_asked = false;
    for (size_t i = 0; i < claim->count; i++) {
        count += claim->claimed[i].target_count + 1;
        is_asked |= preference_any(tx->registry, claim->claimed[i].promise.tenant);
    }
    if (!is_asked)
        return ERR_OK;
    PreferenceAsk *asks = ARENA_ARRAY(&tx->arena, PreferenceAsk, count + 1);
    count = 0;
    for (size_t i = 0; i < claim->count; i++)
        count += ask_for(&claim->claimed[i], asks + count);
    TRY(preference_find_all(tx, asks, count, error));
    for (size_t i = 0; i < claim->count; i++) {
        Claimed *claimed = &claim->claimed[i];
        const RegistryLane *lane = registry_lane(tx->registry, claimed->promise.lane);
        noted += note_wishes(claimed, lane ? lane->channel_key : STR_NONE, asks + noted);
    }
    return ERR_OK;
}
