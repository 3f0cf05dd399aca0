"""Sites: a Peal elsewhere takes notifications in, keeps them, and hands them on to central."""
import contextlib
import datetime
import pathlib
import sqlite3
import struct
import subprocess
import uuid
import zlib

from harness import equal, eventually, like, main, only, run_peal, slow
from postgres import program
from server import peal_program
from site_peer import Line, Site
from steps import deliveries, make_tenant, make_trigger, make_user, settle
from test_backup import back_up, key_file, restore
from test_network import Authority
from test_notification_lists import make_list, targets


def row(n=1, id=None, kind="event", body=None):
    return {"id": id or str(uuid.uuid4()), "kind": kind, "enqueuedAt": "2026-05-14T05:00:00Z",
            "body": body or {"kind": "boiler.hot", "payload": {"n": n}}}


def forward(site, *rows, expect=200):
    return site.post("/v1/site/forward", {"rows": list(rows)}, expect=expect).json


def outcomes(answer):
    return [told["outcome"] for told in answer["rows"]]


def make_key(peal, expect=201, **members):
    return peal.post("/v1/keys", {"role": "site", "site": "plant-7", **members}, expect=expect)


def test_a_key_names_its_site(ctx):
    made = make_key(ctx.peal, name="of a plant").json
    like(made, {"role": "site", "site": "plant-7", "name": "of a plant"})
    like(ctx.peal.get(f"/v1/keys/{made['id']}", expect=200).json, {"site": "plant-7"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"site": "plant-8"}, expect=200).json,
         {"role": "site", "site": "plant-8"})
    like(ctx.peal.patch(f"/v1/keys/{made['id']}", {"role": "read", "site": None}, expect=200).json,
         {"role": "read", "site": None})
    others = [key for key in ctx.peal.get("/v1/keys", expect=200).json["items"] if key["site"]]
    equal(others, [])


def test_a_site_goes_with_its_role_alone(ctx):
    for members in ({"site": None}, {"role": "read"}, {"site": "no/slash"}, {"site": "x" * 101}):
        like(make_key(ctx.peal, expect=422, **members).json["errors"][0], {"path": "/site"})


def test_two_tenants_may_have_sites_of_one_name(ctx):
    other = make_tenant(ctx.peal, "acme")
    for who in (ctx.peal, other, other):
        like(make_key(who).json, {"site": "plant-7"})


def test_what_a_site_hands_on_becomes_an_event(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    sent = row()
    like(forward(site, sent), {"rows": [{"id": sent["id"], "outcome": "accepted"}]})
    made, = deliveries(ctx.peal)
    like(made, {"site": "plant-7", "payload": {"n": 1}})
    event = ctx.peal.get(f"/v1/events/{made['eventId']}", expect=200).json
    like(event, {"kind": "boiler.hot", "occurredAt": "2026-05-14T05:00:00.000Z"})
    equal(len(deliveries(ctx.peal, "&site=plant-7")), 1)
    equal(len(deliveries(ctx.peal, "&site=plant-8")), 0)
    operation = {"action": "cancel", "filter": {"state": "pending", "site": "plant-8"}}
    ctx.peal.post("/v1/operations", operation, expect=202)


def test_the_same_row_again_is_a_duplicate(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    first, second = row(1), row(2)
    equal(outcomes(forward(site, first, second, first)), ["accepted", "accepted", "duplicate"])
    equal(outcomes(forward(site, {**first, "body": {"kind": "other"}})), ["duplicate"])
    equal(len(deliveries(ctx.peal)), 2)


def test_a_wrong_row_is_rejected_alone(ctx):
    make_trigger(ctx.peal, "hot", eventKind="boiler.hot")
    site = make_user(ctx.peal, "site")
    wrong = [{}, 7, row(kind="mystery"), row(id="no-id"), row(body={"payload": {}}),
             {**row(), "extra": 1}, row(body={"kind": "x", "payload": {"big": "x" * (1 << 20)}})]
    answer = forward(site, row(1), *wrong, row(2))
    equal(outcomes(answer), ["accepted"] + ["rejected"] * len(wrong) + ["accepted"])
    like(answer["rows"][3]["error"], {"path": "/kind"})
    equal(len(deliveries(ctx.peal)), 2)


def test_a_site_may_tell_the_audit_what_it_enqueued(ctx):
    site = make_user(ctx.peal, "site")
    told = row(kind="audit", body={"kind": "Notification.Enqueued", "list": "ops", "instance": "line-2"})
    other = row(kind="audit", body={"kind": "Key.Created"})
    equal(outcomes(forward(site, told, row(), other)), ["accepted", "accepted", "rejected"])
    equal(outcomes(forward(site, told)), ["accepted"])
    ctx.peal.post("/v1/clock", {"advance": "5s"}, expect=200)
    found = eventually(lambda: [one for one in ctx.peal.get("/v1/audit?limit=500", expect=200).json["items"]
                                if one["kind"] == "Notification.Enqueued"])
    equal([one["eventId"] for one in found], [told["id"]])
    like(found[0], {"site": "plant-7", "instance": "line-2", "at": "2026-05-14T05:00:00.000Z"})


def test_a_row_cannot_claim_another_site(ctx):
    site = make_user(ctx.peal, "site")
    body = {"list": "ops", "body": "hot", "source": {"site": "plant-8"}}
    answer = forward(site, row(kind="notification", body=body))
    like(answer["rows"][0], {"outcome": "rejected", "error": {"path": "/body/source/site"}})
    forward(ctx.peal.with_key(None), row(), expect=401)
    forward(make_user(ctx.peal, "ingest"), row(), expect=403)


def test_too_many_rows_are_refused_whole(ctx):
    site = make_user(ctx.peal, "site")
    forward(site, *[{}] * 10001, expect=422)
    equal(len(forward(site)["rows"]), 0)


def test_a_full_parcel_may_meet_many_triggers(ctx):
    for n in range(30):
        make_trigger(ctx.peal, f"t{n}", eventKind="boiler.hot",
                     filter={"path": "candidate.n", "op": "==", "value": -n})
    site = make_user(ctx.peal, "site")
    equal(set(outcomes(forward(site, *[row(n + 1) for n in range(4000)]))), {"accepted"})


def test_central_tells_its_epoch(ctx):
    site = make_user(ctx.peal, "site")
    told = site.get("/v1/site", expect=200).json
    equal(told["site"], "plant-7")
    equal(forward(site, row())["epoch"]["id"], told["epoch"]["id"])
    ctx.peal.restart()
    again = site.with_key(site.key)
    again.host = ctx.peal.host
    later = again.get("/v1/site", expect=200).json["epoch"]
    equal(later["id"], told["epoch"]["id"])
    assert later["number"] > told["epoch"]["number"]


def events(peal, **query):
    """All events, oldest first."""
    found, cursor = [], None
    while True:
        more = f"&cursor={cursor}" if cursor else ""
        page = peal.get(f"/v1/events?limit=500{more}", expect=200).json
        found += page["items"]
        cursor = page["next"]
        if not cursor:
            return found[::-1]


def numbers(peal):
    """What sites notified of, in the order in which central took it in."""
    return [int(event["payload"]["body"].split()[1]) for event in events(peal)
            if event["kind"] == "notification"]


def joined(ctx, **options):
    """A central, a line to it, and a site at its other end. Events are in order by their ids, which
    begin with the time: so that goes on."""
    if not ctx.first:
        ctx.start(clock="system")
    key = make_user(ctx.peal, "site").key
    line = Line(ctx.peal.host)
    ctx.closers.append(line.close)
    site = Site(ctx, line.url, key, **options)
    ctx.servers.append(site)
    site.key = None
    return site, line


def drained(site, seconds=40):
    return eventually(lambda: site.backlog() == 0, seconds)


def forwarded(ctx, count):
    """Waits until central has so many, and says them in its order."""
    eventually(lambda: len(numbers(ctx.peal)) >= count, 20)
    return numbers(ctx.peal)


def advance(site, span):
    site.operator().post("/v1/clock", {"advance": span}, expect=200)


def test_a_site_hands_on_what_it_took_in(ctx):
    site, _ = joined(ctx)
    ids = [site.notify(n)["id"] for n in range(5)]
    site.post("/v1/events", {"kind": "boiler.hot", "payload": {"n": 7}}, expect=202)
    eventually(lambda: len(events(ctx.peal)) == 6)
    equal(numbers(ctx.peal), [0, 1, 2, 3, 4])
    like(events(ctx.peal)[-1], {"kind": "boiler.hot", "payload": {"n": 7}})
    like(site.notify(9, id=ids[0]), {"id": ids[0], "duplicate": True})


def test_a_trace_goes_on_from_the_site_to_central(ctx):
    site, _ = joined(ctx)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    site.post("/v1/events", {"kind": "boiler.hot", "payload": {}}, headers={"traceparent": trace}, expect=202)
    for peal in (site, ctx.peal):
        peal.post("/v1/notifications", {"list": "ops", "body": "hot 1"}, headers={"traceparent": trace}, expect=202)
    eventually(lambda: len(events(ctx.peal)) == 3)
    equal([event["traceparent"] for event in events(ctx.peal)], [trace] * 3)


def test_a_new_key_goes_into_a_file_as_it_is_printed(ctx):
    made = ctx.peal.cli("keys", "create", "--role", "site", "--site", "plant-7")
    equal((made.code, len(made.out.split())), (0, 1))
    ctx.peal.with_key(made.out.strip()).get("/v1/site", expect=200)
    wrong = ctx.write("wrong.key", "id         01975e3c-7a4b-7000-8000-2c9d3f5b1a60\n" + made.out)
    refused = run_peal("site", "--store", f"sqlite:{ctx.folder}/wrong.db", "--central", ctx.peal.url,
                       "--key-file", wrong)
    assert refused.code != 0 and "holds no key" in refused.err, refused.err


def test_days_without_central_lose_nothing(ctx):
    site, line = joined(ctx, clock="manual")
    line.cut()
    for day in range(5):
        for n in range(3):
            site.notify(day * 3 + n)
        advance(site, "1d")
    equal(site.backlog(), 15)
    like(site.get(f"/v1/notifications/{site.notify(15)['id']}").json, {"status": "Forwarding"})
    equal(numbers(ctx.peal), [])
    line.open()
    advance(site, "2m")
    equal(forwarded(ctx, 16), list(range(16)))
    eventually(lambda: site.backlog() == 0)
    states = {one["state"] for one in deliveries(site.operator())}
    equal(states, {"delivered"})


def test_what_central_took_and_could_not_say_is_not_doubled(ctx):
    site, line = joined(ctx)
    line.lose_answers()
    for n in range(5):
        site.notify(n)
    eventually(lambda: line.lost >= 2 and numbers(ctx.peal)[:1] == [0], 60)
    equal(site.backlog(), 5)
    for n in range(5, 8):
        site.notify(n)
    line.open()
    drained(site)
    equal(numbers(ctx.peal), list(range(8)))


def test_central_may_come_back_elsewhere(ctx):
    site, line = joined(ctx)
    site.notify(0)
    forwarded(ctx, 1)
    ctx.peal.kill9()
    for n in range(1, 4):
        site.notify(n)
    ctx.peal.start()
    line.target = ctx.peal.host
    drained(site)
    equal(numbers(ctx.peal), [0, 1, 2, 3])


def test_a_site_that_is_killed_loses_nothing(ctx):
    site, line = joined(ctx)
    for n in range(12):
        if n == 4:
            line.cut()
        if n == 8:
            line.lose_answers()
        site.notify(n)
        if n % 2:
            site.kill9()
            site.start()
    line.open()
    drained(site)
    equal(numbers(ctx.peal), list(range(12)))


def clock_at(days):
    """A clock that stands still, so many days from now."""
    return f"manual={(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).isoformat(timespec='seconds').replace('+00:00', 'Z')}"


def restart(site, clock):
    site.kill9()
    site.clock = clock
    site.start()


def check_clocks(ctx, *clocks):
    """Rows go as they came in, whatever the clock was when they did; each once, and none stays."""
    site, line = joined(ctx, clock=clocks[0])
    line.cut()
    for at, clock in enumerate(clocks):
        if at > 0:
            restart(site, clock)
        for n in range(3):
            site.notify(at * 3 + n, id=str(uuid.uuid4()))
    line.open()
    count = 3 * len(clocks)
    equal(forwarded(ctx, count), list(range(count)))
    drained(site)
    equal(numbers(ctx.peal), list(range(count)))
    return site, line


def test_a_clock_that_is_set_back_keeps_the_order(ctx):
    check_clocks(ctx, clock_at(-100), clock_at(-104), clock_at(-102), "system")


def test_what_a_clock_that_was_ahead_took_in_goes_once_it_is_right(ctx):
    site, line = check_clocks(ctx, clock_at(0), clock_at(400), "system")
    line.cut()
    for n in range(9, 12):  # its lane is 13 months ahead, and stays so
        site.notify(n)
    line.lose_answers()  # these are being sent when it dies
    eventually(lambda: line.lost > 0, 60)
    restart(site, "system")
    site.notify(12)
    line.open()
    equal(forwarded(ctx, 13), list(range(13)))
    drained(site)
    equal(numbers(ctx.peal), list(range(13)))


def test_a_row_that_central_rejects_parks_alone(ctx):
    site, _ = joined(ctx)
    ids = [site.notify(0)["id"],
           site.notify(1, source={"site": "another-plant", "script": "boiler"})["id"],
           site.notify(2)["id"]]
    equal(forwarded(ctx, 2), [0, 2])
    drained(site)
    parked, = deliveries(site.operator(), "&state=parked")
    like(parked, {"address": ids[1], "reason": "refused"})
    assert "plant-7" in parked["lastError"]
    like(site.get(f"/v1/notifications/{ids[1]}", expect=200).json,
         {"status": "Parked", "lastError": parked["lastError"]})


def test_a_key_that_is_refused_keeps_all(ctx):
    site, _ = joined(ctx)
    keys = ctx.peal.get("/v1/keys", expect=200).json["items"]
    own = next(key for key in keys if key["role"] == "site")
    ctx.peal.patch(f"/v1/keys/{own['id']}", {"role": "read", "site": None}, expect=200)
    for n in range(3):
        site.notify(n)
    eventually(lambda: deliveries(site.operator(), "&state=pending"), 10)
    equal(deliveries(site.operator(), "&state=parked"), [])
    ctx.peal.patch(f"/v1/keys/{own['id']}", {"role": "site", "site": "plant-7"}, expect=200)
    drained(site)
    equal(numbers(ctx.peal), [0, 1, 2])


def hand_on(ctx, site, *range_of):
    """Notifies and waits until central has acknowledged."""
    for n in range(*range_of):
        site.notify(n)
    drained(site)
    equal(numbers(ctx.peal), list(range(range_of[1])))


def put_back(ctx, line, backup, had=(0, 1, 2)):
    """Central is what it was when the backup was made; it is held, for it may be a copy."""
    key = ["--master-key-file", str(key_file(ctx))]
    ctx.peal.stop()
    ctx.first = None
    ctx.start(store=restore(ctx, backup), clock="system", args=key)
    line.target = ctx.peal.host
    equal(ctx.peal.get("/readyz", expect=200).json["held"], True)
    equal(numbers(ctx.peal), list(had))


def check_again(ctx, site):
    """Central has all of it once, those that it never had in their order."""
    eventually(lambda: len(numbers(ctx.peal)) >= 7, 60)
    drained(site)
    found = numbers(ctx.peal)
    equal(sorted(found), list(range(7)))
    equal([n for n in found if n < 6], list(range(6)))
    equal({one["state"] for one in deliveries(site.operator())}, {"delivered"})
    assert site.process.err.find("event=site.again"), site.log()


def test_a_central_that_was_put_back_gets_what_it_lost(ctx):
    site, line = joined(ctx)
    hand_on(ctx, site, 0, 3)
    backup = ctx.folder / "monday.backup"
    equal(back_up(ctx.peal, backup).code, 0)
    hand_on(ctx, site, 3, 6)
    put_back(ctx, line, backup)
    ctx.peal.post("/v1/release", expect=200)
    site.notify(6)  # by which it notices
    check_again(ctx, site)


def copy_raw(ctx, path):
    """A backup as people make them, without `peal backup`: it has the epoch of that moment."""
    if ctx.store == "postgres":
        subprocess.run([program("pg_dump"), "-Fc", "-d", ctx.store_url, "-f", path], check=True)
        return
    source, target = (sqlite3.connect(one) for one in (ctx.store_url.removeprefix("sqlite:"), path))
    source.backup(target)
    source.close()
    target.close()


def heard(site):
    """The number of central's epoch that the site keeps."""
    with contextlib.closing(sqlite3.connect(f"file:{site.path}?mode=ro", uri=True)) as db:
        found = db.execute("SELECT value FROM meta WHERE key = 'central'").fetchone()
    return int(found[0].split()[1]) if found else 0


def epoch_number(ctx, site):
    key = pathlib.Path(site.key_file).read_text().strip()
    return ctx.peal.with_key(key).get("/v1/site", expect=200).json["epoch"]["number"]


def test_all_that_was_lost_comes_again_in_order(ctx):
    """More than one slice of it, and more than one parcel."""
    site, line = joined(ctx)
    hand_on(ctx, site, 0, 3)
    backup = ctx.folder / "monday.backup"
    equal(back_up(ctx.peal, backup).code, 0)
    items = [{"payload": {"n": n}} for n in range(2500)]
    site.post("/v1/ingest", {"eventKind": "boiler.hot", "items": items}, expect=200)
    drained(site)
    put_back(ctx, line, backup)
    ctx.peal.post("/v1/release", expect=200)
    site.notify(3)
    eventually(lambda: site.process.err.find("event=site.again rows=250"), 20)
    drained(site)
    equal([event["payload"]["n"] for event in events(ctx.peal) if event["kind"] == "boiler.hot"],
          list(range(2500)))


def test_what_is_older_than_a_week_does_not_come_again(ctx):
    site, line = joined(ctx, clock="manual")
    backup = ctx.folder / "monday.backup"
    equal(back_up(ctx.peal, backup).code, 0)
    for n, passes in ((0, "2d"), (1, "6d")):
        site.notify(n)
        advance(site, "1s")
        drained(site)
        advance(site, passes)
    put_back(ctx, line, backup, [])
    ctx.peal.post("/v1/release", expect=200)
    site.notify(2)
    eventually(lambda: advance(site, "1s") or len(numbers(ctx.peal)) >= 2, 30)
    eventually(lambda: advance(site, "1s") or site.backlog() == 0)
    equal(sorted(numbers(ctx.peal)), [1, 2])


def test_an_epoch_that_is_older_is_enough(ctx):
    site, line = joined(ctx)
    hand_on(ctx, site, 0, 3)
    copy_raw(ctx, ctx.folder / "monday.backup")
    for _ in range(3):  # each raises central's epoch
        ctx.peal.restart()
        line.target = ctx.peal.host
    hand_on(ctx, site, 3, 6)
    newest = epoch_number(ctx, site)
    eventually(lambda: heard(site) >= newest, 20)
    put_back(ctx, line, ctx.folder / "monday.backup")
    assert epoch_number(ctx, site) < newest
    site.notify(6)  # nobody has released central yet
    check_again(ctx, site)


def test_a_notification_reaches_its_list_at_central(ctx):
    site, _ = joined(ctx)
    make_list(ctx.peal, targets=targets(3))
    id = notify(site, "ops", "--subject", "Boiler", "--body", "hot 1").out.strip()
    eventually(lambda: notify(site, "status", id).out.strip() == "Delivered", 20)
    told = site.get(f"/v1/notifications/{id}", expect=200).json
    like(told, {"id": id, "status": "Delivered", "list": "ops", "subject": "Boiler", "body": "hot 1",
                "targetCounts": {"all": 3, "delivered": 3, "refused": 0}})
    assert "stale" not in told and told["siteEnqueuedAt"], told
    held = ctx.peal.get(f"/v1/notifications/{id}", expect=200).json
    like(held["source"], {"site": "plant-7", "script": "peal notify"})
    equal(held["siteEnqueuedAt"], told["siteEnqueuedAt"])
    like(site.notify(2, id=id), {"id": id, "duplicate": True})
    equal(len(ctx.peal.get("/v1/notifications", expect=200).json["items"]), 1)


def test_a_site_sees_its_own_notifications_alone(ctx):
    make_list(ctx.peal, targets=targets(1))
    own, foreign = (ctx.peal.with_key(make_key(ctx.peal, site=name).json["key"])
                    for name in ("plant-7", "plant-8"))
    sent = row(kind="notification", body={"list": "ops", "body": "hot"})
    equal(outcomes(forward(own, sent)), ["accepted"])
    settle(ctx.peal)
    for path in (f"/v1/notifications/{sent['id']}", f"/v1/notifications/{sent['id']}/targets"):
        own.get(path, expect=200)
        foreign.get(path, expect=404)
    like(own.get(f"/v1/notifications/{sent['id']}").json, {"status": "Delivered"})
    equal([len(who.get("/v1/notifications", expect=200).json["items"]) for who in (own, foreign)],
          [1, 0])
    own.post(f"/v1/notifications/{sent['id']}/retry", expect=403)


def test_a_forwarded_notification_is_checked_as_a_posted_one(ctx):
    make_list(ctx.peal, targets=targets(1))
    site = make_user(ctx.peal, "site")
    fast = {**row(kind="notification", body={"list": "ops", "body": "hot"}),
            "enqueuedAt": "2036-05-14T05:00:00Z"}  # by a clock that is ten years ahead
    wrong = [row(kind="notification", body=body) for body in (
        {"list": "ops"}, {"list": "no list", "body": "x"}, {"list": "ops", "body": "x", "bdoy": "y"})]
    answer = forward(site, *wrong, fast)
    equal(outcomes(answer), ["rejected"] * 3 + ["accepted"])
    equal([told["error"]["path"] for told in answer["rows"][:3]],
          ["/body/body", "/body/list", "/body/bdoy"])
    settle(ctx.peal)
    like(ctx.peal.get(f"/v1/notifications/{fast['id']}", expect=200).json, {"status": "Delivered"})


def test_status_is_local_then_centrals_then_the_last_known(ctx):
    site, line = joined(ctx)
    line.cut()
    id = site.notify(1)["id"]
    like(site.get(f"/v1/notifications/{id}", expect=200).json,
         {"id": id, "status": "Forwarding", "list": "ops", "body": "hot 1"})
    site.get("/v1/notifications/01975e3c-7a4b-7000-8000-2c9d3f5b1a60", expect=404)
    line.open()
    drained(site)
    line.cut()
    like(eventually(lambda: site.get(f"/v1/notifications/{id}", expect=200).json, 20),
         {"id": id, "status": "Pending", "stale": True})


def test_a_page_in_the_place_of_central_tells_nothing(ctx):
    site, line = joined(ctx)
    id = site.notify(1)["id"]
    drained(site)
    page = ctx.receiver()
    page.answer(200, headers={"content-type": "text/html"}, body=b"<p>Who are you?</p>")
    line.target = page.url.removeprefix("http://")
    line.cut()
    line.open()
    for _ in range(2):
        like(site.get(f"/v1/notifications/{id}", expect=200).json, {"id": id, "status": "Pending", "stale": True})


def test_who_may_use_the_socket_may_post_and_no_more(ctx):
    site, _ = joined(ctx)
    site.get("/v1/deliveries", expect=403)
    site.post("/v1/hold", {}, expect=403)
    site.with_key("pk_unknown").post("/v1/events", {"kind": "x"}, expect=401)
    site.notify(1, list="", expect=422)
    site.notify(1, body=None, expect=422)
    site.notify(1, id="no-id", expect=422)
    site.notify(1, body="x" * (1 << 20), expect=413)


def notify(site, *words):
    return run_peal("notify", *words, "--site", site.path)


def test_notify_from_the_command_line_needs_no_running_site(ctx):
    site, _ = joined(ctx)
    first = notify(site, "ops", "--body", "hot 0").out.strip()
    forwarded(ctx, 1)
    site.kill9()
    ids = [notify(site, "ops", "--subject", "Boiler", "--body", f"hot {n}").out.strip()
           for n in range(1, 4)]
    equal(notify(site, "status", ids[0]).out.strip(), "Forwarding")
    equal(notify(site, "status", first).code, 6)
    site.start()
    site.notify(4)  # what lay in the spool is ahead of whatever is posted now
    equal(forwarded(ctx, 5), [0, 1, 2, 3, 4])
    drained(site)
    assert not pathlib.Path(site.path + ".spool").read_bytes()[16:]
    again = notify(site, "ops", "--body", "other", "--id", ids[0])
    equal((again.code, again.out.strip()), (0, ids[0]))
    drained(site)
    equal(numbers(ctx.peal), [0, 1, 2, 3, 4])
    equal(notify(site, "", "--body", "x").code, 2)
    equal(notify(site, "status", "01975e3c-7a4b-7000-8000-2c9d3f5b1a60").code, 3)


def test_a_program_hands_over_by_the_library(ctx):
    site, line = joined(ctx)
    example = pathlib.Path(peal_program()).parent / "src" / "lib" / "example_notify"
    line.cut()
    for n, is_down in ((0, False), (1, True)):
        if is_down:
            site.kill9()
        ran = subprocess.run([example, site.path, "ops", f"hot {n}"], capture_output=True, text=True)
        equal((ran.returncode, ran.stdout.split()[1]), (0, "Forwarding"), ran.stderr)
    site.start()
    line.open()
    drained(site)
    equal(numbers(ctx.peal), [0, 1])


def test_half_a_record_in_the_spool_hides_no_other(ctx):
    site, _ = joined(ctx)
    site.kill9()
    spool = pathlib.Path(site.path + ".spool")
    notify(site, "ops", "--body", "hot 0")
    whole = spool.read_bytes()
    spool.write_bytes(whole + whole[16:60])
    notify(site, "ops", "--body", "hot 1")
    site.start()
    equal(forwarded(ctx, 2), [0, 1])
    assert site.process.err.wait_for("event=spool.torn", 10)
    drained(site)


def record(text):
    """As lib/spool.c frames it."""
    return struct.pack("=4sII", b"\x1ePL1", len(text), zlib.crc32(text)) + text


def test_a_record_that_is_no_row_is_set_aside(ctx):
    site, _ = joined(ctx)
    site.kill9()
    spool = pathlib.Path(site.path + ".spool")
    notify(site, "ops", "--body", "hot 0")
    wrong = [b'{"no":"row"}', b"no JSON at all", b'{"id":"no id","kind":"event","body":{}}']
    spool.write_bytes(spool.read_bytes() + b"".join(map(record, wrong)))
    notify(site, "ops", "--body", "hot 1")
    site.start()
    equal(forwarded(ctx, 2), [0, 1])
    assert site.process.err.find("event=spool.refused"), site.log()
    aside = pathlib.Path(site.path + ".spool.refused").read_bytes()
    equal(aside[16:], b"".join(map(record, wrong)))


def test_a_spool_that_is_read_twice_makes_no_second(ctx):
    site, _ = joined(ctx)
    site.kill9()
    spool = pathlib.Path(site.path + ".spool")
    for n in range(3):
        notify(site, "ops", "--body", f"hot {n}")
    kept = spool.read_bytes()
    site.start()
    forwarded(ctx, 3)
    site.kill9()
    spool.write_bytes(kept)  # it died before it cut it
    site.start()
    drained(site)
    equal(numbers(ctx.peal), [0, 1, 2])


def test_the_site_counts_its_backlog(ctx):
    site, line = joined(ctx)
    line.cut()
    for n in range(7):
        site.notify(n)
    equal(site.backlog(), 7)
    line.open()
    drained(site)


def test_large_rows_go_in_several_requests_in_order(ctx):
    """A request carries 8 MiB at most, and central takes no more than it says."""
    site, line = joined(ctx)
    line.cut()
    for n in range(30):
        site.post("/v1/events", {"kind": "large", "payload": {"n": n, "filler": "x" * 900_000}}, expect=202)
    equal(site.backlog(), 30)
    line.open()
    drained(site)
    equal([event["payload"]["n"] for event in events(ctx.peal)], list(range(30)))


@only("sqlite")
def test_a_central_with_a_certificate_of_its_own(ctx):
    """Rows go to it, and it is asked for its epoch and what became of them."""
    authority, central = Authority(ctx.folder), ctx.start(clock="system")
    key = make_user(central, "site").key
    central.stop()
    central.args += authority.issue("central")
    central.start()
    site = Site(ctx, central.url, key, args=("--ca-file", str(authority.file)))
    ctx.servers.append(site)
    site.key = None
    id = site.notify(1)["id"]
    drained(site)
    told = eventually(lambda: (one := site.get(f"/v1/notifications/{id}", expect=200).json)
                      and one["status"] != "Forwarding" and one)
    assert "stale" not in told and told["createdAt"], told
    eventually(lambda: heard(site) > 0)


def test_the_order_of_each_site_is_kept(ctx):
    sites = []
    for name in ("north", "south"):
        key = ctx.peal.post("/v1/keys", {"role": "site", "site": name}, expect=201).json["key"]
        site = Site(ctx, f"http://{ctx.peal.host}", key, name=name)
        ctx.servers.append(site)
        site.key = None
        sites.append(site)
    for n in range(20):
        sites[n % 2].notify(n)
    for site in sites:
        drained(site)
    found = numbers(ctx.peal)
    equal([n for n in found if n % 2 == 0], list(range(0, 20, 2)))
    equal([n for n in found if n % 2 == 1], list(range(1, 20, 2)))


@slow
def test_a_hundred_thousand_drain_in_order(ctx):
    site, line = joined(ctx)
    line.cut()
    for first in range(0, 100_000, 5000):
        items = [{"payload": {"n": n}} for n in range(first, first + 5000)]
        site.post("/v1/ingest", {"eventKind": "boiler.hot", "items": items}, expect=200)
    equal(site.backlog(), 100_000)
    line.open()
    drained(site, 240)
    found = [event["payload"]["n"] for event in events(ctx.peal)]
    equal(found, list(range(100_000)))


if __name__ == "__main__":
    main()
