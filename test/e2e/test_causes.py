"""What deliveries fail of, told apart; and acted on, one cause at a time."""
import json

from harness import equal, eventually, like, main
from steps import (advance, deliveries, delivery, ingest, make_tenant, make_trigger, make_user,
                   settle, visit)

TROUBLE = {"login": (401, '{"error":"login refused","request":"req_81bc%04d"}'),
           "gone": (404, "no mailbox for user%d@mail.example"),
           "busy": (503, "queue full, %d waiting")}


def make_channels(ctx, peal, retry_max=0):
    """A channel for each trouble; each answer is worded a little differently."""
    retry = {"policy": "fixed", "interval": "1m", "max": retry_max}
    for name in TROUBLE:
        receiver = ctx.receiver()
        peal.post("/v1/channels", {"key": f"http:{name}", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
        make_trigger(peal, name, channel=f"http:{name}", retry=retry)
        status, text = TROUBLE[name]
        for number in range(40):
            receiver.answer_next(status=status, body=(text % (number * 7)).encode())
    return peal


def causes(peal, state="parked", query=""):
    return peal.get(f"/v1/causes?state={state}{query}", expect=200).json


def by_channel(page):
    return {item["channel"]: item for item in page["items"]}


def fail_some(ctx, count=5, **options):
    make_channels(ctx, ctx.peal, **options)
    ingest(ctx.peal, *(visit() for _ in range(count)))
    settle(ctx.peal)


def test_what_is_parked_is_told_by_its_cause(ctx):
    fail_some(ctx)
    page = causes(ctx.peal)
    like(page, {"next": None, "complete": True})
    found = by_channel(page)
    equal(set(found), {"http:login", "http:gone", "http:busy"})
    equal({item["count"] for item in page["items"]}, {5})
    like(found["http:login"], {"reason": "refused", "code": 401})
    equal(found["http:login"]["sample"], '{"error":"login refused","request":"<id>"}')
    equal(found["http:gone"]["sample"], "no mailbox for <address>")
    equal(found["http:busy"]["sample"], "queue full, # waiting")
    made = [row["triggeredAt"] for row in deliveries(ctx.peal, "&channel=http:gone")]
    like(found["http:gone"], {"oldest": min(made), "newest": max(made)})
    for item in page["items"]:
        equal(item["filter"], {"state": "parked", "cause": item["cause"]})
    equal(causes(ctx.peal, "retrying")["items"], [])


def test_its_filter_selects_exactly_its_deliveries(ctx):
    fail_some(ctx)
    gone = by_channel(causes(ctx.peal))["http:gone"]
    listed = deliveries(ctx.peal, f"&state=parked&cause={gone['cause']}")
    equal({row["channel"] for row in listed}, {"http:gone"})
    equal(len(listed), 5)
    for dry in (True, False):
        begun = ctx.peal.post("/v1/operations", {"action": "discard", "filter": gone["filter"],
                                                 "dryRun": dry}, expect=202).json
        settle(ctx.peal)
        done = eventually(lambda: (row := ctx.peal.get(f"/v1/operations/{begun['id']}").json)
                          ["state"] == "done" and row)
        equal(done["matched"], 5)
    equal({delivery(ctx.peal, row["id"])["state"] for row in listed}, {"discarded"})
    equal(set(by_channel(causes(ctx.peal))), {"http:login", "http:busy"})
    equal(len(deliveries(ctx.peal, "&state=parked")), 10)


def test_what_is_retried_has_a_cause_until_it_is_settled(ctx):
    fail_some(ctx, count=3, retry_max=5)
    equal(set(by_channel(causes(ctx.peal))), {"http:login", "http:gone"})  # for good
    busy = causes(ctx.peal, "retrying")["items"]
    equal([(item["channel"], item["count"]) for item in busy], [("http:busy", 3)])
    like(busy[0], {"code": 503, "sample": "queue full, # waiting",
                   "filter": {"state": "retrying", "cause": busy[0]["cause"]}})
    equal(len(deliveries(ctx.peal, f"&state=retrying&cause={busy[0]['cause']}")), 3)
    # The same answer again is the same cause; a better one ends it.
    advance(ctx.peal, "1m")
    equal(causes(ctx.peal, "retrying")["items"][0]["cause"], busy[0]["cause"])
    begun = ctx.peal.post("/v1/operations", {"action": "cancel", "filter": busy[0]["filter"]},
                          expect=202).json
    settle(ctx.peal)
    eventually(lambda: ctx.peal.get(f"/v1/operations/{begun['id']}").json["state"] == "done")
    equal(causes(ctx.peal, "retrying")["items"], [])
    equal(len(deliveries(ctx.peal, "&state=cancelled")), 3)


def test_a_delivery_that_recovers_has_no_cause(ctx):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, channel="http:out", schedule={"reminders": ["1d"]}, awaitAnswer=True)
    receiver.answer_next(status=503)
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    equal(len(causes(ctx.peal, "retrying")["items"]), 1)
    advance(ctx.peal, "10m")
    equal([row["state"] for row in deliveries(ctx.peal)], ["waiting"])
    equal(causes(ctx.peal, "retrying")["items"], [])


def test_what_was_never_tried_has_a_cause_too(ctx):
    make_trigger(ctx.peal, channel="http:nowhere")
    ingest(ctx.peal, visit(), visit())
    settle(ctx.peal)
    item, = causes(ctx.peal)["items"]
    like(item, {"reason": "no-channel", "code": None, "sample": None, "count": 2,
                "channel": "http:nowhere"})


def test_pages_go_on(ctx):
    for n in range(7):
        make_trigger(ctx.peal, f"t{n}", channel=f"http:none{n}")
    ingest(ctx.peal, visit(), visit())
    settle(ctx.peal)
    found, cursor = [], ""
    while True:
        page = causes(ctx.peal, "parked", f"&limit=3{cursor}")
        assert len(page["items"]) <= 3, page
        found += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    equal(sorted(item["channel"] for item in found), [f"http:none{n}" for n in range(7)])
    equal(len({item["cause"] for item in found}), 7)
    equal({item["count"] for item in found}, {2})


def test_tenants_see_their_own(ctx):
    fail_some(ctx, count=1)
    equal(causes(make_tenant(ctx.peal, "acme"))["items"], [])
    equal(len(causes(make_user(ctx.peal, "read"))["items"]), 3)
    equal(make_user(ctx.peal, "ingest").get("/v1/causes").status, 403)


def test_what_is_no_cause_is_refused(ctx):
    fail_some(ctx, count=1)
    cause = causes(ctx.peal)["items"][0]["cause"]
    for query in (f"cause={cause}", f"state=pending&cause={cause}", "state=parked&cause=x",
                  "state=parked&cause=" + "0" * 16):
        equal(ctx.peal.get(f"/v1/deliveries?{query}").status, 422, query)
    body = {"action": "retry", "filter": {"cause": "nonsense"}}
    equal(ctx.peal.post("/v1/operations", body).status, 422)
    for query in ("state=delivered", "state=", "channel=x"):
        assert ctx.peal.get(f"/v1/causes?{query}").status in (200, 422), query
    equal(ctx.peal.get("/v1/causes?cursor=AAAA").status, 400)
    equal(deliveries(ctx.peal, "&state=parked&cause=" + "1" * 16), [])


def test_the_command_line_tells_how_to_act(ctx):
    fail_some(ctx, count=4)
    ran = ctx.peal.cli("causes")
    equal(ran.code, 0, ran.err)
    assert "4  http:gone  refused 404  since 2026-05-14T05:12:34.000Z\n" in ran.out, ran.out
    assert "\n    no mailbox for <address>\n" in ran.out, ran.out
    gone = by_channel(causes(ctx.peal))["http:gone"]["cause"]
    command = f"deliveries discard --cause {gone}"
    assert f"    peal {command}\n" in ran.out, ran.out
    ran = ctx.peal.cli(*command.split())
    equal(ran.code, 0, ran.err)
    equal({row["channel"] for row in deliveries(ctx.peal, "&state=discarded")}, {"http:gone"})
    assert "http:gone" not in ctx.peal.cli("causes").out
    listed = ctx.peal.cli("deliveries", "--state", "parked", "--cause",
                          by_channel(causes(ctx.peal))["http:busy"]["cause"])
    equal(listed.out.count("http:busy"), 4)
    equal(ctx.peal.cli("causes", "--state", "retrying").out, "Nothing is retried.\n")
    equal(ctx.peal.cli("causes", "--state", "waiting").code, 2)
    equal(len(json.loads(ctx.peal.cli("causes", "--json").out)["items"]), 2)


if __name__ == "__main__":
    main()
