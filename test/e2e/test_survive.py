"""The program and its store are ended, starved and cut off; nothing that was acknowledged is lost.

A power cut is beyond this file: test/survive has it, for a killed process leaves what it wrote with
the kernel. Here is the real program: what it answers, how it ends and how it comes back.
"""
import http.client
import os
import pathlib
import random
import subprocess
import threading

from harness import equal, eventually, like, main, only, slow
from steps import attempts, deliveries

KIND = "order-paid"
POSTERS = 3
RETRY = {"policy": "fixed", "interval": "1s", "max": 100}
NO_ANSWER = (OSError, http.client.HTTPException)

# Every fsync fails while the file named in the environment is there.
FAILING_SYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_or_fail(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
    if (access(getenv("SYNC_FAILS_WHILE"), F_OK) != 0)
        return real(fd);
    errno = EIO;
    return -1;
}

int fsync(int fd) { return sync_or_fail("fsync", fd); }
int fdatasync(int fd) { return sync_or_fail("fdatasync", fd); }
"""


def define(peal, receiver=None):
    """Events are kept by a memory channel and, where there is a receiver, sent to it."""
    peal.post("/v1/triggers", {"id": "kept", "eventKind": KIND, "channel": "memory:default",
                               "retry": RETRY}, expect=201)
    if receiver:
        peal.post("/v1/channels", {"key": "http:far", "type": "http",
                                   "config": {"url": receiver.url}}, expect=201)
        peal.post("/v1/triggers", {"id": "sent", "eventKind": KIND, "channel": "http:far",
                                   "retry": RETRY}, expect=201)


def event(id, **payload):
    return {"kind": KIND, "id": id, "payload": {"number": id, **payload}}


class Posters:
    """Threads that post events for ever, each until it is acknowledged, whatever happens."""

    def __init__(self, peal):
        self.peal = peal
        self.lock = threading.Lock()
        self.acknowledged = {}  # our id -> the event's id
        self.refused = {}       # status, or the error when there was no answer -> how often
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._post_on, args=(name,), daemon=True)
                        for name in range(POSTERS)]
        for thread in self.threads:
            thread.start()

    def _post_on(self, name):
        number = 0
        while not self.stopping.is_set():
            number += 1
            self._post_until_acknowledged(f"{name}-{number}")

    def _post_until_acknowledged(self, id):
        while True:
            try:
                response = self.peal.post("/v1/events", event(id), seconds=20)
                answer = response.status
            except NO_ANSWER as error:
                answer = repr(error)  # it may be stored or not: the same id is posted again
            with self.lock:
                if answer == 202:
                    self.acknowledged[id] = response.json["eventId"]
                    return
                self.refused[answer] = self.refused.get(answer, 0) + 1
            if self.stopping.wait(0.01):
                return

    def count(self):
        with self.lock:
            return len(self.acknowledged)

    def wait_for(self, more):
        """Waits until so many more are acknowledged."""
        goal = self.count() + more
        eventually(lambda: self.count() >= goal, seconds=30)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        return self.acknowledged


def check_nothing_lost(peal, acknowledged, triggers):
    """Every acknowledged event is there, with one delivery for each trigger, and delivered."""
    wanted = {(event_id, trigger) for event_id in acknowledged.values() for trigger in triggers}

    def open_ones():
        return [row for row in deliveries(peal) if row["state"] != "delivered"]

    try:
        eventually(lambda: not open_ones(), seconds=45)
    except AssertionError:
        raise AssertionError(f"not delivered: {open_ones()[:3]}") from None
    rows = deliveries(peal)
    made = [(row["eventId"], row["triggerId"]) for row in rows]
    equal(len(made), len(set(made)), "a delivery was made twice")
    equal(wanted - set(made), set(), "deliveries lost")
    # What was stored and never acknowledged was at work when its answer was lost.
    assert len(made) <= len(wanted) + len(triggers) * POSTERS, (len(made), len(wanted))
    for id, event_id in random.sample(sorted(acknowledged.items()), min(20, len(acknowledged))):
        like(peal.get(f"/v1/events/{event_id}", expect=200).json,
             {"kind": KIND, "payload": {"number": id}})
    return rows


def check_received(peal, receiver, rows):
    """Every delivery was received, and what came twice has an attempt that nobody knows about."""
    received = {}
    for request in receiver.received:
        id, _, send = request.headers["webhook-id"].rpartition(".")
        equal(send, "1")
        received[id] = received.get(id, 0) + 1
    equal({row["id"] for row in rows if row["triggerId"] == "sent"} - set(received), set(),
          "never received")
    twice = [id for id, count in received.items() if count > 1]
    for id in twice:
        verdicts = [attempt["outcome"] for attempt in attempts(peal, id)]
        assert "unknown" in verdicts, f"{id} was sent {received[id]} times: {verdicts}"
        assert received[id] <= len(verdicts), f"{id}: {received[id]} sends, {verdicts}"
    return len(twice)


@slow
def test_killed_at_any_moment_it_loses_nothing(ctx):
    seed = int(os.environ.get("PEAL_TEST_SEED") or random.randrange(10**6))
    chance = random.Random(seed)
    receiver = ctx.receiver()
    peal = ctx.start(clock="system")
    define(peal, receiver)
    posters = Posters(peal)
    for _ in range(8):
        posters.wait_for(chance.randrange(1, 60))
        peal.kill9()
        peal.start()
    posters.wait_for(20)
    acknowledged = posters.stop()
    rows = check_nothing_lost(peal, acknowledged, ["kept", "sent"])
    twice = check_received(peal, receiver, rows)
    print(f"# seed {seed}: 8 kills, {len(acknowledged)} events acknowledged, {twice} sent twice")


def mount_small(ctx):
    folder = ctx.folder / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(f"# skipped: no small disk can be mounted here: {done.stderr.strip()}")
        return None
    # After the server, which close() kills before the closers run.
    ctx.closers.append(lambda: subprocess.run(["umount", "-l", str(folder)], check=True))
    return folder


def fill(path):
    """Writes until the disk is full."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass


def post_until_refused(peal, name, acknowledged):
    for number in range(5000):
        response = peal.post("/v1/events", event(f"{name}-{number}", text="x" * 2000))
        if response.status != 202:
            return response
        acknowledged[f"{name}-{number}"] = response.json["eventId"]
    raise AssertionError("a full disk takes everything")


@only("sqlite")
def test_a_full_disk_refuses_and_goes_on_when_there_is_room(ctx):
    folder = mount_small(ctx)
    if not folder:
        return
    peal = ctx.start(store=f"sqlite:{folder}/peal.db", clock="system")
    define(peal)
    acknowledged = {}
    for round in range(3):
        ballast = folder / "ballast"
        fill(ballast)
        refused = post_until_refused(peal, f"full-{round}", acknowledged)
        equal(refused.status, 507)
        equal(refused.headers["Content-Type"], "application/problem+json")
        like(refused.json, {"code": "disk-full", "status": 507})
        for event_id in list(acknowledged.values())[-3:]:
            peal.get(f"/v1/events/{event_id}", expect=200)
        peal.get("/livez", expect=200)
        ballast.unlink()
        taken = peal.post("/v1/events", event(f"room-{round}"), expect=202)
        acknowledged[f"room-{round}"] = taken.json["eventId"]
    check_nothing_lost(peal, acknowledged, ["kept"])
    peal.restart()
    check_nothing_lost(peal, acknowledged, ["kept"])


def compile_failing_sync(ctx):
    source = ctx.write("failing_sync.c", FAILING_SYNC)
    library = ctx.folder / "failing_sync.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


@only("sqlite")
def test_a_failed_fsync_ends_the_program_unacknowledged(ctx):
    trouble = pathlib.Path(ctx.folder / "trouble")
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    peal = ctx.start(clock="system", env={
        "LD_PRELOAD": str(compile_failing_sync(ctx)), "SYNC_FAILS_WHILE": str(trouble),
        "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0"})
    define(peal)
    acknowledged = {}
    for round in range(3):
        for number in range(20):
            id = f"good-{round}-{number}"
            acknowledged[id] = peal.post("/v1/events", event(id), expect=202).json["eventId"]
        trouble.touch()
        try:
            answered = peal.post("/v1/events", event(f"bad-{round}")).status
        except NO_ANSWER:
            answered = None
        equal(answered, None, "what was not synced was answered")
        equal(peal.process.wait(seconds=10), 1, "exit code")
        assert peal.process.err.find("store.fatal"), peal.log()
        trouble.unlink()
        peal.start()
    eventually(lambda: all(row["state"] == "delivered" for row in deliveries(peal)))
    made = {row["eventId"] for row in deliveries(peal)}
    equal(set(acknowledged.values()) - made, set(), "events lost")


def check_away(peal):
    peal.get("/livez", expect=200)
    ready = peal.get("/readyz", expect=503).json
    assert ready["status"] == "not ready" and ready["reasons"], ready
    refused = peal.post("/v1/events", event("early"), expect=503)
    equal(refused.headers["Content-Type"], "application/problem+json")
    equal(refused.json["code"], "store-unavailable")
    assert int(refused.headers["Retry-After"]) > 0


@only("postgres")
def test_a_store_that_is_away_at_the_start_is_waited_for(ctx):
    cluster = ctx.private_postgres()
    url = cluster.create_database()
    cluster.stop()
    peal = ctx.start(store=url, clock="system")
    check_away(peal)
    cluster.start()
    eventually(lambda: peal.get("/readyz").status == 200, seconds=30)
    define(peal)
    taken = peal.post("/v1/events", event("late"), expect=202).json["eventId"]
    check_nothing_lost(peal, {"late": taken}, ["kept"])


@slow
@only("postgres")
def test_a_store_that_restarts_under_load_loses_nothing(ctx):
    cluster = ctx.private_postgres()
    receiver = ctx.receiver()
    peal = ctx.start(store=cluster.create_database(), clock="system")
    define(peal, receiver)
    posters = Posters(peal)
    for mode in ("fast", "immediate", "immediate"):
        posters.wait_for(100)
        cluster.restart(mode)
    posters.wait_for(50)
    cluster.stop("immediate")
    eventually(lambda: peal.get("/readyz").status == 503)
    peal.get("/livez", expect=200)
    cluster.start()
    posters.wait_for(50)
    acknowledged = posters.stop()
    equal(set(posters.refused) - {503}, set(), "refusals other than 503")
    rows = check_nothing_lost(peal, acknowledged, ["kept", "sent"])
    twice = check_received(peal, receiver, rows)
    print(f"# 4 restarts, {len(acknowledged)} events acknowledged, {twice} sent twice")


if __name__ == "__main__":
    main()
