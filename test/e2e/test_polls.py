"""W7: providers are polled, one poll and one cursor for all triggers of an account; nothing is lost, nothing comes twice."""
import datetime
import email.utils
import threading

from harness import equal, eventually, like, main, only
from poll_steps import KEY, START_MS, all_events, fired, group, groups, linear, short, status, trigger, trigger_body
from server import START
from steps import advance, make_tenant, moment, tick


def test_a_baseline_is_silent_and_what_follows_is_told(ctx):
    peer = linear(ctx)
    peer.put(1, moment(hours=-1))
    peer.put(2, moment(hours=-2))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(fired(ctx.peal), [])
    like(group(ctx.peal), {"provider": "linear", "integration": "acme", "triggers": 1, "interval": "60s", "lastPolledAt": START[:-1] + ".000Z",
                           "nextPollAt": moment(minutes=1), "cursorSetAt": moment(), "backoffUntil": None, "lastError": None})
    peer.put(3, moment(seconds=10))
    peer.put(2, moment(seconds=20), created=moment(hours=-2))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["3:create", f"2:update:{moment(seconds=20)}"])
    advance(ctx.peal, "10m")
    equal(len(fired(ctx.peal)), 2)
    equal(len(all_events(ctx.peal)), 2)
    equal(peer.wrongs, [])
    event = all_events(ctx.peal)[0]
    like(event, {"source": "poll", "topic": "acme"})


def test_an_integration_shows_how_it_is_polled(ctx):
    linear(ctx)
    equal(status(ctx.peal)["pollGroup"], None)
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(status(ctx.peal)["pollGroup"], group(ctx.peal))
    like(status(ctx.peal)["pollGroup"], {"triggers": 1, "cursorSetAt": moment()})
    assert "pollGroup" not in ctx.peal.get("/v1/integrations", expect=200).json["items"][0]
    other = make_tenant(ctx.peal, "other")
    linear(ctx, other)
    equal(status(other)["pollGroup"], None)
    ctx.peal.delete("/v1/triggers/bugs", expect=204)
    equal(status(ctx.peal)["pollGroup"], None)


def test_what_is_there_is_told_to_who_asks(ctx):
    peer = linear(ctx)
    ctx.peal.patch("/v1/integrations/acme", {"enabled": False}, expect=200)  # until both triggers are there
    peer.put(1, moment(days=-31))
    peer.put(2, moment(days=-20), created=moment(days=-90))
    for number in range(3, 123):
        peer.put(number, moment(days=-10, seconds=number))
    trigger(ctx.peal)
    trigger(ctx.peal, "all", emitExisting=True)
    ctx.peal.patch("/v1/integrations/acme", {"enabled": True}, expect=200)
    tick(ctx.peal)
    expected = [f"2:update:{moment(days=-20)}", *(f"{number}:create" for number in range(3, 123))]
    equal(sorted(short(fired(ctx.peal, "all"))), sorted(expected))
    equal(sorted(short(fired(ctx.peal))), sorted(expected))
    peer.put(200, moment(seconds=5))
    advance(ctx.peal, "10m")
    equal(short(fired(ctx.peal))[-1], "200:create")
    equal(len(all_events(ctx.peal)), 122)
    equal(peer.wrongs, [])


def test_whoever_asks_later_does_not_hear_of_what_was_there(ctx):
    peer = linear(ctx)
    peer.put(1, moment(days=-1))
    trigger(ctx.peal)
    tick(ctx.peal)
    trigger(ctx.peal, "all", emitExisting=True)
    advance(ctx.peal, "10m")
    equal(all_events(ctx.peal), [])


def test_nothing_that_is_there_is_nothing_told(ctx):
    peer = linear(ctx)
    trigger(ctx.peal, emitExisting=True)
    advance(ctx.peal, "2m")
    peer.put(1, moment(minutes=3))
    advance(ctx.peal, "2m")
    equal(short(fired(ctx.peal)), ["1:create"])


def test_the_shortest_interval_counts_and_a_save_moves_no_cursor(ctx):
    peer = linear(ctx)
    trigger(ctx.peal, interval="5m")
    tick(ctx.peal)
    equal(group(ctx.peal)["interval"], "5m")
    peer.put(1, moment(seconds=1))
    trigger(ctx.peal, "more", interval="30s")
    ctx.peal.put("/v1/triggers/bugs", trigger_body(interval="10m"), expect=200)
    tick(ctx.peal)
    like(group(ctx.peal), {"interval": "30s", "triggers": 2, "cursorSetAt": moment(), "nextPollAt": moment(seconds=30)})
    equal(len(peer.requests), 1)
    advance(ctx.peal, "30s")
    equal(short(fired(ctx.peal)), ["1:create"])
    equal(short(fired(ctx.peal, "more")), ["1:create"])
    ctx.peal.delete("/v1/triggers/more", expect=204)
    tick(ctx.peal)
    like(group(ctx.peal), {"interval": "10m", "triggers": 1})
    ctx.peal.patch("/v1/triggers/bugs", {"enabled": False}, expect=200)
    tick(ctx.peal)
    equal(groups(ctx.peal), [])
    asked = len(peer.requests)
    advance(ctx.peal, "1h")
    equal(len(peer.requests), asked)
    ctx.peal.patch("/v1/triggers/bugs", {"enabled": True}, expect=200)
    peer.put(2, moment(minutes=40))
    tick(ctx.peal)
    equal(len(fired(ctx.peal)), 1)


def test_equal_times_at_the_cursor_lose_nothing(ctx):
    peer = linear(ctx)
    for number in range(1, 4):
        peer.put(number, moment())
    trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(4, 8):
        peer.put(number, moment())
    advance(ctx.peal, "1m")
    equal(sorted(short(fired(ctx.peal))), [f"{number}:create" for number in range(4, 8)])
    peer.put(8, moment())
    peer.put(9, moment(minutes=1))
    advance(ctx.peal, "1m")
    peer.put(10, moment(minutes=1))
    advance(ctx.peal, "5m")
    equal(sorted(short(fired(ctx.peal))), sorted(f"{number}:create" for number in range(4, 11)))
    equal(len(all_events(ctx.peal)), 7)
    equal(peer.wrongs, [])


def test_what_the_baseline_saw_was_not_made_since(ctx):
    """The newest issue, which nobody has changed yet, is as old as the cursor."""
    peer = linear(ctx)
    for number in (1, 2):
        peer.put(number, moment(hours=-1))
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.put(1, moment(seconds=10), created=moment(hours=-1))
    advance(ctx.peal, "1m")
    peer.put(2, moment(seconds=70), created=moment(hours=-1))  # when the cursor has gone on
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), [f"1:update:{moment(seconds=10)}", f"2:update:{moment(seconds=70)}"])
    equal(peer.wrongs, [])


def test_all_pages_are_read_newest_first_and_told_once(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(1, 131):
        peer.put(number, moment(milliseconds=number))

    def meanwhile(variables):
        """An issue of a page behind moves to the front while the pages are read."""
        if variables.get("after"):
            peer.put(3, moment(seconds=30), created=moment(milliseconds=3))
            peer.before_page = None

    peer.before_page = meanwhile
    advance(ctx.peal, "1m")
    advance(ctx.peal, "1m")
    keys = short(fired(ctx.peal))
    equal(sorted(key for key in keys if key.endswith(":create")), sorted(f"{number}:create" for number in range(1, 131)))
    equal([key for key in keys if ":update" in key], [f"3:update:{moment(seconds=30)}"])
    equal(peer.wrongs, [])


def test_a_long_poll_has_its_turn_and_goes_on_where_it_was(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(1, 2701):
        peer.put(number, moment(milliseconds=number))
    advance(ctx.peal, "1m")
    equal(len(all_events(ctx.peal)), 2700)
    equal(len({event["payload"]["dedupKey"] if "payload" in event else event["id"] for event in all_events(ctx.peal)}), 2700)
    equal(len([one for one in peer.requests if one.get("after")]), 53)
    equal(peer.wrongs, [])


def in_team(peer, number, team, **span):
    peer.put(number, moment(**span), team=team)


def teams_asked(peer):
    team = (peer.requests[-1]["filter"] or {}).get("team")
    return team and team["or"][0]["key"]["in"]


def test_only_the_teams_that_are_named_are_asked_for(ctx):
    peer = linear(ctx)
    uuid = "00000000-0000-4000-8000-000000000009"
    trigger(ctx.peal, config={"teams": ["WEB"]})
    trigger(ctx.peal, "more", config={"teams": ["WEB", uuid]})
    tick(ctx.peal)
    in_team(peer, 1, "WEB", seconds=1)
    in_team(peer, 2, "OPS", seconds=2)
    advance(ctx.peal, "1m")
    equal(teams_asked(peer), sorted(["WEB", uuid]))
    equal(peer.requests[-1]["filter"]["team"]["or"][2]["id"]["in"], [uuid])
    equal(short(fired(ctx.peal)), ["1:create"])
    equal(len(all_events(ctx.peal)), 1)
    equal(peer.wrongs, [])


def test_a_team_that_comes_later_has_its_own_baseline(ctx):
    peer = linear(ctx)
    trigger(ctx.peal, config={"teams": ["WEB"]})
    tick(ctx.peal)
    in_team(peer, 1, "OPS", days=-2)
    in_team(peer, 2, "OPS", seconds=1)
    advance(ctx.peal, "1m")
    in_team(peer, 3, "OPS", seconds=70)
    in_team(peer, 4, "WEB", seconds=80)
    trigger(ctx.peal, "ops", config={"teams": ["Ops"]})
    advance(ctx.peal, "1m")
    equal(teams_asked(peer), ["Ops", "WEB"])
    equal(short(fired(ctx.peal)), ["4:create"])
    equal(fired(ctx.peal, "ops"), [])
    in_team(peer, 5, "OPS", seconds=130)
    peer.put(2, moment(seconds=140), created=moment(seconds=1), team="OPS")
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal, "ops")), ["5:create", f"2:update:{moment(seconds=140)}"])
    trigger(ctx.peal, "all")
    in_team(peer, 6, "APP", seconds=181)
    advance(ctx.peal, "1m")
    equal(teams_asked(peer), None)
    equal(fired(ctx.peal, "all"), [])
    in_team(peer, 7, "APP", minutes=4, seconds=10)
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal, "all")), ["7:create"])
    equal(len(all_events(ctx.peal)), 4)
    equal(peer.wrongs, [])


def test_rate_limits_are_obeyed(ctx):
    peer = linear(ctx)
    reset = str(START_MS + 17 * 60_000)
    peer.answer_error("RATELIMITED", 400, {"X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": reset})
    trigger(ctx.peal)
    tick(ctx.peal)
    like(group(ctx.peal), {"backoffUntil": moment(minutes=17), "nextPollAt": moment(minutes=17)})
    assert "RATELIMITED" in group(ctx.peal)["lastError"], group(ctx.peal)
    peer.answer_error("RATELIMITED", 429, {"Retry-After": "120"})
    advance(ctx.peal, "17m")
    like(group(ctx.peal), {"backoffUntil": moment(minutes=19)})
    advance(ctx.peal, "2m")
    like(group(ctx.peal), {"backoffUntil": None, "lastError": None, "cursorSetAt": moment(minutes=19)})
    equal(len(peer.requests), 3)
    assert "peal_poll_backoffs_total 2" in ctx.peal.get("/metrics", expect=200).text
    trigger(ctx.peal, "again")   # a save does not end a backoff
    equal(peer.wrongs, [])


def test_a_wait_may_be_a_date(ctx):
    peer = linear(ctx)
    date = email.utils.format_datetime(datetime.datetime.fromtimestamp(START_MS // 1000 + 300, datetime.timezone.utc), usegmt=True)
    peer.answer_error("RATELIMITED", 429, {"Retry-After": date})
    trigger(ctx.peal)
    tick(ctx.peal)
    like(group(ctx.peal), {"backoffUntil": moment(minutes=5), "nextPollAt": moment(minutes=5)})
    at = wait = 300
    for odd, usual in ((date, 60), ("soon", 120), ("-5", 240), ("99999999999999999999", 480), ("0", 960)):  # by now that date is over
        peer.answer_error("RATELIMITED", 429, {"Retry-After": odd})
        advance(ctx.peal, f"{wait}s")
        wait, at = usual, at + usual
        like(group(ctx.peal), {"backoffUntil": moment(seconds=at)})
    peer.answer_error("RATELIMITED", 429, {"Retry-After": str(100 * 86400)})  # a day is the most that is waited
    advance(ctx.peal, f"{wait}s")
    like(group(ctx.peal), {"backoffUntil": moment(seconds=at + 86400)})
    equal(len(peer.requests), 7)
    advance(ctx.peal, "23h")
    equal(len(peer.requests), 7)
    advance(ctx.peal, "1h")
    like(group(ctx.peal), {"backoffUntil": None, "lastError": None})


def test_a_budget_that_is_used_up_is_waited_for_though_all_is_well(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(1, 121):
        peer.put(number, moment(milliseconds=number))
    peer.headers = {"X-RateLimit-Complexity-Remaining": "0", "X-RateLimit-Complexity-Reset": str(START_MS + 600_000),
                    "X-RateLimit-Requests-Remaining": "12", "X-RateLimit-Requests-Reset": str(START_MS + 3_600_000)}
    advance(ctx.peal, "1m")
    equal(len(fired(ctx.peal)), 50)  # the page counts, and no other is asked for
    like(group(ctx.peal), {"backoffUntil": moment(minutes=10), "nextPollAt": moment(minutes=10), "lastError": None})
    advance(ctx.peal, "8m")
    equal(len(peer.requests), 2)
    peer.headers = {}
    advance(ctx.peal, "1m")
    equal(sorted(short(fired(ctx.peal))), sorted(f"{number}:create" for number in range(1, 121)))
    equal(peer.wrongs, [])


def test_errors_that_come_with_a_200_count_as_what_they_are(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.put(1, moment(seconds=1))
    peer.answer_error("RATELIMITED", 200, {"Retry-After": "90"})
    advance(ctx.peal, "1m")
    like(group(ctx.peal), {"backoffUntil": moment(seconds=150)})
    peer.answer(200, {"data": {"issues": None}, "errors": [{"message": "half of it", "extensions": {"code": "INTERNAL_SERVER_ERROR"}}]})
    advance(ctx.peal, "90s")
    assert "half of it" in group(ctx.peal)["lastError"], group(ctx.peal)
    like(status(ctx.peal), {"status": "active"})
    peer.answer_error("AUTHENTICATION_ERROR", 200)
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "failed"})
    like(group(ctx.peal), {"nextPollAt": None})
    ctx.peal.patch("/v1/integrations/acme", {"enabled": False}, expect=200)
    ctx.peal.patch("/v1/integrations/acme", {"enabled": True}, expect=200)  # off and on is a change, too
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "active"})
    equal(short(fired(ctx.peal)), ["1:create"])


def test_failures_back_off_and_say_why(ctx):
    peer = linear(ctx)
    peer.answer(500, {"oops": 1})
    trigger(ctx.peal)
    tick(ctx.peal)
    like(group(ctx.peal), {"backoffUntil": moment(seconds=30), "lastError": "it answered 500"})
    peer.answer(200, raw=b"<html>")
    advance(ctx.peal, "30s")
    like(group(ctx.peal), {"backoffUntil": moment(seconds=90), "lastError": "its answer is not one of GraphQL"})
    peer.answer_error("INTERNAL_SERVER_ERROR", 200, message="something broke")
    advance(ctx.peal, "1m")
    like(group(ctx.peal), {"backoffUntil": moment(seconds=210)})
    assert "something broke" in group(ctx.peal)["lastError"]
    peer.answer(200, raw=b"[" * 100_000)
    advance(ctx.peal, "2m")
    peer.answer(drop=True)
    advance(ctx.peal, "4m")
    peer.answer(200, raw=b'{"data":"' + b"x" * (8 << 20) + b'"}')
    advance(ctx.peal, "8m")
    equal(group(ctx.peal)["lastError"], "its answer is longer than 8 MiB")
    advance(ctx.peal, "1h")
    like(group(ctx.peal), {"backoffUntil": None, "lastError": None})
    peer.put(1, moment(hours=2))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["1:create"])


def test_a_dead_provider_holds_up_nobody(ctx):
    slow, good = linear(ctx, id="slow"), linear(ctx, id="good")
    slow.hold = threading.Event()
    trigger(ctx.peal, "one", integration="slow")
    trigger(ctx.peal, "two", integration="good")
    eventually(lambda: len(good.requests) == 1)
    eventually(lambda: [one["cursorSetAt"] for one in groups(ctx.peal)] == [moment(), None])
    slow.hold.set()
    tick(ctx.peal)
    equal([one["cursorSetAt"] for one in groups(ctx.peal)], [moment(), moment()])


def test_a_greedy_tenant_leaves_polls_to_others(ctx):
    slow = linear(ctx, id="i0")
    slow.hold = threading.Event()
    for number in range(20):
        if number:
            ctx.peal.post("/v1/integrations", {"id": f"i{number}", "provider": "linear", "baseUrl": slow.url,
                                               "token": {"source": "static", "value": KEY}}, expect=201)
        trigger(ctx.peal, f"t{number}", integration=f"i{number}")
    eventually(lambda: slow.arrived == 8)
    other = make_tenant(ctx.peal, "other")
    good = linear(ctx, other)
    trigger(other)
    eventually(lambda: group(other)["cursorSetAt"])
    equal(slow.arrived, 8)
    slow.hold.set()
    tick(ctx.peal)
    equal([one["cursorSetAt"] for one in groups(ctx.peal)], [moment()] * 20)
    equal((len(slow.requests), len(good.requests)), (20, 1))


def test_private_addresses_are_refused(ctx):
    peal = ctx.start(allow_private=None)
    peer = linear(ctx, peal)
    trigger(peal)
    tick(peal)
    assert "private address" in group(peal)["lastError"], group(peal)
    equal(peer.requests, [])


def test_tenants_are_apart(ctx):
    peer = linear(ctx)
    other = make_tenant(ctx.peal, "other")
    theirs = linear(ctx, other)
    trigger(ctx.peal)
    trigger(other)
    tick(ctx.peal)
    peer.put(1, moment(seconds=1))
    theirs.put(2, moment(seconds=1))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["1:create"])
    equal(short(fired(other)), ["2:create"])
    equal(len(groups(other)), 1)


def test_a_node_that_is_killed_in_a_poll_loses_nothing(ctx):
    """In the middle of the pages: some are written, one is asked for, and the node is gone."""
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(1, 201):
        peer.put(number, moment(milliseconds=number))
    gate, asked = threading.Event(), threading.Event()

    def wait(variables):
        if len(peer.requests) == 4:  # the baseline, and the third page
            asked.set()
            gate.wait()

    peer.before_page = wait
    worker = threading.Thread(target=lambda: quietly(lambda: advance(ctx.peal, "1m")), daemon=True)
    worker.start()
    assert asked.wait(30)
    ctx.peal.kill9()
    gate.set()
    worker.join()
    peer.before_page = None
    peal = ctx.start(clock=f"manual={moment(minutes=1)}")
    advance(peal, "3m")  # on PostgreSQL its lease has to end
    equal(len(all_events(peal)), 200)
    equal(sorted(short(fired(peal))), sorted(f"{number}:create" for number in range(1, 201)))
    equal(peer.wrongs, [])


def quietly(work):
    try:
        work()
    except Exception:
        pass  # the server is killed meanwhile


@only("postgres")
def test_two_nodes_never_poll_at_once(ctx):
    one = ctx.start(clock="system")
    two = ctx.start(clock="system")
    peer = linear(ctx, one)
    now = {"most": 0, "count": 0}
    lock = threading.Lock()

    def count(variables):
        with lock:
            now["count"] += 1
            now["most"] = max(now["most"], now["count"])
        threading.Event().wait(0.2)
        with lock:
            now["count"] -= 1

    peer.before_page = count
    trigger(one, interval="10s")
    for number in range(1, 6):
        trigger(two if number % 2 else one, f"t{number}", interval="10s")
    eventually(lambda: group(two)["cursorSetAt"])
    peer.put(1, "2026-01-01T00:00:00.000Z")
    equal(len(peer.requests), 1)
    equal(now["most"], 1)


def test_a_hundred_megabytes_are_not_read(ctx):
    peer = linear(ctx)
    peer.answer(200, raw=b'{"data":"' + b"x" * (100 << 20) + b'"}')
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(group(ctx.peal)["lastError"], "its answer is longer than 8 MiB")


def test_what_is_large_or_has_a_nul_is_told_all_the_same(ctx):
    peal = ctx.start(args=["--payload-max", "20000"])
    peer = linear(ctx, peal)
    trigger(peal)
    tick(peal)
    peer.put(1, moment(seconds=1))
    peer.put(2, moment(seconds=2), description="x" * 100_000)  # without raw it fits
    peer.put(3, moment(seconds=3), title="a\u0000b")
    advance(peal, "1m")
    equal(sorted(short(fired(peal))), ["1:create", "2:create", "3:create"])
    like(group(peal), {"lastError": None})
    peer.put(4, moment(seconds=70))
    advance(peal, "1m")
    equal(len(fired(peal)), 4)


if __name__ == "__main__":
    main()
