"""Notifications to lists over real channels: mail, chats and providers, each target by itself."""
from harness import equal, like, main
from mailserver import MailServer
from providers import Infobip, Slack, Teams, Twilio, told
from steps import advance, delivery, settle
from test_notification_lists import make_list
from test_notifications import notify, shown
from test_preferences import prefer

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"
FROM = "Peal <peal@example.org>"


def mailing(ctx, **members):
    """A mail server, a channel to it, and a list of three."""
    server = MailServer()
    ctx.closers.append(server.close)
    ctx.peal.post("/v1/channels", {"key": "email:ops", "type": "email",
                                   "config": {"server": server.url, "from": FROM}}, expect=201)
    make_list(ctx.peal, name="Operations", channels=["email:ops"],
              targets=[{"address": one} for one in (ADA, BOB, EVE)], **members)
    return server


def outcomes(row):
    return {one["address"]: (one["outcome"], one["reason"]) for one in row["resolvedTargets"]}


def test_a_mail_to_a_list_is_tried_again_for_whom_it_failed(ctx):
    server = mailing(ctx)
    server.answer_next("rcpt", "450 4.2.1 mailbox busy", about=BOB)
    id = notify(ctx.peal, subject="Fire")["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Retrying", "retryCount": 1,
               "targetCounts": {"all": 3, "delivered": 2, "refused": 0}})
    equal(outcomes(row), {ADA: ("delivered", "accepted"), BOB: ("transient", "unwell"),
                          EVE: ("delivered", "accepted")})
    advance(ctx.peal, "1m")
    first, second = server.wait_for(2)
    equal((first.recipients, second.recipients), ([ADA, EVE], [BOB]))
    equal((first.mail["To"], second.mail["To"]), ("Operations:;", "Operations:;"))
    for address in (ADA, BOB, EVE):
        assert address.encode() not in first.bytes + second.bytes, address
    like(shown(ctx.peal, id), {"status": "Delivered", "lastError": None,
                               "targetCounts": {"all": 3, "delivered": 3, "refused": 0}})


def test_each_of_one_request_has_its_own_answer(ctx):
    """Infobip takes many in one request, and tells of each in the order in which they were named."""
    peer, phones = Infobip(), [f"+96477000000{n:02}" for n in range(1, 4)]
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/channels", {"key": "infobip:ops", "type": "infobip", "config": {
        "apiKey": Infobip.key, "baseUrl": peer.url}}, expect=201)
    make_list(ctx.peal, channels=["infobip:ops"], targets=[{"address": one} for one in phones])
    peer.upcoming.append(told(200, {"messages": [
        {"to": to[1:], "status": peer.status(number), "messageId": f"id-{to}"}
        for to, number in zip(phones, (26, 12, 6))]}))
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    equal(outcomes(shown(ctx.peal, id)), {
        phones[0]: ("delivered", "accepted"), phones[1]: ("transient", "unwell"), phones[2]: ("permanent", "refused")})
    equal(peer.complaints, [])


def test_one_that_refuses_is_left_to_a_person(ctx):
    server = mailing(ctx, showTargets=True)
    server.answer_next("rcpt", "550 5.1.1 no such user", about=EVE)
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "partly-delivered",
                               "targetCounts": {"all": 3, "delivered": 2, "refused": 1}})
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    first, second = server.wait_for(2)
    equal((first.recipients, second.recipients), ([ADA, BOB], [EVE]))
    equal([one.addr_spec for one in first.mail["To"].addresses], [ADA, BOB, EVE])
    like(shown(ctx.peal, id), {"status": "Delivered"})


def test_who_opted_out_holds_up_nobody(ctx):
    server = mailing(ctx)
    prefer(ctx.peal, "BOB@example.org", optOut=["email"])
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered", "lastError": None, "targetCounts":
                               {"all": 3, "delivered": 2, "refused": 0, "optedOut": 1}})
    equal(outcomes(shown(ctx.peal, id))[BOB], ("permanent", "opted-out"))
    equal([one.recipients for one in server.wait_for(1)], [[ADA, EVE]])


def test_who_opted_in_again_gets_it_by_a_retry(ctx):
    server = mailing(ctx)
    server.answer_next("rcpt", "550 5.1.1 no such user", about=EVE)
    prefer(ctx.peal, BOB, optOut=["email"])
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Parked", "reason": "partly-delivered", "targetCounts":
                               {"all": 3, "delivered": 1, "refused": 1, "optedOut": 1}})
    prefer(ctx.peal, BOB)
    ctx.peal.post(f"/v1/notifications/{id}/retry", expect=200)
    settle(ctx.peal)
    like(shown(ctx.peal, id), {"status": "Delivered"})
    equal([one.recipients for one in server.wait_for(2)], [[ADA], [BOB, EVE]])


def test_it_is_asked_before_each_send_to_a_target(ctx):
    server = mailing(ctx)
    server.answer_next("rcpt", "450 4.2.1 mailbox busy", about=BOB)
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    prefer(ctx.peal, BOB, optOut=["email:ops"])
    advance(ctx.peal, "1m")
    like(shown(ctx.peal, id), {"status": "Delivered", "retryCount": 0})
    equal(outcomes(shown(ctx.peal, id))[BOB], ("permanent", "opted-out"))
    equal(server.count(), 1)


def test_where_all_opted_out_nobody_is_asked(ctx):
    server = mailing(ctx)
    for address in (ADA, BOB, EVE):
        prefer(ctx.peal, address, optOut=["email"])
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Discarded", "reason": "opted-out", "targetCounts":
               {"all": 3, "delivered": 0, "refused": 0, "optedOut": 3}})
    equal(set(outcomes(row).values()), {("permanent", "opted-out")})
    like(delivery(ctx.peal, row["deliveryId"]), {"state": "cancelled", "reason": "opted-out"})
    equal(server.sessions, 0)


def test_a_chat_gets_one_post_for_a_list(ctx):
    for kind, type in ((Slack, "slack"), (Teams, "teams")):
        peer = kind()
        ctx.closers.append(peer.close)
        ctx.peal.post("/v1/channels", {"key": f"{type}:ops", "type": type,
                                       "config": {"url": peer.url + kind.path}}, expect=201)
        make_list(ctx.peal, id=type, channels=[f"{type}:ops"],
                  targets=[{"address": one} for one in (ADA, BOB, EVE)])
        id = notify(ctx.peal, list=type, subject="Fire")["id"]
        settle(ctx.peal)
        like(shown(ctx.peal, id), {"status": "Delivered", "resolvedTargets": []})
        equal((peer.count(), peer.complaints), (1, []))


def test_a_provider_of_one_address_a_request_reaches_all(ctx):
    peer = Twilio()
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/channels", {"key": "sms:ops", "type": "twilio", "config": {
        "accountSid": "AC1", "authToken": Twilio.token, "from": "+15550000000",
        "baseUrl": peer.url}}, expect=201)
    numbers = ["+15550000001", "+15550000002", "+15550000003"]
    make_list(ctx.peal, channels=["sms:ops"], targets=[{"address": one} for one in numbers])
    peer.upcoming.extend([None, told(503, {"message": "busy"})])
    id = notify(ctx.peal)["id"]
    settle(ctx.peal)
    row = shown(ctx.peal, id)
    like(row, {"status": "Retrying", "retryCount": 1,
               "targetCounts": {"all": 3, "delivered": 2, "refused": 0}})
    advance(ctx.peal, "1m")
    like(shown(ctx.peal, id), {"status": "Delivered", "channel": "sms:ops"})
    sent = [peer.fields(one)["To"] for one in peer.wait_for(4)]
    busy = next(one["address"] for one in row["resolvedTargets"] if one["outcome"] == "transient")
    equal((sorted(sent[:3]), sent[3]), (numbers, busy))
    equal((peer.complaints, delivery(ctx.peal, row["deliveryId"])["attemptCount"]), ([], 2))


if __name__ == "__main__":
    main()
