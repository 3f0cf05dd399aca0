"""T14, T15: an answer completes its delivery, is kept, and is told of, in one transaction and once."""
import concurrent.futures
import csv
import io
import threading

from harness import equal, eventually, like, main
from steps import act, advance, attempts, captured, deliveries, delivery, make_tenant, make_user, moment, settle
from survey_steps import BAD, GOOD, UNHAPPY, by_id, invite, make_survey, responses, results, submit, told


def test_an_answer_completes_is_kept_and_is_told_of(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}, {"key": "memory:unhappy", "filter": UNHAPPY}],
                subscribers=[{"key": "memory:own", "filter": {"path": "rate", "op": ">", "value": 8}}],
                schedule={"reminders": ["1d"]})
    made = invite(ctx.peal, dealerId="1")
    settle(ctx.peal)
    taken = submit(ctx.peal, made, GOOD, meta={"agentId": "a7"})
    equal(taken["completedAt"], moment())
    like(delivery(ctx.peal, made["deliveryId"]), {"state": "completed", "status": "Completed", "reason": "answered", "dueAt": None})
    kept = {"id": taken["responseId"], "surveyId": "csi", "version": 1, "deliveryId": made["deliveryId"],
            "publicId": made["publicId"], "completedAt": moment(), "locale": "ar", "agentId": "a7", "answers": GOOD}
    equal(ctx.peal.get(f"/v1/responses/{taken['responseId']}", expect=200).json, kept)
    equal(responses(ctx.peal), [kept])
    settle(ctx.peal)
    equal(sorted(told(ctx.peal)), ["csi:gr:memory:own", "csi:memory:all"])
    [message] = captured(ctx.peal, told(ctx.peal)["csi:memory:all"]["id"])
    like(message["body"], {"payload": {
        "surveyId": "csi", "surveyVersion": 1, "integrationId": "4523", "publicId": made["publicId"], "triggerId": "csi:gr",
        "customerRef": "cust-1", "recipient": {"address": "+964 770 000 0001", "locale": "ar", "customerRef": "cust-1"},
        "eventKind": "visit", "completedAt": moment(), "agentId": "a7", "answers": GOOD,
        "payload": {"wip": "40956", "dealerId": "1"}}})
    equal(message["body"]["payload"].keys() ^ {"surveyId", "surveyVersion", "integrationId", "publicId", "triggerId", "customerRef",
                                       "recipient", "eventKind", "completedAt", "agentId", "answers", "payload"}, set())
    like(told(ctx.peal)["csi:memory:all"], {"eventId": taken["responseId"], "address": None, "customerRef": "cust-1"})
    event = ctx.peal.get(f"/v1/events/{taken['responseId']}", expect=200).json
    like(event, {"kind": "response-completed", "source": "peal"})
    advance(ctx.peal, "10d")
    equal(len(captured(ctx.peal, made["deliveryId"])), 1)


def test_what_tells_of_an_answer_belongs_where_the_question_did(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}])
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    event = ctx.peal.post("/v1/events", {
        "kind": "visit", "entity": "booking:1", "correlationId": "c-1", "payload": {"wip": "1"}},
        headers={"traceparent": trace}, expect=202).json
    asked = ctx.peal.get(f"/v1/events/{event['eventId']}", expect=200).json
    [made] = deliveries(ctx.peal)
    taken = submit(ctx.peal, made, GOOD)
    answered = ctx.peal.get(f"/v1/events/{taken['responseId']}", expect=200).json
    for member in ("entity", "correlationId", "traceparent"):
        assert asked[member], (member, asked)
        equal(answered[member], asked[member], member)
    like(told(ctx.peal)["csi:memory:all"], {"entity": "booking:1"})


def test_who_listens_is_told_too(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}])
    ctx.peal.post("/v1/triggers", {"id": "thanks", "eventKind": "response-completed", "channel": "memory:default",
                                   "filter": {"questionId": "rate", "op": ">=", "value": 9}}, expect=201)
    for answers, expected in ((GOOD, 1), (BAD, 1)):
        submit(ctx.peal, invite(ctx.peal), answers)
        rows = [row for row in deliveries(ctx.peal) if row["triggerId"] == "thanks"]
        equal((len(rows), rows[0]["address"]), (expected, "+964 770 000 0001"))
    equal(len([row for row in deliveries(ctx.peal) if row["rule"]["kind"] == "subscriber"]), 2)


def test_answers_are_held_against_the_survey(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}])
    made = invite(ctx.peal)
    for answers, expected in (
            ({}, [("rate", "required"), ("has-a-complaint", "required")]),
            ({"rate": 11, "has-a-complaint": "Maybe"}, [("rate", "bad-whole-number"), ("has-a-complaint", "bad-choice")]),
            ({**GOOD, "what": "x"}, [("what", "not-shown")]),
            ({**GOOD, "wat": 1}, [("wat", "unknown-question")]),
            ({**BAD, "what": "x" * 2001}, [("what", "too-long")])):
        errors = submit(ctx.peal, made, answers, expect=422)["errors"]
        equal([(one["questionId"], one["code"]) for one in errors], expected)
    equal(errors[0]["message"], "يرجى ألا تتجاوز الإجابة 2000 حرفًا.")
    for body in ({}, {"answers": []}, {"answers": None}, {"answers": GOOD, "agentId": "x"}, {"answers": GOOD, "meta": {"agentId": ["x"]}},
                 {"answers": {str(i): 1 for i in range(501)}}, {"answers": GOOD, "meta": {"agentId": "x" * 201}}):
        ctx.peal.with_key(None).post(f"/s/{made['publicId']}/responses", body, expect=422)
    ctx.peal.with_key(None).post(f"/s/{made['publicId']}/responses", raw=b"{", expect=400)
    ctx.peal.with_key(None).post(f"/s/{made['publicId']}/responses", raw=b"x", headers={"Content-Type": "text/plain"}, expect=415)
    equal(responses(ctx.peal), [])
    settle(ctx.peal)
    like(delivery(ctx.peal, made["deliveryId"]), {"state": "waiting"})
    submit(ctx.peal, made, GOOD, meta={"agentId": None})


def test_what_a_stranger_writes_is_text(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}])
    text = "<img src=x onerror=alert(1)> \"'&\u202e\r\n\t=1+1 نعم"
    submit(ctx.peal, invite(ctx.peal), {**BAD, "what": text})
    equal(responses(ctx.peal)[0]["answers"]["what"], text)
    settle(ctx.peal)
    [message] = captured(ctx.peal, told(ctx.peal)["csi:memory:all"]["id"])
    equal(message["body"]["payload"]["answers"]["what"], text)
    answer = ctx.peal.get("/v1/surveys/csi/responses", expect=200)
    equal(answer.headers["Content-Type"].split(";")[0], "application/json")


def test_only_one_of_many_submits_counts(ctx):
    nodes = [ctx.start(clock="system") for _ in range(2 if ctx.store == "postgres" else 1)]
    make_survey(ctx.peal, [{"key": "memory:all"}])
    made = invite(ctx.peal)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: nodes[i % len(nodes)].with_key(None).post(
            f"/s/{made['publicId']}/responses", {"answers": GOOD, "meta": {"agentId": str(i)}}).status, range(32)))
    equal(sorted(answers), [200] + [409] * 31)
    equal(len(responses(ctx.peal)), 1)
    equal(len(told(ctx.peal)), 1)
    like(submit(ctx.peal, made, {}, expect=409), {"code": "conflict"})


def test_many_surveys_are_answered_at_once(ctx):
    acme = make_tenant(ctx.peal, "acme")
    for who in (ctx.peal, acme):
        make_survey(who, [{"key": "memory:all"}])
    made = [invite(who) for who in (ctx.peal, acme) for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda one: submit(ctx.peal, one, GOOD), made))
    equal((len(responses(ctx.peal)), len(responses(acme))), (10, 10))
    mine = responses(acme)[0]["id"]
    equal(ctx.peal.get(f"/v1/responses/{mine}").status, 404)
    ctx.peal.with_key(None).get(f"/v1/responses/{mine}", expect=401)
    make_user(ctx.peal, "ingest").get("/v1/surveys/csi/responses", expect=403)
    pages, cursor = [], ""
    while cursor is not None:
        page = acme.get(f"/v1/surveys/csi/responses?limit=3{cursor}", expect=200).json
        pages += page["items"]
        cursor = page["next"] and f"&cursor={page['next']}"
    equal([row["id"] for row in pages], [row["id"] for row in responses(acme)])
    ctx.peal.get("/v1/surveys/none/responses", expect=404)


def test_what_is_over_takes_no_answer(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}], expireAfter="2d",
                cancelOn={"eventKind": "reopened", "match": ["candidate.wip"]})
    expired, cancelled, called_off, completed = (invite(ctx.peal, wip=str(n)) for n in range(4))
    act(ctx.peal, cancelled["deliveryId"], "cancel")
    ctx.peal.post("/v1/events", {"kind": "reopened", "payload": {"wip": "2"}}, expect=202)
    act(ctx.peal, completed["deliveryId"], "complete")
    advance(ctx.peal, "3d")
    for made, status in ((expired, 410), (cancelled, 410), (called_off, 410), (completed, 409)):
        for answers in (GOOD, {}):
            equal(submit(ctx.peal, made, answers, expect=status)["status"], status)
    equal((responses(ctx.peal), told(ctx.peal)), ([], {}))
    for id in ("nobody", "x" * 18, "x" * 5000, "..%2f", made["deliveryId"]):
        ctx.peal.with_key(None).post(f"/s/{id}/responses", {"answers": GOOD}, expect=404)


def test_only_surveys_are_answered(ctx):
    ctx.peal.post("/v1/triggers", {"id": "plain", "eventKind": "visit", "channel": "memory:default", "awaitAnswer": True}, expect=201)
    submit(ctx.peal, invite(ctx.peal), GOOD, expect=404)


def test_an_answer_may_come_before_the_first_send(ctx):
    make_survey(ctx.peal, schedule={"initialDelay": "60d", "reminders": ["5d"]})
    made = invite(ctx.peal)
    submit(ctx.peal, made, GOOD)
    advance(ctx.peal, "90d")
    equal(captured(ctx.peal, made["deliveryId"]), [])
    like(delivery(ctx.peal, made["deliveryId"]), {"state": "completed", "attemptCount": 0})


def test_an_answer_may_come_while_a_reminder_is_being_sent(ctx):
    receiver, gate = ctx.receiver(), threading.Event()
    peal = ctx.start(clock="system")
    peal.post("/v1/channels", {"key": "http:far", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_survey(peal, [{"key": "memory:all"}], channel="http:far", schedule={"reminders": ["1s", "1s"]})
    receiver.answer_next(200)
    receiver.answer_next(200, hold=gate)
    made = invite(peal)
    receiver.wait_for(2)
    submit(peal, made, GOOD)
    like(delivery(peal, made["deliveryId"]), {"state": "completed"})
    gate.set()
    eventually(lambda: len(attempts(peal, made["deliveryId"])) == 2)
    like(delivery(peal, made["deliveryId"]), {"state": "completed", "dueAt": None})
    equal(receiver.count(), 2)


def test_an_old_invitation_is_answered_as_it_was_asked(ctx):
    make_survey(ctx.peal, [{"key": "memory:old"}])
    old = invite(ctx.peal)
    ctx.peal.patch("/v1/surveys/csi", {"questions": [{"id": "nps", "type": "nps", "required": True, "text": {"en": "?"}}],
                                       "subscribers": [{"key": "memory:new"}]}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    new = invite(ctx.peal)
    submit(ctx.peal, old, {"nps": 10}, expect=422)
    submit(ctx.peal, new, GOOD, expect=422)
    ctx.peal.delete("/v1/surveys/csi", expect=204)
    submit(ctx.peal, old, GOOD)
    submit(ctx.peal, new, {"nps": 10})
    settle(ctx.peal)
    equal([(row["version"], row["answers"]) for row in responses(ctx.peal)], [(2, {"nps": 10}), (1, GOOD)])
    equal({id: row["state"] for id, row in told(ctx.peal).items()}, {"csi:memory:old": "delivered", "csi:memory:new": "parked"})


def test_one_failing_subscriber_stops_nobody(ctx):
    receivers = [ctx.receiver() for _ in range(3)]
    for n, receiver in enumerate(receivers):
        ctx.peal.post("/v1/channels", {"key": f"http:{n}", "type": "http", "config": {"url": receiver.url}}, expect=201)
    make_survey(ctx.peal, [{"key": "http:0"}, {"key": "http:1", "retry": {"policy": "fixed", "interval": "1m", "max": 2}},
                           {"key": "http:2"}, {"key": "http:none"}])
    receivers[1].answer(500)
    submit(ctx.peal, invite(ctx.peal), BAD)
    advance(ctx.peal, "1h")
    equal([receiver.count() for receiver in receivers], [1, 3, 1])
    equal({id: row["state"] for id, row in told(ctx.peal).items()},
          {"csi:http:0": "delivered", "csi:http:1": "parked", "csi:http:2": "delivered", "csi:http:none": "parked"})
    [sent] = receivers[0].received
    like(sent.json, {"type": "response-completed", "rule": {"kind": "subscriber", "id": "csi:http:0"}, "triggerId": None,
                     "address": None, "payload": {"answers": BAD, "triggerId": "csi:gr"}})


def test_an_answer_that_was_acknowledged_survives_a_kill(ctx):
    make_survey(ctx.peal, [{"key": "memory:all"}])
    made = [invite(ctx.peal) for _ in range(20)]
    acknowledged = []

    def answer(one):
        try:
            if ctx.peal.with_key(None).post(f"/s/{one['publicId']}/responses", {"answers": GOOD}).status == 200:
                acknowledged.append(one["deliveryId"])
        except OSError:
            pass
    threads = [threading.Thread(target=answer, args=(one,)) for one in made]
    for thread in threads:
        thread.start()
    eventually(lambda: len(acknowledged) > 2)
    ctx.peal.kill9()
    for thread in threads:
        thread.join()
    ctx.peal.restart()
    kept = {row["deliveryId"] for row in responses(ctx.peal)}
    equal(set(acknowledged) - kept, set())
    for one in made:
        state = delivery(ctx.peal, one["deliveryId"])["state"]
        equal(state == "completed", one["deliveryId"] in kept)
        submit(ctx.peal, one, GOOD, expect=409 if one["deliveryId"] in kept else 200)
    equal(len(responses(ctx.peal)), len(made))
    equal(len([row for row in deliveries(ctx.peal) if row["rule"]["kind"] == "subscriber"]), len(made))


MANY = [{"id": "nps", "type": "nps", "text": {"en": "?"}},
        {"id": "which", "type": "multiple", "choices": [{"value": "a"}, {"value": "=b"}], "text": {"en": "?"}},
        {"id": "spent", "type": "number", "text": {"en": "?"}}, {"id": "why", "type": "text", "text": {"en": "?"}}]


def test_results_are_counted_with_the_responses(ctx):
    make_survey(ctx.peal)
    like(results(ctx.peal), {"surveyId": "csi", "responses": 0, "days": [], "triggers": [], "questions": [
        {"id": "rate", "type": "rating", "answers": 0, "counts": {}, "average": None, "nps": None}, {}, {}]})
    for rate in (9, 10, 10):
        submit(ctx.peal, invite(ctx.peal), {**GOOD, "rate": rate})
    refused = invite(ctx.peal)
    submit(ctx.peal, refused, {}, expect=422)
    submit(ctx.peal, refused, BAD)
    submit(ctx.peal, refused, BAD, expect=409)
    told = by_id(results(ctx.peal))
    equal(told["rate"], {"id": "rate", "type": "rating", "answers": 4, "counts": {"3": 1, "9": 1, "10": 2}, "average": 8.0, "nps": None})
    equal(told["has-a-complaint"]["counts"], {"No": 3, "Yes": 1})
    equal((told["what"]["answers"], told["what"]["counts"]), (1, {}))
    ctx.peal.patch("/v1/surveys/csi", {"questions": MANY, "triggers": [
        {"id": "other", "eventKind": "visit", "channel": "memory:default"}]}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    advance(ctx.peal, "1d")
    for nps, which, spent in ((10, ["a", "=b"], 1.5), (9, ["a"], -3), (3, [], 1e200), (7, ["=b"], None)):
        submit(ctx.peal, invite(ctx.peal), {"nps": nps, "which": which, "spent": spent})
    told = results(ctx.peal)
    equal(told["responses"], 8)
    equal(told["days"], [{"day": "2026-05-15", "responses": 4}, {"day": "2026-05-14", "responses": 4}])
    equal(told["triggers"], [{"triggerId": "csi:gr", "responses": 4}, {"triggerId": "csi:other", "responses": 4}])
    equal([one["id"] for one in told["questions"]], ["nps", "which", "spent", "why", "has-a-complaint", "rate", "what"])
    equal((by_id(told)["nps"]["nps"], by_id(told)["nps"]["average"], by_id(told)["rate"]["type"]), (25.0, 7.25, None))
    equal((by_id(told)["which"]["answers"], by_id(told)["which"]["counts"]), (3, {"=b": 2, "a": 2}))
    equal(by_id(told)["spent"]["average"], 333333332.833)
    for query, expected in (("?trigger=gr", 4), ("?trigger=csi:other", 4), ("?trigger=none", 0), ("?version=1", 4), ("?version=3", 0),
                            ("?from=2026-05-15T00:00:00Z", 4), ("?to=2026-05-15T00:00:00Z", 4), ("?to=2026-05-14T00:00:00Z", 0)):
        equal(results(ctx.peal, query)["responses"], expected, query)
    ctx.peal.get("/v1/surveys/none/results", expect=404)
    equal(make_user(ctx.peal, "read").get("/v1/surveys/csi/results").status, 200)


def test_an_nps_is_who_recommends_less_who_does_not(ctx):
    make_survey(ctx.peal)
    ctx.peal.patch("/v1/surveys/csi", {"questions": MANY}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    for nps, expected in ((8, 0.0), (7, 0.0), (9, 33.333), (10, 50.0), (6, 20.0), (0, 0.0)):
        submit(ctx.peal, invite(ctx.peal), {"nps": nps})
        equal(by_id(results(ctx.peal))["nps"]["nps"], expected)


def test_an_export_goes_on_where_it_is_told_to(ctx):
    make_survey(ctx.peal)
    for _ in range(205):  # more than a piece
        submit(ctx.peal, invite(ctx.peal), GOOD)
    whole = ctx.peal.get("/v1/surveys/csi/export", expect=200).text.splitlines()
    equal(len(whole), 206)
    for limit in (1, 200, 201, 205, 300):
        equal(ctx.peal.get(f"/v1/surveys/csi/export?limit={limit}", expect=200).text.splitlines(), whole[:limit + 1])
    last = whole[3].split(",")[0].strip('"')
    equal(ctx.peal.get(f"/v1/surveys/csi/export?after={last}&limit=2", expect=200).text.splitlines(), whole[4:6])
    equal(ctx.peal.get(f"/v1/surveys/csi/export?after={last}", expect=200).text.splitlines(), whole[4:])


def test_responses_are_exported_as_a_table(ctx):
    make_survey(ctx.peal)
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\r=x", "\n=x", "a,\"b\"\r\nc", "<b>نعم</b>"]
    for text in texts:
        submit(ctx.peal, invite(ctx.peal), {**BAD, "what": text}, meta={"agentId": "=cmd"})
    ctx.peal.patch("/v1/surveys/csi", {"questions": MANY}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    for n in range(450):
        made = invite(ctx.peal)
        submit(ctx.peal, made, {"spent": -n, "which": ["a", "=b"]})
    answer = ctx.peal.get("/v1/surveys/csi/export", expect=200)
    equal(answer.headers["Content-Type"].split(";")[0], "text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    equal(list(rows[0]), ["id", "completedAt", "version", "publicId", "locale", "agentId", "nps", "which", "spent", "why",
                          "has-a-complaint", "rate", "what"])
    equal([row["id"] for row in rows], [row["id"] for page in pages(ctx.peal) for row in page])
    like(rows[0], {"spent": "-449", "which": "a; =b", "nps": "", "publicId": made["publicId"], "version": "2", "locale": "ar"})
    equal([row["what"] for row in reversed(rows)][:9],
          ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\r=x", "'\n=x", "a,\"b\"\r\nc", "<b>نعم</b>"])
    equal(rows[-1]["agentId"], "'=cmd")
    ctx.peal.get("/v1/surveys/none/export", expect=404)
    ran = ctx.peal.cli("surveys", "export", "csi")
    equal((ran.code, ran.out), (0, answer.text.replace("\r\n", "\n").replace("\r", "\n")))  # which subprocess reads
    ran = ctx.peal.cli("surveys", "results", "csi", "--version", "2")
    assert ran.code == 0 and ran.out.startswith("450 responses"), ran
    assert "459" in ctx.peal.cli("surveys", "results", "csi", "--json").out
    assert "'=1" not in ctx.peal.cli("surveys", "responses", "csi").out


def pages(peal):
    cursor = ""
    while cursor is not None:
        page = peal.get(f"/v1/surveys/csi/responses?limit=500{cursor}", expect=200).json
        yield page["items"]
        cursor = page["next"] and f"&cursor={page['next']}"


def test_a_response_goes_with_its_delivery(ctx):
    make_survey(ctx.peal)
    taken = submit(ctx.peal, invite(ctx.peal), GOOD)
    advance(ctx.peal, "401d")
    eventually(lambda: ctx.peal.get(f"/v1/responses/{taken['responseId']}").status == 404)
    equal((responses(ctx.peal), results(ctx.peal)["responses"]), ([], 1))


if __name__ == "__main__":
    main()
