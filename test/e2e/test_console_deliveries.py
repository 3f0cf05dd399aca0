"""Deliveries and operations in the console: what the screen shows is what is acted on."""
import os

from console import drive
from harness import equal, eventually, like, main, only
from postgres import free_port
from steps import advance, attempts, change_channel, delivery, ingest, ingest_one, make_channel, make_trigger, make_user, settle, visit

BAD = "memory:bad"
PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}
NOBODY = "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"

# No slice of an operation gets through until it is allowed again.
STALL = {
    "sqlite": ["CREATE TRIGGER refuse BEFORE UPDATE ON operation WHEN NEW.done > OLD.done BEGIN SELECT RAISE(ABORT, 'no'); END"],
    "postgres": ["CREATE FUNCTION peal.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'",
                 "CREATE TRIGGER refuse BEFORE UPDATE ON peal.operation FOR EACH ROW WHEN (NEW.done > OLD.done) EXECUTE FUNCTION peal.refuse()"],
}
ALLOW = {"sqlite": "DROP TRIGGER refuse", "postgres": "DROP TRIGGER refuse ON peal.operation"}


def stall(ctx):
    ctx.peal.stop()
    for statement in STALL[ctx.store]:
        ctx.sql(statement)
    ctx.peal.start()
    advance(ctx.peal, "1s")  # what an operation acts on has been there before it


def allow(ctx):
    ctx.sql(ALLOW[ctx.store])


def park(peal, count, trigger="bad"):
    if peal.get(f"/v1/channels/{BAD}").status == 404:
        make_channel(peal, BAD)
    change_channel(peal, BAD, answer="permanent")
    if peal.get(f"/v1/triggers/{trigger}").status == 404:
        make_trigger(peal, trigger, eventKind=trigger, channel=BAD)
    made = []
    for start in range(0, count, 1000):
        answer = ingest(peal, *[visit() for _ in range(min(1000, count - start))], kind=trigger)
        made += [item["deliveries"][0]["deliveryId"] for item in answer["items"]]
    settle(peal)
    return made


def park_more(peal, count):
    """Some more, on a channel that takes again what is sent from now on."""
    made = park(peal, count)
    change_channel(peal, BAD)
    return made


def plan(peal):
    make_trigger(peal, "later", eventKind="later", schedule={"initialDelay": "1d", "reminders": ["2d"]})
    [item] = ingest(peal, visit(), kind="later")["items"]
    return item["deliveries"][0]["deliveryId"]


def several(peal):
    """One delivery to two targets."""
    targets = [{"address": f"{name}@example.com"} for name in ("ada", "bob")]
    peal.post("/v1/lists", {"id": "ops", "name": "Ops", "channels": ["memory:default"], "targets": targets}, expect=201)
    made = peal.post("/v1/notifications", {"list": "ops", "subject": "Line 4", "body": "It stopped."}, expect=202).json
    settle(peal)
    return peal.get(f"/v1/notifications/{made['id']}", expect=200).json["deliveryId"]


def waiting(peal):
    """One that is due on a channel that nobody answers at."""
    peal.post("/v1/channels", {"key": "http:dead", "type": "http", "config": {"url": f"http://127.0.0.1:{free_port()}"}, "concurrency": 1}, expect=201)
    make_trigger(peal, "dead", eventKind="dead", channel="http:dead", retry={"policy": "fixed", "interval": "1d", "max": 9})
    ingest(peal, *[visit() for _ in range(12)], kind="dead")
    settle(peal)
    return peal.get("/v1/deliveries?channel=http:dead&state=pending&limit=1", expect=200).json["items"][0]["id"]


def states(peal, ids):
    return {delivery(peal, id)["state"] for id in ids}


def parked(peal):
    return peal.get("/v1/kpis", expect=200).json["parked"]


def test_the_list_is_what_its_url_says(ctx):
    make_trigger(ctx.peal)
    sent = [ingest_one(ctx.peal)]
    park(ctx.peal, 3, "bad"), park(ctx.peal, 2, "mine")

    def send():
        ingest_one(ctx.peal)
        settle(ctx.peal)

    told = drive(ctx, "console_deliveries", part="list", actions={"send": send})
    equal(told, {"all": ["parked"] * 5 + ["delivered"], "buttons": 0, "parked": ["parked"] * 5, "count": "5", "filtered": "/deliveries?state=parked&trigger=mine",
                 "hidden": "The filter hides everything", "none": "Nothing is in this state now", "waits": True, "picked": 1, **QUIET})
    equal(states(ctx.peal, sent), {"delivered"})


def test_one_delivery_and_every_action_on_it(ctx):
    make_trigger(ctx.peal)
    first, other = park(ctx.peal, 2)
    sent, later, waits = ingest_one(ctx.peal), plan(ctx.peal), waiting(ctx.peal)
    settle(ctx.peal)

    def tried(id):
        settle(ctx.peal)
        eventually(lambda: len(attempts(ctx.peal, id)) == 2)

    def sealed(id):
        eventually(lambda: len(ctx.peal.get(f"/v1/audit?delivery={id}", expect=200).json["items"]) >= 7, seconds=30)

    told = drive(ctx, "console_deliveries", part="one", parked=first, other=other, later=later, sent=sent, waits=waits, several=several(ctx.peal),
                 actions={"tried": tried, "sealed": sealed})
    assert told.pop("first").endswith("after 1 attempt: a person must decide. Because: the memory channel is set to refuse"), told
    assert told.pop("waits").startswith("It waits for: http:dead, which is not reached; next try in "), told
    assert told.pop("later").startswith("It waits for its time: due "), told
    equal(told, {"attempts": 1, "off": ["Call off"], "needsReason": True, "noted": "Reason given: nobody reads it.", "steps": ["First send 1d after the eventdue", "Reminder 1 2d after the send beforeto come"],
                 "targets": ["ada@example.com", "bob@example.com"], "record": 2, "request": 1, "links": ["channels", "triggers", "events"],
                 "gone": "There is no such delivery", **QUIET})
    equal([delivery(ctx.peal, id)["state"] for id in (first, other, later)], ["discarded", "completed", "cancelled"])
    equal(len(attempts(ctx.peal, first)), 2)


def test_what_is_picked_is_acted_on(ctx):
    make_trigger(ctx.peal)
    ids = park(ctx.peal, 4)
    sent = ingest_one(ctx.peal)
    settle(ctx.peal)

    def sealed():
        eventually(lambda: "test data" in ctx.peal.get("/v1/audit?kind=Operator.operation", expect=200).text, seconds=30)

    told = drive(ctx, "console_deliveries", part="picked", ids=[*ids[:2], sent], actions={"sealed": sealed})
    equal(told, {"said": "3 selected", "matched": 2, "left": 1, "needsReason": True, "sample": 2, "begun": 1,
                 "counts": {"matched": 2, "done": 2, "skipped": 0, "failed": 0}, "reason": 1, "listed": ["Discard"], "previews": ["Discard", "Discard (preview)"], **QUIET})
    equal((states(ctx.peal, ids[:2]), states(ctx.peal, ids[2:]), states(ctx.peal, [sent])), ({"discarded"}, {"parked"}, {"delivered"}))


def test_what_begins_to_match_later_is_left_alone(ctx):
    first = park_more(ctx.peal, 3)
    later = []
    told = drive(ctx, "console_deliveries", part="exactly", actions={"more": lambda: later.extend(park_more(ctx.peal, 2))})
    equal(told, {"matched": 3, "says": ["State: parked", "Trigger: bad"], "begun": 1, "counts": {"matched": 3, "done": 3, "skipped": 0, "failed": 0}})
    equal(len(later), 2)
    settle(ctx.peal)
    equal((states(ctx.peal, first), states(ctx.peal, later)), ({"delivered"}, {"parked"}))


def test_ten_thousand_are_acted_on_as_previewed(ctx):
    """Gate 6: the preview is the result, it can be paused, and a second click is nothing."""
    park_more(ctx.peal, 10_000)
    stall(ctx)

    def more():
        advance(ctx.peal, "1s")
        park_more(ctx.peal, 5)

    told = drive(ctx, "console_deliveries", part="many", actions={"more": more, "allow": lambda: allow(ctx)}, seconds=240)
    equal(told, {"matched": 10_000, "begun": 1, "resting": 0, "counts": {"matched": 10_000, "done": 10_000, "skipped": 0, "failed": 0}, **QUIET})
    equal(parked(ctx.peal), 5)
    ended = ctx.peal.get("/v1/operations?dryRun=false", expect=200).json["items"]
    like(ended, [{"action": "retry", "reason": "the far side is back", "state": "done"}])


def test_what_is_still_to_be_sent_is_called_off(ctx):
    later = plan(ctx.peal)
    park(ctx.peal, 1001)
    waiting(ctx.peal)
    advance(ctx.peal, "11m")
    told = drive(ctx, "console_deliveries", part="calling")
    equal(told, {"buttons": ["cancel"], "matched": 1, "begun": 1, "counts": {"matched": 1, "done": 1, "skipped": 0, "failed": 0}, "stuck": ["cancel"], "stuckMatched": 12,
                 "refused": "More than 1,000 match, and an operation cannot be told “Channel type”. Narrow the filter, or pick rows.", "disabled": True})
    equal(states(ctx.peal, [later]), {"cancelled"})


def test_an_operation_is_ended_where_it_is(ctx):
    ids = park(ctx.peal, 3)
    stall(ctx)
    told = drive(ctx, "console_deliveries", part="ending")
    equal(told, {"matched": 3, "counts": {"matched": 3, "done": 0, "skipped": 0, "failed": 0}, "buttons": 0})
    allow(ctx)
    equal(states(ctx.peal, ids), {"parked"})


def test_who_may_not_act_sees_why(ctx):
    [id] = park(ctx.peal, 1)
    stall(ctx)
    operation = ctx.peal.post("/v1/operations", {"action": "retry", "filter": {}}, expect=202).json["id"]
    told = drive(ctx, "console_deliveries", part="viewer", viewer=make_user(ctx.peal, "read").key, parked=id, operation=operation)
    assert "964 770 000 0001" not in told.pop("masked")
    needs = "needs the role operator or admin"
    equal(told, {"all": f"Retry all that match {needs}", "dialogs": 0, "one": f"Retry {needs}", "operation": f"Pause {needs}", **QUIET})
    allow(ctx)


@only("sqlite")
def test_nobody_complains_of_its_pages(ctx):
    make_trigger(ctx.peal)
    [id] = park(ctx.peal, 1)
    sent, later = ingest_one(ctx.peal), plan(ctx.peal)
    settle(ctx.peal)
    ctx.peal.post("/v1/operations", {"action": "discard", "filter": {"trigger": "nobody"}, "reason": "none"}, expect=202)
    dry = ctx.peal.post("/v1/operations", {"action": "retry", "filter": {"ids": [id]}, "dryRun": True}, expect=202).json["id"]
    eventually(lambda: ctx.peal.get(f"/v1/operations/{dry}", expect=200).json["state"] == "done")
    paths = {"deliveries": "/deliveries", "parked": "/deliveries?state=parked&trigger=bad", "none": "/deliveries?stuck=true", "delivery": f"/deliveries/{id}",
             "delivered": f"/deliveries/{sent}", "planned": f"/deliveries/{later}", "gone": f"/deliveries/{NOBODY}", "operations": "/operations", "operation": f"/operations/{dry}"}
    told = drive(ctx, "console_deliveries", part="looks", paths=paths, pictures=os.environ.get(PICTURES), seconds=300)
    equal(told, {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
