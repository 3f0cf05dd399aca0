"""libpeal as a stranger has it: installed elsewhere, with a site and without one, on a bad day."""
import contextlib
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading

from harness import Skip, equal, eventually, main, once, only, run_peal
from server import peal_program
from test_sites import drained, joined, notify, numbers

BUILD = pathlib.Path(peal_program()).parent
EXAMPLE = BUILD / "src" / "lib" / "example_notify"
HEADER = b"peal spool 1\n\n\n\0"

# Every sync leaves a byte in the file that SYNCS names.
COUNTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int counted(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
    int counter = open(getenv("SYNCS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (counter < 0 || write(counter, "x", 1) != 1)
        abort();
    close(counter);
    return real(fd);
}

int fsync(int fd) { return counted("fsync", fd); }
int fdatasync(int fd) { return counted("fdatasync", fd); }
"""


class Syncs:
    """How often a program syncs that is started with env."""

    def __init__(self, ctx):
        library = ctx.folder / "counted.so"
        source = ctx.write("counted.c", COUNTED)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self.file = ctx.write("syncs", "")
        self.env = {"LD_PRELOAD": str(library), "SYNCS": str(self.file),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    @contextlib.contextmanager
    def between(self, least, most):
        before = self.file.stat().st_size
        yield
        made = self.file.stat().st_size - before
        assert least <= made <= most, f"{made} syncs, not {least} to {most}"


def tell(store, text, program=EXAMPLE, env=None, **options):
    """Runs the example; its answer is its exit code, the id and what it says otherwise."""
    ran = subprocess.run([program, store, "ops", text], capture_output=True, text=True,
                         env={**os.environ, **(env or {})}, **options)
    return ran.returncode, ran.stdout.split(), ran.stderr.strip()


@once
def test_a_stranger_builds_the_example_from_what_is_installed(ctx):
    if not shutil.which("meson") or not shutil.which("pkg-config"):
        raise Skip("meson and pkg-config are needed")
    prefix = ctx.folder / "prefix"
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", prefix],
                   check=True, capture_output=True)
    described, = prefix.rglob("libpeal.pc")
    manual, = prefix.rglob("libpeal.3")
    env = {**os.environ, "PKG_CONFIG_PATH": str(described.parent), "PKG_CONFIG_SYSROOT_DIR": str(prefix)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libpeal"], env=env, check=True,
                           capture_output=True, text=True).stdout.split()
    source = shutil.copy(BUILD.parent / "src" / "lib" / "example.c", ctx.folder)
    built = ctx.folder / "tell"
    subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", source, *flags,
                    "-o", built], check=True)
    code, said, wrong = tell(ctx.folder / "site.db", "hot", program=built,
                             env={"LD_LIBRARY_PATH": str(described.parent.parent)})
    equal((code, said[1:], wrong), (0, ["Forwarding"], ""))
    public = re.findall(r"^PEAL_API [^;]*?\b(peal_\w+)\(", (prefix.rglob("peal.h").__next__()).read_text(),
                        re.M)
    for name in [*public, "PEAL_OUTDATED"]:
        assert name in manual.read_text(), f"the manual does not tell of {name}"


@once
def test_a_call_costs_one_sync_in_the_spool(ctx):
    syncs, store = Syncs(ctx), ctx.folder / "site.db"
    with syncs.between(3, 3):  # the header and the folder, the first time
        equal(tell(store, "first", env=syncs.env)[0], 0)
    for n in range(3):
        with syncs.between(1, 1):
            equal(tell(store, f"hot {n}", env=syncs.env)[0], 0)


@only("sqlite")
def test_a_call_costs_one_sync_at_the_site(ctx):
    syncs = Syncs(ctx)
    site, line = joined(ctx, env=syncs.env)
    line.cut()
    site.notify(0)
    with syncs.between(40, 52):  # a claim that finds no central, and what it does by itself
        for n in range(1, 41):
            equal(tell(site.path, f"hot {n}")[0], 0)
    line.open()
    drained(site)
    equal(numbers(ctx.peal), list(range(41)))


class Answering:
    """Stands where a site's socket would, and answers every call with the same bytes."""

    def __init__(self, ctx, store, answer):
        self.asked, self.answer = 0, answer
        pathlib.Path(f"{store}.sock").unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(f"{store}.sock")
        self.listener.listen()
        ctx.closers.append(self.listener.close)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                self.asked += 1
                with near, near.makefile("rb") as calls:
                    head = b"".join(iter(calls.readline, b"\r\n"))
                    calls.read(int(re.search(rb"Content-Length: (\d+)", head)[1]))
                    near.sendall(self.answer)


def whole(status, body=b"{}"):
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@once
def test_only_a_whole_answer_of_the_site_counts(ctx):
    """What it does not take goes to the spool; what it refuses for good goes nowhere."""
    cases = [(whole(202), 0, False), (whole(202)[:-1], 0, True), (b"HTTP/1.1 202", 0, True),
             (b"", 0, True), (whole(503), 0, True), (whole(507), 0, True), (whole(404), 0, True),
             (whole(400), 1, False), (whole(413), 1, False), (whole(422), 1, False)]
    for number, (answer, code, is_spooled) in enumerate(cases):
        store = ctx.folder / f"site-{number}.db"
        site = Answering(ctx, store, answer)
        equal(tell(store, "hot")[0], code, answer)
        assert site.asked > 0, answer
        spool = pathlib.Path(f"{store}.spool")
        equal(spool.exists() and b"hot" in spool.read_bytes(), is_spooled, answer)


@once
def test_nothing_overtakes_what_waits_in_the_spool(ctx):
    store = ctx.folder / "site.db"
    equal(tell(store, "first")[0], 0)
    site = Answering(ctx, store, whole(202))
    equal(tell(store, "second")[0], 0)
    equal(site.asked, 0)
    found = pathlib.Path(f"{store}.spool").read_bytes()
    assert 0 < found.find(b"first") < found.find(b"second"), found


class Notification(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in
                ("list", "subject", "body", "type", "type_data", "instance", "script")]


class Library:
    """libpeal inside this process."""

    def __init__(self, store):
        self.calls = ctypes.CDLL(str(BUILD / "src" / "lib" / "libpeal.so.0"))
        self.calls.peal_open.restype = ctypes.c_void_p
        self.calls.peal_notify.argtypes = [ctypes.c_void_p, ctypes.POINTER(Notification), ctypes.c_char_p]
        self.peal = self.calls.peal_open(str(store).encode())

    def notify(self, n):
        told = Notification(list=b"ops", body=b"hot %d" % n)
        equal(self.calls.peal_notify(self.peal, told, ctypes.create_string_buffer(37)), 0)


@only("sqlite")
def test_the_spool_is_taken_in_while_programs_append(ctx):
    """The site listens elsewhere: all go by the spool, which is read and cut meanwhile."""
    site, _ = joined(ctx, args=("--listen", f"unix:{ctx.folder}/elsewhere.sock"))
    library = Library(site.path)

    def program(first):
        for n in range(first, first + 300):
            library.notify(n)
    programs = [threading.Thread(target=program, args=(first,)) for first in (0, 1000)]
    for one in programs:
        one.start()
    for one in programs:
        one.join()
    eventually(lambda: len(numbers(ctx.peal)) >= 600, 30)
    drained(site)
    found = numbers(ctx.peal)
    equal([n for n in found if n < 1000], list(range(300)))
    equal([n for n in found if n >= 1000], list(range(1000, 1300)))


@once
def test_a_call_that_failed_tells_its_id(ctx):
    library, id = Library(ctx.folder / "nowhere" / "site.db"), ctypes.create_string_buffer(37)
    told = Notification(list=b"ops", body=b"hot")
    failed = library.calls.peal_notify(library.peal, told, id)
    assert failed != 0 and len(id.value) == 36, (failed, id.value)
    before = id.value
    equal(library.calls.peal_notify(library.peal, told, id), failed)
    equal(id.value, before)
    nothing = ctypes.create_string_buffer(37)
    library.calls.peal_notify(library.peal, Notification(list=b"ops", body=b"\xff"), nothing)
    equal(nothing.value, b"")


@once
def test_a_full_disk_is_told_and_loses_nothing(ctx):
    store = ctx.folder / "site.db"
    equal(tell(store, "hot 0")[0], 0)
    spool = pathlib.Path(f"{store}.spool")
    kept = spool.read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) + 100, resource.RLIM_INFINITY))
    code, said, wrong = tell(store, "x" * 1000, preexec_fn=limit)
    equal((code, said), (1, []))
    assert "full" in wrong, wrong
    equal(spool.read_bytes(), kept)
    equal(tell(store, "hot 1")[0], 0)
    assert b"hot 1" in spool.read_bytes()


@once
def test_what_cannot_be_written_is_told_with_its_reason(ctx):
    code, _, wrong = tell(ctx.folder / "nowhere" / "site.db", "hot")
    equal(code, 1)
    assert "No such file or directory" in wrong, wrong
    (ctx.folder / "site.db.spool").mkdir()
    told = run_peal("notify", "ops", "--body", "hot", "--site", ctx.folder / "site.db")
    equal(told.code, 1)
    assert "Is a directory" in told.err, told.err


@only("sqlite")
def test_a_spool_of_a_newer_peal_is_left_alone(ctx):
    site, _ = joined(ctx)
    site.stop()
    spool = pathlib.Path(site.path + ".spool")
    newer = HEADER.replace(b"1", b"2") + b"\x1ePL2 and what only a newer Peal can read"
    spool.write_bytes(newer)
    code, said, wrong = tell(site.path, "hot")
    equal((code, said), (1, []))
    assert "newer" in wrong, wrong
    refused = run_peal("site", "--store", site.store, "--central", site.central_url, "--key-file",
                       site.key_file)
    assert refused.code != 0 and "newer Peal" in refused.err and str(spool) in refused.err, refused.err
    equal(spool.read_bytes(), newer)


def test_two_programs_and_a_site_that_dies_keep_their_orders(ctx):
    site, line = joined(ctx)
    failed = []

    def program(first):
        for n in range(first, first + 12):
            ran = notify(site, "ops", "--body", f"hot {n}")
            failed.extend([ran.err] if ran.code else [])
    programs = [threading.Thread(target=program, args=(first,)) for first in (0, 100)]
    for one in programs:
        one.start()
    for wreck in (site.kill9, line.cut):
        wreck()
        site.kill9()
        site.start()
    line.open()
    for one in programs:
        one.join()
    equal(failed, [])
    drained(site)
    found = numbers(ctx.peal)
    equal([n for n in found if n < 100], list(range(12)))
    equal([n for n in found if n >= 100], list(range(100, 112)))


if __name__ == "__main__":
    main()
