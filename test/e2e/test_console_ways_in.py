"""The console's pages of the ways in: webhooks as they came, rows of outboxes, sources, integrations and polls."""
import urllib.parse

from console import drive
from harness import equal, eventually, main
from linear_peer import Linear
from poll_steps import KEY, trigger
from steps import make_trigger, tick
from test_hooks import BODY, signed
from test_inbox import issue, make_source, make_trigger as make_hook_trigger, send
from test_table_source import KIND, Application, make_source as make_table, settled, start

QUIET = {"refused": [], "elsewhere": [], "errors": []}


def looked(ctx, told):
    """What was found, with nothing wrong in how it looks, where that was looked at."""
    return {**told, "wrong": []} if ctx.store == "sqlite" else told


def test_webhooks_are_read_and_those_refused_are_seen(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_hook_trigger(peal)

    def hooks():
        send(peal, url, issue(1))
        send(peal, url, b"{")
        peal.with_key(None).request("POST", url, raw=BODY, headers=signed(BODY, "another secret than its own"), expect=401)
        tick(peal)

    told = drive(ctx, "console_ways_in", part="inbox", looks=ctx.store == "sqlite", actions={"hooks": hooks})
    equal(told, looked(ctx, {"empty": "No webhook has come in yet", "refused": "✕ signature-wrong", "states": ["failed", "completed"], "event": 1, "body": True, "header": True,
                             "good": "It was verified, read, and became events.", "bad": "It was verified, and could not be read", "anew": 200, "noise": QUIET}))


def test_rows_of_an_outbox_are_replayed_and_no_webhook_with_them(ctx):
    app = Application(ctx)
    peal = start(ctx)
    make_table(peal, app)
    for id in (1, 2, 3):
        app.write(id)
    settled(app, ["Failed"] * 3)
    hook = send(peal, make_source(peal), b"{")
    tick(peal)
    make_trigger(peal, "confirmed", eventKind=KIND)
    published = lambda n: eventually(lambda: app.statuses().count("Published") == n, seconds=30)
    told = drive(ctx, "console_ways_in", peal=peal, part="outbox", looks=ctx.store == "sqlite", actions={"published": lambda n: bool(published(n))})
    equal(told, looked(ctx, {"failed": ["Failed"] * 3, "why": "Nothing came of it: template not found", "payload": True, "matched": "2", "noise": QUIET}))
    equal(peal.get(f"/v1/inbox/{hook}", expect=200).json["status"], "failed")
    operations = peal.get("/v1/operations?dryRun=false", expect=200).json["items"]
    equal([(one["action"], one["filter"]["side"], one["done"]) for one in operations], [("replay", "outbox", 2)])


def test_a_source_is_made_and_webhooks_come_to_it(ctx):
    peal = ctx.peal

    def hook(url, secret):
        status = peal.with_key(None).request("POST", urllib.parse.urlparse(url).path, raw=BODY, headers=signed(BODY, secret)).status
        tick(peal)
        return status

    told = drive(ctx, "console_ways_in", part="sources", looks=ctx.store == "sqlite", actions={"hook": hook})
    equal(told, looked(ctx, {"empty": "No sources yet", "here": True, "curl": True, "first": 200, "seen": "completed", "onceOnly": 0, "other": True, "second": 200, "noise": QUIET}))
    equal(peal.get("/v1/sources", expect=200).json["items"], [])


def test_an_integration_is_made_and_polled(ctx):
    peal, peer = ctx.peal, Linear(KEY)
    ctx.closers.append(peer.close)

    def poll():
        trigger(peal)
        tick(peal)

    told = drive(ctx, "console_ways_in", part="integrations", peer=peer.url, token=KEY, looks=ctx.store == "sqlite", actions={"poll": poll})
    equal(told, looked(ctx, {"empty": "No integrations yet", "state": "active", "polls": [["linear", "acme", "1", "60s"]], "polled": "60s", "left": 0, "noise": QUIET}))


if __name__ == "__main__":
    main()
