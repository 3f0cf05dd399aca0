"""Idempotency-Key: the same request again gets the same answer, and is done once."""
import contextlib
import http.client
import json
import re
import threading

from harness import Cluster, equal, eventually, like, main, only
from steps import (KIND, act, advance, attempts, deliveries, delivery, ingest_one,
                   make_channel, make_tenant, make_trigger, settle, trigger_body, visit)

NOBODY = "01970000-0000-7000-8000-000000000000"
EVENT = {"kind": KIND, "payload": {"wip": "1"}, "recipient": {"address": "ada@example.com"}}


def post(peal, path, body=None, key="once", **rest):
    return peal.post(path, body, headers={"Idempotency-Key": key}, **rest)


def exact(peal, path, raw, key):
    """Status and bytes as they came, for what must be the same to the letter."""
    connection = http.client.HTTPConnection(peal.host, timeout=60)
    try:
        connection.request("POST", path, body=raw, headers={
            "Authorization": f"Bearer {peal.key}", "Content-Type": "application/json",
            "Idempotency-Key": key})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def check_reused(answer):
    equal((answer.status, answer.json["code"]), (409, "idempotency-key-reused"))


def count(peal, noun):
    return len(peal.get(f"/v1/{noun}?limit=500", expect=200).json["items"])


def test_an_event_is_taken_once(ctx):
    make_trigger(ctx.peal)
    first = post(ctx.peal, "/v1/events", EVENT, expect=202).json
    equal(len(first["deliveries"]), 1)
    settle(ctx.peal)
    advance(ctx.peal, "1h")
    for _ in range(3):
        equal(post(ctx.peal, "/v1/events", EVENT, expect=202).json, first)
    equal((count(ctx.peal, "events"), count(ctx.peal, "deliveries")), (1, 1))
    check_reused(post(ctx.peal, "/v1/events", {**EVENT, "kind": "other"}))
    equal(post(ctx.peal, "/v1/events", EVENT, key="twice", expect=202).json["duplicate"], False)
    equal((count(ctx.peal, "events"), count(ctx.peal, "deliveries")), (2, 2))


def test_a_batch_is_taken_once(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    body = {"eventKind": KIND, "items": [visit(wip="1"), visit(wip="1"), {"payload": 3}]}
    first = post(ctx.peal, "/v1/ingest", body, expect=200).json
    like(first, {"created": 1, "skipped": 1, "failed": 1})
    equal(post(ctx.peal, "/v1/ingest", body, expect=200).json, first)
    equal((count(ctx.peal, "events"), count(ctx.peal, "deliveries")), (2, 1))
    check_reused(post(ctx.peal, "/v1/ingest", {**body, "items": []}))


def test_the_answer_is_the_same_to_the_letter(ctx):
    make_trigger(ctx.peal)
    raw = b'{ "eventKind":"service-visit-closed", "items":[{"payload":{"n":1.50}}] }'
    first = exact(ctx.peal, "/v1/ingest", raw, "letters")
    equal(first[0], 200)
    equal(exact(ctx.peal, "/v1/ingest", raw, "letters"), first)
    raw = b'{"id":"letter","eventKind":"a","channel":"memory:default"}'
    first = exact(ctx.peal, "/v1/triggers", raw, "letters 2")
    equal(first[0], 201)
    equal(exact(ctx.peal, "/v1/triggers", raw, "letters 2"), first)


def test_a_definition_is_made_once(ctx):
    first = post(ctx.peal, "/v1/triggers", trigger_body(), expect=201)
    again = post(ctx.peal, "/v1/triggers", trigger_body(), expect=201)
    equal(again.json, first.json)
    equal(again.headers["etag"], first.headers["etag"])
    equal(ctx.peal.get("/v1/triggers/visit", expect=200).json["version"], 1)
    check_reused(post(ctx.peal, "/v1/triggers", trigger_body(enabled=False)))
    equal(ctx.peal.post("/v1/triggers", trigger_body()).status, 409)


def test_a_key_is_made_once_and_its_answer_kept_sealed(ctx):
    body = {"role": "read", "name": "once"}
    first = post(ctx.peal, "/v1/keys", body, expect=201).json
    equal(post(ctx.peal, "/v1/keys", body, expect=201).json, first)
    named = [row for row in ctx.peal.get("/v1/keys", expect=200).json["items"]
             if row["name"] == "once"]
    equal(len(named), 1)
    if ctx.store == "sqlite":
        stored = b"".join(path.read_bytes() for path in ctx.folder.glob("*.db*"))
        assert first["key"].encode() not in stored, "the key lies in the database"


def test_a_secret_that_was_made_is_kept_sealed(ctx):
    """The answer with the fresh secret is given again, and stands nowhere in clear text."""
    ctx.peal.post("/v1/channels", {"key": "http:bi", "type": "http",
                                   "config": {"url": "http://127.0.0.1:9/"}}, expect=201)
    path, body = "/v1/channels/http:bi/rotate", {"secret": "signingSecret", "overlap": "0s"}
    first = post(ctx.peal, path, body, expect=200).json
    assert first["value"].startswith("whsec_"), first
    equal(post(ctx.peal, path, body, expect=200).json, first)
    made = post(ctx.peal, "/v1/keys", {"role": "read"}, key="k2", expect=201).json["key"]
    equal(ctx.peal.stop(), 0)
    kept = ctx.sql("SELECT body FROM peal.idempotency" if ctx.store == "postgres"
                   else "SELECT body FROM idempotency")
    equal(len(kept), 2)
    for [text] in kept:
        assert first["value"] not in str(text) and made not in str(text), text


def test_a_retry_is_done_once(ctx):
    make_channel(ctx.peal, "memory:bad", answer="permanent")
    make_trigger(ctx.peal, channel="memory:bad")
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    first = post(ctx.peal, f"/v1/deliveries/{id}/retry", expect=200).json
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "parked")
    equal(post(ctx.peal, f"/v1/deliveries/{id}/retry", expect=200).json, first)
    settle(ctx.peal)
    equal(len(attempts(ctx.peal, id)), 2)
    act(ctx.peal, id, "retry")
    settle(ctx.peal)
    equal(len(attempts(ctx.peal, id)), 3)


def test_the_same_key_for_another_path_is_another_request(ctx):
    """One key stands for one request: method, path and body."""
    make_channel(ctx.peal, "memory:bad", answer="permanent")
    make_trigger(ctx.peal, channel="memory:bad")
    one, two = ingest_one(ctx.peal), ingest_one(ctx.peal)
    settle(ctx.peal)
    post(ctx.peal, f"/v1/deliveries/{one}/retry", expect=200)
    check_reused(post(ctx.peal, f"/v1/deliveries/{two}/retry"))
    settle(ctx.peal)
    equal(len(attempts(ctx.peal, two)), 1)


def test_a_refusal_is_kept(ctx):
    """Whoever refused, the transaction or what comes before it: the key stands for the answer."""
    for path, bad, good in (
            ("/v1/triggers", trigger_body(filter=7), trigger_body()),
            ("/v1/events", {"kind": 7}, EVENT),
            ("/v1/ingest", {"eventKind": KIND}, {"eventKind": KIND, "items": []}),
            ("/v1/clock", {"advance": "no"}, {"advance": "1h"})):
        first = post(ctx.peal, path, bad, key=path)
        equal((first.status, first.headers["content-type"]), (422, "application/problem+json"))
        again = post(ctx.peal, path, bad, key=path)
        equal((again.status, again.text), (first.status, first.text), path)
        equal(again.headers["content-type"], first.headers["content-type"])
        check_reused(post(ctx.peal, path, good, key=path))
    equal(post(ctx.peal, f"/v1/deliveries/{NOBODY}/retry", key="nobody").status, 404)
    equal(post(ctx.peal, f"/v1/deliveries/{NOBODY}/retry", key="nobody").status, 404)


def test_a_refusal_stands_when_it_would_be_granted_now(ctx):
    make_trigger(ctx.peal)
    path = "/v1/triggers"
    first = post(ctx.peal, path, trigger_body("visit"), key="taken")
    equal(first.status, 409)
    ctx.peal.delete("/v1/triggers/visit", expect=204)
    equal(post(ctx.peal, path, trigger_body("visit"), key="taken").text, first.text)
    equal(post(ctx.peal, path, trigger_body("visit"), key="new").status, 201)


def test_what_is_to_be_mended_or_waited_for_is_not_kept(ctx):
    """A body that cannot be read, and a key that has no right: before the handler."""
    equal(ctx.peal.post("/v1/events", raw=b"{", headers={"Idempotency-Key": "a"}).status, 400)
    post(ctx.peal, "/v1/events", EVENT, key="a", expect=202)
    reader = ctx.peal.post("/v1/keys", {"role": "read", "name": "r"}, expect=201).json["key"]
    equal(ctx.peal.with_key(reader).post("/v1/hold", headers={"Idempotency-Key": "b"}).status, 403)
    post(ctx.peal, "/v1/hold", key="b", expect=200)


def test_a_key_is_free_after_a_day(ctx):
    for path, body, status in (("/v1/events", EVENT, 202), ("/v1/clock", {"advance": "1s"}, 200),
                               ("/v1/events", {"kind": 7}, 422)):
        key = f"{path} {status}"
        first = post(ctx.peal, path, body, key=key)
        equal(first.status, status)
        advance(ctx.peal, "23h")
        equal(post(ctx.peal, path, body, key=key).text, first.text)
        advance(ctx.peal, "1h")
        again = post(ctx.peal, path, body, key=key)
        equal(again.status, status)
        assert again.text != first.text, path
        equal(post(ctx.peal, path, body, key=key).text, again.text)
    post(ctx.peal, "/v1/events", EVENT, key="other", expect=202)
    advance(ctx.peal, "1d")
    post(ctx.peal, "/v1/events", {**EVENT, "kind": "other"}, key="other", expect=202)


def test_keys_are_each_tenants_own(ctx):
    tenants = [make_tenant(ctx.peal, id) for id in ("acme", "other")]
    ids = set()
    for who in tenants:
        make_trigger(who)
        answer = post(who, "/v1/events", EVENT, expect=202).json
        equal(len(answer["deliveries"]), 1)
        ids.add(answer["eventId"])
    equal(len(ids), 2)
    equal(post(tenants[1], "/v1/events", {**EVENT, "kind": "other"}).status, 409)


def test_duplicates_at_the_same_time_have_one_effect(ctx):
    make_trigger(ctx.peal)
    make_channel(ctx.peal, "memory:bad", answer="permanent")
    make_trigger(ctx.peal, "bad", eventKind="bad", channel="memory:bad")
    parked = ctx.peal.post("/v1/events", {"kind": "bad"},
                           expect=202).json["deliveries"][0]["deliveryId"]
    settle(ctx.peal)
    cases = [("/v1/events", EVENT, 202),
             ("/v1/ingest", {"eventKind": KIND, "items": [visit(), visit()]}, 200),
             ("/v1/triggers", trigger_body("new"), 201),
             (f"/v1/deliveries/{parked}/retry", None, 200)]
    for path, body, status in cases:
        for round in range(4):
            key = f"{path} {round}"
            if path == "/v1/triggers":
                body = trigger_body(f"new-{round}")
            answers = at_once(lambda: post(ctx.peal, path, body, key=key), 8)
            equal({answer.status for answer in answers}, {status}, path)
            equal(len({answer.text for answer in answers}), 1, path)
            settle(ctx.peal)
    equal(count(ctx.peal, "events"), 1 + 4 + 8)
    equal(len(deliveries(ctx.peal, "&trigger=visit")), 4 + 8)
    equal(count(ctx.peal, "triggers"), 2 + 4)
    equal(len(attempts(ctx.peal, parked)), 1 + 4)


def at_once(call, times):
    """What each of so many threads got that called together."""
    answers, ready = [], threading.Barrier(times)

    def run():
        ready.wait()
        answers.append(call())

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(answers), times)
    return answers


def test_different_bodies_at_the_same_time_have_one_winner(ctx):
    make_trigger(ctx.peal)
    for round in range(4):
        bodies = iter([{**EVENT, "payload": {"n": n}} for n in range(8)])
        answers = at_once(lambda: post(ctx.peal, "/v1/events", next(bodies), key=f"r{round}"), 8)
        equal(sorted(answer.status for answer in answers), [202] + [409] * 7)
    equal(count(ctx.peal, "events"), 4)


def test_the_clock_is_moved_once(ctx):
    first = post(ctx.peal, "/v1/clock", {"advance": "1h"}, expect=200).json
    for _ in range(3):
        equal(post(ctx.peal, "/v1/clock", {"advance": "1h"}, expect=200).json, first)
    equal(ctx.peal.get("/v1/clock", expect=200).json, first)
    check_reused(post(ctx.peal, "/v1/clock", {"advance": "2h"}))
    check_reused(post(ctx.peal, "/v1/tick"))
    ctx.peal.stop()
    ctx.peal.start()
    equal(post(ctx.peal, "/v1/clock", {"advance": "1h"}, expect=200).json, first)


def test_the_clock_is_moved_once_by_many_at_the_same_time(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1m"] * 20})
    ingest_one(ctx.peal)
    before = ctx.peal.get("/v1/clock", expect=200).json["now"]
    answers = at_once(lambda: post(ctx.peal, "/v1/clock", {"advance": "1h"}), 8)
    assert {answer.status for answer in answers} <= {200, 409}, answers
    equal(len({answer.text for answer in answers if answer.status == 200}), 1)
    equal((before[11:13], ctx.peal.get("/v1/clock", expect=200).json["now"][11:13]), ("05", "06"))


def test_a_tick_is_done_once(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h"})
    first = post(ctx.peal, "/v1/tick", expect=200).json
    ingest_one(ctx.peal)
    equal(post(ctx.peal, "/v1/tick", expect=200).json, first)
    assert ctx.peal.post("/v1/tick", expect=200).json["nextAt"] != first["nextAt"]


def test_what_stands_beside_the_body_is_part_of_the_request(ctx):
    """Query, content type, and the headers in which a CloudEvent has its attributes."""
    def send(key, path="/v1/events", media="application/json", raw=b'{"a":1}', **headers):
        return ctx.peal.post(path, raw=raw, headers={
            "Idempotency-Key": key, "Content-Type": media,
            **{f"ce-{name}": value for name, value in headers.items()}})

    cloud = {"specversion": "1.0", "type": "t", "source": "/s", "id": "1"}
    first = send("cloud", **cloud)
    equal(first.status, 202)
    equal(send("cloud", **dict(reversed(cloud.items()))).text, first.text, "the order is not")
    equal(send("cloud", **{name.upper(): value for name, value in cloud.items()}).text, first.text)
    for other in ({"id": "2"}, {"type": "u"}, {"extra": "x"}):
        check_reused(send("cloud", **{**cloud, **other}))
    check_reused(send("cloud", path="/v1/events?a=1", **cloud))
    check_reused(send("cloud", media="application/octet-stream", **cloud))
    check_reused(send("cloud", raw=b'{"a":2}', **cloud))
    equal(count(ctx.peal, "events"), 1)


def waiting(peal):
    """How many operations wait for the writer."""
    return int(re.search(r"^peal_writer_waiting (\d+)$", peal.get("/metrics").text, re.M)[1])


@only("postgres")
def test_a_reused_key_undoes_nobodys_batch(ctx):
    """Who reuses a key is refused alone; those in the same transaction do not notice."""
    peal, posts = ctx.start(clock="system"), 150
    make_trigger(peal)
    post(peal, "/v1/events", EVENT, key="mine", expect=202)
    answers = []

    def one(number):
        if number % 10 == 9:
            answers.append(post(peal, "/v1/events", {**EVENT, "source": str(number)}, key="mine"))
        else:
            answers.append(peal.post("/v1/events", EVENT))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(posts)]
    with Cluster.get().locked("peal.event", ctx.store_url):
        for thread in threads:
            thread.start()
        eventually(lambda: waiting(peal) >= 30)  # the others are with the writers already
    for thread in threads:
        thread.join()
    equal(sorted(answer.status for answer in answers), [202] * 135 + [409] * 15)
    rows = Cluster.get().query("SELECT COUNT(*), COUNT(DISTINCT xmin::text) FROM peal.event",
                               ctx.store_url)
    equal(int(rows[0][0]), 1 + 135)
    assert int(rows[0][1]) <= 15, f"{rows[0][1]} transactions: the batch was taken apart"


def test_it_is_known_after_a_restart(ctx):
    peal = ctx.start(clock="system")  # a manual one waits for the lease of a killed node
    make_trigger(peal)
    body = {"eventKind": KIND, "items": [visit()]}
    first = [post(peal, "/v1/events", EVENT, key="a").json,
             post(peal, "/v1/ingest", body, key="b").json,
             post(peal, "/v1/keys", {"role": "read", "name": "k"}, key="c").json]
    for stop in (peal.stop, peal.kill9):
        stop()
        peal.start()
        again = [post(peal, "/v1/events", EVENT, key="a").json,
                 post(peal, "/v1/ingest", body, key="b").json,
                 post(peal, "/v1/keys", {"role": "read", "name": "k"}, key="c").json]
        equal(again, first)
    equal(count(peal, "events"), 2)


def test_two_keys_in_one_request_are_refused(ctx):
    """The same one twice too; a key with a comma is one key."""
    make_trigger(ctx.peal)
    for keys, status in ((("a", "b"), 400), (("a", "a"), 400), (("a, b",), 202)):
        connection = http.client.HTTPConnection(ctx.peal.host, timeout=60)
        with contextlib.closing(connection):
            raw = json.dumps(EVENT).encode()
            connection.putrequest("POST", "/v1/events")
            for name, value in (("Authorization", f"Bearer {ctx.peal.key}"),
                                ("Content-Type", "application/json"),
                                ("Content-Length", str(len(raw))),
                                *(("Idempotency-Key", key) for key in keys)):
                connection.putheader(name, value)
            connection.endheaders(raw)
            answer = connection.getresponse()
            equal((answer.status, b"more than one" in answer.read()), (status, status == 400), keys)
    equal(count(ctx.peal, "events"), 1)


def test_a_get_and_a_put_take_no_notice_of_it(ctx):
    make_trigger(ctx.peal)
    headers = {"Idempotency-Key": "same"}
    equal(ctx.peal.get("/v1/triggers", headers=headers).status, 200)
    for enabled in (False, True):
        answer = ctx.peal.put("/v1/triggers/visit", trigger_body(enabled=enabled), headers=headers)
        equal((answer.status, answer.json["enabled"]), (200, enabled))


def kept_keys(ctx):
    table = "peal.idempotency" if ctx.store == "postgres" else "idempotency"
    return int(ctx.sql(f"SELECT count(*) FROM {table}")[0][0])


def test_a_key_stands_for_a_day_and_is_then_gone(ctx):
    """The purge goes in batches: there are more keys than one of them deletes."""
    connection, many = http.client.HTTPConnection(ctx.peal.host, timeout=60), 510
    for number in range(many):
        connection.request("POST", "/v1/hold", body=b"{}", headers={
            "Authorization": f"Bearer {ctx.peal.key}", "Content-Type": "application/json",
            "Idempotency-Key": f"many-{number}"})
        answer = connection.getresponse()
        answer.read()
        equal(answer.status, 200)
    connection.close()
    ctx.peal.post("/v1/release", expect=200)
    advance(ctx.peal, "1h")
    first = post(ctx.peal, "/v1/events", EVENT, expect=202).json
    advance(ctx.peal, "22h59m")
    equal(post(ctx.peal, "/v1/events", EVENT, expect=202).json, first)
    check_reused(post(ctx.peal, "/v1/events", {**EVENT, "kind": "other"}))
    ctx.peal.stop()
    equal(kept_keys(ctx), many + 1)
    ctx.peal.restart(clock="manual")  # it goes on from where it was
    advance(ctx.peal, "2m")
    ctx.peal.stop()
    equal(kept_keys(ctx), 1)  # that of the event, which came an hour after the others
    ctx.peal.restart(clock="manual")
    advance(ctx.peal, "1h")
    assert post(ctx.peal, "/v1/events", EVENT, expect=202).json["eventId"] != first["eventId"]
    equal(settle(ctx.peal)["purged"], 0)
    advance(ctx.peal, "24h1m")
    ctx.peal.stop()
    equal(kept_keys(ctx), 0)


if __name__ == "__main__":
    main()
