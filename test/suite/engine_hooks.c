#include "rig.h"

#include "engine/duty.h"
#include "engine/unpack.h"
#include "store/definition.h"
#include "store/inbox.h"
#include "store/integration.h"

// What the drain promises of webhooks, on the real engine and store: each becomes the events that
// its provider reads from it, all of them or none, says why where there is none, and stops nobody.

// The provider of these tests reads {"events":[{"key":…,"pad":n,"at":n,"connection":…}],"note":…,
// "id":…,"revokes":connection}, and refuses everything else.
static void read_event(Arena *arena, const Json *given, Str raw, ProviderEvent *ret)
{
    int64_t pad = 0, at = 0;
    (void) json_i64(json_get(given, S("pad")), &pad);
    (void) json_i64(json_get(given, S("at")), &at);
    Str type = json_str(json_get(given, S("type")));
    *ret =
        (ProviderEvent){ .provider = PROVIDER_GENERIC,
                         .type = type.at ? type : S("event"),
                         .provider_type = S("event"),
                         .occurred_at = at ? at : INSTANT_NONE,
                         .dedup_key = json_str(json_get(given, S("key"))),
                         .raw = raw,
                         .place = { .connection_id = json_str(json_get(given, S("connection"))) } };
    if (pad > 0)
        ret->context = str_format(arena, "{\"pad\":\"%0*d\"}", (int) pad, 0);
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON");
    const Json *events = json_get(body, S("events"));
    *ret = (ProviderRead){ .note = json_str(json_get(body, S("note"))),
                           .external_id = json_str(json_get(body, S("id"))),
                           .events = ARENA_ARRAY(arena, ProviderEvent, json_count(events) + 1) };
    Str revoked = json_str(json_get(body, S("revokes")));
    ret->change_count = revoked.at != NULL;
    ret->changes = ARENA_NEW(arena, ProviderChange);
    *ret->changes = (ProviderChange){ .provider = PROVIDER_GENERIC,
                                      .place = { .connection_id = revoked },
                                      .state = PROVIDER_REVOKED };
    for (JsonIter it = json_each(events); json_next(&it);)
        read_event(arena, it.value, hook->body, &ret->events[ret->count++]);
    return ERR_OK;
}

static const Provider tested = { .name = PROVIDER_GENERIC, .parse = parse };
static const Provider *const providers[PROVIDERS] = { [PROVIDER_GENERIC] = &tested };

static void open_hooks(Rig *rig)
{
    rig->providers = providers;
    rig->status = 200;
    restart(rig);
}

// hook is one that came just now, later than all that were made before it.
static InboxRow hook(Store *store, Str body)
{
    pass(store, SPAN_MILLISECOND);
    return (InboxRow){ .tenant = TENANT,
                       .id = uuid_new(now(store), &store->random),
                       .source = S("gh"),
                       .kind = INBOX_HOOK,
                       .provider = S("generic"),
                       .headers = S("[[\"content-type\",\"application/json\"]]"),
                       .body = body,
                       .next_at = INSTANT_NONE,
                       .received_at = now(store),
                       .processed_at = INSTANT_NONE };
}

static Uuid put(Store *store, const char *body)
{
    InboxRow made = hook(store, json_compact(store, body));
    put_rows(store, &made, 1);
    return made.id;
}

static InboxRow found(Store *store, Uuid id)
{
    InboxRow ret;
    MUST(store, inbox_row(store->db, &store->arena, INBOX_HOOKS, TENANT, id, &ret, &store->error));
    return ret;
}

static bool is_ended(Store *store, Uuid id, InboxStatus status, InboxReason reason)
{
    InboxRow row = found(store, id);
    bool is_good = row.status == (int) status && row.reason == (int) reason &&
                   (row.status == INBOX_PENDING) == (row.processed_at == INSTANT_NONE);
    if (!is_good)
        printf("# status %d, reason %s: %.*s\n", row.status,
               inbox_reason_code((InboxReason) row.reason), STR_ARG(row.error));
    return is_good;
}

static int64_t count_of(Store *store, const char *table)
{
    return ask_i64(store, str_format(&store->arena, "SELECT COUNT(*) FROM %s", table).at);
}

static Err apply_replay(Tx *tx, void *with, Error *error)
{
    int64_t done;
    return inbox_replay(tx, TENANT, with, 1, &done, error);
}

static void reprocess(Rig *rig, Uuid id)
{
    Store *store = &rig->store;
    MUST(store, writer_run(store->writer, apply_replay, &id, &store->error));
    lapse(rig, 2 * SPAN_SECOND);
}

// Rows

static void hooks_with_one_id_are_all_kept(void)
{
    STORE(store);
    InboxRow rows[] = { hook(&store, S("a")), hook(&store, S("a")), hook(&store, S("b\xff\x01")) };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i].external_id = S("17");
    put_rows(&store, rows, ARRAY_LEN(rows));
    CHECK(count_of(&store, "inbox WHERE status = 0") == 3);
    InboxRow got = found(&store, rows[2].id);
    CHECK(got.kind == INBOX_HOOK && is_text(got.provider, "generic"));
    CHECK(is_text(got.headers, "[[\"content-type\",\"application/json\"]]"));
    CHECK(str_eq(got.body, S("b\xff\x01"))); // the very bytes
}

// An application does not meet what webhooks brought in its outbox, nor the other way round.
static void a_side_has_only_its_own_rows(void)
{
    STORE(store);
    InboxRow rows[] = { hook(&store, S("{}")), hook(&store, S("{}")) };
    rows[0].kind = INBOX_EVENT;
    rows[0].provider = rows[0].headers = STR_NONE;
    put_rows(&store, rows, ARRAY_LEN(rows));
    const InboxSide sides[] = { INBOX_OUTBOX, INBOX_HOOKS };
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        InboxRow *shown, one;
        Seen seen;
        InboxFilter filter = { .side = sides[i], .to = INSTANT_NONE };
        MUST(&store, inbox_page(store.db, &store.arena, TENANT, &filter, &(Walk){ .limit = 10 },
                                &shown, &seen, &store.error));
        CHECK(seen.count == 1 && uuid_cmp(shown[0].id, rows[i].id) == 0);
        CHECK(inbox_row(store.db, &store.arena, sides[i], TENANT, rows[1 - i].id, &one,
                        &store.error) == ERR_NOT_FOUND);
    }
}

// Events

static void a_hook_becomes_the_events_that_its_provider_reads(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    http(&rig, "generic.event", "", "");
    Uuid id = put(store, "{'id':'d-1','events':[{'key':'a','at':1700000000000000},{'key':'b'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NONE) && rig.sent_count == 2);
    CHECK(is_text(found(store, id).external_id, "d-1")); // which only its body told
    Rows rows = ask(store, "SELECT id, source, occurred_at, kind FROM event ORDER BY id", "", NULL);
    CHECK(rows.count == 2);
    CHECK(uuid_cmp(value_to_uuid(rows_at(&rows, 0)), id) == 0);
    CHECK(uuid_cmp(value_to_uuid(rows_at(&rows, 1)), inbox_event(id, 1)) == 0);
    CHECK(memcmp(&id, inbox_event(id, 1).b, 10) == 0);
    CHECK(is_text(value_to_str(&rows_at(&rows, 0)[1]), "gh"));
    CHECK(value_to_i64(&rows_at(&rows, 0)[2]) == 1700000000000000);
    CHECK(is_text(value_to_str(&rows_at(&rows, 1)[3]), "generic.event"));
}

// It is enough that one event of a hook is taken, whichever it is.
static void a_hook_of_which_one_event_is_taken_was_taken(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    http(&rig, "generic.event", "",
         ",'filter':{'path':'candidate.dedupKey','op':'==','value':'a'}");
    const char *const bodies[] = { "{'events':[{'key':'a'},{'key':'b'}]}",
                                   "{'events':[{'key':'b'},{'key':'a'}]}" };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        Uuid id = put(store, bodies[i]);
        lapse(&rig, SPAN_SECOND);
        CHECK_AT(bodies[i], is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NONE));
    }
}

static void an_event_that_nobody_takes_is_stored_all_the_same(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid id = put(store, "{'events':[{'key':'a'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    CHECK(is_text(found(store, id).error, "no trigger listens to generic.event"));
    CHECK(count_of(store, "event") == 1);
}

static void a_hook_without_an_event_says_why(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid ping = put(store, "{'note':'ping'}");
    Uuid other = put(store, "{'events':[{'type':'deployment'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, ping, INBOX_PUBLISHED, INBOX_REASON_NO_EVENT));
    CHECK(is_text(found(store, ping).error, "ping"));
    CHECK(is_ended(store, other, INBOX_PUBLISHED, INBOX_REASON_NO_EVENT));
    CHECK(found(store, other).error.len > 0 && count_of(store, "event") == 0);
}

// What comes twice goes by the key of the trigger, in one transaction or in several.
static void twins_fire_once(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    http(&rig, "generic.event", "", ",'dedupRecipe':['candidate.dedupKey']");
    InboxRow rows[] = { hook(store, S("{\"events\":[{\"key\":\"a\"}]}")),
                        hook(store, S("{\"events\":[{\"key\":\"a\"},{\"key\":\"b\"}]}")) };
    put_rows(store, rows, ARRAY_LEN(rows));
    lapse(&rig, SPAN_SECOND);
    put_rows(store, (InboxRow[]){ hook(store, S("{\"events\":[{\"key\":\"b\"}]}")) }, 1);
    engine_moved(rig.engine, NULL, 0);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 2 && count_of(store, "event") == 4);
    CHECK(count_of(store, "inbox WHERE status = 1") == 3);
}

// An event tells which hook it came by, the first as well as any other.
static void an_event_leads_to_its_hook(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid before = put(store, "{'events':[{}]}");
    Uuid id = put(store, "{'events':[{},{},{}]}");
    lapse(&rig, SPAN_SECOND);
    for (size_t n = 0; n < 3; n++) {
        InboxRow row;
        bool is_found;
        MUST(store, inbox_of_event(store->db, &store->arena, TENANT, inbox_event(id, n), &row,
                                   &is_found, &store->error));
        CHECK(is_found && same_id(row.id, id) && !row.body.at && row.size == 21);
        MUST(store, inbox_of_event(store->db, &store->arena, TENANT + 1, inbox_event(id, n), &row,
                                   &is_found, &store->error));
        CHECK(!is_found);
    }
    InboxRow row;
    bool is_found;
    Uuid foreign = uuid_new(now(store), &store->random);
    MUST(store,
         inbox_of_event(store->db, &store->arena, TENANT, foreign, &row, &is_found, &store->error));
    CHECK(!is_found && !same_id(before, id));
}

static void hooks_that_ended_a_week_ago_go(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    put(store, "{'events':[{}]}");
    put(store, "{'events':[{'pad':1100000}]}"); // fails
    InboxRow emitted = hook(store, S("{}"));
    emitted.kind = INBOX_EVENT;
    emitted.event_kind = S("out");
    emitted.provider = emitted.headers = STR_NONE;
    put_rows(store, &emitted, 1);
    lapse(&rig, SPAN_SECOND);
    InboxRow waits = hook(store, S("{}"));
    waits.next_at = now(store) + 30 * SPAN_DAY;
    put_rows(store, &waits, 1);
    pass(store, 7 * SPAN_DAY - 10 * SPAN_MINUTE);
    lapse(&rig, 2 * SPAN_MINUTE);
    CHECK(count_of(store, "inbox") == 4);
    pass(store, SPAN_HOUR);
    lapse(&rig, 2 * SPAN_MINUTE);
    CHECK(count_of(store, "inbox") == 2 && count_of(store, "inbox WHERE status = 0") == 1);
    CHECK(count_of(store, "event") == 2); // which are kept by their own rule
}

// Whose it is

static Err apply_integration(Tx *tx, void *with, Error *error)
{
    const IntegrationSave *save = with;
    TRY(tx_sync(tx, error));
    TRY(integration_may_save(tx, save, error));
    return integration_save(tx, save, error);
}

static void connect(Store *store, int64_t tenant, const char *id, const char *connection)
{
    IntegrationSave save = { .tenant = tenant,
                             .id = str_from(id),
                             .provider = PROVIDER_GENERIC,
                             .is_enabled = true,
                             .has_place = true,
                             .connection_id = str_from(connection) };
    MUST(store, writer_run(store->writer, apply_integration, &save, &store->error));
}

static void an_event_goes_to_the_integration_of_its_place(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid id = put(store, "{'events':[{'connection':'c-1'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION));
    CHECK(found(store, id).error.len > 0 && count_of(store, "event") == 0);
    connect(store, TENANT, "acme", "c-1");
    reprocess(&rig, id);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    CHECK(count_of(store, "event WHERE topic = 'acme'") == 1);
}

// A source that is not shared reaches its own tenant's integrations alone, whatever it names.
static void another_tenants_connection_is_none(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    connect(store, TENANT + 1, "theirs", "c-1");
    Uuid id = put(store, "{'events':[{'connection':'c-1'}],'revokes':'c-1'}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION));
    CHECK(count_of(store, "event") == 0 && count_of(store, "integration WHERE status = 0") == 1);
}

// What is said of an account holds for what came behind it, also in one transaction.
static void a_connection_that_is_gone_takes_nothing_more(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    connect(store, TENANT, "acme", "c-1");
    InboxRow rows[] = { hook(store, S("{\"events\":[{\"connection\":\"c-1\"}]}")),
                        hook(store, S("{\"revokes\":\"c-1\",\"note\":\"revoked\"}")),
                        hook(store, S("{\"events\":[{\"connection\":\"c-1\"}]}")) };
    put_rows(store, rows, ARRAY_LEN(rows));
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, rows[0].id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    CHECK(is_ended(store, rows[1].id, INBOX_PUBLISHED, INBOX_REASON_NO_EVENT));
    CHECK(is_ended(store, rows[2].id, INBOX_PUBLISHED, INBOX_REASON_NO_CONNECTION));
}

// What cannot be

static void what_cannot_be_read_fails_at_once_and_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    const Str bodies[] = { S(""), S("{"), S("\xff\xfe"), S("a=1&b=2"), S("{\"a\":\0}") };
    InboxRow rows[ARRAY_LEN(bodies) + 4];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i] = hook(store, S("{\"events\":[{\"key\":\"a\"}]}"));
        if (i < ARRAY_LEN(bodies))
            rows[i].body = bodies[i];
    }
    InboxRow *strange = rows + ARRAY_LEN(bodies);
    strange[0].provider = S("newer");
    strange[1].provider = S("table"); // no service
    strange[2].headers = S("[[\"content-encoding\",\"br\"]]");
    put_rows(store, rows, ARRAY_LEN(rows));
    lapse(&rig, SPAN_SECOND);
    for (size_t i = 0; i < ARRAY_LEN(rows) - 1; i++) {
        CHECK(is_ended(store, rows[i].id, INBOX_FAILED, INBOX_REASON_UNPARSABLE));
        CHECK(found(store, rows[i].id).attempts == 0 && found(store, rows[i].id).error.len > 0);
    }
    CHECK(is_ended(store, rows[ARRAY_LEN(rows) - 1].id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
}

static void an_event_that_is_too_long_loses_raw_and_then_its_hook_fails(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    // With raw a payload has what came twice over; the second is too long without it.
    const char *const bodies[] = {
        "'events':[{'key':'a','pad':600000}]",
        "'events':[{'key':'a'},{'key':'b','pad':1100000}]",
    };
    Uuid ids[2];
    for (size_t i = 0; i < 2; i++)
        ids[i] =
            put(store, str_format(&store->arena, "{%s,'pad':'%0*d'}", bodies[i], 600000, 0).at);
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, ids[0], INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    CHECK(is_ended(store, ids[1], INBOX_FAILED, INBOX_REASON_TOO_LARGE));
    CHECK(count_of(store, "event") == 1); // not one of the second's
    CHECK(ask_i64(store, "SELECT LENGTH(payload) FROM event") < 700000);
}

// Each of its events may be given all that came: three hundred times 600 KB would be too much. All
// have ids of their own.
static void many_events_of_a_long_hook_lose_raw(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Buf body = buf_new(&store->arena, 1 << 20);
    for (int i = 0; i < 300; i++)
        buf_add_format(&body, "%s{'key':'%d'}", i ? "," : "{'events':[", i);
    buf_add_format(&body, "],'pad':'%0*d'}", 600000, 0);
    Uuid id = put(store, str_z(&store->arena, buf_str(&body)));
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    CHECK(count_of(store, "event") == 300);
    CHECK(ask_i64(store, "SELECT MAX(LENGTH(payload)) FROM event") < 1000);
}

static void a_hook_that_brings_too_many_fails(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Buf body = buf_new(&store->arena, 1 << 20);
    buf_add(&body, S("{\"events\":[{}"));
    for (int i = 0; i < UNPACK_EVENTS_MAX; i++)
        buf_add(&body, S(",{}"));
    buf_add(&body, S("]}"));
    InboxRow many = hook(store, buf_str(&body));
    put_rows(store, &many, 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, many.id, INBOX_FAILED, INBOX_REASON_TOO_LARGE));
}

// Deaths

// put_with_poison puts twenty; the eighth is none that the store takes.
static Uuid put_with_poison(Store *store)
{
    InboxRow rows[20];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i] = hook(store, i == 7 ? S("{\"events\":[{},{\"at\":7}]}") : S("{\"events\":[{}]}"));
    poison_events(store);
    put_rows(store, rows, ARRAY_LEN(rows));
    return rows[7].id;
}

static void a_hook_that_the_store_refuses_three_times_fails_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid bad = put_with_poison(store);
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(count_of(store, "inbox WHERE status = 1") == 19 && found(store, bad).attempts > 0);
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(is_ended(store, bad, INBOX_FAILED, INBOX_REASON_REFUSED));
    CHECK(count_of(store, "event") == 19);
}

static void a_hook_that_ends_the_process_three_times_fails_alone(void)
{
    RIG(rig);
    Store *store = &rig.store;
    Uuid bad = put_with_poison(store);
    Life life = { .options = { .clock = &store->clock,
                               .real = &rig.real,
                               .providers = providers,
                               .payload_max = EVENT_PAYLOAD_MAX } };
    live(&rig, &life);
    CHECK(life.deaths == INBOX_TRIES);
    CHECK(is_ended(store, bad, INBOX_FAILED, INBOX_REASON_FATAL));
    CHECK(count_of(store, "inbox WHERE status = 1") == 19 && count_of(store, "event") == 19);
}

// Again

static void what_fired_does_not_fire_again(void)
{
    RIG(rig);
    Store *store = &rig.store;
    open_hooks(&rig);
    Uuid id = put(store, "{'events':[{'key':'a'},{'key':'b'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NO_TRIGGER));
    http(&rig, "generic.event", "", "");
    for (int i = 0; i < 3; i++) {
        reprocess(&rig, id);
        CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NONE) && rig.sent_count == 2);
    }
    CHECK(count_of(store, "event") == 2);
}

static void after_a_fix_the_events_come_that_would_have_come(void)
{
    RIG(rig);
    Store *store = &rig.store;
    rig.status = 200;
    http(&rig, "generic.event", "", "");
    static const Provider *const none[PROVIDERS] = { 0 };
    rig.providers = none; // nobody here can read it, yet
    restart(&rig);
    Uuid id = put(store, "{'events':[{'key':'a'},{'key':'b'}]}");
    lapse(&rig, SPAN_SECOND);
    CHECK(is_ended(store, id, INBOX_FAILED, INBOX_REASON_UNPARSABLE));
    open_hooks(&rig);
    reprocess(&rig, id);
    CHECK(is_ended(store, id, INBOX_PUBLISHED, INBOX_REASON_NONE) && rig.sent_count == 2);
}

static const Test tests[] = {
    TEST(hooks_with_one_id_are_all_kept),
    TEST(a_side_has_only_its_own_rows),
    TEST(a_hook_becomes_the_events_that_its_provider_reads),
    TEST(a_hook_of_which_one_event_is_taken_was_taken),
    TEST(an_event_that_nobody_takes_is_stored_all_the_same),
    TEST(a_hook_without_an_event_says_why),
    TEST(twins_fire_once),
    TEST(an_event_leads_to_its_hook),
    TEST(hooks_that_ended_a_week_ago_go),
    TEST(what_cannot_be_read_fails_at_once_and_alone),
    TEST(an_event_that_is_too_long_loses_raw_and_then_its_hook_fails),
    TEST(many_events_of_a_long_hook_lose_raw),
    TEST(a_hook_that_brings_too_many_fails),
    TEST(a_hook_that_the_store_refuses_three_times_fails_alone),
    TEST(a_hook_that_ends_the_process_three_times_fails_alone),
    TEST(an_event_goes_to_the_integration_of_its_place),
    TEST(another_tenants_connection_is_none),
    TEST(a_connection_that_is_gone_takes_nothing_more),
    TEST(what_fired_does_not_fire_again),
    TEST(after_a_fix_the_events_come_that_would_have_come),
};

PART(hooks_part, tests);
