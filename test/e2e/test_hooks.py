"""W1, W5, W16: sources that webhooks come to, and the way in of a webhook."""
import concurrent.futures
import contextlib
import gzip
import hashlib
import hmac
import http.client
import itertools
import pathlib
import re
import socket
import sqlite3
import threading

from harness import equal, eventually, like, main, only, slow
from steps import advance, make_tenant

LIMIT = 25 << 20
SECRET = "It's a Secret to Everybody, almost"
BODY = b'{"action":"opened","issue":{"id":1,"number":7}}'


def make_source(peal, id="gh", provider="github", expect=201, **more):
    return peal.post("/v1/sources", {"id": id, "provider": provider, **more}, expect=expect).json


def signature(body, secret):
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def signed(body, secret=SECRET, **headers):
    """The headers that GitHub sends."""
    return {"Content-Type": "application/json", "X-GitHub-Event": "issues", "X-GitHub-Delivery": "72d3162e-cc78",
            "X-Hub-Signature-256": signature(body, secret), **headers}


def send(peal, url, body=BODY, secret=SECRET, expect=200, method="POST", **headers):
    """Posts as a provider does, without a key."""
    return peal.with_key(None).request(method, url, raw=body, expect=expect,
                                       headers=signed(body, secret, **headers))


def stored(ctx, columns="body"):
    rows = ctx.sql(f"SELECT {columns} FROM inbox WHERE provider IS NOT NULL ORDER BY id")
    return [row[0] if len(row) == 1 else row for row in rows]


def bodies(ctx):
    if ctx.store == "sqlite":
        return stored(ctx)
    return [bytes.fromhex(row) for row in stored(ctx, "encode(body, 'hex')")]


def count(ctx):
    return int(ctx.sql("SELECT COUNT(*) FROM inbox WHERE provider IS NOT NULL")[0][0])


def raw(peal, head, body=b"", chunks=None):
    """Sends bytes as they are and returns the status; the server may hang up on them."""
    host, port = peal.host.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as client:
        try:
            client.sendall(head.encode("latin-1") + b"\r\n\r\n")
            for piece in chunks or [body]:
                client.sendall(piece)
        except OSError:
            pass
        answer = client.makefile("rb").readline()
    return int(answer.split()[1])


def test_a_source_gets_a_path_and_a_secret_that_is_shown_once(ctx):
    peal = ctx.peal
    made = make_source(peal)
    assert made["url"].startswith("/hooks/t_") and len(made["url"]) > 40, made
    equal(made["url"], "/hooks/" + made["path"])
    equal(len(bytes.fromhex(made["secret"])), 32)
    for shown in (peal.get("/v1/sources/gh", expect=200).json,
                  peal.get("/v1/sources", expect=200).json["items"][0],
                  peal.patch("/v1/sources/gh", {"enabled": False}, expect=200).json,
                  peal.put("/v1/sources/gh", {"provider": "github"}, expect=200).json):
        like(shown, {"url": made["url"], "path": made["path"]})
        equal(shown["secret"], {"set": True, "rotatedAt": made["createdAt"]})
    assert "warnings" not in made
    other = make_source(peal, "gh-2", secret="known to both")
    equal(other["secret"], "known to both")
    equal(other["warnings"], ["the secret is short enough to be guessed; let Peal make one"])
    assert other["path"] != made["path"]
    assert "known to both" not in peal.get("/v1/sources", expect=200).text
    # The database has it sealed only.
    bodies = ctx.sql("SELECT body FROM definition_version WHERE kind = 'source'")
    assert bodies and not any(word in row[0] for row in bodies for word in ("known to both", made["secret"]))


def test_a_path_may_be_chosen_and_is_one_sources(ctx):
    peal = ctx.peal
    equal(make_source(peal, path="github")["url"], "/hooks/default/github")
    like(make_source(peal, "two", path="github", expect=409), {"code": "conflict"})
    peal.get("/v1/sources/two", expect=404)
    equal(make_source(make_tenant(peal, "acme"), path="github")["url"], "/hooks/acme/github")
    # Given up, it is free again; one that was made stays over whatever is saved.
    peal.patch("/v1/sources/gh", {"path": "elsewhere"}, expect=200)
    make_source(peal, "two", path="github")
    peal.delete("/v1/sources/two", expect=204)
    peal.patch("/v1/sources/gh", {"path": "github"}, expect=200)
    made = peal.put("/v1/sources/gh", {"provider": "github"}, expect=200).json["path"]
    assert made.startswith("t_")
    equal(peal.put("/v1/sources/gh", {"provider": "github", "path": made}, expect=200).json["path"], made)
    for path in ("t_chosen", "a/b", "", "x" * 101, "a b"):
        like(make_source(peal, "bad", path=path, expect=422), {"code": "invalid"})


def test_a_source_keeps_its_provider_and_its_form(ctx):
    peal = ctx.peal
    make_source(peal)
    peal.patch("/v1/sources/gh", {"provider": "linear"}, expect=422)
    make_source(peal, "no", provider="bitbucket", expect=422)
    make_source(peal, "no", secret="", expect=422)
    make_source(peal, "no", secret=7, expect=422)
    make_source(peal, "no", secret={"set": True}, expect=422)
    make_source(peal, "no", secret={"$sealed": "v1.x"}, expect=422)
    for member in ({"path": "x"}, {"secret": "x"}, {"shared": True}, {"integration": "x"}):
        table = {"id": "t", "provider": "table", "config": {"store": "postgres://x/y", "table": "t"}, **member}
        like(peal.post("/v1/sources", table, expect=422).json, {"code": "invalid"})


def test_who_may_write_sources(ctx):
    admin = make_tenant(ctx.peal, "acme")
    author = admin.with_key(admin.post("/v1/keys", {"role": "author"}, expect=201).json["key"])
    reader = admin.with_key(admin.post("/v1/keys", {"role": "read"}, expect=201).json["key"])
    make_source(author)
    like(reader.get("/v1/sources/gh", expect=200).json, {"secret": {"set": True}})
    make_source(reader, "no", expect=403)
    make_source(author, "no", shared=True, expect=403)
    author.patch("/v1/sources/gh", {"shared": True}, expect=403)
    reader.post("/v1/sources/gh/rotate", {}, expect=403)
    author.delete("/v1/sources/gh", expect=204)
    # The system right reaches out of the store, and over tenants.
    make_source(ctx.peal, shared=True)
    author = ctx.peal.with_key(ctx.peal.post("/v1/keys", {"role": "author"}, expect=201).json["key"])
    author.patch("/v1/sources/gh", {"shared": False}, expect=403)
    author.post("/v1/sources/gh/rotate", {}, expect=403)
    author.delete("/v1/sources/gh", expect=403)
    ctx.peal.get("/v1/sources/gh", expect=200)


def test_a_rotated_secret_is_shown_once(ctx):
    peal = ctx.peal
    made = make_source(peal)
    told = peal.post("/v1/sources/gh/rotate", {"overlap": "24h"}, expect=200).json
    assert told["secret"] != made["secret"] and len(bytes.fromhex(told["secret"])) == 32
    like(told, {"id": "gh", "version": 2})
    assert told["previousUntil"] > told["rotatedAt"]
    equal(peal.post("/v1/sources/gh/rotate", {"secret": "mine", "overlap": "0s"}, expect=200).json["secret"], "mine")
    assert told["secret"] not in peal.get("/v1/sources/gh", expect=200).text
    for shown in (peal.put("/v1/sources/gh", {"provider": "github", "secret": "of a person's own"}, expect=200),
                  peal.patch("/v1/sources/gh", {"secret": "another person's own"}, expect=200)):
        equal(shown.json["secret"]["set"], True, "who gives one has it")
    peal.post("/v1/sources/none/rotate", {}, expect=404)


def test_a_secret_that_is_taken_out_is_replaced(ctx):
    peal = ctx.peal
    made = make_source(peal)
    told = peal.patch("/v1/sources/gh", {"secret": None}, expect=200).json
    equal(len(bytes.fromhex(told["secret"])), 32)
    send(peal, made["url"], secret=made["secret"], expect=401)
    send(peal, made["url"], secret=told["secret"])
    equal(peal.patch("/v1/sources/gh", {"enabled": True}, expect=200).json["secret"]["set"], True)
    send(peal, made["url"], secret=told["secret"])


def test_the_command_line_makes_and_rotates_sources(ctx):
    peal = ctx.peal
    ran = peal.cli("sources", "create", "-f", "-", text='{"id":"gh","provider":"github"}')
    equal(ran.code, 0, ran.err)
    url, secret = re.search(r"^url +(\S+)\nsecret +(\w{64})$", ran.out, re.M).groups()
    send(peal, url, secret=secret)
    assert url in peal.cli("sources").out
    shown = peal.cli("sources", "show", "gh").out
    assert url in shown and secret not in shown
    ran = peal.cli("sources", "rotate", "gh", "--overlap", "1h")
    new = re.search(r"^secret +(\w{64})$", ran.out, re.M)[1]
    assert "shown this once" in ran.err
    for each in (secret, new):
        send(peal, url, secret=each)
    equal(peal.cli("sources", "rotate", "none").code, 3)


# The way in


def test_a_signed_hook_is_stored_as_it_came(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET, integration="acme-gh")["url"]
    pieces = [BODY, b"", b"\x00\xff\xfe not JSON \x00", b"a=1&payload=%7B%7D", gzip.compress(BODY), b"\xf0\x28\x8c"]
    ids = [send(peal, url, body, **{"Content-Type": "text/odd"}).json["id"] for body in pieces]
    equal(len(set(ids)), len(pieces))
    equal(sorted(bodies(ctx)), sorted(pieces))
    # The same once more is one row more: the triggers tell twins.
    assert send(peal, url).json["id"] not in ids
    equal(count(ctx), len(pieces) + 1)
    like(stored(ctx, "source, external_id, provider")[0], ["gh", "72d3162e-cc78", "github"])


def test_what_is_not_signed_is_not_stored_and_says_why(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    good = signature(BODY, SECRET)
    wrong = {"signature-wrong": [signature(BODY + b" ", SECRET), signature(BODY, SECRET + " "), signature(BODY, "x")],
             "signature-bad": [good[:-2], good + "00", "sha1=" + good[7:], good[7:], "sha256=", "sha256=" + "zz" * 32,
                               "SHA512=" + "00" * 64]}
    for code, values in wrong.items():
        for value in values:
            answer = peal.with_key(None).request("POST", url, raw=BODY, expect=401,
                                                 headers={"X-Hub-Signature-256": value})
            equal(answer.json["code"], code, value)
            assert SECRET not in answer.text and good[7:] not in answer.text
            assert "www-authenticate" not in {name.lower() for name in answer.headers}, "no key would help"
    equal(peal.with_key(None).request("POST", url, raw=BODY, expect=401).json["code"], "signature-missing")
    equal(peal.request("POST", url, raw=BODY, expect=401).json["code"], "signature-missing", "a key is no signature")
    host = f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n"
    twice = f"{host}X-Hub-Signature-256: {good}\r\nX-Hub-Signature-256: {good}"
    equal(raw(peal, twice, BODY), 401)
    equal(raw(peal, f"{host}x-hub-signature-256: {good.upper().replace('SHA256', 'sha256')}", BODY), 200, "hex of either case")
    equal(bodies(ctx), [BODY])


def test_where_nobody_listens_is_404_and_looks_alike(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    chosen = make_source(peal, "two", secret=SECRET, path="two", enabled=False)["url"]
    peal.patch("/v1/sources/gh", {"enabled": False}, expect=200)
    seen = []
    for path in (url, chosen, "/hooks/t_nobody", "/hooks/default/nobody", "/hooks/nobody/two"):
        for method in ("POST", "GET", "OPTIONS"):
            answer = peal.with_key(None).request(method, path, raw=BODY, expect=404, headers=signed(BODY))
            names = {name.lower() for name in answer.headers}
            seen.append(({**answer.json, "requestId": ""}, names))
    assert all(one == seen[0] for one in seen), seen
    peal.patch("/v1/sources/gh", {"enabled": True}, expect=200)
    send(peal, url)
    peal.delete("/v1/sources/gh", expect=204)
    send(peal, url, expect=404)
    equal(count(ctx), 1)


def test_only_handshakes_are_not_posts(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    for method in ("GET", "OPTIONS", "HEAD"):
        equal(peal.with_key(None).request(method, url, expect=405).headers["Allow"], "POST")
    for method in ("PUT", "DELETE", "PATCH"):
        assert "POST" in peal.with_key(None).request(method, url, expect=405).headers["Allow"]
    # Meta's: the verify token is the secret.
    url = make_source(peal, "meta", provider="generic", secret="verify-me-please")["url"]
    query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    equal(peal.with_key(None).get(f"{url}?{query}verify-me-please", expect=200).text, "1158201444")
    assert peal.with_key(None).get(f"{url}?{query}wrong").status in (401, 403, 405)
    equal(count(ctx), 0)


def test_the_limit_is_25_mib_and_not_a_byte_more(ctx):
    # The usual limit of a request, which is lower here, neither lets less in nor grows.
    peal = ctx.start(args=["--body-max", "1M", "--payload-max", "512K"])
    url = make_source(peal, secret=SECRET)["url"]
    body = bytes(LIMIT)
    send(peal, url, body)
    send(peal, url, body + b"x", expect=413)
    equal(peal.post("/v1/events", {"kind": "x", "payload": {"a": "x" * (2 << 20)}}).status, 413)
    head = f"POST {url} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Hub-Signature-256: "
    pieces = [b"%x\r\n%b\r\n" % (1 << 20, bytes(1 << 20))] * 25
    equal(raw(peal, head + signature(body, SECRET), chunks=[*pieces, b"0\r\n\r\n"]), 200)
    equal(raw(peal, head + signature(body, SECRET), chunks=[*pieces, b"1\r\nx\r\n0\r\n\r\n"]), 413)
    equal(count(ctx), 2)
    equal({int(size) for size in stored(ctx, "LENGTH(body)")}, {LIMIT})


def test_framing_and_codings_of_every_kind(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    good = signature(BODY, SECRET)
    head = f"POST {url} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {good}\r\n"
    chunked = [b"5\r\n%b\r\n" % BODY[:5], b"%x\r\n%b\r\n" % (len(BODY) - 5, BODY[5:]), b"0\r\n\r\n"]
    equal(raw(peal, head + "Transfer-Encoding: chunked", chunks=chunked), 200)
    # A length that lies: what is cut off is not verified, what is missing never becomes a request.
    equal(raw(peal, head + f"Content-Length: {len(BODY) - 1}\r\nConnection: close", BODY), 401)
    equal(raw(peal, head + f"Content-Length: {len(BODY)}\r\nContent-Length: {len(BODY)}", BODY), 400)
    equal(raw(peal, head + f"Content-Length: {len(BODY)}\r\nTransfer-Encoding: chunked", BODY), 400)
    zipped = gzip.compress(BODY)
    send(peal, url, zipped, **{"Content-Encoding": "gzip", "Idempotency-Key": ""})
    send(peal, url, BODY, **{"Idempotency-Key": "same", "Content-Type": ""})
    send(peal, url, b"other", **{"Idempotency-Key": "same", "Content-Type": "text/plain; charset=\xe9"})
    send(peal, f"{url}?token=x&odd=1&odd=2")
    equal(sorted(bodies(ctx)), sorted([BODY, zipped, BODY, b"other", BODY]))


def test_a_length_that_promises_more_than_comes_is_no_hook(ctx):
    """What was sent is signed as it is: only the head says that it is not all."""
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    host, port = peal.host.rsplit(":", 1)
    for length in (f"Content-Length: {len(BODY) + 1}", "Content-Length: 26214400", "Transfer-Encoding: chunked"):
        with socket.create_connection((host, int(port)), timeout=60) as client:
            head = f"POST {url} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(BODY, SECRET)}\r\n{length}\r\n\r\n"
            chunk = b"%x\r\n%b\r\n" % (len(BODY), BODY)
            client.sendall(head.encode() + (chunk if "chunked" in length else BODY))
    # Its senders are gone: nothing waits for the rest of it.
    for value in ("-1", "+5", "5 5", "0x10", "99999999999999999999", ""):
        assert raw(peal, f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: {value}") in (400, 413), value
    send(peal, url)
    equal(count(ctx), 1)


def test_headers_are_kept_without_credentials(ctx):
    peal = ctx.peal
    url = make_source(peal, "any", provider="generic", secret="a-token-of-some-length",
                      config={"verify": {"kind": "token", "header": "x-odd-name"}})["url"]
    headers = {"X-Odd-Name": "a-token-of-some-length", "Authorization": "Bearer zzz", "Cookie": "zzz", "X-Api-Key": "zzz",
               "Proxy-Authorization": "zzz", "X-Gitlab-Token": "zzz", "X-My-Secret": "zzz", "X-Caf": "caf\xe9 \xff",
               "X-Two": "1", "X-Auth-Note": "as a-token-of-some-length"}
    peal.with_key(None).request("POST", url, raw=b"{}", headers=headers, expect=200)
    kept = stored(ctx, "headers")[0]
    assert "zzz" not in kept and "a-token-of-some-length" not in kept, kept
    assert '["x-two","1"]' in kept and '["x-caf","caf\u00e9 \u00ff"]' in kept, kept
    peal.with_key(None).request("POST", url, raw=b"{}", headers={"X-Odd-Name": "no"}, expect=401)
    equal(count(ctx), 1)


def test_a_source_says_none_or_verifies(ctx):
    peal = ctx.peal
    made = make_source(peal, "open", provider="generic", config={"verify": {"kind": "none"}})
    assert "secret" not in made, made
    peal.with_key(None).request("POST", made["url"], raw=b"anything", expect=200)
    make_source(peal, "no", provider="generic", secret="x", config={"verify": {"kind": "none"}}, expect=422)
    peal.post("/v1/sources/open/rotate", {}, expect=409)
    # Once it is to be verified, it gets a secret, which is shown this once; and back.
    made = peal.patch("/v1/sources/open", {"config": {"verify": {"kind": "hmac"}}}, expect=200).json
    equal(len(bytes.fromhex(made["secret"])), 32)
    peal.with_key(None).request("POST", made["url"], raw=b"anything", expect=401)
    peal.with_key(None).request("POST", made["url"], raw=b"anything", expect=200,
                                headers={"X-Signature": signature(b"anything", made["secret"])})
    shown = peal.put("/v1/sources/open", {"provider": "generic", "config": {"verify": {"kind": "none"}}}, expect=200).json
    assert "secret" not in shown, shown
    equal(count(ctx), 2)


def test_a_secret_is_rotated_with_an_overlap(ctx):
    peal = ctx.peal
    made = make_source(peal)
    new = peal.post("/v1/sources/gh/rotate", {"overlap": "24h"}, expect=200).json["secret"]
    for secret in (made["secret"], new):
        send(peal, made["url"], secret=secret)
    advance(peal, "24h")
    send(peal, made["url"], secret=made["secret"], expect=401)
    send(peal, made["url"], secret=new)
    # Without an overlap the last one is good no more.
    last = peal.post("/v1/sources/gh/rotate", {"overlap": "0s"}, expect=200).json["secret"]
    send(peal, made["url"], secret=new, expect=401)
    send(peal, made["url"], secret=last)
    equal(count(ctx), 4)


def send_behind_a_rotation(ctx, url, secret):
    """Nobody may write: the rotation waits in its transaction, and the hook, which was verified, behind it."""
    peal = ctx.peal
    with contextlib.closing(sqlite3.connect(ctx.store_url.removeprefix("sqlite:"))) as db, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        db.execute("BEGIN IMMEDIATE")
        rotated = pool.submit(peal.post, "/v1/sources/gh/rotate", {"overlap": "0s"}, expect=200)
        concurrent.futures.wait([rotated], 0.5)
        sent = pool.submit(send, peal, url, BODY, secret, None)
        concurrent.futures.wait([sent], 0.5)
        db.rollback()
        return sent.result().status, rotated.result().json["secret"]


@only("sqlite")
def test_what_was_verified_before_a_rotation_is_verified_anew(ctx):
    made = make_source(ctx.peal)
    status, secret, stored_count = 200, made["secret"], 0
    # Where they come into one transaction the hook is as good as stored before.
    for _ in range(10):
        status, secret = send_behind_a_rotation(ctx, made["url"], secret)
        if status != 200:
            break
        stored_count += 1
    equal(status, 401)
    equal(count(ctx), stored_count)


def test_metrics_count_hooks_by_provider_and_status(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    send(peal, url), send(peal, url)
    send(peal, url, secret="other", expect=401)
    send(peal, "/hooks/t_nobody", expect=404)
    send(peal, url, bytes(LIMIT + 1), expect=413)
    text = peal.with_key(None).get("/metrics", expect=200).text
    for labels, value in (('provider="github",status="200"', 2), ('provider="github",status="401"', 1),
                          ('provider="(none)",status="404"', 1), ('provider="github",status="413"', 1)):
        assert f"peal_webhook_requests_total{{{labels}}} {value}\n" in text, text


def test_wrong_signatures_lock_nobody_out(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    for _ in range(60):
        send(peal, url, secret="wrong", expect=401)
    send(peal, url)
    equal(peal.with_key("pk_wrong").get("/v1/events").status, 401)
    peal.get("/v1/events", expect=200)


def test_nothing_of_a_hook_is_logged(ctx):
    peal = ctx.start(args=["--log-level", "debug"])
    made = make_source(peal)
    rotated = peal.post("/v1/sources/gh/rotate", {}, expect=200).json["secret"]
    body = b'{"private":"payload-marker"}'
    good = signature(body, made["secret"])
    send(peal, made["url"], body, secret=made["secret"], **{"X-Note": "header-marker", "X-My-Token": "token-marker"})
    send(peal, made["url"], body, secret="wrong-marker", expect=401)
    send(peal, made["url"] + "?token=query-marker", body, secret="wrong-marker", expect=401)
    send(peal, "/hooks/t_path-marker", body, expect=404)
    make_source(peal, "bad", secret={"x": "shape-marker"}, expect=422)
    send(peal, made["url"], body * 1_000_000, secret=rotated, expect=413)
    advance(peal, "1m")
    peal.stop()
    log = peal.log(100_000)
    for word in (made["secret"], rotated, good[7:], "marker"):
        assert word not in log, f"{word}: {[line for line in log.splitlines() if word in line]}"


# What it withstands


def test_a_secret_that_cannot_be_opened_lets_nothing_in(ctx):
    peal = ctx.peal
    url = make_source(peal, secret=SECRET)["url"]
    peal.stop()
    key = pathlib.Path(ctx.store_url.removeprefix("sqlite:") + ".key") if ctx.store == "sqlite" \
        else ctx.folder / ".local/state/peal/master.key"
    kept = key.rename(ctx.folder / "kept.key")
    peal.start()
    equal(send(peal, url, expect=500).json["code"], "not-stored")
    send(peal, url, secret="wrong", expect=500)
    send(peal, url, secret="", expect=500)
    peal.stop()
    kept.rename(key)
    peal.start()
    send(peal, url)
    equal(count(ctx), 1)


@only("postgres")
def test_a_store_that_is_away_is_500_and_what_was_200_is_there(ctx):
    cluster = ctx.private_postgres()
    store = cluster.create_database()
    peal = ctx.start(store=store, clock="system")
    url = make_source(peal, secret=SECRET)["url"]
    ids = [send(peal, url).json["id"] for _ in range(5)]
    cluster.stop()
    answer = send(peal, url, expect=500)
    equal(answer.json["code"], "not-stored")
    assert "Retry-After" not in answer.headers
    peal.kill9()
    peal.start()
    equal(send(peal, url, expect=500).json["code"], "not-stored", "before the first connection, too")
    cluster.start()
    ids.append(eventually(lambda: send(peal, url, expect=None).json.get("id"), 30))
    found = {row[0] for row in cluster.query("SELECT id FROM inbox", store)}
    assert set(ids) <= found, (ids, found)


@only("postgres")
def test_another_nodes_source_and_secret_are_known_at_once(ctx):
    first, second = ctx.start(clock="system"), ctx.start(clock="system")
    for round in range(10):
        made = make_source(first, f"gh-{round}", secret=SECRET)
        if round % 2:  # the first that comes is longer than what a stranger may send
            send(second, made["url"], b'{"pad":"%s"}' % (b"x" * (3 << 19)))
        send(second, made["url"])
        new = first.post(f"/v1/sources/gh-{round}/rotate", {"overlap": "0s"}, expect=200).json["secret"]
        send(second, made["url"], secret=new)
        new = first.post(f"/v1/sources/gh-{round}/rotate", {"overlap": "0s"}, expect=200).json["secret"]
        send(second, made["url"], secret=SECRET, expect=401)
        first.delete(f"/v1/sources/gh-{round}", expect=204)
        send(second, made["url"], secret=new, expect=404)
    equal(count(ctx), 25)


class Stream:
    """Threads that post hooks one after the other, each over its own connection."""

    def __init__(self, peal, url, secret, threads=4):
        self.peal, self.url, self.secret = peal, url, secret
        self.ids, self.refused = [], []
        self.numbers = itertools.count()
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = None
        while not self.is_over.is_set():
            body = b'{"n":%d}' % next(self.numbers)
            try:
                connection = connection or http.client.HTTPConnection(self.peal.host, timeout=60)
                connection.request("POST", self.url, body, signed(body, self.secret))
                answer = connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                connection = None
                continue
            if answer.status == 200:
                self.ids.append(re.search('"id":"([^"]+)"', text)[1])
            else:
                self.refused.append((answer.status, text))

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        return self.ids


def ids_of(ctx):
    if ctx.store == "postgres":
        return {row[0] for row in ctx.sql("SELECT id FROM inbox")}
    texts = [row[0] for row in ctx.sql("SELECT lower(hex(id)) FROM inbox")]
    return {f"{t[:8]}-{t[8:12]}-{t[12:16]}-{t[16:20]}-{t[20:]}" for t in texts}


def test_a_rotation_in_the_middle_of_a_stream_loses_nothing(ctx):
    peal = ctx.start(clock="system")
    made = make_source(peal)
    stream = Stream(peal, made["url"], made["secret"])
    for _ in range(3):
        eventually(lambda before=len(stream.ids): len(stream.ids) > before + 50)
        told = peal.post("/v1/sources/gh/rotate", {"overlap": "1h"}, expect=200).json
        eventually(lambda before=len(stream.ids): len(stream.ids) > before + 50)
        stream.secret = told["secret"]
        eventually(lambda before=len(stream.ids): len(stream.ids) > before + 50)
    ids = stream.stop()
    equal(stream.refused, [])
    assert set(ids) <= ids_of(ctx)


def test_the_old_secret_is_good_in_the_overlap_and_no_longer(ctx):
    """Two senders, one of whom was never told; the clock is moved under both."""
    peal = ctx.peal
    made = make_source(peal)
    old = Stream(peal, made["url"], made["secret"], threads=2)
    eventually(lambda: len(old.ids) > 20)
    told = peal.post("/v1/sources/gh/rotate", {"overlap": "1h"}, expect=200).json
    new = Stream(peal, made["url"], told["secret"], threads=2)
    eventually(lambda before=len(old.ids): len(old.ids) > before + 20 and len(new.ids) > 20)
    advance(peal, "59m")
    eventually(lambda before=len(old.ids): len(old.ids) > before + 20)
    equal((old.refused, new.refused), ([], []))
    advance(peal, "1m")
    send(peal, made["url"], secret=made["secret"], expect=401)
    eventually(lambda: len(old.refused) > 5)
    had = len(old.ids)
    eventually(lambda before=len(old.refused): len(old.refused) > before + 20)
    equal(len(old.ids), had, "it is good no more")
    ids = old.stop() + new.stop()
    equal({(status, "signature-wrong" in text) for status, text in old.refused}, {(401, True)})
    equal(new.refused, [])
    assert set(ids) <= ids_of(ctx) and len(set(ids)) == len(ids)


def test_a_killed_node_has_every_hook_that_was_answered(ctx):
    peal = ctx.start(clock="system")
    made = make_source(peal)
    stream = Stream(peal, made["url"], made["secret"])
    for _ in range(2):
        eventually(lambda before=len(stream.ids): len(stream.ids) > before + 100)
        peal.kill9()
        peal.start()
    ids = stream.stop()
    assert all(status == 500 for status, _ in stream.refused), stream.refused[:3]
    assert set(ids) <= ids_of(ctx)
    equal(len(set(ids)), len(ids))


@slow
def test_ten_thousand_hooks_are_all_there(ctx):
    peal = ctx.start(clock="system")
    made = make_source(peal)
    stream = Stream(peal, made["url"], made["secret"], threads=16)
    eventually(lambda: len(stream.ids) >= 10_000, 120)
    ids = stream.stop()
    equal(stream.refused, [])
    assert set(ids) <= ids_of(ctx)


def test_many_large_bodies_at_once_stay_within_their_room(ctx):
    peal = ctx.start(clock="system", args=["--bodies-max", "64M"])
    url = make_source(peal, secret=SECRET)["url"]
    body = bytes(20 << 20)
    headers = signed(body)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        def post(_):
            connection = http.client.HTTPConnection(peal.host, timeout=120)
            try:
                connection.request("POST", url, body, headers)
                return connection.getresponse().status
            except OSError:
                return 0  # it hung up before all was sent: the answer is lost
            finally:
                connection.close()
        statuses = list(pool.map(post, range(12)))
    assert set(statuses) <= {200, 500, 0}, statuses
    assert 200 in statuses
    equal(count(ctx), statuses.count(200))
    send(peal, url)


if __name__ == "__main__":
    main()
