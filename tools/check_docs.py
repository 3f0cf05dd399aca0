#!/usr/bin/env python3
"""Compares printed documents with what the tables say: check_docs.py PRINTER PEAL DOCS [--write]

Most are printed by tools/docs.c; the commands are the program's own help, which it prints from its rows.
"""
import os
import re
import subprocess
import sys

PRINTED = ["states", "errors", "metrics", "roles"]
WITHIN = ["limits"]  # printed between two marks of a document that is written by hand
BEGIN, END = "<!-- printed by `make docs`; do not edit -->\n", "<!-- to here -->\n"


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commands(peal):
    """Every command's help on one page, in the order of `peal help`."""
    overview = said(peal, "help")
    text = ["# Commands and options", "",
            "Printed from `peal help` by `make docs`; do not edit. An option of `serve` is also an environment variable",
            "(`--listen` is `PEAL_LISTEN`) and a line of the file that `--config` names.", "", "```",
            overview.rstrip(), "```"]
    for name in re.findall(r"^  ([a-z-]+) +\S", overview.split("\nExamples:")[0], re.M):
        text += ["", f"## peal {name}", "", "```", said(peal, "help", name).rstrip(), "```"]
    return "\n".join(text) + "\n"


def within(path, printed):
    """A document with what is printed between its marks."""
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    return before + BEGIN + printed + END + rest.split(END)[1]


def main():
    printer, peal, folder = sys.argv[1:4]
    pages = {name: said(printer, name) for name in PRINTED} | {"commands": commands(peal)}
    pages |= {name: within(os.path.join(folder, name + ".md"), said(printer, name)) for name in WITHIN}
    print(f"1..{len(pages)}")
    bad = 0
    for i, (name, printed) in enumerate(pages.items(), 1):
        path = os.path.join(folder, name + ".md")
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(printed)
        same = os.path.exists(path) and open(path, encoding="utf-8").read() == printed
        bad += not same
        print(f"{'ok' if same else 'not ok'} {i} - docs/{name}.md is what the tables say (make docs)")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
