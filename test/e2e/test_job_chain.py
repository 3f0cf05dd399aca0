"""J8: the end of a run is an event, once, and triggers match it."""
from harness import equal, like, main
from job_steps import dead, events, executions, make_job, trigger
from steps import advance, captured, deliveries, make_channel, make_trigger, settle


def test_the_end_of_a_run_starts_what_listens(ctx):
    make_job(ctx.peal)
    make_trigger(ctx.peal, "after", eventKind="job-completed",
                 filter={"all": [{"path": "candidate.job", "op": "==", "value": "rates"}]})
    make_trigger(ctx.peal, "other", eventKind="job-completed",
                 filter={"all": [{"path": "candidate.job", "op": "==", "value": "other"}]})
    id = trigger(ctx.peal, entity="booking:7")
    settle(ctx.peal)
    event, = events(ctx.peal, "job-completed")
    like(event, {"job": "rates", "entity": "booking:7", "executionId": f"{id}-1", "source": "Manual",
                 "succeeded": True, "attempts": 1})
    followed, = [row for row in deliveries(ctx.peal) if row["triggerId"]]
    like(followed, {"triggerId": "after", "state": "delivered", "entity": "booking:7"})
    equal(captured(ctx.peal, followed["id"])[0]["body"]["payload"]["job"], "rates")
    equal(len(events(ctx.peal, "job-completed")), 1)  # what followed is no run


def test_only_the_end_is_told(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=2)
    make_job(ctx.peal, handler="memory:flaky", maxRetries=2)
    id = trigger(ctx.peal)
    settle(ctx.peal)
    equal(events(ctx.peal, "job-failed"), [])
    advance(ctx.peal, "1h")
    like(events(ctx.peal, "job-completed")[0], {"executionId": f"{id}-3", "attempts": 3})
    equal(events(ctx.peal, "job-failed"), [])


def test_a_failure_is_told_when_nothing_is_left_to_try(ctx):
    make_channel(ctx.peal, "memory:broken", answer="transient")
    make_job(ctx.peal, handler="memory:broken", maxRetries=1)
    id = trigger(ctx.peal)
    advance(ctx.peal, "1h")
    event, = events(ctx.peal, "job-failed")
    like(event, {"executionId": f"{id}-2", "succeeded": False, "attempts": 2})
    assert event["message"], event
    equal(len(dead(ctx.peal)), 1)


def test_what_is_called_off_did_neither(ctx):
    make_job(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "to look"}, expect=200)
    id = trigger(ctx.peal)
    ctx.peal.post(f"/v1/deliveries/{id}/cancel", expect=200)
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    equal(events(ctx.peal, "job-failed") + events(ctx.peal, "job-completed"), [])
    equal(executions(ctx.peal), [])


def test_many_that_end_together_are_each_told_once(ctx):
    make_job(ctx.peal)
    make_trigger(ctx.peal, "after", eventKind="job-completed")
    ctx.peal.post("/v1/hold", {"reason": "to gather"}, expect=200)
    ids = {trigger(ctx.peal) for _ in range(200)}
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    told = [event["executionId"] for event in events(ctx.peal, "job-completed")]
    equal(sorted(told), sorted(f"{id}-1" for id in ids))
    equal(len(deliveries(ctx.peal, "&trigger=after&state=delivered")), 200)


if __name__ == "__main__":
    main()
