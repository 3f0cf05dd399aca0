"""T2: surveys are drafts until they are published; what was sent keeps its version."""
import concurrent.futures
import json
import threading

from harness import equal, like, main, only
from steps import advance, captured, deliveries, delivery, make_tenant, make_user, settle, trigger_body

HOSTILE = "<script>alert(1)</script>&amp;\"'"


def survey_body(id="csi", **members):
    return {"id": id, "integrationId": "4523", "languages": ["en", "ar"],
            "title": {"en": "Your visit", "ar": "زيارتك"}, "thanks": {"en": "Thank you"},
            "questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": True,
                           "text": {"en": "How was it?", "ar": "كيف كان؟"}}],
            "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default",
                          "schedule": {"reminders": ["1d"]}}],
            "subscribers": [{"key": "memory:default", "filter": {"questionId": "rate", "op": "<=", "value": 7}}],
            **members}


def make_survey(peal, id="csi", **members):
    return peal.post("/v1/surveys", survey_body(id, **members), expect=201).json


def publish(peal, id="csi", expect=200):
    return peal.post(f"/v1/surveys/{id}/publish", expect=expect).json


def visit(peal, **payload):
    """Posts a visit and gives what the answer says of its deliveries."""
    answer = peal.post("/v1/ingest", {"eventKind": "visit", "items": [
        {"payload": payload, "recipient": {"address": "+964 770 000 0001", "locale": "ar"}}]}, expect=200).json
    return answer["items"][0]["deliveries"]


def test_what_was_sent_keeps_its_version(ctx):
    like(make_survey(ctx.peal), {"version": 1, "publishedVersion": None, "publishedAt": None})
    equal(visit(ctx.peal), [])
    like(publish(ctx.peal), {"version": 1, "isNew": True, "triggers": ["csi:gr"], "warnings": []})
    [first] = visit(ctx.peal)
    like(first, {"outcome": "created", "triggerId": "csi:gr", "surveyId": "csi"})
    like(delivery(ctx.peal, first["deliveryId"]), {"surveyId": "csi", "surveyVersion": 1, "triggerId": "csi:gr"})
    like(publish(ctx.peal), {"version": 1, "isNew": False})
    equal(delivery(ctx.peal, visit(ctx.peal)[0]["deliveryId"])["triggerVersion"], 1)
    questions = survey_body()["questions"]
    questions[0]["max"] = 5
    ctx.peal.patch("/v1/surveys/csi", {"questions": questions}, expect=200)
    equal(delivery(ctx.peal, visit(ctx.peal)[0]["deliveryId"])["surveyVersion"], 1)
    like(publish(ctx.peal), {"version": 2, "isNew": True})
    [second] = visit(ctx.peal)
    like(delivery(ctx.peal, second["deliveryId"]), {"surveyVersion": 2, "triggerVersion": 2})
    like(delivery(ctx.peal, first["deliveryId"]), {"surveyVersion": 1, "triggerVersion": 1})
    like(ctx.peal.get("/v1/surveys/csi", expect=200).json, {"version": 2, "publishedVersion": 2})
    equal([(row["version"], row["draft"]) for row in ctx.peal.get("/v1/surveys/csi/versions", expect=200).json["items"]],
          [(2, 2), (1, 1)])
    old = ctx.peal.get("/v1/surveys/csi/versions/1", expect=200).json
    equal(old["survey"]["questions"][0]["max"], 10)
    equal(sorted(row["surveyVersion"] for row in deliveries(ctx.peal)), [1, 1, 1, 2])


def problems(answer):
    return [(one["path"], one["code"]) for one in answer.json["errors"]]


def test_what_is_wrong_in_a_draft_is_refused_by_its_place(ctx):
    asked = survey_body()["questions"][0]
    for members, found in (
            ({"colour": 1}, ("/colour", "unknown-member")),
            ({"id": "a:b"}, ("/id", "bad-value")),
            ({"id": "a b"}, ("/id", "bad-value")),
            ({"languages": ["en", "ar", "AR"]}, ("/languages/2", "bad-value")),
            ({"languages": [f"a{i:02}" for i in range(21)]}, ("/languages", "bad-value")),
            ({"thanks": {"fr": "Merci"}}, ("/thanks/fr", "unknown-language")),
            ({"questions": [{**asked, "type": "essay"}]}, ("/questions/0/type", "bad-value")),
            ({"questions": [asked, asked]}, ("/questions/1/id", "bad-value")),
            ({"questions": [{**asked, "id": f"q{i}"} for i in range(501)]}, ("/questions", "bad-value")),
            ({"questions": [{**asked, "max": 1}]}, ("/questions/0/max", "bad-value")),
            ({"questions": [{**asked, "show": {"questionId": "x", "op": "~", "value": 1}}]},
             ("/questions/0/show/op", "unknown-op")),
            ({"triggers": [{"id": "t", "schedule": {"reminders": ["soon"]}}]},
             ("/triggers/0/schedule/reminders/0", "bad-duration")),
            ({"triggers": [{"id": "t", "survey": "csi"}]}, ("/triggers/0/survey", "unknown-member")),
            ({"triggers": [{"id": "t"}, {"id": "t"}]}, ("/triggers/1/id", "bad-value")),
            ({"triggers": [{"id": "t" * 97}]}, ("/triggers/0/id", "too-large")),
            ({"subscribers": [{"key": "k"}, {"key": "k"}]}, ("/subscribers/1/key", "bad-value"))):
        answer = ctx.peal.post("/v1/surveys", {**survey_body(), **members}, expect=422)
        equal(answer.json["code"], "survey-invalid")
        equal(problems(answer), [found])
    ctx.peal.get("/v1/surveys/csi", expect=404)


def test_what_a_draft_lacks_is_told_when_it_is_published(ctx):
    make_survey(ctx.peal, questions=[
        {"id": "a", "type": "single", "text": {"ar": "?"}, "goTo": [{"to": "nowhere"}]},
        {"id": "b", "type": "text", "text": {"en": "?"}, "show": {"questionId": "c", "op": "exists"},
         "goTo": [{"to": "a"}]},
        {"id": "c", "type": "date", "text": {"en": "?"}, "show": {"path": "z", "op": "exists"}}],
        triggers=[{"id": "t"}], subscribers=[{"key": "memory:x", "filter": {"questionId": "zz", "op": "exists"}}])
    answer = ctx.peal.post("/v1/surveys/csi/publish", expect=422)
    equal(answer.json["code"], "survey-invalid")
    equal(sorted(problems(answer)), sorted([
        ("/questions/0/text", "missing-text"), ("/questions/0/choices", "missing-member"),
        ("/questions/0/goTo/0/to", "unknown-question"), ("/questions/1/show", "bad-question"),
        ("/questions/1/goTo/0/to", "bad-question"), ("/questions/2/show", "unknown-question"),
        ("/triggers/0/eventKind", "missing-member"), ("/triggers/0/channel", "missing-member"),
        ("/subscribers/0/filter", "unknown-question")]))
    equal(ctx.peal.get("/v1/surveys/csi/versions", expect=200).json["items"], [])
    equal(ctx.peal.get("/v1/triggers", expect=200).json["items"], [])
    ctx.peal.post("/v1/surveys/none/publish", expect=404)
    ctx.peal.get("/v1/surveys/none/versions", expect=404)
    for version in ("1", "0", "x", "99999999999999999999"):
        ctx.peal.get(f"/v1/surveys/csi/versions/{version}", expect=404)


def test_a_large_survey_in_many_languages_is_kept_as_it_was_written(ctx):
    languages = ["en"] + [f"l{chr(97 + i)}" for i in range(19)]
    text = {language: f"{HOSTILE} {language}" for language in languages}
    questions = [{"id": f"q{i}", "type": "text", "text": text} for i in range(500)]
    make_survey(ctx.peal, languages=languages, title=text, thanks=text, questions=questions, subscribers=[])
    publish(ctx.peal)
    shown = ctx.peal.get("/v1/surveys/csi", expect=200).json
    equal((shown["questions"], shown["title"]), (questions, text))
    equal(ctx.peal.get("/v1/surveys/csi/versions/1", expect=200).json["survey"]["questions"], questions)
    like(delivery(ctx.peal, visit(ctx.peal)[0]["deliveryId"]), {"surveyVersion": 1})


def test_a_surveys_trigger_is_edited_in_the_survey_alone(ctx):
    make_survey(ctx.peal)
    publish(ctx.peal)
    trigger = ctx.peal.get("/v1/triggers/csi:gr", expect=200).json
    like(trigger, {"survey": "csi", "surveyVersion": 1, "templateId": "4523", "awaitAnswer": True, "enabled": True})
    body = trigger_body("csi:gr")
    for answer in (ctx.peal.put("/v1/triggers/csi:gr", body, expect=409),
                   ctx.peal.patch("/v1/triggers/csi:gr", {"enabled": False}, expect=409),
                   ctx.peal.delete("/v1/triggers/csi:gr", expect=409),
                   ctx.peal.post("/v1/triggers", {**body, "id": "own", "survey": "csi", "surveyVersion": 1}, expect=409)):
        equal((answer.json["code"], answer.json["detail"]),
              ("conflict", "the trigger belongs to survey csi: edit that, and publish it"))
    ctx.peal.post("/v1/triggers", body, expect=409)
    equal(len(visit(ctx.peal)), 1)


def test_somebody_elses_trigger_is_not_written_over(ctx):
    own = trigger_body("csi:gr", eventKind="other")
    ctx.peal.post("/v1/triggers", own, expect=201)
    make_survey(ctx.peal)
    equal(publish(ctx.peal, expect=409)["detail"],
          "there is a trigger csi:gr already, which is none of survey csi")
    like(ctx.peal.get("/v1/triggers/csi:gr", expect=200).json, {"eventKind": "other", "version": 1})
    equal(ctx.peal.get("/v1/surveys/csi/versions", expect=200).json["items"], [])
    ctx.peal.delete("/v1/triggers/csi:gr", expect=204)
    like(publish(ctx.peal), {"version": 1})


def test_a_version_without_a_trigger_hides_it_and_a_deletion_all(ctx):
    make_survey(ctx.peal, triggers=[{"id": name, "eventKind": "visit", "channel": "memory:default"}
                                    for name in ("a", "b")])
    publish(ctx.peal)
    made = visit(ctx.peal)
    equal([row["triggerId"] for row in made], ["csi:a", "csi:b"])
    ctx.peal.patch("/v1/surveys/csi", {"triggers": survey_body()["triggers"]}, expect=200)
    equal(publish(ctx.peal)["triggers"], ["csi:gr"])
    equal([row["triggerId"] for row in visit(ctx.peal)], ["csi:gr"])
    ctx.peal.get("/v1/triggers/csi:a", expect=404)
    ctx.peal.delete("/v1/surveys/csi", expect=204)
    ctx.peal.get("/v1/surveys/csi", expect=404)
    publish(ctx.peal, expect=404)
    equal(visit(ctx.peal), [])
    like(delivery(ctx.peal, made[0]["deliveryId"]), {"surveyId": "csi", "surveyVersion": 1})
    equal(len(ctx.peal.get("/v1/surveys/csi/versions", expect=200).json["items"]), 2)
    make_survey(ctx.peal, paging="one")
    equal(visit(ctx.peal), [])
    like(publish(ctx.peal), {"version": 3, "isNew": True})
    equal([row["surveyId"] for row in visit(ctx.peal)], ["csi"])


def test_a_survey_that_is_made_again_as_it_was_goes_on(ctx):
    make_survey(ctx.peal)
    publish(ctx.peal)
    ctx.peal.delete("/v1/surveys/csi", expect=204)
    make_survey(ctx.peal)
    like(publish(ctx.peal), {"version": 1, "isNew": False})
    like(delivery(ctx.peal, visit(ctx.peal)[0]["deliveryId"]), {"surveyVersion": 1, "triggerVersion": 2})


def test_a_draft_is_changed_and_published_as_it_was_seen(ctx):
    made = ctx.peal.post("/v1/surveys", survey_body(), expect=201)
    equal((made.headers["ETag"], made.headers["Location"]), ('"1"', "/v1/surveys/csi"))
    ctx.peal.post("/v1/surveys", survey_body(), expect=409)
    changed = ctx.peal.patch("/v1/surveys/csi", {"thanks": None, "paging": "one"}, expect=200)
    equal(changed.headers["ETag"], '"2"')
    assert "thanks" not in changed.json, changed.json
    ctx.peal.put("/v1/surveys/csi", survey_body(), headers={"If-Match": '"1"'}, expect=412)
    ctx.peal.post("/v1/surveys/csi/publish", headers={"If-Match": '"1"'}, expect=412)
    like(ctx.peal.post("/v1/surveys/csi/publish", headers={"If-Match": '"2"'}, expect=200).json, {"version": 1})
    ctx.peal.put("/v1/surveys/csi", survey_body("other"), expect=422)
    like(ctx.peal.put("/v1/surveys/csi", survey_body(), expect=200).json, {"version": 3, "publishedVersion": 1})
    again = ctx.peal.post("/v1/surveys/csi/publish", headers={"Idempotency-Key": "k"}, expect=200)
    like(again.json, {"version": 2})
    equal(ctx.peal.post("/v1/surveys/csi/publish", headers={"Idempotency-Key": "k"}, expect=200).json, again.json)


def test_a_channel_that_is_not_there_is_warned_of(ctx):
    missing = {"subscribers": [{"key": "http:crm"}]}
    equal(make_survey(ctx.peal, **missing)["warnings"], ["channel http:crm does not exist yet"])
    equal(publish(ctx.peal)["warnings"], ["channel http:crm does not exist yet"])


def test_a_surveys_triggers_do_all_that_triggers_do(ctx):
    make_survey(ctx.peal, triggers=[{
        "id": "gr", "eventKind": "visit", "channel": "memory:default", "address": "candidate.phone",
        "locale": "candidate.language", "expireAfter": "2d", "dedupRecipe": ["templateId", "candidate.wip"],
        "filter": {"path": "candidate.jobType", "op": "==", "value": "GR"},
        "schedule": {"initialDelay": "1h", "reminders": ["1d", "1d"]},
        "cancelOn": {"eventKind": "reopened", "match": ["candidate.wip"]},
        "subscribers": [{"key": "memory:default"}]}])
    publish(ctx.peal)
    equal(visit(ctx.peal, jobType="PM", wip="1"), [])
    [first] = visit(ctx.peal, jobType="GR", wip="1", phone="+1", language="de")
    [second] = visit(ctx.peal, jobType="GR", wip="2", phone="+2")
    like(visit(ctx.peal, jobType="GR", wip="1")[0], {"outcome": "skipped", "publicId": first["publicId"],
                                                     "surveyId": "csi"})
    like(delivery(ctx.peal, first["deliveryId"]), {"address": "+1", "locale": "de", "remindersRemaining": 2})
    advance(ctx.peal, "1h")
    like(delivery(ctx.peal, first["deliveryId"]), {"state": "waiting", "status": "Sent", "remindersRemaining": 1})
    ctx.peal.post("/v1/events", {"kind": "reopened", "payload": {"wip": "1"}}, expect=202)
    settle(ctx.peal)
    like(delivery(ctx.peal, first["deliveryId"]), {"state": "cancelled", "dueAt": None})
    advance(ctx.peal, "2d")
    equal((len(captured(ctx.peal, first["deliveryId"])), len(captured(ctx.peal, second["deliveryId"]))), (1, 3))
    advance(ctx.peal, "3d")
    like(delivery(ctx.peal, second["deliveryId"]), {"state": "expired"})


def test_a_publish_between_two_sends_changes_nothing_of_what_was_sent(ctx):
    make_survey(ctx.peal)
    publish(ctx.peal)
    [made] = visit(ctx.peal)
    settle(ctx.peal)
    ctx.peal.patch("/v1/surveys/csi", {"paging": "one", "triggers": []}, expect=200)
    publish(ctx.peal)
    advance(ctx.peal, "1d")
    equal(len(captured(ctx.peal, made["deliveryId"])), 2)
    like(delivery(ctx.peal, made["deliveryId"]), {"surveyVersion": 1, "status": "Sent"})


def at_once(people, do):
    """Each of them does it at the same moment; answers what each got."""
    gate = threading.Barrier(len(people))

    def one(somebody):
        gate.wait()
        return do(somebody)

    with concurrent.futures.ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(one, people))


def test_simultaneous_publishes_make_one_version(ctx):
    make_survey(ctx.peal)
    answers = at_once([ctx.peal] * 8, publish)
    equal(({answer["version"] for answer in answers}, [answer["isNew"] for answer in answers].count(True)), ({1}, 1))
    equal(len(ctx.peal.get("/v1/surveys/csi/versions", expect=200).json["items"]), 1)
    like(ctx.peal.get("/v1/triggers/csi:gr", expect=200).json, {"version": 1})


@only("postgres")
def test_a_publish_is_seen_by_every_node_before_it_is_answered(ctx):
    nodes = [ctx.start(clock="system"), ctx.start(clock="system")]
    make_survey(nodes[0])
    for version in range(1, 6):
        like(publish(nodes[version % 2]), {"version": version})
        [made] = visit(nodes[(version + 1) % 2])
        like(delivery(nodes[0], made["deliveryId"]), {"surveyVersion": version})
        nodes[version % 2].patch("/v1/surveys/csi", {"title": {"en": f"{version}"}}, expect=200)
    answers = at_once(nodes * 4, publish)
    equal(({answer["version"] for answer in answers}, [answer["isNew"] for answer in answers].count(True)), ({6}, 1))


def test_explain_names_the_survey(ctx):
    make_survey(ctx.peal, triggers=[{"id": "gr", "eventKind": "visit", "channel": "memory:default",
                                     "filter": {"path": "candidate.a", "op": "==", "value": 1}}])
    publish(ctx.peal)
    ctx.peal.post("/v1/triggers", trigger_body("own", eventKind="visit"), expect=201)
    answer = ctx.peal.post("/v1/events", {"kind": "visit", "payload": {"a": 2}}, expect=202).json
    explained = ctx.peal.get(f"/v1/events/{answer['eventId']}/explain", expect=200).json["decisions"]
    equal([(one["triggerId"], one.get("surveyId"), one["outcome"]) for one in explained],
          [("csi:gr", "csi", "filtered"), ("own", None, "created")])
    assert "csi:gr" in ctx.peal.cli("why", answer["eventId"]).out


def test_surveys_are_their_tenants_and_authors(ctx):
    make_survey(ctx.peal)
    stranger = make_tenant(ctx.peal, "acme")
    for path in ("/v1/surveys/csi", "/v1/surveys/csi/versions", "/v1/surveys/csi/versions/1"):
        stranger.get(path, expect=404)
    publish(stranger, expect=404)
    for role in ("read", "operator", "ingest"):
        publish(make_user(ctx.peal, role), expect=403)
    publish(make_user(ctx.peal, "author"))
    stranger.get("/v1/surveys/csi/versions/1", expect=404)
    make_survey(stranger)
    like(publish(stranger), {"version": 1})
    equal(len(visit(stranger)), 1)
    make_user(ctx.peal, "read").get("/v1/surveys/csi/versions/1", expect=200)


def test_the_command_line_keeps_and_publishes_surveys(ctx):
    file = ctx.write("csi.json", json.dumps(survey_body(subscribers=[{"key": "http:crm"}])))
    equal(ctx.peal.cli("surveys", "create", "-f", file).code, 0)
    out = ctx.peal.cli("surveys", "publish", "csi")
    equal((out.code, out.out), (0, "Published csi: version 1.\n"))
    assert "channel http:crm does not exist yet" in out.err, out.err
    equal(ctx.peal.cli("surveys", "publish", "csi", "--if-version", "1").out, "csi is unchanged: version 1.\n")
    equal(ctx.peal.cli("surveys", "set", "csi", "paging=one").code, 0)
    equal(ctx.peal.cli("surveys", "publish", "csi", "--if-version", "1").code, 5)
    equal(json.loads(ctx.peal.cli("surveys", "publish", "csi", "--json").out)["version"], 2)
    assert "csi" in ctx.peal.cli("surveys").out
    equal(len(json.loads(ctx.peal.cli("surveys", "versions", "csi", "--json").out)["items"]), 2)
    equal(ctx.peal.cli("surveys", "publish", "none").code, 3)
    equal(ctx.peal.cli("surveys", "show", "csi").code, 0)
    equal(ctx.peal.cli("surveys", "delete", "csi").code, 0)


if __name__ == "__main__":
    main()
