"""W7: providers are polled, one poll and one cursor for all triggers of an account; nothing is lost, nothing comes twice."""
import datetime
import threading

from gmail_peer import Gmail
from harness import equal, eventually, like, main, only
from linear_peer import Linear
from server import START
from steps import advance, deliveries, make_tenant, moment, set_clock, tick

KEY = "lin_api_secret"


def linear(ctx, peal=None, key=KEY, id="acme", token=None):
    """Linear, and an integration with it."""
    peer = Linear(key)
    ctx.closers.append(peer.close)
    token = token or {"source": "static", "value": key}
    (peal or ctx.peal).post("/v1/integrations", {"id": id, "provider": "linear", "baseUrl": peer.url, "token": token}, expect=201)
    return peer


def gmail(ctx, token="ya29.secret", **members):
    peer = Gmail(token)
    ctx.closers.append(peer.close)
    ctx.peal.post("/v1/integrations", {"id": "box", "provider": "gmail", "baseUrl": peer.url,
                                       "token": {"source": "static", "value": token}, **members}, expect=201)
    return peer


def trigger_body(id="bugs", provider="linear", type="issue", integration="acme", **members):
    return {"id": id, "provider": provider, "type": type, "integration": integration, "way": "polling",
            "channel": "memory:default", **members}


def trigger(peal, id="bugs", **members):
    return peal.post("/v1/triggers", trigger_body(id, **members), expect=201).json


def groups(peal):
    return peal.get("/v1/poll-groups", expect=200).json["items"]


def group(peal):
    found = groups(peal)
    equal(len(found), 1)
    return found[0]


def fired(peal, rule="bugs"):
    """The keys of what a trigger fired for, oldest first."""
    found = [one for one in deliveries(peal) if one["rule"]["id"] == rule]
    events = [peal.get(f"/v1/events/{one['eventId']}", expect=200).json for one in reversed(found)]
    return [one["payload"]["dedupKey"] for one in events]


def short(keys):
    """Keys without what is the same in all."""
    return [key.replace("00000000-0000-4000-8000-", "").replace("linear:", "").lstrip("0") for key in keys]


def all_events(peal, kind="linear.issue"):
    found, cursor = [], ""
    while cursor is not None:
        page = peal.get(f"/v1/events?limit=500&kind={kind}{cursor}", expect=200).json
        found += page["items"]
        cursor = f"&cursor={page['next']}" if page["next"] else None
    return found


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


def test_another_account_is_another_beginning(ctx):
    peer = linear(ctx)
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c1"}, expect=200)
    peer.put(1, moment(hours=-1))
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.put(2, moment(seconds=10))
    advance(ctx.peal, "1m")
    peer.put(3, moment(seconds=70))  # as if it were another account's
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c2"}, expect=200)
    tick(ctx.peal)
    equal(short(fired(ctx.peal)), ["2:create"])
    like(group(ctx.peal), {"cursorSetAt": moment(minutes=1), "lastError": "its integration is another account now: a new baseline was taken"})
    peer.put(4, moment(seconds=80))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["2:create", "4:create"])
    like(group(ctx.peal), {"lastError": None})
    ctx.peal.patch("/v1/integrations/acme", {"connectionId": "c2", "token": {"source": "static", "value": KEY}}, expect=200)
    peer.put(5, moment(seconds=130))
    advance(ctx.peal, "1m")
    equal(short(fired(ctx.peal)), ["2:create", "4:create", "5:create"])


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


def ms(**span):
    """The time so long after the start, as Gmail writes times."""
    return START_MS + int(datetime.timedelta(**span).total_seconds() * 1000)


def mail_trigger(peal, id="mails", **members):
    return trigger(peal, id, provider="gmail", type="message", integration="box", **members)


def mails(peal, rule="mails"):
    return [key.removeprefix("gmail:") for key in fired(peal, rule)]


def test_mails_that_come_are_told(ctx):
    peer = gmail(ctx)
    peer.add("a1", ms(hours=-1))
    mail_trigger(ctx.peal)
    mail_trigger(ctx.peal, "important", config={"labels": ["IMPORTANT"]})
    tick(ctx.peal)
    peer.touch()
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])
    peer.add("a2", ms(seconds=70), subject="The answer")
    peer.add("a3", ms(seconds=80), labels=["INBOX", "IMPORTANT"])
    peer.add("a4", ms(seconds=90))
    peer.gone.add("a4")
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), ["a2", "a3"])
    equal(mails(ctx.peal, "important"), ["a3"])
    advance(ctx.peal, "5m")
    equal(len(all_events(ctx.peal, "gmail.message")), 2)
    like(all_events(ctx.peal, "gmail.message")[-1]["payload"],
         {"title": "The answer", "externalId": "a2", "occurredAt": moment(seconds=70), "url": "https://mail.google.com/mail/u/0/#all/a2",
          "providerEventType": "messageAdded", "context": {"labels": ["INBOX"], "from": "Ann <ann@example.com>", "subject": "The answer"}})
    like(group(ctx.peal), {"provider": "gmail", "triggers": 2, "lastError": None})
    equal(peer.wrongs, [])


def test_mails_that_are_there_are_told_to_who_asks(ctx):
    peer = gmail(ctx)
    peer.page_max = 7
    peer.add("old", ms(days=-31))
    for number in range(20):
        peer.add(f"m{number}", ms(days=-20, seconds=number))
    mail_trigger(ctx.peal, emitExisting=True)
    tick(ctx.peal)
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(20)))
    like(group(ctx.peal), {"lastError": None})
    peer.add("new", ms(seconds=5))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal)[-1], "new")
    advance(ctx.peal, "5m")
    equal(len(all_events(ctx.peal, "gmail.message")), 21)
    equal(peer.wrongs, [])


def test_a_history_of_many_pages_is_read_to_its_end(ctx):
    peer = gmail(ctx)
    peer.page_max = 7
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(40):
        peer.add(f"m{number}", ms(seconds=number))
    peer.answer_error("history", 429, "rateLimitExceeded", {"Retry-After": "60"})
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])
    peer.answer_error("messages/m9", 403, "userRateLimitExceeded")
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [f"m{number}" for number in range(7)])  # the page before counts
    like(group(ctx.peal), {"backoffUntil": moment(seconds=150)})
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(40)))
    equal(len(all_events(ctx.peal, "gmail.message")), 40)
    equal(peer.wrongs, [])


def test_an_expired_history_loses_nothing_and_says_so(ctx):
    peer = gmail(ctx)
    peer.page_max = 3
    for number in range(5):
        peer.add(f"old{number}", ms(minutes=-1 - number))
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    peer.add("a1", ms(seconds=10))
    advance(ctx.peal, "1m")
    for number in range(10):
        peer.add(f"b{number}", ms(seconds=70 + number))
    peer.expired = peer.history_id
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), sorted(["a1", *(f"b{number}" for number in range(10))]))
    assert "expired" in group(ctx.peal)["lastError"], group(ctx.peal)
    peer.add("c1", ms(seconds=130))
    advance(ctx.peal, "1m")
    equal(len(mails(ctx.peal)), 12)
    like(group(ctx.peal), {"lastError": None})
    equal(peer.wrongs, [])


def test_a_mail_that_cannot_be_fetched_is_left_out_after_three_polls(ctx):
    """Each of them is fetched in vain in its own way; those beside and behind them are told."""
    peer = gmail(ctx)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for id in ("a1", "bad1", "a2", "bad2", "bad3", "gone", "bad4"):
        peer.add(id, ms(seconds=10))
    peer.gone.add("gone")
    peer.broken = {"bad1": (500, "backendError"), "bad2": (400, "failedPrecondition"), "bad3": b'{"id":', "bad4": b"x" * ((1 << 20) + 1)}
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), [])  # the page is tried again, whole
    like(group(ctx.peal), {"backoffUntil": moment(seconds=90)})
    assert group(ctx.peal)["lastError"].startswith("some of what was found could not be fetched: "), group(ctx.peal)
    del peer.broken["bad4"]  # this one had a bad time only
    advance(ctx.peal, "30s")
    equal(mails(ctx.peal), [])
    peer.add("late", ms(seconds=95))
    ctx.peal.restart(clock=f"manual={moment(seconds=95)}")  # the tries are on record
    advance(ctx.peal, "1m")
    equal(sorted(mails(ctx.peal)), ["a1", "a2", "bad4", "late"])
    like(group(ctx.peal), {"backoffUntil": None, "lastError": "3 of what came could not be taken and was left out: bad1, bad2, bad3"})
    peer.add("next", ms(seconds=160))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal)[-1], "next")
    like(group(ctx.peal), {"lastError": None})
    equal(len(all_events(ctx.peal, "gmail.message")), 5)
    equal(peer.wrongs, [])


def test_mails_wait_for_a_provider_that_gives_none(ctx):
    """Where nothing can be fetched it is not for the mails: nothing is left out, however often it is tried."""
    peer = gmail(ctx)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for number in range(30):
        peer.add(f"m{number}", ms(seconds=number))
        peer.broken[f"m{number}"] = (503, "backendError")
    asked = len(peer.requests)
    advance(ctx.peal, "1m")
    assert len(peer.requests) - asked <= 20, "a provider that is down is asked for everything"
    advance(ctx.peal, "6h")
    equal(mails(ctx.peal), [])
    like(group(ctx.peal), {"lastError": "some of what was found could not be fetched: it answered 503 (backendError): no"})
    peer.broken = {}
    advance(ctx.peal, "1h")
    equal(sorted(mails(ctx.peal)), sorted(f"m{number}" for number in range(30)))
    equal(peer.wrongs, [])


def test_a_mail_with_a_page_of_its_own_is_given_a_day(ctx):
    """Nobody can tell whether it is the mail or the provider; those behind it do not wait for ever."""
    peer = gmail(ctx)
    peer.page_max = 1
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    for id in ("a1", "bad", "a2"):
        peer.add(id, ms(seconds=10))
    peer.broken = {"bad": (500, "backendError")}
    advance(ctx.peal, "12h")
    equal(mails(ctx.peal), ["a1"])
    advance(ctx.peal, "12h")
    equal(mails(ctx.peal), ["a1", "a2"])
    equal(peer.wrongs, [])


def status(peal, id="acme"):
    return peal.get(f"/v1/integrations/{id}", expect=200).json


def test_a_refused_token_stops_the_polls_until_it_is_changed(ctx):
    peer = linear(ctx)
    trigger(ctx.peal)
    tick(ctx.peal)
    peer.key = "lin_api_other"
    peer.put(1, moment(seconds=10))
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "failed"})
    assert "401" in status(ctx.peal)["statusReason"], status(ctx.peal)
    like(group(ctx.peal), {"nextPollAt": None})
    advance(ctx.peal, "1d")
    equal(len(peer.requests), 1)
    ctx.peal.patch("/v1/integrations/acme", {"token": {"source": "static", "value": "lin_api_other"}}, expect=200)
    tick(ctx.peal)
    like(status(ctx.peal), {"status": "active"})
    equal(short(fired(ctx.peal)), ["1:create"])
    like(group(ctx.peal), {"lastError": None})


def oauth(url):
    return {"source": "oauth", "accessToken": "old", "refreshToken": "r1", "clientId": "c", "clientSecret": "s", "tokenUrl": url}


def test_a_token_is_refreshed_once_and_written_before_it_is_used(ctx):
    giver = ctx.receiver()
    giver.answer_next(200, headers={"Content-Type": "application/json"},
                      body=b'{"access_token":"fresh","refresh_token":"r2","expires_in":3600,"token_type":"Bearer"}')
    peer = linear(ctx, key="fresh", token=oauth(giver.url + "/token"))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(giver.count(), 1)
    assert b"refresh_token=r1" in giver.received[0].body
    like(group(ctx.peal), {"lastError": None, "cursorSetAt": moment()})
    advance(ctx.peal, "5m")
    equal(giver.count(), 1)
    giver.answer_next(503)
    peer.key = "fresher"
    advance(ctx.peal, "1m")
    assert b"refresh_token=r2" in giver.received[1].body
    like(status(ctx.peal), {"status": "active"})
    giver.answer_next(400, headers={"Content-Type": "application/json"}, body=b'{"error":"invalid_grant"}')
    advance(ctx.peal, "1m")
    like(status(ctx.peal), {"status": "failed"})
    assert "invalid_grant" in status(ctx.peal)["statusReason"], status(ctx.peal)
    assert b"r2" not in str(ctx.peal.get("/v1/integrations", expect=200).json).encode()


def test_a_fresh_token_that_is_refused_too_fails_the_integration(ctx):
    giver = ctx.receiver()
    giver.answer(200, headers={"Content-Type": "application/json"}, body=b'{"access_token":"wrong","token_type":"Bearer"}')
    linear(ctx, key="right", token=oauth(giver.url + "/token"))
    trigger(ctx.peal)
    tick(ctx.peal)
    equal(giver.count(), 1)
    like(status(ctx.peal), {"status": "failed"})


TOPIC = "projects/acme-1/topics/mail"


def test_a_watch_is_registered_and_renewed_before_it_ends(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC, "labels": ["INBOX", "UNREAD"]})
    peer.watch_expires = ms(days=7)
    equal(status(ctx.peal, "box")["registration"], None)
    mail_trigger(ctx.peal, interval="12h")
    tick(ctx.peal)
    equal(peer.watches, [{"topicName": TOPIC, "labelIds": ["INBOX", "UNREAD"], "labelFilterBehavior": "INCLUDE"}])
    equal([name for name, _ in peer.requests], ["watch", "profile"])
    equal(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=7), "error": None})
    advance(ctx.peal, "3d")
    equal(len(peer.watches), 1)
    peer.watch_expires = ms(days=10.5)
    advance(ctx.peal, "12h")
    equal(len(peer.watches), 2)
    equal(status(ctx.peal, "box")["registration"]["expiresAt"], moment(days=10, hours=12))
    peer.answer_error("watch", 500, "backendError")
    advance(ctx.peal, "3d12h")
    equal(len(peer.watches), 3)
    like(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=10, hours=12), "error": "it answered 500 (backendError): no"})
    peer.watch_expires = ms(days=14.5)
    advance(ctx.peal, "12h")
    equal(status(ctx.peal, "box")["registration"], {"status": "active", "expiresAt": moment(days=14, hours=12), "error": None})
    equal(peer.wrongs, [])


def test_a_watch_that_is_refused_stops_no_poll(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.answer_error("watch", 403, "forbidden")
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    equal(status(ctx.peal, "box")["registration"], {"status": "failed", "expiresAt": None, "error": "it answered 403 (forbidden): no"})
    like(status(ctx.peal, "box"), {"status": "active"})
    peer.add("a1", ms(seconds=5))
    advance(ctx.peal, "1m")
    equal(mails(ctx.peal), ["a1"])
    equal(len(peer.watches), 1)  # it is not asked for with each poll
    for answer in (b'{"historyId":"1"}', b'{"expiration":"-5"}', b'{"expiration":"99999999999999999999"}', b"[", b'{"expiration":"1000"}'):
        peer.answer("watch", 200, answer)
        advance(ctx.peal, "1h")
        equal(status(ctx.peal, "box")["registration"], {"status": "failed", "expiresAt": None, "error": "it does not say until when"})
    peer.watch_expires = ms(days=7)
    advance(ctx.peal, "1h")
    like(status(ctx.peal, "box")["registration"], {"status": "active", "error": None})
    equal(peer.wrongs, [])


def test_a_watch_follows_its_integration(ctx):
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.watch_expires = ms(days=7)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    ctx.peal.patch("/v1/integrations/box", {"watch": {"topic": TOPIC + "2"}}, expect=200)
    advance(ctx.peal, "1m")
    equal([one["topicName"] for one in peer.watches], [TOPIC, TOPIC + "2"])
    ctx.peal.patch("/v1/integrations/box", {"watch": None}, expect=200)
    advance(ctx.peal, "1m")
    equal(peer.stops, 1)
    equal(status(ctx.peal, "box")["registration"], None)
    advance(ctx.peal, "10m")
    equal((len(peer.watches), peer.stops), (2, 1))
    equal(peer.wrongs, [])


def test_a_watch_has_a_fresh_token(ctx):
    giver = ctx.receiver()
    giver.answer(200, headers={"Content-Type": "application/json"}, body=b'{"access_token":"fresh","token_type":"Bearer"}')
    peer = gmail(ctx, watch={"topic": TOPIC})
    peer.token, peer.watch_expires = "fresh", ms(days=7)
    ctx.peal.patch("/v1/integrations/box", {"token": {**oauth(giver.url + "/token"), "value": None}}, expect=200)
    mail_trigger(ctx.peal)
    tick(ctx.peal)
    equal((giver.count(), len(peer.watches)), (1, 1))
    like(status(ctx.peal, "box")["registration"], {"status": "active", "error": None})


def test_only_gmail_has_a_watch_and_only_to_a_topic(ctx):
    def refused(body):
        return [one["path"] for one in ctx.peal.post("/v1/integrations", {"id": "x", **body}, expect=422).json["errors"]]

    equal(refused({"provider": "linear", "watch": {"topic": TOPIC}}), ["/watch"])
    for topic in ("", "mail", "projects//topics/x", "projects/a/topics/", "projects/a/topics/b/c", "projects/a/topics/b c", "projects/a/topics/b\r\n",
                  "projects/a/subscriptions/b", "projects/a/topics/" + "x" * 600):
        equal(refused({"provider": "gmail", "watch": {"topic": topic}}), ["/watch/topic"])
    equal(refused({"provider": "gmail", "watch": {}}), ["/watch/topic"])
    equal(refused({"provider": "gmail", "watch": {"topic": TOPIC, "labels": [1]}}), ["/watch/labels/0"])
    equal(refused({"provider": "gmail", "watch": {"topic": TOPIC, "other": 1}}), ["/watch/other"])


START_MS = 1778735554000


if __name__ == "__main__":
    main()
