#include "domain/fact.h"

#include "test.h"

#define AT ((Instant) 1767225600 * SPAN_SECOND)

static Fact moved(int64_t tenant, uint8_t id, int from, int to, Instant due_at)
{
    Fact fact = { .kind = FACT_MOVED, .tenant = tenant };
    fact.move = (Move){ .tenant = tenant,
                        .lane = 3,
                        .rule = 4,
                        .from = from,
                        .to = to,
                        .attempt = 2,
                        .reason = REASON_UNWELL,
                        .due_at = due_at };
    memset(fact.move.delivery.b, 0xab, sizeof fact.move.delivery.b);
    fact.move.delivery.b[15] = id;
    return fact;
}

static bool same(const Fact *a, const Fact *b)
{
    if (a->kind != b->kind || a->tenant != b->tenant || uuid_cmp(a->actor, b->actor) != 0)
        return false;
    if (!fact_is_move(a->kind))
        return str_eq(a->subject, b->subject) && uuid_cmp(a->event, b->event) == 0;
    const Move *x = &a->move, *y = &b->move;
    return x->tenant == y->tenant && x->lane == y->lane && x->rule == y->rule &&
           x->site == y->site && uuid_cmp(x->delivery, y->delivery) == 0 && x->from == y->from &&
           x->to == y->to && x->attempt == y->attempt && x->reason == y->reason &&
           x->due_at == y->due_at && x->is_untried == y->is_untried &&
           str_eq(x->targets, y->targets);
}

static Fact event(int64_t tenant, uint8_t id, Str kind)
{
    Fact fact = { .kind = FACT_EVENT, .tenant = tenant, .subject = kind };
    memset(fact.event.b, 0xab, sizeof fact.event.b);
    fact.event.b[14] = id;
    return fact;
}

enum { SAMPLE = 14 };

// sample fills the facts of one mixed transaction and returns how many they are.
static size_t sample(Fact facts[SAMPLE])
{
    Uuid actor = { { 1, 2, 3 } };
    size_t n = 0;
    facts[n++] = moved(1, 1, MOVE_NOWHERE, DELIVERY_PENDING, AT);
    facts[n++] = moved(1, 2, DELIVERY_SENDING, DELIVERY_RETRYING, AT + SPAN_HOUR);
    facts[n++] = moved(1, 2, DELIVERY_RETRYING, DELIVERY_PENDING, AT - SPAN_HOUR);
    facts[n++] = (Fact){ .kind = FACT_HELD, .subject = S("the relay moves"), .actor = actor };
    facts[n++] = (Fact){ .kind = FACT_RELEASED, .actor = actor, .subject = S("") };
    facts[n++] = moved(2, 2, DELIVERY_SENDING, DELIVERY_DISCARDED, INSTANT_NONE);
    facts[n] = moved(1, 9, DELIVERY_PARKED, MOVE_NOWHERE, INSTANT_NONE);
    facts[n].move.lane = INT64_MAX;
    facts[n].move.site = -7;
    facts[n++].actor = actor;
    facts[n] = moved(1, 9, DELIVERY_SENDING, DELIVERY_RETRYING, AT);
    facts[n].move.targets = S("\x01\x02 packed");
    facts[n++].kind = FACT_SENT;
    facts[n] = moved(1, 9, DELIVERY_SENDING, DELIVERY_PARKED, INSTANT_NONE);
    facts[n].move.is_untried = true;
    facts[n++].kind = FACT_UNTRIED;
    facts[n++] = moved(1, 9, DELIVERY_WAITING, DELIVERY_COMPLETED, INSTANT_NONE);
    facts[n++] = event(1, 7, S("order.paid"));
    facts[n++] = event(2, 8, S("order.paid"));
    facts[n++] = moved(2, 3, MOVE_NOWHERE, DELIVERY_PENDING, AT);
    facts[n++] = event(2, 8, S("order.shipped"));
    return n;
}

static Str pack_of(Arena *arena, const Fact *facts, size_t count)
{
    FactPack pack = fact_pack(arena, AT);
    for (size_t i = 0; i < count; i++)
        fact_add(&pack, &facts[i]);
    CHECK(pack.count == count);
    return buf_str(&pack.bytes);
}

static void facts_come_back_in_order(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Fact facts[SAMPLE], fact;
    size_t count = sample(facts);
    FactRead read = fact_read(pack_of(&arena, facts, count), AT);
    for (size_t i = 0; i < count; i++)
        CHECK(fact_next(&read, &fact) && same(&fact, &facts[i]));
    CHECK(!fact_next(&read, &fact) && !read.is_bad);
}

static void neighbours_take_few_bytes(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    FactPack pack = fact_pack(&arena, AT);
    for (int i = 0; i < 100; i++) {
        Fact fact = moved(1, (uint8_t) i, DELIVERY_SENDING, DELIVERY_DELIVERED, INSTANT_NONE);
        fact_add(&pack, &fact);
    }
    CHECK(pack.bytes.len < 100 * 8);
}

static void an_event_costs_little_beside_its_delivery(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    FactPack alone = fact_pack(&arena, AT), both = fact_pack(&arena, AT);
    for (int i = 0; i < 100; i++) {
        Fact taken = event(1, (uint8_t) i, S("order.paid"));
        Fact made = moved(1, 1, MOVE_NOWHERE, DELIVERY_PENDING, AT);
        made.move.delivery = taken.event;
        made.move.delivery.b[15] = 1;
        fact_add(&alone, &made);
        fact_add(&both, &taken);
        fact_add(&both, &made);
    }
    CHECK(both.bytes.len < alone.bytes.len + 100 * 6);
}

static void what_is_damaged_is_told_and_read_no_further(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Fact facts[SAMPLE], fact;
    Str whole = pack_of(&arena, facts, sample(facts));
    for (size_t len = 0; len < whole.len; len++) { // cut anywhere: never more than was written
        FactRead read = fact_read((Str){ whole.at, len }, AT);
        size_t count = 0;
        while (fact_next(&read, &fact))
            CHECK(count < SAMPLE && same(&fact, &facts[count++]));
        CHECK(count < SAMPLE);
    }
    char *bytes = arena_alloc(&arena, whole.len);
    for (size_t i = 0; i < whole.len * 256; i++) { // any byte in place of any other: no crash
        memcpy(bytes, whole.at, whole.len);
        bytes[i / 256] = (char) (i % 256);
        FactRead read = fact_read((Str){ bytes, whole.len }, AT);
        while (fact_next(&read, &fact))
            CHECK(fact.kind < TABLE_ROWS(FACT_TABLE) && fact.move.to < (int) DELIVERY_STATE_COUNT);
    }
}

static void a_long_subject_is_cut_between_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, 2 * FACT_SUBJECT_MAX);
    buf_add(&text, S("x"));
    while (text.len < FACT_SUBJECT_MAX + 10)
        buf_add(&text, S("ä"));
    Fact fact = { .kind = FACT_HELD, .subject = buf_str(&text) }, read_back;
    FactRead read = fact_read(pack_of(&arena, &fact, 1), AT);
    CHECK(fact_next(&read, &read_back));
    CHECK(read_back.subject.len == FACT_SUBJECT_MAX - 1 && str_is_utf8(read_back.subject));
}

static const Test tests[] = {
    TEST(facts_come_back_in_order),
    TEST(neighbours_take_few_bytes),
    TEST(an_event_costs_little_beside_its_delivery),
    TEST(what_is_damaged_is_told_and_read_no_further),
    TEST(a_long_subject_is_cut_between_characters),
};
TEST_MAIN(tests)
