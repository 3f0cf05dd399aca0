"""job_steps.py - what the scenarios do with jobs and look at."""
import datetime


def make_job(peal, name="rates", **members):
    return peal.post("/v1/jobs", {"name": name, "handler": "memory:default", **members}, expect=201).json


def job(peal, name):
    return peal.get(f"/v1/jobs/{name}", expect=200).json


def trigger(peal, name="rates", **body):
    """Runs a job by hand and answers the id of the run."""
    return peal.post(f"/v1/jobs/{name}/trigger", body or None, expect=202).json["deliveryId"]


def pages(peal, path, limit=500):
    """All items of a list, page by page."""
    found, cursor = [], None
    while True:
        more = f"&cursor={cursor}" if cursor else ""
        page = peal.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{more}", expect=200).json
        found += page["items"]
        cursor = page["next"]
        if not cursor:
            return found


def executions(peal, name="rates", limit=500):
    """All tries of a job's runs."""
    return pages(peal, f"/v1/jobs/{name}/executions", limit)


def dead(peal, name=None):
    """All dead letters, or those of a job."""
    return pages(peal, f"/v1/dead?job={name}" if name else "/v1/dead")


def events(peal, kind):
    """The payloads of all events of a kind, oldest first."""
    return [row["payload"] for row in reversed(pages(peal, f"/v1/events?kind={kind}"))]


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def scheduled(peal, name):
    """The moments that a job's runs were for, in order; one for each run."""
    rows = [one for one in executions(peal, name) if one["source"] == "Scheduled" and one["retry"] == 0]
    return sorted(time_of(one["scheduledFor"]) for one in rows)
