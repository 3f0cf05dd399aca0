"""X2: a trigger and a filter are tried out: what they would do is told, and nothing is done."""
import base64
import json

from harness import equal, like, main
from steps import (ADDRESS, KIND, advance, captured, delivery, ingest_one, make_channel, make_tenant,
                   make_trigger, make_user, moment, settle, visit)

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
NO_SUCH_ID = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"


def event(kind=KIND, **members):
    return {"kind": kind, **visit(), **members}


def dry(peal, id="visit", expect=200, **body):
    return peal.post(f"/v1/triggers/{id}/test", body or {"event": event()}, expect=expect).json


def try_filter(peal, filter, expect=200, **body):
    return peal.post("/v1/filters/test", {"filter": filter, **body}, expect=expect).json


def test_it_tells_the_decision_the_plan_and_the_message(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1h", "reminders": ["24h", "48h"]}, expireAfter="7d")
    told = dry(ctx.peal)
    like(told["decision"], {"triggerId": "visit", "triggerVersion": 1, "outcome": "created", "reason": "matched",
                            "rule": {"kind": "trigger", "id": "visit", "version": 1}})
    assert "deliveryId" not in told["decision"], told
    equal(told["plan"], [{"send": 1, "at": moment(hours=1)}, {"send": 2, "at": moment(hours=25)},
                         {"send": 3, "at": moment(hours=73)}])
    equal(told["expiresAt"], moment(hours=73 + 7 * 24))
    like(told["message"], {"channel": "memory:default", "address": ADDRESS, "url": None, "headers": {}})
    equal((told["stops"], told["note"], told["callsOff"]), (None, None, False))


def test_what_is_told_is_what_happens(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1h"]})
    item = visit()
    told = dry(ctx.peal, event=item)
    id = ingest_one(ctx.peal, item)
    settle(ctx.peal)
    advance(ctx.peal, "1h")
    rows = captured(ctx.peal, id)
    equal([row["at"] for row in rows], [send["at"] for send in told["plan"]])
    own = {"deliveryId", "eventId", "publicId", "url", "source", "id"}
    plain = lambda body: {name: value for name, value in body.items() if name not in own}
    equal(plain(told["message"]["body"]), plain(rows[0]["body"]))


def test_a_filter_that_is_false_says_why(ctx):
    filter = {"all": [{"path": "candidate.jobType", "op": "==", "value": "PM"}]}
    make_trigger(ctx.peal, filter=filter)
    told = dry(ctx.peal, event=event(payload={"jobType": "GR"}))
    like(told, {"plan": [], "expiresAt": None, "message": None, "stops": None})
    like(told["decision"], {"outcome": "filtered", "reason": "filter-false", "path": "/filter/all/0", "seen": "GR",
                            "predicate": 'candidate.jobType == "PM"'})
    no = try_filter(ctx.peal, filter, event={"payload": {"jobType": "GR"}})
    equal(no["matches"], False)
    like(no["explain"], {"path": "/filter/all/0", "seen": "GR", "predicate": 'candidate.jobType == "PM"'})
    equal(try_filter(ctx.peal, filter, event={"payload": {"jobType": "PM"}}), {"matches": True, "explain": None})
    by_template = {"path": "templateId", "op": "==", "value": "7"}
    equal(try_filter(ctx.peal, by_template, event={"payload": {}}, templateId="7")["matches"], True)
    equal(try_filter(ctx.peal, by_template, event={"payload": {}})["matches"], False)


def test_one_that_is_disabled_or_listens_elsewhere(ctx):
    make_trigger(ctx.peal, enabled=False)
    like(dry(ctx.peal)["decision"], {"outcome": "disabled", "reason": "trigger-disabled"})
    told = dry(ctx.peal, event=event("another"))
    like(told["decision"], {"outcome": "filtered", "reason": "other-kind"})
    equal(told["note"], f"visit listens to {KIND}")


def test_a_key_that_is_taken_names_its_holder(ctx):
    make_trigger(ctx.peal, dedupRecipe=["recipient.address"])
    holder = ingest_one(ctx.peal)
    told = dry(ctx.peal)
    like(told["decision"], {"outcome": "duplicate", "reason": "duplicate-key", "deliveryId": holder})
    like(told, {"plan": [], "message": None})
    own = dry(ctx.peal, eventId=delivery(ctx.peal, holder)["eventId"])
    like(own["decision"], {"outcome": "created", "deliveryId": holder})
    equal(len(own["plan"]), 1)


def test_an_event_that_came_before(ctx):
    make_trigger(ctx.peal)
    first = ctx.peal.post("/v1/events", event(id="mine"), expect=202).json["eventId"]
    told = dry(ctx.peal, event=event(id="mine"))
    equal(told["decision"]["outcome"], "duplicate")
    equal(told["note"], f"an event with this id came before: {first}")
    equal(dry(ctx.peal, eventId=first)["decision"]["outcome"], "created")


def test_an_event_that_calls_off(ctx):
    make_trigger(ctx.peal, cancelOn={"eventKind": "visit.cancelled", "match": ["candidate.wip"],
                                     "filter": {"path": "candidate.sure", "op": "==", "value": True}})
    for sure in (True, False):
        told = dry(ctx.peal, event=event("visit.cancelled", payload={"wip": 1, "sure": sure}))
        equal(told["callsOff"], sure)
        equal(told["decision"]["reason"], "other-kind")


def test_what_has_no_way_out_says_how_it_would_end(ctx):
    make_trigger(ctx.peal, channel="http:nowhere")
    told = dry(ctx.peal)
    like(told["stops"], {"state": "parked", "reason": "no-channel"})
    equal((told["message"], len(told["plan"])), (None, 1))
    ctx.peal.post("/v1/channels", {"key": "http:nowhere", "type": "memory", "enabled": False}, expect=201)
    like(dry(ctx.peal)["stops"], {"state": "parked", "reason": "channel-disabled"})
    ctx.peal.put("/v1/channels/http:nowhere", {"key": "http:nowhere", "type": "memory"}, expect=200)
    equal(dry(ctx.peal)["stops"], None)
    ctx.peal.put("/v1/preferences", {"address": ADDRESS, "optOut": ["http"]}, expect=200)
    like(dry(ctx.peal)["stops"], {"state": "cancelled", "reason": "opted-out"})
    make_channel(ctx.peal, "memory:other")
    ctx.peal.put("/v1/preferences", {"address": ADDRESS, "channel": {"http:nowhere": "memory:other"}}, expect=200)
    equal(dry(ctx.peal)["message"]["channel"], "memory:other")


def test_a_request_is_shown_and_no_secret(ctx):
    receiver = ctx.receiver()
    config = {"url": f"{receiver.url}/in?token=queried", "signingSecret": SECRET, "authorization": "Bearer opensesame",
              "headers": {"X-Short": "abc", "X-Key": "a-longer-secret"}}
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http", "config": config}, expect=201)
    make_trigger(ctx.peal, channel="http:out")
    told = dry(ctx.peal)
    message = told["message"]
    headers = message["headers"]
    like(message, {"channel": "http:out", "address": ADDRESS, "url": f"{receiver.url}/in?token=queried"})
    like(headers, {"content-type": "application/json", "authorization": "***", "X-Short": "***", "X-Key": "***"})
    assert headers["webhook-signature"].startswith("v1,"), headers
    read = dry(make_user(ctx.peal, "read"))["message"]
    assert "queried" not in json.dumps(read), read
    for secret in (SECRET, "opensesame", "abc", "a-longer-secret"):
        assert f'"{secret}' not in json.dumps(told), secret
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    [request] = receiver.received
    equal(request.headers["authorization"], "Bearer opensesame")
    equal({name.lower() for name in headers} - {name.lower() for name in request.headers}, set())
    equal(set(message["body"]), set(json.loads(request.body)))
    assert delivery(ctx.peal, id)["state"] == "delivered"


def test_a_bot_that_is_told_by_its_url(ctx):
    ctx.peal.post("/v1/channels", {"key": "teams:ops", "type": "teams",
                                   "config": {"url": "https://example.org/hook/very-secret-part"}}, expect=201)
    make_trigger(ctx.peal, channel="teams:ops")
    message = dry(ctx.peal, event=event(payload={"body": "Hello"}))["message"]
    equal(message["url"], "https://***/")
    assert "very-secret" not in json.dumps(message) and "Hello" in json.dumps(message), message
    like(dry(ctx.peal, event=event(payload={}))["stops"], {"state": "parked", "reason": "bad-request"})


def test_a_login_is_never_shown_however_it_is_coded(ctx):
    cases = [("servicebus:q", "servicebus", {"namespace": "acme", "queue": "q", "keyName": "send", "key": "c2VjcmV0LWtleQ=="}, ADDRESS),
             ("sms:twilio", "twilio", {"accountSid": "AC1", "authToken": "secret-key", "from": "+15550100"}, "+964 770 000 0001"),
             ("email:out", "email", {"server": "smtps://mail.example.org", "from": "a@example.org", "user": "u",
                                     "password": "secret-key"}, "ada@example.org")]
    coded = [text for plain in ("c2VjcmV0LWtleQ==", "secret-key", "AC1:secret-key", "\0u\0secret-key")
             for text in (plain, base64.b64encode(plain.encode()).decode())]
    for key, type, config, address in cases:
        ctx.peal.post("/v1/channels", {"key": key, "type": type, "config": config}, expect=201)
        make_trigger(ctx.peal, type, channel=key)
        told = dry(ctx.peal, type, event=event(payload={"subject": "S", "body": "Hello"}, recipient={"address": address}))
        equal(told["stops"], None, key)
        assert told["message"]["url"].startswith(("https://", "smtps://")), told
        for text in coded:
            assert text not in json.dumps(told), (key, text)


def test_readers_see_a_stored_address_masked(ctx):
    make_trigger(ctx.peal)
    stored = delivery(ctx.peal, ingest_one(ctx.peal))["eventId"]
    reader = make_user(ctx.peal, "read")
    told = dry(reader, eventId=stored)
    assert ADDRESS not in json.dumps(told), told
    assert told["message"]["address"].startswith("***"), told
    equal(dry(reader)["message"]["address"], ADDRESS, "who gave it knows it")


def test_a_trigger_of_an_automation(ctx):
    make_channel(ctx.peal, "memory:runs")
    ctx.peal.post("/v1/automations", {"id": "sort", "handler": "memory:runs"}, expect=201)
    ctx.peal.post("/v1/triggers", {"id": "visit", "eventKind": KIND, "automation": "sort"}, expect=201)
    equal(dry(ctx.peal)["message"]["channel"], "memory:runs")
    ctx.peal.patch("/v1/automations/sort", {"enabled": False}, expect=200)
    like(dry(ctx.peal)["decision"], {"outcome": "disabled", "reason": "automation-disabled"})


def test_a_trigger_of_a_provider(ctx):
    ctx.peal.post("/v1/triggers", {"id": "bugs", "provider": "github", "type": "issues", "channel": "memory:default",
                                   "config": {"labels": ["bug"]}}, expect=201)
    given = lambda *labels: {"kind": "github.issues", "payload": {"context": {"labels": list(labels)}}}
    equal(dry(ctx.peal, "bugs", event=given("bug"))["decision"]["outcome"], "created")
    like(dry(ctx.peal, "bugs", event=given("ui"))["decision"], {"outcome": "filtered", "path": "/config/labels"})


def test_what_is_refused(ctx):
    make_trigger(ctx.peal)
    stored = delivery(ctx.peal, ingest_one(ctx.peal))["eventId"]
    other = make_tenant(ctx.peal, "other")
    make_trigger(other, "own")
    dry(other, "visit", expect=404, event=event())
    dry(other, "own", expect=404, eventId=stored)
    try_filter(other, {"path": "a", "op": "exists"}, expect=404, eventId=stored)
    dry(ctx.peal, "visit", expect=404, eventId=NO_SUCH_ID)
    ctx.peal.post("/v1/triggers/visit/test", {}, expect=422)
    dry(ctx.peal, expect=422, event=event(), eventId=stored)
    dry(ctx.peal, expect=422, event=event(), evnt=1)
    dry(ctx.peal, expect=422, event={"kind": KIND, "payload": 7})
    try_filter(ctx.peal, {"path": "a", "op": "?"}, expect=422, event=event())
    large = {"kind": KIND, "payload": {"x": "x" * (2 << 20)}}
    equal(ctx.peal.post("/v1/triggers/visit/test", {"event": large}).status, 413)
    equal(dry(ctx.peal, event=event(payload={"x": "a\r\nb"}))["message"]["body"]["payload"], {"x": "a\r\nb"})
    nul = ctx.peal.post("/v1/triggers/visit/test", {"event": event(payload={"x": "a\0b"})})
    assert nul.status in (400, 422), nul.text


def test_a_trigger_of_a_survey(ctx):
    ctx.peal.post("/v1/surveys", {"id": "csi", "questions": [{"id": "q", "type": "text", "text": {"en": "?"}}],
                                  "triggers": [{"id": "after", "eventKind": KIND, "channel": "memory:default"}]}, expect=201)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    told = dry(ctx.peal, "csi:after")
    like(told["decision"], {"outcome": "created", "surveyId": "csi"})
    assert told["expiresAt"], "it awaits an answer"


def test_the_command(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1h"]})
    stored = delivery(ctx.peal, ingest_one(ctx.peal))["eventId"]
    path = ctx.write("event.json", json.dumps(event()))
    peal = lambda *words: ctx.peal.cli("triggers", "test", *words)
    said = peal("visit", "--event", str(path))
    equal(said.code, 0)
    assert "decision  created (matched)" in said.out and f"reminder  {moment(hours=1)}" in said.out, said.out
    assert json.loads(peal("visit", "--event-id", stored, "--json").out)["decision"]["outcome"] == "created"
    equal(peal("visit").code, 2)
    equal(peal("gone", "--event-id", stored).code, peal("visit", "--event-id", NO_SUCH_ID).code)


if __name__ == "__main__":
    main()
