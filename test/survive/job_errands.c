#include "errands.h"

#include "domain/job.h"
#include "engine/duty.h"
#include "store/accept.h"
#include "store/defer.h"
#include "store/definition.h"
#include "store/lane.h"
#include "store/progress.h"
#include "store/schedule.h"
#include "store/tenant.h"

#define JOB S("rates")
#define BODY                                                                                       \
    S("{\"name\":\"rates\",\"handler\":\"memory:default\",\"cron\":\"*/20 * * * * *\","            \
      "\"missed\":\"all\",\"missedWindow\":\"70s\",\"overlap\":\"allow\",\"maxRetries\":1}")
#define DELAY ((Span) 15 * SPAN_SECOND)

static Err job_work(Tx *tx, void *with, Error *error)
{
    Definition made;
    Trigger job;
    (void) with;
    TRY(tx_sync(tx, error));
    TRY(definition_create(tx, TENANT_FIRST, DEFINITION_JOB, JOB, BODY, &made, error));
    TRY(job_parse(&tx->arena, BODY, &job, error));
    return schedule_follow(tx, TENANT_FIRST, &job, error);
}

Err errand_job(Scenario *scenario, Error *error)
{
    return writer_run(scenario->writer, job_work, scenario, error);
}

Err errand_fire(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, fire_run, error);
}

static Err defer_work(Tx *tx, void *with, Error *error)
{
    Accept *accept = with;
    TRY(deferrals_name_now(tx, accept, error));
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

static Err defer(Scenario *scenario, Deferral deferral, Error *error)
{
    AcceptItem item = { .deferral = &deferral };
    Accept accept = { .arena = &scenario->scratch,
                      .tenant = TENANT_FIRST,
                      .items = &item,
                      .count = 1,
                      .now = clock_now(&scenario->clock) };
    deferral.job = JOB;
    TRY(deferral_event(&scenario->scratch, &deferral, &item.event, error));
    return writer_run(scenario->writer, defer_work, &accept, error);
}

Err errand_defer(Scenario *scenario, Error *error)
{
    Instant run_at = clock_now(&scenario->clock) + DELAY;
    return defer(scenario, (Deferral){ .entity = S("12345"), .run_at = run_at, .replaces = true },
                 error);
}

Err errand_call_off(Scenario *scenario, Error *error)
{
    return defer(scenario,
                 (Deferral){ .entity = S("12345"), .run_at = INSTANT_NONE, .cancels = true },
                 error);
}

static Err progress_work(Tx *tx, void *with, Error *error)
{
    const Scenario *scenario = with;
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < scenario->held_count; i++)
        progress_add(tx,
                     &(Progress){ .tenant = scenario->held[i].tenant,
                                  .delivery = scenario->held[i].id,
                                  .attempt = scenario->held[i].live.attempt,
                                  .at = tx->now,
                                  .message = S("half of it") },
                     1);
    return tx_sync(tx, error);
}

Err errand_progress(Scenario *scenario, Error *error)
{
    return writer_run(scenario->writer, progress_work, scenario, error);
}
