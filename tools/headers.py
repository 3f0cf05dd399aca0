#!/usr/bin/env python3
"""headers.py - checks that each header compiles alone, so that no file depends on include order.

    tools/headers.py [SOURCE FOLDER]
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

OUTSIDE = ["yyjson", "openssl", "libsodium", "libcurl", "gnutls", "libmicrohttpd", "sqlite3", "libpq"]


def outside_flags():
    found = subprocess.run(["pkg-config", "--cflags", *OUTSIDE], capture_output=True, text=True)
    return found.stdout.split()


def complaint(root, header, flags):
    command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *flags,
               f"-I{root}", "-x", "c", "-fsyntax-only", "-"]
    text = f'#include "{header.relative_to(root).as_posix()}"\n'
    return subprocess.run(command, input=text, capture_output=True, text=True).stderr


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    headers, flags = sorted(root.rglob("*.h")), outside_flags()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda header: complaint(root, header, flags), headers))
    for header, text in zip(headers, complaints):
        if text:
            print(f"{header}: does not compile alone\n{text}")
    if any(complaints):
        return 1
    print(f"headers: {len(headers)} compile alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
