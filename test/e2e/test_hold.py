"""Hold and release, and a copied database that does not send."""
import shutil
import subprocess
import threading

from harness import Cluster, Deadline, equal, eventually, like, main, only
from postgres import program
from steps import (advance, deliveries, delivery, ingest, ingest_one, make_channel, make_trigger,
                   make_user, moment, settle, tick, visit)


def make_http(ctx, peal):
    """A trigger whose visits go to the receiver that is answered."""
    receiver = ctx.receiver()
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "config": {
        "url": receiver.url, "signingSecret": "whsec_" + "YWJj" * 10}}, expect=201)
    make_trigger(peal, channel="http:out")
    return receiver


def hold(peal, reason="the relay moves", key=None):
    headers = {"Idempotency-Key": key} if key else {}
    return peal.post("/v1/hold", {"reason": reason}, headers=headers, expect=200).json


def release(peal):
    return peal.post("/v1/release", expect=200).json


def readiness(peal):
    return peal.get("/readyz", expect=200).json


def test_held_takes_events_and_sends_nothing(ctx):
    receiver = make_http(ctx, ctx.peal)
    equal(hold(ctx.peal), {"held": True, "reason": "the relay moves", "inFlight": 0})
    ids = [ingest_one(ctx.peal) for _ in range(3)]
    tick(ctx.peal)
    advance(ctx.peal, "1h")
    equal(receiver.count(), 0)
    equal({delivery(ctx.peal, id)["state"] for id in ids}, {"pending"})
    equal(release(ctx.peal), {"held": False, "reason": None})
    settle(ctx.peal)
    equal(receiver.count(), 3)
    equal({delivery(ctx.peal, id)["state"] for id in ids}, {"delivered"})


def test_readiness_says_that_it_is_held_and_why(ctx):
    like(readiness(ctx.peal), {"status": "ready", "held": False, "reasons": []})
    hold(ctx.peal, "the relay moves")
    told = readiness(ctx.peal)
    like(told, {"status": "ready", "held": True})
    assert "the relay moves" in told["reasons"][0], told
    # Who has no key learns that it is held, not what somebody wrote about it.
    anyone = ctx.peal.with_key(None).get("/readyz", expect=200)
    like(anyone.json, {"held": True})
    assert anyone.json["reasons"] and "the relay moves" not in anyone.text, anyone
    release(ctx.peal)
    equal(readiness(ctx.peal)["held"], False)


def test_what_is_under_way_is_finished(ctx):
    receiver = make_http(ctx, ctx.peal)
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    id = ingest_one(ctx.peal)
    receiver.wait_for(1)
    hold(ctx.peal)
    gate.set()
    settle(ctx.peal)
    equal(delivery(ctx.peal, id)["state"], "delivered")
    receiver.answer(200)
    ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(receiver.count(), 1)


def test_nothing_starts_after_a_hold_was_answered(ctx):
    """H4: what was claimed ahead was sent after the answer; now the answer says what is in flight."""
    receiver = make_http(ctx, ctx.peal)
    ctx.peal.put("/v1/channels/http:out", {"key": "http:out", "type": "http", "concurrency": 4,
                                           "config": {"url": receiver.url}}, expect=200)
    ingest(ctx.peal, *[visit() for _ in range(8)])  # quick answers: claims go ahead from now on
    receiver.wait_for(8)
    gate = threading.Event()
    receiver.answer(200, hold=gate)
    ingest(ctx.peal, *[visit() for _ in range(20)])
    receiver.wait_for(8 + 4)
    told = hold(ctx.peal, key="once")
    equal(told["inFlight"], 4)
    gate.set()
    settle(ctx.peal)
    equal(hold(ctx.peal, key="once"), told)
    equal(receiver.count(), 8 + 4)
    equal(len(deliveries(ctx.peal, "&state=pending")), 16)
    release(ctx.peal)
    settle(ctx.peal)
    equal(receiver.count(), 28)


def test_reminders_and_expiries_wait_too(ctx):
    make_trigger(ctx.peal, schedule={"reminders": ["1d"]}, expireAfter="30d")
    id = ingest_one(ctx.peal)
    settle(ctx.peal)
    hold(ctx.peal)
    advance(ctx.peal, "90d")
    like(delivery(ctx.peal, id), {"state": "waiting", "send": 1, "lastSentAt": moment()})
    release(ctx.peal)
    settle(ctx.peal)
    like(delivery(ctx.peal, id), {"state": "waiting", "send": 2, "lastSentAt": moment(days=90)})


def test_a_hold_survives_a_restart(ctx):
    receiver = make_http(ctx, ctx.peal)
    hold(ctx.peal, "for the night")
    ctx.peal.restart()
    ingest_one(ctx.peal)
    settle(ctx.peal)
    equal(receiver.count(), 0)
    assert "for the night" in readiness(ctx.peal)["reasons"][0]
    release(ctx.peal)
    settle(ctx.peal)
    equal(receiver.count(), 1)


def test_the_command_line_holds_and_releases(ctx):
    ran = ctx.peal.cli("hold")
    equal(ran.code, 2, "a reason is needed")
    ran = ctx.peal.cli("hold", "--reason", "the relay moves")
    equal(ran.code, 0)
    assert "the relay moves" in ran.out, ran.out
    equal(readiness(ctx.peal)["held"], True)
    assert "the relay moves" in ctx.peal.cli("health").out
    equal(ctx.peal.cli("release").code, 0)
    equal(readiness(ctx.peal)["held"], False)


def test_a_bad_hold_changes_nothing(ctx):
    for body in ({"reason": "x" * 501}, {"reason": 7}, {"why": "x"}, []):
        equal(ctx.peal.post("/v1/hold", body).status, 422, str(body)[:40])
    equal(readiness(ctx.peal)["held"], False)
    equal(make_user(ctx.peal, "operator").post("/v1/hold", {"reason": "x"}).status, 403)
    equal(hold(ctx.peal)["held"], True)
    equal(hold(ctx.peal, "again")["reason"], "again")
    equal(release(ctx.peal)["held"], False)
    equal(release(ctx.peal)["held"], False)


# Copies


def check_copy_is_held(ctx, copy, receiver, waiting):
    """The copy has what the original had, takes events, sends nothing, and says how to go on."""
    told = readiness(copy)
    like(told, {"held": True})
    assert "peal release" in told["reasons"][0], told
    assert copy.process.out.find("held"), copy.process.out.text()
    assert "peal release" in copy.process.out.text()
    equal(delivery(copy, waiting)["state"], "pending")
    id = ingest_one(copy)
    advance(copy, "2d")
    equal(receiver.count(), 0)
    equal({delivery(copy, one)["state"] for one in (id, waiting)}, {"pending"})
    copy.restart()
    advance(copy, "2d")
    equal((receiver.count(), readiness(copy)["held"]), (0, True))

    ran = copy.cli("release")
    equal((ran.code, ran.err), (0, ""))
    settle(copy)
    equal(sorted(one.json["deliveryId"] for one in receiver.wait_for(2)), sorted([id, waiting]))
    copy.restart()
    equal(readiness(copy)["held"], False, "once released it is the one that sends")


def prepare(ctx):
    """A store with a delivery that waits for tomorrow."""
    receiver = make_http(ctx, ctx.peal)
    ctx.peal.put("/v1/triggers/visit", {"id": "visit", "eventKind": "service-visit-closed",
                                        "channel": "http:out",
                                        "schedule": {"initialDelay": "1d"}}, expect=200)
    waiting = ingest_one(ctx.peal)
    ctx.peal.put("/v1/triggers/visit", {"id": "visit", "eventKind": "service-visit-closed",
                                        "channel": "http:out"}, expect=200)
    return receiver, waiting


def files_of(ctx):
    return [path for path in ctx.folder.iterdir() if ".db" in path.name]


@only("sqlite")
def test_a_copied_file_starts_held(ctx):
    receiver, waiting = prepare(ctx)
    ctx.peal.stop()
    check_file_copy(ctx, receiver, waiting)


@only("sqlite")
def test_a_file_that_is_copied_while_in_use_starts_held(ctx):
    """With its WAL, as a careless backup would take it."""
    receiver, waiting = prepare(ctx)
    ctx.peal.kill9()
    assert any(path.name.endswith("-wal") for path in files_of(ctx)), files_of(ctx)
    check_file_copy(ctx, receiver, waiting)


def check_file_copy(ctx, receiver, waiting):
    folder = ctx.folder / "copy"
    folder.mkdir()
    for path in files_of(ctx):
        shutil.copy2(path, folder / path.name)
    name = ctx.peal.store.rpartition("/")[2]
    copy = ctx.start(store=f"sqlite:{folder}/{name}")
    check_copy_is_held(ctx, copy, receiver, waiting)
    copy.stop()
    ctx.peal.start()
    equal(readiness(ctx.peal)["held"], False, "the original goes on")


@only("sqlite")
def test_a_restored_file_starts_held(ctx):
    """An older copy in the place of the file: what it would send may have been sent since."""
    receiver, waiting = prepare(ctx)
    ctx.peal.stop()
    backup = ctx.folder / "backup"
    backup.mkdir()
    for path in files_of(ctx):
        shutil.copy2(path, backup / path.name)
        path.unlink()
    for path in backup.iterdir():
        shutil.copy2(path, ctx.folder / path.name)
    ctx.peal.start()
    check_copy_is_held(ctx, ctx.peal, receiver, waiting)


@only("sqlite")
def test_a_moved_file_is_not_held(ctx):
    receiver, waiting = prepare(ctx)
    ctx.peal.stop()
    folder = ctx.folder / "moved"
    folder.mkdir()
    for path in files_of(ctx):
        path.rename(folder / path.name)
    moved = ctx.start(store=f"sqlite:{folder}/{ctx.peal.store.rpartition('/')[2]}")
    equal(readiness(moved)["held"], False)
    advance(moved, "2d")
    equal([one.json["deliveryId"] for one in receiver.wait_for(1)], [waiting])


@only("postgres")
def test_a_database_made_from_another_starts_held(ctx):
    receiver, waiting = prepare(ctx)
    ctx.peal.stop()
    base, _, name = ctx.store_url.rpartition("/")
    copied = f"{base}/{name}_copy"
    run(program("createdb"), "--maintenance-db", f"{base}/postgres", "-T", name, f"{name}_copy")
    try:
        check_database_copy(ctx, copied, receiver, waiting)
    finally:
        drop(ctx, copied)


@only("postgres")
def test_a_dumped_and_restored_database_starts_held(ctx):
    """Taken from a database in use, and restored into the same cluster."""
    receiver, waiting = prepare(ctx)
    copied = ctx.new_store_url()
    dump = subprocess.run([program("pg_dump"), "-d", ctx.store_url], capture_output=True,
                          check=True).stdout
    run(program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", copied, text=dump)
    ctx.peal.stop()
    check_database_copy(ctx, copied, receiver, waiting)


@only("postgres")
def test_a_dump_restored_elsewhere_starts_held(ctx):
    receiver, waiting = prepare(ctx)
    elsewhere = ctx.private_postgres()
    copied = elsewhere.create_database()
    dump = subprocess.run([program("pg_dump"), "-d", ctx.store_url], capture_output=True,
                          check=True).stdout
    ctx.peal.stop()
    run(program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", copied, text=dump)
    check_database_copy(ctx, copied, receiver, waiting)


def check_database_copy(ctx, copied, receiver, waiting):
    copy = ctx.start(store=copied)
    check_copy_is_held(ctx, copy, receiver, waiting)
    copy.stop()
    ctx.peal.start()
    equal(readiness(ctx.peal)["held"], False, "the original goes on")


def run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def drop(ctx, url):
    for server in ctx.servers:
        if server.store == url:
            server.process.kill()
    base, _, name = url.rpartition("/")
    run(program("dropdb"), "--maintenance-db", f"{base}/postgres", "--if-exists", "--force", name)


@only("postgres")
def test_a_restarted_server_is_no_copy(ctx):
    """A failover keeps the cluster's identity; so does a plain restart."""
    cluster = ctx.private_postgres()
    peal = ctx.start(store=cluster.create_database())
    receiver = make_http(ctx, peal)
    peal.stop()
    cluster.restart("immediate")
    peal.start()
    equal(readiness(peal)["held"], False)
    ingest_one(peal)
    settle(peal)
    equal(receiver.count(), 1)


def test_a_held_store_tells_the_doctor(ctx):
    hold(ctx.peal, "for the doctor")
    ran = ctx.peal.cli("doctor", "--store", ctx.store_url)
    assert "for the doctor" in ran.out, ran.out
    release(ctx.peal)
    ran = ctx.peal.cli("doctor", "--store", ctx.store_url)
    equal(ran.code, 0)
    assert "not held" in ran.out, ran.out


def test_captures_are_held_too(ctx):
    make_channel(ctx.peal, "memory:own")
    make_trigger(ctx.peal, channel="memory:own")
    hold(ctx.peal)
    ingest(ctx.peal, *[visit() for _ in range(5)])
    settle(ctx.peal)
    equal(len(deliveries(ctx.peal, "&state=pending")), 5)
    equal(ctx.peal.get("/v1/captured", expect=200).json["items"], [])


class TableLock:
    """Somebody in psql who holds a table until told to let go."""

    def __init__(self, url, table):
        self.psql = subprocess.Popen([program("psql"), "-XAtq", "-d", url], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.say("BEGIN; SELECT format('LOCK TABLE %I.%I', schemaname, tablename) FROM pg_tables"
                 f" WHERE tablename = '{table}' \\gexec\nSELECT 'locked';")
        equal(self.psql.stdout.readline().strip(), "locked")

    def say(self, words):
        self.psql.stdin.write(words + "\n")
        self.psql.stdin.flush()

    def release(self):
        self.psql.communicate("ROLLBACK;")


@only("postgres")
def test_a_locked_table_does_not_keep_a_hold_waiting(ctx):
    make_trigger(ctx.peal)
    lock = TableLock(ctx.store_url, "event")
    answers = []
    posts = [threading.Thread(target=lambda: answers.append(
        ctx.peal.post("/v1/ingest", {"eventKind": "visit", "items": [visit()]})))
        for _ in range(4)]
    for post in posts:
        post.start()
    eventually(lambda: "waits for a lock" if waits_for_lock(ctx) else None)
    held = Deadline(5)
    hold(ctx.peal)
    assert not held.has_passed(), "the hold waited for a lock that is none of its business"
    for post in posts:
        post.join()
    equal({answer.status for answer in answers}, {503})
    assert all(answer.headers["Retry-After"] for answer in answers)
    lock.release()
    ingest_one(ctx.peal)


def waits_for_lock(ctx):
    return Cluster.get().query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                               " AND datname = current_database()", ctx.store_url)


if __name__ == "__main__":
    main()
