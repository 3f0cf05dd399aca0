// job.h - a job: what is run, by which handler, when, and what becomes of runs that were missed or
// that overlap.
//
// A job is a rule (rule.h) that listens to no events: a run is asked for by name, by its schedule,
// by a person or by whoever defers one. Its handler is the key of a channel, and only its name
// couples it to that. Compiled it is a Trigger whose member job is this.
//
// A job has one schedule or none (then it is deferred-only); an automation may have many, by name.
// Cron expressions and zones are read when a definition is saved, so none that is stored is wrong.
#pragma once

#include "domain/cron.h"
#include "domain/trigger.h"

enum { JOB_NAME_MAX = 100, JOB_RETRIES = 3, JOB_RETRIES_MAX = 1000, JOB_REASON_MAX = 500 };
#define JOB_TIMEOUT_MAX SPAN_DAY
#define JOB_MISSED_WINDOW_ALL SPAN_DAY // of those that make up for all, unless said

// What is made up of occurrences that fell while nobody fired them.
// clang-format off
#define JOB_MISSED_TABLE(X) \
    X(ONCE, "once")         \
    X(SKIP, "skip")         \
    X(ALL,  "all")

// What an occurrence does that falls due while a run goes on.
#define JOB_OVERLAP_TABLE(X) \
    X(SKIP,  "skip")         \
    X(ALLOW, "allow")        \
    X(QUEUE, "queue")
// clang-format on

typedef enum JobMissed {
#define JOB_ENUM(name, text) JOB_MISSED_##name,
    JOB_MISSED_TABLE(JOB_ENUM)
#undef JOB_ENUM
} JobMissed;

typedef enum JobOverlap {
#define JOB_ENUM(name, text) JOB_OVERLAP_##name,
    JOB_OVERLAP_TABLE(JOB_ENUM)
#undef JOB_ENUM
} JobOverlap;

typedef struct JobSchedule {
    Str name; // empty: the job's own
    Str text, zone_name;
    Cron cron;
    const Zone *zone;
    bool enabled; // it and its job are
    JobMissed missed;
    Span missed_window; // 0: none
    JobOverlap overlap;
} JobSchedule;

typedef struct Job {
    const JobSchedule *schedules;
    size_t schedule_count;
    Span timeout; // 0: none
    Str payload;  // its JSON text; none: {}
    Str reason;   // why it is disabled; none
} Job;

// job_next is when the first of its schedules is due after now; INSTANT_NONE where none is.
Instant job_next(const Job *job, Instant now);

// How the last run of a job went, for its list.
// clang-format off
#define JOB_RESULT_TABLE(X)       \
    X(NEVER_RUN, "Never run")     \
    X(RUNNING,   "Running")       \
    X(SUCCEEDED, "Succeeded")     \
    X(FAILED,    "Failed")
// clang-format on

typedef enum JobResult {
#define JOB_ENUM(name, text) JOB_##name,
    JOB_RESULT_TABLE(JOB_ENUM)
#undef JOB_ENUM
} JobResult;

const char *job_result_text(JobResult result);

// JOB_POLICIES are the rows of a schedule's policies, of a struct with the members schedule and
// has_window; JOB_SHOWN those that are shown beside what a definition says.
// clang-format off
#define JOB_POLICIES(of, flags)                                                                                        \
    { "missed", FIELD_WORD, flags, .offset = offsetof(of, schedule.missed), .words = job_missed_words, .noun = "a policy", \
      .help = "what is made up of what fell while nothing ran; once unless said" },                                    \
    { "missedWindow", FIELD_SPAN, .offset = offsetof(of, schedule.missed_window), .given = offsetof(of, has_window),   \
      .min = SPAN_SECOND, .max = 365 * SPAN_DAY, .help = "what is older is skipped; 1d for all, none for once unless said" }, \
    { "overlap", FIELD_WORD, flags, .offset = offsetof(of, schedule.overlap), .words = job_overlap_words, .noun = "a policy", \
      .help = "what is done where the last run still goes on; skip unless said" }
#define JOB_SHOWN                                                                                                      \
    { "lastResult", FIELD_WORD, FIELD_SHOWN, .words = job_result_words, .help = "of its last run that was tried" },        \
    { "lastRunAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "when that began" },                              \
    { "nextRunAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "null where nothing is due, or it is disabled" }, \
    { "dead", FIELD_COUNT, FIELD_SHOWN, .help = "its runs that wait for a person" },                                   \
    { "missedCount", FIELD_COUNT, FIELD_SHOWN, .help = "occurrences that nobody was there for and that were not made up" }, \
    { "skippedCount", FIELD_COUNT, FIELD_SHOWN, .help = "those that a run which had not ended was in the way of" },    \
    { "lastMissedAt", FIELD_TIME, FIELD_SHOWN | FIELD_NULLABLE, .help = "the last occurrence of either" },             \
    { "fault", FIELD_TEXT, FIELD_SHOWN | FIELD_NULLABLE, .help = "why its schedule does not fire; null: it does" }
// clang-format on
extern const char *const job_missed_words[], *const job_overlap_words[], *const job_result_words[];

extern const Shape job_shape;

// job_compile and job_parse are as for triggers; ERR_JOB_INVALID lists every problem.
Err job_compile(Arena *arena, const Json *json, Trigger *ret, Error *error) MUST_USE;
Err job_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;

// What automations share with jobs (automation.h). job_note_schedule reads the expression, which
// may be left out, and the zone of a schedule that lies at pointer; job_blank is a definition of
// which nothing is said; job_finish gives it its job, once all is read.
Err job_note_schedule(Arena *arena, JobSchedule *schedule, bool has_window, Str pointer,
                      Error *error) MUST_USE;
Trigger job_blank(RuleKind kind);
void job_finish(Arena *arena, Trigger *trigger, Job *job, const Json *payload);
