"""The console's triggers: built with conditions, tried on stored events before they are saved, compared, skipped, deleted."""
import os

from console import drive
from harness import equal, like, main, only
from steps import make_user

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def seed(peal):
    for total, more in ((100, {}), (200, {}), (300, {"vip": True})):
        peal.post("/v1/events", {"kind": "order.paid", "payload": {"total": total, **more}, "recipient": {"address": "ada@example.org"}}, expect=202)
    peal.post("/v1/apply", {"origin": "shop", "definitions": [
        {"kind": "trigger", "id": "filed", "eventKind": "order.lost", "channel": "memory:default",
         "filter": {"path": "candidate.total", "op": ">", "value": 1}}]}, expect=200)


def test_a_trigger_is_built_tried_and_kept(ctx):
    peal = ctx.peal
    seed(peal)
    told = drive(ctx, "console_triggers", reader=make_user(peal, "read").key, actions={
        "emit": lambda: peal.post("/v1/events", {"kind": "order.paid", "payload": {"total": 100}}, expect=202).status,
        "enabled": lambda: peal.get("/v1/triggers/big", expect=200).json["enabled"]})
    equal((told["built"], told["half"]), ({"marked": "/filter/all/1", "why": "candidate.vip exists true"}, '{"all": ['))
    like(told, {"kept": {"dry": 1}, "queued": 1, "versions": {"added": True, "first": ""}, "states": {"off": False, "on": True},
                "pointed": {"marked": True, "isLocked": True, "origin": "shop"}, "draft": "soon", "left": 1})
    equal(told["why"], ["Disable needs the role author or admin", "Delete needs the role author or admin"])
    like(told, QUIET)
    equal(peal.get("/v1/triggers/big").status, 404)


@only("sqlite")
def test_their_pages_look_well(ctx):
    seed(ctx.peal)
    ctx.peal.post("/v1/triggers", {"id": "nested", "eventKind": "order.paid", "channel": "memory:default", "schedule": {"reminders": ["1d"]}, "filter": {"all": [
        {"path": "candidate.total", "op": ">", "value": 150}, {"not": {"any": [{"path": "recipient.address", "op": "endsWith", "value": "@example.com"}, {"path": "candidate.tag", "op": "in", "value": ["a", "b"]}]}}]}}, expect=201)
    equal(drive(ctx, "console_triggers", part="looks", pictures=os.environ.get(PICTURES, "")), {"wrong": []})


if __name__ == "__main__":
    main()
