#include "domain/audit_block.h"

#include "test.h"

#define AT ((Instant) 1767225600 * SPAN_SECOND)

static const Uuid somebody = { { 9, 9 } }, nobody;

static Fact moved(int from, int to, DeliveryReason reason, Uuid actor)
{
    Fact fact = { .kind = FACT_MOVED, .tenant = 1, .actor = actor };
    fact.move = (Move){ .tenant = 1,
                        .lane = 3,
                        .rule = 4,
                        .from = from,
                        .to = to,
                        .attempt = from == MOVE_NOWHERE ? 0 : 2,
                        .reason = reason,
                        .due_at = INSTANT_NONE };
    memset(fact.move.delivery.b, 0xab, sizeof fact.move.delivery.b);
    return fact;
}

static AuditEntry sample(void)
{
    AuditEntry entry = { .seq = 41,
                         .number = 17,
                         .part = 1,
                         .at = AT,
                         .kind = AUDIT_DELIVERY_ATTEMPT,
                         .status = AUDIT_STATUS_TRANSIENT,
                         .lane = 3,
                         .rule = 4,
                         .site = 0,
                         .attempt = 2,
                         .reason = REASON_UNWELL,
                         .code = 503,
                         .has_target = true,
                         .correlation_id = S("order-9"),
                         .instance = S(""),
                         .text = S("try later") };
    memset(entry.delivery.b, 0xab, sizeof entry.delivery.b);
    memset(entry.target.b, 0xcd, sizeof entry.target.b);
    return entry;
}

static bool same_text(Str a, Str b)
{
    return (a.at != NULL) == (b.at != NULL) && str_eq(a, b);
}

static bool same(const AuditEntry *a, const AuditEntry *b)
{
    return a->seq == b->seq && a->number == b->number && a->part == b->part && a->at == b->at &&
           a->kind == b->kind && a->status == b->status && uuid_cmp(a->actor, b->actor) == 0 &&
           uuid_cmp(a->delivery, b->delivery) == 0 && uuid_cmp(a->brought, b->brought) == 0 &&
           a->lane == b->lane && a->rule == b->rule && a->site == b->site &&
           a->attempt == b->attempt && a->reason == b->reason && a->code == b->code &&
           a->has_target == b->has_target &&
           memcmp(a->target.b, b->target.b, sizeof a->target.b) == 0 &&
           same_text(a->correlation_id, b->correlation_id) && same_text(a->instance, b->instance) &&
           same_text(a->provider_id, b->provider_id) && same_text(a->text, b->text);
}

enum { ROWS = 6 };

// tell_sample is entries as unlike each other as those of a block can be, with their addresses.
static void tell_sample(AuditTold ret[ROWS])
{
    static const Str addresses[] = { S("ada@example.org"), S("eve@example.org") };
    for (int i = 0; i < ROWS; i++) {
        ret[i] = (AuditTold){ sample(), addresses[i % 2] };
        ret[i].entry.number = 2 * i + 1;
        ret[i].entry.target.b[0] = (uint8_t) (i % 2);
        ret[i].entry.delivery.b[9] = (uint8_t) (i / 2);
    }
    ret[2].entry.actor = ret[2].entry.brought = somebody;
    ret[2].entry.provider_id = S("p-1");
    ret[2].entry.site = -7;
    ret[3] = (AuditTold){ .entry = { .at = AT - SPAN_DAY, .kind = AUDIT_OPERATOR_HOLD } };
    ret[3].entry.actor = somebody;
    ret[4].entry.code = -1;
}

static AuditBlock pack(Arena *arena, AuditHead *head, const AuditTold *told, size_t count)
{
    AuditBlock block;
    CHECK(audit_block(arena, 1, head, told, count, &block) == count);
    return block;
}

static void entries_come_back_as_they_were(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told[ROWS];
    AuditHead head = { 0 };
    Sha256 link = { 0 };
    AuditRead read;
    tell_sample(told);
    AuditBlock block = pack(&arena, &head, told, ROWS);
    CHECK(block.first == 1 && block.last == ROWS && head.seq == ROWS);
    CHECK(str_eq(block.targets, S("\nada@example.org\neve@example.org\n")));
    audit_read(&block, &read);
    for (int i = 0; i < ROWS; i++) {
        told[i].entry.seq = i + 1;
        link = audit_link(&link, 1, &told[i].entry);
        CHECK(audit_next(&read) && same(&told[i].entry, &read.entry));
        CHECK(same_text(told[i].address, read.address));
        CHECK(memcmp(link.b, read.link.b, sizeof link.b) == 0);
    }
    CHECK(!audit_next(&read) && !read.problem);
    CHECK(memcmp(&head.link, &link, sizeof link) == 0 && memcmp(&block.link, &link, 32) == 0);
}

static void a_block_ends_where_it_is_full(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold *told = ARENA_ARRAY(&arena, AuditTold, 1000);
    AuditHead head = { 0 }, followed = { 0 };
    size_t done = 0, blocks = 0;
    for (size_t i = 0; i < 1000; i++) {
        told[i] = (AuditTold){ sample(), S("") };
        memcpy(told[i].entry.target.b, &i, sizeof i);
        told[i].address = str_format(&arena, "user%zu@example.org", i);
        if (i >= 500)
            told[i] = told[499]; // what is the same takes few bytes
    }
    for (; done < 1000; blocks++) {
        AuditBlock block;
        size_t count = audit_block(&arena, 1, &head, told + done, 1000 - done, &block);
        CHECK(count > 10 && count <= AUDIT_BLOCK_MAX);
        CHECK(block.body.len + block.targets.len <= AUDIT_BLOCK_BYTES);
        CHECK(audit_follow(&followed, &block, NULL, NULL) == AUDIT_PROBLEM_NONE);
        done += count;
    }
    CHECK(followed.seq == 1000 && blocks > 10 && blocks < 50);
}

static void an_address_can_be_erased_or_is_left_out(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told[ROWS];
    AuditHead head = { 0 }, followed = { 0 };
    AuditRead read;
    tell_sample(told);
    told[5].address = S("two\nlines");
    told[5].entry.target.b[0] = 9;
    AuditBlock block = pack(&arena, &head, told, ROWS);
    CHECK(str_eq(block.targets, S("\nada@example.org\neve@example.org\n\n")));
    block.targets = S("\n\neve@example.org\n\n"); // ada's is erased
    CHECK(audit_follow(&followed, &block, NULL, NULL) == AUDIT_PROBLEM_NONE);
    audit_read(&block, &read);
    CHECK(audit_next(&read) && !read.address.at && read.entry.has_target);
    CHECK(audit_next(&read) && str_eq(read.address, S("eve@example.org")));
    static char long_one[AUDIT_ADDRESS_MAX + 1];
    memset(long_one, 'a', sizeof long_one);
    told[5].address = (Str){ long_one, sizeof long_one };
    head = (AuditHead){ 0 };
    block = pack(&arena, &head, told, ROWS);
    CHECK(str_eq(block.targets, S("\nada@example.org\neve@example.org\n\n")));
    const Str odd[] = { STR_NONE, S(""), S("x"), S("\n\n\n\n\n\n\n\n") };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) { // whatever was written there
        block.targets = odd[i];
        followed = (AuditHead){ 0 };
        CHECK(audit_follow(&followed, &block, NULL, NULL) == AUDIT_PROBLEM_NONE);
    }
}

// The bytes and links that tools outside rely on; computed by hand, not by this code.
static void the_bytes_and_the_links_stay_as_they_are(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditEntry entry = sample();
    Buf packed = buf_new(&arena, AUDIT_BYTES_MAX);
    audit_pack(&packed, &entry);
    Str body = buf_str(&packed);
    Sha256 zero = { 0 };
    CHECK(str_eq(hex_text(&arena, body.at, body.len),
                 S("0129fa021101808082e288d2a30604040608000203ababababababababababab"
                   "abababababcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdee07076f726465722d3900"
                   "09747279206c61746572")));
    Sha256 first = audit_link(&zero, 1, &entry);
    CHECK(str_eq(hex_text(&arena, first.b, sizeof first.b),
                 S("d35fdec0aff920ba48eeccd698980f5ff3ba7a96affdd0600b47aa9872b4f038")));
    AuditEntry next = { .seq = 42, .kind = AUDIT_OPERATOR_HOLD };
    Sha256 second = audit_link(&first, 258, &next);
    CHECK(str_eq(hex_text(&arena, second.b, sizeof second.b),
                 S("27dfbd792b944a78715222649b91913454bef55bfd69cde681b2276897021982")));
    AuditTarget target = audit_target(S("key"), S("ada@example.org"));
    CHECK(
        str_eq(hex_text(&arena, target.b, sizeof target.b), S("e7e8f78d42b4160369dc797e67eb0413")));
    CHECK(str_eq(uuid_dup(&arena, audit_event_id(1, &entry)),
                 S("70ac6390-ce33-83e9-a371-49bd623056a1")));
    CHECK(str_eq(uuid_dup(&arena, audit_enqueued_id(S("n-1"))),
                 S("2a35708a-559e-85d8-b98c-c4fcee420882")));
}

// Whatever stands in place of any byte: it is no crash, and it is found where it is or before.
static void what_is_damaged_is_found(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told[ROWS];
    AuditHead head = { 0 };
    tell_sample(told);
    AuditBlock whole = pack(&arena, &head, told, ROWS);
    for (size_t len = 0; len < whole.body.len; len++) {
        AuditBlock cut = whole;
        cut.body.len = len;
        head = (AuditHead){ 0 };
        CHECK(audit_follow(&head, &cut, NULL, NULL) != AUDIT_PROBLEM_NONE && head.seq < ROWS);
    }
    char *bytes = arena_alloc(&arena, whole.body.len);
    AuditBlock changed = whole;
    changed.body.at = bytes;
    for (size_t i = 0; i < whole.body.len * 256; i++) {
        memcpy(bytes, whole.body.at, whole.body.len);
        bytes[i / 256] = (char) (i % 256);
        head = (AuditHead){ 0 };
        AuditProblem problem = audit_follow(&head, &changed, NULL, NULL);
        bool is_whole = head.seq == ROWS && memcmp(&head.link, &whole.link, SHA256_LEN) == 0;
        CHECK(problem != AUDIT_PROBLEM_NONE ? head.seq < ROWS : is_whole);
    }
}

static void a_long_text_is_cut_between_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told = { .entry = sample() };
    AuditHead head = { 0 };
    AuditRead read;
    Buf text = buf_new(&arena, 4 * AUDIT_TEXT_MAX);
    buf_add(&text, S("x"));
    while (text.len < 3 * AUDIT_TEXT_MAX)
        buf_add(&text, S("ä"));
    told.entry.text = told.entry.correlation_id = buf_str(&text);
    told.entry.instance = told.entry.provider_id = buf_str(&text);
    told.entry.actor = told.entry.brought = somebody;
    AuditBlock block = pack(&arena, &head, &told, 1);
    audit_read(&block, &read);
    CHECK(audit_next(&read));
    CHECK(read.entry.text.len == AUDIT_TEXT_MAX - 1 && str_is_utf8(read.entry.text));
}

typedef struct Telling {
    const char *name;
    int from, to;
    DeliveryReason reason;
    bool by_somebody, was_tried;
    Verdict verdict;
    RuleKind rule;
    const char *told; // kind=status, …
} Telling;

static const Telling tellings[] = {
    { "made", MOVE_NOWHERE, DELIVERY_PENDING, REASON_NONE, true, false, 0, RULE_TRIGGER,
      "Delivery.Created=Enqueued" },
    { "notified", MOVE_NOWHERE, DELIVERY_PENDING, REASON_NONE, true, false, 0, RULE_NOTIFY,
      "Notification.Enqueued=Enqueued" },
    { "sent", DELIVERY_SENDING, DELIVERY_DELIVERED, REASON_ACCEPTED, false, true, VERDICT_DELIVERED,
      RULE_NOTIFY, "Notification.Attempt=Success Notification.Terminal=Delivered" },
    { "waits", DELIVERY_SENDING, DELIVERY_WAITING, REASON_ACCEPTED, false, true, VERDICT_DELIVERED,
      RULE_TRIGGER, "Delivery.Attempt=Success" },
    { "retried", DELIVERY_SENDING, DELIVERY_RETRYING, REASON_UNWELL, false, true, VERDICT_TRANSIENT,
      RULE_TRIGGER, "Delivery.Attempt=Transient" },
    { "gave up", DELIVERY_SENDING, DELIVERY_PARKED, REASON_GAVE_UP, false, true, VERDICT_PERMANENT,
      RULE_TRIGGER, "Delivery.Attempt=Permanent Delivery.Terminal=Parked" },
    { "never tried", DELIVERY_SENDING, DELIVERY_PARKED, REASON_NO_CHANNEL, false, false, 0,
      RULE_TRIGGER, "Delivery.Terminal=Parked" },
    { "retry", DELIVERY_PARKED, DELIVERY_PENDING, REASON_BY_OPERATOR, true, true, 0, RULE_TRIGGER,
      "Operator.retry=Success" },
    { "discard", DELIVERY_PARKED, DELIVERY_DISCARDED, REASON_BY_OPERATOR, true, false, 0,
      RULE_TRIGGER, "Operator.discard=Success Delivery.Terminal=Discarded" },
    { "cancel under way", DELIVERY_SENDING, DELIVERY_CANCELLED, REASON_BY_OPERATOR, true, true,
      VERDICT_UNKNOWN, RULE_TRIGGER,
      "Operator.cancel=Success Delivery.Attempt=Unknown Delivery.Terminal=Cancelled" },
    { "recall", DELIVERY_PENDING, DELIVERY_CANCELLED, REASON_CALLED_OFF, true, false, 0,
      RULE_TRIGGER, "Delivery.Terminal=Cancelled" },
    { "answer", DELIVERY_WAITING, DELIVERY_COMPLETED, REASON_ANSWERED, true, true, 0, RULE_TRIGGER,
      "Operator.complete=Success Delivery.Terminal=Completed" },
    { "expiry", DELIVERY_WAITING, DELIVERY_EXPIRED, REASON_QUIET, false, true, 0, RULE_TRIGGER,
      "Delivery.Terminal=Expired" },
};

static void moves_are_told_in_rows(void)
{
    for (size_t i = 0; i < ARRAY_LEN(tellings); i++) {
        const Telling *row = &tellings[i];
        char told[200] = "";
        AuditTold parts[AUDIT_PARTS_MAX];
        Fact fact = moved(row->from, row->to, row->reason, row->by_somebody ? somebody : nobody);
        AuditKnown known = { .rule_kind = row->rule, .was_tried = row->was_tried };
        known.outcome.verdict = row->verdict;
        size_t count = audit_tell(&fact, AT, 7, &known, parts), len = 0;
        for (size_t p = 0; p < count; p++) {
            len += (size_t) snprintf(told + len, sizeof told - len, "%s%s=%s", p ? " " : "",
                                     audit_kind_text(parts[p].entry.kind),
                                     audit_status_text(parts[p].entry.status));
            CHECK_AT(row->name, parts[p].entry.number == 7 && parts[p].entry.part == (int) p);
            CHECK_AT(row->name, parts[p].entry.at == AT);
        }
        CHECK_AT(told, strcmp(told, row->told) == 0);
    }
}

// Of an attempt with several targets each one's own outcome is told, before what it ended.
static void each_target_of_an_attempt_is_told(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold parts[AUDIT_PARTS_MAX];
    Target targets[TARGETS_MAX];
    AuditAddress to[TARGETS_MAX];
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        targets[i] = (Target){ .n = (int64_t) (3 * i + 1), .outcome.reason = REASON_ACCEPTED };
        to[i] = (AuditAddress){ .address = str_format(&arena, "to%zu", i), .has_target = true };
    }
    targets[7].outcome = (Outcome){ .verdict = VERDICT_PERMANENT,
                                    .reason = REASON_REFUSED,
                                    .code = 550,
                                    .detail = S("no such user") };
    Fact fact = moved(DELIVERY_SENDING, DELIVERY_PARKED, REASON_PARTLY_DELIVERED, nobody);
    fact.move.targets = told_pack(&arena, targets, TARGETS_MAX);
    fact.kind = fact_of_move(&fact.move);
    AuditKnown known = { .rule_kind = RULE_NOTIFY, .targets = to, .was_tried = true };
    CHECK(audit_tell(&fact, AT, 7, &known, parts) == TARGETS_MAX + 1);
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        const AuditEntry *entry = &parts[i].entry;
        CHECK(entry->kind == AUDIT_NOTIFICATION_ATTEMPT && entry->attempt == 2);
        CHECK(entry->status == (i == 7 ? AUDIT_STATUS_PERMANENT : AUDIT_STATUS_SUCCESS));
        CHECK(entry->has_target && str_eq(parts[i].address, to[i].address));
    }
    CHECK(parts[7].entry.code == 550 && str_eq(parts[7].entry.text, S("no such user")));
    CHECK(parts[8].entry.code == 0 && !parts[8].entry.text.at);
    CHECK(parts[TARGETS_MAX].entry.status == AUDIT_STATUS_PARKED);
    fact.move.targets = STR_NONE;
    fact.move.is_untried = true; // its number is an earlier attempt's
    CHECK(audit_tell(&fact, AT, 7, &known, parts) == 1);
}

static void what_else_was_done_is_told_by_its_fact(void)
{
    AuditKnown nothing = { 0 };
    AuditTold parts[AUDIT_PARTS_MAX];
    for (size_t kind = 0; kind < TABLE_ROWS(FACT_TABLE); kind++) {
        if (fact_is_move((FactKind) kind) || kind == FACT_EVENT)
            continue;
        Fact fact = { .kind = (FactKind) kind, .subject = S("what"), .actor = somebody };
        CHECK_AT(fact_text((FactKind) kind), audit_tell(&fact, AT, 1, &nothing, parts) == 1);
        bool is_named = parts[0].entry.kind != AUDIT_OTHER;
        CHECK_AT(fact_text((FactKind) kind), is_named || kind == FACT_AUDIT_BROUGHT);
    }
    Fact event = { .kind = FACT_EVENT, .subject = S("order.paid") };
    CHECK(audit_tell(&event, AT, 1, &nothing, parts) == 0); // its deliveries are
}

static void what_a_site_brings_is_told_as_it_was_there(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditKnown nothing = { 0 };
    AuditTold parts[AUDIT_PARTS_MAX];
    AuditBrought brought = { .site = 5,
                             .event = audit_enqueued_id(S("n-1")),
                             .at = AT - SPAN_DAY,
                             .instance = S("line-2"),
                             .text = S("ops") };
    Fact fact = { .kind = FACT_AUDIT_BROUGHT, .subject = audit_brought_pack(&arena, &brought) };
    CHECK(audit_tell(&fact, AT, 3, &nothing, parts) == 1);
    CHECK(parts[0].entry.kind == AUDIT_NOTIFICATION_ENQUEUED && parts[0].entry.at == AT - SPAN_DAY);
    CHECK(parts[0].entry.site == 5 && str_eq(parts[0].entry.instance, S("line-2")));
    CHECK(!parts[0].entry.correlation_id.at && str_eq(parts[0].entry.text, S("ops")));
    // Our own row of the same notification has the same id.
    Fact made = moved(MOVE_NOWHERE, DELIVERY_PENDING, REASON_NONE, somebody);
    AuditKnown known = { .rule_kind = RULE_NOTIFY, .identity = S("n-1") };
    AuditTold own[AUDIT_PARTS_MAX];
    CHECK(audit_tell(&made, AT, 4, &known, own) == 1);
    CHECK(uuid_cmp(audit_event_id(1, &own[0].entry), audit_event_id(1, &parts[0].entry)) == 0);
    brought.at = AT + 30000 * SPAN_DAY; // its clock is fast
    fact.subject = audit_brought_pack(&arena, &brought);
    CHECK(audit_tell(&fact, AT, 3, &nothing, parts) == 1 && parts[0].entry.at == AT);
    fact.subject = S("nonsense");
    CHECK(audit_tell(&fact, AT, 3, &nothing, parts) == 1 && parts[0].entry.kind == AUDIT_OTHER);
}

// make_chain makes a chain of blocks with one entry each.
static void make_chain(Arena *arena, AuditBlock blocks[ROWS])
{
    AuditTold told[ROWS];
    AuditHead head = { 0 };
    tell_sample(told);
    for (int i = 0; i < ROWS; i++)
        blocks[i] = pack(arena, &head, &told[i], 1);
}

static AuditProblem follow(const AuditBlock *blocks, int count, AuditHead *head)
{
    AuditProblem problem = AUDIT_PROBLEM_NONE;
    for (int i = 0; i < count && !problem; i++)
        problem = audit_follow(head, &blocks[i], NULL, NULL);
    return problem;
}

static void any_change_breaks_the_chain_where_it_is(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditBlock blocks[ROWS];
    make_chain(&arena, blocks);
    AuditHead head = { 0 };
    CHECK(follow(blocks, ROWS, &head) == AUDIT_PROBLEM_NONE && head.seq == ROWS);

    blocks[2].link.b[31] ^= 1;
    head = (AuditHead){ 0 };
    CHECK(follow(blocks, ROWS, &head) == AUDIT_PROBLEM_CHANGED && head.seq == 2);

    make_chain(&arena, blocks);
    AuditBlock swapped = blocks[1];
    blocks[1].body = blocks[4].body;
    blocks[1].link = blocks[4].link;
    blocks[4].body = swapped.body;
    blocks[4].link = swapped.link;
    head = (AuditHead){ 0 };
    CHECK(follow(blocks, ROWS, &head) == AUDIT_PROBLEM_REORDERED && head.seq == 1);

    make_chain(&arena, blocks);
    head = (AuditHead){ 0 };
    CHECK(follow(blocks, 2, &head) == AUDIT_PROBLEM_NONE);
    CHECK(follow(blocks + 3, 2, &head) == AUDIT_PROBLEM_MISSING && head.seq == 2);

    // Who changes an entry and all links of its block is found by the block behind.
    AuditTold told[ROWS];
    tell_sample(told);
    told[2].entry.code++;
    head = (AuditHead){ 2, blocks[1].link };
    blocks[2] = pack(&arena, &head, &told[2], 1);
    head = (AuditHead){ 0 };
    CHECK(follow(blocks, ROWS, &head) == AUDIT_PROBLEM_CHANGED && head.seq == 3);
    make_chain(&arena, blocks);

    // A chain is its tenant's, and one that was purged goes on from its anchor.
    head = (AuditHead){ 3, blocks[2].link };
    CHECK(follow(blocks + 3, 3, &head) == AUDIT_PROBLEM_NONE && head.seq == ROWS);
    head = (AuditHead){ 0 };
    blocks[0].tenant = 2;
    CHECK(follow(blocks, 1, &head) == AUDIT_PROBLEM_CHANGED && head.seq == 0);
}

// What the columns of a row say is as good as anything: no block has such numbers.
static void numbers_without_sense_are_a_problem(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told[ROWS];
    AuditHead head = { 0 };
    tell_sample(told);
    const AuditBlock whole = pack(&arena, &head, told, ROWS);
    static const int64_t numbers[][2] = {
        { 1, AUDIT_BLOCK_MAX + 1 }, { 1, INT64_MAX },         { 0, ROWS }, { 1, 0 },
        { INT64_MIN, INT64_MIN },   { INT64_MAX, INT64_MAX }, { 1, -9 },
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        AuditBlock block = whole;
        AuditRead read;
        block.first = numbers[i][0];
        block.last = numbers[i][1];
        audit_read(&block, &read);
        CHECK(!audit_next(&read) && read.problem == AUDIT_PROBLEM_CHANGED);
        head = (AuditHead){ INT64_MAX };
        CHECK(audit_follow(&head, &block, NULL, NULL) == AUDIT_PROBLEM_REORDERED);
    }
}

// Who packs anew what he changed, with the checks as they were, is found all the same.
static void entries_inside_a_block_are_told_apart(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditTold told[ROWS], other[ROWS];
    AuditHead head = { 0 };
    tell_sample(told);
    AuditBlock whole = pack(&arena, &head, told, ROWS), short_of = whole, swapped = whole;
    memcpy(other, told, sizeof told);
    memmove(&other[2], &other[3], 3 * sizeof *other); // the third is taken out
    head = (AuditHead){ 0 };
    short_of.body = pack(&arena, &head, other, ROWS - 1).body;
    head = (AuditHead){ 0 };
    CHECK(audit_follow(&head, &short_of, NULL, NULL) == AUDIT_PROBLEM_MISSING && head.seq == 5);
    memcpy(other, told, sizeof told);
    other[1] = told[4];
    other[4] = told[1];
    head = (AuditHead){ 0 };
    swapped.body = pack(&arena, &head, other, ROWS).body;
    head = (AuditHead){ 0 };
    CHECK(audit_follow(&head, &swapped, NULL, NULL) == AUDIT_PROBLEM_CHANGED);
}

static const Test tests[] = {
    TEST(entries_come_back_as_they_were),
    TEST(a_block_ends_where_it_is_full),
    TEST(an_address_can_be_erased_or_is_left_out),
    TEST(the_bytes_and_the_links_stay_as_they_are),
    TEST(what_is_damaged_is_found),
    TEST(a_long_text_is_cut_between_characters),
    TEST(moves_are_told_in_rows),
    TEST(each_target_of_an_attempt_is_told),
    TEST(what_else_was_done_is_told_by_its_fact),
    TEST(what_a_site_brings_is_told_as_it_was_there),
    TEST(any_change_breaks_the_chain_where_it_is),
    TEST(numbers_without_sense_are_a_problem),
    TEST(entries_inside_a_block_are_told_apart),
};
TEST_MAIN(tests)
