"""M13: every command of docs/runbook.md is run, block by block, against a server in the state that
its chapter is about, and must say what the document says."""
import base64
import json
import os
import pathlib
import re
import subprocess

from harness import Skip, equal, eventually, like, main
from postgres import program
from server import ROOT, peal_program
from steps import (advance, deliveries, delivery, ingest, make_trigger, settle, trigger_body, visit)

DOCUMENT = ROOT / "docs" / "runbook.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
ONLY = {"PostgreSQL": "postgres", "SQLite": "sqlite"}


def chapters():
    """Of each chapter, its blocks: for which store, and the lines."""
    found = {}
    for chapter in DOCUMENT.read_text().split("\n## ")[1:]:
        title, _, text = chapter.partition("\n")
        blocks, end = [], 0
        for match in BLOCK.finditer(text):
            [before] = text[end:match.start()].strip().splitlines()[-1:] or [""]
            blocks.append((ONLY.get(before.rstrip(":")), match[1].splitlines()))
            end = match.end()
        found[title] = blocks
    return found


class Desk:
    """Where the person sits who reads the runbook: a shell, with peal in its PATH."""

    def __init__(self, ctx):
        self.ctx, self.peal = ctx, ctx.peal
        bin = ctx.folder / "bin"
        bin.mkdir()
        (bin / "peal").symlink_to(peal_program())
        self.path = f"{bin}:{os.path.dirname(program('pg_dump'))}:{os.environ['PATH']}"

    def shell(self, line):
        return subprocess.run(
            ["bash", "-c", line], cwd=self.ctx.folder, capture_output=True, text=True, timeout=60,
            env={"PATH": self.path, "HOME": str(self.ctx.folder), "PEAL_URL": self.peal.url,
                 "PEAL_KEY": self.peal.key, "PEAL_STORE": self.peal.store})

    def run(self, line, words):
        """Does one line of the document; what starts and stops the server is this test's to do."""
        command, _, said = (part.strip() for part in line.partition("# →"))
        for word, value in words.items():
            command = re.sub(rf"\b{word}\b", value, command)
        if command == "systemctl stop peal":
            return equal(self.peal.stop(), 0)
        if command == "systemctl start peal":
            return self.peal.start()
        if command.startswith("peal serve "):
            self.peal.args += command.split()[2:]
            return self.peal.start()
        done = self.shell(command)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert said in done.stdout, f"{command} does not say {said!r}:\n{done.stdout}{done.stderr}"

    def read(self, title, words=None):
        ran = 0
        for store, lines in chapters()[title]:
            if store in (None, self.ctx.store):
                for line in lines:
                    self.run(line, words or {})
                    ran += 1
        assert ran, f"{title} has commands"


def make_http(peal, key, url, **config):
    peal.post("/v1/channels", {"key": key, "type": "http", "config": {"url": url, **config}},
              expect=201)
    make_trigger(peal, channel=key)


def park(ctx, count, status):
    """So many deliveries that a receiver refused; answers the receiver and their ids."""
    receiver = ctx.receiver()
    make_http(ctx.peal, "http:out", receiver.url)
    receiver.answer(status)
    ingest(ctx.peal, *[visit() for _ in range(count)])
    settle(ctx.peal)
    receiver.answer(200)
    return receiver, [row["id"] for row in deliveries(ctx.peal, "&state=parked")]


def states(peal):
    return {row["state"] for row in deliveries(peal)}


def test_where_to_begin(ctx):
    Desk(ctx).read("Where to begin")


def test_a_stuck_outbox(ctx):
    if ctx.store == "sqlite":
        raise Skip("what applications emit is PostgreSQL's")
    settle(ctx.peal)
    [[row]] = ctx.sql("SELECT peal.emit('order', '{}', tenant => 'default')")
    ctx.sql("SELECT peal.emit('order', '{}', tenant => 'default')")
    settle(ctx.peal)
    ctx.write("trigger.json", json.dumps(trigger_body("order", eventKind="order")))
    Desk(ctx).read("A stuck outbox", {"ROW": row})
    eventually(lambda: settle(ctx.peal) and len(deliveries(ctx.peal)) == 2)
    equal({one["status"] for one in ctx.peal.get("/v1/outbox").json["items"]}, {"Published"})


def test_a_stuck_schedule(ctx):
    make_trigger(ctx.peal)
    ctx.peal.post("/v1/jobs", {"name": "rates", "cron": "15 12 * * *", "handler": "memory:default",
                               "enabled": False, "reason": "the bank is closed"}, expect=201)
    ctx.peal.post("/v1/hold", {"reason": "the relay moves"}, expect=200)
    ingest(ctx.peal, visit())
    Desk(ctx).read("A stuck schedule")


def test_safe_replay(ctx):
    receiver, ids = park(ctx, 2, 404)
    [cause] = ctx.peal.get("/v1/causes", expect=200).json["items"]
    Desk(ctx).read("Safe replay", {"CAUSE": cause["cause"]})
    settle(ctx.peal)
    equal(states(ctx.peal), {"delivered"})
    equal(len({one.headers["webhook-id"] for one in receiver.received}), 2, "under the same ids")
    equal(receiver.count(), 4)


def test_a_dead_host(ctx):
    dead = ctx.receiver()
    dead.close()
    make_http(ctx.peal, "http:dead", dead.url)
    ingest(ctx.peal, *[visit() for _ in range(6)])
    settle(ctx.peal)
    alive = ctx.receiver()
    Desk(ctx).read("A dead host", {"URL": alive.url})
    advance(ctx.peal, "1h")
    equal(states(ctx.peal), {"delivered"})
    equal(alive.count(), 6)


def test_a_refused_login(ctx):
    far = ctx.receiver()
    far.answer(401, body=b'{"code":20003,"message":"Authenticate","status":401}')
    ctx.peal.post("/v1/channels", {"key": "sms:out", "type": "twilio", "config": {
        "baseUrl": far.url, "accountSid": "AC" + "0" * 32, "authToken": "old",
        "from": "+15005550006"}}, expect=201)
    make_trigger(ctx.peal, channel="sms:out", address="candidate.phone")
    ingest(ctx.peal, *[visit(body="hello", phone="+9647700000001") for _ in range(2)])
    settle(ctx.peal)
    Desk(ctx).read("A refused login", {"NEW": "right"})
    far.answer(201, body=b'{"sid":"SM1","status":"queued"}')
    advance(ctx.peal, "1h")
    equal(states(ctx.peal), {"delivered"})
    assert base64.b64encode(b"AC" + b"0" * 32 + b":right").decode() in \
        far.received[-1].headers["authorization"]


def test_a_full_disk(ctx):
    Desk(ctx).read("A full disk")


def test_a_restored_backup(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    ingest(ctx.peal, visit())
    Desk(ctx).read("A restored backup")
    advance(ctx.peal, "2h")
    equal(states(ctx.peal), {"delivered"})


def key_file(ctx):
    if ctx.store == "sqlite":
        return pathlib.Path(ctx.store_url.removeprefix("sqlite:") + ".key")
    return ctx.folder / ".local/state/peal/master.key"


def test_a_lost_master_key(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, "http:out", receiver.url, signingSecret=SECRET)
    ctx.peal.stop()
    key_file(ctx).unlink()
    ctx.peal.start()
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    equal(receiver.count(), 0)
    Desk(ctx).read("A lost master key", {"NEW": SECRET})
    settle(ctx.peal)
    equal(states(ctx.peal), {"delivered"})


def test_rotating_secrets(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, "http:out", receiver.url, signingSecret=SECRET)
    old = ctx.peal.post("/v1/keys", {"role": "ingest", "name": "shop"}, expect=201).json
    Desk(ctx).read("Rotating secrets", {"KEY": old["id"]})
    equal(ctx.peal.with_key(old["key"]).post("/v1/events", {"kind": "x"}).status, 401)
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    [request] = receiver.wait_for(1)
    equal(len(request.headers["webhook-signature"].split()), 2, "both sign")


def test_a_poisoned_message(ctx):
    _, [id] = park(ctx, 1, 400)
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    equal(states(ctx.peal), {"parked", "delivered"})
    Desk(ctx).read("A poisoned message", {"DELIVERY": id, "EVENT": delivery(ctx.peal, id)["eventId"]})
    like(delivery(ctx.peal, id), {"state": "discarded"})


def test_a_node_that_died(ctx):
    make_trigger(ctx.peal)
    ingest(ctx.peal, visit())
    settle(ctx.peal)
    desk = Desk(ctx)
    ctx.peal.kill9()
    desk.read("A node that died")


def test_who_did_what(ctx):
    _, [id] = park(ctx, 1, 400)
    ctx.peal.post(f"/v1/deliveries/{id}/discard", {"reason": "no"}, expect=200)
    settle(ctx.peal)
    [row] = ctx.peal.get("/v1/audit?kind=Operator.discard", expect=200).json["items"]
    Desk(ctx).read("Who did what", {"ACTOR": row["actor"]})
    exported = [json.loads(line) for line in (ctx.folder / "audit.ndjson").read_text().splitlines()]
    assert row["eventId"] in {one["eventId"] for one in exported}


def test_each_chapter_is_read_by_a_test(ctx):
    named = set(re.findall(r'\.read\("([^"]+)"', pathlib.Path(__file__).read_text()))
    equal(named, set(chapters()))


if __name__ == "__main__":
    main()
