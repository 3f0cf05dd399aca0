"""J1 and J11: jobs are kept, looked at, run by hand and switched on and off."""
from harness import equal, like, main
from steps import make_tenant, make_user


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


if __name__ == "__main__":
    main()
