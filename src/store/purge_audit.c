#include "store/purge.h"

#include "store/audit.h"
#include "store/columns.h"
#include "store/duty.h"
#include "store/sequence.h"

// Whole blocks go: one that holds something younger stays until all of it is old. So the anchor is
// always the last entry of a block.

static const Statement oldest = {
    .name = "purge_audit_look",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT tenant, first, seq, body, link FROM audit WHERE tenant = $1 AND seq > $2"
           " AND seq < $3 ORDER BY seq LIMIT $4",
};
static const Statement cut = {
    .name = "purge_audit",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "DELETE FROM audit WHERE tenant = $1 AND seq <= $2",
};
static const Statement anchor = {
    .name = "purge_audit_anchor",
    .scope = STATEMENT_TENANT,
    .params = "iib",
    .sql = "UPDATE chain SET anchor_seq = $2, anchor_link = $3 WHERE tenant = $1",
};
static const Statement forget = {
    .name = "purge_audit_brought",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "DELETE FROM audit_brought WHERE tenant = $1 AND event = $2",
    .postgres = "DELETE FROM audit_brought USING unnest($1, $2) AS u (tenant, event)"
                " WHERE audit_brought.tenant = u.tenant AND audit_brought.event = u.event",
};

const Statement *const purge_audit_statements[] = { &oldest, &cut, &anchor, &forget, NULL };

enum { BLOCK_USUAL = 40 }; // entries

typedef struct Brought {
    int64_t tenant;
    Uuid event;
} Brought;

static const Columns brought_columns =
    COLUMNS(Brought, COLUMN(Brought, tenant), COLUMN(Brought, event));

static const Columns block_columns =
    COLUMNS(AuditBlock, COLUMN(AuditBlock, tenant), COLUMN(AuditBlock, first),
            COLUMN(AuditBlock, last), COLUMN(AuditBlock, body), COLUMN(AuditBlock, link));

// Going is what goes: up to where, and under which ids others may have told the same.
typedef struct Going {
    Instant before;
    AuditHead head;
    Brought *ids;
    size_t id_count;
} Going;

// is_old looks at an entry; one that is too young ends the walk, whatever the problem is called.
static AuditProblem is_old(void *with, const AuditRead *read)
{
    Going *going = with;
    if (read->entry.at >= going->before)
        return AUDIT_PROBLEM_CUT;
    if (!uuid_is_none(read->entry.brought))
        going->ids[going->id_count++] = (Brought){ read->block->tenant, read->entry.brought };
    return AUDIT_PROBLEM_NONE;
}

// follow goes along the blocks as long as they are old and whole.
static size_t follow(const Rows *rows, Going *going)
{
    for (size_t i = 0; i < rows->count; i++) {
        AuditBlock block = { 0 };
        AuditHead head = going->head;
        size_t ids = going->id_count;
        columns_read(&block_columns, rows_at(rows, i), &block);
        if (audit_follow(&head, &block, is_old, going) != AUDIT_PROBLEM_NONE) {
            going->id_count = ids;
            return i;
        }
        going->head = head;
    }
    return rows->count;
}

// lock keeps the chains to this node until its commit. Both leases, in the order in which a round
// takes them: whoever gives numbers, or seals, holds one and waits for rows of chain.
static Err lock(Tx *tx, Error *error)
{
    bool is_ours;
    TRY(duty_lease(tx, SEQUENCE_LEASE, tx->writer, 0, &is_ours, error));
    return duty_lease(tx, AUDIT_LEASE, tx->writer, 0, &is_ours, error);
}

static Err cut_off(Tx *tx, int64_t tenant, const Going *going, Error *error)
{
    Str link = { (const char *) going->head.link.b, sizeof going->head.link.b };
    Value args[] = { value_i64(tenant), value_i64(going->head.seq), value_bytes(link) };
    TRY(lock(tx, error));
    db_send(tx->db, &tx->arena, &cut, args, NULL);
    db_send(tx->db, &tx->arena, &anchor, args, NULL);
    db_send_rows(tx->db, &tx->arena, &forget, &brought_columns, going->ids, going->id_count, NULL);
    return tx_sync(tx, error);
}

Err purge_audit(Tx *tx, PurgeSlice *slice, Error *error)
{
    AuditChain chain;
    Rows rows;
    // A slice looks at rows: blocks are looked at as if they were as long as most are.
    int64_t blocks = (slice->limit + BLOCK_USUAL - 1) / BLOCK_USUAL;
    TRY(audit_chain(tx->db, &tx->arena, slice->tenant, &chain, error));
    Value args[] = { value_i64(slice->tenant), value_i64(chain.anchor.seq),
                     value_i64(chain.head.seq), value_i64(blocks) };
    TRY(tx_query(tx, &oldest, args, &rows, error));
    Going going = { .before = slice->before, .head = chain.anchor };
    going.ids = ARENA_ARRAY(&tx->arena, Brought, rows.count * AUDIT_BLOCK_MAX + 1);
    slice->is_last = (int64_t) follow(&rows, &going) < blocks;
    slice->gone = going.head.seq - chain.anchor.seq;
    slice->end = slice->after; // the anchor says how far it came
    return slice->gone > 0 ? cut_off(tx, slice->tenant, &going, error) : ERR_OK;
}
