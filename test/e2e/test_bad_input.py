"""Bad input gets a clear problem with a code, changes nothing, and the server goes on."""
import json
import re
import socket
import threading

from harness import equal, like, main
from steps import KIND, deliveries, ingest, make_trigger, problems, trigger_body, visit

EVENT = {"kind": "order.paid", "payload": {"total": 1}}


def check_problem(answer, status, about):
    """A problem is told in full, whatever it is."""
    equal(answer.status, status, about)
    equal(answer.headers.get_content_type(), "application/problem+json", about)
    told = answer.json
    like(told, {"status": status, "type": f"/docs/errors#{told['code']}"}, about)
    assert told["title"] and told["detail"], f"{about}: {told}"
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told["requestId"]), told
    return told


def stored(peal):
    """All that a request could have left behind."""
    return [peal.get(path, expect=200).json["items"] for path in
            ("/v1/events", "/v1/deliveries", "/v1/triggers", "/v1/channels", "/v1/keys")]


def nested(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


# JSON


MALFORMED = {
    "nothing": b"", "a word": b"hello", "cut off": b'{"kind":"a"', "two values": b"{} {}",
    "a comma too many": b'{"kind":"a",}', "single quotes": b"{'kind':'a'}",
    "a comment": b'{"kind":"a"/*b*/}', "no quotes": b'{kind:"a"}', "NaN": b'{"kind":NaN}',
    "a number that is none": b'{"kind":01}', "a control character": b'{"kind":"a\nb"}',
    "a broken escape": b'{"kind":"\\x41"}', "half a pair": b'{"kind":"\\ud800"}',
    "bad UTF-8": b'{"kind":"\xff\xfe"}', "an overlong slash": b'{"kind":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"kind":"\xed\xa0\x80"}', "UTF-16": '{"kind":"a"}'.encode("utf-16"),
    "a NUL": b'{"kind":"a"}\x00', "a key twice": b'{"kind":"a","kind":"b"}',
    "a key twice, escaped": b'{"kind":"a","\\u006bind":"b"}',
    "a key twice, inside": b'{"kind":"a","payload":{"x":1,"y":{"z":1,"z":2}}}',
    "too deep": b'{"kind":"a","payload":{"x":' + nested(40).encode() + b"}}",
    "very deep": b"[" * 100_000, "deep objects": b'{"a":' * 50_000,
}


def test_what_is_not_json_is_refused_everywhere(ctx):
    before = stored(ctx.peal)
    paths = ["/v1/events", "/v1/ingest", "/v1/triggers", "/v1/channels", "/v1/keys",
             "/v1/operations"]
    for name, raw in MALFORMED.items():
        for path in paths:
            told = check_problem(ctx.peal.post(path, raw=raw), 400, f"{name} to {path}")
            equal(told["code"], "malformed", f"{name} to {path}")
    for name, raw in MALFORMED.items():
        check_problem(ctx.peal.put("/v1/channels/memory:default", raw=raw), 400, name)
    equal(stored(ctx.peal), before)


def test_a_nul_in_a_text_is_refused(ctx):
    """PostgreSQL could not keep it; so that both stores agree, neither does."""
    make_trigger(ctx.peal)
    before = stored(ctx.peal)
    nul = "a\x00b"
    for path, body in [("/v1/events", {"kind": nul}), ("/v1/events", {**EVENT, "entity": nul}),
                       ("/v1/events", {**EVENT, "payload": {"x": [nul]}}),
                       ("/v1/events", {**EVENT, "payload": {nul: 1}}),
                       ("/v1/triggers", trigger_body(nul)),
                       ("/v1/triggers", trigger_body("t", eventKind=nul)),
                       ("/v1/channels", {"key": "memory:x", "type": "memory", "config": {nul: 1}})]:
        answer = ctx.peal.post(path, body)
        assert answer.status in (400, 422), f"{path} {body}: {answer.status} {answer.text}"
        check_problem(answer, answer.status, path)
    equal(stored(ctx.peal), before)


def test_depth_thirty_two_is_the_last_that_is_taken(ctx):
    inner = '{"kind":"deep","payload":{"x":%s}}'
    equal(ctx.peal.post("/v1/events", raw=(inner % nested(30)).encode()).status, 202)
    told = check_problem(ctx.peal.post("/v1/events", raw=(inner % nested(31)).encode()), 400, "")
    assert "deep" in told["detail"] or "depth" in told["detail"] or "nest" in told["detail"], told


def test_numbers_and_texts_come_back_as_they_were(ctx):
    raw = ('{"kind":"exact","payload":{"big":9007199254740993,"small":0.1000,"e":1E40,'
           '"neg":-0,"text":"\\u00e4\\ud83d\\ude00 \\u2028","empty":"","nothing":null}}')
    id = ctx.peal.post("/v1/events", raw=raw.encode(), expect=202).json["eventId"]
    answer = raw_get(ctx.peal, f"/v1/events/{id}")
    for text in ('"big":9007199254740993', '"small":0.1000', '"e":1E40', '"neg":-0',
                 '"empty":""', '"nothing":null', "ä😀"):
        assert text in answer, f"{text} in {answer}"


def raw_get(peal, path):
    """The body as text: what json.loads would make of the numbers is beside the point."""
    with socket.create_connection(peal.host.split(":"), timeout=30) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {peal.host}\r\nConnection: close\r\n"
                       f"Authorization: Bearer {peal.key}\r\n\r\n".encode())
        return read_all(client).partition(b"\r\n\r\n")[2].decode()


# Types, members, values


def test_wrong_types_have_a_place(ctx):
    before = stored(ctx.peal)
    cases = [("/v1/events", [], [""]), ("/v1/events", "text", [""]), ("/v1/events", {}, ["/kind"]),
             ("/v1/events", {"kind": 7}, ["/kind"]), ("/v1/events", {"kind": ""}, ["/kind"]),
             ("/v1/events", {**EVENT, "payload": [1]}, ["/payload"]),
             ("/v1/events", {**EVENT, "payload": "x"}, ["/payload"]),
             ("/v1/events", {**EVENT, "recipient": "ada"}, ["/recipient"]),
             ("/v1/events", {**EVENT, "occurredAt": 5}, ["/occurredAt"]),
             ("/v1/events", {**EVENT, "entity": 5}, ["/entity"]),
             ("/v1/events", {**EVENT, "source": {}, "id": 1}, ["/id", "/source"]),
             ("/v1/ingest", [], [""]), ("/v1/ingest", {}, ["/eventKind", "/items"]),
             ("/v1/ingest", {"eventKind": 1, "items": {}}, ["/eventKind", "/items"]),
             ("/v1/triggers", [], [""]), ("/v1/triggers", {}, ["/channel", "/eventKind", "/id"]),
             ("/v1/triggers", trigger_body(7), ["/id"]),
             ("/v1/triggers", trigger_body(enabled="yes"), ["/enabled"]),
             ("/v1/triggers", trigger_body(dedupRecipe="wip"), ["/dedupRecipe"]),
             ("/v1/triggers", trigger_body(schedule=["1d"]), ["/schedule"]),
             ("/v1/triggers", trigger_body(filter="x"), ["/filter"]),
             ("/v1/channels", {}, ["/key", "/type"]),
             ("/v1/channels", {"key": 1, "type": "memory"}, ["/key"]),
             ("/v1/channels", {"key": "memory:x", "type": "memory", "config": []}, ["/config"]),
             ("/v1/keys", {}, ["/role"]), ("/v1/keys", {"role": ["admin"]}, ["/role"]),
             ("/v1/tenants", {"id": "Not One!"}, ["/id"]), ("/v1/tenants", {}, ["/id"]),
             ("/v1/operations", {}, ["/action", "/filter"]),
             ("/v1/operations", {"action": "explode", "filter": {}}, ["/action"]),
             ("/v1/operations", {"action": "retry", "filter": []}, ["/filter"]),
             ("/v1/operations", {"action": "retry", "filter": {}, "dryRun": 1}, ["/dryRun"])]
    for path, body, places in cases:
        answer = ctx.peal.post(path, body)
        check_problem(answer, 422, f"{path} {body}")
        equal(sorted({place for place, _ in problems(answer)}), places, f"{path} {body}")
    equal(stored(ctx.peal), before)


def test_unknown_members_of_a_definition_are_refused(ctx):
    before = stored(ctx.peal)
    cases = [("/v1/triggers", trigger_body(eventkind=KIND), "/eventkind"),
             ("/v1/triggers", trigger_body(schedule={"remind": []}), "/schedule/remind"),
             ("/v1/triggers", trigger_body(retry={"policy": "fixed", "times": 3}), "/retry/times"),
             ("/v1/triggers", trigger_body(cancelOn={"eventKind": "a", "matches": []}),
              "/cancelOn/matches"),
             ("/v1/channels", {"key": "memory:x", "type": "memory", "colour": 1}, "/colour"),
             ("/v1/channels", {"key": "memory:x", "type": "memory", "config": {"a": 1}},
              "/config/a"),
             ("/v1/keys", {"role": "read", "scope": "all"}, "/scope"),
             ("/v1/tenants", {"id": "acme", "plan": "pro"}, "/plan"),
             ("/v1/operations", {"action": "retry", "filter": {}, "force": True}, "/force"),
             ("/v1/operations", {"action": "retry", "filter": {"stat": "parked"}}, "/filter/stat"),
             ("/v1/clock", {"advance": "1h", "by": "me"}, "/by")]
    for path, body, place in cases:
        answer = ctx.peal.post(path, body)
        check_problem(answer, 422, f"{path} {body}")
        assert place in [at for at, _ in problems(answer)], f"{place}: {answer.text}"
    equal(stored(ctx.peal), before)


def test_members_that_begin_alike_in_an_event_are_data(ctx):
    body = {"kind": "odd", "payload": {"$sealed": 1, "": 2, "a/b": 3, "~": 4, "__proto__": 5}}
    id = ctx.peal.post("/v1/events", body, expect=202).json["eventId"]
    equal(ctx.peal.get(f"/v1/events/{id}", expect=200).json["payload"], body["payload"])


def test_bad_durations_are_refused(ctx):
    for bad in ("", "5", "d", "1 d", "-1d", "1.5h", "1y", "1d1d", "1h1d", "٣d", "1D", "99999999d",
                "9999999999999999999s", 5, True, {}):
        for body, place in ((trigger_body(schedule={"initialDelay": bad}),
                             "/schedule/initialDelay"),
                            (trigger_body(schedule={"reminders": [bad]}), "/schedule/reminders/0"),
                            (trigger_body(expireAfter=bad), "/expireAfter"),
                            (trigger_body(retry={"policy": "fixed", "interval": bad}),
                             "/retry/interval")):
            answer = ctx.peal.post("/v1/triggers", body)
            check_problem(answer, 422, f"{bad!r} at {place}")
            equal([at for at, _ in problems(answer)], [place], repr(bad))
        equal(ctx.peal.post("/v1/clock", {"advance": bad}).status, 422, repr(bad))
    equal(ctx.peal.get("/v1/triggers", expect=200).json["items"], [])


def test_bad_times_are_refused(ctx):
    before = stored(ctx.peal)
    for bad in ("", "now", "2026-05-14", "05:12", "2026-02-30T00:00:00Z", "2026-05-14T25:00:00Z",
                "2026-05-14T05:12:34", "2026-05-14T05:12:34+99:00", "1778735580",
                "99999-01-01T00:00:00Z", "2026-13-01T00:00:00Z"):
        answer = ctx.peal.post("/v1/events", {**EVENT, "occurredAt": bad})
        check_problem(answer, 422, bad)
        equal([at for at, _ in problems(answer)], ["/occurredAt"], bad)
        equal(ctx.peal.post("/v1/clock", {"set": bad}).status, 422, bad)
        if bad:
            quoted = bad.replace("+", "%2B")
            for path in ("/v1/deliveries", "/v1/events"):
                equal(ctx.peal.get(f"{path}?from={quoted}").status, 422, bad)
    equal(stored(ctx.peal), before)


def test_a_bad_item_fails_alone(ctx):
    make_trigger(ctx.peal)
    answer = ingest(ctx.peal, visit(), {"payload": 7}, {"payload": {}, "occurredAt": "x"}, 3, None,
                    visit())
    like(answer, {"created": 2, "failed": 4})
    equal([item["outcome"] for item in answer["items"]],
          ["created", "failed", "failed", "failed", "failed", "created"])
    for item in answer["items"][1:5]:
        assert item["eventId"] is None and item["error"]["code"] and item["error"]["message"], item
    equal(len(deliveries(ctx.peal)), 2)


# Queries


def test_bad_queries_are_refused(ctx):
    lists = ["/v1/events", "/v1/deliveries", "/v1/triggers", "/v1/channels", "/v1/keys",
             "/v1/tenants", "/v1/captured"]
    for path in lists:
        for limit in ("0", "501", "-1", "ten", "1.5", "", "99999999999999999999", "1%00"):
            answer = ctx.peal.get(f"{path}?limit={limit}")
            assert answer.status in (400, 422), f"{path}?limit={limit}: {answer.status}"
            check_problem(answer, answer.status, path)
        for cursor in ("!!!", "AAAA", "a" * 2000, "%ff", "%00"):
            answer = ctx.peal.get(f"{path}?cursor={cursor}")
            if path in ("/v1/triggers", "/v1/channels", "/v1/tenants") and cursor == "AAAA":
                continue  # three NULs could follow a key
            assert answer.status in (400, 422), f"{path}?cursor={cursor}: {answer.status}"
            check_problem(answer, answer.status, path)
        equal(ctx.peal.get(f"{path}?limit=500").status, 200, path)
        equal(ctx.peal.get(f"{path}?limit=1").status, 200, path)
    for path in ("/v1/events", "/v1/deliveries", "/v1/captured"):
        equal(ctx.peal.get(f"{path}?stat=parked").status, 422, "a filter that is none")
    for query in ("state=lost", "stuck=maybe", "event=7", "from=x", "to=x"):
        equal(ctx.peal.get(f"/v1/deliveries?{query}").status, 422, query)


def test_a_query_of_many_members_is_refused_at_once(ctx):
    for count in (101, 700, 7000):
        answer = ctx.peal.get("/v1/events?" + "&".join(["a"] * count), seconds=10)
        check_problem(answer, 400, f"{count} members")
        assert "too many members" in answer.json["detail"], answer.json
    equal(ctx.peal.get("/v1/events?limit=1", expect=200).json["items"], [])


def test_an_id_that_is_none_is_not_found(ctx):
    for id in ("7", "x", "01975e3c-7a4b-7000-8000-2c9d3f5b1a6", "%20", "..", "'; --",
               "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"):
        quoted = id.replace(" ", "%20").replace(";", "%3B").replace("'", "%27")
        for path in (f"/v1/events/{quoted}", f"/v1/deliveries/{quoted}/attempts",
                     f"/v1/operations/{quoted}", f"/v1/triggers/{quoted}",
                     f"/v1/channels/{quoted}"):
            check_problem(ctx.peal.get(path), 404, path)


# Requests


def test_unknown_paths_and_methods(ctx):
    for path in ("/none", "/v1", "/v1/", "/v2/events", "/v1/event", "/v1/events/", "/v1//events",
                 "/V1/events", "/v1/events/x/y/z", "/hooks/none", "/%2e%2e/etc/passwd"):
        check_problem(ctx.peal.get(path), 404, path)
    for method, path, allow in (("DELETE", "/v1/events", "GET, POST"),
                                ("PATCH", "/v1/deliveries/a", "GET"),
                                ("POST", "/v1/triggers/a", "GET, PUT, PATCH, DELETE"),
                                ("GET", "/v1/ingest", "POST"), ("PUT", "/v1/tick", "POST"),
                                ("POST", "/livez", "GET"), ("OPTIONS", "/v1/events", "GET, POST"),
                                ("TRACE", "/v1/events", "GET, POST")):
        answer = ctx.peal.request(method, path)
        check_problem(answer, 405, f"{method} {path}")
        equal(sorted(answer.headers["allow"].split(", ")), sorted(allow.split(", ")), path)


def test_the_type_of_a_body_matters(ctx):
    before = stored(ctx.peal)
    body = json.dumps(EVENT).encode()
    for type in ("text/plain", "application/xml", "application/x-www-form-urlencoded", "json",
                 "multipart/form-data; boundary=x", "application/jsonx", "application/json-patch"):
        for path in ("/v1/events", "/v1/ingest", "/v1/triggers", "/v1/channels"):
            answer = ctx.peal.post(path, raw=body, headers={"Content-Type": type})
            check_problem(answer, 415, f"{type} to {path}")
    equal(stored(ctx.peal), before)
    for type in ("application/json", "application/json; charset=utf-8", "Application/JSON"):
        answer = ctx.peal.post("/v1/events", raw=body, headers={"Content-Type": type})
        equal(answer.status, 202, type)


def test_bodies_that_are_too_large(ctx):
    before = stored(ctx.peal)
    megabyte = b'{"id":"' + b"x" * (1 << 20) + b'"}'
    for path in ("/v1/triggers", "/v1/channels", "/v1/keys", "/v1/operations", "/v1/clock"):
        check_problem(ctx.peal.post(path, raw=megabyte), 413, path)
    announced = request_bytes(ctx.peal, "POST", "/v1/ingest", ["Content-Length: 40000000"])
    equal(status_of(converse(ctx.peal, announced)), 413, "before a byte of the body is sent")
    announced = request_bytes(ctx.peal, "POST", "/v1/ingest",
                              ["Content-Length: 99999999999999999999999"])
    assert status_of(converse(ctx.peal, announced)) in (400, 413)
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    chunked = request_bytes(ctx.peal, "POST", "/v1/triggers", ["Transfer-Encoding: chunked"])
    equal(status_of(converse(ctx.peal, chunked + chunk * 2 + b"0\r\n\r\n")), 413, "in chunks")
    equal(stored(ctx.peal), before)
    items = [visit(text="x" * 1000) for _ in range(1000)]
    equal(ingest(ctx.peal, *items)["unmatched"], 1000)


def test_too_many_items(ctx):
    raw = b'{"eventKind":"a","items":[' + b",".join([b"{}"] * 100_001) + b"]}"
    answer = ctx.peal.post("/v1/ingest", raw=raw)
    check_problem(answer, 422, "")
    equal(problems(answer), [("/items", "too-many")])


def test_an_idempotency_key_has_its_limits(ctx):
    before = stored(ctx.peal)
    for key in ("x" * 201, "", "a\tb", "\x7f"):
        answer = ctx.peal.post("/v1/events", EVENT, headers={"Idempotency-Key": key})
        check_problem(answer, 400, repr(key))
    equal(stored(ctx.peal), before)
    ctx.peal.post("/v1/events", EVENT, headers={"Idempotency-Key": "x" * 200}, expect=202)


# Bytes


def request_bytes(peal, method, path, headers=(), body=b"", host=True, version="HTTP/1.1"):
    lines = [f"{method} {path} {version}"]
    lines += [f"Host: {peal.host}"] if host else []
    lines += [f"Authorization: Bearer {peal.key}", "Content-Type: application/json", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def read_all(client, about=""):
    """Everything until the far side closes."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    except TimeoutError:
        raise AssertionError(f"{about}: neither answered nor closed: {parts}") from None
    return b"".join(parts)


def converse(peal, data, about=""):
    """Sends the bytes, says that there will be no more, and answers all that comes back."""
    host, port = peal.host.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was closed on us, which is one of the good answers
        return read_all(client, about)


def status_of(answer):
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return int(found[1]) if found else None


def test_smuggling_is_refused_and_the_server_goes_on(ctx):
    peal = ctx.peal
    before = stored(peal)
    body = json.dumps(EVENT).encode()
    length = f"Content-Length: {len(body)}"
    inner = request_bytes(peal, "POST", "/v1/events", [length], body)

    def ask(*headers, **rest):
        return request_bytes(peal, "POST", "/v1/events", headers, body, **rest)

    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    cases = {
        "length and chunks": ask(length, "Transfer-Encoding: chunked") + inner,
        "chunks and length": ask("Transfer-Encoding: chunked", length) + inner,
        "two lengths": ask(length, f"Content-Length: {len(body) + 1}"),
        "two lengths alike": ask(length, length),
        "a list of lengths": ask(f"Content-Length: {len(body)}, {len(body)}"),
        "a negative length": ask("Content-Length: -1"),
        "a length with a sign": ask(f"Content-Length: +{len(body)}"),
        "a length in hex": ask("Content-Length: 0x10"),
        "a length with a blank inside": ask("Content-Length: 1 0"),
        "an empty length": ask("Content-Length:"),
        "a blank before the colon": ask(f"Content-Length : {len(body)}"),
        "a blank before chunks' colon": ask(length, "Transfer-Encoding : chunked"),
        "a folded header": ask(length, "X-A: b\r\n c"),
        "a header without a name": ask(length, ": nothing"),
        "a header without a colon": ask(length, "nonsense"),
        "a tab in a name": ask(length, "X\tA: b"),
        "another coding": ask("Transfer-Encoding: gzip"),
        "chunks twice": ask("Transfer-Encoding: chunked, chunked"),
        "two codings": ask("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        "odd chunks": ask("Transfer-Encoding: \x0bchunked"),
        "no host": ask(length, host=False),
        "two hosts": ask(length, "Host: b.example"),
        "an odd host": ask(length, "Host: a b", host=False),
        "a NUL in a value": ask(length, "X-A: a\x00b"),
        "a NUL in a name": ask(length, "X\x00A: b"),
        "a NUL in the path": request_bytes(peal, "GET", "/v1/events\x00"),
        "a bare CR in a value": ask(length, "X-A: a\rContent-Length: 0"),
        "a bare LF as a line end": ask(length).replace(b"\r\n", b"\n"),
        "a blank line end": ask(length, "X-A: b\n\r"),
        "a version that is none": ask(length, version="HTTP/9.9"),
        "a version in small letters": ask(length, version="http/1.1"),
        "no version": b"POST /v1/events\r\n\r\n" + body,
        "two blanks": ask(length).replace(b"POST ", b"POST  "),
        "a blank in the path": request_bytes(peal, "GET", "/v1/ev ents"),
        "a method that is none": request_bytes(peal, "G(T", "/v1/events"),
        "a chunk size that is none": request_bytes(
            peal, "POST", "/v1/events", ["Transfer-Encoding: chunked"], b"zz\r\n" + body),
        "a chunk size with a sign": request_bytes(
            peal, "POST", "/v1/events", ["Transfer-Encoding: chunked"], b"-1\r\n" + chunked),
        "a chunk size too large": request_bytes(
            peal, "POST", "/v1/events", ["Transfer-Encoding: chunked"],
            b"fffffffffffffffff\r\n" + chunked),
        "chunks in HTTP/1.0": request_bytes(
            peal, "POST", "/v1/events", ["Transfer-Encoding: chunked"], chunked,
            version="HTTP/1.0"),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    }
    for name, data in cases.items():
        answer = converse(peal, data, name)
        assert b" 202 " not in answer and b'"eventId"' not in answer, f"{name}: {answer!r}"
        assert status_of(answer) in (None, 400, 404, 405, 408, 411, 413, 501, 505), \
            f"{name}: {answer!r}"
        seen = set(re.findall(rb"HTTP/1\.[01] (\d{3})", answer))  # libmicrohttpd may say it twice
        assert len(seen) <= 1, f"{name} was read as more than one: {answer!r}"
        equal(peal.get("/livez").status, 200, name)
    equal(stored(peal), before)
    equal(status_of(converse(peal, ask(length))), 202, "the plain request is taken")
    chunks = request_bytes(peal, "POST", "/v1/events", ["Transfer-Encoding: chunked"], chunked)
    equal(status_of(converse(peal, chunks)), 202, "and so are honest chunks")


def test_what_never_becomes_a_request_leaves_nothing_behind(ctx):
    before = stored(ctx.peal)
    body = json.dumps(EVENT).encode()
    whole = request_bytes(ctx.peal, "POST", "/v1/events", [f"Content-Length: {len(body)}"], body)
    for data in (whole.replace(b"\r\n", b"\r"), bytes(range(256)), b"\r\n" * 100, b"\x00" * 1000,
                 bytes.fromhex("16030100c8010000c40303") + bytes(200), whole[:40], whole[:-5],
                 b""):
        abandon(ctx.peal, data)
        equal(ctx.peal.get("/livez").status, 200)
    equal(stored(ctx.peal), before)


def abandon(peal, data):
    host, port = peal.host.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(data)


def test_two_requests_in_one_packet_are_two(ctx):
    one = request_bytes(ctx.peal, "GET", "/v1/events")
    two = request_bytes(ctx.peal, "GET", "/v1/clock", ["Connection: close"])
    equal(converse(ctx.peal, one + two).count(b"HTTP/1.1 200"), 2)


def test_heads_that_are_too_large(ctx):
    for data in (request_bytes(ctx.peal, "GET", "/v1/events", ["X-A: " + "a" * 60_000]),
                 request_bytes(ctx.peal, "GET", "/v1/events", [f"X-{i}: b" for i in range(500)]),
                 request_bytes(ctx.peal, "GET", "/v1/events?q=" + "a" * 60_000),
                 request_bytes(ctx.peal, "G" * 60_000, "/v1/events")):
        answer = converse(ctx.peal, data)
        assert status_of(answer) in (None, 400, 413, 414, 431), answer[:200]
        equal(ctx.peal.get("/livez").status, 200)


def test_a_body_that_is_awaited_is_refused_before_it_is_sent(ctx):
    """With Expect: 100-continue a client learns at once that it may not."""
    head = f"POST /v1/ingest HTTP/1.1\r\nHost: {ctx.peal.host}\r\nContent-Length: 1000000\r\n"
    answer = converse(ctx.peal, (head + "Expect: 100-continue\r\n\r\n").encode())
    equal(status_of(answer), 401)


def test_three_hundred_idle_connections_leave_room(ctx):
    host, port = ctx.peal.host.split(":")
    idle = [socket.create_connection((host, int(port)), timeout=30) for _ in range(300)]
    try:
        for client in idle[:100]:
            client.sendall(b"GET /v1/ev")  # and no more
        for _ in range(5):
            equal(ctx.peal.get("/livez", seconds=5).status, 200)
            ctx.peal.post("/v1/events", EVENT, expect=202)
        for client in idle[200:]:
            client.sendall(request_bytes(ctx.peal, "GET", "/livez", ["Connection: close"]))
        for client in idle[200:]:
            equal(status_of(read_all(client)), 200)
    finally:
        for client in idle:
            client.close()


def test_clients_that_hang_up_leave_nothing_behind(ctx):
    """They leave at every place: before, within and after the body, without reading the answer."""
    body = json.dumps(EVENT).encode()
    data = request_bytes(ctx.peal, "POST", "/v1/events", [f"Content-Length: {len(body)}"], body)
    for cut in range(0, len(data), 7):
        abandon(ctx.peal, data[:cut])
    equal(ctx.peal.get("/v1/events", expect=200).json["items"], [])
    equal(ctx.peal.post("/v1/events", EVENT).status, 202)


def test_many_bad_requests_at_once(ctx):
    make_trigger(ctx.peal)
    wrong = []

    def be_bad():
        for raw in list(MALFORMED.values())[:12]:
            answer = ctx.peal.post("/v1/events", raw=raw)
            wrong.extend([answer] if answer.status != 400 else [])

    threads = [threading.Thread(target=be_bad) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        equal(ingest(ctx.peal, visit())["created"], 1)
    for thread in threads:
        thread.join()
    equal(wrong, [])
    equal(len(deliveries(ctx.peal)), 20)


def test_a_body_that_is_packed_is_refused(ctx):
    """It would be read as what it is not."""
    for coding, status in (("gzip", 415), ("br", 415), ("identity", 202)):
        answer = ctx.peal.post("/v1/events", EVENT, headers={"Content-Encoding": coding})
        equal(answer.status, status, coding)


if __name__ == "__main__":
    main()
