"""The pull workers' part of bench/run: how many deliveries a second workers claim and report done.

WORK_WORKERS processes, each with one kept-alive connection, claim BATCH at a time and report them with one call, over
loopback, until a backlog of WORK_ROWS is done; what a cycle (one delivery claimed and done) cost Peal and its store
stands beside it. The client is as thin as it can be, a socket and a regular expression, since it shares the machine.
"""
import multiprocessing
import os
import re
import socket
import time

from chain import cost_of, fresh
from lists import KEY

ROWS = int(os.environ.get("WORK_ROWS", 100_000))
WORKERS = int(os.environ.get("WORK_WORKERS", 4))
BATCH, FILLED = 50, 5000
AIM = 20_000  # cycles a second, on a machine that does nothing else
HANDLER = "worker:bench"
ITEM = re.compile(rb'"id":"([0-9a-f-]{36})","fence":(\d+)')
LENGTH = re.compile(rb"content-length: (\d+)", re.I)


class Line:
    """A connection that sends requests and reads whole answers, and knows no more of HTTP."""

    def __init__(self, port, key):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = (f"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n").encode()

    def post(self, path, body):
        self.socket.sendall(self.head % (path, len(body)) + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        head, _, rest = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError((head + rest)[:300])
        parts, missing = [rest], int(LENGTH.search(head)[1]) - len(rest)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return b"".join(parts)

    def _more(self):
        more = self.socket.recv(1 << 20)
        if not more:
            raise RuntimeError("Peal hung up")
        return more


def work(port, key, done):
    line, count = Line(port, key), 0
    ask = b'{"handler":"%s","max":%d}' % (HANDLER.encode(), BATCH)
    while items := ITEM.findall(line.post(b"/v1/work/claim", ask)):
        told = b",".join(b'{"id":"%s","fence":%s}' % item for item in items)
        answer = line.post(b"/v1/work/done", b'{"items":[' + told + b"]}")
        if answer.count(b'"status":200') != len(items):
            raise RuntimeError(answer[:300])
        count += len(items)
    done.put(count)


def run_workers(port, key):
    """Does the backlog; answers how many, and in how many seconds."""
    done = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(port, key, done)) for _ in range(WORKERS)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    taken = time.monotonic() - began
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("a worker failed")
    return sum(done.get() for _ in workers), taken


def fill(peal):
    peal.call("POST", "/v1/channels", {"key": HANDLER, "type": "worker"})
    peal.call("POST", "/v1/triggers", {"id": "now", "eventKind": "now", "channel": HANDLER})
    for first in range(0, ROWS, FILLED):
        items = [{"payload": {"i": i, "job": "GR"}} for i in range(first, min(first + FILLED, ROWS))]
        peal.call("POST", "/v1/ingest", {"eventKind": "now", "items": items})


def measure(program, kind):
    """Cycles a second, and what one cost."""
    with fresh(program, kind) as (_, start), start() as peal:
        fill(peal)
        told = []
        spent = cost_of(peal, ROWS, lambda: told.append(run_workers(peal.port, KEY)))
        count, taken = told[0]
        if count != ROWS:
            raise RuntimeError(f"{count} of {ROWS} were done")
        return count / taken, None, AIM, {"cpu_us": spent}
