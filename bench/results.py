"""The results' part of bench/run: what a survey with a million responses comes to, and its export.

A store is filled directly, in its own tables: ROWS responses of ten questions, spread over a year, and their counts by
day, question and value, as submits would have kept them. Told are the quickest of a few tries of the whole results and
of the last month's, and the export: its rows a second, and the most memory that Peal ever had.

RESULTS_ROWS makes it another number of responses.
"""
import http.client
import os
import re
import time

from chain import fresh, quickest, tell
from lists import KEY, Server

ROWS = int(os.environ.get("RESULTS_ROWS", 1_000_000))
AIM_MS = 50
TRIES, DAYS, RATINGS = 10, 365, 8
PIECE = 1 << 20
QUESTIONS = [*({"id": f"q{i}", "type": "rating", "max": 10, "text": {"en": "?"}} for i in range(RATINGS)),
             {"id": "c", "type": "single", "choices": [{"value": "Yes"}, {"value": "No"}], "text": {"en": "?"}},
             {"id": "what", "type": "text", "text": {"en": "?"}}]
SURVEY = {"id": "csi", "questions": QUESTIONS,
          "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default"}]}
RULE = "(SELECT rule FROM rule WHERE id = 'csi:gr')"
ID = {"sqlite": "CAST(printf('%016d', i) AS BLOB)", "postgres": "CAST(lpad(to_hex(i), 32, '0') AS uuid)"}
ANSWERS = ("'{' || " + " || ".join(f"'\"q{i}\":' || ((i + {i}) % 10 + 1) || ','" for i in range(RATINGS))
           + " || '\"c\":\"Yes\",\"what\":\"The coffee was cold, and nobody was there\"}'")
TALLY = "INSERT INTO tally (tenant, survey, day, rule, version, question, value, writer, n, total)"


def numbers(kind, first, last):
    if kind == "postgres":
        return f"(SELECT CAST(i AS BIGINT) AS i FROM generate_series({first}, {last}) AS g (i))"
    return (f"(WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})"
            " SELECT i FROM n)")


def fill(store, kind):
    id, every, today = ID[kind], numbers(kind, 1, ROWS), int(time.time()) // 86400
    days, values = numbers(kind, today - DAYS + 1, today), numbers(kind, 1, 10)
    of_day = f"1, 'csi', d.i, {RULE}, 1"
    sql = ["INSERT INTO delivery (tenant, id, event, public_id, rule, version, lane, site, triggered_at)"
           f" SELECT 1, {id}, {id}, 'p' || i, {RULE}, 1, 1, 0, 1 FROM {every} AS s",
           "INSERT INTO response (tenant, id, delivery, survey, version, rule, completed_at, locale, agent_id, answers)"
           f" SELECT 1, {id}, {id}, 'csi', 1, {RULE}, i * 30000000, 'en', 'a7', {ANSWERS} FROM {every} AS s",
           f"{TALLY} SELECT {of_day}, '', '', 0, {ROWS // DAYS}, 0 FROM {days} AS d"]
    for question in QUESTIONS:
        of_question = f"{of_day}, '{question['id']}'"
        sql.append(f"{TALLY} SELECT {of_question}, '', 0, {ROWS // DAYS}, 5000 FROM {days} AS d")
        if question["type"] == "rating":
            sql.append(f"{TALLY} SELECT {of_question}, CAST(v.i AS TEXT), 0, {ROWS // DAYS // 10}, 0"
                       f" FROM {days} AS d CROSS JOIN {values} AS v")
    tell(store, sql)
    if isinstance(store, Server):
        store.postgres.query("VACUUM ANALYZE", store.url)


def highest_mb(peal):
    with open(f"/proc/{peal.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def export(peal):
    """Rows a second, the line of names not counted."""
    client, lines, began = http.client.HTTPConnection("127.0.0.1", peal.port, timeout=600), 0, time.monotonic()
    client.request("GET", "/v1/surveys/csi/export", headers={"Authorization": "Bearer " + KEY})
    answer = client.getresponse()
    while piece := answer.read(PIECE):
        lines += piece.count(b"\n")
    if lines != ROWS + 1:
        raise RuntimeError(f"{lines} lines of {ROWS + 1} were exported")
    return ROWS / (time.monotonic() - began)


def measure(program, kind, report):
    """The quickest of some tries of all results, in ms."""
    with fresh(program, kind) as (store, start):
        with start() as peal:
            peal.call("POST", "/v1/surveys", SURVEY)
            peal.call("POST", "/v1/surveys/csi/publish")
        fill(store, kind)
        with start() as peal:
            month = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() - 30 * 86400))
            taken, cpu, told = quickest(peal, lambda: peal.call("GET", "/v1/surveys/csi/results"), TRIES)
            if told["responses"] != ROWS // DAYS * DAYS:
                raise RuntimeError(f"{told['responses']} responses are told")
            of_month, *_ = quickest(peal, lambda: peal.call("GET", f"/v1/surveys/csi/results?from={month}"), TRIES)
            report(f"results_month_{kind}_ms", of_month, None, AIM_MS)
            report(f"results_export_{kind}", export(peal), None, None)
            report(f"results_export_{kind}_rss_mb", highest_mb(peal), None, None)
            return taken, None, AIM_MS, {"cpu_us": cpu * 1000}
