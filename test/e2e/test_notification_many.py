"""Lists of many members: over providers that take one address a request, and a hundred thousand."""
import collections
import threading
import time

from harness import PATIENCE, equal, eventually, like, main
from providers import Whatsapp, told
from steps import advance, delivery, make_trigger, settle
from test_notification_lists import make_list
from test_notifications import notify, shown
from test_preferences import only

SLOTS = 24  # three of four that the channel has


def numbers(count):
    return [f"+1555{n:07}" for n in range(count)]


def texting(ctx, count):
    """A provider that takes one address a request, a channel to it, and a list."""
    peer = Whatsapp()
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/channels", {"key": "whatsapp:ops", "type": "whatsapp", "config": {
        "phoneNumberId": "1070", "token": Whatsapp.token, "baseUrl": peer.url},
        "concurrency": 32}, expect=201)
    make_list(ctx.peal, channels=["whatsapp:ops"],
              targets=[{"address": one} for one in numbers(count)])
    return peer


def hold_next(peer, count, after=0):
    """The next requests but the first few are taken, and answered when the event is set."""
    event = threading.Event()
    taken = told(200, {"messages": [{"id": "wamid.1", "message_status": "accepted"}]})
    peer.upcoming.extend([None] * after + [taken._replace(hold=event)] * count)
    return event


def sent(peer):
    """What came, by number: the ids that it came with."""
    found = collections.defaultdict(list)
    for one in list(peer.received):
        found[one.json["to"]].append(one.json["biz_opaque_callback_data"])
    return found


def test_a_thousand_go_out_as_many_at_once_as_the_channel_may(ctx):
    peer = texting(ctx, 1000)
    event = hold_next(peer, SLOTS)
    id = notify(ctx.peal)["id"]
    peer.wait_for(SLOTS)  # none of which is answered
    equal(peer.count(), SLOTS)
    event.set()
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Delivered", "targetCounts": {"all": 1000, "delivered": 1000}})
    found = sent(peer)
    equal((peer.complaints, sorted(found)), ([], numbers(1000)))
    equal(len({id for ids in found.values() for id in ids}), 1000)
    assert delivery(ctx.peal, row["deliveryId"])["attemptCount"] < 100


def test_a_kill_sends_again_what_was_not_settled_with_the_same_ids(ctx):
    peer = texting(ctx, 300)
    event = hold_next(peer, SLOTS, after=150)
    id = notify(ctx.peal)["id"]
    peer.wait_for(150 + SLOTS)
    ctx.peal.kill9()
    event.set()
    ctx.peal.start()
    eventually(lambda: advance(ctx.peal, "1m") and shown(ctx.peal, id)["status"] == "Delivered")
    like(shown(ctx.peal, id), {"targetCounts": {"all": 300, "delivered": 300}})
    found = sent(peer)
    equal((peer.complaints, sorted(found)), ([], numbers(300)))
    assert sum(len(ids) - 1 for ids in found.values()) <= 100, "no more than a parcel is doubled"
    for ids in found.values():
        equal(len(set(ids)), 1)


def took(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_hundred_thousand_hold_up_nobody(ctx):
    make_trigger(ctx.peal, "single", eventKind="single", channel="memory:default")
    make_list(ctx.peal, targets=[{"address": f"to{n}@example.org"} for n in range(100_000)])
    id = notify(ctx.peal)["id"]
    path = f"/v1/deliveries/{shown(ctx.peal, id)['deliveryId']}"

    def deliver_one():
        one = ctx.peal.post("/v1/events", {"kind": "single", "payload": {}}, expect=202).json
        eventually(lambda: delivery(ctx.peal, only(one))["state"] == "delivered")

    def save_one():
        ctx.peal.patch("/v1/triggers/single", {"expireAfter": f"{len(saves) + 1}d"}, expect=200)
    singles, saves = [], []
    while ctx.peal.get(path, expect=200).json["state"] != "delivered":
        singles.append(took(deliver_one))
        saves.append(took(save_one))
    like(shown(ctx.peal, id), {"status": "Delivered", "targetCounts":
                               {"all": 100_000, "delivered": 100_000, "refused": 0}})
    print(f"# {len(singles)} single messages meanwhile, the slowest in {max(singles):.3f} s, "
          f"a save in {max(saves):.3f} s")
    assert len(singles) > 5 and max(singles + saves) < 1 * PATIENCE, (singles, saves)


if __name__ == "__main__":
    main()
