// The command line without a server: words, options, help, and the offline helpers.

#include "base/json.h"
#include "cli/command.h"
#include "cli/input.h"
#include "run.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>

static Run ran;

static int probe(CommandArgs *args)
{
    const char *listen = args_option(args, "listen"), *file = args_option(args, "file");
    printf("listen=%s file=%s manual=%d nothing=%d words=%zu", listen ? listen : "?",
           file ? file : "?", args_flag(args, "manual"), args_flag(args, "nothing"),
           args_count(args));
    for (size_t i = 0; args_word(args, i); i++)
        printf(" %s", args_word(args, i));
    printf("\n");
    return 7;
}

static const CommandOption probe_options[] = {
    { "listen", "ADDR", "where to listen" },
    { "file", "FILE", "what to read" },
    { "manual", NULL, "a switch" },
    { 0 },
};

static const Command extra[] = {
    { .name = "probe",
      .usage = "probe [--listen ADDR] [WORD...]",
      .summary = "Print what was parsed",
      .options = probe_options,
      .run = probe },
};

static void words_and_options_are_parsed(void)
{
    static const struct {
        const char *line, *out;
    } cases[] = {
        { "peal probe", "listen=? file=? manual=0 nothing=0 words=0\n" },
        { "peal probe a b", "listen=? file=? manual=0 nothing=0 words=2 a b\n" },
        { "peal probe --listen x", "listen=x file=? manual=0 nothing=0 words=0\n" },
        { "peal probe --listen=x=y a", "listen=x=y file=? manual=0 nothing=0 words=1 a\n" },
        { "peal probe --listen=", "listen= file=? manual=0 nothing=0 words=0\n" },
        { "peal probe --listen --manual", "listen=--manual file=? manual=0 nothing=0 words=0\n" },
        { "peal probe a --manual b", "listen=? file=? manual=1 nothing=0 words=2 a b\n" },
        { "peal probe -f x", "listen=? file=x manual=0 nothing=0 words=0\n" },
        { "peal probe -fx -", "listen=? file=x manual=0 nothing=0 words=1 -\n" },
        { "peal probe -1 -2x", "listen=? file=? manual=0 nothing=0 words=2 -1 -2x\n" },
        { "peal probe -- --listen -f", "listen=? file=? manual=0 nothing=0 words=2 --listen -f\n" },
        { "peal probe --listen x --listen y", "listen=y file=? manual=0 nothing=0 words=0\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        run_with(&ran, cases[i].line, extra, 1);
        CHECK_AT(cases[i].line, ran.exit == 7);
        CHECK_AT(cases[i].line, strcmp(ran.out, cases[i].out) == 0);
    }
}

static void misuse_is_explained(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        { "peal prob", "did you mean \"probe\"?" },
        { "peal evnets", "did you mean \"events\"?" },
        { "peal deliv", "did you mean \"deliveries\"?" },
        { "peal qqqq", "\"qqqq\" is not a command\nTry: peal help" },
        { "peal --json", "is not a command" },
        { "peal help nothing", "is not a command" },
        { "peal probe --lisen x", "did you mean --listen?" },
        { "peal probe --zzz", "peal probe has no option --zzz\n" },
        { "peal probe --listen", "--listen needs a value: ADDR" },
        { "peal diff -f a --file=b", "--file stands twice; give it once" },
        { "peal probe --manual=1", "--manual takes no value" },
        { "peal probe -x", "\"-x\" is not an option" },
        { "peal events -f x", "has no option --file" },
        { "peal triggers crate", "did you mean \"create\"?" },
        { "peal triggers create", "-f FILE" },
        { "peal triggers update", "needs an ID" },
        { "peal triggers show a b", "\"b\" is one word too many" },
        { "peal triggers list --file x", "peal triggers list does not use --file" },
        { "peal deliveries retry", "needs an ID or a filter" },
        { "peal deliveries retry a --state parked", "either IDs or a filter" },
        { "peal deliveries retry a --dry-run", "--dry-run goes with a filter" },
        { "peal deliveries complete", "needs an ID" },
        { "peal deliveries complete --state parked", "does not use --state" },
        { "peal keys create", "--role" },
        { "peal tenants create", "needs an ID" },
        { "peal hold", "--reason TEXT" },
        { "peal tick now", "\"now\" is one word too many" },
        { "peal clock set", "needs a time" },
        { "peal emit", "needs the KIND" },
        { "peal emit a --data {", "--data is not JSON" },
        { "peal emit a --data @/nowhere/x.json", "/nowhere/x.json could not be read" },
        { "peal filter", "needs FILTER.json and EVENT.json" },
        { "peal filter test - -", "Only one of the two" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        run_with(&ran, cases[i].line, extra, 1);
        CHECK_AT(cases[i].line, ran.exit == EXIT_INVALID);
        CHECK_AT(cases[i].line, strncmp(ran.err, "Error: ", 7) == 0);
        CHECK_AT(cases[i].line, strstr(ran.err, cases[i].says) != NULL);
        CHECK_AT(cases[i].line, ran.out[0] == '\0');
    }
}

static void help_lists_every_command(void)
{
    static const char *const lines[] = { "peal", "peal help", "peal --help", "peal -h" };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        run_with(&ran, lines[i], extra, 1);
        CHECK_AT(lines[i], ran.exit == EXIT_DONE);
        CHECK_AT(lines[i], strstr(ran.out, "  probe       Print what was parsed\n") != NULL);
        CHECK_AT(lines[i], strstr(ran.out, "  emit ") != NULL);
        CHECK_AT(lines[i], strstr(ran.out, "  dedup ") != NULL);
        CHECK_AT(lines[i], !strchr(ran.out, '\033'));
    }
    run(&ran, "peal");
    CHECK(!strstr(ran.out, "Run Peal")); // a group without rows has no heading
}

static void help_of_a_command_shows_its_options(void)
{
    static const char *const names[] = { "emit",     "events",   "why",  "deliveries", "captured",
                                         "triggers", "channels", "keys", "tenants",    "hold",
                                         "release",  "clock",    "tick", "health" };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        Str line = str_format(&arena, "peal %s --nonsense --help", names[i]);
        run(&ran, line.at);
        CHECK_AT(names[i], ran.exit == EXIT_DONE);
        CHECK_AT(names[i], strncmp(ran.out, "Usage: peal ", 12) == 0);
        CHECK_AT(names[i], strstr(ran.out, "--json ") && strstr(ran.out, "--url URL"));
        CHECK_AT(names[i], strstr(ran.out, "--key KEY") != NULL);
        static Run again;
        line = str_format(&arena, "peal help %s", names[i]);
        run(&again, line.at);
        CHECK_AT(names[i], strcmp(again.out, ran.out) == 0);
    }
    run_with(&ran, "peal probe -h", extra, 1);
    CHECK(strstr(ran.out, "  --listen ADDR    where to listen\n") != NULL);
    CHECK(strstr(ran.out, "  -f, --file FILE  what to read\n") != NULL);
}

static void the_nearest_name_is_near(void)
{
    static const char *const names[] = { "list", "show", "create", "retry", "deliveries" };
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        { "lsit", "list" },
        { "craete", "create" },
        { "shw", "show" },
        { "rety", "retry" },
        { "deliverys", "deliveries" },
        { "del", "deliveries" },
        { "x", NULL },
        { "zzzzzz", NULL },
        { "", NULL },
        { "a-word-that-is-longer-than-thirty-two-letters", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *near = command_nearest(cases[i].word, names, ARRAY_LEN(names));
        bool right = cases[i].nearest ? near && strcmp(near, cases[i].nearest) == 0 : !near;
        CHECK_AT(cases[i].word, right);
    }
}

static void the_version_is_printed(void)
{
    run(&ran, "peal version");
    CHECK(ran.exit == EXIT_DONE && strncmp(ran.out, "peal ", 5) == 0);
    run(&ran, "peal version --json");
    CHECK(ran.exit == EXIT_DONE && strncmp(ran.out, "{\"version\":\"", 12) == 0);
}

static char folder[] = "/tmp/peal-cli-XXXXXX";

static void remove_folder(void)
{
    static const char *const names[] = { "event.json", "filter.json", "trigger.json",
                                         "recipe.json" };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlink(str_format(&arena, "%s/%s", folder, names[i]).at);
    rmdir(folder);
}

// put writes a file into a folder of the test's own and returns its path.
static const char *put(Arena *arena, const char *name, Str text)
{
    static bool made;
    if (!made) {
        made = mkdtemp(folder) != NULL;
        atexit(remove_folder);
    }
    const char *path = str_format(arena, "%s/%s", folder, name).at;
    FILE *file = fopen(path, "w");
    assert(made && file);
    fwrite(text.at, 1, text.len, file);
    fclose(file);
    return path;
}

static const Json *cases_of(Arena *arena, const char *name)
{
    Input input = { 0 };
    Str path = str_format(arena, "%s/%s", CASES_DIR, name);
    CHECK_AT(path.at, input_json_file(arena, path.at, &input) == EXIT_DONE);
    return input.json;
}

static void filters_are_tried_on_events(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *all = cases_of(&arena, "filter.json");
    const char *event = put(&arena, "event.json", json_text(&arena, json_get(all, S("event"))));
    for (JsonIter it = json_each(json_get(all, S("cases"))); json_next(&it);) {
        Str text = json_text(&arena, json_get(it.value, S("filter")));
        bool expect = json_bool(json_get(it.value, S("expect")));
        const char *filter = put(&arena, "filter.json", text);
        run(&ran, str_format(&arena, "peal filter test %s %s", filter, event).at);
        CHECK_AT(str_z(&arena, text), ran.exit == (expect ? EXIT_DONE : EXIT_FAILED));
        if (expect)
            CHECK_AT(str_z(&arena, text), strcmp(ran.out, "true\n") == 0);
        else
            CHECK_AT(str_z(&arena, text), strncmp(ran.out, "false\n", 6) == 0 && ran.out[6]);
    }
    for (JsonIter it = json_each(json_get(all, S("refused"))); json_next(&it);) {
        Str text = json_text(&arena, it.value);
        const char *filter = put(&arena, "filter.json", text);
        run(&ran, str_format(&arena, "peal filter test %s %s", filter, event).at);
        CHECK_AT(str_z(&arena, text), ran.exit == EXIT_INVALID && ran.out[0] == '\0');
        CHECK_AT(str_z(&arena, text), strstr(ran.err, "\n  /") != NULL);
    }
}

static void a_false_filter_says_why(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const char *event = put(&arena, "event.json", S("{\"payload\":{\"jobType\":\"PM\"}}"));
    const char *trigger =
        put(&arena, "trigger.json",
            S("{\"id\":\"t\",\"filter\":{\"all\":[{\"path\":\"candidate.jobType\","
              "\"op\":\"==\",\"value\":\"GR\"}]}}"));
    run(&ran, str_format(&arena, "peal filter test %s %s", trigger, event).at);
    CHECK(ran.exit == EXIT_FAILED);
    CHECK(strstr(ran.out, "candidate.jobType == \"GR\" at /filter/all/0 saw \"PM\"") != NULL);
    CHECK(strstr(ran.out, "would match if candidate.jobType were \"GR\"") != NULL);
    run(&ran, str_format(&arena, "peal filter test %s %s --json", trigger, event).at);
    CHECK(strstr(ran.out, "{\"matches\":false,\"path\":\"/filter/all/0\"") == ran.out);

    put(&arena, "event.json", S("{\"payload\":{}}"));
    run(&ran, str_format(&arena, "peal filter test %s %s", trigger, event).at);
    CHECK(strstr(ran.out, "saw nothing there") != NULL);
    put(&arena, "event.json", S("{\"paylod\":{}}"));
    run(&ran, str_format(&arena, "peal filter test %s %s", trigger, event).at);
    CHECK(strstr(ran.err, "\"paylod\" is not a member of an event") != NULL);
    put(&arena, "event.json", S("{\"payload\":[],\"recipient\":1,\"occurredAt\":\"soon\"}"));
    run(&ran, str_format(&arena, "peal filter test %s %s", trigger, event).at);
    CHECK(ran.exit == EXIT_INVALID && strstr(ran.err, "3 problems\n  /payload: ") != NULL);
    put(&arena, "event.json", S("[]"));
    run(&ran, str_format(&arena, "peal filter test %s %s", trigger, event).at);
    CHECK(ran.exit == EXIT_INVALID && strstr(ran.err, "an event is an object") != NULL);
}

static void dedup_keys_are_printed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *all = cases_of(&arena, "dedup.json");
    const char *event = put(&arena, "event.json", json_text(&arena, json_get(all, S("event"))));
    for (JsonIter it = json_each(json_get(all, S("cases"))); json_next(&it);) {
        Str text = json_text(&arena, json_get(it.value, S("recipe")));
        Str expect = json_str(json_get(it.value, S("expect")));
        const char *recipe = put(&arena, "recipe.json", text);
        run(&ran, str_format(&arena, "peal dedup hash %s %s", recipe, event).at);
        CHECK_AT(str_z(&arena, text), ran.exit == EXIT_DONE);
        CHECK_AT(str_z(&arena, text),
                 strcmp(ran.out, str_format(&arena, "%.*s\n", STR_ARG(expect)).at) == 0);

        Str trigger = str_format(&arena, "{\"dedupRecipe\":%.*s}", STR_ARG(text));
        run(&ran, str_format(&arena, "peal dedup hash %s %s --json",
                             put(&arena, "trigger.json", trigger), event)
                      .at);
        CHECK_AT(str_z(&arena, text), strstr(ran.out, str_z(&arena, expect)) != NULL);
    }
}

static void bad_recipes_are_refused(void)
{
    static const char *const recipes[] = { "[]", "{}", "[1]", "[\"\"]", "\"a\"", "null", "[" };
    DEFER(arena_done) Arena arena = { 0 };
    const char *event = put(&arena, "event.json", S("{\"payload\":{}}"));
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
        const char *recipe = put(&arena, "recipe.json", str_from(recipes[i]));
        run(&ran, str_format(&arena, "peal dedup hash %s %s", recipe, event).at);
        CHECK_AT(recipes[i], ran.exit == EXIT_INVALID && ran.out[0] == '\0');
    }
}

// print_idle prints the options that no verb of their command looks at.
static int print_idle(CommandArgs *args)
{
    const Command *command;
    for (size_t i = 0; (command = args_listed(args, i)) != NULL; i++)
        for (const CommandOption *option = command->options;
             command->verbs && option && option->name; option++) {
            bool is_taken = false;
            for (const CommandVerb *verb = command->verbs; verb->name; verb++)
                is_taken |= verb_takes(verb, option->name);
            if (!is_taken)
                printf("peal %s --%s\n", command->name, option->name);
        }
    return EXIT_DONE;
}

static void every_option_is_some_verbs(void)
{
    static const Command idle = { .name = "idle", .summary = "", .run = print_idle };
    run_with(&ran, "peal idle", &idle, 1);
    CHECK_AT(ran.out, ran.exit == EXIT_DONE && ran.out[0] == '\0');
}

static const Test tests[] = {
    TEST(words_and_options_are_parsed), TEST(misuse_is_explained),
    TEST(help_lists_every_command),     TEST(help_of_a_command_shows_its_options),
    TEST(the_nearest_name_is_near),     TEST(the_version_is_printed),
    TEST(filters_are_tried_on_events),  TEST(a_false_filter_says_why),
    TEST(dedup_keys_are_printed),       TEST(bad_recipes_are_refused),
    TEST(every_option_is_some_verbs),
};

TEST_MAIN(tests)
