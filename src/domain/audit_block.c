#include "domain/audit_block.h"

#include "base/varint.h"

// How the members of an entry are packed. Which of them differ from the entry before is a number,
// a bit for each, behind the entry's check; what differs follows in this order.

typedef enum PackType {
    PACK_STEP, // an int64_t: how much more than before
    PACK_INT,  // an int or an enum
    PACK_ID,   // how many bytes are those of before, and the others
    PACK_TEXT, // none is told from empty
} PackType;

typedef struct Member {
    PackType type;
    size_t offset;
    int end; // of a PACK_INT: what is not below it, or is negative, is none; 0: any
} Member;

#define MEMBER(type, member)                                                                       \
    {                                                                                              \
        type, offsetof(AuditEntry, member), 0                                                      \
    }
#define MEMBER_OF(table, member)                                                                   \
    {                                                                                              \
        PACK_INT, offsetof(AuditEntry, member), (int) TABLE_ROWS(table)                            \
    }
static const Member members[] = {
    MEMBER(PACK_STEP, seq), // from the one that is expected
    MEMBER(PACK_STEP, number),
    { PACK_INT, offsetof(AuditEntry, part), AUDIT_PARTS_MAX },
    MEMBER_OF(AUDIT_KIND_TABLE, kind),
    MEMBER_OF(AUDIT_STATUS_TABLE, status),
    MEMBER_OF(DELIVERY_REASON_TABLE, reason),
    MEMBER(PACK_ID, delivery),
    MEMBER(PACK_STEP, at),
    { PACK_INT, offsetof(AuditEntry, attempt), INT32_MAX },
    MEMBER(PACK_STEP, lane),
    MEMBER(PACK_STEP, rule),
    MEMBER(PACK_STEP, site),
    MEMBER(PACK_INT, code),
    MEMBER(PACK_ID, actor),
    MEMBER(PACK_ID, brought),
    MEMBER(PACK_TEXT, correlation_id),
    MEMBER(PACK_TEXT, instance),
    MEMBER(PACK_TEXT, provider_id),
    MEMBER(PACK_TEXT, text),
};

enum { LAYOUT = 1, LINE_BIT = ARRAY_LEN(members) };

_Static_assert(sizeof(AuditKind) == sizeof(int) && sizeof(AuditStatus) == sizeof(int) &&
                   sizeof(DeliveryReason) == sizeof(int),
               "enums are packed as ints");

static int64_t step_at(const AuditEntry *entry, const Member *member)
{
    int64_t n;
    memcpy(&n, (const char *) entry + member->offset, sizeof n);
    return n;
}

static int int_at(const AuditEntry *entry, const Member *member)
{
    int n;
    memcpy(&n, (const char *) entry + member->offset, sizeof n);
    return n;
}

static Uuid id_at(const AuditEntry *entry, const Member *member)
{
    Uuid id;
    memcpy(&id, (const char *) entry + member->offset, sizeof id);
    return id;
}

static Str text_at(const AuditEntry *entry, const Member *member)
{
    Str text;
    memcpy(&text, (const char *) entry + member->offset, sizeof text);
    return audit_text(text);
}

static void put(AuditEntry *entry, const Member *member, const void *value, size_t size)
{
    memcpy((char *) entry + member->offset, value, size);
}

static bool is_same(const AuditEntry *a, const AuditEntry *b, const Member *member)
{
    if (member->type == PACK_STEP)
        return step_at(a, member) == step_at(b, member);
    if (member->type == PACK_INT)
        return int_at(a, member) == int_at(b, member);
    if (member->type == PACK_ID)
        return uuid_cmp(id_at(a, member), id_at(b, member)) == 0;
    Str x = text_at(a, member), y = text_at(b, member);
    return (x.at != NULL) == (y.at != NULL) && str_eq(x, y);
}

static void add_id(Buf *body, Uuid before, Uuid id)
{
    size_t same = 0;
    while (same < sizeof id.b && before.b[same] == id.b[same])
        same++;
    buf_add_char(body, (char) same);
    buf_add_bytes(body, id.b + same, sizeof id.b - same);
}

static void add_member(Buf *body, const AuditEntry *before, const AuditEntry *entry,
                       const Member *member)
{
    if (member->type == PACK_STEP) {
        uint64_t from = (uint64_t) step_at(before, member), to = (uint64_t) step_at(entry, member);
        varint_add_signed(body, (int64_t) (to - from));
    } else if (member->type == PACK_INT)
        varint_add_signed(body, int_at(entry, member));
    else if (member->type == PACK_ID)
        add_id(body, id_at(before, member), id_at(entry, member));
    else {
        Str text = text_at(entry, member);
        buf_add_char(body, text.at ? 1 : 0);
        if (text.at)
            varint_add_text(body, text);
    }
}

static bool take_id(Str *rest, AuditEntry *entry, const Member *member)
{
    Uuid id = id_at(entry, member);
    size_t same = rest->len > 0 ? (uint8_t) rest->at[0] : sizeof id.b + 1;
    if (same > sizeof id.b || rest->len - 1 < sizeof id.b - same)
        return false;
    memcpy(id.b + same, rest->at + 1, sizeof id.b - same);
    *rest = str_skip(*rest, 1 + sizeof id.b - same);
    put(entry, member, &id, sizeof id);
    return true;
}

static bool take_int(Str *rest, AuditEntry *entry, const Member *member)
{
    int64_t n;
    if (!varint_take_signed(rest, &n) || n < INT32_MIN || n > INT32_MAX ||
        (member->end && (n < 0 || n >= member->end)))
        return false;
    put(entry, member, &(int){ (int) n }, sizeof(int));
    return true;
}

static bool take_step(Str *rest, AuditEntry *entry, const Member *member)
{
    int64_t step;
    if (!varint_take_signed(rest, &step))
        return false;
    int64_t n = (int64_t) ((uint64_t) step_at(entry, member) + (uint64_t) step);
    put(entry, member, &n, sizeof n);
    return true;
}

static bool take_text(Str *rest, AuditEntry *entry, const Member *member)
{
    Str text = STR_NONE;
    if (rest->len == 0)
        return false;
    bool is_there = rest->at[0] != 0;
    *rest = str_skip(*rest, 1);
    if (is_there && (!varint_take_text(rest, &text) || text.len > AUDIT_TEXT_MAX))
        return false;
    put(entry, member, &text, sizeof text);
    return true;
}

// take_member reads what is different, over what was before.
static bool take_member(Str *rest, AuditEntry *entry, const Member *member)
{
    if (member->type == PACK_STEP)
        return take_step(rest, entry, member);
    if (member->type == PACK_INT)
        return take_int(rest, entry, member);
    return member->type == PACK_ID ? take_id(rest, entry, member) : take_text(rest, entry, member);
}

// Packing

typedef struct Line {
    bool has_target;
    AuditTarget target;
    Str address;
} Line;

// Packing is a block that is being made.
typedef struct Packing {
    Buf body, text;
    AuditEntry last;
    size_t count;
    Line lines[AUDIT_BLOCK_MAX];
    size_t line_count, line; // line is the last entry's
} Packing;

static bool is_line(const Line *line, const AuditTold *told)
{
    const AuditEntry *entry = &told->entry;
    if (line->has_target || entry->has_target)
        return line->has_target && entry->has_target &&
               memcmp(line->target.b, entry->target.b, sizeof line->target.b) == 0;
    return str_eq(line->address, told->address);
}

// line_of is the line of an entry's address: one more than there are where it is new.
static size_t line_of(const Packing *packing, const AuditTold *told)
{
    if (!told->entry.has_target && !told->address.at)
        return 0;
    if (packing->line && is_line(&packing->lines[packing->line - 1], told))
        return packing->line;
    size_t i = 0;
    while (i < packing->line_count && !is_line(&packing->lines[i], told))
        i++;
    return i + 1;
}

static void add_line(Packing *packing, const AuditTold *told)
{
    bool fits = told->address.len <= AUDIT_ADDRESS_MAX &&
                !(told->address.len && memchr(told->address.at, '\n', told->address.len));
    Line line = { told->entry.has_target, told->entry.target, told->address };
    packing->lines[packing->line_count++] = line;
    buf_add_char(&packing->body, line.has_target ? 1 : 0);
    if (line.has_target)
        buf_add_bytes(&packing->body, line.target.b, sizeof line.target.b);
    if (packing->text.len == 0)
        buf_add_char(&packing->text, '\n');
    buf_add(&packing->text, fits ? line.address : S(""));
    buf_add_char(&packing->text, '\n');
}

static void add_entry(Packing *packing, const AuditTold *told, const Sha256 *link)
{
    uint64_t differs = 0;
    size_t line = line_of(packing, told);
    packing->last.seq++;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (!is_same(&packing->last, &told->entry, &members[i]))
            differs |= (uint64_t) 1 << i;
    if (line != packing->line)
        differs |= (uint64_t) 1 << LINE_BIT;
    buf_add_bytes(&packing->body, link->b, AUDIT_CHECK_LEN);
    varint_add(&packing->body, differs);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (differs >> i & 1)
            add_member(&packing->body, &packing->last, &told->entry, &members[i]);
    if (line != packing->line)
        varint_add(&packing->body, line);
    if (line > packing->line_count)
        add_line(packing, told);
    packing->line = line;
    packing->last = told->entry;
    packing->count++;
}

static void begin(Packing *packing, Arena *arena, const AuditHead *head)
{
    packing->body = buf_new(arena, BUF_WHOLE);
    packing->text = buf_new(arena, BUF_WHOLE);
    packing->last = (AuditEntry){ .seq = head->seq };
    packing->count = packing->line_count = packing->line = 0;
    buf_add_char(&packing->body, LAYOUT);
    varint_add(&packing->body, (uint64_t) head->seq + 1);
    buf_add_bytes(&packing->body, head->link.b, SHA256_LEN);
}

size_t audit_block(Arena *arena, int64_t tenant, AuditHead *head, const AuditTold *told,
                   size_t count, AuditBlock *ret)
{
    Packing packing;
    AuditHead next = *head;
    begin(&packing, arena, head);
    while (packing.count < count && packing.count < AUDIT_BLOCK_MAX) {
        size_t body = packing.body.len, text = packing.text.len;
        AuditTold one = told[packing.count];
        one.entry.seq = next.seq + 1;
        Sha256 link = audit_link(&next.link, tenant, &one.entry);
        add_entry(&packing, &one, &link);
        if (packing.count > 1 && packing.body.len + packing.text.len > AUDIT_BLOCK_BYTES) {
            packing.body.len = body; // it begins the next block
            packing.text.len = text;
            packing.count--;
            break;
        }
        next = (AuditHead){ one.entry.seq, link };
    }
    *ret = (AuditBlock){ .tenant = tenant,
                         .first = head->seq + 1,
                         .last = next.seq,
                         .body = buf_str(&packing.body),
                         .link = next.link,
                         .targets = packing.text.len ? buf_str(&packing.text) : STR_NONE };
    *head = next;
    return packing.count;
}

// Reading

static bool take_head(Str *rest, int64_t *ret_first, Sha256 *ret_before)
{
    uint64_t first;
    if (rest->len == 0 || rest->at[0] != LAYOUT)
        return false;
    *rest = str_skip(*rest, 1);
    if (!varint_take(rest, &first) || first < 1 || first > INT64_MAX || rest->len < SHA256_LEN)
        return false;
    memcpy(ret_before->b, rest->at, SHA256_LEN);
    *rest = str_skip(*rest, SHA256_LEN);
    *ret_first = (int64_t) first;
    return true;
}

bool audit_before(const AuditBlock *block, Sha256 *ret)
{
    Str rest = block->body;
    int64_t first;
    return take_head(&rest, &first, ret);
}

// says_sense: its numbers are such as a block may have. What they say is not covered by anything.
static bool says_sense(const AuditBlock *block)
{
    return block->first >= 1 && block->last >= block->first && block->last < INT64_MAX &&
           block->last - block->first < AUDIT_BLOCK_MAX;
}

void audit_read(const AuditBlock *block, AuditRead *ret)
{
    Str lines = block->targets;
    int64_t first = 0;
    *ret = (AuditRead){ .block = block, .rest = block->body };
    if (!says_sense(block)) {
        ret->problem = AUDIT_PROBLEM_CHANGED;
        return;
    }
    ret->seq = ret->entry.seq = block->first - 1;
    (void) str_cut(&lines, '\n');
    for (size_t i = 0; i < AUDIT_BLOCK_MAX && lines.len > 0; i++)
        ret->lines[i] = str_cut(&lines, '\n');
    if (!take_head(&ret->rest, &first, &ret->link))
        ret->problem = AUDIT_PROBLEM_CHANGED;
    else if (first != block->first)
        ret->problem = AUDIT_PROBLEM_REORDERED;
}

// take_line reads which line the entry's address has; a new one has its hash behind it.
static bool take_line(AuditRead *read)
{
    AuditTarget *target = &read->targets[read->line_count];
    uint64_t line;
    if (!varint_take(&read->rest, &line) || line > read->line_count + 1 || line > AUDIT_BLOCK_MAX)
        return false;
    read->line = (size_t) line;
    if (line <= read->line_count)
        return true;
    size_t len = read->rest.len > 0 && read->rest.at[0] ? sizeof target->b : 0;
    if (read->rest.len < 1 + len)
        return false;
    memcpy(target->b, read->rest.at + 1, len);
    read->has_target[read->line_count++] = len > 0;
    read->rest = str_skip(read->rest, 1 + len);
    return true;
}

// take_entry reads the next entry over the one before, and its check.
static bool take_entry(AuditRead *read, Str *ret_check)
{
    AuditEntry *entry = &read->entry;
    uint64_t differs;
    *ret_check = (Str){ read->rest.at, AUDIT_CHECK_LEN };
    if (read->rest.len < AUDIT_CHECK_LEN)
        return false;
    read->rest = str_skip(read->rest, AUDIT_CHECK_LEN);
    if (!varint_take(&read->rest, &differs) || differs >> (LINE_BIT + 1))
        return false;
    entry->seq = (int64_t) ((uint64_t) entry->seq + 1); // what was read may be any number
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if ((differs >> i & 1) && !take_member(&read->rest, entry, &members[i]))
            return false;
    if ((differs >> LINE_BIT & 1) && !take_line(read))
        return false;
    entry->has_target = read->line > 0 && read->has_target[read->line - 1];
    entry->target = entry->has_target ? read->targets[read->line - 1] : (AuditTarget){ { 0 } };
    return true;
}

// misplaced tells why an entry is not the one that is expected: where the block has fewer entries
// than it should, some were taken out; otherwise they were put elsewhere.
static AuditProblem misplaced(const AuditBlock *block)
{
    AuditRead read;
    Str check;
    int64_t count = 0;
    audit_read(block, &read);
    while (read.rest.len > 0 && take_entry(&read, &check))
        count++;
    return count < block->last - block->first + 1 ? AUDIT_PROBLEM_MISSING : AUDIT_PROBLEM_REORDERED;
}

// is_linked follows the chain to the entry. Of the last one the whole link is known.
static bool is_linked(AuditRead *read, Str check)
{
    const AuditBlock *block = read->block;
    read->link = audit_link(&read->link, block->tenant, &read->entry);
    return memcmp(read->link.b, check.at, check.len) == 0 &&
           (read->seq + 1 < block->last ||
            memcmp(read->link.b, block->link.b, sizeof block->link.b) == 0);
}

static AuditProblem go_on(AuditRead *read)
{
    Str check;
    if (read->rest.len == 0)
        return read->seq < read->block->last ? AUDIT_PROBLEM_MISSING : AUDIT_PROBLEM_NONE;
    if (read->seq == read->block->last || !take_entry(read, &check))
        return AUDIT_PROBLEM_CHANGED;
    if (read->entry.seq != read->seq + 1)
        return misplaced(read->block);
    return is_linked(read, check) ? AUDIT_PROBLEM_NONE : AUDIT_PROBLEM_CHANGED;
}

bool audit_next(AuditRead *read)
{
    bool is_end = read->rest.len == 0;
    if (!read->problem)
        read->problem = go_on(read);
    if (read->problem || is_end)
        return false;
    Str address = read->line > 0 ? read->lines[read->line - 1] : STR_NONE;
    read->address = address.len > 0 ? address : STR_NONE;
    read->seq++;
    return true;
}

AuditProblem audit_follow(AuditHead *head, const AuditBlock *block, AuditSeen *seen, void *with)
{
    AuditRead read;
    if (block->first <= head->seq)
        return AUDIT_PROBLEM_REORDERED;
    if (block->first - 1 > head->seq)
        return AUDIT_PROBLEM_MISSING;
    audit_read(block, &read);
    if (!read.problem && memcmp(read.link.b, head->link.b, sizeof head->link.b) != 0)
        return AUDIT_PROBLEM_CHANGED;
    while (audit_next(&read)) {
        AuditProblem problem = seen ? seen(with, &read) : AUDIT_PROBLEM_NONE;
        if (problem)
            return problem;
        *head = (AuditHead){ read.seq, read.link };
    }
    return read.problem;
}
