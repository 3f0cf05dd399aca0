"""peal top: rates, depths, channels and causes, by the public API alone."""
import json
import os
import pty
import select
import signal
import subprocess
import threading

from harness import Deadline, equal, main, run_peal
from server import peal_program
from steps import ingest, make_trigger, make_user, settle, visit


def make_trouble(peal):
    """Three deliveries wait, two are parked."""
    make_trigger(peal, "lost", channel="http:nowhere")
    ingest(peal, visit(), visit())
    settle(peal)
    peal.post("/v1/hold", {"reason": "a look"}, expect=200)
    peal.delete("/v1/triggers/lost", expect=204)
    make_trigger(peal, "kept")
    ingest(peal, visit(), visit(), visit())
    peal.post("/v1/clock", {"advance": "90s"}, expect=200)


def test_one_look_tells_what_there_is(ctx):
    make_trouble(ctx.peal)
    ran = ctx.peal.cli("top", "--once", "--json")
    equal(ran.code, 0, ran.err)
    seen = json.loads(ran.out)
    equal((seen["held"], seen["storeUp"], seen["inFlight"]), (True, True, 0))
    equal(seen["states"], {"pending": 3, "sending": 0, "retrying": 0, "waiting": 0, "parked": 2})
    equal(seen["channels"], [
        {"tenant": "default", "channel": "memory:default", "live": 3, "parked": 0,
         "oldestSeconds": 90.0},
        {"tenant": "default", "channel": "http:nowhere", "live": 0, "parked": 2,
         "oldestSeconds": 0.0}])
    equal([(item["channel"], item["count"]) for item in seen["causes"]], [("http:nowhere", 2)])
    text = ctx.peal.cli("top").out  # no terminal: once
    for words in ("HELD", "pending 3", "parked 2", "memory:default", "90.0 s", "no-channel"):
        assert words in text, text
    assert "\033" not in text, text


def test_rates_are_of_the_second_that_it_looks(ctx):
    peal = ctx.start(clock="system")
    make_trigger(peal)
    is_over = threading.Event()

    def post_on():
        while not is_over.is_set():
            ingest(peal, visit())
            is_over.wait(0.01)

    poster = threading.Thread(target=post_on)
    poster.start()
    try:
        ran = peal.cli("top", "--json")
    finally:
        is_over.set()
        poster.join()
    rates = json.loads(ran.out)["perSecond"]
    assert rates["events"] > 1 and rates["deliveries"] > 1 and rates["delivered"] > 0, ran.out


def test_without_rights_it_tells_less(ctx):
    make_trouble(ctx.peal)
    for key, channels in ((None, 0), (make_user(ctx.peal, "ingest").key, 2)):
        env = {"HOME": str(ctx.folder), "PEAL_URL": ctx.peal.url, **({"PEAL_KEY": key} if key else {})}
        ran = run_peal("top", "--once", "--json", cwd=ctx.folder, env=env)
        equal(ran.code, 0, ran.err)
        seen = json.loads(ran.out)
        equal(seen["states"]["parked"], 2)
        equal(len(seen["channels"]), channels)
        equal(seen["causes"], [])
    ctx.peal.stop()
    equal(ctx.peal.cli("top").code, 6)


def test_on_a_terminal_it_goes_on(ctx):
    make_trouble(ctx.peal)
    ours, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "PEAL_URL": ctx.peal.url,
           "PEAL_KEY": ctx.peal.key}
    process = subprocess.Popen([peal_program(), "top"], stdout=theirs, stderr=theirs, env=env,
                               cwd=ctx.folder)
    os.close(theirs)
    try:
        shown, deadline = b"", Deadline(30)
        while shown.count(b"\033[H\033[2J") < 3 and not deadline.has_passed():
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536)
        assert shown.count(b"\033[H\033[2J") >= 3, shown
        equal(process.poll(), None)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        os.close(ours)


if __name__ == "__main__":
    main()
