#!/usr/bin/env python3
"""Turns numbered SQL files into a C table: embed.py OUT.c FILE..."""
import os
import sys


def main():
    out, names = sys.argv[1], sys.argv[2:]
    if not out.endswith(".c"):
        sys.exit("embed.py OUT.c FILE...: the first argument is written over")
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "store/migrate.h"\n\nconst Migration migrations[] = {\n')
        for name in sorted(names):
            number = int(os.path.basename(name).split("_")[0])
            text = open(name, encoding="utf-8").read()
            f.write("    { %d, \"%s\",\n" % (number, os.path.basename(name)))
            for line in text.splitlines():
                f.write('      "%s\\n"\n' % line.replace("\\", "\\\\").replace('"', '\\"'))
            f.write("    },\n")
        f.write("};\nconst size_t migration_count = %d;\n" % len(names))


main()
