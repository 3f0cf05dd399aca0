#include "store/epoch.h"

#include "base/crypto.h"
#include "base/file.h"
#include "base/log.h"
#include "store/generation.h"
#include "store/meta.h"

enum { OUTSIDE_MAX = 2, OUTSIDE_BYTES_MAX = 4096, ID_LEN = 32 };

// Outside is what the file says: the epoch, and while a new one is being made, that one too.
typedef struct Outside {
    Str path;
    Epoch rows[OUTSIDE_MAX];
    size_t count;
} Outside;

static const Statement get = {
    .name = "epoch_get",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT value FROM meta WHERE key = 'epoch'",
};
static const Statement lock = {
    .name = "epoch_lock",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT value FROM meta WHERE key = 'epoch'",
    .postgres = "SELECT value FROM meta WHERE key = 'epoch' FOR UPDATE", // two nodes may raise
};
static const Statement vouch = {
    .name = "epoch_vouch",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT $1",
    .postgres = "SELECT pg_try_advisory_lock_shared($1)",
};
static const Statement vouchers = {
    .name = "epoch_vouchers",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT 0 WHERE $1 = $2",
    .postgres = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                " AND objsubid = 1 AND CAST(classid AS BIGINT) = $1"
                " AND CAST(objid AS BIGINT) = $2 AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())",
};

static const Statement leap = {
    .name = "epoch_leap",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    // Nodes may know a later generation of what this database was: theirs must not look current.
    .sql = "UPDATE generation SET n = n + 1000000 WHERE one = 1",
};

const Statement *const epoch_statements[] = { &get, &lock, &vouch, &vouchers, &leap, NULL };

Str epoch_reason(EpochFinding finding)
{
    static const char *const reasons[] = {
        [EPOCH_FIRST] = NULL,
        [EPOCH_SAME] = NULL,
        [EPOCH_OLDER] = "this database is older than it was when this node last saw it: a restored"
                        " backup, a copy, or a failover that lost its last commits",
        [EPOCH_UNKNOWN] = "this node does not know this database, and no node that does is running:"
                          " a copy, a new node, or a lost state folder",
        [EPOCH_MOVED] = "this database is a copy: it is not the file or the server that it was",
    };
    assert((size_t) finding < ARRAY_LEN(reasons));
    return str_from(reasons[finding]);
}

// parse reads "id number"; false where it is neither.
static bool parse(Str text, Epoch *ret)
{
    Epoch epoch = { .id = str_cut(&text, ' ') };
    if (epoch.id.len != ID_LEN || !str_to_i64(text, 0, INT64_MAX - 1, &epoch.number))
        return false;
    *ret = epoch;
    return true;
}

static Str print(Arena *arena, const Epoch *epoch)
{
    return str_format(arena, "%.*s %lld", STR_ARG(epoch->id), (long long) epoch->number);
}

Err epoch_get(Db *db, Arena *arena, Epoch *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &get, NULL, &rows, error));
    if (rows.count == 0 || !parse(value_to_str(&rows.values[0]), ret))
        return fail(error, ERR_CORRUPT, "the epoch in the database cannot be read");
    return ERR_OK;
}

// The file

Str epoch_path(Db *db, Arena *arena, const EpochGuard *guard)
{
    Str place = db_place(db, arena);
    if (!db_is_postgres(db))
        return str_format(arena, "%.*s.epoch", STR_ARG(place));
    Sha256 hash = sha256(place);
    return str_format(arena, "%.*s/epoch-%.*s", STR_ARG(guard->state_folder),
                      STR_ARG(hex_text(arena, hash.b, 8)));
}

// read_outside takes a file that is not there, or that nobody may read, for one that says nothing;
// one that cannot be read just now is no reason to doubt anything, and fails.
static Err read_outside(Db *db, Arena *arena, const EpochGuard *guard, Outside *ret, Error *error)
{
    Str rest;
    *ret = (Outside){ .path = epoch_path(db, arena, guard) };
    TRY(file_get(arena, ret->path, OUTSIDE_BYTES_MAX, &rest, error));
    while (rest.len > 0 && ret->count < OUTSIDE_MAX)
        ret->count += parse(str_cut(&rest, '\n'), &ret->rows[ret->count]);
    return ERR_OK;
}

static Str outside_text(Db *db, Arena *arena, const Outside *outside)
{
    Buf text = buf_new(arena, OUTSIDE_BYTES_MAX);
    for (size_t i = 0; i < outside->count; i++)
        buf_add_format(&text, "%.*s\n", STR_ARG(print(arena, &outside->rows[i])));
    buf_add_format(&text,
                   "# The epoch of this node's store: do not copy, restore or edit it. %.*s\n",
                   STR_ARG(db_place(db, arena)));
    return buf_str(&text);
}

// Comparing

static EpochFinding compare(const Epoch *inside, const Outside *outside)
{
    for (size_t i = 0; i < outside->count; i++)
        if (str_eq(outside->rows[i].id, inside->id))
            return inside->number < outside->rows[i].number ? EPOCH_OLDER : EPOCH_SAME;
    return EPOCH_UNKNOWN;
}

// lock_key is the number under which PostgreSQL keeps the lock of those who know the epoch.
static uint64_t lock_key(Str id)
{
    uint64_t key = 0;
    for (size_t i = 0; i < 16; i++)
        key = key << 4 | (uint64_t) str_hex_value(id.at[i]);
    return key;
}

static Err is_vouched_for(Db *db, Arena *arena, Str id, bool *ret, Error *error)
{
    *ret = false;
    if (!db_is_postgres(db))
        return ERR_OK; // the file is locked: nobody else lives
    Rows rows;
    uint64_t key = lock_key(id);
    Value args[] = { value_i64((int64_t) (key >> 32)), value_i64((int64_t) (key & UINT32_MAX)) };
    TRY(db_query(db, arena, &vouchers, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]) > 0;
    return ERR_OK;
}

static Err find(Db *db, Arena *arena, const Statement *statement, const Outside *outside,
                Epoch *ret_inside, EpochFinding *ret, Error *error)
{
    Rows rows;
    Str was, is;
    *ret = EPOCH_FIRST;
    TRY(db_query(db, arena, statement, NULL, &rows, error));
    if (rows.count == 0)
        return ERR_OK;
    if (!parse(value_to_str(&rows.values[0]), ret_inside))
        return fail(error, ERR_CORRUPT, "the epoch in the database cannot be read");
    *ret = compare(ret_inside, outside);
    bool is_known = false;
    if (*ret == EPOCH_UNKNOWN)
        TRY(is_vouched_for(db, arena, ret_inside->id, &is_known, error));
    if (is_known)
        *ret = EPOCH_SAME;
    TRY(meta_get(db, arena, META_IDENTITY, &was, error));
    TRY(meta_identity(db, arena, &is, error));
    if (was.at && !str_eq(was, is) && *ret != EPOCH_OLDER)
        *ret = EPOCH_MOVED;
    return ERR_OK;
}

Err epoch_look(Db *db, Arena *arena, const EpochGuard *guard, EpochFinding *ret, Error *error)
{
    Epoch inside;
    Outside outside;
    TRY(read_outside(db, arena, guard, &outside, error));
    return find(db, arena, &get, &outside, &inside, ret, error);
}

// Raising and holding

// put sets the epoch inside and takes the lock by which other nodes see that this one knows it.
static void put(Tx *tx, const Epoch *epoch)
{
    Value args[] = { value_i64((int64_t) lock_key(epoch->id)) };
    meta_put(tx, META_EPOCH, print(&tx->arena, epoch));
    if (db_is_postgres(tx->db))
        db_send(tx->db, &tx->arena, &vouch, args, NULL);
}

// renew makes a new epoch: outside first, beside what is there.
static Err renew(Tx *tx, Outside *outside, Epoch *ret, Error *error)
{
    uint8_t id[ID_LEN / 2];
    Str identity;
    Random random = random_system();
    random_fill(&random, id, sizeof id);
    *ret = (Epoch){ .id = hex_text(&tx->arena, id, sizeof id) };
    TRY(meta_identity(tx->db, &tx->arena, &identity, error));
    outside->count = outside->count > 0 ? 1 : 0;
    outside->rows[outside->count++] = *ret;
    TRY(file_put(&tx->arena, outside->path, outside_text(tx->db, &tx->arena, outside), error));
    ret->number = 1;
    meta_put(tx, META_IDENTITY, identity);
    put(tx, ret);
    return ERR_OK;
}

static void end_hold(Tx *tx)
{
    meta_remove(tx, META_HOLD);
    meta_remove(tx, META_DOUBT);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_RELEASED, 0, STR_NONE);
}

static void begin_hold(Tx *tx, Str reason)
{
    meta_put(tx, META_HOLD, reason);
    meta_put(tx, META_DOUBT, reason);
    db_send(tx->db, &tx->arena, &leap, NULL, NULL);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_HELD, 0, reason);
}

static Err hold(Tx *tx, EpochFinding finding, Error *error)
{
    Str doubt;
    Str reason =
        str_format(&tx->arena, "%.*s; `peal release` lets it send", STR_ARG(epoch_reason(finding)));
    TRY(meta_get(tx->db, &tx->arena, META_DOUBT, &doubt, error));
    if (str_eq(doubt, reason))
        return ERR_OK;
    log_error("store.doubted", "detail=%s", log_quote(reason));
    begin_hold(tx, reason);
    return ERR_OK;
}

// meet compares and acts on what it finds; ret is the epoch from now on, without an id when held.
static Err meet(Tx *tx, const EpochGuard *guard, bool adopts, Epoch *ret, Error *error)
{
    EpochFinding finding;
    Epoch inside = { 0 };
    Outside outside;
    TRY(read_outside(tx->db, &tx->arena, guard, &outside, error));
    TRY(find(tx->db, &tx->arena, &lock, &outside, &inside, &finding, error));
    if (finding == EPOCH_FIRST) {
        Rows rows;
        TRY(db_query(tx->db, &tx->arena, &generation_lock, NULL, &rows, error));
        TRY(find(tx->db, &tx->arena, &lock, &outside, &inside, &finding, error));
    }
    *ret = (Epoch){ 0 };
    if (finding == EPOCH_FIRST)
        return renew(tx, &outside, ret, error);
    if (finding == EPOCH_SAME) {
        *ret = (Epoch){ inside.id, inside.number + 1 };
        put(tx, ret);
        return ERR_OK;
    }
    if (!adopts)
        return hold(tx, finding, error);
    log_warn("store.adopted", "detail=%s", log_quote(epoch_reason(finding)));
    end_hold(tx);
    return renew(tx, &outside, ret, error);
}

// to_keep is what stands outside once the epoch is committed: nothing new for a held database.
static EpochRaise to_keep(Db *db, Arena *arena, const EpochGuard *guard, const Epoch *epoch)
{
    if (!epoch->id.at)
        return (EpochRaise){ 0 };
    Outside outside = { .path = epoch_path(db, arena, guard), .rows = { *epoch }, .count = 1 };
    return (EpochRaise){ outside.path, outside_text(db, arena, &outside) };
}

Err epoch_raise(Tx *tx, const EpochGuard *guard, Arena *arena, EpochRaise *ret, Error *error)
{
    Epoch epoch;
    TRY(tx_sync(tx, error));
    TRY(meet(tx, guard, false, &epoch, error));
    *ret = to_keep(tx->db, arena, guard, &epoch);
    return ERR_OK;
}

void epoch_keep(const EpochRaise *raised)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    // Where it fails, outside stays behind, which is no harm but that a copy is noticed later.
    if (raised->path.at && file_put(&arena, raised->path, raised->text, &error) != ERR_OK)
        log_warn("epoch.unkept", "detail=%s", log_quote(str_from(error.detail)));
}

// begin_alone begins a transaction on a connection for which no snapshot of definitions is loaded
// yet, so that there is none to be outdated.
static void begin_alone(Tx *tx, Db *db, Instant now)
{
    Random random = random_system();
    *tx = (Tx){
        .db = db, .now = now, .is_guarded = true, .writer = journal_stranger(&random), .n = 1
    };
    tx->facts = fact_pack(&tx->arena, now);
    db_begin(db);
}

Err epoch_check(Db *db, const EpochGuard *guard, bool may_adopt, Instant now, Error *error)
{
    Tx tx;
    Epoch epoch;
    begin_alone(&tx, db, now);
    Err err = meet(&tx, guard, may_adopt && guard->adopts, &epoch, error);
    if (err == ERR_OK)
        err = tx_finish(&tx, error);
    else
        db_rollback(db);
    if (err == ERR_OK) {
        EpochRaise raised = to_keep(db, &tx.arena, guard, &epoch);
        epoch_keep(&raised);
    }
    arena_done(&tx.arena);
    return err;
}

Err epoch_doubt(Db *db, Str reason, Instant now, Error *error)
{
    Tx tx;
    begin_alone(&tx, db, now);
    begin_hold(&tx, reason);
    Err err = tx_finish(&tx, error);
    if (err != ERR_OK)
        db_rollback(db);
    arena_done(&tx.arena);
    return err;
}

Err epoch_release(Tx *tx, const EpochGuard *guard, Error *error)
{
    Epoch epoch;
    Str doubt;
    TRY(tx_sync(tx, error));
    TRY(meta_get(tx->db, &tx->arena, META_DOUBT, &doubt, error));
    end_hold(tx);
    if (!doubt.at)
        return ERR_OK;
    Outside outside;
    TRY(read_outside(tx->db, &tx->arena, guard, &outside, error));
    return renew(tx, &outside, &epoch, error);
}
