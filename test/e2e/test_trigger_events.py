"""W8 to W11: what a provider's triggers make of events, and the runs of automations that they make."""
from harness import equal, like, main
from steps import captured, deliveries, delivery, settle


def make_automation(peal, id="triage", handler="memory:default", **members):
    return peal.post("/v1/automations", {"id": id, "handler": handler, **members}, expect=201).json


def feed_body(id="hooks", **members):
    return {"id": id, "provider": "generic", "type": "event", "automation": "triage", **members}


def make_feed(peal, id="hooks", expect=201, **members):
    return peal.post("/v1/triggers", feed_body(id, **members), expect=expect).json


def bring(peal, key="a:1", source="gh", topic=None, kind="generic.event", **payload):
    """An event as a provider's webhook makes it."""
    body = {"kind": kind, "source": source, "payload": {
        "provider": "generic", "eventType": "event", "providerEventType": "ping:pong", "dedupKey": key,
        "title": "It is broken", "url": "https://example.com/1", "occurredAt": "2026-05-14T05:00:00.000Z",
        "externalId": "1", "context": {}, **payload}}
    if topic:
        body["topic"] = topic
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


if __name__ == "__main__":
    main()
