#include "domain/job.h"

#include "domain/definition.h"

#define JOB_TEXT(name, text) text,
const char *const job_missed_words[] = { JOB_MISSED_TABLE(JOB_TEXT) NULL };
const char *const job_overlap_words[] = { JOB_OVERLAP_TABLE(JOB_TEXT) NULL };
const char *const job_result_words[] = { JOB_RESULT_TABLE(JOB_TEXT) NULL };
#undef JOB_TEXT

const char *job_result_text(JobResult result)
{
    assert(result < TABLE_ROWS(JOB_RESULT_TABLE));
    return job_result_words[result];
}

// Source is what a definition says.
typedef struct Source {
    Trigger trigger;
    Job job;
    JobSchedule schedule;
    const Json *payload;
    bool has_window;
} Source;

// clang-format off
#define AT(member) .offset = offsetof(Source, member)
static const Field fields[] = {
    { "name", FIELD_KEY, FIELD_NEEDED, AT(trigger.rule.id), .max = JOB_NAME_MAX },
    { "cron", FIELD_TEXT, FIELD_LINES | FIELD_NULLABLE | FIELD_ALWAYS, AT(schedule.text), .max = CRON_TEXT_MAX,
      .help = "five fields, or six with seconds first; without it the job is deferred-only" },
    { "zone", FIELD_TEXT, FIELD_ALWAYS, AT(schedule.zone_name), .max = ZONE_NAME_MAX, .help = "an IANA time zone; UTC unless said" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(trigger.enabled), .help = "a disabled one fires nothing; what falls meanwhile is not made up" },
    { "reason", FIELD_TEXT, FIELD_LINES, AT(job.reason), .max = JOB_REASON_MAX, .help = "why it is disabled; goes when it is enabled" },
    { "handler", FIELD_KEY, FIELD_NEEDED, AT(trigger.channel), .max = CHANNEL_KEY_MAX, .help = "the key of the channel that runs it" },
    { "payload", FIELD_OBJECT, FIELD_ALWAYS, AT(payload), .help = "what the handler is given; {} unless said" },
    { "maxRetries", FIELD_INT, FIELD_ALWAYS, AT(trigger.rule.retry.max), .max = JOB_RETRIES_MAX, .help = "after the first try; 3 unless said" },
    JOB_POLICIES(Source, FIELD_ALWAYS),
    { "timeout", FIELD_SPAN, AT(job.timeout), .min = SPAN_SECOND, .max = JOB_TIMEOUT_MAX, .help = "of one try; the channel's unless said" },
    JOB_SHOWN,
    DEFINITION_SHOWN,
};
#undef AT
// clang-format on

const Shape job_shape = {
    "Job",
    SHAPE_ROWS(fields),
    .size = sizeof(Source),
    .invalid = ERR_JOB_INVALID,
};

Err job_note_schedule(Arena *arena, JobSchedule *schedule, bool has_window, Str pointer,
                      Error *error)
{
    Str cron = str_format(arena, "%.*s/cron", STR_ARG(pointer));
    Str zone = str_format(arena, "%.*s/zone", STR_ARG(pointer));
    if (schedule->text.at)
        cron_note(schedule->text, cron, &schedule->cron, error);
    if (schedule->missed == JOB_MISSED_ALL && !has_window)
        schedule->missed_window = JOB_MISSED_WINDOW_ALL;
    return cron_note_zone(schedule->zone_name, zone, &schedule->zone, error);
}

Trigger job_blank(RuleKind kind)
{
    return (Trigger){ .rule = rule_default(kind, STR_NONE),
                      .enabled = true,
                      .address_path = S("recipient.address"),
                      .locale_path = S("recipient.locale") };
}

void job_finish(Arena *arena, Trigger *trigger, Job *job, const Json *payload)
{
    Rule *rule = &trigger->rule;
    if (payload)
        job->payload = json_text(arena, payload);
    rule->has_retry = true;
    rule->retry.unclassified_max = rule->retry.max;
    trigger->template_id = rule->id;
    trigger->job = arena_copy(arena, job, sizeof *job);
}

Err job_compile(Arena *arena, const Json *json, Trigger *ret, Error *error)
{
    Error own = { .arena = arena };
    Error *problems = error ? error : &own;
    Source source = { .trigger = job_blank(RULE_JOB), .schedule = { .zone_name = S("UTC") } };
    JobSchedule *schedule = &source.schedule;
    if (fields_note(arena, json, S(""), &job_shape, &source, problems))
        TRY(job_note_schedule(arena, schedule, source.has_window, S(""), problems));
    TRY(error_close(problems, ERR_JOB_INVALID));
    schedule->enabled = source.trigger.enabled;
    if (schedule->text.at) {
        source.job.schedules = arena_copy(arena, schedule, sizeof *schedule);
        source.job.schedule_count = 1;
    }
    job_finish(arena, &source.trigger, &source.job, source.payload);
    *ret = source.trigger;
    return ERR_OK;
}

Err job_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return job_compile(arena, json, ret, error);
}

Instant job_next(const Job *job, Instant now)
{
    Instant first = INSTANT_NONE;
    for (size_t i = 0; i < job->schedule_count; i++) {
        const JobSchedule *schedule = &job->schedules[i];
        if (!schedule->enabled)
            continue;
        Instant next = cron_next(&schedule->cron, schedule->zone, now, false);
        if (next != INSTANT_NONE && (first == INSTANT_NONE || next < first))
            first = next;
    }
    return first;
}
