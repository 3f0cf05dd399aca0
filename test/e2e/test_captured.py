"""What was captured, part by part; and what recipients want, as a list."""
import email
import email.policy

from harness import equal, eventually, like, main
from steps import ingest_one, make_channel, make_tenant, make_trigger, make_user, settle, visit
from test_dev import Dev

HTML = "<h1>Hi {{name}}</h1><img src=\"https://evil.example/x.png\"><script>alert(1)</script>"


def make_mail(peal, **members):
    peal.post("/v1/templates", {"id": "own", "eventType": "own", "channel": "memory:default", "address": "recipient.address",
                                "subject": "For {{name}}", "body": HTML, "format": "html", **members}, expect=201)
    made = peal.post("/v1/events", {"kind": "own", "payload": {"name": "Zoë"}, "recipient": {"address": "ada@example.org"}},
                     expect=202).json
    settle(peal)
    return made["deliveries"][0]["deliveryId"]


def test_a_message_is_shown_with_its_parts(ctx):
    id = make_mail(ctx.peal)
    shown = ctx.peal.get(f"/v1/captured/{id}", expect=200).json
    like(shown, {"deliveryId": id, "channel": "memory:default", "type": "memory", "attempt": 1, "to": ["ada@example.org"],
                 "subject": "For Zoë", "request": None})
    assert "<h1>Hi Zoë</h1>" in shown["html"], shown
    [row] = ctx.peal.get("/v1/captured", expect=200).json["items"]
    equal(shown["body"], row["body"])
    equal(ctx.peal.get(f"/v1/captured/{id}?attempt=1", expect=200).json, shown)
    ctx.peal.get(f"/v1/captured/{id}?attempt=2", expect=404)
    equal(make_user(ctx.peal, "read").get(f"/v1/captured/{id}", expect=200).json["to"], ["***@example.org"])
    make_tenant(ctx.peal, "acme").get(f"/v1/captured/{id}", expect=404)


def test_a_mail_is_shown_as_one_and_can_do_nothing(ctx):
    id = make_mail(ctx.peal)
    page = ctx.peal.get(f"/v1/captured/{id}/html", expect=200)
    assert "<h1>Hi Zoë</h1>" in page.text, page.text
    assert page.headers["Content-Type"].startswith("text/html"), page.headers
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;"), policy
    assert "allow-" not in policy and "script-src" not in policy, policy
    equal(page.headers["Referrer-Policy"], "no-referrer")
    ctx.peal.with_key(None).get(f"/v1/captured/{id}/html", expect=401)


def test_a_plain_text_is_shown_as_one(ctx):
    id = make_mail(ctx.peal, body="Hello {{name}} <b>", format="text")
    text = ctx.peal.get(f"/v1/captured/{id}/text", expect=200)
    equal(text.text, "Hello Zoë <b>")
    assert text.headers["Content-Type"].startswith("text/plain"), text.headers
    assert text.headers["Content-Security-Policy"].startswith("sandbox;"), text.headers
    ctx.peal.get(f"/v1/captured/{id}/html", expect=404)


def test_what_was_not_captured_is_not_found(ctx):
    make_channel(ctx.peal, "memory:bad", answer="permanent")
    make_trigger(ctx.peal, channel="memory:bad")
    id = ingest_one(ctx.peal, visit())
    settle(ctx.peal)
    ctx.peal.get(f"/v1/captured/{id}", expect=404)


def test_in_development_every_channel_shows_its_request(ctx):
    dev = Dev(ctx)
    for channel in ({"key": "email:ops", "type": "email", "config": {"server": "smtp://127.0.0.1:1", "from": "Peal <peal@example.org>"}},
                    {"key": "slack:ops", "type": "slack", "config": {"url": "https://hooks.slack.example/services/T/B/x"}}):
        dev.ok("channels", "create", "-f", dev.write("channel.json", channel))
    sent = {}
    for key, target in (("email:ops", ["ada@example.org"]), ("slack:ops", [])):
        id = dev.json("channels", "test", key, *target, "--subject", "Grüße", "--body", "Ça va?")["deliveryId"]
        eventually(lambda: dev.json("deliveries", "attempts", id)["items"])
        sent[key] = dev.json("captured", "show", id)
    mail = email.message_from_string(sent["email:ops"]["request"]["body"], policy=email.policy.default)
    equal((mail["subject"], mail["to"], mail.get_body().get_content().strip()), ("Grüße", "ada@example.org", "Ça va?"))
    like(sent["email:ops"], {"from": "Peal <peal@example.org>", "to": ["ada@example.org"], "subject": "Grüße", "text": "Ça va?"})
    assert "Ça va?" in sent["slack:ops"]["request"]["body"], sent
    assert "services/T/B/x" not in str(sent), "a secret in it is a stand-in"
    dev.process.kill()


def test_preferences_are_listed_newest_first_and_masked(ctx):
    for n in range(3):
        ctx.peal.put("/v1/preferences", {"address": f"+4912345678{n}", "optOut": ["sms"]}, expect=200)
        ctx.peal.post("/v1/clock", {"advance": "1s"}, expect=200)
    first = ctx.peal.get("/v1/preferences?limit=2", expect=200).json
    equal([item["address"][-1] for item in first["items"]], ["2", "1"])
    rest = ctx.peal.get(f"/v1/preferences?limit=2&cursor={first['next']}", expect=200).json
    equal([item["address"][-1] for item in rest["items"]], ["0"])
    equal(rest["next"], None)
    reader = make_user(ctx.peal, "read")
    listed = reader.get("/v1/preferences?limit=2", expect=200)
    assert "+49" not in listed.text and listed.json["items"][0]["address"].startswith("***"), listed.text
    ctx.peal.put("/v1/preferences", {"address": "+49123456780"}, expect=200)
    equal(len(ctx.peal.get("/v1/preferences", expect=200).json["items"]), 3, "one again is no other")
    equal(make_tenant(ctx.peal, "acme").get("/v1/preferences", expect=200).json["items"], [])


if __name__ == "__main__":
    main()
