"""The audit chain and the KPIs, on either database: what sealing costs, how fast a chain is verified,
and how long the figures take beside a large queue.

The chain is made of real deliveries, first with nobody to seal them (the duty is held by a node that
does not exist), then sealed all at once: so what a delivery costs and what its three rows of the audit
cost are told apart. The queue of the KPIs is filled in its own table by SQL, all rows live, a tenth of
them due; the counters are then counted from it, and stand beside those of other tenants. Of a few tries
the quickest counts, for others use the machine too; the CPU beside it is the mean, in Peal and in the
server.

AUDIT_ROWS and KPI_ROWS make it another number of rows.
"""
import contextlib
import json
import os
import tempfile
import time

from lists import Peal, Server, Sqlite, define

AUDIT_ROWS = int(os.environ.get("AUDIT_ROWS", 500_000))
KPI_ROWS = int(os.environ.get("KPI_ROWS", 10_000_000))
ROWS_OF_ONE = 3                # Created, Attempt, Terminal
BATCH = 5000
PATIENCE = 600                 # seconds
VERIFY_TRIES, KPI_TRIES = 5, 50
VERIFY_AIM, KPI_AIM_MS = 500_000, 5
SITES = 10
OTHERS = 200_000               # counters of a thousand other tenants
FAR = 1 << 52                  # in µs; nothing made here falls due by then

ANYBODY = "DELETE FROM duty WHERE name = 'seal'"
NOBODY = f"INSERT INTO duty (name, holder, until) VALUES ('seal', -1, {FAR})"
ID = {"sqlite": "CAST(printf('%016d', i) AS BLOB)", "postgres": "lpad(to_hex(i), 32, '0')::uuid"}
NUMBERS = {"sqlite": "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
                     " SELECT i FROM n)",
           "postgres": "(SELECT i FROM generate_series(1, {rows}) AS g (i))"}


@contextlib.contextmanager
def fresh(program, kind):
    """A store that nobody has open, with its tables; and what starts a Peal on it."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        store = Sqlite(folder) if kind == "sqlite" else Server(folder)
        try:
            yield store, lambda: running(program, store, folder)
        finally:
            store.close()


@contextlib.contextmanager
def running(program, store, folder):
    peal = Peal(program, store, folder)
    try:
        yield peal
    finally:
        peal.stop()


def tell(store, sql):
    """Runs statements on a store that no Peal has open."""
    if isinstance(store, Server):
        for statement in sql:
            store.postgres.query(statement, store.url)
        return
    store.open()
    store.db.execute("PRAGMA cache_size = -500000")
    for statement in sql:
        store.db.execute(statement)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.db.close()


def wait_until(condition):
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > PATIENCE:
            raise RuntimeError(f"it did not come to its end in {PATIENCE} s")
        time.sleep(0.05)


def fill(peal, count):
    """Deliveries that wait, for Peal is held."""
    peal.call("POST", "/v1/hold", {"reason": "bench"})
    peal.call("POST", "/v1/triggers", {"id": "now", "eventKind": "now", "channel": "memory:default"})
    for first in range(0, count, BATCH):
        items = [{"payload": {"i": i}, "recipient": {"address": f"user{i}@example.org"}}
                 for i in range(first, min(first + BATCH, count))]
        peal.call("POST", "/v1/ingest", {"eventKind": "now", "items": items})


def depth(peal):
    found = peal.call("GET", "/v1/kpis")
    return found["queueDepth"] + found["scheduled"]


def cost_of(peal, count, work):
    """CPU µs that each of count things cost, in Peal and in the server."""
    before = peal.cpu_ms()
    work()
    return (peal.cpu_ms() - before) * 1000 / count


def verified(peal):
    """The verdict on the chain; that on a long one comes by an operation."""
    answer = peal.call("GET", "/v1/audit/verify")
    path = f"/v1/operations/{answer.get('id')}"
    while "ok" not in answer:
        time.sleep(0.01)
        answer = peal.call("GET", path)
    return answer


def quickest(peal, ask, tries):
    """The quickest of a few tries in ms, their mean CPU in ms, and the last answer."""
    taken, before = [], peal.cpu_ms()
    for _ in range(tries):
        started = time.monotonic()
        answer = ask()
        taken.append((time.monotonic() - started) * 1000)
    return min(taken), (peal.cpu_ms() - before) / tries, answer


def drained(peal):
    peal.call("POST", "/v1/release", {})
    wait_until(lambda: depth(peal) == 0)


def audit(program, kind, report):
    """Rows of a chain that are verified in a second; beside it, what deliveries and their rows cost."""
    count = -(-AUDIT_ROWS // ROWS_OF_ONE)
    with fresh(program, kind) as (store, start):
        with start():
            pass
        tell(store, [ANYBODY, NOBODY])
        with start() as peal:
            fill(peal, count)
            report(f"audit_{kind}_delivery_cpu_us", cost_of(peal, count, lambda: drained(peal)), None, None)
        tell(store, [ANYBODY])
        with start() as peal:
            sealed = cost_of(peal, count, lambda: wait_until(
                lambda: peal.call("GET", "/v1/audit/head")["seq"] >= count * ROWS_OF_ONE))
            report(f"audit_{kind}_sealing_cpu_us", sealed, None, None)
            taken, cpu, verdict = quickest(peal, lambda: verified(peal), VERIFY_TRIES)
            assert verdict["ok"], verdict
            rate = verdict["rows"] * 1000 / taken
            report(f"audit_{kind}_verify_rows_a_cpu_second", verdict["rows"] * 1000 / cpu, None, VERIFY_AIM)
            return rate, None, VERIFY_AIM


def queue_of(kind):
    """SQL that fills the queue and counts it: a tenth due, a fiftieth retried, spread over all rules."""
    columns = ("tenant, id, lane, rule, site, bytes, state, step, due_at, fence, attempt, failures, send,"
               " reminders_left, triggered_at, first_due_at, cause")
    numbers = NUMBERS[kind].format(rows=KPI_ROWS)
    return [f"INSERT INTO queue ({columns}) SELECT 1, {ID[kind]}, (SELECT MIN(lane) FROM lane) + i % 20,"
            f" (SELECT MIN(rule) FROM rule) + i % 50, i % {SITES + 1}, 20,"
            f" CASE WHEN i % 50 = 7 THEN 2 ELSE 0 END, 1, CASE WHEN i % 10 = 3 THEN i ELSE {FAR} + i END,"
            f" 1, 0, 0, 1, 0, i, i, CASE WHEN i % 50 = 7 THEN 1 END FROM {numbers} AS numbers",
            "INSERT INTO counter (writer, tenant, rule, lane, site, state, n)"
            " SELECT 0, tenant, rule, lane, site, state, COUNT(*) FROM queue"
            " GROUP BY tenant, rule, lane, site, state",
            "INSERT INTO counter (writer, tenant, rule, lane, site, state, n) SELECT 0, 2 + i % 1000, 1000 + i, 1000 + i,"
            f" 0, 0, 1 FROM {NUMBERS[kind].format(rows=OTHERS)} AS numbers",
            *(f"INSERT INTO site (tenant, site, name, received) VALUES (1, {n}, 'plant-{n}', 0)"
              for n in range(1, SITES + 1))]


def kpi(program, kind, report):
    """The figures beside a queue of KPI_ROWS, in ms."""
    with fresh(program, kind) as (store, start):
        with start() as peal:
            define(peal)
        tell(store, queue_of(kind))
        if kind == "postgres":
            store.settle()
        with start() as peal:
            for path, name in (("/v1/kpis?site=plant-7", "site_ms"), ("/v1/kpis", "ms")):
                taken, cpu, figures = quickest(peal, lambda path=path: peal.call("GET", path), KPI_TRIES)
                report(f"kpi_{kind}_{name}", taken, None, KPI_AIM_MS)
                report(f"kpi_{kind}_{name.replace('ms', 'cpu_ms')}", cpu, None, KPI_AIM_MS)
            print(f"kpi_{kind} {json.dumps({**figures, 'bySite': len(figures['bySite'])})}", flush=True)
            return taken, None, KPI_AIM_MS
