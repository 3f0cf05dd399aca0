#!/usr/bin/env python3
"""embed_console.py - turns the built console into C: embed_console.py OUT.c FOLDER

Each file of the folder becomes a row of console_files (src/api/console.h), packed with gzip. Where the folder has no
index.html the one row is a page that says how the console is built. OUT.c is left alone where it would be the same.
"""
import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Peal</title></head>
<body><main><h1>The console is not built</h1><p>This program was built without it. In the project: <code>make console</code>, then
<code>make</code>. The API is all there: <a href="/openapi.json">openapi.json</a>.</p></main></body></html>
"""


def files_of(folder):
    found = {one.relative_to(folder).as_posix(): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}
    if "index.html" not in found:
        return {"index.html": NOT_BUILT.encode()}
    for name in found:
        if pathlib.PurePath(name).suffix not in TYPES:
            sys.exit(f"embed_console.py: what is the content type of {name}? Add it to TYPES")
    return found


def literal(data):
    lines = [data[at:at + 64] for at in range(0, len(data), 64)]
    return "\n".join('        "' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines)


def row(name, data):
    packed = gzip.compress(data, 9, mtime=0)
    etag = hashlib.sha256(data).hexdigest()[:16]
    return (f'    {{ "{name}", "{TYPES[pathlib.PurePath(name).suffix]}", "\\"{etag}\\"",\n{literal(packed)},\n'
            f'        {len(packed)}, {len(data)} }},\n')


def main():
    out, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if out.suffix != ".c":
        sys.exit("embed_console.py OUT.c FOLDER: the first argument is written over")
    found = files_of(folder)
    own = pathlib.Path(__file__).read_bytes()
    stamp = hashlib.sha256(own + b"".join(name.encode() + b"\0" + hashlib.sha256(data).digest() for name, data in found.items()))
    first = f"// {stamp.hexdigest()}\n"
    if out.exists() and out.open(encoding="ascii").readline() == first:
        return
    rows = "".join(row(name, found[name]) for name in sorted(found, key=str.encode))
    out.write_text(f'{first}#include "api/console.h"\n\nconst ConsoleFile console_files[] = {{\n{rows}}};\n'
                   "const size_t console_file_count = ARRAY_LEN(console_files);\n", encoding="ascii")


main()
