// Helpers that need no server: they run the same code that decides there.

#include "base/crypto.h"
#include "base/json.h"
#include "base/time.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "domain/dedup.h"
#include "domain/filter.h"

enum { LINE_BYTES_MAX = 16 * 1024 * 1024 };

// Sample is an event from a file, and the template id that goes with it.
typedef struct Sample {
    Event event;
    Str template_id;
} Sample;

static Str text_of(const Json *value)
{
    return json_type(value) == JSON_NUMBER ? json_number_text(value) : json_str(value);
}

static void read_time(const Json *json, Str member, Instant *ret, Error *error)
{
    const Json *value = json_get(json, member);
    *ret = INSTANT_NONE;
    if (json_type(value) == JSON_ABSENT || json_type(value) == JSON_NULL)
        return;
    if (!time_parse(json_str(value), ret)) {
        *ret = INSTANT_NONE;
        error_add(error, str_format(error->arena, "/%.*s", STR_ARG(member)), "bad-time",
                  "must be a time such as 2026-05-14T05:12:34Z");
    }
}

// note_unknown warns of members that nothing looks at: most likely they are misspelled.
static void note_unknown(const Json *json)
{
    static const char *const members[] = {
        "templateId", "recipient",  "payload",    "kind",   "source",        "id",
        "entity",     "occurredAt", "receivedAt", "tenant", "correlationId", "traceparent",
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (JsonIter it = json_each(json); json_next(&it);) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(members); i++)
            known = known || str_eq(it.key, str_from(members[i]));
        if (!known)
            fprintf(stderr, "Note: \"%.*s\" is not a member of an event; it is ignored.\n",
                    STR_ARG(output_clean(&arena, it.key)));
    }
}

static int read_sample(Arena *arena, const char *path, Sample *ret)
{
    Error error = { .arena = arena };
    Input input = { 0 };
    int status = input_json_file(arena, path, &input);
    if (status != EXIT_DONE)
        return status;

    const Json *json = input.json;
    const Json *payload = json_get(json, S("payload")), *recipient = json_get(json, S("recipient"));
    Sample sample = { .template_id = text_of(json_get(json, S("templateId"))) };
    Event *event = &sample.event;
    if (json_type(json) != JSON_OBJECT)
        error_add(&error, S(""), "bad-type", "an event is an object, not %s",
                  json_type_name(json_type(json)));
    if (payload && json_type(payload) != JSON_OBJECT)
        error_add(&error, S("/payload"), "bad-type", "must be an object, not %s",
                  json_type_name(json_type(payload)));
    if (recipient && json_type(recipient) != JSON_NULL && json_type(recipient) != JSON_OBJECT)
        error_add(&error, S("/recipient"), "bad-type", "must be an object, not %s",
                  json_type_name(json_type(recipient)));
    event->kind = json_str(json_get(json, S("kind")));
    event->source = json_str(json_get(json, S("source")));
    event->identity = json_str(json_get(json, S("id")));
    event->entity = json_str(json_get(json, S("entity")));
    event->correlation_id = json_str(json_get(json, S("correlationId")));
    event->payload_json = payload;
    event->recipient_json = recipient;
    event->payload = payload ? json_text(arena, payload) : S("{}");
    event->recipient = recipient ? json_text(arena, recipient) : STR_NONE;
    read_time(json, S("occurredAt"), &event->occurred_at, &error);
    read_time(json, S("receivedAt"), &event->received_at, &error);
    if (!uuid_parse(event->identity, &event->id))
        event->id = (Uuid){ 0 };
    if (error_close(&error, ERR_EVENT_INVALID) != ERR_OK)
        return output_error(&error, STR_NONE);
    note_unknown(json);
    *ret = sample;
    return EXIT_DONE;
}

// read_both reads the definition and the event; only one of them can be standard input.
static int read_both(CommandArgs *args, Input *ret_definition, Sample *ret_sample)
{
    Arena *arena = args_arena(args);
    if (strcmp(args_word(args, 0), "-") == 0 && strcmp(args_word(args, 1), "-") == 0)
        return args_usage(args, "Only one of the two can be standard input");
    int status = input_json_file(arena, args_word(args, 0), ret_definition);
    if (status == EXIT_DONE)
        status = read_sample(arena, args_word(args, 1), ret_sample);
    if (status != EXIT_DONE)
        return status;

    // Where a whole trigger was given, it names the template as it would on the server.
    const Json *trigger = ret_definition->json;
    if (!ret_sample->template_id.at)
        ret_sample->template_id = text_of(json_get(trigger, S("templateId")));
    if (!ret_sample->template_id.at)
        ret_sample->template_id = text_of(json_get(trigger, S("id")));
    return EXIT_DONE;
}

static void print_reason(const FilterReason *reason, Arena *arena)
{
    printf("false\n");
    if (reason->predicate.len == 0) {
        printf("Nothing in it can be true.\n"); // such as {"any":[]}
        return;
    }
    printf("%.*s", STR_ARG(output_clean(arena, reason->predicate)));
    if (reason->path.len > 0)
        printf(" at %.*s", STR_ARG(output_clean(arena, reason->path)));
    if (reason->seen.at)
        printf(" saw %.*s", STR_ARG(output_clean(arena, reason->seen)));
    else
        printf(" saw nothing there");
    if (reason->would_match_if.len > 0)
        printf("; it would match if %.*s", STR_ARG(output_clean(arena, reason->would_match_if)));
    printf(".\n");
}

static void print_match_json(Arena *arena, bool matches, const FilterReason *reason)
{
    Buf text = buf_new(arena, LINE_BYTES_MAX);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_bool(&out, S("matches"), matches);
    if (!matches) {
        json_put_str(&out, S("path"), reason->path);
        json_put_str(&out, S("predicate"), reason->predicate);
        json_put_raw(&out, S("seen"), reason->seen);
        json_put_str(&out, S("wouldMatchIf"), reason->would_match_if);
    }
    json_close(&out, '}');
    output_json(buf_str(&text));
}

static int filter_test(CommandArgs *args)
{
    Arena *arena = args_arena(args);
    Error error = { .arena = arena };
    Input definition = { 0 };
    Sample sample = { 0 };
    const Filter *filter = NULL;
    FilterMiss miss = { 0 };
    FilterReason reason = { 0 };
    int status = read_both(args, &definition, &sample);
    if (status != EXIT_DONE)
        return status;

    const Json *inner = json_get(definition.json, S("filter"));
    if (filter_compile(arena, inner ? inner : definition.json, inner ? S("/filter") : S(""),
                       &filter, &error) != ERR_OK)
        return output_error(&error, STR_NONE);
    bool matches = filter_matches(filter, &sample.event, sample.template_id, &miss);
    if (!matches)
        reason = filter_explain(arena, filter, miss.leaf, &sample.event, sample.template_id);
    if (args_flag(args, "json"))
        print_match_json(arena, matches, &reason);
    else if (matches)
        printf("true\n");
    else
        print_reason(&reason, arena);
    return matches ? EXIT_DONE : EXIT_FAILED;
}

// read_recipe takes an array of paths, or a trigger's dedupRecipe.
static int read_recipe(Arena *arena, const Json *json, Str paths[DEDUP_PATHS_MAX],
                       size_t *ret_count)
{
    Error error = { .arena = arena };
    bool is_trigger = json_type(json) == JSON_OBJECT;
    const Json *recipe = is_trigger ? json_get(json, S("dedupRecipe")) : json;
    Str place = is_trigger ? S("/dedupRecipe") : S("");
    size_t count = 0;
    if (json_type(recipe) != JSON_ARRAY)
        error_add(&error, place, "bad-type", "a recipe is an array of paths, not %s",
                  json_type_name(json_type(recipe)));
    else if (json_count(recipe) == 0 || json_count(recipe) > DEDUP_PATHS_MAX)
        error_add(&error, place, "bad-value", "a recipe has 1 to %d paths", DEDUP_PATHS_MAX);
    for (JsonIter it = json_each(recipe); error.count == 0 && json_next(&it);) {
        Str path = json_str(it.value);
        if (path.len == 0)
            error_add(&error, str_format(arena, "%.*s/%zu", STR_ARG(place), count), "bad-path",
                      "a path is a text such as recipient.address");
        else
            paths[count++] = path;
    }
    if (error_close(&error, ERR_INVALID) != ERR_OK)
        return output_error(&error, STR_NONE);
    *ret_count = count;
    return EXIT_DONE;
}

static int dedup_print(CommandArgs *args)
{
    Arena *arena = args_arena(args);
    Input definition = { 0 };
    Sample sample = { 0 };
    Str paths[DEDUP_PATHS_MAX];
    size_t count = 0;
    int status = read_both(args, &definition, &sample);
    if (status == EXIT_DONE)
        status = read_recipe(arena, definition.json, paths, &count);
    if (status != EXIT_DONE)
        return status;
    Sha256 hash = dedup_hash(arena, paths, count, &sample.event, sample.template_id);
    Str hex = hex_text(arena, hash.b, sizeof hash.b);
    if (args_flag(args, "json"))
        printf("{\"hash\":\"%.*s\"}\n", STR_ARG(hex));
    else
        printf("%.*s\n", STR_ARG(hex));
    return EXIT_DONE;
}

static const CommandVerb filter_verbs[] = {
    { "test", "FILTER.json and EVENT.json", 2, 2, "", filter_test },
    { 0 },
};

static const CommandVerb dedup_verbs[] = {
    { "hash", "RECIPE.json and EVENT.json", 2, 2, "", dedup_print },
    { 0 },
};

static int version(CommandArgs *args)
{
    int status = args_expect(args, NULL, 0, 0);
    if (status != EXIT_DONE)
        return status;
    printf(args_flag(args, "json") ? "{\"version\":\"%s\"}\n" : "peal %s\n", PEAL_VERSION);
    return EXIT_DONE;
}

static const CommandOption offline_options[] = {
    { "json", NULL, "print the answer as JSON" },
    { 0 },
};

const Command command_filter = {
    .name = "filter",
    .usage = "filter test FILTER.json EVENT.json",
    .summary = "Try a filter on an event",
    .details =
        "Prints true or false and, when false, why. The exit status is 0 for true, 1 for false\n"
        "and 2 where the filter is not valid. FILTER.json is a filter or a trigger that has one;\n"
        "EVENT.json is {\"templateId\":…,\"recipient\":{…},\"payload\":{…}}; - is standard "
        "input.\n\n"
        "Examples:\n"
        "  peal filter test filter.json event.json\n"
        "  echo '{\"payload\":{\"total\":249}}' | peal filter test trigger.json -",
    .options = offline_options,
    .verbs = filter_verbs,
};

const Command command_dedup = {
    .name = "dedup",
    .usage = "dedup hash RECIPE.json EVENT.json",
    .summary = "Print the dedup key that a recipe makes of an event",
    .details = "RECIPE.json is an array of paths, or a trigger that has a dedupRecipe;\n"
               "EVENT.json is {\"templateId\":…,\"recipient\":{…},\"payload\":{…}}; - is standard "
               "input.\n\n"
               "Examples:\n"
               "  peal dedup hash recipe.json event.json\n"
               "  echo '[\"recipient.address\",\"candidate.wip\"]' | peal dedup hash - event.json",
    .options = offline_options,
    .verbs = dedup_verbs,
};

const Command command_version = {
    .name = "version",
    .usage = "version",
    .summary = "Print the version of this program",
    .options = offline_options,
    .run = version,
};
