"""Acting on many deliveries at once: what a filter names, counted, step by step, to its end."""
import json

from harness import equal, eventually, like, main
from steps import (act, advance, attempts, change_channel, deliveries, delivery, ingest,
                   ingest_one, make_channel, make_tenant, make_trigger, moment, problems, settle, visit)

BAD = "memory:bad"


def park(peal, count, trigger="visit"):
    """So many parked deliveries; answers their ids."""
    if peal.get(f"/v1/channels/{BAD}").status == 404:
        make_channel(peal, BAD, answer="permanent")
    if peal.get(f"/v1/triggers/{trigger}").status == 404:
        make_trigger(peal, trigger, eventKind=trigger, channel=BAD)
    answer = ingest(peal, *[visit() for _ in range(count)], kind=trigger)
    settle(peal)
    return [item["deliveries"][0]["deliveryId"] for item in answer["items"]]


def wait_in_plan(peal, count, trigger="later"):
    make_trigger(peal, trigger, eventKind=trigger, schedule={"initialDelay": "1d"})
    answer = ingest(peal, *[visit() for _ in range(count)], kind=trigger)
    return [item["deliveries"][0]["deliveryId"] for item in answer["items"]]


def begin(peal, action, filter, expect=202, **rest):
    return peal.post("/v1/operations", {"action": action, "filter": filter, **rest},
                     expect=expect).json


def run(peal, action, filter, **rest):
    """Runs an operation to its end and answers how it went."""
    begun = begin(peal, action, filter, **rest)
    equal(begun, {"id": begun["id"], "matched": None, "dryRun": rest.get("dryRun", False)})
    return eventually(lambda: done(peal, begun["id"]))


def done(peal, id):
    shown = peal.get(f"/v1/operations/{id}", expect=200).json
    return shown if shown["state"] == "done" else None


def states(peal, ids):
    return {delivery(peal, id)["state"] for id in ids}


def test_retry_what_is_parked(ctx):
    ids = park(ctx.peal, 30)
    change_channel(ctx.peal, BAD)
    ended = run(ctx.peal, "retry", {"state": "parked", "channel": BAD})
    like(ended, {"action": "retry", "matched": 30, "done": 30, "skipped": 0, "failed": 0,
                 "state": "done", "createdAt": moment(), "finishedAt": moment()})
    settle(ctx.peal)
    equal(states(ctx.peal, ids), {"delivered"})
    equal({len(attempts(ctx.peal, id)) for id in ids}, {2})


def test_discard_with_a_reason(ctx):
    ids = park(ctx.peal, 5)
    ended = run(ctx.peal, "discard", {"state": "parked"}, reason="test data")
    like(ended, {"done": 5, "reason": "test data"})
    equal(states(ctx.peal, ids), {"discarded"})
    event = delivery(ctx.peal, ids[0])["eventId"]
    last = ctx.peal.get(f"/v1/events/{event}/timeline", expect=200).json["items"][-1]
    like(last, {"what": "ended", "detail": {"state": "discarded", "reason": "by-operator",
                                            "note": "test data"}})


def test_cancel_what_is_still_to_be_sent(ctx):
    later = wait_in_plan(ctx.peal, 7)
    parked = park(ctx.peal, 3)
    like(run(ctx.peal, "cancel", {}), {"matched": 7, "done": 7})
    equal((states(ctx.peal, later), states(ctx.peal, parked)), ({"cancelled"}, {"parked"}))
    advance(ctx.peal, "2d")
    equal(states(ctx.peal, later), {"cancelled"})


def test_a_filter_names_what_is_meant(ctx):
    mine, theirs = park(ctx.peal, 4, "mine"), park(ctx.peal, 3, "theirs")
    advance(ctx.peal, "1h")
    late = park(ctx.peal, 2, "mine")
    event = delivery(ctx.peal, theirs[0])["eventId"]
    cases = [({"trigger": "mine"}, 6), ({"trigger": "theirs"}, 3), ({"channel": BAD}, 9),
             ({"channel": "memory:default"}, 0), ({"event": event}, 1),
             ({"trigger": "mine", "from": moment(minutes=30)}, 2),
             ({"trigger": "mine", "to": moment(minutes=30)}, 4), ({"state": "parked"}, 9), ({}, 9)]
    for filter, matched in cases:
        dry = run(ctx.peal, "discard", filter, dryRun=True)
        like(dry, {"matched": matched, "done": 0, "dryRun": True}, str(filter))
    equal(states(ctx.peal, mine + theirs + late), {"parked"})
    like(run(ctx.peal, "discard", {"trigger": "mine", "from": moment(minutes=30)}), {"done": 2})
    equal((states(ctx.peal, mine + theirs), states(ctx.peal, late)), ({"parked"}, {"discarded"}))


def test_a_filter_by_entity(ctx):
    park(ctx.peal, 1)
    for entity in ("booking:1", "booking:2"):
        ctx.peal.post("/v1/events", {"kind": "visit", "entity": entity,
                                     "recipient": {"address": f"{entity}@example.com"}}, expect=202)
    settle(ctx.peal)
    for filter in ({"entity": "booking:1"}, {"entity": "booking:2", "channel": BAD}):
        equal(run(ctx.peal, "retry", filter, dryRun=True)["matched"], 1, str(filter))


def test_a_dry_run_changes_nothing(ctx):
    ids = park(ctx.peal, 3)
    before = [delivery(ctx.peal, id) for id in ids]
    for action in ("retry", "discard"):
        equal(run(ctx.peal, action, {}, dryRun=True)["matched"], 3)
    settle(ctx.peal)
    equal([delivery(ctx.peal, id) for id in ids], before)


def test_many_are_done_in_steps(ctx):
    """More than one step's worth; what is counted adds up at every look."""
    park(ctx.peal, 1200)
    begun = begin(ctx.peal, "discard", {"state": "parked"})
    seen, states = [], []

    def look():
        shown = ctx.peal.get(f"/v1/operations/{begun['id']}", expect=200).json
        seen.append(shown["done"] + shown["skipped"] + shown["failed"])
        states.append((shown["state"], shown["matched"]))
        return shown["state"] == "done"

    eventually(look)
    equal(seen, sorted(seen), "it only goes forward")
    equal((seen[-1], states[-1]), (1200, ("done", 1200)))
    equal({matched for state, matched in states if state == "counting"} - {None}, set())
    equal({matched for state, matched in states if state == "running"} - {1200}, set())
    equal(len(deliveries(ctx.peal, "&state=parked")), 0)
    equal(len(deliveries(ctx.peal, "&state=discarded")), 1200)


def test_what_has_moved_on_is_skipped_or_left_out(ctx):
    """Two operations and a person at once: each delivery is acted on by one of them."""
    ids = park(ctx.peal, 600)
    first = begin(ctx.peal, "discard", {"state": "parked"})
    second = begin(ctx.peal, "discard", {"state": "parked"})
    for id in ids[-3:]:
        ctx.peal.post(f"/v1/deliveries/{id}/discard")
    ends = [eventually(lambda one=one: done(ctx.peal, one["id"])) for one in (first, second)]
    equal(states(ctx.peal, ids), {"discarded"})
    total = sum(end["done"] for end in ends)
    assert 597 <= total <= 600, ends
    equal([end["failed"] for end in ends], [0, 0])
    for end in ends:
        assert end["done"] + end["skipped"] <= end["matched"], end


def test_what_comes_later_is_not_part_of_it(ctx):
    park(ctx.peal, 2)
    advance(ctx.peal, "1m")
    begun = begin(ctx.peal, "retry", {"state": "parked"})
    ended = eventually(lambda: done(ctx.peal, begun["id"]))
    settle(ctx.peal)
    equal(ended["done"], 2)
    equal({len(attempts(ctx.peal, row["id"])) for row in deliveries(ctx.peal)}, {2})
    advance(ctx.peal, "1m")
    late = park(ctx.peal, 1)
    settle(ctx.peal)
    equal(len(attempts(ctx.peal, late[0])), 1)


def test_what_comes_at_the_same_moment_is_not_part_of_it(ctx):
    """The clock stands still: what was made first is told by the ids."""
    early = wait_in_plan(ctx.peal, 3)
    begun = begin(ctx.peal, "cancel", {"state": "pending"})
    late = ingest(ctx.peal, *[visit() for _ in range(3)], kind="later")
    eventually(lambda: done(ctx.peal, begun["id"]))
    equal(states(ctx.peal, early), {"cancelled"})
    equal({delivery(ctx.peal, item["deliveries"][0]["deliveryId"])["state"]
           for item in late["items"]}, {"pending"})


def test_an_operation_goes_on_after_a_restart(ctx):
    ids = park(ctx.peal, 600)
    begun = begin(ctx.peal, "discard", {"state": "parked"})
    ctx.peal.restart()
    like(eventually(lambda: done(ctx.peal, begun["id"])), {"matched": 600, "done": 600})
    equal(len(deliveries(ctx.peal, "&state=discarded")), len(ids))


def test_an_operation_works_while_held(ctx):
    """Holding stops sending, not deciding."""
    ids = park(ctx.peal, 3)
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    like(run(ctx.peal, "retry", {"state": "parked"}), {"done": 3})
    equal({len(attempts(ctx.peal, id)) for id in ids}, {1})
    change_channel(ctx.peal, BAD)
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    equal(states(ctx.peal, ids), {"delivered"})


def test_one_delivery_at_a_time_says_when_it_cannot(ctx):
    make_trigger(ctx.peal)
    sent = ingest_one(ctx.peal)
    settle(ctx.peal)
    for action in ("retry", "discard", "cancel", "complete"):
        answer = ctx.peal.post(f"/v1/deliveries/{sent}/{action}")
        equal((answer.status, answer.json["code"]), (409, "conflict"), action)
        assert "delivered" in answer.json["detail"], answer.text
    parked = park(ctx.peal, 2, "other")
    equal(ctx.peal.post(f"/v1/deliveries/{parked[0]}/cancel").status, 409)
    equal(act(ctx.peal, parked[0], "retry")["state"], "pending")
    equal(act(ctx.peal, parked[1], "discard", {"reason": "no use"})["state"], "discarded")
    equal(ctx.peal.post(f"/v1/deliveries/{parked[1]}/discard", {"why": "x"}).status, 422)


def test_an_operation_that_makes_no_sense_is_refused(ctx):
    cases = [({"action": "retry"}, "/filter"), ({"filter": {}}, "/action"),
             ({"action": "retry", "filter": {"state": "delivered"}}, "/filter/state"),
             ({"action": "cancel", "filter": {"state": "parked"}}, "/filter/state"),
             ({"action": "discard", "filter": {"state": "waiting"}}, "/filter/state"),
             ({"action": "retry", "filter": {"state": "lost"}}, "/filter/state"),
             ({"action": "retry", "filter": {"event": "x"}}, "/filter/event"),
             ({"action": "retry", "filter": {"from": "x"}}, "/filter/from"),
             ({"action": "complete", "filter": {}}, "/action"),
             ({"action": "retry", "filter": {}, "reason": 7}, "/reason"),
             ({"action": "retry", "filter": {}, "reason": "x" * 5000}, "/reason")]
    for body, place in cases:
        answer = ctx.peal.post("/v1/operations", body)
        equal(answer.status, 422, str(body)[:80])
        equal([at for at, _ in problems(answer)], [place], str(body)[:80])


def test_one_made_twice_with_a_key_is_one(ctx):
    park(ctx.peal, 2)
    body = {"action": "discard", "filter": {"state": "parked"}}
    made = [ctx.peal.post("/v1/operations", body, headers={"Idempotency-Key": "k"},
                          expect=202).json for _ in range(2)]
    equal(made[0], made[1])


def look(peal, id):
    return peal.get(f"/v1/operations/{id}", expect=200).json


def turn(peal, id, verb, expect=200):
    return peal.post(f"/v1/operations/{id}/{verb}", expect=expect).json


def test_operations_are_listed_newest_first(ctx):
    park(ctx.peal, 1)
    made = [run(ctx.peal, "retry", {"state": "parked"}, dryRun=True)["id"] for _ in range(3)]
    listed = ctx.peal.get("/v1/operations?limit=2", expect=200).json
    equal([one["id"] for one in listed["items"]], made[:0:-1])
    rest = ctx.peal.get(f"/v1/operations?limit=2&cursor={listed['next']}", expect=200).json
    equal(([one["id"] for one in rest["items"]], rest["next"]), (made[:1], None))
    like(rest["items"][0], look(ctx.peal, made[0]))
    done = run(ctx.peal, "discard", {"state": "parked"})["id"]
    for dry, ids in (("true", made[::-1]), ("false", [done])):
        equal([one["id"] for one in ctx.peal.get(f"/v1/operations?dryRun={dry}", expect=200).json["items"]], ids)
    equal(make_tenant(ctx.peal, "acme").get("/v1/operations", expect=200).json["items"], [])


def test_the_rows_that_were_selected_are_acted_on_alone(ctx):
    ids = park(ctx.peal, 6)
    later = wait_in_plan(ctx.peal, 1)
    chosen = [ids[4], ids[1], ids[1], later[0], "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"]
    like(run(ctx.peal, "discard", {"ids": chosen}, dryRun=True), {"matched": 2, "sample": [ids[1], ids[4]]})
    like(run(ctx.peal, "discard", {"ids": chosen}), {"matched": 2, "done": 2, "skipped": 0})
    equal(states(ctx.peal, [ids[1], ids[4]]), {"discarded"})
    equal(states(ctx.peal, [ids[0], ids[2], ids[3], ids[5]]), {"parked"})
    equal(states(ctx.peal, later), {"pending"})
    like(run(ctx.peal, "discard", {"ids": ids, "trigger": "other"}), {"matched": 0})
    for wrong in ([], ["x"], ids[:1] * 1001):
        equal(ctx.peal.post("/v1/operations", {"action": "retry", "filter": {"ids": wrong}}).status, 422)


def test_a_thousand_that_were_selected_are_done_in_steps(ctx):
    ids = park(ctx.peal, 1001)
    like(run(ctx.peal, "discard", {"ids": ids[:1000]}), {"matched": 1000, "done": 1000})
    equal(states(ctx.peal, ids[1000:]), {"parked"})
    equal(len(deliveries(ctx.peal, "&state=discarded")), 1000)


def test_a_dry_run_shows_five_of_them(ctx):
    ids = park(ctx.peal, 7)
    equal(run(ctx.peal, "retry", {}, dryRun=True)["sample"], sorted(ids)[:5])
    equal(run(ctx.peal, "retry", {"trigger": "none"}, dryRun=True)["sample"], [])
    assert "sample" not in run(ctx.peal, "discard", {})


def test_what_is_stuck_can_be_cancelled(ctx):
    make_channel(ctx.peal, "memory:slow", answer="transient")
    make_trigger(ctx.peal, "slow", eventKind="slow", channel="memory:slow",
                 retry={"policy": "fixed", "interval": "1h", "max": 10})
    old = ingest(ctx.peal, visit(), kind="slow")["items"][0]["deliveries"][0]["deliveryId"]
    settle(ctx.peal)
    advance(ctx.peal, "20m")
    new = ingest(ctx.peal, visit(), kind="slow")["items"][0]["deliveries"][0]["deliveryId"]
    settle(ctx.peal)
    shown = [one["id"] for one in deliveries(ctx.peal, "&stuck=true")]
    equal(shown, [old])
    like(run(ctx.peal, "cancel", {"stuck": True}), {"matched": 1, "done": 1})
    equal((states(ctx.peal, [old]), states(ctx.peal, [new])), ({"cancelled"}, {"retrying"}))
    answer = ctx.peal.post("/v1/operations", {"action": "retry", "filter": {"stuck": True}}, expect=422)
    equal([at for at, _ in problems(answer)], ["/filter/stuck"])


def test_what_a_search_finds_is_acted_on(ctx):
    park(ctx.peal, 2)
    ctx.peal.post("/v1/events", {"kind": "visit", "recipient": {"address": "needle@example.com"}}, expect=202)
    settle(ctx.peal)
    shown = [one["id"] for one in deliveries(ctx.peal, "&state=parked&q=NEEDLE")]
    equal(len(shown), 1)
    like(run(ctx.peal, "discard", {"q": "NEEDLE"}), {"matched": 1, "done": 1})
    equal(states(ctx.peal, shown), {"discarded"})
    equal(len(deliveries(ctx.peal, "&state=parked")), 2)


def test_the_command_acts_on_what_is_stuck_or_found(ctx):
    wait_in_plan(ctx.peal, 2)
    ctx.peal.post("/v1/events", {"kind": "later", "recipient": {"address": "needle@example.com"}}, expect=202)
    found = ctx.peal.cli("deliveries", "cancel", "--q", "needle", "--dry-run")
    equal((found.code, found.out), (0, "1 deliveries match; nothing was changed.\n"))
    stuck = ctx.peal.cli("deliveries", "cancel", "--stuck", "--dry-run")
    equal((stuck.code, stuck.out), (0, "0 deliveries match; nothing was changed.\n"))


def test_a_paused_operation_rests_until_it_is_resumed(ctx):
    """A writer that is busy with one operation stays the same: what counts is that nothing moves
    between the pause and the resume, also across a restart."""
    park(ctx.peal, 3000)
    id = begin(ctx.peal, "discard", {"state": "parked"})["id"]
    paused = turn(ctx.peal, id, "pause")
    equal(paused["state"], "paused")
    equal(turn(ctx.peal, id, "pause"), paused)
    settle(ctx.peal)
    equal(look(ctx.peal, id), paused)
    assert paused["done"] < 3000, paused
    ctx.peal.restart()
    settle(ctx.peal)
    equal(look(ctx.peal, id), paused)
    equal(len(deliveries(ctx.peal, "&state=discarded")), paused["done"])
    assert turn(ctx.peal, id, "resume")["state"] != "paused"
    like(eventually(lambda: done(ctx.peal, id)), {"matched": 3000, "done": 3000})
    for verb in ("pause", "resume", "cancel"):
        equal(ctx.peal.post(f"/v1/operations/{id}/{verb}").status, 409, verb)


def test_a_cancelled_operation_keeps_what_it_did(ctx):
    park(ctx.peal, 3000)
    id = begin(ctx.peal, "discard", {"state": "parked"})["id"]
    turn(ctx.peal, id, "pause")
    ended = turn(ctx.peal, id, "cancel")
    like(ended, {"state": "cancelled", "finishedAt": moment()})
    equal(turn(ctx.peal, id, "cancel"), ended)
    settle(ctx.peal)
    equal(look(ctx.peal, id), ended)
    equal(len(deliveries(ctx.peal, "&state=discarded")), ended["done"])
    equal(len(deliveries(ctx.peal, "&state=parked")), 3000 - ended["done"])
    for verb in ("pause", "resume"):
        equal(ctx.peal.post(f"/v1/operations/{id}/{verb}").status, 409, verb)
    ctx.peal.post("/v1/clock", {"advance": "5s"}, expect=200)
    row, = eventually(lambda: told(ctx.peal, '"state":"cancelled"'))
    like(json.loads(row), {"operation": id, "action": "discard", "done": ended["done"]})
    like(run(ctx.peal, "discard", {}), {"done": 3000 - ended["done"]})


def test_one_that_does_not_exist_cannot_be_turned(ctx):
    for verb in ("pause", "resume", "cancel"):
        equal(ctx.peal.post(f"/v1/operations/01975e3c-7a4b-7000-8000-2c9d3f5b1a60/{verb}").status, 404)


def told(peal, word):
    """What the audit tells of operations, in rows whose text has the word."""
    page = peal.get("/v1/audit?kind=Operator.operation&limit=500", expect=200).json
    return [text for text in (one["detail"]["text"] for one in page["items"]) if word in text]


def test_the_audit_tells_how_an_operation_ended(ctx):
    ids = park(ctx.peal, 3)
    run(ctx.peal, "discard", {}, dryRun=True)
    id = run(ctx.peal, "discard", {"state": "parked", "trigger": "visit"}, reason="test data")["id"]
    run(ctx.peal, "retry", {"ids": ids * 10}, reason="long")
    ctx.peal.post("/v1/clock", {"advance": "5s"}, expect=200)
    row, = eventually(lambda: told(ctx.peal, "test data"))
    equal(json.loads(row), {"operation": id, "action": "discard", "state": "done", "matched": 3,
                                      "done": 3, "skipped": 0, "failed": 0, "reason": "test data",
                                      "filter": {"state": "parked", "trigger": "visit"}})
    long, = eventually(lambda: told(ctx.peal, '"long"'))
    equal(len(json.loads(long)["filterHash"]), 64)
    equal(len(told(ctx.peal, '"matched"')), 2)


def test_the_audit_has_room_for_any_reason(ctx):
    filter = {"state": "parked", "trigger": "t" * 80, "entity": "e" * 40}
    ids = [run(ctx.peal, "discard", filter, reason=reason)["id"] for reason in ('"' * 200, "\\" * 200, "ع" * 200, 'x"' * 99)]
    ctx.peal.post("/v1/clock", {"advance": "5s"}, expect=200)
    rows = eventually(lambda: (found := told(ctx.peal, '"matched"')) and len(found) == 4 and found)
    shown = {row["operation"]: row["reason"] for row in map(json.loads, rows)}
    equal([shown[id][:40] for id in ids], ['"' * 40, "\\" * 40, "ع" * 40, 'x"' * 20])


def test_ten_thousand_are_what_the_preview_said(ctx):
    for _ in range(10):
        park(ctx.peal, 1000)
    previewed = run(ctx.peal, "discard", {"state": "parked"}, dryRun=True)
    equal(previewed["matched"], 10000)
    body = {"action": "discard", "filter": {"state": "parked"}}
    first, second = [ctx.peal.post("/v1/operations", body, headers={"Idempotency-Key": "ten"}, expect=202).json
                     for _ in range(2)]
    equal(first, second)
    like(eventually(lambda: done(ctx.peal, first["id"]), 60), {"matched": 10000, "done": 10000, "skipped": 0})
    equal(len(ctx.peal.get("/v1/operations", expect=200).json["items"]), 2)


if __name__ == "__main__":
    main()
