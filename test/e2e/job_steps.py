"""job_steps.py - what the scenarios do with jobs and look at."""
import datetime


def make_job(peal, name, **members):
    return peal.post("/v1/jobs", {"name": name, "handler": "memory:default", **members}, expect=201).json


def job(peal, name):
    return peal.get(f"/v1/jobs/{name}", expect=200).json


def executions(peal, name):
    """All tries of a job's runs, page by page."""
    found, cursor = [], None
    while True:
        more = f"&cursor={cursor}" if cursor else ""
        page = peal.get(f"/v1/jobs/{name}/executions?limit=500{more}", expect=200).json
        found += page["items"]
        cursor = page["next"]
        if not cursor:
            return found


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def scheduled(peal, name):
    """The moments that a job's runs were for, in order; one for each run."""
    rows = [one for one in executions(peal, name) if one["source"] == "Scheduled" and one["retry"] == 0]
    return sorted(time_of(one["scheduledFor"]) for one in rows)
