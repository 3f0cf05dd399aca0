"""A test of a channel is a delivery as any other, and on the record."""
from harness import equal, eventually, like, main
from mailserver import MailServer
from steps import advance, attempts, delivery, make_channel, make_tenant, make_user, settle


def ask(peal, key, expect=202, **body):
    return peal.post(f"/v1/channels/{key}/test", body, expect=expect).json


def test_a_test_is_a_delivery_and_says_so(ctx):
    make_channel(ctx.peal, "memory:own")
    made = ask(ctx.peal, "memory:own", target="ada@example.org", subject="Hello", body="There")
    settle(ctx.peal)
    like(delivery(ctx.peal, made["deliveryId"]),
         {"test": True, "state": "delivered", "channel": "memory:own", "address": "ada@example.org", "eventId": made["eventId"],
          "triggerId": None, "rule": {"kind": "test"}, "payload": {"subject": "Hello", "body": "There"}})
    [row] = ctx.peal.get("/v1/captured", expect=200).json["items"]
    equal(row["deliveryId"], made["deliveryId"])
    told = ctx.peal.get(f"/v1/captured/{made['deliveryId']}", expect=200).json
    equal((told["subject"], told["text"]), ("Hello", "There"))


def test_a_mail_arrives(ctx):
    server = MailServer()
    ctx.closers.append(server.close)
    ctx.peal.post("/v1/channels", {"key": "email:ops", "type": "email", "config": {"server": server.url, "from": "peal@example.org"}}, expect=201)
    id = ask(ctx.peal, "email:ops", target="ada@example.net")["deliveryId"]
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered", attempts(ctx.peal, id))
    equal(len(server.received), 1)


def test_a_target_is_held_against_its_channel(ctx):
    ctx.peal.post("/v1/channels", {"key": "email:ops", "type": "email", "config": {"server": "smtp://127.0.0.1:1", "from": "peal@example.org"}}, expect=201)
    for body in ({}, {"target": "nobody"}, {"target": "a b@example.org"}):
        problem = ask(ctx.peal, "email:ops", expect=422, **body)
        equal([each["path"] for each in problem["errors"]], ["/target"], body)
    ask(ctx.peal, "email:never", expect=404, target="a@example.org")
    equal(ctx.peal.get("/v1/deliveries", expect=200).json["items"], [])


def test_what_runs_jobs_is_not_tested_so(ctx):
    ctx.peal.post("/v1/channels", {"key": "worker:own", "type": "worker"}, expect=201)
    assert "jobs" in ask(ctx.peal, "worker:own", expect=422)["detail"]


def test_it_waits_while_nothing_may_be_sent(ctx):
    make_channel(ctx.peal, "memory:own")
    ctx.peal.post("/v1/hold", {"reason": "audit"}, expect=200)
    id = ask(ctx.peal, "memory:own")["deliveryId"]
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "pending")
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")


def test_a_tenant_has_ten_a_minute(ctx):
    make_channel(ctx.peal, "memory:own")
    for _ in range(10):
        ask(ctx.peal, "memory:own")
    equal(ask(ctx.peal, "memory:own", expect=429)["code"], "too-many-requests")
    acme = make_tenant(ctx.peal, "acme")
    make_channel(acme, "memory:own")
    ask(acme, "memory:own")
    advance(ctx.peal, "61s")
    ask(ctx.peal, "memory:own")


def test_authors_and_operators_may(ctx):
    make_channel(ctx.peal, "memory:own")
    for role, status in (("author", 202), ("operator", 202), ("read", 403), ("ingest", 403)):
        ask(make_user(ctx.peal, role), "memory:own", expect=status)


def test_the_audit_names_who_did_it(ctx):
    make_channel(ctx.peal, "memory:own")
    operator = make_user(ctx.peal, "operator")
    id = ask(operator, "memory:own")["deliveryId"]
    settle(ctx.peal)
    rows = eventually(lambda: [row for row in ctx.peal.get("/v1/audit", expect=200).json["items"] if id in str(row)])
    assert any(row.get("actor") for row in rows), rows


def test_the_command_says_where_to_look(ctx):
    make_channel(ctx.peal, "memory:own")
    ran = ctx.peal.cli("channels", "test", "memory:own", "ada@example.org", "--subject", "Hi")
    assert ran.code == 0 and "peal deliveries attempts" in ran.out, ran


if __name__ == "__main__":
    main()
