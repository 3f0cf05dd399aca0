"""T16: the engine runs by itself; an administrator's call runs one tick and says what it did."""
import http.client
import json
import threading

from harness import Deadline, equal, eventually, like, main
from steps import (advance, attempts, deliveries, delivery, ingest, ingest_one, make_channel,
                   make_trigger, make_user, moment, settle, tick, visit)

FIGURES = ("claimed", "delivered", "retried", "parked", "expired", "fired", "purged")


def test_a_tick_with_nothing_due_does_nothing(ctx):
    told = tick(ctx.peal)
    equal({name: told[name] for name in FIGURES}, dict.fromkeys(FIGURES, 0))
    equal(told["nextAt"], None)


def test_a_tick_takes_no_longer_than_its_work(ctx):
    """One that waited for the engine to look by itself would take a second each."""
    tick(ctx.peal)
    deadline = Deadline(10)
    for _ in range(20):
        tick(ctx.peal)
    assert not deadline.has_passed()


def test_a_tick_tells_when_it_wants_to_run_again(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "3h"})
    ingest_one(ctx.peal)
    like(tick(ctx.peal), {"claimed": 0, "nextAt": moment(hours=3)})
    advance(ctx.peal, "3h")
    like(tick(ctx.peal), {"claimed": 0, "delivered": 0})


def test_after_a_tick_nothing_that_was_due_is_left(ctx):
    make_trigger(ctx.peal)
    ids = [item["deliveries"][0]["deliveryId"]
           for item in ingest(ctx.peal, *(visit() for _ in range(500)))["items"]]
    tick(ctx.peal)
    settle(ctx.peal)
    equal(len(deliveries(ctx.peal, "&state=delivered")), 500)
    equal(len(attempts(ctx.peal, ids[0])), 1)


def test_many_ticks_at_once_send_once(ctx):
    make_trigger(ctx.peal)
    ids = [ingest_one(ctx.peal) for _ in range(20)]
    for _ in range(20):
        tick(ctx.peal)
    settle(ctx.peal)
    equal([len(attempts(ctx.peal, id)) for id in ids], [1] * 20)


def test_the_engine_needs_no_tick(ctx):
    peal = ctx.start(clock="system")
    make_channel(peal, "memory:flaky", failFirst=1)
    make_trigger(peal, channel="memory:flaky",
                 retry={"policy": "fixed", "interval": "1s", "max": 3})
    id = ingest_one(peal)
    eventually(lambda: delivery(peal, id)["state"] == "delivered")
    equal([one["outcome"] for one in attempts(peal, id)], ["transient", "delivered"])


def test_only_the_first_key_may_tick(ctx):
    equal(ctx.peal.with_key(None).post("/v1/tick").status, 401)
    for role in ("read", "ingest", "operator", "author", "admin"):
        equal(make_user(ctx.peal, role).post("/v1/tick").status, 403, role)


def test_the_program_ends_while_a_tick_waits_for_a_slow_receiver(ctx):
    """H10: nobody answered the tick, and the server waited for it without end."""
    receiver = ctx.receiver()
    receiver.answer(200, hold=threading.Event())
    ctx.peal.post("/v1/channels", {"key": "http:slow", "type": "http", "timeout": "5m",
                                   "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, channel="http:slow")
    ingest_one(ctx.peal)
    receiver.wait_for(1)
    ticking = http.client.HTTPConnection(ctx.peal.host, timeout=60)
    ticking.request("POST", "/v1/tick", headers={"Authorization": f"Bearer {ctx.peal.key}"})
    for _ in range(2):  # the loop has been around once: it has seen the tick
        ctx.peal.get("/livez", expect=200)
    equal(ctx.peal.stop(), 0)
    answer = ticking.getresponse()
    told = json.loads(answer.read())
    equal((answer.status, told["code"], told["title"]), (503, "stopping", "Peal is stopping"))
    assert int(answer.headers["Retry-After"]) > 0
    ticking.close()


def test_a_tick_is_not_a_get(ctx):
    equal(ctx.peal.get("/v1/tick").status, 405)


if __name__ == "__main__":
    main()
