"""The plan: what will be sent, by day, hour and channel."""
from harness import equal, main
from steps import clock, ingest, make_tenant, make_trigger, set_clock, settle, visit


def plan(peal, query="", expect=200):
    return peal.get(f"/v1/plan{query}", expect=expect).json


def by_day(answer):
    return {day["day"]: day["count"] for day in answer["days"] if day["count"]}


def later(peal, delay, name="later", **more):
    make_trigger(peal, name, eventKind=name, schedule={"initialDelay": delay}, **more)


def test_nothing_is_planned(ctx):
    answer = plan(ctx.peal)
    equal((answer["zone"], answer["isPartial"], answer["countedUntil"]), ("UTC", False, None))
    equal((by_day(answer), {len(day["hours"]) for day in answer["days"]}), ({}, {24}))
    assert len(answer["days"]) in (14, 15), answer["days"]


def test_days_hours_and_channels(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    later(ctx.peal, "1d")
    later(ctx.peal, "5h", "soon", channel="http:none")
    later(ctx.peal, "20d", "far")
    ingest(ctx.peal, visit(), visit(), kind="later")
    ingest(ctx.peal, visit(), kind="soon")
    ingest(ctx.peal, visit(), kind="far")
    answer = plan(ctx.peal)
    equal(by_day(answer), {"2031-03-03": 1, "2031-03-04": 2})
    first, second = answer["days"][:2]
    equal((first["hours"][14], sum(first["hours"]), second["hours"][9]), (1, 1, 2))
    equal(second["channels"], [{"channel": "memory:default", "count": 2, "limitPerSecond": None,
                                "peak": {"at": "2031-03-04T09:30:00.000Z", "count": 2, "lasts": None}}])
    equal(by_day(plan(ctx.peal, "?channel=http:none")), {"2031-03-03": 1})
    equal(by_day(plan(ctx.peal, "?trigger=later")), {"2031-03-04": 2})
    equal(by_day(plan(ctx.peal, "?trigger=never")), {})
    equal(by_day(plan(ctx.peal, "?to=2031-03-04T09:30:00Z")), {"2031-03-03": 1})
    equal(by_day(plan(ctx.peal, "?to=2031-03-04T09:30:01Z")), {"2031-03-03": 1, "2031-03-04": 2})
    equal(by_day(plan(ctx.peal, "?from=2031-03-20T00:00:00Z")), {"2031-03-23": 1})


def test_a_rate_tells_how_long_the_busiest_minute_takes(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    ctx.peal.post("/v1/channels", {"key": "http:out", "type": "http", "rate": {"max": 2, "per": "1s"},
                                   "config": {"url": "http://127.0.0.1:9/"}}, expect=201)
    later(ctx.peal, "1d", channel="http:out")
    ingest(ctx.peal, *[visit() for _ in range(5)], kind="later")
    channel, = plan(ctx.peal)["days"][1]["channels"]
    equal((channel["limitPerSecond"], channel["peak"]["count"], channel["peak"]["lasts"]), (2, 5, "3s"))


def test_a_zone_has_days_of_its_own(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    later(ctx.peal, "14h")  # 23:30 in UTC
    ingest(ctx.peal, visit(), kind="later")
    equal(by_day(plan(ctx.peal)), {"2031-03-03": 1})
    answer = plan(ctx.peal, "?zone=Europe/Berlin")
    equal((answer["zone"], by_day(answer), answer["days"][1]["hours"][0]), ("Europe/Berlin", {"2031-03-04": 1}, 1))
    answer = plan(ctx.peal, "?zone=Asia/Kathmandu")  # 5:45 ahead
    equal((by_day(answer), answer["days"][1]["hours"][5]), ({"2031-03-04": 1}, 1))


def test_days_on_which_clocks_are_set_have_24_hours(ctx):
    for now, hour, expected in (("2031-10-26T00:00:00Z", 2, 2), ("2031-03-30T00:00:00Z", 2, 0)):
        tenant = make_tenant(ctx.peal, f"t{hour}{expected}")
        set_clock(ctx.peal, now)
        for i in range(3):
            later(tenant, f"{i}h30m", f"later{i}")
            ingest(tenant, visit(), kind=f"later{i}")
        day, = (day for day in plan(tenant, "?zone=Europe/Berlin")["days"] if day["count"])
        # Set back, clocks show 2:30 twice; set forward, never.
        equal((day["count"], len(day["hours"]), day["hours"][hour]), (3, 24, expected))


def test_an_entity_is_found_wherever_it_is_sent(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    later(ctx.peal, "1d")
    later(ctx.peal, "2d", "more", channel="http:none")
    for kind in "later", "more":
        ctx.peal.post("/v1/events", {"kind": kind, "entity": "inv-1", "payload": {}})
        ctx.peal.post("/v1/events", {"kind": kind, "entity": "inv-2", "payload": {}})
    equal(by_day(plan(ctx.peal, "?entity=inv-1")), {"2031-03-04": 1, "2031-03-05": 1})
    equal(by_day(plan(ctx.peal, "?entity=inv-1&channel=http:none")), {"2031-03-05": 1})
    equal(by_day(plan(ctx.peal, "?entity=inv-1&trigger=later")), {"2031-03-04": 1})
    equal(by_day(plan(ctx.peal, "?entity=inv-3")), {})


def test_the_items_of_a_slot_come_in_the_order_in_which_they_are_due(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    for i, channel in enumerate(("memory:default", "http:none", "memory:default", "http:none")):
        later(ctx.peal, f"{4 - i}h", f"later{i}", channel=channel)
        ingest(ctx.peal, visit(), visit(), kind=f"later{i}")

    def due(query, peal=ctx.peal):
        rows, cursor = [], ""
        while True:
            page = peal.get(f"/v1/deliveries{query}{cursor}", expect=200).json
            rows += [(row["dueAt"][11:16], row["channel"]) for row in page["items"]]
            if not page["next"]:
                return rows
            cursor = "&cursor=" + page["next"]

    slot = "?dueFrom=2031-03-03T10:30:00Z&dueTo=2031-03-03T13:30:00Z"
    equal(due(slot), [(at, channel) for at, channel in
                      (("10:30", "http:none"), ("11:30", "memory:default"), ("12:30", "http:none")) for _ in range(2)])
    equal(due(slot + "&limit=1"), due(slot))
    equal(due(slot + "&channel=http:none&limit=3"), [("10:30", "http:none")] * 2 + [("12:30", "http:none")] * 2)
    equal(due(slot + "&trigger=later2"), [("11:30", "memory:default")] * 2)
    equal(due(slot + "&trigger=later2&limit=1"), [("11:30", "memory:default")] * 2)
    equal(due("?dueFrom=2031-03-03T13:30:00Z"), [("13:30", "memory:default")] * 2)
    equal(due(slot + "&state=parked"), [])
    ctx.peal.get("/v1/deliveries" + slot + "&q=a", expect=422)
    ctx.peal.get("/v1/deliveries" + slot + "&cursor=AAAA", expect=400)
    acme = make_tenant(ctx.peal, "acme")
    equal(due(slot, acme), [])


def test_what_is_much_is_estimated_and_says_so(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    later(ctx.peal, "1d")
    later(ctx.peal, "2h", "soon")
    ingest(ctx.peal, visit(), kind="soon")
    for _ in range(14):
        ingest(ctx.peal, *[visit() for _ in range(500)], kind="later")
    answer = plan(ctx.peal)
    equal((answer["isPartial"], answer["countedUntil"]), (True, "2031-03-04T09:30:00.000Z"))
    first, second, third = answer["days"][:3]
    equal((first["count"], first["isEstimate"], second["isEstimate"], third["isEstimate"]), (1, False, True, True))
    assert 7000 * 0.65 < second["count"] < 7000 * 1.35, second["count"]  # 437 of them are in the sample, give or take 21
    channel, = second["channels"]
    equal((channel["count"], channel["peak"]["at"]), (second["count"], "2031-03-04T09:30:00.000Z"))
    assert "estimated" in ctx.peal.cli("plan").out
    whole = plan(ctx.peal, "?to=2031-03-04T09:30:00Z")
    equal((whole["isPartial"], by_day(whole)), (False, {"2031-03-03": 1}))


def test_tenants_are_apart(ctx):
    acme = make_tenant(ctx.peal, "acme")
    later(acme, "1d")
    ingest(acme, visit(), kind="later")
    equal((sum(by_day(plan(acme)).values()), by_day(plan(ctx.peal))), (1, {}))


def test_what_was_sent_is_planned_no_more(ctx):
    later(ctx.peal, "1d")
    ingest(ctx.peal, visit(), kind="later")
    equal(sum(by_day(plan(ctx.peal)).values()), 1)
    ctx.peal.post("/v1/clock", {"advance": "1d"}, expect=200)
    settle(ctx.peal)
    equal(by_day(plan(ctx.peal)), {})


def test_what_cannot_be_asked_is_refused(ctx):
    for query in ("?zone=Nowhere/Land", "?from=2031-03-04T00:00:00Z&to=2031-03-03T00:00:00Z", "?to=tomorrow",
                  "?from=2031-03-04T00:00:00Z&to=2031-06-03T00:00:00Z", "?day=1"):
        ctx.peal.get(f"/v1/plan{query}", expect=422)


def test_the_command_prints_days_and_channels(ctx):
    set_clock(ctx.peal, "2031-03-03T09:30:00Z")
    later(ctx.peal, "1d")
    ingest(ctx.peal, visit(), kind="later")
    lines = ctx.peal.cli("plan", "--zone", "UTC").out.splitlines()
    equal((lines[0].split()[0], lines[1].split()[:2], "memory:default" in lines[2]), ("DAY", ["2031-03-04", "1"], True))
    equal(clock(ctx.peal)[:10], "2031-03-03")


if __name__ == "__main__":
    main()
