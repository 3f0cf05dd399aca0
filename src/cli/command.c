#include "cli/command.h"

#include "base/str.h"
#include "cli/commands.h"
#include "cli/output.h"

#include <stdarg.h>

typedef struct Group {
    const char *title;
    const Command **rows;
    size_t count;
} Group;

typedef struct Catalog {
    Group groups[3];
} Catalog;

struct CommandArgs {
    const Catalog *catalog;
    const Command *command;
    Arena *arena;
    const char *verb; // once run_verb() took it
    const char **words;
    size_t word_count;
    const char **values; // one for each row of the command's options; NULL: not given
};

static Catalog catalog_new(Arena *arena, const Command *extra, size_t extra_count);
static const Command *find(const Catalog *catalog, const char *name);
static int unknown_command(Arena *arena, const Catalog *catalog, const char *name);
static int help(Arena *arena, const Catalog *catalog, const char *name);
static void help_all(const Catalog *catalog);
static void help_command(const Command *command);
static bool asks_for_help(int argc, char **argv);
static int parse(Arena *arena, const Command *command, int argc, char **argv, CommandArgs *ret);
static int run_verb(CommandArgs *args);
static int finish(int status);

static const Command *const client_rows[] = {
    &command_emit,     &command_notify,      &command_defer,        &command_deferred,
    &command_events,   &command_why,         &command_deliveries,   &command_captured,
    &command_messages, &command_causes,      &command_dead,         &command_inbox,
    &command_outbox,   &command_poll_groups, &command_listen,       &command_hooks,
    &command_audit,    &command_kpi,         &command_curves,       &command_plan,
    &command_triggers, &command_templates,   &command_lists,        &command_channels,
    &command_jobs,     &command_automations, &command_integrations, &command_sources,
    &command_keys,     &command_tenants,     &command_surveys,      &command_campaigns,
    &command_apply,    &command_diff,        &command_export,       &command_hold,
    &command_release,  &command_clock,       &command_tick,         &command_health,
    &command_top,      &command_operations,  &command_nodes,        &command_sites,
    &command_settings,
};

static const Command *const offline_rows[] = {
    &command_init,     &command_schema, &command_filter,     &command_dedup,
    &command_template, &command_cron,   &command_completion, &command_version,
};

// The options that have a letter.
static const struct {
    char letter;
    const char *name;
} letters[] = { { 'f', "file" }, { 'o', "output" }, { 'v', "verbose" } };

static const char *option_by_letter(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (letters[i].letter == letter)
            return letters[i].name;
    return NULL;
}

// letter_of is an option's letter as help shows it; empty.
static Str letter_of(Arena *arena, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (strcmp(letters[i].name, name) == 0)
            return str_format(arena, "-%c, ", letters[i].letter);
    return S("");
}

int command_main(int argc, char **argv, const Command *extra, size_t extra_count)
{
    DEFER(arena_done) Arena arena = { 0 };
    Catalog catalog = catalog_new(&arena, extra, extra_count);
    const char *name = argc > 1 ? argv[1] : "help";

    if (strcmp(name, "help") == 0)
        return finish(help(&arena, &catalog, argc > 2 ? argv[2] : NULL));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return finish(help(&arena, &catalog, NULL));
    if (strcmp(name, "--version") == 0)
        name = "version";

    const Command *command = find(&catalog, name);
    if (!command)
        return unknown_command(&arena, &catalog, name);
    // Whatever else is wrong with the line, help comes first: it shows how to put it right.
    if (asks_for_help(argc - 2, argv + 2)) {
        help_command(command);
        return finish(EXIT_DONE);
    }
    CommandArgs args = { 0 };
    int status = parse(&arena, command, argc - 2, argv + 2, &args);
    if (status != EXIT_DONE)
        return status;
    args.catalog = &catalog;
    assert(!command->run != !command->verbs);
    return finish(command->verbs ? run_verb(&args) : command->run(&args));
}

// finish makes a full disk or a closed pipe behind standard output a failure of the command.
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    output_failure(&(Failure){ .error = S("The output could not be written") });
    return status == EXIT_DONE ? EXIT_FAILED : status;
}

static Group group_new(Arena *arena, const char *title, const Command *const *rows, size_t count)
{
    Group group = { title, ARENA_ARRAY(arena, const Command *, count + 1), count };
    for (size_t i = 0; i < count; i++)
        group.rows[i] = rows[i];
    return group;
}

static Catalog catalog_new(Arena *arena, const Command *extra, size_t extra_count)
{
    Group server = { "Run Peal", ARENA_ARRAY(arena, const Command *, extra_count + 1),
                     extra_count };
    for (size_t i = 0; i < extra_count; i++)
        server.rows[i] = &extra[i];
    return (Catalog){ {
        server,
        group_new(arena, "Talk to a running Peal", client_rows, ARRAY_LEN(client_rows)),
        group_new(arena, "Without a server", offline_rows, ARRAY_LEN(offline_rows)),
    } };
}

static const Command *find(const Catalog *catalog, const char *name)
{
    for (size_t g = 0; g < ARRAY_LEN(catalog->groups); g++)
        for (size_t i = 0; i < catalog->groups[g].count; i++)
            if (strcmp(catalog->groups[g].rows[i]->name, name) == 0)
                return catalog->groups[g].rows[i];
    return NULL;
}

static int unknown_command(Arena *arena, const Catalog *catalog, const char *name)
{
    size_t count = 0;
    for (size_t g = 0; g < ARRAY_LEN(catalog->groups); g++)
        count += catalog->groups[g].count;
    const char **names = ARENA_ARRAY(arena, const char *, count + 1);
    count = 0;
    for (size_t g = 0; g < ARRAY_LEN(catalog->groups); g++)
        for (size_t i = 0; i < catalog->groups[g].count; i++)
            names[count++] = catalog->groups[g].rows[i]->name;

    const char *near = command_nearest(name, names, count);
    return output_failure(&(Failure){
        .exit = EXIT_INVALID,
        .error =
            near ? str_format(arena, "\"%s\" is not a command; did you mean \"%s\"?", name, near)
                 : str_format(arena, "\"%s\" is not a command", name),
        .hint = near ? str_format(arena, "peal %s --help", near) : S("peal help"),
    });
}

static int help(Arena *arena, const Catalog *catalog, const char *name)
{
    if (!name) {
        help_all(catalog);
        return EXIT_DONE;
    }
    const Command *command = find(catalog, name);
    if (!command)
        return unknown_command(arena, catalog, name);
    help_command(command);
    return EXIT_DONE;
}

static void help_all(const Catalog *catalog)
{
    printf("Peal takes events in and makes sure that what follows from them arrives.\n\n"
           "Usage: peal COMMAND [WORDS] [--OPTIONS]\n");
    for (size_t g = 0; g < ARRAY_LEN(catalog->groups); g++) {
        const Group *group = &catalog->groups[g];
        if (group->count == 0)
            continue;
        printf("\n%s:\n", group->title);
        for (size_t i = 0; i < group->count; i++)
            printf("  %-11s %s\n", group->rows[i]->name, group->rows[i]->summary);
    }
    printf(
        "\nExamples:\n"
        "  peal emit order.paid --data '{\"total\":249}' --recipient ada@example.com\n"
        "  peal why EVENT                    which triggers matched, and why the others did not\n"
        "  peal deliveries --state parked    what waits for a person\n"
        "\n`peal COMMAND --help` shows its options and more examples.\n");
}

static void help_command(const Command *command)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str rest = str_from(command->usage);
    const char *label = "Usage:";
    while (rest.len > 0) {
        Str line = str_cut(&rest, '\n');
        printf("%-6s peal %.*s\n", label, STR_ARG(line));
        label = "";
    }
    printf("\n%s.\n", command->summary);
    if (command->details)
        printf("\n%s\n", command->details);

    Grid grid = grid_new(&arena, 2);
    for (const CommandOption *o = command->options; o && o->name; o++) {
        Str letter = letter_of(&arena, o->name);
        grid_add(&grid, o->value
                            ? str_format(&arena, "%.*s--%s %s", STR_ARG(letter), o->name, o->value)
                            : str_format(&arena, "%.*s--%s", STR_ARG(letter), o->name));
        grid_add(&grid, str_from(o->help));
    }
    grid_add(&grid, S("-h, --help"));
    grid_add(&grid, S("this text"));
    printf("\nOptions:\n");
    grid_print(&grid, (GridStyle){ .indent = "  " });
}

const char *command_nearest(const char *word, const char *const *names, size_t count)
{
    Str given = str_from(word);
    const char *nearest = NULL;
    // A third of the letters may be wrong: more would name something unrelated.
    size_t best = given.len / 3 + 2;

    for (size_t i = 0; i < count; i++) {
        Str name = str_from(names[i]);
        bool begins = given.len >= 3 && str_starts(name, given);
        size_t edits = begins ? 1 : str_distance(given, name);
        if (edits < best && edits < name.len) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}

static size_t option_count(const Command *command)
{
    size_t count = 0;
    while (command->options && command->options[count].name)
        count++;
    return count;
}

// option_index is the row of the option called name, or the number of rows.
static size_t option_index(const Command *command, Str name)
{
    size_t count = option_count(command);
    for (size_t i = 0; i < count; i++)
        if (str_eq(str_from(command->options[i].name), name))
            return i;
    return count;
}

static int unknown_option(const CommandArgs *args, Str name)
{
    size_t count = option_count(args->command);
    const char **names = ARENA_ARRAY(args->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = args->command->options[i].name;
    const char *near = command_nearest(str_z(args->arena, name), names, count);
    if (near)
        return args_usage(args, "peal %s has no option --%.*s; did you mean --%s?",
                          args->command->name, STR_ARG(name), near);
    return args_usage(args, "peal %s has no option --%.*s", args->command->name, STR_ARG(name));
}

// take_option reads one option. inline_value is what stood behind "=" or a letter, or NULL; then
// the value is the next argument, and *at moves there.
static int take_option(CommandArgs *args, Str name, const char *inline_value, int argc, char **argv,
                       int *at)
{
    size_t row = option_index(args->command, name);
    if (row == option_count(args->command))
        return unknown_option(args, name);
    const CommandOption *option = &args->command->options[row];
    if (!option->value && inline_value)
        return args_usage(args, "--%s takes no value", option->name);
    if (!option->value) {
        args->values[row] = "";
        return EXIT_DONE;
    }
    if (!inline_value) {
        if (*at + 1 >= argc)
            return args_usage(args, "--%s needs a value: %s", option->name, option->value);
        inline_value = argv[++*at];
    }
    if (option->is_single && args->values[row])
        return args_usage(args, "--%s stands twice; give it once", option->name);
    args->values[row] = inline_value;
    return EXIT_DONE;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

// is_option: a dash alone is standard input, and one before anything but a letter is part of a
// word, as of a number.
static bool is_option(const char *arg)
{
    char c = arg[0] == '-' ? str_lower_char(arg[1]) : '\0';
    return c == '-' || (c >= 'a' && c <= 'z');
}

static int parse(Arena *arena, const Command *command, int argc, char **argv, CommandArgs *ret)
{
    CommandArgs args = { .command = command, .arena = arena };
    bool words_only = false;
    args.words = ARENA_ARRAY(arena, const char *, (size_t) argc + 1);
    args.values = ARENA_ARRAY(arena, const char *, option_count(command) + 1);

    for (int at = 0; at < argc; at++) {
        const char *arg = argv[at];
        int status = EXIT_DONE;
        if (words_only || !is_option(arg)) {
            args.words[args.word_count++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            words_only = true;
        } else if (strncmp(arg, "--", 2) == 0) {
            Str rest = str_from(arg + 2);
            Str name = str_cut(&rest, '=');
            const char *value = strchr(arg, '=');
            status = take_option(&args, name, value ? value + 1 : NULL, argc, argv, &at);
        } else if (option_by_letter(arg[1])) {
            Str name = str_from(option_by_letter(arg[1]));
            status = take_option(&args, name, arg[2] ? arg + 2 : NULL, argc, argv, &at);
        } else {
            status = args_usage(&args, "\"%s\" is not an option; options have two dashes", arg);
        }
        if (status != EXIT_DONE)
            return status;
    }
    *ret = args;
    return EXIT_DONE;
}

const char *args_option(const CommandArgs *args, const char *name)
{
    size_t row = option_index(args->command, str_from(name));
    return row < option_count(args->command) ? args->values[row] : NULL;
}

bool args_flag(const CommandArgs *args, const char *name)
{
    return args_option(args, name) != NULL;
}

const char *args_word(const CommandArgs *args, size_t index)
{
    return index < args->word_count ? args->words[index] : NULL;
}

size_t args_count(const CommandArgs *args)
{
    return args->word_count;
}

Arena *args_arena(const CommandArgs *args)
{
    return args->arena;
}

const Command *args_command(const CommandArgs *args)
{
    return args->command;
}

int args_usage(const CommandArgs *args, const char *format, ...)
{
    char *line = NULL;
    va_list list;
    va_start(list, format);
    int len = vasprintf(&line, format, list);
    va_end(list);
    int status = output_failure(&(Failure){
        .exit = EXIT_INVALID,
        .error = len < 0 ? S("The command was misused") : (Str){ line, (size_t) len },
        .hint = str_format(args->arena, "peal %s --help", args->command->name),
    });
    free(line);
    return status;
}

int args_expect(const CommandArgs *args, const char *what, size_t min, size_t max)
{
    const char *blank = args->verb ? " " : "", *verb = args->verb ? args->verb : "";
    if (args->word_count < min)
        return args_usage(args, "peal %s%s%s needs %s", args->command->name, blank, verb, what);
    if (args->word_count > max)
        return args_usage(args, "peal %s%s%s: \"%s\" is one word too many", args->command->name,
                          blank, verb, args->words[max]);
    return EXIT_DONE;
}

const Command *args_listed(const CommandArgs *args, size_t index)
{
    for (size_t g = 0; g < ARRAY_LEN(args->catalog->groups); g++) {
        const Group *group = &args->catalog->groups[g];
        if (index < group->count)
            return group->rows[index];
        index -= group->count;
    }
    return NULL;
}

static bool lists(const char *options, const char *name)
{
    Str rest = str_from(options);
    while (rest.len > 0)
        if (str_eq(str_cut(&rest, ' '), str_from(name)))
            return true;
    return false;
}

bool verb_takes(const CommandVerb *verb, const char *option)
{
    return lists("json url ca key", option) || lists(verb->options, option);
}

// check_options refuses an option that the command has but this verb does not look at: ignoring it
// would do something other than what was asked.
static int check_options(const CommandArgs *args, const CommandVerb *verb)
{
    const CommandOption *options = args->command->options;
    for (size_t i = 0; options && options[i].name; i++)
        if (args->values[i] && !verb_takes(verb, options[i].name))
            return args_usage(args, "peal %s %s does not use --%s", args->command->name, verb->name,
                              options[i].name);
    return EXIT_DONE;
}

static int unknown_verb(const CommandArgs *args)
{
    const CommandVerb *verbs = args->command->verbs;
    size_t count = 0;
    while (verbs[count].name)
        count++;
    const char **names = ARENA_ARRAY(args->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = verbs[i].name;
    const char *near = command_nearest(args->words[0], names, count);
    if (near)
        return args_usage(args, "peal %s has no \"%s\"; did you mean \"%s\"?", args->command->name,
                          args->words[0], near);
    return args_usage(args, "peal %s has no \"%s\"", args->command->name, args->words[0]);
}

// run_verb takes the first word as the verb, checks words and options against its row, and runs it.
static int run_verb(CommandArgs *args)
{
    const CommandVerb *verb = args->command->verbs;
    while (args->word_count > 0 && verb->name && strcmp(verb->name, args->words[0]) != 0)
        verb++;
    if (!verb->name)
        return unknown_verb(args);
    if (args->word_count > 0) {
        args->words++;
        args->word_count--;
    }
    args->verb = verb->name;
    int status = args_expect(args, verb->what, verb->min, verb->max);
    if (status == EXIT_DONE)
        status = check_options(args, verb);
    return status == EXIT_DONE ? verb->run(args) : status;
}
