"""Lists that change while a notification goes out, and members that cannot be reached."""
from harness import equal, eventually, like, main
from steps import settle
from test_notification_channels import outcomes
from test_notification_lists import make_list
from test_notification_many import SLOTS, hold_next, numbers, sent, texting
from test_notifications import notify, shown

RESOLVED = 101  # of a list, with a claim: as many as an attempt carries, and one more


def members(*addresses):
    return {"targets": [{"address": one} for one in addresses]}


def half_way(ctx, count):
    """A notification of which the first requests are under way, unanswered."""
    peer = texting(ctx, count)
    event = hold_next(peer, SLOTS)
    id = notify(ctx.peal)["id"]
    peer.wait_for(SLOTS)
    return peer, event, id


def goes_on(ctx, peer, event, id, **expected):
    event.set()
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered", **expected})
    found = sent(peer)
    equal((peer.complaints, {one for one in found if len(found[one]) > 1}), ([], set()))
    return sorted(found)


def test_members_that_come_and_go_meanwhile(ctx):
    peer, event, id = half_way(ctx, 200)
    all = numbers(202)
    ctx.peal.post("/v1/lists/ops/targets", members(all[200], all[201]), expect=200)
    for gone in (all[0], all[50], all[150]):
        ctx.peal.delete(f"/v1/lists/ops/targets?address=%2B{gone[1:]}", expect=204)
    ctx.peal.post("/v1/lists/ops/targets", members(all[0]), expect=200)  # who has it already
    # Who was resolved gets it, though he was taken out.
    equal(goes_on(ctx, peer, event, id, targetCounts={"all": 201, "delivered": 201}),
          [one for one in all if one != all[150]])


def test_a_list_that_is_replaced_meanwhile(ctx):
    peer, event, id = half_way(ctx, 200)
    all = numbers(320)
    ctx.peal.put("/v1/lists/ops", {"channels": ["whatsapp:ops"], **members(*all[:20], *all[180:])},
                 expect=200)
    equal(goes_on(ctx, peer, event, id), [*all[:RESOLVED], *all[180:]])


def test_a_list_that_is_deleted_meanwhile(ctx):
    peer, event, id = half_way(ctx, 200)
    ctx.peal.delete("/v1/lists/ops", expect=204)
    equal(goes_on(ctx, peer, event, id, targetCounts={"all": RESOLVED, "delivered": RESOLVED}),
          numbers(RESOLVED))


def another_goes(peal):
    """A notification of its own: once it went, the engine has seen what was saved before it."""
    peal.post("/v1/lists", {"id": "aside", "channels": ["memory:default"], **members("a@example.com")}, expect=201)
    id = peal.post("/v1/notifications", {"list": "aside", "body": "Hello"}, expect=202).json["id"]
    eventually(lambda: shown(peal, id)["status"] == "Delivered")


def test_a_channel_that_is_disabled_meanwhile(ctx):
    peer, event, id = half_way(ctx, 30)
    ctx.peal.patch("/v1/channels/whatsapp:ops", {"enabled": False}, expect=200)
    another_goes(ctx.peal)
    event.set()
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "channel-disabled",
                               "targetCounts": {"all": 30, "delivered": SLOTS}})
    equal(peer.count(), SLOTS)
    ctx.peal.patch("/v1/channels/whatsapp:ops", {"enabled": True}, expect=200)
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    equal(goes_on(ctx, peer, event, id), numbers(30))


def test_a_member_whose_address_is_none_is_refused_alone(ctx):
    peer = texting(ctx, 1)
    ctx.peal.post("/v1/lists/ops/targets", members("nobody", "+1555"), expect=200)
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Parked", "reason": "partly-delivered",
               "targetCounts": {"all": 3, "delivered": 1, "refused": 2}})
    equal(outcomes(row)["nobody"], ("permanent", "no-recipient"))
    equal((peer.count(), peer.complaints), (1, []))


def test_a_list_without_members_waits_for_some(ctx):
    peer = texting(ctx, 0)
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "no-targets"})
    ctx.peal.post("/v1/lists/ops/targets", members(*numbers(1)), expect=200)
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered"})
    equal(peer.count(), 1)


def test_a_template_that_lacks_one_language_is_refused_by_its_readers_alone(ctx):
    peer = texting(ctx, 0)
    ada, bob = numbers(2)
    ctx.peal.post("/v1/lists/ops/targets", {"targets": [
        {"address": ada, "locale": "en-GB"}, {"address": bob, "locale": "de"}]}, expect=200)
    accept = peer.accept
    peer.accept = lambda request: (
        peer.error(404, 132001, "no such translation")
        if request.json["template"]["language"]["code"] == "de" else accept(request))
    id = notify(ctx.peal, typeData={"template": "alarm"})["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Parked", "reason": "partly-delivered"})
    equal(outcomes(row), {ada: ("delivered", "accepted"), bob: ("permanent", "refused")})
    equal({one.json["template"]["language"]["code"] for one in peer.received}, {"en_GB", "de"})


if __name__ == "__main__":
    main()
