"""N11: the node that sends is killed; another goes on from the table within seconds, or on SQLite the
same one when it is started again. Nothing that was acknowledged is lost. Under the real clock."""
import threading
import time

from harness import PATIENCE, equal, eventually, like, main, only
from steps import attempts, deliveries, make_trigger

KIND = "load"
WITHIN = 15  # seconds from the kill to the next delivery


def post(node, count):
    """What was acknowledged: the ids of the events."""
    return {node.post("/v1/events", {"kind": KIND}, expect=202).json["eventId"]
            for _ in range(count)}


def make_way_out(node, receiver):
    node.post("/v1/channels", {"key": "http:out", "type": "http", "timeout": "60s",
                               "concurrency": 4, "config": {"url": receiver.url}}, expect=201)
    make_trigger(node, KIND, eventKind=KIND, channel="http:out",
                 retry={"policy": "fixed", "interval": "1s", "max": 10})


def kill_while_it_sends(ctx, node, receiver):
    """Ten events, of which four are under way when the node is killed; when that was, and what of."""
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    taken = post(node, 10)
    receiver.wait_for(4)
    node.kill9()
    killed_at = time.monotonic()
    receiver.answer(200)
    ctx.closers.append(gate.set)
    return killed_at, taken


def check_all_arrive(node, receiver, taken):
    """Each arrives; only what was under way comes twice, under the same id."""
    receiver.wait_for(14, seconds=40)
    eventually(lambda: {row["state"] for row in deliveries(node)} == {"delivered"})
    rows = deliveries(node)
    equal({row["eventId"] for row in rows}, taken)
    tried = [attempts(node, row["id"]) for row in rows]
    again = [tries for tries in tried if len(tries) > 1]
    equal(len(again), 4)
    for first, *_ in again:
        like(first, {"outcome": "unknown", "reason": "lease-lapsed"})
    equal(len({one.headers["webhook-id"] for one in receiver.received}), 10)


@only("postgres")
def test_another_node_goes_on_within_seconds(ctx):
    active, receiver = ctx.start(clock="system"), ctx.receiver()
    make_way_out(active, receiver)
    standby = ctx.start(clock="system")
    standby.sigstop()  # so that the first one alone is sending when it is killed
    killed_at, taken = kill_while_it_sends(ctx, active, receiver)
    standby.sigcont()
    receiver.wait_for(5, seconds=WITHIN)
    assert time.monotonic() - killed_at < WITHIN * PATIENCE, "deliveries go on"
    check_all_arrive(standby, receiver, taken)


@only("sqlite")
def test_the_same_node_goes_on_when_it_is_started_again(ctx):
    node, receiver = ctx.start(clock="system"), ctx.receiver()
    make_way_out(node, receiver)
    killed_at, taken = kill_while_it_sends(ctx, node, receiver)
    node.start()
    receiver.wait_for(5, seconds=WITHIN)
    assert time.monotonic() - killed_at < WITHIN * PATIENCE, "deliveries go on"
    check_all_arrive(node, receiver, taken)


if __name__ == "__main__":
    main()
