"""server.py - the real program under test, as a process and as somebody to talk to."""
import collections
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
from typing import NamedTuple

from document import Document
from process import PATIENCE, Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADMIN_KEY = "pk_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
START = "2026-05-14T05:12:34Z"
LISTENING = r"listening on (https?://\S+)"
SANITIZER = r"(ERROR|WARNING): (Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:"
PASSED_ON = ("PATH", "LANG", "TZ", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")


def peal_program():
    path = pathlib.Path(os.environ.get("PEAL_BIN", ROOT / "build" / "peal")).resolve()
    assert path.is_file(), f"there is no program at {path}; try make"
    return str(path)


def is_sanitized():
    """The program was built with a sanitizer, which suffers no library before it."""
    program = pathlib.Path(peal_program()).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


class Response(NamedTuple):
    status: int
    json: object  # the parsed body; its text when it is not JSON; None when there is none
    headers: object

    @property
    def text(self):
        return self.json if isinstance(self.json, str) else json.dumps(self.json, indent=1)


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def parse_body(data):
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text) if text else None
    except json.JSONDecodeError:
        return text


def run_peal(*words, env=None, cwd=None, text=""):
    """Runs one command of the program to its end."""
    given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    done = subprocess.run([peal_program(), *map(str, words)], env={**given, **(env or {})}, cwd=cwd,
                          input=text, capture_output=True, text=True, timeout=60 * PATIENCE)
    return Ran(done.returncode, done.stdout, done.stderr)


class Client:
    """Somebody with a key. Every exchange is kept for the report of a failed test, and every answer
    is held against the program's own document."""

    documents = {}  # by program

    def __init__(self, host, key, exchanges):
        self.host = host
        self.key = key
        self.exchanges = exchanges

    def request(self, method, path, body=None, *, headers=None, raw=None, expect=None, seconds=60):
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if data is not None:
            sent["Content-Type"] = "application/json"
        response = self._exchange(method, path, data, {**sent, **(headers or {})}, seconds)
        self.exchanges.append((method, path, data, response))
        if method != "HEAD":
            self.document().check(method, path, response)
        if expect is not None and response.status != expect:
            raise AssertionError(f"{method} {path} answered {response.status}, not {expect}:\n"
                                 f"{response.text}")
        return response

    def document(self):
        program = peal_program()
        if program not in self.documents:
            answer = self._exchange("GET", "/openapi.json", None, {}, 60)
            self.documents[program] = Document(answer.json)
        return self.documents[program]

    def _exchange(self, method, path, data, headers, seconds):
        connection = http.client.HTTPConnection(self.host, timeout=seconds * PATIENCE)
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            return Response(answer.status, parse_body(answer.read()), answer.headers)
        finally:
            connection.close()

    def get(self, path, **rest):
        return self.request("GET", path, **rest)

    def post(self, path, body=None, **rest):
        return self.request("POST", path, body, **rest)

    def put(self, path, body=None, **rest):
        return self.request("PUT", path, body, **rest)

    def patch(self, path, body=None, **rest):
        return self.request("PATCH", path, body, **rest)

    def delete(self, path, **rest):
        return self.request("DELETE", path, **rest)

    def with_key(self, key):
        return Client(self.host, key, self.exchanges)


class Peal(Client):
    """One node, started on a store. restart() keeps the store, the folder and the options."""

    def __init__(self, store, folder, *, clock=f"manual={START}", allow_private="127.0.0.0/8",
                 args=(), env=None, memory_max=None, files_max=None, listen="127.0.0.1:0"):
        super().__init__(host=None, key=ADMIN_KEY, exchanges=collections.deque(maxlen=8))
        self.store = store
        self.folder = folder
        self.clock = clock
        self.listen = listen
        self.args = [*(["--allow-private", allow_private] if allow_private else []), *args]
        self.env = env or {}
        self.memory_max = memory_max  # bytes of data; None: whatever there is
        self.files_max = files_max    # descriptors; None: as many as this process may have
        self.process = None
        self.start()

    def start(self):
        given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.process = Process(
            [peal_program(), "serve", "--store", self.store, "--listen", self.listen,
             "--clock", self.clock, *self.args], cwd=self.folder,
            env={**given, "HOME": str(self.folder), "PEAL_ADMIN_KEY": ADMIN_KEY, **self.env},
            memory_max=self.memory_max, files_max=self.files_max)
        listening = self.process.out.wait_for(LISTENING, seconds=30)
        if not listening:
            self.process.kill()
            raise AssertionError(f"peal did not start: {self.process.out.text()}\n{self.log()}")
        self.url = listening[1]
        self.host = re.sub(r"^https?://", "", self.url).rstrip("/")

    def log(self, lines=40):
        return "\n".join(self.process.err.tail(lines))

    def is_running(self):
        return self.process.is_running()

    def kill9(self):
        self.process.kill()

    def stop(self):
        self.process.send(signal.SIGTERM)
        return self.process.wait(seconds=30)

    def restart(self, clock=None):
        if self.is_running():
            code = self.stop()
            assert code == 0, f"peal ended with {code} on SIGTERM"
        self.clock = clock or self.clock
        self.start()

    def sigstop(self):
        self.process.send(signal.SIGSTOP)

    def sigcont(self):
        self.process.send(signal.SIGCONT)

    def sanitizer_report(self):
        found = self.process.err.find(SANITIZER)
        return self.process.err.text() if found else None

    def cli(self, *words, text=""):
        """Runs the client against this node."""
        return run_peal(*words, cwd=self.folder, text=text,
                        env={"HOME": str(self.folder), "PEAL_URL": self.url, "PEAL_KEY": self.key})
