#include "cli/scenarios.h"

#include "base/clock.h"
#include "cli/apply.h"
#include "cli/play.h"
#include "cli/results.h"

#include <errno.h>
#include <signal.h>

// A step of the clock answers when all that was due is done.
#define CALL_TIMEOUT (10 * SPAN_MINUTE)

// Run is all scenarios of a folder.
typedef struct Run {
    const CommandArgs *args;
    Arena *arena;
    StageServe *serve;
    Project project;
    Scenario *scenarios;
    size_t count;
    Results results;
    FILE *junit; // NULL: nobody wants it
    Clock clock;
} Run;

static bool is_wanted(const Run *run, Str name)
{
    const char *filter = args_option(run->args, "filter");
    return !filter || str_contains(name, str_from(filter));
}

// read_scenarios reads all of them before one is played: what is wrong is told at once.
static int read_scenarios(Run *run)
{
    const ProjectParts *parts = &run->project.scenarios;
    int status = EXIT_DONE;
    run->scenarios = ARENA_ARRAY(run->arena, Scenario, parts->count + 1);
    for (size_t i = 0; i < parts->count; i++) {
        Scenario scenario = { 0 };
        int read = scenario_read(run->arena, &parts->at[i], &scenario);
        status = read != EXIT_DONE ? read : status;
        if (read == EXIT_DONE && is_wanted(run, scenario.name))
            run->scenarios[run->count++] = scenario;
    }
    if (status != EXIT_DONE || run->count > 0)
        return status;
    return output_failure(&(Failure){
        .exit = EXIT_INVALID,
        .error = parts->count ? S("No scenario has such a name") : S("There are no scenarios"),
        .why = parts->count ? STR_NONE : S("no document in there says kind: scenario"),
        .hint = S("peal init DIR writes a project that has one") });
}

// tell_lost tells why a stage's Peal does not answer, unless somebody stopped it on purpose.
static int tell_lost(Arena *arena, Stage *stage, Failure failure)
{
    failure.exit = EXIT_FAILED;
    failure.hint = STR_NONE; // which is for those who run a server
    if (!stage_tell_end(arena, stage) && !stage_stopped())
        output_failure(&failure);
    return EXIT_FAILED;
}

// play_on applies the definitions, as peal apply does it, and plays.
static int play_on(const Run *run, Stage *stage, Arena *arena, const Scenario *scenario,
                   Played *ret)
{
    Failure failure = { 0 };
    Client client = { .args = run->args,
                      .arena = arena,
                      .url = stage->url,
                      .key = stage->setup.key,
                      .timeout = CALL_TIMEOUT,
                      .failure = &failure };
    int status = apply_all(&client, &run->project);
    if (status == EXIT_UNREACHABLE)
        return tell_lost(arena, stage, failure);
    if (status != EXIT_DONE) // what is wrong with the files themselves was told
        return failure.error.at ? output_failure(&failure) : status;
    status = play(&client, scenario, args_flag(run->args, "verbose"), ret);
    return status == EXIT_DONE ? EXIT_DONE : tell_lost(arena, stage, ret->failure);
}

// keep notes what became of a scenario, and tells it.
static void keep(Run *run, const Scenario *scenario, const Played *played, Span took)
{
    Result *result = &run->results.at[run->results.count++];
    *result = (Result){ scenario, played->is_passed, str_dup(run->arena, played->report), took };
    run->results.passed += played->is_passed;
    run->results.took += took;
    if (!args_flag(run->args, "json"))
        result_print(result);
}

// play_one gives a scenario a Peal of its own, and leaves nothing of it.
static int play_one(Run *run, const Scenario *scenario)
{
    DEFER(arena_done) Arena arena = { 0 };
    Instant begun = clock_monotonic(&run->clock);
    Stage stage;
    Played played = { 0 };
    int status = stage_open(&arena, run->serve, scenario->start, &stage);
    if (status == EXIT_DONE)
        status = play_on(run, &stage, &arena, scenario, &played);
    stage_close(&stage);
    if (status == EXIT_DONE)
        keep(run, scenario, &played, clock_monotonic(&run->clock) - begun);
    return status;
}

static int play_all(Run *run)
{
    int status = EXIT_DONE;
    run->results.at = ARENA_ARRAY(run->arena, Result, run->count);
    for (size_t i = 0; i < run->count && status == EXIT_DONE && !stage_stopped(); i++)
        status = play_one(run, &run->scenarios[i]);
    return status;
}

// open_junit is done before anything is played: that it cannot be written is known at once.
static int open_junit(Run *run)
{
    const char *path = args_option(run->args, "junit");
    run->junit = path ? fopen(path, "we") : NULL;
    if (!path || run->junit)
        return EXIT_DONE;
    return output_failure(&(Failure){ .exit = EXIT_FAILED,
                                      .error = str_format(run->arena, "%s cannot be written", path),
                                      .why = str_from(strerror(errno)) });
}

static int write_junit(Run *run)
{
    Str text = results_junit(run->arena, &run->results);
    if (!run->junit)
        return EXIT_DONE;
    bool is_whole = fwrite(text.at, 1, text.len, run->junit) == text.len;
    if (fclose(run->junit) == 0 && is_whole)
        return EXIT_DONE;
    return output_failure(
        &(Failure){ .exit = EXIT_FAILED, .error = S("The JUnit file could not be written") });
}

// tell_all ends a run in which each scenario was played.
static int tell_all(const Run *run)
{
    if (args_flag(run->args, "json"))
        output_json(results_json(run->arena, &run->results));
    else
        results_print(&run->results);
    return run->results.passed == run->results.count ? EXIT_DONE : EXIT_FAILED;
}

int scenarios_run(CommandArgs *args, StageServe *serve)
{
    Run run = { .args = args, .arena = args_arena(args), .serve = serve };
    int status = args_expect(args, "a DIR", 1, 1);
    clock_init_system(&run.clock);
    if (status == EXIT_DONE)
        status = project_read(run.arena, args_word(args, 0), &run.project);
    if (status == EXIT_DONE)
        status = read_scenarios(&run);
    if (status == EXIT_DONE)
        status = open_junit(&run);
    if (status != EXIT_DONE)
        return status;
    run.project.stands_in = true;
    stage_watch();
    status = play_all(&run);
    int wrote = write_junit(&run); // of those that were played, whatever stopped the others
    stage_unwatch();
    if (stage_stopped())
        raise(stage_stopped());
    if (status == EXIT_DONE)
        status = tell_all(&run);
    return status == EXIT_DONE ? wrote : status;
}

const CommandOption scenarios_options[] = {
    { "filter", "TEXT", "only scenarios whose name has this text" },
    { "verbose", NULL, "show what came also where all is well" },
    { "junit", "FILE", "write the results there, as JUnit's XML for CI" },
    { "json", NULL, "print the results as JSON" },
    { 0 },
};
