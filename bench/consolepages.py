"""The console at a million deliveries: what each page asks for when it is opened, beside the 100 ms it may take.

A store is filled: by the API what people and programs define and do (channels, triggers, jobs with runs,
lists with notifications, surveys with answers, keys, tenants, audit), then directly, in its own tables, a
million deliveries of all states with their events, attempts, causes, counters and a day of curves. Then
every GET that a page of web/src/pages makes on load is asked TRIES times. CALLS below has them; a page of
web/src/pages.ts that is not in it is an error. Peal is held: nothing is sent meanwhile.

A call whose p95 is over the aim though it takes little CPU, on a machine where more wants to run than
there are cores, is CROWDED, not FAIL. CONSOLE_ROWS makes it another number of deliveries.

The plan has a measure of its own: five million future sends (PLAN_ROWS).
"""
import functools
import os
import random
import re
import struct
import tempfile
import time
import urllib.parse

import lists

AIM_MS = 100
ROWS = int(os.environ.get("CONSOLE_ROWS", 1_000_000))
PLAN_ROWS = int(os.environ.get("PLAN_ROWS", 5_000_000))
TRIES = 40
DAY, HOUR, MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
WEB = os.path.join(os.path.dirname(lists.HERE), "web", "src")
PENDING, SENDING, RETRYING, WAITING, PARKED = 0, 1, 2, 3, 4

COLUMNS = {**lists.COLUMNS,
           "queue": lists.COLUMNS["queue"] + " started_at lease_until holder cause",
           "ended": lists.COLUMNS["ended"] + " detail cause",
           "counter": "writer tenant rule lane site state n",
           "sample": "tenant at pending sending retrying waiting parked delivered completed expired"
                     " cancelled discarded",
           "curve": "tenant step at part figures"}

# What each page asks for when it is opened; {name} is one of what is there, {now} and {day} are times.
CALLS = {
    "/": ["/v1/kpis", "/v1/curves", "/v1/causes?limit=50", "/v1/causes?state=retrying&limit=50",
          "/v1/deliveries?state=sending&limit=100", "/v1/channels?limit=100", "/v1/sites?limit=100",
          "/v1/dead?limit=50", "/v1/curves?step=5m&from={day}", "/v1/curves?step=1m&from={day}",
          "/v1/deliveries?dueFrom={now}&limit=10"],
    "/signin": ["/v1/session"],
    "/deliveries": ["/v1/kpis", "/v1/deliveries?limit=50", "/v1/deliveries?state=parked&limit=50",
                    "/v1/deliveries?state=retrying&limit=50", "/v1/deliveries?stuck=true&limit=50",
                    "/v1/triggers?limit=100", "/v1/causes?limit=100", "/v1/lists?limit=100"],
    "/deliveries/{id}": ["/v1/deliveries/{delivery}", "/v1/deliveries/{delivery}/attempts?limit=100",
                         "/v1/captured?delivery={delivery}&limit=20", "/v1/audit?delivery={delivery}&limit=50"],
    "/events": ["/v1/events?limit=50", "/v1/triggers?limit=200"],
    "/events/{id}": ["/v1/events/{event}", "/v1/events/{event}/explain?limit=200",
                     "/v1/events/{event}/timeline?limit=500", "/v1/deliveries?event={event}&limit=50"],
    "/notifications": ["/v1/notifications?limit=50"],
    "/notifications/{id}": ["/v1/notifications/{notification}", "/v1/notifications/{notification}/targets?limit=50"],
    "/plan": ["/v1/plan", "/v1/deliveries?dueFrom={now}&limit=50"],
    "/operations": ["/v1/operations?limit=50"],
    "/operations/{id}": ["/v1/operations/{operation}"],
    "/dead": ["/v1/dead?limit=50"],
    "/triggers": ["/v1/triggers?limit=50"],
    "/triggers/{id}": ["/v1/triggers/{trigger}", "/v1/triggers/{trigger}/events?limit=50",
                       "/v1/triggers/{trigger}/versions?limit=100", "/v1/events?kind=kind3&limit=10"],
    "/automations": ["/v1/automations?limit=50"],
    "/automations/{id}": ["/v1/automations/{automation}", "/v1/automations/{automation}/runs?limit=50",
                          "/v1/automations/{automation}/versions?limit=100"],
    "/templates": ["/v1/templates?limit=50"],
    "/templates/{id}": ["/v1/templates/{template}", "/v1/templates/{template}/versions?limit=100",
                        "/v1/events?limit=100"],
    "/jobs": ["/v1/jobs?limit=50"],
    "/jobs/{id}": ["/v1/jobs/{job}", "/v1/jobs/{job}/next?count=5", "/v1/jobs/{job}/executions?limit=50",
                   "/v1/jobs/{job}/deferred?limit=50", "/v1/jobs/{job}/versions?limit=100"],
    "/surveys": ["/v1/surveys?limit=50"],
    "/surveys/{id}": ["/v1/surveys/{survey}", "/v1/surveys/{survey}/results",
                      "/v1/surveys/{survey}/responses?limit=50", "/v1/surveys/{survey}/versions?limit=100"],
    "/campaigns": ["/v1/campaigns?limit=50"],
    "/campaigns/{id}": ["/v1/campaigns/{campaign}", "/v1/campaigns/{campaign}/failures?limit=50"],
    "/lists": ["/v1/lists?limit=50"],
    "/lists/{id}": ["/v1/lists/{list}", "/v1/lists/{list}/targets?limit=50",
                    "/v1/deliveries?list={list}&limit=50", "/v1/notifications?list={list}&limit=50"],
    "/sources": ["/v1/sources?limit=50"],
    "/sources/{id}": ["/v1/sources/{source}", "/v1/events?source={source}&limit=50", "/v1/inbox?limit=50"],
    "/integrations": ["/v1/integrations?limit=50", "/v1/providers"],
    "/integrations/{id}": ["/v1/integrations/{integration}"],
    "/polls": ["/v1/poll-groups?limit=50"],
    "/inbox": ["/v1/inbox?limit=50"],
    "/inbox/{id}": ["/v1/inbox/{hook}"],
    "/outbox": ["/v1/outbox?limit=50"],
    "/outbox/{id}": [],  # there are rows only where somebody emits in SQL
    "/channels": ["/v1/channels?limit=50"],
    "/channels/{id}": ["/v1/channels/{channel}", "/v1/curves?channel={channel}",
                       "/v1/deliveries?channel={channel}&limit=50", "/v1/channels/{channel}/versions?limit=100"],
    "/preferences": ["/v1/preferences?limit=50"],
    "/sites": ["/v1/sites?limit=50"],
    "/captured": ["/v1/captured?limit=50", "/v1/captured?channel={channel}&limit=50"],
    "/captured/{id}": ["/v1/captured/{captured}"],
    "/audit": ["/v1/audit?limit=50", "/v1/audit?from={hour}&limit=500", "/v1/audit/head"],
    "/nodes": ["/v1/nodes"],
    "/settings": ["/v1/settings"],
    "/keys": ["/v1/keys?limit=50"],
    "/tenants": ["/v1/tenants?limit=50"],
}


made = {}  # what define() made: of what is put into tables directly no notification can be opened


def pages():
    """The paths of the console's pages."""
    with open(os.path.join(WEB, "pages.ts"), encoding="utf-8") as file:
        return re.findall(r'\{ path: "([^"]+)"', file.read())


def now_us():
    return int(time.time() * 1_000_000)


def iso(at):
    return urllib.parse.quote(lists.time_text(at))


def define(peal):
    """What people and programs do: all of it by the API. Ends held."""
    def post(path, body=None):
        return peal.call("POST", path, body)

    for n in range(20):
        post("/v1/channels", {"key": f"memory:c{n:02d}", "type": "memory"})
    for n in range(50):
        post("/v1/triggers", {"id": f"t{n:02d}", "eventKind": f"kind{n % 30}",
                              "channel": f"memory:c{n % 20:02d}"})
        post("/v1/templates", {"id": f"m{n:02d}", "eventType": f"kind{n % 30}",
                               "channel": f"memory:c{n % 20:02d}", "body": "Dear {{name}}"})
    for n in range(10):
        post("/v1/automations", {"id": f"a{n}", "handler": "memory:c00"})
        post("/v1/jobs", {"name": f"j{n}", "handler": "memory:c00", "cron": "0 3 * * *"})
        post("/v1/lists", {"id": f"l{n}", "channels": ["memory:c00"],
                           "targets": [{"address": f"m{i}@example.com"} for i in range(200)]})
        post("/v1/sources", {"id": f"s{n}", "provider": "generic", "config": {"verify": {"kind": "none"}}})
        post("/v1/integrations", {"id": f"i{n}", "provider": "linear"})
        post("/v1/keys", {"name": f"k{n}", "role": "read"})
        post("/v1/tenants", {"id": f"tenant{n}", "name": f"Tenant {n}"})
        for _ in range(20):
            post(f"/v1/jobs/j{n}/trigger")
            made["notification"] = post("/v1/notifications", {"list": f"l{n}", "body": "hello"})["id"]
    question = {"id": "q", "type": "text", "text": {"en": "?"}}
    post("/v1/surveys", {"id": "v0", "questions": [question],
                         "triggers": [{"id": "asked", "eventKind": "asked", "channel": "memory:c00"}]})
    post("/v1/surveys/v0/publish")
    post("/v1/campaigns?trigger=t00", {"list": "l0"})
    for _ in range(20):
        post("/v1/ingest", {"eventKind": "kind3", "items": [{"payload": {"n": n}} for n in range(500)]})
    for n in range(500):
        post("/v1/hold", {"reason": "bench"})
        post("/v1/release")
    post("/v1/hold", {"reason": "bench"})
    made["operation"] = post("/v1/operations", {"action": "retry", "filter": {"state": "parked"}})["id"]


def rows_of(n, rules, lanes, now):
    """The rows of the nth delivery, oldest first; the newest is of now."""
    at = now - (ROWS - n) * 2_000_000
    rule, lane = rules[n * 5 % len(rules)], lanes[n * 11 % len(lanes)]
    event = lists.event_id(at, n)
    id = event[:14] + b"\0\1"
    entity = f"booking:{n % 5000}" if n % 10 == 0 else None
    yield "event", (1, event, f"kind{n % 30}", f"s{n % 12}", entity, at, '{"i":%d,"job":"GR"}' % n)
    yield "delivery", (1, id, event, f"P{n:021d}", rule, 1, lane, 0, at, f"user{n % 70000}@example.com",
                       f"cust-{n}", entity)
    cause = 1 + (1 << 40) * (n * 7 % 25)
    if n % 10 == 0:
        state = SENDING if n % 5000 == 0 else (PENDING, PENDING, RETRYING, WAITING)[n // 10 % 4]
        due = now + HOUR + n * 7919 % 14 * DAY + n * 104_729 % 86400 * 1_000_000
        lease = (at, 1 << 52, 1) if state == SENDING else (None, None, None)
        yield "queue", (1, id, lane, rule, 0, 20, state, 3 if state == WAITING else 1, due, 1, 1, 0, 1, 0,
                        at, at, *lease, cause if state == RETRYING else None)
        yield "attempt", (1, id, 1, 1, at, at + 9, 1, 0, 0)
    else:
        state = lists.ENDS[n * 13 % 100]
        is_parked = state == PARKED
        yield "ended", (1, id, lane, rule, 0, 20, state, 0, at + 9, 1, 1, 0, 1, 0, at, at, at + 9,
                        2 if is_parked else 0, 0, int(n % 97 == 0), "refused" if is_parked else None,
                        cause if is_parked else None)


def varint(n):
    out = b""
    while n > 127:
        out += bytes((n & 127 | 128,))
        n >>= 7
    return out + bytes((n,))


def curve_rows(lanes, now):
    """A day of curves, each minute with all channels (src/domain/curve.c has the form)."""
    for step, count in ((60, 1440), (3600, 24)):
        for i in range(1, count):
            at = now - now % (step * 1_000_000) - i * step * 1_000_000
            figures = b"".join(varint(lane * 2) + varint(9) + varint(8) + varint(2) + varint(1)
                               + varint(5) + b"".join(varint(3) + varint(2) for _ in range(5))
                               for lane in [0, *lanes])
            yield (1, step, at, 1 << 50 | i, figures)


def fill(store):
    """A million deliveries, and what counts them."""
    rules = [n for n, id in store.ask("SELECT rule, id FROM rule ORDER BY id") if re.match("[tjl][0-9]", id)]
    lanes = [n for n, _ in store.ask("SELECT lane, channel FROM lane WHERE channel LIKE 'memory:c%'"
                                     " ORDER BY channel")]
    now = now_us()
    batches = {table: [] for table in COLUMNS}
    counts = {}

    def write():
        for table, rows in batches.items():
            if rows:
                store.insert(table, COLUMNS[table].split(), rows)
            rows.clear()

    for n in range(ROWS):
        for table, row in rows_of(n, rules, lanes, now):
            batches[table].append(row)
            if table in ("queue", "ended"):
                key = (1 << 30, 1, row[3], row[2], 0, row[6])
                counts[key] = counts.get(key, 0) + 1
        if n % 50_000 == 49_999:
            write()
    batches["counter"] = [(*key, n) for key, n in counts.items()]
    batches["curve"] = list(curve_rows(lanes, now))
    batches["sample"] = [(1, now - now % MINUTE - i * MINUTE, *range(i, i + 10)) for i in range(1, 1440)]
    write()
    store.settle()


class Known:
    """One of each thing that is there, for the paths."""

    def __init__(self, peal):
        now = now_us()
        self.peal = peal
        self.values = {"now": iso(now), "hour": iso(now - HOUR), "day": iso(now - DAY + MINUTE),
                       "trigger": "t03", "template": "m03", "automation": "a3", "job": "j3", "survey": "v0",
                       "list": "l3", "source": "s3", "integration": "i3", "channel": "memory:c03"}
        self.values.update(made)
        self.find("delivery", "/v1/deliveries?state=parked")
        for name in ("event", "campaign", "hook", "captured"):
            self.find(name, "/v1/" + {"hook": "inbox", "captured": "captured"}.get(name, name + "s"))

    def find(self, name, path):
        try:
            items = self.peal.call("GET", path)["items"]
        except RuntimeError:
            return
        if items:
            self.values[name] = items[0].get("id") or items[0].get("deliveryId")

    def path(self, call):
        """The call's path; None where there is no such thing."""
        try:
            return call.format(**self.values)
        except KeyError:
            return None


def ask(peal, path):
    """The p95 of a call and its CPU, in ms."""
    peal.call("GET", path)
    taken, before = [], peal.cpu_ms()
    for _ in range(TRIES):
        began = time.monotonic()
        peal.call("GET", path)
        taken.append((time.monotonic() - began) * 1000)
    taken.sort()
    return taken[TRIES * 95 // 100 - 1], (peal.cpu_ms() - before) / TRIES


def verdict(p95, cpu):
    if p95 <= AIM_MS:
        return "ok"
    is_crowded = cpu <= AIM_MS / 2 and os.getloadavg()[0] > os.cpu_count()
    return "CROWDED" if is_crowded else "FAIL"


def tell(store, page, call, p95, cpu):
    said = verdict(p95, cpu)
    print(f"console_{store} {page:<20} {call:<60} p95_ms={p95:.1f} cpu_ms={cpu:.1f} aim_ms={AIM_MS} {said}",
          flush=True)
    return p95 if said == "FAIL" else min(p95, AIM_MS)


def measure_pages(peal, store):
    known, asked = Known(peal), {}
    routes = peal.call("GET", "/openapi.json")["paths"]
    for page in pages():
        for call in CALLS[page]:
            path = known.path(call)
            route = re.sub(r"\{\w+\}", "{}", call.split("?")[0])
            is_there = any(re.sub(r"\{\w+\}", "{}", one) == route for one in routes)
            if not path or not is_there:
                print(f"console_{store} {page:<20} {call:<60} not asked: {'nothing is there' if is_there else 'no such route'}")
                continue
            try:
                if path not in asked:
                    asked[path] = ask(peal, path)
                yield tell(store, page, call, *asked[path])
            except RuntimeError as error:  # the others are measured all the same
                print(f"console_{store} {page:<20} {call:<60} FAIL: {error}", flush=True)
                yield float("inf")


def with_store(program_path, kind, define_all, fill_all, measure_all):
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        store = lists.Sqlite(folder) if kind == "sqlite" else lists.Server(folder)
        try:
            start = functools.partial(lists.Peal, program_path, store, folder)
            peal = start()
            define_all(peal)
            peal.stop()
            began = time.monotonic()
            fill_all(store)
            print(f"console_{kind} filled in {time.monotonic() - began:.0f} s", flush=True)
            peal = start()
            try:
                return max(measure_all(peal, kind))
            finally:
                peal.stop()
        finally:
            store.close()


def measure(program_path, kind):
    """The slowest call of all pages, in ms, on a store of a kind; one that only waited for a crowded
    machine counts as the aim."""
    missing = set(pages()) ^ set(CALLS)
    if missing:
        raise RuntimeError(f"bench/consolepages.py and web/src/pages.ts differ: {', '.join(sorted(missing))}")
    return with_store(program_path, kind, define, fill, measure_pages)


def fill_future(store):
    """PLAN_ROWS sends in the next 14 days, a fifth of them at nine o'clock sharp."""
    lanes = [n for n, _ in store.ask("SELECT lane, channel FROM lane ORDER BY channel")]
    rules = [n for n, _ in store.ask("SELECT rule, id FROM rule ORDER BY id")]
    now, chance = now_us(), random.Random(1)

    def row(i):
        due = now + HOUR + int(chance.random() ** 1.3 * 14 * DAY)
        if i % 5 == 0:
            due += DAY - due % DAY + 9 * HOUR
        made = now // 1000 - PLAN_ROWS + i
        id = struct.pack(">QQ", made << 16 | 0x7000 | i & 0xfff, 1 << 63 | chance.getrandbits(46) << 16 | 1)
        return (1, id, lanes[i * 11 % len(lanes)], rules[i * 7 % len(rules)], 0, 20, PENDING, 1, due, 1, 0, 0,
                1, 0, now, due)

    for first in range(0, PLAN_ROWS, 100_000):
        rows = [row(i) for i in range(first, min(first + 100_000, PLAN_ROWS))]
        store.insert("queue", lists.COLUMNS["queue"].split(), rows)
    store.settle()


def measure_plan(peal, store):
    now = now_us()
    for query in ("", "?channel=memory:c03", "?trigger=t03", f"?to={iso(now + DAY)}", f"?to={iso(now + 60 * DAY)}"):
        yield tell(store, "/plan", "/v1/plan" + query, *ask(peal, "/v1/plan" + query))
    days = peal.call("GET", f"/v1/plan?to={iso(now + 60 * DAY)}")["days"]
    told = sum(day["count"] for day in days)
    print(f"console_{store} the plan tells of {told} sends; there are {PLAN_ROWS}", flush=True)
    if not 0.9 * PLAN_ROWS < told < 1.1 * PLAN_ROWS:
        raise RuntimeError("the estimate is off by more than a tenth")


def plan(program_path, kind):
    """The slowest plan of five million sends, in ms."""
    return with_store(program_path, kind, lists.define, fill_future, measure_plan)
