"""J9, J10 and W12: what schedules name becomes runs, on time, once, and by their policies."""
from harness import equal, main
from steps import advance, deliveries, tick


def day(time, date=14):
    """A time of day of May 2026, in which the manual clock starts on the 14th at 05:12:34."""
    return f"2026-05-{date:02d}T{time}.000Z"


def make_job(peal, name="rates", **members):
    body = {"name": name, "handler": "memory:default", **members}
    return peal.post("/v1/jobs", body, expect=201).json


def event_of(peal, run):
    return peal.get(f"/v1/events/{run['eventId']}", expect=200).json


def runs(peal, name="rates"):
    """The occurrences of a job that became runs, oldest first, with the state of each."""
    found = [one for one in deliveries(peal) if one["rule"]["id"] == name]
    return sorted((event_of(peal, one)["occurredAt"], one["state"]) for one in found)


def test_a_job_fires_when_it_is_due(ctx):
    make_job(ctx.peal, cron="*/15 * * * *", payload={"base": "EUR"})
    equal(tick(ctx.peal)["nextAt"], day("05:15:00"))
    equal(runs(ctx.peal), [])
    advance(ctx.peal, "45m")
    equal(runs(ctx.peal), [(day(at), "delivered") for at in ("05:15:00", "05:30:00", "05:45:00")])







if __name__ == "__main__":
    main()
