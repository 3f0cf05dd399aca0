#include "fixture.h"

#include "store/defer.h"
#include "store/rule.h"

// What defer.h, recall.h and accept.h promise of deferrals: those of an entity are found by a look,
// replaced and cancelled in the order in which they came, and what is over is not looked at again.

enum { DEFERRALS_MAX = 8 };

// Asking is deferrals that come in together.
typedef struct Asking {
    Deferral deferrals[DEFERRALS_MAX];
    size_t count;
    Accept *accept;
} Asking;

static Err apply_asking(Tx *tx, void *with, Error *error)
{
    Asking *asking = with;
    Accept *accept = asking->accept;
    TRY(deferrals_name_now(tx, accept, error));
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

// defer_all hands them in, by one transaction. Each runs in an hour.
static Accept *defer_all(Store *store, int64_t tenant, const Deferral *deferrals, size_t count)
{
    Asking *asking = ARENA_NEW(&store->arena, Asking);
    pass(store, SPAN_MILLISECOND);
    asking->accept = ARENA_NEW(&store->arena, Accept);
    *asking->accept = (Accept){ .arena = &store->arena,
                                .tenant = tenant,
                                .items = ARENA_ARRAY(&store->arena, AcceptItem, count + 1),
                                .count = count,
                                .now = now(store) };
    for (size_t i = 0; i < count; i++) {
        AcceptItem *item = &asking->accept->items[i];
        asking->deferrals[i] = deferrals[i];
        asking->deferrals[i].run_at = now(store) + SPAN_HOUR;
        item->deferral = &asking->deferrals[i];
        MUST(store, deferral_event(&store->arena, item->deferral, &item->event, &store->error));
    }
    MUST(store, writer_run(store->writer, apply_asking, asking, &store->error));
    return asking->accept;
}

#define RUN(name)                                                                                  \
    {                                                                                              \
        .job = S("timeout"), .entity = S(name)                                                     \
    }
#define REPLACE(name)                                                                              \
    {                                                                                              \
        .job = S("timeout"), .entity = S(name), .replaces = true                                   \
    }
#define CANCEL(name)                                                                               \
    {                                                                                              \
        .job = S("timeout"), .entity = S(name), .cancels = true                                    \
    }

static Uuid defer_one(Store *store, Deferral deferral)
{
    return defer_all(store, TENANT, &deferral, 1)->items[0].pairs[0].delivery;
}

static size_t cancel_one(Store *store, int64_t tenant, const char *entity)
{
    Deferral deferral = { .job = S("timeout"), .entity = str_from(entity), .cancels = true };
    return defer_all(store, tenant, &deferral, 1)->items[0].called_off;
}

static DeliveryState state_of(Store *store, Uuid id)
{
    return view(store, TENANT, id).state;
}

static int64_t filed(Store *store)
{
    return ask_i64(store, "SELECT COUNT(*) FROM recall");
}

static void a_deferral_is_a_run_of_its_job(void)
{
    STORE(store);
    Uuid id = defer_one(&store, (Deferral) RUN("order:7"));
    DeliveryView made = view(&store, TENANT, id);
    CHECK(made.state == DELIVERY_PENDING && made.due_at == now(&store) + SPAN_HOUR);
    CHECK(made.rule_kind == RULE_JOB && is_text(made.rule_id, "timeout"));
    CHECK(made.promise.version == 0 && !made.channel.at); // nobody has defined it
    CHECK(is_text(made.origin.source, "deferred") && is_text(made.promise.entity, "order:7"));
    CHECK(made.origin.occurred_at == made.due_at && filed(&store) == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM rule WHERE kind = 4") == 1);
}

static void a_set_counts_in_its_order(void)
{
    STORE(store);
    Deferral asked[] = { RUN("a"),    RUN("a"), REPLACE("a"), RUN("b"),
                         CANCEL("b"), RUN("c"), REPLACE("a"), CANCEL("d") };
    Accept *accept = defer_all(&store, TENANT, asked, ARRAY_LEN(asked));
    static const size_t called_off[] = { 0, 0, 2, 0, 1, 0, 1, 0 };
    static const DeliveryState states[] = { DELIVERY_CANCELLED, DELIVERY_CANCELLED,
                                            DELIVERY_CANCELLED, DELIVERY_CANCELLED,
                                            DELIVERY_DELIVERED, DELIVERY_PENDING,
                                            DELIVERY_PENDING,   DELIVERY_DELIVERED };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        const AcceptItem *item = &accept->items[i];
        CHECK(item->called_off == called_off[i]);
        CHECK(item->pair_count == (asked[i].cancels ? 0 : 1));
        if (!asked[i].cancels)
            CHECK(state_of(&store, item->pairs[0].delivery) == states[i]);
    }
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue") == 2);
}

static void what_runs_is_spared(void)
{
    STORE(store);
    Uuid id = defer_one(&store, (Deferral) RUN("a"));
    pass(&store, SPAN_HOUR);
    int64_t lane = ask_i64(&store, "SELECT lane FROM lane WHERE channel = ''");
    Claimed running = claim_one(&store, lane);
    CHECK(cancel_one(&store, TENANT, "a") == 0 && state_of(&store, id) == DELIVERY_SENDING);
    Uuid next = defer_one(&store, (Deferral) REPLACE("a"));
    CHECK(state_of(&store, id) == DELIVERY_SENDING && state_of(&store, next) == DELIVERY_PENDING);

    settle_one(&store, &running, VERDICT_TRANSIENT);
    CHECK(state_of(&store, id) == DELIVERY_RETRYING);
    CHECK(cancel_one(&store, TENANT, "a") == 2); // it waits again, as the other does
    CHECK(state_of(&store, id) == DELIVERY_CANCELLED && filed(&store) == 0);
}

static void a_retry_waits_a_tenth_of_the_delay(void)
{
    STORE(store);
    defer_one(&store, (Deferral) RUN("a"));
    pass(&store, SPAN_HOUR);
    Claimed running =
        claim_one(&store, ask_i64(&store, "SELECT lane FROM lane WHERE channel = ''"));
    CHECK(running.origin.occurred_at - running.origin.received_at == SPAN_HOUR);
    RetryPolicy policy = registry_retry(NULL, NULL, running.trigger, &running.origin);
    CHECK(policy.kind == RETRY_PROPORTIONAL && policy.max == 3);
    CHECK(backoff_delay(&policy, 2, 0, 1) == 12 * SPAN_MINUTE);
    settle_one(&store, &running, VERDICT_DELIVERED);
}

static void what_is_over_is_not_looked_at_again(void)
{
    STORE(store);
    for (int i = 0; i < 50; i++)
        defer_one(&store, (Deferral) REPLACE("a"));
    CHECK(filed(&store) == 1);
    for (int i = 0; i < 3; i++)
        defer_one(&store, (Deferral) RUN("a"));
    CHECK(filed(&store) == 4 && cancel_one(&store, TENANT, "a") == 4 && filed(&store) == 0);
}

// A person may set a parked run going again: then it must be found.
static void what_is_parked_is_still_filed(void)
{
    STORE(store);
    Uuid id = defer_one(&store, (Deferral) RUN("a"));
    pass(&store, SPAN_HOUR);
    Claimed running =
        claim_one(&store, ask_i64(&store, "SELECT lane FROM lane WHERE channel = ''"));
    settle_one(&store, &running, VERDICT_PERMANENT);
    CHECK(cancel_one(&store, TENANT, "a") == 0 && state_of(&store, id) == DELIVERY_PARKED);
    CHECK(filed(&store) == 1);
    MUST(&store, act(&store, TENANT, id, DELIVERY_ACTION_RETRY, NULL));
    CHECK(cancel_one(&store, TENANT, "a") == 1);
}

static void others_are_left_alone(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "acme");
    Deferral twin = { .job = S("remind"), .entity = S("a") };
    Uuid mine = defer_one(&store, (Deferral) RUN("a")), reminder = defer_one(&store, twin);
    CHECK(cancel_one(&store, other, "a") == 0 && cancel_one(&store, TENANT, "aa") == 0);
    CHECK(cancel_one(&store, TENANT, "a") == 1 && state_of(&store, mine) == DELIVERY_CANCELLED);
    CHECK(state_of(&store, reminder) == DELIVERY_PENDING);
    // What is cancelled of a job that nobody has named is nothing, and names it not.
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM rule WHERE kind = 4") == 2);
}

static const Test tests[] = {
    TEST(a_deferral_is_a_run_of_its_job),
    TEST(a_set_counts_in_its_order),
    TEST(what_runs_is_spared),
    TEST(a_retry_waits_a_tenth_of_the_delay),
    TEST(what_is_over_is_not_looked_at_again),
    TEST(what_is_parked_is_still_filed),
    TEST(others_are_left_alone),
};
PART(defer_part, tests);
