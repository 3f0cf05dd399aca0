"""T3: the filter language, through the program: on the command line, in triggers, explained."""
import json

from harness import equal, like, main, once, run_peal
from server import ROOT
from steps import KIND, ingest, make_trigger, problems, trigger_body, visit

CASES = json.loads((ROOT / "test" / "cases" / "filter.json").read_text())
EVENT = CASES["event"]
ITEM = {"payload": EVENT["payload"], "recipient": EVENT["recipient"]}


def filter_test(ctx, filter):
    return run_peal("filter", "test", ctx.write("filter.json", json.dumps(filter)),
                    ctx.write("event.json", json.dumps(EVENT)))


@once
def test_the_command_line_agrees_with_the_published_cases(ctx):
    for case in CASES["cases"]:
        ran = filter_test(ctx, case["filter"])
        equal((ran.code, ran.out.split()[0]), (0, "true") if case["expect"] else (1, "false"),
              case["filter"])


@once
def test_the_command_line_says_why_a_filter_is_false(ctx):
    ran = filter_test(ctx, {"path": "candidate.jobType", "op": "==", "value": "PM"})
    equal(ran.code, 1)
    assert "candidate.jobType" in ran.out and "GR" in ran.out, ran.out


@once
def test_the_command_line_refuses_what_is_no_filter(ctx):
    for filter in CASES["refused"]:
        ran = filter_test(ctx, filter)
        equal(ran.code, 2, filter)
        assert ran.err.startswith("Error:"), ran.err


def test_triggers_agree_with_the_published_cases(ctx):
    for number, case in enumerate(CASES["cases"]):
        make_trigger(ctx.peal, f"case-{number}", filter=case["filter"],
                     templateId=EVENT["templateId"])
    answer = ingest(ctx.peal, ITEM)
    matched = {made["triggerId"] for made in answer["items"][0]["deliveries"]}
    for number, case in enumerate(CASES["cases"]):
        equal(f"case-{number}" in matched, case["expect"], case["filter"])


def test_what_is_no_filter_is_refused_on_save_with_its_place(ctx):
    for filter in CASES["refused"]:
        response = ctx.peal.post("/v1/triggers", trigger_body(filter=filter))
        equal(response.status, 422, filter)
        equal(response.json["code"], "trigger-invalid")
        for path, _ in problems(response):
            assert path.startswith("/filter"), (filter, path)
    equal(ctx.peal.get("/v1/triggers", expect=200).json["items"], [])


def test_the_place_of_a_problem_deep_in_a_filter_is_told(ctx):
    deep = {"all": [{"path": "a", "op": "exists"},
                    {"any": [{"not": {"path": "b", "op": "~", "value": 1}}]}]}
    response = ctx.peal.post("/v1/triggers", trigger_body(filter=deep), expect=422)
    equal(problems(response), [("/filter/all/1/any/0/not/op", "unknown-op")])
    message = response.json["errors"][0]["message"]
    assert '"~"' in message and "startsWith" in message, message


def test_why_an_event_did_not_fire_is_explained(ctx):
    gr = {"all": [{"questionId": "candidate.jobType", "op": "==", "value": "GR"}]}
    make_trigger(ctx.peal, "csi", filter=gr)
    make_trigger(ctx.peal, "old", enabled=False)
    make_trigger(ctx.peal, "voc")
    make_trigger(ctx.peal, "elsewhere", eventKind="another-kind")
    event = ingest(ctx.peal, visit(jobType="PM"))["items"][0]["eventId"]
    explained = ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json
    equal(explained["eventId"], event)
    decisions = {decision["triggerId"]: decision for decision in explained["decisions"]}
    equal(sorted(decisions), ["csi", "old", "voc"])
    like(decisions["csi"], {
        "triggerVersion": 1, "outcome": "filtered", "reason": "filter-false",
        "path": "/filter/all/0", "predicate": 'candidate.jobType == "GR"', "seen": "PM",
        "wouldMatchIf": 'candidate.jobType were "GR"'})
    like(decisions["old"], {"outcome": "disabled", "reason": "trigger-disabled"})
    like(decisions["voc"], {"outcome": "created", "reason": "matched"})
    assert "1 other trigger" in explained["note"], explained["note"]


def test_an_explanation_holds_for_the_version_that_decided(ctx):
    make_trigger(ctx.peal, filter={"path": "candidate.jobType", "op": "==", "value": "AA"})
    event = ingest(ctx.peal, visit(jobType="PM"))["items"][0]["eventId"]
    body = trigger_body(filter={"path": "candidate.jobType", "op": "==", "value": "BB"})
    ctx.peal.put("/v1/triggers/visit", body, expect=200)
    decision = ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["decisions"][0]
    like(decision, {"triggerVersion": 1, "predicate": 'candidate.jobType == "AA"'})


def test_why_prints_the_explanation(ctx):
    make_trigger(ctx.peal, filter={"path": "candidate.jobType", "op": "==", "value": "GR"})
    event = ingest(ctx.peal, visit(jobType="PM"))["items"][0]["eventId"]
    ran = ctx.peal.cli("why", event)
    equal(ran.code, 0, ran.err)
    for word in ("visit", "candidate.jobType", "GR", "PM"):
        assert word in ran.out, ran.out
    equal(ctx.peal.cli("why", "0197f000-0000-7000-8000-000000000000").code, 3)


def test_the_filter_sees_the_kind_of_the_event(ctx):
    make_trigger(ctx.peal, "yes", filter={"path": "event.kind", "op": "==", "value": KIND})
    make_trigger(ctx.peal, "no", filter={"path": "event.kind", "op": "==", "value": "x"})
    answer = ingest(ctx.peal, visit())
    equal([made["triggerId"] for made in answer["items"][0]["deliveries"]], ["yes"])


if __name__ == "__main__":
    main()
