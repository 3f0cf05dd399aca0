"""J12: the program starts and stays up while its database is away, says so, and goes on when it is
back: with all that fell due meanwhile, once.

Ten minutes pass in an instant: the program and its database share a clock that a file tells.
"""
import datetime
import glob
import os
import pathlib
import signal
import threading

from cron_oracle import UTC, occurrences
from harness import Skip, equal, eventually, main, only
from job_steps import make_job, scheduled
from postgres import Postgres
from server import is_sanitized
from steps import attempts, captured, delivery, ingest_one, make_trigger

FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
KIND = "service-visit-closed"
MINUTES = (1, 3, 5, 7, 9)  # when deliveries fall due while the database is away


def told_time(ctx):
    """A file that tells how far the clocks are ahead, and the environment of who goes by it."""
    if not FAKETIME or is_sanitized():
        raise Skip("no clock can be told here: faketime is not installed, or a sanitizer is in its way")
    ctx.folder.chmod(0o755)  # the database runs as somebody else
    told = ctx.write("faketime", "+0\n")
    return told, {"LD_PRELOAD": FAKETIME[0], "FAKETIME_TIMESTAMP_FILE": str(told), "FAKETIME_NO_CACHE": "1",
                  "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
                  "FAKETIME_DONT_RESET": "1"}


def private_cluster(ctx, env=None):
    cluster = Postgres(env=env)
    ctx.closers.append(cluster.close)
    return cluster, cluster.create_database()


def is_ready(peal):
    return peal.get("/readyz").status == 200


def check_it_says_so(peal):
    """Whoever asks is told: probes, callers, the command line, the log, and each of them at once."""
    equal(peal.get("/livez").status, 200)
    answer = peal.get("/readyz")
    equal(answer.status, 503)
    assert "store is away" in answer.json["reasons"][0], answer.text
    for answer in (peal.post("/v1/events", {"kind": KIND}), peal.get("/v1/deliveries"),
                   peal.post("/v1/triggers", {"id": "late", "eventKind": KIND, "channel": "memory:default"})):
        equal((answer.status, answer.json["code"]), (503, "store-unavailable"))
        assert int(answer.headers["Retry-After"]) > 0, answer.headers
    ran = peal.cli("health")
    assert ran.code != 0 and "store is away" in ran.out + ran.err, ran
    assert peal.process.err.wait_for("event=store.away", seconds=10), peal.log()
    said = [line for line in peal.process.err.tail(5000) if "event=store.away" in line]
    assert 1 <= len(said) <= 3, f"it is said when it is found out, not at each try: {said}"


@only("postgres")
def test_it_starts_without_a_database_and_goes_on_with_it(ctx):
    cluster, store = private_cluster(ctx)
    first = ctx.start(clock="system", store=store)
    make_trigger(first, schedule={"initialDelay": "1s"})
    id = ingest_one(first)
    first.kill9()
    cluster.stop()
    peal = ctx.start(clock="system", store=store)
    check_it_says_so(peal)
    cluster.start()
    eventually(lambda: is_ready(peal), 30)
    assert peal.process.err.find("event=store.up"), peal.log()
    eventually(lambda: delivery(peal, id)["state"] == "delivered", 30)
    equal(len(attempts(peal, id)), 1)
    equal(peal.cli("health").code, 0)


def make_due(peal):
    """Deliveries by the minute at which they fall due."""
    due = {}
    for minutes in MINUTES:
        make_trigger(peal, f"in-{minutes}", schedule={"initialDelay": f"{minutes}m"})
        due[minutes] = ingest_one(peal)
        peal.delete(f"/v1/triggers/in-{minutes}", expect=204)
    return due


def send_until(peal, receiver, gate):
    """A delivery that is under way until the gate opens."""
    receiver.answer(200, hold=gate)
    peal.post("/v1/channels", {"key": "http:out", "type": "http", "timeout": "60s",
                               "config": {"url": receiver.url}}, expect=201)
    make_trigger(peal, "sent", eventKind="sent", channel="http:out")
    made = peal.post("/v1/events", {"kind": "sent"}, expect=202).json
    receiver.wait_for(1)
    return made["deliveries"][0]["deliveryId"]


@only("postgres")
def test_ten_minutes_without_a_database_across_what_falls_due(ctx):
    told, env = told_time(ctx)
    cluster, store = private_cluster(ctx, env)
    peal, receiver, gate = ctx.start(clock="system", store=store, env=env), ctx.receiver(), threading.Event()
    due, sent = make_due(peal), send_until(peal, receiver, gate)
    cluster.stop("immediate")
    eventually(lambda: not is_ready(peal), 30)
    told.write_text("+10m\n")
    gate.set()  # he answers, and nobody can write it down
    check_it_says_so(peal)
    cluster.start()
    eventually(lambda: is_ready(peal), 30)
    for minutes, id in due.items():
        eventually(lambda: delivery(peal, id)["state"] == "delivered", 30)
        equal(len(captured(peal, id)), 1, f"due after {minutes} minutes")
    eventually(lambda: delivery(peal, sent)["state"] == "delivered", 30)
    equal([one["outcome"] for one in attempts(peal, sent)], ["delivered"])
    equal(receiver.count(), 1)


@only("postgres")
def test_ten_minutes_without_a_database_across_occurrences(ctx):
    """What was missed is made up by each job's policy, and counted."""
    told, env = told_time(ctx)
    cluster, store = private_cluster(ctx, env)
    peal = ctx.start(clock="system", store=store, env=env)
    for missed in ("skip", "once", "all"):
        make_job(peal, missed, cron="* * * * *", missed=missed, overlap="allow")
    cluster.stop("immediate")
    eventually(lambda: not is_ready(peal), 30)
    before = datetime.datetime.now(UTC)
    told.write_text("+10m\n")
    cluster.start()
    eventually(lambda: is_ready(peal), 30)
    eventually(lambda: len(scheduled(peal, "all")) >= 10, 30)
    after = datetime.datetime.now(UTC) + datetime.timedelta(minutes=10)
    every, once, skipped = (scheduled(peal, missed) for missed in ("all", "once", "skip"))
    expected = occurrences("* * * * *", "UTC", before, after)
    equal([at for at in every if at <= after], expected)
    assert 1 <= len(once) <= 2 and set(once) <= set(expected[-2:]), f"the newest, and maybe the next: {once}"
    assert set(skipped) <= set(expected[-1:]), f"nothing that was missed: {skipped}"
    for missed in ("skip", "once"):
        assert peal.process.err.find(f"schedule.missed.*job=.{missed}"), peal.log()


def stop_all(cluster, number):
    """Signals the server and all of its own processes."""
    pids = cluster.process.pid, *children_of(cluster.process.pid)
    for pid in pids:
        os.kill(pid, number)


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@only("postgres")
def test_a_database_that_hangs_is_away(ctx):
    """Its connections stand, and nothing comes back on them."""
    cluster, store = private_cluster(ctx)
    peal = ctx.start(clock="system", store=store)
    make_trigger(peal, schedule={"initialDelay": "1s"})
    id = ingest_one(peal)
    stop_all(cluster, signal.SIGSTOP)
    try:
        eventually(lambda: not is_ready(peal), 60)
        equal(peal.get("/livez").status, 200)
    finally:
        stop_all(cluster, signal.SIGCONT)
    eventually(lambda: is_ready(peal), 30)
    eventually(lambda: delivery(peal, id)["state"] == "delivered", 30)
    equal(len(captured(peal, id)), 1)


if __name__ == "__main__":
    main()
