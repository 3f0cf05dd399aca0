#include "documents.h"

#include "domain/automation.h"

static Arena arena;

static Trigger job_of(const char *body)
{
    Trigger trigger = { 0 };
    Error error = { .arena = &arena };
    CHECK_AT(body, rule_parse(RULE_JOB, &arena, quoted(&arena, body), &trigger, &error) == ERR_OK);
    return trigger;
}

static void a_job_is_compiled(void)
{
    Trigger trigger =
        job_of("{'name':'CurrencyRateSync','cron':'15 12 * * *','zone':'Europe/Warsaw',"
               "'handler':'http:rates','payload':{'base': 'EUR'},'maxRetries':7,'missed':'all',"
               "'overlap':'queue','timeout':'10m'}");
    const Job *job = trigger.job;
    CHECK(trigger.rule.kind == RULE_JOB && trigger.enabled && !trigger.event_kind.len);
    CHECK(str_eq(trigger.rule.id, S("CurrencyRateSync")));
    CHECK(str_eq(trigger.channel, S("http:rates")));
    CHECK(trigger.rule.has_retry && trigger.rule.retry.kind == RETRY_EXPONENTIAL);
    CHECK(trigger.rule.retry.max == 7 && trigger.rule.retry.unclassified_max == 7);
    CHECK(job->schedule_count == 1 && job->timeout == 10 * SPAN_MINUTE);
    CHECK(str_eq(job->payload, S("{\"base\":\"EUR\"}")));
    const JobSchedule *schedule = job->schedules;
    CHECK(schedule->enabled && schedule->name.len == 0);
    CHECK(str_eq(schedule->text, S("15 12 * * *")));
    CHECK(str_eq(zone_name(schedule->zone), S("Europe/Warsaw")));
    CHECK(schedule->missed == JOB_MISSED_ALL && schedule->missed_window == SPAN_DAY);
    CHECK(schedule->overlap == JOB_OVERLAP_QUEUE);
    arena_done(&arena);
}

static void what_is_left_out_has_its_default(void)
{
    Trigger trigger = job_of("{'name':'j','handler':'worker:w'}");
    CHECK(trigger.job->schedule_count == 0 && trigger.job->timeout == 0);
    CHECK(!trigger.job->payload.at && trigger.rule.retry.max == 3 && trigger.enabled);

    trigger = job_of("{'name':'j','handler':'worker:w','cron':null,'zone':null}");
    CHECK(trigger.job->schedule_count == 0);

    trigger = job_of("{'name':'j','handler':'worker:w','cron':'@daily','enabled':false,"
                     "'reason':'closed on holidays','maxRetries':0}");
    const JobSchedule *schedule = trigger.job->schedules;
    CHECK(schedule->zone == zone_utc && !schedule->enabled && !trigger.enabled);
    CHECK(schedule->missed == JOB_MISSED_ONCE && schedule->missed_window == 0);
    CHECK(schedule->overlap == JOB_OVERLAP_SKIP && trigger.rule.retry.max == 0);
    CHECK(str_eq(trigger.job->reason, S("closed on holidays")));
    arena_done(&arena);
}

static void a_bad_job_is_refused_with_its_place(void)
{
    static const struct {
        const char *member, *path, *code;
    } rows[] = {
        { "'name':''", "/name", "bad-value" },
        { "'name':7", "/name", "bad-type" },
        { "'name':'a/b'", "/name", "bad-value" },
        { "'name':'a\\u0001b'", "/name", "bad-value" },
        { "'handler':'a b'", "/handler", "bad-value" },
        { "'handler':null", "/handler", "missing-member" },
        { "'cron':'61 * * * *'", "/cron", "bad-cron" },
        { "'cron':''", "/cron", "bad-value" },
        { "'cron':5", "/cron", "bad-type" },
        { "'zone':'Europe/Nowhere'", "/zone", "bad-zone" },
        { "'zone':'../../etc/passwd'", "/zone", "bad-zone" },
        { "'enabled':'yes'", "/enabled", "bad-type" },
        { "'payload':[]", "/payload", "bad-type" },
        { "'maxRetries':-1", "/maxRetries", "bad-value" },
        { "'maxRetries':1001", "/maxRetries", "bad-value" },
        { "'maxRetries':1.5", "/maxRetries", "bad-value" },
        { "'missed':'twice'", "/missed", "bad-value" },
        { "'missedWindow':'soon'", "/missedWindow", "bad-duration" },
        { "'missedWindow':'0s'", "/missedWindow", "bad-duration" },
        { "'overlap':'both'", "/overlap", "bad-value" },
        { "'timeout':'25h'", "/timeout", "bad-duration" },
        { "'reason':7", "/reason", "bad-type" },
        { "'crom':'@daily'", "/crom", "unknown-member" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool has_name = str_starts(str_from(rows[i].member), S("'name'"));
        bool has_handler = str_starts(str_from(rows[i].member), S("'handler'"));
        Str body = str_format(&arena, "{%s%s%s}", has_name ? "" : "'name':'j',",
                              has_handler ? "" : "'handler':'h',", rows[i].member);
        Trigger trigger;
        Error error = { .arena = &arena };
        CHECK_AT(rows[i].member, job_parse(&arena, quoted(&arena, str_z(&arena, body)), &trigger,
                                           &error) == ERR_JOB_INVALID);
        CHECK_AT(rows[i].member, error.count == 1 &&
                                     str_eq(error.problems[0].path, str_from(rows[i].path)) &&
                                     strcmp(error.problems[0].code, rows[i].code) == 0);
    }
    arena_done(&arena);
}

// A name has 1 to 100 characters; every problem is listed, not only the first.
static void a_name_has_an_end(void)
{
    char name[102] = { 0 };
    for (size_t len = 100; len <= 101; len++) {
        memset(name, 'n', len);
        Str body = str_format(&arena, "{'name':'%s','handler':'h'}", name);
        Trigger trigger;
        Error error = { .arena = &arena };
        Err err = job_parse(&arena, quoted(&arena, str_z(&arena, body)), &trigger, &error);
        CHECK(err == (len == 100 ? ERR_OK : ERR_JOB_INVALID));
    }
    Trigger trigger;
    Error error = { .arena = &arena };
    CHECK(job_parse(&arena, quoted(&arena, "{'cron':'x','zone':'y'}"), &trigger, &error) ==
          ERR_JOB_INVALID);
    CHECK(error.count == 4);
    arena_done(&arena);
}

// No event finds a job; asked by name it makes a run, and a disabled one none.
static void a_job_decides_when_it_is_named(void)
{
    Trigger trigger = job_of("{'name':'j','handler':'worker:w'}");
    Event event = { .kind = S("job"), .payload = S("{}"), .occurred_at = INSTANT_NONE };
    CHECK(event_parse(&arena, &event, NULL) == ERR_OK);
    CHECK(trigger_decide(&arena, &trigger, &event, 0).kind == DECISION_CREATED);
    trigger.enabled = false;
    CHECK(trigger_decide(&arena, &trigger, &event, 0).kind == DECISION_DISABLED);
    arena_done(&arena);
}

static void an_automation_has_many_schedules(void)
{
    Trigger trigger = { 0 };
    Error error = { .arena = &arena };
    const char *body = "{'id':'triage','name':'Triage','handler':'http:t','schedules':["
                       "{'name':'a','cron':'@daily'},"
                       "{'name':'b','cron':'0 3 * * *','zone':'Europe/Warsaw','enabled':false,"
                       "'missed':'all','overlap':'allow'}]}";
    CHECK(rule_parse(RULE_AUTOMATION, &arena, quoted(&arena, body), &trigger, &error) == ERR_OK);
    const JobSchedule *schedules = trigger.job->schedules;
    CHECK(trigger.rule.kind == RULE_AUTOMATION && trigger.job->schedule_count == 2);
    CHECK(str_eq(schedules[0].name, S("a")) && schedules[0].enabled &&
          schedules[0].zone == zone_utc && schedules[0].missed == JOB_MISSED_ONCE);
    CHECK(!schedules[1].enabled && schedules[1].missed_window == SPAN_DAY);
    CHECK(schedules[1].overlap == JOB_OVERLAP_ALLOW && trigger.rule.retry.max == 3);
    body =
        "{'id':'triage','handler':'h','enabled':false,'schedules':[{'name':'a','cron':'@daily'}]}";
    CHECK(automation_parse(&arena, quoted(&arena, body), &trigger, &error) == ERR_OK);
    CHECK(!trigger.job->schedules[0].enabled);
    arena_done(&arena);
}

static const Test tests[] = {
    TEST(a_job_is_compiled),
    TEST(what_is_left_out_has_its_default),
    TEST(a_bad_job_is_refused_with_its_place),
    TEST(a_name_has_an_end),
    TEST(a_job_decides_when_it_is_named),
    TEST(an_automation_has_many_schedules),
};

TEST_MAIN(tests)
