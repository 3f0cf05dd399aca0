#!/usr/bin/env python3
"""Compares printed documents with what the program prints: check_docs.py PRINTER DOCS [--write]"""
import os
import subprocess
import sys


def main():
    printer, folder = sys.argv[1], sys.argv[2]
    names = ["states", "errors", "metrics"]
    print(f"1..{len(names)}")
    bad = 0
    for i, name in enumerate(names, 1):
        printed = subprocess.run([printer, name], capture_output=True, text=True, check=True).stdout
        path = os.path.join(folder, name + ".md")
        if "--write" in sys.argv:
            open(path, "w", encoding="utf-8").write(printed)
        same = os.path.exists(path) and open(path, encoding="utf-8").read() == printed
        bad += not same
        print(f"{'ok' if same else 'not ok'} {i} - docs/{name}.md is what the tables say (make docs)")
    return bad > 0


sys.exit(main())
