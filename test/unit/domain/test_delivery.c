#include "domain/delivery.h"

#include "documents.h"

// clang-format off
static const struct {
    DeliveryState state;
    const char *text;
    bool is_final, is_live;
    const char *may; // the actions, by first letter: Claim Settle cAncel cOmplete Expire Retry Discard recaLl sKip
} expected[] = {
    { DELIVERY_PENDING,   "pending",   false, true,  "C-AOE--LK" },
    { DELIVERY_SENDING,   "sending",   false, true,  "-SAO---L-" },
    { DELIVERY_RETRYING,  "retrying",  false, true,  "C-AOE--LK" },
    { DELIVERY_WAITING,   "waiting",   false, true,  "C-AOE--L-" },
    { DELIVERY_PARKED,    "parked",    false, false, "---OERD--" },
    { DELIVERY_DELIVERED, "delivered", true,  false, "---------" },
    { DELIVERY_COMPLETED, "completed", true,  false, "---------" },
    { DELIVERY_EXPIRED,   "expired",   true,  false, "---------" },
    { DELIVERY_CANCELLED, "cancelled", true,  false, "---------" },
    { DELIVERY_DISCARDED, "discarded", true,  false, "---------" },
};
// clang-format on

static void every_state_allows_its_actions_and_no_others(void)
{
    static const DeliveryAction actions[] = {
        DELIVERY_ACTION_CLAIM,    DELIVERY_ACTION_SETTLE, DELIVERY_ACTION_CANCEL,
        DELIVERY_ACTION_COMPLETE, DELIVERY_ACTION_EXPIRE, DELIVERY_ACTION_RETRY,
        DELIVERY_ACTION_DISCARD,  DELIVERY_ACTION_RECALL, DELIVERY_ACTION_SKIP,
    };
    CHECK(ARRAY_LEN(expected) == DELIVERY_STATE_COUNT);
    CHECK(ARRAY_LEN(actions) == TABLE_ROWS(DELIVERY_ACTION_TABLE));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        for (size_t j = 0; j < ARRAY_LEN(actions); j++)
            CHECK_AT(expected[i].text,
                     delivery_may(expected[i].state, actions[j]) == (expected[i].may[j] != '-'));
    }
}

static void a_state_has_its_words_and_its_place(void)
{
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        DeliveryState state = expected[i].state, parsed = DELIVERY_DISCARDED;
        CHECK_AT(expected[i].text, state == (DeliveryState) i); // stored as this number
        CHECK_AT(expected[i].text, strcmp(delivery_state_text(state), expected[i].text) == 0);
        CHECK_AT(expected[i].text, delivery_is_final(state) == expected[i].is_final);
        CHECK_AT(expected[i].text, delivery_is_live(state) == expected[i].is_live);
        CHECK_AT(expected[i].text, delivery_state_parse(str_from(expected[i].text), &parsed));
        CHECK_AT(expected[i].text, parsed == state);
    }
    DeliveryState untouched = DELIVERY_WAITING;
    CHECK(!delivery_state_parse(S("Pending"), &untouched) && untouched == DELIVERY_WAITING);
    CHECK(!delivery_state_parse(S(""), &untouched));
}

// The words of CONTRACT's table, and behind a bar the one after a send, a look or a failure.
// clang-format off
static const char *const statuses[][1 + STATUS_FAMILY_COUNT] = {
    { "pending",   "Pending",      "Pending",          "Pending",   "Pending",   "queued" },
    { "sending",   "Pending|Sent", "Pending|Retrying", "Running",   "Pending",   "processing" },
    { "retrying",  "Pending|Sent", "Pending|Retrying", "Retrying",  "Pending",   "queued" },
    { "waiting",   "Sent|Opened",  NULL,               NULL,        "Sent",      NULL },
    { "parked",    "Parked",       "Parked",           "Dead",      "Failed",    "failed" },
    { "delivered", "Sent",         "Delivered",        "Succeeded", "Sent",      "completed" },
    { "completed", "Completed",    NULL,               NULL,        "Sent",      "completed" },
    { "expired",   "Expired",      NULL,               "Failed",    "Cancelled", "skipped" },
    { "cancelled", "Cancelled",    "Discarded",        "Cancelled", "Cancelled", "skipped" },
    { "discarded", "Discarded",    "Discarded",        "Discarded", "Failed",    "skipped" },
};
// clang-format on

static void every_family_has_its_word_for_every_state(void)
{
    static const Live anew = { .last_sent_at = INSTANT_NONE, .opened_at = INSTANT_NONE };
    static const Live aged = { .failures = 1 };
    CHECK(ARRAY_LEN(statuses) == DELIVERY_STATE_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        DeliveryState state = DELIVERY_DISCARDED;
        CHECK_AT(statuses[i][0], delivery_state_parse(str_from(statuses[i][0]), &state));
        for (int family = 0; family < STATUS_FAMILY_COUNT; family++) {
            Str later = str_from(statuses[i][1 + family]), first = str_cut(&later, '|');
            Str is = str_from(delivery_status((StatusFamily) family, state, &anew));
            Str becomes = str_from(delivery_status((StatusFamily) family, state, &aged));
            CHECK_AT(statuses[i][0], str_eq(is, first));
            CHECK_AT(statuses[i][0], str_eq(becomes, later.len ? later : first));
        }
    }
}

static void words_of_the_other_tables(void)
{
    CHECK(strcmp(delivery_action_text(DELIVERY_ACTION_DISCARD), "discard") == 0);
    CHECK(strcmp(verdict_text(VERDICT_UNKNOWN), "unknown") == 0);
    CHECK(strcmp(reason_code(REASON_NO_CHANNEL), "no-channel") == 0);
    CHECK(strcmp(reason_code(REASON_NONE), "") == 0);
    for (int i = 0; i < TABLE_ROWS(DELIVERY_REASON_TABLE); i++)
        CHECK(reason_code((DeliveryReason) i) && reason_meaning((DeliveryReason) i)[0]);
}

#define AT(minutes) ((Instant) 1000 * SPAN_DAY + (minutes) *SPAN_MINUTE)

// claimed is a first send, triggered and due at AT(0), under way since AT(1).
static Live claimed(void)
{
    return (Live){ .state = DELIVERY_SENDING,
                   .step = STEP_SEND,
                   .due_at = AT(2),
                   .attempt = 1,
                   .send = 1,
                   .triggered_at = AT(0),
                   .first_due_at = AT(0),
                   .last_sent_at = INSTANT_NONE,
                   .started_at = AT(1) };
}

static const Outcome taken = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
static const Outcome unwell = { .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL };

static void a_delivered_attempt_advances_the_plan(void)
{
    static const struct {
        const char *name;
        int reminder_count, reminders_left;
        bool await_answer;
        DeliveryState state;
        Step step;
        Instant due_at;
        int left;
        Instant first_due_at;
        DeliveryReason reason;
    } cases[] = {
        { "nothing more to do", 0, 0, false, DELIVERY_DELIVERED, 0, INSTANT_NONE, 0, AT(0),
          REASON_ACCEPTED },
        { "an answer is awaited", 0, 0, true, DELIVERY_WAITING, STEP_EXPIRE, AT(1) + 30 * SPAN_DAY,
          0, AT(0), REASON_NONE },
        { "a first reminder", 2, 2, true, DELIVERY_WAITING, STEP_SEND, AT(1) + 5 * SPAN_DAY, 1,
          AT(1) + 5 * SPAN_DAY, REASON_NONE },
        { "a last reminder", 2, 1, true, DELIVERY_WAITING, STEP_SEND, AT(1) + 10 * SPAN_DAY, 0,
          AT(1) + 10 * SPAN_DAY, REASON_NONE },
        { "after the last reminder", 2, 0, true, DELIVERY_WAITING, STEP_EXPIRE,
          AT(1) + 30 * SPAN_DAY, 0, AT(0), REASON_NONE },
        { "reminders without an answer", 2, 2, false, DELIVERY_WAITING, STEP_SEND,
          AT(1) + 5 * SPAN_DAY, 1, AT(1) + 5 * SPAN_DAY, REASON_NONE },
        { "and then the end", 2, 0, false, DELIVERY_DELIVERED, 0, INSTANT_NONE, 0, AT(0),
          REASON_ACCEPTED },
    };
    RetryPolicy policy = retry_default();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Plan plan = { .reminder_count = (size_t) cases[i].reminder_count,
                      .reminders = (const Span[]){ 5 * SPAN_DAY, 10 * SPAN_DAY },
                      .await_answer = cases[i].await_answer,
                      .expire_after = 30 * SPAN_DAY };
        Live live = claimed();
        live.failures = 3;
        live.reminders_left = cases[i].reminders_left;
        Settlement got = delivery_settle(&live, &plan, &policy, &taken, AT(3), 0);
        CHECK_AT(cases[i].name, got.live.state == cases[i].state);
        CHECK_AT(cases[i].name, !cases[i].step || got.live.step == cases[i].step);
        CHECK_AT(cases[i].name, got.live.due_at == cases[i].due_at);
        CHECK_AT(cases[i].name, got.live.reminders_left == cases[i].left);
        CHECK_AT(cases[i].name, got.live.first_due_at == cases[i].first_due_at);
        CHECK_AT(cases[i].name, got.live.last_sent_at == AT(1)); // the start, not the end
        CHECK_AT(cases[i].name, got.live.failures == 0);
        CHECK_AT(cases[i].name, got.live.send == 1 && got.live.attempt == 1);
        CHECK_AT(cases[i].name, got.reason == cases[i].reason);
        CHECK_AT(cases[i].name, got.expires_at == INSTANT_NONE);
    }
}

static const struct {
    const char *name;
    int failures;       // before this one
    Span give_up_after; // 0: none
    Outcome outcome;
    Instant now;
    DeliveryState state;
    Instant due_at;
    DeliveryReason reason;
} failures[] = {
#define UNWELL                                                                                     \
    {                                                                                              \
        .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL                                      \
    }
#define LAPSED                                                                                     \
    {                                                                                              \
        .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED                                  \
    }
#define WAIT(span)                                                                                 \
    {                                                                                              \
        .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL, .retry_after = (span)               \
    }
#define UNREAD                                                                                     \
    {                                                                                              \
        .verdict = VERDICT_TRANSIENT, .reason = REASON_UNCLASSIFIED                                \
    }
    { "first", 0, 0, UNWELL, AT(5), DELIVERY_RETRYING, AT(6), REASON_UNWELL },
    { "not understood", 0, 0, UNREAD, AT(5), DELIVERY_RETRYING, AT(6), REASON_UNCLASSIFIED },
    { "not understood again", 1, 0, UNREAD, AT(5), DELIVERY_PARKED, INSTANT_NONE,
      REASON_UNCLASSIFIED },
    { "second", 1, 0, UNWELL, AT(5), DELIVERY_RETRYING, AT(7), REASON_UNWELL },
    { "last of the budget", 4, 0, UNWELL, AT(5), DELIVERY_RETRYING, AT(21), REASON_UNWELL },
    { "one too many", 5, 0, UNWELL, AT(5), DELIVERY_PARKED, INSTANT_NONE, REASON_GAVE_UP },
    { "a lapse counts", 0, 0, LAPSED, AT(5), DELIVERY_RETRYING, AT(6), REASON_LEASE_LAPSED },
    { "a lapse too many", 5, 0, LAPSED, AT(5), DELIVERY_PARKED, INSTANT_NONE, REASON_GAVE_UP },
    { "asked to wait", 0, 0, WAIT(SPAN_HOUR), AT(5), DELIVERY_RETRYING, AT(65), REASON_UNWELL },
    { "asked to hurry", 2, 0, WAIT(SPAN_SECOND), AT(5), DELIVERY_RETRYING, AT(9), REASON_UNWELL },
    { "within the time", 0, SPAN_HOUR, UNWELL, AT(5), DELIVERY_RETRYING, AT(6), REASON_UNWELL },
    { "cut to the deadline", 4, 20 * SPAN_MINUTE, UNWELL, AT(5), DELIVERY_RETRYING, AT(20),
      REASON_UNWELL },
    { "at the deadline", 1, 20 * SPAN_MINUTE, UNWELL, AT(20), DELIVERY_PARKED, INSTANT_NONE,
      REASON_TOO_LATE },
    { "behind the deadline", 1, 20 * SPAN_MINUTE, UNWELL, AT(21), DELIVERY_PARKED, INSTANT_NONE,
      REASON_TOO_LATE },
    { "asked to wait too long", 0, 20 * SPAN_MINUTE, WAIT(SPAN_HOUR), AT(5), DELIVERY_PARKED,
      INSTANT_NONE, REASON_TOO_LATE },
    { "asked to wait just so long", 0, 20 * SPAN_MINUTE, WAIT(15 * SPAN_MINUTE), AT(5),
      DELIVERY_RETRYING, AT(20), REASON_UNWELL },
    { "refused",
      0,
      0,
      { .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED },
      AT(5),
      DELIVERY_PARKED,
      INSTANT_NONE,
      REASON_REFUSED },
    { "no such channel",
      0,
      0,
      { .verdict = VERDICT_PERMANENT, .reason = REASON_NO_CHANNEL },
      AT(5),
      DELIVERY_PARKED,
      INSTANT_NONE,
      REASON_NO_CHANNEL },
#undef UNWELL
#undef LAPSED
#undef WAIT
#undef UNREAD
};

static void a_failed_attempt_spends_the_budget(void)
{
    Plan plan = { .expire_after = 30 * SPAN_DAY };
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        RetryPolicy policy = retry_default();
        policy.give_up_after = failures[i].give_up_after;
        Live live = claimed();
        live.failures = failures[i].failures;
        Settlement got =
            delivery_settle(&live, &plan, &policy, &failures[i].outcome, failures[i].now, 0);
        CHECK_AT(failures[i].name, got.live.state == failures[i].state);
        CHECK_AT(failures[i].name, got.live.due_at == failures[i].due_at);
        CHECK_AT(failures[i].name, got.reason == failures[i].reason);
        CHECK_AT(failures[i].name, got.live.last_sent_at == INSTANT_NONE);
        CHECK_AT(failures[i].name, got.live.attempt == 1 && got.live.send == 1);
        CHECK_AT(failures[i].name, got.live.first_due_at == AT(0));
        CHECK_AT(failures[i].name, got.expires_at == INSTANT_NONE);
        if (got.live.state == DELIVERY_RETRYING) {
            CHECK_AT(failures[i].name, got.live.step == STEP_SEND);
            CHECK_AT(failures[i].name, got.live.failures == failures[i].failures + 1);
        }
    }
}

static void the_policy_gets_the_original_delay_and_the_jitter(void)
{
    Plan plan = { 0 };
    Live live = claimed();
    live.triggered_at = AT(0) - 15 * SPAN_MINUTE;
    RetryPolicy proportional = { .kind = RETRY_PROPORTIONAL, .max = 3 };
    Settlement got = delivery_settle(&live, &plan, &proportional, &unwell, AT(5), 0);
    CHECK(got.live.due_at == AT(5) + 90 * SPAN_SECOND);
    live.failures = 1;
    got = delivery_settle(&live, &plan, &proportional, &unwell, AT(5), 0);
    CHECK(got.live.due_at == AT(8));

    RetryPolicy exponential = retry_default();
    live.failures = 0;
    got = delivery_settle(&live, &plan, &exponential, &unwell, AT(5), 0.5);
    CHECK(got.live.due_at == AT(6) + 3 * SPAN_SECOND);
}

static void a_parked_delivery_that_awaits_an_answer_expires(void)
{
    static const struct {
        const char *name;
        bool await_answer;
        Instant last_sent_at;
        Instant now;
        Instant expires_at;
    } cases[] = {
        { "never sent", true, INSTANT_NONE, AT(5), AT(0) + 30 * SPAN_DAY },
        { "sent before", true, AT(0) + SPAN_DAY, AT(5), AT(0) + 31 * SPAN_DAY },
        { "quiet for long", true, INSTANT_NONE, AT(0) + 40 * SPAN_DAY, AT(0) + 40 * SPAN_DAY },
        { "no answer awaited", false, INSTANT_NONE, AT(5), INSTANT_NONE },
    };
    RetryPolicy policy = retry_default();
    Outcome refused = { .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Plan plan = { .await_answer = cases[i].await_answer, .expire_after = 30 * SPAN_DAY };
        Live live = claimed();
        live.last_sent_at = cases[i].last_sent_at;
        Settlement got = delivery_settle(&live, &plan, &policy, &refused, cases[i].now, 0);
        CHECK_AT(cases[i].name, got.live.state == DELIVERY_PARKED);
        CHECK_AT(cases[i].name, got.expires_at == cases[i].expires_at);
    }
}

static void a_new_delivery_waits_for_its_first_send(void)
{
    Plan plan = { .reminder_count = 3 };
    Live live = delivery_first(&plan, AT(60), AT(0));
    CHECK(live.state == DELIVERY_PENDING && live.step == STEP_SEND && live.due_at == AT(60));
    CHECK(live.attempt == 0 && live.send == 0 && live.failures == 0 && live.reminders_left == 3);
    CHECK(live.triggered_at == AT(0) && live.first_due_at == AT(60));
    CHECK(live.last_sent_at == INSTANT_NONE && live.started_at == INSTANT_NONE);
}

static void a_revived_delivery_begins_its_send_again(void)
{
    Live parked = { .state = DELIVERY_PARKED,
                    .due_at = INSTANT_NONE,
                    .attempt = 9,
                    .failures = 6,
                    .send = 2,
                    .reminders_left = 1,
                    .triggered_at = AT(0),
                    .first_due_at = AT(10),
                    .last_sent_at = AT(1),
                    .started_at = AT(20) };
    Live live = delivery_act_on(&parked, DELIVERY_ACTION_RETRY, AT(500)).live;
    CHECK(live.state == DELIVERY_PENDING && live.step == STEP_SEND && live.due_at == AT(500));
    CHECK(live.failures == 0 && live.first_due_at == AT(500));
    CHECK(live.attempt == 9 && live.reminders_left == 1);
    CHECK(live.triggered_at == AT(0) && live.last_sent_at == AT(1));
    CHECK(live.send == 1); // the claim makes it 2 again
    parked.send = 0;
    CHECK(delivery_act_on(&parked, DELIVERY_ACTION_RETRY, AT(500)).live.send == 0);
}

// What an action makes of a delivery, whatever its live state; its figures stay.
static void an_action_ends_a_delivery_with_its_reason(void)
{
    static const struct {
        DeliveryAction action;
        DeliveryState from, to;
        DeliveryReason reason;
    } rows[] = {
        { DELIVERY_ACTION_CANCEL, DELIVERY_PENDING, DELIVERY_CANCELLED, REASON_BY_OPERATOR },
        { DELIVERY_ACTION_CANCEL, DELIVERY_SENDING, DELIVERY_CANCELLED, REASON_BY_OPERATOR },
        { DELIVERY_ACTION_RECALL, DELIVERY_WAITING, DELIVERY_CANCELLED, REASON_CALLED_OFF },
        { DELIVERY_ACTION_COMPLETE, DELIVERY_RETRYING, DELIVERY_COMPLETED, REASON_ANSWERED },
        { DELIVERY_ACTION_COMPLETE, DELIVERY_PARKED, DELIVERY_COMPLETED, REASON_ANSWERED },
        { DELIVERY_ACTION_DISCARD, DELIVERY_PARKED, DELIVERY_DISCARDED, REASON_BY_OPERATOR },
        { DELIVERY_ACTION_EXPIRE, DELIVERY_WAITING, DELIVERY_EXPIRED, REASON_QUIET },
        { DELIVERY_ACTION_EXPIRE, DELIVERY_PARKED, DELIVERY_EXPIRED, REASON_QUIET },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Live live = { .state = rows[i].from,
                      .step = STEP_EXPIRE,
                      .due_at = AT(9),
                      .attempt = 3,
                      .failures = 1,
                      .send = 2,
                      .reminders_left = 1,
                      .first_due_at = AT(1),
                      .last_sent_at = AT(2),
                      .opened_at = AT(3),
                      .started_at = AT(4) };
        Settlement to = rows[i].action == DELIVERY_ACTION_EXPIRE
                            ? delivery_expire(&live)
                            : delivery_act_on(&live, rows[i].action, AT(500));
        CHECK(to.live.state == rows[i].to && to.reason == rows[i].reason);
        CHECK(to.expires_at == INSTANT_NONE && to.live.started_at == INSTANT_NONE);
        CHECK(to.live.attempt == 3 && to.live.failures == 1 && to.live.send == 2);
        CHECK(to.live.reminders_left == 1 && to.live.first_due_at == AT(1));
        CHECK(to.live.last_sent_at == AT(2) && to.live.opened_at == AT(3));
    }
}

static void claim(Live *live, Instant now)
{
    *live = delivery_claim(live, now, now + SPAN_SECOND, 7);
}

static void a_claim_begins_an_attempt_and_mostly_a_send(void)
{
    static const DeliveryState states[] = { DELIVERY_PENDING, DELIVERY_RETRYING, DELIVERY_WAITING };
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        Live live = {
            .state = states[i], .step = STEP_SEND, .due_at = AT(1), .attempt = 4, .send = 2
        };
        claim(&live, AT(7));
        CHECK(live.state == DELIVERY_SENDING && live.attempt == 5 && live.started_at == AT(7));
        CHECK(live.send == (states[i] == DELIVERY_RETRYING ? 2 : 3));
    }
}

static void a_survey_is_sent_on_days_60_65_75_90_and_expires_on_120(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Plan plan = plan_default();
    Error error = { .arena = &arena };
    fields_note(&arena, document(&arena, "{'initialDelay':'60d','reminders':['5d','10d','15d']}"),
                S(""), &plan_shape, &plan, &error);
    RetryPolicy policy = retry_default();
    Instant day_0 = 20000 * SPAN_DAY;
    Live live = delivery_first(&plan, plan_first_due(&plan, day_0, day_0, day_0), day_0);
    static const int days[] = { 60, 65, 75, 90 };
    for (int i = 0; i < 4; i++) {
        CHECK(live.due_at == day_0 + days[i] * SPAN_DAY && live.reminders_left == 3 - i);
        claim(&live, live.due_at);
        CHECK(live.send == i + 1 && live.attempt == i + 1);
        live = delivery_settle(&live, &plan, &policy, &taken, live.started_at, 0).live;
        CHECK(live.state == DELIVERY_WAITING);
    }
    CHECK(live.step == STEP_EXPIRE && live.due_at == day_0 + 120 * SPAN_DAY);
}

static void each_send_has_a_budget_of_its_own(void)
{
    Plan plan = { .reminder_count = 1,
                  .reminders = (const Span[]){ SPAN_DAY },
                  .await_answer = true,
                  .expire_after = 30 * SPAN_DAY };
    RetryPolicy policy = {
        .kind = RETRY_FIXED, .interval = SPAN_MINUTE, .max = 2, .give_up_after = SPAN_HOUR
    };
    Live live = delivery_first(&plan, AT(0), AT(0));
    for (int send = 1; send <= 2; send++) {
        for (int i = 0; i < 2; i++) {
            claim(&live, live.due_at);
            live = delivery_settle(&live, &plan, &policy, &unwell, live.started_at, 0).live;
            CHECK(live.state == DELIVERY_RETRYING && live.send == send);
        }
        claim(&live, live.due_at);
        CHECK(live.send == send && live.attempt == send * 3);
        live = delivery_settle(&live, &plan, &policy, &taken, live.started_at, 0).live;
        CHECK(live.state == DELIVERY_WAITING && live.failures == 0);
    }
    CHECK(live.step == STEP_EXPIRE);
}

static void six_failures_park_and_a_person_starts_it_anew(void)
{
    Plan plan = { 0 };
    RetryPolicy policy = retry_default();
    Live live = delivery_first(&plan, AT(0), AT(0));
    static const int minutes[] = { 0, 1, 3, 7, 15, 31 };
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        CHECK(live.due_at == AT(minutes[i]));
        claim(&live, live.due_at);
        live = delivery_settle(&live, &plan, &policy, &unwell, live.started_at, 0).live;
    }
    CHECK(live.state == DELIVERY_PARKED && live.attempt == 6 && live.send == 1);
    live = delivery_act_on(&live, DELIVERY_ACTION_RETRY, AT(600)).live;
    claim(&live, AT(600));
    CHECK(live.send == 1 && live.attempt == 7);
    live = delivery_settle(&live, &plan, &policy, &taken, AT(600), 0).live;
    CHECK(live.state == DELIVERY_DELIVERED);
}

static void the_deadline_gets_its_attempt_whatever_the_jitter(void)
{
    Plan plan = { 0 };
    RetryPolicy policy = { .kind = RETRY_EXPONENTIAL,
                           .interval = SPAN_MINUTE,
                           .max = 1000,
                           .give_up_after = 3 * SPAN_DAY };
    for (int i = 0; i <= 10; i++) {
        Live live = delivery_first(&plan, AT(0), AT(0));
        Instant last = 0;
        while (live.state != DELIVERY_PARKED) {
            last = live.due_at;
            claim(&live, last);
            live = delivery_settle(&live, &plan, &policy, &unwell, last, i / 10.0).live;
        }
        CHECK(last == AT(0) + 3 * SPAN_DAY);
    }
}

static void what_is_elsewhere_stays_under_its_lease(void)
{
    Plan plan = { 0 };
    RetryPolicy policy = { .max = 3 };
    Outcome elsewhere = { .verdict = VERDICT_ELSEWHERE, .lease = SPAN_HOUR };
    Live live = delivery_first(&plan, AT(0), AT(0));
    claim(&live, AT(1));
    Settlement lent = delivery_settle(&live, &plan, &policy, &elsewhere, AT(2), 0);
    CHECK(lent.live.state == DELIVERY_SENDING && lent.live.step == STEP_LEASE);
    CHECK(lent.live.holder == 0 && lent.live.fence == live.fence && live_is_sound(&lent.live));
    CHECK(lent.live.attempt == 1 && lent.live.failures == 0 && lent.live.started_at == AT(1));
    CHECK(lent.live.lease_until == AT(2) + SPAN_HOUR && lent.live.due_at == lent.live.lease_until);

    Settlement renewed = delivery_renew(&lent.live, AT(3) + SPAN_HOUR);
    CHECK(renewed.live.lease_until == AT(3) + SPAN_HOUR && renewed.live.fence == live.fence);
    CHECK(renewed.live.due_at == renewed.live.lease_until && renewed.live.step == STEP_LEASE);
    CHECK(delivery_renew(&renewed.live, AT(3)).live.due_at == renewed.live.due_at);
}

static void what_is_told_from_outside_settles_like_any_attempt(void)
{
    static const struct {
        Verdict verdict;
        DeliveryState to;
    } cases[] = {
        { VERDICT_DELIVERED, DELIVERY_DELIVERED },
        { VERDICT_TRANSIENT, DELIVERY_RETRYING },
        { VERDICT_UNKNOWN, DELIVERY_RETRYING },
        { VERDICT_PERMANENT, DELIVERY_PARKED },
    };
    Plan plan = { 0 };
    RetryPolicy policy = { .max = 3 };
    Live first = delivery_first(&plan, AT(0), AT(0));
    Live pulled = delivery_pull(&first, AT(1), AT(1) + SPAN_HOUR);
    CHECK(pulled.attempt == 1 && pulled.fence == first.fence + 1 && pulled.send == 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Outcome told = { .verdict = cases[i].verdict };
        Live live = delivery_settle(&pulled, &plan, &policy, &told, AT(5), 0).live;
        CHECK(live.state == cases[i].to && live.lease_until == INSTANT_NONE && live.holder == 0);
        CHECK(!delivery_is_live(live.state) || live.step == STEP_SEND);
        CHECK(live.attempt == 1 && live.fence == pulled.fence);
    }
    for (DeliveryAction action = DELIVERY_ACTION_CANCEL; action <= DELIVERY_ACTION_COMPLETE;
         action++)
        CHECK(delivery_is_final(delivery_act_on(&pulled, action, AT(5)).live.state));
}

static void what_was_not_even_tried_is_parked_without_an_attempt(void)
{
    Plan plan = { .await_answer = true, .expire_after = SPAN_DAY, .reminder_count = 0 };
    Live live = delivery_first(&plan, AT(0), AT(0));
    claim(&live, AT(1));
    Settlement refused = delivery_refuse(&live, &plan, REASON_NO_CHANNEL, AT(1));
    CHECK(refused.live.state == DELIVERY_PARKED && refused.reason == REASON_NO_CHANNEL);
    CHECK(refused.live.attempt == 0 && refused.live.failures == 0);
    CHECK(refused.expires_at == AT(0) + SPAN_DAY);
    Live again = delivery_act_on(&refused.live, DELIVERY_ACTION_RETRY, AT(2)).live;
    claim(&again, AT(3));
    CHECK(again.attempt == 1 && again.send == 1 && again.fence == live.fence + 1);
}

static void a_row_that_nobody_wrote_is_known_and_can_be_parked(void)
{
    Plan plan = { 0 };
    Live sound = delivery_first(&plan, AT(0), AT(0));
    Live sending = delivery_claim(&sound, AT(0), AT(1), 1);
    CHECK(live_is_sound(&sound) && live_is_sound(&sending));
    Live outside = delivery_pull(&sound, AT(0), AT(1));
    CHECK(live_is_sound(&outside));
    Live damaged[15];
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++)
        damaged[i] = i < 11 ? sound : i < 12 ? sending : outside;
    damaged[0].state = (DeliveryState) 77;
    damaged[1].state = DELIVERY_PARKED;
    damaged[2].step = STEP_LEASE;
    damaged[3].step = STEP_EXPIRE;
    damaged[4].attempt = -1;
    damaged[5].failures = INT32_MAX;
    damaged[6].send = -5;
    damaged[7].reminders_left = INT32_MIN;
    damaged[8].triggered_at = INT64_MIN;
    damaged[9].first_due_at = INSTANT_NONE;
    damaged[10].last_sent_at = -1;
    damaged[11].started_at = INSTANT_NONE;
    damaged[12].holder = 7;
    damaged[13].lease_until = INSTANT_NONE;
    damaged[14].step = (Step) 9;
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        CHECK(!live_is_sound(&damaged[i]));
        Live mended = live_mended(&damaged[i]);
        CHECK(live_is_sound(&mended) && mended.fence == damaged[i].fence);
        CHECK(delivery_park(&mended, REASON_UNREADABLE).live.state == DELIVERY_PARKED);
    }
}

static const Test tests[] = {
    TEST(every_state_allows_its_actions_and_no_others),
    TEST(a_state_has_its_words_and_its_place),
    TEST(every_family_has_its_word_for_every_state),
    TEST(words_of_the_other_tables),
    TEST(a_delivered_attempt_advances_the_plan),
    TEST(a_failed_attempt_spends_the_budget),
    TEST(the_policy_gets_the_original_delay_and_the_jitter),
    TEST(a_parked_delivery_that_awaits_an_answer_expires),
    TEST(a_new_delivery_waits_for_its_first_send),
    TEST(a_revived_delivery_begins_its_send_again),
    TEST(an_action_ends_a_delivery_with_its_reason),
    TEST(a_claim_begins_an_attempt_and_mostly_a_send),
    TEST(a_survey_is_sent_on_days_60_65_75_90_and_expires_on_120),
    TEST(each_send_has_a_budget_of_its_own),
    TEST(six_failures_park_and_a_person_starts_it_anew),
    TEST(the_deadline_gets_its_attempt_whatever_the_jitter),
    TEST(what_is_elsewhere_stays_under_its_lease),
    TEST(what_is_told_from_outside_settles_like_any_attempt),
    TEST(what_was_not_even_tried_is_parked_without_an_attempt),
    TEST(a_row_that_nobody_wrote_is_known_and_can_be_parked),
};
TEST_MAIN(tests)
