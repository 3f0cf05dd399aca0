#include "test.h"

#include "base/log.h"
#include "inspect.h"
#include "proxy.h"
#include "scenario.h"

// A COMMIT whose reply is lost: it may have happened or not, and only the database knows. A proxy
// cuts the line at the COMMIT of each step in turn. The step must still succeed, and its rows must
// be there exactly once.

enum { STEPS_MAX = 64 };

static const char *url;   // of PostgreSQL itself
static char through[256]; // of PostgreSQL through the proxy
static Proxy *proxy;
static uint64_t digests[STEPS_MAX][INSPECT_TABLES];

static Err clear(Error *error)
{
    Db *db;
    TRY(db_open(&(DbOptions){ .url = str_from(url) }, &db, error));
    Err err = db_script(db, S("DROP SCHEMA IF EXISTS peal CASCADE"), error);
    db_close(db);
    return err;
}

static Err take_reference(size_t length, Error *error)
{
    Scenario scenario;
    Db *db;
    TRY(clear(error));
    TRY(scenario_open(&scenario, &(ScenarioOptions){ .url = str_from(url), .cycles = 1 }, error));
    TRY(db_open(&(DbOptions){ .url = str_from(url), .is_reader = true }, &db, error));
    Err err = ERR_OK;
    for (size_t i = 0; i < length && err == ERR_OK; i++) {
        err = scenario_step(&scenario, error);
        if (err == ERR_OK)
            err = inspect_tables(db, digests[i + 1], error);
    }
    db_close(db);
    scenario_close(&scenario);
    return err;
}

// step_once does one step with the line cut at its COMMIT.
static void step_once(Scenario *scenario, Db *db, ProxyCut cut)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    const char *name = scenario_name(scenario), *broken = NULL, *differs;
    uint64_t digest[INSPECT_TABLES] = { 0 };
    proxy_cut(proxy, cut);
    Err err = scenario_step(scenario, &error);
    CHECK_AT(name, err == ERR_OK);
    CHECK_AT(name, cut == PROXY_NONE || proxy_has_cut(proxy));
    CHECK_AT(name, inspect_broken(db, &arena, &broken, &error) == ERR_OK && !broken);
    CHECK_AT(name, inspect_tables(db, digest, &error) == ERR_OK);
    differs = inspect_differs(digest, digests[scenario->step]);
    if (differs)
        printf("# %s: %s is not what it is without a cut\n", name, differs);
    CHECK_AT(name, !differs);
}

// run_with_cuts runs the scenario once, cutting at every nth step.
static int run_with_cuts(ProxyCut cut, size_t nth)
{
    Error error = { 0 };
    Scenario scenario;
    Db *db = NULL;
    ScenarioOptions options = { .url = str_from(through), .cycles = 1 };
    size_t length = scenario_length(&options);
    int cuts = 0;
    assert(length < STEPS_MAX);
    Err err = take_reference(length, &error);
    if (err == ERR_OK)
        err = clear(&error);
    if (err == ERR_OK)
        err = scenario_open(&scenario, &options, &error);
    if (err == ERR_OK)
        err = db_open(&(DbOptions){ .url = str_from(url), .is_reader = true }, &db, &error);
    CHECK_AT(error.detail, err == ERR_OK);
    for (size_t i = 0; err == ERR_OK && i < length && test_failures == 0; i++) {
        bool cuts_now = i % nth == 0 && !(cut == PROXY_LATE && scenario_skips(&scenario));
        step_once(&scenario, db, cuts_now ? cut : PROXY_NONE);
        cuts += cuts_now;
    }
    db_close(db);
    if (err == ERR_OK)
        scenario_close(&scenario);
    return cuts;
}

static void a_commit_that_was_not_answered_is_not_repeated(void)
{
    printf("# %d lines cut behind COMMIT\n", run_with_cuts(PROXY_AFTER, 1));
}

static void a_commit_that_did_not_arrive_is_repeated(void)
{
    printf("# %d lines cut before COMMIT\n", run_with_cuts(PROXY_BEFORE, 1));
}

// While the transaction is still open nobody can say what will become of it. It is waited for, and
// the server is not flooded with questions meanwhile.
static void a_commit_that_arrives_late_is_waited_for(void)
{
    int before = proxy_connections(proxy);
    int cuts = run_with_cuts(PROXY_LATE, 5);
    int made = proxy_connections(proxy) - before;
    printf("# %d late COMMITs, %d connections\n", cuts, made);
    CHECK(cuts > 0 && made <= 3 + cuts * 12);
}

static const Test tests[] = {
    TEST(a_commit_that_was_not_answered_is_not_repeated),
    TEST(a_commit_that_did_not_arrive_is_repeated),
    TEST(a_commit_that_arrives_late_is_waited_for),
};

__attribute__((constructor)) static void prepare(void)
{
    Str rest = str_from(getenv("PEAL_TEST_STORE"));
    int64_t port = 0;
    url = getenv("PEAL_TEST_STORE");
    log_level(LOG_OFF);
    // postgres://USER@HOST:PORT/DATABASE
    Str user = str_cut(&rest, '@');
    str_cut(&rest, ':');
    if (!url || !str_to_i64(str_cut(&rest, '/'), 1, 65535, &port)) {
        fprintf(stderr, "PEAL_TEST_STORE must be a PostgreSQL; run it with with_postgres.py\n");
        exit(2);
    }
    proxy = proxy_open((int) port);
    snprintf(through, sizeof through, "%.*s@127.0.0.1:%d/%.*s", STR_ARG(user), proxy_port(proxy),
             STR_ARG(rest));
}

__attribute__((destructor)) static void end(void)
{
    if (proxy)
        proxy_close(proxy);
}

TEST_MAIN(tests)
