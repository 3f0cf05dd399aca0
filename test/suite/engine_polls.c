#include "rig.h"

#include "store/poll_group.h"

// What polls promise of the store, on the real engine: the events of a page and the cursor behind
// it are written once, whatever happens to the connection, and one event that the store refuses
// keeps no other out.

// The provider of these tests answers {"events":[{"key":…,"at":n}],"cursor":"…","more":bool}. An
// event with "fetch" is fetched by that name, but for the name nowhere.
static Err poll_ask(Arena *arena, const PollTurn *turn, ProviderRequest *ret, Error *error)
{
    (void) arena, (void) turn, (void) error;
    *ret = (ProviderRequest){ .method = "GET", .url = S("https://far.example/") };
    return ERR_OK;
}

static void poll_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply, PollPage *ret)
{
    const Json *body = NULL;
    (void) turn;
    CHECK(json_parse(arena, reply->body, &body, NULL) == ERR_OK);
    const Json *events = json_get(body, S("events"));
    *ret = (PollPage){ .verdict = POLL_GOOD,
                       .events = ARENA_ARRAY(arena, ProviderEvent, json_count(events) + 1),
                       .cursor = json_text(arena, json_get(body, S("cursor"))),
                       .step = json_bool(json_get(body, S("more"))) ? S("{}") : STR_NONE };
    for (JsonIter it = json_each(events); json_next(&it);) {
        int64_t at = 0;
        bool has_time = json_i64(json_get(it.value, S("at")), &at);
        ret->events[ret->count++] =
            (ProviderEvent){ .provider = PROVIDER_LINEAR,
                             .type = S("issue"),
                             .provider_type = S("issue"),
                             .dedup_key = json_str(json_get(it.value, S("key"))),
                             .hydrates = json_str(json_get(it.value, S("fetch"))),
                             .occurred_at = has_time ? at : INSTANT_NONE };
    }
}

static Err hydrate_ask(Arena *arena, const PollTurn *turn, const ProviderEvent *event,
                       ProviderRequest *ret, Error *error)
{
    if (is_text(event->hydrates, "nowhere"))
        return fail(error, ERR_INVALID, "there is no such place");
    return poll_ask(arena, turn, ret, error);
}

static bool hydrate_read(Arena *arena, const PollTurn *turn, const ProviderReply *reply,
                         ProviderEvent *event, PollPage *page)
{
    (void) arena, (void) turn, (void) event;
    if (reply->status != 200)
        *page = (PollPage){ .verdict = POLL_AGAIN, .note = S("not now") };
    return reply->status == 200;
}

static const Provider tested = {
    .name = PROVIDER_LINEAR,
    .poll_every = SPAN_MINUTE,
    .poll_ask = poll_ask,
    .poll_read = poll_read,
    .hydrate_ask = hydrate_ask,
    .hydrate_read = hydrate_read,
};
static const Provider *const providers[PROVIDERS] = { [PROVIDER_LINEAR] = &tested };

static Err apply_touch(Tx *tx, void *with, Error *error)
{
    const int64_t *tenant = with;
    poll_groups_touch(tx, *tenant, PROVIDER_LINEAR, STR_NONE);
    return tx_sync(tx, error);
}

static void open_polls(Rig *rig, int64_t tenant)
{
    rig->providers = providers;
    restart(rig);
    publish(&rig->store, tenant,
            "{'id':'bugs','provider':'linear','type':'issue','way':'polling',"
            "'channel':'memory:default'}");
    MUST(&rig->store, writer_run(rig->store.writer, apply_touch, &tenant, &rig->store.error));
}

static PollGroup group_of(Store *store)
{
    PollGroup *groups;
    size_t count;
    MUST(store, poll_groups_list(store->db, &store->arena, TENANT, S(""), S(""), 10, &groups,
                                 &count, &store->error));
    MUST(store, count == 1 ? ERR_OK : ERR_INTERNAL);
    return groups[0];
}

static int64_t event_count(Rig *rig)
{
    return ask_i64(&rig->store, "SELECT COUNT(*) FROM event");
}

static int64_t delivery_count(Rig *rig)
{
    return ask_i64(&rig->store, "SELECT COUNT(*) FROM delivery");
}

// told gives the request under way its answer, and lets the page be written.
static void told(Rig *rig, const char *body)
{
    rig->body = str_z(&rig->store.arena, json_compact(&rig->store, body));
    answer(rig, rig->sent_count - 1, 200);
    turn(rig);
}

#define PAGE "{'events':[{'key':'a'},{'key':'b'},{'key':'c'}],'cursor':'1'}"

// Wherever the connection is lost, the page is written once: ahead of the COMMIT it is written
// again, and behind it the store is asked what became of it.
static void a_page_is_written_once_wherever_the_connection_is_lost(void)
{
    static const char *const calls[] = { "poll_group_end", "event_insert", "COMMIT", "reply" };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        bool is_reply = strcmp(calls[i], "reply") == 0;
        if (is_reply && !suite_is_postgres())
            continue; // a local COMMIT never loses its reply
        RIG(rig);
        open_polls(&rig, TENANT);
        turn(&rig);
        CHECK_AT(calls[i], rig.sent_count == 1);
        rig.lost_behind = "poll_group_end";
        rig.lost = calls[i];
        told(&rig, PAGE);
        CHECK_AT(calls[i], !rig.lost);
        lapse(&rig, 3 * SPAN_SECOND);
        PollGroup group = group_of(&rig.store);
        CHECK_AT(calls[i], event_count(&rig) == 3 && delivery_count(&rig) == 3);
        CHECK_AT(calls[i], is_text(group.cursor, "\"1\"") && group.lease_until == INSTANT_NONE);
        CHECK_AT(calls[i], rig.sent_count == 1); // nothing was asked twice
        lapse(&rig, SPAN_MINUTE);
        CHECK_AT(calls[i], rig.sent_count == 2);
        told(&rig, "{'events':[{'key':'c'},{'key':'d'}],'cursor':'2'}");
        CHECK_AT(calls[i], event_count(&rig) == 4);
    }
}

static void one_event_that_the_store_refuses_keeps_no_other_out(void)
{
    RIG(rig);
    open_polls(&rig, TENANT);
    poison_events(&rig.store);
    turn(&rig);
    told(&rig, "{'events':[{'key':'a'},{'key':'b','at':7},{'key':'c'}],'cursor':'1','more':true}");
    CHECK(event_count(&rig) == 2 && delivery_count(&rig) == 2);
    CHECK(rig.sent_count == 2); // the page behind it is asked for
    told(&rig, "{'events':[{'key':'d'}],'cursor':'2'}");
    PollGroup group = group_of(&rig.store);
    CHECK(event_count(&rig) == 3);
    CHECK(is_text(group.cursor, "\"2\"") && group.failures == 0);
    CHECK(is_text(group.last_error, "1 of what came could not be taken and was left out"));
    lapse(&rig, SPAN_MINUTE);
    told(&rig, "{'events':[],'cursor':'3'}");
    CHECK(!group_of(&rig.store).last_error.at);
}

static void what_nobody_can_ask_for_is_left_out_and_said_so(void)
{
    RIG(rig);
    open_polls(&rig, TENANT);
    turn(&rig);
    told(&rig, "{'events':[{'key':'a'},{'key':'b','fetch':'nowhere'}],'cursor':'1'}");
    PollGroup group = group_of(&rig.store);
    CHECK(event_count(&rig) == 1 && is_text(group.cursor, "\"1\""));
    CHECK(is_text(group.last_error, "1 of what came could not be taken and was left out: nowhere"));
}

static const Statement damage_tries = {
    .name = "damage_tries",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE poll_group SET unfetched = '{\"x\":[' WHERE unfetched IS NOT NULL",
};

static Err apply_damage(Tx *tx, void *with, Error *error)
{
    Rows rows;
    (void) with;
    return tx_query(tx, &damage_tries, NULL, &rows, error);
}

// poll_in_vain has a page with one event that cannot be fetched and one that can.
static void poll_in_vain(Rig *rig)
{
    told(rig, "{'events':[{'key':'x','fetch':'x'},{'key':'y','fetch':'y'}],'cursor':'1'}");
    answer(rig, rig->sent_count - 2, 500);
    answer(rig, rig->sent_count - 1, 200);
    turn(rig);
}

static void tries_are_kept_and_those_that_somebody_damaged_counted_anew(void)
{
    static const char *const tries[] = { "{\"x\":1}", "{\"x\":1}", "{\"x\":2}" };
    RIG(rig);
    open_polls(&rig, TENANT);
    turn(&rig);
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        poll_in_vain(&rig);
        CHECK_AT(tries[i], is_text(group_of(&rig.store).unfetched, tries[i]));
        CHECK_AT(tries[i], event_count(&rig) == 0);
        if (i == 0)
            MUST(&rig.store, writer_run(rig.store.writer, apply_damage, NULL, &rig.store.error));
        lapse(&rig, 2 * SPAN_MINUTE);
    }
    poll_in_vain(&rig);
    CHECK(event_count(&rig) == 1 && !group_of(&rig.store).unfetched.at);
    CHECK(is_text(group_of(&rig.store).cursor, "\"1\""));
}

static const Test tests[] = {
    TEST(a_page_is_written_once_wherever_the_connection_is_lost),
    TEST(one_event_that_the_store_refuses_keeps_no_other_out),
    TEST(what_nobody_can_ask_for_is_left_out_and_said_so),
    TEST(tries_are_kept_and_those_that_somebody_damaged_counted_anew),
};
PART(polls_part, tests);
