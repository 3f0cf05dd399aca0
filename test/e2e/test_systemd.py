"""What a service manager is told, and what it hands over: systemd's protocol on a real socket."""
import contextlib
import os
import signal
import socket
import subprocess
import sys

from harness import START, equal, eventually, main, only
from process import PATIENCE
from server import ADMIN_KEY, Process, peal_program

# Hands descriptor 3 over as systemd does: the process that is told of it is the one that gets it.
HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), "1"
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager:
    """The socket of a service manager; messages are read as they come."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.name = name
        self.heard = []

    def wait_for(self, line, seconds=30):
        """Reads on until a message has the line; answers all that came with it."""
        self.socket.settimeout(seconds * PATIENCE)
        while True:
            try:
                message = self.socket.recv(4096).decode().split("\n")
            except TimeoutError:
                raise AssertionError(f"no {line}; heard {self.heard}") from None
            self.heard.append(message)
            if any(said.startswith(line) for said in message):
                return message

    def forget(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.socket.recv(4096)


def manager(ctx, name=None):
    made = Manager(name or f"{ctx.folder}/notify")
    ctx.closers.append(made.socket.close)
    return made


def test_ready_is_said_when_it_serves_and_stopping_when_it_stops(ctx):
    told = manager(ctx)
    peal = ctx.start(env={"NOTIFY_SOCKET": told.name})
    message = told.wait_for("READY=1")
    assert any(line.startswith("STATUS=") for line in message), message
    equal(peal.get("/readyz").status, 200, "it is true")
    equal(peal.stop(), 0)
    told.wait_for("STOPPING=1")
    assert not any("WATCHDOG=1" in one for one in told.heard), "nobody asked for it"


@only("sqlite")
def test_an_abstract_socket_will_do(ctx):
    told = manager(ctx, f"@peal-e2e-{os.getpid()}")
    ctx.start(env={"NOTIFY_SOCKET": told.name})
    told.wait_for("READY=1")


@only("sqlite")
def test_a_reload_is_told(ctx):
    told = manager(ctx)
    peal = ctx.start(env={"NOTIFY_SOCKET": told.name})
    told.wait_for("READY=1")
    peal.process.send(signal.SIGHUP)
    message = told.wait_for("RELOADING=1")
    assert any(line.startswith("MONOTONIC_USEC=") for line in message), message
    told.wait_for("READY=1")


def test_the_watchdog_hears_of_it_while_it_lives(ctx):
    told = manager(ctx)
    peal = ctx.start(clock="system",
                     env={"NOTIFY_SOCKET": told.name, "WATCHDOG_USEC": str(600_000)})
    told.wait_for("READY=1")
    for _ in range(5):
        told.wait_for("WATCHDOG=1", seconds=5)
    peal.sigstop()
    told.forget()
    try:
        told.wait_for("WATCHDOG=1", seconds=2)
        raise RuntimeError("a process that stands still says that all is well")
    except AssertionError:
        pass
    peal.sigcont()
    told.wait_for("WATCHDOG=1", seconds=5)


@only("postgres")
def test_a_store_that_is_away_keeps_it_from_being_ready_and_not_alive(ctx):
    cluster, told = ctx.private_postgres(), manager(ctx)
    url = cluster.create_database()
    cluster.stop()
    peal = ctx.start(store=url, clock="system",
                     env={"NOTIFY_SOCKET": told.name, "WATCHDOG_USEC": str(900_000)})
    message = told.wait_for("STATUS=the store is away")
    assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in message), message
    told.wait_for("WATCHDOG=1")
    assert not any("READY=1" in one for one in told.heard), told.heard
    cluster.start()
    told.wait_for("READY=1", seconds=60)
    cluster.stop()
    eventually(lambda: peal.get("/readyz").status == 503)
    for _ in range(3):
        told.wait_for("WATCHDOG=1", seconds=15)
    cluster.start()


@only("sqlite")
def test_a_socket_that_was_handed_over_is_served(ctx):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        listening.set_inheritable(True)
        command = [sys.executable, "-c", HAND_OVER, str(listening.fileno()), peal_program(), "serve",
                   "--store", ctx.store_url, "--clock", f"manual={START}"]
        child = subprocess.Popen(command, pass_fds=[listening.fileno()], cwd=ctx.folder,
                                 env={"PATH": os.environ["PATH"], "HOME": str(ctx.folder),
                                      "PEAL_ADMIN_KEY": ADMIN_KEY},
                                 stdout=subprocess.PIPE, text=True)
        ctx.closers.append(child.kill)
    line = child.stdout.readline()
    equal(line, f"listening on http://127.0.0.1:{port}\n")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200"), "it is served"
    child.terminate()
    equal(child.wait(timeout=30), 0)


if __name__ == "__main__":
    main()
