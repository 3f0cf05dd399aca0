"""M7: what recipients do not want is not sent, and what they want another way goes there."""
from urllib.parse import quote

from harness import equal, like, main
from steps import ADDRESS, advance, delivery, ingest_one, make_channel, make_tenant, make_trigger, make_user, settle
from test_templates import book, captured, make_template

PHONE = "+919876543210"


def prefer(peal, address=PHONE, **members):
    return peal.put("/v1/preferences", {"address": address, **members}, expect=200).json


def path(address=PHONE):
    return f"/v1/preferences?address={quote(address, safe='')}"


def only(answer):
    [made] = answer["deliveries"]
    return made["deliveryId"]


def test_preferences_are_kept_by_address(ctx):
    made = prefer(ctx.peal, "+91 (98765) 43-210", optOut=["sms"], channel={"whatsapp:a": "memory:sms"})
    like(made, {"address": "+91 (98765) 43-210", "optOut": ["sms"], "channel": {"whatsapp:a": "memory:sms"}})
    equal(ctx.peal.get(path(), expect=200).json, made)
    like(prefer(ctx.peal), {"address": PHONE, "optOut": [], "channel": {}})
    like(ctx.peal.get(path("+91-98765-43210"), expect=200).json, {"optOut": []})
    equal(make_user(ctx.peal, "read").get(path(), expect=200).json["address"], "***10")
    prefer(ctx.peal, "Jo-Ann@Example.org", optOut=["email"])
    equal(ctx.peal.get(path("jo-ann@example.ORG"), expect=200).json["optOut"], ["email"])
    ctx.peal.get(path("joann@example.org"), expect=404)  # somebody else
    ctx.peal.delete(path(), expect=204)
    ctx.peal.delete(path(), expect=404)
    ctx.peal.get(path(), expect=404)
    equal(ctx.peal.get("/v1/preferences", expect=200).json["items"][0]["address"], "Jo-Ann@Example.org")
    for body in ({}, {"address": ""}, {"address": "x", "optOut": "sms"}, {"address": "x", "optOut": [1]},
                 {"address": "x", "optOut": ["*"]}, {"address": "x", "optOut": ["sms "]},
                 {"address": "x", "channel": {"a": 1}}, {"address": "x", "optout": []}, {"address": "--"}):
        equal(ctx.peal.put("/v1/preferences", body).status, 422, body)


def test_who_opted_out_gets_nothing(ctx):
    make_template(ctx.peal)
    prefer(ctx.peal, optOut=["memory"])
    id = only(book(ctx.peal))
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "cancelled", "reason": "opted-out", "attemptCount": 0})
    [told] = ctx.peal.get("/v1/messages?entity=12345", expect=200).json["items"]
    like(told, {"status": "Cancelled", "reason": "opted-out"})
    equal(captured(ctx.peal), [])
    # Others do, and he does by another channel.
    make_channel(ctx.peal, "memory:sms")
    prefer(ctx.peal, optOut=["memory:default"])
    make_template(ctx.peal, "sms", channel="memory:sms")
    book(ctx.peal, entity="2")
    book(ctx.peal, entity="3", guestPhone="+15550000000")
    settle(ctx.peal)
    equal(sorted((row["channel"], row["address"]) for row in captured(ctx.peal)),
          [("memory:default", "+15550000000"), ("memory:sms", "+15550000000"), ("memory:sms", PHONE)])


def test_it_is_asked_before_each_send(ctx):
    """Made before he opted out, a reminder of a trigger's delivery included."""
    make_template(ctx.peal, schedule={"initialDelay": "1d"})
    make_trigger(ctx.peal, schedule={"reminders": ["2d"]})
    message = only(book(ctx.peal))
    invitation = ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(delivery(ctx.peal, invitation)["state"], "waiting")
    prefer(ctx.peal, optOut=["memory:default"])
    prefer(ctx.peal, ADDRESS.replace(" ", "-"), optOut=["memory"])
    advance(ctx.peal, "3d")
    like(delivery(ctx.peal, message), {"state": "cancelled", "reason": "opted-out"})
    like(delivery(ctx.peal, invitation), {"state": "cancelled", "reason": "opted-out", "attemptCount": 1})
    equal(len(captured(ctx.peal)), 1)


def test_another_channel_stands_in(ctx):
    make_channel(ctx.peal, "memory:sms")
    make_template(ctx.peal)
    make_trigger(ctx.peal)
    first = only(book(ctx.peal))
    prefer(ctx.peal, channel={"memory:default": "memory:sms"})
    prefer(ctx.peal, ADDRESS, channel={"memory:default": "memory:sms", "x": "y"})
    second = only(book(ctx.peal, entity="2"))
    again = book(ctx.peal)["deliveries"]  # the key is of the template's channel
    equal([row["outcome"] for row in again], ["skipped"])
    invitation = ingest_one(ctx.peal)
    settle(ctx.peal)
    equal([delivery(ctx.peal, id)["channel"] for id in (first, second, invitation)],
          ["memory:default", "memory:sms", "memory:sms"])
    # The one that stands in may be opted out of, too; and one that is not there parks.
    prefer(ctx.peal, channel={"memory:default": "memory:sms"}, optOut=["memory:sms"])
    like(delivery_of(ctx.peal, "3"), {"state": "cancelled", "channel": "memory:sms"})
    prefer(ctx.peal, channel={"memory:default": "memory:nobody"})
    like(delivery_of(ctx.peal, "4"), {"state": "parked", "reason": "no-channel"})
    # A wish for something else leaves the way as it is, also where something has no channel at all.
    prefer(ctx.peal, channel={"email:other": "memory:sms"})
    ctx.peal.post("/v1/notifications", {"list": "nobody", "body": "x"}, expect=202)
    like(delivery_of(ctx.peal, "5"), {"state": "delivered", "channel": "memory:default"})
    ctx.peal.delete(path(), expect=204)
    like(delivery_of(ctx.peal, "6"), {"state": "delivered", "channel": "memory:default"})


def delivery_of(peal, entity):
    id = only(book(peal, entity=entity))
    settle(peal)
    return delivery(peal, id)


def test_tenants_do_not_meet(ctx):
    stranger = make_tenant(ctx.peal, "acme")
    prefer(stranger, optOut=["memory"], channel={"memory:default": "memory:sms"})
    ctx.peal.get(path(), expect=404)
    ctx.peal.delete(path(), expect=404)
    make_template(ctx.peal)
    prefer(ctx.peal, "somebody else", optOut=["memory"])
    like(delivery_of(ctx.peal, "1"), {"state": "delivered", "channel": "memory:default"})


if __name__ == "__main__":
    main()
