"""Far sides that mean no good, over HTTP and SMTP: each is told for what it is, in words that can be
read, and everybody else goes on."""
import base64
import re
import time

from harness import equal, eventually, like, main
from hostile import Hostile, answers, asked, context_of, drips, says, says_then, speaks
from mailserver import Answer, MailServer
from process import PATIENCE
from steps import advance, attempts, delivery, ingest, make_trigger, moment, settle, visit
from test_network import Authority
from test_notification_lists import make_list
from test_notifications import notify, shown

NEVER = {"policy": "fixed", "interval": "1d", "max": 9}
ADA = {"address": "ada@example.net"}


def open_hostile(ctx, script, **options):
    peer = Hostile(script, **options)
    ctx.closers.append(peer.close)
    return peer


def make_way(peal, name, type, **config):
    peal.post("/v1/channels", {"key": f"{type}:{name}", "type": type, "timeout": "2s", "config": config},
              expect=201)
    make_trigger(peal, name, eventKind=name, channel=f"{type}:{name}", retry=NEVER)


def send(peal, name, address="ada@example.net"):
    item = visit(subject="Boiler 7", body="Too hot.")
    item["recipient"]["address"] = address
    answer = ingest(peal, item, kind=name)
    return answer["items"][0]["deliveries"][0]["deliveryId"]


def run_cases(ctx, peal, cases, make):
    """Every case at once, each with a way of its own; a live channel beside them stays quick."""
    live, ids = ctx.receiver(), {}
    make_way(peal, "live", "http", url=live.url)
    for name, case in cases.items():
        make(name, case[0])
    for name in cases:
        ids[name] = send(peal, name)
    for count in range(1, 6):
        before = time.monotonic()
        send(peal, "live")
        live.wait_for(count)
        took = time.monotonic() - before
        assert took < 2 * PATIENCE, f"{took:.2f} s"
    wrong = []
    for name, (_, outcome, reason, code, words) in cases.items():
        found = eventually(lambda: attempts(peal, ids[name]), seconds=30)[-1]
        is_so = (found["outcome"], found["reason"], found["code"]) == (outcome, reason, code)
        if not is_so or not re.search(words, found["detail"] or ""):
            wrong.append((name, found))
    assert not wrong, "\n".join(map(str, wrong))


GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HTTP = {
    "silent": (lambda line: line.hang(), "transient", "no-answer", None, "timed out|time"),
    "drips": (drips(GOOD, 0.2), "transient", "no-answer", None, ""),
    "drips-body": (says_then(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
                             lambda line: line.for_ever(b"x", 0.2)), "transient", "no-answer", 200, ""),
    "closes": (lambda line: None, "transient", "no-answer", None, ""),
    "resets": (lambda line: (asked(line), line.reset()), "transient", "no-answer", None, ""),
    "breaks-off": (says(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nten bytes!"),
                   "transient", "no-answer", 200, ""),
    "flood": (says_then(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n",
                        lambda line: line.for_ever(b"x" * 65536)), "delivered", "accepted", 200, "xxx"),
    "endless": (says_then(b"HTTP/1.1 500 no\r\nTransfer-Encoding: chunked\r\n\r\n",
                          lambda line: line.for_ever(b"4\r\n<p>\n\r\n" * 1000)), "transient", "unwell", 500, "<p>"),
    "headers": (says_then(b"HTTP/1.1 200 OK\r\n", lambda line: line.for_ever(b"X-More: of this\r\n" * 1000)),
                "transient", "no-answer", 200, "^Too large response headers"),
    "long-header": (says_then(b"HTTP/1.1 200 OK\r\nX-Long: ", lambda line: line.for_ever(b"x" * 65536)),
                    "transient", "no-answer", 200, "^the head of the answer is longer"),
    "interim": (lambda line: (asked(line), line.for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)),
                "transient", "no-answer", None, ""),
    "no-http": (says(b"220 mail.test ESMTP\r\n"), "transient", "no-answer", None, ""),
    "nothing-said": (says(b"\r\n\r\n\0\0\0"), "transient", "no-answer", None, ""),
    "two-lengths": (says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\nok"),
                    "transient", "no-answer", 200, ""),
    "bad-length": (says(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok"), "transient", "no-answer", 200, ""),
    "bad-chunk": (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nok\r\n"),
                  "transient", "no-answer", 200, ""),
    "strange": (answers(999, body=b"what"), "permanent", "refused", 999, "^what$"),
    "metadata": (answers(302, "Location: http://169.254.169.254/latest/meta-data/"), "permanent", "refused", 302,
                 "^redirects are not followed: http://169.254.169.254/"),
    "inward": (answers(307, "Location: http://127.0.0.1:1/"), "permanent", "refused", 307, "^redirects"),
    "binary": (answers(400, body=b"a\0b\xff\xfe\x1b[2Jc\r\nd"), "permanent", "refused", 400,
               "^a b\ufffd\ufffd \\[2Jc  d$"),
    "squeezed": (answers(200, "Content-Encoding: gzip", body=b"no gzip"), "delivered", "accepted", 200, ""),
    "busy": (answers(429), "transient", "unwell", 429, ""),
}


def test_whatever_an_http_peer_does_is_told_and_holds_up_nobody(ctx):
    peal, peers = ctx.start(clock="system"), {}

    def make(name, script):
        peers[name] = open_hostile(ctx, script)
        make_way(peal, name, "http", url=peers[name].url)
    run_cases(ctx, peal, HTTP, make)
    equal({name: peer.connections for name, peer in peers.items()}, {name: 1 for name in HTTP})


SMTP = {
    "silent": (lambda line: line.hang(), "transient", "no-connection", None, ""),
    "drips": (lambda line: [line.send(bytes([c])) for c in b"220 hello\r\n" if not line.closing.wait(0.3)],
              "transient", "no-connection", None, ""),
    "closes": (lambda line: None, "transient", "no-connection", None, ""),
    "no-smtp": (lambda line: line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "transient", "no-connection", None, ""),
    "greets-for-ever": (lambda line: line.for_ever(b"220-welcome\r\n" * 1000), "transient", "no-connection", None,
                        "reply has no end"),
    "offers-for-ever": (speaks(EHLO=lambda line: line.for_ever(b"250-OFFER\r\n" * 1000)),
                        "transient", "no-connection", None, "reply has no end|^Too large response"),
    "talks-for-ever": (speaks(MAIL=lambda line: line.for_ever(b"250-and\r\n" * 1000)),
                       "transient", "no-answer", None, "does not speak SMTP"),
    "long-line": (speaks(RCPT=lambda line: line.for_ever(b"2" * 65536)), "transient", "no-answer", 250,
                  "does not speak SMTP"),
    "nuls": (speaks(MAIL=b"\0\0\0\0\r\n"), "transient", "no-answer", None, "does not speak SMTP"),
    "eight-bits": (speaks(RCPT=b"550 gibt's nicht: \xfc\xff\0\x1b[2J \xc3\xa4\r\n"), "permanent", "refused", 550,
                   "^550 gibt's nicht: \ufffd\ufffd  \\[2J ä$"),
    "mixed-codes": (speaks(MAIL=b"250-one\r\n550 two\r\n"), "transient", "no-answer", None, ""),
    "garbage-ahead": (speaks(greeting=b"220 hi\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n"),
                      "transient", "no-answer", 250, "does not speak SMTP"),
    "takes-it-unsent": (speaks(DATA=b"250 2.0.0 Ok: queued as Q1\r\n"), "transient", "no-answer", 250,
                        "does not speak SMTP"),
    "closing": (speaks(DATA=lambda line: (line.send(b"354 go on\r\n"), line.send(b"421 4.3.2 shutting down\r\n"))),
                "transient", "unwell", 421, "^421 4.3.2 shutting down"),
    "dot-unanswered": (speaks(dot=lambda line: line.connection.close()), "transient", "no-answer", 354,
                       "^the connection broke before"),
    "too-large": (speaks(EHLO=b"250-mail.test\r\n250 SIZE 10\r\n", MAIL=b"552 5.3.4 too large\r\n"),
                  "permanent", "refused", 552, "too large"),
}


def test_whatever_a_mail_server_does_is_told_and_holds_up_nobody(ctx):
    peal = ctx.start(clock="system")

    def make(name, script):
        peer = open_hostile(ctx, script, scheme="smtp")
        make_way(peal, name, "email", server=peer.url, **{"from": "peal@example.org"})
    run_cases(ctx, peal, SMTP, make)


class Narrow(MailServer):
    """Takes so many recipients a mail, and puts the others off."""

    def __init__(self, most):
        self.most = most
        super().__init__()

    def choose(self, step, about):
        if step != "rcpt":
            self.taken = 0
            return super().choose(step, about)
        self.taken += 1
        return Answer(step, "452 4.5.3 too many recipients" if self.taken > self.most else "")


def test_a_list_of_ten_thousand_reaches_everybody_once(ctx):
    """By a server that takes 60 a mail: a hundred are asked for at a time, and the rest asked again."""
    peal, server, count = ctx.peal, Narrow(60), 10_000
    ctx.closers.append(server.close)
    peal.post("/v1/channels", {"key": "email:ops", "type": "email", "concurrency": 1,
                               "config": {"server": server.url, "from": "peal@example.org"}}, expect=201)
    everybody = [f"member{n}@example.net" for n in range(count)]
    make_list(peal, channels=["email:ops"], targets=[{"address": one} for one in everybody])
    id = notify(peal, subject="Fire")["id"]
    settle(peal)
    eventually(lambda: advance(peal, "1m") and shown(peal, id)["status"] == "Delivered", seconds=120)
    reached = [one for mail in server.received for one in mail.recipients]
    equal((len(reached), set(reached) == set(everybody)), (count, True))
    equal({mail.mail["Message-ID"] for mail in server.received}, {server.received[0].mail["Message-ID"]})


# Certificates and logins


def test_a_certificate_that_is_wrong_ends_it_and_is_named(ctx):
    authority = Authority(ctx.folder)
    (ctx.folder / "other").mkdir()
    certificates = {
        "expired": (authority.issue("expired", days=-1), "expired"),
        "named": (authority.issue("named", names="DNS:other.example"), "does not match|no alternative"),
        "unknown": (Authority(ctx.folder / "other").issue("unknown"), "issuer|self.signed")}
    peal, heard = ctx.start(clock="system", args=["--ca-file", authority.file]), []
    cases = {f"{kind}-{scheme}": ((scheme, options[1::2]), "transient", "no-connection", None, words)
             for kind, (options, words) in certificates.items() for scheme in ("https", "smtps", "smtp")}

    def make(name, case):
        scheme, certificate = case
        if scheme == "https":
            peer = open_hostile(ctx, says(GOOD), scheme="https", certificate=certificate)
            make_way(peal, name, "http", url=peer.url)
            return
        secured = speaks(heard, EHLO=b"250-mail.test\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n",
                         STARTTLS=lambda line: (line.send(b"220 go ahead\r\n"), line.secure(context_of(certificate))))
        peer = open_hostile(ctx, secured, scheme=scheme, certificate=certificate if scheme == "smtps" else None)
        make_way(peal, name, "email", server=peer.url, **{
            "from": "peal@example.org", "startTls": "required", "user": "mailer", "password": "open sesame"})
    run_cases(ctx, peal, cases, make)
    equal({command.split()[0] for command in heard}, {"EHLO", "STARTTLS"})


def test_what_stands_between_can_neither_strip_nor_inject(ctx):
    """Before TLS anybody may speak: nothing of it counts, and nothing of ours goes out."""
    authority, heard = Authority(ctx.folder), []
    certificate = authority.issue("mail")[1::2]
    peal = ctx.start(clock="system", args=["--ca-file", authority.file])
    injected = b"220 go ahead\r\n250-mail.test\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 ok\r\n"
    offers = b"250-mail.test\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n"
    cases = {
        "stripped": (speaks(heard, EHLO=b"250-mail.test\r\n250 AUTH PLAIN\r\n"), "transient", "no-connection", None,
                     "STARTTLS"),
        "refused": (speaks(heard, EHLO=offers, STARTTLS=b"454 4.7.0 not available\r\n"), "transient", "no-connection",
                    454, "^454"),
        "injected": (speaks(heard, EHLO=offers, STARTTLS=lambda line: (
            line.send(injected), line.secure(context_of(certificate)))), "transient", "no-connection", None, ""),
        "no-tls": (speaks(heard, EHLO=offers, STARTTLS=lambda line: line.for_ever(b"220 go ahead\r\n")),
                   "transient", "no-connection", None, ""),
    }

    def make(name, script):
        peer = open_hostile(ctx, script, scheme="smtp")
        make_way(peal, name, "email", server=peer.url, **{
            "from": "peal@example.org", "startTls": "required", "user": "mailer", "password": "open sesame"})
    run_cases(ctx, peal, cases, make)
    equal({command.split()[0] for command in heard} - {"QUIT"}, {"EHLO", "STARTTLS"})


def test_logins_that_cannot_be(ctx):
    peal, coded = ctx.start(clock="system"), base64.b64encode(b"\0mailer\0open sesame").decode()
    offers = b"250-mail.test\r\n250 AUTH PLAIN\r\n"
    echo = f"535 5.7.8 mailer, open sesame, {coded} is wrong\r\n".encode()
    cases = {
        "nothing-in-common": (speaks(EHLO=b"250-mail.test\r\n250 AUTH KERBEROS_V4\r\n"), "transient", "login-refused",
                              None, "authentication|Login denied"),
        "not-offered": (speaks(MAIL=b"530 5.7.0 log in first\r\n"), "transient", "login-refused", 530, "^530"),
        "echoed": (speaks(EHLO=offers, AUTH=echo), "transient", "login-refused", 535,
                   r"^535 5.7.8 mailer, \*\*\*, \*\*\* is wrong$"),
        "for-now": (speaks(EHLO=offers, AUTH=b"454 4.7.0 later\r\n"), "transient", "no-connection", 454, "^454"),
        "asked-on": (speaks(EHLO=offers, AUTH=lambda line: line.for_ever(b"334 \r\n")), "transient", "login-refused",
                     None, ""),
    }

    def make(name, script):
        peer = open_hostile(ctx, script, scheme="smtp")
        make_way(peal, name, "email", server=peer.url, **{
            "from": "peal@example.org", "allowPlainAuth": True, "user": "mailer", "password": "open sesame"})
    run_cases(ctx, peal, cases, make)


# Retry-After


def test_retry_after_is_a_floor_with_a_ceiling_whatever_it_says(ctx):
    peal, day = ctx.peal, moment(hours=24)
    cases = {"a-year": ("31536000", day), "more-than-numbers": ("9" * 40, day),
             "a-far-date": ("Sun, 06 Nov 2044 08:49:37 GMT", day), "a-past-date": ("Sun, 06 Nov 1994 08:49:37 GMT", None),
             "negative": ("-60", None), "nothing": ("0", None), "empty": ("", None), "garbage": ("soon", None),
             "a-fraction": ("1.5", None), "two": ("60, 90", None)}
    for name, (value, until) in cases.items():
        receiver = ctx.receiver()
        make_way(peal, name, "http", url=receiver.url)
        receiver.answer(429, headers={"Retry-After": value})
        id = send(peal, name)
        settle(peal)
        shown = peal.get(f"/v1/channels/http:{name}", expect=200).json["health"]
        equal((name, shown["pausedUntil"]), (name, until))
        like(delivery(peal, id), {"state": "retrying", "dueAt": day})
    receiver = ctx.receiver()
    make_way(peal, "none", "http", url=receiver.url)
    receiver.answer(429)
    ids = [send(peal, "none") for _ in range(3)]
    settle(peal)
    equal([len(attempts(peal, id)) for id in ids], [1, 1, 1])  # it is busy, and did not ask for a pause


if __name__ == "__main__":
    main()
