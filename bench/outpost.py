"""outpost.py - a site's part of bench/run: how fast a backlog goes to central, what a call costs.

A backlog of 100,000 is taken in while the site is held, then let go; central is on SQLite or
PostgreSQL. peal_notify() is timed against a site that runs (its socket) and one that does not (its
spool), each beside a bare fdatasync in the same minute.
"""
import http.client
import json
import os
import re
import socket
import subprocess
import time

ROWS = 100_000
CALLS = 500
AIM = 50_000  # a second; 20,000 is what it must do


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("site", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Site:
    def __init__(self, program, folder, url, key, admin):
        self.store = f"{folder}/site.db"
        self.admin = admin
        with open(f"{folder}/site.key", "w", encoding="ascii") as file:
            file.write(key)
        self.command = [program, "site", "--store", f"sqlite:{self.store}", "--central", url,
                        "--key-file", f"{folder}/site.key", "--log-level", "warn"]
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PEAL_ADMIN_KEY": self.admin})
        self.process.stdout.readline()

    def end(self):
        self.process.terminate()
        self.process.wait(30)

    def call(self, method, path, body=None):
        connection = Local(self.store + ".sock")
        connection.request(method, path, json.dumps(body or {}), {
            "Authorization": f"Bearer {self.admin}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        connection.close()
        return text

    def backlog(self):
        found = re.search(r"^peal_site_backlog (\d+)", self.call("GET", "/metrics"), re.M)
        return int(found[1])


def drain(site):
    """Rows a second from a held backlog of ROWS to none."""
    site.call("POST", "/v1/hold", {"reason": "bench"})
    for first in range(0, ROWS, 5000):
        items = [{"payload": {"list": "ops", "subject": "Boiler", "body": f"It is hot {n}"}}
                 for n in range(first, first + 5000)]
        site.call("POST", "/v1/ingest", {"eventKind": "boiler.hot", "items": items})
    site.call("POST", "/v1/release")
    began = time.monotonic()
    while site.backlog() > 0:
        time.sleep(0.02)
    return ROWS / (time.monotonic() - began)


def cost(root, folder, store):
    """µs of a bare sync and of a call."""
    program = f"{folder}/notify"
    subprocess.run(["cc", "-O2", f"-I{root}/src/lib", f"{root}/bench/notify.c",
                    f"{root}/build/src/lib/libpeal.a", "-o", program], check=True)
    out = subprocess.run([program, store, str(CALLS)], capture_output=True, text=True, check=True)
    return [float(n) for n in out.stdout.split()]
