"""survey_steps.py - what the scenarios of surveys do and look at."""
from steps import deliveries, make_channel

COMPLAINT = {"id": "has-a-complaint", "type": "single", "required": True, "text": {"en": "Any complaint?"},
             "choices": [{"value": "Yes"}, {"value": "No"}],
             "goTo": [{"when": {"questionId": "has-a-complaint", "op": "==", "value": "No"}, "to": "end"}]}
QUESTIONS = [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": True, "text": {"en": "How was it?", "ar": "كيف كان؟"}},
             COMPLAINT,
             {"id": "what", "type": "text", "text": {"en": "What?"},
              "show": {"questionId": "has-a-complaint", "op": "==", "value": "Yes"}}]
UNHAPPY = {"all": [{"questionId": "has-a-complaint", "op": "==", "value": "Yes"},
                   {"questionId": "rate", "op": "<=", "value": 7}]}
GOOD = {"rate": 9, "has-a-complaint": "No"}
BAD = {"rate": 3, "has-a-complaint": "Yes", "what": "<script>alert(1)</script>"}


def make_survey(peal, told=(), id="csi", **trigger):
    """Publishes a survey, with the subscribers told; those that remember have a channel."""
    for one in [*told, *trigger.get("subscribers", [])]:
        if one["key"].startswith("memory:"):
            make_channel(peal, one["key"])
    body = {"id": id, "integrationId": "4523", "languages": ["en", "ar"], "title": {"en": "Your visit"},
            "questions": QUESTIONS, "subscribers": list(told),
            "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default", **trigger}]}
    peal.post("/v1/surveys", body, expect=201)
    return peal.post(f"/v1/surveys/{id}/publish", expect=200).json


def invite(peal, **payload):
    """Posts a visit, and gives the delivery that asks about it."""
    answer = peal.post("/v1/ingest", {"eventKind": "visit", "items": [
        {"payload": {"wip": "40956", **payload},
         "recipient": {"address": "+964 770 000 0001", "locale": "ar", "customerRef": "cust-1"}}]}, expect=200).json
    [made] = answer["items"][0]["deliveries"]
    return made


def submit(peal, made, answers, expect=200, **body):
    """Answers without a key, as whoever has the link does."""
    return peal.with_key(None).post(f"/s/{made['publicId']}/responses", {"answers": answers, **body}, expect=expect).json


def responses(peal, id="csi"):
    return peal.get(f"/v1/surveys/{id}/responses", expect=200).json["items"]


def told(peal):
    """What subscribers are told, by the id of the rule."""
    return {row["rule"]["id"]: row for row in deliveries(peal) if row["rule"]["kind"] == "subscriber"}


def results(peal, query=""):
    return peal.get(f"/v1/surveys/csi/results{query}", expect=200).json


def by_id(told):
    return {one["id"]: one for one in told["questions"]}
