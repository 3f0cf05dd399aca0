"""The console's templates: the server's preview beside the text, warnings, short messages counted, versions."""
import os

from console import drive
from harness import equal, like, main, only
from steps import make_user

PICTURES = "PEAL_TEST_PICTURES"  # a folder that keeps them, for whoever wants to see
QUIET = {"refused": [], "elsewhere": [], "errors": []}


def seed(peal):
    peal.post("/v1/events", {"kind": "booking.confirmed", "payload": {"guestName": "Ada", "rooms": 2}}, expect=202)
    peal.post("/v1/templates", {"id": "mail", "eventType": "booking.confirmed", "channel": "memory:default", "language": "ar", "format": "html",
                                "subject": "{{guestName}}", "body": "<h1>{{guestName}}</h1> {{nobody}}"}, expect=201)


def test_a_template_is_written_with_its_preview_beside(ctx):
    peal = ctx.peal
    seed(peal)
    told = drive(ctx, "console_templates", reader=make_user(peal, "read").key,
                 actions={"template": lambda: peal.get("/v1/templates/hello", expect=200).json})
    equal(told["written"], {"sms": "1", "dir": "rtl"})
    equal(told["html"], {"text": "Hi Bob▨ logo", "colour": "red", "scripts": 0, "bad": None, "subject": "For Bob"})
    equal(told["kept"], {"first": "For {{guestName}}", "added": True, "hidden": 1, "left": 1})
    equal(told["why"], ["New template needs the role author or admin"])
    like(told, QUIET)


@only("sqlite")
def test_their_pages_look_well(ctx):
    seed(ctx.peal)
    equal(drive(ctx, "console_templates", part="looks", pictures=os.environ.get(PICTURES, "")), {"wrong": []})


if __name__ == "__main__":
    main()
