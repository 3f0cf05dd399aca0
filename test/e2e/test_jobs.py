"""J1 and J11: jobs are kept, looked at, run by hand and switched on and off."""
import threading

from harness import equal, eventually, like, main
from job_steps import pages
from steps import advance, captured, deliveries, delivery, make_channel, make_tenant, make_user, moment, settle


def job_body(name="rates", **members):
    return {"name": name, "handler": "memory:default", **members}


def make_job(peal, name="rates", **members):
    return peal.post("/v1/jobs", job_body(name, **members), expect=201).json


def test_a_job_is_kept(ctx):
    made = make_job(ctx.peal, cron="15 12 * * *", zone="Europe/Warsaw", payload={"base": "EUR"}, maxRetries=5,
                    missed="all", missedWindow="2d", overlap="queue", timeout="10m")
    like(made, {"name": "rates", "cron": "15 12 * * *", "zone": "Europe/Warsaw", "enabled": True, "version": 1})
    assert "warnings" not in made, made
    ctx.peal.post("/v1/jobs", job_body(), expect=409)
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"payload": {"base": "EUR"}, "missedWindow": "2d"})
    like(ctx.peal.patch("/v1/jobs/rates", {"cron": "@daily"}, expect=200).json,
         {"cron": "@daily", "zone": "Europe/Warsaw", "version": 2})
    like(ctx.peal.put("/v1/jobs/rates", {"handler": "memory:later"}, expect=200).json,
         {"handler": "memory:later", "warnings": ["channel memory:later does not exist yet"]})
    equal([row["name"] for row in ctx.peal.get("/v1/jobs", expect=200).json["items"]], ["rates"])
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    ctx.peal.get("/v1/jobs/rates", expect=404)
    equal(make_job(ctx.peal)["version"], 4)


def test_what_a_job_does_not_say_is_shown(ctx):
    made = make_job(ctx.peal)
    like(made, {"cron": None, "zone": "UTC", "payload": {}, "maxRetries": 3, "missed": "once", "overlap": "skip"})
    like(ctx.peal.get("/v1/jobs", expect=200).json["items"][0], {"zone": "UTC", "lastResult": "Never run"})


def test_a_bad_job_is_refused_by_its_field(ctx):
    for member, value, code in (("cron", "61 * * * *", "bad-cron"), ("zone", "Europe/Nowhere", "bad-zone"),
                                ("handler", None, "missing-member"), ("name", "n" * 101, "too-large"),
                                ("name", "", "bad-value"), ("missed", "twice", "bad-value"),
                                ("timeout", "soon", "bad-duration"), ("crom", "@daily", "unknown-member")):
        problem = ctx.peal.post("/v1/jobs", job_body(**{member: value}) if member != "name" else job_body(value),
                                expect=422).json
        equal(problem["code"], "job-invalid")
        equal([(one["path"], one["code"]) for one in problem["errors"]], [(f"/{member}", code)])
    equal(make_job(ctx.peal, "n" * 100)["name"], "n" * 100)


def test_no_event_finds_a_job(ctx):
    make_job(ctx.peal)
    equal(ctx.peal.post("/v1/events", {"kind": "job", "payload": {}}, expect=202).json["deliveries"], [])


def test_jobs_are_their_tenants_and_operators(ctx):
    make_job(ctx.peal)
    stranger = make_tenant(ctx.peal, "acme")
    stranger.get("/v1/jobs/rates", expect=404)
    stranger.patch("/v1/jobs/rates", {"enabled": False}, expect=404)
    equal(stranger.get("/v1/jobs", expect=200).json["items"], [])
    equal(make_user(ctx.peal, "operator").patch("/v1/jobs/rates", {"cron": "@daily"}, expect=200).json["version"], 2)
    for role in ("read", "author", "ingest", "worker"):
        make_user(ctx.peal, role).get("/v1/jobs", expect=403)


def trigger(peal, name="rates", body=None, **headers):
    return peal.post(f"/v1/jobs/{name}/trigger", body, expect=202, **headers).json


def test_a_job_is_run_by_hand(ctx):
    make_job(ctx.peal, cron="15 12 * * *", payload={"base": "EUR"}, enabled=False)
    ran = trigger(ctx.peal)
    equal(ran["executionId"], ran["deliveryId"] + "-1")
    settle(ctx.peal)
    shown = delivery(ctx.peal, ran["deliveryId"])
    like(shown, {"state": "delivered", "rule": {"kind": "job", "id": "rates", "version": 1}, "entity": None})
    like(ctx.peal.get(f"/v1/events/{shown['eventId']}", expect=200).json,
         {"kind": "job", "source": "manual", "payload": {"base": "EUR"}, "occurredAt": moment()})
    like(captured(ctx.peal, ran["deliveryId"])[0]["body"], {"payload": {"base": "EUR"}})
    own = trigger(ctx.peal, body={"entity": "booking:7", "payload": {"base": "PLN"}})
    settle(ctx.peal)
    like(delivery(ctx.peal, own["deliveryId"]), {"entity": "booking:7", "state": "delivered"})
    like(captured(ctx.peal, own["deliveryId"])[0]["body"], {"payload": {"base": "PLN"}})
    ctx.peal.post("/v1/jobs/nope/trigger", expect=404)
    ctx.peal.post("/v1/jobs/rates/trigger", {"payload": []}, expect=422)
    ctx.peal.post("/v1/jobs/rates/trigger", {"payloud": {}}, expect=422)


def test_a_run_by_hand_is_asked_for_once(ctx):
    make_job(ctx.peal)
    first, again = (trigger(ctx.peal, headers={"Idempotency-Key": "now"}) for _ in range(2))
    equal(first, again)
    assert trigger(ctx.peal)["deliveryId"] != first["deliveryId"], "without a key it runs again"


def test_a_job_is_switched_off_and_says_why(ctx):
    make_job(ctx.peal, cron="@hourly")
    off = ctx.peal.post("/v1/jobs/rates/disable", {"reason": "the bank is closed"}, expect=200).json
    like(off, {"enabled": False, "reason": "the bank is closed", "version": 2})
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"enabled": False, "reason": "the bank is closed"})
    equal(ctx.peal.post("/v1/jobs/rates/disable", {"reason": "the bank is closed"}, expect=200).json["version"], 2)
    on = ctx.peal.post("/v1/jobs/rates/enable", expect=200).json
    equal((on["enabled"], "reason" in on), (True, False))
    ctx.peal.post("/v1/jobs/rates/disable", expect=200)
    assert "reason" not in ctx.peal.get("/v1/jobs/rates", expect=200).json
    ctx.peal.patch("/v1/jobs/rates", {"reason": "by hand"}, expect=200)
    on = ctx.peal.patch("/v1/jobs/rates", {"enabled": True}, expect=200).json
    equal((on["enabled"], "reason" in on), (True, False))
    ctx.peal.post("/v1/jobs/nope/enable", expect=404)
    ctx.peal.post("/v1/jobs/rates/disable", {"reason": 7}, expect=422)


def test_when_a_job_is_due_next(ctx):
    make_job(ctx.peal, cron="15 12 * * *", zone="Europe/Warsaw")
    said = ctx.peal.get("/v1/jobs/rates/next?count=2", expect=200).json
    equal([row["at"] for row in said["items"]], ["2026-05-14T10:15:00.000Z", "2026-05-15T10:15:00.000Z"])
    equal(said["warnings"], [])
    assert "12:15" in said["explain"], said
    equal(len(ctx.peal.get("/v1/jobs/rates/next", expect=200).json["items"]), 5)
    make_job(ctx.peal, "deferred-only")
    equal(ctx.peal.get("/v1/jobs/deferred-only/next", expect=200).json["items"], [])
    ctx.peal.get("/v1/jobs/rates/next?count=0", expect=422)
    ctx.peal.get("/v1/jobs/nope/next", expect=404)


def test_how_jobs_stand_is_listed(ctx):
    receiver = ctx.receiver()
    receiver.answer_next(200)
    receiver.answer(500)
    make_http(ctx.peal, receiver)
    made = make_job(ctx.peal, "hourly", handler="http:rates", cron="30 * * * *", maxRetries=0)
    like(made, {"lastResult": "Never run", "lastRunAt": None, "nextRunAt": "2026-05-14T05:30:00.000Z", "dead": 0})
    make_job(ctx.peal, "off", cron="30 * * * *", enabled=False)
    make_job(ctx.peal, "later")
    trigger(ctx.peal, "hourly")
    settle(ctx.peal)
    like(ctx.peal.get("/v1/jobs/hourly", expect=200).json, {"lastResult": "Succeeded", "lastRunAt": moment()})
    trigger(ctx.peal, "hourly")
    settle(ctx.peal)
    shown = {row["name"]: row for row in ctx.peal.get("/v1/jobs", expect=200).json["items"]}
    like(shown["hourly"], {"lastResult": "Failed", "lastRunAt": moment(), "nextRunAt": "2026-05-14T05:30:00.000Z",
                           "dead": 1})
    for name in ("off", "later"):
        like(shown[name], {"lastResult": "Never run", "lastRunAt": None, "nextRunAt": None, "dead": 0})


def test_a_run_that_nobody_claims_has_not_run(ctx):
    """A held store claims nothing: what waits is no result, and neither hides the last one."""
    make_job(ctx.peal)
    trigger(ctx.peal)
    settle(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    for _ in range(30):
        trigger(ctx.peal)
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"lastResult": "Succeeded", "dead": 0})
    make_job(ctx.peal, "other")
    trigger(ctx.peal, "other")
    like(ctx.peal.get("/v1/jobs/other", expect=200).json, {"lastResult": "Never run"})


def test_the_last_run_of_one_that_is_retried_is_its_last_try(ctx):
    make_channel(ctx.peal, "memory:flaky", answer="transient")
    make_job(ctx.peal, handler="memory:flaky")
    trigger(ctx.peal)
    advance(ctx.peal, "90s")  # the second try was at one minute
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"lastResult": "Failed", "lastRunAt": moment(minutes=1)})


def test_many_that_are_to_come_do_not_hide_the_last(ctx):
    make_job(ctx.peal)
    trigger(ctx.peal)
    settle(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "nothing else runs"}, expect=200)
    for n in range(250):
        ctx.peal.post("/v1/jobs/rates/defer", {"entity": f"order:{n}", "delay": "15m"}, expect=202)
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"lastResult": "Succeeded", "lastRunAt": moment()})


def test_a_cron_that_is_never_due_is_warned_of(ctx):
    equal(make_job(ctx.peal, cron="0 0 30 2 *")["warnings"], ["the cron expression is never due"])


def make_http(peal, receiver, key="http:rates"):
    peal.post("/v1/channels", {"key": key, "type": "http", "config": {"url": receiver.url}}, expect=201)


def test_an_edited_handler_takes_what_waits(ctx):
    make_channel(ctx.peal, "memory:new")
    make_job(ctx.peal)
    make_job(ctx.peal, "other")
    ctx.peal.post("/v1/hold", {"reason": "test"}, expect=200)
    waiting = [trigger(ctx.peal)["deliveryId"] for _ in range(3)]
    others = trigger(ctx.peal, "other")["deliveryId"]
    ctx.peal.patch("/v1/jobs/rates", {"handler": "memory:new"}, expect=200)
    equal({delivery(ctx.peal, id)["channel"] for id in waiting}, {"memory:new"})
    equal(len(deliveries(ctx.peal, "&channel=memory:new&state=pending")), 3)
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    for id in waiting:
        like(delivery(ctx.peal, id), {"state": "delivered", "channel": "memory:new", "attemptCount": 1})
    like(delivery(ctx.peal, others), {"state": "delivered", "channel": "memory:default"})


def make_worker(peal, key):
    peal.post("/v1/channels", {"key": key, "type": "worker", "config": {}}, expect=201)


def waiting_for(peal, key):
    return {row["id"] for row in pages(peal, f"/v1/deliveries?channel={key}&state=pending")}


def test_however_many_wait_for_a_worker_are_handed_over(ctx):
    for key in ("worker:old", "worker:new"):
        make_worker(ctx.peal, key)
    make_job(ctx.peal, handler="worker:old", cron="* * * * *", overlap="allow")
    make_job(ctx.peal, "other", handler="worker:old")
    others = {trigger(ctx.peal, "other")["deliveryId"]}
    for day in (1, 2):  # a save moves the first thousand by itself
        ctx.peal.post("/v1/jobs/rates/backfill", {"from": f"2026-05-0{day}T00:00:00Z", "to": f"2026-05-0{day}T15:00:00Z"},
                      expect=202)
    runs = waiting_for(ctx.peal, "worker:old") - others
    equal(len(runs), 2 * 901)
    ctx.peal.patch("/v1/jobs/rates", {"handler": "worker:new"}, expect=200)
    settle(ctx.peal)
    equal(waiting_for(ctx.peal, "worker:old"), others)
    equal(waiting_for(ctx.peal, "worker:new"), runs)


def test_what_waits_goes_to_a_job_that_is_made_anew(ctx):
    for key in ("worker:old", "worker:new"):
        make_worker(ctx.peal, key)
    make_job(ctx.peal, handler="worker:old")
    make_job(ctx.peal, "other", handler="worker:old")
    runs, others = {trigger(ctx.peal)["deliveryId"]}, {trigger(ctx.peal, "other")["deliveryId"]}
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    equal(waiting_for(ctx.peal, "worker:old"), runs | others)
    make_job(ctx.peal, handler="worker:new")
    settle(ctx.peal)
    equal((waiting_for(ctx.peal, "worker:new"), waiting_for(ctx.peal, "worker:old")), (runs, others))


def test_a_run_that_is_retried_goes_to_the_new_handler(ctx):
    receiver = ctx.receiver()
    receiver.answer(500)
    make_http(ctx.peal, receiver)
    make_job(ctx.peal, handler="http:rates")
    id = trigger(ctx.peal)["deliveryId"]
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "retrying", "channel": "http:rates"})
    ctx.peal.patch("/v1/jobs/rates", {"handler": "memory:default"}, expect=200)
    advance(ctx.peal, "5m")
    like(delivery(ctx.peal, id), {"state": "delivered", "channel": "memory:default", "attemptCount": 2})
    equal(len(receiver.received), 1)


def test_a_run_under_way_comes_back_to_the_new_handler(ctx):
    receiver = ctx.receiver()
    gate = threading.Event()
    receiver.answer(500, hold=gate)
    make_http(ctx.peal, receiver)
    make_job(ctx.peal, handler="http:rates")
    id = trigger(ctx.peal)["deliveryId"]
    receiver.wait_for(1)
    ctx.peal.patch("/v1/jobs/rates", {"handler": "memory:default"}, expect=200)
    gate.set()
    eventually(lambda: delivery(ctx.peal, id)["state"] == "retrying")
    equal(delivery(ctx.peal, id)["channel"], "memory:default")
    advance(ctx.peal, "5m")
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})


def claim(peal, key):
    work, = peal.post("/v1/work/claim", {"handler": key}, expect=200).json["items"]
    return work


def test_a_run_by_hand_holds_an_occurrence_back(ctx):
    make_worker(ctx.peal, "worker:rates")
    make_job(ctx.peal, handler="worker:rates", cron="* * * * *")
    id = trigger(ctx.peal)["deliveryId"]
    advance(ctx.peal, "1m")
    equal(waiting_for(ctx.peal, "worker:rates"), {id})
    equal(ctx.peal.get("/v1/jobs/rates", expect=200).json["skippedCount"], 1)


def test_what_a_worker_fails_goes_to_the_new_handler(ctx):
    make_worker(ctx.peal, "worker:old")
    make_job(ctx.peal, handler="worker:old")
    id = trigger(ctx.peal)["deliveryId"]
    work = claim(ctx.peal, "worker:old")
    ctx.peal.patch("/v1/jobs/rates", {"handler": "memory:default"}, expect=200)
    ctx.peal.post(f"/v1/work/{id}/fail", {"fence": work["fence"], "error": "no rates"}, expect=200)
    like(delivery(ctx.peal, id), {"state": "retrying", "channel": "memory:default"})
    advance(ctx.peal, "5m")
    like(delivery(ctx.peal, id), {"state": "delivered", "attemptCount": 2})


def test_what_a_worker_fails_is_overtaken_by_the_next_occurrence(ctx):
    make_worker(ctx.peal, "worker:rates")
    make_job(ctx.peal, handler="worker:rates", cron="* * * * *")
    advance(ctx.peal, "1m")
    work = claim(ctx.peal, "worker:rates")
    ctx.peal.post(f"/v1/work/{work['id']}/fail", {"fence": work["fence"], "error": "no rates"}, expect=200)
    like(delivery(ctx.peal, work["id"]), {"state": "expired", "reason": "superseded"})


def test_what_is_dead_is_revived_for_the_new_handler(ctx):
    receiver = ctx.receiver()
    receiver.answer(500)
    make_http(ctx.peal, receiver)
    make_job(ctx.peal, handler="http:rates", maxRetries=0)
    id = trigger(ctx.peal)["deliveryId"]
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "parked")
    ctx.peal.patch("/v1/jobs/rates", {"handler": "memory:default"}, expect=200)
    ctx.peal.post(f"/v1/deliveries/{id}/retry", {}, expect=200)
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "delivered", "channel": "memory:default"})
    equal(ctx.peal.get("/v1/jobs/rates", expect=200).json["dead"], 0)


def test_a_job_is_deleted_while_it_runs(ctx):
    receiver = ctx.receiver()
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    make_http(ctx.peal, receiver)
    make_job(ctx.peal, handler="http:rates", cron="* * * * *")
    id = trigger(ctx.peal)["deliveryId"]
    receiver.wait_for(1)
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"lastResult": "Running"})
    ctx.peal.delete("/v1/jobs/rates", expect=204)
    gate.set()
    eventually(lambda: delivery(ctx.peal, id)["state"] == "delivered")
    advance(ctx.peal, "10m")
    equal(len(receiver.received), 1)
    ctx.peal.post("/v1/jobs/rates/trigger", expect=404)


def test_the_command_line_keeps_jobs(ctx):
    def run(*words):
        return ctx.peal.cli("jobs", *words)
    equal(run("create", "rates", "--handler", "memory:default", "--cron", "15 12 * * *", "--zone", "Europe/Warsaw",
              "--payload", '{"base":"EUR"}', "--max-retries", "5").code, 0)
    like(ctx.peal.get("/v1/jobs/rates", expect=200).json, {"maxRetries": 5, "payload": {"base": "EUR"}})
    listed = run().out
    assert "rates" in listed and "Never run" in listed and "2026-05-14T10:15:00" in listed, listed
    equal(run("set", "rates", "cron=0 3 * * *").code, 0)
    equal(run("next", "rates", "--count", "1").out, "2026-05-15T03:00:00+02:00\n")
    equal(run("disable", "rates", "--reason", "closed").code, 0)
    assert "closed" in run("show", "rates").out
    equal(run("enable", "rates").code, 0)
    equal(run("trigger", "rates", "--entity", "booking:7", "--json").code, 0)
    settle(ctx.peal)
    assert "Manual" in run("executions", "rates").out
    equal(run("dead").code, 0)
    equal(run("backfill", "rates", "--from", "2026-05-13T00:00:00Z", "--to", "2026-05-14T00:00:00Z").code, 0)
    equal(run("create", "bad", "--handler", "memory:default", "--cron", "61 * * * *").code, 2)
    equal(run("create", "bad").code, 2)
    equal(run("create", "bad", "--handler", "x", "--payload", "{").code, 2)
    equal(run("trigger", "nope").code, 3)
    equal(run("delete", "rates").code, 0)
    equal(run("show", "rates").code, 3)


if __name__ == "__main__":
    main()
