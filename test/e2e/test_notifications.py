"""N3, N5 to N8 at central: notifications to lists, each target with its own outcome."""
import json
import uuid

from harness import equal, like, main
from steps import (advance, attempts, change_channel, deliveries, make_channel, make_tenant,
                   make_user, moment, settle)
from test_notification_lists import make_list, targets


def notify(peal, expect=202, **members):
    return peal.post("/v1/notifications", {"list": "ops", "body": "It burns.", **members},
                     expect=expect).json


def shown(peal, id):
    return peal.get(f"/v1/notifications/{id}", expect=200).json


def notifications(peal, **query):
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return peal.get(f"/v1/notifications?{asked}", expect=200).json["items"]


def test_a_notification_goes_to_all_of_a_list(ctx):
    make_list(ctx.peal, targets=targets(2))
    id = str(uuid.uuid4())
    source = {"site": "plant-7", "instance": "line-2", "script": "boiler"}
    taken = notify(ctx.peal, id=id, subject="Fire", type="memory", typeData={"html": "<b>!</b>"},
                   source=source, enqueuedAt="2026-05-14T05:00:00Z")
    equal(taken, {"id": id, "status": "Pending", "duplicate": False})
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"id": id, "type": "memory", "list": "ops", "subject": "Fire", "body": "It burns.",
               "typeData": {"html": "<b>!</b>"}, "status": "Delivered", "retryCount": 0,
               "lastError": None, "source": source, "siteEnqueuedAt": "2026-05-14T05:00:00.000Z",
               "createdAt": moment(), "lastAttemptAt": moment(), "nextAttemptAt": None,
               "deliveredAt": moment(),
               "targetCounts": {"all": 2, "delivered": 2, "refused": 0}})
    like(row["resolvedTargets"][1], {"address": "to000001@example.org", "outcome": "delivered",
                                     "reason": "accepted", "at": moment()})
    like(ctx.peal.get(f"/v1/deliveries/{row['deliveryId']}", expect=200).json,
         {"rule": {"kind": "list", "id": "ops", "version": 1}, "triggerId": None,
          "status": "Delivered", "state": "delivered", "site": "plant-7"})
    equal([one["id"] for one in deliveries(ctx.peal, "&list=ops")], [row["deliveryId"]])
    equal(deliveries(ctx.peal, "&list=nobody"), [])


def test_the_same_id_again_is_a_duplicate(ctx):
    make_list(ctx.peal, targets=targets(1))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    equal(notify(ctx.peal, id=id, list="another", body="other"),
          {"id": id, "status": "Delivered", "duplicate": True})
    equal(len(notifications(ctx.peal)), 1)
    like(shown(ctx.peal, id), {"body": "It burns.", "list": "ops"})


def test_what_is_not_valid_is_refused(ctx):
    for members in ({"body": None}, {"list": None}, {"id": "no"}, {"bdoy": "x"}, {"type": "a b"},
                    {"source": {"sit": "x"}}, {"typeData": "x"}):
        notify(ctx.peal, expect=422, **members)
    equal(notifications(ctx.peal), [])


def test_an_unknown_list_parks_and_goes_out_once_mended(ctx):
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "no-list", "list": "ops",
                               "channel": None, "resolvedTargets": []})
    like(ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200).json, {"status": "Pending"})
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "no-list"})
    make_list(ctx.peal)
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "no-targets",
                               "channel": "memory:default"})
    ctx.peal.patch("/v1/lists/ops", {"targets": targets(1)}, expect=200)
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered", "channel": "memory:default"})
    equal(len(deliveries(ctx.peal, "&channel=memory:default")), 1)


def test_a_type_picks_the_channel(ctx):
    ctx.peal.post("/v1/channels", {"key": "http:hook", "type": "http",
                                   "config": {"url": "https://hook.example/"}}, expect=201)
    make_list(ctx.peal, channels=["memory:default", "http:hook"], targets=targets(1))
    first = notify(ctx.peal)["id"]
    typed = notify(ctx.peal, type="http")["id"]
    lost = notify(ctx.peal, type="teams")["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, first), {"type": "memory", "channel": "memory:default"})
    like(shown(ctx.peal, typed), {"type": "http", "channel": "http:hook"})
    like(shown(ctx.peal, lost), {"type": "teams", "status": "Parked", "reason": "no-channel"})
    make_channel(ctx.peal, "memory:late")
    ctx.peal.put("/v1/lists/ops", {"channels": ["memory:late"]}, expect=200)
    equal([one["id"] for one in notifications(ctx.peal, type="teams")], [lost])


def test_the_interval_is_a_minute_ten_times(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_list(ctx.peal, channels=["memory:flaky"], targets=targets(3))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Retrying", "retryCount": 1,
                               "nextAttemptAt": moment(minutes=1), "lastAttemptAt": moment()})
    advance(ctx.peal, "1h")
    row = shown(ctx.peal, id)
    like(row, {"status": "Parked", "reason": "gave-up", "retryCount": 11, "nextAttemptAt": None,
               "lastAttemptAt": moment(minutes=10)})
    assert row["lastError"].startswith("0 of 3 have it"), row["lastError"]
    equal(len(attempts(ctx.peal, row["deliveryId"])), 11)
    change_channel(ctx.peal, "memory:flaky")
    like(ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200).json, {"retryCount": 0})
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered", "lastError": None})


def test_a_person_may_discard(ctx):
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(ctx.peal.post(f"/v1/notifications/{id}/discard", {"reason": "old"}, expect=200).json,
         {"status": "Discarded"})
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=409)


def test_more_targets_than_an_attempt_carries(ctx):
    make_list(ctx.peal, targets=targets(250))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Delivered", "retryCount": 0,
               "targetCounts": {"all": 250, "delivered": 250, "refused": 0}})
    equal(len(row["resolvedTargets"]), 100)
    equal(len(attempts(ctx.peal, row["deliveryId"])), 3)
    found, cursor = [], ""
    while cursor is not None:
        page = ctx.peal.get(f"/v1/notifications/{id}/targets?limit=99&cursor={cursor}").json
        found += page["items"]
        cursor = page["next"]
    equal([one["address"] for one in found], [one["address"] for one in targets(250)])
    equal({one["outcome"] for one in found}, {"delivered"})


def test_refused_by_all_parks_at_once(ctx):
    make_channel(ctx.peal, "memory:no", answer="permanent")
    make_list(ctx.peal, channels=["memory:no"], targets=targets(150))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "refused",
                               "targetCounts": {"all": 150, "delivered": 0, "refused": 150}})
    change_channel(ctx.peal, "memory:no")
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered",
                               "targetCounts": {"all": 150, "delivered": 150, "refused": 0}})


def test_lists_are_filtered(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_list(ctx.peal, targets=targets(1))
    make_list(ctx.peal, id="flaky", channels=["memory:flaky"], targets=targets(1))
    good = notify(ctx.peal, subject="The Boiler burns", source={"site": "plant-7"})["id"]
    parked = notify(ctx.peal, list="nobody", subject="other")["id"]
    settle(ctx.peal)
    advance(ctx.peal, "1h")
    failing = notify(ctx.peal, list="flaky")["id"]
    settle(ctx.peal)

    def ids(**query):
        return [one["id"] for one in notifications(ctx.peal, **query)]
    equal(ids(), [failing, parked, good])
    equal(ids(status="Delivered"), [good])
    equal(ids(status="Parked"), [parked])
    equal(ids(status="Retrying"), [failing])
    equal(ids(status="Pending"), [])
    equal(ids(status="Discarded"), [])
    equal(ids(list="flaky"), [failing])
    equal(ids(list="unknown"), [])
    equal(ids(site="plant-7"), [good])
    equal(ids(site="plant-8"), [])
    equal(ids(q="BOILER"), [good])
    equal(ids(type="memory"), [failing, good])
    equal(ids(**{"from": moment(minutes=30)}), [failing])
    equal(ids(to=moment(minutes=30)), [parked, good])
    equal(ids(stuck="true"), [])
    ctx.peal.get("/v1/notifications?status=pending", expect=422)


def test_another_tenants_notification_is_not_there(ctx):
    make_list(ctx.peal, targets=targets(1))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    other = make_tenant(ctx.peal, "acme")
    for path in ("", "/targets"):
        other.get(f"/v1/notifications/{id}{path}", expect=404)
    for verb in ("retry", "discard"):
        other.post(f"/v1/notifications/{id}/{verb}", expect=404)
    equal(notifications(other), [])
    equal(notify(other, id=id)["duplicate"], False)
    settle(ctx.peal)
    like(shown(other, id), {"status": "Parked", "reason": "no-list"})
    like(shown(ctx.peal, id), {"status": "Delivered"})


def test_a_site_sees_its_own_alone(ctx):
    site = make_user(ctx.peal, "site")
    mine = notify(ctx.peal, source={"site": "plant-7"})["id"]
    other = notify(ctx.peal, source={"site": "plant-8"})["id"]
    like(shown(site, mine), {"id": mine})
    site.get(f"/v1/notifications/{other}", expect=404)
    site.get(f"/v1/notifications/{other}/targets", expect=404)
    equal([one["id"] for one in notifications(site)], [mine])


def test_readers_see_addresses_masked(ctx):
    make_list(ctx.peal, targets=targets(1))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    reader = make_user(ctx.peal, "read")
    equal(shown(reader, id)["resolvedTargets"][0]["address"], "***@example.org")
    reader.post(f"/v1/notifications/{id}/retry", expect=403)
    reader.post("/v1/notifications", {"list": "ops", "body": "x"}, expect=403)


def test_lists_and_notifications_from_the_command_line(ctx):
    file = ctx.write("ops.json", json.dumps({"id": "ops", "name": "Operations",
                                             "channels": ["memory:default"], "targets": targets(2)}))
    equal(ctx.peal.cli("lists", "create", "-f", file).code, 0)
    assert "Operations" in ctx.peal.cli("lists").out
    equal(ctx.peal.cli("lists", "set", "ops", "showTargets=true").code, 0)
    assert '"targetCount":2' in ctx.peal.cli("lists", "show", "ops", "--json").out.replace(" ", "")
    id = ctx.peal.cli("notify", "ops", "--subject", "Fire", "--body", "It burns.").out.strip()
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered", "subject": "Fire"})
    assert "Delivered" in ctx.peal.cli("notify", "status", id).out
    equal(ctx.peal.cli("lists", "delete", "ops").code, 0)
    equal(ctx.peal.cli("lists", "show", "ops").code, 3)
    equal(ctx.peal.cli("notify", "status", str(uuid.uuid4())).code, 3)


if __name__ == "__main__":
    main()
