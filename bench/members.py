"""A notification to a list of 100,000 members, and what comes meanwhile.

The list goes by a memory channel: what is measured is Peal's own, resolving, sending and settling a
hundred targets at a time. Beside it, single messages go by the same channel and definitions are
saved: how long each takes, from its request until it is delivered or saved, is told with the rate.
MEMBERS makes it another number of members.
"""
import copy
import http.client
import os
import statistics
import tempfile
import threading
import time

from lists import Peal, Server, Sqlite, cpu_ns

MEMBERS = int(os.environ.get("MEMBERS", 100_000))
AIM_MS = 1000        # of a single message, beside the list
SINGLE_EVERY = 0.05  # seconds
PATIENCE = 150       # seconds, for all of them


def set_up(peal):
    peal.call("POST", "/v1/triggers", {"id": "single", "eventKind": "single",
                                       "channel": "memory:default"})
    targets = [{"address": f"to{n}@example.org", "name": f"No {n}"} for n in range(MEMBERS)]
    began = time.monotonic()
    peal.call("POST", "/v1/lists", {"id": "all", "channels": ["memory:default"],
                                    "targets": targets})
    return time.monotonic() - began


def another(peal):
    """The same server by a connection of its own."""
    beside = copy.copy(peal)
    beside.http = http.client.HTTPConnection("127.0.0.1", peal.port, timeout=120)
    return beside


def deliver_one(peal):
    """Seconds from the request of a single message until it is delivered."""
    began = time.monotonic()
    taken = peal.call("POST", "/v1/events", {"kind": "single", "payload": {"body": "It burns."}})
    path = f"/v1/deliveries/{taken['deliveries'][0]['deliveryId']}"
    while peal.call("GET", path)["state"] != "delivered":
        time.sleep(0.002)
    return time.monotonic() - began


def save_one(peal, n):
    began = time.monotonic()
    peal.call("PATCH", "/v1/triggers/single", {"expireAfter": f"{n + 1}d"})
    return time.monotonic() - began


class Meanwhile(threading.Thread):
    """Single messages and saves, while the list goes out."""

    def __init__(self, peal):
        super().__init__(daemon=True)
        self.peal, self.singles, self.saves = another(peal), [], []
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(SINGLE_EVERY):
            self.singles.append(deliver_one(self.peal) * 1000)
            self.saves.append(save_one(self.peal, len(self.saves)) * 1000)


def peak_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024


def send(peal):
    """Seconds that the notification took to reach all."""
    began = time.monotonic()
    id = peal.call("POST", "/v1/notifications", {"list": "all", "body": "It burns."})["id"]
    delivery = peal.call("GET", f"/v1/notifications/{id}")["deliveryId"]
    while peal.call("GET", f"/v1/deliveries/{delivery}")["state"] != "delivered":
        assert time.monotonic() - began < PATIENCE, "the list does not go out"
        time.sleep(0.1)
    took = time.monotonic() - began
    counts = peal.call("GET", f"/v1/notifications/{id}")["targetCounts"]
    assert counts["delivered"] == MEMBERS, counts
    return took


def measure(program_path, kind, report):
    """Targets a second; reports what else there is to tell."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        store = (Sqlite if kind == "sqlite" else Server)(folder)
        peal = Peal(program_path, store, folder)
        try:
            report(f"members_{kind}_save_seconds", set_up(peal), None, None)
            meanwhile = Meanwhile(peal)
            before = cpu_ns(peal.process.pid)
            meanwhile.start()
            took = send(peal)
            spent = (cpu_ns(peal.process.pid) - before) / 1000 / MEMBERS
            meanwhile.is_over.set()
            meanwhile.join()
            slowest = max(meanwhile.singles)
            report(f"members_{kind}_single_ms", statistics.median(meanwhile.singles), None, None)
            report(f"members_{kind}_single_worst_ms", slowest, None, AIM_MS)
            report(f"members_{kind}_definition_ms", statistics.median(meanwhile.saves), None, None)
            report(f"members_{kind}_definition_worst_ms", max(meanwhile.saves), None, AIM_MS)
            report(f"members_{kind}_rss_mb", peak_mb(peal.process.pid), None, None)
            return MEMBERS / took, None, None, {"cpu_us": spent}
        finally:
            peal.stop()
            store.close()
