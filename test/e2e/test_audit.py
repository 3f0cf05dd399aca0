"""The audit: what happened is sealed into a chain, listed, and any change of it is found."""
from harness import equal, eventually, like, main
from steps import advance, deliveries, ingest, make_tenant, make_trigger, make_user, settle, visit


def audit(peal, query=""):
    """All rows, oldest first."""
    rows, cursor = [], ""
    while True:
        page = peal.get(f"/v1/audit?limit=500{query}{cursor}", expect=200).json
        rows += page["items"]
        if page["next"] is None:
            return rows[::-1]
        cursor = f"&cursor={page['next']}"


def verify(peal):
    return peal.get("/v1/audit/verify", expect=200).json


def of_delivery(peal, delivery):
    return audit(peal, f"&delivery={delivery}")


def send_one(ctx, **payload):
    ingest(ctx.peal, visit(**payload))
    settle(ctx.peal)
    return deliveries(ctx.peal)[0]["id"]


def test_a_plain_delivery_leaves_its_trail(ctx):
    make_trigger(ctx.peal)
    row = send_one(ctx)
    trail = of_delivery(ctx.peal, row)
    equal([(item["kind"], item["status"]) for item in trail],
          [("Delivery.Created", "Enqueued"), ("Delivery.Attempt", "Success"),
           ("Delivery.Terminal", "Delivered")])
    like(trail[1], {"actor": "engine", "channel": "memory:default", "detail": {"attempt": 1}})
    equal(len({item["target"] for item in trail}), 1)
    everything = audit(ctx.peal)
    equal([item["seq"] for item in everything], list(range(1, len(everything) + 1)))
    equal(len({item["eventId"] for item in everything}), len(everything))
    verdict = verify(ctx.peal)
    like(verdict, {"ok": True, "rows": len(everything), "head": everything[-1]["hash"]})


if __name__ == "__main__":
    main()
