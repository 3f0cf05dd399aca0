"""Per-destination care: dead hosts, refused logins, pauses and rates, and what others see of them."""
import collections
import threading
import time

from harness import equal, eventually, like, main, only, run_peal
from hostile import Hostile
from mailserver import MailServer
from postgres import free_port
from process import PATIENCE
from receiver import Receiver
from steps import (advance, attempts, deliveries, ingest, make_tenant, make_trigger, moment, settle,
                   visit)

CLOSED = {"circuit": "closed", "since": None, "failures": 0, "nextProbeAt": None, "lastError": None,
          "pausedUntil": None}


def dead_url():
    """Where nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


def make_way(peal, name, url, **members):
    """A channel that posts to the URL, and a trigger that sends events of its name there."""
    body = {"key": f"http:{name}", "type": "http", "config": {"url": url}, **members}
    peal.post("/v1/channels", body, expect=201)
    make_trigger(peal, name, eventKind=name, channel=f"http:{name}",
                 retry={"policy": "fixed", "interval": "1d", "max": 9})


def visits(peal, kind, count):
    for first in range(0, count, 2000):
        ingest(peal, *[visit() for _ in range(min(2000, count - first))], kind=kind)


def health(peal, name, type="http"):
    return peal.get(f"/v1/channels/{type}:{name}", expect=200).json["health"]


def held(peal, what):
    """The lines of a gauge of what holds channels, behind its name."""
    name = f"peal_channel_{what}"
    return [line[len(name):] for line in peal.get("/metrics", expect=200).text.splitlines()
            if line.startswith(name)]


def standing(peal, channel, state, type="http"):
    return len(deliveries(peal, f"&channel={type}:{channel}&state={state}"))


def test_a_dead_host_holds_its_backlog_and_is_probed(ctx):
    peal, receiver, url = ctx.peal, ctx.receiver(), dead_url()
    make_way(peal, "dead", url, concurrency=1)
    equal(health(peal, "dead"), CLOSED)
    visits(peal, "dead", 30)
    settle(peal)
    like(health(peal, "dead"), {"circuit": "open", "since": moment(), "failures": 5,
                                "nextProbeAt": moment(seconds=5), "pausedUntil": None})
    assert health(peal, "dead")["lastError"].startswith("no-connection: "), health(peal, "dead")
    equal((standing(peal, "dead", "pending"), standing(peal, "dead", "retrying")), (25, 5))
    advance(peal, "4s")
    equal(standing(peal, "dead", "pending"), 25)
    advance(peal, "1s")
    equal(standing(peal, "dead", "pending"), 24)
    like(health(peal, "dead"), {"circuit": "open", "since": moment(), "failures": 6,
                                "nextProbeAt": moment(seconds=15)})
    body = {"key": "http:dead", "type": "http", "config": {"url": receiver.url}}
    peal.put("/v1/channels/http:dead", body, expect=200)  # what is changed is tried at once
    settle(peal)
    equal(receiver.count(), 24)
    equal(health(peal, "dead"), CLOSED)
    equal(standing(peal, "dead", "delivered"), 24)


def test_all_who_look_see_the_circuit(ctx):
    peal = ctx.peal
    make_way(peal, "dead", dead_url(), concurrency=1)
    visits(peal, "dead", 6)
    settle(peal)
    listed = {one["key"]: one["health"] for one in peal.get("/v1/channels", expect=200).json["items"]}
    equal(listed["http:dead"]["circuit"], "open")
    equal(listed["memory:default"], CLOSED)
    shown = peal.cli("channels", "list").out
    line = next(line for line in shown.splitlines() if line.startswith("http:dead"))
    for part in ("open", listed["http:dead"]["nextProbeAt"], "no-connection"):
        assert part in line, shown
    metrics = peal.get("/metrics", expect=200).text
    assert "\npeal_circuits_open 1\n" in metrics and "\npeal_circuits_opened_total 1\n" in metrics
    equal(held(peal, "circuit_open"), ['{tenant="default",channel="http:dead"} 1'])
    equal((held(peal, "paused"), held(peal.with_key(None), "circuit_open")), ([], [" 1"]))
    equal(peal.get("/readyz").status, 200)
    equal({one["reason"] for one in peal.get("/v1/causes?state=retrying", expect=200).json["items"]},
          {"no-connection"})


def test_a_channel_that_is_new_to_a_dead_host_says_why_it_waits(ctx):
    peal, url = ctx.peal, dead_url()
    make_way(peal, "dead", url, concurrency=1)
    visits(peal, "dead", 6)
    settle(peal)
    make_way(peal, "new", url + "/new")
    visits(peal, "new", 3)
    settle(peal)
    like(health(peal, "new"), {"circuit": "open", "lastError": health(peal, "dead")["lastError"]})
    equal(standing(peal, "new", "pending"), 3)
    equal(held(peal, "circuit_open"), [f'{{tenant="default",channel="http:{name}"}} 1'
                                       for name in ("dead", "new")])


def test_who_watches_sees_own_channels_alone(ctx):
    peal, receiver = ctx.peal, ctx.receiver()
    make_way(peal, "busy", receiver.url, concurrency=1)
    receiver.answer(429, headers={"Retry-After": "60"})
    visits(peal, "busy", 2)
    settle(peal)
    equal((held(peal, "paused"), held(peal, "circuit_open")),
          (['{tenant="default",channel="http:busy"} 1'], []))
    equal(held(make_tenant(peal, "other"), "paused"), [])
    equal(held(peal.with_key(None), "paused"), [" 1"])
    advance(peal, "60s")
    equal(held(peal.with_key(None), "paused"), [" 1"])  # asked anew
    receiver.answer(200)
    advance(peal, "60s")
    equal((held(peal, "paused"), held(peal.with_key(None), "paused")), ([], [" 0"]))


def test_an_operator_limits_what_one_host_gets_at_once(ctx):
    peal, receiver, gate = ctx.start(args=["--host-concurrency", "3"]), ctx.receiver(), threading.Event()
    receiver.answer(200, hold=gate)
    for name in ("one", "two"):
        make_way(peal, name, f"{receiver.url}/{name}")
        visits(peal, name, 1)
    receiver.wait_for(2)
    for name in ("one", "two"):
        visits(peal, name, 20)
    receiver.wait_for(3)
    eventually(lambda: standing(peal, "one", "sending") + standing(peal, "two", "sending") == 3)
    equal(receiver.count(), 3)
    gate.set()
    receiver.wait_for(42)
    for wrong in ("0", "many", "10001"):
        refused = run_peal("serve", "--store", f"sqlite:{ctx.folder}/none.db", "--host-concurrency", wrong)
        assert refused.code and "from 1 to 10000" in refused.err, refused


def test_a_far_side_that_asks_for_it_is_left_alone(ctx):
    peal, receiver = ctx.peal, ctx.receiver()
    make_way(peal, "busy", receiver.url, concurrency=1)
    receiver.answer(429, headers={"Retry-After": "60"})
    visits(peal, "busy", 5)
    settle(peal)
    equal(receiver.count(), 1)
    like(health(peal, "busy"), {"circuit": "closed", "pausedUntil": moment(seconds=60)})
    receiver.answer(200)
    advance(peal, "59s")
    equal((receiver.count(), standing(peal, "busy", "pending")), (1, 4))
    advance(peal, "1s")
    equal((receiver.count(), standing(peal, "busy", "delivered")), (5, 4))
    equal(health(peal, "busy"), CLOSED)


def test_a_pause_ends_when_the_channel_is_changed(ctx):
    peal, receiver = ctx.peal, ctx.receiver()
    make_way(peal, "busy", receiver.url, concurrency=1)
    receiver.answer_next(503, headers={"Retry-After": "86400"})
    visits(peal, "busy", 5)
    settle(peal)
    equal(receiver.count(), 1)
    peal.patch("/v1/channels/http:busy", {"concurrency": 2}, expect=200)
    settle(peal)
    equal((receiver.count(), health(peal, "busy")), (5, CLOSED))


def test_a_channel_that_is_saved_as_it_is_keeps_its_pause(ctx):
    """Whoever applies the same definitions every minute does not wear a far side down."""
    peal, receiver = ctx.peal, ctx.receiver()
    make_way(peal, "busy", receiver.url, concurrency=1)
    receiver.answer_next(429, headers={"Retry-After": "3600"})
    visits(peal, "busy", 3)
    settle(peal)
    body = {"key": "http:busy", "type": "http", "config": {"url": receiver.url}, "concurrency": 1}
    before = health(peal, "busy")
    equal(peal.put("/v1/channels/http:busy", body, expect=200).json["version"], 1)
    settle(peal)
    equal((receiver.count(), health(peal, "busy")), (1, before))
    peal.put("/v1/channels/http:busy", {**body, "concurrency": 2}, expect=200)
    settle(peal)
    equal((receiver.count(), health(peal, "busy")), (3, CLOSED))


def test_an_ordered_channel_keeps_its_order(ctx):
    peal, receiver = ctx.peal, ctx.receiver()
    make_way(peal, "line", receiver.url, ordered=True)
    receiver.answer(500)
    ids = []
    for _ in range(4):
        answer = ingest(peal, visit(), kind="line")
        ids.append(answer["items"][0]["deliveries"][0]["deliveryId"])
    settle(peal)
    advance(peal, "1h")
    asked = {one.json["deliveryId"] for one in receiver.received}
    equal((asked, attempts(peal, ids[0])), ({ids[0]}, []))
    tried = receiver.count()
    assert 55 < tried < 75, tried  # from a second to a minute, for ever
    receiver.answer(200)
    advance(peal, "1m")
    equal([one.json["deliveryId"] for one in receiver.received[tried:]], ids)


def test_a_dead_host_delays_nobody_else(ctx):
    """10,000 to a dead host beside 100 to a live one of the same tenant: those are out in a second."""
    peal, receiver = ctx.start(clock="system"), ctx.receiver()
    make_way(peal, "dead", dead_url())
    make_way(peal, "live", receiver.url)
    visits(peal, "dead", 10000)
    before = time.monotonic()
    visits(peal, "live", 100)
    receiver.wait_for(100)
    took = time.monotonic() - before
    assert took < 1 * PATIENCE, f"{took:.2f} s"
    eventually(lambda: health(peal, "dead")["circuit"] != "closed")
    assert standing(peal, "dead", "sending") <= 1


def test_a_dead_mail_server_delays_nobody_else(ctx):
    """The same with mail: nobody listens there, and elsewhere somebody does and says nothing."""
    peal, server = ctx.start(clock="system"), MailServer()
    mute = Hostile(lambda line: line.hang(), scheme="smtp")
    ctx.closers += [server.close, mute.close]
    for name, url in (("dead", f"smtp://127.0.0.1:{free_port()}"), ("mute", mute.url), ("live", server.url)):
        make_mail_way(peal, name, url)
    mails(peal, "dead", 10000)
    mails(peal, "mute", 10000)
    before = time.monotonic()
    mails(peal, "live", 100)
    server.wait_for(100)
    took = time.monotonic() - before
    assert took < 1 * PATIENCE, f"{took:.2f} s"
    eventually(lambda: health(peal, "dead", "email")["circuit"] != "closed")
    eventually(lambda: standing(peal, "live", "delivered", "email") == 100)  # what was taken is settled a moment later
    eventually(lambda: health(peal, "mute", "email")["circuit"] != "closed", seconds=30)
    assert mute.connections < 80, mute.connections  # 32 at once, the circuit, and its probes


def make_mail_way(peal, name, url):
    peal.post("/v1/channels", {"key": f"email:{name}", "type": "email", "timeout": "2s",
                               "config": {"server": url, "from": "peal@example.org"}}, expect=201)
    make_trigger(peal, name, eventKind=name, channel=f"email:{name}",
                 retry={"policy": "fixed", "interval": "1d", "max": 9})


def mails(peal, kind, count):
    def mail():
        item = visit(subject="Boiler 7", body="Too hot.")
        item["recipient"]["address"] = "ada@example.net"
        return item
    for first in range(0, count, 2000):
        ingest(peal, *[mail() for _ in range(min(2000, count - first))], kind=kind)


def test_bulk_does_not_delay_a_single_message(ctx):
    """A batch of thousands through a slow channel, and behind it one message through the same."""
    peal, receiver = ctx.start(clock="system"), SlowReceiver(0.02)
    ctx.closers.append(receiver.close)
    make_way(peal, "bulk", receiver.url, concurrency=8)
    make_trigger(peal, "single", eventKind="single", channel="http:bulk")
    visits(peal, "bulk", 10000)
    receiver.wait_for(500, seconds=60)
    before = receiver.count()
    visits(peal, "single", 1)
    found = eventually(lambda: receiver.place_of("single"), seconds=60)
    assert found - before < 1000, (before, found)  # not behind the 9,500
    assert standing(peal, "bulk", "pending") > 5000


class SlowReceiver(Receiver):
    """Answers after a while, and knows in which place an event of a kind came."""

    def __init__(self, seconds):
        self.seconds = seconds
        super().__init__()

    def take(self, request):
        self.closing.wait(self.seconds)
        return super().take(request)

    def place_of(self, kind):
        with self.changed:
            return next((n for n, one in enumerate(self.received) if one.json["eventKind"] == kind), None)


def test_a_peer_that_hangs_and_one_that_drops_delay_nobody_else(ctx):
    peal, hangs, drops, live = ctx.start(clock="system"), ctx.receiver(), ctx.receiver(), ctx.receiver()
    gate = threading.Event()
    hangs.answer(200, hold=gate)
    drops.answer(drop=True)
    make_way(peal, "hangs", hangs.url, concurrency=8, timeout="1s")
    make_way(peal, "drops", drops.url, concurrency=8)
    make_way(peal, "live", live.url)
    visits(peal, "hangs", 500)
    visits(peal, "drops", 500)
    visits(peal, "live", 100)
    live.wait_for(100)
    for name in ("hangs", "drops"):
        eventually(lambda: health(peal, name)["circuit"] != "closed")
        assert health(peal, name)["lastError"].startswith("no-answer"), health(peal, name)
    assert hangs.count() < 40 and drops.count() < 40, (hangs.count(), drops.count())
    gate.set()


def two_that_pause(ctx, receiver):
    """Two nodes, of which one was asked for a pause and the other has heard of it."""
    one, other = ctx.start(clock="system"), ctx.start(clock="system")
    make_way(one, "busy", receiver.url, concurrency=1)
    ingest_one_of(one, "busy")
    receiver.wait_for(1)
    eventually(lambda: health(other, "busy")["pausedUntil"])
    time_to_hear(other, one)
    return one, other


@only("postgres")
def test_a_save_lifts_a_pause_on_every_node_or_on_none(ctx):
    receiver = ctx.receiver()
    receiver.answer_next(429, headers={"Retry-After": "3600"})
    one, other = two_that_pause(ctx, receiver)
    body = {"key": "http:busy", "type": "http", "config": {"url": receiver.url}, "concurrency": 1}
    one.put("/v1/channels/http:busy", body, expect=200)
    for peal in (one, other):
        visits(peal, "busy", 5)
    time_to_hear(other, one)
    equal((receiver.count(), bool(health(other, "busy")["pausedUntil"])), (1, True))
    one.put("/v1/channels/http:busy", {**body, "concurrency": 2}, expect=200)
    receiver.wait_for(11)
    one.kill9()
    visits(other, "busy", 5)
    receiver.wait_for(16)
    equal(health(other, "busy"), CLOSED)


@only("postgres")
def test_what_one_node_is_told_holds_for_all(ctx):
    receiver = ctx.receiver()
    receiver.answer(429, headers={"Retry-After": "3600"})
    one, other = two_that_pause(ctx, receiver)
    for peal in (one, other):
        visits(peal, "busy", 5)
    make_way(other, "mark", receiver.url + "/mark")
    visits(other, "mark", 3)  # by then both have looked at their lanes
    received = receiver.wait_for(4)
    equal([one.path for one in received if one.path != "/mark"], ["/"] * (len(received) - 3))
    equal(len(received), 4)


def ingest_one_of(peal, kind):
    ingest(peal, visit(), kind=kind)


def time_to_hear(*nodes):
    """A node looks at all lanes once a second: as soon as its metrics say it has had a round since."""
    for node in nodes:
        seen = rounds(node)
        eventually(lambda: rounds(node) >= seen + 3)


def rounds(peal):
    text = peal.get("/metrics", expect=200).text
    return int(float(text.split("\npeal_commit_seconds_count ")[1].split("\n")[0]))


@only("postgres")
def test_a_rate_holds_over_two_nodes(ctx):
    receiver = ctx.receiver()
    nodes = ctx.start(clock="system"), ctx.start(clock="system")
    make_way(nodes[0], "slow", receiver.url, rate={"per": "1s", "max": 10})
    for peal in nodes:
        visits(peal, "slow", 20)
    received = receiver.wait_for(40)
    windows = [int(one.headers["webhook-timestamp"]) for one in received]
    most = max(windows.count(window) for window in windows)
    assert most <= 10, (most, windows)


@only("postgres")
def test_a_rate_holds_over_three_nodes_of_which_one_dies(ctx):
    """Its share of the window dies with it, and no more: the others have all of the next."""
    receiver, most = ctx.receiver(), 20
    nodes = [ctx.start(clock="system") for _ in range(3)]
    make_way(nodes[0], "slow", receiver.url, rate={"per": "1s", "max": most})
    nodes[0].patch("/v1/triggers/slow", {"retry": {"policy": "fixed", "interval": "1s", "max": 9}}, expect=200)
    for peal in nodes:
        visits(peal, "slow", 100)
    receiver.wait_for(60)
    nodes[2].kill9()
    killed_at = int(receiver.received[-1].headers["webhook-timestamp"])
    eventually(lambda: standing(nodes[0], "slow", "delivered") == 300, seconds=90)
    received = receiver.wait_for(300)
    windows = collections.Counter(int(one.headers["webhook-timestamp"]) for one in received)
    assert max(windows.values()) <= most, windows
    assert max(count for window, count in windows.items() if window > killed_at) == most, (killed_at, windows)
    equal(len({one.json["deliveryId"] for one in received}), 300)


if __name__ == "__main__":
    main()
