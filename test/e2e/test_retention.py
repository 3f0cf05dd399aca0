"""Retention: what ended long ago goes, with an audit row, and nothing else does."""
import threading

from harness import equal, eventually, like, main
from steps import (advance, deliveries, ingest, ingest_one, make_tenant, make_trigger, moment,
                   settle, tick, visit)


def audit(peal, query=""):
    return peal.get(f"/v1/audit?limit=500{query}", expect=200).json["items"]


def purged(peal):
    """What the audit tells of purges of deliveries and events."""
    told = [row["detail"]["text"] for row in audit(peal, "&kind=Purge")]
    return sorted(text for text in told if not text.startswith("audit"))


def make_all_sorts(peal):
    """Triggers whose deliveries end, park, wait for their time and wait for an answer."""
    make_trigger(peal, "done", eventKind="done", dedupRecipe=["candidate.wip"])
    make_trigger(peal, "parked", eventKind="parked", channel="http:none")
    make_trigger(peal, "later", eventKind="later", schedule={"initialDelay": "1000d"})
    make_trigger(peal, "asked", eventKind="asked", awaitAnswer=True, expireAfter="2000d")
    for kind in ("done", "parked", "later", "asked"):
        ingest(peal, visit(), kind=kind)
    settle(peal)


def states(peal):
    return sorted(row["state"] for row in deliveries(peal))


def test_after_a_year_what_ended_is_gone_and_all_else_stays(ctx):
    peal = ctx.peal
    make_all_sorts(peal)
    other = make_tenant(peal, "acme")
    make_trigger(other, "done", eventKind="done")
    ingest(other, visit(), kind="done")
    settle(peal)
    equal(states(peal), ["delivered", "parked", "pending", "waiting"])
    advance(peal, "364d")
    equal(states(peal), ["delivered", "parked", "pending", "waiting"])
    equal(audit(peal, "&kind=Purge"), [])
    advance(peal, "2d")
    equal(states(peal), ["pending", "waiting"])
    equal(deliveries(other), [])
    like(peal.get("/v1/kpis", expect=200).json, {"scheduled": 2, "parked": 0})
    settle(peal)
    equal(purged(peal), ["deliveries: 2", "events: 2"])
    equal(purged(other), ["deliveries: 1", "events: 1"])
    equal({row["actor"] for row in audit(peal, "&kind=Purge")}, {"engine"})
    advance(peal, "640d")  # what waited is sent in its time
    equal(states(peal), ["delivered", "waiting"])


def test_a_purged_event_is_a_clean_404(ctx):
    make_trigger(ctx.peal)
    made = ingest(ctx.peal, visit())["items"][0]
    settle(ctx.peal)
    delivery = made["deliveries"][0]["deliveryId"]
    event = ctx.peal.get(f"/v1/deliveries/{delivery}", expect=200).json["eventId"]
    ctx.peal.get(f"/v1/events/{event}/explain", expect=200)
    advance(ctx.peal, "366d")
    for path in (f"/v1/events/{event}", f"/v1/events/{event}/explain",
                 f"/v1/events/{event}/timeline", f"/v1/deliveries/{delivery}",
                 f"/v1/deliveries/{delivery}/attempts"):
        ctx.peal.get(path, expect=404)
    ctx.peal.post(f"/v1/deliveries/{delivery}/retry", {}, expect=404)


def test_a_late_replay_does_not_send_again(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    ingest(ctx.peal, visit(wip="7"))
    settle(ctx.peal)
    advance(ctx.peal, "390d")
    equal(deliveries(ctx.peal), [])
    like(ingest(ctx.peal, visit(wip="7")), {"created": 0, "skipped": 1})
    advance(ctx.peal, "11d")
    like(ingest(ctx.peal, visit(wip="7")), {"created": 1})


def test_the_audit_begins_at_its_anchor_and_is_whole(ctx):
    make_trigger(ctx.peal)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    head = ctx.peal.get("/v1/audit/head", expect=200).json
    advance(ctx.peal, "366d")
    ingest_one(ctx.peal)
    settle(ctx.peal)
    advance(ctx.peal, "1d")
    verdict = ctx.peal.get("/v1/audit/verify", expect=200).json
    like(verdict, {"ok": True})
    anchor = ctx.peal.get("/v1/audit/head", expect=200).json["anchor"]
    assert anchor["seq"] >= head["seq"] - 1, (anchor, head)
    assert min(row["seq"] for row in audit(ctx.peal)) == anchor["seq"] + 1
    equal(ctx.peal.cli("audit", "verify").code, 0)


def test_how_long_is_said_at_the_start(ctx):
    peal = ctx.start(args=("--keep", "30d"))
    make_trigger(peal)
    ingest_one(peal)
    settle(peal)
    advance(peal, "29d")
    equal(len(deliveries(peal)), 1)
    advance(peal, "2d")
    equal(deliveries(peal), [])


def test_a_kill_in_the_middle_of_a_purge_loses_and_leaves_nothing(ctx):
    peal = ctx.peal
    make_trigger(peal, "done", eventKind="done")
    make_trigger(peal, "later", eventKind="later", schedule={"initialDelay": "1000d"})
    ingest(peal, *(visit() for _ in range(4000)), kind="done")
    ingest(peal, *(visit() for _ in range(3)), kind="later")
    settle(peal)
    first = deliveries(peal, "&state=delivered")[-1]["id"]

    def pass_a_year():
        try:
            peal.post("/v1/clock", {"advance": "366d"})
        except OSError:
            pass  # it is killed meanwhile

    passing = threading.Thread(target=pass_a_year)
    passing.start()
    eventually(lambda: peal.get(f"/v1/deliveries/{first}").status == 404)
    peal.kill9()
    passing.join()
    peal.clock = f"manual={moment(days=366)}"
    peal.start()

    def is_over():
        tick(peal)
        return states(peal) == ["pending"] * 3

    eventually(is_over, seconds=60)
    like(peal.get("/v1/kpis", expect=200).json, {"scheduled": 3, "parked": 0})
    eventually(lambda: tick(peal)["purged"] == 0)
    settle(peal)
    equal(purged(peal), ["deliveries: 4000", "events: 4000"])  # once, however often it began
    like(peal.get("/v1/audit/verify", expect=200).json, {"ok": True})


if __name__ == "__main__":
    main()
