"""Sites: a Peal elsewhere takes notifications in, keeps them, and hands them on to central."""
import uuid

from harness import equal, eventually, like, main
from site_peer import Line, Site
from steps import deliveries, make_tenant, make_trigger, make_user


def row(n=1, id=None, kind="event", body=None):
    return {"id": id or str(uuid.uuid4()), "kind": kind, "enqueuedAt": "2026-05-14T05:00:00Z",
            "body": body or {"kind": "boiler.hot", "payload": {"n": n}}}


def forward(site, *rows, expect=200):
    return site.post("/v1/site/forward", {"rows": list(rows)}, expect=expect).json


def outcomes(answer):
    return [told["outcome"] for told in answer["rows"]]


def make_key(peal, expect=201, **members):
    return peal.post("/v1/keys", {"role": "site", "site": "plant-7", **members}, expect=expect)


def test_a_key_names_its_site(ctx):
    made = make_key(ctx.peal, name="of a plant").json
    like(made, {"role": "site", "site": "plant-7", "name": "of a plant"})
    like(ctx.peal.get(f"/v1/keys/{made['id']}", expect=200).json, {"site": "plant-7"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"site": "plant-8"}, expect=200).json,
         {"role": "site", "site": "plant-8"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"role": "read", "site": None}, expect=200).json,
         {"role": "read", "site": None})
    others = [key for key in ctx.peal.get("/v1/keys", expect=200).json["items"] if key["site"]]
    equal(others, [])


def test_a_site_goes_with_its_role_alone(ctx):
    for members in ({"site": None}, {"role": "read"}, {"site": "no/slash"}, {"site": "x" * 101}):
        like(make_key(ctx.peal, expect=422, **members).json["errors"][0], {"path": "/site"})


def test_two_tenants_may_have_sites_of_one_name(ctx):
    other = make_tenant(ctx.peal, "acme")
    for who in (ctx.peal, other, other):
        like(make_key(who).json, {"site": "plant-7"})


def test_what_a_site_hands_on_becomes_an_event(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    sent = row()
    like(forward(site, sent), {"rows": [{"id": sent["id"], "outcome": "accepted"}]})
    made, = deliveries(ctx.peal)
    like(made, {"site": "plant-7", "payload": {"n": 1}})
    event = ctx.peal.get(f"/v1/events/{made['eventId']}", expect=200).json
    like(event, {"kind": "boiler.hot", "occurredAt": "2026-05-14T05:00:00.000Z"})
    equal(len(deliveries(ctx.peal, "&site=plant-7")), 1)
    equal(len(deliveries(ctx.peal, "&site=plant-8")), 0)
    operation = {"action": "cancel", "filter": {"state": "pending", "site": "plant-8"}}
    ctx.peal.post("/v1/operations", operation, expect=202)


def test_the_same_row_again_is_a_duplicate(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    first, second = row(1), row(2)
    equal(outcomes(forward(site, first, second, first)), ["accepted", "accepted", "duplicate"])
    equal(outcomes(forward(site, {**first, "body": {"kind": "other"}})), ["duplicate"])
    equal(len(deliveries(ctx.peal)), 2)


def test_a_wrong_row_is_rejected_alone(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    wrong = [{}, 7, row(kind="mystery"), row(id="no-id"), row(body={"payload": {}}),
             {**row(), "extra": 1}, row(body={"kind": "x", "payload": {"big": "x" * (1 << 20)}})]
    answer = forward(site, row(1), *wrong, row(2))
    equal(outcomes(answer), ["accepted"] + ["rejected"] * len(wrong) + ["accepted"])
    like(answer["rows"][3]["error"], {"path": "/kind"})
    equal(len(deliveries(ctx.peal)), 2)


def test_a_row_cannot_claim_another_site(ctx):
    site = make_user(ctx.peal, "site")
    body = {"list": "ops", "body": "hot", "source": {"site": "plant-8"}}
    answer = forward(site, row(kind="notification", body=body))
    like(answer["rows"][0], {"outcome": "rejected", "error": {"path": "/body/source/site"}})
    forward(ctx.peal.with_key(None), row(), expect=401)
    forward(make_user(ctx.peal, "ingest"), row(), expect=403)


def test_too_many_rows_are_refused_whole(ctx):
    site = make_user(ctx.peal, "site")
    forward(site, *[{}] * 10001, expect=422)
    equal(len(forward(site)["rows"]), 0)


def test_central_tells_its_epoch(ctx):
    site = make_user(ctx.peal, "site")
    told = site.get("/v1/site", expect=200).json
    equal(told["site"], "plant-7")
    equal(forward(site, row())["epoch"]["id"], told["epoch"]["id"])
    ctx.peal.restart()
    again = site.with_key(site.key)
    again.host = ctx.peal.host
    later = again.get("/v1/site", expect=200).json["epoch"]
    equal(later["id"], told["epoch"]["id"])
    assert later["number"] > told["epoch"]["number"]


def events(peal, **query):
    """All events, oldest first."""
    found, cursor = [], None
    while True:
        more = f"&cursor={cursor}" if cursor else ""
        page = peal.get(f"/v1/events?limit=500{more}", expect=200).json
        found += page["items"]
        cursor = page["next"]
        if not cursor:
            return found[::-1]


def numbers(peal):
    """What sites notified of, in the order in which central took it in."""
    return [int(event["payload"]["body"].split()[1]) for event in events(peal)
            if event["kind"] == "notification"]


def joined(ctx, **options):
    """A central, a line to it, and a site at its other end."""
    key = make_user(ctx.peal, "site").key
    line = Line(ctx.peal.host)
    ctx.closers.append(line.close)
    site = Site(ctx, line.url, key, **options)
    ctx.servers.append(site)
    site.key = None
    return site, line


def drained(site):
    return eventually(lambda: not deliveries(site_admin(site), "&state=pending"), 60)


def site_admin(site):
    admin = type(site).__new__(type(site))
    admin.__dict__.update(site.__dict__)
    admin.key = "pk_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
    return admin


def test_a_site_hands_on_what_it_took_in(ctx):
    site, _ = joined(ctx)
    ids = [site.notify(n)["id"] for n in range(5)]
    site.post("/v1/events", {"kind": "boiler.hot", "payload": {"n": 7}}, expect=202)
    eventually(lambda: len(events(ctx.peal)) == 6)
    equal(numbers(ctx.peal), [0, 1, 2, 3, 4])
    like(events(ctx.peal)[-1], {"kind": "boiler.hot", "payload": {"n": 7}})
    like(site.notify(9, id=ids[0]), {"id": ids[0], "duplicate": True})


if __name__ == "__main__":
    main()
