#!/usr/bin/env python3
"""Measures Peal beside what users would pick instead, on this machine, in the same minutes.

  bench/run.py                all measures
  bench/run.py NAME...        some; `bench/run.py list` names them

Prints one line per measure, `name peal=… peer=… limit=… ratio_peer=… ratio_limit=…`, and writes the
same to build/bench.json. The peers and the bare floors come from bench/peers, which installs and
starts them. Client, server and database share the machine: compare only what ran together.
"""
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEAL = os.environ.get("PEAL_BIN", os.path.join(ROOT, "build", "peal"))
BENCH_DIR = os.environ.setdefault("BENCH_DIR", os.path.join(ROOT, "build", "peers"))
PG_ENV = {"PGHOST": "127.0.0.1", "PGPORT": "55432", "PGUSER": "postgres"}
KEY = "pk_bench_0123456789abcdef0123456789"
highest_rss = 0


def psql(database, sql):
    out = subprocess.run(["psql", "-XAtqc", sql, "-d", database], env={**os.environ, **PG_ENV},
                         capture_output=True, text=True, check=True)
    return out.stdout.strip()


class Peal:
    """One Peal on a fresh store, started for one measure."""

    def __init__(self, store):
        self.folder = tempfile.TemporaryDirectory(prefix="peal-bench-")
        self.store = store
        if store == "postgres":
            psql("postgres", "drop database if exists peal_bench")
            psql("postgres", "create database peal_bench")
            url = "postgres://postgres@127.0.0.1:55432/peal_bench"
        else:
            url = f"sqlite:{self.folder.name}/peal.db"
        command = [PEAL, "serve", "--store", url, "--listen", "127.0.0.1:0", "--log-level", "warn",
                   "--allow-private", "127.0.0.0/8", "--master-key-file",
                   self.folder.name + "/master.key"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PEAL_ADMIN_KEY": KEY})
        line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)$", line.strip()).group(1))
        self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def call(self, method, path, body=None):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}
        self.http.request(method, path, data, headers)
        response = self.http.getresponse()
        text = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text[:300]}")
        return text

    def delivered(self):
        text = self.call("GET", "/metrics").decode()
        return sum(int(n) for n in re.findall(r'peal_deliveries\{.*state="delivered"\} (\d+)', text))

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        global highest_rss
        status = open(f"/proc/{self.process.pid}/status").read()
        highest_rss = max(highest_rss, int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.folder.cleanup()


def peer(name):
    """Runs one of bench/peers and returns the text it printed."""
    out = subprocess.run([os.path.join(HERE, "peers"), name], capture_output=True, text=True)
    return out.stdout


def rate_of(text):
    """The best rate that a peer's output tells."""
    found = [float(n) for n in re.findall(r'"rate":\s*([\d.]+)', text)]
    found += [float(n) for n in re.findall(r"rate=([\d.]+)", text)]
    found += [float(n) for n in re.findall(r"rps=([\d.]+)", text)]
    found += [float(n) for n in re.findall(r"tps = ([\d.]+)", text)]
    found += [float(n) for n in re.findall(r"([\d.]+)/s", text)]
    return max(found) if found else 0.0


def milliseconds(text):
    match = re.match(r"([\d.]+)(us|ms|s)", text)
    return float(match.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[match.group(2)]


def wrk(url, body, connections, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write('wrk.method="POST"\nwrk.body=[==[%s]==]\n' % body)
        script.write('wrk.headers["Content-Type"]="application/json"\n')
        script.write('wrk.headers["Authorization"]="Bearer %s"\n' % KEY)
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s",
                              script.name, url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out:
        raise RuntimeError(out)
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
            milliseconds(re.search(r"99%\s+(\S+)", out).group(1)))


def later_trigger(peal, **more):
    peal.call("POST", "/v1/triggers", {"id": "later", "eventKind": "later", "channel": "memory:default",
                                       "schedule": {"initialDelay": "100d"}, **more})


def batches(kind, count, size, first=0):
    """Bodies of /v1/ingest with unique items, made before the clock starts."""
    for start in range(first, first + count, size):
        items = ",".join('{"payload":{"i":%d,"job":"GR"},"recipient":{"address":"+964770%07d"}}' % (i, i)
                         for i in range(start, min(start + size, first + count)))
        yield ('{"eventKind":"%s","items":[%s]}' % (kind, items)).encode()


def fill(peal, kind, count, first=0):
    for body in batches(kind, count, 5000, first):
        peal.call("POST", "/v1/ingest", body)


def drain(peal, count, before=0):
    """Releases a held backlog and returns deliveries a second, to the last durable settle."""
    started = time.monotonic()
    peal.call("POST", "/v1/release")
    while peal.delivered() - before < count:
        if time.monotonic() - started > 120:
            raise RuntimeError(f"only {peal.delivered()} of {count} after 120 s")
        time.sleep(0.01)
    return count / (time.monotonic() - started)


def now_trigger(peal, channel="memory:default"):
    peal.call("POST", "/v1/triggers", {"id": "now", "eventKind": "now", "channel": channel})


def settle_tables(peal):
    """What the peers' harness does after filling: statistics and a checkpoint, then measure."""
    if peal.store == "postgres":
        psql("peal_bench", "vacuum analyze")
        psql("peal_bench", "checkpoint")


def drain_of(store, count, channel=None):
    with Peal(store) as peal:
        if channel:
            peal.call("POST", "/v1/channels", channel)
        now_trigger(peal, channel["key"] if channel else "memory:default")
        peal.call("POST", "/v1/hold", {"reason": "bench"})
        fill(peal, "now", count)
        settle_tables(peal)
        return drain(peal, count)


# One function a measure. Each returns peal, peer, limit; None where there is none.

def ingest_single_postgres():
    with Peal("postgres") as peal:
        later_trigger(peal)
        mine, _ = wrk(f"http://127.0.0.1:{peal.port}/v1/events",
                      '{"kind":"later","payload":{"i":0}}', 16, 5)
    peers = max(rate_of(peer("graphile_single")), rate_of(peer("pgboss_single")))
    return mine, peers, rate_of(peer("limit_pg_insert"))


def big_event():
    payload = {"ref": "refs/heads/main", "repository": {"id": 1, "full_name": "octo/hello"},
               "commits": [{"id": "a" * 40, "message": "fix"}], "pad": ""}
    event = {"kind": "later", "payload": payload}
    payload["pad"] = "x" * (2048 - len(json.dumps(event)))
    return json.dumps(event)


def ingest_2k_sqlite():
    with Peal("sqlite") as peal:
        later_trigger(peal)
        mine, tail = wrk(f"http://127.0.0.1:{peal.port}/v1/events", big_event(), 64, 5)
    floor = peer("limit_server")
    floor_tail = milliseconds(re.search(r"p99=(\S+)", floor).group(1))
    report("ingest_2k_sqlite_p99_ms", tail, None, floor_tail)
    return mine, rate_of(peer("node_webhook")), rate_of(floor)


def ingest_bulk_postgres():
    with Peal("postgres") as peal:
        later_trigger(peal, filter={"path": "candidate.job", "op": "==", "value": "GR"},
                      dedupRecipe=["recipient.address"])
        bodies = list(batches("later", 100_000, 1000))
        started = time.monotonic()
        for body in bodies:
            peal.call("POST", "/v1/ingest", body)
        mine = 100_000 / (time.monotonic() - started)
    return mine, rate_of(peer("graphile_bulk")), rate_of(peer("limit_pg_bulk"))


def drain_postgres():
    mine = drain_of("postgres", 100_000)
    peers = max(rate_of(peer("graphile_drain")), rate_of(peer("pgboss_drain")))
    return mine, peers, rate_of(peer("limit_pg_drain"))


def drain_sqlite():
    return drain_of("sqlite", 100_000), None, rate_of(peer("limit_sqlite_drain"))


def drain_http_postgres():
    channel = {"key": "http:sink", "type": "http", "concurrency": 64,
               "config": {"url": "http://127.0.0.1:8099/sink"}}
    mine = drain_of("postgres", 20_000, channel)
    return mine, rate_of(peer("graphile_http")), rate_of(peer("limit_curl"))


def post_at_rate(peal, rate, seconds):
    """Posts events that carry their own time, at an even rate, from a few connections."""
    period, threads = 8 / rate, []

    def sender(offset):
        http_client = http.client.HTTPConnection("127.0.0.1", peal.port)
        headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}
        start = time.monotonic() + offset
        for i in range(int(rate * seconds / 8)):
            wait = start + i * period - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            body = '{"kind":"now","payload":{"t":%d}}' % int(time.time() * 1e6)
            http_client.request("POST", "/v1/events", body, headers)
            http_client.getresponse().read()

    for i in range(8):
        threads.append(threading.Thread(target=sender, args=(i / rate,)))
        threads[-1].start()
    for thread in threads:
        thread.join()


def latency_postgres():
    with Peal("postgres") as peal:
        now_trigger(peal)
        post_at_rate(peal, 200, 10)
        time.sleep(1)
        rows = psql("peal_bench", "select a.finished_at - (e.payload::json->>'t')::bigint from attempt a"
                                  " join delivery d on d.tenant = a.tenant and d.id = a.delivery"
                                  " join event e on e.tenant = d.tenant and e.id = d.event")
    taken = sorted(int(n) / 1000 for n in rows.split())
    theirs = peer("graphile_latency")
    p50, p99 = (float(re.search(rf"p{n}=([\d.]+)ms", theirs).group(1)) for n in (50, 99))
    report("latency_p99_ms", taken[int(len(taken) * 0.99)], p99, None)
    return statistics.median(taken), p50, None


def postgres_cpu():
    total = 0.0
    for pid in os.listdir("/proc"):
        try:
            name = open(f"/proc/{pid}/comm").read().strip()
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if name == "postgres":
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def million_postgres():
    empty = drain_of("postgres", 20_000)
    with Peal("postgres") as peal:
        later_trigger(peal)
        now_trigger(peal)
        fill(peal, "later", 1_000_000)
        peal.call("POST", "/v1/hold", {"reason": "bench"})
        fill(peal, "now", 20_000)
        settle_tables(peal)
        full = drain(peal, 20_000)
        before, server = peal.cpu(), postgres_cpu()
        time.sleep(10)
        report("million_idle_cpu_seconds_in_10s", peal.cpu() - before + postgres_cpu() - server, None,
               None)
    return full, empty, None


MEASURES = [ingest_single_postgres, ingest_2k_sqlite, ingest_bulk_postgres, drain_postgres, drain_sqlite,
            drain_http_postgres, latency_postgres, million_postgres]
results = []


def report(name, mine, theirs, limit):
    row = {"name": name, "peal": mine, "peer": theirs, "limit": limit,
           "ratio_peer": mine / theirs if theirs else None,
           "ratio_limit": mine / limit if limit else None}
    results.append(row)
    shown = " ".join(f"{key}={'-' if row[key] is None else format(row[key], '.4g')}"
                     for key in ("peal", "peer", "limit", "ratio_peer", "ratio_limit"))
    print(f"{name} {shown}", flush=True)


def main():
    names = sys.argv[1:]
    if names == ["list"]:
        print("\n".join(m.__name__ for m in MEASURES))
        return
    subprocess.run([os.path.join(HERE, "peers"), "start"], check=True)
    try:
        for measure in MEASURES:
            if not names or measure.__name__ in names:
                report(measure.__name__, *measure())
        report("resident_memory_mb", highest_rss, 212, 60)
    finally:
        subprocess.run([os.path.join(HERE, "peers"), "stop"], check=False)
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    with open(os.path.join(ROOT, "build", "bench.json"), "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)


main()
