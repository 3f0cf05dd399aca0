"""T19: each row of a file, or each member of a list, becomes an event for one trigger: once."""
import re
import resource
import socket
import subprocess
import threading

from harness import equal, eventually, like, main, only
from server import is_sanitized, peal_program
from steps import advance, captured, deliveries, make_channel, make_tenant, make_user, settle
from test_responses import make_survey

CSV = {"Content-Type": "text/csv"}
QUERY = "survey=csi&trigger=gr"
FILE = "address,locale,customerRef,name\n+4860,ar,c1,Ann\n+4861,,c2,\"Bob, \"\"B\"\"\"\n"


def send(peal, text, query=QUERY, expect=202):
    raw = text if isinstance(text, bytes) else text.encode()
    return peal.post(f"/v1/campaigns?{query}", raw=raw, headers=CSV, expect=expect)


def show(peal, id):
    return peal.get(f"/v1/campaigns/{id}", expect=200).json


def ended(peal, id):
    eventually(lambda: show(peal, id)["state"] in ("done", "stopped"), seconds=60)
    return show(peal, id)


def run(peal, text, query=QUERY):
    return ended(peal, send(peal, text, query).json["id"])


def counts(campaign):
    return [campaign[name] for name in ("rows", "done", "created", "skipped", "failed")]


def pieces(ctx):
    return int(ctx.sql("SELECT COUNT(*) FROM campaign_piece")[0][0])


def rows(count, first=1):
    return "".join(f"+48{n:09},en,c{n},Name {n}\n" for n in range(first, first + count))


HEAD = "address,locale,customerRef,name\n"


def test_each_row_becomes_a_delivery(ctx):
    make_survey(ctx.peal)
    answer = send(ctx.peal, FILE)
    like(answer.json, {"dryRun": False})
    equal(answer.headers["Location"], f"/v1/campaigns/{answer.json['id']}")
    done = ended(ctx.peal, answer.json["id"])
    like(done, {"trigger": "csi:gr", "list": None, "dryRun": False, "state": "done", "failures": []})
    equal(counts(done), [2, 2, 2, 0, 0])
    made = {row["address"]: row for row in deliveries(ctx.peal)}
    like(made["+4860"], {"customerRef": "c1", "locale": "ar", "surveyId": "csi", "surveyVersion": 1, "payload": {"name": "Ann"}})
    like(made["+4861"], {"customerRef": "c2", "locale": None})
    ids = {row["publicId"] for row in made.values()}  # what is made together lies together, and is not the same
    equal((len(ids), len({id[:3] for id in ids})), (2, 1))
    settle(ctx.peal)
    [message] = captured(ctx.peal, made["+4861"]["id"])
    like(message["body"], {"payload": {"name": "Bob, \"B\""}})
    eventually(lambda: pieces(ctx) == 0)


def test_a_file_sent_again_makes_nothing_again(ctx):
    make_survey(ctx.peal)
    equal(counts(run(ctx.peal, FILE)), [2, 2, 2, 0, 0])
    equal(counts(run(ctx.peal, FILE)), [2, 2, 0, 2, 0])
    equal(counts(run(ctx.peal, FILE + "+4862,en,c3,Cy\n+4862,en,c3,Cy\n")), [4, 4, 1, 3, 0])
    equal(len(deliveries(ctx.peal)), 3)


def test_an_idempotency_key_is_a_whole_files(ctx):
    make_survey(ctx.peal)
    for key, text in (("short", FILE), ("long", HEAD + rows(20_000))):
        def post(text, **rest):
            return ctx.peal.post(f"/v1/campaigns?{QUERY}", raw=text.encode(), headers={**CSV, "Idempotency-Key": key}, **rest)
        first = post(text, expect=202).json
        equal(post(text, expect=202).json, first)
        equal(post(text[:-2] + "?\n", expect=409).json["code"], "idempotency-key-reused")
        equal(ended(ctx.peal, first["id"])["state"], "done")
        others = [row for row in ctx.peal.get("/v1/campaigns", expect=200).json["items"] if row["state"] != "done"]
        equal([(row["state"], row["done"]) for row in others], [("stopped", 0)] * (2 if key == "long" else 0))
    eventually(lambda: pieces(ctx) == 0)


def test_a_refusal_in_the_middle_of_a_file_leaves_its_key_free(ctx):
    make_survey(ctx.peal)
    headers = {**CSV, "Idempotency-Key": "k"}
    for trigger, status in (("none", 404), ("gr", 202)):
        ctx.peal.post(f"/v1/campaigns?survey=csi&trigger={trigger}", raw=(HEAD + rows(20_000)).encode(), headers=headers, expect=status)


def test_a_recipe_says_what_came_before(ctx):
    make_survey(ctx.peal, dedupRecipe=["recipient.customerRef"])
    equal(counts(run(ctx.peal, HEAD + "+1,en,c1,a\n+2,en,c1,b\n+3,en,c2,c\n")), [3, 3, 2, 1, 0])
    equal(counts(run(ctx.peal, HEAD + "+4,en,c2,d\n+5,en,c3,e\n")), [2, 2, 1, 1, 0])


def test_what_the_filter_does_not_want_is_skipped(ctx):
    make_survey(ctx.peal, filter={"path": "name", "op": "==", "value": "Ann"})
    equal(counts(run(ctx.peal, FILE)), [2, 2, 1, 1, 0])


def test_rows_that_are_bad_are_told_with_their_lines(ctx):
    make_survey(ctx.peal)
    text = (HEAD + "+1,en,c1,good\n" + ",en,c2,nobody\n" + "\n" + "+3,en,c3\n" + "+4,en,c4,a,b\n"
            + "+5,en,c5,\"two\nlines\"\n").encode() + b"+6,en,c6,\xff\n" + b"+7,en,c7,\"x\"y\n" + b"x" * 1001 + b",en,c8,long\n+9,en,c9,last"
    done = run(ctx.peal, text)
    equal(counts(done), [9, 9, 3, 0, 6])
    equal([(row["line"], row["error"]) for row in done["failures"]][:5], [
        (3, "it has no address"),
        (5, "it has 3 columns, and the first line 4"),
        (6, "it has 5 columns, and the first line 4"),
        (9, "it is not UTF-8, or has a NUL byte"),
        (10, "a quote stands inside a field that is not quoted, or text behind a closing quote")])
    equal(done["failures"][5]["line"], 11)
    assert "/recipient/address" in done["failures"][5]["error"], done["failures"][5]


def test_no_part_of_an_endless_line_is_sent_to(ctx):
    make_survey(ctx.peal)
    done = run(ctx.peal, "address\n+1\n" + "x" * 1_200_000 + "\n+2\n" + " " * 1_200_000 + "\n" + "\r" * 1_200_000 + "+3")
    equal((done["state"], done["created"], {row["line"] for row in done["failures"]}), ("done", 3, {3, 5}))
    equal(sorted(row["address"] for row in deliveries(ctx.peal)), ["+1", "+2", "+3"])


def test_a_row_that_no_event_may_be_as_long_as_fails_alone(ctx):
    peal = ctx.start(args=["--payload-max", "2K", "--body-max", "1M", "--bodies-max", "2M"])
    make_survey(peal)
    done = run(peal, HEAD + "+1,en,c1,good\n+2,en,c2," + "x" * 2500 + "\n+3,en,c3,last\n")
    equal((counts(done), [row["line"] for row in done["failures"]]), ([3, 3, 2, 0, 1], [3]))


def test_of_failures_without_end_the_first_are_kept(ctx):
    make_survey(ctx.peal)
    done = run(ctx.peal, HEAD + ",,,\n" * 10_001)
    equal(counts(done), [10_001, 10_001, 0, 0, 10_001])
    equal(int(ctx.sql("SELECT COUNT(*) FROM campaign_failure")[0][0]), 10_000)


def test_failures_are_paged(ctx):
    make_survey(ctx.peal)
    done = run(ctx.peal, HEAD + ",,,\n" * 250)
    equal((counts(done), len(done["failures"])), ([250, 250, 0, 0, 250], 100))
    path, lines, cursor = f"/v1/campaigns/{done['id']}/failures?limit=100", [], ""
    while cursor is not None:
        page = ctx.peal.get(path + cursor, expect=200).json
        lines += [row["line"] for row in page["items"]]
        cursor = page["next"] and f"&cursor={page['next']}"
    equal(lines, list(range(2, 252)))


def test_columns_are_mapped_and_delimiters_found(ctx):
    make_survey(ctx.peal)
    text = b"\xef\xbb\xbfphone;address;lang\r\n+1;Main Street, 1;ar\r\n"
    done = run(ctx.peal, text, QUERY + "&map.address=phone&map.locale=lang")
    equal(counts(done), [1, 1, 1, 0, 0])
    [row] = deliveries(ctx.peal)
    like(row, {"address": "+1", "locale": "ar", "customerRef": None, "payload": {"address": "Main Street, 1"}})
    equal(counts(run(ctx.peal, "address\tname\n+2\ta,b;c\n")), [1, 1, 1, 0, 0])
    for number, delimiter in enumerate(("bar", "%7C"), 3):
        equal(counts(run(ctx.peal, f"address|name,x\n+{number}|a\n", f"{QUERY}&delimiter={delimiter}")), [1, 1, 1, 0, 0])
    send(ctx.peal, FILE, QUERY + "&delimiter=:", expect=422)


def test_what_nobody_could_read_is_refused_at_once(ctx):
    make_survey(ctx.peal)
    for text, pointer in (("", "/columns"), ("name\nx\n", "/columns"), ("address,a,a\n", "/columns/2"), ("address,\n", "/columns/1"),
                          (b"\xff\xfea\0d\0", "/columns"), ("\"address\n+1", "/columns")):
        answer = send(ctx.peal, text, expect=422)
        assert pointer in {one["path"] for one in answer.json["errors"]}, answer.text
    send(ctx.peal, FILE, QUERY + "&map.address=phone", expect=422)
    send(ctx.peal, FILE, "survey=csi", expect=422)
    send(ctx.peal, FILE, "survey=csi&trigger=none", expect=404)
    send(ctx.peal, FILE, QUERY + "&wrong=1", expect=422)
    ctx.peal.post(f"/v1/campaigns?{QUERY}", raw=b"x", headers={"Content-Type": "text/plain"}, expect=415)
    equal(ctx.peal.get("/v1/campaigns", expect=200).json["items"], [])
    # Refused in the middle of what still comes.
    answer = send(ctx.peal, "name\n" + "x" * 3_000_000, expect=422)
    equal(pieces(ctx), 0)


def test_a_dry_run_makes_nothing(ctx):
    make_survey(ctx.peal)
    run(ctx.peal, HEAD + "+1,en,c1,old\n")
    done = run(ctx.peal, HEAD + "+1,en,c1,old\n+2,en,c2,new\n,,,\n", QUERY + "&dryRun=true")
    like(done, {"dryRun": True, "state": "done", "failures": [{"line": 4, "error": "it has no address"}]})
    equal(counts(done), [3, 3, 1, 1, 1])
    equal(len(deliveries(ctx.peal)), 1)
    equal(counts(run(ctx.peal, HEAD + "+2,en,c2,new\n")), [1, 1, 1, 0, 0])


def test_rows_are_counted_by_what_became_of_them(ctx):
    make_survey(ctx.peal)
    for query in (QUERY, QUERY, QUERY + "&dryRun=true"):
        run(ctx.peal, FILE + ",,,\n", query)
    text = ctx.peal.get("/metrics", expect=200).text
    told = dict(re.findall(r'^peal_campaign_rows_total\{result="(\w+)"\} (\d+)', text, re.M))
    equal(told, {"created": "2", "skipped": "2", "failed": "2"})


def test_a_list_is_sent_to(ctx):
    make_survey(ctx.peal)
    make_channel(ctx.peal, "memory:own")
    people = [{"address": f"+48{n}", "name": f"N \"{n}\"", "locale": "ar"} for n in range(450)]
    ctx.peal.post("/v1/lists", {"id": "vip", "channels": ["memory:own"], "targets": people}, expect=201)
    id = ctx.peal.post(f"/v1/campaigns?{QUERY}", {"list": "vip"}, expect=202).json["id"]
    done = ended(ctx.peal, id)
    equal((counts(done), done["list"]), ([450, 450, 450, 0, 0], "vip"))
    ctx.peal.post(f"/v1/campaigns?{QUERY}", {"list": "none"}, expect=404)
    ctx.peal.post(f"/v1/campaigns?{QUERY}", {"list": 7}, expect=422)
    equal(len(ctx.peal.get("/v1/campaigns", expect=200).json["items"]), 1)


def test_a_long_file_comes_in_pieces_and_is_done(ctx):
    make_survey(ctx.peal)
    quoted = "+48,en,c,\"" + "line\n" * 10_000 + "\"\n"  # lies across pieces
    text = HEAD + rows(5000) + quoted * 8 + rows(5000, 5001)
    done = run(ctx.peal, text)
    equal(counts(done), [10_008, 10_008, 10_001, 7, 0])
    eventually(lambda: pieces(ctx) == 0)


def test_a_tick_waits_for_what_runs(ctx):
    make_survey(ctx.peal)
    id = send(ctx.peal, HEAD + rows(10_000)).json["id"]
    settle(ctx.peal)
    equal(counts(show(ctx.peal, id)), [10_000, 10_000, 10_000, 0, 0])
    equal(pieces(ctx), 0)


def test_it_goes_on_where_it_was_killed(ctx):
    make_survey(ctx.peal)
    id = send(ctx.peal, HEAD + rows(20_000) + ",,,\n").json["id"]
    eventually(lambda: show(ctx.peal, id)["done"] > 0)
    ctx.peal.kill9()
    ctx.peal.start()
    done = ended(ctx.peal, id)
    equal(counts(done), [20_001, 20_001, 20_000, 0, 1])
    equal(int(ctx.sql("SELECT COUNT(*) FROM delivery")[0][0]), 20_000)


@only("postgres")
def test_two_nodes_share_a_campaign(ctx):
    nodes = [ctx.start(clock="system"), ctx.start(clock="system")]
    make_survey(nodes[0])
    ids = [send(node, HEAD + rows(15_000, first)).json["id"] for node, first in zip(nodes, (1, 10_001))]  # 5,000 are in both
    done = [ended(nodes[0], id) for id in ids]
    equal([campaign["done"] for campaign in done], [15_000, 15_000])
    equal(sum(campaign["created"] for campaign in done), 25_000)
    equal(sum(campaign["skipped"] for campaign in done), 5000)
    equal(int(ctx.sql("SELECT COUNT(DISTINCT address) FROM delivery")[0][0]), 25_000)
    equal(int(ctx.sql("SELECT COUNT(*) FROM delivery")[0][0]), 25_000)


@only("postgres")
def test_another_node_goes_on_where_one_was_killed(ctx):
    one, other = ctx.start(clock="system"), ctx.start(clock="system")
    make_survey(one)
    id = send(one, HEAD + rows(40_000)).json["id"]
    eventually(lambda: show(other, id)["done"] > 0)
    one.kill9()
    equal(counts(ended(other, id)), [40_000, 40_000, 40_000, 0, 0])
    equal(int(ctx.sql("SELECT COUNT(*) FROM delivery")[0][0]), 40_000)


def test_it_is_stopped_in_the_middle(ctx):
    make_survey(ctx.peal)
    id = send(ctx.peal, HEAD + rows(200_000)).json["id"]
    stopped = ctx.peal.post(f"/v1/campaigns/{id}/stop", expect=200).json
    equal(stopped["state"], "stopped")
    eventually(lambda: pieces(ctx) == 0)
    after = show(ctx.peal, id)
    assert after["done"] < 200_000 and after["finishedAt"], after
    equal(int(ctx.sql("SELECT COUNT(*) FROM delivery")[0][0]), after["created"])
    ctx.peal.post(f"/v1/campaigns/{id}/stop", expect=409)
    equal(counts(run(ctx.peal, FILE)), [2, 2, 2, 0, 0])


def test_a_short_file_does_not_wait_for_a_long_one(ctx):
    make_survey(ctx.peal)
    long = send(ctx.peal, HEAD + rows(200_000, 10)).json["id"]
    equal(counts(run(ctx.peal, FILE)), [2, 2, 2, 0, 0])
    equal(show(ctx.peal, long)["state"], "running")
    ctx.peal.post(f"/v1/campaigns/{long}/stop", expect=200)


def test_a_long_file_does_not_wait_for_those_that_come_later(ctx):
    make_survey(ctx.peal)
    old = send(ctx.peal, HEAD + rows(200_000)).json["id"]
    eventually(lambda: show(ctx.peal, old)["done"] >= 20_000, seconds=60)
    new = send(ctx.peal, HEAD + rows(100_000, 1_000_000)).json["id"]
    before = show(ctx.peal, old)["done"]
    eventually(lambda: show(ctx.peal, new)["done"] >= 8_000, seconds=60)
    after = show(ctx.peal, old)["done"]
    assert after >= before + 4_000, (before, after)
    for id in (old, new):
        ctx.peal.post(f"/v1/campaigns/{id}/stop")


def begin_upload(peal, text, sent=None):
    """Sends a head that promises more than comes; of the text so much."""
    host, port = peal.host.split(":")
    client = socket.create_connection((host, int(port)))
    client.sendall((f"POST /v1/campaigns?{QUERY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {peal.key}\r\n"
                    f"Content-Type: text/csv\r\nContent-Length: {len(text) + 1}\r\n\r\n").encode() + text[:sent])
    return client


def test_an_upload_that_breaks_off_runs_nothing_and_is_tidied(ctx):
    make_survey(ctx.peal)
    client = begin_upload(ctx.peal, (HEAD + rows(20_000)).encode())
    eventually(lambda: pieces(ctx) > 1)
    [campaign] = ctx.peal.get("/v1/campaigns", expect=200).json["items"]
    equal((campaign["state"], campaign["done"]), ("uploading", 0))
    client.close()
    advance(ctx.peal, "61m")
    like(ended(ctx.peal, campaign["id"]), {"state": "stopped", "done": 0})
    eventually(lambda: pieces(ctx) == 0)
    equal(deliveries(ctx.peal), [])


def test_an_upload_that_goes_on_slowly_is_not_given_up(ctx):
    make_survey(ctx.peal)
    text = (HEAD + rows(20_000)).encode()
    half = len(text) // 2
    client = begin_upload(ctx.peal, text, sent=half)
    eventually(lambda: pieces(ctx) > 0)
    first = pieces(ctx)
    advance(ctx.peal, "50m")
    client.sendall(text[half:])
    eventually(lambda: pieces(ctx) > first)
    advance(ctx.peal, "50m")
    client.sendall(b"\n")
    assert b" 202 " in client.recv(4096)
    client.close()
    [campaign] = ctx.peal.get("/v1/campaigns", expect=200).json["items"]
    equal(counts(ended(ctx.peal, campaign["id"])), [20_000, 20_000, 20_000, 0, 0])


def test_a_stop_ends_an_upload(ctx):
    make_survey(ctx.peal)
    client = begin_upload(ctx.peal, (HEAD + rows(20_000)).encode())
    eventually(lambda: pieces(ctx) > 1)
    [campaign] = ctx.peal.get("/v1/campaigns", expect=200).json["items"]
    ctx.peal.post(f"/v1/campaigns/{campaign['id']}/stop", expect=200)
    client.sendall(b"\n")
    assert b" 409 " in client.recv(4096)
    client.close()
    eventually(lambda: pieces(ctx) == 0)


def test_a_stop_ends_an_upload_that_has_nothing_more_to_send(ctx):
    make_survey(ctx.peal)
    part = 256 * 1024  # what is handed over at once: behind it comes only the end
    host, port = ctx.peal.host.split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall((f"POST /v1/campaigns?{QUERY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ctx.peal.key}\r\nContent-Type: text/csv\r\n"
                        f"Transfer-Encoding: chunked\r\n\r\n{part:x}\r\n{(HEAD + rows(20_000))[:part]}\r\n").encode())
        eventually(lambda: pieces(ctx) == 1)
        [campaign] = ctx.peal.get("/v1/campaigns", expect=200).json["items"]
        ctx.peal.post(f"/v1/campaigns/{campaign['id']}/stop", expect=200)
        client.sendall(b"0\r\n\r\n")
        assert b" 409 " in client.recv(4096)
    equal(deliveries(ctx.peal), [])


def test_a_key_that_is_deleted_ends_its_upload(ctx):
    make_survey(ctx.peal)
    made = ctx.peal.post("/v1/keys", {"name": "short", "role": "operator"}, expect=201).json
    client = begin_upload(ctx.peal.with_key(made["key"]), (HEAD + rows(20_000)).encode())
    eventually(lambda: pieces(ctx) > 1)
    ctx.peal.delete(f"/v1/keys/{made['id']}", expect=204)
    client.sendall(b"\n")
    assert b" 401 " in client.recv(4096)
    client.close()
    equal(deliveries(ctx.peal), [])


def test_a_trigger_that_goes_stops_its_campaign(ctx):
    make_survey(ctx.peal)
    id = send(ctx.peal, HEAD + rows(100_000)).json["id"]
    ctx.peal.delete("/v1/surveys/csi", expect=204)
    done = ended(ctx.peal, id)
    equal((done["state"], done["failures"][-1]["error"]), ("stopped", "there is no trigger csi:gr any more"))


def test_why_it_was_stopped_is_kept_behind_failures_without_end(ctx):
    make_survey(ctx.peal)
    path = ctx.write("long.csv", HEAD + ",,,\n" * 10_001 + rows(100_000))
    told = []
    sending = threading.Thread(target=lambda: told.append(ctx.peal.cli("campaigns", "send", path, "--survey", "csi", "--trigger", "gr")))
    sending.start()
    eventually(lambda: [row for row in ctx.peal.get("/v1/campaigns", expect=200).json["items"] if row["state"] == "running" and row["failed"] > 10_000])
    ctx.peal.delete("/v1/surveys/csi", expect=204)
    sending.join()
    equal(told[0].code, 1, told[0].out)
    equal(ctx.sql("SELECT error FROM campaign_failure ORDER BY line DESC LIMIT 1")[0][0], "there is no trigger csi:gr any more")


def test_the_client_sends_shows_and_stops(ctx):
    make_survey(ctx.peal)
    path = ctx.write("people.csv", "phone,name\n+1,Ann\n,Bob\n")
    words = ["campaigns", "send", path, "--survey", "csi", "--trigger", "gr", "--address", "phone"]
    tried = ctx.peal.cli(*words, "--dry-run")
    equal((tried.code, tried.out), (0, "2 of 2 rows: 1 created, 0 skipped, 1 failed (done)\nline 3: it has no address\n"))
    equal(deliveries(ctx.peal), [])
    sent = ctx.peal.cli(*words)
    equal((sent.code, sent.out), (0, tried.out))
    told = [line.split()[1:4] for line in ctx.peal.cli("campaigns").out.splitlines()[1:]]
    equal(told, [["csi:gr", "done", "false"], ["csi:gr", "done", "true"]], "who reads the list knows what was only tried")
    id = ctx.peal.cli(*words, "--no-wait").out.strip()
    ended(ctx.peal, id)
    equal(ctx.peal.cli("campaigns", "stop", id).code, 5)
    assert id in ctx.peal.cli("campaigns").out and "csi:gr" in ctx.peal.cli("campaigns", "show", id).out
    equal(ctx.peal.cli("campaigns", "send", "--trigger", "gr").code, 2)
    equal(ctx.peal.cli("campaigns", "send", "nowhere.csv", "--trigger", "gr").code, 2)


def send_with_little_memory(peal, path, stdin=None):
    """Has the command send a dry run with 24 MiB of memory, which a sanitizer has no use for."""
    def limit():
        if not is_sanitized():
            resource.setrlimit(resource.RLIMIT_DATA, (24 << 20, 24 << 20))
    words = [peal_program(), "campaigns", "send", path, "--survey", "csi", "--trigger", "gr", "--dry-run", "--no-wait", "--url", peal.url]
    subprocess.run(words, env={"PEAL_KEY": peal.key}, stdin=stdin, preexec_fn=limit, check=True, timeout=60)


def test_the_client_sends_a_file_as_it_reads_it(ctx):
    make_survey(ctx.peal)
    path = ctx.write("long.csv", HEAD + "".join(f"+{n},en,c,{'x' * 60_000}\n" for n in range(600)))  # 36 MB
    send_with_little_memory(ctx.peal, path)
    with open(path, "rb") as file:
        send_with_little_memory(ctx.peal, "-", file)
    settle(ctx.peal)
    equal([counts(row) for row in ctx.peal.get("/v1/campaigns", expect=200).json["items"]], [[600, 600, 600, 0, 0]] * 2)


def test_a_campaign_goes_when_its_time_is_over(ctx):
    make_survey(ctx.peal)
    id = run(ctx.peal, HEAD + ",,,\n")["id"]
    eventually(lambda: pieces(ctx) == 0)
    advance(ctx.peal, "401d")
    eventually(lambda: ctx.peal.get(f"/v1/campaigns/{id}").status == 404)
    eventually(lambda: int(ctx.sql("SELECT COUNT(*) FROM campaign_failure")[0][0]) == 0)


def test_tenants_and_roles_are_told_apart(ctx):
    make_survey(ctx.peal)
    id = send(ctx.peal, FILE).json["id"]
    other = make_tenant(ctx.peal, "acme")
    equal(other.get("/v1/campaigns", expect=200).json["items"], [])
    for path in ("", "/failures"):
        other.get(f"/v1/campaigns/{id}{path}", expect=404)
    other.post(f"/v1/campaigns/{id}/stop", expect=404)
    send(make_user(ctx.peal, "read"), FILE, expect=403)
    send(make_user(ctx.peal, "operator"), FILE)


if __name__ == "__main__":
    main()
