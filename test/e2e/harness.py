"""harness.py - runs the test_* functions of a file, each on both stores, and speaks TAP.

    python3 test/e2e/test_x.py [-k WORD] [--store sqlite|postgres] [--quick]

A test takes a Context: ctx.peal is a server on a fresh store with a manual clock, started on
first use; ctx.start(...) starts one with other options. Whatever a test starts is stopped after
it, and a failure prints the traceback, the last exchanges and the last lines of each server's log.

Decorators: @once for tests that need no store, @only("postgres") for one store, @slow for what
--quick leaves out.
"""
import argparse
import contextlib
import inspect
import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import threading
import traceback

from postgres import Databases, Postgres
from process import PATIENCE, Deadline
from receiver import Receiver
from server import START, Peal, run_peal

__all__ = ["Context", "Deadline", "PATIENCE", "Peal", "Postgres", "Receiver", "START", "Skip",
           "equal", "eventually", "like", "main", "once", "only", "run_peal", "slow"]

STORES = ("sqlite", "postgres")
SHARED_POSTGRES = "PEAL_TEST_POSTGRES"  # the URL of the cluster that the whole run shares
OWN_FILES = ("document.py", "harness.py", "postgres.py", "process.py", "receiver.py", "server.py")
BODY_SHOWN = 3000


class Skip(Exception):
    """What the test needs cannot be had here; the reason is told."""


def once(test):
    """The test needs no store."""
    test.stores = ("none",)
    return test


def only(*stores):
    """The test is about these stores."""
    def mark(test):
        test.stores = stores
        return test
    return mark


def slow(test):
    """The test is left out of --quick runs."""
    test.is_slow = True
    return test


def equal(actual, expected, about=""):
    if actual != expected:
        where = f"{about}: " if about else ""
        raise AssertionError(f"{where}expected {expected!r}, got {actual!r}")


def like(actual, expected, at=""):
    """Checks that actual has everything expected names; objects may have more members."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, value in expected.items():
            if name not in actual:
                raise AssertionError(f"{at}/{name} is missing in {actual!r}")
            like(actual[name], value, f"{at}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, value in enumerate(expected):
            like(actual[index], value, f"{at}/{index}")
    else:
        equal(actual, expected, at)


def eventually(check, seconds=15):
    """Waits until check() is true and returns what it gave; for tests under the real clock."""
    deadline, pause = Deadline(seconds), threading.Event()
    while True:
        result = check()
        if result:
            return result
        if deadline.has_passed():
            raise AssertionError(f"still {result!r} after {seconds} s")
        pause.wait(0.02)


class Cluster:
    """The PostgreSQL of the run, or one of this file's own; started when first needed."""

    databases = None

    @classmethod
    def get(cls):
        if cls.databases is None:
            shared = os.environ.get(SHARED_POSTGRES)
            cls.databases = Databases(shared) if shared else Postgres()
        return cls.databases


class Context:
    """What one run of one test has at hand."""

    def __init__(self, store):
        self.store = store
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-e2e-"))
        self.servers = []
        self.closers = []
        self.first = None
        self.url = None

    @property
    def store_url(self):
        if self.url is None:
            self.url = self.new_store_url()
        return self.url

    def new_store_url(self):
        if self.store == "sqlite":
            return f"sqlite:{self.folder}/peal-{len(self.closers)}.db"
        url = Cluster.get().create_database()
        self.closers.append(lambda: Cluster.get().drop_database(url))
        return url

    @property
    def peal(self):
        return self.first or self.start()

    def start(self, store=None, **options):
        """Starts one more node; the first one becomes ctx.peal."""
        server = Peal(store or self.store_url, self.folder, **options)
        self.servers.append(server)
        self.first = self.first or server
        return server

    def receiver(self):
        receiver = Receiver()
        self.closers.append(receiver.close)
        return receiver

    def private_postgres(self):
        """A cluster that this test alone may stop and start."""
        cluster = Postgres()
        self.closers.append(cluster.close)
        return cluster

    def sql(self, statement):
        """Does to the store what no API does; servers should be stopped."""
        if self.store == "postgres":
            return Cluster.get().query(statement, self.store_url)
        with contextlib.closing(sqlite3.connect(self.store_url.removeprefix("sqlite:"))) as db:
            with db:
                return [list(row) for row in db.execute(statement)]

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def stop_servers(self):
        """Ends every server and says what was wrong with the way it ended."""
        problems = []
        for server in self.servers:
            if server.is_running():
                server.sigcont()
                code = server.stop()
                problems += [f"peal ended with {code} on SIGTERM"] if code != 0 else []
            report = server.sanitizer_report()
            problems += [report] if report else []
        return problems

    def close(self):
        for server in self.servers:
            server.process.kill()
        for closer in reversed(self.closers):
            closer()
        shutil.rmtree(self.folder, ignore_errors=True)

    def report(self):
        """The last exchanges and log lines of each server, for a failed test."""
        for server in self.servers:
            for method, path, sent, response in list(server.exchanges)[-4:]:
                yield f"{method} {path} {shorten((sent or b'').decode('utf-8', 'replace'))}"
                yield f"-> {response.status} {shorten(response.text)}"
            yield f"log of {server.host} ({server.store}):"
            yield server.log(40)


def shorten(text):
    return text if len(text) <= BODY_SHOWN else f"{text[:BODY_SHOWN]}… ({len(text)} characters)"


def lines_of(error):
    """The places in the test itself, then the message; how the harness got there is left out."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__)
              if pathlib.Path(frame.filename).parent == pathlib.Path(sys.argv[0]).resolve().parent
              and pathlib.Path(frame.filename).name not in OWN_FILES]
    where = [f"{frame.filename}:{frame.lineno}: {frame.line}" for frame in places]
    if isinstance(error, AssertionError):
        return where + str(error or "it is not so").splitlines()
    return where + traceback.format_exception(error)


def run_test(test, store):
    """Returns what went wrong, as lines; none when all is well."""
    ctx = Context(store)
    try:
        test(ctx)
        problems = ctx.stop_servers()
    except Skip:
        ctx.stop_servers()
        ctx.close()
        raise
    except Exception as error:
        problems = lines_of(error)
    try:
        return problems + list(ctx.report()) if problems else []
    finally:
        ctx.close()


def tests_of(module, arguments):
    for name, test in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_") or arguments.k not in name:
            continue
        if arguments.quick and getattr(test, "is_slow", False):
            continue
        for store in getattr(test, "stores", STORES):
            if store == "none" or arguments.store in (None, store):
                yield test, store


def label(test, store):
    words = test.__name__.removeprefix("test_").replace("_", " ")
    return words if store == "none" else f"{words} [{store}]"


def print_outcome(number, name, problems):
    print(f"{'not ok' if problems else 'ok'} {number} - {name}")
    for line in "\n".join(problems).splitlines():
        print(f"# {line}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", metavar="WORD", help="only tests whose name has this")
    parser.add_argument("--store", choices=STORES)
    parser.add_argument("--quick", action="store_true", help="leave out the slow ones")
    arguments = parser.parse_args()
    chosen = sorted(tests_of(sys.modules["__main__"], arguments),
                    key=lambda pair: pair[0].__code__.co_firstlineno)
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (test, store) in enumerate(chosen, 1):
        try:
            problems = run_test(test, store)
        except Skip as reason:
            print(f"ok {number} - {label(test, store)} # SKIP {' '.join(str(reason).split())}", flush=True)
            continue
        print_outcome(number, label(test, store), problems)
        failed += bool(problems)
    sys.exit(1 if failed else 0)
