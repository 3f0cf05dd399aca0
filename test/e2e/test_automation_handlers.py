"""W9 to W11: what a trigger's run of an automation tells its handler, be that an endpoint, a command or a worker, how
long it may take, and what it writes back."""
import json

from harness import equal, eventually, like, main
from receiver import Receiver
from steps import advance, attempts, deliveries, make_user, settle
from test_exec import Commands, start
from test_trigger_events import bring, claim, events, make_automation, make_feed, make_worker, one


def make_endpoint(peal, receiver):
    body = {"key": "http:triage", "type": "http", "config": {"url": receiver.url + "/run"}}
    peal.post("/v1/channels", body, expect=201)


def make_command(peal, command):
    peal.post("/v1/channels", {"key": "exec:triage", "type": "exec", "config": {"command": command}}, expect=201)


def the_run(peal):
    [run] = deliveries(peal)
    return run


def test_an_endpoint_runs_what_a_trigger_found(ctx):
    receiver = ctx.receiver()
    make_endpoint(ctx.peal, receiver)
    make_automation(ctx.peal, handler="http:triage", maxRetries=2)
    make_feed(ctx.peal)
    receiver.answer_next(500)
    receiver.answer_next(200, body=b'{"ok": false, "error": "not yet"}')
    event = bring(ctx.peal, title="It breaks")
    settle(ctx.peal)
    equal(events(ctx.peal)[0]["status"], "queued", "it is tried again")
    advance(ctx.peal, "1h")
    run, [found] = the_run(ctx.peal), events(ctx.peal)
    like(found, {"status": "completed", "deliveryId": run["id"], "eventId": event["eventId"]})
    told = [one.json for one in receiver.wait_for(3)]
    for n, body in enumerate(told, 1):
        like(body, {"runId": run["id"], "automation": "triage", "triggerEventId": found["id"], "triggerId": "hooks",
                    "attempt": n, "source": "Trigger", "payload": {"title": "It breaks", "dedupKey": "a:1"}})
    equal([one["reason"] for one in attempts(ctx.peal, run["id"])], ["unwell", "unwell", "accepted"])


def test_an_endpoint_that_refuses_has_failed(ctx):
    receiver = ctx.receiver()
    make_endpoint(ctx.peal, receiver)
    make_automation(ctx.peal, handler="http:triage", maxRetries=5)
    make_feed(ctx.peal)
    receiver.answer(200, body=b'{"ok": false, "error": "no such project", "permanent": true}')
    bring(ctx.peal)
    settle(ctx.peal)
    like(events(ctx.peal), [{"status": "failed", "skipReason": None}])
    like(attempts(ctx.peal, the_run(ctx.peal)["id"]), [{"reason": "refused", "detail": "no such project"}])
    like(ctx.peal.get("/v1/triggers/hooks", expect=200).json, {"pendingCount": 0, "counts": {"failed": 1}})


class Author(Receiver):
    """An endpoint that writes back what it found, before it answers."""

    def __init__(self, peal):
        self.peal = peal
        self.refusals = []
        super().__init__()

    def take(self, request):
        path = f"/v1/trigger-events/{request.json['triggerEventId']}"
        attempt = request.json["attempt"]
        written = self.peal.patch(path, {"sessionId": f"s-{attempt}", "analysisResult": {"attempt": attempt}})
        acted = self.peal.post(path + "/actions", {"tool": "search", "status": "completed", "output": attempt})
        self.refusals += [answer.text for answer in (written, acted) if answer.status >= 300]
        return super().take(request)


def test_an_endpoint_writes_back_before_it_answers(ctx):
    author = Author(make_user(ctx.peal, "worker"))
    ctx.closers.append(author.close)
    make_endpoint(ctx.peal, author)
    make_automation(ctx.peal, handler="http:triage")
    make_feed(ctx.peal)
    author.answer_next(503)
    bring(ctx.peal)
    settle(ctx.peal)
    [found] = events(ctx.peal)
    like(found, {"status": "queued", "sessionId": "s-1", "actions": [{"n": 1}]})
    advance(ctx.peal, "10m")
    like(one(ctx.peal, found["id"]), {"status": "completed", "sessionId": "s-2", "analysisResult": {"attempt": 2},
                                      "actions": [{"n": 1, "output": 1}, {"n": 2, "output": 2}]})
    equal(author.refusals, [])


def test_an_endpoint_that_takes_a_run_on_writes_back_and_reports(ctx):
    receiver, worker = ctx.receiver(), make_user(ctx.peal, "worker")
    make_endpoint(ctx.peal, receiver)
    make_automation(ctx.peal, handler="http:triage")
    make_feed(ctx.peal)
    receiver.answer(202)
    bring(ctx.peal)
    settle(ctx.peal)
    [found] = events(ctx.peal)
    equal(found["status"], "processing")
    [told] = receiver.wait_for(1)
    worker.patch(f"/v1/trigger-events/{told.json['triggerEventId']}", {"sessionId": "s-9"}, expect=200)
    worker.post(f"/v1/work/{told.json['runId']}/done", {"fence": 1}, expect=200)
    like(one(ctx.peal, found["id"]), {"status": "completed", "sessionId": "s-9"})


def test_a_worker_writes_back_until_it_reports_and_later(ctx):
    """What it learns late still counts: the row is the run's, not the lease's."""
    make_worker(ctx.peal)
    worker = make_user(ctx.peal, "worker")
    make_automation(ctx.peal, handler="worker:triage")
    make_feed(ctx.peal)
    bring(ctx.peal)
    [work] = claim(worker)
    path = f"/v1/trigger-events/{work['triggerEventId']}"
    worker.patch(path, {"sessionId": "s-1", "enrichedData": {"repo": "octo/hello"}}, expect=200)
    worker.post(f"/v1/work/{work['id']}/done", {"fence": work["fence"], "message": "done"}, expect=200)
    worker.patch(path, {"filterResult": {"kept": True}}, expect=200)
    like(one(ctx.peal, work["triggerEventId"]), {"status": "completed", "sessionId": "s-1",
                                                 "enrichedData": {"repo": "octo/hello"}, "filterResult": {"kept": True}})


def test_a_command_runs_what_a_trigger_found(ctx):
    commands = Commands(ctx)
    commands.add("triage", 'cat > $notes/input$PEAL_ATTEMPT; echo "looked"; [ $PEAL_ATTEMPT != 1 ]')
    peal = start(ctx, commands)
    make_command(peal, "triage")
    make_automation(peal, handler="exec:triage", maxRetries=1)
    make_feed(peal)
    bring(peal)
    settle(peal)
    equal(events(peal)[0]["status"], "queued")
    advance(peal, "1h")
    run, [found] = the_run(peal), events(peal)
    equal(found["status"], "completed")
    for n in (1, 2):
        like(json.loads(commands.note(f"input{n}")), {"runId": run["id"], "automation": "triage", "attempt": n,
                                                      "triggerEventId": found["id"], "payload": {"dedupKey": "a:1"}})
    equal([(one["outcome"], one["detail"]) for one in attempts(peal, run["id"])],
          [("transient", "it exited with 1\nlooked"), ("delivered", "looked")])


def test_a_command_that_always_fails_uses_up_the_automations_retries(ctx):
    commands = Commands(ctx)
    commands.add("no", "echo no >&2; exit 1")
    peal = start(ctx, commands)
    make_command(peal, "no")
    make_automation(peal, handler="exec:triage", maxRetries=1)
    make_feed(peal)
    bring(peal)
    advance(peal, "1d")
    equal((events(peal)[0]["status"], len(attempts(peal, the_run(peal)["id"]))), ("failed", 2))
    like(peal.get("/v1/automations/triage", expect=200).json, {"lastResult": "Failed", "dead": 1})


def test_an_automation_says_how_long_a_triggers_run_may_take(ctx):
    """The endpoint's run, and then, once it is edited, as it says by then."""
    receiver = ctx.receiver()
    make_endpoint(ctx.peal, receiver)
    make_automation(ctx.peal, handler="http:triage", timeout="1s", maxRetries=2)
    make_feed(ctx.peal)
    receiver.answer_next(200, hold=receiver.closing)
    bring(ctx.peal)
    id = the_run(ctx.peal)["id"]
    eventually(lambda: the_run(ctx.peal)["state"] == "retrying")
    like(attempts(ctx.peal, id), [{"reason": "no-answer"}])
    equal(events(ctx.peal)[0]["status"], "queued")
    ctx.peal.patch("/v1/automations/triage", {"timeout": "2m"}, expect=200)
    advance(ctx.peal, "10m")
    equal((the_run(ctx.peal)["state"], events(ctx.peal)[0]["status"]), ("delivered", "completed"))


def test_an_automation_bounds_the_command_of_a_triggers_run(ctx):
    commands = Commands(ctx)
    commands.add("hangs", "echo half; exec sleep 1000")
    peal = start(ctx, commands)
    make_command(peal, "hangs")
    make_automation(peal, handler="exec:triage", timeout="1s")
    make_feed(peal)
    bring(peal)
    eventually(lambda: the_run(peal)["state"] == "retrying")
    like(attempts(peal, the_run(peal)["id"]), [{"reason": "no-answer", "detail": "it did not end within 1s\nhalf"}])


if __name__ == "__main__":
    main()
