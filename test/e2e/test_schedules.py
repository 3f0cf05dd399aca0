"""J9, J10 and W12: what schedules name becomes runs, on time, once, and by their policies."""
import threading

from harness import equal, eventually, like, main, only
from steps import act, advance, deliveries, make_tenant, problems, set_clock, tick


def day(time, date=14):
    """A time of day of May 2026, in which the manual clock starts on the 14th at 05:12:34."""
    return f"2026-05-{date:02d}T{time}.000Z"


def make_job(peal, name="rates", **members):
    body = {"name": name, "handler": "memory:default", **members}
    return peal.post("/v1/jobs", body, expect=201).json


def job(peal, name="rates"):
    return peal.get(f"/v1/jobs/{name}", expect=200).json


def event_of(peal, run):
    return peal.get(f"/v1/events/{run['eventId']}", expect=200).json


def runs(peal, name="rates"):
    """The occurrences of a job that became runs, oldest first."""
    found = [one for one in deliveries(peal) if one["rule"]["id"] == name]
    return sorted(event_of(peal, one)["occurredAt"] for one in found)


def states(peal):
    return [one["state"] for one in deliveries(peal)]


def backfill(peal, from_, to, expect=202):
    return peal.post("/v1/jobs/rates/backfill", {"from": from_, "to": to}, expect=expect)


def make_handler(ctx):
    """A receiver as the handler http:slow; what it answers with the gate waits until that is set."""
    receiver, gate = ctx.receiver(), threading.Event()
    ctx.peal.post("/v1/channels", {"key": "http:slow", "type": "http", "timeout": "5m",
                                   "config": {"url": receiver.url}}, expect=201)
    return receiver, gate


def test_a_job_fires_when_it_is_due(ctx):
    make_job(ctx.peal, cron="*/15 * * * *", payload={"base": "EUR"})
    equal(tick(ctx.peal)["nextAt"], day("05:15:00"))
    equal(runs(ctx.peal), [])
    advance(ctx.peal, "45m")
    equal(runs(ctx.peal), [day(at) for at in ("05:15:00", "05:30:00", "05:45:00")])
    equal(states(ctx.peal), ["delivered"] * 3)
    like(job(ctx.peal), {"lastResult": "Succeeded", "nextRunAt": day("06:00:00"), "missedCount": 0, "fault": None})


def test_a_tick_says_how_many_fired(ctx):
    make_job(ctx.peal, cron="0 6 * * *", zone="UTC")
    make_job(ctx.peal, "other", cron="0 6 * * *", zone="UTC")
    set_clock(ctx.peal, day("06:00:00"))
    like(tick(ctx.peal), {"fired": 0, "nextAt": day("06:00:00", 15)})
    equal(len(deliveries(ctx.peal)), 2)


def test_clocks_that_are_set_fire_nothing_twice_and_lose_nothing(ctx):
    set_clock(ctx.peal, "2026-10-24T12:00:00Z")
    make_job(ctx.peal, cron="30 2 * * *", zone="Europe/Berlin")
    advance(ctx.peal, "2d")
    equal(runs(ctx.peal), ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"])
    set_clock(ctx.peal, "2027-03-27T12:00:00Z")
    advance(ctx.peal, "1d")
    equal(runs(ctx.peal)[-1], "2027-03-28T01:00:00.000Z")


def missed(ctx, **members):
    """What becomes of four occurrences that fell while the program was down, until 09:30."""
    make_job(ctx.peal, **{"cron": "0 * * * *", **members})
    equal(ctx.peal.stop(), 0)
    peal = ctx.start(clock=f"manual={day('09:30:00')}")
    tick(peal)
    return peal


def test_what_was_missed_is_made_up_for_once(ctx):
    peal = missed(ctx)
    equal(runs(peal), [day("09:00:00")])
    like(job(peal), {"missedCount": 3, "lastMissedAt": day("08:00:00")})


def test_what_was_missed_is_skipped(ctx):
    peal = missed(ctx, missed="skip")
    equal(runs(peal), [])
    like(job(peal), {"missedCount": 4, "lastMissedAt": day("09:00:00")})
    advance(peal, "30m")
    equal(runs(peal), [day("10:00:00")])


def test_all_that_was_missed_is_made_up_for(ctx):
    peal = missed(ctx, missed="all")
    equal(runs(peal), [day(f"0{hour}:00:00") for hour in (6, 7, 8, 9)])


def test_what_is_older_than_the_window_is_not_made_up_for(ctx):
    peal = missed(ctx, missed="all", missedWindow="2h")
    equal(runs(peal), [day("08:00:00"), day("09:00:00")])
    equal(job(peal)["missedCount"], 2)


def test_a_thousand_at_most_are_made_up_for(ctx):
    peal = missed(ctx, cron="* * * * * *", missed="all", overlap="allow")
    equal(len(runs(peal)), 1000)
    equal(runs(peal)[-1], day("09:30:00"))
    equal(job(peal)["missedCount"], 10000)


def test_what_falls_while_nothing_is_sent_goes_by_the_policy(ctx):
    make_job(ctx.peal, cron="0 * * * *", missed="all")
    ctx.peal.post("/v1/hold", {"reason": "moving house"}, expect=200)
    advance(ctx.peal, "3h")
    equal(runs(ctx.peal), [])
    ctx.peal.post("/v1/release", expect=200)
    tick(ctx.peal)
    equal(runs(ctx.peal), [day(f"0{hour}:00:00") for hour in (6, 7, 8)])


def test_what_falls_while_a_job_is_disabled_is_not_made_up_for(ctx):
    make_job(ctx.peal, cron="0 * * * *", missed="all")
    ctx.peal.post("/v1/jobs/rates/disable", {"reason": "no rates today"}, expect=200)
    equal(job(ctx.peal)["nextRunAt"], None)
    advance(ctx.peal, "3h")
    ctx.peal.post("/v1/jobs/rates/enable", expect=200)
    tick(ctx.peal)
    equal(runs(ctx.peal), [])
    advance(ctx.peal, "1h")
    equal(runs(ctx.peal), [day("09:00:00")])


def test_an_edit_counts_from_now_and_another_member_disturbs_nothing(ctx):
    make_job(ctx.peal, cron="0 6 * * *")
    ctx.peal.patch("/v1/jobs/rates", {"payload": {"base": "USD"}}, expect=200)
    advance(ctx.peal, "1h")
    equal(runs(ctx.peal), [day("06:00:00")])
    ctx.peal.patch("/v1/jobs/rates", {"cron": "30 5,6,7 * * *"}, expect=200)
    advance(ctx.peal, "1h")
    equal(runs(ctx.peal), [day("06:00:00"), day("06:30:00")])
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    advance(ctx.peal, "2d")
    equal(len(runs(ctx.peal)), 2)


def test_an_occurrence_that_is_queued_is_made_when_the_run_ends(ctx):
    peal = ctx.start(clock="system")
    receiver, gate = make_handler(ctx)
    receiver.answer_next(200, hold=gate)
    make_job(peal, cron="* * * * * *", overlap="queue", handler="http:slow")
    receiver.wait_for(1)
    eventually(lambda: job(peal)["skippedCount"] >= 1)  # two others fell due, and the later one waits
    equal(len(runs(peal)), 1)
    gate.set()
    receiver.wait_for(2)
    first, second = runs(peal)[:2]
    assert second > first, (first, second)


def test_a_run_by_hand_moves_no_occurrence_and_holds_one_back(ctx):
    peal = ctx.start(clock="system")
    receiver, gate = make_handler(ctx)
    receiver.answer_next(200, hold=gate)
    make_job(peal, cron="0 0 1 1 *", handler="http:slow")
    due = job(peal)["nextRunAt"]
    peal.post("/v1/jobs/rates/trigger", {}, expect=202)
    receiver.wait_for(1)
    equal(job(peal)["nextRunAt"], due)
    peal.patch("/v1/jobs/rates", {"cron": "* * * * * *"}, expect=200)
    eventually(lambda: job(peal)["skippedCount"] >= 1)
    equal(receiver.count(), 1)
    gate.set()
    receiver.wait_for(2)


def begin_two(ctx, overlap):
    """An occurrence's run and one by hand, which nobody takes; answers both."""
    ctx.peal.post("/v1/channels", {"key": "worker:nobody", "type": "worker", "config": {}}, expect=201)
    make_job(ctx.peal, cron="0 * * * *", handler="worker:nobody", overlap=overlap)
    advance(ctx.peal, "1h")
    [first] = deliveries(ctx.peal)
    return first["id"], ctx.peal.post("/v1/jobs/rates/trigger", {}, expect=202).json["deliveryId"]


def test_an_occurrence_is_skipped_until_all_runs_have_ended(ctx):
    first, second = begin_two(ctx, "skip")
    act(ctx.peal, first, "cancel")
    advance(ctx.peal, "1h")
    equal((len(deliveries(ctx.peal)), job(ctx.peal)["skippedCount"]), (2, 1))
    act(ctx.peal, second, "cancel")
    advance(ctx.peal, "1h")
    equal(runs(ctx.peal)[-1], day("08:00:00"))


def test_an_occurrence_waits_for_all_runs_to_end(ctx):
    first, second = begin_two(ctx, "queue")
    advance(ctx.peal, "1h")
    act(ctx.peal, first, "cancel")
    tick(ctx.peal)
    equal(len(deliveries(ctx.peal)), 2)
    act(ctx.peal, second, "cancel")
    tick(ctx.peal)
    equal(runs(ctx.peal)[-1], day("07:00:00"))


def test_an_occurrence_that_waits_is_not_lost_by_an_edit(ctx):
    first, second = begin_two(ctx, "queue")
    advance(ctx.peal, "1h")
    ctx.peal.patch("/v1/jobs/rates", {"payload": {"base": "USD"}}, expect=200)
    for run in (first, second):
        act(ctx.peal, run, "cancel")
    tick(ctx.peal)
    equal(runs(ctx.peal)[-1], day("07:00:00"))


def test_a_run_of_a_range_holds_no_occurrence_back(ctx):
    first, second = begin_two(ctx, "skip")
    equal(backfill(ctx.peal, day("05:00:00"), day("05:00:00")).json["made"], 1)
    for run in (first, second):
        act(ctx.peal, run, "cancel")
    advance(ctx.peal, "1h")
    equal(runs(ctx.peal)[-1], day("07:00:00"))


def test_an_occurrence_is_skipped_until_all_that_was_made_up_for_has_ended(ctx):
    ctx.peal.post("/v1/channels", {"key": "worker:nobody", "type": "worker", "config": {}}, expect=201)
    peal = missed(ctx, missed="all", handler="worker:nobody")
    act(peal, deliveries(peal)[0]["id"], "cancel")
    advance(peal, "1h")
    equal((len(deliveries(peal)), job(peal)["skippedCount"]), (4, 1))


def test_a_range_is_made_by_hand(ctx):
    make_job(ctx.peal, cron="0 12 * * *", payload={"base": "EUR"})
    equal(backfill(ctx.peal, day("00:00:00", 10), day("12:00:00", 13)).json, {"made": 4, "repeated": 0})
    tick(ctx.peal)
    equal(runs(ctx.peal), [day("12:00:00", date) for date in (10, 11, 12, 13)])
    equal(states(ctx.peal), ["delivered"] * 4)
    made = event_of(ctx.peal, deliveries(ctx.peal)[0])
    like(made, {"source": "schedule", "topic": "backfill", "payload": {"base": "EUR"}})


def test_a_range_that_is_asked_for_again_makes_no_second_run(ctx):
    make_job(ctx.peal, cron="0 * * * *")
    advance(ctx.peal, "2h")
    equal(runs(ctx.peal), [day("06:00:00"), day("07:00:00")])
    equal(backfill(ctx.peal, day("05:00:00"), day("07:00:00")).json, {"made": 1, "repeated": 2})
    equal(backfill(ctx.peal, day("05:00:00"), day("07:00:00")).json, {"made": 0, "repeated": 3})
    equal(runs(ctx.peal), [day("05:00:00"), day("06:00:00"), day("07:00:00")])


def test_a_range_is_bounded_and_past(ctx):
    make_job(ctx.peal, cron="* * * * *")
    equal(problems(backfill(ctx.peal, day("00:00:00", 13), day("00:00:00"), expect=422)), [("/to", "too-large")])
    equal(problems(backfill(ctx.peal, day("05:00:00"), day("06:00:00"), expect=422)), [("/to", "bad-value")])
    equal(problems(backfill(ctx.peal, day("05:00:00"), day("04:00:00"), expect=422)), [("/to", "bad-value")])
    equal(problems(backfill(ctx.peal, "yesterday", day("04:00:00"), expect=422)), [("/from", "bad-time")])
    equal(deliveries(ctx.peal), [])
    ctx.peal.post("/v1/jobs/nobody/backfill", {"from": day("05:00:00"), "to": day("05:00:00")}, expect=404)
    ctx.peal.patch("/v1/jobs/rates", {"cron": None}, expect=200)
    backfill(ctx.peal, day("05:00:00"), day("05:01:00"), expect=409)


def test_a_range_is_its_tenants(ctx):
    make_job(ctx.peal, cron="* * * * *")
    stranger = make_tenant(ctx.peal, "acme")
    stranger.post("/v1/jobs/rates/backfill", {"from": day("05:00:00"), "to": day("05:00:00")}, expect=404)


@only("postgres")
def test_each_occurrence_is_one_run_whatever_nodes_there_are(ctx):
    nodes = [ctx.start(clock="system") for _ in range(3)]
    for number in range(30):
        make_job(nodes[number % 3], f"job-{number}", cron="* * * * * *", overlap="allow", missed="all")
    eventually(lambda: len(deliveries(nodes[0])) >= 150)
    for node in nodes:
        node.post("/v1/hold", {"reason": "to count"}, expect=200)
    found = [(one["rule"]["id"], event_of(nodes[0], one)["occurredAt"]) for one in deliveries(nodes[0])]
    equal(len(found), len(set(found)))
    for number in range(30):
        times = sorted(at for name, at in found if name == f"job-{number}")
        seconds = [int(at[17:19]) for at in times]
        equal([(late - early) % 60 for early, late in zip(seconds, seconds[1:])], [1] * (len(seconds) - 1))


if __name__ == "__main__":
    main()
