"""The campaigns' part of bench/run: how fast the rows of a file become deliveries.

A file is uploaded in one request and carried out to its last row: each has an address, a locale, a reference and two
columns of its own, and becomes an event, a delivery that is not due for long, what awaits its answer and what keeps it
from being made again. The rate counts from the request to the last commit. Peal's peak of resident memory is told for
the whole of it.

CAMPAIGN_ROWS makes it another number of rows.
"""
import datetime
import http.client
import json
import os
import re
import tempfile

from chain import fresh, wait_until
from lists import KEY
from submits import spent

ROWS = int(os.environ.get("CAMPAIGN_ROWS", 1_000_000))
AIM, AIM_MB = 50_000, 60  # rows a second and resident memory, on SQLite
SURVEY = {"id": "csi", "questions": [{"id": "rate", "type": "nps", "text": {"en": "?"}}],
          "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default", "schedule": {"initialDelay": "100d"}}]}


def write_file(file):
    file.write(b"address,locale,customerRef,name,branch\n")
    for first in range(0, ROWS, 10_000):
        file.write("".join(f"+48{n:09},en,c{n},Name {n},Warszawa {n % 50}\n"
                           for n in range(first, min(first + 10_000, ROWS))).encode())
    file.flush()


def upload(peal, file):
    """Sends the file as it lies on disk; answers the campaign's id."""
    client = http.client.HTTPConnection("127.0.0.1", peal.port, timeout=600)
    file.seek(0)
    client.request("POST", "/v1/campaigns?survey=csi&trigger=gr", file,
                   {"Authorization": "Bearer " + KEY, "Content-Type": "text/csv",
                    "Content-Length": str(os.path.getsize(file.name))})
    answer = client.getresponse()
    text = answer.read()
    if answer.status != 202:
        raise RuntimeError(f"{answer.status} {text[:300]}")
    return json.loads(text)["id"]


def seconds(campaign):
    began, ended = (datetime.datetime.fromisoformat(campaign[name]) for name in ("createdAt", "finishedAt"))
    return (ended - began).total_seconds()


def peak_mb(peal):
    with open(f"/proc/{peal.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def measure(program, kind, report):
    """Rows a second and what one cost; Peal's peak of memory is reported."""
    with fresh(program, kind) as (_, start), start() as peal, tempfile.NamedTemporaryFile() as file:
        write_file(file)
        peal.call("POST", "/v1/surveys", SURVEY)
        peal.call("POST", "/v1/surveys/csi/publish")
        before = spent(peal)
        id = upload(peal, file)
        wait_until(lambda: peal.call("GET", f"/v1/campaigns/{id}")["state"] == "done")
        cost = dict(zip(("cpu_us", "store_cpu_us", "wal_bytes"),
                        ((now - then) / ROWS for now, then in zip(spent(peal), before))))
        campaign = peal.call("GET", f"/v1/campaigns/{id}")
        if campaign["created"] != ROWS:
            raise RuntimeError(f"{campaign['created']} of {ROWS} rows were made")
        report(f"campaign_{kind}_peak_mb", peak_mb(peal), None, AIM_MB)
        return ROWS / seconds(campaign), None, AIM, cost
