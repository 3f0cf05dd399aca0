#include "fixture.h"

#include "store/poll_group.h"

// What store/poll_group.h promises: one poll of a group at a time, and nothing of one that is over.

typedef enum PollVerb {
    VERB_TOUCH,
    VERB_DUE_NOW,
    VERB_CLAIM,
    VERB_PUT_OFF,
    VERB_GO_ON,
    VERB_END,
    VERB_REMOVE,
    VERB_FREE,
    VERB_REBOUND,
} PollVerb;

// PollAct is one verb in a transaction of its own, and what came of it.
typedef struct PollAct {
    PollVerb verb;
    const char *integration;
    PollGroup group;
    PollFull full;
    size_t taken;
    bool is_ours;
} PollAct;

static Err take_one(Tx *tx, PollAct *act, Error *error)
{
    PollGroup *groups;
    TRY(poll_groups_take(tx, &act->full, 10, &groups, &act->taken, error));
    if (act->taken == 0)
        return ERR_OK;
    act->group = groups[0];
    if (act->verb == VERB_CLAIM)
        poll_group_claim(tx, 7, &act->group);
    else
        poll_group_put_off(tx, &(PollGroup){ .tenant = act->group.tenant,
                                             .provider = act->group.provider,
                                             .integration = act->group.integration,
                                             .next_at = tx->now + SPAN_HOUR });
    return tx_sync(tx, error);
}

static Err apply_act(Tx *tx, void *with, Error *error)
{
    PollAct *act = with;
    Str integration = str_from(act->integration);
    switch (act->verb) {
    case VERB_TOUCH:
        poll_groups_touch(tx, TENANT, PROVIDER_LINEAR, integration);
        break;
    case VERB_DUE_NOW:
        poll_group_due_now(tx, TENANT, PROVIDER_LINEAR, integration);
        break;
    case VERB_CLAIM:
    case VERB_PUT_OFF:
        return take_one(tx, act, error);
    case VERB_GO_ON:
        return poll_group_go_on(tx, &act->group, &act->is_ours, error);
    case VERB_END:
        return poll_group_end(tx, &act->group, &act->is_ours, error);
    case VERB_REMOVE:
        poll_group_remove(tx, &act->group);
        break;
    case VERB_REBOUND:
        poll_group_rebound(tx, TENANT, PROVIDER_LINEAR, integration);
        break;
    case VERB_FREE:
        poll_groups_free(tx);
        break;
    }
    return tx_sync(tx, error);
}

static PollAct poll(Store *store, PollAct what)
{
    what.integration = what.integration ? what.integration : "";
    MUST(store, writer_run(store->writer, apply_act, &what, &store->error));
    return what;
}

static PollGroup named(int64_t fence, const char *cursor, Instant next_at)
{
    return (PollGroup){ .tenant = TENANT,
                        .provider = S("linear"),
                        .integration = S(""),
                        .fence = fence,
                        .cursor = cursor ? str_from(cursor) : STR_NONE,
                        .next_at = next_at,
                        .backoff_until = INSTANT_NONE };
}

static size_t list(Store *store, PollGroup **ret)
{
    size_t count;
    MUST(store, poll_groups_list(store->db, &store->arena, TENANT, S(""), S(""), 10, ret, &count,
                                 &store->error));
    return count;
}

static void a_group_is_claimed_once_and_its_lease_ends(void)
{
    STORE(store);
    poll(&store, (PollAct){ VERB_TOUCH });
    PollAct first = poll(&store, (PollAct){ VERB_CLAIM });
    CHECK(first.taken == 1);
    CHECK(first.group.fence == 1);
    poll(&store, (PollAct){ VERB_TOUCH });
    poll(&store, (PollAct){ VERB_DUE_NOW });
    CHECK(poll(&store, (PollAct){ VERB_CLAIM }).taken == 0);
    pass(&store, POLL_LEASE);
    PollAct second = poll(&store, (PollAct){ VERB_CLAIM });
    CHECK(second.group.fence == 2);

    PollGroup late = named(1, "{\"at\":1}", now(&store) + SPAN_MINUTE);
    CHECK(!poll(&store, (PollAct){ VERB_END, .group = late }).is_ours);
    CHECK(!poll(&store, (PollAct){ VERB_GO_ON, .group = late }).is_ours);
    late.fence = 2;
    CHECK(poll(&store, (PollAct){ VERB_GO_ON, .group = late }).is_ours);
    pass(&store, POLL_LEASE);
    CHECK(!poll(&store, (PollAct){ VERB_END, .group = late }).is_ours);
}

static void a_cursor_stays_whatever_is_told(void)
{
    STORE(store);
    PollGroup *groups;
    poll(&store, (PollAct){ VERB_TOUCH });
    poll(&store, (PollAct){ VERB_CLAIM });
    Instant next_at = now(&store) + SPAN_MINUTE;
    CHECK(poll(&store, (PollAct){ VERB_END, .group = named(1, "{\"at\":1}", next_at) }).is_ours);
    Instant set_at = now(&store);
    pass(&store, SPAN_SECOND);
    poll(&store, (PollAct){ VERB_TOUCH });
    CHECK(list(&store, &groups) == 1);
    CHECK(str_eq(groups[0].cursor, S("{\"at\":1}")));
    CHECK(groups[0].cursor_set_at == set_at);
    CHECK(groups[0].next_at == now(&store));
    CHECK(groups[0].lease_until == INSTANT_NONE);
    poll(&store, (PollAct){ VERB_CLAIM });
    CHECK(poll(&store, (PollAct){ VERB_END, .group = named(2, NULL, next_at) }).is_ours);
    list(&store, &groups);
    CHECK(str_eq(groups[0].cursor, S("{\"at\":1}")));
    CHECK(groups[0].cursor_set_at == set_at);
}

static void what_is_told_during_a_poll_is_looked_at_after_it(void)
{
    STORE(store);
    poll(&store, (PollAct){ VERB_TOUCH });
    poll(&store, (PollAct){ VERB_CLAIM });
    poll(&store, (PollAct){ VERB_DUE_NOW });
    poll(&store, (PollAct){ VERB_TOUCH }); // the weaker does not undo the stronger
    poll(&store, (PollAct){ VERB_END, .group = named(1, NULL, now(&store) + SPAN_HOUR) });
    PollAct next = poll(&store, (PollAct){ VERB_PUT_OFF });
    CHECK(next.taken == 1);
    CHECK(next.group.told == POLL_TOLD_POLL);
    CHECK(poll(&store, (PollAct){ VERB_CLAIM }).taken == 0);
}

static void groups_are_apart_and_go(void)
{
    STORE(store);
    PollGroup *groups;
    poll(&store, (PollAct){ VERB_TOUCH, .integration = "acme" });
    poll(&store, (PollAct){ VERB_TOUCH });
    poll(&store, (PollAct){ VERB_DUE_NOW, .integration = "unknown" });
    CHECK(list(&store, &groups) == 2);
    CHECK(str_eq(groups[1].integration, S("acme")));
    poll(&store, (PollAct){ VERB_REMOVE, .group = named(0, NULL, 0) });
    CHECK(list(&store, &groups) == 1);
    poll(&store, (PollAct){ VERB_CLAIM });
    poll(&store, (PollAct){ VERB_FREE });
    PollAct again = poll(&store, (PollAct){ VERB_CLAIM });
    CHECK(again.taken == 1);
    CHECK(again.group.fence == 2);
}

// Rival is a second node that looks while the first one's transaction is open.
typedef struct Rival {
    Writer *writer;
    PollAct ours, theirs;
    Err err;
} Rival;

static Err claim_and_let_the_other(Tx *tx, void *with, Error *error)
{
    Rival *rival = with;
    TRY(take_one(tx, &rival->ours, error));
    rival->err = writer_run(rival->writer, apply_act, &rival->theirs, error);
    return ERR_OK;
}

static void of_two_nodes_that_look_at_once_one_has_it(void)
{
    STORE(store);
    if (!suite_is_postgres())
        return; // one process has the file: there is no second node
    poll(&store, (PollAct){ VERB_TOUCH });
    Random random = random_seeded(43);
    WriterOptions options = { .url = store.url, .clock = &store.clock, .random = &random };
    Rival rival = { .ours = { VERB_CLAIM, "" }, .theirs = { VERB_CLAIM, "" } };
    MUST(&store, writer_open(&options, &rival.writer, &store.error));
    writer_set_node(rival.writer, NODE + 1);
    MUST(&store, writer_run(store.writer, claim_and_let_the_other, &rival, &store.error));
    CHECK(rival.err == ERR_OK && rival.ours.taken == 1 && rival.theirs.taken == 0);
    MUST(&store, writer_run(rival.writer, apply_act, &rival.theirs, &store.error));
    CHECK(rival.theirs.taken == 0); // its lease is seen now
    pass(&store, POLL_LEASE);
    MUST(&store, writer_run(rival.writer, apply_act, &rival.theirs, &store.error));
    CHECK(rival.theirs.taken == 1 && rival.theirs.group.fence == 2);
    writer_close(rival.writer);
}

static void who_has_polls_enough_is_passed_over(void)
{
    STORE(store);
    Rows due = { 0 };
    PollFull full = { { TENANT }, 1 };
    poll(&store, (PollAct){ VERB_TOUCH });
    CHECK(poll(&store, (PollAct){ VERB_CLAIM, .full = full }).taken == 0);
    poll_groups_due(store.db, &store.arena, &full, &due);
    MUST(&store, db_sync(store.db, &store.error));
    CHECK(poll_groups_due_take(&due) == INSTANT_NONE);
    full.tenants[0] = TENANT + 1;
    CHECK(poll(&store, (PollAct){ VERB_CLAIM, .full = full }).taken == 1);
}

static void another_account_begins_anew(void)
{
    STORE(store);
    PollGroup *groups;
    poll(&store, (PollAct){ VERB_TOUCH });
    poll(&store, (PollAct){ VERB_CLAIM });
    PollGroup polled = named(1, "{\"at\":1}", now(&store) + SPAN_MINUTE);
    polled.registered = S("{}");
    CHECK(poll(&store, (PollAct){ VERB_GO_ON, .group = polled }).is_ours);
    poll(&store, (PollAct){ VERB_REBOUND });
    CHECK(!poll(&store, (PollAct){ VERB_END, .group = polled }).is_ours);
    list(&store, &groups);
    CHECK(!groups[0].cursor.at && !groups[0].registered.at);
    CHECK(groups[0].cursor_set_at == INSTANT_NONE && groups[0].next_at == now(&store));
    CHECK(str_eq(groups[0].last_error, POLL_REBOUND));
    CHECK(poll(&store, (PollAct){ VERB_CLAIM }).taken == 1);
}

static const Test tests[] = {
    TEST(a_group_is_claimed_once_and_its_lease_ends),
    TEST(a_cursor_stays_whatever_is_told),
    TEST(what_is_told_during_a_poll_is_looked_at_after_it),
    TEST(groups_are_apart_and_go),
    TEST(of_two_nodes_that_look_at_once_one_has_it),
    TEST(who_has_polls_enough_is_passed_over),
    TEST(another_account_begins_anew),
};
PART(poll_part, tests);
