#include "store/audit.h"

#include "base/log.h"
#include "store/audit_key.h"
#include "store/audit_known.h"
#include "store/columns.h"
#include "store/duty.h"
#include "store/sequence.h"

enum { CHAINS_MAX = 64, TARGETS_AT_ONCE = 5000 }; // of one slice

static const Statement behind = {
    .name = "audit_behind",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant, told, number, seq, link FROM chain WHERE number < told"
           " ORDER BY sealed_at LIMIT $1",
};
// Where another block lies in its place, somebody put it there: the chain goes on, verify names it,
// and the sweep puts the true one back (audit_mend.h).
static const Statement insert = {
    .name = "audit_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiibbt",
    .many = true,
    .sql = "INSERT INTO audit (tenant, seq, first, body, link, target)"
           " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, seq) DO NOTHING",
    .postgres = "INSERT INTO audit (tenant, seq, first, body, link, target)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6)"
                " ON CONFLICT (tenant, seq) DO NOTHING",
};
static const Statement move_on = {
    .name = "audit_move_on",
    .scope = STATEMENT_TENANT,
    .params = "iiibi",
    .many = true,
    .sql = "UPDATE chain SET number = $2, seq = $3, link = $4, sealed_at = $5 WHERE tenant = $1",
    .postgres = "UPDATE chain SET number = u.number, seq = u.seq, link = u.link,"
                " sealed_at = u.sealed_at FROM unnest($1, $2, $3, $4, $5)"
                " AS u (tenant, number, seq, link, sealed_at) WHERE chain.tenant = u.tenant",
};

static const Statement bring = {
    .name = "audit_bring",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "INSERT INTO audit_brought (tenant, event, number) VALUES ($1, $2, $3)"
           " ON CONFLICT (tenant, event) DO NOTHING RETURNING tenant, event, number",
    .postgres = "INSERT INTO audit_brought (tenant, event, number)"
                " SELECT * FROM unnest($1, $2, $3)"
                " ON CONFLICT (tenant, event) DO NOTHING RETURNING tenant, event, number",
};

static const Statement was_brought = {
    .name = "audit_brought",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT tenant, event, number FROM audit_brought WHERE tenant = $1 AND event = $2"
           " AND number = $3",
    .postgres = "SELECT b.tenant, b.event, b.number FROM unnest($1, $2, $3)"
                " AS u (tenant, event, number) JOIN audit_brought b ON b.tenant = u.tenant"
                " AND b.event = u.event AND b.number = u.number",
};

const Statement *const audit_statements[] = {
    &behind, &bring, &was_brought, &insert, &move_on, NULL
};

// Chain is one that is sealed on: what is told in it now.
typedef struct Chain {
    int64_t tenant, told, number;
    AuditHead head;
    Instant sealed_at;
    JournalEntry *facts;
    size_t fact_count;
    AuditTold *rows;
    size_t row_count, row_room;
} Chain;

// Brought is which fact was told under an id that others may tell as well.
typedef struct Brought {
    int64_t tenant;
    Uuid event;
    int64_t number;
} Brought;

// Slice is what is sealed in one transaction.
typedef struct Slice {
    Chain *chains;
    size_t chain_count;
    AuditMoved *moved; // of each move, in the order of the chains and their facts
    size_t moved_count;
    size_t row_count; // of all chains
} Slice;

static const Columns chain_columns =
    COLUMNS(Chain, COLUMN(Chain, tenant), COLUMN(Chain, told), COLUMN(Chain, number),
            COLUMN(Chain, head.seq), COLUMN(Chain, head.link));
static const Columns moved_columns =
    COLUMNS(Chain, COLUMN(Chain, tenant), COLUMN(Chain, number), COLUMN(Chain, head.seq),
            COLUMN(Chain, head.link), COLUMN(Chain, sealed_at));
static const Columns block_columns = COLUMNS(
    AuditBlock, COLUMN(AuditBlock, tenant), COLUMN(AuditBlock, last), COLUMN(AuditBlock, first),
    COLUMN_BYTES(AuditBlock, body), COLUMN(AuditBlock, link), COLUMN(AuditBlock, targets));
static const Columns brought_columns =
    COLUMNS(Brought, COLUMN(Brought, tenant), COLUMN(Brought, event), COLUMN(Brought, number));

void audit_take(Tx *tx, int64_t tenant, const AuditBrought *brought)
{
    tx_fact(tx, FACT_AUDIT_BROUGHT, tenant, audit_brought_pack(&tx->arena, brought));
}

size_t audit_some(const JournalEntry *facts, size_t count, size_t most)
{
    size_t kept = 0;
    for (size_t targets = 0; kept < count && targets <= most; kept++)
        targets += told_count(facts[kept].fact.move.targets);
    return kept;
}

// read_facts reads what each chain that is behind gets sealed: an equal share.
static Err read_facts(Tx *tx, int limit, Slice *slice, Error *error)
{
    Rows rows;
    Value most = value_i64(CHAINS_MAX);
    TRY(tx_query(tx, &behind, &most, &rows, error));
    slice->chain_count = rows.count;
    slice->chains = ARENA_ARRAY(&tx->arena, Chain, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        Chain *chain = &slice->chains[i];
        columns_read(&chain_columns, rows_at(&rows, i), chain);
        chain->sealed_at = tx->now;
        TRY(journal_read(tx->db, &tx->arena, chain->tenant, chain->number,
                         (size_t) limit / rows.count + 1, &chain->facts, &chain->fact_count,
                         error));
        chain->fact_count =
            audit_some(chain->facts, chain->fact_count, TARGETS_AT_ONCE / rows.count);
    }
    return ERR_OK;
}

static void list_moves(Tx *tx, Slice *slice)
{
    size_t room = 0;
    for (size_t i = 0; i < slice->chain_count; i++)
        room += slice->chains[i].fact_count;
    slice->moved = ARENA_ARRAY(&tx->arena, AuditMoved, room + 1);
    for (size_t i = 0; i < slice->chain_count; i++) {
        const Chain *chain = &slice->chains[i];
        for (size_t j = 0; j < chain->fact_count; j++)
            if (fact_is_move(chain->facts[j].fact.kind))
                slice->moved[slice->moved_count++] =
                    (AuditMoved){ .tenant = chain->tenant, .move = &chain->facts[j].fact.move };
    }
}

// read_known finds out what is known of all moves.
static Err read_known(Tx *tx, Slice *slice, Error *error)
{
    Str key;
    TRY(audit_key_make(tx, &key, error));
    return audit_know(tx, key, slice->moved, slice->moved_count, error);
}

static void make_room(Arena *arena, Chain *chain, size_t count)
{
    size_t room = chain->row_room ? chain->row_room : 2 * chain->fact_count;
    while (room < chain->row_count + count)
        room *= 2;
    if (room > chain->row_room)
        chain->rows = arena_grow(arena, chain->rows, chain->row_room * sizeof *chain->rows,
                                 room * sizeof *chain->rows);
    chain->row_room = room;
}

// tell_chain tells a chain's facts. Facts whose journal is gone would be waited for for ever: they
// are given up, and that is told.
static void tell_chain(Tx *tx, Slice *slice, Chain *chain, size_t *move)
{
    static const AuditMoved nothing = { 0 };
    AuditTold parts[AUDIT_PARTS_MAX];
    if (chain->fact_count == 0) {
        log_error("audit.lost", "tenant=%lld from=%lld to=%lld", (long long) chain->tenant,
                  (long long) chain->number + 1, (long long) chain->told);
        chain->number = chain->told;
    }
    for (size_t i = 0; i < chain->fact_count; i++) {
        const JournalEntry *entry = &chain->facts[i];
        const AuditMoved *known =
            fact_is_move(entry->fact.kind) ? &slice->moved[(*move)++] : &nothing;
        size_t count = audit_tell(&entry->fact, entry->at, entry->number, &known->known, parts);
        make_room(&tx->arena, chain, count);
        for (size_t p = 0; p < count; p++)
            chain->rows[chain->row_count++] = parts[p];
        chain->number = entry->number;
    }
    slice->row_count += chain->row_count;
}

static void tell_all(Tx *tx, Slice *slice)
{
    size_t move = 0;
    for (size_t i = 0; i < slice->chain_count; i++)
        tell_chain(tx, slice, &slice->chains[i], &move);
}

static int by_event(const void *a, const void *b)
{
    const Brought *x = a, *y = b;
    int order = x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
    order = order ? order : uuid_cmp(x->event, y->event);
    return order ? order : (x->number < y->number ? -1 : x->number > y->number);
}

// take_ids takes, or looks up, the ids of those rows that others may tell as well; ret is which are
// ours, in order.
static Err take_ids(Tx *tx, const Slice *slice, const Statement *statement, Brought **ret,
                    size_t *ret_count, Error *error)
{
    Rows rows = { 0 };
    size_t count = 0;
    Brought *wanted = ARENA_ARRAY(&tx->arena, Brought, slice->row_count + 1);
    for (size_t c = 0; c < slice->chain_count; c++)
        for (size_t i = 0; i < slice->chains[c].row_count; i++) {
            const AuditEntry *entry = &slice->chains[c].rows[i].entry;
            if (!uuid_is_none(entry->brought))
                wanted[count++] =
                    (Brought){ slice->chains[c].tenant, entry->brought, entry->number };
        }
    qsort(wanted, count, sizeof *wanted, by_event);
    db_send_rows(tx->db, &tx->arena, statement, &brought_columns, wanted, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&brought_columns, rows_at(&rows, i), &wanted[i]);
    qsort(wanted, rows.count, sizeof *wanted, by_event);
    *ret = wanted;
    *ret_count = rows.count;
    return ERR_OK;
}

// keep_ours leaves out what was told before under the same id: ours says which was not, in order.
static void keep_ours(Slice *slice, const Brought *ours, size_t count)
{
    for (size_t c = 0; c < slice->chain_count; c++) {
        Chain *chain = &slice->chains[c];
        size_t kept = 0;
        for (size_t i = 0; i < chain->row_count; i++) {
            const AuditEntry *entry = &chain->rows[i].entry;
            Brought key = { chain->tenant, entry->brought, entry->number };
            if (uuid_is_none(key.event) || bsearch(&key, ours, count, sizeof key, by_event))
                chain->rows[kept++] = chain->rows[i];
        }
        chain->row_count = kept;
    }
}

// tell_slice tells the facts of all chains; statement says which of those that others may have told
// as well are ours.
static Err tell_slice(Tx *tx, Slice *slice, const Statement *statement, Error *error)
{
    Brought *ours;
    size_t count;
    list_moves(tx, slice);
    TRY(read_known(tx, slice, error));
    tell_all(tx, slice);
    TRY(take_ids(tx, slice, statement, &ours, &count, error));
    keep_ours(slice, ours, count);
    return ERR_OK;
}

Err audit_retell(Tx *tx, int64_t tenant, JournalEntry *facts, size_t count, AuditTold **ret,
                 size_t *ret_count, Error *error)
{
    Chain chain = { .tenant = tenant, .facts = facts, .fact_count = count };
    Slice slice = { .chains = &chain, .chain_count = count > 0 };
    TRY(tell_slice(tx, &slice, &was_brought, error));
    *ret = chain.rows;
    *ret_count = chain.row_count;
    return ERR_OK;
}

size_t audit_blocks(Arena *arena, int64_t tenant, AuditHead *head, const AuditTold *told,
                    size_t count, AuditBlock *ret)
{
    size_t block_count = 0;
    for (size_t done = 0; done < count; block_count++)
        done += audit_block(arena, tenant, head, told + done, count - done, &ret[block_count]);
    return block_count;
}

void audit_write(Tx *tx, const AuditBlock *blocks, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &insert, &block_columns, blocks, count, NULL);
}

// pack_all makes blocks of what is told.
static size_t pack_all(Tx *tx, const Slice *slice, AuditBlock **ret)
{
    size_t count = 0;
    *ret = ARENA_ARRAY(&tx->arena, AuditBlock, slice->row_count + 1);
    for (size_t c = 0; c < slice->chain_count; c++) {
        Chain *chain = &slice->chains[c];
        count += audit_blocks(&tx->arena, chain->tenant, &chain->head, chain->rows,
                              chain->row_count, *ret + count);
    }
    return count;
}

static bool has_more(const Slice *slice)
{
    bool is_behind = slice->chain_count == CHAINS_MAX;
    for (size_t i = 0; i < slice->chain_count; i++)
        is_behind |= slice->chains[i].number < slice->chains[i].told;
    return is_behind;
}

Err audit_seal(Tx *tx, int limit, AuditSealed *ret, Error *error)
{
    Slice slice = { 0 };
    AuditBlock *blocks;
    bool is_ours = false;
    *ret = (AuditSealed){ 0 };
    // Held for this transaction alone, like the sequencer's: who comes next goes on from there.
    TRY(duty_lease(tx, AUDIT_LEASE, tx->writer, 0, &is_ours, error));
    ret->is_ours = is_ours;
    if (!is_ours)
        return ERR_OK;
    TRY(read_facts(tx, limit, &slice, error));
    if (slice.chain_count == 0)
        return ERR_OK;
    TRY(tell_slice(tx, &slice, &bring, error));
    size_t count = pack_all(tx, &slice, &blocks);
    audit_write(tx, blocks, count);
    db_send_rows(tx->db, &tx->arena, &move_on, &moved_columns, slice.chains, slice.chain_count,
                 NULL);
    TRY(tx_sync(tx, error));
    ret->rows = (int64_t) slice.row_count;
    ret->has_more = has_more(&slice);
    return ERR_OK;
}
