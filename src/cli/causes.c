#include "cli/causes.h"

#include "cli/commands.h"

enum { CAUSES_WANTED = 1000 };

static CauseSum *find(CauseSum *sums, size_t count, Str cause)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(json_str(json_get(sums[i].item, S("cause"))), cause))
            return &sums[i];
    return NULL;
}

static int by_count(const void *a, const void *b)
{
    const CauseSum *x = a, *y = b;
    return x->count > y->count ? -1 : x->count < y->count;
}

size_t causes_sum(Arena *arena, const Pages *pages, CauseSum **ret)
{
    CauseSum *sums = ARENA_ARRAY(arena, CauseSum, pages->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < pages->count; i++) {
        const Json *item = pages->items[i];
        CauseSum *sum = find(sums, count, json_str(json_get(item, S("cause"))));
        int64_t n = 0;
        (void) json_i64(json_get(item, S("count")), &n);
        if (!sum)
            sums[count++] = (CauseSum){ item, n };
        else
            sum->count += n;
    }
    qsort(sums, count, sizeof *sums, by_count);
    *ret = sums;
    return count;
}

static Str member(Arena *arena, const Json *item, const char *name)
{
    return output_value(arena, json_get(item, str_from(name)));
}

// print_cause tells of one, with the commands that act on exactly its deliveries.
static void print_cause(Arena *arena, const CauseSum *sum, bool is_parked)
{
    const Json *item = sum->item;
    Str cause = member(arena, item, "cause"), why = member(arena, item, "reason");
    int64_t code;
    if (json_i64(json_get(item, S("code")), &code))
        why = str_format(arena, "%.*s %lld", STR_ARG(why), (long long) code);
    printf("%lld  %.*s  %.*s  since %.*s\n", (long long) sum->count,
           STR_ARG(member(arena, item, "channel")), STR_ARG(why),
           STR_ARG(member(arena, item, "oldest")));
    if (json_str(json_get(item, S("sample"))).len > 0)
        printf("    %.*s\n", STR_ARG(member(arena, item, "sample")));
    if (is_parked)
        printf("    peal deliveries retry --cause %.*s\n"
               "    peal deliveries discard --cause %.*s\n",
               STR_ARG(cause), STR_ARG(cause));
    else
        printf("    peal deliveries cancel --state retrying --cause %.*s\n", STR_ARG(cause));
}

static int causes(CommandArgs *args)
{
    Client client = client_open(args);
    const char *state = args_option(args, "state");
    bool is_parked = !state || strcmp(state, "parked") == 0;
    Pages pages = { 0 };
    CauseSum *sums;
    int status = args_expect(args, NULL, 0, 0);
    if (status == EXIT_DONE)
        status = pages_read(&client, S("/v1/causes"), "state", "items", CAUSES_WANTED, &pages);
    if (status != EXIT_DONE)
        return status;
    if (client.json) {
        pages_json(&client, &pages, "items");
        return EXIT_DONE;
    }
    size_t count = causes_sum(client.arena, &pages, &sums);
    for (size_t i = 0; i < count; i++)
        print_cause(client.arena, &sums[i], is_parked);
    if (count == 0)
        printf("Nothing is %s.\n", is_parked ? "parked" : "retried");
    pages_tell(&client, &pages);
    return EXIT_DONE;
}

static const CommandOption causes_options[] = {
    { "state", "STATE", "parked, which is the default, or retrying" },
    { "limit", "N", "how many causes; 1000 unless said" },
    { "cursor", "C", "go on from there" },
    CLIENT_OPTIONS,
};

const Command command_causes = {
    .name = "causes",
    .usage = "causes [--state parked|retrying]",
    .summary = "Say what deliveries are parked for, and how to act on each cause",
    .details =
        "Deliveries of one channel that failed of the same are one cause: what the far side\n"
        "said is compared without its addresses, ids, numbers and times. Each comes with the\n"
        "commands that retry or discard exactly its deliveries.\n\n"
        "Examples:\n"
        "  peal causes\n"
        "  peal causes --state retrying --json",
    .options = causes_options,
    .run = causes,
};
