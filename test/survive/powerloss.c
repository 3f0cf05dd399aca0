#include "test.h"

#include "base/log.h"
#include "inspect.h"
#include "powerloss_vfs.h"
#include "scenario.h"
#include "store/migrate.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The power is cut before every single call that changes a file while the scenario runs, in a fork
// of the process: the child sees the I/O errors that follow, as the program would, and when it has
// given up it looks at what is left on the disk, with SQLite's own VFS. Its database must be the
// one that the last acknowledged step left, or the step that was under way, whole.

enum {
    CYCLES = 9,
    CHILDREN_MAX = 3,
    STEPS_MAX = 320,
    EXIT_GOOD = 40, // of a child: everything acknowledged is there
    EXIT_LOST = 41, // a whole state, but an older one than was acknowledged
    EXIT_BAD = 42,  // anything else
};

static char folder[64];

static struct {
    uint64_t digests[STEPS_MAX]; // after so many steps
    size_t steps;
} reference;

static struct {
    bool is_weak;
    bool is_child;               // the power was cut in this process, or a sync has failed
    bool wants_exit;             // it must end by itself, with an error
    bool wants_drop, wants_keep; // look at these disks too
    long call;                   // at which it happened
    size_t acknowledged;         // steps
    const char *step;            // under way
    int first_seed, seeds;
    long every;        // so many calls is one a crash
    long again_every;  // so many crashes is one followed by crashes of the recovery
    int errno_of_sync; // for failing syncs
} run;

static struct {
    long crashes, lost, bad, calls, checkpoint_writes;
} found;

static int children;

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *place)
{
    (void) info;
    (void) flag;
    (void) place;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static ScenarioOptions options_at(Arena *arena, const char *path, const char *suffix)
{
    return (ScenarioOptions){ .url = str_format(arena, "sqlite:%s/peal.db%s", path, suffix),
                              .cycles = CYCLES,
                              .is_weak = run.is_weak };
}

static const Statement integrity_check = {
    .name = "survive_integrity_check",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "PRAGMA integrity_check",
};

// complain prints what is wrong and gives the exit code for it.
static int complain(const char *fate, int seed, const char *what)
{
    printf("# cut at call %ld (%s, %zu acknowledged), %s, seed %d: %s\n", run.call, run.step,
           run.acknowledged, fate, seed, what);
    fflush(stdout);
    return EXIT_BAD;
}

static bool is_known(uint64_t digest)
{
    for (size_t i = 0; i <= reference.steps; i++)
        if (reference.digests[i] == digest)
            return true;
    return false;
}

// look reads the whole database. The states of the reference were found to keep the rules.
static Err look(Db *db, Arena *arena, const char **ret_broken, uint64_t *ret, Error *error)
{
    int applied;
    Rows rows;
    TRY(migrate_run(db, &applied, error));
    TRY(db_query(db, arena, &integrity_check, NULL, &rows, error));
    *ret_broken = NULL;
    if (rows.count != 1 || !str_eq(value_to_str(&rows.values[0]), S("ok"))) {
        *ret_broken = "the integrity check found damage";
        return ERR_OK;
    }
    TRY(inspect_digest(db, ret, error));
    return is_known(*ret) ? ERR_OK : inspect_broken(db, arena, ret_broken, error);
}

// judge compares what was found with what had been acknowledged.
static int judge(uint64_t digest, const char *fate, int seed)
{
    size_t last = run.acknowledged + 1 < reference.steps ? run.acknowledged + 1 : reference.steps;
    for (size_t i = run.acknowledged; i <= last; i++)
        if (reference.digests[i] == digest)
            return EXIT_GOOD;
    for (size_t i = 0; i < run.acknowledged; i++)
        if (reference.digests[i] == digest)
            return EXIT_LOST;
    return complain(fate, seed, "a state that no step leaves");
}

// recover opens what is left with the system's VFS and says how it looks.
static int recover(PowerlossFate fate, int seed)
{
    static const char *const names[] = { "dropped", "kept", "chance" };
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    Db *db;
    uint64_t digest = 0;
    const char *broken = NULL;
    Str path = str_format(&arena, "%s/%d-%s-%d", folder, (int) getpid(), names[fate], seed);
    mkdir(path.at, 0700);
    powerloss_save(path.at, fate, (uint64_t) seed * 1000003 + (uint64_t) run.call);
    Str url = str_format(&arena, "sqlite:%s/peal.db", path.at);
    int code = EXIT_BAD;
    if (db_open(&(DbOptions){ .url = url }, &db, &error) != ERR_OK ||
        look(db, &arena, &broken, &digest, &error) != ERR_OK)
        complain(names[fate], seed, error.detail);
    else if (broken)
        complain(names[fate], seed, broken);
    else
        code = judge(digest, names[fate], seed);
    // Left open: a checkpoint now would take time and show nothing. The process ends soon.
    remove_folder(path.at);
    return code;
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int recover_in_every_way(void)
{
    int worst = EXIT_GOOD;
    if (run.wants_drop)
        worst = recover(POWERLOSS_DROP, 0);
    if (run.wants_keep)
        worst = worse(worst, recover(POWERLOSS_KEEP, 0));
    for (int seed = run.first_seed; seed < run.first_seed + run.seeds; seed++)
        worst = worse(worst, recover(POWERLOSS_CHANCE, seed));
    return worst;
}

static void reap(int limit)
{
    while (children > limit) {
        int status;
        pid_t pid = wait(&status);
        assert(pid > 0);
        children--;
        found.crashes++;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
        if (!WIFEXITED(status))
            printf("# a child died of signal %d\n", WTERMSIG(status));
        found.lost += code == EXIT_LOST;
        found.bad += code != EXIT_GOOD && code != EXIT_LOST;
    }
}

// is_child_of_fork forks once there is room; the child gets true.
static bool is_child_of_fork(long call)
{
    reap(CHILDREN_MAX - 1);
    fflush(stdout);
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid > 0) {
        children++;
        return false;
    }
    children = 0;
    run.is_child = true;
    run.call = call;
    powerloss_watch(NULL);
    return true;
}

static bool is_in_a_step(void)
{
    return strcmp(run.step, "open") != 0 && strcmp(run.step, "close") != 0;
}

// note_call tells what the call belongs to: a step that writes the database itself checkpoints.
static void note_call(long call, PowerlossCall kind, const char *file)
{
    found.calls = call;
    found.checkpoint_writes +=
        kind == POWERLOSS_WRITE && is_in_a_step() && str_ends(str_from(file), S(".db"));
}

static void cut_here(long call, PowerlossCall kind, const char *file)
{
    static PowerlossCall before;
    // What is synced stays the same from one sync to the next, and what a killed process leaves
    // teaches little, so these are looked at less often.
    run.wants_drop = run.every > 1 || before != POWERLOSS_WRITE;
    run.wants_keep = run.every > 1 || call % 10 == 0;
    before = kind;
    note_call(call, kind, file);
    if (call % run.every == 0 && is_child_of_fork(call))
        powerloss_cut();
}

static void fail_sync_here(long call, PowerlossCall kind, const char *file)
{
    static PowerlossCall before;
    // A commit ends with the sync of what it wrote to the log. What a checkpoint could not sync it
    // writes again next time, for the log still has it.
    bool is_commit =
        before == POWERLOSS_WRITE && is_in_a_step() && str_ends(str_from(file), S("-wal"));
    before = kind;
    note_call(call, kind, file);
    if (kind == POWERLOSS_SYNC && is_child_of_fork(call)) {
        run.wants_exit = is_commit;
        run.wants_drop = true;
        powerloss_fail_sync("", run.errno_of_sync);
    }
}

static int crash_the_recovery(void);

// end_child is the end of every child: the program has given up, or come to the end of the script.
static _Noreturn void end_child(int code)
{
    run.is_child = false;
    powerloss_cut();
    int worst = recover_in_every_way();
    if (run.wants_exit && code != 1)
        worst = complain("", 0, "a sync failed and the program went on");
    if (worst == EXIT_GOOD && run.again_every && run.call % run.again_every == 0)
        worst = crash_the_recovery();
    fflush(stdout);
    _exit(worst);
}

// The writer ends the program with _exit() where the disk broke its promise. Linked with
// --wrap=_exit, so that the disk in this process's memory can still be looked at.
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

_Noreturn void __wrap__exit(int code)
{
    if (run.is_child)
        end_child(code);
    __real__exit(code);
}

// Parent and children run on one database, each on a disk of its own: the lock that keeps a second
// Peal out (--wrap=flock) is in the way.
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation)
{
    (void) fd;
    (void) operation;
    return 0;
}

// digest_work notes a state of the reference, which must keep the rules.
static Err digest_work(Tx *tx, void *with, Error *error)
{
    const char *broken;
    TRY(tx_sync(tx, error));
    TRY(inspect_broken(tx->db, &tx->arena, &broken, error));
    if (broken)
        return fail(error, ERR_CORRUPT, "%s", broken);
    return inspect_digest(tx->db, with, error);
}

// run_scenario runs it to its end. A step that fails without ending the program is tried once more.
static Err run_scenario(const char *path, bool takes_digests, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Scenario scenario;
    ScenarioOptions options = options_at(&arena, path, "?vfs=powerloss");
    size_t length = scenario_length(&options);
    assert(length < STEPS_MAX);
    run.acknowledged = 0;
    run.step = "open";
    TRY(scenario_open(&scenario, &options, error));
    Err err = ERR_OK;
    for (size_t done = 0; done <= length && err == ERR_OK; done++) {
        if (takes_digests)
            err = writer_run(scenario.writer, digest_work, &reference.digests[done], error);
        if (err != ERR_OK || done == length)
            break;
        run.step = scenario_name(&scenario);
        err = scenario_step(&scenario, error);
        if (err != ERR_OK && run.is_child)
            err = scenario_step(&scenario, error);
        if (err == ERR_OK)
            run.acknowledged = done + 1;
    }
    if (takes_digests)
        reference.steps = length;
    run.step = "close";
    scenario_close(&scenario);
    return err;
}

// crash_run runs the scenario once and lets watch fork the children that crash.
static void crash_run(void (*watch)(long, PowerlossCall, const char *))
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    found = (typeof(found)){ 0 };
    run.is_child = false;
    powerloss_forget();
    powerloss_watch(watch);
    Err err = run_scenario(folder, false, &error);
    if (run.is_child)
        end_child(err == ERR_OK ? 0 : 1);
    powerloss_watch(NULL);
    reap(0);
    CHECK_AT(error.detail, err == ERR_OK);
}

static void take_reference(void)
{
    Error error = { 0 };
    powerloss_forget();
    Err err = run_scenario(folder, true, &error);
    CHECK_AT(error.detail, err == ERR_OK);
}

// crash_the_recovery starts the program on what is left, cuts the power again on the way, and looks
// once more. Nothing is written but the checkpoint, so the state must stay what it is.
static int crash_the_recovery(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    Scenario scenario;
    Str path = str_format(&arena, "%s/again-%d", folder, (int) getpid());
    mkdir(path.at, 0700);
    found = (typeof(found)){ 0 };
    run.again_every = 0;
    run.every = 13;
    run.seeds = 1;
    powerloss_restore(POWERLOSS_CHANCE, (uint64_t) run.call);
    powerloss_watch(cut_here);
    ScenarioOptions options = options_at(&arena, path.at, "?vfs=powerloss");
    run.step = "recovery";
    Err err = scenario_open(&scenario, &options, &error);
    if (err == ERR_OK)
        scenario_close(&scenario);
    if (run.is_child)
        end_child(err == ERR_OK ? 0 : 1);
    reap(0);
    remove_folder(path.at);
    if (err != ERR_OK)
        return complain("recovery", 0, error.detail);
    return found.bad ? EXIT_BAD : found.lost ? EXIT_LOST : EXIT_GOOD;
}

static void a_power_cut_at_any_call_loses_nothing_acknowledged(void)
{
    run = (typeof(run)){ .every = 1, .first_seed = 1, .seeds = 1 };
    take_reference();
    run = (typeof(run)){ .every = 1, .first_seed = 1, .seeds = 1 };
    crash_run(cut_here);
    printf("# %ld calls (%ld of a checkpoint), %ld crashes, %zu steps; lost %ld, bad %ld\n",
           found.calls, found.checkpoint_writes, found.crashes, reference.steps, found.lost,
           found.bad);
    CHECK(found.crashes == found.calls && found.calls >= 2000);
    CHECK(found.checkpoint_writes >= 40);
    CHECK(found.lost == 0 && found.bad == 0);
}

static void more_seeds_and_a_second_cut_during_recovery(void)
{
    run = (typeof(run)){ .every = 53, .first_seed = 2, .seeds = 6, .again_every = 53 };
    crash_run(cut_here);
    printf("# %ld crashes, 8 disks each, recovery crashed in each\n", found.crashes);
    CHECK(found.crashes > 20);
    CHECK(found.lost == 0 && found.bad == 0);
}

static void a_failed_sync_ends_the_program_and_loses_nothing(void)
{
    static const int errnos[] = { EIO, ENOSPC };
    for (size_t i = 0; i < ARRAY_LEN(errnos); i++) {
        run = (typeof(run)){ .first_seed = 1, .seeds = 1, .errno_of_sync = errnos[i] };
        crash_run(fail_sync_here);
        printf("# %ld failed syncs (%s); lost %ld, bad %ld\n", found.crashes, strerror(errnos[i]),
               found.lost, found.bad);
        CHECK(found.crashes > (long) reference.steps / 2);
        CHECK(found.lost == 0 && found.bad == 0);
    }
}

// Were this not so, the tests above would prove nothing.
static void with_weaker_syncing_acknowledged_work_is_lost(void)
{
    run = (typeof(run)){ .is_weak = true, .every = 29, .first_seed = 1, .seeds = 1 };
    crash_run(cut_here);
    printf("# %ld crashes with synchronous=NORMAL; %ld lost acknowledged steps\n", found.crashes,
           found.lost);
    CHECK(found.lost > found.crashes / 2);
    CHECK(found.bad == 0);
}

static const Test tests[] = {
    TEST(a_power_cut_at_any_call_loses_nothing_acknowledged),
    TEST(more_seeds_and_a_second_cut_during_recovery),
    TEST(a_failed_sync_ends_the_program_and_loses_nothing),
    TEST(with_weaker_syncing_acknowledged_work_is_lost),
};

static void clean_up(void)
{
    powerloss_forget();
    remove_folder(folder);
}

// make_folder prefers memory: the files of a damaged disk are many and short-lived.
__attribute__((constructor)) static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/peal-powerloss-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(clean_up);
    log_level(LOG_OFF);
    powerloss_register();
}

TEST_MAIN(tests)
