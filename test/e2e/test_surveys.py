"""T2: surveys are drafts until they are published; what was sent keeps its version."""
from harness import equal, like, main
from steps import deliveries, delivery


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


if __name__ == "__main__":
    main()
