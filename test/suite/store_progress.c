#include "fixture.h"

#include "store/progress.h"
#include "store/purge.h"

// What store/progress.h promises: lines in their order, so many a run, and gone with it.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"

static Uuid visit(Store *store)
{
    pass(store, SPAN_MILLISECOND);
    return take(store, TENANT, "{'kind':'visit'}")->items[0].pairs[0].delivery;
}

typedef struct Lines {
    const Progress *at;
    size_t count;
} Lines;

static Err apply_lines(Tx *tx, void *with, Error *error)
{
    const Lines *lines = with;
    progress_add(tx, lines->at, lines->count);
    return tx_sync(tx, error);
}

static void say(Store *store, const Progress *at, size_t count)
{
    Lines lines = { at, count };
    MUST(store, writer_run(store->writer, apply_lines, &lines, &store->error));
}

static Progress line(Store *store, Uuid delivery, int attempt, const char *message)
{
    return (Progress){ .tenant = TENANT,
                       .delivery = delivery,
                       .attempt = attempt,
                       .at = now(store),
                       .message = str_from(message) };
}

static size_t lines_of(Store *store, int64_t tenant, const Uuid *ids, size_t count, Progress **ret)
{
    size_t found;
    bool is_cut;
    MUST(store, progress_load(store->db, &store->arena, tenant, ids, count, ret, &found, &is_cut,
                              &store->error));
    return found;
}

static void lines_are_kept_in_their_order(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid ids[] = { visit(&store), visit(&store), visit(&store) };
    Progress *lines;
    say(&store,
        (Progress[]){ line(&store, ids[1], 1, "fetching"), line(&store, ids[0], 1, "alone"),
                      line(&store, ids[1], 1, "fetched") },
        3);
    say(&store, (Progress[]){ line(&store, ids[1], 2, "once more") }, 1);
    say(&store, NULL, 0);
    CHECK(lines_of(&store, TENANT, ids, 3, &lines) == 4);
    CHECK(same_id(lines[3].delivery, ids[0]) && is_text(lines[3].message, "alone"));
    static const char *const said[] = { "fetching", "fetched", "once more" };
    for (int i = 0; i < 3; i++) {
        const Progress *at = &lines[i];
        CHECK(same_id(at->delivery, ids[1]) && at->n == i + 1 && is_text(at->message, said[i]));
        CHECK(at->attempt == (i == 2 ? 2 : 1) && at->at == now(&store));
    }
    CHECK(lines_of(&store, TENANT + 1, ids, 3, &lines) == 0);
    CHECK(lines_of(&store, TENANT, NULL, 0, &lines) == 0);
}

static void who_talks_without_end_is_not_listened_to(void)
{
    STORE(store);
    enum { SAID = 400 };
    static Progress all[SAID];
    Progress *lines;
    publish(&store, TENANT, PLAIN);
    Uuid id = visit(&store), other = visit(&store);
    for (int i = 0; i < SAID; i++)
        all[i] = line(&store, id, 1, i % 2 ? "b" : "a");
    for (int i = 0; i < 3; i++)
        say(&store, all, SAID);
    CHECK(lines_of(&store, TENANT, &id, 1, &lines) == PROGRESS_LINES_MAX);
    CHECK(lines[PROGRESS_LINES_MAX - 1].n == PROGRESS_LINES_MAX);
    CHECK(is_text(lines[401].message, "b"));
    say(&store, (Progress[]){ line(&store, id, 2, "c"), line(&store, other, 1, "c") }, 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM progress WHERE message = 'c'") == 1);
}

static Err apply_purge(Tx *tx, void *with, Error *error)
{
    static const PurgeTimes usual = { PURGE_KEPT, PURGE_KEPT };
    PurgeReport report;
    TRY(purge_walk(tx, &usual, 2, &report, error));
    *(bool *) with = report.has_more;
    return ERR_OK;
}

static void lines_go_with_their_delivery(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid old = visit(&store), kept = visit(&store);
    Claim taken = claim_lane(&store, 1, 1); // the older one
    CHECK(taken.count == 1 && same_id(taken.claimed[0].promise.id, old));
    settle_one(&store, &taken.claimed[0], VERDICT_DELIVERED);
    for (int i = 0; i < 5; i++)
        say(&store, (Progress[]){ line(&store, old, 1, "old"), line(&store, kept, 1, "kept") }, 2);
    pass(&store, PURGE_KEPT + SPAN_DAY);
    for (bool has_more = true; has_more;)
        MUST(&store, writer_run(store.writer, apply_purge, &has_more, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM progress") == 5);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM progress WHERE message = 'kept'") == 5);
}

static const Test tests[] = {
    TEST(lines_are_kept_in_their_order),
    TEST(who_talks_without_end_is_not_listened_to),
    TEST(lines_go_with_their_delivery),
};
PART(progress_part, tests);
