"""The console's pages of channels: made and changed, tried out, watched while the far side is gone."""
import re

from console import drive
from harness import equal, main
from steps import ingest, make_trigger, make_user, settle, visit

QUIET = {"refused": [], "elsewhere": [], "errors": []}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def make_way(peal, url):
    peal.post("/v1/channels", {"key": "http:bi", "type": "http", "config": {"url": url, "signingSecret": SECRET}, "concurrency": 1}, expect=201)


def test_a_channel_is_made_and_changed(ctx):
    receiver = ctx.receiver()
    told = drive(ctx, "console_channels", part="make", receiver=receiver.url, secret=SECRET)
    equal(told, {"wrong": "true", "sentence": "Nothing holds it.", "timeout": True, "compared": True, "off": "It is disabled: what it is to send is parked.",
                 "listed": ["http:bi", "memory:default"], "noise": QUIET})
    made = ctx.peal.get("/v1/channels/http:bi", expect=200).json
    equal((made["config"]["url"], made["config"]["signingSecret"]["set"], made["timeout"], made["enabled"]), (receiver.url, True, "5s", True))


def test_a_test_arrives_and_a_secret_is_told_once(ctx):
    receiver = ctx.receiver()
    make_way(ctx.peal, receiver.url)
    told = drive(ctx, "console_channels", part="send", actions={"settle": lambda: settle(ctx.peal)})
    secret = told.pop("secret")
    equal(told, {"path": "/deliveries/ID", "noise": QUIET})
    assert re.fullmatch(r"whsec_\S{40,}", secret) and secret != SECRET, secret
    [got] = receiver.received
    equal(got.json["payload"]["subject"], "Is this on?")
    assert ctx.peal.get("/v1/channels/http:bi", expect=200).json["version"] == 2


def test_a_far_side_that_is_gone_is_seen(ctx):
    receiver = ctx.receiver()
    make_way(ctx.peal, receiver.url)
    make_trigger(ctx.peal, "bi", eventKind="bi", channel="http:bi", retry={"policy": "fixed", "interval": "1d", "max": 9})

    def stop():
        receiver.close()
        ingest(ctx.peal, *[visit() for _ in range(6)], kind="bi")
        settle(ctx.peal)

    told = drive(ctx, "console_channels", part="broken", looks=ctx.store == "sqlite", actions={"stop": stop})
    expected = {"before": "Nothing holds it.", "error": "no-connection", "sentence": "Its circuit is open: 5 failures in a row.", "listed": 1, "left": 0}
    equal(told, {**expected, "wrong": []} if ctx.store == "sqlite" else expected)
    ctx.peal.get("/v1/channels/http:bi", expect=404)


def test_who_may_only_look_sees_why(ctx):
    make_way(ctx.peal, ctx.receiver().url)
    reader = make_user(ctx.peal, "read")
    told = drive(ctx, "console_channels", part="reads", reader=reader.key)
    equal(told, {"pressable": 0, "why": [f"{label} needs the role {roles}" for label, roles in (
        ("Send a test", "author or operator or admin"), ("Change a secret", "author or admin"), ("Disable", "author or admin"), ("Delete", "author or admin"))]})


if __name__ == "__main__":
    main()
