"""Lists are walks that look at so much and no more: what a page leaves out, the next one has."""
import json

from harness import equal, main
from steps import (advance, deliveries, ingest, make_channel, make_trigger, settle, visit)


def pages(peal, path, member="items", **query):
    """All pages of a list."""
    seen, cursor = [], None
    while not seen or cursor:
        asked = {**query, **({"cursor": cursor} if cursor else {})}
        text = "&".join(f"{name}={value}" for name, value in asked.items())
        seen.append(peal.get(f"{path}?{text}", expect=200).json)
        cursor = seen[-1]["next"]
        limit = query.get("limit", 50)
        assert len(seen[-1][member]) <= limit, seen[-1]
        assert len(seen[-1][member]) == limit or not cursor or not seen[-1]["complete"], seen[-1]
        equal(seen[-1]["complete"] or cursor is not None, True, "what is not complete goes on")
    return seen


def items(pages, member="items"):
    return [item for page in pages for item in page[member]]


def test_what_is_rare_is_found_by_going_on(ctx):
    """One delivery below six thousand others: more than one walk looks at."""
    make_channel(ctx.peal, "memory:rare")
    make_trigger(ctx.peal, "rare", eventKind="rare", channel="memory:rare")
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    ingest(ctx.peal, {**visit(), "recipient": {"address": "needle@example.com"}}, kind="rare")
    settle(ctx.peal)
    ingest(ctx.peal, *[visit() for _ in range(6000)])
    cases = [("/v1/deliveries", {"channel": "memory:rare"}), ("/v1/deliveries", {"q": "NEEDLE"}),
             ("/v1/events", {"kind": "rare"})]
    for path, query in cases:
        found = pages(ctx.peal, path, **query)
        equal([(len(page["items"]), page["complete"]) for page in found], [(0, False), (1, True)],
              f"{path} {query}")
    for query in ({"trigger": "rare"}, {"state": "delivered", "channel": "memory:rare"}):
        equal([len(page["items"]) for page in pages(ctx.peal, "/v1/deliveries", **query)], [1], query)
    listed = ctx.peal.cli("deliveries", "--channel", "memory:rare")
    assert "needle@example.com" in listed.out and "More" not in listed.err, listed
    equal(len(json.loads(ctx.peal.cli("deliveries", "--limit", "1200", "--json").out)["items"]), 1200)


def test_every_page_goes_on_where_the_last_one_ended(ctx):
    make_trigger(ctx.peal, schedule={"initialDelay": "1d"})
    make_trigger(ctx.peal, "now")
    ingest(ctx.peal, *[visit() for _ in range(40)])
    settle(ctx.peal)
    for path, query, count in (("/v1/deliveries", {}, 80), ("/v1/deliveries", {"trigger": "now"}, 40),
                               ("/v1/deliveries", {"state": "pending"}, 40),
                               ("/v1/deliveries", {"state": "delivered"}, 40),
                               ("/v1/deliveries", {"channel": "memory:default"}, 80),
                               ("/v1/events", {}, 40), ("/v1/captured", {}, 40),
                               ("/v1/triggers", {}, 2)):
        found = items(pages(ctx.peal, path, limit=7, **query))
        equal(len({json.dumps(item) for item in found}), count, f"{path} {query}")
        equal(len(found), count, f"{path} {query}")


def test_an_explanation_is_told_page_by_page(ctx):
    for n in range(12):
        make_trigger(ctx.peal, f"yes{n:02d}")
    for n in range(9):
        make_trigger(ctx.peal, f"no{n}", filter={"path": "candidate.jobType", "op": "==", "value": "X"})
    make_trigger(ctx.peal, "off", enabled=False)
    event = ingest(ctx.peal, visit())["items"][0]["eventId"]
    path = f"/v1/events/{event}/explain"
    whole = ctx.peal.get(path, expect=200).json
    equal((len(whole["decisions"]), whole["next"], whole["complete"]), (22, None, True))
    for limit in (1, 5, 12, 22):
        told = pages(ctx.peal, path, "decisions", limit=limit)
        found = items(told, "decisions")
        equal(sorted(found, key=lambda one: one["triggerId"]), whole["decisions"], limit)
        equal([page["note"] for page in told], [None] * len(told), "nobody came late")
        made = [{one["outcome"] == "created" for one in page["decisions"]} for page in told]
        equal(made, sorted(made, key=lambda kinds: (False in kinds, True not in kinds)),
              "what it made comes first")
    assert all(one["predicate"] for one in whole["decisions"] if one["outcome"] == "filtered"), whole
    make_trigger(ctx.peal, "late")
    equal([page["note"] for page in pages(ctx.peal, path, "decisions", limit=10)],
          ["late began to listen after this event came", None, None])
    told = ctx.peal.cli("why", event, "--limit", "3")
    assert told.out.count("matched and made") == 3 and "--cursor" in told.err, told
    for cursor in ("x", "!", "LTE"):
        equal(ctx.peal.get(f"{path}?cursor={cursor}").status, 400, cursor)


def test_a_timeline_is_told_page_by_page(ctx):
    make_channel(ctx.peal, "memory:flaky", failFirst=4)
    retry = {"policy": "fixed", "interval": "30s", "max": 9}
    for n in range(5):
        make_trigger(ctx.peal, f"t{n}", channel="memory:flaky" if n == 2 else "memory:default",
                     retry=retry)
    make_trigger(ctx.peal, "no", filter={"path": "candidate.jobType", "op": "==", "value": "X"})
    event = ingest(ctx.peal, visit())["items"][0]["eventId"]
    advance(ctx.peal, "1h")
    path = f"/v1/events/{event}/timeline"
    whole = ctx.peal.get(path, expect=200).json["items"]
    # received, six decisions, and of each delivery: planned, attempts, ended
    equal(len(whole), 1 + 6 + 5 + (4 + 5) + 5)
    equal({row["state"] for row in deliveries(ctx.peal)}, {"delivered"})
    for limit in (1, 2, 3, 7, 100):
        told = pages(ctx.peal, path, limit=limit)
        for page in told:
            times = [item["at"] for item in page["items"]]
            equal(times, sorted(times), "a page is in order")
        equal(sorted(map(json.dumps, items(told))), sorted(map(json.dumps, whole)), limit)
    equal(json.loads(ctx.peal.cli("events", "timeline", event, "--json").out)["items"], whole)


if __name__ == "__main__":
    main()
