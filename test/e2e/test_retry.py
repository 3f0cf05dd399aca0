"""T12 and the settled retry rules: three policies, two budgets, and what a person can do after."""
from harness import equal, like, main
from steps import (act, advance, attempt_times, attempts, captured, change_channel, delivery,
                   ingest_one, make_channel, make_trigger, moment, settle)

FLAKY = "memory:flaky"


def start_failing(peal, retry=None, answer="transient", **members):
    """A delivery to a channel that always answers so; the policy stands in the trigger."""
    make_channel(peal, FLAKY, answer=answer)
    more = {"retry": retry} if retry else {}
    make_trigger(peal, channel=FLAKY, **more, **members)
    return ingest_one(peal)


def check_parked(peal, id, reason):
    like(delivery(peal, id), {"state": "parked", "status": "Parked", "reason": reason,
                              "dueAt": None})


def test_fixed_retries_keep_their_interval(ctx):
    id = start_failing(ctx.peal, {"policy": "fixed", "interval": "30s", "max": 3})
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id), [moment(seconds=s) for s in (0, 30, 60, 90)])
    check_parked(ctx.peal, id, "gave-up")


def test_exponential_retries_double(ctx):
    id = start_failing(ctx.peal, {"policy": "exponential", "interval": "10s", "max": 4})
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id), [moment(seconds=s) for s in (0, 10, 30, 70, 150)])
    check_parked(ctx.peal, id, "gave-up")


def test_proportional_retries_follow_the_original_delay(ctx):
    id = start_failing(ctx.peal, {"policy": "proportional", "max": 3},
                       schedule={"initialDelay": "15m"})
    advance(ctx.peal, "2h")
    equal(attempt_times(ctx.peal, id), [moment(minutes=m) for m in (15, 16.5, 19.5, 24)])
    check_parked(ctx.peal, id, "gave-up")


def test_proportional_retries_wait_ten_seconds_at_least(ctx):
    id = start_failing(ctx.peal, {"policy": "proportional", "max": 2})
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id), [moment(seconds=s) for s in (0, 10, 20)])


def test_proportional_retries_wait_an_hour_at_most(ctx):
    id = start_failing(ctx.peal, {"policy": "proportional", "max": 2},
                       schedule={"initialDelay": "48h"})
    advance(ctx.peal, "60h")
    equal(attempt_times(ctx.peal, id), [moment(hours=h) for h in (48, 49, 50)])


def test_without_a_policy_it_is_one_two_four_eight_sixteen_minutes(ctx):
    id = start_failing(ctx.peal)
    advance(ctx.peal, "1d")
    equal(attempt_times(ctx.peal, id), [moment(minutes=m) for m in (0, 1, 3, 7, 15, 31)])
    check_parked(ctx.peal, id, "gave-up")


def test_the_policy_of_the_channel_holds_where_the_trigger_has_none(ctx):
    ctx.peal.post("/v1/channels", {"key": FLAKY, "type": "memory",
                                   "config": {"answer": "transient"},
                                   "retry": {"policy": "fixed", "interval": "5s", "max": 1}},
                  expect=201)
    make_trigger(ctx.peal, "plain", channel=FLAKY)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "1d")
    equal(attempt_times(ctx.peal, id), [moment(), moment(seconds=5)])


def test_max_counts_retries_after_the_first_try(ctx):
    id = start_failing(ctx.peal, {"policy": "fixed", "interval": "30s", "max": 0})
    advance(ctx.peal, "1h")
    equal(attempt_times(ctx.peal, id), [moment()])
    check_parked(ctx.peal, id, "gave-up")


def test_a_send_is_given_up_when_its_time_is_over(ctx):
    id = start_failing(ctx.peal, {"policy": "fixed", "interval": "10m", "max": 100,
                                  "giveUpAfter": "25m"})
    advance(ctx.peal, "1d")
    times = attempt_times(ctx.peal, id)
    equal(times[:3], [moment(minutes=m) for m in (0, 10, 20)])
    assert max(times) <= moment(minutes=25), f"tried after the time to give up: {times}"
    check_parked(ctx.peal, id, "too-late")


def test_a_failure_that_passes_is_delivered_in_the_end(ctx):
    make_channel(ctx.peal, FLAKY, failFirst=2)
    make_trigger(ctx.peal, channel=FLAKY, retry={"policy": "fixed", "interval": "30s", "max": 3})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "1h")
    equal([one["outcome"] for one in attempts(ctx.peal, id)],
          ["transient", "transient", "delivered"])
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 3, "send": 1,
                                  "lastSentAt": moment(seconds=60)})


def test_while_it_waits_for_a_retry_it_says_so(ctx):
    id = start_failing(ctx.peal, {"policy": "fixed", "interval": "30s", "max": 3})
    settle(ctx.peal)
    row = delivery(ctx.peal, id)
    like(row, {"state": "retrying", "status": "Pending", "dueAt": moment(seconds=30), "send": 1,
               "attemptCount": 1, "lastSentAt": None})
    assert row["lastError"], "a failed attempt leaves its error"
    advance(ctx.peal, "29s")
    equal(delivery(ctx.peal, id)["attemptCount"], 1)


def test_a_permanent_failure_parks_at_once(ctx):
    id = start_failing(ctx.peal, answer="permanent")
    advance(ctx.peal, "1d")
    equal([one["outcome"] for one in attempts(ctx.peal, id)], ["permanent"])
    check_parked(ctx.peal, id, "refused")


def test_a_parked_delivery_never_retries_by_itself(ctx):
    id = start_failing(ctx.peal, answer="permanent")
    settle(ctx.peal)
    change_channel(ctx.peal, FLAKY)
    advance(ctx.peal, "100d")
    equal(len(attempts(ctx.peal, id)), 1)
    equal(delivery(ctx.peal, id)["state"], "parked")


def test_the_budget_is_per_send(ctx):
    make_channel(ctx.peal, FLAKY, failFirst=2)
    make_trigger(ctx.peal, channel=FLAKY, schedule={"reminders": ["1d"]},
                 retry={"policy": "fixed", "interval": "30s", "max": 2})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "1h")
    change_channel(ctx.peal, FLAKY, answer="transient")
    advance(ctx.peal, "2d")
    equal([(one["number"], one["send"]) for one in attempts(ctx.peal, id)],
          [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2)])
    reminder = [moment(days=1, seconds=s) for s in (60, 90, 120)]
    equal(attempt_times(ctx.peal, id)[3:], reminder)
    check_parked(ctx.peal, id, "gave-up")


def test_an_operators_retry_resets_the_tries_and_keeps_the_numbers(ctx):
    id = start_failing(ctx.peal, {"policy": "fixed", "interval": "30s", "max": 2})
    advance(ctx.peal, "1h")
    equal(len(attempts(ctx.peal, id)), 3)
    like(act(ctx.peal, id, "retry"), {"id": id, "attemptCount": 3})
    advance(ctx.peal, "1h")
    tries = attempts(ctx.peal, id)
    equal([one["number"] for one in tries], [1, 2, 3, 4, 5, 6])
    equal([one["send"] for one in tries], [1] * 6)
    equal(attempt_times(ctx.peal, id)[3:], [moment(hours=1, seconds=s) for s in (0, 30, 60)])
    check_parked(ctx.peal, id, "gave-up")


def test_an_operators_retry_keeps_the_place_in_the_plan(ctx):
    make_channel(ctx.peal, FLAKY)
    make_trigger(ctx.peal, channel=FLAKY, schedule={"reminders": ["1d", "1d"]},
                 retry={"policy": "fixed", "interval": "30s", "max": 0})
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    change_channel(ctx.peal, FLAKY, answer="permanent")
    advance(ctx.peal, "2d")
    equal(delivery(ctx.peal, id)["state"], "parked")
    change_channel(ctx.peal, FLAKY)
    act(ctx.peal, id, "retry")
    advance(ctx.peal, "5d")
    equal([(one["number"], one["send"], one["outcome"]) for one in attempts(ctx.peal, id)],
          [(1, 1, "delivered"), (2, 2, "permanent"), (3, 2, "delivered"), (4, 3, "delivered")])


def test_a_parked_delivery_can_be_discarded_for_good(ctx):
    id = start_failing(ctx.peal, answer="permanent")
    settle(ctx.peal)
    like(act(ctx.peal, id, "discard", {"reason": "wrong number"}),
         {"state": "discarded", "status": "Discarded", "endedAt": moment()})
    for action in ("retry", "discard", "cancel", "complete"):
        response = ctx.peal.post(f"/v1/deliveries/{id}/{action}", expect=409)
        assert "discarded" in response.text, response.text


def test_what_is_unsent_can_be_cancelled(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d", "reminders": ["1d"]})
    id = ingest_one(ctx.peal)
    like(act(ctx.peal, id, "cancel"), {"state": "cancelled", "status": "Cancelled", "dueAt": None})
    advance(ctx.peal, "10d")
    equal(captured(ctx.peal, id), [])


def test_what_waits_for_a_reminder_can_be_cancelled(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d"]})
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(act(ctx.peal, id, "cancel")["state"], "cancelled")
    advance(ctx.peal, "10d")
    equal(len(captured(ctx.peal, id)), 1)


def test_what_waits_for_a_retry_can_be_cancelled(ctx):
    id = start_failing(ctx.peal)
    settle(ctx.peal)
    equal(act(ctx.peal, id, "cancel")["state"], "cancelled")
    advance(ctx.peal, "1d")
    equal(len(attempts(ctx.peal, id)), 1)


def test_actions_that_the_state_does_not_allow_are_refused_with_it(ctx):
    make_trigger(ctx.peal, "soon")
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "1d"})
    sent = ingest_one(ctx.peal)
    settle(ctx.peal)
    for action in ("retry", "discard", "cancel", "complete"):
        response = ctx.peal.post(f"/v1/deliveries/{sent}/{action}", expect=409)
        like(response.json, {"status": 409, "code": "conflict"})
        assert "delivered" in response.text, response.text
    body = {"kind": "later", "payload": {}}
    answer = ctx.peal.post("/v1/events", body, expect=202).json
    waits = answer["deliveries"][0]["deliveryId"]
    for action in ("retry", "discard"):
        response = ctx.peal.post(f"/v1/deliveries/{waits}/{action}", expect=409)
        assert "pending" in response.text, response.text


def test_a_parked_delivery_that_awaits_an_answer_can_be_completed(ctx):
    id = start_failing(ctx.peal, answer="permanent", awaitAnswer=True)
    settle(ctx.peal)
    equal(act(ctx.peal, id, "complete")["state"], "completed")


def test_a_parked_delivery_that_awaits_an_answer_expires(ctx):
    id = start_failing(ctx.peal, answer="permanent", awaitAnswer=True, expireAfter="3d")
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["expiresAt"], moment(days=3))
    advance(ctx.peal, "3d")
    equal(delivery(ctx.peal, id)["state"], "expired")


def test_an_action_on_a_delivery_that_is_not_there_is_not_found(ctx):
    nobody = "0197f000-0000-7000-8000-000000000000"
    for action in ("retry", "discard", "cancel", "complete"):
        equal(ctx.peal.post(f"/v1/deliveries/{nobody}/{action}").status, 404)
    equal(ctx.peal.get(f"/v1/deliveries/{nobody}").status, 404)
    assert ctx.peal.get("/v1/deliveries/not-an-id").status in (400, 404)


if __name__ == "__main__":
    main()
