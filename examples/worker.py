#!/usr/bin/env python3
"""worker.py - a worker with nothing but Python's standard library.

    PEAL_URL=http://127.0.0.1:7325 PEAL_KEY=pk_… ./worker.py worker:rates

It claims work and waits for it, does it in work(), sends heartbeats meanwhile, and reports what
became of it. On SIGTERM it finishes what it has and ends. Put your own work into work().
"""
import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

URL, KEY = os.environ["PEAL_URL"], os.environ["PEAL_KEY"]
LEASE = float(os.environ.get("LEASE", "60"))  # seconds; a heartbeat goes after a third of them
LOST = (OSError, http.client.HTTPException, ValueError)  # no answer, or not all of it
stopping = threading.Event()


class Permanent(Exception):
    """Trying again cannot help."""


def work(item, progress):
    """Does the work of one item and returns what there is to say about it."""
    progress(f"working on {item['payload']}")
    if item["payload"].get("fail"):
        raise RuntimeError(item["payload"]["fail"])
    if item["payload"].get("refuse"):
        raise Permanent(item["payload"]["refuse"])
    time.sleep(item["payload"].get("seconds", 0))
    return "done in Python"


def post(path, body, seconds=90):
    request = urllib.request.Request(
        f"{URL}/v1/work/{path}", json.dumps(body).encode(),
        {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def report(item, what, **members):
    """Tells until it is heard: the same report twice is answered as repeated."""
    while True:
        try:
            return post(f"{item['id']}/{what}", {"fence": item["fence"], **members}, 30)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                print(f"{item['id']}: {what} was refused ({error.code})", file=sys.stderr)
                return None  # 409: the lease ended, and it is somebody else's
        except LOST:
            pass  # Peal is away; the lease decides how long that may be
        time.sleep(1)


def beat(item, is_over):
    while not is_over.wait(LEASE / 3):
        if report(item, "heartbeat", lease=f"{LEASE:.0f}s") is None:
            return


def do(item):
    is_over = threading.Event()
    heart = threading.Thread(target=beat, args=(item, is_over))
    heart.start()
    try:
        said = work(item, lambda message: report(item, "progress", message=message))
        what, members = "done", {"message": said}
    except Permanent as error:
        what, members = "fail", {"error": str(error), "permanent": True}
    except Exception as error:  # whatever else goes wrong is worth another try
        what, members = "fail", {"error": str(error)}
    is_over.set()
    heart.join()
    report(item, what, **members)


def main():
    handler = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    while not stopping.is_set():
        try:
            items = post("claim", {"handler": handler, "max": 1, "wait": "5s",
                                   "lease": f"{LEASE:.0f}s", "worker": f"python-{os.getpid()}"})
        except LOST as error:  # away, stopping, or the handler is not there yet
            print(f"claim: {error}", file=sys.stderr)
            stopping.wait(1)
            continue
        for item in items["items"]:
            do(item)


main()
