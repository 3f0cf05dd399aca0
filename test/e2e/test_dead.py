"""J6 and J11: dead letters are told, retried and discarded."""
from harness import equal, like, main
from job_steps import dead, events, executions, make_job, trigger
from steps import advance, change_channel, make_channel, make_tenant, make_trigger, make_user, moment, settle, ingest_one


def make_dead(peal, name="rates", **body):
    """A run whose handler refuses it for good."""
    id = trigger(peal, name, **body)
    settle(peal)
    return id


def start(ctx):
    make_channel(ctx.peal, "memory:broken", answer="permanent")
    make_job(ctx.peal, handler="memory:broken")
    return make_dead(ctx.peal, entity="booking:7")


def test_a_run_that_used_up_its_retries_is_a_dead_letter(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_job(ctx.peal, handler="memory:flaky", maxRetries=1)
    id = trigger(ctx.peal, entity="booking:7")
    settle(ctx.peal)
    equal(dead(ctx.peal), [])
    advance(ctx.peal, "1h")
    row, = dead(ctx.peal)
    like(row, {"id": id, "job": "rates", "entity": "booking:7", "source": "Manual", "attempts": 2,
               "failedAt": moment(minutes=1), "state": "parked"})
    assert row["lastError"], row


def test_they_are_told_by_job_or_all(ctx):
    first = start(ctx)
    make_job(ctx.peal, "other", handler="memory:broken")
    second = make_dead(ctx.peal, "other")
    make_trigger(ctx.peal, channel="memory:broken")
    ingest_one(ctx.peal)  # parked too, and no run
    settle(ctx.peal)
    equal([row["id"] for row in dead(ctx.peal)], [second, first])
    equal([row["id"] for row in dead(ctx.peal, "rates")], [first])
    equal(dead(ctx.peal, "nope"), [])
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    equal([row["id"] for row in dead(ctx.peal, "rates")], [first])


def test_one_is_retried(ctx):
    id = start(ctx)
    change_channel(ctx.peal, "memory:broken")
    like(ctx.peal.post(f"/v1/dead/{id}/retry", expect=200).json, {"id": id, "state": "pending", "job": "rates"})
    settle(ctx.peal)
    equal(dead(ctx.peal), [])
    equal([row["succeeded"] for row in executions(ctx.peal)], [True, False])
    ctx.peal.post(f"/v1/dead/{id}/retry", expect=409)
    equal([event["succeeded"] for event in events(ctx.peal, "job-failed") + events(ctx.peal, "job-completed")],
          [False, True])


def test_one_is_discarded(ctx):
    id = start(ctx)
    like(ctx.peal.post(f"/v1/dead/{id}/discard", {"reason": "test data"}, expect=200).json,
         {"id": id, "state": "discarded"})
    equal(dead(ctx.peal), [])
    ctx.peal.post(f"/v1/dead/{id}/discard", expect=409)
    equal(len(executions(ctx.peal)), 1)
    equal((len(events(ctx.peal, "job-failed")), len(events(ctx.peal, "job-completed"))), (1, 0))


def test_many_are_an_operation(ctx):
    start(ctx)
    make_dead(ctx.peal)
    make_job(ctx.peal, "other", handler="memory:broken")
    make_dead(ctx.peal, "other")
    ctx.peal.post("/v1/operations", {"action": "discard", "filter": {"state": "parked", "job": "rates"}}, expect=202)
    settle(ctx.peal)
    equal([row["job"] for row in dead(ctx.peal)], ["other"])


def test_only_runs_of_ones_own_are_dead_letters(ctx):
    id = start(ctx)
    make_trigger(ctx.peal, channel="memory:broken")
    other = ingest_one(ctx.peal)
    settle(ctx.peal)
    ctx.peal.post(f"/v1/dead/{other}/retry", expect=404)
    ctx.peal.post("/v1/dead/nonsense/retry", expect=404)
    stranger = make_tenant(ctx.peal, "acme")
    stranger.post(f"/v1/dead/{id}/retry", expect=404)
    equal(dead(stranger), [])
    for role in ("read", "author", "ingest"):
        make_user(ctx.peal, role).get("/v1/dead", expect=403)
        make_user(ctx.peal, role).post(f"/v1/dead/{id}/discard", expect=403)
    make_user(ctx.peal, "operator").post(f"/v1/dead/{id}/discard", expect=200)


def test_the_command_line_acts_on_them(ctx):
    id = start(ctx)
    shown = ctx.peal.cli("dead", "--job", "rates")
    assert id in shown.out, shown
    equal(ctx.peal.cli("dead", "retry", id).out, f"{id}  pending\n")
    settle(ctx.peal)
    equal(ctx.peal.cli("dead", "discard", id, "--reason", "enough").out, f"{id}  discarded\n")


if __name__ == "__main__":
    main()
