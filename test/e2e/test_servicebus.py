"""Azure Service Bus as a way out (T15): signed as it asks, known by the public id, judged by what it says."""
import json

from bus_peer import ServiceBus, error
from harness import equal, like, main
from providers import told
from steps import advance, attempts, delivery, problems, settle
from test_providers import Way
from test_responses import GOOD, invite, make_survey, submit, told as told_of

CONFIG = {"namespace": "acme", "queue": "answers", "keyName": ServiceBus.key_name, "key": ServiceBus.key}


def open_way(ctx):
    return Way(ctx, ServiceBus, "servicebus", **CONFIG)


def properties(request):
    return json.loads(request.headers["brokerproperties"])


def expiry(request):
    return int(request.headers["authorization"].partition("&se=")[2].partition("&")[0])


def move(way, seconds):
    """Both clocks go on."""
    way.peer.now += seconds
    advance(way.peal, f"{seconds}s")


def test_a_message_is_taken(ctx):
    way = open_way(ctx)
    request, id = way.sent({"body": "ünïcode \U0001f514", "n": 1})
    shown = delivery(ctx.peal, id)
    equal(properties(request), {"MessageId": shown["publicId"], "CorrelationId": shown["eventId"]})
    like(request.json, {"deliveryId": id, "publicId": shown["publicId"], "attempt": 1,
                        "payload": {"body": "ünïcode \U0001f514", "n": 1}})
    equal(expiry(request), int(way.peer.now) + 3600)
    request, _ = way.sent(ttl="2d")
    equal(properties(request)["TimeToLive"], 2 * 86400)


def test_each_try_has_the_same_id_and_a_token_of_its_own(ctx):
    way = open_way(ctx)
    way.peer.upcoming.append(error(500, "The server was unable to process the request."))
    id = way.send()
    move(way, 30)
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})
    first, second = way.peer.wait_for(2)
    equal(properties(first), properties(second))
    equal(expiry(second) - expiry(first), 30)
    equal(way.peer.complaints, [])


def test_a_receipt_that_is_lost_makes_no_second_message(ctx):
    way = open_way(ctx)
    way.peer.lose_next()
    id = way.send()
    like(attempts(ctx.peal, id)[-1], {"outcome": "transient", "reason": "no-answer"})
    move(way, 30)
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})
    equal(way.peer.count(), 2)
    equal(list(way.peer.queue), [delivery(ctx.peal, id)["publicId"]])


def test_a_reminder_is_no_duplicate(ctx):
    way = open_way(ctx)
    key = way.open()
    ctx.peal.post("/v1/triggers", {"id": "twice", "channel": key, "eventKind": "twice", "awaitAnswer": True,
                                   "schedule": {"reminders": ["1d"]}}, expect=201)
    made = ctx.peal.post("/v1/ingest", {"eventKind": "twice", "items": [
        {"payload": {}, "recipient": {"address": "x"}}]}, expect=200).json
    settle(ctx.peal)
    public = made["items"][0]["deliveries"][0]["publicId"]
    move(way, 86400)
    equal(list(way.peer.queue), [public, public + ".2"])
    equal(way.peer.complaints, [])


def test_what_it_answers(ctx):
    way = open_way(ctx)
    full = "The maximum entity size has been reached or exceeded for Queue: 'acme:queue:answers'. QuotaType: EntitySize"
    way.answers(
        (error(400, "BadRequest"), "permanent", "refused"),
        (error(401, "Ip has been prevented to connect to the endpoint."), "transient", "login-refused"),
        (error(403, "The policy has no right to send."), "transient", "login-refused"),
        (error(403, full), "transient", "unwell"),
        (error(403, "The message is too large."), "permanent", "refused"),
        (error(413, "RequestEntityTooLarge"), "permanent", "refused"),
        (told(429, "", Retry_After="10"), "transient", "unwell"),
        (error(500, "Internal error"), "transient", "unwell"),
        (told(503, "The request was terminated because the entity is being throttled.", Retry_After="10"),
         "transient", "unwell"),
        (told(200, "<html>a proxy's own page</html>"), "transient", "unclassified"))


def test_a_queue_that_is_gone_disables_its_channel(ctx):
    way = open_way(ctx)
    for status in (404, 410):
        way.answers((error(status, "Put token failed. Entity not found."), "permanent", "gone"))
        like(ctx.peal.get(f"/v1/channels/servicebus:{way.count}", expect=200).json, {"enabled": False})


def test_retry_after_is_kept_to(ctx):
    way = open_way(ctx)
    way.peer.upcoming.append(told(429, "", Retry_After="120"))
    id = way.send()
    move(way, 119)
    equal(way.peer.count(), 1)
    move(way, 1)
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})


def test_a_wrong_key_is_told_parked_and_mended(ctx):
    way = open_way(ctx)
    for wrong in ({"keyName": "another"}, {"namespace": "others"}, {"key": "another"}):
        key = way.open(**wrong)
        id = way.send(key=key)
        like(attempts(ctx.peal, id)[-1], {"outcome": "transient", "reason": "login-refused", "code": 401})
    like(ctx.peal.get(f"/v1/channels/{key}", expect=200).json["health"], {"circuit": "open"})
    for _ in range(3):
        move(way, 30)
    shown = delivery(ctx.peal, id)
    like(shown, {"state": "parked", "reason": "gave-up", "attemptCount": 4})
    equal({attempt["reason"] for attempt in attempts(ctx.peal, id)}, {"login-refused"})
    assert "InvalidSignature: The token has an invalid signature." in shown["lastError"], shown
    body = {"key": key, "type": "servicebus", "config": way.config}
    ctx.peal.put(f"/v1/channels/{key}", body, expect=200)
    way.peer.complaints.clear()
    like(delivery(ctx.peal, way.send(key=key)), {"state": "delivered"})
    equal(way.peer.complaints, [])


def test_clocks_may_differ_by_less_than_an_hour(ctx):
    way = open_way(ctx)
    start = way.peer.now
    for ahead in (59 * 60, -59 * 60):
        way.peer.now = start + ahead
        way.sent()
    way.peer.now = start + 61 * 60
    id = way.send()
    found = attempts(ctx.peal, id)[-1]
    like(found, {"outcome": "transient", "reason": "login-refused", "code": 401})
    assert "ExpiredToken" in found["detail"], found


def test_what_is_too_large_is_parked_alone(ctx):
    way = open_way(ctx)
    key = way.open()
    large = way.send({"body": "x" * 300_000}, key=key)
    like(delivery(ctx.peal, large), {"state": "parked", "reason": "refused"})
    like(delivery(ctx.peal, way.send(key=key)), {"state": "delivered"})


def test_a_survey_is_told_under_the_id_of_what_was_answered(ctx):
    """One answer is one message, though the first receipt is lost; who hears beside it hears once."""
    way = open_way(ctx)
    key = way.open()
    make_survey(ctx.peal, [{"key": key, "retry": {"policy": "fixed", "interval": "30s", "max": 3}}, {"key": "memory:all"}])
    made = invite(ctx.peal, dealerId="1")
    settle(ctx.peal)
    way.peer.lose_next()
    taken = submit(ctx.peal, made, GOOD)
    settle(ctx.peal)
    move(way, 30)
    rows = told_of(ctx.peal)
    like(rows[f"csi:{key}"], {"state": "delivered", "attemptCount": 2})
    like(rows["csi:memory:all"], {"state": "delivered", "attemptCount": 1})
    equal([properties(request) for request in way.peer.wait_for(2)],
          [{"MessageId": made["publicId"], "CorrelationId": taken["responseId"]}] * 2)
    equal(list(way.peer.queue), [made["publicId"]])
    like(way.peer.queue[made["publicId"]], {"eventKind": "response-completed", "payload": {
        "surveyId": "csi", "publicId": made["publicId"], "answers": GOOD, "payload": {"dealerId": "1"}}})
    equal(way.peer.complaints, [])


def test_an_address_that_is_not_allowed_is_not_asked(ctx):
    ctx.start(allow_private="10.0.0.0/8")
    way = open_way(ctx)
    like(delivery(ctx.peal, way.send()), {"state": "parked", "reason": "address-forbidden"})
    equal(way.peer.count(), 0)


def test_settings_are_checked_and_the_key_is_not_shown(ctx):
    def save(**config):
        return ctx.peal.post("/v1/channels", {"key": "bus:x", "type": "servicebus", "config": {**CONFIG, **config}})

    for name, value in [("namespace", "eve.example/acme"), ("namespace", "acme?x"), ("namespace", "user@acme"),
                        ("queue", "../acme"), ("queue", "a?timeout=1"), ("queue", "a\r\nHost: eve"),
                        ("queue", "x" * 261), ("keyName", "a\nb"), ("keyName", ""), ("key", None), ("ttl", "0s"),
                        ("ttl", "soon"), ("baseUrl", "ftp://x"), ("baseUrl", "https://x/?a=b"), ("entity", "q")]:
        answer = save(**{name: value})
        equal(answer.status, 422, (name, value))
        assert f"/config/{name}" in dict(problems(answer)), (name, value, answer.text)
    shown = ctx.peal.post("/v1/channels", {"key": "bus:x", "type": "servicebus", "config": CONFIG}, expect=201)
    assert ServiceBus.key not in shown.text, shown.text
    like(shown.json["config"], {"namespace": "acme", "queue": "answers", "keyName": "send", "key": {"set": True}})


def test_a_key_does_not_follow_a_channel_elsewhere(ctx):
    way = open_way(ctx)
    key = way.open()
    moved = {**way.config, "baseUrl": "https://eve.example"}
    del moved["key"]
    answer = ctx.peal.put(f"/v1/channels/{key}", {"key": key, "type": "servicebus", "config": moved})
    equal(answer.status, 422, answer.text)


if __name__ == "__main__":
    main()
