#include "errands.h"

#include "engine/duty.h"
#include "store/accept.h"
#include "store/definition.h"
#include "store/inbox.h"
#include "store/list.h"
#include "store/notification.h"
#include "store/tenant.h"

enum { MEMBERS = 3, EMITTED = 4, BAD = 2 };

#define LIST S("crew")

static Err run(Scenario *scenario, Err (*work)(Tx *tx, void *with, Error *error), Error *error)
{
    return writer_run(scenario->writer, work, scenario, error);
}

static Err list_work(Tx *tx, void *with, Error *error)
{
    ListMember members[MEMBERS];
    ListEdition edition;
    Definition made;
    (void) with;
    for (int i = 0; i < MEMBERS; i++)
        members[i] = (ListMember){ .address = str_format(&tx->arena, "crew-%d", i) };
    TRY(definition_create(tx, TENANT_FIRST, DEFINITION_LIST, LIST,
                          S("{\"id\":\"crew\",\"channels\":[\"memory:default\"],"
                            "\"retry\":{\"policy\":\"fixed\",\"interval\":\"10s\",\"max\":2}}"),
                          &made, error));
    TRY(list_begin(tx, TENANT_FIRST, LIST, MEMBERS, &edition, error));
    list_write(tx, &edition, 0, members, MEMBERS);
    return list_publish(tx, &edition, error);
}

Err errand_list(Scenario *scenario, Error *error)
{
    return run(scenario, list_work, error);
}

static Err notify_work(Tx *tx, void *with, Error *error)
{
    Accept *accept = with;
    TRY(notifications_name_now(tx, accept, error));
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

Err errand_notify(Scenario *scenario, Error *error)
{
    const Json *json;
    AcceptItem item = { 0 };
    Accept accept = { .arena = &scenario->scratch,
                      .tenant = TENANT_FIRST,
                      .items = &item,
                      .count = 1,
                      .now = clock_now(&scenario->clock) };
    Str body = str_format(&scenario->scratch,
                          "{\"kind\":\"notification\",\"source\":\"notification\",\"id\":\"n-%zu\","
                          "\"payload\":{\"list\":\"crew\",\"body\":\"It burns.\"}}",
                          scenario->step);
    TRY(json_parse(&scenario->scratch, body, &json, error));
    TRY(event_build(&scenario->scratch, json, &item.event, error));
    return writer_run(scenario->writer, notify_work, &accept, error);
}

static Err emit_work(Tx *tx, void *with, Error *error)
{
    Scenario *scenario = with;
    InboxRow rows[EMITTED];
    scenario_reseed(scenario);
    TRY(tx_sync(tx, error));
    for (int i = 0; i < EMITTED; i++)
        rows[i] = (InboxRow){
            .tenant = TENANT_FIRST,
            .id = uuid_new(tx->now, tx->random),
            .source = INBOX_SOURCE_SQL,
            .kind = INBOX_EVENT,
            .external_id = str_format(&tx->arena, "row-%zu-%d", scenario->step, i),
            .event_kind = S("visit"),
            .body = i == BAD ? S("{") : str_format(&tx->arena, "{\"number\":\"%d\"}", 9000 + i),
            .next_at = INSTANT_NONE,
            .received_at = tx->now,
            .processed_at = INSTANT_NONE,
        };
    inbox_put(tx, rows, EMITTED);
    return tx_sync(tx, error);
}

Err errand_emit(Scenario *scenario, Error *error)
{
    return run(scenario, emit_work, error);
}

// Errand is a duty of the engine's, done by itself.
typedef struct Errand {
    Scenario *scenario;
    ErrandDuty *run;
} Errand;

static Err duty_work(Tx *tx, void *with, Error *error)
{
    const Errand *errand = with;
    Clock *clock = &errand->scenario->clock;
    EngineOptions options = { .clock = clock,
                              .real = clock,
                              .writer = errand->scenario->writer,
                              .payload_max = EVENT_PAYLOAD_MAX };
    DutyReport report = { .firing.oldest = INSTANT_NONE };
    scenario_reseed(errand->scenario);
    TRY(tx_sync(tx, error));
    return errand->run(tx, &options, &report, error);
}

Err errand_duty(Scenario *scenario, ErrandDuty *duty, Error *error)
{
    Errand errand = { scenario, duty };
    return writer_run(scenario->writer, duty_work, &errand, error);
}

Err errand_drain(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, drain_run, error);
}

Err errand_number(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, sequence_duty_run, error);
}

Err errand_seal(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, seal_run, error);
}

Err errand_sample(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, sample_run, error);
}
