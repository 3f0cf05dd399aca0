"""T4, T5: the key that says two events are the same, and who holds it."""
import json

from harness import equal, like, main, once, run_peal
from server import ROOT
from steps import (advance, change_trigger, delivery, ingest, ingest_one, make_tenant, make_trigger,
                   settle, visit)

CASES = json.loads((ROOT / "test" / "cases" / "dedup.json").read_text())
EVENT = CASES["event"]
ITEM = {"payload": EVENT["payload"], "recipient": EVENT["recipient"]}
RECIPE = ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"]
VECTOR = "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa"


def outcome(answer):
    return answer["items"][0]["outcome"]


@once
def test_the_command_line_gives_the_published_hashes(ctx):
    event = ctx.write("event.json", json.dumps(EVENT))
    for case in CASES["cases"]:
        ran = run_peal("dedup", "hash", ctx.write("recipe.json", json.dumps(case["recipe"])), event)
        equal((ran.code, ran.out.strip()), (0, case["expect"]), case["recipe"])


def test_deliveries_have_the_published_hashes(ctx):
    for number, case in enumerate(CASES["cases"]):
        make_trigger(ctx.peal, f"case-{number}", dedupRecipe=case["recipe"],
                     templateId=EVENT["templateId"])
    made = ingest(ctx.peal, ITEM)["items"][0]["deliveries"]
    hashes = {one["triggerId"]: delivery(ctx.peal, one["deliveryId"])["dedupHash"] for one in made}
    equal(hashes, {f"case-{number}": case["expect"] for number, case in enumerate(CASES["cases"])})


def test_the_vector_of_the_mission_is_kept(ctx):
    make_trigger(ctx.peal, dedupRecipe=RECIPE, templateId="4523")
    id = ingest_one(ctx.peal, visit(wip="40956", dealerId="1"))
    equal(delivery(ctx.peal, id)["dedupHash"], VECTOR)


def test_without_a_recipe_nothing_is_a_duplicate(ctx):
    make_trigger(ctx.peal)
    for _ in range(3):
        id = ingest_one(ctx.peal, visit(wip="1"))
        equal(delivery(ctx.peal, id)["dedupHash"], None)


def test_a_number_and_its_text_give_the_same_key(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    equal(outcome(ingest(ctx.peal, visit(wip="17"))), "created")
    equal(outcome(ingest(ctx.peal, visit(wip=17))), "skipped")


def test_each_trigger_holds_keys_of_its_own(ctx):
    make_trigger(ctx.peal, "one", dedupRecipe=["candidate.wip"])
    equal(ingest(ctx.peal, visit(wip="1"))["created"], 1)
    make_trigger(ctx.peal, "two", dedupRecipe=["candidate.wip"])
    answer = ingest(ctx.peal, visit(wip="1"))
    like(answer, {"created": 1, "skipped": 1})
    equal(outcome(answer), "created")


def test_each_tenant_holds_keys_of_its_own(ctx):
    people = [make_tenant(ctx.peal, "acme"), make_tenant(ctx.peal, "bolt")]
    for somebody in people:
        make_trigger(somebody, dedupRecipe=["candidate.wip"])
        equal(outcome(ingest(somebody, visit(wip="1"))), "created")
    for somebody in people:
        equal(outcome(ingest(somebody, visit(wip="1"))), "skipped")


def test_an_event_that_was_filtered_can_fire_later(ctx):
    only_pm = {"path": "candidate.jobType", "op": "==", "value": "PM"}
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"], filter=only_pm)
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "unmatched")
    change_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "created")
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "skipped")


def test_an_event_that_met_a_disabled_trigger_can_fire_later(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"], enabled=False)
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "unmatched")
    change_trigger(ctx.peal, dedupRecipe=["candidate.wip"], enabled=True)
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "created")


def test_the_key_outlives_the_end_of_its_delivery(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    id = ingest_one(ctx.peal, visit(wip="1"))
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")
    advance(ctx.peal, "60d")
    equal(outcome(ingest(ctx.peal, visit(wip="1"))), "skipped")


def test_the_key_survives_a_restart(ctx):
    make_trigger(ctx.peal, dedupRecipe=["candidate.wip"])
    id = ingest_one(ctx.peal, visit(wip="1"))
    ctx.peal.restart()
    answer = ingest(ctx.peal, visit(wip="1"))
    like(answer["items"][0], {"outcome": "skipped", "deliveries": [{"deliveryId": id}]})


if __name__ == "__main__":
    main()
