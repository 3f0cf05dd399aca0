"""W7, W5: Gmail's history is polled, its messages are fetched, and its watch is registered and renewed."""
from harness import equal, eventually, like, main
from poll_steps import all_events, gmail, group, groups, mail_trigger, mails, ms, oauth, status
from steps import advance, moment, tick


TOPIC = "projects/acme-1/topics/mail"


def test_mails_that_come_are_told(ctx):
    peer = gmail(ctx)
    peer.add("a1", ms(hours=-1))
    mail_trigger(ctx.peal)
    mail_trigger(ctx.peal, "important", config={"labels": ["IMPORTANT"]})
    tick(ctx.peal)
    peer.touch()
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])
    peer.add("a2", ms(seconds=70), subject="The answer")
    peer.add("a3", ms(seconds=80), labels=["INBOX", "IMPORTANT"])
    peer.add("a4", ms(seconds=90))
    peer.gone.add("a4")
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), ["a2", "a3"])
    equal(mails(ctx.peal, "important"), ["a3"])
    advance(ctx.peal, "5m")
    equal(len(all_events(ctx.peal, "gmail.message")), 2)
    like(all_events(ctx.peal, "gmail.message")[-1]["payload"],
         {"title": "The answer", "externalId": "a2", "occurredAt": moment(seconds=70), "url": "https://mail.google.com/mail/u/0/#all/a2",
          "providerEventType": "messageAdded", "context": {"labels": ["INBOX"], "from": "Ann <ann@example.com>", "subject": "The answer"}})
    like(group(ctx.peal), {"provider": "gmail", "triggers": 2, "lastError": None})
    equal(peer.wrongs, [])


def test_mails_that_are_there_are_told_to_who_asks(ctx):
    peer = gmail(ctx)
    peer.page_max = 7
    peer.add("old", ms(days=-31))
    for number in range(20):
        peer.add(f"m{number}", ms(days=-20, seconds=number))
    mail_trigger(ctx.peal, emitExisting=True)
    tick(ctx.peal)
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(20)))
    like(group(ctx.peal), {"lastError": None})
    peer.add("new", ms(seconds=5))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal)[-1], "new")
    advance(ctx.peal, "5m")
    equal(len(all_events(ctx.peal, "gmail.message")), 21)
    equal(peer.wrongs, [])


def test_a_history_of_many_pages_is_read_to_its_end(ctx):
    peer = gmail(ctx)
    peer.page_max = 7
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(40):
        peer.add(f"m{number}", ms(seconds=number))
    peer.answer_error("history", 429, "rateLimitExceeded", {"Retry-After": "60"})
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])
    peer.answer_error("messages/m9", 403, "userRateLimitExceeded")
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [f"m{number}" for number in range(7)])  # the page before counts
    like(group(ctx.peal), {"backoffUntil": moment(seconds=150)})
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(40)))
    equal(len(all_events(ctx.peal, "gmail.message")), 40)
    equal(peer.wrongs, [])


def test_an_expired_history_loses_nothing_and_says_so(ctx):
    peer = gmail(ctx)
    peer.page_max = 3
    for number in range(5):
        peer.add(f"old{number}", ms(minutes=-1 - number))
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    peer.add("a1", ms(seconds=10))
    advance(ctx.peal, "1m")
    for number in range(10):
        peer.add(f"b{number}", ms(seconds=70 + number))
    peer.expired = peer.history_id
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), sorted(["a1", *(f"b{number}" for number in range(10))]))
    assert "expired" in group(ctx.peal)["lastError"], group(ctx.peal)
    peer.add("c1", ms(seconds=130))
    advance(ctx.peal, "1m")
    equal(len(mails(ctx.peal)), 12)
    like(group(ctx.peal), {"lastError": None})
    equal(peer.wrongs, [])


def test_a_mail_that_cannot_be_fetched_is_left_out_after_three_polls(ctx):
    """Each of them is fetched in vain in its own way; those beside and behind them are told."""
    peer = gmail(ctx)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for id in ("a1", "bad1", "a2", "bad2", "bad3", "gone", "bad4"):
        peer.add(id, ms(seconds=10))
    peer.gone.add("gone")
    peer.broken = {"bad1": (500, "backendError"), "bad2": (400, "failedPrecondition"), "bad3": b'{"id":', "bad4": b"x" * ((1 << 20) + 1)}
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])  # the page is tried again, whole
    like(group(ctx.peal), {"backoffUntil": moment(seconds=90)})
    assert group(ctx.peal)["lastError"].startswith("some of what was found could not be fetched: "), group(ctx.peal)
    del peer.broken["bad4"]  # this one had a bad time only
    advance(ctx.peal, "30s")
    equal(mails(ctx.peal), [])
    peer.add("late", ms(seconds=95))
    ctx.peal.restart(clock=f"manual={moment(seconds=95)}")  # the tries are on record
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), ["a1", "a2", "bad4", "late"])
    like(group(ctx.peal), {"backoffUntil": None, "lastError": "3 of what came could not be taken and was left out: bad1, bad2, bad3"})
    peer.add("next", ms(seconds=160))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal)[-1], "next")
    like(group(ctx.peal), {"lastError": None})
    equal(len(all_events(ctx.peal, "gmail.message")), 5)
    equal(peer.wrongs, [])


def test_mails_wait_for_a_provider_that_gives_none(ctx):
    """Where nothing can be fetched it is not for the mails: nothing is left out, however often it is tried."""
    peer = gmail(ctx)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(30):
        peer.add(f"m{number}", ms(seconds=number))
        peer.broken[f"m{number}"] = (503, "backendError")
    asked = len(peer.requests)
    advance(ctx.peal, "1m")
    assert len(peer.requests) - asked <= 20, "a provider that is down is asked for everything"
    advance(ctx.peal, "6h")
    equal(mails(ctx.peal), [])
    like(group(ctx.peal), {"lastError": "some of what was found could not be fetched: it answered 503 (backendError): no"})
    peer.broken = {}
    advance(ctx.peal, "1h")
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(30)))
    equal(peer.wrongs, [])


def test_a_mail_with_a_page_of_its_own_is_given_a_day(ctx):
    """Nobody can tell whether it is the mail or the provider; those behind it do not wait for ever."""
    peer = gmail(ctx)
    peer.page_max = 1
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for id in ("a1", "bad", "a2"):
        peer.add(id, ms(seconds=10))
    peer.broken = {"bad": (500, "backendError")}
    advance(ctx.peal, "12h")
    equal(mails(ctx.peal), ["a1"])
    advance(ctx.peal, "12h")
    equal(mails(ctx.peal), ["a1", "a2"])
    equal(peer.wrongs, [])


def test_a_watch_is_registered_and_renewed_before_it_ends(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC, "labels": ["INBOX", "UNREAD"]})
    peer.watch_expires = ms(days=7)
    equal(status(ctx.peal, "box")["registration"], None)
    mail_trigger(ctx.peal, interval="12h")
    tick(ctx.peal)
    equal(peer.watches, [{"topicName": TOPIC, "labelIds": ["INBOX", "UNREAD"], "labelFilterBehavior": "INCLUDE"}])
    equal([name for name, _ in peer.requests], ["watch", "profile"])
    equal(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=7), "error": None})
    advance(ctx.peal, "3d")
    equal(len(peer.watches), 1)
    peer.watch_expires = ms(days=10.5)
    advance(ctx.peal, "12h")
    equal(len(peer.watches), 2)
    equal(status(ctx.peal, "box")["registration"]["expiresAt"], moment(days=10, hours=12))
    peer.answer_error("watch", 500, "backendError")
    advance(ctx.peal, "3d12h")
    equal(len(peer.watches), 3)
    like(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=10, hours=12), "error": "it answered 500 (backendError): no"})
    peer.watch_expires = ms(days=14.5)
    advance(ctx.peal, "12h")
    equal(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=14, hours=12), "error": None})
    equal(peer.wrongs, [])


def test_a_watch_that_is_refused_stops_no_poll(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.answer_error("watch", 403, "forbidden")
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    equal(status(ctx.peal, "box")["registration"], {"status": "failed", "expiresAt": None, "error": "it answered 403 (forbidden): no"})
    like(status(ctx.peal, "box"), {"status": "active"})
    peer.add("a1", ms(seconds=5))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), ["a1"])
    equal(len(peer.watches), 1)  # it is not asked for with each poll
    for answer in (b'{"historyId":"1"}', b'{"expiration":"-5"}', b'{"expiration":"99999999999999999999"}', b"[", b'{"expiration":"1000"}'):
        peer.answer("watch", 200, answer)
        advance(ctx.peal, "1h")
        equal(status(ctx.peal, "box")["registration"], {"status": "failed", "expiresAt": None, "error": "it does not say until when"})
    peer.watch_expires = ms(days=7)
    advance(ctx.peal, "1h")
    like(status(ctx.peal, "box")["registration"], {"status": "active", "error": None})
    equal(peer.wrongs, [])


def test_a_watch_follows_its_integration(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.watch_expires = ms(days=7)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    ctx.peal.patch("/v1/integrations/box", {"watch": {"topic": TOPIC + "2"}}, expect=200)
    advance(ctx.peal, "1m")
    equal([one["topicName"] for one in peer.watches], [TOPIC, TOPIC + "2"])
    ctx.peal.patch("/v1/integrations/box", {"watch": None}, expect=200)
    advance(ctx.peal, "1m")
    equal(peer.stops, 1)
    equal(status(ctx.peal, "box")["registration"], None)
    advance(ctx.peal, "10m")
    equal((len(peer.watches), peer.stops), (2, 1))
    equal(peer.wrongs, [])


def test_a_watch_ends_with_those_who_want_it(ctx):
    """Disabled, or polled by nobody: the mailbox is told to stop, once, and asked for nothing."""
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.watch_expires = ms(days=7)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    asked = len(peer.requests)
    ctx.peal.patch("/v1/integrations/box", {"enabled": False}, expect=200)
    eventually(lambda: tick(ctx.peal) and peer.stops == 1)
    advance(ctx.peal, "1d")
    equal([name for name, _ in peer.requests[asked:]], ["stop"])
    equal(status(ctx.peal, "box")["registration"], None)
    like(group(ctx.peal), {"nextPollAt": None, "lastError": "its integration is not enabled"})
    ctx.peal.patch("/v1/integrations/box", {"enabled": True}, expect=200)
    peer.watch_expires = ms(days=8)
    advance(ctx.peal, "1m")
    like(status(ctx.peal, "box")["registration"], {"status": "active"})
    equal(len(peer.watches), 2)
    peer.answer_error("stop", 500, "backendError")  # what it says to that changes nothing
    ctx.peal.delete("/v1/triggers/mails", expect=204)
    eventually(lambda: tick(ctx.peal) and groups(ctx.peal) == [])
    advance(ctx.peal, "1d")
    equal((peer.stops, len(peer.watches), peer.wrongs), (2, 2, []))


def test_a_watch_of_a_refused_token_is_left_to_its_own_end(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.watch_expires = ms(days=7)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    peer.token = "another"
    ctx.peal.delete("/v1/triggers/mails", expect=204)
    eventually(lambda: tick(ctx.peal) and groups(ctx.peal) == [])
    like(status(ctx.peal, "box"), {"status": "failed"})
    equal((peer.stops, len(peer.watches)), (0, 1))


def test_a_watch_has_a_fresh_token(ctx):
    giver = ctx.receiver()
    giver.answer(200, headers={"Content-Type": "application/json"}, body=b'{"access_token":"fresh","token_type":"Bearer"}')
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.token, peer.watch_expires = "fresh", ms(days=7)
    ctx.peal.patch("/v1/integrations/box", {"token": {**oauth(giver.url + "/token"), "value": None}}, expect=200)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    equal((giver.count(), len(peer.watches)), (1, 1))
    like(status(ctx.peal, "box")["registration"], {"status": "active", "error": None})


def test_only_gmail_has_a_watch_and_only_to_a_topic(ctx):
    def refused(body):
        return [one["path"] for one in ctx.peal.post("/v1/integrations", {"id": "x", **body}, expect=422).json["errors"]]

    equal(refused({"provider": "linear", "watch": {"topic": TOPIC}}), ["/watch"])
    for topic in ("", "mail", "projects//topics/x", "projects/a/topics/", "projects/a/topics/b/c", "projects/a/topics/b c", "projects/a/topics/b\r\n",
                  "projects/a/subscriptions/b", "projects/a/topics/" + "x" * 600):
        equal(refused({"provider": "gmail", "watch": {"topic": topic}}), ["/watch/topic"])
    equal(refused({"provider": "gmail", "watch": {}}), ["/watch/topic"])
    equal(refused({"provider": "gmail", "watch": {"topic": TOPIC, "labels": [1]}}), ["/watch/labels/0"])
    equal(refused({"provider": "gmail", "watch": {"topic": TOPIC, "other": 1}}), ["/watch/other"])


if __name__ == "__main__":
    main()
