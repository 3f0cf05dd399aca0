"""The overview: one sentence first, what needs a person, figures that are links, curves."""
import os

from console import drive
from harness import equal, main, only
from job_steps import make_job, trigger
from postgres import free_port
from steps import advance, change_channel, ingest, make_channel, make_trigger, make_user, settle, visit

BAD = "memory:bad"
PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}
CALM = {"received": "0", "due": "0", "sending": "0", "retrying": "0", "stuck": "0", "parked": "0", "delivered": "0", "scheduled": "0"}


def park(peal, count):
    make_channel(peal, BAD, answer="permanent")
    make_trigger(peal, "bad", eventKind="bad", channel=BAD)
    ingest(peal, *[visit() for _ in range(count)], kind="bad")
    settle(peal)


def trouble(ctx):
    """One of each that needs a person, and something that went well."""
    peal = ctx.peal
    make_trigger(peal)
    make_trigger(peal, "later", eventKind="later", schedule={"initialDelay": "1d"})
    peal.post("/v1/channels", {"key": "http:dead", "type": "http", "config": {"url": f"http://127.0.0.1:{free_port()}"}, "concurrency": 1}, expect=201)
    make_trigger(peal, "dead", eventKind="dead", channel="http:dead", retry={"policy": "fixed", "interval": "1d", "max": 9})
    park(peal, 7)
    ingest(peal, *[visit() for _ in range(12)], kind="dead")
    ingest(peal, *[visit() for _ in range(3)], kind="later")
    settle(peal)
    make_user(peal, "site").get("/v1/site", expect=200)
    advance(peal, "11m")
    ingest(peal, *[visit() for _ in range(20)])
    settle(peal)


def test_all_clear(ctx):
    told = drive(ctx, "console_overview", part="clear")
    equal(told, {"sentence": "All clear. 0 delivered in the last hour.", "tiles": CALM, "start": "Start here", "good": "✓ Nothing needs you",
                 "help": "Due or retried, and first due ten minutes ago or longer.", **QUIET})


def test_what_needs_a_person(ctx):
    trouble(ctx)
    told = drive(ctx, "console_overview", part="needs", actions={"mend": lambda: bool(change_channel(ctx.peal, BAD)), "settle": lambda: bool(settle(ctx.peal))})
    tiles, sentence = told.pop("tiles"), told.pop("sentence")
    equal((tiles["parked"], tiles["stuck"], tiles["delivered"], tiles["scheduled"]), ("7", "12", "20", "3"))
    assert sentence.startswith("4 things need you: memory:bad: refused (7 deliveries) · http:dead is not reached · Stuck (12 deliveries)"), sentence
    rest = ["channel-http:dead", "stuck", "site-plant-7"]
    equal(told, {"needs": ["cause", *rest], "buttons": ["Retry 7", "Look at the channel", "Show them", "Look at the sites"], "links": ["/channels/http%3Adead", "/deliveries?stuck=true", "/sites"],
                 "channels": 1, "next": 10, "listed": 7, "matched": "7", "then": rest, **QUIET})


def test_dead_runs_need_a_person(ctx):
    make_channel(ctx.peal, BAD, answer="permanent")
    make_job(ctx.peal, handler=BAD)
    trigger(ctx.peal, entity="booking:7")
    settle(ctx.peal)
    told = drive(ctx, "console_overview", part="needs_alone")
    equal(told, {"needs": ["cause", "dead"], "links": ["/dead"], **QUIET})


def test_what_is_held_is_released(ctx):
    ctx.peal.post("/v1/hold", {"reason": "a look"}, expect=200)
    told = drive(ctx, "console_overview", part="held", actions={"held": lambda: ctx.peal.get("/readyz", expect=200).json["held"]})
    equal(told, {"needs": ["held"], "sentence": "1 thing needs you: Outbound is held", "held": False})


def test_curves_are_in_the_url_and_are_tables_too(ctx):
    make_trigger(ctx.peal)
    ingest(ctx.peal, *[visit() for _ in range(9)])
    settle(ctx.peal)
    told = drive(ctx, "console_overview", part="curves")
    equal(told, {"plots": 4, "columns": ["Time", "received", "delivered", "failed attempts"], "received": 9, "rows": 60, **QUIET})


def test_who_may_not_act_sees_why(ctx):
    park(ctx.peal, 2)
    told = drive(ctx, "console_overview", part="viewer", viewer=make_user(ctx.peal, "read").key)
    equal(told, {"why": "Retry 2 needs the role operator or admin", "dialogs": 0, **QUIET})


@only("sqlite")
def test_nobody_complains_of_it(ctx):
    trouble(ctx)
    equal(drive(ctx, "console_overview", part="looks", pictures=os.environ.get(PICTURES)), {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
