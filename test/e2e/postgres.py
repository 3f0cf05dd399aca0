"""postgres.py - a private PostgreSQL for the tests: made in a temporary folder, gone afterwards.

PostgreSQL refuses to run as root, so root runs it as the user postgres (or peal-test, made when
there is no such user). Durability is left on, as in production.
"""
import atexit
import contextlib
import glob
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

from process import Process

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "logging_collector": "off",
    "log_min_messages": "warning",
    "lc_messages": "C",
}
STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
READY = r"database system is ready to accept connections"
names = itertools.count(1)


def program(name):
    """The newest installed one: Debian keeps the servers outside of PATH."""
    installed = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")
    newest = max(installed, key=lambda path: int(path.split("/")[4]), default=shutil.which(name))
    if not newest:
        raise RuntimeError(f"there is no {name}; try tools/setup.sh test")
    return newest


def server_user():
    if os.getuid() != 0:
        return None
    for name in ("postgres", "peal-test"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    subprocess.run(["useradd", "--system", "--user-group", "peal-test"], check=True)
    return "peal-test"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Databases:
    """A running server, known by the URL of its maintenance database."""

    def __init__(self, url):
        self.url = url

    def url_of(self, database):
        return f"{self.url.rpartition('/')[0]}/{database}"

    def query(self, sql, url=None):
        """Runs one statement and returns its rows as lists of text; Peal's tables come first."""
        done = subprocess.run([program("psql"), "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1",
                               "-d", url or self.url, "-c", sql],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PGOPTIONS": "-c search_path=peal,public"})
        if done.returncode != 0:
            raise RuntimeError(f"{sql}: {done.stderr}")
        return [line.split("\x1f") for line in done.stdout.splitlines()]

    @contextlib.contextmanager
    def locked(self, table, url):
        """Nobody else writes to the table meanwhile."""
        session = subprocess.Popen([program("psql"), "-XAtq", "-d", url], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        session.stdin.write(f"BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE; SELECT 'locked';\n")
        session.stdin.flush()
        try:
            if session.stdout.readline() != "locked\n":
                raise RuntimeError(f"{table} cannot be locked")
            yield
        finally:
            session.communicate("ROLLBACK;\n")

    def create_database(self):
        name = f"peal_{os.getpid()}_{next(names)}"
        self.query(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def drop_database(self, url):
        self.query(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")


class Postgres(Databases):
    """A cluster of its own: for the whole run, or for a test that stops and starts it."""

    def __init__(self, env=None):
        super().__init__(url=None)
        self.env = {**os.environ, **env} if env else None  # of the server alone
        self.user = server_user()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-postgres-"))
        self.process = None
        self.port = None
        atexit.register(self.close)
        if self.user:
            shutil.chown(self.folder, self.user, self.user)
        self._initialize()
        self._start_on_a_free_port()

    def _initialize(self):
        account = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        done = subprocess.run(
            [program("initdb"), "--pgdata", self.folder / "data", "--username", "postgres",
             "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"],
            capture_output=True, text=True, cwd=self.folder, stdin=subprocess.DEVNULL, **account)
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    def _start_on_a_free_port(self):
        for _ in range(5):
            self.port = free_port()
            self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
            if self._launch():
                return
        raise RuntimeError(f"PostgreSQL does not start: {self.process.err.text()}")

    def _launch(self):
        settings = {**SETTINGS, "port": self.port, "unix_socket_directories": self.folder}
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.process = Process([program("postgres"), "-D", self.folder / "data", *flags],
                               cwd=self.folder, user=self.user, env=self.env,
                               death_signal=STOP_SIGNALS["immediate"])
        return self.process.err.wait_for(READY, seconds=30) is not None

    def start(self):
        if not self._launch():
            raise RuntimeError(f"PostgreSQL does not start: {self.process.err.text()}")

    def stop(self, mode="fast"):
        self.process.send(STOP_SIGNALS[mode])
        self.process.wait(seconds=30)

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def close(self):
        if self.process and self.process.is_running():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
