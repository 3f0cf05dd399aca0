"""T2, T9 and the contract of definitions: what is refused, versions, disabling and deleting."""
from harness import equal, like, main
from steps import (KIND, act, advance, attempts, change_trigger, deliveries, delivery, ingest, ingest_one,
                   make_channel, make_tenant, make_trigger, make_user, moment, problems, sends,
                   settle, trigger_body, visit)
from server import ROOT

# A member that is wrong, and where the problem is told.
WRONG = [
    ({"eventKind": 7}, "/eventKind"),
    ({"eventKind": ""}, "/eventKind"),
    ({"enabled": "yes"}, "/enabled"),
    ({"shcedule": {}}, "/shcedule"),
    ({"schedule": {"initialDelay": "soon"}}, "/schedule/initialDelay"),
    ({"schedule": {"reminders": ["1d", "1x"]}}, "/schedule/reminders/1"),
    ({"schedule": {"reminders": "1d"}}, "/schedule/reminders"),
    ({"schedule": {"delay": "1d"}}, "/schedule/delay"),
    ({"expireAfter": "never"}, "/expireAfter"),
    ({"awaitAnswer": 1}, "/awaitAnswer"),
    ({"dedupRecipe": "candidate.wip"}, "/dedupRecipe"),
    ({"dedupRecipe": ["candidate..wip"]}, "/dedupRecipe/0"),
    ({"retry": {"policy": "linear"}}, "/retry/policy"),
    ({"retry": {"policy": "fixed", "interval": "x"}}, "/retry/interval"),
    ({"retry": {"policy": "fixed", "max": -1}}, "/retry/max"),
    ({"retry": {"policy": "fixed", "maximum": 1}}, "/retry/maximum"),
    ({"cancelOn": {"match": ["candidate.wip"]}}, "/cancelOn/eventKind"),
    ({"filter": {"path": "a", "op": "=="}}, "/filter/value"),
]


def durations():
    lines = (ROOT / "test" / "cases" / "duration.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def test_what_is_wrong_is_told_with_its_place(ctx):
    for members, path in WRONG:
        response = ctx.peal.post("/v1/triggers", trigger_body(**members))
        equal(response.status, 422, members)
        equal(response.headers.get("Content-Type"), "application/problem+json")
        like(response.json, {"status": 422, "code": "trigger-invalid",
                             "type": "/docs/errors#trigger-invalid"})
        assert path in [where for where, _ in problems(response)], (members, response.text)
    equal(ctx.peal.get("/v1/triggers", expect=200).json["items"], [])


def test_all_problems_are_told_at_once(ctx):
    body = trigger_body(schedule={"initialDelay": "soon"},
                        filter={"path": "a", "op": "~", "value": 1})
    response = ctx.peal.post("/v1/triggers", body, expect=422)
    equal([path for path, _ in problems(response)], ["/filter/op", "/schedule/initialDelay"])
    equal(response.json["detail"], "2 problems")
    assert response.json["requestId"], response.text


def test_what_is_needed_is_named(ctx):
    response = ctx.peal.post("/v1/triggers", {}, expect=422)
    equal([path for path, _ in problems(response)], ["/channel", "/eventKind", "/id"])


def test_durations_are_read_as_published(ctx):
    for number, (text, seconds) in enumerate(durations()):
        body = trigger_body(f"t-{number}", schedule={"initialDelay": text})
        status = ctx.peal.post("/v1/triggers", body).status
        equal(status, 422 if seconds == "refused" else 201, text)


def test_a_trigger_is_made_and_read_back(ctx):
    body = trigger_body(templateId="4523", dedupRecipe=["candidate.wip"], awaitAnswer=True,
                        expireAfter="30d", schedule={"initialDelay": "0d", "reminders": ["1d"]},
                        retry={"policy": "fixed", "interval": "30s", "max": 3})
    made = ctx.peal.post("/v1/triggers", body, expect=201)
    like(made.json, {**body, "version": 1, "enabled": True})
    equal(made.headers.get("ETag"), '"1"')
    read = ctx.peal.get("/v1/triggers/visit", expect=200)
    like(read.json, {**body, "version": 1})
    equal(read.headers.get("ETag"), '"1"')
    listed = ctx.peal.get("/v1/triggers", expect=200).json
    equal(([row["id"] for row in listed["items"]], listed["next"]), (["visit"], None))


def test_an_id_that_is_taken_is_a_conflict(ctx):
    make_trigger(ctx.peal)
    like(ctx.peal.post("/v1/triggers", trigger_body(), expect=409).json, {"code": "already-exists"})


def test_a_trigger_that_is_not_there_is_not_found(ctx):
    equal(ctx.peal.get("/v1/triggers/nobody").status, 404)
    equal(ctx.peal.put("/v1/triggers/nobody", trigger_body("nobody")).status, 404)
    equal(ctx.peal.delete("/v1/triggers/nobody").status, 404)


def test_each_change_is_a_new_version(ctx):
    make_trigger(ctx.peal)
    changed = ctx.peal.put("/v1/triggers/visit", trigger_body(expireAfter="7d"), expect=200)
    like(changed.json, {"version": 2, "expireAfter": "7d"})
    equal(changed.headers.get("ETag"), '"2"')
    like(ctx.peal.get("/v1/triggers/visit").json, {"version": 2, "expireAfter": "7d"})


def test_a_change_of_what_was_not_read_last_is_refused(ctx):
    make_trigger(ctx.peal)
    change_trigger(ctx.peal, expireAfter="7d")
    stale = ctx.peal.put("/v1/triggers/visit", trigger_body(), headers={"If-Match": '"1"'})
    equal(stale.status, 412)
    like(ctx.peal.get("/v1/triggers/visit").json, {"version": 2, "expireAfter": "7d"})
    ctx.peal.put("/v1/triggers/visit", trigger_body(), headers={"If-Match": '"2"'}, expect=200)


def test_a_wrong_change_leaves_the_trigger_as_it_was(ctx):
    make_trigger(ctx.peal)
    ctx.peal.put("/v1/triggers/visit", trigger_body(expireAfter="never"), expect=422)
    equal(ctx.peal.get("/v1/triggers/visit").json["version"], 1)


def test_a_change_may_not_rename(ctx):
    make_trigger(ctx.peal)
    equal(ctx.peal.put("/v1/triggers/visit", trigger_body("another")).status, 422)


def test_a_patch_changes_what_it_names_and_nothing_else(ctx):
    make_trigger(ctx.peal, templateId="4523", retry={"policy": "fixed", "interval": "30s", "max": 3},
                 filter={"all": [{"path": "candidate.jobType", "op": "==", "value": "GR"}]})
    changed = ctx.peal.patch("/v1/triggers/visit", {"enabled": False, "retry": {"max": 5, "interval": None}},
                             expect=200)
    like(changed.json, {"id": "visit", "templateId": "4523", "enabled": False, "version": 2,
                        "filter": {"all": [{"path": "candidate.jobType", "op": "==", "value": "GR"}]}})
    equal(changed.json["retry"], {"policy": "fixed", "max": 5})
    equal(changed.headers.get("ETag"), '"2"')
    removed = ctx.peal.patch("/v1/triggers/visit", {"retry": None, "templateId": None}, expect=200).json
    equal([name for name in ("retry", "templateId") if name in removed], [])
    read = ctx.peal.get("/v1/triggers/visit", expect=200).json
    equal(read, removed)


def test_a_patch_that_changes_nothing_makes_no_version(ctx):
    make_trigger(ctx.peal, enabled=True)
    for body in ({}, {"enabled": True}, {"retry": None}, {"id": "visit"}):
        equal(ctx.peal.patch("/v1/triggers/visit", body, expect=200).json["version"], 1, body)


def test_a_patch_is_checked_like_any_change(ctx):
    make_trigger(ctx.peal)
    for body, path in (({"eventKind": None}, "/eventKind"), ({"retry": {"max": 1}}, "/retry/policy"),
                       ({"shcedule": {}}, "/shcedule"), ({"id": "other"}, "/id"),
                       ({"version": 7}, "/version")):
        response = ctx.peal.patch("/v1/triggers/visit", body, expect=422)
        like(response.json, {"code": "trigger-invalid"})
        equal([where for where, _ in problems(response)], [path], body)
    ctx.peal.patch("/v1/triggers/visit", [1], expect=422)
    ctx.peal.patch("/v1/triggers/none", {"enabled": False}, expect=404)
    equal(ctx.peal.get("/v1/triggers/visit", expect=200).json["version"], 1)


def test_a_patch_of_what_was_not_read_last_is_refused(ctx):
    make_trigger(ctx.peal)
    ctx.peal.patch("/v1/triggers/visit", {"enabled": False}, headers={"If-Match": '"1"'}, expect=200)
    stale = ctx.peal.patch("/v1/triggers/visit", {"enabled": True}, headers={"If-Match": '"1"'}, expect=412)
    equal(stale.json["code"], "stale")
    equal(ctx.peal.get("/v1/triggers/visit", expect=200).json["enabled"], False)


def test_a_patch_comes_as_merge_patch_or_json(ctx):
    make_trigger(ctx.peal)
    for number, (type, status) in enumerate((("application/merge-patch+json", 200), ("application/json", 200),
                                             ("application/merge-patch+json; charset=utf-8", 200),
                                             ("application/json-patch+json", 415), ("text/plain", 415))):
        answer = ctx.peal.patch("/v1/triggers/visit", {"templateId": str(number)},
                                headers={"Content-Type": type})
        equal(answer.status, status, type)


def test_kind_is_as_good_as_event_kind(ctx):
    body = {"id": "visit", "kind": KIND, "channel": "memory:default",
            "cancelOn": {"kind": "visit-reopened", "match": ["candidate.wip"]}}
    made = ctx.peal.post("/v1/triggers", body, expect=201).json
    like(made, {"eventKind": KIND, "cancelOn": {"eventKind": "visit-reopened"}})
    assert "kind" not in made and "kind" not in made["cancelOn"], made
    equal(ctx.peal.patch("/v1/triggers/visit", {"kind": "other"}, expect=200).json["eventKind"], "other")
    both = ctx.peal.post("/v1/triggers", {**body, "id": "both", "eventKind": KIND}, expect=422)
    equal([where for where, _ in problems(both)], ["/eventKind"])


def test_deliveries_already_made_go_on_under_their_version(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d", "reminders": ["1d"]})
    old = ingest_one(ctx.peal)
    make_channel(ctx.peal, "memory:new")
    change_trigger(ctx.peal, channel="memory:new", schedule={"initialDelay": "5d"})
    new = ingest_one(ctx.peal)
    advance(ctx.peal, "10d")
    equal(sends(ctx.peal, old), [(1, moment(days=1)), (2, moment(days=2))])
    equal(sends(ctx.peal, new), [(1, moment(days=5))])
    like(delivery(ctx.peal, old), {"triggerVersion": 1, "channel": "memory:default"})
    like(delivery(ctx.peal, new), {"triggerVersion": 2, "channel": "memory:new"})


def test_disabling_affects_new_events_only(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d", "reminders": ["1d"]})
    id = ingest_one(ctx.peal)
    change_trigger(ctx.peal, enabled=False, schedule={"initialDelay": "1d"})
    like(ingest(ctx.peal, visit()), {"created": 0, "unmatched": 1})
    advance(ctx.peal, "10d")
    equal(sends(ctx.peal, id), [(1, moment(days=1)), (2, moment(days=2))])


def test_deleting_hides_the_trigger_and_keeps_its_history(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    id = ingest_one(ctx.peal)
    assert ctx.peal.delete("/v1/triggers/visit").status in (200, 204)
    equal(ctx.peal.get("/v1/triggers/visit").status, 404)
    equal(ctx.peal.get("/v1/triggers").json["items"], [])
    like(ingest(ctx.peal, visit()), {"created": 0, "unmatched": 1})
    advance(ctx.peal, "10d")
    like(delivery(ctx.peal, id), {"state": "delivered", "triggerId": "visit"})
    equal(sends(ctx.peal, id), [(1, moment(days=1))])


def test_an_id_can_be_used_again_after_deleting(ctx):
    make_trigger(ctx.peal)
    ctx.peal.delete("/v1/triggers/visit")
    made = make_trigger(ctx.peal, expireAfter="7d")
    assert made["version"] > 1, "a version that was used is never used again"
    equal(ingest(ctx.peal, visit())["created"], 1)


def test_a_change_is_seen_by_the_next_event(ctx):
    make_trigger(ctx.peal)
    for number in range(20):
        change_trigger(ctx.peal, enabled=number % 2 == 1)
        equal(ingest(ctx.peal, visit())["created"], number % 2)


def test_triggers_survive_a_restart(ctx):
    made = make_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    ctx.peal.restart()
    like(ctx.peal.get("/v1/triggers/visit", expect=200).json, made)
    equal(ingest(ctx.peal, visit())["created"], 1)


def test_an_event_can_call_off_what_is_unsent(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"},
                 cancelOn={"eventKind": "visit-reopened", "match": ["candidate.wip"]})
    gone, stays = ingest_one(ctx.peal, visit(wip="1")), ingest_one(ctx.peal, visit(wip="2"))
    ingest(ctx.peal, {"payload": {"wip": "1"}}, kind="visit-reopened")
    settle(ctx.peal)
    like(delivery(ctx.peal, gone), {"state": "cancelled", "reason": "called-off"})
    advance(ctx.peal, "2d")
    equal((sends(ctx.peal, gone), len(sends(ctx.peal, stays))), ([], 1))


def test_an_address_is_found_by_its_path(ctx):
    make_trigger(ctx.peal, address="candidate.phone", locale="candidate.language")
    id = ingest_one(ctx.peal, visit(phone="+1 555 0100", language="en"))
    like(delivery(ctx.peal, id), {"address": "+1 555 0100", "locale": "en"})


def test_a_tenant_sees_only_its_own(ctx):
    acme, bolt = make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "bolt")
    make_trigger(acme)
    id = ingest_one(acme)
    equal(bolt.get("/v1/triggers").json["items"], [])
    equal(bolt.get("/v1/triggers/visit").status, 404)
    equal(bolt.put("/v1/triggers/visit", trigger_body()).status, 404)
    equal(bolt.delete("/v1/triggers/visit").status, 404)
    equal(bolt.get(f"/v1/deliveries/{id}").status, 404)
    equal(bolt.post(f"/v1/deliveries/{id}/cancel").status, 404)
    equal(deliveries(bolt), [])
    like(ingest(bolt, visit()), {"created": 0, "unmatched": 1})
    equal(delivery(acme, id)["tenant"], "acme")


def test_only_authors_and_administrators_define(ctx):
    for role, status in (("read", 403), ("ingest", 403), ("operator", 403), ("author", 201)):
        user = make_user(ctx.peal, role)
        equal(user.post("/v1/triggers", trigger_body(f"by-{role}")).status, status, role)
    equal(make_user(ctx.peal, "read").get("/v1/triggers").status, 200)
    equal(make_user(ctx.peal, "author").post("/v1/tick").status, 403)


def test_only_the_listed_kind_is_listened_to(ctx):
    make_trigger(ctx.peal)
    equal(ingest(ctx.peal, visit(), kind=KIND.upper())["unmatched"], 1)
    equal(ingest(ctx.peal, visit(), kind=KIND + ".again")["unmatched"], 1)


def test_a_version_that_cannot_be_read_parks_its_own_deliveries_only(ctx):
    """Rules grow stricter and rows get lost: neither stops the deliveries of other triggers."""
    made = {}
    for id in ("fine", "stricter", "lost"):
        make_trigger(ctx.peal, id, eventKind=id, schedule={"initialDelay": "1h"},
                     dedupRecipe=["candidate.wip"])
        answer = ingest(ctx.peal, visit(), kind=id)
        made[id] = answer["items"][0]["deliveries"][0]["deliveryId"]
        change_trigger(ctx.peal, id, eventKind=id)
    ctx.peal.stop()
    ctx.sql("UPDATE definition_version SET body = '{\"no-longer-known\":1}'"
            " WHERE id = 'stricter' AND version = 1")
    ctx.sql("DELETE FROM definition_version WHERE id = 'lost' AND version = 1")
    ctx.peal.start()
    advance(ctx.peal, "2h")
    fine = delivery(ctx.peal, made["fine"])
    equal((fine["state"], len(fine["dedupHash"])), ("delivered", 64))
    for id in ("stricter", "lost"):
        like(delivery(ctx.peal, made[id]), {"state": "parked", "reason": "unreadable",
                                             "dedupHash": None}, id)
        equal(attempts(ctx.peal, made[id]), [], id)  # nothing was tried
        # The versions that came after go on as ever.
        equal(ingest(ctx.peal, visit(), kind=id)["created"], 1)
    settle(ctx.peal)
    equal(len(deliveries(ctx.peal, "&state=delivered")), 3)


def test_a_row_of_the_queue_that_was_damaged_parks_alone(ctx):
    made = {}
    for id in ("fine", "damaged"):
        make_trigger(ctx.peal, id, eventKind=id, schedule={"initialDelay": "1h"})
        made[id] = ingest(ctx.peal, visit(), kind=id)["items"][0]["deliveries"][0]["deliveryId"]
    ctx.peal.stop()
    ctx.sql("UPDATE queue SET state = 77, send = -5, attempt = -1"
            " WHERE rule = (SELECT rule FROM rule WHERE id = 'damaged')")
    ctx.peal.start()
    like(delivery(ctx.peal, made["damaged"]), {"state": "pending", "reason": "unreadable"})
    equal(len(deliveries(ctx.peal)), 2)
    advance(ctx.peal, "2h")
    equal(delivery(ctx.peal, made["fine"])["state"], "delivered")
    like(delivery(ctx.peal, made["damaged"]), {"state": "parked", "reason": "unreadable"})
    # A person may send it all the same.
    act(ctx.peal, made["damaged"], "retry")
    settle(ctx.peal)
    equal(delivery(ctx.peal, made["damaged"])["state"], "delivered")


def test_a_parked_delivery_goes_on_once_its_version_can_be_read(ctx):
    make_trigger(ctx.peal)
    change_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    id = ingest_one(ctx.peal)
    ctx.peal.stop()
    ctx.sql("UPDATE definition_version SET version = 77 WHERE version = 2")
    ctx.peal.start()
    advance(ctx.peal, "2h")
    equal(delivery(ctx.peal, id)["reason"], "unreadable")
    ctx.peal.stop()
    ctx.sql("UPDATE definition_version SET version = 2 WHERE version = 77")
    ctx.peal.start()
    act(ctx.peal, id, "retry")
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")
    equal([taken["outcome"] for taken in attempts(ctx.peal, id)], ["delivered"])


def test_a_delivery_whose_event_is_lost_is_shown_and_acted_on(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    id, other = ingest_one(ctx.peal), ingest_one(ctx.peal)
    event = delivery(ctx.peal, id)["eventId"]
    ctx.peal.stop()
    ctx.sql("DELETE FROM event WHERE id = (SELECT id FROM event ORDER BY id LIMIT 1)")
    ctx.peal.start()
    advance(ctx.peal, "2h")
    equal(delivery(ctx.peal, other)["state"], "delivered")
    lost = {"id": id, "eventId": event, "state": "parked", "reason": "unreadable",
            "triggerId": "visit", "triggeredBy": None, "payload": None}
    like(delivery(ctx.peal, id), lost)
    assert f"event=delivery.unreadable delivery={id}" in ctx.peal.log(200), ctx.peal.log(200)
    equal([one["id"] for one in deliveries(ctx.peal)], [other, id])
    equal([one["id"] for one in deliveries(ctx.peal, "&state=parked")], [id])
    equal(attempts(ctx.peal, id), [])  # nothing was tried
    like(act(ctx.peal, id, "retry"), {"id": id, "state": "pending"})
    settle(ctx.peal)
    like(delivery(ctx.peal, id), lost)
    like(act(ctx.peal, id, "discard"), {"id": id, "state": "discarded"})


def test_a_payload_that_is_no_json_is_shown_as_null(ctx):
    make_trigger(ctx.peal)
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    ctx.peal.stop()
    ctx.sql("UPDATE event SET payload = '{\"half'")
    ctx.peal.start()
    equal(delivery(ctx.peal, id)["payload"], None)
    equal([one["payload"] for one in deliveries(ctx.peal)], [None])
    event = delivery(ctx.peal, id)["eventId"]
    equal(ctx.peal.get(f"/v1/events/{event}", expect=200).json["payload"], None)
    equal(ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["eventId"], event)
    ctx.peal.get(f"/v1/events/{event}/timeline", expect=200)
    for path, member in (("/v1/events", "payload"), ("/v1/captured", "body")):
        equal([one[member] for one in ctx.peal.get(path, expect=200).json["items"]], [None], path)


if __name__ == "__main__":
    main()
