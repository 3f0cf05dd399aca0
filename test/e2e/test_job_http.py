"""J5: an HTTP endpoint as a handler: what a run tells it, what its answer means, and a 202 that is
followed by done or fail under the lease."""
import base64
import hmac
import threading

from harness import eventually, equal, like, main
from steps import advance, attempts, delivery, ingest_one, make_trigger, moment, problems, settle

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()


def make_job(peal, receiver, name="Rates", channel=None, config=None, **members):
    """A job whose handler is the receiver."""
    body = {"key": "http:rates", "type": "http", "config": {"url": receiver.url + "/run", **(config or {})},
            **(channel or {})}
    peal.post("/v1/channels", body, expect=201)
    return peal.post("/v1/jobs", {"name": name, "handler": "http:rates", **members}, expect=201).json


def run(peal, name="Rates"):
    """One run by hand, tried once; answers its delivery's id."""
    id = peal.post(f"/v1/jobs/{name}/trigger", expect=202).json["deliveryId"]
    settle(peal)
    return id


def last_attempt(peal, id):
    return attempts(peal, id)[-1]


def report(peal, id, verb, fence, expect=200, **members):
    return peal.post(f"/v1/work/{id}/{verb}", {"fence": fence, **members}, expect=expect).json


# What it is told


def test_a_run_tells_its_handler_what_it_is(ctx):
    receiver = ctx.receiver()
    make_job(ctx.peal, receiver, config={"signingSecret": SECRET}, payload={"base": "EUR"})
    receiver.answer_next(500)
    id = run(ctx.peal)
    advance(ctx.peal, "10m")
    first, second = receiver.wait_for(2)
    like(first.json, {"type": "job", "deliveryId": id, "job": "Rates", "entity": None, "executionId": f"{id}-1",
                      "source": "Manual", "scheduledFor": moment(), "attempt": 1, "payload": {"base": "EUR"},
                      "rule": {"kind": "job", "id": "Rates", "version": 1}, "triggerId": None})
    like(second.json, {"executionId": f"{id}-2", "attempt": 2, "scheduledFor": moment()})
    equal([one.headers["webhook-id"] for one in (first, second)], [f"{id}.1"] * 2)
    name, at = first.headers["webhook-id"], first.headers["webhook-timestamp"]
    text = f"{name}.{at}.".encode() + first.body
    signature = hmac.digest(base64.b64decode(SECRET.removeprefix("whsec_")), text, "sha256")
    equal(first.headers["webhook-signature"], "v1," + base64.b64encode(signature).decode())


def test_others_are_told_nothing_of_runs(ctx):
    receiver = ctx.receiver()
    ctx.peal.post("/v1/channels", {"key": "http:rates", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_trigger(ctx.peal, channel="http:rates")
    for status, body in [(202, b""), (200, b'{"ok": false, "error": "no"}')]:
        receiver.answer_next(status, body=body)
        id = ingest_one(ctx.peal)
        settle(ctx.peal)
        like(delivery(ctx.peal, id), {"state": "delivered"})  # 202 and ok mean something for runs only
        assert not {"job", "executionId", "scheduledFor"} & receiver.received[-1].json.keys()


# What its answer means


def test_the_answer_decides(ctx):
    receiver = ctx.receiver()
    make_job(ctx.peal, receiver, maxRetries=3)
    long = b"x" * 5000
    for status, body, state, reason, detail in [
            (200, b"", "delivered", "accepted", None),
            (204, b"", "delivered", "accepted", None),
            (200, b"34 rates", "delivered", "accepted", "34 rates"),
            (200, b'{"ok": true, "message": "34 rates"}', "delivered", "accepted", "34 rates"),
            (200, b'{"message": ""}', "delivered", "accepted", '{"message": ""}'),
            (200, b'{"ok": "false"}', "delivered", "accepted", '{"ok": "false"}'),
            (200, b'[{"ok": false}]', "delivered", "accepted", '[{"ok": false}]'),
            (200, b'{"ok": false', "delivered", "accepted", '{"ok": false'),
            (200, b'{"ok": false, "message": "bank closed"}', "retrying", "unwell", "bank closed"),
            (201, b'{"ok": false, "error": "no", "message": "bank closed"}', "retrying", "unwell", "no"),
            (202, b'\n {"ok": false, "error": "no"}', "retrying", "unwell", "no"),
            (200, b'{"ok": false}', "retrying", "unwell", '{"ok": false}'),
            (200, b'{"data": "' + long + b'", "ok": false, "error": "late"}', "retrying", "unwell", "late"),
            (200, b'{"ok": false, "error": "never", "permanent": true}', "parked", "refused", "never"),
            (200, b'{"ok": false, "error": "a\\nb\\u0007c"}', "retrying", "unwell", "a b c"),
            (500, b'{"ok": true}', "retrying", "unwell", '{"ok": true}'),
            (400, b'{"ok": true}', "parked", "refused", '{"ok": true}')]:
        receiver.answer_next(status, body=body)
        id = run(ctx.peal)
        equal(delivery(ctx.peal, id)["state"], state, body[:60])
        like(last_attempt(ctx.peal, id), {"reason": reason, "code": status, "detail": detail})


def test_a_job_says_how_long_it_may_take(ctx):
    receiver = ctx.receiver()
    make_job(ctx.peal, receiver, timeout="1s")
    receiver.answer_next(200, hold=receiver.closing)
    id = ctx.peal.post("/v1/jobs/Rates/trigger", expect=202).json["deliveryId"]
    eventually(lambda: delivery(ctx.peal, id)["state"] == "retrying")
    like(last_attempt(ctx.peal, id), {"reason": "no-answer"})


# Later, under the lease


def taken_on(ctx, receiver, **config):
    """A run that the handler has taken on; answers its id."""
    make_job(ctx.peal, receiver, config=config)
    receiver.answer(202)
    id = run(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "sending", "status": "Running"})
    equal(attempts(ctx.peal, id), [])  # it is not over
    return id


def test_done_follows_under_the_lease(ctx):
    id = taken_on(ctx, ctx.receiver())
    report(ctx.peal, id, "progress", 1, message="half of it")
    advance(ctx.peal, "4m")
    report(ctx.peal, id, "heartbeat", 1)
    advance(ctx.peal, "4m")
    like(report(ctx.peal, id, "done", 1, message="34 rates"), {"state": "delivered", "repeated": False})
    like(report(ctx.peal, id, "done", 1, message="34 rates"), {"state": "delivered", "repeated": True})
    report(ctx.peal, id, "fail", 1, error="after all", expect=409)
    like(ctx.peal.get("/v1/jobs/Rates/executions", expect=200).json["items"],
         [{"executionId": f"{id}-1", "succeeded": True, "message": "34 rates", "progress": [{"message": "half of it"}]}])


def test_what_comes_before_the_202_is_to_be_told_again(ctx):
    receiver, answered = ctx.receiver(), threading.Event()
    peal = ctx.start(clock="system")
    make_job(peal, receiver)
    receiver.answer(202, hold=answered)
    id = peal.post("/v1/jobs/Rates/trigger", expect=202).json["deliveryId"]
    receiver.wait_for(1)
    for verb, words in (("done", {}), ("fail", {"error": "no"}), ("heartbeat", {})):
        equal(report(peal, id, verb, 1, expect=503, **words)["code"], "busy")
    body = {"items": [{"id": id, "fence": 1}]}
    for _ in range(2):
        items = peal.post("/v1/work/done", body, headers={"Idempotency-Key": "k"}, expect=200).json["items"]
        equal(items[0]["status"], 503)
    once = {"Idempotency-Key": "one"}
    peal.post(f"/v1/work/{id}/done", {"fence": 1}, headers=once, expect=503)
    report(peal, id, "done", 2, expect=409)
    answered.set()
    told = eventually(lambda: (answer := peal.post(f"/v1/work/{id}/done", {"fence": 1}, headers=once)).status
                      == 200 and answer.json)
    like(told, {"state": "delivered", "repeated": False})
    equal(len(attempts(peal, id)), 1)


def test_fail_follows_under_the_lease(ctx):
    receiver = ctx.receiver()
    id = taken_on(ctx, receiver)
    like(report(ctx.peal, id, "fail", 1, error="bank closed"), {"state": "retrying"})
    like(last_attempt(ctx.peal, id), {"outcome": "transient", "detail": "bank closed"})
    advance(ctx.peal, "10m")  # it is taken on once more, under the next fence, and that lapses
    report(ctx.peal, id, "done", 1, expect=409)
    fence = max(one.json["attempt"] for one in receiver.received)
    like(report(ctx.peal, id, "fail", fence, error="never", permanent=True), {"state": "parked"})


def test_what_came_too_late_changes_nothing(ctx):
    receiver = ctx.receiver()
    id = taken_on(ctx, receiver)
    receiver.answer(200)
    advance(ctx.peal, "20m")
    report(ctx.peal, id, "done", 1, expect=409)
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})


def test_a_lease_that_lapses_is_a_failure(ctx):
    receiver = ctx.receiver()
    id = taken_on(ctx, receiver)
    advance(ctx.peal, "4m59s")
    equal(delivery(ctx.peal, id)["state"], "sending")
    receiver.answer(200)
    advance(ctx.peal, "20m")
    equal(delivery(ctx.peal, id)["state"], "delivered")
    like(attempts(ctx.peal, id), [{"number": 1, "outcome": "unknown", "reason": "lease-lapsed"},
                                  {"number": 2, "outcome": "delivered"}])


def test_the_channel_says_how_long_the_lease_is(ctx):
    receiver = ctx.receiver()
    id = taken_on(ctx, receiver, lease="1h")
    advance(ctx.peal, "59m")
    equal(delivery(ctx.peal, id)["state"], "sending")
    advance(ctx.peal, "1m1s")
    equal(delivery(ctx.peal, id)["state"], "retrying")
    for lease in ("0s", "25h", "soon"):
        body = {"key": "http:x", "type": "http", "config": {"url": receiver.url, "lease": lease}}
        equal(problems(ctx.peal.post("/v1/channels", body, expect=422)), [("/config/lease", "bad-duration")])


if __name__ == "__main__":
    main()
