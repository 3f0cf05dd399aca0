#!/usr/bin/env python3
"""Turns text files into C strings that are called as the files are: embed_text.py OUT.c HEADER FILE..."""
import os
import sys


def main():
    out, header, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not out.endswith(".c"):
        sys.exit("embed_text.py OUT.c HEADER FILE...: the first argument is written over")
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "%s"\n' % header)
        for name in names:
            f.write("\nconst char %s[] =\n" % os.path.basename(name).replace(".", "_"))
            for line in open(name, encoding="utf-8").read().splitlines():
                f.write('    "%s\\n"\n' % line.replace("\\", "\\\\").replace('"', '\\"'))
            f.write("    ;\n")


main()
