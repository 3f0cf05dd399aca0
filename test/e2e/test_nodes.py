"""T17, J7 and J12: many real processes on one PostgreSQL, under the real clock.

Nothing is lost, nothing is sent twice while nodes live, and every duplicate is explained by an
attempt whose outcome is unknown. Waits of 15 s are leases that lapse.
"""
import collections
import datetime
import glob
import itertools
import threading
import time

from harness import Deadline, equal, eventually, like, main, only, run_peal
from server import ADMIN_KEY, is_sanitized
from steps import (attempts, deliveries, delivery, make_trigger, make_user, settle,
                   trigger_body, visit)

KIND = "load"
CHANNEL = "http:out"
LEASE = 15  # seconds that a send is claimed for
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")


def start_nodes(ctx, count, **options):
    return [ctx.start(clock="system", **options) for _ in range(count)]


def make_channel(node, receiver, **members):
    node.post("/v1/channels", {"key": CHANNEL, "type": "http", "timeout": "60s",
                               "config": {"url": receiver.url}, **members}, expect=201)
    make_trigger(node, "load", eventKind=KIND, channel=CHANNEL,
                 retry={"policy": "fixed", "interval": "1s", "max": 10})


class Load:
    """Threads that post numbered events to all nodes. Each has an identity, so that one whose
    answer was lost can be posted again, to another node, until somebody takes it."""

    def __init__(self, nodes, count, threads=6):
        self.nodes = nodes
        self.taken = {}
        self.numbers = iter(range(count))
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._post_all, args=(n,)) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def _next(self):
        with self.lock:
            return next(self.numbers, None)

    def _post_all(self, first):
        turn = itertools.count(first)
        for number in iter(self._next, None):
            deadline, pause = Deadline(60), threading.Event()
            while number not in self.taken and not deadline.has_passed():
                self._post(number, self.nodes[next(turn) % len(self.nodes)])
                if number not in self.taken:
                    pause.wait(0.02)

    def _post(self, number, node):
        body = {"kind": KIND, "source": "load", "id": str(number), "payload": {"n": number}}
        try:
            answer = node.post("/v1/events", body, seconds=20)
        except (OSError, ValueError, EOFError):
            return
        except Exception as error:  # http.client has many ways to say that nobody answered
            if type(error).__module__ != "http.client":
                raise
            return
        if answer.status == 202:
            self.taken[number] = answer.json["eventId"]

    def join(self):
        for thread in self.threads:
            thread.join()
        return self.taken


def all_delivered(node, count, seconds=20):
    """Waits until there are so many deliveries and all arrived; answers them."""
    seen = []

    def look():
        seen[:] = deliveries(node)
        return len(seen) == count and {row["state"] for row in seen} == {"delivered"}

    try:
        eventually(look, seconds)
    except AssertionError:
        left = [row for row in seen if row["state"] != "delivered"]
        tries = {row["id"]: attempts(node, row["id"]) for row in left[:3]}
        raise AssertionError(f"{len(seen)} deliveries of {count}, {len(left)} not delivered after "
                             f"{seconds} s, such as {left[:3]} with {tries}") from None
    return seen


def check_nothing_lost(node, receiver, taken, count, seconds=20):
    """Each event is there once, was delivered, and came once unless an attempt is unknown. Answers
    the ids of the deliveries that came more than once."""
    equal(len(taken), count)
    rows = all_delivered(node, count, seconds)
    equal({row["eventId"] for row in rows}, set(taken.values()))
    came = collections.Counter(one.json["deliveryId"] for one in list(receiver.received))
    equal(set(came), {row["id"] for row in rows})
    again = {id for id, times in came.items() if times > 1}
    for id in again:
        outcomes = [one["outcome"] for one in attempts(node, id)]
        assert "unknown" in outcomes, f"{id} came {came[id]} times and has {outcomes}"
    return again


def at_once(calls):
    """What each of the calls gave, all begun together."""
    answers, ready = [None] * len(calls), threading.Barrier(len(calls))

    def run(index):
        ready.wait()
        answers[index] = calls[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@only("postgres")
def test_two_and_four_nodes_send_each_once(ctx):
    for count in (2, 4):
        ctx.url = None
        nodes, receiver = start_nodes(ctx, count), ctx.receiver()
        make_channel(nodes[0], receiver)
        taken = Load(nodes, 200).join()
        equal(check_nothing_lost(nodes[-1], receiver, taken, 200), set())
        told = [attempts(nodes[0], row["id"]) for row in deliveries(nodes[0])]
        equal({len(tries) for tries in told}, {1})
        assert len({tries[0]["node"] for tries in told}) >= 2, "more than one node sent"
        for node in nodes:
            equal(node.stop(), 0)


@only("postgres")
def test_a_node_that_is_stopped_hands_over(ctx):
    nodes, receiver = start_nodes(ctx, 3), ctx.receiver()
    make_channel(nodes[0], receiver)
    load = Load(nodes, 300)
    receiver.wait_for(60)
    equal(nodes[0].stop(), 0)
    receiver.wait_for(150)
    equal(nodes[1].stop(), 0)
    again = check_nothing_lost(nodes[2], receiver, load.join(), 300, LEASE + 15)
    equal(again, set())


@only("postgres")
def test_the_same_at_the_same_time_on_all_nodes_is_one_delivery(ctx):
    nodes = start_nodes(ctx, 4)
    make_trigger(nodes[0], "load", eventKind=KIND, dedupRecipe=["candidate.wip"])
    for round in range(15):
        item = visit()
        body = {"eventKind": KIND, "items": [item]}
        answers = at_once([lambda node=node: node.post("/v1/ingest", body, expect=200).json
                           for node in nodes * 2])
        outcomes = sorted(answer["items"][0]["outcome"] for answer in answers)
        equal(outcomes, ["created"] + ["skipped"] * 7)
        ids = {answer["items"][0]["deliveries"][0]["deliveryId"] for answer in answers}
        equal(len(ids), 1)
        event = {"kind": "other", "source": "shop", "id": str(round)}
        answers = at_once([lambda node=node: node.post("/v1/events", event, expect=202).json
                           for node in nodes * 2])
        equal(sorted(answer["duplicate"] for answer in answers), [False] + [True] * 7)
        equal(len({answer["eventId"] for answer in answers}), 1)
        keyed = at_once([lambda node=node: node.post(
            "/v1/ingest", {"eventKind": "keyed", "items": [visit(wip=str(round))]},
            headers={"Idempotency-Key": f"k{round}"}).json for node in nodes * 2])
        equal(len({str(answer) for answer in keyed}), 1)
    equal(len(deliveries(nodes[0])), 15)


@only("postgres")
def test_what_one_node_is_told_all_know_at_once(ctx):
    one, two = start_nodes(ctx, 2)
    for turn in range(30):
        kind = f"kind-{turn}"
        make_trigger(one, kind, eventKind=kind)
        answer = two.post("/v1/events", {"kind": kind}, expect=202).json
        equal(len(answer["deliveries"]), 1, f"turn {turn}: the new trigger")
        one.put(f"/v1/triggers/{kind}", trigger_body(kind, eventKind=kind, enabled=False),
                expect=200)
        answer = two.post("/v1/events", {"kind": kind}, expect=202).json
        equal(answer["deliveries"], [], f"turn {turn}: the disabled trigger")
        one, two = two, one


@only("postgres")
def test_a_key_is_known_and_forgotten_everywhere_at_once(ctx):
    one, two = start_nodes(ctx, 2)
    for turn in range(10):
        made = one.post("/v1/keys", {"role": "admin", "name": "k"}, expect=201).json
        there = two.with_key(made["key"])
        equal(there.get("/v1/triggers").status, 200, f"turn {turn}")
        equal(there.post("/v1/events", {"kind": "a"}).status, 202, f"turn {turn}")
        one.delete(f"/v1/keys/{made['id']}", expect=204)
        equal(there.get("/v1/triggers").status, 401, f"turn {turn}: a read")
        equal(there.post("/v1/triggers", trigger_body(f"t{turn}")).status, 401, f"{turn}: a write")
        equal(there.post("/v1/events", {"kind": "a"}).status, 401, f"turn {turn}: an event")
        one, two = two, one
    fresh = make_user(one, "ingest")
    equal(two.with_key(fresh.key).post("/v1/events", {"kind": "a"}).status, 202)


@only("postgres")
def test_a_revoked_key_brings_no_event_in_anywhere(ctx):
    """Also where the first that a node hears of it is the event itself."""
    one, two = start_nodes(ctx, 2)
    for turn in range(10):
        made = one.post("/v1/keys", {"role": "ingest", "name": "k"}, expect=201).json
        there = two.with_key(made["key"])
        there.post("/v1/events", {"kind": "a"}, expect=202)
        one.delete(f"/v1/keys/{made['id']}", expect=204)
        equal(there.post("/v1/events", {"kind": "b"}).status, 401, f"turn {turn}")
        made = one.post("/v1/keys", {"role": "ingest", "name": "k"}, expect=201).json
        there = two.with_key(made["key"])
        there.post("/v1/ingest", {"eventKind": "a", "items": [{}]}, expect=200)
        one.delete(f"/v1/keys/{made['id']}", expect=204)
        equal(there.post("/v1/ingest", {"eventKind": "b", "items": [{}]},
                         headers={"Idempotency-Key": str(turn)}).status, 401, f"turn {turn}")
        one, two = two, one
    kinds = collections.Counter(event["kind"] for event in one.get("/v1/events").json["items"])
    equal(kinds, {"a": 20})


@only("postgres")
def test_a_hold_holds_every_node(ctx):
    (one, two), receiver = start_nodes(ctx, 2), ctx.receiver()
    make_channel(one, receiver)
    one.post("/v1/hold", {"reason": "both"}, expect=200)
    for node in (one, two):
        node.post("/v1/events", {"kind": KIND}, expect=202)
        settle(node)
    equal(receiver.count(), 0)
    eventually(lambda: two.get("/readyz").json["held"])
    two.post("/v1/release", expect=200)
    receiver.wait_for(2)


def send_from_elsewhere(node, receiver, count):
    """Posts events, one after the other, to a node that has no slot free for them; answers how long
    each had to wait for another node, in seconds."""
    waits = []
    for _ in range(count):
        came = receiver.count()
        node.post("/v1/events", {"kind": KIND}, expect=202)
        began = time.monotonic()
        receiver.wait_for(came + 1)
        waits.append(time.monotonic() - began)
    return waits


def is_told_again(node, receiver):
    """Three in a row that come at once: whoever only looks once a second cannot do that."""
    eventually(lambda: sum(send_from_elsewhere(node, receiver, 3)) < 0.6, 30)


@only("postgres")
def test_what_one_node_leaves_is_told_to_the_others(ctx):
    """A node looks for the work of others once a second; it is told of it at once."""
    busy, receiver = ctx.start(clock="system"), ctx.receiver()
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    make_channel(busy, receiver, concurrency=1)
    busy.post("/v1/events", {"kind": KIND}, expect=202)
    receiver.wait_for(1)
    receiver.answer(200)
    ctx.start(clock="system")
    is_told_again(busy, receiver)  # before it was, the one had to learn of the other
    waits = send_from_elsewhere(busy, receiver, 12)
    assert sum(waits) < 3, f"looking alone takes half a second each: {waits}"

    ctx.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'peal bell' AND datname = current_database()")
    waits = send_from_elsewhere(busy, receiver, 2)
    assert max(waits) < 5, f"who hears nothing still looks: {waits}"
    is_told_again(busy, receiver)
    equal({one["outcome"] for row in deliveries(busy, "&state=delivered")
           for one in attempts(busy, row["id"])}, {"delivered"})
    gate.set()


@only("postgres")
def test_a_killed_nodes_claims_are_finished_by_the_others(ctx):
    nodes, receiver = start_nodes(ctx, 3), ctx.receiver()
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    make_channel(nodes[0], receiver, concurrency=6)
    load = Load(nodes, 120)
    receiver.wait_for(18)  # each node has as many under way as it may
    nodes[0].kill9()
    gate.set()
    again = check_nothing_lost(nodes[1], receiver, load.join(), 120, LEASE + 25)
    assert 1 <= len(again) <= 6, again
    for id in again:
        first, *rest = attempts(nodes[1], id)
        like(first, {"number": 1, "outcome": "unknown", "reason": "lease-lapsed"})
        equal([one["outcome"] for one in rest], ["delivered"])
        assert first["node"] != rest[0]["node"], "another node finished it"
        ids = {one.headers["webhook-id"] for one in receiver.received
               if one.json["deliveryId"] == id}
        equal(ids, {f"{id}.1"}, "under the same id")


@only("postgres")
def test_a_node_that_slept_past_its_lease_changes_nothing(ctx):
    sleeper, receiver = ctx.start(clock="system"), ctx.receiver()
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    make_channel(sleeper, receiver)
    ids = [sleeper.post("/v1/events", {"kind": KIND}, expect=202).json["deliveries"][0][
        "deliveryId"] for _ in range(4)]
    receiver.wait_for(4)
    sleeper.sigstop()
    other = ctx.start(clock="system")
    receiver.answer(200)
    all_delivered(other, 4, LEASE + 25)
    before = [delivery(other, id) for id in ids]
    sleeper.sigcont()
    gate.set()
    assert sleeper.process.err.wait_for("settle.stale|claim.late", seconds=20), sleeper.log()
    settle(sleeper)
    equal([delivery(other, id) for id in ids], before)
    for id in ids:
        first, second = attempts(other, id)
        like(first, {"number": 1, "outcome": "unknown", "reason": "lease-lapsed"})
        like(second, {"number": 2, "outcome": "delivered"})
        assert first["node"] != second["node"], (first, second)
    equal(receiver.count(), 8)
    sleeper.post("/v1/events", {"kind": KIND}, expect=202)
    receiver.wait_for(9)


@only("postgres")
def test_the_database_is_restarted_under_load(ctx):
    cluster, receiver = ctx.private_postgres(), ctx.receiver()
    store = cluster.create_database()
    nodes = start_nodes(ctx, 2, store=store)
    make_channel(nodes[0], receiver)
    load = Load(nodes, 400)
    receiver.wait_for(50)
    cluster.restart("fast")
    receiver.wait_for(150, seconds=30)
    cluster.restart("immediate")
    taken = load.join()
    check_nothing_lost(nodes[0], receiver, taken, 400, LEASE + 25)
    for node in nodes:
        assert node.is_running()
        equal(node.get("/readyz").json["status"], "ready")
        equal(node.stop(), 0)


@only("postgres")
def test_the_database_is_not_there_at_the_start(ctx):
    cluster = ctx.private_postgres()
    store = cluster.create_database()
    cluster.stop()
    peal = ctx.start(clock="system", store=store, env={"PEAL_ADMIN_KEY": ""})
    equal(peal.get("/livez").status, 200)
    answer = peal.get("/readyz")
    equal((answer.status, answer.json["status"]), (503, "not ready"))
    assert answer.json["reasons"], answer.json
    answer = peal.post("/v1/events", {"kind": "a"})
    equal((answer.status, answer.json["code"]), (503, "store-unavailable"))
    assert int(answer.headers["retry-after"]) > 0
    cluster.start()
    eventually(lambda: peal.get("/readyz").status == 200, 30)
    shown = peal.process.out.wait_for(r"first key \(shown this once\): (pk_\w+)", seconds=10)
    assert shown, f"the first key is told: {peal.process.out.text()}"
    equal(peal.with_key(shown[1]).post("/v1/events", {"kind": "a"}).status, 202)
    cluster.stop()
    eventually(lambda: peal.get("/readyz").status == 503, 30)
    equal(peal.get("/livez").status, 200)
    equal(peal.with_key(shown[1]).post("/v1/events", {"kind": "a"}, seconds=40).status, 503)
    cluster.start()
    eventually(lambda: peal.with_key(shown[1]).post("/v1/events", {"kind": "a"}).status == 202, 30)
    equal(peal.stop(), 0)


def faked(offset):
    """The environment of a process whose wall clock is apart; time that passes is not touched."""
    return {"LD_PRELOAD": FAKETIME[0], "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}


def can_fake_time():
    return FAKETIME and not is_sanitized()


def seconds_apart(node):
    now = datetime.datetime.fromisoformat(
        node.get("/v1/clock", expect=200).json["now"].replace("Z", "+00:00"))
    return abs((now - datetime.datetime.now(datetime.timezone.utc)).total_seconds())


@only("postgres")
def test_nodes_whose_clocks_are_apart(ctx):
    if not can_fake_time():
        return
    right, receiver = ctx.start(clock="system"), ctx.receiver()
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    make_channel(right, receiver)
    id = right.post("/v1/events", {"kind": KIND}, expect=202).json["deliveries"][0]["deliveryId"]
    receiver.wait_for(1)
    make_trigger(right, "later", eventKind="later", channel=CHANNEL,
                 schedule={"initialDelay": "5m"})
    later = []
    for offset in ("+10m", "-10m"):
        wrong = ctx.start(clock="system", env=faked(offset))
        assert seconds_apart(wrong) < 5, f"{offset}: it goes by the database's clock"
        settle(wrong)
        row = delivery(wrong, id)
        like(row, {"state": "sending", "attemptCount": 1}, f"{offset}: the lease of another")
        later.append(wrong.post("/v1/events", {"kind": "later"},
                                expect=202).json["deliveries"][0]["deliveryId"])
        settle(wrong)
        for one in later:
            like(delivery(wrong, one), {"state": "pending", "attemptCount": 0}, offset)
        at_due = datetime.datetime.fromisoformat(
            delivery(wrong, later[-1])["dueAt"].replace("Z", "+00:00"))
        ahead = (at_due - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        assert 280 < ahead < 310, f"{offset}: due in {ahead} s"
    equal(receiver.count(), 1)
    gate.set()
    eventually(lambda: delivery(right, id)["state"] == "delivered")
    equal([one["outcome"] for one in attempts(right, id)], ["delivered"])


@only("postgres")
def test_a_clock_that_jumps_makes_nothing_early(ctx):
    if not can_fake_time():
        return
    told = ctx.write("faketime", "+0\n")
    env = {**faked("+0"), "FAKETIME_TIMESTAMP_FILE": str(told), "FAKETIME_NO_CACHE": "1"}
    del env["FAKETIME"]
    steady, receiver = ctx.start(clock="system"), ctx.receiver()
    jumper = ctx.start(clock="system", env=env)
    make_channel(steady, receiver)
    make_trigger(steady, "later", eventKind="later", channel=CHANNEL,
                 schedule={"initialDelay": "5m"})
    settle(jumper)
    id = jumper.post("/v1/events", {"kind": "later"}, expect=202).json["deliveries"][0][
        "deliveryId"]
    told.write_text("+10m\n")
    assert jumper.process.err.wait_for("clock.jumped", seconds=20), jumper.log()
    eventually(lambda: seconds_apart(jumper) < 5)
    settle(jumper)
    like(delivery(jumper, id), {"state": "pending", "attemptCount": 0})
    equal(receiver.count(), 0)


@only("postgres")
def test_a_manual_clock_is_refused_while_another_node_lives(ctx):
    node = ctx.start(clock="system")
    ran = run_peal("serve", "--store", ctx.store_url, "--listen", "127.0.0.1:0", "--clock",
                   "manual", cwd=ctx.folder,
                   env={"HOME": str(ctx.folder), "PEAL_ADMIN_KEY": ADMIN_KEY})
    equal(ran.code, 5)
    assert "manual clock" in ran.err and "another node lives" in ran.err, ran.err
    equal(node.post("/v1/clock", {"advance": "1h"}).status, 409)
    equal(node.stop(), 0)
    manual = ctx.start()
    equal(manual.post("/v1/clock", {"advance": "1h"}).status, 200)
    ctx.start(clock="system")
    eventually(lambda: manual.post("/v1/clock", {"advance": "1s"}).status == 409)


if __name__ == "__main__":
    main()
