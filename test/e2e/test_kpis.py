"""The figures of the queue: from counters, and equal to what a recount says."""
import random
import uuid

from harness import equal, like, main
from steps import advance, deliveries, ingest, make_tenant, make_trigger, settle, visit

ZERO = {"queueDepth": 0, "scheduled": 0, "stuck": 0, "parked": 0, "deliveredLastInterval": 0,
        "interval": "1m", "oldestPendingSeconds": 0, "exact": True, "bySite": []}


def kpis(peal, query=""):
    return peal.get(f"/v1/kpis{query}", expect=200).json


def test_nothing_is_zero(ctx):
    like(kpis(ctx.peal), ZERO)


def test_what_was_delivered_counts_in_the_minute_after(ctx):
    make_trigger(ctx.peal)
    ingest(ctx.peal, visit(), visit(), visit())
    settle(ctx.peal)
    equal(kpis(ctx.peal)["deliveredLastInterval"], 0)
    advance(ctx.peal, "1m")
    like(kpis(ctx.peal), {**ZERO, "deliveredLastInterval": 3})
    equal(kpis(ctx.peal, "?kind=notification")["deliveredLastInterval"], 0)
    equal(kpis(make_tenant(ctx.peal, "acme"))["deliveredLastInterval"], 0)
    advance(ctx.peal, "1m")
    equal(kpis(ctx.peal)["deliveredLastInterval"], 0)


def test_scheduled_retried_parked_and_stuck_are_told_apart(ctx):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "2d"})
    make_trigger(ctx.peal, "out", eventKind="out", channel="http:out",
                 retry={"policy": "fixed", "interval": "6m", "max": 50})
    make_trigger(ctx.peal, "none", eventKind="none", channel="http:none")
    for _ in range(4):
        receiver.answer_next(status=503)
    ingest(ctx.peal, visit(), visit(), kind="later")
    ingest(ctx.peal, visit(), kind="out")
    ingest(ctx.peal, visit(), kind="none")
    settle(ctx.peal)
    like(kpis(ctx.peal), {"queueDepth": 1, "scheduled": 2, "stuck": 0, "parked": 1})
    advance(ctx.peal, "12m")
    like(kpis(ctx.peal), {"queueDepth": 1, "scheduled": 2, "stuck": 1, "parked": 1,
                          "oldestPendingAge": "12m", "oldestPendingSeconds": 720})


def test_what_waits_is_scheduled_until_its_reminder_is_due(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d"]}, expireAfter="3d")
    ingest(ctx.peal, visit(), visit())
    settle(ctx.peal)
    equal({row["state"] for row in deliveries(ctx.peal)}, {"waiting"})
    like(kpis(ctx.peal), {**ZERO, "scheduled": 2})
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    advance(ctx.peal, "1d")
    like(kpis(ctx.peal), {"queueDepth": 2, "scheduled": 0, "stuck": 0, "oldestPendingSeconds": 0})
    advance(ctx.peal, "15m")
    like(kpis(ctx.peal), {"queueDepth": 2, "scheduled": 0, "stuck": 2, "oldestPendingSeconds": 15 * 60})
    ctx.peal.post("/v1/release", {}, expect=200)
    settle(ctx.peal)
    like(kpis(ctx.peal), {**ZERO, "scheduled": 2, "deliveredLastInterval": 0})  # for its grace
    advance(ctx.peal, "4d")
    equal({row["state"] for row in deliveries(ctx.peal)}, {"expired"})
    like(kpis(ctx.peal), ZERO)


def recount(peal):
    states = [row["state"] for row in deliveries(peal, "")]
    return {"queueDepth": states.count("retrying") + states.count("sending"),
            "scheduled": states.count("pending") + states.count("waiting"),
            "parked": states.count("parked")}


def test_they_equal_a_recount_after_whatever_happened(ctx):
    chance = random.Random(7)
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, "now", eventKind="now", channel="http:out",
                 retry={"policy": "fixed", "interval": "3m", "max": 2})
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "7m"})
    make_trigger(ctx.peal, "again", eventKind="again", channel="http:out",
                 schedule={"reminders": ["4m", "6m"]}, expireAfter="9m",
                 retry={"policy": "fixed", "interval": "2m", "max": 1})
    for _ in range(12):
        for _ in range(30):
            receiver.answer_next(status=chance.choice([200, 200, 503, 404]))
        ingest(ctx.peal, *(visit() for _ in range(chance.randint(1, 9))),
               kind=chance.choice(["now", "later", "again"]))
        settle(ctx.peal)
        advance(ctx.peal, f"{chance.randint(1, 5)}m")
        parked = deliveries(ctx.peal, "&state=parked")
        if parked and chance.random() < 0.5:
            action = chance.choice(["retry", "discard"])
            ctx.peal.post(f"/v1/deliveries/{parked[0]['id']}/{action}", {}, expect=200)
            settle(ctx.peal)
        like(kpis(ctx.peal), recount(ctx.peal))


def forward(site, kind, count):
    site.post("/v1/site/forward", {"rows": [
        {"id": str(uuid.uuid4()), "kind": "event", "enqueuedAt": "2026-05-14T05:00:00Z",
         "body": {"kind": kind, "payload": {"n": n}}} for n in range(count)]}, expect=200)


def site_key(peal, name):
    made = peal.post("/v1/keys", {"role": "site", "site": name}, expect=201).json
    return peal.with_key(made["key"])


def test_those_of_sites_equal_a_recount(ctx):
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "30m"})
    make_trigger(ctx.peal, "none", eventKind="none", channel="http:none")
    make_trigger(ctx.peal, "now", eventKind="now")
    plants = {name: site_key(ctx.peal, name) for name in ("plant-7", "plant-8")}
    ingest(ctx.peal, visit(), kind="later")
    for n, (name, site) in enumerate(plants.items()):
        forward(site, "later", 3 + n)
        forward(site, "none", 1 + n)
        forward(site, "now", 5 + n)
    settle(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    advance(ctx.peal, "1m")
    for n, name in enumerate(plants):
        asked = kpis(ctx.peal, f"?site={name}")
        like(asked, {"scheduled": 3 + n, "queueDepth": 0, "parked": 1 + n, "stuck": 0,
                     "deliveredLastInterval": 5 + n})
        states = [row["state"] for row in deliveries(ctx.peal) if row["site"] == name]
        equal([states.count("pending"), states.count("parked"), states.count("delivered")],
              [3 + n, 1 + n, 5 + n])
        by_site, = (row for row in kpis(ctx.peal)["bySite"] if row["site"] == name)
        like(by_site, {key: asked[key] for key in by_site if key != "site"})
    like(kpis(ctx.peal), {"scheduled": 8, "parked": 3, "deliveredLastInterval": 11, "exact": True})
    advance(ctx.peal, "45m")  # nothing is sent while it is held
    like(kpis(ctx.peal, "?site=plant-8"), {"queueDepth": 4, "scheduled": 0, "stuck": 4})
    like(kpis(ctx.peal, "?site=nowhere"), ZERO)


LOOKED_AT = 1000  # rows of the queue; store/kpi.h


def test_a_backlog_that_is_not_looked_at_is_counted_all_the_same(ctx):
    make_trigger(ctx.peal)
    make_trigger(ctx.peal, "later", eventKind="later", schedule={"initialDelay": "9d"})
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    old = LOOKED_AT + 200
    ingest(ctx.peal, *(visit() for _ in range(old)))
    advance(ctx.peal, "20m")
    ingest(ctx.peal, visit(), visit())
    ingest(ctx.peal, visit(), visit(), visit(), kind="later")
    like(kpis(ctx.peal), {"queueDepth": old + 2, "scheduled": 3, "stuck": old, "exact": True,
                          "oldestPendingSeconds": 20 * 60})
    ingest(ctx.peal, *(visit() for _ in range(LOOKED_AT)), kind="later")
    figures = kpis(ctx.peal)  # now it is too much: what is said is the least that is
    like(figures, {"queueDepth": LOOKED_AT, "stuck": LOOKED_AT, "scheduled": old + 5,
                   "oldestPendingSeconds": 20 * 60, "exact": False})


def test_a_backlog_hides_no_reminder_behind_a_figure_that_looks_exact(ctx):
    make_trigger(ctx.peal, "again", eventKind="again", schedule={"reminders": ["1d"]})
    make_trigger(ctx.peal)
    ingest(ctx.peal, visit(), visit(), visit(), kind="again")
    settle(ctx.peal)
    advance(ctx.peal, "23h")
    ingest(ctx.peal, visit(), kind="again")
    settle(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    advance(ctx.peal, "65m")
    ingest(ctx.peal, *(visit() for _ in range(LOOKED_AT + 200)))
    advance(ctx.peal, "15m")
    like(kpis(ctx.peal), {"queueDepth": LOOKED_AT + 203, "scheduled": 1, "stuck": LOOKED_AT + 203,
                          "exact": True, "oldestPendingSeconds": 20 * 60})
    ctx.peal.post("/v1/channels", {"key": "memory:other", "type": "memory"}, expect=201)
    ctx.peal.post("/v1/release", {}, expect=200)
    make_trigger(ctx.peal, "once", eventKind="once", channel="memory:other", expireAfter="9d",
                 schedule={"reminders": ["1m"]})
    settle(ctx.peal)
    ingest(ctx.peal, visit(), kind="once")
    settle(ctx.peal)
    advance(ctx.peal, "1m")
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    ingest(ctx.peal, *(visit() for _ in range(LOOKED_AT + 200)))
    advance(ctx.peal, "15m")
    like(kpis(ctx.peal), {"queueDepth": LOOKED_AT + 200, "stuck": LOOKED_AT + 200, "exact": False})


def test_the_command_prints_them(ctx):
    out = ctx.peal.cli("kpi")
    assert "QUEUE" in out.out, out


if __name__ == "__main__":
    main()
