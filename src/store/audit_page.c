#include "store/audit.h"

#include "store/audit_key.h"
#include "store/columns.h"

// Blocks are read along their numbers and looked into here: what a filter asks for lies packed in
// their bytes, and a walk is bounded anyway (walk.h). Rows are what a block's entries are shown as.

enum { LOOK = 16, VERIFY_LOOK = 64 }; // blocks at a time

#define BLOCK "SELECT tenant, first, seq, body, link, target FROM audit WHERE tenant = $1"

// The block that a place lies in begins before it, and ends no further behind than a block is long.
static const Statement newest = {
    .name = "audit_newest",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = BLOCK " AND seq < $3 AND first < $2 ORDER BY seq DESC LIMIT $4",
};
static const Statement onward = {
    .name = "audit_onward",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = BLOCK " AND seq > $2 ORDER BY seq LIMIT $3",
};
static const Statement chain_get = {
    .name = "audit_chain",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT seq, link, anchor_seq, anchor_link, told - number FROM chain WHERE tenant = $1",
};

static const Statement backlog = {
    .name = "audit_backlog",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT CAST(COALESCE(SUM(told - number), 0) AS BIGINT) FROM chain WHERE number < told",
};
static const Statement site_called = {
    .name = "audit_site_called",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT site FROM site WHERE tenant = $1 AND name = $2",
};
static const Statement site_names = {
    .name = "audit_site_names",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .many = true,
    .sql = "SELECT site, name FROM site WHERE tenant = $1 AND site = $2",
    .postgres = "SELECT s.site, s.name FROM unnest($1, $2) AS u (tenant, site)"
                " JOIN site s ON s.tenant = u.tenant AND s.site = u.site",
};

const Statement *const audit_page_statements[] = { &newest,      &onward,     &chain_get, &backlog,
                                                   &site_called, &site_names, NULL };

static const Columns chain_columns = COLUMNS(
    AuditChain, COLUMN(AuditChain, head.seq), COLUMN(AuditChain, head.link),
    COLUMN(AuditChain, anchor.seq), COLUMN(AuditChain, anchor.link), COLUMN(AuditChain, waiting));

Err audit_chain(Db *db, Arena *arena, int64_t tenant, AuditChain *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant) };
    TRY(db_query(db, arena, &chain_get, args, &rows, error));
    *ret = (AuditChain){ 0 };
    if (rows.count > 0)
        columns_read(&chain_columns, rows_at(&rows, 0), ret);
    return ERR_OK;
}

Err audit_backlog(Db *db, Arena *arena, int64_t *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &backlog, NULL, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

static const Columns block_columns = COLUMNS(
    AuditBlock, COLUMN(AuditBlock, tenant), COLUMN(AuditBlock, first), COLUMN(AuditBlock, last),
    COLUMN(AuditBlock, body), COLUMN(AuditBlock, link), COLUMN(AuditBlock, targets));

// AuditBlocks are blocks as they were read; Opened are the rows of one.
typedef struct AuditBlocks {
    AuditBlock *at;
    size_t count;
} AuditBlocks;

static Err read_blocks(Db *db, Arena *arena, const Statement *statement, const Value *args,
                       AuditBlocks *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, statement, args, &rows, error));
    *ret = (AuditBlocks){ ARENA_ARRAY(arena, AuditBlock, rows.count + 1), rows.count };
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&block_columns, rows_at(&rows, i), &ret->at[i]);
    return ERR_OK;
}

typedef struct Opened {
    AuditRow rows[AUDIT_BLOCK_MAX + 1];
    size_t count;
} Opened;

// open_block makes rows of a block. What cannot be read of it is one row, with the block's number.
static void open_block(const AuditBlock *block, Opened *ret)
{
    AuditRead read;
    ret->count = 0;
    audit_read(block, &read);
    while (ret->count < AUDIT_BLOCK_MAX && audit_next(&read))
        ret->rows[ret->count++] = (AuditRow){ .seq = read.entry.seq,
                                              .is_read = true,
                                              .entry = read.entry,
                                              .link = read.link,
                                              .target = read.address };
    if (read.problem)
        ret->rows[ret->count++] = (AuditRow){ .seq = block->last, .link = block->link };
}

// Look is a filter with what it takes to ask it.
typedef struct Look {
    const AuditFilter *filter;
    bool has_target;
    AuditTarget target; // of the filter's address
    int64_t site;       // of the filter's name; SITE_OF_NOBODY
} Look;

enum { SITE_OF_NOBODY = -1 };

static bool is_text(Str wanted, Str text)
{
    return !wanted.at || (text.at && str_eq(wanted, text));
}

static bool is_target(const Look *look, const AuditRow *row)
{
    const AuditEntry *entry = &row->entry;
    if (!look->filter->target.at || (row->target.at && str_eq(look->filter->target, row->target)))
        return true;
    return look->has_target && entry->has_target &&
           memcmp(look->target.b, entry->target.b, sizeof entry->target.b) == 0;
}

static bool fits(const Look *look, const AuditRow *row)
{
    const AuditFilter *filter = look->filter;
    const AuditEntry *entry = &row->entry;
    return row->is_read && (!filter->has_kind || entry->kind == filter->kind) &&
           (!filter->has_status || entry->status == filter->status) &&
           (!filter->errors_only || audit_status_is_error(entry->status)) &&
           (!filter->has_actor || uuid_cmp(entry->actor, filter->actor) == 0) &&
           (!filter->has_delivery || uuid_cmp(entry->delivery, filter->delivery) == 0) &&
           (!filter->has_lane || entry->lane == filter->lane) &&
           (!filter->site.at || entry->site == look->site) &&
           is_text(filter->instance, entry->instance) &&
           is_text(filter->correlation_id, entry->correlation_id) && is_target(look, row) &&
           (filter->from == INSTANT_NONE || entry->at >= filter->from) &&
           (filter->to == INSTANT_NONE || entry->at < filter->to);
}

static bool restricts(const AuditFilter *filter)
{
    return filter->has_kind || filter->has_status || filter->errors_only || filter->has_actor ||
           filter->has_delivery || filter->has_lane || filter->site.at || filter->instance.at ||
           filter->correlation_id.at || filter->target.at || filter->from != INSTANT_NONE ||
           filter->to != INSTANT_NONE;
}

static Err place_of(const Walk *walk, int64_t *ret, Error *error)
{
    *ret = INT64_MAX;
    if (walk->after.at && !str_to_i64(walk->after, 1, INT64_MAX, ret))
        return walk_unknown(error);
    return ERR_OK;
}

// Page is a page as it is filled: rows met, rows that fit, and where it stands.
typedef struct Page {
    AuditRow *rows;
    size_t count, room; // one more than the page shows
    int64_t met, before;
    int64_t end;  // blocks from there on were looked into, whatever they say they hold
    bool is_over; // nothing lies behind
} Page;

static void look_into(const Look *look, const AuditBlock *block, Opened *opened, Page *page)
{
    open_block(block, opened);
    for (size_t i = opened->count; i-- > 0 && page->count < page->room;) {
        const AuditRow *row = &opened->rows[i];
        if (row->seq >= page->before)
            continue;
        page->before = row->seq;
        page->met++;
        if (!restricts(look->filter) || fits(look, row))
            page->rows[page->count++] = *row;
    }
}

static Err look_on(Db *db, Arena *arena, int64_t tenant, const Look *look, Opened *opened,
                   Page *page, Error *error)
{
    AuditBlocks blocks;
    Value args[] = { value_i64(tenant), value_i64(page->before), value_i64(page->end),
                     value_i64(LOOK) };
    TRY(read_blocks(db, arena, &newest, args, &blocks, error));
    for (size_t i = 0; i < blocks.count && page->count < page->room; i++) {
        look_into(look, &blocks.at[i], opened, page);
        page->end = blocks.at[i].last;
    }
    page->is_over = blocks.count < LOOK && page->count < page->room;
    return ERR_OK;
}

static Err find_site(Db *db, Arena *arena, int64_t tenant, Str name, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(name) };
    TRY(db_query(db, arena, &site_called, args, &rows, error));
    *ret = rows.count > 0 ? value_to_i64(&rows_at(&rows, 0)[0]) : SITE_OF_NOBODY;
    return ERR_OK;
}

static Err look_for(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant,
                    const AuditFilter *filter, Look *ret, Error *error)
{
    Str key;
    *ret = (Look){ .filter = filter };
    if (filter->site.at)
        TRY(find_site(db, arena, tenant, filter->site, &ret->site, error));
    if (!filter->target.at)
        return ERR_OK;
    TRY(audit_key_get(db, arena, ring, &key, error));
    ret->has_target = key.at;
    if (key.at)
        ret->target = audit_target(key, filter->target);
    return ERR_OK;
}

// Named is a site that rows came from.
typedef struct Named {
    int64_t tenant, site;
    Str name;
} Named;

static const Columns named_columns = COLUMNS(Named, COLUMN(Named, tenant), COLUMN(Named, site));

static int by_site(const void *a, const void *b)
{
    const Named *x = a, *y = b;
    return x->site < y->site ? -1 : x->site > y->site;
}

static size_t list_sites(int64_t tenant, const AuditRow *rows, size_t count, Named *ret)
{
    size_t met = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].is_read && rows[i].entry.site)
            ret[met++] = (Named){ .tenant = tenant, .site = rows[i].entry.site };
    qsort(ret, met, sizeof *ret, by_site);
    for (size_t i = 0; i < met; i++)
        if (i == 0 || ret[i].site != ret[kept - 1].site)
            ret[kept++] = ret[i];
    return kept;
}

// name_sites gives rows the names of their sites, each of which is looked up once.
static Err name_sites(Db *db, Arena *arena, int64_t tenant, AuditRow *rows, size_t count,
                      Error *error)
{
    Rows found = { 0 };
    Named *named = ARENA_ARRAY(arena, Named, count + 1);
    size_t named_count = list_sites(tenant, rows, count, named);
    if (named_count == 0)
        return ERR_OK;
    db_send_rows(db, arena, &site_names, &named_columns, named, named_count, &found);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < found.count; i++) {
        Named key = { .site = value_to_i64(&rows_at(&found, i)[0]) };
        Named *one = bsearch(&key, named, named_count, sizeof key, by_site);
        assert(one);
        one->name = value_to_str(&rows_at(&found, i)[1]);
    }
    for (size_t i = 0; i < count; i++) {
        Named key = { .site = rows[i].entry.site };
        const Named *one = bsearch(&key, named, named_count, sizeof key, by_site);
        rows[i].site = one ? one->name : STR_NONE;
    }
    return ERR_OK;
}

Err audit_page(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant, const AuditFilter *filter,
               const Walk *walk, AuditRow **ret, Seen *ret_seen, Error *error)
{
    Look look;
    int64_t most = walk_met_max(walk, WALK_NEAR);
    Page page = { .room = (size_t) walk->limit + 1 };
    TRY(place_of(walk, &page.before, error));
    page.end =
        page.before > INT64_MAX - AUDIT_BLOCK_MAX ? INT64_MAX : page.before + AUDIT_BLOCK_MAX;
    TRY(look_for(db, arena, ring, tenant, filter, &look, error));
    page.rows = ARENA_ARRAY(arena, AuditRow, page.room);
    Opened *opened = ARENA_NEW(arena, Opened);
    while (!page.is_over && page.count < page.room && page.met < most)
        TRY(look_on(db, arena, tenant, &look, opened, &page, error));
    TRY(name_sites(db, arena, tenant, page.rows, page.count, error));
    bool is_full = page.count == page.room;
    *ret_seen = walk_counted(walk, page.count, false, !page.is_over && !is_full);
    if (ret_seen->has_more)
        ret_seen->next =
            str_format(arena, "%lld",
                       (long long) (is_full ? page.rows[ret_seen->count - 1].seq : page.before));
    *ret = page.rows;
    return ERR_OK;
}

// Pouring is an export as it is filled: rows met, rows that fit, and where it stands.
typedef struct Pouring {
    AuditRow *rows;
    size_t count, met;
    int64_t place, until;
} Pouring;

static void pour(const Look *look, const AuditBlock *block, Opened *opened, Pouring *pouring)
{
    open_block(block, opened);
    for (size_t i = 0; i < opened->count && pouring->count < AUDIT_EXPORT_ROWS; i++) {
        const AuditRow *row = &opened->rows[i];
        if (row->seq <= pouring->place || row->seq > pouring->until)
            continue;
        pouring->place = row->seq;
        pouring->met++;
        if (!restricts(look->filter) || fits(look, row))
            pouring->rows[pouring->count++] = *row;
    }
}

Err audit_export(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant,
                 const AuditFilter *filter, int64_t *after, int64_t until, AuditRow *ret,
                 size_t *ret_count, Error *error)
{
    Look look;
    AuditBlocks blocks = { .count = LOOK };
    Pouring pouring = { .rows = ret, .place = *after, .until = until };
    Opened *opened = ARENA_NEW(arena, Opened);
    TRY(look_for(db, arena, ring, tenant, filter, &look, error));
    while (blocks.count == LOOK && pouring.count < AUDIT_EXPORT_ROWS &&
           pouring.met < AUDIT_EXPORT_LOOK && pouring.place < until) {
        Value args[] = { value_i64(tenant), value_i64(pouring.place), value_i64(LOOK) };
        TRY(read_blocks(db, arena, &onward, args, &blocks, error));
        for (size_t i = 0; i < blocks.count && pouring.count < AUDIT_EXPORT_ROWS; i++)
            pour(&look, &blocks.at[i], opened, &pouring);
    }
    TRY(name_sites(db, arena, tenant, ret, pouring.count, error));
    bool is_end = blocks.count < LOOK && pouring.count < AUDIT_EXPORT_ROWS;
    *after = is_end ? until : pouring.place;
    *ret_count = pouring.count;
    return ERR_OK;
}

// Verifying

static void note_problem(AuditVerdict *verdict, AuditProblem problem, int64_t bad)
{
    verdict->problem = problem;
    verdict->bad = bad;
}

// Verifying is a verdict in the making, beside the head that was kept elsewhere.
typedef struct Verifying {
    AuditVerdict *verdict;
    const AuditHead *outside;
} Verifying;

// compare looks whether an entry is the one that the head outside tells of.
static AuditProblem compare(void *with, const AuditRead *read)
{
    const Verifying *verifying = with;
    verifying->verdict->rows++;
    return read->entry.seq == verifying->outside->seq &&
                   memcmp(read->link.b, verifying->outside->link.b, SHA256_LEN) != 0
               ? AUDIT_PROBLEM_CHANGED
               : AUDIT_PROBLEM_NONE;
}

// follow_some follows the next blocks, until so many rows were looked at.
static Err follow_some(Db *db, Arena *arena, int64_t tenant, int64_t until, Verifying *verifying,
                       bool *ret_more, Error *error)
{
    AuditBlocks blocks;
    AuditVerdict *verdict = verifying->verdict;
    Value args[] = { value_i64(tenant), value_i64(verdict->head.seq), value_i64(VERIFY_LOOK) };
    TRY(read_blocks(db, arena, &onward, args, &blocks, error));
    size_t i = 0;
    for (; i < blocks.count && !verdict->problem && verdict->rows < until; i++) {
        AuditProblem problem = audit_follow(&verdict->head, &blocks.at[i], compare, verifying);
        if (problem)
            note_problem(verdict, problem, verdict->head.seq + 1);
    }
    *ret_more = (i < blocks.count || blocks.count == VERIFY_LOOK) && !verdict->problem;
    return ERR_OK;
}

// was_purged: what seems to be wrong was purged meanwhile; what is left begins at the anchor.
static Err was_purged(Db *db, Arena *arena, int64_t tenant, AuditVerdict *verdict, bool *ret,
                      Error *error)
{
    AuditChain chain;
    TRY(audit_chain(db, arena, tenant, &chain, error));
    *ret = verdict->bad <= chain.anchor.seq;
    if (*ret) {
        verdict->head = chain.anchor;
        note_problem(verdict, AUDIT_PROBLEM_NONE, 0);
    }
    return ERR_OK;
}

// The chain's own head is read before its rows: what is sealed meanwhile lies behind it.
Err audit_verify(Db *db, int64_t tenant, const AuditHead *outside, int64_t limit, AuditVerdict *ret,
                 bool *ret_more, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditChain chain;
    bool has_more = true;
    Verifying verifying = { ret, outside };
    TRY(audit_chain(db, &arena, tenant, &chain, error));
    for (int64_t end = ret->rows + limit; has_more && ret->rows < end;) {
        arena_reset(&arena);
        TRY(follow_some(db, &arena, tenant, end, &verifying, &has_more, error));
        if (ret->problem)
            TRY(was_purged(db, &arena, tenant, ret, &has_more, error));
    }
    if (!has_more && !ret->problem &&
        (ret->head.seq < chain.head.seq || ret->head.seq < outside->seq))
        note_problem(ret, AUDIT_PROBLEM_CUT, ret->head.seq + 1);
    *ret_more = has_more;
    return ERR_OK;
}
