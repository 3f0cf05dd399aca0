"""J5, J7 and J8: every try of a run is an execution, kept whatever becomes of its job."""
import threading

from harness import equal, eventually, like, main
from job_steps import dead, events, executions, make_job, trigger
from steps import act, advance, change_channel, make_channel, make_tenant, make_user, moment, settle


def test_every_try_is_an_execution(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=2)
    make_job(ctx.peal, handler="memory:flaky")
    id = trigger(ctx.peal, entity="booking:7")
    advance(ctx.peal, "1h")
    rows = executions(ctx.peal)
    equal([row["executionId"] for row in rows], [f"{id}-{n}" for n in (3, 2, 1)])
    equal([row["succeeded"] for row in rows], [True, False, False])
    equal([row["retry"] for row in rows], [2, 1, 0])
    equal([row["startedAt"] for row in rows], [moment(minutes=m) for m in (3, 1, 0)])
    like(rows[2], {"source": "Manual", "entity": "booking:7", "scheduledFor": moment(), "completedAt": moment(),
                   "progress": []})
    assert rows[2]["message"], "a failure says why"
    assert "backfill" not in rows[0], rows[0]


def test_a_running_one_is_open(ctx):
    receiver = ctx.receiver()
    hold = threading.Event()
    receiver.answer(hold=hold)
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:rates", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_job(peal, handler="http:rates")
    trigger(peal)
    receiver.wait_for(1)
    like(executions(peal)[0], {"completedAt": None, "succeeded": None, "message": None, "retry": 0})
    hold.set()
    eventually(lambda: executions(peal)[0]["succeeded"])


def test_history_answers_after_the_job_is_gone(ctx):
    make_job(ctx.peal)
    id = trigger(ctx.peal)
    settle(ctx.peal)
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    equal([row["executionId"] for row in executions(ctx.peal)], [f"{id}-1"])
    ctx.peal.get("/v1/jobs/nope/executions", expect=404)
    make_job(ctx.peal, "never-run")
    equal(executions(ctx.peal, "never-run"), [])


def test_pages_make_one_list(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=1)
    make_job(ctx.peal, handler="memory:flaky")
    for _ in range(7):
        trigger(ctx.peal)
    advance(ctx.peal, "1h")
    whole = executions(ctx.peal)
    equal(len(whole), 14)
    for limit in (1, 3, 5):
        equal(executions(ctx.peal, limit=limit), whole, f"in pages of {limit}")
    ctx.peal.get("/v1/jobs/rates/executions?cursor=nonsense", expect=400)
    ctx.peal.get("/v1/jobs/rates/executions?limit=0", expect=422)


def test_executions_are_their_tenants_and_operators(ctx):
    make_job(ctx.peal)
    trigger(ctx.peal)
    settle(ctx.peal)
    make_tenant(ctx.peal, "acme").get("/v1/jobs/rates/executions", expect=404)
    equal(len(executions(make_user(ctx.peal, "operator"))), 1)
    for role in ("read", "author", "ingest"):
        make_user(ctx.peal, role).get("/v1/jobs/rates/executions", expect=403)


def test_a_run_without_handler_is_on_record_and_goes_on_when_there_is_one(ctx):
    make_job(ctx.peal, handler="memory:later")
    id = trigger(ctx.peal)
    settle(ctx.peal)
    like(executions(ctx.peal)[0], {"executionId": f"{id}-1", "succeeded": False, "message": "no handler"})
    like(ctx.peal.get(f"/v1/deliveries/{id}", expect=200).json, {"state": "parked", "reason": "no-handler"})
    like(events(ctx.peal, "job-failed")[0], {"executionId": f"{id}-1", "message": "no handler", "attempts": 1})
    make_channel(ctx.peal, "memory:later")
    settle(ctx.peal)
    like(executions(ctx.peal)[0], {"executionId": f"{id}-2", "succeeded": True})
    equal(len(events(ctx.peal, "job-completed")), 1)


def test_the_run_of_an_unknown_job_stands_under_its_name(ctx):
    id = ctx.peal.post("/v1/jobs/later/defer", {"entity": "12345", "delay": "15m"}, expect=202).json["id"]
    other = ctx.peal.post("/v1/jobs/nobody/defer", {"entity": "1", "delay": "15m"}, expect=202).json["id"]
    equal(executions(ctx.peal, "later"), [])
    advance(ctx.peal, "15m")
    like(executions(ctx.peal, "later")[0], {"executionId": f"{id}-1", "source": "Deferred", "entity": "12345",
                                            "scheduledFor": moment(minutes=15), "succeeded": False,
                                            "message": "no handler", "retry": 0})
    like(dead(ctx.peal, "later")[0], {"id": id, "source": "Deferred", "attempts": 1, "lastError": "no handler"})
    make_job(ctx.peal, "later")
    settle(ctx.peal)
    equal([row["succeeded"] for row in executions(ctx.peal, "later")], [True, False])
    equal([row["id"] for row in dead(ctx.peal)], [other])
    equal(len(executions(ctx.peal, "nobody")), 1)


def test_an_occurrence_without_handler_ends_and_the_next_comes(ctx):
    make_job(ctx.peal, handler="memory:later", cron="0 * * * *")
    advance(ctx.peal, "2h")
    rows = executions(ctx.peal)
    equal([(row["source"], row["succeeded"], row["message"], row["retry"]) for row in rows],
          [("Scheduled", False, "no handler", 0)] * 2)
    equal(ctx.peal.get("/v1/dead", expect=200).json["items"], [])
    make_channel(ctx.peal, "memory:later")
    advance(ctx.peal, "1h")
    equal([row["succeeded"] for row in executions(ctx.peal)], [True, False, False])


def test_a_retry_falls_before_the_next_occurrence_or_is_it(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_job(ctx.peal, handler="memory:flaky", cron="0/5 * * * *", maxRetries=9)
    advance(ctx.peal, "5m")  # the first falls at :05, or at once
    first = executions(ctx.peal)[-1]
    advance(ctx.peal, "20m")
    tries = [row for row in executions(ctx.peal) if row["scheduledFor"] == first["scheduledFor"]]
    equal([row["retry"] for row in tries], [2, 1, 0])  # after 1 and 3 min; that after 7 is the next occurrence
    delivery = ctx.peal.get(f"/v1/deliveries/{first['executionId'].rsplit('-', 1)[0]}", expect=200).json
    like(delivery, {"state": "expired", "reason": "superseded"})
    equal(ctx.peal.get("/v1/dead", expect=200).json["items"], [])


def test_a_run_by_hand_is_not_overtaken(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_job(ctx.peal, handler="memory:flaky", cron="0 0 1 1 *", maxRetries=2)
    trigger(ctx.peal)
    advance(ctx.peal, "1h")
    equal(len(executions(ctx.peal)), 3)
    change_channel(ctx.peal, "memory:flaky")
    dead = ctx.peal.get("/v1/dead?job=rates", expect=200).json["items"]
    act(ctx.peal, dead[0]["id"], "retry")
    settle(ctx.peal)
    equal(executions(ctx.peal)[0]["succeeded"], True)


def test_a_node_that_is_killed_has_failed_a_try(ctx):
    receiver = ctx.receiver()
    receiver.answer_next(hold=threading.Event())
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:rates", "type": "http", "config": {"url": receiver.url},
                               "retry": {"policy": "fixed", "interval": "1s", "max": 3}}, expect=201)
    make_job(peal, handler="http:rates")
    id = trigger(peal)
    receiver.wait_for(1)
    peal.kill9()
    peal.restart()
    eventually(lambda: executions(peal)[-1]["completedAt"], 40)
    like(executions(peal)[-1], {"executionId": f"{id}-1", "succeeded": False, "retry": 0})
    like(peal.get(f"/v1/deliveries/{id}", expect=200).json, {"state": "retrying", "attemptCount": 1})
    equal(events(peal, "job-failed") + events(peal, "job-completed"), [])


if __name__ == "__main__":
    main()
