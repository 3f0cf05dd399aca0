"""`peal dev`, and every command of the client against it: output, --json and exit codes."""
import json
import os
import pathlib
import re

from harness import Cluster, equal, eventually, like, main, once, only
from process import Process
from receiver import Receiver
from server import LISTENING, PASSED_ON, peal_program, run_peal

NO_SUCH_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"
HASH = r"[0-9a-f]{64}"


class Dev:
    """A `peal dev` in a folder of its own, and its command line there: no key, no URL but one."""

    def __init__(self, ctx, *args, **env):
        self.folder = ctx.folder / "dev"
        self.folder.mkdir(exist_ok=True)
        given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.process = Process([peal_program(), "dev", "--listen", "127.0.0.1:0", *args],
                               cwd=self.folder, env={**given, "HOME": str(self.folder), **env})
        ctx.closers.append(self.process.kill)
        listening = self.process.out.wait_for(LISTENING, seconds=30)
        assert listening, self.process.err.text()
        self.url = listening[1]

    def run(self, *words, text="", **env):
        return run_peal(*words, cwd=self.folder, text=text,
                        env={"HOME": str(self.folder), "PEAL_URL": self.url, **env})

    def ok(self, *words, **rest):
        ran = self.run(*words, **rest)
        assert ran.code == 0, f"{words}: {ran}"
        return ran.out

    def json(self, *words, **rest):
        return json.loads(self.ok(*words, "--json", **rest))

    def fails(self, code, *words, **rest):
        """The command ends with this code and says what is wrong, and no more."""
        ran = self.run(*words, **rest)
        equal(ran.code, code, f"{words}: {ran.err}")
        assert ran.err.startswith("Error: "), f"{words}: {ran}"
        return ran

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))
        return name


@only("postgres")
def test_a_start_that_fails_half_way_leaves_nothing_behind(ctx):
    """The demo cannot be written yet: the next try must not meet what this one had open."""
    cluster = Cluster.get()
    place = ["--store", ctx.store_url]
    Dev(ctx, *place, "--empty").process.kill()
    with cluster.locked("peal.definition", ctx.store_url):
        dev = Dev(ctx, *place)
        assert dev.process.out.find("the store is away"), dev.process.out.text()
    assert dev.process.err.wait_for("event=store.up node=", seconds=60), dev.process.err.text()
    dev.ok("deliveries")
    late = connections(cluster, ctx.store_url)
    dev.process.kill()
    Dev(ctx, *place)
    eventually(lambda: connections(cluster, ctx.store_url) == late)


def connections(cluster, url):
    """What the nodes have open, by their names; those of readers come and go."""
    return cluster.query("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name LIKE 'peal%'"
                         " AND application_name NOT LIKE '%reader' AND datname = current_database()",
                         url)


def emitted(dev, kind="user.signed-up", *words):
    """Posts an event and waits until what it made was tried; answers the server's words."""
    answer = dev.json("emit", kind, "--recipient", "ada@example.com", *words)
    for one in answer["deliveries"]:
        eventually(lambda: dev.json("deliveries", "attempts", one["deliveryId"])["items"])
    return answer


@once
def test_it_says_what_it_does(ctx):
    dev = Dev(ctx)
    told = eventually(lambda: "peal captured" in dev.process.out.text() and dev.process.out.text())
    assert "nothing leaves this machine" in told, told
    found = f"export PEAL_URL={dev.url}"  # it does not listen where the command line looks unless told
    for word in (found, "emit user.signed-up", "captured", "deliveries", "peal-data/peal.db"):
        assert word in told, f"{word} in {told}"
    key = dev.folder / "peal-data" / "admin.key"
    equal(re.findall(r"^.*pk_.*$", told, re.M), [f"Console    {dev.url}/signin#{key.read_text().strip()}"])
    equal(key.stat().st_mode & 0o777, 0o600)
    equal((dev.folder / "peal-data").stat().st_mode & 0o777, 0o700)
    assert re.fullmatch(r"pk_\w{43}\n", key.read_text())
    equal(sorted(path.name for path in dev.folder.iterdir()), ["peal-data"])


@once
def test_the_story_it_suggests_works(ctx):
    dev = Dev(ctx)
    out = dev.ok("emit", "user.signed-up", "--recipient", "ada@example.org", "--data",
                 '{"plan":"pro"}')
    assert "demo-welcome" in out and "demo-crm" in out, out
    eventually(lambda: len(dev.json("captured")["items"]) == 2)
    assert "ada@example.org" in dev.ok("captured")
    out = dev.ok("emit", "user.signed-up", "--recipient", "bob@example.org", "--data",
                 '{"plan":"free"}')
    assert "filtered" in out and 'candidate.plan == "pro"' in out, out
    event = out.split()[0]
    assert 'It would match if candidate.plan were "pro".' in dev.ok("why", event)


@once
def test_every_channel_captures(ctx):
    receiver = Receiver()
    ctx.closers.append(receiver.close)
    dev = Dev(ctx, "--allow-private", "127.0.0.0/8")
    channel = {"key": "http:out", "type": "http", "config": {
        "url": receiver.url, "signingSecret": "whsec_" + "YWJj" * 10}}
    dev.ok("channels", "create", "-f", dev.write("channel.json", channel))
    dev.ok("triggers", "create", "-f", dev.write("trigger.json", {
        "id": "out", "eventKind": "order.paid", "channel": "http:out"}))
    answer = emitted(dev, "order.paid", "--data", '{"total":249}')
    id = answer["deliveries"][0]["deliveryId"]
    taken = dev.json("captured", "--delivery", id)["items"]
    equal(len(taken), 1)
    like(taken[0], {"channel": "http:out", "address": "ada@example.com",
                    "body": {"payload": {"total": 249}, "eventKind": "order.paid"}})
    equal(dev.json("deliveries", "show", id)["state"], "delivered")
    equal(receiver.count(), 0)


@once
def test_no_provider_is_polled(ctx):
    linear = Receiver()
    ctx.closers.append(linear.close)
    dev = Dev(ctx, "--empty", "--allow-private", "127.0.0.0/8")
    dev.ok("integrations", "create", "-f", dev.write("integration.json", {
        "id": "acme", "provider": "linear", "baseUrl": linear.url,
        "token": {"source": "static", "value": "lin_api_0123456789"}}))
    dev.ok("triggers", "create", "-f", dev.write("trigger.json", {
        "id": "bugs", "provider": "linear", "type": "issue", "integration": "acme", "way": "polling",
        "channel": "memory:default"}))
    group = eventually(lambda: [row for row in dev.json("poll-groups")["items"] if row["lastError"]])[0]
    equal((group["lastError"], group["lastPolledAt"]), ("peal dev asks nothing of providers", None))
    equal(linear.count(), 0)


@once
def test_data_and_key_outlive_it(ctx):
    dev = Dev(ctx)
    event = emitted(dev)["eventId"]
    dev.process.kill()
    again = Dev(ctx)
    equal(again.json("events", "show", event)["id"], event)
    assert again.process.out.wait_for(f"/signin#{(again.folder / 'peal-data' / 'admin.key').read_text().strip()}", 30), again
    equal([row["id"] for row in again.json("triggers")["items"]], ["demo-crm", "demo-welcome"])


@once
def test_it_opens_the_console_when_asked(ctx):
    """By the desktop's own command, which may be missing."""
    opened, folder = ctx.folder / "opened", ctx.folder / "programs"
    folder.mkdir()
    (folder / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    (folder / "xdg-open").chmod(0o755)
    dev = Dev(ctx, "--open", PATH=str(folder) + ":" + os.environ["PATH"])
    eventually(opened.exists)
    assert opened.read_text().startswith(f"{dev.url}/signin#pk_"), opened.read_text()
    dev.process.kill()
    opened.unlink()
    dev = Dev(ctx, PATH=str(folder) + ":" + os.environ["PATH"])
    assert dev.process.out.wait_for("Stop with Ctrl-C", 30) and not opened.exists()
    dev.process.kill()
    dev = Dev(ctx, "--open", PATH="/nowhere")
    assert dev.process.out.wait_for("Stop with Ctrl-C", 30)
    dev.ok("health")


@once
def test_empty_has_no_demo(ctx):
    dev = Dev(ctx, "--empty")
    equal(dev.json("triggers")["items"], [])
    equal([row["key"] for row in dev.json("channels")["items"]], ["memory:default"])
    ran = dev.run("triggers")
    equal((ran.code, ran.out), (0, ""))
    assert "No triggers." in ran.err, ran.err


@only("postgres")
def test_it_runs_on_postgresql_too(ctx):
    dev = Dev(ctx, "--store", ctx.store_url)
    emitted(dev, "user.signed-up", "--data", '{"plan":"pro"}')
    eventually(lambda: len(dev.json("captured")["items"]) == 2)


# One command after another


@once
def test_emit(ctx):
    dev = Dev(ctx)
    dev.write("order.json", {"plan": "pro"})
    answer = emitted(dev, "user.signed-up", "--data", "@order.json", "--entity", "user:7",
                     "--locale", "ar", "--customer-ref", "c-1", "--occurred-at",
                     "2026-05-14T05:12:34Z", "--correlation-id", "x-1")
    like(dev.json("events", "show", answer["eventId"]), {
        "kind": "user.signed-up", "entity": "user:7", "correlationId": "x-1",
        "occurredAt": "2026-05-14T05:12:34.000Z", "payload": {"plan": "pro"},
        "recipient": {"address": "ada@example.com", "locale": "ar", "customerRef": "c-1"}})
    words = ("emit", "a.b", "--source", "shop", "--id", "8812", "--json")
    first, second = json.loads(dev.ok(*words)), json.loads(dev.ok(*words))
    equal((first["duplicate"], second["duplicate"]), (False, True))
    equal(first["eventId"], second["eventId"])
    same = {dev.ok("emit", "a.b", "--idempotency-key", "k", "--json") for _ in range(2)}
    equal(len(same), 1)
    dev.fails(5, "emit", "a.c", "--idempotency-key", "k")
    equal(json.loads(dev.ok("emit", "a.b", "--data", "-", "--json", text='{"x":1}'))["duplicate"],
          False)
    dev.fails(2, "emit")
    dev.fails(2, "emit", "a.b", "two")
    dev.fails(2, "emit", "a.b", "--data", "{")
    dev.fails(2, "emit", "a.b", "--data", "@no-such-file")
    dev.fails(2, "emit", "a.b", "--occurred-at", "yesterday")
    dev.fails(2, "emit", "a.b", "--colour", "red")
    dev.fails(2, "emit", "a.b", "--data")


@once
def test_events_and_why(ctx):
    dev = Dev(ctx)
    event = emitted(dev)["eventId"]
    assert event in dev.ok("events") and event in dev.ok("events", "list", "--limit", "5")
    equal([row["id"] for row in dev.json("events", "--kind", "user.signed-up")["items"]], [event])
    equal(dev.json("events", "--kind", "none")["items"], [])
    assert event in dev.ok("events", "show", event)
    equal(dev.json("events", "timeline", event)["items"][0]["what"], "received")
    equal(dev.json("why", event)["eventId"], event)
    assert "demo-welcome" in dev.ok("why", event)
    dev.fails(3, "events", "show", NO_SUCH_ID)
    dev.fails(3, "why", NO_SUCH_ID)
    dev.fails(3, "why", "nonsense")
    dev.fails(2, "why")
    dev.fails(2, "events", "explode")
    dev.fails(2, "events", "--limit", "0")
    dev.fails(2, "events", "--limit", "many")
    dev.fails(2, "events", "--cursor", "!")


@once
def test_deliveries_and_captured(ctx):
    dev = Dev(ctx)
    dev.ok("channels", "create", "-f", dev.write("c.json", {
        "key": "memory:bad", "type": "memory", "config": {"answer": "permanent"}}))
    dev.ok("triggers", "create", "-f", dev.write("t.json", {
        "id": "bad", "eventKind": "bad", "channel": "memory:bad"}))
    ids = [emitted(dev, "bad")["deliveries"][0]["deliveryId"] for _ in range(4)]
    eventually(lambda: len(dev.json("deliveries", "--state", "parked")["items"]) == 4)
    assert ids[0] in dev.ok("deliveries", "--trigger", "bad")
    equal(dev.json("deliveries", "--channel", "memory:default")["items"], [])
    page = dev.json("deliveries", "--limit", "3")
    equal(len(page["items"]), 3)
    equal(len(dev.json("deliveries", "--limit", "3", "--cursor", page["next"])["items"]), 1)
    assert f"--cursor {page['next']}" in dev.run("deliveries", "--limit", "3").err
    assert "parked" in dev.ok("deliveries", "show", ids[0])
    equal(dev.json("deliveries", "attempts", ids[0])["items"][0]["outcome"], "permanent")

    equal(dev.json("deliveries", "discard", "--state", "parked", "--dry-run")["matched"], 4)
    dev.ok("deliveries", "discard", ids[0], "--reason", "test data")
    equal(dev.json("deliveries", "show", ids[0])["state"], "discarded")
    dev.fails(5, "deliveries", "discard", ids[0])
    dev.fails(5, "deliveries", "cancel", ids[1])
    dev.fails(3, "deliveries", "retry", NO_SUCH_ID)
    dev.ok("deliveries", "retry", ids[1])
    dev.ok("deliveries", "complete", ids[2])
    equal(dev.json("deliveries", "show", ids[2])["state"], "completed")
    eventually(lambda: dev.json("deliveries", "show", ids[1])["state"] == "parked")
    dev.ok("deliveries", "discard", "--state", "parked", "--channel", "memory:bad")
    eventually(lambda: dev.json("deliveries", "--state", "parked")["items"] == [])
    equal(dev.json("captured", "--channel", "memory:bad")["items"], [])
    dev.fails(2, "deliveries", "discard")
    dev.fails(2, "deliveries", "--state", "lost")
    dev.fails(2, "deliveries", "complete")
    dev.fails(2, "captured", "--delivery", "7")


@once
def test_triggers(ctx):
    dev = Dev(ctx)
    body = {"id": "receipt", "eventKind": "order.paid", "channel": "memory:default"}
    equal(dev.json("triggers", "create", "-f", dev.write("t.json", body))["version"], 1)
    dev.fails(5, "triggers", "create", "-f", "t.json")
    assert "receipt" in dev.ok("triggers") and "order.paid" in dev.ok("triggers", "show", "receipt")
    dev.write("t.json", {**body, "schedule": {"initialDelay": "1h"}})
    equal(dev.json("triggers", "update", "receipt", "-f", "t.json", "--if-version", "1")["version"],
          2)
    dev.fails(5, "triggers", "update", "receipt", "-f", "t.json", "--if-version", "1")
    dev.ok("triggers", "disable", "receipt")
    shown = dev.json("triggers", "show", "receipt")
    like(shown, {"enabled": False, "schedule": {"initialDelay": "1h"}})
    dev.ok("triggers", "enable", "receipt")
    equal(dev.json("triggers", "show", "receipt")["enabled"], True)
    like(dev.json("triggers", "set", "receipt", "schedule=null", "retry.policy=fixed", "retry.max=2"),
         {"enabled": True, "retry": {"policy": "fixed", "max": 2}})
    dev.fails(5, "triggers", "set", "receipt", "enabled=false", "--if-version", "1")
    dev.fails(2, "triggers", "set", "receipt", "enabled=maybe")
    dev.ok("triggers", "delete", "receipt")
    dev.fails(3, "triggers", "show", "receipt")
    ran = dev.fails(2, "triggers", "create", "-f", dev.write("bad.json", {**body, "filter": {
        "path": "a", "op": "~", "value": 1}}))
    assert "/filter/op" in ran.err and '"~" is not an operator' in ran.err, ran.err
    ran = dev.run("triggers", "create", "-f", "bad.json", "--json")
    equal((ran.code, json.loads(ran.out)["code"]), (2, "trigger-invalid"))
    ran = dev.run("triggers", "create", "-f", "-", text=json.dumps({**body, "id": "piped"}))
    equal(ran.code, 0)
    dev.fails(2, "triggers", "create")
    dev.fails(2, "triggers", "create", "-f", "no-such.json")
    dev.fails(2, "triggers", "show")
    dev.fails(3, "triggers", "delete", "no-such")


@once
def test_channels(ctx):
    dev = Dev(ctx)
    secret = "whsec_" + "YWJj" * 10
    body = {"key": "http:bi", "type": "http", "config": {"url": "https://bi.example/in",
                                                         "signingSecret": secret}}
    made = dev.run("channels", "create", "-f", dev.write("c.json", body))
    equal(made.code, 0)
    for words in (("channels",), ("channels", "show", "http:bi"),
                  ("channels", "show", "http:bi", "--json")):
        assert secret not in dev.ok(*words), words
    equal(dev.json("channels", "show", "http:bi")["config"]["signingSecret"]["set"], True)
    dev.ok("channels", "update", "http:bi", "-f", dev.write("c.json", {
        "key": "http:bi", "type": "http", "config": {"url": "https://bi.example/out"}}))
    like(dev.json("channels", "show", "http:bi"), {"version": 2, "config": {
        "url": "https://bi.example/out", "signingSecret": {"set": True}}})
    dev.ok("channels", "delete", "http:bi")
    dev.fails(3, "channels", "delete", "http:bi")
    dev.fails(5, "channels", "delete", "memory:default")
    dev.fails(2, "channels", "create", "-f", dev.write("c.json", {"key": "x"}))


@once
def test_keys_and_tenants(ctx):
    dev = Dev(ctx)
    ran = dev.run("keys", "create", "--role", "read", "--name", "looker", "--json")
    equal(ran.code, 0)
    key = json.loads(ran.out)
    equal(dev.ok("events", "--key", key["key"]), "")
    equal(dev.run("events", PEAL_KEY=key["key"]).code, 0)
    dev.fails(4, "emit", "a.b", "--key", key["key"])
    dev.fails(4, "tick", "--key", key["key"])
    assert key["key"] not in dev.ok("keys") and "looker" in dev.ok("keys")
    dev.ok("keys", "set", key["id"], "--role", "ingest", "--name", "sender")
    like(dev.json("keys", "show", key["id"]), {"role": "ingest", "name": "sender"})
    dev.fails(4, "events", "--key", key["key"])
    dev.fails(2, "keys", "set", key["id"])
    dev.ok("keys", "delete", key["id"])
    ran = dev.fails(4, "events", "--key", key["key"])
    assert "--key" in ran.err, ran.err
    dev.fails(3, "keys", "delete", key["id"])
    dev.fails(2, "keys", "create", "--role", "king")
    dev.fails(2, "keys", "create")
    dev.ok("tenants", "create", "acme", "--name", "Acme Ltd")
    dev.fails(5, "tenants", "create", "acme")
    assert "Acme Ltd" in dev.ok("tenants")
    dev.ok("tenants", "set", "acme", "--name", "Acme & Sons")
    equal(dev.json("tenants", "show", "acme")["name"], "Acme & Sons")
    made = dev.json("keys", "create", "--role", "admin", "--tenant", "acme")
    equal(made["tenant"], "acme")
    ran = dev.fails(5, "tenants", "delete", "acme")
    assert "tenant acme still has 1 key" in ran.err, ran.err
    dev.ok("keys", "delete", made["id"])
    dev.ok("tenants", "delete", "acme")
    dev.fails(3, "tenants", "show", "acme")
    dev.fails(2, "tenants", "create", "Not One")
    admin = next(row for row in dev.json("keys")["items"] if row["system"])
    dev.fails(5, "keys", "delete", admin["id"])


@once
def test_hold_release_clock_tick_health(ctx):
    dev = Dev(ctx, "--clock", "manual=2026-05-14T05:12:34Z")
    dev.ok("hold", "--reason", "moving")
    id = dev.json("emit", "user.signed-up")["deliveries"][0]["deliveryId"]
    equal(dev.json("tick")["claimed"], 0)
    equal(dev.json("health")["held"], True)
    assert "moving" in dev.ok("health")
    equal(dev.json("release"), {"held": False, "reason": None})
    dev.ok("tick")
    equal(dev.json("deliveries", "show", id)["state"], "waiting")
    equal(dev.json("clock"), {"now": "2026-05-14T05:12:34.000Z", "mode": "manual"})
    dev.ok("clock", "advance", "3d")
    equal(dev.json("clock", "set", "2026-06-01T00:00:00Z")["now"], "2026-06-01T00:00:00.000Z")
    equal(dev.json("deliveries", "show", id)["send"], 3)
    dev.fails(2, "clock", "advance", "soon")
    dev.fails(2, "clock", "set")
    dev.fails(2, "hold")
    assert "ready" in dev.ok("health")


@once
def test_the_systems_clock_cannot_be_moved(ctx):
    dev = Dev(ctx)
    equal(dev.json("clock")["mode"], "system")
    dev.fails(5, "clock", "advance", "1h")


@once
def test_doctor_and_migrate(ctx):
    dev = Dev(ctx)
    store = "sqlite:peal-data/peal.db"
    out = dev.ok("doctor", "--store", store)
    for word in ("store: sqlite answers", "schema: up to date", "integrity: ok", "not held"):
        assert word in out, out
    told = dev.json("doctor", "--store", store)
    equal(told["worst"], "ok")
    equal({finding["finding"] for finding in told["findings"]}, {"ok"})
    ran = dev.run("migrate", "--store", store)
    equal(ran.code, 5, "it is in use")
    dev.process.kill()
    assert "0 migrations" in dev.ok("migrate", "--store", store)
    equal(dev.json("migrate", "--store", store), {"applied": 0})
    equal(dev.json("migrate", "--store", "sqlite:new.db"), {"applied": 2})
    equal(dev.run("doctor", "--store", "sqlite:no/such/folder/x.db").code, 6)
    equal(dev.run("doctor", "--store", "mysql://x").code, 2)
    equal(dev.run("doctor", "--store", "postgres://127.0.0.1:1/none").code, 6)
    equal(dev.run("migrate", "--store", "postgres://127.0.0.1:1/none").code, 6)


@only("postgres")
def test_doctor_and_migrate_on_postgresql(ctx):
    url = ctx.store_url
    equal(json.loads(run_cli(ctx, "migrate", "--store", url, "--json").out), {"applied": 2})
    equal(json.loads(run_cli(ctx, "migrate", "--store", url, "--json").out), {"applied": 0})
    ran = run_cli(ctx, "doctor", "--store", url)
    equal(ran.code, 0)
    for word in ("fsync: on", "full_page_writes: on", "synchronous_commit", "clock: "):
        assert word in ran.out, ran.out


@only("postgres")
def test_the_tables_are_in_a_schema_of_their_own(ctx):
    """Tables of the same names elsewhere are somebody else's: neither read nor touched."""
    server = ctx.private_postgres()
    url = server.create_database()
    server.query("CREATE TABLE public.migration (number INTEGER, name TEXT)", url)
    server.query("INSERT INTO public.migration VALUES (9999, 'theirs')", url)
    equal(json.loads(run_cli(ctx, "migrate", "--store", url, "--json").out), {"applied": 2})
    equal(server.query("SELECT name FROM public.migration", url), [["theirs"]])
    equal(server.query("SELECT DISTINCT schemaname FROM pg_tables"
                       " WHERE tablename IN ('event', 'queue', 'migration') ORDER BY 1", url),
          [["peal"], ["public"]])
    equal(server.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", url), [["1"]])


@only("postgres")
def test_a_role_that_may_not_make_the_schema_is_told(ctx):
    server = ctx.private_postgres()
    url = server.create_database()
    server.query("CREATE ROLE plain LOGIN")
    as_plain = url.replace("postgres@", "plain@")
    refused = run_cli(ctx, "migrate", "--store", as_plain)
    equal(refused.code, 5)
    assert 'CREATE SCHEMA peal AUTHORIZATION "plain"' in refused.err, refused.err
    server.query('CREATE SCHEMA peal AUTHORIZATION "plain"', url)
    equal(json.loads(run_cli(ctx, "migrate", "--store", as_plain, "--json").out), {"applied": 2})
    equal(run_cli(ctx, "doctor", "--store", as_plain).code, 0)


def run_cli(ctx, *words):
    return run_peal(*words, cwd=ctx.folder, env={"HOME": str(ctx.folder)})


@once
def test_filter_and_dedup_need_no_server(ctx):
    event = ctx.write("event.json", json.dumps({
        "templateId": "4523", "recipient": {"address": "+964 770 000 0001"},
        "payload": {"dealerId": "1", "wip": "40956", "jobType": "PM"}}))
    for op, code in (("==", 1), ("!=", 0)):
        filter = ctx.write("filter.json", json.dumps(
            {"path": "candidate.jobType", "op": op, "value": "GR"}))
        ran = run_cli(ctx, "filter", "test", filter, event)
        equal((ran.code, ran.out.split()[0]), (code, "false" if code else "true"))
        told = json.loads(run_cli(ctx, "filter", "test", filter, event, "--json").out)
        equal(told["matches"], not code)
    assert "PM" in run_cli(ctx, "filter", "test", ctx.write("f.json", json.dumps(
        {"path": "candidate.jobType", "op": "==", "value": "GR"})), event).out
    bad = ctx.write("bad.json", json.dumps({"path": "a", "op": "~", "value": 1}))
    equal(run_cli(ctx, "filter", "test", bad, event).code, 2)
    equal(run_cli(ctx, "filter", "test", "no-such.json", event).code, 2)
    equal(run_cli(ctx, "filter", "test").code, 2)

    recipe = ctx.write("recipe.json", json.dumps(
        ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"]))
    ran = run_cli(ctx, "dedup", "hash", recipe, event)
    equal(ran.code, 0)
    assert re.fullmatch(HASH + r"\n", ran.out), ran.out
    told = json.loads(run_cli(ctx, "dedup", "hash", recipe, event, "--json").out)
    assert ran.out.strip() in told.values(), told
    equal(run_cli(ctx, "dedup", "hash", bad, event).code, 2)


@once
def test_version_help_and_words_that_are_none(ctx):
    version = run_cli(ctx, "version")
    equal(version.code, 0)
    assert re.fullmatch(r"peal \d+\.\d+\.\d+\S*\n", version.out), version.out
    equal(run_cli(ctx, "--version").out, version.out)
    assert json.loads(run_cli(ctx, "version", "--json").out)["version"] in version.out
    help = run_cli(ctx, "help")
    equal(help.code, 0)
    commands = re.findall(r"^  (\w+) +\S", help.out, re.MULTILINE)
    for name in ("dev", "serve", "migrate", "doctor", "hold", "release", "emit", "events",
                 "deliveries", "triggers", "channels", "why", "filter", "dedup", "keys", "version"):
        assert name in commands, f"{name} in {commands}"
        ran = run_cli(ctx, name, "--help")
        equal((ran.code, ran.err), (0, ""), name)
        assert ran.out.startswith(f"Usage: peal {name}"), ran.out
        if name not in ("dev", "serve"):
            assert "--json" in ran.out, f"{name} has --json"
    equal(run_cli(ctx, "explode").code, 2)
    ran = run_cli(ctx, "emti", "x")
    assert "did you mean" in ran.err and "emit" in ran.err, ran.err


@once
def test_nobody_there(ctx):
    env = {"HOME": str(ctx.folder), "PEAL_URL": "http://127.0.0.1:1"}
    for words in (("emit", "a"), ("events",), ("why", NO_SUCH_ID), ("deliveries",), ("keys",),
                  ("hold", "--reason", "x"), ("release",), ("tick",), ("health",)):
        ran = run_peal(*words, cwd=ctx.folder, env=env)
        equal(ran.code, 6, str(words))
        assert ran.err.startswith("Error: ") and "Try: " in ran.err, ran.err
    ran = run_peal("events", "--url", "ftp://x", cwd=ctx.folder, env=env)
    equal(ran.code, 2)


@once
def test_a_key_of_this_folder_goes_to_this_machine_only(ctx):
    """What lies in ./peal-data/admin.key is not sent to a host somebody else may own."""
    dev = Dev(ctx)
    receiver = Receiver()
    ctx.closers.append(receiver.close)
    receiver.answer(200, body=b"{}")
    port = receiver.url.rpartition(":")[2]
    dev.run("clock", PEAL_URL=f"http://127.0.0.1:{port}")
    assert receiver.wait_for(1)[0].headers["authorization"].startswith("Bearer pk_")
    for host in ("127.1", "0x7f000001", "user@127.0.0.1"):
        dev.run("clock", PEAL_URL=f"http://{host}:{port}")
    equal([one.headers["authorization"] for one in receiver.received[1:]],
          [None] * (receiver.count() - 1))


@once
def test_two_on_one_store_are_refused(ctx):
    Dev(ctx)
    folder = ctx.folder / "dev"
    ran = run_peal("dev", "--listen", "127.0.0.1:0", cwd=folder, env={"HOME": str(folder)})
    equal(ran.code, 5)
    assert "in use by another Peal" in ran.err, ran.err


@once
def test_settings_that_are_none_are_refused(ctx):
    for words in (("--listen", "nowhere"), ("--clock", "sundial"), ("--store", "mysql://x"),
                  ("--allow-private", "everything"), ("--log-level", "loud"), ("--port", "1"),
                  ("--config", "no-such.yaml")):
        ran = run_peal("serve", *words, cwd=ctx.folder, env={"HOME": str(ctx.folder)})
        equal(ran.code, 2, f"{words}: {ran.err}")
        assert ran.err.startswith("Error: "), ran.err
    assert not pathlib.Path(ctx.folder / "peal.db").exists(), "nothing was made"


if __name__ == "__main__":
    main()
