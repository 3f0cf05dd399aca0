#include "domain/sieve.h"

#include "base/random.h"
#include "domain/trigger.h"
#include "test.h"

// What a sieve and the rules that it picks say must be what asking every rule says.

enum { RULES_MAX = 60 };

typedef struct World {
    Arena arena;
    Random random;
    Trigger triggers[RULES_MAX];
    FilterGate gates[RULES_MAX];
    SieveRule rules[RULES_MAX];
    size_t count;
} World;

static int draw(World *world, int below)
{
    return (int) (random_u64(&world->random) % (unsigned) below);
}

// Values that are equal in one way or another, or nearly.
static const char *const values[] = {
    "1", "1.0", "\"1\"", "\"1.0\"", "10e-1", "2",   "true", "false", "\"true\"", "\"a\"",
    "0", "-0",  "\"\"",  "\"b\"",   "0.1",   "100", "1e2",  "\"A\"", "\"0.10\"", "-1",
};
static const char *const paths[] = { "candidate.a", "candidate.b", "a", "event.kind",
                                     "templateId" };
static const char *const ops[] = { "==", "==", "==", "in", "!=", "<", "contains" };

static void add_leaf(World *world, Buf *buf)
{
    const char *op = ops[draw(world, ARRAY_LEN(ops))];
    buf_add_format(
        buf, "{\"path\":\"%s\",\"op\":\"%s\",\"value\":", paths[draw(world, ARRAY_LEN(paths))], op);
    if (strcmp(op, "in") == 0) {
        buf_add(buf, S("["));
        for (int i = draw(world, 4); i >= 0; i--)
            buf_add_format(buf, "%s%s", values[draw(world, ARRAY_LEN(values))], i ? "," : "");
        buf_add(buf, S("]"));
    } else if (strcmp(op, "<") == 0) {
        buf_add_format(buf, "%d", draw(world, 3));
    } else {
        buf_add_format(buf, "%s", values[draw(world, ARRAY_LEN(values))]);
    }
    buf_add(buf, S("}"));
}

static void add_filter(World *world, Buf *buf, int depth)
{
    static const char *const groups[] = { "all", "all", "any" };
    int form = draw(world, 8);
    if (depth == 3 || form < 3) {
        add_leaf(world, buf);
    } else if (form == 3) {
        buf_add(buf, S("{\"not\":"));
        add_filter(world, buf, depth + 1);
        buf_add(buf, S("}"));
    } else {
        int count = draw(world, 4); // a group may be empty
        buf_add_format(buf, "{\"%s\":[", groups[draw(world, ARRAY_LEN(groups))]);
        for (int i = 0; i < count; i++) {
            buf_add(buf, i ? S(",") : S(""));
            add_filter(world, buf, depth + 1);
        }
        buf_add(buf, S("]}"));
    }
}

static void add_rule(World *world)
{
    size_t at = world->count++;
    Trigger *trigger = &world->triggers[at];
    Buf buf = buf_new(&world->arena, 1 << 20);
    buf_add_format(&buf, "{\"id\":\"t%zu\",\"eventKind\":\"k\",\"channel\":\"m\",\"enabled\":%s",
                   at, draw(world, 8) ? "true" : "false");
    if (draw(world, 2)) // one that filters ask for
        buf_add_format(&buf, ",\"templateId\":\"%s\"", draw(world, 2) ? "a" : "1");
    if (draw(world, 10)) {
        buf_add(&buf, S(",\"filter\":"));
        add_filter(world, &buf, 0);
    }
    buf_add(&buf, S("}"));
    Error error = { .arena = &world->arena };
    Err err = trigger_parse(&world->arena, buf_str(&buf), trigger, &error);
    if (err != ERR_OK)
        printf("# %.*s\n", STR_ARG(buf_str(&buf)));
    CHECK(err == ERR_OK);
    int64_t before = at ? world->triggers[at - 1].rule.number : 0;
    trigger->rule.number = before + 1 + draw(world, 2);
    trigger->rule.version = 1 + draw(world, 2);
    world->gates[at] = filter_gate(trigger->filter);
    world->rules[at] = (SieveRule){ .rule = trigger->rule.number,
                                    .version = trigger->rule.version,
                                    .is_enabled = trigger->enabled,
                                    .path = world->gates[at].path,
                                    .keys = world->gates[at].keys,
                                    .key_count = world->gates[at].count };
}

static Event event_of(World *world)
{
    static const char *const members[] = { "a", "b", "c" };
    Buf buf = buf_new(&world->arena, 1 << 20);
    buf_add(&buf, S("{\"kind\":\"k\",\"payload\":{"));
    int count = 0;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        int form = draw(world, 12);
        if (form == 0)
            continue;
        buf_add_format(&buf, "%s\"%s\":%s", count++ ? "," : "", members[i],
                       form == 1   ? "[1]"
                       : form == 2 ? "null"
                                   : values[draw(world, ARRAY_LEN(values))]);
    }
    buf_add(&buf, S("}}"));
    const Json *body;
    Event event = { 0 };
    Error error = { .arena = &world->arena };
    CHECK(json_parse(&world->arena, buf_str(&buf), &body, &error) == ERR_OK);
    CHECK(event_build(&world->arena, body, &event, &error) == ERR_OK);
    return event;
}

// find_miss returns what the sieve says of a rule, or NULL.
static const Miss *find_miss(const Miss *misses, size_t count, const Trigger *trigger)
{
    for (size_t i = 0; i < count; i++)
        if (misses[i].rule == trigger->rule.number && misses[i].version == trigger->rule.version)
            return &misses[i];
    return NULL;
}

static bool is_picked(const uint32_t *picked, size_t count, size_t place)
{
    for (size_t i = 0; i < count; i++)
        if (picked[i] == place)
            return true;
    return false;
}

static void check_event(World *world, const Sieve *sieve, const Event *event)
{
    uint32_t *picked;
    Miss *misses = NULL;
    size_t miss_count = 0, count = sieve_pick(sieve, &world->arena, event, &picked);
    Str rest = sieve_rest(sieve, &world->arena, picked, count);
    if (rest.at)
        CHECK(decision_unpack(&world->arena, rest, &misses, &miss_count, NULL) == ERR_OK);
    CHECK(count + miss_count == world->count);
    for (size_t i = 0; i < world->count; i++) {
        const Trigger *trigger = &world->triggers[i];
        const Miss *miss = find_miss(misses, miss_count, trigger);
        CHECK(is_picked(picked, count, i) == !miss);
        if (i > 0 && i < count)
            CHECK(picked[i - 1] < picked[i]);
        if (!miss)
            continue;
        Decision linear = trigger_decide(&world->arena, trigger, event, 1);
        CHECK(miss->kind == linear.kind && miss->reason == linear.reason);
        CHECK(miss->leaf == linear.leaf);
    }
}

static void a_sieve_says_what_every_rule_would(void)
{
    size_t asked = 0, known = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        World world = { .random = random_seeded(seed) };
        int rules = draw(&world, RULES_MAX + 1);
        for (int i = 0; i < rules; i++)
            add_rule(&world);
        Sieve *sieve = sieve_new(world.rules, world.count);
        for (int i = 0; i < 30; i++) {
            Event event = event_of(&world);
            check_event(&world, sieve, &event);
            uint32_t *picked;
            size_t count = sieve_pick(sieve, &world.arena, &event, &picked);
            asked += count;
            known += world.count - count;
        }
        sieve_free(sieve);
        arena_done(&world.arena);
    }
    CHECK(asked > 1000 && known > 1000); // both happen
}

// Rules that look for one value each are passed over together.
static void a_thousand_rules_for_one_value_each_cost_one_look(void)
{
    enum { MANY = 1000 };
    DEFER(arena_done) Arena arena = { 0 };
    SieveRule *rules = ARENA_ARRAY(&arena, SieveRule, MANY);
    uint64_t *keys = ARENA_ARRAY(&arena, uint64_t, MANY);
    for (size_t i = 0; i < MANY; i++) {
        keys[i] = str_hash(str_format(&arena, "b%zu", i));
        rules[i] = (SieveRule){ (int64_t) i + 1, 1, true, S("candidate.branch"), &keys[i], 1 };
    }
    Sieve *sieve = sieve_new(rules, MANY);
    const Json *payload;
    uint32_t *picked;
    CHECK(json_parse(&arena, S("{\"branch\":\"b7\"}"), &payload, NULL) == ERR_OK);
    Event event = { .kind = S("k"), .payload_json = payload };
    CHECK(sieve_pick(sieve, &arena, &event, &picked) == 1 && picked[0] == 7);
    CHECK(sieve_rest(sieve, &arena, picked, 1).len < 20); // two runs
    CHECK(json_parse(&arena, S("{\"branch\":\"none\"}"), &payload, NULL) == ERR_OK);
    event.payload_json = payload;
    CHECK(sieve_pick(sieve, &arena, &event, &picked) == 0);
    Str rest = sieve_rest(sieve, &arena, picked, 0);
    CHECK(rest.len < 12 && rest.at == sieve_rest(sieve, &arena, picked, 0).at); // made once
    sieve_free(sieve);
}

static void a_sieve_of_nothing_picks_nothing(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Sieve *sieve = sieve_new(NULL, 0);
    uint32_t *picked;
    Event event = { .kind = S("k") };
    CHECK(sieve_pick(sieve, &arena, &event, &picked) == 0);
    CHECK(!sieve_rest(sieve, &arena, picked, 0).at);
    sieve_free(sieve);
    sieve_free(NULL);
}

static const Test tests[] = {
    TEST(a_sieve_says_what_every_rule_would),
    TEST(a_thousand_rules_for_one_value_each_cost_one_look),
    TEST(a_sieve_of_nothing_picks_nothing),
};
TEST_MAIN(tests)
