"""Schedules: what a tick costs beside a hundred thousand that are not due, and how late they fire.

Of so many jobs a few fire every second, the others once a year; the store is filled directly, in its
own tables. What a second costs Peal and its store (CPU) is told beside the same where there are no
others. Late is from the moment that the expression names to the start of the handler, a memory
channel: with two commits between them, in each of which the disk syncs.

SCHEDULES makes it another number of them, SECONDS another time.
"""
import json
import os
import tempfile
import time

from lists import Peal, Server, Sqlite

SCHEDULES = int(os.environ.get("SCHEDULES", 100_000))
SECONDS = int(os.environ.get("SECONDS", 10))
AIM_LATE_MS = 5
FAR = 4_102_444_800_000_000  # 2100-01-01, in µs
FIRST = 1000                 # the number of the first rule
COLUMNS = {
    "definition": "tenant kind id version is_hidden created_at updated_at generation",
    "definition_version": "tenant kind id version body created_at",
    "rule": "rule tenant kind id generation",
    "schedule": "tenant rule name version cron zone overlap next_at last_for missed skipped",
}


def rows_of(n, due, generation, begin):
    """The rows of the nth job; the first ones are due every second."""
    name, cron = f"job{n:06d}", "* * * * * *" if n < due else "0 0 1 1 *"
    body = json.dumps({"name": name, "cron": cron, "handler": "memory:default", "overlap": "allow"},
                      separators=(",", ":"))
    yield "definition", (1, "job", name, 1, 0, begin, begin, generation)
    yield "definition_version", (1, "job", name, 1, body, begin)
    yield "rule", (FIRST + n, 1, 4, name, generation)
    yield "schedule", (1, FIRST + n, "", 1, cron, "UTC", 1, begin if n < due else FAR, begin, 0, 0)


def fill(store, due, count):
    """Fills the store and returns when the first fire, in seconds: Peal has started by then."""
    (generation, _), = store.ask("SELECT n, '' FROM generation")
    begin = int(time.time()) + 3 + count // 5000
    tables = {table: [] for table in COLUMNS}
    for n in range(count):
        for table, row in rows_of(n, due, generation + 1, begin * 1_000_000):
            tables[table].append(row)
    for table, rows in tables.items():
        store.insert(table, COLUMNS[table].split(), rows)
    store.settle()
    return begin


def lateness(store):
    """How late each run began, in ms, in order; the first two seconds are the start's."""
    rows = store.ask("SELECT n.started_at - e.occurred_at, '' FROM ended n JOIN delivery d"
                     " ON d.tenant = n.tenant AND d.id = n.id JOIN event e ON e.tenant = d.tenant"
                     " AND e.id = d.event WHERE e.occurred_at > (SELECT MIN(occurred_at) + 2000000"
                     " FROM event)")
    return sorted(late / 1000 for late, _ in rows)


def run(program_path, kind, due, count):
    """CPU of a second in ms, and how late its runs were."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        store = (Sqlite if kind == "sqlite" else Server)(folder)
        try:
            Peal(program_path, store, folder).stop()
            begin = fill(store, due, count)
            peal = Peal(program_path, store, folder)
            time.sleep(max(0, begin + 2 - time.time()))
            before = peal.cpu_ms()
            time.sleep(SECONDS)
            spent = (peal.cpu_ms() - before) / SECONDS
            peal.stop()
            store.db = None
            return spent, lateness(store)
        finally:
            store.close()


def measure(program_path, kind, report):
    """The CPU of a second in which a thousand fire, in ms, beside the same with no others."""
    for due in (10, 1000):
        spent, late = run(program_path, kind, due, SCHEDULES)
        alone, _ = run(program_path, kind, due, due)
        report(f"schedules_{due}_of_{SCHEDULES}_{kind}_cpu_ms", spent, None, alone)
        report(f"schedules_{due}_{kind}_late_p50_ms", late[len(late) // 2], None, None)
        report(f"schedules_{due}_{kind}_late_p99_ms", late[len(late) * 99 // 100], None,
               AIM_LATE_MS if due == 10 else None)
    return spent, None, alone
