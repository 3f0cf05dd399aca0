"""T7, T8, T10 to T12: what is sent when, until it is answered or expires. In virtual time."""
from harness import equal, like, main
from steps import (ADDRESS, act, advance, attempts, captured, delivery, ingest_one, make_channel,
                   make_trigger, moment, sends, set_clock, settle, tick, visit)

SIXTY_DAYS = {"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]}


def test_sixty_days_then_reminders_after_five_ten_and_fifteen(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "200d")
    equal(sends(ctx.peal, id), [(1, moment(days=60)), (2, moment(days=65)),
                                (3, moment(days=75)), (4, moment(days=90))])


def test_the_plan_is_shown_as_it_advances(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    # days on the clock, then: state, status, next send, last sent, send, reminders remaining
    story = [(59, "pending", "Pending", 60, None, 3), (60, "waiting", "Sent", 65, 60, 2),
             (65, "waiting", "Sent", 75, 65, 1), (75, "waiting", "Sent", 90, 75, 0),
             (90, "waiting", "Sent", None, 90, 0)]
    for day, state, status, due, sent, remaining in story:
        set_clock(ctx.peal, moment(days=day))
        like(delivery(ctx.peal, id), {
            "state": state, "status": status, "remindersRemaining": remaining,
            "dueAt": moment(days=due) if due else None,
            "lastSentAt": moment(days=sent) if sent else None}, f"day {day}")


def test_nothing_is_sent_a_moment_too_early(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "60d"})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "59d23h59m59s")
    equal(sends(ctx.peal, id), [])
    advance(ctx.peal, "1s")
    equal(sends(ctx.peal, id), [(1, moment(days=60))])


def test_zero_reminders_are_one_send(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "0d", "reminders": []})
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "delivered", "status": "Sent", "dueAt": None,
                                  "lastSentAt": moment(), "endedAt": moment()})
    advance(ctx.peal, "100d")
    equal(sends(ctx.peal, id), [(1, moment())])


def test_a_tick_between_sends_changes_nothing(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "62d")
    before = delivery(ctx.peal, id)
    for _ in range(3):
        like(tick(ctx.peal), {"claimed": 0, "delivered": 0, "retried": 0, "parked": 0,
                              "expired": 0, "nextAt": moment(days=65)})
    equal(delivery(ctx.peal, id), before)
    equal(len(attempts(ctx.peal, id)), 1)


def test_the_first_send_counts_from_when_it_happened(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "2d"})
    id = ingest_one(ctx.peal, {**visit(), "occurredAt": moment(days=-1)})
    equal(delivery(ctx.peal, id)["dueAt"], moment(days=1))


def test_a_first_send_that_is_past_is_due_now(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "2d"})
    id = ingest_one(ctx.peal, {**visit(), "occurredAt": moment(days=-10)})
    settle(ctx.peal)
    equal(sends(ctx.peal, id), [(1, moment())])


def test_a_reminder_counts_from_the_send_before_it(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d"]})
    id = ingest_one(ctx.peal, {**visit(), "occurredAt": moment(days=-10)})
    advance(ctx.peal, "3d")
    equal(sends(ctx.peal, id), [(1, moment()), (2, moment(days=1))])


def test_an_attempt_is_recorded_in_full(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d"]})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "1d")
    tries = attempts(ctx.peal, id)
    equal([(one["number"], one["send"]) for one in tries], [(1, 1), (2, 2)])
    for one, at in zip(tries, (moment(), moment(days=1))):
        like(one, {"startedAt": at, "finishedAt": at, "outcome": "delivered", "code": None})
        assert one["reason"] in ("accepted", "captured"), one
        assert one["providerId"].startswith("mem-") and one["node"], one
    equal(delivery(ctx.peal, id)["attemptCount"], 2)


def test_what_is_handed_to_the_channel(ctx):
    make_trigger(ctx.peal)
    item = visit(wip="40956")
    id = ingest_one(ctx.peal, item)
    settle(ctx.peal)
    taken = captured(ctx.peal, id)[0]
    row = delivery(ctx.peal, id)
    like(taken, {"deliveryId": id, "channel": "memory:default", "address": ADDRESS, "send": 1,
                 "attempt": 1, "at": moment()})
    like(taken["body"], {
        "deliveryId": id, "publicId": row["publicId"], "eventId": row["eventId"],
        "triggerId": "visit", "send": 1, "attempt": 1, "address": ADDRESS, "locale": "ar",
        "customerRef": "cust-123", "payload": item["payload"]})


def test_quiet_for_thirty_days_after_the_last_send_is_expired(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["5d"]})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "5d")
    like(delivery(ctx.peal, id), {"state": "waiting", "dueAt": None, "expiresAt": moment(days=35)})
    set_clock(ctx.peal, moment(days=35, seconds=-1))
    equal(delivery(ctx.peal, id)["state"], "waiting")
    advance(ctx.peal, "1s")
    like(delivery(ctx.peal, id), {"state": "expired", "status": "Expired", "reason": "quiet",
                                  "endedAt": moment(days=35), "dueAt": None})


def test_a_trigger_may_say_how_long_to_wait_for_an_answer(ctx):
    make_trigger(ctx.peal, awaitAnswer=True, expireAfter="7d")
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["expiresAt"], moment(days=7))
    advance(ctx.peal, "100d")
    like(delivery(ctx.peal, id), {"state": "expired", "endedAt": moment(days=7)})


def test_what_awaits_no_answer_does_not_expire(ctx):
    make_trigger(ctx.peal)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "100d")
    like(delivery(ctx.peal, id), {"state": "delivered", "expiresAt": None})


def test_an_expired_delivery_takes_no_answer(ctx):
    make_trigger(ctx.peal, awaitAnswer=True, expireAfter="1d")
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "2d")
    assert "expired" in ctx.peal.post(f"/v1/deliveries/{id}/complete", expect=409).text


def test_an_unknown_channel_parks_and_later_expires(ctx):
    make_trigger(ctx.peal, channel="sms:nowhere", awaitAnswer=True, expireAfter="10d")
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "no-channel",
                                  "expiresAt": moment(days=10)})
    advance(ctx.peal, "10d")
    like(delivery(ctx.peal, id), {"state": "expired", "endedAt": moment(days=10)})
    equal(captured(ctx.peal, id), [])


def test_an_unknown_channel_waits_for_a_person_where_no_answer_is_awaited(ctx):
    make_trigger(ctx.peal, channel="memory:later")
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "100d")
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "no-channel", "expiresAt": None,
                                  "attemptCount": 0})
    make_channel(ctx.peal, "memory:later")
    act(ctx.peal, id, "retry")
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")


def test_an_answer_stops_the_plan(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "66d")
    like(act(ctx.peal, id, "complete"), {"state": "completed", "status": "Completed",
                                         "endedAt": moment(days=66), "dueAt": None})
    advance(ctx.peal, "100d")
    equal(sends(ctx.peal, id), [(1, moment(days=60)), (2, moment(days=65))])
    equal(delivery(ctx.peal, id)["state"], "completed")


def test_an_answer_before_the_first_send_means_nothing_is_sent(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    equal(act(ctx.peal, id, "complete")["state"], "completed")
    advance(ctx.peal, "200d")
    equal(sends(ctx.peal, id), [])
    equal(delivery(ctx.peal, id)["attemptCount"], 0)


def test_a_second_answer_is_refused_with_the_state(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    act(ctx.peal, id, "complete")
    assert "completed" in ctx.peal.post(f"/v1/deliveries/{id}/complete", expect=409).text


def test_the_plan_goes_on_after_a_restart(ctx):
    make_trigger(ctx.peal, schedule=SIXTY_DAYS)
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "61d")
    ctx.peal.restart(clock=f"manual={moment(days=61)}")
    advance(ctx.peal, "100d")
    equal(sends(ctx.peal, id), [(1, moment(days=60)), (2, moment(days=65)),
                                (3, moment(days=75)), (4, moment(days=90))])


def test_many_deliveries_go_out_in_the_order_they_are_due(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    ids = [ingest_one(ctx.peal, {**visit(), "occurredAt": moment(minutes=-minute)})
           for minute in (3, 1, 2, 5, 4)]
    advance(ctx.peal, "2d")
    due = {id: sends(ctx.peal, id) for id in ids}
    equal([due[id] for id in ids], [[(1, moment(days=1, minutes=-minute))]
                                    for minute in (3, 1, 2, 5, 4)])


if __name__ == "__main__":
    main()
