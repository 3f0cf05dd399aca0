"""process.py - a child process whose output is read as it comes and waited for, never slept for.

The child dies with the process that started it, whatever happens to that one.
"""
import collections
import ctypes
import os
import re
import resource
import signal
import subprocess
import threading
import time

# How many times longer than usual to wait: sanitizers make everything slower.
PATIENCE = float(os.environ.get("PEAL_TEST_PATIENCE", "1"))

LINES_KEPT = 5000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Deadline:
    """A moment on the monotonic clock after which waiting is given up."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds * PATIENCE

    def remaining(self):
        return max(0.0, self.at - time.monotonic())

    def has_passed(self):
        return self.remaining() == 0.0


class Lines:
    """The lines of one pipe, collected by a thread; whoever waits is woken by each new line."""

    def __init__(self, pipe):
        self.lines = collections.deque(maxlen=LINES_KEPT)
        self.changed = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.reader.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                self._add(line.decode("utf-8", "replace").rstrip("\n"))
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def _add(self, line):
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()

    def find(self, pattern, since=0):
        matches = (re.search(pattern, line) for line in list(self.lines)[since:])
        return next((match for match in matches if match), None)

    def wait_for(self, pattern, seconds, since=0):
        """Returns the match, or None when the pipe ended or the time is up."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or self.find(pattern, since),
                                  timeout=seconds * PATIENCE)
            return self.find(pattern, since)

    def tail(self, count):
        with self.changed:
            return list(self.lines)[-count:]

    def text(self):
        with self.changed:
            return "\n".join(self.lines)


def dies_with_parent(parent_id, death_signal, memory_max, files_max):
    def before_exec():
        LIBC.prctl(PR_SET_PDEATHSIG, death_signal)
        if memory_max:
            resource.setrlimit(resource.RLIMIT_DATA, (memory_max, memory_max))
        if files_max:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
        if os.getppid() != parent_id:
            os._exit(1)
    return before_exec


class Process:
    """A running program. Start it from the main thread: it dies with the thread that started it."""

    def __init__(self, command, *, env=None, cwd=None, user=None,
                 death_signal=signal.SIGKILL, memory_max=None, files_max=None):
        account = {"user": user, "group": user, "extra_groups": []} if user else {}
        self.command = [str(word) for word in command]
        self.child = subprocess.Popen(
            self.command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **account,
            preexec_fn=dies_with_parent(os.getpid(), death_signal, memory_max, files_max))
        self.out = Lines(self.child.stdout)
        self.err = Lines(self.child.stderr)

    @property
    def pid(self):
        return self.child.pid

    def is_running(self):
        return self.child.poll() is None

    def send(self, number):
        if self.is_running():
            self.child.send_signal(number)

    def wait(self, seconds):
        """Returns the exit code (negative for a signal); fails when the program does not end."""
        try:
            code = self.child.wait(timeout=seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.command[0]} did not end within {seconds} s") from None
        self.out.reader.join()
        self.err.reader.join()
        return code

    def kill(self):
        self.send(signal.SIGKILL)
        return self.wait(10)
