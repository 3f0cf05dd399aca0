"""X1: why an event did or did not fire, and all that happened to it, in order."""
import json

from harness import equal, like, main
from steps import (act, advance, attempts, change_channel, change_trigger, deliveries, delivery,
                   ingest, make_channel, make_trigger, moment, settle, visit)


def post_visit(peal, **payload):
    """Posts one visit and answers the event's id."""
    return ingest(peal, visit(**payload))["items"][0]["eventId"]


def explain(peal, event):
    return peal.get(f"/v1/events/{event}/explain", expect=200).json


def decisions(peal, event):
    return {one["triggerId"]: one for one in explain(peal, event)["decisions"]}


def timeline(peal, event):
    return peal.get(f"/v1/events/{event}/timeline", expect=200).json["items"]


def rule(id):
    return {"kind": "trigger", "id": id, "version": 1}


def equals(path, value):
    return {"path": path, "op": "==", "value": value}


def test_each_trigger_says_what_it_made_of_the_event(ctx):
    make_trigger(ctx.peal, "a-filtered", filter={"all": [equals("candidate.jobType", "GR"),
                                                         equals("candidate.dealerId", "2")]})
    make_trigger(ctx.peal, "b-disabled", enabled=False)
    make_trigger(ctx.peal, "c-duplicate", dedupRecipe=["candidate.dealerId"])
    make_trigger(ctx.peal, "d-created")
    first = post_visit(ctx.peal)
    event = post_visit(ctx.peal)
    told = explain(ctx.peal, event)
    equal(told["eventId"], event)
    rows = {row["triggerId"]: row["id"] for row in deliveries(ctx.peal, f"&event={event}")}
    holder = decisions(ctx.peal, first)["c-duplicate"]["deliveryId"]
    equal(told["decisions"], [
        {"triggerId": "a-filtered", "triggerVersion": 1, "rule": rule("a-filtered"), "outcome": "filtered",
         "reason": "filter-false", "path": "/filter/all/1",
         "predicate": 'candidate.dealerId == "2"', "seen": "1",
         "wouldMatchIf": 'candidate.dealerId were "2"'},
        {"triggerId": "b-disabled", "triggerVersion": 1, "rule": rule("b-disabled"), "outcome": "disabled",
         "reason": "trigger-disabled"},
        {"triggerId": "c-duplicate", "triggerVersion": 1, "rule": rule("c-duplicate"), "outcome": "duplicate",
         "reason": "duplicate-key", "deliveryId": holder},
        {"triggerId": "d-created", "triggerVersion": 1, "rule": rule("d-created"), "outcome": "created",
         "reason": "matched", "deliveryId": rows["d-created"]}])


def test_the_place_in_a_filter_is_told(ctx):
    cases = [(equals("candidate.jobType", "PM"), "/filter", "GR"),
             ({"all": [equals("candidate.jobType", "GR"), equals("candidate.gone", 1)]},
              "/filter/all/1", None),
             ({"not": equals("candidate.jobType", "GR")}, "/filter/not", "GR"),
             ({"all": [{"not": {"path": "recipient.address", "op": "startsWith",
                                "value": "+964"}}]}, "/filter/all/0/not", "+964 770 000 0001"),
             ({"questionId": "candidate.jobType", "op": "in", "value": ["A", "B"]}, "/filter",
              "GR")]
    for number, (filter, _, _) in enumerate(cases):
        make_trigger(ctx.peal, f"t{number}", filter=filter)
    found = decisions(ctx.peal, post_visit(ctx.peal))
    for number, (_, path, seen) in enumerate(cases):
        told = found[f"t{number}"]
        like(told, {"outcome": "filtered", "path": path, "seen": seen}, path)
        assert told["predicate"] and told["wouldMatchIf"], told


def test_it_is_explained_by_the_version_that_decided(ctx):
    make_trigger(ctx.peal, filter=equals("candidate.jobType", "PM"))
    event = post_visit(ctx.peal)
    before = explain(ctx.peal, event)
    change_trigger(ctx.peal, filter=equals("candidate.jobType", "GR"))
    equal(explain(ctx.peal, event), before)
    like(decisions(ctx.peal, post_visit(ctx.peal))["visit"],
         {"triggerVersion": 2, "outcome": "created"})
    ctx.peal.delete("/v1/triggers/visit", expect=204)
    equal(explain(ctx.peal, event)["decisions"], before["decisions"])


def test_the_note_tells_of_others(ctx):
    make_trigger(ctx.peal, "a", eventKind="service-visit-opened")
    make_trigger(ctx.peal, "b", eventKind="service-visit-opened")
    event = post_visit(ctx.peal)
    told = explain(ctx.peal, event)
    equal(told["decisions"], [])
    assert "no trigger listens to service-visit-closed" in told["note"], told
    assert "2 other triggers listen to other kinds" in told["note"], told
    make_trigger(ctx.peal, "late")
    note = explain(ctx.peal, event)["note"]
    assert "late began to listen after this event came" in note, note
    typo = ctx.peal.post("/v1/events", {"kind": "service-visit-close"}, expect=202).json["eventId"]
    note = explain(ctx.peal, typo)["note"]
    assert "did you mean service-visit-closed?" in note, note


def test_without_others_there_is_no_note(ctx):
    make_trigger(ctx.peal)
    equal(explain(ctx.peal, post_visit(ctx.peal))["note"], None)


def test_an_event_that_calls_off_says_so(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"},
                 cancelOn={"eventKind": "visit-reopened", "match": ["candidate.wip"]})
    event = post_visit(ctx.peal, wip="77")
    off = ingest(ctx.peal, visit(wip="77"), kind="visit-reopened")["items"][0]["eventId"]
    note = explain(ctx.peal, off)["note"]
    assert "calls deliveries off" in note, note
    like(timeline(ctx.peal, event)[-1], {"what": "ended", "detail": {
        "state": "cancelled", "reason": "called-off"}})


def test_the_timeline_has_everything_in_order(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=1)
    make_trigger(ctx.peal, "no", filter=equals("candidate.jobType", "PM"))
    make_trigger(ctx.peal, "yes", channel="memory:flaky", schedule={"initialDelay": "1h"},
                 retry={"policy": "fixed", "interval": "30s", "max": 3})
    event = post_visit(ctx.peal)
    advance(ctx.peal, "2h")
    items = timeline(ctx.peal, event)
    equal([(item["what"], item["at"]) for item in items],
          [("received", moment()), ("decided", moment()), ("decided", moment()),
           ("planned", moment()), ("attempt", moment(hours=1)),
           ("attempt", moment(hours=1, seconds=30)), ("ended", moment(hours=1, seconds=30))])
    id = deliveries(ctx.peal)[0]["id"]
    details = [item["detail"] for item in items]
    like(details[0], {"source": "ingest", "kind": "service-visit-closed"})
    like(details[1], {"triggerId": "no", "outcome": "filtered", "reason": "filter-false"})
    like(details[2], {"triggerId": "yes", "outcome": "created", "deliveryId": id})
    like(details[3], {"deliveryId": id, "triggerId": "yes", "channel": "memory:flaky",
                      "dueAt": moment(hours=1)})
    like(details[4], {"deliveryId": id, "number": 1, "send": 1, "outcome": "transient"})
    like(details[5], {"deliveryId": id, "number": 2, "outcome": "delivered"})
    like(details[6], {"deliveryId": id, "state": "delivered"})


def test_the_timeline_grows_with_what_happens(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h", "reminders": ["1d"]})
    event = post_visit(ctx.peal)
    id = deliveries(ctx.peal)[0]["id"]
    equal([item["what"] for item in timeline(ctx.peal, event)], ["received", "decided", "planned"])
    advance(ctx.peal, "1h")
    equal([item["what"] for item in timeline(ctx.peal, event)][3:], ["attempt"])
    advance(ctx.peal, "1d")
    equal([item["what"] for item in timeline(ctx.peal, event)][3:], ["attempt", "attempt"])
    act(ctx.peal, id, "complete")
    last = timeline(ctx.peal, event)[-1]
    like(last, {"what": "ended", "detail": {"state": "completed", "reason": "answered"}})


def test_a_person_who_acted_is_told(ctx):
    make_channel(ctx.peal, "memory:bad", answer="permanent")
    make_trigger(ctx.peal, channel="memory:bad")
    event = post_visit(ctx.peal)
    settle(ctx.peal)
    like(timeline(ctx.peal, event)[-1], {"what": "ended", "detail": {"state": "parked",
                                                                     "reason": "refused"}})
    id = deliveries(ctx.peal)[0]["id"]
    change_channel(ctx.peal, "memory:bad")
    act(ctx.peal, id, "retry")
    advance(ctx.peal, "1m")
    whats = [item["what"] for item in timeline(ctx.peal, event)]
    equal(whats, ["received", "decided", "planned", "attempt", "attempt", "ended"])


def test_two_triggers_have_one_timeline(ctx):
    for id in ("one", "two"):
        make_trigger(ctx.peal, id)
    event = post_visit(ctx.peal)
    settle(ctx.peal)
    whats = [item["what"] for item in timeline(ctx.peal, event)]
    equal(whats, ["received"] + ["decided"] * 2 + ["planned"] * 2 + ["attempt"] * 2 + ["ended"] * 2)


def test_a_far_sides_answer_stands_in_the_timeline(ctx):
    receiver = ctx.receiver()
    receiver.answer(422, body=b"no such account")
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, channel="http:out")
    event = post_visit(ctx.peal)
    settle(ctx.peal)
    attempt = next(item for item in timeline(ctx.peal, event) if item["what"] == "attempt")
    like(attempt["detail"], {"outcome": "permanent", "reason": "refused", "code": 422,
                             "detail": "no such account"})


def test_the_event_itself(ctx):
    item = {**visit(), "occurredAt": moment(hours=-1)}
    event = ingest(ctx.peal, item)["items"][0]["eventId"]
    like(ctx.peal.get(f"/v1/events/{event}", expect=200).json, {
        "id": event, "kind": "service-visit-closed", "source": "ingest", "entity": None,
        "receivedAt": moment(), "occurredAt": moment(hours=-1), "payload": item["payload"],
        "recipient": item["recipient"]})


def test_peal_why_prints_the_same_facts(ctx):
    make_trigger(ctx.peal, "wrong-type", filter=equals("candidate.jobType", "PM"))
    make_trigger(ctx.peal, "asleep", enabled=False)
    make_trigger(ctx.peal, "right")
    event = post_visit(ctx.peal)
    settle(ctx.peal)
    told = explain(ctx.peal, event)
    ran = ctx.peal.cli("why", event)
    equal((ran.code, ran.err), (0, ""))
    for one in told["decisions"]:
        assert one["triggerId"] in ran.out, ran.out
        for fact in ("predicate", "wouldMatchIf", "path", "deliveryId"):
            assert one.get(fact, "") in ran.out, f"{fact} of {one} in {ran.out}"
    equal(json.loads(ctx.peal.cli("why", event, "--json").out), told)


def test_peal_events_show_and_timeline_print_the_same_facts(ctx):
    make_trigger(ctx.peal, "right")
    event = post_visit(ctx.peal, note="wichtig")
    settle(ctx.peal)
    shown = ctx.peal.get(f"/v1/events/{event}", expect=200).json
    ran = ctx.peal.cli("events", "show", event)
    equal((ran.code, ran.err), (0, ""))
    for fact in (shown["id"], shown["kind"], shown["receivedAt"], "wichtig"):
        assert fact in ran.out, f"{fact} in {ran.out}"
    equal(json.loads(ctx.peal.cli("events", "show", event, "--json").out), shown)
    told = timeline(ctx.peal, event)
    ran = ctx.peal.cli("events", "timeline", event)
    equal(ran.code, 0)
    lines = ran.out.splitlines()
    equal(len(lines), len(told))
    for line, item in zip(lines, told):
        assert item["at"] in line and item["what"] in line, f"{item} as {line}"
    equal(json.loads(ctx.peal.cli("events", "timeline", event, "--json").out)["items"], told)


def test_asking_about_nothing(ctx):
    for path in ("explain", "timeline"):
        equal(ctx.peal.get(f"/v1/events/01975e3c-7a4b-7000-8000-2c9d3f5b1a60/{path}").status, 404)
    ran = ctx.peal.cli("why", "01975e3c-7a4b-7000-8000-2c9d3f5b1a60")
    equal(ran.code, 3)
    assert ran.err.startswith("Error: "), ran.err
    equal(ctx.peal.cli("why").code, 2)


def test_deliveries_show_the_attempt_counts_that_the_timeline_has(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=2)
    make_trigger(ctx.peal, channel="memory:flaky",
                 retry={"policy": "fixed", "interval": "10s", "max": 5})
    event = post_visit(ctx.peal)
    advance(ctx.peal, "1m")
    row = deliveries(ctx.peal)[0]
    tries = [item for item in timeline(ctx.peal, event) if item["what"] == "attempt"]
    equal((row["attemptCount"], len(attempts(ctx.peal, row["id"])), len(tries)), (3, 3, 3))
    equal(delivery(ctx.peal, row["id"])["state"], "delivered")


if __name__ == "__main__":
    main()
