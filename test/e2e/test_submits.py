"""Answers under load and under fire: beside a flood of events, by several nodes, with an acknowledgement that is lost."""
import concurrent.futures
import contextlib
import csv
import http.client
import io
import json
import socket
import threading
import time

from harness import equal, eventually, like, main, only
from steps import advance, captured, deliveries, delivery, settle
from survey_steps import BAD, GOOD, UNHAPPY, by_id, invite, make_survey, responses, results, submit, told

SUBMITS = 2000  # of which every fourth is unhappy
SENDERS, FLOODERS, IN_ONE = 16, 4, 20
STARVED = 10  # seconds that no event of the flood may wait


def invite_many(peal, count):
    item = {"payload": {"wip": "40956"}, "recipient": {"address": "+964 770 000 0001", "locale": "ar"}}
    made = peal.post("/v1/ingest", {"eventKind": "visit", "items": [item] * count}, expect=200).json
    return [one["deliveries"][0]["publicId"] for one in made["items"]]


class Line:
    """A connection that stays open: a flood is not to be one of connections."""

    def __init__(self, peal, key=None):
        self.http = http.client.HTTPConnection(peal.host, timeout=60)
        self.headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    def post(self, path, body):
        self.http.request("POST", path, json.dumps(body), self.headers)
        answer = self.http.getresponse()
        answer.read()
        return answer.status


def answer_all(nodes, ids):
    """Answers all of them at once, by turns of the nodes; gives the statuses in their order."""
    lines = threading.local()

    def answer(at):
        peal = nodes[at % len(nodes)]
        if getattr(lines, "peal", None) is not peal:
            lines.peal, lines.line = peal, Line(peal)
        return lines.line.post(f"/s/{ids[at]}/responses", {"answers": BAD if at % 4 == 0 else GOOD})
    with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        return list(pool.map(answer, range(len(ids))))


@contextlib.contextmanager
def flooded(peal):
    """Events that a trigger takes, as fast as they are acknowledged; gives how many were, and how long the slowest took."""
    is_over, told = threading.Event(), {"events": 0, "refused": 0, "slowest": 0.0}
    lock, items = threading.Lock(), {"eventKind": "flood", "items": [{"payload": {"i": i}} for i in range(IN_ONE)]}

    def flood():
        line = Line(peal, peal.key)
        while not is_over.is_set():
            began = time.monotonic()
            status = line.post("/v1/ingest", items)
            with lock:
                told["events"] += IN_ONE if status == 200 else 0
                told["refused"] += status != 200
                told["slowest"] = max(told["slowest"], time.monotonic() - began)
    threads = [threading.Thread(target=flood) for _ in range(FLOODERS)]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def count_of(ctx, sql):
    return int(ctx.sql(sql)[0][0])


def test_answers_beside_a_flood_of_events(ctx):
    peal = ctx.start(clock="system")
    make_survey(peal, [{"key": "memory:all"}, {"key": "memory:unhappy", "filter": UNHAPPY}], schedule={"initialDelay": "60d"})
    peal.post("/v1/triggers", {"id": "flood", "eventKind": "flood", "channel": "memory:default"}, expect=201)
    ids = [id for _ in range(SUBMITS // 500) for id in invite_many(peal, 500)]
    with flooded(peal) as flood:
        eventually(lambda: flood["events"] > 0)
        before = flood["events"]
        statuses = answer_all([peal], ids)
        meanwhile = flood["events"] - before
    equal((statuses.count(200), flood["refused"]), (SUBMITS, 0))
    assert meanwhile >= FLOODERS * IN_ONE and flood["slowest"] < STARVED, flood
    unhappy = SUBMITS // 4
    equal(count_of(ctx, "SELECT COUNT(*) FROM response"), SUBMITS)
    equal(count_of(ctx, "SELECT COUNT(DISTINCT delivery) FROM response"), SUBMITS)
    equal(count_of(ctx, "SELECT COUNT(*) FROM event WHERE kind = 'response-completed'"), SUBMITS)
    equal(count_of(ctx, "SELECT COUNT(*) FROM event WHERE kind = 'flood'"), flood["events"])
    sums = results(peal)
    equal((sums["responses"], by_id(sums)["rate"]["counts"], by_id(sums)["has-a-complaint"]["counts"]),
          (SUBMITS, {"3": unhappy, "9": SUBMITS - unhappy}, {"No": SUBMITS - unhappy, "Yes": unhappy}))
    told_of = ("SELECT COUNT(*) FROM delivery d JOIN rule r ON r.rule = d.rule JOIN ended n ON n.tenant = d.tenant"
               " AND n.id = d.id WHERE n.state = 5 AND r.id = ")
    eventually(lambda: (count_of(ctx, told_of + "'csi:memory:all'"), count_of(ctx, told_of + "'csi:memory:unhappy'"))
               == (SUBMITS, unhappy), seconds=60)


@only("postgres")
def test_nodes_that_answer_the_same_make_one_response_each(ctx):
    nodes = [ctx.start(clock="system") for _ in range(3)]
    make_survey(nodes[0], [{"key": "memory:all"}])
    ids = invite_many(nodes[0], 60)
    statuses = answer_all(nodes, [id for id in ids for _ in range(6)])
    for at in range(len(ids)):
        equal(sorted(statuses[6 * at:6 * at + 6]), [200] + [409] * 5)
    equal(count_of(ctx, "SELECT COUNT(*) FROM response"), len(ids))
    equal(results(nodes[1])["responses"], len(ids))
    equal(len([row for row in deliveries(nodes[2]) if row["rule"]["kind"] == "subscriber"]), len(ids))


def send_submit(peal, made, answers):
    """Sends an answer, and never reads what becomes of it."""
    host, port = peal.host.rsplit(":", 1)
    body = json.dumps({"answers": answers}).encode()
    line = socket.create_connection((host, int(port)))
    line.sendall(f"POST /s/{made['publicId']}/responses HTTP/1.1\r\nHost: {peal.host}\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return line


def test_an_acknowledgement_that_a_kill_lost(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}, {"key": "memory:unhappy", "filter": UNHAPPY}], schedule={"reminders": ["1d"]})
    made = invite(ctx.peal)
    settle(ctx.peal)
    ctx.peal.post("/v1/hold", {"reason": "what is claimed would wait for its lease"}, expect=200)
    line = send_submit(ctx.peal, made, BAD)
    eventually(lambda: count_of(ctx, "SELECT COUNT(*) FROM response") == 1)
    ctx.peal.kill9()
    line.close()
    ctx.peal.restart()
    like(submit(ctx.peal, made, GOOD, expect=409), {"code": "conflict"})
    like(delivery(ctx.peal, made["deliveryId"]), {"state": "completed", "reason": "answered"})
    [kept] = responses(ctx.peal)
    like(kept, {"deliveryId": made["deliveryId"], "answers": BAD})
    equal((results(ctx.peal)["responses"], by_id(results(ctx.peal))["rate"]["counts"]), (1, {"3": 1}))
    ctx.peal.post("/v1/release", expect=200)
    settle(ctx.peal)
    equal({id: row["state"] for id, row in told(ctx.peal).items()}, {"csi:memory:all": "delivered", "csi:memory:unhappy": "delivered"})
    for row in told(ctx.peal).values():
        equal([message["body"]["payload"]["answers"] for message in captured(ctx.peal, row["id"])], [BAD])
    advance(ctx.peal, "10d")
    equal(len(captured(ctx.peal, made["deliveryId"])), 1)


LANGUAGES = "en ar de es fr pl tr it nl pt ro ru sv uk zh ja ko fi da cs".split()
GIVEN = {"single": "v1", "multiple": ["v0", "v3"], "rating": 3, "nps": 9, "number": 12.5, "text": "=<b>&amp;</b>", "date": "2026-05-14"}


def greatest():
    """500 questions of all types in 20 languages, and an answer to each."""
    questions, answers = [], {}
    for i in range(500):
        kind = list(GIVEN)[i % len(GIVEN)]
        words = {language: f"<i>{i}</i> in {language}" for language in LANGUAGES}
        questions.append({"id": f"q{i}", "type": kind, "required": True, "text": words})
        if kind in ("single", "multiple"):
            questions[-1]["choices"] = [{"value": f"v{n}", "text": words} for n in range(5)]
        answers[f"q{i}"] = GIVEN[kind]
    return questions, answers


def test_the_greatest_survey_is_answered(ctx):
    questions, answers = greatest()
    make_survey(ctx.peal, [{"key": "memory:all"}])
    of_the_last = {"questionId": "q499", "op": "==", "value": answers["q499"]}
    ctx.peal.patch("/v1/surveys/csi", {"languages": LANGUAGES, "questions": questions,
                                       "subscribers": [{"key": "memory:all", "filter": of_the_last}]}, expect=200)
    equal(ctx.peal.post("/v1/surveys/csi/publish", expect=200).json["version"], 2)
    made = [invite(ctx.peal) for _ in range(3)]
    errors = submit(ctx.peal, made[0], {}, expect=422)["errors"]
    equal(([one["questionId"] for one in errors], {one["code"] for one in errors}), (list(answers), {"required"}))
    for one in made:
        submit(ctx.peal, one, answers)
    equal([row["answers"] for row in responses(ctx.peal)], [answers] * 3)
    sums = by_id(results(ctx.peal))
    equal([sums[question["id"]]["answers"] for question in questions], [3] * 500)
    equal([sums[f"q{i}"]["counts"] for i in range(4)], [{"v1": 3}, {"v0": 3, "v3": 3}, {"3": 3}, {"9": 3}])
    settle(ctx.peal)
    [message] = captured(ctx.peal, told(ctx.peal)["csi:memory:all"]["id"])
    equal(message["body"]["payload"]["answers"], answers)
    rows = list(csv.DictReader(io.StringIO(ctx.peal.get("/v1/surveys/csi/export", expect=200).text, newline="")))
    equal((len(rows), rows[0]["q499"], rows[0]["q1"], rows[0]["q4"]), (3, str(answers["q499"]), "v0; v3", "12.5"))
    equal({row["q5"] for row in rows}, {"'=<b>&amp;</b>"})


if __name__ == "__main__":
    main()
