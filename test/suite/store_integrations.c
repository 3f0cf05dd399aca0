#include "fixture.h"

#include "store/definition.h"
#include "store/integration.h"

// What store/integration.h promises: whose an event is, who may say what of an integration, and
// what is kept of its tokens.

static KeyRing ring_of(char with)
{
    KeyRing ring = { 0 };
    char key[MASTER_KEY_LEN];
    memset(key, with, sizeof key);
    must(NULL, key_ring_add(&ring, (Str){ key, sizeof key }, NULL), __FILE__, __LINE__);
    return ring;
}

// Made is an integration to be made, as a save of its definition would.
typedef struct Made {
    Store *store;
    IntegrationSave save;
    bool is_new;
    const KeyRing *ring; // its token is sealed with; NULL: it has none
} Made;

static Str body_of(const Made *made)
{
    Arena *arena = &made->store->arena;
    const IntegrationSave *save = &made->save;
    Str binding = str_format(arena, "integration/%lld/%.*s/value", (long long) save->tenant,
                             STR_ARG(save->id));
    Str token = S("");
    if (made->ring)
        token =
            str_format(arena, ",\"token\":{\"source\":\"static\",\"value\":{\"$sealed\":\"%.*s\"}}",
                       STR_ARG(crypto_seal(arena, made->ring, &made->store->random, binding,
                                           S("\"token-0\""))));
    return str_format(arena, "{\"id\":\"%.*s\",\"provider\":\"%s\"%.*s}", STR_ARG(save->id),
                      provider_id_text(save->provider), STR_ARG(token));
}

static Err apply_save(Tx *tx, void *with, Error *error)
{
    const Made *made = with;
    Definition row;
    TRY(integration_may_save(tx, &made->save, error));
    if (made->is_new)
        TRY(definition_create(tx, made->save.tenant, S("integration"), made->save.id, body_of(made),
                              &row, error));
    TRY(integration_save(tx, &made->save, error));
    return tx_sync(tx, error);
}

static Err save_of(Store *store, IntegrationSave save, bool is_new, const KeyRing *ring)
{
    Made made = { store, save, is_new, ring };
    return writer_run(store->writer, apply_save, &made, &store->error);
}

static IntegrationSave saved(int64_t tenant, const char *id, const char *connection,
                             const char *installation)
{
    return (IntegrationSave){ .tenant = tenant,
                              .id = str_from(id),
                              .provider = PROVIDER_GITHUB,
                              .is_enabled = true,
                              .has_place = connection || installation,
                              .connection_id = str_from(connection),
                              .installation_id = str_from(installation) };
}

static void make(Store *store, int64_t tenant, const char *id, const char *connection,
                 const char *installation)
{
    MUST(store, save_of(store, saved(tenant, id, connection, installation), true, NULL));
}

// Routes are several, in one transaction.
typedef struct Routes {
    IntegrationRoute *routes;
    size_t count;
    Arena *arena;
} Routes;

static Err apply_routes(Tx *tx, void *with, Error *error)
{
    Routes *asked = with;
    TRY(integrations_route(tx, asked->routes, asked->count, error));
    for (size_t i = 0; i < asked->count; i++) {
        asked->routes[i].to = str_dup(asked->arena, asked->routes[i].to);
        asked->routes[i].why = str_dup(asked->arena, asked->routes[i].why);
    }
    return ERR_OK;
}

static void route_all(Store *store, IntegrationRoute *routes, size_t count)
{
    Routes asked = { routes, count, &store->arena };
    MUST(store, writer_run(store->writer, apply_routes, &asked, &store->error));
}

static IntegrationRoute route(Store *store, IntegrationRoute asked)
{
    route_all(store, &asked, 1);
    return asked;
}

static IntegrationState state(Store *store, int64_t tenant, const char *id)
{
    IntegrationState found = { .id = str_from(id) };
    MUST(store, integrations_look(store->db, &store->arena, tenant, &found, 1, &store->error));
    return found;
}

static Err apply_sql(Tx *tx, void *with, Error *error)
{
    Statement statement = { .name = "suite_integrations", .scope = STATEMENT_SYSTEM, .params = "" };
    Rows rows;
    statement.sql = with;
    return tx_query(tx, &statement, NULL, &rows, error);
}

// run does what no save does.
static void run(Store *store, const char *sql)
{
    MUST(store, writer_run(store->writer, apply_sql, (void *) (uintptr_t) sql, &store->error));
}

// World is who there is in most tests.
static int64_t world(Store *store)
{
    int64_t other = tenant_new(store, "other");
    make(store, TENANT, "one", "c-1", "41");
    make(store, TENANT, "own", NULL, NULL);
    make(store, TENANT, "app", NULL, "43");
    make(store, other, "theirs", "c-2", "42");
    return other;
}

static void an_event_is_led_by_its_place(void)
{
    STORE(store);
    int64_t other = world(&store);
    static const struct {
        const char *about;
        bool is_shared;
        const char *own, *connection, *installation;
        const char *to; // NULL: it is nobody's; "": of none
        bool is_theirs;
    } rows[] = {
        { "no place", false, NULL, NULL, NULL, "", false },
        { "the source's own", false, "own", NULL, NULL, "own", false },
        { "one that is not there", false, "gone", NULL, NULL, "gone", false },
        { "shared, no place", true, "own", NULL, NULL, "own", false },
        { "a connection", false, "own", "c-1", NULL, "one", false },
        { "another tenant's connection", false, "own", "c-2", NULL, NULL, false },
        { "the same, shared", true, "own", "c-2", NULL, "theirs", true },
        { "nobody's connection", false, "own", "c-9", NULL, NULL, false },
        { "nobody's connection, shared", true, "own", "c-9", NULL, NULL, false },
        { "an installation", false, "own", NULL, "41", "one", false },
        { "nobody's installation", false, "own", NULL, "49", "own", false },
        { "nobody's, and a source without one", false, NULL, NULL, "49", "", false },
        { "nobody's, and the source's own has another", false, "app", NULL, "49", NULL, false },
        { "another tenant's installation", false, NULL, NULL, "42", "", false },
        { "the same, shared", true, NULL, NULL, "42", "theirs", true },
        { "nobody's installation, shared", true, "own", NULL, "49", NULL, false },
    };
    IntegrationRoute routes[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        routes[i] = (IntegrationRoute){ .tenant = TENANT,
                                        .own = str_from(rows[i].own),
                                        .is_shared = rows[i].is_shared,
                                        .connection_id = str_from(rows[i].connection),
                                        .installation_id = str_from(rows[i].installation) };
    route_all(&store, routes, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_AT(rows[i].about, routes[i].is_found == (rows[i].to != NULL));
        CHECK_AT(rows[i].about, routes[i].is_found == (routes[i].why.len == 0));
        if (!rows[i].to)
            continue;
        CHECK_AT(rows[i].about, routes[i].to_tenant == (rows[i].is_theirs ? other : TENANT));
        CHECK_AT(rows[i].about, str_eq(routes[i].to, str_from(rows[i].to)));
    }
}

static void what_no_place_can_be_is_nobodys(void)
{
    STORE(store);
    world(&store);
    char large[INTEGRATION_PLACE_MAX + 2];
    memset(large, 'c', sizeof large);
    Str odd[] = { S(""), { "c-1\0x", 5 }, S("c-1\n"), S("\xff\xfe"), { large, sizeof large } };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        IntegrationRoute asked = { .tenant = TENANT, .is_shared = true, .connection_id = odd[i] };
        CHECK(!route(&store, asked).is_found);
        asked.installation_id = odd[i];
        asked.connection_id = STR_NONE;
        CHECK(!route(&store, asked).is_found);
    }
}

static void ten_thousand_are_told_apart(void)
{
    enum { MANY = 10000, ASKED = 500 };
    STORE(store);
    run(&store,
        "INSERT INTO integration (tenant, id, provider, is_enabled, connection_id, status, since,"
        " fence) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)"
        " SELECT 1, 'i-' || n, 'github', 1, 'c-' || n, 0, 0, 1 FROM n");
    IntegrationRoute *routes = ARENA_ARRAY(&store.arena, IntegrationRoute, ASKED);
    for (int i = 0; i < ASKED; i++)
        routes[i] = (IntegrationRoute){ .tenant = TENANT,
                                        .is_shared = i % 2,
                                        .connection_id = str_format(&store.arena, "c-%d", i * 21) };
    route_all(&store, routes, ASKED);
    CHECK(!routes[0].is_found && ask_i64(&store, "SELECT COUNT(*) FROM integration") == MANY);
    for (int i = 1; i < ASKED && i * 21 <= MANY; i++)
        CHECK(routes[i].is_found && str_eq(routes[i].to, str_format(&store.arena, "i-%d", i * 21)));
}

static void a_place_that_is_taken_stays_whose_it_is(void)
{
    STORE(store);
    int64_t other = world(&store);
    CHECK(save_of(&store, saved(other, "second", "c-1", NULL), true, NULL) == ERR_CONFLICT);
    CHECK(save_of(&store, saved(other, "second", NULL, "41"), true, NULL) == ERR_CONFLICT);
    CHECK(!state(&store, other, "second").is_known);
    CHECK(save_of(&store, saved(TENANT, "one", "c-1", "44"), false, NULL) == ERR_OK);
    CHECK(save_of(&store, saved(other, "second", NULL, "41"), true, NULL) == ERR_OK);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM poll_group") == 0); // no trigger asks for any
}

typedef struct Changing {
    IntegrationChange change;
    bool is_found;
} Changing;

static Err apply_change(Tx *tx, void *with, Error *error)
{
    Changing *changing = with;
    TRY(integration_change(tx, &changing->change, &changing->is_found, error));
    return tx_sync(tx, error);
}

static bool change(Store *store, IntegrationChange told)
{
    Changing changing = { told, false };
    MUST(store, writer_run(store->writer, apply_change, &changing, &store->error));
    return changing.is_found;
}

static IntegrationChange about(bool is_shared, const char *installation, IntegrationStatus status)
{
    return (IntegrationChange){ .of = { .tenant = TENANT,
                                        .is_shared = is_shared,
                                        .installation_id = str_from(installation) },
                                .provider = PROVIDER_GITHUB,
                                .status = status,
                                .reason = S("it was said so") };
}

static int64_t told_facts(Store *store)
{
    return ask_i64(store, "SELECT COUNT(*) FROM journal WHERE facts IS NOT NULL");
}

static void the_provider_says_what_became_of_it(void)
{
    STORE(store);
    int64_t other = world(&store);
    IntegrationRoute one = { .tenant = TENANT, .installation_id = S("41") };
    CHECK(change(&store, about(false, "41", INTEGRATION_SUSPENDED)));
    IntegrationState shown = state(&store, TENANT, "one");
    CHECK(shown.status == INTEGRATION_SUSPENDED && is_text(shown.reason, "it was said so"));
    CHECK(!route(&store, one).is_found &&
          is_text(route(&store, one).why, "integration one is suspended"));
    int64_t before = told_facts(&store);
    CHECK(change(&store, about(false, "41", INTEGRATION_SUSPENDED)) &&
          told_facts(&store) == before);
    CHECK(change(&store, about(false, "41", INTEGRATION_FAILED))); // it is worse already
    CHECK(state(&store, TENANT, "one").status == INTEGRATION_SUSPENDED);
    CHECK(change(&store, about(false, "41", INTEGRATION_ACTIVE)) && told_facts(&store) > before);
    shown = state(&store, TENANT, "one");
    CHECK(shown.status == INTEGRATION_ACTIVE && !shown.reason.at && route(&store, one).is_found);
    CHECK(change(&store, about(false, "41", INTEGRATION_REVOKED)) && !route(&store, one).is_found);
    // Another tenant's is not for this source to speak of, unless it is shared.
    CHECK(!change(&store, about(false, "42", INTEGRATION_REVOKED)));
    CHECK(state(&store, other, "theirs").status == INTEGRATION_ACTIVE);
    CHECK(change(&store, about(true, "42", INTEGRATION_REVOKED)));
    CHECK(state(&store, other, "theirs").status == INTEGRATION_REVOKED);
    CHECK(!change(&store, about(true, "49", INTEGRATION_REVOKED)));
}

static IntegrationChange connected(bool is_shared, const char *connection, const char *tenant,
                                   const char *integration)
{
    return (IntegrationChange){
        .of = { .tenant = TENANT, .is_shared = is_shared, .connection_id = str_from(connection) },
        .provider = PROVIDER_GITHUB,
        .status = INTEGRATION_ACTIVE,
        .is_new = true,
        .tenant = str_from(tenant),
        .integration = str_from(integration)
    };
}

static void a_shared_source_alone_binds_a_place(void)
{
    STORE(store);
    int64_t other = world(&store);
    CHECK(!change(&store, connected(false, "c-7", "other", "theirs")));
    CHECK(!change(&store, connected(false, "c-7", "default", "own")));
    CHECK(!change(&store, connected(true, "c-7", "nobody", "own")));
    CHECK(!change(&store, connected(true, "c-7", "other", "gone")));
    CHECK(!change(&store, connected(true, "c-7", NULL, NULL)));
    CHECK(is_text(state(&store, other, "theirs").connection_id, "c-2"));
    IntegrationChange failing = connected(true, "c-7", "other", "theirs");
    failing.status = INTEGRATION_FAILED;
    CHECK(!change(&store, failing));
    IntegrationChange strange = connected(true, "c-7", "other", "theirs");
    strange.provider = PROVIDER_LINEAR;
    CHECK(!change(&store, strange));
    CHECK(change(&store, connected(true, "c-7", "other", "theirs")));
    CHECK(is_text(state(&store, other, "theirs").connection_id, "c-7"));
    // What somebody has is not given to another, whoever is named.
    CHECK(change(&store, connected(true, "c-1", "other", "theirs")));
    CHECK(is_text(state(&store, TENANT, "one").connection_id, "c-1"));
    CHECK(is_text(state(&store, other, "theirs").connection_id, "c-7"));
}

static IntegrationOpened opened(Store *store, const KeyRing *ring, const char *id)
{
    IntegrationOpened ret = { 0 };
    MUST(store, integration_open(store->db, &store->arena, ring, TENANT, str_from(id), &ret,
                                 &store->error));
    return ret;
}

// Learnt is what asking the provider has shown.
typedef struct Learnt {
    const KeyRing *ring;
    IntegrationName name;
    Str access, refresh;
    IntegrationStatus status;
} Learnt;

static Err apply_learnt(Tx *tx, void *with, Error *error)
{
    const Learnt *learnt = with;
    if (learnt->access.at)
        TRY(integration_refreshed(tx, learnt->ring, &learnt->name, learnt->access, learnt->refresh,
                                  tx->now + SPAN_HOUR, error));
    TRY(integration_mark(tx, &learnt->name, learnt->status, S("it said 401"), error));
    return tx_sync(tx, error);
}

static void learn(Store *store, Learnt learnt)
{
    MUST(store, writer_run(store->writer, apply_learnt, &learnt, &store->error));
}

static void fresh_tokens_are_sealed_and_their_integrations(void)
{
    STORE(store);
    KeyRing ring = ring_of('a'), wrong = ring_of('b');
    IntegrationOpened failed;
    MUST(&store, save_of(&store, saved(TENANT, "acme", "c-1", NULL), true, &ring));
    MUST(&store, save_of(&store, saved(TENANT, "next", NULL, NULL), true, &ring));
    IntegrationOpened first = opened(&store, &ring, "acme");
    CHECK(is_text(json_str(json_get(first.access.token, S("value"))), "token-0"));
    CHECK(!first.access.access.at && is_text(first.access.connection_id, "c-1"));
    learn(&store, (Learnt){ &ring, first.name, S("at-1"), S("rt-1"), INTEGRATION_ACTIVE });
    learn(&store, (Learnt){ &ring, first.name, S("at-2"), STR_NONE, INTEGRATION_ACTIVE });
    IntegrationOpened second = opened(&store, &ring, "acme");
    CHECK(is_text(second.access.access, "at-2") && is_text(second.access.refresh, "rt-1"));
    CHECK(second.access.expires_at == now(&store) + SPAN_HOUR);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM integration WHERE access LIKE '%at-2%'"
                          " OR refresh LIKE '%rt-1%'") == 0);
    CHECK(integration_open(store.db, &store.arena, &wrong, TENANT, S("acme"), &failed,
                           &store.error) == ERR_CORRUPT);
    CHECK(strstr(store.error.detail, "cannot be opened with this master key") != NULL);
    // Put beside another integration it opens nothing.
    run(&store, "UPDATE integration SET access = (SELECT access FROM integration WHERE id = 'acme')"
                " WHERE id = 'next'");
    CHECK(integration_open(store.db, &store.arena, &ring, TENANT, S("next"), &failed,
                           &store.error) == ERR_CORRUPT);
}

static void what_was_found_out_of_an_old_token_counts_no_more(void)
{
    STORE(store);
    KeyRing ring = ring_of('a');
    IntegrationSave save = saved(TENANT, "acme", NULL, NULL);
    MUST(&store, save_of(&store, save, true, &ring));
    IntegrationName before = opened(&store, &ring, "acme").name;
    learn(&store, (Learnt){ &ring, before, S("at-1"), S("rt-1"), INTEGRATION_FAILED });
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_FAILED);
    CHECK(route(&store, (IntegrationRoute){ .tenant = TENANT, .own = S("acme") }).is_found);
    save.has_token = true;
    MUST(&store, save_of(&store, save, false, &ring));
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_ACTIVE);
    CHECK(!opened(&store, &ring, "acme").access.access.at);
    learn(&store, (Learnt){ &ring, before, S("at-2"), S("rt-2"), INTEGRATION_FAILED });
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_ACTIVE);
    CHECK(!opened(&store, &ring, "acme").access.access.at);
}

static void asking_says_nothing_of_one_that_is_held_back(void)
{
    STORE(store);
    KeyRing ring = ring_of('a');
    MUST(&store, save_of(&store, saved(TENANT, "acme", NULL, "41"), true, &ring));
    IntegrationSave again = saved(TENANT, "acme", NULL, NULL);
    IntegrationName name = opened(&store, &ring, "acme").name;
    CHECK(change(&store, about(false, "41", INTEGRATION_REVOKED)));
    learn(&store, (Learnt){ .ring = &ring, .name = name, .status = INTEGRATION_FAILED });
    learn(&store, (Learnt){ .ring = &ring, .name = name, .status = INTEGRATION_ACTIVE });
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_REVOKED);
    MUST(&store, save_of(&store, again, false, &ring)); // nor does a save
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_REVOKED);
    MUST(&store, save_of(&store, saved(TENANT, "acme", NULL, "45"), false, &ring));
    CHECK(state(&store, TENANT, "acme").status == INTEGRATION_ACTIVE);
    again.is_enabled = false;
    MUST(&store, save_of(&store, again, false, &ring));
    IntegrationRoute led = route(&store, (IntegrationRoute){ .tenant = TENANT, .own = S("acme") });
    CHECK(!led.is_found && is_text(led.why, "integration acme is disabled"));
}

static const Test tests[] = {
    TEST(an_event_is_led_by_its_place),
    TEST(what_no_place_can_be_is_nobodys),
    TEST(ten_thousand_are_told_apart),
    TEST(a_place_that_is_taken_stays_whose_it_is),
    TEST(the_provider_says_what_became_of_it),
    TEST(a_shared_source_alone_binds_a_place),
    TEST(fresh_tokens_are_sealed_and_their_integrations),
    TEST(what_was_found_out_of_an_old_token_counts_no_more),
    TEST(asking_says_nothing_of_one_that_is_held_back),
};
PART(integrations_part, tests);
