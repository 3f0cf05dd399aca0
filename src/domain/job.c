#include "domain/job.h"

#include "domain/definition.h"

#define JOB_TEXT(name, text) text,
static const char *const missed_words[] = { JOB_MISSED_TABLE(JOB_TEXT) NULL };
static const char *const overlap_words[] = { JOB_OVERLAP_TABLE(JOB_TEXT) NULL };
static const char *const result_words[] = { JOB_RESULT_TABLE(JOB_TEXT) NULL };
#undef JOB_TEXT

const char *job_result_text(JobResult result)
{
    assert(result < ARRAY_LEN(result_words) - 1);
    return result_words[result];
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
#define JOB_SHOWN                                                                                                      \
    { "lastResult", FIELD_WORD, FIELD_SHOWN, .words = result_words, .help = "of its last run that was tried" },        \
    { "lastRunAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "when that began" },                              \
    { "nextRunAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "null where nothing is due, or it is disabled" }, \
    { "dead", FIELD_COUNT, FIELD_SHOWN, .help = "its runs that wait for a person" },                                   \
    { "missedCount", FIELD_COUNT, FIELD_SHOWN, .help = "occurrences that nobody was there for and that were not made up" }, \
    { "skippedCount", FIELD_COUNT, FIELD_SHOWN, .help = "those that a run which had not ended was in the way of" },    \
    { "lastMissedAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "the last occurrence of either" },             \
    { "fault", FIELD_TEXT, FIELD_SHOWN | FIELD_NULLABLE, .help = "why its schedule does not fire; null: it does" }

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
    { "missed", FIELD_WORD, FIELD_ALWAYS, AT(schedule.missed), .words = missed_words, .noun = "a policy",
      .help = "what is made up of what fell while nothing ran; once unless said" },
    { "missedWindow", FIELD_SPAN, AT(schedule.missed_window), .given = offsetof(Source, has_window),
      .min = SPAN_SECOND, .max = 365 * SPAN_DAY, .help = "what is older is skipped; 1d for all, none for once unless said" },
    { "overlap", FIELD_WORD, FIELD_ALWAYS, AT(schedule.overlap), .words = overlap_words, .noun = "a policy",
      .help = "what is done where the last run still goes on; skip unless said" },
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

// compile_schedule reads the expression and the zone, each of which may be left out.
static Err compile_schedule(JobSchedule *schedule, bool has_window, Error *error)
{
    if (schedule->text.at)
        cron_note(schedule->text, S("/cron"), &schedule->cron, error);
    if (schedule->missed == JOB_MISSED_ALL && !has_window)
        schedule->missed_window = JOB_MISSED_WINDOW_ALL;
    return cron_note_zone(schedule->zone_name, S("/zone"), &schedule->zone, error);
}

// put_job gives the trigger its job, in the arena.
static void put_job(Arena *arena, Source *source)
{
    Job *job = &source->job;
    Rule *rule = &source->trigger.rule;
    source->schedule.enabled = source->trigger.enabled;
    if (source->schedule.text.at) {
        job->schedules = arena_copy(arena, &source->schedule, sizeof source->schedule);
        job->schedule_count = 1;
    }
    if (source->payload)
        job->payload = json_text(arena, source->payload);
    rule->has_retry = true;
    rule->retry.unclassified_max = rule->retry.max;
    source->trigger.template_id = rule->id;
    source->trigger.job = arena_copy(arena, job, sizeof *job);
}

Err job_compile(Arena *arena, const Json *json, Trigger *ret, Error *error)
{
    Error own = { .arena = arena };
    Error *problems = error ? error : &own;
    Source source = { .trigger = { .rule = rule_default(RULE_JOB, STR_NONE),
                                   .enabled = true,
                                   .address_path = S("recipient.address"),
                                   .locale_path = S("recipient.locale") },
                      .schedule = { .zone_name = S("UTC") } };
    if (fields_note(arena, json, S(""), &job_shape, &source, problems))
        TRY(compile_schedule(&source.schedule, source.has_window, problems));
    TRY(error_close(problems, ERR_JOB_INVALID));
    put_job(arena, &source);
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
