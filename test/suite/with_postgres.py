#!/usr/bin/env python3
"""with_postgres.py - runs a suite on a PostgreSQL of its own.

    with_postgres.py PROGRAM [ARGUMENT...]

The program gets the URL of an empty database as its first argument and as PEAL_TEST_STORE. The
cluster is gone afterwards. It does not wait for the disk: what survives a power cut is not tested
here, and the suites commit thousands of times.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from postgres import Postgres  # noqa: E402


def main():
    program, *arguments = sys.argv[1:]
    server = Postgres()
    try:
        server.query("ALTER SYSTEM SET fsync = off")
        server.query("SELECT pg_reload_conf()")
        url = server.create_database()
        environment = {**os.environ, "PEAL_TEST_STORE": url}
        return subprocess.run([program, url, *arguments], env=environment).returncode
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(main())
