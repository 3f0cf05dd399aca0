"""Email for real: over SMTP, to a server that the tests drive."""
from harness import equal, like, main
from mailserver import MailServer
from steps import (KIND, attempts, delivery, ingest_one, make_trigger, problems, settle, visit)

KEY = "email:ops"
FROM = "Peal <peal@example.org>"
ADA = "ada@example.net"
EVERY_30S = {"policy": "fixed", "interval": "30s", "max": 3}


def mailserver(ctx, **options):
    server = MailServer(**options)
    ctx.closers.append(server.close)
    return server


def channel_body(server, **config):
    return {"key": KEY, "type": "email", "config": {"server": server, "from": FROM, **config}}


def make_email(peal, server, **config):
    """A channel that mails through the server, and a trigger that sends visits there."""
    made = peal.post("/v1/channels", channel_body(server.url, **config), expect=201).json
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


def test_a_mail_arrives(ctx):
    server = mailserver(ctx)
    make_email(ctx.peal, server)
    id = send_one(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")
    got = server.wait_for(1)[0]
    equal((got.sender, got.recipients), ("peal@example.org", [ADA]))
    mail = got.mail
    equal((mail["From"], mail["To"], mail["Subject"]), (FROM, ADA, "Boiler 7"))
    equal(mail["Message-ID"], f"<{id}.1@example.org>")
    equal(mail["Auto-Submitted"], "auto-generated")
    equal(mail.get_content(), "Too hot.\n")
    like(attempts(ctx.peal, id)[0], {"outcome": "delivered", "code": 250, "providerId": "Q1"})


if __name__ == "__main__":
    main()
