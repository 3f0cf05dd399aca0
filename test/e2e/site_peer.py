"""site_peer.py - a site under test, and the line between it and central, which can be cut."""
import http.client
import os
import socket
import threading

from process import Process
from server import ADMIN_KEY, PASSED_ON, Peal, Response, parse_body, peal_program


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("site", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Unchecked:
    """A site serves other rows than the document of central says."""

    def check(self, method, path, response):
        pass


class Site(Peal):
    """`peal site` on a file, reached by its socket; key None is whoever may use that."""

    def __init__(self, ctx, central_url, key, *, name="site", clock="system", args=(), env=None):
        self.path = f"{ctx.folder}/{name}.db"
        self.central_url = central_url
        self.key_file = ctx.write(f"{name}.key", key + "\n")
        super().__init__(f"sqlite:{self.path}", ctx.folder, clock=clock, allow_private=None, args=args,
                         env=env)

    def start(self):
        given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.process = Process(
            [peal_program(), "site", "--store", self.store, "--central", self.central_url,
             "--key-file", self.key_file, "--clock", self.clock, *self.args], cwd=self.folder,
            env={**given, "HOME": str(self.folder), "PEAL_ADMIN_KEY": ADMIN_KEY, **self.env})
        listening = self.process.out.wait_for(r"listening on unix:(\S+)", seconds=30)
        if not listening:
            self.process.kill()
            raise AssertionError(f"the site did not start: {self.log()}")
        self.host = self.url = listening[1]

    def document(self):
        return Unchecked()

    def _exchange(self, method, path, data, headers, seconds):
        connection = LocalConnection(self.host, seconds)
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            return Response(answer.status, parse_body(answer.read()), answer.headers)
        finally:
            connection.close()

    def with_key(self, key):
        other = Site.__new__(Site)
        other.__dict__.update(self.__dict__, key=key)
        return other

    def operator(self):
        return self.with_key(ADMIN_KEY)

    def notify(self, n=1, expect=202, **members):
        body = {"list": "ops", "subject": "Boiler", "body": f"hot {n}", **members}
        body = {name: value for name, value in body.items() if value is not None}
        return self.post("/v1/notifications", body, expect=expect).json

    def backlog(self):
        """How many rows central has not acknowledged yet."""
        found = self.get("/metrics", expect=200).text
        return int(float(next(line.split()[1] for line in found.splitlines()
                              if line.startswith("peal_site_backlog "))))


class Line:
    """The line to central: open, cut, or losing what central answers."""

    def __init__(self, host):
        self.target = host  # host:port; central may come back elsewhere
        self.mode = "open"
        self.lost = 0  # answers
        self.lock = threading.Lock()
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def open(self):
        self.mode = "open"

    def cut(self):
        """Nobody gets through, and what is under way breaks off."""
        self.mode = "cut"
        self._break_off()

    def lose_answers(self):
        """What is asked arrives; what is answered does not."""
        self.mode = "deaf"
        self._break_off()

    def close(self):
        self.cut()
        self.listener.close()

    def _break_off(self):
        with self.lock:
            for one in self.pairs:
                for end in one:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near):
        if self.mode == "cut":
            near.close()
            return
        host, port = self.target.rsplit(":", 1)
        try:
            far = socket.create_connection((host, int(port)))
        except OSError:
            near.close()
            return
        pair = (near, far)
        with self.lock:
            self.pairs.add(pair)
        back = threading.Thread(target=self._answer, args=(near, far), daemon=True)
        back.start()
        self._copy(near, far)
        back.join()
        with self.lock:
            self.pairs.discard(pair)
        near.close()
        far.close()

    def _copy(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _answer(self, near, far):
        if self.mode != "deaf":
            self._copy(far, near)
            return
        try:
            if far.recv(1 << 16):  # central has committed: only the word of it is lost
                self.lost += 1
        except OSError:
            pass
        for end in (near, far):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
