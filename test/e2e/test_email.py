"""Email for real: over SMTP, to a server that the tests drive, and through Debian's own Postfix."""
import email
import email.policy
import threading

from harness import equal, eventually, like, main
from mailserver import MailServer
from postfix import Postfix
from steps import (act, advance, attempts, deliveries, delivery, ingest, ingest_one, make_trigger,
                   problems, settle, visit)
from test_network import Authority

KEY = "email:ops"
FROM = "Peal <peal@example.org>"
ADA = "ada@example.net"
EVERY_30S = {"policy": "fixed", "interval": "30s", "max": 3}
LOGIN = ("mailer", "open sesame")
USER = {"user": LOGIN[0], "password": LOGIN[1]}


def mailserver(ctx, **options):
    server = MailServer(**options)
    ctx.closers.append(server.close)
    return server


def channel_body(server, **members):
    config = {"server": server, "from": FROM, **members.pop("config", {})}
    return {"key": KEY, "type": "email", "config": config, **members}


def make_email(peal, server, **members):
    """A channel that mails through the server, and a trigger that sends visits there."""
    made = peal.post("/v1/channels", channel_body(server.url, **members), expect=201).json
    make_trigger(peal, channel=KEY, retry=EVERY_30S)
    return made


def mail_to(address=ADA, **payload):
    item = visit(**{"subject": "Boiler 7", "body": "Too hot.", **payload})
    item["recipient"]["address"] = address
    return item


def send_one(peal, address=ADA, **payload):
    """One delivery, tried once; answers its id."""
    id = ingest_one(peal, mail_to(address, **payload))
    settle(peal)
    return id


def last_attempt(peal, id):
    return attempts(peal, id)[-1]


def message_id(received):
    return received.mail["Message-ID"]


def trusting(ctx):
    """A server's certificate from an authority, and a Peal that trusts it."""
    authority = Authority(ctx.folder)
    _, certificate, _, key = authority.issue("mail")
    ctx.start(args=["--ca-file", authority.file])
    return certificate, key


# What is sent


def test_a_mail_arrives(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    id = send_one(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")
    got = server.wait_for(1)[0]
    equal((got.sender, got.recipients, got.is_tls), ("peal@example.org", [ADA], False))
    mail = got.mail
    equal((mail["From"], mail["To"], mail["Subject"]), (FROM, ADA, "Boiler 7"))
    equal(mail["Message-ID"], f"<{id}.1@example.org>")
    equal(mail["Date"], "Thu, 14 May 2026 05:12:34 +0000")
    equal(mail["Auto-Submitted"], "auto-generated")
    equal(mail.get_content(), "Too hot.\n")
    like(attempts(ctx.peal, id)[0], {"outcome": "delivered", "code": 250, "providerId": "Q1"})


def test_text_and_html_in_any_script(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server, config={"from": "غلاية <peal@example.org>",
                                         "replyTo": "\"Ops, night\" <night@example.org>",
                                         "listUnsubscribe": "https://example.org/out?u=1"})
    text, html = "الغلاية ساخنة جدا\n.\nFrom here " + "x" * 2000, "<p>الغلاية <b>ساخنة</b></p>"
    send_one(ctx.peal, subject="الغلاية رقم ٧ " * 20, body=text, typeData={"html": html})
    mail = server.wait_for(1)[0].mail
    equal(mail["Subject"].strip(), ("الغلاية رقم ٧ " * 20).strip())
    equal((mail["From"].addresses[0].display_name, mail["From"].addresses[0].addr_spec),
          ("غلاية", "peal@example.org"))
    equal(mail["Reply-To"].addresses[0].display_name, "Ops, night")
    equal(mail["List-Unsubscribe"], "<https://example.org/out?u=1>")
    equal([part.get_content_type() for part in mail.iter_parts()], ["text/plain", "text/html"])
    equal(mail.get_body(("plain",)).get_content(), text)
    equal(mail.get_body(("html",)).get_content(), html)
    assert max(map(len, server.received[0].bytes.split(b"\r\n"))) <= 998


def test_no_value_makes_a_header_or_a_command(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    evil = "x\r\nBcc: eve@example.org\r\n\r\nhello\n.\n\x00\r\nRCPT TO:<eve@example.org>"
    send_one(ctx.peal, subject=evil.replace("\x00", ""), body=evil.replace("\x00", ""))
    refused = send_one(ctx.peal, address="ada@example.net>,<eve@example.org")
    got = server.wait_for(1)
    equal(got[0].recipients, [ADA])
    equal((got[0].mail["Bcc"], len(got)), (None, 1))
    assert not any("eve" in command for command in server.commands), server.commands
    like(delivery(ctx.peal, refused), {"state": "parked", "reason": "no-recipient"})


def test_a_bad_address_is_no_recipient(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    for address in ("+964 770 000 0001", "ada", "ada@", "a b@example.org"):
        like(delivery(ctx.peal, send_one(ctx.peal, address=address)),
             {"state": "parked", "reason": "no-recipient"})
    equal(server.sessions, 0)


def test_addresses_beyond_ascii(ctx):
    server = mailserver(ctx, offers=["SMTPUTF8", "8BITMIME"])
    make_email(ctx.peal, server)
    equal(delivery(ctx.peal, send_one(ctx.peal, address="josé@example.net"))["state"], "delivered")
    equal(delivery(ctx.peal, send_one(ctx.peal, address="ada@münchen.example"))["state"], "delivered")
    first, second = server.wait_for(2)
    equal((first.recipients, "SMTPUTF8" in first.options), (["josé@example.net"], True))
    equal((second.recipients, "SMTPUTF8" in second.options), (["ada@xn--mnchen-3ya.example"], False))


def test_a_server_without_utf8_is_not_asked_for_it(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    id = send_one(ctx.peal, address="josé@example.net")
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "refused"})
    like(last_attempt(ctx.peal, id), {"code": 553})
    assert "SMTPUTF8" in last_attempt(ctx.peal, id)["detail"]
    equal(server.count(), 0)


def test_connections_are_used_again(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server, concurrency=1)
    ingest(ctx.peal, *[mail_to() for _ in range(20)])
    settle(ctx.peal)
    equal((len(server.wait_for(20)), server.sessions), (20, 1))


def test_a_connection_that_was_closed_meanwhile_costs_no_attempt(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server, concurrency=1)
    server.answer_next("end", drop="after")
    send_one(ctx.peal)
    second = send_one(ctx.peal)
    like(delivery(ctx.peal, second), {"state": "delivered", "attemptCount": 1})
    server.answer_next("mail", "421 4.7.0 that was the last", drop="after")
    third = send_one(ctx.peal)
    like(delivery(ctx.peal, third), {"state": "delivered", "attemptCount": 1})
    equal(len(server.wait_for(3)), 3)


# What the server says


def test_replies_are_for_now_or_for_good(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    for step, text, state, reason in (
            ("mail", "451 4.3.0 not now", "retrying", "unwell"),
            ("mail", "550 5.7.1 not you", "parked", "refused"),
            ("rcpt", "450 mailbox busy", "retrying", "unwell"),
            ("rcpt", "550-5.1.1 no\r\n550 5.1.1 such user", "parked", "refused"),
            ("data", "452 4.3.1 disk full", "retrying", "unwell"),
            ("data", "554 5.5.1 no", "parked", "refused"),
            ("end", "451 4.7.1 greylisted", "retrying", "unwell"),
            ("end", "554 5.6.0 spam", "parked", "refused"),
            ("rcpt", "421 4.3.2 going down", "retrying", "unwell"),
            ("mail", "530 5.7.0 log in first", "retrying", "login-refused")):  # opens the circuit
        server.answer_next(step, text)
        id = send_one(ctx.peal)
        like(delivery(ctx.peal, id), {"state": state}, f"{step} {text}")
        attempt = last_attempt(ctx.peal, id)
        equal((attempt["code"], attempt["reason"]), (int(text[:3]), reason), f"{step} {text}")
        equal(attempt["detail"][:3], text[:3])
        act(ctx.peal, id, "cancel" if state == "retrying" else "discard", {"reason": "seen"})
    equal(server.count(), 0)


def send_to_three(ctx, server):
    """One delivery to ada, bob and eve, due in an hour."""
    make_email(ctx.peal, server)
    ctx.peal.patch("/v1/triggers/visit", {"schedule": {"initialDelay": "1h"}}, expect=200)
    id = ingest_one(ctx.peal, mail_to())
    ctx.peal.stop()
    for n, name in enumerate(("ada", "bob", "eve"), 1):
        ctx.sql("INSERT INTO target (tenant, delivery, n, address, send, round, verdict)"
                f" SELECT tenant, id, {n}, '{name}@example.net', 0, 0, 3 FROM delivery")
    ctx.peal.start()
    return id


def outcomes(peal, id):
    return [(target["outcome"], target["code"]) for target in delivery(peal, id)["targets"]]


def test_what_one_of_three_is_told_is_his_alone(ctx):
    server = mailserver(ctx)
    id = send_to_three(ctx, server)
    server.answer_next("rcpt", "450 4.2.1 mailbox busy", about="bob@example.net")
    server.answer("rcpt", "550 5.1.1 no such user", about="eve@example.net")
    advance(ctx.peal, "1h")
    equal(outcomes(ctx.peal, id), [("delivered", 250), ("transient", 450), ("permanent", 550)])
    advance(ctx.peal, "30s")
    equal(outcomes(ctx.peal, id), [("delivered", 250), ("delivered", 250), ("permanent", 550)])
    like(delivery(ctx.peal, id), {"state": "parked", "reason": "partly-delivered"})
    first, second = server.wait_for(2)
    equal((first.recipients, second.recipients), ([ADA], ["bob@example.net"]))
    equal(message_id(first), message_id(second))
    equal(first.mail["To"], "undisclosed-recipients:;")


def test_the_reply_to_the_dot_is_for_all_that_were_taken(ctx):
    server = mailserver(ctx)
    id = send_to_three(ctx, server)
    server.answer_next("rcpt", "550 5.1.1 no such user", about="eve@example.net")
    server.answer_next("end", drop="before")
    advance(ctx.peal, "1h")
    equal([one for one, _ in outcomes(ctx.peal, id)], ["transient", "transient", "permanent"])
    advance(ctx.peal, "30s")
    first, second = server.wait_for(2)
    equal((first.recipients, message_id(first)), (second.recipients, message_id(second)))
    equal([one for one, _ in outcomes(ctx.peal, id)], ["delivered", "delivered", "permanent"])


def test_a_refused_login_is_told_and_tried_again(ctx):
    server = mailserver(ctx, login=("mailer", "another password"))
    make_email(ctx.peal, server, config={**USER, "allowPlainAuth": True})
    id = send_one(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "retrying", "attemptCount": 1})
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "login-refused", "code": 535,
                                      "detail": "535 5.7.8 authentication failed"})


def test_a_connection_is_used_again_by_its_own_login_alone(ctx):
    server = mailserver(ctx, login=LOGIN)
    make_email(ctx.peal, server, config={**USER, "allowPlainAuth": True}, concurrency=1)
    send_one(ctx.peal)
    ctx.peal.patch(f"/v1/channels/{KEY}", {"config": {"password": "another"}}, expect=200)
    id = send_one(ctx.peal)  # the connection of the one before is still open
    like(last_attempt(ctx.peal, id), {"reason": "login-refused", "code": 535})
    equal((server.count(), server.sessions), (1, 2))


def test_a_greeting_that_refuses_may_pass(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    for text in ("554 5.7.0 go away", "421 4.7.0 too busy"):
        server.answer_next("greeting", text)
        id = send_one(ctx.peal)
        like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-connection",
                                          "code": int(text[:3]), "detail": text})
        act(ctx.peal, id, "cancel", {"reason": "seen"})


# What goes wrong on the way


def test_a_reply_that_is_lost_after_the_dot_is_sent_again_under_its_id(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    server.answer_next("end", drop="before")
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-answer"})
    advance(ctx.peal, "30s")
    first, second = server.wait_for(2)
    equal(message_id(first), message_id(second))
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})


def test_a_connection_that_drops_is_tried_again_wherever_it_drops(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    server.answer("end", drop="after")  # each mail has a connection of its own
    steps = ("greeting", "ehlo", "mail", "rcpt", "data", "end")
    ids = []
    for step in steps:
        server.answer_next(step, drop="before")
        ids.append(send_one(ctx.peal))
        equal(last_attempt(ctx.peal, ids[-1])["outcome"], "transient", step)
        advance(ctx.peal, "30s")
        like(delivery(ctx.peal, ids[-1]), {"state": "delivered", "attemptCount": 2}, step)
    assert {message_id(one) for one in server.received} == {f"<{id}.1@example.org>" for id in ids}


def test_nonsense_is_no_answer(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    server.answer_next("mail", "hello there\r\n250 ok")
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-answer",
                                      "detail": "the server does not speak SMTP"})


def test_who_hangs_holds_up_nobody_else(ctx):
    """At every step, the QUIT of a refused opening included: libcurl would wait there by itself."""
    slow, quick, never = mailserver(ctx, login=("mailer", "other")), ctx.receiver(), threading.Event()
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:quick", "type": "http", "config": {"url": quick.url}}, expect=201)
    peal.post("/v1/channels", channel_body(slow.url, timeout="5s", config={**USER, "allowPlainAuth": True}),
              expect=201)
    make_trigger(peal, channel=KEY, retry={"policy": "fixed", "interval": "1h", "max": 3})
    make_trigger(peal, id="quick", eventKind="quick", channel="http:quick")
    hung = 0
    for step in ("greeting", "quit", "mail", "rcpt", "data", "end"):
        slow.forget()
        slow.login = ("mailer", "other") if step == "quit" else LOGIN
        slow.answer(step, hold=never)
        slow.stalled = 0
        ingest_one(peal, mail_to())
        hung += 1
        eventually(lambda: slow.logins if step == "quit" else slow.stalled)
        ingest(peal, visit(), kind="quick")
        quick.wait_for(hung, seconds=3)
    eventually(lambda: len(deliveries(peal, "&state=retrying")) == hung, seconds=30)


def test_kill_between_the_servers_word_and_ours_sends_twice_under_one_id(ctx):
    server, never = mailserver(ctx), threading.Event()
    make_email(ctx.peal, server)
    server.answer_next("end", hold=never)
    id = ingest_one(ctx.peal, mail_to())
    server.wait_for(1)  # it is taken: the answer is not on its way yet
    ctx.peal.kill9()
    ctx.peal.restart()
    eventually(lambda: advance(ctx.peal, "1m") and server.count() == 2)
    first, second = server.wait_for(2)
    equal(message_id(first), message_id(second))
    like(delivery(ctx.peal, id), {"state": "delivered"})


# TLS and login


def test_starttls_and_login(ctx):
    certificate = trusting(ctx)
    server = mailserver(ctx, certificate=certificate, login=LOGIN)
    make_email(ctx.peal, server, config={"startTls": "required", **USER})
    equal(delivery(ctx.peal, send_one(ctx.peal))["state"], "delivered")
    got = server.wait_for(1)[0]
    equal((got.is_tls, got.user, server.logins), (True, LOGIN[0], [(*LOGIN, True)]))


def test_tls_from_the_start(ctx):
    certificate = trusting(ctx)
    server = mailserver(ctx, certificate=certificate, implicit_tls=True, login=LOGIN)
    make_email(ctx.peal, server, config=USER, concurrency=1)
    ingest(ctx.peal, *[mail_to(body="x" * 300_000) for _ in range(3)])
    settle(ctx.peal)
    equal([(one.is_tls, one.session, len(one.mail.get_content())) for one in server.wait_for(3)],
          [(True, 1, 300_001)] * 3)


def test_a_certificate_that_nobody_vouches_for_ends_it(ctx):
    authority = Authority(ctx.folder)
    _, certificate, _, key = authority.issue("mail")
    server = mailserver(ctx, certificate=(certificate, key), login=LOGIN)
    make_email(ctx.peal, server, config={"startTls": "optional", "allowPlainAuth": True, **USER})
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-connection"})
    equal((server.logins, server.count()), ([], 0))


def test_what_requires_tls_does_not_go_without(ctx):
    server = mailserver(ctx, login=LOGIN)
    make_email(ctx.peal, server, config={"startTls": "required", **USER})
    id = send_one(ctx.peal)
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "reason": "no-connection"})
    equal((server.logins, server.count()), ([], 0))
    assert not any(command.startswith("MAIL") for command in server.commands), server.commands


def test_a_plain_login_must_be_wanted(ctx):
    for config in (USER, {"startTls": "optional", **USER}, {"startTls": "none", **USER}):
        answer = ctx.peal.post("/v1/channels", channel_body("smtp://mx.example.org", config=config), expect=422)
        equal(problems(answer), [("/config/startTls", "plain-login")])
    for server, config in (("smtp://mx.example.org", {"startTls": "required", **USER}),
                           ("smtps://mx.example.org", USER),
                           ("smtp://mx.example.org", {"allowPlainAuth": True, **USER})):
        ctx.peal.post("/v1/channels", channel_body(server, config=config), expect=201)
        ctx.peal.delete(f"/v1/channels/{KEY}", expect=204)


# What is configured


def test_a_bad_config_is_told_with_its_place(ctx):
    for config, place in (
            ({"server": "http://mx.example.org"}, "server"),
            ({"server": "smtp://"}, "server"),
            ({"server": "smtp://user@mx.example.org"}, "server"),
            ({"server": "smtp://mx.example.org/a b"}, "server"),
            ({"server": "smtp://mx.example.org/%0d%0aRSET"}, "server"),
            ({"from": "peal"}, "from"),
            ({"from": "Peal\r\nBcc: eve@example.org <peal@example.org>"}, "from"),
            ({"replyTo": "a@b, c@d"}, "replyTo"),
            ({"listUnsubscribe": "javascript:alert(1)"}, "listUnsubscribe"),
            ({"listUnsubscribe": "https://example.org/>\r\nBcc: eve@example.org"}, "listUnsubscribe"),
            ({"startTls": "maybe"}, "startTls"),
            ({"password": "x"}, "user")):
        answer = ctx.peal.post("/v1/channels", channel_body("smtp://mx.example.org", config=config), expect=422)
        equal([path for path, _ in problems(answer)], [f"/config/{place}"], str(config))


def test_the_password_is_secret_and_stays_with_its_server(ctx):
    server = mailserver(ctx, login=LOGIN)
    made = make_email(ctx.peal, server, config={**USER, "allowPlainAuth": True})
    like(made["config"], {"user": LOGIN[0], "password": {"set": True}})
    moved = channel_body("smtp://elsewhere.example.org", config={
        "user": LOGIN[0], "password": {"set": True}, "allowPlainAuth": True})
    answer = ctx.peal.put(f"/v1/channels/{KEY}", moved, expect=422)
    equal([path for path, _ in problems(answer)], ["/config/password"])
    equal(delivery(ctx.peal, send_one(ctx.peal))["state"], "delivered")
    equal(server.wait_for(1)[0].user, LOGIN[0])


def test_a_private_address_is_not_reached(ctx):
    server = mailserver(ctx)
    peal = ctx.start(allow_private=None)
    make_email(peal, server)
    id = send_one(peal)
    like(delivery(peal, id), {"state": "parked", "reason": "address-forbidden"})
    equal(server.sessions, 0)


def test_debians_postfix_takes_it(ctx):
    certificate, key = trusting(ctx)
    postfix = Postfix(ctx.folder, ["ada"], certificate, key)
    ctx.closers.append(postfix.close)
    make_email(ctx.peal, postfix, config={"startTls": "required"}, concurrency=2)
    text = ".\n..\nالغلاية ساخنة\n" + "x" * 3000
    ids = [send_one(ctx.peal, body=text) for _ in range(3)]
    unknown = send_one(ctx.peal, address="nobody@example.net")
    elsewhere = send_one(ctx.peal, address="josé@example.net")
    mails = eventually(lambda: len(postfix.box("ada")) == 3 and postfix.box("ada"))
    found = [email.message_from_bytes(mail, policy=email.policy.default) for mail in mails]
    equal({mail["Message-ID"] for mail in found}, {f"<{id}.1@example.org>" for id in ids})
    equal([mail.get_content() for mail in found], [text + "\n"] * 3)
    for id in ids:
        queued = last_attempt(ctx.peal, id)["providerId"]
        assert queued and f"{queued}: from=<peal@example.org>" in postfix.log(), (queued, postfix.log())
    assert "ESMTPS" in str(found[0]["Received"]), found[0]["Received"]
    for id in (unknown, elsewhere):
        like(delivery(ctx.peal, id), {"state": "parked", "reason": "refused"})
        like(last_attempt(ctx.peal, id), {"code": 550})


if __name__ == "__main__":
    main()
