"""The console's surveys: edited in their languages, previewed, published, answered and counted."""
import os

from console import drive
from harness import equal, like, main, only
from steps import settle

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def answer(peal, trigger, all_answers):
    """Asks as many people as there are answers, and lets them answer."""
    for n, _ in enumerate(all_answers):
        peal.post("/v1/events", {"kind": "visit", "payload": {"wip": n}, "recipient": {"address": f"a{n}@example.org"}}, expect=202)
    settle(peal)
    rows = peal.get(f"/v1/deliveries?trigger={trigger}", expect=200).json["items"]
    equal(len(rows), len(all_answers))
    for row, answers in zip(rows, all_answers):
        peal.post(f"/s/{row['publicId']}/responses", {"answers": answers}, expect=200)
    return len(rows)


def test_a_survey_is_edited_published_and_counted(ctx):
    peal = ctx.peal
    told = drive(ctx, "console_surveys", actions={
        "survey": lambda: peal.get("/v1/surveys/csi", expect=200).json,
        "answer": lambda: answer(peal, "csi:gr", [{"rate": 10, "which": "a"}, {"rate": 9, "which": "a"}, {"rate": 3, "which": "b"}, {"rate": 10}])})
    like(told["survey"], {"id": "csi", "languages": ["en", "ar"], "title": {"en": "Your visit", "ar": "زيارتك"},
                          "questions": [{"id": "rate", "type": "nps", "required": True, "text": {"en": "Would you recommend us?", "ar": "هل توصي بنا؟"}},
                                        {"id": "why", "type": "text", "text": {"en": "Why?"}}],
                          "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default", "schedule": {"reminders": ["5d", "10d"]}}]})
    equal(told["published"], {"wrong": ['/questions/2/choices "choices" is needed'], "note": "Published: version 1."})
    like(told["counted"], {"responses": "4", "nps": "50", "file": "csi.csv", "rows": 4, "versions": 1})
    equal([text.split()[:2] for text in told["counted"]["bars"]], [["a", "2"], ["b", "1"]])
    equal(told["left"], 0)
    like(told, QUIET)


@only("sqlite")
def test_their_pages_look_well(ctx):
    ctx.peal.post("/v1/surveys", {"id": "csi", "languages": ["en", "ar"], "title": {"en": "Your visit"}, "questions": [
        {"id": "rate", "type": "nps", "required": True, "text": {"en": "How was it?"}},
        {"id": "which", "type": "single", "text": {"en": "Which?"}, "show": {"questionId": "rate", "op": "<", "value": 7},
         "choices": [{"value": "a", "text": {"en": "A", "ar": "أ"}}, {"value": "b"}], "goTo": [{"when": {"questionId": "which", "op": "==", "value": "b"}, "to": "end"}]},
        {"id": "why", "type": "text", "text": {"en": "Why?"}}],
        "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default"}], "subscribers": [{"key": "memory:default"}]}, expect=201)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    answer(ctx.peal, "csi:gr", [{"rate": 10, "why": "<b>good</b>"}, {"rate": 2, "which": "a"}])
    equal(drive(ctx, "console_surveys", part="looks", pictures=os.environ.get(PICTURES, "")), {"wrong": []})


if __name__ == "__main__":
    main()
