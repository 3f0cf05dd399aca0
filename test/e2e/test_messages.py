"""M6, M10 and M12: the messages of an entity: listed, sent again, called off."""
import concurrent.futures
import json

from harness import equal, like, main
from steps import advance, deliveries, make_channel, make_tenant, make_user, settle
from test_templates import TYPE, book, captured, make_template, said


def messages(peal, entity="12345", query=""):
    return peal.get(f"/v1/messages?entity={entity}{query}", expect=200).json["items"]


def resend(peal, expect=202, **members):
    body = {"entity": "12345", "channel": "memory:default", **members}
    return peal.post("/v1/messages/resend", body, expect=expect).json


def test_the_messages_of_an_entity_are_told(ctx):
    make_template(ctx.peal, "confirmed-wa", name="confirmed", schedule={"initialDelay": "1h"})
    ctx.peal.post("/v1/triggers", {"id": "other", "eventKind": TYPE, "channel": "memory:default"}, expect=201)
    ctx.peal.post("/v1/events", {"kind": TYPE, "entity": "12345", "correlationId": "c-1",
                                 "payload": {"guestName": "Ada", "guestPhone": "+919876543210"}}, expect=202)
    book(ctx.peal, entity="other")
    [one] = messages(ctx.peal)  # what a trigger made is no message
    like(one, {"entity": "12345", "eventType": TYPE, "channel": "memory:default", "template": "confirmed",
               "templateId": "confirmed-wa", "templateVersion": 1, "address": "+91******3210", "status": "Pending",
               "sentAt": None, "attemptCount": 0, "lastError": None, "provider": "memory", "correlationId": "c-1",
               "idempotencyKey": f"12345:{TYPE}:memory:default:confirmed", "requestedBy": None})
    advance(ctx.peal, "2h")
    [one] = messages(ctx.peal)
    like(one, {"status": "Sent", "attemptCount": 1})
    assert one["sentAt"] and one["providerMessageId"].startswith("mem-"), one
    equal([row["status"] for row in messages(ctx.peal, query="&status=Sent")], ["Sent"])
    equal(messages(ctx.peal, query="&status=Failed"), [])
    equal(messages(ctx.peal, query="&channel=memory:nobody"), [])
    equal(len(ctx.peal.get("/v1/messages", expect=200).json["items"]), 2)


def test_one_is_shown_by_its_id_and_by_the_command(ctx):
    make_template(ctx.peal, "confirmed")
    ctx.peal.post("/v1/triggers", {"id": "other", "eventKind": TYPE, "channel": "memory:default"}, expect=201)
    book(ctx.peal)
    settle(ctx.peal)
    [one] = messages(ctx.peal)
    equal(ctx.peal.get(f"/v1/messages/{one['id']}", expect=200).json, {**one, "warnings": []})
    [other] = (row["id"] for row in deliveries(ctx.peal) if row["id"] != one["id"])
    ctx.peal.get(f"/v1/messages/{other}", expect=404)  # a trigger made it
    make_tenant(ctx.peal, "acme").get(f"/v1/messages/{one['id']}", expect=404)
    ran = ctx.peal.cli("messages", "--entity", "12345", "--status", "Sent")
    assert ran.code == 0 and one["id"] in ran.out and other not in ran.out, ran
    equal(json.loads(ctx.peal.cli("messages", "show", one["id"], "--json").out), {**one, "warnings": []})
    equal(ctx.peal.cli("messages", "show", other).code, ctx.peal.cli("deliveries", "show", "x").code)


def test_a_missing_placeholder_is_told_with_its_message(ctx):
    make_template(ctx.peal, "lost", body="{{guestName}}, your room is {{room.number}}; {{room.number}}, {{url}}")
    book(ctx.peal)
    settle(ctx.peal)
    [one] = messages(ctx.peal)
    equal(one["status"], "Sent")
    shown = ctx.peal.get(f"/v1/messages/{one['id']}", expect=200).json
    equal([(row["placeholder"], row["message"]) for row in shown["warnings"]],
          [("room.number", "has no value"), ("url", "has no value")])  # nobody set --url-template


def test_every_status_has_its_word(ctx):
    make_template(ctx.peal, "bad", body='{{guestName | date:"dd"}}')
    make_template(ctx.peal, "later", schedule={"initialDelay": "1d"})
    book(ctx.peal)
    settle(ctx.peal)
    equal({row["template"]: (row["status"], row["reason"]) for row in messages(ctx.peal)},
          {"bad": ("Failed", "render-failed"), "later": ("Pending", None)})
    equal([row["lastError"] for row in messages(ctx.peal, query="&status=Failed")], ['{{guestName}} is no date: "Ada"'])
    ctx.peal.post("/v1/entities/12345/cancel", expect=200)
    equal(sorted(row["status"] for row in messages(ctx.peal)), ["Cancelled", "Failed"])


def test_addresses_are_masked(ctx):
    make_template(ctx.peal)
    cases = [("+919876543210", "+91******3210", "***10"), ("ada@example.org", "a***@example.org", "***@example.org"),
             ("12345678", "***", "***78"), ("größe-12345", "***", "***45"), (None, None, None)]
    reader = make_user(ctx.peal, "read")
    for number, (address, shown, read) in enumerate(cases):
        book(ctx.peal, entity=f"m{number}", guestPhone=address)
        equal(messages(ctx.peal, f"m{number}")[0]["address"], shown)
        equal(messages(reader, f"m{number}")[0]["address"], read)


def test_a_person_has_it_sent_again(ctx):
    make_template(ctx.peal, "confirmed-wa", name="confirmed", schedule={"initialDelay": "1d"})
    book(ctx.peal)
    book(ctx.peal, guestName="Bo")  # skipped, and yet the newest that is known
    advance(ctx.peal, "25h")
    equal(said(ctx.peal), ["Hello Ada"])
    operator = make_user(ctx.peal, "operator")
    answer = resend(operator, template="confirmed")
    [row] = answer["items"]
    equal(row["idempotencyKey"], f"manual:12345:memory:default:confirmed:{answer['requestId']}")
    assert row["requestedBy"], row
    equal(said(ctx.peal), ["Hello Ada", "Hello Bo"])  # at once, whatever the plan's delay
    told = messages(ctx.peal)
    equal([bool(one["requestedBy"]) for one in told], [True, False])
    equal(told[0]["id"], row["id"])
    keys = {key["id"]: key["role"] for key in ctx.peal.get("/v1/keys", expect=200).json["items"]}
    equal(keys[row["requestedBy"]], "operator")
    book(ctx.peal)  # the event itself still counts as sent
    equal(len(said(ctx.peal)), 2)


def test_a_request_is_carried_out_once(ctx):
    make_template(ctx.peal)
    book(ctx.peal)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: resend(ctx.peal, requestId="r-1"), range(12)))
    equal(len({answer["items"][0]["id"] for answer in answers}), 1)
    equal(len(said(ctx.peal)), 2)
    resend(ctx.peal, requestId="r-2")
    equal(len(said(ctx.peal)), 3)
    equal(len(messages(ctx.peal)), 3)


def test_it_is_sent_where_nothing_was_before(ctx):
    event = book(ctx.peal)
    equal(event["deliveries"], [])
    make_channel(ctx.peal, "memory:sms")
    make_template(ctx.peal, "one")
    make_template(ctx.peal, "two", body="two {{guestName}}")
    make_template(ctx.peal, "ar", name="two", language="ar", body="ar")
    make_template(ctx.peal, "off", active=False)
    make_template(ctx.peal, "sms", channel="memory:sms")
    make_template(ctx.peal, "other", eventType="other")
    equal(sorted(row["templateId"] for row in resend(ctx.peal)["items"]), ["one", "two"])
    equal(sorted(said(ctx.peal)), ["Hello Ada", "two Ada"])
    equal([row["templateId"] for row in resend(ctx.peal, template="one")["items"]], ["one"])
    equal([row["channel"] for row in resend(ctx.peal, channel="memory:sms")["items"]], ["memory:sms"])


def test_what_cannot_be_resent_is_told(ctx):
    make_template(ctx.peal)
    book(ctx.peal)
    resend(ctx.peal, entity="nobody", expect=404)
    resend(ctx.peal, template="nobody", expect=404)
    resend(ctx.peal, channel="memory:nobody", expect=404)
    make_template(ctx.peal, "ar", name="ar", language="ar")  # one that the event's language does not choose
    equal("language and scope" in resend(ctx.peal, template="ar", expect=404)["detail"], True)
    for body in ({}, {"entity": "12345"}, {"entity": "12345", "channel": "x", "who": 1}, {"entity": 5, "channel": "x"}):
        equal(ctx.peal.post("/v1/messages/resend", body).status, 422, body)
    equal(make_user(ctx.peal, "read").post("/v1/messages/resend", {}).status, 403)
    equal(len(messages(ctx.peal)), 1)


def test_what_is_unsent_is_called_off(ctx):
    make_channel(ctx.peal, "memory:sms")
    make_template(ctx.peal, "now", body="now")
    make_template(ctx.peal, "later", schedule={"initialDelay": "1d"})
    make_template(ctx.peal, "sms", channel="memory:sms", schedule={"initialDelay": "1d"})
    make_template(ctx.peal, "paid", eventType="paid", schedule={"initialDelay": "1d"})
    book(ctx.peal, entity="a:1")
    book(ctx.peal, entity="a:1", kind="paid")
    book(ctx.peal, entity="b")
    equal(sorted(set(said(ctx.peal))), ["now"])
    path = "/v1/entities/a:1/cancel"
    like(ctx.peal.post(path, {"channel": "memory:sms"}, expect=200).json, {"cancelled": 1, "complete": True})
    like(ctx.peal.post(path, {"eventKind": TYPE}, expect=200).json, {"cancelled": 1})
    like(ctx.peal.post(path, {"channel": "memory:nobody"}, expect=200).json, {"cancelled": 0})
    like(ctx.peal.post(path, expect=200).json, {"cancelled": 1})
    like(ctx.peal.post(path, expect=200).json, {"cancelled": 0})
    equal(sorted(row["status"] for row in messages(ctx.peal, "a:1")), ["Cancelled"] * 3 + ["Sent"])
    equal(sorted(row["status"] for row in messages(ctx.peal, "b")), ["Pending", "Pending", "Sent"])


def test_tenants_do_not_meet(ctx):
    stranger = make_tenant(ctx.peal, "acme")
    make_template(ctx.peal, schedule={"initialDelay": "1d"})
    book(ctx.peal)
    equal(messages(stranger), [])
    resend(stranger, expect=404)
    stranger.post("/v1/entities/12345/cancel", expect=404)
    equal([row["status"] for row in messages(ctx.peal)], ["Pending"])
    # The same key in another tenant is another message.
    make_template(stranger)
    equal([row["outcome"] for row in book(stranger)["deliveries"]], ["created"])
    equal([len(messages(who)) for who in (stranger, ctx.peal)], [1, 1])


if __name__ == "__main__":
    main()
