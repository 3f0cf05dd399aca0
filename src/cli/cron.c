// When a cron expression is due, by the same code that decides it on the server.

#include "base/clock.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "domain/cron.h"

// Question is what one call asks.
typedef struct Question {
    Cron cron;
    const Zone *zone;
    Instant from;
    bool is_inclusive;
    int64_t count;
} Question;

static int read_expression(CommandArgs *args, Cron *ret)
{
    CronFault fault;
    CronForm form = args_flag(args, "seconds") ? CRON_SIX_FIELDS : CRON_ANY_FORM;
    if (cron_parse(str_from(args_word(args, 0)), form, ret, &fault))
        return EXIT_DONE;
    return output_failure(&(Failure){
        .exit = EXIT_INVALID,
        .error = S("The cron expression is not valid"),
        .why = cron_fault_text(args_arena(args), &fault),
    });
}

static int read_zone(CommandArgs *args, const Zone **ret)
{
    Error error = { .arena = args_arena(args) };
    const char *name = args_option(args, "zone");
    *ret = zone_utc;
    if (name && zone_find(str_from(name), ret, &error) != ERR_OK)
        return output_error(&error, STR_NONE);
    return EXIT_DONE;
}

static Instant now(void)
{
    Clock clock;
    clock_init_system(&clock);
    return clock_now(&clock);
}

static int read_question(CommandArgs *args, Question *ret)
{
    const char *from = args_option(args, "from"), *count = args_option(args, "count");
    *ret = (Question){ .count = 1, .is_inclusive = args_flag(args, "inclusive") };
    int status = read_expression(args, &ret->cron);
    if (status == EXIT_DONE)
        status = read_zone(args, &ret->zone);
    if (status != EXIT_DONE)
        return status;
    if (!from)
        ret->from = now();
    else if (!time_parse(str_from(from), &ret->from))
        return args_usage(args, "--from must be a time such as 2026-05-15T05:13:00Z");
    if (count && !str_to_i64(str_from(count), 1, CRON_PREVIEW_MAX, &ret->count))
        return args_usage(args, "--count must be a whole number from 1 to %d", CRON_PREVIEW_MAX);
    return EXIT_DONE;
}

static void print_text(CommandArgs *args, const Question *q)
{
    char text[TIME_TEXT_MAX];
    const char *warning = cron_warning(&q->cron);
    if (warning)
        fprintf(stderr, "Note: %s.\n", warning);
    if (args_flag(args, "explain"))
        printf("%.*s\n", STR_ARG(cron_explain(args_arena(args), &q->cron, q->zone, q->from)));
    Instant at = cron_next(&q->cron, q->zone, q->from, q->is_inclusive);
    for (int64_t i = 0; i < q->count && at != INSTANT_NONE; i++) {
        printf("%s\n", time_local_text(at, zone_period(q->zone, at).offset, text).at);
        at = cron_next(&q->cron, q->zone, at, false);
    }
}

static void print_json(CommandArgs *args, const Question *q)
{
    Buf text = buf_new(args_arena(args), BUF_WHOLE);
    JsonOut out = json_out(&text);
    cron_put_preview(&out, args_arena(args), &q->cron,
                     &(CronPreview){ q->zone, q->from, q->is_inclusive, (int) q->count });
    output_json(buf_str(&text));
}

static int next(CommandArgs *args)
{
    Question question;
    int status = read_question(args, &question);
    if (status != EXIT_DONE)
        return status;
    if (args_flag(args, "json"))
        print_json(args, &question);
    else
        print_text(args, &question);
    return EXIT_DONE;
}

static const CommandVerb verbs[] = {
    { "next", "EXPR, in quotes", 1, 1, "zone from count inclusive seconds explain", next },
    { 0 },
};

static const CommandOption options[] = {
    { "zone", "ZONE", "the clocks of this IANA time zone; UTC unless said" },
    { "from", "TIME", "times after this one; now unless said" },
    { "count", "N", "so many times; 1 unless said" },
    { "inclusive", NULL, "the time of --from itself counts" },
    { "seconds", NULL, "the expression must have six fields, seconds first" },
    { "explain", NULL, "first say in words what the expression means" },
    { "json", NULL, "print the answer as JSON" },
    { 0 },
};

const Command command_cron = {
    .name = "cron",
    .usage = "cron next EXPR [--zone ZONE] [--from TIME] [--count N] [--inclusive] [--seconds]\n"
             "cron next EXPR --explain",
    .summary = "Print when a cron expression is due",
    .details =
        "EXPR has five fields (minutes, hours, days of month, months, days of week), or six\n"
        "with seconds first; or it is a macro such as @daily. One time a line, as the clocks\n"
        "of the zone show it, with their offset; nothing where there is none up to the year\n"
        "9999. docs/cron.md has the rules.\n\n"
        "Examples:\n"
        "  peal cron next '15 12 * * *' --zone Europe/Warsaw --count 5\n"
        "  peal cron next '0 0 LW * *' --explain",
    .options = options,
    .verbs = verbs,
};
