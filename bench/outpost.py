"""A site's part of bench/run: how fast a backlog goes to central, and what a call costs.

Notifications are handed over by libpeal while the site is down, by a few threads at once; the site
takes them in, held, and is then let go. Central is held as well, on SQLite or PostgreSQL: it takes
notifications in and commits them, and sends none. Afterwards every one of them must be there once,
each thread's in its order. peal_notify() is timed against a site that runs (its socket) and one
that does not (its spool), each beside a bare fdatasync in the same minute.

OUTPOST_ROWS makes it another number of notifications.
"""
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import time

from chain import fresh
from lists import KEY, cpu_ns

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ROWS = int(os.environ.get("OUTPOST_ROWS", 100_000))
THREADS = 8
CALLS = 500
AIM = 50_000  # a second; 20,000 is what it must do
PATIENCE = 120


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("site", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Site:
    def __init__(self, program, folder, url, key):
        self.store = f"{folder}/site.db"
        with open(f"{folder}/site.key", "w", encoding="ascii") as file:
            file.write(key)
        self.command = [program, "site", "--store", f"sqlite:{self.store}", "--central", url,
                        "--key-file", f"{folder}/site.key", "--log-level", "warn"]
        self.process = None

    @contextlib.contextmanager
    def running(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PEAL_ADMIN_KEY": KEY})
        try:
            self.process.stdout.readline()
            yield
        finally:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def call(self, method, path, body=None):
        connection = Local(self.store + ".sock")
        connection.request(method, path, json.dumps(body or {}), {
            "Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return text

    def backlog(self):
        found = re.search(r"^peal_site_backlog (\d+)", self.call("GET", "/metrics"), re.M)
        return int(found[1])

    def wait_for(self, backlog):
        until = time.monotonic() + PATIENCE
        while self.backlog() != backlog:
            if time.monotonic() > until:
                raise RuntimeError(f"the site's backlog is {self.backlog()}, not {backlog}")
            time.sleep(0.1)  # it costs the site something to count


def notifier(folder):
    """bench/notify.c, built as a program at a site would be."""
    program = f"{folder}/notify"
    subprocess.run(["cc", "-O2", f"-I{ROOT}/src/lib", f"{ROOT}/bench/notify.c",
                    f"{ROOT}/build/src/lib/libpeal.a", "-pthread", "-o", program], check=True)
    return program


def notify(program, store, calls, threads):
    """µs of a bare sync, and of a call of each of the threads."""
    out = subprocess.run([program, store, str(calls), str(threads)], capture_output=True, text=True,
                         check=True)
    return [float(n) for n in out.stdout.split()]


def taken_in(central):
    """What central has, oldest first: the thread and the number of each notification."""
    found, cursor = [], ""
    while cursor is not None:
        page = central.call("GET", f"/v1/events?limit=500{cursor and '&cursor='}{cursor}")
        found += [tuple(map(int, event["payload"]["body"].split()[-2:])) for event in page["items"]]
        cursor = page["next"]
    return found[::-1]


def check(central):
    """Nothing is lost, nothing is doubled, and order is kept."""
    found = taken_in(central)
    for thread in range(THREADS):
        numbers = [n for one, n in found if one == thread]
        if numbers != list(range(ROWS // THREADS)):
            raise RuntimeError(f"central has {len(numbers)} of {ROWS // THREADS} notifications of a"
                               " thread, or has them in another order")


def drain(central, site):
    """Rows a second from a held backlog of ROWS to none, and the CPU µs of each at both ends."""
    central.call("POST", "/v1/hold", {"reason": "bench"})
    site.wait_for(ROWS)
    cpu = central.cpu_ms(), cpu_ns(site.process.pid) / 1e6
    began = time.monotonic()
    site.call("POST", "/v1/release")
    site.wait_for(0)
    rate = ROWS / (time.monotonic() - began)
    spent = central.cpu_ms() - cpu[0], cpu_ns(site.process.pid) / 1e6 - cpu[1]
    check(central)
    return rate, dict(zip(("central_cpu_us", "site_cpu_us"), (ms * 1000 / ROWS for ms in spent)))


def measure(program, kind, report):
    """What bench/run reports of a site whose central is on a store of a kind."""
    with fresh(program, kind) as (_, start), tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        with start() as central:
            key = central.call("POST", "/v1/keys", {"role": "site", "site": "bench"})["key"]
            site = Site(program, folder, f"http://127.0.0.1:{central.port}", key)
            calls = notifier(folder)
            with site.running():
                site.call("POST", "/v1/hold", {"reason": "bench"})
            began = time.monotonic()
            notify(calls, site.store, ROWS // THREADS, THREADS)
            report(f"site_{kind}_spooled", ROWS / (time.monotonic() - began), None, None)
            with site.running():
                rate, spent = drain(central, site)
                bare, call = notify(calls, site.store, CALLS, 1)
                report(f"site_{kind}_notify_socket_us", call, None, bare)
                site.wait_for(0)
            bare, call = notify(calls, site.store, CALLS, 1)
            report(f"site_{kind}_notify_spool_us", call, None, bare)
    return rate, None, AIM, spent
