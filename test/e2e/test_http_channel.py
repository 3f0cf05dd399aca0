"""The way out over HTTP, as the contract has it: signed, retried under one id, judged by status."""
import base64
import datetime
import email.utils
import hmac
import re
import subprocess
import threading

from harness import Receiver, equal, like, main, only
from postgres import free_port, program
from steps import (ADDRESS, KIND, advance, attempt_times, attempts, deliveries, delivery, ingest,
                   ingest_one, make_trigger, moment, problems, settle, visit)

KEY = "http:out"
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"another one, of thirty-two bytes").decode()
EVERY_30S = {"policy": "fixed", "interval": "30s", "max": 3}


def channel_body(url, key=KEY, **members):
    config = {"url": url, **members.pop("config", {})}
    return {"key": key, "type": "http", "config": config, **members}


def make_http(peal, url, **members):
    """A channel that posts to the URL, and a trigger that sends visits there."""
    made = peal.post("/v1/channels", channel_body(url, **members), expect=201).json
    make_trigger(peal, channel=made["key"], retry=EVERY_30S)
    return made


def change_http(peal, url, **members):
    return peal.put(f"/v1/channels/{KEY}", channel_body(url, **members), expect=200).json


def send_one(peal):
    """One delivery, tried once; answers its id."""
    id = ingest_one(peal)
    settle(peal)
    return id


def last_attempt(peal, id):
    return attempts(peal, id)[-1]


def signature(secret, request):
    """What Standard Webhooks says that the header must be."""
    name, at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{name}.{at}.".encode() + request.body
    return "v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode()


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def unix_time(text):
    return str(int(time_of(text).timestamp()))


def http_date(text):
    """One of our moments, as an HTTP header has it."""
    at = time_of(text).astimezone(datetime.timezone.utc)
    return email.utils.format_datetime(at, usegmt=True)


# What is sent


def test_a_message_is_signed_as_standard_webhooks_asks(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url + "/in", config={"signingSecret": SECRET})
    id = send_one(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal((request.method, request.path), ("POST", "/in"))
    equal(request.headers["content-type"], "application/json")
    equal(request.headers["webhook-id"], f"{id}.1")
    equal(request.headers["webhook-timestamp"], unix_time(moment()))
    equal(request.headers["webhook-signature"], signature(SECRET, request))
    equal(delivery(ctx.peal, id)["state"], "delivered")


def test_each_live_secret_signs(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, config={"signingSecret": [SECRET, OTHER_SECRET]})
    send_one(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal(request.headers["webhook-signature"].split(" "),
          [signature(SECRET, request), signature(OTHER_SECRET, request)])


def rotate(peal, expect=200, key=KEY, **body):
    return peal.post(f"/v1/channels/{key}/rotate", body, expect=expect)


def signatures_of_next(ctx, receiver):
    """What the next message is signed with, and the message."""
    count = receiver.count()
    send_one(ctx.peal)
    request = receiver.wait_for(count + 1)[count]
    return request.headers["webhook-signature"].split(" "), request


def test_a_rotated_secret_signs_beside_the_new_one_until_its_overlap_ends(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    make_http(peal, receiver.url, config={"signingSecret": SECRET})
    advance(peal, "1h")
    answer = rotate(peal, secret="signingSecret", overlap="2h").json
    made = answer.pop("value")
    equal(answer, {"key": KEY, "secret": "signingSecret", "version": 2,
                   "rotatedAt": moment(hours=1), "previousUntil": moment(hours=3)})
    shown = peal.get(f"/v1/channels/{KEY}", expect=200)
    equal(shown.json["config"]["signingSecret"], {"set": True, "rotatedAt": moment(hours=1)})
    assert made not in shown.text and SECRET not in shown.text
    for hours in (0, 1.999):
        if hours:
            advance(peal, "7196s")
        signed, request = signatures_of_next(ctx, receiver)
        equal(signed, [signature(made, request), signature(SECRET, request)], f"after {hours} h")
    peal.stop()
    peal.start()  # its clock begins anew
    signed, request = signatures_of_next(ctx, receiver)
    equal(signed, [signature(made, request), signature(SECRET, request)], "the overlap is stored")
    advance(peal, "3h")
    signed, request = signatures_of_next(ctx, receiver)
    equal(signed, [signature(made, request)], "the old one is forgotten")


def sealed_in(text):
    return set(re.findall(r'"\$sealed":"([^"]+)"', text))


def versions(ctx):
    schema = "peal." if ctx.store == "postgres" else ""
    return [row[0] for row in ctx.sql(f"SELECT body FROM {schema}definition_version"
                                      f" WHERE id = '{KEY}' ORDER BY version")]


def is_in_file(ctx, text):
    """Whether a stopped SQLite store has it anywhere; PostgreSQL vacuums its pages in its own time."""
    return ctx.store == "sqlite" and text.encode() in open(ctx.store_url.removeprefix("sqlite:"), "rb").read()


def test_an_old_secret_is_erased_when_its_overlap_is_over(ctx):
    peal = ctx.peal
    peal.post("/v1/channels", channel_body("http://127.0.0.1:9/", config={"signingSecret": SECRET}), expect=201)
    peal.stop()
    [first] = sealed_in(versions(ctx)[-1])
    peal.start()
    rotate(peal, secret="signingSecret", overlap="2h")
    peal.stop()
    old, new = versions(ctx)[-2:]
    equal(sealed_in(old), set())  # the new version has both
    assert first in sealed_in(new) and len(sealed_in(new)) == 2, new
    peal.start()
    advance(peal, "3h")
    peal.stop()
    [second] = sealed_in(versions(ctx)[-1])
    assert first not in "".join(versions(ctx)) and not is_in_file(ctx, first)
    peal.start()
    peal.delete(f"/v1/channels/{KEY}", expect=204)
    peal.stop()
    assert second not in "".join(versions(ctx)) and not is_in_file(ctx, second)


def test_a_change_keeps_the_overlap_and_a_given_secret_ends_it(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    make_http(peal, receiver.url, config={"signingSecret": SECRET})
    answer = rotate(peal, secret="signingSecret", value=OTHER_SECRET).json
    assert "value" not in answer, "what the caller gave is not told"
    equal(answer["previousUntil"], moment(hours=24))
    peal.patch(f"/v1/channels/{KEY}", {"timeout": "5s"}, expect=200)
    signed, request = signatures_of_next(ctx, receiver)
    equal(signed, [signature(OTHER_SECRET, request), signature(SECRET, request)])
    equal(rotate(peal, secret="signingSecret", value=SECRET, overlap="0s").json["previousUntil"], None)
    signed, request = signatures_of_next(ctx, receiver)
    equal(signed, [signature(SECRET, request)], "without an overlap the old one is gone at once")


def test_only_secrets_are_rotated(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    make_http(peal, receiver.url, config={"signingSecret": SECRET, "authorization": "Bearer one"})
    for body, problem in [
            ({"secret": "url", "value": "x"}, ("/secret", "bad-value")),
            ({"secret": "headers", "value": "x"}, ("/secret", "bad-value")),
            ({"secret": "signingSecret", "value": "short"}, ("/value", "bad-secret")),
            ({"secret": "signingSecret", "overlap": "31d"}, ("/overlap", "bad-duration")),
            ({"secret": "authorization"}, ("/value", "missing-member")),
            ({"secret": "authorization", "value": "x", "overlap": "1h"}, ("/overlap", "bad-value")),
            ({"value": "x"}, ("/secret", "missing-member"))]:
        equal(problems(rotate(peal, expect=422, **body)), [problem], str(body))
    rotate(peal, expect=404, key="http:none", secret="signingSecret")
    rotate(peal, secret="authorization", value="Bearer two")
    signatures_of_next(ctx, receiver)
    equal(receiver.received[-1].headers["authorization"], "Bearer two")


def test_the_command_line_rotates(ctx):
    receiver, peal = ctx.receiver(), ctx.peal
    make_http(peal, receiver.url, config={"signingSecret": SECRET})
    ran = peal.cli("channels", "rotate", KEY, "signingSecret", "--overlap", "1h")
    equal(ran.code, 0, ran.err)
    made = re.search(r"whsec_\S+", ran.out)[0]
    assert "shown this once" in ran.err, ran.err
    signed, request = signatures_of_next(ctx, receiver)
    equal(signed, [signature(made, request), signature(SECRET, request)])


def test_without_a_secret_nothing_is_signed(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    send_one(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal(request.headers["webhook-signature"], None)
    assert request.headers["webhook-id"], "the id is there all the same"


def test_retries_keep_the_id_and_count_the_attempt(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, config={"signingSecret": SECRET})
    receiver.answer_next(503)
    receiver.answer_next(503)
    id = send_one(ctx.peal)
    advance(ctx.peal, "2m")
    tries = receiver.wait_for(3)
    equal([one.headers["webhook-id"] for one in tries], [f"{id}.1"] * 3)
    equal([one.headers["idempotency-key"] for one in tries], [f"{id}.1"] * 3)
    equal([one.headers["peal-attempt"] for one in tries], ["1", "2", "3"])
    equal([one.json["attempt"] for one in tries], [1, 2, 3])
    equal([one.headers["webhook-timestamp"] for one in tries],
          [unix_time(moment(seconds=s)) for s in (0, 30, 60)])
    for one in tries:
        equal(one.headers["webhook-signature"], signature(SECRET, one))
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 3, "send": 1})


def test_a_reminder_has_an_id_of_its_own(ctx):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", channel_body(receiver.url), expect=201)
    make_trigger(ctx.peal, channel=KEY, schedule={"reminders": ["1d"]})
    id = send_one(ctx.peal)
    advance(ctx.peal, "1d")
    sent = receiver.wait_for(2)
    equal([one.headers["webhook-id"] for one in sent], [f"{id}.1", f"{id}.2"])
    equal([(one.json["send"], one.json["attempt"]) for one in sent], [(1, 1), (2, 2)])


def test_the_body_has_what_the_contract_names(ctx):
    receiver = ctx.receiver()
    peal = ctx.start(args=["--url-template", "https://go.example/s/{publicId}"])
    make_http(peal, receiver.url)
    item = {**visit(note="größer als “das”"), "occurredAt": moment(hours=-1)}
    id = ingest_one(peal, item)
    settle(peal)
    row = delivery(peal, id)
    equal(receiver.wait_for(1)[0].json, {
        "type": KIND, "timestamp": moment(hours=-1), "rule": {"kind": "trigger", "id": "visit", "version": 1},
        "deliveryId": id, "publicId": row["publicId"], "eventId": row["eventId"],
        "eventKind": KIND, "triggerId": "visit", "send": 1, "attempt": 1, "address": ADDRESS,
        "locale": "ar", "customerRef": "cust-123",
        "url": f"https://go.example/s/{row['publicId']}", "occurredAt": moment(hours=-1),
        "payload": item["payload"]})


def test_the_trace_is_the_events_and_the_span_the_attempts(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer_next(500)
    id = send_one(ctx.peal)
    advance(ctx.peal, "30s")
    seen = [re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", one.headers["traceparent"])
            for one in receiver.wait_for(2)]
    assert all(seen), "a traceparent is as W3C has it"
    event = delivery(ctx.peal, id)["eventId"].replace("-", "")
    equal([one[1] for one in seen], [event, event])
    assert seen[0][2] != seen[1][2], "each attempt is a span of its own"


def test_a_trace_that_comes_in_is_continued(ctx):
    """Whichever way an event comes; the sampled flag goes along, a bad trace is none."""
    receiver, peal = ctx.receiver(), ctx.peal
    make_http(peal, receiver.url)
    one, two = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"
    span = "00f067aa0ba902b7"
    cloud = {"specversion": "1.0", "type": KIND, "source": "s", "id": "1", "data": {"wip": "c"},
             "traceparent": f"00-{two}-{span}-01"}
    cases = [
        ("/v1/ingest", {"eventKind": KIND, "items": [visit()]}, f"00-{one}-{span}-01", {},
         f"00-{one}-{span}-01"),
        ("/v1/events", {"kind": KIND, **visit()}, f"01-{one}-{span}-02-later", {},
         f"00-{one}-{span}-00"),
        ("/v1/events", cloud, f"00-{one}-{span}-01",
         {"Content-Type": "application/cloudevents+json"}, f"00-{two}-{span}-01"),
        ("/v1/events", {"wip": "d"}, f"00-{one}-{span}-01",
         {"ce-specversion": "1.0", "ce-type": KIND, "ce-source": "s", "ce-id": "2"},
         f"00-{one}-{span}-01"),
        ("/v1/ingest", {"eventKind": KIND, "items": [visit()]}, f"00-{one}-{span}", {}, None),
    ]
    for number, (path, body, sent, headers, kept) in enumerate(cases):
        answer = peal.post(path, body, headers={"traceparent": sent, **headers}).json
        item = answer["items"][0] if "items" in answer else answer
        settle(peal)
        event = peal.get(f"/v1/events/{item['eventId']}", expect=200).json
        equal(event["traceparent"], kept, f"{path} {sent}")
        _, trace, own, flags = receiver.wait_for(number + 1)[number].headers["traceparent"].split("-")
        equal((trace, flags), (kept[3:35], kept[53:]) if kept else
              (item["eventId"].replace("-", ""), "01"), f"{path} {sent}")
        assert own != span, "a span of its own"


def test_configured_headers_and_the_method_go_along(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, config={
        "headers": {"X-Team": "csi", "User-Agent": "ours/1"}, "authorization": "Bearer s3cr3t",
        "method": "PUT"})
    send_one(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal(request.method, "PUT")
    equal(request.headers["x-team"], "csi")
    equal(request.headers.get_all("user-agent"), ["ours/1"])
    equal(request.headers["authorization"], "Bearer s3cr3t")


# What an answer means


def test_an_answers_status_decides(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    stories = [("delivered", "delivered", "accepted", (200, 201, 202, 204, 299)),
               ("transient", "retrying", "unwell",
                (408, 425, 429, 500, 502, 503, 504, 507, 599)),
               ("permanent", "parked", "refused",
                (501, 505, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413,
                 422, 451))]
    for outcome, state, reason, statuses in stories:
        for status in statuses:
            receiver.answer(status)
            id = send_one(ctx.peal)
            like(last_attempt(ctx.peal, id),
                 {"outcome": outcome, "reason": reason, "code": status}, str(status))
            equal(delivery(ctx.peal, id)["state"], state, str(status))


def test_gone_parks_and_disables_the_channel(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer_next(410, body=b"moved away")
    id = send_one(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "gone"})
    like(last_attempt(ctx.peal, id), {"outcome": "permanent", "reason": "gone", "code": 410})
    shown = ctx.peal.get(f"/v1/channels/{KEY}", expect=200).json
    equal(shown["enabled"], False)

    next_id = send_one(ctx.peal)
    like(delivery(ctx.peal, next_id), {"state": "parked", "reason": "channel-disabled",
                                       "attemptCount": 0})
    equal(receiver.count(), 1)

    change_http(ctx.peal, receiver.url, enabled=True)
    ctx.peal.post(f"/v1/deliveries/{next_id}/retry", expect=200)
    settle(ctx.peal)
    equal(delivery(ctx.peal, next_id)["state"], "delivered")
    equal(receiver.count(), 2)


def test_a_redirect_is_not_followed(ctx):
    receiver, target = ctx.receiver(), ctx.receiver()
    make_http(ctx.peal, receiver.url)
    for status in (301, 302, 303, 307, 308):
        receiver.answer(status, headers={"Location": f"{target.url}/elsewhere"})
        equal(delivery(ctx.peal, send_one(ctx.peal))["state"], "parked", str(status))
    equal((receiver.count(), target.count()), (5, 0))


def test_no_answer_in_time_may_pass(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, timeout="1s")
    receiver.answer_next(200, hold=threading.Event())
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id),
         {"outcome": "transient", "reason": "no-answer", "code": None})
    like(delivery(ctx.peal, id), {"state": "retrying", "dueAt": moment(seconds=30)})
    advance(ctx.peal, "30s")
    equal(delivery(ctx.peal, id)["state"], "delivered")


def test_no_connection_may_pass(ctx):
    make_http(ctx.peal, f"http://127.0.0.1:{free_port()}")
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id),
         {"outcome": "transient", "reason": "no-connection", "code": None})
    assert last_attempt(ctx.peal, id)["detail"], "the detail says what happened"
    equal(delivery(ctx.peal, id)["state"], "retrying")


def test_a_connection_that_breaks_may_pass(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer_next(drop=True)
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-answer"})
    advance(ctx.peal, "30s")
    equal(delivery(ctx.peal, id)["state"], "delivered")


def test_retry_after_is_a_floor_with_a_ceiling(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    cases = [("120", dict(seconds=120)), ("5", dict(seconds=30)), ("0", dict(seconds=30)),
             ("999999", dict(hours=24)), ("99999999999999999999", dict(hours=24)),
             ("-7", dict(seconds=30)), ("soon", dict(seconds=30)), ("", dict(seconds=30)),
             (http_date(moment(minutes=10)), dict(minutes=10)),
             (http_date(moment(days=10)), dict(hours=24)),
             (http_date(moment(days=-10)), dict(seconds=30))]
    for number, (header, span) in enumerate(cases):
        for status in (429, 503):
            # A channel that was changed is tried at once: the case before asked for a pause.
            change_http(ctx.peal, f"{receiver.url}/{number}/{status}")
            receiver.answer(status, headers={"Retry-After": header})
            id = send_one(ctx.peal)
            equal(delivery(ctx.peal, id)["dueAt"], moment(**span), f"{status} {header!r}")


def test_a_refusal_that_asks_for_later_stays_a_refusal(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer(404, headers={"Retry-After": "60"})
    like(delivery(ctx.peal, send_one(ctx.peal)), {"state": "parked", "dueAt": None})


def test_the_far_sides_id_is_kept(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    cases = [({"webhook-delivery-id": "up-1"}, b"", "up-1"),
             ({"Content-Type": "application/json"}, b'{"id":"up-2","more":[1]}', "up-2"),
             ({"Content-Type": "application/json"}, b'{"id":12345678901234567890}',
              "12345678901234567890"),
             ({"webhook-delivery-id": "up-3"}, b'{"id":"up-4"}', "up-3"),
             ({}, b'{"no":"id"}', None), ({}, b"thanks", None), ({}, b'{"id":', None),
             ({}, b'{"id":{"a":1}}', None)]
    for headers, body, expected in cases:
        receiver.answer(200, headers=headers, body=body)
        equal(last_attempt(ctx.peal, send_one(ctx.peal))["providerId"], expected, str(body))


def test_up_to_four_kibibytes_of_the_answer_are_kept(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    cases = [(b"no such account", "no such account"), (b"x" * 4096, "x" * 4096),
             (b"y" * 100_000, "y" * 4096), ("ä".encode() * 4000, "ä" * 2048), (b"", None)]
    for body, kept in cases:
        receiver.answer(422, body=body)
        equal(last_attempt(ctx.peal, send_one(ctx.peal))["detail"], kept, str(body[:20]))


def test_an_answer_of_odd_bytes_is_kept_as_clean_text(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer(400, body=b"a\x00b\x1b[31m\xff\xfe end")
    detail = last_attempt(ctx.peal, send_one(ctx.peal))["detail"]
    assert "a" in detail and "end" in detail, detail
    assert not any(ord(c) < 0x20 for c in detail), repr(detail)


def test_an_endless_answer_does_not_hold_it_up(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer(200, body=b"z" * 5_000_000)
    like(last_attempt(ctx.peal, send_one(ctx.peal)), {"outcome": "delivered", "code": 200})


def test_the_last_error_is_shown_on_the_delivery(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    receiver.answer(503, body=b"the database is down")
    id = send_one(ctx.peal)
    assert "the database is down" in delivery(ctx.peal, id)["lastError"], delivery(ctx.peal, id)


# Where it may go


def test_private_addresses_are_refused_unless_allowed(ctx):
    receiver = ctx.receiver()
    port = receiver.url.rpartition(":")[2]
    peal = ctx.start(allow_private=None)
    hosts = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.1", "0x7f000001",
             "0x7f.1", "2130706433", "0177.0.0.1", "0.0.0.0", "0", "[::]",
             "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
             "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]", "10.0.0.1",
             "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
             "255.255.255.255"]
    make_http(peal, f"http://{hosts[0]}:{port}/")
    for host in hosts:
        change_http(peal, f"http://{host}:{port}/")
        id = send_one(peal)
        like(delivery(peal, id), {"state": "parked", "reason": "address-forbidden"}, host)
        like(last_attempt(peal, id), {"outcome": "permanent", "code": None}, host)
    equal(receiver.count(), 0)


def test_an_allowed_range_opens_no_other(ctx):
    receiver = ctx.receiver()
    port = receiver.url.rpartition(":")[2]
    peal = ctx.start(allow_private="127.0.0.2/32,10.0.0.0/8")
    make_http(peal, f"http://127.0.0.1:{port}/")
    like(delivery(peal, send_one(peal)), {"state": "parked", "reason": "address-forbidden"})
    equal(receiver.count(), 0)
    peal.stop()
    peal = ctx.start(allow_private="127.0.0.1")
    change_http(peal, f"http://127.1:{port}/")
    equal(delivery(peal, send_one(peal))["state"], "delivered")
    equal(receiver.count(), 1)


def test_a_kept_connection_does_not_outlive_the_allowance(ctx):
    """The address is checked again for each request: a restart with less allows less."""
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url)
    equal(delivery(ctx.peal, send_one(ctx.peal))["state"], "delivered")
    ctx.peal.stop()
    peal = ctx.start(allow_private=None)
    equal(delivery(peal, send_one(peal))["state"], "parked")
    equal(receiver.count(), 1)


# What a channel may say


def test_headers_that_could_be_injected_are_refused_when_saved(ctx):
    names = ["X-A\r\nX-B", "X-A\n", "X A", "X-A:", "", "Ünicode", "Host", "content-length",
             "Transfer-Encoding", "connection", "Content-Type", "Webhook-Id", "webhook-signature",
             "peal-attempt", "traceparent", "Authorization", "idempotency-key", "expect"]
    values = ["a\r\nX-B: c", "a\nb", "a\rb", "a\tb\x1b", "\x7f", 7, None, ["a"], "x" * 3000]
    for headers in [{name: "a"} for name in names] + [{"X-A": value} for value in values]:
        answer = ctx.peal.post("/v1/channels",
                               channel_body("http://a.example/", config={"headers": headers}))
        equal(answer.status, 422, repr(headers)[:60])
        equal(answer.json["code"], "channel-invalid", repr(headers)[:60])
        assert problems(answer)[0][0].startswith("/config/headers"), answer.json
    equal(ctx.peal.get(f"/v1/channels/{KEY}").status, 404)


def test_urls_that_lead_elsewhere_are_refused_when_saved(ctx):
    urls = ["", "//a.example", "a.example", "ftp://a.example/", "file:///etc/passwd", "http://",
            "http:///x", "http://user:pw@a.example/", "http://a.example/\r\nX: y",
            "http://a.example/ HTTP/1.1", "http://a\\b.example/", "gopher://a/", "javascript:1",
            "http://" + "a" * 3000]
    for url in urls:
        answer = ctx.peal.post("/v1/channels", channel_body(url))
        equal(answer.status, 422, url[:60])
        equal([path for path, _ in problems(answer)], ["/config/url"], url[:60])


def test_other_mistakes_in_a_channel_have_a_place(ctx):
    cases = [({"config": {"signingSecret": "hunter2"}}, "/config/signingSecret"),
             ({"config": {"signingSecret": "whsec_" + "!" * 40}}, "/config/signingSecret"),
             ({"config": {"signingSecret": "whsec_c2hvcnQ="}}, "/config/signingSecret"),
             ({"config": {"signingSecret": [SECRET] * 5}}, "/config/signingSecret"),
             ({"config": {"signingSecret": []}}, "/config/signingSecret"),
             ({"config": {"signingSecret": [SECRET, "x"]}}, "/config/signingSecret/1"),
             ({"config": {"signingSecret": 7}}, "/config/signingSecret"),
             ({"config": {"method": "GET"}}, "/config/method"),
             ({"config": {"URL": "http://b.example"}}, "/config/URL"),
             ({"concurrency": 0}, "/concurrency"), ({"concurrency": "3"}, "/concurrency"),
             ({"timeout": "0s"}, "/timeout"), ({"timeout": "1d"}, "/timeout"),
             ({"rate": {"per": "1s"}}, "/rate/max"), ({"rate": {"max": 1}}, "/rate/per"),
             ({"rate": {"per": "1s", "max": 0}}, "/rate/max"), ({"rate": 5}, "/rate"),
             ({"retry": {"policy": "never"}}, "/retry/policy"), ({"colour": 1}, "/colour"),
             ({"type": "pigeon"}, "/type")]
    for members, place in cases:
        answer = ctx.peal.post("/v1/channels", channel_body("http://a.example/", **members))
        equal(answer.status, 422, place)
        equal([path for path, _ in problems(answer)], [place], str(members))


# Secrets


def test_secrets_are_written_and_never_shown(ctx):
    peal = ctx.start(args=["--log-level", "debug"])
    receiver = ctx.receiver()
    secrets = [SECRET, OTHER_SECRET, "Bearer s3cr3t-of-the-far-side"]
    made = make_http(peal, receiver.url, config={"signingSecret": secrets[:2],
                                                 "authorization": secrets[2]})
    shown = {"set": True, "rotatedAt": moment()}
    receiver.answer(422, body=b"no")
    send_one(peal)
    page = peal.get("/v1/channels", expect=200).json["items"]
    for row in [made, peal.get(f"/v1/channels/{KEY}", expect=200).json,
                change_http(peal, receiver.url), *(row for row in page if row["key"] == KEY)]:
        equal(row["config"], {"url": receiver.url, "signingSecret": shown,
                              "authorization": shown})
    bad = peal.post("/v1/channels", channel_body("ftp://x", config={"signingSecret": SECRET}))
    assert SECRET not in bad.text, "a refusal does not repeat the secret"
    kept = everything_stored(ctx, peal) + peal.log(5000).encode()
    assert receiver.url.encode() in kept, "the dump shows what it should"
    for secret in secrets:
        bare = secret.removeprefix("whsec_").removeprefix("Bearer ")
        assert bare.encode() not in kept, f"{bare} lies in the database or the log"
    for raw in (b"a secret of twenty-four b", b"another one, of thirty-two bytes"):
        assert raw not in kept, "the key itself lies in the database"
        assert raw.hex().encode() not in kept, "the key itself lies in the database, as hex"


def everything_stored(ctx, peal):
    """All bytes of the store: the files of SQLite, or what pg_dump writes."""
    if ctx.store == "sqlite":
        files = ctx.folder.glob("*.db*")
        return b"".join(path.read_bytes() for path in files if path.suffix != ".key")
    done = subprocess.run([program("pg_dump"), "-d", peal.store], capture_output=True, check=True)
    return done.stdout


def test_a_secret_stays_until_it_is_changed(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, config={"signingSecret": SECRET})

    def signed_by():
        send_one(ctx.peal)
        request = receiver.received[-1]
        given = request.headers["webhook-signature"]
        names = {None: None, signature(SECRET, request): "old",
                 signature(OTHER_SECRET, request): "new"}
        return names[given]

    equal(signed_by(), "old")
    change_http(ctx.peal, receiver.url)
    equal(signed_by(), "old", "left out")
    change_http(ctx.peal, receiver.url, config={"signingSecret": {"set": True}})
    equal(signed_by(), "old", "sent back as it was shown")
    advance(ctx.peal, "1h")
    changed = change_http(ctx.peal, receiver.url, config={"signingSecret": OTHER_SECRET})
    equal(changed["config"]["signingSecret"], {"set": True, "rotatedAt": moment(hours=1)})
    equal(signed_by(), "new")
    ctx.peal.restart()
    equal(signed_by(), "new", "after a restart")
    change_http(ctx.peal, receiver.url, config={"signingSecret": None})
    equal(signed_by(), None, "taken away")
    answer = ctx.peal.put(f"/v1/channels/{KEY}",
                          channel_body(receiver.url, config={"signingSecret": {"set": True}}))
    equal(answer.status, 422)


@only("sqlite")
def test_the_master_key_lies_beside_the_store(ctx):
    """Whatever folder Peal is started from: the secrets open again."""
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, config={"signingSecret": SECRET})
    key = ctx.folder / (ctx.peal.store.rpartition("/")[2] + ".key")
    equal(key.stat().st_mode & 0o777, 0o600)
    ctx.peal.stop()
    elsewhere = ctx.folder / "elsewhere"
    elsewhere.mkdir()
    ctx.peal.folder = elsewhere
    ctx.peal.start()
    send_one(ctx.peal)
    request = receiver.wait_for(1)[0]
    equal(request.headers["webhook-signature"], signature(SECRET, request))
    equal(list(elsewhere.iterdir()), [])


# How much at once


class CountingReceiver(Receiver):
    """Knows how many requests it had open at once; answers none before the gate is open."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.open_count = self.most = 0

    def take(self, request):
        answer = super().take(request)
        with self.changed:
            self.open_count += 1
            self.most = max(self.most, self.open_count)
        return answer._replace(hold=self)

    def wait(self, seconds):
        """What is asked of a hold. The count goes down before the answer lets the next one come."""
        if not self.gate.wait(seconds):
            return False
        with self.changed:
            self.open_count -= 1
        return True


def test_no_more_are_under_way_than_the_channel_allows(ctx):
    receiver = CountingReceiver()
    ctx.closers.append(receiver.close)
    make_http(ctx.peal, receiver.url, concurrency=3)
    ingest(ctx.peal, *[visit() for _ in range(40)])
    receiver.wait_for(3)
    equal(len(deliveries(ctx.peal, "&state=sending")), 3)
    equal(len(deliveries(ctx.peal, "&state=pending")), 37)
    receiver.gate.set()
    settle(ctx.peal)
    equal(receiver.count(), 40)
    equal(receiver.most, 3)
    equal(len(deliveries(ctx.peal, "&state=delivered")), 40)


def test_a_slow_channel_does_not_hold_up_another(ctx):
    slow, quick = ctx.receiver(), ctx.receiver()
    gate = threading.Event()
    slow.answer(200, hold=gate)
    make_http(ctx.peal, slow.url, concurrency=2)
    ctx.peal.post("/v1/channels", channel_body(quick.url, key="http:quick"), expect=201)
    make_trigger(ctx.peal, "quick", eventKind="other", channel="http:quick")
    ingest(ctx.peal, *[visit() for _ in range(30)])
    slow.wait_for(2)
    ingest(ctx.peal, *[visit() for _ in range(10)], kind="other")
    quick.wait_for(10)
    equal(slow.count(), 2)
    gate.set()
    settle(ctx.peal)
    equal(slow.count(), 30)


def test_a_rate_delays_and_spends_no_attempts(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, rate={"per": "1s", "max": 5})
    ids = [pair["deliveryId"] for item in
           ingest(ctx.peal, *[visit() for _ in range(12)])["items"] for pair in item["deliveries"]]
    settle(ctx.peal)
    equal(receiver.count(), 5)
    advance(ctx.peal, "1s")
    equal(receiver.count(), 10)
    advance(ctx.peal, "1s")
    equal(receiver.count(), 12)
    times = sorted(at for id in ids for at in attempt_times(ctx.peal, id))
    equal(times, [moment()] * 5 + [moment(seconds=1)] * 5 + [moment(seconds=2)] * 2)
    equal({delivery(ctx.peal, id)["state"] for id in ids}, {"delivered"})


def test_a_rate_counts_retries_too(ctx):
    receiver = ctx.receiver()
    make_http(ctx.peal, receiver.url, rate={"per": "1m", "max": 2})
    receiver.answer(503)
    ingest(ctx.peal, visit(), visit(), visit())
    advance(ctx.peal, "10m")
    stamps = [int(one.headers["webhook-timestamp"]) for one in receiver.received]
    windows = [stamp // 60 for stamp in stamps]
    assert max(windows.count(window) for window in windows) <= 2, windows
    equal(len(stamps), 12)


@only("sqlite")
def test_a_proxy_of_the_environment_is_not_used(ctx):
    proxy, receiver = ctx.receiver(), ctx.receiver()
    peal = ctx.start(env={"http_proxy": proxy.url, "HTTP_PROXY": proxy.url,
                          "ALL_PROXY": proxy.url})
    make_http(peal, receiver.url)
    send_one(peal)
    equal((proxy.count(), receiver.count()), (0, 1))


if __name__ == "__main__":
    main()
