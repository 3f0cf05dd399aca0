"""The console's pages of events: the list, the story of one, and why what did not fire did not."""
import os

from console import drive
from harness import equal, main, only
from steps import act, deliveries, make_channel, make_trigger, make_user, settle
from test_explain import equals, post_visit
from test_inbox import make_source, send

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def post(peal, kind, payload, entity):
    return peal.post("/v1/events", {"kind": kind, "payload": payload, "entity": entity}, expect=202).json["eventId"]


def test_the_list_is_filtered_and_what_is_new_waits(ctx):
    told = drive(ctx, "console_events", part="list", actions={"post": lambda *words: post(ctx.peal, *words)})
    command = """peal emit user.signed-up --recipient ada@example.org --data '{"plan":"pro"}'"""
    equal(told, {"empty": "No events yet", "command": command, "waiting": 0, "shown": True, "type": True, "entity": True, "fresh": "1 new – show", "words": True,
                 "hidden": "The filter hides everything", **QUIET})


def make_story(peal):
    """One that matched, and is refused; one that did not, and one that is disabled."""
    make_channel(peal, "memory:broken", answer="permanent")
    make_trigger(peal, "gets", channel="memory:broken")
    make_trigger(peal, "other", filter={"all": [equals("candidate.jobType", "GR"), equals("candidate.dealerId", "2")]})
    make_trigger(peal, "off", enabled=False)
    event = post_visit(peal, wip="4711")
    settle(peal)
    return event


def test_an_event_tells_its_story(ctx):
    event = make_story(ctx.peal)
    made, = deliveries(ctx.peal, f"&event={event}")

    def retry():
        act(ctx.peal, made["id"], "retry")
        settle(ctx.peal)

    told = drive(ctx, "console_events", part="story", event=event, actions={"retry": retry})
    again = told.pop("again")
    equal(told, {"title": "service-visit-closed", "sentence": "It made 1 delivery. 2 rules did not match.",
                 "what": ["received", "decided", "decided", "planned", "attempt", "ended"], "start": "start", "offsets": True,
                 "made": made["id"], "summary": "2 not matched – why?",
                 "why": ["off version 1", "The trigger was disabled", "–", "–", "–", "Try in the tester",
                         "other version 1", "The filter was false", 'candidate.dealerId == "2" at /filter/all/1', '"1"',
                         'candidate.dealerId were "2"', "Try in the tester"],
                 "links": ["/triggers/off", f"/triggers/off?tab=edit&event={event}", "/triggers/other#%2Ffilter%2Fall%2F1",
                           f"/triggers/other?tab=edit&event={event}"],
                 "payload": {"wip": "4711", "dealerId": "1", "jobType": "GR"}, **QUIET})
    equal(ctx.peal.get(f"/v1/events/{again}", expect=200).json["payload"], told["payload"])
    equal([row["triggerId"] for row in deliveries(ctx.peal, f"&event={again}")], ["gets"])


def test_a_webhook_that_made_no_event_has_a_story_too(ctx):
    url = make_source(ctx.peal)
    id = send(ctx.peal, url, b"[1, 2", delivery="d-7")
    settle(ctx.peal)
    told = drive(ctx, "console_events", part="hook", event=id)
    equal(told.pop("facts")[:4], ["gh", "github", "d-7", "✕\nfailed"])
    equal(told, {"title": "A webhook that made no event", "what": ["received", "verified", "drained"], "again": 200, **QUIET})


def test_who_may_not_post_sees_why(ctx):
    event = make_story(ctx.peal)
    told = drive(ctx, "console_events", part="viewer", event=event, viewer=make_user(ctx.peal, "read").key)
    equal(told, {"disabled": "true", "why": "Post again needs the role ingest or admin"})


@only("sqlite")
def test_nobody_complains_of_how_they_look(ctx):
    event = make_story(ctx.peal)
    told = drive(ctx, "console_events", part="looks", paths=["/events", f"/events/{event}#why"], pictures=os.environ.get(PICTURES), seconds=400)
    equal(told, {"wrong": [], **QUIET})


if __name__ == "__main__":
    main()
