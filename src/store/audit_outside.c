#include "store/audit_outside.h"

#include "base/file.h"
#include "base/log.h"
#include "store/columns.h"

enum { OUTSIDE_BYTES_MAX = 64 << 20 };

static const Statement heads = {
    .name = "audit_heads",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT tenant, seq, link, anchor_seq FROM chain WHERE seq > 0 ORDER BY tenant",
};
// The block that an entry lies in is the first that does not end before it.
static const Statement block_at = {
    .name = "audit_outside_block",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT tenant, first, seq, body, link FROM audit WHERE tenant = $1 AND seq >= $2"
           " ORDER BY seq LIMIT 1",
};

const Statement *const audit_outside_statements[] = { &heads, &block_at, NULL };

static const Columns block_columns =
    COLUMNS(AuditBlock, COLUMN(AuditBlock, tenant), COLUMN(AuditBlock, first),
            COLUMN(AuditBlock, last), COLUMN(AuditBlock, body), COLUMN(AuditBlock, link));

static Str path_of(Db *db, Arena *arena, const EpochGuard *guard)
{
    return str_format(arena, "%.*s.audit", STR_ARG(epoch_path(db, arena, guard)));
}

// Line is a line of the file: tenant, seq and link.
typedef struct Line {
    int64_t tenant;
    AuditHead head;
} Line;

static bool read_line(Arena *arena, Str text, Line *ret)
{
    Line line;
    Str tenant = str_cut(&text, ' '), seq = str_cut(&text, ' '), link;
    if (!str_to_i64(tenant, 0, INT64_MAX, &line.tenant) ||
        !str_to_i64(seq, 1, INT64_MAX, &line.head.seq) || !hex_parse(arena, text, &link) ||
        link.len != SHA256_LEN)
        return false;
    memcpy(line.head.link.b, link.at, SHA256_LEN);
    *ret = line;
    return true;
}

static int by_tenant(const void *a, const void *b)
{
    const Line *x = a, *y = b;
    return x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
}

// read_lines reads the file's lines, in the order of their tenants.
static size_t read_lines(Arena *arena, Str text, Line **ret)
{
    size_t room = 1, count = 0;
    for (size_t i = 0; i < text.len; i++)
        room += text.at[i] == '\n';
    *ret = ARENA_ARRAY(arena, Line, room);
    while (text.len > 0)
        count += read_line(arena, str_cut(&text, '\n'), &(*ret)[count]);
    qsort(*ret, count, sizeof **ret, by_tenant);
    return count;
}

static const Line *find(const Line *lines, size_t count, int64_t tenant)
{
    Line wanted = { .tenant = tenant };
    return bsearch(&wanted, lines, count, sizeof *lines, by_tenant);
}

static void add_line(Buf *text, Arena *arena, const Line *line)
{
    buf_add_format(text, "%lld %lld %.*s\n", (long long) line->tenant, (long long) line->head.seq,
                   STR_ARG(hex_text(arena, line->head.link.b, SHA256_LEN)));
}

// Chain is a chain's head inside, and what stands outside for it; block is where that lies.
typedef struct Chain {
    Line inside;
    int64_t anchor;
    const Line *outside; // NULL: nothing does
    Rows block;
} Chain;

static bool is_same(const AuditHead *a, const AuditHead *b)
{
    return a->seq == b->seq && memcmp(a->link.b, b->link.b, sizeof a->link.b) == 0;
}

// read_chain reads a head, and asks for the block of what stands outside where that is another.
static void read_chain(Db *db, Arena *arena, const Value *row, const Line *lines, size_t count,
                       Chain *ret)
{
    *ret =
        (Chain){ .inside = { .tenant = value_to_i64(&row[0]), .head.seq = value_to_i64(&row[1]) },
                 .anchor = value_to_i64(&row[3]) };
    Str link = value_to_str(&row[2]);
    if (link.len == SHA256_LEN)
        memcpy(ret->inside.head.link.b, link.at, SHA256_LEN);
    ret->outside = find(lines, count, ret->inside.tenant);
    if (!ret->outside || is_same(&ret->outside->head, &ret->inside.head))
        return;
    Value args[] = { value_i64(ret->inside.tenant), value_i64(ret->outside->head.seq) };
    db_send(db, arena, &block_at, args, &ret->block);
}

// leads_on tells whether the chain still goes through what stands outside, or that was purged.
static bool leads_on(const Chain *chain)
{
    AuditBlock block = { 0 };
    AuditRead read;
    const AuditHead *outside = &chain->outside->head;
    if (is_same(outside, &chain->inside.head) || outside->seq <= chain->anchor)
        return true;
    if (outside->seq > chain->inside.head.seq || chain->block.count == 0)
        return false;
    columns_read(&block_columns, rows_at(&chain->block, 0), &block);
    audit_read(&block, &read);
    while (audit_next(&read))
        if (is_same(outside, &(AuditHead){ read.entry.seq, read.link }))
            return true;
    return false;
}

// head_of is what is to stand outside for a chain: its head, unless that is behind, or does not
// come from what stands there.
static const Line *head_of(const Chain *chain)
{
    if (!chain->outside || leads_on(chain))
        return &chain->inside;
    log_error("audit.behind", "tenant=%lld inside=%lld outside=%lld",
              (long long) chain->inside.tenant, (long long) chain->inside.head.seq,
              (long long) chain->outside->head.seq);
    return chain->outside;
}

Err audit_outside_read(Db *db, Arena *arena, const EpochGuard *guard, AuditKeep *ret, Error *error)
{
    Rows rows;
    Str old;
    Line *lines;
    Str path = path_of(db, arena, guard);
    Buf text = buf_new(arena, OUTSIDE_BYTES_MAX);
    TRY(file_get(arena, path, OUTSIDE_BYTES_MAX, &old, error));
    TRY(db_query(db, arena, &heads, NULL, &rows, error));
    size_t count = read_lines(arena, old, &lines);
    Chain *chains = ARENA_ARRAY(arena, Chain, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        read_chain(db, arena, rows_at(&rows, i), lines, count, &chains[i]);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++)
        add_line(&text, arena, head_of(&chains[i]));
    bool is_new = rows.count > 0 && !text.overflowed && !str_eq(old, buf_str(&text));
    *ret = is_new ? (AuditKeep){ path, buf_str(&text) } : (AuditKeep){ 0 };
    return ERR_OK;
}

void audit_outside_keep(const AuditKeep *keep)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    // Where it fails, outside stays behind: a cut is noticed later.
    if (keep->path.at && file_put(&arena, keep->path, keep->text, &error) != ERR_OK)
        log_warn("audit.unkept", "detail=%s", log_quote(str_from(error.detail)));
}

Err audit_outside(Db *db, Arena *arena, const EpochGuard *guard, int64_t tenant, AuditHead *ret,
                  Error *error)
{
    Str text;
    Line *lines;
    TRY(file_get(arena, path_of(db, arena, guard), OUTSIDE_BYTES_MAX, &text, error));
    size_t count = read_lines(arena, text, &lines);
    const Line *line = find(lines, count, tenant);
    *ret = line ? line->head : (AuditHead){ 0 };
    return ERR_OK;
}
