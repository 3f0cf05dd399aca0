"""The console's pages of lists and of what recipients want."""
from console import drive
from harness import equal, main

QUIET = {"refused": [], "elsewhere": [], "errors": []}


def looked(ctx, told):
    """What was found, with nothing wrong in how it looks, where that was looked at."""
    return {**told, "wrong": []} if ctx.store == "sqlite" else told


def test_a_list_is_made_and_who_is_in_it(ctx):
    lines = "\n".join(f"p{n:02}@example.org, Person {n}, en" for n in range(60))
    told = drive(ctx, "console_lists", part="lists", lines=lines, looks=ctx.store == "sqlite")
    equal(told, looked(ctx, {"empty": "No lists yet", "nobody": "Nobody is in it yet", "first": 50, "noise": QUIET}))
    made = ctx.peal.get("/v1/lists/ops", expect=200).json
    equal((made["name"], made["channels"], made["targetCount"]), ("On call", ["memory:default"], 59), "an edit leaves who is in it")
    equal(made["targets"][0], {"address": "p01@example.org", "name": "Person 1", "locale": "en"})
    equal(drive(ctx, "console_lists", part="remove"), {"left": 0})
    ctx.peal.get("/v1/lists/ops", expect=404)


def test_what_a_recipient_wants_is_looked_up_kept_and_forgotten(ctx):
    told = drive(ctx, "console_lists", part="preferences", looks=ctx.store == "sqlite")
    equal(told, looked(ctx, {"empty": "Nobody has said what he wants", "none": "Nothing is kept of this address. Wh", "listed": [["+49123456789", "sms"]], "noise": QUIET}))
    ctx.peal.get("/v1/preferences?address=%2B49123456789", expect=404)


if __name__ == "__main__":
    main()
