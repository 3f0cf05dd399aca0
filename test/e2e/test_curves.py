"""Curves: what came in, arrived, failed and was parked, minute by minute and by channel."""
import json

from harness import equal, main
from steps import advance, clock, ingest, make_tenant, make_trigger, settle, visit


def curves(peal, query="", expect=200):
    return peal.get(f"/v1/curves{query}", expect=expect).json


def at_minute(peal):
    """Moves the clock to the beginning of a minute, so that what follows lies in one."""
    second = float(clock(peal)[17:-1])
    advance(peal, f"{60 - int(second)}s")


def sums(answer, *names):
    return [sum(answer[name]) for name in names]


def failing(ctx, name="out", status=503):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": f"http:{name}", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, name, eventKind=name, channel=f"http:{name}",
                 retry={"policy": "fixed", "interval": "2m", "max": 1})
    for _ in range(2):
        receiver.answer_next(status=status)
    return receiver


def test_without_anything_all_is_zero(ctx):
    answer = curves(ctx.peal)
    equal((answer["step"], len(answer["times"]), answer["isPartial"]), (60, 60, False))
    equal(sums(answer, "received", "delivered", "failed", "parked"), [0, 0, 0, 0])
    equal((set(answer["latency"]["p99"]), answer["failures"]), ({None}, []))
    equal({b - a for a, b in zip(answer["times"], answer["times"][1:])}, {60})


def test_each_minute_has_what_was_done_in_it(ctx):
    make_trigger(ctx.peal)
    at_minute(ctx.peal)
    ingest(ctx.peal, visit(), visit(), visit())
    settle(ctx.peal)
    advance(ctx.peal, "2m")
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    answer = curves(ctx.peal)
    equal(answer["received"][-3:], [3, 0, 1])
    equal(answer["delivered"][-3:], [3, 0, 1])
    equal([p is None for p in answer["latency"]["p50"][-3:]], [False, True, False])
    by_five = curves(ctx.peal, "?step=5m")
    equal((sum(by_five["received"]), by_five["step"], len(by_five["times"])), (4, 300, 60))
    for step in "1h", "1d":
        equal(sums(curves(ctx.peal, f"?step={step}"), "received", "delivered"), [4, 4])


def test_failures_are_told_by_channel(ctx):
    failing(ctx)
    make_trigger(ctx.peal)
    at_minute(ctx.peal)
    ingest(ctx.peal, visit(), kind="out")
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    advance(ctx.peal, "2m")  # the retry, which is the last
    answer = curves(ctx.peal)
    equal(answer["failures"], [{"channel": "http:out", "counts": [0] * 57 + [1, 0, 1]}])
    equal((answer["failed"][-3:], answer["parked"][-3:]), ([1, 0, 1], [0, 0, 1]))
    out = curves(ctx.peal, "?channel=http:out")
    equal(sums(out, "received", "delivered", "failed", "parked"), [1, 0, 2, 1])
    equal(set(out["depth"]), {None})
    other = curves(ctx.peal, "?channel=memory:default")
    equal(sums(other, "received", "delivered", "failed"), [1, 1, 0])
    equal(sums(curves(ctx.peal, "?channel=http:none"), "received", "failed"), [0, 0])


def test_latency_begins_when_a_send_is_due(ctx):
    receiver = failing(ctx)
    receiver.answers = []
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "3h"})
    ingest(ctx.peal, visit(), kind="later")
    advance(ctx.peal, "3h")
    late = [p for p in curves(ctx.peal)["latency"]["p99"] if p is not None]
    equal(len(late), 1)
    assert late[0] <= 1, late  # of the manual clock nothing passes while it is sent


def test_a_retry_takes_as_long_as_it_waited(ctx):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": "http:slow", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, "slow", eventKind="slow", channel="http:slow",
                 retry={"policy": "fixed", "interval": "10m", "max": 3})
    receiver.answer_next(status=503)
    ingest(ctx.peal, visit(), kind="slow")
    settle(ctx.peal)
    advance(ctx.peal, "10m")
    took = [p for p in curves(ctx.peal)["latency"]["p50"] if p is not None]
    equal(len(took), 1)
    assert 600_000 * 0.85 < took[0] < 600_000 * 1.15, took


def test_tenants_are_apart(ctx):
    acme = make_tenant(ctx.peal, "acme")
    make_trigger(acme)
    ingest(acme, visit(), visit())
    settle(ctx.peal)
    equal(sums(curves(acme), "received", "delivered"), [2, 2])
    equal(sums(curves(ctx.peal), "received", "delivered"), [0, 0])


def test_a_stop_writes_what_was_gathered(ctx):
    make_trigger(ctx.peal)
    ingest(ctx.peal, visit(), visit())
    settle(ctx.peal)
    ctx.peal.restart()
    equal(sums(curves(ctx.peal), "received", "delivered"), [2, 2])
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    ctx.peal.restart()
    for step in "1m", "1h":
        equal(sums(curves(ctx.peal, f"?step={step}"), "received", "delivered"), [3, 3])


def test_what_cannot_be_asked_is_refused(ctx):
    for query in ("?step=2m", "?from=2026-11-16T10:00:00Z&to=2026-11-16T09:00:00Z", "?from=yesterday",
                  "?from=2026-11-01T00:00:00Z&to=2026-11-16T00:00:00Z", "?chanel=x"):
        ctx.peal.get(f"/v1/curves{query}", expect=422)
    answer = curves(ctx.peal, "?from=2026-11-16T10:00:30Z&to=2026-11-16T10:05:00Z")
    equal((len(answer["times"]), answer["from"]), (5, "2026-11-16T10:00:00.000Z"))
    equal(len(curves(ctx.peal, "?from=2026-11-15T10:00:00Z&to=2026-11-16T10:00:00Z")["times"]), 1440)


def test_the_command_prints_a_line_a_step(ctx):
    make_trigger(ctx.peal)
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    out = ctx.peal.cli("curves").out
    assert out.splitlines()[0].split()[:3] == ["TIME", "RECEIVED", "DELIVERED"], out
    equal(len(out.splitlines()), 61)
    equal(sum(json.loads(ctx.peal.cli("curves", "--step", "1h", "--json").out)["received"]), 1)


if __name__ == "__main__":
    main()
