#include "sim.h"

#include "../survive/powerloss_vfs.h"
#include "base/log.h"

#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Runs seeds, in as many processes as asked: a seed that makes Peal crash is one that failed.
//
//   sim [--seeds N] [--from N] [--jobs N]     TAP; ends at the first failure of each job
//   sim --seed N [--trace] [--log]            one run, and the hash of its trace

enum { JOBS_MAX = 64 };

typedef struct Options {
    uint64_t from, count;
    int jobs;
    bool is_one, is_tracing, is_loud;
} Options;

// Progress is what a job leaves for its parent, which may outlive it.
typedef struct Progress {
    uint64_t seed; // under way
    uint64_t done;
    bool has_failed;
    uint64_t sends, deaths, commits;
    int reached[DELIVERY_STATE_COUNT];
} Progress;

static char folder[64];

static bool run_seed(uint64_t seed, bool is_tracing, uint64_t *ret_hash, Progress *progress)
{
    Sim *sim = memory_new(sizeof *sim);
    sim->seed = seed;
    sim->is_tracing = is_tracing;
    bool is_good = sim_run(sim);
    *ret_hash = sim->hash;
    if (progress) {
        progress->sends += sim->send_count;
        progress->deaths += (uint64_t) sim->deaths;
        progress->commits += (uint64_t) sim->commits;
        for (int i = 0; i < (int) DELIVERY_STATE_COUNT; i++)
            progress->reached[i] += sim->reached[i];
    }
    free(sim);
    return is_good;
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *place)
{
    (void) info;
    (void) flag;
    (void) place;
    return remove(path);
}

// make_folder is for lock files alone: the database is in memory.
static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/peal-sim-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    for (int i = 0; i < NODES_MAX; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/n%d", folder, i);
        if (mkdir(path, 0700) != 0)
            abort();
    }
    setenv("SIM_FOLDER", folder, 1);
}

static void set_up(const Options *options)
{
    log_level(options->is_loud ? LOG_DEBUG : LOG_OFF);
    make_folder();
    powerloss_register();
}

static void run_job(const Options *options, int job, Progress *progress)
{
    set_up(options);
    for (uint64_t i = (uint64_t) job; i < options->count && !progress->has_failed;
         i += (uint64_t) options->jobs) {
        uint64_t hash;
        progress->seed = options->from + i;
        progress->has_failed = !run_seed(progress->seed, false, &hash, progress);
        progress->done++;
    }
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool run_jobs(const Options *options, Progress *progress)
{
    bool is_good = true;
    pid_t jobs[JOBS_MAX];
    fflush(stdout);
    for (int i = 0; i < options->jobs; i++) {
        jobs[i] = fork();
        if (jobs[i] == 0) {
            run_job(options, i, &progress[i]);
            exit(0);
        }
    }
    for (int i = 0; i < options->jobs; i++) {
        int status;
        waitpid(jobs[i], &status, 0);
        if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
            printf("# seed %llu: the program died (%s)\n", (unsigned long long) progress[i].seed,
                   WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
        is_good &= WIFEXITED(status) && WEXITSTATUS(status) == 0 && !progress[i].has_failed;
    }
    return is_good;
}

// A run in which something never happens tests less than it seems to.
static bool saw_all(const Progress *progress, int jobs)
{
    Progress sum = { 0 };
    bool all = true;
    for (int i = 0; i < jobs; i++) {
        sum.done += progress[i].done;
        sum.sends += progress[i].sends;
        sum.deaths += progress[i].deaths;
        sum.commits += progress[i].commits;
        for (int s = 0; s < (int) DELIVERY_STATE_COUNT; s++)
            sum.reached[s] += progress[i].reached[s];
    }
    printf("# %llu seeds, %llu sends, %llu deaths, %llu batches;", (unsigned long long) sum.done,
           (unsigned long long) sum.sends, (unsigned long long) sum.deaths,
           (unsigned long long) sum.commits);
    for (DeliveryState s = DELIVERY_PARKED; s < DELIVERY_STATE_COUNT; s++) {
        printf(" %d %s", sum.reached[s], delivery_state_text(s));
        all &= sum.reached[s] > 0;
    }
    printf("\n");
    return all || sum.done < 20;
}

static bool is_same_twice(const Options *options)
{
    uint64_t first, second;
    set_up(options);
    bool is_good = true;
    for (uint64_t seed = options->from; seed < options->from + 3; seed++) {
        (void) run_seed(seed, false, &first, NULL);
        (void) run_seed(seed, false, &second, NULL);
        is_good &= first == second;
    }
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return is_good;
}

static int run_one(const Options *options)
{
    uint64_t hash;
    set_up(options);
    bool is_good = run_seed(options->from, options->is_tracing, &hash, NULL);
    printf("# seed %llu: %s, trace %016llx\n", (unsigned long long) options->from,
           is_good ? "good" : "broken", (unsigned long long) hash);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return !is_good;
}

static Options read_options(int argc, char **argv)
{
    Options options = { .from = 1, .count = 200, .jobs = (int) sysconf(_SC_NPROCESSORS_ONLN) };
    for (int i = 1; i < argc; i++) {
        int64_t n = 0;
        bool has_n = i + 1 < argc && str_to_i64(str_from(argv[i + 1]), 0, INT64_MAX, &n);
        if (strcmp(argv[i], "--trace") == 0)
            options.is_tracing = true;
        else if (strcmp(argv[i], "--log") == 0)
            options.is_loud = true;
        else if (strcmp(argv[i], "--seed") == 0 && has_n)
            options.is_one = true, options.from = (uint64_t) n, i++;
        else if (strcmp(argv[i], "--from") == 0 && has_n)
            options.from = (uint64_t) n, i++;
        else if (strcmp(argv[i], "--seeds") == 0 && has_n)
            options.count = (uint64_t) n, i++;
        else if (strcmp(argv[i], "--jobs") == 0 && has_n && n > 0)
            options.jobs = n < JOBS_MAX ? (int) n : JOBS_MAX, i++;
        else
            printf("Bail out! unknown option %s\n", argv[i]), exit(2);
    }
    return options;
}

static int report(int number, bool is_good, const char *what)
{
    printf("%s %d - %s\n", is_good ? "ok" : "not ok", number, what);
    return !is_good;
}

int main(int argc, char **argv)
{
    Options options = read_options(argc, argv);
    if (options.is_one)
        return run_one(&options);
    size_t size = JOBS_MAX * sizeof(Progress);
    Progress *progress =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        abort();
    printf("1..3\n");
    int bad = report(1, run_jobs(&options, progress), "every_invariant_holds_at_every_step");
    bad += report(2, saw_all(progress, options.jobs), "every_state_was_reached");
    bad += report(3, is_same_twice(&options), "a_seed_gives_the_same_run_again");
    munmap(progress, size);
    return bad != 0;
}
