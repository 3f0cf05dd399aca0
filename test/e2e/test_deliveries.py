"""What happened, and what a person may do about it: lists, explanations, timelines, operations."""
import threading
import urllib.parse

from harness import equal, eventually, like, main
from steps import (KIND, act, advance, attempts, captured, deliveries, delivery, ingest, ingest_one,
                   make_channel, make_tenant, make_trigger, moment, settle, visit)

NOBODY = "0197f000-0000-7000-8000-000000000000"


def ids(peal, query=""):
    return [row["id"] for row in deliveries(peal, query)]


def settled(peal, id, state):
    def check():
        settle(peal)
        return delivery(peal, id)["state"] == state
    eventually(check)


def park_some(peal, count, id="flaky", **members):
    make_trigger(peal, id, channel=f"sms:{id}", eventKind=id, **members)
    made = ingest(peal, *[visit() for _ in range(count)], kind=id)
    found = [item["deliveries"][0]["deliveryId"] for item in made["items"]]
    for one in found:
        settled(peal, one, "parked")
    return found


def test_case_is_that_of_ascii_on_every_database(ctx):
    make_trigger(ctx.peal)
    item = {**visit(), "recipient": {"address": "\u00c4RGER@Example.com", "locale": "de"}}
    made = ingest(ctx.peal, item)["items"][0]["deliveries"][0]["deliveryId"]
    for q, found in (("\u00c4rger@exAMPLE", [made]), ("RGER", [made]), ("\u00e4rger", [])):
        equal(ids(ctx.peal, f"&q={urllib.parse.quote(q)}"), found, q)


def test_lists_are_filtered(ctx):
    peal = ctx.peal
    make_trigger(peal, "soon")
    make_trigger(peal, "late", schedule={"initialDelay": "1d"})
    items = [{**visit(), "entity": f"visit:{n}"} for n in range(3)]
    items[1]["recipient"] = {"address": "Ada_%@example.com", "locale": "en", "customerRef": "C!7"}
    made = ingest(peal, *items)
    events = [item["eventId"] for item in made["items"]]
    by = {(item["eventId"], one["triggerId"]): one for item in made["items"]
          for one in item["deliveries"]}
    soon = [by[event, "soon"]["deliveryId"] for event in events]
    late = [by[event, "late"]["deliveryId"] for event in events]
    for one in soon:
        settled(peal, one, "delivered")
    parked = park_some(peal, 2)
    everything = sorted([*soon, *late, *parked], reverse=True)
    equal(ids(peal), everything)
    equal(ids(peal, "&state=pending"), sorted(late, reverse=True))
    equal(ids(peal, "&state=delivered"), sorted(soon, reverse=True))
    equal(ids(peal, "&state=parked"), sorted(parked, reverse=True))
    equal(ids(peal, "&state=cancelled"), [])
    equal(ids(peal, "&trigger=late&state=pending"), sorted(late, reverse=True))
    equal(ids(peal, "&trigger=late"), sorted(late, reverse=True))
    equal(ids(peal, "&channel=sms:flaky"), sorted(parked, reverse=True))
    equal(ids(peal, "&channel=sms:none"), [])
    equal(ids(peal, f"&event={events[1]}"), sorted([soon[1], late[1]], reverse=True))
    equal(ids(peal, f"&event={events[1]}&state=pending"), [late[1]])
    equal(ids(peal, "&entity=visit:2"), sorted([soon[2], late[2]], reverse=True))
    for q in ("ada_%25", "c!7", "EXAMPLE.com", "visit:1", by[events[1], "soon"]["publicId"]):
        assert soon[1] in ids(peal, f"&q={q}"), q
    equal(ids(peal, "&q=ada_x"), [])
    equal(ids(peal, f"&from={moment(seconds=1)}"), [])
    equal(ids(peal, f"&to={moment()}"), [])
    equal(ids(peal, f"&from={moment()}&to={moment(seconds=1)}"), everything)
    equal(ids(peal, "&stuck=true"), [])
    for bad in ("state=odd", "event=7", "from=noon", "stuck=1", "stat=parked", "limit=0"):
        equal(peal.get(f"/v1/deliveries?{bad}").status, 422, bad)
    equal(peal.get("/v1/deliveries?cursor=abc").status, 400)
    for query in ("", "&state=parked", "&state=pending", "&state=delivered"):
        found, cursor = [], ""
        while cursor is not None:
            page = peal.get(f"/v1/deliveries?limit=1{query}{cursor}", expect=200).json
            found += [row["id"] for row in page["items"]]
            cursor = f"&cursor={page['next']}" if page["next"] else None
        equal(found, ids(peal, query))


def test_what_hangs_is_stuck(ctx):
    make_channel(ctx.peal, "memory:sick", answer="transient")
    make_trigger(ctx.peal, channel="memory:sick", retry={"policy": "fixed", "interval": "8m", "max": 9})
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    advance(ctx.peal, "9m")
    equal(ids(ctx.peal, "&stuck=true"), [])
    advance(ctx.peal, "8m")
    eventually(lambda: ids(ctx.peal, "&stuck=true") == [id])
    row = delivery(ctx.peal, id)
    like(row, {"state": "retrying", "status": "Pending"})
    assert row["reason"] and row["lastError"], row


def walk_captured(peal, query):
    found, cursor = [], ""
    while cursor is not None:
        page = peal.get(f"/v1/captured?limit=2{query}{cursor}", expect=200).json
        found += [(one["deliveryId"], one["attempt"]) for one in page["items"]]
        cursor = f"&cursor={page['next']}" if page["next"] else None
    return found


def test_captured_is_paged(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d", "1d"]})
    first, second = sorted([ingest_one(ctx.peal), ingest_one(ctx.peal)])
    settle(ctx.peal)
    advance(ctx.peal, "1d")
    advance(ctx.peal, "1d")
    eventually(lambda: len(captured(ctx.peal, first)) == 3 and len(captured(ctx.peal, second)) == 3)
    in_order = [(first, 1), (first, 2), (first, 3), (second, 1), (second, 2), (second, 3)]
    equal(walk_captured(ctx.peal, ""), in_order)
    equal(walk_captured(ctx.peal, "&newest=true"), in_order[::-1])
    equal(walk_captured(ctx.peal, f"&newest=true&delivery={first}"), in_order[2::-1])
    equal(walk_captured(ctx.peal, f"&delivery={second}"), in_order[3:])
    equal(ctx.peal.get("/v1/captured?channel=memory:default").json["items"][0]["url"], None)
    equal(ctx.peal.get("/v1/captured?channel=memory:other").json["items"], [])
    page = ctx.peal.get(f"/v1/deliveries/{first}/attempts?limit=2").json
    equal([one["number"] for one in page["items"]], [1, 2])
    page = ctx.peal.get(f"/v1/deliveries/{first}/attempts?limit=2&cursor={page['next']}").json
    equal(([one["number"] for one in page["items"]], page["next"]), ([3], None))


def test_events_are_listed(ctx):
    one = ingest(ctx.peal, visit(), visit(), kind="a")["items"]
    two = ingest(ctx.peal, visit(), kind="b")["items"]
    newest = sorted([item["eventId"] for item in [*one, *two]], reverse=True)
    rows = ctx.peal.get("/v1/events", expect=200).json["items"]
    equal([row["id"] for row in rows], newest)
    equal([r["id"] for r in ctx.peal.get("/v1/events?kind=b").json["items"]], [two[0]["eventId"]])
    page = ctx.peal.get("/v1/events?limit=2").json
    equal([r["id"] for r in page["items"]], newest[:2])
    page = ctx.peal.get(f"/v1/events?limit=2&cursor={page['next']}").json
    equal(([r["id"] for r in page["items"]], page["next"]), (newest[2:], None))
    equal(ctx.peal.get(f"/v1/events?from={moment(seconds=1)}").json["items"], [])
    equal(ctx.peal.get(f"/v1/events/{NOBODY}").status, 404)


def test_notes_of_an_explanation(ctx):
    event = ingest(ctx.peal, visit(), kind="order.payed")["items"][0]["eventId"]

    def note():
        return ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["note"]

    equal(note(), "no trigger listens to order.payed")
    make_trigger(ctx.peal, "paid", eventKind="order.paid")
    equal(note(), "no trigger listens to order.payed, did you mean order.paid?;"
                  " 1 other trigger listens to other kinds")
    make_trigger(ctx.peal, "new", eventKind="order.payed")
    equal(note(), "new began to listen after this event came;"
                  " 1 other trigger listens to other kinds")


def test_a_repeat_is_explained_by_the_first(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    first = ingest_one(ctx.peal, visit(wip="7"))
    event = ingest(ctx.peal, visit(wip="7"))["items"][0]["eventId"]
    decision = ctx.peal.get(f"/v1/events/{event}/explain").json["decisions"][0]
    like(decision, {"outcome": "duplicate", "reason": "duplicate-key", "deliveryId": first})


def test_the_timeline_is_in_order(ctx):
    make_trigger(ctx.peal, "a", schedule={"initialDelay": "1h"})
    make_trigger(ctx.peal, "b", filter={"path": "candidate.jobType", "op": "==", "value": "PM"})
    id = ingest_one(ctx.peal)
    advance(ctx.peal, "2h")
    settled(ctx.peal, id, "delivered")
    event = delivery(ctx.peal, id)["eventId"]
    items = ctx.peal.get(f"/v1/events/{event}/timeline", expect=200).json["items"]
    equal([(one["what"], one["at"]) for one in items], [
        ("received", moment()), ("decided", moment()), ("decided", moment()),
        ("planned", moment()), ("attempt", moment(hours=1)), ("ended", moment(hours=1))])
    like(items[0]["detail"], {"source": "ingest", "kind": KIND})
    like(items[2]["detail"], {"triggerId": "b", "outcome": "filtered"})
    like(items[3]["detail"], {"deliveryId": id, "dueAt": moment(hours=1)})
    like(items[4]["detail"], {"number": 1, "send": 1, "outcome": "delivered", "code": None})
    like(items[5]["detail"], {"state": "delivered"})


def done(peal, id):
    row = peal.get(f"/v1/operations/{id}", expect=200).json
    return row if row["state"] == "done" else None


def finished(peal, id):
    def look():
        settle(peal)
        return done(peal, id)
    return eventually(look)


def start(peal, action, filter, **rest):
    body = {"action": action, "filter": filter, **rest}
    return peal.post("/v1/operations", body, expect=202).json


def test_an_operation_retries_what_is_parked(ctx):
    peal = ctx.peal
    parked = park_some(peal, 7)
    other = park_some(peal, 2, "other")
    dry = start(peal, "retry", {}, dryRun=True)
    like(finished(peal, dry["id"]), {"matched": 9, "done": 0, "dryRun": True})
    make_channel(peal, "sms:flaky")
    began = start(peal, "retry", {"state": "parked", "channel": "sms:flaky"}, reason="fixed")
    equal(began["matched"], None)
    like(finished(peal, began["id"]), {
        "action": "retry", "filter": {"state": "parked", "channel": "sms:flaky"}, "reason": "fixed",
        "matched": 7, "done": 7, "skipped": 0, "failed": 0, "createdAt": moment(),
        "finishedAt": moment()})
    for id in parked:
        settled(peal, id, "delivered")
    equal(ids(peal, "&state=parked"), sorted(other, reverse=True))
    began = start(peal, "discard", {"event": delivery(peal, other[0])["eventId"]}, reason="old")
    like(finished(peal, began["id"]), {"matched": 1, "done": 1})
    like(delivery(peal, other[0]), {"state": "discarded", "reason": "by-operator"})
    equal(ids(peal, "&state=parked"), [other[1]])


def test_an_operation_cancels_what_lives(ctx):
    peal = ctx.peal
    make_trigger(peal, schedule={"initialDelay": "1d"})
    ingest(peal, *[visit() for _ in range(1200)])
    began = start(peal, "cancel", {"trigger": "visit"})
    like(finished(peal, began["id"]), {"matched": 1200, "done": 1200})
    equal(len(ids(peal, "&state=cancelled")), 1200)
    equal(ids(peal, "&state=pending"), [])


def test_what_is_no_operation_is_refused(ctx):
    for body in ({"action": "retry"}, {"action": "retry", "filter": {"state": "pending"}},
                 {"action": "cancel", "filter": {"state": "parked"}},
                 {"action": "cancel", "filter": {"stat": "pending"}},
                 {"action": "resend", "filter": {}}, {"action": "retry", "filter": {}, "x": 1},
                 {"action": "retry", "filter": {"from": "noon"}}):
        equal(ctx.peal.post("/v1/operations", body).status, 422, body)
    equal(ctx.peal.get(f"/v1/operations/{NOBODY}").status, 404)


def test_another_tenants_rows_are_not_there(ctx):
    id = park_some(ctx.peal, 1)[0]
    event = delivery(ctx.peal, id)["eventId"]
    operation = start(ctx.peal, "cancel", {})["id"]
    other = make_tenant(ctx.peal, "other")
    for path in (f"/v1/deliveries/{id}", f"/v1/deliveries/{id}/attempts", f"/v1/events/{event}",
                 f"/v1/events/{event}/explain", f"/v1/events/{event}/timeline",
                 f"/v1/operations/{operation}"):
        equal(other.get(path).status, 404, path)
    for action in ("retry", "discard", "cancel", "complete"):
        equal(other.post(f"/v1/deliveries/{id}/{action}").status, 404)
    for path in ("/v1/deliveries", "/v1/events", "/v1/captured", "/v1/deliveries?state=parked"):
        equal(other.get(path).json["items"], [])
    mine = start(other, "retry", {}, dryRun=True)["id"]
    equal(eventually(lambda: done(other, mine))["matched"], 0)


def test_actions_take_reasons_and_refuse_the_rest(ctx):
    id = park_some(ctx.peal, 1)[0]
    equal(ctx.peal.post(f"/v1/deliveries/{id}/discard", {"why": "x"}).status, 422)
    equal(ctx.peal.post(f"/v1/deliveries/{id}/cancel").json["detail"],
          "a delivery that is parked cannot be cancelled")
    like(act(ctx.peal, id, "complete"), {"state": "completed", "reason": "answered"})
    equal(ctx.peal.post(f"/v1/deliveries/{id}/retry").json["detail"],
          "a delivery that is completed cannot be retried")


def send_and_hold(ctx):
    """A delivery whose receiver has the request and does not answer yet."""
    peal, receiver, answers = ctx.start(clock="system"), ctx.receiver(), threading.Event()
    ctx.closers.append(answers.set)
    receiver.answer(hold=answers)
    peal.post("/v1/channels", {"key": "http:far", "type": "http", "timeout": "60s",
                               "config": {"url": receiver.url}}, expect=201)
    make_trigger(peal, "far", channel="http:far")
    id = ingest_one(peal)
    receiver.wait_for(1)
    return peal, id, answers


def test_the_targets_of_a_delivery_are_shown_where_it_has_several(ctx):
    make_trigger(ctx.peal)
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    assert "targets" not in delivery(ctx.peal, id)
    ctx.peal.stop()
    # A list makes them; here they are as different as they can be.
    rows = [(1, "ada@example.org", 1, 0, 1, 250, "'theirs'", "NULL", 1778735554000000),
            (2, "bob@example.org", 1, 2, 2, 550, "NULL", "'no such mailbox'", 1778735554000000),
            (3, "cleo@example.org", 0, 3, "NULL", "NULL", "NULL", "NULL", "NULL")]
    for n, address, *told in rows:
        ctx.sql("INSERT INTO target (tenant, delivery, n, address, round, send, verdict, reason, code,"
                f" provider_id, detail, told_at) SELECT tenant, id, {n}, '{address}', 0,"
                f" {', '.join(str(one) for one in told)} FROM delivery")
    ctx.peal.start()
    at = "2026-05-14T05:12:34.000Z"
    nobody = {"name": None, "locale": None}  # that is known of
    equal(delivery(ctx.peal, id)["targets"], [
        {"address": "ada@example.org", "at": at, "outcome": "delivered", "reason": "accepted",
         "code": 250, "providerId": "theirs", "detail": None, **nobody},
        {"address": "bob@example.org", "at": at, "outcome": "permanent", "reason": "refused",
         "code": 550, "providerId": None, "detail": "no such mailbox", **nobody},
        {"address": "cleo@example.org", "at": None, "outcome": None, "reason": None, "code": None,
         "providerId": None, "detail": None, **nobody}])
    assert "targets" not in deliveries(ctx.peal)[0]


def test_a_send_that_was_called_off_is_on_record_whatever_dies(ctx):
    peal, id, _ = send_and_hold(ctx)
    like(act(peal, id, "cancel"), {"state": "cancelled", "inFlight": True})
    peal.kill9()
    peal.restart()
    like(delivery(peal, id), {"state": "cancelled", "attemptCount": 1, "inFlight": True})
    like(attempts(peal, id), [{"number": 1, "outcome": "unknown", "reason": "called-off"}])


def test_a_send_that_was_called_off_may_still_report(ctx):
    peal, id, answers = send_and_hold(ctx)
    like(act(peal, id, "complete"), {"state": "completed", "inFlight": True})
    answers.set()
    eventually(lambda: not delivery(peal, id)["inFlight"])
    like(delivery(peal, id), {"state": "completed", "attemptCount": 1})
    like(attempts(peal, id), [{"number": 1, "outcome": "delivered", "reason": "accepted"}])


if __name__ == "__main__":
    main()
