"""The outbox's part of bench/run: what peal.emit costs the application, and how fast rows become events.

peal.emit stands beside a plain INSERT of the same row into an equal table with the indexes that an outbox written
by hand needs, both prepared, the values as parameters, each its own transaction, synced: from one connection and
from eight, with the server's CPU for one transaction. Then many in one transaction, where the CPU of the
statement itself is what is left. No Peal runs meanwhile, but one is taken to be awake.

The drain is given rows that were written while no Peal ran, and timed by what it wrote itself: by peal.emit on
PostgreSQL, by a table source on SQLite, which must also have told the table in the end.

OUTBOX_ROWS makes it another number of rows.
"""
import contextlib
import os
import sqlite3
import subprocess
import tempfile
import time

from chain import fresh
from postgres import program as server_program

ROWS = int(os.environ.get("OUTBOX_ROWS", 50_000))
SECONDS, TRIES = 3, 3  # by turns; of each the best counts, for others use the machine too
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 120
BODY = '{"guestPhone":"+919876543210","guestName":"Ada Lovelace","checkinDate":"2026-11-20","listingId":"10"}'
PLAIN = ("INSERT INTO public.plain (tenant, id, source, kind, event_kind, entity, body, status, reason, attempts,"
         " received_at) VALUES (1, gen_random_uuid(), 'sql', 0, :kind, :entity,"
         " convert_to(CAST(CAST(:body AS JSONB) AS TEXT), 'UTF8'), 0, 0, 0, 1767225600000000);\n")
EMIT = "SELECT peal.emit(:kind, CAST(:body AS JSONB), entity => :entity, tenant => 'default');\n"
MANY = 100
PREPARE = ["SELECT peal.allow('postgres', 'default')",
           "UPDATE emit_state SET manual_now = NULL", f"SELECT setval('emit_awake', {2 ** 62})",
           "CREATE TABLE public.plain (LIKE inbox)", "ALTER TABLE public.plain ADD PRIMARY KEY (tenant, id)",
           "CREATE INDEX ON public.plain (tenant, source, id) WHERE status = 0"]


def dead_cpu(store):
    """CPU seconds of the backends that have ended, once all of pgbench's have."""
    until = time.monotonic() + PATIENCE
    while store.postgres.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench'", store.url):
        if time.monotonic() > until:
            raise RuntimeError("pgbench's connections do not end")
    time.sleep(0.2)  # until they are reaped
    with open(f"/proc/{store.postgres.process.child.pid}/stat", encoding="ascii") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[13:15])) / TICKS


def pgbench(store, script, connections):
    """Transactions a second, and the server's CPU for one, in µs."""
    store.postgres.query("TRUNCATE public.plain, inbox", store.url)
    store.postgres.query("CHECKPOINT", store.url)
    before = dead_cpu(store)
    with tempfile.NamedTemporaryFile("w", suffix=".sql", prefix="peal-bench-") as file:
        file.write(script)
        file.flush()
        values = [f"-D{name}={value}" for name, value in
                  (("kind", "booking.confirmed"), ("entity", "12345"), ("body", BODY))]
        out = subprocess.run([server_program("pgbench"), "-n", "-M", "prepared", "-f", file.name, "-c",
                              str(connections), "-j", "1", "-T", str(SECONDS), *values, store.url],
                             capture_output=True, text=True, check=True).stdout
    done = int(out.partition("actually processed: ")[2].split()[0].split("/")[0])
    return float(out.partition("tps = ")[2].split()[0]), (dead_cpu(store) - before) / done * 1e6


def compare(store, many, connections):
    """Rate and CPU of peal.emit, and those of the plain INSERT: of a call, be there one or many in a transaction."""
    calls = [script if many == 1 else f"BEGIN;\n{script * many}END;\n" for script in (EMIT, PLAIN)]
    tried = [[pgbench(store, script, connections) for script in calls] for _ in range(TRIES)]
    for side in zip(*tried):
        yield max(rate for rate, _ in side) * many, min(cpu for _, cpu in side) / many


def emit(program, report):
    """A ratio of rates must not be below 1 / 1.3, one of CPU not above 1.3."""
    with fresh(program, "postgres") as (store, start):
        with start():
            pass
        for statement in PREPARE:
            store.postgres.query(statement, store.url)
        (mine, cpu), (plain, plain_cpu) = compare(store, 1, 1)
        report("emit_alone", mine, plain, None)
        report("emit_transaction_cpu_us", cpu, plain_cpu, None)
        (_, cpu), (_, plain_cpu) = compare(store, MANY, 1)
        report("emit_statement_cpu_us", cpu, plain_cpu, None)
        (mine, _), (plain, _) = compare(store, 1, 8)
        return mine, plain, None, None


def wait_until(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError(f"rows are still pending after {PATIENCE} s")
        time.sleep(0.1)


def trigger(peal):
    peal.call("POST", "/v1/triggers", {"id": "later", "eventKind": "booking.confirmed", "channel": "memory:default",
                                       "schedule": {"initialDelay": "100d"}})


def rate(times):
    first, last = times
    return ROWS * 1e6 / max(int(last) - int(first), 1)


TIMES = "SELECT MIN(processed_at), MAX(processed_at) FROM inbox WHERE status = 1"


def drain_emitted(program):
    with fresh(program, "postgres") as (store, start):
        with start() as peal:
            trigger(peal)
        store.postgres.query(f"SELECT COUNT(peal.emit('booking.confirmed', '{BODY}', entity => n::text))"
                             f" FROM generate_series(1, {ROWS}) n", store.url)
        with start():
            wait_until(lambda: not store.postgres.query("SELECT 1 FROM inbox WHERE status = 0 LIMIT 1", store.url))
        [times] = store.postgres.query(TIMES, store.url)
        return rate(times)


def drain_table(program):
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        os.environ["PEAL_TABLE_SOURCE_DIR"] = folder
        with contextlib.closing(sqlite3.connect(f"{folder}/shop.db", isolation_level=None)) as shop, \
                fresh(program, "sqlite") as (store, start):
            shop.execute("CREATE TABLE outbox_message (id INTEGER PRIMARY KEY, event_type TEXT, payload TEXT,"
                         " status TEXT DEFAULT 'Pending')")
            shop.execute("CREATE INDEX pending ON outbox_message (id) WHERE status = 'Pending'")
            shop.execute("BEGIN")
            shop.executemany("INSERT INTO outbox_message (id, event_type, payload) VALUES (?, 'booking.confirmed', ?)",
                             ((n, BODY) for n in range(ROWS)))
            shop.execute("COMMIT")
            with start() as peal:
                trigger(peal)
                peal.call("POST", "/v1/sources", {"id": "shop", "provider": "table", "config": {
                    "store": f"sqlite:{folder}/shop.db", "table": "outbox_message"}})
                wait_until(lambda: not shop.execute(
                    "SELECT 1 FROM outbox_message WHERE status = 'Pending' LIMIT 1").fetchall())
            store.open()
            [times] = store.db.execute(TIMES).fetchall()
            store.db.close()
            return rate(times)
