"""The surveys' part of bench/run: how many people can answer a second.

Invitations are out; wrk answers them over CONNECTIONS connections, each once, as the page's JSON does. An answer is
acknowledged when its response, the completion, the event and a delivery for each of two subscribers are on disk. One
subscriber is told by HTTP, the other is a worker that claims; both are processes beside it that give way, as they would
be elsewhere. Told twice: while Peal is held, so that what a submit costs stands alone, and while everything is sent
meanwhile, where the cost is that of a submit with both of its deliveries made.

SUBMIT_SECONDS makes each of them another number of seconds.
"""
import asyncio
import contextlib
import multiprocessing
import os
import re
import subprocess
import tempfile
import time

from chain import fresh, wait_until
from hooks_inbox import give_way
from lists import KEY, Server, cpu_ns
from workers import HANDLER, work

SECONDS = int(os.environ.get("SUBMIT_SECONDS", 5))
CONNECTIONS = 64
RATE_MAX = 20_000  # invitations for each second, more than are answered
AIM = 5000  # a second, on SQLite
BATCH = 1000

SURVEY = {"id": "csi", "questions": [
    {"id": "rate", "type": "rating", "min": 1, "max": 10, "required": True, "text": {"en": "?"}},
    {"id": "complaint", "type": "single", "choices": [{"value": "Yes"}, {"value": "No"}], "text": {"en": "?"}},
    {"id": "what", "type": "text", "text": {"en": "?"}}],
    "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default", "schedule": {"initialDelay": "100d"}}],
    "subscribers": [{"key": "http:sink"}, {"key": HANDLER, "filter": {"questionId": "rate", "op": "<=", "value": 7}}]}
ITEM = {"payload": {"wip": "40956"}, "recipient": {"address": "+9647700000001", "locale": "ar"}}
SCRIPT = """local ids = {} for id in io.lines("%s") do ids[#ids + 1] = id end
local at, body = 0, '{"answers":{"rate":7,"complaint":"Yes","what":"The coffee was cold"},"meta":{"agentId":"a7"}}'
function request()
  at = at + 1
  return wrk.format("POST", "/s/" .. ids[at] .. "/responses", {["Content-Type"] = "application/json"}, body)
end
function done(summary, latency)
  io.write(string.format("told %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration, latency:percentile(50),
                         latency:percentile(99), summary.errors.status))
end"""


class Sink(asyncio.Protocol):
    """Says 204 to every request: Peal's are one after the other, their heads in one piece with their bodies."""
    LENGTH = re.compile(rb"content-length: (\d+)", re.I)

    def connection_made(self, transport):
        self.transport, self.rest = transport, b""

    def data_received(self, data):
        self.rest += data
        while (head := self.rest.find(b"\r\n\r\n")) >= 0:
            length = int(self.LENGTH.search(self.rest, 0, head)[1])
            if len(self.rest) < head + 4 + length:
                return
            self.rest = self.rest[head + 4 + length:]
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def serve_sink(told):
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0, backlog=1024)
    told.put(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def run_sink(told):
    give_way()
    asyncio.run(serve_sink(told))


def run_worker(port, done):
    """Claims what there is, again and again."""
    give_way()
    while True:
        work(port, KEY, done)
        time.sleep(0.02)


@contextlib.contextmanager
def beside(target, *args):
    """A process that is ended with what it stands beside."""
    process = multiprocessing.Process(target=target, args=args)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def invite(peal, count):
    """The public ids of so many invitations, none of which is due."""
    while count > 0:
        answer = peal.call("POST", "/v1/ingest", {"eventKind": "visit", "items": [ITEM] * min(count, BATCH)})
        yield from (one["deliveries"][0]["publicId"] for one in answer["items"])
        count -= BATCH


def define(peal, port):
    peal.call("POST", "/v1/channels", {"key": "http:sink", "type": "http", "concurrency": 64,
                                       "config": {"url": f"http://127.0.0.1:{port}/"}})
    peal.call("POST", "/v1/channels", {"key": HANDLER, "type": "worker"})
    peal.call("POST", "/v1/surveys", SURVEY)
    peal.call("POST", "/v1/surveys/csi/publish")


def answer_for_a_while(peal):
    """Has wrk answer; gives the answers, how many a second, their p50 and p99 in ms, and what was spent before."""
    with tempfile.NamedTemporaryFile("w") as ids, tempfile.NamedTemporaryFile("w") as script:
        ids.write("\n".join(invite(peal, SECONDS * RATE_MAX)))
        script.write(SCRIPT % ids.name)
        ids.flush(), script.flush()
        before = spent(peal)
        said = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script.name,
                               f"http://127.0.0.1:{peal.port}"], capture_output=True, text=True, check=True).stdout
    answers, duration, p50, p99, refused = map(int, re.search(r"told (\d+) (\d+) (\d+) (\d+) (\d+)", said).groups())
    if refused:
        raise RuntimeError(f"{refused} of {answers} answers were refused: {said}")
    return answers, answers * 1e6 / duration, p50 / 1000, p99 / 1000, before


def spent(peal):
    """CPU of Peal and of its server, in µs, and bytes of write-ahead log (SQLite: handed to the disk)."""
    mine, server = cpu_ns(peal.process.pid) / 1000, sum(map(cpu_ns, peal.store.processes())) / 1000
    if isinstance(peal.store, Server):
        return mine, server, int(peal.store.postgres.query("SELECT pg_current_wal_lsn() - '0/0'")[0][0])
    with open(f"/proc/{peal.process.pid}/io", encoding="ascii") as file:
        return mine, server, int(re.search(r"^write_bytes: (\d+)", file.read(), re.M)[1])


def is_told(peal, count):
    """Whether so many subscribers' deliveries are made."""
    peal.http.request("GET", "/metrics", headers={"Authorization": "Bearer " + KEY})
    text = peal.http.getresponse().read().decode()
    return sum(int(n) for n in re.findall(r'peal_deliveries\{.*state="delivered"\} (\d+)', text)) >= count


def tell(report, name, peal, told):
    """Reports one way of it; answers the rate and what one submit cost."""
    answers, rate, p50, p99, before = told
    cost = dict(zip(("cpu_us", "store_cpu_us", "wal_bytes"),
                    ((now - then) / answers for now, then in zip(spent(peal), before))))
    report(name + "_p50_ms", p50, None, None)
    report(name + "_p99_ms", p99, None, None)
    return rate, None, AIM, cost


def measure(program, kind, report):
    """Submits a second with everything sent meanwhile, and what one cost; those while Peal is held are reported."""
    os.environ["PEAL_ALLOW_PRIVATE"] = "127.0.0.0/8"
    ports, done = multiprocessing.Queue(), multiprocessing.SimpleQueue()
    with fresh(program, kind) as (_, start), start() as peal, beside(run_sink, ports):
        define(peal, ports.get())
        peal.call("POST", "/v1/hold", {"reason": "bench"})
        held = answer_for_a_while(peal)
        report(f"submits_held_{kind}", *tell(report, f"submits_held_{kind}", peal, held))
        with beside(run_worker, peal.port, done):
            peal.call("POST", "/v1/release", {})
            wait_until(lambda: is_told(peal, 2 * held[0]))
            told = answer_for_a_while(peal)
            wait_until(lambda: is_told(peal, 2 * (held[0] + told[0])))
            responses = peal.call("GET", "/v1/surveys/csi/results")["responses"]
            if responses < held[0] + told[0]:
                raise RuntimeError(f"{responses} responses for {held[0] + told[0]} answers")
            return tell(report, f"submits_{kind}", peal, told)
