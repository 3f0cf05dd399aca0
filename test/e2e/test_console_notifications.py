"""The console's pages of notifications: figures, filters, one with its targets, retry and discard of one and of many."""
import os

from console import drive
from harness import equal, eventually, main, only
from steps import advance, change_channel, make_channel, make_user, settle
from test_notification_lists import make_list, targets
from test_notifications import notifications, notify

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def make_lists(peal, count=2):
    """One list that gets what it is sent, and one whose channel refuses it."""
    make_channel(peal, "memory:broken", answer="permanent")
    make_list(peal, targets=targets(count), channels=["memory:broken"])
    make_list(peal, "well", targets=targets(1))


def by_subject(peal):
    return {row["subject"]: row for row in notifications(peal)}


def statuses(peal):
    return {subject: row["status"] for subject, row in sorted(by_subject(peal).items())}


def test_they_are_filtered_and_say_their_figures(ctx):
    make_lists(ctx.peal)
    make_channel(ctx.peal, "memory:slow", answer="transient")
    make_list(ctx.peal, "later", targets=targets(1), channels=["memory:slow"])
    notify(ctx.peal, subject="Boiler one", source={"site": "plant-7", "instance": "a"})
    notify(ctx.peal, subject="Boiler two", list="well")
    settle(ctx.peal)
    advance(ctx.peal, "1h")
    notify(ctx.peal, subject="Pump", list="later")
    settle(ctx.peal)
    told = drive(ctx, "console_notifications", part="list",
                 filters={"status": "Parked", "q": "boiler TWO", "list": "later", "site": "plant-7", "type": "memory", "stuck": "true"},
                 actions={"more": lambda: notify(ctx.peal, subject="New", list="well")["id"]})
    equal(told, {"all": ["Boiler one", "Boiler two", "Pump"], "tiles": {"depth": told["tiles"]["depth"], "stuck": "0", "parked": "1", "oldest": told["tiles"]["oldest"]},
                 "sites": told["sites"], "status": ["Boiler one"], "q": ["Boiler two"], "list": ["Pump"], "site": ["Boiler one"],
                 "type": ["Boiler one", "Boiler two", "Pump"], "stuck": [], "waits": 3, **QUIET})
    assert "plant-7" in told["sites"], told


def test_none_yet_says_how_to_send_one(ctx):
    equal(drive(ctx, "console_notifications", part="empty"),
          {"title": "No notifications yet", "command": "peal notify ops --subject Boiler --body 'It is hot'"})


def test_one_shows_its_targets_and_is_retried_or_discarded(ctx):
    make_lists(ctx.peal, 60)
    id, lost = notify(ctx.peal, subject="Fire", body="It burns.\nRun.")["id"], notify(ctx.peal, subject="Smoke", list="nobody")["id"]
    settle(ctx.peal)
    told = drive(ctx, "console_notifications", part="one", id=id, lost=lost,
                 actions={"mend": lambda: change_channel(ctx.peal, "memory:broken"), "settle": lambda: settle(ctx.peal)})
    equal(told, {"title": "Fire", "sentence": told["sentence"], "state": "Parked", "body": "It burns.\nRun.", "targets": 60,
                 "why": "Only what is parked can be retried or discarded", **QUIET})
    assert told["sentence"].startswith("0 of 60 have it · 60 refused"), told
    equal(statuses(ctx.peal), {"Fire": "Delivered", "Smoke": "Discarded"})


def test_many_are_discarded_and_retried_exactly_as_shown(ctx):
    make_lists(ctx.peal)
    for subject in ("one", "two", "three", "four"):
        notify(ctx.peal, subject=subject)
    notify(ctx.peal, subject="elsewhere", list="nobody")
    settle(ctx.peal)
    rows = by_subject(ctx.peal)

    def more():
        notify(ctx.peal, subject="late")  # parked, and matches: but it was not shown
        settle(ctx.peal)
        change_channel(ctx.peal, "memory:broken")

    def ended():
        """Operations run beside: they are waited for, and then what they made due."""
        eventually(lambda: all(one["state"] == "done" for one in ctx.peal.get("/v1/operations", expect=200).json["items"]), seconds=60)
        settle(ctx.peal)

    told = drive(ctx, "console_notifications", part="many", picked=[rows["one"]["deliveryId"], rows["two"]["deliveryId"]],
                 actions={"settle": ended, "more": more, "statuses": lambda: statuses(ctx.peal)})
    parked = {"elsewhere": "Parked", "four": "Parked", "one": "Discarded", "three": "Parked", "two": "Discarded"}
    equal(told, {"discarded": 2, "after": parked, "found": 2, "retried": 2,
                 "then": {**parked, "four": "Delivered", "three": "Delivered", "late": "Parked"}, **QUIET})


def test_who_may_not_act_sees_why(ctx):
    make_lists(ctx.peal)
    id = notify(ctx.peal, subject="Fire")["id"]
    settle(ctx.peal)
    told = drive(ctx, "console_notifications", part="viewer", viewer=make_user(ctx.peal, "read").key, id=id)
    equal(told, {"one": ["Retry needs the role operator or admin", "Discard needs the role operator or admin"],
                 "many": ["Retry needs the role operator or admin", "Discard needs the role operator or admin"]})


@only("sqlite")
def test_they_look_well(ctx):
    make_lists(ctx.peal)
    id = notify(ctx.peal, subject="Boiler 3 is hot", body="It is 96 °C.\nSomebody should look.", source={"site": "plant-7", "instance": "line-2"}, typeData={"html": "<b>hot</b>"})["id"]
    notify(ctx.peal, subject="Pump 2 is back", list="well")
    settle(ctx.peal)
    told = drive(ctx, "console_notifications", part="looks", seconds=300, pictures=os.environ.get(PICTURES),
                 paths={"notifications": "/notifications", "notification": f"/notifications/{id}"})
    equal(told, {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
