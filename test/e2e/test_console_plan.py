"""The console's plan: what will be sent, by day, hour and channel, as the API tells it; and calling off."""
import os

from console import drive
from harness import equal, main, only
from steps import ingest, set_clock, visit
from test_outlook import by_day, later, plan

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}
NOW = "2031-03-03T09:30:00Z"


def make_plan(peal):
    """One today, two and five tomorrow, one far ahead."""
    set_clock(peal, NOW)
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "rate": {"max": 2, "per": "1s"},
                               "config": {"url": "http://127.0.0.1:9/"}}, expect=201)
    later(peal, "5h", "soon")
    later(peal, "1d", "later", channel="http:out")
    later(peal, "20d", "far")
    ingest(peal, visit(), kind="soon")
    ingest(peal, *[visit() for _ in range(5)], kind="later")
    ingest(peal, visit(), kind="far")


def test_nothing_is_planned(ctx):
    equal(drive(ctx, "console_plan", part="empty"), {"empty": "Nothing is planned"})


def test_days_hours_and_channels(ctx):
    make_plan(ctx.peal)
    told = drive(ctx, "console_plan", part="agenda")
    equal(told, {"days": {"2031-03-03": 1, "2031-03-04": 5}, "sum": "6", "gaps": ["13 days without anything"],
                 "hours": [["2031-03-03", 14, 1, "14:00 to 15:00: 1"], ["2031-03-04", 9, 5, "09:00 to 10:00: 5"]],
                 "channels": ["http:out", "5", "5 at 09:30", "2 a second: they take 3s"],
                 "kathmandu": [20, 15], "ofChannel": {"2031-03-04": 5}, "hidden": "Nothing of this is planned", "slot": 5,
                 "later": {"2031-03-23": 1}, **QUIET})


def test_an_hour_that_is_shown_twice_is_one_slot(ctx):
    set_clock(ctx.peal, "2031-10-26T00:00:00Z")
    for hour in range(3):
        later(ctx.peal, f"{hour}h30m", f"later{hour}")
        ingest(ctx.peal, visit(), kind=f"later{hour}")
    equal(drive(ctx, "console_plan", part="clocks"), {"hours": [[2, 2], [3, 1]], "slot": 2})


def test_what_is_planned_for_an_entity_is_called_off(ctx):
    set_clock(ctx.peal, NOW)
    later(ctx.peal, "1d")
    later(ctx.peal, "2d", "more")
    for kind in "later", "more":
        for entity in "inv-1", "inv-2":
            ctx.peal.post("/v1/events", {"kind": kind, "entity": entity, "payload": {}}, expect=202)
    told = drive(ctx, "console_plan", part="cancel")
    equal(told, {"before": "Choose an entity by the filter first", "own": {"2031-03-04": 1, "2031-03-05": 1}, "told": "2 called off.",
                 "left": {"2031-03-04": 1, "2031-03-05": 1}, **QUIET})
    equal(by_day(plan(ctx.peal, "?entity=inv-1")), {})


def test_it_says_what_it_did_not_count(ctx):
    make_plan(ctx.peal)
    told = drive(ctx, "console_plan", part="partial")
    equal(told, {"said": "There is more than is counted at once. Up t", "least": ["1 send", "at least 5"]})


@only("sqlite")
def test_nobody_complains_of_how_it_looks(ctx):
    make_plan(ctx.peal)
    equal(drive(ctx, "console_plan", part="looks", pictures=os.environ.get(PICTURES), seconds=400), {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
