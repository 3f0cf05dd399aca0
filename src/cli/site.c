#include "cli/site.h"

#include "base/str.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *site_of(const CommandArgs *args)
{
    const char *given = args_option(args, "site"), *variable = getenv("PEAL_SITE");
    if (given)
        return given;
    if (args_option(args, "url") || getenv("PEAL_URL"))
        return NULL;
    if (variable && *variable)
        return variable;
    return access(SITE_DEFAULT, F_OK) == 0 ? SITE_DEFAULT : NULL;
}

int site_told(const CommandArgs *args, PealResult result)
{
    static const int exits[] = {
        [PEAL_OK] = EXIT_DONE,
        [PEAL_INVALID] = EXIT_INVALID,
        [PEAL_FULL] = EXIT_FAILED,
        [PEAL_FAILED] = EXIT_FAILED,
        [PEAL_UNREACHABLE] = EXIT_UNREACHABLE,
        [PEAL_NOT_FOUND] = EXIT_NOT_FOUND,
        [PEAL_OUTDATED] = EXIT_FAILED,
    };
    if (result == PEAL_OK)
        return EXIT_DONE;
    Str why = str_from(peal_result_text(result));
    if (result == PEAL_FAILED)
        why = str_format(args_arena(args), "%.*s: %m", STR_ARG(why));
    return output_failure(
        &(Failure){ .exit = exits[result], .error = S("The site did not take it"), .why = why });
}

void site_print_id(const CommandArgs *args, const char *id)
{
    printf(args_flag(args, "json") ? "{\"id\":\"%s\",\"status\":\"Forwarding\"}\n" : "%s\n", id);
}
