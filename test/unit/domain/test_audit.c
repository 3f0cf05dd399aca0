#include "domain/audit.h"

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

static void a_row_comes_back_as_it_was(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditEntry entries[] = { sample(), { .seq = 1, .at = AT, .kind = AUDIT_OPERATOR_HOLD } }, back;
    entries[1].actor = somebody;
    entries[1].brought = somebody;
    entries[1].provider_id = S("p-1");
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        CHECK(audit_unpack(audit_pack(&arena, &entries[i]), &back) && same(&entries[i], &back));
}

// The bytes and links that tools outside rely on; computed by hand, not by this code.
static void the_bytes_and_the_links_stay_as_they_are(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditEntry entry = sample();
    Str body = audit_pack(&arena, &entry);
    Sha256 zero = { 0 };
    CHECK(str_eq(hex_text(&arena, body.at, body.len),
                 S("0129fa021101808082e288d2a30604040608000203ababababababababababab"
                   "abababababcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdee07076f726465722d3900"
                   "09747279206c61746572")));
    Sha256 first = audit_link(&zero, 1, body);
    CHECK(str_eq(hex_text(&arena, first.b, sizeof first.b),
                 S("d35fdec0aff920ba48eeccd698980f5ff3ba7a96affdd0600b47aa9872b4f038")));
    Sha256 second = audit_link(&first, 258, S("\x01\x2a"));
    CHECK(str_eq(hex_text(&arena, second.b, sizeof second.b),
                 S("7e7db352f0080c87a65980ec2c1fc391680052d2660af6571a20a220999b8a50")));
    AuditTarget target = audit_target(S("key"), S("ada@example.org"));
    CHECK(
        str_eq(hex_text(&arena, target.b, sizeof target.b), S("e7e8f78d42b4160369dc797e67eb0413")));
    CHECK(str_eq(uuid_dup(&arena, audit_event_id(1, &entry)),
                 S("70ac6390-ce33-83e9-a371-49bd623056a1")));
    CHECK(str_eq(uuid_dup(&arena, audit_enqueued_id(S("n-1"))),
                 S("2a35708a-559e-85d8-b98c-c4fcee420882")));
}

static void what_is_damaged_is_no_row(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditEntry entry = sample(), back;
    Str whole = audit_pack(&arena, &entry);
    for (size_t len = 0; len < whole.len; len++)
        CHECK(!audit_unpack((Str){ whole.at, len }, &back));
    char *bytes = arena_alloc(&arena, whole.len);
    for (size_t i = 0; i < whole.len * 256; i++) { // any byte in place of any other: no crash
        memcpy(bytes, whole.at, whole.len);
        bytes[i / 256] = (char) (i % 256);
        if (audit_unpack((Str){ bytes, whole.len }, &back))
            CHECK(back.kind < TABLE_ROWS(AUDIT_KIND_TABLE) &&
                  back.status < TABLE_ROWS(AUDIT_STATUS_TABLE) &&
                  back.reason < TABLE_ROWS(DELIVERY_REASON_TABLE));
    }
}

static void a_long_text_is_cut_between_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditEntry entry = sample(), back;
    Buf text = buf_new(&arena, 4 * AUDIT_TEXT_MAX);
    buf_add(&text, S("x"));
    while (text.len < 3 * AUDIT_TEXT_MAX)
        buf_add(&text, S("ä"));
    entry.text = entry.correlation_id = entry.instance = entry.provider_id = buf_str(&text);
    entry.actor = entry.brought = somebody;
    CHECK(audit_unpack(audit_pack(&arena, &entry), &back));
    CHECK(back.text.len == AUDIT_TEXT_MAX - 1 && str_is_utf8(back.text));
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
        AuditEntry parts[AUDIT_PARTS_MAX];
        Fact fact = moved(row->from, row->to, row->reason, row->by_somebody ? somebody : nobody);
        AuditKnown known = { .rule_kind = row->rule, .was_tried = row->was_tried };
        known.outcome.verdict = row->verdict;
        size_t count = audit_tell(&fact, AT, 7, &known, parts), len = 0;
        for (size_t p = 0; p < count; p++) {
            len += (size_t) snprintf(told + len, sizeof told - len, "%s%s=%s", p ? " " : "",
                                     audit_kind_text(parts[p].kind),
                                     audit_status_text(parts[p].status));
            CHECK_AT(row->name, parts[p].number == 7 && parts[p].part == (int) p);
            CHECK_AT(row->name, parts[p].at == AT);
        }
        CHECK_AT(told, strcmp(told, row->told) == 0);
    }
}

static void what_else_was_done_is_told_by_its_fact(void)
{
    AuditKnown nothing = { 0 };
    AuditEntry parts[AUDIT_PARTS_MAX];
    for (size_t kind = FACT_MOVED + 1; kind < TABLE_ROWS(FACT_TABLE); kind++) {
        Fact fact = { .kind = (FactKind) kind, .subject = S("what"), .actor = somebody };
        CHECK_AT(fact_text((FactKind) kind), audit_tell(&fact, AT, 1, &nothing, parts) == 1);
        bool is_named = parts[0].kind != AUDIT_OTHER;
        CHECK_AT(fact_text((FactKind) kind), is_named || kind == FACT_AUDIT_BROUGHT);
    }
}

static void what_a_site_brings_is_told_as_it_was_there(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    AuditKnown nothing = { 0 };
    AuditEntry parts[AUDIT_PARTS_MAX];
    AuditBrought brought = { .site = 5,
                             .event = audit_enqueued_id(S("n-1")),
                             .at = AT - SPAN_DAY,
                             .instance = S("line-2"),
                             .text = S("ops") };
    Fact fact = { .kind = FACT_AUDIT_BROUGHT, .subject = audit_brought_pack(&arena, &brought) };
    CHECK(audit_tell(&fact, AT, 3, &nothing, parts) == 1);
    CHECK(parts[0].kind == AUDIT_NOTIFICATION_ENQUEUED && parts[0].at == AT - SPAN_DAY);
    CHECK(parts[0].site == 5 && str_eq(parts[0].instance, S("line-2")));
    CHECK(!parts[0].correlation_id.at && str_eq(parts[0].text, S("ops")));
    // Our own row of the same notification has the same id.
    Fact made = moved(MOVE_NOWHERE, DELIVERY_PENDING, REASON_NONE, somebody);
    AuditKnown known = { .rule_kind = RULE_NOTIFY, .identity = S("n-1") };
    AuditEntry own[AUDIT_PARTS_MAX];
    CHECK(audit_tell(&made, AT, 4, &known, own) == 1);
    CHECK(uuid_cmp(audit_event_id(1, &own[0]), audit_event_id(1, &parts[0])) == 0);
    fact.subject = S("nonsense");
    CHECK(audit_tell(&fact, AT, 3, &nothing, parts) == 1 && parts[0].kind == AUDIT_OTHER);
}

enum { ROWS = 6 };

typedef struct Stored {
    int64_t seq;
    Str body;
    Sha256 link;
} Stored;

static void make_chain(Arena *arena, Stored rows[ROWS])
{
    Sha256 link = { 0 };
    for (int i = 0; i < ROWS; i++) {
        AuditEntry entry = sample();
        entry.seq = i + 1;
        entry.number = 2 * i + 1;
        rows[i].seq = i + 1;
        rows[i].body = audit_pack(arena, &entry);
        rows[i].link = link = audit_link(&link, 1, rows[i].body);
    }
}

static AuditProblem follow(const Stored rows[], int count, AuditHead *head)
{
    AuditProblem problem = AUDIT_PROBLEM_NONE;
    for (int i = 0; i < count && !problem; i++)
        problem = audit_follow(head, 1, rows[i].seq, rows[i].body,
                               (Str){ (const char *) rows[i].link.b, SHA256_LEN });
    return problem;
}

static void any_change_breaks_the_chain_where_it_is(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Stored rows[ROWS];
    make_chain(&arena, rows);
    AuditHead head = { 0 };
    CHECK(follow(rows, ROWS, &head) == AUDIT_PROBLEM_NONE && head.seq == ROWS);

    for (size_t byte = 0; byte < rows[3].body.len; byte++) { // any bit of any byte
        make_chain(&arena, rows);
        char *body = arena_copy(&arena, rows[3].body.at, rows[3].body.len);
        body[byte] = (char) (body[byte] ^ 4);
        rows[3].body.at = body;
        head = (AuditHead){ 0 };
        AuditProblem problem = follow(rows, ROWS, &head);
        CHECK(problem != AUDIT_PROBLEM_NONE && problem != AUDIT_PROBLEM_MISSING && head.seq == 3);
    }

    make_chain(&arena, rows);
    rows[2].link.b[31] ^= 1;
    head = (AuditHead){ 0 };
    CHECK(follow(rows, ROWS, &head) == AUDIT_PROBLEM_CHANGED && head.seq == 2);

    make_chain(&arena, rows);
    Stored swapped = rows[1];
    rows[1] = (Stored){ 2, rows[4].body, rows[4].link };
    rows[4] = (Stored){ 5, swapped.body, swapped.link };
    head = (AuditHead){ 0 };
    CHECK(follow(rows, ROWS, &head) == AUDIT_PROBLEM_REORDERED && head.seq == 1);

    make_chain(&arena, rows);
    head = (AuditHead){ 0 };
    CHECK(follow(rows, 2, &head) == AUDIT_PROBLEM_NONE);
    CHECK(follow(rows + 3, 2, &head) == AUDIT_PROBLEM_MISSING && head.seq == 2);

    // A chain is its tenant's, and one that was purged goes on from its anchor.
    head = (AuditHead){ 0 };
    CHECK(audit_follow(&head, 2, 1, rows[0].body,
                       (Str){ (const char *) rows[0].link.b, SHA256_LEN }) ==
          AUDIT_PROBLEM_CHANGED);
    head = (AuditHead){ 3, rows[2].link };
    CHECK(follow(rows + 3, 3, &head) == AUDIT_PROBLEM_NONE && head.seq == ROWS);
}

static const Test tests[] = {
    TEST(a_row_comes_back_as_it_was),
    TEST(the_bytes_and_the_links_stay_as_they_are),
    TEST(what_is_damaged_is_no_row),
    TEST(a_long_text_is_cut_between_characters),
    TEST(moves_are_told_in_rows),
    TEST(what_else_was_done_is_told_by_its_fact),
    TEST(what_a_site_brings_is_told_as_it_was_there),
    TEST(any_change_breaks_the_chain_where_it_is),
};
TEST_MAIN(tests)
