#include "store/audit.h"

#include "base/log.h"
#include "store/audit_key.h"
#include "store/columns.h"
#include "store/duty.h"
#include "store/sequence.h"

enum { CHAINS_MAX = 64 }; // of one slice

static const Statement behind = {
    .name = "audit_behind",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant, told, number, seq, link FROM chain WHERE number < told"
           " ORDER BY sealed_at LIMIT $1",
};
// What is known of a fact's delivery. An attempt stands in attempt, or in ended where it was the
// last. Where the delivery was live after the fact, ended can only tell of a later one.
#define TRIED(name, name_in_ended)                                                                 \
    ", CASE WHEN n.attempt IS NULL THEN a." name " ELSE n." name_in_ended " END"
#define KNOWN(place)                                                                               \
    "SELECT " place ", d.address, r.kind, e.correlation_id, e.identity,"                           \
    " CASE WHEN n.attempt IS NULL THEN CASE WHEN a.number IS NULL THEN 0 ELSE 1 END"               \
    " WHEN n.verdict IS NULL THEN 0 ELSE 1 END" TRIED("verdict", "verdict")                        \
        TRIED("reason", "tried_reason") TRIED("code", "code") TRIED("provider_id", "provider_id")  \
            TRIED("detail", "detail")
#define KNOWN_BY(number, is_live)                                                                  \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"                                 \
    " LEFT JOIN rule r ON r.rule = d.rule"                                                         \
    " LEFT JOIN attempt a ON a.tenant = d.tenant AND a.delivery = d.id AND a.number = " number     \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id AND n.attempt = " number            \
    " AND " is_live " = 0"
static const Statement known_of = {
    .name = "audit_known",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .many = true,
    .sql = KNOWN("$5") " FROM delivery d" KNOWN_BY("$3", "$4") " WHERE d.tenant = $1 AND d.id = $2",
    .postgres = KNOWN("u.place") " FROM unnest($1, $2, $3, $4, $5)"
                                 " AS u (tenant, id, number, is_live, place)"
                                 " JOIN delivery d ON d.tenant = u.tenant AND d.id = u.id" //
    KNOWN_BY("u.number", "u.is_live"),
};
static const Statement insert = {
    .name = "audit_insert",
    .scope = STATEMENT_TENANT,
    .params = "iibbt",
    .many = true,
    .sql = "INSERT INTO audit (tenant, seq, body, link, target) VALUES ($1, $2, $3, $4, $5)",
    .postgres = "INSERT INTO audit (tenant, seq, body, link, target)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5)",
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

const Statement *const audit_statements[] = { &behind, &known_of, &bring, &insert, &move_on, NULL };

// Chain is one that is sealed on, Known what the store knows of one of its facts, Sealed a row.
typedef struct Chain {
    int64_t tenant, told, number, seq;
    Sha256 link;
    Instant sealed_at;
    JournalEntry *entries;
    size_t entry_count;
} Chain;

typedef struct Known {
    int64_t tenant;
    Uuid id;
    int attempt;
    bool is_live;
    int64_t place; // among all that are asked for
    Str address;
    AuditKnown known;
} Known;

typedef struct Sealed {
    Chain *chain;
    int64_t tenant;
    AuditEntry entry;
    Str body;
    Sha256 link;
    Str target;
} Sealed;

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
    Known *known; // of each move, in the order of the chains and their facts
    size_t known_count;
    Str key;
    Sealed *rows;
    size_t row_count;
} Slice;

static const Columns chain_columns =
    COLUMNS(Chain, COLUMN(Chain, tenant), COLUMN(Chain, told), COLUMN(Chain, number),
            COLUMN(Chain, seq), COLUMN(Chain, link));
static const Columns moved_columns =
    COLUMNS(Chain, COLUMN(Chain, tenant), COLUMN(Chain, number), COLUMN(Chain, seq),
            COLUMN(Chain, link), COLUMN(Chain, sealed_at));
static const Columns asked_columns =
    COLUMNS(Known, COLUMN(Known, tenant), COLUMN(Known, id), COLUMN(Known, attempt),
            COLUMN(Known, is_live), COLUMN(Known, place));
static const Columns known_columns =
    COLUMNS(Known, COLUMN(Known, place), COLUMN(Known, address), COLUMN(Known, known.rule_kind),
            COLUMN(Known, known.correlation_id), COLUMN(Known, known.identity),
            COLUMN(Known, known.was_tried), COLUMN(Known, known.outcome.verdict),
            COLUMN(Known, known.outcome.reason), COLUMN(Known, known.outcome.code),
            COLUMN(Known, known.outcome.provider_id), COLUMN(Known, known.outcome.detail));
static const Columns sealed_columns =
    COLUMNS(Sealed, COLUMN(Sealed, tenant), COLUMN(Sealed, entry.seq), COLUMN_BYTES(Sealed, body),
            COLUMN(Sealed, link), COLUMN(Sealed, target));

static const Columns brought_columns =
    COLUMNS(Brought, COLUMN(Brought, tenant), COLUMN(Brought, event), COLUMN(Brought, number));

void audit_take(Tx *tx, int64_t tenant, const AuditBrought *brought)
{
    tx_fact(tx, FACT_AUDIT_BROUGHT, tenant, audit_brought_pack(&tx->arena, brought));
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
                         (size_t) limit / rows.count + 1, &chain->entries, &chain->entry_count,
                         error));
    }
    return ERR_OK;
}

static Known asked(const Fact *fact, size_t place)
{
    const Move *move = &fact->move;
    return (Known){ .tenant = fact->tenant,
                    .id = move->delivery,
                    .attempt = move->attempt,
                    .is_live =
                        move->to != MOVE_NOWHERE && delivery_is_live((DeliveryState) move->to),
                    .place = (int64_t) place };
}

static void list_moves(Tx *tx, Slice *slice)
{
    size_t room = 1;
    for (size_t i = 0; i < slice->chain_count; i++)
        room += slice->chains[i].entry_count;
    slice->known = ARENA_ARRAY(&tx->arena, Known, room);
    for (size_t i = 0; i < slice->chain_count; i++) {
        const Chain *chain = &slice->chains[i];
        for (size_t j = 0; j < chain->entry_count; j++)
            if (chain->entries[j].fact.kind == FACT_MOVED) {
                size_t place = slice->known_count++;
                slice->known[place] = asked(&chain->entries[j].fact, place);
            }
    }
}

// read_known asks for the deliveries of all moves at once. Of what is purged, or was never there,
// nothing is known: its facts are told without.
static Err read_known(Tx *tx, Slice *slice, Error *error)
{
    Rows rows = { 0 };
    list_moves(tx, slice);
    TRY(audit_key_make(tx, &slice->key, error));
    db_send_rows(tx->db, &tx->arena, &known_of, &asked_columns, slice->known, slice->known_count,
                 &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        int64_t place = value_to_i64(&rows_at(&rows, i)[0]);
        assert(place >= 0 && (size_t) place < slice->known_count);
        Known *known = &slice->known[place];
        columns_read(&known_columns, rows_at(&rows, i), known);
        known->known.outcome = outcome_mended(known->known.outcome);
        known->known.has_target = slice->key.at && known->address.at;
        if (known->known.has_target)
            known->known.target = audit_target(slice->key, known->address);
    }
    return ERR_OK;
}

// tell_chain tells a chain's facts. Facts whose journal is gone would be waited for for ever: they
// are given up, and that is told.
static void tell_chain(Slice *slice, Chain *chain, size_t *move)
{
    static const Known nothing = { 0 };
    if (chain->entry_count == 0) {
        log_error("audit.lost", "tenant=%lld from=%lld to=%lld", (long long) chain->tenant,
                  (long long) chain->number + 1, (long long) chain->told);
        chain->number = chain->told;
    }
    for (size_t i = 0; i < chain->entry_count; i++) {
        const JournalEntry *entry = &chain->entries[i];
        AuditEntry parts[AUDIT_PARTS_MAX];
        const Known *known = entry->fact.kind == FACT_MOVED ? &slice->known[(*move)++] : &nothing;
        size_t count = audit_tell(&entry->fact, entry->at, entry->number, &known->known, parts);
        for (size_t p = 0; p < count; p++)
            slice->rows[slice->row_count++] = (Sealed){
                .chain = chain, .tenant = chain->tenant, .entry = parts[p], .target = known->address
            };
        chain->number = entry->number;
    }
}

static void tell_all(Tx *tx, Slice *slice)
{
    size_t room = 1, move = 0;
    for (size_t i = 0; i < slice->chain_count; i++)
        room += slice->chains[i].entry_count * AUDIT_PARTS_MAX;
    slice->rows = ARENA_ARRAY(&tx->arena, Sealed, room);
    for (size_t i = 0; i < slice->chain_count; i++)
        tell_chain(slice, &slice->chains[i], &move);
}

static int by_event(const void *a, const void *b)
{
    const Brought *x = a, *y = b;
    int order = x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
    order = order ? order : uuid_cmp(x->event, y->event);
    return order ? order : (x->number < y->number ? -1 : x->number > y->number);
}

// take_ids takes the ids of those rows that others may tell as well; ret is which are ours, in
// order.
static Err take_ids(Tx *tx, const Slice *slice, Brought **ret, size_t *ret_count, Error *error)
{
    Rows rows = { 0 };
    size_t count = 0;
    Brought *wanted = ARENA_ARRAY(&tx->arena, Brought, slice->row_count + 1);
    for (size_t i = 0; i < slice->row_count; i++)
        if (!uuid_is_none(slice->rows[i].entry.brought))
            wanted[count++] = (Brought){ slice->rows[i].tenant, slice->rows[i].entry.brought,
                                         slice->rows[i].entry.number };
    qsort(wanted, count, sizeof *wanted, by_event);
    db_send_rows(tx->db, &tx->arena, &bring, &brought_columns, wanted, count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&brought_columns, rows_at(&rows, i), &wanted[i]);
    qsort(wanted, rows.count, sizeof *wanted, by_event);
    *ret = wanted;
    *ret_count = rows.count;
    return ERR_OK;
}

// drop_told leaves out what was told before under the same id.
static Err drop_told(Tx *tx, Slice *slice, Error *error)
{
    Brought *ours;
    size_t count, kept = 0;
    TRY(take_ids(tx, slice, &ours, &count, error));
    for (size_t i = 0; i < slice->row_count; i++) {
        const Sealed *row = &slice->rows[i];
        Brought key = { row->tenant, row->entry.brought, row->entry.number };
        if (uuid_is_none(key.event) || bsearch(&key, ours, count, sizeof key, by_event))
            slice->rows[kept++] = *row;
    }
    slice->row_count = kept;
    return ERR_OK;
}

static void link_all(Tx *tx, Slice *slice)
{
    for (size_t i = 0; i < slice->row_count; i++) {
        Sealed *row = &slice->rows[i];
        row->entry.seq = ++row->chain->seq;
        row->body = audit_pack(&tx->arena, &row->entry);
        row->link = row->chain->link = audit_link(&row->chain->link, row->chain->tenant, row->body);
    }
}

Err audit_seal(Tx *tx, int limit, AuditSealed *ret, Error *error)
{
    Slice slice = { 0 };
    bool is_ours = false;
    *ret = (AuditSealed){ 0 };
    // Held for this transaction alone, like the sequencer's: who comes next goes on from there.
    TRY(duty_lease(tx, AUDIT_LEASE, tx->writer, 0, &is_ours, error));
    if (!is_ours)
        return ERR_OK;
    TRY(read_facts(tx, limit, &slice, error));
    if (slice.chain_count == 0)
        return ERR_OK;
    TRY(read_known(tx, &slice, error));
    tell_all(tx, &slice);
    TRY(drop_told(tx, &slice, error));
    link_all(tx, &slice);
    db_send_rows(tx->db, &tx->arena, &insert, &sealed_columns, slice.rows, slice.row_count, NULL);
    db_send_rows(tx->db, &tx->arena, &move_on, &moved_columns, slice.chains, slice.chain_count,
                 NULL);
    TRY(tx_sync(tx, error));
    ret->rows = (int64_t) slice.row_count;
    ret->has_more = slice.chain_count == CHAINS_MAX;
    for (size_t i = 0; i < slice.chain_count; i++)
        ret->has_more |= slice.chains[i].number < slice.chains[i].told;
    return ERR_OK;
}
