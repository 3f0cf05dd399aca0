#include "base/str.h"
#include "cli/commands.h"

#include <stdio.h>

// What a shell completes, printed from the rows of the commands: their names, their verbs, and the
// options of each verb. Behind an option that takes a value, and where Peal expects words of its
// own, shells complete names of files.

// is_taken: the option makes sense with the verb; where there is none, all of them do.
static bool is_taken(const CommandVerb *verb, const CommandOption *option)
{
    return !verb || verb_takes(verb, option->name);
}

static void print_names(const CommandArgs *args)
{
    const Command *command;
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        printf("%s ", command->name);
    printf("help");
}

static void print_verbs(const Command *command)
{
    for (const CommandVerb *verb = command->verbs; verb && verb->name; verb++)
        printf("%s%s", verb == command->verbs ? "" : " ", verb->name);
}

static void print_options(const Command *command, const CommandVerb *verb)
{
    for (const CommandOption *o = command->options; o && o->name; o++)
        if (is_taken(verb, o))
            printf("--%s ", o->name);
    printf("--help");
}

// is_told: one of the commands before has an option of this name with a value.
static bool is_told(const CommandArgs *args, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++)
        for (const CommandOption *o = args_listed(args, i)->options; o && o->name; o++)
            if (o->value && strcmp(o->name, name) == 0)
                return true;
    return false;
}

// print_valued prints, as a pattern, the options of all commands that take a value, each once.
static void print_valued(const CommandArgs *args)
{
    const Command *command;
    printf("-f");
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        for (const CommandOption *o = command->options; o && o->name; o++)
            if (o->value && !is_told(args, i, o->name))
                printf(" | --%s", o->name);
}

static void bash_options(const Command *command)
{
    for (const CommandVerb *verb = command->verbs; verb && verb->name; verb++) {
        printf("            '%s %s') words='", command->name, verb->name);
        print_options(command, verb);
        printf("' ;;\n");
    }
    printf("            '%s '*) words='", command->name);
    print_options(command, command->verbs);
    printf("' ;;\n");
}

static void bash_verbs(const Command *command)
{
    if (!command->verbs)
        return;
    printf("            %s) words='", command->name);
    print_verbs(command);
    printf("' ;;\n");
}

static int bash(CommandArgs *args)
{
    const Command *command;
    printf("# source <(peal completion bash)\n"
           "_peal()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    COMPREPLY=()\n"
           "    case ${COMP_WORDS[COMP_CWORD - 1]} in\n        ");
    print_valued(args);
    printf(") return ;;\n    esac\n"
           "    if [[ $COMP_CWORD -eq 1 || ${COMP_WORDS[1]} == help ]]; then\n"
           "        words='");
    print_names(args);
    printf("'\n    elif [[ $word == -* ]]; then\n"
           "        case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        bash_options(command);
    printf("        esac\n"
           "    elif [[ $COMP_CWORD -eq 2 ]]; then\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        bash_verbs(command);
    printf("        esac\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _peal peal\n");
    return EXIT_DONE;
}

// print_quoted prints text as the inside of single quotes, with a backslash before those marks that
// mean something there.
static void print_quoted(const char *text, const char *marked, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("%s", quote);
        else if (strchr(marked, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_entry(const char *dashes, const char *name, const char *help)
{
    printf(" '%s%s:", dashes, name);
    print_quoted(help, ":\\", "'\\''");
    printf("'");
}

static void zsh_options(const Command *command, const CommandVerb *verb)
{
    printf("options=(");
    for (const CommandOption *o = command->options; o && o->name; o++)
        if (is_taken(verb, o))
            zsh_entry("--", o->name, o->help);
    zsh_entry("--", "help", "how it is used");
    printf(" ) ;;\n");
}

static void zsh_command(const Command *command)
{
    for (const CommandVerb *verb = command->verbs; verb && verb->name; verb++) {
        printf("        '%s %s') ", command->name, verb->name);
        zsh_options(command, verb);
    }
    printf("        '%s '*) verbs=( ", command->name);
    print_verbs(command);
    printf(" ); ");
    zsh_options(command, command->verbs);
}

static int zsh(CommandArgs *args)
{
    const Command *command;
    printf("#compdef peal\n"
           "# source <(peal completion zsh), after compinit; or as _peal in a folder of $fpath\n"
           "_peal()\n{\n"
           "    local -a commands verbs options\n"
           "    commands=(");
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        zsh_entry("", command->name, command->summary);
    zsh_entry("", "help", "How a command is used");
    printf(" )\n    case $words[CURRENT-1] in\n        ");
    print_valued(args);
    printf(") _files; return ;;\n    esac\n"
           "    if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
           "        _describe command commands\n"
           "        return\n    fi\n"
           "    case \"$words[2] $words[3]\" in\n");
    for (size_t i = 0; (command = args_listed(args, i)); i++)
        zsh_command(command);
    printf("    esac\n"
           "    if [[ $words[CURRENT] == -* ]]; then\n"
           "        _describe -o option options\n"
           "    elif (( CURRENT == 3 && $#verbs )); then\n"
           "        compadd -a verbs\n"
           "    else\n"
           "        _files\n"
           "    fi\n}\n"
           "if [[ $funcstack[1] == _peal ]]; then _peal; else compdef _peal peal; fi\n");
    return EXIT_DONE;
}

static void fish_help(const char *help)
{
    printf(" -d '");
    print_quoted(help, "\\", "\\'");
    printf("'\n");
}

static void fish_options(const Command *command)
{
    for (const CommandOption *o = command->options; o && o->name; o++) {
        printf("complete -c peal -n '__fish_seen_subcommand_from %s", command->name);
        // With a verb that does not look at it, an option is refused.
        for (const CommandVerb *verb = command->verbs; verb && verb->name; verb++)
            if (!is_taken(verb, o))
                printf("; and not __fish_seen_subcommand_from %s", verb->name);
        printf("' -l %s%s", o->name, o->value ? " -r" : "");
        fish_help(o->help);
    }
}

static int fish(CommandArgs *args)
{
    const Command *command;
    printf("# peal completion fish | source\n");
    for (size_t i = 0; (command = args_listed(args, i)); i++) {
        printf("complete -c peal -f -n __fish_use_subcommand -a %s", command->name);
        fish_help(command->summary);
    }
    for (size_t i = 0; (command = args_listed(args, i)); i++) {
        if (command->verbs) {
            printf("complete -c peal -f -n '__fish_seen_subcommand_from %s; and not"
                   " __fish_seen_subcommand_from ",
                   command->name);
            print_verbs(command);
            printf("' -a '");
            print_verbs(command);
            printf("'\n");
        }
        fish_options(command);
    }
    return EXIT_DONE;
}

static const CommandVerb completion_verbs[] = {
    { "bash", NULL, 0, 0, "", bash },
    { "zsh", NULL, 0, 0, "", zsh },
    { "fish", NULL, 0, 0, "", fish },
    { 0 },
};

const Command command_completion = {
    .name = "completion",
    .usage = "completion [bash|zsh|fish]",
    .summary = "Print what a shell needs to complete commands and options",
    .details = "Examples:\n"
               "  source <(peal completion bash)            in ~/.bashrc\n"
               "  source <(peal completion zsh)             in ~/.zshrc, after compinit\n"
               "  peal completion fish | source             in ~/.config/fish/config.fish",
    .verbs = completion_verbs,
};
