"""The console's page of what memory channels took: newest first, live, mail as mail that can do nothing."""
import types

from console import drive
from harness import equal, eventually, main, only
from steps import make_channel, settle
from test_dev import Dev

QUIET = {"refused": [], "elsewhere": [], "errors": []}


def html(host):
    return f"<h1>Hi {{{{name}}}}</h1><img src=\"{host}/x.png\"><script>document.querySelector('h1').textContent = 'ran'</script>"


def make_templates(peal, host):
    make_channel(peal, "memory:own")
    for id, channel, format, body in (("mail", "memory:default", "html", html(host)), ("note", "memory:own", "text", "For {{name}} <b>")):
        peal.post("/v1/templates", {"id": id, "eventType": "own", "channel": channel, "address": "recipient.address", "subject": "To {{name}}",
                                    "body": body, "format": format}, expect=201)


def send(peal, name):
    made = peal.post("/v1/events", {"kind": "own", "payload": {"name": name}, "recipient": {"address": "ada@example.org"}}, expect=202).json
    settle(peal)
    return [one["deliveryId"] for one in made["deliveries"]]


def test_what_was_captured_is_listed_newest_first_and_waits(ctx):
    make_templates(ctx.peal, ctx.receiver().url)
    told = drive(ctx, "console_captured", part="list", actions={"send": lambda name: send(ctx.peal, name)})
    equal(told, {"empty": "Nothing has been captured yet", "waits": 2, "filtered": "?channel=memory%3Aown", "text": "To ZoëFor Zoë <b>", "noise": QUIET,
                 "rows": [["memory:own", "ada@example.org", "To Zoë"], ["memory:default", "ada@example.org", "To Zoë"],
                          ["memory:own", "ada@example.org", "To Ada"], ["memory:default", "ada@example.org", "To Ada"]]})


def test_a_mail_is_shown_as_mail_and_can_do_nothing(ctx):
    receiver = ctx.receiver()
    make_templates(ctx.peal, receiver.url)
    mail, note = send(ctx.peal, "Zoë")
    told = drive(ctx, "console_captured", part="mail", mail=mail)
    equal(told, {"title": "To Zoë", "says": "Hi Zoë", "sandbox": "", "errors": [], "data": True})
    equal(receiver.count(), 0, "nothing in it is fetched")
    if ctx.store == "sqlite":
        equal(drive(ctx, "console_captured", part="looks", paths=["/captured", f"/captured/{note}", f"/captured/{note}?tab=data"]), {"wrong": []})


@only("sqlite")
def test_in_development_the_request_of_each_channel_is_read(ctx):
    dev = Dev(ctx, "--empty")
    dev.ok("channels", "create", "-f", dev.write("mail.json", {"key": "email:ops", "type": "email",
                                                                "config": {"server": "smtp://127.0.0.1:1", "from": "peal@example.org"}}))
    dev.ok("channels", "create", "-f", dev.write("chat.json", {"key": "slack:ops", "type": "slack", "config": {"url": "https://slack.example/x"}}))
    made = {}
    for key, target in (("email:ops", ["ada@example.org"]), ("slack:ops", [])):
        made[key] = dev.json("channels", "test", key, *target, "--subject", "Shop", "--body", "Order 7")["deliveryId"]
        eventually(lambda: dev.json("deliveries", "attempts", made[key])["items"])
    key = (dev.folder / "peal-data" / "admin.key").read_text().strip()
    told = drive(ctx, "console_captured", peal=types.SimpleNamespace(url=dev.url, key=key), part="requests", mail=made["email:ops"], chat=made["slack:ops"])
    equal(told, {"source": True, "card": "ShopOrder 7", "request": True})
    dev.process.kill()


if __name__ == "__main__":
    main()
