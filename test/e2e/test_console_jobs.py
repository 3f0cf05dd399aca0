"""The console's pages of jobs and dead letters: every action, what a cron expression means, what is told to whom may not."""
import os

from console import drive
from harness import equal, like, main, only
from job_steps import dead, executions, job, make_job, trigger
from steps import change_channel, delivery, ingest_one, make_channel, make_trigger, make_user, moment, settle
from test_deferred import defer, pending

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def test_a_job_is_made_and_its_expression_told_in_words(ctx):
    told = drive(ctx, "console_jobs", part="make")
    means, wrong = told.pop("means"), told.pop("wrong")
    assert "2:30" in means and "Minutes" in wrong, (means, wrong)
    equal(told, {"empty": "No jobs yet", "times": 5, "five": 5, "columns": ["In Europe/Warsaw"], "never": ["○ never run"],
                 "changed": True, **QUIET})
    like(job(ctx.peal, "rates"), {"cron": "30 2 * * *", "zone": "Europe/Warsaw", "maxRetries": 5, "version": 2, "enabled": True})


def test_a_job_is_run_paused_filled_up_and_deleted(ctx):
    make_job(ctx.peal, cron="0 0 1 1 *", payload={"bank": "nbp"})
    ctx.peal.patch("/v1/jobs/rates", {"cron": "0 * * * *"}, expect=200)
    hours = [moment(hours=-h)[:13] + ":00" for h in (4, 2)]
    told = drive(ctx, "console_jobs", part="act", **{"from": hours[0], "to": hours[1]}, actions={"settle": lambda: settle(ctx.peal)})
    run = told.pop("link")
    assert told.pop("said"), told
    equal(told, {"entity": "booking:7", "paused": "Paused: the bank is closed", "listed": "‖ paused the bank is closed",
                 "preview": "The schedule names 3 times in it; those that have a run already are not run again.", "after": True, **QUIET})
    like(delivery(ctx.peal, run), {"state": "delivered", "entity": "booking:7"})
    ctx.peal.get("/v1/jobs/rates", expect=404)
    settle(ctx.peal)
    equal(len([row for row in executions(ctx.peal) if row.get("backfill")]), 3)


def test_what_is_put_off_is_called_off(ctx):
    make_job(ctx.peal, "payment-timeout")
    defer(ctx.peal, "12346")
    defer(ctx.peal, "orders/1")
    told = drive(ctx, "console_jobs", part="deferred")
    equal(told, {"entities": ["orders/1", "12346"], "left": ["12346"], "empty": "Nothing is put off",
                 "onDemand": "It has no schedule: it runs when somebody asks, or when it was put off to later.",
                 "noBackfill": "It has no schedule.", **QUIET})
    equal(pending(ctx.peal), [])


def make_dead(peal, count=3):
    make_channel(peal, "memory:broken", answer="permanent")
    make_job(peal, handler="memory:broken")
    made = [trigger(peal, entity=f"booking:{n}") for n in range(count)]
    make_job(peal, "other", handler="memory:broken")
    made.append(trigger(peal, "other"))
    settle(peal)
    return made


def test_dead_letters_are_told_retried_and_discarded(ctx):
    """One that comes while nobody is dead is told of; a delivery that is parked and no run is not."""
    made = []

    def make():
        make_channel(ctx.peal, "memory:mail", answer="permanent")
        make_trigger(ctx.peal, channel="memory:mail")
        ingest_one(ctx.peal)
        made.extend(make_dead(ctx.peal, 5))
        change_channel(ctx.peal, "memory:broken")

    told = drive(ctx, "console_jobs", part="dead", actions={"make": make, "made": lambda: made, "settle": lambda: settle(ctx.peal)})
    equal(told, {"good": "✓ Nothing is dead", "rows": 6, "other": made[5], "left": 4, "empty": "✓ Nothing is dead", **QUIET})
    equal(dead(ctx.peal), [])
    settle(ctx.peal)
    equal([delivery(ctx.peal, id)["state"] for id in made], ["delivered"] + ["discarded"] * 5)


def test_who_may_not_look_is_told_why(ctx):
    told = drive(ctx, "console_jobs", part="viewer", viewer=make_user(ctx.peal, "read").key)
    assert "role" in told["jobs"] and "role" in told["dead"], told


@only("sqlite")
def test_nobody_complains_of_how_they_look(ctx):
    make_dead(ctx.peal)
    ctx.peal.patch("/v1/jobs/rates", {"cron": "15 12 * * *", "zone": "Europe/Warsaw"}, expect=200)
    make_job(ctx.peal, "payment-timeout")
    defer(ctx.peal)
    ctx.peal.post("/v1/jobs/other/disable", {"reason": "the bank is closed"}, expect=200)
    told = drive(ctx, "console_jobs", part="looks", paths=["/jobs", "/jobs/rates", "/jobs/payment-timeout?tab=deferred", "/dead"],
                 pictures=os.environ.get(PICTURES), seconds=400)
    equal(told, {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
