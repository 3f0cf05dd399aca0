"""W8 to W11: what a provider's triggers make of events, and the runs of automations that they make."""
import hashlib
import hmac
import json

from harness import equal, eventually, like, main
from steps import act, advance, attempts, captured, deliveries, delivery, ingest, make_tenant, make_user, moment, settle


def make_automation(peal, id="triage", handler="memory:default", **members):
    return peal.post("/v1/automations", {"id": id, "handler": handler, **members}, expect=201).json


def feed_body(id="hooks", **members):
    return {"id": id, "provider": "generic", "type": "event", "automation": "triage", **members}


def make_feed(peal, id="hooks", expect=201, **members):
    return peal.post("/v1/triggers", feed_body(id, **members), expect=expect).json


def bring(peal, key="a:1", source="gh", kind="generic.event", **payload):
    """An event as a provider's webhook makes it."""
    body = {"kind": kind, "source": source, "payload": {
        "provider": "generic", "eventType": "event", "providerEventType": "ping:pong", "dedupKey": key,
        "title": "It is broken", "url": "https://example.com/1", "occurredAt": "2026-05-14T05:00:00.000Z",
        "externalId": "1", "context": {}, **payload}}
    return peal.post("/v1/events", body, expect=202).json


def problems(answer):
    return [(one["path"], one["code"]) for one in answer["errors"]]


def test_a_trigger_runs_its_automation(ctx):
    make_automation(ctx.peal)
    made = make_feed(ctx.peal)
    assert "eventKind" not in made and "warnings" not in made, made
    event = bring(ctx.peal)
    settle(ctx.peal)
    [run] = deliveries(ctx.peal)
    like(run, {"triggerId": "hooks", "channel": "memory:default", "state": "delivered"})
    body = captured(ctx.peal, run["id"])[0]["body"]
    like(body, {"runId": run["id"], "automation": "triage", "triggerId": "hooks", "source": "Trigger",
                "payload": {"dedupKey": "a:1"}})
    equal(body["triggerEventId"].split(".")[0], event["eventId"])


def events(peal, id="hooks", query=""):
    return peal.get(f"/v1/triggers/{id}/events{query}", expect=200).json["items"]


def one(peal, id, expect=200):
    return peal.get(f"/v1/trigger-events/{id}", expect=expect).json


def make_worker(peal, key="worker:triage"):
    peal.post("/v1/channels", {"key": key, "type": "worker", "config": {}}, expect=201)


def claim(peal, handler="worker:triage"):
    return peal.post("/v1/work/claim", {"handler": handler, "max": 10}, expect=200).json["items"]


def waiting(ctx, **members):
    """A trigger whose runs wait for a worker, and the event that it made of one."""
    make_worker(ctx.peal)
    make_automation(ctx.peal, handler="worker:triage")
    make_feed(ctx.peal, **members)
    bring(ctx.peal)
    [found] = events(ctx.peal)
    return found


def test_a_bad_trigger_is_refused_by_its_field(ctx):
    for members, found in (
            ({"type": "nope"}, [("/type", "unknown-type")]),
            ({"type": None}, [("/type", "missing-member")]),
            ({"provider": "gitlab"}, [("/provider", "bad-value")]),
            ({"eventKind": "generic.event"}, [("/eventKind", "bad-value")]),
            ({"config": {"labels": ["bug"]}}, [("/config/labels", "unknown-member")]),
            ({"provider": "github", "type": "issues", "config": {"labels": "bug"}}, [("/config/labels", "bad-type")]),
            ({"channel": "memory:default"}, [("/channel", "bad-value")]),
            ({"automation": None}, [("/channel", "missing-member")]),
            ({"way": "pigeon"}, [("/way", "bad-value")]),
            ({"interval": "60s"}, [("/interval", "bad-value")]),
            ({"retry": {"policy": "fixed", "interval": "1s"}}, [("/retry", "bad-value")])):
        equal(problems(make_feed(ctx.peal, expect=422, **members)), found)
    said = make_feed(ctx.peal, expect=422, automation=None)["errors"][0]["message"]
    assert "channel" in said and "automation" in said, said
    equal(make_feed(ctx.peal)["warnings"], ["automation triage does not exist yet"])
    equal(make_feed(ctx.peal, id="lost", source="nowhere", integration="nobody")["warnings"],
          ["source nowhere does not exist yet", "integration nobody does not exist yet",
           "automation triage does not exist yet"])


def test_a_config_says_which_condition_failed(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal, "bugs", provider="github", type="issues",
              config={"actions": ["opened", "labeled"], "labels": ["bug"]})
    event = bring(ctx.peal, kind="github.issues", context={"action": "opened", "labels": ["ui"]})
    equal(event["deliveries"], [])
    [decision] = ctx.peal.get(f"/v1/events/{event['eventId']}/explain", expect=200).json["decisions"]
    like(decision, {"triggerId": "bugs", "outcome": "filtered", "path": "/config/labels"})
    like(events(ctx.peal, "bugs"), [{"status": "skipped", "skipReason": "filter_mismatch", "deliveryId": None}])
    bring(ctx.peal, kind="github.issues", context={"action": "opened", "labels": ["bug", "ui"]})
    settle(ctx.peal)
    equal([row["status"] for row in events(ctx.peal, "bugs")], ["completed", "skipped"])


def test_a_trigger_of_a_provider_is_changed_and_deleted(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal, "bugs", provider="github", type="issues", config={"labels": ["bug"]})
    make_feed(ctx.peal, "all", provider="github", type="issues")

    def labelled(key, label):
        bring(ctx.peal, key, kind="github.issues", context={"action": "opened", "labels": [label]})
        settle(ctx.peal)
        return {row["dedupKey"]: row["status"] for row in events(ctx.peal, "bugs")}

    equal(labelled("a:1", "ui"), {"a:1": "skipped"})
    shown = ctx.peal.patch("/v1/triggers/bugs", {"config": {"labels": ["ui"]}}, expect=200).json
    like(shown, {"version": 2, "config": {"labels": ["ui"]}, "provider": "github", "type": "issues"})
    # What was decided stays as it was decided; what comes then is decided by what it says then.
    equal(labelled("a:2", "ui"), {"a:1": "skipped", "a:2": "completed"})
    equal(labelled("a:3", "bug"), {"a:1": "skipped", "a:2": "completed", "a:3": "skipped"})
    kept = events(ctx.peal, "bugs")[1]
    ctx.peal.delete("/v1/triggers/bugs", expect=204)
    for path in ("/v1/triggers/bugs", "/v1/triggers/bugs/events"):
        ctx.peal.get(path, expect=404)
    equal([row["id"] for row in ctx.peal.get("/v1/triggers", expect=200).json["items"]], ["all"])
    like(one(ctx.peal, kept["id"]), {"triggerId": "bugs", "status": "completed", "dedupKey": "a:2"})
    before = len(deliveries(ctx.peal))
    bring(ctx.peal, "a:4", kind="github.issues", context={"action": "opened", "labels": ["ui"]})
    equal([row["triggerId"] for row in deliveries(ctx.peal)][:-before], ["all"])


def test_a_trigger_event_is_queued_processed_and_completed(ctx):
    found = waiting(ctx)
    like(found, {"status": "queued", "skipReason": None, "providerEventType": "ping:pong", "dedupKey": "a:1",
                 "title": "It is broken", "url": "https://example.com/1", "triggerId": "hooks",
                 "occurredAt": "2026-05-14T05:12:34.000Z", "sessionId": None, "actions": []})
    equal(found["id"].split(".")[0], found["eventId"])
    shown = ctx.peal.get("/v1/triggers/hooks", expect=200).json
    like(shown, {"pendingCount": 1, "recentEvents": [{"id": found["id"]}],
                 "counts": {"queued": 1, "processing": 0, "completed": 0, "failed": 0, "skipped": 0}})
    equal([row["pendingCount"] for row in ctx.peal.get("/v1/triggers", expect=200).json["items"]], [1])
    [work] = claim(ctx.peal)
    like(work, {"id": found["deliveryId"], "runId": found["deliveryId"], "automation": "triage", "job": None,
                "triggerEventId": found["id"]})
    equal(one(ctx.peal, found["id"])["status"], "processing")
    ctx.peal.post(f"/v1/work/{work['id']}/done", {"fence": work["fence"]}, expect=200)
    equal(one(ctx.peal, found["id"])["status"], "completed")
    like(ctx.peal.get("/v1/triggers/hooks", expect=200).json, {"pendingCount": 0, "counts": {"completed": 1}})


def test_what_is_queued_can_be_skipped(ctx):
    found = waiting(ctx)
    like(ctx.peal.post(f"/v1/trigger-events/{found['id']}/skip", expect=200).json,
         {"status": "skipped", "skipReason": "manual"})
    equal(claim(ctx.peal), [])
    refused = ctx.peal.post(f"/v1/trigger-events/{found['id']}/skip", expect=409).json
    assert "skipped" in refused["detail"], refused
    bring(ctx.peal, "a:2")
    [second] = [row for row in events(ctx.peal) if row["dedupKey"] == "a:2"]
    [work] = claim(ctx.peal)
    refused = ctx.peal.post(f"/v1/trigger-events/{second['id']}/skip", expect=409).json
    assert "processing" in refused["detail"], refused
    ctx.peal.post(f"/v1/work/{work['id']}/fail", {"fence": work["fence"], "error": "no", "permanent": True}, expect=200)
    equal(one(ctx.peal, second["id"])["status"], "failed")
    act(ctx.peal, work["id"], "discard")
    like(one(ctx.peal, second["id"]), {"status": "failed", "skipReason": None})  # who gives up has not skipped


def test_a_run_writes_back(ctx):
    found = waiting(ctx)
    path = f"/v1/trigger-events/{found['id']}"
    ctx.peal.patch(path, {"sessionId": "s-1", "enrichedData": {"a": [1]}, "filterResult": True}, expect=200)
    like(ctx.peal.patch(path, {"analysisResult": {"verdict": "bug"}, "filterResult": None}, expect=200).json,
         {"sessionId": "s-1", "enrichedData": {"a": [1]}, "filterResult": None, "analysisResult": {"verdict": "bug"}})
    made = ctx.peal.post(path + "/actions", {
        "tool": "search", "status": "completed", "input": {"q": "x"}, "output": [1, 2],
        "startedAt": "2026-05-14T05:00:00Z", "completedAt": "2026-05-14T05:00:01.500Z"}, expect=201).json
    like(made, {"n": 1, "tool": "search", "input": {"q": "x"}, "output": [1, 2], "duration": "1500ms"})
    ctx.peal.post(path + "/actions", {"tool": "label", "status": "failed", "error": "no\x07 such\nlabel"}, expect=201)
    like(one(ctx.peal, found["id"])["actions"],
         [{"n": 1, "output": [1, 2]}, {"n": 2, "tool": "label", "error": "no  such\nlabel", "duration": None}])
    [row] = events(ctx.peal)
    like(row, {"sessionId": "s-1", "actions": [{"tool": "search", "duration": "1500ms"}, {"tool": "label"}]})
    assert "input" not in row["actions"][0] and "enrichedData" not in row, row


def test_what_is_written_back_has_limits(ctx):
    found = waiting(ctx)
    path = f"/v1/trigger-events/{found['id']}"
    ctx.peal.patch(path, {"sessionId": "s" * 200, "enrichedData": "x" * 65534}, expect=200)  # with its quotes 64 KiB
    for body, place in (({"sessionId": "s" * 201}, "/sessionId"), ({"enrichedData": "x" * 65535}, "/enrichedData"),
                        ({"session": "s"}, "/session"), ({"sessionId": 5}, "/sessionId")):
        equal([error["path"] for error in ctx.peal.patch(path, body, expect=422).json["errors"]], [place])
    for body, place in (({"status": "ok"}, "/tool"), ({"tool": "t"}, "/status"),
                        ({"tool": "t", "status": "ok", "input": "x" * 65536}, "/input"),
                        ({"tool": "t", "status": "ok", "startedAt": "2026-05-14T05:00:01Z",
                          "completedAt": "2026-05-14T05:00:00Z"}, "/completedAt")):
        equal([error["path"] for error in ctx.peal.post(path + "/actions", body, expect=422).json["errors"]], [place])
    for n in range(100):
        ctx.peal.post(path + "/actions", {"tool": "t", "status": "ok"}, expect=201)
    ctx.peal.post(path + "/actions", {"tool": "t", "status": "ok"}, expect=409)
    equal([action["n"] for action in one(ctx.peal, found["id"])["actions"]], list(range(1, 101)))


def test_who_may_see_and_write(ctx):
    found = waiting(ctx)
    path = f"/v1/trigger-events/{found['id']}"
    stranger = make_tenant(ctx.peal, "acme")
    one(stranger, found["id"], expect=404)
    stranger.patch(path, {"sessionId": "s"}, expect=404)
    stranger.post(path + "/skip", expect=404)
    stranger.get("/v1/triggers/hooks/events", expect=404)
    reader, worker = make_user(ctx.peal, "read"), make_user(ctx.peal, "worker")
    equal(one(reader, found["id"])["id"], found["id"])
    reader.patch(path, {"sessionId": "s"}, expect=403)
    reader.post(path + "/skip", expect=403)
    worker.post(path + "/skip", expect=403)
    worker.patch(path, {"sessionId": "s"}, expect=200)
    for handlers, expect in ((["worker:other"], 403), (["worker:triage"], 200)):
        key = ctx.peal.post("/v1/keys", {"tenant": "default", "role": "worker", "name": "w", "expiresAt": None,
                                         "handlers": handlers}, expect=201).json["key"]
        ctx.peal.with_key(key).patch(path, {"sessionId": "t"}, expect=expect)
    for id in ("nope", found["eventId"], found["eventId"] + ".0", found["eventId"] + ".999999", "." * 300,
               found["id"] + "x"):
        one(ctx.peal, id, expect=404)


def test_what_makes_no_run_is_skipped_and_may_fire_later(ctx):
    make_feed(ctx.peal)
    bring(ctx.peal)
    like(events(ctx.peal), [{"status": "skipped", "skipReason": "run_create_failed"}])
    [skipped] = events(ctx.peal)
    ctx.peal.post(f"/v1/trigger-events/{skipped['id']}/skip", expect=409)
    ctx.peal.patch(f"/v1/trigger-events/{skipped['id']}", {"sessionId": "s"}, expect=409)
    make_automation(ctx.peal, enabled=False)
    bring(ctx.peal)
    ctx.peal.patch("/v1/automations/triage", {"enabled": True}, expect=200)
    bring(ctx.peal)  # the key was not held
    bring(ctx.peal)  # now it is
    settle(ctx.peal)
    equal([(row["status"], row["skipReason"]) for row in events(ctx.peal)],
          [("completed", None), ("skipped", "automation_disabled"), ("skipped", "run_create_failed")])
    equal(len(deliveries(ctx.peal)), 1)


def test_a_disabled_trigger_skips(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal, enabled=False)
    bring(ctx.peal)
    like(events(ctx.peal), [{"status": "skipped", "skipReason": "automation_disabled"}])


def test_what_another_trigger_decided_is_its_own(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal)
    make_feed(ctx.peal, "picky", source="elsewhere")
    bring(ctx.peal)
    settle(ctx.peal)
    like(events(ctx.peal), [{"status": "completed", "skipReason": None}])
    like(events(ctx.peal, "picky"), [{"status": "skipped", "skipReason": "filter_mismatch", "deliveryId": None}])


def test_one_key_by_two_sources_makes_one_run(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal)
    bring(ctx.peal, source="gh")
    bring(ctx.peal, source="nango")
    bring(ctx.peal, "a:2")
    equal(len(deliveries(ctx.peal)), 2)
    equal([row["dedupKey"] for row in events(ctx.peal)], ["a:2", "a:1"])


def test_events_are_paged_newest_first(ctx):
    make_automation(ctx.peal)
    make_feed(ctx.peal)
    for n in range(7):
        bring(ctx.peal, f"k:{n}")
        ctx.peal.post("/v1/events", {"kind": "other", "payload": {}}, expect=202)
    seen, cursor = [], ""
    while True:
        page = ctx.peal.get(f"/v1/triggers/hooks/events?limit=3{cursor}", expect=200).json
        seen += [row["dedupKey"] for row in page["items"]]
        if not page["next"]:
            break
        cursor = "&cursor=" + page["next"]
    equal(seen, [f"k:{n}" for n in reversed(range(7))])
    # What is none of its own takes room of a page: one may be empty, and says that it is not all.
    for _ in range(4):
        bring(ctx.peal, "k:6")
    page = ctx.peal.get("/v1/triggers/hooks/events?limit=3", expect=200).json
    equal((page["items"], page["complete"]), ([], False))
    page = ctx.peal.get(f"/v1/triggers/hooks/events?limit=3&cursor={page['next']}", expect=200).json
    equal(([row["dedupKey"] for row in page["items"]], page["complete"]), (["k:6", "k:5"], False))


def test_the_automations_retry_holds(ctx):
    ctx.peal.post("/v1/channels", {"key": "memory:bad", "type": "memory", "config": {"answer": "transient"}}, expect=201)
    make_automation(ctx.peal, handler="memory:bad", maxRetries=1)
    make_feed(ctx.peal)
    bring(ctx.peal)
    advance(ctx.peal, "1d")
    [run] = deliveries(ctx.peal)
    equal((run["state"], len(attempts(ctx.peal, run["id"]))), ("parked", 2))
    equal(events(ctx.peal)[0]["status"], "failed")


def test_an_edited_handler_takes_what_waits(ctx):
    found = waiting(ctx)
    make_worker(ctx.peal, "worker:other")
    ctx.peal.patch("/v1/automations/triage", {"handler": "worker:other"}, expect=200)
    equal(claim(ctx.peal), [])
    equal([work["id"] for work in claim(ctx.peal, "worker:other")], [found["deliveryId"]])


def test_a_trigger_may_name_another_automation(ctx):
    found = waiting(ctx)
    make_worker(ctx.peal, "worker:other")
    make_automation(ctx.peal, "other", handler="worker:other")
    ctx.peal.patch("/v1/triggers/hooks", {"automation": "other"}, expect=200)
    equal(claim(ctx.peal), [])
    equal([(work["id"], work["automation"]) for work in claim(ctx.peal, "worker:other")],
          [(found["deliveryId"], "triage")])  # as the version says that made it


def test_however_many_wait_an_edited_handler_takes_them(ctx):
    """More than the save itself looks at (HANDOVER_LOOK)."""
    make_worker(ctx.peal)
    make_worker(ctx.peal, "worker:other")
    make_automation(ctx.peal, handler="worker:triage")
    make_feed(ctx.peal)
    for turn in range(2):
        ingest(ctx.peal, *[{"payload": {"dedupKey": f"{turn}:{i}"}} for i in range(600)], kind="generic.event")
    ctx.peal.patch("/v1/automations/triage", {"handler": "worker:other"}, expect=200)
    settle(ctx.peal)
    eventually(lambda: {row["channel"] for row in deliveries(ctx.peal)} == {"worker:other"})


def claimed(peal, handler):
    """Who claims from the new handler, without a look at the last one's, where nobody may be any more."""
    settle(peal)
    return [work["id"] for work in claim(peal, handler)]


def test_runs_follow_an_automation_that_is_made_anew(ctx):
    found = waiting(ctx)
    make_worker(ctx.peal, "worker:other")
    ctx.peal.delete("/v1/automations/triage", expect=204)
    make_automation(ctx.peal, handler="worker:other")
    eventually(lambda: claimed(ctx.peal, "worker:other") == [found["deliveryId"]])


def test_runs_of_an_automation_that_is_gone_follow_their_trigger(ctx):
    found = waiting(ctx)
    make_worker(ctx.peal, "worker:other")
    make_automation(ctx.peal, "other", handler="worker:other")
    ctx.peal.delete("/v1/automations/triage", expect=204)
    ctx.peal.patch("/v1/triggers/hooks", {"automation": "other"}, expect=200)
    eventually(lambda: claimed(ctx.peal, "worker:other") == [found["deliveryId"]])


def test_runs_follow_a_trigger_that_is_made_anew(ctx):
    found = waiting(ctx)
    make_worker(ctx.peal, "worker:other")
    make_automation(ctx.peal, "other", handler="worker:other")
    ctx.peal.delete("/v1/triggers/hooks", expect=204)
    equal(one(ctx.peal, found["id"])["status"], "queued")
    make_feed(ctx.peal, automation="other")
    eventually(lambda: claimed(ctx.peal, "worker:other") == [found["deliveryId"]])


def test_what_a_trigger_made_without_an_automation_is_no_run(ctx):
    """It was promised to a channel, and goes by that, whatever becomes of the trigger."""
    make_worker(ctx.peal)
    make_worker(ctx.peal, "worker:other")
    make_automation(ctx.peal, handler="worker:triage")
    make_feed(ctx.peal, automation=None, channel="worker:triage")
    [made] = bring(ctx.peal)["deliveries"]
    ctx.peal.put("/v1/triggers/hooks", feed_body(), expect=200)
    ctx.peal.patch("/v1/automations/triage", {"handler": "worker:other"}, expect=200)
    equal(claimed(ctx.peal, "worker:other"), [])
    equal(claimed(ctx.peal, "worker:triage"), [made["deliveryId"]])


def test_an_automation_shows_who_runs_it_and_its_runs(ctx):
    make_automation(ctx.peal, schedules=[{"name": "hourly", "cron": "0 * * * *"}])
    make_feed(ctx.peal)
    make_feed(ctx.peal, "also", filter={"path": "candidate.dedupKey", "op": "==", "value": "none"})
    like(ctx.peal.get("/v1/automations/triage", expect=200).json,
         {"triggers": ["also", "hooks"], "schedules": [{"name": "hourly"}]})
    bring(ctx.peal)
    ran = ctx.peal.post("/v1/automations/triage/run", expect=202).json
    advance(ctx.peal, "1h")
    runs = ctx.peal.get("/v1/automations/triage/runs", expect=200).json["items"]
    equal([run["source"] for run in runs], ["schedule", "manual", "trigger"])
    like(runs[1], {"runId": ran["runId"], "triggerId": None, "triggerEventId": None, "status": "completed", "attempts": 1})
    like(runs[2], {"triggerId": "hooks", "triggerEventId": events(ctx.peal)[0]["id"], "status": "completed"})
    seen, cursor = [], ""
    while cursor is not None:
        page = ctx.peal.get("/v1/automations/triage/runs?limit=1" + cursor, expect=200).json
        seen += [run["runId"] for run in page["items"]]
        cursor = page["next"] and "&cursor=" + page["next"]
    equal(seen, [run["runId"] for run in runs])
    make_tenant(ctx.peal, "acme").get("/v1/automations/triage/runs", expect=404)


def standing(peal, id="triage"):
    """How an automation stands, alone and in its list."""
    alone = peal.get(f"/v1/automations/{id}", expect=200).json
    [listed] = [row for row in peal.get("/v1/automations", expect=200).json["items"] if row["id"] == id]
    shown = [(row["lastResult"], row["lastRunAt"], row["dead"]) for row in (alone, listed)]
    equal(shown[0], shown[1])
    return shown[0]


def test_an_automation_stands_where_its_triggers_runs_stand(ctx):
    ctx.peal.post("/v1/channels", {"key": "memory:bad", "type": "memory", "config": {"answer": "permanent"}}, expect=201)
    make_automation(ctx.peal)
    make_automation(ctx.peal, "other")
    make_feed(ctx.peal)
    make_feed(ctx.peal, "late", filter={"path": "candidate.dedupKey", "op": "==", "value": "b:2"})
    equal(standing(ctx.peal), ("Never run", None, 0))
    bring(ctx.peal)
    settle(ctx.peal)
    equal(standing(ctx.peal), ("Succeeded", moment(), 0))
    equal(standing(ctx.peal, "other"), ("Never run", None, 0))
    assert "Succeeded" in ctx.peal.cli("automations").out
    ctx.peal.patch("/v1/automations/triage", {"handler": "memory:bad"}, expect=200)
    advance(ctx.peal, "1m")
    bring(ctx.peal, "b:2")  # both triggers run it, and wait for a person
    settle(ctx.peal)
    equal(standing(ctx.peal), ("Failed", moment(minutes=1), 2))
    ctx.peal.patch("/v1/automations/triage", {"handler": "memory:default"}, expect=200)
    advance(ctx.peal, "1m")
    ctx.peal.post("/v1/automations/triage/run", expect=202)  # its own are of the same row
    settle(ctx.peal)
    equal(standing(ctx.peal), ("Succeeded", moment(minutes=2), 2))
    ctx.peal.delete("/v1/triggers/late", expect=204)
    equal(standing(ctx.peal), ("Succeeded", moment(minutes=2), 1))


def test_a_trigger_of_any_events_that_runs_an_automation_has_trigger_events(ctx):
    make_automation(ctx.peal)
    ctx.peal.post("/v1/triggers", {"id": "paid", "eventKind": "order.paid", "automation": "triage"}, expect=201)
    ctx.peal.post("/v1/triggers", {"id": "told", "eventKind": "order.paid", "channel": "memory:default"}, expect=201)
    event = ctx.peal.post("/v1/events", {"kind": "order.paid", "payload": {"title": "An order"}}, expect=202).json["eventId"]
    settle(ctx.peal)
    shown = ctx.peal.get("/v1/triggers/paid", expect=200).json
    like(shown, {"counts": {"completed": 1}, "recentEvents": [{"eventId": event, "title": "An order", "dedupKey": None}]})
    assert not {"counts", "recentEvents"} & ctx.peal.get("/v1/triggers/told", expect=200).json.keys()


def test_a_run_by_hand_is_no_trigger_event(ctx):
    """Whichever number its rule has."""
    make_automation(ctx.peal)
    make_feed(ctx.peal)
    ctx.peal.post("/v1/automations/triage/run", expect=202)
    [run] = ctx.peal.get("/v1/automations/triage/runs", expect=200).json["items"]
    for number in range(10):
        one(ctx.peal, f"{run['eventId']}.{number}", expect=404)
    for id in ("nope", run["eventId"], run["eventId"] + ".", run["eventId"] + ".-1", run["eventId"] + ".99999999999999999999"):
        one(ctx.peal, id, expect=404)


def test_a_run_has_the_words_of_automations(ctx):
    waiting(ctx)
    equal([run["status"] for run in deliveries(ctx.peal)], ["queued"])


def test_who_cannot_be_polled_is_refused(ctx):
    make_automation(ctx.peal)
    equal(problems(make_feed(ctx.peal, expect=422, way="polling")), [("/way", "bad-value")])


def test_a_handoff_that_failed_is_counted_and_decided_anew(ctx):
    make_feed(ctx.peal)
    bring(ctx.peal)
    assert "peal_handoff_failures_total 1" in ctx.peal.get("/metrics", expect=200).text
    if ctx.store == "sqlite":
        return  # nobody can emit there
    settle(ctx.peal)
    [[id]] = ctx.sql("SELECT peal.emit('generic.event', '{\"dedupKey\":\"e:1\"}')")
    settle(ctx.peal)
    make_automation(ctx.peal)
    for _ in range(2):
        ctx.peal.post(f"/v1/outbox/{id}/replay", expect=200)
        settle(ctx.peal)
    equal([(row["eventId"], row["state"]) for row in deliveries(ctx.peal)], [(str(id), "delivered")])
    equal({row["dedupKey"]: row["status"] for row in events(ctx.peal)}, {"e:1": "completed", "a:1": "skipped"})


def test_trigger_events_on_the_command_line(ctx):
    found = waiting(ctx)
    listed = ctx.peal.cli("triggers", "events", "hooks")
    assert listed.code == 0 and found["id"] in listed.out and "queued" in listed.out, f"{listed.code} {listed.out} {listed.err}"
    equal(ctx.peal.cli("triggers", "skip", found["id"]).code, 0)
    equal(one(ctx.peal, found["id"])["status"], "skipped")
    assert ctx.peal.cli("triggers", "skip", found["id"]).code != 0


def hook(peal, source, labels, delivery):
    """Sends what GitHub does when an issue is opened."""
    body = json.dumps({"action": "opened", "issue": {"id": 123, "number": 7, "title": "It is broken",
                                                     "html_url": "https://github.com/octo/hello/issues/7",
                                                     "labels": [{"name": name} for name in labels]},
                       "repository": {"full_name": "octo/hello"}}).encode()
    signature = "sha256=" + hmac.new(source["secret"].encode(), body, hashlib.sha256).hexdigest()
    peal.with_key(None).request("POST", source["url"], raw=body, expect=200, headers={
        "Content-Type": "application/json", "X-GitHub-Event": "issues", "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": signature})


def test_an_issue_that_comes_by_two_hooks_is_one_run(ctx):
    """The walk of docs/automations.md: filtered, then labelled, then the same by another hook."""
    make_automation(ctx.peal)
    sources = [ctx.peal.post("/v1/sources", {"id": id, "provider": "github"}, expect=201).json
               for id in ("gh", "also")]
    make_feed(ctx.peal, provider="github", type="issues",
              config={"actions": ["opened"], "labels": ["bug"], "repositories": ["octo/hello"]})
    for source, labels in ((sources[0], ["ui"]), (sources[0], ["bug"]), (sources[1], ["bug"])):
        hook(ctx.peal, source, labels, f"{source['id']}-{labels[0]}")
        settle(ctx.peal)
    like(events(ctx.peal), [
        {"status": "completed", "providerEventType": "issues:opened", "dedupKey": "github:123:opened",
         "title": "It is broken", "url": "https://github.com/octo/hello/issues/7"},
        {"status": "skipped", "skipReason": "filter_mismatch", "dedupKey": "github:123:opened"}])
    equal(len(deliveries(ctx.peal)), 1)


if __name__ == "__main__":
    main()
