"""Lists of many members: over providers that take one address a request, and a hundred thousand."""
import collections
import threading

from harness import equal, eventually, like, main
from providers import Whatsapp, told
from steps import advance, delivery, settle
from test_notification_lists import make_list
from test_notifications import notify, shown

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


if __name__ == "__main__":
    main()
