#include "domain/automation.h"

#include "domain/definition.h"

// Given is a schedule as it is read.
typedef struct Given {
    JobSchedule schedule;
    bool has_window, has_enabled;
} Given;

// Source is what a definition says.
typedef struct Source {
    Trigger trigger;
    Job job;
    Str name;
    const Json *payload;
    Given *schedules;
    size_t schedule_count;
} Source;

// clang-format off
#define AT(member) .offset = offsetof(Given, member)
static const Field schedule_fields[] = {
    { "name", FIELD_KEY, AT(schedule.name), .max = JOB_NAME_MAX, .help = "as in the path" },
    { "cron", FIELD_TEXT, FIELD_NEEDED | FIELD_LINES, AT(schedule.text), .max = CRON_TEXT_MAX, .help = "five fields, or six with seconds first" },
    { "zone", FIELD_TEXT, AT(schedule.zone_name), .max = ZONE_NAME_MAX, .help = "an IANA time zone; UTC unless said" },
    { "enabled", FIELD_BOOL, AT(schedule.enabled), .given = offsetof(Given, has_enabled), .help = "a disabled one fires nothing" },
    JOB_POLICIES(Given, 0),
};
#undef AT
const Shape automation_schedule_shape = { "AutomationSchedule", SHAPE_ROWS(schedule_fields), .size = sizeof(Given),
                                          .invalid = ERR_AUTOMATION_INVALID };
static const Field schedule_row = { NULL, FIELD_OBJECT, .inside = &automation_schedule_shape };

static const Field trigger_row = { NULL, FIELD_KEY };

#define AT(member) .offset = offsetof(Source, member)
static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(trigger.rule.id), .max = TRIGGER_ID_MAX },
    { "name", FIELD_TEXT, AT(name), .max = AUTOMATION_NAME_MAX, .help = "what it is called" },
    { "handler", FIELD_KEY, FIELD_NEEDED, AT(trigger.channel), .max = CHANNEL_KEY_MAX, .help = "the key of the channel that runs it" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(trigger.enabled), .help = "a disabled one fires nothing; what falls meanwhile is not made up" },
    { "payload", FIELD_OBJECT, AT(payload), .help = "what the handler is given by a schedule; {} unless said" },
    { "maxRetries", FIELD_INT, AT(trigger.rule.retry.max), .max = JOB_RETRIES_MAX, .help = "after the first try; 3 unless said" },
    { "timeout", FIELD_SPAN, AT(job.timeout), .min = SPAN_SECOND, .max = JOB_TIMEOUT_MAX, .help = "of one try; the channel's unless said" },
    { "schedules", FIELD_LIST, AT(schedules), .count = offsetof(Source, schedule_count), .max = AUTOMATION_SCHEDULES_MAX,
      .of = &schedule_row, .help = "each by its name" },
    { "triggers", FIELD_LIST, FIELD_SHOWN, .of = &trigger_row, .help = "the ids of those that run it, where it is shown alone" },
    JOB_SHOWN,
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape automation_shape = {
    "Automation",
    SHAPE_ROWS(fields),
    .size = sizeof(Source),
    .invalid = ERR_AUTOMATION_INVALID,
};

static Err compile_schedule(Arena *arena, Given *given, Str pointer, Error *error)
{
    JobSchedule *schedule = &given->schedule;
    if (!given->has_enabled)
        schedule->enabled = true;
    if (!schedule->zone_name.at)
        schedule->zone_name = S("UTC");
    return job_note_schedule(arena, schedule, given->has_window, pointer, error);
}

// check_name: schedules go by their names, and history by the name that one had.
static void check_name(Arena *arena, const Source *source, size_t at, Str pointer, Error *error)
{
    Str name = source->schedules[at].schedule.name;
    Str place = str_format(arena, "%.*s/name", STR_ARG(pointer));
    if (!name.at)
        error_add(error, place, "missing-member", "\"name\" is needed");
    for (size_t i = 0; i < at; i++)
        if (name.at && str_eq(source->schedules[i].schedule.name, name))
            error_add(error, place, "bad-value", "another schedule has this name");
}

static Err compile_schedules(Arena *arena, Source *source, Error *error)
{
    JobSchedule *schedules = ARENA_ARRAY(arena, JobSchedule, source->schedule_count + 1);
    for (size_t i = 0; i < source->schedule_count; i++) {
        Str pointer = str_format(arena, "/schedules/%zu", i);
        check_name(arena, source, i, pointer, error);
        TRY(compile_schedule(arena, &source->schedules[i], pointer, error));
        schedules[i] = source->schedules[i].schedule;
        schedules[i].enabled = schedules[i].enabled && source->trigger.enabled;
    }
    source->job.schedules = schedules;
    source->job.schedule_count = source->schedule_count;
    return ERR_OK;
}

Err automation_compile(Arena *arena, const Json *json, Trigger *ret, Error *error)
{
    Error own = { .arena = arena };
    Error *problems = error ? error : &own;
    Source source = { .trigger = job_blank(RULE_AUTOMATION) };
    if (fields_note(arena, json, S(""), &automation_shape, &source, problems))
        TRY(compile_schedules(arena, &source, problems));
    TRY(error_close(problems, ERR_AUTOMATION_INVALID));
    job_finish(arena, &source.trigger, &source.job, source.payload);
    *ret = source.trigger;
    return ERR_OK;
}

Err automation_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return automation_compile(arena, json, ret, error);
}

Err automation_check_schedule(Arena *arena, const Json *source, Error *error)
{
    Given given = { 0 };
    if (fields_note(arena, source, S(""), &automation_schedule_shape, &given, error))
        TRY(compile_schedule(arena, &given, S(""), error));
    return error_close(error, ERR_AUTOMATION_INVALID);
}
