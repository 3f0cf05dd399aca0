"""What Peal takes and gives is bounded in bytes as well as in numbers (H1)."""
from harness import equal, main
from steps import ingest, make_trigger, settle, visit

LARGE = "x" * (900 * 1024)  # nine of these make a page


def walk(peal, path):
    """All items of a list, page by page, and how each page ended."""
    items, ends, cursor = [], [], ""
    while not ends or cursor:
        page = peal.get(f"{path}?limit=500" + (f"&cursor={cursor}" if cursor else ""),
                        expect=200).json
        items += page["items"]
        ends.append((len(page["items"]), page["complete"]))
        cursor = page["next"]
    return items, ends


def test_lists_end_at_so_many_bytes(ctx):
    make_trigger(ctx.peal)
    for _ in range(2):
        ingest(ctx.peal, *[visit(note=LARGE) for _ in range(10)])
    settle(ctx.peal)
    for path in ("/v1/events", "/v1/deliveries", "/v1/captured"):
        items, ends = walk(ctx.peal, path)
        equal(ends, [(9, False), (9, False), (2, True)], path)
        ids = {item.get("id") or item["deliveryId"] for item in items}
        equal(len(ids), 20, path)


def test_the_story_of_a_large_event_is_whole(ctx):
    for number in range(20):
        make_trigger(ctx.peal, f"t{number}")
    event = ingest(ctx.peal, visit(note=LARGE))["items"][0]["eventId"]
    settle(ctx.peal)
    decisions = ctx.peal.get(f"/v1/events/{event}/explain", expect=200).json["decisions"]
    equal(len(decisions), 20)


if __name__ == "__main__":
    main()
