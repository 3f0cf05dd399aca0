"""receiver.py - the far side of an HTTP channel: a real server that records and answers as told."""
import collections
import http.server
import json
import threading
from typing import NamedTuple

from process import PATIENCE


class Received(NamedTuple):
    method: str
    path: str
    headers: object  # looked up without regard to case
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Answer(NamedTuple):
    status: int = 200
    headers: dict = {}
    body: bytes = b""
    hold: threading.Event = None  # answered only when it is set
    drop: bool = False            # the connection is closed without an answer


class Receiver:
    """Answers 200 until told otherwise.

    answer(...) changes what every request gets; answer_next(...) is for one request only, and
    several of them are used up in order.
    """

    def __init__(self):
        self.changed = threading.Condition()
        self.received = []
        self.usual = Answer()
        self.upcoming = collections.deque()
        self.closing = threading.Event()
        self.server = QuietServer(("127.0.0.1", 0), handler_for(self))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def answer(self, status=200, **rest):
        with self.changed:
            self.usual = Answer(status, **rest)

    def answer_next(self, status=200, **rest):
        with self.changed:
            self.upcoming.append(Answer(status, **rest))

    def take(self, request):
        with self.changed:
            self.received.append(request)
            self.changed.notify_all()
            return self.upcoming.popleft() if self.upcoming else self.usual

    def wait_for(self, count, seconds=15):
        """Returns the requests received as soon as there are count of them."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.received) >= count, timeout=seconds * PATIENCE)
            if len(self.received) < count:
                raise AssertionError(f"{count} requests expected, {len(self.received)} came")
            return list(self.received)

    def count(self):
        with self.changed:
            return len(self.received)

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # a sender that hangs up is part of the tests


def handler_for(receiver):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            length = int(self.headers.get("Content-Length") or 0)
            request = Received(self.command, self.path, self.headers, self.rfile.read(length))
            self.reply(receiver.take(request))

        do_GET = do_POST = do_PUT = do_DELETE = handle_any

        def reply(self, answer):
            if answer.hold:
                wait_for_either(answer.hold, receiver.closing)
            if answer.drop or receiver.closing.is_set():
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_):
            pass

    return Handler


def wait_for_either(first, second):
    while not (first.wait(0.05) or second.is_set()):
        pass
