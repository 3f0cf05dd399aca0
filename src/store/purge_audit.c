#include "store/purge.h"

#include "store/audit.h"
#include "store/columns.h"
#include "store/duty.h"
#include "store/sequence.h"

static const Statement oldest = {
    .name = "purge_audit_look",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT seq, body, link FROM audit WHERE tenant = $1 AND seq > $2 AND seq < $3"
           " ORDER BY seq LIMIT $4",
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

typedef struct Brought {
    int64_t tenant;
    Uuid event;
} Brought;

static const Columns brought_columns =
    COLUMNS(Brought, COLUMN(Brought, tenant), COLUMN(Brought, event));

// follow goes along the rows as long as they are old and whole, and notes under which ids others
// may have told the same.
static int64_t follow(const PurgeSlice *slice, const Rows *rows, AuditHead *head, Brought *ids,
                      size_t *id_count)
{
    size_t i = 0;
    for (; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        AuditEntry entry;
        if (!audit_unpack(value_to_str(&row[1]), &entry) || entry.at >= slice->before ||
            audit_follow(head, slice->tenant, value_to_i64(&row[0]), value_to_str(&row[1]),
                         value_to_str(&row[2])) != AUDIT_PROBLEM_NONE)
            break;
        if (!uuid_is_none(entry.brought))
            ids[(*id_count)++] = (Brought){ slice->tenant, entry.brought };
    }
    return (int64_t) i;
}

// lock keeps the chains to this node until its commit. Both leases, in the order in which a round
// takes them: whoever gives numbers, or seals, holds one and waits for rows of chain.
static Err lock(Tx *tx, Error *error)
{
    bool is_ours;
    TRY(duty_lease(tx, SEQUENCE_LEASE, tx->writer, 0, &is_ours, error));
    return duty_lease(tx, AUDIT_LEASE, tx->writer, 0, &is_ours, error);
}

static Err cut_off(Tx *tx, const PurgeSlice *slice, const AuditHead *head, const Brought *ids,
                   size_t id_count, Error *error)
{
    Str link = { (const char *) head->link.b, sizeof head->link.b };
    Value args[] = { value_i64(slice->tenant), value_i64(head->seq), value_bytes(link) };
    TRY(lock(tx, error));
    db_send(tx->db, &tx->arena, &cut, args, NULL);
    db_send(tx->db, &tx->arena, &anchor, args, NULL);
    db_send_rows(tx->db, &tx->arena, &forget, &brought_columns, ids, id_count, NULL);
    return tx_sync(tx, error);
}

Err purge_audit(Tx *tx, PurgeSlice *slice, Error *error)
{
    AuditChain chain;
    Rows rows;
    size_t id_count = 0;
    TRY(audit_chain(tx->db, &tx->arena, slice->tenant, &chain, error));
    AuditHead head = chain.anchor;
    Value args[] = { value_i64(slice->tenant), value_i64(head.seq), value_i64(chain.head.seq),
                     value_i64(slice->limit) };
    TRY(tx_query(tx, &oldest, args, &rows, error));
    Brought *ids = ARENA_ARRAY(&tx->arena, Brought, rows.count + 1);
    slice->gone = follow(slice, &rows, &head, ids, &id_count);
    slice->is_last = slice->gone < slice->limit;
    slice->end = slice->after; // the anchor says how far it came
    return slice->gone > 0 ? cut_off(tx, slice, &head, ids, id_count, error) : ERR_OK;
}
