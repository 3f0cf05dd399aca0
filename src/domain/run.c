#include "domain/run.h"

static const struct {
    const char *word, *text;
} sources[] = {
#define RUN_SOURCE_ROW(name, word, text) [RUN_##name] = { word, text },
    RUN_SOURCE_TABLE(RUN_SOURCE_ROW)
#undef RUN_SOURCE_ROW
};

RunSource run_source(Str event_source)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (str_eq(event_source, str_from(sources[i].word)))
            return (RunSource) i;
    return RUN_MANUAL;
}

const char *run_source_word(RunSource source)
{
    assert(source < ARRAY_LEN(sources));
    return sources[source].word;
}

const char *run_source_text(RunSource source)
{
    assert(source < ARRAY_LEN(sources));
    return sources[source].text;
}

bool run_of_rule(RuleKind kind)
{
    return kind == RULE_JOB || kind == RULE_AUTOMATION;
}

Str run_event_id(Arena *arena, Uuid event, int64_t rule)
{
    char text[UUID_TEXT_LEN + 1];
    return str_format(arena, "%.*s.%lld", STR_ARG(uuid_text(event, text)), (long long) rule);
}

bool run_event_parse(Str text, Uuid *ret_event, int64_t *ret_rule)
{
    Str rest = text;
    Str event = str_cut(&rest, '.');
    return uuid_parse(event, ret_event) && str_to_i64(rest, 1, INT64_MAX, ret_rule);
}

Str run_execution_id(Arena *arena, Uuid delivery, int attempt)
{
    char text[UUID_TEXT_LEN + 1];
    return str_format(arena, "%.*s-%d", STR_ARG(uuid_text(delivery, text)), attempt);
}

Str run_message(const Outcome *outcome)
{
    if (outcome->detail.len || outcome->verdict == VERDICT_DELIVERED)
        return outcome->detail.len ? outcome->detail : STR_NONE;
    return str_from(reason_meaning(outcome->reason));
}

Instant run_overtaken_at(const Job *job, Instant scheduled_for, Instant made_at, Instant now)
{
    const JobSchedule *schedule = job && job->schedule_count == 1 ? job->schedules : NULL;
    if (!schedule || !schedule->enabled)
        return INSTANT_NONE;
    Instant next = cron_next(&schedule->cron, schedule->zone, scheduled_for, false);
    if (next <= made_at)
        return INSTANT_NONE;
    bool is_skipped = next <= now && schedule->overlap == JOB_OVERLAP_SKIP;
    return is_skipped ? cron_next(&schedule->cron, schedule->zone, now, false) : next;
}

bool run_is_told(DeliveryState from, DeliveryState to, bool *ret_success)
{
    bool is_done = to == DELIVERY_DELIVERED || to == DELIVERY_COMPLETED;
    bool is_failed = delivery_is_live(from) && (to == DELIVERY_PARKED || to == DELIVERY_EXPIRED);
    *ret_success = is_done;
    return is_done || is_failed;
}

Str run_end_kind(bool is_success)
{
    return is_success ? S("job-completed") : S("job-failed");
}

Str run_end_payload(Arena *arena, const RunEnd *end)
{
    Buf buf = buf_new(arena, 6 * (end->job.len + end->entity.len + end->message.len) + 400);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    json_put_str(&out, S("job"), end->job);
    json_put_str(&out, S("entity"), end->entity);
    json_put_str(&out, S("executionId"), run_execution_id(arena, end->delivery, end->attempts));
    json_put_str(&out, S("source"), str_from(run_source_text(end->source)));
    json_put_bool(&out, S("succeeded"), end->is_success);
    json_put_str(&out, S("message"), end->message);
    json_put_i64(&out, S("attempts"), end->attempts);
    json_close(&out, '}');
    return buf_str(&buf);
}
