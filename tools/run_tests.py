#!/usr/bin/env python3
"""run_tests.py - runs every test there is and ends with the line "N passed, N failed".

With --lint, tools/lint.sh comes first and counts as one test. Then come the programs that Meson
knows (unit tests and suites) and the files of test/e2e, several at a time. One private PostgreSQL
serves the whole run; its URL is in PEAL_TEST_POSTGRES. What fails is printed in full. A program
that dies without having reported a failure counts as one.

    tools/run_tests.py [--build build] [--lint] [--quick] [--only meson|e2e] [--suites unit,suite,fuzz] [FILE OF test/e2e …]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
E2E = ROOT / "test" / "e2e"
sys.path.insert(0, str(E2E))

from postgres import Postgres  # noqa: E402 - found in test/e2e

AT_ONCE = (os.cpu_count() or 1) + 2  # the tests mostly wait for a disk
FILE_SECONDS = 900
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={ROOT}/tools/tsan.supp",
}


class Tally(NamedTuple):
    passed: int
    failed: int

    def __add__(self, other):
        return Tally(self.passed + other.passed, self.failed + other.failed)


NOTHING = Tally(0, 0)


def tally_tap(text, ended_well):
    """Counts a TAP report. Tests that were planned but not reported have failed."""
    passed = len(re.findall(r"^ok\b(?!.*# SKIP)", text, re.M))
    skipped = len(re.findall(r"^ok\b.*# SKIP", text, re.M))
    failed = len(re.findall(r"^not ok\b", text, re.M))
    plan = re.search(r"^1\.\.(\d+)", text, re.M)
    failed += max(0, int(plan[1]) - passed - skipped - failed) if plan else 0
    return Tally(passed, failed if ended_well or failed else 1)


def failures_of_tap(text):
    """The failed tests with their diagnostics, which stand before (C) or after (Python) them."""
    return [line for line in text.splitlines() if not re.match(r"ok\b|1\.\.", line)]


def print_failure(name, lines):
    print(f"\n--- failed: {name}")
    print("\n".join(lines), flush=True)


def tally_meson_test(row):
    ended_well = row["result"] in ("OK", "EXPECTEDFAIL")
    if row["result"] == "SKIP":
        return NOTHING
    is_tap = re.search(r"^1\.\.\d+", row["stdout"], re.M)
    tally = tally_tap(row["stdout"], ended_well) if is_tap else Tally(ended_well, not ended_well)
    if tally.failed:
        lines = failures_of_tap(row["stdout"]) + row.get("stderr", "").splitlines()
        print_failure(f"{row['name']} ({row['result'].lower()})", lines)
    return tally


def run_meson(build, env, patience, suites):
    chosen = [word for suite in suites for word in ("--suite", suite)]
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    done = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--timeout-multiplier",
                           str(patience), *chosen], env=env, capture_output=True, text=True)
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    tally = sum((tally_meson_test(row) for row in rows), NOTHING)
    if done.returncode != 0 and not tally.failed:
        print_failure("meson test", (done.stdout + done.stderr).splitlines())
        tally += Tally(0, 1)
    print(f"unit and suite: {len(rows)} programs, {tally.passed} passed, {tally.failed} failed",
          flush=True)
    return tally


def run_lint(build, env):
    done = subprocess.run([ROOT / "tools" / "lint.sh", build], env=env, cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        print("lint: clean", flush=True)
        return Tally(1, 0)
    print_failure("lint", done.stdout.splitlines())
    return Tally(0, 1)


def run_to_its_end(command, env, seconds):
    """Returns the exit code (None when it took too long) and what it printed."""
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        said, _ = child.communicate(timeout=seconds)
        return child.returncode, said
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return None, child.communicate()[0]


def run_file(file, env, flags, patience):
    began = time.monotonic()
    code, said = run_to_its_end([sys.executable, str(file), *flags], env, FILE_SECONDS * patience)
    tally = tally_tap(said, ended_well=code == 0)
    took = time.monotonic() - began
    print(f"{file.name}: {tally.passed} passed, {tally.failed} failed, {took:.1f} s", flush=True)
    for line in re.findall(r"^ok\b.*# SKIP.*", said, re.M):
        print(f"{file.name}: {line}", flush=True)
    if tally.failed:
        too_long = ["took too long"] if code is None else []
        print_failure(file.name, failures_of_tap(said) + too_long)
    return tally


def longest_first(file):
    return -file.stat().st_size


def run_e2e(files, env, flags, patience):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(lambda file: run_file(file, env, flags, patience), files), NOTHING)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--lint", action="store_true", help="begin with tools/lint.sh")
    parser.add_argument("--quick", action="store_true", help="leave out the slow end-to-end tests")
    parser.add_argument("--only", choices=("meson", "e2e"))
    parser.add_argument("--suites", type=lambda text: text.split(","), default=[],
                        help="of Meson: unit, suite, fuzz, survive, sim; all without it")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    is_sanitized = "san" in build.name
    patience = 6 if is_sanitized else 1
    cluster = Postgres()
    env = {**SANITIZER_OPTIONS, **os.environ, "PEAL_TEST_POSTGRES": cluster.url,
           "PEAL_BIN": os.environ.get("PEAL_BIN", str(build / "peal")),
           "PEAL_TEST_PATIENCE": str(patience), "PYTHONDONTWRITEBYTECODE": "1"}
    files = arguments.files or sorted(E2E.glob("test_*.py"), key=longest_first)
    tally = run_lint(build, env) if arguments.lint else NOTHING
    if arguments.only != "e2e" and not arguments.files:
        tally += run_meson(build, env, patience, arguments.suites)
    if arguments.only != "meson":
        tally += run_e2e(files, env, ["--quick"] if arguments.quick else [], patience)
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
