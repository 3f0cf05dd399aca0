"""W1, W14, X1: what webhooks brought becomes events, says why where it does not, and is processed again."""
import base64
import concurrent.futures
import gzip
import hashlib
import hmac
import itertools
import json
import pathlib
import re

from harness import equal, eventually, like, main, only, slow
from server import is_sanitized
from steps import advance, deliveries, make_channel, make_tenant, moment, tick

SECRET = "It's a Secret to Everybody"
numbers = itertools.count(1)


def make_source(peal, id="gh", provider="github", **more):
    trust = {} if "config" in more else {"secret": SECRET}
    return peal.post("/v1/sources", {"id": id, "provider": provider, **trust, **more}, expect=201).json["url"]


def make_trigger(peal, id="opened", **more):
    body = {"id": id, "provider": "github", "type": "issues", "channel": "memory:default",
            "config": {"actions": ["opened"]}, **more}
    return peal.post("/v1/triggers", body, expect=201).json


def issue(id=1, action="opened", **more):
    """What GitHub sends of an issue, as far as it matters."""
    return {"action": action, "repository": {"id": 9, "full_name": "octo/hello"}, "sender": {"login": "octocat"},
            "issue": {"id": id, "number": id, "title": f"Issue {id}", "html_url": f"https://github.com/octo/hello/{id}",
                      "state": "open", "labels": [{"name": "bug"}], "created_at": "2026-05-14T05:00:00Z",
                      "updated_at": "2026-05-14T05:00:00Z", **more}}


def send(peal, url, body, event="issues", delivery=None, expect=200, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
    named = {"Content-Type": "application/json", "X-GitHub-Event": event, "X-Hub-Signature-256": signature,
             "X-GitHub-Delivery": delivery or f"d-{next(numbers)}", **headers}
    return peal.with_key(None).request("POST", url, raw=data, headers=named, expect=expect).json["id"]


def row(peal, id):
    return peal.get(f"/v1/inbox/{id}", expect=200).json


def rows(peal, query=""):
    return peal.get(f"/v1/inbox?limit=500{query}", expect=200).json["items"]


def explain(peal, id):
    return peal.get(f"/v1/events/{id}/explain", expect=200).json


def timeline(peal, id):
    return peal.get(f"/v1/events/{id}/timeline", expect=200).json["items"]


def test_a_hook_becomes_an_event_and_a_delivery(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    body = json.dumps(issue(), indent=1).encode()
    id = send(peal, url, body, delivery="72d3162e")
    tick(peal)
    shown = row(peal, id)
    like(shown, {"id": id, "source": "gh", "provider": "github", "externalId": "72d3162e", "status": "completed",
                 "reason": None, "error": None, "attempts": 0, "size": len(body),
                 "contentType": "application/json", "receivedAt": moment(), "processedAt": moment(),
                 "body": body.decode()})
    equal(shown["headers"]["x-github-event"], "issues")
    [listed] = rows(peal)
    equal(listed, {name: value for name, value in shown.items() if name not in ("headers", "body")})
    [made] = deliveries(peal)
    like(made, {"eventId": id, "state": "delivered"})
    event = peal.get(f"/v1/events/{id}", expect=200).json
    like(event, {"kind": "github.issues", "source": "gh", "payload": {"provider": "github", "eventType": "issues"}})
    equal(event["payload"]["raw"], json.loads(body))
    like(explain(peal, id), {"eventId": id, "inbox": {"id": id, "externalId": "72d3162e", "status": "completed"}})
    equal([one["what"] for one in timeline(peal, id)],
          ["received", "verified", "drained", "decided", "planned", "attempt", "ended"])
    like(timeline(peal, id)[2]["detail"], {"outcome": "completed", "reason": None})


def test_a_row_that_made_no_event_says_why(ctx):
    peal = ctx.peal
    url = make_source(peal)
    unparsable, silent = send(peal, url, b"\xff\x00 no JSON"), send(peal, url, issue())
    ping = send(peal, url, {"zen": "Keep it logically awesome.", "hook_id": 1}, event="ping")
    tick(peal)
    like(row(peal, unparsable), {"status": "failed", "reason": "unparsable", "processedAt": moment(),
                                 "bodyBase64": base64.b64encode(b"\xff\x00 no JSON").decode()})
    assert "body" not in row(peal, unparsable) and row(peal, unparsable)["error"]
    like(row(peal, silent), {"status": "completed", "reason": "no-trigger",
                             "error": "no trigger listens to github.issues"})
    like(row(peal, ping), {"status": "completed", "reason": "no-event"})
    assert row(peal, ping)["error"]
    # What has no event is explained all the same; what has one that nobody takes is an event.
    for id in (unparsable, ping):
        peal.get(f"/v1/events/{id}", expect=404)
        told = explain(peal, id)
        like(told, {"decisions": [], "inbox": {"id": id}})
        assert row(peal, id)["error"] in told["note"], told
        equal([one["what"] for one in timeline(peal, id)], ["received", "verified", "drained"])
    peal.get(f"/v1/events/{silent}", expect=200)
    said = peal.cli("why", unparsable)
    assert "unparsable" in said.out and "No trigger" not in said.out, said.out


def test_lists_are_filtered_and_a_tenants_own(ctx):
    peal, other = ctx.peal, make_tenant(ctx.peal, "acme")
    url, second = make_source(peal), make_source(peal, "posts", "generic", config={"verify": {"kind": "none"}})
    bad, good = send(peal, url, b"{"), send(peal, url, issue())
    plain = send(peal, second, {"a": 1})
    tick(peal)
    equal([one["id"] for one in rows(peal)], [plain, good, bad])
    for query, found in (("&status=failed", [bad]), ("&status=completed", [plain, good]), ("&status=pending", []),
                         ("&status=processing", []), ("&source=gh", [good, bad]), ("&provider=generic", [plain]),
                         ("&source=posts&status=failed", []), ("&source=nobody", [])):
        equal([one["id"] for one in rows(peal, query)], found, query)
    peal.get("/v1/inbox?status=Failed", expect=422)
    first = peal.get("/v1/inbox?limit=2", expect=200).json
    equal([one["id"] for one in first["items"]], [plain, good])
    equal([one["id"] for one in rows(peal, f"&cursor={first['next']}")], [bad])
    equal(rows(other), [])
    for path in (f"/v1/inbox/{bad}", f"/v1/events/{bad}/explain"):
        other.get(path, expect=404)
    other.post(f"/v1/inbox/{bad}/reprocess", expect=404)
    peal.get(f"/v1/outbox/{bad}", expect=404)
    equal(peal.get("/v1/outbox", expect=200).json["items"], [])


def test_reprocessing_brings_what_would_have_come_and_nothing_twice(ctx):
    peal = ctx.peal
    url = make_source(peal)
    id, bad = send(peal, url, issue()), send(peal, url, b"{")
    tick(peal)
    equal(deliveries(peal), [])
    make_trigger(peal)
    for _ in range(3):
        like(peal.post(f"/v1/inbox/{id}/reprocess", expect=200).json, {"id": id, "status": "pending", "reason": None})
        tick(peal)
        like(row(peal, id), {"status": "completed", "reason": None})
        equal(len(deliveries(peal)), 1)
    make_trigger(peal, "also")
    said = peal.cli("inbox", "reprocess", id)
    assert id in said.out, said.out
    tick(peal)
    equal(len(deliveries(peal)), 2)
    peal.post(f"/v1/inbox/{bad}/reprocess", expect=200)
    tick(peal)
    like(row(peal, bad), {"status": "failed", "reason": "unparsable"})


def test_twice_out_of_order_and_one_id_with_two_bodies(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    sent = [(issue(1), "a"), (issue(2), "b"), (issue(1), "a"), (issue(3), "b"), (issue(2), "c"), (issue(1), "a")]
    for body, delivery in sent + sent[::-1]:
        send(peal, url, body, delivery=delivery)
    tick(peal)
    equal(len(rows(peal, "&status=completed")), 12)
    # Every body was looked at, and each issue fired once.
    titles = sorted(peal.get(f"/v1/events/{one['eventId']}", expect=200).json["payload"]["title"]
                    for one in deliveries(peal))
    equal(titles, ["Issue 1", "Issue 2", "Issue 3"])
    assert "peal_dedup_hits_total 9" in peal.get("/metrics").text


def test_what_strings_cannot_hold_is_mended_and_what_json_cannot_be_read_says_why(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    body = json.dumps(issue(title="half ?", body="?")).encode()
    mended = [send(peal, url, body.replace(b"?", odd)) for odd in (b"\\ud83d", b"a\\u0000b", b"\xff\xfe")]
    deep = send(peal, url, issue(2, x=json.loads("[" * 30 + "]" * 30)))
    said = {send(peal, url, body.replace(b'"body"', odd + b', "body"')): why for odd, why in (
        (b'"x": ' + b"[" * 33 + b"]" * 33, "nested deeper than 32 levels"), (b'"x": 1e999', "too large"),
        (b'"title": 1', "stands twice"), (b'"x": oops', "not JSON"))}
    tick(peal)
    for id in mended:
        like(row(peal, id), {"status": "completed", "reason": None})
        payload = peal.get(f"/v1/events/{id}", expect=200).json["payload"]
        assert payload["title"].startswith("half ") and "\ufffd" in payload["title"], payload["title"]
        equal(payload["raw"]["issue"]["title"], payload["title"])
    # The event is one level deeper with what came: then it goes without.
    like(row(peal, deep), {"status": "completed", "reason": None})
    assert "raw" not in peal.get(f"/v1/events/{deep}", expect=200).json["payload"]
    for id, why in said.items():
        like(row(peal, id), {"status": "failed", "reason": "unparsable"})
        assert why in row(peal, id)["error"], row(peal, id)["error"]
    equal(len(deliveries(peal)), 2)


def test_each_side_sets_back_its_own_rows_only(ctx):
    peal = ctx.peal
    url = make_source(peal)
    id = send(peal, url, issue())
    tick(peal)
    before = row(peal, id)
    advance(peal, "1s")
    peal.post(f"/v1/outbox/{id}/replay", expect=404)
    tick(peal)
    equal(row(peal, id), before)
    if ctx.store == "postgres":
        emitted = ctx.sql("SELECT peal.emit('nobody.listens', '{}')")[0][0]
        tick(peal)
        before = peal.get(f"/v1/outbox/{emitted}", expect=200).json
        advance(peal, "1s")
        peal.post(f"/v1/inbox/{emitted}/reprocess", expect=404)
        tick(peal)
        equal(peal.get(f"/v1/outbox/{emitted}", expect=200).json, before)


def test_gzip_is_opened_and_a_bomb_is_not(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    packed = {"Content-Encoding": "gzip"}
    good = send(peal, url, gzip.compress(json.dumps(issue()).encode()), **packed)
    old = send(peal, url, gzip.compress(json.dumps(issue(5)).encode()), **{"Content-Encoding": "X-GZip"})
    bomb = send(peal, url, gzip.compress(bytes(26 << 20)), **packed)
    none, strange = send(peal, url, issue(2), **packed), send(peal, url, issue(3), **{"Content-Encoding": "br"})
    last = send(peal, url, issue(4))
    tick(peal)
    for id in (good, old):
        like(row(peal, id), {"status": "completed", "reason": None})
    like(row(peal, bomb), {"status": "failed", "reason": "too-large"})
    like(row(peal, none), {"status": "failed", "reason": "unparsable"})
    like(row(peal, strange), {"status": "failed", "reason": "unparsable"})
    like(row(peal, last), {"status": "completed", "reason": None})
    equal(len(deliveries(peal)), 3)


@slow
@only("sqlite")
def test_many_small_rows_that_open_to_much_are_opened_a_few_at_a_time(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    large = gzip.compress(json.dumps(issue(body="x" * (24 << 20))).encode())
    bomb = gzip.compress(bytes(26 << 20))
    packed = {"Content-Encoding": "gzip"}
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for body in [large, bomb] * 15:
            pool.submit(send, peal, url, body, **packed)
    tick(peal)
    eventually(lambda: not rows(peal, "&status=pending"), 60)
    equal(len(rows(peal, "&status=completed")), 15)
    equal({one["reason"] for one in rows(peal, "&status=failed")}, {"too-large"})
    status = pathlib.Path(f"/proc/{peal.process.child.pid}/status").read_text()
    assert is_sanitized() or int(re.search(r"VmHWM:\s+(\d+)", status)[1]) < 700_000, "kilobytes that it ever had"


def test_a_large_body_loses_raw_and_stays_in_its_row(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    body = json.dumps(issue(body="x" * (3 << 20))).encode()
    id = send(peal, url, body)
    tick(peal)
    like(row(peal, id), {"status": "completed", "reason": None, "size": len(body), "body": body.decode()})
    payload = peal.get(f"/v1/events/{id}", expect=200).json["payload"]
    assert "raw" not in payload and payload["title"] == "Issue 1", list(payload)
    equal(len(deliveries(peal)), 1)


def poison(ctx, on):
    """The store takes no event of pushes; and then it does again."""
    taken = {"sqlite": ("CREATE TRIGGER poison BEFORE INSERT ON event WHEN NEW.kind = 'github.push'"
                        " BEGIN SELECT RAISE(ABORT, 'it cannot be written'); END", "DROP TRIGGER poison"),
             "postgres": ("ALTER TABLE event ADD CONSTRAINT poison CHECK (kind <> 'github.push') NOT VALID",
                          "ALTER TABLE event DROP CONSTRAINT poison")}
    ctx.peal.stop()
    ctx.sql(taken[ctx.store][0 if on else 1])
    ctx.peal.start()


def test_what_the_store_refuses_is_processed_alone_and_fails_the_third_time(ctx):
    peal = ctx.peal
    url = make_source(peal)
    make_trigger(peal)
    poison(ctx, True)
    push = {"ref": "refs/heads/main", "after": "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "repository": {"full_name": "o/h"}}
    before, bad, after = send(peal, url, issue(1)), send(peal, url, push, event="push"), send(peal, url, issue(2))
    for id in (before, after):
        eventually(lambda id=id: tick(peal) and row(peal, id)["status"] == "completed")
    like(row(peal, bad), {"status": "processing", "reason": None, "processedAt": None})
    assert row(peal, bad)["attempts"] in (1, 2), row(peal, bad)
    equal([[one["id"] for one in rows(peal, "&status=" + status)] for status in ("processing", "pending")], [[bad], []])
    advance(peal, "5m")
    eventually(lambda: tick(peal) and row(peal, bad)["status"] == "failed")
    like(row(peal, bad), {"reason": "unwritten", "attempts": 3})
    assert "unwritten" in explain(peal, bad)["note"], explain(peal, bad)
    # Mended, it is what it would have been.
    poison(ctx, False)
    peal.post(f"/v1/inbox/{bad}/reprocess", expect=200)
    tick(peal)
    like(row(peal, bad), {"status": "completed", "reason": "no-trigger"})
    equal(peal.get(f"/v1/events/{bad}", expect=200).json["kind"], "github.push")


def test_rows_go_a_week_after_they_ended(ctx):
    peal = ctx.peal
    url = make_source(peal)
    send(peal, url, issue())
    send(peal, url, b"{")
    tick(peal)
    advance(peal, "167h")
    equal(len(rows(peal)), 2)
    advance(peal, "2h")
    eventually(lambda: tick(peal) and rows(peal) == [], 90)
    equal(len(peal.get("/v1/events", expect=200).json["items"]), 1)


def test_metrics_of_the_inbox(ctx):
    peal = ctx.peal
    url = make_source(peal)
    send(peal, url, issue())
    send(peal, url, b"{")
    tick(peal)
    text = peal.get("/metrics").text
    for line in ("peal_inbox_depth 0", "peal_inbox_drain_seconds_count 2", "peal_parse_failures_total 1"):
        assert line in text, line


def test_a_node_that_is_killed_loses_nothing_and_doubles_nothing(ctx):
    peal = ctx.start(clock="system")
    url = make_source(peal)
    make_channel(peal, "memory:slow")
    make_trigger(peal, channel="memory:slow")
    answered = []

    def post(n):
        try:
            answered.append((n, send(peal, url, issue(n))))
        except (AssertionError, OSError):
            pass  # nothing was promised

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for n in range(1, 301):
            pool.submit(post, n)
            if n % 100 == 0:
                eventually(lambda least=n // 4: len(answered) >= least)
                peal.kill9()
                peal.start()
    eventually(lambda: not rows(peal, "&status=pending") and not rows(peal, "&status=processing"), 60)
    made = [one["eventId"] for one in deliveries(peal)]
    equal(len(made), len(set(made)))
    assert {id for _, id in answered} <= set(made), "what was answered became a delivery"


if __name__ == "__main__":
    main()
