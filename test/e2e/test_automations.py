"""W12: automations are kept, run by hand, and by their schedules."""
from harness import equal, like, main
from steps import act, advance, captured, deliveries, delivery, make_tenant, make_user, settle


def automation_body(id="triage", **members):
    return {"id": id, "name": "Triage", "handler": "memory:default", **members}


def make_automation(peal, id="triage", **members):
    return peal.post("/v1/automations", automation_body(id, **members), expect=201).json


def put_schedule(peal, schedule, expect=200, id="triage", **members):
    return peal.put(f"/v1/automations/{id}/schedules/{schedule}", members, expect=expect).json


def test_an_automation_is_kept(ctx):
    like(make_automation(ctx.peal), {"id": "triage", "enabled": True, "version": 1, "lastResult": "Never run",
                                     "nextRunAt": None})
    ctx.peal.post("/v1/automations", automation_body(), expect=409)
    like(ctx.peal.patch("/v1/automations/triage", {"enabled": False}, expect=200).json, {"enabled": False})
    equal([row["id"] for row in ctx.peal.get("/v1/automations", expect=200).json["items"]], ["triage"])
    ctx.peal.delete("/v1/automations/triage", expect=204)
    ctx.peal.get("/v1/automations/triage", expect=404)
    ctx.peal.post("/v1/automations/triage/run", {}, expect=404)


def test_a_job_and_an_automation_may_share_a_name(ctx):
    make_automation(ctx.peal, "same")
    ctx.peal.post("/v1/jobs", {"name": "same", "handler": "memory:default"}, expect=201)
    of_job = ctx.peal.post("/v1/jobs/same/trigger", expect=202).json
    of_automation = ctx.peal.post("/v1/automations/same/run", expect=202).json
    equal([delivery(ctx.peal, ran["deliveryId"])["rule"]["kind"] for ran in (of_job, of_automation)],
          ["job", "automation"])
    assert "runId" not in of_job, of_job


def test_an_automation_is_run_by_hand(ctx):
    make_automation(ctx.peal)
    ran = ctx.peal.post("/v1/automations/triage/run", {"payload": {"issue": 7}}, expect=202).json
    equal((ran["runId"], ran["executionId"]), (ran["deliveryId"], ran["deliveryId"] + "-1"))
    settle(ctx.peal)
    like(delivery(ctx.peal, ran["deliveryId"]), {"state": "delivered", "rule": {"kind": "automation", "id": "triage"}})
    like(captured(ctx.peal, ran["deliveryId"])[0]["body"], {"payload": {"issue": 7}, "automation": "triage",
                                                            "runId": ran["deliveryId"]})
    like(ctx.peal.get("/v1/automations/triage", expect=200).json, {"lastResult": "Succeeded"})


def test_an_automation_runs_by_its_schedules(ctx):
    make_automation(ctx.peal, payload={"why": "clock"})
    shown = put_schedule(ctx.peal, "half", cron="30 * * * *")
    equal((shown["schedules"], shown["nextRunAt"]),
          ([{"name": "half", "cron": "30 * * * *"}], "2026-05-14T05:30:00.000Z"))
    put_schedule(ctx.peal, "full", cron="0 * * * *", zone="Europe/Warsaw")
    put_schedule(ctx.peal, "off", cron="* * * * *", enabled=False)
    advance(ctx.peal, "1h")
    equal([row["state"] for row in deliveries(ctx.peal)], ["delivered"] * 2)
    like(captured(ctx.peal, deliveries(ctx.peal)[0]["id"])[0]["body"], {"payload": {"why": "clock"}})
    put_schedule(ctx.peal, "half", cron="45 * * * *")
    ctx.peal.delete("/v1/automations/triage/schedules/full", expect=204)
    ctx.peal.delete("/v1/automations/triage/schedules/full", expect=404)
    advance(ctx.peal, "1h")
    equal(len(deliveries(ctx.peal)), 3)
    ctx.peal.patch("/v1/automations/triage", {"enabled": False}, expect=200)
    advance(ctx.peal, "3h")
    equal(len(deliveries(ctx.peal)), 3)


def test_schedules_of_one_moment_are_a_run_each(ctx):
    make_automation(ctx.peal, schedules=[{"name": "a", "cron": "0 6 * * *", "overlap": "allow"},
                                         {"name": "b", "cron": "0 6 * * *", "overlap": "allow"}])
    advance(ctx.peal, "1h")
    equal(len(deliveries(ctx.peal)), 2)


def test_a_schedule_waits_for_its_own_runs_alone(ctx):
    ctx.peal.post("/v1/channels", {"key": "worker:slow", "type": "worker", "config": {}}, expect=201)
    make_automation(ctx.peal, handler="worker:slow")
    put_schedule(ctx.peal, "nightly", cron="0 * * * *")
    put_schedule(ctx.peal, "eu:nightly", cron="30 * * * *")
    advance(ctx.peal, "78m")  # from 05:12: 05:30, 06:00, 06:30 (skipped)
    [eu, own] = sorted(deliveries(ctx.peal), key=lambda row: row["triggeredAt"])
    act(ctx.peal, eu["id"], "cancel")
    act(ctx.peal, own["id"], "cancel")
    advance(ctx.peal, "1h")  # 07:00 and 07:30
    [second] = [row for row in deliveries(ctx.peal) if row["triggeredAt"].startswith("2026-05-14T07:00")]
    act(ctx.peal, second["id"], "cancel")
    advance(ctx.peal, "30m")
    equal(deliveries(ctx.peal)[0]["triggeredAt"], "2026-05-14T08:00:00.000Z")


def test_a_bad_automation_is_refused_by_its_field(ctx):
    for members, path, code in (({"handler": None}, "/handler", "missing-member"),
                                ({"cron": "@daily"}, "/cron", "unknown-member"),
                                ({"schedules": [{"name": "a", "cron": "61 * * * *"}]}, "/schedules/0/cron", "bad-cron"),
                                ({"schedules": [{"cron": "@daily"}]}, "/schedules/0/name", "missing-member"),
                                ({"schedules": [{"name": "a", "cron": "@daily"}] * 2}, "/schedules/1/name", "bad-value")):
        problem = ctx.peal.post("/v1/automations", automation_body(**members), expect=422).json
        equal((problem["code"], [(one["path"], one["code"]) for one in problem["errors"]]),
              ("automation-invalid", [(path, code)]))
    make_automation(ctx.peal)
    for members, path in (({"cron": "x"}, "/cron"), ({}, "/cron"), ({"cron": "@daily", "zone": "Mars"}, "/zone"),
                          ({"cron": "@daily", "crom": 1}, "/crom"), ({"cron": "@daily", "name": "b"}, "/name")):
        equal([one["path"] for one in put_schedule(ctx.peal, "a", expect=422, **members)["errors"]], [path])
    put_schedule(ctx.peal, "a%20b", expect=422, cron="@daily")
    put_schedule(ctx.peal, "a", expect=404, id="nope", cron="@daily")
    equal(ctx.peal.get("/v1/automations/triage", expect=200).json["version"], 1)


def test_automations_are_their_tenants_and_authors(ctx):
    make_automation(ctx.peal)
    stranger = make_tenant(ctx.peal, "acme")
    stranger.get("/v1/automations/triage", expect=404)
    stranger.post("/v1/automations/triage/run", {}, expect=404)
    put_schedule(stranger, "a", expect=404, cron="@daily")
    make_user(ctx.peal, "read").post("/v1/automations/triage/run", {}, expect=403)
    put_schedule(make_user(ctx.peal, "operator"), "a", expect=403, cron="@daily")
    put_schedule(make_user(ctx.peal, "author"), "a", cron="@daily")


def test_the_command_line_keeps_automations(ctx):
    file = ctx.write("triage.json", '{"id":"triage","name":"Triage","handler":"memory:default"}')
    equal(ctx.peal.cli("automations", "create", "-f", file).code, 0)
    assert "triage" in ctx.peal.cli("automations").out
    equal(ctx.peal.cli("automations", "run", "triage", "--payload", '{"issue":7}').code, 0)
    equal(ctx.peal.cli("automations", "run", "nope").code, 3)
    equal(ctx.peal.cli("automations", "delete", "triage").code, 0)


if __name__ == "__main__":
    main()
