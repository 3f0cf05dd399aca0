"""M4, M5 and M6: templates choose, render and send one message for each channel and name."""
import concurrent.futures
import json

from harness import equal, like, main, run_peal
from steps import advance, attempts, delivery, make_channel, make_tenant, make_user, settle

TYPE = "booking.confirmed"


def template_body(id="confirmed", **members):
    return {"id": id, "eventType": TYPE, "channel": "memory:default", "address": "candidate.guestPhone",
            "body": "Hello {{guestName}}", **members}


def make_template(peal, id="confirmed", **members):
    return peal.post("/v1/templates", template_body(id, **members), expect=201).json


def book(peal, entity="12345", locale=None, kind=TYPE, **payload):
    body = {"kind": kind, "payload": {"guestName": "Ada", "guestPhone": "+919876543210", **payload}}
    if entity:
        body["entity"] = entity
    if locale:
        body["recipient"] = {"locale": locale}
    return peal.post("/v1/events", body, expect=202).json


def captured(peal):
    return peal.get("/v1/captured", expect=200).json["items"]


def said(peal):
    """What every message said, in the order in which they went."""
    settle(peal)
    return [row["body"].get("body", row["body"].get("html")) for row in captured(peal)]


def test_an_active_template_is_a_trigger(ctx):
    make_template(ctx.peal, body='Hello {{guestName}}, see you on {{checkinDate | date:"dd-MMM-yyyy"}}',
                  subject="For {{GUESTNAME}}")
    made = book(ctx.peal, checkinDate="2026-05-15T01:30:00+05:30", guestName="Ada\nX")["deliveries"]
    equal(len(made), 1)
    like(made[0], {"outcome": "created", "triggerId": None,
                   "rule": {"kind": "template", "id": "confirmed", "version": 1}})
    settle(ctx.peal)
    [message] = captured(ctx.peal)
    like(message["body"], {"body": "Hello Ada\nX, see you on 15-May-2026", "subject": "For Ada X",
                           "type": TYPE, "rule": {"kind": "template", "id": "confirmed", "version": 1},
                           "triggerId": None, "address": "+919876543210"})
    shown = delivery(ctx.peal, made[0]["deliveryId"])
    like(shown, {"state": "delivered", "triggerId": None, "entity": "12345",
                 "rule": {"kind": "template", "id": "confirmed", "version": 1}})


def test_one_message_for_each_channel_and_name(ctx):
    make_channel(ctx.peal, "memory:sms")
    make_template(ctx.peal, "a", name="confirmed", body="a")
    make_template(ctx.peal, "b", name="confirmed", body="b", channel="memory:sms")
    make_template(ctx.peal, "c", name="payment", body="c", address="candidate.payer")
    book(ctx.peal, payer="+1")
    equal(sorted(said(ctx.peal)), ["a", "b", "c"])
    equal(sorted(row["address"] for row in captured(ctx.peal)), ["+1", "+919876543210", "+919876543210"])


def test_the_same_message_goes_out_once(ctx):
    make_template(ctx.peal, "en", name="confirmed", body="en")
    make_template(ctx.peal, "ar", name="confirmed", language="ar", body="ar")
    first = book(ctx.peal)["deliveries"]
    again = book(ctx.peal, locale="ar")["deliveries"]  # a changed locale does not send again
    like(again[0], {"outcome": "skipped", "deliveryId": first[0]["deliveryId"]})
    equal(said(ctx.peal), ["en"])
    book(ctx.peal, entity="other", locale="ar-IQ")
    equal(said(ctx.peal), ["en", "ar"])
    # Without an entity an event counts by its own identity.
    book(ctx.peal, entity=None)
    book(ctx.peal, entity=None)
    equal(len(said(ctx.peal)), 4)


def test_a_recipe_makes_another_message_of_the_same_entity(ctx):
    make_template(ctx.peal, dedupRecipe=["candidate.day"])
    for day in (1, 2, 1):
        book(ctx.peal, day=day)
    equal(len(said(ctx.peal)), 2)


def test_simultaneous_events_make_one_message(ctx):
    make_template(ctx.peal)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: book(ctx.peal)["deliveries"][0], range(24)))
    equal(sorted(row["outcome"] for row in answers), ["created"] + ["skipped"] * 23)
    equal(len({row["deliveryId"] for row in answers}), 1)
    equal(len(said(ctx.peal)), 1)


def test_scope_goes_before_language(ctx):
    make_template(ctx.peal, "wide", name="n", body="wide")
    make_template(ctx.peal, "wide-ar", name="n", body="wide-ar", language="ar")
    make_template(ctx.peal, "ten", name="n", body="ten", scope={"path": "candidate.listingId", "value": "10"})
    make_template(ctx.peal, "eleven-fr", name="n", body="eleven-fr", language="fr",
                  scope={"path": "candidate.listingId", "value": 11})
    cases = [({"listingId": 10}, "ar-IQ", "ten"), ({"listingId": 11}, "ar-IQ", "wide-ar"),
             ({"listingId": 11}, "fr-CA", "eleven-fr"), ({"listingId": 12}, "fr", "wide"), ({}, None, "wide")]
    for number, (payload, locale, expected) in enumerate(cases):
        event = book(ctx.peal, entity=str(number), locale=locale, **payload)
        equal(said(ctx.peal)[-1], expected, (payload, locale))
        equal(len(event["deliveries"]), 1)


def test_why_a_template_was_not_chosen_is_told(ctx):
    make_template(ctx.peal, "wide", name="n", body="wide")
    make_template(ctx.peal, "fr", name="n", body="fr", language="fr")
    make_template(ctx.peal, "ten", name="n", body="ten", scope={"path": "candidate.listingId", "value": 10})
    make_template(ctx.peal, "off", body="off", active=False)
    event = book(ctx.peal, listingId=10)
    rows = ctx.peal.get(f"/v1/events/{event['eventId']}/explain", expect=200).json["decisions"]
    told = {row["rule"]["id"]: (row["rule"]["kind"], row["outcome"], row["reason"]) for row in rows}
    equal(told, {"wide": ("template", "filtered", "narrower-scope"), "fr": ("template", "filtered", "other-language"),
                 "ten": ("template", "created", "matched"), "off": ("template", "disabled", "trigger-disabled")})
    event = book(ctx.peal, entity="2", listingId=11)
    rows = ctx.peal.get(f"/v1/events/{event['eventId']}/explain", expect=200).json["decisions"]
    [ten] = [row for row in rows if row["rule"]["id"] == "ten"]
    like(ten, {"outcome": "filtered", "reason": "filter-false", "path": "/scope", "seen": 11, "triggerId": None})


def test_a_delivery_keeps_the_version_that_it_was_made_under(ctx):
    make_template(ctx.peal, body="old", schedule={"initialDelay": "1d"})
    book(ctx.peal)
    ctx.peal.put("/v1/templates/confirmed", template_body(body="new", schedule={"initialDelay": "1d"}), expect=200)
    book(ctx.peal, entity="2")
    advance(ctx.peal, "25h")
    equal(sorted(said(ctx.peal)), ["new", "old"])


def test_missing_values_are_left_empty_or_kept(ctx):
    make_template(ctx.peal, "empty", body="<{{guestNmae}}>")
    make_template(ctx.peal, "keep", body="<{{ guestNmae }}>", missing="keep")
    book(ctx.peal)
    equal(sorted(said(ctx.peal)), ["<>", "<{{ guestNmae }}>"])
    metrics = ctx.peal.get("/metrics", expect=200).text
    assert "peal_placeholders_missing_total 2" in metrics, metrics


def test_html_is_escaped_and_providers_get_their_params(ctx):
    make_template(ctx.peal, format="html", body="<p>{{guestName}}</p>",
                  provider={"template": "booking_ok", "params": ["{{guestName}}", "{{nights}}"]})
    book(ctx.peal, guestName="<script>alert('&')</script>", nights=3)
    settle(ctx.peal)
    [message] = captured(ctx.peal)
    like(message["body"], {"html": "<p>&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;</p>",
                           "provider": {"template": "booking_ok",
                                        "params": ["<script>alert('&')</script>", "3"]}})
    assert "body" not in message["body"], message


def test_what_cannot_be_rendered_is_parked_alone(ctx):
    make_template(ctx.peal, "date", body='{{day | date:"dd"}}')
    make_template(ctx.peal, "plain", body="fine")
    made = {row["rule"]["id"]: row["deliveryId"] for row in book(ctx.peal, day="soon")["deliveries"]}
    equal(said(ctx.peal), ["fine"])
    parked = delivery(ctx.peal, made["date"])
    like(parked, {"state": "parked", "reason": "render-failed", "attemptCount": 1})
    equal(parked["lastError"], '{{day}} is no date: "soon"')
    equal([row["reason"] for row in attempts(ctx.peal, made["date"])], ["render-failed"])


def test_hostile_templates_are_refused_or_end(ctx):
    refused = [{"body": "{{a" * 1000}, {"body": "{{{raw}}}"}, {"body": "{{#each}}"}, {"body": "{{a}}" * 501},
               {"body": "x" * (256 * 1024 + 1)}, {"body": "\x00"}, {"subject": "a\nb"},
               {"provider": {"params": ["x"] * 101}}, {"scope": {"path": "a", "value": {}}},
               {"language": "x" * 36}, {"body": '{{a | date:"' + "y" * 101 + '"}}'}, {"bodyy": "x"}]
    for members in refused:
        response = ctx.peal.post("/v1/templates", template_body(**members))
        assert response.status in (400, 422), (members, response.text)
        assert response.status == 400 or response.json["code"] == "template-invalid", response.text
    response = ctx.peal.post("/v1/templates", template_body(body="x" * (1 << 20)))
    equal(response.status, 413)

    # As much as may be said, of a payload as deep and as wide as may be.
    make_template(ctx.peal, "huge", body="{{a}}" * 500)
    make_template(ctx.peal, "deep", body="{{" + "a" * 200 + "}}")
    deep = "x"
    for _ in range(25):
        deep = {"a": deep, "A": deep if isinstance(deep, str) else None}
    made = {row["rule"]["id"]: row["deliveryId"]
            for row in book(ctx.peal, a="<" * 4096, deep=deep)["deliveries"]}
    settle(ctx.peal)
    like(delivery(ctx.peal, made["huge"]), {"state": "parked", "reason": "render-failed"})
    equal(delivery(ctx.peal, made["deep"])["state"], "delivered")


def test_placeholders_that_nobody_knows_are_warned_of(ctx):
    made = make_template(ctx.peal, body="{{guestName}} {{guestNmae}} {{url}} {{event.id}} {{event.kind}}",
                         declares=["guestName"])
    equal(made["warnings"], [{"placeholder": "guestNmae",
                              "message": f"not declared for {TYPE}, nor seen in its events"}])
    book(ctx.peal, guest={"Phone": "1"})
    made = make_template(ctx.peal, "two", channel="memory:nobody", body="{{guest.phone}} {{guestPhone}} {{url}} {{x}}")
    equal([row["placeholder"] for row in made["warnings"]], [None, "x"])
    equal(made["warnings"][0]["message"], "channel memory:nobody does not exist yet")


def test_a_preview_renders_data_or_an_event(ctx):
    make_template(ctx.peal, subject="{{guestName}}", body="{{guestName}} {{nope}} {{recipient.address}}",
                  provider={"params": {"who": "{{guestName}}"}})
    path = "/v1/templates/confirmed/preview"
    shown = ctx.peal.post(path, {"data": {"guestname": "Bo"}}, expect=200).json
    equal(shown, {"subject": "Bo", "body": "Bo  ", "provider": {"template": None, "params": {"who": "Bo"}},
                  "warnings": [{"placeholder": "nope", "message": "has no value"},
                               {"placeholder": "recipient.address", "message": "has no value"}]})
    event = ctx.peal.post("/v1/events", {"kind": "any", "payload": {"guestName": "Cy"},
                                         "recipient": {"address": "+919876543210"}}, expect=202).json["eventId"]
    equal(ctx.peal.post(path, {"eventId": event}, expect=200).json["body"], "Cy  +919876543210")
    reader = make_user(ctx.peal, "read")
    equal(reader.post(path, {"eventId": event}, expect=200).json["body"], "Cy  ***10")
    for body in ({}, {"data": {}, "eventId": event}, {"data": []}):
        equal(ctx.peal.post(path, body).status, 422, body)
    ctx.peal.post("/v1/templates/nobody/preview", {"data": {}}, expect=404)
    ctx.peal.post(path, {"eventId": "0197f3c0-0000-7000-8000-000000000000"}, expect=404)
    stranger = make_tenant(ctx.peal, "acme")
    stranger.post(path, {"data": {}}, expect=404)
    stranger.post("/v1/templates", template_body(), expect=201)
    stranger.post(path, {"eventId": event}, expect=404)


def test_templates_are_listed_by_what_they_are(ctx):
    make_channel(ctx.peal, "memory:sms")
    for number in range(12):
        make_template(ctx.peal, f"t-{number:02}", eventType="k1" if number % 3 else "k2", active=number % 2 == 0,
                      channel="memory:sms" if number % 4 == 0 else "memory:default")

    def listed(query, limit=50):
        found, cursor = [], ""
        while cursor is not None:
            page = ctx.peal.get(f"/v1/templates?limit={limit}{query}{cursor}", expect=200).json
            found += [row["id"] for row in page["items"]]
            cursor = page["next"] and f"&cursor={page['next']}"
        return found

    equal(len(listed("")), 12)
    equal(listed("&eventType=k2"), ["t-00", "t-03", "t-06", "t-09"])
    equal(listed("&eventType=k2&active=true", limit=1), ["t-00", "t-06"])
    equal(listed("&channel=memory:sms&eventType=k1"), ["t-04", "t-08"])
    equal(listed("&channel=nobody"), [])


def test_deleting_deactivates(ctx):
    make_template(ctx.peal)
    ctx.peal.delete("/v1/templates/confirmed", expect=204)
    like(ctx.peal.get("/v1/templates/confirmed", expect=200).json, {"active": False, "version": 2})
    equal(book(ctx.peal)["deliveries"], [])
    ctx.peal.patch("/v1/templates/confirmed", {"active": True}, expect=200)
    equal(len(book(ctx.peal)["deliveries"]), 1)
    ctx.peal.delete("/v1/templates/confirmed", expect=204)
    ctx.peal.delete("/v1/templates/confirmed", expect=204)  # and then it is gone
    ctx.peal.get("/v1/templates/confirmed", expect=404)
    ctx.peal.delete("/v1/templates/confirmed", expect=404)


def test_an_event_calls_messages_off(ctx):
    make_template(ctx.peal, schedule={"initialDelay": "1h"},
                  cancelOn={"eventKind": "booking.cancelled", "match": ["event.entity"]})
    made = book(ctx.peal)["deliveries"][0]
    book(ctx.peal, kind="booking.cancelled")
    advance(ctx.peal, "2h")
    like(delivery(ctx.peal, made["deliveryId"]), {"state": "cancelled", "reason": "called-off"})


def test_a_trigger_and_a_template_may_share_an_id(ctx):
    make_template(ctx.peal, "both")
    ctx.peal.post("/v1/triggers", {"id": "both", "eventKind": TYPE, "channel": "memory:default"}, expect=201)
    kinds = sorted(row["rule"]["kind"] for row in book(ctx.peal)["deliveries"])
    equal(kinds, ["template", "trigger"])
    ctx.peal.delete("/v1/triggers/both", expect=204)
    equal([row["rule"]["kind"] for row in book(ctx.peal, entity="2")["deliveries"]], ["template"])


def test_tenants_have_their_own(ctx):
    stranger = make_tenant(ctx.peal, "acme")
    make_template(ctx.peal)
    stranger.get("/v1/templates/confirmed", expect=404)
    stranger.put("/v1/templates/confirmed", template_body(), expect=404)
    stranger.patch("/v1/templates/confirmed", {"active": False}, expect=404)
    stranger.delete("/v1/templates/confirmed", expect=404)
    equal(stranger.get("/v1/templates", expect=200).json["items"], [])
    equal(book(stranger)["deliveries"], [])
    equal(len(book(ctx.peal)["deliveries"]), 1)


def test_a_template_is_rendered_without_a_server(ctx):
    data = ctx.write("data.json", json.dumps({"guest": {"Name": "Ada & Co"}}))
    text = ctx.write("bare.txt", "Hello {{guestName}}{{nope}}\n")
    ran = run_peal("template", "render", text, data)
    equal((ran.code, ran.out, "{{nope}} has no value" in ran.err), (0, "Hello Ada & Co\n", True))
    whole = ctx.write("whole.json", json.dumps(template_body(format="html", body="<b>{{guest.name}}", subject="S")))
    ran = run_peal("template", "render", whole, data, "--json")
    equal((ran.code, json.loads(ran.out)), (0, {"subject": "S", "body": "<b>Ada &amp; Co", "missing": []}))
    equal(run_peal("template", "render", ctx.write("bad.txt", "{{guestName"), data).code, 2)
    equal(run_peal("template", "render", ctx.write("date.txt", '{{guestName | date:"d"}}'), data).code, 2)


def test_the_command_line_keeps_templates(ctx):
    file = ctx.write("confirmed.json", json.dumps(template_body()))
    equal(ctx.peal.cli("templates", "create", "-f", file).code, 0)
    ran = ctx.peal.cli("templates")
    assert "confirmed" in ran.out and TYPE in ran.out, ran.out
    equal(ctx.peal.cli("templates", "set", "confirmed", "active=false").code, 0)
    equal(ctx.peal.get("/v1/templates/confirmed", expect=200).json["active"], False)
    equal(ctx.peal.cli("templates", "delete", "confirmed").code, 0)
    equal(ctx.peal.cli("templates", "show", "confirmed").code, 3)


if __name__ == "__main__":
    main()
