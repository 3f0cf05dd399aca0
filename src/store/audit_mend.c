#include "store/audit_mend.h"

#include "base/log.h"
#include "store/columns.h"
#include "store/sequence.h"

enum { FACTS_AT_ONCE = 2000 };

static const Statement next = {
    .name = "audit_mend_next",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant, mended, seq, link, anchor_seq, anchor_link FROM chain"
           " WHERE mended_at <= $1 AND seq > anchor_seq ORDER BY mended_at LIMIT 1",
};
static const Statement onward = {
    .name = "audit_mend_onward",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT tenant, first, seq, body, link FROM audit WHERE tenant = $1 AND seq >= $2"
           " ORDER BY seq LIMIT $3",
};
static const Statement take_out = {
    .name = "audit_mend_take_out",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "DELETE FROM audit WHERE tenant = $1 AND seq > $2 AND seq <= $3",
};
static const Statement move_on = {
    .name = "audit_mend_move_on",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "UPDATE chain SET mended = $2, mended_at = $3 WHERE tenant = $1",
};

const Statement *const audit_mend_statements[] = { &next, &onward, &take_out, &move_on, NULL };

// Sound is the last sound entry: its place, and which part of which fact it tells. number is -1
// where that is not known.
typedef struct Sound {
    AuditHead head;
    int64_t number;
    int part;
} Sound;

// Mending is a slice.
typedef struct Mending {
    int64_t tenant, mended;
    AuditHead end, anchor; // the chain's
    AuditBlock blocks[AUDIT_MEND_BLOCKS];
    size_t count;
    Sound sound;
    int64_t restored;
} Mending;

static const Columns mending_columns =
    COLUMNS(Mending, COLUMN(Mending, tenant), COLUMN(Mending, mended), COLUMN(Mending, end.seq),
            COLUMN(Mending, end.link), COLUMN(Mending, anchor.seq), COLUMN(Mending, anchor.link));
static const Columns block_columns =
    COLUMNS(AuditBlock, COLUMN(AuditBlock, tenant), COLUMN(AuditBlock, first),
            COLUMN(AuditBlock, last), COLUMN(AuditBlock, body), COLUMN(AuditBlock, link));

static Err read_blocks(Tx *tx, Mending *mending, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(mending->tenant), value_i64(mending->mended),
                     value_i64(AUDIT_MEND_BLOCKS) };
    TRY(tx_query(tx, &onward, args, &rows, error));
    mending->count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&block_columns, rows_at(&rows, i), &mending->blocks[i]);
    return ERR_OK;
}

static AuditProblem note(void *with, const AuditRead *read)
{
    Sound *sound = with;
    sound->number = read->entry.number;
    sound->part = read->entry.part;
    return AUDIT_PROBLEM_NONE;
}

// follow goes on behind a block, if it is sound.
static AuditProblem follow(Mending *mending, const AuditBlock *block)
{
    Sound sound = mending->sound;
    AuditProblem problem = audit_follow(&sound.head, block, note, &sound);
    if (!problem)
        mending->sound = sound;
    return problem;
}

// begin finds the entry that the last slice ended with: it is the last of the first block. Without
// it the walk begins again, at the anchor.
static size_t begin(Mending *mending)
{
    const AuditBlock *first = &mending->blocks[0];
    mending->sound = (Sound){ mending->anchor, mending->anchor.seq == 0 ? 0 : -1, 0 };
    if (mending->mended <= mending->anchor.seq || mending->count == 0)
        return 0;
    Sound before = { .head.seq = first->first - 1 };
    if (first->last == mending->mended && audit_before(first, &before.head.link)) {
        Sound anchor = mending->sound;
        mending->sound = before;
        if (!follow(mending, first))
            return 1;
        mending->sound = anchor;
    }
    mending->count = 0;
    return 0;
}

// next_sound finds where the chain goes on behind what is bad: the link before one of the blocks
// from i on, or its head. False where that lies further than was read.
static bool next_sound(const Mending *mending, size_t i, AuditHead *ret, size_t *ret_i)
{
    for (; i < mending->count; i++) {
        const AuditBlock *block = &mending->blocks[i];
        if (block->first > mending->sound.head.seq + 1 && audit_before(block, &ret->link)) {
            ret->seq = block->first - 1;
            *ret_i = i;
            return true;
        }
    }
    *ret = mending->end;
    *ret_i = i;
    return mending->count < AUDIT_MEND_BLOCKS;
}

// copy leaves none what is none.
static Str copy(Arena *arena, Str text)
{
    return text.at ? str_dup(arena, text) : STR_NONE;
}

// read_told reads the facts behind a number that may be told in rows, which events are not, however
// many lie between.
static Err read_told(Tx *tx, int64_t tenant, int64_t after, size_t limit, JournalEntry **ret,
                     size_t *ret_count, Error *error)
{
    DEFER(arena_done) Arena page = { 0 };
    JournalEntry *kept = ARENA_ARRAY(&tx->arena, JournalEntry, limit + 1), *read;
    size_t count = 0, read_count = 1;
    while (count < limit && read_count > 0) {
        arena_reset(&page);
        TRY(journal_read(tx->db, &page, tenant, after, FACTS_AT_ONCE, &read, &read_count, error));
        for (size_t i = 0; i < read_count && count < limit; i++) {
            after = read[i].number;
            if (read[i].fact.kind == FACT_EVENT)
                continue;
            kept[count] = read[i];
            kept[count].fact.subject = copy(&tx->arena, read[i].fact.subject);
            kept[count].fact.move.targets = copy(&tx->arena, read[i].fact.move.targets);
            count++;
        }
    }
    *ret = kept;
    *ret_count = count;
    return ERR_OK;
}

// retell tells the facts behind the last sound entry again: as many rows as lie up to the end.
static Err retell(Tx *tx, const Mending *mending, int64_t count, AuditTold **ret, size_t *ret_count,
                  Error *error)
{
    const Sound *sound = &mending->sound;
    JournalEntry *facts;
    size_t fact_count, told_count, skipped = 0;
    AuditTold *told;
    int64_t after = sound->number > 0 ? sound->number - 1 : 0;
    // Some facts are told in no row; there may be as many of them as of the others.
    TRY(read_told(tx, mending->tenant, after, (size_t) (2 * count + 2), &facts, &fact_count,
                  error));
    fact_count = audit_some(facts, fact_count, (size_t) count + TARGETS_MAX);
    TRY(audit_retell(tx, mending->tenant, facts, fact_count, &told, &told_count, error));
    while (skipped < told_count && told[skipped].entry.number == sound->number &&
           told[skipped].entry.part <= sound->part)
        skipped++;
    *ret = told + skipped;
    *ret_count = told_count - skipped < (size_t) count ? told_count - skipped : (size_t) count;
    return ERR_OK;
}

// restore writes what lies between the last sound entry and the end, where it can be told again.
static Err restore(Tx *tx, Mending *mending, const AuditHead *end, Error *error)
{
    AuditTold *told;
    size_t count;
    int64_t missing = end->seq - mending->sound.head.seq;
    AuditHead head = mending->sound.head;
    if (mending->sound.number < 0 || missing < 1 || missing > AUDIT_MEND_ROWS)
        return ERR_OK;
    TRY(retell(tx, mending, missing, &told, &count, error));
    AuditBlock *blocks = ARENA_ARRAY(&tx->arena, AuditBlock, count + 1);
    size_t block_count = audit_blocks(&tx->arena, mending->tenant, &head, told, count, blocks);
    if (head.seq != end->seq || memcmp(head.link.b, end->link.b, sizeof head.link.b) != 0)
        return ERR_OK;
    Value args[] = { value_i64(mending->tenant), value_i64(mending->sound.head.seq),
                     value_i64(end->seq) };
    db_send(tx->db, &tx->arena, &take_out, args, NULL);
    audit_write(tx, blocks, block_count);
    const AuditEntry *last = &told[count - 1].entry;
    mending->sound = (Sound){ head, last->number, last->part };
    mending->restored += missing;
    return tx_sync(tx, error);
}

// mend restores what is bad up to the next place that is known, and goes on there in any case.
static Err mend(Tx *tx, Mending *mending, size_t i, size_t *ret_i, Error *error)
{
    AuditHead end;
    int64_t before = mending->restored, bad = mending->sound.head.seq + 1;
    if (!next_sound(mending, i, &end, ret_i))
        return ERR_OK;
    TRY(restore(tx, mending, &end, error));
    if (mending->restored > before) {
        log_warn("audit.restored", "tenant=%lld from=%lld to=%lld", (long long) mending->tenant,
                 (long long) bad, (long long) end.seq);
        return ERR_OK;
    }
    log_error("audit.broken", "tenant=%lld from=%lld to=%lld", (long long) mending->tenant,
              (long long) bad, (long long) end.seq);
    mending->sound = (Sound){ end, -1, 0 };
    return ERR_OK;
}

static Err walk(Tx *tx, Mending *mending, Error *error)
{
    for (size_t i = begin(mending); i < mending->count;) {
        if (follow(mending, &mending->blocks[i])) {
            size_t bad = i;
            TRY(mend(tx, mending, bad, &i, error));
        } else
            i++;
    }
    if (mending->count < AUDIT_MEND_BLOCKS && mending->sound.head.seq < mending->end.seq &&
        mending->mended <= mending->sound.head.seq) {
        size_t i;
        TRY(mend(tx, mending, mending->count, &i, error));
    }
    return ERR_OK;
}

// mend_next mends the next blocks of the chain that was looked at longest ago; ret_met is how many
// blocks that were, 0 where no chain is due.
static Err mend_next(Tx *tx, Mending *mending, size_t *ret_met, Error *error)
{
    Rows rows;
    Value now = value_i64(tx->now);
    *ret_met = 0;
    TRY(tx_query(tx, &next, &now, &rows, error));
    if (rows.count == 0)
        return ERR_OK;
    columns_read(&mending_columns, rows_at(&rows, 0), mending);
    TRY(read_blocks(tx, mending, error));
    *ret_met = mending->count + 1;
    TRY(walk(tx, mending, error));
    bool is_over = mending->count < AUDIT_MEND_BLOCKS;
    int64_t place = mending->sound.head.seq;
    if (!is_over && place <= mending->mended) // all that was read is bad: it is passed by
        place = mending->blocks[mending->count - 1].last;
    Value args[] = { value_i64(mending->tenant), value_i64(is_over ? 0 : place),
                     value_i64(is_over ? tx->now + AUDIT_MEND_REST : tx->now) };
    db_send(tx->db, &tx->arena, &move_on, args, NULL);
    return tx_sync(tx, error);
}

Err audit_mend(Tx *tx, int64_t *ret, Error *error)
{
    Mending *mending = ARENA_NEW(&tx->arena, Mending);
    size_t met = 1;
    // Many chains are short: as many are looked at as have so many blocks.
    for (size_t sum = 0; met > 0 && sum < AUDIT_MEND_BLOCKS; sum += met)
        TRY(mend_next(tx, mending, &met, error));
    *ret = mending->restored;
    return ERR_OK;
}
