"""The inbox's part of bench/run: how fast webhooks become events, and what a flood of them does to deliveries.

The drain is given signed-off rows of GitHub issues, 2 KiB each and every one another issue, written into the
inbox by SQL while no Peal ran. A hundred triggers of a provider look at each and one takes it: it is parsed,
decided, deduplicated and promised, and timed by what it wrote itself. What Peal and the server computed for a row
stands beside it.

The flood is webhooks over 16 connections as fast as they are answered, beside events at an even rate that go out
at once; how long these take from their post to their end is told for a quiet Peal and for a flooded one. Senders
that have the same cores take more of them than Peal does: so there are two floods, one whose senders give way, as
those of a provider do, which are elsewhere, and one whose senders do not.

HOOK_ROWS makes it another number of rows.
"""
import contextlib
import hashlib
import hmac
import http.client
import json
import multiprocessing
import os
import random
import subprocess
import time
import uuid

from chain import fresh, wait_until
from lists import Server
from postgres import program as server_program

ROWS = int(os.environ.get("HOOK_ROWS", 100_000))
TRIGGERS = 100
SECRET = "It's a Secret to Everybody"
SECONDS, RATE, SENDERS = 10, 100, 16
FAR = {"schedule": {"initialDelay": "1000d"}}
HEADERS = json.dumps([["content-type", "application/json"], ["x-github-event", "issues"]])
COLUMNS = "tenant, id, source, kind, body, status, reason, attempts, received_at, provider, headers"
RECEIVED = int(time.time() - 3600) * 1_000_000  # what is promised counts from it: no delivery is due meanwhile


def issue(number):
    """A webhook of 2 KiB, as GitHub makes one of an issue."""
    return {"action": "opened", "repository": {"id": 9, "full_name": "octo/repository-0", "private": False},
            "sender": {"login": "octocat", "id": 1}, "installation": None,
            "issue": {"id": number, "number": number, "title": f"Issue {number}", "state": "open",
                      "html_url": f"https://github.com/octo/repository-0/issues/{number}",
                      "user": {"login": "octocat", "id": 1}, "labels": [{"id": 7, "name": "bug", "color": "d73a4a"}],
                      "created_at": "2026-05-14T05:00:00Z", "updated_at": "2026-05-14T05:00:00Z",
                      "assignees": [], "comments": 0, "body": "It does not work. " * 75}}


def define(peal, **more):
    """A hundred triggers; that of the first repository takes what comes."""
    peal.call("POST", "/v1/sources", {"id": "gh", "provider": "github", "path": "gh", "secret": SECRET})
    for i in range(TRIGGERS):
        peal.call("POST", "/v1/triggers", {
            "id": f"t-{i}", "provider": "github", "type": "issues", "channel": "memory:default",
            "config": {"actions": ["opened"], "repositories": [f"octo/repository-{i}"]}, **more})


def ask(store, sql):
    if isinstance(store, Server):
        return store.postgres.query(sql, store.url)
    store.open()
    with contextlib.closing(store.db) as db:
        return db.execute(sql).fetchall()


def rows():
    """Rows of the inbox, their ids in the order in which they came."""
    for n in range(1, ROWS + 1):
        id = uuid.UUID(int=(RECEIVED // 1000 + n) << 80 | 7 << 76 | 2 << 62 | random.getrandbits(62))
        yield (1, id, "gh", 5, json.dumps(issue(n)).encode(), 0, 0, 0, RECEIVED, "github", HEADERS)


def put_rows(store):
    """Puts them into a store that no Peal has open."""
    if not isinstance(store, Server):
        store.open()
        with contextlib.closing(store.db) as db:
            db.execute("BEGIN")
            db.executemany(f"INSERT INTO inbox ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           ((row[0], row[1].bytes, *row[2:]) for row in rows()))
            db.execute("COMMIT")
        return
    lines = "".join("\t".join(["1", str(row[1]), "gh", "5", "\\\\x" + row[4].hex(), "0", "0", "0", str(RECEIVED),
                               "github", HEADERS]) + "\n" for row in rows())
    subprocess.run([server_program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", store.url, "-c",
                    f"COPY peal.inbox ({COLUMNS}) FROM STDIN"], input=lines, text=True, check=True)


def drain(program, kind):
    """Rows a second; and the CPU for one, of Peal and its server, in µs."""
    with fresh(program, kind) as (store, start):
        with start() as peal:
            define(peal, **FAR)
        put_rows(store)
        with start() as peal:
            before = peal.cpu_ms()
            wait_until(lambda: not peal.call("GET", "/v1/inbox?status=pending&limit=1")["items"])
            spent = peal.cpu_ms() - before
        times = "SELECT MIN(processed_at), MAX(processed_at), COUNT(*) FROM inbox WHERE status = 1 AND reason = 0"
        [row] = ask(store, times)
        first, last, done = map(int, row)
        if done != ROWS:
            raise RuntimeError(f"{done} of {ROWS} rows were taken")
        return ROWS * 1e6 / max(last - first, 1), spent * 1000 / ROWS


def give_way():
    """Lets everybody else have the cores first. Where the kernel shares them out by sessions, it has to be one."""
    os.setsid()
    os.nice(19)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write("19")


def flood_part(port, until, counted, gives_way):
    """Posts webhooks over one connection as fast as they are answered."""
    if gives_way:
        give_way()
    body = json.dumps(issue(1)).encode()
    headers = {"Content-Type": "application/json", "X-GitHub-Event": "issues", "X-GitHub-Delivery": "d-1",
               "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    done = 0
    while time.time() < until:
        client.request("POST", "/hooks/default/gh", body, headers)
        client.getresponse().read()
        done += 1
    counted.put(done)


@contextlib.contextmanager
def flooded(port, seconds, gives_way):
    counted = multiprocessing.Queue()
    parts = [multiprocessing.Process(target=flood_part, args=(port, time.time() + seconds, counted, gives_way))
             for _ in range(SENDERS)]
    for part in parts:
        part.start()
    yield
    print(f"  {sum(counted.get() for _ in parts) / seconds:.0f} webhooks a second meanwhile", flush=True)
    for part in parts:
        part.join()


def post_events(peal, kind):
    """Events that go out at once, each with the time of its post, at an even rate."""
    began = time.monotonic()
    for i in range(SECONDS * RATE):
        time.sleep(max(0.0, began + i / RATE - time.monotonic()))
        peal.call("POST", "/v1/events", {"kind": kind, "payload": {"t": int(time.time() * 1e6)}})


def latency(program, kind):
    """The p99 of deliveries, in ms: of a quiet Peal; beside webhooks whose senders give way; and whose do not."""
    floods = {"aside": True, "flooded": False}
    with fresh(program, kind) as (store, start):
        with start() as peal:
            define(peal, **FAR)
            for name in ("quiet", *floods):
                peal.call("POST", "/v1/triggers", {"id": name, "eventKind": name, "channel": "memory:default"})
            post_events(peal, "quiet")
            for name, gives_way in floods.items():
                with flooded(peal.port, SECONDS, gives_way):
                    post_events(peal, name)
                wait_until(lambda: not peal.call("GET", "/v1/inbox?status=pending&limit=1")["items"])
            time.sleep(1)
        return [p99(store, kind, name) for name in ("quiet", *floods)]


def p99(store, kind, name):
    at = "CAST(e.payload AS json) ->> 't'" if kind == "postgres" else "json_extract(e.payload, '$.t')"
    rows = ask(store, f"SELECT n.finished_at - CAST({at} AS BIGINT) FROM ended n"
                      " JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id"
                      f" JOIN event e ON e.tenant = d.tenant AND e.id = d.event WHERE e.kind = '{name}'")
    taken = sorted(int(row[0]) / 1000 for row in rows)
    print(f"  {kind} {name}: p50 {taken[len(taken) // 2]:.1f} ms", flush=True)
    return taken[int(len(taken) * 0.99)]
