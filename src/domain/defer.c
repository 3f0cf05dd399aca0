#include "domain/defer.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "domain/run.h"
#include "domain/trigger.h"

// check_when: a run is put off until a moment or for a while, not both.
static void check_when(const Members *members, void *value)
{
    bool has_moment = members_get(members, "runAt"), has_delay = members_get(members, "delay");
    (void) value;
    if (has_moment && has_delay)
        members_note(members, S("delay"), "bad-value", "runAt is given: one of the two says when");
    else if (!has_moment && !has_delay)
        members_note(members, S("runAt"), "missing-member", "runAt or delay must be given");
}

// clang-format off
#define AT(member) .offset = offsetof(Deferral, member)
#define JOB \
    { "job", FIELD_KEY, FIELD_NEEDED, AT(job), .max = TRIGGER_ID_MAX, .help = "its name" }
#define ENTITY \
    { "entity", FIELD_TEXT, FIELD_NEEDED, AT(entity), .max = EVENT_ENTITY_MAX, .help = "what the run is about: it is replaced and cancelled by it" }
#define WHEN \
    { "runAt", FIELD_TIME, AT(run_at), .help = "when it falls due; what is past runs at once" }, \
    { "delay", FIELD_SPAN, AT(delay), .given = offsetof(Deferral, has_delay), .min = 0, .max = DEFERRAL_AHEAD_MAX, .help = "or how long from now" }, \
    { "payload", FIELD_OBJECT, AT(payload), .help = "for the handler; the job's own unless said" }, \
    { "replace", FIELD_BOOL, AT(replaces), .help = "whether it takes the place of what is pending of the entity" }
static const Field body_fields[] = { ENTITY, WHEN };
static const Field row_fields[] = { JOB, ENTITY, WHEN };
static const Field cancel_fields[] = { JOB, ENTITY };
// clang-format on

const Shape deferral_body_shape = {
    "Deferral",
    SHAPE_ROWS(body_fields),
    .size = sizeof(Deferral),
    .check = check_when,
};
const Shape deferral_row_shape = {
    "DeferralRow",
    SHAPE_ROWS(row_fields),
    .size = sizeof(Deferral),
    .check = check_when,
};
const Shape deferral_cancel_shape = {
    "DeferralCancel",
    SHAPE_ROWS(cancel_fields),
    .size = sizeof(Deferral),
};

Err deferral_read(Arena *arena, const Json *body, Str place, const Shape *shape, Instant created_at,
                  Deferral *ret, Error *error)
{
    Deferral deferral = { .job = ret->job, .run_at = INSTANT_NONE };
    TRY(fields_read(arena, body, place, shape, &deferral, error));
    deferral.cancels = shape == &deferral_cancel_shape;
    if (deferral.has_delay)
        deferral.run_at = created_at + deferral.delay;
    if (!deferral.cancels && deferral.run_at - created_at > DEFERRAL_AHEAD_MAX)
        error_add(error, str_format(arena, "%.*s/runAt", STR_ARG(place)), "bad-value",
                  "may be %d days ahead", (int) (DEFERRAL_AHEAD_MAX / SPAN_DAY));
    TRY(error_close(error, ERR_INVALID));
    *ret = deferral;
    return ERR_OK;
}

Err deferral_check(const Deferral *deferral, Error *error)
{
    Str job = deferral->job, entity = deferral->entity;
    if (!field_is_key(job) || job.len > TRIGGER_ID_MAX)
        error_add(error, S("/job"), "bad-value",
                  "must have 1 to %d letters, digits and . _ : - only", TRIGGER_ID_MAX);
    if (entity.len == 0 || entity.len > EVENT_ENTITY_MAX || !str_is_utf8(entity) ||
        !str_is_printable(entity))
        error_add(error, S("/entity"), "bad-value",
                  "must have 1 to %d bytes of UTF-8 and no control characters", EVENT_ENTITY_MAX);
    return error_close(error, ERR_INVALID);
}

Err deferral_event(Arena *arena, const Deferral *deferral, Event *ret, Error *error)
{
    Str payload = deferral->payload ? json_text(arena, deferral->payload) : S("{}");
    Str source = str_from(run_source_word(RUN_DEFERRED));
    *ret = (Event){ .kind = RUN_EVENT_KIND,
                    .source = deferral->cancels ? DEFERRAL_CANCEL_SOURCE : source,
                    .entity = deferral->entity,
                    .occurred_at = deferral->run_at,
                    .payload = payload };
    return json_parse(arena, payload, &ret->payload_json, error);
}

Uuid deferral_key(Arena *scratch, int64_t rule, Str entity)
{
    Sha256 hash = dedup_parts(scratch, &entity, 1);
    return dedup_key(rule, &hash);
}

RetryPolicy deferral_retry(RetryPolicy policy, const Origin *origin)
{
    if (run_source(origin->source) != RUN_DEFERRED)
        return policy;
    policy.kind = RETRY_PROPORTIONAL;
    policy.is_measured = true;
    policy.original_delay = later(origin->occurred_at - origin->received_at, 0);
    return policy;
}
