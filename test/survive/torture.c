#include "test.h"

#include "base/log.h"
#include "inspect.h"
#include "scenario.h"

#include <ftw.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

// Every call that the store can fail in is made to fail once. Within a step of the scenario the
// first call fails, then the second and so on; each time the step either fails and has written
// nothing, or succeeds because the writer replayed it, and then has written exactly what it should.
// A step that succeeded is done, so its later calls are failed in another pass, on a new database.
//
// On PostgreSQL (PEAL_TEST_STORE) a failing sync is a lost connection, which includes the COMMIT
// whose reply never came.

enum { STEPS_MAX = 80, CALLS_MAX = 400, PASSES_MAX = 200 };

static char folder[64];
static const char *postgres_url; // NULL: on SQLite

static struct {
    int calls;   // of this step so far
    int fail_at; // 0: never
    int code;    // what it fails with
    bool has_fired;
    const char *fired_in;
} fault;

static struct {
    uint64_t digests[STEPS_MAX];
    int calls[STEPS_MAX]; // how many could fail
} reference;

static struct {
    long failed, refused, replayed, passes;
} found;

static int fail_once(void *with, const char *call)
{
    (void) with;
    fault.calls++;
    if (fault.has_fired || fault.calls != fault.fail_at)
        return 0;
    fault.has_fired = true;
    fault.fired_in = call;
    return fault.code;
}

static void arm(int fail_at, int code)
{
    fault = (typeof(fault)){ .fail_at = fail_at, .code = code };
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *place)
{
    (void) info;
    (void) flag;
    (void) place;
    return remove(path);
}

static ScenarioOptions new_options(Arena *arena)
{
    static int number;
    Str url = postgres_url ? str_from(postgres_url)
                           : str_format(arena, "sqlite:%s/peal-%d.db", folder, number++);
    return (ScenarioOptions){ .url = url, .cycles = postgres_url ? 1 : 2, .fault = fail_once };
}

// clear empties the database that all passes on PostgreSQL share.
static Err clear(const ScenarioOptions *options, Error *error)
{
    Db *db;
    if (!postgres_url)
        return ERR_OK;
    TRY(db_open(&(DbOptions){ .url = options->url }, &db, error));
    Err err = db_script(db, S("DROP SCHEMA IF EXISTS peal CASCADE"), error);
    db_close(db);
    return err;
}

// check looks at the database from outside: the rules hold and it is as it was after so many steps.
static bool check(Db *db, const Scenario *scenario, size_t steps, const char *about)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    const char *broken = NULL;
    uint64_t digest = 0;
    if (inspect_broken(db, &arena, &broken, &error) != ERR_OK ||
        inspect_digest(db, &digest, &error) != ERR_OK)
        broken = error.detail;
    else if (!broken && digest != reference.digests[steps])
        broken = "the rows are not what they should be";
    if (broken) {
        printf("# step %zu (%s), call %d (%s) failed with %d: %s: %s\n", scenario->step,
               scenario_name(scenario), fault.fail_at, fault.fired_in ? fault.fired_in : "none",
               fault.code, about, broken);
        test_failures++;
    }
    return !broken;
}

// take_reference runs without a fault and notes digests and calls.
static bool take_reference(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    Scenario scenario;
    Db *db = NULL;
    ScenarioOptions options = new_options(&arena);
    size_t length = scenario_length(&options);
    assert(length < STEPS_MAX);
    arm(0, 0);
    Err err = clear(&options, &error);
    if (err == ERR_OK)
        err = scenario_open(&scenario, &options, &error);
    if (err == ERR_OK)
        err = db_open(&(DbOptions){ .url = options.url, .is_reader = true }, &db, &error);
    for (size_t i = 0; i <= length && err == ERR_OK; i++) {
        err = inspect_digest(db, &reference.digests[i], &error);
        arm(0, 0);
        if (i < length && err == ERR_OK)
            err = scenario_step(&scenario, &error);
        reference.calls[i] = fault.calls;
    }
    CHECK_AT(error.detail, err == ERR_OK);
    db_close(db);
    if (err == ERR_OK)
        scenario_close(&scenario);
    return err == ERR_OK;
}

// torture_step fails the calls of one step from *next on, until one try succeeds, and says whether
// there was one. *next is where the next pass goes on.
static bool torture_step(Scenario *scenario, Db *db, int code, int *next)
{
    size_t step = scenario->step;
    for (; *next <= CALLS_MAX; ++*next) {
        Error error = { 0 };
        arm(*next, code);
        Err err = scenario_step(scenario, &error);
        found.failed += fault.has_fired;
        if (err == ERR_OK) {
            found.replayed += fault.has_fired;
            *next += fault.has_fired;
            return check(db, scenario, step + 1, "it said it was done");
        }
        found.refused++;
        if (!fault.has_fired) {
            printf("# step %zu (%s) fails by itself: %s\n", step, scenario_name(scenario),
                   error.detail);
            test_failures++;
            return false;
        }
        if (!check(db, scenario, step, "it said it had failed"))
            return false;
    }
    return false;
}

// torture_pass runs the scenario once; false when no call of any step was left to fail.
static bool torture_pass(int code, int next[STEPS_MAX])
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    Scenario scenario;
    Db *db = NULL;
    ScenarioOptions options = new_options(&arena);
    long failed_before = found.failed;
    arm(0, 0);
    Err err = clear(&options, &error);
    if (err == ERR_OK)
        err = scenario_open(&scenario, &options, &error);
    if (err == ERR_OK)
        err = db_open(&(DbOptions){ .url = options.url, .is_reader = true }, &db, &error);
    CHECK_AT(error.detail, err == ERR_OK);
    bool goes_on = err == ERR_OK;
    for (size_t i = 0; goes_on && i < scenario_length(&options); i++)
        goes_on = torture_step(&scenario, db, code, &next[i]);
    db_close(db);
    if (err == ERR_OK)
        scenario_close(&scenario);
    found.passes++;
    return goes_on && found.failed > failed_before;
}

static void torture(int code, const char *name)
{
    int next[STEPS_MAX];
    for (size_t i = 0; i < STEPS_MAX; i++)
        next[i] = 1;
    found = (typeof(found)){ 0 };
    if (!take_reference())
        return;
    long calls = 0;
    for (size_t i = 0; i < STEPS_MAX; i++)
        calls += reference.calls[i];
    while (found.passes < PASSES_MAX && torture_pass(code, next) && test_failures == 0)
        ;
    printf("# %s: %ld calls failed once (%ld in a run without faults), %ld refused, %ld replayed, "
           "%ld passes\n",
           name, found.failed, calls, found.refused, found.replayed, found.passes);
    CHECK(found.failed >= calls);
    CHECK(found.passes < PASSES_MAX);
}

static void every_call_fails_once(void)
{
    static const struct {
        int code;
        const char *name;
    } codes[] = {
        { SQLITE_FULL, "SQLITE_FULL" },
        { SQLITE_NOMEM, "SQLITE_NOMEM" },
        { SQLITE_BUSY, "SQLITE_BUSY" },
        { SQLITE_CORRUPT, "SQLITE_CORRUPT" },
    };
    if (postgres_url) {
        torture(1, "PostgreSQL");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(codes) && test_failures == 0; i++)
        torture(codes[i].code, codes[i].name);
}

// An opening that fails must leave nothing behind that keeps the next one from succeeding.
static void opening_fails_at_every_call(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ScenarioOptions options = new_options(&arena);
    Error error = { 0 };
    int refused = 0;
    arm(0, 0);
    CHECK(clear(&options, &error) == ERR_OK);
    for (int n = 1; n < CALLS_MAX; n++) {
        Scenario scenario;
        arm(n, SQLITE_FULL);
        Err err = scenario_open(&scenario, &options, &error);
        if (err == ERR_OK)
            scenario_close(&scenario);
        refused += err != ERR_OK;
        CHECK(err == ERR_OK || fault.has_fired);
        if (!fault.has_fired)
            break;
    }
    CHECK(refused > 3);
}

// run_to_its_end is a child that meets an I/O error: it must end there.
static _Noreturn void run_to_its_end(const ScenarioOptions *options, size_t step, int call)
{
    Scenario scenario;
    Error error = { 0 };
    arm(0, 0);
    if (scenario_open(&scenario, options, &error) != ERR_OK)
        _exit(2);
    for (size_t i = 0; i <= step; i++) {
        arm(i == step ? call : 0, SQLITE_IOERR_FSYNC);
        Err err = scenario_step(&scenario, &error);
        if (err != ERR_OK)
            _exit(3);
    }
    _exit(0);
}

// meet checks what a child that died of an I/O error left, and that it can be opened again.
static void meet_io_error(size_t step, int call)
{
    DEFER(arena_done) Arena arena = { 0 };
    ScenarioOptions options = new_options(&arena);
    Error error = { 0 };
    Scenario scenario;
    Db *db = NULL;
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        run_to_its_end(&options, step, call);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    arm(0, 0);
    Err err = scenario_open(&scenario, &options, &error);
    if (err == ERR_OK)
        err = db_open(&(DbOptions){ .url = options.url, .is_reader = true }, &db, &error);
    CHECK_AT(error.detail, err == ERR_OK);
    scenario.step = step;
    // Calls behind the commit are made for the next operation: then the step was done.
    uint64_t digest = 0;
    bool is_done = err == ERR_OK && inspect_digest(db, &digest, &error) == ERR_OK &&
                   digest == reference.digests[step + 1];
    if (err == ERR_OK)
        check(db, &scenario, is_done ? step + 1 : step, "after an I/O error");
    db_close(db);
    if (err == ERR_OK)
        scenario_close(&scenario);
}

static void an_io_error_ends_the_program_and_leaves_a_whole_store(void)
{
    long met = 0;
    if (postgres_url || !take_reference())
        return;
    // Each call of the first cycle; the second repeats it.
    size_t length = scenario_length(&(ScenarioOptions){ .cycles = 1 });
    for (size_t step = 0; step < length && test_failures == 0; step++)
        for (int call = 1; call <= reference.calls[step] && test_failures == 0; call++, met++)
            meet_io_error(step, call);
    printf("# %ld I/O errors met\n", met);
    CHECK(met > 100);
}

static const Test tests[] = {
    TEST(every_call_fails_once),
    TEST(opening_fails_at_every_call),
    TEST(an_io_error_ends_the_program_and_leaves_a_whole_store),
};

static void clean_up(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((constructor)) static void prepare(void)
{
    snprintf(folder, sizeof folder, "%s/peal-torture-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(clean_up);
    postgres_url = getenv("PEAL_TEST_STORE");
    log_level(LOG_OFF);
}

TEST_MAIN(tests)
