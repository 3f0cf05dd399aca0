"""The audit: what happened is sealed into a chain, listed, and any change of it is found."""
import json
import socket
import uuid
from urllib.parse import quote, urlsplit

from harness import equal, eventually, like, main, slow
from steps import advance, deliveries, ingest, make_tenant, make_trigger, make_user, settle, visit
from test_email import KEY, channel_body, mailserver
from test_notification_lists import make_list, targets
from test_notifications import notify, shown


def audit(peal, query=""):
    """All rows, oldest first."""
    rows, cursor = [], ""
    while True:
        page = peal.get(f"/v1/audit?limit=500{query}{cursor}", expect=200).json
        rows += page["items"]
        if page["next"] is None:
            return rows[::-1]
        cursor = f"&cursor={page['next']}"


def verify(peal):
    return peal.get("/v1/audit/verify", expect=200).json


def in_time(items):
    """By time. What happened in one moment of the standing clock is told in any order: it begins before it ends."""
    def rank(item):
        return item["kind"].endswith(".Terminal") - item["kind"].endswith((".Created", ".Enqueued"))
    return sorted(items, key=lambda item: (item["at"], rank(item)))


def of_delivery(peal, delivery):
    return in_time(audit(peal, f"&delivery={delivery}"))


def send_one(ctx, **payload):
    ingest(ctx.peal, visit(**payload))
    settle(ctx.peal)
    return deliveries(ctx.peal)[0]["id"]


def test_a_plain_delivery_leaves_its_trail(ctx):
    make_trigger(ctx.peal)
    row = send_one(ctx)
    trail = of_delivery(ctx.peal, row)
    equal([(item["kind"], item["status"]) for item in trail],
          [("Delivery.Created", "Enqueued"), ("Delivery.Attempt", "Success"),
           ("Delivery.Terminal", "Delivered")])
    like(trail[1], {"actor": "engine", "channel": "memory:default", "detail": {"attempt": 1}})
    equal(len({item["target"] for item in trail}), 1)
    everything = audit(ctx.peal)
    equal([item["seq"] for item in everything], list(range(1, len(everything) + 1)))
    equal(len({item["eventId"] for item in everything}), len(everything))
    verdict = verify(ctx.peal)
    like(verdict, {"ok": True, "rows": len(everything), "head": everything[-1]["hash"]})


def test_persons_definitions_and_keys_are_told(ctx):
    make_trigger(ctx.peal, channel="http:none")
    row = send_one(ctx)
    ctx.peal.post(f"/v1/deliveries/{row}/discard", {"reason": "no"}, expect=200)
    made = ctx.peal.post("/v1/keys", {"role": "read", "name": "eyes"}, expect=201).json
    ctx.peal.delete(f"/v1/keys/{made['id']}", expect=204)
    settle(ctx.peal)
    told = [(item["kind"], item["status"]) for item in audit(ctx.peal, f"&delivery={row}")]
    equal(told, [("Delivery.Created", "Enqueued"), ("Delivery.Terminal", "Parked"),
                 ("Operator.discard", "Success"), ("Delivery.Terminal", "Discarded")])
    kinds = {item["kind"] for item in audit(ctx.peal)}
    assert {"Definition.Saved", "Key.Created", "Key.Revoked"} <= kinds, kinds
    discard, = audit(ctx.peal, "&kind=Operator.discard")
    assert discard["actor"] != "engine", discard
    equal({item["status"] for item in audit(ctx.peal, "&errorsOnly=true")}, {"Parked", "Discarded"})


def test_a_publish_is_told_with_its_version(ctx):
    author = make_user(ctx.peal, "author")
    survey = {"id": "csi", "questions": [{"id": "rate", "type": "rating", "text": {"en": "?"}}]}
    author.post("/v1/surveys", survey, expect=201)
    for _ in range(2):  # the second changes nothing
        author.post("/v1/surveys/csi/publish", expect=200)
    author.patch("/v1/surveys/csi", {"title": {"en": "Your visit"}}, expect=200)
    author.post("/v1/surveys/csi/publish", expect=200)
    author.delete("/v1/surveys/csi", expect=204)
    settle(ctx.peal)
    told = audit(ctx.peal, "&kind=Survey.Published")
    equal(sorted((row["detail"]["text"], row["status"]) for row in told), [("csi/1", "Success"), ("csi/2", "Success")])  # in one moment
    [maker] = {row["actor"] for row in told}
    equal(maker, audit(ctx.peal, "&kind=Definition.Deleted")[0]["actor"])
    equal(verify(ctx.peal)["ok"], True)


def test_filters_and_masks(ctx):
    make_trigger(ctx.peal)
    row = send_one(ctx)
    address = quote(of_delivery(ctx.peal, row)[0]["target"])
    equal(len(audit(ctx.peal, f"&target={address}")), 3)
    equal(len(audit(ctx.peal, "&channel=memory:default")), 3)
    equal(audit(ctx.peal, "&channel=memory:other"), [])
    equal(audit(ctx.peal, "&actor=engine&kind=Delivery.Attempt")[0]["deliveryId"], row)
    reader = make_user(ctx.peal, "read")
    assert of_delivery(reader, row)[0]["target"].startswith("***")
    reader.get("/v1/audit?target=x", expect=403)
    equal(audit(make_tenant(ctx.peal, "acme"), f"&delivery={row}"), [])


def test_exporting_is_a_right_of_its_own(ctx):
    make_trigger(ctx.peal)
    send_one(ctx)
    for role, status in (("read", 403), ("operator", 403), ("author", 403), ("audit-export", 200)):
        make_user(ctx.peal, role).get("/v1/audit/export", expect=status)
    settle(ctx.peal)
    ran = ctx.peal.cli("audit", "export", "--kind", "Delivery.Attempt")
    equal(ran.code, 0)
    equal([json.loads(line)["kind"] for line in ran.out.splitlines()], ["Delivery.Attempt"])
    ran = ctx.peal.cli("audit", "export")
    equal([json.loads(line) for line in ran.out.splitlines()], audit(ctx.peal))


def forward(site, row_kind, **body):
    site.post("/v1/site/forward", {"rows": [
        {"id": str(uuid.uuid4()), "kind": row_kind, "enqueuedAt": "2026-05-14T05:00:00Z", "body": body}]},
        expect=200)


def site_of(peal, name):
    return peal.with_key(peal.post("/v1/keys", {"role": "site", "site": name}, expect=201).json["key"])


def test_every_filter_finds_its_rows_and_no_others(ctx):
    make_trigger(ctx.peal, "hot", eventKind="hot")
    make_trigger(ctx.peal, "lost", eventKind="lost", channel="http:none")
    seven, eight = site_of(ctx.peal, "plant-7"), site_of(ctx.peal, "plant-8")
    forward(seven, "event", kind="hot", payload={}, correlationId="c-7")
    forward(eight, "event", kind="lost", payload={}, correlationId="c-8")
    forward(eight, "audit", kind="Notification.Enqueued", list="ops", instance="line-2")
    ctx.peal.post("/v1/events", {"kind": "hot", "payload": {}}, expect=202)
    settle(ctx.peal)
    everything = audit(ctx.peal)
    asked = {
        "site=plant-7": lambda row: row["site"] == "plant-7",
        "site=plant-8": lambda row: row["site"] == "plant-8",
        "instance=line-2": lambda row: row["instance"] == "line-2",
        "correlationId=c-8": lambda row: row["correlationId"] == "c-8",
        "channel=memory:default": lambda row: row["channel"] == "memory:default",
        "status=Parked": lambda row: row["status"] == "Parked",
        "errorsOnly=true": lambda row: row["status"] in ("Parked", "Transient", "Permanent"),
        "site=plant-8&errorsOnly=true": lambda row: row["site"] == "plant-8" and row["status"] == "Parked",
    }
    for query, fits in asked.items():
        found = audit(ctx.peal, "&" + query)
        equal(found, [row for row in everything if fits(row)])
        assert found, query
    equal([row["kind"] for row in in_time(audit(ctx.peal, "&site=plant-7"))],
          ["Delivery.Created", "Delivery.Attempt", "Delivery.Terminal"])
    equal(audit(ctx.peal, "&site=nowhere"), [])
    equal(audit(make_tenant(ctx.peal, "acme"), "&site=plant-7"), [])
    ran = ctx.peal.cli("audit", "export", "--site", "plant-7")
    equal([json.loads(line) for line in ran.out.splitlines()], audit(ctx.peal, "&site=plant-7"))


def test_an_instance_is_found_from_beginning_to_end(ctx):
    """Whoever posted it: the notification's own source says where it comes from."""
    make_list(ctx.peal, targets=targets(2))
    long = "It burns. " * 4000  # more than payloads are read together
    row = shown(ctx.peal, notify(ctx.peal, body=long, source={"site": "plant-7", "instance": "line-2"})["id"])
    notify(ctx.peal, source={"site": "plant-7", "instance": "line-3"})
    notify(ctx.peal)
    settle(ctx.peal)
    found = audit(ctx.peal, "&instance=line-2")
    equal([item["kind"] for item in in_time(found)],
          ["Notification.Enqueued", "Notification.Attempt", "Notification.Attempt", "Notification.Terminal"])
    equal({(item["deliveryId"], item["site"], item["instance"]) for item in found},
          {(row["deliveryId"], "plant-7", "line-2")})
    equal(len(audit(ctx.peal, "&site=plant-7&instance=line-3")), 4)
    equal(audit(ctx.peal, "&site=plant-8&instance=line-3"), [])
    ran = ctx.peal.cli("audit", "export", "--site", "plant-7", "--instance", "line-2")
    equal([json.loads(line) for line in ran.out.splitlines()], found)


def mail_three(ctx):
    """A notification to three: the first has it at once, the next later, the last never."""
    server = mailserver(ctx)
    ctx.peal.post("/v1/channels", channel_body(server.url), expect=201)
    make_list(ctx.peal, channels=[KEY], targets=[{"address": f"{name}@example.net"} for name in THREE])
    server.answer_next("rcpt", "450 4.2.1 mailbox busy", about="bob@example.net")
    server.answer("rcpt", "550 5.1.1 no such user", about="eve@example.net")
    id = notify(ctx.peal, source={"instance": "line-2"})["id"]
    settle(ctx.peal)
    return shown(ctx.peal, id)["deliveryId"]


THREE = ("ada", "bob", "eve")


def told_to(peal, name):
    return [(item["kind"], item["status"], item["detail"]["attempt"], item["detail"]["code"])
            for item in audit(peal, f"&target={name}@example.net")]


def test_each_of_several_targets_is_told_by_his_own_outcome(ctx):
    row = mail_three(ctx)
    equal(told_to(ctx.peal, "bob"), [("Notification.Attempt", "Transient", 1, 450)])
    advance(ctx.peal, "1m")
    equal({name: told_to(ctx.peal, name) for name in THREE}, {
        "ada": [("Notification.Attempt", "Success", 1, 250)],
        "bob": [("Notification.Attempt", "Transient", 1, 450), ("Notification.Attempt", "Success", 2, 250)],
        "eve": [("Notification.Attempt", "Permanent", 1, 550)]})
    trail = of_delivery(ctx.peal, row)
    equal([(item["kind"], item["target"]) for item in trail],
          [("Notification.Enqueued", None)]
          + [("Notification.Attempt", f"{name}@example.net") for name in (*THREE, "bob")]
          + [("Notification.Terminal", None)])
    equal({item["instance"] for item in trail}, {"line-2"})
    equal(len({item["eventId"] for item in trail}), len(trail))
    reader = make_user(ctx.peal, "read")
    assert all(item["target"].startswith("***") for item in of_delivery(reader, row) if item["target"])
    equal(verify(ctx.peal)["ok"], True)


def test_what_targets_were_told_is_erased_by_address_and_restored_as_it_was(ctx):
    """Bob's row says by then that he has it: what the first attempt told him stands in its fact."""
    row = mail_three(ctx)
    advance(ctx.peal, "1m")
    trail, head = of_delivery(ctx.peal, row), verify(ctx.peal)["head"]
    ctx.peal.stop()
    ctx.sql(f"DELETE FROM {tables(ctx)}audit WHERE tenant = 1")
    ctx.peal.start()
    advance(ctx.peal, "1h")
    settle(ctx.peal)
    like(verify(ctx.peal), {"ok": True, "head": head})
    equal(of_delivery(ctx.peal, row), trail)
    ctx.peal.stop()
    feed = "char(10)" if ctx.store == "sqlite" else "chr(10)"
    ctx.sql(f"UPDATE {tables(ctx)}audit SET target = replace(target, {feed} || 'bob@example.net' || {feed},"
            f" {feed} || {feed})")
    ctx.peal.start()
    equal([item["target"] for item in of_delivery(ctx.peal, row)],
          [None if item["target"] == "bob@example.net" else item["target"] for item in trail])
    equal((len(told_to(ctx.peal, "bob")), verify(ctx.peal)["ok"]), (2, True))


def test_the_installations_chain_is_the_systems(ctx):
    ctx.peal.post("/v1/hold", {"reason": "the relay moves"}, expect=200)
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    rows = audit(ctx.peal, "&installation=true")
    equal([item["kind"] for item in rows], ["Operator.hold", "Operator.release"])
    equal(audit(ctx.peal, "&kind=Operator.hold"), [])
    held, = audit(ctx.peal, "&installation=true&kind=Operator.hold")
    equal(held["detail"]["text"], "the relay moves")
    assert held["actor"] != "engine", held
    equal(export(ctx.peal, "?installation=true"), rows)
    head = ctx.peal.get("/v1/audit/head?installation=true", expect=200).json
    like(ctx.peal.get("/v1/audit/verify?installation=true", expect=200).json,
         {"ok": True, "rows": len(rows), "head": head["head"]})
    equal(len({item["eventId"] for item in rows + audit(ctx.peal)}), len(rows) + len(audit(ctx.peal)))
    for role, paths in (("admin", ("", "/export", "/head", "/verify")), ("audit-export", ("/export", "/verify"))):
        person = make_user(ctx.peal, role)
        for path in paths:
            person.get(f"/v1/audit{path}?installation=false", expect=200)
            person.get(f"/v1/audit{path}?installation=true", expect=403)
    ran = ctx.peal.cli("audit", "--installation", "--kind", "Operator.hold", "--json")
    equal([json.loads(ran.out)["items"][0]["seq"], ran.code], [held["seq"], 0])
    equal(ctx.peal.cli("audit", "verify", "--installation").code, 0)
    equal(json.loads(ctx.peal.cli("audit", "head", "--installation", "--json").out)["seq"], head["seq"])
    ctx.peal.stop()
    ctx.sql(f"UPDATE {tables(ctx)}audit SET body = link WHERE tenant = 0")
    ctx.peal.start()
    equal(ctx.peal.cli("audit", "verify", "--installation").code, 1)
    equal(verify(ctx.peal)["ok"], True)


def export(peal, query=""):
    """Two rows or more: what is none, or one, is no text to the tests' client."""
    return [json.loads(line) for line in peal.get(f"/v1/audit/export{query}", expect=200).json.splitlines()]


PIECE = 200  # rows; store/audit.h


def test_an_export_goes_on_to_the_end_of_the_chain(ctx):
    make_trigger(ctx.peal)
    ctx.peal.post("/v1/channels", {"key": "http:rare", "type": "http",
                                   "config": {"url": "http://127.0.0.1:9/"}}, expect=201)
    ingest(ctx.peal, *(visit() for _ in range(2 * PIECE)))
    settle(ctx.peal)
    everything = audit(ctx.peal)
    assert len(everything) > 5 * PIECE, len(everything)
    equal(export(ctx.peal), everything)
    equal(export(ctx.peal, f"?after={PIECE}&limit={PIECE + 1}"), everything[PIECE:2 * PIECE + 1])
    equal(export(ctx.peal, f"?limit={PIECE}"), everything[:PIECE])
    last = [item for item in everything if item["deliveryId"]][-1]
    equal(export(ctx.peal, f"?delivery={last['deliveryId']}")[-1], last)
    ran = ctx.peal.cli("audit", "export", "--channel", "http:rare")
    equal((ran.code, ran.out), (0, ""))
    ctx.peal.get("/v1/audit/export?limit=0", expect=422)


def stopped_reader(peal):
    """Somebody who asks for all of it and reads nothing."""
    address = urlsplit(peal.url)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect((address.hostname, address.port))
    reader.sendall(f"GET /v1/audit/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {peal.key}"
                   "\r\n\r\n".encode())
    return reader


def test_who_does_not_read_holds_up_nobody(ctx):
    make_trigger(ctx.peal)
    for _ in range(4):
        ingest(ctx.peal, *(visit() for _ in range(1000)))
        settle(ctx.peal)
    readers = [stopped_reader(ctx.peal) for _ in range(20)]
    for reader in readers:
        assert reader.recv(12) == b"HTTP/1.1 200", "it was begun"
    rows = len(export(ctx.peal))
    equal(rows, ctx.peal.get("/v1/audit/head", expect=200).json["seq"])
    send_one(ctx)
    assert len(export(ctx.peal)) > rows
    for reader in readers[:10]:
        reader.close()
    ctx.peal.restart()  # it does not wait for the others
    for reader in readers[10:]:
        reader.close()
    equal(verify(ctx.peal)["ok"], True)


def test_a_cut_is_found_by_the_head_outside(ctx):
    make_trigger(ctx.peal)
    settle(ctx.peal)  # what follows is a block of its own
    send_one(ctx)
    head = ctx.peal.get("/v1/audit/head", expect=200).json
    equal(ctx.peal.cli("audit", "verify").code, 0)
    ctx.peal.restart()  # the head is kept outside at a stop, too
    equal(ctx.peal.get("/v1/audit/head", expect=200).json["outside"],
          {"seq": head["seq"], "hash": head["head"]})
    ctx.peal.stop()
    audit_table, chain = ("peal.audit", "peal.chain") if ctx.store == "postgres" else ("audit", "chain")
    ctx.sql(f"DELETE FROM {audit_table} WHERE tenant = 1 AND seq = {head['seq']}")
    last = f"(SELECT MAX(seq) FROM {audit_table} WHERE tenant = 1)"
    ctx.sql(f"UPDATE {chain} SET seq = {last}, link = (SELECT link FROM {audit_table}"
            f" WHERE tenant = 1 AND seq = {last}) WHERE tenant = 1")
    ctx.peal.start()
    cut = ctx.peal.get("/v1/audit/head", expect=200).json["seq"]
    assert cut < head["seq"], (cut, head)
    like(verify(ctx.peal), {"ok": False, "firstBad": {"seq": cut + 1, "problem": "cut"}})
    equal(ctx.peal.cli("audit", "verify").code, 1)
    # Nor is it forgotten once the chain is as long again and the file was renewed.
    for _ in range(3):
        send_one(ctx)
    ctx.peal.restart()
    assert ctx.peal.get("/v1/audit/head", expect=200).json["seq"] > head["seq"]
    like(verify(ctx.peal), {"ok": False, "firstBad": {"seq": head["seq"], "problem": "changed"}})


VERIFIED_AT_ONCE = 100_000  # rows; store/audit.h


def grow_chain(peal, triggers=25, calls=4):
    """So long a chain that a call does not verify it; nothing is sent."""
    for n in range(triggers):
        make_trigger(peal, f"later-{n}", eventKind="later", schedule={"initialDelay": "9d"})
    each = VERIFIED_AT_ONCE // triggers // calls
    for _ in range(calls):
        ingest(peal, *(visit() for _ in range(each)), kind="later")
    settle(peal)
    eventually(lambda: peal.get("/v1/audit/head", expect=200).json["seq"] > VERIFIED_AT_ONCE, 120)


def operation(peal, id):
    return peal.get(f"/v1/operations/{id}", expect=200).json


def ended(peal, id):
    return eventually(lambda: operation(peal, id)["state"] == "done" and operation(peal, id), 60)


def tables(ctx):
    return "peal." if ctx.store == "postgres" else ""


@slow
def test_a_long_chain_is_verified_by_an_operation(ctx):
    grow_chain(ctx.peal)
    answer = ctx.peal.get("/v1/audit/verify", expect=202)
    id = answer.json["id"]
    equal(answer.headers["Location"], f"/v1/operations/{id}")
    ctx.peal.kill9()
    ctx.peal.start()
    done = ended(ctx.peal, id)
    head = ctx.peal.get("/v1/audit/head", expect=200).json
    like(done, {"action": "verify", "state": "done", "ok": True, "rows": done["done"],
                "matched": done["done"], "checkpoints": done["done"] // 1000})
    assert VERIFIED_AT_ONCE < done["rows"] <= head["seq"], (done, head)

    exporter = make_user(ctx.peal, "audit-export")
    own = exporter.get("/v1/audit/verify", expect=202).json["id"]
    equal(ended(exporter, own)["ok"], True)
    other = ctx.peal.post("/v1/operations", {"action": "retry", "filter": {}}, expect=202).json["id"]
    exporter.get(f"/v1/operations/{other}", expect=404)
    make_tenant(ctx.peal, "acme").get(f"/v1/operations/{own}", expect=404)
    ctx.peal.post("/v1/operations", {"action": "verify", "filter": {}}, expect=422)

    ran = ctx.peal.cli("audit", "verify")
    assert ran.code == 0 and "is whole" in ran.out, ran
    settle(ctx.peal)
    ctx.peal.stop()
    gone = int(ctx.sql(f"SELECT seq FROM {tables(ctx)}chain WHERE tenant = 1")[0][0]) + 1
    ctx.sql(f"UPDATE {tables(ctx)}chain SET seq = seq + 5 WHERE tenant = 1")  # as if rows were cut
    ctx.peal.start()
    ran = ctx.peal.cli("audit", "verify", "--json")
    equal(ran.code, 1)
    like(json.loads(ran.out), {"ok": False, "firstBad": {"seq": gone}})
    assert "broken" in ctx.peal.cli("audit", "verify").err


def test_the_sweep_restores_what_is_missing(ctx):
    make_trigger(ctx.peal)
    for _ in range(3):
        send_one(ctx)
    rows = audit(ctx.peal)
    table = "peal.audit" if ctx.store == "postgres" else "audit"
    harms = (f"DELETE FROM {table} WHERE tenant = 1 AND seq = (SELECT MIN(seq) FROM {table} WHERE tenant = 1)",
             f"UPDATE {table} SET body = link WHERE tenant = 1",
             f"DELETE FROM {table}")
    for hours, harm in enumerate(harms, 1):  # the clock begins anew with each start
        ctx.peal.stop()
        ctx.sql(harm)
        ctx.peal.start()
        like(verify(ctx.peal), {"ok": False, "firstBad": {"seq": 1}})
        advance(ctx.peal, f"{hours}h")
        settle(ctx.peal)
        like(verify(ctx.peal), {"ok": True, "head": rows[-1]["hash"]})
        equal(audit(ctx.peal), rows)


REFUSE = {
    "sqlite": ["CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END"],
    "postgres": ["CREATE FUNCTION peal.refuse() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN RAISE EXCEPTION ''no''; END'",
                 "CREATE TRIGGER refuse BEFORE INSERT ON peal.audit FOR EACH ROW"
                 " EXECUTE FUNCTION peal.refuse()"],
}
ALLOW = {"sqlite": "DROP TRIGGER refuse", "postgres": "DROP TRIGGER refuse ON peal.audit"}


def metric(peal, name):
    text = peal.get("/metrics", expect=200).text
    return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def test_a_failing_audit_changes_no_delivery_is_counted_and_heals(ctx):
    make_trigger(ctx.peal)
    before = send_one(ctx)
    equal((metric(ctx.peal, "peal_audit_backlog"), metric(ctx.peal, "peal_audit_failures_total")), (0, 0))
    ctx.peal.stop()
    for statement in REFUSE[ctx.store]:
        ctx.sql(statement)
    ctx.peal.start()
    send_one(ctx)
    [row] = {one["id"] for one in deliveries(ctx.peal)} - {before}
    equal(ctx.peal.get(f"/v1/deliveries/{row}", expect=200).json["state"], "delivered")
    equal(of_delivery(ctx.peal, row), [])
    assert eventually(lambda: metric(ctx.peal, "peal_audit_failures_total") > 0)
    assert metric(ctx.peal, "peal_audit_backlog") >= 2
    ctx.peal.stop()
    ctx.sql(ALLOW[ctx.store])
    ctx.peal.start()
    settle(ctx.peal)
    equal([item["status"] for item in of_delivery(ctx.peal, row)], ["Enqueued", "Success", "Delivered"])
    equal((verify(ctx.peal)["ok"], metric(ctx.peal, "peal_audit_backlog")), (True, 0))


if __name__ == "__main__":
    main()
